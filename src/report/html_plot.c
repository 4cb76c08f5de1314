/* html_plot: a chart as a picture and as a table: grouped bars, curves, stacked bars, distributions, one
 * metric against another, sorted curves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"

enum { LEFT = 56, RIGHT = 16, TOP = 28, PLOT_HEIGHT = 250, LABEL_CHARS = 22, WIDE = 1080, HALF = 560 };

struct frame {
    FILE *out;
    const struct chart *c;
    struct svg_axis y;
    double width, bottom; /* of the plot area's lower edge */
};

static double y_at(const struct frame *f, double value)
{
    const double part = (value - f->y.low) / (f->y.high - f->y.low);
    return f->bottom - PLOT_HEIGHT * (part < 0 ? 0 : part > 1 ? 1 : part);
}

/* The first of several machines is the baseline, and grey; parts of a stack have no baseline. */
static uint32_t colour_of(const struct chart *c, uint32_t i)
{
    return (c->no_baseline || c->bar_count == 1 ? i + 1 : i) % HTML_COLOURS;
}

/* ---- ranges ---- */

static void widen(double *low, double *high, double v)
{
    if (!isfinite(v)) return;
    if (!(v >= *low)) *low = v;
    if (!(v <= *high)) *high = v;
}

static double stack_top(const struct chart *c, uint32_t cluster, uint32_t bar)
{
    double sum = 0;
    for (uint32_t p = 0; p < c->part_count; p++) {
        const double v = chart_cell(c, cluster, bar, p)->value;
        if (isfinite(v)) sum += v;
    }
    return sum;
}

static bool by_samples(const struct chart *c)
{
    return c->plot == STUDY_DISTRIBUTION || c->plot == STUDY_SCATTER || c->plot == STUDY_SORTED;
}

/* Round steps around values that are relative to 1, or not; bars begin at 0. */
static struct svg_axis axis_around(double low, double high, bool relative, bool from_zero)
{
    if (!isfinite(low)) low = 0, high = 1;
    if (relative) widen(&low, &high, 1);
    if (from_zero && low > 0) low = 0;
    if (!from_zero) {
        const double pad = (high - low) * 0.06;
        low = low >= 0 && low - pad < 0 ? 0 : low - pad;
        high += pad;
    }
    return svg_axis_of(low, high, 5);
}

static struct svg_axis axis_of_samples(const struct chart *c, const double *samples)
{
    double low = NAN, high = NAN;
    for (uint32_t i = 0; i < c->bar_count * c->sample_count; i++) widen(&low, &high, samples[i]);
    return axis_around(low, high, c->relative, false);
}

static struct svg_axis y_axis(const struct chart *c)
{
    double low = NAN, high = NAN;
    bool positive = true; /* no interval reaches below zero where no value does */
    if (by_samples(c)) return axis_of_samples(c, c->samples);
    for (uint32_t k = 0; k < c->cluster_count; k++)
        for (uint32_t i = 0; i < c->bar_count; i++) {
            const struct study_estimate *e = chart_cell(c, k, i, 0);
            if (c->plot == STUDY_STACKED) {
                widen(&low, &high, stack_top(c, k, i));
                continue;
            }
            positive &= !(e->value < 0);
            widen(&low, &high, e->low);
            widen(&low, &high, e->high);
            widen(&low, &high, c->published[k * c->bar_count + i]);
        }
    if (positive && low < 0) low = 0;
    return axis_around(low, high, c->relative, c->plot == STUDY_BARS || c->plot == STUDY_STACKED);
}

static void draw_y_axis(const struct frame *f)
{
    char number[48];
    for (uint32_t i = 0; i < svg_ticks(&f->y); i++) {
        const double v = svg_tick(&f->y, i), y = y_at(f, v);
        svg_line(f->out, "grid", LEFT, y, f->width - RIGHT, y);
        (void)snprintf(number, sizeof number, "%.6g", v);
        svg_text(f->out, LEFT - 8, y + 4, "class=\"soft\" text-anchor=\"end\"", number);
    }
    if (f->c->relative && f->y.low < 1 && f->y.high > 1)
        svg_line(f->out, "one", LEFT, y_at(f, 1), f->width - RIGHT, y_at(f, 1));
}

