/* migration: which node (config/nodes.h) a page moves to while a kernel runs.
 *
 * src/pages counts the requests to every page by node. At the end of every interval
 * (runtime.move_interval_cyc) that room calls the policy once per page that had requests, in the order of page
 * keys, and carries the moves out. A policy is one file with a table `migration_x` and one row `x` in
 * migration.def. */
#ifndef ATOLL_POLICY_MIGRATION_H
#define ATOLL_POLICY_MIGRATION_H

#include "base/arena.h"
#include "config/config.h"

struct migration_question {
    uint64_t key;             /* application and page */
    uint32_t home;            /* node of the page's frame */
    const uint32_t *accesses; /* [node] requests in the interval */
    uint32_t nodes;
};

struct migration_ops {
    size_t state_bytes; /* zeroed, one per machine; owned by the policy */
    void (*begin)(void *state, const struct config *c);
    /* The node that should hold the page; `home`: the page stays. NULL: no page ever moves. */
    uint32_t (*target)(void *state, const struct migration_question *q);
};

struct migration {
    const struct migration_ops *ops;
    void *state; /* of the arena */
};

struct migration migration_new(struct arena *a, const struct config *c);

#endif
