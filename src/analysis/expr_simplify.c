/* expr_simplify: operations that are sums of products after all: shifts, masks, divisions, selections,
 * widening. What is known of the range of a value decides; what may wrap around stays an operation. */
#include "analysis/expr_private.h"

/* ---- ranges ---- */

static uint64_t atom_most(const struct atom *a)
{
    int64_t k;
    if (a->kind == ATOM_SREG) {
        switch ((enum ptx_sreg)a->id) {
        case PTX_SREG_TID_X:
        case PTX_SREG_TID_Y: return 1023;
        case PTX_SREG_TID_Z: return 63;
        case PTX_SREG_NTID_X:
        case PTX_SREG_NTID_Y: return 1024;
        case PTX_SREG_NTID_Z: return 64;
        case PTX_SREG_LANEID: return 31;
        case PTX_SREG_CTAID_X:
        case PTX_SREG_NCTAID_X: return INT32_MAX;
        case PTX_SREG_CTAID_Y:
        case PTX_SREG_CTAID_Z:
        case PTX_SREG_NCTAID_Y:
        case PTX_SREG_NCTAID_Z: return 65535;
        default: return UINT64_MAX;
        }
    }
    if (a->kind != ATOM_OP) return UINT64_MAX;
    if (a->op == EXPR_SETP) return 1;
    if (a->op == EXPR_REM && ptx_type_kind(a->type) == 'U' && expr_is_const(a->args[1], &k) && k > 0)
        return (uint64_t)k - 1;
    if (a->op == EXPR_AND && expr_is_const(a->args[1], &k) && k >= 0) return (uint64_t)k;
    if (a->op == EXPR_SHR && ptx_type_kind(a->type) == 'U' && expr_is_const(a->args[1], &k) && k > 0 &&
        k < 64) {
        const uint64_t most = expr_most(a->args[0]);
        if (most != UINT64_MAX) return most >> k;
        return ptx_type_bits(a->type) == 32 && k < 32 ? UINT32_MAX >> k : UINT64_MAX >> k;
    }
    return UINT64_MAX;
}

uint64_t expr_most(const struct expr *e)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < e->n; k++) {
        if (e->terms[k].coef < 0) return UINT64_MAX;
        uint64_t product = (uint64_t)e->terms[k].coef;
        for (uint32_t j = 0; j < e->terms[k].mono->n; j++) {
            const uint64_t most = atom_most(e->terms[k].mono->atoms[j]);
            if (most > UINT32_MAX || __builtin_mul_overflow(product, most, &product)) return UINT64_MAX;
        }
        if (__builtin_add_overflow(sum, product, &sum)) return UINT64_MAX;
    }
    return sum;
}

/* ---- operations that are polynomials after all ---- */

/* Trailing zero bits that every term has. */
static uint32_t trailing_zeros(const struct expr *e)
{
    uint64_t all = 0;
    for (uint32_t k = 0; k < e->n; k++) {
        const struct mono *m = e->terms[k].mono;
        const bool address = m->n == 1 && m->atoms[0]->kind == ATOM_BASE;
        all |= (uint64_t)e->terms[k].coef *
               (address && m->atoms[0]->symbol->align ? m->atoms[0]->symbol->align : 1);
    }
    return all ? (uint32_t)__builtin_ctzll(all) : 63;
}

static uint32_t bits_of(uint64_t most) { return most ? 64 - (uint32_t)__builtin_clzll(most) : 0; }

static bool disjoint(const struct expr *a, const struct expr *b)
{
    const uint64_t most_a = expr_most(a), most_b = expr_most(b);
    return (most_b != UINT64_MAX && trailing_zeros(a) >= bits_of(most_b)) ||
           (most_a != UINT64_MAX && trailing_zeros(b) >= bits_of(most_a));
}

/* May a register of the type hold something else than the number, because the program means what is left
 * modulo 2^bits? ASSUMPTION: only arithmetic of 8 and 16 bits, and factors that fill half of a register and
 * more, as shifts up make them that are followed by shifts down ((x << 24) >> 24 is the low byte). */
static bool may_wrap(const struct expr *a, enum ptx_type type)
{
    const uint32_t bits = ptx_type_bits(type);
    const int64_t large = (int64_t)1 << (bits >= 64 ? 48 : 16);
    const uint64_t most = expr_most(a);
    if (!bits || most <= ((uint64_t)1 << (bits - 1)) - 1) return false;
    for (uint32_t k = 0; k < a->n; k++)
        if (a->terms[k].mono->n && (a->terms[k].coef >= large || a->terms[k].coef <= -large)) return true;
    return bits < 32;
}

/* Is it never below zero? Parameters and data may be. */
static bool never_negative(const struct expr *e)
{
    for (uint32_t k = 0; k < e->n; k++) {
        if (e->terms[k].coef < 0) return false;
        for (uint32_t j = 0; j < e->terms[k].mono->n; j++) {
            const struct atom *a = e->terms[k].mono->atoms[j];
            if (a->kind != ATOM_IV && atom_most(a) == UINT64_MAX) return false;
        }
    }
    return true;
}

