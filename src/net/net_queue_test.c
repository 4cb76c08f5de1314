/* Tests of crossbars with queues at their outputs (net_queue.c): times by hand, order among those who wait
 * for a place, and the same traffic through a model that moves packets cycle by cycle and knows no times
 * ahead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "net/net_queue.h"

#define test(name) static void name(void **state)

static struct net_spec spec_of(uint32_t ports)
{
    struct net_spec s = net_spec_default();
    s.topology = NET_QUEUED;
    s.sources = s.sinks = ports;
    s.source_packets = 8;
    s.sink_packets = 8;
    return s;
}

static struct net_packet packet(uint64_t handle, uint32_t src, uint32_t dst, uint32_t bytes)
{
    return (struct net_packet){.handle = handle, .src = src, .dst = dst, .bytes = bytes};
}

/* The cycle in which a sink shows a packet with this handle, stepped until then. */
static uint64_t shown(struct net *n, uint32_t sink, uint64_t handle, uint64_t now)
{
    for (uint64_t end = now + 1000; now < end; now++) {
        net_step(n, now);
        const struct net_packet *p = net_peek(n, sink, now);
        if (p && p->handle == handle) return now;
    }
    fail_msg("packet %lu never arrives", (unsigned long)handle);
    return 0;
}

/* ---- times ---- */

test(an_unloaded_packet_takes_what_the_network_says)
{
    (void)state;
    for (uint32_t bytes = 16; bytes <= 144; bytes += 64) {
        struct arena a;
        arena_init(&a);
        struct net_spec s = spec_of(4);
        s.router_latency_cyc = 5;
        s.link_latency_cyc = 7;
        s.inject_latency_cyc = 3;
        struct net *n = net_new(&a, &s, NULL);
        const struct net_packet p = packet(1, 2, 3, bytes);
        assert_true(net_try_inject(n, &p, 100));
        assert_int_equal(shown(n, 3, 1, 100), 100 + net_zero_load_cyc(n, 2, 3, bytes));
        assert_int_equal(net_zero_load_cyc(n, 2, 3, bytes), 3 + 5 + 7 + bytes / 16 - 1);
        arena_free(&a);
    }
}

/* Four sources send a packet of three flits each to one sink in the same cycle: it gets one every three. */
test(an_output_carries_a_flit_per_cycle_in_the_order_of_sources)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    const struct net_spec s = spec_of(4);
    struct net *n = net_new(&a, &s, NULL);
    for (uint32_t i = 4; i-- > 0;) {
        const struct net_packet p = packet(i, i, 1, 48);
        assert_true(net_try_inject(n, &p, 10));
    }
    const uint64_t first = 10 + net_zero_load_cyc(n, 0, 1, 48);
    for (uint64_t now = 10, taken = 0; taken < 4; now++) {
        net_step(n, now);
        const struct net_packet *p = net_peek(n, 1, now);
        if (!p) continue;
        assert_int_equal(p->handle, taken);
        assert_int_equal(now, first + 3 * taken);
        net_pop(n, 1, now);
        taken++;
    }
    arena_free(&a);
}

/* A delay before the receiver sees a packet is no latency of the network. */
test(a_delay_at_the_sink_shows_later_and_is_not_counted)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct net_spec s = spec_of(2);
    s.sink_delay_cyc = 160;
    struct net *n = net_new(&a, &s, NULL);
    const struct net_packet p = packet(1, 0, 1, 16);
    assert_true(net_try_inject(n, &p, 0));
    assert_int_equal(shown(n, 1, 1, 0), net_zero_load_cyc(n, 0, 1, 16) + 160);
    assert_int_equal(net_stats_of(n)->latency_cyc, net_zero_load_cyc(n, 0, 1, 16));
    arena_free(&a);
}

/* ---- places ---- */

/* The queue of the sink is full; three sources wait, in the order 2, 0, 1; a packet that comes when a place
 * is left does not overtake them. */
