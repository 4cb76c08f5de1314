/* html_machine: the machine as a tree of boxes with how busy its parts were, and the bytes between
 * partitions. */
#include <math.h>
#include <string.h>

#include "report/html.h"

enum { PARTITIONS_MAX = 256, CELL_W = 60, CELL_H = 70, GAP = 5, ROW_MAX = 16 };

/* Of the picture: partitions in a row, width inside a chiplet, height of one. */
struct layout {
    uint32_t per_row;
    double inner, chiplet_height;
};

/* One machine of a study at its base, means over the workloads that ran. */
struct view {
    const struct study *study;
    uint32_t machine;
    uint32_t gpus, chiplets, partitions, sms, slices, channels; /* each of one instance of the level above */
    uint32_t count;                                             /* partitions of all */
    double issue[PARTITIONS_MAX], llc[PARTITIONS_MAX], dram[PARTITIONS_MAX];
    double requests, replies; /* use of the networks */
    double *traffic;          /* [count][count], share of all bytes */
    double *uneven;           /* the same of one workload */
    uint32_t uneven_workload;
    uint32_t runs;
    char clock[48], llc_size[48];
};

/* ---- gathering ---- */

static uint32_t number_at(const json_t *config, const char *section, const char *name)
{
    return (uint32_t)json_integer_value(json_object_get(json_object_get(config, section), name));
}

static void text_at(char to[48], const json_t *config, const char *section, const char *name)
{
    const char *text = json_string_value(json_object_get(json_object_get(config, section), name));
    (void)snprintf(to, 48, "%s", text ? text : "");
}

static bool read_shape(struct view *v, const char *config_text)
{
    json_t *config = config_text ? json_loads(config_text, 0, NULL) : NULL;
    if (!config) return false;
    v->gpus = number_at(config, "system", "gpus");
    v->chiplets = number_at(config, "gpu", "chiplets");
    v->partitions = number_at(config, "chiplet", "partitions");
    v->sms = number_at(config, "partition", "sms");
    v->slices = number_at(config, "partition", "slices");
    v->channels = number_at(config, "partition", "channels");
    v->count = v->gpus * v->chiplets * v->partitions;
    text_at(v->clock, config, "clock", "sm");
    text_at(v->llc_size, config, "gpu", "llc_size");
    json_decref(config);
    return v->count > 0 && v->count <= PARTITIONS_MAX;
}

static double real_at(const json_t *list, size_t i) { return json_number_value(json_array_get(list, i)); }

static double use_of(const json_t *r, const char *level)
{
    const json_t *levels = json_object_get(json_object_get(r, "totals"), "bandwidth");
    return json_number_value(json_object_get(json_object_get(levels, level), "utilisation"));
}

/* Adds the traffic of a run; the one with the largest cell is kept apart too. */
static void add_traffic(struct view *v, const json_t *bytes, uint32_t workload, double *most)
{
    double sum = 0, largest = 0;
    for (uint32_t i = 0; i < v->count; i++)
        for (uint32_t k = 0; k < v->count; k++) {
            const double b = real_at(json_array_get(bytes, i), k);
            sum += b;
            if (b > largest) largest = b;
        }
    if (!(sum > 0)) return;
    const bool keep = largest / sum > *most;
    if (keep) {
        *most = largest / sum;
        v->uneven_workload = workload;
    }
    for (uint32_t i = 0; i < v->count; i++)
        for (uint32_t k = 0; k < v->count; k++) {
            const double share = real_at(json_array_get(bytes, i), k) / sum;
            v->traffic[i * v->count + k] += share;
            if (keep) v->uneven[i * v->count + k] = share;
        }
}

