/* index: base and motion of every access, then rows of the locality table. See index.h.
 *
 *   base       the one pointer in the sum; what is left is the byte index into its structure
 *   motion     the outermost loop around the access that the index moves with (programs put loops around that
 *              the access does not know of: k-means walks its features once for each cluster)
 *   unrolled   n accesses at distances d, 2d, ... and a step of n*d are one with a step of d (index_unroll.c)
 *   rows       accesses that differ by a constant only are one row (index_rows.c) */
#include <string.h>

#include "analysis/index_private.h"

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

/* ---- one of several pointers ---- */

/* Pointers that a program chooses between are a choice of structures: the access is one to each of them, as
 * if the choice had been a branch around two accesses. Which atom chooses between pointers; NULL: none. */
static const struct atom *find_choice(const struct expr *address)
{
    for (uint32_t k = 0; k < address->n; k++) {
        const struct mono *m = address->terms[k].mono;
        if (m->n != 1 || address->terms[k].coef != 1) continue;
        const struct atom *a = m->atoms[0];
        if (a && (a->kind == ATOM_MERGE || (a->kind == ATOM_OP && a->op == EXPR_SELECT))) return a;
    }
    return NULL;
}

/* Addresses with one pointer each that the address may be; 0: not so. */
static uint32_t alternatives(struct expr_pool *p, const struct expr *address, const struct expr **out,
                             uint32_t room)
{
    if (!room) return 0;
    out[0] = address;
    if (find_base(address)) return 1;
    const struct atom *choice = find_choice(address);
    if (!choice) return 0;
    const bool selects = choice->kind == ATOM_OP;
    const uint32_t first = selects ? 1 : 0, end = selects ? 3 : choice->element;
    const struct expr *rest = expr_sub(p, address, expr_of(p, choice));
    uint32_t n = 0;
    for (uint32_t k = first; k < end; k++) {
        const uint32_t more =
            choice->args[k] ? alternatives(p, expr_add(p, rest, choice->args[k]), out + n, room - n) : 0;
        if (!more) return 0;
        n += more;
    }
    return n;
}

/* ---- motion ---- */

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

/* Goes a bounded way to and fro with the loop: chooses between values that it does not change, or is cut to a
 * few bits. */
static bool wobbles(const struct atom *a, uint64_t loop, uint32_t depth)
{
    if (!(a->loops & loop)) return true;
    const bool selects = a->kind == ATOM_OP && a->op == EXPR_SELECT;
    if (!selects && a->kind != ATOM_MERGE)
        return a->kind == ATOM_OP && (a->op == EXPR_AND || a->op == EXPR_REM) && a->args[1]->n == 1 &&
               !a->args[1]->terms[0].mono->n;
    for (uint32_t k = selects ? 1 : 0; k < (selects ? 3 : a->element); k++)
        for (uint32_t t = 0; a->args[k] && t < a->args[k]->n; t++)
            for (uint32_t j = 0; j < a->args[k]->terms[t].mono->n; j++)
                if (!depth || !wobbles(a->args[k]->terms[t].mono->atoms[j], loop, depth - 1)) return false;
    return true;
}

/* The step of an index that moves by it but for what wobbles; NULL: there is none. */
static const struct expr *step_about(struct expr_pool *p, const struct expr *index, const struct atom *iv)
{
    enum { DEPTH_MOST = 3 };
    const struct expr *rest, *factor, *plain = index;
    for (uint32_t k = 0; k < index->n; k++) {
        const struct mono *m = index->terms[k].mono;
        bool steady = true;
        for (uint32_t j = 0; j < m->n; j++) {
            if (m->atoms[j] == iv || !(m->atoms[j]->loops & iv->loops)) continue;
            if (m->n != 1 || !wobbles(m->atoms[j], iv->loops, DEPTH_MOST)) return NULL;
            steady = false;
        }
        if (!steady) plain = expr_sub(p, plain, expr_term(p, &index->terms[k]));
    }
    return expr_split(p, plain, iv, &rest, &factor) && factor->n ? factor : NULL;
}

