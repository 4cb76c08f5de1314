/* Several GPUs and chiplets: the path of a request through the network levels, replicas of remote lines,
 * and machines of one GPU, whose results must not depend on the support for several. */
#include "system_testbed.h"

/* Two GPUs of one SM, one slice and one channel; everything at 1 GHz. */
#define TWO_GPUS \
    "system.gpus=2;gpu_net.bandwidth=8 GB/s;gpu_net.latency=800 cycles;llc.organisation=numa;" \
    "llc.boundary=drop_remote;" \
    "runtime.placement=first_touch_gpu;"
#define TWO_CHIPLETS \
    "gpu.chiplets=2;chiplet_net.bandwidth=128 GB/s;gpu.llc_size=256 KiB;gpu.memory_size=128 MiB;"
#define A 0x100000

static uint64_t cyc(const struct fabric_side *side, uint32_t src, uint32_t dst, uint32_t bytes)
{
    return net_zero_load_cyc(side->net, src, dst, bytes);
}

/* Latency from a slice to a slice of the other GPU: slice 0 to gateway (port 1), GPU to GPU, gateway to
 * slice 0. */
static uint64_t far_cyc(const struct bed *b, enum net_direction d, uint32_t bytes, uint32_t from, uint32_t to)
{
    return cyc(system_net_at(b->system, NET_LEVEL_slice_net, d, from), 0, 1, bytes) +
           cyc(system_net_at(b->system, NET_LEVEL_gpu_net, d, 0), from, to, bytes) +
           cyc(system_net_at(b->system, NET_LEVEL_slice_net, d, to), 1, 0, bytes);
}

/* SM 1 fetches the line into its home, the slice of its GPU. SM 0 then reads the line. */
BED_TEST(remote_latency_is_the_sum_of_its_parts)
{
    struct bed b;
    static const struct bed_op warm[] = {BED_LOAD(A, 1, .from_block = 1), BED_END};
    static const struct bed_op read[] = {BED_LOAD(A, 1), BED_USE(1), BED_END};
    bed_open(&b, TWO_GPUS);
    bed_touch(&b, 1, A, 1);
    bed_run(&b, warm, 1, 2);
    assert_int_equal(bed_stats(&b).llc.fetches, 0);
    bed_run(&b, read, 1, 1);
    const struct config *c = &b.machine.config;
    const struct fabric *f = b.system->fabrics;
    const uint64_t there =
        1 + cyc(&f->request, 0, 0, 8) + c->llc.miss_latency_cyc + far_cyc(&b, NET_REQUESTS, 8, 0, 1);
    const uint64_t back =
        far_cyc(&b, NET_REPLIES, 136, 1, 0) + c->llc.fill_latency_cyc + cyc(&f->reply, 0, 0, 136);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), there + c->llc.latency_cyc + back + c->l1.fill_latency_cyc);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.fetches, 1);
    assert_int_equal(s.gates.between_gpus, 2); /* request and reply */
    assert_int_equal(s.gates.passed, 4);
    bed_run(&b, read, 1, 1); /* the slice of SM 0 has a replica now */
    assert_int_equal(bed_cyc(&b, 0, 0, 1), 1 + cyc(&f->request, 0, 0, 8) + c->llc.latency_cyc +
                                               cyc(&f->reply, 0, 0, 136) + c->l1.fill_latency_cyc);
    assert_int_equal(bed_stats(&b).llc.remote_hits, 1);
    bed_close(&b);
}

/* memory_side: the path leads through the networks of both chiplets and the gateways between them. */
BED_TEST(a_memory_side_slice_of_another_chiplet_is_reached_through_gateways)
{
    struct bed b;
    static const struct bed_op read[] = {BED_LOAD(A, 1), BED_USE(1), BED_END};
    bed_open(&b, TWO_CHIPLETS "runtime.placement=first_touch_chiplet");
    bed_touch(&b, 1, A, 1);
    bed_run(&b, read, 1, 1);
    bed_run(&b, read, 1, 1);
    const struct config *c = &b.machine.config;
    const struct fabric *f = b.system->fabrics;
    const uint64_t there = cyc(&f[0].request, 0, 1, 8) +
                           cyc(system_net_at(b.system, NET_LEVEL_chiplet_net, NET_REQUESTS, 0), 0, 1, 8) +
                           cyc(&f[1].request, 1, 0, 8);
    const uint64_t back = cyc(&f[1].reply, 0, 1, 136) +
                          cyc(system_net_at(b.system, NET_LEVEL_chiplet_net, NET_REPLIES, 0), 1, 0, 136) +
                          cyc(&f[0].reply, 1, 0, 136);
    assert_int_equal(bed_cyc(&b, 0, 0, 1), 1 + there + c->llc.latency_cyc + back + c->l1.fill_latency_cyc);
    assert_int_equal(bed_stats(&b).llc.remote, 2);
    bed_close(&b);
}

