/* SM and L1: exact cycles of issue, latency, merging, ordering, and where cycles went. */
#include "system_testbed.h"

#define ENDS(...)  ((const struct bed_op[]){__VA_ARGS__, BED_END})
#define FAST_PORTS "unit.int_interval_cyc=1;unit.fp32_interval_cyc=1"

static const uint64_t A = 0x10000, B = 0x20000;

/* ---- what the parts of the way take when nobody else is there ---- */

static uint64_t request_cyc(struct bed *b, uint32_t bytes)
{
    return net_zero_load_cyc(b->system->fabrics->request.net, 0, 0, bytes);
}
static uint64_t reply_cyc(struct bed *b, uint32_t bytes)
{
    return net_zero_load_cyc(b->system->fabrics->reply.net, 0, 0, bytes);
}

/* Issue of a load that misses the L1 and hits the LLC > its first dependent instruction. */
static uint64_t llc_load_cyc(struct bed *b)
{
    const struct config *c = &b->machine.config;
    return 1 + request_cyc(b, 8) + c->llc.latency_cyc + reply_cyc(b, 136) + c->l1.fill_latency_cyc;
}

/* The same from memory; the first access of all finds its bank closed and is activated in the cycle after the
 * channel has accepted it. DRAM at the SM's clock. */
static uint64_t dram_load_cyc(struct bed *b)
{
    const struct config *c = &b->machine.config;
    return 1 + request_cyc(b, 8) + c->llc.miss_latency_cyc + 1 + c->dram.trcd_rd_cyc + 2 /* columns */ - 1 +
           c->dram.tcl_cyc + c->dram.burst_cyc + c->llc.memory_latency_cyc + c->llc.fill_latency_cyc +
           reply_cyc(b, 136) + c->l1.fill_latency_cyc;
}

/* ---- arithmetic ---- */

BED_TEST(every_class_has_its_latency_and_its_interval)
{
    static const struct {
        uint8_t class;
        uint32_t latency, interval;
    } cases[] = {
        {WARP_CLASS_INT, 4, 2},          {WARP_CLASS_INT_MINMAX, 13, 2},  {WARP_CLASS_INT_MUL, 5, 2},
        {WARP_CLASS_INT_DIV, 145, 8},    {WARP_CLASS_SHUFFLE, 21, 4},     {WARP_CLASS_FP32, 4, 2},
        {WARP_CLASS_FP32_MINMAX, 13, 2}, {WARP_CLASS_FP32_DIV, 39, 4},    {WARP_CLASS_FP64, 8, 4},
        {WARP_CLASS_FP64_MINMAX, 19, 4}, {WARP_CLASS_FP64_DIV, 330, 130}, {WARP_CLASS_SFU, 100, 8},
        {WARP_CLASS_TENSOR, 64, 64},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct bed b;
        bed_open(&b, NULL);
        const struct bed_op one = {.class = cases[k].class, .dst = 1, .src = BED_NO_REG};
        const struct bed_op other = {.class = cases[k].class, .dst = 2, .src = BED_NO_REG};
        bed_run(&b, ENDS(one, other, BED_USE(1)), 1, 1);
        assert_int_equal(bed_cyc(&b, 0, 0, 0), 0);
        assert_int_equal(bed_cyc(&b, 0, 0, 1), cases[k].interval);
        const uint64_t use = cases[k].latency > cases[k].interval ? cases[k].latency : cases[k].interval + 1;
        /* an integer use waits for the integer port, too */
        const bool same_port = cases[k].class <= WARP_CLASS_INT_DIV || cases[k].class == WARP_CLASS_SHUFFLE;
        const uint64_t port = 2 * cases[k].interval;
        assert_int_equal(bed_cyc(&b, 0, 0, 2), same_port && port > use ? port : use);
        bed_close(&b);
    }
}

BED_TEST(units_take_instructions_in_the_same_time)
{
    struct bed b;
    bed_open(&b, NULL);
    bed_run(&b,
            ENDS(BED_ARITH(INT, 1, BED_NO_REG), BED_ARITH(FP32, 2, BED_NO_REG),
                 BED_ARITH(FP64, 3, BED_NO_REG), BED_ARITH(SFU, 4, BED_NO_REG)),
            1, 1);
    for (uint32_t k = 0; k < 4; k++) assert_int_equal(bed_cyc(&b, 0, 0, k), k);
    bed_close(&b);
}

