/* expr_use: replacing, splitting and evaluating expressions. See expr.h. */
#include "analysis/expr.h"
#include "base/map.h"

/* ---- replacing ---- */

struct replacing {
    struct expr_pool *pool;
    expr_replace_fn *replace;
    void *arg;
    struct map *memo;
    uint32_t depth;
    const struct atom *only; /* this atom by `by`, not values at heads */
    const struct expr *by;
};

enum { REPLACE_DEPTH_MAX = 200 };

static const struct expr *replace_expr(struct replacing *r, const struct expr *e);

/* May something be replaced in what depends on this and varies with these loops? */
static bool concerns(const struct replacing *r, uint32_t deps, uint64_t loops)
{
    return r->only ? loops & r->only->loops : deps & DEP_PHI;
}

static const struct expr *replace_atom(struct replacing *r, const struct atom *a)
{
    if (!concerns(r, a->deps, a->loops)) return expr_of(r->pool, a);
    if (a == r->only) return r->by;
    const struct expr *by = a->kind == ATOM_PHI && r->replace ? r->replace(r->arg, a) : NULL;
    if (by) return replace_expr(r, by);
    const struct expr *args[32];
    bool same = true;
    if (a->n_args > 32) return expr_of(r->pool, a);
    for (uint32_t k = 0; k < a->n_args; k++) {
        args[k] = a->args[k] ? replace_expr(r, a->args[k]) : NULL;
        same &= args[k] == a->args[k];
    }
    if (same) return expr_of(r->pool, a);
    if (a->kind == ATOM_OP) return expr_op(r->pool, a->op, a->type, a->detail, args, a->n_args);
    struct atom like = *a;
    like.alone = NULL;
    like.args = args;
    like.deps = a->kind == ATOM_MERGE ? a->own_deps : DEP_DATA | (args[0] ? args[0]->deps & DEP_PHI : 0);
    like.loops = a->kind == ATOM_MERGE ? a->loops : args[0] ? args[0]->loops : 0;
    if (a->kind == ATOM_MERGE) {
        bool equal = true;
        for (uint32_t k = 1; k < a->element && k < a->n_args; k++) equal &= args[k] == args[0];
        if (equal) return args[0];
    }
    return expr_of(r->pool, expr_intern_atom(r->pool, &like));
}

static const struct expr *replace_expr(struct replacing *r, const struct expr *e)
{
    if (!concerns(r, e->deps, e->loops)) return e;
    const uint64_t *found = map_find(r->memo, e->serial);
    if (found) return (const struct expr *)(uintptr_t)*found;
    if (r->depth >= REPLACE_DEPTH_MAX || !r->pool->work_left) return e;
    r->pool->work_left -= r->pool->work_left > e->n ? e->n : r->pool->work_left;
    r->depth++;
    const struct expr *sum = e;
    for (uint32_t k = 0; k < e->n; k++) {
        const struct mono *m = e->terms[k].mono;
        const struct expr *factors[EXPR_DEGREE_MAX] = {0};
        bool changed = false;
        for (uint32_t j = 0; j < m->n && concerns(r, m->deps, m->loops); j++) {
            factors[j] = replace_atom(r, m->atoms[j]);
            changed |= factors[j] != expr_of(r->pool, m->atoms[j]);
        }
        if (!changed) continue;
        const struct expr *product = expr_const(r->pool, e->terms[k].coef);
        for (uint32_t j = 0; j < m->n; j++) product = expr_mul(r->pool, product, factors[j]);
        sum = expr_add(r->pool, expr_sub(r->pool, sum, expr_term(r->pool, &e->terms[k])), product);
    }
    r->depth--;
    *map_put(r->memo, e->serial, NULL) = (uint64_t)(uintptr_t)sum;
    return sum;
}

const struct expr *expr_replace(struct expr_pool *p, const struct expr *e, expr_replace_fn *replace,
                                void *arg, struct map *memo)
{
    struct replacing r = {.pool = p, .replace = replace, .arg = arg, .memo = memo};
    return replace_expr(&r, e);
}

const struct expr *expr_put(struct expr_pool *p, const struct expr *e, const struct atom *a,
                            const struct expr *by)
{
    struct map memo;
    struct replacing r = {.pool = p, .memo = &memo, .only = a, .by = by};
    map_init(&memo);
    const struct expr *value = replace_expr(&r, e);
    map_free(&memo);
    return value;
}

