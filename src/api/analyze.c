/* analyze: what can be said about a PTX file without running it. */
#include "analysis/report.h"
#include "api/sim.h"
#include "exec/exec.h"
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

struct analyze_call {
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
    return api_run(sim, analyze, &(struct analyze_call){what, format, text});
}
