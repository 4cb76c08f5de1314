/* slice_quick: cycles of a slice in windows in which reads and writes are served whose replies leave as soon
 * as the data port has them: nearly all. They do what slice_tags.h, slice_fill.h and slice_reply.h do, with
 * everything that is certain there left out; other cycles, or the rest of one, are those. Included by
 * window.c only.
 *
 * Here are requests and the run of cycles, in slice_quick_fill.h fills and waiting for them. */
#ifndef ATOLL_LLC_SLICE_QUICK_H
#define ATOLL_LLC_SLICE_QUICK_H

#include "check/fault.h"
#include "llc/slice_quick_fill.h"
#include "llc/slice_set.h"

/* ---- operations for memory ---- */

static SLICE_HOT void quick_ops_begin(const struct slice *s, struct slice_run *q)
{
    q->op = op_place(s, &s->own_queue);
    q->ops_room = q->ops_allowed = (int32_t)(s->ops_max - s->ops_count) + 1;
}

/* Those that were made count; the channel waits for the first. */
static SLICE_HOT void quick_ops_end(struct slice *s, struct slice_run *q)
{
    struct memory_queue *const ops = &s->own_queue.ops;
    const uint32_t made = (uint32_t)(q->ops_allowed - q->ops_room);
    if (!made) return;
    q->misses += made;
    if (!ops->count) {
        s->wire.pending[0] |= (uint64_t)1 << s->wire.pending_bit;
        channel_on_first_op(s->wire.channels[0], ops->front->ready_tick);
    }
    q->op->ready_tick = ENGINE_NEVER;
    ops->count += made;
    s->ops_count += made;
}

/* Some are made by others. */
static __attribute__((noinline)) void write_back(struct slice *s, uint32_t line, struct slice_run *q)
{
    quick_ops_end(s, q);
    slice_write_back(s, q->now, line);
    quick_ops_begin(s, q);
}
static __attribute__((noinline)) void fetch_more(struct slice *s, uint32_t line, uint8_t sectors,
                                                 struct slice_run *q)
{
    quick_ops_end(s, q);
    read_memory(s, q->now, tags_key(&s->tags, line), line, sectors, true);
    quick_ops_begin(s, q);
}

/* ---- requests that go to memory ---- */

/* MSHRs that are free are, in a run, the fewest that were so far, and those beyond them. */
static SLICE_HOT bool quick_has_mshr(const struct slice *s, const struct slice_run *q)
{
    return __builtin_expect(s->mshr_free_count, 1) || q->mshr_least;
}
static SLICE_HOT void quick_take_mshr(struct slice *s, struct slice_run *q)
{
    if (__builtin_expect(s->mshr_free_count, 1))
        s->mshr_free_count--;
    else
        q->mshr_least--;
}

/* An MSHR for a line, whose missing sectors are read. */
static SLICE_HOT void quick_fetch(struct slice *s, uint32_t line, struct slice_line *m, uint8_t *pin,
                                  struct request *r, size_t sectors, struct slice_run *q)
{
    const struct slice_columns c = q->missing_of[sectors];
    const uint32_t idx = q->front.idx;
    const uint64_t key = r->home.line;
    q->columns += c.count;
    m->single_waiter = m->reads_only = true; /* what else it knows is of lines of others */
    m->pending_sectors = c.sectors;
    m->waiting.first = idx;
    m->waiting.count = 1;
    m->waiting.last = idx;
    *pin = 1;
    r->pin = pin;
    quick_take_mshr(s, q);
    struct memory_op *const op = q->op; /* nobody else waits for one of a basic slice */
    q->op = __builtin_expect(op + 1 == q->ops_end, 0) ? q->ops : op + 1;
    q->ops_room--;
    op->line = key;
    op->tag_line = line;
    op->first_column = c.first;
    op->column_count = c.count;
    op->ready_tick = (q->now + q->miss_latency_cyc) * q->ticks_per_cycle;
}

/* The way of the set, whose line this is, makes room for that of the request. */
static SLICE_HOT struct slice_line *quick_place(struct slice *s, uint8_t *hint, uint32_t line,
                                                const struct request *r, struct slice_run *q)
{
    struct slice_line *const m = &s->lines[line];
    s->stats.evictions += *hint != 0;
    *hint = q->front.hint;
    if (m->dirty[0] | m->dirty[1]) write_back(s, line, q);
    m->valid = 0;
    s->tags.keys[line] = r->home.line + 1;
    return m;
}

