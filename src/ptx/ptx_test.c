/* Parser and program form: every construct of a module, decoded as the header promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "ptx/flow.h"
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

static void calls_name_target_results_and_arguments(void **state)
{
    (void)state;
    struct fixture x;
    parse(&x, HEADER ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
                     ".entry k()\n{\n.reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
                     "{ .param .b64 param0; .param .b64 param1; .param .b32 retval0;\n"
                     "call.uni (retval0), vprintf, (param0, param1); }\n"
                     "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                     "{ .param .b32 retval0; call (retval0), %rd1, (%r1), proto; }\nret;\n}\n");
    const struct ptx_func *k = x.module->funcs[1];
    const struct ptx_instr *i = k->instrs;
    assert_int_equal(i->n_operands, 4);
    assert_int_equal(ptx_operand_at(k, i, 0)->kind, PTX_OPND_SYM);
    assert_string_equal(x.module->symbols[ptx_operand_at(k, i, 0)->id].name, "vprintf");
    assert_int_equal(ptx_operand_at(k, i, 1)->count, 1);
    assert_int_equal(ptx_operand_at(k, i, 2)->count, 2);
    assert_int_equal(ptx_operand_at(k, i, 3)->kind, PTX_OPND_NONE);
    assert_true(i->flags & PTX_F_UNI);
    assert_int_equal(ptx_operand_at(k, i + 1, 0)->kind, PTX_OPND_REG);
    assert_int_equal(ptx_operand_at(k, i + 1, 3)->kind, PTX_OPND_TABLE);
    const struct ptx_table *t = &k->tables[ptx_operand_at(k, i + 1, 3)->id];
    assert_int_equal(t->kind, PTX_TABLE_CALL_PROTOTYPE);
    assert_int_equal(t->n_rets, 1);
    assert_int_equal(t->n_params, 1);
    assert_int_equal(t->params[1].size_bytes, 4);
    assert_true(k->has_indirect_call);
    assert_null(ptx_callee(k, ptx_operand_at(k, i, 0)->id));
    done(&x);
}

/* A .param of a call sequence may take the room of one in an earlier, closed scope. */
static void argument_frames_are_reused_between_call_sequences(void **state)
{
    (void)state;
    struct fixture x;
    const struct ptx_func *f =
        parse_kernel(&x, "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd1; }\n"
                         "{ .param .b32 a; .param .align 16 .b8 c[16]; st.param.b32 [a], %r1; }\n");
    assert_int_equal(f->arg_bytes, 32);
    assert_int_equal(f->arg_align, 16);
    assert_int_equal(x.module->symbols[ptx_operand_at(f, &f->instrs[1], 0)->id].offset, 0);
    done(&x);
}

static void parameters_are_laid_out_as_the_driver_does(void **state)
{
    (void)state;
    struct fixture x;
    parse(&x, HEADER
          ".entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .f32 d) { ret; }\n");
    const struct ptx_func *k = x.module->funcs[0];
    static const uint64_t offsets[] = {0, 8, 16, 36};
    assert_int_equal(k->n_params, 4);
    for (uint32_t n = 0; n < 4; n++)
        assert_int_equal(x.module->symbols[k->first_param + n].offset, offsets[n]);
    assert_int_equal(k->param_bytes, 40);
    done(&x);
}

static void registers_of_a_range_exist_once_named(void **state)
{
    (void)state;
    struct fixture x;
    const struct ptx_func *f =
        parse_kernel(&x, ".reg .b32 %x1<5>; add.u32 %r7, %x13, %r7; mov.u32 %x12, %r7;");
    assert_int_equal(f->n_regs, 3);
    assert_string_equal(f->regs[0].name, "%r7");
    assert_string_equal(f->regs[1].name, "%x13");
    assert_string_equal(f->regs[2].name, "%x12");
    done(&x);
}

