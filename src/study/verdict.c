/* verdict: what a paper says held against what the runs say.
 *
 * A size holds when ours is within a third of the published effect; when not, the direction of a change may.
 * A bound holds when ours is on its side, a range when both ends are within a third of its width. An order
 * holds when every relation does: '<' any, '<<' by a tenth or more, '<=' up to 2 % above, '~=' within 5 %. A
 * metric follows another when Pearson's r over the workloads is 0.7 or more. A number of workloads is a size or
 * a bound like others. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "study/study.h"

#define MUCH    1.10
#define AT_MOST 1.02
#define ABOUT   1.05
/* ASSUMPTION: papers that say "correlates strongly" give no number; 0.7 is the usual one. */
#define STRONG 0.7

const char *const study_verdict_names[VERDICT_UNKNOWN + 1] = {[VERDICT_SIZE] = "size within a third",
                                                              [VERDICT_ORDER] = "order holds",
                                                              [VERDICT_DIFFERS] = "differs",
                                                              [VERDICT_UNKNOWN] = "not available"};
static const char *const signs[] = {"<", "<<", "<=", "~="};

bool study_only_direction(const struct study_claim *c, enum study_verdict v)
{
    return v == VERDICT_ORDER && (c->form == STUDY_SIZE || c->form == STUDY_RANGE);
}

const char *study_verdict_words(const struct study_claim *c, enum study_verdict v)
{
    if (study_only_direction(c, v))
        return c->form == STUDY_RANGE ? "overlaps, size differs" : "order holds, size differs";
    if (v == VERDICT_ORDER && c->form == STUDY_BOUND) return "bound holds";
    if (v == VERDICT_ORDER && c->form == STUDY_FOLLOWS) return "correlates";
    return study_verdict_names[v];
}

const char *study_claimed(struct study *s, const struct study_claim *c)
{
    if (c->form == STUDY_FOLLOWS)
        return arena_printf(&s->arena, "%s follows %s", s->metrics[c->metric].title,
                            s->metrics[c->follows].title);
    if (c->form != STUDY_ORDER && c->pick != STUDY_PICK_COUNT) return c->published_text;
    const char *text = c->terms[0].name;
    for (uint32_t i = 1; i < c->term_count; i++)
        text = arena_printf(&s->arena, "%s %s %s", text, signs[c->relations[i - 1]], c->terms[i].name);
    if (c->pick == STUDY_PICK_COUNT)
        return arena_printf(&s->arena, "%s, on %s workloads", text, c->published_text);
    return c->pick == STUDY_PICK_EACH ? arena_printf(&s->arena, "%s, on each", text) : text;
}

/* ---- our numbers in words ---- */

static void say(struct study_judgement *j, const char *format, ...)
{
    const size_t len = strlen(j->text);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(j->text + len, sizeof j->text - len, format, list);
    va_end(list);
}

/* As it is published: in per cent of change, as a factor, in the metric's unit. */
static void say_value(struct study_judgement *j, const struct study_data *d, const struct study_claim *c,
                      double v)
{
    const struct study_metric *m = &d->study->metrics[c->metric];
    if (c->pick == STUDY_PICK_COUNT)
        say(j, "%.3g workloads", v);
    else if (c->as_percent)
        say(j, "%+.1f %%", 100 * (v - 1));
    else
        say(j, "%.3g%s%s", v, *m->unit ? " " : "", m->unit);
}

static void say_estimate(struct study_judgement *j, const struct study_data *d, const struct study_claim *c,
                         const struct study_estimate *e)
{
    say_value(j, d, c, e->value);
    if (e->seeds < 2) return;
    say(j, " (");
    say_value(j, d, c, e->low);
    say(j, " to ");
    say_value(j, d, c, e->high);
    say(j, " over %u seeds)", e->seeds);
}

/* ---- values ---- */

static struct study_estimate estimate(const struct study_data *d, const struct study_term *t,
                                      enum study_pick pick)
{
    if (t->on.count == 1) return study_cell(d, t->metric, t->of, t->over, t->on.items[0]);
    return study_over(d, t->metric, t->of, t->over, t->on, pick);
}

/* Only whole sets of workloads are judged. */
static bool complete(const struct study_estimate *e)
{
    return isfinite(e->value) && e->want && e->workloads == e->want;
}

/* ---- sizes ---- */

/* The workload that pulls our value furthest away from the published one. */
static uint32_t furthest(const struct study_data *d, const struct study_term *t, bool lowest)
{
    uint32_t worst = STUDY_NONE;
    double worst_value = 0;
    for (uint32_t i = 0; i < t->on.count; i++) {
        const uint32_t w = t->on.items[i];
        const double v = study_cell(d, t->metric, t->of, t->over, w).value;
        if (!isfinite(v) || (worst != STUDY_NONE && (lowest ? v >= worst_value : v <= worst_value))) continue;
        worst = w;
        worst_value = v;
    }
    return worst;
}

