/* atax: host script. NUBA: 1342 MB = 16384 x 20480 floats. y is checked against the device's tmp, which is
 * itself checked: so a sample of either costs one row or column. */
#include "matrix.h"

enum { SEED_A = 1, SEED_X, BLOCK = 256 };

static const struct wl_param params[] = {
    {"nx", 1024, 1, 65536, 0, "rows"},
    {"ny", 1024, 1, 65536, 0, "columns"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "nx=200,ny=300", NULL},
    {"nuba", "nx=16384,ny=20480", "NUBA, 1342 MB"},
    {0},
};

struct problem {
    struct matrix a;
    const float *tmp;
};

static double expected_tmp(const void *arg, uint64_t i)
{
    const struct problem *p = arg;
    return (double)matrix_row_dot(&p->a, i, (struct matrix_vector){.seed = SEED_X}, 0);
}

static double expected_y(const void *arg, uint64_t j)
{
    const struct problem *p = arg;
    return (double)matrix_col_dot(&p->a, j, (struct matrix_vector){.array = p->tmp}, 0);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t nx = (uint64_t)wl_param(w, "nx"), ny = (uint64_t)wl_param(w, "ny");
    return 4 * (nx * ny + 2 * ny + nx);
}

static void run(struct wl *w)
{
    const int nx = (int)wl_param(w, "nx"), ny = (int)wl_param(w, "ny");
    struct problem p = {.a = {SEED_A, (uint64_t)nx, (uint64_t)ny}};
    float *a = wl_input_f32(w, "a", p.a.rows * p.a.cols, SEED_A, 0, 1);
    float *x = wl_input_f32(w, "x", p.a.cols, SEED_X, 0, 1);
    float *tmp = wl_alloc(w, "tmp", p.a.rows * sizeof *tmp), *y = wl_alloc(w, "y", p.a.cols * sizeof *y);
    WL_LAUNCH(w, "atax_rows", wl_dim(wl_blocks(nx, BLOCK)), wl_dim(BLOCK), a, x, tmp, nx, ny);
    WL_LAUNCH(w, "atax_columns", wl_dim(wl_blocks(ny, BLOCK)), wl_dim(BLOCK), a, y, tmp, nx, ny);

    p.tmp = tmp;
    wl_check_f32(w, &(struct wl_check){.name = "tmp",
                                       .output = tmp,
                                       .count = p.a.rows,
                                       .reference = expected_tmp,
                                       .arg = &p,
                                       .cost = p.a.cols,
                                       .relative = 1e-5});
    wl_check_f32(w, &(struct wl_check){.name = "y",
                                       .output = y,
                                       .count = p.a.cols,
                                       .reference = expected_y,
                                       .arg = &p,
                                       .cost = p.a.rows,
                                       .relative = 1e-5});
}

WORKLOAD(atax, .suite = "PolyBench", .sharing = "low-sharing", .description = "y = A' (A x)",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
