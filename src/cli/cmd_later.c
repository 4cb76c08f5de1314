/* Subcommands of the contract whose engine does not exist yet: they know their options, say plainly
 * that they cannot work yet, and exit 1. Each leaves this file when it comes alive. */
#include "cli/cli.h"

struct later_args {
    const char *machine, *json, *csv;
    struct cli_list set;
    struct cli_words rest;
};

#define MACHINE_OPTIONS \
    CLI_OPTION_MACHINE(struct later_args), CLI_OPTION_SET(struct later_args), \
        CLI_OPTION_JSON(struct later_args)

static const struct cli_option trace_options[] = {MACHINE_OPTIONS, CLI_OPTION_CSV(struct later_args), {0}};
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
