/* html_mixes: mixes of applications: a table per mix (throughput, turnaround, progress of each program, final
 * partition), and for designs whose partition changes SMs, channel indices and moved pages over epochs. */
#include <math.h>
#include <string.h>

#include "report/html.h"

enum {
    LEFT = 84,
    RIGHT = 12,
    WIDTH = 560,
    TOP = 22,
    SMS_HEIGHT = 84,
    ROW_HEIGHT = 11,
    MOVED_HEIGHT = 56,
    GAP = 26,
    INDICES_MAX = 64
};

/* A run of a mix on one design. */
struct mix_run {
    const char *design;
    const json_t *root, *apps, *epochs, *pages; /* pages: [epoch][application] */
};

static double real_at(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static uint64_t integer_at(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

/* False: the point has no result, or one application ran. */
static bool read_run(const struct study_data *d, uint32_t machine, uint32_t workload, struct mix_run *r)
{
    const struct study *s = d->study;
    const uint32_t p = study_point_at(s, machine, s->base_combo, workload, 0);
    if (p == STUDY_NONE || d->results[p].status != STUDY_DONE) return false;
    const json_t *root = d->results[p].root;
    *r = (struct mix_run){
        .design = s->machines[machine].name, .root = root, .apps = json_object_get(root, "apps")};
    const json_t *partition = json_object_get(json_object_get(root, "totals"), "partition");
    r->epochs = json_object_get(partition, "epochs");
    r->pages = json_object_get(partition, "pages");
    return json_array_size(r->apps) > 1;
}

static const char *name_of(const struct mix_run *r, size_t app)
{
    const char *name = json_string_value(json_object_get(json_array_get(r->apps, app), "workload"));
    return name ? name : "?";
}

static uint32_t colour_of(size_t app) { return (uint32_t)(app + 1) % HTML_COLOURS; }

/* ---- the table of a mix ---- */

static void write_number(double value, FILE *out)
{
    char number[48];
    (void)fprintf(out, "<td class=\"n\">%s</td>", html_number(number, value));
}

static void write_head(const struct mix_run *r, FILE *out)
{
    (void)fputs("<thead><tr><th>design</th><th class=\"n\">STP</th><th class=\"n\">ANTT</th>", out);
    for (size_t app = 0; app < json_array_size(r->apps); app++) {
        (void)fputs("<th class=\"n\">progress of ", out);
        html_text(name_of(r, app), out);
        (void)fputs("</th>", out);
    }
    (void)fputs("<th>final partition: SMs/channels</th><th class=\"n\">changes</th><th class=\"n\">pages "
                "moved</th></tr></thead>\n",
                out);
}

static uint64_t moved_in(const struct mix_run *r)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < json_array_size(r->epochs); k++)
        for (size_t app = 0; app < json_array_size(r->apps); app++)
            sum += integer_at(json_array_get(json_array_get(r->pages, k), app), "moved");
    return sum;
}

static void write_run(const struct mix_run *r, FILE *out)
{
    const json_t *totals = json_object_get(r->root, "totals");
    const json_t *changes = json_object_get(json_object_get(totals, "partition"), "changes");
    (void)fputs("<tr><th scope=\"row\">", out);
    html_text(r->design, out);
    (void)fputs("</th>", out);
    write_number(real_at(totals, "stp"), out);
    write_number(real_at(totals, "antt"), out);
    for (size_t app = 0; app < json_array_size(r->apps); app++)
        write_number(real_at(json_array_get(r->apps, app), "normalized_progress"), out);
    (void)fputs("<td>", out);
    for (size_t app = 0; app < json_array_size(r->apps); app++) {
        const json_t *a = json_array_get(r->apps, app);
        (void)fprintf(out, "%s%llu/%llu", app ? ", " : "", (unsigned long long)integer_at(a, "sms"),
                      (unsigned long long)integer_at(a, "channels"));
    }
    (void)fputs("</td>", out);
    if (r->epochs)
        (void)fprintf(out, "<td class=\"n\">%zu</td><td class=\"n\">%llu</td></tr>\n",
                      json_array_size(changes), (unsigned long long)moved_in(r));
    else
        (void)fputs("<td class=\"n\">–</td><td class=\"n\">–</td></tr>\n", out);
}

