/* slice_quick: cycles of a slice in windows in which reads and writes are served whose replies leave as soon
 * as the data port has them: nearly all. They do what slice_tags.h, slice_fill.h and slice_reply.h do, with
 * everything that is certain there left out; other cycles, or the rest of one, are those. Included by
 * window.c only. */
#ifndef ATOLL_LLC_SLICE_QUICK_H
#define ATOLL_LLC_SLICE_QUICK_H

#include "llc/slice_set.h"
#include "llc/slice_tags.h"
#include "net/net_queue.h"

/* Replies leave in the order in which they pass the data port: if one leaves after the window, so do all
 * after it. False: that is the case. */
static SLICE_HOT bool quick_reply(struct slice *s, uint64_t ready, uint32_t idx, const struct request *r,
                                  uint32_t came, uint32_t bytes, struct slice_run *q)
{
    if (__builtin_expect(ready >= q->until_cyc, 0)) return false;
    const uint32_t sm = r->sm;
    const struct net_packet p = {.handle = idx, .src = s->wire.slice_idx, .dst = sm, .bytes = bytes};
    (void)net_queue_join(q->reply, &p, ready);
    q->traffic[sm][q->traffic_column] += bytes;
    q->replies++;
    q->left_cyc += ready;
    q->stay_cyc += (uint32_t)ready - came;
    s->inside_cyc = q->now;
    return true;
}

/* ---- fills ---- */

static SLICE_HOT void quick_filled(struct slice *s, uint32_t idx, const struct request *r,
                                   struct slice_run *q)
{
    const size_t sectors = r->sectors & SECTORS_ALL;
    const uint64_t ready = use_port(s, q->now, s->spec->read_cyc[sectors]);
    if (!quick_reply(s, ready, idx, r, r->served, q->read_bytes[sectors], q)) append_filled(s, idx, ready);
}

/* Others than reads wait for the line, or not all that was asked for is there. False: replies wait in the
 * slice, each for its turn. */
static __attribute__((noinline)) bool fill_others(struct slice *s, const struct fill *f, struct slice_run *q)
{
    struct slice_line *const m = &s->lines[f->tag_line];
    m->asked &= (uint8_t)~f->sectors;
    m->valid |= f->sectors;
    (void)serve_waiting(s, q->now, f->tag_line, m, true);
    if (!(m->waiting.count | m->asked)) {
        slice_set_unpin(s, f->tag_line);
        s->mshr_free_count++;
    }
    q->slow = earlier(s->hits_cyc, s->filled_cyc) < s->until_cyc;
    return !q->slow;
}

/* The oldest fill: all that was asked for is all that those who wait lack. What memory forwarded from a write
 * may have been ready before the one in front of it. False: the rest of the cycle is not a quick one. */
static SLICE_HOT bool quick_fill(struct slice *s, struct slice_run *q)
{
    const struct fill *const f = q->fill;
    struct slice_line *const m = &s->lines[f->tag_line];
    const uint8_t sectors = f->sectors;
    q->now = later(f->ready_cyc, q->now);
    q->fill = f + 1 == q->fills_end ? q->fills : f + 1;
    if (__builtin_expect(!m->reads || m->asked != sectors, 0)) return fill_others(s, f, q);
    m->valid |= sectors;
    s->mshr_free_count++;
    uint32_t idx = m->waiting.first, left = m->waiting.count;
    *at(s, idx)->pin = 0;
    for (;;) {
        const struct request *const r = at(s, idx);
        const uint32_t next = r->next;
        quick_filled(s, idx, r, q);
        if (__builtin_expect(!--left, 1)) return true;
        idx = next;
    }
}

/* ---- requests ---- */

/* The tag stage has nothing to do before a fill comes. */
static SLICE_HOT bool quick_block(struct slice *s, uint64_t *why, struct slice_run *q)
{
    s->blocked = why;
    s->blocked_cyc = q->now;
    q->due_cyc = ENGINE_NEVER;
    return false;
}

