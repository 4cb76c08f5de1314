/* vecadd: c = a + b, one thread per element or per four elements, coalesced, nothing reused. */
#include "device.h"

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

/* n: a multiple of four elements. */
extern "C" __global__ void vecadd_four(const float4 *a, const float4 *b, float4 *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4) return;
    const float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
