/* Textures and surfaces: every geometry, format, filter and address mode against a reference that is written
 * here from the appendix "Texture Fetching" of the CUDA programming guide and shares nothing with the code.
 */
#include <math.h>

#include "exec/exec.h"
#include "runtime_testbed.h"

/* ---- a device with one kernel per instruction ---- */

enum { THREADS = 96, IN_WORDS = 12, OUT_WORDS = 5 };

struct device {
    struct rt_context *rt;
    uint32_t (*in)[IN_WORDS], (*out)[OUT_WORDS];
    struct diag diag;
    enum diag_kind kind;
    void (*body)(struct device *d);
    char ptx[8192];
    uint32_t kernels; /* each has its own name: modules of a context are linked */
    /* what the timing model is told of the last fetch and surface access of warp 0 */
    bool stepped;
    struct warp_op fetch, surface;
    uint64_t texels[512];
};

/* Runs a launch one instruction at a time, as the timing model does. */
static void step_launch(void *user, struct exec_launch *l)
{
    struct device *d = user;
    if (!d->stepped) {
        exec_launch_run(l);
        return;
    }
    struct exec_block *b = exec_block_create(l, 0, 0);
    struct warp_op op;
    while (!exec_block_done(b))
        for (uint32_t w = 0; w < l->warps_per_block; w++) {
            if (exec_warp_step(b, w, &op) != WARP_STEP_OP || w) continue;
            if (op.info->class == WARP_CLASS_TEXTURE) {
                d->fetch = op;
                memcpy(d->texels, op.texels, op.texel_count * sizeof *op.texels);
            } else if (op.info->class == WARP_CLASS_STORE && op.space == WARP_SPACE_GLOBAL &&
                       op.mask != UINT32_MAX) {
                d->surface = op;
            }
        }
    exec_block_retire(b);
    exec_launch_end(l);
}

static void device_body(void *arg)
{
    struct device *d = arg;
    d->rt = rt_create(
        &(struct rt_options){.reserve_bytes = (uint64_t)1 << 30, .execute = step_launch, .execute_user = d});
    d->in = rt_alloc(d->rt, sizeof(uint32_t[THREADS][IN_WORDS]), "in");
    d->out = rt_alloc(d->rt, sizeof(uint32_t[THREADS][OUT_WORDS]), "out");
    d->body(d);
}

static void with_device(void (*body)(struct device *d))
{
    struct device *d = calloc(1, sizeof *d);
    assert_non_null(d);
    d->body = body;
    diag_init(&d->diag);
    d->kind = diag_run(&d->diag, device_body, d);
    rt_destroy(d->rt);
    if (d->kind != DIAG_NONE) fail_msg("%s", d->diag.text);
    diag_clear(&d->diag);
    free(d);
}

/* The body of a kernel: %t the object, %c0-11 the words of the thread in `in`, %o0-4 what goes to `out`. */
static struct rt_kernel *kernel(struct device *d, const char *body)
{
    char *at = d->ptx, *const end = d->ptx + sizeof d->ptx, name[16];
    snprintf(name, sizeof name, "k%u", d->kernels++);
    at += snprintf(
        at, (size_t)(end - at),
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry %s(.param .u64 p0, .param .u64 "
        "p1, .param .u64 p2)\n{\n.reg .pred %%p<4>;\n.reg .b16 %%h<8>;\n.reg .b32 %%c<12>;\n.reg .b32 "
        "%%o<8>;\n.reg .b64 %%q<4>;\n.reg .b32 %%x;\n.reg .b64 %%a<4>;\n.reg .b64 %%t;\n"
        "ld.param.u64 %%a0, [p0];\nld.param.u64 %%a1, [p1];\nld.param.u64 %%t, [p2];\n"
        "mov.u32 %%x, %%tid.x;\nmad.wide.u32 %%a1, %%x, %d, %%a1;\nmad.wide.u32 %%a0, %%x, %d, %%a0;\n",
        name, 4 * IN_WORDS, 4 * OUT_WORDS);
    for (int k = 0; k < IN_WORDS; k++)
        at += snprintf(at, (size_t)(end - at), "ld.global.u32 %%c%d, [%%a1+%d];\n", k, 4 * k);
    for (int k = 0; k < OUT_WORDS; k++) at += snprintf(at, (size_t)(end - at), "mov.u32 %%o%d, 0xdead;\n", k);
    at += snprintf(at, (size_t)(end - at), "%s\n", body);
    for (int k = 0; k < OUT_WORDS; k++)
        at += snprintf(at, (size_t)(end - at), "st.global.u32 [%%a0+%d], %%o%d;\n", 4 * k, k);
    snprintf(at, (size_t)(end - at), "ret;\n}\n");
    return rt_kernel_find(rt_module_load(d->rt, "test.ptx", d->ptx, strlen(d->ptx)), name);
}

static void launch(struct device *d, struct rt_kernel *k, uint64_t object)
{
    const void *args[] = {&d->out, &d->in, &object};
    rt_launch(d->rt,
              &(struct rt_launch){
                  .kernel = k, .grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .args = args, .arg_count = 3});
    rt_wait(d->rt);
}

static uint32_t random_state = 12345;
static uint32_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}
static uint32_t below(uint32_t n) { return random_word() % n; }

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* ---- the reference ---- */

/* A tight copy of an image: texels[((level)plane * height + y) * width + x] of up to four channels. */
struct reference {
    struct image_format format;
    uint32_t width, height, planes;
    struct image_texture modes;
    uint8_t *bytes;
};

static long double half_value(uint32_t h)
{
    const long double sign = h & 0x8000 ? -1 : 1;
    const int e = (int)(h >> 10 & 31);
    const long double m = h & 1023;
    if (e == 31) return m != 0 ? (long double)NAN : sign * (long double)INFINITY;
    return sign * (e ? ldexpl(1024 + m, e - 25) : ldexpl(m, -24));
}

/* What integers are divided by. */
static long double ref_scale(const struct reference *r)
{
    if (!r->modes.normalized_float) return 1;
    return ldexpl(1, r->format.bits - (r->format.kind == IMAGE_SIGNED)) - 1;
}

/* A channel as number; fractions in units of 1 / ref_scale(). */
static long double ref_channel(const struct reference *r, uint64_t texel, uint32_t channel)
{
    const uint32_t bytes = r->format.bits / 8u;
    const uint8_t *at = r->bytes + (texel * r->format.channels + channel) * bytes;
    uint32_t u = 0;
    for (uint32_t k = bytes; k-- > 0;) u = u << 8 | at[k];
    if (r->format.kind == IMAGE_FLOAT) return bytes == 2 ? half_value(u) : (long double)float_of(u);
    long double v = u;
    if (r->format.kind == IMAGE_SIGNED) {
        const long double range = ldexpl(1, r->format.bits);
        if (v >= range / 2) v -= range;
    }
    return r->modes.normalized_float && v < -ref_scale(r) ? -ref_scale(r) : v;
}

/* Where a texel number leads; -1: outside. */
static long long ref_wrap(long long i, uint32_t n, uint8_t mode)
{
    if (i >= 0 && i < (long long)n) return i;
    if (mode == IMAGE_BORDER) return -1;
    if (mode == IMAGE_CLAMP) return i < 0 ? 0 : (long long)n - 1;
    if (mode == IMAGE_WRAP) return i < 0 ? i + (long long)n : i - (long long)n; /* one beyond at most */
    return i < 0 ? 0 : (long long)n - 1; /* mirror: its own neighbour */
}

