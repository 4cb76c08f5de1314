/* waits: the share of a request's time in the queues of each level. */
#ifndef ATOLL_MEASURE_WAITS_H
#define ATOLL_MEASURE_WAITS_H

#include "measure/measure.h"

/* Shares of the mean time from request to reply, 0 to 1. They combine counters of several components, so
 * their sum need not be 1. */
struct waits {
    double queues[MEASURE_LEVELS]; /* queueing for the level, and its unloaded time as far as it is busy */
    double unloaded;               /* latency without queueing; 1 if no request was sent */
};

/* m: measures without the gaps before launches. */
void measure_find_waits(const struct span *span, const struct measure *m, struct waits *w);

#endif
