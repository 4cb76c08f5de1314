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

/* ---- what is not allowed meanwhile ---- */

static __thread int thread_mode; /* cudaThreadExchangeStreamCaptureMode */

static struct stream *origin_of(const struct graph *g)
{
    for (struct stream *s = process.streams; s; s = s->next)
        if (s->capture == g && s->capture_owner) return s;
    return NULL;
}

cudaError_t capture_spoil(const struct graph *g, cudaError_t error)
{
    for (struct stream *s = process.streams; s; s = s->next)
        if (s->capture == g && s->capture_status == CAPTURE_ACTIVE) s->capture_status = CAPTURE_INVALIDATED;
    return error;
}

/* By the mode of this thread, and those with which captures began. */
cudaError_t capture_forbids_unsafe(void)
{
    cudaError_t error = cudaSuccess;
    if (thread_mode == CAPTURE_RELAXED) return error;
    for (const struct stream *s = process.streams; s; s = s->next) {
        if (s->capture_status == CAPTURE_NONE || !s->capture_owner) continue;
        const bool here = pthread_equal(s->capture_thread, pthread_self());
        if (here ? s->capture_mode == CAPTURE_RELAXED
                 : s->capture_mode != CAPTURE_GLOBAL || thread_mode != CAPTURE_GLOBAL)
            continue;
        error = capture_spoil(s->capture, cudaErrorStreamCaptureUnsupported);
    }
    return error;
}

/* It waits for all blocking streams of its device. */
cudaError_t capture_forbids_legacy(const struct stream *s)
{
    cudaError_t error = cudaSuccess;
    if (s != &process.devices[s->device].legacy) return error;
    for (const struct stream *other = process.streams; other; other = other->next)
        if (other->device == s->device && other->capture_status != CAPTURE_NONE &&
            !(other->flags & STREAM_NON_BLOCKING))
            error = capture_spoil(other->capture, cudaErrorStreamCaptureImplicit);
    return error;
}

cudaError_t capture_forbids_waiting(struct stream *s)
{
    if (s->capture_status != CAPTURE_NONE)
        return capture_spoil(s->capture, cudaErrorStreamCaptureUnsupported);
    return capture_forbids_legacy(s);
}

/* ---- what is recorded ---- */

cudaError_t graph_capture(struct stream *s, struct op *op)
{
    struct graph_node *node;
    if (s->capture_status == CAPTURE_INVALIDATED) {
        op_free(op);
        return cudaErrorStreamCaptureInvalidated;
    }
    cudaError_t error = op_check(op);
    if (error) op_free(op);
    if (!error) error = graph_add(s->capture, op, s->tips, s->tip_count, &node);
    return error ? capture_spoil(s->capture, error) : set_tips(&s->tips, &s->tip_count, &node, 1);
}

void graph_capture_record(struct stream *s, struct event *e)
{
    e->capture = s->capture;
    (void)set_tips(&e->tips, &e->tip_count, s->tips, s->tip_count);
}

cudaError_t graph_capture_wait(struct stream *s, struct event *e)
{
    if (s->capture_status == CAPTURE_INVALIDATED) return cudaErrorStreamCaptureInvalidated;
    if (!e->capture) return capture_spoil(s->capture, cudaErrorStreamCaptureIsolation);
    if (s == &process.devices[s->device].legacy)
        return capture_spoil(e->capture, cudaErrorStreamCaptureImplicit);
    if (s->capture_status == CAPTURE_NONE) {
        const struct stream *origin = origin_of(e->capture);
        s->capture = e->capture;
        s->capture_status = CAPTURE_ACTIVE;
        s->capture_mode = origin ? origin->capture_mode : CAPTURE_GLOBAL;
        s->capture_thread = origin ? origin->capture_thread : pthread_self();
        s->tip_count = 0;
    } else if (s->capture != e->capture) {
        (void)capture_spoil(e->capture, cudaErrorStreamCaptureMerge);
        return capture_spoil(s->capture, cudaErrorStreamCaptureMerge);
    }
    return add_tips(s, e->tips, e->tip_count);
}

static cudaError_t begin(cudaStream_t stream, int mode, struct graph *graph, const cudaGraphNode_t *before,
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
    s->capture_mode = mode;
    s->capture_thread = pthread_self();
    return set_tips(&s->tips, &s->tip_count, (struct graph_node *const *)before, count);
}

CUDA_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
    ENTER();
    if (mode < 0 || mode > 2) return leave(cudaErrorInvalidValue);
    return leave(begin(stream, mode, NULL, NULL, 0, false));
}

CUDA_API cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, int mode)
{
    ENTER();
    if (mode < 0 || mode > 2) return leave(cudaErrorInvalidValue);
    return leave(begin(stream, mode, NULL, NULL, 0, true));
}

CUDA_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                   const cudaGraphNode_t *before, const void *edges,
                                                   size_t count, int mode)
{
    (void)edges;
    ENTER();
    if (mode < 0 || mode > 2 || !handle_is(graph, HANDLE_GRAPH)) return leave(cudaErrorInvalidValue);
    return leave(begin(stream, mode, graph, before, count, false));
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
    if (s->capture_mode != CAPTURE_RELAXED && !pthread_equal(s->capture_thread, pthread_self()))
        return cudaErrorStreamCaptureWrongThread;
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

cudaError_t call_capture_info(cudaStream_t stream, bool per_thread, int *status, unsigned long long *id,
                              cudaGraph_t *graph, const cudaGraphNode_t **tips, size_t *count)
{
    ENTER();
    const struct stream *s = stream_of(stream, per_thread);
    if (!s || !status) return leave(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *status = s->capture_status;
    if (s->capture_status == CAPTURE_NONE) return leave(cudaSuccess);
    if (id) *id = (unsigned long long)(uintptr_t)s->capture;
    if (graph) *graph = s->capture;
    if (tips) *tips = (const cudaGraphNode_t *)s->tips;
    if (count) *count = s->tip_count;
    return leave(cudaSuccess);
}

cudaError_t call_capture_update(cudaStream_t stream, bool per_thread, cudaGraphNode_t *nodes, size_t count,
                                unsigned how)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!s) return leave(cudaErrorInvalidResourceHandle);
    if (s->capture_status != CAPTURE_ACTIVE) return leave(cudaErrorIllegalState);
    if (how > 1 || (count && !nodes)) return leave(cudaErrorInvalidValue);
    if (how == 1) return leave(set_tips(&s->tips, &s->tip_count, (struct graph_node *const *)nodes, count));
    return leave(add_tips(s, (struct graph_node *const *)nodes, count));
}

CUDA_API cudaError_t cudaThreadExchangeStreamCaptureMode(int *mode)
{
    ENTER();
    if (!mode || *mode < 0 || *mode > 2) return leave(cudaErrorInvalidValue);
    const int before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return leave(cudaSuccess);
}
