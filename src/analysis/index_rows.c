/* index_rows: arguments and rows of the locality table, from accesses whose base and motion are known. See
 * index_private.h. */
#include <stdio.h>
#include <string.h>

#include "analysis/index_private.h"

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
            .unroll = i->unroll,
            .folded = i->folded,
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

void index_make_rows(struct building *b)
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

void index_sort_arguments(struct building *b)
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
    for (uint32_t k = 0; k < t->n_arguments; k++) t->arguments[k].class = t->rows[t->arguments[k].row].class;
    index_choose_winner(t);
}

void index_choose_winner(struct locality_table *t)
{
    t->winner = t->n_arguments ? 0 : LOCALITY_NO_ARGUMENT;
    for (uint32_t k = 1; k < t->n_arguments; k++) {
        const struct locality_argument *a = &t->arguments[k], *w = &t->arguments[t->winner];
        if (a->end - a->first > w->end - w->first) t->winner = k;
    }
}
