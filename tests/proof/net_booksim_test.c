/* Uniform traffic against BookSim 2 (tests/reference/noc): every curve of oneway.csv and variants.csv, mean
 * of five seeds. Same allocator, buffers and speed-up: accepted load at saturation and latency below half
 * load within 8 %. Requests and replies: net_rw_test.c; the closed loop with a closed answer:
 * net_limits_test.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/net_model.h"

#define SEEDS     5
#define TOLERANCE 0.08
#define MAX_ROWS  600

struct row {
    char topology[24], variant[24], traffic[16];
    uint32_t nodes, flits;
    double offered, latency, accepted; /* latency 0 = none */
};

static struct row rows[MAX_ROWS];
static uint32_t row_count;

static void read_rows(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("cannot open %s: run from the root of the repository", path);
    char line[512];
    assert_non_null(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f)) {
        char *field[16] = {0}, *rest = line;
        for (uint32_t i = 0; i < 16 && rest; i++) field[i] = strsep(&rest, ",\n");
        assert_non_null(field[15]);
        assert_true(row_count < MAX_ROWS);
        struct row *r = &rows[row_count++];
        snprintf(r->topology, sizeof r->topology, "%s", field[1]);
        snprintf(r->variant, sizeof r->variant, "%s", field[3]);
        snprintf(r->traffic, sizeof r->traffic, "%s", field[4]);
        r->nodes = (uint32_t)atoi(field[2]);
        r->flits = (uint32_t)atoi(field[5]);
        r->offered = atof(field[7]);
        r->latency = atof(field[9]);
        r->accepted = atof(field[12]);
    }
    fclose(f);
}

static int setup(void **state)
{
    (void)state;
    read_rows("tests/reference/noc/oneway.csv");
    read_rows("tests/reference/noc/variants.csv");
    assert_true(row_count > 400);
    return 0;
}

static struct net_model_spec spec_of(const struct row *r)
{
    struct net_model_spec s = net_model_default();
    s.net.sources = s.net.sinks = r->nodes;
    if (!strncmp(r->topology, "hxbar", 5)) s.net.topology = NET_HXBAR;
    if (!strcmp(r->variant, "iters4")) s.net.iterations = 4;
    if (!strcmp(r->variant, "intspeedup2")) s.net.internal_speedup = 2;
    if (!strcmp(r->variant, "inspeedup2")) s.net.input_speedup = 2;
    if (!strcmp(r->variant, "hold")) s.net.hold = true;
    s.packet_bytes[0] = r->flits * s.net.width_bytes;
    s.rate = r->offered;
    s.warmup_cyc = 2000;
    s.measure_cyc = 160000 / r->nodes;
    s.drain_cyc = 4000;
    return s;
}

struct mean {
    double latency, accepted;
};

static struct mean five_seeds(struct net_model_spec s)
{
    struct mean m = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct net_model_result r;
        s.seed = seed;
        net_model_run(&s, &r);
        m.latency += r.latency_mean / SEEDS;
        m.accepted += r.accepted_per_source / SEEDS;
    }
    return m;
}

static uint32_t failures;

/* One curve of the reference: topology, variant and packet size. */
struct curve {
    const struct row *row;
    double saturation, reference;                /* accepted at offered 1.0 */
    double worst_latency, latency[3], theirs[3]; /* below half load; at 0.1, 0.3, 0.4 */
};

static double compare(const struct row *r, const char *what, double ours, double theirs)
{
    const double off = ours / theirs - 1;
    if (fabs(off) <= TOLERANCE) return off;
    failures++;
    print_error("%s %s %u flits, offered %.3f: %s %.4f, BookSim %.4f (%+.1f %%)\n", r->topology, r->variant,
                r->flits, r->offered, what, ours, theirs, 100 * off);
    return off;
}

static bool same_curve(const struct row *a, const struct row *b)
{
    return !strcmp(a->topology, b->topology) && !strcmp(a->variant, b->variant) && a->flits == b->flits;
}

static void print_curve(const struct curve *c)
{
    print_message("  %-12s %-12s %u  %.3f %.3f %+5.1f %%  ", c->row->topology, c->row->variant, c->row->flits,
                  c->saturation, c->reference, 100 * (c->saturation / c->reference - 1));
    for (uint32_t i = 0; i < 3; i++) print_message("  %6.2f %6.2f", c->latency[i], c->theirs[i]);
    print_message("  %+5.1f %%\n", 100 * c->worst_latency);
}

/* in_order: our networks keep the order of packets of one source and sink, BookSim does not; both are
 * compared. */
