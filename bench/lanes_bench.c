/* lanes_bench: time of one warp instruction in src/exec/lanes.
 *   lanes_bench                      a table of the main forms on every instruction set here
 *   lanes_bench FORM COUNT [ISA]     COUNT calls of one form, for callgrind: instructions = (run of 2N - run
 * of N) / N FORM is a PTX instruction with registers %rN (32 bits), %lN (64), %hN (16), %pN. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "exec/lanes.h"
#include "ptx/ir.h"

static const char *const main_forms[] = {
    "add.s32 %r0, %r1, %r2",
    "mad.lo.s32 %r0, %r1, %r2, %r3",
    "mul.wide.s32 %l0, %r1, %r2",
    "add.s64 %l0, %l1, %l2",
    "shl.b32 %r0, %r1, %r2",
    "and.b32 %r0, %r1, %r2",
    "setp.lt.s32 %p0, %r1, %r2",
    "setp.lt.f32 %p0, %r1, %r2",
    "setp.eq.s64 %p0, %l1, %l2",
    "selp.b32 %r0, %r1, %r2, %p3",
    "add.f32 %r0, %r1, %r2",
    "mul.f32 %r0, %r1, %r2",
    "fma.rn.f32 %r0, %r1, %r2, %r3",
    "fma.rn.ftz.f32 %r0, %r1, %r2, %r3",
    "fma.rm.f32 %r0, %r1, %r2, %r3",
    "div.rn.f32 %r0, %r1, %r2",
    "sqrt.rn.f32 %r0, %r1",
    "rcp.approx.ftz.f32 %r0, %r1",
    "ex2.approx.ftz.f32 %r0, %r1",
    "lg2.approx.ftz.f32 %r0, %r1",
    "sin.approx.f32 %r0, %r1",
    "min.f32 %r0, %r1, %r2",
    "fma.rn.f64 %l0, %l1, %l2, %l3",
    "cvt.rn.f32.s32 %r0, %r1",
    "cvt.rzi.s32.f32 %r0, %r1",
    "cvt.s64.s32 %l0, %r1",
    "cvt.f32.f16 %r0, %h1",
    "cvt.rn.f16.f32 %h0, %r1",
    "fma.rn.f16x2 %r0, %r1, %r2, %r3",
    "add.f16x2 %r0, %r1, %r2",
    "div.u32 %r0, %r1, %r2",
    "rem.s32 %r0, %r1, %r2",
    "popc.b32 %r0, %r1",
    "prmt.b32 %r0, %r1, %r2, %r3",
    "dp4a.s32.s32 %r0, %r1, %r2, %r3",
    "shfl.sync.down.b32 %r0, %r1, %r2, %r3, %r4",
    "shfl.sync.bfly.b32 %r0, %r1, %r2, %r3, %r4",
    "vote.sync.ballot.b32 %r0, %p1, %r4",
    "mov.u32 %r0, %r1",
};

struct bench {
    struct arena arena;
    struct diag diag;
    struct diag_source source;
    struct ptx_module *module;
    char text[1024];
};
static void parse_body(void *arg)
{
    struct bench *b = arg;
    b->module = ptx_parse(&b->arena, &b->source);
}
static const struct ptx_func *parse(struct bench *b, const char *form)
{
    (void)snprintf(
        b->text, sizeof b->text,
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %%p<8>;\n"
        ".reg .b16 %%h<8>;\n.reg .b32 %%r<8>;\n.reg .b64 %%l<8>;\n%s;\nret;\n}\n",
        form);
    arena_init(&b->arena);
    diag_init(&b->diag);
    b->source = (struct diag_source){.name = "bench.ptx", .text = b->text, .len_bytes = strlen(b->text)};
    if (diag_run(&b->diag, parse_body, b)) {
        (void)fputs(b->diag.text, stderr);
        exit(1);
    }
    return b->module->funcs[0];
}

/* Operands that suit floats and integers alike: around 1.0, half of the lanes with distinct values. */
static uint64_t operand[5][LANES_COUNT] __attribute__((aligned(64)));
static void fill_operands(void)
{
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < LANES_COUNT; i++)
            operand[k][i] = 0x3f8100003f810000u + (uint64_t)(k * 977 + i * 4099);
}
static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static bool run(const char *form, enum lanes_isa isa, uint64_t count, uint32_t mask, double *ns)
{
    static struct bench b;
    struct lanes_op op;
    const struct ptx_func *f = parse(&b, form);
    const bool found = lanes_find(f, &f->instrs[0], isa, &op);
    if (found) {
        static uint32_t p, cc;
        static uint32_t shuffle_by[LANES_COUNT] __attribute__((aligned(64))),
            clamp[LANES_COUNT] __attribute__((aligned(64)));
        static uint32_t members[LANES_COUNT] __attribute__((aligned(64)));
        for (int i = 0; i < LANES_COUNT; i++) shuffle_by[i] = 4, clamp[i] = 31, members[i] = LANES_ALL;
        struct lanes_ctx x = op.ctx;
        const bool collective = op.needs & LANES_COLLECTIVE;
        x.e = collective ? (void *)members : (void *)operand[4];
        x.d2 = &p;
        x.cc = &cc;
        const void *sb = collective ? (void *)shuffle_by : (void *)operand[2],
                   *sc = collective ? (void *)clamp : (void *)operand[3];
        const double start = seconds();
        for (uint64_t n = 0; n < count; n++) op.warp(operand[0], operand[1], sb, sc, mask, &x);
        *ns = (seconds() - start) * 1e9 / (double)count;
    }
    diag_clear(&b.diag);
    arena_free(&b.arena);
    return found;
}

int main(int argc, char **argv)
{
    fill_operands();
    double ns = 0;
    if (argc >= 3) {
        enum lanes_isa isa = lanes_isa_best();
        if (argc > 3 && !lanes_isa_by_name(argv[3], &isa)) return 1;
        if (!run(argv[1], isa, strtoull(argv[2], NULL, 10), LANES_ALL, &ns)) return 1;
        printf("form=\"%s\" isa=%s ns=%.2f\n", argv[1], lanes_isa_name(isa), ns);
        return 0;
    }
    printf("%-48s %10s %10s %10s %12s\n", "ns per warp instruction", "plain", "avx2", "avx512", "half mask");
    for (size_t i = 0; i < sizeof main_forms / sizeof main_forms[0]; i++) {
        printf("%-48s", main_forms[i]);
        for (int isa = 0; isa < LANES_ISA_COUNT; isa++) {
            if (lanes_isa_present((enum lanes_isa)isa) &&
                run(main_forms[i], (enum lanes_isa)isa, 200000, LANES_ALL, &ns))
                printf(" %10.2f", ns);
            else
                printf(" %10s", "-");
        }
        if (run(main_forms[i], lanes_isa_best(), 200000, 0x0000ffff, &ns)) printf(" %12.2f", ns);
        printf("\n");
    }
    return 0;
}
