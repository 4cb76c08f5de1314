// The other half of separate_main.cu.
static __constant__ int same[2];
static __global__ void kernel(int *out) { *out = same[0] + 100; }
int in_other(int value)
{
    int *out, result, v[2] = {value, 0};
    cudaMallocManaged(&out, sizeof(int));
    cudaMemcpyToSymbol(same, v, sizeof v);
    kernel<<<1, 1>>>(out);
    cudaDeviceSynchronize();
    result = *out;
    cudaFree(out);
    return result;
}
