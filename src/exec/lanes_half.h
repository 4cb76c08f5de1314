/* lanes_half: arithmetic on f16, bf16 and 8-bit floats, conversions with options, packed and video
 * operations. Options come at run time in one word (the imm of struct lanes_ctx), the same for all lanes. */
#ifndef ATOLL_EXEC_LANES_HALF_H
#define ATOLL_EXEC_LANES_HALF_H

#include "exec/lanes_approx.h"
#include "exec/lanes_int.h"

/* imm of conversions and half arithmetic */
enum {
    MODE_RN = 0, /* see round_up() */
    MODE_RZ = 1,
    MODE_RM = 2,
    MODE_RP = 3,
    MODE_RNA = 4,
    MODE_MASK = 7,
    FLAG_FTZ = 8,
    FLAG_SAT = 16,
    FLAG_RELU = 32,
    FLAG_INTEGRAL = 64, /* round to an integral value */
    FLAG_FINITE = 128,  /* .satfinite */
    FLAG_NAN = 256,
    FLAG_XORSIGN = 512
};

/* ---- rounding to an integral value: exact, the sign of zero kept ---- */
LANES_INLINE f32 sign_of32(f32 magnitude, f32 x)
{
    return float32((bits32(magnitude) & 0x7fffffffu) | (bits32(x) & 0x80000000u));
}
LANES_INLINE f64 sign_of64(f64 magnitude, f64 x)
{
    return float64((bits64(magnitude) & 0x7fffffffffffffffull) | (bits64(x) & 0x8000000000000000ull));
}
LANES_INLINE f32 f32_rint(f32 x)
{
    const f32 m = abs32(x);
    const f32 r = (m + 0x1p23f) - 0x1p23f; /* the adder rounds to nearest even */
    return m < 0x1p23f ? sign_of32(r, x) : x;
}
LANES_INLINE f64 f64_rint(f64 x)
{
    const f64 m = abs64(x);
    const f64 r = (m + 0x1p52) - 0x1p52;
    return m < 0x1p52 ? sign_of64(r, x) : x;
}
LANES_INLINE f32 f32_floor(f32 x)
{
    const f32 r = f32_rint(x);
    return sign_of32(r > x ? r - 1.0f : r, x);
}
LANES_INLINE f64 f64_floor(f64 x)
{
    const f64 r = f64_rint(x);
    return sign_of64(r > x ? r - 1.0 : r, x);
}
LANES_INLINE f32 f32_ceil(f32 x)
{
    const f32 r = f32_rint(x);
    return sign_of32(r < x ? r + 1.0f : r, x);
}
LANES_INLINE f64 f64_ceil(f64 x)
{
    const f64 r = f64_rint(x);
    return sign_of64(r < x ? r + 1.0 : r, x);
}
LANES_INLINE f32 f32_trunc(f32 x)
{
    const f32 m = abs32(x), r = f32_rint(m);
    return sign_of32(r > m ? r - 1.0f : r, x);
}
LANES_INLINE f64 f64_trunc(f64 x)
{
    const f64 m = abs64(x), r = f64_rint(m);
    return sign_of64(r > m ? r - 1.0 : r, x);
}

/* ---- to integers: towards zero, out of range gives the nearest end. NaN gives 0 in conversions that know
 * neither f64 nor 64-bit integers, else 1 << (width - 1): the manual of PTX 9.0, as CUDA documents the
 * functions; older manuals say 0 for all. ---- */