/* ---- splitting ---- */

bool expr_is_linear(const struct expr *e, const struct atom *a)
{
    for (uint32_t k = 0; k < e->n; k++) {
        uint32_t times = 0;
        for (uint32_t j = 0; j < e->terms[k].mono->n; j++) {
            const struct atom *at = e->terms[k].mono->atoms[j];
            if (at == a)
                times++;
            else if (at->loops & a->loops)
                return false;
        }
        if (times > 1) return false;
    }
    return true;
}

bool expr_split(struct expr_pool *p, const struct expr *e, const struct atom *a, const struct expr **without,
                const struct expr **factor)
{
    const struct expr *rest = expr_const(p, 0), *with = rest;
    for (uint32_t k = 0; k < e->n; k++) {
        const struct mono *m = e->terms[k].mono;
        const struct expr *product = expr_const(p, e->terms[k].coef);
        uint32_t times = 0;
        for (uint32_t j = 0; j < m->n; j++) {
            if (m->atoms[j] == a) {
                times++;
                continue;
            }
            if (m->atoms[j]->loops & a->loops) return false;
            product = expr_mul(p, product, expr_of(p, m->atoms[j]));
        }
        if (times > 1) return false;
        if (times)
            with = expr_add(p, with, product);
        else
            rest = expr_add(p, rest, product);
    }
    *without = rest;
    *factor = with;
    return true;
}

/* ---- evaluating ---- */

static int64_t narrow(int64_t v, enum ptx_type type)
{
    const uint32_t bits = ptx_type_bits(type);
    const bool sign = ptx_type_kind(type) == 'S';
    if (bits >= 64 || !bits) return v;
    const uint64_t low = (uint64_t)v & (((uint64_t)1 << bits) - 1);
    return sign && low >> (bits - 1) & 1 ? (int64_t)(low | ~(((uint64_t)1 << bits) - 1)) : (int64_t)low;
}

static bool compare(enum ptx_cmp cmp, bool is_signed, int64_t a, int64_t b)
{
    const bool less = is_signed ? a < b : (uint64_t)a < (uint64_t)b;
    switch (cmp) {
    case PTX_CMP_EQ:
    case PTX_CMP_EQU: return a == b;
    case PTX_CMP_NE:
    case PTX_CMP_NEU: return a != b;
    case PTX_CMP_LT:
    case PTX_CMP_LTU:
    case PTX_CMP_LO: return less;
    case PTX_CMP_LE:
    case PTX_CMP_LEU:
    case PTX_CMP_LS: return less || a == b;
    case PTX_CMP_GT:
    case PTX_CMP_GTU:
    case PTX_CMP_HI: return !less && a != b;
    case PTX_CMP_GE:
    case PTX_CMP_GEU:
    case PTX_CMP_HS: return !less;
    case PTX_CMP_NONE:
    case PTX_CMP_NUM:
    case PTX_CMP_NAN: break;
    }
    return false;
}

static bool divide(enum expr_op op, bool is_signed, int64_t a, int64_t b, int64_t *result)
{
    if (!b || (is_signed && b == -1)) {
        if (!b) return false;
        *result = op == EXPR_DIV ? -a : 0;
        return true;
    }
    if (is_signed)
        *result = op == EXPR_DIV ? a / b : a % b;
    else
        *result =
            op == EXPR_DIV ? (int64_t)((uint64_t)a / (uint64_t)b) : (int64_t)((uint64_t)a % (uint64_t)b);
    return true;
}

static int64_t high_half(bool is_signed, uint32_t bits, int64_t a, int64_t b)
{
    if (bits == 64)
        return is_signed ? (int64_t)((__int128)a * b >> 64)
                         : (int64_t)((unsigned __int128)(uint64_t)a * (uint64_t)b >> 64);
    return is_signed ? a * b >> bits : (int64_t)((uint64_t)a * (uint64_t)b >> bits);
}

