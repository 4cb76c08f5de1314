/* report: see report.h. */
#include "analysis/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/index.h"
#include "analysis/readonly.h"
#include "exec/exec.h"

struct reporting {
    struct arena *arena; /* of this kernel */
    const struct report_request *request;
    const struct ptx_func *kernel;
    FILE *out;
    json_t *json; /* of the kernel, or NULL */
    const struct locality_table *table;
    bool launch; /* grid and block are given */
    uint8_t *params, *known;
    uint64_t *sizes; /* by byte of the parameter block: bytes of the structure behind it, 0: not given */
    bool *used;      /* by request param */
};

/* ---- names and places ---- */

static const struct ptx_symbol *param_symbol(const struct ptx_func *f, uint32_t n)
{
    return &f->module->symbols[f->first_param + f->n_rets + n];
}

static const char *source_of(struct arena *a, const struct ptx_func *f, uint32_t pc)
{
    uint32_t line;
    const char *file = ptx_loc_file(f->module, &f->instrs[pc], &line);
    if (!file) return NULL;
    const char *slash = strrchr(file, '/');
    return arena_printf(a, "%s:%u", slash ? slash + 1 : file, line);
}

/* "line 40 (k.cu:12)" */
static const char *place_text(struct arena *a, const struct readonly_place *p)
{
    if (!p->func) return "nothing";
    const char *source = source_of(a, p->func, p->pc);
    return arena_printf(a, "%s at line %u%s%s%s", ptx_spelling(p->func, &p->func->instrs[p->pc]),
                        p->func->instrs[p->pc].line, source ? " (" : "", source ? source : "",
                        source ? ")" : "");
}

/* ---- the user's numbers ---- */

static bool parse_value(const char *text, uint64_t *value)
{
    static const char *const units[] = {"", "K", "M", "G", "T"};
    char *end;
    errno = 0;
    const bool negative = *text == '-';
    *value = negative ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    if (end == text || errno) return false;
    while (*end == ' ') end++;
    for (uint32_t k = 0; k < 5; k++) {
        const size_t len = strlen(units[k]);
        if (strncasecmp(end, units[k], len)) continue;
        const char *rest = end + len;
        if (!strcmp(rest, "") || !strcmp(rest, "B") || (k && !strcmp(rest, "iB"))) {
            const uint64_t plain = *value;
            *value <<= 10 * k;
            return negative ? (int64_t)*value >> (10 * k) == (int64_t)plain : *value >> (10 * k) == plain;
        }
    }
    return false;
}

static bool name_is(const struct ptx_func *f, uint32_t n, const char *name, size_t len)
{
    char shown[16], number[16];
    (void)snprintf(shown, sizeof shown, "p%u", n);
    (void)snprintf(number, sizeof number, "%u", n);
    const char *const names[] = {param_symbol(f, n)->name, shown, number};
    for (uint32_t k = 0; k < 3; k++)
        if (strlen(names[k]) == len && !strncmp(names[k], name, len)) return true;
    return false;
}

static bool is_pointer_param(const struct locality_table *t, uint32_t offset)
{
    for (uint32_t k = 0; k < t->n_arguments; k++)
        if (t->arguments[k].param != UINT32_MAX && t->arguments[k].param_offset == offset) return true;
    return false;
}

/* "p2.16" of a structure: the field at byte 16. Returns its size as the kernel reads it, 0: no such field. */
static uint32_t field_size(const struct locality_table *t, uint32_t offset)
{
    const struct expr_table *atoms = &t->symbolic->pool.atoms;
    for (uint32_t k = 0; k < atoms->capacity; k++) {
        const struct atom *a = atoms->slots[k];
        if (a && a->kind == ATOM_PARAM && a->id == offset) return a->size_bytes;
    }
    return 0;
}

/* Does the number fit, with a sign or without? */
static bool fits(uint64_t value, uint32_t bytes)
{
    if (bytes >= 8) return true;
    const uint64_t most = ((uint64_t)1 << (8 * bytes)) - 1;
    return value <= most || value >= ~(most >> 1);
}

static void set_param(struct reporting *r, const char *text, uint64_t offset, uint32_t bytes, uint64_t value)
{
    if (bytes > 8 || offset + bytes > r->kernel->param_bytes)
        diag_mistake("--param %s: the parameter is a structure of %u bytes; name a field, such as p2.16",
                     text, bytes);
    if (is_pointer_param(r->table, (uint32_t)offset)) {
        r->sizes[offset] = value;
        return;
    }
    if (!fits(value, bytes))
        diag_mistake("--param %s: the parameter has %u bits, which do not hold the value", text, 8 * bytes);
    memcpy(r->params + offset, &value, bytes);
    memset(r->known + offset, 1, bytes);
}

