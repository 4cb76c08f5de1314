/* traffic: bytes between partitions: from the SMs of one to the slices of another and back, as the networks
 * accepted them. One addition per packet. */
#ifndef ATOLL_GPU_TRAFFIC_H
#define ATOLL_GPU_TRAFFIC_H

#include "base/arena.h"
#include "config/config.h"

enum { TRAFFIC_PARTITIONS_MAX = 256 }; /* larger machines are not counted */

struct traffic {
    uint64_t *bytes;  /* [partition of the SM][partition of the slice] */
    uint16_t *sm_row; /* where the row begins */
    uint16_t *slice_column;
    uint32_t partitions; /* 0: not counted, everything falls into one cell */
};

void traffic_init(struct traffic *t, struct arena *a, const struct config *c);

static inline void traffic_count(struct traffic *t, uint32_t sm, uint32_t slice, uint32_t bytes)
{
    t->bytes[t->sm_row[sm] + t->slice_column[slice]] += bytes;
}

/* From slice to slice: on behalf of the SMs beside the first, to the home of the line, and back. */
static inline void traffic_count_far(struct traffic *t, uint32_t near_slice, uint32_t home_slice,
                                     uint32_t bytes)
{
    t->bytes[(size_t)t->slice_column[near_slice] * t->partitions + t->slice_column[home_slice]] += bytes;
}

#endif
