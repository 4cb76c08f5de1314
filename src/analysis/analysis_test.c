/* Both analyses on small kernels: expressions, read-only data with and without overlapping arguments, what
 * requests carry, index equations of what compilers write, the locality table at launch, placement at launch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "analysis/index.h"
#include "analysis/oracle.h"
#include "base/rng.h"
#include "config/machine.h"
#include "exec/exec.h"
#include "runtime/runtime.h"
#include "system/rules.h"
#include "system/system_private.h"

#define HEAD ".version 7.8\n.target sm_80\n.address_size 64\n"
#define REGS ".reg .pred %p<8>;\n.reg .b32 %r<40>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<40>;\n"
/* k(u64 a, u64 b, u32 n): %rd1, %rd2, %r1; %r2 = thread of the grid, %rd3 = 4 * it */
#define KERNEL \
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n" REGS \
    "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u32 %r1, [n];\n" \
    "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\nmad.lo.s32 %r2, %r3, %r4, %r5;\n" \
    "mul.wide.s32 %rd3, %r2, 4;\n"
#define END "ret;\n}\n"

/* ---- a kernel analysed ---- */

struct bench {
    const char *ptx;
    struct arena arena;
    struct diag_source source;
    struct frame_cache frames;
    struct readonly readonly;
    const struct ptx_func *kernel;
    struct symbolic *s;
    struct locality_table *t;
};

static void open_bench(void *arg)
{
    struct bench *b = arg;
    b->source = (struct diag_source){"test.ptx", b->ptx, strlen(b->ptx)};
    struct ptx_module *m = ptx_parse(&b->arena, &b->source);
    const struct ptx_program *p = ptx_link(&b->arena, &m, 1);
    b->kernel = p->entries[0];
    b->s = symbolic_run(&b->arena, &b->frames, b->kernel);
    b->t = index_build(&b->arena, b->s, b->kernel);
    (void)readonly_of(&b->readonly, b->kernel);
}

static void bench_open(struct bench *b, const char *ptx)
{
    struct diag d;
    *b = (struct bench){.ptx = ptx};
    arena_init(&b->arena);
    frame_cache_init(&b->frames, &b->arena);
    readonly_init(&b->readonly, &b->arena, &b->frames);
    diag_init(&d);
    if (diag_run(&d, open_bench, b)) fail_msg("%s", d.text);
    diag_clear(&d);
}

static void bench_close(struct bench *b)
{
    symbolic_free(b->s);
    readonly_free(&b->readonly);
    frame_cache_free(&b->frames);
    arena_free(&b->arena);
}

/* "a:ro b:rw": parameters by their names; an origin without access is left out. */
static void verdicts(const char *ptx, const char *expected)
{
    struct bench b;
    char text[256] = "";
    bench_open(&b, ptx);
    const struct readonly_func *f = readonly_of(&b.readonly, b.kernel);
    const uint64_t read_only = readonly_decide_alone(f);
    for (uint32_t n = 0; n < b.kernel->n_params + 1; n++)
        for (uint32_t k = 0; k < f->n_origins; k++) {
            const struct readonly_origin *o = &f->origins[k];
            const bool here = o->variable ? n == b.kernel->n_params : o->symbol == b.kernel->first_param + n;
            if (!here || (!o->read.func && !o->written.func)) continue;
            const size_t len = strlen(text);
            const char *name = o->variable ? o->variable->name : b.kernel->module->symbols[o->symbol].name;
            (void)snprintf(text + len, sizeof text - len, "%s%s", len ? " " : "", name);
            const size_t more = strlen(text);
            if (!o->variable && b.kernel->module->symbols[o->symbol].size_bytes > 8)
                (void)snprintf(text + more, sizeof text - more, ".%u", 8 * o->granule);
            (void)strcat(text, read_only >> k & 1 ? ":ro" : ":rw");
        }
    bench_close(&b);
    assert_string_equal(text, expected);
}

/* Index (without the name of the pointer) and class of the first row of an argument. */
static void row(const char *ptx, const char *argument, const char *index, enum locality_class class)
{
    struct bench b;
    bench_open(&b, ptx);
    const struct locality_row *found = NULL;
    for (uint32_t k = 0; k < b.t->n_arguments; k++)
        if (!strcmp(b.t->arguments[k].name, argument)) found = &b.t->rows[b.t->arguments[k].row];
    assert_non_null(found);
    char text[300];
    bool in_bytes;
    locality_print(b.t, found, found->index, text, sizeof text, &in_bytes);
    assert_string_equal(text, index);
    assert_string_equal(locality_action(found->class)->class_name, locality_action(class)->class_name);
    bench_close(&b);
}

/* ---- expressions ---- */

static bool number(void *arg, const struct atom *a, int64_t *v)
{
    *v = ((const int64_t *)arg)[a->id];
    return true;
}

/* A random tree, as an expression and as a number, with small atoms. */
static const struct expr *random_tree(struct expr_pool *p, struct rng *r, const int64_t *values,
                                      uint32_t depth, int64_t *value)
{
    const uint64_t pick = rng_below(r, 9);
    if (!depth || pick == 0) {
        if (rng_below(r, 3) == 0) {
            *value = (int64_t)rng_below(r, 40) - 8;
            return expr_const(p, *value);
        }
        const struct atom like = {
            .kind = ATOM_PARAM, .id = (uint32_t)rng_below(r, 4), .size_bytes = 4, .deps = DEP_PARAM};
        *value = values[like.id];
        return expr_of(p, expr_intern_atom(p, &like));
    }
    int64_t v[2];
    const struct expr *e[2] = {random_tree(p, r, values, depth - 1, &v[0]),
                               random_tree(p, r, values, depth - 1, &v[1])};
    static const enum expr_op ops[] = {EXPR_AND, EXPR_OR,  EXPR_XOR, EXPR_MIN,
                                       EXPR_MAX, EXPR_SHR, EXPR_DIV, EXPR_REM};
    switch (pick) {
    case 1:
    case 2: *value = v[0] + v[1]; return expr_add(p, e[0], e[1]);
    case 3: *value = v[0] - v[1]; return expr_sub(p, e[0], e[1]);
    case 4:
    case 5: *value = v[0] * v[1]; return expr_mul(p, e[0], e[1]);
    default: break;
    }
    const enum expr_op op = ops[rng_below(r, 8)];
    if (op == EXPR_SHR || op == EXPR_DIV || op == EXPR_REM) {
        v[1] = (int64_t)rng_below(r, 5) + (op != EXPR_SHR);
        e[1] = expr_const(p, v[1]);
    }
    assert_true(expr_eval_op(op, PTX_T_S64, 0, v, value));
    return expr_op(p, op, PTX_T_S64, 0, e, 2);
}

static void an_expression_has_the_value_of_what_it_was_made_from(void **state)
{
    (void)state;
    struct rng r = rng_seed(1, 0);
    for (uint32_t n = 0; n < 4000; n++) {
        struct arena a;
        struct expr_pool p;
        int64_t values[4], expected, got;
        arena_init(&a);
        expr_pool_init(&p, &a, 0);
        for (uint32_t k = 0; k < 4; k++) values[k] = (int64_t)rng_below(&r, 1000) - 300;
        const struct expr *e = random_tree(&p, &r, values, 5, &expected);
        assert_true(expr_eval(e, number, values, &got));
        assert_int_equal(got, expected);
        expr_pool_free(&p);
        arena_free(&a);
    }
}

static void new_pool(struct expr_pool *p, struct arena *a)
{
    arena_init(a);
    expr_pool_init(p, a, 0);
}

/* A value of 32 bits that stands for itself. */
static const struct expr *atom(struct expr_pool *p, enum atom_kind kind, uint32_t id, uint32_t deps)
{
    const struct atom x = {.kind = (uint8_t)kind, .id = id, .size_bytes = 4, .deps = deps};
    return expr_of(p, expr_intern_atom(p, &x));
}

