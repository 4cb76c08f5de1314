/* repartition: carries the decisions of a partition policy (policy/partition/) out, as an epoch client.
 *
 *   epoch ends ──► profiles ──► decide() ──► same partition: nothing is touched
 *                                   │ latency of the decision
 *                                   ▼
 *   channels change:  HOLD accesses of these applications ──► their requests and translations end ──► pass over the
 *                     slices of their old channels ──► L1 caches and L1 TLBs invalidated, masks written ──► resume
 *   SMs change:       drain, or switch with contexts (block_migration.c) ──► handed over (apps.c)
 *                                   │
 *                                   ▼
 *   over: all SMs have changed hands, no page is locked (pages_change_over())
 *
 * Pages change their frame later, when they are touched (pages_change_owned()).
 *
 * ASSUMPTIONs: SMs change hands after the masks are written, so that contexts lie in channels that their application
 * keeps. The giver's highest-numbered SMs go. The giver gives the indices with the fewest of its pages, among equals the
 * highest. Takers are served in the order of their numbers. An SM drains if the mean block of its application has ended
 * within an epoch so far; if no block has ended, it drains for one epoch and switches then. A decision is dropped
 * (and counted) if a change is not over, or if an application with a cooperative kernel would give SMs. */
#ifndef ATOLL_SYSTEM_REPARTITION_H
#define ATOLL_SYSTEM_REPARTITION_H

#include "policy/partition/partition.h"
#include "stats/stats.h"

struct repartition;
struct system;

enum { REPARTITION_INDICES = 64 };

/* One application in one epoch. */
struct repartition_app {
    struct partition_share share;
    struct partition_class class;
    struct partition_profile profile;
    uint64_t warp_instructions, memory_bytes;
    uint64_t outside;       /* accesses to channels that the application does not own */
    uint64_t foreign_pages; /* pages in channels that the application does not own, at the end */
    uint64_t owned;         /* bit per channel index that it owns, at the end */
    uint32_t pages_in[REPARTITION_INDICES]; /* by channel index, at the end */
    /* pages that follow the channels; 0 without pages.copier */
    uint64_t faults_lost, faults_gained, pages_moved, set_wait_cyc, held_cyc;
    uint64_t sms_drained, sms_switched;
};

struct repartition_epoch {
    uint64_t begin_cyc, end_cyc;
    uint32_t iterations;
    bool decided, dropped, changed;
    uint64_t change_cyc;                    /* cycles of the epoch in which a change was not over */
    uint64_t pages_cyc;                     /* of these: SMs had changed hands, only pages were locked */
    uint64_t bytes_in[REPARTITION_INDICES]; /* DRAM bytes by channel index */
    struct repartition_app of[PARTITION_APPS];
};

/* One change of the partition. */
struct repartition_change {
    uint64_t begin_cyc; /* the decision takes effect */
    uint64_t masks_cyc; /* masks are written; 0: no channel changed */
    uint64_t over_cyc;  /* 0: not over */
    uint32_t sms, indices;
};

/* After apps_init(). NULL: the partition is fixed, or offline. */
struct repartition *repartition_new(struct system *g, const struct config *c);
/* Adapts the shares of apps.sms and apps.channels to the policy; false: they stay. */
bool repartition_first(struct system *g, uint32_t apps, struct partition *p);
/* The applications are known; the first epoch begins. */
void repartition_begin(struct repartition *r);
void repartition_free(struct repartition *r);

/* Rows so far. NULL pointer to r: none. The rows are valid until the next run of the engine. */
const struct repartition_epoch *repartition_epochs(const struct repartition *r, uint32_t *count);
const struct repartition_change *repartition_changes(const struct repartition *r, uint32_t *count);
uint64_t repartition_dropped(const struct repartition *r);
uint32_t repartition_channels_per_index(const struct repartition *r);

#endif
