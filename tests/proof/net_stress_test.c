/* Random networks with the smallest queues, random traffic, receivers that stall: nothing is lost, doubled or
 * overtaken, and the network always drains. */
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

#define MAX_NODES   20
#define MAX_CLASSES 2
#define ROUNDS      600

static uint32_t pick(struct rng *r, uint32_t low, uint32_t high)
{
    return low + (uint32_t)rng_below(r, high - low + 1);
}

static struct net_spec random_spec(struct rng *r, enum net_topology topology, bool tiny)
{
    struct net_spec s = net_spec_default();
    s.topology = topology;
    s.sources = pick(r, 1, 12);
    s.sinks = pick(r, 1, 12);
    if (topology == NET_RING) s.sources = s.sinks = pick(r, 2, 12);
    if (topology == NET_HXBAR) {
        s.first_routers = pick(r, 1, 4);
        s.second_routers = pick(r, 1, 4);
        s.sources = s.first_routers * pick(r, 1, 5);
        s.sinks = s.second_routers * pick(r, 1, 5);
    }
    s.classes = topology == NET_LINKS || topology == NET_QUEUED ? 1 : pick(r, 1, MAX_CLASSES);
    const uint32_t sets = s.classes * (topology == NET_RING ? 2 : 1);
    s.vcs = sets * pick(r, 1, tiny ? 1 : 16 / sets);
    /* rings switch whole packets where a VC takes the longest (16 flits) */
    s.vc_flits = tiny ? 1 : pick(r, 1, topology == NET_RING ? 24 : 12);
    s.source_packets = tiny ? 1 : pick(r, 1, 4);
    s.sink_packets = tiny ? 1 : pick(r, 1, 4);
    s.iterations = pick(r, 1, 4);
    do s.input_speedup = pick(r, 1, s.vcs);
    while (s.vcs % s.input_speedup);
    s.internal_speedup = pick(r, 1, 3);
    s.hold = pick(r, 0, 1);
    s.router_latency_cyc = pick(r, 2, 6);
    s.link_latency_cyc = pick(r, topology == NET_LINKS ? 2 : 1, 9);
    s.inject_latency_cyc = pick(r, 2, 5);
    s.credit_delay_cyc = pick(r, 0, 4);
    return s;
}

struct ledger {
    uint64_t sent[MAX_NODES][MAX_NODES][MAX_CLASSES]; /* next sequence number of a flow */
    uint64_t seen[MAX_NODES][MAX_NODES][MAX_CLASSES];
    uint64_t injected, popped, popped_cyc;
};

/* In order: the n-th packet of a flow carries n. Lost, doubled and overtaken packets all break that. */
static void take(struct ledger *l, const struct net_packet *p, uint32_t sink)
{
    assert_int_equal(p->dst, sink);
    assert_int_equal(p->handle, l->seen[p->src][p->dst][p->cls]);
    l->seen[p->src][p->dst][p->cls]++;
    l->popped++;
}

/* The masks say what asking every port would: a sink's bit is net_peek(), a source's bit comes in the cycle
 * in which a packet that was refused would be accepted. */
static void check_masks(struct net *n, const struct net_spec *s, bool refused[MAX_NODES][MAX_NODES],
                        uint64_t now)
{
    uint64_t peeked = 0, roomy = 0;
    for (uint32_t i = 0; i < s->sinks; i++) peeked |= (uint64_t)(net_peek(n, i, now) != NULL) << i;
    for (uint32_t i = 0; i < s->sources; i++)
        for (uint32_t j = 0; j < s->sinks; j++) {
            if (!refused[i][j] || !net_has_room(n, i, j, now)) continue;
            roomy |= 1ull << i;
            refused[i][j] = false;
        }
    assert_int_equal(net_arrived_words(n, now), peeked != 0);
    assert_int_equal(net_arrived(n, 0, now), peeked);
    assert_int_equal(net_arrived_cyc(n) <= now, peeked != 0);
    assert_int_equal(net_room_cyc(n) <= now, roomy != 0);
    assert_int_equal(net_room_words(n, now), roomy != 0);
    assert_int_equal(net_room_take(n, 0, now), roomy);
    assert_int_equal(net_room_take(n, 0, now), 0);
}

