/* l1: the first-level data cache of an SM: write-through, no allocation on a write, misses merge in MSHRs.
 *
 * A missing line keeps an MSHR with the loads that wait for it. With `on_miss` it also keeps a place
 * (pinned); with `on_fill` the place is chosen when the line comes. */
#include <string.h>

#include "base/map.h"
#include "sm/send.h"

void l1_init(struct l1 *l1, struct arena *a, const struct sm_spec *spec, uint32_t sm_idx)
{
    tags_init(&l1->tags, a, spec->sets, spec->ways, spec->replacement, spec->seed + sm_idx);
    l1->valid = ARENA_ARRAY(a, uint8_t, tags_lines(&l1->tags));
    /* an MSHR and those who wait for it begin with a cache line, or share one with another */
    uint32_t size = (uint32_t)(sizeof(struct l1_mshr) + spec->mshr_merges * sizeof(struct mshr_waiter));
    size = size <= 32 ? 32 : (size + 63) / 64 * 64;
    l1->mshr_bytes = size;
    l1->mshrs = ARENA_ARRAY(a, uint8_t, (size_t)spec->mshrs * size);
    l1->free = ARENA_ARRAY(a, uint16_t, spec->mshrs);
    for (uint32_t i = 0; i < spec->mshrs; i++) l1->free[i] = (uint16_t)(spec->mshrs - 1 - i);
    l1->free_count = spec->mshrs;
    uint32_t buckets = 4;
    while (buckets < spec->mshrs * 2) buckets *= 2;
    l1->buckets = ARENA_ARRAY(a, struct l1_bucket, buckets);
    l1->bucket_mask = buckets - 1;
    l1->history = ARENA_ARRAY(a, uint32_t, L1_HISTORY);
    l1->coming_line = UINT64_MAX;
}

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

static inline uint32_t search(const struct l1 *l1, uint64_t line)
{
    const uint32_t home = l1_bucket_of(l1, line);
    uint32_t b = home;
    for (struct l1_bucket k; (k = l1->buckets[b]).mshr; b = (b + 1) & l1->bucket_mask)
        if (k.home == home && l1_mshr_at(l1, k.mshr - 1u)->line == line) break;
    return b;
}

/* Nobody finds the MSHR any more. */
static inline void forget(struct l1 *l1, uint32_t mshr)
{
    const uint32_t mask = l1->bucket_mask;
    uint32_t hole = l1_mshr_at(l1, mshr)->bucket;
    for (uint32_t b = (hole + 1) & mask; l1->buckets[b].mshr; b = (b + 1) & mask) {
        const struct l1_bucket k = l1->buckets[b];
        if (((b - k.home) & mask) < ((b - hole) & mask)) continue;
        l1->buckets[hole] = k;
        l1_mshr_at(l1, k.mshr - 1u)->bucket = hole;
        hole = b;
    }
    l1->buckets[hole].mshr = 0;
}

