/* Every bundled workload on every one-GPU preset: right results and all laws; the same statistics to the bit
 * when repeated, with visits in random order, with another layout of host memory and under valgrind; queues
 * of one entry and clocks that do not divide each other. */
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_stats.h"
#include "workload.h"

static const char *const presets[] = {"uba-mem", "selrep-shared", "gpu1", "v100"};
enum { PRESETS = sizeof presets / sizeof *presets };
extern const struct workload *const script_registry[];

/* What makes rare events constant. */
static const char *const one_entry[] = {
    "l1.miss_queue=1",     "l1.mshrs=1",        "l1.mshr_merges=1",     "sm.lsu_queue=1",
    "sm.loads=1",          "sm.stores=1",       "llc.mshrs=1",          "llc.mshr_merges=1",
    "llc.data_queue=1",    "llc.reply_queue=1", "llc.memory_queue=1",   "net.vcs=2",
    "net.input_speedup=1", "net.vc_flits=1",    "net.source_packets=1", "net.sink_packets=1",
    "mmu.mode=tlb",        "mmu.l1_misses=1",   "mmu.l1_waiting=1",     "mmu.walkers=1",
    "mmu.l1_entries=1",    "mmu.l2_entries=1",  "dram.queue_entries=2", NULL};
/* As much evicting as possible: one way, one set per cache would be a machine of its own. */
static const char *const thrashing[] = {"l1.size=512 B", "l1.ways=4",          "gpu.llc_size=64 KiB",
                                        "llc.ways=2",    "llc.boundary=flush", NULL};
static const char *const odd_clocks[] = {"clock.sm=1200 MHz", "clock.net=1000 MHz", "clock.llc=900 MHz",
                                         "clock.dram=700 MHz", NULL};
static const char *const as_it_is[] = {NULL};
/* v100, whose memory side is worked off in windows: where a window is short, where slices cannot tell what
 * memory accepts, where requests find no place behind the network, where the pipe of an SM is full. */
static const char *const windows[][5] = {
    {"llc.memory_latency_cyc=20", "gpu.llc_size=1536 KiB", NULL},
    {"llc.memory_queue=1", "llc.mshrs=4", "clock.dram=300 MHz", NULL},
    {"net.sink_packets=4", "llc.mshr_merges=2", NULL},
    {"net.source_packets=1", NULL},
    /* one channel has all to do: reads that find their data in waiting writes are ready before others */
    {"map.kind=fixed_channel", "map.page_size=2 MiB", "gpu.llc_size=384 KiB", "llc.ways=4", NULL},
    /* channels alone with their reads: one clock for all and four slices in turn; one slice; short rows */
    {"clock.dram=1132 MHz", "partition.slices=8", "dram.queue_entries=16", NULL},
    {"partition.slices=2", "dram.starvation_cyc=300", "dram.row_hit_cap=1", "dram.trefi_cyc=700", NULL},
    {"dram.column_size=32 B", "dram.rows=32768", "dram.close_rule=when_older", "dram.act_bus_cyc=2", NULL},
    {"llc.latency_cyc=20", NULL},
    {"runtime.rotate_blocks_cyc=1000", NULL},
    {"net.link_latency_cyc=400", NULL}, /* too long for windows */
    {"net.link_latency_cyc=60", "llc.tag_latency_cyc=100", NULL},
    {"net.source_packets=2", "llc.miss_latency_cyc=10", NULL},
    {"llc.data_queue=1", "llc.reply_queue=1", NULL},
    {"sm.lsu_queue=1", "l1.miss_queue=1", "l1.mshrs=4", NULL},
    {"l1.allocate=on_miss", "l1.ways=2", "l1.size=16 KiB", NULL},
    {"l1.lines_per_cyc=4", "sm.scheduler=gto", NULL},
    {"sm.scheduler=two_level", "sm.loads=2", "sm.stores=2", NULL},
    {"llc.tag_latency_cyc=150", "llc.reply_queue=8", "sim.series_interval_cyc=100", NULL}};
enum { WINDOWS = sizeof windows / sizeof *windows };

/* GPUs whose slices send to each other: fewer workloads, so that it stays quick. */
static const char *const forwarding[] = {"uba-sm",  "nuba-norep", "nuba-fullrep", "nuba",
                                         "mcm-uba", "mcm-nuba",   "a100"};
static const char *const sharing[] = {"gemm_naive:tiny", "bfs:tiny", "histogram:tiny", "bicg:tiny",
                                      "stencil5:tiny"};
