/* system_private: state shared by the files of system/. No other room includes it; tests do.
 *
 *   system.c           builds the machine            kernel.c      runs kernels
 *   residency.c        blocks per SM                 apps.c        SMs and channels of applications
 *   block_migration.c  blocks between SMs            windows.c     lookahead windows of the memory side
 *   use.c, depths.c    traffic and queue depths      bounds.c      work <= capacity at the end of a run */
#ifndef ATOLL_SYSTEM_PRIVATE_H
#define ATOLL_SYSTEM_PRIVATE_H

#include "check/check.h"
#include "check/fault.h"
#include "control/control.h"
#include "exec/exec.h"
#include "exec/launch_facts.h"
#include "llc/organisation.h"
#include "llc/store_order.h"
#include "mmu/mmu.h"
#include "net/fabric.h"
#include "net/gates.h"
#include "pages/classes.h"
#include "pages/pages.h"
#include "policy/cta_sched/cta_sched.h"
#include "policy/replication/mdr.h"
#include "policy/replication/replication.h"
#include "sm/sm.h"
#include "system/apps.h"
#include "system/repartition.h"
#include "system/system.h"
#include "system/windows.h"

struct use_marks; /* use.c */

/* A block that has run without time, and the SM number of the application that the block scheduler gave it to. */
struct warm_block {
    uint64_t block;
    uint32_t sm;
};

/* A running kernel. */
struct running {
    struct sm_kernel sm; /* description of the kernel for the SMs */
    struct system *system;
    struct exec_launch *launch;
    struct launch_facts facts;
    struct boundary boundary;     /* state of the kernel's end */
    struct cta_sched blocks;      /* blocks that have not started */
    uint32_t record;              /* index in system.records */
    bool alone;                   /* no other kernel ran at the same time so far */
    struct stats before;          /* statistics of the machine at the kernel's start */
    struct use_marks *marks;      /* counters of use.c at the kernel's start */
    struct exec_block **resident; /* resident blocks; the cleanup of an aborted run destroys them */
    uint32_t resident_count, resident_capacity;
    uint64_t blocks_ended;
    uint64_t block_cyc; /* of the blocks that have ended, from start to end, summed */
    double nanoseconds_per_cycle;
};

/* walk.c: takes the blocks that have run without time from the scheduler of their grid. Returns their number. */
uint64_t walk_skip_blocks(struct system *g, struct cta_sched *s);

/* structures.c: the table of the launch's data structures. NULL: the machine has one memory node. */
struct structures *structures_begin(struct arena *arena, const struct config *c,
                                    const struct launch_facts *facts);

struct block_migration; /* block_migration.c */