static void add_run(struct view *v, const json_t *r, uint32_t workload, double *most)
{
    const json_t *p = json_object_get(r, "partitions");
    const json_t *bytes = json_object_get(json_object_get(r, "traffic"), "bytes");
    if (json_array_size(bytes) != v->count) return;
    for (uint32_t k = 0; k < v->count; k++) {
        v->issue[k] += real_at(json_object_get(p, "issue"), k);
        v->llc[k] += real_at(json_object_get(p, "llc_port"), k);
        v->dram[k] += real_at(json_object_get(p, "dram"), k);
    }
    v->requests += use_of(r, "request_network");
    v->replies += use_of(r, "reply_network");
    add_traffic(v, bytes, workload, most);
    v->runs++;
}

static bool gather(struct view *v, const struct study_data *d, uint32_t machine)
{
    const struct study *s = d->study;
    double most = 0;
    *v = (struct view){.study = s, .machine = machine, .uneven_workload = STUDY_NONE};
    for (uint32_t w = 0; w < s->workload_count; w++) {
        const uint32_t p = study_point_at(s, machine, s->base_combo, w, 0);
        if (p == STUDY_NONE || d->results[p].status != STUDY_DONE) continue;
        if (!v->count && !read_shape(v, s->points[p].config)) return false;
        if (!v->traffic) {
            v->traffic = ARENA_ARRAY(&d->study->arena, double, (size_t)v->count * v->count);
            v->uneven = ARENA_ARRAY(&d->study->arena, double, (size_t)v->count * v->count);
        }
        add_run(v, d->results[p].root, w, &most);
    }
    for (uint32_t k = 0; v->runs && k < v->count; k++) {
        v->issue[k] /= v->runs;
        v->llc[k] /= v->runs;
        v->dram[k] /= v->runs;
    }
    for (uint32_t k = 0; v->runs && k < v->count * v->count; k++) v->traffic[k] /= v->runs;
    v->requests /= v->runs ? v->runs : 1;
    v->replies /= v->runs ? v->runs : 1;
    return v->runs > 0;
}

/* ---- the tree ---- */

/* A part of the machine: filled as far as it was busy, its name and the number on it. */
static void draw_gauge(FILE *out, double x, double y, const char *name, double share)
{
    const double width = CELL_W - 8;
    char number[16];
    (void)fprintf(out,
                  "<rect class=\"panel\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"15\" rx=\"2\"/>"
                  "<rect class=\"fill\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"15\" rx=\"2\"/>\n",
                  x, y, width, x, y, width * (share > 1 ? 1 : share));
    svg_text(out, x + 3, y + 11, "class=\"soft tiny\"", name);
    (void)snprintf(number, sizeof number, share < 0.0995 ? "%.1f" : "%.0f", 100 * share);
    svg_text(out, x + width - 3, y + 11, "class=\"small\" text-anchor=\"end\"", number);
}

static void draw_partition(const struct view *v, uint32_t k, double x, double y, FILE *out)
{
    (void)fprintf(out,
                  "<g><rect class=\"box m\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
                  "rx=\"4\"><title>partition %u: "
                  "SMs issue in %.1f %% of their scheduler cycles, LLC data ports %.1f %% busy, DRAM %.1f %% "
                  "busy</title></rect>\n",
                  x, y, CELL_W, CELL_H, k, 100 * v->issue[k], 100 * v->llc[k], 100 * v->dram[k]);
    char name[16];
    (void)snprintf(name, sizeof name, "%u", k);
    svg_text(out, x + CELL_W / 2.0, y + 12, "class=\"soft small\" text-anchor=\"middle\"", name);
    draw_gauge(out, x + 4, y + 17, "SM", v->issue[k]);
    draw_gauge(out, x + 4, y + 34, "LLC", v->llc[k]);
    draw_gauge(out, x + 4, y + 51, "DRAM", v->dram[k]);
    (void)fputs("</g>\n", out);
}

