/* oneshot: see oneshot.h. */
#include "runtime/oneshot.h"

#include <errno.h>
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
    char kind; /* 'S', 'U', 'F' */
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

static uint64_t read_count(struct cursor *c)
{
    char *end;
    errno = 0;
    uint64_t n = strtoull(c->at, &end, 0);
    if (end == c->at || errno || *c->at == '-') WRONG(c, word(c) ? word(c) : 1, "a count is missing here");
    const uint32_t shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift) end++;
    if (n << shift >> shift != n) WRONG(c, word(c), "this count is too large");
    c->at = end;
    return n << shift;
}

static double read_number(struct cursor *c, int64_t *integer, bool *is_integer)
{
    char *end, *end_of_integer;
    errno = 0;
    *integer =
        *c->at == '-' ? strtoll(c->at, &end_of_integer, 0) : (int64_t)strtoull(c->at, &end_of_integer, 0);
    const bool too_large = errno == ERANGE;
    const double value = strtod(c->at, &end);
    if (end == c->at) WRONG(c, word(c) ? word(c) : 1, "a number is missing here");
    *is_integer = end_of_integer == end && !too_large;
    c->at = end;
    return value;
}

static void put_number(uint8_t *to, const struct type *t, int64_t integer, double value, bool is_integer)
{
    if (t->kind == 'F') {
        const float f = (float)value;
        memcpy(to, t->bytes == 4 ? (const void *)&f : (const void *)&value, t->bytes);
    } else {
        if (!is_integer) integer = (int64_t)value;
        memcpy(to, &integer, t->bytes);
    }
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
        put_number(b->device + i * b->type->bytes, b->type, (int64_t)bits, unit, true);
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
        for (uint64_t i = 0; i < b->count; i++)
            put_number(b->device + i * bytes, b->type, (int64_t)i, (double)i, true);
    } else if (takes(c, "random")) {
        fill_random(b, equals_sign(c) ? read_count(c) : 1);
    } else if (takes(c, "value")) {
        int64_t integer;
        bool is_integer;
        if (!equals_sign(c)) WRONG(c, 1, "value=NUMBER");
        const double value = read_number(c, &integer, &is_integer);
        for (uint64_t i = 0; i < b->count; i++)
            put_number(b->device + i * bytes, b->type, integer, value, is_integer);
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

/* ---- arguments ---- */

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
    const struct type *t = NULL;
    struct type own = {"", ptx_type_kind(param->type), (uint8_t)param->size_bytes};
    if (strchr(text, ':')) {
        t = read_type(&c);
        if (t->bytes != param->size_bytes) {
            c.at = text;
            WRONG(&c, strlen(t->name), "parameter '%s' has %llu bytes, not %u", param->name,
                  (unsigned long long)param->size_bytes, t->bytes);
        }
        c.at++;
    }
    int64_t integer;
    bool is_integer;
    const double value = read_number(&c, &integer, &is_integer);
    if (*c.at) WRONG(&c, strlen(c.at), "this is not part of a number");
    if (!t) {
        if (param->size_bytes > 8) {
            c.at = text;
            WRONG(&c, strlen(text), "parameter '%s' is a structure of %llu bytes: not possible here",
                  param->name, (unsigned long long)param->size_bytes);
        }
        /* .b32 and .u32 parameters may hold a float: a fraction says so */
        if (!is_integer && (own.bytes == 4 || own.bytes == 8)) own.kind = 'F';
        t = &own;
    }
    put_number(to, t, integer, value, is_integer);
}

static struct rt_kernel *find_kernel(struct rt_module *m, const struct oneshot_request *r)
{
    if (r->entry) return rt_kernel_find(m, r->entry);
    const char *only = rt_module_only_kernel(m);
    if (!only) diag_mistake("%s has not exactly one kernel: choose with --entry NAME", r->path);
    return rt_kernel_find(m, only);
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
    struct rt_kernel *k = find_kernel(rt_module_load_file(rt, r->path), r);
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
        const struct buffer *b = &o->buffers[n];
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
