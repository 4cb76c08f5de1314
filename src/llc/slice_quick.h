/* slice_quick: cycles of a slice in windows in which reads and writes are served whose replies leave as soon
 * as the data port has them: nearly all. They do what slice_tags.h, slice_fill.h and slice_reply.h do, with
 * everything that is certain there left out; other cycles, or the rest of one, are those. Included by
 * window.c only. */
#ifndef ATOLL_LLC_SLICE_QUICK_H
#define ATOLL_LLC_SLICE_QUICK_H

#include "llc/slice_set.h"
#include "llc/slice_tags.h"
#include "net/net_queue.h"

/* What is not looked up, or written, in the slice every time. */
struct quick {
    struct net_queue_port requests;
    struct net_queue_source *replies;
    const uint32_t *read_bytes; /* of replies to reads, by sectors */
    uint64_t *const *traffic;   /* by SM, in the column of the slice */
    uint64_t due_cyc;           /* the tag stage has something to do then: a request is in front */
    uint64_t fill_cyc;          /* the first fill is due, ENGINE_NEVER: there is none */
    uint32_t fills_head, fills_left;
    uint32_t data_queue_cyc;
    /* the request in front, once it was looked at */
    uint32_t idx, line;
    struct request *r;
    struct slice_set set;
    /* counted once per window */
    uint32_t reads, writes, local, misses, columns;
    uint32_t mshr_least; /* fewest that were free */
};

/* Replies leave in the order in which they pass the data port: if one leaves after the window, so do all
 * after it. False: that is the case. */
static SLICE_HOT bool quick_reply(struct slice *s, uint64_t ready, uint32_t idx, const struct request *r,
                                  uint32_t bytes, const struct quick *q)
{
    if (__builtin_expect(ready >= s->until_cyc, 0)) return false;
    s->stats.replies++;
    net_queue_join(q->replies, idx, r->sm, bytes, ready);
    q->traffic[r->sm][s->wire.slice_idx] += bytes;
    return true;
}

/* Can one of the sectors not be read in the line? */
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
    if (quick_reply(s, ready, idx, r, q->read_bytes[sectors], q))
        leaves(s, now, r->served, ready);
    else
        append_filled(s, idx, ready);
}

/* Nothing is missing in the line, and nobody waits for it. */
static SLICE_HOT void let_go(struct slice *s, uint32_t line)
{
    slice_set_unpin(s, line);
    s->mshr_free_count++;
}

/* Not one read alone waits for the line. */
static __attribute__((noinline)) bool fill_others(struct slice *s, uint64_t now, uint32_t line)
{
    struct slice_line *const m = &s->lines[line];
    (void)serve_waiting(s, now, line, m, true);
    if (!(m->waiting.count | m->asked)) let_go(s, line);
    return earlier(s->hits_cyc, s->filled_cyc) >= s->until_cyc;
}

/* The oldest fill. False: replies wait in the slice, and the rest of the cycle is not a quick one. */
static SLICE_HOT bool quick_fill(struct slice *s, uint64_t now, struct quick *q)
{
    const struct fill *const fills = s->own_lane.fills, *const f = &fills[q->fills_head];
    const uint32_t line = f->tag_line;
    struct slice_line *const m = &s->lines[line];
    const uint8_t asked = m->asked & (uint8_t)~f->sectors, valid = m->valid | f->sectors;
    q->fills_head = (q->fills_head + 1) & s->fills_mask;
    /* what memory forwarded from a write may have been ready before the one in front of it */
    q->fill_cyc = --q->fills_left ? later(fills[q->fills_head].ready_cyc, now) : ENGINE_NEVER;
    m->asked = asked;
    m->valid = valid;
    const uint32_t idx = m->waiting.first;
    const struct request *const r = at(s, idx);
    if (__builtin_expect(m->waiting.count != 1 || r->kind != REQUEST_READ, 0))
        return fill_others(s, now, line);
    if (r->sectors & ~valid && lacks(s, line, r->sectors)) return true;
    m->waiting.count = 0;
    if (!asked) let_go(s, line);
    quick_filled(s, now, idx, r, q);
    return true;
}

/* ---- requests ---- */

