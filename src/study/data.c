/* data: results of the points, metrics over them, means and confidence intervals. */
#include <math.h>
#include <stdlib.h>

#include "study/study.h"

const char *const study_status_names[STUDY_PENDING + 1] = {[STUDY_DONE] = "done",
                                                           [STUDY_FAILED] = "failed",
                                                           [STUDY_CHECK] = "check failed",
                                                           [STUDY_BUG] = "bug",
                                                           [STUDY_CRASHED] = "crashed",
                                                           [STUDY_STOPPED] = "took too long",
                                                           [STUDY_MISSING] = "not available",
                                                           [STUDY_PENDING] = "not run"};

struct study_data *study_data_new(struct study *s)
{
    struct study_data *d = calloc(1, sizeof *d);
    if (!d) diag_mistake("out of host memory");
    d->study = s;
    d->results = ARENA_ARRAY(&s->arena, struct study_result, s->point_count ? s->point_count : 1);
    for (uint32_t i = 0; i < s->point_count; i++)
        d->results[i].status = s->points[i].key[0] ? STUDY_PENDING : STUDY_MISSING;
    return d;
}

void study_data_free(struct study_data *d)
{
    if (!d) return;
    for (uint32_t i = 0; i < d->study->point_count; i++) json_decref(d->results[i].root);
    free(d);
}

struct study_side study_baseline(const struct study *s, struct study_side of)
{
    return (struct study_side){s->base_machine, s->base_same ? of.combo : s->base_combo};
}

/* ---- values ---- */

static double raw_value(const struct study_data *d, const struct study_metric *m, struct study_side side,
                        uint32_t workload, uint32_t seed);

/* Which of several machines is best by the metric that decides; STUDY_NONE while one of them has no value:
 * the best of some is not the best. */
static uint32_t best_machine(const struct study_data *d, struct study_side side, uint32_t workload,
                             uint32_t seed)
{
    const struct study_machine *machine = &d->study->machines[side.machine];
    const struct study_metric *by = &d->study->metrics[machine->best_by];
    const bool least = by->relative == STUDY_SPEEDUP || by->lower_is_better;
    uint32_t best = STUDY_NONE;
    double best_value = NAN;
    for (uint32_t i = 0; i < machine->best_count; i++) {
        const struct study_side one = {machine->best_of[i], side.combo};
        const double v = raw_value(d, by, one, workload, seed);
        if (!isfinite(v)) return STUDY_NONE;
        if (best != STUDY_NONE && (least ? v >= best_value : v <= best_value)) continue;
        best = one.machine;
        best_value = v;
    }
    return best;
}

static const json_t *result_at(const struct study_data *d, struct study_side side, uint32_t workload,
                               uint32_t seed)
{
    const uint32_t point = study_point_at(d->study, side.machine, side.combo, workload, seed);
    return point == STUDY_NONE || d->results[point].status != STUDY_DONE ? NULL : d->results[point].root;
}

static double kernel_time(const json_t *result, size_t kernel, const char *name)
{
    const json_t *one = json_array_get(json_object_get(result, "kernels"), kernel);
    return json_number_value(json_object_get(one, name));
}

/* How many launches are the same kernels in all of these runs: runs that end at a limit may differ in the
 * last. */
static size_t common_kernels(const json_t *const *runs, uint32_t count)
{
    const json_t *first = json_object_get(runs[0], "kernels");
    for (size_t k = 0;; k++) {
        const json_t *want = json_object_get(json_array_get(first, k), "name");
        for (uint32_t i = 0; i < count; i++) {
            const json_t *one = json_array_get(json_object_get(runs[i], "kernels"), k);
            if (!want || !json_equal(json_object_get(one, "name"), want)) return k;
        }
    }
}

/* The time of a run in which every launch has the machine that is fastest for it. What is outside of the
 * launches (gaps, a last one that not all runs have) counts as one more. Launches that overlap cannot be
 * chosen one by one: NAN. */
static double best_per_kernel(const struct study_data *d, const char *time, struct study_side side,
                              uint32_t workload, uint32_t seed)
{
    const struct study_machine *machine = &d->study->machines[side.machine];
    const json_t *runs[STUDY_BEST_MAX] = {NULL};
    double rest[STUDY_BEST_MAX], sum = 0, least_rest = NAN;
    for (uint32_t i = 0; i < machine->best_count; i++) {
        runs[i] = result_at(d, (struct study_side){machine->best_of[i], side.combo}, workload, seed);
        if (!runs[i]) return NAN;
        rest[i] = json_number_value(json_object_get(json_object_get(runs[i], "totals"), time));
    }
    const size_t kernels = common_kernels(runs, machine->best_count);
    for (size_t k = 0; k < kernels; k++) {
        double least = NAN;
        for (uint32_t i = 0; i < machine->best_count; i++) {
            const double v = kernel_time(runs[i], k, time);
            rest[i] -= v;
            if (!(v >= least)) least = v;
        }
        sum += least;
    }
    for (uint32_t i = 0; i < machine->best_count; i++) {
        if (rest[i] < -1e-9 * sum) return NAN;
        if (!(rest[i] >= least_rest)) least_rest = rest[i];
    }
    return sum + (least_rest > 0 ? least_rest : 0);
}

