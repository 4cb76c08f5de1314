/* study_report: studies with their results as pages and tables.
 *
 *   study_data ─► study_text.c (verdicts, CSV), study_markdown.c (tables), compare.c (tables of `atoll compare`)
 *              └► html.c (the page) ─► html_figure.c (plots) html_machine.c (tree, heat map) ─► svg.c */
#ifndef ATOLL_REPORT_STUDY_REPORT_H
#define ATOLL_REPORT_STUDY_REPORT_H

#include <stdio.h>

#include "study/study.h"

struct study_report {
    struct study_data **data;    /* one per study */
    const char *const *commands; /* that made each */
    uint32_t count;
    const char *database, *command; /* NULL: none */
};

/* One page that needs nothing else: no network, no other file. */
void study_report_html(const struct study_report *r, FILE *out);
/* study,machine,workload,axes...,seed,metric,value */
void study_report_csv(const struct study_report *r, FILE *out);
/* Tables: the claims with their verdicts, then every metric by workload and machine. */
void study_report_markdown(const struct study_report *r, FILE *out);
/* Verdicts of the claims, then means of the figures. */
void study_report_text(const struct study_report *r, FILE *out);

/* ---- compare.c ---- */
void compare_text(const struct study_data *d, FILE *out);
json_t *compare_json(const struct study_data *d);
/* Messages of the points that failed; nothing when none did. */
void compare_failures(const struct study_data *d, FILE *out);

#endif
