/* index: rows of the locality table from addresses. See index.h.
 *
 *   base      the one pointer in the sum; what is left is the byte index into its structure
 *   motion    the outermost loop around the access that the index moves with (compilers and programs put
 * loops around that the access does not know of: k-means walks its features once for each cluster) unrolled
 * n accesses at distances d, 2d, ... and a step of n*d are one access with a step of d rows      accesses
 * that differ by a constant only are one row */
#include "analysis/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An access on its way to a row. */
struct item {
    const struct symbolic_access *access;
    const struct atom *base;
    const struct expr *index, *invariant, *stride; /* stride NULL: no motion */
    uint32_t loop;
    bool linear, unrolled;
};

struct building {
    struct arena *arena;
    struct symbolic *s;
    struct locality_table *t;
    struct item *items;
    uint32_t n;
    struct map places; /* hash of base, stride, kind and invariant > item + 1 */
    uint64_t merge_budget;
};

/* ---- base and index ---- */

static bool may_be_base(const struct atom *a)
{
    if (a->kind == ATOM_BASE) return a->deps & DEP_GLOBAL;
    return a->kind == ATOM_PARAM && a->size_bytes == 8 && (a->is_pointer || !a->is_number);
}

/* 64-bit parameters that are multiplied, such as a pitch, are no pointers where they are added. */
static void find_numbers(const struct symbolic *s)
{
    for (uint32_t k = 0; k < s->n_accesses; k++)
        for (uint32_t t = 0; t < s->accesses[k].address->n; t++) {
            const struct term *term = &s->accesses[k].address->terms[t];
            for (uint32_t j = 0; j < term->mono->n && (term->mono->n > 1 || term->coef != 1); j++)
                ((struct atom *)(uintptr_t)term->mono->atoms[j])->is_number = true;
        }
}

/* The pointer in the sum: a term of its own with coefficient 1; one that went through cvta before others. */
static const struct atom *find_base(const struct expr *address)
{
    const struct atom *best = NULL;
    uint32_t found = 0;
    for (uint32_t k = 0; k < address->n; k++) {
        const struct mono *m = address->terms[k].mono;
        if (m->n != 1 || address->terms[k].coef != 1 || !may_be_base(m->atoms[0])) continue;
        const bool better = best && !best->is_pointer && best->kind == ATOM_PARAM &&
                            (m->atoms[0]->is_pointer || m->atoms[0]->kind == ATOM_BASE);
        const bool worse = best && (best->is_pointer || best->kind == ATOM_BASE) &&
                           m->atoms[0]->kind == ATOM_PARAM && !m->atoms[0]->is_pointer;
        if (worse) continue;
        found = better ? 1 : found + 1;
        best = m->atoms[0];
    }
    return found == 1 ? best : NULL;
}

static bool has_factor(const struct expr *e, const struct atom *a)
{
    for (uint32_t k = 0; k < e->n; k++)
        for (uint32_t j = 0; j < e->terms[k].mono->n; j++)
            if (e->terms[k].mono->atoms[j] == a) return true;
    return false;
}

/* The outermost loop whose iterations count in the index; else one that changes it in another way. */
static uint32_t motion_of(const struct symbolic *s, const struct symbolic_access *a, const struct expr *index)
{
    uint32_t counted = SYMBOLIC_NO_LOOP, other = SYMBOLIC_NO_LOOP;
    for (uint32_t l = a->loop; l != SYMBOLIC_NO_LOOP; l = s->loops[l].parent) {
        if (!(index->loops & expr_loop_bit(l)) || !index_loop_is_motion(&s->loops[l])) continue;
        other = l;
        if (has_factor(index, s->loops[l].iv)) counted = l;
    }
    return counted != SYMBOLIC_NO_LOOP ? counted : other;
}

static void make_item(struct building *b, struct item *item, const struct symbolic_access *a)
{
    struct expr_pool *p = &b->s->pool;
    *item = (struct item){.access = a,
                          .base = find_base(a->address),
                          .index = a->address,
                          .loop = SYMBOLIC_NO_LOOP,
                          .linear = true};
    if (item->base) item->index = expr_sub(p, a->address, expr_of(p, item->base));
    item->invariant = item->index;
    item->loop = motion_of(b->s, a, item->index);
    if (item->loop == SYMBOLIC_NO_LOOP) return;
    const struct expr *rest, *factor;
    item->linear = expr_split(p, item->index, b->s->loops[item->loop].iv, &rest, &factor) && factor->n;
    if (!item->linear) return;
    item->invariant = rest;
    item->stride = factor;
}