/* "p2.16": the number behind the dot, when it is a byte of the structure. */
static bool parse_field(const char *text, const struct ptx_symbol *s, uint64_t *offset)
{
    char *end;
    if (*text < '0' || *text > '9') return false;
    *offset = strtoull(text, &end, 10);
    return *end == '=' && *offset < s->size_bytes;
}

static void read_params(struct reporting *r)
{
    const struct ptx_func *f = r->kernel;
    for (size_t k = 0; k < r->request->param_count; k++) {
        const char *text = r->request->params[k], *equals = strchr(text, '=');
        uint64_t value;
        if (!equals || !parse_value(equals + 1, &value))
            diag_mistake("--param takes NAME=VALUE, such as --param p3=1024 or --param p0=64MiB (bytes of "
                         "what a pointer points to), not '%s'",
                         text);
        const size_t len = (size_t)(equals - text);
        const char *dot = memchr(text, '.', len);
        for (uint32_t n = 0; n < f->n_params; n++) {
            const struct ptx_symbol *s = param_symbol(f, n);
            if (name_is(f, n, text, len)) {
                set_param(r, text, s->offset, (uint32_t)s->size_bytes, value);
                r->used[k] = true;
            } else if (dot && name_is(f, n, text, (size_t)(dot - text))) {
                uint64_t field;
                if (!parse_field(dot + 1, s, &field)) continue;
                const uint32_t bytes = field_size(r->table, (uint32_t)(s->offset + field));
                if (!bytes) continue;
                set_param(r, text, s->offset + field, bytes, value);
                r->used[k] = true;
            }
        }
    }
}

static bool find_size(void *user, const struct locality_argument *a, uint64_t *base, uint64_t *bytes)
{
    const struct reporting *r = user;
    *base = 0;
    *bytes = a->variable ? a->variable->size_bytes : a->param != UINT32_MAX ? r->sizes[a->param_offset] : 0;
    return *bytes != 0;
}

static struct locality_launch launch_of(struct reporting *r)
{
    struct locality_launch l = {.params = r->params,
                                .param_bytes = r->kernel->param_bytes,
                                .param_known = r->known,
                                .find = find_size,
                                .user = r};
    memcpy(l.grid, r->request->grid, sizeof l.grid);
    memcpy(l.block, r->request->block, sizeof l.block);
    return l;
}

static void put_launch(struct reporting *r)
{
    exec_check_dimensions(r->kernel->name, r->request->grid, r->request->block);
    const struct locality_launch l = launch_of(r);
    r->table = locality_at_launch(r->arena, r->table, &l);
}

/* ---- read-only data ---- */

static const char *origin_name(struct arena *a, const struct ptx_func *f, const struct readonly_origin *o)
{
    if (o->variable) return o->variable->name;
    const uint32_t n = o->symbol - (f->first_param + f->n_rets);
    if (param_symbol(f, n)->size_bytes > 8) return arena_printf(a, "p%u.%u", n, 8 * o->granule);
    return arena_printf(a, "p%u", n);
}

struct verdict {
    const char *name, *text, *reason;
    const struct readonly_place *place;
};

static struct verdict verdict_of(struct reporting *r, const struct readonly_func *f,
                                 const struct readonly_origin *o, bool read_only)
{
    struct verdict v = {.name = origin_name(r->arena, r->kernel, o)};
    if (read_only) {
        v.text = "read-only";
        v.place = o->plain.func ? &o->read : &o->nc;
        v.reason = arena_printf(r->arena, "%s, first by %s",
                                !o->plain.func ? "promised by ld.global.nc" : "only read",
                                place_text(r->arena, v.place));
    } else if (o->written.func) {
        v.text = o->read.func ? "read-write" : "written";
        v.place = &o->written;
        v.reason = arena_printf(r->arena, "written by %s", place_text(r->arena, v.place));
    } else if (!o->read.func) {
        v.text = "not accessed";
        v.reason = "an integer, or a pointer that is not used";
    } else {
        v.text = "read-write";
        v.place = &f->unknown_store;
        v.reason = f->unknown_store.func ? arena_printf(r->arena, "the target of %s is not known",
                                                        place_text(r->arena, v.place))
                                         : "the kernel cannot be followed (recursion, or 32-bit addresses)";
    }
    return v;
}

