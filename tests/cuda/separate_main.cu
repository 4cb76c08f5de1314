// Two files without relocatable device code: each its own module, although names are the same in both.
#include "check.h"

static __constant__ int same[2];
static __global__ void kernel(int *out) { *out = same[0] + 1; }
extern int in_other(int value);

int main()
{
    int *out, v[2] = {10, 0};
    OK(cudaMallocManaged(&out, sizeof(int)));
    OK(cudaMemcpyToSymbol(same, v, sizeof v));
    kernel<<<1, 1>>>(out);
    OK(cudaDeviceSynchronize());
    HOLDS(*out == 11);
    HOLDS(in_other(50) == 150);
    kernel<<<1, 1>>>(out);
    OK(cudaDeviceSynchronize());
    HOLDS(*out == 11);
    return finish();
}