static long double ref_texel(const struct reference *r, const long long at[3], uint32_t channel)
{
    if (at[0] < 0 || at[1] < 0 || at[2] < 0) return ref_scale(r) * (long double)r->modes.border[channel];
    const uint64_t texel = ((uint64_t)at[2] * r->height + (uint64_t)at[1]) * r->width + (uint64_t)at[0];
    return ref_channel(r, texel, channel);
}

/* Position in texels after the rule of the guide for coordinates outside. */
static long double ref_position(float x, uint32_t n, uint8_t mode, bool normalized)
{
    long double c = (long double)x;
    if (!normalized) return c;
    if (mode == IMAGE_WRAP) c = c - floorl(c);
    if (mode == IMAGE_MIRROR) {
        const long double f = c - floorl(c);
        c = fmodl(floorl(c), 2) == 0 ? f : 1 - f;
    }
    return c * n;
}

/* One fetch: dims coordinates x, in plane (layer or face) or with a third coordinate. */
static long double ref_fetch(const struct reference *r, const float *x, uint32_t dims, uint32_t plane,
                             bool clamp_only, uint32_t channel)
{
    const uint32_t size[3] = {r->width, r->height, r->planes};
    long long low[3] = {0, 0, plane}, high[3] = {0, 0, plane};
    long double a[3] = {0, 0, 0};
    for (uint32_t k = 0; k < dims; k++) {
        const uint8_t mode =
            clamp_only || (!r->modes.normalized_coords && r->modes.address[k] != IMAGE_BORDER)
                ? IMAGE_CLAMP
                : r->modes.address[k];
        long double p = ref_position(x[k], size[k], mode, r->modes.normalized_coords || clamp_only);
        if (r->modes.filter == IMAGE_POINT) {
            long long i = (long long)floorl(p);
            if (mode == IMAGE_MIRROR && i == (long long)size[k]) i--;
            low[k] = high[k] = ref_wrap(i, size[k], mode);
            continue;
        }
        p -= 0.5L;
        a[k] = roundl((p - floorl(p)) * 256) / 256;
        low[k] = ref_wrap((long long)floorl(p), size[k], mode);
        high[k] = ref_wrap((long long)floorl(p) + 1, size[k], mode);
    }
    long double sum = 0;
    for (uint32_t corner = 0; corner < 8; corner++) {
        long double weight = 1;
        long long at[3];
        for (uint32_t k = 0; k < 3; k++) {
            weight *= corner >> k & 1 ? a[k] : 1 - a[k];
            at[k] = corner >> k & 1 ? high[k] : low[k];
        }
        if (weight > 0) sum += weight * ref_texel(r, at, channel);
    }
    return sum / ref_scale(r);
}

/* Table of the guide. */
static uint32_t ref_face(const float d[3], float place[2])
{
    static const struct {
        int m, s, t, sign_s, sign_t;
    } rows[6] = {{0, 2, 1, -1, -1}, {0, 2, 1, 1, -1}, {1, 0, 2, 1, 1},
                 {1, 0, 2, 1, -1},  {2, 0, 1, 1, -1}, {2, 0, 1, -1, -1}};
    uint32_t major = 0;
    for (uint32_t k = 1; k < 3; k++)
        if (fabsf(d[k]) > fabsf(d[major])) major = k;
    const uint32_t face = 2 * major + (d[major] < 0);
    const float m = fabsf(d[major]);
    place[0] = ((float)rows[face].sign_s * d[rows[face].s] / m + 1) / 2;
    place[1] = ((float)rows[face].sign_t * d[rows[face].t] / m + 1) / 2;
    return face;
}

/* ---- every geometry, format and mode ---- */

enum geometry { G_1D, G_2D, G_3D, G_A1D, G_A2D, G_CUBE, G_ACUBE, G_COUNT };
static const char *const geometry_text[G_COUNT] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
static const char *const place_text[G_COUNT] = {"{%c1}",
                                                "{%c1, %c2}",
                                                "{%c1, %c2, %c3, %c3}",
                                                "{%c0, %c1}",
                                                "{%c0, %c1, %c2, %c2}",
                                                "{%c1, %c2, %c3, %c3}",
                                                "{%c0, %c1, %c2, %c3}"};

static struct image_shape shape_of(enum geometry g)
{
    switch (g) {
    case G_1D: return (struct image_shape){.width = 1 + below(40)};
    case G_2D: return (struct image_shape){.width = 1 + below(20), .height = 1 + below(12)};
    case G_3D:
        return (struct image_shape){.width = 1 + below(9), .height = 1 + below(7), .depth = 1 + below(6)};
    case G_A1D: return (struct image_shape){.width = 1 + below(20), .layers = 1 + below(4)};
    case G_A2D:
        return (struct image_shape){.width = 1 + below(9), .height = 1 + below(9), .layers = 1 + below(4)};
    default: {
        const uint32_t side = 1 + below(8);
        return (struct image_shape){
            .width = side, .height = side, .layers = g == G_CUBE ? 6 : 6 * (1 + below(3)), .cube = true};
    }
    }
}

static const struct image_format formats[] = {
    {IMAGE_UNSIGNED, 8, 1},  {IMAGE_SIGNED, 8, 1},  {IMAGE_UNSIGNED, 16, 1}, {IMAGE_SIGNED, 16, 1},
    {IMAGE_UNSIGNED, 32, 1}, {IMAGE_SIGNED, 32, 1}, {IMAGE_FLOAT, 16, 1},    {IMAGE_FLOAT, 32, 1}};

/* Any bits; floats are numbers of moderate size, so that sums show every weight. */
static void fill_texels(struct reference *r)
{
    const uint64_t channels = (uint64_t)r->width * r->height * r->planes * r->format.channels;
    for (uint64_t k = 0; k < channels; k++) {
        uint32_t v = random_word();
        if (r->format.kind == IMAGE_FLOAT && r->format.bits == 32)
            v = bits_of((float)(int32_t)v * 0x1p-20f);
        else if (r->format.kind == IMAGE_FLOAT)
            v = (v & 0x83ff) | (8 + v % 17) << 10;
        memcpy(r->bytes + k * (r->format.bits / 8u), &v, r->format.bits / 8u);
    }
}

static struct image_array *make_array(struct device *d, const struct image_shape *s, struct reference *r)
{
    struct image_array *a = rt_array_create(d->rt, s, r->format, NULL);
    r->width = s->width;
    r->height = s->height ? s->height : 1;
    r->planes = s->layers ? s->layers : s->depth ? s->depth : 1;
    const uint64_t row = (uint64_t)r->width * image_texel_bytes(r->format);
    r->bytes = malloc(row * r->height * r->planes);
    assert_non_null(r->bytes);
    fill_texels(r);
    rt_array_write(d->rt, a, &(struct rt_box){0, 0, 0, r->width, r->height, r->planes}, r->bytes, row,
                   row * r->height);
    return a;
}

static float random_coordinate(uint32_t size, bool normalized)
{
    const float n = normalized ? 1 : (float)size;
    switch (below(6)) {
    case 0: return n * ((float)below(size) + 0.5f) / (float)size; /* a texel's middle */
    case 1: return n * (float)below(2 * size) / (float)size;      /* an edge */
    case 2: return n * ((float)below(1024) / 512.0f - 0.5f);      /* between weights */
    default: return n * ((float)(random_word() >> 8) * 0x1p-22f - 1.5f);
    }
}

