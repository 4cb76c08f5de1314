/* engine_inline: the part of the engine that components reach without a call. Include engine.h instead.
 *
 * The wake-ups of a clock domain are bits in a wheel of 256 cycles:
 *
 *   row      of 64 components: one word per cycle of the wheel, one bit per component
 *   summary  of the domain: one word per cycle, one bit per row (or group of 2^n rows) with a bit
 *   far      wake-ups beyond the wheel: one bit per component, the cycle stands in the component
 *
 * So a wake-up is two words changed, and the components due in a cycle come out in the order of their
 * registration without sorting. wakes.c has the rest: replacing, far, other domains.
 *
 * Fields are the engine's: nobody else writes them. */
#ifndef ATOLL_ENGINE_INLINE_H
#define ATOLL_ENGINE_INLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "engine/engine.h"
#include "stats/stats.h"

/* Cycles stay below 2^56 (600 days at 1.4 GHz), so that a wake-up cycle that has passed shows in the top
 * eight bits of a difference. */
#define ENGINE_CYCLE_LOG2 56
/* open_cyc of a domain that is not being stepped: no cycle is near it. */
#define ENGINE_CLOSED (1ull << 63)

enum {
    ENGINE_SLOTS = 256,
    ENGINE_NEAR = 255, /* cycles ahead that fit: one slot is that of the cycle under way */
    ENGINE_ROW_WORDS =
        ENGINE_SLOTS + 8, /* a cache line more, or all rows would meet in the same cache sets */
    ENGINE_DOMAINS_MAX = 16
};

/* What asking for a wake-up and a visit need: one cache line. */
struct engine_component {
    uint64_t wake_cyc; /* pending wake-up; none when it lies before the domain's base_cyc */
    uint64_t *row;
    uint64_t bit, group; /* in the row, in the summary */
    struct engine_clock *clock;
    uint64_t asked; /* when it was asked for: open_cyc, or ENGINE_CLOSED + tick from elsewhere */
    void *self;     /* argument of the following */
    void (*wake)(void *self, uint64_t now_cyc);
};

/* One clock domain. */
struct engine_clock {
    uint64_t summary[ENGINE_SLOTS];
    uint64_t open_cyc;          /* = base_cyc while the domain is being stepped, else ENGINE_CLOSED */
    uint64_t asked_count;       /* wake-ups scheduled so far */
    uint64_t now_cyc, now_tick; /* of the last visit */
    uint64_t ticks_per_cycle, cycles_per_tick; /* the latter as a fraction of 2^64 */
    uint64_t last_cyc;                         /* no wake-up later than this */
    uint64_t base_cyc;                         /* first cycle in which a wake-up may be pending */
    uint64_t next_cyc;                         /* no wake-up is pending before it; ENGINE_NEVER = none */
    uint64_t far_cyc;                          /* no wake-up of far is pending before it */
    uint64_t far_count, visited_count;
    uint64_t counted;       /* part of asked_count that is in the statistics */
    uint64_t unwatched_cyc; /* see engine_unwatched_until() */
    uint64_t *far;
    uint64_t **rows; /* per 64 components; NULL where none of them is in this domain */
};

/* Every struct engine begins with this. */
struct engine_front {
    struct engine_component *components;
    uint32_t component_count;
    uint64_t tick;
    uint64_t open_tick;     /* first instant that may be asked for */
    uint64_t progress_tick; /* when something moved last */
    struct engine_clock *clocks[ENGINE_DOMAINS_MAX];
    struct engine_stats stats;
};

/* The wake-ups that are not the common case. */
void engine_wake_other(struct engine *e, uint32_t component, uint64_t at_cyc);

/* Edges of a domain up to and including a tick (edge 0 is at tick 0). The product falls short by less than
 * one cycle. */
static inline uint64_t engine_edges(const struct engine_clock *k, uint64_t tick)
{
    const uint64_t cycles = (uint64_t)(((unsigned __int128)tick * k->cycles_per_tick) >> 64);
    return cycles + (tick - cycles * k->ticks_per_cycle >= k->ticks_per_cycle);
}

/* Whole cycles of a domain in so many ticks: a division without one. */
static inline uint64_t engine_cycles(const struct engine *e, uint32_t domain, uint64_t ticks)
{
    return engine_edges(((const struct engine_front *)e)->clocks[domain], ticks);
}

static inline uint64_t engine_clock_now(const struct engine_front *f, const struct engine_clock *k)
{
    return k->now_tick == f->tick ? k->now_cyc : engine_edges(k, f->tick);
}

static inline uint64_t engine_now(const struct engine *e, uint32_t domain)
{
    const struct engine_front *f = (const struct engine_front *)e;
    return engine_clock_now(f, f->clocks[domain]);
}

static inline uint64_t engine_unwatched_until(const struct engine *e, uint32_t domain)
{
    return ((const struct engine_front *)e)->clocks[domain]->unwatched_cyc;
}

static inline uint64_t engine_tick(const struct engine *e) { return ((const struct engine_front *)e)->tick; }

static inline void engine_progress(struct engine *e)
{
    struct engine_front *f = (struct engine_front *)e;
    f->progress_tick = f->tick;
}

/* The component is one that engine_add() gave: checked in engine_wake_other() only, for the sake of speed. */
static inline void engine_wake(struct engine *e, uint32_t component, uint64_t at_cyc)
{
    struct engine_component *c = &((struct engine_front *)e)->components[component];
    struct engine_clock *k = c->clock;
    const uint64_t open_cyc = k->open_cyc, ahead = at_cyc - open_cyc;
    /* The right side is 255 when none is pending, as the difference is then negative, and 0 when one is:
     * one test for "none pending, near, in the domain being stepped". */
    if (__builtin_expect(ahead < (c->wake_cyc - open_cyc) >> ENGINE_CYCLE_LOG2, 1)) {
        const uint32_t slot = (uint32_t)at_cyc % ENGINE_SLOTS;
        const uint64_t bit = c->bit, group = c->group;
        c->wake_cyc = at_cyc;
        c->asked = open_cyc;
        c->row[slot] |= bit;
        k->summary[slot] |= group;
        k->asked_count++;
    } else {
        /* Read anew, or a register kept for this case costs the common one an instruction. */
        const uint64_t pending = *(volatile const uint64_t *)&c->wake_cyc - open_cyc;
        const bool earlier_pending = pending <= ahead && ahead >> ENGINE_CYCLE_LOG2 == 0;
        if (!earlier_pending) engine_wake_other(e, component, at_cyc);
    }
}

static inline void engine_wake_at_tick(struct engine *e, uint32_t component, uint64_t tick)
{
    const struct engine_front *f = (const struct engine_front *)e;
    DIAG_ASSERT(component < f->component_count);
    if (tick == ENGINE_NEVER) return;
    const struct engine_clock *k = f->components[component].clock;
    const uint64_t from = tick > f->open_tick ? tick : f->open_tick;
    if (from <= k->now_tick + k->ticks_per_cycle && k->open_cyc != ENGINE_CLOSED)
        engine_wake(e, component, k->open_cyc); /* the next edge of the domain being stepped */
    else
        engine_wake(e, component, engine_edges(k, from + k->ticks_per_cycle - 1));
}

#endif
