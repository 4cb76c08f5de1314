/* sample: what a texture fetch touches and gives, by the formulas of the CUDA programming guide ("Texture
 * Fetching").
 *
 *   coordinates ─► level ─► per dimension: texel numbers and weights ─► footprint ─► value
 *
 * Point filter: T[floor(x)]. Linear: i = floor(x - 1/2), a = frac(x - 1/2) as 1.8 fixed point, (1 - a) T[i] +
 * a T[i + 1]; products of the weights in 2 and 3 dimensions. Sums are formed in double precision in the order
 * of the guide's formulas and rounded once.
 *
 * Where the guide leaves it open (ASSUMPTION, each):
 *   - a is rounded to the nearest 1/256 (so that 1.0 occurs, which the guide wants represented);
 *   - clamp with the linear filter clamps the texel numbers i and i + 1, so the image goes on with its edge;
 *   - a texel of weight 0 does not count, even when it is infinite;
 *   - NaN is the coordinate 0; layers beyond the last are the last;
 *   - of components as large as each other x goes before y before z in a cube map; the linear filter stays
 *     within a face;
 *   - a point-filtered mipmap takes the level nearest to the wanted one, halves go up; anisotropy is not
 *     modelled;
 *   - channels that a format lacks read as 0, 0, 0, 1. */
#include <math.h>
#include <string.h>

#include "exec/half.h"
#include "exec/image.h"

/* ---- one dimension ---- */

struct axis {
    int64_t at[2]; /* texel numbers; -1: the border */
    double weight[2];
    uint32_t count;
};

enum { WEIGHT_ONE = 256 };

/* For |x| < 2^63; the library's floor() is a call. */
static inline int64_t floor_of(double x)
{
    const int64_t i = (int64_t)x;
    return i - (x < (double)i);
}

/* To the nearest 1/256, halves up. */
static inline double weight_of(double fraction)
{
    return (double)floor_of(fraction * WEIGHT_ONE + 0.5) / WEIGHT_ONE;
}

static inline int64_t texel_number(int64_t i, uint32_t size, enum image_address mode)
{
    const int64_t n = size;
    if ((uint64_t)i < size) return i;
    switch (mode) {
    case IMAGE_CLAMP: return i < 0 ? 0 : i < n ? i : n - 1;
    case IMAGE_WRAP: i %= n; return i < 0 ? i + n : i;
    case IMAGE_MIRROR:
        i %= 2 * n;
        if (i < 0) i += 2 * n;
        return i < n ? i : 2 * n - 1 - i;
    case IMAGE_BORDER: break;
    }
    return i < 0 || i >= n ? -1 : i;
}

/* The position in texels; of wrap and mirror within the image. */
static inline double position(float coordinate, uint32_t size, enum image_address mode, bool normalized)
{
    double x = (double)coordinate;
    if (x != x) return 0;
    if (normalized && (mode == IMAGE_WRAP || mode == IMAGE_MIRROR)) {
        if (fabs(x) >= 0x1p52) return 0; /* a multiple of 2, or infinite */
        const int64_t whole = floor_of(x);
        x -= (double)whole;
        if (mode == IMAGE_MIRROR && whole & 1) x = 1 - x;
    }
    if (normalized) x *= size;
    const double far = 0x1p40; /* beyond every image: all the same */
    return x > far ? far : x < -far ? -far : x;
}

static inline struct axis axis_of(double x, uint32_t size, enum image_address mode, bool linear,
                                  int32_t offset)
{
    struct axis a = {.count = 1, .weight = {1, 0}};
    if (!linear) {
        int64_t i = floor_of(x);
        /* 1 - frac(x) of mirror can be 1, frac(x) of a tiny negative x rounds to 1. */
        if ((mode == IMAGE_WRAP || mode == IMAGE_MIRROR) && i >= size) i = (int64_t)size - 1;
        a.at[0] = texel_number(i + offset, size, mode);
        return a;
    }
    const int64_t whole = floor_of(x - 0.5);
    const double weight = weight_of(x - 0.5 - (double)whole);
    a.count = 2;
    a.weight[0] = 1 - weight;
    a.weight[1] = weight;
    a.at[0] = texel_number(whole + offset, size, mode);
    a.at[1] = texel_number(whole + 1 + offset, size, mode);
    return a;
}

/* ---- cube maps ---- */

void image_cube_face(const float direction[3], uint32_t *face, float place[2])
{
    const float x = direction[0], y = direction[1], z = direction[2];
    const float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
    float m, s, t;
    if (ax >= ay && ax >= az) {
        *face = x < 0;
        m = ax;
        s = x < 0 ? z : -z;
        t = -y;
    } else if (ay >= az) {
        *face = 2 + (y < 0);
        m = ay;
        s = x;
        t = y < 0 ? -z : z;
    } else {
        *face = 4 + (z < 0);
        m = az;
        s = z < 0 ? -x : x;
        t = -y;
    }
    place[0] = (s / m + 1) / 2;
    place[1] = (t / m + 1) / 2;
}

