/* driver_memory: the driver API: memory, copies, fills, streams, events. Each name hands on to the runtime
 * API. */
#include "frontend/cudart/images.h"
#include "frontend/cudart/process.h"
#include "frontend/cudart/runtime_api.h"

typedef cudaError_t CUresult;
typedef uint64_t CUdeviceptr;

static void *pointer(CUdeviceptr at) { return (void *)at; }

/* A function and its older name, or the name for a default stream per thread. */
#define ALIAS(name, other, params, args) \
    CUDA_API CUresult name params; \
    CUDA_API CUresult other params; \
    CUDA_API CUresult other params { return name args; }

/* ---- memory ---- */

CUDA_API CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes)
{
    NEEDS_CONTEXT();
    if (!bytes) return cudaErrorInvalidValue;
    return cudaMalloc((void **)at, bytes);
}
ALIAS(cuMemAlloc_v2, cuMemAlloc, (CUdeviceptr * at, size_t bytes), (at, bytes))
CUDA_API CUresult cuMemFree_v2(CUdeviceptr at)
{
    NEEDS_CONTEXT();
    return cudaFree(pointer(at));
}
ALIAS(cuMemFree_v2, cuMemFree, (CUdeviceptr at), (at))
CUDA_API CUresult cuMemAllocHost_v2(void **at, size_t bytes)
{
    NEEDS_CONTEXT();
    return cudaHostAlloc(at, bytes, 0);
}
ALIAS(cuMemAllocHost_v2, cuMemAllocHost, (void **at, size_t bytes), (at, bytes))
CUDA_API CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
    NEEDS_CONTEXT();
    return cudaHostAlloc(at, bytes, flags);
}
CUDA_API CUresult cuMemFreeHost(void *at)
{
    NEEDS_CONTEXT();
    return cudaFreeHost(at);
}
CUDA_API CUresult cuMemAllocManaged(CUdeviceptr *at, size_t bytes, unsigned flags)
{
    NEEDS_CONTEXT();
    return cudaMallocManaged((void **)at, bytes, flags);
}
CUDA_API CUresult cuMemAllocPitch_v2(CUdeviceptr *at, size_t *pitch, size_t width, size_t height,
                                     unsigned element)
{
    NEEDS_CONTEXT();
    if (element != 4 && element != 8 && element != 16) return cudaErrorInvalidValue;
    return cudaMallocPitch((void **)at, pitch, width, height);
}
ALIAS(cuMemAllocPitch_v2, cuMemAllocPitch,
      (CUdeviceptr * at, size_t *pitch, size_t width, size_t height, unsigned element),
      (at, pitch, width, height, element))
CUDA_API CUresult cuMemGetInfo_v2(size_t *unused, size_t *total)
{
    NEEDS_CONTEXT();
    return cudaMemGetInfo(unused, total);
}
ALIAS(cuMemGetInfo_v2, cuMemGetInfo, (size_t * unused, size_t *total), (unused, total))
CUDA_API CUresult cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags)
{
    NEEDS_CONTEXT();
    return cudaHostRegister(at, bytes, flags);
}
CUDA_API CUresult cuMemHostUnregister(void *at)
{
    NEEDS_CONTEXT();
    return cudaHostUnregister(at);
}
CUDA_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags)
{
    NEEDS_CONTEXT();
    return cudaHostGetDevicePointer((void **)device, host, flags);
}
ALIAS(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer,
      (CUdeviceptr * device, void *host, unsigned flags), (device, host, flags))
CUDA_API CUresult cuMemAllocAsync(CUdeviceptr *at, size_t bytes, cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return cudaMallocAsync((void **)at, bytes, stream);
}
CUDA_API CUresult cuMemFreeAsync(CUdeviceptr at, cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return cudaFreeAsync(pointer(at), stream);
}

CUDA_API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
    NEEDS_CONTEXT();
    ENTER();
    const struct block *b = block_of(pointer(at));
    if (!b) return leave(cudaErrorInvalidValue);
    if (base) *base = (CUdeviceptr)b->at;
    if (bytes) *bytes = b->bytes;
    return leave(cudaSuccess);
}

CUDA_API CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr at)
{
    NEEDS_CONTEXT();
    enum {
        ATTRIBUTE_CONTEXT = 1,
        ATTRIBUTE_TYPE,
        ATTRIBUTE_DEVICE,
        ATTRIBUTE_HOST,
        ATTRIBUTE_MANAGED = 8,
        ATTRIBUTE_ORDINAL
    };
    struct cudaPointerAttributes a;
    const CUresult error = cudaPointerGetAttributes(&a, pointer(at));
    if (error || !data || a.type == MEMORY_UNREGISTERED) return error ? error : cudaErrorInvalidValue;
    switch (attribute) {
    case ATTRIBUTE_CONTEXT: *(void **)data = &process.devices[a.device]; return cudaSuccess;
    case ATTRIBUTE_TYPE: *(unsigned *)data = a.type == MEMORY_HOST ? 1 : 2; return cudaSuccess;
    case ATTRIBUTE_DEVICE: *(void **)data = a.devicePointer; return cudaSuccess;
    case ATTRIBUTE_HOST:
        *(void **)data = a.hostPointer;
        return a.hostPointer ? cudaSuccess : cudaErrorInvalidValue;
    case ATTRIBUTE_MANAGED: *(unsigned *)data = a.type == MEMORY_MANAGED; return cudaSuccess;
    case ATTRIBUTE_ORDINAL: *(int *)data = a.device; return cudaSuccess;
    default: return cudaErrorNotSupported;
    }
}

