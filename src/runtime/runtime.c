/* runtime: see runtime.h. */
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/diag.h"
#include "exec/exec.h"

enum { GRID_WORKSPACE_BYTES = 256 };

struct rt_kernel {
    struct rt_module *module;
    struct ptx_func *func;
    struct rt_kernel *next;
};

/* Modules that see each other's symbols. */
struct rt_group {
    struct rt_context *rt;
    struct rt_module **modules;
    uint32_t module_count, module_capacity;
    const struct ptx_program *program; /* NULL: modules were added since the last link */
    struct rt_group *twin_of;          /* rt_group_twin() */
    struct rt_group *next;
};

struct rt_module {
    struct rt_context *rt;
    struct rt_group *group;
    struct ptx_module *ptx;
    struct rt_kernel *kernels;
};

/* What a cooperative launch keeps its grid barrier in. */
struct workspace {
    uint64_t at;
    struct workspace *next;
};

struct queued {
    struct exec_launch launch; /* first: what others know it by */
    struct queued *next;
    struct workspace *workspace;
    struct rt_context *rt;
    uint8_t params[];
};

struct rt_context {
    struct devmem memory;
    struct exec_env *env;
    struct analysis *analysis;      /* for timed runs */
    struct arena arena;             /* modules, programs, kernels */
    struct rt_group common;         /* of rt_module_load() */
    struct rt_group *groups;        /* others */
    const struct rt_group *current; /* whose program the environment has */
    struct queued *first, *last;
    uint32_t pending;
    uint64_t grid_id;
    struct workspace *workspaces; /* free ones */
    struct rt_totals untimed;     /* launches before rt_measure() that have run without time */
    void (*execute)(void *user, struct exec_launch *launch);
    void *execute_user;
    void (*host_wrote)(void *user, uint64_t address, uint64_t bytes);
};

/* ---- context ---- */

static enum lanes_isa isa_of(enum rt_isa isa)
{
    switch (isa) {
    case RT_ISA_PLAIN: return LANES_PLAIN;
    case RT_ISA_AVX2:
        if (!lanes_isa_present(LANES_AVX2)) diag_mistake("this machine has no AVX2");
        return LANES_AVX2;
    case RT_ISA_BEST: break;
    }
    return lanes_isa_best();
}

static void destroy(void *arg) { rt_destroy(arg); }

struct rt_context *rt_create(const struct rt_options *options)
{
    static const struct rt_options defaults;
    const struct rt_options *o = options ? options : &defaults;
    struct rt_context *rt = calloc(1, sizeof *rt);
    if (!rt) diag_mistake("out of host memory");
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, destroy, rt);
    rt->execute = o->execute;
    rt->execute_user = o->execute_user;
    rt->host_wrote = o->host_wrote;
    rt->common.rt = rt;
    arena_init(&rt->arena);
    devmem_init(&rt->memory, o->slot, o->reserve_bytes);
    rt->memory.whole_pages = o->whole_pages;
    const struct exec_options exec = {.isa = isa_of(o->isa),
                                      .racecheck = o->racecheck,
                                      .heap_bytes = o->heap_bytes,
                                      .stack_bytes = o->stack_bytes,
                                      .max_instructions = o->max_instructions,
                                      .sm_count = o->sm_count,
                                      .blocks_at_once = o->blocks_at_once,
                                      .print = o->print,
                                      .print_user = o->print_user};
    rt->env = exec_env_create(&rt->memory, &exec);
    rt->analysis = analysis_new(rt->env);
    diag_done(&cleanup, false);
    return rt;
}

void rt_destroy(struct rt_context *rt)
{
    if (!rt) return;
    while (rt->first) {
        struct queued *q = rt->first;
        rt->first = q->next;
        free(q);
    }
    analysis_free(rt->analysis);
    exec_env_destroy(rt->env);
    devmem_free(&rt->memory);
    free(rt->common.modules);
    for (struct rt_group *g = rt->groups; g; g = g->next) free(g->modules);
    arena_free(&rt->arena);
    free(rt);
}

struct exec_env *rt_env(struct rt_context *rt) { return rt->env; }
struct devmem *rt_memory(struct rt_context *rt) { return &rt->memory; }

/* ---- memory ---- */

void *rt_alloc(struct rt_context *rt, uint64_t bytes, const char *name)
{
    return devmem_alloc(&rt->memory, bytes, 256, DEVMEM_DEVICE, name);
}

