/* Cycles of four programs on `v100` against GPGPU-Sim's, within 25 %; see docs/model.md for what differs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "atoll.h"

static const char reference[] = "tests/reference/peers/cycles.csv";

/* Cycles of the only kernel, without the launch gap, and its warp instructions. */
static void run(const char *workload, double *cycles, double *instructions)
{
    atoll_sim *sim;
    struct atoll_outcome outcome = {0};
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    if (atoll_machine(sim, "v100") || atoll_set(sim, "runtime.launch_gap_cyc=0"))
        fail_msg("%s", atoll_message(sim));
    const struct atoll_job job = {.workload = workload};
    if (atoll_run(sim, &job, &outcome)) fail_msg("%s", atoll_message(sim));
    json_t *root = json_loads(outcome.json, 0, NULL);
    assert_non_null(root);
    const json_t *stats = json_object_get(root, "stats");
    *instructions = (double)json_integer_value(json_object_get(stats, "sm.warp_instructions"));
    *cycles = (double)json_integer_value(json_object_get(stats, "sm.scheduler_cycles")) / (80 * 4);
    assert_true(*cycles > 0);
    json_decref(root);
    atoll_outcome_free(&outcome);
    atoll_destroy(sim);
}

static void four_programs_take_about_as_long_as_in_gpgpu_sim(void **state)
{
    (void)state;
    FILE *f = fopen(reference, "r");
    assert_non_null(f);
    char line[256], workload[128];
    double cycles, instructions;
    int rows = 0;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "\"%127[^\"]\",%lf,%lf", workload, &cycles, &instructions) != 3) continue;
        double our_cycles, our_instructions;
        run(workload, &our_cycles, &our_instructions);
        print_message("    %-38s %6.0f cycles, theirs %6.0f: %+5.1f %%; %7.0f warp instructions, theirs "
                      "%7.0f: %+5.1f %%\n",
                      workload, our_cycles, cycles, 100 * (our_cycles / cycles - 1), our_instructions,
                      instructions, 100 * (our_instructions / instructions - 1));
        assert_true(our_cycles > 0.75 * cycles && our_cycles < 1.25 * cycles);
        assert_true(our_instructions > 0.9 * instructions && our_instructions < 1.3 * instructions);
        rows++;
    }
    (void)fclose(f);
    assert_int_equal(rows, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(four_programs_take_about_as_long_as_in_gpgpu_sim)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
