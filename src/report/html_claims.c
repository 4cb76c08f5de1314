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

/* A machine that ran: of the best or mean of several, the first. */
static struct study_side that_ran(const struct study *s, struct study_side side)
{
    while (s->machines[side.machine].best_of) side.machine = s->machines[side.machine].best_of[0];
    return side;
}

/* Two sides that the claim sets against each other, on the workload that disagrees most. False: nothing to
 * say. */
static bool explain(const struct study_data *d, const struct study_claim *c, uint32_t workload, FILE *out)
{
    const struct study_side one = that_ran(d->study, c->terms[0].of);
    struct study_side other = c->term_count > 1 ? c->terms[c->term_count - 1].of : c->terms[0].over;
    if (other.machine == STUDY_NONE) other = study_baseline(d->study, one);
    other = that_ran(d->study, other);
    const bool two = one.machine != other.machine || one.combo != other.combo;
    const json_t *x = result_of(d, other, workload), *y = result_of(d, one, workload);
    double at_x, at_y;
    if (!x || !y) return false;
    const struct counter *counter = two ? most_different(&d->study->arena, x, y, &at_x, &at_y) : NULL;
    (void)fputs("<summary>Furthest from it: ", out);
    html_text(d->study->workloads[workload].name, out);
    if (counter) {
        (void)fputs("; ", out);
        html_text(counter->title, out);
        (void)fprintf(out, " %.3f, on the other side %.3f", at_y, at_x);
    }
    (void)fputs("</summary>", out);
    write_bound(d, one, y, out);
    if (two) {
        (void)fputs("; ", out);
        write_bound(d, other, x, out);
    }
    (void)fputs(".", out);
    write_command(d, one, workload, out);
    if (two) write_command(d, other, workload, out);
    return true;
}

/* A second row, as wide as the table: known reasons are told, others can be opened. */
static void write_why(const struct study_data *d, const struct study_claim *c,
                      const struct study_judgement *j, FILE *out)
{
    if (j->verdict != VERDICT_DIFFERS && !study_only_direction(c, j->verdict)) return;
    if (!c->why && j->worst == STUDY_NONE) return;
    (void)fputs("<tr class=\"why\"><td></td><td colspan=\"4\">", out);
    if (c->why) {
        (void)fputs("<p>", out);
        html_text(c->why, out);
        (void)fputs("</p>", out);
        if (c->why_command) {
            (void)fputs("<code>", out);
            html_text(c->why_command, out);
            (void)fputs("</code>", out);
        }
    }
    if (j->worst != STUDY_NONE) {
        (void)fputs("<details>", out);
        if (!explain(d, c, j->worst, out)) (void)fputs("<summary>no run shows why</summary>", out);
        (void)fputs("</details>", out);
    }
    (void)fputs("</td></tr>\n", out);
}

/* ---- the table ---- */

static const char *class_of(const struct study_claim *c, enum study_verdict v)
{
    static const char *const classes[] = {"v-size", "v-order", "v-differs", "v-none"};
    return study_only_direction(c, v) ? "v-part" : classes[v];
}

static void write_cell(const char *label, const char *text, FILE *out)
{
    (void)fprintf(out, "</td><td data-label=\"%s\">", label);
    html_text(text, out);
}

static void write_claim(const struct study_data *d, const struct study_claim *c, FILE *out)
{
    const struct study_judgement j = study_judge(d, c);
    (void)fputs("<tr><th scope=\"row\"><code>", out);
    html_text(c->id, out);
    (void)fputs("</code></th><td>", out);
    html_text(c->says ? c->says : d->study->metrics[c->metric].title, out);
    if (c->where) {
        (void)fputs(" <span class=\"soft\">", out);
        html_text(c->where, out);
        (void)fputs("</span>", out);
    }
    write_cell("published", study_claimed(d->study, c), out);
    write_cell("ours", *j.text ? j.text : "–", out);
    (void)fprintf(out, "</td><td><span class=\"badge %s\">%s</span></td></tr>\n", class_of(c, j.verdict),
                  study_verdict_words(c, j.verdict));
    write_why(d, c, &j, out);
}

/* ---- the picture: published and ours on one line each ---- */

enum { ROW = 28, NAMES = 300, WIDTH = 1080, NUMBERS = 150 };

static double effect(double ratio) { return 100 * (ratio - 1); }

static bool drawn(const struct study_claim *c) { return c->form == STUDY_SIZE && c->as_percent; }

static double x_at(const struct svg_axis *a, double v)
{
    return NAMES + (WIDTH - NAMES - NUMBERS - 20) * (v - a->low) / (a->high - a->low);
}

