/* Machines of several GPUs and chiplets against arithmetic: what links, rings and switches carry, how four
 * GPUs scale, and what partitions of a shared GPU keep apart. */
#include "system_testbed.h"

#include <jansson.h>

#include "atoll.h"

enum { WARPS = 8, LINES_PER_BLOCK = 32 * WARPS, PAGE = 4096 };
#define AT 0x10000000

/* Every lane of every warp reads a line of its own. */
static const struct bed_op stream[] = {
    BED_LOAD(AT, 1, .stride = 128, .by_warp = 32 * 128, .by_block = LINES_PER_BLOCK * 128), BED_USE(1),
    BED_END};

/* Pages in turn to the memory next to these SMs; then the first only_sms SMs read them all. Bytes of replies
 * per second, with their headers. */
static double read_from(const char *machine, const char *settings, const uint32_t *owners,
                        uint32_t owner_count, uint32_t only_sms, uint32_t blocks)
{
    static struct bed b;
    bed_open_machine(&b, machine, settings);
    const struct config *c = &b.machine.config;
    const uint64_t lines = (uint64_t)blocks * LINES_PER_BLOCK, pages = lines * 128 / PAGE;
    for (uint64_t k = 0; k < pages; k++) bed_touch(&b, owners[k % owner_count], AT + k * PAGE, 1);
    b.only_sms = only_sms;
    bed_run(&b, stream, WARPS, blocks);
    const double seconds = (double)(b.end_cyc - b.start_cyc) / (double)c->clock.sm;
    const double bytes = (double)lines * (double)(128 + c->packet.header);
    assert_int_equal(bed_stats(&b).llc.fetches, lines);
    bed_close(&b);
    return bytes / seconds;
}

static void expect_rate(double rate, double wanted)
{
    print_message("%.1f GB/s, %.1f wanted\n", rate * 1e-9, wanted * 1e-9);
    if (rate > wanted * 1.001 || rate < wanted * 0.97)
        fail_msg("%.1f GB/s, but the links carry %.1f", rate * 1e-9, wanted * 1e-9);
}

/* 3 links of 64 GB/s per direction and GPU. */
BED_TEST(a_gpu_reads_from_three_others_at_the_rate_of_its_three_links)
{
    static const uint32_t others[] = {64, 128, 192};
    const char *settings = "map.page_size=4 KiB";
    expect_rate(read_from("numa-gpu", settings, others, 3, 64, 256), 192e9);
    expect_rate(read_from("numa-gpu", settings, others, 1, 64, 128), 64e9);
}

/* The ring carries 180 GB/s per link and direction. Two links lead to a chiplet. Requests in flight are limited and
 * spread unevenly over the two neighbours, so both links together carry less than twice as much. */
BED_TEST(a_chiplet_reads_from_its_neighbours_at_the_rate_of_the_ring)
{
    static const uint32_t one[] = {16}, both[] = {16, 48};
    const char *settings = "runtime.placement=first_touch;l1.sectored=false;llc.sectored=false";
    expect_rate(read_from("ladm-rr", settings, one, 1, 16, 128), 180e9);
    const double rate = read_from("ladm-rr", settings, both, 2, 16, 256);
    print_message("%.1f GB/s from two neighbours\n", rate * 1e-9);
    assert_true(rate > 1.5 * 180e9 && rate <= 2 * 180e9);
}

/* The chiplets of a GPU share its port of the switch. */
BED_TEST(a_gpu_reads_from_others_at_the_rate_of_its_switch_port)
{
    static const uint32_t others[] = {64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240};
    expect_rate(read_from("ladm-rr", "runtime.placement=first_touch;l1.sectored=false;llc.sectored=false",
                          others, 12, 64, 192),
                180e9);
}

static uint64_t stream_cycles(const char *machine, uint32_t blocks, uint64_t *remote)
{
    static struct bed b;
    bed_open_machine(&b, machine, "map.page_size=4 KiB;llc.boundary=drop_remote");
    const uint32_t sms = b.system->sm_count, gpus = b.machine.config.system.gpus;
    for (uint32_t k = 0; k < blocks; k++) /* each GPU a contiguous part */
        bed_touch(&b, (uint32_t)((uint64_t)k * gpus / blocks) * (sms / gpus),
                  AT + (uint64_t)k * LINES_PER_BLOCK * 128, LINES_PER_BLOCK * 128);
    b.parts = gpus;
    bed_run(&b, stream, WARPS, blocks);
    const uint64_t cycles = b.end_cyc - b.start_cyc;
    *remote = bed_stats(&b).gates.passed;
    bed_close(&b);
    return cycles;
}

/* Blocks go to the GPU that has their pages: four times the work in the time of one. */
BED_TEST(four_gpus_without_sharing_do_four_times_the_work)
{
    uint64_t remote;
    const uint64_t one = stream_cycles("gpu1", 1024, &remote);
    const uint64_t four = stream_cycles("numa-gpu", 4096, &remote);
    print_message("one GPU %llu cycles, four GPUs with four times the work %llu\n", (unsigned long long)one,
                  (unsigned long long)four);
    assert_int_equal(remote, 0);
    assert_in_range(four, one * 98 / 100, one * 102 / 100);
}

