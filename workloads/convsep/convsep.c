/* convsep: host script. NUBA and UGPU, 151 MB: three images of 3072 x 4096 floats. 4096 rows, so that each of
 * 64 SMs has the same 64 rows in both launches: with other heights the intermediate image changes hands, and
 * fewer than 80 % of the pages belong to one SM. */
#include "image.h"

enum { SEED = 1, RADIUS = 8, TAPS = 2 * RADIUS + 1 };

static const struct wl_param params[] = {
    {"width", 512, 128, 32768, 128, "pixels of a row"},
    {"height", 512, 64, 32768, 64, "rows"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "width=128,height=64", NULL},
    {"nuba", "width=3072,height=4096", "NUBA and UGPU, 151 MB"},
    {"ladm", "width=3072,height=3072", "LADM CONV, 113 MB, 18432 blocks of the row kernel"},
    {"ladmq", "width=3072,height=896", "LADM quick: fewer rows"},
    {"ugpu", "width=3072,height=4096", "UGPU, 151 MB"},
    {"ugpuq", "width=3072,height=2048", "UGPU quick"},
    {0},
};

struct problem {
    struct image image;
    float taps[TAPS];
};

static double row_value(const struct problem *p, int64_t x, int64_t y)
{
    double sum = 0;
    for (int64_t k = -RADIUS; k <= RADIUS; k++)
        if (x + k >= 0 && x + k < p->image.width)
            sum += (double)p->taps[RADIUS - k] * (double)image_at(&p->image, x + k, y);
    return sum;
}

static double expected_rows(const void *arg, uint64_t at)
{
    const struct problem *p = arg;
    return row_value(p, (int64_t)at % p->image.width, (int64_t)at / p->image.width);
}

static double expected(const void *arg, uint64_t at)
{
    const struct problem *p = arg;
    const int64_t x = (int64_t)at % p->image.width, y = (int64_t)at / p->image.width;
    double sum = 0;
    for (int64_t k = -RADIUS; k <= RADIUS; k++)
        if (y + k >= 0 && y + k < p->image.height)
            sum += (double)p->taps[RADIUS - k] * row_value(p, x, y + k);
    return sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 12 * (uint64_t)wl_param(w, "width") * (uint64_t)wl_param(w, "height");
}

static void run(struct wl *w)
{
    const int width = (int)wl_param(w, "width"), height = (int)wl_param(w, "height");
    struct problem p = {.image = {SEED, width, height}};
    for (int k = 0; k < TAPS; k++) /* a bell that is not quite symmetric, so that a wrong direction shows */
        p.taps[k] = (float)exp(-(k - RADIUS) * (k - RADIUS) / 18.0) / 7.5f + 0.002f * (float)k;
    const uint64_t count = (uint64_t)width * (uint64_t)height;
    float *src = wl_input(w, "source", count * 4, image_fill, &p.image);
    float *rows = wl_alloc(w, "rows", count * 4), *dst = wl_alloc(w, "convolved", count * 4);
    wl_write(w, wl_variable(w, "taps", sizeof p.taps), p.taps, sizeof p.taps);
    WL_LAUNCH(w, "convsep_rows", wl_dim(width / 128, height / 4), wl_dim(16, 4), src, rows, width);
    WL_LAUNCH(w, "convsep_columns", wl_dim(width / 16, height / 64), wl_dim(16, 8), rows, dst, width, height);

    struct wl_check check = {.count = count, .arg = &p, .relative = 1e-5, .absolute = 1e-5};
    check.name = "rows", check.output = rows, check.reference = expected_rows, check.cost = 10 * TAPS;
    wl_check_f32(w, &check);
    check.name = "convolved", check.output = dst, check.reference = expected, check.cost = 4 * TAPS * TAPS;
    wl_check_f32(w, &check);
}

WORKLOAD(convsep, .aliases = "conv_sdk", .suite = "CUDA SDK", .sharing = "low-sharing",
         .description = "separable convolution of an image, 17 taps", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
