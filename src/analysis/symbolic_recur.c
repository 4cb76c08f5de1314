/* symbolic_recur: values at heads of loops that have no closed form, but that each iteration makes of those
 * of the one before: Fibonacci's numbers, three pointers in a circle, a counter that starts again. They are
 * what following the loop on paper gives; an expression holds them as `other`, with the way to their number.
 */
#include "analysis/symbolic_private.h"

enum { MEMBERS_MOST = 8, ITERATIONS_MOST = 4096, NESTED_MOST = 3 };

/* ---- which can be followed ---- */

/* Every value at a head in it has a way to its number. */
static bool only_known(const struct walker *w, const struct expr *e, uint32_t depth)
{
    enum { DEPTH_MOST = 32 };
    if (!(e->deps & DEP_PHI)) return true;
    if (depth == DEPTH_MOST) return false;
    for (uint32_t k = 0; k < e->n; k++)
        for (uint32_t j = 0; j < e->terms[k].mono->n; j++) {
            const struct atom *a = e->terms[k].mono->atoms[j];
            if (a->kind == ATOM_PHI && !w->s->recurrences[a->id].back) return false;
            for (uint32_t n = 0; n < a->n_args; n++)
                if (a->args[n] && !only_known(w, a->args[n], depth + 1)) return false;
        }
    return true;
}

void recur_find(struct walker *w, const struct expr *const *starts, const struct expr *const *backs)
{
    enum { CHANGES = DEP_DATA | DEP_OTHER | DEP_MERGE };
    struct symbolic *s = w->s;
    bool fewer = true;
    s->recurrences = ARENA_ARRAY(w->arena, struct symbolic_recurrence, w->n_phis + 1);
    s->n_recurrences = w->n_phis;
    for (uint32_t k = 0; k < w->n_phis; k++) {
        const struct phi *phi = &w->phis[k];
        if (!starts[k] || !backs[k]) continue;
        if (backs[k]->deps & CHANGES || starts[k]->deps & (DEP_DATA | DEP_OTHER)) continue;
        s->recurrences[k] =
            (struct symbolic_recurrence){.start = starts[k], .back = backs[k], .iv = s->loops[phi->loop].iv};
    }
    while (fewer) { /* what comes from one that cannot be followed cannot be either */
        fewer = false;
        for (uint32_t k = 0; k < w->n_phis; k++) {
            struct symbolic_recurrence *r = &s->recurrences[k];
            if (!r->back || (only_known(w, r->start, 0) && only_known(w, r->back, 0))) continue;
            r->back = NULL;
            fewer = true;
        }
    }
}

/* ---- numbers ---- */

struct recurring {
    const struct symbolic *s;
    expr_value_fn *value;
    void *arg;
    uint32_t nested;
    const struct atom *iv; /* of the loop that is followed */
    int64_t iteration;
    uint32_t members[MEMBERS_MOST];
    int64_t now[MEMBERS_MOST];
    uint32_t n;
    bool collecting; /* members are found, not asked for */
};

static bool number_of(const struct symbolic *s, uint32_t id, expr_value_fn *value, void *arg, uint32_t nested,
                      int64_t *v);

static bool value_now(void *arg, const struct atom *a, int64_t *v)
{
    struct recurring *r = arg;
    *v = 0;
    if (a == r->iv) {
        *v = r->iteration;
        return true;
    }
    if (a->kind != ATOM_PHI) return r->value(r->arg, a, v);
    const bool here = r->s->recurrences[a->id].iv == r->iv;
    for (uint32_t k = 0; here && k < r->n; k++)
        if (r->members[k] == a->id) {
            *v = r->now[k];
            return true;
        }
    if (!here) return number_of(r->s, a->id, r->value, r->arg, r->nested + 1, v);
    if (!r->collecting || r->n == MEMBERS_MOST) return false;
    r->members[r->n++] = a->id;
    return true;
}

/* The values of the loop that this one is made of. */
static bool collect(struct recurring *r)
{
    int64_t ignored;
    r->collecting = true;
    for (uint32_t k = 0; k < r->n; k++) {
        const uint32_t before = r->n;
        (void)expr_eval(r->s->recurrences[r->members[k]].back, value_now, r, &ignored);
        if (r->n == MEMBERS_MOST && before < r->n) return false;
    }
    r->collecting = false;
    return true;
}

static bool number_of(const struct symbolic *s, uint32_t id, expr_value_fn *value, void *arg, uint32_t nested,
                      int64_t *v)
{
    int64_t last, next[MEMBERS_MOST];
    struct recurring r = {.s = s, .value = value, .arg = arg, .nested = nested, .members = {id}, .n = 1};
    if (nested == NESTED_MOST || id >= s->n_recurrences || !s->recurrences[id].back) return false;
    if (!value(arg, s->recurrences[id].iv, &last) || last < 0 || last > ITERATIONS_MOST) return false;
    r.iv = s->recurrences[id].iv;
    if (!collect(&r)) return false;
    for (uint32_t k = 0; k < r.n; k++)
        if (!expr_eval(s->recurrences[r.members[k]].start, value_now, &r, &next[k])) return false;
    for (uint32_t k = 0; k < r.n; k++) r.now[k] = next[k];
    for (; r.iteration < last; r.iteration++) {
        for (uint32_t k = 0; k < r.n; k++)
            if (!expr_eval(s->recurrences[r.members[k]].back, value_now, &r, &next[k])) return false;
        for (uint32_t k = 0; k < r.n; k++) r.now[k] = next[k];
    }
    *v = r.now[0];
    return true;
}

bool symbolic_number(const struct symbolic *s, const struct atom *a, expr_value_fn *value, void *arg,
                     int64_t *v)
{
    int64_t from = 0;
    if (a->kind != ATOM_OTHER || !a->recurrence) return false;
    const uint32_t id = a->recurrence - 1;
    const struct expr *offset = s->recurrences[id].offset;
    if (offset && !expr_eval(offset, value, arg, &from)) return false;
    if (!number_of(s, id, value, arg, 0, v)) return false;
    *v = (int64_t)((uint64_t)*v - (uint64_t)from);
    return true;
}