static void equal_values_are_the_same_pointer(void **state)
{
    (void)state;
    struct arena a;
    struct expr_pool p;
    new_pool(&p, &a);
    const struct expr *tx = atom(&p, ATOM_SREG, PTX_SREG_TID_X, DEP_TX),
                      *bx = atom(&p, ATOM_SREG, PTX_SREG_CTAID_X, DEP_BX);
    const struct expr *sum = expr_add(&p, tx, bx);
    /* (tx + bx)^2 == tx^2 + 2 tx bx + bx^2 */
    const struct expr *square = expr_mul(&p, sum, sum);
    const struct expr *parts =
        expr_add(&p, expr_mul(&p, bx, bx),
                 expr_add(&p, expr_scale(&p, expr_mul(&p, bx, tx), 2), expr_mul(&p, tx, tx)));
    assert_ptr_equal(square, parts);
    assert_ptr_equal(expr_sub(&p, square, parts), expr_const(&p, 0));
    /* (16 bx | tx) & 15 with tx below 16: 16 bx + tx, tx */
    const struct expr *low[2] = {tx, expr_const(&p, 15)};
    const struct expr *t16 = expr_op(&p, EXPR_AND, PTX_T_B32, 0, low, 2);
    const struct expr *both[2] = {expr_scale(&p, bx, 16), t16};
    const struct expr *joined = expr_op(&p, EXPR_OR, PTX_T_B32, 0, both, 2);
    assert_ptr_equal(joined, expr_add(&p, both[0], t16));
    const struct expr *back[2] = {joined, expr_const(&p, 4)};
    assert_ptr_equal(expr_op(&p, EXPR_SHR, PTX_T_U32, 0, back, 2), bx);
    expr_pool_free(&p);
    arena_free(&a);
}

/* What shifts up and down again leave is part of the value, not the value; divisions go to zero. */
static void what_wraps_around_or_is_negative_stays_an_operation(void **state)
{
    (void)state;
    struct arena a;
    struct expr_pool p;
    new_pool(&p, &a);
    const struct expr *tx = atom(&p, ATOM_SREG, PTX_SREG_TID_X, DEP_TX),
                      *n = atom(&p, ATOM_PARAM, 0, DEP_PARAM);
    int64_t values[64] = {0}, got;
    values[PTX_SREG_TID_X] = 300;
    const struct expr *down[2] = {expr_scale(&p, tx, 3 << 24), expr_const(&p, 24)};
    assert_true(expr_eval(expr_op(&p, EXPR_SHR, PTX_T_S32, 0, down, 2), number, values, &got));
    assert_int_equal(got, (int8_t)(300 * 3));
    const struct expr *short_down[2] = {expr_scale(&p, tx, 256), expr_const(&p, 8)};
    assert_true(expr_eval(expr_op(&p, EXPR_SHR, PTX_T_U16, 0, short_down, 2), number, values, &got));
    assert_int_equal(got, 300 & 255);
    values[PTX_SREG_TID_X] = 5; /* (16 n + tx) / 16 with n below zero */
    values[0] = -2;
    const struct expr *low[2] = {tx, expr_const(&p, 15)};
    const struct expr *over[2] = {
        expr_add(&p, expr_scale(&p, n, 16), expr_op(&p, EXPR_AND, PTX_T_B32, 0, low, 2)), expr_const(&p, 16)};
    assert_true(expr_eval(expr_op(&p, EXPR_DIV, PTX_T_S32, 0, over, 2), number, values, &got));
    const int64_t tid = values[PTX_SREG_TID_X];
    assert_int_equal(got, (16 * values[0] + (tid & 15)) / 16);
    expr_pool_free(&p);
    arena_free(&a);
}

/* ---- read-only data ---- */

#define LOAD_A  "add.s64 %rd4, %rd1, %rd3;\nld.global.f32 %f1, [%rd4];\n"
#define STORE_B "add.s64 %rd5, %rd2, %rd3;\nst.global.f32 [%rd5], %f1;\n"

static void what_is_only_read_is_read_only(void **state)
{
    (void)state;
    verdicts(HEAD KERNEL LOAD_A STORE_B END, "a:ro b:rw");
    verdicts(HEAD KERNEL LOAD_A "st.global.f32 [%rd4], %f1;\n" END, "a:rw");
    verdicts(HEAD KERNEL LOAD_A "add.s64 %rd5, %rd2, %rd3;\nred.global.add.f32 [%rd5], %f1;\n" END,
             "a:ro b:rw");
    verdicts(HEAD KERNEL LOAD_A "add.s64 %rd5, %rd2, %rd3;\natom.add.f32 %f2, [%rd5], %f1;\n" END,
             "a:ro b:rw");
}

static void a_pointer_that_may_be_either_is_both(void **state)
{
    (void)state;
    verdicts(HEAD KERNEL LOAD_A "ld.global.f32 %f1, [%rd2];\nsetp.eq.s32 %p1, %r1, 0;\nselp.b64 %rd6, %rd1, "
                                "%rd2, %p1;\nst.global.f32 [%rd6], %f1;\n" END,
             "a:rw b:rw");
    /* a pointer that walks in a loop, through a register with two definitions */
    verdicts(HEAD KERNEL "mov.b64 %rd6, %rd1;\nLOOP: ld.global.f32 %f1, [%rd6];\nadd.s64 %rd6, %rd6, "
                         "4;\nsetp.lt.s64 %p1, %rd6, 100;\n@%p1 bra LOOP;\n" STORE_B END,
             "a:ro b:rw");
    verdicts(HEAD KERNEL
             "mov.b64 %rd6, %rd1;\nLOOP: ld.global.f32 %f1, [%rd6];\nadd.s64 %rd6, %rd6, 4;\nsetp.lt.s64 "
             "%p1, %rd6, 100;\n@%p1 bra LOOP;\nmov.b64 %rd6, %rd2;\nst.global.f32 [%rd6], %f1;\n" END,
             "a:rw b:rw");
}

static void a_store_to_nobody_knows_where_leaves_nothing_read_only(void **state)
{
    (void)state;
#define WILD "ld.global.u64 %rd7, [%rd2];\nst.global.f32 [%rd7], %f1;\n"
    verdicts(HEAD KERNEL LOAD_A WILD END, "a:rw b:rw");
    /* but what the compiler promised */
    verdicts(HEAD KERNEL "add.s64 %rd4, %rd1, %rd3;\nld.global.nc.f32 %f1, [%rd4];\n" WILD END, "a:ro b:rw");
    /* which holds for that load, not for others of the same structure, nor for what it may also be */
    verdicts(HEAD KERNEL LOAD_A "ld.global.nc.f32 %f1, [%rd4];\n" WILD END, "a:rw b:rw");
    verdicts(HEAD KERNEL LOAD_A "setp.eq.s32 %p1, %r1, 0;\nselp.b64 %rd6, %rd1, %rd2, %p1;\n"
                                "ld.global.nc.f32 %f1, [%rd6];\n" WILD END,
             "a:rw b:rw");
    /* an index that was loaded is no pointer */
    verdicts(HEAD KERNEL "add.s64 %rd4, %rd1, %rd3;\nld.global.u64 %rd7, [%rd4];\nshl.b64 %rd7, %rd7, "
                         "2;\nadd.s64 %rd8, %rd2, %rd12;\nst.global.f32 [%rd8], %f1;\n" END,
             "a:ro b:rw");
    /* halves of a pointer */
    verdicts(HEAD KERNEL LOAD_A "ld.global.v2.u32 {%r10, %r11}, [%rd2];\nmov.b64 %rd7, {%r10, "
                                "%r11};\nst.global.f32 [%rd7], %f1;\n" END,
             "a:rw b:rw");
    verdicts(HEAD KERNEL LOAD_A
             "mov.b64 {%r10, %r11}, %rd2;\nmov.b64 %rd7, {%r10, %r11};\nst.global.f32 [%rd7], %f1;\n" END,
             "a:rw b:rw");
    /* packed again in memory of its own */
#define DEPOT \
    ".local .align 16 .b8 depot[32];\n.reg .b64 %SP, %SPL;\nmov.u64 %SPL, depot;\ncvta.local.u64 %SP, " \
    "%SPL;\n"
    verdicts(HEAD KERNEL DEPOT LOAD_A
             "ld.global.u32 %r10, [%rd2];\nld.global.u32 %r11, [%rd2+4];\nst.u32 [%SP], %r10;\n"
             "st.u32 [%SP+4], %r11;\nld.u64 %rd7, [%SP];\nsetp.eq.s32 %p1, %r1, 0;\n"
             "selp.b64 %rd8, %rd7, %rd2, %p1;\nst.global.f32 [%rd8], %f1;\n" END,
             "a:rw b:rw");
    verdicts(HEAD KERNEL DEPOT LOAD_A
             "st.u64 [%SP], %rd2;\nst.u64 [%SP+8], %rd2;\nld.u64 %rd7, [%SP+4];\nst.f32 [%rd7], %f1;\n" END,
             "a:rw b:rw");
    /* two pointers in one register */
    verdicts(HEAD KERNEL ".reg .b128 %q;\n" LOAD_A
                         "ld.global.b128 %q, [%rd2];\nmov.b128 {%rd7, %rd8}, %q;\nsetp.eq.s32 %p1, %r1, 0;\n"
                         "selp.b64 %rd8, %rd7, %rd2, %p1;\nst.global.f32 [%rd8], %f1;\n" END,
             "a:rw b:rw");
    /* an alignment keeps what it aligns */
    verdicts(HEAD KERNEL LOAD_A
             "shr.u64 %rd7, %rd2, 4;\nshl.b64 %rd7, %rd7, 4;\nst.global.f32 [%rd7], %f1;\n" END,
             "a:ro b:rw");
}

