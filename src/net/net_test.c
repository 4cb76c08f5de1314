/* Networks cycle by cycle: every timing is checked from both sides (not there at t-1, there at t). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "net/net.h"
#include "stats/stats.h"

#define test(name) static void name(void **state)

struct bench {
    struct arena arena;
    struct net *net;
    uint64_t now;
};

static void open_bench(struct bench *b, const struct net_spec *spec)
{
    arena_init(&b->arena);
    b->net = net_new(&b->arena, spec, NULL);
    b->now = 0;
}

static void close_bench(struct bench *b) { arena_free(&b->arena); }

static struct net_packet packet(uint64_t handle, uint32_t src, uint32_t dst, uint32_t bytes)
{
    return (struct net_packet){.handle = handle, .src = src, .dst = dst, .bytes = bytes};
}

/* Sends at the current cycle and tells in which cycle the packet can be popped. */
static uint64_t send_alone(struct bench *b, uint32_t src, uint32_t dst, uint32_t bytes)
{
    const struct net_packet p = packet(7, src, dst, bytes);
    const uint64_t start = b->now;
    assert_true(net_try_inject(b->net, &p, b->now));
    for (; b->now < start + 10000; b->now++) {
        net_step(b->net, b->now);
        if (!net_peek(b->net, dst, b->now)) continue;
        const uint64_t latency = b->now - start;
        assert_int_equal(net_peek(b->net, dst, b->now)->handle, 7);
        net_pop(b->net, dst, b->now);
        for (uint32_t i = 0; i < 64; i++) net_step(b->net, ++b->now); /* credits go home */
        assert_int_equal(net_in_flight(b->net), 0);
        return latency;
    }
    fail_msg("packet %u > %u never arrived", src, dst);
    return 0;
}

/* Cycle in which packet `handle` is popped, for packets injected at 0 and sinks that pop at once. */
static void run_until_empty(struct bench *b, uint64_t *popped, uint32_t sinks)
{
    for (; net_in_flight(b->net) && b->now < 100000; b->now++) {
        net_step(b->net, b->now);
        for (uint32_t i = 0; i < sinks; i++) {
            const struct net_packet *p;
            while ((p = net_peek(b->net, i, b->now))) {
                popped[p->handle] = b->now;
                net_pop(b->net, i, b->now);
            }
        }
    }
    assert_int_equal(net_in_flight(b->net), 0);
}

static bool whole_packets; /* the tests run with both kinds of routers */

static struct net_spec crossbar(uint32_t n)
{
    struct net_spec s = net_spec_default();
    s.hold = whole_packets;
    s.sources = s.sinks = n;
    return s;
}

/* ---- long sleeps ---- */

/* A receiver that takes something after a long time, in a cycle that is stepped after it: the slot that comes
 * back is an event of the future although the wheel has been round since. */
test(a_slot_that_comes_back_after_a_long_sleep_is_not_forgotten)
{
    (void)state;
    struct net_spec s = crossbar(4);
    s.sink_packets = 1;
    s.max_packet_bytes = 64;
    struct bench b;
    open_bench(&b, &s);
    for (uint32_t src = 0; src < 3; src++) { /* one arrives, two wait */
        const struct net_packet p = packet(src, src, 0, 64);
        assert_true(net_try_inject(b.net, &p, b.now));
    }
    for (; b.now < 60; b.now++) net_step(b.net, b.now);
    for (uint32_t taken = 0; taken < 3; taken++) {
        b.now += 5000;
        const struct net_packet p = packet(9, 3, 1, 16); /* makes the network step in the cycle of the pop */
        assert_true(net_try_inject(b.net, &p, b.now - 1));
        assert_non_null(net_peek(b.net, 0, b.now));
        net_pop(b.net, 0, b.now);
        for (uint32_t k = 0; k < 60; k++, b.now++) net_step(b.net, b.now);
        assert_non_null(net_peek(b.net, 1, b.now));
        net_pop(b.net, 1, b.now);
    }
    for (uint32_t k = 0; k < 60; k++, b.now++) net_step(b.net, b.now);
    assert_int_equal(net_in_flight(b.net), 0);
    close_bench(&b);
}

/* ---- latency without load ---- */

test(a_crossbar_takes_inject_router_link_and_the_tail)
{
    (void)state;
    struct net_spec s = crossbar(8);
    struct bench b;
    open_bench(&b, &s);
    /* BookSim: 6 cycles for one flit, 14 for nine */
    assert_int_equal(send_alone(&b, 0, 0, 16), 6);
    assert_int_equal(send_alone(&b, 3, 5, 8), 6);
    assert_int_equal(send_alone(&b, 3, 5, 17), 7);
    assert_int_equal(send_alone(&b, 7, 0, 136), 14);
    assert_int_equal(net_zero_load_cyc(b.net, 7, 0, 136), 14);
    close_bench(&b);
}

