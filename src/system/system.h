/* gpu: the machine put together from its parts (one GPU or several, of one chiplet or several), and kernels
 * on it.
 *
 *   system_new(config) ─► SMs, L1s, networks, slices, channels, MMUs on one engine
 *   system_start_kernel(launch) ─► blocks to SMs, beside kernels that run
 *   system_advance() ─► until all blocks of one have ended and all its stores are acknowledged, then the
 * boundary
 *
 * Statistics are registered in the registry given at the start; the memory is the GPU's own (an arena). */
#ifndef ATOLL_SYSTEM_SYSTEM_H
#define ATOLL_SYSTEM_SYSTEM_H

#include "config/config.h"
#include "engine/engine.h"
#include "net/net_level.h"
#include "stats/stats.h"

struct check;
struct exec_launch;
struct system;

/* One network over a span of time. */
struct system_net_use {
    uint64_t packets, bytes; /* delivered */
    uint64_t latency_cyc;    /* sum over them, acceptance to arrival, network cycles */
    uint64_t blocked_cyc;    /* outputs that waited because the queue of their receiver was full */
    uint64_t links, flits;   /* of the busiest stage: how many, and what they carried together */
    uint64_t flits_most;     /* carried by the busiest link of all stages */
};

/* The physical links between the nodes of a level, which all message classes share, over a span of time. */
struct system_node_use {
    uint64_t links;       /* number */
    uint64_t cycles;      /* of transmission, all links */
    uint64_t cycles_most; /* … of the busiest link */
};

/* What is not in struct stats, over a span of time: the two networks apart, and the busiest parts. */
struct system_use {
    struct system_net_use requests, replies;    /* of all networks between SMs and slices */
    struct system_net_use above[NET_LEVELS][2]; /* by level and direction; of level `net` the same as these */
    struct system_node_use nodes[NET_LEVELS];   /* of chiplet_net and gpu_net */
    uint64_t port_cycles_most;                  /* data port of the busiest slice */
    uint64_t columns_most;                      /* columns moved by the busiest channel */
    uint32_t port_slice, columns_channel;
};

/* The links of a stage of the networks of a level, all together, since the start. */
struct system_link_stage {
    enum net_level level;
    enum net_direction direction;
    uint32_t stage, stages;       /* its number (net_link_stats.stage), of so many */
    uint64_t links, flits;        /* how many there are, and what they carried together */
    uint64_t flits_most;          /* … the busiest: */
    uint32_t busiest_net;         /* of this network of the level, */
    struct net_link_ends busiest; /* … between these */
};

/* One direction of a physical link between nodes, since the start. */
struct system_node_link {
    enum net_level level;
    uint32_t net;                  /* chiplet_net: the GPU */
    struct net_link_ends ends;     /* nodes, or the switch (NET_END_ROUTER) */
    uint64_t bytes[2], packets[2]; /* by enum net_direction: requests, replies */
    double utilisation[2];         /* share of the time, by class; their sum is that of the link */
};

/* Where requests wait in front of memory, on their way. */
enum system_queue {
    SYSTEM_QUEUE_INPUT,     /* arrived at the slice from SMs, not taken */
    SYSTEM_QUEUE_FAR_INPUT, /* … from other slices, */
    SYSTEM_QUEUE_ANSWERS,   /* … answers of other slices */
    SYSTEM_QUEUE_LOCAL,     /* nuba: taken, not served by the tag stage */
    SYSTEM_QUEUE_INSIDE,    /* served by the tag stage, not answered */
    SYSTEM_QUEUE_MSHRS,     /* MSHRs in use */
    SYSTEM_QUEUE_MEMORY,    /* operations that are due, not accepted by their channel */
    SYSTEM_QUEUE_CHANNEL,   /* columns waiting in a channel */
    SYSTEM_QUEUES
};

/* One kind of queue of all slices, or of all channels, since the start. What nobody counts is not known:
 * while the memory side works ahead (system/windows.h), of SYSTEM_QUEUE_INPUT which slice is the deepest, of _MSHRS
 * all but the peak, of _MEMORY everything. */
struct system_depth {
    uint32_t parts;    /* slices, or channels; 0: the machine has no such queue */
    uint64_t clock_hz; /* of the cycles that are meant here */
    uint64_t sum;      /* how many waited, summed over cycles and parts, */
    uint64_t most;     /* … of the part with the highest sum, */
    uint32_t deepest;  /* … this one */
    uint64_t peak;     /* most at one time in one part */
    bool has_sum, has_most, has_peak;
};

/* One kernel that has run. */
struct system_kernel_record {
    const char *name; /* lives as long as the GPU */
    uint32_t app;
    uint32_t grid[3], block[3];
    uint32_t registers_per_thread, blocks_per_sm;
    uint64_t shared_bytes, blocks;
    const char *limited_by;                  /* what limits the resident blocks */
    uint64_t launch_cyc, start_cyc, end_cyc; /* SM cycles; end: the last block's end and all its stores */
    bool shared;                             /* other kernels ran beside it; then of stats only instructions
                                                and blocks are its own, all else is of the GPU in its time */
    struct stats stats;                      /* of its time */
    struct system_use use;
};

