/* dxtc: host script. The picture is stored by blocks of 4x4 pixels, as the SDK's host rearranges it. The reference
 * computes each block again, with the same fused steps, so that results are equal to the bit.
 *
 * Footprint: 4.5 x width x height + 4 x 992 bytes: pixels, eight bytes per block and the cuts. Launches divide the
 * blocks into equal parts. UGPU: 20 MB, two launches. A block reads 64 bytes of its own and the cuts, which all share. */
#include "image.h"

enum { SEED = 1, PIXELS = 16, THREADS = 64, CUTS = 992, CUTS_3 = 160, SIDE = 4 };

static const struct wl_param params[] = {
    {"width", 128, SIDE, 32768, SIDE, "pixels of a row"},
    {"height", 128, SIDE, 32768, SIDE, "rows"},
    {"launches", 2, 1, 1000, 0, "launches that divide the blocks"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "width=24,height=16", NULL},
    {"ugpu", "width=2112,height=2104", "UGPU, 20 MB, 2 launches"},
    {"ugpuq", "width=2112,height=2104", "UGPU quick: not cut"},
    {0},
};

struct colour {
    float r, g, b;
};

struct picture {
    struct image image;
    uint32_t cuts[CUTS];
    uint64_t block; /* computed last */
    uint32_t words[2];
};

/* The first n[0] sorted pixels are of group 0 (the first colour), then group 2, group 3, and the rest of group 1. */
static uint32_t cut_of(int first, int second, int third)
{
    uint32_t cut = 0;
    for (int i = 0; i < PIXELS; i++) {
        const uint32_t group = i < first ? 0 : i < first + second ? 2 : i < first + second + third ? 3 : 1;
        cut |= group << (2 * i);
    }
    return cut;
}

/* All cuts without group 3 first; both parts are filled up with their last cut. */
static void make_cuts(uint32_t cuts[CUTS])
{
    int n = 0;
    for (int a = 0; a <= PIXELS; a++)
        for (int b = 0; a + b <= PIXELS; b++) cuts[n++] = cut_of(a, b, 0);
    for (; n < CUTS_3; n++) cuts[n] = cuts[n - 1];
    for (int a = 0; a <= PIXELS; a++)
        for (int b = 0; a + b <= PIXELS; b++)
            for (int c = 1; a + b + c <= PIXELS; c++) cuts[n++] = cut_of(a, b, c);
    for (; n < CUTS; n++) cuts[n] = cuts[n - 1];
}

static uint32_t byte_at(const struct picture *p, uint64_t channel, int64_t x, int64_t y)
{
    const struct image shade = {p->image.seed + channel, p->image.width, p->image.height};
    return (uint32_t)(255 * fminf(1, 0.7f * image_at(&p->image, x, y) + 0.4f * image_at(&shade, x, y)));
}

/* Pixel i of the picture by blocks. */
static uint32_t pixel_at(const struct picture *p, uint64_t i)
{
    const int64_t block = (int64_t)(i / PIXELS), k = (int64_t)(i % PIXELS), across = p->image.width / SIDE;
    const int64_t x = block % across * SIDE + k % SIDE, y = block / across * SIDE + k / SIDE;
    return byte_at(p, 1, x, y) | byte_at(p, 2, x, y) << 8 | byte_at(p, 3, x, y) << 16;
}

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / 4; i++) ((uint32_t *)to)[i] = pixel_at(arg, first / 4 + i);
}

/* ---- reference ---- */

struct fit {
    float error;
    uint32_t start, end, cut, groups;
};

