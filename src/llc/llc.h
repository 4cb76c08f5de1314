/* llc: one slice of the last-level cache, in front of a memory channel.
 *
 *   request network ─► request port ─► tag stage ──hit──► data port ─► reply port ─► reply network
 *   walkers ─────────► walk port ────►    │ miss               ▲
 *                                         ▼                    │ fill
 *                                  MSHR ─► memory queue ─► channel
 *
 * The tag stage serves one request per cycle. A line occupies the data port for LINE_BYTES / llc.port cycles.
 * A full queue stalls the stage before it: reply port, data port, tag stage, request port, network. A write
 * miss allocates a line without a fetch. The slice keeps a mask of dirty bytes and fetches missing sectors at
 * the first read of them.
 *
 * State: tags (cache/tags.h); per line the valid sectors and dirty bytes; per missing line an MSHR with the
 * list of waiting requests. The slice owns a request from fabric_take() to fabric_try_reply(). remote_lines.c
 * handles lines whose home is another slice.
 *
 * A slice has one queue per memory channel that it reaches (dram/channel.h). It reaches one channel over
 * dedicated wires, or every channel of its stack through a crossbar of width llc.stack_width (llc.stacks).
 * The operations of a queue stay in order. Slices of a private organisation write through
 * (write_through.c). */
#ifndef ATOLL_LLC_LLC_H
#define ATOLL_LLC_LLC_H

#include "dram/channel.h"
#include "engine/engine.h"
#include "net/fabric.h"
#include "request/request.h"
#include "stats/stats.h"

struct check;
struct check_place;
struct organisation;
struct slice;

enum {
    SLICE_RUNS = 32,
    /* Free entries of the memory queue at which the slice turns exact accept times on. A slice adds fewer
     * operations in a few memory cycles: see slack() in dram/channel.c. */
    SLICE_EXACT_MARGIN = 24
};

/* Immutable, shared by all slices of a machine. */
struct slice_spec {
    uint32_t sets, ways;
    uint32_t latency_cyc, miss_latency_cyc, fill_latency_cyc, memory_latency_cyc;
    uint32_t port_bytes, mshrs, mshr_merges, data_queue, reply_queue, memory_queue, atomic_cyc;
    uint32_t column_bytes, columns_per_line, slices_per_channel, slices_per_gpu;
    uint32_t channels;    /* memory channels that a slice reaches */
    uint32_t stack_width; /* bytes per cycle of a port of the stack's crossbar; 0: dedicated wires */
    uint32_t header_bytes;
    bool sectored, hashed, count_lines, may_write_through;
    bool reads_once; /* some remote reads do not allocate at the home (read_once.c) */
    enum replacement replacement;
    uint64_t seed;
    uint64_t ticks_per_cycle;
    const struct dram_map *map;
    uint64_t index_mask; /* address bits that number the lines of a slice (not offset, channel or slice) */
    /* Derived from the fields above, once. */
    struct slice_bits { /* a run of index bits: mask and position in the line number, position in the index */
        uint64_t mask;
        uint32_t right, left;
    } runs[SLICE_RUNS];
    uint32_t run_count;
    uint32_t sets_mask, sets_log2; /* 0 unless one run is hashed to 2^1 to 2^16 sets */
    /* Rotation of the set index (tags_set_of_run()), by the number of a run of `sets` lines. An entry is
     * computed at its first use and has the bit of `sets` set. NULL: no table. */
    uint32_t *index_rotation;
    /* By mask of sectors: the columns from the first to the last that holds one of the sectors, and all
     * sectors in these columns. */
    struct slice_columns {
        uint8_t first, count, sectors, unused;
    } columns_of[SECTORS_ALL + 1];
    struct slice_columns missing_of[SECTORS_ALL + 1]; /* by missing sectors: the columns that a miss reads */
    uint32_t ticks_log2;                              /* log2 of ticks_per_cycle, rounded down */
    uint32_t back_cyc;                 /* latency from data at the channel's pins to the fill */
    uint32_t line_cyc, data_queue_cyc; /* data-port time of one line, of a full data-port queue */
    uint32_t hits_limit;               /* max. replies of hits in flight inside the slice */
    uint8_t read_cyc[SECTORS_ALL + 1]; /* data-port time of a read, by mask of sectors */
    uint32_t forward_queue, local_queue, bypass_latency_cyc, pass_latency_cyc, invalidate_cyc;
    uint32_t flush_lines;                                 /* lines per cycle of a flush */
    uint32_t page_lines;                                  /* max. lines of migrating pages in flight */
    uint8_t sectors_of[(DRAM_MAP_LINE_COLUMNS + 1) << 8]; /* sectors covered by column count << 8 | first */
};

/* Epoch of the remote lines of a chiplet. A remote line of an earlier epoch is stale and is not read. A
 * change is visible from the next tick on. */
