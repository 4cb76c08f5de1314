/* driver_contexts: the driver API: contexts. Those of a device share everything, as does its primary context:
 * what differs is which ones there are, and which ones are on the stack of a thread. */
#include <stdlib.h>

#include "frontend/cudart/process.h"
#include "frontend/cudart/runtime_api.h"

typedef cudaError_t CUresult;

static __thread int quiet;

void driver_quietly(int change) { quiet += change; }

/* Made by cuCtxCreate(); the handle of a primary context is its device_state. */
struct context {
    int device;
};

/* The thread's; the last one is current. Another thread may have destroyed some of them. */
enum { STACK_MAX = 32 };
static __thread struct {
    const void *contexts[STACK_MAX];
    int count;
} stack;

static void *primary_of(int device) { return &process.devices[device]; }

/* -1: it is no context, or not any more. */
static int device_of(const void *context)
{
    for (int i = 0; i < process.device_count; i++)
        if (context == primary_of(i)) return i;
    return handle_is(context, HANDLE_CONTEXT) ? ((const struct context *)context)->device : -1;
}

static const void *current(void) { return stack.count ? stack.contexts[stack.count - 1] : NULL; }

static void use_current(void)
{
    const int device = device_of(current());
    if (device >= 0) set_current_device(device);
}

static CUresult push(const void *context)
{
    if (stack.count == STACK_MAX) return cudaErrorInvalidValue;
    stack.contexts[stack.count++] = context;
    use_current();
    return cudaSuccess;
}

static void pop(void)
{
    stack.count--;
    use_current();
}

cudaError_t driver_lacks(bool context)
{
    enter_quietly();
    const bool ready = process.initialised, destroyed = current() && device_of(current()) < 0;
    (void)leave_quietly(cudaSuccess);
    if (!ready) return cudaErrorInitializationError; /* CUDA_ERROR_NOT_INITIALIZED */
    if (!context) return cudaSuccess;
    if (destroyed) return cudaErrorContextIsDestroyed;
    return current() ? cudaSuccess : cudaErrorDeviceUninitialized; /* CUDA_ERROR_INVALID_CONTEXT */
}

void driver_make_current(void)
{
    if (quiet) return;
    process.initialised = true;
    if (!stack.count) (void)push(primary_of(current_device()));
}

static CUresult create(void **context, int device)
{
    ENTER_QUIETLY();
    if (!context) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    if (stack.count == STACK_MAX) return leave(cudaErrorInvalidValue);
    struct context *c = calloc(1, sizeof *c);
    if (!c || !handle_add(c, HANDLE_CONTEXT)) {
        free(c);
        return leave(cudaErrorMemoryAllocation);
    }
    c->device = device;
    *context = c;
    return leave(push(c));
}

CUDA_API CUresult cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    (void)flags;
    return create(context, device);
}
CUDA_API CUresult cuCtxCreate(void **context, unsigned flags, int device)
{
    return cuCtxCreate_v2(context, flags, device);
}
CUDA_API CUresult cuCtxCreate_v4(void **context, const void *params, unsigned flags, int device)
{
    (void)params, (void)flags;
    return create(context, device);
}

CUDA_API CUresult cuCtxDestroy_v2(void *context)
{
    ENTER_QUIETLY();
    if (device_of(context) < 0) return leave(cudaErrorInvalidResourceHandle);
    const bool made = handle_is(context, HANDLE_CONTEXT);
    if (made) handle_drop(context);
    if (current() == context) pop();
    if (made) free(context);
    return leave(cudaSuccess);
}
CUDA_API CUresult cuCtxDestroy(void *context) { return cuCtxDestroy_v2(context); }

CUDA_API CUresult cuDevicePrimaryCtxRetain(void **context, int device)
{
    ENTER_QUIETLY();
    if (!context) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    *context = primary_of(device);
    return leave(cudaSuccess);
}

