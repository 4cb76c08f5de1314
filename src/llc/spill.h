/* spill: system memory of a GPU. A page that is spilled keeps its home slices; the memory behind them is the CPU's, over
 * one link per GPU. The hook is push_op() of slice_memory.h; machines without spilled pages have none of this.
 *
 *   slice --push_op()--> in system memory? --> ring of the slice --round robin--> CPU link --> system memory
 *                                no: channel                                        |
 *   fill stage of the slice <------------------------------------------------------+ spill.latency, bytes / bandwidth
 *
 * The frame of a spilled page has DRAM_MAP_SYSTEM_BIT in its address and takes no room in the memory of the GPU.
 *
 * spill.policy um: an access to a page in system memory starts a move. Operations to a page that is not in the memory of
 * the GPU wait in the ring of their slice; when the page has arrived, they go to the channel.
 *
 *   OUT --access--> COMING --driver, page over the link--> IN --least recently used, for another page--> GOING --> OUT
 *
 * Contract:
 *  1. The link works in messages only, before any component is activated in that cycle, and it sees an operation from
 *     its ready_tick on. So no result depends on the order of visits.
 *  2. Operations of a slice leave its ring in order. An operation to a page with waiting operations joins the ring.
 *  3. A page goes out after the channels have accepted all operations to it that were queued before.
 *  4. Rings count in slice.ops_count: their room is the room of the memory queue.
 *
 * ASSUMPTION: a page that has moved in uses the banks and rows of its own address. */
#ifndef ATOLL_LLC_SPILL_H
#define ATOLL_LLC_SPILL_H

#include "dram/dram_map.h"
#include "dram/memory_op.h"
#include "engine/engine.h"

struct slice;
struct spill;
struct spill_stats;

/* Operations of a slice for system memory. */
struct slice_spill {
    struct spill *link; /* of the slice's GPU */
    struct slice *slice;
    struct memory_queue ops;
};

struct spill_wiring {
    struct engine *engine;
    uint32_t domain; /* of the slices */
    uint64_t ticks_per_cycle, ticks_per_second;
    const struct dram_map *map;
    uint32_t slice_count; /* of the GPU */
    /* Frames of the GPU's memory that hold pages are those below this number (um). */
    uint64_t (*frames)(void *pages, uint32_t chiplet);
    void *pages;
    uint32_t chiplet;
};

/* NULL: spill.share is 0. */
struct spill *spill_new(struct arena *a, const struct config *c, const struct spill_wiring *w,
                        const char *name);
void spill_free(struct spill *p); /* the lists of moves are not the arena's */
/* For slice_new(): a slice of the GPU, with a ring of `ops` entries. */
struct slice_spill *spill_join(struct spill *p, struct arena *a, struct slice *s, uint32_t ops);
struct spill_stats *spill_stats(struct spill *p);
/* Takes an operation that must wait for system memory. False: it goes to the channel. */
bool spill_takes(struct slice *s, const struct memory_op *op);
/* Operations in the ring. */
static inline uint32_t spill_ops(const struct slice_spill *r) { return r ? r->ops.count : 0; }

#endif
