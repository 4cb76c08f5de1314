/* Random machines around v100: lookahead windows and all other work ahead (sim.work_ahead=true) give the same
 * statistics to the bit as a simulation cycle by cycle (sim.work_ahead=false).
 *
 * A machine is v100 with a random value of about a third of the parameters below. A seed determines the
 * machine, the workload and the length of the run; a failure prints the seed and the settings. The seeds are
 * divided into shards of about 20 CPU seconds. The commit selects a shard, so that successive commits check
 * all seeds. ATOLL_SHARDS=all checks every shard, ATOLL_SHARDS=7 checks shard 7, ATOLL_SEED=1234 one seed. */
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "run_stats.h"
#include "shard.h"

enum { SHARDS = 16, SEEDS_PER_SHARD = 320, SETTINGS_MAX = 80, VALUES_MAX = 6, SETTING_BYTES = 64 };

/* Values that make a parameter small, odd, usual and large. Every combination is a valid machine. `also`: a
 * setting without which the value would be invalid; a later row may replace it. */
static const struct {
    const char *name;
    const char *values[VALUES_MAX];
    const char *also;
} choices[] = {
    {"gpu.llc_size", .values = {"192 KiB", "384 KiB", "768 KiB", "1536 KiB", "3 MiB"}, .also = "llc.ways=2"},
    {"llc.ways", .values = {"1", "2", "4", "6", "12"}},
    {"llc.sectored", .values = {"false"}},
    {"llc.index", .values = {"linear"}},
    {"llc.replacement", .values = {"fifo", "random", "srrip"}},
    {"llc.mshrs", .values = {"1", "2", "7", "24", "64"}},
    {"llc.mshr_merges", .values = {"1", "2", "5"}},
    {"llc.memory_queue", .values = {"1", "2", "3", "16"}},
    {"llc.data_queue", .values = {"1", "2", "32"}},
    {"llc.reply_queue", .values = {"1", "8", "100"}},
    {"llc.port", .values = {"16 B", "64 B"}},
    {"llc.atomic_cyc", .values = {"2", "5"}},
    {"llc.latency_cyc", .values = {"161", "175", "240"}},
    {"llc.miss_latency_cyc", .values = {"20", "161", "190"}},
    {"llc.tag_latency_cyc", .values = {"20", "90", "150"}},
    {"llc.fill_latency_cyc", .values = {"1", "9", "30"}},
    {"llc.memory_latency_cyc", .values = {"3", "20", "61", "180", "333"}},
    {"net.width", .values = {"32 B", "48 B", "136 B"}},
    {"net.source_packets", .values = {"1", "3", "64", "200"}},
    {"net.sink_packets", .values = {"1", "2", "9", "64"}},
    {"net.link_latency_cyc", .values = {"2", "11", "40"}},
    {"net.inject_latency_cyc", .values = {"3", "8"}},
    {"net.credit_delay_cyc", .values = {"1", "6"}},
    {"clock.dram", .values = {"101 MHz", "300 MHz", "566 MHz", "1132 MHz", "1499 MHz"}},
    {"dram.queue_entries", .values = {"4", "5", "9", "16", "33"}},
    {"dram.queue", .values = {"split"}},
    {"dram.bus", .values = {"single"}},
    {"dram.close_rule", .values = {"when_older"}},
    {"dram.row_hit_cap", .values = {"0", "1", "2", "16"}},
    {"dram.starvation_cyc", .values = {"0", "100", "300", "1000"}},
    {"dram.refresh", .values = {"false"}},
    {"dram.trefi_cyc", .values = {"700", "1501"}},
    {"dram.trcd_rd_cyc", .values = {"5", "20"}},
    {"dram.trp_cyc", .values = {"5", "21"}},
    {"dram.tcl_cyc", .values = {"5", "25"}},
    {"dram.trtp_cyc", .values = {"1", "9"}},
    {"dram.twr_cyc", .values = {"0", "30"}},
    {"dram.tfaw_cyc", .values = {"16", "40"}},
    {"dram.tccd_l_cyc", .values = {"1", "4"}},
    {"dram.turnaround_cyc", .values = {"0", "9", "20"}},
    {"dram.act_bus_cyc", .values = {"2"}},
    {"map.interleave", .values = {"128 B", "1 KiB", "4 KiB"}},
    {"partition.slices", .values = {"2", "8"}},
    {"partition.sms", .values = {"1", "2"}},
    {"l1.size", .values = {"6 KiB", "24 KiB"}},
    {"l1.ways", .values = {"1", "4"}},
    {"l1.sectored", .values = {"false"}},
    {"l1.index", .values = {"linear"}},
    {"l1.replacement", .values = {"fifo", "random", "srrip"}},
    {"l1.allocate", .values = {"on_miss"}},
    {"l1.write_hit", .values = {"evict"}},
    {"l1.mshrs", .values = {"1", "3", "16", "64"}},
    {"l1.mshr_merges", .values = {"1", "2", "32"}},
    {"l1.miss_queue", .values = {"1", "2", "9"}},
    {"l1.lines_per_cyc", .values = {"2", "4"}},
    {"l1.latency_cyc", .values = {"5", "40"}},
    {"l1.fill_latency_cyc", .values = {"1", "7"}},
    {"sm.scheduler", .values = {"gto", "two_level"}},
    {"sm.schedulers", .values = {"1", "2"}},
    {"sm.loads", .values = {"1", "2", "17"}},
    {"sm.stores", .values = {"1", "2", "13"}},
    {"sm.lsu_queue", .values = {"1", "3"}},
    {"sm.lsu_interval_cyc", .values = {"2", "5"}},
    {"sm.block_slots", .values = {"1", "3"}},
    {"packet.header", .values = {"1 B", "24 B"}},
    {"packet.write", .values = {"literal"}},
    {"runtime.start_skew_cyc", .values = {"50", "999"}},
    {"sim.series_interval_cyc", .values = {"100", "777"}},
};
enum { CHOICES = sizeof choices / sizeof *choices };
_Static_assert(CHOICES + 1 <= SETTINGS_MAX, "a machine may have a setting of every row");

