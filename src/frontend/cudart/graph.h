/* graph: operations with an order between them, recorded from streams or built by hand.
 *
 * A node is an operation and what it follows. An executable graph is a copy whose nodes know the one that
 * they were copied from. Memory of an allocation node is there as long as the node or a copy of it. */
#ifndef ATOLL_FRONTEND_CUDART_GRAPH_H
#define ATOLL_FRONTEND_CUDART_GRAPH_H

#include "frontend/cudart/process.h"
#include "frontend/cudart/runtime_api.h"

struct graph_node {
    struct op op;
    struct graph *graph;
    struct graph_node **before; /* that it follows */
    size_t before_count;
    const struct graph_node *origin; /* of a copy */
    bool disabled;
    struct task *task; /* while it is submitted */
    bool through;      /* graph_has_cycle() */
};

struct graph {
    struct graph_node **nodes; /* in the order in which they were added */
    size_t count, capacity;
    bool owned; /* by a node of another graph, or a capture under way */
    uint64_t flags;
};

struct graph *graph_new(enum handle_kind kind);
void graph_free(struct graph *g);
/* Takes the operation over. *out may be NULL. */
cudaError_t graph_add(struct graph *g, struct op *op, struct graph_node *const *before, size_t count,
                      struct graph_node **out);
cudaError_t graph_clone(const struct graph *g, enum handle_kind kind, struct graph **out);
struct graph_node *graph_copy_of(const struct graph *copy, const struct graph_node *origin);
cudaError_t graph_follow(struct graph_node *node, struct graph_node *before);
void graph_node_free(struct graph_node *n);
/* Takes the operation over, in place of the one it has. */
void graph_node_change(struct graph_node *n, const struct op *op);
/* Do nodes wait for each other in a circle? */
bool graph_has_cycle(struct graph *g);

#endif
