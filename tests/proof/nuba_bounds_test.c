/* NUBA over the uniform GPU against what links, crossbar and memory carry: kernels whose LLC hit rate H and
 * local share f are known, on `uba-mem` and `nuba-norep`, and the identity between speed-up and replies. In
 * lines per cycle of the whole GPU: memory 4.00, local links 14.2, crossbar 7.11 e.
 *
 *   private data:  gain <= min(14.2, 4 / (1 - H)) / min(7.11 e, 4 / (1 - H)), and near it; 1 without hits
 *   share f local: gain <= 1 / (1 - f) while crossbars bind both, and near it
 *   equal work:    speed-up = gain in replies per cycle x replies of UBA / replies of NUBA
 *
 * e is what the uniform GPU carries of reads that hit, at random lines: less than its network alone, as
 * slices whose replies wait take no requests. Lines of the uniform GPU are spread over channels (map.kind
 * pae): pages that lie in one channel each would add camping, which is not what the bound is about. */
#include "net/net_level.h"
#include "network_alone.h"
#include "system_testbed.h"

#include <jansson.h>

#include "atoll.h"

enum {
    WARPS = 32,
    LOADS_MAX = 120,
    SETTLE_CYC = 3000,
    WINDOW_CYC = 6000,
    BLOCKS = 128,
    WARM_LOADS = 10,
    HOT_LINES = 192,
    SHARED_LINES = 16384
};
#define HOT    ((uint64_t)0x10000000)
#define SHARED ((uint64_t)0x20000000)
#define STREAM ((uint64_t)0x40000000)

/* Lines per cycle: 32 channels of 22.4 GB/s; 128 links and 64 ports with 9 flits per reply; 1.4 GHz. */
static const double memory = 4.0, links = 128 / 9.0, crossbar = 64 / 9.0;

static double least(double a, double b) { return a < b ? a : b; }

/* ---- kernels ---- */

/* Of ten loads so many are of the block's own lines, which the LLC has, and so many of lines that all share;
 * the others are each of a line that nobody has read before. */
struct mix {
    uint32_t own, shared;
    uint32_t loads; /* of each warp */
};

struct rate {
    double lines_per_cyc, hit_rate, local;
};

static void write_kernel(struct bed_op ops[LOADS_MAX + 1], const struct mix *m)
{
    for (uint32_t i = 0; i < m->loads; i++) {
        const uint32_t turn = i * 7 % 10; /* evenly */
        const uint8_t dst = (uint8_t)(1 + i % 32);
        if (turn < m->own)
            ops[i] = (struct bed_op)BED_LOAD(HOT, dst, .scatter_lines = HOT_LINES,
                                             .by_block = (int64_t)HOT_LINES * LINE_BYTES,
                                             .flags = WARP_F_CACHE_L2);
        else if (turn < m->own + m->shared)
            ops[i] =
                (struct bed_op)BED_LOAD(SHARED, dst, .scatter_lines = SHARED_LINES, .flags = WARP_F_CACHE_L2);
        else
            ops[i] = (struct bed_op)BED_LOAD(STREAM + (uint64_t)i * BLOCKS * WARPS * LINE_BYTES, dst,
                                             .by_warp = LINE_BYTES, .by_block = (int64_t)WARPS * LINE_BYTES,
                                             .flags = WARP_F_CACHE_L2);
    }
    ops[m->loads] = (struct bed_op)BED_END;
}

/* Brings the block's own lines and a part of the shared ones into the LLC. */
static const struct bed_op warm[] = {
#define OWN(k) \
    BED_LOAD(HOT + (k)*WARPS * LINE_BYTES, 1 + (k), .by_warp = LINE_BYTES, \
             .by_block = (int64_t)HOT_LINES * LINE_BYTES, .flags = WARP_F_CACHE_L2)
#define OF_ALL(k) \
    BED_LOAD(SHARED + (k)*WARPS * LINE_BYTES, 8 + (k), .by_warp = LINE_BYTES, \
             .by_block = (int64_t)SHARED_LINES / BLOCKS * LINE_BYTES, .flags = WARP_F_CACHE_L2)
    OWN(0), OWN(1), OWN(2), OWN(3), OWN(4), OWN(5), OF_ALL(0), OF_ALL(1), OF_ALL(2), OF_ALL(3), BED_END};

