/* NUBA: links to the slices of the partition, bypass of slices, round-robin of LMR and RMR, replicas. */
#include "llc/llc_private.h"
#include "system_testbed.h"

/* Two partitions of an SM, a slice and a channel; everything at 1 GHz. */
#define NUBA \
    "chiplet.partitions=2;gpu.llc_size=256 KiB;gpu.memory_size=128 " \
    "MiB;llc.organisation=nuba;net.topology=links;" \
    "net.link_latency_cyc=4;slice_net.topology=crossbar;slice_net.width=16 B;runtime.placement=first_touch;"
#define A 0x100000

static uint64_t cyc(const struct fabric_side *side, uint32_t src, uint32_t dst, uint32_t bytes)
{
    return net_zero_load_cyc(side->net, src, dst, bytes);
}

/* SM 1 fetches the line into its home, the slice of its partition. SM 0 then reads the line: over its
 * link, bypassing its slice without a tag lookup, over the slice network, and back on the same path. */
BED_TEST(remote_latency_is_the_sum_of_its_parts)
{
    struct bed b;
    static const struct bed_op warm[] = {BED_LOAD(A, 1, .from_block = 1), BED_END};
    static const struct bed_op read[] = {BED_LOAD(A, 1), BED_USE(1), BED_END};
    bed_open(&b, NUBA);
    bed_touch(&b, 1, A, 1);
    bed_run(&b, warm, 1, 2);
    assert_int_equal(bed_stats(&b).llc.past, 0);
    assert_int_equal(bed_stats(&b).llc.home_reads, 1);
    bed_run(&b, read, 1, 1);
    const struct config *c = &b.machine.config;
    const struct fabric *f = b.system->fabrics;
    const uint64_t there = 1 + cyc(&f->request, 0, 0, 8) + c->llc.pass_cyc + cyc(&f->far_request, 0, 1, 8);
    const uint64_t back = cyc(&f->far_reply, 1, 0, 136) + 1 + cyc(&f->reply, 0, 0, 136);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), there + c->llc.latency_cyc + back + c->l1.fill_latency_cyc);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.past, 1);
    assert_int_equal(s.llc.crossing_reads, 1);
    assert_int_equal(slice_stats(b.system->slices[0])->tag_cycles, 0);
    bed_close(&b);
}

/* The tag stage serves at most one request per cycle. If both queues hold a request, it alternates between
 * them. */
BED_TEST(local_and_remote_requests_alternate_cycle_by_cycle)
{
    struct bed b;
    static const struct bed_op read[] = {BED_LOAD(A, 1, .stride = 128), BED_USE(1), BED_END};
    bed_open(&b, NUBA
             "llc.port=128 B;slice_net.width=256 B;net.width=256 B;slice_net.source_packets=8;"
             "llc.data_queue=64;llc.reply_queue=64;l1.lines_per_cyc=4;l1.miss_queue=64;sm.block_slots=1");
    bed_touch(&b, 0, A, 4096);
    bed_run(&b, read, 1, 1); /* fills slice 0 with all lines */
    bed_begin(&b, read, 1, 2);
    struct slice *const s = b.system->slices[0];
    const struct fabric *const f = b.system->fabrics;
    uint32_t contested = 0;
    int last = -1;
    uint64_t last_contested = 0;
    while (!b.over) {
        const uint64_t now = system_now(b.system) + 1;
        const uint64_t before = s->stats.requests, far_before = s->stats.far_requests;
        const uint32_t waiting = s->remote->local.count;
        const bool arriving = fabric_at(&f->request, now, 0) != REQUEST_NONE;
        const bool both = (waiting || arriving) && fabric_at(&f->far_request, now, 0) != REQUEST_NONE;
        (void)engine_run(b.system->engine, now);
        assert_true(s->stats.requests - before <= 1);
        if (!both) continue;
        assert_int_equal(s->stats.requests - before, 1);
        const int far = s->stats.far_requests != far_before;
        if (last >= 0 && last_contested == now - 1) assert_int_not_equal(far, last);
        last = far;
        last_contested = now;
        contested++;
    }
    bed_finish(&b);
    assert_true(contested >= 16);
    assert_int_equal(s->stats.far_requests, 32);
    bed_close(&b);
}

/* The home performs stores and atomics to remote lines. */
BED_TEST(stores_and_atomics_bypass_to_their_home)
{
    struct bed b;
    static const struct bed_op ops[] = {BED_STORE(A, BED_NO_REG),
                                        BED_MEMORY(ATOMIC, A, 2, BED_NO_REG, .mask = 1), BED_USE(2), BED_END};
    bed_open(&b, NUBA);
    bed_touch(&b, 1, A, 1);
    b.only_sms = 1;
    bed_run(&b, ops, 1, 1);
    bed_settle(&b);
    assert_int_equal(slice_stats(b.system->slices[0])->requests, 0);
    assert_int_equal(slice_stats(b.system->slices[1])->writes, 1);
    assert_int_equal(slice_stats(b.system->slices[1])->atomics, 1);
    bed_close(&b);
}

