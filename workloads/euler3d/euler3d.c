/* euler3d: host script. The mesh is a grid of cubes; each cube is cut into six tetrahedra along its diagonal,
 * so every cell has four faces. Numbers of cells are mixed within windows of 48 cells: neighbours are near but
 * not in order, as in a mesh of a grid generator.
 *
 * Private by page: areas, normals, neighbours, fluxes, step factors and old variables (streams of the own
 * cell). Read-write shared: variables at the border between the cells of two GPUs; a border is one layer of
 * cubes, nx x ny x 6 cells. Read-only shared: the far-field values.
 * CARVE, 26 MB: 24 x 32 x 42 cubes are 193,536 cells, Rodinia's mesh fvcorr.domn.193K in blocks of 192.
 * Rodinia takes 2000 iterations. Its copy of the old variables by the driver is a kernel here. */
#include "workload.h"

enum { SEED_AREA = 1, BLOCK = 192, VARIABLES = 5, FACES = 4, WINDOW = 48, WING = -1, FAR_FIELD = -2 };
enum { RUNGE_KUTTA = 3 };

static const struct wl_param params[] = {
    {"nx", 16, 8, 1024, 8, "cubes along x (six cells each)"},
    {"ny", 16, 1, 1024, 0, "cubes along y"},
    {"nz", 16, 1, 1024, 0, "cubes along z"},
    {"iterations", 2, 1, 100000, 0, "time steps, eight launches each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "nx=8,ny=2,nz=3,iterations=1", NULL},
    {"carve", "nx=24,ny=32,nz=42,iterations=10", "CARVE, 26 MB"},
    {"carve_s8", "nx=16,ny=16,nz=16,iterations=10", "CARVE, footprint 1/8"},
    {"ugpu", "nx=48,ny=80,nz=94,iterations=10", "UGPU, 286 MB"},
    {"ugpuq", "nx=24,ny=32,nz=42,iterations=10", "UGPU quick"},
    {0},
};

struct mesh {
    int64_t nx, ny, nz, cells;
};

struct cell {
    int64_t cube[3];
    int axes[3]; /* order in which the path from corner 000 to corner 111 takes the axes */
};

static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static struct mesh mesh_of(const struct wl *w)
{
    struct mesh m = {wl_param(w, "nx"), wl_param(w, "ny"), wl_param(w, "nz"), 0};
    m.cells = 6 * m.nx * m.ny * m.nz;
    return m;
}

/* Swaps number and place of a cell inside its window. The multipliers are their own inverses modulo 48. */
static int64_t mix(int64_t number, bool to_place)
{
    static const int64_t multipliers[] = {7, 17, 23, 25, 31, 41};
    const int64_t window = number / WINDOW, k = number % WINDOW;
    const int64_t by = multipliers[wl_below(SEED_AREA + 1, (uint64_t)window, 6)];
    const int64_t shift = (int64_t)wl_below(SEED_AREA + 2, (uint64_t)window, WINDOW);
    const int64_t mixed = to_place ? (k * by + shift) % WINDOW : (k + WINDOW - shift) % WINDOW * by % WINDOW;
    return window * WINDOW + mixed;
}

static struct cell cell_at(const struct mesh *m, int64_t number)
{
    const int64_t place = mix(number, true), cube = place / 6;
    struct cell c = {{cube % m->nx, cube / m->nx % m->ny, cube / (m->nx * m->ny)}, {0}};
    for (int k = 0; k < 3; k++) c.axes[k] = orders[place % 6][k];
    return c;
}

static int64_t number_of(const struct mesh *m, const int64_t cube[3], int a, int b, int c)
{
    int order = 0;
    while (orders[order][0] != a || orders[order][1] != b || orders[order][2] != c) order++;
    return mix(6 * ((cube[2] * m->ny + cube[1]) * m->nx + cube[0]) + order, false);
}

/* Cell behind face `face`, the face opposite corner `face` of the path; WING or FAR_FIELD at the border. */
static int64_t neighbour(const struct mesh *m, int64_t number, int face)
{
    const struct cell c = cell_at(m, number);
    const int a = c.axes[0], b = c.axes[1], d = c.axes[2];
    const int64_t counts[3] = {m->nx, m->ny, m->nz};
    if (face == 1) return number_of(m, c.cube, b, a, d);
    if (face == 2) return number_of(m, c.cube, a, d, b);
    int64_t cube[3] = {c.cube[0], c.cube[1], c.cube[2]};
    const int axis = face == 0 ? a : d;
    cube[axis] += face == 0 ? 1 : -1;
    if (cube[axis] < 0 || cube[axis] >= counts[axis]) return axis == 2 && face == 3 ? WING : FAR_FIELD;
    return face == 0 ? number_of(m, cube, b, d, a) : number_of(m, cube, d, a, b);
}

/* Component `axis` of the area vector that points out of the cell. */
static float normal(const struct mesh *m, int64_t number, int face, int axis)
{
    const struct cell c = cell_at(m, number);
    static const int plus[FACES] = {0, 1, 2, -1}, minus[FACES] = {-1, 0, 1, 2};
    if (plus[face] >= 0 && c.axes[plus[face]] == axis) return 0.5f;
    return minus[face] >= 0 && c.axes[minus[face]] == axis ? -0.5f : 0.0f;
}

static void fill_neighbours(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct mesh *m = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const int64_t at = (int64_t)(first / 4 + k);
        static const int faces[FACES] = {1, 0, 2, 3}; /* as mixed as the numbers of the cells */
        ((int32_t *)to)[k] = (int32_t)neighbour(m, at % m->cells, faces[at / m->cells]);
    }
}

