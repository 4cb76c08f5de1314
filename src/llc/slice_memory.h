/* slice_memory: a slice and memory: operations on their way there, fills on their way back. Included by files
 * of a slice, and by the loop of a channel that hands over while both are in a window (gpu/channel_reads.c).
 */
#ifndef ATOLL_LLC_SLICE_MEMORY_H
#define ATOLL_LLC_SLICE_MEMORY_H

#include "llc/llc_private.h"

static inline void columns(const struct slice_spec *p, uint8_t sectors, uint8_t *first, uint8_t *count)
{
    *first = p->columns_of[sectors].first;
    *count = p->columns_of[sectors].count;
}

static inline uint32_t op_bytes(const struct slice_spec *p, const struct memory_op *op)
{
    return p->header_bytes + (op->tag_line == TAGS_NONE ? op->column_count * p->column_bytes : 0);
}

static inline uint32_t stack_cycles(const struct slice_spec *p, uint32_t bytes)
{
    return (bytes + p->stack_width - 1) / p->stack_width;
}

/* The end of the ring of a lane. */
static SLICE_HOT struct memory_op *op_place(const struct slice *s, const struct lane *l)
{
    DIAG_ASSERT(l->ops.count <= s->ops_mask);
    return &l->ops.ring[((size_t)(l->ops.front - l->ops.ring) + l->ops.count) & s->ops_mask];
}

/* An operation is there. */
static SLICE_HOT void op_joins(struct slice *s, struct lane *l, uint32_t lane, uint64_t ready_tick)
{
    s->ops_count++;
    const bool first = !l->ops.count++;
    op_place(s, l)->ready_tick = ENGINE_NEVER;
    if (!first) return; /* the channel waits for the one in front, or is full */
    s->wire.pending[lane] |= (uint64_t)1 << s->wire.pending_bit;
    s->wire.memory_comes(s->wire.channels[lane], ready_tick);
}

static SLICE_HOT void push_op(struct slice *s, struct memory_op op, bool plain)
{
    const struct slice_spec *p = s->spec;
    const uint32_t lane =
        !plain && p->lanes > 1 ? dram_map_place_line(p->map, op.line).channel % p->lanes : 0;
    struct lane *l = plain ? &s->own_lane : &s->lanes[lane];
    if (!plain && p->stack_width) { /* one after the other into the crossbar */
        if (op.ready_tick < s->out_free_tick) op.ready_tick = s->out_free_tick;
        s->out_free_tick = op.ready_tick + stack_cycles(p, op_bytes(p, &op)) * p->ticks_per_cycle;
    }
    *op_place(s, l) = op;
    op_joins(s, l, lane, op.ready_tick);
}

static SLICE_HOT void read_memory(struct slice *s, uint64_t now, uint64_t line, uint32_t tag_line,
                                  uint8_t sectors, bool plain)
{
    struct memory_op op = {.line = FAULT_FIRES(memory_wrong_line) ? line ^ 1 : line,
                           .tag_line = tag_line,
                           .ready_tick = (now + s->spec->miss_latency_cyc) * s->spec->ticks_per_cycle};
    columns(s->spec, sectors, &op.first_column, &op.column_count);
    s->lines[tag_line].asked |= s->spec->columns_of[sectors].sectors;
    s->stats.memory_reads++;
    s->stats.memory_read_columns += op.column_count;
    push_op(s, op, plain);
}

/* The lane whose first fill is ready first, at equal times the lower one; NULL: nothing is under way. */
static SLICE_HOT struct lane *first_lane(const struct slice *s, bool plain)
{
    struct lane *first = NULL;
    if (!s->fills_count) return NULL;
    if (plain || s->spec->lanes == 1) return s->lanes;
    for (struct lane *l = s->lanes; l < s->lanes + s->spec->lanes; l++) {
        if (!l->fills_count) continue;
        if (!first || l->fills[l->fills_head].ready_cyc < first->fills[first->fills_head].ready_cyc)
            first = l;
    }
    return first;
}

/* When the next fill comes; ENGINE_NEVER: none is under way. */
static SLICE_HOT uint64_t fill_due(const struct slice *s, bool plain)
{
    const struct lane *l = first_lane(s, plain);
    if (!l) return ENGINE_NEVER;
    const uint64_t ready = l->fills[l->fills_head].ready_cyc;
    return plain || ready > s->in_free_cyc ? ready : s->in_free_cyc;
}

/* Its place, to be filled in. */
static inline struct fill *append_fill(struct slice *s, struct lane *l)
{
    DIAG_ASSERT(l->fills_count <= s->fills_mask);
    s->fills_count++;
    return &l->fills[(l->fills_head + l->fills_count++) & s->fills_mask];
}

/* True: the first of its lane. For another one the slice need not be woken: it waits for the first. */
static inline bool push_fill(struct slice *s, uint32_t lane, struct fill f)
{
    struct lane *l = &s->lanes[lane];
    *append_fill(s, l) = f;
    if (s->far) own_due(s, fill_due(s, false));
    return l->fills_count == 1;
}

/* ---- what the channel has done ---- */

/* Who waits for room looks once more. */
void slice_tell_room(struct slice *s, uint64_t tick);

static SLICE_HOT bool minds_room(const struct slice *s) { return s->waits_for_memory || s->flush_done; }

static SLICE_HOT void drop_oldest(struct slice *s, struct lane *l, uint32_t lane)
{
    struct memory_op *const next = l->ops.front + 1;
    l->ops.front = __builtin_expect(next == l->ops.end, 0) ? l->ops.ring : next;
    if (!--l->ops.count) s->wire.pending[lane] &= ~((uint64_t)1 << s->wire.pending_bit);
    s->ops_count--;
}

/* In a window it is not woken. */
static SLICE_HOT void come_in_window(struct slice *s, uint32_t tag_line, uint8_t sectors, uint64_t ready_cyc)
{
    struct fill *const f = append_fill(s, &s->own_lane);
    f->ready_cyc = ready_cyc;
    f->tag_line = tag_line;
    f->sectors = sectors;
    f->writers_count = 0;
}

#endif
