/* lanes_float: the floating-point formats of PTX as branch-free scalar functions.
 *
 * Written so that both gcc and clang turn loops over them into vector code; every function gives the same
 * bits whatever the instruction set. Values travel as bit patterns (f16, bf16, fp8) or as float/double.
 *
 * NaN results of arithmetic are canonical: f32 0x7fffffff, f16/bf16 0x7fff, as the PTX manual says.
 * ASSUMPTION: f64 results are the canonical 0xfff8000000000000 (CUDART_NAN) too; the manual leaves payloads
 * open. */
#ifndef ATOLL_EXEC_LANES_FLOAT_H
#define ATOLL_EXEC_LANES_FLOAT_H

#include <stdint.h>
#include <string.h>

#ifdef __clang__
/* & and | of comparisons are meant: && would be a branch */
#pragma clang diagnostic ignored "-Wbitwise-conditional-parentheses"
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"
#endif

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef float f32;
typedef double f64;

#define LANES_INLINE static inline __attribute__((always_inline, unused))

LANES_INLINE u32 bits32(f32 x)
{
    u32 u;
    memcpy(&u, &x, sizeof u);
    return u;
}
LANES_INLINE f32 float32(u32 u)
{
    f32 x;
    memcpy(&x, &u, sizeof x);
    return x;
}
LANES_INLINE u64 bits64(f64 x)
{
    u64 u;
    memcpy(&u, &x, sizeof u);
    return u;
}
LANES_INLINE f64 float64(u64 u)
{
    f64 x;
    memcpy(&x, &u, sizeof x);
    return x;
}

#define NAN32 0x7fffffffu
#define NAN64 0xfff8000000000000ull
#define NAN16 0x7fffu

LANES_INLINE f32 canon32(f32 x) { return x != x ? float32(NAN32) : x; }
LANES_INLINE f64 canon64(f64 x) { return x != x ? float64(NAN64) : x; }

/* .ftz: subnormals become zeros of the same sign */
LANES_INLINE f32 flush32(f32 x)
{
    const u32 u = bits32(x);
    return float32(u & ((u & 0x7f800000u) == 0 ? 0x80000000u : 0xffffffffu));
}
/* .sat: into [0, 1], NaN gives +0 */
LANES_INLINE f32 sat32(f32 x)
{
    const f32 low = x > 0.0f ? x : 0.0f;
    return low < 1.0f ? low : 1.0f;
}
LANES_INLINE f64 sat64(f64 x)
{
    const f64 low = x > 0.0 ? x : 0.0;
    return low < 1.0 ? low : 1.0;
}

/* p + c rounded to odd in double: a second rounding to any format of at most 51 bits is then exact.
 * Knuth's two-sum gives the error; truncate towards zero and set the last bit when it is not zero. */
LANES_INLINE f64 add_odd(f64 p, f64 c)
{
    const f64 s = p + c;
    const f64 t = s - p;
    const f64 e = (p - (s - t)) + (c - t);
    u64 u = bits64(s);
    const int inexact = (e > 0.0) | (e < 0.0); /* false for NaN: infinities stay */
    const int beyond = inexact & ((e > 0.0) == (s < 0.0));
    u = (u - (u64)beyond) | (u64)inexact;
    return float64(u);
}
/* double to float, rounded to odd */
LANES_INLINE f32 narrow_odd(f64 x)
{
    const f32 r = (f32)x;
    const f64 back = (f64)r;
    const int inexact = (back < x) | (back > x);
    const int beyond = inexact & ((back < x) == (x < 0.0));
    return float32((bits32(r) - (u32)beyond) | (u32)inexact);
}

/* ---- f16 ---- */
LANES_INLINE f32 half_to_float(u32 h)
{
    u32 o = (h & 0x7fffu) << 13;
    const u32 exponent = o & 0x0f800000u;
    o += 0x38000000u;
    o += exponent == 0x0f800000u ? 0x38000000u : 0u;
    const f32 subnormal = float32(o + 0x00800000u) - float32(0x38800000u); /* exact */
    const u32 magnitude = exponent == 0 ? bits32(subnormal) : o;
    return float32(magnitude | (h & 0x8000u) << 16);
}
/* round to nearest even */
LANES_INLINE u16 float_to_half(f32 x)
{
    const u32 all = bits32(x), sign = (all >> 16) & 0x8000u, u = all & 0x7fffffffu;
    const u32 normal = (u + 0xc8000fffu + ((u >> 13) & 1u)) >> 13;
    const u32 subnormal = bits32(float32(u) + 0.5f) - 0x3f000000u; /* the adder rounds */
    u32 r = u < 0x38800000u ? subnormal : normal;
    r = u >= 0x47800000u ? 0x7c00u : r;
    r |= sign;
    return (u16)(u > 0x7f800000u ? NAN16 : r);
}
/* ---- bf16 ---- */
LANES_INLINE f32 bf_to_float(u32 h) { return float32(h << 16); }
LANES_INLINE u16 float_to_bf(f32 x)
{
    const u32 u = bits32(x);
    const u32 r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return (u16)((u & 0x7fffffffu) > 0x7f800000u ? NAN16 : r);
}