test(who_waits_longest_for_a_place_goes_first)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct net_spec s = spec_of(4);
    s.sink_packets = 2;
    struct net *n = net_new(&a, &s, NULL);
    const struct net_packet fill[2] = {packet(100, 3, 0, 16), packet(101, 3, 0, 16)};
    assert_true(net_try_inject(n, &fill[0], 0) && net_try_inject(n, &fill[1], 0));
    static const uint32_t order[3] = {2, 0, 1};
    uint64_t now = 0;
    for (; now < 60; now++) {
        net_step(n, now);
        if (now % 10 || now < 10 || now > 30) continue;
        const uint32_t src = order[now / 10 - 1];
        const struct net_packet p = packet(src, src, 0, 16);
        assert_true(net_try_inject(n, &p, now));
    }
    uint64_t seen[6], count = 0;
    for (; count < 6; now++) {
        net_step(n, now);
        const struct net_packet late = packet(103, 3, 0, 16);
        if (now == 61)
            assert_true(net_try_inject(n, &late, now)); /* a place is left in 60, others wait for it */
        if (!net_peek(n, 0, now) || now % 20) continue;
        seen[count++] = net_peek(n, 0, now)->handle;
        net_pop(n, 0, now);
    }
    static const uint64_t wanted[6] = {100, 101, 2, 0, 1, 103};
    assert_memory_equal(seen, wanted, sizeof wanted);
    assert_true(net_stats_of(n)->blocked_cyc > 0);
    arena_free(&a);
}

/* A run ends long after a place is left, and a packet waits for it: it begins when it could, not later. */
test(a_place_is_used_from_the_cycle_on_in_which_it_can_be)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct net_spec s = spec_of(2);
    s.sink_packets = 1;
    struct net *n = net_new(&a, &s, NULL);
    const struct net_packet packets[2] = {packet(1, 0, 0, 16), packet(2, 1, 0, 16)};
    assert_true(net_try_inject(n, &packets[0], 0) && net_try_inject(n, &packets[1], 0));
    const uint64_t first = net_zero_load_cyc(n, 0, 0, 16), begins = first + 2;
    uint64_t fresh[1] = {0};
    net_queue_run(n, 100, fresh);
    assert_int_equal(net_peek_cyc(n, 0), first);
    net_pop(n, 0, first);
    net_queue_run(n, 200, fresh);
    assert_int_equal(net_peek_cyc(n, 0), begins - 1 + first);
    assert_int_equal(net_stats_of(n)->blocked_cyc, begins - 1);
    arena_free(&a);
}

/* ---- against a model without times ---- */

enum { PORTS = 6, DEEP = 256 };

struct slow_packet {
    struct net_packet packet;
    uint32_t flits, sent; /* sent over the link under way */
    uint64_t ready_cyc;
};

struct slow_queue {
    struct slow_packet at[DEEP];
    uint32_t count;
};

/* What net_queue.h draws, moved in every cycle. */
struct slow {
    struct net_spec spec;
    struct slow_queue source[PORTS], behind[PORTS], sink[PORTS];
    uint32_t places[PORTS]; /* of an output, also those that come back later */
    uint64_t back_cyc[PORTS][DEEP];
    uint32_t back_count[PORTS];
    uint32_t waiting[PORTS][PORTS], waiting_count[PORTS]; /* sources, in order */
    bool sending[PORTS];
};

static void slow_push(struct slow_queue *q, const struct slow_packet *p)
{
    assert_true(q->count < DEEP);
    q->at[q->count++] = *p;
}

static struct slow_packet slow_pop(struct slow_queue *q)
{
    const struct slow_packet p = q->at[0];
    memmove(q->at, q->at + 1, --q->count * sizeof *q->at);
    return p;
}

static bool is_waiting(const struct slow *m, uint32_t dst, uint32_t source)
{
    for (uint32_t k = 0; k < m->waiting_count[dst]; k++)
        if (m->waiting[dst][k] == source) return true;
    return false;
}

/* The first packet of a source gets a place, or waits for one behind others. */
static bool slow_place(struct slow *m, uint32_t source, uint32_t dst)
{
    if (!is_waiting(m, dst, source)) {
        if (m->places[dst] > m->waiting_count[dst]) {
            m->places[dst]--;
            return true;
        }
        m->waiting[dst][m->waiting_count[dst]++] = source;
    }
    for (uint32_t k = 0; k < m->waiting_count[dst] && k < m->places[dst]; k++) {
        if (m->waiting[dst][k] != source) continue;
        memmove(&m->waiting[dst][k], &m->waiting[dst][k + 1],
                (--m->waiting_count[dst] - k) * sizeof m->waiting[0][0]);
        m->places[dst]--;
        return true;
    }
    return false;
}