void *rt_alloc_lazy(struct rt_context *rt, uint64_t bytes, const char *name, rt_fill_fn *fill, void *user)
{
    void *device = rt_alloc(rt, bytes, name);
    if (bytes) devmem_make_lazy(&rt->memory, device, fill, user);
    return device;
}

void rt_register(struct rt_context *rt, void *host, uint64_t bytes, const char *name)
{
    devmem_register(&rt->memory, host, bytes, name);
}

void rt_unregister(struct rt_context *rt, void *host)
{
    rt_wait(rt);
    devmem_unregister(&rt->memory, host);
}

void rt_free(struct rt_context *rt, void *device)
{
    rt_wait(rt);
    devmem_release(&rt->memory, device);
}

static void host_wrote(struct rt_context *rt, const void *device, uint64_t bytes)
{
    if (rt->host_wrote && bytes) rt->host_wrote(rt->execute_user, rt_simulated(rt, device), bytes);
}

void rt_copy_to_device(struct rt_context *rt, void *device, const void *host, uint64_t bytes)
{
    rt_wait(rt);
    devmem_require(&rt->memory, device, bytes, "copy to device");
    memmove(device, host, bytes);
    host_wrote(rt, device, bytes);
}

void rt_copy_to_host(struct rt_context *rt, void *host, const void *device, uint64_t bytes)
{
    rt_wait(rt);
    devmem_require(&rt->memory, device, bytes, "copy to host");
    memmove(host, device, bytes);
}

void rt_copy_on_device(struct rt_context *rt, void *to, const void *from, uint64_t bytes)
{
    rt_wait(rt);
    devmem_require(&rt->memory, from, bytes, "copy on device, source");
    devmem_require(&rt->memory, to, bytes, "copy on device, destination");
    memmove(to, from, bytes);
    host_wrote(rt, to, bytes);
}

void rt_fill(struct rt_context *rt, void *device, uint8_t value, uint64_t bytes)
{
    rt_wait(rt);
    devmem_require(&rt->memory, device, bytes, "fill");
    memset(device, value, bytes);
    host_wrote(rt, device, bytes);
}

void rt_touch(struct rt_context *rt, const void *device, uint64_t bytes)
{
    rt_wait(rt);
    devmem_require(&rt->memory, device, bytes, "access by the host");
}

uint64_t rt_simulated(const struct rt_context *rt, const void *device)
{
    return devmem_simulated(&rt->memory, (uint64_t)device);
}

uint64_t rt_peak_bytes(const struct rt_context *rt) { return rt->memory.peak_bytes; }

/* ---- code ---- */

struct rt_group *rt_group_new(struct rt_context *rt)
{
    struct rt_group *g = ARENA_NEW(&rt->arena, struct rt_group);
    *g = (struct rt_group){.rt = rt, .next = rt->groups};
    rt->groups = g;
    return g;
}

static struct rt_module *add_module(struct rt_group *g, struct ptx_module *ptx)
{
    if (g->module_count == g->module_capacity) {
        g->module_capacity = g->module_capacity ? 2 * g->module_capacity : 8;
        struct rt_module **grown = realloc(g->modules, g->module_capacity * sizeof(struct rt_module *));
        if (!grown) diag_mistake("out of host memory");
        g->modules = grown;
    }
    struct rt_module *m = ARENA_NEW(&g->rt->arena, struct rt_module);
    m->rt = g->rt;
    m->group = g;
    m->ptx = ptx;
    g->modules[g->module_count++] = m;
    g->program = NULL;
    return m;
}

struct rt_module *rt_group_load(struct rt_group *g, const char *name, const char *text, size_t len)
{
    struct rt_context *rt = g->rt;
    struct diag_source *source = ARENA_NEW(&rt->arena, struct diag_source);
    source->name = arena_strdup(&rt->arena, name);
    source->text = arena_strndup(&rt->arena, text, len);
    source->len_bytes = len;
    return add_module(g, ptx_parse(&rt->arena, source));
}

struct rt_module *rt_module_load(struct rt_context *rt, const char *name, const char *text, size_t len)
{
    return rt_group_load(&rt->common, name, text, len);
}

struct rt_module *rt_module_load_file(struct rt_context *rt, const char *path)
{
    return add_module(&rt->common, ptx_parse_file(&rt->arena, path));
}

