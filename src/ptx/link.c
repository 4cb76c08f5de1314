/* link: several modules to one program, and what a kernel needs of it.
 *
 * A symbol that other modules can see (visible, weak, common) is entered by name. Visible beats common beats
 * weak; two visible definitions are a mistake. Everything else keeps to its module. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "ptx/ir.h"

struct linker {
    struct arena *arena;
    struct ptx_program *program;
    struct strmap by_name; /* definition: pointer to struct ptx_symbol */
};

static void release_linker(void *arg) { strmap_free(&((struct linker *)arg)->by_name); }

static struct diag_place place_of(const struct ptx_symbol *s)
{
    return (struct diag_place){.source = s->module->source, .line = s->line, .col = 1, .width = 1};
}

static bool is_definition(const struct ptx_symbol *s)
{
    return s->kind == PTX_SYM_FUNC ? s->func->has_body : s->linkage != PTX_LINK_EXTERN;
}

static int strength(const struct ptx_symbol *s)
{
    return s->linkage == PTX_LINK_VISIBLE ? 3 : s->linkage == PTX_LINK_COMMON ? 2 : 1;
}

/* ---- names across modules ---- */

static void enter(struct linker *l, struct ptx_symbol *s)
{
    bool fresh;
    uint64_t *slot = strmap_put(&l->by_name, s->name, strlen(s->name), &fresh);
    if (fresh) {
        *slot = (uint64_t)(uintptr_t)s;
        return;
    }
    struct ptx_symbol *old = (struct ptx_symbol *)(uintptr_t)*slot;
    const int a = strength(old), b = strength(s);
    if (a == 3 && b == 3)
        diag_mistake_at(place_of(s), "'%s' is defined twice: also in '%s', line %u", s->name,
                        old->module->source->name, old->line);
    if (old->kind != s->kind)
        diag_mistake_at(place_of(s), "'%s' is a function in one module and a variable in another", s->name);
    if (b > a || (a == 2 && b == 2 && s->size_bytes > old->size_bytes)) *slot = (uint64_t)(uintptr_t)s;
}

static bool is_module_scope(const struct ptx_symbol *s) { return s->kind == PTX_SYM_FUNC || !s->func; }

static bool others_see(const struct ptx_symbol *s)
{
    return is_module_scope(s) && is_definition(s) &&
           (s->linkage == PTX_LINK_VISIBLE || s->linkage == PTX_LINK_WEAK || s->linkage == PTX_LINK_COMMON);
}

static void check_match(const struct ptx_symbol *use, const struct ptx_symbol *def)
{
    if (use->kind != def->kind)
        diag_mistake_at(place_of(use), "'%s' is a %s here and a %s in '%s', line %u", use->name,
                        use->kind == PTX_SYM_FUNC ? "function" : "variable",
                        def->kind == PTX_SYM_FUNC ? "function" : "variable", def->module->source->name,
                        def->line);
    if (use->kind == PTX_SYM_FUNC || use == def) return;
    if (use->space != def->space)
        diag_mistake_at(place_of(use), "'%s' is in .%s here and in .%s in '%s', line %u", use->name,
                        ptx_space_name((enum ptx_space)use->space),
                        ptx_space_name((enum ptx_space)def->space), def->module->source->name, def->line);
}

static void resolve(struct linker *l, struct ptx_symbol *s)
{
    if (!is_module_scope(s)) {
        s->def = s;
        return;
    }
    const bool exported = others_see(s);
    if (is_definition(s) && !exported) {
        s->def = s;
        return;
    }
    const bool dynamic_shared = s->kind == PTX_SYM_VAR && s->space == PTX_SPACE_SHARED && s->unsized;
    const uint64_t *slot = strmap_find(&l->by_name, s->name, strlen(s->name));
    if (slot) {
        s->def = (const struct ptx_symbol *)(uintptr_t)*slot;
        check_match(s, s->def);
    } else if (dynamic_shared) {
        s->def = s; /* its memory comes with the launch */
    } else if (s->kind == PTX_SYM_VAR) {
        diag_mistake_at(place_of(s),
                        "no module defines the external variable '%s': give the PTX file that defines it too",
                        s->name);
    }
}

/* An alias of an alias is followed this far. */
enum { ALIAS_HOPS_MAX = 16 };

