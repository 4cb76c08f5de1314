/* slice_quick: cycles of a slice in windows in which reads and writes are served whose replies leave as soon
 * as the data port has them: nearly all. They do what slice_tags.h, slice_fill.h and slice_reply.h do, with
 * everything that is certain there left out; other cycles, or the rest of one, are those. Included by
 * window.c only. */
#ifndef ATOLL_LLC_SLICE_QUICK_H
#define ATOLL_LLC_SLICE_QUICK_H

#include "llc/slice_set.h"
#include "llc/slice_tags.h"
#include "net/net_queue.h"

struct quick {
    struct net *request, *reply;
    uint64_t *traffic; /* of the slice: by row */
    const uint16_t *traffic_row;
    uint64_t due_cyc;  /* the tag stage has something to do then: a request is in front */
    uint64_t fill_cyc; /* the first fill is due, ENGINE_NEVER: there is none */
    /* the request in front, once it was looked at */
    uint32_t idx;
    struct request *r;
    struct slice_set set;
    /* counted once per window */
    uint32_t reads, writes, local;
    uint32_t mshr_least; /* fewest that were free */
};

/* Replies leave in the order in which they pass the data port: if one leaves after the window, so do all
 * after it. False: that is the case. */
static SLICE_HOT bool quick_reply(struct slice *s, uint64_t ready, uint32_t idx, const struct request *r,
                                  uint32_t bytes, const struct quick *q)
{
    if (__builtin_expect(ready >= s->until_cyc, 0)) return false;
    const struct net_packet p = {.handle = idx, .src = s->wire.slice_idx, .dst = r->sm, .bytes = bytes};
    s->stats.replies++;
    (void)net_queue_join(q->reply, &p, ready);
    q->traffic[q->traffic_row[r->sm]] += bytes;
    return true;
}

/* Sectors that cannot be read in the line. */
static SLICE_HOT bool lacks(const struct slice *s, uint32_t line, uint8_t sectors)
{
    return (sectors & ~s->lines[line].valid) && (sectors & ~readable(s, line));
}

/* ---- fills ---- */

static SLICE_HOT void quick_filled(struct slice *s, uint64_t now, uint32_t idx, const struct request *r,
                                   const struct quick *q)
{
    const uint32_t sectors = r->sectors & SECTORS_ALL;
    const uint64_t ready = use_port(s, now, s->spec->read_cyc[sectors]);
    if (quick_reply(s, ready, idx, r, s->spec->reply_bytes[sectors], q))
        leaves(s, now, r->served, ready);
    else
        append_filled(s, idx, ready);
}

static __attribute__((noinline)) void filled_for_several(struct slice *s, uint64_t now, uint32_t line)
{
    (void)serve_waiting(s, now, line, &s->lines[line], true);
}

/* The oldest fill. False: replies wait in the slice, and the rest of the cycle is not a quick one. */
static SLICE_HOT bool quick_fill(struct slice *s, uint64_t now, struct quick *q)
{
    struct lane *const l = &s->own_lane;
    const struct fill *const f = &l->fills[l->fills_head];
    const uint32_t line = f->tag_line;
    struct slice_line *const m = &s->lines[line];
    bool quick = true;
    m->asked &= (uint8_t)~f->sectors;
    m->valid |= f->sectors;
    l->fills_head = (l->fills_head + 1) & s->fills_mask;
    l->fills_count--;
    q->fill_cyc = --s->fills_count ? l->fills[l->fills_head].ready_cyc : ENGINE_NEVER;
    s->stats.fills++;
    const uint32_t idx = m->waiting.first;
    const struct request *const r = at(s, idx);
    if (__builtin_expect(m->waiting.count != 1 || r->kind != REQUEST_READ, 0)) {
        filled_for_several(s, now, line);
        quick = earlier(s->hits_cyc, s->filled_cyc) >= s->until_cyc;
    } else if (!lacks(s, line, r->sectors)) {
        m->waiting.count = 0;
        quick_filled(s, now, idx, r, q);
    }
    if (!(m->waiting.count | m->asked)) {
        slice_set_unpin(s, line);
        s->mshr_free_count++;
    }
    return quick;
}

