/* html: one page with everything: verdicts, figures with their tables, machines, failures, commands. */
#include "report/html.h"

#include <string.h>
#include <time.h>

#include "base/embedded.h"

static const char *page_file(const char *name)
{
    for (const struct embedded_file *f = embedded_page; f->name; f++)
        if (strcmp(f->name, name) == 0) return f->text;
    diag_bug("report", 0, "the page has no %s", name);
}

/* ---- summary ---- */

struct tally {
    uint32_t points, done, failed, missing, pending;
    uint32_t verdicts[VERDICT_UNKNOWN + 1], direction;
};

static void count_study(struct tally *t, const struct study_data *d)
{
    for (uint32_t i = 0; i < d->study->point_count; i++) {
        const enum study_status s = d->results[i].status;
        if (d->study->machines[d->study->points[i].machine].best_of) continue;
        t->points++;
        t->done += s == STUDY_DONE;
        t->missing += s == STUDY_MISSING;
        t->pending += s == STUDY_PENDING;
        t->failed += s != STUDY_DONE && s != STUDY_MISSING && s != STUDY_PENDING;
    }
    for (uint32_t i = 0; i < d->study->claim_count; i++) {
        const enum study_verdict v = study_judge(d, &d->study->claims[i]).verdict;
        if (study_only_direction(&d->study->claims[i], v))
            t->direction++;
        else
            t->verdicts[v]++;
    }
}

static void card(FILE *out, uint32_t number, const char *class_, const char *text)
{
    if (number) (void)fprintf(out, "<li class=\"%s\"><b>%u</b><span>%s</span></li>\n", class_, number, text);
}

static void write_cards(const struct tally *t, FILE *out)
{
    (void)fputs("<ul class=\"cards\">\n", out);
    card(out, t->done, "", t->done == 1 ? "run is done" : "runs are done");
    card(out, t->failed, "c-differs", "failed");
    card(out, t->missing, "", "not available");
    card(out, t->pending, "", "not run yet");
    card(out, t->verdicts[VERDICT_SIZE], "c-size", "sizes within a third");
    card(out, t->verdicts[VERDICT_ORDER], "c-size", "orders hold");
    card(out, t->direction, "c-part", "right direction, other size");
    card(out, t->verdicts[VERDICT_DIFFERS], "c-differs", "claims differ");
    card(out, t->verdicts[VERDICT_UNKNOWN], "", "claims without data");
    (void)fputs("</ul>\n", out);
}

/* ---- a study ---- */

static void write_pre(const char *text, FILE *out)
{
    (void)fputs("<pre tabindex=\"0\"><code>", out);
    html_text(text, out);
    (void)fputs("</code></pre>\n", out);
}

static void write_missing(const struct study_data *d, FILE *out)
{
    for (uint32_t m = 0; m < d->study->machine_count; m++) {
        if (!d->study->machines[m].missing) continue;
        (void)fputs("<p><span class=\"badge v-none\">not available</span> ", out);
        html_text(d->study->machines[m].name, out);
        (void)fputs(": ", out);
        html_text(d->study->machines[m].missing, out);
        (void)fputs("</p>\n", out);
    }
}

static void write_failures(const struct study_data *d, FILE *out)
{
    bool any = false;
    for (uint32_t i = 0; i < d->study->point_count; i++) {
        const struct study_result *r = &d->results[i];
        if (r->status == STUDY_DONE || r->status == STUDY_MISSING || r->status == STUDY_PENDING) continue;
        if (!any) {
            html_heading(out, d->study->name, "failed", "Runs that failed");
            (void)fputs("<div class=\"scroll\"><table><thead><tr><th>run</th><th>what "
                        "happened</th></tr></thead><tbody>\n",
                        out);
        }
        any = true;
        (void)fputs("<tr><td><code>", out);
        html_text(study_command(d->study, i), out);
        (void)fprintf(out, "</code></td><td><span class=\"badge v-differs\">%s</span> ",
                      study_status_names[r->status]);
        if (r->message) html_text(r->message, out);
        (void)fputs("</td></tr>\n", out);
    }
    if (any) (void)fputs("</tbody></table></div>\n", out);
}

static void write_figures(const struct study_data *d, FILE *out)
{
    html_heading(out, d->study->name, "figures", "Figures");
    (void)fputs("<div class=\"figures\">\n", out);
    for (uint32_t i = 0; i < d->study->figure_count; i++) {
        struct chart c;
        chart_build(&c, d, &d->study->figures[i], &d->study->arena);
        plot_draw(&c, out);
        plot_table(&c, out);
    }
    (void)fputs("</div>\n", out);
}

