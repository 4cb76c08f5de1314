/* Lane functions, quickly and under the sanitizers: a sample of every form against the reference of
 * tests/conformance (the full run is tests/proof/lanes_conformance_test.c), and the rules of lookup. */
#include "conformance/harness.h"

static void sample_of(void (*family)(struct forms *))
{
    struct suite s = {0};
    struct tally tally = {0};
    family(&s.forms);
    suite_open(&s);
    for (size_t i = 0; i < s.forms.count; i++) check_form(&s, &s.list[i], 128, 2, &tally);
    suite_close(&s);
}
static void integer_forms_equal_the_reference(void **state) { (void)state, sample_of(forms_integer); }
static void comparison_forms_equal_the_reference(void **state) { (void)state, sample_of(forms_compare); }
static void float_forms_equal_the_reference(void **state) { (void)state, sample_of(forms_float); }
static void conversion_forms_equal_the_reference(void **state) { (void)state, sample_of(forms_convert); }
static void video_forms_equal_the_reference(void **state)
{
    (void)state, sample_of(forms_video), sample_of(forms_video_scalar);
}

struct one {
    struct arena arena;
    struct diag diag;
    struct diag_source source;
    struct ptx_module *module;
};
static void one_body(void *arg)
{
    struct one *o = arg;
    o->module = ptx_parse(&o->arena, &o->source);
}
/* One instruction, parsed; one_close() after use. */
static const struct ptx_func *one_open(struct one *o, const char *instruction)
{
    static char text[1024]; /* outlives the module; tests run one by one */
    (void)snprintf(text, sizeof text, "%s%s\nret;\n}\n", module_head, instruction);
    *o = (struct one){.source = {.name = "one.ptx", .text = text, .len_bytes = strlen(text)}};
    arena_init(&o->arena);
    diag_init(&o->diag);
    if (diag_run(&o->diag, one_body, o)) fail_msg("%s", o->diag.text);
    return o->module->funcs[0];
}
static void one_close(struct one *o)
{
    diag_clear(&o->diag);
    arena_free(&o->arena);
}

static void memory_and_control_have_no_lane_function(void **state)
{
    (void)state;
    static const char *const none[] = {"ld.global.u32 %r0, [%l1];",
                                       "st.shared.u32 [%r1], %r2;",
                                       "bar.sync 0;",
                                       "atom.global.add.u32 %r0, [%l1], %r2;",
                                       "membar.gl;",
                                       "mul.s32 %r0, %r1, %r2;",
                                       "add.sat.u32 %r0, %r1, %r2;"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct one o;
        const struct ptx_func *f = one_open(&o, none[i]);
        struct lanes_op op;
        assert_false(lanes_find(f, &f->instrs[0], LANES_PLAIN, &op));
        assert_null(op.warp);
        one_close(&o);
    }
}
static void every_instruction_set_has_every_row(void **state)
{
    (void)state;
    struct one o;
    const struct ptx_func *f = one_open(&o, "fma.rn.f32 %r0, %r1, %r2, %r3;");
    struct lanes_op plain, other;
    assert_true(lanes_find(f, &f->instrs[0], LANES_PLAIN, &plain));
    for (int isa = LANES_AVX2; isa < LANES_ISA_COUNT; isa++) {
        assert_true(lanes_find(f, &f->instrs[0], (enum lanes_isa)isa, &other));
        assert_ptr_not_equal(plain.warp, other.warp);
    }
    one_close(&o);
}
static void instruction_sets_have_names(void **state)
{
    (void)state;
    enum lanes_isa isa;
    for (int i = 0; i < LANES_ISA_COUNT; i++) {
        assert_true(lanes_isa_by_name(lanes_isa_name((enum lanes_isa)i), &isa));
        assert_int_equal(isa, i);
    }
    assert_false(lanes_isa_by_name("sse9", &isa));
    assert_true(lanes_isa_present(LANES_PLAIN));
    assert_true(lanes_isa_present(lanes_isa_best()));
}

