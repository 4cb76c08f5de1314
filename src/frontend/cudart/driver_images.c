/* driver_images: arrays, texture objects and surface objects of the driver API. Handles are those of the
 * runtime API; the descriptions differ. */
#include "frontend/cudart/images.h"

typedef int CUresult;
typedef unsigned long long CUdeviceptr;

enum {
    FORMAT_U8 = 0x01,
    FORMAT_U16 = 0x02,
    FORMAT_U32 = 0x03,
    FORMAT_S8 = 0x08,
    FORMAT_S16 = 0x09,
    FORMAT_S32 = 0x0a,
    FORMAT_F16 = 0x10,
    FORMAT_F32 = 0x20
};
enum { TEXTURE_INTEGER = 0x01, TEXTURE_NORMALIZED = 0x02, TEXTURE_SRGB = 0x10 };

typedef struct {
    size_t Width, Height;
    int Format;
    unsigned NumChannels;
} CUDA_ARRAY_DESCRIPTOR;
typedef struct {
    size_t Width, Height, Depth;
    int Format;
    unsigned NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;
typedef struct {
    int resType;
    union {
        struct {
            cudaArray_t hArray;
        } array; /* both kinds */
        struct {
            CUdeviceptr devPtr;
            int format;
            unsigned numChannels;
            size_t sizeInBytes;
        } linear;
        struct {
            CUdeviceptr devPtr;
            int format;
            unsigned numChannels;
            size_t width, height, pitchInBytes;
        } pitch2D;
        int reserved[32];
    } res;
    unsigned flags;
} CUDA_RESOURCE_DESC;
typedef struct {
    int addressMode[3], filterMode;
    unsigned flags, maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp, borderColor[4];
    int reserved[12];
} CUDA_TEXTURE_DESC;

/* ---- formats ---- */

static const struct {
    int format, bits, kind;
} formats[] = {{FORMAT_U8, 8, CHANNEL_UNSIGNED},   {FORMAT_U16, 16, CHANNEL_UNSIGNED},
               {FORMAT_U32, 32, CHANNEL_UNSIGNED}, {FORMAT_S8, 8, CHANNEL_SIGNED},
               {FORMAT_S16, 16, CHANNEL_SIGNED},   {FORMAT_S32, 32, CHANNEL_SIGNED},
               {FORMAT_F16, 16, CHANNEL_FLOAT},    {FORMAT_F32, 32, CHANNEL_FLOAT}};

/* All zeros when there is none, which no array takes. */
static struct cudaChannelFormatDesc desc_of(int format, unsigned channels)
{
    struct cudaChannelFormatDesc d = {0};
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (formats[k].format == format) {
            d.x = formats[k].bits;
            d.y = channels > 1 ? d.x : 0;
            d.z = channels > 2 ? d.x : 0;
            d.w = channels > 3 ? d.x : 0;
            d.f = formats[k].kind;
        }
    return d;
}

static int format_of(const struct cudaChannelFormatDesc *d)
{
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (formats[k].bits == d->x && formats[k].kind == d->f) return formats[k].format;
    return 0;
}

static unsigned channels_of(const struct cudaChannelFormatDesc *d) { return d->w ? 4 : d->y ? 2 : 1; }

/* ---- arrays ---- */

static CUresult create(cudaArray_t *out, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
    struct array *a = NULL;
    ENTER();
    if (!out || !d) return leave(cudaErrorInvalidValue);
    const struct cudaChannelFormatDesc desc = desc_of(d->Format, d->NumChannels);
    const cudaError_t error =
        array_new(&desc, (struct cudaExtent){d->Width, d->Height, d->Depth}, levels, d->Flags, &a);
    if (!error) *out = a;
    return leave(error == cudaErrorInvalidChannelDescriptor ? cudaErrorInvalidValue : error);
}

CUDA_API CUresult cuArray3DCreate_v2(cudaArray_t *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    NEEDS_CONTEXT();
    return create(out, d, 0);
}

/* The driver does not ask for a flag before surfaces may be made of a two-dimensional array. */
CUDA_API CUresult cuArrayCreate_v2(cudaArray_t *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
    NEEDS_CONTEXT();
    if (!d) return cudaErrorInvalidValue;
    const CUDA_ARRAY3D_DESCRIPTOR full = {.Width = d->Width,
                                          .Height = d->Height,
                                          .Format = d->Format,
                                          .NumChannels = d->NumChannels,
                                          .Flags = ARRAY_SURFACE};
    return create(out, &full, 0);
}

CUDA_API CUresult cuArrayDestroy(cudaArray_t array)
{
    NEEDS_CONTEXT();
    ENTER();
    struct array *a = array_of(array);
    return leave(a ? array_drop(a) : cudaErrorInvalidResourceHandle);
}

CUDA_API CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *d, cudaArray_t array)
{
    NEEDS_CONTEXT();
    ENTER();
    const struct array *a = array_of(array);
    if (!a || !d) return leave(a ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *d = (CUDA_ARRAY3D_DESCRIPTOR){.Width = a->extent.width,
                                   .Height = a->extent.height,
                                   .Depth = a->extent.depth,
                                   .Format = format_of(&a->desc),
                                   .NumChannels = channels_of(&a->desc),
                                   .Flags = a->flags};
    return leave(cudaSuccess);
}

CUDA_API CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *d, cudaArray_t array)
{
    NEEDS_CONTEXT();
    CUDA_ARRAY3D_DESCRIPTOR full;
    if (!d) return cudaErrorInvalidValue;
    const CUresult error = cuArray3DGetDescriptor_v2(&full, array);
    if (!error)
        *d = (CUDA_ARRAY_DESCRIPTOR){.Width = full.Width,
                                     .Height = full.Height,
                                     .Format = full.Format,
                                     .NumChannels = full.NumChannels};
    return error;
}