/* Iterations that count by twos: what is moved by every other of them only. NULL: none. */
static const struct atom *find_half(const struct expr *index, const struct atom *iv)
{
    int64_t k;
    for (uint32_t t = 0; t < index->n; t++)
        for (uint32_t j = 0; j < index->terms[t].mono->n; j++) {
            const struct atom *a = index->terms[t].mono->atoms[j];
            if (a->kind == ATOM_OP && a->op == EXPR_SHR && expr_is_const(a->args[1], &k) && k == 1 &&
                (expr_offset(a->args[0]) & ~1) == 0 && a->args[0]->n <= 2 && a->loops == iv->loops &&
                !a->deps)
                return a;
        }
    return NULL;
}

static void make_item(struct building *b, struct item *item, const struct symbolic_access *a,
                      const struct expr *address)
{
    struct expr_pool *p = &b->s->pool;
    *item = (struct item){.access = a,
                          .base = find_base(address),
                          .index = address,
                          .loop = SYMBOLIC_NO_LOOP,
                          .unroll = 1,
                          .folded = 1,
                          .linear = true};
    if (item->base) item->index = expr_sub(p, address, expr_of(p, item->base));
    item->invariant = item->index;
    item->loop = motion_of(b->s, a, item->index);
    if (item->loop == SYMBOLIC_NO_LOOP) return;
    const struct expr *rest, *factor;
    const struct atom *iv = b->s->loops[item->loop].iv, *half = find_half(item->index, iv);
    item->count = half ? half : iv;
    item->linear = expr_split(p, item->index, item->count, &rest, &factor) && factor->n;
    if (!item->linear) {
        item->stride = step_about(p, item->index, iv);
        return;
    }
    item->invariant = rest;
    item->stride = factor;
}

static void add_item(struct building *b, const struct symbolic_access *a, const struct expr *address)
{
    if (b->n == b->capacity) {
        b->capacity = b->capacity ? 2 * b->capacity : b->s->n_accesses + 1;
        struct item *more = ARENA_ARRAY(b->arena, struct item, b->capacity);
        if (b->n) memcpy(more, b->items, b->n * sizeof *more);
        b->items = more;
    }
    make_item(b, &b->items[b->n++], a, address);
}

static void make_items(struct building *b)
{
    enum { ALTERNATIVES_MOST = 4 };
    for (uint32_t k = 0; k < b->s->n_accesses; k++) {
        const struct symbolic_access *a = &b->s->accesses[k];
        const struct expr *either[ALTERNATIVES_MOST];
        const uint32_t n = alternatives(&b->s->pool, a->address, either, ALTERNATIVES_MOST);
        if (!n) add_item(b, a, a->address);
        for (uint32_t j = 0; j < n; j++) add_item(b, a, either[j]);
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
    struct building b = {
        .arena = arena, .s = s, .t = t, .merge_budget = 20000 + 50 * (uint64_t)s->n_accesses};
    struct diag_cleanup cleanup;
    map_init(&b.places);
    diag_defer(&cleanup, free_places, &b.places);
    t->kernel = kernel;
    t->symbolic = s;
    s->pool.work_left += 5000 + 100 * (uint64_t)s->n_accesses;
    t->n_static_rows = s->n_accesses;
    find_numbers(s);
    make_items(&b);
    index_fold_small_loops(&b);
    index_merge_unrolled(&b);
    index_fold_small_loops(&b);
    index_make_rows(&b);
    for (uint32_t k = 0; k < t->n_rows; k++) t->shown_loops |= t->rows[k].index->loops;
    for (uint32_t k = 0; k < t->n_rows; k++) index_find_unrolled(arena, s, &t->rows[k]);
    index_sort_arguments(&b);
    t->uses_by = t->two_dimensional = reads_block_y(s);
    for (uint32_t k = 0; k < t->n_rows; k++)
        t->rows[k].class = index_classify(s, &t->rows[k], t->two_dimensional, NULL);
    index_choose_speakers(t);
    diag_done(&cleanup, true);
    return t;
}
