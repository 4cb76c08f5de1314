/* Physical links between nodes: latency to the cycle, exact bandwidth, two message classes on one link. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "net/net_nodes.h"

enum { REQUESTS, REPLIES, CLASSES };

struct rig {
    struct arena arena;
    struct net_spec spec;
    struct net *nets[CLASSES];
    uint64_t now;
    uint64_t delivered[CLASSES], bytes[CLASSES];
    bool closed[CLASSES]; /* the receivers take nothing */
};

static struct net_spec spec_of(enum net_topology topology, uint32_t nodes, uint64_t bandwidth,
                               uint64_t clock_hz, uint32_t latency_cyc)
{
    struct net_spec s = net_spec_default();
    s.topology = topology;
    s.sources = s.sinks = nodes;
    s.bandwidth = bandwidth;
    s.clock_hz = clock_hz;
    s.link_latency_cyc = latency_cyc;
    s.max_packet_bytes = 144;
    s.min_packet_bytes = 8;
    s.source_packets = 8;
    s.buffer_bytes = (uint32_t)(bandwidth * (2 * latency_cyc + 4) / clock_hz) + 288;
    return s;
}

static void rig_open(struct rig *r, struct net_spec s)
{
    *r = (struct rig){.spec = s};
    arena_init(&r->arena);
    r->nets[REQUESTS] = net_new(&r->arena, &s, NULL);
    r->nets[REPLIES] = net_new_sharing(&r->arena, &s, NULL, r->nets[REQUESTS]);
}

static void rig_close(struct rig *r) { arena_free(&r->arena); }

static bool offer(struct rig *r, uint32_t cls, uint32_t src, uint32_t dst, uint32_t bytes)
{
    const struct net_packet p = {.handle = r->now, .bytes = bytes, .src = src, .dst = dst};
    return net_try_inject(r->nets[cls], &p, r->now);
}

static void take_all(struct rig *r)
{
    for (uint32_t c = 0; c < CLASSES; c++)
        for (uint32_t sink = 0; sink < r->spec.sinks && !r->closed[c]; sink++)
            for (const struct net_packet *p; (p = net_peek(r->nets[c], sink, r->now));) {
                r->delivered[c]++;
                r->bytes[c] += p->bytes;
                net_pop(r->nets[c], sink, r->now);
            }
}

static void cycle(struct rig *r)
{
    for (uint32_t c = 0; c < CLASSES; c++) (void)net_step(r->nets[c], r->now);
    take_all(r);
    r->now++;
}

static uint64_t cycles_for(uint64_t bytes, const struct net_spec *s)
{
    return (bytes * s->clock_hz + s->bandwidth - 1) / s->bandwidth;
}

/* blocked at t-1, visible at t */
static void expect_latency(struct net_spec s, uint32_t src, uint32_t dst, uint32_t bytes, uint64_t expected)
{
    for (uint32_t cls = 0; cls < CLASSES; cls++) {
        struct rig r;
        rig_open(&r, s);
        r.closed[cls] = true;
        for (uint32_t k = 0; k < 5; k++) cycle(&r); /* any cycle will do */
        const uint64_t sent = r.now;
        assert_int_equal(net_zero_load_cyc(r.nets[cls], src, dst, bytes), expected);
        assert_true(offer(&r, cls, src, dst, bytes));
        while (r.now < sent + expected) {
            assert_null(net_peek(r.nets[cls], dst, r.now));
            cycle(&r);
        }
        assert_non_null(net_peek(r.nets[cls], dst, r.now));
        rig_close(&r);
    }
}

static void an_idle_link_has_its_latency_at_every_bandwidth(void **state)
{
    (void)state;
    static const uint64_t bandwidths[] = {64000000000, 180000000000, 2887680000000, 7000000, 1000000000};
    for (size_t k = 0; k < sizeof bandwidths / sizeof *bandwidths; k++)
        for (uint32_t bytes = 8; bytes <= 144; bytes += 34) {
            const struct net_spec links = spec_of(NET_NODE_LINKS, 4, bandwidths[k], 1400000000, 100);
            expect_latency(links, 2, 1, bytes, 100 + cycles_for(bytes, &links));
            const struct net_spec even = spec_of(NET_NODE_SWITCH, 4, bandwidths[k], 1400000000, 100);
            expect_latency(even, 0, 3, bytes, 100 + cycles_for(bytes, &even));
            const struct net_spec odd = spec_of(NET_NODE_SWITCH, 4, bandwidths[k], 1400000000, 33);
            expect_latency(odd, 0, 3, bytes, 33 + cycles_for(bytes, &odd));
            const struct net_spec ring = spec_of(NET_NODE_RING, 6, bandwidths[k], 1400000000, 20);
            expect_latency(ring, 5, 0, bytes, 20 + cycles_for(bytes, &ring));
            expect_latency(ring, 1, 5, bytes, 2 * 20 + cycles_for(bytes, &ring));
            expect_latency(ring, 0, 3, bytes, 3 * 20 + cycles_for(bytes, &ring));
        }
}

