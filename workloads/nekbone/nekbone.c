/* nekbone: host script. A box of ex x ey x ez elements with n^3 Gauss-Lobatto-Legendre points each. Numbers are
 * floats where Nekbone has doubles; for the footprint of the paper there are more elements.
 *
 * Private by page: all arrays of one value per point (a GPU has the elements of its blocks). Read-write shared
 * by page and by line: copies of w on faces between the elements of two GPUs, which the gather-scatter kernel
 * reads and writes for both (n^2 of n^3 points per face), and the scalars. Read-only shared: the derivative
 * matrix. All arrays are read again in every iteration.
 * CARVE, 1000 MB: 16 x 16 x 12 elements of 18^3 points. Nekbone takes 100 iterations. */
#include "workload.h"

enum { SEED_FACTORS = 1, SIDE = 18, BLOCK = 256, DOT = 1024, FACTORS = 6, SCALARS = 5 };
enum { RHO, BETA, PAP, ALPHA, RTR }; /* as in the device code */

static const struct wl_param params[] = {
    {"ex", 4, 1, 256, 0, "elements along x"},
    {"ey", 4, 1, 256, 0, "elements along y"},
    {"ez", 4, 1, 256, 0, "elements along z"},
    {"n", 8, 3, SIDE, 0, "points along an edge of an element"},
    {"iterations", 4, 1, 10000, 0, "iterations, 13 launches each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "ex=2,ey=2,ez=3,n=4,iterations=2", NULL},
    {"carve", "ex=16,ey=16,ez=12,n=18,iterations=4", "CARVE, 1000 MB"},
    {"carve_s32", "ex=4,ey=4,ez=6,n=18,iterations=4", "CARVE, footprint 1/32"},
    {0},
};

struct box {
    int64_t e[3], n, points;
    int64_t groups, members; /* of points with several copies */
    int32_t *first, *copies; /* lists of the groups; from wl_scratch() */
    int32_t *node;           /* number of the point in the grid without copies */
    double derivative[SIDE][SIDE];
};

static struct box box_of(const struct wl *w)
{
    struct box b = {.e = {wl_param(w, "ex"), wl_param(w, "ey"), wl_param(w, "ez")}, .n = wl_param(w, "n")};
    int64_t nodes = 1, alone = 1;
    b.points = 1;
    for (int c = 0; c < 3; c++) {
        b.points *= b.e[c] * b.n;
        nodes *= b.e[c] * (b.n - 1) + 1;
        alone *= b.e[c] * (b.n - 1) + 1 - (b.e[c] - 1);
    }
    b.groups = nodes - alone;
    b.members = b.points - alone;
    return b;
}

/* Place of a point in the grid without copies, along each axis. */
static void place_of(const struct box *b, int64_t point, int64_t at[3])
{
    const int64_t n = b->n, inside = point % (n * n * n), element = point / (n * n * n);
    at[0] = element % b->e[0] * (n - 1) + inside % n;
    at[1] = element / b->e[0] % b->e[1] * (n - 1) + inside / n % n;
    at[2] = element / (b->e[0] * b->e[1]) * (n - 1) + inside / (n * n);
}

static int copies_of(const struct box *b, const int64_t at[3])
{
    int copies = 1;
    for (int c = 0; c < 3; c++)
        copies *= at[c] % (b->n - 1) == 0 && at[c] > 0 && at[c] < b->e[c] * (b->n - 1) ? 2 : 1;
    return copies;
}

static bool on_border(const struct box *b, const int64_t at[3])
{
    for (int c = 0; c < 3; c++)
        if (at[c] == 0 || at[c] == b->e[c] * (b->n - 1)) return true;
    return false;
}

/* Legendre polynomial of degree k at x. */
static double legendre(int64_t k, double x)
{
    double before = 1, now = x;
    if (k == 0) return 1;
    for (int64_t i = 2; i <= k; i++) {
        const double next = ((double)(2 * i - 1) * x * now - (double)(i - 1) * before) / (double)i;
        before = now;
        now = next;
    }
    return now;
}

/* Derivative matrix on Gauss-Lobatto-Legendre points, found by Newton's method from Chebyshev's points. */
static void differentiate(struct box *b)
{
    const int64_t degree = b->n - 1;
    double x[SIDE];
    for (int64_t i = 0; i <= degree; i++) {
        x[i] = -cos(3.14159265358979324 * (double)i / (double)degree);
        for (int step = 0; step < 50; step++)
            x[i] -= (x[i] * legendre(degree, x[i]) - legendre(degree - 1, x[i])) /
                    ((double)b->n * legendre(degree, x[i]));
    }
    for (int64_t i = 0; i <= degree; i++)
        for (int64_t j = 0; j <= degree; j++)
            b->derivative[i][j] =
                i != j ? legendre(degree, x[i]) / (legendre(degree, x[j]) * (x[i] - x[j])) : 0;
    b->derivative[0][0] = -(double)(degree * b->n) / 4;
    b->derivative[degree][degree] = -b->derivative[0][0];
    for (int64_t i = 0; i <= degree; i++)
        for (int64_t j = 0; j <= degree; j++) b->derivative[i][j] = (double)(float)b->derivative[i][j];
}

/* Numbers of the points without copies and the lists of those with several. */
static void number(struct wl *w, struct box *b)
{
    const int64_t gx = b->e[0] * (b->n - 1) + 1, gy = b->e[1] * (b->n - 1) + 1, gz = b->e[2] * (b->n - 1) + 1;
    int32_t *group = wl_scratch(w, (uint64_t)(gx * gy * gz) * 4);
    int32_t *next = wl_scratch(w, ((uint64_t)b->groups + 1) * 4);
    b->node = wl_scratch(w, (uint64_t)b->points * 4);
    b->first = wl_scratch(w, ((uint64_t)b->groups + 1) * 4);
    b->copies = wl_scratch(w, ((uint64_t)b->members + 1) * 4);
    int32_t count = 0;
    for (int64_t node = 0; node < gx * gy * gz; node++) {
        const int64_t at[3] = {node % gx, node / gx % gy, node / (gx * gy)};
        const int copies = copies_of(b, at);
        if (copies == 1) continue;
        group[node] = count;
        next[count] = b->first[count];
        b->first[count + 1] = b->first[count] + copies;
        count++;
    }
    for (int64_t i = 0; i < b->points; i++) {
        int64_t at[3];
        place_of(b, i, at);
        b->node[i] = (int32_t)((at[2] * gy + at[1]) * gx + at[0]);
        if (copies_of(b, at) > 1) b->copies[next[group[b->node[i]]]++] = (int32_t)i;
    }
}

/* ---- first content ---- */

static void fill_first(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    __builtin_memcpy(to, (const char *)((const struct box *)arg)->first + first, bytes);
}

static void fill_copies(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    __builtin_memcpy(to, (const char *)((const struct box *)arg)->copies + first, bytes);
}

static void fill_weight(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes / 4; k++) {
        int64_t at[3];
        place_of(arg, (int64_t)(first / 4 + k), at);
        ((float *)to)[k] = 1.0f / (float)copies_of(arg, at);
    }
}