test(every_latency_parameter_adds_its_cycles_exactly_once)
{
    (void)state;
    struct net_spec s = crossbar(4);
    s.router_latency_cyc = 5;
    s.link_latency_cyc = 7;
    s.inject_latency_cyc = 11;
    s.width_bytes = 32;
    struct bench b;
    open_bench(&b, &s);
    assert_int_equal(send_alone(&b, 1, 2, 136), 11 + 5 + 7 + 4);
    close_bench(&b);
    s.router_latency_cyc = 2;
    s.link_latency_cyc = 1;
    s.inject_latency_cyc = 2;
    open_bench(&b, &s);
    assert_int_equal(send_alone(&b, 1, 2, 32), 2 + 2 + 1);
    close_bench(&b);
}

test(internal_speedup_saves_up_to_two_cycles)
{
    (void)state;
    for (uint32_t rounds = 1; rounds <= 8; rounds++) {
        struct net_spec s = crossbar(8);
        s.internal_speedup = rounds;
        const uint32_t saved = rounds < 3 ? rounds - 1 : 2;
        struct bench b;
        open_bench(&b, &s);
        assert_int_equal(send_alone(&b, 0, 3, 16), 6 - saved); /* BookSim: 5 with two */
        assert_int_equal(send_alone(&b, 0, 3, 144), 14 - saved);
        assert_int_equal(net_zero_load_cyc(b.net, 0, 3, 144), 14 - saved);
        close_bench(&b);
    }
}

test(two_stages_take_two_router_passages)
{
    (void)state;
    struct net_spec s = crossbar(64);
    s.topology = NET_HXBAR;
    struct bench b;
    open_bench(&b, &s);
    assert_int_equal(send_alone(&b, 0, 63, 16), 10); /* BookSim: 10 and 18 */
    assert_int_equal(send_alone(&b, 63, 0, 144), 18);
    assert_int_equal(send_alone(&b, 9, 9, 144), 18);
    close_bench(&b);
    s.first_routers = 16; /* SelRep: 16 SM-routers of 4x4, 4 MC-routers of 16x16 */
    s.second_routers = 4;
    open_bench(&b, &s);
    for (uint32_t i = 0; i < 64; i += 7)
        for (uint32_t j = 0; j < 64; j += 5) assert_int_equal(send_alone(&b, i, j, 16), 10);
    close_bench(&b);
}

test(a_ring_goes_the_shorter_way_and_wraps)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 9; nodes++) {
        struct net_spec s = crossbar(nodes);
        s.topology = NET_RING;
        s.link_latency_cyc = 3;
        struct bench b;
        open_bench(&b, &s);
        for (uint32_t i = 0; i < nodes; i++) {
            for (uint32_t j = 0; j < nodes; j++) {
                const uint32_t way = i > j ? i - j : j - i, hops = way < nodes - way ? way : nodes - way;
                assert_int_equal(send_alone(&b, i, j, 64), 2 + (hops + 1) * (3 + 3) + 3);
                assert_int_equal(net_zero_load_cyc(b.net, i, j, 64), 2 + (hops + 1) * (3 + 3) + 3);
            }
        }
        close_bench(&b);
    }
}

test(a_ring_uses_the_links_of_the_shorter_way_only)
{
    (void)state;
    struct net_spec s = crossbar(8);
    s.topology = NET_RING;
    struct bench b;
    open_bench(&b, &s);
    send_alone(&b, 7, 1, 16); /* 7 > 0 > 1, over the wrap */
    send_alone(&b, 1, 7, 16); /* 1 > 0 > 7 */
    send_alone(&b, 0, 4, 16); /* half way: even nodes go up */
    send_alone(&b, 1, 5, 16); /* odd nodes go down */
    uint64_t up[8] = {0}, down[8] = {0};
    for (uint32_t i = 0; i < net_link_count(b.net); i++) {
        const struct net_link_stats l = net_link(b.net, i);
        if (l.stage == 1) (l.port % 2 ? down : up)[l.port / 2] = l.flits;
    }
    const uint64_t want_up[8] = {2, 1, 1, 1, 0, 0, 0, 1};
    const uint64_t want_down[8] = {2, 2, 0, 0, 0, 0, 1, 1};
    assert_memory_equal(up, want_up, sizeof up);
    assert_memory_equal(down, want_down, sizeof down);
    close_bench(&b);
}

