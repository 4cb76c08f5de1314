/* rdc_back: see rdc_back.h. */
#include "llc/rdc_back.h"

#include "base/grow.h"
#include "check/check.h"
#include "llc/rdc.h"

enum { NONE = UINT32_MAX };

static const char *const memory_for = "dirty lines of remote data caches";

/* The cycle of SMs: the order of dirty regions is theirs. */
static uint64_t sm_now(const struct slice *s)
{
    return engine_now(s->wire.engine, s->wire.organisation->sm_domain);
}

/* ---- regions ---- */

static uint32_t mark_region(struct slice *s, uint64_t idx)
{
    struct rdc_back *const b = s->remote->rdc->back;
    bool fresh;
    uint64_t *const open = map_put(&b->open, idx, &fresh);
    if (!fresh) return (uint32_t)*open;
    uint32_t region = b->region_free;
    if (region == NONE) {
        b->regions = grow(b->regions, b->region_count, &b->region_capacity, sizeof *b->regions, memory_for);
        region = b->region_count++;
    } else {
        b->region_free = b->regions[region].next;
    }
    *open = region;
    b->regions[region] =
        (struct rdc_region){.number = store_order_send(s->wire.organisation->dirty, sm_now(s)),
                            .idx = idx,
                            .marked_cyc = sm_now(s),
                            .sequence = b->sequence++,
                            .next = NONE};
    if (b->first_open == NONE)
        b->first_open = region;
    else
        b->regions[b->last_open].next = region;
    b->last_open = region;
    b->unanswered++;
    return region;
}

/* Answers a region that nothing keeps any more. */
static void end_region(struct slice *s, uint32_t region)
{
    struct rdc_back *const b = s->remote->rdc->back;
    struct rdc_region *const e = &b->regions[region];
    if (!e->closed || e->pending || e->answered) return;
    e->answered = true;
    b->unanswered--;
    if (e->sequence < b->flush_before && !--b->flush_left)
        s->remote->rdc->stats.wait_flush += engine_now(s->wire.engine, s->wire.domain) - b->flush_cyc;
    store_order_answer(s->wire.organisation->dirty, e->number, sm_now(s));
    if (FAULT_FIRES(rdc_dirty_forgotten)) return; /* lines still name it */
    e->next = b->region_free;
    b->region_free = region;
}

/* ---- dirty lines ---- */

static struct rdc_dirty *dirty_of(const struct rdc_back *b, uint64_t set)
{
    const uint64_t *const found = b->lines.count ? map_find(&b->lines, set) : NULL;
    return found ? &b->dirty[*found] : NULL;
}

bool rdc_back_has(const struct rdc *r, uint64_t set, uint64_t line)
{
    const struct rdc_dirty *const d = dirty_of(r->back, set);
    return d && d->home.line == line;
}

void rdc_back_store(struct slice *s, uint32_t idx, uint64_t set)
{
    struct rdc_back *const b = s->remote->rdc->back;
    const struct request *const q = at(s, idx);
    bool fresh;
    uint64_t *const found = map_put(&b->lines, set, &fresh);
    if (fresh) {
        if (b->dirty_free == NONE) {
            b->dirty = grow(b->dirty, b->dirty_count, &b->dirty_capacity, sizeof *b->dirty, memory_for);
            *found = b->dirty_count++;
        } else {
            *found = b->dirty_free;
            b->dirty_free = b->dirty[*found].region;
        }
        b->dirty[*found] =
            (struct rdc_dirty){.home = q->home, .region = mark_region(s, set / RDC_REGION_SETS)};
    }
    struct rdc_dirty *const d = &b->dirty[*found];
    DIAG_ASSERT(d->home.line == q->home.line);
    d->bytes[0] |= q->bytes[0];
    d->bytes[1] |= q->bytes[1];
    d->address = q->line;
    d->sm = q->sm;
    d->app = q->app;
}

/* ---- lines that leave ---- */

bool rdc_back_may_leave(const struct rdc *r, uint64_t set)
{
    return !dirty_of(r->back, set) || r->back->slots_free;
}

