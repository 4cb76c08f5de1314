/* amg: host script. V-cycles on a hierarchy of matrices in CSR, from the finest level to the coarsest and back.
 *
 * Finest level: the 7-point operator of a diffusion problem on n x n x n points, coefficients vary. Every
 * coarser level keeps every second point per dimension; its operator has 27 points, as the Galerkin product
 * with linear interpolation gives. P (interpolation) and R (its transpose) are matrices in CSR, too. The
 * structure of all matrices is a closed form of n, so an entry is computed when its page is first touched, and
 * the footprint is a formula:
 *
 *   level l of side m = ceil(n / 2^l):  matrix     4 (m^3 + 1) + 8 entries
 *                                                  entries = 7 m^3 - 6 m^2 (finest) or (3 m - 2)^3
 *                                       4 vectors  16 m^3 bytes: solution twice, right-hand side, residual
 *   between levels, coarse side c:      P and R    4 (m^3 + 1) + 4 (c^3 + 1) + 16 floor((3 m - 1) / 2)^3
 *   norm of the residual:               4 ceil(n^3 / 256) + 4
 *
 * Values are floats where AMG has doubles: n is larger for the footprint of the paper.
 *
 * Launches per cycle: 5 per level but the coarsest (relax, residual, restrict; prolong, relax), `coarse`
 * sweeps on the coarsest, 3 for the norm of the residual. The cycles re-read all matrices. */
#include "workload.h"

enum { SEED = 1, BLOCK = 256, ROW_MAX = 27, LEVELS_MAX = 12 };
static const float WEIGHT = 0.8f;

static const struct wl_param params[] = {
    {"n", 32, 4, 640, 0, "points per dimension of the finest level"},
    {"levels", 4, 2, LEVELS_MAX, 0, "levels"},
    {"cycles", 2, 1, 1000, 0, "V-cycles"},
    {"coarse", 4, 1, 100, 0, "Jacobi sweeps on the coarsest level"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "n=8,levels=3", NULL},
    {"carve_s32", "n=84,levels=6,cycles=1", "CARVE at 1/32, 100 MB"},
    {"carve", "n=264,levels=7,cycles=10", "CARVE AMG, 3200 MB"},
    {0},
};

/* ---- structure of the matrices ---- */

enum kind { FINEST, COARSER, PROLONG, RESTRICT };

/* A matrix between two grids; it is the product of three patterns, one per dimension (FINEST: the part of
 * COARSER with at most one step). */
struct matrix {
    enum kind kind;
    int level;     /* of the rows */
    uint64_t n;    /* points per dimension of the rows */
    uint64_t fine; /* points per dimension: PROLONG, RESTRICT: of the finer grid; else of the finest level */
    uint32_t *first; /* on the device, as columns and values */
    uint32_t *columns;
    float *values;
};

/* Per dimension, row i has the columns low(i) .. high(i). */
static uint64_t low(const struct matrix *a, uint64_t i)
{
    switch (a->kind) {
    case PROLONG: return i / 2;
    case RESTRICT: return i ? 2 * i - 1 : 0;
    default: return i ? i - 1 : 0;
    }
}

static uint64_t high(const struct matrix *a, uint64_t i)
{
    const uint64_t last = a->kind == PROLONG    ? (a->fine + 1) / 2 - 1
                          : a->kind == RESTRICT ? a->fine - 1
                                                : a->n - 1;
    const uint64_t at = a->kind == PROLONG ? (i + 1) / 2 : a->kind == RESTRICT ? 2 * i + 1 : i + 1;
    return at < last ? at : last;
}

static uint64_t width(const struct matrix *a, uint64_t i) { return high(a, i) - low(a, i) + 1; }

/* Per dimension, entries of the rows below i. */
static uint64_t before(const struct matrix *a, uint64_t i)
{
    if (i == 0) return 0;
    if (a->kind == PROLONG) return (i + 1) / 2 + i / 2 * 2 - (i == a->n && i % 2 == 0);
    if (a->kind == RESTRICT) return 3 * i - 1 - (i == a->n && a->fine % 2 == 1);
    return 3 * i - 1 - (i == a->n);
}

