/* LLC slices: ports, merging, write-back with byte masks, atomics, flushes. Driven through an SM whose loads
 * bypass its L1, so that every access reaches the slice. */
#include "system_testbed.h"

#define ENDS(...)            ((const struct bed_op[]){__VA_ARGS__, BED_END})
#define READ(base, dst, ...) BED_LOAD(base, dst, .flags = WARP_F_STRONG, __VA_ARGS__)
#define WRITE(base, ...)     BED_STORE(base, BED_NO_REG, __VA_ARGS__)
#define WIDE                 "net.width=256 B;" /* a packet is one flit: the slice is the narrowest part */
/* 16 lines, one set */
#define TINY "gpu.llc_size=2 KiB;llc.ways=16;"

static const uint64_t A = 0x10000, B = 0x20000;

static uint64_t hit_cyc(struct bed *b)
{
    const struct config *c = &b->machine.config;
    return 1 + net_zero_load_cyc(b->system->fabrics->request.net, 0, 0, 8) + c->llc.latency_cyc +
           net_zero_load_cyc(b->system->fabrics->reply.net, 0, 0, 136) + c->l1.fill_latency_cyc;
}

/* ---- ports ---- */

BED_TEST(a_line_takes_the_data_port_for_its_bytes)
{
    static const struct {
        const char *settings;
        uint32_t line_cyc;
    } cases[] = {{WIDE "llc.port=32 B", 4},
                 {WIDE "llc.port=64 B", 2},
                 {WIDE "llc.port=128 B", 1},
                 {WIDE "llc.port=512 B", 1},
                 {WIDE "llc.port=8 B", 16}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct bed b;
        const struct bed_op *lines = ENDS(READ(A, 1, .stride = 128), BED_USE(1));
        bed_open(&b, cases[k].settings);
        bed_run(&b, lines, 1, 1);
        const struct stats before = bed_stats(&b);
        bed_run(&b, lines, 1, 1);
        assert_int_equal(bed_cyc(&b, 0, 0, 1), hit_cyc(&b) + 31 * cases[k].line_cyc);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.llc.read_hits - before.llc.read_hits, 32);
        assert_int_equal(s.llc.port_cycles - before.llc.port_cycles, 32 * cases[k].line_cyc);
        bed_close(&b);
    }
}

/* A sector is one column or several, or a part of one. */
BED_TEST(columns_of_any_size_fill_all_requested_sectors)
{
    for (uint32_t bytes = 8; bytes <= 128; bytes *= 2)
        for (uint32_t sectored = 0; sectored < 2; sectored++) {
            struct bed b;
            char settings[150];
            snprintf(settings, sizeof settings, "dram.column_size=%u B;dram.columns=256;%s", bytes,
                     sectored ? "l1.sectored=true;llc.sectored=true" : "");
            bed_open(&b, settings);
            bed_run(&b, ENDS(READ(A, 1, .stride = 128), BED_USE(1)), 1, 1);
            const uint32_t wanted = sectored ? 32 : 128;
            assert_int_equal(bed_stats(&b).dram.reads, 32 * ((wanted + bytes - 1) / bytes));
            bed_close(&b);
        }
}

BED_TEST(sectors_take_only_their_part_of_the_port)
{
    struct bed b;
    bed_open(&b, WIDE "l1.sectored=true;llc.sectored=true");
    const struct bed_op *sectors = ENDS(READ(A, 1, .stride = 128), BED_USE(1)); /* 4 bytes of each line */
    bed_run(&b, sectors, 1, 1);
    assert_int_equal(bed_stats(&b).dram.reads, 32); /* one column each, not two */
    bed_run(&b, sectors, 1, 1);
    const struct config *c = &b.machine.config;
    const uint64_t one = 1 + net_zero_load_cyc(b.system->fabrics->request.net, 0, 0, 8) + c->llc.latency_cyc +
                         net_zero_load_cyc(b.system->fabrics->reply.net, 0, 0, 40) + c->l1.fill_latency_cyc;
    assert_int_equal(bed_cyc(&b, 0, 0, 1), one + 31);
    bed_close(&b);
}

/* ---- misses ---- */

BED_TEST(requests_of_several_sms_for_a_missing_line_merge)
{
    struct bed b;
    bed_open(&b, "partition.sms=4;sm.block_slots=1");
    bed_run(&b, ENDS(READ(A, 1), BED_USE(1)), 1, 4);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.read_misses, 1);
    assert_int_equal(s.llc.read_merged, 3);
    assert_int_equal(s.llc.mshr_peak, 1);
    assert_int_equal(s.dram.reads, 2);
    assert_int_equal(s.llc.replies, 4);
    bed_close(&b);
}

