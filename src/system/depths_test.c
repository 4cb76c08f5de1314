/* Queue depths: compared with a formula for isolated requests, and with counts of every queue in every
 * cycle. */
#include "llc/llc_private.h"
#include "net/net_private.h"
#include "system_testbed.h"

#define ENDS(...)            ((const struct bed_op[]){__VA_ARGS__, BED_END})
#define READ(base, dst, ...) BED_LOAD(base, dst, .flags = WARP_F_STRONG, __VA_ARGS__)

static const uint64_t A = 0x10000;
enum { LINE = 128, ALONE = 4 };

/* ---- isolated requests ---- */

/* A miss holds its MSHR for the latency of a hit plus the difference between the latencies of miss and
 * hit: the return path is the same. Columns wait in the channel for the activation of their row, or for
 * the data bus. */
BED_TEST(an_isolated_miss_holds_an_mshr_for_its_extra_latency)
{
    struct bed b;
    const struct bed_op *reads =
        ENDS(READ(A, 1, .mask = 1), BED_USE(1), READ(A + LINE, 2, .mask = 1), BED_USE(2),
             READ(A + 2 * LINE, 3, .mask = 1), BED_USE(3), READ(A + 3 * LINE, 4, .mask = 1), BED_USE(4));
    bed_open(&b, "net.width=256 B");
    bed_run(&b, reads, 1, 1);
    const uint64_t misses_cyc = bed_cyc(&b, 0, 0, 2 * ALONE - 1);
    const struct system_depth mshrs = system_depth(b.system, SYSTEM_QUEUE_MSHRS);
    const struct stats s = bed_stats(&b);
    bed_run(&b, reads, 1, 1);
    const uint64_t hits_cyc = bed_cyc(&b, 0, 0, 2 * ALONE - 1);
    assert_int_equal(s.llc.read_misses, ALONE);
    assert_int_equal(bed_stats(&b).llc.read_hits, ALONE);
    assert_true(mshrs.has_sum && mshrs.has_max && mshrs.has_peak);
    assert_int_equal(mshrs.sum, misses_cyc - hits_cyc + ALONE * b.machine.config.llc.latency_cyc);
    assert_int_equal(mshrs.max, mshrs.sum);
    assert_int_equal(mshrs.peak, 1);
    /* hits use no MSHR, and no request waits at a free port */
    assert_int_equal(system_depth(b.system, SYSTEM_QUEUE_MSHRS).sum, mshrs.sum);
    assert_int_equal(system_depth(b.system, SYSTEM_QUEUE_INPUT).sum, 0);
    assert_int_equal(system_depth(b.system, SYSTEM_QUEUE_INSIDE).sum, bed_stats(&b).llc.stay_cyc);
    assert_int_equal(system_depth(b.system, SYSTEM_QUEUE_CHANNEL).sum, s.dram.wait_cyc);
    bed_close(&b);
}

/* Hits arrive in every cycle, and each uses the data port for 16 cycles. The tag stage stalls while
 * llc.data_queue lines wait for the port, and accepts request k when the data-port queue has a free entry. */
BED_TEST(requests_wait_at_the_input_while_the_data_port_queue_is_full)
{
    struct bed b;
    const struct bed_op *lines = ENDS(READ(A, 1, .stride = LINE), BED_USE(1));
    bed_open(&b, "net.width=256 B;net.sink_packets=64;llc.port=8 B;llc.data_queue=1");
    bed_run(&b, lines, 1, 1);
    const uint64_t before = system_depth(b.system, SYSTEM_QUEUE_INPUT).sum;
    bed_run(&b, lines, 1, 1);
    uint64_t waited = 0;
    for (uint64_t k = 0; k < 32; k++) { /* request k arrives in cycle k; the port is free in cycle 16 k */
        const uint64_t taken = k < 2 ? k : 16 * (k - 1);
        waited += taken - k;
    }
    assert_int_equal(system_depth(b.system, SYSTEM_QUEUE_INPUT).sum - before, waited);
    bed_close(&b);
}

/* ---- counts of every cycle ---- */

/* Packets in the receiver queue of a port now. */
static uint64_t at_port(const struct fabric_side *s, uint32_t port, uint64_t now)
{
    const struct net_sink *k = &s->net->sinks[port];
    uint64_t count = 0;
    for (uint32_t i = k->popped; i != k->pushed; i++)
        count += s->net->flights[k->slots[i & k->mask].flight].visible_cyc <= now;
    return count;
}

static uint64_t due_at_memory(const struct slice *s, uint64_t tick)
{
    uint64_t count = 0;
    for (uint32_t q = 0; q < s->spec->channels; q++) {
        const struct memory_queue *ops = &s->queues[q].ops;
        const struct memory_op *op = ops->front;
        for (uint32_t k = 0; k < ops->count; k++, op = op + 1 == ops->end ? ops->ring : op + 1)
            count += op->ready_tick <= tick;
    }
    return count;
}

static uint64_t found(const struct system *g, enum system_queue queue, uint32_t slice, uint64_t now)
{
    const struct slice *s = g->slices[slice];
    switch (queue) {
    case SYSTEM_QUEUE_INPUT: return at_port(&g->fabrics->request, slice, now);
    case SYSTEM_QUEUE_REMOTE_INPUT:
        return g->fabrics->forwards ? at_port(&g->fabrics->far_request, slice, now) : 0;
    case SYSTEM_QUEUE_REMOTE_REPLIES:
        return g->fabrics->forwards ? at_port(&g->fabrics->far_reply, slice, now) : 0;
    case SYSTEM_QUEUE_LOCAL: return s->remote ? s->remote->local.count : 0;
    case SYSTEM_QUEUE_INSIDE: return s->inside;
    case SYSTEM_QUEUE_MSHRS: return s->spec->mshrs - s->mshr_free_count;
    case SYSTEM_QUEUE_MEMORY: return due_at_memory(s, now);
    case SYSTEM_QUEUE_CHANNEL:
    case SYSTEM_QUEUES: break;
    }
    return 0;
}

