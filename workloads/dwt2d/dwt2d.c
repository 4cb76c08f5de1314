/* dwt2d: host script: two levels; the second transforms the LL of the first, into the first quarter of the
 * image, which is no longer needed. NUBA and UGPU, 302 MB: source and result of 6144 x 6144 words. A band has
 * 96 rows, so that all strips of a band, which share its pages, are blocks of one SM (64 bands). */
#include "image.h"

enum { SEED = 1, STRIP = 64 };

static const struct wl_param params[] = {
    {"width", 1024, 8, 32768, 4, "pixels of a row"},
    {"height", 1024, 8, 32768, 4, "rows"},
    {"band", 32, 2, 1024, 2, "rows of a block"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "width=72,height=28,band=8", NULL},
    {"nuba", "width=6144,height=6144,band=96", "NUBA and UGPU, 302 MB"},
    {"selrep", "width=6144,height=6144,band=96", "as NUBA. ASSUMPTION: SelRep gives no size"},
    {"ugpu", "width=6144,height=6144,band=96", "UGPU, 302 MB"},
    {"ugpuq", "width=2048,height=2048,band=32", "UGPU quick"},
    {0},
};

/* A level; the source of the second is the LL of the first. */
struct level {
    struct image image;
    const struct level *finer;
};

static int32_t band_value(const struct level *l, int64_t band, int64_t x, int64_t y);

static int64_t mirrored(int64_t i, int64_t n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }

static int32_t pixel(const struct level *l, int64_t x, int64_t y) /* NOLINT(misc-no-recursion): two levels */
{
    const int64_t at_x = mirrored(x, l->image.width), at_y = mirrored(y, l->image.height);
    return l->finer ? band_value(l->finer, 0, at_x, at_y)
                    : (int32_t)(image_at(&l->image, at_x, at_y) * 255) - 128;
}

/* Five values in a row, the middle one at an even place, lifted: the mean there, or the detail after it. */
static int32_t lift(const int32_t v[5], bool detail)
{
    const int32_t after = v[3] - ((v[2] + v[4]) >> 1), before = v[1] - ((v[0] + v[2]) >> 1);
    return detail ? after : v[2] + ((before + after + 2) >> 2);
}

/* Of subband LL, HL, LH, HH = 0 .. 3. NOLINTNEXTLINE(misc-no-recursion) */
static int32_t band_value(const struct level *l, int64_t band, int64_t x, int64_t y)
{
    int32_t column[5];
    for (int64_t i = 0; i < 5; i++) {
        int32_t row[5];
        for (int64_t j = 0; j < 5; j++) row[j] = pixel(l, 2 * x + j - 2, 2 * y + i - 2);
        column[i] = lift(row, band & 1);
    }
    return lift(column, band >> 1);
}

static double expected(const void *arg, uint64_t at)
{
    const struct level *l = arg;
    const int64_t half = l->image.width / 2, quarter = half * (l->image.height / 2), i = (int64_t)at;
    return band_value(l, i / quarter, i % quarter % half, i % quarter / half);
}

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct level *l = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const int64_t at = (int64_t)(first / 4 + k);
        ((int32_t *)to)[k] = pixel(l, at % l->image.width, at / l->image.width);
    }
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 8 * (uint64_t)wl_param(w, "width") * (uint64_t)wl_param(w, "height");
}

static void launch(struct wl *w, const struct level *l, const int32_t *in, int32_t *out)
{
    const int width = (int)l->image.width, height = (int)l->image.height, band = (int)wl_param(w, "band");
    WL_LAUNCH(w, "dwt2d", wl_dim(wl_blocks(width, STRIP), wl_blocks(height, band)), wl_dim(STRIP), in, out,
              width, height, band);
}

static void run(struct wl *w)
{
    struct level first = {.image = {SEED, wl_param(w, "width"), wl_param(w, "height")}};
    struct level second = {.image = {SEED, first.image.width / 2, first.image.height / 2}, .finer = &first};
    const uint64_t count = (uint64_t)(first.image.width * first.image.height);
    int32_t *source = wl_input(w, "source", count * 4, fill, &first),
            *out = wl_alloc(w, "level 1", count * 4);
    launch(w, &first, source, out);
    launch(w, &second, out, source);

    wl_check_u32(w, &(struct wl_check){.name = "level 1",
                                       .output = out,
                                       .count = count,
                                       .reference = expected,
                                       .arg = &first,
                                       .cost = 200});
    wl_check_u32(w, &(struct wl_check){.name = "level 2",
                                       .output = source,
                                       .count = count / 4,
                                       .reference = expected,
                                       .arg = &second,
                                       .cost = 5000});
}

WORKLOAD(dwt2d, .suite = "Rodinia", .sharing = "low-sharing",
         .description = "5/3 wavelet transform of an image, two levels", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
