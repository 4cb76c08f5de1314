/* symbolic: one walk over a kernel (and the functions that it calls, as if they were inlined) that gives
 * every global access its address as an expression of prime variables.
 *
 *   walk      blocks in reverse post-order; a register with one definition has one value, the others and the
 *             slots of local memory (-O0) are looked up over the predecessors, with a value of its own at the
 *             head of each loop that changes it (ATOM_PHI)
 *   understand  at the end: a value that comes back to the head as itself plus what does not change in the
 *             loop is start + step * iterations; it is put in wherever it was used
 *   loops     whose exit compares such a value with one that does not change have a trip count
 *
 * Cost: near-linear in instructions; inlined code, predecessors searched and replaced expressions are
 * bounded, beyond the bounds a value is `other`.
 *
 * Ownership: all in the arena given. */
#ifndef ATOLL_ANALYSIS_SYMBOLIC_H
#define ATOLL_ANALYSIS_SYMBOLIC_H

#include "analysis/expr.h"
#include "analysis/frame.h"

enum symbolic_kind { SYMBOLIC_READ, SYMBOLIC_WRITE, SYMBOLIC_ATOMIC };

#define SYMBOLIC_NO_LOOP UINT32_MAX

/* One static access in one call context. */
struct symbolic_access {
    const struct ptx_func *func;
    uint32_t pc;
    uint32_t activation, block;
    uint32_t loop;  /* innermost, SYMBOLIC_NO_LOOP: none */
    uint8_t kind;   /* enum symbolic_kind */
    uint8_t count;  /* elements */
    uint16_t bytes; /* of an element */
    bool nc;        /* ld.global.nc */
    const struct expr *address;
};

struct symbolic_exit {
    const struct expr *condition; /* a predicate */
    const struct expr *distance;  /* of the two sides that it compares; NULL: it does something else */
    bool stay_if;                 /* the loop goes on when the condition is this */
    bool at_head;                 /* tested before the body */
    uint32_t block;               /* that it is at the end of */
    struct symbolic_exit *next;
};

struct symbolic_loop {
    const struct ptx_func *func;
    uint32_t activation;
    const struct ptx_cfg *cfg;
    uint32_t cfg_loop; /* in the function's control-flow graph */
    uint32_t parent;   /* the loop around it, in the caller for the outermost of a callee */
    uint32_t depth;    /* 1: outermost */
    uint32_t line;
    struct symbolic_exit *exits;
    uint64_t trips; /* most iterations when that is a constant; 0: not known */
    const struct atom *iv;
};

/* A function in a call context. Sites (of loads and of blocks) are numbered first_site + pc. */
struct symbolic_activation {
    const struct ptx_func *func;
    uint32_t first_site, first_loop;
    uint32_t call_pc, caller; /* UINT32_MAX: the kernel */
};

/* A value at the head of a loop without a closed form, that each iteration makes of those before it. */
struct symbolic_recurrence {
    const struct expr *start, *back; /* back NULL: nobody can follow it */
    const struct expr *offset;       /* that stands beside it in expressions; NULL: nothing */
    const struct atom *iv;
};

struct symbolic {
    struct expr_pool pool;
    struct symbolic_access *accesses;
    struct symbolic_loop *loops;
    struct symbolic_activation *activations;
    struct symbolic_recurrence *recurrences; /* by value at a head */
    uint32_t n_accesses, n_loops, n_activations, n_recurrences;
    bool cut;          /* some call was not followed */
    uint64_t searched; /* predecessors looked at: bounded, see symbolic.c */
};

/* frames: cache of function facts. The result's pool must be freed with symbolic_free(). */
struct symbolic *symbolic_run(struct arena *arena, struct frame_cache *frames, const struct ptx_func *kernel);
void symbolic_free(void *symbolic); /* for diag_defer */

/* Iterations of a loop with numbers for what its bounds name: 0 when they are not known. */
uint64_t symbolic_trips(const struct symbolic_loop *l, expr_value_fn *value, void *arg);
/* How often the access in it is reached: not in the iteration that ends before it. */
uint64_t symbolic_trips_at(const struct symbolic_loop *l, const struct symbolic_access *at,
                           expr_value_fn *value, void *arg);
/* Its iterations that have ended when it is left, as its values at the head count them. False: not known. */
bool symbolic_last(const struct symbolic_loop *l, expr_value_fn *value, void *arg, uint64_t *last);
/* The number of an ATOM_OTHER that can be followed on paper. False: it cannot. */
bool symbolic_number(const struct symbolic *s, const struct atom *a, expr_value_fn *value, void *arg,
                     int64_t *v);
bool symbolic_loop_contains(const struct symbolic *s, uint32_t outer, uint32_t inner);

#endif