BED_TEST(a_branch_and_a_parameter_have_their_latency)
{
    struct bed b;
    bed_open(&b, "sm.branch_latency_cyc=7;sm.const_latency_cyc=9");
    const struct bed_op param = {
        .class = WARP_CLASS_LOAD, .space = WARP_SPACE_PARAM, .bytes = 8, .dst = 1, .src = BED_NO_REG};
    bed_run(&b, ENDS(BED_ARITH(CONTROL, BED_NO_REG, BED_NO_REG), param, BED_USE(1)), 1, 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), 7);
    assert_int_equal(bed_cyc(&b, 0, 0, 2), 7 + 9);
    bed_close(&b);
}

/* A result may not be overtaken by a later, quicker one of the same register. */
BED_TEST(a_register_is_written_in_order)
{
    struct bed b;
    bed_open(&b, NULL);
    bed_run(&b, ENDS(BED_ARITH(SFU, 1, BED_NO_REG), BED_ARITH(FP32, 1, BED_NO_REG)), 1, 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), 100);
    bed_close(&b);
}

/* ---- textures ---- */

#define FETCH(base_, dst_, touch_, apart_) \
    { \
        .class = WARP_CLASS_TEXTURE, .base = (base_), .dst = (dst_), .src = BED_NO_REG, .touch = (touch_), \
        .apart = (apart_) \
    }

/* A fetch that hits takes what a load takes and the time of the unit; the next one waits for the port. */
BED_TEST(a_texture_fetch_goes_through_the_l1_and_its_unit)
{
    struct bed b;
    bed_open(&b, "unit.texture_latency_cyc=50;unit.texture_interval_cyc=9;l1.latency_cyc=28");
    const struct bed_op warm = BED_LOAD(A, 1);
    bed_run(&b, ENDS(warm, BED_USE(1), FETCH(A, 2, 1, 0), FETCH(A, 3, 1, 0), BED_USE(2), BED_USE(3)), 1, 1);
    const uint64_t first = bed_cyc(&b, 0, 0, 2);
    assert_int_equal(bed_cyc(&b, 0, 0, 3), first + 9);
    assert_int_equal(bed_cyc(&b, 0, 0, 4), first + 28 + 50);
    assert_int_equal(bed_cyc(&b, 0, 0, 5), first + 9 + 28 + 50);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.l1.hits, 2);
    assert_int_equal(s.l1.misses, 1);
    bed_close(&b);
}

/* Four texels a lane, two and two in rows far apart: the lines of both rows, each once. */
BED_TEST(texels_of_all_lanes_are_coalesced)
{
    struct bed b;
    bed_open(&b, NULL);
    bed_run(&b, ENDS(FETCH(A, 1, 2, 4096), BED_USE(1)), 1, 1);
    assert_int_equal(bed_stats(&b).sm.line_accesses, 2);
    bed_close(&b);
}

/* The most that a fetch can touch: every texel in a line of its own, one line per cycle. */
BED_TEST(a_fetch_may_touch_512_lines)
{
    struct bed b;
    bed_open(&b, "unit.texture_latency_cyc=50;l1.size=128 KiB;l1.ways=8;l1.mshrs=1024;l1.mshr_merges=8");
    const struct bed_op far = {.class = WARP_CLASS_TEXTURE,
                               .base = A,
                               .dst = 1,
                               .src = BED_NO_REG,
                               .touch = 16,
                               .apart = 128,
                               .stride = 2048};
    const struct bed_op again = {.class = WARP_CLASS_TEXTURE,
                                 .base = A,
                                 .dst = 2,
                                 .src = 1,
                                 .touch = 16,
                                 .apart = 128,
                                 .stride = 2048};
    bed_run(&b, ENDS(far, again, BED_USE(2)), 1, 1);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.sm.line_accesses, 1024);
    assert_int_equal(s.l1.hits, 512);
    assert_int_equal(bed_cyc(&b, 0, 0, 2), bed_cyc(&b, 0, 0, 1) + 511 + b.machine.config.l1.latency_cyc + 50);
    bed_close(&b);
}

