/* lbm: one step of a D3Q19 lattice-Boltzmann fluid, collide and stream (Parboil). One thread per cell, one
 * block per row of cells. 19 distributions and the cell's kind are arrays of their own: 20 coalesced loads,
 * 19 stores shifted by the direction. Rows are longer than the cells in them, and planes of margin lie
 * around, so that a store beyond the edge meets no cell. */
#include "device.h"

#define DIRECTIONS 19
enum { FLUID, OBSTACLE, MOVING };

extern "C" __global__ void lbm(const float *from, float *to, long long array, int margin, int pitch)
{
    const int ex[DIRECTIONS] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
    const int ey[DIRECTIONS] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
    const int ez[DIRECTIONS] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
    const int opposite[DIRECTIONS] = {0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15, 18, 17};
    const float omega = 1.95f;
    const int plane = pitch * gridDim.x;
    const int at = margin + (blockIdx.y * gridDim.x + blockIdx.x) * pitch + threadIdx.x;

    float f[DIRECTIONS], density = 0.0f, ux = 0.0f, uy = 0.0f, uz = 0.0f;
#pragma unroll
    for (int q = 0; q < DIRECTIONS; q++) f[q] = from[q * array + at];
    const int kind = __float_as_int(from[DIRECTIONS * array + at]);
    if (kind == OBSTACLE) { /* bounces back */
#pragma unroll
        for (int q = 0; q < DIRECTIONS; q++)
            to[q * array + at + ez[q] * plane + ey[q] * pitch + ex[q]] = f[opposite[q]];
        return;
    }
#pragma unroll
    for (int q = 0; q < DIRECTIONS; q++) {
        density += f[q];
        ux += (float)ex[q] * f[q];
        uy += (float)ey[q] * f[q];
        uz += (float)ez[q] * f[q];
    }
    ux /= density;
    uy /= density;
    uz /= density;
    if (kind == MOVING) { /* the lid */
        ux = 0.005f;
        uy = 0.002f;
        uz = 0.0f;
    }
    const float still = 1.0f - 1.5f * (ux * ux + uy * uy + uz * uz);
#pragma unroll
    for (int q = 0; q < DIRECTIONS; q++) {
        const float weight = q == 0 ? 1.0f / 3 : q < 7 ? 1.0f / 18 : 1.0f / 36;
        const float along = 3.0f * ((float)ex[q] * ux + (float)ey[q] * uy + (float)ez[q] * uz);
        const float even = weight * density * (still + along + 0.5f * along * along);
        to[q * array + at + ez[q] * plane + ey[q] * pitch + ex[q]] = (1.0f - omega) * f[q] + omega * even;
    }
}