static void slow_step(struct slow *m, uint64_t now)
{
    for (uint32_t i = 0; i < PORTS; i++) /* places that are back */
        while (m->back_count[i] && m->back_cyc[i][0] <= now) {
            memmove(m->back_cyc[i], m->back_cyc[i] + 1, --m->back_count[i] * sizeof m->back_cyc[i][0]);
            m->places[i]++;
        }
    for (uint32_t i = 0; i < PORTS;
         i++) { /* links of the sources; a packet counts as behind from its head on */
        struct slow_queue *q = &m->source[i];
        if (!q->count || q->at[0].ready_cyc >= now) continue;
        struct slow_packet *p = &q->at[0];
        if (!m->sending[i]) {
            if (!slow_place(m, i, p->packet.dst)) continue;
            struct slow_packet head = *p;
            head.ready_cyc = now + m->spec.inject_latency_cyc - 1 + m->spec.router_latency_cyc;
            slow_push(&m->behind[p->packet.dst], &head);
            m->sending[i] = true;
        }
        if (++p->sent < p->flits) continue;
        m->sending[i] = false;
        (void)slow_pop(q);
    }
    for (uint32_t i = 0; i < PORTS; i++) { /* links to the sinks */
        struct slow_queue *q = &m->behind[i];
        if (!q->count || q->at[0].ready_cyc > now || ++q->at[0].sent < q->at[0].flits) continue;
        struct slow_packet p = slow_pop(q);
        p.ready_cyc = now + m->spec.link_latency_cyc;
        slow_push(&m->sink[i], &p);
    }
}

/* Every packet is where its statistics say. */
static void counts_agree(struct net *n, uint64_t now, uint64_t accepted, uint64_t taken)
{
    net_stats_finish(n, now);
    const struct net_stats *const s = net_stats_of(n);
    assert_int_equal(s->accepted, accepted);
    assert_int_equal(s->taken, taken);
    assert_int_equal(s->accepted, s->delivered + s->inside);
    assert_int_equal(s->delivered, s->taken + s->untaken);
    assert_int_equal(s->accepted_bytes, s->taken_bytes + s->left_bytes);
    assert_int_equal(net_queue_taken(n).bytes, s->taken_bytes);
    assert_true(net_queue_some_inside(n) == (accepted != taken));
}

/* Packets that were found at each sink, cycle by cycle; also after statistics began anew. */
static void waits_agree(struct net *n, uint64_t now, const uint64_t waited[PORTS])
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < PORTS; i++) {
        assert_int_equal(net_waited(n, i, now), waited[i]);
        all += waited[i];
    }
    assert_int_equal(net_waited_everywhere(n, now), all);
    net_stats_restart(n);
    assert_int_equal(net_waited_everywhere(n, now), all);
}

/* late: what begins is worked off later; places: at a sink, at most; pauses: of sources and, with them, of
 * sinks. */
