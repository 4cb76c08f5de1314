/* Links by stage, in every topology: the flits of a known flow stand on the links between its ends and on no
 * others, and the queue of a sink is as deep as somebody finds it who looks in every cycle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "net/net.h"

#define test(name) static void name(void **state)

enum { PORTS = 12, FLITS = 3, PACKETS = 5 };

/* What arrives, as the network tells it. */
struct sight {
    uint64_t visible_cyc[PORTS][4096];
    uint32_t arrived[PORTS], taken[PORTS];
};

static void arrived(void *ctx, uint32_t sink, uint64_t visible_cyc)
{
    struct sight *s = ctx;
    assert_true(s->arrived[sink] < 4096);
    s->visible_cyc[sink][s->arrived[sink]++] = visible_cyc;
}

/* Every topology, flit by flit and packet by packet where there are both. */
static struct net_spec spec_of(uint32_t number)
{
    static const enum net_topology topologies[] = {NET_CROSSBAR,  NET_HXBAR,      NET_RING,
                                                   NET_LINKS,     NET_QUEUED,     NET_NODE_LINKS,
                                                   NET_NODE_RING, NET_NODE_SWITCH};
    struct net_spec s = net_spec_default();
    s.topology = topologies[number / 2];
    s.hold = number % 2;
    s.sources = s.sinks = PORTS;
    s.first_routers = 6;
    s.second_routers = 4;
    s.max_packet_bytes = 64;
    if (s.topology == NET_LINKS) {
        s.groups = 3;
        s.link_latency_cyc = 2;
    } else if (s.topology == NET_CROSSBAR) {
        s.sources = 7;
    } else if (net_between_nodes(&s)) { /* 16 B per cycle, as the flits of the others */
        s.clock_hz = 1000000000;
        s.bandwidth = 16 * s.clock_hz;
        s.link_latency_cyc = 4 + number % 2;
        s.buffer_bytes = 512;
        s.min_packet_bytes = 16;
    }
    return s;
}
enum { SPECS = 16 };

static uint64_t send(struct net *n, uint32_t src, uint32_t dst, uint64_t now)
{
    const struct net_packet p = {.src = src, .dst = dst, .bytes = FLITS * 16};
    assert_true(net_try_inject(n, &p, now));
    for (;; now++) {
        net_step(n, now);
        if (!net_peek(n, dst, now)) continue;
        net_pop(n, dst, now);
        return now + 20; /* all is quiet */
    }
}

/* Links that a flow is due to use: into the network, over it, out of it. */
static uint32_t hops(const struct net_spec *s, uint32_t src, uint32_t dst)
{
    const uint32_t way = (dst + s->sinks - src) % s->sinks;
    switch (s->topology) {
    case NET_HXBAR: return 3;
    case NET_RING: return 2 + (way < s->sinks - way ? way : s->sinks - way);
    case NET_NODE_RING: return way < s->sinks - way ? way : s->sinks - way;
    case NET_LINKS:
    case NET_NODE_LINKS: return 1;
    case NET_NODE_SWITCH:
    case NET_CROSSBAR:
    case NET_QUEUED: break;
    }
    return 2;
}

static bool begins_at(struct net_link_ends e, enum net_end_kind kind, uint32_t idx)
{
    return e.from == kind && e.from_idx == idx;
}

/* From the source on, over links that carried something, to the sink: each of them all flits of the flow. */
static void follow(const struct net *n, uint32_t src, uint32_t dst)
{
    const struct net_spec *s = net_spec_of(n);
    uint32_t used = 0, steps = 0, stage = 0, at = src;
    for (uint32_t k = 0; k < net_link_count(n); k++) used += net_link(n, k).flits != 0;
    assert_int_equal(used, hops(s, src, dst));
    for (enum net_end_kind kind = NET_END_SOURCE; kind != NET_END_SINK; steps++) {
        struct net_link_ends next = {0};
        uint32_t ways = 0;
        for (uint32_t k = 0; k < net_link_count(n); k++) {
            const struct net_link_stats l = net_link(n, k);
            const struct net_link_ends e = net_link_ends(s, l.stage, l.port);
            if (!l.flits || !begins_at(e, kind, at)) continue;
            assert_int_equal(l.flits, PACKETS * FLITS);
            assert_true(l.stage >= stage && l.stage < net_stage_count(n));
            stage = l.stage;
            next = e;
            ways++;
        }
        assert_int_equal(ways, 1);
        at = next.to_idx;
        /* between nodes, the end of a link is the node that forwards the packet */
        kind = next.to == NET_END_SINK && at != dst ? NET_END_SOURCE : next.to;
    }
    assert_int_equal(at, dst);
    assert_int_equal(steps, used);
}

