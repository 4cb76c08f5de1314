/* workload_structure: proofs that a workload has the structure of its algorithm. A row states as arithmetic what a
 * workload allocates, how many kernels it launches and how many output words it compares. A small loop of the same
 * name does not pass. */
#ifndef ATOLL_TESTS_WORKLOAD_STRUCTURE_H
#define ATOLL_TESTS_WORKLOAD_STRUCTURE_H

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
 * iterations: name of the parameter that counts outer iterations; NULL: none.
 * setup, per_iteration: launches before the first and after the last iteration, launches of each iteration.
 * bytes: device memory; words: output words compared in a run of one iteration. */
struct row {
    const char *workload, *iterations;
    uint64_t setup, per_iteration, bytes, words;
};

/* The result of a run as JSON; the caller releases it. machine NULL: functional. instructions: 0 = to the end. */
static inline json_t *structure_run(const char *machine, const char *workload, bool check,
                                    uint64_t instructions)
{
    atoll_sim *sim;
    struct atoll_outcome out;
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    if (machine) assert_int_equal(atoll_machine(sim, machine), ATOLL_OK);
    const struct atoll_job job = {
        .workload = workload, .functional = !machine, .check = check, .max_instructions = instructions};
    if (atoll_run(sim, &job, &out)) fail_msg("%s: %s", workload, atoll_message(sim));
    json_t *root = json_loads(out.json, 0, NULL);
    assert_non_null(root);
    atoll_outcome_free(&out);
    atoll_destroy(sim);
    return root;
}

static inline uint64_t structure_app_value(const json_t *root, const char *name)
{
    const json_t *v = json_object_get(json_array_get(json_object_get(root, "apps"), 0), name);
    assert_non_null(v);
    return (uint64_t)json_integer_value(v);
}

static inline bool structure_is_true(const json_t *root, const char *name)
{
    return json_is_true(json_object_get(json_object_get(root, "check"), name));
}

static inline void structure_assert(const struct row *r, const json_t *root, const char *name,
                                    uint64_t expected)
{
    const uint64_t value = structure_app_value(root, name);
    if (value != expected)
        fail_msg("%s: %s is %llu, expected %llu", r->workload, name, (unsigned long long)value,
                 (unsigned long long)expected);
}

static inline json_t *structure_run_row(const struct row *r, const char *machine, uint64_t iterations)
{
    char name[160];
    if (r->iterations)
        (void)snprintf(name, sizeof name, "%s,%s=%u", r->workload, r->iterations, (unsigned)iterations);
    else
        (void)snprintf(name, sizeof name, "%s", r->workload);
    json_t *root = structure_run(machine, name, machine != NULL, 0);
    assert_true(structure_is_true(root, "self_check_passed"));
    assert_true(!machine || structure_is_true(root, "caches_passed"));
    /* with time, launches before wl_measure() do not count */
    const uint64_t launches = structure_app_value(root, "launches"),
                   all = r->setup + iterations * r->per_iteration;
    if (machine ? launches < all - r->setup || launches > all : launches != all)
        fail_msg("%s: %llu launches, expected %llu", name, (unsigned long long)launches,
                 (unsigned long long)all);
    structure_assert(r, root, "device_bytes", r->bytes);
    return root;
}

/* Functionally, with one and with three iterations. */
static inline void structure_follows(const struct row *rows, size_t count)
{
    for (const struct row *r = rows; r < rows + count; r++) {
        json_t *root = structure_run_row(r, NULL, 1);
        structure_assert(r, root, "words_checked", r->words);
        json_decref(root);
        if (r->iterations) json_decref(structure_run_row(r, NULL, 3));
    }
}

/* With time and --check. */
static inline void structure_is_right_on(const struct row *rows, size_t count, const char *machine,
                                         uint64_t iterations)
{
    for (const struct row *r = rows; r < rows + count; r++)
        json_decref(structure_run_row(r, machine, r->iterations ? iterations : 1));
}

#endif
