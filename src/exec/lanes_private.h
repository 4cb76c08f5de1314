/* lanes_private: what lanes_find.c, the tables and the collectives share. */
#ifndef ATOLL_EXEC_LANES_PRIVATE_H
#define ATOLL_EXEC_LANES_PRIVATE_H

#include "exec/lanes.h"

/* one number per row of lanes.def */
enum lanes_kernel {
#define K1(name, ...) LK_##name,
#define K2(name, ...) LK_##name,
#define K3(name, ...) LK_##name,
#define K4(name, ...) LK_##name,
#define D1(name, ...) LK_##name,
#define D2(name, ...) LK_##name,
#define D3(name, ...) LK_##name,
#define P1(name, ...) LK_##name,
#define P2(name, ...) LK_##name,
#define X(name, ...)  LK_##name,
#define W(name, ...)  LK_##name,
#include "exec/lanes.def"
    LK_COUNT
};

extern const struct lanes_entry lanes_table_plain[LK_COUNT];
extern const struct lanes_entry lanes_table_avx2[LK_COUNT];
extern const struct lanes_entry lanes_table_avx512[LK_COUNT];

/* What lanes.def was when an object was compiled: number of rows; a sum over names and places. */
struct lanes_signature {
    uint32_t rows;
    uint32_t order;
};
extern const struct lanes_signature lanes_signature_plain, lanes_signature_avx2, lanes_signature_avx512;
enum {
    LANES_ORDER = 0
#define ROW_PLACE(name) +(LK_##name + 1) * (int)sizeof #name
#define K1(name, ...)   ROW_PLACE(name)
#define K2(name, ...)   ROW_PLACE(name)
#define K3(name, ...)   ROW_PLACE(name)
#define K4(name, ...)   ROW_PLACE(name)
#define D1(name, ...)   ROW_PLACE(name)
#define D2(name, ...)   ROW_PLACE(name)
#define D3(name, ...)   ROW_PLACE(name)
#define P1(name, ...)   ROW_PLACE(name)
#define P2(name, ...)   ROW_PLACE(name)
#define X(name, ...)    ROW_PLACE(name)
#define W(name, ...)    ROW_PLACE(name)
#include "exec/lanes.def"
};
#define LANES_SIGNATURE_HERE \
    { \
        LK_COUNT, LANES_ORDER \
    }
/* Raises a bug unless the table was compiled from the lanes.def that lanes_find.c was compiled from. */
void lanes_require(const struct lanes_signature *table, const char *name);

/* the collectives of lanes_warp.c */
#define K1(name, ...)
#define K2(name, ...)
#define K3(name, ...)
#define K4(name, ...)
#define D1(name, ...)
#define D2(name, ...)
#define D3(name, ...)
#define P1(name, ...)
#define P2(name, ...)
#define X(name, ...)
#define W(name, ...) lanes_fn lanes_warp_##name;
#include "exec/lanes.def"

/* imm of setp and set: how the comparison meets the predicate operand. Above the bits that comparisons use.
 */
enum { SET_BOOL_NONE = 0, SET_BOOL_AND = 1, SET_BOOL_OR = 2, SET_BOOL_XOR = 3, SET_BOOL_MASK = 3 };

/* imm of redux */
enum lanes_redux {
    REDUX_ADD,
    REDUX_MIN_U,
    REDUX_MAX_U,
    REDUX_MIN_S,
    REDUX_MAX_S,
    REDUX_AND,
    REDUX_OR,
    REDUX_XOR
};

/* adapt of cvt_adapted */
enum {
    ADAPT_NARROW_A = 1, /* the source register is 64 bits wide, its type narrower */
    ADAPT_HALF_A = 2,   /* f16 to f32 first (exact) */
    ADAPT_BF_A = 4,     /* bf16 to f32 first */
    ADAPT_FLUSH_A = 8,  /* f32 subnormals to zero first */
    ADAPT_A = 15,
    ADAPT_WIDEN_U = 16, /* the destination register is 64 bits wide, its type narrower */
    ADAPT_WIDEN_S = 32
};

#endif
