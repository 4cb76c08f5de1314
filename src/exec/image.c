/* image: see image.h. The table of arrays and objects; whether a description makes sense. */
#include "exec/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "exec/devmem.h"

struct image_table {
    struct devmem *memory;
    struct image_array **arrays;
    uint32_t array_count, array_capacity;
    struct image_object **objects; /* by handle - 1; NULL: destroyed */
    uint32_t object_count, object_capacity;
    struct image_object never, destroyed; /* what image_find() says about other handles */
};

struct image_table *image_table_new(struct devmem *memory)
{
    struct image_table *t = calloc(1, sizeof *t);
    if (!t) diag_mistake("out of host memory");
    t->memory = memory;
    t->destroyed.kind = IMAGE_DESTROYED;
    return t;
}

void image_table_free(struct image_table *t)
{
    if (!t) return;
    for (uint32_t k = 0; k < t->array_count; k++) free(t->arrays[k]);
    for (uint32_t k = 0; k < t->object_count; k++) free(t->objects[k]);
    free(t->arrays);
    free(t->objects);
    free(t);
}

/* Room for one more pointer; the items may move. */
static void *grown(void *items, uint32_t count, uint32_t *capacity)
{
    if (count < *capacity) return items;
    const uint32_t more = *capacity ? 2 * *capacity : 16;
    void *at = realloc(items, more * sizeof(void *));
    if (!at) diag_mistake("out of host memory");
    *capacity = more;
    return at;
}

/* ---- arrays ---- */

static void check_format(struct image_format f)
{
    const bool bits = f.bits == 8 || f.bits == 16 || f.bits == 32;
    const bool channels = f.channels == 1 || f.channels == 2 || f.channels == 4;
    if (!bits || !channels || f.kind > IMAGE_FLOAT || (f.kind == IMAGE_FLOAT && f.bits == 8))
        diag_mistake(
            "no texel has %u channels of %u bits%s: 1, 2 or 4 channels of 8, 16 or 32 bits, floats of "
            "16 or 32",
            f.channels, f.bits, f.kind == IMAGE_FLOAT ? " floating point" : "");
}

/* Largest sizes of compute capability 7.5 to 9.0: 1D, 2D, 3D, layers. */
enum {
    SIDE_MOST_1D = 131072,
    SIDE_MOST_2D = 131072,
    SIDE_MOST_3D = 16384,
    SIDE_MOST_CUBE = 32768,
    LAYERS_MOST = 2048
};

static void check_shape(const struct image_shape *s)
{
    const uint32_t most = s->depth    ? SIDE_MOST_3D
                          : s->cube   ? SIDE_MOST_CUBE
                          : s->height ? SIDE_MOST_2D
                                      : SIDE_MOST_1D;
    if (!s->width || s->width > most || s->height > most || s->depth > most || s->layers > LAYERS_MOST)
        diag_mistake(
            "an array of %u x %u x %u texels, %u layers: a side has 1 to %u texels, and there are at "
            "most %u layers",
            s->width, s->height, s->depth, s->layers, most, LAYERS_MOST);
    if (s->depth && (!s->height || s->layers))
        diag_mistake("an array with depth %u has a height and no layers", s->depth);
    if (s->cube && (s->width != s->height || !s->layers || s->layers % IMAGE_CUBE_FACES))
        diag_mistake(
            "a cube map of %u x %u texels and %u layers: faces are square, and there are six per cube",
            s->width, s->height, s->layers);
    uint32_t side = s->width > s->height ? s->width : s->height, levels = 1;
    if (s->depth > side) side = s->depth;
    while (side >>= 1) levels++;
    if (s->levels > levels || s->levels > IMAGE_LEVELS_MAX)
        diag_mistake("a mipmap of %u levels: this size has at most %u", s->levels,
                     levels < IMAGE_LEVELS_MAX ? levels : IMAGE_LEVELS_MAX);
}

