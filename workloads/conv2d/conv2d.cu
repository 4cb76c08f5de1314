/* conv2d: 3x3 convolution of an image (PolyBench), one thread per pixel; the border stays as it is. */
#include "device.h"

extern "C" __global__ void conv2d(const float *a, float *b, int ni, int nj)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= ni - 1 || j >= nj - 1) return;
    const float *up = a + (i - 1) * nj + j, *mid = up + nj, *down = mid + nj;
    b[i * nj + j] = 0.2f * up[-1] - 0.3f * up[0] + 0.4f * up[1]      /* */
                    + 0.5f * mid[-1] + 0.6f * mid[0] + 0.7f * mid[1] /* */
                    - 0.8f * down[-1] - 0.9f * down[0] + 0.1f * down[1];
}