bool expr_eval_op(enum expr_op op, enum ptx_type type, uint8_t detail, const int64_t *v, int64_t *result)
{
    const bool is_signed = ptx_type_kind(type) == 'S';
    const uint32_t bits = ptx_type_bits(type);
    const bool wide = op == EXPR_ADD || op == EXPR_MUL || op == EXPR_SELECT;
    const int64_t a = wide ? v[0] : narrow(v[0], type);
    int64_t b = 0;
    if (op != EXPR_NOT && op != EXPR_ABS && op != EXPR_WIDEN)
        b = wide || op == EXPR_SHR || op == EXPR_SHL ? v[1] : narrow(v[1], type);
    const int64_t out = is_signed && a < 0 ? -1 : 0;
    switch (op) {
    case EXPR_ADD: *result = (int64_t)((uint64_t)a + (uint64_t)b); return true;
    case EXPR_MUL: *result = (int64_t)((uint64_t)a * (uint64_t)b); return true;
    case EXPR_MULHI: *result = high_half(is_signed, bits, a, b); return true;
    case EXPR_DIV:
    case EXPR_REM: return divide(op, is_signed, a, b, result);
    case EXPR_SHR:
        *result = b < 0 || b >= (int64_t)bits ? out : is_signed ? a >> b : (int64_t)((uint64_t)a >> b);
        return true;
    case EXPR_SHL:
        *result = b < 0 || b >= (int64_t)bits ? 0 : narrow((int64_t)((uint64_t)a << b), type);
        return true;
    case EXPR_AND: *result = a & b; return true;
    case EXPR_OR: *result = a | b; return true;
    case EXPR_XOR: *result = a ^ b; return true;
    case EXPR_NOT: *result = ptx_type_kind(type) == 'P' ? !(a & 1) : ~a; return true;
    case EXPR_MIN: *result = compare(PTX_CMP_LT, is_signed, a, b) ? a : b; return true;
    case EXPR_MAX: *result = compare(PTX_CMP_LT, is_signed, a, b) ? b : a; return true;
    case EXPR_ABS: *result = a < 0 ? -a : a; return true;
    case EXPR_SELECT: *result = v[0] & 1 ? v[1] : v[2]; return true;
    case EXPR_SETP: *result = compare((enum ptx_cmp)detail, is_signed, a, b); return true;
    case EXPR_WIDEN: *result = a; return true;
    case EXPR_FIELD: {
        const int64_t first = v[1] & 255, count = v[2] & 255;
        if (is_signed || first + count > (int64_t)bits || !count) return false;
        *result = (int64_t)((uint64_t)a >> first & (count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1));
        return true;
    }
    }
    return false;
}

/* A value that is used twice is computed twice: the steps are counted so that a long hash cannot take for
 * ever. */
struct evaluating {
    expr_value_fn *value;
    void *arg;
    uint32_t steps;
};
enum { EVAL_STEPS_MAX = 20000 };

static bool eval(struct evaluating *v, const struct expr *e, int64_t *result);

static bool eval_atom(struct evaluating *s, const struct atom *a, int64_t *result)
{
    if (a->kind != ATOM_OP) return s->value(s->arg, a, result);
    int64_t v[3] = {0};
    if (a->op == EXPR_SELECT) /* the side that is not taken needs no value */
        return eval(s, a->args[0], &v[0]) && eval(s, a->args[v[0] & 1 ? 1 : 2], result);
    for (uint32_t k = 0; k < a->n_args; k++)
        if (!eval(s, a->args[k], &v[k])) return false;
    return expr_eval_op(a->op, a->type, a->detail, v, result);
}

static bool eval(struct evaluating *s, const struct expr *e, int64_t *result)
{
    uint64_t sum = 0;
    if (++s->steps > EVAL_STEPS_MAX) return false;
    for (uint32_t k = 0; k < e->n; k++) {
        uint64_t product = (uint64_t)e->terms[k].coef;
        bool known = true;
        for (uint32_t j = 0; j < e->terms[k].mono->n; j++) {
            int64_t v;
            if (eval_atom(s, e->terms[k].mono->atoms[j], &v))
                product *= (uint64_t)v;
            else
                known = false;
        }
        if (!known && product) return false; /* zero times anything is known */
        sum += product;
    }
    *result = (int64_t)sum;
    return true;
}

bool expr_eval(const struct expr *e, expr_value_fn *value, void *arg, int64_t *result)
{
    struct evaluating s = {.value = value, .arg = arg};
    return eval(&s, e, result);
}