static const char *plural(uint32_t count) { return count == 1 ? "" : "s"; }

/* alone: the page has its title already. */
static void write_study(const struct study_data *d, const char *command, bool alone, FILE *out)
{
    struct study *s = d->study;
    struct tally t = {0};
    count_study(&t, d);
    (void)fputs("<section id=\"", out);
    html_anchor(s->name, out);
    (void)fputs("\">\n", out);
    if (!alone) {
        (void)fputs("<h2>", out);
        html_text(s->title, out);
        (void)fputs("</h2>\n", out);
    }
    if (s->about) {
        (void)fputs("<p>", out);
        html_text(s->about, out);
        (void)fputs("</p>\n", out);
    }
    write_pre(command, out);
    (void)fprintf(
        out, "<p class=\"soft\">%u machine%s × %u combination%s of axis values × %u workload%s × %u seed%s",
        s->machine_count, plural(s->machine_count), s->combo_count, plural(s->combo_count), s->workload_count,
        plural(s->workload_count), s->seed_count, plural(s->seed_count));
    if (*s->scale) {
        (void)fputs(", scale ", out);
        html_text(s->scale, out);
    }
    (void)fprintf(out, ": %u of %u runs are done. Intervals are 95 %% confidence intervals over seeds.</p>\n",
                  t.done, t.points);
    write_missing(d, out);
    html_claims(d, out);
    if (t.done) {
        write_figures(d, out);
        html_mixes(d, out);
        html_machines(d, out);
    }
    write_failures(d, out);
    (void)fputs("</section>\n", out);
}

/* ---- the page ---- */

static void write_head(const struct study_report *r, const char *title, FILE *out)
{
    (void)fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
                out);
    html_text(title, out);
    (void)fprintf(out,
                  "</title>\n<style>\n%s</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">to the "
                  "results</a>\n",
                  page_file("page.css"));
    (void)fputs("<header><h1>", out);
    html_text(title, out);
    (void)fputs("</h1>\n", out);
    (void)fprintf(out, "<p class=\"soft\">Atoll %s", ATOLL_VERSION);
    if (r->database) {
        (void)fputs(", from <code>", out);
        html_text(r->database, out);
        (void)fputs("</code>", out);
    }
    (void)fputs("</p>\n", out);
}

static void nav_link(FILE *out, const char *study, const char *part, const char *text)
{
    (void)fputs("<li><a href=\"#", out);
    html_anchor(study, out);
    (void)fprintf(out, "%s\">", part);
    html_text(text, out);
    (void)fputs("</a></li>\n", out);
}

/* Of several studies their names, of one its parts. */
static void write_nav(const struct study_report *r, const struct tally *t, FILE *out)
{
    const struct study *first = r->data[0]->study;
    (void)fputs("<nav aria-label=\"parts of the page\"><ul>\n", out);
    for (uint32_t i = 0; r->count > 1 && i < r->count; i++)
        nav_link(out, r->data[i]->study->name, "", r->data[i]->study->name);
    if (r->count == 1) {
        if (first->claim_count) nav_link(out, first->name, "-claims", "Claims");
        if (t->done) nav_link(out, first->name, "-figures", "Figures");
        if (t->done && html_has_mixes(r->data[0])) nav_link(out, first->name, "-mixes", "Mixes");
        if (t->done) nav_link(out, first->name, "-machines", "Machines");
        if (t->failed) nav_link(out, first->name, "-failed", "Failures");
    }
    (void)fputs("<li><button id=\"theme\" type=\"button\" hidden>theme</button></li>\n</ul></nav>\n", out);
}

void study_report_html(const struct study_report *r, FILE *out)
{
    struct tally t = {0};
    const struct study *first = r->data[0]->study;
    const char *title = r->count == 1 ? first->title : first->paper ? first->paper : "Results";
    for (uint32_t i = 0; i < r->count; i++) count_study(&t, r->data[i]);
    write_head(r, title, out);
    write_cards(&t, out);
    if (r->command && r->count > 1) write_pre(r->command, out);
    (void)fputs("</header>\n", out);
    write_nav(r, &t, out);
    (void)fputs("<main id=\"main\">\n", out);
    for (uint32_t i = 0; i < r->count; i++) write_study(r->data[i], r->commands[i], r->count == 1, out);
    (void)fprintf(out,
                  "</main>\n<footer>Written by <code>atoll report</code>, version %s. This page is one file "
                  "and loads nothing from anywhere.</footer>\n"
                  "<script>\n%s</script>\n</body>\n</html>\n",
                  ATOLL_VERSION, page_file("page.js"));
}
