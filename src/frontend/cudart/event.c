/* event: events carry simulated time. */
#include <stdlib.h>

#include "frontend/cudart/process.h"

CUDA_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    ENTER();
    if (!event || flags > 7) return leave(cudaErrorInvalidValue);
    struct event *e = *event = calloc(1, sizeof *e);
    if (!e || !handle_add(e, HANDLE_EVENT)) return leave(cudaErrorMemoryAllocation);
    e->flags = flags;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }

CUDA_API cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    ENTER();
    if (!handle_is(event, HANDLE_EVENT)) return leave(cudaErrorInvalidResourceHandle);
    struct event *e = event;
    handle_drop(e);
    event_forget(e);
    free(e->tips);
    free(e);
    return leave(cudaSuccess);
}

static cudaError_t record(cudaEvent_t event, cudaStream_t stream, bool per_thread)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!s || !handle_is(event, HANDLE_EVENT)) return leave(cudaErrorInvalidResourceHandle);
    struct event *e = event;
    if (s->capture_status != CAPTURE_NONE) {
        graph_capture_record(s, e);
        return leave(cudaSuccess);
    }
    e->capture = NULL;
    struct op op = {.kind = OP_RECORD, .event = e};
    return leave(op_submit(s, &op));
}

CUDA_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return record(event, stream, false);
}
CUDA_API cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream)
{
    return record(event, stream, true);
}
CUDA_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    (void)flags;
    return record(event, stream, false);
}
CUDA_API cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    (void)flags;
    return record(event, stream, true);
}

static cudaError_t reached(cudaEvent_t event, bool waits)
{
    ENTER();
    if (!handle_is(event, HANDLE_EVENT)) return leave(cudaErrorInvalidResourceHandle);
    struct event *e = event;
    if (e->capture) return leave(capture_spoil(e->capture, cudaErrorCapturedEvent));
    const cudaError_t forbidden = capture_forbids_unsafe();
    if (forbidden) return leave(forbidden);
    if (waits) task_wait(e->task);
    const bool done = waits || task_poll(e->task);
    const cudaError_t error = waited();
    return leave(!error && !done ? cudaErrorNotReady : error);
}

CUDA_API cudaError_t cudaEventSynchronize(cudaEvent_t event) { return reached(event, true); }
CUDA_API cudaError_t cudaEventQuery(cudaEvent_t event) { return reached(event, false); }

CUDA_API cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    ENTER();
    if (!milliseconds) return leave(cudaErrorInvalidValue);
    if (!handle_is(from, HANDLE_EVENT) || !handle_is(to, HANDLE_EVENT))
        return leave(cudaErrorInvalidResourceHandle);
    const struct event *a = from, *b = to;
    if ((!a->recorded && !a->task) || (!b->recorded && !b->task) ||
        ((a->flags | b->flags) & EVENT_DISABLE_TIMING))
        return leave(cudaErrorInvalidResourceHandle);
    if (a->task || b->task) return leave(cudaErrorNotReady);
    *milliseconds = (float)((b->time - a->time) * 1e3);
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaEventElapsedTime_v2(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    return cudaEventElapsedTime(milliseconds, from, to);
}
