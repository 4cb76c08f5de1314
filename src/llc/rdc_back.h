/* rdc_back: rdc.write back. Stores stay in the remote data cache (RDC) until a flush or another line drives them home.
 *
 *   store that hits ──► bytes of a dirty line ──► scan of a flush, fill of another line, request that passes home
 *        │                   │ marks its region                        │ rdc_back_leave(): takes a slot, frees the line
 *        └ answered after    ▼                                         ▼
 *          the tag read    dirty map: regions of 4 KiB          read of the set ──► ready ──► out queue ──► home
 *                            │ oldest first                            region: answered when its scan and
 *   fence, kernel end ───────┴──► scan: reads every set of a region    all its bytes are ◄──── answer ──────┘
 *
 * A line that leaves is a store of the slice (REQUEST_FETCH, REQUEST_WRITE; owner: its slot).
 *
 * Invariants:
 *  1. A set has at most one dirty line, and its tag names that line. A dirty line of an earlier epoch, or one that the
 *     host has dropped, has its dirty bytes only: stores stay, reads send the bytes home first.
 *  2. No request to the home overtakes bytes of its line: rdc_settled() holds it until they are in the out queue.
 *  3. A region is sent to the order of dirty regions when it is marked, and answered when its bytes are at home. A
 *     fence of GPU or system scope waits for the regions of its GPU that were marked before the stores in front of
 *     the fence were answered (store_order.h, once more). Only SMs of the GPU can have read these bytes.
 *  4. Bytes that leave wait for memory and for the network, which wait for neither tag stages of SMs nor for fences.
 *
 * ASSUMPTION: each slice has a dirty map of its sets, without cost; a scan reads all sets of a region, because the
 * dirty bits of lines are in memory with the tags.
 *
 * ASSUMPTION: a store that misses goes home while its tag is read.
 *
 * Host memory: dirty lines, regions and their maps grow with the dirty data. */
#ifndef ATOLL_LLC_RDC_BACK_H
#define ATOLL_LLC_RDC_BACK_H

#include "base/map.h"
#include "llc/llc_private.h"

enum { RDC_REGION_SETS = 4096 / LINE_BYTES };

/* Bytes of a line that its home does not have. */
struct rdc_dirty {
    uint64_t bytes[2];
    uint64_t address; /* request.line of the last store */
    struct home home;
    uint32_t region;
    uint16_t sm; /* of the last store */
    uint8_t app;
};

/* A marked region, until its bytes are at home. */
struct rdc_region {
    uint64_t number; /* in the order of dirty regions of the GPU */
    uint64_t idx, marked_cyc, sequence;
    uint32_t next;    /* region marked after it, or next free record */
    uint32_t pending; /* reads of its scan, and lines that are not answered */
    bool closed, answered;
};

/* A slot: a dirty line that leaves. */
struct rdc_leaving {
    struct rdc_dirty line;
    uint64_t ready_cyc;
    uint32_t next; /* next ready or free slot */
    bool is_here;  /* not in the out queue yet */
};

struct rdc_back {
    struct map lines, open; /* set to dirty line; region to record, not closed */
    struct rdc_dirty *dirty;
    struct rdc_region *regions;
    uint32_t dirty_count, dirty_capacity, dirty_free;
    uint32_t region_count, region_capacity, region_free;
    uint32_t first_open, last_open;
    uint64_t sequence;   /* of the next region */
    uint32_t unanswered; /* regions */
    uint32_t scan;       /* region whose sets are read; UINT32_MAX: none */
    uint64_t scan_set, scan_end;
    struct rdc_leaving *slots;
    uint32_t slot_count, slot_free, slots_free;
    uint32_t leaving; /* lines that are not in the out queue yet */
    uint32_t ready_first, ready_last, ready_count;
    uint64_t flush_before, flush_cyc; /* pass of a kernel end: sequences below it; its first cycle */
    uint32_t flush_left;              /* of these: not answered */
};

struct rdc;
struct rdc_entry;

struct rdc_back *rdc_back_new(struct slice *s, struct arena *a, const struct config *c);
void rdc_back_free(struct rdc_back *b);

/* True if the set has a dirty line, and it is this one. */
bool rdc_back_has(const struct rdc *r, uint64_t set, uint64_t line);
static inline bool rdc_back_any(const struct rdc_back *b) { return b->lines.count != 0; }
/* The store stays in the set, which holds its line. */
void rdc_back_store(struct slice *s, uint32_t idx, uint64_t set);
/* True if nothing of the line is on its way home before the out queue. False: it is sent there, s->blocked is set. */
bool rdc_settled(struct slice *s, uint64_t now, uint64_t line);
/* The dirty line of the set, if there is one, leaves with a read of the set that the caller queues. Returns the slot
 * + 1; 0: none. Precondition: rdc_back_may_leave(). */
uint32_t rdc_back_leave(struct slice *s, uint64_t set);
bool rdc_back_may_leave(const struct rdc *r, uint64_t set);
/* A read of the queue has come back that belongs to a line that leaves, or to the scan of a region. */
void rdc_back_read_done(struct slice *s, const struct rdc_entry *e, uint64_t ready_cyc);
/* The home has answered the bytes of a slot. */
void rdc_back_answered(struct slice *s, uint32_t slot);
/* Puts lines that are ready into the out queue, and reads sets of regions to be flushed. Return the cycle of the next
 * call; ENGINE_NEVER: a wake-up is registered. */
uint64_t rdc_back_send(struct slice *s, uint64_t now);
uint64_t rdc_back_scan(struct slice *s, uint64_t now);
/* The pass of a kernel end begins; true if all regions marked before it are answered. */
void rdc_back_flush(struct slice *s);
static inline bool rdc_back_flushed(const struct rdc_back *b) { return !b->flush_left; }

#endif
