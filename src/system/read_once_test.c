/* Reads of other chiplets that do not allocate at their home (llc/read_once.c), and the counts of lines by the
 * distance of their home. */
#include "sm/structures.h"
#include "system_testbed.h"

/* Two GPUs of one SM, one slice and one channel; everything at 1 GHz. */
#define TWO_GPUS \
    "system.gpus=2;gpu_net.bandwidth=64 GB/s;gpu_net.latency=40 cycles;llc.organisation=numa;" \
    "llc.boundary=drop_remote;runtime.placement=first_touch_gpu;llc.sectored=true;l1.sectored=true;"
#define RONCE TWO_GPUS "crb.policy=ronce;"
#define A     0x100000

static uint32_t lines_used(const struct bed *b, uint32_t slice)
{
    return slice_lines_used(b->system->slices[slice]);
}

/* GPU 1 owns the page of A. Block 0 runs on GPU 0, block 1 on GPU 1. */
static void open_two(struct bed *b, const char *settings)
{
    bed_open(b, settings);
    bed_touch(b, 1, A, 4096);
}

static const struct bed_op load[] = {BED_LOAD(A, 1), BED_USE(1), BED_END};

BED_TEST(a_remote_read_under_ronce_leaves_no_line_at_its_home)
{
    struct bed b;
    open_two(&b, RONCE);
    bed_run(&b, load, 1, 1);
    bed_settle(&b);
    const struct stats s = bed_stats(&b);
    assert_int_equal(lines_used(&b, 0), 1); /* the requester keeps the line */
    assert_int_equal(lines_used(&b, 1), 0);
    assert_int_equal(s.llc.once_misses, 1);
    assert_int_equal(s.llc.memory_reads, 1);
    assert_int_equal(s.llc.remote_local, 1);
    assert_int_equal(s.llc.local_remote, 1);
    assert_int_equal(s.sm.lines_off_gpu, 1);
    bed_close(&b);
}

BED_TEST(a_remote_read_under_rtwice_is_kept_twice)
{
    struct bed b;
    open_two(&b, TWO_GPUS);
    bed_run(&b, load, 1, 1);
    bed_settle(&b);
    assert_int_equal(lines_used(&b, 0), 1);
    assert_int_equal(lines_used(&b, 1), 1);
    assert_int_equal(bed_stats(&b).llc.once_misses, 0);
    bed_close(&b);
}

BED_TEST(without_remote_caching_a_read_only_passes_the_slice)
{
    struct bed b, twice;
    open_two(&b, TWO_GPUS "llc.remote_cache=false;");
    open_two(&twice, TWO_GPUS);
    for (uint32_t k = 0; k < 2; k++) {
        bed_run(&b, load, 1, 1);
        bed_settle(&b);
    }
    bed_run(&twice, load, 1, 1);
    const struct stats s = bed_stats(&b);
    assert_int_equal(lines_used(&b, 0), 0);
    assert_int_equal(lines_used(&b, 1), 1);
    assert_int_equal(s.llc.passed, 2); /* the second read, in another kernel, leaves the GPU again */
    assert_int_equal(s.llc.remote_local_hits, 1);
    bed_settle(&twice);
    bed_close(&b);
    open_two(&b, TWO_GPUS "llc.remote_cache=false;");
    bed_run(&b, load, 1, 1);
    const struct config *const c = &b.machine.config;
    assert_int_equal(bed_cyc(&twice, 0, 0, 1) - bed_cyc(&b, 0, 0, 1),
                     c->llc.miss_latency_cyc - c->llc.pass_cyc + c->llc.fill_latency_cyc - 1);
    bed_close(&b);
    bed_close(&twice);
}

BED_TEST(latency_is_that_of_rtwice)
{
    struct bed once, twice;
    open_two(&once, RONCE);
    open_two(&twice, TWO_GPUS);
    bed_run(&once, load, 1, 1);
    bed_run(&twice, load, 1, 1);
    assert_int_equal(bed_cyc(&once, 0, 0, 1), bed_cyc(&twice, 0, 0, 1));
    bed_close(&once);
    bed_close(&twice);
}

