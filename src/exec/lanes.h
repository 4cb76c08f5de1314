/* lanes: what an instruction computes, for the 32 lanes of a warp at once.
 *
 *   ptx_instr ── lanes_find(instr, instruction set) ──► struct lanes_op { warp, lane, ctx }
 *                                                          │
 *   warp execution ── op.warp(d, a, b, c, mask, &op.ctx) ──┘     values only: no memory, no control
 *
 * Neighbours: src/ptx decodes; the warp execution of src/exec owns registers, memory and divergence and
 * calls these functions; nothing here allocates, keeps state or touches memory other than its operands.
 *
 * Registers (the caller's arrays, 64-byte aligned):
 *   value of <= 32 bits   uint32_t[32]; a 16-bit value sits in the low bits
 *   64-bit value          uint64_t[32]
 *   128-bit value         struct lanes_u128[32] (only mov and atom/ld/st know it)
 *   predicate             one uint32_t, bit i = lane i
 * Bits above the width of a type are never read; results of 8/16-bit types are written extended to 32
 * bits (by sign for .s8/.s16, by zero otherwise).
 * A source that is an immediate or a special register is an array too: broadcast it once when decoding.
 * A negated predicate (!p) is complemented by the caller.
 *
 * Overlap: a destination may be the very array of a source of the same element width (add r1, r1, r2);
 * any other overlap (a 64-bit destination over a 32-bit source) is not allowed.
 *
 * Mask: lanes whose bit is clear keep their old destination, also in predicates and in the carry flag.
 *
 * The same bits come from every instruction set and from the scalar form. */
#ifndef ATOLL_EXEC_LANES_H
#define ATOLL_EXEC_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_instr;
struct ptx_func;

enum { LANES_COUNT = 32 };
#define LANES_ALL 0xffffffffu

enum lanes_isa { LANES_PLAIN, LANES_AVX2, LANES_AVX512, LANES_ISA_COUNT };

/* Raises a bug when an object of the lane functions is older than their list (a stale build). */
void lanes_check_tables(void);

bool lanes_isa_present(enum lanes_isa isa); /* can this machine run it? */
enum lanes_isa lanes_isa_best(void);        /* the widest present */
const char *lanes_isa_name(enum lanes_isa isa);
bool lanes_isa_by_name(const char *name, enum lanes_isa *isa); /* "plain", "avx2", "avx512" */

struct lanes_entry;

/* What an instruction needs besides d, a, b, c. imm, round and inner are set by lanes_find() and never
 * change; the pointers are the caller's, and only looked at when lanes_op.needs names them. */
struct lanes_ctx {
    uint32_t imm;                    /* lop3 table, prmt mode, shfl mode, cvt packing ...: private to lanes */
    uint32_t round;                  /* MXCSR value of a directed rounding: private to lanes */
    uint32_t adapt;                  /* steps around a conversion: private to lanes */
    const struct lanes_entry *inner; /* of compound instructions: private to lanes */
    const void *e; /* fourth source: bfi d; shfl/vote/match/redux/elect: the member mask (uint32_t[32]) */
    void *d2;      /* second destination: q of setp p|q; predicate of shfl d|p, match d|p, elect d|p */
    void *d3, *d4; /* third and fourth destination of mov.b64 {a,b,c,d}, x */
    uint32_t *cc;  /* the carry flag CC.CF of the warp, bit i = lane i: add.cc addc sub.cc subc mad.cc madc */
};

typedef void lanes_fn(void *d, const void *a, const void *b, const void *c, uint32_t mask,
                      const struct lanes_ctx *x);

enum lanes_need {
    LANES_NEEDS_E = 1,     /* ctx.e must be set */
    LANES_NEEDS_D2 = 2,    /* ctx.d2 must be set (or NULL where the instruction has no second destination) */
    LANES_NEEDS_D34 = 4,   /* ctx.d3 and ctx.d4 must be set */
    LANES_NEEDS_CC = 8,    /* ctx.cc must be set */
    LANES_COLLECTIVE = 16, /* looks across lanes: has no lane form (also not when operands are uniform) */
    LANES_DYNAMIC =
        LANES_NEEDS_E | LANES_NEEDS_D2 | LANES_NEEDS_D34 | LANES_NEEDS_CC /* any: copy ctx, fill in */
};

/* A function in both forms, and the bytes of an element of each operand: 4, 8 or 16; 1 = predicate; 0 = none.
 */
struct lanes_entry {
    lanes_fn *warp, *lane;
    uint8_t d, a, b, c;
};

