/* oneshot: see oneshot.h. */
#include "runtime/oneshot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/rng.h"
#include "ptx/ir.h"

enum { NOTHING = UINT32_MAX };

struct type {
    const char *name;
    char kind; /* 'S', 'U', 'F'; 'B': whole, signed or unsigned */
    uint8_t bytes;
};
static const struct type types[] = {{"s8", 'S', 1},  {"u8", 'U', 1},  {"s16", 'S', 2}, {"u16", 'U', 2},
                                    {"s32", 'S', 4}, {"u32", 'U', 4}, {"s64", 'S', 8}, {"u64", 'U', 8},
                                    {"f32", 'F', 4}, {"f64", 'F', 8}, {"i8", 'S', 1},  {"i16", 'S', 2},
                                    {"i32", 'S', 4}, {"i64", 'S', 8}};

struct buffer {
    const char *arg; /* as given */
    const struct type *type;
    uint64_t count;
    uint8_t *device;
    uint64_t dump; /* elements to print; NOTHING: none */
    bool sum;
    const char *save;
    struct image_array *array; /* of an image: device is a copy of it in host memory, without gaps */
    struct rt_box box;
};

struct oneshot {
    struct rt_context *rt;
    struct arena arena;
    struct buffer *buffers;
    uint32_t count;
    char *text;
    size_t len, cap;
};

/* An argument's text with a cursor: mistakes point at it. */
struct cursor {
    struct diag_source source;
    const char *at;
};

#define WRONG(c, width, ...) \
    diag_mistake_at(diag_place_at(&(c)->source, (size_t)((c)->at - (c)->source.text), (uint32_t)(width)), \
                    __VA_ARGS__)

/* ---- reading ---- */

static size_t word(const struct cursor *c) { return strcspn(c->at, ":="); }

static const struct type *read_type(struct cursor *c)
{
    const size_t n = word(c);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (strlen(types[k].name) == n && !strncmp(types[k].name, c->at, n)) {
            c->at += n;
            return &types[k];
        }
    WRONG(c, n ? n : 1, "no such element type: s8 u8 s16 u16 s32 u32 s64 u64 f32 f64");
}

/* Decimal, or hexadecimal with 0x; never octal. */
static int base_of(const char *text)
{
    if (*text == '-' || *text == '+') text++;
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
}

static uint64_t read_count(struct cursor *c)
{
    char *end;
    errno = 0;
    uint64_t n = strtoull(c->at, &end, base_of(c->at));
    if (end == c->at || errno || *c->at == '-') WRONG(c, word(c) ? word(c) : 1, "a count is missing here");
    const uint32_t shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift) end++;
    if (n << shift >> shift != n) WRONG(c, word(c), "this count is too large");
    c->at = end;
    return n << shift;
}

static void put_float(uint8_t *to, const struct type *t, double value)
{
    const float f = (float)value;
    memcpy(to, t->bytes == 4 ? (const void *)&f : (const void *)&value, t->bytes);
}

static void put_integer(uint8_t *to, const struct type *t, uint64_t bits)
{
    if (t->kind == 'F')
        put_float(to, t, (double)(int64_t)bits);
    else
        memcpy(to, &bits, t->bytes);
}

static void read_float(struct cursor *c, const struct type *t, uint8_t *to)
{
    char *end;
    const double value = strtod(c->at, &end);
    const size_t n = word(c) ? word(c) : 1;
    if (end == c->at || (size_t)(end - c->at) != word(c))
        WRONG(c, n, "a number is expected here (%s)", t->name);
    if (t->bytes == 4 && isfinite(value) && !isfinite((float)value)) WRONG(c, n, "this does not fit an f32");
    put_float(to, t, value);
    c->at = end;
}

