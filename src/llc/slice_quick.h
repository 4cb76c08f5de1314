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
    struct net *request, *reply;
    const struct net_queue_sink *port;
    const uint32_t *read_bytes; /* of replies to reads, by sectors */
    uint64_t *const *traffic;   /* by SM, in the column of the slice */
    uint32_t traffic_column;
    uint32_t data_queue_cyc;
    uint64_t until_cyc;
    uint64_t now;
    uint64_t due_cyc;        /* the tag stage has something to do then: a request is in front */
    const struct fill *fill; /* the first one; behind the last is one that is never ready */
    const struct fill *fills, *fills_end;
    /* the request in front, once it was looked at */
    struct slice_ahead front;
    uint8_t hint;
    uint32_t line;
    bool slow; /* the rest of the cycle is not a quick one */
    /* counted once per window */
    uint32_t reads, writes, local, misses, columns;
    uint32_t mshr_least; /* fewest that were free */
};

/* Replies leave in the order in which they pass the data port: if one leaves after the window, so do all
 * after it. False: that is the case. */
static SLICE_HOT bool quick_reply(struct slice *s, uint64_t ready, uint32_t idx, const struct request *r,
                                  uint32_t bytes, const struct quick *q)
{
    if (__builtin_expect(ready >= q->until_cyc, 0)) return false;
    const struct net_packet p = {.handle = idx, .src = s->wire.slice_idx, .dst = r->sm, .bytes = bytes};
    s->stats.replies++;
    (void)net_queue_join(q->reply, &p, ready);
    q->traffic[r->sm][q->traffic_column] += bytes;
    return true;
}

/* Can one of the sectors not be read in the line? */
static SLICE_HOT bool lacks(const struct slice *s, uint32_t line, uint8_t sectors)
{
    return (sectors & ~s->lines[line].valid) && (sectors & ~readable(s, line));
}

/* ---- fills ---- */

static SLICE_HOT void quick_filled(struct slice *s, uint32_t idx, const struct request *r,
                                   const struct quick *q)
{
    const uint32_t sectors = r->sectors & SECTORS_ALL;
    const uint64_t ready = use_port(s, q->now, s->spec->read_cyc[sectors]);
    if (quick_reply(s, ready, idx, r, q->read_bytes[sectors], q))
        leaves(s, q->now, r->served, ready);
    else
        append_filled(s, idx, ready);
}

/* Nothing is missing in the line, and nobody waits for it. */
static SLICE_HOT void let_go(struct slice *s, uint32_t line)
{
    slice_set_unpin(s, line);
    s->mshr_free_count++;
}

/* Others than reads wait for the line, or not all that was asked for is there. False: replies wait in the
 * slice, each for its turn. */
static __attribute__((noinline)) bool fill_others(struct slice *s, uint64_t now, const struct fill *f)
{
    struct slice_line *const m = &s->lines[f->tag_line];
    m->asked &= (uint8_t)~f->sectors;
    m->valid |= f->sectors;
    (void)serve_waiting(s, now, f->tag_line, m, true);
    if (!(m->waiting.count | m->asked)) let_go(s, f->tag_line);
    return earlier(s->hits_cyc, s->filled_cyc) >= s->until_cyc;
}

/* The oldest fill. All that was asked for is all that those who wait lack. */
static SLICE_HOT void quick_fill(struct slice *s, struct quick *q)
{
    const struct fill *const f = q->fill;
    struct slice_line *const m = &s->lines[f->tag_line];
    const uint8_t sectors = f->sectors;
    q->fill = f + 1 == q->fills_end ? q->fills : f + 1;
    if (__builtin_expect(!m->reads || m->asked != sectors, 0)) {
        q->slow = !fill_others(s, q->now, f);
        return;
    }
    m->valid |= sectors;
    let_go(s, f->tag_line);
    uint32_t idx = m->waiting.first, left = m->waiting.count;
    for (;;) {
        const struct request *const r = at(s, idx);
        const uint32_t next = r->next;
        quick_filled(s, idx, r, q);
        if (__builtin_expect(!--left, 1)) return;
        idx = next;
    }
}

/* Those of the cycle of the next fill. What memory forwarded from a write may have been ready before the one
 * in front of it. */
static SLICE_HOT void quick_fills(struct slice *s, struct quick *q)
{
    q->now = later(q->fill->ready_cyc, q->now);
    do quick_fill(s, q);
    while (q->fill->ready_cyc <= q->now && !q->slow);
}

/* ---- requests ---- */

/* The tag stage has nothing to do before a fill comes. */
static SLICE_HOT void quick_block(struct slice *s, uint64_t *why, struct quick *q)
{
    s->blocked = why;
    s->blocked_cyc = q->now;
    q->due_cyc = ENGINE_NEVER;
}

/* The data port has more to do than may wait for it. */
static SLICE_HOT bool quick_port_blocks(struct slice *s, struct quick *q)
{
    if (__builtin_expect(s->port_free_cyc <= q->now + q->data_queue_cyc, 1)) return false;
    s->blocked = &s->stats.wait_port;
    s->blocked_cyc = q->now;
    q->due_cyc = s->port_free_cyc - q->data_queue_cyc;
    return true;
}