CUDA_API CUresult cuMipmappedArrayCreate(cudaArray_t *out, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
    NEEDS_CONTEXT();
    return levels ? create(out, d, levels) : cudaErrorInvalidValue;
}

CUDA_API CUresult cuMipmappedArrayGetLevel(cudaArray_t *out, cudaArray_t mipmap, unsigned level)
{
    NEEDS_CONTEXT();
    return array_get_level(out, mipmap, level);
}

CUDA_API CUresult cuMipmappedArrayDestroy(cudaArray_t mipmap)
{
    NEEDS_CONTEXT();
    ENTER();
    struct array *a = mipmap_of(mipmap);
    return leave(a ? array_drop(a) : cudaErrorInvalidResourceHandle);
}

/* ---- copies ---- */

/* Where an end starts, and how its rows and planes follow each other. */
static cudaError_t end_of(const struct box_end *e, struct cudaExtent size, char **at, size_t *pitch,
                          size_t *slice)
{
    if (e->type == BOX_ARRAY) {
        const struct array *a = array_of(e->array);
        if (!a) return cudaErrorInvalidResourceHandle;
        if (!array_place(a, e->x, e->y, e->z, size.width, size.height, size.depth, at))
            return cudaErrorInvalidValue;
        *pitch = a->info.row_bytes;
        *slice = a->info.plane_bytes;
        return cudaSuccess;
    }
    *pitch = e->pitch ? e->pitch : size.width;
    *slice = *pitch * (e->rows ? e->rows : size.height);
    *at = (char *)e->memory + e->z * *slice + e->y * *pitch + e->x;
    return e->memory && e->type >= BOX_HOST && e->type <= BOX_UNIFIED ? cudaSuccess : cudaErrorInvalidValue;
}

static int kind_of(int from, int to)
{
    if (from == BOX_UNIFIED || to == BOX_UNIFIED) return COPY_DEFAULT;
    return (from == BOX_HOST ? 0 : COPY_DEVICE_HOST) + (to == BOX_HOST ? 0 : COPY_HOST_DEVICE);
}

cudaError_t box_copy(const struct box_end *to, const struct box_end *from, struct cudaExtent size,
                     cudaStream_t stream, bool waits)
{
    struct copy c = {.width = size.width,
                     .height = size.height,
                     .depth = size.depth,
                     .kind = kind_of(from->type, to->type)};
    char *source = NULL;
    ENTER();
    if (!size.width || !size.height || !size.depth) return leave(cudaSuccess);
    cudaError_t error = end_of(to, size, &c.to, &c.to_pitch, &c.to_slice);
    if (!error) error = end_of(from, size, &source, &c.from_pitch, &c.from_slice);
    c.from = source;
    return leave(error ? error : array_submit(&c, stream, false, waits));
}

typedef struct {
    size_t x, y, z, lod;
    int type;
    void *host;
    CUdeviceptr device;
    cudaArray_t array;
    void *reserved;
    size_t pitch, height;
} copy_end;
typedef struct {
    copy_end from, to;
    size_t width, height, depth;
} CUDA_MEMCPY3D;

static struct box_end box_of(const copy_end *e)
{
    return (struct box_end){.type = e->type,
                            .memory = e->type == BOX_HOST ? e->host : (void *)e->device,
                            .array = e->array,
                            .x = e->x,
                            .y = e->y,
                            .z = e->z,
                            .pitch = e->pitch,
                            .rows = e->height};
}

static CUresult copy_3d_call(const CUDA_MEMCPY3D *c, cudaStream_t stream, bool waits)
{
    if (!c || c->from.lod || c->to.lod) return cudaErrorInvalidValue;
    const struct box_end to = box_of(&c->to), from = box_of(&c->from);
    return box_copy(&to, &from, (struct cudaExtent){c->width, c->height, c->depth}, stream, waits);
}