test(a_plain_link_takes_its_latency_and_the_tail)
{
    (void)state;
    struct net_spec s = crossbar(4);
    s.topology = NET_LINKS;
    s.link_latency_cyc = 20;
    s.width_bytes = 8;
    struct bench b;
    open_bench(&b, &s);
    assert_int_equal(send_alone(&b, 0, 3, 8), 20);
    assert_int_equal(send_alone(&b, 3, 0, 136), 36);
    assert_int_equal(send_alone(&b, 2, 2, 9), 21);
    close_bench(&b);
    s.link_latency_cyc = 2;
    open_bench(&b, &s);
    assert_int_equal(send_alone(&b, 1, 3, 8), 2);
    close_bench(&b);
}

/* ---- serialisation, credits ---- */

test(packets_of_one_source_follow_each_other_without_a_gap)
{
    (void)state;
    struct net_spec s = crossbar(8);
    struct bench b;
    open_bench(&b, &s);
    const struct net_packet first = packet(0, 2, 1, 144), second = packet(1, 2, 5, 144),
                            third = packet(2, 2, 6, 16);
    assert_true(net_try_inject(b.net, &first, 0));
    assert_true(net_try_inject(b.net, &second, 0));
    assert_false(net_try_inject(b.net, &third, 0)); /* the source queue holds two */
    uint64_t popped[3] = {0};
    for (b.now = 0; b.now < 20; b.now++) net_step(b.net, b.now);
    assert_null(net_peek(b.net, 1, 13));
    assert_non_null(net_peek(b.net, 1, 14));
    b.now = 20;
    run_until_empty(&b, popped, 8);
    assert_int_equal(popped[0], 20); /* popped late; the network did not need it */
    assert_int_equal(popped[1], 23);
    close_bench(&b);
}

test(the_hot_output_is_busy_in_every_cycle)
{
    (void)state;
    struct net_spec s = crossbar(4);
    struct bench b;
    open_bench(&b, &s);
    uint64_t popped[4] = {0};
    for (uint32_t i = 0; i < 4; i++) {
        const struct net_packet p = packet(i, i, 0, 144);
        assert_true(net_try_inject(b.net, &p, 0));
    }
    run_until_empty(&b, popped, 4);
    uint64_t last = 0;
    for (uint32_t i = 0; i < 4; i++)
        if (popped[i] > last) last = popped[i];
    assert_int_equal(last, 6 + 4 * 9 - 1); /* 36 flits, one per cycle from the first */
    close_bench(&b);
}

/* One VC of one flit: a flit per credit loop. Source step at t+1, arrival t+2, switch t+3, credit back at the
 * source three cycles after the switch: the next flit is sent five cycles after the one before. */
test(a_single_credit_paces_the_source_exactly)
{
    (void)state;
    for (uint32_t delay = 0; delay < 4; delay++) {
        struct net_spec s = crossbar(2);
        s.vcs = 1;
        s.vc_flits = 1;
        s.credit_delay_cyc = delay;
        struct bench b;
        open_bench(&b, &s);
        /* head: VC allocation, then switch; later flits meet the switch on arrival */
        const uint64_t first_gap = 5 + delay, gap = 4 + delay;
        const uint64_t sent_last = 1 + first_gap + 2 * gap; /* flits 2, 3, 4 */
        const uint64_t want =
            sent_last + 1 /* arrives */ + 3 /* switch in the same cycle, then router and link */;
        /* the credit of the output VC is only back after its own round trip, if that is longer */
        const uint64_t out_loop = 5 + delay;
        const uint64_t by_output = 6 + 3 * out_loop;
        /* a whole packet has its place at the sink: only the loop of the input counts */
        assert_int_equal(send_alone(&b, 0, 1, 64), want > by_output || whole_packets ? want : by_output);
        close_bench(&b);
    }
}

/* Two packets of one flit share the only place: the first is sent in step 1, arrives at 2, leaves at 3; its
 * credit is back at the source at 6, so the second arrives at 7, leaves at 8 and is at the sink at 11. */
