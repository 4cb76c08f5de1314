/* histogram: 256 bins of a byte array. Each warp counts into a histogram of its own in shared memory
 * (atomics), the block writes its sum, and a second launch adds the blocks' partial histograms. */
#include "device.h"

#define BINS  256
#define WARPS 6

extern "C" __global__ void histogram_count(const unsigned *words, unsigned *partial, int word_count)
{
    __shared__ unsigned counts[WARPS][BINS];
    for (int i = threadIdx.x; i < WARPS * BINS; i += WARPS * 32) counts[i / BINS][i % BINS] = 0;
    __syncthreads();
    unsigned *mine = counts[threadIdx.x / 32];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < word_count; i += blockDim.x * gridDim.x) {
        const unsigned word = words[i];
        for (int b = 0; b < 4; b++) atomicAdd(&mine[word >> (8 * b) & 255], 1u);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += WARPS * 32) {
        unsigned sum = 0;
        for (int w = 0; w < WARPS; w++) sum += counts[w][bin];
        partial[blockIdx.x * BINS + bin] = sum;
    }
}

/* One block per bin. */
extern "C" __global__ void histogram_merge(const unsigned *partial, unsigned *bins, int blocks)
{
    __shared__ unsigned total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    unsigned sum = 0;
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) sum += partial[i * BINS + blockIdx.x];
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) bins[blockIdx.x] = total;
}
