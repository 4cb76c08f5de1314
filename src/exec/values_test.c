/* Values that all threads of a block share: which registers hold one, and that nobody reads another's. */
#include "exec/machine.h"
#include "exec_fixture.h"
#include "runtime_testbed.h"

struct count {
    const char *ptx;
    uint32_t found;
};

static void count_body(void *arg)
{
    struct count *c = arg;
    struct exec_fixture x;
    exec_fixture_open(&x, c->ptx, LANES_PLAIN);
    c->found = exec_kernel_get(x.env, ptx_find_entry(x.program, "k"))->func->value_count;
    exec_fixture_close(&x);
}

/* Besides the two arguments of every kernel here. */
static uint32_t values_of(const char *ptx)
{
    struct count c = {.ptx = ptx};
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, count_body, &c) != DIAG_NONE) fail_msg("%s", d.text);
    return c.found - 2;
}

#define K(body) PTX_HEAD KERNEL_BEGIN body "st.global.u32 [%rd1], %r5;\n" KERNEL_END

static void registers_that_hold_one(void **state)
{
    (void)state;
    assert_int_equal(values_of(K("mov.u32 %r5, %ctaid.x;\n")), 1);
    assert_int_equal(values_of(K("mov.u32 %r5, %ntid.x;\nmov.u32 %r6, %ctaid.y;\nmul.lo.u32 %r7, %r5, %r6;\n"
                                 "add.u32 %r8, %r7, 3;\nshl.b32 %r9, %r8, 2;\nmov.u32 %r10, %r9;\n")),
                     6);
    assert_int_equal(values_of(K("cvta.to.global.u64 %rd5, %rd2;\nadd.u64 %rd6, %rd5, 16;\n")), 2);
    /* after a branch, in a loop */
    assert_int_equal(values_of(K("setp.gt.u32 %p1, %r1, 3;\n@%p1 bra L;\nmov.u32 %r6, %nctaid.x;\n"
                                 "add.u32 %r7, %r6, 1;\nst.global.u32 [%rd2], %r7;\nL:\n")),
                     2);
    assert_int_equal(values_of(K("mov.u32 %r7, 0;\nL: mov.u32 %r6, %ctaid.x;\nadd.u32 %r7, %r7, %r6;\n"
                                 "setp.lt.u32 %p1, %r7, 9;\n@%p1 bra L;\n")),
                     1);
}

static void registers_that_do_not(void **state)
{
    (void)state;
    static const char *const kernels[] = {
        K("mov.u32 %r5, %tid.x;\n"), K("mov.u32 %r5, %warpid;\n"), K("mov.u32 %r5, %laneid;\n"),
        K("mov.u32 %r5, %smid;\n"), K("mov.u32 %r5, %clock;\n"), K("add.u32 %r5, %r1, 1;\n"),
        K("ld.global.u32 %r5, [%rd2];\n"), K("activemask.b32 %r5;\n"),
        K("add.cc.u32 %r6, 7, 9;\naddc.u32 %r5, 0, 0;\n"),
        /* written twice, under a guard, read before, on one of two ways */
        K("mov.u32 %r5, 1;\nsetp.gt.u32 %p1, %r1, 3;\n@%p1 bra L;\nmov.u32 %r5, 2;\nL:\n"),
        K("setp.gt.u32 %p1, %r1, 3;\n@%p1 mov.u32 %r5, 2;\n"),
        K("mov.u32 %r7, %tid.x;\nL: add.u32 %r7, %r7, %r5;\nmov.u32 %r5, 4;\nsetp.lt.u32 %p1, %r7, 9;\n"
          "@%p1 bra L;\n"),
        K("setp.gt.u32 %p1, %r1, 3;\n@%p1 bra L;\nmov.u32 %r5, 2;\nL:\n")};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        if (values_of(kernels[k]) != 0) fail_msg("%s", kernels[k]);
}

static void more_than_are_kept(void **state)
{
    (void)state;
    char ptx[16384] = PTX_HEAD KERNEL_BEGIN ".reg .b32 %v<200>;\n", line[64];
    for (uint32_t k = 0; k < 100; k++) {
        snprintf(line, sizeof line, "mov.u32 %%v%u, %u;\n", k, k);
        strcat(ptx, line);
    }
    strcat(ptx, OUT32 "add.u32 %r5, %v3, %v99;\nst.global.u32 [%rd3], %r5;\n" KERNEL_END);
    assert_int_equal(values_of(ptx), VALUES_MOST - 2);
    struct bed b = {.ptx = ptx, .block = {32}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) assert_int_equal(b.copy[t], 102);
}

/* The last warp, of 8 lanes, works out what the others skip over; blocks have numbers of their own; a call is
 * given one. */
static void every_thread_reads_its_block_s_own(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD
        ".func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %q<4>;\nld.param.u32 %q1, [a];\n"
        "add.u32 %q2, %q1, %q1;\nst.param.b32 [r], %q2;\nret;\n}\n" KERNEL_BEGIN OUT32
        "setp.lt.u32 %p1, %r1, 64;\n@!%p1 bra FIRST;\nbar.sync 1, 96;\n"
        "FIRST: mov.u32 %r10, %ctaid.x;\nmad.lo.u32 %r11, %r10, 10, 2;\n"
        "@%p1 bra NEXT;\nbar.arrive 1, 96;\n"
        "NEXT: {\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %r11;\n"
        "call (y), twice, (x);\nld.param.b32 %r14, [y];\n}\n"
        "add.u32 %r15, %r14, %r11;\nst.global.u32 [%rd3], %r15;\n" KERNEL_END,
        .grid = {5},
        .block = {72}};
    assert_int_equal(values_of(b.ptx), 4); /* with those of OUT32 */
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 5 * 72; t++) assert_int_equal(b.copy[t], 3 * (t / 72 * 10 + 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_that_hold_one),
        cmocka_unit_test(registers_that_do_not),
        cmocka_unit_test(more_than_are_kept),
        cmocka_unit_test(every_thread_reads_its_block_s_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
