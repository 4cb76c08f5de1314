/* stalls: what the cycles are counted as in which a scheduler issues nothing. */
#ifndef ATOLL_SM_STALLS_H
#define ATOLL_SM_STALLS_H

#include "sm/sm_private.h"

static uint64_t *rarer_reason(struct sm *sm, uint64_t mask)
{
    if (sm->wait_memory & mask) return &sm->stats.stall_translation;
    if (sm->wait_barrier & mask) return &sm->stats.stall_barrier;
    if (sm->wait_fence & mask) return &sm->stats.stall_fence;
    if (sm->asleep & mask) return &sm->stats.stall_sleep;
    if ((sm->held | (sm->move.state != MOVE_NONE ? sm->blocks[sm->move.slot].warps : 0)) & mask)
        return &sm->stats.stall_moving;
    if (sm->resident & mask) return &sm->stats.stall_memory; /* ended, its loads are not */
    return &sm->stats.stall_no_warp;
}

/* Why a scheduler with these warps does not issue: the reason that would go away first. */
static inline uint64_t *reason(struct sm *sm, uint64_t mask)
{
    const uint64_t ready = sm->any_ready & mask;
    if (ready)
        return ready & ~(sm->of_unit[UNIT_MEMORY] | sm->of_unit[UNIT_SHARED] | sm->of_unit[UNIT_TEXTURE])
                   ? &sm->stats.stall_structural
                   : &sm->stats.stall_pipe;
    if (sm->sleeping & ~sm->asleep & mask) return &sm->stats.stall_dependence;
    if (sm->wait_memory & ~sm->wait_page & mask) return &sm->stats.stall_memory;
    return rarer_reason(sm, mask);
}

/* Of schedulers, a bit each. */
static inline void stalls_find(struct sm *sm, uint32_t schedulers)
{
    for (; schedulers; schedulers &= schedulers - 1) {
        const uint32_t k = (uint32_t)__builtin_ctz(schedulers);
        sm->schedulers[k].counter = reason(sm, sm->schedulers[k].warps);
    }
}

/* Up to now the scheduler waited for what it waited for; no time has passed when that is unknown. */
static inline void stalls_until(struct scheduler *s, uint64_t now, uint64_t since)
{
    *s->counter += now - s->since_cyc;
    s->since_cyc = since;
}

/* At the end of a cycle: what changed schedulers wait for is looked for again. One that issued is asked at
 * the end of the next one, if it does not issue then. */
static inline void stalls_count(struct sm *sm, uint32_t changed, uint64_t now, uint64_t next)
{
    const uint32_t issued = sm->issued;
    if (__builtin_expect(sm->changed != 0, 0)) { /* from outside */
        const uint32_t others = sm->changed & sm->spec->all_schedulers & ~(changed | issued);
        sm->changed = 0;
        changed |= others;
        for (uint32_t left = others; left; left &= left - 1)
            stalls_until(&sm->schedulers[__builtin_ctz(left)], now, now);
    }
    const uint32_t issues_next = next == now + 1 ? issued : 0;
    stalls_find(sm, (sm->unknown | changed | issued) & ~issues_next);
    sm->unknown = issues_next;
}

#endif
