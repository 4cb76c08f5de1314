/* html_chart: what a figure shows, from the results: values, means, what is published beside them. */
#include <math.h>
#include <string.h>

#include "report/html.h"

static const struct study_side own_baseline = {STUDY_NONE, 0};

struct building {
    struct chart *c;
    const struct study_data *d;
    const struct study_figure *f;
    struct study_set *spans;        /* by cluster */
    struct study_set *curves;       /* by bar, instead; NULL: not by groups or workloads */
    const struct study_side *sides; /* by bar; by cluster when x is an axis: .combo is replaced */
};

/* ---- bars: machines, one of them, or values of an axis on one ---- */

static bool machine_has_results(const struct study_data *d, uint32_t machine)
{
    if (d->study->machines[machine].best_of) return true;
    for (uint32_t i = 0; i < d->study->point_count; i++)
        if (d->study->points[i].machine == machine && d->results[i].status == STUDY_DONE) return true;
    return false;
}

static struct study_side *make_bars(struct chart *c, const struct study_data *d, const struct study_figure *f)
{
    const struct study *s = d->study;
    const bool by_axis = f->series_axis != STUDY_NONE;
    const uint32_t most = by_axis ? s->axes[f->series_axis].count : s->machine_count;
    struct study_side *sides = ARENA_ARRAY(c->arena, struct study_side, most + 1);
    c->bars = ARENA_ARRAY(c->arena, const char *, most + 1);
    for (uint32_t i = 0; i < most; i++) {
        struct study_side side = {by_axis ? f->machine : i, s->base_combo};
        if (by_axis) side.combo = study_combo_with(s, s->base_combo, f->series_axis, i);
        if (side.combo == STUDY_NONE || !machine_has_results(d, side.machine)) continue;
        if (f->one_machine && side.machine != f->machine) continue;
        c->bars[c->bar_count] = by_axis ? s->axes[f->series_axis].values[i].name : s->machines[i].name;
        sides[c->bar_count++] = side;
    }
    return sides;
}

/* One curve for each group or workload on one machine. */
static struct study_side *make_curves(struct building *b)
{
    struct chart *c = b->c;
    const struct study *s = b->d->study;
    const bool groups = b->f->curves == STUDY_BY_GROUP;
    const uint32_t most = groups ? s->group_count : s->workload_count;
    struct study_side *sides = ARENA_ARRAY(c->arena, struct study_side, most + 1);
    c->bars = ARENA_ARRAY(c->arena, const char *, most + 1);
    b->curves = ARENA_ARRAY(c->arena, struct study_set, most + 1);
    for (uint32_t i = 0; i < most; i++) {
        const struct study_set set =
            groups ? (struct study_set){s->every + s->groups[i].first, s->groups[i].count}
                   : (struct study_set){s->every + i, 1};
        if (!set.count) continue;
        c->bars[c->bar_count] = groups ? s->groups[i].name : s->workloads[i].name;
        b->curves[c->bar_count] = set;
        sides[c->bar_count++] = (struct study_side){b->f->machine, s->base_combo};
    }
    return sides;
}

/* ---- clusters: workloads with their means, or values of an axis ---- */

static void push_cluster(struct building *b, const char *name, struct study_set span, bool mean)
{
    struct chart *c = b->c;
    c->clusters[c->cluster_count] = name;
    c->is_mean[c->cluster_count] = mean;
    b->spans[c->cluster_count++] = span;
}

static const char *mean_name(enum study_mean mean)
{
    return mean == STUDY_HARMONIC ? "harmonic mean" : mean == STUDY_GEOMETRIC ? "geometric mean" : "mean";
}

static void make_clusters(struct building *b)
{
    struct chart *c = b->c;
    const struct study *s = b->d->study;
    const struct study_set all = study_all(s);
    const uint32_t axis = b->f->x_axis;
    const uint32_t most =
        s->workload_count + s->group_count + 1 + (axis == STUDY_NONE ? 0 : s->axes[axis].count);
    c->clusters = ARENA_ARRAY(c->arena, const char *, most);
    c->is_mean = ARENA_ARRAY(c->arena, bool, most);
    b->spans = ARENA_ARRAY(c->arena, struct study_set, most);
    if (axis != STUDY_NONE) {
        for (uint32_t v = 0; v < s->axes[axis].count; v++)
            push_cluster(b, s->axes[axis].values[v].name, all, false);
        return;
    }
    for (uint32_t g = 0; g < s->group_count; g++) {
        const uint32_t first = s->groups[g].first;
        const struct study_set group = {s->every + first, s->groups[g].count};
        for (uint32_t w = first; w < first + group.count; w++)
            push_cluster(b, s->workloads[w].name, (struct study_set){s->every + w, 1}, false);
        if (s->group_count > 1 && group.count)
            push_cluster(b, arena_printf(c->arena, "%s %s", s->groups[g].name, "mean"), group, true);
    }
    if (s->workload_count > 1) push_cluster(b, mean_name(s->metrics[b->f->metrics[0]].mean), all, true);
}

/* ---- values ---- */

static struct study_side side_of(const struct building *b, uint32_t cluster, uint32_t bar)
{
    struct study_side side = b->sides[bar];
    if (b->f->x_axis != STUDY_NONE)
        side.combo = study_combo_with(b->d->study, side.combo, b->f->x_axis, cluster);
    return side;
}

