/* parts: a grid in contiguous parts whose sizes differ by at most one block; for policies that cut grids. */
#ifndef ATOLL_POLICY_CTA_SCHED_PARTS_H
#define ATOLL_POLICY_CTA_SCHED_PARTS_H

#include <stdint.h>

struct part {
    uint64_t next, end; /* blocks */
};

static inline void parts_cut(struct part *parts, uint32_t count, uint64_t blocks)
{
    for (uint32_t k = 0; k < count; k++) {
        parts[k].next = (uint64_t)((unsigned __int128)blocks * k / count);
        parts[k].end = (uint64_t)((unsigned __int128)blocks * (k + 1) / count);
    }
}

#endif
