/* index_unroll: what compilers unrolled is one access again. See index_private.h. */
#include "analysis/index_private.h"

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
        if (!i->linear || i->stride != first->stride || i->base != first->base || i->loop != first->loop)
            continue;
        if (i->access->kind != first->access->kind || i->unrolled) continue;
        const struct expr *distance = expr_sub(&b->s->pool, i->invariant, first->invariant);
        if (is_fraction(distance, first->stride) && !is_multiple(b, distance, d)) return false;
    }
    return b->merge_budget != 0;
}

/* All accesses of the loop that lie on the same comb take its smaller step. */
static void take_step(struct building *b, const struct item *first, const struct expr *d, int64_t n)
{
    const struct expr *stride = first->stride, *invariant = first->invariant;
    const struct atom *base = first->base;
    const uint32_t loop = first->loop;
    for (uint32_t k = 0; k < b->n && b->merge_budget; k++) {
        struct item *i = &b->items[k];
        b->merge_budget--;
        if (!i->linear || i->stride != stride || i->base != base || i->loop != loop || i->unrolled) continue;
        if (i->access->bytes != first->access->bytes ||
            !is_multiple(b, expr_sub(&b->s->pool, i->invariant, invariant), d))
            continue;
        i->unrolled = true;
    }
    for (uint32_t k = 0; k < b->n; k++)
        if (b->items[k].unrolled && b->items[k].stride == stride && b->items[k].base == base &&
            b->items[k].loop == loop) {
            struct item *i = &b->items[k];
            i->stride = d;
            i->unroll = (uint32_t)n;
            i->index =
                expr_add(&b->s->pool, i->invariant, expr_mul(&b->s->pool, d, expr_of(&b->s->pool, i->count)));
        }
}

void index_merge_unrolled(struct building *b)
{
    enum { UNROLL_MOST = 32 };
    for (uint32_t k = 0; k < b->n; k++) {
        struct item *i = &b->items[k];
        for (uint32_t e = 0; i->stride && i->linear && e < i->access->count; e++)
            *map_put(&b->places, place_key(i, element_place(b, i, e)), NULL) = k + 1;
    }
    for (uint32_t k = 0; k < b->n; k++) {
        struct item *i = &b->items[k];
        if (!i->stride || !i->linear || i->unrolled) continue;
        for (int64_t n = UNROLL_MOST; n >= 2; n--) {
            const struct expr *d = part_of(b, i->stride, n);
            if (!d || !is_chain(b, i, d, n) || !comb_is_whole(b, i, d)) continue;
            take_step(b, i, d, n);
            break;
        }
    }
}

void index_fold_small_loops(struct building *b)
{
    struct expr_pool *p = &b->s->pool;
    for (uint32_t k = 0; k < b->n; k++) {
        struct item *i = &b->items[k];
        for (uint32_t l = 0; i->stride && i->linear && l < b->s->n_loops && l < 63; l++) {
            const struct symbolic_loop *loop = &b->s->loops[l];
            const struct expr *rest, *factor;
            if (!(i->invariant->loops & expr_loop_bit(l)) || index_loop_is_motion(loop)) continue;
            if (!expr_split(p, i->invariant, loop->iv, &rest, &factor)) continue;
            if (expr_scale(p, factor, (int64_t)loop->trips) != i->stride) continue;
            i->invariant = rest;
            i->stride = factor;
            i->folded *= (uint32_t)loop->trips;
            i->index = expr_add(p, rest, expr_mul(p, factor, expr_of(p, i->count)));
        }
    }
}