struct copy_epoch {
    uint64_t changed_tick;
    uint32_t value, before;
    /* a line was kept in this epoch; llc_epoch_end() changes only such an epoch */
    bool kept;
    uint64_t asked_tick; /* last call of llc_epoch_end() that changed nothing */
};
void llc_epoch_change(struct copy_epoch *e, uint64_t tick);
/* Changes the epoch if a line was kept in it, also later in the same tick. */
void llc_epoch_end(struct copy_epoch *e, uint64_t tick);
/* A line is kept, or requested, in the present epoch. */
void llc_epoch_keep(struct copy_epoch *e, uint64_t tick);

struct slice_spec slice_spec_of(const struct config *c, const struct dram_map *map);
/* Allocates slice_spec.index_rotation. NULL: the index is not rotated, or the table would be too large. */
uint32_t *slice_index_rotation_new(struct arena *a, const struct slice_spec *p);
/* Cycles from the arrival of a request to the tag lookup. */
uint32_t slice_tag_latency(const struct config *c);

/* A profiler of served requests. A slice calls on_request() once per request of an SM, at most once per
 * cycle; the order of slices is undefined. missed: a read that misses and goes to memory. */
struct llc_monitor {
    void (*on_request)(void *self, const struct request *r, uint32_t slice, bool missed, uint64_t now);
    void *self;
};

struct slice_wiring {
    struct engine *engine;
    struct fabric *fabric;
    uint32_t slice_idx, partition, sms_per_partition;
    struct pool *requests;
    struct channel *const *channels; /* [spec.channels] */
    bool channels_sync;              /* channel_wiring.only_clients_wait */
    uint64_t *pending;               /* [spec.channels], channel_wiring.pending of each */
    uint64_t *exact_accept;          /* [spec.channels], channel_wiring.exact_accept of each */
    uint32_t pending_bit;            /* bit of this slice in both */
    uint32_t channel_component;      /* component of channels[0], for reports */
    struct slice *const *slices;     /* every slice of the machine, filled before the first operation */
    struct llc_monitor monitor;      /* on_request == NULL: none */
    /* nuba: monitors of L1 misses at the input stage and of served requests of other slices. */
    struct llc_monitor input_monitor, remote_monitor;
    void *const *walkers; /* receivers of replies to page-walk reads, by request.sm */
    void (*walk_done)(void *walker, uint32_t owner, uint64_t ready_cyc);
    uint32_t domain;
    struct check *check; /* --check; NULL: none */
    uint32_t chiplet;
    bool forwards;                           /* the slice has a network to other slices */
    const struct organisation *organisation; /* organisation of the chiplet: rules of paths */
    const uint32_t *slice_components;        /* components of all slices of the machine */
    struct copy_epoch *epoch;                /* epoch of the chiplet */
    struct spill *spill;                     /* CPU link of the GPU (spill.h); NULL: none */
    void *pages;                             /* argument of page_line_done; NULL: pages keep their frame */
    void (*page_line_done)(void *pages, uint32_t move); /* called when memory accepts a line of a migration */
};

struct slice *slice_new(struct arena *a, const struct slice_spec *spec, const struct slice_wiring *wiring,
                        const char *name);
uint32_t slice_component(const struct slice *s);
/* Reads the ports of the slice. Precondition: the networks of its fabric are built. */
void slice_connect(struct slice *s);
/* Prefetches the tags of a request that arrives soon into the host's caches. */
void slice_expect(const void *slice, const struct request *r);
/* llc.count_lines: counts the lines that are still present. Call at the end of a run. */
void slice_count_lines(struct slice *s);
struct llc_stats *slice_stats(struct slice *s);
/* Statistics of the remote data cache and of coherence; NULL: the slice has none. */
struct rdc_stats *slice_rdc_stats(struct slice *s);
struct coherence_stats *slice_coherence_stats(struct slice *s);
void slice_free(struct slice *s);
struct app_stats;
/* Counts requests per application as well. The counters of application k start at first + k * stride bytes.
 */
void slice_count_apps(struct slice *s, struct app_stats *first, size_t stride);

/* Applications that own the slice's channel, a bit each; accesses of others count as app_stats.llc_outside. */
void slice_set_owners(struct slice *s, uint64_t apps);
/* Lines with bytes that memory does not have. */
uint32_t slice_dirty_lines(const struct slice *s);

/* Accepts a page-walk read. It is visible to the slice at ready_cyc of its clock. Precondition: ready_cyc is
 * in the future. */
void slice_walk(struct slice *s, uint32_t request, uint64_t ready_cyc);

/* Fetches a line of a page (REQUEST_PAGE) from its home as soon as the out queue has a free entry. Call only
 * from a message handler. */
void slice_fetch_page_line(struct slice *s, uint32_t request);
/* A line of a page leaves this home slice, because the page gets another frame (page_lines.c). ABSENT: memory
 * holds all of the line. WRITES: a write-back was queued; page_line_done(move) follows when memory has accepted
 * it. BUSY: nothing changed, as an operation or a fill of the line is pending or the memory queue is full; call
 * again. Call only from a message handler. */