LANES_INLINE s32 f32_to_s32(f32 x)
{
    const f32 inside = (x > -0x1p31f) & (x < 0x1p31f) ? x : 0.0f;
    const s32 r = (s32)inside;
    return x >= 0x1p31f ? INT32_MAX : x <= -0x1p31f ? INT32_MIN : r;
}
LANES_INLINE u32 f32_to_u32(f32 x)
{
    const f32 v = x > 0.0f ? x : 0.0f;
    const u32 big = v >= 0x1p31f;
    const f32 inside = big ? (v < 0x1p32f ? v - 0x1p31f : 0.0f) : v;
    const u32 r = (u32)(s32)inside + (big ? 0x80000000u : 0u);
    return v >= 0x1p32f ? 0xffffffffu : r;
}
LANES_INLINE s64 f64_to_s64(f64 x)
{
    const f64 inside = (x > -0x1p63) & (x < 0x1p63) ? x : 0.0;
    const s64 r = (s64)inside;
    return x >= 0x1p63 ? INT64_MAX : x > -0x1p63 ? r : INT64_MIN; /* NaN: the last */
}
LANES_INLINE u64 f64_to_u64(f64 x)
{
    const f64 v = x > 0.0 ? x : 0.0;
    const u64 big = v >= 0x1p63;
    const f64 inside = big ? (v < 0x1p64 ? v - 0x1p63 : 0.0) : v;
    const u64 r = (u64)(s64)inside + (big ? 0x8000000000000000ull : 0ull);
    return x != x ? 0x8000000000000000ull : v >= 0x1p64 ? ~0ull : r;
}
LANES_INLINE s64 f32_to_s64(f32 x) { return f64_to_s64((f64)x); }
LANES_INLINE u64 f32_to_u64(f32 x) { return f64_to_u64((f64)x); }
LANES_INLINE s32 f64_to_s32(f64 x)
{
    const f64 inside = (x > -0x1p31 - 1.0) & (x < 0x1p31) ? x : 0.0;
    const s32 r = (s32)inside;
    return x >= 0x1p31 ? INT32_MAX : x > -0x1p31 ? r : INT32_MIN; /* NaN: the last */
}
LANES_INLINE u32 f64_to_u32(f64 x)
{
    const f64 v = x > 0.0 ? x : 0.0;
    const u32 big = v >= 0x1p31;
    const f64 inside = big ? (v < 0x1p32 ? v - 0x1p31 : 0.0) : v;
    const u32 r = (u32)(s32)inside + (big ? 0x80000000u : 0u);
    return x != x ? 0x80000000u : v >= 0x1p32 ? 0xffffffffu : r;
}
#define LANES_TO_SMALL_INT(s, nan8, nan16) \
    LANES_INLINE s32 s##_clip(s x, s low, s high, s nan) \
    { \
        const s v = x > low ? x : low; \
        const s w = v < high ? v : high; \
        return (s32)(x != x ? nan : w); \
    } \
    LANES_INLINE s32 s##_to_u8(s x) { return s##_clip(x, (s)0, (s)255, (s)(nan8)); } \
    LANES_INLINE s32 s##_to_s8(s x) { return s##_clip(x, (s)-128, (s)127, (s) - (nan8)); } \
    LANES_INLINE s32 s##_to_u16(s x) { return s##_clip(x, (s)0, (s)65535, (s)(nan16)); } \
    LANES_INLINE s32 s##_to_s16(s x) { return s##_clip(x, (s)-32768, (s)32767, (s) - (nan16)); }
LANES_TO_SMALL_INT(f32, 0, 0)
LANES_TO_SMALL_INT(f64, 128, 32768)