/* What is on its way was read too early for whoever asks from now on: they ask again. */
static void overtake(struct l1 *l1, uint32_t mshr, enum l1_left why)
{
    forget(l1, mshr);
    note_left(l1, l1_mshr_at(l1, mshr)->line, why);
    l1_mshr_at(l1, mshr)->stale = true;
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

static void throw_out(struct l1 *l1, uint32_t line, enum l1_left why)
{
    note_left(l1, tags_key(&l1->tags, line), why);
    tags_drop(&l1->tags, line);
    empty(l1, line);
}

/* Replacement policies that need more than an order. */
static __attribute__((noinline)) uint32_t make_room_by_policy(struct l1 *l1, uint32_t set, uint64_t line)
{
    const uint32_t place = tags_victim(&l1->tags, set);
    if (place == TAGS_NONE) return place;
    if (tags_used(&l1->tags, place)) {
        l1->stats.evictions++;
        throw_out(l1, place, LEFT_REPLACED);
    }
    tags_fill(&l1->tags, place, line);
    empty(l1, place);
    return place;
}

static inline uint32_t make_room(struct l1 *l1, uint32_t set, uint64_t line)
{
    if (!l1->tags.ordered) return make_room_by_policy(l1, set, line);
    uint64_t before;
    const uint32_t place = tags_replace(&l1->tags, set, line, &before);
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

/* The line is on its way: wait with the others, and ask for what they have not asked for. */
static __attribute__((noinline)) bool merge(struct sm *sm, uint32_t mshr, const struct line_access *a,
                                            uint64_t now)
{
    struct l1_mshr *m = l1_mshr_at(&sm->l1, mshr);
    const uint8_t missing = a->sectors & (uint8_t) ~(m->asked | m->here);
    if (m->waiting == sm->spec->mshr_merges) {
        sm->lsu_blocked = &sm->l1.stats.wait_mshr;
        return false;
    }
    if (missing && !lsu_send(sm, a, mshr, missing, now)) return false;
    m->asked |= missing;
    add_waiter(sm, mshr, a);
    sm->l1.stats.reads++;
    if (missing) {
        sm->l1.stats.misses++;
        sm->l1.stats.misses_sector++;
    } else {
        sm->l1.stats.merged++;
    }
    return true;
}

/* place: of the line when it is present without these sectors, else TAGS_NONE. */
static inline bool miss(struct sm *sm, const struct line_access *a, uint32_t set, uint32_t place,
                        uint32_t bucket, uint64_t now)
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
    m->bucket = bucket;
    m->tag_line = place;
    m->waiting = 0;
    m->asked = asked;
    m->here = present ? l1->valid[place] : 0;
    m->stale = false;
    l1->buckets[bucket] =
        (struct l1_bucket){.mshr = (uint16_t)(mshr + 1), .home = (uint16_t)l1_bucket_of(l1, a->line)};
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

static __attribute__((noinline)) bool bypass(struct sm *sm, const struct line_access *a, uint64_t now)
{
    const uint8_t wanted = sm->spec->sectored ? a->sectors : SECTORS_ALL;
    if (!lsu_send(sm, a, a->load | 1u << 31, wanted, now)) return false;
    sm->l1.stats.reads++;
    sm->l1.stats.bypassed++;
    return true;
}

bool l1_read(struct sm *sm, const struct line_access *a, uint64_t now)
{
    struct l1 *l1 = &sm->l1;
    if (a->flags & REQUEST_UNCACHED) return bypass(sm, a, now);
    const uint32_t set = a->line == l1->coming_line ? l1->coming_set : l1_set_of(sm->spec, a->line);
    const uint32_t place = tags_find(&l1->tags, set, a->line);
    if (place != TAGS_NONE && !(a->sectors & ~l1->valid[place])) {
        l1->stats.reads++;
        l1->stats.hits++;
        tags_touch(&l1->tags, place);
        if (l1->copies) check_load(l1->copies, place, sm->wire.sm_idx, a->load, sm->app, a->line, now);
        load_line_done(sm, a->load, now + sm->spec->l1_latency_cyc - 1, now);
        return true;
    }
    const uint32_t bucket = search(l1, a->line);
    if (l1->buckets[bucket].mshr) return merge(sm, l1->buckets[bucket].mshr - 1u, a, now);
    return miss(sm, a, set, place, bucket, now);
}

void l1_write(struct sm *sm, const struct line_access *a, uint64_t now)
{
    struct l1 *l1 = &sm->l1;
    const uint32_t place = tags_find(&l1->tags, l1_set_of(sm->spec, a->line), a->line),
                   bucket = search(l1, a->line);
    l1->stats.writes++;
    if (l1->buckets[bucket].mshr && !FAULT_FIRES(l1_keeps_overtaken))
        overtake(l1, l1->buckets[bucket].mshr - 1u, LEFT_WRITE);
    if (place == TAGS_NONE) return;
    l1->stats.write_hits++;
    if (FAULT_FIRES(l1_keeps_after_store)) return;
    if (*tags_pins(&l1->tags, place))
        empty(l1, place);
    else if (a->kind != REQUEST_WRITE || !sm->spec->write_updates)
        throw_out(l1, place, LEFT_WRITE);
    else if (l1->copies)
        check_copy_update(l1->copies, place, sm->wire.sm_idx, now);
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

/* Those who wait for sectors that are here now. */
static __attribute__((noinline)) void serve_waiters(struct sm *sm, uint32_t mshr, uint64_t now)
{
    struct l1 *l1 = &sm->l1;
    struct l1_mshr *m = l1_mshr_at(l1, mshr);
    struct mshr_waiter *const waiters = m->waiters;
    uint16_t rest = 0;
    for (uint16_t k = 0; k < m->waiting; k++) {
        const struct mshr_waiter w = waiters[k];
        if (w.sectors & ~m->here) {
            waiters[rest++] = w;
            continue;
        }
        if (l1->copies)
            check_load(l1->copies, copy_of(l1, mshr), sm->wire.sm_idx, w.load, sm->app, m->line, now);
        load_line_done(sm, w.load, now + sm->spec->fill_latency_cyc, now);
    }
    m->waiting = rest;
}

void l1_fill(struct sm *sm, uint32_t mshr, uint8_t sectors, uint64_t now)
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
        serve_waiters(sm, mshr, now);
    }
    if (m->tag_line != TAGS_NONE && !m->stale) {
        l1->valid[m->tag_line] |= FAULT_FIRES(l1_fills_all_sectors) ? SECTORS_ALL : sectors;
        if (l1->copies) check_copy_from(l1->copies, m->tag_line, copy_of(l1, mshr), sectors);
    }
    if (m->waiting || m->asked) return;
    release(sm, mshr);
}

void sm_expect(const void *self, const struct request *r)
{
    const struct sm *sm = self;
    const struct l1 *l1 = &sm->l1;
    if (r->kind != REQUEST_READ || r->owner >= sm->spec->mshrs) return; /* of no MSHR */
    __builtin_prefetch(l1_mshr_at(l1, r->owner), 1);
    __builtin_prefetch(&l1->buckets[l1_bucket_of(l1, r->line)], 1);
    tags_fetch(&l1->tags, l1_set_of(sm->spec, r->line));
}

void sm_acquire(struct sm *sm, bool keep)
{
    if (sm->wire.check) check_acquire(sm->wire.check, sm->wire.sm_idx);
    if (sm->wire.epoch) llc_epoch_change(sm->wire.epoch, engine_tick(sm->wire.engine));
    if (!keep) l1_invalidate(sm);
    if (sm->wire.acquired) sm->wire.acquired(sm->wire.acquired_self, sm->wire.sm_idx);
}

void l1_invalidate(struct sm *sm)
{
    struct l1 *l1 = &sm->l1;
    for (uint32_t b = 0; b <= l1->bucket_mask; b++)
        while (l1->buckets[b].mshr) overtake(l1, l1->buckets[b].mshr - 1u, LEFT_COHERENCE);
    for (uint32_t line = 0; line < tags_lines(&l1->tags); line++) {
        if (!tags_used(&l1->tags, line)) continue;
        l1->stats.invalidations++;
        if (*tags_pins(&l1->tags, line))
            empty(l1, line);
        else
            throw_out(l1, line, LEFT_COHERENCE);
    }
}
