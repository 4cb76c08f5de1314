/* graph_exec: executable graphs: instantiating, launching, changing; and questions about graphs. */
#include <stdlib.h>
#include <string.h>

#include "frontend/cudart/graph.h"

static cudaError_t instantiate(cudaGraphExec_t *out, cudaGraph_t graph, uint64_t flags)
{
    struct graph *copy;
    if (!out || !handle_is(graph, HANDLE_GRAPH)) return cudaErrorInvalidValue;
    if (graph_has_cycle(graph)) {
        complain("a graph whose nodes wait for each other in a circle cannot be launched");
        return cudaErrorInvalidValue;
    }
    const cudaError_t error = graph_clone(graph, HANDLE_EXEC, &copy);
    if (error) return error;
    copy->flags = flags;
    *out = copy;
    return cudaSuccess;
}

CUDA_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    ENTER();
    return leave(instantiate(out, graph, flags));
}

CUDA_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
                                                   unsigned long long flags)
{
    ENTER();
    return leave(instantiate(out, graph, flags));
}

struct instantiate_params {
    unsigned long long flags;
    cudaStream_t upload;
    cudaGraphNode_t error_node;
    int result;
};

CUDA_API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *out, cudaGraph_t graph,
                                                    struct instantiate_params *p)
{
    ENTER();
    if (!p) return leave(cudaErrorInvalidValue);
    p->error_node = NULL;
    p->result = 0;
    return leave(instantiate(out, graph, p->flags));
}

CUDA_API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags)
{
    ENTER();
    if (!flags || !handle_is(exec, HANDLE_EXEC)) return leave(cudaErrorInvalidValue);
    *flags = ((struct graph *)exec)->flags;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    ENTER();
    if (!handle_is(exec, HANDLE_EXEC)) return leave(cudaErrorInvalidValue);
    graph_free(exec);
    return leave(cudaSuccess);
}

/* In a capture it becomes a node. */
static cudaError_t launch(cudaGraphExec_t exec, cudaStream_t stream, bool per_thread)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!s || !handle_is(exec, HANDLE_EXEC)) return leave(cudaErrorInvalidValue);
    if (s->capture_status == CAPTURE_NONE) return leave(graph_submit(s, exec));
    struct op op = {.kind = OP_GRAPH};
    const cudaError_t error = graph_clone(exec, HANDLE_GRAPH, &op.graph);
    return leave(error ? error : op_submit(s, &op));
}

CUDA_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    return launch(exec, stream, false);
}
CUDA_API cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream)
{
    return launch(exec, stream, true);
}

CUDA_API cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    ENTER();
    return leave(handle_is(exec, HANDLE_EXEC) && stream_of(stream, false) ? cudaSuccess
                                                                          : cudaErrorInvalidValue);
}

/* ---- copies ---- */

CUDA_API cudaError_t cudaGraphClone(cudaGraph_t *out, cudaGraph_t graph)
{
    ENTER();
    if (!out || !handle_is(graph, HANDLE_GRAPH)) return leave(cudaErrorInvalidValue);
    return leave(graph_clone(graph, HANDLE_GRAPH, (struct graph **)out));
}

CUDA_API cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *out, cudaGraphNode_t node, cudaGraph_t copy)
{
    ENTER();
    if (!out || !handle_is(copy, HANDLE_GRAPH)) return leave(cudaErrorInvalidValue);
    *out = graph_copy_of(copy, node);
    return leave(*out ? cudaSuccess : cudaErrorInvalidValue);
}

/* ---- changing ---- */

/* The node to change: of the graph itself, or the copy in an executable graph. */
static struct graph_node *target(cudaGraphExec_t exec, cudaGraphNode_t node, enum op_kind kind)
{
    if (!handle_is(node, HANDLE_NODE)) return NULL;
    if (exec && !handle_is(exec, HANDLE_EXEC)) return NULL;
    struct graph_node *n = exec ? graph_copy_of(exec, node) : node;
    return n && n->op.kind == kind ? n : NULL;
}

static cudaError_t change(struct graph_node *n, struct op *op)
{
    if (!n) {
        op_free(op);
        return cudaErrorInvalidValue;
    }
    graph_node_change(n, op);
    return cudaSuccess;
}

static cudaError_t change_kernel(cudaGraphExec_t exec, cudaGraphNode_t node,
                                 const struct cudaKernelNodeParams *p)
{
    struct op op;
    if (!p) return cudaErrorInvalidValue;
    const cudaError_t error = launch_op(&op, kernel_of_host(p->func), p->gridDim, p->blockDim,
                                        p->kernelParams, p->sharedMemBytes, false);
    return error ? error : change(target(exec, node, OP_KERNEL), &op);
}

CUDA_API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                      const struct cudaKernelNodeParams *p)
{
    ENTER();
    return leave(exec ? change_kernel(exec, node, p) : cudaErrorInvalidValue);
}

CUDA_API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *p)
{
    ENTER();
    return leave(change_kernel(NULL, node, p));
}

