/* indirect: an array that a kernel finds through a variable in memory. */
#include "workload.h"

enum { BLOCK = 256 };

static const struct wl_param params[] = {
    {"n", 1 << 14, 1 << 10, 1 << 22, 0, "elements"},
    {0},
};
static const struct wl_size sizes[] = {{"tiny", "n=16384", NULL}, {0}};

static uint64_t footprint(const struct wl *w) { return 4 * (uint64_t)wl_param(w, "n"); }

static double expected(const void *arg, uint64_t i)
{
    (void)arg;
    (void)i;
    return 2.0;
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n");
    float *out = wl_alloc(w, "out", 4 * (uint64_t)n);
    WL_LAUNCH(w, "publish", wl_dim(1), wl_dim(32), out);
    for (int k = 0; k < 2; k++) WL_LAUNCH(w, "through", wl_dim(wl_blocks(n, BLOCK)), wl_dim(BLOCK), n);
    wl_check_f32(
        w, &(struct wl_check){.name = "out", .output = out, .count = (uint64_t)n, .reference = expected});
}

WORKLOAD(indirect, .description = "an array behind a pointer in memory", .params = params, .sizes = sizes,
         .footprint_bytes = footprint, .run = run);
