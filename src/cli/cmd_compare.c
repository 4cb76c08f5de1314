/* atoll compare: workloads on several machines: cycles, IPC, and speed-ups over the first machine.
 *
 * A study without a file: every (workload, machine) is a run of its own, in a worker process of its own. A
 * point that fails says why and leaves a hole; the others go on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study.h"

enum { MACHINES_MAX = 32, WORKLOADS_MAX = 128 };

struct compare_args {
    const char *machine, *workload, *json, *html;
    struct study_args how;
    struct cli_list set, rest;
};

struct names {
    char *items[WORKLOADS_MAX];
    size_t count, limit;
};

/* ---- names ---- */

/* "vecadd,conv:n=4,k=3": a part "k=3" without a name of its own belongs to the size before it. */
static bool split(const char *option, const char *text, bool sizes, struct names *names)
{
    while (text) {
        const char *comma = strchr(text, ',');
        const size_t len = comma ? (size_t)(comma - text) : strlen(text);
        const bool of_size = sizes && names->count && memchr(text, '=', len) && !memchr(text, ':', len);
        if (!len) return (void)cli_mistake("--%s has an empty name in it", option), false;
        if (!of_size && names->count == names->limit)
            return (void)cli_mistake("--%s takes at most %zu names", option, names->limit), false;
        char *name;
        if (of_size) {
            char *before = names->items[--names->count];
            if (asprintf(&name, "%s,%.*s", before, (int)len, text) < 0) name = NULL;
            free(before);
        } else {
            name = strndup(text, len);
        }
        if (!name) return (void)cli_mistake("out of host memory"), false;
        names->items[names->count++] = name;
        text = comma ? comma + 1 : NULL;
    }
    return true;
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) free(names->items[i]);
}

/* ---- the command ---- */

static int show(const struct atoll_comparison *c, const struct compare_args *args)
{
    int code = c->stopped ? ATOLL_MISTAKE : (int)c->worst;
    if (!args->json || strcmp(args->json, "-") != 0) (void)fputs(c->text, stdout);
    (void)fflush(stdout);
    (void)fputs(c->failures, stderr);
    const int written = args->json ? cli_write_file(args->json, c->json) : 0;
    const int page = args->html ? cli_write_file(args->html, c->html) : 0;
    if (args->html && !page) (void)printf("report: %s\n", args->html);
    return code ? code : written ? written : page;
}

static char *typed_command(const struct compare_args *args)
{
    char *command;
    return asprintf(&command, "atoll compare -m %s -w %s", args->machine, args->workload) < 0 ? NULL
                                                                                              : command;
}

static int compare(const struct compare_args *args, struct names *machines, struct names *workloads)
{
    struct atoll_compare what = {
        .sets = args->set.items, .set_count = args->set.count, .html = args->html != NULL};
    struct atoll_comparison result;
    if (!split("machine", args->machine, false, machines) ||
        !split("workload", args->workload, true, workloads))
        return ATOLL_MISTAKE;
    int code = cli_can_write(args->json);
    if (!code) code = cli_can_write(args->html);
    if (!code) code = study_begin(&args->how, &what.how);
    if (code) return code;
    what.how.note = NULL; /* failures are told at the end */
    what.machines = (const char *const *)machines->items;
    what.machine_count = machines->count;
    what.workloads = (const char *const *)workloads->items;
    what.workload_count = workloads->count;
    char *command = typed_command(args);
    what.how.command = command ? command : "atoll compare";
    atoll_sim *sim = cli_sim(NULL, NULL, &code);
    if (sim) {
        const atoll_status status = atoll_compare(sim, &what, &result);
        study_end();
        code = status ? cli_fail(sim, status) : show(&result, args);
        atoll_comparison_free(&result);
        atoll_destroy(sim);
    }
    free(command);
    return code;
}

static int run(const void *arg)
{
    const struct compare_args *args = arg;
    struct names machines = {.limit = MACHINES_MAX}, workloads = {.limit = WORKLOADS_MAX};
    if (args->rest.count) return cli_mistake("'atoll compare' takes no '%s'", args->rest.items[0]);
    if (!args->machine || !args->workload)
        return cli_mistake("'atoll compare' takes machines and workloads: -m A,B -w W1,W2");
    const int code = compare(args, &machines, &workloads);
    free_names(&machines);
    free_names(&workloads);
    return code;
}

static const struct cli_option options[] = {
    {"machine", 'm', CLI_TEXT, offsetof(struct compare_args, machine), "A,B,...",
     "machines: presets or YAML files; the first is what others are compared with"},
    {"workload", 'w', CLI_TEXT, offsetof(struct compare_args, workload), "W1,W2,...",
     "workloads, each NAME[:SIZE]"},
    CLI_OPTION_SET(struct compare_args),
    CLI_OPTION_JSON(struct compare_args),
    {"html", 0, CLI_TEXT, offsetof(struct compare_args, html), "FILE", "write a report with plots"},
    {"jobs", 'j', CLI_TEXT, offsetof(struct compare_args, how.jobs), "N",
     "worker processes (default: one per core)"},
    {0},
};

const struct cli_command cli_compare = {
    .name = "compare",
    .summary = "compare machines over workloads: cycles, IPC, speed-ups",
    .usage = "-m A,B,... -w W1,W2,... [-s section.key=value]... [-j N] [--json F] [--html F]",
    .examples = "  atoll compare -m uba-mem,v100 -w vecadd,sgemm --html report.html\n"
                "  atoll compare -m uba-mem,mine.yaml -w vecadd:n=65536,bfs:tiny --json result.json\n",
    .options = options,
    .args_bytes = sizeof(struct compare_args),
    .rest_offset = offsetof(struct compare_args, rest),
    .run = run,
};
