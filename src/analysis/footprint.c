/* footprint: the datablock of a row, that is, the bytes that a block touches in one iteration of its motion.
 *
 *   source    contribution to the datablock
 *   places    offsets of the row's accesses, modulo the step of the motion. An unrolled loop touches d, 2d,
 *             and so on, which are the next iterations of the loop before unrolling.
 *   threads   one place per thread, or a step per dimension if the index is linear in the thread index
 *   loops     loops inside the motion, with the iteration counts of the launch
 *
 * The datablock is the exact union of all three, as spans of bytes. The result therefore does not depend on
 * whether a program (or its compiler) expresses an access by threads, loops or unrolled code. */
#include <stdlib.h>
#include <string.h>

#include "analysis/footprint.h"

/* ---- places ---- */

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Places of the row's elements, as far as they are constants of the launch. */
uint32_t footprint_places(struct arena *arena, const struct locality_row *row, struct index_point *n,
                          int64_t **out)
{
    uint32_t count = 0, most = 0;
    for (uint32_t k = 0; k < row->n_places; k++) {
        const struct locality_place *p = &row->places[k];
        most += p->elements * (p->count[0] ? p->count[0] : 1) * (p->count[1] ? p->count[1] : 1);
    }
    int64_t *at = ARENA_ARRAY(arena, int64_t, most + 1);
    for (uint32_t k = 0; k < row->n_places; k++) {
        const struct locality_place *p = &row->places[k];
        int64_t v, step[2] = {0, 0};
        if (!expr_eval(p->offset, index_value, n, &v)) v = expr_offset(p->offset);
        for (int d = 0; d < 2; d++)
            if (p->step[d] && !expr_eval(p->step[d], index_value, n, &step[d])) step[d] = 0;
        uint32_t i = 0;
        do {
            uint32_t j = 0;
            do
                for (uint32_t e = 0; e < p->elements; e++)
                    at[count++] = v + i * step[0] + j * step[1] + (int64_t)e * row->element_bytes;
            while (++j < p->count[1]);
        } while (++i < p->count[0]);
    }
    *out = at;
    return count;
}

/* Is what the loop adds in the places already? */
bool footprint_is_in_places(const struct symbolic *s, const struct locality_row *row,
                            const struct symbolic_loop *l)
{
    const struct expr *rest, *factor;
    struct expr_pool *p = (struct expr_pool *)(uintptr_t)&s->pool;
    if (index_loop_is_motion(l) || !expr_split(p, row->index, l->iv, &rest, &factor)) return false;
    for (uint32_t k = 0; k < row->n_places; k++)
        if (row->places[k].step[0] == factor || row->places[k].step[1] == factor) return true;
    return false;
}

/* ---- completely unrolled ---- */

void index_find_unrolled(struct arena *arena, const struct symbolic *s, struct locality_row *row)
{
    struct expr_pool *p = (struct expr_pool *)(uintptr_t)&s->pool;
    if (row->stride || row->motion_loop != SYMBOLIC_NO_LOOP || row->n_places <= INDEX_UNROLLED_MOST) return;
    int64_t *at = ARENA_ARRAY(arena, int64_t, row->n_places);
    for (uint32_t k = 0; k < row->n_places; k++) {
        const struct expr *from_first = expr_sub(p, row->places[k].offset, row->places[0].offset);
        if (!expr_is_const(from_first, &at[k]) || row->places[k].elements != row->places[0].elements ||
            row->places[k].count[0])
            return;
    }
    qsort(at, row->n_places, sizeof *at, by_number);
    const int64_t d = at[1] - at[0];
    for (uint32_t k = 2; k < row->n_places; k++)
        if (at[k] - at[k - 1] != d) return;
    const int64_t step = row->places[0].elements * row->element_bytes == d ? row->element_bytes : d;
    row->stride = expr_const(p, step);
}

/* ---- a row ---- */

bool footprint_linear_in(const struct expr *e, uint32_t which)
{
    for (uint32_t k = 0; k < e->n; k++) {
        const struct mono *m = e->terms[k].mono;
        uint32_t found = 0;
        for (uint32_t j = 0; j < m->n; j++) {
            if (!(m->atoms[j]->deps & which)) continue;
            if (m->atoms[j]->kind != ATOM_SREG || m->atoms[j]->deps & DEP_LANE || found++) return false;
        }
    }
    return true;
}

/* Does the loop move every thread by the same? a[tx*k] it does not. */
bool footprint_moves_alike(const struct expr *index, const struct atom *iv)
{
    for (uint32_t k = 0; k < index->n; k++)
        if (index->terms[k].mono->loops & iv->loops && index->terms[k].mono->deps & THREAD_DEPS) return false;
    return true;
}