/* Origins as the kernel declares its parameters; variables last. */
static const uint32_t *parameter_order(struct arena *a, const struct readonly_func *f)
{
    uint32_t *order = ARENA_ARRAY(a, uint32_t, f->n_origins + 1);
    for (uint32_t k = 0; k < f->n_origins; k++) {
        uint32_t at = k;
        const struct readonly_origin *o = &f->origins[k];
        for (; at; at--) {
            const struct readonly_origin *before = &f->origins[order[at - 1]];
            if (before->symbol < o->symbol || (before->symbol == o->symbol && before->granule <= o->granule))
                break;
            order[at] = order[at - 1];
        }
        order[at] = k;
    }
    return order;
}

/* Bytes of the structure: of a variable always known, of an argument when the user gives them; 0: not known.
 */
static uint64_t origin_bytes(const struct reporting *r, const struct readonly_origin *o)
{
    if (o->variable) return o->variable->size_bytes;
    return r->sizes[r->kernel->module->symbols[o->symbol].offset + 8 * (uint64_t)o->granule];
}

/* A 64-bit number that is added to pointers, such as a pitch: every access has another parameter as its base.
 */
static bool is_number(const struct reporting *r, const struct readonly_origin *o)
{
    const uint64_t offset =
        o->variable ? 0 : r->kernel->module->symbols[o->symbol].offset + 8 * (uint64_t)o->granule;
    if (o->variable || is_pointer_param(r->table, (uint32_t)offset)) return false;
    for (uint32_t k = 0; k < r->table->n_rows; k++)
        if (r->table->rows[k].argument == LOCALITY_NO_ARGUMENT) return false;
    return true;
}

static void report_readonly(struct reporting *r, const struct readonly_func *f)
{
    const uint64_t read_only = readonly_decide_alone(f);
    const uint32_t *order = parameter_order(r->arena, f);
    json_t *rows = r->json ? json_array() : NULL;
    uint32_t shown = 0;
    for (uint32_t n = 0; n < f->n_origins; n++) {
        const uint32_t k = order[n];
        const struct readonly_origin *o = &f->origins[k];
        if ((!o->read.func && !o->written.func) || is_number(r, o)) continue;
        const uint64_t bytes = origin_bytes(r, o);
        const struct verdict v = verdict_of(r, f, o, read_only >> k & 1);
        if (r->out && !shown++)
            (void)fprintf(r->out,
                          "  read-only data (while arguments do not overlap)\n    %-10s %-12s %-12s why\n",
                          "argument", "verdict", "bytes");
        if (r->out)
            (void)fprintf(r->out, "    %-10s %-12s %-12s %s\n", v.name, v.text,
                          bytes ? arena_printf(r->arena, "%llu", (unsigned long long)bytes) : "-", v.reason);
        if (!rows) continue;
        json_t *row = json_pack("{s:s, s:s, s:s, s:I}", "argument", v.name, "verdict", v.text, "reason",
                                v.reason, "element_bytes", (json_int_t)o->element_bytes);
        (void)json_object_set_new(row, "bytes", bytes ? json_integer((json_int_t)bytes) : json_null());
        if (v.place && v.place->func)
            (void)json_object_set_new(row, "line", json_integer(v.place->func->instrs[v.place->pc].line));
        (void)json_array_append_new(rows, row);
    }
    if (f->anything && r->out)
        (void)fputs(
            "  read-only data: none: the kernel cannot be followed (recursion, or 32-bit addresses)\n",
            r->out);
    if (rows) (void)json_object_set_new(r->json, "read_only", rows);
}

/* ---- locality ---- */

static const char *kinds_text(uint8_t kinds)
{
    static const char *const texts[] = {"-", "R", "W", "RW", "A", "RA", "WA", "RWA"};
    return texts[kinds & 7];
}

static const char *row_index(struct reporting *r, const struct locality_row *row)
{
    char text[400];
    bool in_bytes;
    const char *name = row->argument == LOCALITY_NO_ARGUMENT ? "?" : r->table->arguments[row->argument].name;
    locality_print(r->table, row, row->index, text, sizeof text, &in_bytes);
    return in_bytes ? arena_printf(r->arena, "%s + (%s) bytes", name, text)
                    : arena_printf(r->arena, "%s[%s]", name, text);
}

