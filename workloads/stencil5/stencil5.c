/* stencil5: host script. Two grids, swapped after each step. */
#include "cone.h"

enum { SEED = 1, BLOCK_X = 32, BLOCK_Y = 8 };
static const float CENTRE = 0.5f, SIDE = 0.125f;

static const struct wl_param params[] = {
    {"rows", 1024, 3, 46340, 0, "grid rows"},
    {"cols", 1024, 3, 46340, 0, "grid columns"},
    {"steps", 1, 1, 1000, 0, "time steps, one launch each"},
    {0},
};
static const struct wl_size sizes[] = {{"tiny", "rows=50,cols=70,steps=3", NULL}, {0}};

static float initial(uint64_t at) { return wl_f32(SEED, at, 0, 1); }

static float next(const struct cone *c, int y, int x, float t, float north, float south, float west,
                  float east)
{
    if (x == 0 || y == 0 || x == c->cols - 1 || y == c->rows - 1) return t;
    return CENTRE * t + SIDE * (west + east + north + south);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 8 * (uint64_t)wl_param(w, "rows") * (uint64_t)wl_param(w, "cols");
}

static void run(struct wl *w)
{
    const int rows = (int)wl_param(w, "rows"), cols = (int)wl_param(w, "cols"),
              steps = (int)wl_param(w, "steps");
    const uint64_t count = (uint64_t)rows * (uint64_t)cols;
    float *in = wl_input_f32(w, "grid 0", count, SEED, 0, 1),
          *out = wl_alloc(w, "grid 1", count * sizeof *out);
    for (int i = 0; i < steps; i++) {
        WL_LAUNCH(w, "stencil5", wl_dim(wl_blocks(cols, BLOCK_X), wl_blocks(rows, BLOCK_Y)),
                  wl_dim(BLOCK_X, BLOCK_Y), in, out, CENTRE, SIDE, rows, cols);
        float *spare = in;
        in = out;
        out = spare;
    }
    struct cone c = cone_new(w, rows, cols, steps);
    c.initial = initial, c.next = next;
    cone_check(w, &c, "grid", in);
}

WORKLOAD(stencil5, .suite = "micro", .sharing = "-", .description = "2D 5-point Jacobi stencil",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