/* ---- footprints ---- */

const char *image_mismatch(const struct image_object *o, struct image_geometry g)
{
    const bool solid = o->levels[0].planes > 1 && !o->layers && !o->cube;
    if (g.cube && !o->cube) return "is no cube map";
    if (g.layered && solid) return "is three-dimensional and has no layers";
    if (g.dims == 3 && !g.cube && o->layers) return "is layered, not three-dimensional";
    return NULL;
}

static void add_texels(const struct image_object *o, const struct image_level *l, const struct axis *ax,
                       const struct axis *ay, const struct axis *az, struct image_footprint *out)
{
    const uint32_t texel = image_texel_bytes(o->texture.format);
    for (uint32_t k = 0; k < az->count; k++)
        for (uint32_t j = 0; j < ay->count; j++)
            for (uint32_t i = 0; i < ax->count; i++) {
                const bool inside = ax->at[i] >= 0 && ay->at[j] >= 0 && az->at[k] >= 0;
                const uint64_t offset = l->offset + (uint64_t)az->at[k] * l->plane_bytes +
                                        (uint64_t)ay->at[j] * l->row_bytes + (uint64_t)ax->at[i] * texel;
                out->texels[out->count].at = inside ? o->base + offset : NULL;
                out->texels[out->count++].weight = ax->weight[i] * ay->weight[j] * az->weight[k];
            }
}

static int64_t layer_of(const struct image_object *o, int32_t layer)
{
    const uint32_t layers = o->layers ? o->layers : 1;
    return texel_number(layer, layers, IMAGE_CLAMP);
}

static void add_level(const struct image_object *o, const struct image_coordinates *c, uint32_t level,
                      bool gather, struct image_footprint *out)
{
    const struct image_texture *t = &o->texture;
    const struct image_level *l = &o->levels[level];
    const struct image_geometry g = c->geometry;
    const uint32_t sizes[3] = {l->width, l->height, l->planes};
    const uint32_t dims = g.cube ? 2 : g.dims;
    struct axis axes[3];
    for (uint32_t k = 0; k < 3; k++) axes[k] = (struct axis){.count = 1, .weight = {1, 0}};
    float place[3];
    memcpy(place, c->x, sizeof place);
    if (g.cube) {
        uint32_t face;
        image_cube_face(c->x, &face, place);
        axes[2].at[0] = face;
    }
    if (g.layered) axes[2].at[0] += layer_of(o, c->layer) * (g.cube ? IMAGE_CUBE_FACES : 1);
    for (uint32_t k = 0; k < dims && k < 3; k++) {
        enum image_address mode = g.cube ? IMAGE_CLAMP : (enum image_address)t->address[k];
        if (out->linear_memory) mode = IMAGE_BORDER;
        if (c->whole) {
            if (mode != IMAGE_BORDER) mode = IMAGE_CLAMP;
            axes[k].at[0] = texel_number((int64_t)c->at[k] + c->offset[k], sizes[k], mode);
            continue;
        }
        const double x = position(place[k], sizes[k], mode, t->normalized_coords || g.cube);
        axes[k] = axis_of(x, sizes[k], mode, gather || t->filter == IMAGE_LINEAR, c->offset[k]);
    }
    add_texels(o, l, &axes[0], &axes[1], &axes[2], out);
}

/* The finer of the levels that count, and how much the next one does. */
static uint32_t level_of(const struct image_object *o, const struct image_coordinates *c, double *blend)
{
    const struct image_texture *t = &o->texture;
    *blend = 0;
    if (o->level_count == 1) return 0;
    double level = c->has_level ? (double)c->level : 0;
    if (level != level) level = 0;
    level += (double)t->level_bias;
    if (level < (double)t->level_least) level = (double)t->level_least;
    if (level > (double)t->level_most) level = (double)t->level_most;
    if (level > o->level_count - 1) level = o->level_count - 1;
    if (!(level > 0)) return 0;
    if (t->mip_filter == IMAGE_POINT) return (uint32_t)floor_of(level + 0.5);
    const int64_t whole = floor_of(level);
    *blend = weight_of(level - (double)whole);
    return (uint32_t)whole;
}

