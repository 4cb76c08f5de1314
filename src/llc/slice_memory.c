/* slice_memory: see slice_memory.h. The functions that memory channels and the other files of a slice call.
 */
#include "llc/slice_memory.h"

#include "llc/organisation.h"
#include "llc/rdc.h"

_Static_assert(MEMORY_OP_WRITE == TAGS_NONE, "no line of the tags");

void slice_columns(const struct slice_spec *p, uint8_t sectors, uint8_t *first, uint8_t *count)
{
    columns(p, sectors, first, count);
}

void slice_push_op(struct slice *s, struct memory_op op) { push_op(s, op, false); }

void slice_write_back(struct slice *s, uint64_t now, uint32_t tag_line)
{
    slice_write_back_for(s, now, tag_line, 0);
}

void slice_write_back_for(struct slice *s, uint64_t now, uint32_t tag_line, uint32_t move)
{
    uint64_t *const dirty = s->lines[tag_line].dirty;
    struct memory_op op = {.line = tags_key(&s->tags, tag_line),
                           .tag_line = MEMORY_OP_WRITE,
                           .move = move,
                           .ready_tick = (now + 1) * s->spec->ticks_per_cycle};
    columns(s->spec, sectors_with(dirty), &op.first_column, &op.column_count);
    (void)use_port(s, now, port_cycles(s, request_byte_count(dirty)));
    if (s->copies) check_write_back(s->copies, tag_line, dirty);
    dirty[0] = dirty[1] = 0;
    s->stats.memory_writes++;
    s->stats.memory_write_columns += op.column_count;
    push_op(s, op, false);
}

const struct memory_queue *slice_memory_queue(const struct slice *s, uint32_t queue_idx)
{
    return &s->queues[queue_idx].ops;
}

/* ---- accepted operations ---- */

/* Private organisation: invalidates copies of a written line, through the crossbar of the stack. A write by
 * another slice invalidates the copy at the home. A write by the home (atomics) invalidates the copies in the
 * slices of the writers' clusters. */
static void snoop_others(const struct slice *s, const struct memory_op *op)
{
    const struct clusters *k = &s->wire.organisation->clusters;
    const uint32_t home = slice_home(s->spec, op->line);
    if (s->wire.slices[home] != s) {
        slice_snoop(s->wire.slices[home], op->line);
        return;
    }
    for (uint32_t n = 0, idx = op->writers_first; n < op->writers_count; n++) {
        const struct request *r = at(s, idx);
        const uint32_t own = clusters_slice(k, home, clusters_of_sm(k, r->sm), k->stack_slices);
        if (own != home) slice_snoop(s->wire.slices[own], op->line);
        idx = r->next;
    }
}

/* Completes the waiters for the acceptance of an operation: write-through requests, a page migration. */
static void complete_waiters(struct slice *s, uint32_t queue_idx, const struct memory_op *op)
{
    if (op->writers_count) { /* channels of a write-through slice are exact: the tick is now */
        snoop_others(s, op);
        for (uint32_t k = 0, idx = op->writers_first; s->copies && k < op->writers_count; k++) {
            check_memory_store(s->copies, idx);
            idx = at(s, idx)->next;
        }
        const uint64_t next = engine_now(s->wire.engine, s->wire.domain) + 1;
        (void)push_fill(s, queue_idx,
                        (struct fill){.ready_cyc = next,
                                      .writers_first = op->writers_first,
                                      .writers_count = op->writers_count});
        engine_wake(s->wire.engine, s->component, next);
    }
    if (op->move && op->move != MEMORY_OP_OWN) s->wire.page_line_done(s->wire.pages, op->move - 1);
}

__attribute__((noinline)) void slice_wake_on_accept(struct slice *s, uint64_t tick)
{
    const uint64_t next = engine_cycles(s->wire.engine, s->wire.domain, tick) + 1;
    if (s->windowed) {
        if (next > s->visited_cyc && next < s->due_cyc) s->due_cyc = next;
        return;
    }
    if (next > engine_now(s->wire.engine, s->wire.domain)) engine_wake(s->wire.engine, s->component, next);
}

static SLICE_HOT void accept_oldest(struct slice *s, struct channel_queue *l, uint32_t queue_idx,
                                    uint64_t tick)
{
    drop_oldest(s, l, queue_idx);
    __builtin_prefetch(l->ops.front);
    if (needs_accept_wakeup(s)) slice_wake_on_accept(s, tick);
}

static __attribute__((noinline)) void accept_and_complete(struct slice *s, uint32_t queue_idx, uint64_t tick)
{
    struct channel_queue *const l = &s->queues[queue_idx];
    complete_waiters(s, queue_idx, l->ops.front);
    accept_oldest(s, l, queue_idx, tick);
}

void slice_memory_accepted(void *slice, uint32_t queue_idx, uint64_t tick)
{
    struct slice *const s = slice;
    struct channel_queue *const l = &s->queues[queue_idx];
    const struct memory_op *const op = l->ops.front;
    s->memory_wait_ticks += tick - op->ready_tick;
    if (__builtin_expect(op->writers_count | op->move, 0))
        accept_and_complete(s, queue_idx, tick);
    else
        accept_oldest(s, l, queue_idx, tick);
}

void slice_memory_accepted_checked(void *slice, uint32_t queue_idx, uint64_t tick)
{
    const struct slice *const s = slice;
    const struct memory_op *const op = s->queues[queue_idx].ops.front;
    if (op->move == MEMORY_OP_OWN)
        ;
    else if (!memory_op_is_write(op))
        check_memory_read(s->copies, op->tag_line, op->line,
                          slice_sectors(s->spec, op->first_column, op->column_count));
    else if (!op->writers_count && !FAULT_FIRES(memory_loses_write)) /* write-through: complete_waiters() */
        check_memory_write(s->wire.check, op->line);
    slice_memory_accepted(slice, queue_idx, tick);
}

