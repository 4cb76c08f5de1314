/* image: arrays, texture objects and surface objects of an application; what they are is exec/image.h. */
#include <string.h>

#include "base/diag.h"
#include "exec/exec.h"
#include "runtime/runtime.h"

static struct image_table *table(struct rt_context *rt) { return exec_images(rt_env(rt)); }

struct image_array *rt_array_create(struct rt_context *rt, const struct image_shape *shape,
                                    struct image_format format, const char *name)
{
    struct image_array a;
    image_array_lay_out(&a, shape, format);
    a.device = rt_alloc(rt, a.bytes, name ? name : "array");
    return image_array_new(table(rt), &a);
}

static void check_alive(struct rt_context *rt, const struct image_array *a, const char *what)
{
    if (!rt_array_alive(rt, a)) diag_mistake("%s: there is no such array (freed already?)", what);
}

void rt_array_free(struct rt_context *rt, struct image_array *a)
{
    if (!a) return;
    rt_wait(rt);
    check_alive(rt, a, "free of an array");
    if (a->of) diag_mistake("free of one level of a mipmap: free the mipmap itself");
    rt_free(rt, a->device);
    image_array_freed(table(rt), a);
}

bool rt_array_alive(struct rt_context *rt, const struct image_array *a)
{
    return image_array_alive(table(rt), a);
}

struct image_array *rt_array_level(struct rt_context *rt, struct image_array *a, uint32_t level)
{
    check_alive(rt, a, "level of a mipmap");
    return image_array_level(table(rt), a, level);
}

static void check_box(struct rt_context *rt, const struct image_array *a, const struct rt_box *b,
                      const char *what)
{
    rt_wait(rt);
    check_alive(rt, a, what);
    const struct image_level *l = &a->levels[0];
    if (b->width > l->width || b->x > l->width - b->width || b->height > l->height ||
        b->y > l->height - b->height || b->planes > l->planes || b->plane > l->planes - b->planes)
        diag_mistake("%s: %u x %u x %u texels from (%u, %u, %u) on do not fit the array of %u x %u x %u",
                     what, b->width, b->height, b->planes, b->x, b->y, b->plane, l->width, l->height,
                     l->planes);
}

void rt_array_write(struct rt_context *rt, struct image_array *a, const struct rt_box *b, const void *from,
                    uint64_t row_bytes, uint64_t plane_bytes)
{
    check_box(rt, a, b, "copy to an array");
    const uint64_t texel = image_texel_bytes(a->format);
    for (uint32_t z = 0; z < b->planes; z++)
        for (uint32_t y = 0; y < b->height; y++)
            memmove(image_row(a, 0, b->y + y, b->plane + z) + b->x * texel,
                    (const uint8_t *)from + z * plane_bytes + y * row_bytes, b->width * texel);
}

void rt_array_read(struct rt_context *rt, const struct image_array *a, const struct rt_box *b, void *to,
                   uint64_t row_bytes, uint64_t plane_bytes)
{
    check_box(rt, a, b, "copy from an array");
    const uint64_t texel = image_texel_bytes(a->format);
    for (uint32_t z = 0; z < b->planes; z++)
        for (uint32_t y = 0; y < b->height; y++)
            memmove((uint8_t *)to + z * plane_bytes + y * row_bytes,
                    image_row(a, 0, b->y + y, b->plane + z) + b->x * texel, b->width * texel);
}

uint64_t rt_texture_create(struct rt_context *rt, const struct image_texture *t)
{
    rt_wait(rt);
    return image_texture_create(table(rt), t);
}

uint64_t rt_surface_create(struct rt_context *rt, const struct image_array *a)
{
    return image_surface_create(table(rt), a);
}

static void destroy(struct rt_context *rt, uint64_t handle, enum image_object_kind kind, const char *name)
{
    rt_wait(rt);
    if (!image_destroy(table(rt), handle, kind))
        diag_mistake("destroy of %s object %llu: there is none (destroyed already?)", name,
                     (unsigned long long)handle);
}

void rt_texture_destroy(struct rt_context *rt, uint64_t handle)
{
    destroy(rt, handle, IMAGE_TEXTURE, "texture");
}
void rt_surface_destroy(struct rt_context *rt, uint64_t handle)
{
    destroy(rt, handle, IMAGE_SURFACE, "surface");
}
