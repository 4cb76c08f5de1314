/* lbm: host script. A box with walls, a moving lid and balls in the flow. Two grids of 20 arrays, which
 * change roles at every step. NUBA and UGPU, 389 MB: 120 x 120 x 150 cells in rows of 128 (Parboil's), with
 * four planes of margin on either side; LADM's 370 MB is the same problem. */
#include "workload.h"

enum { SEED = 1, DIRECTIONS = 19, ARRAYS = 20, MARGIN_PLANES = 4, FLUID = 0, OBSTACLE, MOVING };

static const struct wl_param params[] = {
    {"nx", 62, 4, 1022, 0, "cells of a row, one thread each"},
    {"ny", 16, 3, 1024, 0, "rows"},
    {"nz", 16, 3, 1024, 0, "planes"},
    {"steps", 2, 1, 3, 0, "time steps, a launch each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "nx=6,ny=3,nz=4", NULL},
    {"nuba", "nx=120,ny=120,nz=150", "NUBA and UGPU, 389 MB"},
    {"ladm", "nx=120,ny=120,nz=150", "LADM, 370 MB, 18000 blocks"},
    {"ladmq", "nx=120,ny=120,nz=30,steps=1", "LADM quick: fewer planes, one step"},
    {"ugpu", "nx=120,ny=120,nz=150", "UGPU, 389 MB"},
    {"ugpuq", "nx=120,ny=120,nz=6", "UGPU quick"},
    {0},
};
static const int ex[DIRECTIONS] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
static const int ey[DIRECTIONS] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
static const int ez[DIRECTIONS] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};

struct lattice {
    int nx, ny, nz, pitch, steps;
    int64_t margin, array; /* words */
};

static struct lattice lattice_of(const struct wl *w)
{
    struct lattice l = {
        .nx = (int)wl_param(w, "nx"), .ny = (int)wl_param(w, "ny"), .nz = (int)wl_param(w, "nz")};
    l.steps = (int)wl_param(w, "steps");
    l.pitch = (l.nx + 2 + 7) / 8 * 8; /* at least two words beside the cells of a row */
    l.margin = (int64_t)MARGIN_PLANES * l.pitch * l.ny;
    l.array = 2 * l.margin + (int64_t)l.pitch * l.ny * l.nz;
    return l;
}

/* The cell of a word of an array, if there is one. */
static bool cell_at(const struct lattice *l, int64_t at, int cell[3])
{
    const int64_t inside = at - l->margin;
    if (inside < 0 || inside >= (int64_t)l->pitch * l->ny * l->nz) return false;
    cell[0] = (int)(inside % l->pitch);
    cell[1] = (int)(inside / l->pitch % l->ny);
    cell[2] = (int)(inside / l->pitch / l->ny);
    return cell[0] < l->nx;
}

/* Walls all around, the lid beneath the last plane, and a ball in the middle of every 32 cells. */
static int32_t kind_of(const struct lattice *l, int64_t at)
{
    int c[3], far = 0;
    if (!cell_at(l, at, c)) return FLUID;
    if (c[0] == 0 || c[0] == l->nx - 1 || c[1] == 0 || c[1] == l->ny - 1 || c[2] == 0 || c[2] == l->nz - 1)
        return OBSTACLE;
    if (c[2] == l->nz - 2) return MOVING;
    for (int k = 0; k < 3; k++) far += (c[k] % 32 - 16) * (c[k] % 32 - 16);
    return far < 36 ? OBSTACLE : FLUID;
}

static double weight_of(int q) { return q == 0 ? 1.0 / 3 : q < 7 ? 1.0 / 18 : 1.0 / 36; }

static float initial(int q, int64_t at)
{
    return (float)weight_of(q) * wl_f32(SEED, (uint64_t)at * DIRECTIONS + (uint64_t)q, 0.95f, 1.05f);
}

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct lattice *l = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const int q = (int)((first / 4 + k) / (uint64_t)l->array);
        const int64_t at = (int64_t)((first / 4 + k) % (uint64_t)l->array);
        if (q < DIRECTIONS)
            ((float *)to)[k] = initial(q, at);
        else
            ((int32_t *)to)[k] = kind_of(l, at);
    }
}

