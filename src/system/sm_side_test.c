/* sm_side: replicas of remote lines in each half, and their coherence. */
#include "system_testbed.h"

/* Two halves of an SM, a slice and a channel; everything at 1 GHz. */
#define HALVES \
    "gpu.chiplets=2;chiplet_net.bandwidth=128 GB/s;gpu.llc_size=256 KiB;gpu.memory_size=128 " \
    "MiB;llc.organisation=sm_side;" \
    "runtime.placement=first_touch_chiplet;"
#define A 0x100000

/* The first read of a remote line installs a replica; the second read hits it. */
BED_TEST(a_half_caches_remote_lines)
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

/* A store at the home invalidates the replica once. A second store sends no invalidation. */
BED_TEST(a_store_at_the_home_invalidates_the_replica)
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
    bed_run(&b, write, 1, 2); /* no replica is left */
    bed_settle(&b);
    assert_int_equal(bed_stats(&b).llc.invalidates, 1);
    b.only_sms = 1;
    bed_run(&b, read, 1, 1); /* the next read fetches the line again */
    assert_int_equal(bed_stats(&b).llc.fetches, 2);
    bed_close(&b);
}

/* A store from the half with the replica updates replica and home, and sends no invalidation. */
BED_TEST(a_store_to_a_replica_updates_replica_and_home)
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

/* An eviction at the home invalidates the replica: the home loses the sharer bits. */
BED_TEST(an_eviction_at_the_home_invalidates_the_replica)
{
    struct bed b;
    static const struct bed_op read[] = {BED_LOAD(A, 1, .flags = WARP_F_STRONG), BED_USE(1), BED_END};
    static const struct bed_op others[] = {
        BED_LOAD(A + 0x100000, 1, .stride = 128, .from_block = 1, .flags = WARP_F_STRONG), BED_USE(1),
        BED_END};
    bed_open(&b, HALVES "gpu.llc_size=4 KiB;llc.ways=16"); /* 16 lines per slice */
    bed_touch(&b, 1, A, 1);
    bed_touch(&b, 1, A + 0x100000, 4096);
    b.only_sms = 1;
    bed_run(&b, read, 1, 1);
    assert_int_equal(slice_lines_used(b.system->slices[0]), 1);
    b.only_sms = 0;
    bed_run(&b, others, 1, 2); /* reads 32 lines through the 16 lines of the home */
    bed_settle(&b);
    assert_int_equal(slice_lines_used(b.system->slices[0]), 0);
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_half_caches_remote_lines),
        cmocka_unit_test(a_store_at_the_home_invalidates_the_replica),
        cmocka_unit_test(a_store_to_a_replica_updates_replica_and_home),
        cmocka_unit_test(an_eviction_at_the_home_invalidates_the_replica),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
