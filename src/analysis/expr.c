/* expr: making canonical expressions. See expr.h. */
#include "analysis/expr.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* ---- tables ---- */

static void table_grow(struct expr_table *t, uint32_t capacity)
{
    void **slots = calloc(capacity, sizeof *slots);
    uint64_t *hashes = calloc(capacity, sizeof *hashes);
    if (!slots || !hashes) {
        free(slots);
        free(hashes);
        diag_mistake("out of host memory");
    }
    for (uint32_t k = 0; t->slots && k < t->capacity; k++) {
        if (!t->slots[k]) continue;
        uint32_t at = (uint32_t)t->hashes[k] & (capacity - 1);
        while (slots[at]) at = (at + 1) & (capacity - 1);
        slots[at] = t->slots[k];
        hashes[at] = t->hashes[k];
    }
    free(t->slots);
    free(t->hashes);
    t->slots = slots;
    t->hashes = hashes;
    t->capacity = capacity;
}

typedef bool same_fn(const void *held, const void *like);

/* The slot of an equal item, or the empty one where it goes. */
static void **table_find(struct expr_table *t, uint64_t hash, const void *like, same_fn *same)
{
    if (!t->slots || 2 * t->count >= t->capacity) table_grow(t, 2 * t->capacity);
    uint32_t at = (uint32_t)hash & (t->capacity - 1);
    while (t->slots[at] && !(t->hashes[at] == hash && same(t->slots[at], like)))
        at = (at + 1) & (t->capacity - 1);
    t->hashes[at] = hash;
    return &t->slots[at];
}

void expr_pool_init(struct expr_pool *p, struct arena *arena, uint32_t values)
{
    enum { VALUES_LEAST = 32, VALUES_MOST = 1 << 20 };
    uint32_t capacity = 2 * VALUES_LEAST;
    while (capacity < 2 * values && capacity < VALUES_MOST) capacity *= 2;
    *p = (struct expr_pool){.arena = arena, .work_left = UINT64_MAX / 2};
    p->atoms.capacity = p->monos.capacity = p->exprs.capacity = capacity / 2; /* made when first needed */
}

static void table_free(struct expr_table *t)
{
    free(t->slots);
    free(t->hashes);
    *t = (struct expr_table){0};
}

void expr_pool_free(struct expr_pool *p)
{
    table_free(&p->atoms);
    table_free(&p->monos);
    table_free(&p->exprs);
}

/* ---- atoms ---- */

static uint64_t mix(uint64_t hash, uint64_t value) { return hash_u64(hash * 31 + value); }

static uint64_t atom_hash(const struct atom *a)
{
    uint64_t h = mix(a->kind, (uint64_t)a->type << 24 | (uint64_t)a->op << 16 | (uint64_t)a->detail << 8 |
                                  a->size_bytes);
    h = mix(h, (uint64_t)a->id << 32 | a->element);
    if (a->symbol) h = mix(h, (uint64_t)a->symbol->index + 1);
    for (uint32_t k = 0; k < a->n_args; k++) h = mix(h, a->args[k] ? a->args[k]->serial : 0);
    return h;
}

static bool atom_same(const void *held, const void *like)
{
    const struct atom *a = held, *b = like;
    if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->detail != b->detail ||
        a->id != b->id || a->element != b->element || a->size_bytes != b->size_bytes ||
        a->symbol != b->symbol || a->n_args != b->n_args)
        return false;
    return !a->n_args || !memcmp(a->args, b->args, a->n_args * sizeof *a->args);
}