static void resolve_aliases(struct ptx_module *m)
{
    for (uint32_t i = 0; i < m->n_aliases; i++) {
        const struct ptx_symbol *to = m->symbols[m->aliases[i].aliasee].def;
        for (uint32_t hops = 0; to && !to->func->has_body && hops < ALIAS_HOPS_MAX; hops++) to = to->def;
        if (!to || !to->func->has_body)
            diag_mistake_at(place_of(&m->symbols[m->aliases[i].alias]),
                            "alias '%s' stands for a function without body",
                            m->symbols[m->aliases[i].alias].name);
        m->symbols[m->aliases[i].alias].def = to;
    }
}

/* ---- program ---- */

static bool is_program_var(const struct ptx_symbol *s)
{
    return s->kind == PTX_SYM_VAR && s->def == s && s->space != PTX_SPACE_PARAM &&
           s->space != PTX_SPACE_LOCAL && s->space != PTX_SPACE_REG;
}

static void collect(struct linker *l)
{
    struct ptx_program *p = l->program;
    uint32_t n_vars = 0, n_entries = 0;
    for (uint32_t m = 0; m < p->n_modules; m++) {
        for (uint32_t i = 0; i < p->modules[m]->n_symbols; i++)
            n_vars += is_program_var(&p->modules[m]->symbols[i]);
        for (uint32_t i = 0; i < p->modules[m]->n_funcs; i++)
            n_entries += p->modules[m]->funcs[i]->is_entry && p->modules[m]->funcs[i]->has_body;
    }
    p->vars = ARENA_ARRAY(l->arena, const struct ptx_symbol *, n_vars ? n_vars : 1);
    p->entries = ARENA_ARRAY(l->arena, struct ptx_func *, n_entries ? n_entries : 1);
    for (uint32_t m = 0; m < p->n_modules; m++) {
        for (uint32_t i = 0; i < p->modules[m]->n_symbols; i++) {
            struct ptx_symbol *s = &p->modules[m]->symbols[i];
            if (!is_program_var(s)) continue;
            s->program_index = p->n_vars;
            p->vars[p->n_vars++] = s;
        }
        for (uint32_t i = 0; i < p->modules[m]->n_funcs; i++)
            if (p->modules[m]->funcs[i]->is_entry && p->modules[m]->funcs[i]->has_body)
                p->entries[p->n_entries++] = p->modules[m]->funcs[i];
    }
}

struct ptx_program *ptx_link(struct arena *arena, struct ptx_module *const *modules, uint32_t count)
{
    struct linker l = {.arena = arena, .program = ARENA_NEW(arena, struct ptx_program)};
    strmap_init(&l.by_name);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, release_linker, &l);
    l.program->modules = ARENA_ARRAY(arena, struct ptx_module *, count ? count : 1);
    l.program->n_modules = count;
    for (uint32_t m = 0; m < count; m++) {
        l.program->modules[m] = modules[m];
        for (uint32_t i = 0; i < modules[m]->n_symbols; i++)
            if (others_see(&modules[m]->symbols[i])) enter(&l, &modules[m]->symbols[i]);
    }
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t i = 0; i < modules[m]->n_symbols; i++) resolve(&l, &modules[m]->symbols[i]);
    for (uint32_t m = 0; m < count; m++) resolve_aliases(modules[m]);
    collect(&l);
    diag_done(&cleanup, true);
    return l.program;
}

struct ptx_func *ptx_find_entry(const struct ptx_program *program, const char *name)
{
    for (uint32_t i = 0; i < program->n_entries; i++)
        if (strcmp(program->entries[i]->name, name) == 0) return program->entries[i];
    return NULL;
}

const char *ptx_nearest_entry(const struct ptx_program *program, const char *name)
{
    const char **names = malloc((program->n_entries + 1) * sizeof *names);
    if (!names) return NULL;
    for (uint32_t i = 0; i < program->n_entries; i++) names[i] = program->entries[i]->name;
    const char *near = diag_nearest(name, names, program->n_entries);
    free(names);
    return near;
}

struct ptx_func *ptx_callee(const struct ptx_func *caller, uint32_t symbol)
{
    const struct ptx_symbol *s = &caller->module->symbols[symbol];
    if (s->kind != PTX_SYM_FUNC) return NULL;
    if (s->def) return s->def->func;
    return s->func->has_body ? s->func : NULL;
}

/* ---- shared memory of a kernel ---- */

struct reach {
    struct arena work_arena;
    struct map seen;   /* functions and variables, by address */
    const void **work; /* functions to look at */
    size_t n_work, cap_work;
    const void **shared; /* symbols, in order of first mention */
    size_t n_shared, cap_shared;
};

