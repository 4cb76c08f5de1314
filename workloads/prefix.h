/* prefix: prefix sums for device code, in three launches: blocks, the blocks' sums, both together. They tell
 * every map thread of Mars' programs where to emit. Included after device.h; the kernels are part of the
 * including module. */
#ifndef ATOLL_WORKLOADS_PREFIX_H
#define ATOLL_WORKLOADS_PREFIX_H

#define PREFIX_BLOCK 256

/* Exclusive sum over the block of one value per thread; *total is the block's sum. */
static __device__ unsigned prefix_block(unsigned value, unsigned *total)
{
    __shared__ unsigned sums[PREFIX_BLOCK];
    const int t = threadIdx.x;
    sums[t] = value;
    __syncthreads();
    for (int by = 1; by < PREFIX_BLOCK; by *= 2) {
        const unsigned below = t >= by ? sums[t - by] : 0;
        __syncthreads();
        sums[t] += below;
        __syncthreads();
    }
    *total = sums[PREFIX_BLOCK - 1];
    const unsigned before = sums[t] - value;
    __syncthreads();
    return before;
}

/* offsets[i] = sum of the counts of the block before i; sums[block] = the block's. */
extern "C" __global__ void prefix_blocks(const unsigned *counts, unsigned *offsets, unsigned *sums, int n)
{
    const int i = blockIdx.x * PREFIX_BLOCK + threadIdx.x;
    unsigned total;
    const unsigned before = prefix_block(i < n ? counts[i] : 0, &total);
    if (i < n) offsets[i] = before;
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

/* In place, by one block. */
extern "C" __global__ void prefix_sums(unsigned *sums, int n)
{
    unsigned base = 0;
    for (int first = 0; first < n; first += PREFIX_BLOCK) {
        const int i = first + threadIdx.x;
        unsigned total;
        const unsigned before = prefix_block(i < n ? sums[i] : 0, &total);
        if (i < n) sums[i] = base + before;
        base += total;
    }
}

extern "C" __global__ void prefix_add(unsigned *offsets, const unsigned *sums, int n)
{
    const int i = blockIdx.x * PREFIX_BLOCK + threadIdx.x;
    if (i < n) offsets[i] += sums[blockIdx.x];
}

#endif