/* The data port has more to do than may wait for it. */
static SLICE_HOT bool quick_port_blocks(struct slice *s, struct slice_run *q)
{
    if (__builtin_expect(s->port_free_cyc <= q->now + q->data_queue_cyc, 1)) return false;
    s->blocked = &s->stats.wait_port;
    s->blocked_cyc = q->now;
    q->due_cyc = s->port_free_cyc - q->data_queue_cyc;
    return true;
}

/* A line of the set makes room for that of the request; false: not now. */
static SLICE_HOT bool quick_place(struct slice *s, struct slice_run *q)
{
    uint8_t *const row = q->front->row;
    const uint32_t way = slice_set_victim(s, row);
    if (__builtin_expect(way == SLICE_SET_WAYS, 0)) return quick_block(s, &s->stats.wait_way, q);
    const uint32_t line = q->front->first + way;
    struct slice_line *const m = &s->lines[line];
    s->stats.evictions += row[way] != 0;
    if (m->dirty[0] | m->dirty[1]) slice_write_back(s, q->now, line);
    m->valid = 0;
    s->tags.keys[line] = q->r->home.line + 1;
    row[way] = q->hint;
    q->line = line;
    return true;
}

/* An MSHR for the line, whose missing sectors are read. */
static SLICE_HOT void quick_fetch(struct slice *s, uint8_t sectors, struct slice_run *q)
{
    const uint32_t line = q->line, idx = q->front->idx;
    struct slice_line *const m = &s->lines[line]; /* what else it knows is of lines of others */
    struct request *const r = q->r;
    const struct slice_columns *const c = &s->spec->missing_of[sectors];
    r->pin = slice_set_pin(s, q->front, line);
    *r->pin = 1;
    s->mshr_free_count--;
    if (q->mshr_least && s->mshr_free_count < q->mshr_least) q->mshr_least = s->mshr_free_count;
    m->reads = true;
    m->asked = c->sectors;
    m->waiting.first = idx;
    m->waiting.last = idx;
    m->waiting.count = 1;
    struct memory_op *const op = op_place(s, &s->own_lane); /* nobody else waits for one of a plain slice */
    op->line = r->home.line;
    op->tag_line = line;
    op->first_column = c->first;
    op->column_count = c->count;
    op->ready_tick = (q->now + s->spec->miss_latency_cyc) * s->spec->ticks_per_cycle;
    op_joins(s, &s->own_lane, 0, op->ready_tick);
    q->misses++;
    q->columns += c->count;
}

/* The line has no place. */
static SLICE_HOT bool quick_miss(struct slice *s, struct slice_run *q)
{
    if (!s->mshr_free_count) return quick_block(s, &s->stats.wait_mshr, q);
    if (!quick_place(s, q)) return false;
    quick_fetch(s, q->r->sectors, q);
    return true;
}

/* … but some of its sectors are not in it. */
static SLICE_HOT bool quick_complete(struct slice *s, uint8_t have, struct slice_run *q)
{
    if (!s->mshr_free_count) return quick_block(s, &s->stats.wait_mshr, q);
    slice_set_touch(s, q->front, q->line);
    quick_fetch(s, q->r->sectors & (uint8_t)~have, q);
    return true;
}

static __attribute__((noinline)) void fetch_more(struct slice *s, uint64_t now, uint32_t line,
                                                 uint8_t sectors)
{
    read_memory(s, now, tags_key(&s->tags, line), line, sectors, true);
}

/* The line is on its way, and the request waits with others. */
static SLICE_HOT bool quick_merge(struct slice *s, uint8_t have, struct slice_run *q)
{
    struct slice_line *const m = &s->lines[q->line];
    if (m->waiting.count >= s->spec->mshr_merges) return quick_block(s, &s->stats.wait_mshr, q);
    const uint8_t missing = q->r->sectors & (uint8_t) ~(have | m->asked);
    append(s, &m->waiting, q->front->idx);
    if (missing) fetch_more(s, q->now, q->line, missing);
    slice_set_touch(s, q->front, q->line);
    q->merged++;
    return true;
}