struct rt_group *rt_group_twin(struct rt_group *of)
{
    struct rt_group *g = rt_group_new(of->rt);
    g->twin_of = of;
    for (uint32_t n = 0; n < of->module_count; n++)
        (void)add_module(g, ptx_parse(&g->rt->arena, of->modules[n]->ptx->source));
    return g;
}

/* Managed variables are those of the group that this one is a twin of; the same text has the same symbols. */
static void share_managed(const struct rt_group *g)
{
    struct exec_env *env = g->rt->env;
    for (uint32_t n = 0; n < g->module_count; n++) {
        const struct ptx_module *own = g->modules[n]->ptx, *first = g->twin_of->modules[n]->ptx;
        for (uint32_t k = 0; k < own->n_symbols; k++) {
            const struct ptx_symbol *s = &own->symbols[k];
            void *at = s->managed && s->def == s ? exec_variable(env, &first->symbols[k]) : NULL;
            if (at) exec_env_share(env, s, at);
        }
    }
}

/* Links what was added and makes the group's program the one that kernels are lowered in. */
static void link_group(struct rt_group *g)
{
    struct rt_context *rt = g->rt;
    if (!g->program) {
        struct ptx_module **all = ARENA_ARRAY(&rt->arena, struct ptx_module *, g->module_count + 1);
        for (uint32_t k = 0; k < g->module_count; k++) all[k] = g->modules[k]->ptx;
        g->program = ptx_link(&rt->arena, all, g->module_count);
        if (g->twin_of) {
            link_group(g->twin_of);
            share_managed(g);
        }
        rt->current = NULL;
    }
    if (rt->current != g) exec_env_link(rt->env, g->program);
    rt->current = g;
}

static struct rt_kernel *kernel_of(struct rt_module *module, struct ptx_func *f)
{
    for (struct rt_kernel *k = module->kernels; k; k = k->next)
        if (k->func == f) return k;
    struct rt_kernel *k = ARENA_NEW(&module->rt->arena, struct rt_kernel);
    *k = (struct rt_kernel){.module = module, .func = f, .next = module->kernels};
    module->kernels = k;
    return k;
}

/* `vecadd` of `_Z6vecaddPKfS0_Pfi`: the last name of a (nested) mangled one. */
static bool is_plain_name_of(const char *mangled, const char *plain)
{
    if (strncmp(mangled, "_Z", 2)) return false;
    const char *at = mangled + 2, *name = NULL;
    size_t len = 0;
    if (*at == 'N') at++;
    while (*at >= '0' && *at <= '9') {
        char *end;
        len = strtoul(at, &end, 10);
        if (len > strlen(end)) return false;
        name = end;
        at = end + len;
    }
    return name && strlen(plain) == len && !strncmp(name, plain, len);
}

/* The kernel of that exact name, else the only one of that plain name; NULL: none. */
static struct rt_kernel *search(struct rt_module *const *modules, uint32_t count, const char *name)
{
    struct rt_module *in = NULL;
    struct ptx_func *plain = NULL;
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t k = 0; k < modules[n]->ptx->n_funcs; k++) {
            struct ptx_func *f = modules[n]->ptx->funcs[k];
            if (!f->is_entry || !f->has_body) continue;
            if (!strcmp(f->name, name)) return kernel_of(modules[n], f);
            if (!is_plain_name_of(f->name, name)) continue;
            if (plain)
                diag_mistake("kernel '%s' is ambiguous: '%s' (%s) or '%s' (%s); give the whole name", name,
                             plain->name, in->ptx->source->name, f->name, modules[n]->ptx->source->name);
            plain = f;
            in = modules[n];
        }
    return plain ? kernel_of(in, plain) : NULL;
}

/* Names of all kernels of the modules. */
static const char **kernel_names(struct rt_context *rt, struct rt_module *const *modules, uint32_t count,
                                 size_t *names_count)
{
    size_t all = 1;
    for (uint32_t n = 0; n < count; n++) all += modules[n]->ptx->n_funcs;
    const char **names = ARENA_ARRAY(&rt->arena, const char *, all);
    *names_count = 0;
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t k = 0; k < modules[n]->ptx->n_funcs; k++) {
            const struct ptx_func *f = modules[n]->ptx->funcs[k];
            if (f->is_entry && f->has_body) names[(*names_count)++] = f->name;
        }
    return names;
}

