/* texture: tex, tld4, txq, suld, sust, sured, suq, istypep: from registers to images and back. What a fetch
 * gives is sample.c; here are objects, bounds and registers. */
#include "exec/half.h"
#include "exec/sites.h"

/* ---- objects ---- */

static const char *object_name(enum image_object_kind kind)
{
    return kind == IMAGE_TEXTURE ? "texture" : "surface";
}

static void check_alive(struct exec_warp *w, const struct insn *i, uint32_t lane, struct image_object *o)
{
    struct devmem *m = w->env->memory;
    const struct image_array *a = o->kind == IMAGE_TEXTURE ? o->texture.array : o->surface.array;
    if (a) {
        if (a->device) return;
        exec_fault(w, i, lane,
                   "the array of %s object %llu (%u x %u x %u texels) was freed: destroy the object first",
                   object_name(o->kind), (unsigned long long)o->handle, a->levels[0].width,
                   a->levels[0].height, a->levels[0].planes);
    }
    if (o->generation == m->generation) return;
    const struct image_level *l = &o->levels[0];
    const uint64_t row = (uint64_t)l->width * image_texel_bytes(o->texture.format);
    struct devmem_range range;
    if (!devmem_lookup(m, (uint64_t)o->base, l->row_bytes * (l->height - 1) + row, &range))
        exec_fault(w, i, lane,
                   "the memory of texture object %llu at 0x%llx was freed: destroy the object first",
                   (unsigned long long)o->handle, (unsigned long long)o->base);
    o->generation = m->generation;
}

/* The object of a lane; `last` is that of the lane before, mostly the same. */
static struct image_object *object_of(struct exec_warp *w, const struct insn *i, uint32_t lane,
                                      enum image_object_kind kind, struct image_object *last)
{
    const struct image_site *s = i->x.extra;
    const uint64_t handle = ((const uint64_t *)ref_at(w, s->handle))[lane];
    if (last && last->handle == handle) return last;
    struct image_object *o = image_find(w->env->images, handle);
    const unsigned long long number = handle;
    if (o->kind == IMAGE_NO_OBJECT)
        exec_fault(w, i, lane, "0x%llx is no %s object: none with this number was created", number,
                   object_name(kind));
    if (o->kind == IMAGE_DESTROYED)
        exec_fault(w, i, lane, "object %llu was destroyed before this kernel ran", number);
    if (o->kind != kind)
        exec_fault(w, i, lane, "object %llu is a %s object: this takes a %s object", number,
                   object_name(o->kind), object_name(kind));
    check_alive(w, i, lane, o);
    return o;
}

/* ---- texture fetches ---- */

static float float_at(const struct exec_warp *w, uint32_t ref, uint32_t lane)
{
    float f;
    memcpy(&f, ref_at(w, ref) + 4 * (size_t)lane, 4);
    return f;
}

static int32_t whole_at(const struct exec_warp *w, uint32_t ref, uint32_t lane)
{
    return ((const int32_t *)ref_at(w, ref))[lane];
}

static void read_coordinates(const struct exec_warp *w, const struct image_site *s, uint32_t lane,
                             const struct image_object *o, struct image_coordinates *c)
{
    for (uint32_t k = 0; k < s->geometry.dims; k++) {
        if (s->whole)
            c->at[k] = whole_at(w, s->x[k], lane);
        else
            c->x[k] = float_at(w, s->x[k], lane);
        if (s->has_offset) c->offset[k] = whole_at(w, s->offset[k], lane);
    }
    if (s->geometry.layered) c->layer = whole_at(w, s->layer, lane);
    if (s->mip == PTX_MIP_LEVEL)
        c->level = s->whole ? (float)whole_at(w, s->level, lane) : float_at(w, s->level, lane);
    else if (s->mip == PTX_MIP_GRAD) {
        float dx[3] = {0}, dy[3] = {0};
        for (uint32_t k = 0; k < s->geometry.dims; k++) {
            dx[k] = float_at(w, s->dx[k], lane);
            dy[k] = float_at(w, s->dy[k], lane);
        }
        c->level = image_gradient_level(o, s->geometry, c->x, dx, dy);
    }
}

static struct image_coordinates coordinates_of(const struct image_site *s)
{
    return (struct image_coordinates){.geometry = s->geometry,
                                      .whole = s->whole,
                                      .has_level = s->mip == PTX_MIP_LEVEL || s->mip == PTX_MIP_GRAD};
}

