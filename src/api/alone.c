/* alone: see alone.h. */
#include "api/alone.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/sim.h"

struct alone {
    uint64_t cycles, instructions; /* of the whole run */
    uint64_t interval, count;      /* cycles of an interval, how many of them */
    uint64_t series[];             /* instructions in each */
};

/* NULL: it is no result of a timed run. */
static struct alone *from_result(const json_t *root)
{
    const json_t *stats = json_object_get(root, "stats");
    const json_t *series = json_object_get(stats, "sm.instructions_over_time");
    const json_t *values = json_object_get(series, "values");
    const size_t count = json_array_size(values);
    struct alone *a = calloc(1, sizeof *a + count * sizeof *a->series);
    if (!a) diag_mistake("out of host memory");
    a->cycles = (uint64_t)json_integer_value(json_object_get(json_object_get(root, "totals"), "cycles"));
    a->instructions = (uint64_t)json_integer_value(json_object_get(stats, "sm.warp_instructions"));
    a->interval = (uint64_t)json_integer_value(json_object_get(series, "interval"));
    a->count = count;
    for (size_t k = 0; k < count; k++) a->series[k] = (uint64_t)json_integer_value(json_array_get(values, k));
    if (a->cycles && a->instructions && a->interval) return a;
    free(a);
    return NULL;
}

/* Of another application the result would be compared with in vain. */
static void look_whose(const json_t *root, const char *path, uint32_t idx, const char *workload)
{
    const char *const of = json_string_value(json_object_get(root, "workload"));
    if (!of || !strcmp(of, workload)) return;
    diag_mistake(
        "--alone: '%s' is a result of %s, but application %u is %s; results are given in the order of "
        "-w, of workloads written as there",
        path, of, idx + 1, workload);
}

struct alone *alone_read(const char *list, uint32_t idx, uint32_t count, const char *workload)
{
    const char *from = list, *end = strchrnul(from, ',');
    uint32_t files = 1;
    for (const char *c = list; *c; c++) files += *c == ',';
    for (uint32_t k = 0; k < idx && *end; k++) {
        from = end + 1;
        end = strchrnul(from, ',');
    }
    if (files != count || end == from)
        diag_mistake(
            "--alone wants one result for each of the %u applications, in their order, with commas; it "
            "is '%s'",
            count, list);
    char path[4096];
    (void)snprintf(path, sizeof path, "%.*s", (int)(end - from), from);
    json_error_t why;
    json_t *root = json_load_file(path, 0, &why);
    if (!root) diag_mistake("--alone: cannot read '%s': %s", path, why.text);
    struct alone *a = from_result(root);
    if (a) look_whose(root, path, idx, workload);
    json_decref(root);
    if (!a) diag_mistake("--alone: '%s' is no result of a timed run (--json)", path);
    return a;
}

static void destroy(void *sim) { atoll_destroy(sim); }

struct alone *alone_run(const atoll_sim *beside, const char *workload, uint64_t cycles)
{
    atoll_sim *sim;
    struct diag_cleanup closing;
    struct atoll_outcome outcome;
    if (atoll_create(&sim) != ATOLL_OK) diag_mistake("out of host memory");
    diag_defer(&closing, destroy, sim);
    atoll_on_progress(sim, beside->progress, beside->progress_arg);
    sim->machine.config = beside->machine.config;
    sim->machine.config.apps.sms = "equal";
    sim->machine.config.apps.channels = "shared"; /* with nobody */
    sim->machine.config.apps.alone = false;
    /* it may, by chance, be a little slower; what is too much is not looked at */
    sim->machine.config.apps.window_cyc = cycles + cycles / 4;
    const atoll_status status = atoll_run(sim, &(struct atoll_job){.workload = workload}, &outcome);
    json_t *root = status == ATOLL_OK ? json_loads(outcome.json, 0, NULL) : NULL;
    atoll_outcome_free(&outcome);
    struct alone *a = from_result(root);
    json_decref(root);
    if (!a) diag_mistake("apps.alone: %s alone: %s", workload, atoll_message(sim));
    diag_done(&closing, true);
    return a;
}

void alone_free(struct alone *a) { free(a); }

double alone_cycles(const struct alone *a, uint64_t instructions)
{
    const uint64_t whole = instructions / a->instructions;
    uint64_t left = instructions % a->instructions, cyc = 0;
    double cycles = (double)whole * (double)a->cycles;
    for (size_t k = 0; k < a->count && left; k++, cyc += a->interval) {
        if (a->series[k] > left)
            return cycles + (double)cyc + (double)left / (double)a->series[k] * (double)a->interval;
        left -= a->series[k];
    }
    return cycles + (left ? (double)a->cycles : (double)(cyc < a->cycles ? cyc : a->cycles));
}

double alone_repeats(const struct alone *a, uint64_t instructions)
{
    return (double)instructions / (double)a->instructions;
}
