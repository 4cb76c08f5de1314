/* hotspot: host script. The chip is 16 mm x 16 mm, 0.5 mm thick, of silicon; a time step is half of what is
 * stable. LADM: 1024 x 1024 with two steps per launch gives its 86 x 86 blocks. UGPU: 130 MB. */
#include "cone.h"

enum { SEED_T = 1, SEED_P, TILE = 16 };
static const float AMBIENT = 80.0f;

static const struct wl_param params[] = {
    {"rows", 512, 4, 32768, 0, "grid rows"},
    {"cols", 512, 4, 32768, 0, "grid columns"},
    {"steps", 2, 1, 6, 0, "time steps per launch (the pyramid's height)"},
    {"launches", 2, 1, 1000, 0, "launches"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "rows=50,cols=70", NULL},
    {"ladm", "rows=1024,cols=1024", "LADM HS, 16 MB, 7396 blocks"},
    {"ladmq", "rows=1024,cols=1024,launches=1", "LADM quick: not cut, one launch"},
    {"ugpu", "rows=3291,cols=3291", "UGPU, 130 MB"},
    {"ugpuq", "rows=2048,cols=2048,launches=4", "UGPU quick"},
    {0},
};

/* Per step: t += over_cap (power + flow from the four sides + flow to the ambient). */
struct physics {
    float over_cap, over_rx, over_ry, over_rz;
};

static struct physics physics_of(int rows, int cols)
{
    const double size = 0.016, thick = 0.0005, conductivity = 100,
                 heat = 1.75e6; /* m, m, W/(m K), J/(m3 K) */
    const double height = size / rows, width = size / cols, cap = heat * thick * width * height;
    const double over_rx = conductivity * thick * height / width,
                 over_ry = conductivity * thick * width / height;
    const double over_rz = conductivity * height * width / thick;
    const double step = 0.5 * cap / (2 * over_rx + 2 * over_ry + over_rz);
    return (struct physics){(float)(step / cap), (float)over_rx, (float)over_ry, (float)over_rz};
}

static float initial(uint64_t at) { return wl_f32(SEED_T, at, 320, 340); }

static float next(const struct cone *c, int y, int x, float t, float north, float south, float west,
                  float east)
{
    const struct physics p = *(const struct physics *)c->arg;
    const float power = wl_f32(SEED_P, (uint64_t)y * (uint64_t)c->cols + (uint64_t)x, 0, 1e-3f);
    return t + p.over_cap * (power + (south + north - 2 * t) * p.over_ry + (east + west - 2 * t) * p.over_rx +
                             (AMBIENT - t) * p.over_rz);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 12 * (uint64_t)wl_param(w, "rows") * (uint64_t)wl_param(w, "cols");
}

static void run(struct wl *w)
{
    const int rows = (int)wl_param(w, "rows"), cols = (int)wl_param(w, "cols"),
              steps = (int)wl_param(w, "steps");
    const int launches = (int)wl_param(w, "launches"), inner = TILE - 2 * steps;
    const uint64_t count = (uint64_t)rows * (uint64_t)cols;
    const struct physics p = physics_of(rows, cols);
    float *power = wl_input_f32(w, "power", count, SEED_P, 0, 1e-3f);
    float *in = wl_input_f32(w, "temperature 0", count, SEED_T, 320, 340);
    float *out = wl_alloc(w, "temperature 1", count * sizeof *out);
    for (int i = 0; i < launches; i++) {
        WL_LAUNCH(w, "hotspot", wl_dim(wl_blocks(cols, inner), wl_blocks(rows, inner)), wl_dim(TILE, TILE),
                  power, in, out, rows, cols, steps, p.over_cap, p.over_rx, p.over_ry, p.over_rz, AMBIENT);
        float *spare = in;
        in = out;
        out = spare;
    }
    struct cone c = cone_new(w, rows, cols, steps * launches);
    c.initial = initial, c.next = next, c.arg = &p;
    cone_check(w, &c, "temperature", in);
}

WORKLOAD(hotspot, .suite = "Rodinia", .sharing = "-",
         .description = "2D thermal simulation, time steps in shared memory", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