/* ---- partitions ---- */

/* The result of a run under --check with settings "a.b=c;d.e=f". */
static json_t *result(const char *machine, const char *settings, const char *workload)
{
    atoll_sim *sim;
    struct atoll_outcome outcome;
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    assert_int_equal(atoll_machine(sim, machine), ATOLL_OK);
    for (const char *from = settings; *from;) {
        const char *const end = strchrnul(from, ';');
        char one[128];
        (void)snprintf(one, sizeof one, "%.*s", (int)(end - from), from);
        assert_int_equal(atoll_set(sim, one), ATOLL_OK);
        from = *end ? end + 1 : end;
    }
    const struct atoll_job job = {.workload = workload, .check = true};
    if (atoll_run(sim, &job, &outcome) != ATOLL_OK)
        fail_msg("%s on %s (%s): %s", workload, machine, settings, atoll_message(sim));
    json_t *root = json_loads(outcome.json, 0, NULL);
    assert_non_null(root);
    atoll_outcome_free(&outcome);
    atoll_destroy(sim);
    return root;
}

static double cycles_of(const char *machine, const char *settings, const char *workload)
{
    json_t *root = result(machine, settings, workload);
    const json_t *cycles = json_object_get(json_object_get(root, "totals"), "cycles");
    const double value = (double)json_integer_value(cycles);
    json_decref(root);
    return value;
}

/* Its statistics, without those of how the simulator got there. */
static json_t *statistics(const char *machine, const char *settings, const char *workload)
{
    json_t *root = result(machine, settings, workload), *stats = json_incref(json_object_get(root, "stats"));
    const char *key;
    json_t *value;
    void *next;
    json_decref(root);
    json_object_foreach_safe(stats, next, key, value)
    {
        if (!strncmp(key, "engine.", 7)) (void)json_object_del(stats, key);
    }
    return stats;
}

/* Four GPUs with pages spread over them lie between one and four: nearer to four the less they share. */
static void numa_gpu_lies_between_one_and_four_gpus_by_sharing(void **state)
{
    (void)state;
    static const char *const workloads[] = {"vecadd:n=1048576", "sgemm:n=256"}; /* shares nothing, much */
    double gains[2];
    for (size_t k = 0; k < 2; k++) {
        const double one = cycles_of("gpu1", "map.page_size=4KiB", workloads[k]);
        gains[k] = one / cycles_of("numa-gpu", "map.page_size=4KiB", workloads[k]);
        print_message("%s: four GPUs %.2f times as fast as one\n", workloads[k], gains[k]);
    }
    assert_true(gains[1] >= 1 && gains[0] > 1.5 * gains[1] && gains[0] <= 4);
}

static const struct {
    const char *machine, *workload;
} runs[] = {{"numa-gpu", "reduction:tiny"},      {"numa-gpu", "spmv:tiny"},
            {"ladm-rr", "histogram:tiny"},       {"ladm-kernelwide", "spmv:tiny"},
            {"mcm-uba", "reduction:tiny"},       {"ugpu-bp", "reduction:tiny+histogram:tiny"},
            {"ugpu-mps", "spmv:tiny+triad:tiny"}};

static void the_order_of_visits_does_not_matter(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        json_t *fixed = statistics(runs[k].machine, "", runs[k].workload);
        json_t *again = statistics(runs[k].machine, "", runs[k].workload);
        json_t *shuffled = statistics(runs[k].machine, "sim.visit_order=shuffled", runs[k].workload);
        if (!json_equal(fixed, again) || !json_equal(fixed, shuffled))
            fail_msg("%s on %s differs", runs[k].workload, runs[k].machine);
        json_decref(fixed);
        json_decref(again);
        json_decref(shuffled);
    }
}

static void queues_of_one_entry_pass_everything(void **state)
{
    (void)state;
    static const char one_entry[] =
        "l1.miss_queue=1;l1.mshrs=1;l1.mshr_merges=1;sm.lsu_queue=1;sm.loads=1;sm.stores=1;llc.mshr_merges=1;"
        "llc.data_queue=1;llc.reply_queue=1;llc.memory_queue=1;llc.forward_queue=1;net.vcs=2;net.input_"
        "speedup=1;"
        "net.vc_flits=1;net.source_packets=1;net.sink_packets=1;slice_net.source_packets=1;slice_net.sink_"
        "packets=1;"
        "gpu_net.source_packets=1;gpu_net.buffer=144 B;chiplet_net.source_packets=1;chiplet_net.buffer=144 B;"
        "dram.queue_entries=2;llc.mshrs=";
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++)
        for (int mshrs = 1; mshrs < 3; mshrs++) { /* with one nothing of other chiplets is cached */
            char settings[1024];
            (void)snprintf(settings, sizeof settings, "%s%d", one_entry, mshrs);
            json_decref(result(runs[k].machine, settings, runs[k].workload));
        }
}

