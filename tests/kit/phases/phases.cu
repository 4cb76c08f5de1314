/* phases: a kernel that streams and a kernel that computes, for tests of partitions that follow the program. */
#include "device.h"

/* Each warp reads a line and writes a line that no other warp uses. */
extern "C" __global__ void stream(float *to, const float *from)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + 1.0f;
}

extern "C" __global__ void compute(float *to, int rounds)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = 1.0f;
    for (int k = 0; k < rounds; k++) a = a * 0.5f + 1.0f;
    to[i] = a;
}