/* ---- unrolled loops ---- */

static uint64_t place_key(const struct item *i, const struct expr *invariant)
{
    uint64_t h = hash_u64((uint64_t)(i->base ? i->base->serial : 0) << 32 | i->stride->serial);
    h = hash_u64(h ^ invariant->serial);
    return hash_u64(h ^ (uint64_t)i->loop << 8 ^ i->access->kind);
}

static const struct expr *element_place(struct building *b, const struct item *i, uint32_t e)
{
    return expr_add(&b->s->pool, i->invariant, expr_const(&b->s->pool, (int64_t)e * i->access->bytes));
}

/* Each coefficient divided by n; NULL: some leaves a rest. */
static const struct expr *part_of(struct building *b, const struct expr *stride, int64_t n)
{
    const struct expr *sum = expr_const(&b->s->pool, 0);
    for (uint32_t k = 0; k < stride->n; k++) {
        if (stride->terms[k].coef % n) return NULL;
        const struct term part = {stride->terms[k].coef / n, stride->terms[k].mono};
        sum = expr_add(&b->s->pool, sum, expr_term(&b->s->pool, &part));
    }
    return sum;
}

static bool is_place(struct building *b, const struct item *i, const struct expr *invariant)
{
    return map_find(&b->places, place_key(i, invariant)) != NULL;
}

/* Are there accesses (or elements of vectors) at i, i + d, ... i + (n - 1)*d? */
static bool is_chain(struct building *b, const struct item *i, const struct expr *d, int64_t n)
{
    const struct expr *at = i->invariant;
    for (int64_t k = 1; k < n; k++) {
        at = expr_add(&b->s->pool, at, d);
        if (!b->merge_budget || !is_place(b, i, at)) return false;
        b->merge_budget--;
    }
    return true;
}

/* distance == q * d for a whole q? */
static bool is_multiple(struct building *b, const struct expr *distance, const struct expr *d)
{
    int64_t q = 0;
    if (!distance->n) return true;
    if (distance->n != d->n || !d->terms[0].coef || distance->terms[0].coef % d->terms[0].coef) return false;
    q = distance->terms[0].coef / d->terms[0].coef;
    return expr_scale(&b->s->pool, d, q) == distance;
}

/* Is it some fraction of the step? Then it has to lie on the comb, or the comb is not what the program meant.
 */
static bool is_fraction(const struct expr *distance, const struct expr *stride)
{
    if (distance->n != stride->n) return false;
    for (uint32_t k = 0; k < stride->n; k++) {
        if (distance->terms[k].mono != stride->terms[k].mono) return false;
        const __int128 left = (__int128)distance->terms[k].coef * stride->terms[0].coef;
        if (left != (__int128)distance->terms[0].coef * stride->terms[k].coef) return false;
    }
    return true;
}

static bool comb_is_whole(struct building *b, const struct item *first, const struct expr *d)
{
    for (uint32_t k = 0; k < b->n && b->merge_budget; k++) {
        const struct item *i = &b->items[k];
        b->merge_budget--;
        if (i->stride != first->stride || i->base != first->base || i->loop != first->loop) continue;
        if (i->access->kind != first->access->kind || i->unrolled) continue;
        const struct expr *distance = expr_sub(&b->s->pool, i->invariant, first->invariant);
        if (is_fraction(distance, first->stride) && !is_multiple(b, distance, d)) return false;
    }
    return b->merge_budget != 0;
}