/* The index without constants of the launch: those are in the places. */
bool footprint_index(const struct locality_row *row, struct index_point *n, int64_t *v)
{
    return expr_eval(row->moving, index_value, n, v);
}

/* How far the index goes when *thing goes up by one. False: not known. */
bool footprint_distance(const struct locality_row *row, struct index_point *n, int64_t *thing, int64_t *d)
{
    int64_t before, after;
    bool known = footprint_index(row, n, &before);
    (*thing)++;
    known = footprint_index(row, n, &after) && known;
    (*thing)--;
    *d = known ? (int64_t)((uint64_t)after - (uint64_t)before) : 0;
    return known;
}

int64_t footprint_loop_distance(const struct locality_row *row, struct index_point *n, const struct atom *iv)
{
    int64_t before, after;
    bool known = footprint_index(row, n, &before);
    n->iv = iv;
    n->count = 1;
    known = footprint_index(row, n, &after) && known;
    n->iv = NULL;
    return known ? (int64_t)((uint64_t)after - (uint64_t)before) : 0;
}

struct step {
    int64_t distance;
    uint64_t count;
};

/* What a loop adds that does not go by a line: every iteration's own place. False: too many. */
bool footprint_repeat(const struct locality_row *row, struct index_point *n, const struct atom *iv,
                      uint64_t trips, struct spans *s)
{
    const uint32_t before = s->n;
    int64_t origin, at;
    bool known = before * trips <= SPANS_MOST && footprint_index(row, n, &origin);
    n->iv = iv;
    for (n->count = 1; known && (uint64_t)n->count < trips; n->count++) {
        known = footprint_index(row, n, &at);
        for (uint32_t k = 0; known && k < before; k++)
            s->at[s->n++] = (struct span){s->at[k].first + at - origin, s->at[k].end + at - origin};
    }
    n->iv = NULL;
    spans_tidy(s);
    return known;
}

static int by_distance(const void *a, const void *b)
{
    const int64_t x = llabs(((const struct step *)a)->distance),
                  y = llabs(((const struct step *)b)->distance);
    return x < y ? -1 : x > y;
}

/* Does the loop run a different number of times in other iterations of the motion? Then a datablock has no
 * one size. The last iteration does not count: a tile at the border is smaller. */
static bool trips_vary(const struct symbolic *s, const struct locality_row *row,
                       const struct symbolic_loop *l, struct index_point point, uint64_t trips)
{
    enum { LOOKED_AT = 5 };
    if (row->motion_loop == SYMBOLIC_NO_LOOP) return false;
    const uint64_t moves = symbolic_trips(&s->loops[row->motion_loop], index_value, &point);
    point.iv = s->loops[row->motion_loop].iv;
    for (point.count = 1; point.count < LOOKED_AT && (uint64_t)point.count + 1 < moves; point.count++)
        if (symbolic_trips(l, index_value, &point) != trips) return true;
    return false;
}

/* What the first thread touches: places of the accesses, and loops inside the motion. */
static void thread_spans(struct arena *arena, const struct symbolic *sym, const struct locality_row *row,
                         struct index_point *n, struct spans *s)
{
    enum { STEPS_MOST = 12 };
    struct step steps[STEPS_MOST];
    struct index_point first = {.launch = n->launch, .s = sym, .loop = row->loop};
    int64_t *at, origin;
    const uint32_t places = footprint_places(arena, row, n, &at);
    uint32_t count = 0;
    *s = (struct spans){.times = 1};
    if (!footprint_index(row, n, &origin)) origin = 0;
    for (uint32_t k = 0; k < places; k++) {
        if (s->n == SPANS_MOST) spans_tidy(s);
        if (s->n == SPANS_MOST) break;
        s->at[s->n++] = (struct span){origin + at[k], origin + at[k] + row->element_bytes};
    }
    for (uint32_t k = row->loop; k != SYMBOLIC_NO_LOOP && count < STEPS_MOST; k = sym->loops[k].parent) {
        if (k == row->motion_loop) break; /* those outside are not one iteration */
        if (!(row->index->loops & expr_loop_bit(k)) || footprint_is_in_places(sym, row, &sym->loops[k]))
            continue;
        const uint64_t trips = symbolic_trips(&sym->loops[k], index_value, &first);
        if (!footprint_moves_alike(row->index, sym->loops[k].iv)) s->times = UINT64_MAX;
        if (!expr_is_linear(row->index, sym->loops[k].iv)) {
            if (!footprint_repeat(row, n, sym->loops[k].iv, trips, s)) s->times = UINT64_MAX;
            continue;
        }
        const int64_t d = footprint_loop_distance(row, n, sym->loops[k].iv);
        if (row->stride_bytes && d % row->stride_bytes == 0) continue; /* the next iterations of the motion */
        if (trips_vary(sym, row, &sym->loops[k], first, trips)) s->times = UINT64_MAX;
        if (trips > 1) steps[count++] = (struct step){d, trips};
    }
    qsort(steps, count, sizeof *steps, by_distance);
    for (uint32_t k = 0; k < count; k++) spans_repeat(s, steps[k].distance, steps[k].count);
    spans_tidy(s);
}

