/* html_claims: what the paper says beside what we found, with a verdict, and where it differs what shows why.
 */
#include <math.h>
#include <string.h>

#include "report/html.h"

/* ---- why it differs ---- */

/* Counters that explain most differences, in the order in which they are named. */
static const struct counter {
    const char *title, *expression;
} counters[] = {
    {"LLC read hit rate", "stats.llc.read_hit_rate"},
    {"requests from the slice's own partition", "stats.llc.local_share"},
    {"L1 hit rate", "totals.hit_rates.l1"},
    {"use of the reply network", "totals.bandwidth.reply_network.utilisation"},
    {"use of the request network", "totals.bandwidth.request_network.utilisation"},
    {"use of DRAM", "totals.bandwidth.dram.utilisation"},
    {"use of the busiest channel", "totals.bandwidth.dram.utilisation_of_busiest"},
    {"use of the LLC's data ports", "totals.bandwidth.llc_port.utilisation"},
};

static const json_t *result_of(const struct study_data *d, struct study_side side, uint32_t workload)
{
    const uint32_t p = study_point_at(d->study, side.machine, side.combo, workload, 0);
    return p == STUDY_NONE || d->results[p].status != STUDY_DONE ? NULL : d->results[p].root;
}

/* The counter that differs most between two runs. */
static const struct counter *most_different(struct arena *a, const json_t *x, const json_t *y, double *at_x,
                                            double *at_y)
{
    const struct counter *found = NULL;
    double most = 0;
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        const struct expr *e = expr_parse(a, counters[i].expression, (struct diag_place){0});
        const double vx = expr_value(e, x), vy = expr_value(e, y), apart = fabs(vx - vy);
        if (!isfinite(apart) || apart <= most) continue;
        most = apart;
        found = &counters[i];
        *at_x = vx;
        *at_y = vy;
    }
    return found;
}

static void write_bound(const struct study_data *d, struct study_side side, const json_t *r, FILE *out)
{
    const json_t *why = json_object_get(json_object_get(r, "totals"), "bound_by_why");
    html_text(d->study->machines[side.machine].name, out);
    (void)fputs(" is bound by ", out);
    html_text(json_string_value(json_object_get(json_object_get(r, "totals"), "bound_by")), out);
    if (json_string_length(why)) {
        (void)fputs(" (", out);
        html_text(json_string_value(why), out);
        (void)fputs(")", out);
    }
}

static void write_command(const struct study_data *d, struct study_side side, uint32_t workload, FILE *out)
{
    (void)fputs("<code>", out);
    html_text(study_command(d->study, study_point_at(d->study, side.machine, side.combo, workload, 0)), out);
    (void)fputs(" --details</code>", out);
}

/* Two sides that the claim sets against each other, on the workload that disagrees most. */
static void explain(const struct study_data *d, const struct study_claim *c, uint32_t workload, FILE *out)
{
    const struct study_side one = c->terms[0].of;
    struct study_side other = c->term_count > 1 ? c->terms[c->term_count - 1].of : c->terms[0].over;
    if (other.machine == STUDY_NONE) other = study_baseline(d->study, one);
    const json_t *x = result_of(d, other, workload), *y = result_of(d, one, workload);
    double at_x, at_y;
    if (!x || !y) return;
    const struct counter *counter = most_different(&d->study->arena, x, y, &at_x, &at_y);
    (void)fputs("Furthest from it: ", out);
    html_text(d->study->workloads[workload].name, out);
    (void)fputs(". ", out);
    if (counter) {
        html_text(counter->title, out);
        (void)fprintf(out, " %.3f, on the other side %.3f. ", at_y, at_x);
    }
    write_bound(d, one, y, out);
    (void)fputs("; ", out);
    write_bound(d, other, x, out);
    (void)fputs(".", out);
    write_command(d, one, workload, out);
    write_command(d, other, workload, out);
}

static void write_why(const struct study_data *d, const struct study_claim *c,
                      const struct study_judgement *j, FILE *out)
{
    const bool differs = j->verdict == VERDICT_DIFFERS || (j->verdict == VERDICT_ORDER && !c->relations);
    if (!differs) return;
    (void)fputs("<div class=\"why\">", out);
    if (c->why) {
        html_text(c->why, out);
        if (c->why_command) {
            (void)fputs("<code>", out);
            html_text(c->why_command, out);
            (void)fputs("</code>", out);
        }
    } else if (j->worst != STUDY_NONE) {
        explain(d, c, j->worst, out);
    }
    (void)fputs("</div>", out);
}

/* ---- the table ---- */

static void write_badge(const struct study_claim *c, enum study_verdict v, FILE *out)
{
    const bool direction = v == VERDICT_ORDER && !c->relations;
    static const char *const classes[] = {"v-size", "v-order", "v-differs", "v-none"};
    (void)fprintf(out, "<span class=\"badge %s\">%s</span>", direction ? "v-part" : classes[v],
                  direction ? "order holds, size differs" : study_verdict_names[v]);
}

static void write_published(const struct study_claim *c, FILE *out)
{
    static const char *const signs[] = {" < ", " << ", " <= ", " ~= "};
    if (c->published_text) html_text(c->published_text, out);
    for (uint32_t i = 0; c->relations && i < c->term_count; i++) {
        if (i) html_text(signs[c->relations[i - 1]], out);
        html_text(c->terms[i].name, out);
    }
}

