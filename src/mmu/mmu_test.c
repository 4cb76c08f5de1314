/* TLBs, walks, page faults: exact cycles and counts, through the loads of SMs. */
#include "system_testbed.h"

#define ENDS(...) ((const struct bed_op[]){__VA_ARGS__, BED_END})
#define TLB       "mmu.mode=tlb;map.page_size=4 KiB;"

enum { PAGE = 4096 };
static const uint64_t A = 0x100000, B = 0x200000;

static uint64_t key_of(uint64_t address) { return pages_key(0, address / PAGE); }

/* Cycles from issue to use of a load that hits the LLC and the L1 TLB. */
static uint64_t llc_load_cyc(struct bed *b)
{
    const struct config *c = &b->machine.config;
    return 1 + net_zero_load_cyc(b->system->fabrics->request.net, 0, 0, 8) + c->llc.latency_cyc +
           net_zero_load_cyc(b->system->fabrics->reply.net, 0, 0, 136) + c->l1.fill_latency_cyc;
}

/* Cycles from an L1 TLB miss to the page at the SM, on an L2 TLB hit: one cycle to the L2 TLB. */
static uint64_t l2_cyc(struct bed *b) { return 1 + b->machine.config.mmu.l2_latency_cyc; }

/* The same for a walk whose page table entry hits the LLC: path to the slice, hit latency, path back (the
 * reply port takes a cycle), and one cycle to the SM. */
static uint64_t walk_cyc(struct bed *b)
{
    const struct config *c = &b->machine.config;
    return l2_cyc(b) + c->mmu.walk_cache_cyc + c->mmu.walk_latency_cyc + c->llc.latency_cyc + 1 +
           c->mmu.walk_latency_cyc + 1;
}

BED_TEST(a_page_costs_the_sum_of_its_way_through_the_tlbs)
{
    struct bed b;
    bed_open(&b, TLB "mmu.l1_entries=1;llc.latency_cyc=100;mmu.walk_latency_cyc=30");
    const struct bed_op *one = ENDS(BED_LOAD(A, 1), BED_USE(1)), *other = ENDS(BED_LOAD(B, 1), BED_USE(1));
    bed_run(&b, one, 1, 1);
    mmu_shootdown(b.system->mmus[0], key_of(A));
    bed_run(&b, one, 1, 1); /* walks again; entry and data are in the LLC */
    assert_int_equal(bed_cyc(&b, 0, 0, 1), walk_cyc(&b) + llc_load_cyc(&b));
    bed_run(&b, one, 1, 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), llc_load_cyc(&b)); /* in the L1 TLB */
    bed_run(&b, other, 1, 1);                                 /* takes the only entry */
    bed_run(&b, one, 1, 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), l2_cyc(&b) + llc_load_cyc(&b));
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.mmu.l1_hits, 1);
    assert_int_equal(s.mmu.l1_misses, 4);
    assert_int_equal(s.mmu.l2_hits, 1);
    assert_int_equal(s.mmu.walks, 3);
    assert_int_equal(s.mmu.walks_done, 3);
    assert_int_equal(s.llc.walks, 3);
    assert_int_equal(s.mmu.pages_placed, 2);
    assert_int_equal(s.mmu.shootdowns, 1);
    bed_close(&b);
}

/* When the page arrives, the waiting accesses are served one per cycle, as after a TLB hit. */
BED_TEST(accesses_that_wait_for_a_page_merge)
{
    struct bed b;
    bed_open(&b, TLB);
    bed_run(&b, ENDS(BED_LOAD(A, 1, .stride = 128), BED_USE(1)), 1, 1);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.mmu.l1_misses, 1);
    assert_int_equal(s.mmu.l1_merged, 31);
    assert_int_equal(s.mmu.walks, 1);
    bed_close(&b);
}

BED_TEST(sms_that_wait_for_a_page_share_a_walk)
{
    struct bed b;
    bed_open(&b, TLB "partition.sms=3;sm.block_slots=1");
    bed_run(&b, ENDS(BED_LOAD(A, 1), BED_USE(1)), 1, 3);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.mmu.l1_misses, 3);
    assert_int_equal(s.mmu.l2_merged, 2);
    assert_int_equal(s.mmu.walks, 1);
    assert_int_equal(s.mmu.answers, 3);
    bed_close(&b);
}

