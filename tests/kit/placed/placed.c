/* placed: arrays that lie in the middle of an allocation (a pool). Blocks that run where their data lies access no other
 * chiplet, but at the borders of pages. */
#include "workload.h"

enum { BLOCK = 256, OFFSET = 3 << 20 };

static const struct wl_param params[] = {
    {"n", 1 << 17, 1 << 10, 1 << 22, 0, "elements"},
    {0},
};
static const struct wl_size sizes[] = {{"tiny", "n=65536", NULL}, {0}};

static uint64_t footprint(const struct wl *w) { return 8 * (uint64_t)wl_param(w, "n") + OFFSET; }

static double expected(const void *arg, uint64_t i)
{
    (void)arg;
    (void)i;
    return 0.0; /* the input is zero */
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n");
    char *pool = wl_alloc(w, "pool", 8 * (uint64_t)n + OFFSET);
    float *in = (float *)(pool + OFFSET), *out = in + n;
    WL_LAUNCH(w, "twice", wl_dim(wl_blocks(n, BLOCK)), wl_dim(BLOCK), in, out, n);
    wl_check_f32(
        w, &(struct wl_check){.name = "out", .output = out, .count = (uint64_t)n, .reference = expected});
}

WORKLOAD(placed, .description = "arrays inside a pool", .params = params, .sizes = sizes,
         .footprint_bytes = footprint, .run = run);