/* The texture object of a lane, which suits the instruction. */
static struct image_object *texture_of(struct exec_warp *w, const struct insn *i, uint32_t lane,
                                       struct image_object *last)
{
    const struct image_site *s = i->x.extra;
    struct image_object *o = object_of(w, i, lane, IMAGE_TEXTURE, last);
    if (o == last) return o;
    const char *wrong = image_mismatch(o, s->geometry);
    if (wrong) exec_fault(w, i, lane, "texture object %llu %s", (unsigned long long)o->handle, wrong);
    return o;
}

static void lane_footprint(const struct exec_warp *w, const struct image_site *s, uint32_t lane,
                           const struct image_object *o, struct image_footprint *f)
{
    struct image_coordinates c = coordinates_of(s);
    read_coordinates(w, s, lane, o, &c);
    image_footprint(o, &c, s->op == PTX_OP_TLD4, f);
}

/* Registers of 32 bits; .f16 and .f16x2 are made from f32. */
static void write_texture(const struct exec_warp *w, const struct image_site *s, uint32_t lane,
                          const struct image_object *o, uint32_t value[4])
{
    float x[4];
    uint16_t half[4];
    memcpy(x, value, sizeof x);
    const bool halves = s->type == PTX_T_F16 || s->type == PTX_T_F16X2;
    for (uint32_t k = 0; k < 4 && halves; k++)
        half[k] = image_gives_float(&o->texture) ? f32_to_f16(x[k]) : (uint16_t)value[k];
    for (uint32_t k = 0; k < s->count; k++) {
        if (s->reg[k] == UINT32_MAX) continue;
        uint32_t v = value[k];
        if (s->type == PTX_T_F16) v = half[k];
        if (s->type == PTX_T_F16X2) v = half[(2 * k) & 3] | (uint32_t)half[(2 * k + 1) & 3] << 16;
        ((uint32_t *)ref_at(w, s->reg[k]))[lane] = v;
    }
}

/* The commonest fetch, tex1Dfetch of words: no position, no filter. */
static void fetch_words(const struct exec_warp *w, const struct image_site *s, uint32_t lane,
                        const struct image_object *o)
{
    const struct image_format format = o->texture.format;
    const uint32_t at = (uint32_t)whole_at(w, s->x[0], lane),
                   one = format.kind == IMAGE_FLOAT ? 0x3f800000 : 1;
    const uint8_t *p = o->base + (uint64_t)at * image_texel_bytes(format);
    for (uint32_t k = 0; k < s->count; k++) {
        uint32_t v = k == 3 && format.channels < 4 ? one : 0;
        if (s->reg[k] == UINT32_MAX) continue;
        if (at < o->levels[0].width && k < format.channels) memcpy(&v, p + 4 * (size_t)k, 4);
        ((uint32_t *)ref_at(w, s->reg[k]))[lane] = v;
    }
}

enum way { WAY_ANY, WAY_WORDS, WAY_SIMPLE };

/* How the lanes that share an object are served. */
static enum way way_of(const struct image_site *s, const struct image_object *o)
{
    if (s->op != PTX_OP_TEX || s->has_offset || s->mip == PTX_MIP_GRAD || s->type == PTX_T_F16 ||
        s->type == PTX_T_F16X2)
        return WAY_ANY;
    if (s->whole)
        return s->geometry.dims == 1 && o->texture.source == IMAGE_FROM_LINEAR && o->texture.format.bits == 32
                   ? WAY_WORDS
                   : WAY_ANY;
    return image_is_simple(o, s->geometry) ? WAY_SIMPLE : WAY_ANY;
}

static void fetch_any(const struct exec_warp *w, const struct image_site *s, uint32_t lane,
                      const struct image_object *o)
{
    struct image_footprint f;
    uint32_t value[4];
    lane_footprint(w, s, lane, o, &f);
    if (s->op == PTX_OP_TLD4)
        image_gathered(o, &f, s->component, value);
    else
        image_value(o, &f, value);
    write_texture(w, s, lane, o, value);
}

static void fetch_simple(const struct exec_warp *w, const struct image_site *s, uint32_t lane,
                         const struct image_object *o)
{
    uint32_t value[4];
    image_simple(o, s->geometry.dims, float_at(w, s->x[0], lane),
                 s->geometry.dims > 1 ? float_at(w, s->x[1], lane) : 0, value);
    for (uint32_t k = 0; k < s->count; k++)
        if (s->reg[k] != UINT32_MAX) ((uint32_t *)ref_at(w, s->reg[k]))[lane] = value[k];
}

