/* footprint: what a block touches through a row of the locality table, as spans of bytes from the start of
 * the structure. Private to analysis/. */
#ifndef ATOLL_ANALYSIS_FOOTPRINT_H
#define ATOLL_ANALYSIS_FOOTPRINT_H

#include "analysis/index.h"
#include "analysis/spans.h"

struct sizing {
    struct arena *arena;
    const struct symbolic *s;
    const struct locality_launch *l;
    struct spans *all, *own, *work;
};

/* All that a block touches in all iterations: at least that, where bounds differ between threads. False: not
 * known. Also how far the next block in each direction lies; *linear: every block lies so. */
bool footprint_of_block(struct sizing *z, const struct locality_row *row, const int64_t bid[3],
                        struct spans *out, int64_t distance[3], bool *linear);

/* overlap.c: of what one block touches of the argument's structure, most bytes that another touches too. */
void overlap_find(struct sizing *z, struct locality_table *t);

#endif