static struct study_estimate value_of(const struct building *b, uint32_t metric, struct study_side side,
                                      struct study_set span)
{
    if (side.combo == STUDY_NONE) return (struct study_estimate){.value = NAN, .low = NAN, .high = NAN};
    if (span.count == 1) return study_cell(b->d, metric, side, own_baseline, span.items[0]);
    return study_over(b->d, metric, side, own_baseline, span, STUDY_PICK_MEAN);
}

static bool same_side(struct study_side a, struct study_side b)
{
    return a.machine == b.machine && a.combo == b.combo;
}

static bool same_set(struct study_set a, struct study_set b)
{
    return a.count == b.count && (!a.count || memcmp(a.items, b.items, a.count * sizeof *a.items) == 0);
}

/* A claim about a mean is about exactly these workloads; a bound of the least or the largest is one of each.
 */
static bool speaks_of(const struct study_claim *c, struct study_set span)
{
    const struct study_set on = c->terms->on;
    if (c->pick == STUDY_PICK_MEAN) return same_set(on, span);
    if (c->form != STUDY_BOUND || span.count != 1) return false;
    for (uint32_t i = 0; i < on.count; i++)
        if (on.items[i] == span.items[0]) return true;
    return false;
}

/* What a claim says about this value; NAN: none does. */
static double published_for(const struct building *b, uint32_t metric, struct study_side side,
                            struct study_set span)
{
    const struct study *s = b->d->study;
    for (uint32_t i = 0; i < s->claim_count; i++) {
        const struct study_claim *c = &s->claims[i];
        const struct study_term *t = c->terms;
        if ((c->form != STUDY_SIZE && c->form != STUDY_BOUND) || c->metric != metric ||
            !same_side(t->of, side) || !speaks_of(c, span))
            continue;
        if (t->over.machine == STUDY_NONE || same_side(t->over, study_baseline(s, side))) return c->published;
    }
    return NAN;
}

static void fill_cells(const struct building *b)
{
    struct chart *c = b->c;
    c->cells = ARENA_ARRAY(c->arena, struct study_estimate,
                           (size_t)c->cluster_count * c->bar_count * c->part_count + 1);
    c->published = ARENA_ARRAY(c->arena, double, (size_t)c->cluster_count * c->bar_count + 1);
    for (uint32_t k = 0; k < c->cluster_count; k++)
        for (uint32_t i = 0; i < c->bar_count; i++) {
            const struct study_side side = side_of(b, k, i);
            const struct study_set span = b->curves ? b->curves[i] : b->spans[k];
            for (uint32_t p = 0; p < c->part_count; p++)
                *chart_cell(c, k, i, p) = value_of(b, b->f->metrics[p], side, span);
            c->published[k * c->bar_count + i] =
                c->part_count == 1 ? published_for(b, b->f->metrics[0], side, span) : NAN;
        }
}

static void fill_samples(const struct building *b)
{
    struct chart *c = b->c;
    const struct study *s = b->d->study;
    c->sample_count = s->workload_count;
    const bool scatter = c->plot == STUDY_SCATTER;
    c->samples = ARENA_ARRAY(c->arena, double, (size_t)c->bar_count * c->sample_count + 1);
    c->samples_x = ARENA_ARRAY(c->arena, double, (size_t)c->bar_count * c->sample_count + 1);
    c->sample_names = ARENA_ARRAY(c->arena, const char *, c->sample_count + 1);
    for (uint32_t w = 0; w < c->sample_count; w++) {
        c->sample_names[w] = s->workloads[w].name;
        for (uint32_t i = 0; i < c->bar_count; i++) {
            const size_t at = (size_t)i * c->sample_count + w;
            c->samples[at] =
                study_cell(b->d, b->f->metrics[scatter ? 1 : 0], b->sides[i], own_baseline, w).value;
            if (scatter)
                c->samples_x[at] = study_cell(b->d, b->f->metrics[0], b->sides[i], own_baseline, w).value;
        }
    }
}

void chart_build(struct chart *c, const struct study_data *d, const struct study_figure *f, struct arena *a)
{
    const struct study_metric *m = &d->study->metrics[f->metrics[f->plot == STUDY_SCATTER ? 1 : 0]];
    *c = (struct chart){.arena = a,
                        .title = f->title,
                        .where = f->where,
                        .about = f->about,
                        .unit = m->unit,
                        .y_title = f->plot == STUDY_STACKED ? "" : m->title,
                        .plot = f->plot,
                        .relative = m->relative == STUDY_SPEEDUP || m->relative == STUDY_RATIO,
                        .no_baseline = f->plot == STUDY_STACKED || f->curves,
                        .part_count = f->metric_count};
    struct building b = {.c = c, .d = d, .f = f};
    b.sides = f->curves ? make_curves(&b) : make_bars(c, d, f);
    make_clusters(&b);
    c->parts = ARENA_ARRAY(a, const char *, f->metric_count);
    for (uint32_t p = 0; p < f->metric_count; p++) c->parts[p] = d->study->metrics[f->metrics[p]].title;
    fill_cells(&b);
    fill_samples(&b);
}
