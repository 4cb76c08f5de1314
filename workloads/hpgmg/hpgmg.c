/* hpgmg: host script. bx x by x bz boxes of dim^3 cells with one layer of ghosts; levels down to two cells along
 * an axis of a box (or an odd number). Numbers are floats where HPGMG has doubles; for the footprint of the
 * paper there are more boxes.
 *
 * Private by page: coefficients, right side and residual (a GPU has the boxes of its blocks). Read-write shared:
 * u of boxes at the border between two GPUs, by line the cells of one face, dim^2 of dim^3, which the copies
 * read; by page much more, because a page holds several boxes or their planes (false sharing), on coarse levels
 * all. Read-only shared: the lists of copies.
 * Launches per V-cycle with L levels and s sweeps: (L - 1)(12 s + 6) + 12 s + 4.
 * CARVE, 2000 MB: 11^3 boxes of 32^3 cells. */
#include "workload.h"

enum { BLOCK = 128, COPY_BLOCK = 64, VECTORS = 8, LEVELS_MAX = 6, CYCLES_MAX = 100 };
enum { U, F, RESIDUAL, ALPHA, BETA_I, BETA_J, BETA_K, INVERSE }; /* vectors of a level */

static const struct wl_param params[] = {
    {"bx", 2, 1, 64, 0, "boxes along x"},
    {"by", 2, 1, 64, 0, "boxes along y"},
    {"bz", 2, 1, 64, 0, "boxes along z"},
    {"dim", 16, 2, 64, 2, "cells along an axis of a box, finest level"},
    {"sweeps", 2, 1, 16, 0, "smoothing sweeps before and after, two colours each"},
    {"cycles", 1, 1, CYCLES_MAX, 0, "V-cycles"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "bx=2,by=1,bz=3,dim=4,sweeps=1", NULL},
    {"carve", "bx=11,by=11,bz=11,dim=32", "CARVE HPGMG-UVM, 2000 MB"},
    {"carve_s32", "bx=2,by=4,bz=5,dim=32", "CARVE HPGMG-UVM, footprint 1/32"},
    {0},
};

/* As in the device code. */
struct copy {
    int32_t from, to, stride_u, stride_v;
};

struct level {
    int dim;
    uint64_t words; /* of a vector */
    float h;
    float *vectors[VECTORS];
    struct copy *exchange, *boundary;
};

struct domain {
    int b[3], boxes, levels, sweeps, exchanges, boundaries; /* the latter two: copies of each list */
    int64_t cycles;
    struct level level[LEVELS_MAX];
    float *norms;
};

static struct domain domain_of(const struct wl *w)
{
    struct domain d = {.b = {(int)wl_param(w, "bx"), (int)wl_param(w, "by"), (int)wl_param(w, "bz")},
                       .sweeps = (int)wl_param(w, "sweeps"),
                       .cycles = wl_param(w, "cycles")};
    d.boxes = d.b[0] * d.b[1] * d.b[2];
    for (int c = 0; c < 3; c++) {
        d.exchanges += 2 * (d.b[c] - 1) * (d.boxes / d.b[c]);
        d.boundaries += 2 * (d.boxes / d.b[c]);
    }
    for (int dim = (int)wl_param(w, "dim");; dim /= 2) {
        const uint64_t side = (uint64_t)dim + 2;
        d.level[d.levels++] = (struct level){
            .dim = dim, .words = (uint64_t)d.boxes * side * side * side, .h = 1.0f / (float)(d.b[0] * dim)};
        if (dim % 4) return d;
    }
}

/* Fills both lists of a level: for every box and side one copy, either from the neighbour or at the border. */
static void list_copies(const struct domain *d, int dim, struct copy *exchange, struct copy *boundary)
{
    const int side = dim + 2, stride[3] = {1, side, side * side};
    for (int box = 0; box < d->boxes; box++) {
        const int at[3] = {box % d->b[0], box / d->b[0] % d->b[1], box / (d->b[0] * d->b[1])};
        const int step[3] = {1, d->b[0], d->b[0] * d->b[1]};
        for (int face = 0; face < 6; face++) {
            const int axis = face / 2, u = stride[axis == 0], v = stride[axis == 2 ? 1 : 2];
            const bool high = face % 2, border = at[axis] == (high ? d->b[axis] - 1 : 0);
            const int base = box * side * side * side + u + v;
            const int other = (box + (high ? step[axis] : -step[axis])) * side * side * side + u + v;
            const struct copy c = {border ? base + (high ? dim : 1) * stride[axis]
                                          : other + (high ? 1 : dim) * stride[axis],
                                   base + (high ? dim + 1 : 0) * stride[axis], u, v};
            *(border ? boundary++ : exchange++) = c;
        }
    }
}