static void fill_normals(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct mesh *m = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const int64_t at = (int64_t)(first / 4 + k), row = at / m->cells;
        static const int faces[FACES] = {1, 0, 2, 3};
        ((float *)to)[k] = normal(m, at % m->cells, faces[row / 3], (int)(row % 3));
    }
}

/* Density 1.4, pressure 1, Mach 1.2 at an angle of attack: the speed of sound is 1. */
static const float far_field[VARIABLES] = {1.4f, 1.4f * 1.2f * 0.998f, 0.0f, 1.4f * 1.2f * 0.06f,
                                           1.0f / 0.4f + 0.5f * 1.4f * 1.44f};

/* ---- reference: whole mesh in double, face after face of one cell ---- */

struct reference {
    const struct mesh *mesh;
    double (*now)[VARIABLES], (*old)[VARIABLES], (*flux)[VARIABLES];
    int32_t *neighbours;
};

static double pressure_of(const double *v)
{
    return 0.4 * (v[4] - 0.5 * (v[1] * v[1] + v[2] * v[2] + v[3] * v[3]) / v[0]);
}

static double wave_speed_of(const double *v)
{
    return sqrt(v[1] * v[1] + v[2] * v[2] + v[3] * v[3]) / v[0] + sqrt(1.4 * pressure_of(v) / v[0]);
}

/* Flux of variable k of state v along n. */
static double flux_of(const double *v, const double *n, int k)
{
    const double rate = (v[1] * n[0] + v[2] * n[1] + v[3] * n[2]) / v[0], p = pressure_of(v);
    return rate * (v[k] + (k == 4 ? p : 0)) + (k >= 1 && k <= 3 ? p * n[k - 1] : 0);
}

static void reference_flux(const struct reference *r, int64_t i)
{
    const double *own = r->now[i];
    double outside[VARIABLES];
    for (int k = 0; k < VARIABLES; k++) outside[k] = (double)far_field[k], r->flux[i][k] = 0;
    for (int face = 0; face < FACES; face++) {
        double n[3], length = 0;
        for (int axis = 0; axis < 3; axis++) {
            n[axis] = (double)normal(r->mesh, i, face, axis);
            length += n[axis] * n[axis];
        }
        const int64_t to = r->neighbours[i * FACES + face];
        const double *other = to >= 0 ? r->now[to] : outside;
        const double smooth = 0.1 * sqrt(length) * (wave_speed_of(own) + wave_speed_of(other));
        for (int k = 0; k < VARIABLES; k++) {
            if (to == WING) {
                r->flux[i][k] -= k >= 1 && k <= 3 ? pressure_of(own) * n[k - 1] : 0;
                continue;
            }
            r->flux[i][k] -= 0.5 * (flux_of(own, n, k) + flux_of(other, n, k));
            if (to >= 0) r->flux[i][k] += smooth * (other[k] - own[k]);
        }
    }
}

static float area_of(int64_t cell) { return wl_f32(SEED_AREA, (uint64_t)cell, 0.15f, 0.18f); }

static double expected(const void *arg, uint64_t at)
{
    const struct reference *r = arg;
    return r->now[at % (uint64_t)r->mesh->cells][at / (uint64_t)r->mesh->cells];
}

