/* graph: see graph.h: nodes, copies, running. */
#include "frontend/cudart/graph.h"

#include <stdlib.h>
#include <string.h>

struct graph *graph_new(enum handle_kind kind)
{
    struct graph *g = calloc(1, sizeof *g);
    if (g && !handle_add(g, kind)) {
        free(g);
        return NULL;
    }
    return g;
}

/* ---- memory of allocation nodes: a graph may go before what was instantiated from it, and the other way
 * round ---- */

static void memory_keep(const struct op *op)
{
    struct block *b = op->kind == OP_ALLOC ? block_of(op->alloc.dptr) : NULL;
    if (b) b->nodes++;
}

static void memory_let_go(const struct op *op)
{
    struct block *b = op->kind == OP_ALLOC ? block_of(op->alloc.dptr) : NULL;
    if (!b || !b->nodes || --b->nodes) return; /* b is NULL after cudaDeviceReset() */
    process.devices[0].graph_bytes -= op->alloc.bytesize;
    tasks_then_drop(b->at);
}

void graph_node_change(struct graph_node *n, const struct op *op)
{
    memory_keep(op);
    memory_let_go(&n->op);
    op_free(&n->op);
    n->op = *op;
}

void graph_node_free(struct graph_node *n)
{
    memory_let_go(&n->op);
    if (n->op.kind == OP_GRAPH) graph_free(n->op.graph);
    op_free(&n->op);
    handle_drop(n);
    free(n->before);
    free(n);
}

void graph_free(struct graph *g)
{
    if (!g) return;
    for (size_t i = 0; i < g->count; i++) graph_node_free(g->nodes[i]);
    handle_drop(g);
    free(g->nodes);
    free(g);
}

cudaError_t graph_follow(struct graph_node *node, struct graph_node *before)
{
    struct graph_node **grown = realloc(node->before, (node->before_count + 1) * sizeof(struct graph_node *));
    if (!grown) return cudaErrorMemoryAllocation;
    node->before = grown;
    node->before[node->before_count++] = before;
    return cudaSuccess;
}

cudaError_t graph_add(struct graph *g, struct op *op, struct graph_node *const *before, size_t count,
                      struct graph_node **out)
{
    if (g->count == g->capacity) {
        const size_t capacity = g->capacity ? 2 * g->capacity : 8;
        struct graph_node **grown = realloc(g->nodes, capacity * sizeof(struct graph_node *));
        if (!grown) return cudaErrorMemoryAllocation;
        g->nodes = grown;
        g->capacity = capacity;
    }
    struct graph_node *n = calloc(1, sizeof *n);
    if (!n || !handle_add(n, HANDLE_NODE)) {
        free(n);
        return cudaErrorMemoryAllocation;
    }
    n->graph = g;
    for (size_t i = 0; i < count; i++) {
        const cudaError_t error = graph_follow(n, before[i]);
        if (error) {
            handle_drop(n);
            free(n->before);
            free(n);
            return error;
        }
    }
    n->op = *op;
    memory_keep(op);
    g->nodes[g->count++] = n;
    if (out) *out = n;
    return cudaSuccess;
}

struct graph_node *graph_copy_of(const struct graph *copy, const struct graph_node *origin)
{
    for (size_t i = 0; i < copy->count; i++)
        if (copy->nodes[i]->origin == origin) return copy->nodes[i];
    return NULL;
}

static cudaError_t copy_node(struct graph *to, struct graph_node *n)
{
    struct op op;
    struct graph_node *fresh;
    cudaError_t error = op_copy_of(&op, &n->op);
    if (!error && op.kind == OP_GRAPH) error = graph_clone(n->op.graph, HANDLE_GRAPH, &op.graph);
    if (error) return error;
    error = graph_add(to, &op, NULL, 0, &fresh);
    if (error) return error;
    fresh->origin = n;
    fresh->disabled = n->disabled;
    return cudaSuccess;
}

