/* random_kernel: kernels for the fuzz target and the proof of soundness, made from bytes: pointers go through
 * registers with several definitions, selections, branches, loops, local and shared memory, structures, calls
 * (also of callees of callees, of functions behind pointers, and with the address of the stack), halves and
 * alignments, and are read and written through; arguments overlap or not. The oracle runs the launch and
 * keeps lines: one that was read with ld.global.ro must not be written in the same launch. */
#ifndef ATOLL_ANALYSIS_RANDOM_KERNEL_H
#define ATOLL_ANALYSIS_RANDOM_KERNEL_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/oracle.h"
#include "base/diag.h"
#include "base/map.h"
#include "exec/exec.h"
#include "runtime/runtime.h"

enum { RANDOM_TEXT_MOST = 32768, RANDOM_BUFFER_BYTES = 4096, RANDOM_POINTERS = 6 };

struct random_kernel {
    const uint8_t *data;
    size_t size, at;
    uint64_t state; /* after the data */
    char text[RANDOM_TEXT_MOST];
    size_t len;
    uint32_t labels, temps;
    uint32_t mess; /* 0: few pointers are mixed, most kernels have read-only data; 2: anything */
    /* results */
    struct oracle oracle;
};

static inline uint32_t random_byte(struct random_kernel *k)
{
    if (k->at < k->size) return k->data[k->at++];
    k->state = k->state * 0x5851f42d4c957f2du + 0x14057b7ef767814fu;
    return (uint32_t)(k->state >> 56);
}

__attribute__((format(printf, 2, 3))) static inline void random_put(struct random_kernel *k,
                                                                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(k->text + k->len, sizeof k->text - k->len, format, args);
    va_end(args);
    if (n > 0 && k->len + (size_t)n < sizeof k->text) k->len += (size_t)n;
}

static inline uint32_t random_pointer(struct random_kernel *k) { return random_byte(k) % RANDOM_POINTERS; }

/* A pointer through arithmetic that gives it back. */
static inline void random_round_trip(struct random_kernel *k, uint32_t d, uint32_t a, uint32_t b)
{
    switch (random_byte(k) % 8) {
    case 0: random_put(k, "mul.lo.s64 %%q%u, %%q%u, 1;\n", d, a); break;
    case 1: random_put(k, "mad.lo.s64 %%q%u, %%q%u, -1, 0;\nneg.s64 %%q%u, %%q%u;\n", d, a, d, d); break;
    case 2: random_put(k, "div.u64 %%t, %%q%u, 64;\nmul.lo.s64 %%q%u, %%t, 64;\n", a, d); break;
    case 3: /* 2^58: down by six bits */
        random_put(k, "mul.hi.u64 %%t, %%q%u, 288230376151711744;\nshl.b64 %%q%u, %%t, 6;\n", a, d);
        break;
    case 4: random_put(k, "bfe.u64 %%t, %%q%u, 6, 58;\nshl.b64 %%q%u, %%t, 6;\n", a, d); break;
    case 5: /* halves, the upper one moved up in two steps */
        random_put(k,
                   "mov.b64 {%%r8, %%r9}, %%q%u;\nmul.wide.u32 %%t, %%r9, 65536;\nshl.b64 %%t, %%t, "
                   "16;\ncvt.u64.u32 %%f, %%r8;\nor.b64 %%q%u, %%t, %%f;\n",
                   a, d);
        break;
    case 6: /* the upper half stays where it is */
        random_put(k,
                   "and.b64 %%t, %%q%u, -4294967296;\ncvt.u32.u64 %%r8, %%q%u;\ncvt.u64.u32 %%f, "
                   "%%r8;\nor.b64 %%q%u, %%t, %%f;\n",
                   a, a, d);
        break;
    default: /* two change places */
        if (a == b) break;
        random_put(k,
                   "xor.b64 %%q%u, %%q%u, %%q%u;\nxor.b64 %%q%u, %%q%u, %%q%u;\nxor.b64 %%q%u, %%q%u, "
                   "%%q%u;\n",
                   a, a, b, b, b, a, a, a, b);
        break;
    }
}

