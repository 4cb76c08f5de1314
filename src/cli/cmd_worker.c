/* atoll worker: one run of a sweep. Started by the sweep (src/sweep/pool.c), which listens on descriptor 3:
 * a line whenever the simulation gets on, then the status and the result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "sweep/pool.h"

struct worker_args {
    const char *machine, *workload, *max_instructions, *spool, *task;
    struct cli_list set, rest;
};

static void get_on(void *arg, const struct atoll_progress *p)
{
    (void)p;
    (void)!write(*(const int *)arg, POOL_PROGRESS, sizeof POOL_PROGRESS - 1);
}

static bool send_all(const char *text)
{
    for (size_t left = strlen(text); left;) {
        const ssize_t sent = write(POOL_FD, text, left);
        if (sent <= 0) return false;
        text += sent;
        left -= (size_t)sent;
    }
    return true;
}

static int finish(int status, const char *text)
{
    char head[32];
    (void)snprintf(head, sizeof head, POOL_RESULT, status);
    return send_all(head) && send_all(text) ? status : ATOLL_BUG;
}

static int run_task(const struct worker_args *args)
{
    int code;
    atoll_sim *sim = cli_sim(NULL, NULL, &code);
    if (!sim) return code;
    const atoll_status status = atoll_sweep_task(sim, args->spool, args->task, cli_program());
    return cli_show(sim, status, NULL);
}

static int run(const void *arg)
{
    const struct worker_args *args = arg;
    int fd = POOL_FD;
    if (args->spool && args->task) return run_task(args);
    if (!args->workload || write(fd, POOL_PROGRESS, sizeof POOL_PROGRESS - 1) < 0)
        return cli_mistake("'atoll worker' is started by 'atoll sweep', not by hand");
    atoll_sim *sim = NULL;
    struct atoll_outcome outcome = {0};
    const struct atoll_job job = {
        .workload = args->workload,
        .max_instructions = args->max_instructions ? strtoull(args->max_instructions, NULL, 10) : 0};
    atoll_status status = atoll_create(&sim);
    if (!sim) return finish(ATOLL_MISTAKE, "out of host memory\n");
    if (!status && args->machine) status = atoll_machine(sim, args->machine);
    for (size_t i = 0; !status && i < args->set.count; i++) status = atoll_set(sim, args->set.items[i]);
    atoll_on_progress(sim, get_on, &fd);
    if (!status) status = atoll_run(sim, &job, &outcome);
    if (outcome.output) (void)fputs(outcome.output, stdout); /* what kernels printed: the log */
    (void)fflush(stdout);
    const int code = finish((int)status, status ? atoll_message(sim) : outcome.json);
    atoll_outcome_free(&outcome);
    atoll_destroy(sim);
    return code;
}

static const struct cli_option options[] = {
    CLI_OPTION_MACHINE(struct worker_args),
    {"workload", 'w', CLI_TEXT, offsetof(struct worker_args, workload), "NAME[:SIZE]", "what to run"},
    CLI_OPTION_SET(struct worker_args),
    {"max-instructions", 0, CLI_TEXT, offsetof(struct worker_args, max_instructions), "N", "where to stop"},
    {"spool", 0, CLI_TEXT, offsetof(struct worker_args, spool), "DIR", "directory of a sweep under Slurm"},
    {"task", 0, CLI_TEXT, offsetof(struct worker_args, task), "N", "its part of it"},
    {0},
};

const struct cli_command cli_worker = {
    .name = "worker",
    .summary = "", /* hidden */
    .usage = "started by 'atoll sweep'",
    .options = options,
    .args_bytes = sizeof(struct worker_args),
    .rest_offset = offsetof(struct worker_args, rest),
    .run = run,
};