static void draw_network(const struct view *v, double x, double y, double width, FILE *out)
{
    char text[160];
    (void)fprintf(out,
                  "<rect class=\"panel m\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"22\" "
                  "rx=\"4\"><title>networks between SMs "
                  "and slices: requests %.1f %%, replies %.1f %% of their width used</title></rect>\n",
                  x, y, width, 100 * v->requests, 100 * v->replies);
    (void)fprintf(out, "<rect class=\"fill\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"22\" rx=\"4\"/>\n",
                  x, y, width * (v->replies > 1 ? 1 : v->replies));
    (void)snprintf(text, sizeof text, "%s: requests %.1f %%, replies %.1f %% of the width used",
                   v->gpus * v->chiplets > 1 ? "networks, mean of all" : "network", 100 * v->requests,
                   100 * v->replies);
    svg_text(out, x + width / 2, y + 14, "text-anchor=\"middle\"", text);
}

/* Boxes of one chiplet: its network, its partitions. */
static void draw_chiplet(const struct view *v, uint32_t chiplet, const struct layout *l, double x, double y,
                         FILE *out)
{
    if (v->chiplets > 1)
        (void)fprintf(out,
                      "<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\"/>\n",
                      x - 6, y - 6, l->inner + 12, l->chiplet_height + 4);
    draw_network(v, x, y, l->inner, out);
    for (uint32_t p = 0; p < v->partitions; p++) {
        const uint32_t row = p / l->per_row, column = p % l->per_row;
        draw_partition(v, chiplet * v->partitions + p, x + GAP + column * (CELL_W + GAP),
                       y + 30 + row * (CELL_H + GAP), out);
    }
}

static void draw_tree(const struct view *v, FILE *out)
{
    struct layout l = {.per_row = v->partitions < ROW_MAX ? v->partitions : ROW_MAX};
    const uint32_t rows = (v->partitions + l.per_row - 1) / l.per_row;
    l.inner = l.per_row * (CELL_W + GAP) + GAP < 420 ? 420 : l.per_row * (CELL_W + GAP) + GAP;
    l.chiplet_height = rows * (CELL_H + GAP) + 32;
    const double width = l.inner + 44, gpu_height = 46 + v->chiplets * (l.chiplet_height + 8);
    char text[200];
    svg_begin(out, width, v->gpus * gpu_height, "The machine as a tree of boxes");
    for (uint32_t g = 0; g < v->gpus; g++) {
        const double top = g * gpu_height;
        (void)fprintf(out,
                      "<rect class=\"box\" x=\"4\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"10\"/>\n",
                      top + 4, width - 8, gpu_height - 8);
        const uint32_t partitions = v->chiplets * v->partitions;
        char which[16] = "";
        if (v->gpus > 1) (void)snprintf(which, sizeof which, " %u", g);
        (void)snprintf(text, sizeof text, "GPU%s: %u SMs at %s, %s of LLC in %u slices, %u memory channels",
                       which, partitions * v->sms, v->clock, v->llc_size, partitions * v->slices,
                       partitions * v->channels);
        svg_text(out, 22, top + 26, "font-weight=\"600\"", text);
        for (uint32_t c = 0; c < v->chiplets; c++)
            draw_chiplet(v, g * v->chiplets + c, &l, 22, top + 40 + c * (l.chiplet_height + 8), out);
    }
    (void)fputs("</svg>\n", out);
}

static void tree_table(const struct view *v, FILE *out)
{
    (void)fprintf(out,
                  "<p class=\"soft\">Per partition: %u SMs, %u LLC slices, %u memory channels; means over %u "
                  "workloads.</p>\n"
                  "<table><thead><tr><th>partition</th><th class=\"n\">SMs issue %%</th><th class=\"n\">LLC "
                  "ports %%</th><th "
                  "class=\"n\">DRAM %%</th></tr></thead><tbody>\n",
                  v->sms, v->slices, v->channels, v->runs);
    for (uint32_t k = 0; k < v->count; k++)
        (void)fprintf(out,
                      "<tr><th scope=\"row\">%u</th><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td "
                      "class=\"n\">%.1f</td></tr>\n",
                      k, 100 * v->issue[k], 100 * v->llc[k], 100 * v->dram[k]);
    (void)fputs("</tbody></table>\n", out);
}

/* ---- the heat map ---- */