static void make_coordinates(struct device *d, enum geometry g, const struct reference *r)
{
    const uint32_t size[3] = {r->width, r->height, r->planes};
    const bool normalized = r->modes.normalized_coords;
    const uint32_t layers = g == G_ACUBE ? r->planes / 6 : r->planes;
    for (uint32_t t = 0; t < THREADS; t++) {
        d->in[t][0] = below(layers + 2) - (below(8) == 0);
        for (uint32_t k = 0; k < 3; k++)
            d->in[t][1 + k] = bits_of(g >= G_CUBE ? (float)(int32_t)random_word() * 0x1p-31f
                                                  : random_coordinate(size[k], normalized));
    }
}

static void check_channel(const struct reference *r, uint32_t got, long double want, uint32_t t,
                          const char *what)
{
    const bool is_float = r->format.kind == IMAGE_FLOAT || r->modes.normalized_float;
    if (is_float ? float_of(got) == (float)want : got == (uint32_t)(int64_t)want) return;
    fail_msg("%s, thread %u: %.9Lg instead of %.9Lg (%u x %u x %u, kind %u bits %u channels %u filter %u "
             "address %u "
             "%u normalized %d)",
             what, t, is_float ? (long double)float_of(got) : (long double)(int32_t)got, want, r->width,
             r->height, r->planes, r->format.kind, r->format.bits, r->format.channels, r->modes.filter,
             r->modes.address[0], r->modes.address[1], r->modes.normalized_coords);
}

static void check_fetches(struct device *d, enum geometry g, const struct reference *r)
{
    for (uint32_t t = 0; t < THREADS; t++) {
        float x[3], place[2];
        for (uint32_t k = 0; k < 3; k++) x[k] = float_of(d->in[t][1 + k]);
        const bool layered = g == G_A1D || g == G_A2D || g == G_ACUBE;
        const uint32_t layers = g == G_ACUBE ? r->planes / 6 : r->planes;
        const int32_t asked = (int32_t)d->in[t][0];
        uint32_t plane = !layered                  ? 0
                         : asked < 0               ? 0
                         : asked < (int32_t)layers ? (uint32_t)asked
                                                   : layers - 1;
        uint32_t dims = g == G_1D || g == G_A1D ? 1 : g == G_3D ? 3 : 2;
        if (g >= G_CUBE) plane = 6 * plane + ref_face(x, place);
        for (uint32_t c = 0; c < 4; c++) {
            long double want = c < 3 ? 0 : 1;
            if (c < r->format.channels)
                want = ref_fetch(r, g >= G_CUBE ? place : x, dims, plane, g >= G_CUBE, c);
            check_channel(r, d->out[t][c], want, t, geometry_text[g]);
        }
    }
}

static void random_modes(struct reference *r)
{
    r->format = formats[below(sizeof formats / sizeof *formats)];
    r->format.channels = (uint8_t)(1u << below(3));
    r->modes = (struct image_texture){.normalized_coords = below(2)};
    for (uint32_t k = 0; k < 3; k++) r->modes.address[k] = (uint8_t)below(4);
    const bool integer = r->format.kind != IMAGE_FLOAT;
    r->modes.normalized_float = integer && r->format.bits < 32 && below(2);
    const bool gives_float = !integer || r->modes.normalized_float;
    r->modes.filter = gives_float && below(3) ? IMAGE_LINEAR : IMAGE_POINT;
    for (uint32_t k = 0; k < 4 && below(2); k++)
        r->modes.border[k] = gives_float ? 0.25f * (float)(k + 1) : (float)(k + 3);
}

static void every_mode(struct device *d)
{
    enum { ROUNDS = 220 };
    for (enum geometry g = 0; g < G_COUNT; g++) {
        struct rt_kernel *kernels[3];
        static const char *const types[3] = {"f32", "s32", "u32"};
        for (uint32_t k = 0; k < 3; k++) {
            char body[256];
            snprintf(body, sizeof body, "tex.%s.v4.%s.f32 {%%o0, %%o1, %%o2, %%o3}, [%%t, %s];",
                     geometry_text[g], types[k], place_text[g]);
            kernels[k] = kernel(d, body);
        }
        for (uint32_t round = 0; round < ROUNDS; round++) {
            struct reference r = {0};
            random_modes(&r);
            const struct image_shape s = shape_of(g);
            r.modes.array = make_array(d, &s, &r);
            const uint64_t texture = rt_texture_create(d->rt, &r.modes);
            make_coordinates(d, g, &r);
            const bool is_float = r.format.kind == IMAGE_FLOAT || r.modes.normalized_float;
            launch(d, kernels[is_float ? 0 : r.format.kind == IMAGE_SIGNED ? 1 : 2], texture);
            check_fetches(d, g, &r);
            rt_texture_destroy(d->rt, texture);
            rt_array_free(d->rt, (struct image_array *)(uintptr_t)r.modes.array);
            free(r.bytes);
        }
    }
}

static void every_geometry_format_and_mode_follows_the_guide(void **state)
{
    (void)state;
    with_device(every_mode);
}

/* ---- closed answers ---- */

static uint64_t small_texture(struct device *d, const void *texels, struct image_shape s,
                              struct image_format f, struct image_texture modes, struct image_array **array)
{
    struct image_array *a = rt_array_create(d->rt, &s, f, NULL);
    const uint64_t row = (uint64_t)s.width * image_texel_bytes(f);
    const uint32_t height = s.height ? s.height : 1, planes = s.layers ? s.layers : s.depth ? s.depth : 1;
    rt_array_write(d->rt, a, &(struct rt_box){0, 0, 0, s.width, height, planes}, texels, row, row * height);
    modes.array = a;
    if (array) *array = a;
    return rt_texture_create(d->rt, &modes);
}

static const struct image_format f32x1 = {IMAGE_FLOAT, 32, 1}, f32x4 = {IMAGE_FLOAT, 32, 4},
                                 u8x4 = {IMAGE_UNSIGNED, 8, 4}, u32x1 = {IMAGE_UNSIGNED, 32, 1};

/* Between 0 and 256 the value is the weight itself: 8 bits, rounded. */
static void weights(struct device *d)
{
    const float texels[2] = {0, 256};
    const uint64_t texture =
        small_texture(d, texels, (struct image_shape){.width = 2}, f32x1,
                      (struct image_texture){.filter = IMAGE_LINEAR, .address = {1, 1, 1}}, NULL);
    struct rt_kernel *k = kernel(d, "tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%c0}];");
    for (uint32_t t = 0; t < THREADS; t++) d->in[t][0] = bits_of(0.5f + (float)t / 1024);
    d->in[95][0] = bits_of(1.4990f); /* rounds to weight 1 */
    d->in[94][0] = bits_of(-7);
    d->in[93][0] = bits_of(1e30f);
    d->in[92][0] = bits_of(NAN); /* as 0 */
    launch(d, k, texture);
    for (uint32_t t = 0; t < 92; t++) assert_true(float_of(d->out[t][0]) == (float)((t + 2) / 4));
    assert_true(float_of(d->out[95][0]) == 256);
    assert_true(float_of(d->out[94][0]) == 0);
    assert_true(float_of(d->out[93][0]) == 256);
    assert_true(float_of(d->out[92][0]) == 0);
    assert_true(float_of(d->out[0][1]) == 0 && float_of(d->out[0][3]) == 1); /* absent channels */
}

static void weights_have_eight_bits(void **state)
{
    (void)state;
    with_device(weights);
}

