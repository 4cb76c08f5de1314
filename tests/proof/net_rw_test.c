/* Requests and replies against BookSim 2 (tests/reference/noc/rw.csv): reads of one flit, replies of nine, on
 * two networks. BookSim's node, which this driver imitates, has one queue for both: it makes its next packet
 * when the one before has left, a reply if one waits (from the cycle after the request's arrival on), else
 * the next request of its Bernoulli process, whose clock stands still meanwhile. Latency is the mean over
 * requests and replies, from the cycle of generation (requests) or of the request's arrival (replies). Mean
 * of five seeds, points that BookSim calls stable. The last of each curve is printed, not compared: there,
 * replies begin to block the requests of their node for good, and how soon that happens is a matter of the
 * seed and of the length of the run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "net/net.h"

#define SEEDS       5
#define TOLERANCE   0.08
#define NODES       64
#define REPLIES     4096 /* waiting at one node */
#define REQUEST     16
#define REPLY       144
#define WARM_UP     3000
#define NODE_CYCLES 1600000 /* of the measurement, all nodes */

struct reply {
    uint64_t from_cyc;
    uint32_t to;
};

struct node {
    struct rng rng;
    uint64_t time_cyc; /* of its request process */
    struct reply replies[REPLIES];
    uint32_t head, count;
};

struct row {
    char topology[24], traffic[16];
    uint32_t nodes;
    double offered, latency, accepted;
};

struct measured {
    double latency, accepted;
};

static struct node nodes[NODES];

/* What a node sends in `now`, if it is free. Requests carry their cycle of generation, replies that of the
 * request's arrival. */
static void send(const struct row *r, struct net *const net[2], uint32_t i, uint64_t now)
{
    struct node *n = &nodes[i];
    if (!net_source_idle(net[0], i, 0, now) || !net_source_idle(net[1], i, 0, now)) return;
    if (n->count && n->replies[n->head].from_cyc < now) {
        const struct reply *reply = &n->replies[n->head];
        const struct net_packet p = {.handle = reply->from_cyc, .src = i, .dst = reply->to, .bytes = REPLY};
        assert_true(net_try_inject(net[1], &p, now));
        n->head = (n->head + 1) % REPLIES;
        n->count--;
        return;
    }
    while (n->time_cyc <= now) {
        const uint64_t at = n->time_cyc++;
        if (rng_unit(&n->rng) >= r->offered) continue;
        const bool hot = !strcmp(r->traffic, "hotspot0");
        const struct net_packet p = {.handle = at,
                                     .src = i,
                                     .dst = hot ? 0 : (uint32_t)rng_below(&n->rng, r->nodes),
                                     .bytes = REQUEST};
        assert_true(net_try_inject(net[0], &p, now));
        return;
    }
}

static struct measured run(const struct row *r, uint64_t seed)
{
    struct arena arena;
    arena_init(&arena);
    struct net_spec s = net_spec_default();
    s.sources = s.sinks = r->nodes;
    if (!strncmp(r->topology, "hxbar", 5)) s.topology = NET_HXBAR;
    struct net *const net[2] = {net_new(&arena, &s, NULL), net_new(&arena, &s, NULL)};
    memset(nodes, 0, sizeof nodes);
    for (uint32_t i = 0; i < r->nodes; i++) nodes[i].rng = rng_seed(seed, i);
    const uint64_t end = WARM_UP + NODE_CYCLES / r->nodes;
    double latency = 0, packets = 0, flits = 0;
    for (uint64_t now = 0; now < end; now++) {
        for (uint32_t k = 0; k < 2; k++) {
            net_step(net[k], now);
            for (uint32_t i = 0; i < r->nodes; i++) {
                const struct net_packet *p;
                while ((p = net_peek(net[k], i, now))) {
                    if (!k) {
                        struct node *n = &nodes[i];
                        assert_true(n->count < REPLIES);
                        n->replies[(n->head + n->count++) % REPLIES] = (struct reply){now, p->src};
                    }
                    if (now >= WARM_UP) {
                        latency += (double)(now - p->handle);
                        packets += 1;
                        flits += p->bytes / 16;
                    }
                    net_pop(net[k], i, now);
                }
            }
        }
        for (uint32_t i = 0; i < r->nodes; i++) send(r, net, i, now);
    }
    arena_free(&arena);
    return (struct measured){latency / packets, flits / (double)(end - WARM_UP) / r->nodes};
}

static uint32_t read_rows(const char *traffic, struct row *rows, uint32_t most)
{
    FILE *f = fopen("tests/reference/noc/rw.csv", "r");
    if (!f) fail_msg("cannot open rw.csv: run from the root of the repository");
    char line[512];
    uint32_t count = 0;
    assert_non_null(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f)) {
        char *field[16] = {0}, *rest = line;
        for (uint32_t i = 0; i < 16 && rest; i++) field[i] = strsep(&rest, ",\n");
        assert_non_null(field[15]);
        if (strcmp(field[4], traffic) || !atoi(field[8])) continue;
        assert_true(count < most);
        struct row *r = &rows[count++];
        *r = (struct row){.nodes = (uint32_t)atoi(field[2]),
                          .offered = atof(field[7]),
                          .latency = atof(field[9]),
                          .accepted = atof(field[12])};
        snprintf(r->topology, sizeof r->topology, "%s", field[1]);
        snprintf(r->traffic, sizeof r->traffic, "%s", traffic);
    }
    fclose(f);
    return count;
}

static void compare(const char *traffic, uint32_t least)
{
    static struct row rows[100];
    const uint32_t count = read_rows(traffic, rows, 100);
    uint32_t compared = 0, failures = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct row *r = &rows[i];
        const bool last = i + 1 == count || strcmp(r->topology, r[1].topology);
        struct measured m = {0};
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const struct measured one = run(r, seed);
            m.latency += one.latency / SEEDS;
            m.accepted += one.accepted / SEEDS;
        }
        const double late = m.latency / r->latency - 1, taken = m.accepted / r->accepted - 1;
        print_message(
            "  %-12s %-9s %.5f  latency %7.2f (%6.2f, %+6.1f %%)  accepted %.4f (%.4f, %+5.1f %%)%s\n",
            r->topology, traffic, r->offered, m.latency, r->latency, 100 * late, m.accepted, r->accepted,
            100 * taken, last ? "  not compared" : "");
        if (last) continue;
        failures += fabs(late) > TOLERANCE || fabs(taken) > TOLERANCE;
        compared++;
    }
    assert_true(compared >= least);
    assert_int_equal(failures, 0);
}

static void uniform_requests_and_replies_match_booksim(void **state)
{
    (void)state;
    compare("uniform", 14);
}

static void a_hot_server_matches_booksim(void **state)
{
    (void)state;
    compare("hotspot0", 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_requests_and_replies_match_booksim),
        cmocka_unit_test(a_hot_server_matches_booksim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
