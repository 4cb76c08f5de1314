/* pathfinder: cheapest way down a wall of numbers, row by row (Rodinia's dynamic programming). A block loads 256 sums
 * of a row, goes down `steps` rows in shared memory while the valid part shrinks by one at either end, and writes
 * the rest. */
#include "device.h"

#define BLOCK 256

/* wall: the rows below the row of `from`. */
extern "C" __global__ void pathfinder(const int *wall, const int *from, int *to, int cols, int steps)
{
    __shared__ int sums[BLOCK], next[BLOCK];
    const int tx = threadIdx.x, x = (int)blockIdx.x * (BLOCK - 2 * steps) - steps + tx;
    const bool inside = x >= 0 && x < cols;
    const int left = x > 0 ? max(tx - 1, 0) : tx, right = x < cols - 1 ? min(tx + 1, BLOCK - 1) : tx;
    if (inside) sums[tx] = from[x];
    __syncthreads();
    bool valid = false;
    for (int i = 0; i < steps; i++) {
        valid = inside && tx > i && tx < BLOCK - 1 - i;
        if (valid) next[tx] = min(min(sums[left], sums[tx]), sums[right]) + wall[i * cols + x];
        __syncthreads();
        if (i == steps - 1) break;
        if (valid) sums[tx] = next[tx];
        __syncthreads();
    }
    if (valid) to[x] = next[tx];
}