static void fill_mask(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes / 4; k++) {
        int64_t at[3];
        place_of(arg, (int64_t)(first / 4 + k), at);
        ((float *)to)[k] = on_border(arg, at) ? 0.0f : 1.0f;
    }
}

/* Diagonal 1 to 2, off the diagonal at most 0.2: positive definite. Rows: rr, rs, rt, ss, st, tt. */
static float factor(const struct box *b, uint64_t row, uint64_t point)
{
    const uint64_t at = row * (uint64_t)b->points + point;
    return row == 0 || row == 3 || row == 5 ? wl_f32(SEED_FACTORS, at, 1, 2)
                                            : wl_f32(SEED_FACTORS, at, -0.2f, 0.2f);
}

static void fill_factors(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const uint64_t points = (uint64_t)((const struct box *)arg)->points;
    for (uint64_t k = 0; k < bytes / 4; k++)
        ((float *)to)[k] = factor(arg, (first / 4 + k) / points, (first / 4 + k) % points);
}

/* ---- reference: in double on the grid without copies ---- */

struct reference {
    const struct box *box;
    double *x, *r, scalars[SCALARS], largest_x, largest_r;
};

/* Adds the operator of one element on p to w; both have one value per node. along: three work arrays. */
static void add_element(const struct box *b, int64_t element, double (*along)[SIDE * SIDE * SIDE],
                        const double *p, double *w)
{
    const int64_t n = b->n, base = element * n * n * n;
    for (int64_t i = 0; i < n * n * n; i++) {
        const int64_t at[3] = {i % n, i / n % n, i / (n * n)}, stride[3] = {1, n, n * n};
        double slope[3] = {0}, g[FACTORS];
        for (int c = 0; c < 3; c++)
            for (int64_t l = 0; l < n; l++)
                slope[c] += b->derivative[at[c]][l] * p[b->node[base + i + (l - at[c]) * stride[c]]];
        for (uint64_t row = 0; row < FACTORS; row++) g[row] = (double)factor(b, row, (uint64_t)(base + i));
        along[0][i] = g[0] * slope[0] + g[1] * slope[1] + g[2] * slope[2];
        along[1][i] = g[1] * slope[0] + g[3] * slope[1] + g[4] * slope[2];
        along[2][i] = g[2] * slope[0] + g[4] * slope[1] + g[5] * slope[2];
    }
    for (int64_t i = 0; i < n * n * n; i++) {
        const int64_t at[3] = {i % n, i / n % n, i / (n * n)}, stride[3] = {1, n, n * n};
        for (int c = 0; c < 3; c++)
            for (int64_t l = 0; l < n; l++)
                w[b->node[base + i]] += b->derivative[l][at[c]] * along[c][i + (l - at[c]) * stride[c]];
    }
}

