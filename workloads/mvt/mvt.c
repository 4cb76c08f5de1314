/* mvt: host script. NUBA: 6443 MB, one matrix of 40192 x 40192 floats (157 full blocks). */
#include "matrix.h"

enum { SEED_A = 1, SEED_X1, SEED_Y1, SEED_X2, SEED_Y2, BLOCK = 256 };

static const struct wl_param params[] = {{"n", 1024, 1, 46340, 0, "rows and columns"}, {0}};
static const struct wl_size sizes[] = {
    {"tiny", "n=300", NULL},
    {"nuba", "n=40192", "NUBA, 6443 MB"},
    {0},
};

static double expected_x1(const void *arg, uint64_t i)
{
    return (double)matrix_row_dot(arg, i, (struct matrix_vector){.seed = SEED_Y1}, wl_f32(SEED_X1, i, 0, 1));
}

static double expected_x2(const void *arg, uint64_t i)
{
    return (double)matrix_col_dot(arg, i, (struct matrix_vector){.seed = SEED_Y2}, wl_f32(SEED_X2, i, 0, 1));
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t n = (uint64_t)wl_param(w, "n");
    return 4 * (n * n + 4 * n);
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n");
    const uint64_t count = (uint64_t)n;
    const struct matrix m = {SEED_A, count, count};
    float *a = wl_input_f32(w, "a", count * count, SEED_A, 0, 1);
    float *x1 = wl_input_f32(w, "x1", count, SEED_X1, 0, 1),
          *y1 = wl_input_f32(w, "y1", count, SEED_Y1, 0, 1);
    float *x2 = wl_input_f32(w, "x2", count, SEED_X2, 0, 1),
          *y2 = wl_input_f32(w, "y2", count, SEED_Y2, 0, 1);
    const struct wl_dim grid = wl_dim(wl_blocks(n, BLOCK)), block = wl_dim(BLOCK);
    WL_LAUNCH(w, "mvt_rows", grid, block, a, x1, y1, n);
    WL_LAUNCH(w, "mvt_columns", grid, block, a, x2, y2, n);

    struct wl_check check = {.count = count, .arg = &m, .cost = count, .relative = 1e-5};
    check.name = "x1", check.output = x1, check.reference = expected_x1;
    wl_check_f32(w, &check);
    check.name = "x2", check.output = x2, check.reference = expected_x2;
    wl_check_f32(w, &check);
}

WORKLOAD(mvt, .suite = "PolyBench", .sharing = "low-sharing",
         .description = "x1 += A y1 by rows, x2 += A' y2 by columns", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
