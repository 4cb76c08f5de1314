/* The reference: what one lane of a PTX instruction computes, from its spelling alone.
 *
 * Written from the PTX manual, includes nothing of src/. ref_read() takes a spelling apart and says which
 * operands it has; ref_eval() computes one lane. */
#ifndef CONFORMANCE_REF_EVAL_H
#define CONFORMANCE_REF_EVAL_H

#include <stdio.h>

#include "conformance/ref_number.h"

enum { REF_MAX_TYPES = 4, REF_MAX_WORDS = 12 };

struct ref_form {
    char spelling[96];
    char base[16];
    char word[REF_MAX_WORDS][16]; /* all dotted words after the base */
    int words;
    char type[REF_MAX_TYPES][10];
    int types;
    /* operands: h 16 bits, r 32, l 64, p predicate; 0 = none */
    char d, d2, a, b, c, e;
    uint32_t imm; /* lop3 table */
    bool reads_cc, writes_cc;
    int valid_bits; /* of d that are defined */
};
struct ref_in {
    uint64_t a, b, c, e;
    bool cc;
};
struct ref_out {
    uint64_t d, d2;
    bool cc;
};

/* ---- words and types ---- */
static inline bool ref_has(const struct ref_form *f, const char *w)
{
    for (int i = 0; i < f->words; i++)
        if (strcmp(f->word[i], w) == 0) return true;
    return false;
}
static inline bool ref_is(const char *a, const char *b) { return strcmp(a, b) == 0; }
static inline int ref_type_bits(const char *t)
{
    static const struct {
        const char *name;
        int bits;
    } rows[] = {{"b8", 8},    {"u8", 8},     {"s8", 8},      {"b16", 16},    {"u16", 16},    {"s16", 16},
                {"f16", 16},  {"bf16", 16},  {"b32", 32},    {"u32", 32},    {"s32", 32},    {"f32", 32},
                {"tf32", 32}, {"f16x2", 32}, {"bf16x2", 32}, {"u16x2", 32},  {"s16x2", 32},  {"b64", 64},
                {"u64", 64},  {"s64", 64},   {"f64", 64},    {"e4m3x2", 16}, {"e5m2x2", 16}, {"pred", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (ref_is(t, rows[i].name)) return rows[i].bits;
    return 0;
}
static inline bool ref_is_float(const char *t)
{
    return t[0] == 'f' || ref_is(t, "bf16") || ref_is(t, "bf16x2") || ref_is(t, "tf32");
}
static inline bool ref_is_signed(const char *t) { return t[0] == 's'; }
static inline bool ref_is_pair(const char *t) { return strlen(t) > 2 && ref_is(t + strlen(t) - 2, "x2"); }
static inline char ref_reg(const char *t)
{
    const int bits = ref_type_bits(t);
    return bits == 1 ? 'p' : bits <= 16 ? 'h' : bits == 32 ? 'r' : 'l';
}
static inline const struct ref_format *ref_format_of(const char *t)
{
    return t[0] == 'b' ? &ref_bf16 : ref_is(t, "f32") ? &ref_f32 : ref_is(t, "f64") ? &ref_f64 : &ref_f16;
}
static inline uint64_t ref_mask(int bits) { return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1; }
/* as a mathematical integer */
static inline ref_s128 ref_int(const char *t, uint64_t v)
{
    const int bits = ref_type_bits(t);
    v &= ref_mask(bits);
    if (ref_is_signed(t) && (v >> (bits - 1)) & 1) return (ref_s128)v - ((ref_s128)1 << bits);
    return (ref_s128)v;
}
static inline ref_s128 ref_type_max(const char *t)
{
    const int bits = ref_type_bits(t);
    return ref_is_signed(t) ? ((ref_s128)1 << (bits - 1)) - 1 : ((ref_s128)1 << bits) - 1;
}
static inline ref_s128 ref_type_min(const char *t)
{
    return ref_is_signed(t) ? -((ref_s128)1 << (ref_type_bits(t) - 1)) : 0;
}
static inline ref_s128 ref_clip(const char *t, ref_s128 v)
{
    return v > ref_type_max(t) ? ref_type_max(t) : v < ref_type_min(t) ? ref_type_min(t) : v;
}
static inline enum ref_mode ref_rounding(const struct ref_form *f)
{
    if (ref_has(f, "rz") || ref_has(f, "rzi")) return REF_RZ;
    if (ref_has(f, "rm") || ref_has(f, "rmi")) return REF_RM;
    if (ref_has(f, "rp") || ref_has(f, "rpi")) return REF_RP;
    if (ref_has(f, "rna")) return REF_RNA;
    return REF_RN;
}

/* ---- reading a spelling ---- */
static inline void ref_sources(struct ref_form *f, const char *s)
{
    f->a = s[0];
    f->b = s[0] ? s[1] : 0;
    f->c = s[0] && s[1] ? s[2] : 0;
    f->e = s[0] && s[1] && s[2] ? s[3] : 0;
}
static inline void ref_operands_same(struct ref_form *f, int count)
{
    const char r = ref_reg(f->type[0]);
    char s[5] = {0};
    for (int i = 0; i < count; i++) s[i] = r;
    f->d = r;
    ref_sources(f, s);
}
static inline bool ref_operands(struct ref_form *f)
{
    const char *o = f->base;
    const char t0 = f->types ? ref_reg(f->type[0]) : 0, t1 = f->types > 1 ? ref_reg(f->type[1]) : 0;
    char s[5] = {0};
    static const char *const two[] = {"add", "sub", "mul",  "div",  "rem",      "min",   "max", "and",
                                      "or",  "xor", "addc", "subc", "copysign", "mul24", "bmsk"};
    static const char *const one[] = {"abs", "neg", "not", "cnot", "rcp",  "sqrt", "rsqrt",
                                      "sin", "cos", "lg2", "ex2",  "tanh", "brev", "mov"};
    static const char *const three[] = {"fma", "mad", "madc", "sad", "mad24", "shf", "prmt"};
    for (size_t i = 0; i < sizeof two / sizeof two[0]; i++)
        if (ref_is(o, two[i])) {
            ref_operands_same(f, 2);
            if (ref_has(f, "wide")) f->d = t0 == 'h' ? 'r' : 'l';
            f->reads_cc = ref_is(o, "addc") || ref_is(o, "subc");
            f->writes_cc = ref_has(f, "cc");
            return true;
        }
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        if (ref_is(o, one[i])) return ref_operands_same(f, 1), true;
    for (size_t i = 0; i < sizeof three / sizeof three[0]; i++)
        if (ref_is(o, three[i])) {
            ref_operands_same(f, 3);
            if (ref_has(f, "wide")) f->d = f->c = t0 == 'h' ? 'r' : 'l';
            f->reads_cc = ref_is(o, "madc");
            f->writes_cc = ref_has(f, "cc");
            return true;
        }
    if (ref_is(o, "shl") || ref_is(o, "shr")) return f->d = f->a = t0, f->b = 'r', true;
    if (ref_is(o, "popc") || ref_is(o, "clz") || ref_is(o, "bfind")) return f->d = 'r', f->a = t0, true;
    if (ref_is(o, "bfe")) return f->d = f->a = t0, f->b = f->c = 'r', true;
    if (ref_is(o, "bfi")) return f->d = f->a = f->b = t0, f->c = f->e = 'r', true;
    if (ref_is(o, "szext")) return f->d = f->a = f->b = 'r', true;
    if (ref_is(o, "fns")) return f->d = f->a = f->b = f->c = 'r', true;
    if (ref_is(o, "dp4a") || ref_is(o, "dp2a")) return f->d = f->a = f->b = f->c = 'r', true;
    if (ref_is(o, "lop3")) return f->d = f->a = f->b = f->c = 'r', true;
    if (ref_is(o, "vabsdiff4") || ref_is(o, "vabsdiff2") || (o[0] == 'v' && strchr("24", o[strlen(o) - 1])))
        return f->d = f->a = f->b = f->c = 'r', true;
    if (o[0] == 'v') { /* scalar video: a third source with a second operation */
        f->d = f->a = f->b = 'r';
        f->c = ref_has(f, "add") || ref_has(f, "min") || ref_has(f, "max") ? 'r' : 0;
        return true;
    }
    if (ref_is(o, "selp")) return ref_operands_same(f, 2), f->c = 'p', true;
    if (ref_is(o, "slct")) return ref_operands_same(f, 2), f->c = 'r', true;
    if (ref_is(o, "testp")) return f->d = 'p', f->a = t0, true;
    if (ref_is(o, "setp")) {
        f->d = 'p';
        f->d2 = ref_is_pair(f->type[0]) || ref_has(f, "q") ? 'p' : 0;
        f->a = f->b = t0;
        f->c = ref_has(f, "and") || ref_has(f, "or") || ref_has(f, "xor") ? 'p' : 0;
        return true;
    }
    if (ref_is(o, "set")) {
        f->d = t0;
        f->a = f->b = t1;
        f->c = ref_has(f, "and") || ref_has(f, "or") || ref_has(f, "xor") ? 'p' : 0;
        return true;
    }
    if (ref_is(o, "cvt")) {
        if (ref_has(f, "pack")) {
            const bool sixteen = ref_type_bits(f->type[0]) == 16;
            s[0] = s[1] = 'r';
            s[2] = sixteen ? 0 : 'r';
            return f->d = 'r', ref_sources(f, s), true;
        }
        f->d = ref_type_bits(f->type[0]) == 8 ? 'r' : t0;
        f->a = ref_type_bits(f->type[1]) == 8 ? 'r' : t1;
        if (ref_is_pair(f->type[0]) && ref_is(f->type[1], "f32")) f->b = 'r';
        return true;
    }
    return false;
}
/* "setp.lt.s32" and so on; a word q on setp asks for the second destination (it is not part of PTX's
 * spelling) */
static inline bool ref_read(struct ref_form *f, const char *spelling)
{
    memset(f, 0, sizeof *f);
    (void)snprintf(f->spelling, sizeof f->spelling, "%s", spelling);
    const char *p = spelling;
    for (int n = 0; *p; n++) {
        const size_t len = strcspn(p, ".");
        if (len >= 16 || f->words >= REF_MAX_WORDS) return false;
        if (n == 0) {
            memcpy(f->base, p, len);
        } else {
            char *w = f->word[f->words++];
            memcpy(w, p, len);
            w[len] = 0;
            if (ref_type_bits(w) && f->types < REF_MAX_TYPES) memcpy(f->type[f->types++], w, 10);
        }
        p += len + (p[len] == '.');
    }
    f->imm = 0xca;
    if (!ref_operands(f)) return false;
    f->valid_bits = f->d == 'h' ? 16 : f->d == 'r' ? 32 : f->d == 'l' ? 64 : 1;
    return true;
}

/* ---- floating point ---- */
static inline uint64_t ref_flush(const struct ref_format *f, uint64_t v)
{
    const uint64_t field = ref_infinity(f), sign = UINT64_C(1) << (ref_bits(f) - 1);
    return (v & field) == 0 ? v & sign : v;
}
static inline bool ref_is_nan(const struct ref_format *f, uint64_t v)
{
    return (v & (ref_mask(ref_bits(f)) >> 1)) > ref_infinity(f);
}
static inline uint64_t ref_saturate(const struct ref_format *f, uint64_t v)
{
    const uint64_t one = ref_from_int(f, REF_RN, 1);
    if (ref_is_nan(f, v) || (v >> (ref_bits(f) - 1)) & 1) return 0;
    return v > one ? one : v;
}
static inline uint64_t ref_relu(const struct ref_format *f, uint64_t v)
{
    return ref_is_nan(f, v) ? f->nan : (v >> (ref_bits(f) - 1)) & 1 ? 0 : v;
}
/* min, max as the manual's pseudo code: NaN loses (or wins with .NaN), -0 < +0, .xorsign.abs */
static inline uint64_t ref_minmax(const struct ref_form *f, const struct ref_format *t, uint64_t a,
                                  uint64_t b)
{
    const uint64_t sign = UINT64_C(1) << (ref_bits(t) - 1);
    const uint64_t result_sign = ref_has(f, "xorsign") ? (a ^ b) & sign : 0;
    if (ref_has(f, "xorsign")) a &= ~sign, b &= ~sign;
    const bool na = ref_is_nan(t, a), nb = ref_is_nan(t, b);
    if (ref_has(f, "NaN") && (na || nb)) return t->nan;
    if (na && nb) return t->nan;
    uint64_t r;
    if (na || nb) {
        r = na ? b : a;
    } else {
        const int order = ref_order(ref_unpack(t, a), ref_unpack(t, b));
        const bool a_less = order < 0 || (order == 0 && (a & sign));
        r = ref_is(f->base, "min") == a_less ? a : b;
    }
    return r | result_sign;
}
static inline uint64_t ref_float_op(const struct ref_form *f, const struct ref_format *t, uint64_t a,
                                    uint64_t b, uint64_t c)
{
    const enum ref_mode mode = ref_rounding(f);
    const bool ftz = ref_has(f, "ftz");
    const uint64_t sign = UINT64_C(1) << (ref_bits(t) - 1);
    if (ftz) a = ref_flush(t, a), b = ref_flush(t, b), c = ref_flush(t, c);
    const struct ref_value x = ref_unpack(t, a), y = ref_unpack(t, b), z = ref_unpack(t, c);
    const char *o = f->base;
    uint64_t r = 0;
    if (ref_is(o, "neg")) return a ^ sign;
    if (ref_is(o, "abs")) return a & ~sign;
    if (ref_is(o, "min") || ref_is(o, "max")) return ref_minmax(f, t, a, b);
    if (ref_is(o, "add")) r = ref_add(t, mode, x, y);
    if (ref_is(o, "sub")) r = ref_add(t, mode, x, ref_unpack(t, b ^ (ref_is_nan(t, b) ? 0 : sign)));
    if (ref_is(o, "mul")) r = ref_mul(t, mode, x, y);
    if (ref_is(o, "fma") || ref_is(o, "mad")) r = ref_fma(t, mode, x, y, z);
    if (ref_is(o, "div")) r = ref_div(t, mode, x, y);
    if (ref_is(o, "rcp")) r = ref_div(t, mode, ref_one(), x);
    if (ref_is(o, "sqrt")) r = ref_sqrt(t, mode, x);
    if (ftz) r = ref_flush(t, r);
    if (ref_has(f, "relu")) r = ref_relu(t, r);
    return ref_has(f, "sat") ? ref_saturate(t, r) : r;
}
static inline uint64_t ref_float(const struct ref_form *f, const char *type, const struct ref_in *in)
{
    const struct ref_format *t = ref_format_of(type);
    if (!ref_is_pair(type))
        return ref_float_op(f, t, in->a & ref_mask(ref_bits(t)), in->b & ref_mask(ref_bits(t)),
                            in->c & ref_mask(ref_bits(t)));
    const uint64_t low = ref_float_op(f, t, in->a & 0xffff, in->b & 0xffff, in->c & 0xffff);
    const uint64_t high =
        ref_float_op(f, t, (in->a >> 16) & 0xffff, (in->b >> 16) & 0xffff, (in->c >> 16) & 0xffff);
    return low | high << 16;
}

/* ---- comparison ---- */
static inline bool ref_compare(const struct ref_form *f, const char *type, uint64_t a, uint64_t b)
{
    int order;
    if (ref_is_float(type)) {
        const struct ref_format *t = ref_format_of(type);
        a &= ref_mask(ref_bits(t)), b &= ref_mask(ref_bits(t));
        if (ref_has(f, "ftz")) a = ref_flush(t, a), b = ref_flush(t, b);
        order = ref_order(ref_unpack(t, a), ref_unpack(t, b));
    } else {
        char unsigned_type[10];
        (void)snprintf(unsigned_type, sizeof unsigned_type, "u%s", type + 1);
        const bool forced = ref_has(f, "lo") || ref_has(f, "ls") || ref_has(f, "hi") || ref_has(f, "hs");
        const char *t = forced ? unsigned_type : type;
        order = ref_int(t, a) < ref_int(t, b) ? -1 : ref_int(t, a) > ref_int(t, b);
    }
    const bool nan = order == 2;
    if (ref_has(f, "eq")) return order == 0;
    if (ref_has(f, "ne")) return !nan && order != 0;
    if (ref_has(f, "lt") || ref_has(f, "lo")) return order == -1;
    if (ref_has(f, "le") || ref_has(f, "ls")) return order == -1 || order == 0;
    if (ref_has(f, "gt") || ref_has(f, "hi")) return order == 1;
    if (ref_has(f, "ge") || ref_has(f, "hs")) return order == 1 || order == 0;
    if (ref_has(f, "equ")) return nan || order == 0;
    if (ref_has(f, "neu")) return nan || order != 0;
    if (ref_has(f, "ltu")) return nan || order == -1;
    if (ref_has(f, "leu")) return nan || order <= 0;
    if (ref_has(f, "gtu")) return nan || order == 1;
    if (ref_has(f, "geu")) return nan || order >= 0;
    return ref_has(f, "num") ? !nan : nan;
}
static inline bool ref_boolean(const struct ref_form *f, bool r, uint64_t c)
{
    if (ref_has(f, "and")) return r & (c & 1);
    if (ref_has(f, "or")) return r | (c & 1);
    if (ref_has(f, "xor")) return r ^ (c & 1);
    return r;
}
static inline void ref_setp(const struct ref_form *f, const struct ref_in *in, struct ref_out *out)
{
    if (ref_is_pair(f->type[0])) {
        const char *t = f->type[0][0] == 'b' ? "bf16" : "f16";
        out->d = ref_boolean(f, ref_compare(f, t, in->a & 0xffff, in->b & 0xffff), in->c);
        out->d2 = ref_boolean(f, ref_compare(f, t, (in->a >> 16) & 0xffff, (in->b >> 16) & 0xffff), in->c);
        return;
    }
    const bool r = ref_compare(f, f->type[0], in->a, in->b);
    out->d = ref_boolean(f, r, in->c);
    out->d2 = ref_boolean(f, !r, in->c);
}
static inline uint64_t ref_true(const char *t)
{
    if (ref_is(t, "f32")) return 0x3f800000;
    if (ref_is(t, "f16") || ref_is(t, "f16x2")) return 0x3c00;
    if (ref_is(t, "bf16") || ref_is(t, "bf16x2")) return 0x3f80;
    return ref_mask(ref_type_bits(t));
}
static inline uint64_t ref_set(const struct ref_form *f, const struct ref_in *in)
{
    if (ref_is_pair(f->type[1])) {
        const char *t = f->type[1][0] == 'b' ? "bf16" : "f16";
        const uint64_t one = ref_is_pair(f->type[0]) ? ref_true(f->type[0]) : 0xffff;
        const bool low = ref_boolean(f, ref_compare(f, t, in->a & 0xffff, in->b & 0xffff), in->c);
        const bool high =
            ref_boolean(f, ref_compare(f, t, (in->a >> 16) & 0xffff, (in->b >> 16) & 0xffff), in->c);
        return (low ? one : 0) | (high ? one << 16 : 0);
    }
    return ref_boolean(f, ref_compare(f, f->type[1], in->a, in->b), in->c) ? ref_true(f->type[0]) : 0;
}
static inline bool ref_testp(const struct ref_form *f, uint64_t v)
{
    const struct ref_format *t = ref_format_of(f->type[0]);
    const uint64_t m = v & (ref_mask(ref_bits(t)) >> 1), inf = ref_infinity(t),
                   least = UINT64_C(1) << t->mantissa_bits;
    if (ref_has(f, "finite")) return m < inf;
    if (ref_has(f, "infinite")) return m == inf;
    if (ref_has(f, "number")) return m <= inf;
    if (ref_has(f, "notanumber")) return m > inf;
    if (ref_has(f, "normal")) return m >= least && m < inf;
    return m != 0 && m < least;
}

/* ---- conversion ---- */
/* the 8-bit format without infinities: value of code, then the nearest by search */
static inline struct ref_value ref_e4m3(uint64_t code)
{
    const int field = (int)(code >> 3) & 15;
    const uint64_t fraction = code & 7;
    struct ref_value v = {REF_FINITE, (code >> 7) & 1, fraction, -9};
    if ((code & 0x7f) == 0x7f) v.kind = REF_NAN;
    if (field) v.mantissa |= 8, v.exponent = field - 10;
    if (!field && !fraction) v.kind = REF_ZERO;
    return v;
}
static inline uint64_t ref_to_e4m3(struct ref_value a)
{
    if (a.kind == REF_NAN) return 0x7f;
    const uint64_t sign = (uint64_t)a.negative << 7;
    a.negative = false;
    if (a.kind == REF_INF) return sign | 0x7e;
    uint64_t low = 0; /* the largest code not above a */
    while (low < 0x7e && ref_order(ref_e4m3(low + 1), a) <= 0) low++;
    if (low == 0x7e || ref_order(ref_e4m3(low), a) == 0) return sign | low;
    /* the middle between two neighbours has one more bit */
    struct ref_value x = ref_e4m3(low), y = ref_e4m3(low + 1);
    const struct ref_wide wx = ref_widen(x), wy = ref_widen(y), sum = ref_wide_add(&wx, &wy);
    a.exponent += 1;
    const struct ref_wide twice = ref_widen(a);
    const int order = ref_wide_compare(&twice, &sum);
    return sign | (order > 0 || (order == 0 && low & 1) ? low + 1 : low);
}
static inline uint64_t ref_cvt_float(const struct ref_form *f, const char *td, const char *ts, uint64_t v)
{
    const struct ref_format *s = ref_format_of(ts), *d = ref_format_of(td);
    const bool integral = ref_has(f, "rni") || ref_has(f, "rzi") || ref_has(f, "rmi") || ref_has(f, "rpi");
    v &= ref_mask(ref_bits(s));
    if (ref_has(f, "ftz") && ref_is(ts, "f32")) v = ref_flush(s, v);
    struct ref_value x = ref_unpack(s, v);
    uint64_t r;
    if (x.kind == REF_NAN && ref_is(td, "f64") && !ref_is(ts, "f64")) {
        /* widening keeps sign and payload, quietly */
        const uint64_t fraction = v & ((UINT64_C(1) << s->mantissa_bits) - 1);
        r = (uint64_t)x.negative << 63 | UINT64_C(0x7ff8000000000000) | fraction << (52 - s->mantissa_bits);
    } else if (ref_is(td, ts) && !integral) {
        r = x.kind == REF_NAN && !(ref_is(td, "f64") || ref_is(td, "f32")) ? d->nan : v;
        if (x.kind == REF_NAN && ref_is(td, "f32") &&
            (ref_has(f, "ftz") || ref_has(f, "sat") || ref_has(f, "relu")))
            r = d->nan;
    } else if (integral && x.kind == REF_FINITE) {
        const ref_s128 i = x.exponent >= 0 ? 1 : ref_to_int(ref_rounding(f), x);
        r = x.exponent >= 0 ? v : i == 0 ? ref_signed_zero(d, x.negative) : ref_from_int(d, REF_RN, i);
    } else {
        r = ref_from_value(d, integral ? REF_RN : ref_rounding(f), x);
    }
    if (ref_has(f, "ftz") && ref_is(td, "f32")) r = ref_flush(d, r);
    if (ref_has(f, "relu")) r = ref_relu(d, r);
    if (ref_has(f, "satfinite") && (r & (ref_mask(ref_bits(d)) >> 1)) == ref_infinity(d)) r--;
    return ref_has(f, "sat") ? ref_saturate(d, r) : r;
}
static inline uint64_t ref_cvt_e8(const struct ref_form *f, const char *td, struct ref_value x)
{
    if (ref_has(f, "relu") && x.kind != REF_NAN && x.negative) x = (struct ref_value){.kind = REF_ZERO};
    if (ref_is(td, "e4m3x2")) return ref_to_e4m3(x);
    uint64_t r = ref_from_value(&ref_e5m2, REF_RN, x);
    if (x.kind != REF_NAN && (r & 0x7f) == 0x7c) r--; /* .satfinite */
    return r;
}
static inline uint64_t ref_cvt_packed(const struct ref_form *f, const struct ref_in *in, bool *done)
{
    const char *td = f->type[0], *ts = f->type[1];
    *done = true;
    if (ref_is(td, "tf32")) {
        struct ref_value x = ref_unpack(&ref_f32, in->a);
        const struct ref_format tf = {8, 10, 0x7fffffff >> 13};
        if (x.kind == REF_NAN) return 0x7fffffff;
        uint64_t r = ref_from_value(&tf, ref_rounding(f), x) << 13;
        if (ref_has(f, "satfinite") && (r & 0x7fffffff) == 0x7f800000) r -= 1 << 13;
        return ref_has(f, "relu") && r >> 31 ? 0 : r;
    }
    const bool to8 = ref_is(td, "e4m3x2") || ref_is(td, "e5m2x2"),
               from8 = ref_is(ts, "e4m3x2") || ref_is(ts, "e5m2x2");
    if (to8 && ref_is(ts, "f32"))
        return ref_cvt_e8(f, td, ref_unpack(&ref_f32, in->b)) | ref_cvt_e8(f, td, ref_unpack(&ref_f32, in->a))
                                                                    << 8;
    if (to8)
        return ref_cvt_e8(f, td, ref_unpack(&ref_f16, in->a & 0xffff)) |
               ref_cvt_e8(f, td, ref_unpack(&ref_f16, (in->a >> 16) & 0xffff)) << 8;
    if (from8) {
        uint64_t r = 0;
        for (int i = 0; i < 2; i++) {
            const uint64_t code = (in->a >> (8 * i)) & 0xff;
            const struct ref_value x = ref_is(ts, "e4m3x2") ? ref_e4m3(code) : ref_unpack(&ref_e5m2, code);
            uint64_t h = ref_from_value(&ref_f16, REF_RN, x);
            if (ref_has(f, "relu")) h = ref_relu(&ref_f16, h);
            r |= h << (16 * i);
        }
        return r;
    }
    if (ref_is_pair(td) && ref_is(ts, "f32")) {
        const char *t = td[0] == 'b' ? "bf16" : "f16";
        return ref_cvt_float(f, t, "f32", in->b) | ref_cvt_float(f, t, "f32", in->a) << 16;
    }
    *done = false;
    return 0;
}
static inline uint64_t ref_cvt(const struct ref_form *f, const struct ref_in *in)
{
    const char *td = f->type[0], *ts = f->type[1];
    if (ref_has(f, "pack")) {
        const int bits = ref_type_bits(td);
        const uint64_t a = (uint64_t)ref_clip(td, ref_int("s32", in->a)) & ref_mask(bits);
        const uint64_t b = (uint64_t)ref_clip(td, ref_int("s32", in->b)) & ref_mask(bits);
        return bits == 16 ? a << 16 | b : (in->c << 16 & 0xffff0000) | a << 8 | b;
    }
    bool done;
    const uint64_t packed = ref_cvt_packed(f, in, &done);
    if (done) return packed;
    const bool fd = ref_is_float(td), fs = ref_is_float(ts);
    if (fd && fs) return ref_cvt_float(f, td, ts, in->a);
    if (fd) {
        const uint64_t r = ref_from_int(ref_format_of(td), ref_rounding(f), ref_int(ts, in->a));
        return ref_has(f, "sat") ? ref_saturate(ref_format_of(td), r) : r;
    }
    ref_s128 v;
    if (fs) {
        const struct ref_format *s = ref_format_of(ts);
        uint64_t bits = in->a & ref_mask(ref_bits(s));
        if (ref_has(f, "ftz")) bits = ref_flush(s, bits);
        const struct ref_value x = ref_unpack(s, bits);
        const int width = ref_type_bits(td);
        /* a NaN is 0, but where f64 or 64-bit integers take part only the top bit is set */
        v = x.kind != REF_NAN                  ? ref_clip(td, ref_to_int(ref_rounding(f), x))
            : ref_is(ts, "f64") || width == 64 ? (ref_s128)1 << (width - 1)
                                               : 0;
    } else {
        v = ref_int(ts, in->a);
        if (ref_has(f, "sat")) v = ref_clip(td, v);
    }
    return (uint64_t)ref_int(td, (uint64_t)v); /* extended to the register */
}

/* ---- integers ---- */
static inline uint64_t ref_prmt(const struct ref_form *f, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t bytes = (a & UINT32_MAX) | b << 32;
    /* d.b3 d.b2 d.b1 d.b0 for the selectors 0..3, as the manual's table */
    static const struct {
        const char *mode;
        uint8_t from[4][4];
    } rows[] = {{"f4e", {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}},
                {"b4e", {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}},
                {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
                {"ecl", {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}},
                {"ecr", {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}},
                {"rc16", {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}}};
    uint64_t d = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t select = (c >> (4 * i)) & 15;
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
            if (ref_has(f, rows[r].mode)) select = rows[r].from[c & 3][3 - i];
        uint64_t byte = (bytes >> (8 * (select & 7))) & 0xff;
        if (select & 8) byte = byte & 0x80 ? 0xff : 0;
        d |= byte << (8 * i);
    }
    return d;
}
static inline uint64_t ref_video(const struct ref_form *f, const struct ref_in *in)
{
    const char *o = f->base;
    const bool quad = o[strlen(o) - 1] == '4', set = strncmp(o, "vset", 4) == 0;
    const int bits = quad ? 8 : 16, lanes = quad ? 4 : 2;
    const char *td = set ? "u32" : f->type[0], *ta = f->type[set ? 0 : 1], *tb = f->type[set ? 1 : 2];
    char na[10], nb[10], nd[10];
    (void)snprintf(na, sizeof na, "%c%d", ta[0], bits);
    (void)snprintf(nb, sizeof nb, "%c%d", tb[0], bits);
    (void)snprintf(nd, sizeof nd, "%c%d", td[0], bits);
    uint64_t packed = 0, sum = in->c;
    for (int i = 0; i < lanes; i++) {
        const ref_s128 a = ref_int(na, in->a >> (bits * i)), b = ref_int(nb, in->b >> (bits * i));
        ref_s128 r = 0;
        if (strncmp(o, "vadd", 4) == 0) r = a + b;
        if (strncmp(o, "vsub", 4) == 0) r = a - b;
        if (strncmp(o, "vabsdiff", 8) == 0) r = a > b ? a - b : b - a;
        if (strncmp(o, "vmin", 4) == 0) r = a < b ? a : b;
        if (strncmp(o, "vmax", 4) == 0) r = a > b ? a : b;
        if (set)
            r = ref_has(f, "eq")   ? a == b
                : ref_has(f, "ne") ? a != b
                : ref_has(f, "lt") ? a < b
                : ref_has(f, "le") ? a <= b
                : ref_has(f, "gt") ? a > b
                                   : a >= b;
        if (ref_has(f, "sat")) r = ref_clip(nd, r);
        sum += (uint64_t)r;
        packed |= ((uint64_t)r & ref_mask(bits)) << (bits * i);
    }
    return (ref_has(f, "add") ? sum : packed) & UINT32_MAX;
}
static inline uint64_t ref_video_scalar(const struct ref_form *f, const struct ref_in *in)
{
    const char *o = f->base;
    const bool set = ref_is(o, "vset");
    const char *td = set ? "u32" : f->type[0], *ta = f->type[set ? 0 : 1], *tb = f->type[set ? 1 : 2];
    const ref_s128 a = ref_int(ta, in->a), b = ref_int(tb, in->b);
    ref_s128 r = 0;
    if (ref_is(o, "vadd")) r = a + b;
    if (ref_is(o, "vsub")) r = a - b;
    if (ref_is(o, "vabsdiff")) r = a > b ? a - b : b - a;
    if (ref_is(o, "vmin")) r = a < b ? a : b;
    if (ref_is(o, "vmax")) r = a > b ? a : b;
    if (ref_is(o, "vshl") || ref_is(o, "vshr")) {
        const int n = ref_has(f, "wrap") ? (int)(in->b & 31) : b > 32 ? 32 : (int)b;
        r = o[3] == 'l' ? a << n : a >> n;
    }
    if (set)
        r = ref_has(f, "eq")   ? a == b
            : ref_has(f, "ne") ? a != b
            : ref_has(f, "lt") ? a < b
            : ref_has(f, "le") ? a <= b
            : ref_has(f, "gt") ? a > b
                               : a >= b;
    if (ref_has(f, "sat")) r = ref_clip(td, r);
    const uint64_t t = (uint64_t)r & UINT32_MAX;
    if (ref_has(f, "add")) return (t + in->c) & UINT32_MAX;
    if (ref_has(f, "min")) return ref_int(td, t) < ref_int(td, in->c) ? t : in->c;
    if (ref_has(f, "max")) return ref_int(td, t) > ref_int(td, in->c) ? t : in->c;
    return t;
}
/* bit by bit, as the manual's pseudo code */
static inline uint64_t ref_bitfield(const struct ref_form *f, const struct ref_in *in)
{
    const char *t = f->type[0];
    const int width = ref_type_bits(t), msb = width - 1;
    if (ref_is(f->base, "bfe")) {
        const int pos = (int)(in->b & 0xff), len = (int)(in->c & 0xff);
        bool sign = false;
        if (ref_is_signed(t) && len != 0) sign = (in->a >> (pos + len - 1 < msb ? pos + len - 1 : msb)) & 1;
        uint64_t d = 0;
        for (int i = 0; i <= msb; i++)
            d |= (uint64_t)(i < len && pos + i <= msb ? (in->a >> (pos + i)) & 1 : sign) << i;
        return d;
    }
    const int pos = (int)(in->c & 0xff), len = (int)(in->e & 0xff);
    uint64_t d = in->b;
    for (int i = 0; i < len && pos + i <= msb; i++)
        d = (d & ~(UINT64_C(1) << (pos + i))) | ((in->a >> i) & 1) << (pos + i);
    return d;
}
static inline uint64_t ref_bits_op(const struct ref_form *f, const struct ref_in *in)
{
    const char *o = f->base, *t = f->type[0];
    const int width = ref_type_bits(t);
    uint64_t a = in->a & ref_mask(width), n = 0;
    if (ref_is(o, "popc")) {
        for (int i = 0; i < width; i++) n += (a >> i) & 1;
        return n;
    }
    if (ref_is(o, "clz")) {
        while (n < (uint64_t)width && !((a >> (width - 1 - (int)n)) & 1)) n++;
        return n;
    }
    if (ref_is(o, "brev")) {
        for (int i = 0; i < width; i++) n |= ((a >> i) & 1) << (width - 1 - i);
        return n;
    }
    if (ref_is(o, "bfind")) {
        if (ref_is_signed(t) && (a >> (width - 1)) & 1) a = ~a & ref_mask(width);
        for (int i = width - 1; i >= 0; i--)
            if ((a >> i) & 1) return ref_has(f, "shiftamt") ? (uint64_t)(width - 1 - i) : (uint64_t)i;
        return UINT32_MAX;
    }
    if (ref_is(o, "fns")) {
        const int base = (int)(in->b & 31);
        const int32_t offset = (int32_t)in->c;
        if (offset == 0) return (a >> base) & 1 ? (uint64_t)base : UINT32_MAX;
        int64_t count = offset > 0 ? (int64_t)offset - 1 : -(int64_t)offset - 1;
        for (int pos = base; pos >= 0 && pos<32; pos += offset> 0 ? 1 : -1)
            if ((a >> pos) & 1 && count-- == 0) return (uint64_t)pos;
        return UINT32_MAX;
    }
    if (ref_is(o, "bmsk")) {
        const uint64_t a1 = a & 31, b1 = in->b & 31;
        uint64_t mask0 = (UINT64_C(0xffffffff) << a1) & UINT32_MAX,
                 mask1 = (UINT64_C(0xffffffff) << (a1 + b1)) & UINT32_MAX;
        bool over = a1 + b1 >= 32;
        if (ref_has(f, "clamp")) {
            if (a >= 32) over = true, mask0 = 0;
            if ((in->b & UINT32_MAX) >= 32) over = true;
        }
        return mask0 & ~(over ? 0 : mask1);
    }
    /* szext */
    const uint64_t len = ref_has(f, "clamp") ? (in->b & UINT32_MAX) : in->b & 31;
    if (len >= 32) return a;
    uint64_t d = a & ref_mask((int)len);
    if (len > 0 && ref_is_signed(t) && (a >> (len - 1)) & 1) d |= UINT32_MAX & ~ref_mask((int)len);
    return len == 0 ? 0 : d;
}
static inline uint64_t ref_dot(const struct ref_form *f, const struct ref_in *in)
{
    ref_s128 r = ref_int("u32", in->c);
    const char *ta = ref_is_signed(f->type[0]) ? "s8" : "u8", *tb = ref_is_signed(f->type[1]) ? "s8" : "u8";
    if (ref_is(f->base, "dp4a")) {
        for (int i = 0; i < 4; i++) r += ref_int(ta, in->a >> (8 * i)) * ref_int(tb, in->b >> (8 * i));
    } else {
        ta = ref_is_signed(f->type[0]) ? "s16" : "u16";
        const int base = ref_has(f, "hi") ? 2 : 0;
        for (int i = 0; i < 2; i++)
            r += ref_int(ta, in->a >> (16 * i)) * ref_int(tb, in->b >> (8 * (base + i)));
    }
    return (uint64_t)r & UINT32_MAX;
}
static inline uint64_t ref_shift(const struct ref_form *f, const struct ref_in *in)
{
    const char *t = f->type[0];
    const int width = ref_type_bits(t);
    const uint64_t n = in->b & UINT32_MAX;
    const int by = n > (uint64_t)width ? width : (int)n;
    if (ref_is(f->base, "shl")) return by == width ? 0 : in->a << by;
    const ref_s128 v = ref_int(t, in->a);
    return (uint64_t)(v >> by);
}
static inline ref_s128 ref_int24(bool is_signed, uint64_t v)
{
    v &= 0xffffff;
    return is_signed && v >> 23 ? (ref_s128)v - (1 << 24) : (ref_s128)v;
}
/* quotient and remainder of the mathematical integers; by zero: all ones */
static inline uint64_t ref_divide(const struct ref_form *f, const char *t, const struct ref_in *in)
{
    const ref_s128 a = ref_int(t, in->a), b = ref_int(t, in->b);
    if (b == 0) return ref_mask(ref_type_bits(t));
    return (uint64_t)(ref_is(f->base, "div") ? a / b : a % b);
}
static inline ref_s128 ref_product(const struct ref_form *f, const struct ref_in *in)
{
    const char *t = f->type[0];
    const int width = ref_type_bits(t);
    if (ref_is(f->base, "mul24") || ref_is(f->base, "mad24")) {
        const ref_s128 p = ref_int24(ref_is_signed(t), in->a) * ref_int24(ref_is_signed(t), in->b);
        /* .hi: bits 47..16 as a 32-bit number of the type */
        return ref_has(f, "hi") ? ref_int(t, (uint64_t)(p >> 16)) : p;
    }
    if (width == 64 && !ref_is_signed(t)) { /* 128 bits unsigned do not fit a signed product */
        const ref_u128 p = (ref_u128)in->a * in->b;
        return ref_has(f, "hi") ? (ref_s128)(uint64_t)(p >> 64) : (ref_s128)(uint64_t)p;
    }
    const ref_s128 p = ref_int(t, in->a) * ref_int(t, in->b);
    return ref_has(f, "hi") ? p >> width : p;
}
static inline uint64_t ref_multiply(const struct ref_form *f, const struct ref_in *in, struct ref_out *out)
{
    const char *t = f->type[0];
    const int width = ref_type_bits(t);
    ref_s128 r = ref_product(f, in);
    if (strncmp(f->base, "mad", 3) != 0) return (uint64_t)r;
    if (f->reads_cc || f->writes_cc) {
        const ref_u128 sum =
            (ref_u128)((uint64_t)r & ref_mask(width)) + (in->c & ref_mask(width)) + (f->reads_cc && in->cc);
        out->cc = (sum >> width) & 1;
        return (uint64_t)sum;
    }
    if (ref_has(f, "sat")) return (uint64_t)ref_clip(t, r + ref_int(t, in->c));
    return (uint64_t)r + in->c;
}
static inline uint64_t ref_add_sub(const struct ref_form *f, const struct ref_in *in, struct ref_out *out)
{
    const char *t = f->type[0];
    const int width = ref_type_bits(t);
    const bool sub = strncmp(f->base, "sub", 3) == 0;
    if (ref_is_pair(t)) {
        const uint64_t low = sub ? in->a - in->b : in->a + in->b;
        const uint64_t high = sub ? (in->a >> 16) - (in->b >> 16) : (in->a >> 16) + (in->b >> 16);
        return (low & 0xffff) | (high & 0xffff) << 16;
    }
    if (ref_has(f, "sat")) {
        const ref_s128 a = ref_int(t, in->a), b = ref_int(t, in->b);
        return (uint64_t)ref_clip(t, sub ? a - b : a + b);
    }
    const ref_u128 a = in->a & ref_mask(width), b = in->b & ref_mask(width), carry = f->reads_cc && in->cc;
    const ref_u128 r = sub ? a - b - carry : a + b + carry;
    out->cc = (r >> width) & 1;
    return (uint64_t)r;
}
static inline uint64_t ref_min_max_int(const struct ref_form *f, const struct ref_in *in)
{
    const char *t = f->type[0];
    const bool max = ref_is(f->base, "max");
    if (!ref_is_pair(t)) {
        const ref_s128 a = ref_int(t, in->a), b = ref_int(t, in->b);
        const ref_s128 r = max == (a > b) ? a : b;
        return (uint64_t)(ref_has(f, "relu") && r < 0 ? 0 : r);
    }
    const char *h = ref_is_signed(t) ? "s16" : "u16";
    uint64_t d = 0;
    for (int i = 0; i < 2; i++) {
        const ref_s128 a = ref_int(h, in->a >> (16 * i)), b = ref_int(h, in->b >> (16 * i));
        ref_s128 r = max == (a > b) ? a : b;
        if (ref_has(f, "relu") && r < 0) r = 0;
        d |= ((uint64_t)r & 0xffff) << (16 * i);
    }
    return d;
}
static inline uint64_t ref_logic(const struct ref_form *f, const struct ref_in *in)
{
    const char *o = f->base;
    if (ref_is(o, "and")) return in->a & in->b;
    if (ref_is(o, "or")) return in->a | in->b;
    if (ref_is(o, "xor")) return in->a ^ in->b;
    if (ref_is(o, "not")) return ~in->a;
    if (ref_is(o, "cnot")) return (in->a & ref_mask(ref_type_bits(f->type[0]))) == 0;
    if (ref_is(o, "lop3")) {
        uint64_t d = 0;
        for (int i = 0; i < 32; i++) {
            const int row = (int)((in->a >> i & 1) << 2 | (in->b >> i & 1) << 1 | (in->c >> i & 1));
            d |= (uint64_t)((f->imm >> row) & 1) << i;
        }
        return d;
    }
    /* shf */
    uint64_t n = in->c & UINT32_MAX;
    n = ref_has(f, "clamp") ? (n > 32 ? 32 : n) : n & 31;
    const ref_u128 both = (ref_u128)(in->b & UINT32_MAX) << 32 | (in->a & UINT32_MAX);
    return (uint64_t)(ref_has(f, "l") ? both << n >> 32 : both >> n);
}

/* ---- one lane ---- */
static inline uint64_t ref_value_of(const struct ref_form *f, const struct ref_in *in, struct ref_out *out)
{
    const char *o = f->base, *t = f->type[0];
    if (ref_is(o, "cvt")) return ref_cvt(f, in);
    if (ref_is(o, "set")) return ref_set(f, in);
    if (ref_is(o, "testp")) return ref_testp(f, in->a);
    if (ref_is(o, "selp")) return in->c & 1 ? in->a : in->b;
    if (ref_is(o, "slct")) {
        if (ref_is(f->type[1], "s32")) return (int32_t)in->c >= 0 ? in->a : in->b;
        const uint64_t c = ref_has(f, "ftz") ? ref_flush(&ref_f32, in->c & UINT32_MAX) : in->c & UINT32_MAX;
        const int order = ref_order(ref_unpack(&ref_f32, c), (struct ref_value){.kind = REF_ZERO});
        return order == 0 || order == 1 ? in->a : in->b;
    }
    if (ref_is(o, "mov")) return in->a;
    if (ref_is(o, "copysign")) {
        const uint64_t sign = UINT64_C(1) << (ref_type_bits(t) - 1);
        return (in->a & sign) | (in->b & ~sign);
    }
    static const char *const logic[] = {"and", "or", "xor", "not", "cnot", "lop3", "shf"};
    for (size_t i = 0; i < sizeof logic / sizeof logic[0]; i++)
        if (ref_is(o, logic[i])) return ref_logic(f, in);
    if (ref_is_float(t)) return ref_float(f, t, in);
    if (o[0] == 'v') return strchr("24", o[strlen(o) - 1]) ? ref_video(f, in) : ref_video_scalar(f, in);
    if (ref_is(o, "shl") || ref_is(o, "shr")) return ref_shift(f, in);
    if (ref_is(o, "bfe") || ref_is(o, "bfi")) return ref_bitfield(f, in);
    if (ref_is(o, "prmt")) return ref_prmt(f, in->a, in->b, in->c);
    if (ref_is(o, "dp4a") || ref_is(o, "dp2a")) return ref_dot(f, in);
    if (ref_is(o, "div") || ref_is(o, "rem")) return ref_divide(f, t, in);
    if (strncmp(o, "mul", 3) == 0 || strncmp(o, "mad", 3) == 0) return ref_multiply(f, in, out);
    if (strncmp(o, "add", 3) == 0 || strncmp(o, "sub", 3) == 0) return ref_add_sub(f, in, out);
    if (ref_is(o, "min") || ref_is(o, "max")) return ref_min_max_int(f, in);
    if (ref_is(o, "neg")) return 0 - in->a;
    if (ref_is(o, "abs")) return (uint64_t)(ref_int(t, in->a) < 0 ? -ref_int(t, in->a) : ref_int(t, in->a));
    if (ref_is(o, "sad")) {
        const ref_s128 a = ref_int(t, in->a), b = ref_int(t, in->b);
        return in->c + (uint64_t)(a > b ? a - b : b - a);
    }
    return ref_bits_op(f, in);
}
static inline struct ref_out ref_eval(const struct ref_form *f, const struct ref_in *in)
{
    struct ref_out out = {0, 0, false};
    if (ref_is(f->base, "setp")) {
        ref_setp(f, in, &out);
        return out;
    }
    out.d = ref_value_of(f, in, &out) & ref_mask(f->valid_bits);
    return out;
}

#endif