/* ---- copies ---- */

CUDA_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    NEEDS_CONTEXT();
    return cudaMemcpy(pointer(to), pointer(from), bytes, COPY_DEFAULT);
}
CUDA_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return cudaMemcpyAsync(pointer(to), pointer(from), bytes, COPY_DEFAULT, stream);
}
CUDA_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    NEEDS_CONTEXT();
    return cudaMemcpy(pointer(to), from, bytes, COPY_HOST_DEVICE);
}
ALIAS(cuMemcpyHtoD_v2, cuMemcpyHtoD, (CUdeviceptr to, const void *from, size_t bytes), (to, from, bytes))
CUDA_API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    NEEDS_CONTEXT();
    return cudaMemcpy(to, pointer(from), bytes, COPY_DEVICE_HOST);
}
ALIAS(cuMemcpyDtoH_v2, cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t bytes), (to, from, bytes))
CUDA_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    NEEDS_CONTEXT();
    return cudaMemcpy(pointer(to), pointer(from), bytes, COPY_DEVICE_DEVICE);
}
ALIAS(cuMemcpyDtoD_v2, cuMemcpyDtoD, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
CUDA_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return cudaMemcpyAsync(pointer(to), from, bytes, COPY_HOST_DEVICE, stream);
}
ALIAS(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync,
      (CUdeviceptr to, const void *from, size_t bytes, cudaStream_t stream), (to, from, bytes, stream))
CUDA_API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return cudaMemcpyAsync(to, pointer(from), bytes, COPY_DEVICE_HOST, stream);
}
ALIAS(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync,
      (void *to, CUdeviceptr from, size_t bytes, cudaStream_t stream), (to, from, bytes, stream))
CUDA_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return cudaMemcpyAsync(pointer(to), pointer(from), bytes, COPY_DEVICE_DEVICE, stream);
}
ALIAS(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync,
      (CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaStream_t stream), (to, from, bytes, stream))

struct driver_copy_2d {
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    CUdeviceptr from_device;
    void *from_array;
    size_t from_pitch, to_x, to_y;
    int to_type;
    void *to_host;
    CUdeviceptr to_device;
    void *to_array;
    size_t to_pitch, width, height;
};

static CUresult copy_2d_arrays(const struct driver_copy_2d *c, cudaStream_t stream, bool async)
{
    const struct box_end to = {.type = c->to_type,
                               .memory = c->to_type == BOX_HOST ? c->to_host : pointer(c->to_device),
                               .array = c->to_array,
                               .x = c->to_x,
                               .y = c->to_y,
                               .pitch = c->to_pitch};
    const struct box_end from = {.type = c->from_type,
                                 .memory = c->from_type == BOX_HOST ? (void *)(uintptr_t)c->from_host
                                                                    : pointer(c->from_device),
                                 .array = c->from_array,
                                 .x = c->from_x,
                                 .y = c->from_y,
                                 .pitch = c->from_pitch};
    return box_copy(&to, &from, (struct cudaExtent){c->width, c->height, 1}, stream, !async);
}

static CUresult copy_2d(const struct driver_copy_2d *c, cudaStream_t stream, bool async)
{
    enum { TYPE_HOST = 1, TYPE_DEVICE = 2, TYPE_ARRAY = 3 };
    if (!c) return cudaErrorInvalidValue;
    if (c->from_type == TYPE_ARRAY || c->to_type == TYPE_ARRAY) return copy_2d_arrays(c, stream, async);
    const char *from = c->from_type == TYPE_HOST ? c->from_host : pointer(c->from_device);
    char *to = c->to_type == TYPE_HOST ? c->to_host : pointer(c->to_device);
    const size_t from_pitch = c->from_pitch ? c->from_pitch : c->width,
                 to_pitch = c->to_pitch ? c->to_pitch : c->width;
    const int kind = (c->from_type == TYPE_DEVICE ? 2 : 0) + (c->to_type == TYPE_DEVICE ? 1 : 0);
    from += c->from_y * from_pitch + c->from_x;
    to += c->to_y * to_pitch + c->to_x;
    return async ? cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, c->width, c->height, kind, stream)
                 : cudaMemcpy2D(to, to_pitch, from, from_pitch, c->width, c->height, kind);
}