enum page_line { PAGE_LINE_ABSENT, PAGE_LINE_WRITES, PAGE_LINE_BUSY };
enum page_line slice_evict_page_line(struct slice *s, uint64_t line, uint32_t move);
/* Invalidates a line of this home slice, if present, because its frame is freed. Precondition: the line is
 * clean. Call only from a message handler. */
void slice_invalidate_line(struct slice *s, uint64_t line);

/* ---- copies of lines of other GPUs ---- */

/* Drops the line from the slice and its remote data cache, without time: the host has written or freed it. Call
 * while no kernel runs. */
void slice_drop_copy(struct slice *s, uint64_t line);
/* Before the measured part of a run, without time, packets and statistics: an SM of GPU `gpu` reads or writes a line of
 * this home slice. The remote data caches are filled and cleared as the accesses would fill and clear them. */
void slice_warm_access(struct slice *home, uint32_t gpu, uint64_t line, bool writes);
/* The launch has ended: copies that live for an epoch end. */
void slice_warm_end(struct slice *s);

/* ---- as a client of memory channels: channel_wiring ---- */

const struct memory_queue *slice_memory_queue(const struct slice *s, uint32_t queue_idx);
/* The channel accepted the oldest operation of the queue at `tick`, now or earlier. The slice removes it,
 * invalidates copies in other slices (write-through) and completes the requests that wait for the acceptance.
 */
void slice_memory_accepted(void *slice, uint32_t queue_idx, uint64_t tick);
/* slice_memory_accepted() with --check. Memory keeps the order in which channels accept operations on a line.
 */
void slice_memory_accepted_checked(void *slice, uint32_t queue_idx, uint64_t tick);
/* Receives the data of a read, which is at the channel's pins at `tick`. */
void slice_memory_done(void *slice, uint32_t queue_idx, uint64_t tag, uint64_t accept_tick, uint64_t tick);
/* Returns the sectors that a run of columns covers. */
static inline uint8_t slice_sectors(const struct slice_spec *p, uint32_t first_column, uint32_t column_count)
{
    return p->sectors_of[column_count << 8 | first_column];
}

/* ---- in lookahead windows: system/windows.c ---- */

/* True if the slice uses no optional feature: no remote lines, write-through, --check, per-line or
 * per-application counters, monitor or page migration, and one channel without a stack crossbar. */
bool slice_is_basic(const struct slice *s);
/* Switches between windows and wake-ups by the engine. Precondition: a basic slice without requests. */
void slice_in_windows(struct slice *s, bool on);
/* Simulates the cycles before until_cyc. False: the slice stopped because the next cycle depends on an
 * operation that the channel has not accepted yet. */
bool slice_run_window(struct slice *s, uint64_t until_cyc);
/* Cycle of the next event; ENGINE_NEVER: none. */
uint64_t slice_window_due(const struct slice *s);
/* Simulates one cycle. */
void slice_window_cycle(struct slice *s, uint64_t now);
/* True if the channel must be simulated before the slice. */
bool slice_needs_channel(const struct slice *s, uint64_t until_cyc);
bool slice_window_busy(const struct slice *s);
/* Call before statistics are sampled. Counts the departures of replies that the network already has. */
void slice_window_sync_stats(struct slice *s);

/* ---- kernel boundaries ---- */

/* Starts a pass over all lines, which applies the kernel boundary `how` (not `keep`). The slice calls done()
 * when memory has accepted all write-backs. alone: no request arrives before done(). */
void slice_flush(struct slice *s, enum llc_boundary how, bool alone, void (*done)(void *arg), void *arg);
/* Invalidates all lines from the next cycle on. Precondition: the slice writes through. */
void slice_invalidate(struct slice *s);
/* Precondition: the slice holds no dirty line and no request of an SM. */
void slice_set_write_through(struct slice *s, bool on);
/* Home slice of a line, numbered over the machine. */
uint32_t slice_home(const struct slice_spec *p, uint64_t line);
/* Set of a line in its slice. */
uint32_t slice_set_of(const struct slice_spec *p, uint64_t line);

/* Requests inside the slice, for laws and reports. */
uint64_t slice_waiting(const struct slice *s);
/* Occupancies of the slice's queues, summed over the cycles before `now` or the ticks before `tick`. Divided
 * by the time, a sum is the mean occupancy. */
struct slice_depths {
    uint64_t inside_cyc;        /* requests inside; llc.inside_cyc ends with the last change */
    bool counted;               /* the sums below are valid; false in windows */
    uint64_t mshr_cyc;          /* MSHRs in use */
    uint64_t memory_wait_ticks; /* operations that are due and not accepted by their channel */
    uint64_t local_cyc;         /* nuba: requests of SMs between the input stage and the tag stage */
};
struct slice_depths slice_depths(const struct slice *s, uint64_t now, uint64_t tick);
/* Number of lines that hold data. */
uint32_t slice_lines_used(const struct slice *s);

#endif