/* Fractions of every value of 8 and 16 bits are those of a single division. */
static void fractions(struct device *d)
{
    struct rt_kernel *k = kernel(d, "tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%c0}];");
    for (uint32_t bits = 8; bits <= 16; bits += 8)
        for (uint32_t kind = IMAGE_UNSIGNED; kind <= IMAGE_SIGNED; kind++) {
            const uint32_t count = 1u << bits, step = bits == 8 ? 1 : 683;
            uint8_t *values = rt_alloc(d->rt, (uint64_t)count * bits / 8, "values");
            for (uint32_t v = 0; v < count; v++) memcpy(values + v * bits / 8, &v, bits / 8);
            const uint64_t texture =
                rt_texture_create(d->rt, &(struct image_texture){.source = IMAGE_FROM_LINEAR,
                                                                 .device = values,
                                                                 .width = count,
                                                                 .format = {(uint8_t)kind, (uint8_t)bits, 1},
                                                                 .normalized_float = true});
            for (uint32_t first = 0; first < count; first += THREADS * step) {
                for (uint32_t t = 0; t < THREADS; t++) d->in[t][0] = first + t * step;
                launch(d, k, texture);
                for (uint32_t t = 0; t < THREADS && first + t * step < count; t++) {
                    const uint32_t v = first + t * step;
                    const float scale = (float)((1u << (bits - kind)) - 1);
                    float want = (float)v / scale;
                    if (kind == IMAGE_SIGNED)
                        want = fmaxf((float)(bits == 8 ? (int8_t)v : (int16_t)v) / scale, -1);
                    assert_true(float_of(d->out[t][0]) == want);
                }
            }
            rt_texture_destroy(d->rt, texture);
        }
}

static void fractions_are_those_of_one_division(void **state)
{
    (void)state;
    with_device(fractions);
}

/* tex1Dfetch: linear memory, by texel number, zeros outside; bits are kept, NaNs too. */
static void linear_memory(struct device *d)
{
    uint32_t *memory = rt_alloc(d->rt, 4 * 64, "table");
    for (uint32_t k = 0; k < 64; k++) memory[k] = 0x7f800001u + 3 * k;
    const struct image_texture modes = {
        .source = IMAGE_FROM_LINEAR, .device = (uint8_t *)(memory + 4), .width = 48, .format = f32x1};
    const uint64_t texture = rt_texture_create(d->rt, &modes);
    struct rt_kernel *k =
        kernel(d, "tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}|%p1, [%t, {%c0}];\nselp.u32 %o4, 1, 0, %p1;");
    for (uint32_t t = 0; t < THREADS; t++) d->in[t][0] = t - 20;
    d->in[1][0] = 0x7fffffff;
    d->in[2][0] = 0x80000000;
    launch(d, k, texture);
    for (uint32_t t = 0; t < THREADS; t++) {
        const int32_t at = (int32_t)d->in[t][0];
        assert_int_equal(d->out[t][0], at >= 0 && at < 48 ? memory[4 + at] : 0);
        assert_int_equal(d->out[t][4], 1); /* all of it is resident */
    }
}

static void linear_memory_is_read_by_texel_number(void **state)
{
    (void)state;
    with_device(linear_memory);
}

/* Pitched memory in place of an array; half-precision results; vectors of four. */
static void pitched(struct device *d)
{
    enum { PITCH = 256, W = 10, H = 6 };
    uint8_t *memory = rt_alloc(d->rt, PITCH * H, "image");
    for (uint32_t y = 0; y < H; y++)
        for (uint32_t x = 0; x < W; x++)
            for (uint32_t c = 0; c < 4; c++) memory[y * PITCH + 4 * x + c] = (uint8_t)(16 * y + x + 60 * c);
    const struct image_texture modes = {.source = IMAGE_FROM_PITCH,
                                        .device = memory,
                                        .width = W,
                                        .height = H,
                                        .row_bytes = PITCH,
                                        .format = u8x4,
                                        .normalized_float = true,
                                        .address = {1, 1, 1}};
    const uint64_t texture = rt_texture_create(d->rt, &modes);
    struct rt_kernel *halves =
        kernel(d, "tex.2d.v2.f16x2.f32 {%o0, %o1}, [%t, {%c0, %c1}];\ntex.2d.v4.f16.f32 {%h0, %h1, %h2, "
                  "%h3}, [%t, {%c0, %c1}];\ncvt.u32.u16 %o2, %h2;\ncvt.u32.u16 %o3, %h3;");
    struct rt_kernel *whole = kernel(d, "tex.2d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%c2, %c3}];");
    for (uint32_t t = 0; t < THREADS; t++) {
        d->in[t][0] = bits_of((float)(t % 12) - 0.5f);
        d->in[t][1] = bits_of((float)(t / 12) - 0.5f);
        d->in[t][2] = t % 12 - 1;
        d->in[t][3] = t / 12 - 1;
    }
    uint32_t first[THREADS][4];
    launch(d, whole, texture);
    for (uint32_t t = 0; t < THREADS; t++) memcpy(first[t], d->out[t], sizeof first[t]);
    launch(d, halves, texture);
    for (uint32_t t = 0; t < THREADS; t++) {
        int32_t x = (int32_t)(t % 12) - 1, y = (int32_t)(t / 12) - 1;
        x = x < 0 ? 0 : x > W - 1 ? W - 1 : x;
        y = y < 0 ? 0 : y > H - 1 ? H - 1 : y;
        for (uint32_t c = 0; c < 4; c++) {
            const uint8_t byte = (uint8_t)(16 * y + x + (int32_t)(60 * c));
            assert_true(float_of(first[t][c]) == (float)byte / 255);
            const uint32_t half = d->out[t][c / 2] >> 16 * (c % 2) & 0xffff;
            assert_true(fabsl(half_value(half) - byte / 255.0L) <= 0x1p-12L);
            if (c > 1) assert_int_equal(d->out[t][c], half);
        }
    }
}

static void pitched_memory_and_half_results(void **state)
{
    (void)state;
    with_device(pitched);
}

/* tld4: component of the four texels, counter-clockwise from the lower left; offsets. */
static void gathers(struct device *d)
{
    float texels[6][8][4];
    for (uint32_t y = 0; y < 6; y++)
        for (uint32_t x = 0; x < 8; x++)
            for (uint32_t c = 0; c < 4; c++) texels[y][x][c] = (float)(100 * c + 10 * y + x);
    const uint64_t texture = small_texture(d, texels, (struct image_shape){.width = 8, .height = 6}, f32x4,
                                           (struct image_texture){.address = {1, 1, 1}}, NULL);
    static const char *const component[] = {"r", "g", "b", "a"};
    for (uint32_t c = 0; c < 4; c++) {
        char body[200];
        snprintf(body, sizeof body, "tld4.%s.2d.v4.f32.f32 {%%o0, %%o1, %%o2, %%o3}, [%%t, {%%c0, %%c1}]%s;",
                 component[c], c == 3 ? ", {%c2, %c3}" : "");
        struct rt_kernel *k = kernel(d, body);
        for (uint32_t t = 0; t < THREADS; t++) {
            d->in[t][0] = bits_of((float)(t % 8) + 0.75f);
            d->in[t][1] = bits_of((float)(t / 16) + 0.75f);
            d->in[t][2] = 1;
            d->in[t][3] = 0xffffffff;
        }
        launch(d, k, texture);
        for (uint32_t t = 0; t < THREADS; t++) {
            const int32_t x0 = (int32_t)(t % 8) + (c == 3), y0 = (int32_t)(t / 16) - (c == 3);
            const int32_t xs[4] = {x0, x0 + 1, x0 + 1, x0}, ys[4] = {y0 + 1, y0 + 1, y0, y0};
            for (uint32_t n = 0; n < 4; n++) {
                const int32_t x = xs[n] > 7 ? 7 : xs[n], y = ys[n] > 5 ? 5 : ys[n] < 0 ? 0 : ys[n];
                assert_true(float_of(d->out[t][n]) == (float)(100 * (int32_t)c + 10 * y + x));
            }
        }
    }
}

