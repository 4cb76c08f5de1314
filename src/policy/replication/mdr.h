/* mdr: model-driven replication (NUBA, section 5) decides whether slices replicate read-only remote lines.
 *
 *   input stages and RMR ports ──monitor──► sampled sets of one slice, in two shadow tag arrays:
 *   of slices                               without replicas, with all replicas
 *                                             │ end of an epoch: two predicted bandwidths
 *                                             ▼
 *                                           organisation_set()
 *
 * The profiler covers a few sets of one slice. Two shadow tag arrays hold the lines that these sets would
 * hold without replicas, and with replicas of every read-only line that the local SMs read. The array of the
 * mode in force represents counters at the real sets, which see the same accesses. The other array is the
 * 384 B of the paper. A decision comes into force nuba.decision_cyc after the end of its epoch. Misses create
 * replicas; when replication is switched off, requests no longer reach them. */
#ifndef ATOLL_POLICY_MDR_H
#define ATOLL_POLICY_MDR_H

#include "base/arena.h"
#include "config/config.h"
#include "llc/llc.h"
#include "llc/organisation.h"
#include "policy/replication/accesses.h"
#include "stats/stats.h"

/* Bytes per second, of one slice or of all slices; only ratios matter. */
struct mdr_rates {
    double llc, net, memory;
};

/* Equations of the paper: effective bandwidth. local: share of L1 misses whose home is in the own partition.
 */
double mdr_without_replicas(const struct mdr_rates *r, double hit_rate, double local);
double mdr_with_replicas(const struct mdr_rates *r, double hit_rate, double local);
/* Bottleneck model (not of the paper): bandwidth at which slices, network or memory saturates. */
double mdr_without_replicas_bottleneck(const struct mdr_rates *r, double hit_rate, double local);
double mdr_with_replicas_bottleneck(const struct mdr_rates *r, double hit_rate, double local);

/* Tags of the sampled sets; the ways of a set are in order of last use. */
struct mdr_shadow {
    uint64_t *lines; /* [set][way] line + 1; 0: empty */
    uint32_t accesses, hits;
};

struct mdr {
    const struct config *config;
    const struct slice_spec *slices;
    struct organisation *organisations; /* [chiplet] */
    uint32_t chiplets;
    struct mdr_rates rates;
    uint32_t slice, sets, set_stride; /* profiled slice, number of sampled sets, distance between them */
    bool is_global; /* nuba.profiler=global: monitors of all slices; false: of the profiled slice */
    struct mdr_shadow without, with;
    uint32_t misses, local_misses; /* L1 misses at the slice in the sampled sets; with local home */
    uint64_t epoch_end_cyc;        /* cycle of clock.llc */
    struct accesses accesses;
    struct nuba_stats stats;
};

/* NULL: replication is not decided at run time. */
struct mdr *mdr_new(struct arena *a, const struct config *c, const struct slice_spec *slices,
                    struct organisation *organisations);
/* Monitors of L1 misses at the input stages, and of requests of other slices. m may be NULL. */
struct llc_monitor mdr_input_monitor(struct mdr *m);
struct llc_monitor mdr_remote_monitor(struct mdr *m);
/* Invalidates the shadow tags. Call when a kernel boundary flushed the slices. m may be NULL. */
void mdr_flush(struct mdr *m);

#endif