/* ---- marks ---- */

/* "LBM, NUBA: 1.23 (1.20 to 1.26) x; published 1.30" */
static void mark_title(const struct chart *c, uint32_t k, uint32_t i, uint32_t p, FILE *out)
{
    char buf[96], number[48];
    (void)fputs("<title>", out);
    html_text(c->clusters[k], out);
    (void)fputs(", ", out);
    html_text(c->bars[i], out);
    if (c->part_count > 1) {
        (void)fputs(", ", out);
        html_text(c->parts[p], out);
    }
    (void)fprintf(out, ": %s ", html_estimate(buf, chart_cell(c, k, i, p)));
    html_text(c->unit, out);
    const double published = c->published[k * c->bar_count + i];
    if (isfinite(published)) (void)fprintf(out, "; published %s", html_number(number, published));
    (void)fputs("</title>", out);
}

static void draw_interval(const struct frame *f, const struct study_estimate *e, double x)
{
    if (e->seeds < 2 || !(e->high > e->low)) return;
    const double top = y_at(f, e->high), low = y_at(f, e->low);
    (void)fprintf(f->out, "<path class=\"ci\" d=\"M%.1f %.1fH%.1fM%.1f %.1fV%.1fM%.1f %.1fH%.1f\"/>\n", x - 3,
                  top, x + 3, x, top, low, x - 3, low, x + 3);
}

static void draw_published(const struct frame *f, double value, double x, const char *what)
{
    char number[48];
    if (!isfinite(value)) return;
    const double y = y_at(f, value);
    (void)fprintf(f->out, "<path class=\"pub m\" d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\"><title>", x, y - 5);
    html_text(what, f->out);
    (void)fprintf(f->out, ": published %s</title></path>\n", html_number(number, value));
}

static void draw_label(const struct frame *f, double x, const char *text, bool slanted, bool bold)
{
    char attributes[160], clipped[HTML_CLIP_BYTES];
    if (slanted)
        (void)snprintf(attributes, sizeof attributes,
                       "text-anchor=\"end\" transform=\"rotate(-45 %.1f %.1f)\"%s", x, f->bottom + 16,
                       bold ? " font-weight=\"700\"" : "");
    else
        (void)snprintf(attributes, sizeof attributes, "text-anchor=\"middle\"%s",
                       bold ? " font-weight=\"700\"" : "");
    svg_text(f->out, slanted ? x + 4 : x, f->bottom + (slanted ? 16 : 20), attributes,
             html_clip(clipped, text, LABEL_CHARS));
}

/* ---- bars, stacked or not ---- */

static void draw_bar(const struct frame *f, uint32_t k, uint32_t i, double x, double width)
{
    const struct chart *c = f->c;
    double below = 0;
    for (uint32_t p = 0; p < c->part_count; p++) {
        const struct study_estimate *e = chart_cell(c, k, i, p);
        if (!isfinite(e->value)) continue;
        const double top = y_at(f, below + (e->value > 0 ? e->value : 0));
        const double low = y_at(f, below + (e->value < 0 ? e->value : 0));
        const uint32_t colour = colour_of(c, c->plot == STUDY_STACKED ? p : i);
        (void)fprintf(f->out,
                      "<rect class=\"m f%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"1\">",
                      colour, x, top, width, low - top > 0.6 ? low - top : 0.6);
        mark_title(c, k, i, p, f->out);
        (void)fputs("</rect>\n", f->out);
        if (c->part_count == 1) draw_interval(f, e, x + width / 2);
        below += e->value;
    }
    draw_published(f, c->published[k * c->bar_count + i], x + width / 2, c->clusters[k]);
}