enum { SLICES_MAX = 8 };

/* Compares the depths with the counts of all cycles before this one. */
static void depths_agree(const struct system *g, uint64_t sums[SYSTEM_QUEUES][SLICES_MAX])
{
    for (enum system_queue queue = 0; queue < SYSTEM_QUEUE_CHANNEL; queue++) {
        const struct system_depth d = system_depth(g, queue);
        uint64_t all = 0, most = 0;
        for (uint32_t k = 0; k < g->slice_count; k++) {
            all += sums[queue][k];
            if (sums[queue][k] > most) most = sums[queue][k];
        }
        assert_int_equal(d.sum, all);
        assert_int_equal(d.max, most);
        if (d.parts) assert_int_equal(sums[queue][d.deepest], most);
    }
}

/* All clocks are equal, so a cycle is one tick. */
static void count_every_cycle(const char *settings, const struct bed_op *ops, uint32_t warps)
{
    struct bed b;
    bed_open(&b, settings);
    struct system *g = b.system;
    uint64_t sums[SYSTEM_QUEUES][SLICES_MAX] = {{0}};
    assert_true(g->slice_count <= SLICES_MAX && config_tick_frequency(g->config) == g->config->clock.sm);
    bed_begin(&b, ops, warps, 8);
    while (!b.over) {
        (void)engine_run(g->engine, system_now(g) + 1);
        if (system_now(g) % 97 == 0) depths_agree(g, sums);
        for (uint32_t queue = 0; queue < SYSTEM_QUEUES; queue++)
            for (uint32_t k = 0; k < g->slice_count; k++) sums[queue][k] += found(g, queue, k, system_now(g));
    }
    depths_agree(g, sums);
    for (enum system_queue queue = 0; queue < SYSTEM_QUEUE_CHANNEL; queue++) /* the test uses every queue */
        if (system_depth(g, queue).parts && queue != SYSTEM_QUEUE_REMOTE_REPLIES)
            assert_true(system_depth(g, queue).sum > 50);
    bed_finish(&b);
    bed_close(&b);
}

#define CROWD \
    "partition.sms=4;partition.slices=2;partition.channels=1;chiplet.partitions=2;llc.mshrs=3;" \
    "dram.queue_entries=4;l1.mshrs=64;"

BED_TEST(depths_equal_counts_of_every_cycle)
{
    const struct bed_op *ops = ENDS(READ(A, 1, .stride = LINE, .by_warp = 32 * LINE, .by_block = 16 * LINE),
                                    BED_USE(1), BED_STORE(A, 1, .stride = LINE, .by_block = 8 * LINE),
                                    READ(A, 2, .stride = 4 * LINE), BED_USE(2));
    count_every_cycle(CROWD, ops, 2);
    count_every_cycle(CROWD "llc.port=8 B;llc.mshrs=16;sim.work_ahead=false", ops, 2);
    count_every_cycle(CROWD "llc.organisation=nuba;net.topology=links;net.link_latency_cyc=2;slice_net."
                            "topology=crossbar;runtime.placement=round_robin;llc.local_queue=2",
                      ops, 2);
}

/* In windows, the sum over all ports is counted, and the other figures are marked as not counted. */
BED_TEST(windows_report_port_sums_and_mark_uncounted_figures)
{
    const struct bed_op *ops = ENDS(READ(A, 1, .stride = LINE, .by_warp = 32 * LINE, .by_block = 16 * LINE),
                                    BED_USE(1), READ(A, 2, .stride = 4 * LINE), BED_USE(2));
    struct system_depth d[2][SYSTEM_QUEUES];
    for (uint32_t ahead = 0; ahead < 2; ahead++) {
        struct bed b;
        bed_open_machine(&b, "v100", ahead ? NULL : "sim.work_ahead=false");
        assert_true(!b.system->windows == !ahead);
        bed_run(&b, ops, 4, 160);
        bed_settle(&b);
        for (enum system_queue queue = 0; queue < SYSTEM_QUEUES; queue++)
            d[ahead][queue] = system_depth(b.system, queue);
        bed_close(&b);
    }
    assert_true(d[0][SYSTEM_QUEUE_INPUT].sum > 1000);
    for (enum system_queue queue = 0; queue < SYSTEM_QUEUES; queue++) {
        const struct system_depth *stepped = &d[0][queue], *ahead = &d[1][queue];
        const bool uncounted = queue == SYSTEM_QUEUE_MSHRS || queue == SYSTEM_QUEUE_MEMORY;
        assert_int_equal(ahead->parts, stepped->parts);
        if (!stepped->parts) continue;
        assert_true(stepped->has_sum && stepped->has_max);
        assert_true(ahead->has_sum == !uncounted);
        assert_true(ahead->has_max == (!uncounted && queue != SYSTEM_QUEUE_INPUT));
        if (ahead->has_sum) assert_int_equal(ahead->sum, stepped->sum);
        if (ahead->has_max) assert_int_equal(ahead->max, stepped->max);
        if (ahead->has_peak) assert_int_equal(ahead->peak, stepped->peak);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_isolated_miss_holds_an_mshr_for_its_extra_latency),
        cmocka_unit_test(requests_wait_at_the_input_while_the_data_port_queue_is_full),
        cmocka_unit_test(depths_equal_counts_of_every_cycle),
        cmocka_unit_test(windows_report_port_sums_and_mark_uncounted_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
