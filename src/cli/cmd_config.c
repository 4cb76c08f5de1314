/* atoll config: the effective configuration of a machine, with derived values. */
#include "cli/cli.h"

struct config_args {
    const char *machine;
    struct cli_list set, rest;
    bool json;
};

static int run(const void *arg)
{
    const struct config_args *args = arg;
    int code = 0;
    if (args->rest.count)
        return cli_mistake("unexpected argument '%s'; a machine is given by -m", args->rest.items[0]);
    atoll_sim *sim = cli_sim(args->machine, &args->set, &code);
    if (!sim) return code;
    char *text = NULL;
    const atoll_status status = atoll_config(sim, args->json ? ATOLL_JSON : ATOLL_YAML, &text);
    return cli_show(sim, status, text);
}

static const struct cli_option options[] = {
    CLI_OPTION_MACHINE(struct config_args),
    CLI_OPTION_SET(struct config_args),
    {"json", 0, CLI_FLAG, offsetof(struct config_args, json), "", "as JSON instead of YAML"},
    {0},
};

const struct cli_command cli_config = {
    .name = "config",
    .summary = "show the effective configuration of a machine, with derived values",
    .usage = "-m MACHINE [-s section.key=value]... [--json]",
    .examples = "  atoll config -m uba-mem\n  atoll config -m uba-mem -s gpu.llc_size='3 MiB' > mine.yaml\n",
    .options = options,
    .args_bytes = sizeof(struct config_args),
    .rest_offset = offsetof(struct config_args, rest),
    .run = run,
};