static double neutral_of(const struct study_data *d, const struct study_claim *c)
{
    const enum study_relative how = d->study->metrics[c->metric].relative;
    const bool is_ratio = how == STUDY_SPEEDUP || how == STUDY_RATIO;
    return is_ratio && c->pick != STUDY_PICK_COUNT ? 1 : 0;
}

/* Ours is in j->ours. */
static void hold_against_published(const struct study_data *d, const struct study_claim *c,
                                   struct study_judgement *j)
{
    const double neutral = neutral_of(d, c);
    const double ours = j->ours.value - neutral, theirs = c->published - neutral;
    const double slack =
        neutral > 0 ? 0.01 : 0; /* a published effect of nothing is met within one per cent */
    const bool differs = d->study->metrics[c->metric].relative != STUDY_ABSOLUTE;
    /* a share of 10 % has none, nor has a number of workloads */
    const bool has_direction = differs && c->form == STUDY_SIZE && c->pick != STUDY_PICK_COUNT;
    const bool within = fabs(ours - theirs) <= fabs(theirs) / 3 + (theirs == 0 ? slack : 0);
    if (c->form == STUDY_BOUND && (c->at_most ? ours <= theirs : ours >= theirs))
        j->verdict = VERDICT_ORDER;
    else if (within)
        j->verdict = VERDICT_SIZE;
    else
        j->verdict = has_direction && ours * theirs > 0 ? VERDICT_ORDER : VERDICT_DIFFERS;
    say_estimate(j, d, c, &j->ours);
}

static void judge_size(const struct study_data *d, const struct study_claim *c, struct study_judgement *j)
{
    j->ours = estimate(d, &c->terms[0], c->pick);
    if (!complete(&j->ours)) return;
    hold_against_published(d, c, j);
    if (j->verdict == VERDICT_DIFFERS || study_only_direction(c, j->verdict))
        j->worst = furthest(d, &c->terms[0], j->ours.value < c->published);
}

static void judge_range(const struct study_data *d, const struct study_claim *c, struct study_judgement *j)
{
    const struct study_term *t = &c->terms[0];
    const struct study_estimate low = estimate(d, t, STUDY_PICK_MIN), high = estimate(d, t, STUDY_PICK_MAX);
    if (!complete(&low) || !complete(&high)) return;
    const double slack = (c->published_high - c->published) / 3;
    if (fabs(low.value - c->published) <= slack && fabs(high.value - c->published_high) <= slack)
        j->verdict = VERDICT_SIZE;
    else
        j->verdict =
            low.value <= c->published_high && high.value >= c->published ? VERDICT_ORDER : VERDICT_DIFFERS;
    say_value(j, d, c, low.value);
    say(j, " to ");
    say_value(j, d, c, high.value);
    const bool below = c->published - low.value > high.value - c->published_high;
    if (j->verdict != VERDICT_SIZE) j->worst = furthest(d, t, below);
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
        const double r = study_cell(d, a->metric, a->of, a->over, w).value /
                         study_cell(d, b->metric, b->of, b->over, w).value;
        if (!isfinite(r) || (worst != STUDY_NONE && r <= most)) continue;
        worst = w;
        most = r;
    }
    return worst;
}

static void judge_order(const struct study_data *d, const struct study_claim *c, struct study_judgement *j)
{
    enum study_verdict verdict = VERDICT_ORDER;
    double before = NAN;
    for (uint32_t i = 0; i < c->term_count; i++) {
        const struct study_estimate e = estimate(d, &c->terms[i], c->pick);
        if (!complete(&e)) return;
        if (i) {
            const bool holds = relation_holds(c->relations[i - 1], before, e.value);
            if (!holds && verdict == VERDICT_ORDER) j->worst = most_against(d, c, i - 1);
            if (!holds) verdict = VERDICT_DIFFERS;
            say(j, " %s%s ", holds ? "" : "not ", signs[c->relations[i - 1]]);
        }
        say(j, "%s %.3f", c->terms[i].name, e.value);
        before = e.value;
    }
    j->verdict = verdict;
}

/* On one workload: 1 holds, 0 does not, -1 unknown. */
static int holds_on(const struct study_data *d, const struct study_claim *c, uint32_t workload)
{
    double before = NAN;
    int holds = 1;
    for (uint32_t i = 0; i < c->term_count; i++) {
        const struct study_term *t = &c->terms[i];
        const double v = study_cell(d, t->metric, t->of, t->over, workload).value;
        if (!isfinite(v)) return -1;
        if (i && !relation_holds(c->relations[i - 1], before, v)) holds = 0;
        before = v;
    }
    return holds;
}

