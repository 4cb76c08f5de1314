/* channel_private: the inside of a channel, for channel.c and channel_reads.c. */
#ifndef ATOLL_GPU_CHANNEL_PRIVATE_H
#define ATOLL_GPU_CHANNEL_PRIVATE_H

#include "cache/tags.h"
#include "gpu/channel.h"

/* Part of the loop that it is called from. */
#define CHANNEL_HOT __attribute__((always_inline)) static inline

enum { SLICES_MAX = 64 }; /* bits of channel_wiring.pending */

/* Cycles of memory in those of the slices, for channel_reads.c. */
struct channel_clock {
    uint64_t slices_per_tick; /* x 2^64, rounded up: exact for ticks of cycles before … */
    uint64_t exact_cyc;
    struct channel_latency { /* by the power of two of a latency in cycles of memory: where it is counted */
        uint64_t limit_cyc;  /* … in the next one from here on */
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
    uint16_t runs[SLICE_COLUMNS][2 * SLICE_COLUMNS]; /* [first column][columns]: columns << 8 | sectors */
    uint64_t in_free_tick, out_free_tick;            /* ports of the stack's crossbar */
};

/* What comes back with a read: slice, columns, sectors, line of its tags. */
static inline uint64_t pack(const struct channel *ch, uint32_t slice, const struct memory_op *op)
{
    return (uint64_t)slice << 48 | (uint64_t)ch->runs[op->first_column][op->column_count] << 32 |
           op->tag_line;
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
void channel_clock_set(struct channel_clock *k, uint64_t ticks_per_cycle, uint64_t slice_ticks_per_cycle);
uint64_t channel_work_reads(struct channel *ch, uint64_t until);

#endif
