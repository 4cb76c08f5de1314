/* miniamr: host script. Time steps of a stencil on a cube of roots x roots x roots blocks; a root block that the
 * surface of a moving sphere cuts is split into eight blocks of half the cell size (one level of refinement).
 *
 * Blocks live in slots of a pool. A split takes free slots for the children, a merge one for the parent, so that
 * the order of the blocks in memory drifts away from their order in space. The host keeps the tree and writes the
 * lists of blocks, faces and changes; the device copies and computes, as in the original.
 *
 * Footprint in bytes: per slot 4 vars (n + 2)^3 cells, 4 vars of sums and 420 of lists; 4 vars for the check sums.
 * CARVE's MiniAMR has 15 thousand blocks of 40 variables (4400 MB); with floats 10^3 cells per block and ghost cells
 * have 4400 MB in 15,872 slots, of which 14 to 15 thousand are in use.
 *
 * Launches per time step: `stages` times four (faces in x, y, z; stencil), two for the check sums, and two for the
 * refinement every `refine` steps. One launch of initialisation. */
#include "workload.h"

enum { FACES_PER_SLOT = 8, CHILDREN = 8 };

static const struct wl_param params[] = {
    {"roots", 3, 1, 64, 0, "root blocks per dimension"},
    {"slots", 192, 1, 1 << 20, 0, "blocks in the pool"},
    {"n", 10, 2, 22, 2, "cells per dimension of a block"},
    {"vars", 4, 1, 256, 0, "variables"},
    {"steps", 2, 1, 1000, 0, "time steps"},
    {"stages", 2, 1, 100, 0, "stencils per time step"},
    {"refine", 1, 1, 1000, 0, "steps between refinements"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "roots=3,slots=108,n=2,vars=2,steps=3,stages=1", NULL},
    {"carve_s32", "roots=5,slots=480,vars=40,steps=1,stages=1", "CARVE at 1/32, 133 MB"},
    {"carve", "roots=22,slots=15872,vars=40,steps=20,stages=20,refine=5", "CARVE MiniAMR-15Kv40, 4400 MB"},
    {0},
};

enum { SAME_LEVEL, FROM_COARSE, FROM_FINE, BOUNDARY };

/* As in the device code. */
struct face {
    int32_t to, from, high, what;
};
struct octant {
    int32_t parent, child, which, unused;
};

struct amr {
    int roots, slots, n, vars, steps, stages, refine;
    int root_count;
    bool *split;     /* of a root block */
    int32_t *slot;   /* [root][8]; a block that is not split has the first */
    int32_t *unused; /* a stack of free slots */
    int unused_count;
    int32_t *blocks; /* in order of space */
    int block_count;
    struct face *faces[3]; /* per axis */
    int face_count[3];
    struct octant *splits, *merges; /* of the last refinement */
    int split_count, merge_count;
};

static struct amr sizes_of(const struct wl *w)
{
    return (struct amr){.roots = (int)wl_param(w, "roots"),
                        .slots = (int)wl_param(w, "slots"),
                        .n = (int)wl_param(w, "n"),
                        .vars = (int)wl_param(w, "vars"),
                        .steps = (int)wl_param(w, "steps"),
                        .stages = (int)wl_param(w, "stages"),
                        .refine = (int)wl_param(w, "refine")};
}

static uint64_t cells_of(const struct amr *a)
{
    const uint64_t side = (uint64_t)a->n + 2;
    return side * side * side;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct amr a = sizes_of(w);
    const uint64_t slots = (uint64_t)a.slots, vars = (uint64_t)a.vars;
    const uint64_t lists = 4 + 3 * FACES_PER_SLOT * sizeof(struct face) + 2 * sizeof(struct octant);
    return slots * (4 * vars * cells_of(&a) + 4 * vars + lists) + 4 * vars;
}

/* ---- the tree ---- */

/* A block: its level (0: root, 1: child) and its place in blocks of that level. */
struct place {
    int level, at[3];
};

static int root_at(const struct amr *a, const int at[3])
{
    return (at[2] * a->roots + at[1]) * a->roots + at[0];
}

