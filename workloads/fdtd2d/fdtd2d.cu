/* fdtd2d: finite differences in time of a 2D electromagnetic field (PolyBench): three launches per time step,
 * a thread per point. ex has one column more and ey one row more than hz. */
#include "device.h"

/* The first row of ey is the source. */
extern "C" __global__ void fdtd2d_ey(float *ey, const float *hz, const float *source, int nx, int ny, int t)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    if (i == 0)
        ey[j] = source[t];
    else
        ey[i * ny + j] -= 0.5f * (hz[i * ny + j] - hz[(i - 1) * ny + j]);
}

extern "C" __global__ void fdtd2d_ex(float *ex, const float *hz, int nx, int ny)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny || j == 0) return;
    ex[i * (ny + 1) + j] -= 0.5f * (hz[i * ny + j] - hz[i * ny + j - 1]);
}

extern "C" __global__ void fdtd2d_hz(const float *ex, const float *ey, float *hz, int nx, int ny)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    const float *x = ex + i * (ny + 1) + j, *y = ey + i * ny + j;
    hz[i * ny + j] -= 0.7f * (x[1] - x[0] + y[ny] - y[0]);
}
