/* ptx_module: a module of any size as large template libraries give them, the same every time: long mangled
 * names, call sequences, nested loops, switch-like branches, vector loads, shared arrays, debug locations. */
#ifndef ATOLL_BENCH_PTX_MODULE_H
#define ATOLL_BENCH_PTX_MODULE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/diag.h"

struct text {
    char *bytes;
    size_t len, cap;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->bytes + t->len, t->cap - t->len, format, args);
    va_end(args);
    if (n > 0 && t->len + (size_t)n < t->cap) t->len += (size_t)n;
}

/* A small generator of its own, so that the module never changes with the library's. */
static uint32_t pick(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

static const char *const mangled =
    "_ZN6thrust23THRUST_200302_800_NS8cuda_cub4core13_kernel_agentINS1_14__parallel_"
    "for16ParallelForAgentINS0_11"
    "hip_rocprim5fillIN7cutlass4gemm6kernel4GemmINS1_10threadblock12MmaPipelinedEEEEEvT0_T1_";

static void put_arithmetic(struct text *t, uint64_t *rng, uint32_t regs)
{
    const uint32_t a = pick(rng, regs), b = pick(rng, regs), d = pick(rng, regs);
    switch (pick(rng, 14)) {
    case 0: put(t, "\tadd.s32 \t%%r%u, %%r%u, %%r%u;\n", d, a, b); break;
    case 1: put(t, "\tmad.lo.s32 \t%%r%u, %%r%u, %%r%u, %%r%u;\n", d, a, b, d); break;
    case 2: put(t, "\tfma.rn.f32 \t%%f%u, %%f%u, %%f%u, %%f%u;\n", d, a, b, d); break;
    case 3: put(t, "\tmul.wide.s32 \t%%rd%u, %%r%u, %u;\n", d, a, 4u << pick(rng, 3)); break;
    case 4: put(t, "\tadd.s64 \t%%rd%u, %%rd%u, %%rd%u;\n", d, a, b); break;
    case 5: put(t, "\tld.global.nc.f32 \t%%f%u, [%%rd%u+%u];\n", d, a, 4 * pick(rng, 64)); break;
    case 6: put(t, "\tld.global.v4.f32 \t{%%f%u, %%f%u, %%f%u, %%f%u}, [%%rd%u];\n", d, a, b, a, d); break;
    case 7: put(t, "\tst.global.f32 \t[%%rd%u+-%u], %%f%u;\n", a, 4 * pick(rng, 64), b); break;
    case 8: put(t, "\tselp.b32 \t%%r%u, %%r%u, %%r%u, %%p%u;\n", d, a, b, pick(rng, 40)); break;
    case 9:
        put(t, "\tsetp.lt.s32 \t%%p%u, %%r%u, %d;\n", pick(rng, 40), a, (int)pick(rng, 2000) - 1000);
        break;
    case 10: put(t, "\tcvt.rn.f32.s32 \t%%f%u, %%r%u;\n", d, a); break;
    case 11: put(t, "\tmov.f32 \t%%f%u, 0f%08X;\n", d, pick(rng, 1u << 30)); break;
    case 12: put(t, "\tshl.b32 \t%%r%u, %%r%u, %u;\n", d, a, pick(rng, 32)); break;
    default: put(t, "\tand.b32  \t%%r%u, %%r%u, %u;\n", d, a, pick(rng, 1u << 20)); break;
    }
}

static void put_call(struct text *t, uint64_t *rng, uint32_t regs, uint32_t callee, uint32_t serial)
{
    put(t, "\t{ // callseq %u, 0\n\t.reg .b32 temp_param_reg;\n\t.param .b64 param0;\n", serial);
    put(t, "\tst.param.b64 \t[param0+0], %%rd%u;\n\t.param .b32 retval0;\n", pick(rng, regs));
    put(t, "\tcall.uni (retval0), \n\t%s_f%u, \n\t(\n\tparam0\n\t);\n", mangled, callee);
    put(t, "\tld.param.b32 \t%%r%u, [retval0+0];\n\t} // callseq %u\n", pick(rng, regs), serial);
}

static void put_function(struct text *t, uint64_t *rng, uint32_t serial)
{
    const bool entry = serial % 4 != 0;
    const uint32_t regs = 60 + pick(rng, 200), blocks = 10 + pick(rng, 60);
    if (entry)
        put(t,
            ".visible .entry %s_k%u(\n\t.param .u64 %s_k%u_param_0,\n\t.param .align 8 .b8 "
            "%s_k%u_param_1[24]\n)\n"
            ".maxntid 256, 1, 1\n{\n",
            mangled, serial, mangled, serial, mangled, serial);
    else
        put(t, ".func  (.param .b32 func_retval0) %s_f%u(\n\t.param .b64 %s_f%u_param_0\n)\n{\n", mangled,
            serial, mangled, serial);
    put(t,
        "\t.reg .pred \t%%p<40>;\n\t.reg .f32 \t%%f<%u>;\n\t.reg .b32 \t%%r<%u>;\n\t.reg .b64 \t%%rd<%u>;\n",
        regs, regs, regs);
    put(t, "\t// demoted variable\n\t.shared .align 4 .b8 %s_s%u[1024];\n\n", mangled, serial);
    put(t, "\tld.param.u64 \t%%rd1, [%s_%c%u_param_0];\n", mangled, entry ? 'k' : 'f', serial);
    put(t,
        "\tcvta.to.global.u64 \t%%rd2, %%rd1;\n\tmov.u32 \t%%r1, %%ctaid.x;\n\tmov.u32 \t%%r2, %%tid.x;\n");
    for (uint32_t b = 0; b < blocks; b++) {
        put(t, "\n$L__BB%u_%u:\n\t.loc\t1 %u 5\n", serial, b, pick(rng, 3000) + 1);
        const uint32_t n = 4 + pick(rng, 24);
        for (uint32_t i = 0; i < n; i++) put_arithmetic(t, rng, regs);
        if (serial > 4 && pick(rng, 8) == 0) put_call(t, rng, regs, pick(rng, serial / 4) * 4, b);
        put(t, "\tsetp.ne.s32 \t%%p%u, %%r%u, 0;\n", b % 40, pick(rng, regs));
        put(t, "\t@%s%%p%u bra \t$L__BB%u_%u;\n", pick(rng, 2) ? "!" : "", b % 40, serial, pick(rng, blocks));
        if (pick(rng, 6) == 0) put(t, "\tbra.uni \t$L__BB%u_%u;\n", serial, pick(rng, blocks));
    }
    if (!entry) put(t, "\tst.param.b32 \t[func_retval0+0], %%r3;\n");
    put(t, "\tret;\n\n}\n");
}

static void make_module(struct text *t, size_t target)
{
    uint64_t rng = 12345;
    t->cap = target + (4u << 20);
    t->bytes = malloc(t->cap);
    if (!t->bytes) exit(1);
    put(t, "//\n// Generated for the benchmark\n//\n\n.version 8.0\n.target sm_80\n.address_size 64\n\n");
    for (uint32_t serial = 0; t->len < target; serial++) put_function(t, &rng, serial);
    put(t, "\t.file\t1 \"/src/kernel.cu\"\n");
}

/* The main() of a benchmark on such a module of argv[1] megabytes (50); run gets the struct diag_source. */
static int module_bench(int argc, char **argv, diag_body_fn *run)
{
    struct text t = {0};
    make_module(&t, (size_t)(argc > 1 ? atoi(argv[1]) : 50) * 1000000);
    const struct diag_source source = {.name = "bench.ptx", .text = t.bytes, .len_bytes = t.len};
    struct diag d;
    diag_init(&d);
    const enum diag_kind kind = diag_run(&d, run, (void *)(uintptr_t)&source);
    if (kind) fputs(d.text, stderr);
    diag_clear(&d);
    free(t.bytes);
    return kind != DIAG_NONE;
}

#endif