enum { FORWARDING = sizeof forwarding / sizeof *forwarding, SHARING = sizeof sharing / sizeof *sharing };
static const char *const one_entry_between[] = {"slice_net.vcs=2",
                                                "slice_net.input_speedup=1",
                                                "slice_net.vc_flits=1",
                                                "slice_net.source_packets=1",
                                                "slice_net.sink_packets=1",
                                                "chiplet_net.source_packets=1",
                                                "chiplet_net.buffer=136 B",
                                                "llc.local_queue=1",
                                                "llc.forward_queue=1",
                                                "llc.mshrs=1",
                                                "llc.data_queue=1",
                                                "llc.reply_queue=1",
                                                "llc.memory_queue=1",
                                                "net.source_packets=1",
                                                "net.sink_packets=1",
                                                "l1.miss_queue=1",
                                                NULL};

/* Runs all on all; on every shuffled-th preset again with visits in random order, and cycle by cycle. */
static void all_on_all(const char *const *settings, int shuffled)
{
    for (int p = 0; p < PRESETS; p++)
        for (const struct workload *const *w = script_registry; *w; w++) {
            char spec[128];
            (void)snprintf(spec, sizeof spec, "%s:tiny", (*w)->name);
            json_t *first = run(presets[p], spec, settings, NULL);
            if (p % shuffled == 0) {
                expect_same(first, run(presets[p], spec, settings, "sim.visit_order=shuffled"), spec,
                            presets[p], "in shuffled order");
                expect_same(first, run(presets[p], spec, settings, "sim.work_ahead=false"), spec, presets[p],
                            "cycle by cycle");
            }
            json_decref(first);
        }
}

static void every_workload_is_right_and_lawful_on_every_preset(void **state)
{
    (void)state;
    all_on_all(as_it_is, 1);
}

static void queues_of_one_entry_change_no_result(void **state)
{
    (void)state;
    all_on_all(one_entry, 4);
}

static void caches_that_hold_next_to_nothing_change_no_result(void **state)
{
    (void)state;
    all_on_all(thrashing, 4);
}

static void clocks_that_do_not_divide_each_other_change_no_result(void **state)
{
    (void)state;
    all_on_all(odd_clocks, 1);
}

static void gpus_whose_slices_forward_may_be_visited_in_any_way(void **state)
{
    static const char *const *const settings[] = {as_it_is, one_entry_between, thrashing, odd_clocks};
    (void)state;
    for (int p = 0; p < FORWARDING; p++)
        for (int w = 0; w < SHARING; w++)
            for (int k = 0; k < 4; k++) {
                if (k && (p + k) % SHARING != w) continue; /* one workload for each of the others */
                json_t *first = run(forwarding[p], sharing[w], settings[k], NULL);
                expect_same(first, run(forwarding[p], sharing[w], settings[k], "sim.visit_order=shuffled"),
                            sharing[w], forwarding[p], "in shuffled order");
                if (!k)
                    expect_same(first, run(forwarding[p], sharing[w], settings[k], "sim.work_ahead=false"),
                                sharing[w], forwarding[p], "cycle by cycle");
                json_decref(first);
            }
}

static void windows_change_no_result(void **state)
{
    static const char *const workloads[] = {
        "vecadd:tiny", "gather:tiny", "lbm:tiny", "transpose:tiny",     "histogram:tiny", "mvt:tiny",
        "pvc:tiny",    "bfs:tiny",    "fwt:tiny", "streamcluster:tiny", "sp:tiny",        "triad:tiny"};
    (void)state;
    for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++)
        for (int k = 0; k < WINDOWS; k++) {
            json_t *first = run("v100", workloads[w], windows[k], NULL);
            expect_same(first, run("v100", workloads[w], windows[k], "sim.work_ahead=false"), workloads[w],
                        "v100", windows[k][0]);
            if ((w + (size_t)k) % 4 == 0)
                expect_same(first, run("v100", workloads[w], windows[k], "sim.visit_order=shuffled"),
                            workloads[w], "v100", "in shuffled order");
            json_decref(first);
        }
}

/* Reads among writes that wait for memory: some find their data there, some writes starve, and at the end
 * only writes are left. */
