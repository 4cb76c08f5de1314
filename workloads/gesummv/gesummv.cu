/* gesummv: y = alpha A x + beta B x (PolyBench), a thread per row of both matrices. The sums are kept in
 * global memory inside the loop (plain pointers, no register accumulator). */
#include "device.h"

extern "C" __global__ void gesummv(const float *a, const float *b, const float *x, float *y, float *tmp,
                                   float alpha, float beta, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < n; j++) {
        tmp[i] += a[(long long)i * n + j] * x[j];
        y[i] += b[(long long)i * n + j] * x[j];
        DEVICE_KEEP_IN_MEMORY();
    }
    y[i] = alpha * tmp[i] + beta * y[i];
}