/* A pointer becomes another, or goes a way round. */
static inline void random_move(struct random_kernel *k)
{
    const uint32_t d = random_pointer(k), a = random_pointer(k), b = random_pointer(k),
                   slot = 8 * (random_byte(k) % 4);
    const char *guard = random_byte(k) % 4 ? "" : "@%p1 ";
    static const uint8_t tame[] = {0, 4, 8, 9, 9, 12, 13, 17};
    static const uint8_t wild[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 17, 19};
    switch (k->mess == 2 ? random_byte(k) % 20
            : k->mess    ? wild[random_byte(k) % sizeof wild]
                         : tame[random_byte(k) % sizeof tame]) {
    case 0: random_put(k, "%smov.b64 %%q%u, %%q%u;\n", guard, d, a); break;
    case 1: random_put(k, "selp.b64 %%q%u, %%q%u, %%q%u, %%p%u;\n", d, a, b, random_byte(k) % 2); break;
    case 2: random_put(k, "%sst.local.u64 [depot+%u], %%q%u;\n", guard, slot, a); break;
    case 3: random_put(k, "ld.local.u64 %%q%u, [depot+%u];\n", d, slot); break;
    case 4: random_put(k, "st.u64 [%%SP+%u], %%q%u;\nld.u64 %%q%u, [%%SP+%u];\n", slot, a, d, slot); break;
    case 5:
        random_put(k,
                   "and.b32 %%r9, %%r1, 3;\nmul.wide.u32 %%t, %%r9, 8;\nadd.s64 %%t, %%SP, %%t;\nst.u64 "
                   "[%%t], %%q%u;\n",
                   a);
        break;
    case 6:
        random_put(k, "st.shared.u64 [tile+%u], %%q%u;\nld.shared.u64 %%q%u, [tile+%u];\n", slot, a, d, slot);
        break;
    case 7: random_put(k, "mov.b64 {%%r8, %%r9}, %%q%u;\nmov.b64 %%q%u, {%%r8, %%r9};\n", a, d); break;
    case 8: random_put(k, "shr.u64 %%t, %%q%u, 5;\nshl.b64 %%q%u, %%t, 5;\n", a, d); break;
    case 9: random_put(k, "add.s64 %%t, %%q%u, 64;\nadd.s64 %%q%u, %%t, -64;\n", a, d); break;
    case 10: /* the distance of two, added to the second */
        random_put(k, "sub.s64 %%t, %%q%u, %%q%u;\nadd.s64 %%q%u, %%q%u, %%t;\n", a, b, d, b);
        break;
    case 11: /* through memory that holds pointers */
        random_put(
            k, "add.s64 %%t, %%m, %%o8;\nst.global.u64 [%%t+%u], %%q%u;\nld.global.u64 %%q%u, [%%t+%u];\n",
            slot, a, d, slot);
        break;
    case 13: /* two at once */
        random_put(k,
                   "st.local.v2.u64 [depot+%u], {%%q%u, %%q%u};\nld.local.v2.u64 {%%q%u, %%t}, [depot+%u];\n",
                   slot & 16, a, b, d, slot & 16);
        break;
    case 14: /* into a slot by the index of a loop or of data, out of another */
        random_put(k,
                   "and.b32 %%r9, %%%s, 3;\nmul.wide.u32 %%t, %%r9, 8;\nadd.s64 %%t, %%SPL, "
                   "%%t;\nst.local.u64 [%%t], %%q%u;\nld.local.u64 %%q%u, [depot+%u];\n",
                   random_byte(k) % 2 ? "c0" : "r1", a, d, slot);
        break;
    case 15: /* a callee that writes to the caller's stack */
        random_put(k,
                   "{ .param .b64 x; .param .b64 y; .param .b32 z; .param .b64 out;\nadd.s64 %%t, %%SP, "
                   "%u;\nst.param.b64 [x], %%t;\nst.param.b64 [y], %%q%u;\nst.param.b32 [z], %%r1;\ncall "
                   "(out), %s, (x, y, z);\nld.param.b64 %%q%u, [out];\n}\n",
                   slot, a, random_byte(k) % 2 ? "keep" : "relay", d);
        break;
    case 16: /* through a pointer to a function */
        random_put(k,
                   "{ .param .b64 x; .param .b64 y; .param .b32 z; .param .b64 out;\nst.param.b64 [x], "
                   "%%q%u;\nst.param.b64 [y], %%q%u;\nst.param.b32 [z], %%r1;\nmov.u64 %%t, pick;\nmov.u64 "
                   "%%f, touch;\nselp.b64 %%f, %%t, %%f, %%p1;\nproto%u: .callprototype (.param .b64 _) _ "
                   "(.param .b64 _, .param .b64 _, .param .b32 _);\ncall (out), %%f, (x, y, z), "
                   "proto%u;\nld.param.b64 %%q%u, [out];\n}\n",
                   a, b, k->labels, k->labels, d);
        k->labels++;
        break;
    case 17: /* a way of its own for some threads */
        random_put(k, "@%%p0 bra A%u;\nmov.b64 %%q%u, %%q%u;\nbra B%u;\nA%u:\nmov.b64 %%q%u, %%q%u;\nB%u:\n",
                   k->labels, d, a, k->labels, k->labels, d, b, k->labels);
        k->labels++;
        break;
    case 19: random_round_trip(k, d, a, b); break;
    default:
        random_put(k,
                   "{ .param .b64 x; .param .b64 y; .param .b32 z; .param .b64 out;\nst.param.b64 [x], "
                   "%%q%u;\nst.param.b64 [y], %%q%u;\n"
                   "st.param.b32 [z], %%r1;\ncall (out), %s, (x, y, z);\nld.param.b64 %%q%u, [out];\n}\n",
                   a, b, random_byte(k) % 2 ? "pick" : "touch", d);
        break;
    }
}