static void release_reach(void *arg)
{
    struct reach *r = arg;
    map_free(&r->seen);
    arena_free(&r->work_arena);
}

static void push(struct reach *r, const void ***items, size_t *count, size_t *capacity, const void *item)
{
    if (*count == *capacity) {
        const size_t grown_to = *capacity ? *capacity * 2 : 16;
        const void **grown = ARENA_ARRAY(&r->work_arena, const void *, grown_to);
        if (*count) memcpy(grown, *items, *count * sizeof *grown);
        *items = grown;
        *capacity = grown_to;
    }
    (*items)[(*count)++] = item;
}

static bool first_time(struct reach *r, const void *what)
{
    bool fresh;
    (void)map_put(&r->seen, (uint64_t)(uintptr_t)what, &fresh);
    return fresh;
}

static void meet(struct reach *r, const struct ptx_symbol *s)
{
    if (!s->def) return;
    if (s->kind == PTX_SYM_FUNC) {
        if (s->def->func->has_body && first_time(r, s->def->func))
            push(r, &r->work, &r->n_work, &r->cap_work, s->def->func);
    } else if (s->def->space == PTX_SPACE_SHARED && first_time(r, s->def)) {
        push(r, &r->shared, &r->n_shared, &r->cap_shared, s->def);
    }
}

/* Every symbol that an operand of the function names. */
static void look_through(struct reach *r, const struct ptx_func *f)
{
    for (uint32_t i = 0; i < f->n_operands; i++) {
        const struct ptx_operand *o = &f->operands[i];
        if (o->kind == PTX_OPND_SYM || o->kind == PTX_OPND_ADDR_SYM) meet(r, &f->module->symbols[o->id]);
    }
    for (uint32_t t = 0; t < f->n_tables; t++)
        for (uint32_t i = 0; f->tables[t].kind == PTX_TABLE_CALL_TARGETS && i < f->tables[t].n_items; i++)
            meet(r, &f->module->symbols[f->tables[t].items[i]]);
}

/* An indirect call may reach any function whose address is taken somewhere: take all functions. */
static void add_all_functions(struct reach *r, const struct ptx_program *p)
{
    for (uint32_t m = 0; m < p->n_modules; m++)
        for (uint32_t i = 0; i < p->modules[m]->n_funcs; i++) {
            const struct ptx_func *f = p->modules[m]->funcs[i];
            if (f->has_body && !f->is_entry && first_time(r, f))
                push(r, &r->work, &r->n_work, &r->cap_work, f);
        }
}

static void lay_out(struct ptx_shared_layout *l, const struct reach *r)
{
    uint64_t at = 0, dynamic_align = 1;
    for (size_t i = 0; i < r->n_shared; i++) {
        const struct ptx_symbol *s = r->shared[i];
        l->vars[i].symbol = s;
        if (s->unsized) {
            l->uses_dynamic = true;
            if (s->align > dynamic_align) dynamic_align = s->align;
            continue;
        }
        at = (at + s->align - 1) / s->align * s->align;
        l->vars[i].offset = at;
        at += s->size_bytes;
    }
    l->static_bytes = at;
    l->dynamic_offset = (at + dynamic_align - 1) / dynamic_align * dynamic_align;
    for (size_t i = 0; i < r->n_shared; i++)
        if (l->vars[i].symbol->unsized) l->vars[i].offset = l->dynamic_offset;
}

struct ptx_shared_layout *ptx_shared_layout(struct arena *arena, const struct ptx_program *program,
                                            const struct ptx_func *entry)
{
    struct reach r = {0};
    arena_init(&r.work_arena);
    map_init(&r.seen);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, release_reach, &r);
    (void)first_time(&r, entry);
    push(&r, &r.work, &r.n_work, &r.cap_work, entry);
    bool took_all = false;
    while (r.n_work) {
        const struct ptx_func *f = r.work[--r.n_work];
        look_through(&r, f);
        if (f->has_indirect_call && !took_all) add_all_functions(&r, program);
        took_all |= f->has_indirect_call;
    }
    struct ptx_shared_layout *l = ARENA_NEW(arena, struct ptx_shared_layout);
    l->n_vars = (uint32_t)r.n_shared;
    l->vars = ARENA_ARRAY(arena, struct ptx_shared_var, r.n_shared ? r.n_shared : 1);
    lay_out(l, &r);
    diag_done(&cleanup, true);
    return l;
}