test(a_flow_is_carried_by_the_links_between_its_ends_and_by_no_others)
{
    (void)state;
    for (uint32_t number = 0; number < SPECS; number++) {
        const struct net_spec s = spec_of(number);
        const uint32_t reach = s.sinks / s.groups;
        for (uint32_t src = 0; src < s.sources; src++)
            for (uint32_t dst = 0; dst < s.sinks; dst++) {
                if (src / (s.sources / s.groups) != dst / reach) continue;
                if (net_between_nodes(&s) && src == dst) continue;
                struct arena a;
                arena_init(&a);
                struct net *n = net_new(&a, &s, NULL);
                uint64_t now = 0;
                for (uint32_t k = 0; k < PACKETS; k++) now = send(n, src, dst, now);
                follow(n, src, dst);
                arena_free(&a);
            }
    }
}

/* Traffic to sinks that take when they like. Who looks in every cycle finds as many packets as the network
 * sums up: in [visible, taken) each. */
static void count_cycle_by_cycle(uint32_t number, uint64_t seed)
{
    const struct net_spec s = spec_of(number);
    static struct sight sight;
    uint64_t found[PORTS] = {0}, now = 1, all = 0;
    struct rng r = rng_seed(seed, number);
    struct arena a;
    arena_init(&a);
    memset(&sight, 0, sizeof sight);
    const struct net_wiring wiring = {.ctx = &sight, .arrived = arrived};
    struct net *n = net_new(&a, &s, &wiring);
    for (; now < 1500; now++) {
        net_step(n, now);
        for (uint32_t i = 0; i < s.sinks; i++) {
            if (net_peek(n, i, now) && rng_below(&r, 8) < 1 + i % 4) {
                net_pop(n, i, now);
                sight.taken[i]++;
            }
            for (uint32_t k = sight.taken[i]; k < sight.arrived[i]; k++)
                found[i] += sight.visible_cyc[i][k] <= now;
        }
        for (uint32_t i = 0; i < s.sources; i++) {
            const uint32_t reach = s.sinks / s.groups;
            const struct net_packet p = {.src = i,
                                         .dst = i / (s.sources / s.groups) * reach +
                                                (uint32_t)rng_below(&r, reach),
                                         .bytes = 16 * (1 + (uint32_t)rng_below(&r, 4))};
            const bool itself = net_between_nodes(&s) && p.dst == i;
            if (rng_below(&r, 8) == 0 && !itself) (void)net_try_inject(n, &p, now);
        }
    }
    for (uint32_t i = 0; i < s.sinks; i++) {
        assert_int_equal(net_waited(n, i, now), found[i]);
        all += found[i];
    }
    assert_true(all > 1000);
    assert_int_equal(net_waited_everywhere(n, now), all);
    arena_free(&a);
}

/* A queued network tells of the first packet on its way to a sink only: see net_queue_test.c. */
test(the_queue_of_a_sink_is_as_deep_as_who_looks_in_every_cycle_finds_it)
{
    (void)state;
    for (uint32_t number = 0; number < SPECS; number++)
        for (uint64_t seed = 0; seed < 3 && spec_of(number).topology != NET_QUEUED; seed++)
            count_cycle_by_cycle(number, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flow_is_carried_by_the_links_between_its_ends_and_by_no_others),
        cmocka_unit_test(the_queue_of_a_sink_is_as_deep_as_who_looks_in_every_cycle_finds_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