test(the_credit_of_a_source_is_back_three_cycles_after_the_switch)
{
    (void)state;
    for (uint32_t delay = 0; delay < 3; delay++) {
        struct net_spec s = crossbar(2);
        s.vcs = 1;
        s.vc_flits = 1;
        s.credit_delay_cyc = delay;
        struct bench b;
        open_bench(&b, &s);
        uint64_t popped[2] = {0};
        const struct net_packet p[2] = {packet(0, 0, 0, 16), packet(1, 0, 1, 16)};
        for (uint32_t i = 0; i < 2; i++) assert_true(net_try_inject(b.net, &p[i], 0));
        run_until_empty(&b, popped, 2);
        assert_int_equal(popped[0], 6);
        assert_int_equal(popped[1], 11 + delay);
        close_bench(&b);
    }
}

test(eight_credits_hide_the_credit_loop)
{
    (void)state;
    struct net_spec s = crossbar(2);
    s.vcs = 1;
    struct bench b;
    open_bench(&b, &s);
    s = *net_spec_of(b.net);
    assert_int_equal(send_alone(&b, 0, 1, 256), 6 + 15);
    close_bench(&b);
    /* fewer than the loop of five (whole packets: the input's, of four): not a flit in every cycle */
    const uint32_t loop = whole_packets ? 4 : 5;
    s.vc_flits = loop - 1;
    open_bench(&b, &s);
    const uint64_t latency = send_alone(&b, 0, 1, 256);
    assert_true(latency > 6 + 15);
    assert_true(latency <= 6 + 16 * loop / (loop - 1) + loop);
    close_bench(&b);
}

/* ---- allocation ---- */

test(inputs_take_turns_at_an_output)
{
    (void)state;
    struct net_spec s = crossbar(4);
    s.vcs = 1;
    s.source_packets = 8;
    struct bench b;
    open_bench(&b, &s);
    uint64_t popped[16] = {0};
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t i = 0; i < 4; i++) {
            const struct net_packet p = packet(k * 4 + i, i, 2, 16);
            assert_true(net_try_inject(b.net, &p, 0));
        }
    run_until_empty(&b, popped, 4);
    /* no input is served twice before every input was served once */
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t i = 0; i < 4; i++)
            for (uint32_t j = 0; j < 4; j++)
                if (k) assert_true(popped[k * 4 + i] > popped[(k - 1) * 4 + j]);
    assert_int_equal(popped[12] < popped[13] && popped[13] < popped[14], 1);
    close_bench(&b);
}

/* iSLIP: both outputs grant input 0 first; only the pointer of the output whose grant was accepted moves. So
 * in the second round output 1 still offers itself to input 0, and output 0 to input 1. */
test(only_an_accepted_grant_moves_the_pointer)
{
    (void)state;
    struct net_spec s = crossbar(2);
    s.vcs = 2;
    s.source_packets = 4;
    struct bench b;
    open_bench(&b, &s);
    uint64_t popped[4] = {0};
    const struct net_packet p[4] = {packet(0, 0, 0, 16), packet(1, 0, 1, 16), packet(2, 1, 0, 16),
                                    packet(3, 1, 1, 16)};
    for (uint32_t i = 0; i < 4; i++) assert_true(net_try_inject(b.net, &p[i], 0));
    run_until_empty(&b, popped, 2);
    /* Cycle 3: only the first packets are there, both want output 0, which takes input 0.
     * Cycle 4: input 0 has its packet for 1; output 0 has moved on to input 1. Both go.
     * Cycle 5: input 1 sends its packet for output 1. */
    assert_int_equal(popped[0], 6);
    assert_int_equal(popped[1], 7);
    assert_int_equal(popped[2], 7);
    assert_int_equal(popped[3], 8);
    close_bench(&b);
}

/* Every input holds a packet for every output; sinks of one slot, blocked by packets of input 0, then freed
 * together, so that all compete at once and again a round trip later. First round, pointers of all outputs at
 * input 1: output 0 is accepted by 1 in the first iteration, output 1 by 2 in the second, output 2 by 0 in
 * the third. Only the first moved a pointer: in the next round output 1 still starts at input 1. */
test(a_grant_of_a_later_iteration_moves_no_pointer)
{
    (void)state;
    struct net_spec s = crossbar(3);
    s.iterations = 3;
    s.sink_packets = 1;
    s.source_packets = 8;
    struct bench b;
    open_bench(&b, &s);
    for (uint32_t j = 0; j < 3; j++) {
        const struct net_packet p = packet(99, 0, j, 16);
        assert_true(net_try_inject(b.net, &p, 0));
    }
    for (; b.now < 30; b.now++) net_step(b.net, b.now);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < 3; j++) {
            const struct net_packet p = packet(i, i, j, 16);
            assert_true(net_try_inject(b.net, &p, b.now));
        }
    for (; b.now < 60; b.now++) net_step(b.net, b.now);
    uint64_t order[3] = {0}; /* per sink: the sources in order of arrival, as digits */
    for (; b.now < 200; b.now++) {
        net_step(b.net, b.now);
        for (uint32_t j = 0; j < 3; j++) {
            const struct net_packet *p = net_peek(b.net, j, b.now);
            if (!p) continue;
            if (p->handle != 99) order[j] = order[j] * 10 + p->handle + 1;
            net_pop(b.net, j, b.now);
        }
    }
    assert_int_equal(order[0], 231);
    assert_int_equal(order[1], 321);
    assert_int_equal(net_in_flight(b.net), 0);
    close_bench(&b);
}