/* Whole, also as 1e6; in the range of the type ('B': signed or unsigned). */
static void read_integer(struct cursor *c, const struct type *t, uint8_t *to)
{
    char *end;
    const size_t n = word(c) ? word(c) : 1;
    const bool negative = *c->at == '-';
    const uint32_t bits = 8u * t->bytes;
    const uint64_t most = t->kind == 'S' ? UINT64_MAX >> (65 - bits) : UINT64_MAX >> (64 - bits);
    const uint64_t least = t->kind == 'U' ? 0 : (uint64_t)1 << (bits - 1); /* its amount below zero */
    errno = 0;
    uint64_t amount = strtoull(negative ? c->at + 1 : c->at, &end, base_of(c->at));
    bool fits = errno != ERANGE;
    if (end == c->at + negative || (size_t)(end - c->at) != word(c) || c->at[negative] == '-') {
        const double value = strtod(c->at, &end);
        if (end == c->at || (size_t)(end - c->at) != word(c) || fabs(value) > 0x1p53 ||
            value != (double)(int64_t)value)
            WRONG(c, n, "a whole number is expected here (%s)%s", t->name,
                  t->bytes == 4   ? "; a float is written f32:1.5"
                  : t->bytes == 8 ? "; a double is written f64:1.5"
                                  : "");
        amount = (uint64_t)fabs(value);
        fits = true;
    }
    if (!fits || amount > (negative ? least : most))
        WRONG(c, n, "this does not fit: %s takes %s%llu to %llu", t->name, least ? "-" : "",
              (unsigned long long)least, (unsigned long long)most);
    put_integer(to, t, negative ? 0 - amount : amount);
    c->at = end;
}

static void read_number(struct cursor *c, const struct type *t, uint8_t *to)
{
    if (t->kind == 'F')
        read_float(c, t, to);
    else
        read_integer(c, t, to);
}

static double get_number(const uint8_t *from, const struct type *t)
{
    float f;
    double d;
    uint64_t u = 0;
    if (t->kind == 'F' && t->bytes == 4) {
        memcpy(&f, from, 4);
        return (double)f;
    }
    if (t->kind == 'F') {
        memcpy(&d, from, 8);
        return d;
    }
    memcpy(&u, from, t->bytes);
    if (t->kind == 'U') return (double)u;
    const uint32_t shift = 64 - 8u * t->bytes;
    return (double)((int64_t)(u << shift) >> shift);
}

/* ---- buffers ---- */

static void fill_random(struct buffer *b, uint64_t seed)
{
    struct rng r = rng_seed(seed, 0);
    for (uint64_t i = 0; i < b->count; i++) {
        const uint64_t bits = rng_u64(&r);
        const double unit = (double)(bits >> 40) * 0x1p-24;
        uint8_t *to = b->device + i * b->type->bytes;
        if (b->type->kind == 'F')
            put_float(to, b->type, unit);
        else
            put_integer(to, b->type, bits);
    }
}

static void fill_file(struct cursor *c, struct buffer *b, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) WRONG(c, strlen(path), "cannot open '%s': %s", path, strerror(errno));
    const size_t got = fread(b->device, 1, b->count * b->type->bytes, f);
    (void)fclose(f);
    if (got != b->count * b->type->bytes)
        WRONG(c, strlen(path), "'%s' has only %zu of the %llu bytes of the buffer", path, got,
              (unsigned long long)(b->count * b->type->bytes));
}

static bool takes(struct cursor *c, const char *name)
{
    const size_t n = strlen(name);
    if (word(c) != n || strncmp(c->at, name, n)) return false;
    c->at += n;
    return true;
}

static bool equals_sign(struct cursor *c)
{
    if (*c->at != '=') return false;
    c->at++;
    return true;
}

/* One `:word[=value]` of a buffer. */
static void read_property(struct oneshot *o, struct cursor *c, struct buffer *b)
{
    const uint8_t bytes = b->type->bytes;
    if (takes(c, "zero")) return;
    if (takes(c, "iota")) {
        for (uint64_t i = 0; i < b->count; i++) put_integer(b->device + i * bytes, b->type, i);
    } else if (takes(c, "random")) {
        fill_random(b, equals_sign(c) ? read_count(c) : 1);
    } else if (takes(c, "value")) {
        uint8_t value[8];
        if (!equals_sign(c)) WRONG(c, 1, "value=NUMBER");
        read_number(c, b->type, value);
        for (uint64_t i = 0; i < b->count; i++) memcpy(b->device + i * bytes, value, bytes);
    } else if (takes(c, "file") || takes(c, "save")) {
        const bool load = c->at[-1] == 'e' && c->at[-2] == 'l';
        if (!equals_sign(c)) WRONG(c, 1, "=PATH is missing here");
        const char *path = arena_strndup(&o->arena, c->at, strcspn(c->at, ":"));
        if (load)
            fill_file(c, b, path);
        else
            b->save = path;
        c->at += strlen(path);
    } else if (takes(c, "dump")) {
        b->dump = equals_sign(c) ? read_count(c) : 16;
        if (!b->dump || b->dump > b->count) b->dump = b->count;
    } else if (takes(c, "sum")) {
        b->sum = true;
    } else {
        WRONG(c, word(c) ? word(c) : 1, "a buffer takes zero, iota, random, value=, file=, dump, sum, save=");
    }
}

