/* litmus: host script of the memory-model tests between GPUs, see litmus.cu. Small enough that every block is resident
 * from the beginning. */
#include "workload.h"

static const struct wl_param params[] = {{"tests", 3, 1, 16, 0, "tests side by side; four blocks each"},
                                         {"rounds", 6, 1, 1000, 0, "rounds of each kernel"},
                                         {0}};
static const struct wl_size sizes[] = {{"tiny", "", NULL}, {0}};

enum { VARS = 4, PAGE_BYTES = 65536, KERNELS = 6 };

struct shape {
    uint32_t tests, rounds;
};

static double wrc(const void *arg, uint64_t i)
{
    const struct shape *s = arg;
    return i / s->tests == 2 ? s->rounds * (s->rounds + 1) / 2 : 0;
}

static double mp(const void *arg, uint64_t i)
{
    const struct shape *s = arg;
    return i / s->tests ? s->rounds * (s->rounds + 1) / 2 : 0;
}

/* The word is 4 r + role before the turn and one more behind it. */
static double turns(const void *arg, uint64_t i)
{
    const struct shape *s = arg;
    double sum = 0;
    for (uint32_t r = 0; r < s->rounds; r++) sum += 2.0 * (4 * r + (double)(i / s->tests)) + 1;
    return sum;
}

static double merged(const void *arg, uint64_t i)
{
    const struct shape *s = arg;
    (void)i;
    return s->rounds * (s->rounds + 1) / 2;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t tests = (uint64_t)wl_param(w, "tests");
    return VARS * tests * PAGE_BYTES + KERNELS * 512;
}

static void run(struct wl *w)
{
    struct shape *s = wl_scratch(w, sizeof *s);
    *s = (struct shape){(uint32_t)wl_param(w, "tests"), (uint32_t)wl_param(w, "rounds")};
    const uint32_t blocks = 4 * s->tests, vars = VARS * s->tests;
    const int rounds = (int)s->rounds;
    static const char *const kernels[] = {"wrc", "iriw", "sb", "mp", "turns", "merged"};
    static double (*const references[])(const void *, uint64_t) = {wrc, NULL, NULL, mp, turns, merged};
    uint32_t *pages = wl_alloc(w, "pages", (uint64_t)vars * PAGE_BYTES), *out[KERNELS];
    for (int k = 0; k < KERNELS; k++) {
        out[k] = wl_alloc(w, kernels[k], 512);
        WL_LAUNCH(w, "place", wl_dim(blocks), wl_dim(32), pages, vars);
        WL_LAUNCH(w, kernels[k], wl_dim(blocks), wl_dim(k == 3 || k == 5 ? 32 : 1), pages, out[k], rounds);
    }
    for (int k = 0; k < KERNELS; k++)
        if (references[k])
            wl_check_u32(w, &(struct wl_check){.name = kernels[k],
                                               .output = out[k],
                                               .count = blocks,
                                               .reference = references[k],
                                               .arg = s});
}

WORKLOAD(litmus, .suite = "test", .sharing = "-", .description = "memory-model tests between GPUs",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
