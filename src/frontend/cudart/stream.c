/* stream: streams, and how the host waits for them. */
#include <stdlib.h>

#include "frontend/cudart/process.h"

static __thread struct stream *own[DEVICES_MAX]; /* cudaStreamPerThread */

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
        struct stream **mine = &own[current_device()];
        if (!*mine) *mine = stream_new(0, 0);
        return *mine;
    }
    if (!handle || handle == STREAM_LEGACY) return &process.devices[current_device()].legacy;
    return handle_is(handle, HANDLE_STREAM) ? handle : NULL;
}

/* What the host waits for when it waits for the stream: of the legacy one also what it would wait for. */
static struct task *end_of(struct stream *s)
{
    struct op op = {.kind = OP_EMPTY};
    if (s == &process.devices[s->device].legacy && task_submit(s, s->device, &op, NULL, 0, NULL)) return NULL;
    return s->last;
}

void host_waits(struct stream *s)
{
    task_wait(end_of(s));
    show_prints();
}

void host_waits_for_device(void)
{
    const int device = current_device();
    for (struct stream *s = process.streams; s;) {
        const bool busy = s->device == device && s->last;
        if (busy) task_wait(s->last);
        s = busy ? process.streams : s->next; /* meanwhile the list may have changed */
    }
    task_wait(process.devices[device].legacy.last);
    show_prints();
}

/* A fault of what the host waits for is the answer. */
cudaError_t waited(void)
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
    for (int i = 0; i < DEVICES_MAX; i++)
        if (s == own[i]) own[i] = NULL;
    handle_drop(s);
    s->destroyed = true;
    if (!s->last) stream_free(s); /* else when what it still has to do is done */
    return leave(cudaSuccess);
}

static cudaError_t synchronize(cudaStream_t stream, bool per_thread)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!s) return leave(cudaErrorInvalidResourceHandle);
    const cudaError_t forbidden = capture_forbids_waiting(s);
    if (forbidden) return leave(forbidden);
    host_waits(s);
    return leave(waited());
}

CUDA_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return synchronize(stream, false); }
CUDA_API cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) { return synchronize(stream, true); }

static cudaError_t query(cudaStream_t stream, bool per_thread)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!s) return leave(cudaErrorInvalidResourceHandle);
    const cudaError_t forbidden = capture_forbids_waiting(s);
    if (forbidden) return leave(forbidden);
    const bool done = task_poll(end_of(s));
    const cudaError_t error = waited();
    return leave(!error && !done ? cudaErrorNotReady : error);
}

CUDA_API cudaError_t cudaStreamQuery(cudaStream_t stream) { return query(stream, false); }
CUDA_API cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) { return query(stream, true); }

CUDA_API cudaError_t cudaDeviceSynchronize(void)
{
    ENTER();
    const cudaError_t forbidden = capture_forbids_unsafe();
    if (forbidden) return leave(forbidden);
    host_waits_for_device();
    return leave(waited());
}

CUDA_API cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }

static cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event, bool per_thread)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!s || !handle_is(event, HANDLE_EVENT)) return leave(cudaErrorInvalidResourceHandle);
    struct event *e = event;
    if (e->capture || s->capture_status != CAPTURE_NONE) return leave(graph_capture_wait(s, e));
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