cudaError_t graph_clone(const struct graph *g, enum handle_kind kind, struct graph **out)
{
    struct graph *copy = *out = graph_new(kind);
    cudaError_t error = copy ? cudaSuccess : cudaErrorMemoryAllocation;
    for (size_t i = 0; !error && i < g->count; i++) error = copy_node(copy, g->nodes[i]);
    for (size_t i = 0; !error && i < g->count; i++)
        for (size_t k = 0; !error && k < g->nodes[i]->before_count; k++)
            error = graph_follow(copy->nodes[i], graph_copy_of(copy, g->nodes[i]->before[k]));
    if (error) {
        graph_free(copy);
        *out = NULL;
    }
    return error;
}

static bool follows_only_through(const struct graph_node *n)
{
    for (size_t i = 0; i < n->before_count; i++)
        if (!n->before[i]->through) return false;
    return true;
}

bool graph_has_cycle(struct graph *g)
{
    size_t left = g->count;
    for (size_t i = 0; i < g->count; i++) g->nodes[i]->through = false;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < g->count; i++) {
            struct graph_node *n = g->nodes[i];
            if (n->through || !follows_only_through(n)) continue;
            n->through = moved = true;
            left--;
        }
    }
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i]->op.kind == OP_GRAPH && graph_has_cycle(g->nodes[i]->op.graph)) return true;
    return left > 0;
}

/* ---- running: a task per node, which follows those of the nodes before it ---- */

static cudaError_t submit_nodes(struct graph *g, int device, struct task *begin, struct task **end);

static bool is_ready(const struct graph_node *n)
{
    for (size_t i = 0; i < n->before_count; i++)
        if (!n->before[i]->task) return false;
    return !n->task;
}

static cudaError_t submit_node(struct graph_node *n, int device, struct task *begin)
{
    struct op op = {.kind = OP_EMPTY};
    struct task **before = calloc(n->before_count + 1, sizeof(struct task *)), *join = NULL;
    cudaError_t error = before ? cudaSuccess : cudaErrorMemoryAllocation;
    for (size_t i = 0; !error && i < n->before_count; i++) before[i] = n->before[i]->task;
    if (!error) before[n->before_count] = begin;
    const bool child = n->op.kind == OP_GRAPH && !n->disabled;
    if (!error && !child && !n->disabled) error = op_copy_of(&op, &n->op);
    if (!error) error = task_submit(NULL, device, &op, before, n->before_count + 1, child ? &join : &n->task);
    if (!error && child) error = submit_nodes(n->op.graph, device, join, &n->task);
    task_release(join);
    free(before);
    return error;
}

/* *end: when all have ended; the caller's to release. */
static cudaError_t submit_nodes(struct graph *g, int device, struct task *begin, struct task **end)
{
    struct op op = {.kind = OP_EMPTY};
    struct task **all = calloc(g->count + 1, sizeof(struct task *));
    cudaError_t error = all ? cudaSuccess : cudaErrorMemoryAllocation;
    size_t left = g->count;
    for (size_t i = 0; i < g->count; i++) g->nodes[i]->task = NULL;
    for (bool moved = true; !error && left && moved;) {
        moved = false;
        for (size_t i = 0; !error && i < g->count; i++) {
            if (!is_ready(g->nodes[i])) continue;
            error = submit_node(g->nodes[i], device, begin);
            moved = true;
            left--;
        }
    }
    if (!error && left) error = cudaErrorInvalidValue; /* a cycle */
    for (size_t i = 0; !error && i < g->count; i++) all[i] = g->nodes[i]->task;
    if (all) all[g->count] = begin;
    if (!error) error = task_submit(NULL, device, &op, all, g->count + 1, end);
    for (size_t i = 0; i < g->count; i++) task_release(g->nodes[i]->task);
    free(all);
    return error;
}

cudaError_t graph_submit(struct stream *s, struct graph *g)
{
    struct op op = {.kind = OP_EMPTY};
    struct task *begin = NULL, *end = NULL;
    cudaError_t error = capture_forbids_legacy(s);
    if (!error) error = task_submit(s, s->device, &op, NULL, 0, &begin);
    if (!error) error = submit_nodes(g, s->device, begin, &end);
    op = (struct op){.kind = OP_EMPTY};
    if (!error) error = task_submit(s, s->device, &op, &end, 1, NULL);
    task_release(begin);
    task_release(end);
    return error;
}

/* ---- graphs built by hand ---- */