static bool has_negative(const struct expr *e)
{
    for (uint32_t k = 0; k < e->n; k++)
        if (e->terms[k].coef < 0) return true;
    return false;
}

/* Each term's coefficient divided; NULL: some leaves a rest. */
static const struct expr *divide_exactly(struct expr_pool *p, const struct expr *a, int64_t by)
{
    struct expr_like like;
    like.n = 0;
    if (by <= 0) return NULL;
    for (uint32_t k = 0; k < a->n; k++) {
        if (a->terms[k].coef % by) return NULL;
        like.terms[like.n++] = (struct term){a->terms[k].coef / by, a->terms[k].mono};
    }
    return expr_make(p, &like);
}

/* a / by when that is a sum again: the rest stays below one. `down`: to minus infinity (a shift), not to
 * zero. */
static const struct expr *divide(struct expr_pool *p, const struct expr *a, int64_t by, enum ptx_type type,
                                 bool down)
{
    const bool is_signed = ptx_type_kind(type) == 'S';
    if (by == 1) return a;
    if (may_wrap(a, type) || (!is_signed && has_negative(a))) return NULL;
    const struct expr *exact = divide_exactly(p, a, by);
    if (exact) return exact;
    const uint64_t most = expr_most(a);
    if (by > 0 && most < (uint64_t)by) return expr_const(p, 0);
    struct expr_like whole, rest;
    whole.n = rest.n = 0;
    for (uint32_t k = 0; k < a->n && by > 0; k++) {
        struct expr_like *to = a->terms[k].coef % by ? &rest : &whole;
        to->terms[to->n++] = a->terms[k];
    }
    const struct expr *left = expr_make(p, &rest), *multiple = expr_make(p, &whole);
    if (is_signed && !down && !never_negative(multiple)) return NULL;
    return by > 0 && whole.n && expr_most(left) < (uint64_t)by ? divide_exactly(p, multiple, by) : NULL;
}

/* a mod 2^bits (not negative): what is a multiple goes. */
static const struct expr *low_bits(struct expr_pool *p, const struct expr *a, uint32_t bits,
                                   enum ptx_type type)
{
    struct expr_like rest;
    rest.n = 0;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (uint32_t k = 0; k < a->n; k++)
        if ((uint64_t)a->terms[k].coef & mask) rest.terms[rest.n++] = a->terms[k];
    const struct expr *left = expr_make(p, &rest);
    if (expr_most(left) <= mask) return left;
    return expr_plain_op(p, EXPR_AND, type, 0, (const struct expr *[]){left, expr_const(p, (int64_t)mask)},
                         2);
}

static const struct expr *simplify_and(struct expr_pool *p, enum ptx_type type,
                                       const struct expr *const *args)
{
    int64_t mask;
    if (!expr_is_const(args[1], &mask)) return NULL;
    const uint64_t m = (uint64_t)mask;
    if (!m) return expr_const(p, 0);
    if (m && (m & (m + 1)) == 0 && m != UINT64_MAX) return low_bits(p, args[0], bits_of(m), type);
    const uint32_t low = (uint32_t)__builtin_ctzll(m); /* bits of a multiple: those of the quotient */
    const struct expr *quotient = low && mask > 0 ? divide_exactly(p, args[0], (int64_t)1 << low) : NULL;
    if (quotient) {
        const struct expr *less[2] = {quotient, expr_const(p, mask >> low)};
        return expr_scale(p, expr_op(p, EXPR_AND, type, 0, less, 2), (int64_t)1 << low);
    }
    const uint64_t cut = ~m; /* ...1100: all but the low bits */
    if (cut && (cut & (cut + 1)) == 0) return expr_sub(p, args[0], low_bits(p, args[0], bits_of(cut), type));
    return mask == -1 ? args[0] : NULL;
}

const struct expr *expr_common(struct expr_pool *p, const struct expr *const *values, uint32_t n)
{
    struct expr_like like;
    like.n = 0;
    for (uint32_t k = 0; k < values[0]->n; k++) {
        const struct term *t = &values[0]->terms[k];
        bool everywhere = true;
        for (uint32_t v = 1; v < n && everywhere; v++) {
            everywhere = false;
            for (uint32_t j = 0; j < values[v]->n && !everywhere; j++)
                everywhere = values[v]->terms[j].mono == t->mono && values[v]->terms[j].coef == t->coef;
        }
        if (everywhere) like.terms[like.n++] = *t;
    }
    return expr_make(p, &like);
}

/* c ? x + a : x + b is x + (c ? a : b). */
static const struct expr *select_between(struct expr_pool *p, const struct expr *const *args)
{
    if (args[1] == args[2]) return args[1];
    const struct expr *both = expr_common(p, args + 1, 2);
    if (!both->n) return NULL;
    const struct expr *rest[3] = {args[0], expr_sub(p, args[1], both), expr_sub(p, args[2], both)};
    return expr_add(p, both, expr_plain_op(p, EXPR_SELECT, PTX_T_S64, 0, rest, 3));
}

