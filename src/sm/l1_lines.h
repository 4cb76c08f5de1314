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
/* l1.c: see miss(). */
bool l1_miss(struct sm *sm, const struct line_access *a, uint32_t place, uint64_t now);
/* l1.c: those who wait for sectors that are here now, others who wait for the line. */
void l1_serve_waiters(struct sm *sm, uint32_t mshr, uint64_t now);

/* ---- why lines are missing ---- */

static inline void note_left(struct l1 *l1, uint64_t line, enum l1_left why)
{
    l1->history[l1_history_of(line)] = l1_history_entry(line) | (uint32_t)why;
}

static inline void count_cause(struct l1 *l1, uint64_t line)
{
    /* what is left of the entry when it is the line's */
    const uint32_t why = l1->history[l1_history_of(line)] ^ l1_history_entry(line);
    switch (why < 4 ? (enum l1_left)why : LEFT_NOT) {
    case LEFT_NOT: l1->stats.misses_cold++; break;
    case LEFT_REPLACED: l1->stats.misses_replaced++; break;
    case LEFT_WRITE: l1->stats.misses_write_evict++; break;
    case LEFT_COHERENCE: l1->stats.misses_coherence++; break;
    }
}

/* ---- MSHRs ---- */

/* The MSHR that waits for the line, + 1; 0: none does. */
static inline uint32_t search(const struct l1 *l1, uint16_t first, uint64_t line)
{
    for (uint32_t k = first; k;) {
        const struct l1_mshr *const m = l1_mshr_at(l1, k - 1);
        if (m->line == line) return k;
        k = m->next;
    }
    return 0;
}

/* Nobody finds the MSHR any more. */
static inline void forget(struct l1 *l1, uint32_t mshr, const struct l1_mshr *m)
{
    uint16_t *at = l1_bucket_of(l1, m->hash);
    while (*at != mshr + 1) at = &l1_mshr_at(l1, *at - 1u)->next;
    *at = m->next;
}

/* ---- access ----
 *
 * plain: an SM in windows (gpu/windows.h): nothing is checked, what was worked out at issue holds, and loads
 * that go past the L1 are not asked for. */

/* What is at the place counts no more. */
static inline void empty(struct l1 *l1, uint32_t line)
{
    l1->valid[line] = 0;
    if (l1->copies) check_copy_drop(l1->copies, line, 0);
}

/* --check: what an MSHR has got so far. */
static inline uint32_t copy_of(const struct l1 *l1, uint32_t mshr) { return tags_lines(&l1->tags) + mshr; }

/* A place for the line, of which nothing is there yet; its valid sectors are the caller's to say. */
static inline uint32_t make_room(struct l1 *l1, uint32_t set, uint64_t line, uint32_t hash, bool plain)
{
    if (__builtin_expect(!l1->tags.ordered, 0)) return l1_make_room_by_policy(l1, set, line);
    uint64_t before;
    const uint32_t place = tags_replace(&l1->tags, set, line, hash, &before);
    if (place == TAGS_NONE) return place;
    if (before) {
        l1->stats.evictions++;
        note_left(l1, before - 1, LEFT_REPLACED);
    }
    if (!plain && l1->copies) check_copy_drop(l1->copies, place, 0);
    return place;
}

static inline void add_waiter(struct l1_mshr *m, const struct line_access *a)
{
    if (FAULT_FIRES(l1_forgets_waiter)) return;
    m->waiters[m->waiting++] = (struct mshr_waiter){a->load, a->sectors};
}

/* place: of the line when it is present without these sectors, else TAGS_NONE. plain: nor does it get one
 * before it comes. */
static inline __attribute__((always_inline)) bool miss(struct sm *sm, const struct line_access *a,
                                                       uint32_t set, uint32_t hash, uint16_t *bucket,
                                                       uint32_t place, uint64_t now, bool plain)
{
    struct l1 *const l1 = &sm->l1;
    const struct sm_spec *const spec = sm->spec;
    const bool present = !plain && place != TAGS_NONE;
    uint32_t left = l1->free_count;
    if (!left || sm->outstanding == spec->request_limit ||
        (present && *tags_pins(&l1->tags, place) == UINT8_MAX)) {
        sm->lsu_blocked = &l1->stats.wait_mshr;
        return false;
    }
    if (!plain && sm->misses_count == spec->miss_queue) {
        sm->lsu_blocked = &l1->stats.wait_queue;
        return false;
    }
    uint8_t here = 0;
    if (present) {
        here = l1->valid[place];
    } else if (!plain && !spec->allocate_on_fill) {
        place = make_room(l1, set, a->line, hash, plain);
        if (place == TAGS_NONE) {
            sm->lsu_blocked = &l1->stats.wait_way;
            return false;
        }
        l1->valid[place] = 0;
    }
    l1->free_count = --left;
    if (left < l1->free_least) l1->free_least = left;
    const uint32_t mshr = l1->free[left];
    const uint8_t asked = (a->sectors | l1->whole) & (uint8_t)~here;
    struct l1_mshr *const m = l1_mshr_at(l1, mshr);
    m->line = a->line;
    m->set = set;
    m->hash = hash;
    m->tag_line = plain ? TAGS_NONE : place;
    m->next = *bucket;
    m->asked = asked;
    m->here = here;
    m->stale = false;
    m->waiting = 0;
    add_waiter(m, a);
    *bucket = (uint16_t)(mshr + 1);
    if (!plain && l1->copies) {
        check_copy_drop(l1->copies, copy_of(l1, mshr), now);
        check_copy_from(l1->copies, copy_of(l1, mshr), place, here);
    }
    if (!plain && place != TAGS_NONE) ++*tags_pins(&l1->tags, place);
    l1->stats.reads++;
    l1->stats.misses++;
    if (here)
        l1->stats.misses_sector++;
    else
        count_cause(l1, a->line);
    send_line(sm, a, mshr, asked, now, plain);
    return true;
}

