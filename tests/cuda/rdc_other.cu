// The other half of rdc_main.cu. Its static kernel has the name that another file could have too.
extern __device__ int twice(int x);
extern __device__ int common;
static __device__ int offset = 100;
__global__ void other(int *out) { *out = twice(21) + common + offset; }
static __global__ void local_kernel(int *out) { *out = 77; }
int from_other_file()
{
    int *out, result;
    cudaMallocManaged(&out, sizeof(int));
    local_kernel<<<1, 1>>>(out);
    cudaDeviceSynchronize();
    result = *out;
    cudaFree(out);
    return result;
}
