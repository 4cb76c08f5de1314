/* atoll list: what there is. */
#include "cli/cli.h"

struct list_args {
    bool markdown, json;
    struct cli_list rest;
};

static int run(const void *arg)
{
    const struct list_args *args = arg;
    int code = 0;
    if (args->rest.count != 1)
        return cli_mistake("'atoll list' takes one of: machines, workloads, policies, params, stats");
    atoll_sim *sim = cli_sim(NULL, NULL, &code);
    if (!sim) return code;
    char *text = NULL;
    const atoll_status status = atoll_list(sim, args->rest.items[0],
                                           args->json       ? ATOLL_JSON
                                           : args->markdown ? ATOLL_MARKDOWN
                                                            : ATOLL_TEXT,
                                           &text);
    return cli_show(sim, status, text);
}

static const struct cli_option options[] = {
    {"markdown", 0, CLI_FLAG, offsetof(struct list_args, markdown), "", "as a Markdown table"},
    {"json", 0, CLI_FLAG, offsetof(struct list_args, json), "", "as JSON"},
    {0},
};

const struct cli_command cli_list = {
    .name = "list",
    .summary = "machines, workloads, policies, parameters and statistics, with help, units, defaults",
    .usage = "machines|workloads|policies|params|stats [--markdown|--json]",
    .examples = "  atoll list machines\n  atoll list params | grep llc\n",
    .options = options,
    .args_bytes = sizeof(struct list_args),
    .rest_offset = offsetof(struct list_args, rest),
    .run = run,
};