enum { HEAT_LEVELS = 24, HEAT_LEFT = 52, HEAT_TOP = 8 };

/* Cells of one strength are one path: a page with many machines stays small. The page's script reads the
 * values out of the table. */
static void draw_cells(const struct view *v, const double *share, double most, double cell, FILE *out)
{
    for (uint32_t level = 1; level <= HEAT_LEVELS; level++) {
        bool any = false;
        for (uint32_t i = 0; i < v->count * v->count; i++) {
            const uint32_t row = i / v->count, column = i % v->count;
            const double strength = ceil(HEAT_LEVELS * share[i] / most); /* may round up past the last */
            if ((uint32_t)fmin(strength, HEAT_LEVELS) != level) continue;
            if (!any)
                (void)fprintf(out, "<path class=\"hot\" fill-opacity=\"%.3f\" d=\"",
                              (double)level / HEAT_LEVELS);
            any = true;
            (void)fprintf(out, "M%.1f %.1fh%.1fv%.1fh-%.1fz", HEAT_LEFT + column * cell,
                          HEAT_TOP + row * cell, cell - 0.6, cell - 0.6, cell - 0.6);
        }
        if (any) (void)fputs("\"/>\n", out);
    }
}

/* Numbers of partitions along both sides, and lines between chiplets. */
static void draw_heat_frame(const struct view *v, double cell, FILE *out)
{
    const double side = cell * v->count;
    const uint32_t step = v->count > 64 ? 32 : v->count > 32 ? 16 : v->count > 12 ? 8 : 1;
    char number[16];
    (void)fprintf(out, "<rect class=\"box\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%.1f\"/>\n", HEAT_LEFT,
                  HEAT_TOP, side - 0.6, side - 0.6);
    for (uint32_t k = 0; k < v->count; k++) {
        if (k && k % v->partitions == 0) {
            svg_line(out, "axis", HEAT_LEFT + k * cell, HEAT_TOP, HEAT_LEFT + k * cell, HEAT_TOP + side);
            svg_line(out, "axis", HEAT_LEFT, HEAT_TOP + k * cell, HEAT_LEFT + side, HEAT_TOP + k * cell);
        }
        if (k % step != 0 && k + 1 != v->count) continue;
        if (k + 1 == v->count && k % step != 0 && k % step < step / 2) continue; /* too near the last */
        (void)snprintf(number, sizeof number, "%u", k);
        svg_text(out, HEAT_LEFT + (k + 0.5) * cell, HEAT_TOP + side + 14,
                 "class=\"soft small\" text-anchor=\"middle\"", number);
        svg_text(out, HEAT_LEFT - 5, HEAT_TOP + (k + 0.5) * cell + 4,
                 "class=\"soft small\" text-anchor=\"end\"", number);
    }
}