void image_footprint(const struct image_object *o, const struct image_coordinates *c, bool gather,
                     struct image_footprint *out)
{
    double blend;
    const uint32_t level = level_of(o, c, &blend);
    out->count = 0;
    out->blend = blend;
    out->linear_memory = o->texture.source == IMAGE_FROM_LINEAR;
    add_level(o, c, level, gather, out);
    out->first_count = out->count;
    if (blend > 0) add_level(o, c, level + 1, gather, out);
}

float image_gradient_level(const struct image_object *o, struct image_geometry g, const float x[3],
                           const float dx[3], const float dy[3])
{
    const struct image_level *l = &o->levels[0];
    const uint32_t sizes[3] = {l->width, l->height, l->planes};
    double across = 0, down = 0, scale = 1;
    if (g.cube) { /* a face is two units wide, seen from the distance of the largest component */
        const float m = fmaxf(fabsf(x[0]), fmaxf(fabsf(x[1]), fabsf(x[2])));
        scale = l->width / (2 * (double)m);
    }
    for (uint32_t k = 0; k < g.dims && k < 3; k++) {
        const double size = g.cube ? scale : o->texture.normalized_coords ? sizes[k] : 1;
        across += (double)dx[k] * size * (double)dx[k] * size;
        down += (double)dy[k] * size * (double)dy[k] * size;
    }
    return (float)(0.5 * log2(across > down ? across : down));
}

/* ---- values ---- */

bool image_gives_float(const struct image_texture *t)
{
    return t->format.kind == IMAGE_FLOAT || t->normalized_float;
}

/* Of a channel: what an integer register holds. */
static uint32_t raw(struct image_format f, const uint8_t *at, uint32_t channel)
{
    uint32_t v = 0;
    memcpy(&v, at + (size_t)channel * (f.bits / 8), f.bits / 8);
    if (f.kind != IMAGE_SIGNED || f.bits == 32) return v;
    const uint32_t shift = 32u - f.bits;
    return (uint32_t)((int32_t)(v << shift) >> shift);
}

/* What fractions are divided by. */
static double full_scale(struct image_format f)
{
    if (f.kind == IMAGE_FLOAT) return 1;
    return f.bits == 8 ? (f.kind == IMAGE_SIGNED ? 127 : 255) : f.kind == IMAGE_SIGNED ? 32767 : 65535;
}

static double from_srgb(double c) { return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4); }

/* Of a channel, in units of 1 / full_scale. */
static double number(const struct image_texture *t, const uint8_t *at, uint32_t channel)
{
    const struct image_format f = t->format;
    const uint32_t v = raw(f, at, channel);
    if (f.kind == IMAGE_FLOAT && f.bits == 16) return (double)f16_to_f32((uint16_t)v);
    if (f.kind == IMAGE_FLOAT) {
        float x;
        memcpy(&x, &v, 4);
        return (double)x;
    }
    if (t->srgb && channel < 3) return from_srgb(v / 255.0) * 255;
    if (f.kind == IMAGE_UNSIGNED) return v;
    const double least = -full_scale(f); /* -128 is -1, as -127 */
    return (int32_t)v < least ? least : (int32_t)v;
}

