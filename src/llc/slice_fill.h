/* slice_fill: the fill stage. A fill makes sectors of its line valid and completes the requests in its MSHR.
 * Included by llc.c and, through slice_quick_fill.h, by window.c. */
#ifndef ATOLL_LLC_SLICE_FILL_H
#define ATOLL_LLC_SLICE_FILL_H

#include "llc/coherence.h"
#include "llc/slice_memory.h"
#include "llc/slice_reply.h"

/* --check: the place of the line's copies, for local or remote lines. */
static inline struct check_place *copies_of(const struct slice *s, uint32_t line)
{
    return remote_holds(s, line) ? s->remote->copies : s->copies;
}

/* Reads or writes the line for a request whose sectors are readable. */
static SLICE_HOT void use_line(struct slice *s, uint64_t now, uint32_t line, uint32_t idx, bool basic)
{
    const struct request *r = at(s, idx);
    if (!basic && s->copies && r->kind != REQUEST_WALK && r->kind != REQUEST_WRITE)
        check_copy_read(copies_of(s, line), line, idx, r->sectors, now);
    if (request_writes(r))
        slice_write_line(s, now, line, idx);
    else if (!basic && s->remote && s->remote->coherence && r->via && r->flags & REQUEST_FETCH)
        coherence_on_read(s, r);
}

/* Sectors that a request reads or writes. */
static inline uint8_t touched(const struct request *r)
{
    return request_writes(r) ? sectors_with(r->bytes) : r->sectors;
}

/* Completes the waiting requests whose sectors are readable. A request stays if sectors are missing, or if a
 * write that stays before it touches the same sectors: requests to a sector complete in order. Returns the
 * union of the flags of the completed requests. */
static SLICE_HOT uint8_t serve_waiting(struct slice *s, uint64_t now, uint32_t line, struct slice_line *m,
                                       bool basic)
{
    uint8_t flags = 0, held = 0;
    struct request_list all = m->waiting, writers = {0};
    uint64_t written[2] = {0};
    const uint8_t have = readable(s, line);
    m->waiting.count = 0;
    m->reads_only = m->single_waiter = false; /* the first waiter may change */
    while (all.count) {
        const uint32_t idx = take_first(s, &all);
        const struct request *r = at(s, idx);
        const uint8_t needs = r->kind == REQUEST_WRITE ? 0 : r->sectors;
        if ((needs & ~have) | (held && touched(r) & held)) {
            if (request_writes(r)) held |= touched(r);
            append(s, &m->waiting, idx);
            continue;
        }
        use_line(s, now, line, idx, basic);
        flags |= r->flags;
        const uint64_t start = serve_at_port(s, now, r);
        if (!basic && s->write_through && request_writes(r)) {
            written[0] |= r->bytes[0];
            written[1] |= r->bytes[1];
            append(s, &writers, idx);
        } else {
            queue_reply(s, idx, false, start, now, basic);
        }
    }
    if (!basic && writers.count) slice_push_writes(s, now, tags_key(&s->tags, line), written, writers);
    return flags;
}

/* Completes write-through requests that memory has accepted. */
static inline void complete_writers(struct slice *s, uint64_t now, const struct fill *f)
{
    struct request_list writers = {.first = f->writers_first, .count = f->writers_count};
    while (writers.count) {
        const uint32_t idx = take_first(s, &writers);
        queue_reply(s, idx, false, use_port(s, now, 0), now, false);
    }
}

/* Applies a fill, or reads the sectors again if the fill is stale. */
static SLICE_HOT void take_line(struct slice *s, uint64_t now, const struct fill *f, bool basic)
{
    struct slice_line *m = &s->lines[f->tag_line];
    s->stats.fills += basic || !m->remote;
    m->pending_sectors &= (uint8_t)~f->sectors;
    if (!basic && m->refetch) {
        m->refetch_sectors |= f->sectors;
        if (m->pending_sectors) return;
        const uint8_t refetch_sectors = m->refetch_sectors;
        m->refetch = false;
        m->refetch_sectors = 0;
        s->stats.read_again++;
        read_memory(s, now, tags_key(&s->tags, f->tag_line), f->tag_line, refetch_sectors, basic);
        return;
    }
    s->lines[f->tag_line].valid |= f->sectors;
    if (!basic && s->copies && !m->remote)
        check_memory_fill(s->copies, f->tag_line, f->sectors, s->lines[f->tag_line].dirty, now);
    const uint8_t flags = serve_waiting(s, now, f->tag_line, m, basic);
    if (m->waiting.count || m->pending_sectors) return;
    *tags_pins(&s->tags, f->tag_line) = 0;
    s->mshr_free_count++;
    s->mshr_sum += now;
    if (!basic && m->remote) remote_on_fill(s, now, f->tag_line, m->discard_fill);
    if (flags & REQUEST_MIGRATE) slice_drop_line(s, now, f->tag_line);
}

/* Prefetches the first waiter of the next fill and the line of the fill after it into the host's caches. */
static inline void fetch_next(const struct slice *s, const struct channel_queue *l)
{
    if (l->fills_count < 2) return;
    const struct fill *const first = &l->fills[l->fills_head];
    const struct fill *const second = &l->fills[(l->fills_head + 1) & s->fills_mask];
    if (!first->writers_count) __builtin_prefetch(at(s, s->lines[first->tag_line].waiting.first), 1);
    if (!second->writers_count) __builtin_prefetch(&s->lines[second->tag_line], 1);
}

static SLICE_HOT void take_fills(struct slice *s, uint64_t now, bool basic)
{
    for (struct channel_queue *l; (l = first_queue(s, basic));) {
        const struct fill *const first = &l->fills[l->fills_head];
        if (first->ready_cyc > now || (!basic && s->in_free_cyc > now)) return;
        struct fill f = *first;
        s->fill_came = true;
        l->fills_head = (l->fills_head + 1) & s->fills_mask;
        l->fills_count--;
        s->fills_count--;
        fetch_next(s, l);
        if (!basic && s->spec->stack_width)
            s->in_free_cyc = now + stack_cycles(s->spec, SECTOR_BYTES * sector_count(f.sectors));
        if (!basic && f.writers_count)
            complete_writers(s, now, &f);
        else if (basic || !s->once || f.tag_line < tags_lines(&s->tags) || once_fill(s, now, &f))
            take_line(s, now, &f, basic);
    }
}

#endif