static void gather_takes_a_component_of_four_texels(void **state)
{
    (void)state;
    with_device(gathers);
}

/* A mipmap whose level n is n everywhere: the result is the level itself. */
static void levels(struct device *d)
{
    const struct image_shape s = {.width = 16, .height = 16, .levels = 5};
    struct image_array *a = rt_array_create(d->rt, &s, f32x1, NULL);
    for (uint32_t n = 0; n < 5; n++) {
        struct image_array *l = rt_array_level(d->rt, a, n);
        assert_int_equal(l->shape.width, 16 >> n);
        assert_ptr_equal(l, rt_array_level(d->rt, a, n));
        float value[256];
        for (uint32_t k = 0; k < 256; k++) value[k] = (float)n;
        rt_array_write(d->rt, l, &(struct rt_box){0, 0, 0, 16u >> n, 16u >> n, 1}, value, 4 * (16u >> n), 0);
    }
    struct image_texture modes = {.array = a,
                                  .normalized_coords = true,
                                  .filter = IMAGE_LINEAR,
                                  .mip_filter = IMAGE_LINEAR,
                                  .level_most = 10};
    const uint64_t smooth = rt_texture_create(d->rt, &modes);
    modes.mip_filter = IMAGE_POINT;
    modes.level_bias = 0.5f;
    modes.level_least = 1;
    modes.level_most = 3;
    const uint64_t steps = rt_texture_create(d->rt, &modes);
    struct rt_kernel *level =
        kernel(d, "tex.level.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%c0, %c1}], %c2;\n"
                  "tex.2d.v4.f32.f32 {%o4, %o1, %o2, %o3}, [%t, {%c0, %c1}];");
    struct rt_kernel *grad =
        kernel(d, "tex.grad.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%c0, %c1}], {%c2, %c3}, {%c4, %c5};");
    for (uint32_t t = 0; t < THREADS; t++) {
        d->in[t][0] = bits_of((float)t / 64);
        d->in[t][1] = bits_of(0.3f);
        d->in[t][2] = bits_of((float)t / 16 - 1);
    }
    launch(d, level, smooth);
    for (uint32_t t = 0; t < THREADS; t++) {
        const float want = fminf(fmaxf((float)t / 16 - 1, 0), 4);
        assert_true(float_of(d->out[t][0]) == want);
        assert_true(float_of(d->out[t][4]) == 0);
    }
    launch(d, level, steps);
    for (uint32_t t = 0; t < THREADS; t++) {
        const float want = fminf(fmaxf((float)t / 16 - 1 + 0.5f, 1), 3);
        assert_true(float_of(d->out[t][0]) == floorf(want + 0.5f));
        assert_true(float_of(d->out[t][4]) == 1);
    }
    for (uint32_t t = 0; t < THREADS; t++) { /* the longer of (2^t, 0) and (0, 3 / 5 and 4 / 5 of 1) texels */
        d->in[t][2] = bits_of(ldexpf(1, (int)(t % 6)) / 16);
        d->in[t][3] = 0;
        d->in[t][4] = bits_of(0.6f / 16);
        d->in[t][5] = bits_of(-0.8f / 16);
    }
    launch(d, grad, smooth);
    for (uint32_t t = 0; t < THREADS; t++) assert_true(float_of(d->out[t][0]) == fminf((float)(t % 6), 4));
    struct rt_kernel *ask =
        kernel(d, "txq.num_mipmap_levels.b32 %o0, [%t];\ntxq.level.width.b32 %o1, [%t], %c0;\n"
                  "txq.level.height.b32 %o2, [%t], 2;");
    for (uint32_t t = 0; t < THREADS; t++) d->in[t][0] = t % 5;
    launch(d, ask, smooth);
    for (uint32_t t = 0; t < THREADS; t++) {
        assert_int_equal(d->out[t][0], 5);
        assert_int_equal(d->out[t][1], 16 >> (t % 5));
        assert_int_equal(d->out[t][2], 4);
    }
}

static void levels_of_a_mipmap_are_chosen_and_blended(void **state)
{
    (void)state;
    with_device(levels);
}

static void srgb(struct device *d)
{
    uint8_t texels[64][4];
    for (uint32_t k = 0; k < 64; k++) memset(texels[k], (int)(4 * k), 4);
    const uint64_t texture = small_texture(
        d, texels, (struct image_shape){.width = 64}, u8x4,
        (struct image_texture){.normalized_float = true, .srgb = true, .address = {1, 1, 1}}, NULL);
    struct rt_kernel *k = kernel(d, "tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%c0}];");
    for (uint32_t t = 0; t < THREADS; t++) d->in[t][0] = t;
    launch(d, k, texture);
    for (uint32_t t = 0; t < 64; t++) {
        const double c = 4.0 * t / 255, want = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
        assert_true(fabs((double)float_of(d->out[t][1]) - want) < 1e-7);
        assert_true(float_of(d->out[t][3]) == (float)(4 * t) / 255); /* alpha is not encoded */
    }
}

static void srgb_is_decoded_but_for_alpha(void **state)
{
    (void)state;
    with_device(srgb);
}

/* ---- questions ---- */

static void questions(struct device *d)
{
    const struct image_shape s = {.width = 12, .height = 7, .layers = 3};
    struct image_array *a = rt_array_create(d->rt, &s, (struct image_format){IMAGE_SIGNED, 16, 2}, NULL);
    const struct image_texture modes = {.array = a,
                                        .filter = IMAGE_LINEAR,
                                        .normalized_float = true,
                                        .normalized_coords = true,
                                        .address = {IMAGE_WRAP, IMAGE_MIRROR, IMAGE_BORDER}};
    const uint64_t texture = rt_texture_create(d->rt, &modes), surface = rt_surface_create(d->rt, a);
    static const struct {
        const char *question;
        uint32_t texture, surface; /* UINT32_MAX: not asked */
    } rows[] = {{"width", 12, 12},
                {"height", 7, 7},
                {"depth", 0, 0},
                {"array_size", 3, 3},
                {"channel_data_type", 0x10d1, 0x10d8},
                {"channel_order", 0x10b2, 0x10b2},
                {"normalized_coords", 1, UINT32_MAX},
                {"filter_mode", 1, UINT32_MAX},
                {"addr_mode_0", 0, UINT32_MAX},
                {"addr_mode_1", 1, UINT32_MAX},
                {"addr_mode_2", 4, UINT32_MAX},
                {"num_mipmap_levels", 1, UINT32_MAX},
                {"num_samples", 1, UINT32_MAX},
                {"memory_layout", UINT32_MAX, 0}};
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        for (uint32_t which = 0; which < 2; which++) {
            char body[100];
            const uint32_t want = which ? rows[n].surface : rows[n].texture;
            if (want == UINT32_MAX) continue;
            snprintf(body, sizeof body, "%s.%s.b32 %%o0, [%%t];", which ? "suq" : "txq", rows[n].question);
            launch(d, kernel(d, body), which ? surface : texture);
            if (d->out[5][0] != want) fail_msg("%s gives %u instead of %u", body, d->out[5][0], want);
        }
    struct rt_kernel *is =
        kernel(d, "istypep.texref %p1, %t;\nselp.u32 %o0, 1, 0, %p1;\nistypep.surfref %p1, "
                  "%t;\nselp.u32 %o1, 1, 0, %p1;\nistypep.samplerref %p1, %t;\nselp.u32 %o2, 1, 0, %p1;");
    launch(d, is, texture);
    assert_true(d->out[9][0] == 1 && d->out[9][1] == 0 && d->out[9][2] == 0);
    launch(d, is, surface);
    assert_true(d->out[9][0] == 0 && d->out[9][1] == 1 && d->out[9][2] == 0);
}

