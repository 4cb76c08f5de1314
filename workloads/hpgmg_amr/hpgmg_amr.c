/* hpgmg_amr: host script. V-cycles of geometric multigrid on a cube of patches x patches x patches; a patch is one
 * box of n x n x n cells or eight boxes of half the side (every third diagonal). A coarser level has the same boxes
 * with half as many cells per dimension. Everything goes through lists: blocks of at most 8 x 8 x 8 cells of a
 * box, copies between boxes, copies at the boundary.
 *
 * Footprint in bytes, s of the p = patches^3 patches split:
 *   boxes      per level 28 ((p - s) (m + 2)^3 + 8 s (m / 2 + 2)^3), m = n / 2^level   (7 vectors of floats)
 *   lists      per level 32 per block, 24 per copy and per boundary copy
 *   results    4 (patches n)^3 for the solution, 4 per block of the finest level, 4 for the norm
 * CARVE's HPGMG-amry-proxy has 7700 MB; the number and sizes of its boxes are not given (ASSUMPTION: 16^3 and 8^3).
 *
 * Launches per cycle: per level but the coarsest 6 before (two half sweeps with copies and boundary), 3 for the
 * residual, 1 restriction, 1 zero, then 3 for the interpolation and 6 after; 6 `bottom` on the coarsest; 5 for the
 * norm of the residual. Before: one of initialisation per level; after: one that gathers the solution. */
#include "workload.h"

enum { VECTORS = 7, THREADS = 64, WIDTH = 8, LEVELS_MAX = 5, CHILDREN = 8 };

static const struct wl_param params[] = {
    {"patches", 3, 1, 64, 0, "patches per dimension"},
    {"n", 16, 4, 64, 4, "cells per dimension of a patch"},
    {"levels", 3, 2, LEVELS_MAX, 0, "levels; n must be a multiple of 2^levels"},
    {"cycles", 1, 1, 1000, 0, "V-cycles"},
    {"bottom", 2, 1, 1000, 0, "sweeps on the coarsest level"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "patches=2,n=4,levels=2,cycles=2,bottom=1", NULL},
    {"carve_s32", "patches=10,levels=4", "CARVE at 1/32, 240 MB"},
    {"carve", "patches=31,levels=4,cycles=10,bottom=8", "CARVE HPGMG-amry-proxy, 7700 MB"},
    {0},
};

/* As in the device code. */
struct block {
    uint32_t first;
    int32_t side, width, x, y, z;
    uint32_t above;
    int32_t unused;
};
struct copy {
    uint32_t from, to;
    int32_t from_side, to_side, axis, width;
};

struct level {
    int n, cells;    /* per dimension: of a patch, of the domain */
    uint64_t floats; /* of all boxes */
    uint64_t block_count;
    float *data; /* on the device, as the lists */
    struct block *blocks;
    struct copy *copies, *boundary;
    double *u, *f, *r; /* of the CPU: the domain in one piece */
};

struct problem {
    int patches, levels, cycles, bottom;
    uint64_t copy_count, boundary_count; /* of every level */
    struct level level[LEVELS_MAX];
};

/* ---- boxes ---- */

static bool is_split(const int at[3]) { return (at[0] + at[1] + at[2]) % 3 == 0; }

static uint64_t cube(uint64_t n) { return n * n * n; }

/* Floats of the boxes of a patch. */
static uint64_t patch_floats(bool split, int n)
{
    const uint64_t m = (uint64_t)n;
    return VECTORS * (split ? CHILDREN * cube(m / 2 + 2) : cube(m + 2));
}

static uint64_t blocks_of(int n) { return cube(((uint64_t)n + WIDTH - 1) / WIDTH); }

static void patch_at(const struct problem *p, uint64_t patch, int at[3])
{
    const uint64_t m = (uint64_t)p->patches;
    at[0] = (int)(patch % m);
    at[1] = (int)(patch / m % m);
    at[2] = (int)(patch / (m * m));
}

/* A box: its first cell in vector U, its cells per dimension without ghost cells, its place in the domain. */
struct box {
    uint32_t first;
    int n, at[3];
};