static void a_pointer_comes_back_from_arithmetic(void **state)
{
    (void)state;
    /* b times one, and minus minus b: b is written, nothing else */
    verdicts(HEAD KERNEL LOAD_A "mul.lo.s64 %rd6, %rd2, 1;\nadd.s64 %rd6, %rd6, %rd3;\n"
                                "st.global.f32 [%rd6], %f1;\n" END,
             "a:ro b:rw");
    verdicts(HEAD KERNEL LOAD_A "mad.lo.s64 %rd6, %rd2, -1, 0;\nneg.s64 %rd6, %rd6;\n"
                                "st.global.f32 [%rd6], %f1;\n" END,
             "a:ro b:rw");
    /* divided and multiplied again, beside another pointer */
    verdicts(HEAD KERNEL LOAD_A "div.u64 %rd6, %rd1, 24;\nmul.lo.s64 %rd6, %rd6, 24;\n"
                                "st.global.f32 [%rd6], %f1;\n" END,
             "a:rw");
    verdicts(HEAD KERNEL LOAD_A "mul.hi.u64 %rd6, %rd1, 288230376151711744;\nshl.b64 %rd6, %rd6, 6;\n"
                                "sub.s64 %rd7, %rd2, %rd2;\nadd.s64 %rd6, %rd6, %rd7;\n"
                                "st.global.f32 [%rd6], %f1;\n" END,
             "a:rw b:rw");
    /* the upper half of b and 32 bits from memory: anything */
    verdicts(HEAD KERNEL LOAD_A "ld.global.u32 %r9, [%rd2];\ncvt.u64.u32 %rd6, %r9;\n"
                                "and.b64 %rd7, %rd2, -4294967296;\nor.b64 %rd6, %rd6, %rd7;\n"
                                "st.global.f32 [%rd6], %f1;\n" END,
             "a:rw b:rw");
    verdicts(HEAD KERNEL LOAD_A "ld.global.u32 %r9, [%rd2];\ncvt.u64.u32 %rd6, %r9;\n"
                                "shr.u64 %rd7, %rd2, 32;\nshl.b64 %rd7, %rd7, 32;\nor.b64 %rd6, %rd6, %rd7;\n"
                                "st.global.f32 [%rd6], %f1;\n" END,
             "a:rw b:rw");
}

static void pointers_are_followed_through_local_memory_and_structures(void **state)
{
    (void)state;
    verdicts(
        HEAD KERNEL
        ".local .align 8 .b8 depot[32];\n.reg .b64 %SP, %SPL;\nmov.u64 %SPL, depot;\ncvta.local.u64 %SP, "
        "%SPL;\n"
        "st.u64 [%SP+0], %rd1;\nst.u64 [%SP+8], %rd2;\nst.u32 [%SP+16], %r1;\n"
        "ld.u64 %rd10, [%SP+0];\nld.f32 %f1, [%rd10];\nld.u64 %rd11, [%SP+8];\nst.f32 [%rd11], %f1;\n" END,
        "a:ro b:rw");
    /* an array of pointers with an index: either */
    verdicts(HEAD KERNEL ".local .align 8 .b8 depot[32];\n.reg .b64 %SP, %SPL;\nmov.u64 %SPL, "
                         "depot;\ncvta.local.u64 %SP, %SPL;\n"
                         "st.u64 [%SP+0], %rd1;\nst.u64 [%SP+8], %rd2;\nmul.wide.s32 %rd12, %r1, 8;\nadd.s64 "
                         "%rd13, %SP, %rd12;\n"
                         "ld.global.f32 %f1, [%rd1];\nld.u64 %rd11, [%rd13];\nst.f32 [%rd11], %f1;\n" END,
             "a:rw b:rw");
    verdicts(HEAD ".visible .entry k(.param .align 8 .b8 s[24])\n{\n" REGS
                  "ld.param.u64 %rd1, [s];\nld.param.u64 %rd2, [s+16];\nld.global.f32 %f1, "
                  "[%rd1];\nst.global.f32 [%rd2], %f1;\n" END,
             "s.0:ro s.16:rw");
    verdicts(HEAD ".global .align 4 .b8 table[64];\n" KERNEL
                  "mov.u64 %rd7, table;\nld.global.f32 %f1, [%rd7+8];\nadd.s64 %rd8, %rd1, "
                  "%rd3;\nst.global.f32 [%rd8], %f1;\n" END,
             "a:rw table:ro");
    /* shared memory is not global, whatever the address looks like */
    verdicts(HEAD ".shared .align 4 .b8 tile[64];\n" KERNEL LOAD_A
                  "mov.u64 %rd7, tile;\ncvta.shared.u64 %rd8, %rd7;\nst.f32 [%rd8], %f1;\n" END,
             "a:ro");
}

#define CALLEE(body) \
    ".func (.param .b64 r) f(.param .b64 x, .param .b64 y)\n{\n" REGS \
    "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\n" body "ret;\n}\n"
#define CALL(first, second) \
    "{ .param .b64 q0; .param .b64 q1; .param .b64 out;\nst.param.b64 [q0], " first \
    ";\nst.param.b64 [q1], " second ";\n" \
    "call (out), f, (q0, q1);\nld.param.b64 %rd9, [out];\n}\n"

static void calls_are_followed(void **state)
{
    (void)state;
    verdicts(HEAD CALLEE("ld.f32 %f1, [%rd1];\nst.f32 [%rd2], %f1;\nst.param.b64 [r], %rd1;\n")
                 KERNEL CALL("%rd1", "%rd2") END,
             "a:ro b:rw");
    /* what comes back is what went in */
    verdicts(HEAD CALLEE("ld.f32 %f1, [%rd1];\nst.param.b64 [r], %rd2;\n")
                 KERNEL CALL("%rd1", "%rd2") "st.global.f32 [%rd9], %f1;\n" END,
             "a:ro b:rw");
    verdicts(HEAD CALLEE("ld.f32 %f1, [%rd1];\nst.param.b64 [r], %rd1;\n")
                 KERNEL CALL("%rd1", "%rd2") "st.global.f32 [%rd9], %f1;\n" END,
             "a:rw");
    /* recursion may do anything */
    verdicts(HEAD ".func (.param .b64 r) f(.param .b64 x, .param .b64 y);\n" CALLEE(
                 "ld.f32 %f1, [%rd1];\n" CALL("%rd2", "%rd1") "st.param.b64 [r], %rd9;\n")
                 KERNEL LOAD_A CALL("%rd1", "%rd2") END,
             "a:rw");
}

/* ---- launches ---- */

struct launch {
    const char *ptx;
    uint64_t bytes;   /* of the allocation of a */
    int64_t b_offset; /* b = a + this; INT64_MIN: an allocation of its own */
    char verdicts[64];
    bool executed;
    bool wide; /* n has 64 bits */
    struct oracle oracle;
};

