/* What kernels call or read beyond arithmetic: printf, the heap, assertions, special registers. */
#include "runtime_testbed.h"

#define CALL_PRINTF \
    "{\n.param .b64 a0;\n.param .b64 a1;\n.param .b32 q;\nst.param.b64 [a0], %rd20;\n" \
    "st.param.b64 [a1], %rd21;\ncall (q), vprintf, (a0, a1);\nld.param.b32 %r50, [q];\n}\n"
#define EXTERN_PRINTF ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"

/* text as .b8 data */
static void append_bytes(char *ptx, size_t cap, const char *name, const char *text)
{
    const size_t n = strlen(text) + 1;
    snprintf(ptx + strlen(ptx), cap - strlen(ptx), ".global .align 1 .b8 %s[%zu] = {", name, n);
    for (size_t i = 0; i < n; i++)
        snprintf(ptx + strlen(ptx), cap - strlen(ptx), i ? ", %d" : "%d", (unsigned char)text[i]);
    snprintf(ptx + strlen(ptx), cap - strlen(ptx), "};\n");
}

static void printf_knows_all_conversions_and_keeps_thread_order(void **state)
{
    (void)state;
    char ptx[8192] = PTX_HEAD EXTERN_PRINTF;
    append_bytes(ptx, sizeof ptx, "fmt", "t%d %5u|%-4x|%lld %c %s %.3f %e %p %% %5.1f|%*d|%hhd\n");
    append_bytes(ptx, sizeof ptx, "str", "word");
    snprintf(
        ptx + strlen(ptx), sizeof ptx - strlen(ptx), "%s",
        KERNEL_BEGIN
        ".local .align 8 .b8 buf[128];\nmov.u64 %rd4, buf;\ncvta.local.u64 %rd21, %rd4;\nmov.u64 %rd5, "
        "fmt;\ncvta.global.u64 %rd20, %rd5;\n"
        "st.local.u32 [%rd4], %r1;\nst.local.u32 [%rd4+4], 42;\nst.local.u32 [%rd4+8], 255;\nst.local.u64 "
        "[%rd4+16], -5;\nst.local.u32 [%rd4+24], 65;\n"
        "mov.u64 %rd6, str;\ncvta.global.u64 %rd6, %rd6;\nst.local.u64 [%rd4+32], %rd6;\nmov.f64 %fd1, "
        "0d3FF8000000000000;\nst.local.f64 [%rd4+40], %fd1;\nst.local.f64 [%rd4+48], %fd1;\n"
        "mov.u64 %rd7, 4096;\nst.local.u64 [%rd4+56], %rd7;\nst.local.f64 [%rd4+64], %fd1;\nst.local.u32 "
        "[%rd4+72], 6;\nst.local.u32 [%rd4+76], 7;\nst.local.u32 [%rd4+80], 511;\n" CALL_PRINTF
        "st.global.u32 [%rd1], %r50;\n" KERNEL_END);
    struct bed b = {.ptx = ptx, .block = {2}};
    bed_expect_ok(&b);
    assert_string_equal(b.text, "t0    42|ff  |-5 A word 1.500 1.500000e+00 0x1000 %   1.5|     7|-1\n"
                                "t1    42|ff  |-5 A word 1.500 1.500000e+00 0x1000 %   1.5|     7|-1\n");
    assert_int_equal(b.copy[0], 12);
}

#define EXTERN_HEAP \
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n" \
    ".extern .func free(.param .b64 p);\n"
#define CALL_MALLOC(to, bytes) \
    "{\n.param .b64 a;\n.param .b64 q;\nst.param.b64 [a], " bytes \
    ";\ncall (q), malloc, (a);\nld.param.b64 " to ", [q];\n}\n"
#define CALL_FREE(p) "{\n.param .b64 a;\nst.param.b64 [a], " p ";\ncall free, (a);\n}\n"