static void questions_are_answered(void **state)
{
    (void)state;
    with_device(questions);
}

/* ---- surfaces ---- */

/* Bytes of every width go where a store to rows would put them, in every geometry. */
static void surface_widths(struct device *d)
{
    static const struct {
        const char *geometry, *place;
        struct image_shape shape;
        uint32_t rows, planes;
    } places[] = {{"1d", "{%c0}", {.width = 64}, 1, 1},
                  {"2d", "{%c0, %c1}", {.width = 64, .height = 8}, 8, 1},
                  {"3d", "{%c0, %c1, %c2, %c2}", {.width = 64, .height = 4, .depth = 3}, 4, 3},
                  {"a1d", "{%c2, %c0}", {.width = 64, .layers = 4}, 1, 4},
                  {"a2d", "{%c2, %c0, %c1, %c1}", {.width = 64, .height = 4, .layers = 4}, 4, 4}};
    static const struct {
        const char *type, *load, *store, *widen;
        uint32_t bytes;
    } kinds[] = {
        {"b8", "{%h0}", "{%h1}", "cvt.u16.u32 %h1, %c3;", 1},
        {"v4.b8", "{%h0, %h5, %h6, %h7}", "{%h1, %h2, %h3, %h4}",
         "cvt.u16.u32 %h1, %c3;\nshr.u32 %o1, %c3, 8;\ncvt.u16.u32 %h2, %o1;\nshr.u32 %o1, %c3, "
         "16;\ncvt.u16.u32 %h3, "
         "%o1;\nshr.u32 %o1, %c3, 24;\ncvt.u16.u32 %h4, %o1;",
         4},
        {"b16", "{%h0}", "{%h1}", "cvt.u16.u32 %h1, %c3;", 2},
        {"v2.b16", "{%h0, %h5}", "{%h1, %h2}",
         "cvt.u16.u32 %h1, %c3;\nshr.u32 %o1, %c3, 16;\ncvt.u16.u32 %h2, %o1;", 4},
        {"b32", "{%o0}", "{%c3}", "", 4},
        {"v2.b32", "{%o0, %o1}", "{%c3, %c4}", "", 8},
        {"v4.b32", "{%o0, %o1, %o2, %o3}", "{%c3, %c4, %c5, %c6}", "", 16},
        {"b64", "{%q0}", "{%q1}", "mov.b64 %q1, {%c3, %c4};", 8},
        {"v2.b64", "{%q0, %q2}", "{%q1, %q3}", "mov.b64 %q1, {%c3, %c4};\nmov.b64 %q3, {%c5, %c6};", 16},
    };
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            enum { ROW = 64 * 4 };
            char body[1000];
            struct image_array *a =
                rt_array_create(d->rt, &places[p].shape, (struct image_format){IMAGE_UNSIGNED, 8, 4}, NULL);
            const uint64_t surface = rt_surface_create(d->rt, a);
            const uint32_t n = kinds[k].bytes;
            uint8_t want[ROW * 4 * 8], got[ROW * 4 * 8];
            memset(want, 0, sizeof want);
            snprintf(body, sizeof body,
                     "%s\nsust.b.%s.%s.trap [%%t, %s], %s;\nsuld.b.%s.%s.trap %s, [%%t, %s];\n%s",
                     kinds[k].widen, places[p].geometry, kinds[k].type, places[p].place, kinds[k].store,
                     places[p].geometry, kinds[k].type, kinds[k].load, places[p].place,
                     strstr(kinds[k].load, "%h0")   ? "cvt.u32.u16 %o0, %h0;"
                     : strstr(kinds[k].load, "%q0") ? "mov.b64 {%o0, %o1}, %q0;"
                                                    : "");
            for (uint32_t t = 0; t < THREADS; t++) {
                const uint32_t x = t * n % ROW, y = t * 5 % places[p].rows, z = t * 3 % places[p].planes;
                d->in[t][0] = x;
                d->in[t][1] = y;
                d->in[t][2] = z;
                for (uint32_t w = 3; w < 7; w++) d->in[t][w] = random_word();
                memcpy(want + ((size_t)z * places[p].rows + y) * ROW + x, &d->in[t][3],
                       n); /* the highest lane wins */
            }
            launch(d, kernel(d, body), surface);
            rt_array_read(d->rt, a, &(struct rt_box){0, 0, 0, 64, places[p].rows, places[p].planes}, got, ROW,
                          (uint64_t)ROW * places[p].rows);
            if (memcmp(want, got, (size_t)ROW * places[p].rows * places[p].planes))
                fail_msg("%s stores wrong bytes", body);
            for (uint32_t t = 64; t < THREADS; t++) { /* the last warp reads its own */
                const uint32_t at = (d->in[t][2] * places[p].rows + d->in[t][1]) * ROW + d->in[t][0];
                uint32_t word = 0;
                memcpy(&word, want + at, n < 4 ? (k == 1 || k == 3 ? 1 : n) : k == 1 ? 1 : k == 3 ? 2 : 4);
                if (d->out[t][0] != word) fail_msg("%s, thread %u: %x, not %x", body, t, d->out[t][0], word);
            }
            rt_surface_destroy(d->rt, surface);
            rt_array_free(d->rt, a);
        }
}

static void surfaces_move_bytes_of_every_width(void **state)
{
    (void)state;
    with_device(surface_widths);
}

/* .clamp goes to the edge, .zero reads zeros and stores nothing. */
static void surface_borders(struct device *d)
{
    uint32_t texels[4][8], got[4][8];
    for (uint32_t k = 0; k < 32; k++) texels[k / 8][k % 8] = 100 + k;
    struct image_array *a;
    const uint64_t texture = small_texture(d, texels, (struct image_shape){.width = 8, .height = 4}, u32x1,
                                           (struct image_texture){.address = {1, 1, 1}}, &a);
    rt_texture_destroy(d->rt, texture);
    const uint64_t surface = rt_surface_create(d->rt, a);
    struct rt_kernel *read = kernel(
        d, "suld.b.2d.b32.clamp {%o0}, [%t, {%c0, %c1}];\nsuld.b.2d.b32.zero {%o1}, [%t, {%c0, %c1}];");
    for (uint32_t t = 0; t < THREADS; t++) {
        d->in[t][0] = 4 * (t % 12 - 2);
        d->in[t][1] = t / 12 - 2;
        d->in[t][2] = 1000 + t;
    }
    launch(d, read, surface);
    for (uint32_t t = 0; t < THREADS; t++) {
        const int32_t x = (int32_t)(t % 12) - 2, y = (int32_t)(t / 12) - 2;
        const bool inside = x >= 0 && x < 8 && y >= 0 && y < 4;
        const int32_t cx = x < 0 ? 0 : x > 7 ? 7 : x, cy = y < 0 ? 0 : y > 3 ? 3 : y;
        assert_int_equal(d->out[t][0], texels[cy][cx]);
        assert_int_equal(d->out[t][1], inside ? texels[cy][cx] : 0);
    }
    launch(d, kernel(d, "sust.b.2d.b32.zero [%t, {%c0, %c1}], {%c2};"), surface);
    rt_array_read(d->rt, a, &(struct rt_box){0, 0, 0, 8, 4, 1}, got, 32, 0);
    for (uint32_t t = 0; t < THREADS; t++) {
        const int32_t x = (int32_t)(t % 12) - 2, y = (int32_t)(t / 12) - 2;
        if (x >= 0 && x < 8 && y >= 0 && y < 4) texels[y][x] = 1000 + t;
    }
    assert_memory_equal(got, texels, sizeof got);
    launch(d, kernel(d, "sust.b.2d.b32.clamp [%t, {%c0, %c1}], {%c2};"), surface);
    rt_array_read(d->rt, a, &(struct rt_box){0, 0, 0, 8, 4, 1}, got, 32, 0);
    assert_int_equal(got[3][7], 1000 + 95); /* the last thread beyond that corner */
    assert_int_equal(got[0][0], 1000 + 26);
}

