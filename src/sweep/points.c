/* points: what every launcher does with the points of a study: which are to run, what came out, how long the
 * rest will take. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "sweep/process.h"
#include "sweep/sweep.h"

void sweep_note(const struct atoll_sweep *o, const char *format, ...)
{
    char line[1200];
    va_list list;
    if (!o->note) return;
    va_start(list, format);
    (void)vsnprintf(line, sizeof line, format, list);
    va_end(list);
    o->note(o->arg, line);
}

/* ---- a point as a job ---- */

struct settings {
    struct study *s;
    const char *texts[300];
    size_t count;
};

static void add_setting(void *arg, const struct study_setting *set)
{
    struct settings *list = arg;
    if (list->count == sizeof list->texts / sizeof *list->texts)
        diag_mistake("a point has more than 300 settings");
    list->texts[list->count++] = arena_printf(&list->s->arena, "%s=%s", set->key, set->value);
}

struct pool_job sweep_job(struct study *s, uint32_t point)
{
    const struct study_point *p = &s->points[point];
    struct settings list = {.s = s};
    study_each_setting(s, p, add_setting, &list);
    const char **sets = ARENA_ARRAY(&s->arena, const char *, list.count + 1);
    if (list.count) memcpy(sets, list.texts, list.count * sizeof *sets);
    return (struct pool_job){.id = point,
                             .machine = s->machines[p->machine].preset,
                             .workload = s->workloads[p->workload].spec,
                             .sets = sets,
                             .set_count = list.count,
                             .instructions = p->instructions};
}

/* ---- results ---- */

/* The worker must have built the machine that was planned. */
static bool config_as_planned(const struct study_point *point, const char *result)
{
    json_t *root = json_loads(result, 0, NULL);
    char *config = json_dumps(json_object_get(root, "config"), JSON_COMPACT | JSON_SORT_KEYS);
    const bool same = config && point->config && strcmp(config, point->config) == 0;
    free(config);
    json_decref(root);
    return same;
}

static void count(struct sweep_points *p, uint32_t point, const struct pool_result *r)
{
    const uint32_t w = p->study->points[point].workload;
    p->finished++;
    if (r->status != STUDY_DONE) {
        p->failed++;
        return;
    }
    p->mean_wall[w] = (p->mean_wall[w] * p->mean_count[w] + r->wall_seconds) / (p->mean_count[w] + 1);
    p->mean_count[w]++;
}

void sweep_points_put(struct sweep_points *p, uint32_t point, const struct pool_result *r, const char *host)
{
    struct study *s = p->study;
    const struct study_point *at = &s->points[point];
    struct pool_result as = *r;
    if (as.status == STUDY_DONE && !config_as_planned(at, as.result)) {
        as.status = STUDY_FAILED;
        as.message = arena_strdup(
            &s->arena, "the machine file changed while the sweep was running, or the result is not "
                       "whole: 'atoll sweep --retry-failed' runs it again\n");
        as.result = NULL;
    }
    const struct store_run run = {.key = at->key,
                                  .machine = s->machines[at->machine].preset,
                                  .workload = s->workloads[at->workload].spec,
                                  .command = study_command(s, point),
                                  .config = at->config,
                                  .status = as.status,
                                  .result = as.result,
                                  .message = as.message,
                                  .log = as.log,
                                  .started_at = as.started_at,
                                  .wall_seconds = as.wall_seconds,
                                  .host = host};
    store_put_run(p->store, &run);
    count(p, point, &as);
    p->summary.ran++;
    const int first_line = as.message ? (int)strcspn(as.message, "\n") : 0;
    if (as.status != STUDY_DONE)
        sweep_note(p->options, "%s: %.*s\n    %s", study_status_names[as.status], first_line,
                   as.message ? as.message : "", run.command);
    else if (p->options->verbose)
        sweep_note(p->options, "%u/%u %.1f s: %s", p->finished, p->summary.total, as.wall_seconds,
                   run.command);
}

/* ---- which are to run ---- */

static void put_wrong(struct sweep_points *p, uint32_t point)
{
    struct pool_result r = {.status = STUDY_FAILED};
    (void)store_time_text(r.started_at);
    r.message = (char *)(uintptr_t)p->study->points[point].wrong;
    sweep_points_put(p, point, &r, NULL);
}

static void free_map(void *arg) { map_free(arg); }

