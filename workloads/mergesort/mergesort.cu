/* mergesort: keys with values (CUDA SDK). Tiles of 1024 are sorted in shared memory (bitonic); then runs are
 * merged in pairs, from one buffer to the other. A block makes 1024 elements of a merged run: two binary
 * searches in global memory tell which parts of the two runs they come from, the parts are staged in shared
 * memory, and every element's place is its own plus its rank in the other part, by a search there. */
#include "device.h"

#define TILE  1024
#define BLOCK 256

extern "C" __global__ void mergesort_tiles(unsigned *keys, unsigned *values)
{
    __shared__ unsigned k[TILE], v[TILE];
    const int first = blockIdx.x * TILE, t = threadIdx.x;
    for (int i = t; i < TILE; i += BLOCK) {
        k[i] = keys[first + i];
        v[i] = values[first + i];
    }
    for (int size = 2; size <= TILE; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            for (int i = t; i < TILE / 2; i += BLOCK) {
                const int a = 2 * i - (i & (stride - 1)), b = a + stride;
                const bool up = (a & size) == 0;
                if ((k[a] > k[b]) == up) {
                    const unsigned key = k[a], value = v[a];
                    k[a] = k[b];
                    v[a] = v[b];
                    k[b] = key;
                    v[b] = value;
                }
            }
        }
    }
    __syncthreads();
    for (int i = t; i < TILE; i += BLOCK) {
        keys[first + i] = k[i];
        values[first + i] = v[i];
    }
}

/* How many of the first 'rank' elements of the merged run come from a. */
static __device__ int share_of(const unsigned *a, int a_count, const unsigned *b, int b_count, int rank)
{
    int low = max(0, rank - b_count), high = min(rank, a_count);
    while (low < high) {
        const int mid = (low + high) / 2;
        if (a[mid] <= b[rank - mid - 1])
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Elements of s that are below key, or not above it. */
static __device__ int rank_in(const unsigned *s, int count, unsigned key, bool or_equal)
{
    int low = 0, high = count;
    while (low < high) {
        const int mid = (low + high) / 2;
        if (s[mid] < key || (or_equal && s[mid] == key))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

extern "C" __global__ void mergesort_merge(const unsigned *keys, const unsigned *values, unsigned *to_keys,
                                           unsigned *to_values, int run, int n)
{
    __shared__ unsigned s[TILE];
    __shared__ int limits[2];
    const int t = threadIdx.x, first = blockIdx.x * TILE, pair = first / (2 * run) * (2 * run),
              rank = first - pair;
    const int a_count = min(run, n - pair), b_count = min(run, n - pair - a_count);
    const unsigned *a = keys + pair, *b = a + a_count;
    if (t < 2) limits[t] = share_of(a, a_count, b, b_count, min(rank + t * TILE, a_count + b_count));
    __syncthreads();
    const int from_a = limits[0], part_a = limits[1] - from_a, from_b = rank - from_a;
    const int part_b = min(TILE, a_count + b_count - rank) - part_a;
    for (int i = t; i < part_a + part_b; i += BLOCK)
        s[i] = i < part_a ? a[from_a + i] : b[from_b + i - part_a];
    __syncthreads();
    for (int i = t; i < part_a + part_b; i += BLOCK) {
        const bool of_a = i < part_a;
        const int mine = of_a ? i : i - part_a;
        const int other = of_a ? rank_in(s + part_a, part_b, s[i], false) : rank_in(s, part_a, s[i], true);
        to_keys[first + mine + other] = s[i];
        to_values[first + mine + other] = values[pair + (of_a ? from_a + mine : a_count + from_b + mine)];
    }
}
