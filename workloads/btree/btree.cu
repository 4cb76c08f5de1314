/* btree: look-ups in a B+ tree of 256 keys per node. One block per query: on each level every thread compares
 * one key of the node (consecutive words), the thread whose interval holds the key names the child. The upper
 * levels are read by every block, the leaves at random. */
#include "device.h"

#define ORDER 256

/* keys[i] is the least key of child i; unused keys are INT_MAX. A leaf's children are record numbers. */
struct node {
    int keys[ORDER];
    int children[ORDER];
};

extern "C" __global__ void btree_find(const node *nodes, const int *records, const int *queries, int *answers,
                                      int height)
{
    __shared__ int next;
    const int t = threadIdx.x, key = queries[blockIdx.x];
    int at = 0;
    for (int level = 0; level < height; level++) {
        if (key >= nodes[at].keys[t] && (t == ORDER - 1 || key < nodes[at].keys[t + 1]))
            next = nodes[at].children[t];
        __syncthreads();
        at = next;
        __syncthreads();
    }
    if (key == nodes[at].keys[t]) answers[blockIdx.x] = records[nodes[at].children[t]];
}
