/* store: results in an SQLite database. One row of `run` is one run, for ever: its key is a hash of all that
 * decides what it gives.
 *
 *   study ──< point (machine, workload, axes, seed) >── run (configuration, statistics, host, log)
 *                                     runner ──< claim: who is running what
 *
 * Crash safety: write-ahead log; a finished point is one transaction that writes its row and takes its claim
 * away, so that a kill at any moment leaves a row whole or absent. A claim of a runner that is no longer
 * alive counts for nothing. docs/experiments.md documents the schema.
 *
 * Everything raises mistakes that say what to do. */
#ifndef ATOLL_SWEEP_STORE_H
#define ATOLL_SWEEP_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "study/study.h"

struct store;

enum store_mode { STORE_READ, STORE_WRITE, STORE_MEMORY };
struct store *store_open(const char *path, enum store_mode mode);
void store_close(struct store *s);
const char *store_path(const struct store *s);

/* Adds the study with its points, in place of one of the same name; its runs stay. */
void store_put_study(struct store *s, const struct study *study, const char *command);
uint32_t store_study_count(const struct store *s);
/* Reads study i back: text, scale, points with their keys. */
struct study *store_get_study(struct store *s, uint32_t i, const char **command);
/* Fills the results of every point that has one. */
void store_get_results(struct store *s, struct study_data *d);

/* ---- runs ---- */

struct store_run {
    const char *key, *machine, *workload, *command;
    const char *config; /* effective, JSON */
    enum study_status status;
    const char *result;     /* JSON of `atoll run --json`, or NULL */
    const char *message;    /* of a failure, or NULL */
    const char *log;        /* what it printed, or NULL */
    const char *started_at; /* ISO 8601, UTC */
    double wall_seconds;
    const char *host; /* where it ran; NULL: here */
};
bool store_has_run(struct store *s, const char *key);
void store_put_run(struct store *s, const struct store_run *run);
/* Forgets failures among the points of the study, so that they run again. */
uint32_t store_drop_failures(struct store *s, const struct study *study);
/* Seconds that runs of a workload took so far, on average; NAN: unknown. */
double store_mean_wall(struct store *s, const char *workload);
/* Runs that only other studies of the database ask for and that are not there yet. */
uint32_t store_left_elsewhere(struct store *s, const struct study *study);

/* ---- who runs what ---- */

enum store_claim { STORE_CLAIMED, STORE_FINISHED, STORE_TAKEN };
enum store_claim store_claim(struct store *s, const char *key);
void store_release(struct store *s, const char *key); /* a claim that came to nothing */
/* Now and then while running: this runner is alive. */
void store_beat(struct store *s);

/* "2026-11-16T08:00:00Z" */
const char *store_time_text(char buf[32]);

#endif
