/* symbolic_trips: how often loops run. */
#include "analysis/symbolic_private.h"

/* The comparison that a predicate is, or the opposite of (*stay_if changes); NULL: something else. */
const struct atom *loops_comparison(const struct expr *condition, bool *stay_if)
{
    const struct atom *test = expr_is_atom(condition);
    if (test && test->kind == ATOM_OP && test->op == EXPR_NOT) {
        test = expr_is_atom(test->args[0]);
        *stay_if = !*stay_if;
    }
    return test && test->kind == ATOM_OP && test->op == EXPR_SETP ? test : NULL;
}

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

bool loops_iteration_value(void *arg, const struct atom *a, int64_t *v)
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
        if (!expr_eval(e->condition, loops_iteration_value, &w, &v)) return UINT64_MAX;
        if ((v & 1) != e->stay_if) return (uint64_t)m;
    }
    return UINT64_MAX;
}

/* Iterations that have ended when the exit is taken; UINT64_MAX: not known. */
static uint64_t exit_iteration(const struct symbolic_loop *l, const struct symbolic_exit *e,
                               expr_value_fn *value, void *arg)
{
    bool stay_if = e->stay_if;
    const struct atom *test = loops_comparison(e->condition, &stay_if);
    if (!test) return UINT64_MAX;
    int64_t at[2], v[2] = {0, 0}, step;
    if (!e->distance && (!expr_is_linear(test->args[0], l->iv) || !expr_is_linear(test->args[1], l->iv)))
        return first_end(l, e, value, arg);
    for (int64_t m = 0; m < 2; m++) {
        struct with_iterations w = {.value = value, .arg = arg, .iv = l->iv, .iterations = m};
        const bool known = e->distance ? expr_eval(e->distance, loops_iteration_value, &w, &v[0])
                                       : expr_eval(test->args[0], loops_iteration_value, &w, &v[0]) &&
                                             expr_eval(test->args[1], loops_iteration_value, &w, &v[1]);
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