/* ---- a design over epochs ---- */

struct strip {
    const struct mix_run *run;
    FILE *out;
    size_t epochs, apps;
    double column; /* width of an epoch */
    uint32_t indices;
    uint64_t sms, moved; /* of the machine; the most of an epoch */
    double grid, bars;   /* tops of the panels below that of the SMs */
};

static const json_t *app_at(const struct strip *s, size_t epoch, size_t app)
{
    return json_array_get(json_object_get(json_array_get(s->run->epochs, epoch), "apps"), app);
}

static const json_t *pages_at(const struct strip *s, size_t epoch, size_t app)
{
    return json_array_get(json_array_get(s->run->pages, epoch), app);
}

static void measure_strip(struct strip *s)
{
    for (size_t k = 0; k < s->epochs; k++) {
        uint64_t sms = 0, moved = 0;
        for (size_t app = 0; app < s->apps; app++) {
            const json_t *indices = json_object_get(pages_at(s, k, app), "indices");
            sms += integer_at(app_at(s, k, app), "sms");
            moved += integer_at(pages_at(s, k, app), "moved");
            for (size_t n = 0; n < json_array_size(indices); n++) {
                const uint32_t idx = (uint32_t)json_integer_value(json_array_get(indices, n)) % INDICES_MAX;
                if (idx >= s->indices) s->indices = idx + 1;
            }
        }
        if (sms > s->sms) s->sms = sms;
        if (moved > s->moved) s->moved = moved;
    }
    s->column = (double)(WIDTH - LEFT - RIGHT) / (double)(s->epochs ? s->epochs : 1);
    s->grid = TOP + SMS_HEIGHT + GAP;
    s->bars = s->grid + s->indices * ROW_HEIGHT + GAP;
}

static void draw_cell(const struct strip *s, size_t epoch, size_t app, double y, double height,
                      const char *what)
{
    (void)fprintf(s->out,
                  "<rect class=\"m f%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>",
                  colour_of(app), LEFT + (double)epoch * s->column, y,
                  s->column > 3 ? s->column - 1 : s->column, height);
    html_text(name_of(s->run, app), s->out);
    (void)fprintf(s->out, ", epoch %zu: %s</title></rect>\n", epoch, what);
}

/* A part of a column that grows upwards; returns its top. */
static double draw_part(const struct strip *s, size_t epoch, size_t app, uint64_t value, const char *unit,
                        double bottom, double scale)
{
    char what[80];
    if (!value) return bottom;
    (void)snprintf(what, sizeof what, "%llu %s", (unsigned long long)value, unit);
    draw_cell(s, epoch, app, bottom - (double)value * scale, (double)value * scale, what);
    return bottom - (double)value * scale;
}

static void draw_indices(const struct strip *s, size_t epoch)
{
    for (size_t app = 0; app < s->apps; app++) {
        const json_t *indices = json_object_get(pages_at(s, epoch, app), "indices");
        for (size_t n = 0; n < json_array_size(indices); n++) {
            const uint32_t idx = (uint32_t)json_integer_value(json_array_get(indices, n)) % INDICES_MAX;
            char what[48];
            (void)snprintf(what, sizeof what, "owns channel index %u", idx);
            draw_cell(s, epoch, app, s->grid + idx * ROW_HEIGHT, ROW_HEIGHT - 1, what);
        }
    }
}

