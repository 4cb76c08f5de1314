/* gemm_fc: matrix product for few rows and a large matrix of weights, for device code: fully connected layers and
 * gates of recurrent ones. Included after device.h.
 *
 * A block of 32 x 4 threads makes 4 rows by 32 columns of the product, an element per thread. In a step of 32 the
 * block stages a piece of A (a load per thread) and a piece of B (eight loads per thread) in shared memory. A is
 * rows x inner, B inner x columns, row-major; rows are a multiple of 4, inner and columns of 32. */
#ifndef ATOLL_WORKLOADS_GEMM_FC_H
#define ATOLL_WORKLOADS_GEMM_FC_H

#define GEMM_FC_ROWS    4
#define GEMM_FC_COLUMNS 32

static __device__ __forceinline__ int gemm_fc_index(int columns)
{
    return (blockIdx.y * GEMM_FC_ROWS + threadIdx.y) * columns + blockIdx.x * GEMM_FC_COLUMNS + threadIdx.x;
}

static __device__ __forceinline__ float gemm_fc_element(const float *a, const float *b, int inner,
                                                        int columns)
{
    __shared__ float as[GEMM_FC_ROWS][GEMM_FC_COLUMNS], bs[GEMM_FC_COLUMNS][GEMM_FC_COLUMNS];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * GEMM_FC_ROWS + ty, col = blockIdx.x * GEMM_FC_COLUMNS + tx;
    float sum = 0.0f;
    for (int first = 0; first < inner; first += GEMM_FC_COLUMNS) {
        as[ty][tx] = a[row * inner + first + tx];
#pragma unroll
        for (int i = 0; i < GEMM_FC_COLUMNS; i += GEMM_FC_ROWS)
            bs[ty + i][tx] = b[(first + ty + i) * columns + col];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < GEMM_FC_COLUMNS; i++) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    return sum;
}

#endif
