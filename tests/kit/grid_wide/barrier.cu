/* barrier: all blocks of a cooperative grid wait for each other. */
#include "device.h"

extern "C" __device__ void grid_barrier(unsigned *arrived, unsigned expected)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned *)arrived < expected) {
        }
    }
    __syncthreads();
}
