/* Replication in the LLC: slice mapping, the directory against brute force, the bandwidth model, the figures
 * of the paper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arena_fixture.h"
#include "base/diag.h"
#include "base/rng.h"
#include "config/machine.h"
#include "dram/dram_map.h"
#include "llc/organisation.h"
#include "policy/replication/bandwidth.h"
#include "policy/replication/replication.h"
#include "system/rules.h"

enum { SLICES = 16, SETS_MAX = 64, WAYS = 16, DEGREES = 5 };

static const struct clusters table_1 = {.sms_per_cluster = 4, .count = 16, .stack_slices = SLICES};

/* ---- slice mapping ---- */

/* At every degree the places (group, home in the group) fill the stack, each slice once, and stay in the
 * home's stack. */
static void the_mapping_is_a_permutation_at_each_degree(void **state)
{
    (void)state;
    for (uint32_t degree = 1; degree <= SLICES; degree *= 2)
        for (uint32_t stack = 0; stack < 4; stack++) {
            const uint32_t group = SLICES / degree;
            uint32_t used[SLICES] = {0};
            for (uint32_t cluster = 0; cluster < 16; cluster += group) /* one of each group of clusters */
                for (uint32_t home = 0; home < group; home++) {
                    const uint32_t slice = clusters_slice(&table_1, stack * SLICES + home, cluster, degree);
                    assert_int_equal(slice / SLICES, stack);
                    used[slice % SLICES]++;
                }
            for (uint32_t k = 0; k < SLICES; k++) assert_int_equal(used[k], 1);
        }
}

static void degree_1_is_shared_and_full_degree_private(void **state)
{
    (void)state;
    for (uint32_t home = 0; home < 64; home++)
        for (uint32_t cluster = 0; cluster < 16; cluster++) {
            assert_int_equal(clusters_slice(&table_1, home, cluster, 1), home);
            assert_int_equal(clusters_slice(&table_1, home, cluster, SLICES),
                             home / SLICES * SLICES + cluster);
        }
}

/* A line has as many copies as the degree says, each shared by equally many clusters. */
static void a_line_has_degree_copies(void **state)
{
    (void)state;
    for (uint32_t degree = 1; degree <= SLICES; degree *= 2)
        for (uint32_t home = 0; home < SLICES; home++) {
            uint32_t users[SLICES] = {0}, copies = 0;
            for (uint32_t cluster = 0; cluster < 16; cluster++)
                users[clusters_slice(&table_1, home, cluster, degree)]++;
            for (uint32_t k = 0; k < SLICES; k++) {
                copies += users[k] != 0;
                assert_true(users[k] == 0 || users[k] == 16 / degree);
            }
            assert_int_equal(copies, degree);
            assert_true(users[home] >
                        0); /* the home serves its own group: nothing is lost when the degree changes */
        }
}

/* Twice as many clusters, or half as many, as slices. */
static void clusters_and_slices_need_not_be_as_many(void **state)
{
    (void)state;
    for (uint32_t count = 8; count <= 32; count *= 2) {
        const struct clusters k = {.sms_per_cluster = 2, .count = count, .stack_slices = SLICES};
        for (uint32_t degree = 1; degree <= SLICES; degree *= 2)
            for (uint32_t cluster = 0; cluster < count; cluster++) {
                const uint32_t slice = clusters_slice(&k, 5, cluster, degree);
                assert_int_equal(slice % (SLICES / degree), 5 % (SLICES / degree));
                assert_int_equal(slice / (SLICES / degree), cluster * SLICES / count / (SLICES / degree));
            }
    }
}

/* An organisation without a configuration: routes of so many SMs. */
static void organise(struct organisation *o, const struct organisation_ops *ops,
                     struct path_route routes[][PATH_CLASSES], uint32_t sms, struct organisation_state s)
{
    o->ops = ops;
    o->routes = routes;
    o->sm_count = sms;
    o->path.first = (const struct path_route(*)[PATH_CLASSES])routes;
    organisation_set(o, &s, 0);
}

/* ---- Figure 9: four clusters, four slices; line X lives in slice 0 ---- */

static bool access_x(const struct organisation *o, bool has_x[4], uint32_t cluster, uint32_t slice)
{
    const struct request r = {
        .home = {.line = 77, .slice = 0}, .kind = REQUEST_READ, .flags = REQUEST_READ_ONLY};
    const uint32_t first = path_first(path_routes_of(&o->path, cluster), &r);
    const bool hit = has_x[first];
    assert_int_equal(first, slice);
    has_x[first] = true;
    return hit;
}

