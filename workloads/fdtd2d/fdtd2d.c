/* fdtd2d: host script. NUBA: 51 MB = three fields of 2048 x 2048 floats. PolyBench takes 500 time steps; four
 * here: three of them are already the paper's billion instructions. A point is checked by computing the
 * square of the field that it depends on: one point further in each direction per step. */
#include "workload.h"

enum { SEED_EX = 1, SEED_EY, SEED_HZ, BLOCK_X = 32, BLOCK_Y = 8, STEPS_MOST = 8, SIDE = 2 * STEPS_MOST + 5 };

static const struct wl_param params[] = {
    {"nx", 512, 2, 16384, 0, "rows"},
    {"ny", 512, 2, 16384, 0, "columns"},
    {"steps", 2, 1, STEPS_MOST, 0, "time steps, three launches each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "nx=20,ny=50", NULL},
    {"nuba", "nx=2048,ny=2048,steps=4", "NUBA, 51 MB"},
    {0},
};

struct field {
    int nx, ny, steps;
};

/* The fields in the square around a point after all steps; values near its edge are not valid. */
struct square {
    float ex[SIDE][SIDE], ey[SIDE][SIDE], hz[SIDE][SIDE];
};

static float source_at(int t) { return (float)t + 0.25f; }

static void square_start(const struct field *f, struct square *s, int y0, int x0)
{
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            const int i = y0 + y, j = x0 + x;
            if (i < 0 || j < 0 || i > f->nx || j > f->ny) continue;
            const uint64_t row = (uint64_t)i, col = (uint64_t)j, ny = (uint64_t)f->ny;
            s->ex[y][x] = wl_f32(SEED_EX, row * (ny + 1) + col, -1, 1);
            s->ey[y][x] = wl_f32(SEED_EY, row * ny + col, -1, 1);
            s->hz[y][x] = wl_f32(SEED_HZ, row * ny + col, -1, 1);
        }
    }
}

static void square_electric(const struct field *f, struct square *s, int y0, int x0, int t)
{
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            const int i = y0 + y, j = x0 + x;
            if (i < 0 || j < 0 || i >= f->nx || j >= f->ny) continue;
            if (i == 0)
                s->ey[y][x] = source_at(t);
            else if (y > 0)
                s->ey[y][x] -= 0.5f * (s->hz[y][x] - s->hz[y - 1][x]);
            if (j > 0 && x > 0) s->ex[y][x] -= 0.5f * (s->hz[y][x] - s->hz[y][x - 1]);
        }
    }
}

static void square_magnetic(const struct field *f, struct square *s, int y0, int x0)
{
    for (int y = 0; y < SIDE - 1; y++) {
        for (int x = 0; x < SIDE - 1; x++) {
            const int i = y0 + y, j = x0 + x;
            if (i < 0 || j < 0 || i >= f->nx || j >= f->ny) continue;
            s->hz[y][x] -= 0.7f * (s->ex[y][x + 1] - s->ex[y][x] + s->ey[y + 1][x] - s->ey[y][x]);
        }
    }
}

static struct square square_at(const struct field *f, int i, int j)
{
    const int y0 = i - SIDE / 2, x0 = j - SIDE / 2;
    struct square s = {0};
    square_start(f, &s, y0, x0);
    for (int t = 0; t < f->steps; t++) {
        square_electric(f, &s, y0, x0, t);
        square_magnetic(f, &s, y0, x0);
    }
    return s;
}

static double expected_ex(const void *arg, uint64_t at)
{
    const struct field *f = arg;
    const int pitch = f->ny + 1;
    return (double)square_at(f, (int)at / pitch, (int)at % pitch).ex[SIDE / 2][SIDE / 2];
}

static double expected_ey(const void *arg, uint64_t at)
{
    const struct field *f = arg;
    return (double)square_at(f, (int)at / f->ny, (int)at % f->ny).ey[SIDE / 2][SIDE / 2];
}

static double expected_hz(const void *arg, uint64_t at)
{
    const struct field *f = arg;
    return (double)square_at(f, (int)at / f->ny, (int)at % f->ny).hz[SIDE / 2][SIDE / 2];
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t nx = (uint64_t)wl_param(w, "nx"), ny = (uint64_t)wl_param(w, "ny");
    return 4 * (nx * (ny + 1) + (nx + 1) * ny + nx * ny + (uint64_t)wl_param(w, "steps"));
}

static void run(struct wl *w)
{
    const struct field f = {(int)wl_param(w, "nx"), (int)wl_param(w, "ny"), (int)wl_param(w, "steps")};
    const uint64_t nx = (uint64_t)f.nx, ny = (uint64_t)f.ny;
    float *ex = wl_input_f32(w, "ex", nx * (ny + 1), SEED_EX, -1, 1);
    float *ey = wl_input_f32(w, "ey", (nx + 1) * ny, SEED_EY, -1, 1);
    float *hz = wl_input_f32(w, "hz", nx * ny, SEED_HZ, -1, 1);
    float *source = wl_alloc(w, "source", (uint64_t)f.steps * 4), values[STEPS_MOST];
    for (int t = 0; t < f.steps; t++) values[t] = source_at(t);
    wl_write(w, source, values, (uint64_t)f.steps * 4);
    const struct wl_dim grid = wl_dim(wl_blocks(f.ny, BLOCK_X), wl_blocks(f.nx, BLOCK_Y)),
                        block = wl_dim(BLOCK_X, BLOCK_Y);
    for (int t = 0; t < f.steps; t++) {
        WL_LAUNCH(w, "fdtd2d_ey", grid, block, ey, hz, source, f.nx, f.ny, t);
        WL_LAUNCH(w, "fdtd2d_ex", grid, block, ex, hz, f.nx, f.ny);
        WL_LAUNCH(w, "fdtd2d_hz", grid, block, ex, ey, hz, f.nx, f.ny);
    }
    struct wl_check check = {.arg = &f, .cost = 10 * SIDE * SIDE, .absolute = 1e-4};
    check.name = "ex", check.output = ex, check.count = nx * (ny + 1), check.reference = expected_ex;
    wl_check_f32(w, &check);
    check.name = "ey", check.output = ey, check.count = (nx + 1) * ny, check.reference = expected_ey;
    wl_check_f32(w, &check);
    check.name = "hz", check.output = hz, check.count = nx * ny, check.reference = expected_hz;
    wl_check_f32(w, &check);
}

WORKLOAD(fdtd2d, .aliases = "ftd2d", .suite = "PolyBench", .sharing = "low-sharing",
         .description = "2D electromagnetic field, three launches per time step", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