/* All accesses of the loop that lie on the same comb take its smaller step. */
static void take_step(struct building *b, const struct item *first, const struct expr *d)
{
    const struct expr *stride = first->stride, *invariant = first->invariant;
    const struct atom *base = first->base;
    const uint32_t loop = first->loop;
    for (uint32_t k = 0; k < b->n && b->merge_budget; k++) {
        struct item *i = &b->items[k];
        b->merge_budget--;
        if (i->stride != stride || i->base != base || i->loop != loop || i->unrolled) continue;
        if (i->access->bytes != first->access->bytes ||
            !is_multiple(b, expr_sub(&b->s->pool, i->invariant, invariant), d))
            continue;
        i->unrolled = true;
    }
    for (uint32_t k = 0; k < b->n; k++)
        if (b->items[k].unrolled && b->items[k].stride == stride && b->items[k].base == base &&
            b->items[k].loop == loop) {
            struct item *i = &b->items[k];
            const struct expr *iv = expr_of(&b->s->pool, b->s->loops[loop].iv);
            i->stride = d;
            i->index = expr_add(&b->s->pool, i->invariant, expr_mul(&b->s->pool, d, iv));
        }
}

static void merge_unrolled(struct building *b)
{
    enum { UNROLL_MOST = 32 };
    for (uint32_t k = 0; k < b->n; k++) {
        struct item *i = &b->items[k];
        for (uint32_t e = 0; i->stride && e < i->access->count; e++)
            *map_put(&b->places, place_key(i, element_place(b, i, e)), NULL) = k + 1;
    }
    for (uint32_t k = 0; k < b->n; k++) {
        struct item *i = &b->items[k];
        if (!i->stride || i->unrolled) continue;
        for (int64_t n = UNROLL_MOST; n >= 2; n--) {
            const struct expr *d = part_of(b, i->stride, n);
            if (!d || !is_chain(b, i, d, n) || !comb_is_whole(b, i, d)) continue;
            take_step(b, i, d);
            break;
        }
    }
}

/* The same, before a compiler unrolled it: a loop of n iterations with a step of d in one with a step of n*d.
 */
static void fold_small_loops(struct building *b)
{
    struct expr_pool *p = &b->s->pool;
    for (uint32_t k = 0; k < b->n; k++) {
        struct item *i = &b->items[k];
        for (uint32_t l = 0; i->stride && l < b->s->n_loops && l < 63; l++) {
            const struct symbolic_loop *loop = &b->s->loops[l];
            const struct expr *rest, *factor;
            if (!(i->invariant->loops & expr_loop_bit(l)) || index_loop_is_motion(loop)) continue;
            if (!expr_split(p, i->invariant, loop->iv, &rest, &factor)) continue;
            if (expr_scale(p, factor, (int64_t)loop->trips) != i->stride) continue;
            i->invariant = rest;
            i->stride = factor;
            i->index = expr_add(p, rest, expr_mul(p, factor, expr_of(p, b->s->loops[i->loop].iv)));
        }
    }
}

/* ---- arguments ---- */

static uint32_t argument_of(struct building *b, const struct atom *base)
{
    struct locality_table *t = b->t;
    if (!base) return LOCALITY_NO_ARGUMENT;
    for (uint32_t k = 0; k < t->n_arguments; k++) {
        const struct locality_argument *a = &t->arguments[k];
        if (base->kind == ATOM_BASE ? a->variable == base->symbol
                                    : !a->variable && a->param_offset == base->id)
            return k;
    }
    struct locality_argument *more = ARENA_ARRAY(b->arena, struct locality_argument, t->n_arguments + 1);
    if (t->n_arguments) memcpy(more, t->arguments, t->n_arguments * sizeof *more);
    t->arguments = more;
    struct locality_argument *a = &more[t->n_arguments];
    *a = (struct locality_argument){.param = UINT32_MAX, .row = UINT32_MAX};
    if (base->kind == ATOM_BASE) {
        a->variable = base->symbol;
        (void)snprintf(a->name, sizeof a->name, "%.31s", base->symbol->name);
        return t->n_arguments++;
    }
    const struct ptx_func *f = t->kernel;
    a->param_offset = base->id;
    for (uint32_t n = 0; n < f->n_params; n++) {
        const struct ptx_symbol *s = &f->module->symbols[f->first_param + f->n_rets + n];
        if (base->id < s->offset || base->id >= s->offset + s->size_bytes) continue;
        a->param = n;
        if (s->size_bytes > 8)
            (void)snprintf(a->name, sizeof a->name, "p%u.%u", n, (unsigned)(base->id - s->offset));
        else
            (void)snprintf(a->name, sizeof a->name, "p%u", n);
    }
    return t->n_arguments++;
}

/* ---- rows ---- */

