/* predict: where LASP puts a structure and which share of its lines blocks touch from other nodes, before caches, for
 * atoll analyze. The same functions place pages at run time. */
#ifndef ATOLL_POLICY_BINDING_PREDICT_H
#define ATOLL_POLICY_BINDING_PREDICT_H

#include "policy/binding/data_cut.h"

struct prediction {
    enum cut_method method;
    const uint64_t *pages;         /* [nodes] */
    uint64_t all_pages, max_pages; /* max: of a node */
    bool known; /* the index says which blocks touch which lines; else the shares are not valid */
    double off_chiplet, off_gpu; /* shares of the pairs of line and node that touches it */
};

/* The memory is the arena's. */
struct prediction predict_array(struct arena *a, const struct config *c, const struct launch_facts *l,
                                const struct nodes *n, const struct lasp_plan *plan, uint32_t array);

#endif
