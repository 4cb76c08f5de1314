/* study_text: studies as verdicts in words and as CSV. */
#include <math.h>
#include <string.h>

#include "report/study_report.h"

static const struct study_side own_baseline = {STUDY_NONE, 0};

/* ---- CSV ---- */

static void write_field(const char *text, FILE *out)
{
    if (!strpbrk(text, ",\"\n")) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') (void)fputc('"', out);
        (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

static void write_point(const struct study_data *d, uint32_t idx, uint32_t metric, FILE *out)
{
    struct study *s = d->study;
    const struct study_point *p = &s->points[idx];
    const struct study_result *r = &d->results[idx];
    if (s->machines[p->machine].best_of) return;
    const char *const fields[] = {s->name, s->machines[p->machine].name, s->workloads[p->workload].name,
                                  study_combo_name(s, p->combo)};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        write_field(fields[i], out);
        (void)fputc(',', out);
    }
    const double v = r->status == STUDY_DONE ? expr_value(s->metrics[metric].value, r->root) : NAN;
    (void)fprintf(out, "%llu,%s,", (unsigned long long)s->seeds[p->seed], study_status_names[r->status]);
    write_field(s->metrics[metric].text, out);
    if (isfinite(v))
        (void)fprintf(out, ",%.17g\n", v);
    else
        (void)fputs(",\n", out);
}

void study_report_csv(const struct study_report *r, FILE *out)
{
    (void)fputs("study,machine,workload,axes,seed,status,metric,value\n", out);
    for (uint32_t i = 0; i < r->count; i++)
        for (uint32_t p = 0; p < r->data[i]->study->point_count; p++)
            for (uint32_t m = 0; m < r->data[i]->study->metric_count; m++) write_point(r->data[i], p, m, out);
}

/* ---- text ---- */

static void write_claims(const struct study_data *d, FILE *out)
{
    const struct study *s = d->study;
    for (uint32_t i = 0; i < s->claim_count; i++) {
        const struct study_claim *c = &s->claims[i];
        const struct study_judgement j = study_judge(d, c);
        (void)fprintf(out, "  %-6s %-25s %s%s%s\n", c->id, study_verdict_words(c, j.verdict), j.text,
                      c->published_text ? "; published " : "", c->published_text ? c->published_text : "");
    }
}

static void write_means(const struct study_data *d, uint32_t metric, FILE *out)
{
    struct study *s = d->study;
    const struct study_metric *const what = &s->metrics[metric];
    const bool has_unit = *what->unit != 0;
    (void)fprintf(out, "  %s%s%s%s\n", what->title, has_unit ? " (" : "", what->unit, has_unit ? ")" : "");
    for (uint32_t m = 0; m < s->machine_count; m++)
        for (uint32_t c = 0; c < s->combo_count; c++) {
            const struct study_estimate e =
                study_over(d, metric, (struct study_side){m, c}, own_baseline, study_all(s), STUDY_PICK_MEAN);
            const char *combo = study_combo_name(s, c);
            (void)fprintf(out, "    %-24s %-24s", s->machines[m].name, combo);
            if (isfinite(e.value))
                (void)fprintf(out, "%10.4g", e.value);
            else
                (void)fprintf(out, "%10s", "-");
            if (e.workloads < e.want) (void)fprintf(out, "   %u of %u workloads", e.workloads, e.want);
            (void)fputc('\n', out);
        }
}

void study_report_text(const struct study_report *r, FILE *out)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const struct study_data *d = r->data[i];
        (void)fprintf(out, "%s%s: %s\n", i ? "\n" : "", d->study->name, d->study->title);
        write_claims(d, out);
        for (uint32_t m = 0; m < d->study->metric_count; m++) write_means(d, m, out);
    }
}
