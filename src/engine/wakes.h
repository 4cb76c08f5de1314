/* wakes: the pending wake-ups of one clock domain, as bits (engine_inline.h has the picture).
 *
 *   engine_wake() ── near ─► row, summary ◄── once per half turn ── far ◄── beyond the wheel
 *                                  │
 *                                  └─► wakes_take(): due components, in the order of registration
 *
 * Asking costs the same however many are pending. Finding the next cycle looks at one word per cycle that is
 * skipped. Private to engine/. */
#ifndef ATOLL_ENGINE_WAKES_H
#define ATOLL_ENGINE_WAKES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

void wakes_init_clock(struct engine *e, struct engine_clock *k, uint64_t ticks_per_cycle);
/* Gives the component, whose clock is set, its bits. */
void wakes_add_component(struct engine *e, uint32_t component);

/* Is a wake-up of far due in next_cyc? An earlier one may have replaced it since: then finds far_cyc. */
bool wakes_far_due(const struct engine *e, struct engine_clock *k);
/* Moves from far what fits the wheel that begins with 'cycle'. */
void wakes_bring_near(const struct engine *e, struct engine_clock *k, uint64_t cycle);
/* Finds next_cyc. */
void wakes_find_next(struct engine_clock *k);
/* Wake-ups that it holds, by walking. */
uint64_t wakes_count(const struct engine *e, const struct engine_clock *k);

/* Is anything due in next_cyc? */
static inline bool wakes_due(const struct engine *e, struct engine_clock *k)
{
    return k->summary[k->next_cyc % ENGINE_SLOTS] || wakes_far_due(e, k);
}

/* Moves the clock to 'cycle' <= next_cyc and opens it for wake-ups of later cycles. */
static inline void wakes_open(const struct engine *e, struct engine_clock *k, uint64_t cycle, uint64_t tick)
{
    if (k->far_cyc - cycle < ENGINE_SLOTS / 2) wakes_bring_near(e, k, cycle);
    k->now_cyc = cycle;
    k->now_tick = tick;
    k->base_cyc = k->open_cyc = cycle + 1;
}

/* After the visits, of which 'visited' were wake-ups. */
static inline void wakes_close(struct engine_clock *k, uint64_t visited)
{
    k->open_cyc = ENGINE_CLOSED;
    k->visited_count += visited;
    if (k->summary[k->base_cyc % ENGINE_SLOTS])
        k->next_cyc = k->base_cyc;
    else if (k->asked_count == k->visited_count)
        k->next_cyc = ENGINE_NEVER;
    else
        wakes_find_next(k);
}

/* Takes the wake-ups of 64 components off. */
static inline uint64_t wakes_take(const struct engine_clock *k, uint32_t word, uint32_t slot)
{
    uint64_t *const row = k->rows[word];
    if (!row) return 0;
    const uint64_t bits = row[slot];
    row[slot] = 0;
    return bits;
}

#endif