/* An executable instruction. Operand order: sources a, b, c, e as written in PTX, except:
 *   selp d, a, b, p          c = predicate (uint32_t *)
 *   setp p|q, a, b, r / set  c = predicate r, or not looked at when the instruction has none
 *   and/or/xor/not/mov.pred, testp, vote: predicates are uint32_t * in d and a, b
 *   mov.b64 d, {a, b}        a, b (and c, e) = parts from low to high;  mov.b64 {d, d2}, a
 *   shfl.sync d|p, a, b, c, m   e = m;     vote.sync d, p, m   a = p, e = m
 *   match.sync d|p, a, m        e = m;     redux.sync d, a, m  e = m;   elect.sync d|p, m   e = m
 *   activemask d                no source
 * vote/match/redux/shfl/elect without .sync take the active mask as member mask (needs has no E). */
struct lanes_op {
    lanes_fn *warp; /* all 32 lanes under a mask */
    lanes_fn
        *lane; /* lane 0 only, mask ignored: for warp-uniform instructions; NULL when collective. A predicate
                  result is written as 0 or ~0 into the whole word, a predicate source is read from bit 0 */
    uint32_t needs; /* enum lanes_need */
    /* Bytes of an element of each operand array: 4, 8, 16; 1 = predicate; 0 = none. The width to broadcast an
     * immediate with (the shift count of shl.b64 is a 4, the c of mad.wide.u32 an 8). d3, d4 are like d2. */
    uint8_t d_bytes, a_bytes, b_bytes, c_bytes, e_bytes, d2_bytes;
    struct lanes_ctx ctx;
};

/* Fills op; false (op zeroed) when the instruction is not one that lanes executes: memory, control,
 * synchronisation, or not supported. func owns the operands (lop3 table, register widths of cvt); it may be
 * NULL when only the answer matters (coverage). Matrix instructions are found by lanes_matrix_find(). */
bool lanes_find(const struct ptx_func *func, const struct ptx_instr *instr, enum lanes_isa isa,
                struct lanes_op *op);

/* ---- matrix instructions: wmma, mma.sync, ldmatrix, stmatrix ---- */

/* Where the elements of a fragment live: element e of a lane (e = 0 is the lowest of the first register)
 * is element (row[lane][e], col[lane][e]) of its matrix. */
enum { LANES_FRAGMENT_MAX = 32 };
struct lanes_fragment {
    uint8_t rows, cols;   /* of the matrix */
    uint8_t regs;         /* registers of a fragment */
    uint8_t elements;     /* per lane: regs * elements per register */
    uint8_t element_bits; /* in memory and in the register: 1, 4, 8, 16, 32, 64 */
    bool col_major; /* memory order: address of (r, c) = base + (col_major ? c*stride + r : r*stride + c)
                       elements */
    uint8_t row[LANES_COUNT][LANES_FRAGMENT_MAX];
    uint8_t col[LANES_COUNT]
               [LANES_FRAGMENT_MAX]; /* for element_bits < 8: of the first element of each byte group */
};

/* d = a * b + c. Each operand is a list of register arrays (a[i] = the i-th register of the vector operand).
 */
struct lanes_matrix;
typedef void lanes_matrix_fn(void *const *d, const void *const *a, const void *const *b, const void *const *c,
                             const struct lanes_matrix *m);

enum lanes_matrix_kind {
    LANES_MATRIX_NONE,
    LANES_MATRIX_LOAD,
    LANES_MATRIX_STORE,
    LANES_MATRIX_MMA,
    LANES_MATRIX_LDMATRIX,
    LANES_MATRIX_STMATRIX
};

struct lanes_matrix {
    enum lanes_matrix_kind kind;
    /* LOAD, STORE: d is the fragment moved. MMA: all four. */
    struct lanes_fragment d, a, b, c;
    lanes_matrix_fn *mma;                   /* MMA */
    uint8_t type_d, type_a, type_b, type_c; /* enum ptx_type; private to lanes */
    bool saturate;
    uint8_t bit_op;  /* b1: 0 = .xor, 1 = .and */
    uint8_t count;   /* LDMATRIX, STMATRIX: number of 8x8 matrices (1, 2, 4) */
    bool transposed; /* LDMATRIX, STMATRIX: .trans */
};

/* Describes a matrix instruction (about 4 KiB: keep one per static instruction); false when it is none or
 * unsupported. */
bool lanes_matrix_find(const struct ptx_func *func, const struct ptx_instr *instr, enum lanes_isa isa,
                       struct lanes_matrix *m);

/* ldmatrix/stmatrix .x1/.x2/.x4 .m8n8.b16: row[i*8 + r] = the 16 bytes of row r of matrix i; lane i*8+r holds
 * their address. d[i] is the register array of matrix i. All 32 lanes take part. */
void lanes_ldmatrix(const struct lanes_matrix *m, const uint8_t row[][16], uint32_t *const *d);
void lanes_stmatrix(const struct lanes_matrix *m, uint8_t row[][16], const uint32_t *const *a);

struct lanes_u128 {
    uint64_t lo, hi;
};

#endif
