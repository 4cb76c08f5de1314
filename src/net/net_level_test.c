/* Networks of chiplets as machines have them, joined by their gates: what leaves one chiplet comes into the
 * other, where it must find room however full the networks are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "net/net_level.h"

#define test(name) static void name(void **state)

static uint32_t pick(struct rng *r, uint32_t low, uint32_t high)
{
    return low + (uint32_t)rng_below(r, high - low + 1);
}

/* Two chiplets of a few SMs and slices. */
static struct config two_chiplets(enum net_shape shape)
{
    struct config c;
    config_defaults(&c);
    c.gpu.chiplets = 2;
    c.chiplet.partitions = 2;
    c.partition.sms = 1;
    c.partition.slices = 1;
    c.llc.organisation = llc_organisation_memory_side;
    c.net.topology = shape;
    return c;
}

static struct config random_config(struct rng *r, enum net_shape shape)
{
    struct config c = two_chiplets(shape);
    c.partition.sms = pick(r, 1, 4);
    c.partition.slices = shape == net_shape_ring ? c.partition.sms : pick(r, 1, 3);
    c.net.first_routers = pick(r, 1, 3);
    c.net.second_routers = pick(r, 1, 3);
    c.net.vcs = 4 * pick(r, 1, 2);
    c.net.vc_flits = pick(r, 1, 14);
    c.net.width = 16;
    c.net.input_speedup = pick(r, 1, 2);
    c.net.internal_speedup = 1 + (pick(r, 1, 6) == 1);
    c.net.iterations = pick(r, 1, 2);
    c.net.hold = pick(r, 0, 2) != 0;
    c.net.in_order = pick(r, 0, 2) != 0;
    c.net.source_packets = pick(r, 1, 2);
    c.net.sink_packets = pick(r, 1, 2);
    return c;
}

/* ---- two networks that feed each other ---- */

enum { BIG_BYTES = 136, SEND_CYC = 1500, STUCK_CYC = 3000 };

struct pair {
    struct net *net[2]; /* one per chiplet */
    struct net_spec spec;
    uint32_t gates;
    uint64_t sent, taken, moved_cyc;
};

/* SMs send, most of it to the other chiplet; the handle is where it goes there. */
static void send(struct pair *p, uint32_t chiplet, struct rng *r, uint64_t now)
{
    const uint32_t slices = p->spec.sinks - p->gates;
    for (uint32_t src = 0; src < p->spec.sources - p->gates; src++) {
        const uint32_t slice = (uint32_t)rng_below(r, slices);
        const bool stays = rng_below(r, 4) == 0;
        const struct net_packet packet = {.handle = slice,
                                          .src = src,
                                          .dst = stays ? slice : slices + slice % p->gates,
                                          .bytes = rng_below(r, 2) ? BIG_BYTES : 8};
        p->sent += net_try_inject(p->net[chiplet], &packet, now);
    }
}

/* A gate holds nothing: what finds no room in the other chiplet stays where it is. */
static void pass_gates(struct pair *p, uint32_t chiplet, uint64_t now)
{
    const uint32_t slices = p->spec.sinks - p->gates, sms = p->spec.sources - p->gates;
    for (uint32_t gate = 0; gate < p->gates; gate++) {
        const struct net_packet *out = net_peek(p->net[chiplet], slices + gate, now);
        if (!out) continue;
        const struct net_packet in = {.handle = out->handle,
                                      .src = sms + gate,
                                      .dst = (uint32_t)out->handle,
                                      .bytes = out->bytes,
                                      .cls = p->spec.classes - 1};
        if (!net_try_inject(p->net[1 - chiplet], &in, now)) continue;
        net_pop(p->net[chiplet], slices + gate, now);
        p->moved_cyc = now;
    }
}

static void take(struct pair *p, uint32_t chiplet, uint64_t now)
{
    for (uint32_t slice = 0; slice < p->spec.sinks - p->gates; slice++) {
        if (!net_peek(p->net[chiplet], slice, now)) continue;
        net_pop(p->net[chiplet], slice, now);
        p->taken++;
        p->moved_cyc = now;
    }
}

static bool drains(struct pair *p, struct rng *r)
{
    for (uint64_t now = 0; now < SEND_CYC || net_in_flight(p->net[0]) || net_in_flight(p->net[1]); now++) {
        for (uint32_t k = 0; k < 2; k++) {
            net_step(p->net[k], now);
            take(p, k, now);
            pass_gates(p, k, now);
            if (now < SEND_CYC) send(p, k, r, now);
        }
        if (now > p->moved_cyc + STUCK_CYC) return false;
    }
    return p->sent == p->taken && p->sent;
}