CUDA_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *c)
{
    NEEDS_CONTEXT();
    return copy_3d_call(c, NULL, true);
}
CUDA_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, cudaStream_t stream)
{
    NEEDS_CONTEXT();
    return copy_3d_call(c, stream, false);
}

/* Bytes of the first row. */
static CUresult copy_line(struct box_end to, struct box_end from, size_t bytes)
{
    return box_copy(&to, &from, (struct cudaExtent){bytes, 1, 1}, NULL, true);
}
#define LINE_OF_ARRAY(array_, x_) ((struct box_end){.type = BOX_ARRAY, .array = (array_), .x = (x_)})
#define LINE_OF(type_, at)        ((struct box_end){.type = (type_), .memory = (void *)(uintptr_t)(at)})

CUDA_API CUresult cuMemcpyHtoA_v2(cudaArray_t to, size_t x, const void *from, size_t bytes)
{
    NEEDS_CONTEXT();
    return copy_line(LINE_OF_ARRAY(to, x), LINE_OF(BOX_HOST, from), bytes);
}
CUDA_API CUresult cuMemcpyAtoH_v2(void *to, cudaArray_t from, size_t x, size_t bytes)
{
    NEEDS_CONTEXT();
    return copy_line(LINE_OF(BOX_HOST, to), LINE_OF_ARRAY(from, x), bytes);
}
CUDA_API CUresult cuMemcpyDtoA_v2(cudaArray_t to, size_t x, CUdeviceptr from, size_t bytes)
{
    NEEDS_CONTEXT();
    return copy_line(LINE_OF_ARRAY(to, x), LINE_OF(BOX_DEVICE, from), bytes);
}
CUDA_API CUresult cuMemcpyAtoD_v2(CUdeviceptr to, cudaArray_t from, size_t x, size_t bytes)
{
    NEEDS_CONTEXT();
    return copy_line(LINE_OF(BOX_DEVICE, to), LINE_OF_ARRAY(from, x), bytes);
}
CUDA_API CUresult cuMemcpyAtoA_v2(cudaArray_t to, size_t to_x, cudaArray_t from, size_t from_x, size_t bytes)
{
    NEEDS_CONTEXT();
    return copy_line(LINE_OF_ARRAY(to, to_x), LINE_OF_ARRAY(from, from_x), bytes);
}

/* ---- objects ---- */

static struct cudaResourceDesc resource_of(const CUDA_RESOURCE_DESC *d)
{
    struct cudaResourceDesc r = {.resType = d->resType};
    switch (d->resType) {
    case RESOURCE_LINEAR:
        r.res.linear.devPtr = (void *)d->res.linear.devPtr;
        r.res.linear.desc = desc_of(d->res.linear.format, d->res.linear.numChannels);
        r.res.linear.sizeInBytes = d->res.linear.sizeInBytes;
        break;
    case RESOURCE_PITCH:
        r.res.pitch2D.devPtr = (void *)d->res.pitch2D.devPtr;
        r.res.pitch2D.desc = desc_of(d->res.pitch2D.format, d->res.pitch2D.numChannels);
        r.res.pitch2D.width = d->res.pitch2D.width;
        r.res.pitch2D.height = d->res.pitch2D.height;
        r.res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
        break;
    default: r.res.array.array = d->res.array.hArray; break;
    }
    return r;
}

static CUDA_RESOURCE_DESC resource_told(const struct cudaResourceDesc *r)
{
    CUDA_RESOURCE_DESC d = {.resType = r->resType};
    switch (r->resType) {
    case RESOURCE_LINEAR:
        d.res.linear.devPtr = (CUdeviceptr)r->res.linear.devPtr;
        d.res.linear.format = format_of(&r->res.linear.desc);
        d.res.linear.numChannels = channels_of(&r->res.linear.desc);
        d.res.linear.sizeInBytes = r->res.linear.sizeInBytes;
        break;
    case RESOURCE_PITCH:
        d.res.pitch2D.devPtr = (CUdeviceptr)r->res.pitch2D.devPtr;
        d.res.pitch2D.format = format_of(&r->res.pitch2D.desc);
        d.res.pitch2D.numChannels = channels_of(&r->res.pitch2D.desc);
        d.res.pitch2D.width = r->res.pitch2D.width;
        d.res.pitch2D.height = r->res.pitch2D.height;
        d.res.pitch2D.pitchInBytes = r->res.pitch2D.pitchInBytes;
        break;
    default: d.res.array.hArray = r->res.array.array; break;
    }
    return d;
}

