/* gemm_naive: host script. chain=2 is 2MM: tmp = A B, D = tmp C, two dependent launches on five matrices
 * (NUBA: 84 MB = 5 x 2048 x 2048 floats). chain=1 is GEMM, C = alpha A B + beta C (SelRep: A and B 1.8 MB).
 */
#include "workload.h"

enum { SEED_A = 1, SEED_B, SEED_C, BLOCK_X = 32, BLOCK_Y = 8 };
static const float ALPHA = 1.25f, BETA = 0.5f;

static const struct wl_param params[] = {
    {"n", 256, 8, 32768, 0, "rows and columns of every matrix"},
    {"chain", 2, 1, 2, 0, "products: 1 = GEMM, 2 = 2MM"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "n=52", NULL},
    {"nuba", "n=2048", "NUBA 2MM, 84 MB"},
    {"selrep", "n=480,chain=1", "SelRep GEMM, 1.8 MB shared"},
    {0},
};

/* What an element of a product is made of; the left matrix is an input or what the device computed before. */
struct product {
    uint64_t n, right_seed;
    const float *left;
    float beta;
};

static double element(const void *arg, uint64_t at)
{
    const struct product *p = arg;
    const uint64_t row = at / p->n, col = at % p->n;
    float sum = p->beta != 0 ? wl_f32(SEED_C, at, 0, 1) * p->beta : 0;
    for (uint64_t k = 0; k < p->n; k++) {
        const float left = p->left ? p->left[row * p->n + k] : wl_f32(SEED_A, row * p->n + k, 0, 1);
        sum = fmaf(ALPHA * left, wl_f32(p->right_seed, k * p->n + col, 0, 1), sum);
    }
    return (double)sum;
}

static void check(struct wl *w, const char *name, const float *output, const struct product *p)
{
    wl_check_f32(w, &(struct wl_check){.name = name,
                                       .output = output,
                                       .count = p->n * p->n,
                                       .reference = element,
                                       .arg = p,
                                       .cost = p->n,
                                       .relative = 1e-5});
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t n = (uint64_t)wl_param(w, "n");
    return n * n * 4 * (wl_param(w, "chain") == 2 ? 5 : 3);
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n");
    const uint64_t count = (uint64_t)n * (uint64_t)n;
    const struct wl_dim grid = wl_dim(wl_blocks(n, BLOCK_X), wl_blocks(n, BLOCK_Y)),
                        block = wl_dim(BLOCK_X, BLOCK_Y);
    float *a = wl_input_f32(w, "a", count, SEED_A, 0, 1), *b = wl_input_f32(w, "b", count, SEED_B, 0, 1);
    float *c = wl_input_f32(w, "c", count, SEED_C, 0, 1);
    if (wl_param(w, "chain") == 1) {
        WL_LAUNCH(w, "gemm_naive", grid, block, a, b, c, ALPHA, BETA, n, n, n);
        check(w, "c", c, &(struct product){.n = (uint64_t)n, .right_seed = SEED_B, .beta = BETA});
        return;
    }
    float *tmp = wl_alloc(w, "tmp", count * sizeof *tmp), *d = wl_alloc(w, "d", count * sizeof *d);
    WL_LAUNCH(w, "gemm_naive", grid, block, a, b, tmp, ALPHA, 0.0f, n, n, n);
    WL_LAUNCH(w, "gemm_naive", grid, block, tmp, c, d, ALPHA, 0.0f, n, n, n);
    check(w, "tmp", tmp, &(struct product){.n = (uint64_t)n, .right_seed = SEED_B});
    check(w, "d", d, &(struct product){.n = (uint64_t)n, .right_seed = SEED_C, .left = tmp});
}

WORKLOAD(gemm_naive, .aliases = "2mm", .suite = "PolyBench", .sharing = "high-sharing",
         .description = "2MM (chain=2) or GEMM (chain=1), a thread per element, no shared memory",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