static bool are_nodes(const cudaGraphNode_t *nodes, size_t count, const struct graph *g)
{
    for (size_t i = 0; i < count; i++)
        if (!handle_is(nodes[i], HANDLE_NODE) || ((struct graph_node *)nodes[i])->graph != g) return false;
    return true;
}

static cudaError_t add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                       struct op *op)
{
    if (!handle_is(graph, HANDLE_GRAPH) || (count && (!before || !are_nodes(before, count, graph)))) {
        op_free(op);
        return cudaErrorInvalidValue;
    }
    return graph_add(graph, op, (struct graph_node *const *)before, count, (struct graph_node **)node);
}

CUDA_API cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags)
{
    ENTER();
    if (!graph || flags) return leave(cudaErrorInvalidValue);
    *graph = graph_new(HANDLE_GRAPH);
    return leave(*graph ? cudaSuccess : cudaErrorMemoryAllocation);
}

CUDA_API cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    ENTER();
    if (!handle_is(graph, HANDLE_GRAPH)) return leave(cudaErrorInvalidValue);
    graph_free(graph);
    return leave(cudaSuccess);
}

static cudaError_t kernel_op(struct op *op, const struct cudaKernelNodeParams *p)
{
    if (!p) return cudaErrorInvalidValue;
    return launch_op(op, kernel_of_host(p->func), p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes,
                     false);
}

CUDA_API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                            const cudaGraphNode_t *before, size_t count,
                                            const struct cudaKernelNodeParams *p)
{
    struct op op;
    ENTER();
    const cudaError_t error = kernel_op(&op, p);
    return leave(error ? error : add(node, graph, before, count, &op));
}

CUDA_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                            const cudaGraphNode_t *before, size_t count,
                                            const struct cudaMemcpy3DParms *p)
{
    struct op op = {.kind = OP_COPY};
    ENTER();
    if (!p) return leave(cudaErrorInvalidValue);
    const cudaError_t error = copy_3d_any(&op.copy, p);
    return leave(error ? error : add(node, graph, before, count, &op));
}

static void copy_1d(struct op *op, void *to, const void *from, size_t bytes, int kind)
{
    *op =
        (struct op){.kind = OP_COPY,
                    .copy = {.to = to, .from = from, .width = bytes, .height = 1, .depth = 1, .kind = kind}};
    struct cudaMemcpy3DParms *asked = &op->copy.asked;
    asked->dstPtr = (struct cudaPitchedPtr){to, bytes, bytes, 1};
    asked->srcPtr = (struct cudaPitchedPtr){(void *)(uintptr_t)from, bytes, bytes, 1};
    asked->extent = (struct cudaExtent){bytes, 1, 1};
    asked->kind = kind;
}

CUDA_API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
                                              const cudaGraphNode_t *before, size_t count, void *to,
                                              const void *from, size_t bytes, int kind)
{
    struct op op;
    ENTER();
    copy_1d(&op, to, from, bytes, kind);
    return leave(add(node, graph, before, count, &op));
}

CUDA_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                            const cudaGraphNode_t *before, size_t count,
                                            const struct cudaMemsetParams *p)
{
    ENTER();
    if (!p) return leave(cudaErrorInvalidValue);
    struct op op = {.kind = OP_SET, .set = {.p = *p, .depth = 1}};
    return leave(add(node, graph, before, count, &op));
}

CUDA_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                          const cudaGraphNode_t *before, size_t count,
                                          const struct cudaHostNodeParams *p)
{
    ENTER();
    if (!p || !p->fn) return leave(cudaErrorInvalidValue);
    struct op op = {.kind = OP_HOST, .host = *p};
    return leave(add(node, graph, before, count, &op));
}

CUDA_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                           const cudaGraphNode_t *before, size_t count)
{
    struct op op = {.kind = OP_EMPTY};
    ENTER();
    return leave(add(node, graph, before, count, &op));
}

static cudaError_t event_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                              size_t count, cudaEvent_t event, enum op_kind kind)
{
    struct op op = {.kind = kind, .event = event};
    if (!handle_is(event, HANDLE_EVENT)) return cudaErrorInvalidValue;
    return add(node, graph, before, count, &op);
}

