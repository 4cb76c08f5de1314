/* shadow: the tags of a whole stack at every degree of replication, driven by the read-only requests of a run
 * (selrep.shadow). The shadow gives the hit rates that the Replication Degree Directory estimates by
 * sampling. Cold misses follow the same rule (rdd_spec.skip_cold). The shadow is for studies and tests only;
 * hardware has none. The arena owns the memory. */
#ifndef ATOLL_POLICY_SHADOW_H
#define ATOLL_POLICY_SHADOW_H

#include <stdbool.h>

#include "base/arena.h"
#include "policy/replication/rdd.h"

struct shadow_way {
    uint64_t line; /* line + 1; 0: empty */
    uint64_t used; /* shadow.clock at the last use */
    bool replica;  /* the line's home is another slice */
};

struct shadow {
    struct rdd_spec spec;    /* spec of the directory for the comparison */
    struct shadow_way *ways; /* [degree][slice of the stack][set][way] */
    uint64_t clock;
    uint64_t acc[RDD_DEGREES_MAX], hit[RDD_DEGREES_MAX];                 /* accesses and hits of all sets */
    uint64_t sampled_acc[RDD_DEGREES_MAX], sampled_hit[RDD_DEGREES_MAX]; /* slice 0, sampled sets */
};

struct shadow *shadow_new(struct arena *a, const struct rdd_spec *spec);
/* Observes a read-only request, as rdd_observe(). cluster: cluster of the SM. */
void shadow_observe(struct shadow *s, uint64_t line, uint32_t set, uint32_t home, uint32_t cluster);
/* Models a kernel boundary, as rdd_boundary(). */
void shadow_boundary(struct shadow *s, bool replicas_only);

#endif
