/* study: see study.h. */
#include "cli/study.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int stop; /* set by the handler of SIGINT and SIGTERM */
static bool line_shown;
static char of_what[96]; /* "2 of 12, nuba-fig11: " when several studies are run */

const char *cli_program(void)
{
    static char path[4096];
    const ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    return len > 0 ? path : "/proc/self/exe";
}

static void ask_to_stop(int signal)
{
    (void)signal;
    stop = 1;
}

static void clear_line(void)
{
    if (line_shown) (void)fputs("\r\033[K", stderr);
    line_shown = false;
}

static void show_note(void *arg, const char *line)
{
    (void)arg;
    clear_line();
    (void)fprintf(stderr, "atoll: %s\n", line);
}

static void format_left(char buf[64], double seconds, const char *of)
{
    buf[0] = '\0';
    if (!isfinite(seconds)) return;
    (void)snprintf(buf, 64, seconds < 120 ? ", %.0f s left%s" : ", %.0f min left%s",
                   seconds < 120 ? seconds : seconds / 60, of);
}

static void show_progress(void *arg, const struct atoll_sweep_progress *p)
{
    char left[64], all[64] = "";
    (void)arg;
    format_left(left, p->left_seconds, "");
    if (*of_what) format_left(all, p->left_seconds + p->later_seconds, " of all");
    (void)fprintf(stderr, "\r\033[K%s%3.0f %%, %u of %u points, %u running, %u failed, %.0f s%s%s", of_what,
                  p->total ? 100.0 * p->finished / p->total : 100.0, p->finished, p->total, p->running,
                  p->failed, p->elapsed_seconds, left, all);
    (void)fflush(stderr);
    line_shown = true;
}

bool study_number(const char *option, const char *text, double most, double *value)
{
    char *end;
    if (!text) return true;
    *value = strtod(text, &end);
    if (end != text && !*end && *value > 0 && *value <= most) return true;
    (void)cli_mistake("--%s '%s' is not a number from 1 to %.0f", option, text, most);
    return false;
}

void study_of(uint32_t i, uint32_t count, const char *name)
{
    const char *slash = strrchr(name, '/');
    (void)snprintf(of_what, sizeof of_what, "%u of %u, %s: ", i, count, slash ? slash + 1 : name);
}

int study_begin(const struct study_args *args, struct atoll_sweep *how)
{
    double jobs = (double)sysconf(_SC_NPROCESSORS_ONLN), per_task = 0;
    how->stuck_seconds = 60;
    if (!study_number("jobs", args->jobs, 1000, &jobs) ||
        !study_number("points-per-task", args->per_task, 1e6, &per_task) ||
        !study_number("limit", args->limit, 1e9, &how->limit_seconds) ||
        !study_number("stuck-after", args->stuck_after, 1e9, &how->stuck_seconds))
        return ATOLL_MISTAKE;
    if (args->launcher && strcmp(args->launcher, "local") != 0 && strcmp(args->launcher, "slurm") != 0)
        return cli_mistake("--launcher is 'local' or 'slurm', not '%s'", args->launcher);
    how->slurm = args->launcher && strcmp(args->launcher, "slurm") == 0;
    if (!how->slurm && (args->sbatch.count || args->spool || args->per_task))
        return cli_mistake("--sbatch, --spool and --points-per-task are for --launcher slurm");
    how->program = cli_program();
    how->jobs = jobs < 1 ? 1 : (uint32_t)jobs;
    how->db = args->db;
    how->retry_failed = args->retry_failed;
    how->verbose = args->verbose;
    how->spool = args->spool;
    how->sbatch = args->sbatch.items;
    how->sbatch_count = args->sbatch.count;
    how->per_task = (uint32_t)per_task;
    how->note = show_note;
    if (isatty(STDERR_FILENO)) how->progress = show_progress;
    how->stop = &stop;
    const struct sigaction action = {.sa_handler = ask_to_stop};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a full disk, not a crash */
    return 0;
}

void study_end(void) { clear_line(); }
