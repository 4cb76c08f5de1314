/* Two kernels on one array: the first writes it, the second reads it from the other end. */
#include "device.h"

extern "C" __global__ void write_forwards(float *data, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = (float)i;
}

extern "C" __global__ void read_backwards(const float *data, float *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[n - 1 - i] = 2.0f * data[n - 1 - i];
}