static _Noreturn void no_kernel(struct rt_context *rt, struct rt_module *const *modules, uint32_t count,
                                const char *name)
{
    enum { SHOWN = 20 };
    size_t found;
    const char **names = kernel_names(rt, modules, count, &found);
    const char *file = count ? modules[0]->ptx->source->name : "no file", *list = "";
    const char *more = count > 1 ? " and the others" : "";
    if (!found) diag_mistake("%s%s: there is no kernel (.entry with a body)", file, more);
    const char *near = name ? diag_nearest(name, names, found) : NULL;
    if (near) diag_mistake("%s%s: no kernel '%s'; did you mean '%s'?", file, more, name, near);
    for (size_t k = 0; k < found && k < SHOWN; k++)
        list = arena_printf(&rt->arena, "%s\n  %s", list, names[k]);
    if (found > SHOWN) list = arena_printf(&rt->arena, "%s\n  and %zu more", list, found - SHOWN);
    if (name) diag_mistake("%s%s: no kernel '%s' among:%s", file, more, name, list);
    diag_mistake("%s%s: which of %zu kernels? Choose with --entry NAME:%s", file, more, found, list);
}

struct rt_kernel *rt_kernel_find(struct rt_module *module, const char *name)
{
    struct rt_kernel *k = search(&module, 1, name);
    if (!k) no_kernel(module->rt, &module, 1, name);
    return k;
}

struct rt_kernel *rt_kernel_find_any(struct rt_context *rt, const char *name)
{
    size_t count = 0;
    if (!name) {
        const char **names = kernel_names(rt, rt->common.modules, rt->common.module_count, &count);
        if (count == 1) name = names[0];
    }
    struct rt_kernel *k = name ? search(rt->common.modules, rt->common.module_count, name) : NULL;
    if (!k) no_kernel(rt, rt->common.modules, rt->common.module_count, name);
    return k;
}

const struct ptx_func *rt_kernel_ptx(const struct rt_kernel *k) { return k->func; }

struct exec_kernel *rt_kernel_exec(struct rt_kernel *k)
{
    link_group(k->module->group);
    return exec_kernel_get(k->module->rt->env, k->func);
}

struct rt_kernel *rt_group_kernel(struct rt_group *g, const char *name)
{
    for (uint32_t n = 0; n < g->module_count; n++)
        for (uint32_t k = 0; k < g->modules[n]->ptx->n_funcs; k++) {
            struct ptx_func *f = g->modules[n]->ptx->funcs[k];
            if (f->is_entry && f->has_body && !strcmp(f->name, name)) return kernel_of(g->modules[n], f);
        }
    return NULL;
}

const char *rt_group_kernel_name(const struct rt_group *g, uint32_t idx)
{
    for (uint32_t n = 0; n < g->module_count; n++)
        for (uint32_t k = 0; k < g->modules[n]->ptx->n_funcs; k++) {
            const struct ptx_func *f = g->modules[n]->ptx->funcs[k];
            if (f->is_entry && f->has_body && !idx--) return f->name;
        }
    return NULL;
}

static const struct ptx_symbol *find_variable(const struct rt_module *module, const char *name)
{
    for (uint32_t k = 0; k < module->ptx->n_symbols; k++) {
        const struct ptx_symbol *s = &module->ptx->symbols[k];
        if (s->kind == PTX_SYM_VAR && !s->func && !strcmp(s->name, name)) return s;
    }
    return NULL;
}

void *rt_variable_find(struct rt_module *module, const char *name, uint64_t *bytes)
{
    link_group(module->group);
    const struct ptx_symbol *s = find_variable(module, name);
    if (s && bytes) *bytes = (s->def ? s->def : s)->size_bytes;
    return s ? exec_variable(module->rt->env, s) : NULL;
}

void *rt_group_variable(struct rt_group *g, const char *name, uint64_t *bytes)
{
    for (uint32_t n = 0; n < g->module_count; n++) {
        void *at = rt_variable_find(g->modules[n], name, bytes);
        if (at) return at;
    }
    return NULL;
}

/* ---- launches ---- */

static const struct ptx_symbol *param(const struct rt_kernel *k, uint32_t n)
{
    return &k->func->module->symbols[k->func->first_param + k->func->n_rets + n];
}

