/* image: arrays, texture objects and surface objects of a device: the public names over runtime/image.c. */
#include <string.h>

#include "api/device.h"
#include "runtime/runtime.h"

struct image_call {
    atoll_device *device;
    const struct atoll_array_info *wanted;
    const char *name;
    struct image_array *array;
    uint32_t level;
    const struct atoll_texture *texture;
    uint64_t handle;
};

static struct image_array *inside(const atoll_array *a) { return (struct image_array *)(uintptr_t)a; }

static struct image_format format_of(struct atoll_texel t)
{
    _Static_assert((int)ATOLL_TEXEL_FLOAT == IMAGE_FLOAT && (int)ATOLL_TEXEL_SIGNED == IMAGE_SIGNED,
                   "same numbers");
    return (struct image_format){t.kind, t.bits, t.channels};
}

/* ---- arrays ---- */

static void create_array(void *arg)
{
    struct image_call *call = arg;
    const struct atoll_shape *s = &call->wanted->shape;
    const struct image_shape shape = {s->width, s->height, s->depth, s->layers, s->levels, s->cube};
    call->array =
        rt_array_create(device_runtime(call->device), &shape, format_of(call->wanted->texel), call->name);
}

atoll_status atoll_array_create(atoll_device *d, const struct atoll_array_info *wanted, const char *name,
                                atoll_array **out)
{
    struct image_call call = {.device = d, .wanted = wanted, .name = name};
    const atoll_status status = api_run(device_sim(d), create_array, &call);
    *out = (atoll_array *)call.array;
    return status;
}

void atoll_array_describe(const atoll_array *array, struct atoll_array_info *info)
{
    const struct image_array *a = inside(array);
    const struct image_shape *s = &a->shape;
    *info = (struct atoll_array_info){.shape = {s->width, s->height, s->depth, s->layers, s->levels, s->cube},
                                      .texel = {a->format.kind, a->format.bits, a->format.channels},
                                      .memory = a->device ? image_row(a, 0, 0, 0) : NULL,
                                      .row_bytes = a->levels[0].row_bytes,
                                      .plane_bytes = a->levels[0].plane_bytes,
                                      .bytes = a->bytes};
}

static void take_level(void *arg)
{
    struct image_call *call = arg;
    call->array = rt_array_level(device_runtime(call->device), call->array, call->level);
}

atoll_status atoll_array_level(atoll_device *d, atoll_array *mipmap, uint32_t level, atoll_array **out)
{
    struct image_call call = {.device = d, .array = inside(mipmap), .level = level};
    const atoll_status status = api_run(device_sim(d), take_level, &call);
    *out = status ? NULL : (atoll_array *)call.array;
    return status;
}

static void free_array(void *arg)
{
    const struct image_call *call = arg;
    rt_array_free(device_runtime(call->device), call->array);
}

atoll_status atoll_array_free(atoll_device *d, atoll_array *array)
{
    return api_run(device_sim(d), free_array, &(struct image_call){.device = d, .array = inside(array)});
}

/* ---- objects ---- */

static void create_texture(void *arg)
{
    struct image_call *call = arg;
    const struct atoll_texture *t = call->texture;
    _Static_assert((int)ATOLL_BORDER == IMAGE_BORDER && (int)ATOLL_CLAMP == IMAGE_CLAMP, "same numbers");
    struct image_texture x = {.source = t->array    ? IMAGE_FROM_ARRAY
                                        : t->height ? IMAGE_FROM_PITCH
                                                    : IMAGE_FROM_LINEAR,
                              .array = inside(t->array),
                              .device = t->memory,
                              .format = format_of(t->texel),
                              .width = t->width,
                              .height = t->height,
                              .row_bytes = t->row_bytes,
                              .address = {t->address[0], t->address[1], t->address[2]},
                              .filter = t->linear ? IMAGE_LINEAR : IMAGE_POINT,
                              .mip_filter = t->mip_linear ? IMAGE_LINEAR : IMAGE_POINT,
                              .normalized_coords = t->normalized_coords,
                              .normalized_float = t->normalized_float,
                              .srgb = t->srgb,
                              .level_bias = t->level_bias,
                              .level_least = t->level_least,
                              .level_most = t->level_most};
    memcpy(x.border, t->border, sizeof x.border);
    call->handle = rt_texture_create(device_runtime(call->device), &x);
}

atoll_status atoll_texture_create(atoll_device *d, const struct atoll_texture *texture, uint64_t *handle)
{
    struct image_call call = {.device = d, .texture = texture};
    const atoll_status status = api_run(device_sim(d), create_texture, &call);
    *handle = call.handle;
    return status;
}

static void destroy_texture(void *arg)
{
    const struct image_call *call = arg;
    rt_texture_destroy(device_runtime(call->device), call->handle);
}

atoll_status atoll_texture_destroy(atoll_device *d, uint64_t handle)
{
    return api_run(device_sim(d), destroy_texture, &(struct image_call){.device = d, .handle = handle});
}

static void create_surface(void *arg)
{
    struct image_call *call = arg;
    call->handle = rt_surface_create(device_runtime(call->device), call->array);
}

atoll_status atoll_surface_create(atoll_device *d, const atoll_array *array, uint64_t *handle)
{
    struct image_call call = {.device = d, .array = inside(array)};
    const atoll_status status = api_run(device_sim(d), create_surface, &call);
    *handle = call.handle;
    return status;
}

static void destroy_surface(void *arg)
{
    const struct image_call *call = arg;
    rt_surface_destroy(device_runtime(call->device), call->handle);
}

atoll_status atoll_surface_destroy(atoll_device *d, uint64_t handle)
{
    return api_run(device_sim(d), destroy_surface, &(struct image_call){.device = d, .handle = handle});
}