/* ---- registers wider than the type, parts of registers ---- */
static void conversions_take_and_fill_wider_registers(void **state)
{
    (void)state;
    struct one o;
    const struct ptx_func *f =
        one_open(&o, "cvt.s8.s32 %l0, %r1;\ncvt.u32.u16 %r0, %l1;\ncvt.s16.s8 %l0, %l1;");
    struct lanes_op op;
    union lane_array a, d;
    assert_true(lanes_find(f, &f->instrs[0], LANES_PLAIN, &op));
    assert_int_equal(op.d_bytes, 8);
    for (int i = 0; i < LANES_COUNT; i++) a.w[i] = 0x1234ff80u + (uint32_t)i;
    op.warp(&d, &a, NULL, NULL, LANES_ALL, &op.ctx);
    for (int i = 0; i < LANES_COUNT; i++) assert_int_equal((int64_t)d.l[i], -128 + i);
    assert_true(lanes_find(f, &f->instrs[1], LANES_PLAIN, &op));
    assert_int_equal(op.a_bytes, 8);
    for (int i = 0; i < LANES_COUNT; i++) a.l[i] = 0xaaaabbbbcccc0000u + (uint64_t)i;
    op.warp(&d, &a, NULL, NULL, LANES_ALL, &op.ctx);
    for (int i = 0; i < LANES_COUNT; i++) assert_int_equal(d.w[i], i);
    assert_true(lanes_find(f, &f->instrs[2], LANES_PLAIN, &op));
    for (int i = 0; i < LANES_COUNT; i++) a.l[i] = 0x70u + (uint64_t)i;
    memset(&d, 0, sizeof d);
    op.warp(&d, &a, NULL, NULL, 0x80000001u, &op.ctx);
    assert_int_equal((int64_t)d.l[0], 0x70);
    assert_int_equal((int64_t)d.l[31], (int8_t)(0x70 + 31));
    assert_int_equal(d.l[15], 0);
    one_close(&o);
}
static void mov_packs_and_unpacks_parts(void **state)
{
    (void)state;
    struct one o;
    const struct ptx_func *f =
        one_open(&o, "mov.b64 %l0, {%r1, %r2};\nmov.b64 {%r1, %r2}, %l0;\nmov.b32 %r0, {%h1, %h2};\n"
                     "mov.b64 %l0, {%h1, %h2, %h3, %h4};\nmov.b64 {%h1, %h2, %h3, %h4}, %l0;");
    struct lanes_op op;
    union lane_array a, b, c, e, d, d2, d3, d4;
    for (int i = 0; i < LANES_COUNT; i++) {
        a.w[i] = 0xa0000000u + (uint32_t)i;
        b.w[i] = 0xb0000001u + (uint32_t)i;
        c.w[i] = 0xc0000002u + (uint32_t)i;
        e.w[i] = 0xe0000003u + (uint32_t)i;
    }
    assert_true(lanes_find(f, &f->instrs[0], LANES_PLAIN, &op));
    op.warp(&d, &a, &b, NULL, LANES_ALL, &op.ctx);
    for (int i = 0; i < LANES_COUNT; i++) assert_int_equal(d.l[i], (uint64_t)b.w[i] << 32 | a.w[i]);
    assert_true(lanes_find(f, &f->instrs[1], LANES_PLAIN, &op));
    assert_int_equal(op.needs, LANES_NEEDS_D2);
    struct lanes_ctx x = op.ctx;
    memset(&d3, 0, sizeof d3);
    x.d2 = &d2;
    op.warp(&d3, &d, NULL, NULL, 0xffff0000u, &x);
    for (int i = 16; i < LANES_COUNT; i++)
        assert_int_equal(d3.w[i], a.w[i]), assert_int_equal(d2.w[i], b.w[i]);
    assert_int_equal(d3.w[0], 0);
    assert_true(lanes_find(f, &f->instrs[2], LANES_PLAIN, &op));
    op.warp(&d, &a, &b, NULL, LANES_ALL, &op.ctx);
    for (int i = 0; i < LANES_COUNT; i++) assert_int_equal(d.w[i], (uint32_t)i | (uint32_t)(i + 1) << 16);
    assert_true(lanes_find(f, &f->instrs[3], LANES_PLAIN, &op));
    assert_int_equal(op.needs, LANES_NEEDS_E);
    x = op.ctx;
    x.e = &e;
    op.warp(&d, &a, &b, &c, LANES_ALL, &x);
    for (int i = 0; i < LANES_COUNT; i++)
        assert_int_equal(d.l[i], (uint64_t)i | (uint64_t)(i + 1) << 16 | (uint64_t)(i + 2) << 32 |
                                     (uint64_t)(i + 3) << 48);
    assert_true(lanes_find(f, &f->instrs[4], LANES_PLAIN, &op));
    x = op.ctx;
    x.d2 = &d2, x.d3 = &d3, x.d4 = &d4;
    op.warp(&a, &d, NULL, NULL, LANES_ALL, &x);
    for (int i = 0; i < LANES_COUNT; i++)
        assert_int_equal(a.w[i], i), assert_int_equal(d2.w[i], i + 1), assert_int_equal(d4.w[i], i + 3);
    one_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_forms_equal_the_reference),
        cmocka_unit_test(comparison_forms_equal_the_reference),
        cmocka_unit_test(float_forms_equal_the_reference),
        cmocka_unit_test(conversion_forms_equal_the_reference),
        cmocka_unit_test(video_forms_equal_the_reference),
        cmocka_unit_test(memory_and_control_have_no_lane_function),
        cmocka_unit_test(every_instruction_set_has_every_row),
        cmocka_unit_test(instruction_sets_have_names),
        cmocka_unit_test(conversions_take_and_fill_wider_registers),
        cmocka_unit_test(mov_packs_and_unpacks_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