CUDA_API CUresult cuDevicePrimaryCtxRelease_v2(int device)
{
    ENTER_QUIETLY();
    return leave(device < 0 || device >= process.device_count ? cudaErrorInvalidDevice : cudaSuccess);
}
CUDA_API CUresult cuDevicePrimaryCtxRelease(int device) { return cuDevicePrimaryCtxRelease_v2(device); }

CUDA_API CUresult cuDevicePrimaryCtxReset_v2(int device)
{
    (void)device;
    return QUIETLY(cudaDeviceReset());
}

CUDA_API CUresult cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    ENTER_QUIETLY();
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    if (flags) *flags = process.devices[device].flags;
    if (active) *active = 1;
    return leave(cudaSuccess);
}

CUDA_API CUresult cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
    ENTER_QUIETLY();
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    process.devices[device].flags = flags;
    return leave(cudaSuccess);
}

CUDA_API CUresult cuCtxSetCurrent(void *context)
{
    ENTER_QUIETLY();
    if (context && device_of(context) < 0) return leave(cudaErrorInvalidResourceHandle);
    if (stack.count) stack.count--;
    return leave(context ? push(context) : cudaSuccess);
}

CUDA_API CUresult cuCtxGetCurrent(void **context)
{
    ENTER_QUIETLY();
    if (!context) return leave(cudaErrorInvalidValue);
    *context = (void *)(uintptr_t)current();
    return leave(cudaSuccess);
}

CUDA_API CUresult cuCtxPushCurrent_v2(void *context)
{
    ENTER_QUIETLY();
    return leave(device_of(context) < 0 ? cudaErrorInvalidResourceHandle : push(context));
}
CUDA_API CUresult cuCtxPushCurrent(void *context) { return cuCtxPushCurrent_v2(context); }

CUDA_API CUresult cuCtxPopCurrent_v2(void **context)
{
    ENTER_QUIETLY();
    if (!stack.count) return leave(cudaErrorDeviceUninitialized);
    if (context) *context = (void *)(uintptr_t)current();
    pop();
    return leave(cudaSuccess);
}
CUDA_API CUresult cuCtxPopCurrent(void **context) { return cuCtxPopCurrent_v2(context); }

CUDA_API CUresult cuCtxGetDevice(int *device)
{
    NEEDS_CONTEXT();
    return cudaGetDevice(device);
}
CUDA_API CUresult cuCtxSynchronize(void)
{
    NEEDS_CONTEXT();
    return cudaDeviceSynchronize();
}
CUDA_API CUresult cuCtxSetLimit(int limit, size_t value)
{
    NEEDS_CONTEXT();
    return cudaDeviceSetLimit(limit, value);
}
CUDA_API CUresult cuCtxGetLimit(size_t *value, int limit)
{
    NEEDS_CONTEXT();
    return cudaDeviceGetLimit(value, limit);
}
CUDA_API CUresult cuCtxSetCacheConfig(int config)
{
    NEEDS_CONTEXT();
    ENTER();
    return leave(config < 0 || config > 3 ? cudaErrorInvalidValue : cudaSuccess);
}
CUDA_API CUresult cuCtxGetApiVersion(void *context, unsigned *version)
{
    (void)context;
    if (!version) return cudaErrorInvalidValue;
    *version = 13000;
    return cudaSuccess;
}

static int peer_of(const void *context)
{
    enter_quietly();
    const int device = device_of(context);
    (void)leave_quietly(cudaSuccess);
    return device;
}
CUDA_API CUresult cuCtxEnablePeerAccess(void *context, unsigned flags)
{
    NEEDS_CONTEXT();
    return cudaDeviceEnablePeerAccess(peer_of(context), flags);
}
CUDA_API CUresult cuCtxDisablePeerAccess(void *context)
{
    NEEDS_CONTEXT();
    return cudaDeviceDisablePeerAccess(peer_of(context));
}
