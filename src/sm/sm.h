/* sm: one streaming multiprocessor: warps, schedulers, units, shared memory, L1 and its requests.
 *
 *   block ──► warps ──► schedulers ──► scoreboard ──┬──► units (latency, interval)
 *                                                   └──► coalescer ──► memory queue ──► L1 TLB ──┐
 *                                                                                                ▼
 *                          replies ──► MSHRs, fill ──► waiting loads ◄────────────────── hit ── L1
 *                                                                                                │ miss
 *                                                        network ◄── miss queue ◄────────────────┘
 *
 * Warps issue in order. The scoreboard holds the cycle in which each register becomes readable: for
 * arithmetic at issue, for loads when the last line arrives. A warp with an arithmetic dependency sleeps
 * until a fixed cycle, a warp with a memory dependency until a reply. An SM without a runnable warp or event
 * is not activated.
 *
 * An activation has two halves: sm_memory (replies, L1, requests) and sm_issue (blocks, schedulers).
 * Instructions execute in the second half, which always runs in the order of SMs, so side effects have one
 * order.
 *
 * The SM takes its instructions from a source (exec/warp_op.h) and does not depend on PTX. */
#ifndef ATOLL_SM_SM_H
#define ATOLL_SM_SM_H

#include "engine/engine.h"
#include "exec/warp_op.h"
#include "llc/organisation.h"
#include "mmu/mmu.h"
#include "net/fabric.h"
#include "stats/stats.h"

struct sm;
struct sm_spec;
struct check;
struct conflict_cache;
struct structures;

enum { SM_REGS = 256 };    /* registers of a warp in the scoreboard; more share entries */
enum { SM_KERNELS = 127 }; /* kernels that an SM serves at one time */

/* What runs, as an SM needs to know it. Several kernels of one application may share an SM: room that the
 * first ones leave is given to the next. */
struct sm_kernel {
    uint32_t app;
    uint32_t number; /* --check: which kernel, see check_kernel_begin() */
    int priority;    /* larger: its blocks are given room before those of others */
    uint32_t warps_per_block, threads_per_block;
    uint32_t registers_per_block;
    uint64_t shared_per_block;
    uint32_t scoreboard; /* registers of a warp in the scoreboard, at most SM_REGS */
    void *self;
    /* A resident block; *clock: where the SM writes the cycle before each step. */
    struct warp_source (*open)(void *self, uint64_t block, uint32_t sm, uint64_t **clock);
    void (*close)(void *self, struct warp_source *source);
    /* The next block for this SM, UINT64_MAX when there is none. */
    uint64_t (*next)(void *self, uint32_t sm);
    void (*block_ended)(void *self, uint32_t sm, uint64_t block, uint64_t start_cyc, uint64_t now);
    /* The SM has nothing left to do for the kernel: no block, no request on its way. */
    void (*drained)(void *self, uint32_t sm, uint64_t now);
    /* A block that was told to stop has left the SM, its registers and shared memory are in memory: the
     * source is the owner's again. NULL: blocks never move. */
    void (*block_left)(void *self, uint32_t sm, uint64_t block, struct warp_source *source,
                       uint64_t start_cyc);
    struct structures *structures; /* where its data lies and how it is cached; NULL: one memory node */
};

struct sm_wiring {
    struct engine *engine;
    struct fabric *fabric;
    struct pool *requests;
    struct organisation *organisation; /* of its chiplet: paths, acquires */
    struct pages *moving_pages;        /* counts requests per page; NULL: a page keeps its frame */
    struct check *check;               /* --check; NULL: none */
    struct store_order
        *store_order; /* fences are cumulative; NULL: a fence waits for stores of its warp only */
    uint32_t sm_idx;
    uint32_t near_first, near_count; /* LLC slices of its own partition, for statistics */
    uint32_t domain;
    struct mmu *mmu;
    struct conflict_cache *conflicts; /* sm_conflict_cache(); all SMs may share one */
    bool disturbed; /* somebody may change what is resident between the SM's own visits: blocks move */
    const uint32_t *kernels; /* running on the machine; NULL: those of this SM only */
};

struct sm_spec *sm_spec_of(struct arena *a, const struct config *c);
struct conflict_cache *sm_conflict_cache(struct arena *a);
/* Cycles that the banks of shared memory need for an access. */
uint32_t sm_bank_cycles(const struct sm_spec *spec, const struct warp_op *op, struct conflict_cache *cache);
struct sm *sm_new(struct arena *a, const struct sm_spec *spec, const struct sm_wiring *wiring,
                  const char *name);
