/* run_stats: runs a workload through the API and compares the statistics of two runs; used by proofs that two
 * ways of simulating a machine have the same result to the bit. */
#ifndef ATOLL_TESTS_RUN_STATS_H
#define ATOLL_TESTS_RUN_STATS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "atoll.h"

/* engine.* counts activations of the simulator; it is no result of the machine. */
static inline void drop_engine(json_t *value)
{
    const char *key;
    json_t *inner;
    void *after;
    size_t i;
    json_object_foreach_safe(value, after, key, inner)
    {
        if (!strncmp(key, "engine.", 7))
            (void)json_object_del(value, key);
        else
            drop_engine(inner);
    }
    json_array_foreach(value, i, inner) drop_engine(inner);
}

/* The statistics of the run, its kernels and its applications; frees the rest of the result. */
static inline json_t *take_stats(json_t *root)
{
    json_t *stats = json_incref(json_object_get(root, "stats"));
    assert_non_null(stats);
    (void)json_object_set(stats, "kernels", json_object_get(root, "kernels"));
    (void)json_object_set(stats, "apps", json_object_get(root, "apps"));
    drop_engine(stats);
    json_decref(root);
    return stats;
}

/* The result of a run of so many instructions (0: all). Settings end with NULL; `more` may be NULL. Fails the
 * test if the run fails. */
static inline json_t *run_json(const char *preset, const char *workload, const char *const *settings,
                               const char *more, uint64_t instructions)
{
    atoll_sim *sim;
    struct atoll_outcome outcome = {0};
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    if (atoll_machine(sim, preset)) fail_msg("%s", atoll_message(sim));
    for (; *settings; settings++)
        if (atoll_set(sim, *settings)) fail_msg("%s", atoll_message(sim));
    if (more && atoll_set(sim, more)) fail_msg("%s", atoll_message(sim));
    const struct atoll_job job = {.workload = workload, .max_instructions = instructions};
    if (atoll_run(sim, &job, &outcome)) fail_msg("%s on %s: %s", workload, preset, atoll_message(sim));
    json_t *root = json_loads(outcome.json, 0, NULL);
    assert_non_null(root);
    atoll_outcome_free(&outcome);
    atoll_destroy(sim);
    return root;
}

static inline json_t *run_some(const char *preset, const char *workload, const char *const *settings,
                               const char *more, uint64_t instructions)
{
    return take_stats(run_json(preset, workload, settings, more, instructions));
}

static inline json_t *run(const char *preset, const char *workload, const char *const *settings,
                          const char *more)
{
    return run_some(preset, workload, settings, more, 0);
}

/* Fails the test at the first statistic that differs. Frees `other`. */
static inline void expect_same(json_t *one, json_t *other, const char *workload, const char *preset,
                               const char *what)
{
    const char *key;
    json_t *value;
    json_object_foreach(one, key, value)
    {
        if (json_equal(value, json_object_get(other, key))) continue;
        char *a = json_dumps(value, JSON_ENCODE_ANY),
             *b = json_dumps(json_object_get(other, key), JSON_ENCODE_ANY);
        fail_msg("%s on %s %s: %s is %s, was %s", workload, preset, what, key, b, a);
    }
    assert_int_equal(json_object_size(one), json_object_size(other));
    json_decref(other);
}

#endif