static void compare_uniform(bool in_order, bool whole_packets)
{
    static const double shown[3] = {0.1, 0.3, 0.4};
    failures = 0;
    uint32_t latencies = 0, curves = 0;
    struct curve c = {0};
    print_message("  topology     variant      flits saturation (BookSim)   latency at 0.1, 0.3, 0.4 "
                  "(BookSim), worst below "
                  "0.5\n");
    for (uint32_t i = 0; i < row_count; i++) {
        const struct row *r = &rows[i];
        if (strcmp(r->traffic, "uniform")) continue;
        if (whole_packets && (r->flits != 1 || strstr(r->variant, "speedup"))) continue;
        if (!c.row || !same_curve(c.row, r)) c = (struct curve){.row = r};
        const bool low = r->offered < 0.5 && r->latency > 0, last = r->offered == 1.0;
        if (!low && !last) continue;
        struct net_model_spec s = spec_of(r);
        s.net.in_order = in_order;
        s.net.hold |= whole_packets;
        if (last) s.drain_cyc = 0;
        const struct mean m = five_seeds(s);
        if (low) {
            const double off = compare(r, "latency", m.latency, r->latency);
            if (fabs(off) > fabs(c.worst_latency)) c.worst_latency = off;
            for (uint32_t k = 0; k < 3; k++)
                if (fabs(r->offered - shown[k]) < 1e-9) c.latency[k] = m.latency, c.theirs[k] = r->latency;
            latencies++;
        } else {
            (void)compare(r, "accepted", m.accepted, r->accepted);
            c.saturation = m.accepted;
            c.reference = r->accepted;
            print_curve(&c);
            curves++;
        }
    }
    if (whole_packets)
        assert_true(latencies >= 40 && curves >= 7);
    else
        assert_true(latencies >= 136 && curves >= 24);
    assert_int_equal(failures, 0);
}

static void uniform_traffic_matches_booksim_in_order(void **state)
{
    (void)state;
    compare_uniform(true, false);
}

/* A packet of one flit holds its way for one cycle: whole packets and flits are the same, except that a
 * packet which finds its VC taken waits for it in another place. The curves without speed-up and with
 * iSLIP(4). */
static void packets_of_one_flit_match_booksim_when_switched_whole(void **state)
{
    (void)state;
    compare_uniform(true, true);
}

static void uniform_traffic_matches_booksim_without_order(void **state)
{
    (void)state;
    compare_uniform(false, false);
}

/* Sizes, packets, buffers and combinations that the curves do not have (shapes.csv). */
static void other_shapes_match_booksim(void **state)
{
    (void)state;
    FILE *f = fopen("tests/reference/noc/shapes.csv", "r");
    assert_non_null(f);
    char line[512];
    assert_non_null(fgets(line, sizeof line, f));
    uint32_t seen = 0;
    failures = 0;
    while (fgets(line, sizeof line, f)) {
        char *field[12] = {0}, *rest = line;
        for (uint32_t i = 0; i < 12; i++) field[i] = strsep(&rest, ",\n");
        struct row r = {.nodes = (uint32_t)atoi(field[1]), .flits = (uint32_t)atoi(field[3]), .offered = 0.3};
        snprintf(r.topology, sizeof r.topology, "%s", field[0]);
        snprintf(r.variant, sizeof r.variant, "shape %u", seen++);
        struct net_model_spec s = spec_of(&r);
        s.net.first_routers = s.net.second_routers = (uint32_t)atoi(field[2]);
        if (strchr(field[3], '+'))
            s.packet_bytes[s.size_count++] = 16 * (uint32_t)atoi(strchr(field[3], '+') + 1);
        s.net.vcs = (uint32_t)atoi(field[4]);
        s.net.vc_flits = (uint32_t)atoi(field[5]);
        s.net.iterations = (uint32_t)atoi(field[6]);
        s.net.input_speedup = (uint32_t)atoi(field[7]);
        s.net.internal_speedup = (uint32_t)atoi(field[8]);
        s.net.hold = atoi(field[9]);
        const double latency = five_seeds(s).latency;
        s.rate = 1;
        s.drain_cyc = 0;
        const double saturation = five_seeds(s).accepted;
        const double off = compare(&r, "accepted", saturation, atof(field[10]));
        const double late = compare(&r, "latency", latency, atof(field[11]));
        print_message("  %-12s %4s flits %2u VCs x %2u  iSLIP(%u) in %u internal %u hold %u  %.3f %s %+5.1f "
                      "%%  %6.2f %6.2f %+5.1f %%\n",
                      r.topology, field[3], s.net.vcs, s.net.vc_flits, s.net.iterations, s.net.input_speedup,
                      s.net.internal_speedup, s.net.hold, saturation, field[10], 100 * off, latency,
                      atof(field[11]), 100 * late);
    }
    fclose(f);
    assert_int_equal(seen, 14);
    assert_int_equal(failures, 0);
}

/* Hot spot: latency below half load of the hot output, and 1.00 of its width at the end. */
static void a_hot_output_carries_its_whole_width(void **state)
{
    (void)state;
    failures = 0;
    double worst = 0;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < row_count; i++) {
        const struct row *r = &rows[i];
        if (strcmp(r->traffic, "hotspot0")) continue;
        const double load = r->offered * r->nodes;
        if (load >= 0.5 && load < 1.19) continue;
        struct net_model_spec s = spec_of(r);
        s.traffic = NET_HOTSPOT;
        s.measure_cyc = 40000;
        if (load >= 0.5) s.drain_cyc = 0, s.warmup_cyc = 20000;
        const struct mean m = five_seeds(s);
        seen++;
        if (load < 0.5) {
            const double off = compare(r, "latency", m.latency, r->latency);
            if (fabs(off) > fabs(worst)) worst = off;
        } else
            assert_true(fabs(m.accepted * r->nodes - 1) < 0.0005);
    }
    print_message("    %u points, worst latency %+.1f %%\n", seen, 100 * worst);
    assert_true(seen > 40);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_traffic_matches_booksim_in_order),
        cmocka_unit_test(uniform_traffic_matches_booksim_without_order),
        cmocka_unit_test(packets_of_one_flit_match_booksim_when_switched_whole),
        cmocka_unit_test(other_shapes_match_booksim),
        cmocka_unit_test(a_hot_output_carries_its_whole_width),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
