/* pagerank: ranks of the vertices of a graph, as products of a sparse matrix with the vector of ranks (Pannotia's
 * pagerank_spmv). A thread per vertex walks through its incoming edges. An edge weighs one over the out-degree of the
 * vertex that it comes from. */
#include "device.h"

extern "C" __global__ void pagerank_init(float *rank, float *sum, float start, int vertices)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices) return;
    rank[v] = start;
    sum[v] = 0.0f;
}

extern "C" __global__ void pagerank_spread(const unsigned *first, const unsigned *sources, const float *weights,
                                           const float *rank, float *sum, int vertices)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices) return;
    const unsigned end = first[v + 1];
    float total = 0.0f;
    for (unsigned e = first[v]; e < end; e++) total += weights[e] * rank[sources[e]];
    sum[v] += total;
}

extern "C" __global__ void pagerank_update(float *rank, float *sum, float base, int vertices)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices) return;
    rank[v] = base + 0.85f * sum[v];
    sum[v] = 0.0f;
}
