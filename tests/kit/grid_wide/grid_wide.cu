/* grid_wide: blocks of one grid that wait for each other twice; the barrier is in another file. */
#include "device.h"

extern "C" __device__ void grid_barrier(unsigned *arrived, unsigned expected);

/* Each block adds its number; after the barrier each takes the sum of all; after another the next round. */
extern "C" __global__ void grid_wide(unsigned *sums, unsigned *arrived, unsigned *out, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        if (threadIdx.x == 0) atomicAdd(&sums[r], blockIdx.x + (unsigned)r);
        grid_barrier(arrived, gridDim.x * (unsigned)(r + 1));
        if (threadIdx.x == 0) out[(unsigned)r * gridDim.x + blockIdx.x] = *(volatile unsigned *)&sums[r];
    }
}
