/* Shared by the files that make expressions only: expr.c (sums and products), expr_simplify.c (operations).
 */
#ifndef ATOLL_ANALYSIS_EXPR_PRIVATE_H
#define ATOLL_ANALYSIS_EXPR_PRIVATE_H

#include "analysis/expr.h"

/* A sum on its way to its one place. */
struct expr_like {
    struct term terms[2 * EXPR_TERMS_MAX];
    uint32_t n;
};

const struct expr *expr_make(struct expr_pool *p, const struct expr_like *like);
/* As it stands, not simplified. */
const struct expr *expr_plain_op(struct expr_pool *p, enum expr_op op, enum ptx_type type, uint8_t detail,
                                 const struct expr *const *args, uint32_t n);
/* Counts work; NULL: it may go on. */
const struct expr *expr_spend(struct expr_pool *p, uint64_t work);

#endif