BED_TEST(a_fetch_outside_of_its_image_touches_no_memory)
{
    struct bed b;
    bed_open(&b, "unit.texture_latency_cyc=50");
    bed_run(&b, ENDS(FETCH(A, 1, 0, 0), BED_USE(1)), 1, 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), 50);
    assert_int_equal(bed_stats(&b).sm.line_accesses, 0);
    bed_close(&b);
}

/* ---- shared memory ---- */

#define SHARED(class_, dst_, stride_) \
    { \
        .class = WARP_CLASS_##class_, .space = WARP_SPACE_SHARED, .bytes = 4, .dst = (dst_), \
        .src = BED_NO_REG, .stride = (stride_) \
    }

BED_TEST(shared_memory_serves_conflicts_one_after_the_other)
{
    struct bed b;
    bed_open(&b, "sm.shared_latency_cyc=24");
    bed_run(&b,
            ENDS(SHARED(LOAD, 1, 4), SHARED(LOAD, 2, 128), SHARED(LOAD, 3, 4), BED_USE(1), BED_USE(2),
                 BED_USE(3)),
            1, 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 2), 1 + 32); /* the pipe is taken for 32 cycles */
    assert_int_equal(bed_cyc(&b, 0, 0, 3), 33 + 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 4), 1 + 24 + 31);
    assert_int_equal(bed_cyc(&b, 0, 0, 5), 58); /* 33 + 24 is 57, the port is taken by the use before */
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.sm.shared_instructions, 3);
    assert_int_equal(s.sm.shared_conflict_cycles, 31);
    bed_close(&b);
}

/* ---- loads: latency is the sum of the parts ---- */

BED_TEST(a_load_takes_the_sum_of_its_way_from_dram_llc_and_l1)
{
    struct bed b;
    bed_open(&b, NULL);
    const struct bed_op *way = ENDS(BED_LOAD(A, 1), BED_USE(1), BED_LOAD(A, 2), BED_USE(2));
    bed_run(&b, way, 1, 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), dram_load_cyc(&b));
    const uint64_t again = bed_cyc(&b, 0, 0, 2);
    assert_int_equal(bed_cyc(&b, 0, 0, 3) - again, b.machine.config.l1.latency_cyc);
    bed_run(&b, way, 1, 1); /* a new kernel: the L1 is empty, the LLC is not */
    assert_int_equal(bed_cyc(&b, 0, 0, 1), llc_load_cyc(&b));
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.l1.hits, 2);
    assert_int_equal(s.l1.misses_cold, 1);
    assert_int_equal(s.l1.misses_coherence, 1);
    assert_int_equal(s.llc.read_misses, 1);
    assert_int_equal(s.llc.read_hits, 1);
    assert_int_equal(s.dram.reads, 2);
    bed_close(&b);
}

BED_TEST(lines_of_one_load_follow_each_other_by_a_cycle)
{
    struct bed b;
    for (uint32_t ports = 1; ports <= 2; ports++) {
        bed_open(&b, ports == 1 ? NULL : "l1.lines_per_cyc=2");
        bed_run(&b,
                ENDS(BED_LOAD(A, 1, .stride = 128), BED_USE(1), BED_LOAD(A, 2, .stride = 128), BED_USE(2)), 1,
                1);
        assert_int_equal(bed_cyc(&b, 0, 0, 3) - bed_cyc(&b, 0, 0, 2),
                         b.machine.config.l1.latency_cyc + 32 / ports - 1);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.sm.line_accesses, 64);
        assert_int_equal(s.l1.hits, 32);
        bed_close(&b);
    }
}

/* ---- MSHRs ---- */

