/* SM-side halves: copies in the other half, and how they are kept coherent. */
#include "system_testbed.h"

/* Two halves of an SM, a slice and a channel; everything at 1 GHz. */
#define HALVES \
    "gpu.chiplets=2;chiplet_net.bandwidth=128 GB/s;gpu.llc_size=256 KiB;gpu.memory_size=128 " \
    "MiB;llc.organisation=sm_side;" \
    "runtime.placement=first_touch_chiplet;"
#define A 0x100000

/* Lines of the other half are kept, and read near from then on. */
BED_TEST(a_half_keeps_lines_of_the_other)
{
    struct bed b;
    static const struct bed_op read[] = {BED_LOAD(A, 1, .flags = WARP_F_STRONG), BED_USE(1),
                                         BED_LOAD(A, 2, .flags = WARP_F_STRONG), BED_USE(2), BED_END};
    bed_open(&b, HALVES);
    bed_touch(&b, 1, A, 1);
    b.only_sms = 1;
    bed_run(&b, read, 1, 1);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.fetches, 1);
    assert_int_equal(s.llc.remote_hits, 1);
    assert_int_equal(slice_lines_used(b.system->slices[0]), 1);
    assert_int_equal(slice_lines_used(b.system->slices[1]), 1);
    bed_close(&b);
}

/* A store at the home drops the copy of the other half, once, and is answered later than one that concerns
 * nobody. */
BED_TEST(a_store_at_home_drops_the_copy_of_the_other_half)
{
    struct bed b;
    static const struct bed_op read[] = {BED_LOAD(A, 1, .flags = WARP_F_STRONG), BED_USE(1), BED_END};
    static const struct bed_op write[] = {BED_STORE(A, BED_NO_REG, .from_block = 1), BED_END};
    bed_open(&b, HALVES);
    bed_touch(&b, 1, A, 1);
    b.only_sms = 1;
    bed_run(&b, read, 1, 1);
    b.only_sms = 0;
    bed_run(&b, write, 1, 2);
    bed_settle(&b);
    assert_int_equal(bed_stats(&b).llc.invalidates, 1);
    assert_int_equal(bed_stats(&b).llc.invalidated, 1);
    assert_int_equal(slice_lines_used(b.system->slices[0]), 0);
    bed_run(&b, write, 1, 2); /* nobody has a copy now */
    bed_settle(&b);
    assert_int_equal(bed_stats(&b).llc.invalidates, 1);
    b.only_sms = 1;
    bed_run(&b, read, 1, 1); /* and the next read asks the home again */
    assert_int_equal(bed_stats(&b).llc.fetches, 2);
    bed_close(&b);
}

/* A store of the other half changes its copy and the home; nobody has to be told. */
BED_TEST(a_store_of_the_other_half_changes_both)
{
    struct bed b;
    static const struct bed_op ops[] = {BED_LOAD(A, 1, .flags = WARP_F_STRONG), BED_USE(1),
                                        BED_STORE(A, BED_NO_REG), BED_END};
    bed_open(&b, HALVES);
    bed_touch(&b, 1, A, 1);
    b.only_sms = 1;
    bed_run(&b, ops, 1, 1);
    bed_settle(&b);
    assert_int_equal(bed_stats(&b).llc.invalidates, 0);
    assert_int_equal(slice_lines_used(b.system->slices[0]), 1);
    assert_int_equal(slice_stats(b.system->slices[1])->writes, 1);
    bed_close(&b);
}

/* A line that leaves its home takes its copies with it: the home would not know of them any more. */
BED_TEST(a_line_that_leaves_its_home_takes_its_copies_along)
{
    struct bed b;
    static const struct bed_op read[] = {BED_LOAD(A, 1, .flags = WARP_F_STRONG), BED_USE(1), BED_END};
    static const struct bed_op others[] = {
        BED_LOAD(A + 0x100000, 1, .stride = 128, .from_block = 1, .flags = WARP_F_STRONG), BED_USE(1),
        BED_END};
    bed_open(&b, HALVES "gpu.llc_size=4 KiB;llc.ways=16"); /* 16 lines each */
    bed_touch(&b, 1, A, 1);
    bed_touch(&b, 1, A + 0x100000, 4096);
    b.only_sms = 1;
    bed_run(&b, read, 1, 1);
    assert_int_equal(slice_lines_used(b.system->slices[0]), 1);
    b.only_sms = 0;
    bed_run(&b, others, 1, 2); /* 32 lines through the home's 16 */
    bed_settle(&b);
    assert_int_equal(slice_lines_used(b.system->slices[0]), 0);
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_half_keeps_lines_of_the_other),
        cmocka_unit_test(a_store_at_home_drops_the_copy_of_the_other_half),
        cmocka_unit_test(a_store_of_the_other_half_changes_both),
        cmocka_unit_test(a_line_that_leaves_its_home_takes_its_copies_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
