/* alone: see alone.h. */
#include "api/alone.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "api/sim.h"

struct alone {
    uint64_t cycles, instructions; /* of the whole run */
    struct alone_profile profile;
    uint64_t interval, count; /* cycles of an interval, how many of them */
    uint64_t series[];        /* instructions in each */
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
    const json_t *app = json_array_get(json_object_get(root, "apps"), 0);
    a->profile =
        (struct alone_profile){.accesses = (uint64_t)json_integer_value(json_object_get(app, "llc_accesses")),
                               .hits = (uint64_t)json_integer_value(json_object_get(app, "llc_hits")),
                               .thread_instructions = (uint64_t)json_integer_value(
                                   json_object_get(app, "issued_thread_instructions"))};
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

static void destroy(void *sim) { atoll_destroy(sim); }

/* ---- the machine of an alone run ---- */

/* Parameters that divide the machine among applications: they have no meaning for one application alone. */
static bool divides(const struct param_row *row)
{
    static const char *const names[][2] = {
        {"partition", "sms"}, {"partition", "slices"}, {"partition", "channels"}};
    static const char *const others[][2] = {{"dram", "migration"},           {"pages", "copier"},
                                            {"pages", "faulting"},           {"pages", "fault_cyc"},
                                            {"pages", "fault_interval_cyc"}, {"pages", "faults"},
                                            {"pages", "copy_lines"},         {"pages", "copies_ahead"}};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (strcmp(row->section, others[k][0]) == 0 && strcmp(row->name, others[k][1]) == 0) return true;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(row->section, names[k][0]) == 0 && strcmp(row->name, names[k][1]) == 0) return false;
    return strcmp(row->section, "apps") == 0 || strcmp(row->section, "partition") == 0;
}

/* Refuses a result of another machine: it is not the speed of this machine alone. */
static void look_where(const json_t *root, const char *path, const struct machine *beside)
{
    const json_t *was = json_object_get(root, "config");
    json_t *now = machine_dump_json(beside);
    const struct param_row *differs = NULL;
    for (uint32_t k = 0; was && k < PARAM_COUNT && !differs; k++) {
        const struct param_row *row = &param_rows[k];
        const json_t *before = json_object_get(json_object_get(was, row->section), row->name);
        if (before && !divides(row) &&
            !json_equal(before, json_object_get(json_object_get(now, row->section), row->name)))
            differs = row;
    }
    json_decref(now);
    if (differs)
        diag_mistake("--alone: '%s' is a result of another machine: its %s.%s differs", path,
                     differs->section, differs->name);
}

struct alone *alone_read(const char *list, uint32_t idx, uint32_t count, const char *workload,
                         const struct machine *beside)
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
    if (a) look_where(root, path, beside);
    json_decref(root);
    if (!a) diag_mistake("--alone: '%s' is no result of a timed run (--json)", path);
    return a;
}

/* The whole machine for one application. It counts the accesses of the application for profiles. */
static void set_machine(struct config *c, const struct config *beside, uint64_t window_cyc)
{
    char why[256];
    *c = *beside;
    for (uint32_t k = 0; k < PARAM_COUNT; k++)
        if (divides(&param_rows[k])) (void)param_parse(c, k, param_rows[k].default_text, why, sizeof why);
    c->apps.count_llc = true;
    c->apps.window_cyc = window_cyc;
}

/* Name of the stored result: equal for equal workload, window, machine and build. */
static void set_path(char *path, size_t bytes, const struct config *c, const char *dir, const char *workload)
{
    extern const char study_build_id[];
    uint64_t hash = 0xcbf29ce484222325u;
    char value[UNITS_TEXT_MAX], text[512];
    for (uint32_t k = 0; k <= PARAM_COUNT; k++) {
        (void)snprintf(text, sizeof text, "%s=%s;", k < PARAM_COUNT ? param_rows[k].name : study_build_id,
                       k < PARAM_COUNT ? param_print(c, k, value) : workload);
        for (const char *at = text; *at; at++) hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
    }
    (void)snprintf(path, bytes, "%s/%016llx.json", dir, (unsigned long long)hash);
}

static void store(const json_t *root, const char *path)
{
    char temporary[4200];
    const char *dir_end = strrchr(path, '/');
    if (dir_end) { /* the directory may be new */
        (void)snprintf(temporary, sizeof temporary, "%.*s", (int)(dir_end - path), path);
        (void)mkdir(temporary, 0777);
    }
    (void)snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    if (json_dump_file(root, temporary, JSON_COMPACT) || rename(temporary, path))
        diag_mistake("apps.alone_dir: cannot write '%s'", path);
}

static json_t *run(const atoll_sim *beside, const struct config *c, const char *workload)
{
    atoll_sim *sim;
    struct diag_cleanup closing;
    struct atoll_outcome outcome;
    if (atoll_create(&sim) != ATOLL_OK) diag_mistake("out of host memory");
    diag_defer(&closing, destroy, sim);
    atoll_on_progress(sim, beside->progress, beside->progress_arg);
    sim->machine.config = *c;
    const atoll_status status = atoll_run(sim, &(struct atoll_job){.workload = workload}, &outcome);
    json_t *root = status == ATOLL_OK ? json_loads(outcome.json, 0, NULL) : NULL;
    atoll_outcome_free(&outcome);
    if (!root) diag_mistake("apps.alone: %s alone: %s", workload, atoll_message(sim));
    diag_done(&closing, true);
    return root;
}

struct alone *alone_run(const atoll_sim *beside, const char *workload, uint64_t cycles)
{
    const char *dir = beside->machine.config.apps.alone_dir;
    struct config c;
    char path[4096] = "";
    /* The run alone may, by chance, be a little slower; alone_cycles() ignores what is too much. */
    set_machine(&c, &beside->machine.config, cycles + cycles / 4);
    if (*dir) set_path(path, sizeof path, &c, dir, workload);
    json_t *root = *dir ? json_load_file(path, 0, NULL) : NULL;
    if (!root) {
        root = run(beside, &c, workload);
        if (*dir) store(root, path);
    }
    struct alone *a = from_result(root);
    json_decref(root);
    if (!a) diag_mistake("apps.alone: %s alone gave no result", workload);
    return a;
}

struct alone_profile alone_profile(const struct alone *a) { return a->profile; }

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
