/* Subcommands of the contract whose engine does not exist yet: they know their options, say plainly
 * that they cannot work yet, and exit 1. Each leaves this file when it comes alive. */
#include "cli/cli.h"

struct later_args {
    const char *machine, *workload, *json, *csv;
    struct cli_list set, rest;
};

#define LATER(command, summary_, usage_) \
    static int run_##command(const void *args) \
    { \
        (void)args; \
        return cli_not_yet(#command); \
    } \
    const struct cli_command cli_##command = {.name = #command, \
                                              .summary = summary_, \
                                              .usage = usage_, \
                                              .options = options, \
                                              .args_bytes = sizeof(struct later_args), \
                                              .rest_offset = offsetof(struct later_args, rest), \
                                              .rest_is_command = true, \
                                              .run = run_##command}

static const struct cli_option options[] = {
    CLI_OPTION_MACHINE(struct later_args),
    CLI_OPTION_SET(struct later_args),
    CLI_OPTION_JSON(struct later_args),
    CLI_OPTION_CSV(struct later_args),
    {"workload", 'w', CLI_TEXT, offsetof(struct later_args, workload), "NAME[:SIZE]",
     "bundled workload, or a folder with one"},
    {0},
};

LATER(exec, "run an unmodified CUDA program on a machine", "-m MACHINE [options] -- ./program args...");
LATER(trace, "run an Accel-Sim trace on a machine", "-m MACHINE [options] path/to/kernelslist.g");
LATER(compare, "compare machines over workloads", "-m A,B,C -w W1,W2,... [--json F]");
LATER(sweep, "run an experiment file; resumable", "experiments/X.yaml [-j N] [--db F]");
LATER(reproduce, "reproduce the evaluation of a paper", "nuba|carve|selrep|ladm|ugpu [--scale quick|paper]");
LATER(report, "turn results into an HTML report", "results.db -o report.html");
