/* rdd: the Replication Degree Directory. A few sampled sets estimate the hit rate of read-only requests at
 * every degree of replication, independently of the degree in force.
 *
 *   request (line, home slice, cluster) ─► sampled? ─► acc[r]++, hit[r]++
 *
 *   form (rdd_form)   state and hit rule
 *   literal           text of the paper: one tag per line and a mask of the clusters that used the line. The
 *                     form models lost sharing. It ignores that a set at degree r holds lines of r homes.
 *   stack_distance    literal; a hit at degree r must also be among the last ways / r lines used
 *   exact             for each degree, the tags of the sampled sets of slice 0 of the stack
 *
 * Counters have 16 bits. When one is full, all are halved. The arena owns the memory. */
#ifndef ATOLL_POLICY_RDD_H
#define ATOLL_POLICY_RDD_H

#include <stdbool.h>

#include "base/arena.h"
#include "config/choices.h"
#include "llc/clusters.h"

enum { RDD_DEGREES_MAX = 7 }; /* 1, 2, 4, ... 64 */

struct rdd_spec {
    enum rdd_form form;
    uint32_t sets;    /* sets of a slice */
    uint32_t sampled; /* sets in the directory */
    uint32_t ways;
    uint32_t degrees; /* number of degrees: 1 << k, k from 0 on */
    struct clusters clusters;
    bool skip_cold; /* exact: misses that fill a way never used before (cold misses) are not counted */
};

struct rdd_entry {
    uint64_t line;     /* line + 1; 0: empty */
    uint64_t used;     /* rdd.clock at the last use */
    uint64_t clusters; /* literal forms: mask of the clusters that used the line, by slot */
    bool replica;      /* exact: the home of the line is another slice */
};

struct rdd {
    struct rdd_spec spec;
    struct rdd_entry *entries; /* [directory][sampled set][way]; exact: one directory per degree */
    uint64_t clock;
    uint32_t acc[RDD_DEGREES_MAX], hit[RDD_DEGREES_MAX]; /* accesses and hits since the last reset */
    uint32_t cold[RDD_DEGREES_MAX];                      /* skip_cold: cold misses, not in acc */
};

void rdd_init(struct rdd *r, struct arena *a, const struct rdd_spec *spec);
/* Observes a read-only request. set: set of the line; home: slice within the stack; slot: slot of the cluster
 * (clusters_slot()). */
void rdd_observe(struct rdd *r, uint64_t line, uint32_t set, uint32_t home, uint32_t slot);
/* Models a kernel boundary. At degrees above 1 it invalidates all lines, or the replicas only. At degree 1
 * there are no replicas and no pass (organisation_boundary()). */
void rdd_boundary(struct rdd *r, bool replicas_only);
/* Resets the counters; the tags stay. */
void rdd_reset(struct rdd *r);

/* Index of the set in the directory. UINT32_MAX: the set is not sampled. */
uint32_t rdd_sample(const struct rdd_spec *s, uint32_t set);

/* Hardware cost in bytes: tags of 22 bits, LRU of log2(ways) bits; counters of 16 bits for hits, accesses and
 * requests per degree and slice. */
uint32_t rdd_directory_bytes(const struct rdd_spec *s);
uint32_t rdd_counter_bytes(const struct rdd_spec *s);

#endif
