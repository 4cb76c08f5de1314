/* Divergence: lanes part, meet again, and every one of them makes progress. */
#include "runtime_testbed.h"

static void lanes_that_part_at_an_if_meet_again(void **state)
{
    (void)state;
    /* activemask after the join must be all lanes; inside, only those that took the way */
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN OUT32 "setp.lt.u32 %p1, %r1, 10;\n"
                                                       "mov.u32 %r2, 0;\n"
                                                       "@%p1 bra L1;\n"
                                                       "activemask.b32 %r2;\nbra L2;\n"
                                                       "L1: activemask.b32 %r2;\n"
                                                       "L2: activemask.b32 %r3;\n"
                                                       "st.global.u32 [%rd3], %r2;\n"
                                                       "st.global.u32 [%rd3+128], %r3;\n" KERNEL_END,
                    .block = {32}};
    bed_expect_ok(&b);
    for (int i = 0; i < 32; i++) {
        assert_int_equal(b.copy[i], i < 10 ? 0x3ff : 0xfffffc00);
        assert_int_equal(b.copy[32 + i], 0xffffffff);
    }
}

static void a_loop_with_different_trip_counts_and_a_break_meets_after_it(void **state)
{
    (void)state;
    /* for (i = 0; ; i++) { if (i == tid) break; for (j = 0; j < i; j++) { if (j == 5) break; sum++; } } */
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN OUT32
                    "mov.u32 %r2, 0;\nmov.u32 %r3, 0;\n"
                    "OUTER: setp.eq.u32 %p1, %r2, %r1;\n@%p1 bra DONE;\n"
                    "mov.u32 %r4, 0;\n"
                    "INNER: setp.ge.u32 %p2, %r4, %r2;\n@%p2 bra NEXT;\n"
                    "setp.eq.u32 %p3, %r4, 5;\n@%p3 bra NEXT;\n"
                    "add.u32 %r3, %r3, 1;\nadd.u32 %r4, %r4, 1;\nbra INNER;\n"
                    "NEXT: add.u32 %r2, %r2, 1;\nbra OUTER;\n"
                    "DONE: activemask.b32 %r5;\n"
                    "st.global.u32 [%rd3], %r3;\nst.global.u32 [%rd3+256], %r5;\n" KERNEL_END,
                    .block = {64}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < t; i++) sum += i < 5 ? i : 5;
        assert_int_equal(b.copy[t], sum);
        assert_int_equal(b.copy[64 + t], 0xffffffff);
    }
}

static void lanes_that_exit_early_are_not_waited_for(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN OUT32
                    "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 1;\n"
                    "setp.gt.u32 %p2, %r1, 20;\n@%p2 bra L1;\n@%p1 exit;\n"
                    "L1: activemask.b32 %r3;\nst.global.u32 [%rd3], %r3;\n"
                    "bar.sync 0;\nst.global.u32 [%rd3+128], %r1;\n" KERNEL_END,
                    .block = {32}};
    bed_expect_ok(&b);
    const uint32_t live = 0xffe00000u | (0x55555555u & 0x1fffff);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(b.copy[t], live >> t & 1 ? live : 0);
        assert_int_equal(b.copy[32 + t], live >> t & 1 ? t : 0);
    }
}

static void a_spin_lock_between_lanes_of_one_warp_finishes(void **state)
{
    (void)state;
    /* while (atomicCAS(lock, 0, 1)); count++ (not atomic); atomicExch(lock, 0) */
    struct bed b = {.ptx =
                        PTX_HEAD KERNEL_BEGIN "L1: atom.global.cas.b32 %r2, [%rd1], 0, 1;\n"
                                              "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra L1;\n"
                                              "ld.volatile.global.u32 %r3, [%rd1+4];\nadd.u32 %r3, %r3, 1;\n"
                                              "st.volatile.global.u32 [%rd1+4], %r3;\nmembar.gl;\n"
                                              "atom.global.exch.b32 %r4, [%rd1], 0;\n" KERNEL_END,
                    .block = {256},
                    .grid = {3},
                    .options = {.max_instructions = 50000000}};
    bed_expect_ok(&b);
    assert_int_equal(b.copy[1], 768);
    assert_int_equal(b.copy[0], 0);
}

