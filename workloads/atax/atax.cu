/* atax: y = A' (A x) (PolyBench). The sums are kept in global memory inside the loops (plain pointers, no
 * register accumulator). */
#include "device.h"

extern "C" __global__ void atax_rows(const float *a, const float *x, float *tmp, int nx, int ny)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nx) return;
    for (int j = 0; j < ny; j++) {
        tmp[i] += a[(long long)i * ny + j] * x[j];
        DEVICE_KEEP_IN_MEMORY();
    }
}

extern "C" __global__ void atax_columns(const float *a, float *y, const float *tmp, int nx, int ny)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= ny) return;
    for (int i = 0; i < nx; i++) {
        y[j] += a[(long long)i * ny + j] * tmp[i];
        DEVICE_KEEP_IN_MEMORY();
    }
}