CUDA_API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *p)
{
    ENTER();
    const struct graph_node *n = target(NULL, node, OP_KERNEL);
    if (!n || !p) return leave(cudaErrorInvalidValue);
    *p = (struct cudaKernelNodeParams){.func = n->op.launch.kernel->host
                                                   ? (void *)(uintptr_t)n->op.launch.kernel->host
                                                   : n->op.launch.kernel,
                                       .gridDim = n->op.launch.grid,
                                       .blockDim = n->op.launch.block,
                                       .sharedMemBytes = n->op.launch.shared};
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                        const void *from, size_t bytes, int kind)
{
    struct op op = {.kind = OP_COPY,
                    .copy = {.to = to, .from = from, .width = bytes, .height = 1, .depth = 1, .kind = kind}};
    ENTER();
    return leave(exec ? change(target(exec, node, OP_COPY), &op) : cudaErrorInvalidValue);
}

CUDA_API cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                      const struct cudaMemcpy3DParms *p)
{
    struct op op = {.kind = OP_COPY};
    ENTER();
    if (!p || !exec) return leave(cudaErrorInvalidValue);
    const cudaError_t error = copy_3d_any(&op.copy, p);
    return leave(error ? error : change(target(exec, node, OP_COPY), &op));
}

CUDA_API cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                      const struct cudaMemsetParams *p)
{
    ENTER();
    if (!p || !exec) return leave(cudaErrorInvalidValue);
    struct op op = {.kind = OP_SET, .set = {.p = *p, .depth = 1}};
    return leave(change(target(exec, node, OP_SET), &op));
}

CUDA_API cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const struct cudaHostNodeParams *p)
{
    ENTER();
    if (!p || !exec) return leave(cudaErrorInvalidValue);
    struct op op = {.kind = OP_HOST, .host = *p};
    return leave(change(target(exec, node, OP_HOST), &op));
}

static bool same_shape(const struct graph *a, const struct graph *b, struct graph_update *info)
{
    info->result = 2;
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++) {
        info->error_node = b->nodes[i];
        if (a->nodes[i]->before_count != b->nodes[i]->before_count) return false;
        if (a->nodes[i]->op.kind != b->nodes[i]->op.kind) {
            info->result = 3;
            return false;
        }
    }
    *info = (struct graph_update){0};
    return true;
}

cudaError_t call_graph_update(cudaGraphExec_t exec, cudaGraph_t graph, struct graph_update *info)
{
    struct graph_update own;
    ENTER();
    if (!handle_is(exec, HANDLE_EXEC) || !handle_is(graph, HANDLE_GRAPH)) return leave(cudaErrorInvalidValue);
    struct graph *to = exec;
    const struct graph *from = graph;
    if (!same_shape(to, from, info ? info : &own)) return leave(cudaErrorGraphExecUpdateFailure);
    for (size_t i = 0; i < to->count; i++) {
        struct op op;
        if (from->nodes[i]->op.kind == OP_GRAPH) continue;
        const cudaError_t error = op_copy_of(&op, &from->nodes[i]->op);
        if (error) return leave(error);
        graph_node_change(to->nodes[i], &op);
        to->nodes[i]->origin = from->nodes[i];
    }
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled)
{
    ENTER();
    if (!handle_is(exec, HANDLE_EXEC) || !handle_is(node, HANDLE_NODE)) return leave(cudaErrorInvalidValue);
    struct graph_node *n = graph_copy_of(exec, node);
    if (n) n->disabled = !enabled;
    return leave(n ? cudaSuccess : cudaErrorInvalidValue);
}

CUDA_API cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *enabled)
{
    ENTER();
    if (!enabled || !handle_is(exec, HANDLE_EXEC) || !handle_is(node, HANDLE_NODE))
        return leave(cudaErrorInvalidValue);
    const struct graph_node *n = graph_copy_of(exec, node);
    if (n) *enabled = !n->disabled;
    return leave(n ? cudaSuccess : cudaErrorInvalidValue);
}

/* ---- edges ---- */

static bool is_node_of(cudaGraphNode_t node, const struct graph *g)
{
    return handle_is(node, HANDLE_NODE) && ((const struct graph_node *)node)->graph == g;
}

static size_t edge_of(const struct graph_node *node, const struct graph_node *before)
{
    size_t i = 0;
    while (i < node->before_count && node->before[i] != before) i++;
    return i;
}

static void remove_edge(struct graph_node *node, size_t at)
{
    node->before_count--;
    for (; at < node->before_count; at++) node->before[at] = node->before[at + 1];
}

