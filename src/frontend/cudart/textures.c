/* textures: texture objects and surface objects: CUDA's descriptions to the simulator's. */
#include "frontend/cudart/images.h"

#include <stdlib.h>

/* What objects were made of, for the questions about it. */
struct object {
    unsigned long long handle;
    bool surface;
    struct cudaResourceDesc resource;
    struct cudaTextureDesc texture;
    struct object *next;
};
static struct object *objects;

static struct object **find(unsigned long long handle, bool surface)
{
    struct object **at = &objects;
    while (*at && ((*at)->handle != handle || (*at)->surface != surface)) at = &(*at)->next;
    return at;
}

static cudaError_t remember(unsigned long long handle, const struct cudaResourceDesc *r,
                            const struct cudaTextureDesc *t)
{
    struct object *o = calloc(1, sizeof *o);
    if (!o) return cudaErrorMemoryAllocation;
    *o = (struct object){.handle = handle, .surface = !t, .resource = *r, .next = objects};
    if (t) o->texture = *t;
    objects = o;
    return cudaSuccess;
}

const struct cudaResourceDesc *image_resource(unsigned long long handle, bool surface,
                                              const struct cudaTextureDesc **texture)
{
    const struct object *o = *find(handle, surface);
    if (!o) return NULL;
    if (texture) *texture = &o->texture;
    return &o->resource;
}

/* ---- textures ---- */

/* Where the texels are. */
static cudaError_t source_of(const struct cudaResourceDesc *r, struct atoll_texture *t)
{
    enum { PITCH_ALIGN = 32 }; /* as cudaDeviceProp.texturePitchAlignment says */
    const struct array *a = NULL;
    const struct cudaChannelFormatDesc *desc = NULL;
    switch (r->resType) {
    case RESOURCE_ARRAY: a = array_of(r->res.array.array); break;
    case RESOURCE_MIPMAP: a = mipmap_of(r->res.array.array); break;
    case RESOURCE_LINEAR:
        desc = &r->res.linear.desc;
        t->memory = r->res.linear.devPtr;
        break;
    case RESOURCE_PITCH:
        desc = &r->res.pitch2D.desc;
        t->memory = r->res.pitch2D.devPtr;
        t->width = (uint32_t)r->res.pitch2D.width;
        t->height = (uint32_t)r->res.pitch2D.height;
        t->row_bytes = r->res.pitch2D.pitchInBytes;
        if (!t->height || t->row_bytes % PITCH_ALIGN) return cudaErrorInvalidValue;
        break;
    default: return cudaErrorInvalidValue;
    }
    if (!desc) {
        t->array = a ? a->code : NULL;
        return a ? cudaSuccess : cudaErrorInvalidResourceHandle;
    }
    if (!texel_of(desc, &t->texel)) return cudaErrorInvalidChannelDescriptor;
    const size_t texel = (size_t)t->texel.bits / 8 * t->texel.channels;
    if (r->resType == RESOURCE_LINEAR) {
        const size_t count = r->res.linear.sizeInBytes / texel, most = (size_t)1 << 28;
        if (!count || count > most) return cudaErrorInvalidValue;
        t->width = (uint32_t)count;
    }
    return cudaSuccess;
}

cudaError_t texture_new(const struct cudaResourceDesc *r, const struct cudaTextureDesc *d,
                        cudaTextureObject_t *out)
{
    struct atoll_texture t = {0};
    uint64_t handle = 0;
    if (!r || !d || !out) return cudaErrorInvalidValue;
    const cudaError_t error = source_of(r, &t);
    if (error) return error;
    for (uint32_t k = 0; k < 3; k++) {
        if (d->addressMode[k] < ATOLL_WRAP || d->addressMode[k] > ATOLL_BORDER) return cudaErrorInvalidValue;
        t.address[k] = (uint8_t)d->addressMode[k];
    }
    t.linear = d->filterMode == 1;
    t.mip_linear = d->mipmapFilterMode == 1;
    t.normalized_coords = d->normalizedCoords;
    t.normalized_float = d->readMode == READ_NORMALIZED;
    t.srgb = d->sRGB;
    for (uint32_t k = 0; k < 4; k++) t.border[k] = d->borderColor[k];
    t.level_bias = d->mipmapLevelBias;
    t.level_least = d->minMipmapLevelClamp;
    t.level_most = d->maxMipmapLevelClamp;
    const atoll_status status = atoll_texture_create(process.atoll, &t, &handle);
    if (status) return atoll_error(status, cudaErrorInvalidValue);
    *out = handle;
    return remember(handle, r, d);
}

