/* sgemm_parboil: C = alpha A B' + beta C, column-major, register-tiled (Parboil). A block of 128 threads
 * computes 128 x 16 of C: a thread holds 16 sums of one row; its elements of A come straight from memory
 * (coalesced), 8 x 16 of B are staged in shared memory. */
#include "device.h"

#define TILE_M 128
#define TILE_N 16
#define TILE_K 8

extern "C" __global__ void sgemm_parboil(const float *a, const float *b, float *c, int m, int n, int k,
                                         float alpha, float beta)
{
    __shared__ float bs[TILE_K][TILE_N];
    const int t = threadIdx.x, row = blockIdx.x * TILE_M + t, first = blockIdx.y * TILE_N;
    float sum[TILE_N];
#pragma unroll
    for (int j = 0; j < TILE_N; j++) sum[j] = 0.0f;
    for (int at = 0; at < k; at += TILE_K) {
        bs[t / TILE_N][t % TILE_N] = b[(at + t / TILE_N) * n + first + t % TILE_N];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_K; i++) {
            const float left = a[(at + i) * m + row];
#pragma unroll
            for (int j = 0; j < TILE_N; j++) sum[j] += left * bs[i][j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < TILE_N; j++) {
        float *to = c + (first + j) * m + row;
        *to = beta * *to + alpha * sum[j];
    }
}