static void draw_bars(const struct frame *f, double cluster_width, double bar_width, bool slanted)
{
    const struct chart *c = f->c;
    for (uint32_t k = 0; k < c->cluster_count; k++) {
        if (c->is_mean[k])
            (void)fprintf(f->out, "<rect class=\"band\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
                          LEFT + k * cluster_width, TOP, cluster_width, PLOT_HEIGHT);
    }
    draw_y_axis(f);
    for (uint32_t k = 0; k < c->cluster_count; k++) {
        const double from = LEFT + k * cluster_width, gap = (cluster_width - c->bar_count * bar_width) / 2;
        for (uint32_t i = 0; i < c->bar_count; i++)
            draw_bar(f, k, i, from + gap + i * bar_width, bar_width - 1.5);
        draw_label(f, from + cluster_width / 2, c->clusters[k], slanted, c->is_mean[k]);
    }
}

/* ---- curves ---- */

static void draw_curves(const struct frame *f, double cluster_width)
{
    const struct chart *c = f->c;
    draw_y_axis(f);
    for (uint32_t i = 0; i < c->bar_count; i++) {
        bool drawing = false;
        (void)fprintf(f->out, "<path class=\"curve l%u\" d=\"", colour_of(c, i));
        for (uint32_t k = 0; k < c->cluster_count; k++) {
            const double v = chart_cell(c, k, i, 0)->value;
            if (isfinite(v))
                (void)fprintf(f->out, "%c%.1f %.1f", drawing ? 'L' : 'M', LEFT + (k + 0.5) * cluster_width,
                              y_at(f, v));
            drawing = isfinite(v);
        }
        (void)fputs("\"/>\n", f->out);
    }
    for (uint32_t i = 0; i < c->bar_count; i++)
        for (uint32_t k = 0; k < c->cluster_count; k++) {
            const struct study_estimate *e = chart_cell(c, k, i, 0);
            const double x = LEFT + (k + 0.5) * cluster_width;
            if (isfinite(e->value)) {
                draw_interval(f, e, x);
                (void)fprintf(f->out, "<circle class=\"m f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\">",
                              colour_of(c, i), x, y_at(f, e->value));
                mark_title(c, k, i, 0, f->out);
                (void)fputs("</circle>\n", f->out);
            }
            draw_published(f, c->published[k * c->bar_count + i], x + 9, c->clusters[k]);
        }
    for (uint32_t k = 0; k < c->cluster_count; k++)
        draw_label(f, LEFT + (k + 0.5) * cluster_width, c->clusters[k], false, false);
}

/* ---- distributions ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, uint32_t count, double at)
{
    const double place = at * (count - 1);
    const uint32_t below = (uint32_t)place;
    return below + 1 < count ? sorted[below] + (place - below) * (sorted[below + 1] - sorted[below])
                             : sorted[below];
}

static void draw_box(const struct frame *f, uint32_t i, double x)
{
    const struct chart *c = f->c;
    const double *samples = &c->samples[(size_t)i * c->sample_count];
    double *sorted = ARENA_ARRAY(c->arena, double, c->sample_count + 1);
    char number[48];
    uint32_t count = 0;
    for (uint32_t w = 0; w < c->sample_count; w++)
        if (isfinite(samples[w])) sorted[count++] = samples[w];
    if (!count) return;
    qsort(sorted, count, sizeof *sorted, by_value);
    const double q1 = y_at(f, quantile(sorted, count, .25)), q3 = y_at(f, quantile(sorted, count, .75)),
                 median = y_at(f, quantile(sorted, count, .5));
    (void)fprintf(f->out,
                  "<rect class=\"panel\" x=\"%.1f\" y=\"%.1f\" width=\"48\" height=\"%.1f\" rx=\"3\"/>\n",
                  x - 24, q3, q1 - q3);
    for (uint32_t w = 0; w < c->sample_count; w++) {
        if (!isfinite(samples[w])) continue;
        const double jitter =
            (double)((w * 7) % 9) * 4 - 16; /* dots beside each other, always the same way */
        (void)fprintf(f->out, "<circle class=\"m dot f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>",
                      colour_of(c, i), x + jitter, y_at(f, samples[w]));
        html_text(c->sample_names[w], f->out);
        (void)fputs(", ", f->out);
        html_text(c->bars[i], f->out);
        (void)fprintf(f->out, ": %s</title></circle>\n", html_number(number, samples[w]));
    }
    (void)fprintf(f->out, "<line class=\"ci\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", x - 24,
                  x + 24, median, median);
}