static uint64_t rows_of(const struct matrix *a) { return a->n * a->n * a->n; }

/* Entries of the rows below `row`. */
static uint64_t first_of(const struct matrix *a, uint64_t row)
{
    const uint64_t n = a->n, x = row % n, y = row / n % n, z = row / (n * n), all = before(a, n);
    if (z == n) return a->kind == FINEST ? 7 * n * n * n - 6 * n * n : all * all * all;
    if (a->kind == FINEST) {
        const uint64_t in_x = (before(a, x) - x) + x * (1 + width(a, y) - 1 + width(a, z) - 1);
        const uint64_t in_y = y * (all - n) + n * (before(a, y) - y) + n * y * width(a, z);
        return z * 2 * n * (all - n) + n * n * (before(a, z) - z) + n * n * z + in_y + in_x;
    }
    return before(a, z) * all * all + width(a, z) * (before(a, y) * all + width(a, y) * before(a, x));
}

static uint64_t entries_of(const struct matrix *a) { return first_of(a, rows_of(a)); }

static float coefficient(const struct matrix *a, uint64_t point)
{
    return wl_f32(SEED + (uint64_t)a->level, point, 0.8f, 1.2f);
}

/* A row of P or R: half a weight per dimension in which the fine point lies between coarse points. */
static uint32_t transfer_row(const struct matrix *a, uint64_t row, uint32_t *columns, float *values)
{
    const uint64_t n = a->n, x = row % n, y = row / n % n, z = row / (n * n);
    const uint64_t m = a->kind == PROLONG ? (a->fine + 1) / 2 : a->fine;
    uint32_t count = 0;
    for (uint64_t k = low(a, z); k <= high(a, z); k++)
        for (uint64_t j = low(a, y); j <= high(a, y); j++)
            for (uint64_t i = low(a, x); i <= high(a, x); i++) {
                const uint64_t odd = a->kind == PROLONG ? x % 2 + y % 2 + z % 2 : i % 2 + j % 2 + k % 2;
                columns[count] = (uint32_t)((k * m + j) * m + i);
                values[count++] = 1.0f / (float)(1u << odd);
            }
    return count;
}

/* How much stronger a point is tied to the boundary than to a neighbour: the distance to a neighbour over the
 * distance to the boundary, which lies beside the first and the last point of the finest level. */
static float boundary_factor(const struct matrix *a, int64_t at)
{
    const int64_t step = (int64_t)1 << a->level, n = (int64_t)a->n;
    if (at < 0) return (float)step;
    return at < n ? 0 : (float)step / (float)((int64_t)a->fine - step * (n - 1));
}

/* A row of a level's matrix, the diagonal first. The 27 points have the same second difference as the 7
 * points, times two per level as in the Galerkin product. Neighbours beyond the boundary are zero and only
 * add to the diagonal. */
static uint32_t operator_row(const struct matrix *a, uint64_t row, uint32_t *columns, float *values)
{
    static const float box[4] = {0, 0.4f, 0.1f, 0.05f}, star[4] = {0, 1, 0, 0};
    const int64_t n = (int64_t)a->n, x = (int64_t)row % n, y = (int64_t)row / n % n,
                  z = (int64_t)row / (n * n);
    const float *steps = a->kind == FINEST ? star : box;
    const float here = coefficient(a, row), scale = (float)(1u << a->level);
    uint32_t count = 1;
    float diagonal = 0;
    for (int64_t k = z - 1; k <= z + 1; k++)
        for (int64_t j = y - 1; j <= y + 1; j++)
            for (int64_t i = x - 1; i <= x + 1; i++) {
                const float weight = scale * steps[(i != x) + (j != y) + (k != z)];
                const float outside =
                    fmaxf(boundary_factor(a, i), fmaxf(boundary_factor(a, j), boundary_factor(a, k)));
                const uint64_t column = (uint64_t)((k * n + j) * n + i);
                if (weight == 0) continue;
                const float tie =
                    weight * (outside > 0 ? outside * here : 0.5f * (here + coefficient(a, column)));
                diagonal += tie;
                if (outside > 0) continue;
                columns[count] = (uint32_t)column;
                values[count++] = -tie;
            }
    columns[0] = (uint32_t)row;
    values[0] = diagonal;
    return count;
}

