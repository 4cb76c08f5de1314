/* pools: memory that is allocated and freed in the order of a stream. It is there when the call returns, and
 * given back when the stream gets to its end. */
#include <stdlib.h>

#include "frontend/cudart/process.h"

enum {
    POOL_ATTRIBUTES = 9,
    POOL_THRESHOLD = 4,
    POOL_RESERVED = 5,
    POOL_RESERVED_HIGH = 6,
    POOL_USED = 7,
    POOL_USED_HIGH = 8
};

struct pool {
    struct cudaMemPoolProps props;
    uint64_t threshold;
    int reuse[3]; /* attributes 1 to 3 */
    uint64_t used, used_high;
    bool access[DEVICES_MAX];
};

static struct pool *pool_new(const struct cudaMemPoolProps *props)
{
    struct pool *p = calloc(1, sizeof *p);
    if (!p || !handle_add(p, HANDLE_POOL)) {
        free(p);
        return NULL;
    }
    p->props = *props;
    for (int i = 0; i < 3; i++) p->reuse[i] = 1;
    if (props->location.type == LOCATION_DEVICE) p->access[props->location.id] = true;
    return p;
}

struct pool *device_pool(int device)
{
    struct device_state *d = &process.devices[device];
    const struct cudaMemPoolProps props = {.allocType = 1, .location = {LOCATION_DEVICE, device}};
    if (!d->default_pool) d->default_pool = d->pool = pool_new(&props);
    return d->pool;
}

void pool_forget(struct pool *p, size_t bytes) { p->used -= bytes; }

cudaError_t pool_malloc(struct pool *p, size_t bytes, void **out)
{
    struct block *b;
    if (!out || !p) return cudaErrorInvalidValue;
    *out = NULL;
    if (!bytes) return cudaSuccess;
    const cudaError_t error = block_new(bytes, MEMORY_DEVICE, 0, "cudaMallocAsync", &b);
    if (error) return error;
    b->pool = p;
    p->used += bytes;
    if (p->used > p->used_high) p->used_high = p->used;
    *out = b->at;
    return cudaSuccess;
}

static cudaError_t malloc_async(void **out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream,
                                bool per_thread)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!s) return leave(cudaErrorInvalidResourceHandle);
    if (pool && !handle_is(pool, HANDLE_POOL)) return leave(cudaErrorInvalidValue);
    const cudaError_t error = pool_malloc(pool ? pool : device_pool(current_device()), bytes, out);
    if (error || s->capture_status == CAPTURE_NONE) return leave(error);
    struct op op = {.kind = OP_EMPTY}; /* captured: the memory stays for all launches of the graph */
    return leave(op_submit(s, &op));
}

CUDA_API cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream)
{
    return malloc_async(out, bytes, NULL, stream, false);
}
CUDA_API cudaError_t cudaMallocAsync_ptsz(void **out, size_t bytes, cudaStream_t stream)
{
    return malloc_async(out, bytes, NULL, stream, true);
}
CUDA_API cudaError_t cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t pool,
                                             cudaStream_t stream)
{
    return pool ? malloc_async(out, bytes, pool, stream, false) : cudaErrorInvalidValue;
}
CUDA_API cudaError_t cudaMallocFromPoolAsync_ptsz(void **out, size_t bytes, cudaMemPool_t pool,
                                                  cudaStream_t stream)
{
    return pool ? malloc_async(out, bytes, pool, stream, true) : cudaErrorInvalidValue;
}

static cudaError_t free_async(void *at, cudaStream_t stream, bool per_thread)
{
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    struct block *b = block_of(at);
    if (!s) return leave(cudaErrorInvalidResourceHandle);
    if (!at) return leave(cudaSuccess);
    if (!b || b->at != at || b->type == MEMORY_HOST || b->freed) return leave(cudaErrorInvalidValue);
    if (s->capture_status == CAPTURE_NONE) b->freed = true;
    struct op op = {.kind = s->capture_status == CAPTURE_NONE ? OP_RELEASE : OP_EMPTY, .freed = at};
    return leave(op_submit(s, &op));
}

CUDA_API cudaError_t cudaFreeAsync(void *at, cudaStream_t stream) { return free_async(at, stream, false); }
CUDA_API cudaError_t cudaFreeAsync_ptsz(void *at, cudaStream_t stream)
{
    return free_async(at, stream, true);
}

