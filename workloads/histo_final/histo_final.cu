/* histo_final: the last kernel of a histogram with many bins that stop at 255 (Parboil's histo): it makes bytes of the
 * counts and clears them for the next picture. Bins of the middle ranges have a sum of 16 bits and a word of
 * overflow, the others a count of 16 bits. Every access takes four bins; a grid-stride loop per part. */
#include "device.h"

static __device__ unsigned byte_of(unsigned count, int k) { return min(count, 255u) << (8 * k); }

/* The counts of four bins, as bytes. */
static __device__ unsigned bytes_of(uint2 counts)
{
    return byte_of(counts.x & 0xffff, 0) | byte_of(counts.x >> 16, 1) | byte_of(counts.y & 0xffff, 2) |
           byte_of(counts.y >> 16, 3);
}

/* Zero that the compiler does not see as a constant: clang stores four constant zeros as two halves, nvcc as one
 * access. */
static __device__ unsigned zero_of_one_access(void)
{
    unsigned zero;
    asm("mov.u32 %0, 0;" : "=r"(zero));
    return zero;
}

/* low, high: first group of four bins of the middle part, and after it; groups: of all bins. */
extern "C" __global__ void histo_final(uint2 *counts, uint2 *sums, uint4 *overflow, unsigned *result, int low, int high,
                                       int groups)
{
    const int start = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    const unsigned zero = zero_of_one_access();
    for (int i = start; i < low; i += step) {
        const uint2 four = counts[i];
        counts[i] = make_uint2(zero, zero);
        result[i] = bytes_of(four);
    }
    for (int i = low + start; i < high; i += step) {
        const uint4 more = overflow[i];
        const uint2 four = sums[i];
        overflow[i] = make_uint4(zero, zero, zero, zero);
        sums[i] = make_uint2(zero, zero);
        result[i] = byte_of(more.x + (four.x & 0xffff), 0) | byte_of(more.y + (four.x >> 16), 1) |
                    byte_of(more.z + (four.y & 0xffff), 2) | byte_of(more.w + (four.y >> 16), 3);
    }
    for (int i = high + start; i < groups; i += step) {
        const uint2 four = counts[i];
        counts[i] = make_uint2(zero, zero);
        result[i] = bytes_of(four);
    }
}
