/* reduction: host script. Two launches: one partial sum per block, then one block adds the partial sums.
 * LADM's Reduction-k6: 32 MB, 2048 blocks. */
#include "workload.h"

enum { SEED = 1, BLOCK = 256 };

static const struct wl_param params[] = {
    {"n", 1 << 20, 1, 1 << 30, 0, "elements"},
    {"blocks", 256, 1, 65535, 0, "blocks of the grid-stride loop"},
    {"repeat", 1, 1, 10000, 0, "launches"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "n=20000,blocks=16", NULL},
    {"ladm", "n=8388608,blocks=2048", "LADM Reduction-k6, 32 MB, 2048 blocks"},
    {"ladmq", "n=8388608,blocks=2048", "LADM quick: not cut"},
    {0},
};

struct problem {
    uint64_t n, blocks;
    const float *partial;
};

static double expected_partial(const void *arg, uint64_t block)
{
    const struct problem *p = arg;
    double sum = 0;
    for (uint64_t first = block * 2 * BLOCK; first < p->n; first += 2 * BLOCK * p->blocks)
        for (uint64_t i = first; i < first + 2 * BLOCK && i < p->n; i++) sum += (double)wl_f32(SEED, i, 0, 1);
    return sum;
}

static double expected_total(const void *arg, uint64_t i)
{
    (void)i;
    const struct problem *p = arg;
    double sum = 0;
    for (uint64_t block = 0; block < p->blocks; block++) sum += (double)p->partial[block];
    return sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 4 * (uint64_t)(wl_param(w, "n") + wl_param(w, "blocks") + 1);
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n"), blocks = (int)wl_param(w, "blocks");
    struct problem p = {.n = (uint64_t)n, .blocks = (uint64_t)blocks};
    float *in = wl_input_f32(w, "in", p.n, SEED, 0, 1);
    float *partial = wl_alloc(w, "partial", p.blocks * sizeof *partial),
          *total = wl_alloc(w, "total", sizeof *total);
    for (int64_t i = wl_param(w, "repeat"); i > 0; i--)
        WL_LAUNCH(w, "reduction", wl_dim(blocks), wl_dim(BLOCK), in, partial, n);
    WL_LAUNCH(w, "reduction", wl_dim(1), wl_dim(BLOCK), partial, total, blocks);

    p.partial = partial;
    wl_check_f32(w, &(struct wl_check){.name = "partial",
                                       .output = partial,
                                       .count = p.blocks,
                                       .reference = expected_partial,
                                       .arg = &p,
                                       .cost = p.n / p.blocks + 1,
                                       .relative = 1e-5});
    wl_check_f32(w, &(struct wl_check){.name = "total",
                                       .output = total,
                                       .count = 1,
                                       .reference = expected_total,
                                       .arg = &p,
                                       .cost = p.blocks,
                                       .relative = 1e-5});
}

WORKLOAD(reduction, .aliases = "reduction6", .suite = "CUDA SDK", .sharing = "-",
         .description = "sum of an array: shared memory and warp shuffles", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