BED_TEST(loads_of_a_line_on_its_way_merge_up_to_the_limit)
{
    struct bed b;
    bed_open(&b, "l1.mshr_merges=2");
    bed_run(&b, ENDS(BED_LOAD(A, 1), BED_USE(1)), 4, 1);
    struct stats s = bed_stats(&b);
    assert_int_equal(s.l1.misses, 1);
    assert_int_equal(s.l1.merged, 1);
    assert_int_equal(s.l1.hits, 2); /* stopped until the line came */
    assert_int_equal(s.sm.requests_sent, 1);
    assert_true(s.l1.wait_mshr > 100);
    bed_close(&b);
    bed_open(&b, "l1.mshr_merges=4");
    bed_run(&b, ENDS(BED_LOAD(A, 1), BED_USE(1)), 4, 1);
    s = bed_stats(&b);
    assert_int_equal(s.l1.merged, 3);
    assert_int_equal(s.l1.wait_mshr, 0);
    bed_close(&b);
}

BED_TEST(with_one_mshr_a_second_line_is_asked_for_when_the_first_has_come)
{
    struct bed b;
    bed_open(&b, "l1.mshrs=1");
    const struct bed_op *both = ENDS(BED_LOAD(A, 1), BED_LOAD(B, 2), BED_USE(1), BED_USE(2));
    bed_run(&b, both, 1, 1);
    bed_run(&b, both, 1, 1); /* both are in the LLC now */
    const uint64_t one = llc_load_cyc(&b);
    assert_int_equal(bed_cyc(&b, 0, 0, 2), one);
    /* the second goes in the cycle in which the first arrives: fill_latency before its use */
    assert_int_equal(bed_cyc(&b, 0, 0, 3), one - b.machine.config.l1.fill_latency_cyc - 1 + one);
    assert_int_equal(bed_stats(&b).l1.mshr_peak, 1);
    bed_close(&b);
    bed_open(&b, "l1.mshrs=2");
    bed_run(&b, both, 1, 1);
    bed_run(&b, both, 1, 1);
    /* nine flits of the first reply are before the second's */
    assert_in_range(bed_cyc(&b, 0, 0, 3), one + 1, one + 9);
    bed_close(&b);
}

/* All ways of the only set wait for their lines: with on_miss the next access stops, with on_fill it goes on.
 */
BED_TEST(a_set_without_a_free_way_stops_misses_only_when_places_are_kept)
{
    for (int on_fill = 0; on_fill < 2; on_fill++) {
        struct bed b;
        bed_open(&b, on_fill ? "l1.size=256 B;l1.ways=2;l1.allocate=on_fill"
                             : "l1.size=256 B;l1.ways=2;l1.allocate=on_miss");
        bed_run(&b, ENDS(BED_LOAD(A, 1), BED_LOAD(B, 2), BED_LOAD(A + 0x40000, 3), BED_USE(3)), 1, 1);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.l1.misses, 3);
        if (on_fill)
            assert_int_equal(s.l1.wait_way, 0);
        else
            assert_true(s.l1.wait_way > 100);
        assert_int_equal(s.l1.evictions, 1);
        bed_close(&b);
    }
}

/* ---- stores and the L1 ---- */

BED_TEST(a_store_throws_the_line_out_or_updates_it)
{
    for (int update = 0; update < 2; update++) {
        struct bed b;
        bed_open(&b, update ? "l1.write_hit=update" : "l1.write_hit=evict");
        bed_run(&b, ENDS(BED_LOAD(A, 1), BED_USE(1), BED_STORE(A, 1), BED_LOAD(A, 2), BED_USE(2)), 1, 1);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.l1.write_hits, 1);
        assert_int_equal(s.l1.hits, update);
        assert_int_equal(s.l1.misses_write_evict, !update);
        bed_close(&b);
    }
}

BED_TEST(a_store_makes_a_line_on_its_way_stale)
{
    static const char *const settings[] = {
        "l1.allocate=on_miss;l1.write_hit=evict", "l1.allocate=on_fill;l1.write_hit=evict",
        "l1.allocate=on_miss;l1.write_hit=update", "l1.allocate=on_fill;l1.write_hit=update"};
    for (int k = 0; k < 4; k++) {
        struct bed b;
        bed_open(&b, settings[k]);
        bed_run(&b,
                ENDS(BED_LOAD(A, 1), BED_STORE(A, BED_NO_REG), BED_LOAD(A, 2), BED_USE(1), BED_USE(2),
                     BED_LOAD(A, 3), BED_USE(3)),
                1, 1);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.l1.misses, 2); /* the second load does not merge with what was read before */
        assert_int_equal(s.l1.misses_cold, 1);
        assert_int_equal(s.l1.misses_write_evict, 1);
        assert_int_equal(s.l1.merged, 0);
        assert_int_equal(s.l1.hits, 1); /* what the second brought is kept */
        bed_close(&b);
    }
}