static struct colour main_axis(const struct colour *pixels, struct colour mean)
{
    float m[6] = {0};
    struct colour v = {1, 1, 1};
    for (int i = 0; i < PIXELS; i++) {
        const float r = pixels[i].r - mean.r, g = pixels[i].g - mean.g, b = pixels[i].b - mean.b;
        m[0] = fmaf(r, r, m[0]), m[1] = fmaf(r, g, m[1]), m[2] = fmaf(r, b, m[2]);
        m[3] = fmaf(g, g, m[3]), m[4] = fmaf(g, b, m[4]), m[5] = fmaf(b, b, m[5]);
    }
    for (int step = 0; step < 8; step++) {
        const float x = fmaf(v.b, m[2], fmaf(v.g, m[1], v.r * m[0]));
        const float y = fmaf(v.b, m[4], fmaf(v.g, m[3], v.r * m[1]));
        const float z = fmaf(v.b, m[5], fmaf(v.g, m[4], v.r * m[2])), most = fmaxf(fmaxf(x, y), z);
        const float by = most > 0 ? 1 / most : 0;
        v = (struct colour){x * by, y * by, z * by};
    }
    return v;
}

static float level_of(float value, float levels)
{
    return floorf(fmaf(fminf(fmaxf(value, 0), 1), levels, 0.5f));
}

/* Sums of products of weights, and 1 / (aa bb - ab ab). */
struct weights {
    float aa, ab, bb, factor;
};

static float fit_channel(float ax, float sum, const struct weights *k, float levels, uint32_t *start,
                         uint32_t *end)
{
    const float bx = sum - ax, over = 1 / levels;
    const float level_a = level_of(fmaf(ax, k->bb, -(bx * k->ab)) * k->factor, levels);
    const float level_b = level_of(fmaf(bx, k->aa, -(ax * k->ab)) * k->factor, levels);
    const float a = level_a * over, b = level_b * over, both = k->ab * a;
    const float mixed = fmaf(both, b, fmaf(-a, ax, -(b * bx))), rest = b * b * k->bb;
    *start = (uint32_t)level_a;
    *end = (uint32_t)level_b;
    return fmaf(2, mixed, fmaf(a * a, k->aa, rest));
}

static void try_cut(const struct colour *pixels, struct colour sum, uint32_t cut, uint32_t groups,
                    struct fit *best)
{
    static const int of_four[] = {3, 0, 2, 1}, of_three[] = {2, 0, 1, 0};
    const int scale = groups == 4 ? 3 : 2, square = scale * scale;
    int a_sum = 0, aa = 0;
    struct colour ax = {0};
    for (int i = 0; i < PIXELS; i++) {
        const int weight = (groups == 4 ? of_four : of_three)[cut >> (2 * i) & 3];
        a_sum += weight;
        aa += weight * weight;
        ax.r = fmaf((float)weight, pixels[i].r, ax.r);
        ax.g = fmaf((float)weight, pixels[i].g, ax.g);
        ax.b = fmaf((float)weight, pixels[i].b, ax.b);
    }
    const int ab = scale * a_sum - aa, bb = PIXELS * square - 2 * scale * a_sum + aa, det = aa * bb - ab * ab;
    if (!det) return;
    const float over = 1 / (float)scale, over_square = 1 / (float)square;
    const struct weights k = {(float)aa * over_square, (float)ab * over_square, (float)bb * over_square,
                              (float)(square * square) / (float)det};
    uint32_t start[3], end[3];
    const float red = fit_channel(ax.r * over, sum.r, &k, 31, &start[0], &end[0]);
    const float green = fit_channel(ax.g * over, sum.g, &k, 63, &start[1], &end[1]);
    const float blue = fit_channel(ax.b * over, sum.b, &k, 31, &start[2], &end[2]);
    const float error = red + green + blue;
    if (!(error < best->error)) return;
    *best = (struct fit){error, start[0] << 11 | start[1] << 5 | start[2],
                         end[0] << 11 | end[1] << 5 | end[2], cut, groups};
}

/* Sorts the pixels along their main axis; place[i]: of pixel i. */
static void sort_pixels(const struct colour *given, struct colour sum, struct colour *pixels, int *place)
{
    const struct colour axis =
        main_axis(given, (struct colour){sum.r / PIXELS, sum.g / PIXELS, sum.b / PIXELS});
    float distance[PIXELS];
    for (int i = 0; i < PIXELS; i++)
        distance[i] = fmaf(given[i].b, axis.b, fmaf(given[i].g, axis.g, given[i].r * axis.r));
    for (int i = 0; i < PIXELS; i++) {
        place[i] = 0;
        for (int j = 0; j < PIXELS; j++)
            place[i] += distance[j] < distance[i] || (distance[j] == distance[i] && j < i);
        pixels[place[i]] = given[i];
    }
}

