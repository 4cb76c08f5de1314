/* Shared by the files of the read-only analysis only: readonly.c (the pass over a function), readonly_arith.c
 * (what arithmetic makes of pointers), readonly_kernel.c (a kernel with what it calls), readonly_launch.c. */
#ifndef ATOLL_ANALYSIS_READONLY_PRIVATE_H
#define ATOLL_ANALYSIS_READONLY_PRIVATE_H

#include "analysis/readonly.h"

#define SHARED  ((uint64_t)1 << READONLY_SHARED_BIT)
#define LOCAL   ((uint64_t)1 << READONLY_LOCAL_BIT)
#define SHIFTED ((uint64_t)1 << READONLY_SHIFTED_BIT)
#define HALF    ((uint64_t)1 << READONLY_HALF_BIT)  /* 32 bits that may be half of a pointer */
#define PIECE   ((uint64_t)1 << READONLY_PIECE_BIT) /* of cells: written in parts that may make a pointer */
#define UNKNOWN READONLY_UNKNOWN
#define ORIGINS (((uint64_t)1 << READONLY_ORIGINS_MAX) - 1)

enum { CALLS_DEEP_MAX = 100 };

struct pass {
    struct readonly *r;
    struct readonly_func *f;
    bool changed;
    uint32_t depth;
};

/* May the access of a space reach global memory? */
static inline bool reaches_global(uint32_t space)
{
    return space == PTX_SPACE_GLOBAL || space == PTX_SPACE_GENERIC;
}

/* What an operand may be derived from. */
uint64_t readonly_operand_set(struct pass *p, const struct ptx_operand *o);
/* What the result of an arithmetic instruction may be derived from. */
uint64_t readonly_arithmetic(struct pass *p, const struct ptx_instr *i);
/* A set of the callee's origins in terms of the caller's, at this call. */
uint64_t readonly_translate(struct pass *p, const struct ptx_instr *i, const struct readonly_func *callee,
                            uint64_t set);

#endif
