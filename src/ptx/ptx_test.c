/* Parser and program form: every construct of a module, decoded as the header promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "ptx/cfg.h"
#include "ptx/ir.h"

/* ---- a module per test ---- */

struct fixture {
    struct arena arena;
    struct diag diag;
    struct diag_source source;
    struct ptx_module *module;
};

static void parse_body(void *arg)
{
    struct fixture *f = arg;
    f->module = ptx_parse(&f->arena, &f->source);
}

static void parse(struct fixture *f, const char *text)
{
    *f = (struct fixture){.source = {.name = "t.ptx", .text = text, .len_bytes = strlen(text)}};
    arena_init(&f->arena);
    diag_init(&f->diag);
    if (diag_run(&f->diag, parse_body, f)) fail_msg("%s", f->diag.text);
}

static void done(struct fixture *f)
{
    diag_clear(&f->diag);
    arena_free(&f->arena);
}

#define HEADER ".version 7.0\n.target sm_70\n.address_size 64\n"

/* A kernel around the statements given. */
static struct ptx_func *parse_kernel(struct fixture *f, const char *statements)
{
    static _Thread_local char text[16384];
    (void)snprintf(text, sizeof text,
                   HEADER ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
                          ".reg .pred %%p<10>; .reg .b16 %%rs<10>; .reg .b32 %%r<40>; .reg .b64 %%rd<20>;\n"
                          ".reg .f32 %%f<40>; .reg .f64 %%fd<20>;\n%s\n}\n",
                   statements);
    parse(f, text);
    return f->module->funcs[0];
}

static void expect_text(const struct ptx_func *f, uint32_t pc, const char *expected)
{
    char text[512];
    assert_string_equal(ptx_print_instr(f, &f->instrs[pc], text, sizeof text), expected);
}

/* ---- instructions ---- */

static void modifiers_fill_their_fields_in_any_order(void **state)
{
    (void)state;
    struct fixture x;
    const struct ptx_func *f =
        parse_kernel(&x, "ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1+16];\n"
                         "atom.add.acq_rel.gpu.global.u32 %r1, [%rd1], 1;\n"
                         "atom.global.gpu.acq_rel.add.u32 %r1, [%rd1], 1;\n"
                         "setp.lo.or.u32 %p1|%p2, %r1, %r2, !%p3;\n"
                         "mul.lo.s32 %r1, %r2, %r3;\n"
                         "vote.sync.uni.pred %p1, %p2, -1;\n"
                         "cvt.rzi.ftz.sat.s32.f32 %r1, %f1;\n");
    const struct ptx_instr *i = f->instrs;
    assert_int_equal(i[0].op, PTX_OP_LD);
    assert_int_equal(i[0].space, PTX_SPACE_GLOBAL);
    assert_int_equal(i[0].vec, 4);
    assert_int_equal(i[0].type, PTX_T_F32);
    assert_int_equal(i[0].evict, PTX_EVICT_NO_ALLOCATE);
    assert_int_equal(i[0].level, PTX_LEVEL_L2_128B);
    assert_int_equal(i[0].flags, PTX_F_NC);
    assert_int_equal(ptx_operand_at(f, &i[0], 0)->count, 4);
    for (int k = 1; k <= 2; k++) {
        assert_int_equal(i[k].sub, PTX_SUB_ADD);
        assert_int_equal(i[k].sem, PTX_SEM_ACQ_REL);
        assert_int_equal(i[k].scope, PTX_SCOPE_GPU);
        assert_int_equal(i[k].space, PTX_SPACE_GLOBAL);
    }
    assert_int_equal(i[3].cmp, PTX_CMP_LO);
    assert_int_equal(i[3].sub, PTX_SUB_OR);
    assert_int_equal(i[3].n_dsts, 2);
    assert_int_equal(ptx_operand_at(f, &i[3], 4)->flags, PTX_OPF_NOT);
    assert_int_equal(i[4].part, PTX_PART_LO);
    assert_int_equal(i[4].cmp, PTX_CMP_NONE);
    assert_int_equal(i[5].sub, PTX_SUB_UNI);
    assert_int_equal(i[5].flags, PTX_F_SYNC);
    assert_int_equal(i[6].type, PTX_T_S32);
    assert_int_equal(i[6].type2, PTX_T_F32);
    assert_int_equal(i[6].rnd, PTX_RND_RZI);
    assert_int_equal(i[6].flags, PTX_F_FTZ | PTX_F_SAT);
    done(&x);
}

static void a_body_without_ret_gets_one(void **state)
{
    (void)state;
    struct fixture x;
    const struct ptx_func *f = parse_kernel(&x, "bra.uni end; mov.u32 %r1, 1; end:");
    assert_int_equal(f->n_instrs, 3);
    assert_int_equal(f->instrs[2].op, PTX_OP_RET);
    assert_true(f->instrs[2].flags & PTX_F_IMPLICIT);
    expect_text(f, 0, "bra.uni @2");
    done(&x);
}

static void an_if_reconverges_after_it(void **state)
{
    (void)state;
    struct fixture x;
    const struct ptx_func *f = parse_kernel(&x, "setp.eq.u32 %p1, %r1, 0;\n"  /* 0 */
                                                "@%p1 bra else;\n"            /* 1 */
                                                "mov.u32 %r2, 1;\n"           /* 2 */
                                                "bra join;\n"                 /* 3 */
                                                "else: mov.u32 %r2, 2;\n"     /* 4 */
                                                "join: st.u32 [%rd1], %r2;\n" /* 5 */
                                                "ret;\n");
    const struct ptx_cfg *c = ptx_cfg_build(&x.arena, f);
    assert_int_equal(c->n_blocks, 4);
    assert_int_equal(ptx_reconvergence(c, 1), 5);
    assert_int_equal(c->blocks[3].idom, 0);
    assert_int_equal(c->blocks[0].ipdom, 3);
    assert_int_equal(c->n_loops, 0);
    done(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modifiers_fill_their_fields_in_any_order),
        cmocka_unit_test(a_body_without_ret_gets_one),
        cmocka_unit_test(an_if_reconverges_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