test(more_iterations_fill_what_the_first_leaves_free)
{
    (void)state;
    /* Inputs 0 and 1 hold packets for outputs 0 and 1 in different VCs; pointers all at 0. */
    uint64_t last[2];
    for (uint32_t k = 0; k < 2; k++) {
        struct net_spec s = crossbar(4);
        s.iterations = k ? 4 : 1;
        s.source_packets = 8;
        struct bench b;
        open_bench(&b, &s);
        uint64_t popped[32] = {0};
        struct rng rng = rng_seed(3, 3);
        for (uint32_t i = 0; i < 32; i++) {
            const struct net_packet p = packet(i, i % 4, (uint32_t)rng_below(&rng, 4), 16);
            assert_true(net_try_inject(b.net, &p, 0));
        }
        run_until_empty(&b, popped, 4);
        last[k] = 0;
        for (uint32_t i = 0; i < 32; i++)
            if (popped[i] > last[k]) last[k] = popped[i];
        close_bench(&b);
    }
    assert_true(last[1] <= last[0]);
}

test(a_held_switch_finishes_a_packet_before_the_next)
{
    (void)state;
    uint64_t popped[2][2] = {{0}};
    for (uint32_t hold = 0; hold < 2; hold++) {
        struct net_spec s = crossbar(2);
        s.hold = hold;
        struct bench b;
        open_bench(&b, &s);
        for (uint32_t i = 0; i < 2; i++) {
            const struct net_packet p = packet(i, i, 0, 96);
            assert_true(net_try_inject(b.net, &p, 0));
        }
        run_until_empty(&b, popped[hold], 2);
        close_bench(&b);
    }
    /* 12 flits over one output from cycle 6 on. Interleaved, both end late; held, the first ends early (its
     * first flit goes alone, as its second is not yet there, so the other input gets a turn in between). */
    assert_int_equal(popped[0][0], 16);
    assert_int_equal(popped[0][1], 17);
    const uint64_t first = popped[1][0] < popped[1][1] ? popped[1][0] : popped[1][1];
    const uint64_t second = popped[1][0] < popped[1][1] ? popped[1][1] : popped[1][0];
    assert_true(first <= 13);
    assert_int_equal(second, 17);
}

test(a_blocked_head_blocks_the_packet_behind_it)
{
    (void)state;
    for (uint32_t vcs = 1; vcs <= 2; vcs++) {
        struct net_spec s = crossbar(2);
        s.vcs = vcs;
        s.sink_packets = 1;
        s.source_packets = 4;
        struct bench b;
        open_bench(&b, &s);
        /* sink 0 is never popped: the first packet fills it, the second blocks, the third wants sink 1 */
        const struct net_packet p[3] = {packet(0, 0, 0, 16), packet(1, 0, 0, 16), packet(2, 0, 1, 16)};
        for (uint32_t i = 0; i < 3; i++) assert_true(net_try_inject(b.net, &p[i], 0));
        for (; b.now < 100; b.now++) net_step(b.net, b.now);
        assert_int_equal(net_peek(b.net, 1, 99) != NULL, vcs == 2); /* another VC passes by */
        net_pop(b.net, 0, 99);
        for (; b.now < 200; b.now++) net_step(b.net, b.now);
        assert_int_equal(net_peek(b.net, 0, 199)->handle, 1);
        assert_int_equal(net_peek(b.net, 1, 199)->handle, 2);
        close_bench(&b);
    }
}

/* ---- back-pressure ---- */

