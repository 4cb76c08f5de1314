/* pool: worker processes, one per run.
 *
 *   pool_start ─► fork, exec "PROGRAM worker -m M -w W -s ..." ─► pool_wait: its result, its crash, its
 * silence
 *
 * A worker writes its progress and its result to descriptor 3 and everything else into its log. It dies with
 * this process, whatever kills it. */
#ifndef ATOLL_SWEEP_POOL_H
#define ATOLL_SWEEP_POOL_H

#include "study/study.h"

struct pool;

struct pool_options {
    const char *program;  /* that has the subcommand 'worker' */
    uint32_t jobs;        /* workers at one time */
    double stuck_seconds; /* without progress before a worker is reported */
    double limit_seconds; /* for one run; 0 = none */
    void (*stuck)(void *arg, uint32_t id, int pid, double seconds);
    void *arg;
};

/* One run, as options of the command. */
struct pool_job {
    uint32_t id;
    const char *machine, *workload;
    const char *const *sets;
    size_t set_count;
    uint64_t instructions;
};

struct pool_result {
    uint32_t id;
    enum study_status status;
    char *result;  /* JSON; of a run that is done */
    char *message; /* of a failure */
    char *log;     /* the end of what it printed; NULL: nothing */
    char started_at[32];
    double wall_seconds;
};
void pool_result_free(struct pool_result *r);

struct pool *pool_new(const struct pool_options *options);
void pool_free(struct pool *p); /* ends the workers that still run */
uint32_t pool_running(const struct pool *p);
bool pool_has_room(const struct pool *p);
void pool_start(struct pool *p, const struct pool_job *job);
/* The next run that ended; false when none did within so many seconds. */
bool pool_wait(struct pool *p, double seconds, struct pool_result *result);
/* Of the runs under way: seconds since the start. */
double pool_elapsed(const struct pool *p, uint32_t id);

/* ---- what a worker writes to descriptor 3; the other side is the command's `worker` ---- */
enum { POOL_FD = 3 };
#define POOL_PROGRESS "P\n"    /* it is alive and gets on */
#define POOL_RESULT   "R %d\n" /* status; the result or the message follows, to the end */

#endif
