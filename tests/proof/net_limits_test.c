/* Cases with a closed answer: permutation traffic fills the links, a closed loop gives
 * min(outstanding / latency, capacity), loads follow the arithmetic of rings and links. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "net/net_model.h"

static struct net_model_result run(const struct net_model_spec *s)
{
    struct net_model_result r;
    net_model_run(s, &r);
    return r;
}

/* Everything holds with routers that switch flits and with those that switch whole packets. */
static bool whole_packets;

static struct net_model_spec model(enum net_topology topology, uint32_t nodes)
{
    struct net_model_spec s = net_model_default();
    s.net.topology = topology;
    s.net.sources = s.net.sinks = nodes;
    s.net.hold = whole_packets;
    if (topology == NET_LINKS) s.net.link_latency_cyc = 10;
    s.drain_cyc = 0;
    return s;
}

static void permutation_fills(struct net_model_spec s, const char *what)
{
    s.traffic = NET_PERMUTATION;
    s.rate = 1;
    for (uint32_t flits = 1; flits <= 9; flits += 4) {
        s.packet_bytes[0] = flits * s.net.width_bytes;
        const double accepted = run(&s).accepted;
        if (accepted < 0.97 || accepted > 1.0001)
            fail_msg("%s, %u flits: %.4f of the width", what, flits, accepted);
    }
}

static void permutation_traffic_fills_every_link(void **state)
{
    (void)state;
    for (uint32_t n = 4; n <= 128; n *= 2) permutation_fills(model(NET_CROSSBAR, n), "crossbar");
    permutation_fills(model(NET_HXBAR, 64), "hxbar 8x8");
    struct net_model_spec s = model(NET_HXBAR, 64);
    s.net.first_routers = 16;
    s.net.second_routers = 4;
    permutation_fills(s, "hxbar 16x4");
    s.net.hold = true;
    permutation_fills(s, "hxbar 16x4, hold");
    s = model(NET_CROSSBAR, 64);
    s.net.hold = true;
    permutation_fills(s, "crossbar, hold");
    s.net.input_speedup = 2;
    s.net.internal_speedup = 2;
    permutation_fills(s, "crossbar, speed-ups");
    permutation_fills(model(NET_RING, 8), "ring");
    permutation_fills(model(NET_LINKS, 4), "links");
}

static void a_hot_output_carries_one_flit_per_cycle(void **state)
{
    (void)state;
    const enum net_topology topologies[] = {NET_CROSSBAR, NET_HXBAR, NET_RING};
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t flits = 1; flits <= 9; flits += 4) {
            struct net_model_spec s = model(topologies[k], k == 2 ? 8 : 64);
            s.traffic = NET_HOTSPOT;
            s.rate = 0.9;
            s.packet_bytes[0] = 16 * flits;
            const double accepted = run(&s).accepted;
            if (fabs(accepted - 1) > 0.0005) fail_msg("topology %u, %u flits: %.4f", k, flits, accepted);
        }
    }
}

/* Requests of one flit, replies of nine. A reply port carries 1/9 reply per cycle at most; the loop without
 * load takes the request's latency, the reply's, and one cycle at each end to turn round. */
