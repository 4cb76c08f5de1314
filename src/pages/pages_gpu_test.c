/* Pages between GPUs: migration, replicas at touches and the ideal machine; where frames are afterwards, which lines
 * cross the link, and which accesses wait, with an ideal MMU. */
#include "llc/llc_private.h"
#include "pages/profile.h"
#include "system_testbed.h"

/* Two GPUs of one SM, one slice and one channel; everything at 1 GHz. */
#define TWO_GPUS \
    "system.gpus=2;gpu_net.bandwidth=64 GB/s;gpu_net.latency=100 cycles;llc.organisation=numa;" \
    "llc.boundary=drop_remote;runtime.placement=first_touch_gpu;pages.level=gpu;map.page_size=4 KiB;" \
    "mmu.mode=ideal;runtime.move_interval_cyc=2000;runtime.move_accesses=4;"
#define A 0x100000
enum { LINES = 32 };

static uint32_t gpu_of_frame(const struct bed *b, const uint64_t *frame)
{
    assert_non_null(frame);
    return pages_home(b->system->pages, *frame).channel / b->system->pages->channels_per_chiplet;
}

static uint64_t key_of_page(const struct bed *b) { return pages_key(0, A >> b->system->pages->page_log2); }

static uint32_t gpu_of(const struct bed *b, uint32_t sm)
{
    return gpu_of_frame(b, pages_find(b->system->pages, sm, key_of_page(b)));
}

static uint32_t home_of_page(const struct bed *b)
{
    return gpu_of_frame(b, pages_frame(b->system->pages, key_of_page(b)));
}

/* Four loads of lines 0 and 1 past the L1 before the interval ends, one of line 0 long after it. */
static const struct bed_op use[] = {
    BED_LOAD(A, 1, .flags = WARP_F_STRONG),
    BED_USE(1),
    BED_LOAD(A + 128, 1, .flags = WARP_F_STRONG),
    BED_USE(1),
    BED_LOAD(A, 1, .flags = WARP_F_STRONG),
    BED_USE(1),
    BED_LOAD(A, 1, .flags = WARP_F_STRONG),
    BED_USE(1),
    {.class = WARP_CLASS_WAIT, .dst = BED_NO_REG, .src = BED_NO_REG, .sleep_ns = 3000},
    BED_LOAD(A, 1, .flags = WARP_F_STRONG),
    BED_USE(1),
    BED_END};

/* SM 0, in GPU 0, uses a page of GPU 1. */
static struct stats migrate(struct bed *b, const char *settings)
{
    char all[1024];
    (void)snprintf(all, sizeof all, TWO_GPUS "pages.migration=remote_heavy;%s", settings);
    bed_open(b, all);
    bed_touch(b, (uint32_t)config_sms(&b->machine.config) - 1, A, 1);
    assert_int_equal(home_of_page(b), 1);
    b->only_sms = 1;
    bed_begin(b, use, 1, 1);
    pages_kernel_begins(b->system->pages, b->start_cyc);
    bed_finish(b);
    bed_settle(b);
    return bed_stats(b);
}

BED_TEST(a_page_moves_to_the_gpu_that_used_it_most)
{
    struct bed b;
    const struct stats s = migrate(&b, "runtime.move_cost=100 ns");
    assert_int_equal(s.pages.migrations, 1);
    assert_int_equal(home_of_page(&b), 0);
    assert_int_equal(s.pages.lines, LINES);
    assert_int_equal(s.llc.page_writes, LINES);
    assert_int_equal(s.pages.frames_peak, 1);
    /* lines 0 and 1 were read at the old home, then all lines for the move; the last load reads the new home */
    assert_int_equal(channel_stats(b.system->channels[0])->writes * 64, LINES * 128);
    assert_int_equal(s.gates.between_gpus, 2 * (2 + LINES));
    /* GPU 0 kept lines 0 and 1 of the old frame as remote lines, and the new frame has line 0 only */
    assert_int_equal(slice_lines_used(b.system->slices[0]), 1);
    assert_int_equal(slice_lines_used(b.system->slices[1]), 0);
    bed_close(&b);
}