/* The slot of the block of the place's level there; the root block must have that level. */
static int32_t slot_at(const struct amr *a, const struct place *p)
{
    const int l = p->level, root[3] = {p->at[0] >> l, p->at[1] >> l, p->at[2] >> l};
    const int child = l ? p->at[0] % 2 + p->at[1] % 2 * 2 + p->at[2] % 2 * 4 : 0;
    return a->slot[root_at(a, root) * CHILDREN + child];
}

static struct place place_of(const struct amr *a, int root, int child)
{
    const int l = a->split[root], r = a->roots;
    return (struct place){l,
                          {((root % r) << l) + child % 2, ((root / r % r) << l) + child / 2 % 2,
                           ((root / (r * r)) << l) + child / 4}};
}

/* The sphere at a refinement: its surface passes within half a diagonal of the root block's centre. It moves
 * along the diagonal of the cube, there and back. */
static bool is_cut(const struct amr *a, int root, int refinement)
{
    const int r = a->roots, turn = refinement % 20;
    const double centre = 0.35 + 0.03 * (turn < 10 ? turn : 20 - turn), radius = 0.25;
    double distance = 0;
    const int at[3] = {root % r, root / r % r, root / (r * r)};
    for (int k = 0; k < 3; k++) {
        const double d = (at[k] + 0.5) / r - centre;
        distance += d * d;
    }
    return fabs(sqrt(distance) - radius) < 0.6 / r;
}

static int32_t take_slot(struct wl *w, struct amr *a)
{
    if (!a->unused_count)
        wl_fail(w, "slots=%d: the pool is too small for %d^3 root blocks", a->slots, a->roots);
    return a->unused[--a->unused_count];
}

static void add_face(struct wl *w, struct amr *a, int axis, struct face f)
{
    if (a->face_count[axis] == a->slots * FACES_PER_SLOT)
        wl_fail(w, "more faces than the lists have room for");
    a->faces[axis][a->face_count[axis]++] = f;
}

/* The entries for one face of a block: four when the neighbours are finer. */
static void list_face(struct wl *w, struct amr *a, const struct place *p, int axis, int high)
{
    const int32_t to = slot_at(a, p);
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2, end = (a->roots << p->level) - 1;
    struct place q = *p;
    q.at[axis] += high ? 1 : -1;
    if (q.at[axis] < 0 || q.at[axis] > end) {
        add_face(w, a, axis, (struct face){to, to, high, BOUNDARY * 4});
        return;
    }
    const int root[3] = {q.at[0] >> q.level, q.at[1] >> q.level, q.at[2] >> q.level};
    const int level = a->split[root_at(a, root)];
    if (level == p->level) {
        add_face(w, a, axis, (struct face){to, slot_at(a, &q), high, SAME_LEVEL * 4});
    } else if (level < p->level) {
        q = (struct place){level, {root[0], root[1], root[2]}};
        const int quarter = p->at[u] % 2 + p->at[v] % 2 * 2;
        add_face(w, a, axis, (struct face){to, slot_at(a, &q), high, FROM_COARSE * 4 + quarter});
    } else {
        for (int quarter = 0; quarter < 4; quarter++) {
            struct place fine = {level, {q.at[0] * 2, q.at[1] * 2, q.at[2] * 2}};
            fine.at[axis] += high ? 0 : 1;
            fine.at[u] += quarter % 2;
            fine.at[v] += quarter / 2;
            add_face(w, a, axis, (struct face){to, slot_at(a, &fine), high, FROM_FINE * 4 + quarter});
        }
    }
}

static void list_all(struct wl *w, struct amr *a)
{
    a->block_count = a->face_count[0] = a->face_count[1] = a->face_count[2] = 0;
    for (int root = 0; root < a->root_count; root++)
        for (int child = 0; child < (a->split[root] ? CHILDREN : 1); child++) {
            const struct place p = place_of(a, root, child);
            a->blocks[a->block_count++] = slot_at(a, &p);
            for (int axis = 0; axis < 3; axis++)
                for (int high = 0; high < 2; high++) list_face(w, a, &p, axis, high);
        }
}

