/* copy: copies and fills of one, two and three dimensions, of symbols, between devices. All become one kind
 * of operation; a call without "Async" waits for its end. */
#include <string.h>

#include "frontend/cudart/process.h"

static void copy_1d(struct copy *c, void *to, const void *from, size_t bytes, int kind)
{
    *c = (struct copy){.to = to, .from = from, .width = bytes, .height = 1, .depth = 1, .kind = kind};
}

/* The program can read it without a copy: pinned, registered or managed. */
static bool host_sees(const void *at)
{
    const struct block *b = block_of(at);
    return b && b->type != MEMORY_DEVICE;
}

/* CUDA's rules for memory that is not pinned: what is copied from it is read before the call returns, what is
 * copied to it is there when the call returns. A copy on the device is waited for by nobody, nor is a fill of
 * what only the device sees. */
cudaError_t copy_submit(struct stream *s, struct op *op, bool waits)
{
    const bool captures = s->capture_status != CAPTURE_NONE;
    if (op->kind == OP_SET && !host_sees(op->set.p.dst)) waits = false;
    cudaError_t error = op_check(op);
    if (!error && waits) error = captures ? capture_forbids_unsafe() : capture_forbids_legacy(s);
    if (error || captures) return error ? error : op_submit(s, op);
    if (op->kind == OP_COPY) {
        const struct copy *c = &op->copy;
        const int kind = copy_kind(c);
        if (kind == COPY_DEVICE_DEVICE) waits = false;
        if (kind == COPY_HOST_HOST || (kind == COPY_DEVICE_HOST && !block_of(c->to))) waits = true;
        if (kind == COPY_HOST_DEVICE && !waits && !block_of(c->from) && !copy_stage(&op->copy))
            return cudaErrorMemoryAllocation;
    }
    error = op_submit(s, op);
    if (waits && !error) host_waits(s);
    return error;
}

static cudaError_t submit(struct op *op, cudaStream_t stream, bool per_thread, bool waits)
{
    struct stream *s = stream_of(stream, per_thread);
    return s ? copy_submit(s, op, waits) : cudaErrorInvalidResourceHandle;
}

static cudaError_t copy_call(struct copy *c, cudaStream_t stream, bool per_thread, bool waits)
{
    struct op op = {.kind = OP_COPY, .copy = *c};
    ENTER();
    if (c->kind < 0 || c->kind > COPY_DEFAULT) return leave(cudaErrorInvalidMemcpyDirection);
    return leave(submit(&op, stream, per_thread, waits));
}

/* name: blocking; nameAsync; each with the variant for a default stream per thread. What follows args: the
 * parameters. */
#define COPY_FAMILY(name, make, args, ...) \
    CUDA_API cudaError_t name(__VA_ARGS__) \
    { \
        struct copy c; \
        make args; \
        return copy_call(&c, NULL, false, true); \
    } \
    CUDA_API cudaError_t name##_ptds(__VA_ARGS__) \
    { \
        struct copy c; \
        make args; \
        return copy_call(&c, NULL, true, true); \
    } \
    CUDA_API cudaError_t name##Async(__VA_ARGS__, cudaStream_t stream) \
    { \
        struct copy c; \
        make args; \
        return copy_call(&c, stream, false, false); \
    } \
    CUDA_API cudaError_t name##Async_ptsz(__VA_ARGS__, cudaStream_t stream) \
    { \
        struct copy c; \
        make args; \
        return copy_call(&c, stream, true, false); \
    }

COPY_FAMILY(cudaMemcpy, copy_1d, (&c, to, from, bytes, kind), void *to, const void *from, size_t bytes,
            int kind)

static void copy_2d(struct copy *c, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                    size_t width, size_t height, int kind)
{
    *c = (struct copy){.to = to,
                       .from = from,
                       .to_pitch = to_pitch,
                       .from_pitch = from_pitch,
                       .width = width,
                       .height = height,
                       .depth = 1,
                       .kind = kind};
}

COPY_FAMILY(cudaMemcpy2D, copy_2d, (&c, to, to_pitch, from, from_pitch, width, height, kind), void *to,
            size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind)

static char *start_of(const struct cudaPitchedPtr *p, const struct cudaPos *at)
{
    const size_t slice = p->pitch * p->ysize;
    return p->ptr ? (char *)p->ptr + at->z * slice + at->y * p->pitch + at->x : NULL;
}

/* Of memory; arrays.c has the calls, which take arrays too. */
void copy_3d(struct copy *c, const struct cudaMemcpy3DParms *p)
{
    *c = (struct copy){.to = start_of(&p->dstPtr, &p->dstPos),
                       .from = start_of(&p->srcPtr, &p->srcPos),
                       .to_pitch = p->dstPtr.pitch,
                       .from_pitch = p->srcPtr.pitch,
                       .to_slice = p->dstPtr.pitch * p->dstPtr.ysize,
                       .from_slice = p->srcPtr.pitch * p->srcPtr.ysize,
                       .width = p->extent.width,
                       .height = p->extent.height,
                       .depth = p->extent.depth,
                       .kind = p->kind,
                       .asked = *p};
}

/* ---- symbols ---- */

static cudaError_t symbol_call(const void *symbol, void *host, size_t bytes, size_t offset, int kind,
                               bool to_symbol, cudaStream_t stream, bool per_thread, bool waits)
{
    void *at;
    size_t size;
    struct op op = {.kind = OP_COPY};
    ENTER();
    const cudaError_t error = variable_address(symbol, &at, &size);
    if (error) return leave(error);
    if (offset > size || bytes > size - offset) return leave(cudaErrorInvalidValue);
    if (to_symbol)
        copy_1d(&op.copy, (char *)at + offset, host, bytes, kind);
    else
        copy_1d(&op.copy, host, (char *)at + offset, bytes, kind);
    return leave(submit(&op, stream, per_thread, waits));
}