/* The entries of one row; returns their number. */
static uint32_t row_of(const struct matrix *a, uint64_t row, uint32_t *columns, float *values)
{
    if (a->kind == PROLONG || a->kind == RESTRICT) return transfer_row(a, row, columns, values);
    return operator_row(a, row, columns, values);
}

/* The row that has entry e. */
static uint64_t row_with(const struct matrix *a, uint64_t e)
{
    uint64_t from = 0, to = rows_of(a);
    while (to - from > 1) {
        const uint64_t middle = from + (to - from) / 2;
        if (first_of(a, middle) <= e)
            from = middle;
        else
            to = middle;
    }
    return from;
}

static void fill_first(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / 4; i++) ((uint32_t *)to)[i] = (uint32_t)first_of(arg, first / 4 + i);
}

static void fill_entries(const struct matrix *a, uint64_t first, uint64_t count, uint32_t *columns,
                         float *values)
{
    uint32_t row_columns[ROW_MAX];
    float row_values[ROW_MAX];
    for (uint64_t row = row_with(a, first), done = 0; done < count; row++) {
        const uint32_t in_row = row_of(a, row, row_columns, row_values);
        const uint64_t start = first_of(a, row), skip = start < first ? first - start : 0;
        for (uint64_t k = skip; k < in_row && done < count; k++, done++) {
            if (columns)
                columns[done] = row_columns[k];
            else
                values[done] = row_values[k];
        }
    }
}

static void fill_columns(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    fill_entries(arg, first / 4, bytes / 4, to, NULL);
}

static void fill_values(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    fill_entries(arg, first / 4, bytes / 4, NULL, to);
}

/* ---- the hierarchy ---- */

struct level {
    struct matrix a, prolong, restricted; /* the transfers lie between this level and the next coarser one */
    uint64_t rows;
    float *x, *other, *b, *r; /* on the device; a sweep writes `other`, which then is the solution */
    double *ref_x, *ref_b, *ref_r;
};

struct problem {
    int levels, cycles, coarse;
    struct level level[LEVELS_MAX];
};

static struct problem problem_of(const struct wl *w)
{
    struct problem p = {.levels = (int)wl_param(w, "levels"),
                        .cycles = (int)wl_param(w, "cycles"),
                        .coarse = (int)wl_param(w, "coarse")};
    const uint64_t finest = (uint64_t)wl_param(w, "n");
    uint64_t n = finest;
    for (int l = 0; l < p.levels; l++, n = (n + 1) / 2) {
        struct level *v = &p.level[l];
        v->a = (struct matrix){.kind = l ? COARSER : FINEST, .level = l, .n = n, .fine = finest};
        v->prolong = (struct matrix){.kind = PROLONG, .level = l, .n = n, .fine = n};
        v->restricted = (struct matrix){.kind = RESTRICT, .level = l + 1, .n = (n + 1) / 2, .fine = n};
        v->rows = n * n * n;
    }
    return p;
}

static uint64_t matrix_bytes(const struct matrix *a) { return 4 * (rows_of(a) + 1) + 8 * entries_of(a); }

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct problem p = problem_of(w);
    uint64_t bytes = 4 * (uint64_t)wl_blocks((int64_t)p.level[0].rows, BLOCK) + 4;
    for (int l = 0; l < p.levels; l++) {
        bytes += matrix_bytes(&p.level[l].a) + 16 * p.level[l].rows;
        if (l < p.levels - 1)
            bytes += matrix_bytes(&p.level[l].prolong) + matrix_bytes(&p.level[l].restricted);
    }
    return bytes;
}

static void new_matrix(struct wl *w, struct matrix *a)
{
    const uint64_t entries = entries_of(a);
    a->first = wl_input(w, "first", 4 * (rows_of(a) + 1), fill_first, a);
    a->columns = wl_input(w, "columns", 4 * entries, fill_columns, a);
    a->values = wl_input(w, "values", 4 * entries, fill_values, a);
}