static void figure_9_step_by_step(void **state)
{
    (void)state;
    struct path_route routes[4][PATH_CLASSES];
    struct organisation o = {.clusters = {.sms_per_cluster = 1, .count = 4, .stack_slices = 4}};
    organise(&o, &organisation_selective, routes, 4, (struct organisation_state){.degree = 1});
    bool has_x[4] = {false};
    assert_false(access_x(&o, has_x, 0, 0)); /* 1: shared; X comes to slice 0 */
    organisation_set(&o, &(struct organisation_state){.degree = 2}, 0);
    assert_true(access_x(&o, has_x, 1, 0));  /* 2: cluster 1 hits in slice 0, */
    assert_false(access_x(&o, has_x, 3, 2)); /*    cluster 3 misses in slice 2: a copy is made */
    assert_true(access_x(&o, has_x, 0, 0));  /* 3: clusters 0 and 2 hit in their slices */
    assert_true(access_x(&o, has_x, 2, 2));
    organisation_set(&o, &(struct organisation_state){.degree = 1}, 0);
    assert_true(access_x(&o, has_x, 3, 0)); /* 4: shared again: the copy in slice 2 is not reached */
}

static void what_may_be_written_stays_at_home(void **state)
{
    (void)state;
    struct path_route routes[64][PATH_CLASSES];
    struct organisation o = {.clusters = table_1};
    organise(&o, &organisation_selective, routes, 64, (struct organisation_state){.degree = 16});
    for (uint32_t kind = 0; kind < REQUEST_KINDS; kind++)
        for (uint32_t flags = 0; flags < 2; flags++) {
            const struct request r = {.home = {.slice = 21}, .kind = (uint8_t)kind, .flags = (uint8_t)flags};
            const bool copies = kind == REQUEST_READ && flags & REQUEST_READ_ONLY;
            assert_int_equal(path_first(path_routes_of(&o.path, 63), &r), copies ? 31 : 21);
        }
}

static void private_sends_atomics_home_and_all_else_to_the_cluster(void **state)
{
    (void)state;
    struct path_route routes[64][PATH_CLASSES];
    struct organisation o = {.clusters = table_1};
    organise(&o, &organisation_private, routes, 64,
             (struct organisation_state){.degree = 1, .is_private = true});
    for (uint32_t kind = 0; kind < REQUEST_WALK; kind++) {
        const struct request r = {.home = {.slice = 21}, .kind = (uint8_t)kind};
        const bool atomic = kind == REQUEST_ATOMIC || kind == REQUEST_REDUCTION;
        assert_int_equal(path_first(path_routes_of(&o.path, 63), &r), atomic ? 21 : 31);
    }
}

/* ---- equations ---- */

static void equations_by_hand(void **state)
{
    (void)state;
    static const uint32_t even[4] = {7, 7, 7, 7}, one[4] = {0, 9, 0, 0}, mixed[4] = {10, 5, 4, 1},
                          none[4] = {0};
    assert_true(bandwidth_lsp(even, 4) == 4.0);
    assert_true(bandwidth_lsp(one, 4) == 1.0);
    assert_true(bandwidth_lsp(mixed, 4) == 2.0);
    assert_true(bandwidth_lsp(none, 4) == 0.0);
    /* 44.8 GB/s per slice, 600 / 64 = 9.375 GB/s of memory per slice */
    assert_true(bandwidth_of(16, 1.0, 44.8, 9.375) == 16 * 44.8);
    assert_true(bandwidth_of(16, 0.0, 44.8, 9.375) == 16 * 9.375);
    const double half = bandwidth_of(8, 0.5, 44.8, 9.375); /* 8 x (22.4 + 9.375) */
    assert_true(half > 254.199999 && half < 254.200001);
    const double hidden = bandwidth_of(8, 0.9, 44.8, 9.375); /* 4.48 of misses fit memory: as if all hit */
    assert_true(hidden > 358.399999 && hidden < 358.400001);
}

/* 16 slices of 44.8 GB/s, each with 9.375 GB/s of memory: 150 in all, or 3000 at 5 % misses. */
static void every_reply_has_its_share_of_misses(void **state)
{
    (void)state;
    assert_true(bandwidth_bottleneck(8, 1, 44.8, 9.375, 16) == 8 * 44.8);
    assert_true(bandwidth_bottleneck(8, 0.95, 44.8, 9.375, 16) == 8 * 44.8);
    const double half = bandwidth_bottleneck(8, 0.5, 44.8, 9.375, 16); /* 150 / 0.5 */
    assert_true(half > 299.999999 && half < 300.000001);
    assert_true(bandwidth_bottleneck(16, 0, 44.8, 9.375, 16) == 150);
}

