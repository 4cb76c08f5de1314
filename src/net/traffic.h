/* traffic: bytes between partitions, from the SMs of one partition to the slices of another and back. The
 * bytes are counted when a network accepts a packet, with one addition per packet. */
#ifndef ATOLL_NET_TRAFFIC_H
#define ATOLL_NET_TRAFFIC_H

#include "base/arena.h"
#include "config/config.h"

enum { TRAFFIC_PARTITIONS_MAX = 256 }; /* machines with more partitions are not counted */

struct traffic {
    uint64_t *bytes; /* [partition of the SM][slice] */
    uint64_t *
        *sm_row; /* [SM] row of bytes of the SM's partition; then a row of the engine that copies pages, which
                             is in no partition */
    uint64_t **slice_row; /* [slice] row of bytes of the slice's partition */
    uint64_t *between;    /* [partition of the SM][partition of the slice], see traffic_between() */
    uint32_t slices;
    uint32_t partitions; /* 0: not counted; all packets add to one row */
};

void traffic_init(struct traffic *t, struct arena *a, const struct config *c);
/* Sums the counts and returns them: [partition of the SM][partition of the slice]. */
const uint64_t *traffic_between(const struct traffic *t);

static inline void traffic_count(const struct traffic *t, uint32_t sm, uint32_t slice, uint32_t bytes)
{
    t->sm_row[sm][slice] += bytes;
}

/* Counts a packet between the requesting slice and the home slice, as traffic of the requesting slice's
 * partition. */
static inline void traffic_count_remote(const struct traffic *t, uint32_t requesting_slice,
                                        uint32_t home_slice, uint32_t bytes)
{
    t->slice_row[requesting_slice][home_slice] += bytes;
}

#endif