/* Gates between networks of different clocks are told of room at several times: none of them is forgotten. */
static void gates_between_fast_links_lose_no_turn(void **state)
{
    (void)state;
    for (uint32_t packets = 1; packets <= 3; packets++)
        for (uint32_t link_cyc = 1; link_cyc <= 3; link_cyc++) {
            char settings[128];
            (void)snprintf(settings, sizeof settings, "chiplet_net.buffer=%u B;chiplet_net.latency=%u cycles",
                           packets * 136, 3 + link_cyc);
            json_decref(result("mcm-nuba", settings, "histogram:n=1024"));
        }
}

static uint64_t first_run_cycles(const char *machine, const char *settings, const char *workload)
{
    json_t *root = result(machine, settings, workload);
    const json_t *row = json_array_get(json_object_get(root, "apps"), 0);
    const json_t *cycles = json_object_get(row, "first_run_cycles");
    const uint64_t value = (uint64_t)json_integer_value(cycles ? cycles : json_object_get(row, "cycles"));
    json_decref(root);
    return value;
}

/* With its neighbour (settings `with`), and on the same partition without (settings `alone`). */
static void neighbour(const char *machine, const char *with_settings, const char *alone, bool isolated)
{
    const char *const names[] = {"vecadd:n=262144", "sgemm:n=128"};
    for (uint32_t app = 0; app < 2; app++) {
        char pair[128];
        (void)snprintf(pair, sizeof pair, "%s+%s", names[app], names[!app]);
        const uint64_t with = first_run_cycles(machine, with_settings, pair);
        const uint64_t without = first_run_cycles(machine, alone, names[app]);
        print_message("%s on %s: %llu cycles beside the other, %llu without\n", names[app], machine,
                      (unsigned long long)with, (unsigned long long)without);
        const double change = (double)with / (double)without - 1;
        if (isolated && with != without) fail_msg("%s: %.3f %%", names[app], 100 * change);
        if (!isolated && app && change < 0.01) fail_msg("%s: shared memory costs it nothing", names[app]);
    }
}

static void a_partition_is_isolated_and_mps_is_not(void **state)
{
    (void)state;
    neighbour("ugpu-bp", "apps.mmu=equal", "apps.sms=40;apps.channels=16;apps.mmu=equal;apps.mmu_shares=2",
              true);
    neighbour("ugpu-mps", "", "apps.sms=40", false);
}

/* ---- bottlenecks ---- */

static void expect_bound(const char *machine, const char *settings, const char *bound, const char *why)
{
    json_t *root = result(machine, settings, "vecadd:n=262144");
    const json_t *totals = json_object_get(root, "totals");
    const char *const by = json_string_value(json_object_get(totals, "bound_by"));
    const char *const reason = json_string_value(json_object_get(totals, "bound_by_why"));
    if (!by || strcmp(by, bound) || !reason || !strstr(reason, why))
        fail_msg("%s (%s): bound by %s: %s", machine, settings, by ? by : "?", reason ? reason : "?");
    json_decref(root);
}

static void what_bounds_a_machine_with_links_is_named_rightly(void **state)
{
    (void)state;
    expect_bound("numa-gpu", "", "gpu_network", "bandwidth: ");
    expect_bound("numa-gpu", "gpu_net.buffer=1 KiB", "gpu_network", "credit: ");
    expect_bound("numa-gpu", "gpu_net.buffer=5 KiB", "gpu_network", "credit: ");
    expect_bound("numa-gpu", "gpu_net.latency=10 us", "gpu_network", "latency: ");
    expect_bound("numa-gpu", "clock.dram=20 MHz", "dram", "");
    expect_bound("a100", "chiplet_net.buffer=512 B", "chiplet_network", "credit: ");
    expect_bound("a100", "chiplet_net.bandwidth=50 GB/s", "chiplet_network", "bandwidth: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_reads_from_three_others_at_the_rate_of_its_three_links),
        cmocka_unit_test(a_chiplet_reads_from_its_neighbours_at_the_rate_of_the_ring),
        cmocka_unit_test(a_gpu_reads_from_others_at_the_rate_of_its_switch_port),
        cmocka_unit_test(four_gpus_without_sharing_do_four_times_the_work),
        cmocka_unit_test(a_partition_is_isolated_and_mps_is_not),
        cmocka_unit_test(numa_gpu_lies_between_one_and_four_gpus_by_sharing),
        cmocka_unit_test(the_order_of_visits_does_not_matter),
        cmocka_unit_test(queues_of_one_entry_pass_everything),
        cmocka_unit_test(what_bounds_a_machine_with_links_is_named_rightly),
        cmocka_unit_test(gates_between_fast_links_lose_no_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