/* The first load's line must not be kept: it was read before the store. Nobody else asks for it. */
BED_TEST(a_stale_line_serves_who_waited_and_is_not_kept)
{
    for (int on_fill = 0; on_fill < 2; on_fill++) {
        struct bed b;
        bed_open(&b, on_fill ? "l1.allocate=on_fill" : "l1.allocate=on_miss");
        bed_run(&b, ENDS(BED_LOAD(A, 1), BED_STORE(A, BED_NO_REG), BED_USE(1), BED_LOAD(A, 2), BED_USE(2)), 1,
                1);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.l1.hits, 0);
        assert_int_equal(s.l1.misses, 2);
        bed_close(&b);
    }
}

#define GPU_FENCE \
    { \
        .class = WARP_CLASS_FENCE, .flags = WARP_F_ACQUIRE | WARP_F_RELEASE, .scope = WARP_SCOPE_GPU, \
        .dst = BED_NO_REG, .src = BED_NO_REG \
    }

BED_TEST(a_fence_makes_lines_here_and_on_their_way_stale)
{
    struct bed b;
    bed_open(&b, NULL);
    bed_run(&b,
            ENDS(BED_LOAD(B, 3), BED_USE(3), BED_LOAD(A, 1), GPU_FENCE, BED_LOAD(A, 2), BED_USE(2),
                 BED_LOAD(B, 4), BED_USE(4)),
            1, 1);
    struct stats s = bed_stats(&b);
    assert_int_equal(s.l1.misses, 4);
    assert_int_equal(s.l1.misses_coherence, 2);
    assert_int_equal(s.l1.hits, 0);
    bed_close(&b);
    bed_open(&b, "sm.fence_acquire=nothing");
    bed_run(&b, ENDS(BED_LOAD(B, 3), BED_USE(3), GPU_FENCE, BED_LOAD(B, 4), BED_USE(4)), 1, 1);
    s = bed_stats(&b);
    assert_int_equal(s.l1.hits, 1);
    bed_close(&b);
}

BED_TEST(a_fence_waits_for_the_stores_of_its_warp_and_no_longer)
{
    struct bed b;
    bed_open(&b, NULL);
    bed_run(&b, ENDS(BED_STORE(A, BED_NO_REG), GPU_FENCE, BED_ARITH(INT, 1, BED_NO_REG)), 1, 1);
    const uint64_t store = 1 + request_cyc(&b, 16) + b.machine.config.llc.latency_cyc + reply_cyc(&b, 8);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), store + 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 2), store + 2);
    assert_int_equal(bed_stats(&b).sm.stall_fence, store - 1); /* the cycle after the reply it knows when */
    bed_close(&b);
    const struct bed_op block_fence = {.class = WARP_CLASS_FENCE,
                                       .flags = WARP_F_RELEASE,
                                       .scope = WARP_SCOPE_CTA,
                                       .dst = BED_NO_REG,
                                       .src = BED_NO_REG};
    bed_open(&b, NULL);
    bed_run(&b, ENDS(BED_STORE(A, BED_NO_REG), block_fence), 1, 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), 1);
    bed_close(&b);
}

/* Acknowledgements of warps that have ended must not count for the next warp in their slot. */
BED_TEST(a_fence_is_not_fooled_by_stores_of_blocks_before)
{
    struct bed b;
    bed_open(&b, "sm.block_slots=1;net.link_latency_cyc=4000;net.vc_flits=4096;sm.stores=1000");
    const struct bed_op store = BED_STORE(0x10000, BED_NO_REG, .by_block = 128);
    struct bed_op fence = GPU_FENCE;
    fence.from_block = 260; /* so many do not wait: their stores are on the way when this one's is sent */
    bed_run(&b, ENDS(store, fence), 1, 261);
    assert_true(bed_cyc(&b, 260, 0, 0) < 8000);
    const uint64_t round = 1 + request_cyc(&b, 16) + b.machine.config.llc.latency_cyc + reply_cyc(&b, 8);
    assert_true(bed_cyc(&b, 260, 0, 1) - bed_cyc(&b, 260, 0, 0) > round);
    bed_close(&b);
}