static void draw_heat(const struct view *v, const double *share, const char *title, FILE *out)
{
    const double cell = v->count > 32 ? 400.0 / v->count : v->count > 12 ? 12.5 : 36, side = cell * v->count;
    double most = 0;
    char text[96];
    for (uint32_t i = 0; i < v->count * v->count; i++)
        if (share[i] > most) most = share[i];
    svg_begin(out, HEAT_LEFT + side + 76, HEAT_TOP + side + 44, title);
    (void)fprintf(
        out, "<g class=\"heat\" data-count=\"%u\" data-cell=\"%.4f\" data-left=\"%d\" data-top=\"%d\">\n",
        v->count, cell, HEAT_LEFT, HEAT_TOP);
    if (most > 0) draw_cells(v, share, most, cell, out);
    draw_heat_frame(v, cell, out);
    (void)fprintf(
        out,
        "<rect class=\"m cursor\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%.1f\"><title>bytes between "
        "partitions</title></rect>\n</g>\n",
        HEAT_LEFT, HEAT_TOP, cell - 0.6, cell - 0.6);
    svg_text(out, HEAT_LEFT + side / 2, HEAT_TOP + side + 34, "text-anchor=\"middle\" class=\"soft\"",
             "partition of the LLC slice");
    (void)snprintf(text, sizeof text,
                   "text-anchor=\"middle\" class=\"soft\" transform=\"rotate(-90 14 %.1f)\"",
                   HEAT_TOP + side / 2);
    svg_text(out, 14, HEAT_TOP + side / 2, text, "partition of the SM");
    const double bar = HEAT_LEFT + side + 12;
    for (uint32_t k = 0; k <= HEAT_LEVELS; k++)
        (void)fprintf(out,
                      "<rect class=\"hot\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"%.2f\" "
                      "fill-opacity=\"%.3f\"/>\n",
                      bar, HEAT_TOP + side * (HEAT_LEVELS - k) / (HEAT_LEVELS + 1),
                      side / (HEAT_LEVELS + 1) + 0.3, (double)k / HEAT_LEVELS);
    (void)snprintf(text, sizeof text, "%.2g %%", 100 * most);
    svg_text(out, bar + 16, HEAT_TOP + 10, "class=\"soft\"", text);
    svg_text(out, bar + 16, HEAT_TOP + side, "class=\"soft\"", "0");
    (void)fputs("</svg>\n", out);
}

static double kept_inside(const struct view *v, const double *share)
{
    double inside = 0;
    for (uint32_t k = 0; k < v->count; k++) inside += share[k * v->count + k];
    return inside;
}

static void heat_table(const struct view *v, const double *share, FILE *out)
{
    (void)fputs("<p class=\"soft\">Rows: partition of the SM; columns: of the slice; in % of all bytes.</p>\n"
                "<table class=\"matrix\"><tbody>\n",
                out);
    for (uint32_t i = 0; i < v->count; i++) {
        (void)fprintf(out, "<tr><th scope=\"row\">%u</th>", i);
        for (uint32_t k = 0; k < v->count; k++)
            (void)fprintf(out, "<td>%.3g</td>", 100 * share[i * v->count + k]);
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</tbody></table>\n", out);
}

static void write_heat(const struct view *v, const double *share, const char *title, FILE *out)
{
    char about[120];
    (void)snprintf(about, sizeof about, "Bytes of requests and replies%s; %.1f %% stay in their partition.",
                   share == v->traffic ? ", mean over the workloads" : "", 100 * kept_inside(v, share));
    html_figure_begin(out, title, NULL, about, "half fit");
    draw_heat(v, share, title, out);
    html_figure_table(out, "Focus the picture and use the arrow keys, or point at a cell, to read it.");
    heat_table(v, share, out);
    html_figure_end(out);
}

static void write_machine(const struct view *v, FILE *out)
{
    char title[200];
    (void)snprintf(title, sizeof title, "%s: how busy its parts are", v->study->machines[v->machine].name);
    html_figure_begin(
        out, title, NULL,
        "Filled, and in per cent: the share of its time that a part works; mean over the workloads.", "");
    draw_tree(v, out);
    html_figure_table(out, "Focus the picture and use the arrow keys, or point at a partition, to read it.");
    tree_table(v, out);
    html_figure_end(out);
    (void)fputs("<div class=\"figures\">\n", out);
    (void)snprintf(title, sizeof title, "%s: traffic between partitions",
                   v->study->machines[v->machine].name);
    write_heat(v, v->traffic, title, out);
    if (v->uneven_workload != STUDY_NONE && v->runs > 1) {
        (void)snprintf(title, sizeof title, "%s: the most uneven workload, %s",
                       v->study->machines[v->machine].name, v->study->workloads[v->uneven_workload].name);
        write_heat(v, v->uneven, title, out);
    }
    (void)fputs("</div>\n", out);
}

void html_machines(const struct study_data *d, FILE *out)
{
    html_heading(out, d->study->name, "machines", "Machines");
    for (uint32_t m = 0; m < d->study->machine_count; m++) {
        struct view v;
        if (gather(&v, d, m)) write_machine(&v, out);
    }
}
