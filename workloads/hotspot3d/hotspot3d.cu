/* hotspot3d: temperature of a stack of chip layers (Rodinia). A block of 64x4 threads; a thread goes up through all
 * layers of its column and keeps the layers below, at and above in registers. Beyond the border of the chip it is as
 * warm as at the border. */
#include "device.h"

struct hotspot3d_weights {
    float centre, row, column, layer, power, ambient;
};

static __device__ float step(const float *power, const float *in, int at, int west, int east, int north, int south,
                             float below, float here, float above, hotspot3d_weights k)
{
    return k.centre * here + k.row * in[at + west] + k.row * in[at + east] + k.column * in[at + south] +
           k.column * in[at + north] + k.layer * below + k.layer * above + k.power * power[at] + k.ambient;
}

extern "C" __global__ void hotspot3d(const float *power, const float *in, float *out, int nx, int ny, int nz,
                                     float centre, float row, float column, float layer, float step_over_cap,
                                     float ambient)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int area = nx * ny, west = x == 0 ? 0 : -1, east = x == nx - 1 ? 0 : 1;
    const int north = y == 0 ? 0 : -nx, south = y == ny - 1 ? 0 : nx;
    const hotspot3d_weights k = {centre, row, column, layer, step_over_cap, ambient};
    int at = y * nx + x;
    float below = in[at], here = below, above = in[at + area];
    out[at] = step(power, in, at, west, east, north, south, below, here, above, k);
    at += area;
    for (int z = 1; z < nz - 1; z++) {
        below = here;
        here = above;
        above = in[at + area];
        out[at] = step(power, in, at, west, east, north, south, below, here, above, k);
        at += area;
    }
    below = here;
    here = above;
    out[at] = step(power, in, at, west, east, north, south, below, here, here, k);
}
