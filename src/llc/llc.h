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
 * MSHR with the list of requests that wait. Requests are owned by the slice from fabric_take() to
 * fabric_try_reply(). What concerns lines that live in other chiplets is in far.c.
 *
 * A slice has a queue for every memory channel that it reaches (dram/channel.h): one channel by its own
 * wires, or every channel of its stack through a crossbar llc.stack_width wide (llc.stacks). Operations of a
 * queue stay in order. Slices of a private organisation write through: see write_through.c. */
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
    uint32_t column_bytes, columns_per_line, slices_per_channel;
    uint32_t channels;    /* memory channels that a slice reaches */
    uint32_t stack_width; /* bytes per cycle of a port of the stack's crossbar; 0: wires of its own */
    uint32_t header_bytes;
    bool sectored, hashed, count_lines, may_write_through;
    enum replacement replacement;
    uint64_t seed;
    uint64_t ticks_per_cycle;
    const struct dram_map *map;
    uint64_t index_mask; /* address bits that number the lines of a slice (not offset, channel or slice) */
    /* worked out of the others once */
    struct slice_bits { /* a run of the index bits: of the line number, and where it goes */
        uint64_t mask;
        uint32_t right, left;
    } runs[SLICE_RUNS];
    uint32_t run_count;
    uint32_t sets_mask, sets_log2; /* one run, hashed to 2^1 to 2^16 sets; else 0 */
    /* How far runs of `sets` lines are turned (tags_set_of_run()), by their number: kept once worked out,
     * with the bit of `sets` set. NULL: there is no such table. */
    uint32_t *turns;
    /* from the first that holds one of these sectors to the last, and all sectors in them */
    struct slice_columns {
        uint8_t first, count, sectors, unused;
    } columns_of[SECTORS_ALL + 1];
    struct slice_columns missing_of[SECTORS_ALL + 1]; /* … what a miss asks for */
    uint32_t ticks_log2;                              /* of ticks_per_cycle, rounded down */
    uint32_t back_cyc;                                /* data at the channel's pins > fill */
    uint32_t line_cyc, data_queue_cyc; /* data port time of a line, of as many as may wait for it */
    uint32_t hits_limit;               /* replies on their way */
    uint8_t read_cyc[SECTORS_ALL + 1]; /* data port time of a read, by sectors */
    uint32_t forward_queue, local_queue, pass_cyc, invalidate_cyc;
    uint32_t flush_lines;                                 /* looked at per cycle */
    uint32_t page_lines;                                  /* of pages that move, on their way at one time */
    uint8_t sectors_of[(DRAM_MAP_LINE_COLUMNS + 1) << 8]; /* sectors covered by column count << 8 | first */
};

/* Copies of other chiplets' lines that were asked for before it changed are not read any more. A change is
 * seen from the next instant on. */
struct copy_epoch {
    uint64_t changed_tick;
    uint32_t value, before;
};
void llc_epoch_change(struct copy_epoch *e, uint64_t tick);

struct slice_spec slice_spec_of(const struct config *c, const struct dram_map *map);
/* Room for slice_spec.turns, if that is worth it. */
uint32_t *slice_turns_new(struct arena *a, const struct slice_spec *p);
/* Cycles from the arrival of a request to the tags. */
uint32_t slice_tag_latency(const struct config *c);

/* Who looks at what the tag stages serve (profilers): called once per request of an SM, at most once per
 * slice and cycle, slices in any order. missed: a read that goes to memory. */
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
    uint32_t channel_component;      /* of channels[0], for reports */
    struct slice *const *slices;     /* every slice of the machine, filled before the first operation */
    struct llc_monitor monitor;      /* see == NULL: none */
    struct llc_monitor input_monitor,
        remote_monitor;   /* nuba: L1 misses at the input; requests of other slices that are served */
    void *const *walkers; /* by request.sm: get replies to walks */
    void (*walk_done)(void *walker, uint32_t owner, uint64_t ready_cyc);
    uint32_t domain;
    struct check *check; /* --check; NULL: none */
    uint32_t chiplet;
    bool forwards;                           /* the slice has a network to other slices */
    const struct organisation *organisation; /* of its chiplet: rules of paths */
    const uint32_t *slice_components;        /* of the machine */
    const struct copy_epoch *epoch;          /* of its chiplet */
    void *pages;                             /* argument of page_line_done; NULL: pages keep their frame */
    void (*page_line_done)(void *pages, uint32_t move); /* memory has accepted a line of a move */
};

struct slice *slice_new(struct arena *a, const struct slice_spec *spec, const struct slice_wiring *wiring,
                        const char *name);
