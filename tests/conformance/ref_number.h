/* Exact numbers for the reference: floating-point values as integers, rounded once by shifting.
 *
 * Independent of src/: nothing of it is included, and no floating-point operation of the machine is used. A
 * finite value is a fixed-point integer with its last bit worth 2^-2200 (enough for a product of f64
 * subnormals); sums are therefore exact, and rounding looks at every bit. */
#ifndef CONFORMANCE_REF_NUMBER_H
#define CONFORMANCE_REF_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 ref_u128;
__extension__ typedef __int128 ref_s128;

enum ref_mode { REF_RN, REF_RZ, REF_RM, REF_RP, REF_RNA };

struct ref_format {
    int exponent_bits, mantissa_bits;
    uint64_t nan; /* canonical */
};
static const struct ref_format ref_f16 = {5, 10, 0x7fff};
static const struct ref_format ref_bf16 = {8, 7, 0x7fff};
static const struct ref_format ref_f32 = {8, 23, 0x7fffffff};
static const struct ref_format ref_f64 = {11, 52, 0xfff8000000000000};
static const struct ref_format ref_e5m2 = {5, 2, 0x7f};

enum ref_kind { REF_ZERO, REF_FINITE, REF_INF, REF_NAN };

/* mantissa * 2^exponent */
struct ref_value {
    enum ref_kind kind;
    bool negative;
    uint64_t mantissa;
    int exponent;
};

static inline int ref_bits(const struct ref_format *f) { return 1 + f->exponent_bits + f->mantissa_bits; }
static inline uint64_t ref_infinity(const struct ref_format *f)
{
    return ((UINT64_C(1) << f->exponent_bits) - 1) << f->mantissa_bits;
}

static inline struct ref_value ref_unpack(const struct ref_format *f, uint64_t bits)
{
    const int bias = (1 << (f->exponent_bits - 1)) - 1;
    const uint64_t fraction = bits & ((UINT64_C(1) << f->mantissa_bits) - 1);
    const int field = (int)((bits >> f->mantissa_bits) & ((UINT64_C(1) << f->exponent_bits) - 1));
    struct ref_value v = {REF_FINITE, (bits >> (ref_bits(f) - 1)) & 1, fraction, 1 - bias - f->mantissa_bits};
    if (field == (1 << f->exponent_bits) - 1) {
        v.kind = fraction ? REF_NAN : REF_INF;
    } else if (field != 0) {
        v.mantissa |= UINT64_C(1) << f->mantissa_bits;
        v.exponent += field - 1;
    } else if (fraction == 0) {
        v.kind = REF_ZERO;
    }
    return v;
}

/* ---- wide fixed point ---- */
enum { REF_WORDS = 70, REF_LSB = -2200 };
struct ref_wide {
    bool negative;
    uint64_t w[REF_WORDS];
};

static inline struct ref_wide ref_wide_of(bool negative, ref_u128 m, int exponent)
{
    struct ref_wide r = {.negative = negative};
    const int at = exponent - REF_LSB, word = at / 64, bit = at % 64;
    r.w[word] = (uint64_t)m << bit;
    r.w[word + 1] = (uint64_t)((m >> (64 - bit - 1)) >> 1);
    r.w[word + 2] = bit ? (uint64_t)(m >> (128 - bit)) : 0;
    return r;
}
static inline int ref_wide_compare(const struct ref_wide *a, const struct ref_wide *b) /* magnitudes */
{
    for (int i = REF_WORDS - 1; i >= 0; i--)
        if (a->w[i] != b->w[i]) return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}
static inline struct ref_wide ref_wide_add(const struct ref_wide *a, const struct ref_wide *b)
{
    struct ref_wide r = {.negative = a->negative};
    if (a->negative == b->negative) {
        uint64_t carry = 0;
        for (int i = 0; i < REF_WORDS; i++) {
            const ref_u128 s = (ref_u128)a->w[i] + b->w[i] + carry;
            r.w[i] = (uint64_t)s;
            carry = (uint64_t)(s >> 64);
        }
        return r;
    }
    const struct ref_wide *big = a, *small = b;
    if (ref_wide_compare(a, b) < 0) {
        big = b;
        small = a;
    }
    r.negative = big->negative;
    uint64_t borrow = 0;
    for (int i = 0; i < REF_WORDS; i++) {
        const ref_u128 s = (ref_u128)big->w[i] - small->w[i] - borrow;
        r.w[i] = (uint64_t)s;
        borrow = (uint64_t)(s >> 64) & 1;
    }
    return r;
}
static inline int ref_wide_top(const struct ref_wide *a) /* position of the highest bit, -1 for zero */
{
    for (int i = REF_WORDS - 1; i >= 0; i--)
        if (a->w[i]) return i * 64 + 63 - __builtin_clzll(a->w[i]);
    return -1;
}
static inline bool ref_wide_bit(const struct ref_wide *a, int at)
{
    return at >= 0 && ((a->w[at / 64] >> (at % 64)) & 1);
}
static inline bool ref_wide_any_below(const struct ref_wide *a, int at)
{
    for (int i = 0; i < at / 64; i++)
        if (a->w[i]) return true;
    return at > 0 && at % 64 && (a->w[at / 64] & ((UINT64_C(1) << (at % 64)) - 1));
}

