/* arrays: CUDA arrays and mipmapped arrays, and copies from, to and between them. An array is plain rows of
 * device memory below (exec/image.h), so a copy of it is the copy of a box of rows. */
#include "frontend/cudart/images.h"

#include <stdlib.h>
#include <string.h>

/* ---- formats ---- */

CUDA_API struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f);
CUDA_API struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

bool texel_of(const struct cudaChannelFormatDesc *d, struct atoll_texel *texel)
{
    const int bits[4] = {d->x, d->y, d->z, d->w};
    uint32_t channels = 0;
    while (channels < 4 && bits[channels] == bits[0]) channels++;
    for (uint32_t k = channels; k < 4; k++)
        if (bits[k]) return false;
    if ((d->x != 8 && d->x != 16 && d->x != 32) || channels == 3) return false;
    if (d->f < CHANNEL_SIGNED || d->f > CHANNEL_FLOAT || (d->f == CHANNEL_FLOAT && d->x == 8)) return false;
    static const uint8_t kinds[] = {ATOLL_TEXEL_SIGNED, ATOLL_TEXEL_UNSIGNED, ATOLL_TEXEL_FLOAT};
    *texel = (struct atoll_texel){kinds[d->f], (uint8_t)d->x, (uint8_t)channels};
    return true;
}

static size_t texel_bytes(const struct array *a)
{
    return (size_t)a->info.texel.bits / 8 * a->info.texel.channels;
}

/* ---- arrays ---- */

struct array *array_of(cudaArray_t handle) { return handle_is(handle, HANDLE_ARRAY) ? handle : NULL; }
struct array *mipmap_of(cudaArray_t handle) { return handle_is(handle, HANDLE_MIPMAP) ? handle : NULL; }

static bool shape_of(struct cudaExtent e, unsigned levels, unsigned flags, struct atoll_shape *s)
{
    const size_t most = UINT32_MAX;
    if (!e.width || e.width > most || e.height > most || e.depth > most) return false;
    *s = (struct atoll_shape){.width = (uint32_t)e.width, .height = (uint32_t)e.height, .levels = levels};
    if (flags & (ARRAY_LAYERED | ARRAY_CUBEMAP))
        s->layers = (uint32_t)e.depth;
    else
        s->depth = (uint32_t)e.depth;
    s->cube = flags & ARRAY_CUBEMAP;
    if (flags & ARRAY_LAYERED && !e.depth) return false;
    if (flags & ARRAY_CUBEMAP && !(flags & ARRAY_LAYERED) && e.depth != 6) return false;
    return true;
}

cudaError_t array_new(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned levels,
                      unsigned flags, struct array **out)
{
    struct atoll_array_info wanted = {0};
    if (!desc || flags & ~(unsigned)ARRAY_FLAGS) return cudaErrorInvalidValue;
    if (!texel_of(desc, &wanted.texel)) return cudaErrorInvalidChannelDescriptor;
    if (!shape_of(extent, levels, flags, &wanted.shape)) return cudaErrorInvalidValue;
    struct array *a = calloc(1, sizeof *a);
    struct array **of_levels = calloc(levels ? levels : 1, sizeof *of_levels);
    if (!a || !of_levels) {
        free(a);
        free(of_levels);
        return cudaErrorMemoryAllocation;
    }
    a->levels = of_levels;
    const atoll_status status = atoll_array_create(
        process.atoll, &wanted, levels ? "cudaMallocMipmappedArray" : "cudaMallocArray", &a->code);
    if (status || !handle_add(a, levels ? HANDLE_MIPMAP : HANDLE_ARRAY)) {
        free(of_levels);
        free(a);
        return status ? atoll_error(status, cudaErrorInvalidValue) : cudaErrorMemoryAllocation;
    }
    atoll_array_describe(a->code, &a->info);
    a->desc = *desc;
    a->extent = extent;
    a->flags = flags;
    a->level_count = levels;
    a->device = current_device();
    process.devices[a->device].used_bytes += a->info.bytes;
    *out = a;
    return cudaSuccess;
}