/* A line of the set makes room for the key's; false: not now. */
static SLICE_HOT bool quick_place(struct slice *s, uint64_t now, struct slice_set x, uint64_t key,
                                  uint32_t *got)
{
    const uint32_t way = tags_oldest_in(&s->tags, x.row), line = x.first + way;
    if (__builtin_expect(way == s->tags.ways, 0)) {
        s->blocked = &s->stats.wait_way;
        return false;
    }
    uint64_t *const at_key = &s->tags.keys[line];
    if (*at_key) {
        s->stats.evictions++;
        if (s->lines[line].dirty[0] | s->lines[line].dirty[1]) slice_write_back(s, now, line);
    }
    *at_key = key + 1;
    x.row[way] = x.hint;
    tags_renew_in(&s->tags, x.row, way);
    *got = line;
    return true;
}

/* An MSHR for the line, whose missing sectors are read. */
static SLICE_HOT void quick_fetch(struct slice *s, uint64_t now, struct request *r, uint32_t line,
                                  struct slice_columns c, struct quick *q)
{
    struct slice_line *const m = &s->lines[line]; /* what else it knows is of lines of others */
    slice_set_pin(s, q->set, line);
    if (__builtin_expect(--s->mshr_free_count < q->mshr_least, 0)) q->mshr_least = s->mshr_free_count;
    m->asked = c.sectors;
    m->waiting.first = q->idx;
    m->waiting.count = 1;
    m->waiting.last = q->idx;
    r->next = REQUEST_NONE;
    struct memory_op *const op = op_place(s, &s->own_lane); /* nobody else waits for one of a plain slice */
    op->line = r->home.line;
    op->tag_line = line;
    op->first_column = c.first;
    op->column_count = c.count;
    op->ready_tick = (now + s->spec->miss_latency_cyc) * s->spec->ticks_per_cycle;
    op_joins(s, &s->own_lane, 0, op->ready_tick);
    q->misses++;
    q->columns += c.count;
}

/* What is not in the line will be; the request waits. */
static SLICE_HOT bool quick_miss(struct slice *s, uint64_t now, struct request *r, struct quick *q)
{
    uint32_t line = q->line;
    uint8_t sectors = r->sectors;
    if (!s->mshr_free_count) {
        s->blocked = &s->stats.wait_mshr;
        s->missed = line == TAGS_NONE; /* nothing but the tag stage brings lines in */
        return false;
    }
    s->missed = false;
    if (line == TAGS_NONE) {
        if (!quick_place(s, now, q->set, r->home.line, &line)) return false;
        s->lines[line].valid = 0;
    } else {
        sectors &= (uint8_t)~readable(s, line);
        slice_set_touch(s, q->set, line);
    }
    quick_fetch(s, now, r, line, s->spec->missing_of[sectors], q);
    return true;
}

static __attribute__((noinline)) void fetch_more(struct slice *s, uint64_t now, uint32_t line,
                                                 uint8_t sectors)
{
    read_memory(s, now, tags_key(&s->tags, line), line, sectors, true);
}

/* The line is on its way, and the request waits with others. */
static SLICE_HOT bool quick_merge(struct slice *s, uint64_t now, struct request *r, struct quick *q)
{
    struct slice_line *const m = &s->lines[q->line];
    if (m->waiting.count >= s->spec->mshr_merges) {
        s->blocked = &s->stats.wait_mshr;
        return false;
    }
    const uint8_t missing = r->sectors & (uint8_t) ~(readable(s, q->line) | m->asked);
    append(s, &m->waiting, q->idx);
    if (missing) fetch_more(s, now, q->line, missing);
    slice_set_touch(s, q->set, q->line);
    s->stats.read_merged++;
    return true;
}

/* The reply leaves when the port has it. */
static SLICE_HOT void quick_hit(struct slice *s, uint64_t now, struct request *r, uint32_t port_cyc,
                                uint32_t bytes, struct quick *q)
{
    const uint64_t ready = use_port(s, now, port_cyc);
    if (quick_reply(s, ready, q->idx, r, bytes, q))
        leaves(s, now, (uint32_t)now, ready); /* it has come all the same */
    else
        append_hit(s, q->idx, ready);
}

static SLICE_HOT bool quick_read(struct slice *s, uint64_t now, struct request *r, struct quick *q)
{
    if (q->line == TAGS_NONE) {
        if (!quick_miss(s, now, r, q)) return false;
    } else if (!lacks(s, q->line, r->sectors)) {
        const uint32_t sectors = r->sectors & SECTORS_ALL;
        slice_set_touch(s, q->set, q->line);
        r->hit = 1;
        s->stats.read_hits++;
        quick_hit(s, now, r, s->spec->read_cyc[sectors], q->read_bytes[sectors], q);
    } else if (slice_set_is_pinned(s, q->set, q->line)) {
        if (!quick_merge(s, now, r, q)) return false;
    } else if (!quick_miss(s, now, r, q)) {
        return false;
    }
    q->reads++;
    return true;
}