/* ---- from integers in any rounding ---- */
/* a magnitude to a format of eb exponent and mb mantissa bits */
LANES_INLINE u64 format_from_int(u64 negative, u64 magnitude, int eb, int mb, u32 mode)
{
    const u64 sign = negative << (eb + mb);
    const u64 infinity = ((1ull << eb) - 1) << mb;
    if (magnitude == 0) return sign;
    const int e = 63 - (int)clz_64(magnitude);
    u64 kept;
    if (e <= mb) {
        kept = magnitude << (mb - e);
    } else {
        const int drop = e - mb;
        kept = magnitude >> drop;
        kept += round_up(kept, magnitude & ((1ull << drop) - 1), 1ull << (drop - 1), (u32)negative, mode);
    }
    const u64 bias = (1ull << (eb - 1)) - 1;
    const u64 r = kept + (((u64)(u32)e + bias - 1) << mb);
    if (r < infinity) return sign | r;
    const int to_largest = mode == MODE_RZ || (mode == MODE_RM && !negative) || (mode == MODE_RP && negative);
    return sign | (to_largest ? infinity - 1 : infinity);
}
/* of any integer type, through 128 bits */
LANES_INLINE u64 negative_of(s128 a) { return a < 0; }
LANES_INLINE u64 magnitude_of(s128 a) { return (u64)(a < 0 ? -a : a); }
LANES_INLINE f32 f32_from_int(u64 negative, u64 m, u32 imm)
{
    return float32((u32)format_from_int(negative, m, 8, 23, imm & MODE_MASK));
}
LANES_INLINE f64 f64_from_int(u64 negative, u64 m, u32 imm)
{
    return float64(format_from_int(negative, m, 11, 52, imm & MODE_MASK));
}
LANES_INLINE u64 clip_half(u64 h, u32 imm)
{
    return imm & FLAG_SAT ? ((h & 0x8000) ? 0 : h > 0x3c00 ? 0x3c00 : h) : h;
}
LANES_INLINE u64 small_from_int(u64 negative, u64 m, int eb, int mb, u32 imm)
{
    const u64 h = format_from_int(negative, m, eb, mb, imm & MODE_MASK);
    return eb == 5 ? clip_half(h, imm) : h;
}

LANES_INLINE u64 clamp_unsigned(u64 a, u64 high) { return a < high ? a : high; }
LANES_INLINE s64 clamp_signed(s64 a, s64 low, s64 high) { return a < low ? low : a > high ? high : a; }
#define clamp_u8(a, low, high)  clamp_unsigned(a, (u64)(high))
#define clamp_u16(a, low, high) clamp_unsigned(a, (u64)(high))
#define clamp_u32(a, low, high) clamp_unsigned(a, (u64)(high))
#define clamp_u64(a, low, high) clamp_unsigned(a, (u64)(high))
#define clamp_s8(a, low, high)  clamp_signed(a, low, (s64)(high))
#define clamp_s16(a, low, high) clamp_signed(a, low, (s64)(high))
#define clamp_s32(a, low, high) clamp_signed(a, low, (s64)(high))
#define clamp_s64(a, low, high) clamp_signed(a, low, (s64)(high))

/* ---- between floats, with options ---- */
LANES_INLINE f32 before32(f32 a, u32 imm) { return imm & FLAG_FTZ ? flush32(a) : a; }
LANES_INLINE f32 round32(f32 a, u32 imm)
{
    if (!(imm & FLAG_INTEGRAL)) return a;
    const u32 mode = imm & MODE_MASK;
    return mode == MODE_RN   ? f32_rint(a)
           : mode == MODE_RZ ? f32_trunc(a)
           : mode == MODE_RM ? f32_floor(a)
                             : f32_ceil(a);
}
LANES_INLINE f64 round64(f64 a, u32 imm)
{
    if (!(imm & FLAG_INTEGRAL)) return a;
    const u32 mode = imm & MODE_MASK;
    const f64 r = mode == MODE_RN   ? f64_rint(a)
                  : mode == MODE_RZ ? f64_trunc(a)
                  : mode == MODE_RM ? f64_floor(a)
                                    : f64_ceil(a);
    return canon64(r);
}
LANES_INLINE f32 after32(f32 r, u32 imm)
{
    r = canon32(r);
    r = imm & FLAG_FTZ ? flush32(r) : r;
    r = imm & FLAG_RELU ? relu32(r) : r;
    return imm & FLAG_SAT ? sat32(r) : r;
}
LANES_INLINE f64 after64(f64 r, u32 imm) { return imm & FLAG_SAT ? sat64(r) : r; }
LANES_INLINE f32 narrow32(f64 a, u32 imm)
{
    return a != a ? float32(NAN32) : float32(narrow_any(a, 8, 23, imm & MODE_MASK));
}

