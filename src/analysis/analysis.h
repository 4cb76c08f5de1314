/* analysis: the compiler's two analyses for one application, as a launch and its policies meet them.
 *
 *   kernel, once          readonly.h   which data it only reads        ─► warp_op_info.read_only_group
 *                         locality.h   where each block's data lies
 *   launch                analysis_begin(): which groups are read-only ─► exec_launch.read_only ─► requests
 *                         analysis_locality(): the locality table with the numbers of this launch
 *                         analysis_arrays(): the same per array, for policies (exec/launch_facts.h)
 *
 * Ownership: an analysis belongs to the runtime context of the application; an analysis_launch to the launch,
 * and what it hands out lives until analysis_end(). */
#ifndef ATOLL_ANALYSIS_ANALYSIS_H
#define ATOLL_ANALYSIS_ANALYSIS_H

#include "analysis/locality.h"
#include "analysis/readonly.h"

struct analysis;
struct analysis_launch;
struct exec_env;
struct exec_launch;
struct launch_arrays;
struct launch_span;

/* Also tells the environment how loads are numbered; before its first launch. */
struct analysis *analysis_new(struct exec_env *env);
void analysis_free(struct analysis *a); /* NULL is allowed */

/* Sets launch->read_only and launch->analysis. */
void analysis_begin(struct analysis *a, struct exec_launch *launch);
void analysis_end(void *launch); /* struct exec_launch; for diag_defer */

/* The table of the launch's kernel with its numbers and allocations. */
const struct locality_table *analysis_locality(struct analysis_launch *l);

/* The arguments of the table as arrays, in the same order: launch_facts.arrays. `launch`: a struct
 * analysis_launch. */
const struct launch_arrays *analysis_arrays(void *launch);

/* launch_facts.layout */
const struct launch_span *analysis_layout(void *launch, uint32_t array, uint32_t *count);

/* One parameter or variable of the kernel in this launch. */
struct analysis_verdict {
    const struct readonly_origin *origin;
    bool read_only;
    uint64_t bytes; /* of the allocation behind it; 0: none */
};
/* All of them, *count; in the order in which the program meets them. */
const struct analysis_verdict *analysis_verdicts(struct analysis_launch *l, uint32_t *count);

#endif
