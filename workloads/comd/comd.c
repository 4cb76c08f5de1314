/* comd: host script. An fcc lattice of lattice^3 cubes with four atoms each, disturbed, in a periodic domain.
 * Cells are at least as wide as the cutoff (1.37 cubes), so b = lattice / 1.37 cells along an axis, and b + 2
 * with the halo; about 10 of the 64 slots of a cell are used. Numbers are floats where CoMD has doubles; for the
 * footprint of the paper the lattice is larger.
 *
 * Private by page: velocities, forces, energies. Read-write shared by page and by line: positions and slopes of
 * cells that neighbours of another GPU read (one layer of cells per border) and the halo cells, which copies
 * join across the whole domain. Read-only shared: three tables and the lists of neighbour cells at borders.
 * CARVE, 910 MB: 84 cubes (CoMD's 64 with doubles). CoMD takes 100 time steps. */
#include "workload.h"

enum {
    SLOTS = 64,
    AROUND = 27,
    WARPS = 4,
    BLOCK = 32 * WARPS,
    ENTRIES = 1000,
    TABLE = ENTRIES + 4,
    TABLES = 3
};
enum { PAIR, DENSITY, EMBED }; /* tables */
static const float CUTOFF = 1.37f, DENSITY_MAX = 64, DT = 0.02f;

static const struct wl_param params[] = {
    {"lattice", 12, 3, 200, 0, "cubes of four atoms along each axis"},
    {"steps", 2, 1, 10000, 0, "time steps, 16 launches each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "lattice=3", NULL},
    {"carve", "lattice=84,steps=2", "CARVE, 910 MB"},
    {"carve_s32", "lattice=25,steps=1", "CARVE, footprint 1/32"},
    {0},
};

/* Cells along an axis and in all, without and with halo. */
struct domain {
    int lattice, atoms, along, inner, wide, cells, pairs[3];
    uint64_t slots;
    float *tables; /* TABLES x TABLE; from wl_scratch() */
};

static struct domain domain_of(const struct wl *w)
{
    const int lattice = (int)wl_param(w, "lattice"), along = lattice * 100 / 137, wide = along + 2;
    return (struct domain){.lattice = lattice,
                           .atoms = 4 * lattice * lattice * lattice,
                           .along = along,
                           .inner = along * along * along,
                           .wide = wide,
                           .cells = wide * wide * wide,
                           .pairs = {2 * along * along, 2 * along * wide, 2 * wide * wide},
                           .slots = (uint64_t)(wide * wide * wide) * SLOTS};
}

static int cell_at(const struct domain *d, int x, int y, int z) { return (z * d->wide + y) * d->wide + x; }

static void fill_around(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct domain *d = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const int cell = (int)((first / 4 + k) / AROUND), n = (int)((first / 4 + k) % AROUND), a = d->along;
        ((int32_t *)to)[k] = cell_at(d, cell % a + n % 3, cell / a % a + n / 3 % 3, cell / (a * a) + n / 9);
    }
}

/* Pairs of the halo along one axis after the other: y takes the halo of x along, z those of both. */
static void fill_pairs(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct domain *d = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        int pair = (int)((first / 4 + k) / 2), axis = 0;
        const bool target = (first / 4 + k) % 2;
        while (pair >= d->pairs[axis]) pair -= d->pairs[axis++];
        const int half = d->pairs[axis] / 2, place = pair % half, row = axis ? d->wide : d->along;
        const bool low = pair < half;
        const int own = target ? (low ? 0 : d->along + 1) : (low ? d->along : 1);
        const int u = place % row + (axis ? 0 : 1), v = place / row + (axis == 2 ? 0 : 1);
        ((int32_t *)to)[k] = axis == 0   ? cell_at(d, own, u, v)
                             : axis == 1 ? cell_at(d, u, own, v)
                                         : cell_at(d, u, v, own);
    }
}

/* Smooth at the cutoff; nearest atoms are at 0.707. */
static void make_tables(struct wl *w, struct domain *d)
{
    d->tables = wl_scratch(w, TABLES * TABLE * 4);
    for (int k = 0; k < TABLE; k++) {
        const double r = (double)CUTOFF * (k - 1) / ENTRIES, near = fmin(r / (double)CUTOFF, 1);
        const double cut = (1 - near * near) * (1 - near * near);
        d->tables[PAIR * TABLE + k] = (float)(0.1 * exp(-6 * (r / 0.7071 - 1)) * cut);
        d->tables[DENSITY * TABLE + k] = (float)(exp(-4 * (r / 0.7071 - 1)) * cut);
        d->tables[EMBED * TABLE + k] =
            (float)(-0.3 * sqrt(fmax((double)DENSITY_MAX * (k - 1) / ENTRIES, 0) + 0.5));
    }
}