/* ---- choice ---- */

struct rule {
    double equal, carried;
    enum bandwidth_model model;
};

static const struct rule plain = {0.05, 1, bandwidth_model_bottleneck};

/* The choice of the policy for the samples of a decision. */
static struct replication_choice decided(const struct replication_decision *d, struct rule rule)
{
    static struct config c;
    c.selrep.equal = rule.equal;
    c.selrep.carried = rule.carried;
    c.selrep.model = rule.model;
    c.selrep.samples = 32;
    c.selrep.sigmas = 2;
    c.selrep.idle = 0.0625;
    c.selrep.found = true;
    c.clock.sm = 1000000000;
    struct organisation o = {.clusters = table_1};
    const struct replication p = {
        .config = &c, .organisation = &o, .degrees = DEGREES, .llc_bytes = 44.8, .memory_bytes = 9.375};
    struct replication_decision copy = *d;
    return replication_choose(&p, &copy);
}

static uint32_t chosen(const struct replication_decision *d) { return decided(d, plain).best; }

/* Degrees 1 to 16 of a stack, each with so many samples. */
static struct replication_decision sampled(const double *hit_rate, const double *lsp, uint32_t samples)
{
    struct replication_decision d = {.degree = 1, .requests = 1000000, .epoch_cyc = 1};
    for (uint32_t k = 0; k < DEGREES; k++) {
        d.hit_rate[k] = hit_rate[k];
        d.lsp[k] = lsp[k];
        d.sampled[k] = samples;
    }
    return d;
}

static uint32_t choice(const double *hit_rate, const double *lsp, uint32_t samples, struct rule rule)
{
    const struct replication_decision d = sampled(hit_rate, lsp, samples);
    return decided(&d, rule).best;
}

static const double even[DEGREES] = {15, 15, 15, 15, 15}, hits[DEGREES] = {1, 1, 1, 1, 1},
                    none[DEGREES] = {0, 0, 0, 0, 0};

static void of_equal_predictions_the_one_with_fewest_copies(void **state)
{
    (void)state;
    static const double camped[DEGREES] = {9, 12, 14.9, 15, 14.8}, falling[DEGREES] = {1, 1, 0.9, 0.5, 0.2};
    const struct rule highest = {0, 1, bandwidth_model_bottleneck};
    assert_int_equal(choice(hits, even, 1000, plain), 0);
    assert_int_equal(choice(none, camped, 1000, plain), 0); /* a stream: memory gives all, copies nothing */
    assert_int_equal(choice(hits, camped, 1000, plain), 2);
    assert_int_equal(choice(hits, camped, 1000, highest), 3);
    assert_int_equal(choice(falling, camped, 1000, plain), 2); /* 403, 538, 668, 283, 184 */
}

/* The paper's equation adds: half of the hits at degree 16 and what memory gives beat all hits in nine
 * slices.
 */
static void the_equation_predicts_more_than_memory_supplies(void **state)
{
    (void)state;
    static const double camped[DEGREES] = {9, 9, 9, 9, 15}, half[DEGREES] = {1, 1, 1, 1, 0.5};
    const struct rule equation = {0, 1, bandwidth_model_equation};
    assert_int_equal(choice(half, camped, 1000000, equation), 4); /* 15 x (22.4 + 9.4) = 477, not 403 */
    assert_int_equal(choice(half, camped, 1000000, plain), 0);    /* 16 x 9.375 / 0.5 = 300 */
}

/* Copies whose slices would give a half more, with 76 % of hits where memory needs 0.64 (403) for the lower
 * ones and 0.78 (672) for all. */
static void copies_need_samples_that_speak_for_them(void **state)
{
    (void)state;
    static const double camped[DEGREES] = {9, 9, 9, 9, 15}, fewer[DEGREES] = {0.76, 0.76, 0.76, 0.76, 0.76};
    static const double chance[DEGREES] = {0.31, 0.13, 0.33, 0.35, 0.42}; /* more hits with more copies */
    assert_int_equal(choice(fewer, camped, 2000, plain), 4);              /* 0.74 are sure: 577 */
    assert_int_equal(choice(fewer, camped, 40, plain), 0);                /* 0.61 are: 385 */
    assert_int_equal(choice(chance, camped, 1000, plain), 0);
}

/* With q links that ask q slices a router carries 0.72 + 0.28 / q: 33.0 at degree 1, 44.8 at degree 16; that
 * of four SMs 0.79 of it at each, so that memory keeps up with more misses. */