/* A link of an SM carries a reply of 136 B in nine cycles. Two slices of a partition therefore give the SM
 * twice the bandwidth of one. */
BED_TEST(local_bandwidth_is_that_of_the_links)
{
    for (uint32_t slices = 1; slices <= 2; slices++) {
        struct bed b;
        enum { LOADS = 64 };
        char settings[512];
        static const struct bed_op read[] = {
            BED_LOAD(A, 1, .stride = 128, .by_warp = 4096, .flags = WARP_F_STRONG), BED_USE(1), BED_END};
        (void)snprintf(settings, sizeof settings,
                       NUBA
                       "partition.slices=%u;llc.port=128 B;llc.ways=16;net.source_packets=8;l1.miss_queue=64",
                       slices);
        bed_open(&b, settings);
        bed_touch(&b, 0, A, 16 * 4096);
        b.only_sms = 1;
        bed_run(&b, read, 16, 1);
        bed_run(&b, read, 16, 1);
        const uint64_t took = b.end_cyc - b.start_cyc, least = 16 * 32 * 9 / slices;
        assert_in_range(took, least, least + least / 10 + 300);
        bed_close(&b);
    }
}

static void set_replication(struct bed *b, bool on)
{
    organisation_set(b->system->organisations, &(struct organisation_state){.degree = 1, .replicate = on}, 0);
}

/* All queues have one entry: the run is slow and ends. */
BED_TEST(partitions_with_remote_requests_only_do_not_deadlock)
{
    static const char *const machines[] = {
        NUBA "llc.mshrs=2;llc.ways=2;gpu.llc_size=2 KiB;llc.forward_queue=1;llc.local_queue=1",
        NUBA "llc.mshrs=1;llc.forward_queue=1;llc.reply_queue=1;llc.data_queue=1;llc.local_queue=1",
        NUBA "slice_net.sink_packets=1;slice_net.source_packets=1;net.sink_packets=1;net.source_packets=1;"
             "llc.mshrs=2;llc.local_queue=1;llc.forward_queue=1",
    };
    static const struct bed_op ops[] = {
        BED_LOAD(A, 1, .stride = 128, .scatter_lines = 4096, .flags = WARP_F_READ_ONLY),
        BED_STORE(A + 0x200000, 1, .stride = 128, .scatter_lines = 4096),
        BED_LOAD(A, 2, .stride = 128, .scatter_lines = 4096, .flags = WARP_F_READ_ONLY), BED_USE(2), BED_END};
    for (size_t k = 0; k < 2 * (sizeof machines / sizeof *machines); k++) {
        struct bed b;
        bed_open(&b, machines[k / 2]);
        set_replication(&b, k % 2);
        for (uint32_t page = 0; page < 132; page++) bed_touch(&b, page % 2, A + (uint64_t)page * 4096, 1);
        bed_run(&b, ops, 4, 64);
        bed_settle(&b);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.llc.forwards, s.llc.answers);
        assert_true(s.llc.forwards > 1000);
        assert_int_equal(s.llc.requests + s.llc.past, s.llc.replies);
        bed_close(&b);
    }
}

/* ---- replicas ---- */

static void set(void *flag) { *(bool *)flag = true; }

BED_TEST(read_only_remote_lines_are_replicated_if_replication_is_on)
{
    struct bed b;
    static const struct bed_op read[] = {BED_LOAD(A, 1, .flags = WARP_F_READ_ONLY | WARP_F_STRONG),
                                         BED_USE(1), BED_LOAD(A, 2, .flags = WARP_F_STRONG), BED_USE(2),
                                         BED_END};
    bed_open(&b, NUBA);
    set_replication(&b, true);
    bed_touch(&b, 1, A, 1);
    b.only_sms = 1;
    bed_run(&b, read, 1, 1);
    bed_run(&b, read, 1, 1);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.fetches, 1);
    assert_int_equal(s.llc.copy_reads, 1); /* the second read-only load; loads of writable lines cross */
    assert_int_equal(s.llc.crossing_reads, 3);
    /* Replication off: the replica stays in the slice, and no load uses it. */
    set_replication(&b, false);
    bed_run(&b, read, 1, 1);
    assert_int_equal(bed_stats(&b).llc.copy_reads, 1);
    assert_int_equal(slice_lines_used(b.system->slices[0]), 1);
    bool done = false;
    slice_flush(b.system->slices[0], llc_boundary_drop_remote, false, set, &done);
    bed_settle(&b);
    assert_true(done);
    assert_int_equal(slice_lines_used(b.system->slices[0]), 0);
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remote_latency_is_the_sum_of_its_parts),
        cmocka_unit_test(local_and_remote_requests_alternate_cycle_by_cycle),
        cmocka_unit_test(stores_and_atomics_bypass_to_their_home),
        cmocka_unit_test(local_bandwidth_is_that_of_the_links),
        cmocka_unit_test(partitions_with_remote_requests_only_do_not_deadlock),
        cmocka_unit_test(read_only_remote_lines_are_replicated_if_replication_is_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