static void order_colours(struct fit *f)
{
    if (f->groups == 4 ? f->start < f->end : f->start > f->end) {
        const uint32_t start = f->start;
        f->start = f->end;
        f->end = start;
        f->cut ^= f->groups == 4 ? 0x55555555u : ~(f->cut >> 1) & 0x55555555u;
    }
    if (f->groups == 4 && f->start == f->end) f->cut = 0;
}

static void compress(const struct picture *p, uint64_t block, uint32_t words[2])
{
    struct colour given[PIXELS], pixels[PIXELS], sum = {0};
    struct fit best = {INFINITY, 0, 0, 0, 4};
    int place[PIXELS];
    for (int i = 0; i < PIXELS; i++) {
        const uint32_t pixel = pixel_at(p, block * PIXELS + (uint64_t)i);
        const float by = 1.0f / 255.0f;
        given[i] = (struct colour){(float)(pixel & 255) * by, (float)(pixel >> 8 & 255) * by,
                                   (float)(pixel >> 16) * by};
        sum = (struct colour){sum.r + given[i].r, sum.g + given[i].g, sum.b + given[i].b};
    }
    sort_pixels(given, sum, pixels, place);
    for (int t = 0; t < THREADS; t++) {
        struct fit mine = {INFINITY, 0, 0, 0, 4};
        for (int k = t; k < CUTS; k += THREADS) try_cut(pixels, sum, p->cuts[k], 4, &mine);
        for (int k = t; k < CUTS_3; k += THREADS) try_cut(pixels, sum, p->cuts[k], 3, &mine);
        if (mine.error < best.error) best = mine;
    }
    order_colours(&best);
    words[0] = best.start | best.end << 16;
    words[1] = 0;
    for (int i = 0; i < PIXELS; i++) words[1] |= (best.cut >> (2 * place[i]) & 3) << (2 * i);
}

static double expected(const void *arg, uint64_t i)
{
    struct picture *p = (struct picture *)(uintptr_t)arg;
    if (p->block != i / 2) {
        p->block = i / 2;
        compress(p, p->block, p->words);
    }
    return p->words[i % 2];
}

static uint64_t pixels_of(const struct wl *w)
{
    return (uint64_t)wl_param(w, "width") * (uint64_t)wl_param(w, "height");
}

static uint64_t footprint_bytes(const struct wl *w) { return pixels_of(w) / 2 * 9 + 4 * CUTS; }

static void run(struct wl *w)
{
    const uint64_t pixels = pixels_of(w);
    struct picture *p = wl_scratch(w, sizeof *p);
    *p = (struct picture){.image = {SEED, wl_param(w, "width"), wl_param(w, "height")}, .block = UINT64_MAX};
    make_cuts(p->cuts);
    uint32_t *cuts = wl_alloc(w, "cuts", 4 * CUTS), *image = wl_input(w, "image", 4 * pixels, fill, p);
    uint32_t *result = wl_alloc(w, "result", pixels / 2);
    wl_write(w, cuts, p->cuts, 4 * CUTS);
    const int blocks = (int)(pixels / PIXELS), launches = (int)wl_param(w, "launches");
    const int part = (blocks + launches - 1) / launches;
    for (int first = 0; first < blocks; first += part)
        WL_LAUNCH(w, "dxtc", wl_dim(blocks - first < part ? blocks - first : part), wl_dim(THREADS), cuts,
                  image, result, first);
    wl_check_u32(w, &(struct wl_check){.name = "result",
                                       .output = result,
                                       .count = pixels / 8,
                                       .reference = expected,
                                       .arg = p,
                                       .cost = PIXELS * CUTS});
}

WORKLOAD(dxtc, .suite = "CUDA SDK", .sharing = "-",
         .description = "compression of a picture to DXT1 by trying all cuts", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