/* f16 or bf16 from a double that holds the value exactly */
LANES_INLINE u32 small_from_float(f64 a, int eb, int mb, u32 imm)
{
    a = imm & FLAG_RELU ? (a > 0.0 ? a : a != a ? a : 0.0) : a;
    a = imm & FLAG_SAT ? sat64(a) : a;
    const u32 mode = imm & FLAG_INTEGRAL ? 0 : imm & MODE_MASK;
    u32 h = narrow_any(a, eb, mb, mode);
    const u32 infinity = ((1u << eb) - 1) << mb;
    h = (imm & FLAG_FINITE) && (h & 0x7fff) == infinity ? h - 1 : h;
    return a != a ? NAN16 : h;
}
LANES_INLINE u32 small_pair(f32 high, f32 low, int eb, int mb, u32 imm)
{
    return small_from_float((f64)low, eb, mb, imm) | small_from_float((f64)high, eb, mb, imm) << 16;
}
/* tf32 lives in 32 bits, 13 of them zero */
LANES_INLINE u32 tf32_from_float(f32 a, u32 imm)
{
    const u32 u = bits32(a), m = u & 0x7fffffffu, sign = u & 0x80000000u;
    const u32 mode = imm & MODE_MASK;
    const u32 up = (u32)round_up(m >> 13, m & 0x1fffu, 0x1000u, sign != 0, mode);
    u32 r = ((m >> 13) + up) << 13;
    r = m >= 0x7f800000u ? m : r;
    r = (imm & FLAG_FINITE) && r >= 0x7f800000u ? 0x7f7fe000u : r;
    r = m > 0x7f800000u ? NAN32 : r | sign;
    return imm & FLAG_RELU ? (m > 0x7f800000u ? r : sign ? 0u : r) : r;
}

/* ---- 8-bit floats: always .satfinite; e4m3 has no infinity and its NaN is 0x7f ---- */
LANES_INLINE u32 fp8_from_float(f32 a, u32 is_e5m2, u32 imm)
{
    a = imm & FLAG_RELU ? (a > 0.0f ? a : a != a ? a : 0.0f) : a;
    const u32 sign = (bits32(a) >> 24) & 0x80u;
    const f64 m = (f64)abs32(a);
    const u32 e5 = narrow_any(m, 5, 2, MODE_RN);
    /* e4m3: exponent 15 is a number except for mantissa 7: one bit more of range than IEEE's form */
    const f64 unit = m >= 0x1p-6 ? float64((bits64(m) & 0x7ff0000000000000ull) - (3ull << 52)) : 0x1p-9;
    const f64 steps = f64_rint(m / unit);
    const f64 r4 = steps * unit > 448.0 ? 448.0 : steps * unit;
    const u64 u4 = bits64(r4);
    const u32 normal4 = (u32)(((u4 >> 49) - ((1023ull - 7) << 3)) & 0x7f);
    const u32 small4 = (u32)(r4 * 0x1p9);
    const u32 code4 = r4 < 0x1p-6 ? small4 : normal4;
    const u32 code5 = e5 >= 0x7c ? 0x7bu : e5;
    const u32 code = is_e5m2 ? code5 : code4;
    return a != a ? 0x7fu : sign | code;
}
LANES_INLINE u32 fp8_pair(f32 high, f32 low, u32 is_e5m2, u32 imm)
{
    return fp8_from_float(low, is_e5m2, imm) | fp8_from_float(high, is_e5m2, imm) << 8;
}
LANES_INLINE u32 half_from_fp8(u32 v, u32 is_e5m2, u32 imm)
{
    u32 h;
    if (is_e5m2) {
        h = v << 8;
        h = (h & 0x7fffu) > 0x7c00u ? NAN16 : h;
    } else {
        const u32 m = v & 0x7fu;
        const f32 value = m >= 8 ? float32(((m << 20) + (120u << 23))) : (f32)(s32)m * 0x1p-9f;
        h = m == 0x7fu ? NAN16 : (u32)float_to_half(value) | (v & 0x80u) << 8;
    }
    return imm & FLAG_RELU ? (h == NAN16 ? h : h & 0x8000u ? 0u : h) : h;
}
LANES_INLINE u32 halves_from_fp8(u32 pair, u32 is_e5m2, u32 imm)
{
    return half_from_fp8(pair & 0xff, is_e5m2, imm) | half_from_fp8((pair >> 8) & 0xff, is_e5m2, imm) << 16;
}

