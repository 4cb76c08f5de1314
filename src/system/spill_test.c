/* spill: pages in system memory (llc/spill.h), on machines of small GPUs: one SM, one slice and one channel each,
 * everything at 1 GHz. */
#include "llc/llc_private.h"
#include "llc/spill.h"
#include "pages/profile.h"
#include "system_testbed.h"

#define GPU "map.kind=interleaved;map.page_size=4 KiB;spill.share=0.5;"
#define GPUS \
    GPU "system.gpus=2;gpu_net.bandwidth=8 GB/s;gpu_net.latency=800 cycles;llc.organisation=numa;" \
        "runtime.placement=first_touch_gpu;llc.boundary=drop_remote;"
#define LINK "spill.bandwidth=8 GB/s;spill.latency=700 ns;spill.header_bytes=16;"
#define COLD 0x100000 /* pages in system memory begin here */
#define HOT  0x200000
enum { PAGE = 4096, LINE = 128, HEADER = 16, LATENCY = 700, BYTES_PER_CYC = 8 };

/* Pages that are accessed once from COLD on, as many that are accessed twice from HOT on: the first are spilled. */
static struct page_profile *open_bed(struct bed *b, const char *settings, uint32_t pages)
{
    struct page_profile *const p = page_profile_new();
    bed_open(b, settings);
    for (uint32_t k = 0; k < pages; k++) {
        page_profile_add(p, pages_key(0, COLD / PAGE + k), 0, false);
        for (uint32_t n = 0; n < 2; n++) page_profile_add(p, pages_key(0, HOT / PAGE + k), 0, false);
    }
    page_profile_spill(p, b->machine.config.spill.share);
    pages_set_profile(b->system->pages, p);
    return p;
}

static void close_bed(struct bed *b, struct page_profile *p)
{
    bed_close(b);
    page_profile_free(p);
}

static uint64_t load_cyc(struct bed *b, uint64_t address)
{
    const struct bed_op read[] = {BED_LOAD(address, 1), BED_USE(1), BED_END};
    b->only_sms = 1;
    bed_run(b, read, 1, 1);
    bed_settle(b);
    return bed_cyc(b, 0, 0, 1);
}

BED_TEST(an_idle_read_takes_latency_and_bytes)
{
    struct bed b;
    struct page_profile *const p = open_bed(&b, GPU LINK, 2);
    const struct config *const c = &b.machine.config;
    bed_touch(&b, 0, COLD, PAGE);
    bed_touch(&b, 0, HOT, PAGE);
    const uint64_t local = load_cyc(&b, HOT);
    /* the channel activates in the cycle after it has accepted */
    const uint64_t local_memory =
        1 + c->dram.trcd_rd_cyc + c->dram.tcl_cyc + c->dram.burst_cyc * (LINE / c->dram.column_size);
    const uint64_t system_memory = LATENCY + (HEADER + HEADER + LINE) / BYTES_PER_CYC;
    assert_int_equal(load_cyc(&b, COLD) - local, system_memory - local_memory);
    struct stats s = bed_stats(&b);
    assert_int_equal(s.spill.pages, 1);
    assert_int_equal(s.spill.reads, 1);
    assert_int_equal(s.spill.answered, 1);
    assert_int_equal(s.spill.read_cyc, system_memory);
    assert_int_equal(s.spill.out_bytes, HEADER);
    assert_int_equal(s.spill.in_bytes, HEADER + LINE);
    (void)load_cyc(&b, COLD); /* a hit of the LLC */
    s = bed_stats(&b);
    assert_int_equal(s.spill.reads, 1);
    close_bed(&b, p);
}

/* Loads of as many lines, all at once. Returns the cycles until all data is there. */
static uint64_t stream_cyc(const char *settings, uint32_t lines, uint64_t *in_bytes)
{
    struct bed b;
    struct page_profile *const p = open_bed(&b, settings, 4);
    const struct bed_op read[] = {
        BED_LOAD(COLD, 1, .stride = LINE, .mask = (uint32_t)((UINT64_C(1) << lines) - 1)), BED_USE(1),
        BED_END};
    bed_touch(&b, 0, COLD, PAGE);
    b.only_sms = 1;
    bed_run(&b, read, 1, 1);
    bed_settle(&b);
    const uint64_t cyc = bed_cyc(&b, 0, 0, 1);
    *in_bytes = bed_stats(&b).spill.in_bytes;
    close_bed(&b, p);
    return cyc;
}

BED_TEST(a_saturated_link_carries_its_bandwidth)
{
    /* 3.2 GB/s: a line takes 45 cycles, 5 cycles a header */
    static const struct {
        const char *settings;
        uint64_t line_cyc;
    } links[] = {
        {GPU LINK, 18}, {GPU LINK "spill.bandwidth=3200 MB/s", 45}, {GPU LINK "spill.bandwidth=1 GB/s", 144}};
    for (uint32_t k = 0; k < sizeof links / sizeof *links; k++) {
        uint64_t few_bytes, many_bytes;
        const uint64_t few = stream_cyc(links[k].settings, 8, &few_bytes);
        const uint64_t many = stream_cyc(links[k].settings, 32, &many_bytes);
        assert_int_equal(many_bytes - few_bytes, 24 * (HEADER + LINE));
        assert_int_equal(many - few, 24 * links[k].line_cyc);
    }
}