struct atom *expr_intern_atom(struct expr_pool *p, const struct atom *like)
{
    void **slot = table_find(&p->atoms, atom_hash(like), like, atom_same);
    struct atom *held = *slot;
    if (held) return held;
    struct atom *a = ARENA_NEW(p->arena, struct atom);
    *a = *like;
    a->serial = ++p->serial;
    if (a->n_args) {
        const struct expr **args = ARENA_ARRAY(p->arena, const struct expr *, a->n_args);
        memcpy(args, like->args, a->n_args * sizeof *args);
        a->args = args;
    }
    for (uint32_t k = 0; k < a->n_args; k++) {
        if (!a->args[k]) continue;
        if (a->kind == ATOM_OP || a->kind == ATOM_MERGE) {
            /* which of two values it is says nothing about what they point to */
            const bool choice = a->kind == ATOM_MERGE ? k >= a->element : a->op == EXPR_SELECT && k == 0;
            enum { MEMORY = DEP_LOCAL | DEP_SHARED | DEP_GLOBAL };
            a->deps |= choice ? a->args[k]->deps & ~(uint32_t)MEMORY : a->args[k]->deps;
            a->loops |= a->args[k]->loops;
        }
        if (a->args[k]->depth >= a->depth) a->depth = (uint8_t)(a->args[k]->depth + 1);
    }
    p->atoms.count++;
    *slot = a;
    return a;
}

/* ---- products ---- */

struct mono_like {
    const struct atom *atoms[2 * EXPR_DEGREE_MAX];
    uint32_t n;
};

static bool mono_same(const void *held, const void *like)
{
    const struct mono *a = held;
    const struct mono_like *b = like;
    return a->n == b->n && !memcmp(a->atoms, b->atoms, a->n * sizeof *a->atoms);
}

static const struct mono *intern_mono(struct expr_pool *p, const struct mono_like *like)
{
    uint64_t h = like->n;
    for (uint32_t k = 0; k < like->n; k++) h = mix(h, like->atoms[k]->serial);
    void **slot = table_find(&p->monos, h, like, mono_same);
    const struct mono *held = *slot;
    if (held) return held;
    struct mono *m = arena_alloc(p->arena, sizeof *m + like->n * sizeof *m->atoms);
    m->n = like->n;
    m->serial = like->n ? ++p->serial : 0;
    for (uint32_t k = 0; k < like->n; k++) {
        m->atoms[k] = like->atoms[k];
        m->deps |= like->atoms[k]->deps;
        m->loops |= like->atoms[k]->loops;
    }
    p->monos.count++;
    *slot = m;
    return m;
}

/* NULL: beyond the limit. */
static const struct mono *mono_product(struct expr_pool *p, const struct mono *a, const struct mono *b)
{
    struct mono_like like;
    like.n = 0;
    if (a->n + b->n > EXPR_DEGREE_MAX) return NULL;
    uint32_t i = 0, j = 0;
    while (i < a->n || j < b->n) {
        const bool first = j == b->n || (i < a->n && a->atoms[i]->serial <= b->atoms[j]->serial);
        like.atoms[like.n++] = first ? a->atoms[i++] : b->atoms[j++];
    }
    return intern_mono(p, &like);
}

/* ---- sums ---- */

struct expr_like {
    struct term terms[2 * EXPR_TERMS_MAX];
    uint32_t n;
};

static bool expr_same(const void *held, const void *like)
{
    const struct expr *a = held;
    const struct expr_like *b = like;
    if (a->n != b->n) return false;
    for (uint32_t k = 0; k < a->n; k++)
        if (a->terms[k].coef != b->terms[k].coef || a->terms[k].mono != b->terms[k].mono) return false;
    return true;
}

static const struct expr *intern(struct expr_pool *p, const struct expr_like *like)
{
    uint64_t h = like->n;
    for (uint32_t k = 0; k < like->n; k++)
        h = mix(mix(h, (uint64_t)like->terms[k].coef), like->terms[k].mono->serial);
    void **slot = table_find(&p->exprs, h, like, expr_same);
    const struct expr *held = *slot;
    if (held) return held;
    struct expr *e = arena_alloc(p->arena, sizeof *e + like->n * sizeof *e->terms);
    e->n = like->n;
    e->serial = ++p->serial;
    for (uint32_t k = 0; k < like->n; k++) {
        e->terms[k] = like->terms[k];
        e->deps |= like->terms[k].mono->deps;
        e->loops |= like->terms[k].mono->loops;
        for (uint32_t j = 0; j < like->terms[k].mono->n; j++)
            if (like->terms[k].mono->atoms[j]->depth > e->depth)
                e->depth = like->terms[k].mono->atoms[j]->depth;
    }
    p->exprs.count++;
    *slot = e;
    return e;
}

