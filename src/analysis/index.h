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
void index_choose_speakers(struct locality_table *t);
void index_choose_winner(struct locality_table *t);

/* footprint.c: a loop that was unrolled completely and runs more often than INDEX_UNROLLED_MOST leaves so
 * many accesses at equal distances: the row gets its step back. */
void index_find_unrolled(struct arena *arena, const struct symbolic *s, struct locality_row *row);
/* footprint.c: strides and datablocks as numbers of the launch. */
void index_put_sizes(struct arena *arena, const struct symbolic *s, struct locality_table *t,
                     const struct locality_launch *l);

/* index_launch.c: a thread at a place of the program, in a launch. index_value gives the numbers that it
 * sees. */
struct index_point {
    const struct locality_launch *launch;
    const struct symbolic *s;
    uint32_t loop; /* of the access: loops that are not around it have ended */
    int64_t tid[3], bid[3];
    const struct atom *iv; /* counts `count`; all others around zero */
    int64_t count;
    bool loose;   /* what is not known counts as zero: for distances, which are the same wherever it starts */
    uint32_t way; /* by which a place where ways meet was reached */
    uint32_t ended; /* loops being asked for */
    bool lost_end;  /* somebody asked how often a loop had run, and nobody knew */
};
bool index_value(void *point, const struct atom *a, int64_t *v);

#endif
