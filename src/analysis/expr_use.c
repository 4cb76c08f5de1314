/* expr_use: replacing, splitting, evaluating and printing expressions. See expr.h. */
#include <stdio.h>
#include <string.h>

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
    const struct expr *by = a->kind == ATOM_PHI && !r->only ? r->replace(r->arg, a) : NULL;
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

/* ---- printing ---- */

struct printing {
    char *buf;
    size_t bytes, len;
    expr_name_fn *name;
    void *arg;
    uint32_t depth;
};

__attribute__((format(printf, 2, 3))) static void put(struct printing *p, const char *format, ...)
{
    va_list args;
    if (p->len + 1 >= p->bytes) return;
    va_start(args, format);
    const int n = vsnprintf(p->buf + p->len, p->bytes - p->len, format, args);
    va_end(args);
    if (n > 0) p->len = p->len + (size_t)n < p->bytes ? p->len + (size_t)n : p->bytes - 1;
}

static void print_expr(struct printing *p, const struct expr *e);

static const char *op_text(const struct atom *a)
{
    static const char *const texts[] = {
        [EXPR_ADD] = " + ", [EXPR_MUL] = "*",   [EXPR_MULHI] = " mulhi ", [EXPR_DIV] = "/",
        [EXPR_REM] = "%",   [EXPR_SHR] = ">>",  [EXPR_SHL] = "<<",        [EXPR_AND] = " & ",
        [EXPR_OR] = " | ",  [EXPR_XOR] = " ^ ", [EXPR_NOT] = "~",         [EXPR_MIN] = "min",
        [EXPR_MAX] = "max", [EXPR_ABS] = "abs"};
    static const char *const comparisons[] = {
        [PTX_CMP_EQ] = "==", [PTX_CMP_NE] = "!=", [PTX_CMP_LT] = "<", [PTX_CMP_LE] = "<=",
        [PTX_CMP_GT] = ">",  [PTX_CMP_GE] = ">=", [PTX_CMP_LO] = "<", [PTX_CMP_LS] = "<=",
        [PTX_CMP_HI] = ">",  [PTX_CMP_HS] = ">="};
    if (a->op == EXPR_SETP)
        return a->detail < sizeof comparisons / sizeof *comparisons && comparisons[a->detail]
                   ? comparisons[a->detail]
                   : "?";
    return a->op < sizeof texts / sizeof *texts && texts[a->op] ? texts[a->op] : "?";
}

static void print_op(struct printing *p, const struct atom *a)
{
    if (a->op == EXPR_MIN || a->op == EXPR_MAX || a->op == EXPR_ABS || a->op == EXPR_NOT ||
        a->op == EXPR_FIELD) {
        put(p, "%s(", a->op == EXPR_FIELD ? "bits" : op_text(a));
        for (uint32_t k = 0; k < a->n_args; k++) {
            if (k) put(p, ", ");
            print_expr(p, a->args[k]);
        }
        put(p, ")");
    } else if (a->op == EXPR_SELECT) {
        put(p, "(");
        print_expr(p, a->args[0]);
        put(p, " ? ");
        print_expr(p, a->args[1]);
        put(p, " : ");
        print_expr(p, a->args[2]);
        put(p, ")");
    } else if (a->op == EXPR_WIDEN) {
        put(p, "(%s)(", ptx_type_name(a->type));
        print_expr(p, a->args[0]);
        put(p, ")");
    } else {
        put(p, "(");
        print_expr(p, a->args[0]);
        put(p, "%s", op_text(a));
        print_expr(p, a->args[1]);
        put(p, ")");
    }
}

static void print_atom(struct printing *p, const struct atom *a)
{
    char name[80];
    if (a->kind == ATOM_OP && p->depth < 8) {
        p->depth++;
        print_op(p, a);
        p->depth--;
    } else if (a->kind == ATOM_MERGE && p->depth < 8) {
        p->depth++;
        put(p, "{");
        for (uint32_t k = 0; k < a->element && k < 4; k++) {
            if (k) put(p, " or ");
            if (a->args[k]) print_expr(p, a->args[k]);
        }
        put(p, "%s}", a->element > 4 ? " or ..." : "");
        p->depth--;
    } else if (a->kind == ATOM_OP || a->kind == ATOM_MERGE) {
        put(p, "...");
    } else {
        p->name(p->arg, a, name, sizeof name);
        put(p, "%s", name);
    }
}

/* Parameters and dimensions are taken out as common factors: (16*by + ty)*p3. */
static bool is_outer(const struct atom *a)
{
    return a->kind == ATOM_PARAM ||
           (a->kind == ATOM_SREG && (a->deps & (DEP_BDX | DEP_BDY | DEP_BDZ | DEP_GDX | DEP_GDY | DEP_GDZ)));
}