BED_TEST(loads_past_the_l1_always_go_to_the_slice)
{
    struct bed b;
    bed_open(&b, NULL);
    bed_run(&b, ENDS(BED_LOAD(A, 1), BED_USE(1), BED_LOAD(A, 2, .flags = WARP_F_STRONG), BED_USE(2)), 1, 1);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.l1.bypassed, 1);
    assert_int_equal(s.sm.requests_sent, 2);
    bed_close(&b);
}

/* ---- waiting ---- */

BED_TEST(a_barrier_lets_all_go_some_cycles_after_the_last_arrival)
{
    struct bed b;
    static const struct bed_op late[] = {BED_ARITH(INT_DIV, 1, BED_NO_REG), BED_USE(1), BED_BARRIER,
                                         BED_ARITH(FP32, 2, BED_NO_REG), BED_END};
    static const struct bed_op early[] = {BED_BARRIER, BED_ARITH(FP32, 2, BED_NO_REG), BED_END};
    bed_open(&b, "sm.schedulers=2;sm.barrier_latency_cyc=5");
    b.of_warp[0] = late;
    b.of_warp[1] = early;
    bed_run(&b, early, 2, 1);
    const uint64_t last = bed_cyc(&b, 0, 0, 2);
    assert_int_equal(last, 145 + 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 3), last + 5);
    assert_int_equal(bed_cyc(&b, 0, 1, 1), last + 5);
    bed_close(&b);
}

BED_TEST(sleep_lasts_although_a_load_comes_back_before_its_end)
{
    struct bed b;
    const struct bed_op sleep = {
        .class = WARP_CLASS_WAIT, .sleep_ns = 5000, .dst = BED_NO_REG, .src = BED_NO_REG};
    bed_open(&b, NULL);
    bed_run(&b, ENDS(BED_LOAD(A, 1), sleep, BED_USE(1)), 1, 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 2) - bed_cyc(&b, 0, 0, 1), 5001); /* 1 GHz */
    bed_close(&b);
}

BED_TEST(a_wait_for_copies_waits_for_all_of_them)
{
    struct bed b;
    const struct bed_op wait = {.class = WARP_CLASS_WAIT, .dst = BED_NO_REG, .src = BED_NO_REG};
    bed_open(&b, NULL);
    bed_run(&b,
            ENDS(BED_MEMORY(COPY_ASYNC, A, BED_NO_REG, BED_NO_REG),
                 BED_MEMORY(COPY_ASYNC, B, BED_NO_REG, BED_NO_REG), BED_ARITH(FP32, 1, BED_NO_REG), wait),
            1, 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 2), 2); /* nobody else waits */
    assert_true(bed_cyc(&b, 0, 0, 3) > dram_load_cyc(&b));
    bed_close(&b);
}

/* ---- schedulers ---- */

/* Warps in the order of issue of a run with one scheduler, as text. */
static const char *order(struct bed *b, char *text)
{
    uint32_t k = 0;
    for (; k < b->event_count && k < 60; k++) text[k] = (char)('0' + b->events[k].warp);
    text[k] = 0;
    return text;
}

#define FP(dst_) BED_ARITH(FP32, dst_, BED_NO_REG)

BED_TEST(gto_stays_with_a_warp_until_it_stalls_then_takes_the_oldest)
{
    struct bed b;
    char text[64];
    bed_open(&b, "sm.scheduler=gto;" FAST_PORTS);
    bed_run(&b, ENDS(FP(1), FP(2), BED_ARITH(FP32, 3, 2), FP(4)), 3, 1);
    /* 0: two, waits until cycle 5; 1: two, waits until 7; 2 begins at 4, goes on at 5 although 0 is ready */
    assert_string_equal(order(&b, text), "001122000111222");
    bed_close(&b);
}

