/* image: arrays, texture objects and surface objects of one application, and what a fetch from them gives.
 *
 *   rt_array_create ─► image_array ─┐
 *   device memory ──────────────────┴─ image_texture_create ─► handle ─► kernel: tex, tld4, txq
 *                       image_array ─── image_surface_create ─► handle ─► kernel: suld, sust, sured, suq
 *
 * An array is one allocation of device memory. ASSUMPTION: rows of texels one after the other, each padded to
 * IMAGE_ROW_ALIGN bytes; planes (depth, layers, faces) after rows, levels of a mipmap after planes. Real GPUs
 * keep arrays in blocks of rows, whose shape NVIDIA does not publish.
 *
 * A handle is a small number that is never given out twice, so one that was destroyed is told apart from a
 * good one; 0 is none. A fetch from an object whose memory was freed is the kernel's mistake.
 *
 * Fetches follow the appendix "Texture Fetching" of the CUDA programming guide: see sample.c.
 *
 * Ownership: the table owns descriptions, not the memory of arrays, which is the caller's to free. */
#ifndef ATOLL_EXEC_IMAGE_H
#define ATOLL_EXEC_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct devmem;

enum { IMAGE_LEVELS_MAX = 16, IMAGE_ROW_ALIGN = 32, IMAGE_TEXELS_MAX = 16, IMAGE_CUBE_FACES = 6 };

enum image_kind { IMAGE_UNSIGNED, IMAGE_SIGNED, IMAGE_FLOAT };

/* A texel: 1, 2 or 4 channels of 8, 16 or 32 bits; float of 16 or 32. */
struct image_format {
    uint8_t kind; /* enum image_kind */
    uint8_t bits, channels;
};

static inline uint32_t image_texel_bytes(struct image_format f) { return (uint32_t)f.bits / 8 * f.channels; }

/* 0 in height or depth: the image has no such dimension. */
struct image_shape {
    uint32_t width, height, depth; /* texels */
    uint32_t layers;               /* 0: not layered; a cube map has 6 per cube */
    uint32_t levels;               /* of the mipmap, 0 and 1: only one */
    bool cube;
};

struct image_level {
    uint64_t offset; /* bytes from the start of the array */
    uint64_t row_bytes, plane_bytes;
    uint32_t width, height, planes; /* at least 1 each */
};

struct image_array {
    struct image_shape shape;
    struct image_format format;
    uint8_t *device; /* NULL once freed */
    uint64_t bytes;
    uint32_t level_count;
    struct image_level levels[IMAGE_LEVELS_MAX];
    struct image_array *of; /* one level of this mipmap; NULL: an array of its own */
    uint32_t serial;        /* for messages */
};

enum image_address { IMAGE_WRAP, IMAGE_CLAMP, IMAGE_MIRROR, IMAGE_BORDER }; /* numbered as CUDA does */
enum image_filter { IMAGE_POINT, IMAGE_LINEAR };
enum image_source { IMAGE_FROM_ARRAY, IMAGE_FROM_LINEAR, IMAGE_FROM_PITCH };

struct image_texture {
    uint8_t source; /* enum image_source */
    const struct image_array *array;
    /* plain device memory instead: */
    const uint8_t *device;
    struct image_format format;
    uint32_t width, height; /* texels; linear memory: height 0 */
    uint64_t row_bytes;     /* of pitched memory */

    uint8_t address[3];     /* enum image_address; of each dimension */
    uint8_t filter;         /* enum image_filter: within a level */
    uint8_t mip_filter;     /* between levels */
    bool normalized_coords; /* [0, 1) instead of [0, size) */
    bool normalized_float;  /* integers are read as fractions */
    bool srgb;              /* 8-bit fractions are decoded from sRGB */
    float border[4];
    float level_bias, level_least, level_most; /* of a mipmap */
};

/* A surface: always level 0 of its array (which may be one level of a mipmap). */
struct image_surface {
    const struct image_array *array;
};

enum image_object_kind { IMAGE_NO_OBJECT, IMAGE_TEXTURE, IMAGE_SURFACE, IMAGE_DESTROYED };

