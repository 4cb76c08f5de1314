/* sgemm: C = A B with 16x16 tiles of A and B in shared memory (16: modelling.md C; larger tiles halve the
 * traffic whose sharing the papers study). A is m x k, B k x n, row-major, all multiples of the tile. */
#include "device.h"

#define TILE 16

extern "C" __global__ void sgemm(const float *a, const float *b, float *c, int n, int k)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int first = 0; first < k; first += TILE) {
        as[ty][tx] = a[row * k + first + tx];
        bs[ty][tx] = b[(first + ty) * n + col];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
