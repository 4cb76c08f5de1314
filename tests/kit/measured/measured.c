/* measured: initialisation before wl_measure(). The blocks of the first kernel touch a page of `data` first; the
 * blocks at the other end of the grid read it. */
#include "workload.h"

enum { BLOCK = 256 };

static const struct wl_param params[] = {
    {"n", 1 << 16, 1 << 10, 1 << 24, 0, "elements"},
    {"mark", 1, 0, 2, 0, "wl_measure(): 0 never, 1 after the first kernel, 2 after a wait for it"},
    {0},
};
static const struct wl_size sizes[] = {{"tiny", "n=8192", NULL}, {0}};

static uint64_t footprint(const struct wl *w) { return 8 * (uint64_t)wl_param(w, "n"); }

static double expected(const void *arg, uint64_t i)
{
    (void)arg;
    return 2.0 * (double)i;
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n"), mark = (int)wl_param(w, "mark");
    float *data = wl_alloc(w, "data", 4 * (uint64_t)n), *out = wl_alloc(w, "out", 4 * (uint64_t)n);
    WL_LAUNCH(w, "write_forwards", wl_dim(wl_blocks(n, BLOCK)), wl_dim(BLOCK), data, n);
    if (mark == 2) wl_wait(w);
    if (mark) wl_measure(w);
    WL_LAUNCH(w, "read_backwards", wl_dim(wl_blocks(n, BLOCK)), wl_dim(BLOCK), data, out, n);
    wl_check_f32(
        w, &(struct wl_check){.name = "out", .output = out, .count = (uint64_t)n, .reference = expected});
}

WORKLOAD(measured, .description = "an array written, then read from the other end", .params = params,
         .sizes = sizes, .footprint_bytes = footprint, .run = run);
