/* Pages that move and are copied: their frames afterwards, the accesses that wait and for how long, and the lines that
 * cross the network. */
#include "llc/llc_private.h"
#include "system_testbed.h"

/* Two partitions of an SM, a slice and a channel; everything at 1 GHz. */
#define PAGES \
    "chiplet.partitions=2;gpu.llc_size=256 KiB;gpu.memory_size=128 " \
    "MiB;llc.organisation=nuba;net.topology=links;map.kind=fixed_channel;map.page_size=4 KiB;" \
    "net.link_latency_cyc=4;slice_net.topology=crossbar;slice_net.width=16 B;mmu.mode=tlb;" \
    "runtime.placement=first_touch;runtime.move_interval_cyc=2000;runtime.move_accesses=4;"
#define A 0x100000
enum { LINES = 32 };

/* Four loads past the L1 before the interval ends, one long after it. */
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

static uint32_t partition_of_page(const struct bed *b, uint64_t n)
{
    const uint64_t *frame = pages_frame(b->system->pages, pages_key(0, (A >> 12) + n));
    assert_non_null(frame);
    return pages_home(b->system->pages, *frame).channel;
}

static uint32_t partition_of(const struct bed *b) { return partition_of_page(b, 0); }

/* SM 0 uses a page of partition 1. */
static struct stats migrate(struct bed *b, const char *settings)
{
    char all[1024];
    (void)snprintf(all, sizeof all, PAGES "pages.migration=most_used;%s", settings);
    bed_open(b, all);
    bed_touch(b, 1, A, 1);
    assert_int_equal(partition_of(b), 1);
    b->only_sms = 1;
    bed_begin(b, use, 1, 1);
    pages_kernel_begins(b->system->pages, b->start_cyc);
    bed_finish(b);
    bed_settle(b);
    return bed_stats(b);
}

BED_TEST(a_page_moves_to_the_partition_that_used_it_most)
{
    struct bed b;
    const struct stats s = migrate(&b, "runtime.move_cost=100 ns");
    assert_int_equal(s.pages.migrations, 1);
    assert_int_equal(partition_of(&b), 0);
    assert_int_equal(s.pages.lines, LINES);
    assert_int_equal(s.llc.page_writes, LINES);
    assert_int_equal(s.mmu.shootdowns, 1);
    /* memory: every line was read at its old home and written at the new one; the last load reads it there */
    assert_int_equal(channel_stats(b.system->channels[1])->reads * 64, (2 + LINES) * 128);
    assert_int_equal(channel_stats(b.system->channels[0])->writes * 64, LINES * 128);
    /* the network: four loads and the lines of the page, there and back; the fifth load is at home */
    assert_int_equal(s.slice_net.taken, 2 * (4 + LINES));
    assert_int_equal(s.llc.home_reads, 1);
    bed_close(&b);
}

BED_TEST(fewer_accesses_leave_a_page_where_it_is)
{
    struct bed b;
    const struct stats s = migrate(&b, "runtime.move_accesses=5");
    assert_int_equal(s.pages.migrations, 0);
    assert_int_equal(partition_of(&b), 1);
    assert_int_equal(s.slice_net.taken, 2 * 5);
    bed_close(&b);
}

/* An access to a page that moves waits for it: as long as the driver takes, and its lines. */
BED_TEST(accesses_wait_until_the_page_has_moved)
{
    uint64_t held[2], done[2];
    for (uint32_t k = 0; k < 2; k++) {
        struct bed b;
        const struct stats s = migrate(&b, k ? "runtime.move_cost=6 us" : "runtime.move_cost=2 us");
        assert_int_equal(s.pages.migrations, 1);
        assert_int_equal(s.mmu.l2_held, 1); /* the fifth load came while it moved */
        assert_true(s.pages.waits >= 1);
        held[k] = s.pages.held_cyc;
        done[k] = bed_cyc(&b, 0, 0, 10);
        bed_close(&b);
    }
    assert_int_equal(held[1] - held[0], 4000);
    assert_int_equal(done[1] - done[0], 4000);
    /* 32 replies of 136 B, 16 B a cycle */
    assert_true(held[0] >= 2000 + LINES * 9);
    assert_true(held[0] <= 2000 + LINES * 9 + 400);
}

/* One line at a time, one move at a time: slow, and it goes on. */
BED_TEST(lines_that_go_one_by_one_arrive)
{
    struct bed b;
    const struct stats s = migrate(&b, "runtime.move_lines=1;runtime.moves=1;llc.forward_queue=1");
    assert_int_equal(s.pages.migrations, 1);
    assert_int_equal(s.llc.page_writes, LINES);
    bed_close(&b);
}

/* ---- copies ---- */

static const struct bed_op read_twice[] = {BED_LOAD(A, 1, .flags = WARP_F_READ_ONLY | WARP_F_STRONG),
                                           BED_USE(1), BED_LOAD(A, 1, .flags = WARP_F_STRONG), BED_USE(1),
                                           BED_END};
static const struct bed_op write[] = {BED_STORE(A, BED_NO_REG), BED_END};

