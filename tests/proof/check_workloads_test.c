/* check_workloads: --check passes on every bundled workload, on every preset that runs with timing and under
 * every setting that changes what a cache keeps; and it changes no result. The settings and organisations beside
 * the default are divided into shards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "atoll.h"
#include "shard.h"
#include "workload.h"

enum { SHARDS = 4 };

extern const struct workload *const script_registry[];

static const char *const machines[] = {"uba-mem", "selrep-shared", "gpu1", "v100"};
static const char *const settings[] = {
    "",
    "llc.boundary=flush",
    "llc.boundary=clean",
    "l1.write_hit=update",
    "l1.write_hit=evict",
    "l1.allocate=on_fill",
    "l1.allocate=on_miss",
    "l1.sectored=true llc.sectored=true",
    "l1.sectored=false llc.sectored=false",
    "gpu.llc_size=384KiB l1.size=6KiB l1.mshrs=4 l1.write_hit=update l1.allocate=on_fill l1.sectored=true",
    "runtime.rotate_blocks_cyc=1500",
};

/* Cycles, or 0 after a failure that was printed. settings_: separated by spaces. look: at the result; NULL:
 * do not. */
static uint64_t run_and_look(const char *machine, const char *settings_, const char *workload, bool check,
                             void (*look)(const char *json))
{
    atoll_sim *sim;
    struct atoll_outcome out;
    char words[256];
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    assert_int_equal(atoll_machine(sim, machine), ATOLL_OK);
    (void)snprintf(words, sizeof words, "%s", settings_);
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " ", &rest));) assert_int_equal(atoll_set(sim, word), ATOLL_OK);
    const struct atoll_job job = {.workload = workload, .check = check};
    const atoll_status status = atoll_run(sim, &job, &out);
    if (status) print_error("%s %s %s: %s\n", machine, settings_, workload, atoll_message(sim));
    const uint64_t cycles = status ? 0 : out.cycles;
    if (!status && check) assert_non_null(strstr(out.json, "\"caches_passed\": true"));
    if (!status && look) look(out.json);
    atoll_outcome_free(&out);
    atoll_destroy(sim);
    return cycles;
}

static uint64_t run(const char *machine, const char *settings_, const char *workload, bool check)
{
    return run_and_look(machine, settings_, workload, check, NULL);
}

static void every_workload(const char *settings_, bool compare)
{
    uint32_t failed = 0;
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++)
        for (const struct workload *const *w = script_registry; *w; w++) {
            char name[128];
            (void)snprintf(name, sizeof name, "%s:tiny", (*w)->name);
            const uint64_t cycles = run(machines[m], settings_, name, true);
            failed += !cycles;
            if (compare && cycles) assert_int_equal(cycles, run(machines[m], settings_, name, false));
        }
    assert_int_equal(failed, 0);
}

static void every_workload_passes_and_takes_the_same_cycles(void **state)
{
    (void)state;
    every_workload("", true);
}

static void every_workload_passes_under_every_setting(void **state)
{
    (void)state;
    for (uint32_t k = 1; k < sizeof settings / sizeof *settings; k++)
        if (shard_is_chosen(k, SHARDS)) every_workload(settings[k], false);
}

static void stores_and_loads_in_every_order_pass(void **state)
{
    (void)state;
    uint32_t failed = 0;
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++)
        for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
            failed += !run(machines[m], settings[k], "./tests/kit/ordering:rounds=40,blocks=24", true);
    assert_int_equal(failed, 0);
}

/* ---- other organisations of the LLC ---- */

static double stat(const json_t *stats, const char *name)
{
    const json_t *v = json_object_get(stats, name);
    assert_non_null(v);
    return json_number_value(v);
}

/* What the parts of NUBA's GPU carry in a cycle (lines of 128 B): links of the SMs 64 x 2 x 16 B, a reply 9
 * of these each; the network between slices 64 such ports; data ports of 64 slices 32 B; memory 32 x 64 B at
 * a quarter of the clock. The run as a whole respects them whatever the workload: system/bounds.c looks at each
 * part. */