/* What listens: the timeline. Any member may be NULL. */
struct system_listener {
    void *arg;
    void (*block)(void *arg, uint32_t sm, uint32_t record, uint64_t block, uint64_t start_cyc,
                  uint64_t end_cyc);
    void (*kernel)(void *arg, const struct system_kernel_record *k);
    /* Called every few thousand cycles; false: stop the run (SYSTEM_STOPPED). */
    bool (*progress)(void *arg, uint64_t now_cyc, uint64_t warp_instructions);
};

/* check: versions are carried through every cache (check/check.h). */
struct system *system_new(const struct config *c, struct stats_registry *stats, bool check);
void system_free(struct system *g);
void system_listen(struct system *g, const struct system_listener *listener);
/* Stop when this many warp instructions have been issued (SYSTEM_STOPPED); fewer than what the
 * GPU issues in one cycle are issued beyond it. 0 = no limit. */
void system_limit(struct system *g, uint64_t warp_instructions);

/* Before the first kernel: so many applications share the machine (parameters apps.*); raises a mistake when
 * they cannot. */
void system_split(struct system *g, uint32_t apps);
/* What an application has and did up to now. */
struct system_app {
    uint32_t sms, channels;
    struct stats stats; /* of its group `app`, the rest is zero */
};
struct system_app system_app(struct system *g, uint32_t app);

/* Is there room for one more kernel beside those that run? */
bool system_can_start(const struct system *g);
/* Puts a launch on the SMs; it stays the caller's and must live until it has ended. Its blocks get the room
 * that kernels of its priority and above leave. Raises what is wrong with it. */
void system_start_kernel(struct system *g, uint32_t app, struct exec_launch *launch, int priority);
enum system_end { SYSTEM_KERNEL_ENDED, SYSTEM_TIME_OVER, SYSTEM_STOPPED };
/* Runs until a kernel has ended (*ended), or up to a cycle, or the listener stops it: then the GPU runs
 * nothing more, and the statistics are those up to that cycle. Raises what a kernel did wrong. */
enum system_end system_advance(struct system *g, uint64_t limit_cyc, struct exec_launch **ended);
/* What runs stops here, as after a fault: the GPU runs nothing more. */
void system_abandon(struct system *g);
/* A launch alone, from start to end; false: stopped. */
bool system_run_kernel(struct system *g, uint32_t app, struct exec_launch *launch);
/* After the last kernel: lets everything that is still on its way arrive, and checks the laws. After a run
 * that was stopped nothing moves any more, and laws that need an end are not checked. */
void system_finish(struct system *g);
bool system_was_stopped(const struct system *g);
/* The reason why lookahead windows (windows.h) are off; NULL: they are on. Results do not depend on it. */
const char *system_windows_off(const struct system *g);

struct exec_kernel;
/* What a kernel takes of an SM, without a GPU: occupancy queries. */
uint32_t system_registers_per_thread(const struct config *c, const struct exec_kernel *kernel);
uint32_t system_fitting_blocks(const struct config *c, const struct exec_kernel *kernel, uint32_t threads,
                               uint64_t shared_bytes, const char **why);

uint64_t system_now(const struct system *g); /* SM cycles */
/* The run's last cycle. After system_finish(): the last cycle of its work; later messages of pages do not count.
 */
uint64_t system_end_cyc(const struct system *g);
double system_seconds(const struct system *g);
uint64_t system_warp_instructions(const struct system *g);
uint32_t system_kernel_count(const struct system *g);
const struct system_kernel_record *system_kernel_record(const struct system *g, uint32_t i);
struct engine *system_engine(struct system *g);
/* Of the kernel that runs: blocks that have ended, 0 to 1. */
double system_kernel_progress(const struct system *g);
/* Since the start. */
struct system_use system_total_use(const struct system *g);
enum { SYSTEM_LINK_STAGES = 2 * 3 * NET_LEVELS }; /* directions, stages of each at most, levels */
/* Those that the machine has; returns how many. */
uint32_t system_link_stages(const struct system *g, struct system_link_stage stages[SYSTEM_LINK_STAGES]);
/* The physical links between nodes; false: there is none with this number. */
bool system_node_link(const struct system *g, uint32_t idx, struct system_node_link *link);
struct system_depth system_depth(const struct system *g, enum system_queue queue);
/* Bytes between partitions, [SM's][slice's]; *partitions 0: too many to count. */
const uint64_t *system_traffic(const struct system *g, uint32_t *partitions);
/* NULL when lines are not replicated. */
const struct replication *system_replication(const struct system *g);
/* Pages whose frames lie in a partition; 0 too when maps spread a page over several. */
uint64_t system_pages_of(const struct system *g, uint32_t partition);
/* NULL when the GPU was made without. */
const struct check *system_check(const struct system *g);

#endif