/* ---- rounding ---- */
/* magnitude in units of the last place plus what was lost: does it go up? */
static inline bool ref_goes_up(enum ref_mode mode, bool negative, bool odd, bool half, bool more)
{
    switch (mode) {
    case REF_RN: return half && (more || odd);
    case REF_RZ: return false;
    case REF_RM: return negative && (half || more);
    case REF_RP: return !negative && (half || more);
    case REF_RNA: return half;
    }
    return false;
}
/* A non-zero wide number into a format. The value below the last bit is never lost: it is in the number. */
static inline uint64_t ref_round(const struct ref_format *f, enum ref_mode mode, const struct ref_wide *v)
{
    const int bias = (1 << (f->exponent_bits - 1)) - 1, lowest = 1 - bias - f->mantissa_bits;
    const int top = ref_wide_top(v);
    const uint64_t sign = (uint64_t)v->negative << (ref_bits(f) - 1);
    if (top < 0) return sign;
    int ulp = top + REF_LSB - f->mantissa_bits; /* exponent of the last kept bit */
    if (ulp < lowest) ulp = lowest;
    const int at = ulp - REF_LSB;
    uint64_t kept = 0;
    for (int i = 0; i <= f->mantissa_bits; i++) kept |= (uint64_t)ref_wide_bit(v, at + i) << i;
    kept += ref_goes_up(mode, v->negative, kept & 1, ref_wide_bit(v, at - 1), ref_wide_any_below(v, at - 1));
    /* subnormals have field 0; a carry out of the mantissa moves to the next field by itself */
    const uint64_t bits = kept + ((uint64_t)(ulp - lowest) << f->mantissa_bits);
    if (bits < ref_infinity(f)) return sign | bits;
    const bool stays = mode == REF_RZ || (mode == REF_RM && !v->negative) || (mode == REF_RP && v->negative);
    return sign | (stays ? ref_infinity(f) - 1 : ref_infinity(f));
}

