/* study: what the commands share that run many points: sweep, reproduce, compare. */
#ifndef ATOLL_CLI_STUDY_H
#define ATOLL_CLI_STUDY_H

#include "cli/cli.h"

/* Options as they were typed. */
struct study_args {
    const char *jobs, *db, *launcher, *spool, *per_task, *stuck_after, *limit;
    bool retry_failed, verbose;
    struct cli_list sbatch;
};

#define STUDY_OPTIONS(type) \
    {"jobs", 'j', CLI_TEXT, offsetof(type, how.jobs), "N", "worker processes (default: one per core)"}, \
        {"launcher",    0, \
         CLI_TEXT,      offsetof(type, how.launcher), \
         "local|slurm", "where the points run (default: local)"}, \
        {"db", 0, CLI_TEXT, offsetof(type, how.db), "FILE", "result store (SQLite)"}, \
        {"retry-failed", 0, CLI_FLAG, offsetof(type, how.retry_failed), "", "run points again that failed"}, \
        {"limit", 0, CLI_TEXT, offsetof(type, how.limit), "SECONDS", "end a run that takes longer"}, \
        {"stuck-after", 0, \
         CLI_TEXT,      offsetof(type, how.stuck_after), \
         "SECONDS",     "report a worker without progress (default: 60)"}, \
        {"verbose", 'v', CLI_FLAG, offsetof(type, how.verbose), "", "a line for every point that ended"}, \
        {"sbatch", 0, \
         CLI_LIST, offsetof(type, how.sbatch), \
         "OPTION", "slurm: an option for sbatch, such as --sbatch=--partition=long"}, \
        {"spool", 0, CLI_TEXT, offsetof(type, how.spool), "DIR", "slurm: a directory that all nodes see"}, \
    { \
        "points-per-task", 0, CLI_TEXT, offsetof(type, how.per_task), "N", \
            "slurm: points that one task of the array runs (default: 16 at most)" \
    }

/* Of several studies, which one the progress is of. */
void study_of(uint32_t i, uint32_t count, const char *name);
/* Fills `how` from the options; from now on Ctrl-C ends the sweep in order. An exit code, 0 = good. */
int study_begin(const struct study_args *args, struct atoll_sweep *how);
/* Takes the line of progress away. */
void study_end(void);
/* The number of a count or a time; false after printing what was wrong. */
bool study_number(const char *option, const char *text, double most, double *value);

#endif