/* From the time at which all queues have filled until the first block ends. */
static struct rate measure(const char *machine, const char *settings, const struct mix *m)
{
    static struct bed b;
    struct bed_op ops[LOADS_MAX + 1];
    char all[512];
    (void)snprintf(all, sizeof all, "mmu.mode=ideal;dram.refresh=false;%s", settings);
    bed_open_machine(&b, machine, all);
    struct engine *const e = b.system->engine;
    for (uint64_t page = 0; page < SHARED_LINES / 32; page++)
        bed_touch(&b, (uint32_t)(page * 2 % b.system->sm_count), SHARED + page * 4096, 1);
    write_kernel(ops, m);
    bed_run(&b, warm, WARPS, BLOCKS);
    bed_settle(&b);
    bed_begin(&b, ops, WARPS, BLOCKS);
    (void)engine_run(e, b.start_cyc + SETTLE_CYC);
    const struct stats before = bed_stats(&b);
    const uint64_t from = system_now(b.system);
    while (!b.ended && system_now(b.system) < from + WINDOW_CYC)
        (void)engine_run(e, system_now(b.system) + 50);
    const uint64_t took = system_now(b.system) - from;
    const struct stats after = bed_stats(&b);
    struct stats s;
    stats_subtract(&after, &before, &s);
    bed_finish(&b);
    assert_int_equal(bed_stats(&b).sm.reads_done, (uint64_t)BLOCKS * WARPS * (m->loads + WARM_LOADS));
    bed_close(&b);
    assert_true(took >= WINDOW_CYC / 4);
    return (struct rate){.lines_per_cyc = (double)s.sm.reads_done / (double)took,
                         .hit_rate = 1 - (double)s.llc.read_misses / (double)s.llc.reads,
                         .local =
                             (double)s.llc.home_reads / (double)(s.llc.home_reads + s.llc.crossing_reads)};
}

#define SPREAD "map.kind=pae;"

static double crossbar_carries(const char *settings)
{
    static const struct mix random_hits = {.shared = 10, .loads = 40};
    return measure("uba-mem", settings, &random_hits).lines_per_cyc;
}

static void expect_gain(const char *what, double gain, double bound)
{
    print_message("    %s: gain %.2f, bound %.2f (%+.0f %%)\n", what, gain, bound, 100 * (gain / bound - 1));
    /* above: what the uniform GPU loses to balance, latency, and misses that stand before hits; below: what
     * NUBA loses to banks and to the tenth of lines whose block went elsewhere */
    if (gain > 1.20 * bound) fail_msg("%s: %.2f is above the bound of %.2f", what, gain, bound);
    if (gain < 0.85 * bound) fail_msg("%s: %.2f is far below the bound of %.2f", what, gain, bound);
}

static void private_data(const char *uba, const char *nuba, uint32_t every)
{
    const double carried = crossbar_carries(uba), alone = network_alone("uba-mem", uba, 64);
    print_message("    e %.3f, the network alone %.3f\n", carried / crossbar, alone / crossbar);
    assert_true(carried < alone && carried > 0.7 * alone);
    for (uint32_t own = 0; own <= 10; own += every) {
        const struct mix m = {.own = own, .loads = 40};
        const struct rate u = measure("uba-mem", uba, &m), n = measure("nuba-norep", nuba, &m);
        char what[128];
        (void)snprintf(what, sizeof what, "H %.3f and %.3f, f %.3f, %.2f and %.2f lines per cycle",
                       u.hit_rate, n.hit_rate, n.local, u.lines_per_cyc, n.lines_per_cyc);
        const double with = least(links, memory / (1 - n.hit_rate)),
                     without = least(carried, memory / (1 - u.hit_rate));
        expect_gain(what, n.lines_per_cyc / u.lines_per_cyc, with / without);
        assert_true(n.lines_per_cyc < 1.001 * with &&
                    u.lines_per_cyc < 1.001 * least(alone, memory / (1 - u.hit_rate)));
    }
}

BED_TEST(private_data_gains_what_links_and_crossbar_differ_by) { private_data(SPREAD, "", 2); }

BED_TEST(a_better_crossbar_leaves_less_to_gain)
{
    private_data(SPREAD "net.internal_speedup=2", "slice_net.internal_speedup=2", 5);
}

