/* triad: the STREAM triad a = b + s c, one thread per element. */
#include "device.h"

extern "C" __global__ void triad(float *a, const float *b, const float *c, float s, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = b[i] + s * c[i];
}