static void a_consumer_warp_gets_what_a_later_warp_produces(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN OUT32
                    "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra PRODUCE;\n"
                    "WAIT: ld.volatile.global.u32 %r2, [%rd2];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra WAIT;\n"
                    "ld.volatile.global.u32 %r3, [%rd2+4];\nst.global.u32 [%rd3], %r3;\nret;\n"
                    "PRODUCE: st.volatile.global.u32 [%rd2+4], 77;\nmembar.gl;\n"
                    "st.volatile.global.u32 [%rd2], 1;\n" KERNEL_END,
                    .block = {64},
                    .options = {.max_instructions = 10000000}};
    bed_expect_ok(&b);
    for (int t = 0; t < 32; t++) assert_int_equal(b.copy[t], 77);
}

static void a_consumer_block_gets_what_a_later_block_produces(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN OUT32
                    "mov.u32 %r5, %nctaid.x;\nsub.u32 %r5, %r5, 1;\n"
                    "setp.eq.u32 %p1, %r60, %r5;\n@%p1 bra PRODUCE;\n"
                    "WAIT: ld.acquire.gpu.global.u32 %r2, [%rd2];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra WAIT;\n"
                    "st.global.u32 [%rd3], %r2;\nret;\n"
                    "PRODUCE: st.release.gpu.global.u32 [%rd2], 5;\n" KERNEL_END,
                    .block = {32},
                    .grid = {20},
                    .options = {.max_instructions = 100000000}};
    bed_expect_ok(&b);
    for (int t = 0; t < 19 * 32; t++) assert_int_equal(b.copy[t], 5);
}

static void a_warp_barrier_joins_lanes_that_come_different_ways(void **state)
{
    (void)state;
    /* odd lanes write, all sync in different places, even lanes read their neighbour's */
    struct bed b = {
        .ptx = PTX_HEAD
        ".shared .align 4 .b32 s[32];\n" KERNEL_BEGIN OUT32
        "mov.u32 %r10, s;\nmad.lo.u32 %r11, %r1, 4, %r10;\nand.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 1;\n"
        "@%p1 bra ODD;\nbar.warp.sync 0xffffffff;\nld.shared.u32 %r3, [%r11+4];\nst.global.u32 [%rd3], "
        "%r3;\nbra END;\n"
        "ODD: st.shared.u32 [%r11], %r1;\nbar.warp.sync 0xffffffff;\n"
        "END: \n" KERNEL_END,
        .block = {32}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t += 2) assert_int_equal(b.copy[t], t + 1);
}

static void a_shuffle_waits_for_the_lanes_it_names(void **state)
{
    (void)state;
    /* lanes arrive at the shuffle by two ways, through a call-free diamond whose sides both jump to it */
    struct bed b = {
        .ptx = PTX_HEAD KERNEL_BEGIN OUT32
        "setp.lt.u32 %p1, %r1, 16;\nmov.u32 %r2, %r1;\n@%p1 bra A;\nadd.u32 %r2, %r2, 100;\nbra S;\n"
        "A: add.u32 %r2, %r2, 1000;\nS: shfl.sync.bfly.b32 %r3, %r2, 16, 31, 0xffffffff;\n"
        "st.global.u32 [%rd3], %r3;\n" KERNEL_END,
        .block = {32}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) assert_int_equal(b.copy[t], t < 16 ? t + 16 + 100 : t - 16 + 1000);
}

static void a_barrier_in_both_sides_of_a_branch_counts_threads(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD
                    ".shared .align 4 .b32 s[64];\n" KERNEL_BEGIN OUT32
                    "mov.u32 %r10, s;\nmad.lo.u32 %r11, %r1, 4, %r10;\nst.shared.u32 [%r11], %r1;\n"
                    "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 1;\n@%p1 bra ODD;\nbarrier.sync 0;\nbra "
                    "END;\nODD: barrier.sync 0;\nEND:\n"
                    "xor.b32 %r5, %r1, 63;\nmad.lo.u32 %r12, %r5, 4, %r10;\nld.shared.u32 %r6, "
                    "[%r12];\nst.global.u32 [%rd3], %r6;\n" KERNEL_END,
                    .block = {64}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 64; t++) assert_int_equal(b.copy[t], t ^ 63);
}

static void an_indirect_branch_goes_where_each_lane_says(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD KERNEL_BEGIN OUT32
        "rem.u32 %r2, %r1, 3;\nts: .branchtargets L0, L1, L2;\nbrx.idx %r2, ts;\n"
        "L0: mov.u32 %r3, 10;\nbra E;\nL1: mov.u32 %r3, 11;\nbra E;\nL2: mov.u32 %r3, 12;\n"
        "E: activemask.b32 %r4;\nst.global.u32 [%rd3], %r3;\nst.global.u32 [%rd3+128], %r4;\n" KERNEL_END,
        .block = {32}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(b.copy[t], 10 + t % 3);
        assert_int_equal(b.copy[32 + t], 0xffffffff);
    }
}

