/* lanes_approx: the approximate functions of PTX, the same bits on every machine.
 *
 * Only +, -, *, /, sqrt and integer operations: each is exact or correctly rounded everywhere, there is no
 * contraction, so the result is a function of the input alone. Polynomials are minimax fits (Remez). Error
 * bounds of the PTX manual and the measured ones: tests/proof/lanes_conformance_test.c. */
#ifndef ATOLL_EXEC_LANES_APPROX_H
#define ATOLL_EXEC_LANES_APPROX_H

#include "exec/lanes_float.h"

#define RINT_MAGIC32 12582912.0f /* 1.5 * 2^23: adding and subtracting rounds |x| < 2^22 to an integer */

/* 2^n for -126 <= n <= 127 */
LANES_INLINE f32 power_of_two(s32 n) { return float32((u32)(n + 127) << 23); }

/* 2^x: 2^n * 2^r, r in [-1/2, 1/2]; fit error 2^-28.9 */
LANES_INLINE f32 ex2_core(f32 x)
{
    f32 v = x < 130.0f ? x : 130.0f;
    v = v > -160.0f ? v : -160.0f; /* also catches NaN */
    const f32 n = (v + RINT_MAGIC32) - RINT_MAGIC32;
    const f32 r = v - n;
    f32 q = 0x1.41fbbcp-13f;
    q = q * r + 0x1.5f3e52p-10f;
    q = q * r + 0x1.3b2d4cp-7f;
    q = q * r + 0x1.c6aee8p-5f;
    q = q * r + 0x1.ebfbdcp-3f;
    q = q * r + 0x1.62e430p-1f;
    const f32 m = r * q + 1.0f;
    const s32 i = (s32)n, half = i >> 1;
    const f32 y = m * power_of_two(half) * power_of_two(i - half); /* two steps: results may be subnormal */
    return x != x ? float32(NAN32) : y;
}

/* log2 x of a positive normal or infinite x: e + f * P(f), f in [sqrt(1/2) - 1, sqrt(2) - 1]; fit error
 * 2^-27.9 */
