/* bfs_relax: breadth-first search by relaxing from work lists (Lonestar). A grid-stride loop over the vertices of the
 * list; a thread walks through the edges of its vertex, lowers the distance of every neighbour, and appends those that
 * it lowered to the next list. */
#include "device.h"

extern "C" __global__ void bfs_relax(const unsigned *list, const unsigned *first, const unsigned *edges,
                                     unsigned *distance, unsigned *next_list, unsigned *next_count, int items)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += gridDim.x * blockDim.x) {
        const unsigned v = list[i], next = distance[v] + 1, end = first[v + 1];
        for (unsigned e = first[v]; e < end; e++) {
            const unsigned to = edges[e];
            if (atomicMin(distance + to, next) > next) next_list[atomicAdd(next_count, 1u)] = to;
        }
    }
}