BED_TEST(round_robin_takes_the_next_warp_each_time)
{
    struct bed b;
    char text[64];
    bed_open(&b, "sm.scheduler=lrr;" FAST_PORTS);
    bed_run(&b, ENDS(FP(1), FP(2), FP(3)), 3, 1);
    assert_string_equal(order(&b, text), "012012012012");
    bed_close(&b);
}

BED_TEST(two_level_goes_round_in_its_active_set)
{
    struct bed b;
    char text[64];
    bed_open(&b, "sm.scheduler=two_level;sm.active_warps=2;" FAST_PORTS);
    bed_run(&b, ENDS(FP(1), FP(2), FP(3)), 3, 1);
    assert_string_equal(order(&b, text), "010101012222");
    bed_close(&b);
    bed_open(&b, "sm.scheduler=two_level;sm.active_warps=1;" FAST_PORTS);
    /* a warp that waits for memory makes room; the other keeps the place as nobody else asks for it */
    bed_run(&b, ENDS(BED_LOAD(A, 1), BED_USE(1)), 2, 1);
    assert_string_equal(order(&b, text), "011100");
    bed_close(&b);
}

/* ---- where cycles went ---- */

BED_TEST(every_scheduler_cycle_has_one_reason)
{
    struct bed b;
    bed_open(&b, NULL);
    bed_run(&b,
            ENDS(BED_ARITH(SFU, 1, BED_NO_REG), BED_USE(1), BED_LOAD(A, 2), BED_USE(2),
                 BED_ARITH(TENSOR, 3, BED_NO_REG), BED_ARITH(TENSOR, 4, BED_NO_REG)),
            1, 1);
    const struct stats s = bed_stats(&b);
    const struct config *c = &b.machine.config;
    assert_int_equal(s.sm.issue_cycles, 7);
    assert_int_equal(s.sm.stall_structural, c->unit.tensor_interval_cyc - 1);
    /* the last two cycles of a load are spent knowing when its value can be used */
    assert_int_equal(s.sm.stall_memory, dram_load_cyc(&b) - 1 - c->l1.fill_latency_cyc);
    /* start latency of the block, SFU, the integer port before the load is another, the load's fill */
    assert_int_equal(s.sm.stall_dependence,
                     c->unit.sfu_latency_cyc - 1 + c->l1.fill_latency_cyc + c->sm.start_latency_cyc);
    assert_int_equal(s.sm.scheduler_cycles, b.end_cyc + 1 - b.start_cyc);
    assert_int_equal(s.sm.stall_barrier + s.sm.stall_fence + s.sm.stall_sleep, 0);
    assert_int_equal(s.sm.scheduler_cycles, s.sm.issue_cycles + s.sm.stall_structural + s.sm.stall_memory +
                                                s.sm.stall_dependence + s.sm.stall_no_warp);
    bed_close(&b);
}

/* ---- residency ---- */

BED_TEST(blocks_that_fit_are_limited_by_the_scarcest)
{
    static const struct {
        uint32_t warps, registers;
        uint64_t shared;
        uint32_t fit;
        const char *why;
    } cases[] = {
        {1, 512, 0, 32, "sm.block_slots"},        {4, 2048, 0, 16, "sm.warps"},
        {4, 8192, 0, 8, "sm.registers"},          {1, 512, 32 * 1024, 3, "sm.shared_size"},
        {1, 512, 97 * 1024, 0, "sm.shared_size"}, {4, 131072, 0, 0, "sm.registers"},
    };
    struct bed b;
    bed_open(&b, NULL);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct sm_kernel kernel = {.warps_per_block = cases[k].warps,
                                         .registers_per_block = cases[k].registers,
                                         .shared_per_block = cases[k].shared};
        const char *why = "";
        assert_int_equal(sm_fitting_blocks(b.system->sm_spec, &kernel, &why), cases[k].fit);
        assert_string_equal(why, cases[k].why);
    }
    bed_close(&b);
}

