/* channel_inside: the state of a memory channel, for channel.c.
 *
 * Named exception to the rule that private headers stay in their folder: llc/channel_reads.c also includes
 * this header and dram_reads.h. Its loop joins the channel, the channel model and the slices. */
#ifndef ATOLL_DRAM_CHANNEL_INSIDE_H
#define ATOLL_DRAM_CHANNEL_INSIDE_H

#include <stddef.h>
#include <string.h>

#include "dram/channel.h"

/* Inlined into the calling loop. */
#define CHANNEL_HOT __attribute__((always_inline)) static inline

/* Conversion of memory cycles to client cycles; written and read by llc/channel_reads.c only. */
struct channel_clock {
    uint64_t
        cycles_per_half_tick; /* client cycles x 2^64, rounded up; the product is exact until exact_cyc */
    uint64_t exact_cyc;
    uint64_t back_cyc;        /* channel_wiring.return_cyc */
    uint64_t done_half_ticks; /* from a read command to the end of the client cycle of its data */
    struct channel_latency {  /* histogram bucket of a latency, by log2 of its memory cycles */
        uint64_t limit_cyc;   /* a latency of limit_cyc or more counts in bucket + 1 */
        uint32_t bucket, own_bucket;
    } latency[64];
    /* slice_spec.sectors_of, copied: the loop has the channel in a register, but not the spec */
    uint8_t sectors_of[(DRAM_MAP_LINE_COLUMNS + 1) << 8];
};

struct channel {
    struct channel_wiring wire;
    uint32_t component;
    uint64_t ticks_per_cycle;
    struct dram_channel *dram;
    const struct dram_map *map;
    uint64_t line_mask;                             /* line number within the chiplet */
    void (*pull)(struct channel *ch, uint64_t now); /* accepts operations of the clients in a cycle */
    uint32_t rr_client;                             /* round-robin: client that is served first */
    bool basic;                                     /* no stack crossbar, no copier */
    bool windowed;                                  /* lookahead windows simulate the channel */
    uint32_t slack_cyc;                             /* maximum delay of a deferred cycle; 0: exact */
    uint64_t due_cyc;                               /* first cycle that is not simulated yet */
    /* Both arrays are stored inline: every operation reads them. */
    void *clients[CHANNEL_CLIENTS_MAX];
    const struct memory_queue *queues[CHANNEL_CLIENTS_MAX];
    /* Windows: simulates every cycle up to until_cyc while only plain reads and writes wait; returns the next
     * due cycle. Set by channel_reads_connect(). */
    uint64_t (*work_reads)(struct channel *ch, uint64_t until_cyc);
    struct channel_clock clock;
    /* Ports of the stack crossbar. */
    uint32_t port_bytes; /* width; 0: no crossbar */
    uint32_t header_bytes, column_bytes;
    uint64_t in_free_tick, out_free_tick;
    struct channel_copier copier;
    uint32_t copier_client; /* number of the copier among the clients; UINT32_MAX: none */
};

/* dram tag of an operation: client, and for a read the tag of channel.h. */
static inline uint64_t op_tag(uint32_t client, const struct memory_op *op)
{
    uint64_t words;
    memcpy(&words, &op->tag_line, sizeof words);
    return words | (uint64_t)client << 48; /* writers_count of a read is 0 */
}
_Static_assert(offsetof(struct memory_op, first_column) == offsetof(struct memory_op, tag_line) + 4 &&
                   offsetof(struct memory_op, column_count) == offsetof(struct memory_op, tag_line) + 5 &&
                   offsetof(struct memory_op, writers_count) == offsetof(struct memory_op, tag_line) + 6,
               "one word");
static inline uint32_t tag_client(uint64_t tag) { return (uint32_t)(tag >> 48); }

/* Key of an operation in the channel model (dram_key.h). */
static inline uint64_t op_key(const struct channel *ch, const struct memory_op *op)
{
    return dram_map_key_line(ch->map, op->line & ch->line_mask) + op->first_column;
}

/* First cycle at or after a tick. */
static inline uint64_t cycle_from(const struct channel *ch, uint64_t tick)
{
    return engine_cycles(ch->wire.engine, ch->wire.domain, tick + ch->ticks_per_cycle - 1);
}

/* Offers the oldest operation of a client, whose queue is not empty. False: not due or refused. */
bool channel_offer(struct channel *ch, uint64_t now, uint64_t tick, uint32_t client);

#endif
