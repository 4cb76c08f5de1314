/* accesses: requests as the slices served them, handed on in an order that does not depend on who was visited
 * first: by cycle, in a cycle by slice. For profilers that keep state (rdd.h) behind an llc_monitor. */
#ifndef ATOLL_POLICY_ACCESSES_H
#define ATOLL_POLICY_ACCESSES_H

#include <stdbool.h>
#include <stdint.h>

enum { ACCESSES_MAX = 1024 }; /* slices of a machine that may serve in one cycle */

struct access {
    uint64_t line;
    uint16_t slice, home, sm;
    bool read_only, read, missed;
};

struct accesses {
    uint64_t cyc;
    uint32_t count;
    void (*see)(void *self, const struct access *a, uint64_t cyc);
    void *self;
    struct access of[ACCESSES_MAX];
};

/* Hands on what has been put. */
void accesses_flush(struct accesses *q);
void accesses_put(struct accesses *q, const struct access *a, uint64_t cyc);

#endif