static uint32_t halved(uint32_t size, uint32_t times)
{
    const uint32_t left = size >> times;
    return left ? left : 1;
}

void image_array_lay_out(struct image_array *a, const struct image_shape *shape, struct image_format format)
{
    check_format(format);
    check_shape(shape);
    memset(a, 0, sizeof *a);
    a->shape = *shape;
    a->format = format;
    a->level_count = shape->levels ? shape->levels : 1;
    a->shape.levels = a->level_count;
    for (uint32_t k = 0; k < a->level_count; k++) {
        struct image_level *l = &a->levels[k];
        l->width = halved(shape->width, k);
        l->height = halved(shape->height, k);
        l->planes = shape->layers ? shape->layers : halved(shape->depth, k);
        l->row_bytes = ((uint64_t)l->width * image_texel_bytes(format) + IMAGE_ROW_ALIGN - 1) /
                       IMAGE_ROW_ALIGN * IMAGE_ROW_ALIGN;
        l->plane_bytes = l->row_bytes * l->height;
        l->offset = a->bytes;
        a->bytes += l->plane_bytes * l->planes;
    }
}

struct image_array *image_array_new(struct image_table *t, const struct image_array *laid_out)
{
    t->arrays = grown(t->arrays, t->array_count, &t->array_capacity);
    struct image_array *a = malloc(sizeof *a);
    if (!a) diag_mistake("out of host memory");
    *a = *laid_out;
    a->serial = t->array_count + 1;
    t->arrays[t->array_count++] = a;
    return a;
}

struct image_array *image_array_level(struct image_table *t, struct image_array *a, uint32_t level)
{
    if (level >= a->level_count) diag_mistake("level %u of a mipmap that has %u", level, a->level_count);
    struct image_array one = *a;
    const struct image_shape *s = &a->shape;
    one.level_count = one.shape.levels = 1;
    one.levels[0] = a->levels[level];
    one.shape.width = a->levels[level].width;
    one.shape.height = s->height ? a->levels[level].height : 0;
    one.shape.depth = s->depth ? a->levels[level].planes : 0;
    one.of = a;
    for (uint32_t k = 0; k < t->array_count; k++) { /* asked for before? */
        struct image_array *known = t->arrays[k];
        if (known->of == a && known->levels[0].offset == one.levels[0].offset) return known;
    }
    return image_array_new(t, &one);
}

void image_array_freed(struct image_table *t, struct image_array *a)
{
    a->device = NULL;
    for (uint32_t k = 0; k < t->array_count; k++)
        if (t->arrays[k]->of == a) t->arrays[k]->device = NULL;
}

bool image_array_alive(const struct image_table *t, const struct image_array *a)
{
    for (uint32_t k = t->array_count; k-- > 0;)
        if (t->arrays[k] == a) return a->device;
    return false;
}

/* ---- objects ---- */

static struct image_object *new_object(struct image_table *t, enum image_object_kind kind)
{
    t->objects = grown(t->objects, t->object_count, &t->object_capacity);
    struct image_object *o = calloc(1, sizeof *o);
    if (!o) diag_mistake("out of host memory");
    t->objects[t->object_count++] = o;
    o->kind = kind;
    o->handle = t->object_count;
    return o;
}

static void see_array(struct image_object *o, const struct image_array *a)
{
    o->base = a->device;
    memcpy(o->levels, a->levels, sizeof o->levels);
    o->level_count = a->level_count;
    o->cube = a->shape.cube;
    o->layers = a->shape.cube ? a->shape.layers / IMAGE_CUBE_FACES : a->shape.layers;
}

static void check_array(const struct image_table *t, const struct image_array *a, const char *what)
{
    if (!image_array_alive(t, a))
        diag_mistake("%s of an array that %s", what, a ? "was freed or never allocated" : "is null");
}

