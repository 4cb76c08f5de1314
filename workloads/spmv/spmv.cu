/* spmv: y = A x, A sparse in CSR, one thread per row: each lane walks its own row (values and columns
 * stream), x is gathered. */
#include "device.h"

extern "C" __global__ void spmv(const unsigned *first, const unsigned *columns, const float *values,
                                const float *x, float *y, int rows)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (unsigned e = first[row]; e < first[row + 1]; e++) sum += values[e] * x[columns[e]];
    y[row] = sum;
}
