/* xsbench: lookups of macroscopic neutron cross sections on a unionised energy grid. A thread per lookup draws
 * an energy and a material, searches the energy in the union grid (about 20 dependent loads), reads the row of
 * indices there, and interpolates for every nuclide of the material between two points of the nuclide's grid.
 * All tables are read-only; a lookup stores one word. */
#include "device.h"

typedef unsigned long long u64;

#define MATERIALS 12
#define CHANNELS  5

struct point {
    double energy, section[CHANNELS];
};

/* Same function as wl_u64() of the host. */
static __device__ u64 hash(u64 seed, u64 i)
{
    u64 z = (i + 1) * 0x9e3779b97f4a7c15u + seed * 0xd1342543de82ef95u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* share: cumulated shares of the materials, in 2^-32. members, density: rows of row_max nuclides per material. */
extern "C" __global__ void xsbench_lookup(const double *energies, const int *indices, const point *points,
                                          const unsigned *share, const int *counts, const int *members,
                                          const double *density, float *results, int lookups, int nuclides,
                                          int grid_points, int row_max, u64 seed)
{
    const int lookup = blockIdx.x * blockDim.x + threadIdx.x;
    if (lookup >= lookups) return;
    const double energy = (double)(hash(seed, 2 * (u64)lookup) >> 11) * 0x1p-53;
    const unsigned draw = (unsigned)(hash(seed, 2 * (u64)lookup + 1) >> 32);
    int material = 0;
    while (material < MATERIALS - 1 && draw >= share[material]) material++;

    long long low = 0, high = (long long)nuclides * grid_points;
    while (high - low > 1) {
        const long long middle = (low + high) / 2;
        if (energies[middle] > energy)
            high = middle;
        else
            low = middle;
    }

    double sum[CHANNELS] = {0.0, 0.0, 0.0, 0.0, 0.0};
    const int count = counts[material];
    for (int k = 0; k < count; k++) {
        const int nuclide = members[material * row_max + k];
        const double weight = density[material * row_max + k];
        const int index = indices[low * nuclides + nuclide];
        const point *below = points + (long long)nuclide * grid_points + index, *above = below + 1;
        const double part = (above->energy - energy) / (above->energy - below->energy);
        for (int c = 0; c < CHANNELS; c++)
            sum[c] += weight * (above->section[c] - part * (above->section[c] - below->section[c]));
    }
    results[lookup] =
        (float)(sum[0] + 2.0 * sum[1] + 3.0 * sum[2] + 4.0 * sum[3] + 5.0 * sum[4]); /* depends on all five */
}
