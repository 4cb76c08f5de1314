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

/* The same with fewer instructions per line: a thread makes ROWS elements of a column of C and reads A four
 * elements at a time; tiles are loaded AHEAD steps before they are multiplied (k is a multiple of AHEAD
 * tiles). Every tile in flight has a place of its own, so that a step needs one barrier: who writes a place
 * again has passed the barrier of a later step. Plane z of the grid makes the z-th C of the same A and B. */
#define ROWS  4
#define AHEAD 4

/* Not float4: clang keeps copies of structures in local memory. */
struct quads {
    float a[4], b[4];
};

static __device__ void fetch(struct quads *to, const float *a, const float *b)
{
    const float4 x = *(const float4 *)a, y = *(const float4 *)b;
    to->a[0] = x.x, to->a[1] = x.y, to->a[2] = x.z, to->a[3] = x.w;
    to->b[0] = y.x, to->b[1] = y.y, to->b[2] = y.z, to->b[3] = y.w;
}

extern "C" __global__ void sgemm_ahead(const float *a, const float *b, float *c, int n, int k)
{
    __shared__ float4 as[AHEAD][TILE][TILE / 4], bs[AHEAD][TILE][TILE / 4];
    const int tx = threadIdx.x, ty = threadIdx.y, down = (ty * TILE + tx) / 4, along = tx % 4;
    a += (blockIdx.y * TILE + down) * k + 4 * along;
    b += down * n + blockIdx.x * TILE + 4 * along;
    struct quads next[AHEAD];
    float sum[ROWS] = {0};
#pragma unroll
    for (int s = 0; s < AHEAD; s++, a += TILE, b += TILE * n) fetch(&next[s], a, b);
    for (int left = k / TILE; left > 0; left -= AHEAD) {
#pragma unroll
        for (int s = 0; s < AHEAD; s++) {
            as[s][down][along] = make_float4(next[s].a[0], next[s].a[1], next[s].a[2], next[s].a[3]);
            bs[s][down][along] = make_float4(next[s].b[0], next[s].b[1], next[s].b[2], next[s].b[3]);
            __syncthreads();
            if (left > AHEAD) {
                fetch(&next[s], a, b);
                a += TILE, b += TILE * n;
            }
            float4 x[TILE / 4][ROWS];
            float y[TILE];
#pragma unroll
            for (int i = 0; i < TILE; i++) {
#pragma unroll
                for (int r = 0; r < ROWS && i % 4 == 0; r++) x[i / 4][r] = as[s][ROWS * ty + r][i / 4];
                y[i] = ((const float *)bs[s][i])[tx];
            }
#pragma unroll
            for (int i = 0; i < TILE / 4; i++) {
#pragma unroll
                for (int r = 0; r < ROWS; r++) sum[r] += x[i][r].x * y[4 * i];
#pragma unroll
                for (int r = 0; r < ROWS; r++) sum[r] += x[i][r].y * y[4 * i + 1];
#pragma unroll
                for (int r = 0; r < ROWS; r++) sum[r] += x[i][r].z * y[4 * i + 2];
#pragma unroll
                for (int r = 0; r < ROWS; r++) sum[r] += x[i][r].w * y[4 * i + 3];
            }
        }
    }
    c += ((blockIdx.z * gridDim.y + blockIdx.y) * TILE + ROWS * ty) * n + blockIdx.x * TILE + tx;
#pragma unroll
    for (int r = 0; r < ROWS; r++) c[r * n] = sum[r];
}

/* Tiles of 64x64: a thread makes 4x4 elements that lie 16 apart, and loads as many of A and B. */
#define WIDE 64

extern "C" __global__ void sgemm_wide(const float *a, const float *b, float *c, int n, int k)
{
    __shared__ float as[WIDE][TILE], bs[TILE][WIDE];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * WIDE + ty, col = blockIdx.x * WIDE + tx;
    float sum[4][4] = {{0}};
    for (int first = 0; first < k; first += TILE) {
#pragma unroll
        for (int i = 0; i < WIDE; i += TILE) {
            as[ty + i][tx] = a[(row + i) * k + first + tx];
            bs[ty][tx + i] = b[(first + ty) * n + col + i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) {
            float x[4], y[4];
#pragma unroll
            for (int r = 0; r < 4; r++) x[r] = as[ty + TILE * r][i], y[r] = bs[i][tx + TILE * r];
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int s = 0; s < 4; s++) sum[r][s] += x[r] * y[s];
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int s = 0; s < 4; s++) c[(row + TILE * r) * n + col + TILE * s] = sum[r][s];
}
