/* rdd: the Replication Degree Directory: a few sampled sets that tell how often read-only requests would hit
 * at every degree of replication, whatever the present one is.
 *
 *   request (line, home slice, cluster) ─► sampled? ─► acc[r]++, hit[r]++
 *
 * Three forms (rdd_form): the paper's text keeps one tag per line and the clusters that used it (literal),
 * which sees the loss of sharing but not that a set at degree r holds lines of r homes; stack_distance adds
 * that a hit at degree r must be among the last ways / r lines used; exact keeps for each degree the sampled
 * sets of slice 0 of the stack as they would be. Counters have 16 bits: when one is full all are halved.
 * Memory is the arena's. */
#ifndef ATOLL_POLICY_RDD_H
#define ATOLL_POLICY_RDD_H

#include <stdbool.h>

#include "base/arena.h"
#include "config/choices.h"
#include "llc/clusters.h"

enum { RDD_DEGREES_MAX = 7 }; /* 1, 2, 4, ... 64 */

struct rdd_spec {
    enum rdd_form form;
    uint32_t sets;    /* of a slice */
    uint32_t sampled; /* sets in the directory */
    uint32_t ways;
    uint32_t degrees; /* number of them: degree k is 1 << k */
    struct clusters clusters;
    bool skip_cold; /* exact: misses of a set that has ways never used count for nothing */
};

struct rdd_entry {
    uint64_t line;     /* + 1; 0: empty */
    uint64_t used;     /* order of last use */
    uint64_t clusters; /* literal forms: that used the line, by slot */
    bool copy;         /* exact: the line's home is another slice */
};

struct rdd {
    struct rdd_spec spec;
    struct rdd_entry *entries; /* [directory][sampled set][way]; one directory per degree when exact */
    uint64_t clock;
    uint32_t acc[RDD_DEGREES_MAX], hit[RDD_DEGREES_MAX]; /* since the last reset */
    uint32_t cold[RDD_DEGREES_MAX];                      /* skip_cold: further misses, in ways never used */
};

void rdd_init(struct rdd *r, struct arena *a, const struct rdd_spec *spec);
/* A read-only request: set of its line in a slice; home: its slice in the stack; slot: of its cluster
 * (clusters_slot). */
void rdd_see(struct rdd *r, uint64_t line, uint32_t set, uint32_t home, uint32_t slot);
/* A kernel has ended: at every degree above 1 slices would lose their lines now, or only the copies among
 * them; at degree 1 there are no copies and nothing is dropped (organisation_boundary()). */
void rdd_boundary(struct rdd *r, bool copies_only);
/* Forgets counts, not lines. */
void rdd_reset(struct rdd *r);

/* Is the set sampled, and as which? UINT32_MAX: no. */
uint32_t rdd_sample(const struct rdd_spec *s, uint32_t set);

/* Bytes of hardware: 22-bit tags and LRU of log2(ways) bits; counters of 16 bits for hits, accesses and
 * requests of each degree and slice. */
uint32_t rdd_directory_bytes(const struct rdd_spec *s);
uint32_t rdd_counter_bytes(const struct rdd_spec *s);

#endif
