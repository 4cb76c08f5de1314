/* atoll run: a workload, or one kernel by hand, on a machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/progress.h"

struct run_args {
    const char *machine, *workload, *json, *csv, *timeline, *max_instructions, *entry, *grid, *block, *shared,
        *alone;
    bool functional, check, racecheck, cooperative, details;
    struct cli_list set, arg, rest;
};

/* Fills the job from the options; false after printing what was wrong. */
static bool make_job(const struct run_args *args, struct atoll_job *job)
{
    uint64_t shared;
    *job = (struct atoll_job){.workload = args->workload,
                              .entry = args->entry,
                              .args = args->arg.items,
                              .arg_count = args->arg.count,
                              .cooperative = args->cooperative,
                              .functional = args->functional,
                              .racecheck = args->racecheck,
                              .check = args->check,
                              .details = args->details,
                              .ascii = !cli_is_utf8(),
                              .timeline = args->timeline != NULL,
                              .no_data = !args->json && !args->csv,
                              .alone = args->alone};
    if (!cli_parse_count("max-instructions", args->max_instructions, 1, &job->max_instructions) ||
        !cli_parse_count("shared", args->shared, 0, &shared))
        return false;
    if (shared > UINT32_MAX) return (void)cli_mistake("--shared is too large"), false;
    job->shared_bytes = (uint32_t)shared;
    if (args->workload && !args->rest.count) {
        if (!args->entry && !args->grid && !args->block && !args->shared && !args->arg.count &&
            !args->cooperative)
            return true;
        (void)cli_mistake(
            "--entry, --grid, --block, --shared, --arg and --cooperative are for a kernel of a PTX "
            "file; a workload launches its own");
        return false;
    }
    if (args->workload || !args->rest.count)
        return (void)cli_mistake("'atoll run' takes either -w WORKLOAD or PTX files"), false;
    job->ptx = args->rest.items;
    job->ptx_count = args->rest.count;
    return cli_parse_dim("grid", args->grid, job->grid) && cli_parse_dim("block", args->block, job->block);
}

static bool to_stdout(const char *path) { return path && strcmp(path, "-") == 0; }

static int run(const void *arg)
{
    const struct run_args *args = arg;
    struct atoll_job job;
    int code = 0;
    if (args->functional && (args->timeline || args->details))
        return cli_mistake("--timeline and --details are about time, which --functional leaves out");
    if (!make_job(args, &job)) return ATOLL_MISTAKE;
    if ((code = cli_can_write_each(args->json, args->csv, args->timeline))) return code;
    atoll_sim *sim = cli_sim(args->machine, &args->set, &code);
    if (!sim) return code;
    struct progress progress;
    struct atoll_outcome outcome;
    progress_begin(&progress, sim);
    const atoll_status status = atoll_run(sim, &job, &outcome);
    progress_end(&progress);
    const bool data_to_stdout = to_stdout(args->json) || to_stdout(args->csv) || to_stdout(args->timeline);
    if (outcome.output) (void)fputs(outcome.output, data_to_stdout ? stderr : stdout);
    if (status) {
        code = cli_fail(sim, status);
    } else {
        if (!data_to_stdout) (void)fputs(outcome.report, stdout);
        if (args->json) code = cli_write_file(args->json, outcome.json);
        if (!code && args->csv) code = cli_write_file(args->csv, outcome.csv);
        if (!code && args->timeline) code = cli_write_file(args->timeline, outcome.timeline);
    }
    atoll_outcome_free(&outcome);
    atoll_destroy(sim);
    return code;
}

static const struct cli_option options[] = {
    CLI_OPTION_MACHINE(struct run_args),
    {"workload", 'w', CLI_TEXT, offsetof(struct run_args, workload), "NAME[:SIZE]",
     "bundled workload, A+B together, or ./folder of your own"},
    CLI_OPTION_SET(struct run_args),
    CLI_OPTION_FUNCTIONAL(struct run_args),
    CLI_OPTION_RACECHECK(struct run_args),
    CLI_OPTION_CHECK(struct run_args),
    {"max-instructions", 0, CLI_TEXT, offsetof(struct run_args, max_instructions), "N",
     "stop after N warp instructions"},
    {"alone", 0, CLI_TEXT, offsetof(struct run_args, alone), "A.json,B.json",
     "applications together: results of each alone, for STP and ANTT"},
    {"entry", 0, CLI_TEXT, offsetof(struct run_args, entry), "NAME", "one kernel of a PTX file: its name"},
    {"grid", 0, CLI_TEXT, offsetof(struct run_args, grid), "X,Y,Z", "one kernel: blocks"},
    {"block", 0, CLI_TEXT, offsetof(struct run_args, block), "X,Y,Z", "one kernel: threads in a block"},
    {"shared", 0, CLI_TEXT, offsetof(struct run_args, shared), "BYTES", "one kernel: dynamic shared memory"},
    {"cooperative", 0, CLI_FLAG, offsetof(struct run_args, cooperative), "",
     "one kernel: all blocks resident at once, for grid barriers"},
    {"arg", 0, CLI_LIST, offsetof(struct run_args, arg), "ARG",
     "one kernel: an argument, in order (see docs/run.md)"},
    CLI_OPTION_JSON(struct run_args),
    CLI_OPTION_CSV(struct run_args),
    CLI_OPTION_TIMELINE(struct run_args),
    CLI_OPTION_DETAILS(struct run_args),
    {0},
};

const struct cli_command cli_run = {
    .name = "run",
    .summary = "run a workload or one kernel on a machine",
    .usage =
        "[-m MACHINE] -w WORKLOAD [-s section.key=value]... [--details] [--check] [--json F]\n"
        "       atoll run [-m MACHINE] k.ptx [more.ptx]... --entry NAME --grid X,Y,Z --block X,Y,Z --arg ...",
    .examples = "  atoll run -m uba-mem -w sgemm:small\n"
                "  atoll run -m v100 -w vecadd:n=1048576 --json result.json --timeline trace.json\n"
                "  atoll run -w sgemm:small --functional\n",
    .options = options,
    .args_bytes = sizeof(struct run_args),
    .rest_offset = offsetof(struct run_args, rest),
    .run = run,
};