static void watch(void *user, struct exec_launch *l)
{
    struct launch *t = user;
    uint32_t count;
    const struct analysis_verdict *v = analysis_verdicts(l->analysis, &count);
    const struct ptx_func *f = exec_kernel_ptx(l->kernel);
    for (uint32_t n = 0; n < f->n_params; n++)
        for (uint32_t k = 0; k < count; k++)
            if (v[k].origin->symbol == f->first_param + n &&
                (v[k].origin->read.func || v[k].origin->written.func))
                (void)snprintf(t->verdicts + strlen(t->verdicts), sizeof t->verdicts - strlen(t->verdicts),
                               "%s:%s ", f->module->symbols[v[k].origin->symbol].name,
                               v[k].read_only ? "ro" : "rw");
    oracle_run(&t->oracle, l);
    t->executed = true;
}

static void launch_body(void *arg)
{
    struct launch *t = arg;
    struct rt_context *rt = rt_create(&(struct rt_options){.execute = watch, .execute_user = t});
    struct rt_module *m = rt_module_load(rt, "test.ptx", t->ptx, strlen(t->ptx));
    char *a = rt_alloc(rt, t->bytes, "a"),
         *b = t->b_offset == INT64_MIN ? rt_alloc(rt, t->bytes, "b") : a + t->b_offset;
    const uint32_t n = 256;
    const struct rt_arg args[] = {RT_ARG((uint64_t)(uintptr_t)a), RT_ARG((uint64_t)(uintptr_t)b),
                                  t->wide ? RT_ARG((uint64_t)n) : RT_ARG(n)};
    rt_launch_args(rt, rt_kernel_find(m, "k"), (struct rt_dim){2, 1, 1}, (struct rt_dim){64, 1, 1}, 0, args,
                   3);
    rt_wait(rt);
    rt_destroy(rt);
}

static struct launch launched(const char *ptx, uint64_t bytes, int64_t b_offset)
{
    struct launch t = {
        .ptx = ptx, .bytes = bytes, .b_offset = b_offset, .wide = strstr(ptx, ".u64 n)") != NULL};
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, launch_body, &t)) fail_msg("%s", d.text);
    diag_clear(&d);
    assert_true(t.executed);
    assert_false(t.oracle.violated);
    return t;
}

static void a_promise_holds_for_its_own_load_only(void **state)
{
    (void)state;
    /* writes the second half of a through a pointer from memory */
    struct launch t =
        launched(HEAD KERNEL "shl.b64 %rd6, %rd3, 1;\nadd.s64 %rd6, %rd2, %rd6;\nadd.s64 %rd7, %rd1, 2048;\n"
                             "st.global.u64 [%rd6], %rd7;\nadd.s64 %rd4, %rd1, %rd3;\n"
                             "ld.global.nc.f32 %f1, [%rd4];\nld.global.f32 %f2, [%rd4+2048];\n"
                             "ld.global.u64 %rd8, [%rd6];\nadd.s64 %rd8, %rd8, %rd3;\n"
                             "st.global.f32 [%rd8], %f2;\n" END,
                 4096, INT64_MIN);
    assert_string_equal(t.verdicts, "a:rw b:rw ");
    assert_int_equal(3 * t.oracle.read_only_loads, t.oracle.loads);
}

static void overlapping_arguments_are_seen_at_launch(void **state)
{
    (void)state;
    static const char ptx[] = HEAD KERNEL LOAD_A STORE_B END;
    struct launch t = launched(ptx, 4096, INT64_MIN);
    assert_string_equal(t.verdicts, "a:ro b:rw ");
    assert_int_equal(t.oracle.read_only_loads, t.oracle.loads);
    /* the same allocation, whatever the distance */
    t = launched(ptx, 4096, 0);
    assert_string_equal(t.verdicts, "a:rw b:rw ");
    assert_int_equal(t.oracle.read_only_loads, 0);
    t = launched(ptx, 4096, 1024);
    assert_string_equal(t.verdicts, "a:rw b:rw ");
}

/* b[n] = a[n] with bytes: n might be the pointer and b the index, but for its number. */
static void a_number_is_no_pointer(void **state)
{
    (void)state;
    static const char ptx[] =
        HEAD ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 n)\n{\n" REGS
             "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [n];\n"
             "add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nld.global.u8 %r1, [%rd4];\n"
             "st.global.u8 [%rd5], %r1;\n" END;
    struct launch t = launched(ptx, 4096, INT64_MIN);
    assert_true(t.oracle.loads > 0);
    assert_int_equal(t.oracle.read_only_loads, t.oracle.loads);
    t = launched(ptx, 4096, 1024);
    assert_int_equal(t.oracle.read_only_loads, 0);
}

static void a_load_in_a_callee_is_decided_for_the_kernel(void **state)
{
    (void)state;
    static const char ptx[] =
        HEAD CALLEE("ld.f32 %f1, [%rd1];\nst.f32 [%rd2], %f1;\nst.param.b64 [r], %rd1;\n") KERNEL
        "add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n" CALL("%rd4", "%rd5") END;
    struct launch t = launched(ptx, 4096, INT64_MIN);
    assert_int_equal(t.oracle.read_only_loads, t.oracle.loads);
    assert_true(t.oracle.loads > 0);
    t = launched(ptx, 4096, 512);
    assert_int_equal(t.oracle.read_only_loads, 0);
    /* called with the arguments both ways: neither is read-only */
    static const char both[] =
        HEAD CALLEE("ld.f32 %f1, [%rd1];\nst.f32 [%rd2], %f1;\nst.param.b64 [r], %rd1;\n") KERNEL
        "add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n" CALL("%rd4", "%rd5") CALL("%rd5", "%rd4")
            END;
    t = launched(both, 4096, INT64_MIN);
    assert_int_equal(t.oracle.read_only_loads, 0);
}

/* ---- index equations ---- */

static void what_compilers_write_is_understood(void **state)
{
    (void)state;
    /* shift instead of a multiplication, or instead of an addition */
    row(HEAD KERNEL "shl.b32 %r6, %r3, 8;\nand.b32 %r7, %r5, 255;\nor.b32 %r8, %r6, %r7;\nmul.wide.u32 %rd4, "
                    "%r8, 4;\nadd.s64 %rd5, %rd1, %rd4;\nld.global.f32 %f1, [%rd5+4];\n" END,
        "p0", "256*bx + (tx & 255) + 1", LOCALITY_NL);
    /* a pointer that advances by a constant, tested at the end, under a guard */
    row(HEAD KERNEL "setp.ge.s32 %p1, %r2, %r1;\n@%p1 bra DONE;\nadd.s64 %rd4, %rd1, %rd3;\nmov.u32 %r6, 0;\n"
                    "LOOP: ld.global.f32 %f1, [%rd4];\nadd.s64 %rd4, %rd4, 1024;\nadd.s32 %r6, %r6, "
                    "1;\nsetp.lt.s32 %p2, %r6, %r1;\n@%p2 bra LOOP;\nDONE: " END,
        "p0", "bx*bdx + tx + 256*m", LOCALITY_NL);
    /* the same by a predicated addition that data decides on: no closed form, but no lie */
    row(HEAD KERNEL "add.s64 %rd4, %rd1, %rd3;\nmov.u32 %r6, 0;\n"
                    "LOOP: ld.global.f32 %f1, [%rd4];\nsetp.gt.f32 %p3, %f1, 0f00000000;\n@%p3 add.s64 %rd4, "
                    "%rd4, 1024;\nadd.s32 %r6, %r6, 1;\nsetp.lt.s32 %p2, %r6, %r1;\n@%p2 bra LOOP;\n" END,
        "p0", "4*bx*bdx + 4*tx + ?", LOCALITY_NONE);
    /* counting down */
    row(HEAD KERNEL
        "mov.u32 %r6, %r1;\n"
        "LOOP: add.s32 %r7, %r6, %r2;\nmul.wide.s32 %rd6, %r7, 4;\nadd.s64 %rd4, %rd1, %rd6;\nld.global.f32 "
        "%f1, [%rd4];\nadd.s32 %r6, %r6, -64;\nsetp.gt.s32 %p2, %r6, 0;\n@%p2 bra LOOP;\n" END,
        "p0", "bx*bdx + tx + p2 - 64*m", LOCALITY_NL);
}

