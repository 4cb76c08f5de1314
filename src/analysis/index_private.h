/* Shared by the files that make the locality table only: index.c (base and motion of each access),
 * index_unroll.c (unrolled loops), index_rows.c (arguments and rows). */
#ifndef ATOLL_ANALYSIS_INDEX_PRIVATE_H
#define ATOLL_ANALYSIS_INDEX_PRIVATE_H

#include "analysis/index.h"
#include "base/map.h"

/* An access on its way to a row. */
struct item {
    const struct symbolic_access *access;
    const struct atom *base;
    const struct expr *index, *invariant, *stride; /* stride NULL: no motion */
    uint32_t loop;
    const struct atom *count; /* that the stride goes with: the loop's iterations, or every other of them */
    uint32_t unroll,
        folded; /* steps in an iteration as it is compiled: accesses, iterations of a loop inside */
    bool linear, unrolled; /* linear: index = invariant + stride * count; else the stride is about so much */
};

struct building {
    struct arena *arena;
    struct symbolic *s;
    struct locality_table *t;
    struct item *items;
    uint32_t n, capacity;
    struct map places; /* hash of base, stride, kind and invariant > item + 1 */
    uint64_t merge_budget;
};

/* index_unroll.c: n accesses at distances d and a step of n*d become accesses with a step of d. */
void index_merge_unrolled(struct building *b);
/* The same, before a compiler unrolled it: a loop of n iterations with a step of d in one with a step of n*d.
 */
void index_fold_small_loops(struct building *b);

/* index_rows.c: items that differ by constants of the launch are one row; arguments in order. */
void index_make_rows(struct building *b);
void index_sort_arguments(struct building *b);

#endif