/* ---- operations ---- */
static inline uint64_t ref_signed_zero(const struct ref_format *f, bool negative)
{
    return (uint64_t)negative << (ref_bits(f) - 1);
}
static inline struct ref_wide ref_widen(struct ref_value v)
{
    if (v.kind != REF_FINITE) return (struct ref_wide){.negative = v.negative};
    return ref_wide_of(v.negative, v.mantissa, v.exponent);
}
/* a*b + c in format f (sources may be of other formats: they are values) */
static inline uint64_t ref_fma(const struct ref_format *f, enum ref_mode mode, struct ref_value a,
                               struct ref_value b, struct ref_value c)
{
    const bool p_negative = a.negative != b.negative;
    if (a.kind == REF_NAN || b.kind == REF_NAN || c.kind == REF_NAN) return f->nan;
    const bool p_inf = a.kind == REF_INF || b.kind == REF_INF,
               p_zero = a.kind == REF_ZERO || b.kind == REF_ZERO;
    if (p_inf && p_zero) return f->nan;
    if (p_inf)
        return c.kind == REF_INF && c.negative != p_negative
                   ? f->nan
                   : ref_signed_zero(f, p_negative) | ref_infinity(f);
    if (c.kind == REF_INF) return ref_signed_zero(f, c.negative) | ref_infinity(f);
    if (p_zero && c.kind == REF_ZERO)
        return ref_signed_zero(f, p_negative == c.negative ? p_negative : mode == REF_RM);
    struct ref_wide p = {.negative = p_negative}, s = ref_widen(c);
    if (!p_zero) p = ref_wide_of(p_negative, (ref_u128)a.mantissa * b.mantissa, a.exponent + b.exponent);
    if (p_zero) p.negative = s.negative;
    if (c.kind == REF_ZERO) s.negative = p.negative;
    const struct ref_wide r = ref_wide_add(&p, &s);
    if (ref_wide_top(&r) < 0) return ref_signed_zero(f, mode == REF_RM);
    return ref_round(f, mode, &r);
}
static inline struct ref_value ref_one(void) { return (struct ref_value){REF_FINITE, false, 1, 0}; }
static inline uint64_t ref_add(const struct ref_format *f, enum ref_mode mode, struct ref_value a,
                               struct ref_value b)
{
    return ref_fma(f, mode, a, ref_one(), b);
}
static inline uint64_t ref_mul(const struct ref_format *f, enum ref_mode mode, struct ref_value a,
                               struct ref_value b)
{
    if (a.kind == REF_NAN || b.kind == REF_NAN) return f->nan;
    const bool negative = a.negative != b.negative;
    if (a.kind == REF_INF || b.kind == REF_INF)
        return a.kind == REF_ZERO || b.kind == REF_ZERO ? f->nan
                                                        : ref_signed_zero(f, negative) | ref_infinity(f);
    if (a.kind == REF_ZERO || b.kind == REF_ZERO) return ref_signed_zero(f, negative);
    const struct ref_wide p =
        ref_wide_of(negative, (ref_u128)a.mantissa * b.mantissa, a.exponent + b.exponent);
    return ref_round(f, mode, &p);
}
/* integer quotient with 70 bits more than needed at most, what remains as one more bit */
static inline uint64_t ref_div(const struct ref_format *f, enum ref_mode mode, struct ref_value a,
                               struct ref_value b)
{
    const bool negative = a.negative != b.negative;
    if (a.kind == REF_NAN || b.kind == REF_NAN) return f->nan;
    if (a.kind == REF_INF) return b.kind == REF_INF ? f->nan : ref_signed_zero(f, negative) | ref_infinity(f);
    if (b.kind == REF_INF) return ref_signed_zero(f, negative);
    if (b.kind == REF_ZERO)
        return a.kind == REF_ZERO ? f->nan : ref_signed_zero(f, negative) | ref_infinity(f);
    if (a.kind == REF_ZERO) return ref_signed_zero(f, negative);
    while (!(a.mantissa >> 52)) a.mantissa <<= 1, a.exponent--;
    while (!(b.mantissa >> 52)) b.mantissa <<= 1, b.exponent--;
    const ref_u128 n = (ref_u128)a.mantissa << 70, q = n / b.mantissa;
    const bool rest = n % b.mantissa != 0;
    const struct ref_wide w = ref_wide_of(negative, q << 1 | rest, a.exponent - b.exponent - 71);
    return ref_round(f, mode, &w);
}
static inline uint64_t ref_sqrt(const struct ref_format *f, enum ref_mode mode, struct ref_value a)
{
    if (a.kind == REF_NAN) return f->nan;
    if (a.kind == REF_ZERO) return ref_signed_zero(f, a.negative);
    if (a.negative) return f->nan;
    if (a.kind == REF_INF) return ref_infinity(f);
    while (!(a.mantissa >> 52)) a.mantissa <<= 1, a.exponent--;
    int shift = 70;
    if ((a.exponent - shift) & 1) shift++;
    const ref_u128 n = (ref_u128)a.mantissa << shift;
    ref_u128 root = 0;
    for (int bit = 63; bit >= 0; bit--) {
        const ref_u128 t = root | (ref_u128)1 << bit;
        if (t * t <= n) root = t;
    }
    const struct ref_wide w =
        ref_wide_of(false, root << 1 | (root * root != n), (a.exponent - shift) / 2 - 1);
    return ref_round(f, mode, &w);
}
static inline uint64_t ref_from_value(const struct ref_format *f, enum ref_mode mode, struct ref_value a)
{
    if (a.kind == REF_NAN) return f->nan;
    if (a.kind == REF_INF) return ref_signed_zero(f, a.negative) | ref_infinity(f);
    if (a.kind == REF_ZERO) return ref_signed_zero(f, a.negative);
    const struct ref_wide w = ref_widen(a);
    return ref_round(f, mode, &w);
}
static inline uint64_t ref_from_int(const struct ref_format *f, enum ref_mode mode, ref_s128 v)
{
    if (v == 0) return 0;
    const struct ref_wide w = ref_wide_of(v < 0, (ref_u128)(v < 0 ? -v : v), 0);
    return ref_round(f, mode, &w);
}
/* to an integer, not limited: |value| < 2^120 else saturated there */
static inline ref_s128 ref_to_int(enum ref_mode mode, struct ref_value a)
{
    const ref_s128 far = (ref_s128)1 << 120;
    if (a.kind == REF_ZERO || a.kind == REF_NAN) return 0;
    if (a.kind == REF_INF) return a.negative ? -far : far;
    const struct ref_wide w = ref_widen(a);
    const int top = ref_wide_top(&w), unit = -REF_LSB;
    if (top - unit >= 119) return a.negative ? -far : far;
    ref_s128 kept = 0;
    for (int i = top; i >= unit; i--) kept = kept << 1 | ref_wide_bit(&w, i);
    kept +=
        ref_goes_up(mode, a.negative, kept & 1, ref_wide_bit(&w, unit - 1), ref_wide_any_below(&w, unit - 1));
    return a.negative ? -kept : kept;
}
/* ordering: -1, 0, 1; 2 = unordered */
static inline int ref_order(struct ref_value a, struct ref_value b)
{
    if (a.kind == REF_NAN || b.kind == REF_NAN) return 2;
    const int sa = a.kind == REF_ZERO ? 0
                   : a.negative       ? -1
                                      : 1,
              sb = b.kind == REF_ZERO ? 0
                   : b.negative       ? -1
                                      : 1;
    if (sa != sb) return sa < sb ? -1 : 1;
    if (sa == 0) return 0;
    int magnitude;
    if (a.kind == REF_INF || b.kind == REF_INF) {
        magnitude = a.kind == b.kind ? 0 : a.kind == REF_INF ? 1 : -1;
    } else {
        const struct ref_wide x = ref_widen(a), y = ref_widen(b);
        magnitude = ref_wide_compare(&x, &y);
    }
    return sa * magnitude;
}

#endif