/* The fills of the window do not let go of one. */
static __attribute__((noinline)) void stop_for_mshr(struct slice *s, struct slice_run *q)
{
    s->stats.wait_mshr += q->now;
    q->due_cyc = ENGINE_NEVER;
    s->blocked = &s->stats.wait_mshr;
    s->blocked_cyc = q->now;
}

/* All are in use: the fills of a cycle may let go of one. False: it comes after the window, or is not a quick
 * one. */
static SLICE_HOT bool quick_awaits_mshr(struct slice *s, struct slice_run *q)
{
    s->stats.wait_mshr -= q->now;
    if (__builtin_expect(!quick_fills(s, q), 0)) {
        stop_for_mshr(s, q);
        return false;
    }
    s->stats.wait_mshr += q->now;
    return true;
}

static SLICE_HOT bool quick_awaits_way(struct slice *s, struct slice_run *q)
{
    q->due_cyc = ENGINE_NEVER;
    s->blocked_cyc = q->now;
    return quick_waits(s, &s->stats.wait_way, q);
}

/* The line of a read has no place. False: it is not served, or not here. */
static SLICE_HOT bool quick_miss(struct slice *s, struct slice_run *q)
{
    for (;;)
        if (!quick_port_takes(s, q)) {
            if (!quick_waits_for_port(s, q)) return false;
        } else if (quick_has_mshr(s, q)) {
            break;
        } else if (!quick_awaits_mshr(s, q)) {
            return false;
        }
    struct request *const r = q->front.r;
    uint8_t *const row = q->front.row, *const pins = slice_set_pins(s, &q->front);
    size_t way;
    if (__builtin_expect(!slice_set_victim(s, row, pins, &way), 0)) {
        q->slow = true;
        return false;
    }
    const uint32_t line = q->front.first + (uint32_t)way;
    struct slice_line *const m = quick_place(s, row + way, line, r, q);
    quick_fetch(s, line, m, pins + way, r, r->sectors & SECTORS_ALL, q);
    return true;
}

/* ---- others; false: it is stopped, a read for want of an MSHR or of room in one, a write of a way ---- */

/* The line has a place, but some of the sectors are not in it. */
static SLICE_HOT bool quick_complete(struct slice *s, uint32_t line, uint32_t lacks, struct request *r,
                                     struct slice_run *q)
{
    if (!quick_has_mshr(s, q)) return false;
    slice_set_touch(s, &q->front, line);
    quick_fetch(s, line, &s->lines[line], slice_set_pin(s, &q->front, line), r, lacks, q);
    return true;
}

/* The line is on its way, and the request waits with others. */
static SLICE_HOT bool quick_merge(struct slice *s, uint32_t line, uint32_t lacks, struct slice_run *q)
{
    struct slice_line *const m = &s->lines[line];
    if (m->waiting.count >= s->spec->mshr_merges) return false;
    const uint32_t missing = lacks & ~(uint32_t)m->pending_sectors;
    append(s, &m->waiting, q->front.idx);
    m->single_waiter = false;
    if (missing) fetch_more(s, line, (uint8_t)missing, q);
    slice_set_touch(s, &q->front, line);
    q->merged++;
    return true;
}

/* The reply leaves when the port has it. */
static SLICE_HOT void quick_hit(struct slice *s, uint32_t line, const struct request *r, uint32_t port_cyc,
                                uint32_t bytes, struct slice_run *q)
{
    const uint64_t now = q->now, ready = use_port(s, now, port_cyc);
    if (!FAULT_FIRES(fast_llc_lru)) slice_set_touch(s, &q->front, line);
    if (!quick_reply(s, ready, q->front.idx, r, (uint32_t)now, bytes, q)) append_hit(s, q->front.idx, ready);
}

