/* l1: the first-level data cache of an SM: write-through, no allocation on a write, misses merge in MSHRs.
 *
 * A missing line keeps an MSHR with the loads that wait for it. With `on_miss` it also keeps a place
 * (pinned); with `on_fill` the place is chosen when the line comes.
 *
 * With l1.count_conflicts a directory without sets (l1.shadow) sees the same loads in the same order, and
 * loses what stores and invalidations take: a line that made room here and is still there would have stayed
 * but for its set. Nothing but the two counters depends on it. */
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
    l1->mshr_count = spec->mshrs;
    l1->mshrs = ARENA_ARRAY(a, uint8_t, (size_t)spec->mshrs * size);
    l1->free = ARENA_ARRAY(a, uint16_t, spec->mshrs);
    for (uint32_t i = 0; i < spec->mshrs; i++) l1->free[i] = (uint16_t)(spec->mshrs - 1 - i);
    l1->free_count = spec->mshrs;
    l1->whole = spec->sectored ? 0 : SECTORS_ALL;
    l1->slots = ARENA_ARRAY(a, struct l1_slot, L1_SLOTS);
    if (spec->count_conflicts) {
        l1->shadow = ARENA_NEW(a, struct lru);
        lru_init(l1->shadow, a, tags_lines(&l1->tags));
    }
    /* the quick ways know of no shadow: so nobody pays for it who has none */
    l1->quick = spec->allocate_on_fill && spec->sets <= UINT16_MAX && l1->tags.ordered &&
                spec->ways <= TAGS_NEAR_WAYS && spec->fill_latency_cyc < spec->l1_latency_cyc && !l1->shadow;
}

/* Free ones are taken last given first: those that never were used are the last ones. */
void l1_count_peak(struct l1 *l1, uint32_t mshrs)
{
    uint64_t used = l1->stats.mshr_peak;
    for (; used < mshrs; used++) {
        const struct l1_mshr *const m = l1_mshr_at(l1, (uint32_t)used);
        if (!m->plain && !m->used) break;
    }
    l1->stats.mshr_peak = used;
}

/* What is at the place counts no more. */
static void empty(struct l1 *l1, uint32_t line)
{
    l1->valid[line] = 0;
    if (l1->copies) check_copy_drop(l1->copies, line, 0);
}

/* --check: what an MSHR has got so far. */
static inline uint32_t copy_of(const struct l1 *l1, uint32_t mshr) { return tags_lines(&l1->tags) + mshr; }

/* What is on its way was read too early for whoever asks from now on: they ask again. */
static void overtake(struct l1 *l1, uint32_t mshr, enum l1_left why)
{
    struct l1_mshr *const m = l1_mshr_at(l1, mshr);
    forget(l1, l1_slot_of(l1, m->line), mshr, m);
    note_left(l1, m->line, why);
    l1_unfold(m);
    m->stale = true;
}

static void throw_out(struct l1 *l1, uint32_t line, enum l1_left why)
{
    note_left(l1, tags_key(&l1->tags, line), why);
    tags_drop(&l1->tags, line);
    empty(l1, line);
}

/* Replacement policies that need more than an order. */
static uint32_t make_room_by_policy(struct l1 *l1, uint32_t set, uint64_t line)
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

/* A place for the line, which has nothing valid yet; TAGS_NONE: all are pinned. */
static uint32_t new_place(struct l1 *l1, uint32_t set, uint64_t line)
{
    if (!l1->tags.ordered) return make_room_by_policy(l1, set, line);
    uint64_t before;
    const uint32_t place = tags_replace(&l1->tags, set, line, tags_hash(line), &before);
    if (place == TAGS_NONE) return place;
    if (before) note_evicted(l1, before - 1);
    empty(l1, place);
    return place;
}

/* ---- l1.count_conflicts ---- */

/* A load uses the line: would it have been there without sets? */
static inline bool use_shadow(struct l1 *l1, uint64_t line)
{
    return l1->shadow && lru_touch(l1->shadow, line);
}

/* A line is missed that made room before. */
static inline void tell_apart(struct l1 *l1, bool in_shadow)
{
    if (!l1->shadow) return;
    if (in_shadow)
        l1->stats.misses_conflict++;
    else
        l1->stats.misses_capacity++;
}

/* ---- access ---- */

static void add_waiter(struct l1_mshr *m, const struct line_access *a)
{
    if (FAULT_FIRES(l1_forgets_waiter)) return;
    m->waiters[m->waiting++] = (struct mshr_waiter){a->load, a->sectors};
}

