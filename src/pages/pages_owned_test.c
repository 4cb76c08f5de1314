/* Pages that follow the owned channels of their application: which pages move and where to, how long copies take
 * on an idle machine, what is counted. The owned set changes between two runs of the engine, as a script says. */
#include "pages/pages_private.h"
#include "system_testbed.h"

#define A      0x1000000
#define PAGE   4096
#define UGPU   "ugpu-bp"
#define FOLLOW "runtime.placement=least_filled;"

static struct page_life *life(const struct bed *b) { return b->system->pages->life; }
static struct page_owner *owner(const struct bed *b) { return &life(b)->owners[0]; }

static void own(struct bed *b, const char *owned, const char *gained)
{
    uint16_t colours[2][64];
    struct colours sets[2] = {{colours[0], 0}, {colours[1], 0}};
    for (; *owned; owned++) colours[0][sets[0].count++] = (uint16_t)(*owned - '0');
    for (; *gained; gained++) colours[1][sets[1].count++] = (uint16_t)(*gained - '0');
    pages_change_owned(b->system->pages, 0, &sets[0], &sets[1]);
}

/* The L1 TLBs are empty after a change of masks. */
static void flush_l1_tlbs(struct bed *b, uint32_t pages)
{
    for (uint32_t n = 0; n < pages; n++)
        mmu_invalidate_l1(b->system->mmus[0], pages_key(0, A / PAGE + n), 0, b->system->sm_count);
}

static void open_pages(struct bed *b, const char *settings, const char *owned, uint32_t pages)
{
    char all[512];
    (void)snprintf(all, sizeof all, FOLLOW "%s", settings);
    bed_open_machine(b, UGPU, all);
    own(b, owned, "");
    bed_touch(b, 0, A, (uint64_t)pages * PAGE);
}

/* Every block loads 32 pages, a line of each. */
static const struct bed_op load_pages[] = {
    BED_LOAD(A, 1, .flags = WARP_F_STRONG, .stride = PAGE, .by_block = 32 * PAGE), BED_USE(1), BED_END};
static const struct bed_op store_pages[] = {BED_STORE(A, BED_NO_REG, .stride = PAGE, .by_block = 32 * PAGE),
                                            BED_END};

/* Stores to `pages` pages; cycles from the first fault to the end of the last move. */
static uint64_t move_time(struct bed *b, uint32_t pages)
{
    uint64_t first = 0;
    const uint64_t moved = owner(b)->stats.came;
    bed_begin(b, store_pages, 1, pages / 32); /* stores need no line of memory, so channels stay idle */
    for (uint32_t k = 0; k < 10000000 && owner(b)->stats.came < moved + pages; k++) {
        (void)engine_run(b->system->engine, system_now(b->system) + 1);
        if (!first && owner(b)->locked) first = system_now(b->system);
    }
    const uint64_t end = system_now(b->system);
    bed_finish(b);
    bed_settle(b);
    assert_int_equal(owner(b)->stats.came, moved + pages);
    return end - first;
}

/* Counters are those of the table, and no frame is lost. */
static void expect_counts(const struct bed *b, uint32_t pages)
{
    const struct pages *p = b->system->pages;
    uint64_t in_colour[64] = {0}, used = 0, sum = 0;
    size_t cursor = 0;
    for (const struct map_entry *e; (e = map_next(&p->frame_of, &cursor));)
        in_colour[pages_colour_of(p, e->value)]++;
    for (uint32_t c = 0; c < pages_colours(p); c++) {
        assert_int_equal(in_colour[c], pages_in(p, 0, c));
        assert_int_equal(in_colour[c], p->apps[0].planned[c]);
        used += dram_frames_used(p->frames[0], c);
        sum += in_colour[c];
    }
    assert_int_equal(sum, pages);
    const uint64_t tables = (pages + 511) / 512 + 1; /* the pages may begin inside a leaf table */
    assert_in_range(used, pages, pages + tables);
    assert_true(pages_change_over(p, 0));
    const struct owner_stats *s = &owner(b)->stats;
    assert_int_equal(s->placed + s->came - s->left, s->present);
    assert_int_equal(s->foreign_requests, 0);
}

/* ---- time on an idle machine ---- */

static void expect_near(uint64_t cycles, double expected, double share)
{
    if ((double)cycles < expected * (1 - share) || (double)cycles > expected * (1 + share))
        fail_msg("%lu cycles instead of %.0f", cycles, expected);
}