/* ---- reference: atoms by number, cells made anew for every evaluation, nearest images, in double ---- */

struct reference {
    const struct domain *domain;
    double (*x)[3], (*v)[3], (*f)[3], *density, *slope, energy[2];
    int32_t *head, *next; /* atoms of a cell as a chain */
};

static double noise(uint32_t k) { return (double)(k * 2654435761u >> 16) / 65536.0 - 0.5; }

static double site(int atom, int c, int lattice)
{
    static const double basis[4][3] = {{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
    const int cube = atom / 4,
              place[3] = {cube % lattice, cube / lattice % lattice, cube / (lattice * lattice)};
    return place[c] + 0.02 + basis[atom % 4][c];
}

static double look_up(const float *table, double x, double inverse, bool slope)
{
    const double scaled = x * inverse;
    const int k = (int)fmin(floor(scaled), ENTRIES - 1);
    const double part = scaled - k, a = (double)table[k], b = (double)table[k + 1], c = (double)table[k + 2],
                 e = (double)table[k + 3];
    if (slope) return (c - a + part * (e - b - c + a)) / 2 * inverse;
    return b + part * (c - a + part * (c + a - 2 * b)) / 2;
}

static int reference_cell(const struct domain *d, const double *x, int dx, int dy, int dz)
{
    const int by[3] = {dx, dy, dz};
    int cell = 0;
    for (int c = 2; c >= 0; c--) {
        const int at = (int)floor(x[c] * d->along / d->lattice) + by[c];
        cell = cell * d->along + ((at % d->along) + d->along) % d->along;
    }
    return cell;
}

static void pair(struct reference *r, int i, int j, bool embedded)
{
    const struct domain *d = r->domain;
    const double inverse = ENTRIES / (double)CUTOFF;
    double by[3], square = 0;
    for (int c = 0; c < 3; c++) {
        by[c] = r->x[i][c] - r->x[j][c];
        by[c] -= d->lattice * rint(by[c] / d->lattice);
        square += by[c] * by[c];
    }
    const double length = sqrt(square);
    if (length >= (double)CUTOFF) return;
    const float *density = d->tables + DENSITY * TABLE;
    const double push = embedded ? (r->slope[i] + r->slope[j]) * look_up(density, length, inverse, true)
                                 : look_up(d->tables, length, inverse, true);
    for (int c = 0; c < 3; c++) {
        r->f[i][c] -= push * by[c] / length;
        r->f[j][c] += push * by[c] / length;
    }
    if (embedded) return;
    const double value = look_up(density, length, inverse, false);
    r->density[i] += value;
    r->density[j] += value;
    r->energy[0] += look_up(d->tables, length, inverse, false);
}

/* Every pair once. With two cells along an axis the same cell is a neighbour twice and is taken once. */
static void pairs(struct reference *r, bool embedded)
{
    const struct domain *d = r->domain;
    for (int i = 0; i < d->atoms; i++) {
        int seen[AROUND], count = 0;
        for (int n = 0; n < AROUND; n++) {
            const int cell = reference_cell(d, r->x[i], n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1);
            bool again = false;
            for (int k = 0; k < count; k++) again |= seen[k] == cell;
            if (again) continue;
            seen[count++] = cell;
            for (int j = r->head[cell]; j >= 0; j = r->next[j])
                if (j > i) pair(r, i, j, embedded);
        }
    }
}

static void forces(struct reference *r)
{
    const struct domain *d = r->domain;
    for (int k = 0; k < d->inner; k++) r->head[k] = -1;
    for (int i = 0; i < d->atoms; i++) {
        const int cell = reference_cell(d, r->x[i], 0, 0, 0);
        r->next[i] = r->head[cell];
        r->head[cell] = i;
        r->density[i] = r->f[i][0] = r->f[i][1] = r->f[i][2] = 0;
    }
    r->energy[0] = 0;
    pairs(r, false);
    const double inverse = ENTRIES / (double)DENSITY_MAX;
    for (int i = 0; i < d->atoms; i++) {
        r->slope[i] = look_up(d->tables + EMBED * TABLE, r->density[i], inverse, true);
        r->energy[0] += look_up(d->tables + EMBED * TABLE, r->density[i], inverse, false);
    }
    pairs(r, true);
}

static struct reference *reference_new(struct wl *w, const struct domain *d, int64_t steps)
{
    const uint64_t vectors = (uint64_t)d->atoms * 3 * sizeof(double);
    const double dt = (double)DT;
    struct reference *r = wl_scratch(w, sizeof *r);
    *r = (struct reference){.domain = d,
                            .x = wl_scratch(w, vectors),
                            .v = wl_scratch(w, vectors),
                            .f = wl_scratch(w, vectors),
                            .density = wl_scratch(w, vectors / 3),
                            .slope = wl_scratch(w, vectors / 3),
                            .head = wl_scratch(w, (uint64_t)d->inner * 4),
                            .next = wl_scratch(w, (uint64_t)d->atoms * 4)};
    for (int i = 0; i < d->atoms; i++)
        for (int c = 0; c < 3; c++) {
            r->x[i][c] = site(i, c, d->lattice) + 0.1 * noise((uint32_t)(i * 6 + c));
            r->v[i][c] = 2 * noise((uint32_t)(i * 6 + 3 + c));
        }
    forces(r);
    for (int64_t t = 0; t < steps; t++) {
        for (int i = 0; i < d->atoms; i++)
            for (int c = 0; c < 3; c++) {
                r->v[i][c] += dt / 2 * r->f[i][c];
                r->x[i][c] += dt * r->v[i][c];
            }
        forces(r);
        r->energy[1] = 0;
        for (int i = 0; i < d->atoms; i++)
            for (int c = 0; c < 3; c++) {
                r->v[i][c] += dt / 2 * r->f[i][c];
                r->energy[1] += r->v[i][c] * r->v[i][c] / 2;
            }
    }
    return r;
}

static double expected_result(const void *arg, uint64_t at)
{
    const struct reference *r = arg;
    const int atom = (int)(at / 6), c = (int)(at % 3);
    return at % 6 < 3 ? r->x[atom][c] - site(atom, c, r->domain->lattice) : r->v[atom][c];
}

static double expected_energy(const void *arg, uint64_t k)
{
    return ((const struct reference *)arg)->energy[k];
}

static double expected_misplaced(const void *arg, uint64_t k)
{
    (void)arg;
    (void)k;
    return 0;
}

/* ---- device ---- */

/* Per slot three vectors, three scalars and a number; per cell two counts; neighbour lists; pairs of the halo;
 * tables; partial and total energies; six words per atom and a counter for the check. */
static uint64_t footprint_bytes(const struct wl *w)
{
    const struct domain d = domain_of(w);
    const uint64_t halo = (uint64_t)(d.cells - d.inner);
    return 4 * (d.slots * 13 + 2 * (uint64_t)d.cells + AROUND * (uint64_t)d.inner + 2 * halo +
                TABLES * TABLE + 2 * ((uint64_t)wl_blocks(d.inner, WARPS) + 1) + 6 * (uint64_t)d.atoms + 1);
}

struct arrays {
    float *position, *velocity, *force, *energy, *density, *slope, *tables, *partial, *total, *result;
    int32_t *id, *count, *before, *around, *pairs;
    uint32_t *misplaced;
};

static struct arrays allocate(struct wl *w, struct domain *d)
{
    const uint64_t bytes = d->slots * 4, inner = (uint64_t)d->inner, cells = (uint64_t)d->cells;
    struct arrays a;
    a.position = wl_alloc(w, "position", bytes * 3);
    a.velocity = wl_alloc(w, "velocity", bytes * 3);
    a.force = wl_alloc(w, "force", bytes * 3);
    a.energy = wl_alloc(w, "energy", bytes);
    a.density = wl_alloc(w, "density", bytes);
    a.slope = wl_alloc(w, "slope", bytes);
    a.id = wl_alloc(w, "id", bytes);
    a.count = wl_alloc(w, "count", cells * 4);
    a.before = wl_alloc(w, "before", cells * 4);
    a.around = wl_input(w, "around", inner * AROUND * 4, fill_around, d);
    a.tables = wl_alloc(w, "tables", TABLES * TABLE * 4); /* between lists: on pages that are only read */
    a.pairs = wl_input(w, "pairs", (cells - inner) * 8, fill_pairs, d);
    a.partial = wl_alloc(w, "partial", (uint64_t)wl_blocks(d->inner, WARPS) * 8);
    a.total = wl_alloc(w, "total", 8);
    a.result = wl_alloc(w, "result", (uint64_t)d->atoms * 24);
    a.misplaced = wl_alloc(w, "misplaced", 4);
    wl_write(w, a.tables, d->tables, TABLES * TABLE * 4);
    return a;
}

/* Sorted cells, halo, forces: ten launches. */
static void compute_forces(struct wl *w, const struct arrays *a, const struct domain *d)
{
    const struct wl_dim grid = wl_dim(wl_blocks(d->inner, WARPS)), block = wl_dim(BLOCK);
    const int slots = (int)d->slots;
    const float by_length = ENTRIES / CUTOFF, by_density = ENTRIES / DENSITY_MAX;
    const float *density_table = a->tables + DENSITY * TABLE, *embed_table = a->tables + EMBED * TABLE;
    WL_LAUNCH(w, "comd_sort", wl_dim(d->inner), wl_dim(SLOTS), a->position, a->velocity, a->id, a->count,
              a->before, a->around, slots);
    const int32_t *pairs = a->pairs;
    for (int axis = 0; axis < 3; pairs += 2 * d->pairs[axis++])
        WL_LAUNCH(w, "comd_halo_atoms", wl_dim(wl_blocks(d->pairs[axis], WARPS)), block, a->position,
                  a->count, pairs, axis, (float)d->lattice, d->pairs[axis], slots);
    WL_LAUNCH(w, "comd_density", grid, block, a->position, a->count, a->around, a->tables, density_table,
              a->force, a->energy, a->density, CUTOFF, by_length, ENTRIES, d->inner, slots);
    WL_LAUNCH(w, "comd_embed", grid, block, a->density, a->count, a->around, embed_table, a->energy, a->slope,
              by_density, ENTRIES, d->inner);
    pairs = a->pairs;
    for (int axis = 0; axis < 3; pairs += 2 * d->pairs[axis++])
        WL_LAUNCH(w, "comd_halo_slopes", wl_dim(wl_blocks(d->pairs[axis], WARPS)), block, a->slope, a->count,
                  pairs, d->pairs[axis]);
    WL_LAUNCH(w, "comd_force", grid, block, a->position, a->count, a->around, density_table, a->slope,
              a->force, CUTOFF, by_length, ENTRIES, d->inner, slots);
}

static void step(struct wl *w, const struct arrays *a, const struct domain *d, float inverse)
{
    const struct wl_dim grid = wl_dim(wl_blocks(d->inner, WARPS)), block = wl_dim(BLOCK);
    const int slots = (int)d->slots;
    WL_LAUNCH(w, "comd_advance", grid, block, a->velocity, a->force, a->count, a->around, DT / 2, d->inner,
              slots);
    WL_LAUNCH(w, "comd_advance", grid, block, a->position, a->velocity, a->count, a->around, DT, d->inner,
              slots);
    WL_LAUNCH(w, "comd_move", grid, block, a->position, a->velocity, a->id, a->count, a->before, a->around,
              inverse, d->along, d->lattice, d->inner, slots);
    compute_forces(w, a, d);
    WL_LAUNCH(w, "comd_advance", grid, block, a->velocity, a->force, a->count, a->around, DT / 2, d->inner,
              slots);
    WL_LAUNCH(w, "comd_energy", grid, block, a->velocity, a->energy, a->count, a->around, a->partial,
              d->inner, slots);
    WL_LAUNCH(w, "comd_energy_end", wl_dim(1), block, a->partial, a->total, (int)grid.x);
}

static void run(struct wl *w)
{
    struct domain *d = wl_scratch(w, sizeof *d);
    *d = domain_of(w);
    make_tables(w, d);
    const struct arrays a = allocate(w, d);
    const int64_t steps = wl_param(w, "steps");
    const float inverse = (float)d->along / (float)d->lattice;
    const int slots = (int)d->slots;
    WL_LAUNCH(w, "comd_start", wl_dim(wl_blocks(d->atoms, BLOCK)), wl_dim(BLOCK), a.position, a.velocity,
              a.id, a.count, inverse, d->along, d->lattice, d->atoms, slots);
    compute_forces(w, &a, d);
    wl_measure(w);
    for (int64_t t = 0; t < steps; t++) step(w, &a, d, inverse);
    WL_LAUNCH(w, "comd_collect", wl_dim(wl_blocks(d->inner, WARPS)), wl_dim(BLOCK), a.position, a.velocity,
              a.id, a.count, a.around, a.result, a.misplaced, inverse, d->along, d->lattice, d->inner, slots);
    wl_wait(w);
    struct wl_check check = {.arg = reference_new(w, d, steps), .relative = 1e-4};
    check.name = "result", check.output = a.result, check.count = (uint64_t)d->atoms * 6;
    check.reference = expected_result, check.absolute = 2e-5 * (1 + d->lattice / 4.0);
    wl_check_f32(w, &check);
    check.name = "energy", check.output = a.total, check.count = 2, check.reference = expected_energy;
    wl_check_f32(w, &check);
    check.name = "misplaced", check.output = a.misplaced, check.count = 1,
    check.reference = expected_misplaced;
    check.relative = check.absolute = 0;
    wl_check_u32(w, &check);
}

WORKLOAD(comd, .suite = "CORAL", .sharing = "-",
         .description = "molecular dynamics in link cells with halo, 16 launches a step", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
