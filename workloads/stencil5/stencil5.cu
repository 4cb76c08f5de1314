/* stencil5: one Jacobi step of the 5-point Laplacian, one thread per point; the border is copied. */
#include "device.h"

extern "C" __global__ void stencil5(const float *in, float *out, float centre, float side, int rows, int cols)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cols || y >= rows) return;
    const int at = y * cols + x;
    if (x == 0 || y == 0 || x == cols - 1 || y == rows - 1)
        out[at] = in[at];
    else
        out[at] = centre * in[at] + side * (in[at - 1] + in[at + 1] + in[at - cols] + in[at + cols]);
}
