/* gesummv: host script. NUBA: 1073 MB = two matrices of 11584 x 11584 floats. */
#include "matrix.h"

enum { SEED_A = 1, SEED_B, SEED_X, BLOCK = 256 };
static const float ALPHA = 1.5f, BETA = 1.25f;

static const struct wl_param params[] = {{"n", 768, 1, 46340, 0, "rows and columns"}, {0}};
static const struct wl_size sizes[] = {
    {"tiny", "n=200", NULL},
    {"nuba", "n=11584", "NUBA, 1073 MB"},
    {0},
};

static double expected_tmp(const void *arg, uint64_t i)
{
    const struct matrix a = {SEED_A, *(const uint64_t *)arg, *(const uint64_t *)arg};
    return (double)matrix_row_dot(&a, i, (struct matrix_vector){.seed = SEED_X}, 0);
}

static double expected_y(const void *arg, uint64_t i)
{
    const struct matrix b = {SEED_B, *(const uint64_t *)arg, *(const uint64_t *)arg};
    const float sum = matrix_row_dot(&b, i, (struct matrix_vector){.seed = SEED_X}, 0);
    return (double)ALPHA * expected_tmp(arg, i) + (double)BETA * (double)sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t n = (uint64_t)wl_param(w, "n");
    return 4 * (2 * n * n + 3 * n);
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n");
    const uint64_t count = (uint64_t)n;
    float *a = wl_input_f32(w, "a", count * count, SEED_A, 0, 1);
    float *b = wl_input_f32(w, "b", count * count, SEED_B, 0, 1);
    float *x = wl_input_f32(w, "x", count, SEED_X, 0, 1);
    float *y = wl_alloc(w, "y", count * sizeof *y), *tmp = wl_alloc(w, "tmp", count * sizeof *tmp);
    WL_LAUNCH(w, "gesummv", wl_dim(wl_blocks(n, BLOCK)), wl_dim(BLOCK), a, b, x, y, tmp, ALPHA, BETA, n);

    struct wl_check check = {.count = count, .arg = &count, .relative = 1e-5};
    check.name = "tmp", check.output = tmp, check.reference = expected_tmp, check.cost = count;
    wl_check_f32(w, &check);
    check.name = "y", check.output = y, check.reference = expected_y, check.cost = 2 * count;
    wl_check_f32(w, &check);
}

WORKLOAD(gesummv, .suite = "PolyBench", .sharing = "low-sharing", .description = "y = alpha A x + beta B x",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