static void draw_scale(const struct strip *s, double top, double height, const char *title, uint64_t most)
{
    char number[32];
    svg_text(s->out, LEFT, top - 7, "class=\"soft\"", title);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)most);
    svg_text(s->out, LEFT - 6, top + 9, "class=\"soft\" text-anchor=\"end\"", number);
    svg_text(s->out, LEFT - 6, top + height, "class=\"soft\" text-anchor=\"end\"", "0");
    svg_line(s->out, "axis", LEFT, top + height, WIDTH - RIGHT, top + height);
}

static void draw_epochs(const struct strip *s)
{
    const size_t step = s->epochs > 24 ? (s->epochs + 11) / 12 : s->epochs > 12 ? 2 : 1;
    for (size_t k = 0; k < s->epochs; k += step) {
        char number[32];
        (void)snprintf(number, sizeof number, "%zu", k);
        svg_text(s->out, LEFT + ((double)k + 0.5) * s->column, s->bars + MOVED_HEIGHT + 16,
                 "class=\"soft\" text-anchor=\"middle\"", number);
    }
    svg_text(s->out, LEFT - 6, s->bars + MOVED_HEIGHT + 16, "class=\"soft\" text-anchor=\"end\"", "epoch");
}

static void draw_strip(const struct strip *s)
{
    char rows[16];
    svg_begin(s->out, WIDTH, s->bars + MOVED_HEIGHT + 24, "SMs, channel indices and moved pages over epochs");
    for (size_t k = 0; k < s->epochs; k++) {
        double sms = TOP + SMS_HEIGHT, moved = s->bars + MOVED_HEIGHT;
        for (size_t app = 0; app < s->apps; app++) {
            sms = draw_part(s, k, app, integer_at(app_at(s, k, app), "sms"), "SMs", sms,
                            (double)SMS_HEIGHT / (double)(s->sms ? s->sms : 1));
            moved = draw_part(s, k, app, integer_at(pages_at(s, k, app), "moved"), "pages moved", moved,
                              (double)MOVED_HEIGHT / (double)(s->moved ? s->moved : 1));
        }
        draw_indices(s, k);
    }
    draw_scale(s, TOP, SMS_HEIGHT, "SMs", s->sms);
    svg_text(s->out, LEFT, s->grid - 7, "class=\"soft\"", "channel indices (a row each: its owner)");
    svg_text(s->out, LEFT - 6, s->grid + 9, "class=\"soft\" text-anchor=\"end\"", "0");
    (void)snprintf(rows, sizeof rows, "%u", s->indices ? s->indices - 1 : 0);
    if (s->indices > 1)
        svg_text(s->out, LEFT - 6, s->grid + s->indices * ROW_HEIGHT - 2,
                 "class=\"soft\" text-anchor=\"end\"", rows);
    draw_scale(s, s->bars, MOVED_HEIGHT, "pages moved in the epoch", s->moved);
    draw_epochs(s);
    (void)fputs("</svg>\n<ul class=\"legend\">", s->out);
    for (size_t app = 0; app < s->apps; app++) {
        (void)fprintf(s->out, "<li><i class=\"f%u\"></i>", colour_of(app));
        html_text(name_of(s->run, app), s->out);
        (void)fputs("</li>", s->out);
    }
    (void)fputs("</ul>\n", s->out);
}

static void write_indices(const json_t *indices, FILE *out)
{
    for (size_t n = 0; n < json_array_size(indices); n++)
        (void)fprintf(out, "%s%lld", n ? " " : "", (long long)json_integer_value(json_array_get(indices, n)));
}