static void *read_buffer(struct oneshot *o, struct cursor *c, struct buffer *b)
{
    b->arg = c->source.text;
    b->type = read_type(c);
    if (*c->at++ != ':') {
        c->at--;
        WRONG(c, 1, "the number of elements is missing: buf:TYPE:COUNT");
    }
    b->count = read_count(c);
    if (b->count > ((uint64_t)1 << 40)) WRONG(c, 1, "the buffer is too large");
    b->dump = NOTHING;
    b->device = rt_alloc(o->rt, b->count * b->type->bytes, b->arg);
    while (*c->at == ':') {
        c->at++;
        read_property(o, c, b);
    }
    if (*c->at) WRONG(c, strlen(c->at), "this does not belong to a buffer");
    return b->device;
}

/* ---- images ---- */

/* TYPE[xCHANNELS] */
static struct image_format read_format(struct cursor *c, struct buffer *b)
{
    const char *start = c->at;
    const size_t n = word(c), type_len = strcspn(c->at, "x:");
    char text[8] = "";
    if (type_len < sizeof text) memcpy(text, c->at, type_len);
    for (size_t k = 0; k < sizeof types / sizeof *types && !b->type; k++)
        if (!strcmp(types[k].name, text) && types[k].bytes <= 4) b->type = &types[k];
    const char channels = type_len < n ? start[type_len + 1] : '1';
    if (!b->type || (type_len < n && n - type_len != 2) || !strchr("124", channels))
        WRONG(c, n ? n : 1, "no such texel: s8 u8 s16 u16 s32 u32 f32, with x2 or x4 for channels");
    c->at += n;
    const uint8_t kind = b->type->kind == 'F'   ? IMAGE_FLOAT
                         : b->type->kind == 'S' ? IMAGE_SIGNED
                                                : IMAGE_UNSIGNED;
    return (struct image_format){kind, (uint8_t)(8 * b->type->bytes), (uint8_t)(channels - '0')};
}

/* 64, 64x32 or 64x32x8 */
static struct image_shape read_shape(struct cursor *c)
{
    uint32_t size[3] = {0};
    for (uint32_t k = 0; k < 3; k++) {
        const uint64_t n = read_count(c);
        if (!n || n > 1 << 20) WRONG(c, 1, "the image is too large, or has a side of nothing");
        size[k] = (uint32_t)n;
        if (*c->at != 'x') break;
        c->at++;
    }
    return (struct image_shape){.width = size[0], .height = size[1], .depth = size[2]};
}

static bool read_mode(struct cursor *c, struct image_texture *t)
{
    static const struct {
        const char *name;
        enum image_address mode;
    } modes[] = {
        {"wrap", IMAGE_WRAP}, {"clamp", IMAGE_CLAMP}, {"mirror", IMAGE_MIRROR}, {"border", IMAGE_BORDER}};
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++)
        if (takes(c, modes[k].name)) {
            for (uint32_t n = 0; n < 3; n++) t->address[n] = (uint8_t)modes[k].mode;
            return true;
        }
    if (takes(c, "linear"))
        t->filter = IMAGE_LINEAR;
    else if (takes(c, "normalized"))
        t->normalized_coords = true;
    else if (takes(c, "fraction"))
        t->normalized_float = true;
    else
        return false;
    return true;
}

static void copy_image(struct oneshot *o, struct buffer *b, bool to_device)
{
    const uint64_t row = (uint64_t)b->box.width * image_texel_bytes(b->array->format);
    if (to_device)
        rt_array_write(o->rt, b->array, &b->box, b->device, row, row * b->box.height);
    else
        rt_array_read(o->rt, b->array, &b->box, b->device, row, row * b->box.height);
}

/* tex: and surf:, the argument is the handle of an object of a new array. */
static uint64_t read_image(struct oneshot *o, struct cursor *c, struct buffer *b, bool surface)
{
    b->arg = c->source.text;
    const struct image_format format = read_format(c, b);
    if (*c->at != ':') WRONG(c, 1, "the size is missing: WIDTH, WIDTHxHEIGHT or WIDTHxHEIGHTxDEPTH");
    c->at++;
    const struct image_shape shape = read_shape(c);
    b->box = (struct rt_box){.width = shape.width,
                             .height = shape.height ? shape.height : 1,
                             .planes = shape.depth ? shape.depth : 1};
    b->count = (uint64_t)b->box.width * b->box.height * b->box.planes * format.channels;
    b->dump = NOTHING;
    b->array = rt_array_create(o->rt, &shape, format, b->arg);
    b->device = arena_alloc(&o->arena, b->count * b->type->bytes);
    struct image_texture t = {.array = b->array, .address = {IMAGE_CLAMP, IMAGE_CLAMP, IMAGE_CLAMP}};
    while (*c->at == ':') {
        c->at++;
        if (surface || !read_mode(c, &t)) read_property(o, c, b);
    }
    if (*c->at) WRONG(c, strlen(c->at), "this does not belong to an image");
    copy_image(o, b, true);
    return surface ? rt_surface_create(o->rt, b->array) : rt_texture_create(o->rt, &t);
}