static void solve(struct wl *w, struct reference *r, int64_t nodes, int64_t iterations)
{
    const struct box *b = r->box;
    const uint64_t bytes = (uint64_t)nodes * sizeof(double);
    double *p = wl_scratch(w, bytes), *ap = wl_scratch(w, bytes), *s = r->scalars;
    double(*along)[SIDE * SIDE * SIDE] = wl_scratch(w, 3 * sizeof *along);
    bool *border = wl_scratch(w, (uint64_t)nodes);
    for (int64_t i = 0; i < b->points; i++) {
        int64_t at[3];
        place_of(b, i, at);
        border[b->node[i]] = on_border(b, at);
        if (!border[b->node[i]])
            r->r[b->node[i]] += (double)((uint32_t)i * 2654435761u >> 16) / 65536.0 - 0.5;
    }
    for (int64_t t = 0; t < iterations; t++) {
        const double before = s[RHO];
        s[RHO] = s[PAP] = s[RTR] = 0;
        for (int64_t i = 0; i < nodes; i++) s[RHO] += r->r[i] * r->r[i];
        s[BETA] = t ? s[RHO] / before : 0;
        for (int64_t i = 0; i < nodes; i++) p[i] = r->r[i] + s[BETA] * p[i], ap[i] = 0;
        for (int64_t e = 0; e < b->e[0] * b->e[1] * b->e[2]; e++) add_element(b, e, along, p, ap);
        for (int64_t i = 0; i < nodes; i++) {
            ap[i] = border[i] ? 0 : ap[i] + 0.1 * p[i];
            s[PAP] += p[i] * ap[i];
        }
        s[ALPHA] = s[RHO] / s[PAP];
        for (int64_t i = 0; i < nodes; i++) {
            r->x[i] += s[ALPHA] * p[i];
            r->r[i] -= s[ALPHA] * ap[i];
            s[RTR] += r->r[i] * r->r[i];
        }
    }
    for (int64_t i = 0; i < nodes; i++) {
        r->largest_x = fmax(r->largest_x, fabs(r->x[i]));
        r->largest_r = fmax(r->largest_r, fabs(r->r[i]));
    }
}

static double expected_x(const void *arg, uint64_t i)
{
    const struct reference *r = arg;
    return r->x[r->box->node[i]];
}

static double expected_r(const void *arg, uint64_t i)
{
    const struct reference *r = arg;
    return r->r[r->box->node[i]];
}

static double expected_scalar(const void *arg, uint64_t i)
{
    return ((const struct reference *)arg)->scalars[i];
}

/* ---- device ---- */

/* Per point six factors and seven vectors; lists of the shared points; partial sums; scalars; the matrix. */
static uint64_t footprint_bytes(const struct wl *w)
{
    const struct box b = box_of(w);
    return 4 * ((uint64_t)b.points * 13 + (uint64_t)(b.groups + 1 + b.members + 1) +
                wl_blocks(b.points, DOT) + SCALARS + SIDE * SIDE);
}

struct arrays {
    float *x, *r, *p, *w, *z, *weight, *mask, *factors, *derivative, *partial, *scalars;
    int32_t *first, *copies;
};