BED_TEST(merges_and_mshrs_have_their_limits)
{
    struct bed b;
    bed_open(&b, "partition.sms=4;sm.block_slots=1;llc.mshr_merges=2");
    bed_run(&b, ENDS(READ(A, 1), BED_USE(1)), 1, 4);
    struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.read_misses, 1);
    assert_int_equal(s.llc.read_merged, 1);
    assert_int_equal(s.llc.read_hits, 2);
    assert_true(s.llc.wait_mshr > 0);
    bed_close(&b);
    bed_open(&b, "llc.mshrs=1");
    bed_run(&b, ENDS(READ(A, 1, .stride = 128, .mask = 3), BED_USE(1)), 1, 1);
    s = bed_stats(&b);
    assert_int_equal(s.llc.mshr_peak, 1);
    assert_int_equal(s.llc.read_misses, 2);
    assert_true(s.llc.wait_mshr > 100); /* a whole miss latency */
    bed_close(&b);
}

/* ---- writes ---- */

BED_TEST(a_line_written_as_a_whole_is_never_fetched)
{
    struct bed b;
    bed_open(&b, NULL);
    bed_run(&b, ENDS(WRITE(A), READ(A, 1), BED_USE(1)), 1, 1);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.dram.reads, 0);
    assert_int_equal(s.llc.read_hits, 1);
    bed_close(&b);
}

BED_TEST(a_line_written_in_part_is_fetched_when_it_is_read)
{
    struct bed b;
    bed_open(&b, NULL);
    bed_run(&b, ENDS(WRITE(A, .mask = 0xffff), READ(A, 1), BED_USE(1)), 1, 1);
    assert_int_equal(bed_stats(&b).dram.reads, 2);
    bed_run(&b, ENDS(READ(A, 1), BED_USE(1)), 1, 1);
    assert_int_equal(bed_stats(&b).dram.reads, 2);
    bed_close(&b);
}

BED_TEST(only_dirty_columns_of_evicted_lines_are_written_back)
{
    struct bed b;
    bed_open(&b, TINY);
    /* 16 lines: one written whole, one in its upper half, 14 read */
    bed_run(&b,
            ENDS(WRITE(A), WRITE(A + 192, .mask = 0xffff), READ(A + 256, 1, .stride = 128, .mask = 0x3fff),
                 BED_USE(1)),
            1, 1);
    assert_int_equal(bed_stats(&b).llc.evictions, 0);
    bed_run(&b, ENDS(READ(B, 1, .stride = 128, .mask = 0xffff), BED_USE(1)), 1, 1);
    bed_settle(&b);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.evictions, 16);
    assert_int_equal(s.llc.memory_writes, 2);
    assert_int_equal(s.llc.memory_write_columns, 3);
    assert_int_equal(s.dram.writes, 3);
    bed_close(&b);
}

/* ---- replacement of known streams ---- */

BED_TEST(a_stream_that_fits_hits_and_one_line_more_never_does)
{
    for (uint32_t lines = 16; lines <= 17; lines++) {
        struct bed b;
        bed_open(&b, TINY "l1.miss_queue=64");
        const struct bed_op *one = ENDS(READ(A, 1, .stride = 128, .mask = (1u << lines) - 1), BED_USE(1));
        for (int round = 0; round < 4; round++) bed_run(&b, one, 1, 1);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.llc.reads, 4 * lines);
        assert_int_equal(s.llc.read_hits, lines == 16 ? 3 * 16 : 0);
        bed_close(&b);
    }
}

/* ---- atomics ---- */

BED_TEST(lanes_on_one_word_take_the_port_one_after_the_other)
{
    struct bed b;
    bed_open(&b, "llc.atomic_cyc=3");
    const struct bed_op *add = ENDS(BED_MEMORY(ATOMIC, A, 1, BED_NO_REG, .uniform = true), BED_USE(1));
    bed_run(&b, add, 1, 1);
    const struct stats before = bed_stats(&b);
    assert_int_equal(before.llc.atomics, 1);
    assert_int_equal(before.llc.atomic_misses, 1);
    bed_run(&b, add, 1, 1);
    struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.port_cycles - before.llc.port_cycles, 2 + 31 * 3);
    assert_int_equal(s.llc.atomic_misses, 1);
    bed_close(&b);
}

/* The value of an atomic arrives after its last lane. */
BED_TEST(an_atomic_is_answered_after_its_last_lane)
{
    uint64_t took[2][2]; /* cycles per lane; line from memory, line in the slice */
    for (uint32_t k = 0; k < 2; k++) {
        struct bed b;
        bed_open(&b, k ? "llc.atomic_cyc=10" : "llc.atomic_cyc=3");
        for (uint32_t hit = 0; hit < 2; hit++) {
            bed_run(&b, ENDS(BED_MEMORY(ATOMIC, A, 1, BED_NO_REG, .uniform = true), BED_USE(1)), 1, 1);
            took[k][hit] = bed_cyc(&b, 0, 0, 1);
        }
        bed_close(&b);
    }
    assert_int_equal(took[1][0] - took[0][0], 31 * 7);
    assert_int_equal(took[1][1] - took[0][1], 31 * 7);
}

