/* Tests of crossbars whose VCs have ways of their own (net_lane.c): the same traffic through one of them and
 * through the routers of net_packet.c, which take it when a packet may be longer than a VC. Everything that
 * a user of a network can see is the same, in every cycle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "net/net_private.h"

struct twin {
    struct net *net;
    uint64_t room_cyc; /* of source 0, as told */
};

static void room(void *ctx, uint32_t source, uint64_t from_cyc)
{
    struct twin *t = ctx;
    if (source == 0) t->room_cyc = from_cyc;
}

/* The network is also stepped in cycles in which nothing is due when `lazy` is false. */
static void step(struct twin *t, uint64_t now, bool lazy)
{
    if (!lazy || net_next_cyc(t->net) <= now) net_step(t->net, now);
}

struct load {
    uint32_t cycles, offered, taken; /* of 256: chance of an offer per source, of a pop per sink */
    uint32_t spots;                  /* destinations */
};

static void offer(struct twin *t, struct rng *r, const struct net_spec *s, struct load load, uint64_t now)
{
    static uint64_t handle;
    for (uint32_t src = 0; src < s->sources; src++) {
        if (rng_below(r, 256) >= load.offered) continue;
        const struct net_packet p = {.handle = ++handle,
                                     .src = src,
                                     .dst = (uint32_t)rng_below(r, load.spots),
                                     .bytes = 1 + (uint32_t)rng_below(r, s->max_packet_bytes)};
        assert_int_equal(net_has_room(t[0].net, src, p.dst, now), net_has_room(t[1].net, src, p.dst, now));
        assert_int_equal(net_try_inject(t[0].net, &p, now), net_try_inject(t[1].net, &p, now));
    }
}

static void take(struct twin *t, struct rng *r, const struct net_spec *s, struct load load, uint64_t now)
{
    for (uint32_t sink = 0; sink < s->sinks; sink++) {
        const struct net_packet *a = net_peek(t[0].net, sink, now), *b = net_peek(t[1].net, sink, now);
        assert_int_equal(a != NULL, b != NULL);
        if (!a || rng_below(r, 256) >= load.taken) continue;
        assert_int_equal(a->handle, b->handle);
        net_pop(t[0].net, sink, now);
        net_pop(t[1].net, sink, now);
    }
}

static void compare(struct net_spec spec, struct load load, uint64_t seed)
{
    struct arena arena;
    arena_init(&arena);
    struct twin t[2] = {0};
    struct net_spec wide = spec;
    wide.max_packet_bytes = spec.width_bytes * (spec.vc_flits + 1);
    for (uint32_t k = 0; k < 2; k++)
        t[k].net = net_new(&arena, k ? &wide : &spec, &(struct net_wiring){.ctx = &t[k], .room = room});
    assert_true(t[0].net->by_lanes && !t[1].net->by_lanes && t[1].net->whole_packets);
    struct rng r = rng_seed(seed, 1);
    for (uint64_t now = 1; now < load.cycles; now++) {
        const bool first = rng_below(&r, 2), lazy = rng_below(&r, 2);
        for (uint32_t k = 0; first && k < 2; k++) step(&t[k], now, lazy);
        if (now < load.cycles - 400) offer(t, &r, &spec, load, now);
        take(t, &r, &spec, load, now);
        for (uint32_t k = 0; !first && k < 2; k++) step(&t[k], now, lazy);
        assert_int_equal(t[0].room_cyc, t[1].room_cyc);
    }
    for (uint32_t k = 0; k < 2; k++) net_stats_finish(t[k].net, 0);
    assert_memory_equal(net_stats_of(t[0].net), net_stats_of(t[1].net), sizeof(struct net_stats));
    for (uint32_t i = 0; i < net_link_count(t[0].net); i++)
        assert_int_equal(net_link(t[0].net, i).flits, net_link(t[1].net, i).flits);
    for (uint32_t i = 0; i < spec.sinks; i++) {
        const struct net_output_stats a = net_output(t[0].net, i), b = net_output(t[1].net, i);
        assert_memory_equal(&a, &b, sizeof a);
    }
    arena_free(&arena);
}

static struct net_spec small(uint32_t sources, uint32_t sinks, uint32_t vcs, uint32_t vc_flits)
{
    struct net_spec s = net_spec_default();
    s.topology = NET_CROSSBAR;
    s.sources = sources;
    s.sinks = sinks;
    s.width_bytes = 16;
    s.vcs = s.input_speedup = vcs;
    s.vc_flits = vc_flits;
    s.max_packet_bytes = 16 * (vc_flits < 5 ? vc_flits : 5);
    s.hold = true;
    s.internal_speedup = 1;
    s.iterations = 2;
    return s;
}

static void lanes_are_the_routers_of_whole_packets(void **state)
{
    (void)state;
    const uint32_t vc_flits[] = {1, 3, 5, 8}, vcs[] = {1, 2, 8};
    uint64_t seed = 1;
    for (uint32_t f = 0; f < 4; f++)
        for (uint32_t v = 0; v < 3; v++)
            for (uint32_t offered = 16; offered <= 256; offered += 120)
                for (uint32_t taken = 40; taken <= 256; taken += 108)
                    compare(small(5, 3, vcs[v], vc_flits[f]), (struct load){2000, offered, taken, 3}, ++seed);
}

static void hot_spots_full_sinks_and_long_ways_too(void **state)
{
    (void)state;
    struct net_spec s = small(20, 70, 8, 8); /* more than a word of lanes and of sinks */
    compare(s, (struct load){3000, 200, 200, 70}, 7);
    compare(s, (struct load){3000, 256, 256, 1}, 8);
    s.sink_packets = s.source_packets = 1;
    compare(s, (struct load){3000, 200, 100, 4}, 9);
    s.credit_delay_cyc = 5;
    s.inject_latency_cyc = 9;
    s.router_latency_cyc = 7;
    s.link_latency_cyc = 11;
    compare(s, (struct load){3000, 200, 100, 4}, 10);
    s.in_order = false;
    s.source_packets = 4;
    compare(s, (struct load){3000, 256, 256, 9}, 11);
}

/* Places are kept as cycles modulo 2^32. */
static void cycles_may_be_far_from_each_other(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    const struct net_spec s = small(2, 2, 2, 2);
    struct net *n = net_new(&arena, &s, NULL);
    assert_true(n->by_lanes);
    uint64_t now = 10;
    for (uint32_t k = 0; k < 12; k++) {
        const struct net_packet p = {.handle = k, .src = 0, .dst = k % 2, .bytes = 32};
        assert_true(net_try_inject(n, &p, now));
        const uint64_t due = now + net_zero_load_cyc(n, 0, k % 2, 32);
        for (uint64_t c = now + 1; c <= due; c++) net_step(n, c);
        assert_null(net_peek(n, k % 2, due - 1));
        assert_non_null(net_peek(n, k % 2, due));
        net_pop(n, k % 2, due);
        for (uint64_t c = due + 1; c < due + 20; c++) net_step(n, c);
        now = due + 20 + (k % 3 ? 3ull << (29 + k % 3) : 0); /* 3 * 2^30, 3 * 2^31 */
    }
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_are_the_routers_of_whole_packets),
        cmocka_unit_test(hot_spots_full_sinks_and_long_ways_too),
        cmocka_unit_test(cycles_may_be_far_from_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