uint32_t slice_component(const struct slice *s);
/* The networks of its fabric are there. */
void slice_connect(struct slice *s);
/* A request arrives soon: fetches what it will touch into the host's caches. */
void slice_expect(const void *slice, const struct request *r);
/* llc.count_lines: counts the lines that are still there. */
void slice_count_lines(struct slice *s);
struct llc_stats *slice_stats(struct slice *s);
struct app_stats;
/* Counts requests of each application too: those of application k at first + k * stride bytes. */
void slice_count_apps(struct slice *s, struct app_stats *first, size_t stride);

/* A walker's read; visible to the slice at ready_cyc of its clock, later than now. */
void slice_walk(struct slice *s, uint32_t request, uint64_t ready_cyc);

/* Asks the home of a line of a page for it (REQUEST_PAGE), as soon as there is room. In a message only. */
void slice_fetch_page_line(struct slice *s, uint32_t request);
/* A line that lives here, clean, is dropped when it is there: its frame is free. In a message only. */
void slice_forget(struct slice *s, uint64_t line);

/* ---- as a client of memory channels: channel_wiring ---- */

const struct memory_queue *slice_memory_queue(const struct slice *s, uint32_t queue_idx);
/* The channel accepted the oldest operation of the queue at `tick`, now or earlier. The slice removes it,
 * invalidates copies in other slices (write-through) and completes what waited for the acceptance. */
void slice_memory_accepted(void *slice, uint32_t queue_idx, uint64_t tick);
/* slice_memory_accepted() with --check. Memory keeps the order in which channels accept operations on a line.
 */
void slice_memory_accepted_checked(void *slice, uint32_t queue_idx, uint64_t tick);
/* Data of a read is at the channel's pins at `tick`. */
void slice_memory_done(void *slice, uint32_t queue_idx, uint64_t tag, uint64_t accept_tick, uint64_t tick);
/* Sectors that a run of columns covers. */
static inline uint8_t slice_sectors(const struct slice_spec *p, uint32_t first_column, uint32_t column_count)
{
    return p->sectors_of[column_count << 8 | first_column];
}

/* ---- in windows: system/windows.c ---- */

/* Nothing but lines of its own, for SMs of one application, whom nobody watches. */
bool slice_is_plain(const struct slice *s);
/* It is not woken any more, or is again. Only a plain one in which nothing is. */
void slice_in_windows(struct slice *s, bool on);
/* Works off what is due before a cycle; false: it stopped, because it must know first what memory accepts. */
bool slice_run_window(struct slice *s, uint64_t until_cyc);
/* What is due next, ENGINE_NEVER: nothing; that cycle; must its channel be simulated before? */
uint64_t slice_window_due(const struct slice *s);
void slice_window_cycle(struct slice *s, uint64_t now);
bool slice_needs_channel(const struct slice *s, uint64_t until_cyc);
bool slice_window_busy(const struct slice *s);
/* Before somebody looks at its statistics: replies that it gave to the network have left it. */
void slice_window_looked_at(struct slice *s);

/* ---- kernel boundaries ---- */

/* Goes over its lines, one per cycle, and does to them what a kernel boundary asks for (not `keep`). done is
 * called when memory has taken all of it. alone: no request comes before that. */
void slice_flush(struct slice *s, enum llc_boundary how, bool alone, void (*done)(void *arg), void *arg);
/* From the next cycle on nothing that was read before now is found; write-through only. */
void slice_invalidate(struct slice *s);
/* Only while the slice holds no dirty line and no request of an SM. */
void slice_set_write_through(struct slice *s, bool on);
/* The slice that a line lives in, of all in the machine; the set that a slice keeps it in. */
uint32_t slice_home(const struct slice_spec *p, uint64_t line);
uint32_t slice_set_of(const struct slice_spec *p, uint64_t line);

/* Requests inside, for laws and reports. */
uint64_t slice_waiting(const struct slice *s);
/* How many there were, summed over the cycles before `now`, or over the ticks before `tick`: divided by them,
 * the mean. In windows nobody counts more than who is inside (counted: false). */
struct slice_depths {
    uint64_t inside_cyc; /* as llc.inside_cyc, which ends with the last change */
    bool counted;
    uint64_t mshr_cyc;          /* MSHRs in use */
    uint64_t memory_wait_ticks; /* operations that are due and that their channel has not accepted */
    uint64_t local_cyc; /* nuba: requests of SMs taken from their links, not served by the tag stage */
};
struct slice_depths slice_depths(const struct slice *s, uint64_t now, uint64_t tick);
/* Lines of the slice that hold data. */
uint32_t slice_lines_used(const struct slice *s);

#endif