struct threads footprint_threads(const struct locality_row *row, struct index_point *n)
{
    struct threads t = {.linear = footprint_linear_in(row->index, THREAD_DEPS), .known = true};
    for (int k = 0; k < 3 && t.linear; k++)
        if (n->launch->block[k] > 1) t.known &= footprint_distance(row, n, &n->tid[k], &t.step[k]);
    return t;
}

/* From what the first thread touches to what the block does. */
void footprint_add_threads(const struct locality_row *row, struct index_point *n, const struct threads *t,
                           struct spans *s, struct spans *work)
{
    const uint32_t *block = n->launch->block;
    struct step steps[3];
    int64_t origin, at;
    if (t->linear) {
        for (int k = 0; k < 3; k++) steps[k] = (struct step){t->step[k], block[k]};
        qsort(steps, 3, sizeof *steps, by_distance);
        for (int k = 0; k < 3; k++) spans_repeat(s, steps[k].distance, steps[k].count);
        return;
    }
    *work = *s;
    s->n = 0;
    if (!footprint_index(row, n, &origin)) origin = 0;
    for (n->tid[2] = 0; n->tid[2] < block[2]; n->tid[2]++)
        for (n->tid[1] = 0; n->tid[1] < block[1]; n->tid[1]++)
            for (n->tid[0] = 0; n->tid[0] < block[0]; n->tid[0]++) {
                if (!footprint_index(row, n, &at)) at = origin;
                for (uint32_t k = 0; k < work->n; k++) {
                    if (s->n == SPANS_MOST) spans_tidy(s);
                    if (s->n == SPANS_MOST) break;
                    s->at[s->n++] =
                        (struct span){work->at[k].first + at - origin, work->at[k].end + at - origin};
                }
            }
    for (int k = 0; k < 3; k++) n->tid[k] = 0;
    spans_tidy(s);
}

/* Bytes that the motion passes in all its iterations; 0: not known. */
static int64_t reach_of_motion(const struct symbolic *sym, const struct locality_row *row,
                               const struct index_point *n)
{
    struct index_point first = {.launch = n->launch, .s = sym, .loop = row->loop};
    if (row->motion_loop == SYMBOLIC_NO_LOOP) return 0;
    const uint64_t trips = symbolic_trips(&sym->loops[row->motion_loop], index_value, &first);
    int64_t reach;
    if (__builtin_mul_overflow(llabs(row->stride_bytes), (int64_t)(trips & INT32_MAX), &reach) ||
        __builtin_mul_overflow(reach, (int64_t)row->unroll * row->folded, &reach))
        return 0;
    return reach;
}

/* Folds places that later iterations of the motion touch. Places that the motion does not reach, such as other rows
 * of a tile, stay apart: each group of places is folded by itself. A group begins half a step below a multiple of the
 * reach. */
static void fold_in_reach(struct spans *s, int64_t step, int64_t reach, struct spans *work)
{
    if (reach <= 0 || reach < 2 * step) {
        spans_fold(s, step);
        return;
    }
    *work = *s;
    s->n = 0;
    for (uint32_t k = 0; k < work->n;) {
        struct spans *const group = work + 1;
        const int64_t nth = (work->at[k].first - work->at[0].first + step / 2) / reach, by = nth * reach;
        *group = (struct spans){.times = work->times};
        for (; k < work->n && (work->at[k].first - work->at[0].first + step / 2) / reach == nth; k++)
            group->at[group->n++] = (struct span){work->at[k].first - by, work->at[k].end - by};
        spans_fold(group, step);
        for (uint32_t j = 0; j < group->n; j++) {
            group->at[j].first += by;
            group->at[j].end += by;
        }
        spans_join(s, group);
    }
    spans_tidy(s);
}

/* The same, in one iteration of the motion. */
static void block_spans(const struct symbolic *sym, const struct locality_row *row, struct index_point *n,
                        const struct threads *t, struct spans *s, struct spans *work)
{
    if (row->stride_bytes && row->stride_bytes != INT64_MIN)
        fold_in_reach(s, llabs(row->stride_bytes), reach_of_motion(sym, row, n), work);
    footprint_add_threads(row, n, t, s, work);
}