BED_TEST(a_dirty_line_crosses_the_link_when_it_leaves_the_slice)
{
    static const struct bed_op store[] = {BED_STORE(COLD, BED_NO_REG), BED_END};
    struct bed b;
    struct page_profile *const p = open_bed(&b, GPU LINK "gpu.llc_size=2 KiB;llc.ways=1;", 2);
    const uint64_t lines = b.machine.config.gpu.llc_size / LINE;
    bed_touch(&b, 0, COLD, PAGE);
    bed_touch(&b, 0, HOT, PAGE);
    b.only_sms = 1;
    bed_run(&b, store, 1, 1);
    bed_settle(&b);
    assert_int_equal(bed_stats(&b).spill.writes, 0);
    for (uint32_t k = 0; k < PAGE / LINE && k < 2 * lines; k++) (void)load_cyc(&b, HOT + k * LINE);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.spill.writes, 1);
    assert_int_equal(s.spill.accepted, 1);
    assert_int_equal(s.spill.out_bytes, HEADER + LINE);
    assert_int_equal(s.spill.in_bytes, 0);
    close_bed(&b, p);
}

BED_TEST(a_page_of_another_gpu_is_behind_that_gpus_link)
{
    struct bed b;
    struct page_profile *const p = open_bed(&b, GPUS LINK, 2);
    bed_touch(&b, 1, COLD, PAGE);
    const uint64_t *const frame = pages_frame(b.system->pages, pages_key(0, COLD / PAGE));
    assert_true(dram_map_in_system(b.system->map, *frame));
    assert_int_equal(pages_home(b.system->pages, *frame).slice, 1);
    assert_int_equal(slice_home(&b.system->slice_spec, *frame >> LINE_LOG2), 1);
    (void)load_cyc(&b, COLD);
    assert_int_equal(spill_stats(b.system->cpu_links[0])->answered, 0);
    assert_int_equal(spill_stats(b.system->cpu_links[1])->answered, 1);
    assert_int_equal(pages_frames_of(b.system->pages, 1), 0); /* no frame of the GPU's memory */
    close_bed(&b, p);
}

/* um: the first access waits for the driver and the page; the least recently used page goes out. */
BED_TEST(a_touched_page_moves_in_and_the_least_recently_used_one_out)
{
    struct bed b;
    struct page_profile *const p =
        open_bed(&b, GPU LINK "spill.policy=um;runtime.move_cost=2 us;gpu.llc_size=2 KiB;llc.ways=16;", 2);
    for (uint32_t k = 0; k < 2; k++) {
        bed_touch(&b, 0, COLD + k * PAGE, PAGE);
        bed_touch(&b, 0, HOT + k * PAGE, PAGE);
    }
    (void)load_cyc(&b, HOT + PAGE);
    const uint64_t local = load_cyc(&b, HOT); /* so HOT + PAGE goes out first */
    const uint64_t first = load_cyc(&b, COLD);
    const uint64_t move = 2000 + LATENCY + PAGE / BYTES_PER_CYC;
    assert_in_range(first - local, move, move + 30);
    struct stats s = bed_stats(&b);
    assert_int_equal(s.spill.moves_in, 1);
    assert_int_equal(s.spill.moves_out, 1);
    assert_int_equal(s.spill.move_cyc, move);
    assert_int_equal(s.spill.late_reads, 1);
    assert_int_equal(s.spill.in_bytes, PAGE);
    assert_int_equal(s.spill.out_bytes, PAGE);
    assert_in_range(load_cyc(&b, COLD + LINE), 1, local + 30); /* now local */
    (void)load_cyc(&b, HOT + LINE);
    assert_int_equal(bed_stats(&b).spill.moves_in, 1);
    (void)load_cyc(&b, HOT + PAGE + LINE); /* it comes back, for COLD */
    s = bed_stats(&b);
    assert_int_equal(s.spill.moves_in, 2);
    (void)load_cyc(&b, COLD + 2 * LINE);
    assert_int_equal(bed_stats(&b).spill.moves_in, 3);
    close_bed(&b, p);
}

static void the_coldest_pages_are_spilled(void **state)
{
    (void)state;
    struct page_profile *const p = page_profile_new();
    for (uint64_t key = 0; key < 10; key++)
        for (uint64_t n = 0; n <= (key * 7) % 10; n++) page_profile_add(p, key, 0, false);
    page_profile_spill(p, 0.26); /* 2.6: three pages, with 1, 2 and 3 accesses */
    for (uint64_t key = 0; key < 10; key++)
        assert_int_equal(page_profile_find(p, key)->spilled, (key * 7) % 10 < 3);
    page_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_read_takes_latency_and_bytes),
        cmocka_unit_test(a_saturated_link_carries_its_bandwidth),
        cmocka_unit_test(a_dirty_line_crosses_the_link_when_it_leaves_the_slice),
        cmocka_unit_test(a_page_of_another_gpu_is_behind_that_gpus_link),
        cmocka_unit_test(a_touched_page_moves_in_and_the_least_recently_used_one_out),
        cmocka_unit_test(the_coldest_pages_are_spilled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