/* start: where a patch begins, in floats. */
static struct box box_of(const struct problem *p, const struct level *v, const uint32_t *start,
                         uint64_t patch, int child)
{
    struct box b = {0};
    patch_at(p, patch, b.at);
    const bool split = is_split(b.at);
    b.n = split ? v->n / 2 : v->n;
    for (int k = 0; k < 3; k++) b.at[k] = b.at[k] * v->n + (child >> k & 1) * b.n;
    const uint32_t side = (uint32_t)b.n + 2;
    b.first = start[patch] + (uint32_t)child * VECTORS * (uint32_t)cube(side) + side * side + side + 1;
    return b;
}

static uint32_t cell_in(const struct box *b, int x, int y, int z)
{
    const int side = b->n + 2;
    return b->first + (uint32_t)((z * side + y) * side + x);
}

/* The box that has a cell of the domain. */
static struct box box_with(const struct problem *p, const struct level *v, const uint32_t *start,
                           const int at[3])
{
    const int in[3] = {at[0] / v->n, at[1] / v->n, at[2] / v->n}, half = v->n / 2;
    const uint64_t patch = (uint64_t)((in[2] * p->patches + in[1]) * p->patches + in[0]);
    int child = 0;
    for (int k = 0; is_split(in) && k < 3; k++) child |= (at[k] % v->n >= half) << k;
    return box_of(p, v, start, patch, child);
}

/* Calls that count only have to == NULL. A face of a box is one piece, or four where the box is a whole patch and
 * the patch beside it is split; at the boundary it is one piece. */
static void list_faces(const struct problem *p, const struct level *v, const uint32_t *start,
                       const struct box *b, struct copy *copies, uint64_t *copy_count, struct copy *boundary,
                       uint64_t *boundary_count)
{
    for (int face = 0; face < 6; face++) {
        const int axis = face / 2, high = face % 2, u = axis == 0 ? 1 : 0, w = axis == 2 ? 1 : 2;
        int beside[3] = {b->at[0], b->at[1], b->at[2]}, ghost[3] = {0};
        ghost[axis] = high ? b->n : -1;
        beside[axis] += ghost[axis];
        if (beside[axis] < 0 || beside[axis] >= v->cells) {
            int inside[3] = {0};
            inside[axis] = high ? b->n - 1 : 0;
            if (boundary)
                boundary[*boundary_count] = (struct copy){cell_in(b, inside[0], inside[1], inside[2]),
                                                          cell_in(b, ghost[0], ghost[1], ghost[2]),
                                                          b->n + 2,
                                                          b->n + 2,
                                                          axis,
                                                          b->n};
            ++*boundary_count;
            continue;
        }
        const struct box other = box_with(p, v, start, beside);
        const int width = other.n < b->n ? other.n : b->n, pieces = b->n / width;
        for (int piece = 0; piece < pieces * pieces; piece++) {
            int at[3] = {beside[0], beside[1], beside[2]}, to[3] = {ghost[0], ghost[1], ghost[2]};
            to[u] += piece % pieces * width;
            to[w] += piece / pieces * width;
            at[u] += to[u];
            at[w] += to[w];
            const struct box from = box_with(p, v, start, at);
            if (copies)
                copies[*copy_count] =
                    (struct copy){cell_in(&from, at[0] - from.at[0], at[1] - from.at[1], at[2] - from.at[2]),
                                  cell_in(b, to[0], to[1], to[2]),
                                  from.n + 2,
                                  b->n + 2,
                                  axis,
                                  width};
            ++*copy_count;
        }
    }
}

/* Sizes of all levels; the lists of faces have the same length on every level. */
static struct problem problem_of(const struct wl *w)
{
    struct problem p = {.patches = (int)wl_param(w, "patches"),
                        .levels = (int)wl_param(w, "levels"),
                        .cycles = (int)wl_param(w, "cycles"),
                        .bottom = (int)wl_param(w, "bottom")};
    const uint64_t count = cube((uint64_t)p.patches);
    uint64_t split = 0;
    for (uint64_t patch = 0; patch < count; patch++) {
        int at[3];
        patch_at(&p, patch, at);
        const bool here = is_split(at);
        split += here;
        for (int face = 0; face < 6; face++) {
            int to[3] = {at[0], at[1], at[2]};
            to[face / 2] += face % 2 ? 1 : -1;
            if (to[face / 2] < 0 || to[face / 2] >= p.patches)
                p.boundary_count += here ? 4 : 1;
            else
                p.copy_count += here || is_split(to) ? 4 : 1;
        }
    }
    p.copy_count += 24 * split; /* between the eight boxes of a patch */
    for (int l = 0; l < p.levels; l++) {
        struct level *v = &p.level[l];
        v->n = (int)wl_param(w, "n") >> l;
        v->cells = v->n * p.patches;
        v->floats = (count - split) * patch_floats(false, v->n) + split * patch_floats(true, v->n);
        v->block_count = (count - split) * blocks_of(v->n) + split * CHILDREN * blocks_of(v->n / 2);
    }
    return p;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct problem p = problem_of(w);
    uint64_t bytes = 4 * cube((uint64_t)p.level[0].cells) + 4 * p.level[0].block_count + 4;
    for (int l = 0; l < p.levels; l++)
        bytes += 4 * p.level[l].floats + p.level[l].block_count * sizeof(struct block) +
                 (p.copy_count + p.boundary_count) * sizeof(struct copy);
    return bytes;
}

