/* srad: speckle reducing anisotropic diffusion of an image (Rodinia's srad_v2), two launches per iteration. A block of
 * 16x16 threads has a tile of the image, a thread per pixel. The first launch makes the four differences to the
 * neighbours and the diffusion coefficient of every pixel, the second moves the image by them. Tiles are staged in
 * shared memory; every thread also loads the pixels next to the tile in its row and in its column. At the border
 * of the image a neighbour is the pixel itself. */
#include "device.h"

#define TILE 16

extern "C" __global__ void srad_coefficients(const float *image, float *north, float *south, float *west, float *east,
                                             float *coefficient, int cols, int rows, float q0)
{
    __shared__ float tile[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y, left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    const int x = left + tx, y = top + ty, at = cols * y + x;
    const float above = image[cols * max(top - 1, 0) + x], below = image[cols * min(top + TILE, rows - 1) + x];
    const float before = image[cols * y + max(left - 1, 0)], after = image[cols * y + min(left + TILE, cols - 1)];
    const float here = image[at];
    tile[ty][tx] = here;
    __syncthreads();
    const float n = (ty == 0 ? above : tile[ty - 1][tx]) - here;
    const float s = (ty == TILE - 1 ? below : tile[ty + 1][tx]) - here;
    const float w = (tx == 0 ? before : tile[ty][tx - 1]) - here;
    const float e = (tx == TILE - 1 ? after : tile[ty][tx + 1]) - here;
    const float g2 = (n * n + s * s + w * w + e * e) / (here * here), l = (n + s + w + e) / here;
    const float part = 1.0f + 0.25f * l, q2 = (0.5f * g2 - (1.0f / 16.0f) * (l * l)) / (part * part);
    const float c = 1.0f / (1.0f + (q2 - q0) / (q0 * (1.0f + q0)));
    coefficient[at] = fminf(fmaxf(c, 0.0f), 1.0f);
    east[at] = e;
    west[at] = w;
    south[at] = s;
    north[at] = n;
}

extern "C" __global__ void srad_update(float *image, const float *north, const float *south, const float *west,
                                       const float *east, const float *coefficient, int cols, int rows, float lambda)
{
    __shared__ float tile[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y, left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    const int x = left + tx, y = top + ty, at = cols * y + x;
    const float below = coefficient[cols * min(top + TILE, rows - 1) + x];
    const float after = coefficient[cols * y + min(left + TILE, cols - 1)];
    const float here = coefficient[at], old = image[at];
    tile[ty][tx] = here;
    __syncthreads();
    const float s = ty == TILE - 1 ? below : tile[ty + 1][tx], e = tx == TILE - 1 ? after : tile[ty][tx + 1];
    const float sum = here * north[at] + s * south[at] + here * west[at] + e * east[at];
    image[at] = old + 0.25f * lambda * sum;
}
