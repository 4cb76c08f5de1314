/* conv3d: 11-point convolution of a volume (PolyBench): the host goes through the planes, one launch each, a
 * thread per point of the plane; the borders stay as they are. */
#include "device.h"

extern "C" __global__ void conv3d(const float *a, float *b, int i, int nj, int nk)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (j < 1 || k < 1 || j >= nj - 1 || k >= nk - 1) return;
    const long long plane = (long long)nj * nk, at = i * plane + j * nk + k;
    const float *mid = a + at, *before = mid - plane, *after = mid + plane;
    b[at] = 0.5f * mid[-nk] + 0.6f * mid[0] - 0.9f * mid[nk]                                             /* */
            + 0.2f * before[-nk - 1] - 0.3f * before[-nk + 1] + 0.4f * before[1] + 0.7f * before[nk + 1] /* */
            - 0.8f * after[-nk - 1] + 0.1f * after[-nk + 1] + 0.25f * after[1] - 0.35f * after[nk + 1];
}