/* Is the product the same for every thread, block and iteration of a launch? */
static bool is_launch_constant(const struct mono *m)
{
    enum { FIXED = DEP_PARAM | DEP_BDX | DEP_BDY | DEP_BDZ | DEP_GDX | DEP_GDY | DEP_GDZ };
    return !(m->deps & ~(uint32_t)FIXED) && !m->loops;
}

/* What a loop that compilers unroll completely adds in each iteration, when that is a constant of the launch;
 * NULL: the index does not move with it so. */
static const struct expr *small_step(struct building *b, const struct expr *index, uint32_t l,
                                     const struct expr **rest)
{
    const struct expr *factor;
    if (!(index->loops & expr_loop_bit(l)) || index_loop_is_motion(&b->s->loops[l])) return NULL;
    if (!expr_split(&b->s->pool, index, b->s->loops[l].iv, rest, &factor) || !factor->n) return NULL;
    for (uint32_t k = 0; k < factor->n; k++)
        if (!is_launch_constant(factor->terms[k].mono)) return NULL;
    return factor;
}

/* Without constants of the launch and without what loops add that compilers unroll completely. */
static const struct expr *shape_of(struct building *b, const struct expr *invariant)
{
    struct expr_pool *p = &b->s->pool;
    const struct expr *shape = invariant;
    for (uint32_t l = 0; l < b->s->n_loops && l < 63; l++) {
        const struct expr *rest;
        if (small_step(b, shape, l, &rest)) shape = rest;
    }
    for (uint32_t k = 0; k < invariant->n; k++)
        if (is_launch_constant(invariant->terms[k].mono))
            shape = expr_sub(p, shape, expr_term(p, &invariant->terms[k]));
    return shape;
}

static uint64_t row_key(struct building *b, const struct item *i)
{
    /* through data and with nothing regular: all such accesses to a structure are one row */
    const bool by_data = i->index->deps & DEP_DATA && !i->stride;
    if (by_data)
        return hash_u64((uint64_t)(i->base ? i->base->serial : 0) << 32 | 0xdada0000u | i->access->bytes);

    uint64_t h =
        hash_u64((uint64_t)(i->base ? i->base->serial : 0) << 32 | shape_of(b, i->invariant)->serial);
    h = hash_u64(h ^ (uint64_t)(i->stride ? i->stride->serial : 0) << 32 ^ i->access->bytes);
    return hash_u64(h ^ i->loop);
}

/* Loops around; those that compilers unroll completely do not count, as they are not there at every level. */
static uint32_t depth_of(const struct symbolic *s, uint32_t loop)
{
    uint32_t depth = 0;
    for (; loop != SYMBOLIC_NO_LOOP; loop = s->loops[loop].parent)
        depth += index_loop_is_motion(&s->loops[loop]);
    return depth;
}

static uint8_t kind_bit(uint8_t kind)
{
    return kind == SYMBOLIC_READ    ? LOCALITY_READS
           : kind == SYMBOLIC_WRITE ? LOCALITY_WRITES
                                    : LOCALITY_ATOMICS;
}

/* What it depends on how often loops ran that are not around the access: their last iterations are in the
 * index. */
static uint32_t ended_loops_deps(const struct symbolic *s, const struct item *i)
{
    uint64_t around = 0, done = 0;
    uint32_t deps = 0;
    for (uint32_t l = i->access->loop; l != SYMBOLIC_NO_LOOP; l = s->loops[l].parent)
        around |= expr_loop_bit(l);
    for (uint64_t left = i->index->loops & ~around; left; left &= ~done) {
        const uint32_t l = (uint32_t)__builtin_ctzll(left);
        done |= (uint64_t)1 << l;
        if (l >= 63 || l >= s->n_loops || !s->loops[l].exits) return DEP_OTHER | DEP_DATA;
        if (s->loops[l].trips && !s->loops[l].exits->next) continue; /* always as often */
        for (const struct symbolic_exit *e = s->loops[l].exits; e; e = e->next) {
            deps |= e->condition->deps;
            left |= e->condition->loops & ~around;
        }
    }
    return deps;
}

/* The part of an index that is the same for every thread, block and iteration of a launch. */
static const struct expr *fixed_part(struct building *b, const struct expr *invariant)
{
    const struct expr *fixed = expr_const(&b->s->pool, 0);
    for (uint32_t k = 0; k < invariant->n; k++)
        if (is_launch_constant(invariant->terms[k].mono))
            fixed = expr_add(&b->s->pool, fixed, expr_term(&b->s->pool, &invariant->terms[k]));
    return fixed;
}

