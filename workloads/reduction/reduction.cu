/* reduction: sum of an array. Each thread adds pairs a block apart over a grid-stride loop, the block reduces
 * in shared memory down to a warp, the warp by shuffles; one partial sum per block, then one block adds
 * those. */
#include "device.h"

#define BLOCK 256

extern "C" __global__ void reduction(const float *in, float *partial, int n)
{
    __shared__ float sums[BLOCK];
    const int t = threadIdx.x, stride = 2 * BLOCK * gridDim.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * 2 * BLOCK + t; i < n; i += stride) {
        sum += in[i];
        if (i + BLOCK < n) sum += in[i + BLOCK];
    }
    sums[t] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half >= 32; half /= 2) {
        if (t < half) sums[t] = sum = sum + sums[t + half];
        __syncthreads();
    }
    if (t < 32) {
        for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffffu, sum, by);
        if (t == 0) partial[blockIdx.x] = sum;
    }
}