CUDA_API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                                 const cudaGraphNode_t *before, size_t count,
                                                 cudaEvent_t event)
{
    ENTER();
    return leave(event_node(node, graph, before, count, event, OP_RECORD));
}

CUDA_API cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                               const cudaGraphNode_t *before, size_t count, cudaEvent_t event)
{
    ENTER();
    return leave(event_node(node, graph, before, count, event, OP_WAIT));
}

static cudaError_t child_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                              size_t count, cudaGraph_t child)
{
    struct op op = {.kind = OP_GRAPH};
    if (!handle_is(child, HANDLE_GRAPH)) return cudaErrorInvalidValue;
    cudaError_t error = graph_clone(child, HANDLE_GRAPH, &op.graph);
    if (error) return error;
    struct graph *copy = op.graph;
    error = add(node, graph, before, count, &op);
    if (error) graph_free(copy);
    return error;
}

CUDA_API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                                const cudaGraphNode_t *before, size_t count,
                                                cudaGraph_t child)
{
    ENTER();
    return leave(child_node(node, graph, before, count, child));
}

CUDA_API cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph)
{
    ENTER();
    if (!graph || !handle_is(node, HANDLE_NODE) || ((struct graph_node *)node)->op.kind != OP_GRAPH)
        return leave(cudaErrorInvalidValue);
    *graph = ((struct graph_node *)node)->op.graph;
    return leave(cudaSuccess);
}

static cudaError_t alloc_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                              size_t count, struct cudaMemAllocNodeParams *p)
{
    struct block *b;
    struct op op = {.kind = OP_ALLOC};
    struct device_state *d = &process.devices[0];
    if (!p || !p->bytesize || !handle_is(graph, HANDLE_GRAPH)) return cudaErrorInvalidValue;
    const cudaError_t error = block_new(p->bytesize, MEMORY_DEVICE, 0, "memory of a graph", &b);
    if (error) return error;
    d->graph_bytes += p->bytesize;
    if (d->graph_bytes > d->graph_high_bytes) d->graph_high_bytes = d->graph_bytes;
    p->dptr = b->at;
    op.alloc = *p;
    const cudaError_t refused = add(node, graph, before, count, &op);
    if (refused) {
        d->graph_bytes -= p->bytesize;
        (void)block_drop(b->at);
    }
    return refused;
}

CUDA_API cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                              const cudaGraphNode_t *before, size_t count,
                                              struct cudaMemAllocNodeParams *p)
{
    ENTER();
    return leave(alloc_node(node, graph, before, count, p));
}

static cudaError_t free_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                             size_t count, void *at)
{
    struct op op = {.kind = OP_FREE, .freed = at};
    return block_of(at) ? add(node, graph, before, count, &op) : cudaErrorInvalidValue;
}

CUDA_API cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                             const cudaGraphNode_t *before, size_t count, void *at)
{
    ENTER();
    return leave(free_node(node, graph, before, count, at));
}

/* One call for all kinds. */
cudaError_t call_graph_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                                size_t count, struct cudaGraphNodeParams *p)
{
    struct op op = {.kind = OP_EMPTY};
    cudaError_t error = cudaSuccess;
    ENTER();
    if (!p) return leave(cudaErrorInvalidValue);
    switch (p->type) {
    case OP_KERNEL: error = kernel_op(&op, &p->kernel); break;
    case OP_COPY:
        op.kind = OP_COPY;
        error = copy_3d_any(&op.copy, &p->memcpy.copyParams);
        break;
    case OP_SET: op = (struct op){.kind = OP_SET, .set = {.p = p->memset, .depth = 1}}; break;
    case OP_HOST: op = (struct op){.kind = OP_HOST, .host = p->host}; break;
    case OP_GRAPH: return leave(child_node(node, graph, before, count, p->graph.graph));
    case OP_EMPTY: break;
    case OP_WAIT:
    case OP_RECORD:
        return leave(event_node(node, graph, before, count, p->event.event, (enum op_kind)p->type));
    case OP_ALLOC: return leave(alloc_node(node, graph, before, count, &p->alloc));
    case OP_FREE: return leave(free_node(node, graph, before, count, p->free.dptr));
    default: return leave(unsupported("a graph node of this type"));
    }
    return leave(error ? error : add(node, graph, before, count, &op));
}