/* NAN while one of them has no value. */
static double mean_of_machines(const struct study_data *d, const struct study_metric *m,
                               struct study_side side, uint32_t workload, uint32_t seed)
{
    const struct study_machine *machine = &d->study->machines[side.machine];
    double sum = 0, weights = 0;
    for (uint32_t i = 0; i < machine->best_count; i++) {
        const struct study_side one = {machine->best_of[i], side.combo};
        sum += machine->weights[i] * raw_value(d, m, one, workload, seed);
        weights += machine->weights[i];
    }
    return sum / weights;
}

static double raw_value(const struct study_data *d, const struct study_metric *m, struct study_side side,
                        uint32_t workload, uint32_t seed)
{
    const struct study_machine *machine = &d->study->machines[side.machine];
    if (machine->per_kernel) { /* only times of kernels add up */
        const char *time = expr_time(m->value);
        return time ? best_per_kernel(d, time, side, workload, seed) : NAN;
    }
    if (machine->weights) return mean_of_machines(d, m, side, workload, seed);
    if (machine->best_of) side.machine = best_machine(d, side, workload, seed);
    if (side.machine == STUDY_NONE) return NAN;
    const json_t *result = result_at(d, side, workload, seed);
    return result ? expr_value(m->value, result) : NAN;
}

static double value_of(const struct study_data *d, const struct study_metric *m, struct study_side of,
                       struct study_side over, uint32_t workload, uint32_t seed)
{
    const double own = raw_value(d, m, of, workload, seed);
    if (m->relative == STUDY_ABSOLUTE) return own;
    if (over.machine == STUDY_NONE) over = study_baseline(d->study, of);
    const double base = raw_value(d, m, over, workload, seed);
    if (m->relative == STUDY_DIFFERENCE) return own - base;
    const double below = m->relative == STUDY_SPEEDUP ? own : base;
    const double above = m->relative == STUDY_SPEEDUP ? base : own;
    return below > 0 ? above / below : NAN;
}

/* ---- over seeds ---- */

/* 97.5 % quantile of Student's t for so many degrees of freedom. */
static double student_t(uint32_t freedom)
{
    static const double table[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                   2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
                                   2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
                                   2.064, 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    return freedom < sizeof table / sizeof *table ? table[freedom] : 1.960;
}

static struct study_estimate over_seeds(const double *values, uint32_t count)
{
    struct study_estimate e = {.value = NAN, .low = NAN, .high = NAN};
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) continue;
        sum += values[i];
        e.seeds++;
    }
    if (!e.seeds) return e;
    e.value = e.low = e.high = sum / e.seeds;
    if (e.seeds < 2) return e;
    for (uint32_t i = 0; i < count; i++)
        if (isfinite(values[i])) squares += (values[i] - e.value) * (values[i] - e.value);
    const double half = student_t(e.seeds - 1) * sqrt(squares / (e.seeds - 1) / e.seeds);
    e.low = e.value - half;
    e.high = e.value + half;
    return e;
}

struct study_estimate study_cell(const struct study_data *d, uint32_t metric, struct study_side of,
                                 struct study_side over, uint32_t workload)
{
    const struct study *s = d->study;
    double values[STUDY_SEEDS_MAX];
    for (uint32_t k = 0; k < s->seed_count; k++)
        values[k] = value_of(d, &s->metrics[metric], of, over, workload, k);
    struct study_estimate e = over_seeds(values, s->seed_count);
    e.workloads = e.seeds > 0;
    e.want = 1;
    return e;
}

/* ---- over workloads ---- */

struct gathering {
    double inverse, logarithm, sum, most, least;
    uint32_t count;
};

static void gather(struct gathering *g, double v)
{
    g->inverse += 1 / v;
    g->logarithm += log(v);
    g->sum += v;
    if (!g->count || v > g->most) g->most = v;
    if (!g->count || v < g->least) g->least = v;
    g->count++;
}

static double gathered(const struct gathering *g, enum study_mean mean, enum study_pick pick)
{
    if (!g->count) return NAN;
    if (pick == STUDY_PICK_MAX) return g->most;
    if (pick == STUDY_PICK_MIN) return g->least;
    /* STUDY_PICK_EACH and STUDY_PICK_COUNT are asked workload by workload */
    switch (mean) {
    case STUDY_HARMONIC: return g->count / g->inverse;
    case STUDY_GEOMETRIC: return exp(g->logarithm / g->count);
    case STUDY_ARITHMETIC: break;
    }
    return g->sum / g->count;
}

struct study_estimate study_over(const struct study_data *d, uint32_t metric, struct study_side of,
                                 struct study_side over, struct study_set on, enum study_pick pick)
{
    const struct study *s = d->study;
    const struct study_metric *m = &s->metrics[metric];
    double means[STUDY_SEEDS_MAX];
    uint32_t counts[STUDY_SEEDS_MAX], workloads = 0;
    for (uint32_t k = 0; k < s->seed_count; k++) {
        struct gathering g = {0};
        for (uint32_t i = 0; i < on.count; i++) {
            const double v = value_of(d, m, of, over, on.items[i], k);
            if (isfinite(v)) gather(&g, v);
        }
        means[k] = gathered(&g, m->mean, pick);
        counts[k] = g.count;
        if (g.count > workloads) workloads = g.count;
    }
    /* a mean of fewer workloads is another mean, not another sample of this one */
    for (uint32_t k = 0; k < s->seed_count; k++)
        if (counts[k] < workloads) means[k] = NAN;
    struct study_estimate e = over_seeds(means, s->seed_count);
    e.workloads = workloads;
    e.want = on.count;
    return e;
}