static void writes_that_wait_in_windows_change_no_result(void **state)
{
    static const char *const workloads[] = {"stencil5:rows=256,cols=256,steps=3", "histogram:n=65536",
                                            "gather:n=32768", "bfs:tiny", "triad:n=65536"};
    static const char *const settings[][6] = {
        {"gpu.llc_size=96KiB", "llc.ways=1", "clock.dram=101MHz", "dram.starvation_cyc=300", NULL},
        {"gpu.llc_size=192KiB", "llc.ways=2", "dram.queue_entries=16", "dram.turnaround_cyc=20",
         "dram.row_hit_cap=2", NULL},
        {"gpu.llc_size=192KiB", "llc.ways=1", "dram.close_rule=when_older", "dram.refresh=false",
         "llc.memory_queue=2", NULL},
        {"gpu.llc_size=384KiB", "partition.slices=8", "dram.queue_entries=5", "dram.twr_cyc=30",
         "llc.boundary=flush", NULL}};
    (void)state;
    for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++)
        for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
            json_t *first = run("v100", workloads[w], settings[k], NULL);
            expect_same(first, run("v100", workloads[w], settings[k], "sim.work_ahead=false"), workloads[w],
                        "v100", settings[k][2]);
            json_decref(first);
        }
}

/* A slice with room for one operation looks again in the cycle after memory has accepted it, even one that
 * was due when both clocks tick. */
static void room_for_one_operation_changes_no_result(void **state)
{
    static const char *const settings[] = {"llc.mshrs=1", "llc.memory_queue=1", "llc.fill_latency_cyc=1",
                                           "gpu.memory_size=256MiB", NULL};
    static const char *const workloads[] = {"vecadd:n=20000", "gather:n=8192,from=65536"};
    (void)state;
    for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++) {
        json_t *first = run("v100", workloads[w], settings, NULL);
        expect_same(first, run("v100", workloads[w], settings, "sim.work_ahead=false"), workloads[w], "v100",
                    "room for one");
        json_decref(first);
    }
}

/* Whoever looks in the middle of a window sees what happened up to then, and so do series. */
static void windows_stop_where_cycles_stop(void **state)
{
    static const char *const workloads[] = {"spmv:tiny", "sp:tiny"};
    static const char *const settings[] = {"runtime.start_skew_cyc=200", "net.sink_packets=2", NULL};
    (void)state;
    for (uint64_t limit = 600; limit < 4000; limit += 200) {
        const char *const workload = workloads[limit % 400 == 0];
        json_t *first = run_some("v100", workload, settings, NULL, limit);
        expect_same(first, run_some("v100", workload, settings, "sim.work_ahead=false", limit), workload,
                    "v100", "stopped");
        json_decref(first);
    }
}

/* Nor do channels that are late do more than those in time when a kernel ends in the middle of an instant, or
 * an operation is due at once when the last instructions are issued. Replies given to the network ahead leave
 * a slice when they would have. */
static void channels_stop_where_cycles_stop(void **state)
{
    static const char *const slow[] = {"llc.memory_latency_cyc=1", "clock.llc=700MHz", "gpu.llc_size=768KiB",
                                       "map.page_size=2MiB", NULL},
                             *const even[] = {"sm.loads=1", "mmu.mode=tlb", "clock.dram=1132MHz", NULL},
                             *const narrow[] = {"chiplet.partitions=1", "gpu.memory_size=1GiB", NULL};
    static const struct {
        const char *preset, *workload;
        const char *const *settings;
        uint64_t limit;
    } tried[] = {{"uba-mem", "vecadd:n=20000", slow, 0},
                 {"v100", "bfs:tiny", even, 5000},
                 {"v100", "vecadd:n=20000", narrow, 7916}};
    (void)state;
    for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
        const char *const preset = tried[k].preset, *const workload = tried[k].workload;
        json_t *first = run_some(preset, workload, tried[k].settings, NULL, tried[k].limit);
        expect_same(first,
                    run_some(preset, workload, tried[k].settings, "sim.work_ahead=false", tried[k].limit),
                    workload, preset, "stopped");
        json_decref(first);
    }
}

