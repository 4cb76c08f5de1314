/* memory_half: the first half of an SM's cycle: what comes back, what goes out. Shared by sm.c and issue.c.
 */
#ifndef ATOLL_SM_MEMORY_HALF_H
#define ATOLL_SM_MEMORY_HALF_H

#include "sm/pump.h"

static inline __attribute__((always_inline)) void sm_memory_half(struct sm *sm, uint64_t now)
{
    if (sm->direct && !sm->misses_count) {
        sm_pump_cycle(sm, now);
        return;
    }
    if (sm->outstanding) {
        const uint32_t reply = fabric_at(&sm->wire.fabric->reply, now, sm->wire.sm_idx);
        if (reply != REQUEST_NONE) {
            fabric_take(&sm->wire.fabric->reply, now, sm->wire.sm_idx);
            lsu_reply(sm, now, reply);
            if (sm->hold == SM_HOLDS_STOPS && !sm_requests_waiting(sm)) engine_stop(sm->wire.engine);
        }
    }
    if ((sm->queue_count | sm->misses_count | sm->parked_count | sm->replay_count) && !lsu_rests(sm, now))
        lsu_step(sm, now);
}

#endif
