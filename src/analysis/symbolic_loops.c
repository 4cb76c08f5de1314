/* symbolic_loops: what the values at the heads of loops mean, and how often loops run. */
#include <string.h>

#include "analysis/symbolic_private.h"

/* Rounds of putting in what is known: each takes one more level of values that depend on values. */
enum { ROUNDS_MAX = 4, DEPENDENCE_ROUNDS_MAX = 6 };

static const struct expr *known_phi(void *arg, const struct atom *a)
{
    (void)arg;
    return a->closed;
}

/* By loop: itself and the loops inside it, as bits. */
static uint64_t *loops_within(const struct walker *w)
{
    const struct symbolic *s = w->s;
    uint64_t *bits = ARENA_ARRAY(w->arena, uint64_t, s->n_loops + 1);
    for (uint32_t k = 0; k < s->n_loops; k++)
        for (uint32_t l = k; l != SYMBOLIC_NO_LOOP; l = s->loops[l].parent) bits[l] |= expr_loop_bit(k);
    return bits;
}

/* ---- loops that have ended ---- */

/* The comparison that a predicate is, or the opposite of (*stay_if changes); NULL: something else. */
static const struct atom *comparison(const struct expr *condition, bool *stay_if)
{
    const struct atom *test = expr_is_atom(condition);
    if (test && test->kind == ATOM_OP && test->op == EXPR_NOT) {
        test = expr_is_atom(test->args[0]);
        *stay_if = !*stay_if;
    }
    return test && test->kind == ATOM_OP && test->op == EXPR_SETP ? test : NULL;
}

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
    const struct atom *test = comparison(expr_replace(p, e->condition, known_phi, NULL, memo), &stay_if);
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
static const struct expr *comes_back(struct walker *w, const struct phi *phi, const uint64_t *within,
                                     struct map *memo)
{
    const struct expr *back = NULL;
    for (uint32_t k = 0; k < phi->n_back; k++) {
        const struct expr *here = expr_replace(w->pool, phi->back[k], known_phi, NULL, memo);
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
    const struct expr *back = comes_back(w, phi, within, memo), *zero = expr_const(p, 0);
    const struct expr *start = expr_replace(p, phi->start, known_phi, NULL, memo);
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
    const struct expr *sum = expr_replace(p, phi->start, known_phi, NULL, memo);
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
    const struct expr *back = comes_back(w, phi, within, memo);
    const struct expr *start = expr_replace(p, phi->start, known_phi, NULL, memo);
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

static bool iteration_value(void *arg, const struct atom *a, int64_t *v);

struct with_iterations {
    expr_value_fn *value;
    void *arg;
    const struct atom *iv;
    int64_t iterations;
};

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
                !expr_eval(chooses ? a->args[0] : expr_of(w->pool, a), iteration_value, &numbers, &v))
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
    const struct expr *sum = expr_replace(p, phi->start, known_phi, NULL, memo);
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
                               expr_replace(p, other->start, known_phi, NULL, memo),
                               expr_replace(p, phi->start, known_phi, NULL, memo)};
    if ((v[1]->deps | v[2]->deps) & DEP_PHI) return NULL;
    const struct expr *value = expr_op(p, EXPR_SELECT, PTX_T_S64, 0, v, 3);
    return p->work_left ? value : NULL;
}

/* ---- closed forms ---- */