static void the_device_heap_gives_takes_back_and_runs_out(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD EXTERN_HEAP KERNEL_BEGIN OUT32 "mov.u64 %rd9, 64;\n" CALL_MALLOC(
            "%rd4",
            "%rd9") "add.u32 %r2, %r1, 9;\nst.u32 [%rd4+60], %r2;\nld.u32 %r3, [%rd4+60];\nst.global.u32 "
                    "[%rd3], %r3;\n" CALL_FREE("%rd4") "mov.u64 %rd9, 999999999;\n" CALL_MALLOC(
                        "%rd5", "%rd9") "setp"
                                        ".eq."
                                        "u64 "
                                        "%p1,"
                                        " %"
                                        "rd5,"
                                        " 0;"
                                        "\nse"
                                        "lp."
                                        "u32 "
                                        "%r4,"
                                        " 1, "
                                        "0, "
                                        "%p1;"
                                        "\nst"
                                        ".glo"
                                        "bal."
                                        "u32 "
                                        "[%"
                                        "rd3+"
                                        "128]"
                                        ", "
                                        "%r4;"
                                        "\n" KERNEL_END,
        .block = {32}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(b.copy[t], t + 9);
        assert_int_equal(b.copy[32 + t], 1);
    }
}

static void heap_mistakes_are_caught(void **state)
{
    (void)state;
    struct bed twice = {.ptx = PTX_HEAD EXTERN_HEAP KERNEL_BEGIN "mov.u64 %rd9, 64;\n" CALL_MALLOC(
                            "%rd4", "%rd9") CALL_FREE("%rd4") CALL_FREE("%rd4") KERNEL_END};
    bed_expect_mistake(&twice, PARTS("free of 0x", "freed already"));
    struct bed after = {.ptx = PTX_HEAD EXTERN_HEAP KERNEL_BEGIN
                        "mov.u64 %rd9, 64;\n" CALL_MALLOC("%rd4", "%rd9") "st.u32 [%rd4], 1;\n" CALL_FREE(
                            "%rd4") "ld.u32 %r2, [%rd4];\n" KERNEL_END};
    bed_expect_mistake(&after, PARTS("illegal load", "freed 'device malloc' of 64 bytes"));
    struct bed beyond = {.ptx = PTX_HEAD EXTERN_HEAP KERNEL_BEGIN "mov.u64 %rd9, 64;\n" CALL_MALLOC(
                             "%rd4", "%rd9") "st.u32 [%rd4+64], 1;\n" KERNEL_END};
    bed_expect_mistake(&beyond, PARTS("illegal store", "'device malloc' of 64 bytes"));
}

static void a_failed_assertion_says_what_and_where(void **state)
{
    (void)state;
    char ptx[8192] = PTX_HEAD ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, "
                              ".param .b64 d, .param .b64 e);\n";
    append_bytes(ptx, sizeof ptx, "what", "x > 0");
    append_bytes(ptx, sizeof ptx, "file", "k.cu");
    append_bytes(ptx, sizeof ptx, "fn", "void k()");
    snprintf(ptx + strlen(ptx), sizeof ptx - strlen(ptx), "%s",
             KERNEL_BEGIN "setp.ne.u32 %p1, %r1, 5;\n@%p1 bra L;\n{\n.param .b64 a;\n.param .b64 b;\n.param "
                          ".b32 c;\n.param .b64 d;\n.param .b64 e;\n"
                          "mov.u64 %rd5, what;\nst.param.b64 [a], %rd5;\nmov.u64 %rd5, file;\nst.param.b64 "
                          "[b], %rd5;\nst.param.b32 [c], 77;\nmov.u64 %rd5, fn;\nst.param.b64 [d], "
                          "%rd5;\nmov.u64 %rd6, 1;\nst.param.b64 [e], %rd6;\n"
                          "call __assertfail, (a, b, c, d, e);\n}\nL:\n" KERNEL_END);
    struct bed b = {.ptx = ptx, .block = {32}};
    bed_expect_mistake(&b, PARTS("k.cu:77: void k(): assertion `x > 0' failed", "thread (5,0,0)"));
}

static void traps_unknown_functions_and_unknown_instructions_stop_only_when_executed(void **state)
{
    (void)state;
    struct bed t = {.ptx = PTX_HEAD KERNEL_BEGIN "trap;\n" KERNEL_END};
    bed_expect_mistake(&t, PARTS("executed 'trap'", "look at what leads to this line", "kernel 'k'"));
    struct bed f = {.ptx = PTX_HEAD
                    ".extern .func nobody(.param .b64 p);\n" KERNEL_BEGIN
                    "{\n.param .b64 a;\nst.param.b64 [a], %rd1;\ncall nobody, (a);\n}\n" KERNEL_END};
    bed_expect_mistake(
        &f, PARTS("call of 'nobody', which no module defines: give the PTX file that defines it too"));
    struct bed u = {.ptx = PTX_HEAD KERNEL_BEGIN "frobnicate.u32 %r2, %r1;\n" KERNEL_END};
    bed_expect_mistake(&u, PARTS("'frobnicate.u32' cannot be executed", "Compile the kernel without it",
                                 "analyze --coverage", "kernel 'k'"));
    struct bed never = {.ptx = PTX_HEAD KERNEL_BEGIN
                        "bra END;\nfrobnicate.u32 %r2, %r1;\nEND: st.global.u32 [%rd1], 1;\n" KERNEL_END};
    bed_expect_ok(&never);
    assert_int_equal(never.copy[0], 1);
}

