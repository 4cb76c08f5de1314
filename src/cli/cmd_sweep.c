/* atoll sweep: the points of an experiment file, into a database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study.h"

struct sweep_args {
    const char *scale, *html;
    bool dry_run;
    struct study_args how;
    struct cli_list rest;
};

int cli_sweep_summary(const struct atoll_sweep_summary *s, const char *db)
{
    (void)printf("%u point%s: %u were there, %u ran now", s->total, s->total == 1 ? "" : "s", s->before,
                 s->ran);
    if (s->failed) (void)printf(", %u failed", s->failed);
    if (s->missing) (void)printf(", %u are not available", s->missing);
    (void)printf("; results are in %s\n", db);
    if (s->stopped) (void)puts("interrupted: the same command goes on from here");
    if (s->failed)
        (void)printf(
            "failures: 'atoll report %s -o report.html' lists them with their messages; --retry-failed "
            "runs them again\n",
            db);
    return s->stopped ? ATOLL_MISTAKE : (int)s->worst;
}

int cli_write_report(const char *db, const char *path, atoll_format format, const char *command)
{
    int code;
    char *text = NULL;
    atoll_sim *sim = cli_sim(NULL, NULL, &code);
    if (!sim) return code;
    const atoll_status status = atoll_report(sim, db, format, command, &text);
    code = status ? cli_fail(sim, status) : cli_write_file(path, text);
    free(text);
    atoll_destroy(sim);
    return code;
}

/* "noc.yaml" gives "noc.db" in this directory. */
static char *default_db(const char *experiment)
{
    const char *slash = strrchr(experiment, '/'), *name = slash ? slash + 1 : experiment,
               *dot = strrchr(name, '.');
    char *db;
    return asprintf(&db, "%.*s.db", dot ? (int)(dot - name) : (int)strlen(name), name) < 0 ? NULL : db;
}

static int sweep(const struct sweep_args *args, struct atoll_sweep *how)
{
    int code;
    struct atoll_sweep_summary summary;
    char *command = NULL;
    atoll_sim *sim = cli_sim(NULL, NULL, &code);
    if (!sim) return code;
    how->experiment = args->rest.items[0];
    how->scale = args->scale;
    how->dry_run = args->dry_run;
    if (asprintf(&command, "atoll sweep %s%s%s", how->experiment, args->scale ? " --scale " : "",
                 args->scale ? args->scale : "") < 0)
        command = NULL;
    how->command = command ? command : "atoll sweep";
    const atoll_status status = atoll_sweep(sim, how, &summary);
    study_end();
    if (!status && how->dry_run) {
        (void)printf("%u point%s%s%s\n", summary.total, summary.total == 1 ? "" : "s",
                     *summary.missing_names ? "; this version has no machine " : "", summary.missing_names);
        atoll_destroy(sim);
        free(command);
        return 0;
    }
    code = status ? cli_fail(sim, status) : cli_sweep_summary(&summary, how->db);
    atoll_destroy(sim);
    if (!status && args->html) {
        const int written = cli_write_report(how->db, args->html, ATOLL_HTML, how->command);
        if (!written) (void)printf("report: %s\n", args->html);
        if (!code) code = written;
    }
    free(command);
    return code;
}

static int run(const void *arg)
{
    const struct sweep_args *args = arg;
    struct atoll_sweep how = {0};
    if (args->rest.count != 1)
        return cli_mistake("'atoll sweep' takes one experiment file, such as experiments/noc.yaml");
    int code = study_begin(&args->how, &how);
    if (!code) code = cli_can_write(args->html);
    if (code) return code;
    char *db = how.db ? NULL : default_db(args->rest.items[0]);
    if (!how.db) how.db = db;
    code = sweep(args, &how);
    free(db);
    return code;
}

static const struct cli_option options[] = {
    {"scale", 0, CLI_TEXT, offsetof(struct sweep_args, scale), "NAME",
     "one of the experiment's scales (default: its first)"},
    {"html", 0, CLI_TEXT, offsetof(struct sweep_args, html), "FILE", "write the report when all is done"},
    {"dry-run", 0, CLI_FLAG, offsetof(struct sweep_args, dry_run), "",
     "read the experiment, count its points, run nothing"},
    STUDY_OPTIONS(struct sweep_args),
    {0},
};

const struct cli_command cli_sweep = {
    .name = "sweep",
    .summary = "run an experiment file; goes on where it stopped",
    .usage = "experiments/X.yaml [--scale NAME] [-j N] [--launcher local|slurm] [--db F] [--html F]",
    .examples = "  atoll sweep experiments/noc.yaml -j 2 --html noc.html\n"
                "  atoll sweep experiments/noc.yaml --launcher slurm --sbatch=--partition=long\n",
    .options = options,
    .args_bytes = sizeof(struct sweep_args),
    .rest_offset = offsetof(struct sweep_args, rest),
    .run = run,
};
