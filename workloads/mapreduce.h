/* mapreduce: what Mars' programs share on the device: a bitonic sort of the emitted (key, place of the
 * string) pairs that groups equal strings, and the counting of groups. Included after device.h; the including
 * file gives ends(c), true for a character that ends a string. The kernels are part of its module. */
#ifndef ATOLL_WORKLOADS_MAPREDUCE_H
#define ATOLL_WORKLOADS_MAPREDUCE_H

#include "prefix.h"

#define MR_BLOCK 256
#define MR_TILE  512

static __device__ bool ends(unsigned char c);

/* FNV-1a of the string at p. */
static __device__ unsigned mr_hash(const unsigned char *p)
{
    unsigned hash = 2166136261u;
    for (; !ends(*p); p++) hash = (hash ^ *p) * 16777619u;
    return hash;
}

/* By hash, then by string, then by place: only strings of equal hash are read. Unused pairs (all ones) come
 * last. */
static __device__ bool mr_after(const unsigned char *text, uint2 a, uint2 b)
{
    if (a.x != b.x || a.y == b.y || a.y == ~0u || b.y == ~0u) return a.x > b.x || (a.x == b.x && a.y > b.y);
    const unsigned char *p = text + a.y, *q = text + b.y;
    while (!ends(*p) && *p == *q) {
        p++;
        q++;
    }
    if (ends(*p) && ends(*q)) return a.y > b.y;
    return *p > *q;
}

/* Steps of the bitonic sort whose strides fit a tile, for sizes first_size .. last_size. */
extern "C" __global__ void mr_sort_tiles(const unsigned char *text, uint2 *pairs, int first_size,
                                         int last_size)
{
    __shared__ uint2 s[MR_TILE];
    const int base = blockIdx.x * MR_TILE, t = threadIdx.x;
    s[t] = pairs[base + t];
    s[t + MR_BLOCK] = pairs[base + t + MR_BLOCK];
    for (int size = first_size; size <= last_size; size *= 2) {
        for (int stride = min(size, MR_TILE) / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const int a = 2 * t - (t & (stride - 1));
            const uint2 low = s[a], high = s[a + stride];
            if (mr_after(text, low, high) == (((base + a) & size) == 0)) {
                s[a] = high;
                s[a + stride] = low;
            }
        }
    }
    __syncthreads();
    pairs[base + t] = s[t];
    pairs[base + t + MR_BLOCK] = s[t + MR_BLOCK];
}

/* One step whose stride does not. */
extern "C" __global__ void mr_sort_step(const unsigned char *text, uint2 *pairs, int size, int stride)
{
    const int t = blockIdx.x * MR_BLOCK + threadIdx.x, a = 2 * t - (t & (stride - 1));
    const uint2 low = pairs[a], high = pairs[a + stride];
    if (mr_after(text, low, high) == ((a & size) == 0)) {
        pairs[a] = high;
        pairs[a + stride] = low;
    }
}

static __device__ bool mr_same(const unsigned char *text, uint2 a, uint2 b)
{
    if (a.x != b.x) return false;
    const unsigned char *p = text + a.y, *q = text + b.y;
    while (!ends(*p) && *p == *q) {
        p++;
        q++;
    }
    return ends(*p) && ends(*q);
}

/* The first of every group looks for its end and takes a slot: (place of the string, how many). */
extern "C" __global__ void mr_reduce(const unsigned char *text, const uint2 *pairs, uint2 *groups,
                                     unsigned *group_count, int n)
{
    const int i = blockIdx.x * MR_BLOCK + threadIdx.x;
    if (i >= n) return;
    const uint2 mine = pairs[i];
    if (mine.y == ~0u || (i > 0 && mr_same(text, pairs[i - 1], mine))) return;
    int end = i + 1;
    while (end < n && pairs[end].y != ~0u && mr_same(text, pairs[end], mine)) end++;
    groups[atomicAdd(group_count, 1u)] = make_uint2(mine.y, (unsigned)(end - i));
}

#endif