/* ---- f16 and bf16 arithmetic: computed wide, rounded once ---- */
LANES_INLINE u32 flush_half(u32 h) { return (h & 0x7c00u) == 0 ? h & 0x8000u : h; }
LANES_INLINE f32 half_in(u32 h, u32 imm)
{
    return half_to_float(imm & FLAG_FTZ ? flush_half(h & 0xffffu) : h);
}
LANES_INLINE f32 half_to_float_flushed(u32 h) { return half_to_float(flush_half(h)); }
LANES_INLINE u32 half_out(f32 r, u32 imm)
{
    u32 h = float_to_half(r);
    h = imm & FLAG_FTZ ? flush_half(h) : h;
    h = imm & FLAG_RELU ? (h == NAN16 ? h : h & 0x8000u ? 0u : h) : h;
    return imm & FLAG_SAT ? (h & 0x8000u ? 0u : h == NAN16 ? 0u : h > 0x3c00u ? 0x3c00u : h) : h;
}
LANES_INLINE u32 bf_out(f32 r, u32 imm)
{
    const u32 h = float_to_bf(r);
    const u32 v = imm & FLAG_RELU ? (h == NAN16 ? h : h & 0x8000u ? 0u : h) : h;
    return imm & FLAG_SAT ? (v & 0x8000u ? 0u : v == NAN16 ? 0u : v > 0x3f80u ? 0x3f80u : v) : v;
}
/* 24 bits are at least 2 * 11 + 2: the second rounding is harmless for +, -, * (Figueroa) */
LANES_INLINE u32 add_half(u32 a, u32 b, u32 imm) { return half_out(half_in(a, imm) + half_in(b, imm), imm); }
LANES_INLINE u32 sub_half(u32 a, u32 b, u32 imm) { return half_out(half_in(a, imm) - half_in(b, imm), imm); }
LANES_INLINE u32 mul_half(u32 a, u32 b, u32 imm) { return half_out(half_in(a, imm) * half_in(b, imm), imm); }
LANES_INLINE u32 fma_half(u32 a, u32 b, u32 c, u32 imm)
{
    const f64 p = (f64)half_in(a, imm) * (f64)half_in(b, imm);
    return half_out(narrow_odd(add_odd(p, (f64)half_in(c, imm))), imm);
}
LANES_INLINE u32 add_bf(u32 a, u32 b, u32 imm)
{
    return bf_out(narrow_odd(add_odd((f64)bf_to_float(a), (f64)bf_to_float(b))), imm);
}
LANES_INLINE u32 sub_bf(u32 a, u32 b, u32 imm)
{
    return bf_out(narrow_odd(add_odd((f64)bf_to_float(a), -(f64)bf_to_float(b))), imm);
}
LANES_INLINE u32 mul_bf(u32 a, u32 b, u32 imm)
{
    return bf_out(narrow_odd((f64)bf_to_float(a) * (f64)bf_to_float(b)), imm);
}
LANES_INLINE u32 fma_bf(u32 a, u32 b, u32 c, u32 imm)
{
    const f64 p = (f64)bf_to_float(a) * (f64)bf_to_float(b);
    return bf_out(narrow_odd(add_odd(p, (f64)bf_to_float(c))), imm);
}
LANES_INLINE f32 minmax_any(f32 a, f32 b, u32 is_max, u32 imm)
{
    const f32 fa = before32(a, imm), fb = before32(b, imm);
    const f32 p = imm & FLAG_XORSIGN ? abs32(fa) : fa, q = imm & FLAG_XORSIGN ? abs32(fb) : fb;
    f32 r = is_max ? max32(p, q) : min32(p, q);
    r = imm & FLAG_NAN ? poison32(r, a, b) : r;
    return (imm & FLAG_XORSIGN) && r == r ? xorsign32(r, a, b) : r;
}
LANES_INLINE u32 min_half(u32 a, u32 b, u32 imm)
{
    return half_out(minmax_any(half_in(a, imm), half_in(b, imm), 0, imm & ~(u32)FLAG_FTZ), imm);
}
LANES_INLINE u32 max_half(u32 a, u32 b, u32 imm)
{
    return half_out(minmax_any(half_in(a, imm), half_in(b, imm), 1, imm & ~(u32)FLAG_FTZ), imm);
}
LANES_INLINE u32 min_bf(u32 a, u32 b, u32 imm)
{
    return bf_out(minmax_any(bf_to_float(a), bf_to_float(b), 0, imm), imm);
}
LANES_INLINE u32 max_bf(u32 a, u32 b, u32 imm)
{
    return bf_out(minmax_any(bf_to_float(a), bf_to_float(b), 1, imm), imm);
}
LANES_INLINE u32 abs_half(u32 a, u32 imm) { return (imm & FLAG_FTZ ? flush_half(a) : a) & 0x7fffu; }
LANES_INLINE u32 neg_half(u32 a, u32 imm)
{
    return ((imm & FLAG_FTZ ? flush_half(a) : a) ^ 0x8000u) & 0xffffu;
}
LANES_INLINE u32 abs_bf(u32 a, u32 imm) { return (void)imm, a & 0x7fffu; }
LANES_INLINE u32 neg_bf(u32 a, u32 imm) { return (void)imm, (a ^ 0x8000u) & 0xffffu; }
LANES_INLINE u32 ex2_half(u32 a, u32 imm) { return half_out(ex2_core(half_in(a, imm)), imm); }
LANES_INLINE u32 tanh_half(u32 a, u32 imm) { return half_out(tanh_core(half_in(a, imm)), imm); }
LANES_INLINE f32 bf_flushed(u32 a, u32 imm) { return before32(bf_to_float(a), imm); }
LANES_INLINE u32 ex2_bf(u32 a, u32 imm) { return bf_out(before32(ex2_core(bf_flushed(a, imm)), imm), imm); }
LANES_INLINE u32 tanh_bf(u32 a, u32 imm) { return bf_out(tanh_core(bf_to_float(a)), imm); }