/* The time of a stream of remote lines equals the time that their replies occupy the link. */
BED_TEST(a_link_carries_its_bandwidth)
{
    struct bed b;
    enum { BLOCKS = 64, LINES = 32 * BLOCKS };
    static const struct bed_op read[] = {BED_LOAD(A, 1, .stride = 128, .by_block = 32 * 128), BED_USE(1),
                                         BED_END};
    bed_open(&b, TWO_GPUS "llc.port=128 B;net.width=128 B;gpu_net.buffer=64 KiB;l1.miss_queue=64");
    bed_touch(&b, 1, A, (uint64_t)LINES * 128);
    b.only_sms = 1;
    bed_run(&b, read, 1, BLOCKS);
    const uint64_t cycles = LINES * (136 / 8), took = b.end_cyc - b.start_cyc;
    assert_in_range(took, cycles, cycles + cycles / 33 + 2500); /* 3 % plus one round trip */
    assert_int_equal(bed_stats(&b).llc.fetches, LINES);
    bed_close(&b);
}

/* A store is forwarded to its home, and updates the local replica. */
BED_TEST(stores_to_remote_lines_are_written_at_their_home)
{
    struct bed b;
    static const struct bed_op ops[] = {BED_LOAD(A, 1), BED_USE(1), BED_STORE(A, BED_NO_REG),
                                        BED_LOAD(A, 2), BED_USE(2), BED_END};
    bed_open(&b, TWO_GPUS);
    bed_touch(&b, 1, A, 1);
    b.only_sms = 1;
    bed_run(&b, ops, 1, 1);
    bed_settle(&b);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.fetches, 1); /* the second load hits the replica */
    assert_int_equal(s.llc.passed, 1);
    assert_int_equal(s.llc.far_requests, 2);
    assert_int_equal(slice_stats(b.system->slices[0])->memory_writes, 0);
    assert_int_equal(slice_stats(b.system->slices[1])->writes, 1);
    bed_close(&b);
}

/* An atomic invalidates the replica: the next load fetches the line again. */
BED_TEST(atomics_to_remote_lines_invalidate_the_replica)
{
    struct bed b;
    static const struct bed_op ops[] = {
        BED_LOAD(A, 1), BED_USE(1),     BED_MEMORY(ATOMIC, A, 2, BED_NO_REG, .mask = 1),
        BED_USE(2),     BED_LOAD(A, 3), BED_USE(3),
        BED_END};
    bed_open(&b, TWO_GPUS);
    bed_touch(&b, 1, A, 1);
    b.only_sms = 1;
    bed_run(&b, ops, 1, 1);
    assert_int_equal(bed_stats(&b).llc.fetches, 2);
    assert_int_equal(slice_stats(b.system->slices[1])->atomics, 1);
    bed_close(&b);
}

/* Two GPUs with more requests for each other's lines than MSHRs, ways and queue entries do not deadlock. */
BED_TEST(slices_full_of_remote_lines_do_not_deadlock)
{
    static const char *const machines[] = {
        TWO_GPUS "llc.mshrs=2;llc.ways=2;gpu.llc_size=1 KiB;llc.forward_queue=1",
        TWO_GPUS "llc.mshrs=1;llc.forward_queue=1;llc.reply_queue=1;llc.data_queue=1",
        TWO_GPUS "llc.ways=1;gpu.llc_size=1 KiB;llc.mshrs=1",
        TWO_GPUS
        "gpu_net.topology=switch;gpu_net.buffer=136 B;gpu_net.source_packets=1;slice_net.sink_packets=1;"
        "slice_net.source_packets=1;net.sink_packets=1;net.source_packets=1;llc.mshrs=2",
    };
    static const struct bed_op ops[] = {BED_LOAD(A, 1, .stride = 128, .scatter_lines = 4096),
                                        BED_STORE(A, 1, .stride = 128, .scatter_lines = 4096),
                                        BED_LOAD(A, 2, .stride = 128, .scatter_lines = 4096), BED_USE(2),
                                        BED_END};
    for (size_t k = 0; k < sizeof machines / sizeof *machines; k++) {
        struct bed b;
        bed_open(&b, machines[k]);
        for (uint32_t page = 0; page < 132; page++) bed_touch(&b, page % 2, A + (uint64_t)page * 4096, 1);
        bed_run(&b, ops, 4, 64);
        bed_settle(&b);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.llc.forwards, s.llc.answers);
        assert_true(s.llc.forwards > 1000);
        assert_int_equal(s.llc.requests, s.llc.replies);
        bed_close(&b);
    }
}

