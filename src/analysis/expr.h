/* expr: values of a kernel as sums of products over prime variables, in one canonical form.
 *
 *   expr   coefficient * mono + coefficient * mono + ...       sorted, no zero, no mono twice
 *   mono   product of atoms                                    sorted; the empty one is 1
 *   atom   threadIdx.x, a parameter, an induction variable, what a load gave, or an operation that is no
 *          polynomial (shift right, mask, division, minimum, selection) of further expressions
 *
 * Everything is hash-consed: equal values are the same pointer, so a comparison is one compare and a value is
 * transformed once however often it is used. Arithmetic is that of 64-bit two's complement: what a 32-bit
 * register holds is the same number modulo 2^32.
 * ASSUMPTION: 32-bit index arithmetic does not overflow, so widening changes nothing (C's rule for int); an
 * expression with coefficients of 2^30 and more, or odd ones of 2^16 and more (hashes), keeps the widening as
 * an operation, and so does all that is cut to 8 or 16 bits. A shift down of what was shifted up by half of
 * the register and more stays an operation too: (x << 24) >> 24 is the low byte of x.
 *
 * A sum or product beyond the limits becomes an operation of its two sides: nothing grows without bound.
 *
 * Ownership: all in the pool's arena. */
#ifndef ATOLL_ANALYSIS_EXPR_H
#define ATOLL_ANALYSIS_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "ptx/ir.h"

enum { EXPR_TERMS_MAX = 40, EXPR_DEGREE_MAX = 6, EXPR_DEPTH_MAX = 48 };

enum atom_kind {
    ATOM_SREG,  /* id = enum ptx_sreg */
    ATOM_PARAM, /* id = offset in the parameter block, size_bytes, is_signed */
    ATOM_BASE,  /* address of symbol */
    ATOM_IV,    /* iterations of loop id that have ended: 0, 1, ... */
    ATOM_PHI,   /* id: value at the head of a loop, before it is understood */
    ATOM_DATA,  /* what a load gave: id = site, element; args[0] its address (may be absent) */
    ATOM_OTHER, /* id: a value that nothing is known of but what it depends on */
    ATOM_OP,    /* op (enum expr_op), type; args */
    ATOM_MERGE  /* id = site of a block where paths meet; args: `element` values in the order
                   of its predecessors, then the conditions that choose between them */
};

enum expr_op {
    EXPR_ADD, /* beyond the limits */
    EXPR_MUL,
    EXPR_MULHI,
    EXPR_DIV,
    EXPR_REM,
    EXPR_SHR,
    EXPR_SHL,
    EXPR_AND,
    EXPR_OR,
    EXPR_XOR,
    EXPR_NOT,
    EXPR_MIN,
    EXPR_MAX,
    EXPR_ABS,
    EXPR_SELECT, /* p ? a : b */
    EXPR_SETP,   /* detail = enum ptx_cmp */
    EXPR_WIDEN,  /* from type to 64 bits */
    EXPR_FIELD   /* bits [b, b + c) of a */
};

/* What a value depends on. */
enum {
    DEP_TX = 1u << 0,
    DEP_TY = 1u << 1,
    DEP_TZ = 1u << 2,
    DEP_BX = 1u << 3,
    DEP_BY = 1u << 4,
    DEP_BZ = 1u << 5,
    DEP_BDX = 1u << 6,
    DEP_BDY = 1u << 7,
    DEP_BDZ = 1u << 8,
    DEP_GDX = 1u << 9,
    DEP_GDY = 1u << 10,
    DEP_GDZ = 1u << 11,
    DEP_PARAM = 1u << 12,
    DEP_GLOBAL = 1u << 13, /* address of a variable in global or constant memory */
    DEP_LOCAL = 1u << 14,
    DEP_SHARED = 1u << 15,
    DEP_DATA = 1u << 16,  /* of what was loaded */
    DEP_OTHER = 1u << 17, /* not known, or no closed form over the iterations */
    DEP_MERGE = 1u << 18,
    DEP_PHI = 1u << 19,
    DEP_LANE = 1u << 20 /* other special registers */
};

struct expr;

struct atom {
    uint8_t kind; /* enum atom_kind */
    uint8_t type; /* enum ptx_type of the operation */
    uint8_t op;   /* enum expr_op */
    uint8_t detail;
    uint8_t size_bytes;
    uint8_t depth;              /* of operations in operations */
    bool is_pointer, is_number; /* ATOM_PARAM: went through cvta; is multiplied somewhere */
    uint32_t id, element;
    uint32_t serial; /* order of making; sorts */
    uint32_t deps;
    uint32_t own_deps;   /* ATOM_MERGE: without those of args */
    uint32_t recurrence; /* ATOM_OTHER: symbolic_number() follows it on paper; 0: nobody can */
    uint32_t n_args;
    uint64_t loops; /* bit min(loop, 63): varies with its iterations */
    const struct ptx_symbol *symbol;
    const struct expr *const *args;
    const struct expr *closed; /* ATOM_PHI: its meaning once it is understood */
    const struct expr *alone;  /* the sum of this atom only, once somebody asked for it */
};

