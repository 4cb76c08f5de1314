/* compare: machines side by side as tables and as JSON. Speed-ups are of simulated time, so that machines
 * with different clocks compare. */
#include <math.h>
#include <string.h>

#include "report/report.h"
#include "report/study_report.h"

enum { COLUMNS = 100, NAME_COLUMNS = 26 };
enum table { TABLE_CYCLES, TABLE_IPC, TABLE_BOUND, TABLE_SPEEDUP };

static const struct study_side own_baseline = {STUDY_NONE, 0};

static const struct study_result *result_at(const struct study_data *d, uint32_t workload, uint32_t machine)
{
    return &d->results[study_point_at(d->study, machine, 0, workload, 0)];
}

static const json_t *total(const struct study_result *r, const char *name)
{
    return json_object_get(json_object_get(r->root, "totals"), name);
}

/* In the words of the other reports. */
static const char *bound_name(const struct study_result *r)
{
    for (uint32_t k = 0; r->bound_by && k < MEASURE_BOUNDS; k++)
        if (strcmp(measure_bound_keys[k], r->bound_by) == 0) return measure_bound_names[k];
    return "-";
}

/* NAN: unknown. */
static double speedup(const struct study_data *d, uint32_t workload, uint32_t machine)
{
    return study_cell(d, 0, (struct study_side){machine, 0}, own_baseline, workload).value;
}

static double mean_speedup(const struct study_data *d, uint32_t machine, enum study_mean mean,
                           uint32_t *count)
{
    struct study_metric *m = &d->study->metrics[0];
    const enum study_mean own = m->mean;
    m->mean = mean;
    const struct study_estimate e =
        study_over(d, 0, (struct study_side){machine, 0}, own_baseline, study_all(d->study), STUDY_PICK_MEAN);
    m->mean = own;
    *count = e.workloads;
    return e.value;
}

/* ---- text ---- */

static int column_width(const struct study *s, uint32_t machine)
{
    const size_t len = strlen(s->machines[machine].name) + 2;
    return len < 18 ? 18 : (int)len; /* the longest bound fits */
}

/* Machines [from, returned) fit a line. */
static uint32_t fitting(const struct study *s, uint32_t from)
{
    int used = NAME_COLUMNS + 2;
    uint32_t to = from;
    while (to < s->machine_count && (to == from || used + column_width(s, to) <= COLUMNS))
        used += column_width(s, to++);
    return to;
}

static void write_cell(const struct study_data *d, enum table table, uint32_t w, uint32_t m, FILE *out)
{
    const struct study_result *r = result_at(d, w, m);
    char text[DRAW_TEXT] = "-";
    const double s = speedup(d, w, m);
    if (r->status != STUDY_DONE)
        (void)strcpy(text, "failed");
    else if (table == TABLE_CYCLES)
        (void)draw_count(text, (uint64_t)json_integer_value(total(r, "cycles")));
    else if (table == TABLE_IPC)
        (void)snprintf(text, sizeof text, "%.2f", json_number_value(total(r, "ipc")));
    else if (table == TABLE_BOUND)
        (void)snprintf(text, sizeof text, "%s", bound_name(r));
    else if (isfinite(s))
        (void)snprintf(text, sizeof text, "%.3f", s);
    (void)fprintf(out, "%*s", column_width(d->study, m), text);
}

static bool write_mean(const struct study_data *d, const char *title, enum study_mean mean, uint32_t from,
                       uint32_t to, FILE *out)
{
    bool partial = false;
    (void)fprintf(out, "  %-*s", NAME_COLUMNS, title);
    for (uint32_t m = from; m < to; m++) {
        uint32_t count;
        const double v = mean_speedup(d, m, mean, &count);
        partial |= count < d->study->workload_count;
        count ? (void)fprintf(out, "%*.3f", column_width(d->study, m), v)
              : (void)fprintf(out, "%*s", column_width(d->study, m), "-");
    }
    (void)fputc('\n', out);
    return partial;
}

static void write_table(const struct study_data *d, enum table table, const char *title, FILE *out)
{
    const struct study *s = d->study;
    char name[NAME_COLUMNS + 8];
    for (uint32_t from = 0; from < s->machine_count;) {
        const uint32_t to = fitting(s, from);
        (void)fprintf(out, "%-*s", NAME_COLUMNS + 2, title);
        for (uint32_t m = from; m < to; m++)
            (void)fprintf(out, "%*s", column_width(s, m), s->machines[m].name);
        (void)fputc('\n', out);
        for (uint32_t w = 0; w < s->workload_count; w++) {
            (void)fprintf(out, "  %-*s", NAME_COLUMNS,
                          draw_clipped(name, NAME_COLUMNS, s->workloads[w].name));
            for (uint32_t m = from; m < to; m++) write_cell(d, table, w, m, out);
            (void)fputc('\n', out);
        }
        if (table == TABLE_SPEEDUP) {
            const bool partial = write_mean(d, "harmonic mean", STUDY_HARMONIC, from, to, out);
            (void)write_mean(d, "geometric mean", STUDY_GEOMETRIC, from, to, out);
            if (partial) (void)fputs("  means leave out workloads that failed on either machine\n", out);
        }
        (void)fputc('\n', out);
        from = to;
    }
}