static bool same_place(const struct locality_place *a, const struct locality_place *b)
{
    return a->offset == b->offset && a->elements == b->elements && a->step[0] == b->step[0] &&
           a->step[1] == b->step[1] && a->count[0] == b->count[0] && a->count[1] == b->count[1];
}

static void add_place(struct building *b, struct locality_row *row, const struct item *i)
{
    struct locality_place p = {.offset = fixed_part(b, i->invariant), .elements = i->access->count};
    const struct expr *index = i->invariant;
    uint32_t steps = 0;
    for (uint32_t l = i->access->loop; l != SYMBOLIC_NO_LOOP && steps < 2; l = b->s->loops[l].parent) {
        const struct expr *rest, *step = small_step(b, index, l, &rest);
        if (!step) continue;
        p.step[steps] = step;
        p.count[steps++] = (uint32_t)symbolic_trips_at(&b->s->loops[l], i->access, NULL, NULL);
        index = rest;
    }
    for (uint32_t k = 0; k < row->n_places; k++)
        if (same_place(&row->places[k], &p)) return;
    if (row->n_places == LOCALITY_PLACES_MOST) return;
    if (!(row->n_places & (row->n_places - 1))) { /* grows at powers of two */
        struct locality_place *more =
            ARENA_ARRAY(b->arena, struct locality_place, row->n_places ? 2 * row->n_places : 1);
        if (row->n_places) memcpy(more, row->places, row->n_places * sizeof *more);
        row->places = more;
    }
    row->places[row->n_places++] = p;
}

static void add_to_row(struct building *b, struct locality_row *row, const struct item *i, bool fresh)
{
    const struct symbolic_access *a = i->access;
    if (fresh)
        *row = (struct locality_row){
            .argument = argument_of(b, i->base),
            .element_bytes = a->bytes,
            .depth = depth_of(b->s, a->loop),
            .func = a->func,
            .pc = a->pc,
            .line = a->func->instrs[a->pc].line,
            .index = i->index,
            .moving = expr_sub(&b->s->pool, i->index, fixed_part(b, i->index)),
            .stride = i->stride,
            .motion_loop = i->loop,
            .loop = a->loop,
            .linear = i->linear,
        };
    row->kinds |= kind_bit(a->kind);
    row->also_deps |= ended_loops_deps(b->s, i);
    row->accesses++;
    add_place(b, row, i);
    if (depth_of(b->s, a->loop) > row->depth) row->depth = depth_of(b->s, a->loop);
}

static void make_rows(struct building *b)
{
    struct map rows;
    struct locality_table *t = b->t;
    map_init(&rows);
    t->rows = ARENA_ARRAY(b->arena, struct locality_row, b->n + 1);
    for (uint32_t k = 0; k < b->n; k++) {
        bool fresh;
        uint64_t *at = map_put(&rows, row_key(b, &b->items[k]), &fresh);
        if (fresh) *at = t->n_rows++;
        add_to_row(b, &t->rows[*at], &b->items[k], fresh);
    }
    map_free(&rows);
}

/* In the order of the kernel's parameters, variables last: LADM breaks ties so. */
static bool comes_before(const struct locality_argument *a, const struct locality_argument *b)
{
    if (!a->variable != !b->variable) return !a->variable;
    return a->variable ? a->variable->index < b->variable->index : a->param_offset < b->param_offset;
}

static void sort_arguments(struct building *b)
{
    struct locality_table *t = b->t;
    uint32_t *place = ARENA_ARRAY(b->arena, uint32_t, t->n_arguments + 1);
    struct locality_argument *sorted = ARENA_ARRAY(b->arena, struct locality_argument, t->n_arguments + 1);
    for (uint32_t k = 0; k < t->n_arguments; k++) {
        for (uint32_t j = 0; j < t->n_arguments; j++)
            place[k] += comes_before(&t->arguments[j], &t->arguments[k]);
        sorted[place[k]] = t->arguments[k];
    }
    t->arguments = sorted;
    for (uint32_t k = 0; k < t->n_rows; k++)
        if (t->rows[k].argument != LOCALITY_NO_ARGUMENT) t->rows[k].argument = place[t->rows[k].argument];
}