static void routers_carry_more_where_fewer_links_ask_a_slice(void **state)
{
    (void)state;
    static const double misses[DEGREES] = {1, 1, 0.95, 0.9, 0.76}, more[DEGREES] = {1, 1, 0.95, 0.9, 0.5};
    const struct rule routers = {0.05, 0.72, bandwidth_model_bottleneck};
    assert_int_equal(choice(hits, even, 10000, plain), 0);
    assert_int_equal(choice(hits, even, 10000, routers), 4);     /* 391, 401, 421, 456, 531 */
    assert_int_equal(choice(misses, even, 1000000, routers), 4); /* memory: 625 */
    assert_int_equal(choice(more, even, 1000000, routers), 3);   /* memory: 300 */
    assert_int_equal(choice(misses, even, 1000000, plain), 0);
}

/* Data that hardly touches the sampled sets fits: the degree gets the upper confidence bound. */
static void few_samples_count_with_the_hits_that_are_possible(void **state)
{
    (void)state;
    static const double camped[DEGREES] = {9, 9, 9, 9, 15}, few[DEGREES] = {1, 0.3, 0.3, 0.3, 0.3};
    struct replication_decision d = sampled(few, camped, 31);
    d.sampled[0] = 1000;
    assert_int_equal(chosen(&d), 0); /* 0.48 at most: 288 */
    d.sampled[4] = 4;
    assert_int_equal(chosen(&d), 4); /* 0.74: 575 */
    d.cold[4] = 30;                  /* 34 misses and hits: all of them count */
    assert_int_equal(chosen(&d), 0);
    d = sampled(hits, camped, 0);
    for (uint32_t k = 0; k < DEGREES; k++) d.hit_rate[k] = -1;
    assert_int_equal(chosen(&d), 4);
}

static void what_all_slices_found_is_known_for_the_degree_in_force(void **state)
{
    (void)state;
    static const double camped[DEGREES] = {9, 9, 9, 9, 15}, low[DEGREES] = {0.1, 0.1, 0.1, 0.1, 0.1};
    struct replication_decision d = sampled(hits, camped, 1000);
    d.reads = 1000;
    assert_int_equal((d.found = 900, chosen(&d)), 4);
    assert_int_equal((d.found = 600, chosen(&d)), 0); /* memory limits, and more copies find no more */
    d.degree = 16;
    assert_int_equal((d.found = 800, chosen(&d)), 4); /* 672 */
    assert_int_equal((d.found = 600, chosen(&d)), 0); /* 375, 403 with fewer */
    d = sampled(low, camped, 1000);
    d.degree = 16;
    d.reads = 1000;
    assert_int_equal((d.found = 800, chosen(&d)), 4); /* whatever two sets say */
    d.degree = 1;
    assert_int_equal((d.found = 800, chosen(&d)), 0); /* 403; copies: 150 / 0.9 */
}

static void slices_that_serve_next_to_nothing_need_no_copies(void **state)
{
    (void)state;
    static const double camped[DEGREES] = {9, 9, 9, 9, 15};
    struct replication_decision d = sampled(hits, camped, 1000);
    d.epoch_cyc = 1000000000; /* a second: 9 x 44.8 bytes at most, 25.2 of them make it idle */
    d.requests = 1;
    assert_int_equal(chosen(&d), 4);
    d.degree = 16; /* 15 x 44.8 / 16 = 42 */
    assert_int_equal(chosen(&d), 4);
    d.epoch_cyc *= 4;
    assert_int_equal(chosen(&d), 0);
}

/* Trials need memory bandwidth for twice the misses and half the bandwidth at twice the degree. */
static void more_copies_may_pay(void **state)
{
    (void)state;
    static const double slow[DEGREES] = {1, 0.5, 0.5, 0.5, 0.2}; /* 672, then 300, or 188 */
    static const double half[DEGREES] = {1, 0.6, 0.5, 0.5, 0.2};
    struct replication_decision d = sampled(slow, even, 100000);
    assert_false(decided(&d, plain).may_try_more); /* 298 */
    d = sampled(half, even, 100000);
    assert_true(decided(&d, plain).may_try_more); /* 375 */
    d.reads = 1000;
    d.found = 890; /* 0.11 x 672 is 74 of memory's 150 */
    assert_true(decided(&d, plain).may_try_more);
    d.found = 880;
    assert_false(decided(&d, plain).may_try_more);
    d = sampled(none, even, 100000);
    assert_false(decided(&d, plain).may_try_more);
}

/* All or nothing: private that was not seen is not taken; shared that was not seen is all hits, 100 GB/s
 * here. */