static void an_unrolled_loop_is_one_access(void **state)
{
    (void)state;
    static const char ptx[] = HEAD KERNEL
        "mul.lo.s32 %r9, %r2, %r1;\nmul.wide.s32 %rd6, %r9, 4;\nadd.s64 %rd4, %rd1, %rd6;\nmov.u32 %r6, 0;\n"
        "LOOP: ld.global.f32 %f1, [%rd4];\nld.global.f32 %f2, [%rd4+4];\nld.global.f32 %f3, "
        "[%rd4+8];\nld.global.f32 %f4, [%rd4+12];\n"
        "add.s64 %rd4, %rd4, 16;\nadd.s32 %r6, %r6, 4;\nsetp.lt.s32 %p2, %r6, %r1;\n@%p2 bra LOOP;\n" END;
    row(ptx, "p0", "bx*bdx*p2 + tx*p2 + m", LOCALITY_ITL);
    /* a vector access is four */
    row(HEAD KERNEL
        "mul.lo.s32 %r9, %r2, %r1;\nmul.wide.s32 %rd6, %r9, 4;\nadd.s64 %rd4, %rd1, %rd6;\nmov.u32 %r6, 0;\n"
        "LOOP: ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];\nadd.s64 %rd4, %rd4, 16;\nadd.s32 %r6, %r6, "
        "4;\nsetp.lt.s32 %p2, %r6, %r1;\n@%p2 bra LOOP;\n" END,
        "p0", "bx*bdx*p2 + tx*p2 + m", LOCALITY_ITL);
    /* three of four are not a loop */
    row(HEAD KERNEL
        "mul.lo.s32 %r9, %r2, %r1;\nmul.wide.s32 %rd6, %r9, 4;\nadd.s64 %rd4, %rd1, %rd6;\nmov.u32 %r6, 0;\n"
        "LOOP: ld.global.f32 %f1, [%rd4];\nld.global.f32 %f2, [%rd4+4];\nld.global.f32 %f3, [%rd4+8];\n"
        "add.s64 %rd4, %rd4, 16;\nadd.s32 %r6, %r6, 4;\nsetp.lt.s32 %p2, %r6, %r1;\n@%p2 bra LOOP;\n" END,
        "p0", "bx*bdx*p2 + tx*p2 + 4*m", LOCALITY_NL);
}

static void data_in_an_index_is_not_classified_but_for_neighbours(void **state)
{
    (void)state;
    row(HEAD KERNEL LOAD_A "ld.global.u32 %r9, [%rd4];\nmul.wide.s32 %rd6, %r9, 4;\nadd.s64 %rd5, %rd2, "
                           "%rd6;\nst.global.f32 [%rd5], %f1;\n" END,
        "p1", "load@20", LOCALITY_NONE);
    row(HEAD KERNEL LOAD_A
        "ld.global.u32 %r9, [%rd4];\nmul.wide.s32 %rd6, %r9, 4;\nadd.s64 %rd5, %rd2, %rd6;\nmov.u32 %r6, 0;\n"
        "LOOP: st.global.f32 [%rd5], %f1;\nadd.s64 %rd5, %rd5, 4;\nadd.s32 %r6, %r6, 1;\nsetp.lt.s32 %p2, "
        "%r6, %r1;\n@%p2 bra LOOP;\n" END,
        "p1", "load@20 + m", LOCALITY_ITL);
}

static void a_call_is_followed_as_if_inlined(void **state)
{
    (void)state;
    row(HEAD CALLEE("ld.f32 %f1, [%rd1+8];\nadd.s64 %rd3, %rd1, 4;\nst.param.b64 [r], %rd3;\n") KERNEL
        "add.s64 %rd4, %rd1, %rd3;\n" CALL("%rd4", "%rd2") END,
        "p0", "bx*bdx + tx + 2", LOCALITY_NL);
    row(HEAD CALLEE("add.s64 %rd3, %rd1, %rd2;\nst.param.b64 [r], %rd3;\n")
            KERNEL CALL("%rd1", "%rd3") "ld.global.f32 %f1, [%rd9+4];\n" END,
        "p0", "bx*bdx + tx + 1", LOCALITY_NL);
}

/* ---- placement at launch ---- */

struct placed {
    uint32_t calls, arrays, winner;
    uint64_t first_page, pages;
    struct launch_array first, second;
    uint32_t grid;
    struct system *system;
    struct exec_env *env;
};

/* A policy of the test: the pages of the first argument go to channel 3. */
static struct placed *seen; /* the hook has no argument of its own */

static uint32_t third(const struct page_rule *r, const struct placement_question *q)
{
    assert_true(q->owned->count > 3 && r->first == seen->first_page && q->page - r->first < r->count);
    return 3;
}

static void place_first_argument(void *state, const struct placement_launch *l)
{
    const struct launch_arrays *arrays = launch_arrays(l->facts);
    assert_ptr_equal(arrays, launch_arrays(l->facts)); /* analysed once */
    const struct launch_array *a = &arrays->array[0];
    const struct page_rule rule = {.place = third};
    (void)state;
    seen->calls++;
    seen->arrays = arrays->count;
    seen->first = arrays->array[0];
    seen->second = arrays->array[1];
    seen->winner = arrays->winner;
    seen->grid = l->facts->grid[0];
    seen->first_page = a->base >> l->page_log2;
    seen->pages = ((a->base + a->bytes - 1) >> l->page_log2) - seen->first_page + 1;
    l->assign(l->pages, l->facts->app, seen->first_page, seen->pages, &rule);
}

static void time_it(void *user, struct exec_launch *l)
{
    struct placed *p = user;
    assert_true(system_run_kernel(p->system, 0, l));
}

static void placed_body(void *arg)
{
    struct placed *p = arg;
    static const char ptx[] = HEAD KERNEL LOAD_A STORE_B END;
    struct machine machine;
    struct stats_registry stats;
    machine_init(&machine);
    machine_load(&machine, "uba-mem");
    machine_set(&machine, "map.kind=fixed_channel");
    machine_finish(&machine, &system_rules);
    stats_init(&stats, machine.config.sim.series_interval_cyc);
    p->system = system_new(&machine.config, &stats, true);
    struct placement *const placement = pages_placement(p->system->pages, 0);
    struct placement_ops ops = *placement->ops;
    ops.at_launch = place_first_argument;
    placement->ops = &ops;
    struct rt_context *rt = rt_create(&(struct rt_options){.execute = time_it, .execute_user = p});
    struct rt_module *m = rt_module_load(rt, "test.ptx", ptx, sizeof ptx - 1);
    const uint32_t n = 64 * 128;
    void *a = rt_alloc(rt, n * 4, "a");
    char *b = rt_alloc(rt, n * 4 + 256, "b"); /* the argument points behind its start */
    const struct rt_arg args[] = {RT_ARG((uint64_t)(uintptr_t)a), RT_ARG((uint64_t)(uintptr_t)(b + 256)),
                                  RT_ARG(n)};
    for (int k = 0; k < 2; k++)
        rt_launch_args(rt, rt_kernel_find(m, "k"), (struct rt_dim){64, 1, 1}, (struct rt_dim){128, 1, 1}, 0,
                       args, 3);
    rt_wait(rt);
    system_finish(p->system);
    struct stats sum;
    stats_sum(&stats, STATS_EVERYWHERE, &sum);
    for (uint64_t k = 0; k < p->pages; k++) {
        const uint64_t *frame = pages_find(p->system->pages, 0, pages_key(0, p->first_page + k));
        assert_non_null(frame);
        assert_int_equal(pages_home(p->system->pages, *frame).channel, 3);
    }
    assert_true(sum.mmu.pages_placed > p->pages); /* b: by the policy */
    assert_int_equal(sum.mmu.pages_placed_at_launch, p->pages);
    assert_int_equal(sum.sm.read_only_accesses, 2 * n * 4 / 128); /* a, in both launches */
    assert_int_equal(p->first.base, rt_simulated(rt, a));
    assert_int_equal(p->second.base, rt_simulated(rt, b) + 256);
    rt_destroy(rt);
    system_free(p->system);
    stats_free(&stats);
    machine_free(&machine);
}