/* ---- system memory (spill.h) ---- */

void slice_push_to_channel(struct slice *s, const struct memory_op *op)
{
    struct channel_queue *const l = &s->own_queue;
    *op_place(s, l) = *op;
    op_joins(s, l, 0, op->ready_tick);
}

static void check_system_op(const struct slice *s, const struct memory_op *op)
{
    if (FAULT_FIRES(spill_loses_write) && memory_op_is_write(op)) return;
    if (memory_op_is_write(op))
        check_memory_write(s->wire.check, op->line);
    else
        check_memory_read(s->copies, op->tag_line, op->line,
                          slice_sectors(s->spec, op->first_column, op->column_count));
}

void slice_system_accepted(struct slice *s, const struct memory_op *op, uint64_t tick)
{
    s->memory_wait_ticks += tick - op->ready_tick;
    if (s->copies) check_system_op(s, op);
    if (needs_accept_wakeup(s)) slice_wake_on_accept(s, tick);
}

/* ---- fills ---- */

void slice_push_fill(struct slice *s, uint32_t tag_line, uint8_t sectors, uint64_t ready_cyc)
{
    (void)push_fill(s, 0, (struct fill){.ready_cyc = ready_cyc, .tag_line = tag_line, .sectors = sectors});
}

/* Prefetches the line of the last fill and the first waiting request of the fill before it. */
static inline void fetch_for_last(const struct slice *s, const struct channel_queue *l)
{
    const uint32_t last = l->fills_head + l->fills_count - 1;
    __builtin_prefetch(&s->lines[l->fills[last & s->fills_mask].tag_line], 1);
    if (l->fills_count < 2) return;
    const struct fill *const before = &l->fills[(last - 1) & s->fills_mask];
    if (!before->writers_count) __builtin_prefetch(at(s, s->lines[before->tag_line].waiting.first), 1);
}

/* Counts a latency in the bucket of its log2 in cycles, without a division: log2 of the ticks minus log2 of a
 * cycle, or one more. */
static inline void count_latency(struct slice *s, uint64_t ticks)
{
    enum { BUCKET_MAX = sizeof s->stats.memory_latency / sizeof *s->stats.memory_latency - 1 };
    const struct slice_spec *const p = s->spec;
    uint32_t bucket = 0;
    if (__builtin_expect(ticks >= p->ticks_per_cycle, 1)) {
        bucket = (uint32_t)(__builtin_clzll(ticks) ^ 63) - p->ticks_log2;
        bucket += ticks >= p->ticks_per_cycle << bucket;
    }
    s->stats.memory_latency[bucket < BUCKET_MAX ? bucket : BUCKET_MAX]++;
}

/* Cycle of the fill of data that is at the pins at a tick. It includes fill_latency_cyc, so that fill and
 * reply are one activation. */
static inline uint64_t fill_cyc(const struct slice *s, uint64_t tick)
{
    return engine_cycles(s->wire.engine, s->wire.domain, tick + s->spec->ticks_per_cycle - 1) +
           s->spec->back_cyc;
}

static __attribute__((noinline)) void return_read(struct slice *s, uint32_t queue_idx, uint32_t tag_line,
                                                  uint8_t sectors, uint64_t tick)
{
    const uint64_t ready = fill_cyc(s, tick);
    const bool first =
        push_fill(s, queue_idx, (struct fill){.ready_cyc = ready, .tag_line = tag_line, .sectors = sectors});
    fetch_for_last(s, &s->queues[queue_idx]);
    if (first) engine_wake(s->wire.engine, s->component, ready);
}

/* Fills of channels that were announced for later cycles stay behind this one: a queue is in the order of time. */
void slice_system_done(struct slice *s, uint32_t tag_line, uint8_t sectors, uint64_t sent_tick, uint64_t tick)
{
    struct channel_queue *const l = &s->own_queue;
    const uint64_t now = engine_now(s->wire.engine, s->wire.domain);
    const uint64_t ready = fill_cyc(s, tick) > now ? fill_cyc(s, tick) : now + 1;
    const struct fill f = {.ready_cyc = ready, .tag_line = tag_line, .sectors = sectors};
    count_latency(s, tick - sent_tick);
    (void)append_fill(s, l);
    uint32_t at_entry = l->fills_head + l->fills_count - 1;
    for (; at_entry != l->fills_head && l->fills[(at_entry - 1) & s->fills_mask].ready_cyc > ready;
         at_entry--)
        l->fills[at_entry & s->fills_mask] = l->fills[(at_entry - 1) & s->fills_mask];
    l->fills[at_entry & s->fills_mask] = f;
    if (s->remote) own_due(s, fill_due(s, false));
    engine_wake(s->wire.engine, s->component, ready);
}

void slice_memory_done(void *slice, uint32_t queue_idx, uint64_t tag, uint64_t accept_tick, uint64_t tick)
{
    struct slice *const s = slice;
    const uint32_t tag_line = channel_tag_line(tag);
    const uint8_t sectors = tag_sectors(s->spec, tag);
    if (FAULT_FIRES(memory_loses_read)) return;
    count_latency(s, tick - accept_tick);
    if (s->remote && rdc_owns(tag_line)) {
        rdc_memory_done(s, tag_line, fill_cyc(s, tick));
        return;
    }
    if (!s->windowed) {
        return_read(s, queue_idx, tag_line, sectors, tick);
        return;
    }
    append_window_fill(s, tag_line, sectors, fill_cyc(s, tick));
}
