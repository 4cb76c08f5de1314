/* sgemm: host script; the MatrixMul (MM) of the NUBA and SelRep papers.
 * NUBA: 8 MB of which 7 MB read-only, so C is 1 MB: 512 x 512 with k = 1712. SelRep's shared set is A and B:
 * mm_0 .. mm_4 = 0.04, 0.1, 0.6, 1.9, 3.8 MB; mm_0 needs repeated launches (modelling notes C). LADM's
 * SQ-GEMM: 128 MB in 2048 blocks. */
#include "workload.h"

enum { SEED_A = 1, SEED_B, TILE = 16 };

static const struct wl_param params[] = {
    {"n", 256, TILE, 32768, TILE, "columns of B and C"},
    {"m", 0, 0, 32768, TILE, "rows of A and C; 0 = n"},
    {"k", 0, 0, 32768, TILE, "columns of A, rows of B; 0 = n"},
    {"repeat", 1, 1, 10000, 0, "launches"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "n=48,m=32,k=64", NULL},
    {"nuba", "n=512,k=1712", "NUBA MM, 8 MB, 7 MB read-only"},
    {"selrep0", "n=64,k=80,repeat=64", "SelRep mm_0, 0.04 MB shared"},
    {"selrep1", "n=112,repeat=16", "SelRep mm_1, 0.1 MB shared"},
    {"selrep2", "n=272", "SelRep mm_2, 0.6 MB shared"},
    {"selrep3", "n=480,k=496", "SelRep mm_3, 1.9 MB shared"},
    {"selrep4", "n=688", "SelRep mm_4, 3.8 MB shared"},
    {"ladm", "n=1024,m=512,k=20480", "LADM SQ-GEMM, 128 MB, 2048 blocks"},
    {0},
};

struct shape {
    int m, n, k;
};

static struct shape shape_of(const struct wl *w)
{
    struct shape s = {.m = (int)wl_param(w, "m"), .n = (int)wl_param(w, "n"), .k = (int)wl_param(w, "k")};
    if (!s.m) s.m = s.n;
    if (!s.k) s.k = s.n;
    return s;
}

/* TILE columns of a row of C. */
struct tile {
    uint64_t idx;
    float c[TILE];
};

/* What the host multiplies, and what it multiplied last. */
struct operands {
    const float *a, *b;
    uint64_t n, k;
    struct tile *last;
};

static struct operands operands_of(struct wl *w, uint64_t m, uint64_t n, uint64_t k)
{
    float *a = wl_scratch(w, m * k * sizeof *a), *b = wl_scratch(w, k * n * sizeof *b);
    for (uint64_t i = 0; i < m * k; i++) a[i] = wl_f32(SEED_A, i, 0, 1);
    for (uint64_t i = 0; i < k * n; i++) b[i] = wl_f32(SEED_B, i, 0, 1);
    struct tile *last = wl_scratch(w, sizeof *last);
    last->idx = UINT64_MAX;
    return (struct operands){a, b, n, k, last};
}

/* Each sum in the kernel's order, fused as both compilers fuse it. */
#ifdef __x86_64__
__attribute__((target_clones("arch=haswell", "default")))
#endif
static void
multiply(float *c, const float *a, const float *b, uint64_t n, uint64_t k)
{
    float sum[TILE] = {0};
    for (uint64_t i = 0; i < k; i++)
        for (uint64_t j = 0; j < TILE; j++) sum[j] = fmaf(a[i], b[i * n + j], sum[j]);
    for (uint64_t j = 0; j < TILE; j++) c[j] = sum[j];
}

static double product(const void *arg, uint64_t at)
{
    const struct operands *o = arg;
    if (at / TILE != o->last->idx) {
        o->last->idx = at / TILE;
        const uint64_t first = at / TILE * TILE;
        multiply(o->last->c, o->a + first / o->n * o->k, o->b + first % o->n, o->n, o->k);
    }
    return (double)o->last->c[at % TILE];
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct shape s = shape_of(w);
    const uint64_t m = (uint64_t)s.m, n = (uint64_t)s.n, k = (uint64_t)s.k;
    return 4 * (m * k + k * n + m * n);
}

static void run(struct wl *w)
{
    const struct shape s = shape_of(w);
    const uint64_t m = (uint64_t)s.m, n = (uint64_t)s.n, k = (uint64_t)s.k;
    float *a = wl_input_f32(w, "a", m * k, SEED_A, 0, 1), *b = wl_input_f32(w, "b", k * n, SEED_B, 0, 1);
    float *c = wl_alloc(w, "c", m * n * sizeof *c);
    for (int64_t i = wl_param(w, "repeat"); i > 0; i--)
        WL_LAUNCH(w, "sgemm", wl_dim(n / TILE, m / TILE), wl_dim(TILE, TILE), a, b, c, s.n, s.k);
    const struct operands operands = operands_of(w, m, n, k);
    wl_check_f32(w, &(struct wl_check){.name = "c",
                                       .output = c,
                                       .count = m * n,
                                       .reference = product,
                                       .arg = &operands,
                                       .cost = k,
                                       .relative = 1e-5});
}

WORKLOAD(sgemm, .aliases = "matmul_tiled mm", .suite = "CUDA SDK", .sharing = "high-sharing",
         .description = "matrix multiply, 16x16 tiles in shared memory", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