uint32_t rdc_back_leave(struct slice *s, uint64_t set)
{
    struct rdc *const r = s->remote->rdc;
    struct rdc_back *const b = r->back;
    struct rdc_dirty *const d = dirty_of(b, set);
    if (!d) return 0;
    const uint32_t slot = b->slot_free;
    DIAG_ASSERT(slot != NONE);
    b->slot_free = b->slots[slot].next;
    b->slots_free--;
    b->slots[slot] = (struct rdc_leaving){.line = *d, .next = NONE, .is_here = true};
    b->regions[d->region].pending++;
    b->leaving++;
    if (r->copies) check_sparse_leave(r->copies, set, slot, d->bytes);
    d->region = b->dirty_free;
    b->dirty_free = (uint32_t)(d - b->dirty);
    (void)map_remove(&b->lines, set);
    return slot + 1;
}

static bool is_leaving(const struct rdc_back *b, uint64_t line)
{
    for (uint32_t k = 0; b->leaving && k < b->slot_count; k++)
        if (b->slots[k].is_here && b->slots[k].line.home.line == line) return true;
    return false;
}

bool rdc_settled(struct slice *s, uint64_t now, uint64_t line)
{
    struct rdc *const r = s->remote->rdc;
    struct rdc_back *const b = r->back;
    if ((!b->lines.count && !b->leaving) || FAULT_FIRES(rdc_dirty_overtaken)) return true;
    const uint64_t set = rdc_set_of(r, line);
    const bool dirty = rdc_back_has(r, set, line);
    if (!dirty && !is_leaving(b, line)) return true;
    if (dirty && r->free_count && b->slots_free) {
        r->stats.back_called++;
        rdc_queue(s, now,
                  (struct rdc_entry){.set = set, .reads_tag = true, .leaving = rdc_back_leave(s, set)});
    }
    s->blocked = &r->stats.wait_back;
    return false;
}

void rdc_back_read_done(struct slice *s, const struct rdc_entry *e, uint64_t ready_cyc)
{
    struct rdc_back *const b = s->remote->rdc->back;
    if (e->leaving) {
        const uint32_t slot = e->leaving - 1;
        b->slots[slot].ready_cyc = ready_cyc;
        if (b->ready_count++)
            b->slots[b->ready_last].next = slot;
        else
            b->ready_first = slot;
        b->ready_last = slot;
    }
    if (e->scans) {
        b->regions[e->scans - 1].pending--;
        end_region(s, e->scans - 1);
    }
}

/* The dirty bytes as a store of the slice. */
static void send_slot(struct slice *s, uint64_t now, uint32_t slot)
{
    struct rdc *const r = s->remote->rdc;
    const struct rdc_dirty *const d = &r->back->slots[slot].line;
    const uint32_t idx = pool_try_take(s->wire.requests);
    DIAG_ASSERT(idx != REQUEST_NONE);
    struct request *const q = at(s, idx);
    *q = (struct request){.line = d->address,
                          .home = d->home,
                          .sent_cyc = now,
                          .ready_cyc = now + 1,
                          .owner = slot,
                          .sm = d->sm,
                          .kind = REQUEST_WRITE,
                          .flags = REQUEST_FETCH,
                          .conflict = 1,
                          .app = d->app,
                          .via = (uint16_t)(s->wire.slice_idx + 1),
                          .bytes = {d->bytes[0], d->bytes[1]}};
    if (r->copies) check_sparse_sent(r->copies, slot, idx);
    append(s, &s->remote->out, idx);
    r->stats.backs++;
    r->stats.back_bytes += request_byte_count(d->bytes);
}

uint64_t rdc_back_send(struct slice *s, uint64_t now)
{
    struct rdc_back *const b = s->remote->rdc->back;
    uint64_t next = ENGINE_NEVER;
    while (b->ready_count && s->remote->out.count < s->spec->forward_queue) {
        const uint32_t slot = b->ready_first;
        if (b->slots[slot].ready_cyc > now) return min_u64(next, b->slots[slot].ready_cyc);
        b->ready_first = b->slots[slot].next;
        b->ready_count--;
        b->slots[slot].is_here = false;
        b->leaving--;
        send_slot(s, now, slot);
        next = now + 1;
    }
    return next;
}

void rdc_back_answered(struct slice *s, uint32_t slot)
{
    struct rdc *const r = s->remote->rdc;
    struct rdc_back *const b = r->back;
    const uint32_t region = b->slots[slot].line.region;
    r->stats.backs_answered++;
    b->slots[slot].next = b->slot_free;
    b->slot_free = slot;
    b->slots_free++;
    b->regions[region].pending--;
    end_region(s, region);
}

/* ---- scans ---- */