const struct expr *expr_const(struct expr_pool *p, int64_t value)
{
    struct expr_like like;
    like.n = 0;
    if (!value && p->zero) return p->zero;
    if (value) {
        struct mono_like one;
        one.n = 0;
        like.terms[like.n++] = (struct term){value, intern_mono(p, &one)};
    }
    const struct expr *e = intern(p, &like);
    if (!value) p->zero = e;
    return e;
}

const struct expr *expr_of(struct expr_pool *p, const struct atom *a)
{
    if (a->alone) return a->alone;
    struct mono_like m;
    m.atoms[0] = a;
    m.n = 1;
    struct expr_like like;
    like.n = 0;
    like.terms[like.n++] = (struct term){1, intern_mono(p, &m)};
    struct atom *held = (struct atom *)(uintptr_t)a; /* the pool's */
    held->alone = intern(p, &like);
    return held->alone;
}

const struct expr *expr_term(struct expr_pool *p, const struct term *t)
{
    struct expr_like like;
    like.n = 0;
    if (t->coef) like.terms[like.n++] = *t;
    return intern(p, &like);
}

static const struct expr *plain_op(struct expr_pool *p, enum expr_op op, enum ptx_type type, uint8_t detail,
                                   const struct expr *const *args, uint32_t n)
{
    const struct atom like = {.kind = ATOM_OP,
                              .op = (uint8_t)op,
                              .type = (uint8_t)type,
                              .detail = detail,
                              .n_args = n,
                              .args = args};
    uint32_t deps = DEP_OTHER;
    uint64_t loops = 0;
    bool deep = false;
    for (uint32_t k = 0; k < n; k++) {
        deps |= args[k]->deps;
        loops |= args[k]->loops;
        deep |= args[k]->depth >= EXPR_DEPTH_MAX;
    }
    if (!deep) return expr_of(p, expr_intern_atom(p, &like));
    const struct atom other = {.kind = ATOM_OTHER, .id = ++p->serial, .deps = deps, .loops = loops};
    return expr_of(p, expr_intern_atom(p, &other));
}

/* Counts work; NULL: it may go on. */
static const struct expr *spend(struct expr_pool *p, uint64_t work)
{
    if (p->work_left > work) {
        p->work_left -= work;
        return NULL;
    }
    p->work_left = 0;
    const struct atom like = {
        .kind = ATOM_OTHER, .id = UINT32_MAX, .deps = DEP_OTHER | DEP_DATA, .loops = UINT64_MAX};
    return expr_of(p, expr_intern_atom(p, &like));
}

const struct expr *expr_add(struct expr_pool *p, const struct expr *a, const struct expr *b)
{
    struct expr_like like;
    uint32_t i = 0, j = 0;
    if (!a->n) return b;
    if (!b->n) return a;
    const struct expr *stop = spend(p, 1 + a->n + b->n);
    if (stop) return stop;
    if (a->n + b->n > 2 * EXPR_TERMS_MAX)
        return plain_op(p, EXPR_ADD, PTX_T_S64, 0, (const struct expr *[]){a, b}, 2);
    like.n = 0;
    while (i < a->n || j < b->n) {
        const uint32_t sa = i < a->n ? a->terms[i].mono->serial : UINT32_MAX;
        const uint32_t sb = j < b->n ? b->terms[j].mono->serial : UINT32_MAX;
        struct term t = sa <= sb ? a->terms[i] : b->terms[j];
        if (sa == sb) t.coef = (int64_t)((uint64_t)t.coef + (uint64_t)b->terms[j].coef);
        i += sa <= sb;
        j += sb <= sa;
        if (t.coef) like.terms[like.n++] = t;
    }
    if (like.n > EXPR_TERMS_MAX) return plain_op(p, EXPR_ADD, PTX_T_S64, 0, (const struct expr *[]){a, b}, 2);
    return intern(p, &like);
}