const struct insn *h_texture(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct image_site *s = i->x.extra;
    const uint64_t *const handles = (const uint64_t *)ref_at(w, s->handle);
    struct image_object *o = NULL;
    enum way way = WAY_ANY;
    FOR_LANES(lane, mask)
    {
        if (!o || handles[lane] != o->handle) {
            o = texture_of(w, i, lane, o);
            way = way_of(s, o);
        }
        switch (way) {
        case WAY_WORDS: fetch_words(w, s, lane, o); break;
        case WAY_SIMPLE: fetch_simple(w, s, lane, o); break;
        case WAY_ANY: fetch_any(w, s, lane, o); break;
        }
    }
    /* Sparse textures are not modelled: all of every image is there. */
    if (s->resident != UINT32_MAX) *(uint32_t *)ref_at(w, s->resident) |= mask;
    return i + 1;
}

void texture_describe(struct exec_warp *w, const struct insn *i, struct warp_op *out)
{
    struct image_object *o = NULL;
    uint32_t count = 0;
    uint32_t bytes = 1;
    FOR_LANES(lane, out->mask)
    {
        struct image_footprint f;
        o = texture_of(w, i, lane, o);
        lane_footprint(w, i->x.extra, lane, o, &f);
        const uint32_t texel = image_texel_bytes(o->texture.format);
        if (texel > bytes) bytes = texel;
        for (uint32_t k = 0; k < f.count; k++)
            if (f.texels[k].at)
                w->env->texels[count++] = devmem_simulated(w->env->memory, (uint64_t)f.texels[k].at);
    }
    out->space = WARP_SPACE_GLOBAL;
    out->texels = w->env->texels;
    out->texel_count = (uint16_t)count;
    out->texel_bytes = (uint8_t)bytes;
}

/* ---- surfaces ---- */

/* One coordinate into [0, most]; false: outside, and the access does not take place. */
static bool settle(struct exec_warp *w, const struct insn *i, uint32_t lane, int64_t *at, int64_t most,
                   const char *what)
{
    const struct image_site *s = i->x.extra;
    if (*at >= 0 && *at <= most) return true;
    switch (s->outside) {
    case IMAGE_OUTSIDE_CLAMP: *at = *at < 0 ? 0 : most; return true;
    case IMAGE_OUTSIDE_ZERO: return false;
    default:
        exec_fault(w, i, lane, "%s = %lld lies outside of the surface: 0 to %lld are inside%s", what,
                   (long long)*at, (long long)most, s->raw && *what == 'x' ? " (x counts bytes)" : "");
    }
}

/* Where a lane's access goes; NULL: nowhere. */
static uint8_t *surface_pointer(struct exec_warp *w, const struct insn *i, uint32_t lane,
                                struct image_object **object)
{
    const struct image_site *s = i->x.extra;
    struct image_object *o = object_of(w, i, lane, IMAGE_SURFACE, *object);
    if (o != *object) {
        const char *wrong = image_mismatch(o, s->geometry);
        if (wrong) exec_fault(w, i, lane, "surface object %llu %s", (unsigned long long)o->handle, wrong);
        *object = o;
    }
    const struct image_level *l = &o->levels[0];
    const uint32_t texel = image_texel_bytes(o->surface.array->format);
    const uint32_t bytes = s->raw ? s->count << s->log2_bytes : texel;
    int64_t x = whole_at(w, s->x[0], lane), y = 0, z = 0;
    if (!s->raw) x *= texel;
    if (s->geometry.dims > 1) y = whole_at(w, s->x[1], lane);
    if (s->geometry.dims > 2) z = whole_at(w, s->x[2], lane);
    if (s->geometry.layered) z = whole_at(w, s->layer, lane);
    const int64_t row = (int64_t)l->width * texel;
    if (bytes > row)
        exec_fault(w, i, lane, "an access of %u bytes to a surface whose rows have %lld", bytes,
                   (long long)row);
    if (!settle(w, i, lane, &x, row - bytes, "x") || !settle(w, i, lane, &y, (int64_t)l->height - 1, "y") ||
        !settle(w, i, lane, &z, (int64_t)l->planes - 1, s->geometry.layered ? "the layer" : "z"))
        return NULL;
    if (x % bytes)
        exec_fault(w, i, lane,
                   "x = %lld bytes is no multiple of the %u bytes accessed (multiply the texel number "
                   "by the size of a texel)",
                   (long long)x, bytes);
    return (uint8_t *)(uintptr_t)o->base + l->offset + (uint64_t)z * l->plane_bytes +
           (uint64_t)y * l->row_bytes + (uint64_t)x;
}

