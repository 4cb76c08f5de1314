/* The instruction forms under test: spellings, generated from the grammar of the PTX manual. */
#ifndef CONFORMANCE_FORMS_H
#define CONFORMANCE_FORMS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct forms {
    char (*text)[96];
    size_t count, room;
};
static void form(struct forms *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void form(struct forms *f, const char *format, ...)
{
    if (f->count == f->room) {
        f->room = f->room ? 2 * f->room : 512;
        f->text = realloc(f->text, f->room * sizeof f->text[0]);
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(f->text[f->count], sizeof f->text[0], format, args);
    va_end(args);
    f->count++;
}
#define EACH(name, ...) \
    for (const char *const *name = (const char *const[]){__VA_ARGS__, NULL}; *name; name++)

static __attribute__((unused)) void forms_integer(struct forms *f)
{
    EACH(t, "u16", "s16", "u32", "s32", "u64", "s64")
    {
        EACH(o, "add", "sub", "mul.lo", "mul.hi", "mad.lo", "mad.hi", "sad", "div", "rem", "min", "max")
        form(f, "%s.%s", *o, *t);
        if (!strstr(*t, "64")) form(f, "mul.wide.%s", *t), form(f, "mad.wide.%s", *t);
        if ((*t)[0] == 's') form(f, "abs.%s", *t), form(f, "neg.%s", *t);
        form(f, "shr.%s", *t);
    }
    EACH(o, "add.sat.s32", "sub.sat.s32", "mad.hi.sat.s32", "mad24.hi.sat.s32", "min.relu.s32",
         "max.relu.s32", "add.u16x2", "add.s16x2", "min.u16x2", "min.s16x2", "max.u16x2", "max.s16x2",
         "min.relu.s16x2", "max.relu.s16x2")
    form(f, "%s", *o);
    EACH(t, "u32", "s32", "u64", "s64")
    {
        EACH(o, "add.cc", "addc", "addc.cc", "sub.cc", "subc", "subc.cc", "mad.lo.cc", "mad.hi.cc", "madc.lo",
             "madc.hi", "madc.lo.cc", "madc.hi.cc", "bfind", "bfind.shiftamt", "bfe")
        form(f, "%s.%s", *o, *t);
    }
    EACH(t, "u32", "s32")
    {
        EACH(o, "mul24.lo", "mul24.hi", "mad24.lo", "mad24.hi", "szext.clamp", "szext.wrap")
        form(f, "%s.%s", *o, *t);
        EACH(s, "u32", "s32") EACH(o, "dp4a", "dp2a.lo", "dp2a.hi") form(f, "%s.%s.%s", *o, *t, *s);
    }
    EACH(t, "b32", "b64") EACH(o, "popc", "clz", "brev", "bfi") form(f, "%s.%s", *o, *t);
    EACH(t, "b16", "b32", "b64")
    EACH(o, "and", "or", "xor", "not", "cnot", "shl", "shr") form(f, "%s.%s", *o, *t);
    EACH(o, "and.pred", "or.pred", "xor.pred", "not.pred", "mov.pred", "bmsk.clamp.b32", "bmsk.wrap.b32",
         "fns.b32", "lop3.b32", "shf.l.clamp.b32", "shf.l.wrap.b32", "shf.r.clamp.b32", "shf.r.wrap.b32",
         "prmt.b32", "prmt.b32.f4e", "prmt.b32.b4e", "prmt.b32.rc8", "prmt.b32.ecl", "prmt.b32.ecr",
         "prmt.b32.rc16", "cvt.pack.sat.u16.s32", "cvt.pack.sat.s16.s32", "cvt.pack.sat.u8.s32.b32",
         "cvt.pack.sat.s8.s32.b32")
    form(f, "%s", *o);
    EACH(t, "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")
    {
        form(f, "mov.%s", *t);
        form(f, "selp.%s", *t);
        form(f, "slct.%s.s32", *t);
        form(f, "slct.%s.f32", *t);
        form(f, "slct.ftz.%s.f32", *t);
    }
}
static __attribute__((unused)) void forms_video(struct forms *f)
{
    EACH(o, "vadd", "vsub", "vabsdiff", "vmin", "vmax")
    EACH(n, "2", "4") EACH(d, "u32", "s32") EACH(a, "u32", "s32") EACH(b, "u32", "s32")
    {
        form(f, "%s%s.%s.%s.%s", *o, *n, *d, *a, *b);
        form(f, "%s%s.%s.%s.%s.sat", *o, *n, *d, *a, *b);
        form(f, "%s%s.%s.%s.%s.add", *o, *n, *d, *a, *b);
    }
    EACH(n, "2", "4") EACH(a, "u32", "s32") EACH(c, "eq", "ne", "lt", "le", "gt", "ge")
    {
        form(f, "vset%s.%s.%s.%s", *n, *a, *a, *c);
        form(f, "vset%s.%s.%s.%s.add", *n, *a, *a, *c);
    }
}
static __attribute__((unused)) void forms_video_scalar(struct forms *f)
{
    EACH(d, "u32", "s32") EACH(a, "u32", "s32") EACH(z, "", ".sat") EACH(second, "", ".add", ".min", ".max")
    {
        EACH(o, "vadd", "vsub", "vabsdiff", "vmin", "vmax")
        EACH(b, "u32", "s32") form(f, "%s.%s.%s.%s%s%s", *o, *d, *a, *b, *z, *second);
        EACH(o, "vshl", "vshr")
        EACH(w, ".clamp", ".wrap") form(f, "%s.%s.%s.u32%s%s%s", *o, *d, *a, *z, *w, *second);
    }
    EACH(a, "u32", "s32")
    EACH(b, "u32", "s32")
    EACH(c, "eq", "ne", "lt", "le", "gt", "ge")
    EACH(second, "", ".add", ".min", ".max") form(f, "vset.%s.%s.%s%s", *a, *b, *c, *second);
}
static __attribute__((unused)) void forms_compare(struct forms *f)
{
    EACH(t, "b16", "b32", "b64") EACH(c, "eq", "ne") form(f, "setp.%s.%s", *c, *t);
    EACH(t, "s16", "s32", "s64", "u16", "u32", "u64") EACH(c, "eq", "ne", "lt", "le", "gt", "ge")
    {
        form(f, "setp.%s.%s", *c, *t);
        form(f, "setp.%s.%s.q", *c, *t);
        form(f, "set.%s.u32.%s", *c, *t);
        EACH(b, "and", "or", "xor") form(f, "setp.%s.%s.%s.q", *c, *b, *t);
    }
    EACH(t, "u16", "u32", "u64") EACH(c, "lo", "ls", "hi", "hs") form(f, "setp.%s.%s", *c, *t);
    EACH(t, "f32", "ftz.f32", "f64", "f16", "ftz.f16", "bf16")
    EACH(c, "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    {
        form(f, "setp.%s.%s", *c, *t);
        EACH(b, "and", "or", "xor") form(f, "setp.%s.%s.%s", *c, *b, *t);
        if (strstr(*t, "f16") == NULL) EACH(d, "u32", "s32", "f32")
            {
                const bool ftz = strncmp(*t, "ftz.", 4) == 0;
                form(f, "set.%s.%s%s.%s", *c, ftz ? "ftz." : "", *d, ftz ? *t + 4 : *t);
            }
    }
    EACH(c, "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    {
        EACH(t, "f16x2", "ftz.f16x2", "bf16x2") form(f, "setp.%s.%s", *c, *t);
        EACH(t, "f16.f16", "ftz.f16.f16", "u16.f16", "u32.f16", "f16x2.f16x2", "u32.f16x2", "bf16.bf16",
             "u32.bf16", "bf16x2.bf16x2")
        form(f, "set.%s.%s", *c, *t);
        form(f, "set.%s.and.f32.f32", *c);
        form(f, "set.%s.xor.u32.f64", *c);
    }
    EACH(t, "f32", "f64")
    EACH(c, "finite", "infinite", "number", "notanumber", "normal", "subnormal")
    form(f, "testp.%s.%s", *c, *t);
}
static __attribute__((unused)) void forms_float(struct forms *f)
{
    EACH(z, "", ".ftz") EACH(s, "", ".sat")
    {
        EACH(o, "add", "sub", "mul")
        EACH(r, "", ".rn", ".rz", ".rm", ".rp") form(f, "%s%s%s%s.f32", *o, *r, *z, *s);
        EACH(o, "fma", "mad") EACH(r, ".rn", ".rz", ".rm", ".rp") form(f, "%s%s%s%s.f32", *o, *r, *z, *s);
        EACH(t, "f16", "f16x2")
        {
            EACH(o, "add", "sub", "mul", "add.rn", "sub.rn", "mul.rn", "fma.rn")
            form(f, "%s%s%s.%s", *o, *z, *s, *t);
        }
    }
    EACH(z, "", ".ftz")
    {
        EACH(o, "div", "rcp", "sqrt") EACH(r, ".rn", ".rz", ".rm", ".rp") form(f, "%s%s%s.f32", *o, *r, *z);
        EACH(o, "abs", "neg") EACH(t, "f32", "f16", "f16x2") form(f, "%s%s.%s", *o, *z, *t);
        EACH(o, "min", "max")
        EACH(n, "", ".NaN")
        EACH(x, "", ".xorsign.abs") EACH(t, "f32", "f16", "f16x2") form(f, "%s%s%s%s.%s", *o, *z, *n, *x, *t);
        EACH(t, "f16", "f16x2") form(f, "fma.rn%s.relu.%s", *z, *t);
    }
    EACH(t, "bf16", "bf16x2")
    {
        EACH(o, "add", "sub", "mul", "add.rn", "fma.rn", "fma.rn.relu", "abs", "neg", "min", "max", "min.NaN",
             "max.NaN", "min.xorsign.abs", "max.NaN.xorsign.abs")
        form(f, "%s.%s", *o, *t);
    }
    EACH(r, ".rn", ".rz", ".rm", ".rp")
    EACH(o, "add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt") form(f, "%s%s.f64", *o, *r);
    EACH(o, "add", "sub", "mul", "abs", "neg", "min", "max", "copysign") form(f, "%s.f64", *o);
    form(f, "copysign.f32");
}
/* .sat is only legal where something can be lost */
static __attribute__((unused)) bool holds_all_of(const char *d, const char *s)
{
    const int bits_d = atoi(d + 1), bits_s = atoi(s + 1);
    if (d[0] == s[0]) return bits_d >= bits_s;
    return d[0] == 's' && bits_d > bits_s;
}
static __attribute__((unused)) void forms_convert(struct forms *f)
{
    EACH(d, "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
    {
        EACH(s, "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
        {
            form(f, "cvt.%s.%s", *d, *s);
            if (!holds_all_of(*d, *s)) form(f, "cvt.sat.%s.%s", *d, *s);
        }
        EACH(r, "rni", "rzi", "rmi", "rpi")
        {
            EACH(s, "f16", "f32", "f64") form(f, "cvt.%s.%s.%s", *r, *d, *s);
            if (strlen(*d) > 2) form(f, "cvt.%s.%s.bf16", *r, *d);
            form(f, "cvt.%s.ftz.%s.f32", *r, *d);
            form(f, "cvt.%s.sat.%s.f32", *r, *d);
        }
        EACH(r, "rn", "rz", "rm", "rp")
        {
            EACH(t, "f16", "f32", "f64") form(f, "cvt.%s.%s.%s", *r, *t, *d);
            if (strlen(*d) > 2) form(f, "cvt.%s.bf16.%s", *r, *d);
        }
    }
    EACH(r, "rn", "rz", "rm", "rp")
    {
        EACH(t, "f32.f64", "ftz.f32.f64", "sat.f32.f64", "ftz.sat.f32.f64", "f16.f32", "ftz.f16.f32",
             "sat.f16.f32", "f16.f64", "bf16.f64")
        form(f, "cvt.%s.%s", *r, *t);
        form(f, "cvt.%s.bf16.f16", *r);
    }
    EACH(r, "rn", "rz")
    {
        EACH(t, "bf16.f32", "relu.bf16.f32", "relu.f16.f32", "f16x2.f32", "bf16x2.f32", "relu.f16x2.f32",
             "relu.bf16x2.f32", "tf32.f32", "relu.tf32.f32")
        form(f, "cvt.%s.%s", *r, *t);
    }
    EACH(r, "rni", "rzi", "rmi", "rpi")
    EACH(t, "f32.f32", "ftz.f32.f32", "sat.f32.f32", "ftz.sat.f32.f32", "f64.f64", "f16.f16", "bf16.bf16",
         "sat.f64.f64")
    form(f, "cvt.%s.%s", *r, *t);
    EACH(t, "f64.f32", "ftz.f64.f32", "f32.f16", "f64.f16", "f32.bf16", "f64.bf16", "sat.f32.f32",
         "sat.f64.f64", "ftz.f32.f32", "sat.f32.f16", "sat.f64.f32", "f32.f32", "f64.f64", "rna.tf32.f32",
         "rn.satfinite.e4m3x2.f32", "rn.satfinite.e5m2x2.f32", "rn.satfinite.relu.e4m3x2.f32",
         "rn.satfinite.e4m3x2.f16x2", "rn.satfinite.e5m2x2.f16x2", "rn.f16x2.e4m3x2", "rn.f16x2.e5m2x2",
         "rn.relu.f16x2.e4m3x2")
    form(f, "cvt.%s", *t);
}
/* not comparable bit by bit */
static __attribute__((unused)) void forms_approximate(struct forms *f)
{
    EACH(z, "", ".ftz")
    {
        EACH(o, "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "div") form(f, "%s.approx%s.f32", *o, *z);
        form(f, "div.full%s.f32", *z);
    }
    EACH(t, "f16", "f16x2", "ftz.bf16", "ftz.bf16x2") form(f, "ex2.approx.%s", *t);
    EACH(t, "f32", "f16", "f16x2", "bf16", "bf16x2") form(f, "tanh.approx.%s", *t);
    EACH(o, "rcp.approx.ftz.f64", "rsqrt.approx.f64", "rsqrt.approx.ftz.f64") form(f, "%s", *o);
}

#endif
