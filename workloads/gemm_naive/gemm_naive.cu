/* gemm_naive: C = alpha A B + beta C, one thread per element of C, as PolyBench has it: the sum is kept in
 * global memory inside the loop (plain pointers, no register accumulator). Without shared memory, rows of A
 * are read by all blocks of a grid row and B by everyone. */
#include "device.h"

extern "C" __global__ void gemm_naive(const float *a, const float *b, float *c, float alpha, float beta,
                                      int ni, int nj, int nk)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= ni || j >= nj) return;
    c[i * nj + j] *= beta;
    for (int k = 0; k < nk; k++) {
        c[i * nj + j] += alpha * a[i * nk + k] * b[k * nj + j];
        DEVICE_KEEP_IN_MEMORY();
    }
}