BED_TEST(a_page_stays_below_the_threshold_and_below_the_ratio)
{
    struct bed b;
    struct stats s = migrate(&b, "runtime.move_accesses=5");
    assert_int_equal(s.pages.migrations, 0);
    assert_int_equal(home_of_page(&b), 1);
    bed_close(&b);
    /* the home sends one request to every four of the other GPU */
    static const struct bed_op both[] = {
        BED_LOAD(A, 1, .flags = WARP_F_STRONG),
        BED_USE(1),
        BED_LOAD(A, 1, .flags = WARP_F_STRONG, .from_block = 1),
        BED_LOAD(A, 1, .flags = WARP_F_STRONG, .from_block = 1),
        BED_LOAD(A, 1, .flags = WARP_F_STRONG, .from_block = 1),
        BED_USE(1),
        {.class = WARP_CLASS_WAIT, .dst = BED_NO_REG, .src = BED_NO_REG, .sleep_ns = 9000},
        BED_END};
    for (uint32_t k = 0; k < 2; k++) {
        bed_open(&b, k ? TWO_GPUS "pages.migration=remote_heavy;pages.migration_ratio=4"
                       : TWO_GPUS "pages.migration=remote_heavy;pages.migration_ratio=4.5");
        bed_touch(&b, 0, A, 1);
        bed_begin(&b, both, 1, 2);
        pages_kernel_begins(b.system->pages, b.start_cyc);
        bed_finish(&b);
        bed_settle(&b);
        s = bed_stats(&b);
        assert_int_equal(s.pages.migrations, k);
        bed_close(&b);
    }
}

/* The SM waits for the driver and for the lines although its MMU is ideal; 2 MiB take 144 B / 64 B per line. */
BED_TEST(accesses_wait_for_the_driver_and_for_the_lines_of_the_page)
{
    uint64_t held[2], done[2];
    for (uint32_t k = 0; k < 2; k++) {
        struct bed b;
        const struct stats s = migrate(&b, k ? "runtime.move_cost=6 us" : "runtime.move_cost=2 us");
        assert_int_equal(s.pages.migrations, 1);
        assert_int_equal(s.mmu.l2_held, 1);
        held[k] = s.pages.held_cyc;
        done[k] = bed_cyc(&b, 0, 0, 10);
        bed_close(&b);
    }
    assert_int_equal(held[1] - held[0], 4000);
    assert_int_equal(done[1] - done[0], 4000);
    struct bed b;
    const struct stats s = migrate(
        &b,
        "map.page_size=2 MiB;runtime.move_cost=0 ns;packet.header=16 B;llc.port=128 B;slice_net.width=64 B;"
        "gpu_net.buffer=64 KiB;chiplet.partitions=8;map.kind=pae");
    const uint64_t link_cyc = 16384 * 144 / 64; /* 36.9 us */
    assert_int_equal(s.pages.migrations, 1);
    assert_in_range(s.pages.held_cyc, link_cyc, link_cyc + 2000);
    bed_close(&b);
}

/* A page that has moved rests: the other GPU uses it as much in the next interval. Each kernel lasts one interval. */
BED_TEST(a_page_that_has_moved_rests)
{
    static const struct bed_op by_gpu_1[] = {BED_LOAD(A, 1, .flags = WARP_F_STRONG, .from_block = 1),
                                             BED_LOAD(A, 1, .flags = WARP_F_STRONG, .from_block = 1),
                                             BED_USE(1), BED_END};
    static const struct bed_op by_gpu_0[] = {BED_LOAD(A, 1, .flags = WARP_F_STRONG),
                                             BED_LOAD(A, 1, .flags = WARP_F_STRONG), BED_USE(1), BED_END};
    for (uint32_t cool_down = 0; cool_down < 3; cool_down++) {
        struct bed b;
        char settings[512];
        (void)snprintf(settings, sizeof settings,
                       TWO_GPUS "pages.migration=remote_heavy;runtime.move_accesses=2;pages.cool_down=%u",
                       cool_down);
        bed_open(&b, settings);
        bed_touch(&b, 0, A, 1);
        for (uint32_t interval = 0; interval < 3; interval++) {
            b.only_sms = interval ? 1 : 0;
            bed_begin(&b, interval ? by_gpu_0 : by_gpu_1, 1, interval ? 1 : 2);
            pages_kernel_begins(b.system->pages, b.start_cyc);
            bed_finish(&b);
            bed_settle(&b);
            /* to GPU 1 in the first interval, back in the first one in which the page no longer rests */
            assert_int_equal(bed_stats(&b).pages.migrations, 1 + (interval > cool_down));
            assert_int_equal(home_of_page(&b), !(interval > cool_down));
        }
        bed_close(&b);
    }
}

/* ---- replicas at touches ---- */

static const struct bed_op read_once[] = {BED_LOAD(A, 1, .flags = WARP_F_STRONG), BED_USE(1), BED_END};
static const struct bed_op write_once[] = {BED_STORE(A, BED_NO_REG), BED_END};

