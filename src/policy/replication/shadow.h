/* shadow: the tags of a whole stack at every degree of replication at once, fed with the read-only requests
 * of a run (selrep.shadow): what the Replication Degree Directory estimates from two sets, without sampling.
 * It counts by the directory's rule for cold sets (rdd_spec.skip_cold). For study and proof: no machine has
 * it. Memory is the arena's. */
#ifndef ATOLL_POLICY_SHADOW_H
#define ATOLL_POLICY_SHADOW_H

#include <stdbool.h>

#include "base/arena.h"
#include "policy/replication/rdd.h"

struct shadow_way {
    uint64_t line; /* + 1; 0: empty */
    uint64_t used; /* order of last use */
    bool copy;     /* the line's home is another slice */
};

struct shadow {
    struct rdd_spec spec;    /* of the directory that it is compared with */
    struct shadow_way *ways; /* [degree][slice of the stack][set][way] */
    uint64_t clock;
    uint64_t acc[RDD_DEGREES_MAX], hit[RDD_DEGREES_MAX];                 /* all sets, as counted */
    uint64_t sampled_acc[RDD_DEGREES_MAX], sampled_hit[RDD_DEGREES_MAX]; /* slice 0, sampled sets */
};

struct shadow *shadow_new(struct arena *a, const struct rdd_spec *spec);
/* As rdd_see(); cluster: of the SM. */
void shadow_see(struct shadow *s, uint64_t line, uint32_t set, uint32_t home, uint32_t cluster);
/* As rdd_boundary(). */
void shadow_boundary(struct shadow *s, bool copies_only);

#endif
