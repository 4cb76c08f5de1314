/* channel: a memory channel as a component of the engine.
 *
 *   queue of each client --round-robin--> channel.c --dram_try_read/write()--> channel model (dram.h)
 *   client <--wiring.accepted()---------- channel.c
 *   client <--wiring.done(), reads only-- channel.c <--dram_wiring.done()------ channel model
 *
 * The clients are the LLC slices that reach the channel. Clients own their operations (memory_op.h). The
 * channel pulls: a client appends to its queue and sets its bit of `pending`. The channel does not depend on
 * the type of its clients. */
#ifndef ATOLL_DRAM_CHANNEL_H
#define ATOLL_DRAM_CHANNEL_H

#include "dram/dram.h"
#include "dram/dram_map.h"
#include "dram/memory_op.h"
#include "engine/engine.h"

struct channel;

struct channel_wiring {
    struct engine *engine;
    uint32_t domain;              /* clock domain of memory */
    uint32_t client_count;        /* at most CHANNEL_CLIENTS_MAX */
    uint32_t queue_idx;           /* which of its queues a client keeps for this channel */
    const uint64_t *pending;      /* bit per client: its queue is not empty */
    const uint64_t *exact_accept; /* bit per client: accept times must be exact, see channel_sync() */
    bool only_clients_wait;       /* no other component observes accept times: channel_sync() may be called */
    bool may_defer;               /* cycles may be simulated late; requires only_clients_wait */
    bool copies;                  /* channel_connect_copier() follows */
    uint64_t client_ticks_per_cycle;
    uint32_t return_cyc; /* client cycles from data at the channel's pins to the earliest use by the client */
    /* The channel accepted the oldest operation of the queue at `tick`, now or earlier. The client removes
     * the operation. */
    void (*accepted)(void *client, uint32_t queue_idx, uint64_t tick);
    /* Data of a read is at the channel's pins at `tick`. tag: see channel_tag_line(). */
    void (*done)(void *client, uint32_t queue_idx, uint64_t tag, uint64_t accept_tick, uint64_t tick);
};

enum { CHANNEL_CLIENTS_MAX = 64 }; /* bits of channel_wiring.pending */

/* Tag of a read: tag_line, first_column and column_count of its memory_op. */
static inline uint32_t channel_tag_line(uint64_t tag) { return (uint32_t)tag; }
/* column_count << 8 | first_column */
static inline uint32_t channel_tag_columns(uint64_t tag) { return (uint16_t)(tag >> 32); }

struct channel *channel_new(struct arena *a, const struct config *c, const struct dram_spec *spec,
                            const struct dram_map *map, const struct channel_wiring *links, const char *name);
/* Registers client k < client_count and its queue. Required for every client before the first operation. */
void channel_connect(struct channel *ch, uint32_t k, void *client, const struct memory_queue *queue);
/* A further client with callbacks of its own, which copies pages. Its bit of `pending` is bit client_count. */
struct channel_copier {
    void *self;
    const struct memory_queue *queue;
    void (*accepted)(void *self, uint64_t tick);
    void (*done)(void *self, uint64_t tag, uint64_t tick); /* tick: the data is at the pins */
};
void channel_connect_copier(struct channel *ch, const struct channel_copier *copier);
uint32_t channel_component(const struct channel *ch);

/* Called by a client whose queue was empty: its first operation has this ready_tick, later than now. */
void channel_on_first_op(struct channel *ch, uint64_t ready_tick);
/* Called by a client: simulates every cycle before the present tick. While a bit of wiring.exact_accept is
 * set, later cycles are simulated when they are due. */
void channel_sync(struct channel *ch);
/* A stack changed the channel's state in this cycle (dram_stack.h): its next due cycle may be earlier. */
void channel_on_change(struct channel *ch);
/* Called when the engine has stopped: simulates every cycle up to the last completed tick and completes the
 * statistics. */
void channel_finish(struct channel *ch);

/* ---- lookahead windows: the engine does not wake the channel ---- */

void channel_in_windows(struct channel *ch, bool on);
/* Simulates every cycle before a cycle of the clients. */
void channel_work_before(struct channel *ch, uint64_t client_cyc);
/* Simulates the next due cycle before a cycle of the clients; false: no cycle is due. */
bool channel_work_next(struct channel *ch, uint64_t client_cyc);
/* Wakes the channel for cycles before client_cyc that channel_work_before() left because statistics are
 * sampled in between. */
void channel_visit_before(struct channel *ch, uint64_t client_cyc);
/* Next due cycle; DRAM_NEVER: none. */
uint64_t channel_due(const struct channel *ch);

struct dram_stats *channel_stats(struct channel *ch);

#endif
