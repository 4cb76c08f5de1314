/* analyze: what can be said about a PTX file without running it. */
#include "analysis/locality.h"
#include "analysis/report.h"
#include "api/sim.h"
#include "exec/exec.h"
#include "policy/binding/predict.h"
#include "ptx/ir.h"

struct coverage_call {
    const char *const *paths;
    size_t count;
    atoll_format format;
    char **out;
};

static const struct ptx_ability atoll_can = {
    .instruction = exec_supports, .function = exec_provides, .advice = exec_advice};

static void drop_arena(void *arg) { arena_free(arg); }

static void write_json(struct arena *a, struct ptx_module *const *modules, uint32_t count, FILE *out)
{
    struct ptx_uncovered *list;
    const uint32_t found = ptx_coverage(a, modules, count, &atoll_can, &list);
    json_t *rows = json_array();
    for (uint32_t i = 0; i < found; i++) {
        char text[256];
        const struct ptx_func *f = list[i].func;
        const struct ptx_instr *instr = &f->instrs[list[i].pc];
        json_t *row = json_pack("{s:s, s:s, s:I, s:I, s:s}", "file", f->module->source->name, "function",
                                f->name, "line", (json_int_t)instr->line, "column", (json_int_t)instr->col,
                                "instruction", ptx_print_instr(f, instr, text, sizeof text));
        if (list[i].undefined) (void)json_object_set_new(row, "undefined", json_string(list[i].undefined));
        (void)json_array_append_new(rows, row);
    }
    (void)json_dumpf(rows, out, JSON_INDENT(2));
    (void)fputc('\n', out);
    json_decref(rows);
}

static void coverage(void *arg)
{
    const struct coverage_call *call = arg;
    struct arena a;
    struct diag_cleanup dropping;
    struct api_text text;
    arena_init(&a);
    diag_defer(&dropping, drop_arena, &a);
    struct ptx_module **modules = ARENA_ARRAY(&a, struct ptx_module *, call->count + 1);
    for (size_t i = 0; i < call->count; i++) modules[i] = ptx_parse_file(&a, call->paths[i]);
    api_text_begin(&text);
    if (call->format == ATOLL_JSON)
        write_json(&a, modules, (uint32_t)call->count, text.file);
    else
        (void)fputs(ptx_coverage_text(&a, modules, (uint32_t)call->count, &atoll_can), text.file);
    *call->out = api_text_end(&text);
    diag_done(&dropping, true);
}

atoll_status atoll_coverage(atoll_sim *sim, const char *const *ptx, size_t ptx_count, atoll_format format,
                            char **text)
{
    return api_run(sim, coverage, &(struct coverage_call){ptx, ptx_count, format, text});
}

/* ---- LASP on the machine of the simulator ---- */

static const char *binding_text(struct arena *a, const struct lasp_plan *plan)
{
    const struct binding *const b = &plan->binding;
    switch (b->kind) {
    case BINDING_ROWS:
        return b->in_turn ? "rows of the grid per GPU, its chiplets in turn" : "contiguous rows of the grid";
    case BINDING_COLUMNS:
        return b->in_turn ? "columns of the grid per GPU, its chiplets in turn"
                          : "contiguous columns of the grid";
    case BINDING_RUNS:
    case BINDING_TURNS: break;
    }
    return arena_printf(a, "contiguous runs of the grid, cut at multiples of %llu blocks",
                        (unsigned long long)b->batch);
}

