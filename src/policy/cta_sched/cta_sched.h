/* cta_sched: the block scheduler, which binds the blocks of a grid to SMs.
 *
 *   launch ──cta_sched_begin()──► policy: begin(facts, nodes)     the grid is cut
 *   SM with a free slot ──cta_sched_next()──► policy: next(sm)    one block, or none for this SM now
 *
 * SMs call in the order of their numbers, at most once per SM and cycle. SM numbers here count the SMs of the
 * application, from 0 on. A policy is one file with a table cta_NAME and one row of cta_sched.def. The policy
 * owns its state; no other file reads it. */
#ifndef ATOLL_POLICY_CTA_SCHED_H
#define ATOLL_POLICY_CTA_SCHED_H

#include <stdbool.h>

#include "base/arena.h"
#include "config/config.h"
#include "config/nodes.h"
#include "exec/launch_facts.h"

#define CTA_NONE UINT64_MAX

struct cta_ops {
    /* State for one running grid, for up to `sms` SMs; the memory is the arena's. */
    void *(*create)(struct arena *a, const struct config *c, uint32_t sms);
    /* The level of the nodes that begin() gets. NULL: partitions. */
    enum node_level (*level)(const struct config *c);
    /* A grid begins on `sms` SMs of the application. The state may be that of an earlier grid. */
    void (*begin)(void *state, const struct launch_facts *l, const struct nodes *n, uint32_t sms);
    /* A block that no call has returned before. CTA_NONE: none for this SM at present. Not called after the
     * last block. */
    uint64_t (*next)(void *state, uint32_t sm);
};

/* The scheduler of one running grid. */
struct cta_sched {
    const struct cta_ops *ops;
    void *state;
    struct nodes nodes;
    uint64_t blocks, given; /* of the grid; of these, returned by the policy */
    uint32_t sms;
    /* Blocks that are reserved for an SM: up to block_slots of each. */
    uint64_t *dealt;
    uint32_t *dealt_from, *dealt_to, block_slots;
};

/* The memory is the arena's; the scheduler serves one grid after another. */
void cta_sched_init(struct cta_sched *s, struct arena *a, const struct config *c, uint32_t sms);
/* sms: at most as many as at init. cta_sched_next() takes numbers below it. */
void cta_sched_begin(struct cta_sched *s, const struct launch_facts *l, uint32_t sms);
/* Reserves a block for an SM that calls later, so that SMs that start at different times get the blocks that
 * they would get by starting together. */
void cta_sched_deal(struct cta_sched *s, uint32_t sm);
uint64_t cta_sched_next(struct cta_sched *s, uint32_t sm);

#define ITEM(list, item, help) extern const struct cta_ops cta_##item;
#include "policy/cta_sched/cta_sched.def"
#undef ITEM

#endif