/* The reply leaves when the port has it. */
static SLICE_HOT void quick_hit(struct slice *s, uint32_t port_cyc, uint32_t bytes, struct slice_run *q)
{
    const uint64_t ready = use_port(s, q->now, port_cyc);
    slice_set_touch(s, q->front, q->line);
    if (!quick_reply(s, ready, q->front->idx, q->r, (uint32_t)q->now, bytes, q))
        append_hit(s, q->front->idx, ready);
}

static SLICE_HOT bool quick_read(struct slice *s, struct slice_run *q)
{
    const uint32_t line = q->line;
    if (line == TAGS_NONE) return quick_miss(s, q);
    const size_t sectors = q->r->sectors & SECTORS_ALL;
    uint8_t have = s->lines[line].valid;
    if (sectors & ~have && sectors & ~(have = readable(s, line)))
        return slice_set_is_pinned(s, q->front, line) ? quick_merge(s, have, q) : quick_complete(s, have, q);
    q->r->hit = 1;
    quick_hit(s, s->spec->read_cyc[sectors], q->read_bytes[sectors], q);
    return true;
}

static SLICE_HOT bool quick_write(struct slice *s, struct slice_run *q)
{
    const struct request *const r = q->r;
    s->stats.write_hits += q->line != TAGS_NONE;
    if (q->line == TAGS_NONE && !quick_place(s, q)) return false;
    s->lines[q->line].dirty[0] |= r->bytes[0];
    s->lines[q->line].dirty[1] |= r->bytes[1];
    quick_hit(s, service_cycles(s, r), s->spec->header_bytes, q);
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

static SLICE_HOT void quick_look(struct slice *s, struct slice_run *q)
{
    const uint32_t packet = q->port->popped;
    if (__builtin_expect(packet == s->ahead_to, 0)) look_now(s, packet);
    q->front = &s->ahead[packet % SLICE_AHEAD];
    q->r = q->front->r;
    q->hint = tags_hint(q->r->home.line);
    q->line = slice_set_find(s, q->front, q->hint);
}

/* The tag stage, for a read or a write that was looked at; false: not now. */
static SLICE_HOT bool quick_serve(struct slice *s, struct slice_run *q)
{
    const uint32_t kind = q->r->kind;
    if (__builtin_expect(kind > REQUEST_WRITE, 0)) {
        q->slow = true;
        return false;
    }
    if (quick_port_blocks(s, q)) return false;
    return kind == REQUEST_READ ? quick_read(s, q) : quick_write(s, q);
}

/* A request was served: says when the next one is due. */
static SLICE_HOT void quick_served(struct slice *s, struct slice_run *q)
{
    struct request *const r = q->r;
    const uint64_t now = q->now;
    r->served = (uint32_t)now;
    q->came_cyc += now;
    s->inside_cyc = now;
    q->local += r->sm - s->first_sm < s->wire.sms_per_partition;
    net_queue_take(q->request, s->wire.slice_idx, now);
    q->due_cyc = s->front->visible_cyc > now ? s->front->visible_cyc : now + 1;
}

/* ---- in time ---- */

/* Fills come before the next request does; false: it comes after the window. */
static SLICE_HOT bool quick_arrives(struct slice *s, struct slice_run *q)
{
    while (q->fill->ready_cyc <= q->due_cyc)
        if (q->fill->ready_cyc >= q->until_cyc || !quick_fill(s, q)) return false;
    if (q->due_cyc >= q->until_cyc) return false;
    q->now = q->due_cyc;
    return true;
}

/* The request in front waits for the next cycle that may change something; false: that comes after the
 * window. */
static SLICE_HOT bool quick_wait(struct slice *s, struct slice_run *q)
{
    if (q->slow) return false;
    if (__builtin_expect(q->fill->ready_cyc <= q->due_cyc, 1)) {
        if (q->fill->ready_cyc >= q->until_cyc) return false;
        do
            if (!quick_fill(s, q)) return false;
        while (q->fill->ready_cyc <= q->now);
    } else {
        if (q->due_cyc >= q->until_cyc) return false;
        q->now = q->due_cyc;
    }
    *s->blocked += q->now - s->blocked_cyc;
    s->blocked = NULL;
    return true;
}

/* Fills and requests, one by one, in a cycle fills first; as long as cycles are quick and there is room for
 * what they may send to memory. */
static SLICE_HOT void quick_cycles(struct slice *s, struct slice_run *q)
{
    bool waits = s->blocked != NULL;
    do {
        if (!waits && !quick_arrives(s, q)) return;
        quick_look(s, q);
        while (waits || !quick_serve(s, q)) {
            waits = false;
            if (!quick_wait(s, q)) return;
        }
        quick_served(s, q);
    } while (slice_memory_has_room(s));
}

/* Once: what stays as it is. */
static inline void quick_new(struct slice *s)
{
    const struct fabric *const f = s->wire.fabric;
    s->run = (struct slice_run){.request = f->request.net,
                                .reply = f->reply.net,
                                .port = &f->request.net->queue->sinks[s->wire.slice_idx],
                                .read_bytes = f->read_bytes,
                                .traffic = f->traffic.sm_row,
                                .traffic_column = f->traffic.slice_column[s->wire.slice_idx],
                                .data_queue_cyc = s->spec->data_queue_cyc,
                                .fills = s->own_lane.fills,
                                .fills_end = s->own_lane.fills + s->fills_mask + 1};
}

static SLICE_HOT void quick_begin(struct slice *s, struct slice_run *q)
{
    const struct lane *const l = &s->own_lane;
    const uint64_t visible = s->front->visible_cyc;
    q->due_cyc = visible > s->visited_cyc ? visible : s->due_cyc;
    q->now = s->visited_cyc;
    q->until_cyc = s->until_cyc;
    q->fill = l->fills + l->fills_head;
    l->fills[(l->fills_head + l->fills_count) & s->fills_mask].ready_cyc = ENGINE_NEVER;
    q->first_packet = q->port->popped;
    if ((int32_t)(s->ahead_to - q->first_packet) < 0) s->ahead_to = q->first_packet;
    q->slow = false;
    q->writes = q->local = q->misses = q->columns = q->merged = q->replies = 0;
    q->came_cyc = q->left_cyc = q->stay_cyc = 0;
    q->mshr_least = s->mshr_free_count;
}

static inline void quick_count(struct slice *s, const struct slice_run *q)
{
    const uint32_t requests = q->port->popped - q->first_packet, reads = requests - q->writes;
    s->stats.requests += requests;
    s->stats.tag_cycles += requests;
    s->stats.reads += reads;
    s->stats.crossing_reads += reads;
    s->stats.read_misses += q->misses;
    s->stats.read_merged += q->merged;
    s->stats.read_hits += reads - q->misses - q->merged;
    s->stats.memory_reads += q->misses;
    s->stats.memory_read_columns += q->columns;
    s->stats.writes += q->writes;
    s->stats.local += q->local;
    s->stats.remote += requests - q->local;
    s->stats.replies += q->replies;
    s->stats.stay_cyc += q->stay_cyc;
    s->inside += requests - q->replies;
    s->inside_sum += q->left_cyc - q->came_cyc;
    stats_peak(&s->stats.mshr_peak, s->spec->mshrs - q->mshr_least);
}

/* The slice knows what was done. */
static SLICE_HOT void quick_end(struct slice *s, struct slice_run *q)
{
    struct lane *const l = &s->own_lane;
    const uint32_t head = (uint32_t)(q->fill - q->fills), filled = (head - l->fills_head) & s->fills_mask;
    s->stats.fills += filled;
    l->fills_head = head;
    l->fills_count = s->fills_count = s->fills_count - filled;
    s->visited_cyc = q->now;
    s->due_cyc = earlier(q->due_cyc, earlier(s->hits_cyc, s->filled_cyc));
    s->missed = false; /* at least it is not known any more */
    quick_count(s, q);
}

#endif