struct image_object {
    enum image_object_kind kind;
    uint64_t handle;
    struct image_texture texture; /* as used: modes that do not apply are replaced */
    struct image_texture asked;   /* as created */
    struct image_surface surface;
    const uint8_t *base;                         /* what fetches see, whatever the source */
    struct image_level levels[IMAGE_LEVELS_MAX]; /* offsets from base */
    uint32_t level_count, layers;                /* layers: of a cube map, whole cubes; 0: none */
    bool cube;
    uint32_t generation; /* of device memory when the source was last found alive */
};

struct image_table;

/* memory is where plain device memory of texture objects lives; it stays the caller's. */
struct image_table *image_table_new(struct devmem *memory);
void image_table_free(struct image_table *t); /* NULL is allowed */

/* ---- arrays ---- */

/* Raises a mistake when no GPU has such an array; fills in all but device. */
void image_array_lay_out(struct image_array *a, const struct image_shape *shape, struct image_format format);
struct image_array *image_array_new(struct image_table *t, const struct image_array *laid_out);
/* The level as an array of its own: the same memory, freed with the mipmap. */
struct image_array *image_array_level(struct image_table *t, struct image_array *a, uint32_t level);
/* The memory is given back by the caller. Levels and the description stay, for messages. */
void image_array_freed(struct image_table *t, struct image_array *a);
/* Is this an array of the table that was not freed? */
bool image_array_alive(const struct image_table *t, const struct image_array *a);
/* Device address of a row. */
static inline uint8_t *image_row(const struct image_array *a, uint32_t level, uint64_t y, uint64_t plane)
{
    const struct image_level *l = &a->levels[level];
    return a->device + l->offset + plane * l->plane_bytes + y * l->row_bytes;
}

/* ---- objects ---- */

/* Raise a mistake when the description makes no sense. */
uint64_t image_texture_create(struct image_table *t, const struct image_texture *texture);
uint64_t image_surface_create(struct image_table *t, const struct image_array *array);
/* False: there is no such object of that kind. */
bool image_destroy(struct image_table *t, uint64_t handle, enum image_object_kind kind);
/* kind IMAGE_NO_OBJECT: never existed. */
struct image_object *image_find(struct image_table *t, uint64_t handle);

/* ---- fetches ---- */

/* Geometry of an instruction. */
struct image_geometry {
    uint8_t dims; /* 1, 2, 3; a cube map: 3 components of a direction */
    bool layered, cube;
};

struct image_coordinates {
    struct image_geometry geometry;
    bool whole;    /* texel numbers, else positions */
    int32_t at[3]; /* whole */
    float x[3];
    int32_t layer;
    int32_t offset[3]; /* texels, added after all */
    bool has_level;    /* else level 0 */
    float level;
};

/* Texels that a fetch touches, and how much each counts; weights of a level are multiples of 2^-8 per
 * dimension and add up to 1. */
struct image_footprint {
    uint32_t count;
    struct {
        const uint8_t *at; /* NULL: outside, the border */
        double weight;
    } texels[IMAGE_TEXELS_MAX];
    uint32_t first_count; /* texels of the finer level; the others are of the coarser one */
    double blend;         /* how much the coarser level counts */
    bool linear_memory;   /* outside means zeros */
};

/* Why the object cannot be fetched from in this way; NULL: it can. */
const char *image_mismatch(const struct image_object *o, struct image_geometry g);
/* Where the direction leads: face and place in it. */
void image_cube_face(const float direction[3], uint32_t *face, float place[2]);
/* gather: the four texels of the 2D linear filter, whatever the filter is. */
void image_footprint(const struct image_object *o, const struct image_coordinates *c, bool gather,
                     struct image_footprint *out);
/* Four components as 32-bit registers hold them. */
void image_value(const struct image_object *o, const struct image_footprint *f, uint32_t out[4]);
/* Component of the four texels, counter-clockwise from the lower left: (0,1) (1,1) (1,0) (0,0). */
void image_gathered(const struct image_object *o, const struct image_footprint *f, uint32_t component,
                    uint32_t out[4]);
/* The commonest fetches (one or two dimensions, one level, words) without the list of texels: the same
 * values. */
bool image_is_simple(const struct image_object *o, struct image_geometry g);
void image_simple(const struct image_object *o, uint32_t dims, float x, float y, uint32_t out[4]);
/* Level of detail for the change of the coordinates from pixel to pixel. */
float image_gradient_level(const struct image_object *o, struct image_geometry g, const float x[3],
                           const float dx[3], const float dy[3]);
/* Are the results floating point (else integers)? */
bool image_gives_float(const struct image_texture *t);

#endif
