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

/* Of ready warps. */
static inline uint64_t *stalls_of_ready(struct sm *sm, uint64_t ready)
{
    return ready & ~(sm->of_unit[UNIT_MEMORY] | sm->of_unit[UNIT_SHARED] | sm->of_unit[UNIT_TEXTURE])
               ? &sm->stats.stall_structural
               : &sm->stats.stall_pipe;
}

/* Why a scheduler with these warps does not issue: the reason that would go away first. */
static inline uint64_t *reason(struct sm *sm, uint64_t mask)
{
    const uint64_t ready = sm->any_ready & mask;
    if (ready) return stalls_of_ready(sm, ready);
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

/* At the end of a cycle: what schedulers that have issued wait for is looked for, and what those wait for
 * whose warps were changed from outside. Where some warp may issue in the next cycle, those that have issued
 * are asked at the end of that, if they neither issue nor stall then. */
static inline void stalls_count(struct sm *sm, uint32_t issued, uint64_t now, uint64_t next)
{
    uint32_t find = sm->unknown & ~issued, unknown = issued;
    if (__builtin_expect(sm->changed != 0, 0)) {
        const uint32_t others = sm->changed & sm->spec->all_schedulers & ~issued;
        sm->changed = 0;
        find |= others;
        for (uint32_t left = others; left; left &= left - 1)
            stalls_until(&sm->schedulers[__builtin_ctz(left)], now, now);
    }
    if (next != now + 1) {
        find |= issued;
        unknown = 0;
    }
    stalls_find(sm, find);
    sm->unknown = unknown;
}

#endif