void index_choose_speakers(struct locality_table *t)
{
    for (uint32_t k = 0; k < t->n_rows; k++) {
        const struct locality_row *row = &t->rows[k];
        if (row->argument == LOCALITY_NO_ARGUMENT) continue;
        struct locality_argument *a = &t->arguments[row->argument];
        if (a->row == UINT32_MAX || row->depth > t->rows[a->row].depth) a->row = k;
        a->written |= (row->kinds & (LOCALITY_WRITES | LOCALITY_ATOMICS)) != 0;
    }
    t->winner = t->n_arguments ? 0 : LOCALITY_NO_ARGUMENT;
    for (uint32_t k = 0; k < t->n_arguments; k++) {
        struct locality_argument *a = &t->arguments[k];
        a->class = t->rows[a->row].class;
        if (a->bytes > t->arguments[t->winner].bytes) t->winner = k;
    }
}

static bool reads_block_y(struct symbolic *s)
{
    for (uint32_t k = 0; k < s->pool.atoms.capacity; k++) {
        const struct atom *a = s->pool.atoms.slots[k];
        if (a && a->kind == ATOM_SREG && a->id == PTX_SREG_CTAID_Y) return true;
    }
    return false;
}

static void free_places(void *places) { map_free(places); }

struct locality_table *index_build(struct arena *arena, struct symbolic *s, const struct ptx_func *kernel)
{
    struct locality_table *t = ARENA_NEW(arena, struct locality_table);
    struct building b = {.arena = arena,
                         .s = s,
                         .t = t,
                         .n = s->n_accesses,
                         .merge_budget = 20000 + 50 * (uint64_t)s->n_accesses};
    struct diag_cleanup cleanup;
    map_init(&b.places);
    diag_defer(&cleanup, free_places, &b.places);
    t->kernel = kernel;
    t->symbolic = s;
    s->pool.work_left += 5000 + 100 * (uint64_t)b.n;
    t->n_static_rows = b.n;
    b.items = ARENA_ARRAY(arena, struct item, b.n + 1);
    find_numbers(s);
    for (uint32_t k = 0; k < b.n; k++) make_item(&b, &b.items[k], &s->accesses[k]);
    fold_small_loops(&b);
    merge_unrolled(&b);
    fold_small_loops(&b);
    make_rows(&b);
    for (uint32_t k = 0; k < t->n_rows; k++) t->shown_loops |= t->rows[k].index->loops;
    for (uint32_t k = 0; k < t->n_rows; k++) index_find_unrolled(arena, s, &t->rows[k]);
    sort_arguments(&b);
    t->uses_by = t->two_dimensional = reads_block_y(s);
    for (uint32_t k = 0; k < t->n_rows; k++)
        t->rows[k].class = index_classify(s, &t->rows[k], t->two_dimensional, NULL);
    index_choose_speakers(t);
    diag_done(&cleanup, true);
    return t;
}

/* ---- printing ---- */

static uint32_t root_of(const struct symbolic *s, uint32_t loop)
{
    while (s->loops[loop].parent != SYMBOLIC_NO_LOOP) loop = s->loops[loop].parent;
    return loop;
}

/* Does the loop, or one in it, count in some index? */
static bool is_shown(const struct locality_table *t, uint32_t loop)
{
    const struct symbolic *s = t->symbolic;
    for (uint32_t l = loop; l < s->n_loops; l++)
        if (t->shown_loops & expr_loop_bit(l) && symbolic_loop_contains(s, loop, l)) return true;
    return false;
}

/* m, n, ... for the outermost loops that count in some index, m2 for a loop inside the first, m2b for another
 * one beside that. */
