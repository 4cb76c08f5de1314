/* memory: allocations of all kinds. A device pointer is a pointer of this process, so pinned, mapped and
 * managed memory are one thing with different labels; what a program asks about a pointer is answered from
 * the list here. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cudart/process.h"

/* By address. */
static struct {
    struct block **at;
    size_t count, capacity;
} blocks;

static size_t above(const void *address)
{
    size_t lo = 0, hi = blocks.count;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if ((const char *)address >= blocks.at[mid]->at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct block *block_of(const void *at)
{
    const size_t i = above(at);
    if (!i) return NULL;
    struct block *b = blocks.at[i - 1];
    return (const char *)at < b->at + (b->bytes ? b->bytes : 1) ? b : NULL;
}

static struct block *insert(char *at, size_t bytes, int type)
{
    if (blocks.count == blocks.capacity) {
        const size_t capacity = blocks.capacity ? 2 * blocks.capacity : 64;
        struct block **grown = realloc(blocks.at, capacity * sizeof(struct block *));
        if (!grown) return NULL;
        blocks.at = grown;
        blocks.capacity = capacity;
    }
    struct block *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    *b = (struct block){.at = at,
                        .bytes = bytes,
                        .type = type,
                        .device = current_device(),
                        .preferred = -2,
                        .prefetched = -2,
                        .accessed_by = -2};
    const size_t i = above(at);
    memmove(blocks.at + i + 1, blocks.at + i, (blocks.count - i) * sizeof *blocks.at);
    blocks.at[i] = b;
    blocks.count++;
    return b;
}

static void take_out(struct block *b)
{
    const size_t i = above(b->at) - 1;
    if (b->pool) pool_forget(b->pool, b->bytes);
    if (b->type != MEMORY_HOST) process.devices[b->device].used_bytes -= b->bytes;
    memmove(blocks.at + i, blocks.at + i + 1, (blocks.count - i - 1) * sizeof *blocks.at);
    blocks.count--;
    free(b);
}

cudaError_t block_new(size_t bytes, int type, unsigned flags, const char *name, struct block **out)
{
    struct device_state *d = &process.devices[current_device()];
    void *at;
    if (type == MEMORY_DEVICE && bytes > process.props.memory_bytes - d->used_bytes) tasks_wait_for_all();
    if (type == MEMORY_DEVICE && bytes > process.props.memory_bytes - d->used_bytes)
        return cudaErrorMemoryAllocation; /* also when cudaFreeAsync has been reached */
    if (atoll_alloc(process.atoll, bytes, name, &at)) return cudaErrorMemoryAllocation;
    struct block *b = *out = insert(at, bytes, type);
    if (!b) return cudaErrorMemoryAllocation;
    b->flags = flags;
    if (type != MEMORY_HOST) d->used_bytes += bytes;
    return cudaSuccess;
}

void block_of_variable(void *at, size_t bytes)
{
    struct block *b = insert(at, bytes, MEMORY_MANAGED);
    if (b) b->variable = true;
}

cudaError_t block_drop(void *at)
{
    struct block *b = block_of(at);
    if (!b || b->at != at || b->registered || b->variable) return cudaErrorInvalidValue;
    b->freed = false;
    if (b->nodes) return cudaSuccess; /* the next launch of the graph allocates it again */
    take_out(b);
    return atoll_error(atoll_free(process.atoll, at), cudaErrorInvalidValue);
}

void blocks_drop_all(int device)
{
    for (size_t i = blocks.count; i-- > 0;) {
        struct block *b = blocks.at[i];
        char *const at = b->at;
        const bool registered = b->registered;
        if (b->device != device || b->variable) continue;
        take_out(b);
        (void)(registered ? atoll_unregister(process.atoll, at) : atoll_free(process.atoll, at));
    }
}

static cudaError_t allocate(void **out, size_t bytes, int type, unsigned flags, const char *name)
{
    struct block *b;
    if (!out) return cudaErrorInvalidValue;
    *out = NULL;
    const cudaError_t forbidden = capture_forbids_unsafe();
    if (forbidden) return forbidden;
    if (!bytes) return type == MEMORY_MANAGED ? cudaErrorInvalidValue : cudaSuccess;
    const cudaError_t error = block_new(bytes, type, flags, name, &b);
    if (!error) *out = b->at;
    return error;
}

/* Frees wait for the device, as CUDA's do. */
static cudaError_t release(void *at, bool host)
{
    if (!at) return cudaSuccess;
    const struct block *b = block_of(at);
    if (!b || b->at != at || b->registered || b->variable || (b->type == MEMORY_HOST) != host)
        return cudaErrorInvalidValue;
    const cudaError_t forbidden = capture_forbids_unsafe();
    if (forbidden) return forbidden;
    host_waits_for_device();
    return block_drop(at);
}

CUDA_API cudaError_t cudaMalloc(void **out, size_t bytes)
{
    ENTER();
    return leave(allocate(out, bytes, MEMORY_DEVICE, 0, "cudaMalloc"));
}

CUDA_API cudaError_t cudaFree(void *at)
{
    ENTER();
    return leave(release(at, false));
}

CUDA_API cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    ENTER();
    if (flags > 7) return leave(cudaErrorInvalidValue);
    return leave(allocate(out, bytes, MEMORY_HOST, flags | HOST_MAPPED, "cudaHostAlloc"));
}

CUDA_API cudaError_t cudaMallocHost(void **out, size_t bytes) { return cudaHostAlloc(out, bytes, 0); }

CUDA_API cudaError_t cudaFreeHost(void *at)
{
    ENTER();
    return leave(release(at, true));
}

CUDA_API cudaError_t cudaMallocManaged(void **out, size_t bytes, unsigned flags)
{
    ENTER();
    if (flags != MANAGED_GLOBAL && flags != MANAGED_HOST) return leave(cudaErrorInvalidValue);
    return leave(allocate(out, bytes, MEMORY_MANAGED, flags, "cudaMallocManaged"));
}

/* Rows start at multiples of 512 bytes, as on NVIDIA's devices. */
static size_t pitch_of(size_t width) { return (width + 511) / 512 * 512; }

/* Rows of a pitch; more than can be counted: more than any memory has. */
static cudaError_t allocate_rows(void **out, size_t *pitch, struct cudaExtent e, const char *name)
{
    size_t rows, bytes;
    if (!out) return cudaErrorInvalidValue;
    *pitch = pitch_of(e.width);
    if (*pitch < e.width || __builtin_mul_overflow(e.height, e.depth, &rows) ||
        __builtin_mul_overflow(*pitch, rows, &bytes)) {
        *out = NULL;
        return cudaErrorMemoryAllocation;
    }
    return allocate(out, bytes, MEMORY_DEVICE, 0, name);
}

CUDA_API cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    ENTER();
    if (!pitch) return leave(cudaErrorInvalidValue);
    const struct cudaExtent extent = {.width = width, .height = height, .depth = 1};
    return leave(allocate_rows(out, pitch, extent, "cudaMallocPitch"));
}

