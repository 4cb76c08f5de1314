/* atoll analyze: what can be said about a PTX file without running it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct analyze_args {
    const char *json;
    bool coverage;
    struct cli_list rest;
};

static int run(const void *arg)
{
    const struct analyze_args *args = arg;
    int code = 0;
    if (!args->rest.count) return cli_mistake("'atoll analyze' takes PTX files");
    if (!args->coverage)
        return cli_mistake("the data-flow and index analyses are not part of version %s yet; --coverage "
                           "lists what cannot be "
                           "executed",
                           atoll_version());
    atoll_sim *sim = cli_sim(NULL, NULL, &code);
    if (!sim) return code;
    char *text = NULL;
    const bool json_only = args->json && strcmp(args->json, "-") == 0;
    atoll_status status = ATOLL_OK;
    if (!json_only && !(status = atoll_coverage(sim, args->rest.items, args->rest.count, ATOLL_TEXT, &text)))
        (void)fputs(text, stdout);
    free(text);
    text = NULL;
    if (!status && args->json &&
        !(status = atoll_coverage(sim, args->rest.items, args->rest.count, ATOLL_JSON, &text)))
        code = cli_write_file(args->json, text);
    free(text);
    if (status) code = cli_fail(sim, status);
    atoll_destroy(sim);
    return code;
}

static const struct cli_option options[] = {
    {"coverage", 0, CLI_FLAG, offsetof(struct analyze_args, coverage), "",
     "list the instructions that Atoll cannot execute and the calls of undefined functions"},
    CLI_OPTION_JSON(struct analyze_args),
    {0},
};

const struct cli_command cli_analyze = {
    .name = "analyze",
    .summary = "static analyses of PTX files",
    .usage = "kernel.ptx [more.ptx]... --coverage [--json F]",
    .examples = "  atoll analyze --coverage kernel.ptx\n",
    .options = options,
    .args_bytes = sizeof(struct analyze_args),
    .rest_offset = offsetof(struct analyze_args, rest),
    .run = run,
};