/* ---- arguments ---- */

enum { NO_DIGIT = 16 };

static uint32_t digit(char c)
{
    if (c >= '0' && c <= '9') return (uint32_t)(c - '0');
    if (c >= 'a' && c <= 'f') return (uint32_t)(c - 'a' + 10);
    return c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10) : NO_DIGIT;
}

/* hex:00112233...: the bytes of the parameter as they lie in memory. */
static void read_bytes(struct cursor *c, const struct ptx_symbol *param, uint8_t *to)
{
    const size_t n = strlen(c->at);
    for (size_t k = 0; k < n; k++) {
        if (digit(c->at[k]) != NO_DIGIT) continue;
        c->at += k;
        WRONG(c, 1, "this is not a hexadecimal digit");
    }
    if (n != 2 * param->size_bytes)
        WRONG(c, n ? n : 1, "parameter '%s' has %llu bytes: %llu digits are expected, not %zu", param->name,
              (unsigned long long)param->size_bytes, (unsigned long long)(2 * param->size_bytes), n);
    for (size_t k = 0; k < param->size_bytes; k++)
        to[k] = (uint8_t)(digit(c->at[2 * k]) << 4 | digit(c->at[2 * k + 1]));
}

/* TYPE:NUMBER */
static void read_typed(struct cursor *c, const struct ptx_symbol *param, uint8_t *to)
{
    const size_t n = word(c);
    const struct type *t = read_type(c);
    if (t->bytes != param->size_bytes) {
        c->at -= n;
        WRONG(c, n, "parameter '%s' has %llu bytes, not %u", param->name,
              (unsigned long long)param->size_bytes, t->bytes);
    }
    c->at++;
    read_number(c, t, to);
}

/* A number of the parameter's own type. An `int` of C is .u32 in PTX, so a sign fits all but floats. */
static void read_plain(struct oneshot *o, struct cursor *c, const struct ptx_symbol *param, uint8_t *to)
{
    const bool is_float = ptx_type_kind(param->type) == 'F' && param->size_bytes >= 4;
    if (param->is_array || param->size_bytes > 8)
        WRONG(c, strlen(c->at),
              "parameter '%s' is a structure of %llu bytes: give them as hex: and %llu digits (a structure "
              "that "
              "holds pointers needs a host script: docs/workloads-howto.md)",
              param->name, (unsigned long long)param->size_bytes,
              (unsigned long long)(2 * param->size_bytes));
    const struct type own = {
        arena_printf(&o->arena, "parameter '%s', .%s", param->name, ptx_type_name(param->type)),
        is_float ? 'F' : 'B', (uint8_t)param->size_bytes};
    read_number(c, &own, to);
}

static void read_argument(struct oneshot *o, const char *text, const struct ptx_symbol *param, uint8_t *to)
{
    struct cursor c = {.source = {"--arg", text, strlen(text)}, .at = text};
    if (!strncmp(text, "buf:", 4)) {
        if (param->size_bytes != 8)
            WRONG(&c, strlen(text), "parameter '%s' has %llu bytes; a buffer's address has 8", param->name,
                  (unsigned long long)param->size_bytes);
        c.at += 4;
        void *device = read_buffer(o, &c, &o->buffers[o->count++]);
        memcpy(to, &device, 8);
        return;
    }
    const bool surface = !strncmp(text, "surf:", 5);
    if (surface || !strncmp(text, "tex:", 4)) {
        if (param->size_bytes != 8)
            WRONG(&c, strlen(text), "parameter '%s' has %llu bytes; the handle of an object has 8",
                  param->name, (unsigned long long)param->size_bytes);
        c.at += surface ? 5 : 4;
        const uint64_t handle = read_image(o, &c, &o->buffers[o->count++], surface);
        memcpy(to, &handle, 8);
        return;
    }
    if (!strncmp(text, "hex:", 4)) {
        c.at += 4;
        read_bytes(&c, param, to);
        return;
    }
    if (strchr(text, ':'))
        read_typed(&c, param, to);
    else
        read_plain(o, &c, param, to);
    if (*c.at) WRONG(&c, strlen(c.at), "this is not part of a number");
}

