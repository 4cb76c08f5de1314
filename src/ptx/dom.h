/* dom (private to src/ptx): dominator tree of any graph, by Lengauer and Tarjan with path compression:
 * O(edges log nodes), whatever the shape of the graph. Post-dominators are the dominators of the reverse. */
#ifndef ATOLL_PTX_DOM_H
#define ATOLL_PTX_DOM_H

#include <stddef.h>
#include <stdint.h>

/* Edges of node v: to[start[v] .. start[v + 1]) */
struct ptx_graph {
    uint32_t n_nodes;
    const uint32_t *out_start, *out;
    const uint32_t *in_start, *in;
};

/* Words of scratch that ptx_dominators() needs. */
#define PTX_DOM_SCRATCH(n_nodes) (9 * (size_t)(n_nodes))

/* idom[v], UINT32_MAX for the root and what it does not reach. */
void ptx_dominators(const struct ptx_graph *g, uint32_t root, uint32_t *idom, uint32_t *scratch);

#endif