static SLICE_HOT bool quick_read(struct slice *s, uint32_t line, struct request *r, struct slice_run *q)
{
    const struct slice_line *const m = &s->lines[line];
    const uint32_t sectors = r->sectors & SECTORS_ALL;
    uint32_t lacks = sectors & ~(uint32_t)m->valid;
    if (lacks && m->dirty[0] | m->dirty[1]) lacks &= ~(uint32_t)sectors_written(m->dirty);
    if (lacks)
        return *slice_set_pin(s, &q->front, line) ? quick_merge(s, line, lacks, q)
                                                  : quick_complete(s, line, lacks, r, q);
    r->hit = 1;
    quick_hit(s, line, r, q->read_cyc[sectors], q->read_bytes[sectors], q);
    return true;
}

static SLICE_HOT bool quick_write(struct slice *s, uint32_t line, const struct request *r,
                                  struct slice_run *q)
{
    const struct slice_front *const a = &q->front;
    size_t way;
    if (line != TAGS_NONE) {
        s->stats.write_hits++;
    } else {
        if (!slice_set_victim(s, a->row, slice_set_pins(s, a), &way)) return false;
        line = a->first + (uint32_t)way;
        (void)quick_place(s, a->row + way, line, r, q);
    }
    s->lines[line].dirty[0] |= r->bytes[0];
    s->lines[line].dirty[1] |= r->bytes[1];
    quick_hit(s, line, r, service_cycles(s, r), s->spec->header_bytes, q);
    q->writes++;
    q->write_bytes += q->port.front->packet->bytes;
    return true;
}

/* Others than reads may wait for the line: see is_held(). */
static SLICE_HOT bool quick_may_be_held(const struct slice *s, uint32_t line, const struct slice_run *q)
{
    return *slice_set_pin(s, &q->front, line) && !s->lines[line].reads_only;
}

/* A read of a line that has a place, or a write. False: it is not served, or not here. */
static SLICE_HOT bool quick_other(struct slice *s, uint32_t line, struct slice_run *q, bool reads)
{
    struct request *const r = q->front.r;
    for (;;) {
        if (!quick_port_takes(s, q)) {
            if (!quick_waits_for_port(s, q)) return false;
            continue;
        }
        if (__builtin_expect(line != TAGS_NONE && quick_may_be_held(s, line, q), 0)) {
            q->slow = true;
            return false;
        }
        if (reads ? quick_read(s, line, r, q) : quick_write(s, line, r, q)) return true;
        if (!(reads ? quick_awaits_mshr(s, q) : quick_awaits_way(s, q))) return false;
    }
}

/* ---- a request ---- */

/* The one in front, or there next; a later one into the host's caches. There may be none: then it is another,
 * which nobody looks at. */
static SLICE_HOT void quick_next(const struct slice *s, const struct net_queue_slot *slot,
                                 struct slice_run *q)
{
    enum { AHEAD = NET_QUEUE_SPARE - 1 };
    const uint32_t idx = (uint32_t)slot->packet.handle;
    q->front.r = at(s, idx);
    q->front.idx = idx;
    __builtin_prefetch(at(s, (uint32_t)slot[AHEAD].packet.handle), 1);
}

/* The line that it is for, TAGS_NONE: it has no place. */
static SLICE_HOT uint32_t quick_look(struct slice *s, struct slice_run *q)
{
    slice_set_look(s, &q->front);
    return slice_set_find(s, &q->front);
}

/* False: it is not served, or not here. */
static SLICE_HOT bool quick_serve(struct slice *s, struct slice_run *q)
{
    const uint32_t line = quick_look(s, q);
    const uint8_t kind = q->front.r->kind;
    if (__builtin_expect(kind == REQUEST_READ, 1))
        return line == TAGS_NONE ? quick_miss(s, q) : quick_other(s, line, q, true);
    if (kind == REQUEST_WRITE) return quick_other(s, line, q, false);
    q->slow = true;
    return false;
}

/* It was served; returns when the next one is due. */
static SLICE_HOT uint64_t quick_served(struct slice *s, struct slice_run *q)
{
    struct request *const r = q->front.r;
    const uint64_t now = q->now;
    r->served = (uint32_t)now;
    q->came_cyc += now;
    s->inside_cyc = now;
    q->local += r->sm - s->first_sm < s->wire.sms_per_partition;
    uint64_t visible;
    quick_next(s, net_queue_pass(q->port, now, &visible), q);
    return __builtin_expect(visible > now, 0) ? visible : now + 1;
}

/* Fills and requests, one by one, in a cycle fills first; as long as cycles are quick and there is room for
 * what they may send to memory. */