static uint64_t register_at(const struct exec_warp *w, const struct image_site *s, uint32_t k, uint32_t lane)
{
    const uint8_t *a = ref_at(w, s->reg[k]);
    return s->reg64[k] ? ((const uint64_t *)a)[lane] : ((const uint32_t *)a)[lane];
}

static void surface_load(const struct exec_warp *w, const struct image_site *s, uint32_t lane,
                         const uint8_t *p)
{
    const uint32_t bytes = 1u << s->log2_bytes;
    for (uint32_t k = 0; k < s->count; k++) {
        if (s->reg[k] == UINT32_MAX) continue;
        uint64_t v = 0;
        if (p) memcpy(&v, p + (size_t)k * bytes, bytes);
        uint8_t *d = ref_at(w, s->reg[k]);
        if (s->reg64[k])
            ((uint64_t *)d)[lane] = v;
        else
            ((uint32_t *)d)[lane] = (uint32_t)v;
    }
}

/* A 32-bit value as the format keeps it: integers saturate, floats are rounded. */
static uint32_t formatted(struct image_format f, uint32_t v)
{
    float x;
    memcpy(&x, &v, 4);
    if (f.bits == 32) return v;
    if (f.kind == IMAGE_FLOAT) return f32_to_f16(x);
    const uint32_t most = (1u << (f.bits - (f.kind == IMAGE_SIGNED))) - 1;
    if (f.kind == IMAGE_UNSIGNED) return v < most ? v : most;
    const int32_t n = (int32_t)v;
    return (uint32_t)(n > (int32_t)most ? (int32_t)most : n < -(int32_t)most - 1 ? -(int32_t)most - 1 : n);
}

static void surface_store(const struct exec_warp *w, const struct image_site *s, uint32_t lane,
                          struct image_format f, uint8_t *p)
{
    const uint32_t bytes = s->raw ? 1u << s->log2_bytes : f.bits / 8u;
    const uint32_t count = s->raw ? s->count : f.channels;
    for (uint32_t k = 0; k < count; k++) {
        uint64_t v = k < s->count ? register_at(w, s, k, lane) : 0;
        if (!s->raw) v = formatted(f, (uint32_t)v);
        memcpy(p + (size_t)k * bytes, &v, bytes);
    }
}

static uint64_t reduced(uint32_t op, bool is_signed, uint32_t bytes, uint64_t a, uint64_t b)
{
    const uint32_t shift = 64 - 8 * bytes;
    const int64_t sa = (int64_t)(a << shift) >> shift, sb = (int64_t)(b << shift) >> shift;
    const bool less = is_signed ? sa < sb : a << shift < b << shift;
    switch (op) {
    case PTX_SUB_ADD: return a + b;
    case PTX_SUB_MIN: return less ? a : b;
    case PTX_SUB_MAX: return less ? b : a;
    case PTX_SUB_AND: return a & b;
    default: return a | b;
    }
}

const struct insn *h_surface(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct image_site *s = i->x.extra;
    const uint32_t bytes = 1u << s->log2_bytes;
    struct image_object *o = NULL;
    FOR_LANES(lane, mask)
    {
        uint8_t *p = surface_pointer(w, i, lane, &o);
        if (s->op == PTX_OP_SULD)
            surface_load(w, s, lane, p);
        else if (p && s->op == PTX_OP_SUST)
            surface_store(w, s, lane, o->surface.array->format, p);
        else if (p) {
            uint64_t v = 0;
            memcpy(&v, p, bytes);
            v = reduced(s->sub, ptx_type_kind(s->type) == 'S', bytes, v, register_at(w, s, 0, lane));
            memcpy(p, &v, bytes);
        }
    }
    return i + 1;
}

void surface_describe(struct exec_warp *w, const struct insn *i, struct warp_op *out)
{
    struct image_object *o = NULL;
    uint32_t inside = 0;
    FOR_LANES(lane, out->mask)
    {
        const uint8_t *p = surface_pointer(w, i, lane, &o);
        if (!p) continue;
        inside |= 1u << lane;
        out->address[lane] = devmem_simulated(w->env->memory, (uint64_t)p);
    }
    out->space = WARP_SPACE_GLOBAL;
    out->mask = inside;
}

/* ---- questions ---- */

/* Numbers of OpenCL, as PTX says. */
static uint32_t data_type(struct image_format f, bool fraction)
{
    enum {
        SNORM_INT8 = 0x10d0,
        UNORM_INT8 = 0x10d2,
        SIGNED_INT8 = 0x10d7,
        UNSIGNED_INT8 = 0x10da,
        HALF = 0x10dd
    };
    const uint32_t size = f.bits == 8 ? 0 : f.bits == 16 ? 1 : 2;
    if (f.kind == IMAGE_FLOAT) return HALF + (f.bits == 32);
    if (fraction) return (f.kind == IMAGE_SIGNED ? SNORM_INT8 : UNORM_INT8) + size;
    return (f.kind == IMAGE_SIGNED ? SIGNED_INT8 : UNSIGNED_INT8) + size;
}

