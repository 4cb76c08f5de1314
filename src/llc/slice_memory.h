/* slice_memory: operations of a slice to its memory channels, and fills from them.
 *
 *   tag stage ─► push_op() ─► channel_queue.ops ─► channel (dram/channel.h)
 *   fill stage (slice_fill.h) ◄── channel_queue.fills ◄── slice_memory_done()
 *
 * Operations for system memory leave the way at push_op() (spill.h).
 *
 * Included by the files of a slice and by channel_reads.c, the joint loop of channel and slices in windows.
 */
#ifndef ATOLL_LLC_SLICE_MEMORY_H
#define ATOLL_LLC_SLICE_MEMORY_H

#include "llc/llc_private.h"
#include "llc/spill.h"

static inline void columns(const struct slice_spec *p, uint8_t sectors, uint8_t *first, uint8_t *count)
{
    *first = p->columns_of[sectors].first;
    *count = p->columns_of[sectors].count;
}

static inline uint32_t stack_cycles(const struct slice_spec *p, uint32_t bytes)
{
    return (bytes + p->stack_width - 1) / p->stack_width;
}

/* First entry behind the last operation of a queue. */
static SLICE_HOT struct memory_op *op_place(const struct slice *s, const struct channel_queue *l)
{
    DIAG_ASSERT(l->ops.count <= s->ops_mask);
    return &l->ops.ring[((size_t)(l->ops.front - l->ops.ring) + l->ops.count) & s->ops_mask];
}

/* Counts the operation that was written to op_place(). */
static SLICE_HOT void op_joins(struct slice *s, struct channel_queue *l, uint32_t queue_idx,
                               uint64_t ready_tick)
{
    s->ops_count++;
    const bool first = !l->ops.count++;
    op_place(s, l)->ready_tick = ENGINE_NEVER;
    if (!first) return; /* the channel is due for the front already, or is full */
    s->wire.pending[queue_idx] |= (uint64_t)1 << s->wire.pending_bit;
    channel_on_first_op(s->wire.channels[queue_idx], ready_tick);
}

static SLICE_HOT void push_op(struct slice *s, struct memory_op op, bool basic)
{
    const struct slice_spec *p = s->spec;
    if (!basic && s->spill && spill_takes(s, &op)) return;
    const uint32_t queue_idx =
        !basic && p->channels > 1 ? dram_map_place_line(p->map, op.line).channel % p->channels : 0;
    struct channel_queue *l = basic ? &s->own_queue : &s->queues[queue_idx];
    if (!basic && p->stack_width) { /* the port of the crossbar sends one operation at a time */
        if (op.ready_tick < s->out_free_tick) op.ready_tick = s->out_free_tick;
        s->out_free_tick =
            op.ready_tick +
            stack_cycles(p, memory_op_bytes(&op, p->header_bytes, p->column_bytes)) * p->ticks_per_cycle;
    }
    *op_place(s, l) = op;
    op_joins(s, l, queue_idx, op.ready_tick);
}

static SLICE_HOT void read_memory(struct slice *s, uint64_t now, uint64_t line, uint32_t tag_line,
                                  uint8_t sectors, bool basic)
{
    struct memory_op op = {.line = FAULT_FIRES(memory_wrong_line) ? line ^ 1 : line,
                           .tag_line = tag_line,
                           .ready_tick = (now + s->spec->miss_latency_cyc) * s->spec->ticks_per_cycle};
    columns(s->spec, sectors, &op.first_column, &op.column_count);
    s->lines[tag_line].pending_sectors |= s->spec->columns_of[sectors].sectors;
    s->stats.memory_reads++;
    s->stats.memory_read_columns += op.column_count;
    push_op(s, op, basic);
}

/* The queue whose front fill is ready first; ties: the lowest index; NULL: no fill is pending. */
static SLICE_HOT struct channel_queue *first_queue(const struct slice *s, bool basic)
{
    struct channel_queue *first = NULL;
    if (!s->fills_count) return NULL;
    if (basic || s->spec->channels == 1) return s->queues;
    for (struct channel_queue *l = s->queues; l < s->queues + s->spec->channels; l++) {
        if (!l->fills_count) continue;
        if (!first || l->fills[l->fills_head].ready_cyc < first->fills[first->fills_head].ready_cyc)
            first = l;
    }
    return first;
}

/* Cycle of the next fill; ENGINE_NEVER: no fill is pending. */
static SLICE_HOT uint64_t fill_due(const struct slice *s, bool basic)
{
    const struct channel_queue *l = first_queue(s, basic);
    if (!l) return ENGINE_NEVER;
    const uint64_t ready = l->fills[l->fills_head].ready_cyc;
    return basic || ready > s->in_free_cyc ? ready : s->in_free_cyc;
}

/* Appends a fill; the caller writes its fields. */
static inline struct fill *append_fill(struct slice *s, struct channel_queue *l)
{
    DIAG_ASSERT(l->fills_count <= s->fills_mask);
    s->fills_count++;
    return &l->fills[(l->fills_head + l->fills_count++) & s->fills_mask];
}

/* True: the fill is the first of its queue. Otherwise the slice is awake for an earlier fill already. */
static inline bool push_fill(struct slice *s, uint32_t queue_idx, struct fill f)
{
    struct channel_queue *l = &s->queues[queue_idx];
    *append_fill(s, l) = f;
    if (s->remote) own_due(s, fill_due(s, false));
    return l->fills_count == 1;
}

/* ---- accepted operations and fills of the channel ---- */

/* Wakes the slice in the cycle after a tick at which its channel accepted an operation. */
void slice_wake_on_accept(struct slice *s, uint64_t tick);

/* True if a stage or a flush waits until a channel accepts an operation. */
static SLICE_HOT bool needs_accept_wakeup(const struct slice *s)
{
    return s->waits_for_memory || s->flush_done;
}

static SLICE_HOT void drop_oldest(struct slice *s, struct channel_queue *l, uint32_t queue_idx)
{
    struct memory_op *const next = l->ops.front + 1;
    l->ops.front = __builtin_expect(next == l->ops.end, 0) ? l->ops.ring : next;
    if (!--l->ops.count) s->wire.pending[queue_idx] &= ~((uint64_t)1 << s->wire.pending_bit);
    s->ops_count--;
}

/* Sectors of a read, from its tag (dram/channel.h). */
static SLICE_HOT uint8_t tag_sectors(const struct slice_spec *p, uint64_t tag)
{
    return p->sectors_of[channel_tag_columns(tag)];
}

/* Appends the fill of a read in a window, where the engine does not wake the slice. */
static SLICE_HOT void append_window_fill(struct slice *s, uint32_t tag_line, uint8_t sectors,
                                         uint64_t ready_cyc)
{
    struct fill *const f = append_fill(s, &s->own_queue);
    f->ready_cyc = ready_cyc;
    f->tag_line = tag_line;
    f->sectors = sectors;
    f->writers_count = 0;
}

#endif
