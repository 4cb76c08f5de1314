/* atoll analyze: what can be said about a PTX file without running it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct analyze_args {
    const char *json, *machine, *entry, *grid, *block;
    struct cli_list set;
    bool coverage;
    struct cli_list param, rest;
};

static atoll_status ask(atoll_sim *sim, const struct analyze_args *args, const struct atoll_analysis *what,
                        atoll_format format, char **text)
{
    if (args->coverage) return atoll_coverage(sim, args->rest.items, args->rest.count, format, text);
    return atoll_analyze(sim, what, format, text);
}

static bool make_request(const struct analyze_args *args, struct atoll_analysis *what)
{
    *what = (struct atoll_analysis){.ptx = args->rest.items,
                                    .ptx_count = args->rest.count,
                                    .entry = args->entry,
                                    .params = args->param.items,
                                    .param_count = args->param.count,
                                    .placement = args->machine != NULL};
    if (args->coverage && (args->grid || args->block || args->entry || args->param.count))
        return (void)cli_mistake("--coverage takes PTX files and --json only"), false;
    if (!args->grid && !args->block && args->param.count)
        return (void)cli_mistake("--param is a number of a launch: give --grid and --block too"), false;
    if (!args->grid && args->machine)
        return (void)cli_mistake("--machine shows where a launch is placed: give --grid and --block too"),
               false;
    if (!args->grid && !args->block) return true;
    return cli_parse_dim("grid", args->grid, what->grid) && cli_parse_dim("block", args->block, what->block);
}

static int run(const void *arg)
{
    const struct analyze_args *args = arg;
    struct atoll_analysis what;
    int code = 0;
    if (!args->rest.count) return cli_mistake("'atoll analyze' takes PTX files");
    if (!make_request(args, &what)) return ATOLL_MISTAKE;
    if ((code = cli_can_write(args->json))) return code;
    atoll_sim *sim = cli_sim(args->machine, &args->set, &code);
    if (!sim) return code;
    char *text = NULL;
    const bool json_only = args->json && strcmp(args->json, "-") == 0;
    atoll_status status = ATOLL_OK;
    if (!json_only && !(status = ask(sim, args, &what, ATOLL_TEXT, &text))) (void)fputs(text, stdout);
    free(text);
    text = NULL;
    if (!status && args->json && !(status = ask(sim, args, &what, ATOLL_JSON, &text)))
        code = cli_write_file(args->json, text);
    free(text);
    if (status) code = cli_fail(sim, status);
    atoll_destroy(sim);
    return code;
}

static const struct cli_option options[] = {
    CLI_OPTION_MACHINE(struct analyze_args),
    CLI_OPTION_SET(struct analyze_args),
    {"entry", 0, CLI_TEXT, offsetof(struct analyze_args, entry), "NAME", "one kernel only"},
    {"grid", 0, CLI_TEXT, offsetof(struct analyze_args, grid), "X,Y,Z", "a launch: blocks"},
    {"block", 0, CLI_TEXT, offsetof(struct analyze_args, block), "X,Y,Z", "a launch: threads in a block"},
    {"param", 0, CLI_LIST, offsetof(struct analyze_args, param), "NAME=VALUE",
     "a launch: value of a parameter (PTX name, or p0, p1, ...); of a pointer: bytes of its structure, such "
     "as p0=64MiB, or p2.8=64MiB in a structure"},
    {"coverage", 0, CLI_FLAG, offsetof(struct analyze_args, coverage), "",
     "instead: list the instructions that Atoll cannot execute and the calls of undefined functions"},
    CLI_OPTION_JSON(struct analyze_args),
    {0},
};

const struct cli_command cli_analyze = {
    .name = "analyze",
    .summary = "static analyses of PTX files",
    .usage = "kernel.ptx [more.ptx]... [--entry NAME] [--grid X,Y,Z --block X,Y,Z [--param NAME=VALUE]...] "
             "[-m MACHINE] [--json F]\n"
             "       atoll analyze kernel.ptx [more.ptx]... --coverage [--json F]",
    .examples = "  atoll analyze kernel.ptx\n"
                "  atoll analyze kernel.ptx --grid 64,64 --block 16,16 --param p3=1024\n"
                "  atoll analyze kernel.ptx --grid 512 --block 128 --param p0=1MiB -m ladm\n"
                "  atoll analyze --coverage kernel.ptx\n",
    .options = options,
    .args_bytes = sizeof(struct analyze_args),
    .rest_offset = offsetof(struct analyze_args, rest),
    .run = run,
};