static void a_placement_receives_the_arrays_of_a_launch(void **state)
{
    (void)state;
    struct placed p = {0};
    struct diag d;
    seen = &p;
    diag_init(&d);
    if (diag_run(&d, placed_body, &p)) fail_msg("%s", d.text);
    diag_clear(&d);
    assert_int_equal(p.calls, 2);
    assert_int_equal(p.arrays, 2);
    assert_int_equal(p.winner, 0); /* equal from the pointers on: the first argument */
    for (int k = 0; k < 2; k++) {
        const struct launch_array *a = k ? &p.second : &p.first;
        assert_int_equal(a->locality, LOCALITY_NL);
        assert_int_equal(a->bytes, 64 * 128 * 4);
        assert_int_equal(a->stride_bytes, 0);
        assert_int_equal(a->datablock_bytes, 128 * 4);
        assert_int_equal(a->written, k);
        assert_int_equal(a->read_only, !k);
    }
    assert_int_equal(p.grid, 64);
    assert_true(p.pages > 0);
}

/* Index by*n + tx + %r8: the class says what %r8 depends on. */
#define ROW_INDEX "mov.u32 %r6, %ctaid.y;\nmad.lo.s32 %r7, %r6, %r1, %r5;\n"
#define ROW_LOAD \
    "add.s32 %r9, %r7, %r8;\nmul.wide.s32 %rd4, %r9, 4;\nadd.s64 %rd4, %rd1, %rd4;\nld.global.f32 %f1, " \
    "[%rd4];\n"
#define ROW(body) HEAD KERNEL ROW_INDEX body END

static void of_class(const char *ptx, enum locality_class class)
{
    struct bench b;
    bench_open(&b, ptx);
    const struct locality_row *found = NULL;
    for (uint32_t k = 0; k < b.t->n_arguments; k++)
        if (!strcmp(b.t->arguments[k].name, "p0")) found = &b.t->rows[b.t->arguments[k].row];
    assert_non_null(found);
    assert_string_equal(locality_action(found->class)->class_name, locality_action(class)->class_name);
    bench_close(&b);
}

static void what_decides_an_index_counts(void **state)
{
    (void)state;
    of_class(ROW("mov.u32 %r8, 1;\n" ROW_LOAD), LOCALITY_ROW_H);
    /* registers of the machine */
    of_class(ROW("mov.u32 %r8, %smid;\n" ROW_LOAD), LOCALITY_NONE);
    of_class(ROW("mov.u32 %r8, %clock;\n" ROW_LOAD), LOCALITY_NONE);
    of_class(ROW("mov.u32 %r8, %warpid;\n" ROW_LOAD), LOCALITY_NONE);
    of_class(ROW("mov.u32 %r8, %laneid;\n" ROW_LOAD), LOCALITY_ROW_H);
    /* the way taken */
#define WAY(condition) condition "mov.u32 %r8, 0;\n@%p1 bra OVER;\nmov.u32 %r8, %r1;\nOVER:\n" ROW_LOAD
    of_class(ROW(WAY("setp.gt.u32 %p1, %r5, 3;\n")), LOCALITY_ROW_H);
    of_class(ROW(WAY("setp.gt.u32 %p1, %r3, 3;\n")), LOCALITY_NL);
    of_class(ROW(WAY("ld.global.u32 %r10, [%rd2];\nsetp.gt.u32 %p1, %r10, 3;\n")), LOCALITY_NONE);
    of_class(ROW("setp.gt.u32 %p1, %r3, 3;\nselp.b32 %r8, %r1, 0, %p1;\n" ROW_LOAD), LOCALITY_NL);
    /* a branch inside one of the ways; one whose ways meet again before does not count */
    of_class(ROW("mov.u32 %r8, 0;\nsetp.gt.u32 %p1, %r5, 3;\n@%p1 bra OVER;\nsetp.gt.u32 %p2, %r3, 3;\n"
                 "@%p2 bra OVER;\nmov.u32 %r8, %r1;\nOVER:\n" ROW_LOAD),
             LOCALITY_NL);
    of_class(ROW("mov.u32 %r8, 0;\nsetp.gt.u32 %p1, %r5, 3;\n@%p1 bra OVER;\nsetp.gt.u32 %p2, %r3, 3;\n"
                 "@%p2 bra IN;\nst.global.u32 [%rd2], %r1;\nIN: mov.u32 %r8, %r1;\nOVER:\n" ROW_LOAD),
             LOCALITY_ROW_H);
    /* how often a loop ran that has ended */
#define RAN(bound) \
    "mov.u32 %r8, 0;\nmov.u32 %r10, 0;\nLOOP: add.s32 %r8, %r8, %r1;\nadd.s32 %r10, %r10, 1;\n" \
    "setp.lt.u32 %p1, %r10, " bound ";\n@%p1 bra LOOP;\n" ROW_LOAD
    of_class(ROW(RAN("%r1")), LOCALITY_ROW_H);
    of_class(ROW(RAN("%r3")), LOCALITY_NL);
    of_class(ROW("ld.global.u32 %r11, [%rd2];\n" RAN("%r11")), LOCALITY_NONE);
    /* what a loop does to it without a closed form */
#define STATE(by) \
    "mov.u32 %r8, 0;\nmov.u32 %r10, 0;\nLOOP: mad.lo.s32 %r8, %r8, 3, " by ";\n" ROW_LOAD \
    "add.s32 %r10, %r10, 1;\nsetp.lt.u32 %p1, %r10, %r1;\n@%p1 bra LOOP;\n"
    of_class(ROW(STATE("%r1")), LOCALITY_ROW_H);
    of_class(ROW(STATE("%r3")), LOCALITY_NL);
    /* two values that are not known are not the same value: their difference may be anything */
    of_class(ROW("setp.gt.u32 %p1, %r3, 3;\n@%p1 bra OTHER;\nmov.u32 %r10, 0;\nmov.u32 %r11, 0;\nbra HEAD;\n"
                 "OTHER: mov.u32 %r10, %r3;\nmov.u32 %r11, 5;\nbra HEAD;\n"
                 "HEAD: sub.s32 %r8, %r10, %r11;\n" ROW_LOAD
                 "add.s32 %r10, %r10, 1;\nadd.s32 %r11, %r11, 1;\n"
                 "setp.lt.u32 %p2, %r10, %r1;\n@%p2 bra HEAD;\n"),
             LOCALITY_NONE);
}

/* Slots at 0, 8, 12, 24 and a store somewhere around 8: the class says whether the slot is still known. */
static void a_slot_is_followed_unless_a_write_reaches_it(void **state)
{
    (void)state;
    static const char *const any = "mov.u64 %rd8, %rd3;\n", *const four = "and.b64 %rd8, %rd3, 12;\n",
                             *const eight = "and.b64 %rd8, %rd3, 28;\n",
                             *const before = "and.b64 %rd8, %rd3, 12;\nsub.s64 %rd8, 4, %rd8;\n";
    static const struct {
        const char *const *index, *at;
        enum locality_class class;
    } cases[] = {
        {&any, "0", LOCALITY_NONE}, /* a negative index, of an array that ends there */
        {&any, "8", LOCALITY_NONE},    {&any, "24", LOCALITY_NONE}, /* behind a gap */
        {&four, "0", LOCALITY_ROW_H},  {&four, "8", LOCALITY_NONE},   {&four, "12", LOCALITY_NONE},
        {&four, "24", LOCALITY_ROW_H}, {&eight, "24", LOCALITY_NONE}, /* behind a gap, in reach */
        {&eight, "0", LOCALITY_ROW_H}, {&before, "0", LOCALITY_NONE}, {&before, "24", LOCALITY_ROW_H},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char ptx[4096];
        (void)snprintf(
            ptx, sizeof ptx, "%s%s%s%s%s%s", HEAD KERNEL ROW_INDEX DEPOT,
            "st.u32 [%SP], 1;\nst.u32 [%SP+8], 1;\nst.u32 [%SP+12], 2;\nst.u32 [%SP+24], 3;\n",
            *cases[k].index,
            "add.s64 %rd6, %SP, 8;\nadd.s64 %rd7, %rd6, %rd8;\nst.u32 [%rd7], %r3;\nld.u32 %r8, [%SP+",
            cases[k].at, "];\n" ROW_LOAD END);
        of_class(ptx, cases[k].class);
    }
}

