/* Shared by the files of system/ only. */
#ifndef ATOLL_SYSTEM_PRIVATE_H
#define ATOLL_SYSTEM_PRIVATE_H

#include "check/check.h"
#include "check/fault.h"
#include "control/control.h"
#include "exec/exec.h"
#include "exec/launch_facts.h"
#include "llc/organisation.h"
#include "mmu/mmu.h"
#include "net/fabric.h"
#include "net/gates.h"
#include "pages/pages.h"
#include "policy/cta_sched/cta_sched.h"
#include "policy/replication/mdr.h"
#include "policy/replication/replication.h"
#include "sm/sm.h"
#include "system/apps.h"
#include "system/system.h"
#include "system/windows.h"

struct use_marks; /* use.c */

/* A kernel that runs. */
struct running {
    struct sm_kernel sm; /* first: the SMs know the kernel by it */
    struct system *system;
    struct exec_launch *launch;
    struct launch_facts facts;
    struct boundary boundary; /* its end */
    struct cta_sched blocks;
    uint32_t record;     /* its place among the records */
    bool alone;          /* no other kernel ran at any time of it */
    struct stats before; /* when it began */
    struct use_marks *marks;
    struct exec_block **resident; /* to destroy when the run is broken off; see kernel.c */
    uint32_t resident_count, resident_capacity;
    uint64_t blocks_ended;
    double nanoseconds_per_cycle;
};

struct mover; /* mover.c: blocks that change their SM */

/* The machine: all GPUs. SMs, slices and channels are numbered over it, those of a partition, chiplet or GPU
 * one after the other. */
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
    struct traffic traffic;             /* between partitions */
    struct gates *gates;                /* between them; NULL: there is one */
    struct windows *windows;            /* run the memory side; NULL: the engine activates its parts */
    const char *windows_off;            /* unmet condition of ahead.def; NULL: windows are on */
    struct organisation *organisations; /* [chiplet] */
    struct llc_monitor monitor;         /* of every slice */
    struct replication *replication;    /* who decides on copies in a stack; NULL: nobody */
    struct mdr *mdr;                    /* decides on copies between partitions; NULL: nobody */
    struct mmu **mmus;                  /* [application * GPUs + GPU]; one application: [GPU] */
    uint32_t mmu_count;
    struct pages *pages;
    struct dram_spec dram_spec;
    struct dram_map *map; /* of a chiplet's memory */
    struct slice_spec slice_spec;
    struct sm_spec *sm_spec;
    struct conflict_cache *conflicts;
    struct sm **sms;
    struct slice **slices;
    struct channel **channels;
    uint32_t *sm_components, *slice_components;
    uint64_t *pending;      /* [channel]: bit per slice that has operations for it */
    uint64_t *exact_accept; /* [channel]: bit per slice that needs exact accept times */
    uint32_t sm_count, slice_count, channel_count; /* of the machine */
    struct running **running; /* kernels on the SMs, in the order of their start; behind them: free ones */
    uint32_t running_count, running_made;
    struct apps apps;
    struct control control; /* epochs, kernel boundaries, passes over the LLC */
    struct mover *mover;    /* NULL: blocks stay where they are */
    struct system_listener listener;
    struct system_kernel_record *records;
    uint32_t record_count, record_capacity;
    struct rng skew;
    uint64_t limit_instructions; /* 0 = none */
    uint64_t end_cyc;            /* the run has ended: when; 0: not */
    uint64_t issued_when_asked;  /* whether the machine is stuck */
    bool stopped;                /* in the middle of a kernel */
    struct check *check;         /* --check; NULL: none */
};

/* kernel.c: the blocks that exist, to destroy when the run is broken off. */
void kernel_remember(struct running *r, struct exec_block *b);
void kernel_forget(struct running *r, struct exec_block *b);
bool kernel_any_runs(const struct system *g);
bool kernel_is_stuck(void *gpu, bool due);

/* residency.c: what a kernel takes of an SM; a mistake when that is more than there is. */
void residency_describe(struct running *r, struct system_kernel_record *record);

void mover_new(struct system *g, const struct config *c);
void mover_begin(struct running *r, uint64_t start_cyc);
void mover_free(struct mover *m);

/* gpu.c: an MMU for the SMs of a GPU. */
struct mmu *system_new_mmu(struct system *g, const struct config *c, uint32_t gpu, uint32_t number);
/* gpu.c: every network of a level and direction, NULL after the last. */
struct fabric_side *system_net_at(const struct system *g, enum net_level level, enum net_direction direction,
                                  uint32_t idx);

/* ---- use.c ---- */

struct use_marks *system_use_marks(struct system *g);
/* Counts from here on. */
void system_use_mark(const struct system *g, struct use_marks *marks);
/* Since the mark. */
struct system_use system_use_since(const struct system *g, const struct use_marks *marks);

/* bounds.c: nobody has done more than its cycles allow; raises a bug. */
void system_check_bounds(const struct system *g);

#endif