static uint32_t channel_order(struct image_format f)
{
    enum { ORDER_R = 0x10b0, ORDER_RG = 0x10b2, ORDER_RGBA = 0x10b5 };
    return f.channels == 1 ? ORDER_R : f.channels == 2 ? ORDER_RG : ORDER_RGBA;
}

static uint32_t address_number(enum image_address mode)
{
    enum { PTX_WRAP, PTX_MIRROR, PTX_CLAMP_OGL, PTX_CLAMP_TO_EDGE, PTX_CLAMP_TO_BORDER };
    switch (mode) {
    case IMAGE_WRAP: return PTX_WRAP;
    case IMAGE_MIRROR: return PTX_MIRROR;
    case IMAGE_BORDER: return PTX_CLAMP_TO_BORDER;
    case IMAGE_CLAMP: break;
    }
    return PTX_CLAMP_TO_EDGE;
}

static uint32_t answer(const struct image_object *o, enum ptx_image question, uint32_t level)
{
    const struct image_texture *t = &o->texture;
    const struct image_array *a = o->kind == IMAGE_TEXTURE ? t->array : o->surface.array;
    const struct image_format f = o->kind == IMAGE_TEXTURE ? t->format : a->format;
    const struct image_level *l = &o->levels[level < o->level_count ? level : o->level_count - 1];
    switch (question) {
    case PTX_IMAGE_WIDTH: return l->width;
    case PTX_IMAGE_HEIGHT: return a && !a->shape.height ? 0 : !a && !t->height ? 0 : l->height;
    case PTX_IMAGE_DEPTH: return a && a->shape.depth ? l->planes : 0;
    case PTX_IMAGE_CHANNEL_DATA_TYPE: return data_type(f, o->kind == IMAGE_TEXTURE && t->normalized_float);
    case PTX_IMAGE_CHANNEL_ORDER: return channel_order(f);
    case PTX_IMAGE_NORMALIZED_COORDS: return t->normalized_coords;
    case PTX_IMAGE_FORCE_UNNORMALIZED_COORDS: return 0;
    case PTX_IMAGE_FILTER_MODE: return t->filter;
    case PTX_IMAGE_ADDR_MODE_0: return address_number(t->address[0]);
    case PTX_IMAGE_ADDR_MODE_1: return address_number(t->address[1]);
    case PTX_IMAGE_ADDR_MODE_2: return address_number(t->address[2]);
    case PTX_IMAGE_ARRAY_SIZE: return o->layers;
    case PTX_IMAGE_NUM_MIPMAP_LEVELS: return o->level_count;
    case PTX_IMAGE_NUM_SAMPLES: return 1;
    case PTX_IMAGE_MEMORY_LAYOUT: return 0; /* an array, not linear memory */
    default: return 0;
    }
}

const struct insn *h_image_query(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct image_site *s = i->x.extra;
    const enum image_object_kind kind = s->op == PTX_OP_SUQ ? IMAGE_SURFACE : IMAGE_TEXTURE;
    struct image_object *o = NULL;
    FOR_LANES(lane, mask)
    {
        o = object_of(w, i, lane, kind, o);
        const uint32_t level = s->mip == PTX_MIP_LEVEL ? (uint32_t)whole_at(w, s->level, lane) : 0;
        if (s->reg[0] != UINT32_MAX)
            ((uint32_t *)ref_at(w, s->reg[0]))[lane] = answer(o, (enum ptx_image)s->component, level);
    }
    return i + 1;
}

/* Is the value an object of that type? Samplers are part of texture objects. */
const struct insn *h_istypep(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct image_site *s = i->x.extra;
    uint32_t yes = 0;
    FOR_LANES(lane, mask)
    {
        const uint64_t handle = ((const uint64_t *)ref_at(w, s->handle))[lane];
        const enum image_object_kind kind = image_find(w->env->images, handle)->kind;
        if ((s->type == PTX_T_TEXREF && kind == IMAGE_TEXTURE) ||
            (s->type == PTX_T_SURFREF && kind == IMAGE_SURFACE))
            yes |= 1u << lane;
    }
    uint32_t *d = (uint32_t *)ref_at(w, s->resident);
    *d = (*d & ~mask) | yes;
    return i + 1;
}
