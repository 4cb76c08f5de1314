/* sgemm_parboil: host script. NUBA: 9 MB, 8 MB of them read-only: C is 512 x 512, k = 1952. A is m x k, B n x
 * k, both column-major, so that both are read along columns. */
#include "workload.h"

enum { SEED_A = 1, SEED_B, SEED_C, TILE_M = 128, TILE_N = 16, TILE_K = 8 };
static const float ALPHA = 1.25f, BETA = 0.5f;

static const struct wl_param params[] = {
    {"m", 256, TILE_M, 16384, TILE_M, "rows of A and C"},
    {"n", 256, TILE_N, 16384, TILE_N, "rows of B, columns of C"},
    {"k", 256, TILE_K, 16384, TILE_K, "columns of A and B"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "m=128,n=32,k=24", NULL},
    {"nuba", "m=512,n=512,k=1952", "NUBA, 9 MB, 8 MB read-only"},
    {0},
};

struct shape {
    uint64_t m, n, k;
};

static double element(const void *arg, uint64_t at)
{
    const struct shape *s = arg;
    const uint64_t row = at % s->m, col = at / s->m;
    double sum = 0;
    for (uint64_t i = 0; i < s->k; i++)
        sum += (double)wl_f32(SEED_A, i * s->m + row, 0, 1) * (double)wl_f32(SEED_B, i * s->n + col, 0, 1);
    return (double)BETA * (double)wl_f32(SEED_C, at, 0, 1) + (double)ALPHA * sum;
}

static struct shape shape_of(const struct wl *w)
{
    return (struct shape){(uint64_t)wl_param(w, "m"), (uint64_t)wl_param(w, "n"), (uint64_t)wl_param(w, "k")};
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct shape s = shape_of(w);
    return 4 * (s.m * s.k + s.n * s.k + s.m * s.n);
}

static void run(struct wl *w)
{
    const struct shape s = shape_of(w);
    float *a = wl_input_f32(w, "a", s.m * s.k, SEED_A, 0, 1),
          *b = wl_input_f32(w, "b", s.n * s.k, SEED_B, 0, 1);
    float *c = wl_input_f32(w, "c", s.m * s.n, SEED_C, 0, 1);
    WL_LAUNCH(w, "sgemm_parboil", wl_dim(s.m / TILE_M, s.n / TILE_N), wl_dim(TILE_M), a, b, c, (int)s.m,
              (int)s.n, (int)s.k, ALPHA, BETA);
    wl_check_f32(w, &(struct wl_check){.name = "c",
                                       .output = c,
                                       .count = s.m * s.n,
                                       .reference = element,
                                       .arg = &s,
                                       .cost = s.k,
                                       .relative = 2e-5});
}

WORKLOAD(sgemm_parboil, .suite = "Parboil", .sharing = "high-sharing",
         .description = "matrix multiply, column-major, 16 sums in registers", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