static void private_for_about_as_much_bandwidth(void **state)
{
    (void)state;
    static struct config c = {.selrep = {.equal = 0.1, .samples = 32, .carried = 1}};
    struct organisation o = {.clusters = table_1};
    const struct replication p = {.config = &c, .organisation = &o, .degrees = DEGREES, .llc_bytes = 10};
    static const struct {
        uint32_t shared_samples, private_samples;
        double shared_bandwidth, private_bandwidth;
        bool is_private;
    } cases[] = {{100, 100, 100, 110, true}, {100, 100, 100, 91, true},  {100, 100, 100, 89, false},
                 {31, 100, 0, 110, true},    {31, 100, 0, 89, false},    {100, 31, 100, 110, false},
                 {32, 32, 50, 46, true},     {100, 100, 200, 110, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct replication_decision d = {
            .sampled = {[0] = cases[i].shared_samples, [4] = cases[i].private_samples},
            .lsp = {[0] = 10},
            .bandwidth = {[0] = cases[i].shared_bandwidth, [4] = cases[i].private_bandwidth}};
        assert_int_equal(replication_private_is_better(&p, &d), cases[i].is_private);
    }
}

/* ---- Figure 10 ---- */

static struct rdd make_rdd(enum rdd_form form, uint32_t slices, uint32_t sets, uint32_t sampled,
                           uint32_t degrees)
{
    struct rdd r;
    const struct rdd_spec spec = {
        .form = form,
        .sets = sets,
        .sampled = sampled,
        .ways = WAYS,
        .degrees = degrees,
        .clusters = {.sms_per_cluster = 1, .count = slices, .stack_slices = slices}};
    rdd_init(&r, &arena, &spec);
    return r;
}

/* Eight clusters. The line was used by cluster 3; then by 3 again: a hit everywhere; then by 2: a miss when
 * private, a hit with replication degree 4 (clusters 2 and 3) and 2 (clusters 0 to 3), and shared. */
static void figure_10_in_the_literal_directory(void **state)
{
    (void)state;
    struct rdd r = make_rdd(rdd_form_literal, 8, 32, 2, 4);
    rdd_observe(&r, 99, 0, 0, 3);
    for (uint32_t k = 0; k < 4; k++) assert_int_equal(r.hit[k], 0);
    rdd_observe(&r, 99, 0, 0, 3);
    for (uint32_t k = 0; k < 4; k++) assert_int_equal(r.hit[k], 1);
    rdd_observe(&r, 99, 0, 0, 2);
    const uint32_t then[4] = {2, 2, 2, 1}; /* degrees 1, 2, 4, 8 */
    for (uint32_t k = 0; k < 4; k++) assert_int_equal(r.hit[k], then[k]);
    rdd_observe(&r, 99, 0, 0, 7);
    const uint32_t far[4] = {3, 2, 2, 1};
    for (uint32_t k = 0; k < 4; k++) {
        assert_int_equal(r.hit[k], far[k]);
        assert_int_equal(r.acc[k], 4);
    }
    rdd_observe(&r, 99, 1, 0, 3); /* a set that is not sampled */
    assert_int_equal(r.acc[0], 4);
}

/* Eight lines in turn, of one home: at degree 4 a set has room for four of them only. */
static void only_stack_distance_and_exact_know_that_capacity_shrinks(void **state)
{
    (void)state;
    struct rdd literal = make_rdd(rdd_form_literal, SLICES, 32, 2, DEGREES),
               distance = make_rdd(rdd_form_stack_distance, SLICES, 32, 2, DEGREES);
    for (uint32_t round = 0; round < 10; round++)
        for (uint64_t line = 0; line < 8; line++) {
            rdd_observe(&literal, line, 0, 0, 0);
            rdd_observe(&distance, line, 0, 0, 0);
        }
    const uint32_t all = 9 * 8, with_distance[DEGREES] = {all, all, 0, 0, 0}; /* 16, 8, 4, 2, 1 lines */
    for (uint32_t k = 0; k < DEGREES; k++) {
        assert_int_equal(literal.hit[k], all);
        assert_int_equal(distance.hit[k], with_distance[k]);
    }
}

static void storage_is_the_papers(void **state)
{
    (void)state;
    struct rdd exact = make_rdd(rdd_form_exact, SLICES, 32, 2, DEGREES),
               literal = make_rdd(rdd_form_literal, SLICES, 32, 2, DEGREES);
    assert_int_equal(rdd_directory_bytes(&exact.spec), 520);
    assert_int_equal(rdd_counter_bytes(&literal.spec), 172);
    assert_int_equal(rdd_counter_bytes(&exact.spec), 180); /* accesses of each degree */
    assert_int_equal(rdd_directory_bytes(&literal.spec), 2 * 16 * (22 + 4 + 30) / 8);
}

/* Line 99 has its home in slice 0, line 107 in slice 8: at degree 2 and above slice 0 has a copy of it. */
static void a_boundary_takes_what_each_degree_would_lose(void **state)
{
    (void)state;
    for (int copies_only = 0; copies_only < 2; copies_only++) {
        struct rdd exact = make_rdd(rdd_form_exact, SLICES, 32, 2, DEGREES),
                   literal = make_rdd(rdd_form_literal, SLICES, 32, 2, DEGREES);
        rdd_observe(&exact, 99, 0, 0, 0);
        rdd_observe(&exact, 107, 0, 8, 0);
        for (uint32_t slot = 0; slot < SLICES; slot++) rdd_observe(&literal, 99, 0, 0, slot);
        rdd_boundary(&exact, copies_only);
        rdd_boundary(&literal, copies_only);
        rdd_reset(&exact);
        rdd_reset(&literal);
        rdd_observe(&exact, 99, 0, 0, 0);
        rdd_observe(&literal, 99, 0, 0, 0);
        for (uint32_t k = 0; k < DEGREES;
             k++) { /* degree 1 drops nothing, the others keep homes or nothing */
            assert_int_equal(exact.hit[k], k == 0 || copies_only);
            assert_int_equal(literal.hit[k], k == 0 || copies_only);
        }
        rdd_observe(&exact, 107, 0, 8, 0);
        rdd_observe(&literal, 99, 0, 0, SLICES - 1); /* in the last group, whose slice has a copy at best */
        for (uint32_t k = 1; k < DEGREES; k++) {
            assert_int_equal(exact.hit[k], copies_only);
            assert_int_equal(literal.hit[k], copies_only);
        }
    }
}

/* What misses while a set has ways that were never used would perhaps have hit in a warm directory. A line
 * that a boundary took would not. */
static void a_cold_set_says_nothing(void **state)
{
    (void)state;
    struct rdd r = make_rdd(rdd_form_exact, SLICES, 32, 2, DEGREES);
    r.spec.skip_cold = true;
    for (uint64_t line = 0; line < WAYS; line++) rdd_observe(&r, line, 0, 0, 0);
    for (uint32_t k = 0; k < DEGREES; k++) assert_int_equal(r.acc[k], 0);
    for (uint64_t line = 0; line < WAYS; line++) rdd_observe(&r, line, 0, 0, 0);
    for (uint32_t k = 0; k < DEGREES; k++) {
        assert_int_equal(r.acc[k], WAYS);
        assert_int_equal(r.hit[k], WAYS);
    }
    rdd_observe(&r, WAYS, 0, 0, 0); /* the set is full: a miss like any other */
    assert_int_equal(r.acc[4], WAYS + 1);
    assert_int_equal(r.hit[4], WAYS);
    rdd_observe(&r, 99, 16, 0, 0); /* the other set is cold */
    assert_int_equal(r.acc[4], WAYS + 1);
    rdd_boundary(&r, false);
    rdd_observe(&r, 99, 16, 0, 0);
    assert_int_equal(r.acc[4], WAYS + 2);
    assert_int_equal(r.hit[4], WAYS);
}

static void a_full_counter_halves_all(void **state)
{
    (void)state;
    struct rdd r = make_rdd(rdd_form_exact, SLICES, 1, 1, DEGREES);
    for (uint32_t k = 0; k < 65535; k++) rdd_observe(&r, 5, 0, 0, 0);
    assert_int_equal(r.acc[0], 65535);
    assert_int_equal(r.hit[4], 65534);
    rdd_observe(&r, 5, 0, 0, 0);
    assert_int_equal(r.acc[0], 32768);
    assert_in_range(r.hit[0], 32767, 32768);
    assert_int_equal(r.acc[4], 32767 + 1);
}

/* ---- brute force: every slice of the stack, every set, each degree (shadow.h) ---- */

/* What SMs read: all sweep over an array in step, or at random, or more of it near the beginning. (Where a
 * handful of lines takes most requests, two sets say little: three nested draws are off by 5 points.) */
enum stream { SWEEP, RANDOM, SKEWED, STREAMS };

static uint64_t next_line(enum stream kind, struct rng *rng, uint64_t step, uint64_t lines)
{
    switch (kind) {
    case SWEEP: return (step / 16 + rng_below(rng, 24)) % lines;
    case RANDOM: return rng_below(rng, lines);
    case SKEWED: return rng_below(rng, 1 + rng_below(rng, lines));
    case STREAMS: break;
    }
    return 0;
}

/* At each degree, over all maps. */
struct against {
    uint64_t sampled[DEGREES], sampled_hits[DEGREES], all[DEGREES], all_hits[DEGREES];
};

static void rdd_against_brute_force(enum stream kind, uint64_t lines, const struct slice_spec *spec,
                                    bool skip_cold, uint64_t seed, struct against *sum)
{
    struct rdd rdd = make_rdd(rdd_form_exact, SLICES, spec->sets, 2, DEGREES);
    rdd.spec.skip_cold = skip_cold;
    struct shadow *brute = shadow_new(&arena, &rdd.spec);
    struct rng rng = rng_seed(seed, (uint64_t)kind * 1000003 + lines);
    uint64_t acc[DEGREES] = {0}, hit[DEGREES] = {0};
    const uint64_t steps = 100000, base = rng_below(&rng, 1 << 15) * 32; /* a page somewhere */
    for (uint64_t step = 0; step < steps; step++) {
        const uint64_t line = base + next_line(kind, &rng, step, lines);
        const uint32_t cluster = (uint32_t)rng_below(&rng, 16), home = slice_home(spec, line);
        if (home >= SLICES) continue; /* another stack */
        const uint32_t set = slice_set_of(spec, line);
        rdd_observe(&rdd, line, set, home, cluster);
        shadow_observe(brute, line, set, home, cluster);
        if (step % 30000 == 29999) { /* a kernel ends */
            rdd_boundary(&rdd, step > 50000);
            shadow_boundary(brute, step > 50000);
        }
        if (step % 20000) continue; /* an epoch */
        for (uint32_t k = 0; k < DEGREES; k++) {
            acc[k] += rdd.acc[k];
            hit[k] += rdd.hit[k];
        }
        rdd_reset(&rdd);
    }
    for (uint32_t k = 0; k < DEGREES; k++) {
        acc[k] += rdd.acc[k];
        hit[k] += rdd.hit[k];
        assert_int_equal(acc[k], brute->sampled_acc[k]); /* exact on the sampled sets */
        assert_int_equal(hit[k], brute->sampled_hit[k]);
        sum->sampled[k] += acc[k];
        sum->sampled_hits[k] += hit[k];
        sum->all[k] += brute->acc[k];
        sum->all_hits[k] += brute->hit[k];
    }
}

/* Two sets of a slice are few: which lines they hold depends on the address map (where a set has a few lines
 * more than ways, that is 20 points of hit rate from map to map), so a stream is judged over many. */
static void against_brute_force(void *arg)
{
    (void)arg;
    struct machine m;
    machine_init(&m);
    machine_load(&m, "selrep");
    machine_finish(&m, &system_rules);
    static const uint64_t lines[] = {300, 5000, 20000, 60000};
    enum { MAPS = 96, CASES = 2 * STREAMS * sizeof lines / sizeof *lines };
    for (uint32_t c = 0; c < CASES; c++) {
        const bool skip_cold = c % 2;
        const enum stream kind = (enum stream)(c / 2 % STREAMS);
        const uint64_t span = lines[c / 2 / STREAMS];
        struct against sum = {0};
        for (uint32_t map = 0; map < MAPS; map++) {
            m.config.sim.seed = map + 1;
            const struct slice_spec spec = slice_spec_of(&m.config, dram_map_new(&arena, &m.config));
            assert_int_equal(spec.sets, 32);
            rdd_against_brute_force(kind, span, &spec, skip_cold, map, &sum);
        }
        for (uint32_t k = 0; k < DEGREES; k++) {
            assert_true(sum.sampled[k] > 1000);
            const double off = (double)sum.sampled_hits[k] / (double)sum.sampled[k] -
                               (double)sum.all_hits[k] / (double)sum.all[k];
            if (off > 0.03 || off < -0.03)
                fail_msg("stream %d of %llu lines, degree %u, %s cold sets: off by %.4f", kind,
                         (unsigned long long)span, 1u << k, skip_cold ? "without" : "with", off);
        }
    }
    machine_free(&m);
}

static void the_directory_is_exact_on_its_sets_and_near_on_all(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, against_brute_force, NULL) != DIAG_NONE) fail_msg("%s", d.text);
    diag_clear(&d);
}