/* Node 0 always has packets for node 1; sizes 0: the class sends nothing. */
static void expect_bandwidth(struct net_spec s, uint32_t request_bytes, uint32_t reply_bytes)
{
    enum { WARM = 2000, CYCLES = 20000 };
    const uint32_t sizes[CLASSES] = {request_bytes, reply_bytes};
    struct rig r;
    uint64_t before[CLASSES] = {0};
    rig_open(&r, s);
    for (uint32_t k = 0; k < WARM + CYCLES; k++) {
        if (k == WARM) memcpy(before, r.bytes, sizeof before);
        for (uint32_t c = 0; c < CLASSES; c++)
            while (sizes[c] && offer(&r, c, 0, 1, sizes[c])) {
            }
        cycle(&r);
    }
    const uint64_t bytes = r.bytes[0] + r.bytes[1] - before[0] - before[1];
    const uint64_t capacity = (uint64_t)((unsigned __int128)s.bandwidth * CYCLES / s.clock_hz);
    assert_in_range(bytes, capacity - 2 * 144, capacity + 2 * 144);
    if (request_bytes && reply_bytes) { /* packet by packet */
        const uint64_t more = r.delivered[0] > r.delivered[1] ? r.delivered[0] - r.delivered[1]
                                                              : r.delivered[1] - r.delivered[0];
        assert_in_range(more, 0, 2);
    }
    rig_close(&r);
}

static void a_saturated_link_carries_exactly_its_bandwidth(void **state)
{
    (void)state;
    static const enum net_topology topologies[] = {NET_NODE_LINKS, NET_NODE_RING, NET_NODE_SWITCH};
    for (size_t k = 0; k < 3; k++) {
        const struct net_spec slow = spec_of(topologies[k], 4, 64000000000, 1000000000, 100);
        struct net_spec fast = spec_of(topologies[k], 4, 180000000000, 1400000000, 20);
        fast.source_packets = 64;
        expect_bandwidth(slow, 0, 144);  /* replies to reads */
        expect_bandwidth(slow, 144, 0);  /* stores */
        expect_bandwidth(slow, 16, 144); /* reads there, replies to reads from the other side */
        expect_bandwidth(slow, 144, 16); /* stores there, acknowledgements of stores from the other side */
        expect_bandwidth(fast, 16, 136);
        expect_bandwidth(fast, 37, 101);
    }
}

/* A receiver that takes no requests stops the requests, and nothing else. */
static void requests_never_block_replies(void **state)
{
    (void)state;
    static const enum net_topology topologies[] = {NET_NODE_LINKS, NET_NODE_RING, NET_NODE_SWITCH};
    for (size_t k = 0; k < 3; k++) {
        struct rig r;
        const struct net_spec s = spec_of(topologies[k], 4, 64000000000, 1000000000, 10);
        rig_open(&r, s);
        r.closed[REQUESTS] = true;
        for (uint32_t n = 0; n < 20000; n++) {
            if (n == 10000) r.bytes[REPLIES] = 0;
            while (offer(&r, REQUESTS, 0, 2, 144)) {
            }
            while (offer(&r, REPLIES, 0, 2, 144)) {
            }
            cycle(&r);
        }
        assert_int_equal(r.delivered[REQUESTS], 0);
        assert_in_range(r.bytes[REPLIES], 64 * 10000 - 288, 64 * 10000 + 288);
        rig_close(&r);
    }
}

/* Waits for credit count as short if the credit is in flight, as full if the receiver takes nothing. */
static void a_small_buffer_differs_from_a_receiver_that_takes_nothing(void **state)
{
    (void)state;
    static const enum net_topology topologies[] = {NET_NODE_LINKS, NET_NODE_RING, NET_NODE_SWITCH};
    enum { CYCLES = 20000 };
    for (size_t k = 0; k < 3; k++)
        for (uint32_t closed = 0; closed < 2; closed++)
            for (uint32_t small = 0; small < 2; small++) {
                struct rig r;
                struct net_spec s = spec_of(topologies[k], 4, 64000000000, 1000000000, 100);
                if (small) s.buffer_bytes = 288;
                rig_open(&r, s);
                for (uint32_t n = 0; n < CYCLES; n++) {
                    r.closed[REQUESTS] = closed && n % 2000 != 0; /* else: one packet of many */
                    while (offer(&r, REQUESTS, 0, 1, 144)) {
                    }
                    cycle(&r);
                }
                const uint32_t last = topologies[k] == NET_NODE_LINKS  ? 1
                                      : topologies[k] == NET_NODE_RING ? 0
                                                                       : 4 + 1;
                const struct net_node_traffic requests = net_node_traffic(r.nets[REQUESTS], last);
                const struct net_node_traffic replies = net_node_traffic(r.nets[REPLIES], last);
                const uint64_t low = CYCLES * 8 / 10, waits = requests.short_cyc + requests.full_cyc;
                assert_int_equal(replies.short_cyc + replies.full_cyc, 0);
                if (closed)
                    assert_true(requests.full_cyc > low && waits <= CYCLES);
                else if (small && topologies[k] == NET_NODE_SWITCH) /* the link to the switch has one, too */
                    assert_true(requests.short_cyc + net_node_traffic(r.nets[REQUESTS], 0).short_cyc > low);
                else if (small)
                    assert_true(requests.short_cyc > low && waits <= CYCLES);
                else
                    assert_true(waits < CYCLES / 100);
                rig_close(&r);
            }
}

