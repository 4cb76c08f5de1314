/* coverage: what of a module Atoll cannot execute, known before the run. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "ptx/ir.h"
#include "ptx/parse.h"

struct search {
    const struct ptx_ability *can;
    struct strmap defined; /* functions with a body, of all modules */
};

static void free_search(void *arg) { strmap_free(&((struct search *)arg)->defined); }

/* The function that a call names and nobody has; NULL: all is well. */
static const char *undefined_callee(const struct search *s, const struct ptx_func *f,
                                    const struct ptx_instr *i)
{
    if (i->op != PTX_OP_CALL || !s->can->function) return NULL;
    const struct ptx_operand *target = ptx_operand_at(f, i, 0);
    if (target->kind != PTX_OPND_SYM) return NULL;
    const struct ptx_symbol *callee = &f->module->symbols[target->id];
    if (callee->kind != PTX_SYM_FUNC || callee->func->has_body || s->can->function(callee->name)) return NULL;
    if (ptx_callee(f, target->id)) return NULL; /* an alias */
    return strmap_find(&s->defined, callee->name, strlen(callee->name)) ? NULL : callee->name;
}

/* Appends what f has to out (or counts it, when out is NULL). */
static uint32_t search_function(const struct search *s, const struct ptx_func *f, struct ptx_uncovered *out)
{
    uint32_t n = 0;
    for (uint32_t pc = 0; pc < f->n_instrs; pc++) {
        const struct ptx_instr *i = &f->instrs[pc];
        const char *undefined = NULL;
        if (!(i->flags & PTX_F_UNKNOWN) && s->can->instruction(i)) {
            undefined = undefined_callee(s, f, i);
            if (!undefined) continue;
        }
        if (out) out[n] = (struct ptx_uncovered){.func = f, .pc = pc, .undefined = undefined};
        n++;
    }
    return n;
}

static uint32_t search_modules(const struct search *s, struct ptx_module *const *modules, uint32_t count,
                               struct ptx_uncovered *out)
{
    uint32_t n = 0;
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t k = 0; k < modules[m]->n_funcs; k++)
            n += search_function(s, modules[m]->funcs[k], out ? out + n : NULL);
    return n;
}

uint32_t ptx_coverage(struct arena *arena, struct ptx_module *const *modules, uint32_t count,
                      const struct ptx_ability *can, struct ptx_uncovered **list)
{
    struct search s = {.can = can};
    struct diag_cleanup cleanup;
    strmap_init(&s.defined);
    diag_defer(&cleanup, free_search, &s);
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t k = 0; k < modules[m]->n_funcs; k++) {
            const struct ptx_func *f = modules[m]->funcs[k];
            if (f->has_body) (void)strmap_put(&s.defined, f->name, strlen(f->name), NULL);
        }
    const uint32_t n = search_modules(&s, modules, count, NULL);
    *list = ARENA_ARRAY(arena, struct ptx_uncovered, n ? n : 1);
    (void)search_modules(&s, modules, count, *list);
    diag_done(&cleanup, true);
    return n;
}

/* ---- as text ---- */

static size_t first_word(const char *spelling)
{
    const char *dot = strchr(spelling, '.');
    return dot ? (size_t)(dot - spelling) : strlen(spelling);
}

static void put_text(struct ptx_vec *out, const char *text)
{
    const size_t len = strlen(text);
    memcpy(ptx_vec_push_many(out, len), text, len);
}

/* "(did you mean 'cos'?)", "(no file defines 'f': ...)" or "". */
static const char *remark(struct arena *arena, const struct ptx_ability *can, const struct ptx_uncovered *u)
{
    const struct ptx_instr *i = &u->func->instrs[u->pc];
    if (u->undefined) {
        const char *advice = can->advice ? can->advice(u->undefined) : NULL;
        return arena_printf(arena, "   (no file defines '%s'%s%s)", u->undefined, advice ? ": " : "",
                            advice ? advice : "");
    }
    if (i->op != PTX_OP_UNKNOWN) return "";
    const char *spelling = ptx_spelling(u->func, i), *near = ptx_nearest_op(spelling, first_word(spelling));
    return near ? arena_printf(arena, "   (did you mean '%s'?)", near) : "";
}

static void put_line(struct ptx_vec *out, struct arena *arena, const struct ptx_ability *can,
                     const struct ptx_uncovered *u)
{
    const struct ptx_func *f = u->func;
    const struct ptx_instr *i = &f->instrs[u->pc];
    char text[200];
    uint32_t source_line = 0;
    const char *file = ptx_loc_file(f->module, i, &source_line);
    put_text(out, arena_printf(arena, "%s:%u:%u: %s '%s': %s%s%s%s\n", f->module->source->name, i->line,
                               i->col, f->is_entry ? "kernel" : "function", f->name,
                               ptx_print_instr(f, i, text, sizeof text), remark(arena, can, u),
                               file ? "   from " : "",
                               file ? arena_printf(arena, "%s:%u", file, source_line) : ""));
}

/* How often each: a spelling of the module, or a function that is called. */
struct tally {
    const char *what;
    uint32_t count;
    bool is_call;
};

static int by_count(const void *a, const void *b)
{
    const struct tally *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return strcmp(x->what, y->what);
}

static void free_map(void *arg) { strmap_free(arg); }

static void put_summary(struct ptx_vec *out, struct arena *arena, const struct ptx_module *m,
                        const struct ptx_uncovered *list, uint32_t n)
{
    struct tally *tallies = ARENA_ARRAY(arena, struct tally, n ? n : 1);
    struct strmap seen;
    struct diag_cleanup cleanup;
    size_t count = 0;
    uint32_t here = 0;
    strmap_init(&seen);
    diag_defer(&cleanup, free_map, &seen);
    for (uint32_t k = 0; k < n; k++) {
        const struct ptx_func *f = list[k].func;
        if (f->module != m) continue;
        const char *what = list[k].undefined ? list[k].undefined : ptx_spelling(f, &f->instrs[list[k].pc]);
        bool fresh;
        uint64_t *at = strmap_put(&seen, what, strlen(what), &fresh);
        if (fresh) {
            *at = count;
            tallies[count++] = (struct tally){.what = what, .is_call = list[k].undefined};
        }
        tallies[*at].count++;
        here++;
    }
    diag_done(&cleanup, true);
    qsort(tallies, count, sizeof *tallies, by_count);
    put_text(out, arena_printf(arena, "%s: %u of %llu instructions cannot be executed%s\n", m->source->name,
                               here, (unsigned long long)m->n_instrs, here ? ":" : ""));
    for (size_t k = 0; k < count; k++)
        put_text(out, arena_printf(arena, "%8u  %s%s\n", tallies[k].count,
                                   tallies[k].is_call ? "call of " : "", tallies[k].what));
}

static void free_text(void *arg) { free(((struct ptx_vec *)arg)->items); }

char *ptx_coverage_text(struct arena *arena, struct ptx_module *const *modules, uint32_t count,
                        const struct ptx_ability *can)
{
    struct ptx_uncovered *list;
    const uint32_t n = ptx_coverage(arena, modules, count, can, &list);
    struct ptx_vec out = {.item_bytes = 1};
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, free_text, &out);
    for (uint32_t k = 0; k < n; k++) put_line(&out, arena, can, &list[k]);
    for (uint32_t m = 0; m < count; m++) put_summary(&out, arena, modules[m], list, n);
    char *text = arena_strndup(arena, out.items, out.count);
    diag_done(&cleanup, true);
    return text;
}
