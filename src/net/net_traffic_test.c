/* Tests of who sends to whom in a network alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "net/net_model.h"

enum { MOST = 64, DRAWS = 2000 };

static struct net_spec network(enum net_topology topology, uint32_t sources, uint32_t sinks, uint32_t groups)
{
    struct net_spec s = net_spec_default();
    s.topology = topology;
    s.sources = sources;
    s.sinks = sinks;
    s.groups = groups;
    return s;
}

/* Draws of every source, each within what it may reach; counts[source][sink]. */
static void draw_all(const struct net_spec *s, enum net_traffic_kind kind, bool same_ends,
                     uint32_t counts[MOST][MOST])
{
    struct arena a;
    arena_init(&a);
    const struct net_traffic t = net_traffic_new(&a, s, kind, same_ends, 7);
    for (uint32_t i = 0; i < MOST; i++)
        for (uint32_t k = 0; k < MOST; k++) counts[i][k] = 0;
    for (uint32_t i = 0; i < s->sources; i++) {
        struct rng rng = rng_seed(7, i);
        for (uint32_t k = 0; k < DRAWS && net_traffic_sends(&t, i); k++) {
            const uint32_t dst = net_traffic_draw(&t, i, &rng);
            assert_true(dst < s->sinks);
            assert_int_equal(dst / (s->sinks / s->groups), i / (s->sources / s->groups));
            assert_true(!same_ends || dst != i);
            counts[i][dst]++;
        }
    }
    arena_free(&a);
}

static void traffic_stays_in_its_group(void **state)
{
    (void)state;
    static uint32_t counts[MOST][MOST];
    const struct net_spec s = network(NET_LINKS, 48, 32, 16);
    for (int kind = NET_UNIFORM; kind <= NET_PERMUTATION; kind++)
        draw_all(&s, (enum net_traffic_kind)kind, false, counts);
    draw_all(&s, NET_UNIFORM, false, counts);
    for (uint32_t i = 0; i < s.sources; i++)
        for (uint32_t k = i / 3 * 2; k < i / 3 * 2 + 2; k++)
            assert_true(counts[i][k] > DRAWS * 2 / 5 && counts[i][k] < DRAWS * 3 / 5);
    draw_all(&s, NET_HOTSPOT, false, counts);
    for (uint32_t i = 0; i < s.sources; i++) assert_int_equal(counts[i][i / 3 * 2], DRAWS);
}

static void a_permutation_of_groups_is_one_to_one(void **state)
{
    (void)state;
    static uint32_t counts[MOST][MOST];
    const struct net_spec s = network(NET_LINKS, 64, 64, 16);
    draw_all(&s, NET_PERMUTATION, false, counts);
    for (uint32_t k = 0; k < s.sinks; k++) {
        uint32_t from = 0;
        for (uint32_t i = 0; i < s.sources; i++) from += counts[i][k] != 0;
        assert_int_equal(from, 1);
    }
}

/* Sinks other than itself, as likely as each other. */
static void an_endpoint_sends_to_all_but_itself(void **state)
{
    (void)state;
    static uint32_t counts[MOST][MOST];
    const struct net_spec s = network(NET_LINKS, 4, 4, 1);
    draw_all(&s, NET_UNIFORM, true, counts);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 0; k < 4; k++) {
            if (i == k) continue;
            assert_true(counts[i][k] > DRAWS / 4 && counts[i][k] < DRAWS * 5 / 12);
        }
    draw_all(&s, NET_HOTSPOT, true, counts);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(counts[i][0], i ? DRAWS : 0);
}

static void a_permutation_of_endpoints_leaves_nobody_to_itself(void **state)
{
    (void)state;
    static uint32_t counts[MOST][MOST];
    for (uint32_t count = 2; count <= MOST; count++) {
        const struct net_spec s = network(NET_LINKS, count, count, 1);
        draw_all(&s, NET_PERMUTATION, true, counts);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t from = 0;
            for (uint32_t i = 0; i < count; i++) from += counts[i][k] != 0;
            assert_int_equal(from, 1);
        }
    }
}

static void endpoints_have_plain_links_and_somebody_to_send_to(void **state)
{
    (void)state;
    const struct net_spec even = network(NET_LINKS, 4, 4, 1), uneven = network(NET_LINKS, 4, 2, 1),
                          ring = network(NET_RING, 4, 4, 1), one = network(NET_LINKS, 1, 1, 1);
    assert_null(net_traffic_problem(&even, true));
    assert_non_null(net_traffic_problem(&uneven, true));
    assert_non_null(net_traffic_problem(&ring, true));
    assert_non_null(net_traffic_problem(&one, true));
    assert_null(net_traffic_problem(&one, false));
}

/* Three links out of each of four endpoints: the fourth would lead back. */
static void links_of_endpoints_share_the_load_evenly(void **state)
{
    (void)state;
    struct net_model_spec s = net_model_default();
    struct net_model_result r;
    s.net = network(NET_LINKS, 4, 4, 1);
    s.net.link_latency_cyc = 10;
    s.same_ends = true;
    s.rate = 0.6;
    net_model_run(&s, &r);
    assert_int_equal(r.stages[0].links, 12);
    assert_true(r.stages[0].min > 0.18 && r.stages[0].max < 0.22);
    assert_true(!r.saturated);
    s.traffic = NET_HOTSPOT; /* three send, each over its own link */
    net_model_run(&s, &r);
    assert_true(!r.saturated);
    assert_true(r.accepted_per_source > 0.58 && r.accepted_per_source < 0.62);
    assert_true(r.accepted > 1.74 && r.accepted < 1.86);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traffic_stays_in_its_group),
        cmocka_unit_test(a_permutation_of_groups_is_one_to_one),
        cmocka_unit_test(an_endpoint_sends_to_all_but_itself),
        cmocka_unit_test(a_permutation_of_endpoints_leaves_nobody_to_itself),
        cmocka_unit_test(endpoints_have_plain_links_and_somebody_to_send_to),
        cmocka_unit_test(links_of_endpoints_share_the_load_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