static void within_bounds(const char *json)
{
    json_t *root = json_loads(json, 0, NULL);
    assert_non_null(root);
    const json_t *s = json_object_get(root, "stats");
    const double cycles =
        (double)json_integer_value(json_object_get(json_object_get(root, "totals"), "cycles"));
    const double home = stat(s, "llc.home_reads"), copies = stat(s, "llc.copy_reads"),
                 crossing = stat(s, "llc.crossing_reads");
    assert_true(home + copies + crossing <= cycles * 128 / 9.0 + 64);
    assert_true(crossing <= cycles * 64 / 9.0 + 64);
    assert_true(stat(s, "llc.port_cycles") <= 64 * (cycles + 20000)); /* write-backs are booked ahead */
    assert_true((stat(s, "dram.reads") + stat(s, "dram.writes")) * 64 <= 32 * 64 * (cycles / 4 + 64));
    /* with a share f at home or in copies, a run bound by the network is at most 1 / (1 - f) faster than if
     * all crossed: what crosses is what the networks carried */
    assert_true(crossing <= stat(s, "llc.forwards"));
    assert_true(stat(s, "slice_net.taken") == 2 * stat(s, "llc.forwards"));
    json_decref(root);
}

/* Runs in which there were copies for a time: a policy that never makes any would pass, too. */
static uint32_t copied;

static void count_copied(const char *json)
{
    json_t *root = json_loads(json, 0, NULL);
    assert_non_null(root);
    const json_t *s = json_object_get(root, "stats");
    copied += stat(s, "selrep.cycles_at_1") < stat(s, "selrep.cycles");
    json_decref(root);
}

static void every_workload_passes_in_every_organisation(void **state)
{
    (void)state;
    static const struct {
        const char *name, *set;
        void (*look)(const char *json);
        uint32_t copied; /* in as many of 46 workloads at least */
    } tried[] = {
        {"uba-sm", "", NULL, 0},
        {"nuba-norep", "", within_bounds, 0},
        {"nuba-norep",
         "runtime.placement=first_touch pages.migration=most_used runtime.move_interval_cyc=2000 "
         "runtime.move_cost=200ns",
         within_bounds, 0},
        {"nuba-norep", "runtime.placement=first_touch pages.replication=read_only runtime.move_cost=200ns",
         within_bounds, 0},
        {"nuba-fullrep", "", within_bounds, 0},
        {"nuba", "nuba.epoch_cyc=2000", within_bounds, 0},
        {"mcm-uba", "", NULL, 0},
        {"mcm-nuba", "nuba.epoch_cyc=2000", NULL, 0},
        {"a100", "", NULL, 0},
        {"selrep-private", "", count_copied, 46},
        {"selrep-private", "gpu.llc_size=128KiB llc.sectored=true", NULL, 0},
        {"selrep-adaptive", "selrep.profile_cyc=500 selrep.period_cyc=1500 selrep.samples=1 selrep.equal=1",
         count_copied, 30},
        {"selrep", "selrep.epoch_cyc=300 selrep.samples=1 selrep.sigmas=0", count_copied, 25},
        {"selrep", "selrep.degree=4 llc.boundary=replicas gpu.llc_size=128KiB", count_copied, 46}};
    uint32_t failed = 0;
    for (uint32_t m = 0; m < sizeof tried / sizeof *tried; m++) {
        if (!shard_is_chosen(m, SHARDS)) continue;
        copied = 0;
        for (const struct workload *const *w = script_registry; *w; w++) {
            char name[128];
            (void)snprintf(name, sizeof name, "%s:tiny", (*w)->name);
            failed += !run_and_look(tried[m].name, tried[m].set, name, true, tried[m].look);
        }
        if (copied < tried[m].copied)
            fail_msg("%s: copies in %u workloads, not %u", tried[m].name, copied, tried[m].copied);
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_workload_passes_and_takes_the_same_cycles),
        cmocka_unit_test(every_workload_passes_under_every_setting),
        cmocka_unit_test(stores_and_loads_in_every_order_pass),
        cmocka_unit_test(every_workload_passes_in_every_organisation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
