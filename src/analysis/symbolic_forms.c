/* symbolic_forms: what the values at the heads of loops mean: start + step * iterations, and what else has a
 * closed form. */
#include "analysis/symbolic_private.h"

const struct expr *loops_known(void *arg, const struct atom *a)
{
    (void)arg;
    return a->closed;
}

/* ---- loops that have ended ---- */

/* Iterations of a loop when it is left, as an expression: it ends by one comparison with what counts by one.
 * NULL: not so. */
static const struct expr *end_of(struct walker *w, const struct symbolic_loop *l, struct map *memo)
{
    struct expr_pool *p = w->pool;
    const struct symbolic_exit *e = l->exits;
    const struct expr *rest, *factor;
    int64_t by;
    if (!e || e->next) return NULL;
    bool stay_if = e->stay_if;
    const struct atom *test =
        loops_comparison(expr_replace(p, e->condition, loops_known, NULL, memo), &stay_if);
    if (!test || test->deps & DEP_PHI) return NULL;
    if (!expr_split(p, expr_sub(p, test->args[0], test->args[1]), l->iv, &rest, &factor)) return NULL;
    if (!expr_is_const(factor, &by) || (by != 1 && by != -1)) return NULL;
    enum ptx_cmp cmp = (enum ptx_cmp)test->detail;
    if (by > 0) rest = expr_scale(p, rest, -1); /* zero after so many */
    if (cmp == (stay_if ? PTX_CMP_NE : PTX_CMP_EQ)) return rest;
    const bool below = cmp == PTX_CMP_LT || cmp == PTX_CMP_LE || cmp == PTX_CMP_LO || cmp == PTX_CMP_LS,
               above = cmp == PTX_CMP_GT || cmp == PTX_CMP_GE || cmp == PTX_CMP_HI || cmp == PTX_CMP_HS;
    const bool with_equal = cmp == PTX_CMP_LE || cmp == PTX_CMP_LS || cmp == PTX_CMP_GE || cmp == PTX_CMP_HS;
    if ((!below && !above) || (below == stay_if) != (by > 0)) return NULL; /* not towards its end */
    if (with_equal == stay_if) rest = expr_add(p, rest, expr_const(p, 1));
    const struct expr *v[2] = {rest, expr_const(p, 0)};
    return expr_op(p, EXPR_MAX, PTX_T_S64, 0, v, 2);
}

/* e with the iterations of loops inside `loop` as they are when those have ended. NULL: not known. */
static const struct expr *after_loops(struct walker *w, const struct expr *e, uint32_t loop,
                                      const uint64_t *within, struct map *memo)
{
    enum { LOOPS_MOST = 8, CHANGES = DEP_PHI | DEP_DATA | DEP_OTHER | DEP_MERGE };
    const uint64_t inside = within[loop] & ~expr_loop_bit(loop);
    for (uint32_t k = 0; e->loops & inside; k++) {
        const uint32_t l = (uint32_t)__builtin_ctzll(e->loops & inside);
        const struct expr *end = l < 63 && k < LOOPS_MOST ? end_of(w, &w->s->loops[l], memo) : NULL;
        if (!end || end->deps & CHANGES || end->loops & expr_loop_bit(l)) return NULL;
        const struct expr *after = expr_put(w->pool, e, w->s->loops[l].iv, end);
        if (after->loops & expr_loop_bit(l) || !w->pool->work_left) return NULL; /* something else of it */
        e = after;
    }
    return e;
}

/* What comes back to the head, with all put in that is known; NULL: several, or something that does not only
 * go by the loop's own iterations. */
const struct expr *loops_comes_back(struct walker *w, const struct phi *phi, const uint64_t *within,
                                    struct map *memo)
{
    const struct expr *back = NULL;
    for (uint32_t k = 0; k < phi->n_back; k++) {
        const struct expr *here = expr_replace(w->pool, phi->back[k], loops_known, NULL, memo);
        if (back && here != back) return NULL;
        back = here;
    }
    return after_loops(w, back, phi->loop, within, memo);
}

/* A value that is computed anew from others that count: in each iteration what the one before has made of
 * them, in the first what it started with. */
static const struct expr *computed_anew(struct walker *w, const struct phi *phi, const uint64_t *within,
                                        struct map *memo)
{
    enum { CHANGES = DEP_PHI | DEP_DATA | DEP_OTHER | DEP_MERGE };
    struct expr_pool *p = w->pool;
    const struct atom *iv = w->s->loops[phi->loop].iv;
    const struct expr *back = loops_comes_back(w, phi, within, memo), *zero = expr_const(p, 0);
    const struct expr *start = expr_replace(p, phi->start, loops_known, NULL, memo);
    if (!back || back->deps & CHANGES || start->deps & DEP_PHI || start->loops & iv->loops) return NULL;
    const struct expr *before = expr_put(p, back, iv, expr_sub(p, expr_of(p, iv), expr_const(p, 1)));
    const struct expr *other = expr_sub(p, start, expr_put(p, before, iv, zero));
    const struct expr *at_first[2] = {expr_of(p, iv), zero};
    if (other->n) { /* it goes on from elsewhere than it starts */
        const struct expr *v[3] = {expr_op(p, EXPR_SETP, PTX_T_U32, PTX_CMP_EQ, at_first, 2), other, zero};
        before = expr_add(p, before, expr_op(p, EXPR_SELECT, PTX_T_S64, 0, v, 3));
    }
    return p->work_left ? before : NULL;
}