static void draw_row(const struct study_data *d, const struct study_claim *c, const struct svg_axis *axis,
                     double y, FILE *out)
{
    const struct study_judgement j = study_judge(d, c);
    const double theirs = effect(c->published), published = x_at(axis, theirs);
    char label[HTML_CLIP_BYTES], number[48];
    const char *text = arena_printf(&d->study->arena, "%s  %s", c->id, c->says ? c->says : c->terms[0].name);
    svg_text(out, NAMES - 12, y + 4, "text-anchor=\"end\"", html_clip(label, text, 42));
    const double from = x_at(axis, theirs - fabs(theirs) / 3), to = x_at(axis, theirs + fabs(theirs) / 3);
    (void)fprintf(out,
                  "<rect class=\"third\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\" rx=\"3\"/>\n",
                  from, y - 8, to - from);
    if (isfinite(j.ours.value)) {
        const double ours = x_at(axis, effect(j.ours.value));
        svg_line(out, "link", published, y, ours, y);
        if (j.ours.seeds > 1)
            svg_line(out, "ci", x_at(axis, effect(j.ours.low)), y, x_at(axis, effect(j.ours.high)), y);
        (void)fprintf(out, "<circle class=\"m mark %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"><title>",
                      class_of(c, j.verdict), ours, y);
        html_text(c->id, out);
        (void)fputs(", ours: ", out);
        html_text(j.text, out);
        (void)fprintf(out, "; %s</title></circle>\n", study_verdict_words(c, j.verdict));
        (void)snprintf(number, sizeof number, "%+.1f %%", effect(j.ours.value));
        svg_text(out, WIDTH - 6, y + 4, "text-anchor=\"end\" font-weight=\"600\"", number);
    }
    (void)fprintf(out, "<path class=\"pub m\" d=\"M%.1f %.1fl5.5 5.5l-5.5 5.5l-5.5 -5.5z\"><title>",
                  published, y - 5.5);
    html_text(c->id, out);
    (void)fputs(", published: ", out);
    html_text(c->published_text, out);
    (void)fputs("</title></path>\n", out);
    (void)snprintf(number, sizeof number, "%+.1f %%", theirs);
    svg_text(out, WIDTH - 76, y + 4, "text-anchor=\"end\" class=\"soft\"", number);
}

static uint32_t range_of(const struct study_data *d, struct svg_axis *axis)
{
    double low = 0, high = 0;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < d->study->claim_count; i++) {
        const struct study_claim *c = &d->study->claims[i];
        if (!drawn(c)) continue;
        const struct study_judgement j = study_judge(d, c);
        const double theirs = effect(c->published);
        const double values[] = {theirs * 2 / 3, theirs * 4 / 3, effect(j.ours.low), effect(j.ours.high)};
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
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
    const double bottom = 34 + rows * ROW;
    html_figure_begin(
        out, "Published and ours", NULL,
        "Change over what each claim compares with, in per cent. Shaded: within a third of what is "
        "published. The table below has every claim.",
        "fit wide");
    svg_begin(out, WIDTH, bottom + 28, "Published and our sizes of effects");
    for (uint32_t i = 0; i < svg_ticks(&axis); i++) {
        char number[48];
        const double v = svg_tick(&axis, i), x = x_at(&axis, v);
        svg_line(out, v == 0 ? "axis" : "grid", x, 22, x, bottom);
        (void)snprintf(number, sizeof number, v == 0 ? "%.4g %%" : "%+.4g %%", v);
        svg_text(out, x, bottom + 18, "class=\"soft\" text-anchor=\"middle\"", number);
    }
    svg_text(out, WIDTH - 76, 14, "text-anchor=\"end\" class=\"soft\"", "published");
    svg_text(out, WIDTH - 6, 14, "text-anchor=\"end\" class=\"soft\"", "ours");
    uint32_t row = 0;
    for (uint32_t i = 0; i < d->study->claim_count; i++)
        if (drawn(&d->study->claims[i])) draw_row(d, &d->study->claims[i], &axis, 38 + (row++) * ROW, out);
    (void)fputs(
        "</svg>\n<ul class=\"legend\"><li><i class=\"d\"></i>published</li>"
        "<li><i class=\"mark v-size\"></i>ours, within a third</li>"
        "<li><i class=\"mark v-part\"></i>ours, same direction</li>"
        "<li><i class=\"mark v-differs\"></i>ours, differs</li></ul></div>\n<output class=\"readout\" "
        "aria-live=\"polite\">Focus the picture "
        "and use the arrow keys to read the values.</output></figure>\n",
        out);
}

void html_claims(const struct study_data *d, FILE *out)
{
    if (!d->study->claim_count) return;
    html_heading(out, d->study->name, "claims", "Claims");
    draw_claims(d, out);
    (void)fputs("<div class=\"scroll\"><table class=\"claims\"><thead><tr><th>id</th><th>claim</th>"
                "<th>published</th><th>ours</th><th>verdict</th></tr></thead>\n<tbody>\n",
                out);
    for (uint32_t i = 0; i < d->study->claim_count; i++) write_claim(d, &d->study->claims[i], out);
    (void)fputs("</tbody></table></div>\n", out);
}
