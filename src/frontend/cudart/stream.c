/* stream: streams, and how the host waits for them. */
#include <stdlib.h>

#include "frontend/cudart/process.h"

static __thread struct stream *own; /* cudaStreamPerThread */

struct stream *stream_new(unsigned flags, int priority)
{
    struct stream *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->flags = flags;
    s->priority = priority;
    s->device = current_device();
    s->id = ++process.next_id;
    s->next = process.streams;
    process.streams = s;
    (void)handle_add(s, HANDLE_STREAM);
    return s;
}

void stream_free(struct stream *s)
{
    struct stream **at = &process.streams;
    while (*at && *at != s) at = &(*at)->next;
    if (*at) *at = s->next;
    handle_drop(s);
    free(s->tips);
    free(s);
}

struct stream *stream_of(cudaStream_t handle, bool per_thread)
{
    if (handle == STREAM_PER_THREAD || (!handle && per_thread)) {
        if (!own) own = stream_new(0, 0);
        return own;
    }
    if (!handle || handle == STREAM_LEGACY) return &process.devices[current_device()].legacy;
    return handle_is(handle, HANDLE_STREAM) ? handle : NULL;
}

bool any_capture(void)
{
    for (const struct stream *s = process.streams; s; s = s->next)
        if (s->capture_status != CAPTURE_NONE) return true;
    return false;
}

void host_waits(struct stream *s)
{
    ledger_host_waits(ledger_now(s));
    show_prints();
}

/* A fault of what the host waits for is the answer. */
static cudaError_t waited(void)
{
    show_prints();
    if (process.pending) {
        process.sticky = process.pending;
        process.pending = cudaSuccess;
    }
    return process.sticky;
}

CUDA_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    ENTER();
    if (!stream || flags > STREAM_NON_BLOCKING) return leave(cudaErrorInvalidValue);
    if (priority > 0) priority = 0;
    if (priority < -5) priority = -5;
    *stream = stream_new(flags, priority);
    return leave(*stream ? cudaSuccess : cudaErrorMemoryAllocation);
}

CUDA_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

CUDA_API cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, 0, 0);
}

CUDA_API cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    ENTER();
    if (!handle_is(stream, HANDLE_STREAM)) return leave(cudaErrorInvalidResourceHandle);
    struct stream *s = stream;
    struct device_state *d = &process.devices[s->device];
    /* what it still had to do is waited for by the device's own stream */
    if (s->time > d->legacy.time && !(s->flags & STREAM_NON_BLOCKING)) d->legacy.time = s->time;
    if (s == own) own = NULL;
    stream_free(s);
    return leave(cudaSuccess);
}

static cudaError_t synchronize(cudaStream_t stream, bool per_thread)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!s) return leave(cudaErrorInvalidResourceHandle);
    if (s->capture_status != CAPTURE_NONE) {
        s->capture_status = CAPTURE_INVALIDATED;
        return leave(cudaErrorStreamCaptureUnsupported);
    }
    host_waits(s);
    return leave(waited());
}

CUDA_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return synchronize(stream, false); }
CUDA_API cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) { return synchronize(stream, true); }

/* Everything submitted has been executed: the host sees its end when it asks. */
static cudaError_t query(cudaStream_t stream, bool per_thread)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!s) return leave(cudaErrorInvalidResourceHandle);
    if (s->capture_status != CAPTURE_NONE) return leave(cudaErrorStreamCaptureUnsupported);
    ledger_host_waits(ledger_now(s));
    return leave(waited());
}

CUDA_API cudaError_t cudaStreamQuery(cudaStream_t stream) { return query(stream, false); }
CUDA_API cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) { return query(stream, true); }

CUDA_API cudaError_t cudaDeviceSynchronize(void)
{
    ENTER();
    if (any_capture()) return leave(cudaErrorStreamCaptureUnsupported);
    ledger_host_waits_for_all(current_device());
    return leave(waited());
}

CUDA_API cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }

static cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event, bool per_thread)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!s || !handle_is(event, HANDLE_EVENT)) return leave(cudaErrorInvalidResourceHandle);
    struct event *e = event;
    if (e->capture || s->capture_status != CAPTURE_NONE) {
        graph_capture_wait(s, e);
        return leave(cudaSuccess);
    }
    struct op op = {.kind = OP_WAIT, .event = e};
    return leave(op_submit(s, &op));
}

CUDA_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    return wait_event(stream, event, false);
}

CUDA_API cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    return wait_event(stream, event, true);
}

/* ---- host functions ---- */

static cudaError_t host_function(cudaStream_t stream, struct op *op, bool per_thread)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!op->host.fn && !op->callback) return leave(cudaErrorInvalidValue);
    return leave(op_submit(s, op));
}

CUDA_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn *fn, void *user)
{
    return host_function(stream, &(struct op){.kind = OP_HOST, .host = {fn, user}}, false);
}

CUDA_API cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn *fn, void *user)
{
    return host_function(stream, &(struct op){.kind = OP_HOST, .host = {fn, user}}, true);
}

CUDA_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback *callback, void *user,
                                           unsigned flags)
{
    (void)flags;
    return host_function(stream, &(struct op){.kind = OP_HOST, .host = {NULL, user}, .callback = callback},
                         false);
}

CUDA_API cudaError_t cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback *callback, void *user,
                                                unsigned flags)
{
    (void)flags;
    return host_function(stream, &(struct op){.kind = OP_HOST, .host = {NULL, user}, .callback = callback},
                         true);
}

/* ---- about a stream ---- */

CUDA_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    ENTER();
    const struct stream *s = stream_of(stream, false);
    if (!s || !flags) return leave(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *flags = s->flags;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    ENTER();
    const struct stream *s = stream_of(stream, false);
    if (!s || !priority) return leave(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *priority = s->priority;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    ENTER();
    const struct stream *s = stream_of(stream, false);
    if (!s || !id) return leave(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *id = s->id;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    ENTER();
    const struct stream *s = stream_of(stream, false);
    if (!s || !device) return leave(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *device = s->device;
    return leave(cudaSuccess);
}

/* Managed memory is one memory here: who may touch it when needs no attaching. */
CUDA_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *at, size_t bytes, unsigned flags)
{
    (void)bytes;
    ENTER();
    if (!stream_of(stream, false)) return leave(cudaErrorInvalidResourceHandle);
    const struct block *b = block_of(at);
    if (!b || b->type != MEMORY_MANAGED || (flags != 1 && flags != 2 && flags != 4))
        return leave(cudaErrorInvalidValue);
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void *at, size_t bytes,
                                                   unsigned flags)
{
    return cudaStreamAttachMemAsync(stream, at, bytes, flags);
}

/* Attributes that tune caches and synchronisation: kept by nobody, valid ones are accepted. */
CUDA_API cudaError_t cudaStreamSetAttribute(cudaStream_t stream, int attribute, const void *value)
{
    ENTER();
    if (!stream_of(stream, false)) return leave(cudaErrorInvalidResourceHandle);
    if (!value || (attribute != 1 && attribute != 3 && attribute != 8)) return leave(cudaErrorInvalidValue);
    if (attribute == 8) stream_of(stream, false)->priority = *(const int *)value;
    return leave(cudaSuccess);
}