/* ---- steps that grow ---- */

/* The step itself goes up by the same in every iteration: start + first * m + more * m * (m - 1) / 2. */
static const struct expr *growing_step(struct walker *w, const struct phi *phi, const struct expr *step,
                                       const uint64_t *within, struct map *memo)
{
    struct expr_pool *p = w->pool;
    const struct atom *iv = w->s->loops[phi->loop].iv;
    const struct expr *first, *more, *m = expr_of(p, iv), *one = expr_const(p, 1);
    if (step->deps & DEP_PHI || !expr_split(p, step, iv, &first, &more)) return NULL;
    if ((first->loops | more->loops) & within[phi->loop]) return NULL;
    const struct expr *twice = expr_add(p, expr_mul(p, more, expr_mul(p, m, expr_sub(p, m, one))),
                                        expr_scale(p, expr_mul(p, first, m), 2));
    const struct expr *sum = expr_replace(p, phi->start, loops_known, NULL, memo);
    /* a multiple of the width of an element: the number of elements is halved */
    uint64_t all = 2;
    for (uint32_t k = 0; k < twice->n; k++) all |= (uint64_t)twice->terms[k].coef;
    const int64_t unit = (int64_t)(all & -all);
    const struct expr *units = expr_const(p, 0);
    for (uint32_t k = 0; k < twice->n; k++) {
        const struct term part = {twice->terms[k].coef / unit, twice->terms[k].mono};
        units = expr_add(p, units, expr_term(p, &part));
    }
    const struct expr *half[2] = {units, one};
    sum = expr_add(p, sum,
                   unit > 1 ? expr_scale(p, units, unit / 2) : expr_op(p, EXPR_SHR, PTX_T_S64, 0, half, 2));
    return p->work_left ? sum : NULL;
}

/* Halved or doubled (or by another power of two) in every iteration: start >> k*m, start << k*m. */
static const struct expr *shifted_again(struct walker *w, const struct phi *phi, const uint64_t *within,
                                        struct map *memo)
{
    struct expr_pool *p = w->pool;
    const struct ptx_func *f = w->s->activations[phi->activation].func;
    const struct expr *back = loops_comes_back(w, phi, within, memo);
    const struct expr *start = expr_replace(p, phi->start, loops_known, NULL, memo);
    const bool wide = phi->var < f->n_regs && ptx_type_bits(f->regs[phi->var].type) == 64;
    enum ptx_type type = wide ? PTX_T_U64 : PTX_T_U32;
    enum expr_op op = EXPR_SHL;
    int64_t by;
    if (!back || back->n != 1 || back->terms[0].mono->n != 1 || start->deps & DEP_PHI) return NULL;
    const struct atom *a = back->terms[0].mono->atoms[0];
    const int64_t coef = back->terms[0].coef;
    if (a == phi->atom && coef > 1 && !(coef & (coef - 1)) && coef < INT32_MAX) {
        by = __builtin_ctzll((uint64_t)coef);
    } else if (coef == 1 && a->kind == ATOM_OP && a->op == EXPR_SHR &&
               expr_is_atom(a->args[0]) == phi->atom && expr_is_const(a->args[1], &by) && by > 0 && by < 64) {
        op = EXPR_SHR;
        type = (enum ptx_type)a->type;
    } else {
        return NULL;
    }
    const struct expr *v[2] = {start, expr_scale(p, expr_of(p, w->s->loops[phi->loop].iv), by)};
    const struct expr *value = expr_op(p, op, type, 0, v, 2);
    return p->work_left ? value : NULL;
}

/* ---- every other iteration ---- */

/* Iterations of the loop count in it only as odd or even. */
static bool only_parity(const struct expr *e, const struct atom *iv)
{
    int64_t k;
    for (uint32_t t = 0; t < e->n; t++)
        for (uint32_t j = 0; j < e->terms[t].mono->n; j++) {
            const struct atom *a = e->terms[t].mono->atoms[j];
            if (!(a->loops & iv->loops)) continue;
            if (a->kind != ATOM_OP) return false;
            if (a->op == EXPR_AND && expr_is_const(a->args[1], &k) && k == 1 &&
                !((a->args[0]->loops & ~iv->loops) | a->args[0]->deps))
                continue;
            for (uint32_t n = 0; n < a->n_args; n++)
                if (!only_parity(a->args[n], iv)) return false;
        }
    return true;
}