/* ---- modelling.md B: slice parallelism of n shared lines, as a fraction of 64 slices ---- */

/* Lines that an SM waits for at one time: of few lines, all of them. ASSUMPTION: the table does not say how
 * many; 96 give its rows of 128 and 512. Homes are drawn: this is of the mapping and of LSP, not of a map. */
enum { IN_FLIGHT = 96 };

static double parallelism(struct rng *rng, uint32_t lines, uint32_t degree, bool all)
{
    static uint32_t home[8192];
    uint32_t load[64] = {0};
    for (uint32_t k = 0; k < lines; k++) home[k] = (uint32_t)rng_below(rng, 64);
    for (uint32_t sm = 0; sm < 64; sm++) {
        const uint32_t wanted = all || lines < IN_FLIGHT ? lines : IN_FLIGHT;
        for (uint32_t k = 0; k < wanted; k++) { /* the first `wanted` of a shuffle */
            const uint32_t other = k + (uint32_t)rng_below(rng, lines - k), h = home[other];
            home[other] = home[k];
            home[k] = h;
            load[clusters_slice(&table_1, h, sm / 4, degree)]++;
        }
    }
    return bandwidth_lsp(load, 64) / 64;
}

static void slice_parallelism_of_shared_lines(void **state)
{
    (void)state;
    static const struct {
        uint32_t lines;
        double share[3]; /* degree 1, 4, 16 */
    } rows[] = {{64, {0.26, 0.53, 0.78}},
                {128, {0.33, 0.59, 0.82}},
                {512, {0.54, 0.71, 0.80}},
                {8192, {0.83, 0.94, 0.98}}};
    struct rng rng = rng_seed(3, 4);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (uint32_t k = 0; k < 3; k++) {
            /* 8192 lines are what an epoch adds up: every SM reads them all */
            const bool all = rows[row].lines == 8192;
            const uint32_t rounds = all ? 6 : 400;
            double sum = 0;
            for (uint32_t n = 0; n < rounds; n++)
                sum += parallelism(&rng, rows[row].lines, 1u << (2 * k), all);
            const double mean = sum / rounds, off = mean - rows[row].share[k];
            if (off > 0.03 || off < -0.03)
                fail_msg("%u lines, degree %u: %.3f, not %.2f", rows[row].lines, 1u << (2 * k), mean,
                         rows[row].share[k]);
        }
}