/* True if the oldest region is to be flushed now. *later: a fence has asked in this cycle, which shows in the next. */
static bool flush_is_due(const struct slice *s, bool *later)
{
    const struct rdc *const r = s->remote->rdc;
    const struct rdc_back *const b = r->back;
    const struct organisation *const o = s->wire.organisation;
    if (b->first_open == NONE) return false;
    const struct rdc_region *const oldest = &b->regions[b->first_open];
    const bool asked_now = o->flush_asked_cyc == sm_now(s);
    const uint64_t before_cyc = asked_now ? o->flush_before_cyc : o->flush_cyc;
    *later = asked_now && oldest->marked_cyc < o->flush_cyc;
    return r->reset_waits || oldest->sequence < b->flush_before || oldest->marked_cyc < before_cyc;
}

static void start_scan(struct slice *s)
{
    struct rdc *const r = s->remote->rdc;
    struct rdc_back *const b = r->back;
    const uint32_t region = b->first_open;
    struct rdc_region *const e = &b->regions[region];
    b->first_open = e->next;
    (void)map_remove(&b->open, e->idx);
    e->closed = true;
    r->stats.back_regions++;
    if (FAULT_FIRES(rdc_dirty_forgotten)) {
        end_region(s, region);
        return;
    }
    b->scan = region;
    b->scan_set = e->idx * RDC_REGION_SETS;
    b->scan_end = min_u64(b->scan_set + RDC_REGION_SETS, r->sets);
    e->pending++; /* the scan */
}

uint64_t rdc_back_scan(struct slice *s, uint64_t now)
{
    struct rdc *const r = s->remote->rdc;
    struct rdc_back *const b = r->back;
    bool later = false, queued = false;
    for (;;) {
        if (b->scan == NONE && !flush_is_due(s, &later)) break;
        if (b->scan == NONE) {
            start_scan(s);
            continue;
        }
        for (; b->scan_set < b->scan_end; b->scan_set++) {
            if (r->free_count < 2 || !rdc_back_may_leave(r, b->scan_set))
                return queued ? now + 1 : ENGINE_NEVER;
            const uint32_t leaving = rdc_back_leave(s, b->scan_set);
            r->stats.back_lines += leaving != 0;
            r->stats.back_scanned++;
            b->regions[b->scan].pending++;
            rdc_queue(s, now,
                      (struct rdc_entry){
                          .set = b->scan_set, .reads_tag = true, .leaving = leaving, .scans = b->scan + 1});
            queued = true;
        }
        const uint32_t region = b->scan;
        b->scan = NONE;
        b->regions[region].pending--;
        end_region(s, region);
    }
    return queued || later ? now + 1 : ENGINE_NEVER;
}

void rdc_back_flush(struct slice *s)
{
    struct rdc_back *const b = s->remote->rdc->back;
    b->flush_before = b->sequence;
    b->flush_left = b->unanswered;
}

void organisation_flush(struct organisation *o, uint64_t now)
{
    if (o->flush_asked_cyc != now) o->flush_before_cyc = o->flush_cyc;
    o->flush_asked_cyc = o->flush_cyc = now;
    for (uint32_t k = 0; k < o->slice_count; k++) {
        const struct slice *const s = o->slices[o->first_slice + k];
        engine_wake(s->wire.engine, s->component, engine_now(s->wire.engine, s->wire.domain) + 1);
    }
}

/* ---- building ---- */

struct rdc_back *rdc_back_new(struct slice *s, struct arena *a, const struct config *c)
{
    if (c->rdc.write != rdc_write_back) return NULL;
    struct rdc_back *const b = ARENA_NEW(a, struct rdc_back);
    *b = (struct rdc_back){.dirty_free = NONE,
                           .region_free = NONE,
                           .first_open = NONE,
                           .scan = NONE,
                           .slot_count = c->rdc.write_backs,
                           .slots_free = c->rdc.write_backs};
    map_init(&b->lines);
    map_init(&b->open);
    b->slots = ARENA_ARRAY(a, struct rdc_leaving, b->slot_count);
    for (uint32_t k = 0; k < b->slot_count; k++) b->slots[k].next = k + 1 < b->slot_count ? k + 1 : NONE;
    if (s->remote->rdc->copies) check_sparse_writes_back(s->remote->rdc->copies, b->slot_count);
    return b;
}

void rdc_back_free(struct rdc_back *b)
{
    map_free(&b->lines);
    map_free(&b->open);
    free(b->dirty);
    free(b->regions);
}