struct mono {
    uint32_t serial, n, deps;
    uint64_t loops;
    const struct atom *atoms[];
};

struct term {
    int64_t coef;
    const struct mono *mono;
};

struct expr {
    uint32_t serial, n, deps;
    uint8_t depth;
    uint64_t loops;
    struct term terms[];
};

struct expr_table {
    void **slots;
    uint64_t *hashes;
    uint32_t count, capacity;
};

struct expr_pool {
    struct arena *arena;
    struct expr_table atoms, monos, exprs;
    const struct expr *zero;
    uint32_t serial;
    uint64_t work_left; /* terms that may still be looked at; at 0 every result is `other` */
};

/* values: about how many there will be. */
void expr_pool_init(struct expr_pool *p, struct arena *arena, uint32_t values);
void expr_pool_free(struct expr_pool *p);

/* Finds or makes the atom with these fields; serial, deps, loops of operations are filled in. For the other
 * kinds the caller gives deps and loops. */
struct atom *expr_intern_atom(struct expr_pool *p, const struct atom *like);

const struct expr *expr_const(struct expr_pool *p, int64_t value);
const struct expr *expr_of(struct expr_pool *p, const struct atom *a);
const struct expr *expr_term(struct expr_pool *p, const struct term *t);
const struct expr *expr_add(struct expr_pool *p, const struct expr *a, const struct expr *b);
const struct expr *expr_sub(struct expr_pool *p, const struct expr *a, const struct expr *b);
const struct expr *expr_scale(struct expr_pool *p, const struct expr *a, int64_t k);
const struct expr *expr_mul(struct expr_pool *p, const struct expr *a, const struct expr *b);
/* An operation, simplified where it is a polynomial after all. */
const struct expr *expr_op(struct expr_pool *p, enum expr_op op, enum ptx_type type, uint8_t detail,
                           const struct expr *const *args, uint32_t n_args);
/* From a register of `type` to a wider one. */
const struct expr *expr_widen(struct expr_pool *p, const struct expr *a, enum ptx_type type);

/* Terms that all of them have. */
const struct expr *expr_common(struct expr_pool *p, const struct expr *const *values, uint32_t n);

bool expr_is_const(const struct expr *e, int64_t *value);
/* The only atom, with coefficient 1; NULL: it is something else. */
const struct atom *expr_is_atom(const struct expr *e);
/* Largest value when every part is known not to be negative; UINT64_MAX: not known. */
uint64_t expr_most(const struct expr *e);
/* Constant term. */
int64_t expr_offset(const struct expr *e);
/* Depends on something that nothing is known of: an operation of it says no more. */
static inline bool expr_is_lost(const struct expr *e)
{
    return (e->deps & (DEP_OTHER | DEP_DATA)) == (DEP_OTHER | DEP_DATA);
}
static inline uint64_t expr_loop_bit(uint32_t loop) { return (uint64_t)1 << (loop < 63 ? loop : 63); }

/* e with every ATOM_PHI for which replace() gives something replaced, operations inside included. replace may
 * return NULL: stays. The memo must be empty at first and serve one replace only. */
struct map;
typedef const struct expr *expr_replace_fn(void *arg, const struct atom *a);
const struct expr *expr_replace(struct expr_pool *p, const struct expr *e, expr_replace_fn *replace,
                                void *arg, struct map *memo);

/* e with the iterations `a` of a loop replaced. What loads gave in it must not vary with the loop: that would
 * still be what they gave last. */
const struct expr *expr_put(struct expr_pool *p, const struct expr *e, const struct atom *a,
                            const struct expr *by);
/* Does e go up by the same in every iteration `a` of a loop? */
bool expr_is_linear(const struct expr *e, const struct atom *a);
/* Parts: without the atom; the factor of the atom (each of its terms has it exactly once). The atom is one
 * that varies with a loop; false: something else of that loop is in it. */
bool expr_split(struct expr_pool *p, const struct expr *e, const struct atom *a, const struct expr **without,
                const struct expr **factor);

/* Numbers for atoms. False: it has none, or the expression is too large to be worth it. */
typedef bool expr_value_fn(void *arg, const struct atom *a, int64_t *value);
bool expr_eval(const struct expr *e, expr_value_fn *value, void *arg, int64_t *result);
/* The operation alone. False: division by zero. */
bool expr_eval_op(enum expr_op op, enum ptx_type type, uint8_t detail, const int64_t *v, int64_t *result);

/* Text in CUDA's terms: "(16*by + ty)*p3 + tx + 16*m". name gives the atom's name. Cut at the buffer's end.
 */
typedef void expr_name_fn(void *arg, const struct atom *a, char *buf, size_t buf_bytes);
char *expr_print(const struct expr *e, expr_name_fn *name, void *arg, char *buf, size_t buf_bytes);

#endif