/* ---- reference: levels as whole grids without boxes, in double ---- */

struct grid {
    int n[3];
    double h, *u, *f, *residual;
};

struct reference {
    const struct domain *domain;
    struct grid *grid; /* by level */
    double *norms, largest;
};

static int64_t word(const struct grid *g, int i, int j, int k)
{
    return ((int64_t)(k + 1) * (g->n[1] + 2) + j + 1) * (g->n[0] + 2) + i + 1;
}

static double beta(const struct grid *g, int axis, const int at[3])
{
    double x[3];
    for (int c = 0; c < 3; c++) x[c] = (at[c] + (c == axis ? 0 : 0.5)) * g->h;
    return 1 + 0.3 * x[axis] + 0.2 * x[(axis + 1) % 3] * x[(axis + 2) % 3];
}

/* Operator at a cell; *diagonal: its own coefficient, ghosts at the border included. A cell beyond the border is
 * the negative of the last one before it. */
static double apply(const struct grid *g, const int at[3], double *diagonal)
{
    const double own = g->u[word(g, at[0], at[1], at[2])];
    double sum = own;
    *diagonal = 1;
    for (int face = 0; face < 6; face++) {
        const int axis = face / 2, high = face % 2;
        int other[3] = {at[0], at[1], at[2]}, upper[3] = {at[0], at[1], at[2]};
        other[axis] += high ? 1 : -1;
        upper[axis] += high;
        const double by = beta(g, axis, upper) / (g->h * g->h);
        const bool border = other[axis] < 0 || other[axis] >= g->n[axis];
        sum -= by * ((border ? -own : g->u[word(g, other[0], other[1], other[2])]) - own);
        *diagonal += border ? 2 * by : by;
    }
    return sum;
}

/* colour: 0, 1, or -1 for the residual of all cells. */
static void visit(const struct grid *g, int colour)
{
    int at[3];
    for (at[2] = 0; at[2] < g->n[2]; at[2]++)
        for (at[1] = 0; at[1] < g->n[1]; at[1]++)
            for (at[0] = 0; at[0] < g->n[0]; at[0]++) {
                if (colour >= 0 && (at[0] + at[1] + at[2]) % 2 != colour) continue;
                const int64_t k = word(g, at[0], at[1], at[2]);
                double diagonal;
                const double left = g->f[k] - apply(g, at, &diagonal);
                if (colour < 0)
                    g->residual[k] = left;
                else
                    g->u[k] += left / diagonal;
            }
}

static void reference_cycle(const struct reference *r, int l)
{
    const struct grid *g = &r->grid[l];
    const bool bottom = l == r->domain->levels - 1;
    const int halves = 2 * r->domain->sweeps;
    for (int s = 0; s < (bottom ? 2 * halves : halves); s++) visit(g, s % 2);
    if (bottom) return;
    visit(g, -1);
    const struct grid *coarse = &r->grid[l + 1];
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < g->n[2]; k++)
            for (int j = 0; j < g->n[1]; j++)
                for (int i = 0; i < g->n[0]; i++) {
                    const int64_t fine = word(g, i, j, k), at = word(coarse, i / 2, j / 2, k / 2);
                    if (pass) {
                        g->u[fine] += coarse->u[at];
                        continue;
                    }
                    if (i % 2 == 0 && j % 2 == 0 && k % 2 == 0) coarse->f[at] = coarse->u[at] = 0;
                    coarse->f[at] += g->residual[fine] / 8;
                }
        if (!pass) reference_cycle(r, l + 1);
    }
    for (int s = 0; s < halves; s++) visit(g, s % 2);
}

