/* rdc: the remote data cache (CARVE), beside the LLC slice that caches a GPU's remote lines.
 *
 *   remote_lines.c                        rdc.c                              memory channel behind the slice
 *   read miss ── rdc_probe() ──► tags decide, then one DRAM read ──────────► probe (demand read)
 *                                 hit:  data fills the LLC line ◄──────────── data
 *                                 miss: list of misses ──► fetch over the link
 *   reply filled ── rdc_fill() ──► queue ──────────────────────────────────► write of the line
 *   store ── rdc_update() ───────► queue ──► read of the tag, then ────────► write of the line if it hit
 *   atomic, INVALIDATE ─ rdc_clear() ► queue ► read of the tag, then ──────► write of the line if it hit
 *   rdc.write back: stores that hit stay here, and go home later (rdc_back.h)
 *
 * Direct-mapped sets of one line, tag and data in one DRAM access. A slice caches the lines whose home slice has its
 * position, and its sets lie in the channel behind it: a probe never crosses the network of the GPU. The region is
 * the top rdc.size bytes of each GPU's memory; frames there are never handed out (dram_frames_reserve()).
 *
 * Invariants:
 *  1. Only lines of other GPUs are kept. A line is kept as the LLC keeps it: the reply merged with bytes that SMs of
 *     this GPU stored since the miss.
 *  2. Operations on a set take effect in the order in which the slice issues them. The tags change at issue; the
 *     memory operations follow in time. ASSUMPTION: an operation that finds an older one of its set in a queue is
 *     served from the queue entry, at the latency of memory.
 *  3. Fills are below demand reads: a queue of fills reaches the channel while no other operation of the slice waits.
 *     Writes of other GPUs wait for updates and clears, so a queue with one of these, or a full one, takes its turn
 *     with demand reads, in order. A fill that finds no entry is not written. Stores and atomics wait for an
 *     entry, invalidations wait in a list of coherence.c; entries are freed by memory alone.
 *
 * Host memory: tags are allocated in chunks when their first set is filled. */
#ifndef ATOLL_LLC_RDC_H
#define ATOLL_LLC_RDC_H

#include "llc/llc_private.h"
#include "llc/rdc_back.h"

struct check_sparse;

/* Flags in the tag of a memory read. */
#define RDC_TAG_PROBE (UINT32_C(1) << 30) /* a probe; the low bits are the index of the LLC line */
#define RDC_TAG_QUEUE (UINT32_C(1) << 31) /* a tag read; the low bits are the index of the queue entry */

enum {
    RDC_CHUNK = 512 /* sets per chunk of tags */
};

/* An operation of the queue. It is freed when its last memory operation is handed to the channel's queue. */
struct rdc_entry {
    uint64_t set;
    uint32_t next;
    bool reads_tag;    /* an update or a clear: the next memory operation reads the tag */
    bool writes_after; /* the tag matched: a write follows the read */
    uint32_t request;  /* store + 1 that stays here and is answered after the read of the tag; 0: none */
    uint32_t leaving;  /* slot + 1 of a dirty line whose bytes the read gets (rdc_back.h); 0: none */
    uint32_t scans;    /* region + 1 that a flush reads; 0: none */
};

struct rdc_list {
    uint32_t first, last, count;
};

/* A probe that missed: its line is fetched at ready_cyc. */
struct rdc_miss {
    uint64_t ready_cyc;
    uint32_t tag_line;
};