static inline void random_access(struct random_kernel *k)
{
    const uint32_t offset = 4 * (random_byte(k) % 64), kind = random_byte(k) % 9, t = k->temps++;
    const uint32_t any = random_pointer(k), p = kind < 5 || k->mess == 2 ? any : 1;
    const char *guard = random_byte(k) % 3 ? "" : "@%p0 ", *space = random_byte(k) % 2 ? ".global" : "";
    random_put(k, "add.s64 %%u%u, %%q%u, %%o;\n", t, p);
    if (kind < 5)
        random_put(k, "%sld%s.u32 %%r2, [%%u%u+%u];\nadd.u32 %%r1, %%r1, %%r2;\n", guard, space, t, offset);
    else if (kind < 7)
        random_put(k, "%sst%s.u32 [%%u%u+%u], %%r1;\n", guard, space, t, offset);
    else if (kind == 8) /* what it gives back is data */
        random_put(k, "%satom%s.max.u32 %%r2, [%%u%u+%u], %%r1;\nxor.b32 %%r1, %%r1, %%r2;\n", guard, space,
                   t, offset);
    else
        random_put(k, "%sred%s.add.u32 [%%u%u+%u], %%r1;\n", guard, space, t, offset);
}

static inline void random_body(struct random_kernel *k, uint32_t count, uint32_t depth)
{
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t kind = random_byte(k) % 16, label = k->labels++;
        if (kind < 2 + 2 * k->mess) {
            random_move(k);
        } else if (kind < 13 || depth == 2) {
            random_access(k);
        } else if (kind < 15) { /* a loop of three, or of as many as the thread or data say */
            static const char *const bounds[] = {"mov.u32 %r7, 3;", "and.b32 %r7, %r0, 3;",
                                                 "and.b32 %r7, %r1, 3;"};
            const char *bound = bounds[random_byte(k) % 3];
            random_put(k, "mov.u32 %%c%u, 0;\nL%u:\n", depth, label);
            random_body(k, 1 + random_byte(k) % 4, depth + 1);
            random_put(k, "%s\nadd.u32 %%c%u, %%c%u, 1;\nsetp.lt.u32 %%p2, %%c%u, %%r7;\n@%%p2 bra L%u;\n",
                       bound, depth, depth, depth, label);
        } else {
            random_put(k, "@%%p%u bra L%u;\n", random_byte(k) % 2, label);
            random_body(k, 1 + random_byte(k) % 3, depth + 1);
            random_put(k, "L%u:\n", label);
        }
    }
}

#define RANDOM_CALLEE(name, body) \
    ".func (.param .b64 r) " name "(.param .b64 x, .param .b64 y, .param .b32 z)\n{\n.reg .pred " \
    "%%p<2>;\n.reg .b32 %%r<4>;\n.reg .b64 %%q<4>;\n" \
    "ld.param.u64 %%q0, [x];\nld.param.u64 %%q1, [y];\nld.param.u32 %%r0, [z];\nand.b32 %%r1, %%r0, " \
    "1;\nsetp.eq.u32 %%p0, %%r1, 0;\n" body "ret;\n}\n"

