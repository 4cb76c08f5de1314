/* capture: streams that record into a graph instead of running.
 *
 * A capturing stream knows its tips: the nodes that its next one follows. Recording an event hands the tips
 * on; a stream that waits for such an event joins the capture. */
#include <stdlib.h>
#include <string.h>

#include "frontend/cudart/graph.h"

static cudaError_t set_tips(struct graph_node ***tips, size_t *count, struct graph_node *const *from,
                            size_t n)
{
    struct graph_node **fresh = malloc((n + 1) * sizeof(struct graph_node *));
    if (!fresh) return cudaErrorMemoryAllocation;
    if (n) memcpy(fresh, from, n * sizeof(struct graph_node *));
    free(*tips);
    *tips = fresh;
    *count = n;
    return cudaSuccess;
}

static cudaError_t add_tips(struct stream *s, struct graph_node *const *from, size_t n)
{
    struct graph_node **grown = realloc(s->tips, (s->tip_count + n + 1) * sizeof(struct graph_node *));
    if (!grown) return cudaErrorMemoryAllocation;
    s->tips = grown;
    for (size_t i = 0; i < n; i++) {
        bool there = false;
        for (size_t k = 0; k < s->tip_count; k++) there |= s->tips[k] == from[i];
        if (!there) s->tips[s->tip_count++] = from[i];
    }
    return cudaSuccess;
}

cudaError_t graph_capture(struct stream *s, struct op *op)
{
    struct graph_node *node;
    if (s->capture_status == CAPTURE_INVALIDATED) {
        op_free(op);
        return cudaErrorStreamCaptureInvalidated;
    }
    const cudaError_t error = graph_add(s->capture, op, s->tips, s->tip_count, &node);
    return error ? error : set_tips(&s->tips, &s->tip_count, &node, 1);
}

void graph_capture_record(struct stream *s, struct event *e)
{
    e->capture = s->capture;
    (void)set_tips(&e->tips, &e->tip_count, s->tips, s->tip_count);
}

void graph_capture_wait(struct stream *s, struct event *e)
{
    if (!e->capture) return; /* recorded outside: it has been reached */
    if (s->capture_status == CAPTURE_NONE) {
        s->capture = e->capture;
        s->capture_status = CAPTURE_ACTIVE;
        s->tip_count = 0;
    }
    (void)add_tips(s, e->tips, e->tip_count);
}

static cudaError_t begin(cudaStream_t stream, struct graph *graph, const cudaGraphNode_t *before,
                         size_t count, bool per_thread)
{
    struct stream *s = stream_of(stream, per_thread);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (s->id == process.devices[s->device].legacy.id) return cudaErrorStreamCaptureUnsupported;
    if (s->capture_status != CAPTURE_NONE) return cudaErrorIllegalState;
    s->capture = graph ? graph : graph_new(HANDLE_GRAPH);
    if (!s->capture) return cudaErrorMemoryAllocation;
    s->capture_status = CAPTURE_ACTIVE;
    s->capture_owner = true;
    return set_tips(&s->tips, &s->tip_count, (struct graph_node *const *)before, count);
}

CUDA_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
    ENTER();
    if (mode < 0 || mode > 2) return leave(cudaErrorInvalidValue);
    return leave(begin(stream, NULL, NULL, 0, false));
}

CUDA_API cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, int mode)
{
    ENTER();
    if (mode < 0 || mode > 2) return leave(cudaErrorInvalidValue);
    return leave(begin(stream, NULL, NULL, 0, true));
}

CUDA_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                   const cudaGraphNode_t *before, const void *edges,
                                                   size_t count, int mode)
{
    (void)edges;
    ENTER();
    if (mode < 0 || mode > 2 || !handle_is(graph, HANDLE_GRAPH)) return leave(cudaErrorInvalidValue);
    return leave(begin(stream, graph, before, count, false));
}

/* Every other stream of the capture must have been joined: all its tips must lead to the origin's. */
static bool has_unjoined(const struct stream *origin)
{
    for (const struct stream *s = process.streams; s; s = s->next) {
        if (s == origin || s->capture != origin->capture || !s->tip_count) continue;
        for (size_t i = 0; i < s->tip_count; i++) {
            bool followed = false;
            for (size_t k = 0; k < origin->tip_count; k++) followed |= origin->tips[k] == s->tips[i];
            for (size_t n = 0; n < origin->capture->count; n++)
                for (size_t k = 0; k < origin->capture->nodes[n]->before_count; k++)
                    followed |= origin->capture->nodes[n]->before[k] == s->tips[i];
            if (!followed) return true;
        }
    }
    return false;
}

static cudaError_t end(cudaStream_t stream, cudaGraph_t *graph, bool per_thread)
{
    struct stream *s = stream_of(stream, per_thread);
    if (!s || !graph) return cudaErrorInvalidValue;
    *graph = NULL;
    if (s->capture_status == CAPTURE_NONE) return cudaErrorIllegalState;
    if (!s->capture_owner) return cudaErrorStreamCaptureUnmatched;
    struct graph *g = s->capture;
    cudaError_t error =
        s->capture_status == CAPTURE_INVALIDATED ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    if (!error && has_unjoined(s)) error = cudaErrorStreamCaptureUnjoined;
    for (struct stream *o = process.streams; o; o = o->next) {
        if (o->capture != g) continue;
        o->capture = NULL;
        o->capture_status = CAPTURE_NONE;
        o->capture_owner = false;
        o->tip_count = 0;
    }
    if (error)
        graph_free(g);
    else
        *graph = g;
    return error;
}

CUDA_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    ENTER();
    return leave(end(stream, graph, false));
}

CUDA_API cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t *graph)
{
    ENTER();
    return leave(end(stream, graph, true));
}

CUDA_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, int *status)
{
    ENTER();
    const struct stream *s = stream_of(stream, false);
    if (!s || !status) return leave(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *status = s->capture_status;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, int *status)
{
    return cudaStreamIsCapturing(stream ? stream : STREAM_PER_THREAD, status);
}

CUDA_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int *status, unsigned long long *id,
                                              cudaGraph_t *graph, const cudaGraphNode_t **tips,
                                              const void **edges, size_t *count)
{
    ENTER();
    const struct stream *s = stream_of(stream, false);
    if (!s || !status) return leave(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *status = s->capture_status;
    if (s->capture_status == CAPTURE_NONE) return leave(cudaSuccess);
    if (id) *id = (unsigned long long)(uintptr_t)s->capture;
    if (graph) *graph = s->capture;
    if (tips) *tips = (const cudaGraphNode_t *)s->tips;
    if (edges) *edges = NULL;
    if (count) *count = s->tip_count;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *nodes,
                                                         const void *edges, size_t count, unsigned how)
{
    (void)edges;
    ENTER();
    struct stream *s = stream_of(stream, false);
    if (!s) return leave(cudaErrorInvalidResourceHandle);
    if (s->capture_status != CAPTURE_ACTIVE) return leave(cudaErrorIllegalState);
    if (how > 1 || (count && !nodes)) return leave(cudaErrorInvalidValue);
    if (how == 1) return leave(set_tips(&s->tips, &s->tip_count, (struct graph_node *const *)nodes, count));
    return leave(add_tips(s, (struct graph_node *const *)nodes, count));
}

CUDA_API cudaError_t cudaThreadExchangeStreamCaptureMode(int *mode)
{
    static __thread int current;
    ENTER();
    if (!mode || *mode < 0 || *mode > 2) return leave(cudaErrorInvalidValue);
    const int before = current;
    current = *mode;
    *mode = before;
    return leave(cudaSuccess);
}