test(a_receiver_that_does_not_pop_stops_the_network_and_a_pop_frees_one_packet)
{
    (void)state;
    const enum net_topology topologies[] = {NET_CROSSBAR, NET_HXBAR, NET_RING, NET_LINKS, NET_QUEUED};
    for (uint32_t k = 0; k < 5; k++) {
        struct net_spec s = crossbar(4);
        s.topology = topologies[k];
        s.first_routers = s.second_routers = 2;
        s.sink_packets = 2;
        s.link_latency_cyc = 2;
        struct bench b;
        open_bench(&b, &s);
        uint64_t sent = 0;
        for (; b.now < 500; b.now++) {
            net_step(b.net, b.now);
            const struct net_packet p = packet(sent, 1, 2, 64);
            sent += net_try_inject(b.net, &p, b.now);
        }
        const uint64_t held = sent;
        assert_true(held >= 4); /* sink and source queues at least */
        for (; b.now < 600; b.now++) {
            net_step(b.net, b.now);
            const struct net_packet p = packet(sent, 1, 2, 64);
            assert_false(net_try_inject(b.net, &p, b.now));
        }
        for (uint64_t i = 0; i < held; i++) {
            assert_int_equal(net_peek(b.net, 2, b.now)->handle, i);
            net_pop(b.net, 2, b.now);
            for (uint32_t c = 0; c < 60; c++) net_step(b.net, b.now++);
        }
        assert_int_equal(net_in_flight(b.net), 0);
        close_bench(&b);
    }
}

struct room_log {
    uint32_t calls;
    uint64_t from_cyc;
};

static void log_room(void *ctx, uint32_t source, uint64_t from_cyc)
{
    struct room_log *log = ctx;
    assert_int_equal(source, 1);
    log->calls++;
    log->from_cyc = from_cyc;
}

test(a_refused_owner_is_told_when_there_is_room)
{
    (void)state;
    struct net_spec s = crossbar(2);
    s.source_packets = 1;
    struct room_log log = {0};
    const struct net_wiring wiring = {.ctx = &log, .room = log_room};
    struct arena arena;
    arena_init(&arena);
    struct net *n = net_new(&arena, &s, &wiring);
    const struct net_packet p = packet(0, 1, 0, 64);
    assert_true(net_try_inject(n, &p, 0));
    for (uint64_t now = 0; now <= 3; now++) net_step(n, now);
    assert_int_equal(log.calls, 0); /* nobody was refused */
    assert_false(net_try_inject(n, &p, 3));
    assert_int_equal(net_next_cyc(n), 4); /* also when nobody else needs that step */
    net_step(n, 4);                       /* the fourth flit leaves: sent in cycles 1 to 4 */
    assert_int_equal(log.calls, 1);
    assert_int_equal(log.from_cyc, 5);
    assert_false(net_has_room(n, 1, 0, 4)); /* seen from the next cycle on, whoever was visited first */
    assert_true(net_try_inject(n, &p, 5));
    arena_free(&arena);
}

/* ---- contract ---- */

enum { ORDER_NET_FIRST, ORDER_NET_LAST, ORDER_NET_BETWEEN, ORDERS };

/* Random traffic with sinks that pop at random; a hash of who arrives when. */
static uint64_t history(const struct net_spec *spec, uint32_t order, bool skip_idle, uint64_t seed)
{
    struct bench b;
    open_bench(&b, spec);
    struct rng rng = rng_seed(seed, 1);
    uint64_t hash = 0, sent = 0;
    for (b.now = 0; b.now < 1500; b.now++) {
        const uint64_t dice = rng_u64(&rng), dice2 = rng_u64(&rng);
        const bool due = !skip_idle || net_next_cyc(b.net) <= b.now;
        if (order == ORDER_NET_FIRST && due) net_step(b.net, b.now);
        for (uint32_t i = 0; i < spec->sinks; i++) {
            const struct net_packet *p = net_peek(b.net, i, b.now);
            if (!p || !(dice >> i & 1)) continue;
            hash = hash * 0x9e3779b97f4a7c15u + b.now * 64 + i;
            hash = hash * 0x9e3779b97f4a7c15u + p->handle;
            net_pop(b.net, i, b.now);
        }
        if (order == ORDER_NET_BETWEEN && due) net_step(b.net, b.now);
        for (uint32_t i = 0; i < spec->sources; i++) {
            if ((dice2 >> (2 * i) & 3) || b.now > 1000) continue;
            const struct net_packet p =
                packet(sent, i, (uint32_t)(dice >> (40 + i)) % spec->sinks, 16 + 16 * (uint32_t)(sent % 5));
            sent += net_try_inject(b.net, &p, b.now);
        }
        if (order == ORDER_NET_LAST && due) net_step(b.net, b.now);
    }
    for (uint32_t i = 0; i < net_link_count(b.net); i++) hash = hash * 31 + net_link(b.net, i).flits;
    close_bench(&b);
    return hash * 31 + sent;
}