/* ---- flushes ---- */

static void flushed(void *arg) { *(bool *)arg = true; }

BED_TEST(a_flush_writes_back_every_dirty_line_and_looks_at_one_per_cycle)
{
    struct bed b;
    bed_open(&b, NULL); /* 1024 lines */
    bed_run(&b, ENDS(WRITE(A, .bytes = 16), WRITE(B, .mask = 1), READ(B + 4096, 1), BED_USE(1)), 3, 1);
    bed_settle(&b);
    struct slice *s = b.system->slices[0];
    assert_int_equal(slice_lines_used(s), 4 + 1 + 1);
    const struct stats before = bed_stats(&b);
    bool done = false;
    const uint64_t begin = system_now(b.system);
    slice_flush(s, llc_boundary_flush, false, flushed, &done);
    while (!done) (void)engine_run(b.system->engine, system_now(b.system) + 1);
    /* the cursor sees line k in cycle begin + 1 + k; the last writes leave long before it ends */
    assert_int_equal(system_now(b.system), begin + 1024);
    bed_settle(&b);
    const struct stats after = bed_stats(&b);
    assert_int_equal(slice_lines_used(s), 0);
    assert_int_equal(after.llc.flush_writebacks, 5);
    assert_int_equal(after.llc.flushed_lines, 1024);
    assert_int_equal(after.dram.writes - before.dram.writes, 4 * 2 + 1);
    assert_int_equal(after.dram.column_writes, after.dram.writes);
    bed_run(&b, ENDS(READ(A, 1), BED_USE(1)), 1, 1);
    assert_int_equal(bed_stats(&b).llc.read_hits, before.llc.read_hits); /* nothing was left */
    bed_close(&b);
}

/* Sixteen per cycle: those between two that must be written back or dropped; each of these takes a cycle. */
BED_TEST(a_flush_may_look_at_a_set_per_cycle)
{
    struct bed b;
    bed_open(&b, "llc.flush_lines=16");
    bed_run(&b, ENDS(WRITE(A, .bytes = 16), READ(B, 1), BED_USE(1)), 3, 1);
    bed_settle(&b);
    const uint32_t used = slice_lines_used(b.system->slices[0]);
    bool done = false;
    const uint64_t begin = system_now(b.system);
    slice_flush(b.system->slices[0], llc_boundary_flush, false, flushed, &done);
    while (!done) (void)engine_run(b.system->engine, system_now(b.system) + 1);
    assert_in_range(system_now(b.system) - begin, 1024 / 16, 1024 / 16 + 2 * used);
    bed_settle(&b);
    assert_int_equal(slice_lines_used(b.system->slices[0]), 0);
    assert_int_equal(bed_stats(&b).llc.flushed_lines, 1024);
    bed_close(&b);
}

/* More dirty lines than the way to memory carries at one per cycle: the flush waits, and loses none. */
BED_TEST(a_flush_waits_for_memory)
{
    struct bed b;
    bed_open(&b, "llc.memory_queue=1;llc.mshrs=1;clock.dram=100 MHz");
    const struct bed_op *lines = ENDS(WRITE(A, .bytes = 16, .by_warp = 512));
    bed_run(&b, lines, 32, 1); /* 128 lines */
    bed_settle(&b);
    bool done = false;
    const uint64_t begin = system_now(b.system);
    slice_flush(b.system->slices[0], llc_boundary_flush, false, flushed, &done);
    while (!done) (void)engine_run(b.system->engine, system_now(b.system) + 1);
    assert_true(system_now(b.system) - begin > 1200);
    bed_settle(&b);
    assert_int_equal(bed_stats(&b).dram.column_writes, 256);
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_takes_the_data_port_for_its_bytes),
        cmocka_unit_test(columns_of_any_size_fill_all_requested_sectors),
        cmocka_unit_test(sectors_take_only_their_part_of_the_port),
        cmocka_unit_test(requests_of_several_sms_for_a_missing_line_merge),
        cmocka_unit_test(merges_and_mshrs_have_their_limits),
        cmocka_unit_test(a_line_written_as_a_whole_is_never_fetched),
        cmocka_unit_test(a_line_written_in_part_is_fetched_when_it_is_read),
        cmocka_unit_test(only_dirty_columns_of_evicted_lines_are_written_back),
        cmocka_unit_test(a_stream_that_fits_hits_and_one_line_more_never_does),
        cmocka_unit_test(lanes_on_one_word_take_the_port_one_after_the_other),
        cmocka_unit_test(an_atomic_is_answered_after_its_last_lane),
        cmocka_unit_test(a_flush_writes_back_every_dirty_line_and_looks_at_one_per_cycle),
        cmocka_unit_test(a_flush_may_look_at_a_set_per_cycle),
        cmocka_unit_test(a_flush_waits_for_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