/* The line is on its way: wait with the others, and ask for what they have not asked for. */
static bool merge(struct sm *sm, uint32_t mshr, const struct line_access *a, uint64_t now)
{
    struct l1_mshr *m = l1_mshr_at(&sm->l1, mshr);
    l1_unfold(m);
    const uint8_t missing = a->sectors & (uint8_t) ~(m->asked | m->here);
    if (m->waiting == sm->spec->mshr_merges) {
        sm->lsu_blocked = &sm->l1.stats.wait_mshr;
        return false;
    }
    if (missing && !lsu_send(sm, a, mshr, missing, now)) return false;
    m->asked |= missing;
    add_waiter(m, a);
    (void)use_shadow(&sm->l1, a->line);
    sm->l1.stats.reads++;
    if (missing) {
        sm->l1.stats.misses++;
        sm->l1.stats.misses_sector++;
    } else {
        sm->l1.stats.merged++;
    }
    return true;
}

/* place: of the line when it is present without these sectors, else TAGS_NONE. False: no MSHR, no request or
 * no place is left. */
static bool may_miss(struct sm *sm, const struct line_access *a, uint32_t set, uint32_t *place)
{
    struct l1 *const l1 = &sm->l1;
    const bool present = *place != TAGS_NONE;
    uint64_t *blocked = NULL;
    if (!l1->free_count || sm->outstanding == sm->spec->request_limit ||
        (present && *tags_pins(&l1->tags, *place) == UINT8_MAX)) {
        blocked = &l1->stats.wait_mshr;
    } else if (sm->misses_count == sm->spec->miss_queue) {
        blocked = &l1->stats.wait_queue;
    } else if (!present && !sm->spec->allocate_on_fill) {
        *place = new_place(l1, set, a->line);
        if (*place == TAGS_NONE) blocked = &l1->stats.wait_way;
    }
    if (blocked) sm->lsu_blocked = blocked;
    return !blocked;
}

/* here: sectors of the line that are present. */
static void count_miss(struct l1 *l1, const struct l1_slot *slot, uint64_t line, uint8_t here)
{
    const bool in_shadow = use_shadow(l1, line);
    l1->stats.reads++;
    l1->stats.misses++;
    if (here) {
        l1->stats.misses_sector++;
        return;
    }
    const enum l1_left why = cause_of(slot, line);
    count_cause(&l1->stats, why);
    if (why == LEFT_REPLACED) tell_apart(l1, in_shadow);
}

static bool miss(struct sm *sm, const struct line_access *a, uint32_t set, struct l1_slot *slot,
                 uint32_t place, uint64_t now)
{
    struct l1 *const l1 = &sm->l1;
    const uint8_t here = place != TAGS_NONE ? l1->valid[place] : 0;
    if (!may_miss(sm, a, set, &place)) return false;
    const uint32_t mshr = l1->free[--l1->free_count];
    const uint8_t asked = (a->sectors | l1->whole) & (uint8_t)~here;
    struct l1_mshr *const m = l1_mshr_at(l1, mshr);
    m->line = a->line;
    m->sent = short_cyc(now);
    m->asked = asked;
    m->plain = false;
    m->used = true;
    m->next = slot->mshr;
    m->tag_line = place;
    m->here = here;
    m->stale = false;
    m->waiting = 0;
    add_waiter(m, a);
    slot->mshr = (uint16_t)(mshr + 1);
    if (l1->copies) {
        check_copy_drop(l1->copies, copy_of(l1, mshr), now);
        check_copy_from(l1->copies, copy_of(l1, mshr), place, here);
    }
    if (place != TAGS_NONE) ++*tags_pins(&l1->tags, place);
    count_miss(l1, slot, a->line, here);
    send_line(sm, a, sm->first_request + mshr, mshr, asked, now);
    return true;
}

static bool bypass(struct sm *sm, const struct line_access *a, uint64_t now)
{
    if (!lsu_send(sm, a, a->load | 1u << 31, a->sectors | sm->l1.whole, now)) return false;
    sm->l1.stats.reads++;
    sm->l1.stats.bypassed++;
    return true;
}

/* A load wants sectors of a line; false: not now, sm->lsu_blocked says why. */
bool l1_read(struct sm *sm, const struct line_access *a, uint64_t now)
{
    struct l1 *const l1 = &sm->l1;
    if (a->flags & REQUEST_UNCACHED) return bypass(sm, a, now);
    const uint32_t set = l1_set_of(sm->spec, a->line);
    const uint32_t place = tags_find_near(&l1->tags, set, a->line, tags_hash(a->line));
    if (place != TAGS_NONE && !(a->sectors & ~l1->valid[place])) {
        (void)use_shadow(l1, a->line);
        hit(sm, a, place, now);
        return true;
    }
    struct l1_slot *const slot = l1_slot_of(l1, a->line);
    const uint32_t mshr = search(l1, slot, a->line);
    return mshr ? merge(sm, mshr - 1, a, now) : miss(sm, a, set, slot, place, now);
}