#define FIB \
    ".func (.param .b32 r) fib(.param .b32 n)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<8>;\n" \
    "ld.param.u32 %r1, [n];\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra BASE;\n" \
    "sub.u32 %r2, %r1, 1;\n{\n.param .b32 a;\n.param .b32 q;\nst.param.b32 [a], %r2;\ncall (q), fib, " \
    "(a);\nld.param.b32 %r3, [q];\n}\n" \
    "sub.u32 %r2, %r1, 2;\n{\n.param .b32 a;\n.param .b32 q;\nst.param.b32 [a], %r2;\ncall (q), fib, " \
    "(a);\nld.param.b32 %r4, [q];\n}\n" \
    "add.u32 %r5, %r3, %r4;\nst.param.b32 [r], %r5;\nret;\nBASE: st.param.b32 [r], %r1;\nret;\n}\n"

static void recursion_of_different_depth_in_each_lane_returns_to_one_place(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD FIB KERNEL_BEGIN OUT32
        "and.b32 %r2, %r1, 7;\n{\n.param .b32 a;\n.param .b32 q;\nst.param.b32 [a], %r2;\n"
        "call (q), fib, (a);\nld.param.b32 %r3, [q];\n}\n"
        "activemask.b32 %r4;\nst.global.u32 [%rd3], %r3;\nst.global.u32 [%rd3+256], %r4;\n" KERNEL_END,
        .block = {64}};
    static const uint32_t fib[] = {0, 1, 1, 2, 3, 5, 8, 13};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 64; t++) {
        assert_int_equal(b.copy[t], fib[t & 7]);
        assert_int_equal(b.copy[64 + t], 0xffffffff);
    }
}

static void an_indirect_call_calls_what_each_lane_points_to(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD
        ".func (.param .b32 r) f0(.param .b32 n)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, [n];\nadd.u32 %r2, "
        "%r1, 100;\nst.param.b32 [r], %r2;\nret;\n}\n"
        ".func (.param .b32 r) f1(.param .b32 n)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, [n];\nmul.lo.u32 "
        "%r2, %r1, 3;\nst.param.b32 [r], %r2;\nret;\n}\n"
        ".global .align 8 .u64 table[2] = {f0, f1};\n" KERNEL_BEGIN OUT32
        "and.b32 %r2, %r1, 1;\nmul.wide.u32 %rd5, %r2, 8;\nmov.u64 %rd6, table;\nadd.u64 %rd6, %rd6, "
        "%rd5;\nld.global.u64 %rd7, [%rd6];\n"
        "{\n.param .b32 a;\n.param .b32 q;\nst.param.b32 [a], %r1;\nproto: .callprototype (.param .b32 _) _ "
        "(.param .b32 _);\n"
        "call (q), %rd7, (a), proto;\nld.param.b32 %r3, [q];\n}\n"
        "activemask.b32 %r4;\nst.global.u32 [%rd3], %r3;\nst.global.u32 [%rd3+128], %r4;\n" KERNEL_END,
        .block = {32}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(b.copy[t], t & 1 ? 3 * t : t + 100);
        assert_int_equal(b.copy[32 + t], 0xffffffff);
    }
}

static void endless_recursion_is_a_stack_overflow(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD
        ".func f(.param .b64 n)\n{\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [n];\n{\n.param .b64 "
        "a;\nst.param.b64 [a], %rd1;\ncall f, (a);\n}\nst.global.u32 [%rd1], 1;\nret;\n}\n" KERNEL_BEGIN
        "{\n.param .b64 a;\nst.param.b64 [a], %rd1;\ncall f, (a);\n}\n" KERNEL_END,
        .block = {32}};
    bed_expect_mistake(&b, PARTS("stack overflow", "'f'", "kernel 'k'"));
}

static void a_barrier_that_some_threads_never_reach_is_reported(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN
                    "setp.lt.u32 %p1, %r1, 40;\n@%p1 bra W;\nbar.sync 1;\nW: bar.sync 0;\n" KERNEL_END,
                    .block = {64}};
    bed_expect_mistake(&b, PARTS("kernel 'k' cannot finish", "block (0,0,0)", "barrier 0", "40 of 64",
                                 "barrier 1", "warp 0 lanes 0-31", "warp 1 lanes 8-31", "bar.sync"));
}

static void a_shuffle_that_names_lanes_stuck_elsewhere_is_reported(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN
                    "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra W;\nbar.warp.sync 0xffffffff;\nW: shfl.sync.idx.b32 "
                    "%r2, %r1, 0, 31, 0xffffffff;\nbar.sync 1, 64;\n" KERNEL_END,
                    .block = {32}};
    bed_expect_mistake(&b, PARTS("cannot finish", "wait for lanes"));
}

