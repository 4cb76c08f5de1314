/* expr: making canonical expressions. See expr.h. */
#include "analysis/expr.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/expr_private.h"
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

static bool expr_same(const void *held, const void *like)
{
    const struct expr *a = held;
    const struct expr_like *b = like;
    if (a->n != b->n) return false;
    for (uint32_t k = 0; k < a->n; k++)
        if (a->terms[k].coef != b->terms[k].coef || a->terms[k].mono != b->terms[k].mono) return false;
    return true;
}

const struct expr *expr_make(struct expr_pool *p, const struct expr_like *like)
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
    const struct expr *e = expr_make(p, &like);
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
    held->alone = expr_make(p, &like);
    return held->alone;
}

const struct expr *expr_term(struct expr_pool *p, const struct term *t)
{
    struct expr_like like;
    like.n = 0;
    if (t->coef) like.terms[like.n++] = *t;
    return expr_make(p, &like);
}

const struct expr *expr_plain_op(struct expr_pool *p, enum expr_op op, enum ptx_type type, uint8_t detail,
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
const struct expr *expr_spend(struct expr_pool *p, uint64_t work)
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
    const struct expr *stop = expr_spend(p, 1 + a->n + b->n);
    if (stop) return stop;
    if (a->n + b->n > 2 * EXPR_TERMS_MAX)
        return expr_plain_op(p, EXPR_ADD, PTX_T_S64, 0, (const struct expr *[]){a, b}, 2);
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
    if (like.n > EXPR_TERMS_MAX)
        return expr_plain_op(p, EXPR_ADD, PTX_T_S64, 0, (const struct expr *[]){a, b}, 2);
    return expr_make(p, &like);
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
    return expr_make(p, &like);
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
    const struct expr *stop = expr_spend(p, 1 + a->n * b->n);
    if (stop) return stop;
    if (a->serial > b->serial) {
        const struct expr *swap = a;
        a = b;
        b = swap;
    }
    if (a->n * b->n > EXPR_TERMS_MAX)
        return expr_plain_op(p, EXPR_MUL, PTX_T_S64, 0, (const struct expr *[]){a, b}, 2);
    const struct expr *sum = expr_const(p, 0);
    for (uint32_t i = 0; i < a->n; i++) {
        struct expr_like like;
        like.n = 0;
        for (uint32_t j = 0; j < b->n; j++) {
            const struct mono *m = mono_product(p, a->terms[i].mono, b->terms[j].mono);
            if (!m) return expr_plain_op(p, EXPR_MUL, PTX_T_S64, 0, (const struct expr *[]){a, b}, 2);
            const int64_t coef = (int64_t)((uint64_t)a->terms[i].coef * (uint64_t)b->terms[j].coef);
            uint32_t at = like.n;
            if (!coef) continue;
            for (like.n++; at && like.terms[at - 1].mono->serial > m->serial; at--)
                like.terms[at] = like.terms[at - 1];
            like.terms[at] = (struct term){coef, m};
        }
        sum = expr_add(p, sum, expr_make(p, &like));
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
