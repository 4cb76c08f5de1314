/* readonly_launch: origins become allocations: what is read-only in one launch. See readonly.h. */
#include "analysis/readonly_private.h"

bool readonly_group_is(const struct readonly_group *g, const struct readonly_verdict *v)
{
    const uint64_t pointers = g->set & ~v->numbers;
    return pointers && !(pointers & ~(g->nc ? v->nc : v->read_only));
}

/* Never written as far as is known. A store to an unknown target may hit what is loaded plainly; by
 * ld.global.nc the program promises that it does not, for the bytes of that very load only. */
static uint64_t candidates(const struct readonly_func *f, bool unknown_writes, bool nc)
{
    uint64_t read_only = 0;
    if (f->anything) return 0;
    for (uint32_t k = 0; k < f->n_origins; k++) {
        const struct readonly_origin *o = &f->origins[k];
        if (o->read.func && !o->written.func && (!unknown_writes || nc || !o->plain.func))
            read_only |= (uint64_t)1 << k;
    }
    return read_only;
}

uint64_t readonly_decide_alone(const struct readonly_func *f)
{
    return candidates(f, f->unknown_store.func != NULL, false);
}

/* Where a write goes, no other origin is read-only. */
static uint64_t without_overlap(const struct readonly_func *f, uint64_t set,
                                struct readonly_extent at[READONLY_ORIGINS_MAX][2], const uint32_t *count)
{
    for (uint32_t k = 0; k < f->n_origins; k++)
        for (uint32_t w = 0; w < f->n_origins && set >> k & 1; w++) {
            if (!f->origins[w].written.func) continue;
            for (uint32_t a = 0; a < count[k]; a++)
                for (uint32_t b = 0; b < count[w]; b++)
                    if (at[k][a].first < at[w][b].end && at[w][b].first < at[k][a].end)
                        set &= ~((uint64_t)1 << k);
        }
    return set;
}

struct readonly_verdict readonly_decide(const struct readonly_func *f, const struct readonly_launch *launch)
{
    struct readonly_extent at[READONLY_ORIGINS_MAX][2];
    uint32_t count[READONLY_ORIGINS_MAX] = {0};
    struct readonly_verdict v = {0};
    uint64_t lost = 0;
    bool unknown_writes = f->unknown_store.func != NULL;
    if (f->anything) return v;
    for (uint32_t k = 0; k < f->n_origins; k++) {
        const enum readonly_where where = launch->find(launch->user, &f->origins[k], at[k], &count[k]);
        if (where == READONLY_NOWHERE) v.numbers |= (uint64_t)1 << k;
        if (where != READONLY_UNKNOWN_WHERE) continue;
        lost |= (uint64_t)1 << k;
        unknown_writes |= f->origins[k].written.func != NULL;
    }
    v.nc = without_overlap(f, candidates(f, unknown_writes, true) & ~lost, at, count);
    v.read_only = v.nc & candidates(f, unknown_writes, false);
    return v;
}
