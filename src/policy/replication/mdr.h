/* mdr: model-driven replication (NUBA, section 5): should partitions keep copies of read-only lines of
 * others?
 *
 *   inputs of slices, their RMR queues ─tap─► sampled sets of one slice as they would be
 *        without copies and with all of them ─► end of an epoch: two bandwidths ─► organisation
 *
 * One slice is profiled, a few of its sets, by two small directories of tags (shadows): what it would hold
 * without copies, and with copies of every read-only line that its SMs read. The directory of the policy in
 * force stands for the counters at the real sets (it sees the same accesses); the other is the 384 B of the
 * paper. A decision is in force nuba.decision_cyc after the end of its epoch. Copies are made lazily, and
 * become unreachable when replication is off. */
#ifndef ATOLL_POLICY_MDR_H
#define ATOLL_POLICY_MDR_H

#include "base/arena.h"
#include "config/config.h"
#include "llc/llc.h"
#include "llc/organisation.h"
#include "policy/replication/accesses.h"
#include "stats/stats.h"

/* Bytes per second of a slice, or of all: only ratios matter. */
struct mdr_rates {
    double llc, net, memory;
};

/* The paper's equations: effective bandwidth from the hit rate and the share of L1 misses whose home is near.
 */
double mdr_without_copies(const struct mdr_rates *r, double hit_rate, double local);
double mdr_with_copies(const struct mdr_rates *r, double hit_rate, double local);
/* Ours: requests per second that the busiest of slices, network and memory allows, in bytes. */
double mdr_without_copies_bottleneck(const struct mdr_rates *r, double hit_rate, double local);
double mdr_with_copies_bottleneck(const struct mdr_rates *r, double hit_rate, double local);

/* Tags of the sampled sets, each in the order of last use. */
struct mdr_shadow {
    uint64_t *lines; /* [set][way], line + 1 */
    uint32_t seen, hits;
};

struct mdr {
    const struct config *config;
    const struct slice_spec *slices;
    struct organisation *organisations; /* [chiplet] */
    uint32_t chiplets;
    struct mdr_rates rates;
    uint32_t slice, sets, every; /* which slice, how many sets, every so many of them */
    bool everywhere;             /* nuba.profiler global: taps of all slices; else those of the slice alone */
    struct mdr_shadow without, with;
    uint32_t misses, near_misses; /* of the slice's SMs in the sampled sets */
    uint64_t epoch_end_cyc;       /* clock.llc */
    struct accesses accesses;
    struct nuba_stats stats;
};

/* NULL: replication is not decided at run time. */
struct mdr *mdr_new(struct arena *a, const struct config *c, const struct slice_spec *slices,
                    struct organisation *organisations);
/* Of slice inputs (L1 misses) and of requests of other slices. */
struct llc_monitor mdr_input_monitor(struct mdr *m);
struct llc_monitor mdr_remote_monitor(struct mdr *m);
/* The end of a kernel emptied the slices. */
void mdr_flush(struct mdr *m);

#endif