static void draw_distribution(const struct frame *f, double width)
{
    draw_y_axis(f);
    for (uint32_t i = 0; i < f->c->bar_count; i++) {
        draw_box(f, i, LEFT + (i + 0.5) * width);
        draw_label(f, LEFT + (i + 0.5) * width, f->c->bars[i], false, false);
    }
}

/* ---- sorted curves: the workloads of each design in ascending order of their values ---- */

struct sample {
    double value;
    uint32_t workload;
};

static int by_sample(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return x->workload < y->workload ? -1 : x->workload > y->workload;
}

static void draw_sorted_curve(const struct frame *f, uint32_t i, struct sample *sorted, double slot)
{
    const struct chart *c = f->c;
    char number[48];
    uint32_t count = 0;
    for (uint32_t w = 0; w < c->sample_count; w++) {
        const double value = c->samples[(size_t)i * c->sample_count + w];
        if (isfinite(value)) sorted[count++] = (struct sample){value, w};
    }
    if (!count) return;
    qsort(sorted, count, sizeof *sorted, by_sample);
    (void)fprintf(f->out, "<path class=\"curve l%u\" d=\"", colour_of(c, i));
    for (uint32_t k = 0; k < count; k++)
        (void)fprintf(f->out, "%c%.1f %.1f", k ? 'L' : 'M', LEFT + (k + 0.5) * slot,
                      y_at(f, sorted[k].value));
    (void)fputs("\"/>\n", f->out);
    for (uint32_t k = 0; k < count; k++) {
        (void)fprintf(f->out, "<circle class=\"m f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>",
                      colour_of(c, i), LEFT + (k + 0.5) * slot, y_at(f, sorted[k].value));
        html_text(c->sample_names[sorted[k].workload], f->out);
        (void)fputs(", ", f->out);
        html_text(c->bars[i], f->out);
        (void)fprintf(f->out, ": %s, place %u of %u</title></circle>\n", html_number(number, sorted[k].value),
                      k + 1, count);
    }
}

static void draw_sorted(const struct frame *f, double slot)
{
    const struct chart *c = f->c;
    struct sample *sorted = ARENA_ARRAY(c->arena, struct sample, c->sample_count + 1);
    const uint32_t step = c->sample_count > 20 ? 10 : 1;
    char number[16];
    draw_y_axis(f);
    for (uint32_t i = 0; i < c->bar_count; i++) draw_sorted_curve(f, i, sorted, slot);
    for (uint32_t k = step - 1; k < c->sample_count; k += step) {
        (void)snprintf(number, sizeof number, "%u", k + 1);
        svg_text(f->out, LEFT + (k + 0.5) * slot, f->bottom + 18, "class=\"soft\" text-anchor=\"middle\"",
                 number);
    }
    svg_text(f->out, LEFT + slot * c->sample_count / 2, f->bottom + 36,
             "class=\"soft\" text-anchor=\"middle\"", "workloads of each design, in the order of its values");
}

/* ---- one metric against another ---- */

