/* hotspot3d: host script. The chip is 16 mm x 16 mm, of layers of silicon, 0.1 mm thick; a time step is half of what
 * is stable. LADM: 512 x 512 x 42 points are 126 MiB in 1024 blocks. Its quick size cuts y, the slowest dimension of
 * a plane.
 *
 * Footprint: 12 x nx x ny x nz bytes: power and two temperatures. One launch per step. Blocks share the points next
 * to their columns. */
#include "workload.h"

enum { SEED_T = 1, SEED_P, BLOCK_X = 64, BLOCK_Y = 4 };
static const float AMBIENT = 80.0f;

static const struct wl_param params[] = {
    {"nx", 256, BLOCK_X, 8192, BLOCK_X, "points along x"},
    {"ny", 256, BLOCK_Y, 8192, BLOCK_Y, "points along y"},
    {"nz", 8, 2, 8192, 0, "layers"},
    {"steps", 2, 1, 10000, 0, "time steps, a launch each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "nx=64,ny=12,nz=5", NULL},
    {"ladm", "nx=512,ny=512,nz=42", "LADM, 126 MiB, 1024 blocks"},
    {"ladmq", "nx=512,ny=128,nz=42,steps=1", "LADM quick: smaller y"},
    {0},
};

/* t' = centre t + row (west + east) + column (north + south) + layer (below + above) + power P + ambient */
struct weights {
    float centre, row, column, layer, power, ambient;
};

static struct weights weights_of(int nx, int ny)
{
    const double size = 0.016, thick = 0.0001, conductivity = 100; /* m, m, W/(m K) */
    const double width = size / nx, height = size / ny;
    const double row = conductivity * thick * height / width, column = conductivity * thick * width / height;
    const double layer = conductivity * width * height / thick, to_ambient = layer / 100;
    const double step = 0.5 / (2 * row + 2 * column + 2 * layer + to_ambient); /* time over heat capacity */
    return (struct weights){(float)(1 - step * (2 * row + 2 * column + 2 * layer + to_ambient)),
                            (float)(step * row),
                            (float)(step * column),
                            (float)(step * layer),
                            (float)step,
                            (float)(step * to_ambient) * AMBIENT};
}

struct chip {
    int nx, ny, nz;
    struct weights k;
};

static float next(const struct chip *c, const float *t, int x, int y, int z)
{
    const int64_t row = c->nx, area = row * c->ny, at = z * area + y * row + x;
    const struct weights k = c->k;
    return k.centre * t[at] + k.row * (t[x > 0 ? at - 1 : at] + t[x < c->nx - 1 ? at + 1 : at]) +
           k.column * (t[y > 0 ? at - row : at] + t[y < c->ny - 1 ? at + row : at]) +
           k.layer * (t[z > 0 ? at - area : at] + t[z < c->nz - 1 ? at + area : at]) +
           k.power * wl_f32(SEED_P, (uint64_t)at, 0, 1e-3f) + k.ambient;
}

static uint64_t points_of(const struct wl *w)
{
    return (uint64_t)wl_param(w, "nx") * (uint64_t)wl_param(w, "ny") * (uint64_t)wl_param(w, "nz");
}

static uint64_t footprint_bytes(const struct wl *w) { return 12 * points_of(w); }

static const float *sweep(struct wl *w, const struct chip *c, uint64_t points, int64_t steps)
{
    float *now = wl_scratch(w, points * 4), *then = wl_scratch(w, points * 4);
    wl_many_f32(w, &(struct wl_numbers){SEED_T, 320, 340}, 0, points, now);
    for (int64_t step = 0; step < steps; step++) {
        float *to = then;
        for (int z = 0; z < c->nz; z++)
            for (int y = 0; y < c->ny; y++)
                for (int x = 0; x < c->nx; x++) *to++ = next(c, now, x, y, z);
        to = now;
        now = then;
        then = to;
    }
    return now;
}

static void run(struct wl *w)
{
    const int nx = (int)wl_param(w, "nx"), ny = (int)wl_param(w, "ny"), nz = (int)wl_param(w, "nz");
    const int64_t steps = wl_param(w, "steps");
    const uint64_t points = points_of(w);
    if (points > INT32_MAX) wl_fail(w, "at most 2^31 points");
    const struct chip chip = {nx, ny, nz, weights_of(nx, ny)};
    const struct weights k = chip.k;
    float *power = wl_input_f32(w, "power", points, SEED_P, 0, 1e-3f);
    float *in = wl_input_f32(w, "temperature 0", points, SEED_T, 320, 340);
    float *out = wl_alloc(w, "temperature 1", points * 4);
    for (int64_t i = 0; i < steps; i++) {
        WL_LAUNCH(w, "hotspot3d", wl_dim(nx / BLOCK_X, ny / BLOCK_Y), wl_dim(BLOCK_X, BLOCK_Y), power, in,
                  out, nx, ny, nz, k.centre, k.row, k.column, k.layer, k.power, k.ambient);
        float *spare = in;
        in = out;
        out = spare;
    }
    wl_wait(w);
    wl_check_f32(w, &(struct wl_check){.name = "temperature",
                                       .output = in,
                                       .count = points,
                                       .reference = wl_expect_f32,
                                       .references = wl_expect_f32_many,
                                       .arg = sweep(w, &chip, points, steps),
                                       .relative = 1e-5});
}

WORKLOAD(hotspot3d, .suite = "Rodinia", .sharing = "-",
         .description = "3D thermal simulation, a thread per column of layers", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