struct oneshot *oneshot_start(struct rt_context *rt, const struct oneshot_request *r)
{
    struct oneshot *o = calloc(1, sizeof *o);
    if (!o) diag_mistake("out of host memory");
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, (void (*)(void *))oneshot_free, o);
    o->rt = rt;
    arena_init(&o->arena);
    o->buffers = ARENA_ARRAY(&o->arena, struct buffer, r->arg_count + 1);
    for (uint32_t n = 0; n < r->path_count; n++) (void)rt_module_load_file(rt, r->paths[n]);
    struct rt_kernel *k = rt_kernel_find_any(rt, r->entry);
    const struct ptx_func *f = rt_kernel_ptx(k);
    if (f->n_params != r->arg_count)
        diag_mistake("kernel '%s' takes %u arguments: %u are given with --arg", f->name, f->n_params,
                     r->arg_count);
    const void **values = ARENA_ARRAY(&o->arena, const void *, r->arg_count + 1);
    for (uint32_t n = 0; n < r->arg_count; n++) {
        const struct ptx_symbol *param = &f->module->symbols[f->first_param + f->n_rets + n];
        uint8_t *to = arena_alloc_aligned(&o->arena, param->size_bytes < 8 ? 8 : param->size_bytes, 8);
        read_argument(o, arena_strdup(&o->arena, r->args[n]), param, to);
        values[n] = to;
    }
    rt_launch(rt, &(struct rt_launch){.kernel = k,
                                      .grid = r->grid,
                                      .block = r->block,
                                      .dynamic_shared_bytes = r->dynamic_shared_bytes,
                                      .cooperative = r->cooperative,
                                      .args = values,
                                      .arg_count = r->arg_count});
    diag_done(&cleanup, false);
    return o;
}

/* ---- afterwards ---- */

__attribute__((format(printf, 2, 3))) static void say(struct oneshot *o, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const size_t len = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    if (o->len + len + 1 > o->cap) {
        o->cap = 2 * o->cap + len + 4096;
        char *grown = realloc(o->text, o->cap);
        if (!grown) diag_mistake("out of host memory");
        o->text = grown;
    }
    memcpy(o->text + o->len, line, len + 1);
    o->len += len;
}

static void say_element(struct oneshot *o, const struct buffer *b, uint64_t i)
{
    const uint8_t *at = b->device + i * b->type->bytes;
    uint64_t u = 0;
    memcpy(&u, at, b->type->bytes);
    const uint32_t shift = 64 - 8u * b->type->bytes;
    if (b->type->kind == 'F')
        say(o, " %.*g", b->type->bytes == 4 ? 9 : 17, get_number(at, b->type));
    else if (b->type->kind == 'U')
        say(o, " %llu", (unsigned long long)u);
    else
        say(o, " %lld", (long long)((int64_t)(u << shift) >> shift));
}

static void save(const struct buffer *b)
{
    FILE *f = fopen(b->save, "wb");
    if (!f) diag_mistake("cannot write '%s': %s", b->save, strerror(errno));
    const size_t bytes = b->count * b->type->bytes, put = fwrite(b->device, 1, bytes, f);
    if (fclose(f) || put != bytes) diag_mistake("cannot write '%s': %s", b->save, strerror(errno));
}

const char *oneshot_finish(struct oneshot *o)
{
    for (uint32_t n = 0; n < o->count; n++) {
        struct buffer *b = &o->buffers[n];
        if (b->array) copy_image(o, b, false);
        if (b->dump != NOTHING) {
            say(o, "%s:", b->arg);
            for (uint64_t i = 0; i < b->dump; i++) say_element(o, b, i);
            say(o, b->dump < b->count ? " ...\n" : "\n");
        }
        if (b->sum) {
            double sum = 0;
            for (uint64_t i = 0; i < b->count; i++)
                sum += get_number(b->device + i * b->type->bytes, b->type);
            say(o, "%s: sum %.17g\n", b->arg, sum);
        }
        if (b->save) save(b);
    }
    return o->text ? o->text : "";
}

void oneshot_free(struct oneshot *o)
{
    if (!o) return;
    free(o->text);
    arena_free(&o->arena);
    free(o);
}