static cudaError_t array_level(struct array *mipmap, unsigned level, struct array **out)
{
    if (!mipmap || level >= mipmap->level_count) return cudaErrorInvalidValue;
    if (!mipmap->levels[level]) {
        struct array *a = calloc(1, sizeof *a);
        if (!a) return cudaErrorMemoryAllocation;
        const atoll_status status = atoll_array_level(process.atoll, mipmap->code, level, &a->code);
        if (status || !handle_add(a, HANDLE_ARRAY)) {
            free(a);
            return status ? atoll_error(status, cudaErrorInvalidValue) : cudaErrorMemoryAllocation;
        }
        atoll_array_describe(a->code, &a->info);
        a->desc = mipmap->desc;
        a->flags = mipmap->flags;
        a->device = mipmap->device;
        a->mipmap = mipmap;
        const struct atoll_shape *s = &a->info.shape;
        a->extent = (struct cudaExtent){s->width, s->height, s->layers ? s->layers : s->depth};
        mipmap->levels[level] = a;
    }
    *out = mipmap->levels[level];
    return cudaSuccess;
}

cudaError_t array_drop(struct array *a)
{
    if (!a || a->mipmap) return cudaErrorInvalidValue; /* a level goes with its mipmap */
    host_waits_for_device();
    const atoll_status status = atoll_array_free(process.atoll, a->code);
    if (status) return atoll_error(status, cudaErrorInvalidValue);
    process.devices[a->device].used_bytes -= a->info.bytes;
    for (unsigned k = 0; k < a->level_count; k++) {
        if (!a->levels[k]) continue;
        handle_drop(a->levels[k]);
        free(a->levels[k]);
    }
    handle_drop(a);
    free(a->levels);
    free(a);
    return cudaSuccess;
}

static cudaError_t malloc_array(cudaArray_t *out, const struct cudaChannelFormatDesc *desc,
                                struct cudaExtent extent, unsigned levels, unsigned flags)
{
    struct array *a = NULL;
    ENTER();
    if (!out) return leave(cudaErrorInvalidValue);
    const cudaError_t error = array_new(desc, extent, levels, flags, &a);
    if (!error) *out = a;
    return leave(error);
}

CUDA_API cudaError_t cudaMallocArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc, size_t width,
                                     size_t height, unsigned flags)
{
    return malloc_array(out, desc, (struct cudaExtent){width, height, 0}, 0, flags);
}

CUDA_API cudaError_t cudaMalloc3DArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc,
                                       struct cudaExtent extent, unsigned flags)
{
    return malloc_array(out, desc, extent, 0, flags);
}

CUDA_API cudaError_t cudaMallocMipmappedArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc,
                                              struct cudaExtent extent, unsigned levels, unsigned flags)
{
    /* CUDA takes as many levels as there are */
    size_t side = extent.width > extent.height ? extent.width : extent.height;
    if (extent.depth > side && !(flags & (ARRAY_LAYERED | ARRAY_CUBEMAP))) side = extent.depth;
    unsigned most = 1;
    while (side >>= 1) most++;
    return malloc_array(out, desc, extent, !levels ? 1 : levels < most ? levels : most, flags);
}

cudaError_t array_get_level(cudaArray_t *out, cudaArray_t mipmap, unsigned level)
{
    struct array *a = NULL;
    ENTER();
    if (!out) return leave(cudaErrorInvalidValue);
    const cudaError_t error = array_level(mipmap_of(mipmap), level, &a);
    if (!error) *out = a;
    return leave(error);
}

CUDA_API cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *out, cudaArray_t mipmap, unsigned level)
{
    return array_get_level(out, mipmap, level);
}

CUDA_API cudaError_t cudaFreeArray(cudaArray_t array)
{
    ENTER();
    return leave(array ? array_drop(array_of(array)) : cudaSuccess);
}

CUDA_API cudaError_t cudaFreeMipmappedArray(cudaArray_t mipmap)
{
    ENTER();
    return leave(mipmap ? array_drop(mipmap_of(mipmap)) : cudaSuccess);
}

CUDA_API cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_t array)
{
    ENTER();
    const struct array *a = array_of(array);
    if (!a || !desc) return leave(cudaErrorInvalidValue);
    *desc = a->desc;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                                      unsigned *flags, cudaArray_t array)
{
    ENTER();
    const struct array *a = array_of(array);
    if (!a) return leave(cudaErrorInvalidValue);
    if (desc) *desc = a->desc;
    if (extent) *extent = a->extent;
    if (flags) *flags = a->flags;
    return leave(cudaSuccess);
}

/* ---- copies ---- */

bool array_place(const struct array *a, size_t x, size_t y, size_t z, size_t width, size_t height,
                 size_t depth, char **at)
{
    const struct atoll_shape *s = &a->info.shape;
    const size_t row = s->width * texel_bytes(a), rows = s->height ? s->height : 1;
    const size_t planes = s->layers ? s->layers : s->depth ? s->depth : 1;
    if (width > row || x > row - width || height > rows || y > rows - height || depth > planes ||
        z > planes - depth)
        return false;
    *at = (char *)a->info.memory + z * a->info.plane_bytes + y * a->info.row_bytes + x;
    return true;
}

