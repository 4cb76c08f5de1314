/* triad: host script. CARVE streams 3 GB. */
#include "workload.h"

enum { SEED_B = 1, SEED_C, BLOCK = 256 };
static const float SCALE = 3.0f;

static const struct wl_param params[] = {
    {"n", 1 << 20, 1, 1 << 30, 0, "elements"},
    {"repeat", 1, 1, 1000, 0, "launches"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "n=10000,repeat=2", NULL},
    {"carve", "n=250000000", "CARVE, 3000 MB"},
    {0},
};

static double expected(const void *arg, uint64_t i)
{
    (void)arg;
    return (double)wl_f32(SEED_B, i, 0, 1) + (double)SCALE * (double)wl_f32(SEED_C, i, 0, 1);
}

static void expected_many(struct wl *w, const void *arg, uint64_t first, uint64_t count, float *to)
{
    float c[WL_CHECK_BLOCK];
    (void)arg;
    wl_many_f32(w, &(struct wl_numbers){SEED_B, 0, 1}, first, count, to);
    wl_many_f32(w, &(struct wl_numbers){SEED_C, 0, 1}, first, count, c);
    for (uint64_t i = 0; i < count; i++) to[i] = (float)((double)to[i] + (double)SCALE * (double)c[i]);
}

static uint64_t footprint_bytes(const struct wl *w) { return 12 * (uint64_t)wl_param(w, "n"); }

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n"), repeat = (int)wl_param(w, "repeat");
    const uint64_t count = (uint64_t)n;
    float *a = wl_alloc(w, "a", count * sizeof *a);
    float *b = wl_input_f32(w, "b", count, SEED_B, 0, 1), *c = wl_input_f32(w, "c", count, SEED_C, 0, 1);
    wl_measure(w);
    for (int i = 0; i < repeat; i++)
        WL_LAUNCH(w, "triad", wl_dim(wl_blocks(n, BLOCK)), wl_dim(BLOCK), a, b, c, SCALE, n);
    wl_check_f32(w, &(struct wl_check){.name = "a",
                                       .output = a,
                                       .count = count,
                                       .reference = expected,
                                       .references = expected_many,
                                       .relative = 1e-6});
}

WORKLOAD(triad, .suite = "micro", .sharing = "-", .description = "STREAM triad a = b + s c", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