static void a_nested_loop_knows_its_parent(void **state)
{
    (void)state;
    struct fixture x;
    const struct ptx_func *f =
        parse_kernel(&x, "OUTER: mov.u32 %r1, 0;\n"
                         "INNER: add.u32 %r1, %r1, 1;\n"
                         "setp.lt.u32 %p1, %r1, 9; @%p1 bra INNER;\n"
                         "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9; @%p1 bra OUTER;\n");
    const struct ptx_cfg *c = ptx_cfg_build(&x.arena, f);
    assert_int_equal(c->n_loops, 2);
    assert_int_equal(c->loops[0].depth, 1);
    assert_int_equal(c->loops[1].depth, 2);
    assert_int_equal(c->loops[1].parent, 0);
    assert_int_equal(c->blocks[ptx_block_of(c, 1)].loop, 1);
    assert_int_equal(c->blocks[ptx_block_of(c, 4)].loop, 0);
    assert_false(c->irreducible);
    done(&x);
}

static void an_endless_loop_still_has_post_dominators(void **state)
{
    (void)state;
    struct fixture x;
    const struct ptx_func *f = parse_kernel(&x, "L: setp.eq.u32 %p1, %r1, 0;\n" /* 0 */
                                                "@%p1 bra M;\n"                 /* 1 */
                                                "mov.u32 %r1, 1;\n"             /* 2 */
                                                "M: mov.u32 %r2, 2;\n"          /* 3 */
                                                "bra L;\n");
    const struct ptx_cfg *c = ptx_cfg_build(&x.arena, f);
    assert_int_equal(ptx_reconvergence(c, 1), 3);
    done(&x);
}

static void two_headers_make_a_loop_irreducible(void **state)
{
    (void)state;
    struct fixture x;
    const struct ptx_func *f = parse_kernel(&x, "@%p1 bra B;\nA: @%p2 bra C;\nB: @%p3 bra A;\nC:\n");
    assert_true(ptx_cfg_build(&x.arena, f)->irreducible);
    done(&x);
}

/* The counter of a loop inside `if (i < n)` is the same for all lanes that are inside. */
static void uniformity_survives_the_usual_bounds_check(void **state)
{
    (void)state;
    struct fixture x;
    const struct ptx_func *f = parse_kernel(&x, "ld.param.u32 %r1, [n];\n"
                                                "mov.u32 %r2, %tid.x;\n"
                                                "mov.u32 %r3, %ctaid.x;\n"
                                                "setp.ge.u32 %p1, %r2, %r1;\n"
                                                "@%p1 bra OUT;\n"
                                                "mov.u32 %r4, 0;\n"
                                                "LOOP: add.u32 %r4, %r4, 1;\n"
                                                "add.u32 %r5, %r5, %r2;\n"
                                                "setp.lt.u32 %p2, %r4, %r1;\n"
                                                "@%p2 bra LOOP;\n"
                                                "st.global.u32 [%rd1], %r5;\n"
                                                "OUT:\n");
    const struct ptx_cfg *c = ptx_cfg_build(&x.arena, f);
    const struct ptx_defuse *du = ptx_defuse_build(&x.arena, f);
    const struct ptx_uniform *u = ptx_uniform_build(&x.arena, c, du, true);
    static const struct {
        const char *name;
        bool uniform;
    } want[] = {{"%r1", true}, {"%r2", false}, {"%r3", true}, {"%p1", false},
                {"%r4", true}, {"%r5", false}, {"%p2", true}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++)
        for (uint32_t r = 0; r < f->n_regs; r++)
            if (strcmp(f->regs[r].name, want[k].name) == 0 && u->reg[r] != want[k].uniform)
                fail_msg("%s is called %s", want[k].name, u->reg[r] ? "uniform" : "divergent");
    assert_false(u->instr[4]); /* the bounds check parts the lanes */
    assert_true(u->instr[9]);  /* the loop does not */
    assert_true(u->block_convergent[c->n_blocks - 2]);
    done(&x);
}

static void the_most_live_registers_count_wide_ones_twice(void **state)
{
    (void)state;
    struct fixture x;
    const struct ptx_func *f = parse_kernel(&x, "ld.global.u32 %r1, [%rd1];\n"
                                                "ld.global.u64 %rd2, [%rd1+8];\n"
                                                "cvt.u32.u64 %r2, %rd2;\n"
                                                "add.u32 %r3, %r1, %r2;\n"
                                                "st.global.u32 [%rd1], %r3;\n");
    const struct ptx_cfg *c = ptx_cfg_build(&x.arena, f);
    const struct ptx_slots *s = ptx_slots_build(&x.arena, c, ptx_defuse_build(&x.arena, f));
    assert_int_equal(s->max_live_32, 2 + 1 + 2); /* %rd1, %r1, %rd2 */
    assert_int_equal(s->max_live[PTX_REG_64], 2);
    assert_int_equal(s->max_live[PTX_REG_32], 2);
    done(&x);
}

