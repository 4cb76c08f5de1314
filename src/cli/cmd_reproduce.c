/* atoll reproduce: every experiment of a paper, then one report. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study.h"

struct reproduce_args {
    const char *scale, *html;
    bool dry_run;
    struct study_args how;
    struct cli_list rest;
};

static const char *const papers[] = {"nuba", "carve", "selrep", "ladm", "ugpu"};

/* Adds what one experiment of the paper gave. */
static void add(struct atoll_sweep_summary *all, const struct atoll_sweep_summary *one)
{
    all->total += one->total;
    all->before += one->before;
    all->ran += one->ran;
    all->failed += one->failed;
    all->missing += one->missing;
    if (one->worst > all->worst) all->worst = one->worst;
    all->stopped |= one->stopped;
    char names[sizeof one->missing_names], *save = NULL;
    (void)snprintf(names, sizeof names, "%s", one->missing_names);
    for (char *name = strtok_r(names, ", ", &save); name; name = strtok_r(NULL, ", ", &save)) {
        const size_t len = strlen(all->missing_names);
        if (!strstr(all->missing_names, name))
            (void)snprintf(all->missing_names + len, sizeof all->missing_names - len, "%s%s", len ? ", " : "",
                           name);
    }
}

static int sweep_one(const struct atoll_sweep *how, struct atoll_sweep_summary *all)
{
    int code = 0;
    struct atoll_sweep_summary one;
    atoll_sim *sim = cli_sim(NULL, NULL, &code);
    if (!sim) return code;
    const atoll_status status = atoll_sweep(sim, how, &one);
    study_end();
    if (status)
        code = cli_fail(sim, status);
    else
        add(all, &one);
    atoll_destroy(sim);
    return code;
}

static int sweep_all(const char *names, struct atoll_sweep *how, struct atoll_sweep_summary *all)
{
    int code = 0;
    char *save = NULL, *const list = names ? strdup(names) : NULL;
    uint32_t i = 0, count = 0;
    if (!list) return cli_mistake("out of memory");
    for (const char *p = names; *p; p++) count += *p == '\n' || !p[1];
    for (char *name = strtok_r(list, "\n", &save); name && !code && !all->stopped;
         name = strtok_r(NULL, "\n", &save)) {
        how->experiment = name;
        study_of(++i, count, name);
        if (how->verbose && !how->plan_only) (void)fprintf(stderr, "atoll: %s\n", name);
        const uint64_t before = all->total;
        code = sweep_one(how, all);
        if (!code && how->dry_run)
            (void)printf("%-24s %6llu points\n", name, (unsigned long long)(all->total - before));
    }
    free(list);
    return code;
}

/* All are planned before the first runs: the progress can tell how long the whole will take. */
static int plan_all(const char *names, const struct atoll_sweep *how)
{
    struct atoll_sweep plan = *how;
    struct atoll_sweep_summary ignored = {0};
    plan.plan_only = true;
    return sweep_all(names, &plan, &ignored);
}

static int find_names(const char *paper, char **names)
{
    int code = 0;
    atoll_sim *sim = cli_sim(NULL, NULL, &code);
    if (!sim) return code;
    const atoll_status status = atoll_experiments(sim, paper, names);
    if (status) code = cli_fail(sim, status);
    atoll_destroy(sim);
    if (!code && !**names) code = cli_mistake("this version has no experiments of '%s'", paper);
    return code;
}

static int reproduce(const char *paper, const struct reproduce_args *args, struct atoll_sweep *how)
{
    char *names = NULL;
    struct atoll_sweep_summary all = {0};
    int code = find_names(paper, &names);
    how->dry_run = args->dry_run;
    if (!code && !how->dry_run) code = plan_all(names, how);
    if (!code) code = sweep_all(names, how, &all);
    free(names);
    if (code) return code;
    if (how->dry_run) {
        (void)printf("%-24s %6llu points; points that experiments share run once\n", "all",
                     (unsigned long long)all.total);
        return 0;
    }
    code = cli_sweep_summary(&all, how->db);
    const int shown = cli_write_report(how->db, "-", ATOLL_TEXT, NULL);
    const int written = cli_write_report(how->db, args->html, ATOLL_HTML, how->command);
    if (!written) (void)printf("report: %s\n", args->html);
    (void)fflush(stdout);
    if (all.missing)
        code = cli_mistake(
            "%s is not complete: this version has no machine %s; %u points are recorded as not available",
            paper, all.missing_names, all.missing);
    return code ? code : written ? written : shown;
}

static int run(const void *arg)
{
    struct reproduce_args args = *(const struct reproduce_args *)arg;
    struct atoll_sweep how = {.scale = args.scale ? args.scale : "quick", .missing_machines = true};
    char db[64], html[64], command[160];
    const size_t count = sizeof papers / sizeof *papers;
    size_t i = 0;
    if (args.rest.count != 1)
        return cli_mistake("'atoll reproduce' takes one paper: nuba, carve, selrep, ladm or ugpu");
    const char *paper = args.rest.items[0];
    while (i < count && strcmp(papers[i], paper) != 0) i++;
    const char *near = i < count ? NULL : atoll_nearest(paper, papers, count);
    if (i == count)
        return cli_mistake("unknown paper '%s'%s%s%s", paper, near ? "; did you mean '" : "",
                           near ? near : "", near ? "'?" : ": nuba, carve, selrep, ladm or ugpu");
    if (strcmp(how.scale, "quick") != 0 && strcmp(how.scale, "paper") != 0)
        return cli_mistake("--scale is 'quick' or 'paper', not '%s'", how.scale);
    int code = study_begin(&args.how, &how);
    (void)snprintf(db, sizeof db, "%s-%s.db", paper, how.scale);
    (void)snprintf(html, sizeof html, "%s-%s.html", paper, how.scale);
    (void)snprintf(command, sizeof command, "atoll reproduce %s --scale %s", paper, how.scale);
    if (!how.db) how.db = db;
    if (!args.html) args.html = html;
    how.command = command;
    if (!code) code = cli_can_write(args.html);
    return code ? code : reproduce(paper, &args, &how);
}

static const struct cli_option options[] = {
    {"scale", 0, CLI_TEXT, offsetof(struct reproduce_args, scale), "quick|paper",
     "how much of it (default: quick)"},
    {"html", 0, CLI_TEXT, offsetof(struct reproduce_args, html), "FILE",
     "the report (default: PAPER-SCALE.html)"},
    {"dry-run", 0, CLI_FLAG, offsetof(struct reproduce_args, dry_run), "",
     "only list experiments and points"},
    STUDY_OPTIONS(struct reproduce_args),
    {0},
};

const struct cli_command cli_reproduce = {
    .name = "reproduce",
    .summary = "reproduce the evaluation of a paper: run it, show it beside the paper's numbers",
    .usage = "nuba|carve|selrep|ladm|ugpu [--scale quick|paper] [-j N] [--html F]",
    .examples = "  atoll reproduce nuba --scale quick --html nuba.html\n"
                "  atoll reproduce ladm --dry-run\n",
    .options = options,
    .args_bytes = sizeof(struct reproduce_args),
    .rest_offset = offsetof(struct reproduce_args, rest),
    .run = run,
};