static struct reference *reference_new(struct wl *w, const struct domain *d)
{
    struct reference *r = wl_scratch(w, sizeof *r);
    r->domain = d;
    r->grid = wl_scratch(w, (uint64_t)d->levels * sizeof *r->grid);
    r->norms = wl_scratch(w, (uint64_t)d->cycles * sizeof(double));
    for (int l = 0; l < d->levels; l++) {
        struct grid *g = &r->grid[l];
        uint64_t bytes = sizeof(double);
        for (int c = 0; c < 3; c++) {
            g->n[c] = d->b[c] * d->level[l].dim;
            bytes *= (uint64_t)g->n[c] + 2;
        }
        g->h = 1.0 / g->n[0];
        g->u = wl_scratch(w, bytes);
        g->f = wl_scratch(w, bytes);
        g->residual = wl_scratch(w, bytes);
    }
    const struct grid *g = &r->grid[0];
    const int cells = g->n[0] * g->n[1] * g->n[2];
    for (int n = 0; n < cells; n++)
        g->f[word(g, n % g->n[0], n / g->n[0] % g->n[1], n / (g->n[0] * g->n[1]))] =
            (double)((uint32_t)n * 2654435761u >> 16) / 65536.0 - 0.25;
    for (int64_t cycle = 0; cycle < d->cycles; cycle++) {
        reference_cycle(r, 0);
        visit(g, -1);
        for (int n = 0; n < cells; n++) {
            const int64_t at = word(g, n % g->n[0], n / g->n[0] % g->n[1], n / (g->n[0] * g->n[1]));
            r->norms[cycle] = fmax(r->norms[cycle], fabs(g->residual[at]));
            r->largest = fmax(r->largest, fabs(g->u[at]));
        }
    }
    return r;
}

/* Word of u on the finest level. Ghosts on faces are up to date after the last residual; edges stay zero. */
static double expected_u(const void *arg, uint64_t at)
{
    const struct reference *r = arg;
    const struct domain *d = r->domain;
    const struct grid *g = &r->grid[0];
    const int dim = d->level[0].dim, side = dim + 2, n = (int)(at % (uint64_t)(side * side * side));
    const int box = (int)(at / (uint64_t)(side * side * side));
    const int inside[3] = {n % side - 1, n / side % side - 1, n / (side * side) - 1};
    const int first[3] = {box % d->b[0] * dim, box / d->b[0] % d->b[1] * dim,
                          box / (d->b[0] * d->b[1]) * dim};
    int ghosts = 0, place[3];
    double sign = 1;
    for (int c = 0; c < 3; c++) {
        ghosts += inside[c] < 0 || inside[c] >= dim;
        place[c] = first[c] + inside[c];
        if (place[c] >= 0 && place[c] < g->n[c]) continue;
        sign = -1;
        place[c] = place[c] < 0 ? 0 : g->n[c] - 1;
    }
    return ghosts > 1 ? 0 : sign * g->u[word(g, place[0], place[1], place[2])];
}

static double expected_norm(const void *arg, uint64_t cycle)
{
    return ((const struct reference *)arg)->norms[cycle];
}

/* ---- device ---- */

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct domain d = domain_of(w);
    uint64_t bytes = 4 * CYCLES_MAX;
    for (int l = 0; l < d.levels; l++)
        bytes +=
            d.level[l].words * VECTORS * 4 + (uint64_t)(d.exchanges + 1 + d.boundaries) * sizeof(struct copy);
    return bytes;
}

static void allocate(struct wl *w, struct domain *d)
{
    static const char *const names[VECTORS] = {"u",      "f",      "residual", "alpha",
                                               "beta_i", "beta_j", "beta_k",   "inverse"};
    const uint64_t exchange = (uint64_t)(d->exchanges + 1) * sizeof(struct copy);
    const uint64_t boundary = (uint64_t)d->boundaries * sizeof(struct copy);
    struct copy *lists[2] = {wl_scratch(w, exchange), wl_scratch(w, boundary)};
    for (int l = 0; l < d->levels; l++) {
        struct level *v = &d->level[l];
        for (int k = 0; k < VECTORS; k++) v->vectors[k] = wl_alloc(w, names[k], v->words * 4);
        v->exchange = wl_alloc(w, "exchange", exchange);
        v->boundary = wl_alloc(w, "boundary", boundary);
        list_copies(d, v->dim, lists[0], lists[1]);
        wl_write(w, v->exchange, lists[0], exchange);
        wl_write(w, v->boundary, lists[1], boundary);
    }
    d->norms = wl_alloc(w, "norms", 4 * CYCLES_MAX);
}

static struct wl_dim cells_of(const struct domain *d, const struct level *v)
{
    return wl_dim(wl_blocks((int64_t)d->boxes * v->dim * v->dim * v->dim, BLOCK));
}

static void fill_ghosts(struct wl *w, const struct domain *d, const struct level *v)
{
    const struct wl_dim block = wl_dim(COPY_BLOCK);
    WL_LAUNCH(w, "hpgmg_exchange", wl_dim(d->exchanges ? d->exchanges : 1), block, v->vectors[U], v->exchange,
              v->dim, d->exchanges);
    WL_LAUNCH(w, "hpgmg_boundary", wl_dim(d->boundaries), block, v->vectors[U], v->boundary, v->dim,
              d->boundaries);
}