/* Cycles before each launch; -1: unknown. */
static json_int_t launch_gap(const struct study *s, uint32_t machine)
{
    const char *const config = s->points[study_point_at(s, machine, 0, 0, 0)].config;
    json_t *const root = config ? json_loads(config, 0, NULL) : NULL;
    const json_t *gap = json_object_get(json_object_get(root, "runtime"), "launch_gap_cyc");
    const json_int_t cycles = gap ? json_integer_value(gap) : -1;
    json_decref(root);
    return cycles;
}

/* A difference that is not the machines': short kernels are as long as their gaps. */
static void write_gaps(const struct study_data *d, FILE *out)
{
    const struct study *s = d->study;
    json_int_t first = -1;
    bool differ = false;
    for (uint32_t m = 0; m < s->machine_count; m++) {
        const json_int_t gap = launch_gap(s, m);
        if (gap < 0) continue;
        differ |= first >= 0 && gap != first;
        first = gap;
    }
    if (!differ) return;
    (void)fputs("times contain gaps before launches, which are not the same:", out);
    for (uint32_t m = 0; m < s->machine_count; m++) {
        const json_int_t gap = launch_gap(s, m);
        char text[DRAW_TEXT];
        if (gap >= 0) (void)fprintf(out, " %s %s", s->machines[m].name, draw_count(text, (uint64_t)gap));
    }
    (void)fputs(" cycles; -s runtime.launch_gap_cyc=N makes them so\n\n", out);
}

void compare_text(const struct study_data *d, FILE *out)
{
    write_table(d, TABLE_CYCLES, "cycles of the SM clock", out);
    write_table(d, TABLE_IPC, "warp instructions/cycle", out);
    write_table(d, TABLE_BOUND, "bound by", out);
    if (d->study->machine_count < 2) return;
    write_table(d, TABLE_SPEEDUP, "speed-up over the first", out);
    write_gaps(d, out);
}

/* The same words for every workload are said once. */
void compare_failures(const struct study_data *d, FILE *out)
{
    const struct study *s = d->study;
    for (uint32_t m = 0; m < s->machine_count; m++) {
        const char *said = NULL;
        for (uint32_t w = 0; w < s->workload_count; w++) {
            const struct study_result *r = result_at(d, w, m);
            if (r->status == STUDY_DONE || !r->message || (said && strcmp(said, r->message) == 0)) continue;
            said = r->message;
            (void)fprintf(out, "atoll: %s on %s failed: %s", s->workloads[w].name, s->machines[m].name,
                          r->message);
        }
    }
}

/* ---- JSON ---- */

static json_t *point_json(const struct study_data *d, uint32_t w, uint32_t m)
{
    static const int codes[STUDY_PENDING + 1] = {0, 1, 2, 3, 3, 1, 1, 1};
    const struct study_result *r = result_at(d, w, m);
    json_t *row = json_pack("{s:s, s:s, s:i}", "machine", d->study->machines[m].name, "workload",
                            d->study->workloads[w].name, "status", codes[r->status]);
    if (r->status != STUDY_DONE) {
        (void)json_object_set_new(row, "message", json_string(r->message ? r->message : ""));
        return row;
    }
    static const char *const names[] = {"cycles", "seconds", "warp_instructions", "ipc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)json_object_set_new(row, names[i], json_deep_copy(total(r, names[i])));
    (void)json_object_set_new(row, "bound_by", json_string(bound_name(r)));
    const double s = speedup(d, w, m);
    (void)json_object_set_new(row, "speedup", isfinite(s) ? json_real(s) : json_null());
    return row;
}

json_t *compare_json(const struct study_data *d)
{
    const struct study *s = d->study;
    json_t *machines = json_array(), *workloads = json_array(), *points = json_array(), *means = json_array();
    for (uint32_t w = 0; w < s->workload_count; w++) {
        (void)json_array_append_new(workloads, json_string(s->workloads[w].name));
        for (uint32_t m = 0; m < s->machine_count; m++)
            (void)json_array_append_new(points, point_json(d, w, m));
    }
    for (uint32_t m = 0; m < s->machine_count; m++) {
        uint32_t count;
        const double harmonic = mean_speedup(d, m, STUDY_HARMONIC, &count);
        const double geometric = mean_speedup(d, m, STUDY_GEOMETRIC, &count);
        (void)json_array_append_new(machines, json_string(s->machines[m].name));
        (void)json_array_append_new(means,
                                    json_pack("{s:s, s:I, s:f, s:f}", "machine", s->machines[m].name,
                                              "workloads", (json_int_t)count, "harmonic",
                                              count ? harmonic : 0.0, "geometric", count ? geometric : 0.0));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "atoll_version", ATOLL_VERSION, "machines", machines,
                     "workloads", workloads, "points", points, "means", means);
}
