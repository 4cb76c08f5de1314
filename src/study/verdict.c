/* verdict: what a paper says held against what the runs say.
 *
 * A size holds when ours is within a third of the published effect; when not, its direction may. An order
 * holds when every relation does: '<' any, '<<' by a tenth or more, '<=' up to 2 % above, '~=' within 5 %. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/study.h"

#define MUCH    1.10
#define AT_MOST 1.02
#define ABOUT   1.05

const char *const study_verdict_names[VERDICT_UNKNOWN + 1] = {[VERDICT_SIZE] = "size within a third",
                                                              [VERDICT_ORDER] = "order holds",
                                                              [VERDICT_DIFFERS] = "differs",
                                                              [VERDICT_UNKNOWN] = "not available"};

static struct study_estimate estimate(const struct study_data *d, const struct study_claim *c,
                                      const struct study_term *t)
{
    if (t->on.count == 1) return study_cell(d, c->metric, t->of, t->over, t->on.items[0]);
    return study_over(d, c->metric, t->of, t->over, t->on, c->pick);
}

/* Only whole sets of workloads are judged. */
static bool complete(const struct study_estimate *e)
{
    return isfinite(e->value) && e->want && e->workloads == e->want;
}

/* ---- sizes ---- */

/* The workload that pulls our value furthest away from the published one. */
static uint32_t furthest(const struct study_data *d, const struct study_claim *c, const struct study_term *t,
                         bool lowest)
{
    uint32_t worst = STUDY_NONE;
    double worst_value = 0;
    for (uint32_t i = 0; i < t->on.count; i++) {
        const uint32_t w = t->on.items[i];
        const double v = study_cell(d, c->metric, t->of, t->over, w).value;
        if (!isfinite(v) || (worst != STUDY_NONE && (lowest ? v >= worst_value : v <= worst_value))) continue;
        worst = w;
        worst_value = v;
    }
    return worst;
}

static void judge_size(const struct study_data *d, const struct study_claim *c, struct study_judgement *j)
{
    const struct study_metric *m = &d->study->metrics[c->metric];
    const double neutral = m->relative == STUDY_ABSOLUTE ? 0 : 1;
    j->ours = estimate(d, c, &c->terms[0]);
    if (!complete(&j->ours)) return;
    const double ours = j->ours.value - neutral, theirs = c->published - neutral;
    const double slack =
        neutral > 0 ? 0.01 : 0; /* a published effect of nothing is met within one per cent */
    if (fabs(ours - theirs) <= fabs(theirs) / 3 + (theirs == 0 ? slack : 0))
        j->verdict = VERDICT_SIZE;
    else
        j->verdict = ours * theirs > 0 ? VERDICT_ORDER : VERDICT_DIFFERS;
    const double scale = c->as_percent ? 100 : 1;
    const double shown = c->as_percent ? neutral : 0;
    const char *unit = c->as_percent ? " %" : m->relative ? " x" : m->unit;
    int len = snprintf(j->text, sizeof j->text, c->as_percent ? "%+.1f%s" : "%.3g%s",
                       scale * (j->ours.value - shown), unit);
    if (j->ours.seeds > 1)
        (void)snprintf(j->text + len, sizeof j->text - (size_t)len, " (%.1f to %.1f over %u seeds)",
                       scale * (j->ours.low - shown), scale * (j->ours.high - shown), j->ours.seeds);
    if (j->verdict != VERDICT_SIZE) j->worst = furthest(d, c, &c->terms[0], ours < theirs);
}

/* ---- orders ---- */

static bool relation_holds(enum study_relation relation, double a, double b)
{
    switch (relation) {
    case STUDY_LESS: return a < b;
    case STUDY_MUCH_LESS: return a * MUCH <= b;
    case STUDY_AT_MOST: return a <= b * AT_MOST;
    case STUDY_ABOUT: return a <= b * ABOUT && b <= a * ABOUT;
    }
    return false;
}

/* The workload on which a is largest beside b. */
static uint32_t most_against(const struct study_data *d, const struct study_claim *c, uint32_t i)
{
    const struct study_term *a = &c->terms[i], *b = &c->terms[i + 1];
    uint32_t worst = STUDY_NONE;
    double most = 0;
    for (uint32_t k = 0; k < a->on.count; k++) {
        const uint32_t w = a->on.items[k];
        const double r = study_cell(d, c->metric, a->of, a->over, w).value /
                         study_cell(d, c->metric, b->of, b->over, w).value;
        if (!isfinite(r) || (worst != STUDY_NONE && r <= most)) continue;
        worst = w;
        most = r;
    }
    return worst;
}

static void judge_order(const struct study_data *d, const struct study_claim *c, struct study_judgement *j)
{
    static const char *const signs[] = {"<", "<<", "<=", "~="};
    enum study_verdict verdict = VERDICT_ORDER;
    size_t len = 0;
    double before = NAN;
    for (uint32_t i = 0; i < c->term_count; i++) {
        const struct study_estimate e = estimate(d, c, &c->terms[i]);
        if (!complete(&e)) return;
        if (i) {
            const bool holds = relation_holds(c->relations[i - 1], before, e.value);
            if (!holds && verdict == VERDICT_ORDER) j->worst = most_against(d, c, i - 1);
            if (!holds) verdict = VERDICT_DIFFERS;
            len += (size_t)snprintf(j->text + len, sizeof j->text - len, " %s%s ", holds ? "" : "not ",
                                    signs[c->relations[i - 1]]);
        }
        if (len < sizeof j->text)
            len +=
                (size_t)snprintf(j->text + len, sizeof j->text - len, "%s %.3f", c->terms[i].name, e.value);
        if (len >= sizeof j->text) len = sizeof j->text - 1;
        before = e.value;
    }
    j->verdict = verdict;
}

struct study_judgement study_judge(const struct study_data *d, const struct study_claim *claim)
{
    struct study_judgement j = {.verdict = VERDICT_UNKNOWN, .worst = STUDY_NONE};
    if (claim->relations)
        judge_order(d, claim, &j);
    else
        judge_size(d, claim, &j);
    if (j.verdict == VERDICT_UNKNOWN) (void)strcpy(j.text, "");
    return j;
}