CUDA_API CUresult cuMemcpy2D_v2(const struct driver_copy_2d *c)
{
    NEEDS_CONTEXT();
    return copy_2d(c, NULL, false);
}
CUDA_API CUresult cuMemcpy2DUnaligned_v2(const struct driver_copy_2d *c)
{
    NEEDS_CONTEXT();
    return copy_2d(c, NULL, false);
}
CUDA_API CUresult cuMemcpy2DAsync_v2(const struct driver_copy_2d *c, cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return copy_2d(c, stream, true);
}

/* ---- fills ---- */

static CUresult set(CUdeviceptr at, size_t pitch, unsigned value, unsigned element, size_t width,
                    size_t height, cudaStream_t stream, bool waits)
{
    NEEDS_CONTEXT();
    struct op op = {.kind = OP_SET,
                    .set = {.p = {.dst = pointer(at),
                                  .pitch = pitch,
                                  .value = value,
                                  .elementSize = element,
                                  .width = width,
                                  .height = height},
                            .depth = 1}};
    ENTER();
    struct stream *s = stream_of(stream, false);
    return leave(s ? copy_submit(s, &op, waits) : cudaErrorInvalidResourceHandle);
}

#define SET(name, type, bytes) \
    CUDA_API CUresult cuMemset##name##_v2(CUdeviceptr at, type value, size_t count) \
    { \
        return set(at, 0, value, bytes, count, 1, NULL, true); \
    } \
    ALIAS(cuMemset##name##_v2, cuMemset##name, (CUdeviceptr at, type value, size_t count), \
          (at, value, count)) \
    CUDA_API CUresult cuMemset##name##Async(CUdeviceptr at, type value, size_t count, cudaStream_t stream) \
    { \
        return set(at, 0, value, bytes, count, 1, stream, false); \
    }
SET(D8, unsigned char, 1)
SET(D16, unsigned short, 2)
SET(D32, unsigned, 4)

#define SET_2D(name, type, bytes) \
    CUDA_API CUresult cuMemset##name##_v2(CUdeviceptr at, size_t pitch, type value, size_t width, \
                                          size_t height) \
    { \
        return set(at, pitch, value, bytes, width, height, NULL, true); \
    }
SET_2D(D2D8, unsigned char, 1)
SET_2D(D2D16, unsigned short, 2)
SET_2D(D2D32, unsigned, 4)

/* ---- streams and events ---- */

CUDA_API CUresult cuStreamCreate(cudaStream_t *stream, unsigned flags)
{
    NEEDS_CONTEXT();
    return cudaStreamCreateWithPriority(stream, flags, 0);
}
CUDA_API CUresult cuStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    NEEDS_CONTEXT();
    return cudaStreamCreateWithPriority(stream, flags, priority);
}
CUDA_API CUresult cuStreamDestroy_v2(cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return cudaStreamDestroy(stream);
}
ALIAS(cuStreamDestroy_v2, cuStreamDestroy, (cudaStream_t stream), (stream))
CUDA_API CUresult cuStreamSynchronize(cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return cudaStreamSynchronize(stream);
}
CUDA_API CUresult cuStreamQuery(cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return cudaStreamQuery(stream);
}
CUDA_API CUresult cuStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    NEEDS_CONTEXT();
    return cudaStreamWaitEvent(stream, event, flags);
}
CUDA_API CUresult cuStreamAddCallback(cudaStream_t stream, cudaStreamCallback *callback, void *user,
                                      unsigned flags)
{
    NEEDS_CONTEXT();
    return cudaStreamAddCallback(stream, callback, user, flags);
}
CUDA_API CUresult cuLaunchHostFunc(cudaStream_t stream, cudaHostFn *fn, void *user)
{
    NEEDS_CONTEXT();
    return cudaLaunchHostFunc(stream, fn, user);
}
CUDA_API CUresult cuEventCreate(cudaEvent_t *event, unsigned flags)
{
    NEEDS_CONTEXT();
    return cudaEventCreateWithFlags(event, flags);
}
CUDA_API CUresult cuEventDestroy_v2(cudaEvent_t event)
{
    NEEDS_CONTEXT();
    return cudaEventDestroy(event);
}
ALIAS(cuEventDestroy_v2, cuEventDestroy, (cudaEvent_t event), (event))
CUDA_API CUresult cuEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return cudaEventRecord(event, stream);
}
CUDA_API CUresult cuEventSynchronize(cudaEvent_t event)
{
    NEEDS_CONTEXT();
    return cudaEventSynchronize(event);
}
CUDA_API CUresult cuEventQuery(cudaEvent_t event)
{
    NEEDS_CONTEXT();
    return cudaEventQuery(event);
}
CUDA_API CUresult cuEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    NEEDS_CONTEXT();
    return cudaEventElapsedTime(milliseconds, from, to);
}
CUDA_API CUresult cuEventElapsedTime_v2(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    NEEDS_CONTEXT();
    return cudaEventElapsedTime(milliseconds, from, to);
}
