/* lanes_impl: the functions of lanes.def, compiled once per instruction set.
 *
 * lanes_plain.c, lanes_avx2.c and lanes_avx512.c define LANES_TABLE and include this file; the compiler flags
 * of each make the difference. A loop over 32 lanes of a branch-free expression becomes vector code; the lane
 * form is the same expression once. A partial mask computes into a buffer and merges: the results of other
 * lanes are lost, and no operation can trap. */
#if defined(__GNUC__) && !defined(__clang__)
/* Exception flags are not looked at: lets comparisons become masks. Values do not change. */
#pragma GCC optimize("no-trapping-math")
#endif
#include <stdint.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

#include "exec/lanes.h"
#include "exec/lanes_half.h"
#include "exec/lanes_private.h"

#ifdef __clang__
#define LANES_LOOP \
    _Pragma("clang loop vectorize(assume_safety) interleave(disable) unroll(disable)") for (int i = 0; \
                                                                                            i < LANES_COUNT; \
                                                                                            i++)
#else
#define LANES_LOOP _Pragma("GCC ivdep") for (int i = 0; i < LANES_COUNT; i++)
#endif

/* how a type lies in a register array */
typedef u32 S_u8;
typedef s32 S_s8;
typedef u32 S_u16;
typedef s32 S_s16;
typedef u32 S_u32;
typedef s32 S_s32;
typedef f32 S_f32;
typedef u64 S_u64;
typedef s64 S_s64;
typedef f64 S_f64;

#define LANES_ARGS \
    void *d_, const void *a_, const void *b_, const void *c_, uint32_t mask, const struct lanes_ctx *x
#define LANES_ALIGNED(type, p) ((type *)__builtin_assume_aligned((p), 64))

