/* Subcommands of the contract whose engine does not exist yet: they know their options, say plainly
 * that they cannot work yet, and exit 1. Each leaves this file when it comes alive. */
#include "cli/cli.h"

struct later_args {
    const char *machine, *json, *csv, *kernels, *launches, *jobs, *db, *launcher, *scale, *html, *output;
    struct cli_list set;
    struct cli_words rest;
};

#define OPTION(name, letter, argument, help) \
    { \
#name, letter, CLI_TEXT, offsetof(struct later_args, name), argument, help \
    }
#define MACHINE_OPTIONS \
    CLI_OPTION_MACHINE(struct later_args), CLI_OPTION_SET(struct later_args), \
        CLI_OPTION_JSON(struct later_args)

static const struct cli_option trace_options[] = {MACHINE_OPTIONS, CLI_OPTION_CSV(struct later_args), {0}};
static const struct cli_option sweep_options[] = {
    OPTION(jobs, 'j', "N", "worker processes"),
    OPTION(launcher, 0, "local|slurm", "where the points run"),
    OPTION(db, 0, "FILE", "result store"),
    {0},
};
static const struct cli_option reproduce_options[] = {
    OPTION(scale, 0, "quick|paper", "how much of it"),
    OPTION(jobs, 'j', "N", "worker processes"),
    OPTION(html, 0, "FILE", "write the report"),
    {0},
};
static const struct cli_option report_options[] = {OPTION(output, 'o', "FILE", "the HTML file"), {0}};

#define LATER(command, summary_, usage_, examples_) \
    static int run_##command(const void *args) \
    { \
        (void)args; \
        return cli_not_yet(#command); \
    } \
    const struct cli_command cli_##command = {.name = #command, \
                                              .summary = summary_, \
                                              .usage = usage_, \
                                              .examples = examples_, \
                                              .options = command##_options, \
                                              .args_bytes = sizeof(struct later_args), \
                                              .rest_offset = offsetof(struct later_args, rest), \
                                              .rest_is_command = true, \
                                              .run = run_##command}

LATER(trace, "run an Accel-Sim trace on a machine (not yet)", "-m MACHINE [options] path/to/kernelslist.g",
      "  atoll trace -m uba-mem traces/kernelslist.g\n");
LATER(sweep, "run an experiment file; resumable (not yet)",
      "experiments/X.yaml [-j N] [--launcher local|slurm] [--db F]",
      "  atoll sweep experiments/noc.yaml -j 2\n");
LATER(reproduce, "reproduce the evaluation of a paper (not yet)",
      "nuba|carve|selrep|ladm|ugpu [--scale quick|paper] [-j N] [--html F]",
      "  atoll reproduce nuba --scale quick\n");
LATER(report, "turn results into an HTML report (not yet)", "results.db -o report.html",
      "  atoll report results.db -o report.html\n");
