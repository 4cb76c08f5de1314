/* convsep: separable convolution of an image with 17 taps (CUDA SDK). A block stages a band of one direction
 * with its halo in shared memory; every thread writes eight pixels. Beyond the image there is black. */
#include "device.h"

#define RADIUS 8
#define STEPS  8
#define ROWS_X 16
#define ROWS_Y 4
#define COLS_X 16
#define COLS_Y 8

__constant__ float taps[2 * RADIUS + 1];

/* 16x4 threads, 128 x 4 pixels, one tile of 16 more to the left and to the right. */
extern "C" __global__ void convsep_rows(const float *src, float *dst, int width)
{
    __shared__ float s[ROWS_Y][(STEPS + 2) * ROWS_X];
    const int tx = threadIdx.x, ty = threadIdx.y, y = blockIdx.y * ROWS_Y + ty;
    const int first = (int)blockIdx.x * STEPS * ROWS_X - ROWS_X + tx;
    const float *row = src + (long long)y * width;
#pragma unroll
    for (int i = 0; i < STEPS + 2; i++) {
        const int x = first + i * ROWS_X;
        s[ty][tx + i * ROWS_X] = x >= 0 && x < width ? row[x] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 1; i <= STEPS; i++) {
        float sum = 0.0f;
#pragma unroll
        for (int k = -RADIUS; k <= RADIUS; k++) sum += taps[RADIUS - k] * s[ty][tx + i * ROWS_X + k];
        dst[(long long)y * width + first + i * ROWS_X] = sum;
    }
}

/* 16x8 threads, 16 x 64 pixels, one tile of 8 more above and below. */
extern "C" __global__ void convsep_columns(const float *src, float *dst, int width, int height)
{
    __shared__ float s[COLS_X][(STEPS + 2) * COLS_Y + 1];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * COLS_X + tx;
    const int first = (int)blockIdx.y * STEPS * COLS_Y - COLS_Y + ty;
#pragma unroll
    for (int i = 0; i < STEPS + 2; i++) {
        const int y = first + i * COLS_Y;
        s[tx][ty + i * COLS_Y] = y >= 0 && y < height ? src[(long long)y * width + x] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 1; i <= STEPS; i++) {
        float sum = 0.0f;
#pragma unroll
        for (int k = -RADIUS; k <= RADIUS; k++) sum += taps[RADIUS - k] * s[tx][ty + i * COLS_Y + k];
        dst[(long long)(first + i * COLS_Y) * width + x] = sum;
    }
}
