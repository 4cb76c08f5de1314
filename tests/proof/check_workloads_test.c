/* check_workloads: --check passes on every bundled workload, on every preset that runs with timing and under
 * every setting that changes what a cache keeps; and it changes no result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "atoll.h"
#include "workload.h"

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

/* Cycles, or 0 after a failure that was printed. settings_: separated by spaces. */
static uint64_t run(const char *machine, const char *settings_, const char *workload, bool check)
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
    atoll_outcome_free(&out);
    atoll_destroy(sim);
    return cycles;
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
    for (size_t k = 1; k < sizeof settings / sizeof *settings; k++) every_workload(settings[k], false);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_workload_passes_and_takes_the_same_cycles),
        cmocka_unit_test(every_workload_passes_under_every_setting),
        cmocka_unit_test(stores_and_loads_in_every_order_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