BED_TEST(a_line_that_is_at_home_is_hit_and_its_missing_sectors_are_filled)
{
    static const struct bed_op one_sector[] = {BED_LOAD(A, 1, .mask = 0xff, .from_block = 1), BED_END};
    struct bed b;
    open_two(&b, RONCE);
    bed_run(&b, one_sector, 1, 2); /* block 1, at home: one sector */
    bed_settle(&b);
    assert_int_equal(lines_used(&b, 1), 1);
    bed_run(&b, load, 1, 1); /* block 0, remote: four sectors */
    bed_settle(&b);
    struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.once_misses, 0);
    assert_int_equal(s.llc.memory_reads, 2);
    assert_int_equal(lines_used(&b, 1), 1);
    static const struct bed_op at_home[] = {BED_LOAD(A, 1, .from_block = 1), BED_END};
    bed_run(&b, at_home, 1, 2);
    bed_settle(&b);
    s = bed_stats(&b);
    assert_int_equal(s.llc.memory_reads, 2); /* the remote read filled the other sectors at home */
    assert_int_equal(s.llc.local_local_hits, 1);
    bed_close(&b);
}

/* Block 0 reads the line at once. Block 1 waits, accesses the line and then reads it, while the remote read of
 * block 0 is in flight or not. In each case the line has one place. */
static void meet(struct bed *b, uint32_t delay_ns, struct bed_op second, struct stats *s)
{
    second.from_block = 1;
    const struct bed_op ops[] = {{.class = WARP_CLASS_WAIT,
                                  .sleep_ns = delay_ns,
                                  .dst = BED_NO_REG,
                                  .src = BED_NO_REG,
                                  .from_block = 1},
                                 second,
                                 BED_LOAD(A, 1),
                                 BED_END};
    open_two(b, RONCE);
    bed_run(b, ops, 1, 2);
    bed_settle(b);
    *s = bed_stats(b);
}

BED_TEST(a_read_at_home_gives_a_pending_line_a_way)
{
    uint32_t moved = 0;
    for (uint32_t delay = 1; delay < 700; delay += 9) {
        struct bed b;
        struct stats s;
        meet(&b, delay, (struct bed_op)BED_LOAD(A, 1), &s);
        moved += (uint32_t)s.llc.once_moved;
        assert_in_range(s.llc.once_moved, 0, 1);
        assert_int_equal(s.llc.memory_reads, s.llc.once_misses && !s.llc.once_moved ? 2 : 1);
        assert_int_equal(lines_used(&b, 1), 1);
        assert_int_equal(s.llc.memory_reads, s.llc.fills);
        bed_close(&b);
    }
    assert_true(moved > 2);
}

BED_TEST(a_store_gives_a_pending_line_a_way)
{
    uint32_t moved = 0;
    for (uint32_t delay = 1; delay < 700; delay += 9) {
        struct bed b;
        struct stats s;
        meet(&b, delay, (struct bed_op)BED_STORE(A, BED_NO_REG, .mask = 3), &s);
        moved += (uint32_t)s.llc.once_moved;
        assert_int_equal(lines_used(&b, 1), 1);
        assert_int_equal(s.llc.memory_reads, s.llc.fills);
        bed_close(&b);
    }
    assert_true(moved > 2);
}

/* Remote reads of different lines at once: one MSHR is left to the lines of the home chiplet. */
BED_TEST(misses_without_a_way_leave_one_mshr)
{
    static const struct bed_op many[] = {BED_LOAD(A, 1, .stride = LINE_BYTES), BED_USE(1), BED_END};
    struct bed b;
    open_two(&b, RONCE "llc.mshrs=3;");
    bed_run(&b, many, 1, 1);
    bed_settle(&b);
    assert_int_equal(bed_stats(&b).llc.once_misses, 32);
    assert_int_equal(bed_stats(&b).llc.mshr_peak, 2);
    bed_close(&b);
    open_two(&b, RONCE "llc.mshrs=1;"); /* no MSHR can be left */
    bed_run(&b, many, 1, 1);
    bed_settle(&b);
    assert_int_equal(bed_stats(&b).llc.once_misses, 32);
    bed_close(&b);
}

/* ---- random kernels with --check ---- */

#define ONE_ENTRY \
    "llc.mshrs=2;llc.mshr_merges=1;llc.data_queue=1;llc.reply_queue=1;llc.memory_queue=1;llc.forward_queue=" \
    "1;" \
    "net.source_packets=1;net.sink_packets=1;slice_net.source_packets=1;slice_net.sink_packets=1;" \
    "gpu_net.source_packets=1;gpu_net.sink_packets=1;l1.miss_queue=1;sim.visit_order=shuffled;"

