/* amg: kernels of an algebraic multigrid solve on matrices in CSR.
 *
 * A group of `lanes` threads (a power of two, at most a warp) computes one row: the group streams the columns
 * and values of the row and gathers the vector through the columns. The first entry of a row of a level's
 * matrix is its diagonal. All vectors and matrices of a level stay in place from cycle to cycle. */
#include "device.h"

/* Product of one row with x, in every lane of the group. All threads of the warp must call it; a row beyond
 * the end gives zero. */
static __device__ __forceinline__ float row_product(const unsigned *first, const unsigned *columns,
                                                    const float *values, const float *x, int row, int rows,
                                                    int lanes)
{
    const int lane = threadIdx.x & (lanes - 1);
    float sum = 0.0f;
    if (row < rows)
        for (unsigned e = first[row] + lane; e < first[row + 1]; e += lanes) sum += values[e] * x[columns[e]];
    for (int by = lanes / 2; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
    return sum;
}

static __device__ __forceinline__ int group_row(int lanes)
{
    return (int)((blockIdx.x * blockDim.x + threadIdx.x) / lanes);
}

/* First content of the finest level: a constant right-hand side and a zero solution. */
extern "C" __global__ void amg_init(float *x, float *b, int rows)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    x[row] = 0.0f;
    b[row] = 1.0f;
}

/* Weighted Jacobi sweep: to = x + weight (b - A x) / diagonal. */
extern "C" __global__ void amg_relax(const unsigned *first, const unsigned *columns, const float *values,
                                     const float *b, const float *x, float *to, float weight, int rows,
                                     int lanes)
{
    const int row = group_row(lanes);
    const float sum = row_product(first, columns, values, x, row, rows, lanes);
    if (row >= rows || (threadIdx.x & (lanes - 1))) return;
    to[row] = x[row] + weight * (b[row] - sum) / values[first[row]];
}

/* Jacobi sweep from a zero guess. */
extern "C" __global__ void amg_relax_zero(const unsigned *first, const float *values, const float *b,
                                          float *to, float weight, int rows)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) to[row] = weight * b[row] / values[first[row]];
}

extern "C" __global__ void amg_residual(const unsigned *first, const unsigned *columns, const float *values,
                                        const float *b, const float *x, float *r, int rows, int lanes)
{
    const int row = group_row(lanes);
    const float sum = row_product(first, columns, values, x, row, rows, lanes);
    if (row < rows && !(threadIdx.x & (lanes - 1))) r[row] = b[row] - sum;
}

/* Right-hand side of the coarser level: to = R from. */
extern "C" __global__ void amg_restrict(const unsigned *first, const unsigned *columns, const float *values,
                                        const float *from, float *to, int rows, int lanes)
{
    const int row = group_row(lanes);
    const float sum = row_product(first, columns, values, from, row, rows, lanes);
    if (row < rows && !(threadIdx.x & (lanes - 1))) to[row] = sum;
}

/* Correction of the finer level: to = to + P from. */
extern "C" __global__ void amg_prolong(const unsigned *first, const unsigned *columns, const float *values,
                                       const float *from, float *to, int rows, int lanes)
{
    const int row = group_row(lanes);
    const float sum = row_product(first, columns, values, from, row, rows, lanes);
    if (row < rows && !(threadIdx.x & (lanes - 1))) to[row] += sum;
}

/* Sum over the block, valid in thread 0. */
static __device__ __forceinline__ float block_sum(float value)
{
    __shared__ float sums[8];
    for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(0xffffffffu, value, by);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 1; k < (int)blockDim.x / 32; k++) value += sums[k];
    return value;
}

/* Square of the residual: a part per block, then the sum of the parts by one block. */
extern "C" __global__ void amg_norm(const float *r, float *parts, int rows)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const float value = row < rows ? r[row] : 0.0f, sum = block_sum(value * value);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void amg_norm_sum(const float *parts, float *norm, int count)
{
    float value = 0.0f;
    for (int k = threadIdx.x; k < count; k += blockDim.x) value += parts[k];
    const float sum = block_sum(value);
    if (threadIdx.x == 0) *norm = sum;
}
