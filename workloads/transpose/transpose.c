/* transpose: host script. LADM's TRA: 32 MiB, 16384 blocks of 16x16 threads. */
#include "workload.h"

enum { SEED = 1, TILE = 16 };

static const struct wl_param params[] = {
    {"rows", 1024, 1, 46340, 0, "rows of the input"},
    {"cols", 1024, 1, 46340, 0, "columns of the input"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "rows=60,cols=100", NULL},
    {"ladm", "rows=2048,cols=2048", "LADM TRA, 32 MiB, 16384 blocks"},
    {"ladmq", "rows=2048,cols=2048", "LADM quick: not cut"},
    {0},
};

struct shape {
    uint64_t rows, cols;
};

static double expected(const void *arg, uint64_t at)
{
    const struct shape *s = arg;
    return (double)wl_f32(SEED, at % s->rows * s->cols + at / s->rows, 0, 1);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 8 * (uint64_t)wl_param(w, "rows") * (uint64_t)wl_param(w, "cols");
}

static void run(struct wl *w)
{
    const int rows = (int)wl_param(w, "rows"), cols = (int)wl_param(w, "cols");
    const struct shape s = {(uint64_t)rows, (uint64_t)cols};
    float *in = wl_input_f32(w, "in", s.rows * s.cols, SEED, 0, 1);
    float *out = wl_alloc(w, "out", s.rows * s.cols * sizeof *out);
    WL_LAUNCH(w, "transpose", wl_dim(wl_blocks(cols, TILE), wl_blocks(rows, TILE)), wl_dim(TILE, TILE), in,
              out, rows, cols);
    wl_check_f32(
        w, &(struct wl_check){
               .name = "out", .output = out, .count = s.rows * s.cols, .reference = expected, .arg = &s});
}

WORKLOAD(transpose, .suite = "CUDA SDK", .sharing = "-", .description = "matrix transpose by 16x16 tiles",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
