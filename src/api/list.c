/* list: what there is: machines, parameters, statistics, ... as text, Markdown or JSON. */
#include <string.h>

#include "api/sim.h"
#include "frontend/script/script.h"
#include "stats/stats.h"

struct list_call {
    atoll_sim *sim;
    const char *what;
    atoll_format format;
    char **out;
};

/* ---- rows of any list, printed alike ---- */

enum { COLUMNS_MAX = 6 };
struct table {
    FILE *out;
    atoll_format format;
    json_t *json; /* array of objects */
    uint32_t columns;
    const char *titles[COLUMNS_MAX];
    int widths[COLUMNS_MAX]; /* text only; 0 = as long as it is */
};

static void table_row(const struct table *t, const char *const *cells)
{
    if (t->format == ATOLL_JSON) {
        json_t *row = json_object();
        for (uint32_t i = 0; i < t->columns; i++)
            (void)json_object_set_new(row, t->titles[i], json_string(cells[i]));
        (void)json_array_append_new(t->json, row);
    } else if (t->format == ATOLL_MARKDOWN) {
        (void)fputs("|", t->out);
        for (uint32_t i = 0; i < t->columns; i++) (void)fprintf(t->out, " %s |", cells[i]);
        (void)fputs("\n", t->out);
    } else {
        for (uint32_t i = 0; i < t->columns; i++)
            (void)fprintf(t->out, "%s%-*s", "  ", i + 1 < t->columns ? t->widths[i] : 0, cells[i]);
        (void)fputs("\n", t->out);
    }
}

static void table_heading(const struct table *t, const char *name, const char *help)
{
    if (t->format == ATOLL_MARKDOWN) {
        (void)fprintf(t->out, "\n## %s\n%s\n\n|", name, help);
        for (uint32_t i = 0; i < t->columns; i++) (void)fprintf(t->out, " %s |", t->titles[i]);
        (void)fputs("\n|", t->out);
        for (uint32_t i = 0; i < t->columns; i++) (void)fputs("---|", t->out);
        (void)fputs("\n", t->out);
    } else if (t->format == ATOLL_TEXT) {
        (void)fprintf(t->out, "\n%s: %s\n", name, help);
    }
}

/* ---- the lists ---- */

static const char *range_text(struct arena *a, const struct param_row *row)
{
    if (row->type == PARAM_choice) {
        const char *text = "";
        const struct choice_list *list = &choice_lists[row->list];
        for (uint32_t i = 0; i < list->count; i++)
            text = arena_printf(a, "%s%s%s", text, i ? ", " : "", list->items[i].name);
        return text;
    }
    if (row->type == PARAM_bool) return "true, false";
    if (!*row->min_text && !*row->max_text) return "any";
    return arena_printf(a, "%s to %s", *row->min_text ? row->min_text : "any",
                        *row->max_text ? row->max_text : "any");
}

static void list_params(struct table *t, struct arena *a)
{
    *t = (struct table){t->out,
                        t->format,
                        t->json,
                        5,
                        {"parameter", "default", "range", "unit", "meaning"},
                        {32, 12, 24, 10, 0}};
    for (unsigned s = 0; s < PARAM_SECTION_COUNT; s++) {
        const struct param_section *section = &param_sections[s];
        table_heading(t, section->name, section->help);
        for (uint32_t i = section->first_idx; i < section->first_idx + section->count; i++) {
            const struct param_row *row = &param_rows[i];
            const char *cells[COLUMNS_MAX] = {arena_printf(a, "%s.%s", row->section, row->name),
                                              *row->default_text ? row->default_text : "-",
                                              range_text(a, row), *row->unit ? row->unit : "-", row->help};
            table_row(t, cells);
        }
    }
}

static const char *kind_text(enum stat_kind kind)
{
    switch (kind) {
    case STAT_COUNTER: return "counter";
    case STAT_PEAK: return "peak";
    case STAT_HISTOGRAM: return "histogram";
    }
    return "";
}

