/* scan: exclusive prefix sum of integers in three launches: sums of tiles, a scan of the sums by one block,
 * and the scan of each tile on top of its base. A tile is 1024 elements, four per thread. */
#include "device.h"

#define BLOCK 256
#define TILE  1024

/* Exclusive scan of one value per thread over the block; *total is the block's sum. */
static __device__ unsigned block_scan(unsigned value, unsigned *total)
{
    __shared__ unsigned warps[BLOCK / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = value;
    for (int by = 1; by < 32; by *= 2) {
        const unsigned below = __shfl_up_sync(0xffffffffu, sum, by);
        if (lane >= by) sum += below;
    }
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    unsigned before = 0, all = 0;
    for (int i = 0; i < BLOCK / 32; i++) {
        if (i == warp) before = all;
        all += warps[i];
    }
    __syncthreads();
    *total = all;
    return before + sum - value;
}

extern "C" __global__ void scan_sums(const unsigned *in, unsigned *sums, int n)
{
    unsigned sum = 0, total;
    for (int i = 0; i < TILE / BLOCK; i++) {
        const int at = blockIdx.x * TILE + i * BLOCK + threadIdx.x;
        if (at < n) sum += in[at];
    }
    block_scan(sum, &total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

/* In place, by one block. */
extern "C" __global__ void scan_bases(unsigned *sums, int count)
{
    unsigned base = 0;
    for (int first = 0; first < count; first += BLOCK) {
        const int at = first + threadIdx.x;
        unsigned total;
        const unsigned before = block_scan(at < count ? sums[at] : 0, &total);
        if (at < count) sums[at] = base + before;
        base += total;
    }
}

extern "C" __global__ void scan_tiles(const unsigned *in, const unsigned *bases, unsigned *out, int n)
{
    const int first = blockIdx.x * TILE + threadIdx.x * 4;
    unsigned v[4], sum = 0, total;
    for (int i = 0; i < 4; i++) sum += v[i] = first + i < n ? in[first + i] : 0;
    unsigned running = bases[blockIdx.x] + block_scan(sum, &total);
    for (int i = 0; i < 4; i++) {
        if (first + i < n) out[first + i] = running;
        running += v[i];
    }
}