/* 8- and 16-bit integers are read as fractions unless the flags say otherwise; others never. */
static bool reads_fractions(const struct cudaResourceDesc *r, unsigned flags)
{
    const struct cudaChannelFormatDesc *desc = NULL;
    const struct array *a;
    switch (r->resType) {
    case RESOURCE_LINEAR: desc = &r->res.linear.desc; break;
    case RESOURCE_PITCH: desc = &r->res.pitch2D.desc; break;
    default:
        a = r->resType == RESOURCE_ARRAY ? array_of(r->res.array.array) : mipmap_of(r->res.array.array);
        desc = a ? &a->desc : NULL;
        break;
    }
    return desc && desc->f != CHANNEL_FLOAT && desc->x < 32 && !(flags & TEXTURE_INTEGER);
}

CUDA_API CUresult cuTexObjectCreate(cudaTextureObject_t *out, const CUDA_RESOURCE_DESC *resource,
                                    const CUDA_TEXTURE_DESC *texture, const struct cudaResourceViewDesc *view)
{
    NEEDS_CONTEXT();
    if (view && view->format) return unsupported("cuTexObjectCreate with a resource view");
    ENTER();
    if (!out || !resource || !texture) return leave(cudaErrorInvalidValue);
    const struct cudaResourceDesc r = resource_of(resource);
    struct cudaTextureDesc d = {.filterMode = texture->filterMode,
                                .readMode =
                                    reads_fractions(&r, texture->flags) ? READ_NORMALIZED : READ_ELEMENT,
                                .sRGB = (texture->flags & TEXTURE_SRGB) != 0,
                                .normalizedCoords = (texture->flags & TEXTURE_NORMALIZED) != 0,
                                .maxAnisotropy = texture->maxAnisotropy,
                                .mipmapFilterMode = texture->mipmapFilterMode,
                                .mipmapLevelBias = texture->mipmapLevelBias,
                                .minMipmapLevelClamp = texture->minMipmapLevelClamp,
                                .maxMipmapLevelClamp = texture->maxMipmapLevelClamp};
    for (uint32_t k = 0; k < 3; k++) d.addressMode[k] = texture->addressMode[k];
    for (uint32_t k = 0; k < 4; k++) d.borderColor[k] = texture->borderColor[k];
    return leave(texture_new(&r, &d, out));
}

CUDA_API CUresult cuTexObjectDestroy(cudaTextureObject_t texture)
{
    NEEDS_CONTEXT();
    ENTER();
    return leave(image_drop(texture, false));
}

CUDA_API CUresult cuSurfObjectCreate(cudaSurfaceObject_t *out, const CUDA_RESOURCE_DESC *resource)
{
    NEEDS_CONTEXT();
    ENTER();
    if (!out || !resource) return leave(cudaErrorInvalidValue);
    const struct cudaResourceDesc r = resource_of(resource);
    return leave(surface_new(&r, out));
}

CUDA_API CUresult cuSurfObjectDestroy(cudaSurfaceObject_t surface)
{
    NEEDS_CONTEXT();
    ENTER();
    return leave(image_drop(surface, true));
}

static CUresult tell_resource(CUDA_RESOURCE_DESC *out, unsigned long long handle, bool surface)
{
    ENTER();
    const struct cudaResourceDesc *r = image_resource(handle, surface, NULL);
    if (!r || !out) return leave(r ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *out = resource_told(r);
    return leave(cudaSuccess);
}

CUDA_API CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, cudaTextureObject_t texture)
{
    NEEDS_CONTEXT();
    return tell_resource(out, texture, false);
}
CUDA_API CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, cudaSurfaceObject_t surface)
{
    NEEDS_CONTEXT();
    return tell_resource(out, surface, true);
}

CUDA_API CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out, cudaTextureObject_t texture)
{
    NEEDS_CONTEXT();
    const struct cudaTextureDesc *d = NULL;
    ENTER();
    const bool there = image_resource(texture, false, &d);
    if (!there || !out) return leave(there ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *out = (CUDA_TEXTURE_DESC){.filterMode = d->filterMode,
                               .maxAnisotropy = d->maxAnisotropy,
                               .mipmapFilterMode = d->mipmapFilterMode,
                               .mipmapLevelBias = d->mipmapLevelBias,
                               .minMipmapLevelClamp = d->minMipmapLevelClamp,
                               .maxMipmapLevelClamp = d->maxMipmapLevelClamp};
    out->flags = (d->readMode == READ_NORMALIZED ? 0u : TEXTURE_INTEGER) |
                 (d->normalizedCoords ? TEXTURE_NORMALIZED : 0u) | (d->sRGB ? TEXTURE_SRGB : 0u);
    for (uint32_t k = 0; k < 3; k++) out->addressMode[k] = d->addressMode[k];
    for (uint32_t k = 0; k < 4; k++) out->borderColor[k] = d->borderColor[k];
    return leave(cudaSuccess);
}