void sweep_points_begin(struct sweep_points *p, struct study *s, struct store *store,
                        const struct atoll_sweep *o)
{
    struct map seen;
    struct diag_cleanup freeing;
    *p = (struct sweep_points){.study = s, .store = store, .options = o, .start_seconds = process_seconds()};
    p->todo = ARENA_ARRAY(&s->arena, uint32_t, s->point_count + 1);
    p->mean_wall = ARENA_ARRAY(&s->arena, double, s->workload_count + 1);
    p->mean_count = ARENA_ARRAY(&s->arena, uint32_t, s->workload_count + 1);
    if (o->retry_failed) (void)store_drop_failures(store, s);
    for (uint32_t w = 0; w < s->workload_count; w++) {
        const double mean = store_mean_wall(store, s->workloads[w].spec);
        if (!isfinite(mean)) continue;
        p->mean_wall[w] = mean;
        p->mean_count[w] = 1;
    }
    p->elsewhere = store_left_elsewhere(store, s);
    map_init(&seen);
    diag_defer(&freeing, free_map, &seen);
    for (uint32_t i = 0; i < s->point_count; i++) {
        bool fresh;
        if (!s->points[i].key[0]) {
            p->summary.missing += !s->machines[s->points[i].machine].best_of;
            continue;
        }
        (void)map_put(&seen, hash_bytes(s->points[i].key, STUDY_KEY_CHARS, 0), &fresh);
        if (!fresh) continue; /* two points, one run */
        p->summary.total++;
        if (store_has_run(store, s->points[i].key)) {
            p->summary.before++;
            p->finished++;
        } else if (s->points[i].wrong) {
            put_wrong(p, i);
        } else {
            p->todo[p->todo_count++] = i;
        }
    }
    diag_done(&freeing, true);
}

static void add_failure(struct atoll_sweep_summary *summary, enum study_status status)
{
    static const atoll_status codes[STUDY_PENDING + 1] = {[STUDY_FAILED] = ATOLL_MISTAKE,
                                                          [STUDY_CHECK] = ATOLL_CHECK_FAILED,
                                                          [STUDY_BUG] = ATOLL_BUG,
                                                          [STUDY_CRASHED] = ATOLL_BUG,
                                                          [STUDY_STOPPED] = ATOLL_MISTAKE};
    summary->failed += codes[status] != ATOLL_OK;
    if (codes[status] > summary->worst) summary->worst = codes[status];
}

static void add_missing_names(const struct study *s, struct atoll_sweep_summary *summary)
{
    size_t len = 0;
    for (uint32_t m = 0; m < s->machine_count; m++) {
        if (!s->machines[m].missing || len >= sizeof summary->missing_names) continue;
        if (strstr(summary->missing_names, s->machines[m].preset)) continue;
        len += (size_t)snprintf(summary->missing_names + len, sizeof summary->missing_names - len, "%s%s",
                                len ? ", " : "", s->machines[m].preset);
    }
}

void sweep_points_end(struct sweep_points *p, struct atoll_sweep_summary *summary)
{
    struct study_data *d = study_data_new(p->study);
    store_get_results(p->store, d);
    for (uint32_t i = 0; i < p->study->point_count; i++) add_failure(&p->summary, d->results[i].status);
    study_data_free(d);
    add_missing_names(p->study, &p->summary);
    *summary = p->summary;
}

/* ---- how far ---- */

/* Known workloads take what they took; the others the mean of those. */
static double expected(const struct sweep_points *p, const uint32_t *points, uint32_t point_count,
                       double other)
{
    double sum = 0;
    for (uint32_t i = 0; i < point_count; i++) {
        const uint32_t w = p->study->points[points[i]].workload;
        sum += p->mean_count[w] ? p->mean_wall[w] : other;
    }
    return sum;
}

static double mean_of_known(const struct sweep_points *p)
{
    double known = 0;
    uint32_t known_count = 0;
    for (uint32_t w = 0; w < p->study->workload_count; w++) {
        known += p->mean_count[w] ? p->mean_wall[w] : 0;
        known_count += p->mean_count[w] > 0;
    }
    return known_count ? known / known_count : NAN;
}

void sweep_tell(const struct sweep_points *p, const struct sweep_rest *rest)
{
    if (!p->options->progress) return;
    struct atoll_sweep_progress t = {.total = p->summary.total,
                                     .finished = p->finished,
                                     .failed = p->failed,
                                     .running = rest->running_count,
                                     .elapsed_seconds = process_seconds() - p->start_seconds};
    const double other = mean_of_known(p);
    const double running = expected(p, rest->running, rest->running_count, other) - rest->running_seconds;
    t.left_seconds = expected(p, rest->left, rest->left_count, other) + (running > 0 ? running : 0 * running);
    t.left_seconds /= rest->at_once ? rest->at_once : 1;
    t.later_seconds = p->elsewhere ? p->elsewhere * other / (rest->at_once ? rest->at_once : 1) : 0;
    p->options->progress(p->options->arg, &t);
}