static void special_registers_tell_who_and_where(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD KERNEL_BEGIN
        "mov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\nmov.u32 %r4, %ctaid.y;\nmov.u32 %r5, %laneid;\nmov.u32 "
        "%r6, %warpid;\nmov.u32 %r7, %lanemask_lt;\nmov.u32 %r8, %lanemask_ge;\nmov.u32 %r9, "
        "%nctaid.x;\nmov.u32 %r10, %ntid.z;\nmov.u32 %r11, %ntid.x;\nmov.u32 %r12, %ntid.y;\nmov.u32 %r13, "
        "%ctaid.x;\nmov.u32 %r14, %nsmid;\nmov.u32 %r15, WARP_SZ;\n"
        /* linear thread */
        "mad.lo.u32 %r20, %r3, %r12, %r2;\nmad.lo.u32 %r20, %r20, %r11, %r1;\nmad.lo.u32 %r21, %r4, %r9, "
        "%r13;\nmad.lo.u32 %r22, %r21, 60, %r20;\nmul.wide.u32 %rd5, %r22, 32;\nadd.u64 %rd6, %rd1, %rd5;\n"
        "st.global.u32 [%rd6], %r20;\nst.global.u32 [%rd6+4], %r5;\nst.global.u32 [%rd6+8], "
        "%r6;\nst.global.u32 [%rd6+12], %r7;\nst.global.u32 [%rd6+16], %r8;\nst.global.u32 [%rd6+20], "
        "%r10;\nst.global.u32 [%rd6+24], %r14;\nst.global.u32 [%rd6+28], %r15;\n" KERNEL_END,
        .block = {5, 4, 3},
        .grid = {2, 3},
        .out_words = 6 * 60 * 8,
        .options = {.sm_count = 17}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 360; t++) {
        const uint32_t *o = b.copy + 8 * t, lane = t % 60 % 32;
        const uint32_t want[8] = {t % 60, lane, t % 60 / 32, (1u << lane) - 1, ~((1u << lane) - 1),
                                  3,      17,   32};
        for (int k = 0; k < 8; k++) assert_int_equal(o[k], want[k]);
    }
}

static void clocks_go_on_between_two_reads(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN
                    "mov.u64 %rd3, %clock64;\nmov.u32 %r2, %clock;\nmov.u64 %rd5, %globaltimer;\nadd.u32 "
                    "%r3, %r1, 1;\nnanosleep.u32 20;\nmov.u64 %rd4, %clock64;\nsub.u64 %rd4, %rd4, "
                    "%rd3;\nst.global.u64 [%rd1], %rd4;\n" KERNEL_END};
    bed_expect_ok(&b);
    assert_true(b.copy[0] > 0);
}

/* Grids of a stream run one after the other, so both have nothing to do. */
static void waiting_for_the_grid_before_takes_no_time(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN
                    "griddepcontrol.wait;\nst.global.u32 [%rd1], 7;\nsetp.eq.u32 %p1, %r1, 0;\n"
                    "@%p1 griddepcontrol.launch_dependents;\n" KERNEL_END};
    bed_expect_ok(&b);
    assert_int_equal(b.copy[0], 7);
}

/* Barrier of a whole grid as cooperative groups make it: workspace in %envreg1:2, one counter. */
static void a_cooperative_grid_waits_for_all_its_blocks(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD KERNEL_BEGIN OUT32
        "mov.b32 %r2, %envreg1;\nmov.b32 %r3, %envreg2;\nmov.b64 %rd5, {%r3, %r2};\nmov.u32 %r9, %nctaid.x;\n"
        "mul.wide.u32 %rd6, %r60, 4;\nadd.u64 %rd7, %rd2, %rd6;\nst.global.u32 [%rd7], "
        "1;\nmembar.gl;\nbar.sync 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra OVER;\n"
        "atom.add.u32 %r4, [%rd5+4], 1;\nW: ld.volatile.u32 %r5, [%rd5+4];\nsetp.lt.u32 %p2, %r5, %r9;\n@%p2 "
        "bra W;\nOVER: bar.sync 0;\n"
        "mov.u32 %r6, 0;\nmov.u32 %r7, 0;\nL: mul.wide.u32 %rd8, %r6, 4;\nadd.u64 %rd9, %rd2, "
        "%rd8;\nld.global.u32 %r8, [%rd9];\nadd.u32 %r7, %r7, %r8;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p3, "
        "%r6, %r9;\n@%p3 bra L;\nst.global.u32 [%rd3], %r7;\n" KERNEL_END,
        .block = {64},
        .grid = {30},
        .cooperative = true,
        .out_words = 2048,
        .options = {.max_instructions = 100000000, .blocks_at_once = 2}};
    bed_expect_ok(&b);
    for (int t = 0; t < 30 * 64; t++) assert_int_equal(b.copy[t], 30);
}

