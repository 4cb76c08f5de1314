/* placement: which colour of frames (config/nodes.h) a page gets.
 *
 * src/pages calls the policy at the first touch of a page, once per page. At a launch the policy may assign
 * rules to ranges of pages (at_launch); the pages of such a range follow the rule instead. Host writes and
 * copies place no page. A policy is one file with a table `placement_x` and one row `x` in placement.def. */
#ifndef ATOLL_POLICY_PLACEMENT_H
#define ATOLL_POLICY_PLACEMENT_H

#include <stdbool.h>

#include "base/arena.h"
#include "config/nodes.h"
#include "exec/launch_facts.h"

struct placement_question {
    uint32_t app;
    uint64_t page;               /* virtual page number */
    uint32_t sm;                 /* that touches the page, numbered over the machine */
    const struct colours *owned; /* colours of the application; the answer is one of them */
    const uint64_t *pages; /* [colour] pages of the application; those that move count at their new place */
    const struct nodes *nodes; /* of the policy's level */
};

/* The frames of a range of pages. */
struct page_rule {
    /* Colour of page q->page; a pure function, called once per page. */
    uint32_t (*place)(const struct page_rule *r, const struct placement_question *q);
    const void *context;   /* of the policy; lives as long as its state */
    uint64_t first, count; /* pages that the rule was assigned to; filled in by pages_assign_range() */
    /* Lines of the range lie in nodes in turn, granule_lines of them in each; 0: pages lie in one node, by
     * place(). origin_line: virtual line of the first granule. */
    uint64_t granule_lines, origin_line;
    uint32_t nodes;
    uint32_t interleaving; /* number of the interleaved range; filled in by pages_assign_range() */
    uint64_t allocated; /* serial number of the allocation (launch_array); 0: the rule outlives allocations */
};

/* A kernel is about to start. */
struct placement_launch {
    const struct launch_facts *facts; /* grid, block, allocations, arrays */
    uint32_t page_log2;
    /* Assigns a rule to a range of pages: pages_assign_range(). */
    void (*assign)(void *pages, uint32_t app, uint64_t first_page, uint64_t count,
                   const struct page_rule *rule);
    /* True if every page of the range has a rule already: pages_has_rules(). */
    bool (*is_assigned)(const void *pages, uint32_t app, uint64_t first_page, uint64_t count);
    void *pages;
};

struct placement_ops {
    enum node_level level; /* of placement_question.nodes */
    size_t state_bytes;    /* zeroed, one per application; owned by the policy */
    /* NULL: the state needs no more than zeroes. `colours`: of the machine. */
    void (*begin)(void *state, struct arena *a, const struct config *c, uint32_t colours);
    /* The colour of a page. */
    uint32_t (*place)(void *state, const struct placement_question *q);
    /* Before the first block of a kernel. NULL: pages are placed at their first touch only. */
    void (*at_launch)(void *state, const struct placement_launch *l);
    /* The run is over; may raise a user error. NULL: nothing. */
    void (*end)(void *state);
};

/* The policy of one application. */
struct placement {
    const struct placement_ops *ops;
    void *state; /* of the arena */
    struct nodes nodes;
};

struct placement placement_new(struct arena *a, const struct config *c, uint32_t colours_per_chiplet);

/* Index among the owned colours of the colour that is near the SM. */
static inline uint32_t placement_near(const struct placement_question *q)
{
    return nodes_colour(q->nodes, nodes_of_sm(q->nodes, q->sm), q->page) % q->owned->count;
}

/* A colour of the node (of the policy's level), page by page over the colours that the node has of those owned. */
static inline uint32_t placement_colour_of_node(const struct placement_question *q, uint32_t node)
{
    const uint32_t owned = q->owned->count, nodes = q->nodes->count;
    const uint32_t per_node = owned / nodes ? owned / nodes : 1;
    return q->owned->colour[(node * per_node + (uint32_t)(q->page % per_node)) % owned];
}

/* Normalised page balance of LAB: mean of pages over the maximum, over the owned colours; 1 without pages.
 * pages: [colour]. */
double placement_balance(const uint64_t *pages, const struct colours *owned);

#endif
