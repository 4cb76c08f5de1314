/* sweep: runs the points of a study that have no result yet, and keeps what comes out.
 *
 *   points ─► claim ─► pool (or slurm) ─► store_put_run          one transaction per finished point
 *              │taken by another runner: come back later
 *              │finished: nothing to do */
#ifndef ATOLL_SWEEP_SWEEP_H
#define ATOLL_SWEEP_SWEEP_H

#include <atoll.h>

#include "sweep/pool.h"
#include "sweep/store.h"

void sweep_local(struct study *s, struct store *store, const struct atoll_sweep *o,
                 struct atoll_sweep_summary *summary);
void sweep_slurm(struct study *s, struct store *store, const struct atoll_sweep *o,
                 struct atoll_sweep_summary *summary);

/* ---- points.c: shared by the launchers ---- */

/* Points that are to run: one per key, those with a wrong configuration recorded at once. */
struct sweep_points {
    struct study *study;
    struct store *store;
    const struct atoll_sweep *options;
    uint32_t *todo; /* indices of points, in order */
    uint32_t todo_count;
    struct atoll_sweep_summary summary;
    double start_seconds;
    uint32_t finished, failed; /* of the whole study, by key */
    uint32_t elsewhere;        /* to run for other studies of the database */
    double *mean_wall;         /* by workload */
    uint32_t *mean_count;
};
void sweep_points_begin(struct sweep_points *p, struct study *s, struct store *store,
                        const struct atoll_sweep *o);
void sweep_points_end(struct sweep_points *p, struct atoll_sweep_summary *summary);
/* Writes a result into the database; host NULL = this one. */
void sweep_points_put(struct sweep_points *p, uint32_t point, const struct pool_result *r, const char *host);
/* Settings of a point as "section.key=value" texts, in the study's arena. */
struct pool_job sweep_job(struct study *s, uint32_t point);
/* Tells how far it is: points that are not begun, points that run, how long these have run together. */
struct sweep_rest {
    const uint32_t *left, *running;
    uint32_t left_count, running_count, at_once;
    double running_seconds;
};
void sweep_tell(const struct sweep_points *p, const struct sweep_rest *rest);
void sweep_note(const struct atoll_sweep *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