BED_TEST(a_partition_that_reads_a_read_only_page_gets_a_copy_and_a_store_collapses_it)
{
    struct bed b;
    bed_open(&b, PAGES "pages.replication=read_only;runtime.move_cost=1 us");
    bed_touch(&b, 1, A, 1);
    b.only_sms = 1;
    bed_run(&b, read_twice, 1, 1);
    struct stats s = bed_stats(&b);
    assert_int_equal(s.pages.replicas, 1);
    assert_int_equal(partition_of(&b), 1); /* the page itself stays */
    assert_int_equal(s.llc.home_reads, 2); /* both loads are served by the copy, at home here */
    assert_int_equal(s.slice_net.taken, 2 * LINES);
    assert_true(bed_cyc(&b, 0, 0, 1) > 1000);
    /* a store: the copy is gone before it is done, and it is done at the page's home */
    bed_run(&b, write, 1, 1);
    bed_settle(&b);
    s = bed_stats(&b);
    assert_int_equal(s.pages.collapses, 1);
    assert_int_equal(s.pages.replicas_dropped, 1);
    assert_true(b.end_cyc - b.start_cyc > 1000);
    assert_int_equal(slice_stats(b.system->slices[1])->writes, 1);
    assert_int_equal(slice_lines_used(b.system->slices[0]), 1); /* the page table entry */
    /* written in this kernel: not copied again */
    bed_run(&b, read_twice, 1, 1);
    assert_int_equal(bed_stats(&b).pages.replicas, 1);
    /* the next kernel may */
    bed_settle(&b);
    pages_kernels_end(b.system->pages);
    bed_run(&b, read_twice, 1, 1);
    bed_settle(&b);
    assert_int_equal(bed_stats(&b).pages.replicas, 2);
    pages_kernels_end(b.system->pages);
    assert_int_equal(bed_stats(&b).pages.replicas_dropped, 2);
    assert_int_equal(*pages_find(b.system->pages, 0, pages_key(0, A >> 12)),
                     *pages_frame(b.system->pages, pages_key(0, A >> 12)));
    bed_close(&b);
}

/* ---- both roles ---- */

#define PAGE(n) (A + (uint64_t)(n)*4096)
/* Four partitions, one driver slot of 3000 cycles. Block n runs in partition n.
 *   cycle     0   block 0 needs a replica of page 0 and gets the slot; block 1 needs a replica of page 1
 *             0+  block 2 loads from page 1 most often
 *          2000   the interval ends: the migration of page 1 to partition 2 is queued
 *          3400   the replica of page 1 for block 1 gets the slot; block 0 reads page 1 */
static const struct bed_op both[] = {
    BED_LOAD(PAGE(0), 1, .flags = WARP_F_READ_ONLY | WARP_F_STRONG, .by_block = 4096),
    BED_USE(1),
    BED_LOAD(PAGE(-1), 1, .flags = WARP_F_STRONG, .by_block = 4096, .from_block = 2),
    BED_USE(1),
    BED_LOAD(PAGE(-1), 1, .flags = WARP_F_STRONG, .by_block = 4096, .from_block = 2),
    BED_USE(1),
    BED_LOAD(PAGE(1), 1, .flags = WARP_F_READ_ONLY | WARP_F_STRONG, .by_block = 4096),
    BED_USE(1),
    BED_END};

/* A replica requested behind a queued migration of its page needs the slot that the migration holds, and the
 * migration waits for the replica. */
BED_TEST(a_migration_with_one_driver_slot_does_not_wait_for_a_replica_behind_it)
{
    struct bed b;
    bed_open(&b, PAGES "chiplet.partitions=4;gpu.llc_size=512 KiB;gpu.memory_size=256 MiB;runtime.moves=1;"
                       "runtime.move_accesses=2;runtime.move_cost=3 us;pages.migration=most_used;"
                       "pages.replication=read_only");
    static const uint32_t home_of[] = {3, 3, 2, 3, 3};
    for (uint32_t n = 0; n < 5; n++) bed_touch(&b, home_of[n], PAGE(n), 1);
    b.parts = 4;
    bed_begin(&b, both, 1, 4);
    pages_kernel_begins(b.system->pages, b.start_cyc);
    bed_finish(&b);
    bed_settle(&b);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.pages.migrations, 2); /* page 2 moves too: block 3 loads from it */
    assert_int_equal(partition_of_page(&b, 1), 2);
    assert_int_equal(s.pages.peak, 1);
    pages_kernels_end(b.system->pages);
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_moves_to_the_partition_that_used_it_most),
        cmocka_unit_test(fewer_accesses_leave_a_page_where_it_is),
        cmocka_unit_test(accesses_wait_until_the_page_has_moved),
        cmocka_unit_test(lines_that_go_one_by_one_arrive),
        cmocka_unit_test(a_partition_that_reads_a_read_only_page_gets_a_copy_and_a_store_collapses_it),
        cmocka_unit_test(a_migration_with_one_driver_slot_does_not_wait_for_a_replica_behind_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
