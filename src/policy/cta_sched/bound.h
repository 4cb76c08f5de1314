/* bound: hands out blocks whose node is fixed by a binding (policy/binding). A node never takes a block of another
 * node. The SMs of a node take its blocks in grid order. */
#ifndef ATOLL_POLICY_CTA_SCHED_BOUND_H
#define ATOLL_POLICY_CTA_SCHED_BOUND_H

#include "policy/binding/binding.h"
#include "policy/cta_sched/cta_sched.h"

struct bound {
    struct config config;
    struct binding binding;
    uint64_t *cursor; /* [node] first block that may not have been handed out */
    uint32_t sms_per_node;
};

/* cta_ops.create and cta_ops.level; `struct bound` is the state. */
void *bound_create(struct arena *a, const struct config *c, uint32_t sms);
enum node_level bound_level(const struct config *c);
/* The nodes that the SMs of the application lie in. */
struct nodes bound_nodes(const struct nodes *n, uint32_t sms);
void bound_begin(struct bound *b, const struct nodes *n, const struct binding *binding);
/* cta_ops.next */
uint64_t bound_next(void *state, uint32_t sm);

#endif