static void judge_order_on_each(const struct study_data *d, const struct study_claim *c,
                                struct study_judgement *j)
{
    const struct study_set on = c->terms[0].on;
    uint32_t held = 0;
    char against[200] = "";
    if (!on.count) return;
    for (uint32_t k = 0; k < on.count; k++) {
        const int holds = holds_on(d, c, on.items[k]);
        if (holds < 0) return;
        held += (uint32_t)holds;
        if (holds) continue;
        const size_t len = strlen(against);
        (void)snprintf(against + len, sizeof against - len, "%s%s", len ? ", " : "; not on ",
                       d->study->workloads[on.items[k]].name);
        if (j->worst == STUDY_NONE) j->worst = on.items[k];
    }
    j->verdict = held == on.count ? VERDICT_ORDER : VERDICT_DIFFERS;
    say(j, "on %u of %u%s", held, on.count, against);
}

/* On how many workloads an order holds. */
static void judge_count(const struct study_data *d, const struct study_claim *c, struct study_judgement *j)
{
    const struct study_set on = c->terms[0].on;
    uint32_t held = 0;
    if (!on.count) return;
    for (uint32_t k = 0; k < on.count; k++) {
        const int holds = holds_on(d, c, on.items[k]);
        if (holds < 0) return;
        held += (uint32_t)holds;
        if (!holds && j->worst == STUDY_NONE) j->worst = on.items[k];
    }
    j->ours = (struct study_estimate){
        .value = held, .low = held, .high = held, .seeds = 1, .workloads = on.count, .want = on.count};
    hold_against_published(d, c, j);
    say(j, " of %u", on.count);
    if (j->verdict != VERDICT_DIFFERS || held > c->published) j->worst = STUDY_NONE;
}

/* ---- one metric follows another ---- */

struct series {
    double mean, deviation;
};

static struct series describe(const double *values, uint32_t count)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) sum += values[i];
    for (uint32_t i = 0; i < count; i++) squares += (values[i] - sum / count) * (values[i] - sum / count);
    return (struct series){sum / count, sqrt(squares / count)};
}

static void judge_follows(const struct study_data *d, const struct study_claim *c, struct study_judgement *j)
{
    const struct study_term *t = &c->terms[0];
    const uint32_t count = t->on.count;
    double *x = ARENA_ARRAY(&d->study->arena, double, count + 1),
           *y = ARENA_ARRAY(&d->study->arena, double, count + 1), product = 0, most = -1;
    if (count < 3) return; /* two points always lie on a line */
    for (uint32_t i = 0; i < count; i++) {
        x[i] = study_cell(d, c->follows, t->of, t->over, t->on.items[i]).value;
        y[i] = study_cell(d, c->metric, t->of, t->over, t->on.items[i]).value;
        if (!isfinite(x[i]) || !isfinite(y[i])) return;
    }
    const struct series sx = describe(x, count), sy = describe(y, count);
    if (!(sx.deviation > 0 && sy.deviation > 0)) return;
    for (uint32_t i = 0; i < count; i++) {
        const double zx = (x[i] - sx.mean) / sx.deviation, zy = (y[i] - sy.mean) / sy.deviation;
        product += zx * zy;
        if (fabs(zx - zy) <= most) continue;
        most = fabs(zx - zy);
        j->worst = t->on.items[i];
    }
    j->verdict = product / count >= STRONG ? VERDICT_ORDER : VERDICT_DIFFERS;
    say(j, "r = %.2f over %u workloads", product / count, count);
}

/* Why there is no verdict: the first term that has no value. */
static void say_what_lacks(const struct study_data *d, const struct study_claim *c, struct study_judgement *j)
{
    *j->text = 0;
    for (uint32_t i = 0; i < c->term_count; i++) {
        const struct study_estimate e = estimate(d, &c->terms[i], c->pick);
        if (complete(&e)) continue;
        if (!c->terms[i].on.count)
            say(j, "none of its workloads is in this scale");
        else if (e.want && e.workloads < e.want)
            say(j, "%u of %u workloads have a value", e.workloads, e.want);
        else
            say(j, "no value: runs are missing, or %s cannot be computed", d->study->metrics[c->metric].name);
        return;
    }
    if (c->form == STUDY_FOLLOWS) say(j, "nothing varies, or there are fewer than three workloads");
}

struct study_judgement study_judge(const struct study_data *d, const struct study_claim *claim)
{
    struct study_judgement j = {
        .verdict = VERDICT_UNKNOWN, .worst = STUDY_NONE, .ours = {.value = NAN, .low = NAN, .high = NAN}};
    switch (claim->form) {
    case STUDY_SIZE:
    case STUDY_BOUND:
        if (claim->pick == STUDY_PICK_COUNT)
            judge_count(d, claim, &j);
        else
            judge_size(d, claim, &j);
        break;
    case STUDY_RANGE: judge_range(d, claim, &j); break;
    case STUDY_FOLLOWS: judge_follows(d, claim, &j); break;
    case STUDY_ORDER:
        if (claim->pick == STUDY_PICK_EACH)
            judge_order_on_each(d, claim, &j);
        else
            judge_order(d, claim, &j);
    }
    if (j.verdict == VERDICT_UNKNOWN) say_what_lacks(d, claim, &j);
    return j;
}
