/* carve_workloads: structure of the workloads of the CARVE evaluation, through the public interface. Each row states
 * from the algorithm, as arithmetic, what a workload allocates and how many kernels it launches. A small loop of the
 * same name does not pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "atoll.h"

/* One workload at one size.
 * iterations: name of the parameter that counts outer iterations.
 * setup, per_iteration: launches outside the iterations, launches of each iteration.
 * bytes: device memory; words: output words compared in a run of one iteration. */
struct row {
    const char *workload, *iterations;
    uint64_t setup, per_iteration, bytes, words;
};

// clang-format off
static const struct row rows[] = {
    {"euler3d:nx=8,ny=2,nz=3", "iterations", 1, 8, 132 * 6 * 8 * 2 * 3 + 4 * 5, 5 * 6 * 8 * 2 * 3},
    {"lulesh:side=3", "steps", 3, 24, 4 * (82 * 27 + 14 * 64 + 1 + 3 * 16 + 3), 6 * 64 + 5 * 27 + 3},
    {"nekbone:ex=2,ey=2,ez=3,n=4", "iterations", 2, 13, 4 * (13 * 768 + (7 * 7 * 10 - 6 * 6 * 8 + 1) + (768 - 6 * 6 * 8 + 1) + 1 + 5 + 18 * 18), 2 * 768 + 5},
    {"comd:lattice=3", "steps", 12, 16, 4 * (13 * 64 * 64 + 2 * 64 + 27 * 8 + 2 * (64 - 8) + 3 * 1004 + 2 * (2 + 1) + 6 * 108 + 1), 6 * 108 + 3},
    {"hpgmg:bx=2,by=1,bz=3,dim=4,sweeps=1", "cycles", 2, 34, 32 * 6 * (6 * 6 * 6 + 4 * 4 * 4) + 2 * 16 * (14 + 1 + 22) + 4 * 100, 6 * 6 * 6 * 6 + 1},
};
// clang-format on
enum { ROWS = sizeof rows / sizeof *rows };

/* The result of a run as JSON; the caller releases it. */
static json_t *run(const char *machine, const char *workload, bool check)
{
    atoll_sim *sim;
    struct atoll_outcome out;
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    if (machine) assert_int_equal(atoll_machine(sim, machine), ATOLL_OK);
    const struct atoll_job job = {.workload = workload, .functional = !machine, .check = check};
    if (atoll_run(sim, &job, &out)) fail_msg("%s: %s", workload, atoll_message(sim));
    json_t *root = json_loads(out.json, 0, NULL);
    assert_non_null(root);
    atoll_outcome_free(&out);
    atoll_destroy(sim);
    return root;
}

static uint64_t app_value(const json_t *root, const char *name)
{
    const json_t *v = json_object_get(json_array_get(json_object_get(root, "apps"), 0), name);
    assert_non_null(v);
    return (uint64_t)json_integer_value(v);
}

static bool is_true(const json_t *root, const char *name)
{
    return json_is_true(json_object_get(json_object_get(root, "check"), name));
}

static void assert_value(const struct row *r, const json_t *root, const char *name, uint64_t expected)
{
    const uint64_t value = app_value(root, name);
    if (value != expected)
        fail_msg("%s: %s is %llu, expected %llu", r->workload, name, (unsigned long long)value,
                 (unsigned long long)expected);
}

static void footprint_and_launches_follow_from_the_parameters(void **state)
{
    (void)state;
    for (const struct row *r = rows; r < rows + ROWS; r++) {
        for (uint64_t iterations = 1; iterations <= 3; iterations += 2) {
            char name[160];
            (void)snprintf(name, sizeof name, "%s,%s=%u", r->workload, r->iterations, (unsigned)iterations);
            json_t *root = run(NULL, name, false);
            assert_true(is_true(root, "self_check_passed"));
            assert_value(r, root, "launches", r->setup + iterations * r->per_iteration);
            assert_value(r, root, "device_bytes", r->bytes);
            if (iterations == 1) assert_value(r, root, "words_checked", r->words);
            json_decref(root);
        }
    }
}

static void results_are_right_with_timing_on_four_gpus(void **state)
{
    (void)state;
    for (const struct row *r = rows; r < rows + ROWS; r++) {
        char name[160];
        (void)snprintf(name, sizeof name, "%s,%s=2", r->workload, r->iterations);
        json_t *root = run("numa-gpu", name, true);
        assert_true(is_true(root, "self_check_passed") && is_true(root, "caches_passed"));
        assert_value(r, root, "launches", r->setup + 2 * r->per_iteration);
        assert_value(r, root, "device_bytes", r->bytes);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(footprint_and_launches_follow_from_the_parameters),
        cmocka_unit_test(results_are_right_with_timing_on_four_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
