/* phases: host script: `streams` launches that stream, then `computes` launches of arithmetic, or the other way round. */
#include "workload.h"

enum { BLOCK = 256 };

static const struct wl_param params[] = {{"n", 1 << 18, BLOCK, 1 << 26, 0, "elements, a multiple of 256"},
                                         {"streams", 4, 0, 1000, 0, "launches that stream"},
                                         {"computes", 2, 0, 1000, 0, "launches that compute"},
                                         {"rounds", 400, 1, 100000, 0, "multiply-adds of a thread"},
                                         {"reversed", 0, 0, 1, 0, "1: arithmetic first"},
                                         {0}};
static const struct wl_size sizes[] = {{"tiny", "n=65536,streams=1,computes=1,rounds=10", NULL}, {0}};

static double computed(const void *arg, uint64_t i)
{
    float a = 1;
    (void)i;
    for (int k = 0; k < *(const int *)arg; k++) a = a * 0.5f + 1.0f;
    return (double)a;
}

static uint64_t footprint_bytes(const struct wl *w) { return 8 * (uint64_t)wl_param(w, "n"); }

static void run(struct wl *w)
{
    const uint64_t n = (uint64_t)wl_param(w, "n");
    int *rounds = wl_scratch(w, sizeof *rounds);
    *rounds = (int)wl_param(w, "rounds");
    float *to = wl_alloc(w, "to", n * sizeof *to), *from = wl_input_f32(w, "from", n, 1, 0, 1);
    const unsigned blocks = (unsigned)(n / BLOCK);
    const bool reversed = wl_param(w, "reversed") != 0;
    for (int phase = 0; phase < 2; phase++) {
        const bool streams = (phase == 0) != reversed;
        for (int64_t k = 0; k < wl_param(w, streams ? "streams" : "computes"); k++) {
            if (streams)
                WL_LAUNCH(w, "stream", wl_dim(blocks), wl_dim(BLOCK), to, from);
            else
                WL_LAUNCH(w, "compute", wl_dim(blocks), wl_dim(BLOCK), to, *rounds);
        }
    }
    if (wl_param(w, "computes") && !reversed)
        wl_check_f32(w, &(struct wl_check){.name = "to",
                                           .output = to,
                                           .count = n,
                                           .arg = rounds,
                                           .reference = computed,
                                           .relative = 1e-6});
}

WORKLOAD(phases, .suite = "test", .sharing = "-", .description = "streaming launches, then arithmetic",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