CUDA_API cudaError_t cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
    ENTER();
    if (!out) return leave(cudaErrorInvalidValue);
    *out = (struct cudaPitchedPtr){.xsize = extent.width, .ysize = extent.height};
    return leave(allocate_rows(&out->ptr, &out->pitch, extent, "cudaMalloc3D"));
}

CUDA_API cudaError_t cudaMemGetInfo(size_t *unused, size_t *total)
{
    ENTER();
    const size_t all = (size_t)process.props.memory_bytes,
                 used = process.devices[current_device()].used_bytes;
    if (total) *total = all;
    if (unused) *unused = used < all ? all - used : 0;
    return leave(cudaSuccess);
}

/* ---- memory of the program's own ---- */

/* Is all of it mapped, readable and, if asked, writable? Where the system does not tell, it counts as such.
 */
static bool is_mapped(const void *at, size_t bytes, bool writable)
{
    uintptr_t next = (uintptr_t)at, end, from, to;
    char *line = NULL, mode[5];
    size_t room = 0;
    if (__builtin_add_overflow(next, bytes, &end)) return false;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return true;
    while (next < end && getline(&line, &room, maps) > 0) { /* in the order of addresses */
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, mode) != 3 || to <= next) continue;
        if (from > next || mode[0] != 'r' || (writable && mode[1] != 'w')) break;
        next = to;
    }
    free(line);
    (void)fclose(maps);
    return next >= end;
}