static void surfaces_end_as_the_instruction_says(void **state)
{
    (void)state;
    with_device(surface_borders);
}

/* sured: all lanes count; sust.p: values saturate to the format. */
static void surface_operations(struct device *d)
{
    static const struct {
        const char *op;
        uint32_t want;
    } rows[] = {{"add.2d.u32", 0 + 95 * 96 / 2 + 5},
                {"min.2d.s32", (uint32_t)-48 + 0},
                {"max.2d.u32", 0xffffffff},
                {"and.2d.b32", 0},
                {"or.2d.b32", 0xffffffff}};
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        const uint32_t start = 5;
        struct image_array *a;
        char body[200];
        (void)small_texture(d, &start, (struct image_shape){.width = 1, .height = 1}, u32x1,
                            (struct image_texture){0}, &a);
        const uint64_t surface = rt_surface_create(d->rt, a);
        snprintf(body, sizeof body, "sured.b.%s.trap [%%t, {0, 0}], %%c0;", rows[n].op);
        for (uint32_t t = 0; t < THREADS; t++) d->in[t][0] = n ? t - 48 : t;
        launch(d, kernel(d, body), surface);
        uint32_t got;
        rt_array_read(d->rt, a, &(struct rt_box){0, 0, 0, 1, 1, 1}, &got, 4, 4);
        if (got != rows[n].want) fail_msg("%s gives %x instead of %x", body, got, rows[n].want);
    }
    struct image_array *a = rt_array_create(d->rt, &(struct image_shape){.width = 96},
                                            (struct image_format){IMAGE_SIGNED, 8, 2}, NULL);
    const uint64_t surface = rt_surface_create(d->rt, a);
    for (uint32_t t = 0; t < THREADS; t++) {
        d->in[t][0] = t;
        d->in[t][1] = (t - 48) * 4;
        d->in[t][2] = t;
    }
    launch(d, kernel(d, "sust.p.1d.v2.b32.trap [%t, {%c0}], {%c1, %c2};"), surface);
    int8_t got[96][2];
    rt_array_read(d->rt, a, &(struct rt_box){0, 0, 0, 96, 1, 1}, got, 192, 0);
    for (int t = 0; t < THREADS; t++) {
        const int v = (t - 48) * 4;
        assert_int_equal(got[t][0], v > 127 ? 127 : v < -128 ? -128 : v);
        assert_int_equal(got[t][1], t);
    }
}

static void surfaces_reduce_and_convert(void **state)
{
    (void)state;
    with_device(surface_operations);
}

/* What a surface wrote, a texture of the same array reads in the next kernel. */
static void share(struct device *d)
{
    struct image_array *a =
        rt_array_create(d->rt, &(struct image_shape){.width = 96, .height = 2}, f32x1, NULL);
    const uint64_t surface = rt_surface_create(d->rt, a);
    const uint64_t texture =
        rt_texture_create(d->rt, &(struct image_texture){.array = a, .address = {1, 1, 1}});
    for (uint32_t t = 0; t < THREADS; t++) {
        d->in[t][0] = 4 * t;
        d->in[t][1] = bits_of((float)t * 1.5f);
        d->in[t][2] = t;
    }
    launch(d, kernel(d, "sust.b.2d.b32.trap [%t, {%c0, 1}], {%c1};"), surface);
    launch(d, kernel(d, "tex.2d.v4.f32.s32 {%o0, %o1, %o2, _}, [%t, {%c2, 1}];"), texture);
    for (uint32_t t = 0; t < THREADS; t++) assert_true(float_of(d->out[t][0]) == (float)t * 1.5f);
}

static void textures_read_what_surfaces_wrote(void **state)
{
    (void)state;
    with_device(share);
}

/* ---- what the timing model sees ---- */

/* All four texels of every lane's filter; none outside of the image; the lanes of a surface store that are
 * inside. */
static void touched(struct device *d)
{
    float texels[4][40];
    for (uint32_t k = 0; k < 160; k++) texels[k / 40][k % 40] = (float)k;
    struct image_array *a;
    const uint64_t smooth =
        small_texture(d, texels, (struct image_shape){.width = 40, .height = 4}, f32x1,
                      (struct image_texture){.filter = IMAGE_LINEAR, .address = {3, 3, 3}}, &a);
    struct rt_kernel *fetch = kernel(d, "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%c0, %c1}];");
    for (uint32_t t = 0; t < THREADS; t++) {
        d->in[t][0] = bits_of((float)t + 0.75f);
        d->in[t][1] = bits_of(2.25f);
        d->in[t][2] = 8 * t;
        d->in[t][3] = bits_of((float)t);
    }
    uint32_t whole[THREADS];
    launch(d, fetch, smooth);
    for (uint32_t t = 0; t < THREADS; t++) whole[t] = d->out[t][0];
    d->stepped = true;
    memset(d->out, 0, sizeof(uint32_t[THREADS][OUT_WORDS]));
    launch(d, fetch, smooth);
    for (uint32_t t = 0; t < THREADS; t++) assert_int_equal(d->out[t][0], whole[t]);
    assert_int_equal(d->fetch.texel_count, 32 * 4);
    assert_int_equal(d->fetch.texel_bytes, 4);
    assert_int_equal(d->fetch.mask, UINT32_MAX);
    for (uint32_t k = 0; k < 32 * 4; k++) {
        const uint64_t row = rt_simulated(d->rt, image_row(a, 0, 1 + k % 4 / 2, 0));
        assert_int_equal(d->texels[k], row + 4 * (k / 4 + k % 2));
    }
    for (uint32_t t = 0; t < THREADS; t++) d->in[t][1] = bits_of(t < 16 ? -7.0f : 0.25f);
    launch(d, fetch, smooth);
    assert_int_equal(d->fetch.texel_count, 16 * 2); /* half of the rest lies above the image */
    const uint64_t surface = rt_surface_create(d->rt, a);
    launch(d, kernel(d, "sust.b.2d.b32.zero [%t, {%c2, 3}], {%c3};"), surface);
    assert_int_equal(d->surface.mask, 0xfffff); /* bytes 0, 8 ... 152 of 160 */
    for (uint32_t lane = 0; lane < 20; lane++)
        assert_int_equal(warp_op_address(&d->surface, lane),
                         rt_simulated(d->rt, image_row(a, 0, 3, 0)) + 8 * lane);
    d->stepped = false;
}

static void the_timing_model_is_told_every_texel(void **state)
{
    (void)state;
    with_device(touched);
}

/* ---- mistakes ---- */

static const char *mistake_body;
static int mistake_case;