BED_TEST(page_move_takes_the_time_of_the_formula)
{
    static const uint32_t counts[] = {32, 256};
    for (size_t k = 0; k < 2; k++) {
        struct bed b;
        open_pages(&b, "pages.copier=in_stack", "0", counts[k]);
        own(&b, "1", "1");
        expect_near(move_time(&b, counts[k]), 1000 + 13 * 1400 / 440.0 * counts[k], 0.02);
        expect_counts(&b, counts[k]);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.stack.migrations, 32 * counts[k]);
        assert_int_equal(s.stack.transfers, 16 * counts[k]);
        bed_close(&b);
    }
}

BED_TEST(copies_over_channels_take_the_time_of_their_buses)
{
    static const uint32_t counts[] = {64, 256};
    for (size_t k = 0; k < 2; k++) {
        struct bed b;
        open_pages(&b, "pages.copier=channels", "0", counts[k]);
        own(&b, "1", "1");
        const uint64_t cycles = move_time(&b, counts[k]);
        assert_in_range(cycles, 51 * counts[k], 64 * counts[k] + 1000);
        expect_counts(&b, counts[k]);
        assert_int_equal(bed_stats(&b).pages.copied_lines, 32 * counts[k]);
        bed_close(&b);
    }
}

#define ORI "pages.copier=network;pages.faulting=all;"

/* 20 us per fault, 64 faults at a time; the engine copies the pages of 64 faults while the next 64 are served. */
BED_TEST(copies_over_networks_take_the_time_of_their_faults)
{
    enum { PAGES = 2048 };
    struct bed b;
    open_pages(&b, ORI "pages.fault_cyc=28000;pages.faults=64", "0", PAGES);
    own(&b, "1", "1");
    expect_near(move_time(&b, PAGES), 28000 * PAGES / 64.0, 0.02);
    expect_counts(&b, PAGES);
    bed_close(&b);
}

/* Without the driver's time the port of the engine decides: 8 B of a read and 136 B of a write are 1 + 5 flits on the
 * request network, a line and an acknowledgement 5 + 1 on the reply network. Packets of SMs are counted apart. */
BED_TEST(copies_over_networks_take_the_flits_of_one_port)
{
    struct bed b;
    open_pages(&b, ORI "pages.fault_cyc=1;pages.fault_interval_cyc=1", "0", 128);
    own(&b, "1", "1");
    const struct stats before = bed_stats(&b);
    expect_near(move_time(&b, 128), 128 * 32 * 6, 0.03);
    expect_counts(&b, 128);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.pages.lines, 128 * 32);
    assert_int_equal(s.llc.page_writes, 128 * 32);
    assert_int_equal(s.pages.engine_requests, 2 * 128 * 32);
    assert_int_equal(s.llc.page_requests, 2 * 128 * 32);
    assert_int_equal(s.pages.engine_bytes, 2 * 128 * 32 * (8 + 136));
    assert_int_equal(s.llc.reads, before.llc.reads);
    assert_int_equal(s.sm.requests_sent - before.sm.requests_sent, s.llc.writes - before.llc.writes);
    bed_close(&b);
}

/* ---- which pages move ---- */

/* Nothing is left over from a change: the slices hold no line, the L1 TLBs no translation. */
static void change(struct bed *b, const char *owned, const char *gained, uint32_t pages)
{
    own(b, owned, gained);
    flush_l1_tlbs(b, pages);
}

/* Touched pages leave lost channels for the least filled of those that are left; untouched pages stay and are
 * counted as outside. A page that has moved does not move again. */
BED_TEST(touched_pages_leave_lost_channels)
{
    struct bed b;
    open_pages(&b, "pages.copier=in_stack", "0123", 128);
    for (uint32_t c = 0; c < 4; c++) assert_int_equal(pages_in(b.system->pages, 0, c), 32);
    change(&b, "01", "", 128);
    assert_int_equal(owner(&b)->stats.outside, 64);
    bed_run(&b, load_pages, 1, 2); /* pages 0 to 63: 16 of each colour */
    bed_settle(&b);
    assert_int_equal(owner(&b)->stats.faults_lost, 32);
    assert_int_equal(owner(&b)->stats.faults_gained, 0);
    assert_int_equal(owner(&b)->stats.outside, 32);
    for (uint32_t c = 0; c < 4; c++) assert_int_equal(pages_in(b.system->pages, 0, c), c < 2 ? 48 : 16);
    bed_run(&b, load_pages, 1, 2);
    assert_int_equal(owner(&b)->stats.came, 32);
    expect_counts(&b, 128);
    bed_close(&b);
}

/* Pages move to gained channels until no other channel has two pages more than the least filled of them; then the
 * mask is cleared, and the rest stays. */
