/* placement: which colour of frames (config/nodes.h) a page gets.
 *
 * Asked at launch (place_at_launch: sees the kernel, its arguments and the locality rows) and at the first
 * touch of a page by an SM that is not placed then; host writes and copies never place a page. A policy is
 * one function in a file of its own and one row in placement_choices.def. */
#ifndef ATOLL_POLICY_PLACEMENT_H
#define ATOLL_POLICY_PLACEMENT_H

#include <stdbool.h>

#include "config/nodes.h"

struct placement_question {
    uint32_t app;
    uint64_t page; /* virtual page number */
    uint32_t sm;   /* counted over the machine */
};

struct analysis_launch;
struct exec_launch;

/* The frames of a range of pages. */
struct placement;
struct page_rule {
    /* Colour, as an index among those of the application, of page n of the range's `count` pages. */
    uint32_t (*place)(const struct placement *p, const struct placement_question *q, uint64_t n,
                      uint64_t count);
};

/* A kernel is about to start. */
struct placement_launch {
    uint32_t app;
    const struct exec_launch *launch; /* kernel, grid, block, arguments */
    struct analysis_launch
        *analysis; /* analysis_locality() gives the locality rows; NULL: not a PTX kernel */
    uint32_t page_log2;
    /* Assigns a rule to a range of pages: pages_assign_range(). */
    void (*assign)(void *pages, uint32_t app, uint64_t first_page, uint64_t count,
                   const struct page_rule *rule);
    void *pages;
};

/* One per application. */
struct placement {
    uint32_t (*place)(struct placement *p, const struct placement_question *q);
    /* Before the first block of a kernel; NULL: pages are placed at their first touch only. */
    void (*place_at_launch)(struct placement *p, const struct placement_launch *l);
    uint32_t colours;   /* to choose from */
    uint32_t chiplets;  /* that share them evenly */
    struct nodes nodes; /* first touch */
    uint32_t next;      /* round robin; lab: where ties begin */
    uint64_t *pages;    /* lab: placed so far, by colour */
    double threshold;   /* lab */
    bool rotates;       /* lab: ties go round, whoever asks */
};

/* colours_per_chiplet: of frames. */
struct placement placement_of(const struct config *c, uint32_t colours_per_chiplet);
void placement_free(struct placement *p);
/* From now on the policy chooses among fewer (or more) colours. */
void placement_keep_to(struct placement *p, uint32_t colours);

void placement_kernel_wide_launch(struct placement *p, const struct placement_launch *l);
uint32_t placement_kernel_wide(struct placement *p, const struct placement_question *q);
uint32_t placement_round_robin(struct placement *p, const struct placement_question *q);
uint32_t placement_first_touch(struct placement *p, const struct placement_question *q);
uint32_t placement_lab(struct placement *p, const struct placement_question *q);
uint32_t placement_interleaved(struct placement *p, const struct placement_question *q);

/* migration: where a page whose home is this partition should be, from the accesses to it by partition in an
 * interval: where it was used most, or at home when that is no less, or when there were fewer than `least`.
 */
uint32_t placement_migrate_to(const uint32_t *accesses, uint32_t partitions, uint32_t home, uint64_t least);

/* Normalised page balance: mean of pages / most pages over the colours, 1 when there are no pages. */
double placement_balance(const uint64_t *pages, uint32_t colours);

#endif