/* A line of the set makes room for the key's; false: not now. */
static SLICE_HOT bool quick_place(struct slice *s, uint64_t key, struct quick *q)
{
    uint8_t *const row = q->front.row;
    const uint32_t way = tags_oldest_in(&s->tags, row), line = q->front.first + way;
    if (__builtin_expect(way == s->tags.ways, 0)) {
        quick_block(s, &s->stats.wait_way, q);
        return false;
    }
    s->stats.evictions += row[way] != 0;
    if (s->lines[line].dirty[0] | s->lines[line].dirty[1]) slice_write_back(s, q->now, line);
    s->tags.keys[line] = key + 1;
    row[way] = q->hint;
    tags_renew_in(&s->tags, row, way);
    s->lines[line].valid = 0;
    q->line = line;
    return true;
}

/* An MSHR for the line, whose missing sectors are read. */
static SLICE_HOT void quick_fetch(struct slice *s, const struct request *r, struct slice_columns c,
                                  struct quick *q)
{
    struct slice_line *const m = &s->lines[q->line]; /* what else it knows is of lines of others */
    slice_set_pin(s, &q->front, q->line);
    if (__builtin_expect(--s->mshr_free_count < q->mshr_least, 0)) q->mshr_least = s->mshr_free_count;
    m->reads = true;
    m->asked = c.sectors;
    m->waiting.first = q->front.idx;
    m->waiting.count = 1;
    m->waiting.last = q->front.idx;
    struct memory_op *const op = op_place(s, &s->own_lane); /* nobody else waits for one of a plain slice */
    op->line = r->home.line;
    op->tag_line = q->line;
    op->first_column = c.first;
    op->column_count = c.count;
    op->ready_tick = (q->now + s->spec->miss_latency_cyc) * s->spec->ticks_per_cycle;
    op_joins(s, &s->own_lane, 0, op->ready_tick);
    q->misses++;
    q->columns += c.count;
}

/* A request that misses waits for a fill that lets go of an MSHR. False: it goes on waiting, or the rest of
 * the cycle is not a quick one. */
static SLICE_HOT bool quick_await(struct slice *s, struct quick *q)
{
    quick_block(s, &s->stats.wait_mshr, q);
    s->missed = q->line == TAGS_NONE; /* nothing but the tag stage brings lines in */
    if (!s->missed) return false;     /* but sectors may come */
    do {
        if (q->fill->ready_cyc >= q->until_cyc) return false;
        quick_fills(s, q);
        if (__builtin_expect(q->slow, 0)) return false;
        s->stats.wait_mshr += q->now - s->blocked_cyc;
        s->blocked_cyc = q->now;
        if (quick_port_blocks(s, q)) return false;
    } while (!s->mshr_free_count);
    s->blocked = NULL;
    return true;
}

/* What is not in the line will be; the request waits. */
static SLICE_HOT bool quick_miss(struct slice *s, const struct request *r, struct quick *q)
{
    uint8_t sectors = r->sectors;
    if (!s->mshr_free_count && !quick_await(s, q)) return false;
    s->missed = false;
    if (q->line == TAGS_NONE) {
        if (!quick_place(s, r->home.line, q)) return false;
    } else {
        sectors &= (uint8_t)~readable(s, q->line);
        slice_set_touch(s, &q->front, q->line);
    }
    quick_fetch(s, r, s->spec->missing_of[sectors], q);
    return true;
}

static __attribute__((noinline)) void fetch_more(struct slice *s, uint64_t now, uint32_t line,
                                                 uint8_t sectors)
{
    read_memory(s, now, tags_key(&s->tags, line), line, sectors, true);
}

/* The line is on its way, and the request waits with others. */
static SLICE_HOT bool quick_merge(struct slice *s, const struct request *r, struct quick *q)
{
    struct slice_line *const m = &s->lines[q->line];
    if (m->waiting.count >= s->spec->mshr_merges) {
        quick_block(s, &s->stats.wait_mshr, q);
        return false;
    }
    const uint8_t missing = r->sectors & (uint8_t) ~(readable(s, q->line) | m->asked);
    append(s, &m->waiting, q->front.idx);
    if (missing) fetch_more(s, q->now, q->line, missing);
    slice_set_touch(s, &q->front, q->line);
    s->stats.read_merged++;
    return true;
}

/* The reply leaves when the port has it. */
static SLICE_HOT void quick_hit(struct slice *s, const struct request *r, uint32_t port_cyc, uint32_t bytes,
                                struct quick *q)
{
    const uint64_t ready = use_port(s, q->now, port_cyc);
    if (quick_reply(s, ready, q->front.idx, r, bytes, q))
        leaves(s, q->now, (uint32_t)q->now, ready); /* it has come all the same */
    else
        append_hit(s, q->front.idx, ready);
}