static void parameters_by_structure_and_registers_of_every_width_survive_calls(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD
        ".func (.param .align 8 .b8 r[16]) f(.param .align 8 .b8 s[16], .param .b32 x, .param .b64 "
        "y)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<5>;\n.local .align 8 .b8 l[8];\n"
        "ld.param.u32 %r1, [s];\nld.param.u8 %r2, [s+5];\nld.param.u64 %rd1, [s+8];\nld.param.u32 %r3, "
        "[x];\nld.param.u64 %rd2, [y];\nst.local.u32 [l], %r3;\nld.local.u32 %r4, [l];\nadd.u32 %r5, %r1, "
        "%r4;\nadd.u32 %r5, %r5, %r2;\nadd.u64 %rd3, %rd1, %rd2;\nst.param.b32 [r], %r5;\nst.param.b64 "
        "[r+8], %rd3;\nret;\n}\n" KERNEL_BEGIN OUT32
        "{\n.param .align 8 .b8 s[16];\n.param .b32 x;\n.param .b64 y;\n.param .align 8 .b8 "
        "q[16];\nst.param.b32 [s], %r1;\nst.param.b8 [s+5], 3;\nmov.u64 %rd4, 0x100000000;\nst.param.b64 "
        "[s+8], %rd4;\nst.param.b32 [x], 1000;\ncvt.u64.u32 %rd5, %r1;\nst.param.b64 [y], %rd5;\ncall (q), "
        "f, (s, x, y);\nld.param.b32 %r2, [q];\nld.param.v2.b32 {%r3, %r4}, [q+8];\n}\n"
        "st.global.u32 [%rd3], %r2;\nst.global.u32 [%rd3+128], %r3;\nst.global.u32 [%rd3+256], "
        "%r4;\n" KERNEL_END,
        .block = {32}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(b.copy[t], t + 1003);
        assert_int_equal(b.copy[32 + t], t);
        assert_int_equal(b.copy[64 + t], 1);
    }
}

static void arguments_and_results_may_be_registers(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD
        ".func (.reg .b32 r, .reg .pred q) f(.reg .b32 x, .reg .b64 y)\n{\n.reg .b32 "
        "t;\ncvt.u32.u64 t, y;\nadd.u32 r, x, t;\nsetp.gt.u32 q, x, 9;\nret;\n}\n" KERNEL_BEGIN OUT32
        "mov.u64 %rd5, 100;\ncall (%r2, %p1), f, (%r1, %rd5);\n@%p1 add.u32 %r2, %r2, 1000;\n"
        "call (%r3, _), f, (%r2, 7);\nst.global.u32 [%rd3], %r3;\n" KERNEL_END,
        .block = {32}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) assert_int_equal(b.copy[t], t + 107 + (t > 9 ? 1000 : 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printf_knows_all_conversions_and_keeps_thread_order),
        cmocka_unit_test(the_device_heap_gives_takes_back_and_runs_out),
        cmocka_unit_test(heap_mistakes_are_caught),
        cmocka_unit_test(a_failed_assertion_says_what_and_where),
        cmocka_unit_test(traps_unknown_functions_and_unknown_instructions_stop_only_when_executed),
        cmocka_unit_test(special_registers_tell_who_and_where),
        cmocka_unit_test(clocks_go_on_between_two_reads),
        cmocka_unit_test(waiting_for_the_grid_before_takes_no_time),
        cmocka_unit_test(a_cooperative_grid_waits_for_all_its_blocks),
        cmocka_unit_test(arguments_and_results_may_be_registers),
        cmocka_unit_test(parameters_by_structure_and_registers_of_every_width_survive_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