static void strip_table(const struct strip *s)
{
    FILE *out = s->out;
    (void)fputs(
        "<table><thead><tr><th>epoch</th><th class=\"n\">in change</th><th>application</th><th "
        "class=\"n\">SMs</th><th>channel indices</th><th>class</th><th class=\"n\">demand GB/s</th><th "
        "class=\"n\">supply GB/s</th><th class=\"n\">IPC</th><th class=\"n\">pages moved</th><th "
        "class=\"n\">pages outside</th></tr></thead><tbody>\n",
        out);
    for (size_t k = 0; k < s->epochs; k++) {
        const json_t *e = json_array_get(s->run->epochs, k);
        const uint64_t cycles = integer_at(e, "end") - integer_at(e, "begin");
        for (size_t app = 0; app < s->apps; app++) {
            const json_t *a = app_at(s, k, app);
            (void)fprintf(out, "<tr><th scope=\"row\">%zu</th><td class=\"n\">%.1f %%</td><td>", k,
                          cycles ? 100.0 * (double)integer_at(e, "change_cycles") / (double)cycles : 0.0);
            html_text(name_of(s->run, app), out);
            (void)fprintf(out, "</td><td class=\"n\">%llu</td><td>",
                          (unsigned long long)integer_at(a, "sms"));
            write_indices(json_object_get(pages_at(s, k, app), "indices"), out);
            const char *class_ = json_string_value(json_object_get(a, "class"));
            (void)fprintf(out,
                          "</td><td>%s</td><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td "
                          "class=\"n\">%.2f</td><td class=\"n\">%llu</td><td class=\"n\">%llu</td></tr>\n",
                          class_ ? class_ : "", real_at(a, "demand_gbs"), real_at(a, "supply_gbs"),
                          real_at(a, "ipc"), (unsigned long long)integer_at(pages_at(s, k, app), "moved"),
                          (unsigned long long)integer_at(a, "foreign_pages"));
        }
    }
    (void)fputs("</tbody></table>\n", out);
}

static void write_strip(const struct mix_run *r, FILE *out)
{
    struct strip s = {
        .run = r, .out = out, .epochs = json_array_size(r->epochs), .apps = json_array_size(r->apps)};
    measure_strip(&s);
    html_figure_begin(out, r->design, NULL, NULL, "half fit");
    draw_strip(&s);
    html_figure_table(out,
                      "Focus the picture and use the arrow keys, or point at a mark, to read its value.");
    strip_table(&s);
    html_figure_end(out);
}

/* ---- all mixes ---- */

bool html_has_mixes(const struct study_data *d)
{
    struct mix_run r;
    for (uint32_t w = 0; w < d->study->workload_count; w++)
        for (uint32_t m = 0; m < d->study->machine_count; m++)
            if (read_run(d, m, w, &r)) return true;
    return false;
}

static void write_mix(const struct study_data *d, uint32_t workload, bool open, FILE *out)
{
    struct mix_run r;
    bool table = false, strips = false;
    for (uint32_t m = 0; m < d->study->machine_count; m++) {
        if (!read_run(d, m, workload, &r)) continue;
        if (!table) {
            (void)fputs("<h4>", out);
            html_text(d->study->workloads[workload].name, out);
            (void)fputs("</h4>\n<div class=\"scroll\"><table>", out);
            write_head(&r, out);
            (void)fputs("<tbody>\n", out);
            table = true;
        }
        write_run(&r, out);
        strips |= json_array_size(r.epochs) > 0;
    }
    if (table) (void)fputs("</tbody></table></div>\n", out);
    if (!strips) return;
    (void)fprintf(out, "<details%s><summary>partition over epochs</summary>\n<div class=\"figures\">\n",
                  open ? " open" : "");
    for (uint32_t m = 0; m < d->study->machine_count; m++)
        if (read_run(d, m, workload, &r) && json_array_size(r.epochs)) write_strip(&r, out);
    (void)fputs("</div></details>\n", out);
}

void html_mixes(const struct study_data *d, FILE *out)
{
    if (!html_has_mixes(d)) return;
    html_heading(out, d->study->name, "mixes", "Mixes of applications");
    (void)fputs(
        "<p class=\"soft\">STP: sum over programs of their progress, which is their speed here over that "
        "alone on "
        "the machine; ANTT: mean of its inverse. The final partition is that at the end of the run.</p>\n",
        out);
    for (uint32_t w = 0; w < d->study->workload_count; w++) write_mix(d, w, w == 0, out);
}