BED_TEST(a_local_share_gains_what_does_not_cross)
{
    for (uint32_t own = 0; own <= 6; own += 3) {
        const struct mix m = {.own = own, .shared = 10 - own, .loads = LOADS_MAX};
        const struct rate u = measure("uba-mem", SPREAD, &m), n = measure("nuba-norep", "", &m);
        char what[128];
        (void)snprintf(what, sizeof what, "f %.3f, %.2f and %.2f lines per cycle", n.local, u.lines_per_cyc,
                       n.lines_per_cyc);
        expect_gain(what, n.lines_per_cyc / u.lines_per_cyc, 1 / (1 - n.local));
    }
}

/* ---- programs ---- */

struct outcome {
    double seconds, cycles, replies, sent, hit_rate;
};

static double number(const json_t *root, const char *group, const char *name)
{
    const json_t *value = json_object_get(json_object_get(root, group), name);
    if (!json_is_number(value)) fail_msg("no %s.%s", group, name);
    return json_number_value(value);
}

static struct outcome run(const char *machine, const char *setting, const char *workload)
{
    atoll_sim *sim;
    struct atoll_outcome out = {0};
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    if (atoll_machine(sim, machine) || (*setting && atoll_set(sim, setting)) ||
        atoll_set(sim, "mmu.mode=ideal"))
        fail_msg("%s", atoll_message(sim));
    const struct atoll_job job = {.workload = workload};
    if (atoll_run(sim, &job, &out)) fail_msg("%s on %s: %s", workload, machine, atoll_message(sim));
    json_t *root = json_loads(out.json, 0, NULL);
    assert_non_null(root);
    const struct outcome o = {.seconds = number(root, "totals", "seconds"),
                              .cycles = number(root, "totals", "cycles"),
                              .replies = number(root, "stats", "sm.replies_received"),
                              .sent = number(root, "stats", "l1.misses") +
                                      number(root, "stats", "l1.bypassed") +
                                      number(root, "stats", "l1.writes"),
                              .hit_rate = number(root, "stats", "llc.read_hit_rate")};
    json_decref(root);
    atoll_outcome_free(&out);
    atoll_destroy(sim);
    return o;
}

/* Memory binds both; what is left is balance: PAE has it, and LAB lets it fall to its threshold, 0.9. */
BED_TEST(pure_streams_gain_next_to_nothing)
{
    static const char *const streams[] = {"triad:n=1048576", "vecadd:n=1048576"};
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++) {
        const struct outcome u = run("uba-mem", "map.kind=pae", streams[k]),
                             n = run("nuba-norep", "", streams[k]);
        const double gain = u.seconds / n.seconds;
        print_message("    %s: H %.3f, gain %.3f\n", streams[k], u.hit_rate, gain);
        assert_true(u.hit_rate < 0.05);
        assert_true(gain > 0.90 && gain < 1.10);
    }
}

/* What time, replies and misses of a run say of each other, over all designs: a speed-up beyond the gain in
 * replies per cycle is a change in L1 misses, and nothing else. */
BED_TEST(speed_ups_are_replies_per_cycle_and_misses)
{
    static const char *const machines[] = {"uba-sm", "nuba-norep", "nuba-fullrep", "nuba"};
    static const char *const workloads[] = {"gemm_naive:tiny", "stringmatch:tiny", "bicg:tiny",
                                            "stencil5:tiny",   "histogram:tiny",   "kmeans:tiny"};
    for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++) {
        const struct outcome u = run("uba-mem", "", workloads[w]);
        assert_true(u.replies == u.sent);
        for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
            const struct outcome n = run(machines[m], "", workloads[w]);
            const double gain = n.replies / n.cycles / (u.replies / u.cycles);
            const double expected = gain * (u.sent / n.sent), got = u.seconds / n.seconds;
            if (got < expected * (1 - 1e-9) || got > expected * (1 + 1e-9))
                fail_msg("%s on %s: speed-up %.9f, replies and misses say %.9f", workloads[w], machines[m],
                         got, expected);
            assert_true(n.replies == n.sent);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_local_share_gains_what_does_not_cross),
        cmocka_unit_test(private_data_gains_what_links_and_crossbar_differ_by),
        cmocka_unit_test(a_better_crossbar_leaves_less_to_gain),
        cmocka_unit_test(pure_streams_gain_next_to_nothing),
        cmocka_unit_test(speed_ups_are_replies_per_cycle_and_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