static struct amr *new_tree(struct wl *w)
{
    struct amr *a = wl_scratch(w, sizeof *a);
    *a = sizes_of(w);
    a->root_count = a->roots * a->roots * a->roots;
    const uint64_t roots = (uint64_t)a->root_count, slots = (uint64_t)a->slots;
    a->split = wl_scratch(w, roots * sizeof *a->split);
    a->slot = wl_scratch(w, 4 * CHILDREN * roots);
    a->unused = wl_scratch(w, 4 * slots);
    a->blocks = wl_scratch(w, 4 * slots);
    for (int axis = 0; axis < 3; axis++)
        a->faces[axis] = wl_scratch(w, slots * FACES_PER_SLOT * sizeof(struct face));
    a->splits = wl_scratch(w, slots * sizeof *a->splits);
    a->merges = wl_scratch(w, slots * sizeof *a->merges);
    while (a->unused_count < a->slots) {
        a->unused[a->unused_count] = a->slots - 1 - a->unused_count;
        a->unused_count++;
    }
    for (int root = 0; root < a->root_count; root++) {
        a->split[root] = is_cut(a, root, 0);
        for (int child = 0; child < (a->split[root] ? CHILDREN : 1); child++)
            a->slot[root * CHILDREN + child] = take_slot(w, a);
    }
    list_all(w, a);
    return a;
}

/* Splits and merges root blocks for the sphere's new place. Slots become free after both, because their content is
 * still read. */
static void refine_tree(struct wl *w, struct amr *a, int refinement)
{
    a->split_count = a->merge_count = 0;
    for (int root = 0; root < a->root_count; root++) {
        const bool cut = is_cut(a, root, refinement);
        if (cut == a->split[root]) continue;
        int32_t *slot = a->slot + root * CHILDREN, parent = cut ? slot[0] : take_slot(w, a);
        for (int child = 0; child < CHILDREN; child++) {
            if (cut) {
                slot[child] = take_slot(w, a);
                a->splits[a->split_count++] = (struct octant){parent, slot[child], child, 0};
            } else {
                a->merges[a->merge_count++] = (struct octant){parent, slot[child], child, 0};
            }
        }
        if (!cut) slot[0] = parent;
        a->split[root] = cut;
    }
    for (int k = 0; k < a->split_count; k += CHILDREN) a->unused[a->unused_count++] = a->splits[k].parent;
    for (int k = 0; k < a->merge_count; k++) a->unused[a->unused_count++] = a->merges[k].child;
    list_all(w, a);
}

/* ---- the CPU: one variable at a time ---- */

/* Variable `var` of all slots; ghost cells come from the tree, not from the lists of faces. */
struct field {
    const struct amr *a;
    int var;
    float *cells, *old;
};

static float *cell_of(const struct field *f, int32_t slot, int x, int y, int z)
{
    const int side = f->a->n + 2;
    return f->cells + (uint64_t)slot * cells_of(f->a) + (z * side + y) * side + x;
}

/* The cell of a level at a place counted in cells of that level. */
static float at_cell(const struct field *f, int level, const int at[3])
{
    const int n = f->a->n;
    const struct place p = {level, {at[0] / n, at[1] / n, at[2] / n}};
    return *cell_of(f, slot_at(f->a, &p), at[0] % n + 1, at[1] % n + 1, at[2] % n + 1);
}

/* The value beyond a face: at is the ghost cell's place, counted in cells of its block's level. */
static float beyond(const struct field *f, int level, const int at[3], int axis, int high)
{
    const struct amr *a = f->a;
    const int end = (a->roots << level) * a->n;
    if (at[axis] < 0 || at[axis] >= end) {
        int own[3] = {at[0], at[1], at[2]};
        own[axis] += high ? -1 : 1;
        return at_cell(f, level, own);
    }
    const int size = a->n << level, root[3] = {at[0] / size, at[1] / size, at[2] / size};
    const int there = a->split[root_at(a, root)];
    if (there == level) return at_cell(f, level, at);
    if (there < level) return at_cell(f, there, (const int[3]){at[0] / 2, at[1] / 2, at[2] / 2});
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        int fine[3] = {2 * at[0], 2 * at[1], 2 * at[2]};
        fine[axis] += high ? 0 : 1;
        fine[axis == 0 ? 1 : 0] += k % 2;
        fine[axis == 2 ? 1 : 2] += k / 2;
        sum += at_cell(f, there, fine);
    }
    return 0.25f * sum;
}