/* ---- the cycle on the device ---- */

/* Threads per row: about half of its entries. */
static int lanes_of(const struct matrix *a)
{
    switch (a->kind) {
    case FINEST: return 4;
    case PROLONG: return 2;
    default: return 8;
    }
}

static struct wl_dim grid_of(const struct matrix *a)
{
    return wl_dim(wl_blocks((int64_t)rows_of(a) * lanes_of(a), BLOCK));
}

static void relax(struct wl *w, struct level *v)
{
    const struct matrix *a = &v->a;
    float *to = v->other;
    WL_LAUNCH(w, "amg_relax", grid_of(a), wl_dim(BLOCK), a->first, a->columns, a->values, v->b, v->x, to,
              WEIGHT, (int)v->rows, lanes_of(a));
    v->other = v->x;
    v->x = to;
}

static void relax_zero(struct wl *w, const struct level *v)
{
    WL_LAUNCH(w, "amg_relax_zero", wl_dim(wl_blocks((int64_t)v->rows, BLOCK)), wl_dim(BLOCK), v->a.first,
              v->a.values, v->b, v->x, WEIGHT, (int)v->rows);
}

static void residual(struct wl *w, const struct level *v)
{
    const struct matrix *a = &v->a;
    WL_LAUNCH(w, "amg_residual", grid_of(a), wl_dim(BLOCK), a->first, a->columns, a->values, v->b, v->x, v->r,
              (int)v->rows, lanes_of(a));
}

static void transfer(struct wl *w, const char *kernel, const struct matrix *a, const float *from, float *to)
{
    WL_LAUNCH(w, kernel, grid_of(a), wl_dim(BLOCK), a->first, a->columns, a->values, from, to,
              (int)rows_of(a), lanes_of(a));
}

static void cycle(struct wl *w, struct problem *p)
{
    const int last = p->levels - 1;
    for (int l = 0; l < last; l++) {
        struct level *v = &p->level[l];
        if (l)
            relax_zero(w, v);
        else
            relax(w, v);
        residual(w, v);
        transfer(w, "amg_restrict", &v->restricted, v->r, v[1].b);
    }
    relax_zero(w, &p->level[last]);
    for (int k = 1; k < p->coarse; k++) relax(w, &p->level[last]);
    for (int l = last - 1; l >= 0; l--) {
        struct level *v = &p->level[l];
        transfer(w, "amg_prolong", &v->prolong, v[1].x, v->x);
        relax(w, v);
    }
}

/* ---- the cycle on the CPU, in double precision ---- */

/* The product of a row with x; *diagonal: its first value. */
static double row_times(const struct matrix *a, uint64_t row, const double *x, double *diagonal)
{
    uint32_t columns[ROW_MAX];
    float values[ROW_MAX];
    const uint32_t count = row_of(a, row, columns, values);
    double sum = 0;
    for (uint32_t k = 0; k < count; k++) sum += (double)values[k] * x[columns[k]];
    *diagonal = (double)values[0];
    return sum;
}

/* r = b - A x, and with weight > 0: x = x + weight r / diagonal. */
static void ref_residual(const struct level *v, double weight)
{
    double *diagonal = v->ref_r + v->rows;
    for (uint64_t i = 0; i < v->rows; i++)
        v->ref_r[i] = v->ref_b[i] - row_times(&v->a, i, v->ref_x, &diagonal[i]);
    if (weight > 0)
        for (uint64_t i = 0; i < v->rows; i++) v->ref_x[i] += weight * v->ref_r[i] / diagonal[i];
}

static void ref_cycle(const struct problem *p, int l)
{
    const struct level *v = &p->level[l];
    double unused;
    if (l)
        for (uint64_t i = 0; i < v->rows; i++) v->ref_x[i] = 0;
    if (l == p->levels - 1) {
        for (int k = 0; k < p->coarse; k++) ref_residual(v, (double)WEIGHT);
        return;
    }
    ref_residual(v, (double)WEIGHT);
    ref_residual(v, 0);
    for (uint64_t i = 0; i < v[1].rows; i++) v[1].ref_b[i] = row_times(&v->restricted, i, v->ref_r, &unused);
    ref_cycle(p, l + 1);
    for (uint64_t i = 0; i < v->rows; i++) v->ref_x[i] += row_times(&v->prolong, i, v[1].ref_x, &unused);
    ref_residual(v, (double)WEIGHT);
}

