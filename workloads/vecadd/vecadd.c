/* vecadd: host script. SelRep and LADM use the CUDA SDK's; LADM's 60 MiB is three arrays of 5 Mi floats;
 * its 10240 blocks of 128 threads take four elements per thread. Its published MPKI fits an element per thread. */
#include "workload.h"

enum { SEED_A = 1, SEED_B };

static const struct wl_param params[] = {
    {"n", 1 << 20, 1, 1 << 30, 0, "elements"},
    {"block", 256, 32, 1024, 32, "threads per block"},
    {"four", 0, 0, 1, 0, "1: four elements per thread (n in multiples of 4)"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "n=10000", "40 blocks, the last one in part"},
    {"ladm", "n=5242880,block=128,four=1", "LADM, 60 MiB, 10240 blocks"},
    {"ladmq", "n=5242880,block=128,four=1", "LADM quick: not cut"},
    {"selrep", "n=4194304", "50 MB. ASSUMPTION: SelRep gives no size"},
    {0},
};

static double sum(const void *arg, uint64_t i)
{
    (void)arg;
    return (double)(wl_f32(SEED_A, i, -1, 1) + wl_f32(SEED_B, i, -1, 1));
}

static void sums(struct wl *w, const void *arg, uint64_t first, uint64_t count, float *to)
{
    float b[WL_CHECK_BLOCK];
    (void)arg;
    wl_many_f32(w, &(struct wl_numbers){SEED_A, -1, 1}, first, count, to);
    wl_many_f32(w, &(struct wl_numbers){SEED_B, -1, 1}, first, count, b);
    for (uint64_t i = 0; i < count; i++) to[i] += b[i];
}

static uint64_t footprint_bytes(const struct wl *w) { return 12 * (uint64_t)wl_param(w, "n"); }

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n"), block = (int)wl_param(w, "block"), four = (int)wl_param(w, "four");
    const uint64_t count = (uint64_t)n;
    float *a = wl_input_f32(w, "a", count, SEED_A, -1, 1), *b = wl_input_f32(w, "b", count, SEED_B, -1, 1);
    float *c = wl_alloc(w, "c", count * sizeof *c);
    if (four && n % 4) wl_fail(w, "four: n is no multiple of 4");
    WL_LAUNCH(w, four ? "vecadd_four" : "vecadd", wl_dim(wl_blocks(four ? n / 4 : n, block)), wl_dim(block),
              a, b, c, n);
    wl_check_f32(w, &(struct wl_check){
                        .name = "c", .output = c, .count = count, .reference = sum, .references = sums});
}

WORKLOAD(vecadd, .suite = "CUDA SDK", .sharing = "-", .description = "vector addition c = a + b",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