/* ---- requests ---- */

/* A line of the set makes room; TAGS_NONE: not now. */
static SLICE_HOT uint32_t quick_room(struct slice *s, uint64_t now, struct slice_set x)
{
    const uint32_t line = slice_set_victim(s, x);
    if (line == TAGS_NONE) {
        s->blocked = &s->stats.wait_way;
    } else if (tags_used(&s->tags, line)) {
        s->stats.evictions++;
        if (s->lines[line].dirty[0] | s->lines[line].dirty[1]) slice_write_back(s, now, line);
    }
    return line;
}

static SLICE_HOT bool quick_miss(struct slice *s, uint64_t now, uint32_t idx, struct request *r,
                                 struct quick *q)
{
    const struct slice_set x = q->set;
    const uint64_t key = r->home.line;
    if (!s->mshr_free_count) {
        s->blocked = &s->stats.wait_mshr;
        s->missed = true; /* nothing but the tag stage brings lines in */
        return false;
    }
    const uint32_t line = quick_room(s, now, x);
    if (line == TAGS_NONE) return false;
    slice_set_fill(s, x, line, key);
    slice_set_pin(s, x, line);
    if (--s->mshr_free_count < q->mshr_least) q->mshr_least = s->mshr_free_count;
    s->lines[line] = (struct slice_line){.waiting = {.first = idx, .last = idx, .count = 1}};
    r->next = REQUEST_NONE;
    read_memory(s, now, key, line, s->spec->sectored ? r->sectors : SECTORS_ALL, true);
    s->stats.read_misses++;
    enters(s, r, now);
    return true;
}

static SLICE_HOT void quick_hit(struct slice *s, uint64_t now, uint32_t idx, struct request *r,
                                const struct quick *q)
{
    const uint32_t sectors = r->sectors & SECTORS_ALL;
    const uint64_t ready = use_port(s, now, s->spec->read_cyc[sectors]);
    r->hit = 1;
    s->stats.read_hits++;
    enters(s, r, now);
    if (quick_reply(s, ready, idx, r, s->spec->reply_bytes[sectors], q))
        leaves(s, now, (uint32_t)now, ready);
    else
        append_hit(s, idx, ready);
}

/* The line has a place, but not all that is wanted. */
static __attribute__((noinline)) bool found_in_part(struct slice *s, uint64_t now, uint32_t idx,
                                                    uint32_t line)
{
    if (!serve_read(s, now, idx, tags_set_of(&s->tags, line), line, true)) return false;
    enters(s, at(s, idx), now);
    return true;
}

static SLICE_HOT bool quick_read(struct slice *s, uint64_t now, uint32_t idx, struct request *r,
                                 struct quick *q)
{
    const uint32_t line = s->missed ? TAGS_NONE : slice_set_find(s, q->set, r->home.line);
    if (line == TAGS_NONE) {
        if (!quick_miss(s, now, idx, r, q)) return false;
        s->missed = false;
    } else if (lacks(s, line, r->sectors)) {
        if (!found_in_part(s, now, idx, line)) return false;
    } else {
        slice_set_touch(s, q->set, line);
        quick_hit(s, now, idx, r, q);
    }
    q->reads++;
    return true;
}

static SLICE_HOT bool quick_write(struct slice *s, uint64_t now, uint32_t idx, struct request *r,
                                  struct quick *q)
{
    const struct slice_set set = q->set;
    uint32_t line = slice_set_find(s, set, r->home.line);
    if (line == TAGS_NONE) {
        line = quick_room(s, now, set);
        if (line == TAGS_NONE) return false;
        slice_set_fill(s, set, line, r->home.line);
        s->lines[line].valid = 0;
    } else {
        s->stats.write_hits++;
        slice_set_touch(s, set, line);
    }
    s->lines[line].dirty[0] |= r->bytes[0];
    s->lines[line].dirty[1] |= r->bytes[1];
    const uint64_t ready = use_port(s, now, service_cycles(s, r));
    enters(s, r, now);
    if (quick_reply(s, ready, idx, r, s->spec->header_bytes, q))
        leaves(s, now, (uint32_t)now, ready);
    else
        append_hit(s, idx, ready);
    q->writes++;
    return true;
}