static void *upload(struct wl *w, const char *name, const void *content, uint64_t bytes)
{
    void *to = wl_alloc(w, name, bytes);
    wl_write(w, to, content, bytes);
    return to;
}

static uint32_t *starts_of(struct wl *w, const struct problem *p, const struct level *v)
{
    const uint64_t count = cube((uint64_t)p->patches);
    uint32_t *start = wl_scratch(w, 4 * (count + 1));
    for (uint64_t patch = 0; patch < count; patch++) {
        int at[3];
        patch_at(p, patch, at);
        start[patch + 1] = start[patch] + (uint32_t)patch_floats(is_split(at), v->n);
    }
    return start;
}

static void new_level(struct wl *w, struct problem *p, int l)
{
    struct level *v = &p->level[l], *coarser = l + 1 < p->levels ? v + 1 : NULL;
    const uint32_t *start = starts_of(w, p, v), *above = coarser ? starts_of(w, p, coarser) : NULL;
    struct block *blocks = wl_scratch(w, v->block_count * sizeof *blocks);
    struct copy *copies = wl_scratch(w, p->copy_count * sizeof *copies),
                *boundary = wl_scratch(w, p->boundary_count * sizeof *boundary);
    uint64_t block = 0, copy_count = 0, boundary_count = 0;
    for (uint64_t patch = 0; patch < cube((uint64_t)p->patches); patch++) {
        int place[3];
        patch_at(p, patch, place);
        for (int child = 0; child < (is_split(place) ? CHILDREN : 1); child++) {
            const struct box b = box_of(p, v, start, patch, child);
            const struct box c = coarser ? box_of(p, coarser, above, patch, child) : (struct box){0};
            for (int z = 0; z < b.n; z += WIDTH)
                for (int y = 0; y < b.n; y += WIDTH)
                    for (int x = 0; x < b.n; x += WIDTH)
                        blocks[block++] = (struct block){cell_in(&b, x, y, z),
                                                         b.n + 2,
                                                         b.n < WIDTH ? b.n : WIDTH,
                                                         b.at[0] + x,
                                                         b.at[1] + y,
                                                         b.at[2] + z,
                                                         coarser ? cell_in(&c, x / 2, y / 2, z / 2) : 0,
                                                         0};
            list_faces(p, v, start, &b, copies, &copy_count, boundary, &boundary_count);
        }
    }
    if (block != v->block_count || copy_count != p->copy_count || boundary_count != p->boundary_count)
        wl_fail(w, "lists of other lengths than counted");
    v->data = wl_alloc(w, "boxes", 4 * v->floats);
    v->blocks = upload(w, "blocks", blocks, v->block_count * sizeof *blocks);
    v->copies = upload(w, "copies", copies, p->copy_count * sizeof *copies);
    v->boundary = upload(w, "boundary", boundary, p->boundary_count * sizeof *boundary);
}

/* ---- the cycle on the device ---- */

static float square_of(const struct level *v) { return (float)v->cells * (float)v->cells; }

static struct wl_dim by_block(const struct level *v) { return wl_dim(v->block_count); }

static void exchange(struct wl *w, const struct problem *p, const struct level *v)
{
    WL_LAUNCH(w, "hpgmg_amr_copy", wl_dim(p->copy_count), wl_dim(THREADS), v->data, v->copies, 1.0f);
    WL_LAUNCH(w, "hpgmg_amr_copy", wl_dim(p->boundary_count), wl_dim(THREADS), v->data, v->boundary, -1.0f);
}