static double expected_x(const void *arg, uint64_t i) { return ((const double *)arg)[i]; }

static void check(struct wl *w, const struct problem *p, const float *norm)
{
    for (int l = 0; l < p->levels; l++) {
        struct level *v = (struct level *)&p->level[l];
        v->ref_x = wl_scratch(w, 8 * v->rows);
        v->ref_b = wl_scratch(w, 8 * v->rows);
        v->ref_r = wl_scratch(w, 16 * v->rows);
    }
    const struct level *v = &p->level[0];
    double *ref_norms = wl_scratch(w, 8 * (uint64_t)p->cycles), first = (double)v->rows;
    for (uint64_t i = 0; i < v->rows; i++) v->ref_b[i] = 1;
    for (int c = 0; c < p->cycles; c++) {
        ref_cycle(p, 0);
        ref_residual(v, 0);
        for (uint64_t i = 0; i < v->rows; i++) ref_norms[c] += v->ref_r[i] * v->ref_r[i];
    }
    /* the hierarchy is right only if the cycles converge */
    for (int c = 0; c < p->cycles; c++)
        if (ref_norms[c] > (c ? 0.25 * ref_norms[c - 1] + 1e-20 * first : first))
            wl_fail(w, "cycle %d leaves %.3g of the first residual", c, sqrt(ref_norms[c] / first));
    wl_check_f32(w, &(struct wl_check){.name = "solution",
                                       .output = v->x,
                                       .count = v->rows,
                                       .reference = expected_x,
                                       .arg = v->ref_x,
                                       .relative = 1e-4,
                                       .absolute = 1e-4});
    wl_check_f32(w, &(struct wl_check){.name = "norm",
                                       .output = norm,
                                       .count = 1,
                                       .reference = expected_x,
                                       .arg = ref_norms + p->cycles - 1,
                                       .relative = 1e-3,
                                       .absolute = 1e-6 * first});
}

static void run(struct wl *w)
{
    struct problem *p = wl_scratch(w, sizeof *p);
    *p = problem_of(w);
    for (int l = 0; l < p->levels; l++) {
        struct level *v = &p->level[l];
        new_matrix(w, &v->a);
        if (l < p->levels - 1) {
            new_matrix(w, &v->prolong);
            new_matrix(w, &v->restricted);
        }
        v->x = wl_alloc(w, "x", 4 * v->rows);
        v->other = wl_alloc(w, "other x", 4 * v->rows);
        v->b = wl_alloc(w, "b", 4 * v->rows);
        v->r = wl_alloc(w, "r", 4 * v->rows);
    }
    struct level *v = &p->level[0];
    const int rows = (int)v->rows, blocks = (int)wl_blocks(rows, BLOCK);
    float *parts = wl_alloc(w, "parts", 4 * (uint64_t)blocks), *norm = wl_alloc(w, "norm", 4);
    WL_LAUNCH(w, "amg_init", wl_dim(blocks), wl_dim(BLOCK), v->x, v->b, rows);
    wl_measure(w);
    for (int c = 0; c < p->cycles; c++) {
        cycle(w, p);
        residual(w, v);
        WL_LAUNCH(w, "amg_norm", wl_dim(blocks), wl_dim(BLOCK), v->r, parts, rows);
        WL_LAUNCH(w, "amg_norm_sum", wl_dim(1), wl_dim(BLOCK), parts, norm, blocks);
    }
    wl_wait(w); /* the reference is large: only of a run that comes to its end */
    check(w, p, norm);
}

WORKLOAD(amg, .suite = "CORAL", .sharing = "-",
         .description = "algebraic multigrid: V-cycles on a hierarchy of matrices in CSR", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