cudaError_t surface_new(const struct cudaResourceDesc *r, cudaSurfaceObject_t *out)
{
    uint64_t handle = 0;
    if (!r || !out || r->resType != RESOURCE_ARRAY) return cudaErrorInvalidValue;
    const struct array *a = array_of(r->res.array.array);
    if (!a) return cudaErrorInvalidResourceHandle;
    if (!(a->flags & ARRAY_SURFACE)) {
        complain("a surface object of an array that was allocated without cudaArraySurfaceLoadStore");
        return cudaErrorInvalidValue;
    }
    const atoll_status status = atoll_surface_create(process.atoll, a->code, &handle);
    if (status) return atoll_error(status, cudaErrorInvalidValue);
    *out = handle;
    return remember(handle, r, NULL);
}

cudaError_t image_drop(unsigned long long handle, bool surface)
{
    struct object **at = find(handle, surface), *o = *at;
    if (!o) return cudaErrorInvalidResourceHandle;
    host_waits_for_device(); /* a kernel may use it */
    at = find(handle, surface);
    *at = o->next;
    free(o);
    const atoll_status status =
        surface ? atoll_surface_destroy(process.atoll, handle) : atoll_texture_destroy(process.atoll, handle);
    return atoll_error(status, cudaErrorInvalidResourceHandle);
}

CUDA_API cudaError_t cudaCreateTextureObject(cudaTextureObject_t *out,
                                             const struct cudaResourceDesc *resource,
                                             const struct cudaTextureDesc *texture,
                                             const struct cudaResourceViewDesc *view)
{
    if (view && view->format) return unsupported("cudaCreateTextureObject with a resource view");
    ENTER();
    return leave(texture_new(resource, texture, out));
}

CUDA_API cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture)
{
    ENTER();
    return leave(texture ? image_drop(texture, false) : cudaSuccess);
}

CUDA_API cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *out,
                                             const struct cudaResourceDesc *resource)
{
    ENTER();
    return leave(surface_new(resource, out));
}

CUDA_API cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface)
{
    ENTER();
    return leave(surface ? image_drop(surface, true) : cudaSuccess);
}

static cudaError_t tell_resource(struct cudaResourceDesc *out, unsigned long long handle, bool surface)
{
    ENTER();
    const struct cudaResourceDesc *r = image_resource(handle, surface, NULL);
    if (!r || !out) return leave(r ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *out = *r;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *out,
                                                      cudaTextureObject_t texture)
{
    return tell_resource(out, texture, false);
}

CUDA_API cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *out,
                                                      cudaSurfaceObject_t surface)
{
    return tell_resource(out, surface, true);
}

CUDA_API cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *out, cudaTextureObject_t texture)
{
    const struct cudaTextureDesc *d = NULL;
    ENTER();
    const bool there = image_resource(texture, false, &d);
    if (!there || !out) return leave(there ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *out = *d;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *out,
                                                          cudaTextureObject_t texture)
{
    ENTER();
    const bool there = image_resource(texture, false, NULL);
    return leave(there && out ? cudaErrorInvalidValue
                              : cudaErrorInvalidResourceHandle); /* it was made without a view */
}

CUDA_API cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *texels,
                                                          const struct cudaChannelFormatDesc *desc,
                                                          int device)
{
    struct atoll_texel texel;
    ENTER();
    if (!texels || !desc || !texel_of(desc, &texel)) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    *texels = (size_t)1 << 28;
    return leave(cudaSuccess);
}