static struct page_profile *profile_of_page(bool written)
{
    struct page_profile *p = page_profile_new();
    page_profile_add(p, pages_key(0, A >> 12), 0, false);
    page_profile_add(p, pages_key(0, A >> 12), 1, written);
    return p;
}

BED_TEST(a_page_that_is_only_read_is_local_to_both_gpus)
{
    for (uint32_t written = 0; written < 2; written++) {
        struct bed b;
        struct page_profile *profile = profile_of_page(written);
        bed_open(&b, TWO_GPUS "pages.replication=oracle");
        pages_set_profile(b.system->pages, profile);
        bed_touch(&b, 1, A, 1);
        b.only_sms = 1;
        bed_run(&b, read_once, 1, 1);
        const struct stats s = bed_stats(&b);
        assert_int_equal(home_of_page(&b), 1);
        assert_int_equal(gpu_of(&b, 0), written); /* pages_find(): the replica, if there is one */
        assert_int_equal(s.pages.touch_replicas, !written);
        assert_int_equal(s.gates.between_gpus, written ? 2 : 0);
        assert_int_equal(s.pages.frames_peak, written ? 1 : 2);
        bed_close(&b);
        page_profile_free(profile);
    }
}

/* The first pass did not see this store: the replicas are gone before the store is performed, and none returns. */
BED_TEST(a_store_collapses_a_page_for_the_rest_of_the_run)
{
    struct bed b;
    struct page_profile *profile = profile_of_page(false);
    bed_open(&b, TWO_GPUS "pages.replication=oracle;runtime.move_cost=1 us");
    pages_set_profile(b.system->pages, profile);
    bed_touch(&b, 1, A, 1);
    b.only_sms = 1;
    bed_run(&b, read_once, 1, 1);
    bed_run(&b, write_once, 1, 1);
    bed_settle(&b);
    pages_kernels_end(b.system->pages);
    struct stats s = bed_stats(&b);
    assert_int_equal(s.pages.touch_collapses, 1);
    assert_int_equal(s.pages.replicas_dropped, 1);
    assert_true(b.end_cyc - b.start_cyc > 1000);
    assert_int_equal(slice_stats(b.system->slices[1])->writes, 1); /* at the page's home */
    bed_run(&b, read_once, 1, 1);
    s = bed_stats(&b);
    assert_int_equal(s.pages.touch_replicas, 1);
    assert_int_equal(gpu_of(&b, 0), 1);
    bed_close(&b);
    page_profile_free(profile);
}

BED_TEST(ideal_makes_every_page_local_and_stores_stay_local)
{
    struct bed b;
    bed_open(&b, TWO_GPUS "pages.replication=ideal");
    bed_touch(&b, 1, A, 1);
    b.only_sms = 1;
    bed_run(&b, write_once, 1, 1);
    bed_run(&b, read_once, 1, 1);
    bed_settle(&b);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.gates.between_gpus, 0);
    assert_int_equal(s.pages.touch_replicas, 1);
    assert_int_equal(slice_stats(b.system->slices[0])->writes, 1);
    assert_int_equal(gpu_of(&b, 0), 0);
    assert_int_equal(gpu_of(&b, 1), 1);
    bed_close(&b);
}

/* ---- the profile ---- */

static void a_profile_counts_accesses_nodes_and_stores(void **state)
{
    (void)state;
    struct page_profile *p = page_profile_new();
    assert_null(page_profile_find(p, 7));
    for (uint64_t key = 0; key < 1000; key++)
        for (uint32_t node = 0; node <= key % 3; node++) page_profile_add(p, key, node, key % 5 == 0);
    assert_int_equal(page_profile_pages(p), 1000);
    for (uint64_t key = 0; key < 1000; key++) {
        const struct page_facts *f = page_profile_find(p, key);
        assert_int_equal(f->accesses, key % 3 + 1);
        assert_int_equal(page_facts_are_shared(f), key % 3 > 0);
        assert_int_equal(f->written, key % 5 == 0);
    }
    page_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_moves_to_the_gpu_that_used_it_most),
        cmocka_unit_test(a_page_stays_below_the_threshold_and_below_the_ratio),
        cmocka_unit_test(accesses_wait_for_the_driver_and_for_the_lines_of_the_page),
        cmocka_unit_test(a_page_that_has_moved_rests),
        cmocka_unit_test(a_page_that_is_only_read_is_local_to_both_gpus),
        cmocka_unit_test(a_store_collapses_a_page_for_the_rest_of_the_run),
        cmocka_unit_test(ideal_makes_every_page_local_and_stores_stay_local),
        cmocka_unit_test(a_profile_counts_accesses_nodes_and_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