/* start + step * iterations when every way back adds the same step that does not change in the loop. */
static const struct expr *closed_form(struct walker *w, const struct phi *phi, const uint64_t *within,
                                      struct map *memo)
{
    const struct expr *self = expr_of(w->pool, phi->atom), *step = NULL;
    if (phi->lost || !phi->n_back) return NULL;
    for (uint32_t k = 0; k < phi->n_back; k++) {
        const struct expr *back = expr_replace(w->pool, phi->back[k], known_phi, NULL, memo);
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
    const struct expr *start = expr_replace(w->pool, phi->start, known_phi, NULL, memo);
    return expr_add(w->pool, start, expr_mul(w->pool, step, expr_of(w->pool, w->s->loops[phi->loop].iv)));
}

/* Is it `self` plus something, whichever way is chosen? Then it points to the same structure. */
static bool goes_on_from(struct expr_pool *p, const struct expr *e, const struct atom *self, uint32_t depth)
{
    enum { DEPTH_MOST = 6 };
    const struct atom *choice = NULL;
    for (uint32_t k = 0; k < e->n; k++) {
        const struct mono *m = e->terms[k].mono;
        if (m->n != 1 || e->terms[k].coef != 1) continue;
        if (m->atoms[0] == self) return true;
        const bool selects = m->atoms[0]->kind == ATOM_OP && m->atoms[0]->op == EXPR_SELECT;
        if (selects || m->atoms[0]->kind == ATOM_MERGE) choice = m->atoms[0];
    }
    if (!choice || depth == DEPTH_MOST) return false;
    const bool selects = choice->kind == ATOM_OP;
    const struct expr *rest = expr_sub(p, e, expr_of(p, choice));
    for (uint32_t k = selects ? 1 : 0; k < (selects ? 3 : choice->element); k++)
        if (!choice->args[k] || !goes_on_from(p, expr_add(p, rest, choice->args[k]), self, depth + 1))
            return false;
    return true;
}

/* Values at heads without a closed form that come from each other, and the one pointer that all start from.
 */
struct kin {
    const struct walker *w;
    const struct atom *members[16];
    uint32_t n;
    const struct atom *base;
};
enum { KIN_MOST = sizeof((struct kin *)0)->members / sizeof(struct atom *) };

static bool is_pointer_atom(const struct atom *a)
{
    return a->kind == ATOM_BASE || (a->kind == ATOM_PARAM && a->size_bytes == 8);
}

/* Each way that the value may come: from a member (perhaps a new one), or from the one pointer. */
static bool is_of_kin(struct kin *k, const struct expr *e, uint32_t depth)
{
    enum { DEPTH_MOST = 6 };
    const struct atom *choice = NULL, *base = NULL, *member = NULL;
    for (uint32_t t = 0; t < e->n; t++) {
        const struct mono *m = e->terms[t].mono;
        if (m->n != 1 || e->terms[t].coef != 1) continue;
        const struct atom *a = m->atoms[0];
        if ((a->kind == ATOM_OP && a->op == EXPR_SELECT) || a->kind == ATOM_MERGE) choice = a;
        if ((is_pointer_atom(a) && base) || (a->kind == ATOM_PHI && member)) return false;
        if (is_pointer_atom(a)) base = a;
        if (a->kind == ATOM_PHI) member = a;
    }
    if (base && member) return false;
    if (base) {
        if (k->base && k->base != base) return false;
        k->base = base;
        return true;
    }
    if (member) {
        for (uint32_t n = 0; n < k->n; n++)
            if (k->members[n] == member) return true;
        if (k->n == KIN_MOST) return false;
        k->members[k->n++] = member;
        return true;
    }
    if (!choice || depth == DEPTH_MOST) return false;
    const bool selects = choice->kind == ATOM_OP;
    const struct expr *rest = expr_sub(k->w->pool, e, expr_of(k->w->pool, choice));
    for (uint32_t n = selects ? 1 : 0; n < (selects ? 3 : choice->element); n++)
        if (!choice->args[n] || !is_of_kin(k, expr_add(k->w->pool, rest, choice->args[n]), depth + 1))
            return false;
    return true;
}

/* The pointer that a value goes on from, whatever happens on the way; NULL: not known. */
static const struct atom *pointer_of(struct walker *w, const struct phi *phi, struct map *memo)
{
    struct kin k = {.w = w, .members = {phi->atom}, .n = 1};
    for (uint32_t n = 0; n < k.n; n++) {
        const struct phi *one = &w->phis[k.members[n]->id];
        if (one->lost || !one->start || !one->needed) return NULL;
        if (!is_of_kin(&k, expr_replace(w->pool, one->start, known_phi, NULL, memo), 0)) return NULL;
        for (uint32_t b = 0; b < one->n_back; b++)
            if (!one->back[b] ||
                !is_of_kin(&k, expr_replace(w->pool, one->back[b], known_phi, NULL, memo), 0))
                return NULL;
    }
    return k.base;
}

/* Something that changes in the loop in a way that has no closed form: where it starts, and then anything. */
static const struct expr *changing(struct walker *w, const struct phi *phi, const struct atom *pointer,
                                   uint32_t round, struct map *memo, uint32_t *all_deps)
{
    uint32_t deps = DEP_OTHER | *all_deps;
    bool goes_on = phi->start && !phi->lost; /* from its own value, not to something else */
    for (uint32_t k = 0; k < phi->n_back; k++) {
        if (!phi->back[k]) continue;
        const struct expr *back = expr_replace(w->pool, phi->back[k], known_phi, NULL, memo);
        deps |= back->deps & ~(uint32_t)DEP_PHI;
        goes_on &= goes_on_from(w->pool, back, phi->atom, 0);
    }
    if (!goes_on && phi->start)
        deps |= expr_replace(w->pool, phi->start, known_phi, NULL, memo)->deps & ~(uint32_t)DEP_PHI;
    if (!phi->start || phi->lost || round == DEPENDENCE_ROUNDS_MAX) deps |= DEP_DATA;
    deps &= ~(uint32_t)(DEP_LOCAL | DEP_SHARED | DEP_GLOBAL); /* where it starts says what it points to */
    struct symbolic_recurrence *r = &w->s->recurrences[phi->atom->id];
    if (!r->back) deps |= DEP_DATA; /* as good as data */
    r->offset = goes_on ? phi->start : pointer ? expr_of(w->pool, pointer) : NULL;
    *all_deps = deps;
    const struct atom like = {.kind = ATOM_OTHER,
                              .id = phi->atom->id,
                              .element = 600 + round,
                              .deps = deps,
                              .recurrence = r->back ? phi->atom->id + 1 : 0,
                              .loops = phi->atom->loops};
    const struct expr *rest = expr_of(w->pool, expr_intern_atom(w->pool, &like));
    if (goes_on) return expr_add(w->pool, phi->start, rest);
    return pointer ? expr_add(w->pool, expr_of(w->pool, pointer), rest) : rest;
}

static void free_memo(void *memo) { map_free(memo); }

/* Values without a closed form depend on each other: what each depends on, until nothing is added. */
static void understand_changing(struct walker *w, const uint64_t *within, struct map *memo)
{
    uint32_t *deps = ARENA_ARRAY(w->arena, uint32_t, w->n_phis + 1);
    bool *open = ARENA_ARRAY(w->arena, bool, w->n_phis + 1), grows = true;
    const struct atom **pointers = ARENA_ARRAY(w->arena, const struct atom *, w->n_phis + 1);
    for (uint32_t k = 0; k < w->n_phis; k++) open[k] = w->phis[k].needed && !w->phis[k].atom->closed;
    map_clear(memo);
    const struct expr **starts = ARENA_ARRAY(w->arena, const struct expr *, w->n_phis + 1);
    const struct expr **backs = ARENA_ARRAY(w->arena, const struct expr *, w->n_phis + 1);
    for (uint32_t k = 0; k < w->n_phis; k++) { /* before any of them is closed */
        const struct phi *phi = &w->phis[k];
        if (!open[k]) continue;
        pointers[k] = pointer_of(w, phi, memo);
        if (phi->lost || !phi->start || !phi->n_back || phi->loop == SYMBOLIC_NO_LOOP) continue;
        starts[k] = expr_replace(w->pool, phi->start, known_phi, NULL, memo);
        backs[k] = comes_back(w, phi, within, memo);
    }
    recur_find(w, open, starts, backs);
    for (uint32_t round = 0; round <= DEPENDENCE_ROUNDS_MAX && grows; round++) {
        grows = false;
        map_clear(memo);
        for (uint32_t k = 0; k < w->n_phis; k++) {
            const uint32_t before = deps[k];
            if (!open[k]) continue;
            w->phis[k].atom->closed = changing(w, &w->phis[k], pointers[k], round, memo, &deps[k]);
            grows |= deps[k] != before;
        }
    }
}

/* ---- loops of a few iterations, followed to their end ---- */

struct following {
    struct walker *w;
    uint32_t loop;
    const struct expr **now; /* by phi; NULL: not of this loop */
};

static const struct expr *value_now(void *arg, const struct atom *a)
{
    const struct following *f = arg;
    return f->now[a->id];
}

/* May the way back be gone several times on paper? All in it is of the loop's own head or does not change. */
static bool can_follow(const struct phi *phi, uint64_t inside)
{
    enum { DIFFERS = DEP_DATA | DEP_OTHER | DEP_MERGE | DEP_LANE };
    if (!phi->start || phi->lost || !phi->n_back) return false;
    for (uint32_t k = 0; k < phi->n_back; k++)
        if (phi->back[k] != phi->back[0]) return false;
    return !(phi->back[0]->deps & DIFFERS) && !(phi->back[0]->loops & inside);
}

/* Values at the head of one loop, one iteration after the other. */
static void follow_loop(struct walker *w, uint32_t loop, uint64_t times, uint64_t inside)
{
    struct following f = {
        .w = w, .loop = loop, .now = ARENA_ARRAY(w->arena, const struct expr *, w->n_phis + 1)};
    const struct expr **next = ARENA_ARRAY(w->arena, const struct expr *, w->n_phis + 1);
    struct map memo;
    struct diag_cleanup cleanup;
    bool whole = true;
    map_init(&memo);
    diag_defer(&cleanup, free_memo, &memo);
    for (uint32_t k = 0; k < w->n_phis; k++)
        if (w->phis[k].needed && w->phis[k].loop == loop) {
            whole &= can_follow(&w->phis[k], inside);
            f.now[k] = w->phis[k].start;
        }
    for (uint64_t m = 0; m < times && whole && w->pool->work_left; m++) {
        map_clear(&memo);
        for (uint32_t k = 0; k < w->n_phis; k++)
            if (f.now[k]) next[k] = expr_replace(w->pool, w->phis[k].back[0], value_now, &f, &memo);
        for (uint32_t k = 0; k < w->n_phis; k++)
            if (f.now[k]) f.now[k] = next[k];
    }
    for (uint32_t k = 0; k < w->n_phis && whole && w->pool->work_left; k++) w->phis[k].final = f.now[k];
    diag_done(&cleanup, true);
}

/* Loops that end after a few iterations, whatever the launch, with values that have no closed form. */
static bool follow_loops(struct walker *w, const uint64_t *within, struct map *memo)
{
    enum { TIMES_MOST = 32, LOOPS_MOST = 16 };
    uint32_t followed = 0;
    for (uint32_t k = 0; k < w->n_phis && followed < LOOPS_MOST; k++) {
        const struct phi *phi = &w->phis[k];
        if (!phi->needed || phi->atom->closed || phi->final || phi->loop == SYMBOLIC_NO_LOOP) continue;
        struct symbolic_loop *l = &w->s->loops[phi->loop];
        uint64_t last;
        if (!l->exits || l->exits->next || !can_follow(phi, within[phi->loop] & ~expr_loop_bit(phi->loop)))
            continue;
        struct symbolic_exit e = *l->exits;
        struct symbolic_loop alone = *l;
        e.condition = expr_replace(w->pool, e.condition, known_phi, NULL, memo);
        alone.exits = &e;
        if (!symbolic_last(&alone, NULL, NULL, &last) || last > TIMES_MOST) continue;
        follow_loop(w, phi->loop, last, within[phi->loop] & ~expr_loop_bit(phi->loop));
        followed++;
    }
    return followed > 0;
}

/* Values of loops that have ended before the access. */
struct ended {
    const struct walker *w;
    uint32_t loop; /* around the access */
};

static const struct expr *final_value(void *arg, const struct atom *a)
{
    const struct ended *e = arg;
    const struct phi *phi = &e->w->phis[a->id];
    return phi->final && !symbolic_loop_contains(e->w->s, phi->loop, e->loop) ? phi->final : NULL;
}

static void put_finals(struct walker *w)
{
    struct map memo;
    struct diag_cleanup cleanup;
    map_init(&memo);
    diag_defer(&cleanup, free_memo, &memo);
    for (uint32_t k = 0; k < w->s->n_accesses; k++) {
        struct symbolic_access *a = &w->s->accesses[k];
        struct ended e = {.w = w, .loop = a->loop};
        if (!(a->address->deps & DEP_PHI)) continue;
        map_clear(&memo);
        a->address = expr_replace(w->pool, a->address, final_value, &e, &memo);
    }
    diag_done(&cleanup, true);
}

/* ---- everywhere ---- */

/* An address with all values at heads put in; beyond the limits one may be left: then nothing is known. */
static const struct expr *understood(struct walker *w, const struct expr *address, uint32_t which,
                                     struct map *memo)
{
    const struct expr *e = expr_replace(w->pool, address, known_phi, NULL, memo);
    if (!(e->deps & DEP_PHI)) return e;
    const struct atom like = {.kind = ATOM_OTHER,
                              .id = which,
                              .element = 700,
                              .deps = (e->deps & ~(uint32_t)DEP_PHI) | DEP_OTHER | DEP_DATA,
                              .loops = UINT64_MAX};
    return expr_of(w->pool, expr_intern_atom(w->pool, &like));
}

/* The condition that ends a loop, understood; and how far its two sides are apart, when that goes by a line.
 */
static void note_condition(struct walker *w, const struct symbolic_loop *l, struct symbolic_exit *e,
                           const struct expr *condition)
{
    bool stay_if = e->stay_if;
    e->condition = condition;
    const struct atom *test = comparison(condition, &stay_if);
    const struct expr *apart = test ? expr_sub(w->pool, test->args[0], test->args[1]) : NULL;
    e->distance = apart && expr_is_linear(apart, l->iv) && w->pool->work_left ? apart : NULL;
}

static void understand_phis(struct walker *w)
{
    struct map memo;
    struct diag_cleanup cleanup;
    const uint64_t *within = loops_within(w);
    bool found = true;
    map_init(&memo);
    diag_defer(&cleanup, free_memo, &memo);
    for (uint32_t round = 0; round < ROUNDS_MAX && found; round++) {
        found = false;
        map_clear(&memo);
        for (uint32_t k = 0; k < w->n_phis; k++) {
            struct phi *phi = &w->phis[k];
            if (!phi->needed || phi->atom->closed) continue;
            phi->atom->closed = closed_form(w, phi, within, &memo);
            if (phi->atom->closed) found = true;
        }
    }
    map_clear(&memo);
    if (follow_loops(w, within, &memo)) put_finals(w);
    understand_changing(w, within, &memo);
    /* everywhere it was used */
    map_clear(&memo);
    struct symbolic *s = w->s;
    for (uint32_t k = 0; k < s->n_accesses; k++)
        s->accesses[k].address = understood(w, s->accesses[k].address, k, &memo);
    for (uint32_t k = 0; k < w->n_stores; k++)
        w->stores[k].at.address = expr_replace(w->pool, w->stores[k].at.address, known_phi, NULL, &memo);
    for (uint32_t k = 0; k < w->n_published; k++)
        w->published[k] = expr_replace(w->pool, w->published[k], known_phi, NULL, &memo);
    for (uint32_t l = 0; l < s->n_loops; l++)
        for (struct symbolic_exit *e = s->loops[l].exits; e; e = e->next)
            note_condition(w, &s->loops[l], e, expr_replace(w->pool, e->condition, known_phi, NULL, &memo));
    diag_done(&cleanup, true);
}

/* ---- how often ---- */

/* First m >= 0 for which `first + step * m  cmp  0` is not `stay`; 0 < result; UINT64_MAX: never or not
 * known. */
static uint64_t first_failing(int64_t first, int64_t step, enum ptx_cmp cmp, bool stay)
{
    static const enum ptx_cmp opposite[] = {
        [PTX_CMP_EQ] = PTX_CMP_NE, [PTX_CMP_NE] = PTX_CMP_EQ, [PTX_CMP_LT] = PTX_CMP_GE,
        [PTX_CMP_LE] = PTX_CMP_GT, [PTX_CMP_GT] = PTX_CMP_LE, [PTX_CMP_GE] = PTX_CMP_LT,
        [PTX_CMP_LO] = PTX_CMP_HS, [PTX_CMP_LS] = PTX_CMP_HI, [PTX_CMP_HI] = PTX_CMP_LS,
        [PTX_CMP_HS] = PTX_CMP_LO};
    if (cmp > PTX_CMP_HS || cmp == PTX_CMP_NONE || first == INT64_MIN || step == INT64_MIN) return UINT64_MAX;
    if (!stay) cmp = opposite[cmp];
    if (cmp == PTX_CMP_GT || cmp == PTX_CMP_GE || cmp == PTX_CMP_HI || cmp == PTX_CMP_HS) { /* mirror */
        first = -first;
        step = -step;
    }
    switch (cmp) {
    case PTX_CMP_LT:
    case PTX_CMP_LO:
    case PTX_CMP_GT:
    case PTX_CMP_HI:
        if (first >= 0) return 0;
        return step > 0 ? ((uint64_t)-first + (uint64_t)step - 1) / (uint64_t)step : UINT64_MAX;
    case PTX_CMP_LE:
    case PTX_CMP_LS:
    case PTX_CMP_GE:
    case PTX_CMP_HS:
        if (first > 0) return 0;
        return step > 0 ? (uint64_t)-first / (uint64_t)step + 1 : UINT64_MAX;
    case PTX_CMP_NE:
        if (!first) return 0;
        if (!step || -first % step || -first / step < 0) return UINT64_MAX;
        return (uint64_t)(-first / step);
    default: return first || step ? first != 0 ? 0 : 1 : UINT64_MAX;
    }
}

static bool iteration_value(void *arg, const struct atom *a, int64_t *v)
{
    const struct with_iterations *w = arg;
    if (a == w->iv) {
        *v = w->iterations;
        return true;
    }
    return w->value && w->value(w->arg, a, v);
}

/* The same of a condition that does not go by a line: iteration by iteration. */
static uint64_t first_end(const struct symbolic_loop *l, const struct symbolic_exit *e, expr_value_fn *value,
                          void *arg)
{
    enum { LOOKED_AT = 64 };
    int64_t v;
    for (int64_t m = 0; m < LOOKED_AT; m++) {
        struct with_iterations w = {.value = value, .arg = arg, .iv = l->iv, .iterations = m};
        if (!expr_eval(e->condition, iteration_value, &w, &v)) return UINT64_MAX;
        if ((v & 1) != e->stay_if) return (uint64_t)m;
    }
    return UINT64_MAX;
}

/* Iterations that have ended when the exit is taken; UINT64_MAX: not known. */
static uint64_t exit_iteration(const struct symbolic_loop *l, const struct symbolic_exit *e,
                               expr_value_fn *value, void *arg)
{
    bool stay_if = e->stay_if;
    const struct atom *test = comparison(e->condition, &stay_if);
    if (!test) return UINT64_MAX;
    int64_t at[2], v[2] = {0, 0}, step;
    if (!e->distance && (!expr_is_linear(test->args[0], l->iv) || !expr_is_linear(test->args[1], l->iv)))
        return first_end(l, e, value, arg);
    for (int64_t m = 0; m < 2; m++) {
        struct with_iterations w = {.value = value, .arg = arg, .iv = l->iv, .iterations = m};
        const bool known = e->distance ? expr_eval(e->distance, iteration_value, &w, &v[0])
                                       : expr_eval(test->args[0], iteration_value, &w, &v[0]) &&
                                             expr_eval(test->args[1], iteration_value, &w, &v[1]);
        if (!known || __builtin_sub_overflow(v[0], v[1], &at[m])) return UINT64_MAX;
    }
    if (__builtin_sub_overflow(at[1], at[0], &step)) return UINT64_MAX;
    const uint64_t n = first_failing(at[0], step, (enum ptx_cmp)test->detail, stay_if);
    return n >= UINT64_MAX / 2 ? UINT64_MAX : n;
}

static uint64_t exit_trips(const struct symbolic_loop *l, const struct symbolic_exit *e, expr_value_fn *value,
                           void *arg)
{
    const uint64_t n = exit_iteration(l, e, value, arg);
    return n == UINT64_MAX ? 0 : e->at_head ? n : n + 1;
}

static bool dominates(const struct ptx_cfg *cfg, uint32_t above, uint32_t block)
{
    while (block != above && block != PTX_NO_BLOCK) block = cfg->blocks[block].idom;
    return block == above;
}

uint64_t symbolic_trips_at(const struct symbolic_loop *l, const struct symbolic_access *at,
                           expr_value_fn *value, void *arg)
{
    uint64_t least = 0;
    for (const struct symbolic_exit *e = l->exits; e; e = e->next) {
        const bool after = at->activation == l->activation
                               ? at->block != e->block && dominates(l->cfg, e->block, at->block)
                               : e->at_head;
        uint64_t n = exit_iteration(l, e, value, arg);
        if (n == UINT64_MAX) continue;
        n += !after;
        if (n && (!least || n < least)) least = n;
    }
    return least;
}

uint64_t symbolic_trips(const struct symbolic_loop *l, expr_value_fn *value, void *arg)
{
    uint64_t least = 0;
    for (const struct symbolic_exit *e = l->exits; e; e = e->next) {
        const uint64_t n = exit_trips(l, e, value, arg);
        if (n && (!least || n < least)) least = n;
    }
    return least;
}

bool symbolic_last(const struct symbolic_loop *l, expr_value_fn *value, void *arg, uint64_t *last)
{
    uint64_t least = UINT64_MAX;
    for (const struct symbolic_exit *e = l->exits; e; e = e->next) {
        const uint64_t n = exit_iteration(l, e, value, arg);
        if (n < least) least = n;
    }
    *last = least;
    return least != UINT64_MAX;
}

void loops_understand(struct walker *w)
{
    understand_phis(w);
    for (uint32_t l = 0; l < w->s->n_loops; l++)
        w->s->loops[l].trips = symbolic_trips(&w->s->loops[l], NULL, NULL);
}