static void an_endless_loop_ends_at_the_instruction_limit(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN "L: bra L;\n" KERNEL_END,
                    .block = {32},
                    .options = {.max_instructions = 100000}};
    bed_expect_mistake(&b, PARTS("kernel 'k' reached the limit of 100000", "warp 0 lanes 0-31 run"));
}

static void barrier_counts_and_arrive_pair_producers_with_consumers(void **state)
{
    (void)state;
    /* warp 0 produces and arrives; warp 1 waits at barrier 3 for 64 threads; warp 2 is not concerned */
    struct bed b = {
        .ptx = PTX_HEAD
        ".shared .align 4 .b32 s[32];\n" KERNEL_BEGIN OUT32
        "mov.u32 %r10, s;\nand.b32 %r12, %r1, 31;\nmad.lo.u32 %r11, %r12, 4, %r10;\nshr.u32 %r2, %r1, "
        "5;\nsetp.eq.u32 %p1, %r2, 0;\nsetp.eq.u32 %p2, %r2, 2;\n"
        "@%p2 exit;\n@%p1 bra PROD;\nbar.sync 3, 64;\nld.shared.u32 %r3, [%r11];\nst.global.u32 [%rd3], "
        "%r3;\nexit;\n"
        "PROD: add.u32 %r4, %r1, 500;\nst.shared.u32 [%r11], %r4;\nbar.arrive 3, 64;\n" KERNEL_END,
        .block = {96}};
    bed_expect_ok(&b);
    for (uint32_t t = 32; t < 64; t++) assert_int_equal(b.copy[t], 500 + t - 32);
}

static void barrier_reductions_combine_predicates_of_the_block(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD KERNEL_BEGIN OUT32
        "setp.lt.u32 %p1, %r1, 37;\nbar.red.popc.u32 %r2, 0, %p1;\nbar.red.and.pred %p2, 0, "
        "%p1;\nbar.red.or.pred %p3, 0, !%p1;\n"
        "selp.u32 %r3, 10, 0, %p2;\nselp.u32 %r4, 100, 0, %p3;\nadd.u32 %r3, %r3, %r4;\nmul.lo.u32 %r2, %r2, "
        "1000;\nadd.u32 %r2, %r2, %r3;\nst.global.u32 [%rd3], %r2;\n" KERNEL_END,
        .block = {64}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 64; t++) assert_int_equal(b.copy[t], 37100);
}

static void a_guarded_barrier_stops_only_the_lanes_it_names(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN OUT32
                    "setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 0, 32;\nst.global.u32 [%rd3], 1;\n@!%p1 "
                    "bar.sync 1, 32;\n" KERNEL_END,
                    .block = {64}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 64; t++) assert_int_equal(b.copy[t], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_that_part_at_an_if_meet_again),
        cmocka_unit_test(a_loop_with_different_trip_counts_and_a_break_meets_after_it),
        cmocka_unit_test(lanes_that_exit_early_are_not_waited_for),
        cmocka_unit_test(a_spin_lock_between_lanes_of_one_warp_finishes),
        cmocka_unit_test(a_consumer_warp_gets_what_a_later_warp_produces),
        cmocka_unit_test(a_consumer_block_gets_what_a_later_block_produces),
        cmocka_unit_test(a_warp_barrier_joins_lanes_that_come_different_ways),
        cmocka_unit_test(a_shuffle_waits_for_the_lanes_it_names),
        cmocka_unit_test(a_barrier_in_both_sides_of_a_branch_counts_threads),
        cmocka_unit_test(an_indirect_branch_goes_where_each_lane_says),
        cmocka_unit_test(recursion_of_different_depth_in_each_lane_returns_to_one_place),
        cmocka_unit_test(an_indirect_call_calls_what_each_lane_points_to),
        cmocka_unit_test(endless_recursion_is_a_stack_overflow),
        cmocka_unit_test(a_barrier_that_some_threads_never_reach_is_reported),
        cmocka_unit_test(a_shuffle_that_names_lanes_stuck_elsewhere_is_reported),
        cmocka_unit_test(an_endless_loop_ends_at_the_instruction_limit),
        cmocka_unit_test(barrier_counts_and_arrive_pair_producers_with_consumers),
        cmocka_unit_test(barrier_reductions_combine_predicates_of_the_block),
        cmocka_unit_test(a_guarded_barrier_stops_only_the_lanes_it_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
