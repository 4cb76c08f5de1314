/* Kernels with the access patterns of LADM's Table IV, "intra-thread locality": see no_locality.cu. */
#include "device.h"

/* Graphs are in compressed sparse rows. */
extern "C" __global__ void pagerank(const int *row, const int *col, const float *rank, float *next, int nodes)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nodes) return;
    const int end = row[v + 1];
    float sum = 0.0f;
    for (int e = row[v]; e < end; e++) sum += rank[col[e]];
    next[v] = 0.15f + 0.85f * sum;
}

extern "C" __global__ void bfs_relax(const int *worklist, const int *row, const int *col, int *distance, int *out, int *count,
                                     int items)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += blockDim.x * gridDim.x) {
        const int v = worklist[i];
        const int next = distance[v] + 1, end = row[v + 1];
        for (int e = row[v]; e < end; e++) {
            const int to = col[e];
            if (atomicMin(&distance[to], next) > next) out[atomicAdd(count, 1)] = to;
        }
    }
}

extern "C" __global__ void sssp(const int *row, const int *col, const int *weight, const int *distance, int *update, int nodes)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nodes) return;
    const int start = row[v], end = row[v + 1], here = distance[v];
    for (int e = start; e < end; e++) atomicMin(&update[col[e]], here + weight[e]);
}

/* A random place, then a short walk from there. */
extern "C" __global__ void randomloc(const int *data, int *out, int n, int length)
{
    const unsigned tid = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned start = (tid * 1664525u + 1013904223u) % (unsigned)n;
    int sum = 0;
    for (int k = 0; k < length; k++) sum += data[start + k];
    out[tid] = sum;
}

/* Row-major features: each thread walks through the row of its point, once for each cluster. */
extern "C" __global__ void kmeans_notex(const float *features, const float *centres, int *member, int points, int clusters,
                                        int dims)
{
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points) return;
    float best = 3.4e38f;
    int index = 0;
    for (int c = 0; c < clusters; c++) {
        float distance = 0.0f;
        for (int f = 0; f < dims; f++) {
            const float d = features[point * dims + f] - centres[c * dims + f];
            distance += d * d;
        }
        if (distance < best) {
            best = distance;
            index = c;
        }
    }
    member[point] = index;
}

/* Jagged diagonals: the k-th element of every row lies together. */
extern "C" __global__ void spmv_jds(const int *diagonal, const int *length, const int *index, const float *data,
                                    const int *order, const float *x, float *y, int rows)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int bound = length[row >> 5];
    float sum = 0.0f;
    for (int k = 0; k < bound; k++) {
        const int j = diagonal[k] + row;
        sum += data[j] * x[index[j]];
    }
    y[order[row]] = sum;
}
