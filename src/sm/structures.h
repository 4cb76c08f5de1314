/* structures: the data structures of a running kernel, as SMs need them on machines with several memory nodes:
 * the cache hint of their lines, and where their line accesses go.
 *
 *   system/kernel.c ──builds, one per launch──► structures ──► lsu.c: hint of each line when it issues,
 *                                                              count of each line at its access to the L1
 *
 * A structure is a range of lines. Ranges are sorted and do not overlap. `rest` stands for all other lines. */
#ifndef ATOLL_SM_STRUCTURES_H
#define ATOLL_SM_STRUCTURES_H

#include <stdbool.h>
#include <stdint.h>

struct structure {
    uint64_t first_line, end_line; /* simulated virtual lines */
    uint32_t array;                /* number in launch_arrays (exec/launch_facts.h); LAUNCH_NO_ARRAY: none */
    uint8_t locality;              /* enum locality_class (analysis/locality.h) */
    const char *name;              /* of the argument or variable; NULL: none */
    bool once;                     /* remote reads do not allocate at the home (REQUEST_ONCE) */
    /* Line accesses after coalescing, before the L1; loads, stores and atomics. */
    uint64_t lines, lines_off_chiplet, lines_off_gpu;
};

struct structures {
    struct structure *range;
    uint32_t count, last; /* last: range of the last lookup */
    struct structure rest;
};

/* The structure of a line. */
static inline struct structure *structures_find(struct structures *s, uint64_t line)
{
    if (s->last < s->count &&
        line - s->range[s->last].first_line < s->range[s->last].end_line - s->range[s->last].first_line)
        return &s->range[s->last];
    for (uint32_t k = 0; k < s->count; k++) {
        if (line < s->range[k].first_line) break;
        if (line >= s->range[k].end_line) continue;
        s->last = k;
        return &s->range[k];
    }
    return &s->rest;
}

#endif