const struct expr *expr_scale(struct expr_pool *p, const struct expr *a, int64_t k)
{
    struct expr_like like;
    like.n = 0;
    if (k == 1) return a;
    for (uint32_t n = 0; n < a->n && k; n++) {
        const int64_t coef = (int64_t)((uint64_t)a->terms[n].coef * (uint64_t)k);
        if (coef) like.terms[like.n++] = (struct term){coef, a->terms[n].mono};
    }
    return intern(p, &like);
}

const struct expr *expr_sub(struct expr_pool *p, const struct expr *a, const struct expr *b)
{
    return expr_add(p, a, expr_scale(p, b, -1));
}

const struct expr *expr_mul(struct expr_pool *p, const struct expr *a, const struct expr *b)
{
    int64_t k;
    if (expr_is_const(a, &k)) return expr_scale(p, b, k);
    if (expr_is_const(b, &k)) return expr_scale(p, a, k);
    const struct expr *stop = spend(p, 1 + a->n * b->n);
    if (stop) return stop;
    if (a->serial > b->serial) {
        const struct expr *swap = a;
        a = b;
        b = swap;
    }
    if (a->n * b->n > EXPR_TERMS_MAX)
        return plain_op(p, EXPR_MUL, PTX_T_S64, 0, (const struct expr *[]){a, b}, 2);
    const struct expr *sum = expr_const(p, 0);
    for (uint32_t i = 0; i < a->n; i++) {
        struct expr_like like;
        like.n = 0;
        for (uint32_t j = 0; j < b->n; j++) {
            const struct mono *m = mono_product(p, a->terms[i].mono, b->terms[j].mono);
            if (!m) return plain_op(p, EXPR_MUL, PTX_T_S64, 0, (const struct expr *[]){a, b}, 2);
            const int64_t coef = (int64_t)((uint64_t)a->terms[i].coef * (uint64_t)b->terms[j].coef);
            uint32_t at = like.n;
            if (!coef) continue;
            for (like.n++; at && like.terms[at - 1].mono->serial > m->serial; at--)
                like.terms[at] = like.terms[at - 1];
            like.terms[at] = (struct term){coef, m};
        }
        sum = expr_add(p, sum, intern(p, &like));
    }
    return sum;
}

/* ---- questions ---- */

bool expr_is_const(const struct expr *e, int64_t *value)
{
    if (e->n > 1 || (e->n && e->terms[0].mono->n)) return false;
    *value = e->n ? e->terms[0].coef : 0;
    return true;
}

const struct atom *expr_is_atom(const struct expr *e)
{
    return e->n == 1 && e->terms[0].coef == 1 && e->terms[0].mono->n == 1 ? e->terms[0].mono->atoms[0] : NULL;
}

int64_t expr_offset(const struct expr *e) { return e->n && !e->terms[0].mono->n ? e->terms[0].coef : 0; }

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
    return intern(p, &like);
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
    const struct expr *left = intern(p, &rest), *multiple = intern(p, &whole);
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
    const struct expr *left = intern(p, &rest);
    if (expr_most(left) <= mask) return left;
    return plain_op(p, EXPR_AND, type, 0, (const struct expr *[]){left, expr_const(p, (int64_t)mask)}, 2);
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
    return intern(p, &like);
}

/* c ? x + a : x + b is x + (c ? a : b). */
static const struct expr *select_between(struct expr_pool *p, const struct expr *const *args)
{
    if (args[1] == args[2]) return args[1];
    const struct expr *both = expr_common(p, args + 1, 2);
    if (!both->n) return NULL;
    const struct expr *rest[3] = {args[0], expr_sub(p, args[1], both), expr_sub(p, args[2], both)};
    return expr_add(p, both, plain_op(p, EXPR_SELECT, PTX_T_S64, 0, rest, 3));
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
    const struct expr *stop = spend(p, 4);
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
    return simple ? simple : plain_op(p, op, type, detail, sorted, n_args);
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