static struct queued *new_launch(struct rt_context *rt, const struct rt_launch *l)
{
    const struct ptx_func *f = l->kernel->func;
    if (!l->packed && l->arg_count != f->n_params)
        diag_mistake("kernel '%s' takes %u arguments, not %u", f->name, f->n_params, l->arg_count);
    const size_t label_bytes = l->label ? strlen(l->label) + 1 : 0;
    struct queued *q = calloc(1, sizeof *q + f->param_bytes + 16 + label_bytes);
    if (!q) diag_mistake("out of host memory");
    if (l->label) q->launch.label = memcpy(q->params + f->param_bytes + 16, l->label, label_bytes);
    q->launch.env = rt->env;
    memcpy(q->launch.grid, &l->grid, sizeof l->grid);
    memcpy(q->launch.block, &l->block, sizeof l->block);
    q->launch.dynamic_shared_bytes = l->dynamic_shared_bytes;
    q->launch.cooperative = l->cooperative;
    q->launch.params = q->params;
    return q;
}

static void check_sizes(const struct rt_launch *l)
{
    for (uint32_t k = 0; k < l->arg_count && k < l->kernel->func->n_params; k++) {
        const uint64_t size = param(l->kernel, k)->size_bytes;
        if (size != l->values[k].bytes && !(size < 4 && l->values[k].bytes == 4))
            diag_mistake("argument %u of kernel '%s' has %llu bytes; given are %u", k + 1,
                         l->kernel->func->name, (unsigned long long)size, l->values[k].bytes);
    }
}

/* Several cooperative launches may run at a time. */
static struct workspace *take_workspace(struct rt_context *rt)
{
    struct workspace *w = rt->workspaces;
    if (w) {
        rt->workspaces = w->next;
    } else {
        w = ARENA_NEW(&rt->arena, struct workspace);
        w->at =
            (uint64_t)devmem_alloc(&rt->memory, GRID_WORKSPACE_BYTES, 256, DEVMEM_VARIABLE, "grid barrier");
    }
    *(uint32_t *)w->at = GRID_WORKSPACE_BYTES;
    return w;
}

static void count_untimed(struct rt_context *rt, const struct exec_launch *l)
{
    rt->untimed.launches++;
    rt->untimed.blocks += l->block_count;
    rt->untimed.warp_instructions += l->warp_instructions;
    rt->untimed.thread_instructions += l->thread_instructions;
}

static void free_queued(void *queued)
{
    struct queued *q = queued;
    exec_children_free(exec_take_children(&q->launch));
    if (q->workspace) {
        q->workspace->next = q->rt->workspaces;
        q->rt->workspaces = q->workspace;
    }
    free(q);
}

static void enqueue(struct rt_context *rt, struct rt_kernel *kernel, struct queued *q)
{
    struct diag_cleanup cleanup;
    q->rt = rt;
    diag_defer(&cleanup, free_queued, q);
    link_group(kernel->module->group);
    q->launch.kernel = exec_kernel_get(rt->env, kernel->func);
    q->launch.grid_id = ++rt->grid_id;
    if (q->launch.cooperative) {
        q->workspace = take_workspace(rt);
        q->launch.barrier_workspace = q->workspace->at;
    }
    exec_launch_begin(&q->launch);
    diag_done(&cleanup, false);
    if (rt->last)
        rt->last->next = q;
    else
        rt->first = q;
    rt->last = q;
    rt->pending++;
}

void rt_launch(struct rt_context *rt, const struct rt_launch *l)
{
    if (l->values) check_sizes(l);
    DIAG_ASSERT(l->values || l->args || !l->arg_count);
    struct queued *q = new_launch(rt, l);
    const uint64_t bytes = l->kernel->func->param_bytes;
    if (l->packed) memcpy(q->params, l->packed, l->packed_bytes < bytes ? l->packed_bytes : bytes);
    for (uint32_t k = 0; k < l->arg_count; k++) {
        const struct ptx_symbol *s = param(l->kernel, k);
        const void *value = l->values ? (const void *)&l->values[k].bits : l->args[k];
        memcpy(q->params + s->offset, value, s->size_bytes);
    }
    enqueue(rt, l->kernel, q);
}

void rt_launch_args(struct rt_context *rt, struct rt_kernel *kernel, struct rt_dim grid, struct rt_dim block,
                    uint32_t dynamic_shared_bytes, const struct rt_arg *args, uint32_t arg_count)
{
    rt_launch(rt, &(struct rt_launch){.kernel = kernel,
                                      .grid = grid,
                                      .block = block,
                                      .dynamic_shared_bytes = dynamic_shared_bytes,
                                      .values = args,
                                      .arg_count = arg_count});
}

