/* symbolic_loops: the values at the heads of loops, understood and put in wherever they were used. Closed
 * forms are in symbolic_forms.c, those that can only be followed in symbolic_recur.c, iterations in
 * symbolic_trips.c. */
#include <string.h>

#include "analysis/symbolic_private.h"

/* Rounds of putting in what is known: each takes one more level of values that depend on values. */
enum { ROUNDS_MAX = 4, DEPENDENCE_ROUNDS_MAX = 6 };

/* By loop: itself and the loops inside it, as bits. */
static uint64_t *loops_within(const struct walker *w)
{
    const struct symbolic *s = w->s;
    uint64_t *bits = ARENA_ARRAY(w->arena, uint64_t, s->n_loops + 1);
    for (uint32_t k = 0; k < s->n_loops; k++)
        for (uint32_t l = k; l != SYMBOLIC_NO_LOOP; l = s->loops[l].parent) bits[l] |= expr_loop_bit(k);
    return bits;
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
        if (!is_of_kin(&k, expr_replace(w->pool, one->start, loops_known, NULL, memo), 0)) return NULL;
        for (uint32_t b = 0; b < one->n_back; b++)
            if (!one->back[b] ||
                !is_of_kin(&k, expr_replace(w->pool, one->back[b], loops_known, NULL, memo), 0))
                return NULL;
    }
    return k.base;
}

/* A value at a head without a closed form. */
struct open_value {
    bool open;
    bool goes_on;               /* from where it starts, whichever way it comes back */
    const struct atom *pointer; /* that it goes on from, by way of others; NULL: not known */
    uint32_t deps;
    const struct expr *start, *back; /* NULL: nobody can follow it on paper */
};

static void look_at(struct walker *w, const struct phi *phi, const uint64_t *within, struct map *memo,
                    struct open_value *o)
{
    o->open = phi->needed && !phi->atom->closed;
    if (!o->open) return;
    o->pointer = pointer_of(w, phi, memo);
    if (phi->lost || !phi->start || !phi->n_back || phi->loop == SYMBOLIC_NO_LOOP) return;
    o->goes_on = true;
    for (uint32_t k = 0; k < phi->n_back; k++)
        o->goes_on &=
            goes_on_from(w->pool, expr_replace(w->pool, phi->back[k], loops_known, NULL, memo), phi->atom, 0);
    o->start = expr_replace(w->pool, phi->start, loops_known, NULL, memo);
    o->back = loops_comes_back(w, phi, within, memo);
}

/* Something that changes in the loop in a way that has no closed form: where it starts, and then anything. */
static const struct expr *changing(struct walker *w, const struct phi *phi, struct open_value *o,
                                   uint32_t round, struct map *memo)
{
    uint32_t deps = DEP_OTHER | o->deps;
    struct symbolic_recurrence *r = &w->s->recurrences[phi->atom->id];
    for (uint32_t k = 0; k < phi->n_back; k++)
        if (phi->back[k])
            deps |= expr_replace(w->pool, phi->back[k], loops_known, NULL, memo)->deps & ~(uint32_t)DEP_PHI;
    if (!o->goes_on && phi->start)
        deps |= expr_replace(w->pool, phi->start, loops_known, NULL, memo)->deps & ~(uint32_t)DEP_PHI;
    /* what nobody can follow is as good as data */
    if (!phi->start || phi->lost || !r->back || round == DEPENDENCE_ROUNDS_MAX) deps |= DEP_DATA;
    deps &= ~(uint32_t)(DEP_LOCAL | DEP_SHARED | DEP_GLOBAL); /* where it starts says what it points to */
    o->deps = deps;
    r->offset = o->goes_on ? phi->start : o->pointer ? expr_of(w->pool, o->pointer) : NULL;
    const struct atom like = {.kind = ATOM_OTHER,
                              .id = phi->atom->id,
                              .element = 600 + round,
                              .deps = deps,
                              .recurrence = r->back ? phi->atom->id + 1 : 0,
                              .loops = phi->atom->loops};
    const struct expr *rest = expr_of(w->pool, expr_intern_atom(w->pool, &like));
    return r->offset ? expr_add(w->pool, r->offset, rest) : rest;
}

static void free_memo(void *memo) { map_free(memo); }

/* Values without a closed form depend on each other: what each depends on, until nothing is added. */
static void understand_changing(struct walker *w, const uint64_t *within, struct map *memo)
{
    struct open_value *values = ARENA_ARRAY(w->arena, struct open_value, w->n_phis + 1);
    const struct expr **starts = ARENA_ARRAY(w->arena, const struct expr *, w->n_phis + 1),
                      **backs = ARENA_ARRAY(w->arena, const struct expr *, w->n_phis + 1);
    bool grows = true;
    map_clear(memo);
    for (uint32_t k = 0; k < w->n_phis; k++) { /* before any of them is closed */
        look_at(w, &w->phis[k], within, memo, &values[k]);
        starts[k] = values[k].start;
        backs[k] = values[k].back;
    }
    recur_find(w, starts, backs);
    for (uint32_t round = 0; round <= DEPENDENCE_ROUNDS_MAX && grows; round++) {
        grows = false;
        map_clear(memo);
        for (uint32_t k = 0; k < w->n_phis; k++) {
            const uint32_t before = values[k].deps;
            if (!values[k].open) continue;
            w->phis[k].atom->closed = changing(w, &w->phis[k], &values[k], round, memo);
            grows |= values[k].deps != before;
        }
    }
    map_clear(memo);
    for (uint32_t k = 0; k < w->n_phis; k++) {
        struct symbolic_recurrence *r = &w->s->recurrences[k];
        if (r->offset) r->offset = expr_replace(w->pool, r->offset, loops_known, NULL, memo);
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
        e.condition = expr_replace(w->pool, e.condition, loops_known, NULL, memo);
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
    const struct expr *e = expr_replace(w->pool, address, loops_known, NULL, memo);
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
    const struct atom *test = loops_comparison(condition, &stay_if);
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
            phi->atom->closed = loops_closed_form(w, phi, within, &memo);
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
        w->stores[k].at.address = expr_replace(w->pool, w->stores[k].at.address, loops_known, NULL, &memo);
    for (uint32_t k = 0; k < w->n_published; k++)
        w->published[k] = expr_replace(w->pool, w->published[k], loops_known, NULL, &memo);
    for (uint32_t l = 0; l < s->n_loops; l++)
        for (struct symbolic_exit *e = s->loops[l].exits; e; e = e->next)
            note_condition(w, &s->loops[l], e, expr_replace(w->pool, e->condition, loops_known, NULL, &memo));
    diag_done(&cleanup, true);
}

void loops_understand(struct walker *w)
{
    understand_phis(w);
    for (uint32_t l = 0; l < w->s->n_loops; l++)
        w->s->loops[l].trips = symbolic_trips(&w->s->loops[l], NULL, NULL);
}