void l1_write(struct sm *sm, const struct line_access *a, uint64_t now)
{
    struct l1 *l1 = &sm->l1;
    const uint32_t place =
                       tags_find_near(&l1->tags, l1_set_of(sm->spec, a->line), a->line, tags_hash(a->line)),
                   mshr = search(l1, l1_slot_of(l1, a->line), a->line);
    const bool updates = a->kind == REQUEST_WRITE && sm->spec->write_updates; /* a line that is here stays */
    l1->stats.writes++;
    if (mshr && !FAULT_FIRES(l1_keeps_overtaken)) overtake(l1, mshr - 1, LEFT_WRITE);
    if (l1->shadow && (mshr || !updates)) (void)lru_drop(l1->shadow, a->line);
    if (place == TAGS_NONE) return;
    l1->stats.write_hits++;
    if (FAULT_FIRES(l1_keeps_after_store)) return;
    if (*tags_pins(&l1->tags, place))
        empty(l1, place);
    else if (!updates)
        throw_out(l1, place, LEFT_WRITE);
    else if (l1->copies)
        check_copy_update(l1->copies, place, sm->wire.sm_idx, now);
}

/* ---- lines that come ---- */

/* Those who wait for sectors that are here now. */
static void serve_waiters(struct sm *sm, uint32_t mshr, uint64_t now)
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

/* The line, of which this is here, gets a place if there is one. */
static void keep_line(struct l1 *l1, uint32_t set, uint32_t mshr, const struct l1_mshr *m)
{
    const uint32_t place = new_place(l1, set, m->line);
    if (place == TAGS_NONE) return;
    l1->valid[place] = m->here;
    if (l1->copies) check_copy_from(l1->copies, place, copy_of(l1, mshr), m->here);
}

/* Sectors that an MSHR has asked for are here. */
void l1_fill(struct sm *sm, uint32_t mshr, uint8_t sectors, uint64_t now)
{
    struct l1 *const l1 = &sm->l1;
    struct l1_mshr *const m = l1_mshr_at(l1, mshr);
    l1_unfold(m);
    m->here |= sectors;
    m->asked &= (uint8_t)~sectors;
    l1->stats.fills++;
    serve_waiters(sm, mshr, now);
    const bool over = !m->asked && !m->waiting; /* the place can be used, the MSHR too */
    const uint32_t place = m->tag_line;
    if (place != TAGS_NONE) {
        if (!m->stale) {
            l1->valid[place] |= FAULT_FIRES(l1_fills_all_sectors) ? SECTORS_ALL : sectors;
            if (l1->copies) check_copy_from(l1->copies, place, copy_of(l1, mshr), sectors);
        }
        if (over) --*tags_pins(&l1->tags, place);
    }
    if (!over) return;
    if (!m->stale) {
        if (place == TAGS_NONE) keep_line(l1, l1_set_of(sm->spec, m->line), mshr, m);
        forget(l1, l1_slot_of(l1, m->line), mshr, m);
    }
    l1->free[l1->free_count++] = (uint16_t)mshr;
}

void sm_expect(const void *self, const struct request *r)
{
    const struct sm *sm = self;
    const struct l1 *l1 = &sm->l1;
    if (r->kind != REQUEST_READ || r->owner >= sm->l1.mshr_count) return; /* of no MSHR */
    __builtin_prefetch(l1_mshr_at(l1, r->owner), 1);
    __builtin_prefetch(l1_slot_of(l1, r->line), 1);
    tags_fetch(&l1->tags, l1_set_of(sm->spec, r->line));
}

void sm_acquire(struct sm *sm, bool keep, uint64_t now)
{
    if (sm->wire.check) check_acquire(sm->wire.check, sm->wire.sm_idx, now);
    if (sm->wire.epoch) llc_epoch_change(sm->wire.epoch, engine_tick(sm->wire.engine));
    if (!keep) l1_invalidate(sm);
    if (sm->wire.acquired) sm->wire.acquired(sm->wire.acquired_self, sm->wire.sm_idx);
}

void l1_invalidate(struct sm *sm)
{
    struct l1 *l1 = &sm->l1;
    if (l1->shadow) lru_clear(l1->shadow);
    for (uint32_t k = 0; k < L1_SLOTS && l1->free_count != sm->spec->mshrs; k++)
        while (l1->slots[k].mshr) overtake(l1, l1->slots[k].mshr - 1u, LEFT_COHERENCE);
    for (uint32_t line = 0; line < tags_lines(&l1->tags); line++) {
        if (!tags_used(&l1->tags, line)) continue;
        l1->stats.invalidations++;
        if (*tags_pins(&l1->tags, line))
            empty(l1, line);
        else
            throw_out(l1, line, LEFT_COHERENCE);
    }
}