/* An edge that is there cannot be added, one that is not cannot be removed; then nothing is changed. */
static cudaError_t change_edges(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                size_t count, bool add)
{
    if (!handle_is(graph, HANDLE_GRAPH) || (count && (!from || !to))) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        if (!is_node_of(from[i], graph) || !is_node_of(to[i], graph) || from[i] == to[i])
            return cudaErrorInvalidValue;
        const struct graph_node *node = to[i];
        if ((edge_of(node, from[i]) < node->before_count) == add) return cudaErrorInvalidValue;
    }
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; !error && i < count; i++) {
        struct graph_node *node = to[i];
        const size_t at = edge_of(node, from[i]);
        if (add && at == node->before_count) error = graph_follow(node, from[i]);
        if (!add && at < node->before_count) remove_edge(node, at);
    }
    return error;
}

cudaError_t call_graph_edges_change(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                    size_t count, bool add)
{
    ENTER();
    return leave(change_edges(graph, from, to, count, add));
}

CUDA_API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
    ENTER();
    if (!handle_is(node, HANDLE_NODE)) return leave(cudaErrorInvalidValue);
    struct graph_node *n = node;
    struct graph *g = n->graph;
    if (!handle_is(g, HANDLE_GRAPH) || n->op.kind == OP_ALLOC || n->op.kind == OP_FREE)
        return leave(cudaErrorNotSupported); /* as in CUDA: memory nodes stay */
    size_t at = 0;
    while (g->nodes[at] != n) at++;
    g->count--;
    for (; at < g->count; at++) g->nodes[at] = g->nodes[at + 1];
    for (size_t i = 0; i < g->count; i++) {
        const size_t edge = edge_of(g->nodes[i], n);
        if (edge < g->nodes[i]->before_count) remove_edge(g->nodes[i], edge);
    }
    graph_node_free(n);
    return leave(cudaSuccess);
}

/* ---- questions: lists are asked for twice, for their length and for what is in them ---- */

CUDA_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    ENTER();
    if (!count || !handle_is(graph, HANDLE_GRAPH)) return leave(cudaErrorInvalidValue);
    const struct graph *g = graph;
    for (size_t i = 0; nodes && i < *count; i++) nodes[i] = i < g->count ? g->nodes[i] : NULL;
    if (!nodes || *count > g->count) *count = g->count;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    size_t found = 0;
    ENTER();
    if (!count || !handle_is(graph, HANDLE_GRAPH)) return leave(cudaErrorInvalidValue);
    const struct graph *g = graph;
    for (size_t i = 0; i < g->count; i++) {
        if (g->nodes[i]->before_count) continue;
        if (nodes && found < *count) nodes[found] = g->nodes[i];
        found++;
    }
    *count = found;
    return leave(cudaSuccess);
}

cudaError_t call_graph_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count)
{
    size_t found = 0;
    ENTER();
    if (!count || !handle_is(graph, HANDLE_GRAPH)) return leave(cudaErrorInvalidValue);
    const struct graph *g = graph;
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < g->nodes[i]->before_count; k++, found++) {
            if (!from || !to || found >= *count) continue;
            from[found] = g->nodes[i]->before[k];
            to[found] = g->nodes[i];
        }
    *count = found;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, int *type)
{
    ENTER();
    if (!type || !handle_is(node, HANDLE_NODE)) return leave(cudaErrorInvalidValue);
    *type = (int)((struct graph_node *)node)->op.kind;
    return leave(cudaSuccess);
}

cudaError_t call_graph_node_before(cudaGraphNode_t node, cudaGraphNode_t *before, size_t *count)
{
    ENTER();
    if (!count || !handle_is(node, HANDLE_NODE)) return leave(cudaErrorInvalidValue);
    const struct graph_node *n = node;
    for (size_t i = 0; before && i < *count && i < n->before_count; i++) before[i] = n->before[i];
    *count = n->before_count;
    return leave(cudaSuccess);
}

cudaError_t call_graph_node_after(cudaGraphNode_t node, cudaGraphNode_t *after, size_t *count)
{
    size_t found = 0;
    ENTER();
    if (!count || !handle_is(node, HANDLE_NODE)) return leave(cudaErrorInvalidValue);
    const struct graph *g = ((const struct graph_node *)node)->graph;
    for (size_t i = 0; i < g->count; i++) {
        if (edge_of(g->nodes[i], node) == g->nodes[i]->before_count) continue;
        if (after && found < *count) after[found] = g->nodes[i];
        found++;
    }
    *count = found;
    return leave(cudaSuccess);
}

/* ---- memory of graphs ---- */

CUDA_API cudaError_t cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
    ENTER();
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    if (!value || attribute < 0 || attribute > 3) return leave(cudaErrorInvalidValue);
    const struct device_state *d = &process.devices[device];
    *(uint64_t *)value = attribute % 2 ? d->graph_high_bytes : d->graph_bytes;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value)
{
    ENTER();
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    if (!value || (attribute != 1 && attribute != 3) || *(uint64_t *)value)
        return leave(cudaErrorInvalidValue);
    process.devices[device].graph_high_bytes = process.devices[device].graph_bytes;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceGraphMemTrim(int device)
{
    ENTER();
    return leave(device < 0 || device >= process.device_count ? cudaErrorInvalidDevice : cudaSuccess);
}
