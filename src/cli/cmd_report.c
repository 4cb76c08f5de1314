/* atoll report: a database of results as one HTML page, as CSV, as tables in Markdown, as verdicts in words.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

struct report_args {
    const char *output, *csv, *markdown;
    struct cli_list rest;
};

static int run(const void *arg)
{
    const struct report_args *args = arg;
    if (args->rest.count != 1) return cli_mistake("'atoll report' takes one database, such as noc.db");
    const char *db = args->rest.items[0];
    char *command = NULL;
    int code = cli_can_write(args->output);
    if (!code) code = cli_can_write(args->csv);
    if (!code) code = cli_can_write(args->markdown);
    if (!code && args->output) {
        if (asprintf(&command, "atoll report %s -o %s", db, args->output) < 0) command = NULL;
        code = cli_write_report(db, args->output, ATOLL_HTML, command);
    }
    if (!code && args->csv) code = cli_write_report(db, args->csv, ATOLL_CSV, NULL);
    if (!code && args->markdown) code = cli_write_report(db, args->markdown, ATOLL_MARKDOWN, NULL);
    if (!code && !args->output && !args->csv && !args->markdown)
        code = cli_write_report(db, "-", ATOLL_TEXT, NULL);
    free(command);
    return code;
}

static const struct cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct report_args, output), "FILE", "the HTML page"},
    {"csv", 0, CLI_TEXT, offsetof(struct report_args, csv), "FILE", "one line per point and metric"},
    {"md", 0, CLI_TEXT, offsetof(struct report_args, markdown), "FILE",
     "tables in Markdown: claims with verdicts, metrics by workload and machine"},
    {0},
};

const struct cli_command cli_report = {
    .name = "report",
    .summary = "turn results into an HTML page, CSV, Markdown, or verdicts in words",
    .usage = "results.db [-o report.html] [--csv F] [--md F]",
    .examples = "  atoll report noc.db -o noc.html\n"
                "  atoll report noc.db\n",
    .options = options,
    .args_bytes = sizeof(struct report_args),
    .rest_offset = offsetof(struct report_args, rest),
    .run = run,
};