static void check_plain_memory(struct devmem *m, const struct image_texture *x)
{
    const uint32_t texel = image_texel_bytes(x->format);
    const bool pitch = x->source == IMAGE_FROM_PITCH;
    const uint64_t row = (uint64_t)x->width * texel;
    if (!x->width || (pitch && !x->height)) diag_mistake("a texture object of memory of no texels");
    if ((uintptr_t)x->device % texel || (pitch && (x->row_bytes % texel || x->row_bytes < row)))
        diag_mistake(
            "a texture object of memory at %p with rows of %llu bytes: both must be multiples of a texel "
            "(%u bytes), and %u texels must fit a row",
            (const void *)x->device, (unsigned long long)x->row_bytes, texel, x->width);
    devmem_require(m, x->device, pitch ? x->row_bytes * (x->height - 1) + row : row, "texture object");
}

static void see_memory(struct image_object *o, const struct image_texture *x)
{
    const uint32_t height = x->source == IMAGE_FROM_PITCH ? x->height : 1;
    o->base = x->device;
    o->level_count = 1;
    o->levels[0] = (struct image_level){.row_bytes = x->row_bytes,
                                        .plane_bytes = x->row_bytes * height,
                                        .width = x->width,
                                        .height = height,
                                        .planes = 1};
}

static void check_modes(const struct image_texture *x)
{
    const struct image_format f = x->format;
    if (x->normalized_float && (f.kind == IMAGE_FLOAT || f.bits == 32))
        diag_mistake("only integers of 8 and 16 bits can be read as fractions (normalized float)");
    if (x->filter == IMAGE_LINEAR && !image_gives_float(x))
        diag_mistake(
            "linear filtering needs floating-point results: a float format, or integers of 8 and 16 bits "
            "read as fractions (normalized float)");
    if (x->srgb && (f.kind != IMAGE_UNSIGNED || f.bits != 8 || !x->normalized_float))
        diag_mistake("sRGB is for unsigned 8-bit channels that are read as fractions (normalized float)");
    if (x->array && x->array->level_count > 1 && !x->normalized_coords)
        diag_mistake("the texture object of a mipmap needs normalized coordinates");
}

uint64_t image_texture_create(struct image_table *t, const struct image_texture *asked)
{
    struct image_texture x = *asked;
    if (x.source == IMAGE_FROM_ARRAY) {
        check_array(t, x.array, "a texture object");
        x.format = x.array->format;
    } else {
        check_format(x.format);
        x.array = NULL;
        check_plain_memory(t->memory, &x);
    }
    if (x.source == IMAGE_FROM_LINEAR) { /* by texel number only */
        x.filter = IMAGE_POINT;
        x.normalized_coords = false;
    }
    check_modes(&x);
    for (uint32_t k = 0; k < 3; k++) /* the programming guide: wrap and mirror become clamp */
        if (!x.normalized_coords && x.address[k] != IMAGE_BORDER) x.address[k] = IMAGE_CLAMP;
    struct image_object *o = new_object(t, IMAGE_TEXTURE);
    o->texture = x;
    o->asked = *asked;
    if (x.array)
        see_array(o, x.array);
    else
        see_memory(o, &x);
    o->generation = t->memory->generation;
    return o->handle;
}

uint64_t image_surface_create(struct image_table *t, const struct image_array *a)
{
    check_array(t, a, "a surface object");
    struct image_object *o = new_object(t, IMAGE_SURFACE);
    o->surface.array = a;
    see_array(o, a);
    return o->handle;
}

struct image_object *image_find(struct image_table *t, uint64_t handle)
{
    if (!handle || handle > t->object_count) return &t->never;
    struct image_object *o = t->objects[handle - 1];
    return o ? o : &t->destroyed;
}

bool image_destroy(struct image_table *t, uint64_t handle, enum image_object_kind kind)
{
    if (image_find(t, handle)->kind != kind) return false;
    free(t->objects[handle - 1]);
    t->objects[handle - 1] = NULL;
    return true;
}