BED_TEST(touched_pages_move_to_gained_channels_until_they_are_balanced)
{
    struct bed b;
    open_pages(&b, "pages.copier=in_stack", "01", 128);
    change(&b, "0123", "23", 128);
    assert_int_equal(owner(&b)->gained, 12);
    bed_run(&b, load_pages, 1, 4);
    bed_settle(&b);
    const uint64_t came = owner(&b)->stats.came;
    assert_int_equal(owner(&b)->stats.faults_gained, came);
    assert_in_range(came, 62, 64); /* 64 of 128 make the colours equal */
    assert_int_equal(owner(&b)->gained, 0);
    for (uint32_t c = 0; c < 4; c++) assert_in_range(pages_in(b.system->pages, 0, c), 31, 33);
    bed_run(&b, load_pages, 1, 4);
    assert_int_equal(owner(&b)->stats.came, came);
    expect_counts(&b, 128);
    bed_close(&b);
}

/* pages.gained=spread: of the first half of the pages about half move, from both old channels; with `touched` all do. */
BED_TEST(gained_channels_get_their_share_of_neighbouring_pages)
{
    static const char *const which[] = {"pages.copier=in_stack;pages.gained=spread", "pages.copier=in_stack"};
    for (uint32_t k = 0; k < 2; k++) {
        struct bed b;
        open_pages(&b, which[k], "01", 128);
        change(&b, "0123", "23", 128);
        bed_run(&b, load_pages, 1, 2);
        bed_settle(&b);
        const uint64_t came = owner(&b)->stats.came;
        if (k) {
            assert_in_range(came, 62, 64);
        } else {
            assert_in_range(came, 29, 35);
            for (uint32_t c = 0; c < 2; c++) assert_in_range(pages_in(b.system->pages, 0, c), 45, 51);
        }
        bed_run(&b, load_pages, 1, 4);
        bed_settle(&b);
        for (uint32_t c = 0; c < 4; c++) assert_in_range(pages_in(b.system->pages, 0, c), 28, 36);
        expect_counts(&b, 128);
        bed_close(&b);
    }
}

/* Three changes A, B, A: pages that were touched in B come back; pages that were never touched have not moved. */
BED_TEST(untouched_pages_outlive_a_change_and_its_reverse)
{
    struct bed b;
    open_pages(&b, "pages.copier=in_stack", "0123", 128);
    change(&b, "45", "45", 128);
    bed_run(&b, load_pages, 1, 1);
    bed_settle(&b);
    assert_int_equal(owner(&b)->stats.came, 32);
    change(&b, "0123", "0123", 128);
    assert_int_equal(owner(&b)->gained,
                     0); /* all owned channels are new: outside of them is all that moves */
    bed_run(&b, load_pages, 1, 4);
    bed_settle(&b);
    assert_int_equal(owner(&b)->stats.came, 64);
    assert_int_equal(owner(&b)->stats.outside, 0);
    for (uint32_t c = 0; c < 4; c++) assert_int_equal(pages_in(b.system->pages, 0, c), 32);
    expect_counts(&b, 128);
    bed_close(&b);
}

/* pages.faulting=all: every page moves once after a change, also inside its colour, and only when it is touched. A page
 * that is placed after the change does not move. */
BED_TEST(every_touched_page_moves_once_after_a_change)
{
    static const char *const copiers[] = {"pages.copier=network;pages.faulting=all",
                                          "pages.copier=channels;pages.faulting=all"};
    for (size_t k = 0; k < 2; k++) {
        struct bed b;
        open_pages(&b, copiers[k], "0123", 96);
        bed_run(&b, load_pages, 1, 2);
        assert_int_equal(owner(&b)->stats.came, 0);
        change(&b, "01", "", 96);
        for (int again = 0; again < 2; again++) {
            bed_run(&b, load_pages, 1, 2); /* pages 0 to 63: 16 of each colour */
            bed_settle(&b);
            assert_int_equal(owner(&b)->stats.faults_lost, 32);
            assert_int_equal(owner(&b)->stats.faults_kept, 32);
            assert_int_equal(owner(&b)->stats.came, 64);
        }
        for (uint32_t c = 0; c < 4; c++) assert_int_equal(pages_in(b.system->pages, 0, c), c < 2 ? 40 : 8);
        bed_touch(&b, 0, A + 96 * PAGE, 32 * PAGE);
        bed_run(&b, load_pages, 1, 4); /* pages 64 to 95 move, 96 to 127 are new */
        bed_settle(&b);
        assert_int_equal(owner(&b)->stats.came, 96);
        change(&b, "01", "", 128); /* a change that leaves the set as it is moves them, too */
        bed_run(&b, load_pages, 1, 4);
        bed_settle(&b);
        assert_int_equal(owner(&b)->stats.came, 224);
        for (uint32_t c = 0; c < 4; c++) assert_int_equal(pages_in(b.system->pages, 0, c), c < 2 ? 64 : 0);
        expect_counts(&b, 128);
        bed_close(&b);
    }
}