static inline void random_make(struct random_kernel *k)
{
    random_put(k, ".version 7.8\n.target sm_80\n.address_size 64\n");
    random_put(k, RANDOM_CALLEE("pick", "selp.b64 %%q2, %%q0, %%q1, %%p0;\nst.param.b64 [r], %%q2;\n"));
    if (random_byte(k) % 2)
        random_put(k, RANDOM_CALLEE("touch",
                                    "ld.u32 %%r2, [%%q0];\nst.u32 [%%q1], %%r2;\nst.param.b64 [r], %%q0;\n"));
    else
        random_put(k, RANDOM_CALLEE("touch",
                                    "ld.u32 %%r2, [%%q0];\nld.u32 %%r3, [%%q1];\nst.param.b64 [r], %%q1;\n"));
    /* puts a pointer where the first argument points to, on the caller's stack; and one that has it done */
    random_put(
        k, RANDOM_CALLEE("keep", "ld.u64 %%q2, [%%q0];\nst.u64 [%%q0], %%q1;\nst.param.b64 [r], %%q2;\n"));
    random_put(k,
               RANDOM_CALLEE("relay", "{ .param .b64 x1; .param .b64 y1; .param .b32 z1; .param .b64 out;\n"
                                      "st.param.b64 [x1], %%q0;\nst.param.b64 [y1], %%q1;\n"
                                      "st.param.b32 [z1], %%r0;\ncall (out), keep, (x1, y1, z1);\n"
                                      "ld.param.b64 %%q3, [out];\n}\nst.param.b64 [r], %%q3;\n"));
    random_put(k, ".visible .entry k(.param .u64 a, .param .u64 b, .param .align 8 .b8 s[16], .param .u64 "
                  "memory, .param .u32 n)\n{\n"
                  ".reg .pred %%p<4>;\n.reg .b32 %%r<12>, %%c<4>;\n.reg .b64 %%q<8>, %%u<2000>, %%t, %%f, "
                  "%%o, %%o8, %%m, "
                  "%%SP, %%SPL;\n"
                  ".local .align 16 .b8 depot[32];\n.shared .align 8 .b8 tile[32];\n"
                  "mov.u32 %%c0, 0;\nmov.u64 %%SPL, depot;\ncvta.local.u64 %%SP, %%SPL;\n"
                  "ld.param.u64 %%q0, [a];\nld.param.u64 %%q1, [b];\nld.param.u64 %%q2, [s];\nld.param.u64 "
                  "%%q3, [s+8];\nld.param.u64 %%m, [memory];\n"
                  "ld.param.u32 %%r1, [n];\nmov.b64 %%q4, %%q0;\nmov.b64 %%q5, %%q1;\nmov.u32 %%r0, "
                  "%%tid.x;\nmul.wide.u32 %%o, %%r0, 4;\n"
                  "mul.wide.u32 %%o8, %%r0, 32;\nsetp.lt.u32 %%p0, %%r0, 17;\nand.b32 %%r3, %%r1, "
                  "2;\nsetp.eq.u32 %%p1, %%r3, 0;\n"
                  "st.local.u64 [depot], %%q0;\nst.local.u64 [depot+8], %%q1;\nst.local.u64 [depot+16], "
                  "%%q2;\nst.local.u64 [depot+24], %%q3;\n");
    k->mess = random_byte(k) % 3;
    random_body(k, 3 + random_byte(k) % 12, 0);
    random_put(k, "ret;\n}\n");
}

static inline void random_execute(void *user, struct exec_launch *l)
{
    oracle_run(&((struct random_kernel *)user)->oracle, l);
}

static inline void random_launch(void *arg)
{
    struct random_kernel *k = arg;
    struct rt_context *rt = rt_create(&(struct rt_options){
        .execute = random_execute, .execute_user = k, .reserve_bytes = (uint64_t)1 << 30});
    struct rt_module *m = rt_module_load(rt, "random.ptx", k->text, k->len);
    char *buffers[3], *s[2];
    for (uint32_t n = 0; n < 3; n++) buffers[n] = rt_alloc(rt, RANDOM_BUFFER_BYTES, NULL);
    char *memory = rt_alloc(rt, RANDOM_BUFFER_BYTES, NULL);
    char *a = buffers[random_byte(k) % 3], *b = buffers[random_byte(k) % 3] + 256 * (random_byte(k) % 4);
    for (uint32_t n = 0; n < 2; n++) s[n] = buffers[random_byte(k) % 3] + 256 * (random_byte(k) % 3);
    const uint32_t n = random_byte(k);
    const void *const args[] = {&a, &b, s, &memory, &n};
    rt_launch(rt, &(struct rt_launch){.kernel = rt_kernel_find(m, "k"),
                                      .grid = {2, 1, 1},
                                      .block = {64, 1, 1},
                                      .args = args,
                                      .arg_count = 5});
    rt_wait(rt);
    rt_destroy(rt);
}

/* False: the kernel broke the promise, or Atoll did; the message is in *d. */
static inline bool random_run(struct random_kernel *k, const uint8_t *data, size_t size, struct diag *d)
{
    *k = (struct random_kernel){.data = data, .size = size, .state = size + 1};
    for (size_t n = 0; n < size; n++) k->state = (k->state ^ data[n]) * 0x9e3779b97f4a7c15u;
    random_make(k);
    diag_init(d);
    return diag_run(d, random_launch, k) == DIAG_NONE && !k->oracle.violated;
}

#endif