static void set(void *flag) { *(bool *)flag = true; }

/* The pass at a kernel's end invalidates replicas of remote lines and keeps local lines. */
BED_TEST(kernel_ends_invalidate_remote_lines_only)
{
    static const struct bed_op ops[] = {BED_LOAD(A, 1), BED_LOAD(A + 0x100000, 2), BED_USE(1), BED_USE(2),
                                        BED_END};
    static const enum llc_boundary ends[] = {llc_boundary_drop_remote, llc_boundary_replicas};
    for (uint32_t k = 0; k < 2; k++) {
        struct bed b;
        bed_open(&b, TWO_GPUS);
        bed_touch(&b, 1, A, 1);
        b.only_sms = 1;
        bed_run(&b, ops, 1, 1);
        assert_int_equal(slice_lines_used(b.system->slices[0]), 2);
        bool done[2] = {false, false};
        for (uint32_t n = 0; n < 2; n++) slice_flush(b.system->slices[n], ends[k], false, set, &done[n]);
        bed_settle(&b);
        assert_true(done[0] && done[1]);
        assert_int_equal(slice_lines_used(b.system->slices[0]), 1);
        assert_int_equal(slice_lines_used(b.system->slices[1]), 1); /* the home keeps its line */
        bed_close(&b);
    }
}

/* first_touch_gpu: the pages of each SM lie in its GPU, and no request crosses between GPUs. */
BED_TEST(first_touch_places_pages_in_the_gpu_of_the_access)
{
    struct bed b;
    static const struct bed_op ops[] = {BED_LOAD(A, 1, .by_block = 4096), BED_STORE(A, 1, .by_block = 4096),
                                        BED_USE(1), BED_END};
    bed_open(&b, TWO_GPUS);
    bed_run(&b, ops, 1, 16);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.llc.forwards, 0);
    assert_int_equal(s.gates.passed, 0);
    assert_int_equal(s.llc.local, 32);
    bed_close(&b);
}

static struct stats run_mix(const char *settings, uint64_t *cycles)
{
    static const struct bed_op ops[] = {BED_LOAD(A, 1, .stride = 128, .scatter_lines = 4096),
                                        BED_STORE(A, 1, .stride = 128, .scatter_lines = 4096),
                                        BED_MEMORY(ATOMIC, A, 2, BED_NO_REG, .scatter_lines = 64),
                                        BED_LOAD(A, 3, .stride = 128, .scatter_lines = 4096),
                                        BED_USE(3),
                                        BED_END};
    struct bed b;
    bed_open_machine(&b, "gpu1", settings);
    bed_run(&b, ops, 4, 512);
    bed_settle(&b);
    const struct stats s = bed_stats(&b);
    *cycles = b.end_cyc;
    bed_close(&b);
    return s;
}

/* A machine of one GPU with an organisation for several GPUs has bit-identical statistics. */
BED_TEST(one_gpu_as_a_tree_equals_the_basic_gpu)
{
    uint64_t plain_cycles, tree_cycles;
    const struct stats plain = run_mix("mmu.mode=tlb", &plain_cycles);
    const struct stats tree = run_mix(
        "mmu.mode=tlb;llc.organisation=numa;runtime.placement=first_touch_gpu;gpu_net.bandwidth=7 GB/s",
        &tree_cycles);
    assert_int_equal(plain_cycles, tree_cycles);
    assert_memory_equal(&plain, &tree, sizeof plain);
    assert_true(plain.llc.requests > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remote_latency_is_the_sum_of_its_parts),
        cmocka_unit_test(a_memory_side_slice_of_another_chiplet_is_reached_through_gateways),
        cmocka_unit_test(a_link_carries_its_bandwidth),
        cmocka_unit_test(stores_to_remote_lines_are_written_at_their_home),
        cmocka_unit_test(atomics_to_remote_lines_invalidate_the_replica),
        cmocka_unit_test(slices_full_of_remote_lines_do_not_deadlock),
        cmocka_unit_test(kernel_ends_invalidate_remote_lines_only),
        cmocka_unit_test(first_touch_places_pages_in_the_gpu_of_the_access),
        cmocka_unit_test(one_gpu_as_a_tree_equals_the_basic_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