static bool same_outer(const struct mono *a, const struct mono *b)
{
    uint32_t i = 0, j = 0;
    for (;;) {
        while (i < a->n && !is_outer(a->atoms[i])) i++;
        while (j < b->n && !is_outer(b->atoms[j])) j++;
        if (i == a->n || j == b->n) return i == a->n && j == b->n;
        if (a->atoms[i++] != b->atoms[j++]) return false;
    }
}

static uint32_t outer_count(const struct mono *m)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->n; k++) n += is_outer(m->atoms[k]);
    return n;
}

static uint32_t atom_rank(const struct atom *a)
{
    const uint32_t index = DEP_BX | DEP_BY | DEP_BZ | DEP_TX | DEP_TY | DEP_TZ;
    if (a->kind == ATOM_IV) return 0;
    if (a->kind == ATOM_PARAM) return 1000 + a->id;
    if (a->kind == ATOM_SREG) return (a->deps & index ? 1 : 500) + a->id;
    return 600;
}

/* coefficient and the atoms that are asked for; first: no plus sign before it */
static void print_product(struct printing *p, int64_t coef, const struct mono *m, bool outer_too, bool first)
{
    const bool negative = coef < 0;
    const uint64_t size = negative ? 0 - (uint64_t)coef : (uint64_t)coef;
    uint32_t shown = 0;
    put(p, "%s", first ? (negative ? "-" : "") : negative ? " - " : " + ");
    const uint32_t atoms = outer_too ? m->n : m->n - outer_count(m);
    if (size != 1 || !atoms) {
        put(p, "%llu", (unsigned long long)size);
        shown++;
    }
    const struct atom *atoms_sorted[EXPR_DEGREE_MAX];
    for (uint32_t k = 0; k < m->n; k++) {
        uint32_t at = k;
        for (; at && atom_rank(atoms_sorted[at - 1]) > atom_rank(m->atoms[k]); at--)
            atoms_sorted[at] = atoms_sorted[at - 1];
        atoms_sorted[at] = m->atoms[k];
    }
    for (uint32_t k = 0; k < m->n; k++) {
        if (!outer_too && is_outer(atoms_sorted[k])) continue;
        if (shown++) put(p, "*");
        print_atom(p, atoms_sorted[k]);
    }
}

/* Readers expect blocks before threads before the rest, and iterations last. */
static uint32_t rank_of(const struct mono *m)
{
    const uint32_t block = m->deps & (DEP_BX | DEP_BY | DEP_BZ),
                   thread = m->deps & (DEP_TX | DEP_TY | DEP_TZ);
    if (!m->n) return 1000;
    if (m->loops) return 500 + m->n;
    return block ? block : thread ? 100 + thread : 300;
}

static void sort_terms(const struct expr *e, struct term *terms)
{
    for (uint32_t k = 0; k < e->n; k++) {
        uint32_t at = k;
        for (; at && rank_of(terms[at - 1].mono) > rank_of(e->terms[k].mono); at--) terms[at] = terms[at - 1];
        terms[at] = e->terms[k];
    }
}

static void print_group(struct printing *p, const struct term *terms, uint32_t n, uint32_t k, bool *done)
{
    bool inner = true;
    put(p, "(");
    for (uint32_t j = k; j < n; j++) {
        if (!same_outer(terms[k].mono, terms[j].mono)) continue;
        done[j] = true;
        print_product(p, terms[j].coef, terms[j].mono, false, inner);
        inner = false;
    }
    put(p, ")");
    for (uint32_t j = 0; j < terms[k].mono->n; j++) {
        if (!is_outer(terms[k].mono->atoms[j])) continue;
        put(p, "*");
        print_atom(p, terms[k].mono->atoms[j]);
    }
}

static void print_expr(struct printing *p, const struct expr *e)
{
    bool done[EXPR_TERMS_MAX] = {0}, first = true;
    struct term terms[EXPR_TERMS_MAX];
    if (!e->n) put(p, "0");
    sort_terms(e, terms);
    /* groups with a common factor first, then the rest */
    for (uint32_t k = 0; k < e->n; k++) {
        uint32_t alike = 0;
        if (done[k] || !outer_count(terms[k].mono)) continue;
        for (uint32_t j = k; j < e->n; j++) alike += same_outer(terms[k].mono, terms[j].mono);
        if (alike < 2) continue;
        put(p, "%s", first ? "" : " + ");
        print_group(p, terms, e->n, k, done);
        first = false;
    }
    for (uint32_t k = 0; k < e->n; k++) {
        if (done[k]) continue;
        print_product(p, terms[k].coef, terms[k].mono, true, first);
        first = false;
    }
}

char *expr_print(const struct expr *e, expr_name_fn *name, void *arg, char *buf, size_t buf_bytes)
{
    struct printing p = {.buf = buf, .bytes = buf_bytes, .name = name, .arg = arg};
    buf[0] = '\0';
    print_expr(&p, e);
    return buf;
}