/* ---- linking ---- */

struct pair {
    struct arena arena;
    struct diag diag;
    struct diag_source source[2];
    struct ptx_module *module[2];
    struct ptx_program *program;
};

static void link_body(void *arg)
{
    struct pair *p = arg;
    for (int i = 0; i < 2; i++) p->module[i] = ptx_parse(&p->arena, &p->source[i]);
    p->program = ptx_link(&p->arena, p->module, 2);
}

static enum diag_kind link_two(struct pair *p, const char *a, const char *b)
{
    *p = (struct pair){.source = {{.name = "a.ptx", .text = a, .len_bytes = strlen(a)},
                                  {.name = "b.ptx", .text = b, .len_bytes = strlen(b)}}};
    arena_init(&p->arena);
    diag_init(&p->diag);
    return diag_run(&p->diag, link_body, p);
}

static void drop_pair(struct pair *p)
{
    diag_clear(&p->diag);
    arena_free(&p->arena);
}

static const struct ptx_symbol *symbol_named(const struct ptx_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_symbols; i++)
        if (strcmp(m->symbols[i].name, name) == 0) return &m->symbols[i];
    return NULL;
}

static void externs_find_their_definition_in_another_module(void **state)
{
    (void)state;
    struct pair p;
    if (link_two(&p,
                 HEADER ".extern .global .u32 shared_counter; .extern .func helper(.param .b32 a);\n"
                        ".global .u32 mine = 1; .weak .global .u32 soft = 1; .common .global .b8 room[4];\n"
                        ".visible .entry k() { .reg .b64 %rd<2>; mov.u64 %rd1, shared_counter; ret; }\n",
                 HEADER
                 ".visible .global .u32 shared_counter = 5; .visible .func helper(.param .b32 a) { ret; }\n"
                 ".global .u32 mine = 2; .visible .global .u32 soft = 2; .common .global .b8 room[64];\n"
                 ".visible .func real() { ret; } .visible .func nick(); .alias nick, real;\n"))
        fail_msg("%s", p.diag.text);
    assert_ptr_equal(symbol_named(p.module[0], "shared_counter")->def,
                     symbol_named(p.module[1], "shared_counter"));
    assert_ptr_equal(symbol_named(p.module[0], "helper")->def->func, p.module[1]->funcs[0]);
    assert_ptr_equal(symbol_named(p.module[0], "mine")->def, symbol_named(p.module[0], "mine"));
    assert_ptr_equal(symbol_named(p.module[1], "mine")->def, symbol_named(p.module[1], "mine"));
    assert_ptr_equal(symbol_named(p.module[0], "soft")->def, symbol_named(p.module[1], "soft"));
    assert_int_equal(symbol_named(p.module[0], "room")->def->size_bytes, 64);
    assert_string_equal(symbol_named(p.module[1], "nick")->def->func->name, "real");
    assert_int_equal(p.program->n_entries, 1);
    assert_int_equal(p.program->n_vars, 5); /* counter, two mine, soft, room */
    for (uint32_t i = 0; i < p.program->n_vars; i++) assert_int_equal(p.program->vars[i]->program_index, i);
    assert_non_null(ptx_find_entry(p.program, "k"));
    assert_null(ptx_find_entry(p.program, "kk"));
    drop_pair(&p);
}

static void expect_link_mistake(const char *a, const char *b, const char *message)
{
    struct pair p;
    assert_int_equal(link_two(&p, a, b), DIAG_MISTAKE);
    if (!strstr(p.diag.text, message)) fail_msg("'%s' not in: %s", message, p.diag.text);
    drop_pair(&p);
}

