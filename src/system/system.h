/* system: the machine (one or several GPUs of one or several chiplets) and the kernels on it. The room builds
 * all components, connects them and runs kernels. Below: every timing room (sm, mmu, net, llc, dram, pages,
 * control). Above: measure, report and api, which include system.h, repartition.h and rules.h only.
 *
 *   system_new(config)           builds SMs, MMUs, networks, slices and channels on one engine
 *   system_start_kernel(launch)  starts the blocks of a launch on SMs, beside running kernels
 *   system_advance()             runs until a kernel has ended: all blocks, all stores acknowledged, boundary
 *   system_finish()              drains the machine and checks the conservation laws
 *
 * Invariants:
 *  1. SMs, slices and channels are numbered over the machine. The members of a partition, chiplet or GPU have
 *     consecutive numbers.
 *  2. The system owns all components until system_free(). Statistics are registered in the caller's registry.
 *  3. After SYSTEM_STOPPED or system_abandon() the machine runs no further kernel. */
#ifndef ATOLL_SYSTEM_SYSTEM_H
#define ATOLL_SYSTEM_SYSTEM_H

#include "config/config.h"
#include "engine/engine.h"
#include "net/net_level.h"
#include "stats/stats.h"

struct check;
struct exec_launch;
struct page_profile;
struct repartition;
struct system;

/* Traffic of one network in an interval. */
struct system_net_use {
    uint64_t packets, bytes; /* delivered */
    uint64_t latency_cyc;    /* sum over packets, acceptance to arrival, in network cycles */
    uint64_t blocked_cyc;    /* sum over outputs: cycles with a packet and a full receiver queue */
    uint64_t links;          /* links of the busiest stage */
    uint64_t flits;          /* flits carried by the links of the busiest stage */
    uint64_t flits_max;      /* flits carried by the busiest link of all stages */
};

/* Traffic of the physical links between the nodes of a level in an interval. All message classes share the
 * links. */
struct system_node_use {
    uint64_t links;
    uint64_t cycles;     /* transmission cycles, sum over links */
    uint64_t cycles_max; /* transmission cycles of the busiest link */
    /* net_node_traffic.short_cyc and full_cyc: maximum over links and classes */
    uint64_t short_max, full_max;
};

/* Figures of an interval that struct stats does not hold: traffic by direction, and the busiest
 * components. */
struct system_use {
    struct system_net_use requests, replies; /* networks between SMs and slices */
    struct system_net_use above[NET_LEVELS]
                               [2]; /* by level and direction; level `net`: same as requests, replies */
    struct system_node_use nodes[NET_LEVELS]; /* valid for chiplet_net and gpu_net */
    uint64_t port_cycles_max;                 /* busy cycles of the busiest data port of a slice */
    uint64_t columns_max;                     /* columns moved by the busiest channel */
    uint32_t port_slice;                      /* slice of port_cycles_max */
    uint32_t columns_channel;                 /* channel of columns_max */
};

/* Links of one stage, summed over the networks of a level, since the start of the run. */
struct system_link_stage {
    enum net_level level;
    enum net_direction direction;
    uint32_t stage, stages;       /* number of the stage (net_link_stats.stage); number of stages */
    uint64_t links, flits;        /* number of links; flits carried by all of them */
    uint64_t flits_max;           /* flits carried by the busiest link */
    uint32_t busiest_net;         /* network of the level that has the busiest link */
    struct net_link_ends busiest; /* ends of the busiest link */
};

/* One direction of a physical link between nodes, since the start of the run. */
struct system_node_link {
    enum net_level level;
    uint32_t net;                  /* chiplet_net: number of the GPU */
    struct net_link_ends ends;     /* nodes, or the switch (NET_END_ROUTER) */
    uint64_t bytes[2], packets[2]; /* by enum net_direction: requests, replies */
    double utilisation[2];         /* 0 to 1, by enum net_direction; the sum is the utilisation of the link */
};

/* Queues in front of memory, in the order of a request's path. */
enum system_queue {
    SYSTEM_QUEUE_INPUT,          /* requests of SMs that arrived at the slice and are not accepted */
    SYSTEM_QUEUE_REMOTE_INPUT,   /* requests of other slices that arrived and are not accepted */
    SYSTEM_QUEUE_REMOTE_REPLIES, /* replies of other slices that arrived and are not accepted */
    SYSTEM_QUEUE_LOCAL,          /* nuba: accepted requests before the tag stage */
    SYSTEM_QUEUE_INSIDE,         /* requests after the tag stage, before their reply */
    SYSTEM_QUEUE_MSHRS,          /* MSHRs in use */
    SYSTEM_QUEUE_MEMORY,         /* operations that are due and that the channel has not accepted */
    SYSTEM_QUEUE_CHANNEL,        /* columns waiting in a channel */
    SYSTEM_QUEUES
};