static void a_closed_loop_gives_outstanding_over_latency_or_capacity(void **state)
{
    (void)state;
    struct net_model_spec s = model(NET_CROSSBAR, 64);
    s.traffic = NET_PERMUTATION; /* no contention: the closed answer is exact */
    s.packet_bytes[0] = 8;
    s.reply_bytes = 136;
    s.service_cyc = 50;
    const double unloaded = 6 + 50 + 14;
    for (uint32_t limit = 1; limit <= 32; limit *= 2) {
        s.outstanding = limit;
        const struct net_model_result r = run(&s);
        const double rate = r.accepted_packets / 64, by_latency = limit / unloaded, capacity = 1.0 / 9;
        const double want = by_latency < capacity ? by_latency : capacity;
        if (fabs(rate / want - 1) > 0.02) fail_msg("%u outstanding: %.4f, expected %.4f", limit, rate, want);
        if (limit == 1) assert_true(fabs(r.round_trip_mean - unloaded) < 0.001);
        /* Little: throughput x measured round trip = outstanding */
        assert_true(fabs(rate * r.round_trip_mean / limit - 1) < 0.02);
    }
    /* uniform: the reply network saturates where it does alone */
    struct net_model_spec open = model(NET_CROSSBAR, 64);
    open.packet_bytes[0] = 136;
    open.rate = 1;
    const double capacity = run(&open).accepted / 9;
    s.traffic = NET_UNIFORM;
    s.outstanding = 1;
    const struct net_model_result light = run(&s);
    assert_true(fabs(light.accepted_packets / 64 * light.round_trip_mean - 1) < 0.02);
    assert_true(light.round_trip_mean < unloaded * 1.1);
    s.outstanding = 64;
    const double heavy = run(&s).accepted_packets / 64;
    if (fabs(heavy / capacity - 1) > 0.05) fail_msg("64 outstanding: %.4f, capacity %.4f", heavy, capacity);
}

/* Uniform traffic on a ring of n nodes (n even, own node included) crosses n/4 links on average; a node has
 * two outgoing links, so they carry rate * n/8 each and the ring saturates below 8/n per node. */
static void a_ring_is_limited_by_its_links(void **state)
{
    (void)state;
    for (uint32_t nodes = 4; nodes <= 16; nodes *= 2) {
        struct net_model_spec s = model(NET_RING, nodes);
        s.packet_bytes[0] = 16;
        s.rate = 1.6 / nodes;
        s.drain_cyc = 5000;
        const struct net_model_result r = run(&s);
        assert_false(r.saturated);
        if (fabs(r.stages[1].mean - s.rate * nodes / 8) > 0.01)
            fail_msg("%u nodes: links %.3f", nodes, r.stages[1].mean);
    }
    /* neighbours only: both links of a node could be used, one is: full width */
    struct net_model_spec s = model(NET_RING, 8);
    s.traffic = NET_PERMUTATION;
    s.rate = 1;
    const struct net_model_result r = run(&s);
    assert_true(r.stages[1].max > 0.97 && r.stages[1].min == 0);
}

static void a_link_delivers_width_times_clock(void **state)
{
    (void)state;
    struct net_model_spec s = model(NET_LINKS, 4);
    s.traffic = NET_PERMUTATION;
    s.net.width_bytes = 64;
    s.packet_bytes[0] = 64;
    s.rate = 1;
    assert_true(fabs(run(&s).bytes_per_cycle / (4 * 64) - 1) < 0.0001);
    s.rate = 0.25;
    assert_true(fabs(run(&s).bytes_per_cycle / (4 * 64) - 0.25) < 0.01);
}

static void the_same_seed_gives_the_same_bits(void **state)
{
    (void)state;
    struct net_model_spec s = model(NET_HXBAR, 64);
    s.packet_bytes[0] = 144;
    s.rate = 0.55;
    const struct net_model_result a = run(&s), b = run(&s);
    assert_memory_equal(&a.latency_mean, &b.latency_mean, sizeof a.latency_mean);
    assert_int_equal(a.total_packets, b.total_packets);
    assert_int_equal(a.latency_max, b.latency_max);
    s.seed = 2;
    assert_true(run(&s).latency_mean != a.latency_mean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutation_traffic_fills_every_link),
        cmocka_unit_test(a_hot_output_carries_one_flit_per_cycle),
        cmocka_unit_test(a_closed_loop_gives_outstanding_over_latency_or_capacity),
        cmocka_unit_test(a_ring_is_limited_by_its_links),
        cmocka_unit_test(a_link_delivers_width_times_clock),
        cmocka_unit_test(the_same_seed_gives_the_same_bits),
    };
    const int flits = cmocka_run_group_tests_name("flits", tests, NULL, NULL);
    whole_packets = true;
    return flits + cmocka_run_group_tests_name("whole packets", tests, NULL, NULL);
}
