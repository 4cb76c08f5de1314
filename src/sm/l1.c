/* l1: the first-level data cache of an SM: write-through, no allocation on a write, misses merge in MSHRs.
 *
 * A missing line keeps an MSHR with the loads that wait for it. With `on_miss` it also keeps a place
 * (pinned); with `on_fill` the place is chosen when the line comes. */
#include <string.h>

#include "base/map.h"
#include "sm/l1_lines.h"

void l1_init(struct l1 *l1, struct arena *a, const struct sm_spec *spec, uint32_t sm_idx)
{
    tags_init(&l1->tags, a, spec->sets, spec->ways, spec->replacement, spec->seed + sm_idx);
    l1->valid = ARENA_ARRAY(a, uint8_t, tags_lines(&l1->tags));
    /* an MSHR and those who wait for it begin with a cache line, or share one with another */
    uint32_t size =
        (uint32_t)(offsetof(struct l1_mshr, waiters) + spec->mshr_merges * sizeof(struct mshr_waiter));
    size = size <= 32 ? 32 : (size + 63) / 64 * 64;
    l1->mshr_bytes = size;
    l1->mshrs = ARENA_ARRAY(a, uint8_t, (size_t)spec->mshrs * size);
    l1->free = ARENA_ARRAY(a, uint16_t, spec->mshrs);
    for (uint32_t i = 0; i < spec->mshrs; i++) l1->free[i] = (uint16_t)(spec->mshrs - 1 - i);
    l1->free_count = l1->free_least = spec->mshrs;
    l1->whole = spec->sectored ? 0 : SECTORS_ALL;
    uint32_t buckets = 4;
    while (buckets < spec->mshrs * 8) buckets *= 2; /* few hold more than one: others are not looked at */
    l1->buckets = ARENA_ARRAY(a, uint16_t, buckets);
    l1->bucket_mask = buckets - 1;
    l1->history = ARENA_ARRAY(a, uint32_t, L1_HISTORY);
}

/* What is on its way was read too early for whoever asks from now on: they ask again. */
static void overtake(struct l1 *l1, uint32_t mshr, enum l1_left why)
{
    struct l1_mshr *const m = l1_mshr_at(l1, mshr);
    forget(l1, mshr, m);
    note_left(l1, m->line, why);
    m->stale = true;
}

static void throw_out(struct l1 *l1, uint32_t line, enum l1_left why)
{
    note_left(l1, tags_key(&l1->tags, line), why);
    tags_drop(&l1->tags, line);
    empty(l1, line);
}

/* Replacement policies that need more than an order. */
uint32_t l1_make_room_by_policy(struct l1 *l1, uint32_t set, uint64_t line)
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

/* The line is on its way: wait with the others, and ask for what they have not asked for. */
bool l1_merge(struct sm *sm, uint32_t mshr, const struct line_access *a, uint64_t now)
{
    struct l1_mshr *m = l1_mshr_at(&sm->l1, mshr);
    const uint8_t missing = a->sectors & (uint8_t) ~(m->asked | m->here);
    if (m->waiting == sm->spec->mshr_merges) {
        sm->lsu_blocked = &sm->l1.stats.wait_mshr;
        return false;
    }
    if (missing && !lsu_send(sm, a, mshr, missing, now)) return false;
    m->asked |= missing;
    add_waiter(m, a);
    sm->l1.stats.reads++;
    if (missing) {
        sm->l1.stats.misses++;
        sm->l1.stats.misses_sector++;
    } else {
        sm->l1.stats.merged++;
    }
    return true;
}

bool l1_miss(struct sm *sm, const struct line_access *a, uint32_t place, uint64_t now)
{
    const uint32_t hash = tags_hash(a->line);
    return miss(sm, a, l1_set_of(sm->spec, a->line), hash, l1_bucket_of(&sm->l1, hash), place, now, false);
}

bool l1_bypass(struct sm *sm, const struct line_access *a, uint64_t now)
{
    if (!lsu_send(sm, a, a->load | 1u << 31, a->sectors | sm->l1.whole, now)) return false;
    sm->l1.stats.reads++;
    sm->l1.stats.bypassed++;
    return true;
}

bool l1_read(struct sm *sm, const struct line_access *a, uint64_t now)
{
    bool absent = false;
    return read_line(sm, a, &absent, now, false);
}

void l1_write(struct sm *sm, const struct line_access *a, uint64_t now)
{
    struct l1 *l1 = &sm->l1;
    const uint32_t hash = tags_hash(a->line), set = l1_set_of(sm->spec, a->line);
    const uint32_t place = tags_find_near(&l1->tags, set, a->line, hash),
                   mshr = search(l1, *l1_bucket_of(l1, hash), a->line);
    l1->stats.writes++;
    if (mshr && !FAULT_FIRES(l1_keeps_overtaken)) overtake(l1, mshr - 1, LEFT_WRITE);
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

/* Those who wait for sectors that are here now. */
void l1_serve_waiters(struct sm *sm, uint32_t mshr, uint64_t now)
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
    fill_line(sm, mshr, sectors, now, false);
}

void sm_expect(const void *self, const struct request *r)
{
    const struct sm *sm = self;
    const struct l1 *l1 = &sm->l1;
    if (r->kind != REQUEST_READ || r->owner >= sm->spec->mshrs) return; /* of no MSHR */
    __builtin_prefetch(l1_mshr_at(l1, r->owner), 1);
    __builtin_prefetch(l1_bucket_of(l1, tags_hash(r->line)), 1);
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
    for (uint32_t b = 0; b <= l1->bucket_mask && l1->free_count != sm->spec->mshrs; b++)
        while (l1->buckets[b]) overtake(l1, l1->buckets[b] - 1u, LEFT_COHERENCE);
    for (uint32_t line = 0; line < tags_lines(&l1->tags); line++) {
        if (!tags_used(&l1->tags, line)) continue;
        l1->stats.invalidations++;
        if (*tags_pins(&l1->tags, line))
            empty(l1, line);
        else
            throw_out(l1, line, LEFT_COHERENCE);
    }
}
