/* images: CUDA arrays, texture and surface objects inside the runtime library (arrays.c, textures.c,
 * driver_images.c), and the parts of CUDA's binary interface about them, written down from the public
 * headers' documentation. */
#ifndef ATOLL_FRONTEND_CUDART_IMAGES_H
#define ATOLL_FRONTEND_CUDART_IMAGES_H

#include "frontend/cudart/process.h"

enum { CHANNEL_SIGNED, CHANNEL_UNSIGNED, CHANNEL_FLOAT, CHANNEL_NONE };
enum { ARRAY_LAYERED = 1, ARRAY_SURFACE = 2, ARRAY_CUBEMAP = 4, ARRAY_GATHER = 8, ARRAY_FLAGS = 15 };
enum { RESOURCE_ARRAY, RESOURCE_MIPMAP, RESOURCE_LINEAR, RESOURCE_PITCH };
enum { READ_ELEMENT, READ_NORMALIZED };

struct cudaChannelFormatDesc {
    int x, y, z, w, f;
};
/* CUDA 13 has reserved words behind it, which are neither read nor written. */
struct cudaResourceDesc {
    int resType;
    union {
        struct {
            cudaArray_t array;
        } array; /* both kinds */
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
/* CUDA 12 adds seamlessCubemap at the end, which is not read (docs/execution.md). */
struct cudaTextureDesc {
    int addressMode[3], filterMode, readMode, sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization;
};
struct cudaResourceViewDesc {
    int format;
    size_t width, height, depth;
    unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
};
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;

/* What a cudaArray_t or cudaMipmappedArray_t points to. */
struct array {
    atoll_array *code;
    struct atoll_array_info info;
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent; /* as the program gave it */
    unsigned flags, level_count;
    int device;
    struct array *mipmap;  /* a level of this one; NULL: an array of its own */
    struct array **levels; /* of a mipmap: those that were asked for */
};

/* NULL: no such array; a mipmap and an array are not the same. */
struct array *array_of(cudaArray_t handle);
struct array *mipmap_of(cudaArray_t handle);
bool texel_of(const struct cudaChannelFormatDesc *desc, struct atoll_texel *texel);
/* levels 0: an array, else a mipmap. */
cudaError_t array_new(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned levels,
                      unsigned flags, struct array **out);
/* A whole call of the runtime or the driver API. */
cudaError_t array_get_level(cudaArray_t *out, cudaArray_t mipmap, unsigned level);
cudaError_t array_drop(struct array *a);
/* Start of an array's place (x in bytes); false: outside. */
bool array_place(const struct array *a, size_t x, size_t y, size_t z, size_t width, size_t height,
                 size_t depth, char **at);
/* Submits a copy; a call without "Async" waits for its end. */
cudaError_t array_submit(const struct copy *c, cudaStream_t stream, bool per_thread, bool waits);

/* One end of a copy of the driver API: an array, or memory with a pitch. */
struct box_end {
    int type; /* BOX_* */
    void *memory;
    cudaArray_t array;
    size_t x, y, z;     /* x in bytes */
    size_t pitch, rows; /* of memory; 0: as large as the box */
};
enum { BOX_HOST = 1, BOX_DEVICE, BOX_ARRAY, BOX_UNIFIED };
/* A whole call: enters and leaves. */
cudaError_t box_copy(const struct box_end *to, const struct box_end *from, struct cudaExtent size,
                     cudaStream_t stream, bool waits);

cudaError_t texture_new(const struct cudaResourceDesc *resource, const struct cudaTextureDesc *texture,
                        cudaTextureObject_t *out);
cudaError_t surface_new(const struct cudaResourceDesc *resource, cudaSurfaceObject_t *out);
cudaError_t image_drop(unsigned long long handle, bool surface);
/* What the object was made of; NULL: there is none. texture: NULL for a surface. */
const struct cudaResourceDesc *image_resource(unsigned long long handle, bool surface,
                                              const struct cudaTextureDesc **texture);

#endif