#define POKE(name) \
    ".func " name "(.param .b64 x)\n{\n.reg .b64 %q;\n.reg .b32 %v;\nld.param.u64 %q, [x];\nmov.u32 %v, " \
    "%ctaid.x;\nst.u32 [%q+16], %v;\nret;\n}\n"
#define HAND_ON(function, from) \
    "add.s64 %rd6, %SP, " from ";\n{ .param .b64 x;\nst.param.b64 [x], %rd6;\ncall " function ", (x);\n}\n"

static void an_address_of_the_stack_is_followed_into_calls(void **state)
{
    (void)state;
#define SLOTS DEPOT "st.u32 [%SP], 1;\nst.u32 [%SP+8], 1;\nst.u32 [%SP+24], 3;\n"
    /* a function that writes 16 bytes behind what it is given */
    of_class(HEAD POKE("poke")
                 KERNEL ROW_INDEX SLOTS HAND_ON("poke", "8") "ld.u32 %r8, [%SP+24];\n" ROW_LOAD END,
             LOCALITY_NONE);
    of_class(HEAD POKE("poke")
                 KERNEL ROW_INDEX SLOTS HAND_ON("poke", "8") "ld.u32 %r8, [%SP+8];\n" ROW_LOAD END,
             LOCALITY_ROW_H);
    /* in a loop: the slot is written before it is read the next time */
    of_class(HEAD POKE("poke") KERNEL ROW_INDEX SLOTS
             "mov.u32 %r20, 0;\nLOOP: ld.u32 %r8, [%SP+24];\n" ROW_LOAD HAND_ON(
                 "poke", "8") "add.s32 %r20, %r20, 1;\nsetp.lt.u32 %p2, %r20, %r1;\n@%p2 bra LOOP;\n" END,
             LOCALITY_NONE);
    /* a function that nobody knows may write anything; printf does not */
    of_class(HEAD ".extern .func other(.param .b64 x);\n" KERNEL ROW_INDEX SLOTS HAND_ON(
                 "other", "8") "ld.u32 %r8, [%SP];\n" ROW_LOAD END,
             LOCALITY_NONE);
    of_class(HEAD ".extern .func other(.param .b64 x);\n" KERNEL ROW_INDEX SLOTS HAND_ON(
                 "other", "%rd3") "ld.u32 %r8, [%SP];\n" ROW_LOAD END,
             LOCALITY_NONE);
    of_class(HEAD
             ".extern .func (.param .b32 r) vprintf(.param .b64 x, .param .b64 y);\n" KERNEL ROW_INDEX SLOTS
             "{ .param .b64 x; .param .b64 y; .param .b32 r;\nst.param.b64 [x], %rd1;\nst.param.b64 [y], "
             "%SP;\ncall (r), vprintf, (x, y);\n}\nld.u32 %r8, [%SP];\n" ROW_LOAD END,
             LOCALITY_ROW_H);
    /* an address in memory: whoever finds it may write */
    of_class(ROW(SLOTS "st.global.u64 [%rd2], %SP;\nld.u32 %r8, [%SP+24];\n" ROW_LOAD), LOCALITY_NONE);
    /* and one in a slot is not lost */
    of_class(ROW(SLOTS
                 "add.s64 %rd6, %SP, 24;\nst.u64 [%SP+16], %rd6;\nld.u64 %rd7, [%SP+16];\nst.u32 [%rd7], "
                 "%r3;\nld.u32 %r8, [%SP+24];\n" ROW_LOAD),
             LOCALITY_NONE);
    of_class(ROW(SLOTS
                 "add.s64 %rd6, %SP, 24;\nst.u64 [%SP+16], %rd6;\nld.u64 %rd7, [%SP+16];\nst.u32 [%rd7], "
                 "%r3;\nld.u32 %r8, [%SP+8];\n" ROW_LOAD),
             LOCALITY_ROW_H);
}

/* A callee gives back two numbers in one variable, the second of them its block: each slot has its own value.
 */
static void slots_of_a_returned_structure_are_told_apart(void **state)
{
    (void)state;
#define PAIR \
    ".func (.param .align 4 .b8 r[8]) pair(.param .b32 x)\n{\n.reg .b32 %v<3>;\nld.param.u32 %v0, " \
    "[x];\nmov.u32 " \
    "%v1, %ctaid.x;\nst.param.b32 [r], %v0;\nst.param.b32 [r+4], %v1;\nret;\n}\n"
#define GIVEN_BACK(slot) \
    HEAD PAIR KERNEL ROW_INDEX \
        "{ .param .b32 x;\n.param .align 4 .b8 out[8];\nst.param.b32 [x], %r5;\ncall (out), pair, (x);\n" \
        "ld.param.b32 %r8, [out" slot "];\n}\n" ROW_LOAD END
    of_class(GIVEN_BACK(""), LOCALITY_ROW_H);
    of_class(GIVEN_BACK("+4"), LOCALITY_NL);
}

/* The inner loop starts where the outer one is: what is computed of its counter changes with both. */
static void a_value_made_of_a_counter_changes_with_the_loops_around_it(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, ROW("mov.u32 %r10, 0;\nOUT: mov.u32 %r11, %r10;\nIN: popc.b32 %r8, %r11;\n" ROW_LOAD
                       "add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p1, %r11, %r1;\n@%p1 bra IN;\n"
                       "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, %r1;\n@%p2 bra OUT;\n"));
    assert_int_equal(b.s->n_loops, 2);
    assert_int_equal(b.s->n_accesses, 1);
    const uint64_t both = expr_loop_bit(0) | expr_loop_bit(1);
    assert_true((b.s->accesses[0].address->loops & both) == both);
    bench_close(&b);
}

/* So many products that the work is used up: a counter that could not be put in is not left in the address.
 */
static void an_address_beyond_the_work_limit_is_not_known(void **state)
{
    (void)state;
    enum { PRODUCTS = 400 };
    struct bench b;
    char *ptx = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&ptx, &bytes);
    assert_non_null(f);
    (void)fputs(HEAD KERNEL ROW_INDEX
                "mov.u32 %r20, %tid.y;\nmov.u32 %r21, %tid.z;\nmov.u32 %r22, %ctaid.z;\n"
                "mov.u32 %r23, %nctaid.x;\nmov.u32 %r24, %ntid.y;\nmov.u32 %r26, %ntid.z;\n"
                "mov.u32 %r27, %nctaid.y;\nmov.u32 %r25, 0;\nLOOP:\n",
                f);
    (void)fputs("mov.u32 %r8, %r25;\n" ROW_LOAD, f); /* in time; the work ends behind it */
    static const char *const sums[] = {"10, %r20, %r21", "10, %r10, %r22", "10, %r10, %r25",
                                       "10, %r10, %r5",  "11, %r23, %r24", "11, %r11, %r3",
                                       "11, %r11, %r26", "11, %r11, %r27", "11, %r11, %r1"};
    for (size_t k = 0; k < sizeof sums / sizeof *sums; k++) (void)fprintf(f, "add.u32 %%r%s;\n", sums[k]);
    for (uint32_t k = 0; k < PRODUCTS; k++)
        (void)fprintf(f, "add.u32 %%r10, %%r10, %u;\nmul.lo.u32 %%r%u, %%r10, %%r11;\n", k + 1, 12 + k % 4);
    (void)fputs("add.u32 %r25, %r25, 1;\nsetp.lt.u32 %p1, %r25, %r1;\n@%p1 bra LOOP;\n" END, f);
    (void)fclose(f);
    bench_open(&b, ptx);
    assert_int_equal(b.s->n_accesses, 1);
    assert_false(b.s->accesses[0].address->deps & DEP_PHI);
    assert_true(expr_is_lost(b.s->accesses[0].address)); /* the limit was reached: else this tests nothing */
    bench_close(&b);
    free(ptx);
}

/* ---- values that have a form without being start + step * m ---- */