static SLICE_HOT void quick_look(const struct slice *s, struct quick *q)
{
    q->idx = (uint32_t)s->front->packet->handle;
    q->r = at(s, q->idx);
    q->set = slice_set_at(s, q->r->set ? q->r->set - 1u : set_of(s, q->r->home.line), q->r->home.line);
}

/* The tag stage, with a request in front: says when it has something to do again. False: it is not a quick
 * one. */
static SLICE_HOT bool quick_request(struct slice *s, uint64_t now, struct quick *q)
{
    if (!s->missed) quick_look(s, q); /* else it is known */
    struct request *const r = q->r;
    if (__builtin_expect(r->kind > REQUEST_WRITE, 0)) return false;
    if (s->blocked) *s->blocked += now - s->blocked_cyc;
    s->blocked = NULL;
    s->blocked_cyc = now;
    if (__builtin_expect(s->port_free_cyc > now + s->spec->data_queue_cyc, 0)) {
        s->blocked = &s->stats.wait_port;
        q->due_cyc = s->port_free_cyc - s->spec->data_queue_cyc;
        return true;
    }
    if (!(r->kind == REQUEST_WRITE ? quick_write(s, now, q->idx, r, q) : quick_read(s, now, q->idx, r, q))) {
        q->due_cyc = ENGINE_NEVER; /* a fill changes that */
        return true;
    }
    q->local += r->sm - s->first_sm < s->wire.sms_per_partition;
    net_queue_take(q->request, s->wire.slice_idx, now);
    q->due_cyc = s->front->visible_cyc > now ? s->front->visible_cyc : now + 1;
    return true;
}

/* A cycle, with room for what it may send to memory. False: what was done is the beginning of one that is not
 * quick. */
static SLICE_HOT bool quick_cycle(struct slice *s, uint64_t now, struct quick *q)
{
    if (q->fill_cyc <= now) {
        do
            if (!quick_fill(s, now, q)) return false;
        while (__builtin_expect(q->fill_cyc <= now, 0));
        if (s->blocked) q->due_cyc = now;
    }
    return q->due_cyc > now || quick_request(s, now, q);
}

static inline struct quick quick_of(const struct slice *s)
{
    const struct fabric *const f = s->wire.fabric;
    return (struct quick){.request = f->request.net,
                          .reply = f->reply.net,
                          .traffic = &f->traffic->bytes[f->traffic->slice_column[s->wire.slice_idx]],
                          .traffic_row = f->traffic->sm_row,
                          .mshr_least = s->mshr_free_count};
}

static SLICE_HOT void quick_begin(struct slice *s, struct quick *q)
{
    const uint64_t visible = s->front->visible_cyc;
    q->due_cyc = visible > s->visited_cyc ? visible : s->due_cyc;
    q->fill_cyc = s->fills_count ? fill_due(s, true) : ENGINE_NEVER;
    if (!s->missed) return;
    quick_look(s, q);
    s->missed = q->r->kind == REQUEST_READ; /* others are looked for once more */
}

static inline void quick_count(struct slice *s, const struct quick *q)
{
    const uint32_t requests = q->reads + q->writes;
    s->stats.requests += requests;
    s->stats.tag_cycles += requests;
    s->stats.reads += q->reads;
    s->stats.crossing_reads += q->reads;
    s->stats.writes += q->writes;
    s->stats.local += q->local;
    s->stats.remote += requests - q->local;
    stats_peak(&s->stats.mshr_peak, s->spec->mshrs - q->mshr_least);
}

#endif
