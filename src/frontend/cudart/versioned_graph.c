/* versioned_graph: calls about graphs whose parameters CUDA has changed: compiled once per major version.
 *
 *              CUDA 11, 12                        CUDA 13
 *   name       without data of edges              with it
 *   name_v2    with it (12.3 and newer)           -
 *
 * Edges carry no data here: what is asked for is zero, the default. */
#include <string.h>

#include "frontend/cudart/process.h"
#include "frontend/cudart/runtime_api.h"

enum { EDGE_BYTES = 8 }; /* cudaGraphEdgeData */

static cudaError_t blank(cudaError_t error, void *edges, size_t room, const size_t *count)
{
    if (!error && edges && count) memset(edges, 0, (*count < room ? *count : room) * EDGE_BYTES);
    return error;
}

#if CUDART_VERSION >= 13000
#define WITH_EDGES(name) name
#else
#define WITH_EDGES(name) name##_v2
#endif

/* ---- with data of edges ---- */

CUDA_API cudaError_t WITH_EDGES(cudaGraphAddDependencies)(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                          const cudaGraphNode_t *to, const void *edges,
                                                          size_t count)
{
    (void)edges;
    return call_graph_edges_change(graph, from, to, count, true);
}

CUDA_API cudaError_t WITH_EDGES(cudaGraphRemoveDependencies)(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                             const cudaGraphNode_t *to, const void *edges,
                                                             size_t count)
{
    (void)edges;
    return call_graph_edges_change(graph, from, to, count, false);
}

CUDA_API cudaError_t WITH_EDGES(cudaGraphGetEdges)(cudaGraph_t graph, cudaGraphNode_t *from,
                                                   cudaGraphNode_t *to, void *edges, size_t *count)
{
    const size_t room = count ? *count : 0;
    const cudaError_t error = call_graph_edges(graph, from, to, count);
    return blank(error, edges, room, count);
}

CUDA_API cudaError_t WITH_EDGES(cudaGraphNodeGetDependencies)(cudaGraphNode_t node, cudaGraphNode_t *before,
                                                              void *edges, size_t *count)
{
    const size_t room = count ? *count : 0;
    const cudaError_t error = call_graph_node_before(node, before, count);
    return blank(error, edges, room, count);
}

CUDA_API cudaError_t WITH_EDGES(cudaGraphNodeGetDependentNodes)(cudaGraphNode_t node, cudaGraphNode_t *after,
                                                                void *edges, size_t *count)
{
    const size_t room = count ? *count : 0;
    const cudaError_t error = call_graph_node_after(node, after, count);
    return blank(error, edges, room, count);
}

CUDA_API cudaError_t WITH_EDGES(cudaGraphAddNode)(cudaGraphNode_t *node, cudaGraph_t graph,
                                                  const cudaGraphNode_t *before, const void *edges,
                                                  size_t count, struct cudaGraphNodeParams *p)
{
    (void)edges;
    return call_graph_add_node(node, graph, before, count, p);
}

CUDA_API cudaError_t WITH_EDGES(cudaStreamUpdateCaptureDependencies)(cudaStream_t stream,
                                                                     cudaGraphNode_t *nodes,
                                                                     const void *edges, size_t count,
                                                                     unsigned how)
{
    (void)edges;
    return call_capture_update(stream, false, nodes, count, how);
}

static cudaError_t capture_info(cudaStream_t stream, bool per_thread, int *status, unsigned long long *id,
                                cudaGraph_t *graph, const cudaGraphNode_t **tips, const void **edges,
                                size_t *count)
{
    if (edges) *edges = NULL;
    return call_capture_info(stream, per_thread, status, id, graph, tips, count);
}

#if CUDART_VERSION >= 13000
CUDA_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int *status, unsigned long long *id,
                                              cudaGraph_t *graph, const cudaGraphNode_t **tips,
                                              const void **edges, size_t *count)
{
    return capture_info(stream, false, status, id, graph, tips, edges, count);
}

CUDA_API cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, int *status, unsigned long long *id,
                                                   cudaGraph_t *graph, const cudaGraphNode_t **tips,
                                                   const void **edges, size_t *count)
{
    return capture_info(stream, true, status, id, graph, tips, edges, count);
}

CUDA_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, struct graph_update *info)
{
    return call_graph_update(exec, graph, info);
}
#else

/* ---- without ---- */

CUDA_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                              const cudaGraphNode_t *to, size_t count)
{
    return call_graph_edges_change(graph, from, to, count, true);
}

CUDA_API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                 const cudaGraphNode_t *to, size_t count)
{
    return call_graph_edges_change(graph, from, to, count, false);
}

CUDA_API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                       size_t *count)
{
    return call_graph_edges(graph, from, to, count);
}

CUDA_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *before,
                                                  size_t *count)
{
    return call_graph_node_before(node, before, count);
}

CUDA_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *after,
                                                    size_t *count)
{
    return call_graph_node_after(node, after, count);
}

CUDA_API cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                                      size_t count, struct cudaGraphNodeParams *p)
{
    return call_graph_add_node(node, graph, before, count, p);
}

CUDA_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *nodes,
                                                         size_t count, unsigned how)
{
    return call_capture_update(stream, false, nodes, count, how);
}

CUDA_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int *status, unsigned long long *id)
{
    return capture_info(stream, false, status, id, NULL, NULL, NULL, NULL);
}

/* What CUDA 12's headers make of cudaStreamGetCaptureInfo. */
CUDA_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, int *status, unsigned long long *id,
                                                 cudaGraph_t *graph, const cudaGraphNode_t **tips,
                                                 size_t *count)
{
    return capture_info(stream, false, status, id, graph, tips, NULL, count);
}

CUDA_API cudaError_t cudaStreamGetCaptureInfo_v2_ptsz(cudaStream_t stream, int *status,
                                                      unsigned long long *id, cudaGraph_t *graph,
                                                      const cudaGraphNode_t **tips, size_t *count)
{
    return capture_info(stream, true, status, id, graph, tips, NULL, count);
}

CUDA_API cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, int *status, unsigned long long *id,
                                                 cudaGraph_t *graph, const cudaGraphNode_t **tips,
                                                 const void **edges, size_t *count)
{
    return capture_info(stream, false, status, id, graph, tips, edges, count);
}

#if CUDART_VERSION >= 12000
CUDA_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, struct graph_update *info)
{
    return call_graph_update(exec, graph, info);
}
#else
CUDA_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
                                         int *result)
{
    struct graph_update info = {0};
    const cudaError_t error = call_graph_update(exec, graph, &info);
    if (error_node) *error_node = info.error_node;
    if (result) *result = info.result;
    return error;
}
#endif
#endif