/* Blocks that sleep together: so many start before the first ends. */
BED_TEST(as_many_blocks_are_resident_as_fit)
{
    const struct bed_op sleep = {
        .class = WARP_CLASS_WAIT, .sleep_ns = 5000, .dst = BED_NO_REG, .src = BED_NO_REG};
    struct bed b;
    bed_open(&b, NULL);
    b.kernel.shared_per_block = 32 * 1024;
    bed_run(&b, ENDS(sleep), 2, 7);
    uint32_t first_wave = 0, second_wave = 0;
    for (uint64_t block = 0; block < 7; block++) {
        const uint64_t start = bed_cyc(&b, block, 0, 0);
        first_wave += start < 5000;
        second_wave += start >= 5000 && start < 10000;
    }
    assert_int_equal(first_wave, 3);
    assert_int_equal(second_wave, 3);
    assert_int_equal(bed_stats(&b).sm.blocks_ended, 7);
    bed_close(&b);
}

/* Early exits leave the active set: others must come to their turn. */
BED_TEST(warps_that_end_leave_the_active_set)
{
    struct bed b;
    bed_open(&b, "sm.scheduler=two_level;sm.active_warps=1");
    static const struct bed_op ends[] = {BED_END}, waits[] = {BED_ARITH(FP32, 1, BED_NO_REG), BED_END};
    b.of_warp[0] = b.of_warp[1] = ends;
    bed_run(&b, waits, 4, 2);
    assert_int_equal(bed_stats(&b).sm.blocks_ended, 2);
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_has_its_latency_and_its_interval),
        cmocka_unit_test(units_take_instructions_in_the_same_time),
        cmocka_unit_test(a_branch_and_a_parameter_have_their_latency),
        cmocka_unit_test(a_register_is_written_in_order),
        cmocka_unit_test(a_texture_fetch_goes_through_the_l1_and_its_unit),
        cmocka_unit_test(texels_of_all_lanes_are_coalesced),
        cmocka_unit_test(a_fetch_may_touch_512_lines),
        cmocka_unit_test(a_fetch_outside_of_its_image_touches_no_memory),
        cmocka_unit_test(shared_memory_serves_conflicts_one_after_the_other),
        cmocka_unit_test(a_load_takes_the_sum_of_its_way_from_dram_llc_and_l1),
        cmocka_unit_test(lines_of_one_load_follow_each_other_by_a_cycle),
        cmocka_unit_test(loads_of_a_line_on_its_way_merge_up_to_the_limit),
        cmocka_unit_test(with_one_mshr_a_second_line_is_asked_for_when_the_first_has_come),
        cmocka_unit_test(a_set_without_a_free_way_stops_misses_only_when_places_are_kept),
        cmocka_unit_test(a_store_throws_the_line_out_or_updates_it),
        cmocka_unit_test(a_store_makes_a_line_on_its_way_stale),
        cmocka_unit_test(a_stale_line_serves_who_waited_and_is_not_kept),
        cmocka_unit_test(a_fence_makes_lines_here_and_on_their_way_stale),
        cmocka_unit_test(a_fence_waits_for_the_stores_of_its_warp_and_no_longer),
        cmocka_unit_test(a_fence_is_not_fooled_by_stores_of_blocks_before),
        cmocka_unit_test(loads_past_the_l1_always_go_to_the_slice),
        cmocka_unit_test(a_barrier_lets_all_go_some_cycles_after_the_last_arrival),
        cmocka_unit_test(sleep_lasts_although_a_load_comes_back_before_its_end),
        cmocka_unit_test(a_wait_for_copies_waits_for_all_of_them),
        cmocka_unit_test(gto_stays_with_a_warp_until_it_stalls_then_takes_the_oldest),
        cmocka_unit_test(round_robin_takes_the_next_warp_each_time),
        cmocka_unit_test(two_level_goes_round_in_its_active_set),
        cmocka_unit_test(every_scheduler_cycle_has_one_reason),
        cmocka_unit_test(blocks_that_fit_are_limited_by_the_scarcest),
        cmocka_unit_test(as_many_blocks_are_resident_as_fit),
        cmocka_unit_test(warps_that_end_leave_the_active_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