test(results_do_not_depend_on_the_order_of_visits_nor_on_visits_of_idle_cycles)
{
    (void)state;
    for (uint32_t k = 0; k < 15; k++) {
        struct net_spec s = crossbar(8);
        s.topology = (enum net_topology)(k % 5);
        s.first_routers = 4;
        s.second_routers = 2;
        s.link_latency_cyc = 2 + k % 3;
        s.hold = k % 5 == 4;
        s.internal_speedup = 1 + k % 2;
        s.input_speedup = 1 + k / 2 % 2;
        s.vc_flits = k < 6 ? 8 : 1;
        s.sink_packets = k < 6 ? 8 : 1;
        s.iterations = 1 + k % 3;
        const uint64_t want = history(&s, ORDER_NET_FIRST, false, k);
        for (uint32_t order = 0; order < ORDERS; order++)
            for (uint32_t skip = 0; skip < 2; skip++) assert_int_equal(history(&s, order, skip, k), want);
        assert_int_not_equal(history(&s, ORDER_NET_FIRST, false, k + 100), want);
    }
}

test(an_idle_network_asks_for_no_visit)
{
    (void)state;
    struct net_spec s = crossbar(16);
    struct bench b;
    open_bench(&b, &s);
    assert_true(net_next_cyc(b.net) == NET_NEVER);
    const struct net_packet p = packet(0, 3, 4, 16);
    assert_true(net_try_inject(b.net, &p, 100));
    assert_int_equal(net_next_cyc(b.net), 101);
    uint64_t visits = 0;
    uint64_t now = 101;
    while (now != NET_NEVER) visits++, now = net_step(b.net, now);
    assert_true(visits <= (whole_packets ? 1 : 8)); /* source, arrival, switch, eject, credits */
    net_pop(b.net, 4, 106);
    /* whole packets: nobody waits for the slot */
    assert_true(net_next_cyc(b.net) == (whole_packets ? NET_NEVER : 108));
    assert_true(net_step(b.net, 108) == NET_NEVER);
    close_bench(&b);
}

test(impossible_networks_are_refused_in_words)
{
    (void)state;
    struct net_spec s = crossbar(64);
    assert_null(net_spec_problem(&s));
    s.topology = NET_HXBAR;
    s.first_routers = 7;
    assert_non_null(strstr(net_spec_problem(&s), "first_routers"));
    s.first_routers = 8;
    s.second_routers = 5;
    assert_non_null(strstr(net_spec_problem(&s), "second_routers"));
    s = crossbar(64);
    s.input_speedup = 3;
    assert_non_null(strstr(net_spec_problem(&s), "input_speedup"));
    s = crossbar(8);
    s.topology = NET_RING;
    s.vcs = 1;
    assert_non_null(strstr(net_spec_problem(&s), "ring"));
    s.vcs = 2;
    assert_null(net_spec_problem(&s));
    s.sinks = 9;
    assert_non_null(net_spec_problem(&s));
    s = crossbar(8);
    s.classes = 3;
    assert_non_null(strstr(net_spec_problem(&s), "classes"));
    s = crossbar(8);
    s.topology = NET_LINKS;
    s.link_latency_cyc = 1;
    assert_non_null(strstr(net_spec_problem(&s), "link"));
}

test(classes_keep_to_their_own_virtual_channels)
{
    (void)state;
    struct net_spec s = crossbar(2);
    s.vcs = 2;
    s.classes = 2;
    s.sink_packets = 1;
    s.source_packets = 4;
    struct bench b;
    open_bench(&b, &s);
    /* class 0 is stuck behind sink 0; class 1 passes */
    struct net_packet p[4] = {packet(0, 0, 0, 16), packet(1, 0, 0, 16), packet(2, 0, 1, 16),
                              packet(3, 0, 1, 16)};
    p[3].cls = 1;
    p[2].cls = 0;
    for (uint32_t i = 0; i < 4; i++) assert_true(net_try_inject(b.net, &p[i], 0));
    for (; b.now < 100; b.now++) net_step(b.net, b.now);
    assert_int_equal(net_peek(b.net, 1, 99)->handle, 3);
    close_bench(&b);
}

/* Two packets of 9 and 1 flits and a receiver with one slot that looks after 100 cycles: the second waits for
 * it. */