static void same_as_moved_cycle_by_cycle(uint64_t seed, bool late, uint32_t places, bool pauses)
{
    struct rng r = rng_seed(seed, late);
    struct arena a;
    arena_init(&a);
    struct net_spec s = spec_of(PORTS);
    s.sink_packets = 1 + (uint32_t)rng_below(&r, places);
    s.source_packets = seed % 2 ? DEEP : 20; /* some are refused */
    s.link_latency_cyc = late ? 40 : 1 + (uint32_t)rng_below(&r, 4);
    s.router_latency_cyc = 2 + (uint32_t)rng_below(&r, 4);
    struct net *n = net_new(&a, &s, NULL);
    static struct slow m;
    memset(&m, 0, sizeof m);
    m.spec = s;
    for (uint32_t i = 0; i < PORTS; i++) m.places[i] = s.sink_packets;
    const uint64_t busy = 64 + rng_below(&r, 192), takes = 64 + rng_below(&r, 192);
    const uint32_t spots = 1 + (uint32_t)rng_below(&r, PORTS);
    uint64_t fresh[1] = {0}, handle = 0, accepted = 0, taken = 0, flits[PORTS] = {0}, waited[PORTS] = {0};
    for (uint64_t now = 1; now < 3000; now++) {
        if (now % 300 == 0) counts_agree(n, now - 1, accepted, taken);
        if (!late)
            net_step(n, now);
        else if (now % 32 == 0) /* as late as nobody has seen anything of it */
            net_queue_run(n, now, fresh);
        slow_step(&m, now);
        for (uint32_t i = 0; i < PORTS; i++) {
            struct slow_queue *q = &m.sink[i];
            const struct net_packet *p = net_peek(n, i, now);
            const bool there = q->count && q->at[0].ready_cyc <= now;
            assert_int_equal(p != NULL, there);
            if (!there) continue;
            assert_int_equal(p->handle, q->at[0].packet.handle);
            for (uint32_t k = 0; k < q->count; k++) waited[i] += q->at[k].ready_cyc <= now;
            if (rng_below(&r, 256) >= takes) continue;
            waited[i]--;
            net_pop(n, i, now);
            (void)slow_pop(q);
            m.back_cyc[i][m.back_count[i]++] = now + 2;
            taken++;
        }
        for (uint32_t i = 0; i < PORTS && now < 2500; i++) {
            if (pauses && (now >> 8 & 1 || (now >> 6 & 3) != i % 4)) continue;
            if (rng_below(&r, 256) >= busy || m.source[i].count > DEEP - 2) continue;
            const struct slow_packet p = {.packet = packet(++handle, i, (uint32_t)rng_below(&r, spots),
                                                           16 + 16 * (uint32_t)rng_below(&r, 5)),
                                          .ready_cyc = now};
            struct slow_packet q = p;
            q.flits = p.packet.bytes / 16;
            if (!net_try_inject(n, &p.packet, now)) continue;
            slow_push(&m.source[i], &q);
            flits[i] += q.flits;
            accepted++;
        }
    }
    assert_true(taken > 100);
    counts_agree(n, 2999, accepted, taken);
    waits_agree(n, 3000, waited);
    for (uint32_t i = 0; i < PORTS && accepted == taken; i++)
        assert_int_equal(net_link(n, PORTS + i).flits, flits[i]);
    arena_free(&a);
}

test(packets_arrive_as_if_they_were_moved_cycle_by_cycle)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) same_as_moved_cycle_by_cycle(seed, false, 6, false);
}

/* Places that were left long before are known when a window is worked off; so only with room for all. */
test(what_begins_may_be_worked_off_late)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) same_as_moved_cycle_by_cycle(seed, true, 6, false);
}

/* … in stretches that are lined up as a whole, into rings that grow; some sinks are full all the same. */
test(what_finds_a_place_may_be_worked_off_late)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) same_as_moved_cycle_by_cycle(seed, true, 200, false);
}

/* Ports in which nothing is are not looked at: the next packet is noticed all the same. */
test(a_packet_wakes_a_port_that_was_idle)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        same_as_moved_cycle_by_cycle(seed, false, 6, true);
        same_as_moved_cycle_by_cycle(seed, true, 6, true);
        same_as_moved_cycle_by_cycle(seed, true, 200, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unloaded_packet_takes_what_the_network_says),
        cmocka_unit_test(an_output_carries_a_flit_per_cycle_in_the_order_of_sources),
        cmocka_unit_test(a_delay_at_the_sink_shows_later_and_is_not_counted),
        cmocka_unit_test(who_waits_longest_for_a_place_goes_first),
        cmocka_unit_test(a_place_is_used_from_the_cycle_on_in_which_it_can_be),
        cmocka_unit_test(packets_arrive_as_if_they_were_moved_cycle_by_cycle),
        cmocka_unit_test(what_begins_may_be_worked_off_late),
        cmocka_unit_test(what_finds_a_place_may_be_worked_off_late),
        cmocka_unit_test(a_packet_wakes_a_port_that_was_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
