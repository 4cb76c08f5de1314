/* `a100` against measurements of an A100: latency of an L2 access by where its line is, within 3 % of 208.0
 * and 356.6 cycles (hits in the near and in the far half) and of 474.9 and 622.7 (misses); arXiv 2501.12084,
 * table 4. The preset was calibrated to these four. Bandwidth was not fitted: it is printed, and must respect
 * the ports. */
#include "system_testbed.h"

enum { CHASE = 80, CHAINS = 16, NEAR_SM = 0, FAR_SM = 54 };
#define A      ((uint64_t)0x10000000)
#define STRIDE ((uint64_t)4224) /* 33 lines: other slices, banks and rows */

/* Mean cycles of loads past the L1, each after the one before and a random pause (so that they do not keep
 * step with the refreshes of memory), by an SM of the first half. owner: the SM in whose half the lines live;
 * warmer: the SM that brought them into the L2 before, UINT32_MAX: nobody. */
static double chase(uint32_t owner, uint32_t warmer)
{
    static struct bed_op ops[3 * CHASE + 1], warm[CHASE + 1];
    static struct bed b;
    uint64_t cycles = 0;
    bed_open_machine(&b, "a100", "runtime.placement=first_touch_chiplet");
    bed_touch(&b, owner, A, STRIDE * CHASE * CHAINS);
    warm[CHASE] = ops[3 * CHASE] = (struct bed_op)BED_END;
    for (uint32_t chain = 0; chain < CHAINS; chain++) {
        for (uint32_t k = 0; k < CHASE; k++) {
            const uint64_t at = A + (chain * CHASE + k) * STRIDE;
            warm[k] = (struct bed_op)BED_LOAD(at, (uint8_t)(k % 32), .mask = 1, .flags = WARP_F_CACHE_L2,
                                              .from_block = warmer);
            ops[3 * k] = (struct bed_op)BED_LOAD(at, 1, .mask = 1, .flags = WARP_F_CACHE_L2);
            ops[3 * k + 1] = (struct bed_op)BED_USE(1);
            ops[3 * k + 2] = (struct bed_op){.class = WARP_CLASS_WAIT,
                                             .dst = BED_NO_REG,
                                             .src = BED_NO_REG,
                                             .sleep_ns = 1 + (uint32_t)(hash_u64(at) % 1000)};
        }
        b.only_sms = 0;
        if (warmer != UINT32_MAX) { /* one block per SM in order: block n is on SM n */
            bed_run(&b, warm, 1, warmer + 1);
            bed_settle(&b);
        }
        b.only_sms = 1;
        bed_run(&b, ops, 1, 1);
        for (uint32_t k = 0; k < CHASE; k++)
            cycles += bed_cyc(&b, 0, 0, 3 * k + 1) - bed_cyc(&b, 0, 0, 3 * k);
    }
    bed_close(&b);
    return (double)cycles / (CHASE * CHAINS);
}

static void expect_latency(const char *what, double got, double hardware)
{
    print_message("    %s: %.1f cycles (hardware %.1f, %+.1f %%)\n", what, got, hardware,
                  100 * (got / hardware - 1));
    assert_true(got >= 0.97 * hardware && got <= 1.03 * hardware);
}

BED_TEST(hits_of_the_near_half_take_as_long_as_on_hardware)
{
    expect_latency("near hit", chase(NEAR_SM, NEAR_SM), 208.0);
}
BED_TEST(hits_of_the_far_half_take_as_long_as_on_hardware)
{
    expect_latency("far hit", chase(FAR_SM, FAR_SM), 356.6);
}
BED_TEST(misses_of_the_near_half_take_as_long_as_on_hardware)
{
    expect_latency("near miss", chase(NEAR_SM, UINT32_MAX), 474.9);
}
BED_TEST(misses_of_the_far_half_take_as_long_as_on_hardware)
{
    expect_latency("far miss", chase(FAR_SM, UINT32_MAX), 622.7);
}

/* ---- bandwidth, reported ---- */

enum { WARPS = 32, LOADS = 24 };

/* Bytes per cycle that the SMs of the first half read from lines that the L2 has. far: the other half's, each
 * line once (a second read would find the copy of this half). */
static double bandwidth(bool far)
{
    static struct bed_op ops[LOADS + 1];
    static struct bed b;
    bed_open_machine(&b, "a100", "runtime.placement=first_touch_chiplet");
    const uint32_t half = b.system->sm_count / 2;
    const uint64_t lines = (uint64_t)half * WARPS;
    bed_touch(&b, far ? FAR_SM : NEAR_SM, A, lines * LINE_BYTES * LOADS);
    for (uint32_t k = 0; k < LOADS; k++)
        ops[k] = (struct bed_op)BED_LOAD(A + k * lines * LINE_BYTES, (uint8_t)k, .by_warp = LINE_BYTES,
                                         .by_block = LINE_BYTES * WARPS, .flags = WARP_F_CACHE_L2);
    ops[LOADS] = (struct bed_op)BED_END;
    b.parts = 2; /* blocks of the second half of the grid on the second half of the SMs */
    if (far) {
        for (uint32_t k = 0; k < LOADS; k++) {
            ops[k].from_block = half; /* only the second half brings the lines in */
            ops[k].base -= lines * LINE_BYTES;
        }
        bed_run(&b, ops, WARPS, 2 * (uint64_t)half);
        for (uint32_t k = 0; k < LOADS; k++) {
            ops[k].from_block = 0;
            ops[k].base += lines * LINE_BYTES;
        }
        b.parts = 0;
        b.only_sms = half;
    } else {
        b.parts = 0;
        b.only_sms = half;
        bed_run(&b, ops, WARPS, half);
    }
    bed_settle(&b);
    bed_run(&b, ops, WARPS, half);
    const double rate = (double)(lines * LINE_BYTES * LOADS) / (double)(b.end_cyc - b.start_cyc);
    bed_close(&b);
    return rate;
}

BED_TEST(bandwidth_of_the_halves_is_reported)
{
    const double near = bandwidth(false), far = bandwidth(true);
    print_message("    54 SMs of a half read %.0f B/cycle of near and %.0f B/cycle of far lines\n", near,
                  far);
    assert_true(near <= 32 * 64.0 && far <= 2048.0 && far <= near);
    assert_true(far > 0.2 * near);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits_of_the_near_half_take_as_long_as_on_hardware),
        cmocka_unit_test(hits_of_the_far_half_take_as_long_as_on_hardware),
        cmocka_unit_test(misses_of_the_near_half_take_as_long_as_on_hardware),
        cmocka_unit_test(misses_of_the_far_half_take_as_long_as_on_hardware),
        cmocka_unit_test(bandwidth_of_the_halves_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