/* What a step that goes by odd and even is in each; false: it is something else. */
static bool two_steps(struct walker *w, const struct expr *step, const struct atom *iv,
                      const struct expr *steps[2])
{
    if (step->deps & DEP_PHI || !only_parity(step, iv)) return false;
    steps[0] = steps[1] = expr_const(w->pool, 0);
    for (uint32_t k = 0; k < step->n; k++) {
        const struct term *t = &step->terms[k];
        const struct atom *a = t->mono->n == 1 ? t->mono->atoms[0] : NULL;
        const struct expr *whole = expr_term(w->pool, t);
        const bool varies = t->mono->loops & iv->loops;
        if (varies && !a) return false;
        const bool chooses =
            varies && a->op == EXPR_SELECT && !((a->args[1]->loops | a->args[2]->loops) & iv->loops);
        for (int64_t m = 0; m < 2; m++) {
            struct with_iterations numbers = {.iv = iv, .iterations = m};
            const struct expr *part = whole;
            int64_t v;
            if (varies &&
                !expr_eval(chooses ? a->args[0] : expr_of(w->pool, a), loops_iteration_value, &numbers, &v))
                return false;
            if (chooses) part = expr_scale(w->pool, a->args[v & 1 ? 1 : 2], t->coef);
            if (varies && !chooses) part = expr_const(w->pool, (int64_t)((uint64_t)t->coef * (uint64_t)v));
            steps[m] = expr_add(w->pool, steps[m], part);
        }
    }
    return true;
}

/* One step in even iterations and another in odd ones: start + even * (m + 1)/2 + odd * m/2. */
static const struct expr *two_step_form(struct walker *w, const struct phi *phi, const struct expr *step,
                                        const uint64_t *within, struct map *memo)
{
    struct expr_pool *p = w->pool;
    const struct atom *iv = w->s->loops[phi->loop].iv;
    const struct expr *steps[2], *one = expr_const(p, 1);
    if (!two_steps(w, step, iv, steps) || (steps[0]->loops | steps[1]->loops) & within[phi->loop])
        return NULL;
    const struct expr *sum = expr_replace(p, phi->start, loops_known, NULL, memo);
    const struct expr *before[2] = {expr_add(p, expr_of(p, iv), one), expr_of(p, iv)};
    for (uint32_t k = 0; k < 2; k++) {
        const struct expr *halves[2] = {before[k], one};
        sum = expr_add(p, sum, expr_mul(p, steps[k], expr_op(p, EXPR_SHR, PTX_T_U32, 0, halves, 2)));
    }
    return p->work_left ? sum : NULL;
}

/* Two values that change places: each is its own start in even iterations, the other's in odd ones. */
static const struct expr *swapped(struct walker *w, const struct phi *phi, struct map *memo)
{
    struct expr_pool *p = w->pool;
    const struct atom *to = phi->n_back == 1 ? expr_is_atom(phi->back[0]) : NULL;
    if (!to || to->kind != ATOM_PHI || to == phi->atom) return NULL;
    const struct phi *other = &w->phis[to->id];
    if (other->lost || other->loop != phi->loop || other->block != phi->block || other->n_back != 1 ||
        other->activation != phi->activation || expr_is_atom(other->back[0]) != phi->atom)
        return NULL;
    const struct expr *bit[2] = {expr_of(p, w->s->loops[phi->loop].iv), expr_const(p, 1)};
    const struct expr *odd[2] = {expr_op(p, EXPR_AND, PTX_T_U32, 0, bit, 2), expr_const(p, 0)};
    const struct expr *v[3] = {expr_op(p, EXPR_SETP, PTX_T_U32, PTX_CMP_NE, odd, 2),
                               expr_replace(p, other->start, loops_known, NULL, memo),
                               expr_replace(p, phi->start, loops_known, NULL, memo)};
    if ((v[1]->deps | v[2]->deps) & DEP_PHI) return NULL;
    const struct expr *value = expr_op(p, EXPR_SELECT, PTX_T_S64, 0, v, 3);
    return p->work_left ? value : NULL;
}

/* ---- closed forms ---- */

/* start + step * iterations when every way back adds the same step that does not change in the loop. */
const struct expr *loops_closed_form(struct walker *w, const struct phi *phi, const uint64_t *within,
                                     struct map *memo)
{
    const struct expr *self = expr_of(w->pool, phi->atom), *step = NULL;
    if (phi->lost || !phi->n_back) return NULL;
    for (uint32_t k = 0; k < phi->n_back; k++) {
        const struct expr *back = expr_replace(w->pool, phi->back[k], loops_known, NULL, memo);
        const struct expr *here = expr_sub(w->pool, back, self);
        if (step && here != step) return NULL;
        step = here;
    }
    const struct expr *ended = after_loops(w, step, phi->loop, within, memo);
    if (ended) step = ended;
    int64_t fixed;
    if (!expr_is_const(step, &fixed)) {
        if (step->deps & DEP_PHI || step->loops & within[phi->loop]) {
            const struct expr *form = computed_anew(w, phi, within, memo);
            if (!form) form = growing_step(w, phi, step, within, memo);
            if (!form) form = shifted_again(w, phi, within, memo);
            if (!form) form = two_step_form(w, phi, step, within, memo);
            return form ? form : swapped(w, phi, memo);
        }
    }
    const struct expr *start = expr_replace(w->pool, phi->start, loops_known, NULL, memo);
    return expr_add(w->pool, start, expr_mul(w->pool, step, expr_of(w->pool, w->s->loops[phi->loop].iv)));
}