static void smooth(struct wl *w, const struct problem *p, const struct level *v)
{
    for (int colour = 0; colour < 2; colour++) {
        exchange(w, p, v);
        WL_LAUNCH(w, "hpgmg_amr_smooth", by_block(v), wl_dim(THREADS), v->data, v->blocks, square_of(v),
                  colour);
    }
}

static void residual(struct wl *w, const struct problem *p, const struct level *v)
{
    exchange(w, p, v);
    WL_LAUNCH(w, "hpgmg_amr_residual", by_block(v), wl_dim(THREADS), v->data, v->blocks, square_of(v));
}

static void cycle(struct wl *w, const struct problem *p)
{
    const int last = p->levels - 1;
    for (int l = 0; l < last; l++) {
        const struct level *v = &p->level[l];
        smooth(w, p, v);
        residual(w, p, v);
        WL_LAUNCH(w, "hpgmg_amr_restrict", by_block(v), wl_dim(THREADS), v->data, v[1].data, v->blocks);
        WL_LAUNCH(w, "hpgmg_amr_zero", by_block(v + 1), wl_dim(THREADS), v[1].data, v[1].blocks);
    }
    for (int k = 0; k < p->bottom; k++) smooth(w, p, &p->level[last]);
    for (int l = last - 1; l >= 0; l--) {
        const struct level *v = &p->level[l];
        exchange(w, p, v + 1);
        WL_LAUNCH(w, "hpgmg_amr_interpolate", by_block(v), wl_dim(THREADS), v->data, v[1].data, v->blocks);
        smooth(w, p, v);
    }
}

/* ---- the cycle on the CPU: no boxes, double precision ---- */

static double beta_at(double x, double y, double z) { return 1 + 0.25 * (x + y * z); }

/* Operator and diagonal at a cell; beyond the boundary lies the negative of the cell. */
static double apply(const struct level *v, int x, int y, int z, double *diagonal)
{
    const int n = v->cells, at[3] = {x, y, z};
    const double h = 1.0 / n;
    const int64_t i = ((int64_t)z * n + y) * n + x, stride[3] = {1, n, (int64_t)n * n};
    double sum = 0;
    *diagonal = 0;
    for (int face = 0; face < 6; face++) {
        const int axis = face / 2, high = face % 2;
        double place[3] = {(x + 0.5) * h, (y + 0.5) * h, (z + 0.5) * h};
        place[axis] += (high ? 0.5 : -0.5) * h;
        const double beta = beta_at(place[0], place[1], place[2]) * n * n;
        const bool outside = high ? at[axis] == n - 1 : at[axis] == 0;
        const double other = outside ? -v->u[i] : v->u[i + (high ? stride[axis] : -stride[axis])];
        sum += beta * (v->u[i] - other);
        *diagonal += outside ? 2 * beta : beta;
    }
    return sum;
}

/* Of one colour, or colour 2: the residual of all cells. */
static void ref_sweep(const struct level *v, int colour)
{
    const int n = v->cells;
    double diagonal;
    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) {
                const int64_t i = ((int64_t)z * n + y) * n + x;
                if (colour < 2 && (x + y + z + colour) % 2) continue;
                const double r = v->f[i] - apply(v, x, y, z, &diagonal);
                if (colour < 2)
                    v->u[i] += r / diagonal;
                else
                    v->r[i] = r;
            }
}

static void ref_cycle(const struct problem *p, int l)
{
    const struct level *v = &p->level[l];
    const int n = v->cells, half = n / 2;
    if (l == p->levels - 1) {
        for (int k = 0; k < 2 * p->bottom; k++) ref_sweep(v, k % 2);
        return;
    }
    ref_sweep(v, 0);
    ref_sweep(v, 1);
    ref_sweep(v, 2);
    for (int64_t c = 0; c < (int64_t)half * half * half; c++) v[1].f[c] = v[1].u[c] = 0;
    for (int64_t i = 0; i < (int64_t)n * n * n; i++)
        v[1].f[((i / n / n / 2) * half + i / n % n / 2) * half + i % n / 2] += v->r[i] / 8;
    ref_cycle(p, l + 1);
    for (int64_t i = 0; i < (int64_t)n * n * n; i++) {
        const int64_t at[3] = {i % n, i / n % n, i / n / n}, stride[3] = {1, half, (int64_t)half * half};
        const int64_t c = (at[2] / 2 * half + at[1] / 2) * half + at[0] / 2;
        double sum = v[1].u[c];
        for (int axis = 0; axis < 3; axis++) {
            const int64_t beside = at[axis] / 2 + (at[axis] % 2 ? 1 : -1);
            sum += beside < 0 || beside >= half ? -v[1].u[c]
                                                : v[1].u[c + (at[axis] % 2 ? stride[axis] : -stride[axis])];
        }
        v->u[i] += sum / 4;
    }
    ref_sweep(v, 0);
    ref_sweep(v, 1);
}