static const struct expr *simplify(struct expr_pool *p, enum expr_op op, enum ptx_type type,
                                   const struct expr *const *args)
{
    int64_t k;
    switch (op) {
    case EXPR_SHR:
        if (!expr_is_const(args[1], &k) || k < 0 || k > 40) return NULL;
        return divide(p, args[0], (int64_t)1 << k, type, true);
    case EXPR_DIV: return expr_is_const(args[1], &k) && k > 0 ? divide(p, args[0], k, type, false) : NULL;
    case EXPR_SHL:
        return expr_is_const(args[1], &k) && k >= 0 && k < 63 ? expr_scale(p, args[0], (int64_t)1 << k)
                                                              : NULL;
    case EXPR_REM:
        if (!expr_is_const(args[1], &k) || k <= 0) return NULL;
        if (expr_most(args[0]) < (uint64_t)k) return args[0];
        if (k == 1 || (!may_wrap(args[0], type) && divide_exactly(p, args[0], k))) return expr_const(p, 0);
        return ptx_type_kind(type) == 'U' && (k & (k - 1)) == 0
                   ? low_bits(p, args[0], bits_of((uint64_t)k - 1), type)
                   : NULL;
    case EXPR_AND: return simplify_and(p, type, args);
    case EXPR_OR:
    case EXPR_XOR: return disjoint(args[0], args[1]) ? expr_add(p, args[0], args[1]) : NULL;
    case EXPR_NOT: return ptx_type_kind(type) == 'P' ? NULL : expr_sub(p, expr_const(p, -1), args[0]);
    case EXPR_MIN:
    case EXPR_MAX: return args[0] == args[1] ? args[0] : NULL;
    case EXPR_SELECT: return select_between(p, args);
    case EXPR_FIELD: {
        int64_t first, count;
        if (!expr_is_const(args[1], &first) || !expr_is_const(args[2], &count) || ptx_type_kind(type) != 'U')
            return NULL;
        if (first < 0 || count <= 0 || first + count > 32) return NULL;
        const struct expr *down[2] = {args[0], expr_const(p, first)};
        const struct expr *cut[2] = {expr_op(p, EXPR_SHR, type, 0, down, 2),
                                     expr_const(p, ((int64_t)1 << count) - 1)};
        return expr_op(p, EXPR_AND, type, 0, cut, 2);
    }
    case EXPR_ADD:
    case EXPR_MUL:
    case EXPR_MULHI:
    case EXPR_ABS:
    case EXPR_SETP:
    case EXPR_WIDEN: break;
    }
    return NULL;
}

static bool commutes(enum expr_op op)
{
    return op == EXPR_AND || op == EXPR_OR || op == EXPR_XOR || op == EXPR_MIN || op == EXPR_MAX ||
           op == EXPR_MULHI;
}

const struct expr *expr_op(struct expr_pool *p, enum expr_op op, enum ptx_type type, uint8_t detail,
                           const struct expr *const *args, uint32_t n_args)
{
    const struct expr *sorted[3] = {0};
    int64_t v[3], result;
    bool all = true;
    DIAG_ASSERT(n_args >= 1 && n_args <= 3);
    const struct expr *stop = expr_spend(p, 4);
    if (stop) return stop;
    for (uint32_t k = 0; k < n_args; k++) sorted[k] = args[k];
    /* constants last, else by age, so that a op b and b op a are one */
    if (commutes(op) && (expr_is_const(sorted[0], &v[0]) ||
                         (!expr_is_const(sorted[1], &v[1]) && sorted[0]->serial > sorted[1]->serial))) {
        sorted[0] = args[1];
        sorted[1] = args[0];
    }
    for (uint32_t k = 0; k < n_args; k++) all &= expr_is_const(sorted[k], &v[k]);
    if (all && expr_eval_op(op, type, detail, v, &result)) return expr_const(p, result);
    const struct expr *simple = simplify(p, op, type, sorted);
    return simple ? simple : expr_plain_op(p, op, type, detail, sorted, n_args);
}

/* A factor of a hash, not of an index: what it multiplies wraps around. */
static bool is_hash_factor(int64_t coef)
{
    const uint64_t size = coef < 0 ? 0 - (uint64_t)coef : (uint64_t)coef;
    return size >= (uint64_t)1 << 30 || (size & 1 && size >= 1 << 16);
}

const struct expr *expr_widen(struct expr_pool *p, const struct expr *a, enum ptx_type type)
{
    const uint32_t bits = ptx_type_bits(type);
    bool hash = false;
    if (bits < 32 && expr_most(a) < (uint64_t)1 << (bits - 1)) return a;
    for (uint32_t k = 0; k < a->n; k++) hash |= a->terms[k].mono->n && is_hash_factor(a->terms[k].coef);
    if (bits < 32 || hash) return expr_op(p, EXPR_WIDEN, type, 0, &a, 1);
    int64_t k;
    if (expr_is_const(a, &k))
        return expr_const(p, ptx_type_kind(type) == 'S' ? (int64_t)(int32_t)k : (int64_t)(uint32_t)k);
    return a;
}