/* Every node sends to every other, both classes, as fast as it may; then all must arrive. */
static void expect_all_arrive(struct net_spec s, uint32_t cycles)
{
    struct rig r;
    uint64_t sent = 0, rng = 1;
    rig_open(&r, s);
    for (uint32_t n = 0; n < cycles; n++) {
        for (uint32_t c = 0; c < CLASSES; c++)
            for (uint32_t src = 0; src < s.sources; src++)
                for (uint32_t dst = 0; dst < s.sinks; dst++) {
                    rng = rng * 6364136223846793005u + 1442695040888963407u;
                    if (src != dst) sent += offer(&r, c, src, dst, 8 + (uint32_t)(rng >> 33) % 137);
                }
        cycle(&r);
    }
    for (uint32_t n = 0; n < 200000 && r.delivered[0] + r.delivered[1] < sent; n++) cycle(&r);
    assert_int_equal(r.delivered[0] + r.delivered[1], sent);
    assert_true(sent > cycles / 8);
    rig_close(&r);
}

static void one_packet_of_buffer_is_enough(void **state)
{
    (void)state;
    static const enum net_topology topologies[] = {NET_NODE_LINKS, NET_NODE_RING, NET_NODE_SWITCH};
    for (size_t k = 0; k < 3; k++)
        for (uint32_t nodes = 2; nodes <= 9; nodes++) {
            struct net_spec s = spec_of(topologies[k], nodes, 32000000000, 1000000000, 4);
            s.buffer_bytes = 144;
            s.source_packets = 1;
            expect_all_arrive(s, 3000);
        }
}

/* All-to-all traffic reaches the bisection, which the mean number of hops decides, and loads every link. Every
 * flow gets at least `least` of its fair share. Shares above 1: flows over few hops get a little more. */
static void expect_bisection(uint32_t nodes, double hops, double least)
{
    enum { WARM = 4000, CYCLES = 16000 };
    struct rig r;
    const struct net_spec s = spec_of(NET_NODE_RING, nodes, 64000000000, 1000000000, 20);
    static uint64_t flows[16][16];
    uint64_t before = 0;
    memset(flows, 0, sizeof flows);
    rig_open(&r, s);
    for (uint32_t n = 0; n < WARM + CYCLES; n++) {
        if (n == WARM) before = r.bytes[0] + r.bytes[1];
        for (uint32_t c = 0; c < CLASSES; c++)
            for (uint32_t src = 0; src < nodes; src++)
                for (uint32_t dst = 0; dst < nodes; dst++)
                    if (src != dst && offer(&r, c, src, dst, 144) && n >= WARM) flows[src][dst] += 144;
        cycle(&r);
    }
    const double capacity = CYCLES * 64.0 * 2 * nodes / hops;
    const double share = (double)(r.bytes[0] + r.bytes[1] - before) / capacity;
    assert_true(share > 0.97 && share < 1.06);
    for (uint32_t k = 0; k < 2 * nodes; k++) {
        const uint64_t bytes =
            net_node_traffic(r.nets[REQUESTS], k).bytes + net_node_traffic(r.nets[REPLIES], k).bytes;
        assert_true((double)bytes > 0.97 * 64 * (WARM + CYCLES));
    }
    for (uint32_t src = 0; src < nodes; src++)
        for (uint32_t dst = 0; dst < nodes; dst++)
            if (src != dst) assert_true((double)flows[src][dst] > least * capacity / (nodes * (nodes - 1.0)));
    rig_close(&r);
}

