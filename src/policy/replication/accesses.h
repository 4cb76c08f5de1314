/* accesses: sorts served requests by cycle, and within a cycle by slice. The order does not depend on the
 * order in which the engine evaluates slices. For profilers with state (rdd.h) behind an llc_monitor. */
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
    void (*on_access)(void *self, const struct access *a, uint64_t cyc);
    void *self;
    struct access items[ACCESSES_MAX];
};

/* Calls on_access() for all buffered accesses. */
void accesses_flush(struct accesses *q);
/* Adds an access of cycle cyc. An access of a new cycle first flushes the buffer. */
void accesses_put(struct accesses *q, const struct access *a, uint64_t cyc);

#endif