static struct reference *reference_new(struct wl *w, const struct mesh *m, int64_t iterations)
{
    const uint64_t rows = (uint64_t)m->cells * VARIABLES * sizeof(double);
    struct reference *r = wl_scratch(w, sizeof *r);
    *r = (struct reference){m, wl_scratch(w, rows), wl_scratch(w, rows), wl_scratch(w, rows),
                            wl_scratch(w, (uint64_t)m->cells * FACES * 4)};
    double *step = wl_scratch(w, (uint64_t)m->cells * sizeof *step);
    for (int64_t i = 0; i < m->cells; i++) {
        for (int face = 0; face < FACES; face++)
            r->neighbours[i * FACES + face] = (int32_t)neighbour(m, i, face);
        for (int k = 0; k < VARIABLES; k++) {
            const uint32_t mixed = (uint32_t)(i * VARIABLES + k) * 2654435761u;
            r->now[i][k] = (double)far_field[k] * (1 + 0.01 * (mixed >> 16) / 65536.0);
        }
    }
    for (int64_t t = 0; t < iterations; t++) {
        __builtin_memcpy(r->old, r->now, rows);
        for (int64_t i = 0; i < m->cells; i++)
            step[i] = 0.2 / (sqrt((double)area_of(i)) * wave_speed_of(r->now[i]));
        for (int j = 0; j < RUNGE_KUTTA; j++) {
            for (int64_t i = 0; i < m->cells; i++) reference_flux(r, i);
            for (int64_t i = 0; i < m->cells; i++)
                for (int k = 0; k < VARIABLES; k++)
                    r->now[i][k] = r->old[i][k] + step[i] / (RUNGE_KUTTA - j) * r->flux[i][k];
        }
    }
    return r;
}

/* Per cell: area, step factor, 4 neighbours, 12 components of normals, 3 x 5 variables. */
static uint64_t footprint_bytes(const struct wl *w)
{
    return 132 * (uint64_t)mesh_of(w).cells + sizeof far_field;
}

static void run(struct wl *w)
{
    struct mesh *m = wl_scratch(w, sizeof *m);
    *m = mesh_of(w);
    const int cells = (int)m->cells;
    const uint64_t count = (uint64_t)cells, five = count * VARIABLES * 4;
    const int64_t iterations = wl_param(w, "iterations");
    float *areas = wl_input_f32(w, "areas", count, SEED_AREA, 0.15f, 0.18f);
    int32_t *neighbours = wl_input(w, "neighbours", count * FACES * 4, fill_neighbours, m);
    float *normals = wl_input(w, "normals", count * FACES * 12, fill_normals, m);
    float *variables = wl_alloc(w, "variables", five), *old = wl_alloc(w, "old", five);
    float *fluxes = wl_alloc(w, "fluxes", five), *step_factors = wl_alloc(w, "step_factors", count * 4);
    float *outside = wl_alloc(w, "far_field", sizeof far_field);
    wl_write(w, outside, far_field, sizeof far_field);
    const struct wl_dim grid = wl_dim(wl_blocks(cells, BLOCK)), block = wl_dim(BLOCK);
    WL_LAUNCH(w, "euler_initialise", grid, block, variables, old, fluxes, step_factors, outside, cells);
    wl_measure(w);
    for (int64_t t = 0; t < iterations; t++) {
        WL_LAUNCH(w, "euler_copy", grid, block, variables, old, cells);
        WL_LAUNCH(w, "euler_step_factor", grid, block, variables, areas, step_factors, cells);
        for (int j = 0; j < RUNGE_KUTTA; j++) {
            WL_LAUNCH(w, "euler_flux", grid, block, neighbours, normals, variables, outside, fluxes, cells);
            WL_LAUNCH(w, "euler_time_step", grid, block, old, variables, step_factors, fluxes,
                      RUNGE_KUTTA - j, cells);
        }
    }
    wl_wait(w);
    wl_check_f32(w, &(struct wl_check){.name = "variables",
                                       .output = variables,
                                       .count = count * VARIABLES,
                                       .reference = expected,
                                       .arg = reference_new(w, m, iterations),
                                       .relative = 1e-5,
                                       .absolute = 1e-5});
}

WORKLOAD(euler3d, .aliases = "cfd", .suite = "Rodinia", .sharing = "-",
         .description = "Euler equations on tetrahedra, neighbours gathered, 8 launches a step",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