static void a_ring_reaches_its_bisection(void **state)
{
    (void)state;
    expect_bisection(4, 4 / 3.0, 0.97);
    expect_bisection(5, 3 / 2.0, 0.97);
    expect_bisection(8, 16 / 7.0, 0.97);
    expect_bisection(16, 64 / 15.0, 0.97);
    /* half of the ring is an odd number of links: the classes go opposite ways to the opposite node */
    expect_bisection(2, 1, 0.97);
    expect_bisection(6, 9 / 5.0, 0.7);
    expect_bisection(10, 25 / 9.0, 0.85);
    expect_bisection(14, 49 / 13.0, 0.9);
}

/* From node 0 to node 1: requests take the link of one direction and replies that of the other. */
static void a_ring_of_two_has_a_link_for_each_class(void **state)
{
    (void)state;
    enum { CYCLES = 8000 };
    struct rig r;
    rig_open(&r, spec_of(NET_NODE_RING, 2, 64000000000, 1000000000, 20));
    for (uint32_t n = 0; n < CYCLES; n++) {
        for (uint32_t c = 0; c < CLASSES; c++)
            while (offer(&r, c, 0, 1, 144)) {
            }
        cycle(&r);
    }
    for (uint32_t c = 0; c < CLASSES; c++) {
        uint64_t bytes[4];
        for (uint32_t link = 0; link < 4; link++) bytes[link] = net_node_traffic(r.nets[c], link).bytes;
        assert_true((double)bytes[c] > 0.99 * 64 * CYCLES && bytes[c] <= 64 * (CYCLES + 144));
        assert_int_equal(bytes[!c] + bytes[2] + bytes[3], 0);
    }
    rig_close(&r);
}

/* Little buffer: a long packet that waits for credit is not overtaken for ever by short ones. */
static void a_long_packet_does_not_starve_behind_short_ones(void **state)
{
    (void)state;
    static const enum net_topology topologies[] = {NET_NODE_RING, NET_NODE_SWITCH};
    for (size_t k = 0; k < 2; k++) {
        struct rig r;
        struct net_spec s = spec_of(topologies[k], 5, 64000000000, 1000000000, 10);
        uint64_t sent[2] = {0};
        s.buffer_bytes = 144;
        rig_open(&r, s);
        for (uint32_t n = 0; n < 20000; n++) {
            sent[0] += offer(&r, REPLIES, 4, 1, 8); /* short packets over the link that both use */
            sent[0] += offer(&r, REPLIES, 3, 1, 8);
            sent[1] += offer(&r, REPLIES, 0, 1, 144);
            cycle(&r);
        }
        assert_true(sent[1] > 100 && sent[0] > 100);
        rig_close(&r);
    }
}

/* A digest of all acceptances and deliveries, with senders and receivers after (late) or before the step. */
static uint64_t digest(enum net_topology topology, bool late)
{
    struct rig r;
    uint64_t sum = 0, rng = 7;
    rig_open(&r, spec_of(topology, 6, 300000000000, 1000000000, 9));
    for (uint32_t n = 0; n < 5000; n++) {
        if (late)
            for (uint32_t c = 0; c < CLASSES; c++) (void)net_step(r.nets[c], r.now);
        for (uint32_t k = 0; k < 9; k++) {
            rng = rng * 6364136223846793005u + 1442695040888963407u;
            const uint32_t src = (uint32_t)(rng >> 33) % 6, dst = (src + 1 + (uint32_t)(rng >> 40) % 5) % 6;
            sum = sum * 31 + offer(&r, rng >> 45 & 1, src, dst, 8 + (uint32_t)(rng >> 50) % 137);
        }
        if (n % 3) take_all(&r);
        if (!late)
            for (uint32_t c = 0; c < CLASSES; c++) (void)net_step(r.nets[c], r.now);
        r.now++;
        sum = sum * 31 + r.delivered[0] * 5 + r.bytes[1];
    }
    rig_close(&r);
    return sum;
}

static void order_within_a_cycle_does_not_matter(void **state)
{
    (void)state;
    assert_int_equal(digest(NET_NODE_LINKS, false), digest(NET_NODE_LINKS, true));
    assert_int_equal(digest(NET_NODE_RING, false), digest(NET_NODE_RING, true));
    assert_int_equal(digest(NET_NODE_SWITCH, false), digest(NET_NODE_SWITCH, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_link_has_its_latency_at_every_bandwidth),
        cmocka_unit_test(a_saturated_link_carries_exactly_its_bandwidth),
        cmocka_unit_test(requests_never_block_replies),
        cmocka_unit_test(a_small_buffer_differs_from_a_receiver_that_takes_nothing),
        cmocka_unit_test(one_packet_of_buffer_is_enough),
        cmocka_unit_test(a_ring_reaches_its_bisection),
        cmocka_unit_test(a_ring_of_two_has_a_link_for_each_class),
        cmocka_unit_test(a_long_packet_does_not_starve_behind_short_ones),
        cmocka_unit_test(order_within_a_cycle_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