/* ---- pools ---- */

CUDA_API cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
    ENTER();
    if (!pool || !props || props->location.type < LOCATION_DEVICE) return leave(cudaErrorInvalidValue);
    if (props->location.type == LOCATION_DEVICE &&
        (props->location.id < 0 || props->location.id >= process.device_count))
        return leave(cudaErrorInvalidDevice);
    *pool = pool_new(props);
    return leave(*pool ? cudaSuccess : cudaErrorMemoryAllocation);
}

static bool is_default(const struct pool *p)
{
    for (int i = 0; i < process.device_count; i++)
        if (process.devices[i].default_pool == p) return true;
    return false;
}

/* Memory of it stays allocated; then the pool must live, too. */
CUDA_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    ENTER();
    if (!handle_is(pool, HANDLE_POOL) || is_default(pool)) return leave(cudaErrorInvalidValue);
    struct pool *p = pool;
    for (int i = 0; i < process.device_count; i++)
        if (process.devices[i].pool == p) process.devices[i].pool = process.devices[i].default_pool;
    handle_drop(p);
    if (!p->used) free(p);
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    ENTER();
    if (!pool) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    (void)device_pool(device);
    *pool = process.devices[device].default_pool;
    return leave(*pool ? cudaSuccess : cudaErrorMemoryAllocation);
}

CUDA_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    ENTER();
    if (!pool) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    *pool = device_pool(device);
    return leave(*pool ? cudaSuccess : cudaErrorMemoryAllocation);
}

CUDA_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    ENTER();
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    if (!handle_is(pool, HANDLE_POOL)) return leave(cudaErrorInvalidValue);
    (void)device_pool(device);
    process.devices[device].pool = pool;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, int attribute, void *value)
{
    ENTER();
    if (!value || !handle_is(pool, HANDLE_POOL)) return leave(cudaErrorInvalidValue);
    struct pool *p = pool;
    if (attribute >= 1 && attribute <= 3)
        p->reuse[attribute - 1] = *(int *)value;
    else if (attribute == POOL_THRESHOLD)
        p->threshold = *(uint64_t *)value;
    else if ((attribute == POOL_RESERVED_HIGH || attribute == POOL_USED_HIGH) && !*(uint64_t *)value)
        p->used_high = p->used;
    else
        return leave(cudaErrorInvalidValue);
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void *value)
{
    ENTER();
    if (!value || !handle_is(pool, HANDLE_POOL)) return leave(cudaErrorInvalidValue);
    const struct pool *p = pool;
    switch (attribute) {
    case 1:
    case 2:
    case 3: *(int *)value = p->reuse[attribute - 1]; break;
    case POOL_THRESHOLD: *(uint64_t *)value = p->threshold; break;
    case POOL_RESERVED:
    case POOL_USED: *(uint64_t *)value = p->used; break;
    case POOL_RESERVED_HIGH:
    case POOL_USED_HIGH: *(uint64_t *)value = p->used_high; break;
    default: return leave(cudaErrorInvalidValue);
    }
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list,
                                          size_t count)
{
    ENTER();
    if (!handle_is(pool, HANDLE_POOL) || (count && !list)) return leave(cudaErrorInvalidValue);
    struct pool *p = pool;
    for (size_t i = 0; i < count; i++) {
        const int id = list[i].location.id;
        if (list[i].location.type != LOCATION_DEVICE || id < 0 || id >= process.device_count)
            return leave(cudaErrorInvalidValue);
        p->access[id] = list[i].flags != 0;
    }
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaMemPoolGetAccess(int *flags, cudaMemPool_t pool, struct cudaMemLocation *where)
{
    ENTER();
    if (!flags || !where || !handle_is(pool, HANDLE_POOL) || where->type != LOCATION_DEVICE ||
        where->id < 0 || where->id >= process.device_count)
        return leave(cudaErrorInvalidValue);
    *flags = ((struct pool *)pool)->access[where->id] ? ACCESS_READ_WRITE : 0;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes)
{
    (void)bytes; /* nothing is kept that could be given back */
    ENTER();
    return leave(handle_is(pool, HANDLE_POOL) ? cudaSuccess : cudaErrorInvalidValue);
}