static void name_loop(const struct locality_table *t, uint32_t loop, char *buf, size_t bytes)
{
    static const char letters[] = "mnqrsuvw";
    const struct symbolic *s = t->symbolic;
    const uint32_t root = root_of(s, loop), depth = s->loops[loop].depth;
    uint32_t roots = 0, beside = 0;
    for (uint32_t l = 0; l < root; l++) roots += s->loops[l].parent == SYMBOLIC_NO_LOOP && is_shown(t, l);
    for (uint32_t l = 0; l < loop; l++)
        beside += s->loops[l].depth == depth && t->shown_loops & expr_loop_bit(l) && root_of(s, l) == root;
    char letter[16], more[16] = "";
    if (roots < sizeof letters - 1)
        (void)snprintf(letter, sizeof letter, "%c", letters[roots]);
    else
        (void)snprintf(letter, sizeof letter, "m_%u_", roots);
    if (beside && beside < 25) (void)snprintf(more, sizeof more, "%c", (char)('a' + beside));
    if (beside >= 25) (void)snprintf(more, sizeof more, "_%u", beside);
    if (depth == 1)
        (void)snprintf(buf, bytes, "%s", letter);
    else
        (void)snprintf(buf, bytes, "%s%u%s", letter, depth, more);
}

static void name_atom(void *arg, const struct atom *a, char *buf, size_t bytes)
{
    const struct locality_table *t = arg;
    static const char *const names[] = {
        [PTX_SREG_TID_X] = "tx",     [PTX_SREG_TID_Y] = "ty",     [PTX_SREG_TID_Z] = "tz",
        [PTX_SREG_CTAID_X] = "bx",   [PTX_SREG_CTAID_Y] = "by",   [PTX_SREG_CTAID_Z] = "bz",
        [PTX_SREG_NTID_X] = "bdx",   [PTX_SREG_NTID_Y] = "bdy",   [PTX_SREG_NTID_Z] = "bdz",
        [PTX_SREG_NCTAID_X] = "gdx", [PTX_SREG_NCTAID_Y] = "gdy", [PTX_SREG_NCTAID_Z] = "gdz"};
    switch ((enum atom_kind)a->kind) {
    case ATOM_SREG:
        if (a->id < sizeof names / sizeof *names && names[a->id])
            (void)snprintf(buf, bytes, "%s", names[a->id]);
        else
            (void)snprintf(buf, bytes, "%s", ptx_sreg_name((enum ptx_sreg)a->id));
        return;
    case ATOM_PARAM: {
        const struct ptx_func *f = t->kernel;
        (void)snprintf(buf, bytes, "param+%u", a->id);
        for (uint32_t n = 0; n < f->n_params; n++) {
            const struct ptx_symbol *s = &f->module->symbols[f->first_param + f->n_rets + n];
            if (a->id < s->offset || a->id >= s->offset + s->size_bytes) continue;
            if (s->size_bytes > 8)
                (void)snprintf(buf, bytes, "p%u.%u", n, (unsigned)(a->id - s->offset));
            else
                (void)snprintf(buf, bytes, "p%u", n);
        }
        return;
    }
    case ATOM_BASE: (void)snprintf(buf, bytes, "&%.60s", a->symbol->name); return;
    case ATOM_IV: name_loop(t, a->id, buf, bytes); return;
    case ATOM_DATA: {
        uint32_t k = 0;
        const struct symbolic *s = t->symbolic;
        while (k + 1 < s->n_activations && s->activations[k + 1].first_site <= a->id) k++;
        const struct ptx_func *f = s->activations[k].func;
        const uint32_t pc = a->id - s->activations[k].first_site;
        (void)snprintf(buf, bytes, "load@%u", pc < f->n_instrs ? f->instrs[pc].line : 0);
        return;
    }
    case ATOM_PHI:
    case ATOM_OTHER:
    case ATOM_OP:
    case ATOM_MERGE: break;
    }
    (void)snprintf(buf, bytes, "?");
}

char *locality_print(const struct locality_table *t, const struct locality_row *row, const struct expr *e,
                     char *buf, uint32_t buf_bytes, bool *in_bytes)
{
    struct expr_pool *p = (struct expr_pool *)(uintptr_t)&t->symbolic->pool;
    const struct expr *shown = expr_const(p, 0);
    *in_bytes = false;
    for (uint32_t k = 0; k < e->n && !*in_bytes; k++) {
        *in_bytes = !row->element_bytes || e->terms[k].coef % row->element_bytes;
        if (*in_bytes) break;
        const struct term part = {e->terms[k].coef / row->element_bytes, e->terms[k].mono};
        shown = expr_add(p, shown, expr_term(p, &part));
    }
    return expr_print(*in_bytes ? e : shown, name_atom, (void *)(uintptr_t)t, buf, buf_bytes);
}
