/* transpose: out = in', by 16x16 tiles through shared memory, so that reads and writes are both coalesced. */
#include "device.h"

#define TILE 16

extern "C" __global__ void transpose(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1]; /* + 1: a column lies in 16 different banks */
    const int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;
    if (x0 + tx < cols && y0 + ty < rows) tile[ty][tx] = in[(y0 + ty) * cols + x0 + tx];
    __syncthreads();
    if (y0 + tx < rows && x0 + ty < cols) out[(x0 + ty) * rows + y0 + tx] = tile[tx][ty];
}
