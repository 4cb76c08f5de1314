/* Kernels with the access patterns of LADM's Table IV, "unclassified": see no_locality.cu. */
#include "device.h"

/* One block per query; every thread compares one key of the node that the search has come to. */
extern "C" __global__ void btree(int height, const int *keys, const int *children, const int *records, int *current,
                                 const int *wanted, int *answer, int order)
{
    const int tid = threadIdx.x, query = blockIdx.x;
    for (int level = 0; level < height; level++) {
        const int node = current[query];
        __syncthreads();
        if (keys[node * order + tid] <= wanted[query] && keys[node * order + tid + 1] > wanted[query])
            current[query] = children[node * order + tid];
        __syncthreads();
    }
    if (keys[current[query] * order + tid] == wanted[query]) answer[query] = records[current[query] * order + tid];
}

/* Lattice-Boltzmann, distributions one array after the other: a row of cells per block, rows and planes as grid. */
extern "C" __global__ void lbm(const float *from, float *to, const int *obstacle, int pitch, int plane, int cells)
{
    const int i = threadIdx.x + blockIdx.x * pitch + blockIdx.y * plane;
    const float c = from[i], e = from[cells + i], w = from[2 * cells + i], n = from[3 * cells + i], s = from[4 * cells + i];
    const float density = c + e + w + n + s, x = e - w, y = n - s, wall = obstacle[i] ? 1.0f : 0.0f;
    const float rest = density * 0.2f;
    to[i + plane] = c + (rest - c) * 0.6f;
    to[cells + i + plane + 1] = wall * w + (1.0f - wall) * (e + (rest + x * 0.3f - e) * 0.6f);
    to[2 * cells + i + plane - 1] = wall * e + (1.0f - wall) * (w + (rest - x * 0.3f - w) * 0.6f);
    to[3 * cells + i + plane + pitch] = wall * s + (1.0f - wall) * (n + (rest + y * 0.3f - n) * 0.6f);
    to[4 * cells + i + plane - pitch] = wall * n + (1.0f - wall) * (s + (rest - y * 0.3f - s) * 0.6f);
}

/* The gain of opening a centre: a point's coordinates lie apart by the number of points; its present cost is found
 * through the centre that it belongs to. */
extern "C" __global__ void streamcluster(const float *coordinates, const float *centre, const int *assigned, const float *cost,
                                         const int *table, float *gains, int points, int dims, int slots)
{
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points) return;
    float distance = 0.0f;
    for (int d = 0; d < dims; d++) {
        const float difference = coordinates[d * points + point] - centre[d];
        distance += difference * difference;
    }
    const float gain = distance - cost[point];
    const int slot = table[assigned[point]];
    gains[point * slots + slot] = gain < 0.0f ? -gain : 0.0f;
}