static void smooth(struct wl *w, const struct domain *d, const struct level *v, int halves)
{
    float *const *x = v->vectors;
    for (int s = 0; s < halves; s++) {
        fill_ghosts(w, d, v);
        WL_LAUNCH(w, "hpgmg_smooth", cells_of(d, v), wl_dim(BLOCK), x[U], x[F], x[ALPHA], x[BETA_I],
                  x[BETA_J], x[BETA_K], x[INVERSE], 1.0f / (v->h * v->h), s % 2, v->dim, d->boxes);
    }
}

static void residual(struct wl *w, const struct domain *d, const struct level *v)
{
    float *const *x = v->vectors;
    fill_ghosts(w, d, v);
    WL_LAUNCH(w, "hpgmg_residual", cells_of(d, v), wl_dim(BLOCK), x[U], x[F], x[ALPHA], x[BETA_I], x[BETA_J],
              x[BETA_K], x[RESIDUAL], 1.0f / (v->h * v->h), v->dim, d->boxes);
}

static void cycle(struct wl *w, const struct domain *d)
{
    const int bottom = d->levels - 1, halves = 2 * d->sweeps;
    for (int l = 0; l < bottom; l++) {
        const struct level *v = &d->level[l], *coarse = v + 1;
        smooth(w, d, v, halves);
        residual(w, d, v);
        WL_LAUNCH(w, "hpgmg_restrict", cells_of(d, coarse), wl_dim(BLOCK), v->vectors[RESIDUAL],
                  coarse->vectors[F], coarse->dim, d->boxes);
        WL_LAUNCH(w, "hpgmg_zero", wl_dim(wl_blocks((int64_t)coarse->words, BLOCK)), wl_dim(BLOCK),
                  coarse->vectors[U], (int)coarse->words);
    }
    smooth(w, d, &d->level[bottom], 2 * halves);
    for (int l = bottom - 1; l >= 0; l--) {
        const struct level *v = &d->level[l], *coarse = v + 1;
        WL_LAUNCH(w, "hpgmg_interpolate", cells_of(d, v), wl_dim(BLOCK), coarse->vectors[U], v->vectors[U],
                  v->dim, d->boxes);
        smooth(w, d, v, halves);
    }
}

static void run(struct wl *w)
{
    struct domain *d = wl_scratch(w, sizeof *d);
    *d = domain_of(w);
    allocate(w, d);
    for (int l = 0; l < d->levels; l++) {
        const struct level *v = &d->level[l];
        float *const *x = v->vectors;
        WL_LAUNCH(w, "hpgmg_start", wl_dim(wl_blocks((int64_t)v->words, BLOCK)), wl_dim(BLOCK), x[U], x[F],
                  x[RESIDUAL], x[ALPHA], x[BETA_I], x[BETA_J], x[BETA_K], x[INVERSE], d->b[0], d->b[1],
                  d->b[2], v->dim, v->h);
    }
    wl_measure(w);
    const struct level *finest = &d->level[0];
    for (int64_t t = 0; t < d->cycles; t++) {
        cycle(w, d);
        residual(w, d, finest);
        WL_LAUNCH(w, "hpgmg_norm", cells_of(d, finest), wl_dim(BLOCK), finest->vectors[RESIDUAL],
                  d->norms + t, finest->dim, d->boxes);
    }
    wl_wait(w);
    const struct reference *r = reference_new(w, d);
    wl_check_f32(w, &(struct wl_check){.name = "u",
                                       .output = finest->vectors[U],
                                       .count = finest->words,
                                       .reference = expected_u,
                                       .arg = r,
                                       .absolute = 2e-5 * r->largest,
                                       .relative = 2e-5});
    /* a residual is a difference of terms as large as u / h^2 */
    wl_check_f32(w, &(struct wl_check){.name = "norms",
                                       .output = d->norms,
                                       .count = (uint64_t)d->cycles,
                                       .reference = expected_norm,
                                       .arg = r,
                                       .absolute = 1e-5 * r->largest / (double)(finest->h * finest->h),
                                       .relative = 1e-4});
}

WORKLOAD(hpgmg, .suite = "HPGMG", .sharing = "-",
         .description = "geometric multigrid on boxes with ghost cells, V-cycles", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
