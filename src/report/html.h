/* html: shared by the files that write the page. */
#ifndef ATOLL_REPORT_HTML_H
#define ATOLL_REPORT_HTML_H

#include "report/study_report.h"

enum { HTML_COLOURS = 8 };

/* What a figure shows: clusters along x, bars in a cluster, parts of a bar. */
struct chart {
    struct arena *arena;
    const char *title, *where, *about, *unit, *y_title;
    enum study_plot plot;
    bool relative;    /* 1 means the baseline */
    bool no_baseline; /* the first bar is like the others */
    const char **clusters, **bars, **parts;
    bool *is_mean; /* clusters that are means of those before */
    uint32_t cluster_count, bar_count, part_count;
    struct study_estimate *cells; /* [cluster][bar][part] */
    double *published;            /* [cluster][bar]; NAN: nothing published */
    /* distribution, sorted: values of the workloads behind cell [0][bar][0] */
    double *samples;   /* [bar][sample] */
    double *samples_x; /* scatter: the same of the metric along x */
    const char **sample_names;
    uint32_t sample_count;
};
static inline struct study_estimate *chart_cell(const struct chart *c, uint32_t cluster, uint32_t bar,
                                                uint32_t part)
{
    return &c->cells[(cluster * c->bar_count + bar) * c->part_count + part];
}

/* html_chart.c: figure f of a study. */
void chart_build(struct chart *c, const struct study_data *d, const struct study_figure *f, struct arena *a);
/* html_plot.c */
void plot_draw(const struct chart *c, FILE *out);
void plot_table(const struct chart *c, FILE *out);
/* html_claims.c */
void html_claims(const struct study_data *d, FILE *out);
/* html_machine.c: tree with utilisation, traffic. */
void html_machines(const struct study_data *d, FILE *out);

/* html_mixes.c: applications that share a machine: a table per mix, the partition over epochs. */
bool html_has_mixes(const struct study_data *d);
void html_mixes(const struct study_data *d, FILE *out);

/* ---- svg.c: small things ---- */

void html_text(const char *text, FILE *out);   /* escaped */
void html_anchor(const char *name, FILE *out); /* a name as an identifier of the page */
/* A heading that links of the page lead to: "#STUDY-PART". */
void html_heading(FILE *out, const char *study, const char *part, const char *title);
/* The first so many characters, with … when that is not all. */
enum { HTML_CLIP_BYTES = 200 };
const char *html_clip(char buf[HTML_CLIP_BYTES], const char *text, uint32_t chars);
/* 1.23, 45.6, 1,234: three digits that matter. */
const char *html_number(char buf[48], double value);
/* "1.05 (0.98 to 1.12)" */
const char *html_estimate(char buf[96], const struct study_estimate *e);
struct svg_axis {
    double low, high, step;
};
/* A range with round steps that holds both values. */
struct svg_axis svg_axis_of(double low, double high, uint32_t steps);
/* Its steps: how many, and the value of one. */
uint32_t svg_ticks(const struct svg_axis *a);
double svg_tick(const struct svg_axis *a, uint32_t i);
void svg_begin(FILE *out, double width, double height, const char *title);
void svg_text(FILE *out, double x, double y, const char *attributes, const char *text);
void svg_line(FILE *out, const char *class_, double x1, double y1, double x2, double y2);
/* The figure's head and foot: caption, plot, table behind it. */
/* class: "fit": the picture shrinks with the page, else it scrolls; "half": two may stand side by side. */
void html_figure_begin(FILE *out, const char *title, const char *where, const char *about,
                       const char *class_);
void html_figure_table(FILE *out, const char *hint); /* between plot and table */
void html_figure_end(FILE *out);

#endif