/* The masks are compared at an L2 TLB hit and at the end of a walk: with an L2 TLB that holds all pages, and with
 * one that holds a few. */
BED_TEST(masks_are_compared_at_hits_and_at_walks)
{
    for (int small = 0; small < 2; small++) {
        struct bed b;
        open_pages(&b, small ? "pages.copier=in_stack;mmu.l2_entries=16" : "pages.copier=in_stack", "0", 64);
        bed_run(&b, load_pages, 1, 2);
        bed_settle(&b);
        assert_int_equal(owner(&b)->stats.came, 0);
        change(&b, "1", "", 64);
        bed_run(&b, load_pages, 1, 2);
        bed_settle(&b);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.owner.faults_lost, 64);
        assert_int_equal(s.mmu.l2_faults + s.mmu.walk_faults, 64);
        assert_true(small ? s.mmu.walk_faults >= 48 : s.mmu.l2_faults == 64);
        expect_counts(&b, 64);
        bed_close(&b);
    }
}

/* Dirty lines of the old frame are written back before the first line moves. */
BED_TEST(dirty_lines_are_written_back_before_the_copy)
{
    static const char *const copiers[] = {"pages.copier=in_stack", "pages.copier=channels",
                                          "pages.copier=network"};
    for (size_t k = 0; k < 3; k++) {
        struct bed b;
        open_pages(&b, copiers[k], "0", 32);
        bed_run(&b, store_pages, 1, 1);
        bed_settle(&b);
        const struct stats before = bed_stats(&b);
        assert_int_equal(before.dram.writes, 0);
        change(&b, "1", "", 32);
        bed_run(&b, store_pages, 1, 1);
        bed_settle(&b);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.llc.page_evictions, 32);
        assert_int_equal(s.llc.memory_writes - s.llc.page_writes, 32);
        expect_counts(&b, 32);
        bed_close(&b);
    }
}

/* One fault per interval, all in the driver at the same time; with a limit, batches. */
BED_TEST(the_driver_takes_a_fault_per_interval)
{
    struct bed b;
    open_pages(&b, "pages.copier=in_stack;pages.fault_interval_cyc=500;pages.fault_cyc=1000", "0", 32);
    own(&b, "1", "1");
    expect_near(move_time(&b, 32), 31 * 500 + 1000 + 41, 0.02);
    bed_close(&b);
    open_pages(&b, "pages.copier=channels;pages.fault_cyc=28000;pages.faults=64", "0", 1024);
    own(&b, "1", "1");
    expect_near(move_time(&b, 1024), 28000 * 1024 / 64.0, 0.02);
    expect_counts(&b, 1024);
    bed_close(&b);
}

/* ---- channels that are full ---- */

static void fill_channel(void *arg)
{
    struct bed *b = arg;
    own(b, "2", "2");
    for (uint64_t n = 0; n < 50; n++) (void)pages_faults(b->system->pages, 0, pages_key(0, A / PAGE + n));
    bed_settle(b);
}

BED_TEST(full_channels_are_an_error_that_names_the_application)
{
    struct bed b;
    struct diag d;
    open_pages(&b, "pages.copier=in_stack;gpu.memory_size=1 MiB;dram.columns=32;dram.rows=1", "01",
               50); /* of 32 frames each */
    diag_init(&d);
    assert_int_equal(diag_run(&d, fill_channel, &b), DIAG_MISTAKE);
    assert_non_null(strstr(d.text, "application 0"));
    diag_clear(&d);
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_move_takes_the_time_of_the_formula),
        cmocka_unit_test(copies_over_channels_take_the_time_of_their_buses),
        cmocka_unit_test(copies_over_networks_take_the_time_of_their_faults),
        cmocka_unit_test(copies_over_networks_take_the_flits_of_one_port),
        cmocka_unit_test(touched_pages_leave_lost_channels),
        cmocka_unit_test(touched_pages_move_to_gained_channels_until_they_are_balanced),
        cmocka_unit_test(gained_channels_get_their_share_of_neighbouring_pages),
        cmocka_unit_test(untouched_pages_outlive_a_change_and_its_reverse),
        cmocka_unit_test(every_touched_page_moves_once_after_a_change),
        cmocka_unit_test(masks_are_compared_at_hits_and_at_walks),
        cmocka_unit_test(dirty_lines_are_written_back_before_the_copy),
        cmocka_unit_test(the_driver_takes_a_fault_per_interval),
        cmocka_unit_test(full_channels_are_an_error_that_names_the_application),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
