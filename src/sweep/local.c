/* local: the sweep on this machine, by worker processes. */
#include <stdlib.h>

#include "sweep/process.h"
#include "sweep/sweep.h"

enum { BEAT_SECONDS = 5 };

struct local {
    struct sweep_points points;
    struct pool *pool;
    uint32_t next;   /* in points.todo */
    uint32_t *taken; /* by other runners: looked at again */
    uint32_t taken_count;
    uint32_t *running; /* points in the pool */
    uint32_t running_count;
    double beat_seconds, retry_seconds;
};

static void stuck(void *arg, uint32_t id, int pid, double seconds)
{
    const struct local *l = arg;
    sweep_note(l->points.options, "worker %d has made no progress for %.0f s:\n    %s", pid, seconds,
               study_command(l->points.study, id));
}

/* Claims a point and starts it. */
static enum store_claim try_start(struct local *l, uint32_t point)
{
    const enum store_claim claim = store_claim(l->points.store, l->points.study->points[point].key);
    if (claim == STORE_FINISHED) l->points.finished++; /* by another runner */
    if (claim != STORE_CLAIMED) return claim;
    const struct pool_job job = sweep_job(l->points.study, point);
    pool_start(l->pool, &job);
    l->running[l->running_count++] = point;
    return claim;
}

static void fill(struct local *l)
{
    while (pool_has_room(l->pool) && l->next < l->points.todo_count) {
        const uint32_t point = l->points.todo[l->next++];
        if (try_start(l, point) == STORE_TAKEN) l->taken[l->taken_count++] = point;
    }
    /* what others have claimed: finished by now, or its runner is gone */
    if (l->next < l->points.todo_count || process_seconds() < l->retry_seconds) return;
    l->retry_seconds = process_seconds() + 0.5;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->taken_count; i++) {
        const bool room = pool_has_room(l->pool);
        if (!room || try_start(l, l->taken[i]) == STORE_TAKEN) l->taken[kept++] = l->taken[i];
    }
    l->taken_count = kept;
}

static void drop_result(void *arg) { pool_result_free(arg); }

static void keep(struct local *l, struct pool_result *r)
{
    struct diag_cleanup dropping;
    diag_defer(&dropping, drop_result, r);
    uint32_t i = 0;
    while (i < l->running_count && l->running[i] != r->id) i++;
    if (i < l->running_count) l->running[i] = l->running[--l->running_count];
    sweep_points_put(&l->points, r->id, r, NULL);
    diag_done(&dropping, true);
}

static void tell(const struct local *l)
{
    struct sweep_rest rest = {.left = l->points.todo + l->next,
                              .left_count = l->points.todo_count - l->next,
                              .running = l->running,
                              .running_count = l->running_count,
                              .at_once = l->points.options->jobs};
    for (uint32_t i = 0; i < l->running_count; i++)
        rest.running_seconds += pool_elapsed(l->pool, l->running[i]);
    sweep_tell(&l->points, &rest);
}

static bool stopped(const struct local *l) { return l->points.options->stop && *l->points.options->stop; }

static void run(struct local *l)
{
    while (!stopped(l)) {
        struct pool_result result;
        if (process_seconds() >= l->beat_seconds) {
            store_beat(l->points.store);
            l->beat_seconds = process_seconds() + BEAT_SECONDS;
        }
        fill(l);
        if (!l->running_count && !l->taken_count && l->next == l->points.todo_count) return;
        if (pool_wait(l->pool, 0.2, &result)) keep(l, &result);
        tell(l);
    }
    l->points.summary.stopped = true;
    for (uint32_t i = 0; i < l->running_count; i++)
        store_release(l->points.store, l->points.study->points[l->running[i]].key);
}

static void free_pool(void *arg) { pool_free(arg); }

void sweep_local(struct study *s, struct store *store, const struct atoll_sweep *o,
                 struct atoll_sweep_summary *summary)
{
    struct local l = {0};
    struct diag_cleanup freeing;
    sweep_points_begin(&l.points, s, store, o);
    l.taken = ARENA_ARRAY(&s->arena, uint32_t, s->point_count + 1);
    l.running = ARENA_ARRAY(&s->arena, uint32_t, o->jobs + 1);
    l.pool = pool_new(&(struct pool_options){.program = o->program,
                                             .jobs = o->jobs,
                                             .stuck_seconds = o->stuck_seconds,
                                             .limit_seconds = o->limit_seconds,
                                             .stuck = stuck,
                                             .arg = &l});
    diag_defer(&freeing, free_pool, l.pool);
    run(&l);
    diag_done(&freeing, true);
    sweep_points_end(&l.points, summary);
}