static void the_access_is(const char *body, const char *expected)
{
    struct bench b;
    char text[200];
    bool in_bytes;
    bench_open(&b, body);
    const struct locality_row *row = NULL;
    for (uint32_t k = 0; k < b.t->n_rows && !row; k++)
        if (b.t->rows[k].argument != LOCALITY_NO_ARGUMENT &&
            !strcmp(b.t->arguments[b.t->rows[k].argument].name, "p0"))
            row = &b.t->rows[k];
    assert_non_null(row);
    assert_string_equal(locality_print(b.t, row, row->index, text, sizeof text, &in_bytes), expected);
    bench_close(&b);
}

#define TIMES(count, body) \
    "mov.u32 %r10, 0;\nLOOP: " body "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p1, %r10, " count \
    ";\n@%p1 bra LOOP;\n"
#define AT(index) "mad.wide.u32 %rd4, " index ", 4, %rd1;\nld.global.u32 %r9, [%rd4];\n"

static void every_other_iteration_has_a_form(void **state)
{
    (void)state;
    the_access_is(HEAD KERNEL
                  "mov.u32 %r8, 0;\n" TIMES("%r1", AT("%r8") "and.b32 %r11, %r10, 1;\nshl.b32 %r11, "
                                                             "%r11, 6;\nadd.u32 %r8, %r8, %r11;\n") END,
                  "64*(m>>1)");
    the_access_is(HEAD KERNEL "mov.u32 %r8, 0;\n" TIMES(
                      "%r1", AT("%r8") "and.b32 %r11, %r10, 1;\nsetp.eq.u32 %p2, %r11, 0;\n"
                                       "selp.b32 %r11, 7, 5, %p2;\nadd.u32 %r8, %r8, %r11;\n") END,
                  "7*(m + 1>>1) + 5*(m>>1)");
    /* not by odd and even: no form */
    the_access_is(HEAD KERNEL "mov.u32 %r8, 0;\n" TIMES("%r1", AT("%r8") "and.b32 %r11, %r10, 3;\n"
                                                                         "add.u32 %r8, %r8, %r11;\n") END,
                  "?");
    /* two that change places; three in a circle have no form */
    the_access_is(HEAD KERNEL "mov.u32 %r8, 3;\nmov.u32 %r12, %r5;\n" TIMES(
                      "%r1", AT("%r8") "mov.u32 %r11, %r8;\nmov.u32 %r8, %r12;\nmov.u32 %r12, %r11;\n") END,
                  "(((m & 1)!=0) ? tx : 3)");
}

static void steps_that_change_have_forms(void **state)
{
    (void)state;
    the_access_is(HEAD KERNEL "mov.u32 %r8, 64;\n" TIMES("%r1", AT("%r8") "shr.u32 %r8, %r8, 1;\n") END,
                  "(64>>m)");
    the_access_is(HEAD KERNEL "mov.u32 %r8, 3;\n" TIMES("%r1", AT("%r8") "shl.b32 %r8, %r8, 2;\n") END,
                  "(3<<2*m)");
    the_access_is(HEAD KERNEL "mov.u32 %r8, %r5;\n" TIMES("%r1", AT("%r8") "add.u32 %r8, %r8, %r10;\n") END,
                  "tx + (-m + m*m>>1)");
    the_access_is(HEAD KERNEL "mov.u32 %r8, %r5;\n" TIMES(
                      "%r1", AT("%r8") "shl.b32 %r11, %r10, 1;\nadd.u32 %r11, %r11, 1;\n"
                                       "add.u32 %r8, %r8, %r11;\n") END,
                  "tx + m*m");
    /* made of the counter, but not where it starts */
    the_access_is(HEAD KERNEL "mov.u32 %r8, %r5;\n" TIMES("%r1", AT("%r8") "add.u32 %r8, %r10, 100;\n") END,
                  "m + ((m==0) ? tx - 99 : 0) + 99");
}

static void a_recurrence_is_followed(void **state)
{
    (void)state;
    struct bench b;
    const struct locality_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    int64_t v, m;
    /* 1, 1, 2, 3, 5, 8 */
    bench_open(&b, HEAD KERNEL "mov.u32 %r8, 1;\nmov.u32 %r12, 1;\n" TIMES(
                       "%r1", AT("%r8") "add.u32 %r11, %r8, %r12;\nmov.u32 %r8, %r12;\n"
                                        "mov.u32 %r12, %r11;\n") END);
    static const int64_t fibonacci[] = {1, 1, 2, 3, 5, 8, 13};
    const struct expr *index = b.t->rows[0].index;
    assert_int_equal(b.t->arguments[b.t->rows[0].argument].param, 0);
    for (m = 0; m < 7; m++) {
        struct index_point n = {
            .launch = &launch, .s = b.s, .loop = b.t->rows[0].loop, .iv = b.s->loops[0].iv, .count = m};
        assert_true(expr_eval(index, index_value, &n, &v));
        assert_int_equal(v, 4 * fibonacci[m]);
    }
    bench_close(&b);
}

static void a_short_loop_is_followed_to_its_end(void **state)
{
    (void)state;
    /* 5 * 3^4 */
    the_access_is(HEAD KERNEL "mov.u32 %r8, 5;\n" TIMES("4", "mul.lo.u32 %r8, %r8, 3;\n") AT("%r8") END,
                  "405");
    /* not when the launch says how often: three times a value that does not go on by a sum from where it
     * started */
    the_access_is(HEAD KERNEL "mov.u32 %r8, 5;\n" TIMES("%r1", "mul.lo.u32 %r8, %r8, 3;\n") AT("%r8") END,
                  "3*?");
}

static void one_of_two_pointers_is_an_access_to_each(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b,
               HEAD KERNEL "setp.eq.u32 %p1, %r1, 0;\nselp.b64 %rd6, %rd1, %rd2, %p1;\nadd.s64 %rd6, %rd6, "
                           "%rd3;\nst.global.u32 [%rd6], %r1;\n" END);
    assert_int_equal(b.t->n_arguments, 2);
    assert_int_equal(b.t->n_rows, 2);
    for (uint32_t k = 0; k < 2; k++) {
        assert_int_equal(b.t->arguments[k].class, LOCALITY_NL);
        assert_true(b.t->arguments[k].written);
    }
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_expression_has_the_value_of_what_it_was_made_from),
        cmocka_unit_test(equal_values_are_the_same_pointer),
        cmocka_unit_test(what_wraps_around_or_is_negative_stays_an_operation),
        cmocka_unit_test(what_is_only_read_is_read_only),
        cmocka_unit_test(a_pointer_comes_back_from_arithmetic),
        cmocka_unit_test(a_pointer_that_may_be_either_is_both),
        cmocka_unit_test(a_store_to_nobody_knows_where_leaves_nothing_read_only),
        cmocka_unit_test(pointers_are_followed_through_local_memory_and_structures),
        cmocka_unit_test(calls_are_followed),
        cmocka_unit_test(a_promise_holds_for_its_own_load_only),
        cmocka_unit_test(overlapping_arguments_are_seen_at_launch),
        cmocka_unit_test(a_number_is_no_pointer),
        cmocka_unit_test(a_load_in_a_callee_is_decided_for_the_kernel),
        cmocka_unit_test(what_compilers_write_is_understood),
        cmocka_unit_test(what_decides_an_index_counts),
        cmocka_unit_test(a_slot_is_followed_unless_a_write_reaches_it),
        cmocka_unit_test(an_address_of_the_stack_is_followed_into_calls),
        cmocka_unit_test(slots_of_a_returned_structure_are_told_apart),
        cmocka_unit_test(a_value_made_of_a_counter_changes_with_the_loops_around_it),
        cmocka_unit_test(an_address_beyond_the_work_limit_is_not_known),
        cmocka_unit_test(every_other_iteration_has_a_form),
        cmocka_unit_test(steps_that_change_have_forms),
        cmocka_unit_test(a_recurrence_is_followed),
        cmocka_unit_test(a_short_loop_is_followed_to_its_end),
        cmocka_unit_test(one_of_two_pointers_is_an_access_to_each),
        cmocka_unit_test(an_unrolled_loop_is_one_access),
        cmocka_unit_test(data_in_an_index_is_not_classified_but_for_neighbours),
        cmocka_unit_test(a_call_is_followed_as_if_inlined),
        cmocka_unit_test(a_placement_receives_the_arrays_of_a_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