static inline void hit(struct sm *sm, const struct line_access *a, uint32_t place, uint64_t now, bool plain)
{
    struct l1 *const l1 = &sm->l1;
    l1->stats.reads++;
    l1->stats.hits++;
    tags_touch(&l1->tags, place);
    if (!plain && l1->copies) check_load(l1->copies, place, sm->wire.sm_idx, a->load, sm->app, a->line, now);
    load_line_done(sm, a->load, now + sm->spec->l1_latency_cyc - 1, now);
}

/* Neither the line nor an MSHR for it is there. */
static inline bool is_absent(const struct l1 *l1, const struct line_access *a)
{
    return tags_find_near(&l1->tags, a->set, a->line, a->hash) == TAGS_NONE &&
           !search(l1, *l1_bucket_of(l1, a->hash), a->line);
}

/* A load wants sectors of a line; false: not now, sm->lsu_blocked says why. *absent: whether it was found out
 * before, and is now, that neither the line nor an MSHR for it is there. That remains so until it misses:
 * lines come for MSHRs only, and no other access gets one meanwhile. */
static inline __attribute__((always_inline)) bool read_line(struct sm *sm, const struct line_access *a,
                                                            bool *absent, uint64_t now, bool plain)
{
    struct l1 *const l1 = &sm->l1;
    if (!plain && a->flags & REQUEST_UNCACHED) return l1_bypass(sm, a, now);
    const uint32_t set = plain ? a->set : l1_set_of(sm->spec, a->line);
    const uint32_t hash = plain ? a->hash : tags_hash(a->line);
    uint16_t *const bucket = l1_bucket_of(l1, hash);
    uint32_t place = TAGS_NONE;
    if (!*absent) {
        place = tags_find_near(&l1->tags, set, a->line, hash);
        if (place != TAGS_NONE && !(a->sectors & ~l1->valid[place])) {
            hit(sm, a, place, now, plain);
            return true;
        }
        const uint32_t mshr = search(l1, *bucket, a->line);
        if (mshr) return l1_merge(sm, mshr - 1, a, now);
        *absent = place == TAGS_NONE;
    }
    if (plain && (place != TAGS_NONE || !sm->spec->allocate_on_fill)) return l1_miss(sm, a, place, now);
    return miss(sm, a, set, hash, bucket, place, now, plain);
}

/* The line, of which this is here, gets a place if there is one. */
static inline void keep_line(struct l1 *l1, uint32_t mshr, const struct l1_mshr *m, uint8_t here, bool plain)
{
    const uint32_t place = make_room(l1, m->set, m->line, m->hash, plain);
    if (place == TAGS_NONE) return;
    l1->valid[place] = here;
    if (!plain && l1->copies) check_copy_from(l1->copies, place, copy_of(l1, mshr), here);
}

/* Sectors that an MSHR has asked for are here. */
static inline __attribute__((always_inline)) void fill_line(struct sm *sm, uint32_t mshr, uint8_t sectors,
                                                            uint64_t now, bool plain)
{
    struct l1 *const l1 = &sm->l1;
    struct l1_mshr *const m = l1_mshr_at(l1, mshr);
    const uint8_t here = m->here | sectors, asked = m->asked & (uint8_t)~sectors;
    bool over = !asked; /* nobody waits any more: the place can be used, the MSHR too */
    l1->stats.fills++;
    if (__builtin_expect(over && m->waiting == 1 && (plain || !l1->copies), 1)) { /* it has all it wants */
        load_line_done(sm, m->waiters[0].load, now + sm->spec->fill_latency_cyc, now);
    } else {
        m->here = here;
        m->asked = asked;
        l1_serve_waiters(sm, mshr, now);
        over = over && !m->waiting;
    }
    const uint32_t place = m->tag_line;
    const bool stale = m->stale;
    if (place != TAGS_NONE) {
        if (!stale) {
            l1->valid[place] |= FAULT_FIRES(l1_fills_all_sectors) ? SECTORS_ALL : sectors;
            if (!plain && l1->copies) check_copy_from(l1->copies, place, copy_of(l1, mshr), sectors);
        }
        if (over) --*tags_pins(&l1->tags, place);
    }
    if (!over) return;
    if (!stale) {
        if (place == TAGS_NONE) keep_line(l1, mshr, m, here, plain);
        forget(l1, mshr, m);
    }
    l1->free[l1->free_count++] = (uint16_t)mshr;
}

#endif
