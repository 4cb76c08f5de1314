/* placement: which class of frames (see dram/dram_frames.h: a memory channel) a page gets.
 *
 * Asked at launch (later policies look at the kernel and its arguments then) and at the first touch of a page
 * by an SM; host writes and copies never place a page. A policy is one function in a file of its own and one
 * row in placement_choices.def. */
#ifndef ATOLL_POLICY_PLACEMENT_H
#define ATOLL_POLICY_PLACEMENT_H

#include "config/config.h"

struct placement_question {
    uint32_t app;
    uint64_t page; /* virtual page number */
    uint32_t sm, partition;
};

struct placement {
    uint32_t (*place)(struct placement *p, const struct placement_question *q);
    uint32_t classes, classes_per_partition;
    uint32_t next; /* round robin */
};

struct placement placement_of(const struct config *c, uint32_t classes);

uint32_t placement_round_robin(struct placement *p, const struct placement_question *q);
uint32_t placement_first_touch(struct placement *p, const struct placement_question *q);
uint32_t placement_interleaved(struct placement *p, const struct placement_question *q);

#endif