/* Four SMs look up a page in the L2 TLB in one cycle; each has its data in its L1. */
BED_TEST(the_l2_tlb_serves_as_many_as_it_has_ports)
{
    for (uint32_t ports = 1; ports <= 4; ports *= 2) {
        char settings[128];
        struct bed b;
        uint32_t at[4] = {0};
        (void)snprintf(settings, sizeof settings,
                       TLB "partition.sms=4;sm.block_slots=1;mmu.l1_entries=1;mmu.l2_ports=%u", ports);
        bed_open(&b, settings);
        /* A, then another page, then A again: line in the L1, page in the L2 TLB; a barrier of time between
         */
        const struct bed_op sleep = {
            .class = WARP_CLASS_WAIT, .sleep_ns = 20000, .dst = BED_NO_REG, .src = BED_NO_REG};
        const struct bed_op wait = {
            .class = WARP_CLASS_WAIT, .sleep_ns = 30000, .dst = BED_NO_REG, .src = BED_NO_REG};
        bed_run(&b, ENDS(BED_LOAD(A, 1), sleep, BED_LOAD(B, 2), wait, BED_LOAD(A, 3), BED_USE(3)), 1, 4);
        for (uint32_t k = 0; k < 4; k++) {
            const uint64_t took = bed_cyc(&b, k, 0, 5) - bed_cyc(&b, k, 0, 4);
            const uint64_t extra = took - l2_cyc(&b) - b.machine.config.l1.latency_cyc;
            assert_true(extra < 4);
            at[extra]++;
        }
        for (uint32_t k = 0; k < 4 / ports; k++) assert_int_equal(at[k], ports);
        bed_close(&b);
    }
}

BED_TEST(pages_wait_for_a_free_walker)
{
    struct bed b;
    bed_open(&b, TLB "mmu.walkers=1");
    const struct bed_op *both = ENDS(BED_LOAD(A, 1), BED_LOAD(B, 2), BED_USE(1), BED_USE(2));
    bed_run(&b, both, 1, 1);
    mmu_shootdown(b.system->mmus[0], key_of(A));
    mmu_shootdown(b.system->mmus[0], key_of(B));
    const struct stats before = bed_stats(&b);
    bed_run(&b, both, 1, 1);
    const struct stats s = bed_stats(&b);
    const struct config *c = &b.machine.config;
    const uint64_t walker = c->mmu.walk_cache_cyc + 2 * c->mmu.walk_latency_cyc + c->llc.latency_cyc + 1;
    assert_int_equal(s.mmu.walk_cycles - before.mmu.walk_cycles, 2 * walker);
    assert_int_equal(s.mmu.walk_wait_cycles - before.mmu.walk_wait_cycles,
                     walker - 1); /* its request comes a cycle later */
    assert_int_equal(bed_cyc(&b, 0, 0, 2), walk_cyc(&b) + llc_load_cyc(&b));
    assert_int_equal(bed_cyc(&b, 0, 0, 3), walk_cyc(&b) + walker + llc_load_cyc(&b));
    bed_close(&b);
}

/* A reply of the L2 TLB in flight must not delay a walk that ends before it. */
BED_TEST(pages_arrive_in_order_of_time)
{
    uint64_t alone = 0;
    for (uint32_t when = 0; when < 200; when++) {
        struct bed b;
        bed_open(&b, TLB "mmu.l1_entries=2;mmu.l2_latency_cyc=50");
        /* B and C: in the L2 TLB, B no longer in the L1 TLB */
        bed_run(&b,
                ENDS(BED_LOAD(B, 1), BED_USE(1), BED_LOAD(B + PAGE, 1), BED_USE(1), BED_LOAD(B + 2 * PAGE, 1),
                     BED_USE(1), BED_LOAD(A, 1), BED_USE(1)),
                1, 1);
        mmu_shootdown(b.system->mmus[0], key_of(A));
        const struct bed_op sleep = {
            .class = WARP_CLASS_WAIT, .sleep_ns = when, .dst = BED_NO_REG, .src = BED_NO_REG};
        static const struct bed_op first[] = {BED_LOAD(0x100000, 1), BED_USE(1), BED_END};
        const struct bed_op *second = ENDS(sleep, BED_LOAD(B, 2), BED_USE(2));
        b.of_warp[0] = first;
        bed_run(&b, second, 2, 1);
        /* the walk's load is held up by at most the few cycles for which the other warp takes the L1 */
        const uint64_t took = bed_cyc(&b, 0, 0, 1);
        if (!when) alone = walk_cyc(&b) + llc_load_cyc(&b);
        assert_in_range(took, alone, alone + 9);
        bed_close(&b);
    }
}

