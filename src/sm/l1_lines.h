/* l1_lines: what happens to a line of the L1 once per access: looked for, missed, filled. Included by l1.c
 * and by pump.c, in which a line is one piece of code from the coalescer to the network. */
#ifndef ATOLL_SM_L1_LINES_H
#define ATOLL_SM_L1_LINES_H

#include "sm/send.h"

/* l1.c: replacement policies that need more than an order. */
uint32_t l1_make_room_by_policy(struct l1 *l1, uint32_t set, uint64_t line);
/* l1.c: the line is on its way: wait with the others; and loads that go past the L1. */
bool l1_merge(struct sm *sm, uint32_t mshr, const struct line_access *a, uint64_t now);
bool l1_bypass(struct sm *sm, const struct line_access *a, uint64_t now);
/* l1.c: those who wait for sectors that are here now, others who wait for the line. */
void l1_serve_waiters(struct sm *sm, uint32_t mshr, uint64_t now);

/* ---- why lines are missing ---- */

static inline void note_left(struct l1 *l1, uint64_t line, enum l1_left why)
{
    l1->history[l1_history_of(line)] = l1_history_entry(line) | (uint32_t)why;
}

static inline void count_cause(struct l1 *l1, uint64_t line)
{
    const uint32_t h = l1->history[l1_history_of(line)];
    switch ((h & ~3u) == l1_history_entry(line) ? (enum l1_left)(h & 3) : LEFT_NOT) {
    case LEFT_NOT: l1->stats.misses_cold++; break;
    case LEFT_REPLACED: l1->stats.misses_replaced++; break;
    case LEFT_WRITE: l1->stats.misses_write_evict++; break;
    case LEFT_COHERENCE: l1->stats.misses_coherence++; break;
    }
}

/* ---- MSHRs ---- */

/* Found by their line: lists by bucket, in most of which there is one at most. */
static inline uint16_t *bucket_of(const struct l1 *l1, uint64_t line)
{
    return &l1->buckets[l1_bucket_of(l1, line)];
}

/* The MSHR that waits for the line, + 1; 0: none does. */
static inline uint32_t search(const struct l1 *l1, uint16_t first, uint64_t line)
{
    uint32_t k = first;
    while (k && l1_mshr_at(l1, k - 1)->line != line) k = l1_mshr_at(l1, k - 1)->next;
    return k;
}

/* Nobody finds the MSHR any more. */
static inline void forget(struct l1 *l1, uint32_t mshr)
{
    uint16_t *at = bucket_of(l1, l1_mshr_at(l1, mshr)->line);
    while (*at != mshr + 1) at = &l1_mshr_at(l1, *at - 1u)->next;
    *at = l1_mshr_at(l1, mshr)->next;
}

/* ---- access ---- */

/* What is at the place counts no more. */
static inline void empty(struct l1 *l1, uint32_t line)
{
    l1->valid[line] = 0;
    if (l1->copies) check_copy_drop(l1->copies, line, 0);
}

/* --check: what an MSHR has got so far. */
static inline uint32_t copy_of(const struct l1 *l1, uint32_t mshr) { return tags_lines(&l1->tags) + mshr; }

static inline uint32_t make_room(struct l1 *l1, uint32_t set, uint64_t line)
{
    if (!l1->tags.ordered) return l1_make_room_by_policy(l1, set, line);
    uint64_t before;
    const uint32_t place = tags_replace(&l1->tags, set, line, tags_hint(line), &before);
    if (place == TAGS_NONE) return place;
    if (before) {
        l1->stats.evictions++;
        note_left(l1, before - 1, LEFT_REPLACED);
    }
    empty(l1, place);
    return place;
}

static inline void add_waiter(struct sm *sm, uint32_t mshr, const struct line_access *a)
{
    struct l1_mshr *m = l1_mshr_at(&sm->l1, mshr);
    if (FAULT_FIRES(l1_forgets_waiter)) return;
    m->waiters[m->waiting++] = (struct mshr_waiter){a->load, a->sectors};
}

