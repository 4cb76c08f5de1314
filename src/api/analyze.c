/* analyze: what can be said about a PTX file without running it. */
#include "api/sim.h"
#include "exec/exec.h"
#include "ptx/ir.h"

struct coverage_call {
    const char *path;
    atoll_format format;
    char **out;
};

static void drop_arena(void *arg) { arena_free(arg); }

static void write_json(struct arena *a, const struct ptx_module *m, FILE *out)
{
    struct ptx_uncovered *list;
    const uint32_t count = ptx_coverage(a, m, exec_supports, &list);
    json_t *rows = json_array();
    for (uint32_t i = 0; i < count; i++) {
        char text[256];
        const struct ptx_instr *instr = &list[i].func->instrs[list[i].pc];
        (void)json_array_append_new(rows,
                                    json_pack("{s:s, s:I, s:s}", "function", list[i].func->name, "line",
                                              (json_int_t)ptx_place(list[i].func, instr).line, "instruction",
                                              ptx_print_instr(list[i].func, instr, text, sizeof text)));
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
    const struct ptx_module *m = ptx_parse_file(&a, call->path);
    api_text_begin(&text);
    if (call->format == ATOLL_JSON)
        write_json(&a, m, text.file);
    else
        (void)fputs(ptx_coverage_text(&a, m, exec_supports), text.file);
    *call->out = api_text_end(&text);
    diag_done(&dropping, true);
}

atoll_status atoll_coverage(atoll_sim *sim, const char *ptx_path, atoll_format format, char **text)
{
    return api_run(sim, coverage, &(struct coverage_call){ptx_path, format, text});
}