cudaError_t array_submit(const struct copy *c, cudaStream_t stream, bool per_thread, bool waits)
{
    struct op op = {.kind = OP_COPY, .copy = *c};
    struct stream *s = stream_of(stream, per_thread);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (c->kind < 0 || c->kind > COPY_DEFAULT) return cudaErrorInvalidMemcpyDirection;
    return copy_submit(s, &op, waits);
}

/* One end of a copy of rows: an array, or memory with a pitch. */
struct end {
    cudaArray_t array;
    size_t x, y; /* in the array; x in bytes */
    char *memory;
    size_t pitch;
};

static bool end_of(const struct end *e, size_t width, size_t height, char **at, size_t *pitch)
{
    *at = e->memory;
    *pitch = e->pitch;
    if (e->memory) return true;
    const struct array *a = array_of(e->array);
    if (!a || !array_place(a, e->x, e->y, 0, width, height, 1, at)) return false;
    *pitch = a->info.row_bytes;
    return true;
}

static cudaError_t copy_rows(struct end to, struct end from, size_t width, size_t height, int kind,
                             cudaStream_t stream, bool per_thread, bool waits)
{
    struct copy c = {.width = width, .height = height, .depth = 1, .kind = kind};
    char *source;
    if (!width || !height) return cudaSuccess;
    if (!end_of(&to, width, height, &c.to, &c.to_pitch) ||
        !end_of(&from, width, height, &source, &c.from_pitch))
        return cudaErrorInvalidValue;
    if (height > 1 && ((to.memory && width > to.pitch) || (from.memory && width > from.pitch)))
        return cudaErrorInvalidPitchValue;
    c.from = source;
    return array_submit(&c, stream, per_thread, waits);
}

static cudaError_t copy_2d_call(struct end to, struct end from, size_t width, size_t height, int kind,
                                cudaStream_t stream, bool per_thread, bool waits)
{
    ENTER();
    return leave(copy_rows(to, from, width, height, kind, stream, per_thread, waits));
}

/* So many bytes that follow each other in the rows of an array: the rest of a row, whole rows, the start of
 * one. */
static cudaError_t copy_line_call(struct end to, struct end from, size_t bytes, int kind, cudaStream_t stream,
                                  bool per_thread, bool waits)
{
    ENTER();
    while (bytes) {
        size_t width = bytes, height = 1;
        const struct end *ends[2] = {&to, &from};
        for (uint32_t k = 0; k < 2; k++) { /* what both have in one piece */
            const struct array *a = ends[k]->memory ? NULL : array_of(ends[k]->array);
            if (ends[k]->memory) continue;
            const size_t row = a ? a->info.shape.width * texel_bytes(a) : 0;
            if (!a || ends[k]->x >= row) return leave(cudaErrorInvalidValue);
            if (width > row - ends[k]->x) width = row - ends[k]->x;
        }
        const bool whole =
            to.memory ? !from.x : from.memory && !to.x; /* rows of one array from packed memory */
        if (whole && bytes / width > 1) height = bytes / width;
        to.pitch = from.pitch = width;
        const cudaError_t error = copy_rows(to, from, width, height, kind, stream, per_thread, waits);
        if (error) return leave(error);
        bytes -= width * height;
        struct end *moving[2] = {&to, &from};
        for (uint32_t k = 0; k < 2; k++) {
            if (moving[k]->memory) {
                moving[k]->memory += width * height;
                continue;
            }
            const struct array *a = array_of(moving[k]->array);
            moving[k]->x += width;
            if (moving[k]->x < a->info.shape.width * texel_bytes(a)) continue;
            moving[k]->x = 0;
            moving[k]->y += height;
        }
    }
    return leave(cudaSuccess);
}

#define ARRAY_END(array, x, y) ((struct end){array, x, y, NULL, 0})
#define MEMORY_END(at, pitch)  ((struct end){NULL, 0, 0, (char *)(uintptr_t)(at), pitch})

/* The blocking call, that with a stream, and both with a default stream per thread. */
#define ARRAY_FAMILY(name, call, args, ...) \
    CUDA_API cudaError_t name(__VA_ARGS__) { return call(ARRAY_ARGS args, NULL, false, true); } \
    CUDA_API cudaError_t name##_ptds(__VA_ARGS__) { return call(ARRAY_ARGS args, NULL, true, true); } \
    CUDA_API cudaError_t name##Async(__VA_ARGS__, cudaStream_t stream) \
    { \
        return call(ARRAY_ARGS args, stream, false, false); \
    } \
    CUDA_API cudaError_t name##Async_ptsz(__VA_ARGS__, cudaStream_t stream) \
    { \
        return call(ARRAY_ARGS args, stream, true, false); \
    }
