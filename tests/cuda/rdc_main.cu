// Relocatable device code: kernels, functions and variables across files. The other half: rdc_other.cu.
#include "check.h"

__device__ int common = 3;
__device__ int twice(int x) { return 2 * x + common; }
extern __global__ void other(int *out);
extern int from_other_file();

int main()
{
    int *out, v = 10;
    OK(cudaMallocManaged(&out, sizeof(int)));
    other<<<1, 1>>>(out);
    OK(cudaDeviceSynchronize());
    HOLDS(*out == 2 * 21 + 3 + 3 + 100);
    OK(cudaMemcpyToSymbol(common, &v, sizeof v));
    other<<<1, 1>>>(out);
    OK(cudaDeviceSynchronize());
    HOLDS(*out == 2 * 21 + 10 + 10 + 100);
    HOLDS(from_other_file() == 77);
    return finish();
}
