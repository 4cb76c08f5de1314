/* bfs: level-synchronous breadth-first search on a graph in CSR. A thread per vertex; those on the current
 * level walk their edges and claim unseen neighbours. The host launches level after level until nothing was
 * claimed. */
#include "device.h"

extern "C" __global__ void bfs_level(const unsigned *first, const unsigned *edges, int *level, int depth,
                                     int *claimed, int vertices)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices || level[v] != depth) return;
    for (unsigned e = first[v]; e < first[v + 1]; e++) {
        const unsigned to = edges[e];
        if (level[to] < 0) { /* several may write the same value */
            level[to] = depth + 1;
            *claimed = 1;
        }
    }
}