BED_TEST(a_page_fault_takes_its_time_and_the_handler_has_a_limit)
{
    struct bed b;
    const struct bed_op *both = ENDS(BED_LOAD(A, 1), BED_LOAD(B, 2), BED_USE(1), BED_USE(2));
    bed_open(&b, TLB "mmu.prefault=false;mmu.fault=2 us;mmu.faults=1");
    bed_run(&b, both, 1, 1);
    assert_in_range(bed_cyc(&b, 0, 0, 2), 2000, 2600);
    assert_in_range(bed_cyc(&b, 0, 0, 3), 4000, 4600);
    assert_int_equal(bed_stats(&b).mmu.faults, 2);
    bed_run(&b, both, 1, 1); /* placed now */
    assert_int_equal(bed_stats(&b).mmu.faults, 2);
    bed_close(&b);
    bed_open(&b, TLB "mmu.prefault=false;mmu.fault=2 us;mmu.faults=2");
    bed_run(&b, both, 1, 1);
    assert_in_range(bed_cyc(&b, 0, 0, 3), 2000, 2600);
    bed_close(&b);
}

BED_TEST(with_one_page_waited_for_all_others_come_after_it)
{
    struct bed b;
    bed_open(&b, TLB "mmu.l1_misses=1;mmu.l1_waiting=1");
    bed_run(&b, ENDS(BED_LOAD(A, 1, .stride = PAGE, .mask = 0xff), BED_USE(1)), 4, 1);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.mmu.l1_misses, 8);
    assert_true(s.sm.stall_page_busy > 1000);
    bed_close(&b);
}

BED_TEST(address_spaces_have_frames_of_their_own)
{
    struct bed b;
    bed_open(&b, TLB);
    const uint64_t one = pages_key(0, 5), other = pages_key(1, 5);
    mmu_touch(b.system->mmus[0], 0, one);
    mmu_touch(b.system->mmus[0], 0, other);
    assert_int_not_equal(mmu_frame(b.system->mmus[0], 0, one), mmu_frame(b.system->mmus[0], 0, other));
    assert_int_equal(mmu_frame(b.system->mmus[0], 0, one) % PAGE, 0);
    bed_close(&b);
}

/* The lookup that SMs in windows use. */
BED_TEST(the_slice_of_a_line_is_that_of_its_page_and_of_its_place_there)
{
    static const char *const maps[] = {"map.kind=fixed_channel;map.page_size=4 KiB",
                                       "map.kind=interleaved;map.page_size=64 KiB",
                                       "map.kind=pae;map.page_size=2 MiB"};
    for (size_t k = 0; k < sizeof maps / sizeof *maps; k++) {
        struct bed b;
        bed_open(&b, maps[k]);
        const struct pages *const t = mmu_pages(b.system->mmus[0]);
        const struct page_cache *const cache = mmu_page_cache(b.system->mmus[0], 0);
        const uint32_t lines_log2 = mmu_page_log2(b.system->mmus[0]) - LINE_LOG2;
        for (uint64_t line = 0; line < (uint64_t)3 << lines_log2; line++) {
            const uint64_t key = pages_key(0, line >> lines_log2);
            mmu_touch(b.system->mmus[0], 0, key);
            assert_int_equal(pages_slice_in(t, cache->slice[mmu_page_slot(key)], line),
                             mmu_home(b.system->mmus[0], 0, 0, line).slice);
        }
        bed_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_costs_the_sum_of_its_way_through_the_tlbs),
        cmocka_unit_test(accesses_that_wait_for_a_page_merge),
        cmocka_unit_test(sms_that_wait_for_a_page_share_a_walk),
        cmocka_unit_test(the_l2_tlb_serves_as_many_as_it_has_ports),
        cmocka_unit_test(pages_wait_for_a_free_walker),
        cmocka_unit_test(pages_arrive_in_order_of_time),
        cmocka_unit_test(a_page_fault_takes_its_time_and_the_handler_has_a_limit),
        cmocka_unit_test(with_one_page_waited_for_all_others_come_after_it),
        cmocka_unit_test(address_spaces_have_frames_of_their_own),
        cmocka_unit_test(the_slice_of_a_line_is_that_of_its_page_and_of_its_place_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
