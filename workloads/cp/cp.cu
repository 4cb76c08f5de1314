/* cp: Coulomb potential of atoms on a plane of grid points (Parboil). A thread has eight points that lie 16 apart.
 * Atoms are in constant memory; z holds the squared distance to the plane. */
#include "device.h"

#define ATOMS_MAX 4000
#define POINTS    8
#define BLOCK_X   16

__constant__ float4 atoms[ATOMS_MAX];

extern "C" __global__ void cp(float *energy, int atom_count, float spacing)
{
    const int x = blockIdx.x * BLOCK_X * POINTS + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const float at_x = spacing * (float)x, at_y = spacing * (float)y, apart = spacing * BLOCK_X;
    float sum[POINTS] = {0};
    for (int k = 0; k < atom_count; k++) {
        const float dy = at_y - atoms[k].y, rest = dy * dy + atoms[k].z;
        float dx = at_x - atoms[k].x;
#pragma unroll
        for (int i = 0; i < POINTS; i++, dx += apart) sum[i] += atoms[k].w * rsqrtf(dx * dx + rest);
    }
    energy += y * (int)(gridDim.x * BLOCK_X * POINTS) + x;
#pragma unroll
    for (int i = 0; i < POINTS; i++) energy[i * BLOCK_X] += sum[i];
}
