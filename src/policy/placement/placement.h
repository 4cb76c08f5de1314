/* placement: which class of frames (mmu/page_table.h: a chiplet, or a memory channel of it) a page gets.
 *
 * Asked at launch (place_at_launch: receives the facts of the launch) and at the first
 * touch of a page by an SM that is not placed then; host writes and copies never place a page. A policy is
 * one function in a file of its own and one row in placement_choices.def. */
#ifndef ATOLL_POLICY_PLACEMENT_H
#define ATOLL_POLICY_PLACEMENT_H

#include <stdbool.h>

#include "config/config.h"
#include "exec/launch_facts.h"

struct placement_question {
    uint32_t app;
    uint64_t page; /* virtual page number */
    uint32_t sm;   /* counted over the machine */
};

/* A kernel is about to start. */
struct placement_launch {
    const struct launch_facts *facts; /* grid, block, allocations, arrays */
    uint32_t page_log2;
    /* Places a page now, at no cost; a page that is placed already stays where it is (then false). */
    bool (*assign)(void *mmu, uint32_t app, uint64_t page, uint32_t class);
    void *mmu;
};

/* Pages of an allocation, for policies that cut allocations into parts. */
struct placement_range {
    uint64_t first_page, pages;
};

/* One per application. */
struct placement {
    uint32_t (*place)(struct placement *p, const struct placement_question *q);
    /* Before the first block of a kernel; NULL: pages are placed at their first touch only. */
    void (*place_at_launch)(struct placement *p, const struct placement_launch *l);
    uint32_t classes;                        /* to choose from */
    uint32_t chiplets;                       /* that share them evenly */
    uint32_t sms_per_home, classes_per_home; /* first touch: who is near which */
    uint32_t next;                           /* round robin; lab: where ties begin */
    uint64_t *pages;                         /* lab: placed so far, by class */
    double threshold;                        /* lab */
    bool rotates;                            /* lab: ties go round, whoever asks */
    struct placement_range *ranges;          /* kernel_wide: sorted */
    uint32_t range_count, range_capacity;
};

/* classes_per_chiplet: of frames. */
struct placement placement_of(const struct config *c, uint32_t classes_per_chiplet);
void placement_free(struct placement *p);
/* From now on the policy chooses among fewer (or more) classes. */
void placement_keep_to(struct placement *p, uint32_t classes);

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

/* Normalised page balance: mean of pages / most pages over the classes, 1 when there are no pages. */
double placement_balance(const uint64_t *pages, uint32_t classes);

#endif
