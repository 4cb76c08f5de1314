/* channel: a memory channel as a component: takes operations from its slices in turn, gives them to the
 * channel model (dram/dram.h), hands back what was read. */
#ifndef ATOLL_GPU_CHANNEL_H
#define ATOLL_GPU_CHANNEL_H

#include "dram/dram.h"
#include "dram/dram_map.h"
#include "engine/engine.h"
#include "llc/llc.h"
#include "llc/organisation.h"

struct channel;

/* Between a channel and its slices. */
struct channel_wiring {
    struct engine *engine;
    uint32_t domain;
    struct slice *const *slices; /* filled before the first operation; those that reach the channel */
    uint32_t slice_count, lane;  /* lane: what the slices know the channel by */
    const uint64_t *pending;     /* bit = slice that has operations */
    const uint64_t *hurry;       /* bit = slice to which it matters when they are accepted */
    bool settles;                /* nobody else waits for that; */
    bool may_be_late;            /* … it need not be in time */
    struct slice *const *all;    /* every slice of the machine */
    const struct slice_spec *slice_spec;
    const struct organisation *organisation;
    const struct pool *requests;
    struct check *check;
};

struct channel *channel_new(struct arena *a, const struct config *c, const struct dram_spec *spec,
                            const struct dram_map *map, const struct channel_wiring *links, const char *name);
/* The slices are there. */
void channel_connect(struct channel *ch);
uint32_t channel_component(const struct channel *ch);

/* For slices: an operation is the first of its lane, due at that tick, later than now. */
void channel_comes(struct channel *ch, uint64_t ready_tick);
/* For slices: everything that was due before this instant is done now, and while wiring.hurry says so what
 * comes is done in time. */
void channel_settle(struct channel *ch);
/* When the engine has stopped: everything that is due by then is done, but nothing of an instant that is not
 * over. */
void channel_finish(struct channel *ch);

/* ---- in windows: gpu/windows.c ---- */

/* It is not woken any more, or is again. */
void channel_in_windows(struct channel *ch, bool on);
/* Everything that is due before a cycle of the slices; the next of that only, false: there is none. */
void channel_work_before(struct channel *ch, uint64_t slice_cyc);
bool channel_work_next(struct channel *ch, uint64_t slice_cyc);
/* Somebody looks at statistics between that and the cycle of the slices: the rest is worked off in time. */
void channel_visit_before(struct channel *ch, uint64_t slice_cyc);
/* When something is due, DRAM_NEVER: nothing. */
uint64_t channel_due(const struct channel *ch);

struct dram_stats *channel_stats(struct channel *ch);

#endif