static void write_claim(const struct study_data *d, const struct study_claim *c, FILE *out)
{
    const struct study_judgement j = study_judge(d, c);
    (void)fprintf(out, "<tr><th scope=\"row\"><code>%s</code></th><td>", c->id);
    if (c->says) html_text(c->says, out);
    if (!c->says) html_text(d->study->metrics[c->metric].title, out);
    if (c->where) {
        (void)fputs(" <span class=\"soft\">", out);
        html_text(c->where, out);
        (void)fputs("</span>", out);
    }
    write_why(d, c, &j, out);
    (void)fputs("</td><td>", out);
    write_published(c, out);
    (void)fputs("</td><td>", out);
    html_text(*j.text ? j.text : "–", out);
    (void)fputs("</td><td>", out);
    write_badge(c, j.verdict, out);
    (void)fputs("</td></tr>\n", out);
}

/* ---- the picture: published and ours on one line each ---- */

enum { ROW = 26, NAMES = 250, WIDTH = 860 };

static double effect(const struct study_claim *c, double v) { return c->as_percent ? 100 * (v - 1) : v; }

static bool drawn(const struct study_claim *c) { return !c->relations && c->as_percent; }

static double x_at(const struct svg_axis *a, double v)
{
    return NAMES + (WIDTH - NAMES - 40) * (v - a->low) / (a->high - a->low);
}

static void draw_row(const struct study_data *d, const struct study_claim *c, const struct svg_axis *axis,
                     double y, FILE *out)
{
    const struct study_judgement j = study_judge(d, c);
    char label[64], attributes[] = "text-anchor=\"end\"";
    (void)snprintf(label, sizeof label, "%s  %.34s%s", c->id, c->says ? c->says : c->terms[0].name,
                   c->says && strlen(c->says) > 34 ? "…" : "");
    svg_text(out, NAMES - 12, y + 4, attributes, label);
    const double published = x_at(axis, effect(c, c->published));
    if (isfinite(j.ours.value)) {
        const double ours = x_at(axis, effect(c, j.ours.value));
        svg_line(out, "link", published, y, ours, y);
        if (j.ours.seeds > 1)
            svg_line(out, "ci", x_at(axis, effect(c, j.ours.low)), y, x_at(axis, effect(c, j.ours.high)), y);
        (void)fprintf(out, "<circle class=\"m f1\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"><title>", ours, y);
        html_text(c->id, out);
        (void)fputs(", ours: ", out);
        html_text(j.text, out);
        (void)fputs("</title></circle>\n", out);
    }
    (void)fprintf(out, "<path class=\"pub m\" d=\"M%.1f %.1fl5.5 5.5l-5.5 5.5l-5.5 -5.5z\"><title>",
                  published, y - 5.5);
    html_text(c->id, out);
    (void)fputs(", published: ", out);
    html_text(c->published_text, out);
    (void)fputs("</title></path>\n", out);
}

static uint32_t range_of(const struct study_data *d, struct svg_axis *axis)
{
    double low = 0, high = 0;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < d->study->claim_count; i++) {
        const struct study_claim *c = &d->study->claims[i];
        if (!drawn(c)) continue;
        const struct study_judgement j = study_judge(d, c);
        const double values[] = {effect(c, c->published), effect(c, j.ours.low), effect(c, j.ours.high)};
        for (size_t k = 0; k < 3; k++) {
            if (values[k] < low) low = values[k];
            if (values[k] > high) high = values[k];
        }
        rows++;
    }
    *axis = svg_axis_of(low, high, 8);
    return rows;
}

static void draw_claims(const struct study_data *d, FILE *out)
{
    struct svg_axis axis;
    const uint32_t rows = range_of(d, &axis);
    if (!rows) return;
    const double height = 16 + rows * ROW;
    html_figure_begin(
        out, "Published and ours", NULL,
        "Change over what each claim compares with, in per cent. The table above has the numbers.", true);
    svg_begin(out, WIDTH, height + 28, "Published and our sizes of effects");
    for (uint32_t i = 0; i < svg_ticks(&axis); i++) {
        char number[48];
        const double v = svg_tick(&axis, i), x = x_at(&axis, v);
        svg_line(out, v == 0 ? "axis" : "grid", x, 4, x, height);
        (void)snprintf(number, sizeof number, v == 0 ? "%.4g %%" : "%+.4g %%", v);
        svg_text(out, x, height + 18, "class=\"soft\" text-anchor=\"middle\"", number);
    }
    uint32_t row = 0;
    for (uint32_t i = 0; i < d->study->claim_count; i++)
        if (drawn(&d->study->claims[i])) draw_row(d, &d->study->claims[i], &axis, 20 + (row++) * ROW, out);
    (void)fputs("</svg>\n<ul class=\"legend\"><li><i class=\"f1\"></i>ours</li><li><i "
                "class=\"d\"></i>published</li></ul></div>\n<output class=\"readout\" "
                "aria-live=\"polite\">Focus the picture "
                "and use the arrow keys to read the values.</output></figure>\n",
                out);
}

void html_claims(const struct study_data *d, FILE *out)
{
    if (!d->study->claim_count) return;
    (void)fputs(
        "<h3>Claims</h3>\n<div class=\"scroll\"><table class=\"claims\"><thead><tr><th>id</th><th>claim</th>"
        "<th>published</th><th>ours</th><th>verdict</th></tr></thead>\n<tbody>\n",
        out);
    for (uint32_t i = 0; i < d->study->claim_count; i++) write_claim(d, &d->study->claims[i], out);
    (void)fputs("</tbody></table></div>\n", out);
    draw_claims(d, out);
}
