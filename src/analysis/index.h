/* index: from the addresses of a kernel's accesses to the rows of its locality table. Private to analysis/.
 */
#ifndef ATOLL_ANALYSIS_INDEX_H
#define ATOLL_ANALYSIS_INDEX_H

#include "analysis/locality.h"
#include "analysis/symbolic.h"

/* A loop that runs at most this often, a constant of the program, is what compilers unroll completely: its
 * iterations belong to the datablock at every level of optimisation, not to the block's motion. */
enum { INDEX_UNROLLED_MOST = 32 };

struct locality_table *index_build(struct arena *arena, struct symbolic *s, const struct ptx_func *kernel);

/* classify.c: Algorithm 1. row_elements: blockDim.x*gridDim.x when known, else 0; value gives numbers of
 * parameters (may be NULL). */
struct index_numbers {
    uint64_t grid_x, row_elements;
    expr_value_fn *value;
    void *arg;
};
enum locality_class index_classify(struct symbolic *s, const struct locality_row *row, bool two_dimensional,
                                   const struct index_numbers *numbers);
bool index_loop_is_motion(const struct symbolic_loop *l);

#endif
