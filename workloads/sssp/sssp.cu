/* sssp: shortest paths from one vertex of a graph in CSR, by rounds of Bellman-Ford with a frontier. A thread per
 * vertex. A round has two launches: vertices of the frontier relax their edges into `next`; then every vertex
 * whose `next` is smaller than its distance takes the new distance and joins the next frontier. */
#include "device.h"

#define UNREACHED 0xffffffffu

extern "C" __global__ void sssp_init(unsigned *distance, unsigned *next, unsigned *frontier, int source,
                                     int vertices)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices) return;
    distance[v] = next[v] = v == source ? 0 : UNREACHED;
    frontier[v] = v == source;
}

/* The plain read of next[to] may be old. Values only fall, so an old value costs one needless atomic. */
extern "C" __global__ void sssp_relax(const unsigned *first, const unsigned *edges, const unsigned *weights,
                                      const unsigned *distance, unsigned *next, unsigned *frontier,
                                      int vertices)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices || !frontier[v]) return;
    frontier[v] = 0;
    const unsigned from = distance[v];
    for (unsigned e = first[v]; e < first[v + 1]; e++) {
        const unsigned to = edges[e], length = from + weights[e];
        if (length < next[to]) atomicMin(next + to, length);
    }
}

extern "C" __global__ void sssp_commit(unsigned *distance, const unsigned *next, unsigned *frontier,
                                       unsigned *changed, int vertices)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices) return;
    const unsigned length = next[v];
    if (length >= distance[v]) return;
    distance[v] = length;
    frontier[v] = 1;
    *changed = 1; /* every writer stores 1 */
}

/* The variant without a frontier (Pannotia): every vertex looks at all its edges in every round and keeps the least
 * sum of an edge and the distance of the vertex at its other end. */
extern "C" __global__ void sssp_pull(const unsigned *first, const unsigned *edges, const unsigned *weights,
                                     const unsigned *distance, unsigned *next, int vertices)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices) return;
    const unsigned end = first[v + 1];
    unsigned least = next[v];
    for (unsigned e = first[v]; e < end; e++) {
        const unsigned from = distance[edges[e]];
        if (from != UNREACHED) least = min(least, from + weights[e]);
    }
    next[v] = least;
}
