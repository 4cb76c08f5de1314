/* traffic: bytes between partitions: from the SMs of one to the slices of another and back, as the networks
 * accepted them. One addition per packet. */
#ifndef ATOLL_NET_TRAFFIC_H
#define ATOLL_NET_TRAFFIC_H

#include "base/arena.h"
#include "config/config.h"

enum { TRAFFIC_PARTITIONS_MAX = 256 }; /* larger machines are not counted */

struct traffic {
    uint64_t *bytes;      /* [partition of the SM][slice] */
    uint64_t **sm_row;    /* of an SM: its partition's row there; */
    uint64_t **slice_row; /* … of a slice */
    uint64_t *between;    /* [partition of the SM][partition of the slice], see traffic_between() */
    uint32_t slices;
    uint32_t partitions; /* 0: not counted, everything falls into one row */
};

void traffic_init(struct traffic *t, struct arena *a, const struct config *c);
/* What was counted: [partition of the SM][partition of the slice]. */
const uint64_t *traffic_between(const struct traffic *t);

static inline void traffic_count(const struct traffic *t, uint32_t sm, uint32_t slice, uint32_t bytes)
{
    t->sm_row[sm][slice] += bytes;
}

/* From slice to slice: on behalf of the SMs beside the first, to the home of the line, and back. */
static inline void traffic_count_far(const struct traffic *t, uint32_t near_slice, uint32_t home_slice,
                                     uint32_t bytes)
{
    t->slice_row[near_slice][home_slice] += bytes;
}

#endif