/* A kernel of one ends, and the slices are looked through, while another runs. */
static void applications_side_by_side_may_be_visited_in_any_way(void **state)
{
    static const char *const boundary[] = {"llc.boundary=flush", NULL},
                             *const copies[] = {"selrep.degree=4", NULL},
                             *const toggling[] = {"selrep.profile_cyc=1000", "selrep.period_cyc=3000",
                                                  "selrep.samples=1", NULL};
    static const struct {
        const char *preset, *pair;
        const char *const *settings;
    } tried[] = {{"ugpu-mps", "sgemm:tiny+vecadd:tiny", as_it_is},
                 {"ugpu-bp", "sgemm:tiny+vecadd:tiny", as_it_is},
                 {"uba-mem", "vecadd:tiny+squeezenet:tiny", boundary},
                 {"nuba-fullrep", "vecadd:tiny+squeezenet:tiny", as_it_is},
                 {"selrep-private", "vecadd:tiny+squeezenet:tiny", as_it_is},
                 {"selrep-adaptive", "vecadd:tiny+squeezenet:tiny", toggling},
                 {"selrep", "vecadd:tiny+squeezenet:tiny", copies}};
    (void)state;
    for (size_t p = 0; p < sizeof tried / sizeof *tried; p++) {
        const char *const preset = tried[p].preset, *const pair = tried[p].pair;
        json_t *first = run(preset, pair, tried[p].settings, NULL);
        expect_same(first, run(preset, pair, tried[p].settings, "sim.visit_order=shuffled"), pair, preset,
                    "in shuffled order");
        expect_same(first, run(preset, pair, tried[p].settings, "sim.work_ahead=false"), pair, preset,
                    "cycle by cycle");
        json_decref(first);
    }
}

static void repeat(const char *preset)
{
    json_t *first = run(preset, "bfs:tiny", as_it_is, NULL);
    char *shift = malloc(12345); /* the next run's memory lies elsewhere */
    expect_same(first, run(preset, "bfs:tiny", as_it_is, NULL), "bfs:tiny", preset, "repeated");
    free(shift);
    json_decref(first);
}

static void a_run_repeats_to_the_bit(void **state)
{
    (void)state;
    for (int p = 0; p < PRESETS; p++) repeat(presets[p]);
    for (int p = 0; p < FORWARDING; p++) repeat(forwarding[p]);
}

/* ---- other processes ---- */

static bool available(const char *program)
{
    char command[64];
    (void)snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", program);
    return system(command) == 0;
}

/* The program beside the folder of this test. */
static json_t *run_outside(const char *prefix, const char *preset)
{
    char self[PATH_MAX] = "", command[PATH_MAX + 256];
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) fail_msg("no /proc/self/exe");
    const char *folder = dirname(dirname(self));
    (void)snprintf(command, sizeof command, "%s %s/atoll run -m %s -w scan:tiny --json - 2>/dev/null", prefix,
                   folder, preset);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    json_t *root = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL);
    (void)pclose(f);
    if (!root) fail_msg("no JSON from: %s", command);
    return take_stats(root);
}

static void host_memory_may_lie_anywhere(void **state)
{
    (void)state;
    if (!available("setarch")) skip();
    for (int p = 0; p < PRESETS; p++) {
        json_t *here = run(presets[p], "scan:tiny", as_it_is, NULL);
        expect_same(here, run_outside("setarch -R", presets[p]), "scan:tiny", presets[p],
                    "at fixed addresses");
        expect_same(here, run_outside("", presets[p]), "scan:tiny", presets[p], "at random addresses");
        json_decref(here);
    }
}

static void valgrind_sees_the_same_run(void **state)
{
    (void)state;
    if (!available("valgrind")) skip();
    json_t *here = run("uba-mem", "scan:tiny", as_it_is, NULL);
    expect_same(here, run_outside("valgrind -q --error-exitcode=9 --log-file=/dev/null", "uba-mem"),
                "scan:tiny", "uba-mem", "under valgrind");
    json_decref(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_workload_is_right_and_lawful_on_every_preset),
        cmocka_unit_test(queues_of_one_entry_change_no_result),
        cmocka_unit_test(caches_that_hold_next_to_nothing_change_no_result),
        cmocka_unit_test(clocks_that_do_not_divide_each_other_change_no_result),
        cmocka_unit_test(windows_change_no_result),
        cmocka_unit_test(writes_that_wait_in_windows_change_no_result),
        cmocka_unit_test(room_for_one_operation_changes_no_result),
        cmocka_unit_test(windows_stop_where_cycles_stop),
        cmocka_unit_test(channels_stop_where_cycles_stop),
        cmocka_unit_test(gpus_whose_slices_forward_may_be_visited_in_any_way),
        cmocka_unit_test(applications_side_by_side_may_be_visited_in_any_way),
        cmocka_unit_test(a_run_repeats_to_the_bit),
        cmocka_unit_test(host_memory_may_lie_anywhere),
        cmocka_unit_test(valgrind_sees_the_same_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
