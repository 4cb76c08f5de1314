/* spmv_jds: y = A x, A sparse in jagged diagonals (Parboil): rows are sorted by length, longest first, and the k-th
 * entries of all rows lie together. A thread per row. The loop loads the index of an entry one step, and its value
 * and element of x ahead of their use. Where diagonals begin and how many a warp has is in constant memory. */
#include "device.h"

#define WARPS_MAX 5000

__constant__ int diagonal_first[WARPS_MAX], warp_diagonals[WARPS_MAX];

extern "C" __global__ void spmv_jds(float *y, const float *values, const int *columns, const int *order, const float *x,
                                    int rows)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int count = warp_diagonals[row / 32];
    float sum = 0.0f;
    int at = diagonal_first[0] + row;
    float value = values[at], factor = x[columns[at]];
    if (count > 1) {
        at = diagonal_first[1] + row;
        int column = columns[at];
        for (int k = 2; k < count; k++) {
            const int next = diagonal_first[k] + row, next_column = columns[next];
            sum += value * factor;
            value = values[at];
            factor = x[column];
            column = next_column;
            at = next;
        }
        sum += value * factor;
        value = values[at];
        factor = x[column];
    }
    sum += value * factor;
    y[order[row]] = sum;
}
