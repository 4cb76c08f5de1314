/* l1_lines: what happens to a line of the L1 once per access: looked for, missed, filled. Included by l1.c,
 * which does it for every L1, and by pump.c, which does it in stretches. */
#ifndef ATOLL_SM_L1_LINES_H
#define ATOLL_SM_L1_LINES_H

#include "sm/send.h"

/* ---- why lines are missing ---- */

static inline void note_left(struct l1 *l1, uint64_t line, enum l1_left why)
{
    l1_slot_of(l1, line)->left = l1_left_entry(line) | (uint32_t)why;
}

/* Why it was the line that left its slot last; LEFT_NOT: another one did. */
static inline enum l1_left cause_of(const struct l1_slot *slot, uint64_t line)
{
    const uint32_t why =
        slot->left ^ l1_left_entry(line); /* what is left of the entry when it is the line's */
    return why < 4 ? (enum l1_left)why : LEFT_NOT;
}

static inline void count_cause(struct l1_stats *stats, enum l1_left why)
{
    switch (why) {
    case LEFT_NOT: stats->misses_cold++; break;
    case LEFT_REPLACED: stats->misses_replaced++; break;
    case LEFT_WRITE: stats->misses_write_evict++; break;
    case LEFT_COHERENCE: stats->misses_coherence++; break;
    }
}

/* ---- MSHRs ---- */

/* The MSHR that waits for the line, + 1; 0: none does. */
static inline uint32_t search(const struct l1 *l1, const struct l1_slot *slot, uint64_t line)
{
    for (uint32_t k = slot->mshr; k;) {
        const struct l1_mshr *const m = l1_mshr_at(l1, k - 1);
        if (m->line == line) return k;
        k = m->next;
    }
    return 0;
}

/* Nobody finds the MSHR any more. */
static inline void forget(struct l1 *l1, struct l1_slot *slot, uint32_t mshr, const struct l1_mshr *m)
{
    uint16_t *at = &slot->mshr;
    while (*at != mshr + 1) at = &l1_mshr_at(l1, *at - 1u)->next;
    *at = m->next;
}

/* It may become more than plain: what was not set is what it has been so far. */
static inline void l1_unfold(struct l1_mshr *m)
{
    if (!m->plain) return;
    const struct mshr_access access = m->access;
    m->plain = false;
    m->used = true;
    m->stale = false;
    m->tag_line = TAGS_NONE;
    m->asked = access.sectors;
    m->here = 0;
    m->waiting = 1;
    m->waiters[0] = (struct mshr_waiter){access.load, access.sectors};
}

/* ---- places ---- */

/* A line made room for another. */
static inline void note_evicted(struct l1 *l1, uint64_t line)
{
    l1->stats.evictions++;
    note_left(l1, line, LEFT_REPLACED);
}

static inline void hit(struct sm *sm, const struct line_access *a, uint32_t place, uint64_t now)
{
    struct l1 *const l1 = &sm->l1;
    l1->stats.reads++;
    l1->stats.hits++;
    tags_touch(&l1->tags, place);
    if (l1->copies) check_load(l1->copies, place, sm->wire.sm_idx, a->load, sm->app, a->line, now);
    load_line_done(sm, a->load, now + sm->spec->l1_latency_cyc - 1, now);
}

#endif