static void exchange(const struct field *f, const struct place *p)
{
    const int n = f->a->n;
    const int32_t slot = slot_at(f->a, p);
    for (int axis = 0; axis < 3; axis++)
        for (int high = 0; high < 2; high++)
            for (int k = 0; k < n * n; k++) {
                int local[3];
                local[axis] = high ? n : -1;
                local[axis == 0 ? 1 : 0] = k % n;
                local[axis == 2 ? 1 : 2] = k / n;
                const int at[3] = {p->at[0] * n + local[0], p->at[1] * n + local[1], p->at[2] * n + local[2]};
                *cell_of(f, slot, local[0] + 1, local[1] + 1, local[2] + 1) =
                    beyond(f, p->level, at, axis, high);
            }
}

static void smooth(const struct field *f, int32_t slot)
{
    const int n = f->a->n, side = n + 2;
    float *to = f->cells + (uint64_t)slot * cells_of(f->a);
    __builtin_memcpy(f->old, to, 4 * cells_of(f->a));
    for (int z = 1; z <= n; z++)
        for (int y = 1; y <= n; y++)
            for (int x = 1; x <= n; x++) {
                const int at = (z * side + y) * side + x;
                const float *old = f->old + at;
                to[at] = (old[0] + old[-1] + old[1] + old[-side] + old[side] + old[-side * side] +
                          old[side * side]) *
                         (1.0f / 7.0f);
            }
}

static void change(const struct field *f, const struct octant *o, bool splits)
{
    const int n = f->a->n, x0 = o->which % 2 * n, y0 = o->which / 2 % 2 * n, z0 = o->which / 4 * n;
    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) {
                float *parent = cell_of(f, o->parent, (x0 + x) / 2 + 1, (y0 + y) / 2 + 1, (z0 + z) / 2 + 1);
                float *child = cell_of(f, o->child, x + 1, y + 1, z + 1);
                if (splits)
                    *child = *parent;
                else
                    *parent = (x % 2 + y % 2 + z % 2 ? *parent : 0) + 0.125f * *child;
            }
}