/* ---- all rows ---- */

static bool moves_alike(const struct locality_row *a, const struct locality_row *b)
{
    return a->argument == b->argument && a->argument != LOCALITY_NO_ARGUMENT &&
           a->motion_loop == b->motion_loop && a->stride_bytes == b->stride_bytes &&
           a->element_bytes == b->element_bytes && a->linear == b->linear;
}

static struct index_point point_of(const struct sizing *z, const struct locality_row *row)
{
    struct index_point n = {.launch = z->l, .s = z->s, .loop = row->loop, .loose = true};
    for (int k = 0; k < 3; k++) n.bid[k] = z->l->grid[k] / 2;
    return n;
}

/* Is there something in it that nothing is known of but that it depends on the thread? Then nobody knows how
 * threads lie to each other. */
static bool scatters(const struct expr *e, uint32_t depth)
{
    enum { DEPTH_MOST = 16 };
    if (!(e->deps & DEP_OTHER) || !(e->deps & THREAD_DEPS)) return false;
    for (uint32_t k = 0; k < e->n; k++)
        for (uint32_t j = 0; j < e->terms[k].mono->n; j++) {
            const struct atom *a = e->terms[k].mono->atoms[j];
            if (!(a->deps & DEP_OTHER) || !(a->deps & THREAD_DEPS)) continue;
            if (a->kind == ATOM_OTHER || depth == DEPTH_MOST) return true;
            for (uint32_t n = 0; n < a->n_args; n++)
                if (a->args[n] && scatters(a->args[n], depth + 1)) return true;
        }
    return false;
}

/* The datablock of a row and of those that move alike. Rows whose threads lie alike too are one before they
 * are folded: an unrolled loop and its rest. */
static uint64_t datablock(struct sizing *z, const struct locality_table *t, uint32_t which)
{
    const struct locality_row *row = &t->rows[which];
    struct index_point n = point_of(z, row);
    const struct threads threads = footprint_threads(row, &n);
    if (row->class == LOCALITY_NONE) return 0; /* nobody knows where a block's threads are */
    /* a parameter is not given, or no two iterations of the motion need to touch as much */
    if (!threads.known || scatters(row->index, 0)) return 0;
    if (row->motion_loop != SYMBOLIC_NO_LOOP && (!row->stride || row->stride->deps & THREAD_DEPS)) return 0;
    thread_spans(z->arena, z->s, row, &n, z->all);
    for (uint32_t pass = 0; pass < 2; pass++) {
        if (pass) block_spans(z->s, row, &n, &threads, z->all, z->work);
        for (uint32_t j = which + 1; j < t->n_rows; j++) {
            if (!moves_alike(row, &t->rows[j])) continue;
            struct index_point at = point_of(z, &t->rows[j]);
            const struct threads theirs = footprint_threads(&t->rows[j], &at);
            const bool alike =
                threads.linear && !memcmp(&threads.step, &theirs.step, sizeof theirs.step) && theirs.linear;
            if (alike != !pass) continue;
            thread_spans(z->arena, z->s, &t->rows[j], &at, z->own);
            if (pass) block_spans(z->s, &t->rows[j], &at, &theirs, z->own, z->work);
            spans_join(z->all, z->own);
        }
    }
    spans_tidy(z->all);
    return spans_total(z->all);
}

/* ---- all rows of a launch ---- */

void index_put_sizes(struct arena *arena, const struct symbolic *s, struct locality_table *t,
                     const struct locality_launch *l)
{
    struct sizing z = {.arena = arena,
                       .s = s,
                       .l = l,
                       .all = ARENA_NEW(arena, struct spans),
                       .own = ARENA_NEW(arena, struct spans),
                       .work = ARENA_ARRAY(arena, struct spans, 2)};
    for (uint32_t k = 0; k < t->n_rows; k++) {
        struct locality_row *row = &t->rows[k];
        struct index_point n = point_of(&z, row);
        if (row->stride && !expr_eval(row->stride, index_value, &n, &row->stride_bytes))
            row->stride_bytes = 0;
    }
    for (uint32_t k = 0; k < t->n_rows; k++) {
        struct locality_row *row = &t->rows[k];
        const struct locality_row *before = NULL;
        for (uint32_t j = 0; j < k && !before; j++)
            if (moves_alike(row, &t->rows[j])) before = &t->rows[j];
        row->datablock_bytes = before ? before->datablock_bytes : datablock(&z, t, k);
    }
    overlap_find(&z, t);
}