/* Loads, stores and atomics of all blocks to few lines. Each of the four blocks with two warps writes its own
 * words of a line, because the order of stores that race is undefined. */
static void random_ops(struct rng *rng, struct bed_op *ops, uint32_t count)
{
    for (uint32_t k = 0; k + 1 < count; k++) {
        const uint64_t base = A + rng_below(rng, 24) * LINE_BYTES;
        const uint32_t mask = (uint32_t)rng_u64(rng) | 1;
        switch (rng_below(rng, 6)) {
        case 0:
            ops[k] =
                (struct bed_op)BED_STORE(base, BED_NO_REG, .mask = mask & 15, .by_block = 32, .by_warp = 16);
            break;
        case 1:
            ops[k] = (struct bed_op)BED_MEMORY(REDUCTION, base, BED_NO_REG, BED_NO_REG, .mask = mask & 15,
                                               .by_block = 32, .by_warp = 16);
            break;
        case 2: ops[k] = (struct bed_op)BED_USE(1); break;
        default: ops[k] = (struct bed_op)BED_LOAD(base, 1, .mask = mask, .by_block = LINE_BYTES); break;
        }
    }
    ops[count - 1] = (struct bed_op)BED_END;
}

static uint64_t check_random(uint64_t seed, const char *settings)
{
    enum { OPS = 60 };
    struct rng rng;
    struct bed b;
    struct bed_op ops[OPS];
    rng = rng_seed(seed, 1);
    random_ops(&rng, ops, OPS);
    bed_open_any(&b, NULL, settings, true);
    bed_touch(&b, rng_below(&rng, 2) ? 1 : 0, A, 4096);
    bed_run(&b, ops, 2, 4);
    bed_settle(&b);
    check_finish(b.system->check, system_now(b.system));
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.memory_reads, s.llc.fills);
    assert_int_equal(s.llc.once_ways, 0);
    bed_close(&b);
    return s.llc.once_misses + 1000 * s.llc.once_moved;
}

BED_TEST(random_kernels_read_what_was_stored)
{
    uint64_t once = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        once += check_random(seed, RONCE);
        once += check_random(seed, RONCE ONE_ENTRY);
        once += check_random(seed, RONCE ONE_ENTRY "gpu.llc_size=1KiB;llc.ways=2;");
        once += check_random(seed, RONCE "llc.mshrs=1;gpu.llc_size=1KiB;llc.ways=1;");
    }
    assert_true(once % 1000 > 100); /* misses without a way */
    assert_true(once / 1000 > 10);  /* lines that got a way while they were in flight */
}

/* ---- structures ---- */

BED_TEST(the_structure_of_a_line_is_the_range_that_holds_it)
{
    struct structure range[] = {{.first_line = 10, .end_line = 20},
                                {.first_line = 20, .end_line = 21},
                                {.first_line = 40, .end_line = 50}};
    struct structures s = {.range = range, .count = 3};
    assert_ptr_equal(structures_find(&s, 9), &s.rest);
    assert_ptr_equal(structures_find(&s, 10), &range[0]);
    assert_ptr_equal(structures_find(&s, 19), &range[0]);
    assert_ptr_equal(structures_find(&s, 20), &range[1]);
    assert_ptr_equal(structures_find(&s, 21), &s.rest);
    assert_ptr_equal(structures_find(&s, 49), &range[2]);
    assert_ptr_equal(structures_find(&s, 50), &s.rest);
    assert_ptr_equal(structures_find(&s, 12), &range[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_remote_read_under_ronce_leaves_no_line_at_its_home),
        cmocka_unit_test(a_remote_read_under_rtwice_is_kept_twice),
        cmocka_unit_test(without_remote_caching_a_read_only_passes_the_slice),
        cmocka_unit_test(latency_is_that_of_rtwice),
        cmocka_unit_test(a_line_that_is_at_home_is_hit_and_its_missing_sectors_are_filled),
        cmocka_unit_test(a_read_at_home_gives_a_pending_line_a_way),
        cmocka_unit_test(a_store_gives_a_pending_line_a_way),
        cmocka_unit_test(misses_without_a_way_leave_one_mshr),
        cmocka_unit_test(random_kernels_read_what_was_stored),
        cmocka_unit_test(the_structure_of_a_line_is_the_range_that_holds_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