CUDA_API cudaError_t cudaHostRegister(void *at, size_t bytes, unsigned flags)
{
    ENTER();
    if (!at || !bytes) return leave(cudaErrorInvalidValue);
    if (!is_mapped(at, bytes, !(flags & REGISTER_READ_ONLY))) {
        complain("cudaHostRegister of %zu bytes at %p: not all of it is memory that the program can read and "
                 "write; for what is read only there is cudaHostRegisterReadOnly",
                 bytes, at);
        return leave(cudaErrorInvalidValue);
    }
    if (block_of(at) || block_of((char *)at + bytes - 1)) return leave(cudaErrorHostMemoryAlreadyRegistered);
    const atoll_status status = atoll_register(process.atoll, at, bytes, "cudaHostRegister");
    if (status) return leave(atoll_error(status, cudaErrorInvalidValue));
    struct block *b = insert(at, bytes, MEMORY_HOST);
    if (!b) return leave(cudaErrorMemoryAllocation);
    b->registered = true;
    b->flags = flags | HOST_MAPPED;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaHostUnregister(void *at)
{
    ENTER();
    struct block *b = block_of(at);
    if (!b || b->at != at || !b->registered) return leave(cudaErrorHostMemoryNotRegistered);
    host_waits_for_device();
    take_out(b);
    return leave(atoll_error(atoll_unregister(process.atoll, at), cudaErrorInvalidValue));
}

CUDA_API cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    ENTER();
    const struct block *b = block_of(host);
    if (!device || flags || !b || b->type == MEMORY_DEVICE) return leave(cudaErrorInvalidValue);
    *device = host;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaHostGetFlags(unsigned *flags, void *host)
{
    ENTER();
    const struct block *b = block_of(host);
    if (!flags || !b || b->type != MEMORY_HOST) return leave(cudaErrorInvalidValue);
    *flags = b->flags;
    return leave(cudaSuccess);
}

/* Programs of CUDA 11 and 12 have room for 24 bytes: the reserved words of 13 are not written. */
CUDA_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *at)
{
    ENTER();
    if (!a) return leave(cudaErrorInvalidValue);
    const struct block *b = block_of(at);
    void *pointer = (void *)(uintptr_t)at;
    a->type = b ? b->type : MEMORY_UNREGISTERED;
    a->device = b ? b->device : -2;
    a->devicePointer = b ? pointer : NULL;
    a->hostPointer = !b || b->type != MEMORY_DEVICE ? pointer : NULL;
    if (!b && atoll_memory_find(process.atoll, at, 1, NULL, NULL)) { /* a __device__ variable */
        a->type = MEMORY_DEVICE;
        a->device = 0;
        a->devicePointer = pointer;
        a->hostPointer = NULL;
    }
    return leave(cudaSuccess);
}

/* ---- managed memory: hints are checked and remembered; there is one copy of every page, so nothing moves
 * ---- */

static struct block *managed_block(const void *at, size_t bytes)
{
    struct block *b = block_of(at);
    if (!b || b->type != MEMORY_MANAGED || !bytes || bytes > (size_t)(b->at + b->bytes - (const char *)at))
        return NULL;
    return b;
}

cudaError_t managed_advise(const void *at, size_t bytes, int advice, int device)
{
    struct block *b = managed_block(at, bytes);
    if (!b || device < -1 || device >= process.device_count)
        return b ? cudaErrorInvalidDevice : cudaErrorInvalidValue;
    switch (advice) {
    case 1: b->read_mostly = true; break;
    case 2: b->read_mostly = false; break;
    case 3: b->preferred = device; break;
    case 4: b->preferred = -2; break;
    case 5: b->accessed_by = device; break;
    case 6: b->accessed_by = -2; break;
    default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

/* Costs the bytes over the host link, once per change of place. */
cudaError_t managed_prefetch(const void *at, size_t bytes, int device, cudaStream_t stream)
{
    struct block *b = managed_block(at, bytes);
    struct stream *s = stream_of(stream, false);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (!b || device < -1 || device >= process.device_count)
        return b ? cudaErrorInvalidDevice : cudaErrorInvalidValue;
    const double seconds = (double)bytes / process.props.host_bytes_per_second;
    if (b->prefetched == device) return cudaSuccess;
    b->prefetched = device;
    struct op op = {.kind = OP_SPEND, .spend = {device < 0 ? ENGINE_TO_HOST : ENGINE_TO_DEVICE, seconds}};
    return op_submit(s, &op);
}

CUDA_API cudaError_t cudaMemRangeGetAttribute(void *data, size_t data_bytes, int attribute, const void *at,
                                              size_t bytes)
{
    ENTER();
    const struct block *b = managed_block(at, bytes);
    if (!b || !data || data_bytes < 4) return leave(cudaErrorInvalidValue);
    const int values[] = {b->read_mostly, b->preferred, b->accessed_by, b->prefetched};
    if (attribute < 1 || attribute > 4) return leave(cudaErrorInvalidValue);
    memcpy(data, &values[attribute - 1], 4);
    return leave(cudaSuccess);
}