static const char *const workloads[] = {
    "vecadd:tiny",        "gather:tiny", "lbm:tiny",  "transpose:tiny", "histogram:tiny",
    "mvt:tiny",           "pvc:tiny",    "bfs:tiny",  "fwt:tiny",       "sp:tiny",
    "streamcluster:tiny", "triad:tiny",  "spmv:tiny", "gather:n=8192",  "stencil5:rows=128,cols=128,steps=2",
    "histogram:n=16384"};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

struct random_machine {
    char text[SETTINGS_MAX][SETTING_BYTES];
    const char *settings[SETTINGS_MAX + 1];
    const char *workload;
    uint64_t instructions; /* 0: all */
};

static uint64_t draw(uint64_t *state, uint64_t count)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return hash_u64(*state) % count;
}

static void add_setting(struct random_machine *m, uint32_t *count, uint32_t row, uint64_t value)
{
    (void)snprintf(m->text[*count], SETTING_BYTES, "%s=%s", choices[row].name, choices[row].values[value]);
    m->settings[*count] = m->text[*count];
    ++*count;
    if (choices[row].also) m->settings[(*count)++] = choices[row].also;
}

static void make_machine(struct random_machine *m, uint64_t seed)
{
    uint64_t state = hash_u64(seed + 1);
    uint32_t count = 0;
    /* some machines differ from v100 in few parameters: the fast loops stay in use there */
    const uint64_t one_in = 3 + 3 * draw(&state, 5);
    for (uint32_t k = 0; k < CHOICES; k++) {
        if (draw(&state, one_in)) continue;
        uint32_t values = 0;
        while (values < VALUES_MAX && choices[k].values[values]) values++;
        add_setting(m, &count, k, draw(&state, values));
    }
    m->settings[count] = NULL;
    m->workload = workloads[draw(&state, WORKLOADS)];
    m->instructions = draw(&state, 4) ? 0 : 500 + draw(&state, 4000);
}

/* The command that repeats the comparison. */
static void print_machine(const struct random_machine *m, uint64_t seed)
{
    print_message("seed %llu: -m v100 -w %s", (unsigned long long)seed, m->workload);
    if (m->instructions) print_message(" --max-instructions %llu", (unsigned long long)m->instructions);
    for (uint32_t k = 0; m->settings[k]; k++) print_message(" -s '%s'", m->settings[k]);
    print_message("\n");
}

/* True: the machine was simulated in lookahead windows. */
static bool compare_seed(uint64_t seed)
{
    struct random_machine m;
    make_machine(&m, seed);
    json_t *ahead = run_json("v100", m.workload, m.settings, NULL, m.instructions);
    const json_t *host = json_object_get(ahead, "host");
    const bool windows = !strcmp(json_string_value(json_object_get(host, "lookahead_windows")), "on");
    json_t *stats = take_stats(ahead);
    json_t *cycle_by_cycle = run_some("v100", m.workload, m.settings, "sim.work_ahead=false", m.instructions);
    if (!json_equal(stats, cycle_by_cycle)) print_machine(&m, seed);
    expect_same(stats, cycle_by_cycle, m.workload, "v100", "cycle by cycle");
    json_decref(stats);
    return windows;
}

static void compare_shard(uint32_t shard)
{
    uint32_t windows = 0;
    for (uint32_t k = 0; k < SEEDS_PER_SHARD; k++)
        windows += compare_seed((uint64_t)shard * SEEDS_PER_SHARD + k);
    print_message("random machines: shard %u of %d, seeds %u to %u, %u of %d in lookahead windows\n", shard,
                  SHARDS, shard * SEEDS_PER_SHARD, (shard + 1) * SEEDS_PER_SHARD - 1, windows,
                  SEEDS_PER_SHARD);
    assert_true(windows >= SEEDS_PER_SHARD / 4);
}

static void random_machines_have_the_same_statistics_cycle_by_cycle(void **state)
{
    const char *seed = getenv("ATOLL_SEED");
    (void)state;
    if (seed)
        (void)compare_seed(strtoull(seed, NULL, 10));
    else
        for (uint32_t k = 0; k < SHARDS; k++)
            if (shard_is_chosen(k, SHARDS)) compare_shard(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_machines_have_the_same_statistics_cycle_by_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
