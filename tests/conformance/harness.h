/* Runs lane functions against the reference: builds a module with one instruction per form, asks lanes for
 * each, feeds both sides the same generated cases. Included by the quick unit test and by the full proof. */
#ifndef CONFORMANCE_HARNESS_H
#define CONFORMANCE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "conformance/forms.h"
#include "conformance/ref_eval.h"
#include "exec/lanes.h"
#include "ptx/ir.h"

#define HARNESS_UNUSED __attribute__((unused))

/* ---- random numbers of the tests' own ---- */
static uint64_t dice_state = 0x243f6a8885a308d3;
static uint64_t dice(void)
{
    uint64_t z = (dice_state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- values that break things ---- */
static const uint64_t edges16[] = {
    0,      1,      2,      3,      0x7f,   0x80,   0xff,   0x100,  0x3ff,  0x400,  0x401,  0x3c00,
    0x3c01, 0x3bff, 0x3800, 0x4000, 0x4248, 0x5bff, 0x6400, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff,
    0x8000, 0x8001, 0x83ff, 0x8400, 0xbc00, 0xb800, 0xfbff, 0xfc00, 0xfe00, 0xffff, 0x3f80, 0x3f81,
    0x3f7f, 0x7f7f, 0x7f80, 0x7f81, 0xff80, 0xbf80, 0x0081, 0x5555, 0xaaaa, 0xc145, 0x4d00};
static const uint64_t edges32[] = {
    0,          1,          2,          3,          7,          31,         32,         33,
    63,         64,         65,         127,        128,        255,        256,        0x7fff,
    0x8000,     0xffff,     0x10000,    0x007fffff, 0x00800000, 0x00800001, 0x00ffffff, 0x01000000,
    0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc00000, 0x40000000, 0x40200000, 0x40600000,
    0x4b000000, 0x4b7fffff, 0x4b800000, 0x4effffff, 0x4f000000, 0x4f7fffff, 0x4f800000, 0x5effffff,
    0x5f000000, 0x5f800000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff, 0x80000000,
    0x80000001, 0x807fffff, 0x80800000, 0xbf800000, 0xbf000000, 0xbf7fffff, 0xc0200000, 0xcf000000,
    0xcf000001, 0xdf000000, 0xff7fffff, 0xff800000, 0xffc00001, 0xfffffffe, 0xffffffff, 0x38800000,
    0x387fffff, 0x33800000, 0x33000000, 0x33000001, 0x477fe000, 0x477ff000, 0x477fefff, 0x3effffff,
    0x437f0000, 0x43e00000, 0x43e7ffff, 0x47000000, 0x7f7f8000, 0x7f7f7fff, 0xdeadbeef, 0x01234567,
    0x0000cafe, 0x55555555, 0xaaaaaaaa, 0x3c003c00, 0x7c00fc00, 0x7e00abcd};
static const uint64_t edges64[] = {0,
                                   1,
                                   2,
                                   63,
                                   64,
                                   65,
                                   127,
                                   128,
                                   255,
                                   256,
                                   0x7fff,
                                   0x8000,
                                   0xffff,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x100000000,
                                   0xfffffffffffff,
                                   0x10000000000000,
                                   0x10000000000001,
                                   0x3fe0000000000000,
                                   0x3fdfffffffffffff,
                                   0x3fefffffffffffff,
                                   0x3ff0000000000000,
                                   0x3ff0000000000001,
                                   0x3ff8000000000000,
                                   0x4000000000000000,
                                   0x4004000000000000,
                                   0x4330000000000000,
                                   0x41dfffffffc00000,
                                   0x41dfffffffe00000,
                                   0x41e0000000000000,
                                   0x41efffffffe00000,
                                   0x41f0000000000000,
                                   0x43dfffffffffffff,
                                   0x43e0000000000000,
                                   0x43efffffffffffff,
                                   0x43f0000000000000,
                                   0x7fefffffffffffff,
                                   0x7ff0000000000000,
                                   0x7ff0000000000001,
                                   0x7ff8000000000000,
                                   0x7fffffffffffffff,
                                   0x8000000000000000,
                                   0x8000000000000001,
                                   0x800fffffffffffff,
                                   0xbff0000000000000,
                                   0xbfe0000000000000,
                                   0xc1e0000000000000,
                                   0xc1e0000000200000,
                                   0xc3e0000000000000,
                                   0xffefffffffffffff,
                                   0xfff0000000000000,
                                   0xfff8000000000001,
                                   0xfffffffffffffffe,
                                   0xffffffffffffffff,
                                   0x47efffffe0000000,
                                   0x47efffffefffffff,
                                   0x47effffff0000000,
                                   0x3810000000000000,
                                   0x380fffffffffffff,
                                   0x36a0000000000000,
                                   0x3690000000000000,
                                   0x3690000000000001,
                                   0x40effc0000000000,
                                   0x40effe0000000000,
                                   0x3f10000000000000,
                                   0x3e60000000000000,
                                   0x3e70000000000000,
                                   0xdeadbeefcafebabe};

static const uint64_t *edges_of(char reg, size_t *count)
{
    switch (reg) {
    case 'h': *count = sizeof edges16 / sizeof edges16[0]; return edges16;
    case 'l': *count = sizeof edges64 / sizeof edges64[0]; return edges64;
    default: *count = sizeof edges32 / sizeof edges32[0]; return edges32;
    }
}
/* Random with purpose: plain bits, small counts, floats of like size, neighbours of edges. */
static HARNESS_UNUSED uint64_t random_value(char reg)
{
    size_t n;
    const uint64_t *e = edges_of(reg, &n), r = dice();
    switch (r & 7) {
    case 0: return e[dice() % n] + (dice() % 5) - 2;
    case 1: return dice() & 0x3f;
    case 2: /* around 1.0 .. 2^12 */
        if (reg == 'r') return (0x3f800000 + (dice() % 0x06000000)) | (dice() & 1) << 31;
        if (reg == 'l')
            return (UINT64_C(0x3ff0000000000000) + (dice() % UINT64_C(0x00c0000000000000))) | (dice() & 1)
                                                                                                  << 63;
        return (0x3c00 + dice() % 0x3000) | (dice() & 1) << 15;
    case 3: /* few significant bits: halves and exact cases */
        if (reg == 'r') return dice() << 20 & 0xfff00000;
        if (reg == 'l') return dice() << 48;
        return dice() & 0xffe0;
    default: return dice();
    }
}

/* ---- a module with every form ---- */
struct bench_form {
    struct ref_form ref;
    const struct ptx_instr *instr;
};
struct suite {
    struct arena arena;
    struct diag diag;
    struct diag_source source;
    struct ptx_module *module;
    const struct ptx_func *func;
    struct forms forms;
    struct bench_form *list;
    char *text;
};
static HARNESS_UNUSED void parse_body(void *arg)
{
    struct suite *s = arg;
    s->module = ptx_parse(&s->arena, &s->source);
}
static HARNESS_UNUSED int operand_text(char *out, size_t room, char reg, int index)
{
    return snprintf(out, room, "%%%c%d", reg, index);
}

/* "add.s32 %r0, %r1, %r2;" */
static HARNESS_UNUSED void instruction_text(const struct ref_form *f, char *out, size_t room)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s", f->spelling);
    char *q = strstr(name, ".q");
    if (q && q[2] == 0) *q = 0;
    int n = snprintf(out, room, "%s ", name);
    n += operand_text(out + n, room - (size_t)n, f->d, 0);
    if (f->d2) n += snprintf(out + n, room - (size_t)n, "|%%%c5", f->d2);
    const char sources[4] = {f->a, f->b, f->c, f->e};
    for (int i = 0; i < 4; i++)
        if (sources[i]) {
            n += snprintf(out + n, room - (size_t)n, ", ");
            n += operand_text(out + n, room - (size_t)n, sources[i], i + 1);
        }
    if (strcmp(f->base, "lop3") == 0) n += snprintf(out + n, room - (size_t)n, ", 0x%x", f->imm);
    (void)snprintf(out + n, room - (size_t)n, ";\n");
}
static const char module_head[] = ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
                                  ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n.reg .b64 %l<8>;\n";

/* Writes and parses the module; every form gets its instruction. */
static HARNESS_UNUSED void suite_open(struct suite *s)
{
    const size_t room = s->forms.count * 160 + 1024;
    s->text = malloc(room);
    s->list = calloc(s->forms.count, sizeof s->list[0]);
    size_t n = (size_t)snprintf(s->text, room, "%s", module_head);
    for (size_t i = 0; i < s->forms.count; i++) {
        if (!ref_read(&s->list[i].ref, s->forms.text[i]))
            fail_msg("the reference does not know %s", s->forms.text[i]);
        instruction_text(&s->list[i].ref, s->text + n, room - n);
        n += strlen(s->text + n);
    }
    (void)snprintf(s->text + n, room - n, "ret;\n}\n");
    arena_init(&s->arena);
    diag_init(&s->diag);
    s->source = (struct diag_source){.name = "forms.ptx", .text = s->text, .len_bytes = strlen(s->text)};
    if (diag_run(&s->diag, parse_body, s)) fail_msg("%s", s->diag.text);
    s->func = s->module->funcs[0];
    assert_int_equal(s->func->n_instrs, s->forms.count + 1);
    for (size_t i = 0; i < s->forms.count; i++) s->list[i].instr = &s->func->instrs[i];
}
static HARNESS_UNUSED void suite_close(struct suite *s)
{
    diag_clear(&s->diag);
    arena_free(&s->arena);
    free(s->text);
    free(s->list);
    free(s->forms.text);
}

/* ---- one warp of cases ---- */
union lane_array {
    uint32_t w[LANES_COUNT];
    uint64_t l[LANES_COUNT];
} __attribute__((aligned(64)));

static HARNESS_UNUSED void put(union lane_array *x, uint8_t bytes, int lane, uint64_t v)
{
    if (bytes == 8)
        x->l[lane] = v;
    else if (bytes == 1)
        x->w[0] = (x->w[0] & ~(1u << lane)) | (uint32_t)(v & 1) << lane;
    else
        x->w[lane] = (uint32_t)v;
}
static HARNESS_UNUSED uint64_t get(const union lane_array *x, uint8_t bytes, int lane)
{
    return bytes == 8 ? x->l[lane] : bytes == 1 ? (x->w[0] >> lane) & 1 : x->w[lane];
}
static HARNESS_UNUSED uint8_t reg_bytes(char reg)
{
    return reg == 0 ? 0 : reg == 'p' ? 1 : reg == 'l' ? 8 : 4;
}

struct warp_case {
    struct ref_in in[LANES_COUNT];
    struct ref_out out[LANES_COUNT];
};
struct tally {
    uint64_t cases, calls;
};
static HARNESS_UNUSED void explain(const struct ref_form *f, enum lanes_isa isa, const char *how,
                                   uint32_t mask, int lane, const struct ref_in *in, uint64_t expected,
                                   uint64_t got)
{
    fail_msg("%s [%s, %s, mask %08x, lane %d]: a=%llx b=%llx c=%llx e=%llx cc=%d: expected %llx, got %llx",
             f->spelling, lanes_isa_name(isa), how, mask, lane, (unsigned long long)in->a,
             (unsigned long long)in->b, (unsigned long long)in->c, (unsigned long long)in->e, in->cc,
             (unsigned long long)expected, (unsigned long long)got);
}

/* how the destination meets the sources */
enum { APART, OVER_A, OVER_B };

static HARNESS_UNUSED void load_sources(const struct ref_form *f, const struct warp_case *w,
                                        union lane_array src[4])
{
    const char regs[4] = {f->a, f->b, f->c, f->e};
    memset(src, 0, 4 * sizeof src[0]);
    for (int i = 0; i < LANES_COUNT; i++) {
        const uint64_t v[4] = {w->in[i].a, w->in[i].b, w->in[i].c, w->in[i].e};
        for (int k = 0; k < 4; k++)
            if (regs[k]) put(&src[k], reg_bytes(regs[k]), i, v[k]);
    }
}
/* Garbage above 16-bit values is legal: put some there. */
static HARNESS_UNUSED void dirty_halves(const struct ref_form *f, union lane_array src[4])
{
    const char regs[4] = {f->a, f->b, f->c, f->e};
    for (int k = 0; k < 4; k++)
        if (regs[k] == 'h')
            for (int i = 0; i < LANES_COUNT; i++)
                src[k].w[i] = (src[k].w[i] & 0xffff) | (uint32_t)dice() << 16;
}

static HARNESS_UNUSED void run_masked(const struct ref_form *f, const struct lanes_op *op, enum lanes_isa isa,
                                      const struct warp_case *w, uint32_t mask, int overlap)
{
    union lane_array src[4], d, d2, old;
    load_sources(f, w, src);
    dirty_halves(f, src);
    for (int i = 0; i < LANES_COUNT; i++) d.l[i] = dice(), d2.l[i] = dice();
    uint32_t cc = 0, cc_old;
    for (int i = 0; i < LANES_COUNT; i++) cc |= (uint32_t)w->in[i].cc << i;
    cc_old = cc;
    union lane_array *to = overlap == OVER_A ? &src[0] : overlap == OVER_B ? &src[1] : &d;
    old = *to;
    const union lane_array d2_old = d2;
    struct lanes_ctx x = op->ctx;
    x.e = &src[3];
    x.d2 = f->d2 ? &d2 : NULL;
    x.cc = &cc;
    op->warp(to, &src[0], &src[1], &src[2], mask, &x);
    const uint8_t bytes = reg_bytes(f->d);
    for (int i = 0; i < LANES_COUNT; i++) {
        const bool in = (mask >> i) & 1;
        const uint64_t got = get(to, bytes, i), before = get(&old, bytes, i);
        const uint64_t valid = ref_mask(f->valid_bits);
        if (in && (got & valid) != w->out[i].d)
            explain(f, isa, overlap ? "in place" : "apart", mask, i, &w->in[i], w->out[i].d, got & valid);
        if (!in && got != before) explain(f, isa, "lane outside the mask", mask, i, &w->in[i], before, got);
        if (f->d2 && get(&d2, 1, i) != (in ? w->out[i].d2 : get(&d2_old, 1, i)))
            explain(f, isa, "second destination", mask, i, &w->in[i], in ? w->out[i].d2 : get(&d2_old, 1, i),
                    get(&d2, 1, i));
        const bool carry = (cc >> i) & 1, expected = in && f->writes_cc ? w->out[i].cc : (cc_old >> i) & 1;
        if (carry != expected) explain(f, isa, "carry", mask, i, &w->in[i], expected, carry);
    }
}
/* the lane form on every case */
static HARNESS_UNUSED void run_lane(const struct ref_form *f, const struct lanes_op *op, enum lanes_isa isa,
                                    const struct ref_in *in, const struct ref_out *out)
{
    union lane_array src[4] = {0}, d, d2 = {0};
    const uint64_t v[4] = {in->a, in->b, in->c, in->e};
    const char regs[4] = {f->a, f->b, f->c, f->e};
    for (int k = 0; k < 4; k++)
        if (regs[k]) put(&src[k], reg_bytes(regs[k]), 0, v[k]);
    memset(&d, 0x5a, sizeof d);
    uint32_t cc = in->cc ? 0xffffffff : 0;
    struct lanes_ctx x = op->ctx;
    x.e = &src[3];
    x.d2 = f->d2 ? &d2 : NULL;
    x.cc = &cc;
    op->lane(&d, &src[0], &src[1], &src[2], LANES_ALL, &x);
    if (f->d == 'p') {
        if (d.w[0] != (out->d ? 0xffffffff : 0)) explain(f, isa, "lane form", 1, 0, in, out->d, d.w[0]);
        if (f->d2 && d2.w[0] != (out->d2 ? 0xffffffff : 0))
            explain(f, isa, "lane form, q", 1, 0, in, out->d2, d2.w[0]);
        return;
    }
    const uint64_t got = get(&d, reg_bytes(f->d), 0) & ref_mask(f->valid_bits);
    if (got != out->d) explain(f, isa, "lane form", 1, 0, in, out->d, got);
    if (f->writes_cc && cc != (out->cc ? 0xffffffff : 0))
        explain(f, isa, "lane form, carry", 1, 0, in, out->cc, cc);
}

static HARNESS_UNUSED void check_widths(const struct ref_form *f, const struct lanes_op *op)
{
    if (op->d_bytes != reg_bytes(f->d) || op->a_bytes != reg_bytes(f->a) || op->b_bytes != reg_bytes(f->b) ||
        (op->c_bytes != reg_bytes(f->c) && f->base[0] != 'v'))
        fail_msg("%s: widths d=%d a=%d b=%d c=%d", f->spelling, op->d_bytes, op->a_bytes, op->b_bytes,
                 op->c_bytes);
}

/* the n-th warp of cases: first the product of edges, then random ones */
static HARNESS_UNUSED bool next_edges(const struct ref_form *f, uint64_t n, uint64_t limit, struct ref_in *in)
{
    size_t na = 1, nb = 1, nc = 1, ne = 1;
    const uint64_t *ea = f->a ? edges_of(f->a, &na) : edges16, *eb = f->b ? edges_of(f->b, &nb) : edges16;
    const uint64_t *ec = f->c ? edges_of(f->c, &nc) : edges16, *ee = f->e ? edges_of(f->e, &ne) : edges16;
    if (f->c == 'p') nc = 2;
    const uint64_t all = (uint64_t)na * nb * nc * ne, stride = all > limit ? (all / limit) | 1 : 1;
    const uint64_t at = n * stride;
    if (at >= all) return false;
    in->a = f->a ? ea[at % na] : 0;
    in->b = f->b ? eb[at / na % nb] : 0;
    in->c = f->c ? ec[at / na / nb % nc] : 0;
    in->e = f->e ? ee[at / na / nb / nc % ne] : 0;
    in->cc = dice() & 1;
    return true;
}
static HARNESS_UNUSED uint64_t clip(char reg, uint64_t v)
{
    return reg == 'h' ? v & 0xffff : reg == 'r' ? v & 0xffffffff : reg == 'p' ? v & 1 : v;
}

static HARNESS_UNUSED void fill_warp(const struct ref_form *f, uint64_t *n, uint64_t limit, bool *edges_left,
                                     struct warp_case *w)
{
    for (int i = 0; i < LANES_COUNT; i++) {
        struct ref_in *in = &w->in[i];
        *in = (struct ref_in){0};
        if (*edges_left) *edges_left = next_edges(f, (*n)++, limit, in);
        if (!*edges_left)
            *in = (struct ref_in){random_value(f->a), f->b ? random_value(f->b) : 0,
                                  f->c ? random_value(f->c) : 0, f->e ? random_value(f->e) : 0, dice() & 1};
        in->a = clip(f->a, in->a);
        in->b = clip(f->b, in->b);
        in->c = clip(f->c, in->c);
        in->e = clip(f->e, in->e);
        w->out[i] = ref_eval(f, in);
    }
}

/* One form on every instruction set here: edge_limit cases of edges, then random_warps of random ones. */
static HARNESS_UNUSED void check_form(const struct suite *s, const struct bench_form *b, uint64_t edge_limit,
                                      uint64_t random_warps, struct tally *tally)
{
    const struct ref_form *f = &b->ref;
    struct lanes_op op[LANES_ISA_COUNT];
    for (int isa = 0; isa < LANES_ISA_COUNT; isa++) {
        if (!lanes_find(s->func, b->instr, (enum lanes_isa)isa, &op[isa]))
            fail_msg("%s: lanes has no function", f->spelling);
        check_widths(f, &op[isa]);
    }
    const bool over_a = f->d == f->a || (f->d != 'l' && f->a != 'l' && f->d != 'p' && f->a != 'p' && f->a);
    const bool over_b = f->d == f->b;
    bool edges_left = true;
    uint64_t n = 0, warps = 0;
    for (uint64_t random = 0; edges_left || random < random_warps; warps++) {
        struct warp_case w;
        fill_warp(f, &n, edge_limit, &edges_left, &w);
        if (!edges_left) random++;
        tally->cases += LANES_COUNT;
        for (int isa = 0; isa < LANES_ISA_COUNT; isa++) {
            if (!lanes_isa_present((enum lanes_isa)isa)) continue;
            run_masked(f, &op[isa], (enum lanes_isa)isa, &w, LANES_ALL, APART);
            tally->calls++;
            if (warps % 4 == 0) {
                run_masked(f, &op[isa], (enum lanes_isa)isa, &w, (uint32_t)dice(), APART);
                run_masked(f, &op[isa], (enum lanes_isa)isa, &w, 1u << (dice() & 31), APART);
                run_masked(f, &op[isa], (enum lanes_isa)isa, &w, 0, APART);
                if (over_a) run_masked(f, &op[isa], (enum lanes_isa)isa, &w, LANES_ALL, OVER_A);
                if (over_b) run_masked(f, &op[isa], (enum lanes_isa)isa, &w, (uint32_t)dice(), OVER_B);
                tally->calls += 5;
            }
            for (int i = (int)(warps % 8); i < LANES_COUNT; i += 8)
                run_lane(f, &op[isa], (enum lanes_isa)isa, &w.in[i], &w.out[i]);
        }
    }
}

#endif