static float first_value(const struct amr *a, int block, int var, int k)
{
    uint32_t h = (uint32_t)(((block * a->vars + var) * a->n * a->n * a->n) + k) * 2654435761u + 12345u;
    h = (h ^ (h >> 15)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return (float)(h >> 9) * 0x1p-23f;
}

/* All steps of one variable; sums: its check sum after each step. */
static void ref_run(struct wl *w, struct field *f, double *sums)
{
    struct amr *a = new_tree(w);
    const int n = a->n;
    f->a = a;
    __builtin_memset(f->cells, 0, 4 * (uint64_t)a->slots * cells_of(a));
    for (int b = 0; b < a->block_count; b++)
        for (int k = 0; k < n * n * n; k++)
            *cell_of(f, a->blocks[b], k % n + 1, k / n % n + 1, k / (n * n) + 1) =
                first_value(a, b, f->var, k);
    for (int step = 0; step < a->steps; step++) {
        if (step % a->refine == 0) {
            refine_tree(w, a, step / a->refine + 1);
            for (int k = 0; k < a->split_count; k++) change(f, &a->splits[k], true);
            for (int k = 0; k < a->merge_count; k++) change(f, &a->merges[k], false);
        }
        for (int stage = 0; stage < a->stages; stage++) {
            for (int root = 0; root < a->root_count; root++)
                for (int child = 0; child < (a->split[root] ? CHILDREN : 1); child++)
                    exchange(f, &(const struct place[]){place_of(a, root, child)}[0]);
            for (int b = 0; b < a->block_count; b++) smooth(f, a->blocks[b]);
        }
        sums[step] = 0;
        for (int b = 0; b < a->block_count; b++)
            for (int k = 0; k < n * n * n; k++)
                sums[step] += (double)*cell_of(f, a->blocks[b], k % n + 1, k / n % n + 1, k / (n * n) + 1);
    }
}

/* Every variable, or about sixteen of the cells' budget: variables do not depend on each other. */
static void check(struct wl *w, const struct amr *a, const float *data, const float *sums)
{
    const uint64_t cells = cells_of(a), all = (uint64_t)a->slots * cells, vars = (uint64_t)a->vars;
    const uint64_t cost = all * (uint64_t)a->steps * (uint64_t)a->stages,
                   most = 16 * WL_CHECK_BUDGET / cost + 1;
    const int by = most < vars ? (int)((vars + most - 1) / most) : 1;
    struct field f = {.cells = wl_scratch(w, 4 * all), .old = wl_scratch(w, 4 * cells)};
    double *expected = wl_scratch(w, 8 * (uint64_t)a->steps);
    const float *got = wl_output(w, "data", data, 4 * all * vars);
    const float *got_sums = wl_output(w, "sums", sums, 4 * vars);
    for (f.var = 0; f.var < a->vars; f.var += by) {
        ref_run(w, &f, expected);
        for (uint64_t i = 0; i < all; i++) {
            const float value = got[(i / cells * vars + (uint64_t)f.var) * cells + i % cells];
            if (!(fabsf(value - f.cells[i]) <= 1e-5f))
                wl_fail(w, "variable %d, slot %d, cell %d is %.9g, must be %.9g", f.var, (int)(i / cells),
                        (int)(i % cells), (double)value, (double)f.cells[i]);
        }
        const double sum = (double)got_sums[f.var], expected_sum = expected[a->steps - 1];
        if (!(fabs(sum - expected_sum) <= 1e-4 * expected_sum))
            wl_fail(w, "check sum of variable %d is %.9g, must be %.9g", f.var, sum, expected_sum);
    }
}

static void run(struct wl *w)
{
    struct amr *a = new_tree(w);
    const uint64_t slots = (uint64_t)a->slots, vars = (uint64_t)a->vars, cells = cells_of(a);
    const int n = a->n, variables = a->vars;
    const struct wl_dim block = wl_dim((n * n + 31) / 32 * 32);
    float *data = wl_alloc(w, "data", 4 * slots * vars * cells);
    int32_t *blocks = wl_alloc(w, "blocks", 4 * slots);
    struct face *faces[3];
    for (int axis = 0; axis < 3; axis++)
        faces[axis] = wl_alloc(w, "faces", slots * FACES_PER_SLOT * sizeof(struct face));
    struct octant *splits = wl_alloc(w, "splits", slots * sizeof *splits),
                  *merges = wl_alloc(w, "merges", slots * sizeof *merges);
    float *parts = wl_alloc(w, "parts", 4 * slots * vars), *sums = wl_alloc(w, "sums", 4 * vars);

    wl_write(w, blocks, a->blocks, 4 * (uint64_t)a->block_count);
    WL_LAUNCH(w, "amr_init", wl_dim(a->block_count * variables), block, data, blocks, variables, n);
    wl_measure(w);
    for (int step = 0; step < a->steps; step++) {
        if (step % a->refine == 0) {
            refine_tree(w, a, step / a->refine + 1);
            const int split_count = a->split_count, merge_count = a->merge_count;
            wl_write(w, splits, a->splits, (uint64_t)(split_count + !split_count) * sizeof *splits);
            wl_write(w, merges, a->merges, (uint64_t)(merge_count + !merge_count) * sizeof *merges);
            wl_write(w, blocks, a->blocks, 4 * (uint64_t)a->block_count);
            for (int axis = 0; axis < 3; axis++)
                wl_write(w, faces[axis], a->faces[axis], (uint64_t)a->face_count[axis] * sizeof(struct face));
            WL_LAUNCH(w, "amr_split", wl_dim((split_count + !split_count) * variables), block, data, splits,
                      split_count, variables, n);
            WL_LAUNCH(w, "amr_merge", wl_dim((merge_count + !merge_count) * variables), block, data, merges,
                      merge_count, variables, n);
        }
        for (int stage = 0; stage < a->stages; stage++) {
            for (int axis = 0; axis < 3; axis++)
                WL_LAUNCH(w, "amr_faces", wl_dim(a->face_count[axis]), block, data, faces[axis], axis,
                          variables, n);
            WL_LAUNCH_SHARED(w, "amr_stencil", wl_dim(a->block_count * variables), block, 4 * cells, data,
                             blocks, variables, n);
        }
        WL_LAUNCH(w, "amr_sum_blocks", wl_dim(a->block_count * variables), block, data, blocks, parts,
                  variables, n);
        WL_LAUNCH(w, "amr_sum", wl_dim(vars), block, parts, sums, a->block_count);
    }
    check(w, a, data, sums);
}

WORKLOAD(miniamr, .suite = "Mantevo", .sharing = "-",
         .description = "block-structured adaptive mesh: stencil, faces, splits and merges", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