/* Depth of one kind of queue over all slices or channels, since the start of the run. If the memory side
 * is simulated in windows (system/windows.h), some figures are not counted: the max of SYSTEM_QUEUE_INPUT,
 * sum and max of _MSHRS, and all of _MEMORY. */
struct system_depth {
    uint32_t parts;                  /* number of slices or channels; 0: the machine has no such queue */
    uint64_t clock_hz;               /* frequency of the cycles of sum and max */
    uint64_t sum;                    /* occupancy summed over cycles and parts */
    uint64_t max;                    /* occupancy summed over cycles, of the part `deepest` */
    uint32_t deepest;                /* part with the highest sum */
    uint64_t peak;                   /* max occupancy of one part in one cycle */
    bool has_sum, has_max, has_peak; /* false: the figure is not counted */
};

/* One kernel that has run. */
struct system_kernel_record {
    const char *name; /* valid until system_free() */
    uint32_t app;
    uint32_t grid[3], block[3];
    uint32_t registers_per_thread, blocks_per_sm;
    uint64_t shared_bytes, blocks;
    const char *limited_by;                  /* resource that limits the resident blocks */
    uint64_t launch_cyc, start_cyc, end_cyc; /* SM cycles; end: after the boundary */
    bool shared;                         /* other kernels ran at the same time; in stats, only instructions
                                                and blocks are then those of the kernel */
    const struct structures *structures; /* its data structures (sm/structures.h); NULL: one memory node */
    struct stats stats;                  /* difference of the machine's statistics between start and end */
    struct system_use use;
};

/* Callbacks of a run. Any member may be NULL. */
struct system_listener {
    void *arg;
    void (*block)(void *arg, uint32_t sm, uint32_t record, uint64_t block, uint64_t start_cyc,
                  uint64_t end_cyc);
    void (*kernel)(void *arg, const struct system_kernel_record *k);
    /* Called between two runs of the engine, about every 20000 cycles. False stops the run
     * (SYSTEM_STOPPED). */
    bool (*progress)(void *arg, uint64_t now_cyc, uint64_t warp_instructions);
};

/* Builds a machine. `check`: every cache tracks versions of words (check/check.h). `c` and `stats` must
 * outlive the machine. */
struct system *system_new(const struct config *c, struct stats_registry *stats, bool check);
void system_free(struct system *g);
void system_listen(struct system *g, const struct system_listener *listener);
/* Stops the run (SYSTEM_STOPPED) after this many warp instructions. The run exceeds the limit by less than
 * the instructions of one cycle. 0: no limit. */
void system_limit(struct system *g, uint64_t warp_instructions);

/* Divides the machine among `apps` applications (parameters apps.*). Call it before the first kernel.
 * Raises a user error if the parameters do not fit the machine. */
void system_split(struct system *g, uint32_t apps);
/* Resources and statistics of an application up to now. */
struct system_app {
    uint32_t sms, channels;
    struct stats stats; /* only the group `app` is set */
};
struct system_app system_app(struct system *g, uint32_t app);

/* Decisions and changes of the partition so far (repartition.h). NULL: the partition does not change. */
const struct repartition *system_repartition(const struct system *g);

/* True if one more kernel may start beside the running kernels. */
bool system_can_start(const struct system *g);
/* Starts a launch on the SMs. The caller owns the launch and must keep it until the kernel has ended. The
 * blocks use the resources that running kernels of the same or a higher priority leave. Raises a user
 * error if the launch is invalid. */
void system_start_kernel(struct system *g, uint32_t app, struct exec_launch *launch, int priority);
enum system_end { SYSTEM_KERNEL_ENDED, SYSTEM_TIME_OVER, SYSTEM_STOPPED };
/* Runs until a kernel has ended (*ended), up to limit_cyc, or until the listener or the instruction limit
 * stops the run. After SYSTEM_STOPPED the statistics are those of the last cycle. Raises the errors of a
 * kernel. */
