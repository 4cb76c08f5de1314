/* lud: LU decomposition in place by 16x16 tiles, without pivoting (Rodinia). Per step: the tile on the
 * diagonal by one block, the tiles of its row and column by a block each, then the rest by a block per tile,
 * which stages the tile of its row and of its column in shared memory. */
#include "device.h"

#define TILE 16

/* Of a tile in shared memory, by its first 16 threads: L below the diagonal (ones on it), U above. */
static __device__ void decompose(float (*s)[TILE + 1], int t)
{
    for (int k = 0; k < TILE - 1; k++) {
        if (t > k && t < TILE) {
            const float l = s[t][k] / s[k][k];
            s[t][k] = l;
            for (int j = k + 1; j < TILE; j++) s[t][j] -= l * s[k][j];
        }
        __syncthreads();
    }
}

extern "C" __global__ void lud_diagonal(float *m, int n, int first)
{
    __shared__ float s[TILE][TILE + 1];
    float *tile = m + (long long)first * n + first;
    const int t = threadIdx.x;
    for (int i = 0; i < TILE; i++) s[i][t] = tile[i * n + t];
    __syncthreads();
    decompose(s, t);
    for (int i = 0; i < TILE; i++) tile[i * n + t] = s[i][t];
}

/* 32 threads: 16 solve for a column each of the tile to the right, 16 for a row each of the tile below. */
extern "C" __global__ void lud_perimeter(float *m, int n, int first)
{
    __shared__ float diagonal[TILE][TILE + 1], row[TILE][TILE + 1], column[TILE][TILE + 1];
    const int t = threadIdx.x % TILE, away = first + (blockIdx.x + 1) * TILE;
    float *corner = m + (long long)first * n + first, *right = m + (long long)first * n + away,
          *below = m + (long long)away * n + first;
    for (int i = threadIdx.x / TILE; i < TILE; i += 2) {
        diagonal[i][t] = corner[i * n + t];
        row[i][t] = right[i * n + t];
        column[i][t] = below[i * n + t];
    }
    __syncthreads();
    if (threadIdx.x < TILE) {
        for (int i = 1; i < TILE; i++)
            for (int k = 0; k < i; k++) row[i][t] -= diagonal[i][k] * row[k][t];
    } else {
        for (int j = 0; j < TILE; j++) {
            for (int k = 0; k < j; k++) column[t][j] -= column[t][k] * diagonal[k][j];
            column[t][j] /= diagonal[j][j];
        }
    }
    __syncthreads();
    for (int i = threadIdx.x / TILE; i < TILE; i += 2) {
        right[i * n + t] = row[i][t];
        below[i * n + t] = column[i][t];
    }
}

extern "C" __global__ void lud_internal(float *m, int n, int first)
{
    __shared__ float row[TILE][TILE], column[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = first + (blockIdx.x + 1) * TILE + tx, y = first + (blockIdx.y + 1) * TILE + ty;
    row[ty][tx] = m[(long long)(first + ty) * n + x];
    column[ty][tx] = m[(long long)y * n + first + tx];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < TILE; k++) sum += column[ty][k] * row[k][tx];
    m[(long long)y * n + x] -= sum;
}
