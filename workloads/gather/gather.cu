/* gather: out[i] = table[index[i]] with random indices. */
#include "device.h"

extern "C" __global__ void gather(const float *table, const unsigned *index, float *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[index[i]];
}