/* The second grid: only the kinds of its cells matter. */
static void fill_kinds(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct lattice *l = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const uint64_t word = first / 4 + k, kinds = DIRECTIONS * (uint64_t)l->array;
        ((int32_t *)to)[k] = word < kinds ? 0 : kind_of(l, (int64_t)(word - kinds));
    }
}

/* Distribution q at a word after some steps: what the cell one step back sent there, or what lay there when
 * no cell is back there. NOLINTNEXTLINE(misc-no-recursion): as deep as there are steps. */
static double value(const struct lattice *l, int steps, int q, int64_t at)
{
    const int64_t back = at - (int64_t)ez[q] * l->pitch * l->ny - (int64_t)ey[q] * l->pitch - ex[q];
    int cell[3];
    if (steps == 0 || !cell_at(l, back, cell)) return steps % 2 ? 0 : (double)initial(q, at);
    const int32_t kind = kind_of(l, back);
    if (kind == OBSTACLE) return value(l, steps - 1, q ? (q - 1) / 2 * 2 + 2 - (q - 1) % 2 : 0, back);
    double mine = 0, density = 0, u[3] = {0};
    for (int k = 0; k < DIRECTIONS; k++) {
        const double f = value(l, steps - 1, k, back);
        if (k == q) mine = f;
        density += f;
        u[0] += ex[k] * f;
        u[1] += ey[k] * f;
        u[2] += ez[k] * f;
    }
    for (int k = 0; k < 3; k++) u[k] /= density;
    if (kind == MOVING) u[0] = 0.005, u[1] = 0.002, u[2] = 0;
    const double along = 3 * (ex[q] * u[0] + ey[q] * u[1] + ez[q] * u[2]);
    const double still = 1 - 1.5 * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    return -0.95 * mine + 1.95 * weight_of(q) * density * (still + along + 0.5 * along * along);
}

static double expected(const void *arg, uint64_t word)
{
    const struct lattice *l = arg;
    return value(l, l->steps, (int)(word / (uint64_t)l->array), (int64_t)(word % (uint64_t)l->array));
}

static double expected_kind(const void *arg, uint64_t at) { return kind_of(arg, (int64_t)at); }

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct lattice l = lattice_of(w);
    return 2 * ARRAYS * 4 * (uint64_t)l.array;
}

static void run(struct wl *w)
{
    struct lattice l = lattice_of(w);
    const uint64_t array = (uint64_t)l.array;
    float *from = wl_input(w, "grid 0", ARRAYS * 4 * array, fill, &l);
    float *to = wl_input(w, "grid 1", ARRAYS * 4 * array, fill_kinds, &l);
    for (int k = 0; k < l.steps; k++) {
        WL_LAUNCH(w, "lbm", wl_dim(l.ny, l.nz), wl_dim(l.nx), from, to, (long long)l.array, (int)l.margin,
                  l.pitch);
        float *spare = from;
        from = to;
        to = spare;
    }
    uint64_t cost = 30;
    for (int k = 1; k < l.steps; k++) cost *= DIRECTIONS;
    wl_check_f32(w, &(struct wl_check){.name = "distributions",
                                       .output = from,
                                       .count = DIRECTIONS * array,
                                       .reference = expected,
                                       .arg = &l,
                                       .cost = cost,
                                       .relative = 1e-4,
                                       .absolute = 1e-6});
    wl_check_u32(w, &(struct wl_check){.name = "kinds",
                                       .output = from + DIRECTIONS * array,
                                       .count = array,
                                       .reference = expected_kind,
                                       .arg = &l});
}

WORKLOAD(lbm, .suite = "Parboil", .sharing = "low-sharing",
         .description = "D3Q19 lattice-Boltzmann fluid, a thread per cell", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