test(an_output_counts_what_it_carries_and_how_long_it_waits)
{
    (void)state;
    struct net_spec s = crossbar(2);
    s.sink_packets = 1;
    struct bench b;
    open_bench(&b, &s);
    const struct net_packet p[2] = {packet(0, 0, 1, 136), packet(1, 0, 1, 8)};
    for (uint32_t i = 0; i < 2; i++) assert_true(net_try_inject(b.net, &p[i], 0));
    for (; b.now < 100; b.now++) net_step(b.net, b.now);
    net_pop(b.net, 1, b.now);
    assert_null(net_peek(b.net, 1, b.now));
    while (!net_peek(b.net, 1, b.now)) net_step(b.net, ++b.now);
    const struct net_output_stats o = net_output(b.net, 1), idle = net_output(b.net, 0);
    assert_int_equal(o.packets, 2);
    assert_int_equal(o.bytes, 144);
    assert_int_equal(o.busy_cyc, 10);
    /* the first leaves the switch in cycles 3 to 11; the slot is back in 102 */
    assert_in_range(o.blocked_cyc, 102 - 13, 102 - 11);
    assert_int_equal(idle.packets + idle.bytes + idle.busy_cyc + idle.blocked_cyc, 0);
    net_stats_finish(b.net, b.now);
    const struct net_stats *stats = net_stats_of(b.net);
    assert_int_equal(stats->latency_cyc, 14 + b.now);
    assert_int_equal(stats->blocked_cyc, o.blocked_cyc);
    assert_int_equal(stats->untaken, 1);
    assert_int_equal(stats->inside, 0);
    close_bench(&b);
}

test(the_watchdog_text_names_who_waits)
{
    (void)state;
    struct net_spec s = crossbar(2);
    s.sink_packets = 1;
    s.source_packets = 4;
    struct bench b;
    open_bench(&b, &s);
    for (uint32_t i = 0; i < 4; i++) {
        const struct net_packet p = packet(i, 0, 1, 256);
        assert_true(net_try_inject(b.net, &p, 0));
    }
    for (; b.now < 200; b.now++) net_step(b.net, b.now);
    char text[1000];
    net_describe_waiting(b.net, text, sizeof text);
    assert_non_null(strstr(text, "the receiver behind output 1"));
    char small[20];
    net_describe_waiting(b.net, small, sizeof small);
    assert_true(strlen(small) < sizeof small);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crossbar_takes_inject_router_link_and_the_tail),
        cmocka_unit_test(a_slot_that_comes_back_after_a_long_sleep_is_not_forgotten),
        cmocka_unit_test(every_latency_parameter_adds_its_cycles_exactly_once),
        cmocka_unit_test(internal_speedup_saves_up_to_two_cycles),
        cmocka_unit_test(two_stages_take_two_router_passages),
        cmocka_unit_test(a_ring_goes_the_shorter_way_and_wraps),
        cmocka_unit_test(a_ring_uses_the_links_of_the_shorter_way_only),
        cmocka_unit_test(a_plain_link_takes_its_latency_and_the_tail),
        cmocka_unit_test(packets_of_one_source_follow_each_other_without_a_gap),
        cmocka_unit_test(the_hot_output_is_busy_in_every_cycle),
        cmocka_unit_test(a_single_credit_paces_the_source_exactly),
        cmocka_unit_test(the_credit_of_a_source_is_back_three_cycles_after_the_switch),
        cmocka_unit_test(eight_credits_hide_the_credit_loop),
        cmocka_unit_test(inputs_take_turns_at_an_output),
        cmocka_unit_test(only_an_accepted_grant_moves_the_pointer),
        cmocka_unit_test(a_grant_of_a_later_iteration_moves_no_pointer),
        cmocka_unit_test(more_iterations_fill_what_the_first_leaves_free),
        cmocka_unit_test(a_held_switch_finishes_a_packet_before_the_next),
        cmocka_unit_test(a_blocked_head_blocks_the_packet_behind_it),
        cmocka_unit_test(a_receiver_that_does_not_pop_stops_the_network_and_a_pop_frees_one_packet),
        cmocka_unit_test(a_refused_owner_is_told_when_there_is_room),
        cmocka_unit_test(results_do_not_depend_on_the_order_of_visits_nor_on_visits_of_idle_cycles),
        cmocka_unit_test(an_idle_network_asks_for_no_visit),
        cmocka_unit_test(impossible_networks_are_refused_in_words),
        cmocka_unit_test(classes_keep_to_their_own_virtual_channels),
        cmocka_unit_test(an_output_counts_what_it_carries_and_how_long_it_waits),
        cmocka_unit_test(the_watchdog_text_names_who_waits),
    };
    const int flits = cmocka_run_group_tests_name("flits", tests, NULL, NULL);
    whole_packets = true;
    return flits + cmocka_run_group_tests_name("whole packets", tests, NULL, NULL);
}