struct rdc {
    struct arena *arena;
    uint64_t sets; /* of this slice */
    enum rdc_index index;
    uint32_t gpus;
    bool has_epochs;
    uint32_t epoch_mask;
    uint32_t map_bits;                  /* address bits of a GPU's memory */
    struct slice_bits runs[SLICE_RUNS]; /* address bits that number the lines of a slice within a GPU */
    uint32_t run_count;
    uint64_t first_number; /* number of the line that holds set 0 */
    uint64_t *position;    /* [slice of the GPU] address bits, as a line, that choose it */
    uint64_t **chunks;     /* tag words: line << 21 | epoch << 1 | valid */
    struct rdc_entry *entries;
    uint32_t free, free_count; /* list of free entries */
    struct rdc_list queue;     /* entries with a memory operation to be issued */
    uint32_t changes;          /* of these: updates and clears */
    struct rdc_miss *misses;   /* ring */
    uint32_t misses_mask, misses_head, misses_count;
    uint32_t epoch;              /* at the last operation */
    uint32_t round;              /* epochs >> epoch_bits: of the last reset */
    uint64_t reset_left;         /* sets of the present reset that are not written yet */
    bool reset_waits;            /* a reset is due after dirty lines have left */
    struct rdc_back *back;       /* rdc.write back; NULL: through */
    struct check_sparse *copies; /* --check; NULL: none */
    struct rdc_stats stats;
};

struct rdc *rdc_new(struct slice *s, struct arena *a, const struct config *c, const char *name);
/* True if the region is not being reset. False: s->blocked is set. */
bool rdc_may_probe(struct slice *s);
/* Probes for a line that has a pinned way in the slice. The data, or after it a fetch, follows. */
void rdc_probe(struct slice *s, uint64_t now, uint32_t tag_line);
/* A memory read of the RDC has come back. tag_line: of its operation. */
void rdc_memory_done(struct slice *s, uint32_t tag_line, uint64_t ready_cyc);
static inline bool rdc_owns(uint32_t tag_line) { return (tag_line & (RDC_TAG_PROBE | RDC_TAG_QUEUE)) != 0; }
/* Writes a line that has been fetched from its home. tag_line: still holds the line. */
void rdc_fill(struct slice *s, uint64_t now, uint32_t tag_line);
/* A fetched line that must not be kept. */
static inline void rdc_discard(struct rdc *r) { r->stats.fills_discarded++; }
/* True if an update or a clear of the line's set may be issued. */
bool rdc_may_change(struct slice *s, uint64_t line);
/* A store of an SM of this GPU updates the line, an atomic or invalidation clears it. Precondition:
 * rdc_may_change(). clear: true if the line was there. */
void rdc_update(struct slice *s, uint64_t now, uint32_t idx);
bool rdc_clear(struct slice *s, uint64_t now, uint64_t line);
/* rdc.write back: true if a store to the line stays here. rdc_keep() keeps it. */
bool rdc_keeps(const struct slice *s, uint64_t line);
void rdc_keep(struct slice *s, uint64_t now, uint32_t idx);
/* True if a probe of the line would hit, or needs nothing that is on its way home. False: s->blocked is set. */
bool rdc_may_fetch(struct slice *s, uint64_t now, uint64_t line);
/* Queues an operation. Precondition: an entry is free. */
void rdc_queue(struct slice *s, uint64_t now, struct rdc_entry what);
/* Drops the line without time: the host has written or freed it. True: it was there. */
bool rdc_drop(struct slice *s, uint64_t line);
/* Before the measured part of a run, without time: fills the set of the line; clears the line; ends all lines. */
void rdc_warm(struct slice *s, uint64_t line);
void rdc_warm_clear(struct slice *s, uint64_t line);
void rdc_warm_end(struct slice *s);

/* True if rdc_step() has something to hand to the channel. */
static inline bool rdc_busy(const struct rdc *r) { return r->queue.count || r->reset_left; }
/* Hands an operation of the queue to the channel if no other operation of the slice waits for it. */
void rdc_step(struct slice *s, uint64_t now);
/* The tag line of a miss whose fetch is due; TAGS_NONE: none. rdc_take_miss() removes it. */
uint32_t rdc_miss_at(const struct rdc *r, uint64_t now);
void rdc_take_miss(struct rdc *r);
static inline uint64_t rdc_miss_due(const struct rdc *r)
{
    return r->misses_count ? r->misses[r->misses_head].ready_cyc : ENGINE_NEVER;
}

/* Set of a line, and line of GPU memory that holds a set. */
uint64_t rdc_set_of(const struct rdc *r, uint64_t line);
uint64_t rdc_place_of(const struct slice *s, uint64_t set);

#endif
