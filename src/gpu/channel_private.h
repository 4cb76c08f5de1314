/* channel_private: the inside of a channel, for channel.c and channel_reads.c. */
#ifndef ATOLL_GPU_CHANNEL_PRIVATE_H
#define ATOLL_GPU_CHANNEL_PRIVATE_H

#include <string.h>

#include "cache/tags.h"
#include "gpu/channel.h"

/* Part of the loop that it is called from. */
#define CHANNEL_HOT __attribute__((always_inline)) static inline

enum { SLICES_MAX = 64 }; /* bits of channel_wiring.pending */

/* Cycles of memory in those of the slices, for channel_reads.c. */
struct channel_clock {
    uint64_t cycles_per_half_tick; /* of the slices, x 2^64, rounded up: exact until … */
    uint64_t exact_cyc;
    uint64_t back_cyc;        /* of the slice's spec */
    uint64_t done_half_ticks; /* from a read command to its data, and to the end of a cycle of the slice */
    struct channel_latency {  /* by the power of two of a latency in cycles of memory: where it is counted */
        uint64_t limit_cyc;   /* … in the next one from here on */
        uint32_t bucket, own_bucket;
    } latency[64];
};

struct channel {
    struct channel_wiring wire;
    uint32_t component;
    uint64_t ticks_per_cycle;
    struct dram_channel *dram;
    const struct dram_map *map;
    uint64_t line_mask;                             /* within its chiplet */
    void (*pull)(struct channel *ch, uint64_t now); /* from slices */
    uint32_t turn;
    bool plain;         /* see take() */
    bool windowed;      /* it is not woken: gpu/windows.c runs it */
    uint32_t slack_cyc; /* how late a cycle may be worked off; 0: in time */
    uint64_t due_cyc;   /* what is not worked off begins here */
    /* The slices and what they have for it: in place, as both are looked at for every operation. */
    struct slice *slices[SLICES_MAX];
    const struct lane_ops *lanes[SLICES_MAX];
    struct channel_clock clock;
    uint8_t sectors_of[(SLICE_COLUMNS + 1) << 8]; /* columns << 8 | first column */
    uint64_t in_free_tick, out_free_tick;         /* ports of the stack's crossbar */
};

/* What comes back with a read: line of its tags, first column, columns, as they stand in the operation, and
 * slice. */
static inline uint64_t pack(uint32_t slice, const struct memory_op *op)
{
    uint64_t words;
    memcpy(&words, &op->tag_line, sizeof words);
    return words | (uint64_t)slice << 48; /* a read has no writers */
}
_Static_assert(offsetof(struct memory_op, first_column) == offsetof(struct memory_op, tag_line) + 4 &&
                   offsetof(struct memory_op, column_count) == offsetof(struct memory_op, tag_line) + 5 &&
                   offsetof(struct memory_op, writers_count) == offsetof(struct memory_op, tag_line) + 6,
               "one word");
static inline uint32_t packed_slice(uint64_t tag) { return (uint32_t)(tag >> 48); }
static inline uint32_t packed_columns(uint64_t tag) { return tag >> 40 & 0xff; }
static inline uint8_t packed_sectors(const struct channel *ch, uint64_t tag)
{
    return ch->sectors_of[(uint16_t)(tag >> 32)];
}

static inline uint64_t place(const struct channel *ch, const struct memory_op *op)
{
    return dram_map_key_line(ch->map, op->line & ch->line_mask) + op->first_column;
}

/* The first cycle that is not before a tick. */
static inline uint64_t cycle_from(const struct channel *ch, uint64_t tick)
{
    return engine_cycles(ch->wire.engine, ch->wire.domain, tick + ch->ticks_per_cycle - 1);
}

/* channel.c: the oldest operation of a slice, which has one; false: not yet, or refused. */
bool channel_offer(struct channel *ch, uint64_t now, uint64_t tick, uint32_t slice);

/* channel_reads.c: every cycle that is due by then, as long as nothing but reads waits; returns when the next
 * one is due. In windows only. */
void channel_clock_set(struct channel *ch);
uint64_t channel_work_reads(struct channel *ch, uint64_t until);

#endif
