/* waits: where requests of SMs spend their time. */
#ifndef ATOLL_MEASURE_WAITS_H
#define ATOLL_MEASURE_WAITS_H

#include "measure/measure.h"

/* Shares of the time from request to answer, 0 to 1. Counters of several components with different means are
 * put together: they need not add up to 1. */
struct waits {
    double queues[MEASURE_LEVELS]; /* waiting for what a level does for others, or for a busy one itself */
    double unloaded;               /* what the way takes without others; 1 when nothing was asked for */
};

/* m: without gaps before launches. */
void measure_find_waits(const struct span *span, const struct measure *m, struct waits *w);

#endif