/* The same pair of networks with full queues, cycle after cycle. */
static void rounds(enum net_shape shape)
{
    uint32_t built = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct rng r = rng_seed(seed, shape);
        const struct config c = random_config(&r, shape);
        struct pair p = {.spec = net_level_spec(&c, NET_LEVEL_net, NET_REQUESTS),
                         .gates = net_level_gates(&c, NET_LEVEL_net)};
        p.spec.max_packet_bytes = BIG_BYTES;
        if (net_spec_problem(&p.spec)) continue;
        struct arena arena;
        arena_init(&arena);
        for (uint32_t k = 0; k < 2; k++) p.net[k] = net_new(&arena, &p.spec, NULL);
        if (!drains(&p, &r)) {
            char text[2000];
            net_describe_waiting(p.net[0], text, sizeof text);
            fail_msg("deadlock: shape %d, seed %lu\n%s", (int)shape, (unsigned long)seed, text);
        }
        arena_free(&arena);
        built++;
    }
    assert_true(built > 100);
}

test(chiplets_with_crossbars_never_wait_for_each_other) { (void)state, rounds(net_shape_crossbar); }
test(chiplets_with_crossbars_of_two_stages_never_wait_for_each_other)
{
    (void)state, rounds(net_shape_hxbar);
}
test(chiplets_with_rings_never_wait_for_each_other) { (void)state, rounds(net_shape_ring); }
test(chiplets_with_queued_networks_never_wait_for_each_other) { (void)state, rounds(net_shape_queued); }

/* ---- rules ---- */

test(a_ring_that_leads_out_of_its_chiplet_needs_virtual_channels_for_both_ways)
{
    (void)state;
    struct config c = two_chiplets(net_shape_ring);
    const uint32_t right[] = {4, 8, 12, 16}, wrong[] = {1, 2, 3, 6, 10};
    for (uint32_t i = 0; i < sizeof right / sizeof *right; i++) {
        c.net.vcs = right[i];
        const struct net_spec s = net_level_spec(&c, NET_LEVEL_net, NET_REPLIES);
        assert_int_equal(s.classes, 2);
        assert_null(net_spec_problem(&s));
    }
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        c.net.vcs = wrong[i];
        const struct net_spec s = net_level_spec(&c, NET_LEVEL_net, NET_REPLIES);
        assert_non_null(net_spec_problem(&s));
    }
    c.net.vcs = 2;
    const struct net_spec two = net_level_spec(&c, NET_LEVEL_net, NET_REQUESTS);
    assert_non_null(strstr(net_spec_problem(&two), "a multiple of 4"));
    c.gpu.chiplets = 1; /* nothing leads out: two sets are enough */
    const struct net_spec alone = net_level_spec(&c, NET_LEVEL_net, NET_REQUESTS);
    assert_int_equal(alone.classes, 1);
    assert_null(net_spec_problem(&alone));
}

/* ---- older spellings ---- */

/* numa-gpu of an earlier version: 8 B at 8 GHz, 800 link cycles of 125 ps, 64 packets at the receiver. */
test(an_older_file_keeps_the_bandwidth_and_the_latency_of_its_links)
{
    (void)state;
    struct config c;
    config_defaults(&c);
    c.system.gpus = 4;
    c.clock.net = 1000000000;
    const struct net_spec now = net_level_spec(&c, NET_LEVEL_gpu_net, NET_REQUESTS);
    c.gpu_net.width = 8;
    c.clock.gpu_net = 8000000000;
    c.gpu_net.link_latency_cyc = 800;
    c.gpu_net.sink_packets = 64;
    const struct net_spec old = net_level_spec(&c, NET_LEVEL_gpu_net, NET_REQUESTS);
    assert_int_equal(old.bandwidth, now.bandwidth);
    assert_int_equal(old.link_latency_cyc, now.link_latency_cyc);
    assert_true(old.buffer_bytes >= now.buffer_bytes); /* enough for a round trip */
    c.gpu_net.sink_packets = 1;
    const struct net_spec one = net_level_spec(&c, NET_LEVEL_gpu_net, NET_REQUESTS);
    assert_int_equal(one.buffer_bytes, one.max_packet_bytes + 64 * 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chiplets_with_crossbars_never_wait_for_each_other),
        cmocka_unit_test(chiplets_with_crossbars_of_two_stages_never_wait_for_each_other),
        cmocka_unit_test(chiplets_with_rings_never_wait_for_each_other),
        cmocka_unit_test(chiplets_with_queued_networks_never_wait_for_each_other),
        cmocka_unit_test(a_ring_that_leads_out_of_its_chiplet_needs_virtual_channels_for_both_ways),
        cmocka_unit_test(an_older_file_keeps_the_bandwidth_and_the_latency_of_its_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