static struct rt_kernel *kernel_of_func(struct rt_group *g, const struct ptx_func *f)
{
    for (uint32_t n = 0; n < g->module_count; n++)
        for (uint32_t k = 0; k < g->modules[n]->ptx->n_funcs; k++)
            if (g->modules[n]->ptx->funcs[k] == f)
                return kernel_of(g->modules[n], g->modules[n]->ptx->funcs[k]);
    return NULL;
}

void rt_launch_child(struct rt_context *rt, const struct exec_launch *parent, const struct exec_child *c,
                     const char *label)
{
    struct rt_kernel *kernel = kernel_of_func(&rt->common, c->kernel);
    for (struct rt_group *g = rt->groups; !kernel && g; g = g->next) kernel = kernel_of_func(g, c->kernel);
    DIAG_ASSERT(kernel);
    rt_launch(rt, &(struct rt_launch){.kernel = kernel,
                                      .grid = {c->grid[0], c->grid[1], c->grid[2]},
                                      .block = {c->block[0], c->block[1], c->block[2]},
                                      .dynamic_shared_bytes = c->dynamic_shared_bytes,
                                      .packed = c->params,
                                      .packed_bytes = kernel->func->param_bytes,
                                      .label = label});
    rt->last->launch.depth = parent->depth + 1;
    rt->last->launch.untimed = parent->untimed;
}

/* In the order of the calls, which is one that CUDA allows; tail launches last. */
static void queue_children(struct rt_context *rt, struct exec_launch *parent)
{
    struct exec_child *first = exec_take_children(parent);
    for (int tail = 0; tail < 2; tail++)
        for (const struct exec_child *c = first; c; c = c->next)
            if (exec_child_is_tail(c) == (tail != 0)) rt_launch_child(rt, parent, c, NULL);
    exec_children_free(first);
}

void rt_measure(struct rt_context *rt)
{
    if (rt_totals(rt).launches + rt->untimed.launches)
        diag_mistake(
            "wl_measure() comes too late: launches have run; call it before the first wait for the device");
    for (struct queued *q = rt->first; q; q = q->next) q->launch.untimed = true;
}

uint32_t rt_pending(const struct rt_context *rt) { return rt->pending; }

struct exec_launch *rt_take_next(struct rt_context *rt)
{
    struct queued *q = rt->first;
    if (!q) return NULL;
    rt->first = q->next;
    if (!rt->first) rt->last = NULL;
    rt->pending--;
    return &q->launch;
}

void rt_ready(struct rt_context *rt, struct exec_launch *launch) { analysis_begin(rt->analysis, launch); }

void rt_drop(struct rt_context *rt, struct exec_launch *launch)
{
    if (launch->untimed) count_untimed(rt, launch);
    analysis_end(launch);
    free_queued(launch);
}

bool rt_run_next(struct rt_context *rt)
{
    struct queued *q = (struct queued *)rt_take_next(rt);
    if (!q) return false;
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, free_queued, q);
    if (rt->execute) {
        struct diag_cleanup ending;
        analysis_begin(rt->analysis, &q->launch);
        diag_defer(&ending, analysis_end, &q->launch);
        rt->execute(rt->execute_user, &q->launch);
        if (q->launch.untimed) count_untimed(rt, &q->launch);
        diag_done(&ending, true);
    } else {
        exec_launch_run(&q->launch);
    }
    queue_children(rt, &q->launch);
    diag_done(&cleanup, true);
    return true;
}

void rt_wait(struct rt_context *rt)
{
    while (rt_run_next(rt)) {
    }
}

/* ---- results ---- */

bool rt_limit_reached(const struct rt_context *rt) { return exec_limit_reached(rt->env); }

struct rt_totals rt_totals(const struct rt_context *rt)
{
    const struct exec_totals t = exec_totals(rt->env);
    const struct rt_totals *u = &rt->untimed;
    return (struct rt_totals){t.launches - u->launches, t.blocks - u->blocks,
                              t.warp_instructions - u->warp_instructions,
                              t.thread_instructions - u->thread_instructions};
}

const char *rt_output(const struct rt_context *rt, size_t *len) { return exec_output(rt->env, len); }

uint64_t rt_races(const struct rt_context *rt) { return exec_races(rt->env); }
const char *rt_race_report(const struct rt_context *rt) { return exec_race_report(rt->env); }