static SLICE_HOT void quick_cycles(struct slice *s, struct slice_run *q)
{
    uint64_t due = q->due_cyc;
    if (s->blocked) {
        if (!quick_waits(s, s->blocked, q)) return;
        due = q->now;
    }
    do {
        if (!quick_arrives(s, due, q) || !quick_serve(s, q)) return;
        due = quick_served(s, q);
    } while (q->ops_room > 0);
    q->due_cyc = due;
}

/* ---- a run of such cycles ---- */

/* Once: what stays as it is. */
static inline void quick_new(struct slice *s)
{
    const struct fabric *const f = s->wire.fabric;
    s->run = (struct slice_run){.port = net_queue_port_of(f->request.net, s->wire.slice_idx),
                                .out = &f->reply.sources[s->wire.slice_idx],
                                .traffic = f->traffic.sm_row,
                                .data_queue_cyc = s->spec->data_queue_cyc,
                                .miss_latency_cyc = s->spec->miss_latency_cyc,
                                .ticks_per_cycle = s->spec->ticks_per_cycle,
                                .ops = s->own_queue.ops.ring,
                                .ops_end = s->own_queue.ops.end,
                                .fills = s->own_queue.fills,
                                .fills_end = s->own_queue.fills + s->fills_mask + 1};
    slice_turns_begin(s->spec, &s->run);
    for (uint32_t sectors = 0; sectors <= SECTORS_ALL; sectors++) {
        s->run.read_bytes[sectors] = f->read_bytes[sectors];
        s->run.read_cyc[sectors] = s->spec->read_cyc[sectors];
        s->run.missing_of[sectors] = s->spec->missing_of[sectors];
    }
}

static SLICE_HOT void quick_begin(struct slice *s, struct slice_run *q)
{
    const struct channel_queue *const l = &s->own_queue;
    const uint64_t visible = s->front->visible_cyc;
    q->due_cyc = visible > s->visited_cyc ? visible : s->due_cyc;
    q->now = s->visited_cyc;
    q->until_cyc = s->until_cyc;
    DIAG_ASSERT(l->fills_count <= s->fills_mask);
    l->fills[(l->fills_head + l->fills_count) & s->fills_mask].ready_cyc = ENGINE_NEVER;
    quick_fill_next(l->fills + l->fills_head, q);
    q->inside = net_queue_inside(q->port.sink, q->port.front);
    quick_next(s, net_queue_slot_of(q->port.front), q);
    quick_ops_begin(s, q);
    q->slow = false;
    q->writes = q->local = q->misses = q->columns = q->merged = q->replies = 0;
    q->came_cyc = q->left_cyc = q->stay_cyc = q->write_bytes = 0;
    q->mshr_least = s->mshr_free_count;
    s->mshr_free_count = 0;
}

static inline void quick_count(struct slice *s, const struct slice_run *q)
{
    const uint32_t left = net_queue_inside(q->port.sink, q->port.front);
    const uint32_t requests = q->inside - left, reads = requests - q->writes;
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
    if (q->replies) s->replied_cyc = q->out->at[-1].accept_cyc; /* the last one */
    s->stats.stay_cyc += q->stay_cyc;
    s->inside += requests - q->replies;
    s->inside_sum += q->left_cyc - q->came_cyc;
    net_queue_count_taken(q->port.sink, requests, q->came_cyc,
                          reads * (uint64_t)s->wire.fabric->header_bytes + q->write_bytes);
    stats_peak(&s->stats.mshr_peak, s->spec->mshrs - q->mshr_least);
    s->mshr_free_count += q->mshr_least;
}

/* The slice knows what was done. */
static SLICE_HOT void quick_end(struct slice *s, struct slice_run *q)
{
    struct channel_queue *const l = &s->own_queue;
    const uint32_t head = (uint32_t)(q->fill - q->fills), filled = (head - l->fills_head) & s->fills_mask;
    s->stats.fills += filled;
    l->fills_head = head;
    l->fills_count = s->fills_count = s->fills_count - filled;
    s->visited_cyc = q->now;
    s->due_cyc = min_u64(q->due_cyc, min_u64(s->hits_cyc, s->filled_cyc));
    s->missed = false; /* at least it is not known any more */
    quick_ops_end(s, q);
    quick_count(s, q);
}

#endif
