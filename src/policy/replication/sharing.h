/* sharing: counts the SMs that use a line within a window of time, and the shared lines that are never
 * written (selrep.count_sharing). These are Figures 5 and 7 of the SelRep paper. */
#ifndef ATOLL_POLICY_SHARING_H
#define ATOLL_POLICY_SHARING_H

#include "base/arena.h"
#include "base/map.h"
#include "policy/replication/accesses.h"
#include "stats/stats.h"

enum { SHARING_SMS = 256, SHARING_WINDOW_CYC = 1000 };

struct sharing_line {
    uint64_t sms[SHARING_SMS / 64];
    bool read_only, written; /* an access was a read-only load; another kind of access */
};

struct sharing_table {
    struct map index; /* from line to index in lines */
    struct sharing_line *lines;
    uint32_t count, capacity;
};

struct sharing {
    struct sharing_table window, kernel; /* the present 1000 cycles; the present kernel */
    uint64_t window_end_cyc;
};

struct sharing *sharing_new(struct arena *a);
void sharing_free(struct sharing *s);
void sharing_observe(struct sharing *s, const struct access *a, uint64_t cyc, struct selrep_stats *stats);
/* Adds the counts of the ended kernel to the statistics and clears the tables. */
void sharing_end_kernel(struct sharing *s, struct selrep_stats *stats);

#endif