static SLICE_HOT bool quick_write(struct slice *s, uint64_t now, struct request *r, struct quick *q)
{
    uint32_t line = q->line;
    if (line == TAGS_NONE) {
        if (!quick_place(s, now, q->set, r->home.line, &line)) return false;
        s->lines[line].valid = 0;
    } else {
        s->stats.write_hits++;
        slice_set_touch(s, q->set, line);
    }
    s->lines[line].dirty[0] |= r->bytes[0];
    s->lines[line].dirty[1] |= r->bytes[1];
    quick_hit(s, now, r, service_cycles(s, r), s->spec->header_bytes, q);
    q->writes++;
    return true;
}

static SLICE_HOT void quick_look(const struct slice *s, struct quick *q)
{
    q->idx = (uint32_t)s->front->packet->handle;
    struct request *const r = at(s, q->idx);
    const uint64_t key = r->home.line;
    q->r = r;
    q->set = slice_set_at(s, r->set ? r->set - 1u : set_of(s, key), key);
    q->line = slice_set_find(s, q->set, key);
}

/* The tag stage, with a request in front: says when it has something to do again. False: it is not a quick
 * one. */
static SLICE_HOT bool quick_request(struct slice *s, uint64_t now, struct quick *q)
{
    if (!s->missed) { /* else it is known */
        quick_look(s, q);
        if (__builtin_expect(q->r->kind > REQUEST_WRITE, 0)) return false;
    }
    struct request *const r = q->r;
    if (s->blocked) {
        *s->blocked += now - s->blocked_cyc;
        s->blocked = NULL;
    }
    if (__builtin_expect(s->port_free_cyc > now + q->data_queue_cyc, 0)) {
        s->blocked = &s->stats.wait_port;
        s->blocked_cyc = now;
        q->due_cyc = s->port_free_cyc - q->data_queue_cyc;
        return true;
    }
    if (!(r->kind == REQUEST_WRITE ? quick_write(s, now, r, q) : quick_read(s, now, r, q))) {
        s->blocked_cyc = now;
        q->due_cyc = ENGINE_NEVER; /* a fill changes that */
        return true;
    }
    enters(s, r, now);
    q->local += r->sm - s->first_sm < s->wire.sms_per_partition;
    const uint64_t visible = net_queue_take(q->requests, now);
    q->due_cyc = visible > now ? visible : now + 1;
    return true;
}

static inline struct quick quick_of(const struct slice *s)
{
    const struct fabric *const f = s->wire.fabric;
    return (struct quick){.requests = net_queue_port_of(f->request.net, s->wire.slice_idx),
                          .replies = &f->reply.sources[s->wire.slice_idx],
                          .read_bytes = f->read_bytes,
                          .traffic = f->traffic.sm_row,
                          .data_queue_cyc = s->spec->data_queue_cyc,
                          .mshr_least = s->mshr_free_count};
}

static SLICE_HOT void quick_begin(struct slice *s, struct quick *q)
{
    const uint64_t visible = s->front->visible_cyc;
    q->due_cyc = visible > s->visited_cyc ? visible : s->due_cyc;
    q->fill_cyc = s->fills_count ? fill_due(s, true) : ENGINE_NEVER;
    q->fills_head = s->own_lane.fills_head;
    q->fills_left = s->fills_count;
    if (!s->missed) return;
    quick_look(s, q);
    s->missed = q->r->kind == REQUEST_READ; /* others are looked for once more */
}

/* The slice knows what was done. */
static SLICE_HOT void quick_end(struct slice *s, const struct quick *q)
{
    s->stats.fills += s->fills_count - q->fills_left;
    s->own_lane.fills_head = q->fills_head;
    s->own_lane.fills_count = s->fills_count = q->fills_left;
    s->due_cyc = earlier(q->due_cyc, earlier(s->hits_cyc, s->filled_cyc));
}

static inline void quick_count(struct slice *s, const struct quick *q)
{
    const uint32_t requests = q->reads + q->writes;
    s->stats.requests += requests;
    s->stats.tag_cycles += requests;
    s->stats.reads += q->reads;
    s->stats.crossing_reads += q->reads;
    s->stats.read_misses += q->misses;
    s->stats.memory_reads += q->misses;
    s->stats.memory_read_columns += q->columns;
    s->stats.writes += q->writes;
    s->stats.local += q->local;
    s->stats.remote += requests - q->local;
    stats_peak(&s->stats.mshr_peak, s->spec->mshrs - q->mshr_least);
}

#endif
