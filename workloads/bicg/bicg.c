/* bicg: host script. NUBA: 2013 MB = 24576 x 20480 floats. */
#include "matrix.h"

enum { SEED_A = 1, SEED_R, SEED_P, BLOCK = 256 };

static const struct wl_param params[] = {
    {"nx", 1024, 1, 65536, 0, "rows"},
    {"ny", 1024, 1, 65536, 0, "columns"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "nx=300,ny=200", NULL},
    {"nuba", "nx=24576,ny=20480", "NUBA, 2013 MB"},
    {0},
};

static double expected_s(const void *arg, uint64_t j)
{
    return (double)matrix_col_dot(arg, j, (struct matrix_vector){.seed = SEED_R}, 0);
}

static double expected_q(const void *arg, uint64_t i)
{
    return (double)matrix_row_dot(arg, i, (struct matrix_vector){.seed = SEED_P}, 0);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t nx = (uint64_t)wl_param(w, "nx"), ny = (uint64_t)wl_param(w, "ny");
    return 4 * (nx * ny + 2 * nx + 2 * ny);
}

static void run(struct wl *w)
{
    const int nx = (int)wl_param(w, "nx"), ny = (int)wl_param(w, "ny");
    const struct matrix m = {SEED_A, (uint64_t)nx, (uint64_t)ny};
    float *a = wl_input_f32(w, "a", m.rows * m.cols, SEED_A, 0, 1);
    float *r = wl_input_f32(w, "r", m.rows, SEED_R, 0, 1), *p = wl_input_f32(w, "p", m.cols, SEED_P, 0, 1);
    float *s = wl_alloc(w, "s", m.cols * sizeof *s), *q = wl_alloc(w, "q", m.rows * sizeof *q);
    WL_LAUNCH(w, "bicg_columns", wl_dim(wl_blocks(ny, BLOCK)), wl_dim(BLOCK), a, r, s, nx, ny);
    WL_LAUNCH(w, "bicg_rows", wl_dim(wl_blocks(nx, BLOCK)), wl_dim(BLOCK), a, p, q, nx, ny);

    wl_check_f32(w, &(struct wl_check){.name = "s",
                                       .output = s,
                                       .count = m.cols,
                                       .reference = expected_s,
                                       .arg = &m,
                                       .cost = m.rows,
                                       .relative = 1e-5});
    wl_check_f32(w, &(struct wl_check){.name = "q",
                                       .output = q,
                                       .count = m.rows,
                                       .reference = expected_q,
                                       .arg = &m,
                                       .cost = m.cols,
                                       .relative = 1e-5});
}

WORKLOAD(bicg, .suite = "PolyBench", .sharing = "high-sharing", .description = "s = A' r and q = A p",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
