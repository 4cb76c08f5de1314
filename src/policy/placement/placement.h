/* placement: which class of frames (see dram/dram_frames.h: a memory channel) a page gets.
 *
 * Asked at launch (place_at_launch: sees the kernel, its arguments and the locality rows) and at the first
 * touch of a page by an SM that is not placed then; host writes and copies never place a page. A policy is
 * one function in a file of its own and one row in placement_choices.def. */
#ifndef ATOLL_POLICY_PLACEMENT_H
#define ATOLL_POLICY_PLACEMENT_H

#include <stdbool.h>

#include "config/config.h"

struct placement_question {
    uint32_t app;
    uint64_t page; /* virtual page number */
    uint32_t sm, partition;
};

struct analysis_launch;
struct exec_launch;

/* A kernel is about to start. */
struct placement_launch {
    uint32_t app;
    const struct exec_launch *launch; /* kernel, grid, block, arguments */
    struct analysis_launch
        *analysis; /* analysis_locality() gives the locality rows; NULL: not a PTX kernel */
    uint32_t page_log2;
    /* Places a page now, at no cost; a page that is placed already stays where it is (then false). */
    bool (*assign)(void *mmu, uint32_t app, uint64_t page, uint32_t class);
    void *mmu;
};

struct placement {
    uint32_t (*place)(struct placement *p, const struct placement_question *q);
    /* Before the first block of a kernel; NULL: pages are placed at their first touch only. */
    void (*place_at_launch)(struct placement *p, const struct placement_launch *l);
    uint32_t classes, classes_per_partition;
    uint32_t next; /* round robin */
};

struct placement placement_of(const struct config *c, uint32_t classes);

uint32_t placement_round_robin(struct placement *p, const struct placement_question *q);
uint32_t placement_first_touch(struct placement *p, const struct placement_question *q);
uint32_t placement_interleaved(struct placement *p, const struct placement_question *q);

#endif
