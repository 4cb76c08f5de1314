/* llc: one slice of the last-level cache, in front of a memory channel.
 *
 *   request network ─► request port ─► tag stage ──hit──► data port ─► reply port ─► reply network
 *   walkers ─────────► walk port ────►    │ miss               ▲
 *                                         ▼                    │ fill
 *                                  MSHR ─► memory queue ─► channel
 *
 * One request per cycle passes the tag stage; a line moves through the data port in LINE_BYTES / llc.port
 * cycles. What is full stops what is before it: reply port > data port > tag stage > request port > network.
 * A line is written without being fetched: its dirty bytes are known, and what is missing is fetched when
 * somebody reads it.
 *
 * Data of the model: tags (cache/tags.h), per line the valid sectors and dirty bytes, per missing line an
 * MSHR with the list of requests that wait. Requests are owned by the slice from fabric_take_request() to
 * fabric_try_reply(). What concerns lines that live in other chiplets is in far.c. */
#ifndef ATOLL_LLC_LLC_H
#define ATOLL_LLC_LLC_H

#include "dram/dram_map.h"
#include "engine/engine.h"
#include "gpu/fabric.h"
#include "gpu/request.h"
#include "stats/stats.h"

struct check;
struct check_place;
struct organisation;
struct slice;

/* Immutable, shared by all slices of a machine. */
struct slice_spec {
    uint32_t sets, ways;
    uint32_t latency_cyc, miss_latency_cyc, fill_latency_cyc, memory_latency_cyc;
    uint32_t port_bytes, mshrs, mshr_merges, data_queue, reply_queue, memory_queue, atomic_cyc;
    uint32_t column_bytes, columns_per_line, slices_per_channel;
    bool sectored, hashed, count_lines;
    enum replacement replacement;
    uint64_t seed;
    uint64_t ticks_per_cycle;
    const struct dram_map *map;
    uint64_t index_mask;    /* address bits that number the lines of a slice (not offset, channel or slice) */
    uint32_t chiplet_shift; /* of a line number: its chiplet is above */
    uint32_t forward_queue;
};

/* Copies of other chiplets' lines that were asked for before it changed are not read any more. A change is
 * seen from the next instant on. */
struct llc_epoch {
    uint64_t changed_tick;
    uint32_t value, before;
};
void llc_epoch_change(struct llc_epoch *e, uint64_t tick);

struct slice_spec slice_spec_of(const struct config *c, const struct dram_map *map);

/* A read or write on its way to the memory channel. */
struct memory_op {
    uint64_t line;
    uint64_t ready_tick;
    uint32_t first_column, column_count; /* in the line */
    uint32_t tag_line;                   /* reads: where it is filled; TAGS_NONE: a write */
};

struct slice_wiring {
    struct engine *engine;
    struct fabric *fabric;
    struct pool *requests;
    uint32_t channel_component;
    uint32_t slice_idx, partition, sms_per_partition;
    void *const *walkers; /* by request.sm: get replies to walks */
    void (*walk_done)(void *walker, uint32_t owner, uint64_t ready_cyc);
    uint32_t domain;
    struct check *check; /* --check; NULL: none */
    uint32_t chiplet;
    bool forwards;                           /* it caches lines of other chiplets, */
    const struct organisation *organisation; /* asked for these, */
    const struct llc_epoch *epoch;           /* of its chiplet */
};

struct slice *slice_new(struct arena *a, const struct slice_spec *spec, const struct slice_wiring *wiring,
                        const char *name);
uint32_t slice_component(const struct slice *s);
/* llc.count_lines: counts the lines that are still there. */
void slice_count_lines(struct slice *s);
struct llc_stats *slice_stats(struct slice *s);

/* A walker's read; visible to the slice at ready_cyc of its clock, later than now. */
void slice_walk(struct slice *s, uint32_t request, uint64_t ready_cyc);

/* ---- the channel's side ---- */

/* The oldest operation that is due at tick, NULL when there is none. */
const struct memory_op *slice_memory_op(const struct slice *s, uint64_t tick);
/* When the oldest one is due; ENGINE_NEVER: none waits. */
uint64_t slice_memory_due(const struct slice *s);
/* The channel has accepted it. */
void slice_memory_accepted(struct slice *s);
/* --check: the copies of its lines. */
struct check_place *slice_copies(const struct slice *s);
uint8_t slice_sectors(const struct slice *s, uint32_t first_column, uint32_t column_count);
/* Data of a read is at the channel's pins at this tick. */
void slice_memory_done(struct slice *s, uint32_t tag_line, uint32_t first_column, uint32_t column_count,
                       uint64_t accept_tick, uint64_t tick);

/* ---- kernel boundaries ---- */

/* Goes over its lines, one per cycle, and does to them what a kernel boundary asks for (not `keep`). done is
 * called when memory has taken all of it. */
void slice_flush(struct slice *s, enum llc_boundary how, void (*done)(void *arg), void *arg);

/* Requests inside, for laws and reports. */
uint64_t slice_waiting(const struct slice *s);
/* Lines of the slice that hold data. */
uint32_t slice_lines_used(const struct slice *s);

#endif
