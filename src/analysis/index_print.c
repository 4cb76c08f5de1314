/* index_print: indices in CUDA's terms. See locality.h. */
#include <stdio.h>

#include "analysis/index.h"

static uint32_t root_of(const struct symbolic *s, uint32_t loop)
{
    while (s->loops[loop].parent != SYMBOLIC_NO_LOOP) loop = s->loops[loop].parent;
    return loop;
}

/* Does the loop, or one in it, count in some index? */
static bool is_shown(const struct locality_table *t, uint32_t loop)
{
    const struct symbolic *s = t->symbolic;
    for (uint32_t l = loop; l < s->n_loops; l++)
        if (t->shown_loops & expr_loop_bit(l) && symbolic_loop_contains(s, loop, l)) return true;
    return false;
}

/* m, n, ... for the outermost loops that count in some index, m2 for a loop inside the first, m2b for another
 * one beside that. */
static void name_loop(const struct locality_table *t, uint32_t loop, char *buf, size_t bytes)
{
    static const char letters[] = "mnqrsuvw";
    const struct symbolic *s = t->symbolic;
    const uint32_t root = root_of(s, loop), depth = s->loops[loop].depth;
    uint32_t roots = 0, beside = 0;
    for (uint32_t l = 0; l < root; l++) roots += s->loops[l].parent == SYMBOLIC_NO_LOOP && is_shown(t, l);
    for (uint32_t l = 0; l < loop; l++)
        beside += s->loops[l].depth == depth && t->shown_loops & expr_loop_bit(l) && root_of(s, l) == root;
    char letter[16], more[16] = "";
    if (roots < sizeof letters - 1)
        (void)snprintf(letter, sizeof letter, "%c", letters[roots]);
    else
        (void)snprintf(letter, sizeof letter, "m_%u_", roots);
    if (beside && beside < 25) (void)snprintf(more, sizeof more, "%c", (char)('a' + beside));
    if (beside >= 25) (void)snprintf(more, sizeof more, "_%u", beside);
    if (depth == 1)
        (void)snprintf(buf, bytes, "%s", letter);
    else
        (void)snprintf(buf, bytes, "%s%u%s", letter, depth, more);
}

static void name_atom(void *arg, const struct atom *a, char *buf, size_t bytes)
{
    const struct locality_table *t = arg;
    static const char *const names[] = {
        [PTX_SREG_TID_X] = "tx",     [PTX_SREG_TID_Y] = "ty",     [PTX_SREG_TID_Z] = "tz",
        [PTX_SREG_CTAID_X] = "bx",   [PTX_SREG_CTAID_Y] = "by",   [PTX_SREG_CTAID_Z] = "bz",
        [PTX_SREG_NTID_X] = "bdx",   [PTX_SREG_NTID_Y] = "bdy",   [PTX_SREG_NTID_Z] = "bdz",
        [PTX_SREG_NCTAID_X] = "gdx", [PTX_SREG_NCTAID_Y] = "gdy", [PTX_SREG_NCTAID_Z] = "gdz"};
    switch ((enum atom_kind)a->kind) {
    case ATOM_SREG:
        if (a->id < sizeof names / sizeof *names && names[a->id])
            (void)snprintf(buf, bytes, "%s", names[a->id]);
        else
            (void)snprintf(buf, bytes, "%s", ptx_sreg_name((enum ptx_sreg)a->id));
        return;
    case ATOM_PARAM: {
        const struct ptx_func *f = t->kernel;
        (void)snprintf(buf, bytes, "param+%u", a->id);
        for (uint32_t n = 0; n < f->n_params; n++) {
            const struct ptx_symbol *s = &f->module->symbols[f->first_param + f->n_rets + n];
            if (a->id < s->offset || a->id >= s->offset + s->size_bytes) continue;
            if (s->size_bytes > 8)
                (void)snprintf(buf, bytes, "p%u.%u", n, (unsigned)(a->id - s->offset));
            else
                (void)snprintf(buf, bytes, "p%u", n);
        }
        return;
    }
    case ATOM_BASE: (void)snprintf(buf, bytes, "&%.60s", a->symbol->name); return;
    case ATOM_IV: name_loop(t, a->id, buf, bytes); return;
    case ATOM_DATA: {
        uint32_t k = 0;
        const struct symbolic *s = t->symbolic;
        while (k + 1 < s->n_activations && s->activations[k + 1].first_site <= a->id) k++;
        const struct ptx_func *f = s->activations[k].func;
        const uint32_t pc = a->id - s->activations[k].first_site;
        (void)snprintf(buf, bytes, "load@%u", pc < f->n_instrs ? f->instrs[pc].line : 0);
        return;
    }
    case ATOM_PHI:
    case ATOM_OTHER:
    case ATOM_OP:
    case ATOM_MERGE: break;
    }
    (void)snprintf(buf, bytes, "?");
}

char *locality_print(const struct locality_table *t, const struct locality_row *row, const struct expr *e,
                     char *buf, uint32_t buf_bytes, bool *in_bytes)
{
    struct expr_pool *p = (struct expr_pool *)(uintptr_t)&t->symbolic->pool;
    const struct expr *shown = expr_const(p, 0);
    *in_bytes = false;
    for (uint32_t k = 0; k < e->n && !*in_bytes; k++) {
        *in_bytes = !row->element_bytes || e->terms[k].coef % row->element_bytes;
        if (*in_bytes) break;
        const struct term part = {e->terms[k].coef / row->element_bytes, e->terms[k].mono};
        shown = expr_add(p, shown, expr_term(p, &part));
    }
    return expr_print(*in_bytes ? e : shown, name_atom, (void *)(uintptr_t)t, buf, buf_bytes);
}
