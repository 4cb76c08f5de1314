/* histo_main: the main kernel of a histogram with many bins that stop at 255 (Parboil's histo). Bins come in ranges
 * of BINS. The blocks of a grid row count one range in bytes of shared memory; every row goes through the whole
 * input. A byte that wraps adds 256 to the bin's word in `overflow`. Items outside the ranges of the grid are
 * counted by the first row, directly in global memory. */
#include "device.h"

#define BINS 16384

/* Adds one to byte k of a shared word. A wrap carries into the next byte, which is taken back in `overflow`. */
static __device__ void count_byte(unsigned *word, unsigned k, unsigned *overflow)
{
    unsigned old = atomicAdd(word, 1u << (8 * k)) >> (8 * k);
    for (; (old & 255) == 255; old >>= 8, k++, overflow++) {
        atomicAdd(overflow, 256u);
        if (k == 3) break;
        atomicAdd(overflow + 1, ~0u);
    }
}

/* input: range << 16 | bin of the range. outside, sums: two bins of 16 bits in a word; first: first range. */
extern "C" __global__ void histo_main(const unsigned *input, unsigned *outside, unsigned *sums, unsigned *overflow,
                                      int items, int first)
{
    __shared__ unsigned counts[BINS / 4];
    const int threads = blockDim.x * blockDim.y, t = threadIdx.y * blockDim.x + threadIdx.x;
    for (int i = t; i < BINS / 4; i += threads) counts[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * threads + t; i < items; i += gridDim.x * threads) {
        const unsigned item = input[i], bin = item & 0xffff;
        const int row = (int)(item >> 16) - first;
        if (blockIdx.y == 0 && (row < 0 || row >= (int)gridDim.y)) {
            unsigned *word = outside + ((item >> 16) * BINS + bin) / 2;
            const unsigned by = 16 * (bin & 1);
            if ((*word >> by & 0xffff) < 255) atomicAdd(word, 1u << by);
        }
        if (row == (int)blockIdx.y)
            count_byte(&counts[bin / 4], bin & 3, overflow + (item >> 16) * BINS + bin);
    }
    __syncthreads();
    for (int i = t; i < BINS / 4; i += threads) {
        const unsigned four = counts[i];
        unsigned *to = sums + (first + blockIdx.y) * (BINS / 2) + 2 * i;
        atomicAdd(to, (four & 255) | (four << 8 & 0xff0000));
        atomicAdd(to + 1, (four >> 16 & 255) | (four >> 8 & 0xff0000));
    }
}