static void modules_that_do_not_fit_are_told_where(void **state)
{
    (void)state;
    expect_link_mistake(HEADER ".visible .global .u32 a;\n", HEADER "\n.visible .global .u32 a;\n",
                        "b.ptx:5:1: 'a' is defined twice: also in 'a.ptx', line 4");
    expect_link_mistake(HEADER ".extern .global .u32 a;\n", HEADER ".visible .const .u32 a;\n",
                        "a.ptx:4:1: 'a' is in .global here and in .const in 'b.ptx', line 4");
    expect_link_mistake(HEADER ".extern .global .u32 a;\n", HEADER,
                        "a.ptx:4:1: no module defines the external variable 'a'");
    expect_link_mistake(HEADER ".extern .global .u32 a;\n", HEADER ".visible .func a() { ret; }\n",
                        "'a' is a variable here and a function in 'b.ptx', line 4");
}

static void shared_memory_of_a_kernel_is_what_it_and_its_callees_name(void **state)
{
    (void)state;
    struct fixture x;
    parse(&x, HEADER ".shared .align 4 .b8 unused[1000]; .shared .u8 flag; .shared .align 8 .b8 tile[64];\n"
                     ".extern .shared .align 16 .b8 dynamic[];\n"
                     ".func f() { .reg .b32 %r<2>; ld.shared.u32 %r1, [tile]; ret; }\n"
                     ".visible .entry k() { .reg .b32 %r<2>; .reg .b16 %rs<2>; st.shared.u8 [flag], %rs1;\n"
                     "call f; st.shared.u32 [dynamic+4], %r1; ret; }\n");
    const struct ptx_program *p = ptx_link(&x.arena, &x.module, 1);
    const struct ptx_shared_layout *l = ptx_shared_layout(&x.arena, p, ptx_find_entry(p, "k"));
    assert_int_equal(l->n_vars, 3);
    assert_string_equal(l->vars[0].symbol->name, "flag");
    assert_int_equal(l->vars[0].offset, 0);
    assert_int_equal(l->static_bytes, 72);
    assert_true(l->uses_dynamic);
    assert_int_equal(l->dynamic_offset, 80);
    done(&x);
}

/* ---- coverage ---- */

static bool all_but_sin(const struct ptx_instr *i) { return i->op != PTX_OP_SIN; }

static void coverage_lists_place_kernel_and_instruction(void **state)
{
    (void)state;
    struct fixture x;
    parse(
        &x, HEADER
        ".file 1 \"a.cu\"\n.visible .entry k()\n{\n.reg .f32 %f<4>;\n.loc 1 12 3\nsin.approx.f32 %f1, %f2;\n"
        "cosh.approx.f32 %f1, %f2;\nsin.approx.f32 %f2, %f1;\nret;\n}\n");
    struct ptx_uncovered *list;
    static const struct ptx_ability can = {.instruction = all_but_sin};
    assert_int_equal(ptx_coverage(&x.arena, &x.module, 1, &can, &list), 3);
    assert_int_equal(list[0].pc, 0);
    assert_string_equal(
        ptx_coverage_text(&x.arena, &x.module, 1, &can),
        "t.ptx:9:1: kernel 'k': sin.approx.f32 %f1, %f2   from a.cu:12\n"
        "t.ptx:10:1: kernel 'k': cosh.approx.f32 %f1, %f2   (did you mean 'cos'?)   from a.cu:12\n"
        "t.ptx:11:1: kernel 'k': sin.approx.f32 %f2, %f1   from a.cu:12\n"
        "t.ptx: 3 of 4 instructions cannot be executed:\n"
        "       2  sin.approx.f32\n"
        "       1  cosh.approx.f32\n");
    done(&x);
}

static bool prints_only(const char *name) { return !strcmp(name, "vprintf"); }
static const char *look_elsewhere(const char *name) { return name[0] == 'c' ? "look elsewhere" : NULL; }

/* Direct calls of what nobody has: not of functions with a body here or in another module, nor of the
 * executor's own, nor indirect ones. */
