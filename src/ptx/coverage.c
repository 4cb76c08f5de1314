/* coverage: what of a module Atoll cannot execute, known before the run. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ptx/ir.h"
#include "ptx/parse.h"

static bool executable(const struct ptx_instr *i, bool (*supported)(const struct ptx_instr *))
{
    return !(i->flags & PTX_F_UNKNOWN) && supported(i);
}

uint32_t ptx_coverage(struct arena *arena, const struct ptx_module *m,
                      bool (*supported)(const struct ptx_instr *i), struct ptx_uncovered **list)
{
    uint32_t n = 0;
    for (int fill = 0; fill < 2; fill++) {
        uint32_t at = 0;
        if (fill) *list = ARENA_ARRAY(arena, struct ptx_uncovered, n ? n : 1);
        for (uint32_t k = 0; k < m->n_funcs; k++) {
            const struct ptx_func *f = m->funcs[k];
            for (uint32_t pc = 0; pc < f->n_instrs; pc++) {
                if (executable(&f->instrs[pc], supported)) continue;
                if (fill) (*list)[at] = (struct ptx_uncovered){.func = f, .pc = pc};
                at++;
            }
        }
        n = at;
    }
    return n;
}

/* ---- as text ---- */

static size_t first_word(const char *spelling)
{
    const char *dot = strchr(spelling, '.');
    return dot ? (size_t)(dot - spelling) : strlen(spelling);
}

static void put_line(struct ptx_vec *out, struct arena *arena, const struct ptx_uncovered *u)
{
    const struct ptx_func *f = u->func;
    const struct ptx_instr *i = &f->instrs[u->pc];
    char text[200];
    uint32_t source_line = 0;
    const char *file = ptx_loc_file(f->module, i, &source_line);
    const char *near = NULL;
    if (i->op == PTX_OP_UNKNOWN) near = ptx_nearest_op(ptx_spelling(f, i), first_word(ptx_spelling(f, i)));
    const char *line =
        arena_printf(arena, "%s:%u: %s '%s': %s%s%s%s%s%s\n", f->module->source->name, i->line,
                     f->is_entry ? "kernel" : "function", f->name, ptx_print_instr(f, i, text, sizeof text),
                     near ? "   (did you mean '" : "", near ? near : "", near ? "'?)" : "",
                     file ? "   from " : "", file ? arena_printf(arena, "%s:%u", file, source_line) : "");
    const size_t len = strlen(line);
    memcpy(ptx_vec_push_many(out, len), line, len);
}

struct tally {
    uint32_t spelling, count;
};

static int by_count(const void *a, const void *b)
{
    const struct tally *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return x->spelling < y->spelling ? -1 : x->spelling > y->spelling;
}

static void put_summary(struct ptx_vec *out, struct arena *arena, const struct ptx_module *m,
                        const struct ptx_uncovered *list, uint32_t n)
{
    struct tally *tallies = ARENA_ARRAY(arena, struct tally, m->n_spellings + 1);
    for (uint32_t i = 0; i < m->n_spellings; i++) tallies[i].spelling = i;
    for (uint32_t i = 0; i < n; i++) tallies[list[i].func->instrs[list[i].pc].spelling].count++;
    qsort(tallies, m->n_spellings, sizeof *tallies, by_count);
    const char *head = arena_printf(arena, "%s: %u of %llu instructions cannot be executed%s\n",
                                    m->source->name, n, (unsigned long long)m->n_instrs, n ? ":" : "");
    memcpy(ptx_vec_push_many(out, strlen(head)), head, strlen(head));
    for (uint32_t i = 0; i < m->n_spellings && tallies[i].count; i++) {
        const char *line =
            arena_printf(arena, "%8u  %s\n", tallies[i].count, m->spellings[tallies[i].spelling]);
        memcpy(ptx_vec_push_many(out, strlen(line)), line, strlen(line));
    }
}

static void free_text(void *arg) { free(((struct ptx_vec *)arg)->items); }

char *ptx_coverage_text(struct arena *arena, const struct ptx_module *m,
                        bool (*supported)(const struct ptx_instr *i))
{
    struct ptx_uncovered *list;
    const uint32_t n = ptx_coverage(arena, m, supported, &list);
    struct ptx_vec out = {.item_bytes = 1};
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, free_text, &out);
    for (uint32_t i = 0; i < n; i++) put_line(&out, arena, &list[i]);
    put_summary(&out, arena, m, list, n);
    char *text = arena_strndup(arena, out.items, out.count);
    diag_done(&cleanup, true);
    return text;
}
