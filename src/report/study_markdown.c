/* study_markdown: studies as tables in Markdown, for pages such as docs/reproduction/: the claims with their
 * verdicts, then every metric by workload and machine. */
#include <math.h>
#include <string.h>

#include "report/study_report.h"

static const struct study_side own_baseline = {STUDY_NONE, 0};

/* The text of a cell: a bar would end it. */
static void write_cell(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '|') (void)fputc('\\', out);
        (void)fputc(*text == '\n' ? ' ' : *text, out);
    }
}

/* ---- claims ---- */

/* The recorded reason of a difference; else the workload that is furthest off. */
static void write_cause(const struct study *s, const struct study_claim *c, const struct study_judgement *j,
                        FILE *out)
{
    if (j->verdict != VERDICT_DIFFERS && !study_only_direction(c, j->verdict)) return;
    if (c->why)
        write_cell(c->why, out);
    else if (j->worst != STUDY_NONE) {
        (void)fputs("furthest off: ", out);
        write_cell(s->workloads[j->worst].name, out);
    }
}

static void write_claims(const struct study_data *d, FILE *out)
{
    struct study *s = d->study;
    if (!s->claim_count) return;
    (void)fputs("| claim | paper | here | verdict | cause |\n|---|---|---|---|---|\n", out);
    for (uint32_t i = 0; i < s->claim_count; i++) {
        const struct study_claim *c = &s->claims[i];
        const struct study_judgement j = study_judge(d, c);
        (void)fprintf(out, "| %s ", c->id);
        write_cell(c->says ? c->says : s->metrics[c->metric].title, out);
        (void)fputs(" | ", out);
        write_cell(study_claimed(s, c), out);
        (void)fputs(" | ", out);
        write_cell(*j.text ? j.text : "-", out);
        (void)fprintf(out, " | %s | ", study_verdict_words(c, j.verdict));
        write_cause(s, c, &j, out);
        (void)fputs(" |\n", out);
    }
    (void)fputc('\n', out);
}

/* ---- values ---- */

static void write_value(const struct study_estimate *e, FILE *out)
{
    if (!isfinite(e->value))
        (void)fputs(" - |", out);
    else if (fabs(e->value) >= 1000)
        (void)fprintf(out, " %.0f |", e->value);
    else
        (void)fprintf(out, " %.3g |", e->value);
}

/* The machines of a table: all but those that do not exist. */
static bool is_shown(const struct study *s, uint32_t machine) { return !s->machines[machine].missing; }

static const char *const means[] = {
    [STUDY_HARMONIC] = "harmonic mean", [STUDY_GEOMETRIC] = "geometric mean", [STUDY_ARITHMETIC] = "mean"};

static void write_head(struct study *s, const struct study_metric *m, uint32_t combo, FILE *out)
{
    const char *name = study_combo_name(s, combo);
    (void)fputs("**", out);
    write_cell(m->title, out);
    if (*m->unit) (void)fprintf(out, " (%s)", m->unit);
    (void)fputs("**", out);
    if (*name) (void)fprintf(out, ", %s", name);
    (void)fputs("\n\n| |", out);
    for (uint32_t k = 0; k < s->machine_count; k++)
        if (is_shown(s, k)) (void)fprintf(out, " %s |", s->machines[k].name);
    (void)fputs("\n|---|", out);
    for (uint32_t k = 0; k < s->machine_count; k++)
        if (is_shown(s, k)) (void)fputs("---|", out);
    (void)fputc('\n', out);
}

static void write_values(const struct study_data *d, uint32_t metric, uint32_t combo, FILE *out)
{
    struct study *s = d->study;
    const struct study_metric *const m = &s->metrics[metric];
    write_head(s, m, combo, out);
    for (uint32_t w = 0; w < s->workload_count; w++) {
        (void)fprintf(out, "| %s |", s->workloads[w].name);
        for (uint32_t k = 0; k < s->machine_count; k++) {
            if (!is_shown(s, k)) continue;
            const struct study_estimate e =
                study_cell(d, metric, (struct study_side){k, combo}, own_baseline, w);
            write_value(&e, out);
        }
        (void)fputc('\n', out);
    }
    (void)fprintf(out, "| **%s** |", means[m->mean]);
    for (uint32_t k = 0; k < s->machine_count; k++) {
        if (!is_shown(s, k)) continue;
        const struct study_estimate e =
            study_over(d, metric, (struct study_side){k, combo}, own_baseline, study_all(s), STUDY_PICK_MEAN);
        write_value(&e, out);
    }
    (void)fputs("\n\n", out);
}

void study_report_markdown(const struct study_report *r, FILE *out)
{
    for (uint32_t i = 0; i < r->count; i++) {
        struct study *s = r->data[i]->study;
        (void)fprintf(out, "%s## %s\n`%s`\n\n", i ? "\n" : "", s->title,
                      r->commands[i] ? r->commands[i] : "");
        write_claims(r->data[i], out);
        for (uint32_t m = 0; m < s->metric_count; m++)
            for (uint32_t c = 0; c < s->combo_count; c++) write_values(r->data[i], m, c, out);
    }
}