static void coverage_lists_calls_of_undefined_functions(void **state)
{
    (void)state;
    static const struct ptx_ability can = {
        .instruction = all_but_sin, .function = prints_only, .advice = look_elsewhere};
    struct fixture x, y;
    parse(&x, HEADER
          ".extern .func cudaLaunchDevice();\n.extern .func there();\n.extern .func gone();\n"
          ".extern .func vprintf();\n.func here() { ret; }\n.visible .entry k()\n{\n.reg .b64 %rd<2>;\n"
          "proto: .callprototype _ ();\ncall cudaLaunchDevice;\n  call there;\ncall gone;\ncall vprintf;\n"
          "call here;\ncall cudaLaunchDevice;\nmov.u64 %rd1, gone;\ncall %rd1, (), proto;\nret;\n}\n");
    parse(&y, HEADER ".visible .func there() { ret; }\n");
    struct ptx_module *both[] = {x.module, y.module};
    assert_string_equal(ptx_coverage_text(&x.arena, both, 2, &can),
                        "t.ptx:13:1: kernel 'k': call cudaLaunchDevice   (no file defines "
                        "'cudaLaunchDevice': look elsewhere)\n"
                        "t.ptx:15:1: kernel 'k': call gone   (no file defines 'gone')\n"
                        "t.ptx:18:1: kernel 'k': call cudaLaunchDevice   (no file defines "
                        "'cudaLaunchDevice': look elsewhere)\n"
                        "t.ptx: 3 of 10 instructions cannot be executed:\n"
                        "       2  call of cudaLaunchDevice\n"
                        "       1  call of gone\n"
                        "t.ptx: 0 of 1 instructions cannot be executed\n");
    struct ptx_uncovered *list;
    assert_int_equal(ptx_coverage(&x.arena, both, 1, &can, &list), 4); /* `there` too */
    assert_string_equal(list[1].undefined, "there");
    done(&x);
    done(&y);
}

/* ---- hostile sizes stay cheap ---- */

static void a_long_function_takes_linear_time(void **state)
{
    (void)state;
    enum { INSTRS = 60000 };
    struct fixture x;
    char *text = malloc(INSTRS * 60 + 1000), *at = text;
    assert_non_null(text);
    at += sprintf(at, HEADER ".entry k()\n{\n.reg .b32 %%r<%d>; .reg .pred %%p<2>;\n", INSTRS + 2);
    for (int i = 0; i < INSTRS; i++)
        at += sprintf(at, "L%d: add.u32 %%r%d, %%r%d, 1; @%%p1 bra L%d;\n", i, i + 1, i, i / 2);
    (void)sprintf(at, "st.u32 [0], %%r0;\n}\n"); /* keeps %r0 alive through every block */
    parse(&x, text);
    const struct ptx_func *f = x.module->funcs[0];
    const struct ptx_cfg *c = ptx_cfg_build(&x.arena, f);
    const struct ptx_defuse *du = ptx_defuse_build(&x.arena, f);
    assert_true(ptx_slots_build(&x.arena, c, du)->max_live_32 > 0);
    (void)ptx_uniform_build(&x.arena, c, du, true);
    done(&x);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modifiers_fill_their_fields_in_any_order),
        cmocka_unit_test(a_body_without_ret_gets_one),
        cmocka_unit_test(an_if_reconverges_after_it),
        cmocka_unit_test(calls_name_target_results_and_arguments),
        cmocka_unit_test(argument_frames_are_reused_between_call_sequences),
        cmocka_unit_test(parameters_are_laid_out_as_the_driver_does),
        cmocka_unit_test(registers_of_a_range_exist_once_named),
        cmocka_unit_test(a_nested_loop_knows_its_parent),
        cmocka_unit_test(an_endless_loop_still_has_post_dominators),
        cmocka_unit_test(two_headers_make_a_loop_irreducible),
        cmocka_unit_test(uniformity_survives_the_usual_bounds_check),
        cmocka_unit_test(the_most_live_registers_count_wide_ones_twice),
        cmocka_unit_test(externs_find_their_definition_in_another_module),
        cmocka_unit_test(modules_that_do_not_fit_are_told_where),
        cmocka_unit_test(shared_memory_of_a_kernel_is_what_it_and_its_callees_name),
        cmocka_unit_test(coverage_lists_place_kernel_and_instruction),
        cmocka_unit_test(coverage_lists_calls_of_undefined_functions),
        cmocka_unit_test(a_long_function_takes_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
