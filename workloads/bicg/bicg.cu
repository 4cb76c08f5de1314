/* bicg: s = A' r and q = A p, the two products of the biconjugate gradient step (PolyBench). The sums are
 * kept in global memory inside the loops (plain pointers, no register accumulator). */
#include "device.h"

extern "C" __global__ void bicg_columns(const float *a, const float *r, float *s, int nx, int ny)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= ny) return;
    s[j] = 0.0f;
    for (int i = 0; i < nx; i++) {
        s[j] += r[i] * a[(long long)i * ny + j];
        DEVICE_KEEP_IN_MEMORY();
    }
}

extern "C" __global__ void bicg_rows(const float *a, const float *p, float *q, int nx, int ny)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nx) return;
    q[i] = 0.0f;
    for (int j = 0; j < ny; j++) {
        q[i] += a[(long long)i * ny + j] * p[j];
        DEVICE_KEEP_IN_MEMORY();
    }
}