uint32_t sm_component(const struct sm *sm);
/* A reply arrives soon: fetches what it will touch into the host's caches. */
void sm_expect(const void *sm, const struct request *r);
struct sm_stats *sm_stats(struct sm *sm);
struct l1_stats *sm_l1_stats(struct sm *sm);

/* Blocks of the kernel that fit at one time. 0: not even one; *why says what is too little. */
uint32_t sm_fitting_blocks(const struct sm_spec *spec, const struct sm_kernel *k, const char **why);
/* Starts to take blocks at start_cyc (later than now), beside the kernels that the SM has. The L1 is emptied.
 */
void sm_begin(struct sm *sm, const struct sm_kernel *kernel, uint64_t start_cyc);
/* ---- moving resident blocks ---- */

/* Which resident block sm_stop_block() stops. */
enum sm_stop {
    SM_STOP_OLDEST, /* the lowest number of those that have run for a while */
    SM_STOP_LOWEST, /* the lowest number */
    SM_STOP_LONGEST /* the one that has run longest since it began or was resumed */
};
/* Stops a block: its warps issue no more. When its loads and stores have ended, the SM writes registers and shared
 * memory to the virtual lines from first_line on, then calls block_left(). False: the SM has no such block, or
 * another block is in transit. */
bool sm_stop_block(struct sm *sm, enum sm_stop which, uint64_t first_line);
/* Resumes a block that left some SM: the SM reads the context from first_line on, then the warps run. False: no room,
 * or another block is in transit. */
bool sm_can_resume(const struct sm *sm, const struct sm_kernel *kernel);
bool sm_resume_block(struct sm *sm, const struct sm_kernel *kernel, uint64_t block, struct warp_source source,
                     uint64_t *clock, uint64_t start_cyc, uint64_t first_line);
/* Lines of the context of a block of the kernel, and of the largest context that an SM can hold. */
uint32_t sm_context_lines(const struct sm_kernel *kernel);
uint32_t sm_context_lines_max(const struct sm_spec *spec);
/* Cycle in which the block began or was resumed that has run longest; UINT64_MAX: no block can stop now. */
uint64_t sm_longest_since(const struct sm *sm);

/* No more blocks of it are taken; the kernel has ended or is taken away. */
void sm_end(struct sm *sm, const struct sm_kernel *kernel, uint64_t now);
/* Blocks may be there again (a policy changed its mind): ask at the next cycle. */
void sm_ask(struct sm *sm);
/* Accounts stalls up to now, so that statistics are complete. */
void sm_settle(struct sm *sm, uint64_t now);
/* The same when the run ends here, wherever the SM is: it may have worked ahead. */
void sm_break_off(struct sm *sm, uint64_t now);
bool sm_idle(const struct sm *sm);
/* A warp sleeps until a cycle that it knows, or blocks come in one. */
bool sm_waits_for_time(const struct sm *sm, uint64_t now);
/* From now on it translates there; it must be idle. */
void sm_use_mmu(struct sm *sm, struct mmu *mmu);
/* Has the kernel begun on it and not ended? */
bool sm_serves(const struct sm *sm, const struct sm_kernel *kernel);
/* Has it no block of the kernel, and are its stores all acknowledged? */
bool sm_idle_of(const struct sm *sm, const struct sm_kernel *kernel);
/* Requests that it has made and not sent. */
uint32_t sm_requests_held(const struct sm *sm);
/* Whether the SM sends requests. Call it between two runs of the engine. */
enum sm_hold {
    SM_SENDS,
    SM_HOLDS,       /* sends no request */
    SM_HOLDS_STOPS, /* sends no request; the last outstanding reply stops the engine */
    SM_DRAINS       /* begins no access; requests that exist are sent */
};
void sm_hold(struct sm *sm, enum sm_hold hold);
/* True if no request exists and no translation is pending. Precondition: SM_DRAINS. */
bool sm_is_drained(const struct sm *sm);
/* The owned channels of the SM's application have changed: invalidates the L1 and the L1 TLB. Accesses whose
 * translation has arrived are translated again. Precondition: sm_is_drained(). */
void sm_drop_translations(struct sm *sm);
/* Requests that one SM may have on their way. */
uint32_t sm_request_limit(const struct sm_spec *spec);
/* Requests that it takes out of the pool when it is built, and never gives back. */
uint32_t sm_requests_kept(const struct sm_spec *spec);
/* Requests on their way now, for the law. */
uint64_t sm_requests_waiting(const struct sm *sm);

#endif