enum system_end system_advance(struct system *g, uint64_t limit_cyc, struct exec_launch **ended);
/* Aborts the running kernels, as after a fault. */
void system_abandon(struct system *g);
/* Runs one launch from start to end. False: the run was stopped. */
bool system_run_kernel(struct system *g, uint32_t app, struct exec_launch *launch);
/* Call it after the last kernel. Drains all requests in flight and checks laws and bounds. After a stopped
 * run, no request moves and no law is checked. */
void system_finish(struct system *g);
bool system_was_stopped(const struct system *g);
/* The reason why lookahead windows (windows.h) are off; NULL: they are on. Results do not depend on it. */
const char *system_windows_off(const struct system *g);

struct exec_kernel;
/* Occupancy queries: registers per thread, and resident blocks per SM. Neither needs a machine. `*why`:
 * the limiting resource. */
uint32_t system_registers_per_thread(const struct config *c, const struct exec_kernel *kernel);
uint32_t system_fitting_blocks(const struct config *c, const struct exec_kernel *kernel, uint32_t threads,
                               uint64_t shared_bytes, const char **why);

uint64_t system_now(const struct system *g); /* SM cycles */
/* Last cycle of the run. After system_finish(): the cycle of the last kernel's end; the drain does not
 * count. */
uint64_t system_end_cyc(const struct system *g);
double system_seconds(const struct system *g);
uint64_t system_warp_instructions(const struct system *g);
uint32_t system_kernel_count(const struct system *g);
const struct system_kernel_record *system_kernel_record(const struct system *g, uint32_t i);
struct engine *system_engine(struct system *g);
/* Share of the oldest running kernel's blocks that have ended, 0 to 1. */
double system_kernel_progress(const struct system *g);
/* Figures since the start of the run. */
struct system_use system_total_use(const struct system *g);
enum { SYSTEM_LINK_STAGES = 2 * 3 * NET_LEVELS }; /* directions x max stages of a network x levels */
/* Fills in the stages of all networks of the machine. Returns their number. */
uint32_t system_link_stages(const struct system *g, struct system_link_stage stages[SYSTEM_LINK_STAGES]);
/* How the measured part uses the pages (pages/profile.h); the caller keeps it until system_free(). Call it before the
 * first kernel. */
void system_set_profile(struct system *g, const struct page_profile *profile);
/* Adds an access of an SM to a profile. */
void system_profile_access(const struct system *g, struct page_profile *profile, uint32_t sm, uint32_t app,
                           uint64_t line, bool writes);
/* Describes physical link number idx between nodes. False: idx is past the last link. */
bool system_node_link(const struct system *g, uint32_t idx, struct system_node_link *link);
/* Lower bounds of a run's time: the work of a resource over its capacity. */
enum system_floor {
    SYSTEM_FLOOR_LINK,      /* bytes of a physical link and direction between chiplets or GPUs */
    SYSTEM_FLOOR_BUS,       /* columns on the data bus of a channel */
    SYSTEM_FLOOR_ACTIVATES, /* activates of a channel, four per tFAW */
    SYSTEM_FLOOR_CPU_LINK,  /* bytes of a direction of the link between a GPU and the CPU */
    SYSTEM_FLOORS
};
struct system_time_bound {
    double seconds; /* the largest over all links or channels */
    uint32_t idx;   /* of that link (system_node_link()) or channel */
};
/* False: the machine has no such resource. */
bool system_time_bound(const struct system *g, enum system_floor floor, struct system_time_bound *b);
/* Pages whose frames lie in a GPU. */
uint64_t system_pages_of_gpu(const struct system *g, uint32_t gpu);
struct system_depth system_depth(const struct system *g, enum system_queue queue);
/* Bytes between partitions, [partition of the SM][partition of the slice]. *partitions == 0: the machine
 * has too many partitions for a matrix. */
const uint64_t *system_traffic(const struct system *g, uint32_t *partitions);
/* Pages whose frames lie in a chiplet; chiplets are numbered over the machine. */
uint64_t system_chiplet_pages(const struct system *g, uint32_t chiplet);
/* NULL: the machine has no replication policy. */
const struct replication *system_replication(const struct system *g);
/* Pages whose frames lie in a partition. 0 if the address map spreads a page over several partitions. */
uint64_t system_pages_of(const struct system *g, uint32_t partition);
/* NULL: the machine was built without --check. */
const struct check *system_check(const struct system *g);

#endif