/* The machine: all GPUs. */
struct system {
    struct arena arena;
    const struct config *config;
    struct stats_registry *stats;
    struct engine *engine;
    uint32_t sm_domain, llc_domain, dram_domain;
    uint32_t net_domains[NET_LEVELS];
    struct pool requests;
    uint32_t chiplet_count;
    struct fabric *fabrics;             /* [chiplet] */
    struct traffic traffic;             /* bytes between partitions */
    struct gates *gates;                /* gateways between chiplets; NULL: the machine has one chiplet */
    struct windows *windows;            /* simulates the memory side; NULL: the engine wakes its components */
    const char *windows_off;            /* unmet condition of ahead.def; NULL: windows are on */
    struct organisation *organisations; /* [chiplet] */
    struct llc_monitor monitor;      /* callback of every slice, for the replication policy or page_classes */
    struct replication *replication; /* replication policy of a stack; NULL: none */
    struct mdr *mdr;                 /* replication policy between partitions; NULL: none */
    struct mmu **mmus;               /* [application * GPUs + GPU]; shared MMUs: [GPU] */
    uint32_t mmu_count;
    struct pages *pages;
    struct page_classes *page_classes; /* pages.count_classes; NULL: off */
    struct dram_spec dram_spec;
    struct dram_map *map; /* address map of a chiplet's memory */
    struct slice_spec slice_spec;
    struct sm_spec *sm_spec;
    struct conflict_cache *conflicts;
    struct sm **sms;
    struct slice **slices;
    struct warm_block *warm_blocks; /* of the launch that starts next, see walk.h */
    uint64_t warm_block_count;
    struct spill **cpu_links; /* [GPU]; NULL: no page lies in system memory */
    struct channel **channels;
    uint32_t *sm_components, *slice_components;
    uint64_t *pending;      /* [channel] bit per slice with operations for the channel */
    uint64_t *exact_accept; /* [channel] bit per slice that needs exact accept times */
    uint32_t sm_count, slice_count, channel_count;
    struct running **running; /* [running_made]; the first running_count run, in the order of their start */
    uint32_t running_count, running_made;
    struct apps apps;
    struct control control;                  /* epochs, kernel boundaries, passes over the LLC */
    struct repartition *repartition;         /* NULL: the partition does not change */
    struct block_migration *block_migration; /* NULL: blocks do not migrate */
    struct system_listener listener;
    struct system_kernel_record *records;
    uint32_t record_count, record_capacity;
    struct rng skew;
    uint64_t limit_instructions;    /* warp instructions; 0: no limit */
    uint64_t end_cyc;               /* SM cycle of the last kernel's end; 0: system_finish() was not called */
    uint64_t watchdog_instructions; /* warp instructions at the last kernel_on_no_progress() */
    bool stopped;                   /* the run stopped inside a kernel */
    struct store_order *store_order; /* NULL: fences are not cumulative */
    struct check *check;             /* --check; NULL: off */
};

/* kernel.c: list of resident blocks of a kernel. */
void kernel_add_resident(struct running *r, struct exec_block *b);
void kernel_remove_resident(struct running *r, struct exec_block *b);
/* True if the boundary of at least one running kernel is not over. */
bool kernel_any_runs(const struct system *g);
/* No-progress hook of the engine (engine_set_stuck()). Raises a user error if the simulated program
 * deadlocked. False: the machine still works. `due`: events are pending. */
bool kernel_on_no_progress(void *gpu, bool due);

/* residency.c: fills in the resources of a kernel per block and the blocks per SM. Raises a user error if
 * not one block fits, or if a cooperative launch does not fit the machine. */
void residency_describe(struct running *r, struct system_kernel_record *record);

/* block_migration.c: no effect unless config_blocks_move(). `m` may be NULL. */
void block_migration_new(struct system *g, const struct config *c);
void block_migration_on_start(struct running *r, uint64_t start_cyc);
void block_migration_free(struct block_migration *m);
/* All blocks of the SM leave it, with their contexts, until its new owner has it. Between two runs of the engine. */
void block_migration_clear_sm(struct block_migration *m, uint32_t sm);
/* True if contexts of the application wait for a slot: they precede blocks that have not begun. The SM tries
 * again when none waits. */
bool block_migration_waits(struct block_migration *m, uint32_t sm, uint32_t app);
/* A block has ended, or an SM has changed hands: a context may find room. */
void block_migration_on_room(struct block_migration *m);

/* system.c: an MMU for the SMs of a GPU. `number`: its index in system.mmus. */
struct mmu *system_new_mmu(struct system *g, const struct config *c, uint32_t gpu, uint32_t number);
/* system.c: network number idx of a level and direction. NULL: idx is past the last network. */
struct fabric_side *system_net_at(const struct system *g, enum net_level level, enum net_direction direction,
                                  uint32_t idx);

/* ---- use.c ---- */

struct use_marks *system_use_marks_new(struct system *g);
/* Copies the counters: the start of an interval. */
void system_use_marks_set(const struct system *g, struct use_marks *marks);
/* Figures of the interval from the marks to now. NULL: since the start of the run. */
struct system_use system_use_since(const struct system *g, const struct use_marks *marks);

/* bounds.c: raises an internal error if a component did more work than its cycles allow. */
void system_check_bounds(const struct system *g);

#endif