static const char *row_stride(struct reporting *r, const struct locality_row *row)
{
    char text[200];
    bool in_bytes;
    if (row->motion_loop == SYMBOLIC_NO_LOOP && !row->stride) return "-";
    if (!row->stride) return "irregular";
    const char *about = row->linear ? "" : "about ";
    if (r->launch && row->stride_bytes)
        return arena_printf(r->arena, "%s%lld B", about, (long long)row->stride_bytes);
    locality_print(r->table, row, row->stride, text, sizeof text, &in_bytes);
    return arena_printf(r->arena, in_bytes ? "%s%s B" : "%s%s", about, text);
}

static const char *row_datablock(struct reporting *r, const struct locality_row *row)
{
    if (r->launch)
        return row->datablock_bytes
                   ? arena_printf(r->arena, "%llu B", (unsigned long long)row->datablock_bytes)
                   : "-";
    static const char *const dims[] = {"bdx", "bdy", "bdz"};
    const char *text = arena_printf(r->arena, "%u B", row->element_bytes);
    for (int k = 0; k < 3; k++)
        if (row->index->deps & (uint32_t)DEP_TX << k) text = arena_printf(r->arena, "%s*%s", dims[k], text);
    return text;
}

static json_t *row_json(struct reporting *r, const struct locality_row *row)
{
    const struct locality_action *act = locality_action(row->class);
    json_t *j =
        json_pack("{s:s, s:I, s:s, s:I, s:s, s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:s}", "index",
                  row_index(r, row), "line", (json_int_t)row->line, "class", act->class_name, "table_row",
                  (json_int_t)row->class, "kinds", kinds_text(row->kinds), "element_bytes",
                  (json_int_t)row->element_bytes, "accesses", (json_int_t)row->accesses, "stride",
                  row_stride(r, row), "datablock", row_datablock(r, row), "scheduler", act->scheduler_name,
                  "placement", act->placement_name, "cache", act->caching_name, "sharing", act->sharing);
    const char *source = source_of(r->arena, row->func, row->pc);
    if (source) (void)json_object_set_new(j, "source", json_string(source));
    if (row->argument != LOCALITY_NO_ARGUMENT)
        (void)json_object_set_new(j, "argument", json_string(r->table->arguments[row->argument].name));
    if (row->motion_loop != SYMBOLIC_NO_LOOP)
        (void)json_object_set_new(j, "loop_line",
                                  json_integer(r->table->symbolic->loops[row->motion_loop].line));
    if (r->launch) {
        (void)json_object_set_new(j, "stride_bytes", json_integer(row->stride_bytes));
        (void)json_object_set_new(j, "datablock_bytes", json_integer((json_int_t)row->datablock_bytes));
    }
    return j;
}

static void report_rows(struct reporting *r)
{
    const struct locality_table *t = r->table;
    json_t *rows = r->json ? json_array() : NULL;
    if (r->out && t->n_rows)
        (void)fprintf(r->out, "  locality (%s grid)\n    %-6s %-4s %-18s %-14s %-14s access\n",
                      t->two_dimensional ? "two-dimensional" : "one-dimensional", "line", "kind", "class",
                      "stride", "datablock");
    for (uint32_t k = 0; k < t->n_rows; k++) {
        const struct locality_row *row = &t->rows[k];
        const char *source = source_of(r->arena, row->func, row->pc);
        if (r->out)
            (void)fprintf(r->out, "    %-6u %-4s %-18s %-14s %-14s %s%s%s\n", row->line,
                          kinds_text(row->kinds), locality_action(row->class)->class_name, row_stride(r, row),
                          row_datablock(r, row), row_index(r, row), source ? "   " : "",
                          source ? source : "");
        if (rows) (void)json_array_append_new(rows, row_json(r, row));
    }
    if (rows) (void)json_object_set_new(r->json, "locality", rows);
}

/* Which blocks touch the same data: by the class, and by the numbers of the launch. */
static const char *argument_sharing(struct reporting *r, const struct locality_argument *a)
{
    if (!r->launch || a->class != LOCALITY_NL || !a->overlap_bytes) return locality_action(a->class)->sharing;
    if (a->overlap_bytes == LOCALITY_OVERLAP_UNKNOWN) return "not known whether blocks overlap";
    return arena_printf(r->arena, "blocks overlap, two of them by up to %llu B",
                        (unsigned long long)a->overlap_bytes);
}