LANES_INLINE f32 lg2_normal(f32 x, f32 bias)
{
    const u32 u = bits32(x) - 0x3f3504f3u; /* sqrt(1/2) */
    const s32 e = (s32)u >> 23;
    const f32 f = float32((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    f32 p = -0x1.c25a36p-4f;
    p = p * f + 0x1.7d4936p-3f;
    p = p * f + -0x1.874beap-3f;
    p = p * f + 0x1.a305aap-3f;
    p = p * f + -0x1.eabc88p-3f;
    p = p * f + 0x1.277e36p-2f;
    p = p * f + -0x1.715a76p-2f;
    p = p * f + 0x1.ec7096p-2f;
    p = p * f + -0x1.715470p-1f;
    /* log2(e) in two parts: the leading term carries most of the error */
    p = p * f + 0x1.49dcc0p-26f;
    const f32 tail = p * f;
    const f32 head = f * 0x1.715476p+0f;
    return ((f32)e - bias) + (head + tail);
}
LANES_INLINE f32 lg2_core(f32 x)
{
    const u32 subnormal = bits32(x) < 0x00800000u;
    const f32 scaled = subnormal ? x * 0x1p23f : x;
    const f32 r = lg2_normal(scaled, subnormal ? 23.0f : 0.0f);
    const f32 infinity = float32(0x7f800000u);
    const f32 s = x == infinity ? infinity : x == 0.0f ? -infinity : r;
    return (x < 0.0f) | (x != x) ? float32(NAN32) : s;
}

/* sin and cos: x - n * pi/2 in double (exact enough for |n| < 2^31), then polynomials on [-pi/4, pi/4]. */
LANES_INLINE f32 sincos_core(f32 x, u32 quarter)
{
    const f64 in_range = (x > -1e9f) & (x < 1e9f) ? (f64)x : 0.0;
    const f64 magic = 6755399441055744.0; /* 1.5 * 2^52 */
    const f64 shifted = in_range * 0.63661977236758134308 + magic;
    const u32 k = (u32)bits64(shifted) + quarter;
    const f64 n = shifted - magic;
    const f32 r = (f32)((in_range - n * 1.5707963267341256141663) - n * 6.0771005065061922e-11);
    const f32 t = r * r;
    f32 s = -0x1.993d72p-13f;
    s = s * t + 0x1.11072ep-7f;
    s = s * t + -0x1.555546p-3f;
    s = s * t * r + r;
    f32 c = 0x1.99f34cp-16f;
    c = c * t + -0x1.6c0c5ap-10f;
    c = c * t + 0x1.55554ap-5f;
    c = c * t * t + (1.0f - 0.5f * t);
    const u32 v = (k & 1u) != 0 ? bits32(c) : bits32(s);
    const f32 y = float32(v ^ (k & 2u) << 30);
    /* ASSUMPTION: beyond 1e9 the manual gives no bound; the result is that of 0 */
    return abs32(x) < float32(0x7f800000u) ? y : float32(NAN32);
}
LANES_INLINE f32 sin_core(f32 x) { return x == 0.0f ? x : sincos_core(x, 0); }
LANES_INLINE f32 cos_core(f32 x) { return sincos_core(x, 1); }

/* tanh: odd polynomial below 0.625 (fit error 2^-27.8), else 1 - 2 / (2^(2x log2 e) + 1) */
LANES_INLINE f32 tanh_core(f32 x)
{
    const f32 a = abs32(x);
    const f32 t = a * a;
    f32 p = -0x1.76ac30p-8f;
    p = p * t + 0x1.5256dcp-6f;
    p = p * t + -0x1.b8444ap-5f;
    p = p * t + 0x1.110768p-3f;
    p = p * t + -0x1.555534p-2f;
    const f32 small = p * t * a + a;
    const f32 clipped = a < 20.0f ? a : 20.0f;
    const f32 large = 1.0f - 2.0f / (ex2_core(clipped * 0x1.715476p+1f) + 1.0f);
    const f32 y = a < 0.625f ? small : large;
    return x != x ? float32(NAN32) : float32(bits32(y) | (bits32(x) & 0x80000000u));
}

LANES_INLINE f32 rcp_core(f32 x) { return canon32(1.0f / x); }
LANES_INLINE f32 sqrt_core(f32 x) { return canon32(__builtin_sqrtf(x)); }
LANES_INLINE f32 rsqrt_core(f32 x) { return canon32(1.0f / __builtin_sqrtf(x)); }
/* div.approx: a quotient by more than 2^126 is 0 (NaN for an infinite dividend), as the manual says */
LANES_INLINE f32 div_approx_core(f32 a, f32 b)
{
    const f32 m = abs32(b);
    const f32 q = a / b;
    const f32 zero = a * float32(bits32(b) & 0x80000000u); /* inf * 0 = NaN */
    return canon32((m > 0x1p126f) & (m < float32(0x7f800000u)) ? zero : q);
}
/* rcp/rsqrt.approx.ftz.f64: the upper half of the input decides, the lower half of the result is zero */
LANES_INLINE f64 gross_input(f64 x)
{
    const u64 u = bits64(x);
    const u64 high = u & 0xffffffff00000000ull;
    return float64((u & 0x7ff0000000000000ull) == 0 ? (u & 0x8000000000000000ull) : high);
}
LANES_INLINE f64 gross_result(f64 y)
{
    const u64 u = bits64(y);
    const u64 high = u & 0xffffffff00000000ull;
    const u64 r = (u & 0x7ff0000000000000ull) == 0 ? (u & 0x8000000000000000ull) : high;
    return y != y ? float64(0x7fffffff00000000ull) : float64(r);
}

#endif