static SLICE_HOT bool quick_read(struct slice *s, struct request *r, struct quick *q)
{
    if (q->line == TAGS_NONE) {
        if (!quick_miss(s, r, q)) return false;
    } else if (!lacks(s, q->line, r->sectors)) {
        const uint32_t sectors = r->sectors & SECTORS_ALL;
        slice_set_touch(s, &q->front, q->line);
        r->hit = 1;
        s->stats.read_hits++;
        quick_hit(s, r, s->spec->read_cyc[sectors], q->read_bytes[sectors], q);
    } else if (slice_set_is_pinned(s, &q->front, q->line)) {
        if (!quick_merge(s, r, q)) return false;
    } else if (!quick_miss(s, r, q)) {
        return false;
    }
    q->reads++;
    return true;
}

static SLICE_HOT bool quick_write(struct slice *s, struct request *r, struct quick *q)
{
    if (q->line == TAGS_NONE) {
        if (!quick_place(s, r->home.line, q)) return false;
    } else {
        s->stats.write_hits++;
        slice_set_touch(s, &q->front, q->line);
    }
    s->lines[q->line].dirty[0] |= r->bytes[0];
    s->lines[q->line].dirty[1] |= r->bytes[1];
    quick_hit(s, r, service_cycles(s, r), s->spec->header_bytes, q);
    q->writes++;
    return true;
}

/* The one in front was not looked at ahead of its time. */
static __attribute__((noinline)) void look_now(struct slice *s, uint32_t packet)
{
    slice_ahead_request(s, packet, (uint32_t)s->front->packet->handle);
    slice_ahead_set(s, packet);
    s->ahead_to = packet + 1;
}

static SLICE_HOT void quick_look(struct slice *s, struct quick *q)
{
    const uint32_t packet = q->port->popped;
    if (__builtin_expect(packet == s->ahead_to, 0)) look_now(s, packet);
    q->front = s->ahead[packet % SLICE_AHEAD];
    q->hint = tags_hint(q->front.r->home.line);
    q->line = slice_set_find(s, &q->front, q->hint);
}

/* The tag stage, with a request in front: says when it has something to do again. */
static SLICE_HOT void quick_request(struct slice *s, struct quick *q)
{
    if (!s->missed) { /* else it is known */
        quick_look(s, q);
        q->slow = q->front.r->kind > REQUEST_WRITE;
        if (__builtin_expect(q->slow, 0)) return;
    }
    struct request *const r = q->front.r;
    if (__builtin_expect(s->blocked != NULL, 0)) {
        *s->blocked += q->now - s->blocked_cyc;
        s->blocked = NULL;
    }
    if (quick_port_blocks(s, q)) return;
    if (!(r->kind == REQUEST_WRITE ? quick_write(s, r, q) : quick_read(s, r, q))) return;
    enters(s, r, q->now);
    q->local += r->sm - s->first_sm < s->wire.sms_per_partition;
    net_queue_take(q->request, s->wire.slice_idx, q->now);
    q->due_cyc = s->front->visible_cyc > q->now ? s->front->visible_cyc : q->now + 1;
}

static inline struct quick quick_of(const struct slice *s)
{
    const struct fabric *const f = s->wire.fabric;
    return (struct quick){.request = f->request.net,
                          .reply = f->reply.net,
                          .port = &f->request.net->queue->sinks[s->wire.slice_idx],
                          .read_bytes = f->read_bytes,
                          .traffic = f->traffic.sm_row,
                          .traffic_column = f->traffic.slice_column[s->wire.slice_idx],
                          .data_queue_cyc = s->spec->data_queue_cyc,
                          .until_cyc = s->until_cyc,
                          .fills = s->own_lane.fills,
                          .fills_end = s->own_lane.fills + s->fills_mask + 1,
                          .mshr_least = s->mshr_free_count};
}

static SLICE_HOT void quick_begin(struct slice *s, struct quick *q)
{
    const struct lane *const l = &s->own_lane;
    const uint64_t visible = s->front->visible_cyc;
    q->due_cyc = visible > s->visited_cyc ? visible : s->due_cyc;
    q->now = s->visited_cyc;
    q->fill = l->fills + l->fills_head;
    l->fills[(l->fills_head + l->fills_count) & s->fills_mask].ready_cyc = ENGINE_NEVER;
    if ((int32_t)(s->ahead_to - q->port->popped) < 0) s->ahead_to = q->port->popped;
    if (!s->missed) return;
    quick_look(s, q);
    s->missed = q->front.r->kind == REQUEST_READ; /* others are looked for once more */
}

/* The slice knows what was done. */
static SLICE_HOT void quick_end(struct slice *s, const struct quick *q)
{
    struct lane *const l = &s->own_lane;
    const uint32_t head = (uint32_t)(q->fill - q->fills), filled = (head - l->fills_head) & s->fills_mask;
    s->stats.fills += filled;
    l->fills_head = head;
    l->fills_count = s->fills_count = s->fills_count - filled;
    s->visited_cyc = q->now;
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
