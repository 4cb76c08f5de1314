/* mvt: x1 += A y1 and x2 += A' y2 (PolyBench). The sums are kept in global memory inside the loops
 * (DEVICE_KEEP_IN_MEMORY). */
#include "device.h"

/* A thread walks a row: the lanes of a warp are n words apart, a line serves 32 iterations. */
extern "C" __global__ void mvt_rows(const float *a, float *x1, const float *y1, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < n; j++) {
        x1[i] += a[(long long)i * n + j] * y1[j];
        DEVICE_KEEP_IN_MEMORY();
    }
}

/* A thread walks a column: coalesced. */
extern "C" __global__ void mvt_columns(const float *a, float *x2, const float *y2, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < n; j++) {
        x2[i] += a[(long long)j * n + i] * y2[j];
        DEVICE_KEEP_IN_MEMORY();
    }
}