static void report_arguments(struct reporting *r)
{
    const struct locality_table *t = r->table;
    json_t *rows = r->json ? json_array() : NULL;
    if (r->out && t->n_arguments)
        (void)fprintf(
            r->out,
            "  structures, as LADM would treat them\n    %-10s %-18s %-12s %-13s %-7s which blocks share\n",
            "argument", "class", "scheduler", "placement", "cache");
    for (uint32_t k = 0; k < t->n_arguments; k++) {
        const struct locality_argument *a = &t->arguments[k];
        const struct locality_action *act = locality_action(a->class);
        if (r->out)
            (void)fprintf(r->out, "    %-10s %-18s %-12s %-13s %-7s %s\n", a->name, act->class_name,
                          act->scheduler_name, act->placement_name, act->caching_name,
                          argument_sharing(r, a));
        if (rows)
            (void)json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:I}", "argument",
                                                        a->name, "class", act->class_name, "scheduler",
                                                        act->scheduler_name, "placement", act->placement_name,
                                                        "cache", act->caching_name, "written",
                                                        (int)a->written, "bytes", (json_int_t)a->bytes));
    }
    for (uint32_t k = 0; rows && r->launch && k < t->n_arguments; k++) {
        const struct locality_argument *a = &t->arguments[k];
        if (a->class == LOCALITY_NL && a->overlap_bytes != LOCALITY_OVERLAP_UNKNOWN)
            (void)json_object_set_new(json_array_get(rows, k), "overlap_bytes",
                                      json_integer((json_int_t)a->overlap_bytes));
    }
    if (rows) (void)json_object_set_new(r->json, "structures", rows);
    if (t->winner == LOCALITY_NO_ARGUMENT) return;
    const struct locality_argument *w = &t->arguments[t->winner];
    if (r->out)
        (void)fprintf(
            r->out, "    blocks go %s, as %s asks: %s\n", locality_action(w->class)->scheduler_name, w->name,
            w->bytes ? "the largest structure" : "the first argument (give sizes with --param pN=BYTES)");
    if (r->json) {
        (void)json_object_set_new(r->json, "scheduler",
                                  json_string(locality_action(w->class)->scheduler_name));
        (void)json_object_set_new(r->json, "scheduler_argument", json_string(w->name));
    }
}

/* ---- placement on a machine ---- */

struct placing {
    struct reporting *report;
    struct locality_launch numbers;
    struct launch_arrays arrays;
};

static const struct launch_arrays *given_arrays(void *analysis)
{
    return &((struct placing *)analysis)->arrays;
}

static const struct launch_span *given_layout(void *analysis, uint32_t array, uint32_t *count)
{
    const struct placing *p = analysis;
    return locality_layout(p->report->arena, p->report->table, &p->numbers, array, count);
}

/* Structures lie far apart, each at the start of a page of any size. */
static void report_placement(struct reporting *r)
{
    const struct locality_table *t = r->table;
    struct launch_array *arrays = ARENA_ARRAY(r->arena, struct launch_array, t->n_arguments + 1);
    struct placing p = {.report = r, .numbers = launch_of(r)};
    if (!r->request->place || !r->launch || !t->n_arguments) return;
    for (uint32_t k = 0; k < t->n_arguments; k++) {
        const struct locality_argument *a = &t->arguments[k];
        arrays[k] = (struct launch_array){.base = (uint64_t)(k + 1) << 40,
                                          .allocation = (uint64_t)(k + 1) << 40,
                                          .bytes = a->bytes,
                                          .locality = (uint8_t)a->class,
                                          .stride_bytes = t->rows[a->row].stride_bytes,
                                          .datablock_bytes = t->rows[a->row].datablock_bytes,
                                          .written = a->written,
                                          .name = a->name,
                                          .first = a->first,
                                          .end = a->end,
                                          .pattern = a->pattern,
                                          .patterns = a->patterns,
                                          .any = a->any};
    }
    p.arrays = (struct launch_arrays){arrays, t->n_arguments, t->winner};
    struct launch_facts facts = {.name = r->kernel->name,
                                 .blocks =
                                     (uint64_t)p.numbers.grid[0] * p.numbers.grid[1] * p.numbers.grid[2],
                                 .arrays = given_arrays,
                                 .layout = given_layout,
                                 .analysis = &p};
    memcpy(facts.grid, p.numbers.grid, sizeof facts.grid);
    memcpy(facts.block, p.numbers.block, sizeof facts.block);
    r->request->place(r->request->user, r->arena, &facts, r->out, r->json);
}