/* f(low halves) and f(high halves) of a packed word */
#define PAIR1(f)        (f(a & 0xffffu, imm) | f(a >> 16, imm) << 16)
#define PAIR2(f, flags) (f(a & 0xffffu, b & 0xffffu, flags) | f(a >> 16, b >> 16, flags) << 16)
#define PAIR3(f, flags) \
    (f(a & 0xffffu, b & 0xffffu, c & 0xffffu, flags) | f(a >> 16, b >> 16, c >> 16, flags) << 16)
#define PAIR2K(f, k) (f(a & 0xffffu, b & 0xffffu, k, imm) | f(a >> 16, b >> 16, k, imm) << 16)

/* kind: 0 min.u 1 min.s 2 max.u 3 max.s */
LANES_INLINE u32 minmax_16(u32 a, u32 b, u32 kind, u32 imm)
{
    const s32 p = kind & 1 ? (s32)(s16)(u16)a : (s32)a, q = kind & 1 ? (s32)(s16)(u16)b : (s32)b;
    s32 r = kind & 2 ? (p > q ? p : q) : (p < q ? p : q);
    r = (imm & FLAG_RELU) && r < 0 ? 0 : r;
    return (u32)r & 0xffffu;
}

/* the special modes of prmt as selectors of the general one; mode counts from f4e */
LANES_INLINE u32 prmt_selectors(u32 mode, u32 c)
{
    const u32 n = c & 3;
    switch (mode) {
    case 0: return 0x3210u + n * 0x1111u;                                            /* f4e */
    case 1: return n == 0 ? 0x5670u : n == 1 ? 0x6701u : n == 2 ? 0x7012u : 0x0123u; /* b4e */
    case 2: return n * 0x1111u;                                                      /* rc8 */
    case 3: return n == 0 ? 0x3210u : n == 1 ? 0x3211u : n == 2 ? 0x3222u : 0x3333u; /* ecl */
    case 4: return n == 0 ? 0x0000u : n == 1 ? 0x1110u : n == 2 ? 0x2210u : 0x3210u; /* ecr */
    default: return n & 1 ? 0x3232u : 0x1010u;                                       /* rc16 */
    }
}