/* The laws of net_stats.def hold at any time; a reset in between changes nothing. */
static void check_laws(struct net *n, uint64_t now)
{
    const struct net_stats *s = net_stats_of(n);
    uint64_t packets = 0, bytes = 0, busy = 0, blocked = 0;
    net_stats_finish(n, now);
    assert_int_equal(s->accepted, s->delivered + s->inside);
    assert_int_equal(s->delivered, s->taken + s->untaken);
    assert_int_equal(s->accepted_bytes, s->taken_bytes + s->left_bytes);
    assert_int_equal(s->inside + s->untaken, net_in_flight(n));
    for (uint32_t i = 0; i < net_spec_of(n)->sinks; i++) {
        const struct net_output_stats o = net_output(n, i);
        packets += o.packets, bytes += o.bytes, busy += o.busy_cyc, blocked += o.blocked_cyc;
    }
    assert_true(packets >= s->delivered && bytes >= s->taken_bytes);
    assert_true(busy >= s->busy_cyc && blocked >= s->blocked_cyc);
}

static void run_round(enum net_topology topology, bool tiny, uint64_t seed)
{
    struct rng r = rng_seed(seed, topology);
    const struct net_spec s = random_spec(&r, topology, tiny);
    assert_null(net_spec_problem(&s));
    struct arena arena;
    arena_init(&arena);
    struct net *n = net_new(&arena, &s, NULL);
    static struct ledger l;
    memset(&l, 0, sizeof l);
    const uint32_t pop_chance = pick(&r, 1, 8), inject_chance = pick(&r, 1, 8), big = pick(&r, 1, 12);
    uint64_t now = 0, last_progress = 0;
    const uint64_t stop = 800;
    static bool refused[MAX_NODES][MAX_NODES];
    memset(refused, 0, sizeof refused);
    while (now < stop || net_in_flight(n)) {
        if (now % 2) check_masks(n, &s, refused, now);
        net_step(n, now);
        if (now % 2 == 0) check_masks(n, &s, refused, now);
        for (uint32_t i = 0; i < s.sinks; i++) {
            const struct net_packet *p = net_peek(n, i, now);
            if (!p || rng_below(&r, 8) >= pop_chance) continue;
            take(&l, p, i);
            net_pop(n, i, now);
            last_progress = now;
        }
        for (uint32_t i = 0; i < s.sources && now < stop; i++) {
            if (rng_below(&r, 8) >= inject_chance) continue;
            struct net_packet p = {
                .src = i, .dst = (uint32_t)rng_below(&r, s.sinks), .bytes = 16 * pick(&r, 1, big)};
            if (rng_below(&r, 4) == 0) p.dst = 0;
            p.cls = (uint32_t)rng_below(&r, s.classes);
            p.handle = l.sent[i][p.dst][p.cls];
            if (!net_try_inject(n, &p, now)) {
                refused[i][p.dst] = true;
                continue;
            }
            l.sent[i][p.dst][p.cls]++;
            l.injected++;
            last_progress = now;
        }
        if (now % 300 == 150) check_laws(n, now);
        if (now == 450) net_stats_restart(n);
        if (now - last_progress > 5000) {
            char text[2000];
            net_describe_waiting(n, text, sizeof text);
            fail_msg("deadlock: topology %d seed %lu, %lu packets inside\n%s", topology, (unsigned long)seed,
                     (unsigned long)net_in_flight(n), text);
        }
        now++;
    }
    check_laws(n, now);
    assert_int_equal(net_stats_of(n)->inside_cyc, net_stats_of(n)->stay_cyc); /* Little */
    assert_int_equal(l.injected, l.popped);
    assert_int_equal(net_counts(n).accepted, l.injected);
    assert_int_equal(net_counts(n).popped_bytes, net_counts(n).accepted_bytes);
    assert_memory_equal(l.sent, l.seen, sizeof l.sent);
    assert_true(l.injected > 0);
    arena_free(&arena);
}

static void rounds(enum net_topology topology)
{
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        run_round(topology, true, seed);
        run_round(topology, false, seed + ROUNDS);
    }
}

static void crossbars_survive(void **state) { (void)state, rounds(NET_CROSSBAR); }
static void two_stage_crossbars_survive(void **state) { (void)state, rounds(NET_HXBAR); }
static void rings_survive(void **state) { (void)state, rounds(NET_RING); }
static void links_survive(void **state) { (void)state, rounds(NET_LINKS); }
static void queued_crossbars_survive(void **state) { (void)state, rounds(NET_QUEUED); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crossbars_survive),
        cmocka_unit_test(two_stage_crossbars_survive),
        cmocka_unit_test(rings_survive),
        cmocka_unit_test(links_survive),
        cmocka_unit_test(queued_crossbars_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