/* ---- kernels ---- */

static void free_frames(void *frames) { frame_cache_free(frames); }
static void free_readonly(void *readonly) { readonly_free(readonly); }

static void head(struct reporting *r)
{
    const struct ptx_func *f = r->kernel;
    if (r->out) (void)fprintf(r->out, "kernel %s (%s:%u)\n", f->name, f->module->source->name, f->line);
    if (!r->json) return;
    (void)json_object_set_new(r->json, "kernel", json_string(f->name));
    (void)json_object_set_new(r->json, "file", json_string(f->module->source->name));
    (void)json_object_set_new(r->json, "line", json_integer(f->line));
}

static void report_kernel(struct reporting *r, struct frame_cache *frames, struct readonly *readonly)
{
    struct diag_cleanup freeing;
    const struct ptx_func *f = r->kernel;
    struct symbolic *s = symbolic_run(r->arena, frames, f);
    diag_defer(&freeing, symbolic_free, s);
    r->table = index_build(r->arena, s, f);
    r->params = ARENA_ARRAY(r->arena, uint8_t, f->param_bytes + 8);
    r->known = ARENA_ARRAY(r->arena, uint8_t, f->param_bytes + 8);
    r->sizes = ARENA_ARRAY(r->arena, uint64_t, f->param_bytes + 8);
    read_params(r);
    if (r->launch) put_launch(r);
    head(r);
    report_readonly(r, readonly_of(readonly, f));
    report_rows(r);
    report_arguments(r);
    report_placement(r);
    if (r->json)
        (void)json_object_set_new(r->json, "two_dimensional", json_boolean(r->table->two_dimensional));
    if (r->out) (void)fputc('\n', r->out);
    diag_done(&freeing, true);
}

static void drop_arena(void *arena) { arena_free(arena); }
static void drop_json(void *json) { json_decref(json); }

static bool is_wanted(const struct report_request *q, const struct ptx_func *f)
{
    return f->is_entry && f->has_body && (!q->entry || !strcmp(q->entry, f->name));
}

static void all_used(const struct report_request *q, const bool *used, uint32_t kernels)
{
    if (!kernels && q->entry) diag_mistake("there is no kernel '%s'", q->entry);
    for (size_t k = 0; k < q->param_count && kernels; k++)
        if (!used[k])
            diag_mistake("--param %s: no kernel has such a parameter; parameters are named by their PTX "
                         "name, or p0, p1, ... (p2.16: byte 16 of a structure)",
                         q->params[k]);
}

json_t *analysis_report(struct arena *arena, struct ptx_module *const *modules, uint32_t count,
                        const struct report_request *request, FILE *out, bool json)
{
    struct frame_cache frames;
    struct readonly readonly;
    struct arena work;
    struct diag_cleanup frames_go, readonly_goes, work_goes, json_goes;
    json_t *all = json_array();
    bool *used = ARENA_ARRAY(arena, bool, request->param_count + 1);
    uint32_t kernels = 0;
    (void)ptx_link(arena, modules, count);
    arena_init(&work);
    frame_cache_init(&frames, arena);
    readonly_init(&readonly, arena, &frames);
    diag_defer(&json_goes, drop_json, all);
    diag_defer(&work_goes, drop_arena, &work);
    diag_defer(&frames_go, free_frames, &frames);
    diag_defer(&readonly_goes, free_readonly, &readonly);
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t k = 0; k < modules[m]->n_funcs; k++) {
            const struct ptx_func *f = modules[m]->funcs[k];
            if (!is_wanted(request, f)) continue;
            struct reporting r = {.arena = &work,
                                  .request = request,
                                  .kernel = f,
                                  .out = out,
                                  .json = json ? json_object() : NULL,
                                  .launch = request->grid[0] != 0,
                                  .used = used};
            if (r.json) (void)json_array_append_new(all, r.json);
            report_kernel(&r, &frames, &readonly);
            arena_reset(&work);
            kernels++;
        }
    all_used(request, used, kernels);
    if (out && !kernels) (void)fputs("no kernel (.entry with a body) here\n", out);
    diag_done(&readonly_goes, true);
    diag_done(&frames_go, true);
    diag_done(&work_goes, true);
    diag_done(&json_goes, !json);
    return json ? all : NULL;
}
