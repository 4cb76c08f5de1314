/* hotspot: temperature of a chip from its power map (2D heat equation, explicit steps). A block of 16x16
 * threads loads its tile, advances 'steps' time steps in shared memory while the valid part shrinks by one
 * ring per step, and writes the rest: the halo is computed twice instead of exchanged. */
#include "device.h"

#define TILE 16

extern "C" __global__ void hotspot(const float *power, const float *in, float *out, int rows, int cols,
                                   int steps, float over_cap, float over_rx, float over_ry, float over_rz,
                                   float ambient)
{
    __shared__ float now[TILE][TILE], next[TILE][TILE];
    const int inner = TILE - 2 * steps, tx = threadIdx.x, ty = threadIdx.y;
    const int x = (int)blockIdx.x * inner + tx - steps, y = (int)blockIdx.y * inner + ty - steps;
    const bool inside = x >= 0 && x < cols && y >= 0 && y < rows;
    const float p = inside ? power[y * cols + x] : 0.0f;
    now[ty][tx] = inside ? in[y * cols + x] : 0.0f;
    __syncthreads();

    for (int s = 1; s <= steps; s++) {
        const bool valid = inside && tx >= s && tx < TILE - s && ty >= s && ty < TILE - s;
        if (valid) { /* beyond the chip's edge: as warm as the edge */
            const float t = now[ty][tx];
            const float north = y > 0 ? now[ty - 1][tx] : t, south = y < rows - 1 ? now[ty + 1][tx] : t;
            const float west = x > 0 ? now[ty][tx - 1] : t, east = x < cols - 1 ? now[ty][tx + 1] : t;
            next[ty][tx] = t + over_cap * (p + (south + north - 2.0f * t) * over_ry +
                                           (east + west - 2.0f * t) * over_rx + (ambient - t) * over_rz);
        }
        __syncthreads();
        if (valid) now[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (inside && tx >= steps && tx < TILE - steps && ty >= steps && ty < TILE - steps)
        out[y * cols + x] = now[ty][tx];
}