/* ---- order of visits ---- */

static uint64_t seen_order;
static void note_order(void *self, const struct access *a, uint64_t cyc)
{
    (void)self;
    seen_order = seen_order * 31 + a->slice + cyc;
}

static void accesses_come_in_one_order_whoever_is_visited_first(void **state)
{
    (void)state;
    static struct accesses q;
    static const uint16_t orders[2][4] = {{0, 1, 2, 3}, {3, 1, 0, 2}};
    uint64_t results[2];
    for (int k = 0; k < 2; k++) {
        q = (struct accesses){.on_access = note_order};
        seen_order = 1;
        for (uint64_t cyc = 1; cyc < 4; cyc++)
            for (int n = 0; n < 4; n++) accesses_put(&q, &(struct access){.slice = orders[k][n]}, cyc);
        accesses_flush(&q);
        results[k] = seen_order;
    }
    assert_int_equal(results[0], results[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mapping_is_a_permutation_at_each_degree),
        cmocka_unit_test(degree_1_is_shared_and_full_degree_private),
        cmocka_unit_test(a_line_has_degree_copies),
        cmocka_unit_test(clusters_and_slices_need_not_be_as_many),
        cmocka_unit_test(figure_9_step_by_step),
        cmocka_unit_test(what_may_be_written_stays_at_home),
        cmocka_unit_test(private_sends_atomics_home_and_all_else_to_the_cluster),
        cmocka_unit_test(equations_by_hand),
        cmocka_unit_test(every_reply_has_its_share_of_misses),
        cmocka_unit_test(of_equal_predictions_the_one_with_fewest_copies),
        cmocka_unit_test(the_equation_predicts_more_than_memory_supplies),
        cmocka_unit_test(copies_need_samples_that_speak_for_them),
        cmocka_unit_test(few_samples_count_with_the_hits_that_are_possible),
        cmocka_unit_test(what_all_slices_found_is_known_for_the_degree_in_force),
        cmocka_unit_test(slices_that_serve_next_to_nothing_need_no_copies),
        cmocka_unit_test(more_copies_may_pay),
        cmocka_unit_test(routers_carry_more_where_fewer_links_ask_a_slice),
        cmocka_unit_test(private_for_about_as_much_bandwidth),
        cmocka_unit_test_setup_teardown(figure_10_in_the_literal_directory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_stack_distance_and_exact_know_that_capacity_shrinks, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(storage_is_the_papers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_boundary_takes_what_each_degree_would_lose, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cold_set_says_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_counter_halves_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_directory_is_exact_on_its_sets_and_near_on_all, set_up,
                                        tear_down),
        cmocka_unit_test(slice_parallelism_of_shared_lines),
        cmocka_unit_test(accesses_come_in_one_order_whoever_is_visited_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