/* ---- arithmetic that differs by instruction set, never in its bits ---- */
LANES_INLINE f32 f_add(f32 a, f32 b) { return a + b; }
LANES_INLINE f32 f_sub(f32 a, f32 b) { return a - b; }
LANES_INLINE f32 f_mul(f32 a, f32 b) { return a * b; }
LANES_INLINE f32 f_div(f32 a, f32 b) { return a / b; }
LANES_INLINE f32 f_rcp(f32 a) { return 1.0f / a; }
LANES_INLINE f32 f_sqrt(f32 a) { return __builtin_sqrtf(a); }
LANES_INLINE f64 f_add_64(f64 a, f64 b) { return a + b; }
LANES_INLINE f64 f_sub_64(f64 a, f64 b) { return a - b; }
LANES_INLINE f64 f_mul_64(f64 a, f64 b) { return a * b; }
LANES_INLINE f64 f_div_64(f64 a, f64 b) { return a / b; }
#ifdef __FMA__
LANES_INLINE f32 f_fma(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
#else
/* the product is exact in double, the sum rounded to odd: the one rounding is the last */
LANES_INLINE f32 f_fma(f32 a, f32 b, f32 c) { return (f32)add_odd((f64)a * (f64)b, (f64)c); }
#endif
/* under a directed mode; the library's function is correctly rounded in all of them */
LANES_INLINE f32 f_fma_dir(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }

/* ---- rounding mode: switched around a loop whose operands are all in memory. The barriers keep the loads
 * behind the switch and the stores before the switch back, and thereby the arithmetic between them. ---- */
#if defined(__x86_64__)
LANES_INLINE u32 round_enter(u32 mode)
{
    const u32 old = _mm_getcsr();
    _mm_setcsr(mode);
    __asm__ volatile("" ::: "memory");
    return old;
}
LANES_INLINE void round_leave(u32 old)
{
    __asm__ volatile("" ::: "memory");
    _mm_setcsr(old);
}
#else
LANES_INLINE u32 round_enter(u32 mode)
{
    const int old = fegetround();
    const u32 bits = (mode >> 13) & 3u; /* MXCSR.RC: 1 down, 2 up, 3 to zero */
    fesetround(bits == 1 ? FE_DOWNWARD : bits == 2 ? FE_UPWARD : bits == 3 ? FE_TOWARDZERO : FE_TONEAREST);
    __asm__ volatile("" ::: "memory");
    return (u32)old;
}
LANES_INLINE void round_leave(u32 old)
{
    __asm__ volatile("" ::: "memory");
    fesetround((int)old);
}
#endif

/* ---- merging under a partial mask ---- */
static void merge32(u32 *restrict d, const u32 *restrict t, u32 mask)
{
    for (int i = 0; i < LANES_COUNT; i++) d[i] = (mask >> i) & 1u ? t[i] : d[i];
}
static void merge64(u64 *restrict d, const u64 *restrict t, u32 mask)
{
    for (int i = 0; i < LANES_COUNT; i++) d[i] = (mask >> i) & 1u ? t[i] : d[i];
}
static __attribute__((noinline)) void through32(void *d, const void *a, const void *b, const void *c,
                                                u32 mask, const struct lanes_ctx *x, lanes_fn *f)
{
    u32 t[LANES_COUNT] __attribute__((aligned(64)));
    f(t, a, b, c, LANES_ALL, x);
    merge32(LANES_ALIGNED(u32, d), t, mask);
}
static __attribute__((noinline)) void through64(void *d, const void *a, const void *b, const void *c,
                                                u32 mask, const struct lanes_ctx *x, lanes_fn *f)
{
    u64 t[LANES_COUNT] __attribute__((aligned(64)));
    f(t, a, b, c, LANES_ALL, x);
    merge64(LANES_ALIGNED(u64, d), t, mask);
}
#define LANES_MASKED(name, bytes) \
    if (__builtin_expect(mask != LANES_ALL, 0)) { \
        ((bytes) == 8 ? through64 : through32)(d_, a_, b_, c_, mask, x, name); \
        return; \
    }
LANES_INLINE void put_pred(void *d, u32 bits, u32 mask)
{
    u32 *p = d;
    *p = (*p & ~mask) | (bits & mask);
}
#define LANES_UNUSED (void)a_, (void)b_, (void)c_, (void)mask, (void)x

/* ---- the rows with expressions ---- */
#define LANES_LOAD(t, v, index) const t v = (t)LANES_ALIGNED(const S_##t, v##_)[index]
#define LANES_E(t, index)       const t e = (t)LANES_ALIGNED(const S_##t, e_)[index]

#define LANES_NOTHING
#define LANES_ENTER const u32 old_mode = round_enter(x->round)
#define LANES_LEAVE round_leave(old_mode)

/* Loads by number of operands: a macro cannot hand on a comma list of declarations, so each row defines them.
 */
#define K1(name, td, ta, ...) LANES_VALUE1(k_##name, td, ta, LANES_NOTHING, LANES_NOTHING, __VA_ARGS__)
#define K2(name, td, ta, tb, ...) \
    LANES_VALUE2(k_##name, td, ta, tb, LANES_NOTHING, LANES_NOTHING, __VA_ARGS__)
#define K3(name, td, ta, tb, tc, ...) \
    LANES_VALUE3(k_##name, td, ta, tb, tc, LANES_NOTHING, LANES_NOTHING, __VA_ARGS__)
#define D1(name, td, ta, ...)     LANES_VALUE1(k_##name, td, ta, LANES_ENTER, LANES_LEAVE, __VA_ARGS__)
#define D2(name, td, ta, tb, ...) LANES_VALUE2(k_##name, td, ta, tb, LANES_ENTER, LANES_LEAVE, __VA_ARGS__)
#define D3(name, td, ta, tb, tc, ...) \
    LANES_VALUE3(k_##name, td, ta, tb, tc, LANES_ENTER, LANES_LEAVE, __VA_ARGS__)

/* a copy: the compiler must not think that storing a result could change it */
#define LANES_IMM \
    const u32 imm = x->imm; \
    (void)imm

#define LANES_FORMS(name, td, enter, leave, body_of_i, body_of_0) \
    static void name(LANES_ARGS) \
    { \
        LANES_UNUSED; \
        LANES_MASKED(name, sizeof(S_##td)) \
        LANES_IMM; \
        enter; \
        LANES_LOOP{body_of_i} leave; \
    } \
    static void name##_lane(LANES_ARGS) \
    { \
        LANES_UNUSED; \
        LANES_IMM; \
        enter; \
        body_of_0 leave; \
    }
#define LANES_PUT(td, index, ...) LANES_ALIGNED(S_##td, d_)[index] = (S_##td)(td)(__VA_ARGS__);
#define LANES_BODY1(td, ta, i, ...) \
    LANES_LOAD(ta, a, i); \
    LANES_PUT(td, i, __VA_ARGS__)
#define LANES_BODY2(td, ta, tb, i, ...) \
    LANES_LOAD(ta, a, i); \
    LANES_LOAD(tb, b, i); \
    LANES_PUT(td, i, __VA_ARGS__)
#define LANES_BODY3(td, ta, tb, tc, i, ...) \
    LANES_LOAD(ta, a, i); \
    LANES_LOAD(tb, b, i); \
    LANES_LOAD(tc, c, i); \
    LANES_PUT(td, i, __VA_ARGS__)
#define LANES_BODY4(td, ta, tb, tc, te, i, ...) \
    LANES_LOAD(ta, a, i); \
    LANES_LOAD(tb, b, i); \
    LANES_LOAD(tc, c, i); \
    LANES_E(te, i); \
    LANES_PUT(td, i, __VA_ARGS__)
#define LANES_VALUE1(name, td, ta, enter, leave, ...) \
    LANES_FORMS(name, td, enter, leave, LANES_BODY1(td, ta, i, __VA_ARGS__), \
                LANES_BODY1(td, ta, 0, __VA_ARGS__))
#define LANES_VALUE2(name, td, ta, tb, enter, leave, ...) \
    LANES_FORMS(name, td, enter, leave, LANES_BODY2(td, ta, tb, i, __VA_ARGS__), \
                LANES_BODY2(td, ta, tb, 0, __VA_ARGS__))
#define LANES_VALUE3(name, td, ta, tb, tc, enter, leave, ...) \
    LANES_FORMS(name, td, enter, leave, LANES_BODY3(td, ta, tb, tc, i, __VA_ARGS__), \
                LANES_BODY3(td, ta, tb, tc, 0, __VA_ARGS__))
#define K4(name, td, ta, tb, tc, te, ...) \
    LANES_FORMS(k_##name, td, const void *e_ = x->e, , LANES_BODY4(td, ta, tb, tc, te, i, __VA_ARGS__), \
                LANES_BODY4(td, ta, tb, tc, te, 0, __VA_ARGS__))

/* 1 << i, as memory: gcc finds no vector form of the shift for 64 bits */
#define B4(type, n) (type)1 << (n), (type)1 << ((n) + 1), (type)1 << ((n) + 2), (type)1 << ((n) + 3)
static const u64 bit_of64[LANES_COUNT] __attribute__((aligned(64))) = {
    B4(u64, 0), B4(u64, 4), B4(u64, 8), B4(u64, 12), B4(u64, 16), B4(u64, 20), B4(u64, 24), B4(u64, 28)};

/* predicates: bit i of one word. 64-bit sources collect in 64 bits, so that vector elements keep their width
 */
#define LANES_PRED(name, ta, load_i, load_0, ...) \
    static void name(LANES_ARGS) \
    { \
        LANES_UNUSED; \
        if (sizeof(S_##ta) == 8) { \
            u64 bits = 0; \
            for (int i = 0; i < LANES_COUNT; i++) { \
                load_i bits |= (__VA_ARGS__) ? bit_of64[i] : 0ull; \
            } \
            put_pred(d_, (u32)bits, mask); \
        } else { \
            u32 bits = 0; \
            for (int i = 0; i < LANES_COUNT; i++) { \
                load_i bits |= (__VA_ARGS__) ? 1u << i : 0u; \
            } \
            put_pred(d_, bits, mask); \
        } \
    } \
    static void name##_lane(LANES_ARGS) \
    { \
        LANES_UNUSED; \
        load_0 *(u32 *)d_ = (__VA_ARGS__) ? 0xffffffffu : 0u; \
    }
#define LANES_LOADS1(ta, i) LANES_LOAD(ta, a, i);
#define LANES_LOADS2(ta, tb, i) \
    LANES_LOAD(ta, a, i); \
    LANES_LOAD(tb, b, i);
#define P1(name, ta, ...) LANES_PRED(k_##name, ta, LANES_LOADS1(ta, i), LANES_LOADS1(ta, 0), __VA_ARGS__)
#define P2(name, ta, tb, ...) \
    LANES_PRED(k_##name, ta, LANES_LOADS2(ta, tb, i), LANES_LOADS2(ta, tb, 0), __VA_ARGS__)
#define X(name, wd, wa, wb, wc)
#define W(name, wd, wa, wb, wc)
#include "exec/lanes.def"

/* ---- moves of parts ---- */
static void k_mov_b128(LANES_ARGS)
{
    LANES_UNUSED;
    struct lanes_u128 *d = d_;
    const struct lanes_u128 *a = a_;
    for (int i = 0; i < LANES_COUNT; i++)
        if ((mask >> i) & 1u) d[i] = a[i];
}
static void k_mov_b128_lane(LANES_ARGS)
{
    LANES_UNUSED;
    *(struct lanes_u128 *)d_ = *(const struct lanes_u128 *)a_;
}
static void k_pack_b128(LANES_ARGS)
{
    LANES_UNUSED;
    struct lanes_u128 *d = d_;
    const u64 *a = a_, *b = b_;
    for (int i = 0; i < LANES_COUNT; i++)
        if ((mask >> i) & 1u) d[i] = (struct lanes_u128){a[i], b[i]};
}
static void k_pack_b128_lane(LANES_ARGS)
{
    LANES_UNUSED;
    *(struct lanes_u128 *)d_ = (struct lanes_u128){*(const u64 *)a_, *(const u64 *)b_};
}
static void k_unpack_b128(LANES_ARGS)
{
    LANES_UNUSED;
    u64 *d = d_, *d2 = x->d2;
    const struct lanes_u128 *a = a_;
    for (int i = 0; i < LANES_COUNT; i++)
        if ((mask >> i) & 1u) {
            const struct lanes_u128 v = a[i];
            if (d) d[i] = v.lo;
            if (d2) d2[i] = v.hi;
        }
}
static void k_unpack_b128_lane(LANES_ARGS)
{
    (void)mask;
    k_unpack_b128(d_, a_, b_, c_, 1, x);
}

/* {d, d2} or {d, d2, d3, d4} = a; a NULL destination is the sink `_` */
#define LANES_UNPACK(name, ta, bits, parts) \
    static void name##_n(LANES_ARGS, int count) \
    { \
        LANES_UNUSED; \
        void *const to[4] = {d_, x->d2, (parts) > 2 ? x->d3 : NULL, (parts) > 2 ? x->d4 : NULL}; \
        u32 t[4][LANES_COUNT] __attribute__((aligned(64))); \
        for (int i = 0; i < count; i++) \
            for (int p = 0; p < (parts); p++) \
                t[p][i] = (u32)(((const ta *)a_)[i] >> (p * (bits))) & ones32(bits); \
        for (int p = 0; p < (parts); p++) { \
            if (to[p] == NULL) continue; \
            if (count == 1) \
                *(u32 *)to[p] = t[p][0]; \
            else \
                merge32(to[p], t[p], mask); \
        } \
    } \
    static void name(LANES_ARGS) { name##_n(d_, a_, b_, c_, mask, x, LANES_COUNT); } \
    static void name##_lane(LANES_ARGS) { name##_n(d_, a_, b_, c_, mask, x, 1); }
LANES_UNPACK(k_unpack_b16, u32, 8, 2)
LANES_UNPACK(k_unpack_b32, u32, 16, 2)
LANES_UNPACK(k_unpack_b64, u64, 32, 2)
LANES_UNPACK(k_unpack4_b32, u32, 8, 4)
LANES_UNPACK(k_unpack4_b64, u64, 16, 4)

/* ---- predicate logic ---- */
#define LANES_PRED_OP(op, expression) \
    static void k_##op##_pred(LANES_ARGS) \
    { \
        LANES_UNUSED; \
        put_pred(d_, expression, mask); \
    } \
    static void k_##op##_pred_lane(LANES_ARGS) \
    { \
        LANES_UNUSED; \
        *(u32 *)d_ = (expression)&1u ? 0xffffffffu : 0u; \
    }
#define PRED_A (*(const u32 *)a_)
#define PRED_B (*(const u32 *)b_)
#define PRED_C (*(const u32 *)c_)
LANES_PRED_OP(mov, PRED_A)
LANES_PRED_OP(not, ~PRED_A)
LANES_PRED_OP(and, PRED_A &PRED_B)
LANES_PRED_OP(or, PRED_A | PRED_B)
LANES_PRED_OP(xor, PRED_A ^ PRED_B)
LANES_PRED_OP(selp, (PRED_A & PRED_C) | (PRED_B & ~PRED_C))

#define LANES_SELP(bits) \
    static void k_selp_b##bits(LANES_ARGS) \
    { \
        LANES_UNUSED; \
        LANES_MASKED(k_selp_b##bits, bits / 8) \
        const u32 p = PRED_C; \
        LANES_LOOP \
        { \
            LANES_LOAD(u##bits, a, i); \
            LANES_LOAD(u##bits, b, i); \
            LANES_ALIGNED(u##bits, d_)[i] = (p >> i) & 1u ? a : b; \
        } \
    } \
    static void k_selp_b##bits##_lane(LANES_ARGS) \
    { \
        LANES_UNUSED; \
        *(u##bits *)d_ = PRED_C & 1u ? *(const u##bits *)a_ : *(const u##bits *)b_; \
    }
LANES_SELP(32)
LANES_SELP(64)

/* ---- setp and set: a comparison (x->inner), then what is done with it ---- */
LANES_INLINE u32 pred_combine(u32 r, const void *c_, u32 imm)
{
    switch (imm & SET_BOOL_MASK) {
    case SET_BOOL_AND: return r & PRED_C;
    case SET_BOOL_OR: return r | PRED_C;
    case SET_BOOL_XOR: return r ^ PRED_C;
    default: return r;
    }
}
/* setp with .and/.or/.xor and/or a second destination */
static void k_setp_bool(LANES_ARGS)
{
    u32 r = 0;
    x->inner->warp(&r, a_, b_, c_, LANES_ALL, x);
    const u32 p = pred_combine(r, c_, x->imm), q = pred_combine(~r, c_, x->imm);
    if (d_) put_pred(d_, p, mask);
    if (x->d2) put_pred(x->d2, q, mask);
}
static void k_setp_bool_lane(LANES_ARGS)
{
    (void)mask;
    u32 r = 0;
    x->inner->lane(&r, a_, b_, c_, 1, x);
    const u32 p = pred_combine(r, c_, x->imm), q = pred_combine(~r, c_, x->imm);
    if (d_) *(u32 *)d_ = p & 1u ? 0xffffffffu : 0u;
    if (x->d2) *(u32 *)x->d2 = q & 1u ? 0xffffffffu : 0u;
}
/* The two halves of packed operands. The comparison reads 16 bits, so that the low half needs no copy. */
static void compare_halves(const void *a_, const void *b_, const struct lanes_ctx *x, u32 *low, u32 *high)
{
    u32 a[LANES_COUNT] __attribute__((aligned(64))), b[LANES_COUNT] __attribute__((aligned(64)));
    for (int i = 0; i < LANES_COUNT; i++) {
        a[i] = ((const u32 *)a_)[i] >> 16;
        b[i] = ((const u32 *)b_)[i] >> 16;
    }
    *low = *high = 0;
    x->inner->warp(low, a_, b_, NULL, LANES_ALL, x);
    x->inner->warp(high, a, b, NULL, LANES_ALL, x);
}
static void compare_halves_lane(const void *a_, const void *b_, const struct lanes_ctx *x, u32 *low,
                                u32 *high)
{
    const u32 a __attribute__((aligned(64))) = *(const u32 *)a_ >> 16,
                b __attribute__((aligned(64))) = *(const u32 *)b_ >> 16;
    *low = *high = 0;
    x->inner->lane(low, a_, b_, NULL, 1, x);
    x->inner->lane(high, &a, &b, NULL, 1, x);
}
/* setp.f16x2 p|q: one predicate per half */
static void k_setp_x2(LANES_ARGS)
{
    u32 low, high;
    compare_halves(a_, b_, x, &low, &high);
    if (d_) put_pred(d_, pred_combine(low, c_, x->imm), mask);
    if (x->d2) put_pred(x->d2, pred_combine(high, c_, x->imm), mask);
}
static void k_setp_x2_lane(LANES_ARGS)
{
    (void)mask;
    u32 low, high;
    compare_halves_lane(a_, b_, x, &low, &high);
    if (d_) *(u32 *)d_ = pred_combine(low, c_, x->imm) & 1u ? 0xffffffffu : 0u;
    if (x->d2) *(u32 *)x->d2 = pred_combine(high, c_, x->imm) & 1u ? 0xffffffffu : 0u;
}
/* set.D: all ones, or 1.0 of a float type; x->adapt is the value of true */
static void k_set_b32(LANES_ARGS)
{
    LANES_MASKED(k_set_b32, 4)
    u32 r = 0;
    x->inner->warp(&r, a_, b_, c_, LANES_ALL, x);
    r = pred_combine(r, c_, x->imm);
    const u32 one = x->adapt;
    for (int i = 0; i < LANES_COUNT; i++) ((u32 *)d_)[i] = (r >> i) & 1u ? one : 0u;
}
static void k_set_b32_lane(LANES_ARGS)
{
    (void)mask;
    u32 r = 0;
    x->inner->lane(&r, a_, b_, c_, 1, x);
    *(u32 *)d_ = pred_combine(r, c_, x->imm) & 1u ? x->adapt : 0u;
}
/* set of packed halves: x->adapt = true of one half */
static void k_set_x2(LANES_ARGS)
{
    LANES_MASKED(k_set_x2, 4)
    u32 low, high;
    compare_halves(a_, b_, x, &low, &high);
    low = pred_combine(low, c_, x->imm);
    high = pred_combine(high, c_, x->imm);
    for (int i = 0; i < LANES_COUNT; i++)
        ((u32 *)d_)[i] = ((low >> i) & 1u ? x->adapt : 0u) | ((high >> i) & 1u ? x->adapt << 16 : 0u);
}
static void k_set_x2_lane(LANES_ARGS)
{
    (void)mask;
    u32 low, high;
    compare_halves_lane(a_, b_, x, &low, &high);
    low = pred_combine(low, c_, x->imm);
    high = pred_combine(high, c_, x->imm);
    *(u32 *)d_ = (low & 1u ? x->adapt : 0u) | (high & 1u ? x->adapt << 16 : 0u);
}

/* lop3: a tree of multiplexers over the table, whose leaves are constant words */
LANES_INLINE u32 mux(u32 s, u32 zero, u32 one) { return zero ^ (s & (zero ^ one)); }
LANES_INLINE u32 lop3_32(u32 a, u32 b, u32 c, const u32 leaf[8])
{
    const u32 h0 = mux(c, leaf[0], leaf[1]), h1 = mux(c, leaf[2], leaf[3]);
    const u32 h2 = mux(c, leaf[4], leaf[5]), h3 = mux(c, leaf[6], leaf[7]);
    return mux(a, mux(b, h0, h1), mux(b, h2, h3));
}
static void k_lop3_b32(LANES_ARGS)
{
    LANES_MASKED(k_lop3_b32, 4)
    u32 leaf[8];
    for (int k = 0; k < 8; k++) leaf[k] = (x->imm >> k) & 1u ? 0xffffffffu : 0u;
    LANES_LOOP
    {
        LANES_LOAD(u32, a, i);
        LANES_LOAD(u32, b, i);
        LANES_LOAD(u32, c, i);
        LANES_ALIGNED(u32, d_)[i] = lop3_32(a, b, c, leaf);
    }
}
static void k_lop3_b32_lane(LANES_ARGS)
{
    (void)mask;
    u32 leaf[8];
    for (int k = 0; k < 8; k++) leaf[k] = (x->imm >> k) & 1u ? 0xffffffffu : 0u;
    *(u32 *)d_ = lop3_32(*(const u32 *)a_, *(const u32 *)b_, *(const u32 *)c_, leaf);
}

/* ---- carries: sum of up to three terms in twice the width; a borrow is a carry too ---- */
#define LANES_CARRY(name, t, wide, reads, writes, borrow, first, second) \
    static void name##_n(LANES_ARGS, int count) \
    { \
        LANES_UNUSED; \
        const u32 in = (reads) ? *x->cc : 0; \
        u32 out = 0; \
        t r[LANES_COUNT] __attribute__((aligned(64))); \
        for (int i = 0; i < count; i++) { \
            const wide carry = (in >> i) & 1u; \
            const wide v = \
                (borrow) ? (wide)(first) - (wide)(second)-carry : (wide)(first) + (wide)(second) + carry; \
            r[i] = (t)v; \
            out |= ((u32)(v >> (8 * sizeof(t))) & 1u) << i; \
        } \
        if (count == 1) { \
            *(t *)d_ = r[0]; \
            if (writes) *x->cc = out & 1u ? 0xffffffffu : 0u; \
            return; \
        } \
        if (sizeof(t) == 8) \
            merge64(d_, (const u64 *)r, mask); \
        else \
            merge32(d_, (const u32 *)r, mask); \
        if (writes) put_pred(x->cc, out, mask); \
    } \
    static void name(LANES_ARGS) { name##_n(d_, a_, b_, c_, mask, x, LANES_COUNT); } \
    static void name##_lane(LANES_ARGS) { name##_n(d_, a_, b_, c_, mask, x, 1); }
#define AT(t, v) (((const t *)v##_)[i])
#define LANES_CARRY_ADD(bits, wide) \
    LANES_CARRY(k_add_cc_b##bits, u##bits, wide, 0, 1, 0, AT(u##bits, a), AT(u##bits, b)) \
    LANES_CARRY(k_addc_b##bits, u##bits, wide, 1, 0, 0, AT(u##bits, a), AT(u##bits, b)) \
    LANES_CARRY(k_addc_cc_b##bits, u##bits, wide, 1, 1, 0, AT(u##bits, a), AT(u##bits, b)) \
    LANES_CARRY(k_sub_cc_b##bits, u##bits, wide, 0, 1, 1, AT(u##bits, a), AT(u##bits, b)) \
    LANES_CARRY(k_subc_b##bits, u##bits, wide, 1, 0, 1, AT(u##bits, a), AT(u##bits, b)) \
    LANES_CARRY(k_subc_cc_b##bits, u##bits, wide, 1, 1, 1, AT(u##bits, a), AT(u##bits, b))
LANES_CARRY_ADD(32, u64)
LANES_CARRY_ADD(64, u128)
#define LANES_CARRY_MAD(prefix, reads, writes, bits, wide) \
    LANES_CARRY(k_##prefix##_lo_b##bits, u##bits, wide, reads, writes, 0, AT(u##bits, a) * AT(u##bits, b), \
                AT(u##bits, c)) \
    LANES_CARRY(k_##prefix##_hi_u##bits, u##bits, wide, reads, writes, 0, \
                mulhi_u##bits(AT(u##bits, a), AT(u##bits, b)), AT(u##bits, c)) \
    LANES_CARRY(k_##prefix##_hi_s##bits, u##bits, wide, reads, writes, 0, \
                (u##bits)mulhi_s##bits(AT(s##bits, a), AT(s##bits, b)), AT(u##bits, c))
LANES_CARRY_MAD(mad_cc, 0, 1, 32, u64)
LANES_CARRY_MAD(mad_cc, 0, 1, 64, u128)
LANES_CARRY_MAD(madc, 1, 0, 32, u64)
LANES_CARRY_MAD(madc, 1, 0, 64, u128)
LANES_CARRY_MAD(madc_cc, 1, 1, 32, u64)
LANES_CARRY_MAD(madc_cc, 1, 1, 64, u128)

/* ---- conversions with steps before and after: x->adapt ---- */
static void adapt_source(u32 *t, const void *a_, u32 adapt, int count)
{
    for (int i = 0; i < count; i++) {
        u32 v = adapt & ADAPT_NARROW_A ? (u32)((const u64 *)a_)[i] : ((const u32 *)a_)[i];
        if (adapt & ADAPT_HALF_A) v = bits32(half_to_float(v & 0xffffu));
        if (adapt & ADAPT_BF_A) v = bits32(bf_to_float(v & 0xffffu));
        if (adapt & ADAPT_FLUSH_A) v = bits32(flush32(float32(v)));
        t[i] = v;
    }
}
static void k_cvt_adapted(LANES_ARGS)
{
    u32 ta[LANES_COUNT] __attribute__((aligned(64))), td[LANES_COUNT] __attribute__((aligned(64)));
    const void *from = a_;
    if (x->adapt & ADAPT_A) {
        adapt_source(ta, a_, x->adapt, LANES_COUNT);
        from = ta;
    }
    if (!(x->adapt & (ADAPT_WIDEN_U | ADAPT_WIDEN_S))) {
        x->inner->warp(d_, from, b_, c_, mask, x);
        return;
    }
    x->inner->warp(td, from, b_, c_, LANES_ALL, x);
    for (int i = 0; i < LANES_COUNT; i++)
        if ((mask >> i) & 1u) ((u64 *)d_)[i] = x->adapt & ADAPT_WIDEN_S ? (u64)(s64)(s32)td[i] : td[i];
}
static void k_cvt_adapted_lane(LANES_ARGS)
{
    u32 ta __attribute__((aligned(64))), td __attribute__((aligned(64)));
    const void *from = a_;
    if (x->adapt & ADAPT_A) {
        adapt_source(&ta, a_, x->adapt, 1);
        from = &ta;
    }
    if (!(x->adapt & (ADAPT_WIDEN_U | ADAPT_WIDEN_S))) {
        x->inner->lane(d_, from, b_, c_, mask, x);
        return;
    }
    x->inner->lane(&td, from, b_, c_, mask, x);
    *(u64 *)d_ = x->adapt & ADAPT_WIDEN_S ? (u64)(s64)(s32)td : td;
}

/* ---- the table ---- */
#define ROW(name, wd, wa, wb, wc) [LK_##name] = {k_##name, k_##name##_lane, wd, wa, wb, wc},
#define K1(name, td, ta, ...)     ROW(name, sizeof(S_##td), sizeof(S_##ta), 0, 0)
#define K2(name, td, ta, tb, ...) ROW(name, sizeof(S_##td), sizeof(S_##ta), sizeof(S_##tb), 0)
#define K3(name, td, ta, tb, tc, ...) \
    ROW(name, sizeof(S_##td), sizeof(S_##ta), sizeof(S_##tb), sizeof(S_##tc))
#define K4(name, td, ta, tb, tc, te, ...) K3(name, td, ta, tb, tc)
#define D1                                K1
#define D2                                K2
#define D3                                K3
#define P1(name, ta, ...)                 ROW(name, 1, sizeof(S_##ta), 0, 0)
#define P2(name, ta, tb, ...)             ROW(name, 1, sizeof(S_##ta), sizeof(S_##tb), 0)
#define X(name, wd, wa, wb, wc)           ROW(name, wd, wa, wb, wc)
#define W(name, wd, wa, wb, wc)           [LK_##name] = {lanes_warp_##name, NULL, wd, wa, wb, wc},
const struct lanes_entry LANES_TABLE[LK_COUNT] = {
#include "exec/lanes.def"
};
const struct lanes_signature LANES_SIGNATURE = LANES_SIGNATURE_HERE;