static void list_stats(struct table *t, struct arena *a)
{
    *t = (struct table){t->out,         t->format, t->json, 4, {"statistic", "kind", "unit", "meaning"},
                        {36, 10, 14, 0}};
    for (unsigned g = 0; g < STAT_GROUP_COUNT; g++) {
        const char *group = NULL;
        for (size_t i = 0; i < stat_row_count && !group; i++)
            if (stat_rows[i].group == g) group = stat_rows[i].group_name;
        if (!group) continue;
        table_heading(t, group, stat_group_help[g]);
        for (size_t i = 0; i < stat_row_count; i++)
            if (stat_rows[i].group == g)
                table_row(t, (const char *[COLUMNS_MAX]){arena_printf(a, "%s.%s", group, stat_rows[i].name),
                                                         kind_text(stat_rows[i].kind), stat_rows[i].unit,
                                                         stat_rows[i].help});
        for (size_t i = 0; i < series_row_count; i++)
            if (strcmp(series_rows[i].group_name, group) == 0)
                table_row(t, (const char *[COLUMNS_MAX]){arena_printf(a, "%s.%s", group, series_rows[i].name),
                                                         "series", series_rows[i].unit, series_rows[i].help});
        for (size_t i = 0; i < ratio_row_count; i++)
            if (strcmp(ratio_rows[i].group_name, group) == 0)
                table_row(t, (const char *[COLUMNS_MAX]){arena_printf(a, "%s.%s", group, ratio_rows[i].name),
                                                         "ratio", ratio_rows[i].unit, ratio_rows[i].help});
        for (size_t i = 0; i < law_row_count; i++)
            if (strcmp(law_rows[i].group_name, group) == 0)
                table_row(t, (const char *[COLUMNS_MAX]){
                                 arena_printf(a, "%s.%s", group, law_rows[i].name), "law", "-",
                                 arena_printf(a, "%s: %s = %s", law_rows[i].help, law_rows[i].left_text,
                                              law_rows[i].right_text)});
    }
}

static void list_machines(struct table *t, struct arena *a)
{
    *t = (struct table){t->out, t->format, t->json, 2, {"machine", "description"}, {20, 0}};
    table_heading(t, "machines", "presets; 'extends: NAME' in a file of your own builds on one");
    const char *file;
    for (size_t i = 0; (file = machine_preset(i)); i++) {
        const char *name = arena_strndup(a, file, strlen(file) - strlen(".yaml"));
        struct machine m;
        machine_init(&m);
        machine_load(&m, name);
        table_row(t, (const char *[COLUMNS_MAX]){name, arena_strdup(a, m.description)});
        machine_free(&m);
    }
}

static void list_policies(struct table *t, struct arena *a)
{
    *t = (struct table){t->out, t->format, t->json, 2, {"choice", "meaning"}, {28, 0}};
    for (unsigned i = 0; i < PARAM_COUNT; i++) {
        if (param_rows[i].type != PARAM_choice) continue;
        const struct choice_list *list = &choice_lists[param_rows[i].list];
        table_heading(t, arena_printf(a, "%s.%s", param_rows[i].section, param_rows[i].name), list->help);
        for (uint32_t k = 0; k < list->count; k++)
            table_row(t, (const char *[COLUMNS_MAX]){list->items[k].name, list->items[k].help});
    }
}

static void list_workloads(struct table *t, struct arena *a)
{
    *t = (struct table){t->out,
                        t->format,
                        t->json,
                        5,
                        {"workload", "suite", "class", "footprint", "description"},
                        {16, 12, 14, 12, 0}};
    table_heading(t, "workloads",
                  "bundled; a size is :tiny, :small, a paper's setting or k=v,...; footprint at :small");
    for (size_t i = 0; i < script_bundled_count(); i++) {
        const struct script_info info = script_info(script_bundled(i));
        table_row(t, (const char *[COLUMNS_MAX]){
                         info.name, info.suite, info.sharing,
                         arena_printf(a, "%.1f MB", (double)info.footprint_bytes * 1e-6), info.description});
    }
}

static const struct {
    const char *name;
    void (*print)(struct table *t, struct arena *a);
} lists[] = {
    {"machines", list_machines}, {"workloads", list_workloads}, {"policies", list_policies},
    {"params", list_params},     {"stats", list_stats},
};

static void drop_arena(void *arg) { arena_free(arg); }
static void drop_json(void *arg) { json_decref(arg); }

static void list(void *arg)
{
    const struct list_call *call = arg;
    const char *names[sizeof lists / sizeof *lists];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        names[i] = lists[i].name;
        if (strcmp(call->what, names[i]) != 0) continue;
        struct arena a;
        struct api_text text;
        struct diag_cleanup arena_cleanup, json_cleanup;
        arena_init(&a);
        diag_defer(&arena_cleanup, drop_arena, &a);
        struct table t = {.format = call->format, .json = json_array()};
        diag_defer(&json_cleanup, drop_json, t.json);
        api_text_begin(&text);
        t.out = text.file;
        lists[i].print(&t, &a);
        if (call->format == ATOLL_JSON) {
            (void)json_dumpf(t.json, text.file, JSON_INDENT(2));
            (void)fputc('\n', text.file);
        }
        *call->out = api_text_end(&text);
        diag_done(&json_cleanup, true);
        diag_done(&arena_cleanup, true);
        return;
    }
    const char *near = diag_nearest(call->what, names, sizeof lists / sizeof *lists);
    diag_mistake("there is no list of '%s'%s%s%s", call->what, near ? "; did you mean '" : "",
                 near ? near : "",
                 near ? "'?" : "; there are machines, workloads, policies, params and stats");
}

atoll_status atoll_list(atoll_sim *sim, const char *what, atoll_format format, char **text)
{
    return api_run(sim, list, &(struct list_call){sim, what, format, text});
}
