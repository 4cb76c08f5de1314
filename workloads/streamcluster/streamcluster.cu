/* streamcluster: what opening a centre at a candidate point would gain (Rodinia). A thread per point: its
 * distance to the candidate, whose coordinates are staged in shared memory; if the point would move, the
 * candidate gains, else the point's centre could lose less: both go into the point's row of a table. */
#include "device.h"

#define BLOCK     512
#define DIMS_MOST 1024

/* coord: dimension by dimension. table: a row of centres + 1 words per point, zero before. */
extern "C" __global__ void streamcluster(const float *coord, const float *weight, const float *cost,
                                         const int *assigned, const int *centre_slot, float *table,
                                         unsigned char *moves, int points, int dims, int centres,
                                         int candidate)
{
    __shared__ float at[DIMS_MOST];
    for (int d = threadIdx.x; d < dims; d += BLOCK) at[d] = coord[(long long)d * points + candidate];
    __syncthreads();
    const int p = blockIdx.x * BLOCK + threadIdx.x;
    if (p >= points) return;
    float distance = 0.0f;
    for (int d = 0; d < dims; d++) {
        const float diff = coord[(long long)d * points + p] - at[d];
        distance += diff * diff;
    }
    const float now = cost[p], then = distance * weight[p];
    float *row = table + (long long)p * (centres + 1);
    moves[p] = then < now;
    if (then < now)
        row[centres] = then - now;
    else
        row[centre_slot[assigned[p]]] += then - now;
}