#define ARRAY_ARGS(...) __VA_ARGS__

ARRAY_FAMILY(cudaMemcpy2DToArray, copy_2d_call,
             (ARRAY_END(to, x, y), MEMORY_END(from, pitch), width, height, kind), cudaArray_t to, size_t x,
             size_t y, const void *from, size_t pitch, size_t width, size_t height, int kind)
ARRAY_FAMILY(cudaMemcpy2DFromArray, copy_2d_call,
             (MEMORY_END(to, pitch), ARRAY_END(from, x, y), width, height, kind), void *to, size_t pitch,
             cudaArray_t from, size_t x, size_t y, size_t width, size_t height, int kind)
ARRAY_FAMILY(cudaMemcpyToArray, copy_line_call, (ARRAY_END(to, x, y), MEMORY_END(from, 0), bytes, kind),
             cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, int kind)
ARRAY_FAMILY(cudaMemcpyFromArray, copy_line_call, (MEMORY_END(to, 0), ARRAY_END(from, x, y), bytes, kind),
             void *to, cudaArray_t from, size_t x, size_t y, size_t bytes, int kind)

CUDA_API cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_t from,
                                              size_t from_x, size_t from_y, size_t width, size_t height,
                                              int kind)
{
    return copy_2d_call(ARRAY_END(to, to_x, to_y), ARRAY_END(from, from_x, from_y), width, height, kind, NULL,
                        false, true);
}

CUDA_API cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_t from,
                                            size_t from_x, size_t from_y, size_t bytes, int kind)
{
    return copy_line_call(ARRAY_END(to, to_x, to_y), ARRAY_END(from, from_x, from_y), bytes, kind, NULL,
                          false, true);
}

/* ---- three dimensions ---- */

/* Positions of an array count its texels; so does the extent, when an array takes part. */
static bool place_3d(cudaArray_t handle, const struct cudaPos *at, size_t texel, const struct cudaExtent *e,
                     char **start, size_t *pitch, size_t *slice)
{
    const struct array *a = array_of(handle);
    if (!a ||
        !array_place(a, at->x * texel_bytes(a), at->y, at->z, e->width * texel, e->height, e->depth, start))
        return false;
    *pitch = a->info.row_bytes;
    *slice = a->info.plane_bytes;
    return true;
}

cudaError_t copy_3d_any(struct copy *c, const struct cudaMemcpy3DParms *p)
{
    copy_3d(c, p);
    const struct array *to = array_of(p->dstArray), *from = array_of(p->srcArray);
    if ((p->dstArray && !to) || (p->srcArray && !from)) return cudaErrorInvalidResourceHandle;
    if ((p->dstArray && p->dstPtr.ptr) || (p->srcArray && p->srcPtr.ptr)) return cudaErrorInvalidValue;
    const size_t texel = to ? texel_bytes(to) : from ? texel_bytes(from) : 1;
    if (to && from && texel != texel_bytes(from)) return cudaErrorInvalidValue;
    char *source = NULL;
    if (to && !place_3d(p->dstArray, &p->dstPos, texel, &p->extent, &c->to, &c->to_pitch, &c->to_slice))
        return cudaErrorInvalidValue;
    if (from &&
        !place_3d(p->srcArray, &p->srcPos, texel, &p->extent, &source, &c->from_pitch, &c->from_slice))
        return cudaErrorInvalidValue;
    if (from) c->from = source;
    c->width = p->extent.width * texel;
    return cudaSuccess;
}

static cudaError_t copy_3d_call(const struct cudaMemcpy3DParms *p, cudaStream_t stream, bool per_thread,
                                bool waits)
{
    struct copy c;
    ENTER();
    if (!p) return leave(cudaErrorInvalidValue);
    const cudaError_t error = copy_3d_any(&c, p);
    return leave(error ? error : array_submit(&c, stream, per_thread, waits));
}

CUDA_API cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    return copy_3d_call(p, NULL, false, true);
}
CUDA_API cudaError_t cudaMemcpy3D_ptds(const struct cudaMemcpy3DParms *p)
{
    return copy_3d_call(p, NULL, true, true);
}
CUDA_API cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return copy_3d_call(p, stream, false, false);
}
CUDA_API cudaError_t cudaMemcpy3DAsync_ptsz(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return copy_3d_call(p, stream, true, false);
}
