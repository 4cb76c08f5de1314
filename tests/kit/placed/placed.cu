/* A kernel without sharing, for tests of placement. */
#include "device.h"

extern "C" __global__ void twice(const float *in, float *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * in[i];
}
