/* ahead: the handle through which SMs and networks see lookahead windows. A window simulates both networks,
 * the slices and the channels of a GPU in one activation; system/windows.c runs it and fills this structure.
 * A NULL handle means that every component is activated by the engine. */
#ifndef ATOLL_NET_AHEAD_H
#define ATOLL_NET_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

struct ahead {
    bool asleep;          /* the memory side was empty at the end of the last window */
    uint32_t arrival_cyc; /* minimum latency from the injection of a request to its slice */
    uint32_t reply_cyc;   /* minimum latency from the start of a reply to its SM */
    uint64_t until_cyc;   /* slices and replies are simulated up to this cycle */
    uint64_t first_cyc; /* asleep: arrival of the earliest request sent since; ENGINE_NEVER: none was sent */
    const struct engine *engine;
    uint32_t domain; /* clock of SMs, networks and slices */
    /* An SM injects a request in cycle `now` while the memory side is asleep. */
    void (*wake)(struct ahead *a, uint64_t now);
};

/* No reply that is unknown now arrives before the returned cycle. While the memory side is asleep, the caller
 * itself may send the first request. */
static inline uint64_t ahead_known_until(const struct ahead *a)
{
    if (!a->asleep) return a->until_cyc + a->reply_cyc;
    const uint64_t soonest_cyc = engine_now(a->engine, a->domain) + a->arrival_cyc;
    return (a->first_cyc < soonest_cyc ? a->first_cyc : soonest_cyc) + a->reply_cyc;
}

#endif