static struct arrays allocate(struct wl *w, struct box *b)
{
    const uint64_t bytes = (uint64_t)b->points * 4;
    struct arrays a;
    a.x = wl_alloc(w, "x", bytes);
    a.r = wl_alloc(w, "r", bytes);
    a.p = wl_alloc(w, "p", bytes);
    a.w = wl_alloc(w, "w", bytes);
    a.z = wl_alloc(w, "z", bytes);
    a.weight = wl_input(w, "weight", bytes, fill_weight, b);
    a.mask = wl_input(w, "mask", bytes, fill_mask, b);
    a.factors = wl_input(w, "factors", bytes * FACTORS, fill_factors, b);
    a.derivative = wl_alloc(w, "derivative", SIDE * SIDE * 4);
    a.partial = wl_alloc(w, "partial", (uint64_t)wl_blocks(b->points, DOT) * 4);
    a.scalars = wl_alloc(w, "scalars", SCALARS * 4);
    a.first = wl_input(w, "first", ((uint64_t)b->groups + 1) * 4, fill_first, b);
    a.copies = wl_input(w, "copies", ((uint64_t)b->members + 1) * 4, fill_copies, b);
    float matrix[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) matrix[i] = (float)b->derivative[i / SIDE][i % SIDE];
    wl_write(w, a.derivative, matrix, sizeof matrix);
    return a;
}

/* Two launches: partial sums, then the sum and the scalar that follows from it. */
static void dot(struct wl *w, const struct arrays *a, const float *left, const float *right, int which,
                int points)
{
    const int blocks = (int)wl_blocks(points, DOT);
    WL_LAUNCH(w, "nekbone_dot", wl_dim(blocks), wl_dim(BLOCK), left, a->weight, right, a->partial, points);
    WL_LAUNCH(w, "nekbone_dot_end", wl_dim(1), wl_dim(BLOCK), a->partial, a->scalars, which, blocks);
}

static void run(struct wl *w)
{
    struct box *b = wl_scratch(w, sizeof *b);
    *b = box_of(w);
    differentiate(b);
    number(w, b);
    const int64_t iterations = wl_param(w, "iterations"), elements = b->e[0] * b->e[1] * b->e[2];
    const int points = (int)b->points, groups = (int)b->groups, n = (int)b->n;
    const struct arrays a = allocate(w, b);
    const struct wl_dim all = wl_dim(wl_blocks(points, BLOCK)), block = wl_dim(BLOCK);
    const struct wl_dim shared = wl_dim(wl_blocks(groups + 1, BLOCK));
    WL_LAUNCH(w, "nekbone_start", all, block, a.x, a.p, a.w, a.z, a.r, a.mask, a.scalars, points);
    WL_LAUNCH(w, "nekbone_gather_scatter", shared, block, a.first, a.copies, a.r, groups);
    wl_measure(w);
    for (int64_t t = 0; t < iterations; t++) {
        WL_LAUNCH(w, "nekbone_copy", all, block, a.r, a.z, points);
        dot(w, &a, a.r, a.z, RHO, points);
        WL_LAUNCH(w, "nekbone_direction", all, block, a.z, a.p, a.scalars, points);
        WL_LAUNCH(w, "nekbone_operator", wl_dim(elements), wl_dim(n * n), a.p, a.factors, a.derivative, a.w,
                  n, points);
        WL_LAUNCH(w, "nekbone_gather_scatter", shared, block, a.first, a.copies, a.w, groups);
        WL_LAUNCH(w, "nekbone_shift", all, block, a.w, a.p, a.mask, points);
        dot(w, &a, a.w, a.p, PAP, points);
        WL_LAUNCH(w, "nekbone_advance", all, block, a.x, a.p, a.scalars, 1.0f, points);
        WL_LAUNCH(w, "nekbone_advance", all, block, a.r, a.w, a.scalars, -1.0f, points);
        dot(w, &a, a.r, a.r, RTR, points);
    }
    wl_wait(w);
    int64_t nodes = 1;
    for (int c = 0; c < 3; c++) nodes *= b->e[c] * (b->n - 1) + 1;
    const uint64_t bytes = (uint64_t)nodes * sizeof(double);
    struct reference *r = wl_scratch(w, sizeof *r);
    *r = (struct reference){.box = b, .x = wl_scratch(w, bytes), .r = wl_scratch(w, bytes)};
    solve(w, r, nodes, iterations);
    struct wl_check check = {.arg = r, .count = (uint64_t)points, .relative = 1e-4};
    check.name = "x", check.output = a.x, check.reference = expected_x, check.absolute = 1e-4 * r->largest_x;
    wl_check_f32(w, &check);
    check.name = "r", check.output = a.r, check.reference = expected_r, check.absolute = 1e-4 * r->largest_r;
    wl_check_f32(w, &check);
    check.name = "scalars", check.output = a.scalars, check.reference = expected_scalar, check.absolute = 0;
    check.count = SCALARS;
    wl_check_f32(w, &check);
}

WORKLOAD(nekbone, .suite = "CORAL", .sharing = "-",
         .description = "spectral-element conjugate gradients, 13 launches per iteration", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