#define SYMBOL_FAMILY(name, FIRST, SECOND, symbol, host, to_symbol) \
    CUDA_API cudaError_t name(FIRST, SECOND, size_t bytes, size_t offset, int kind) \
    { \
        return symbol_call(symbol, (void *)(uintptr_t)host, bytes, offset, kind, to_symbol, NULL, false, \
                           true); \
    } \
    CUDA_API cudaError_t name##_ptds(FIRST, SECOND, size_t bytes, size_t offset, int kind) \
    { \
        return symbol_call(symbol, (void *)(uintptr_t)host, bytes, offset, kind, to_symbol, NULL, true, \
                           true); \
    } \
    CUDA_API cudaError_t name##Async(FIRST, SECOND, size_t bytes, size_t offset, int kind, \
                                     cudaStream_t stream) \
    { \
        return symbol_call(symbol, (void *)(uintptr_t)host, bytes, offset, kind, to_symbol, stream, false, \
                           false); \
    } \
    CUDA_API cudaError_t name##Async_ptsz(FIRST, SECOND, size_t bytes, size_t offset, int kind, \
                                          cudaStream_t stream) \
    { \
        return symbol_call(symbol, (void *)(uintptr_t)host, bytes, offset, kind, to_symbol, stream, true, \
                           false); \
    }
SYMBOL_FAMILY(cudaMemcpyToSymbol, const void *to, const void *from, to, from, true)
SYMBOL_FAMILY(cudaMemcpyFromSymbol, void *to, const void *from, from, to, false)

/* ---- between devices ---- */

CUDA_API cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    struct copy c;
    if (to_device < 0 || from_device < 0 || to_device >= process.device_count ||
        from_device >= process.device_count)
        return cudaErrorInvalidDevice;
    copy_1d(&c, to, from, bytes, COPY_DEVICE_DEVICE);
    return copy_call(&c, NULL, false, true);
}

CUDA_API cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                         size_t bytes, cudaStream_t stream)
{
    struct copy c;
    if (to_device < 0 || from_device < 0 || to_device >= process.device_count ||
        from_device >= process.device_count)
        return cudaErrorInvalidDevice;
    copy_1d(&c, to, from, bytes, COPY_DEVICE_DEVICE);
    return copy_call(&c, stream, false, false);
}

static void copy_3d_peer(struct copy *c, const struct cudaMemcpy3DPeerParms *p)
{
    const struct cudaMemcpy3DParms plain = {.srcPos = p->srcPos,
                                            .srcPtr = p->srcPtr,
                                            .dstPos = p->dstPos,
                                            .dstPtr = p->dstPtr,
                                            .extent = p->extent,
                                            .kind = COPY_DEVICE_DEVICE};
    copy_3d(c, &plain);
}

CUDA_API cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
    struct copy c;
    if (!p) return cudaErrorInvalidValue;
    if (p->srcArray || p->dstArray) return unsupported("cudaMemcpy3DPeer of arrays");
    copy_3d_peer(&c, p);
    return copy_call(&c, NULL, false, true);
}

CUDA_API cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    struct copy c;
    if (!p) return cudaErrorInvalidValue;
    if (p->srcArray || p->dstArray) return unsupported("cudaMemcpy3DPeerAsync of arrays");
    copy_3d_peer(&c, p);
    return copy_call(&c, stream, false, false);
}

/* ---- fills ---- */

static cudaError_t set_call(struct cudaPitchedPtr p, int value, struct cudaExtent e, cudaStream_t stream,
                            bool per_thread, bool waits)
{
    struct op op = {.kind = OP_SET,
                    .set = {.p = {.dst = p.ptr,
                                  .pitch = p.pitch,
                                  .value = (unsigned char)value,
                                  .elementSize = 1,
                                  .width = e.width,
                                  .height = e.height},
                            .depth = e.depth,
                            .slice = p.pitch * p.ysize}};
    ENTER();
    if (e.height > 1 && e.width > p.pitch) return leave(cudaErrorInvalidPitchValue);
    return leave(submit(&op, stream, per_thread, waits));
}

#define SET_FAMILY(name, args, ...) \
    CUDA_API cudaError_t name(__VA_ARGS__) { return set_call(SET_ARGS args, NULL, false, true); } \
    CUDA_API cudaError_t name##_ptds(__VA_ARGS__) { return set_call(SET_ARGS args, NULL, true, true); } \
    CUDA_API cudaError_t name##Async(__VA_ARGS__, cudaStream_t stream) \
    { \
        return set_call(SET_ARGS args, stream, false, false); \
    } \
    CUDA_API cudaError_t name##Async_ptsz(__VA_ARGS__, cudaStream_t stream) \
    { \
        return set_call(SET_ARGS args, stream, true, false); \
    }
#define SET_ARGS(at, pitch, rows, width, height, depth) \
    (struct cudaPitchedPtr){at, pitch, width, rows}, value, (struct cudaExtent) { width, height, depth }
SET_FAMILY(cudaMemset, (at, bytes, 1, bytes, 1, 1), void *at, int value, size_t bytes)
SET_FAMILY(cudaMemset2D, (at, pitch, height, width, height, 1), void *at, size_t pitch, int value,
           size_t width, size_t height)
SET_FAMILY(cudaMemset3D, (p.ptr, p.pitch, p.ysize, e.width, e.height, e.depth), struct cudaPitchedPtr p,
           int value, struct cudaExtent e)
