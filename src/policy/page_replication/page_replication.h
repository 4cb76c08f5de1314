/* page_replication: which pages get a replica in a node (config/nodes.h) that reads them.
 *
 * src/pages calls the policy when an SM reads a page that has neither its home nor a replica in the node, and once
 * more before the driver begins, because stores of the same cycle come first. That room makes the replica and drops all
 * replicas of a page at a store and at the end of the last kernel. A policy is one file with a table
 * `page_replication_x` and one row `x` in page_replication.def. */
#ifndef ATOLL_POLICY_PAGE_REPLICATION_H
#define ATOLL_POLICY_PAGE_REPLICATION_H

#include <stdbool.h>

#include "config/config.h"

struct page_replication_question {
    uint64_t key;   /* application and page */
    uint32_t node;  /* of the reader */
    bool read_only; /* the analysis proved that the kernel does not write the line */
    bool written;   /* an SM has written the page since the last kernels ended */
};

/* A node without a frame of the page accesses it. Facts of the measured part, from a first pass without time. */
struct page_touch {
    bool known;  /* false: the first pass did not meet the page, or there was none; the rest is not set */
    bool shared; /* several nodes access the page */
    bool written;
};

struct page_replication_ops {
    /* True: the node gets a replica. NULL: no read requests a replica. Pure: the answer depends on q only. */
    bool (*replicates)(const struct page_replication_question *q);
    /* True: the node gets a replica at once, without traffic and time. NULL: no replica appears at a touch. Pure. */
    bool (*at_touch)(const struct page_touch *t);
};

const struct page_replication_ops *page_replication_of(const struct config *c);

#endif
