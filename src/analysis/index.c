/* index: base and motion of every access, then rows of the locality table. See index.h.
 *
 *   base       the one pointer in the sum; what is left is the byte index into its structure
 *   motion     the outermost loop around the access that the index moves with (programs put loops around that
 *              the access does not know of: k-means walks its features once for each cluster)
 *   unrolled   n accesses at distances d, 2d, ... and a step of n*d are one with a step of d (index_unroll.c)
 *   rows       accesses that differ by a constant only are one row (index_rows.c) */
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