static void draw_scatter(const struct frame *f)
{
    const struct chart *c = f->c;
    const struct svg_axis x = axis_of_samples(c, c->samples_x);
    const double room = f->width - LEFT - RIGHT;
    char number[48], other[48];
    draw_y_axis(f);
    for (uint32_t i = 0; i < svg_ticks(&x); i++) {
        const double v = svg_tick(&x, i), at = LEFT + room * (v - x.low) / (x.high - x.low);
        svg_line(f->out, c->relative && v == 1 ? "one" : "grid", at, TOP, at, f->bottom);
        (void)snprintf(number, sizeof number, "%.6g", v);
        svg_text(f->out, at, f->bottom + 18, "class=\"soft\" text-anchor=\"middle\"", number);
    }
    for (uint32_t k = 0; k < c->bar_count * c->sample_count; k++) {
        const double vx = c->samples_x[k], vy = c->samples[k];
        if (!isfinite(vx) || !isfinite(vy)) continue;
        (void)fprintf(f->out, "<circle class=\"m dot f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>",
                      colour_of(c, k / c->sample_count), LEFT + room * (vx - x.low) / (x.high - x.low),
                      y_at(f, vy));
        html_text(c->sample_names[k % c->sample_count], f->out);
        (void)fputs(", ", f->out);
        html_text(c->bars[k / c->sample_count], f->out);
        (void)fputs(": ", f->out);
        html_text(c->parts[0], f->out);
        (void)fprintf(f->out, " %s, ", html_number(number, vx));
        html_text(c->parts[1], f->out);
        (void)fprintf(f->out, " %s</title></circle>\n", html_number(other, vy));
    }
    svg_text(f->out, LEFT + room / 2, f->bottom + 36, "class=\"soft\" text-anchor=\"middle\"", c->parts[0]);
}

/* ---- the picture ---- */

static void draw_legend(const struct chart *c, FILE *out)
{
    const bool parts = c->plot == STUDY_STACKED;
    const uint32_t count = parts ? c->part_count : c->bar_count;
    bool published = false;
    for (uint32_t i = 0; !by_samples(c) && i < c->cluster_count * c->bar_count; i++)
        published |= isfinite(c->published[i]);
    (void)fputs("<ul class=\"legend\">", out);
    for (uint32_t i = 0; i < count; i++) {
        (void)fprintf(out, "<li><i class=\"f%u\"></i>", colour_of(c, i));
        html_text(parts ? c->parts[i] : c->bars[i], out);
        (void)fputs("</li>", out);
    }
    if (published) (void)fputs("<li><i class=\"d\"></i>published</li>", out);
    (void)fputs("</ul>\n", out);
    if (parts && c->bar_count > 1) {
        (void)fputs("<p class=\"soft\">Bars of a group, from left: ", out);
        for (uint32_t i = 0; i < c->bar_count; i++) {
            html_text(c->bars[i], out);
            (void)fputs(i + 1 < c->bar_count ? ", " : ".</p>\n", out);
        }
    }
}

/* How the clusters lie. */
struct layout {
    double slot, bar; /* widths of a cluster and of a bar */
    size_t longest;   /* label */
    bool slanted;     /* labels */
};

static struct layout lay_out(const struct chart *c, uint32_t across, bool bars)
{
    const double room = (bars ? WIDE : HALF) - LEFT - RIGHT;
    struct layout l = {.slot = across ? room / across : room};
    if (bars && c->bar_count) { /* as wide as the page, but bars keep a width that can be seen */
        const double gap = l.slot / 5 > 16 ? 16 : l.slot / 5 < 5 ? 5 : l.slot / 5;
        l.bar = (l.slot - gap) / c->bar_count;
        l.bar = l.bar > 40 ? 40 : l.bar < 5 ? 5 : l.bar;
        if (l.slot < l.bar * c->bar_count + gap) l.slot = l.bar * c->bar_count + gap;
        if (l.slot > 200) l.slot = 200;
        if (l.slot < l.bar * c->bar_count) l.slot = l.bar * c->bar_count + 16;
    }
    for (uint32_t k = 0; bars && k < across; k++)
        if (strlen(c->clusters[k]) > l.longest) l.longest = strlen(c->clusters[k]); /* bytes: at least */
    if (l.longest > LABEL_CHARS) l.longest = LABEL_CHARS;
    l.slanted = bars && (double)l.longest * 7.2 > l.slot - 6;
    return l;
}