static void place_array(const struct config *c, struct arena *arena, const struct launch_facts *l,
                        const struct nodes *n, const struct lasp_plan *plan, uint32_t k, FILE *out,
                        json_t *rows)
{
    const struct launch_array *const a = &launch_arrays(l)->array[k];
    const struct prediction p = predict_array(arena, c, l, n, plan, k);
    const char *const name = locality_action((enum locality_class)lasp_class(c, l, k))->class_name;
    if (out) {
        (void)fprintf(out, "    %-10s %-18s %-13s %8llu %8llu   ", a->name, name, cut_method_name(p.method),
                      (unsigned long long)p.all_pages, (unsigned long long)p.max_pages);
        if (p.known)
            (void)fprintf(out, "%5.1f %%      %5.1f %%\n", 100 * p.off_chiplet, 100 * p.off_gpu);
        else
            (void)fputs("not known    not known\n", out);
    }
    if (!rows) return;
    json_t *pages = json_array();
    for (uint32_t node = 0; node < n->count; node++)
        (void)json_array_append_new(pages, json_integer((json_int_t)p.pages[node]));
    json_t *row = json_pack("{s:s, s:s, s:s, s:o}", "argument", a->name, "class", name, "method",
                            cut_method_name(p.method), "pages", pages);
    (void)json_object_set_new(row, "off_chiplet", p.known ? json_real(p.off_chiplet) : json_null());
    (void)json_object_set_new(row, "off_gpu", p.known ? json_real(p.off_gpu) : json_null());
    (void)json_array_append_new(rows, row);
}

static void place(void *user, struct arena *arena, const struct launch_facts *l, FILE *out, json_t *json)
{
    const struct config *const c = user;
    const struct nodes n = nodes_at(c, NODE_CHIPLET, 1);
    const struct lasp_plan plan = lasp_plan(c, l, &n);
    const struct launch_arrays *const a = launch_arrays(l);
    const char *const winner = plan.winner == LAUNCH_NO_ARRAY ? "none" : a->array[plan.winner].name;
    json_t *rows = json ? json_array() : NULL;
    if (out)
        (void)fprintf(
            out,
            "  LASP on %u nodes (%u GPUs), pages of %llu B: winner %s, %s\n"
            "    %-10s %-18s %-13s %8s %8s   off-chiplet  off-GPU (shares of lines, before caches)\n",
            n.count, n.count / n.per_gpu, (unsigned long long)c->map.page_size, winner,
            binding_text(arena, &plan), "argument", "class", "nodes by", "pages", "max/node");
    for (uint32_t k = 0; k < a->count; k++)
        if (a->array[k].bytes) place_array(c, arena, l, &n, &plan, k, out, rows);
    if (json)
        (void)json_object_set_new(json, "placement",
                                  json_pack("{s:I, s:s, s:s, s:o}", "nodes", (json_int_t)n.count, "winner",
                                            winner, "binding", binding_text(arena, &plan), "structures",
                                            rows));
}

struct analyze_call {
    const struct config *machine; /* NULL: no placement */
    const struct atoll_analysis *what;
    atoll_format format;
    char **out;
};

static void analyze(void *arg)
{
    const struct analyze_call *call = arg;
    const struct atoll_analysis *what = call->what;
    struct arena a;
    struct diag_cleanup dropping;
    struct api_text text;
    arena_init(&a);
    diag_defer(&dropping, drop_arena, &a);
    struct ptx_module **modules = ARENA_ARRAY(&a, struct ptx_module *, what->ptx_count + 1);
    for (size_t i = 0; i < what->ptx_count; i++) modules[i] = ptx_parse_file(&a, what->ptx[i]);
    struct report_request request = {
        .entry = what->entry, .params = what->params, .param_count = what->param_count};
    for (int k = 0; k < 3; k++) {
        request.grid[k] = what->grid[k];
        request.block[k] = what->block[k];
    }
    if (call->machine) {
        request.place = place;
        request.user = (void *)(uintptr_t)call->machine;
    }
    api_text_begin(&text);
    if (call->format == ATOLL_JSON) {
        json_t *all = analysis_report(&a, modules, (uint32_t)what->ptx_count, &request, NULL, true);
        (void)json_dumpf(all, text.file, JSON_INDENT(2));
        (void)fputc('\n', text.file);
        json_decref(all);
    } else {
        (void)analysis_report(&a, modules, (uint32_t)what->ptx_count, &request, text.file, false);
    }
    *call->out = api_text_end(&text);
    diag_done(&dropping, true);
}

atoll_status atoll_analyze(atoll_sim *sim, const struct atoll_analysis *what, atoll_format format,
                           char **text)
{
    return api_run(sim, analyze,
                   &(struct analyze_call){what->placement ? &sim->machine.config : NULL, what, format, text});
}