/* place: of the line when it is present without these sectors, else TAGS_NONE. */
static inline bool miss(struct sm *sm, const struct line_access *a, uint32_t set, uint32_t place,
                        uint16_t *bucket, uint64_t now)
{
    struct l1 *l1 = &sm->l1;
    const bool present = place != TAGS_NONE;
    if (!l1->free_count || sm->outstanding == sm->spec->request_limit ||
        (present && *tags_pins(&l1->tags, place) == UINT8_MAX)) {
        sm->lsu_blocked = &l1->stats.wait_mshr;
        return false;
    }
    if (sm->misses_count == sm->spec->miss_queue) {
        sm->lsu_blocked = &l1->stats.wait_queue;
        return false;
    }
    if (!present && !sm->spec->allocate_on_fill) {
        place = make_room(l1, set, a->line);
        if (place == TAGS_NONE) {
            sm->lsu_blocked = &l1->stats.wait_way;
            return false;
        }
    }
    const uint32_t mshr = l1->free[--l1->free_count];
    const uint8_t wanted = sm->spec->sectored ? a->sectors : SECTORS_ALL;
    const uint8_t asked = present ? wanted & (uint8_t)~l1->valid[place] : wanted;
    struct l1_mshr *const m = l1_mshr_at(l1, mshr);
    m->line = a->line;
    m->set = set;
    m->next = *bucket;
    m->tag_line = place;
    m->waiting = 0;
    m->asked = asked;
    m->here = present ? l1->valid[place] : 0;
    m->stale = false;
    *bucket = (uint16_t)(mshr + 1);
    if (l1->copies) {
        check_copy_drop(l1->copies, copy_of(l1, mshr), now);
        check_copy_from(l1->copies, copy_of(l1, mshr), place, m->here);
    }
    if (place != TAGS_NONE) ++*tags_pins(&l1->tags, place);
    add_waiter(sm, mshr, a);
    stats_peak(&l1->stats.mshr_peak, sm->spec->mshrs - l1->free_count);
    l1->stats.reads++;
    l1->stats.misses++;
    if (present && l1->valid[place])
        l1->stats.misses_sector++;
    else
        count_cause(l1, a->line);
    send_line(sm, a, mshr, asked, now);
    return true;
}

/* A load wants sectors of a line; false: not now, sm->lsu_blocked says why. */
static inline __attribute__((always_inline)) bool read_line(struct sm *sm, const struct line_access *a,
                                                            uint64_t now)
{
    struct l1 *l1 = &sm->l1;
    if (a->flags & REQUEST_UNCACHED) return l1_bypass(sm, a, now);
    const uint32_t set = l1_set_of(sm->spec, a->line);
    const uint32_t place = tags_find(&l1->tags, set, a->line);
    if (place != TAGS_NONE && !(a->sectors & ~l1->valid[place])) {
        l1->stats.reads++;
        l1->stats.hits++;
        tags_touch(&l1->tags, place);
        if (l1->copies) check_load(l1->copies, place, sm->wire.sm_idx, a->load, sm->app, a->line, now);
        load_line_done(sm, a->load, now + sm->spec->l1_latency_cyc - 1, now);
        return true;
    }
    uint16_t *const bucket = bucket_of(l1, a->line);
    const uint32_t mshr = search(l1, *bucket, a->line);
    return mshr ? l1_merge(sm, mshr - 1, a, now) : miss(sm, a, set, place, bucket, now);
}

/* Nobody waits any more: the place can be used, the MSHR too. */
static inline void release(struct sm *sm, uint32_t mshr)
{
    struct l1 *l1 = &sm->l1;
    const struct l1_mshr *m = l1_mshr_at(l1, mshr);
    if (m->tag_line != TAGS_NONE) {
        --*tags_pins(&l1->tags, m->tag_line);
    } else if (!m->stale) {
        const uint32_t place = make_room(l1, m->set, m->line);
        if (place != TAGS_NONE) {
            l1->valid[place] = m->here;
            if (l1->copies) check_copy_from(l1->copies, place, copy_of(l1, mshr), m->here);
        }
    }
    if (!m->stale) forget(l1, mshr);
    l1->free[l1->free_count++] = (uint16_t)mshr;
}

/* Sectors that an MSHR has asked for are here. */
static inline __attribute__((always_inline)) void fill_line(struct sm *sm, uint32_t mshr, uint8_t sectors,
                                                            uint64_t now)
{
    struct l1 *l1 = &sm->l1;
    struct l1_mshr *m = l1_mshr_at(l1, mshr);
    m->here |= sectors;
    m->asked &= (uint8_t)~sectors;
    l1->stats.fills++;
    if (__builtin_expect(m->waiting == 1 && !m->asked && !l1->copies, 1)) { /* all that it wants is here */
        load_line_done(sm, m->waiters[0].load, now + sm->spec->fill_latency_cyc, now);
        m->waiting = 0;
    } else {
        l1_serve_waiters(sm, mshr, now);
    }
    if (m->tag_line != TAGS_NONE && !m->stale) {
        l1->valid[m->tag_line] |= FAULT_FIRES(l1_fills_all_sectors) ? SECTORS_ALL : sectors;
        if (l1->copies) check_copy_from(l1->copies, m->tag_line, copy_of(l1, mshr), sectors);
    }
    if (m->waiting || m->asked) return;
    release(sm, mshr);
}

#endif