static void make_mistake(struct device *d)
{
    struct image_array *a =
        rt_array_create(d->rt, &(struct image_shape){.width = 8, .height = 4}, u32x1, "picture");
    struct image_array *solid =
        rt_array_create(d->rt, &(struct image_shape){.width = 4, .height = 4, .depth = 4}, u32x1, NULL);
    uint32_t *memory = rt_alloc(d->rt, 256, "table");
    const struct image_texture modes = {.array = a, .address = {1, 1, 1}};
    uint64_t object = rt_texture_create(d->rt, &modes);
    switch (mistake_case) {
    case 0: object = 0; break;
    case 1: rt_texture_destroy(d->rt, object); break;
    case 2: object = rt_surface_create(d->rt, a); break;
    case 3: rt_array_free(d->rt, a); break;
    case 4:
        object = rt_texture_create(d->rt, &(struct image_texture){.source = IMAGE_FROM_LINEAR,
                                                                  .device = (uint8_t *)memory,
                                                                  .width = 64,
                                                                  .format = u32x1});
        rt_free(d->rt, memory);
        break;
    case 5: object = rt_surface_create(d->rt, a); break; /* and a place outside */
    case 6:
        object = rt_texture_create(d->rt, &(struct image_texture){.array = solid, .address = {1, 1, 1}});
        break;
    case 7: rt_texture_destroy(d->rt, object + 1); break;
    case 8: rt_array_write(d->rt, a, &(struct rt_box){4, 0, 0, 5, 1, 1}, memory, 32, 32); break;
    case 9:
        (void)rt_texture_create(d->rt, &(struct image_texture){.array = a, .filter = IMAGE_LINEAR});
        break;
    case 10:
        (void)rt_array_create(
            d->rt, &(struct image_shape){.width = 8, .height = 4, .layers = 6, .cube = true}, u32x1, NULL);
        break;
    case 11:
        (void)rt_array_create(d->rt, &(struct image_shape){.width = 8},
                              (struct image_format){IMAGE_FLOAT, 8, 3}, NULL);
        break;
    case 12:
        rt_array_free(d->rt, a);
        rt_array_free(d->rt, a);
        break;
    default: break;
    }
    launch(d, kernel(d, mistake_body), object);
}

static void expect(int which, const char *body, const char *const *parts)
{
    struct device *d = calloc(1, sizeof *d);
    assert_non_null(d);
    d->body = make_mistake;
    mistake_case = which;
    mistake_body = body;
    diag_init(&d->diag);
    d->kind = diag_run(&d->diag, device_body, d);
    rt_destroy(d->rt);
    assert_int_equal(d->kind, DIAG_MISTAKE);
    for (; *parts; parts++)
        if (!strstr(d->diag.text, *parts)) fail_msg("no '%s' in:\n%s", *parts, d->diag.text);
    diag_clear(&d->diag);
    free(d);
}

static void mistakes_are_told(void **state)
{
    (void)state;
    static const char fetch[] = "tex.2d.v4.u32.s32 {%o0, %o1, %o2, %o3}, [%t, {0, 1}];";
    expect(0, fetch, PARTS("0x0 is no texture object", "kernel 'k0'", "thread (0,0,0)", "tex.2d.v4.u32.s32"));
    expect(1, fetch, PARTS("object 1 was destroyed"));
    expect(2, fetch, PARTS("object 2 is a surface object: this takes a texture object"));
    expect(3, fetch, PARTS("the array of texture object 1 (8 x 4 x 1 texels) was freed"));
    expect(4, "tex.1d.v4.u32.s32 {%o0, %o1, %o2, %o3}, [%t, {0}];",
           PARTS("the memory of texture object 2", "was freed"));
    expect(5, "suld.b.2d.b32.trap {%o0}, [%t, {32, 0}];",
           PARTS("x = 32 lies outside of the surface: 0 to 28 are inside (x counts bytes)"));
    expect(5, "sust.b.2d.b32.trap [%t, {0, -1}], {%o0};", PARTS("y = -1 lies outside", "0 to 3"));
    expect(5, "suld.b.2d.b32.clamp {%o0}, [%t, {2, 0}];",
           PARTS("x = 2 bytes is no multiple of the 4 bytes accessed"));
    expect(5, "suld.b.a2d.b32.trap {%o0}, [%t, {1, 0, 0, 0}];", PARTS("the layer = 1 lies outside"));
    expect(6, "tex.a2d.v4.u32.f32 {%o0, %o1, %o2, %o3}, [%t, {%c0, %c1, %c2, %c2}];",
           PARTS("is three-dimensional and has no layers"));
    expect(6, "tex.cube.v4.u32.f32 {%o0, %o1, %o2, %o3}, [%t, {%c0, %c1, %c2, %c2}];",
           PARTS("is no cube map"));
    expect(7, fetch, PARTS("destroy of texture object 2: there is none"));
    expect(8, fetch, PARTS("5 x 1 x 1 texels from (4, 0, 0) on do not fit the array of 8 x 4 x 1"));
    expect(9, fetch, PARTS("linear filtering needs floating-point results"));
    expect(10, fetch, PARTS("faces are square"));
    expect(11, fetch, PARTS("3 channels of 8 bits floating point"));
    expect(12, fetch, PARTS("free of an array: there is no such array"));
    expect(13, "tex.2d.v4.u32.s32 {%o0, %o1, %o2, %o3}, [%t, %t, {0, 1}];",
           PARTS("sampler objects do not exist"));
    expect(13, "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%c0, %c1}], %c2;",
           PARTS("comparison with a depth"));
    expect(13, "tex.2dms.v4.u32.s32 {%o0, %o1, %o2, %o3}, [%t, {%c0, %c1, %c2, %c2}];",
           PARTS("tex.2dms", "not supported"));
}

/* Texture references parse; executing one says what to do instead. */
static void references_are_told(void **state)
{
    (void)state;
    struct bed b = {.ptx =
                        PTX_HEAD ".global .texref image;\n.global .surfref board;\n.global .samplerref how = "
                                 "{ addr_mode_0 = wrap, filter_mode = nearest };\n" KERNEL_BEGIN
                                 "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [image, {%f0, %f1}];\n" KERNEL_END};
    bed_expect_mistake(&b, PARTS("references are gone since CUDA 12", "tex.2d.v4.f32.f32"));
    struct bed c = {.ptx = PTX_HEAD ".global .surfref board;\n" KERNEL_BEGIN
                                    "suq.width.b32 %r1, [board];\n" KERNEL_END};
    bed_expect_mistake(&c, PARTS("references are gone since CUDA 12"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_geometry_format_and_mode_follows_the_guide),
        cmocka_unit_test(weights_have_eight_bits),
        cmocka_unit_test(fractions_are_those_of_one_division),
        cmocka_unit_test(linear_memory_is_read_by_texel_number),
        cmocka_unit_test(pitched_memory_and_half_results),
        cmocka_unit_test(gather_takes_a_component_of_four_texels),
        cmocka_unit_test(levels_of_a_mipmap_are_chosen_and_blended),
        cmocka_unit_test(srgb_is_decoded_but_for_alpha),
        cmocka_unit_test(questions_are_answered),
        cmocka_unit_test(surfaces_move_bytes_of_every_width),
        cmocka_unit_test(surfaces_end_as_the_instruction_says),
        cmocka_unit_test(surfaces_reduce_and_convert),
        cmocka_unit_test(textures_read_what_surfaces_wrote),
        cmocka_unit_test(the_timing_model_is_told_every_texel),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(references_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