/* "speed-up (x)" above the axis. */
static void draw_y_title(const struct chart *c, FILE *out)
{
    const char *name = c->plot == STUDY_SCATTER ? c->parts[1] : c->y_title;
    const char *text = !*c->unit ? name : !*name ? c->unit : arena_printf(c->arena, "%s (%s)", name, c->unit);
    svg_text(out, 8, 14, "class=\"soft\"", text);
}

void plot_draw(const struct chart *c, FILE *out)
{
    const uint32_t across = c->plot == STUDY_DISTRIBUTION ? c->bar_count
                            : c->plot == STUDY_SCATTER    ? 1
                            : c->plot == STUDY_SORTED     ? c->sample_count
                                                          : c->cluster_count;
    const bool bars = c->plot == STUDY_BARS || c->plot == STUDY_STACKED;
    const struct layout l = lay_out(c, across, bars);
    const struct frame f = {.out = out,
                            .c = c,
                            .y = y_axis(c),
                            .width = LEFT + RIGHT + l.slot * across,
                            .bottom = TOP + PLOT_HEIGHT};
    html_figure_begin(out, c->title, c->where, c->about, bars ? "" : "half fit");
    svg_begin(out, f.width,
              f.bottom + (l.slanted                                             ? 30 + (double)l.longest * 4.8
                          : c->plot == STUDY_SCATTER || c->plot == STUDY_SORTED ? 46
                                                                                : 34),
              c->title);
    if (bars)
        draw_bars(&f, l.slot, l.bar, l.slanted);
    else if (c->plot == STUDY_LINES)
        draw_curves(&f, l.slot);
    else if (c->plot == STUDY_SCATTER)
        draw_scatter(&f);
    else if (c->plot == STUDY_SORTED)
        draw_sorted(&f, l.slot);
    else
        draw_distribution(&f, l.slot);
    svg_line(out, "axis", LEFT, f.bottom, f.width - RIGHT, f.bottom);
    draw_y_title(c, out);
    (void)fputs("</svg>\n", out);
    draw_legend(c, out);
}

/* ---- the table behind it ---- */

static void write_row(const struct chart *c, uint32_t k, FILE *out)
{
    char buf[96], number[48];
    (void)fprintf(out, "<tr%s><th scope=\"row\">", c->is_mean[k] ? " class=\"mean\"" : "");
    html_text(c->clusters[k], out);
    (void)fputs("</th>", out);
    for (uint32_t i = 0; i < c->bar_count; i++) {
        for (uint32_t p = 0; p < c->part_count; p++) {
            const struct study_estimate *e = chart_cell(c, k, i, p);
            (void)fprintf(out, "<td class=\"n\">%s", html_estimate(buf, e));
            if (isfinite(e->value) && e->workloads < e->want)
                (void)fprintf(out, " <span class=\"soft\">(%u of %u)</span>", e->workloads, e->want);
            const double published = c->published[k * c->bar_count + i];
            if (isfinite(published))
                (void)fprintf(out, "<br><span class=\"soft\">published %s</span>",
                              html_number(number, published));
            (void)fputs("</td>", out);
        }
    }
    (void)fputs("</tr>\n", out);
}

void plot_table(const struct chart *c, FILE *out)
{
    html_figure_table(out,
                      "Focus the picture and use the arrow keys, or point at a mark, to read its value.");
    (void)fputs("<table><thead><tr><th></th>", out);
    for (uint32_t i = 0; i < c->bar_count; i++)
        for (uint32_t p = 0; p < c->part_count; p++) {
            (void)fputs("<th class=\"n\" scope=\"col\">", out);
            html_text(c->bars[i], out);
            if (c->part_count > 1) {
                (void)fputs("<br>", out);
                html_text(c->parts[p], out);
            }
            (void)fputs("</th>", out);
        }
    (void)fputs("</tr></thead>\n<tbody>\n", out);
    for (uint32_t k = 0; k < c->cluster_count; k++) write_row(c, k, out);
    (void)fputs("</tbody></table>\n", out);
    html_figure_end(out);
}