/* A magnitude of 32 bits (sign removed) with `drop` low bits to lose: is it to be incremented by one unit?
 * mode: 0 nearest even, 1 towards zero, 2 towards -inf, 3 towards +inf, 4 nearest, ties away */
LANES_INLINE u64 round_up(u64 kept, u64 lost, u64 half, u32 negative, u32 mode)
{
    const u64 nearest = (lost > half) | ((lost == half) & (kept & 1));
    const u64 away = lost >= half;
    const u64 any = lost != 0;
    return mode == 0   ? nearest
           : mode == 4 ? away
           : mode == 2 ? (any & negative)
           : mode == 3 ? (any & !negative)
                       : 0;
}
/* double to a small format: exponent bits eb, mantissa bits mb, in any rounding. Overflow gives infinity or
 * the largest finite value as the rounding says. NaN is the caller's. Not for speed. */
LANES_INLINE u32 narrow_any(f64 x, int eb, int mb, u32 mode)
{
    const u64 u = bits64(x);
    const u32 negative = (u32)(u >> 63);
    const u32 sign = negative << (eb + mb);
    const int bias = (1 << (eb - 1)) - 1;
    const u32 infinity = ((1u << eb) - 1u) << mb;
    int e = (int)((u >> 52) & 0x7ff) - 1023;
    u64 m = u & 0xfffffffffffffull;
    if (e == 1024) return sign | infinity;
    if ((u << 1) == 0) return sign;
    if (e == -1023) /* a double subnormal is far below every small format */
        e = -1022;
    else
        m |= 1ull << 52;
    int drop = 52 - mb;
    if (e < 1 - bias) drop += 1 - bias - e;
    u64 kept, lost, half;
    if (drop > 54) { /* less than half of the smallest subnormal */
        kept = 0;
        lost = 1;
        half = 2;
    } else {
        kept = m >> drop;
        lost = m & ((1ull << drop) - 1);
        half = 1ull << (drop - 1);
    }
    kept += round_up(kept, lost, half, negative, mode);
    const int field = e < 1 - bias ? 0 : e + bias - 1; /* the hidden bit adds one */
    const u64 r = kept + ((u64)(u32)field << mb);
    if (r < infinity) return sign | (u32)r;
    const int to_largest = mode == 1 || (mode == 2 && !negative) || (mode == 3 && negative);
    return sign | (to_largest ? infinity - 1u : infinity);
}

/* ---- min, max: a NaN loses against a number; -0 < +0 ---- */
LANES_INLINE f32 min32(f32 a, f32 b)
{
    const f32 equal = float32(bits32(a) | bits32(b));
    const f32 r = a < b ? a : b < a ? b : equal;
    return a != a ? canon32(b) : b != b ? a : r;
}
LANES_INLINE f32 max32(f32 a, f32 b)
{
    const f32 equal = float32(bits32(a) & bits32(b));
    const f32 r = a > b ? a : b > a ? b : equal;
    return a != a ? canon32(b) : b != b ? a : r;
}
LANES_INLINE f64 min64(f64 a, f64 b)
{
    const f64 equal = float64(bits64(a) | bits64(b));
    const f64 r = a < b ? a : b < a ? b : equal;
    return a != a ? canon64(b) : b != b ? a : r;
}
LANES_INLINE f64 max64(f64 a, f64 b)
{
    const f64 equal = float64(bits64(a) & bits64(b));
    const f64 r = a > b ? a : b > a ? b : equal;
    return a != a ? canon64(b) : b != b ? a : r;
}
/* .NaN: a NaN wins */
LANES_INLINE f32 poison32(f32 r, f32 a, f32 b) { return (a != a) | (b != b) ? float32(NAN32) : r; }
/* .xorsign.abs */
LANES_INLINE f32 xorsign32(f32 r, f32 a, f32 b)
{
    return float32((bits32(r) & 0x7fffffffu) | ((bits32(a) ^ bits32(b)) & 0x80000000u));
}
LANES_INLINE f32 abs32(f32 x) { return float32(bits32(x) & 0x7fffffffu); }
LANES_INLINE f64 abs64(f64 x) { return float64(bits64(x) & 0x7fffffffffffffffull); }
LANES_INLINE f32 neg32(f32 x) { return float32(bits32(x) ^ 0x80000000u); }
LANES_INLINE f64 neg64(f64 x) { return float64(bits64(x) ^ 0x8000000000000000ull); }
/* .relu: negative and -0 give +0, NaN stays (canonical) */
LANES_INLINE f32 relu32(f32 x) { return x > 0.0f ? x : x != x ? float32(NAN32) : 0.0f; }

#endif