/* cvt.pack: imm = enum below. Two values a (high), b (low) saturated; 8-bit and smaller kinds shift c up. */
enum { PACK_U16, PACK_S16, PACK_U8, PACK_S8, PACK_U4, PACK_S4, PACK_U2, PACK_S2 };
LANES_INLINE u32 pack_sat(s32 a, s32 b, u32 c, u32 kind)
{
    const u32 bits = 16u >> (kind >> 1);
    const s32 high = kind & 1 ? (s32)(1u << (bits - 1)) - 1 : (s32)((1u << bits) - 1);
    const s32 low = kind & 1 ? -(s32)(1u << (bits - 1)) : 0;
    const u32 mask = (1u << bits) - 1;
    const u32 p = (u32)(a < low ? low : a > high ? high : a) & mask;
    const u32 q = (u32)(b < low ? low : b > high ? high : b) & mask;
    const u32 pair = p << bits | q;
    return bits == 16 ? pair : pair | (bits == 8 ? c << 16 : bits == 4 ? c << 8 : c << 4);
}

/* ---- video ---- */
/* imm of the packed ones: operation, signs, saturation, accumulation and geometry */
enum {
    VIDEO_ADD,
    VIDEO_SUB,
    VIDEO_AVRG,
    VIDEO_ABSDIFF,
    VIDEO_MIN,
    VIDEO_MAX,
    VIDEO_SHL,
    VIDEO_SHR,
    VIDEO_MAD,
    VIDEO_SET_EQ, /* then ne lt le gt ge */
    VIDEO_OP_MASK = 15,
    VIDEO_A_SIGNED = 16,
    VIDEO_B_SIGNED = 32,
    VIDEO_D_SIGNED = 64,
    VIDEO_SAT = 128,
    VIDEO_ACCUMULATE = 256, /* .add: sum of the lanes plus c */
    VIDEO_QUAD = 512,       /* four bytes, else two half-words */
    VIDEO_MERGE_MIN = 1024, /* scalar: second operation */
    VIDEO_MERGE_MAX = 2048,
    VIDEO_SHIFT_WRAP = 4096,
    VIDEO_A_SEL = 13, /* scalar: bit positions of enum ptx_sel of a, b (3 bits each) */
    VIDEO_B_SEL = 16,
    VIDEO_D_SEL = 19
};
LANES_INLINE s64 video_op(u32 op, s64 a, s64 b)
{
    switch (op) {
    case VIDEO_ADD: return a + b;
    case VIDEO_SUB: return a - b;
    case VIDEO_AVRG: return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case VIDEO_ABSDIFF: return a > b ? a - b : b - a;
    case VIDEO_MIN: return a < b ? a : b;
    case VIDEO_MAX: return a > b ? a : b;
    case VIDEO_SET_EQ: return a == b;
    case VIDEO_SET_EQ + 1: return a != b;
    case VIDEO_SET_EQ + 2: return a < b;
    case VIDEO_SET_EQ + 3: return a <= b;
    case VIDEO_SET_EQ + 4: return a > b;
    default: return a >= b;
    }
}
LANES_INLINE u32 video_simd_32(u32 a, u32 b, u32 c, u32 imm)
{
    const u32 width = imm & VIDEO_QUAD ? 8 : 16, lanes = 32 / width, mask = (1u << width) - 1;
    const s64 high = imm & VIDEO_D_SIGNED ? (s64)(mask >> 1) : (s64)mask;
    const s64 low = imm & VIDEO_D_SIGNED ? -(s64)(mask >> 1) - 1 : 0;
    u32 packed = 0, sum = c;
    for (u32 i = 0; i < lanes; i++) {
        const s32 p =
            imm & VIDEO_QUAD ? byte_of(a, i, imm & VIDEO_A_SIGNED) : half_of(a, i, imm & VIDEO_A_SIGNED);
        const s32 q =
            imm & VIDEO_QUAD ? byte_of(b, i, imm & VIDEO_B_SIGNED) : half_of(b, i, imm & VIDEO_B_SIGNED);
        s64 r = video_op(imm & VIDEO_OP_MASK, p, q);
        if (imm & VIDEO_SAT) r = r < low ? low : r > high ? high : r;
        sum += (u32)r;
        packed |= ((u32)r & mask) << (i * width);
    }
    return imm & VIDEO_ACCUMULATE ? sum : packed;
}
LANES_INLINE s64 video_select(u32 v, u32 sel, u32 is_signed)
{
    if (sel >= 1 && sel <= 4) return byte_of(v, sel - 1, is_signed);
    if (sel == 5 || sel == 6) return half_of(v, sel - 5, is_signed);
    return is_signed ? (s64)(s32)v : (s64)v;
}
LANES_INLINE u32 video_scalar_32(u32 a, u32 b, u32 c, u32 imm)
{
    const s64 p = video_select(a, (imm >> VIDEO_A_SEL) & 7, imm & VIDEO_A_SIGNED);
    const s64 q = video_select(b, (imm >> VIDEO_B_SEL) & 7, imm & VIDEO_B_SIGNED);
    const u32 op = imm & VIDEO_OP_MASK;
    s128 r; /* a shift by 32 of 33 bits */
    if (op == VIDEO_SHL || op == VIDEO_SHR) {
        const u32 n = imm & VIDEO_SHIFT_WRAP ? (u32)q & 31 : (u64)q > 32 ? 32 : (u32)q;
        r = op == VIDEO_SHL ? (s128)p * ((s128)1 << n) : p >> n;
    } else {
        r = video_op(op, p, q);
    }
    if (imm & VIDEO_SAT) {
        const s64 high = imm & VIDEO_D_SIGNED ? INT32_MAX : (s64)UINT32_MAX,
                  low = imm & VIDEO_D_SIGNED ? INT32_MIN : 0;
        r = r < low ? low : r > high ? high : r;
    }
    const u32 t = (u32)r;
    const u32 sel = (imm >> VIDEO_D_SEL) & 7;
    if (sel >= 1 && sel <= 4) {
        const u32 shift = 8 * (sel - 1);
        return (c & ~(0xffu << shift)) | (t & 0xffu) << shift;
    }
    if (sel == 5 || sel == 6) {
        const u32 shift = 16 * (sel - 5);
        return (c & ~(0xffffu << shift)) | (t & 0xffffu) << shift;
    }
    if (imm & VIDEO_ACCUMULATE) return t + c;
    if (imm & VIDEO_MERGE_MIN) return imm & VIDEO_D_SIGNED ? ((s32)t < (s32)c ? t : c) : t < c ? t : c;
    if (imm & VIDEO_MERGE_MAX) return imm & VIDEO_D_SIGNED ? ((s32)t > (s32)c ? t : c) : t > c ? t : c;
    return t;
}

#endif