static uint32_t float_bits(double value)
{
    const float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

/* A channel that the format does not have. */
static uint32_t absent(const struct image_texture *t, uint32_t channel)
{
    if (channel < 3) return 0;
    return image_gives_float(t) ? float_bits(1) : 1;
}

static uint32_t border(const struct image_texture *t, uint32_t channel, bool zeros)
{
    if (zeros) return 0;
    const float b = t->border[channel];
    if (image_gives_float(t)) return float_bits((double)b);
    if (!(b > -2147483648.0f) || b >= 4294967296.0f) return 0;
    return b < 0 ? (uint32_t)(int32_t)b : (uint32_t)b;
}

/* One texel as it is. */
static uint32_t single(const struct image_texture *t, const uint8_t *at, uint32_t channel, bool zeros)
{
    if (channel >= t->format.channels) return absent(t, channel);
    if (!at) return border(t, channel, zeros);
    if (!image_gives_float(t) || (t->format.kind == IMAGE_FLOAT && t->format.bits == 32))
        return raw(t->format, at, channel);
    return float_bits(number(t, at, channel) / full_scale(t->format));
}

/* The same of words of floating point, which most filtered textures have. */
static double filtered_words(const struct image_texture *t, const struct image_footprint *f, uint32_t channel)
{
    double sum = 0;
    for (uint32_t k = 0; k < f->count; k++) {
        float x = t->border[channel];
        if (f->texels[k].at) memcpy(&x, f->texels[k].at + 4 * (size_t)channel, 4);
        if (f->texels[k].weight > 0) sum += f->texels[k].weight * (double)x;
    }
    return sum;
}

static double filtered(const struct image_texture *t, const struct image_footprint *f, uint32_t first,
                       uint32_t end, uint32_t channel)
{
    const double scale = full_scale(t->format);
    double sum = 0;
    for (uint32_t k = first; k < end; k++) {
        if (!(f->texels[k].weight > 0)) continue;
        const uint8_t *at = f->texels[k].at;
        sum += f->texels[k].weight * (at ? number(t, at, channel) : (double)t->border[channel] * scale);
    }
    return sum / scale;
}

void image_value(const struct image_object *o, const struct image_footprint *f, uint32_t out[4])
{
    const struct image_texture *t = &o->texture;
    const bool words = t->format.kind == IMAGE_FLOAT && t->format.bits == 32;
    for (uint32_t channel = 0; channel < 4; channel++) {
        if (f->count == 1) {
            out[channel] = single(t, f->texels[0].at, channel, f->linear_memory);
            continue;
        }
        if (channel >= t->format.channels) {
            out[channel] = absent(t, channel);
            continue;
        }
        if (words && f->count == f->first_count) {
            out[channel] = float_bits(filtered_words(t, f, channel));
            continue;
        }
        double value = filtered(t, f, 0, f->first_count, channel);
        if (f->blend > 0)
            value = (1 - f->blend) * value + f->blend * filtered(t, f, f->first_count, f->count, channel);
        out[channel] = float_bits(value);
    }
}

void image_gathered(const struct image_object *o, const struct image_footprint *f, uint32_t component,
                    uint32_t out[4])
{
    static const uint8_t order[4] = {2, 3, 1, 0};
    for (uint32_t k = 0; k < 4; k++)
        out[k] = single(&o->texture, f->texels[order[k]].at, component, f->linear_memory);
}

/* ---- the short way ---- */

bool image_is_simple(const struct image_object *o, struct image_geometry g)
{
    const struct image_texture *t = &o->texture;
    return o->level_count == 1 && !g.cube && !g.layered && g.dims <= 2 && t->format.bits == 32 &&
           (t->filter == IMAGE_POINT || t->format.kind == IMAGE_FLOAT) && t->source != IMAGE_FROM_LINEAR;
}

/* Four texels of float words, in the order of image_footprint(). */
static void blend_words(const struct image_object *o, const struct axis *ax, const struct axis *ay,
                        uint32_t out[4])
{
    const struct image_texture *t = &o->texture;
    const uint32_t texel = image_texel_bytes(t->format);
    const uint8_t *rows[2] = {NULL, NULL};
    for (uint32_t j = 0; j < ay->count; j++)
        if (ay->at[j] >= 0)
            rows[j] = o->base + o->levels[0].offset + (uint64_t)ay->at[j] * o->levels[0].row_bytes;
    for (uint32_t channel = 0; channel < t->format.channels && channel < 4; channel++) {
        double sum = 0;
        for (uint32_t j = 0; j < ay->count; j++)
            for (uint32_t i = 0; i < ax->count; i++) {
                const double weight = ax->weight[i] * ay->weight[j];
                float x = t->border[channel];
                if (rows[j] && ax->at[i] >= 0)
                    memcpy(&x, rows[j] + (uint64_t)ax->at[i] * texel + 4 * (size_t)channel, 4);
                if (weight > 0) sum += weight * (double)x;
            }
        out[channel] = float_bits(sum);
    }
}

void image_simple(const struct image_object *o, uint32_t dims, float x, float y, uint32_t out[4])
{
    const struct image_texture *t = &o->texture;
    const struct image_level *l = &o->levels[0];
    const enum image_address mode_x = (enum image_address)t->address[0],
                             mode_y = (enum image_address)t->address[1];
    const bool linear = t->filter == IMAGE_LINEAR;
    struct axis ay = {.count = 1, .weight = {1, 0}};
    const struct axis ax =
        axis_of(position(x, l->width, mode_x, t->normalized_coords), l->width, mode_x, linear, 0);
    if (dims > 1)
        ay = axis_of(position(y, l->height, mode_y, t->normalized_coords), l->height, mode_y, linear, 0);
    for (uint32_t channel = t->format.channels; channel < 4; channel++) out[channel] = absent(t, channel);
    if (linear) {
        blend_words(o, &ax, &ay, out);
        return;
    }
    const uint8_t *at = ax.at[0] < 0 || ay.at[0] < 0
                            ? NULL
                            : o->base + l->offset + (uint64_t)ay.at[0] * l->row_bytes +
                                  (uint64_t)ax.at[0] * image_texel_bytes(t->format);
    for (uint32_t channel = 0; channel < t->format.channels && channel < 4; channel++) {
        if (at)
            memcpy(&out[channel], at + 4 * (size_t)channel, 4);
        else
            out[channel] = border(t, channel, false);
    }
}