static double expected(const void *arg, uint64_t i) { return ((const double *)arg)[i]; }

static void check(struct wl *w, struct problem *p, const float *solution, const float *norm)
{
    const struct level *v = &p->level[0];
    for (int l = 0; l < p->levels; l++) {
        const uint64_t bytes = 8 * cube((uint64_t)p->level[l].cells);
        p->level[l].u = wl_scratch(w, bytes);
        p->level[l].f = wl_scratch(w, bytes);
        p->level[l].r = wl_scratch(w, bytes);
    }
    const int64_t n = v->cells, count = n * n * n;
    double *ref_norms = wl_scratch(w, 8 * (uint64_t)p->cycles), first = 0, largest = 0;
    for (int64_t i = 0; i < count; i++) {
        v->f[i] =
            1 + (double)(i % n) / (double)n - 2 * (double)(i / n % n) * (double)(i / n / n) / (double)(n * n);
        first += v->f[i] * v->f[i];
    }
    for (int c = 0; c < p->cycles; c++) {
        ref_cycle(p, 0);
        ref_sweep(v, 2);
        for (int64_t i = 0; i < count; i++) ref_norms[c] += v->r[i] * v->r[i];
        if (c && p->level[p->levels - 1].cells <= 32 && ref_norms[c] > 0.64 * ref_norms[c - 1])
            wl_fail(w, "cycle %d does not converge", c);
    }
    for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs(v->u[i]));
    wl_check_f32(w, &(struct wl_check){.name = "solution",
                                       .output = solution,
                                       .count = (uint64_t)count,
                                       .reference = expected,
                                       .arg = v->u,
                                       .relative = 1e-4,
                                       .absolute = 1e-4 * largest});
    wl_check_f32(w, &(struct wl_check){.name = "norm",
                                       .output = norm,
                                       .count = 1,
                                       .reference = expected,
                                       .arg = ref_norms + p->cycles - 1,
                                       .relative = 2e-3,
                                       .absolute = 1e-6 * first});
}

static void run(struct wl *w)
{
    struct problem *p = wl_scratch(w, sizeof *p);
    *p = problem_of(w);
    const struct level *v = &p->level[0];
    if (v->n % (1 << p->levels)) wl_fail(w, "n=%d is no multiple of 2^levels = %d", v->n, 1 << p->levels);
    if (v->floats > UINT32_MAX) wl_fail(w, "the boxes are too large for indices of 32 bits");
    for (int l = 0; l < p->levels; l++) new_level(w, p, l);
    const int blocks = (int)v->block_count;
    float *solution = wl_alloc(w, "solution", 4 * cube((uint64_t)v->cells)),
          *parts = wl_alloc(w, "parts", 4 * v->block_count), *norm = wl_alloc(w, "norm", 4);
    for (int l = 0; l < p->levels; l++)
        WL_LAUNCH(w, "hpgmg_amr_init", by_block(v + l), wl_dim(THREADS), v[l].data, v[l].blocks, v[l].cells,
                  l);
    wl_measure(w);
    for (int c = 0; c < p->cycles; c++) {
        cycle(w, p);
        residual(w, p, v);
        WL_LAUNCH(w, "hpgmg_amr_norm", by_block(v), wl_dim(THREADS), v->data, v->blocks, parts);
        WL_LAUNCH(w, "hpgmg_amr_norm_sum", wl_dim(1), wl_dim(THREADS), parts, norm, blocks);
    }
    WL_LAUNCH(w, "hpgmg_amr_gather", by_block(v), wl_dim(THREADS), v->data, v->blocks, solution, v->cells);
    wl_wait(w); /* the reference is large: only of a run that comes to its end */
    check(w, p, solution, norm);
}

WORKLOAD(hpgmg_amr, .suite = "HPGMG", .sharing = "-",
         .description = "geometric multigrid on boxes of two sizes, through lists of blocks",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
