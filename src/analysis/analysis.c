/* analysis: see analysis.h. */
#include "analysis/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/index.h"
#include "exec/exec.h"
#include "exec/launch_facts.h"

enum { LINE_BYTES_LOG2 = 7 };

struct kernel {
    struct readonly_kernel *readonly;
    struct symbolic *symbolic;
    struct locality_table *table; /* NULL: nobody asked yet */
};

struct analysis {
    struct exec_env *env;
    struct arena arena;
    struct frame_cache frames;
    struct readonly readonly;
    struct map kernels; /* ptx_func > kernel */
};

struct analysis_launch {
    struct analysis *analysis;
    const struct exec_launch *launch;
    struct kernel *kernel;
    uint64_t read_only; /* origins */
    struct arena arena;
    const struct locality_table *table;
    struct locality_launch numbers; /* valid once the table is made */
    struct launch_arrays *arrays;   /* NULL: not built yet */
    uint8_t marks[];
};

/* ---- kernels ---- */

static struct kernel *kernel_of(struct analysis *a, const struct ptx_func *func)
{
    uint64_t *held = map_put(&a->kernels, (uint64_t)(uintptr_t)func, NULL);
    if (*held) return (struct kernel *)(uintptr_t)*held;
    struct kernel *k = ARENA_NEW(&a->arena, struct kernel);
    *held = (uint64_t)(uintptr_t)k;
    k->readonly = readonly_kernel(&a->readonly, func);
    return k;
}

static uint32_t group_of(void *user, const struct ptx_func *kernel, const struct ptx_func *func, uint32_t pc)
{
    struct analysis *a = user;
    return readonly_group_of(&a->readonly, kernel_of(a, kernel)->readonly, func, pc);
}

struct analysis *analysis_new(struct exec_env *env)
{
    struct analysis *a = calloc(1, sizeof *a);
    if (!a) diag_mistake("out of host memory");
    a->env = env;
    arena_init(&a->arena);
    frame_cache_init(&a->frames, &a->arena);
    readonly_init(&a->readonly, &a->arena, &a->frames);
    map_init(&a->kernels);
    exec_env_groups(env, group_of, a);
    return a;
}

void analysis_free(struct analysis *a)
{
    if (!a) return;
    size_t cursor = 0;
    for (const struct map_entry *e; (e = map_next(&a->kernels, &cursor));) {
        struct kernel *k = (struct kernel *)(uintptr_t)e->value;
        if (k->readonly) readonly_kernel_free(k->readonly);
        if (k->symbolic) symbolic_free(k->symbolic);
    }
    map_free(&a->kernels);
    readonly_free(&a->readonly);
    frame_cache_free(&a->frames);
    arena_free(&a->arena);
    free(a);
}

/* ---- where pointers point ---- */

static struct readonly_extent extent_of(const struct devmem_alloc *a)
{
    return (struct readonly_extent){.first = a->sim >> LINE_BYTES_LOG2,
                                    .end = (a->sim + (a->hi - a->lo) + (1u << LINE_BYTES_LOG2) - 1) >>
                                           LINE_BYTES_LOG2};
}

/* A pointer into an allocation, or just behind one (both when it is the border of two). */
static enum readonly_where find_address(const struct analysis_launch *l, uint64_t address,
                                        struct readonly_extent *extents, uint32_t *count)
{
    enum { NEAR_BYTES = 1 << 20 };
    const struct devmem *m = exec_memory(l->analysis->env);
    const struct devmem_alloc *at = devmem_find(m, address),
                              *before = address ? devmem_find(m, address - 1) : NULL;
    *count = 0;
    if (at) extents[(*count)++] = extent_of(at);
    if (before && before != at) extents[(*count)++] = extent_of(before);
    if (*count) return READONLY_SOMEWHERE;
    /* a number that is no address, or an address that something strange will be done with? */
    if (address - m->base < m->size) return READONLY_UNKNOWN_WHERE;
    const struct devmem_alloc *near = address ? devmem_nearest(m, address) : NULL;
    const bool close = near && (address < near->lo ? near->lo - address : address - near->hi) < NEAR_BYTES;
    return close ? READONLY_UNKNOWN_WHERE : READONLY_NOWHERE;
}

static bool address_of(const struct analysis_launch *l, const struct readonly_origin *o, uint64_t *address)
{
    const struct ptx_func *f = exec_kernel_ptx(l->launch->kernel);
    if (o->variable) {
        *address = (uint64_t)(uintptr_t)exec_variable(l->analysis->env, o->variable);
        return *address != 0;
    }
    const uint64_t offset = f->module->symbols[o->symbol].offset + 8 * (uint64_t)o->granule;
    if (offset + 8 > f->param_bytes) return false;
    memcpy(address, l->launch->params + offset, sizeof *address);
    return true;
}

static enum readonly_where find(void *user, const struct readonly_origin *o, struct readonly_extent *extents,
                                uint32_t *count)
{
    uint64_t address;
    *count = 0;
    return address_of(user, o, &address) ? find_address(user, address, extents, count)
                                         : READONLY_UNKNOWN_WHERE;
}

static const struct devmem_alloc *allocation(const struct analysis_launch *l, const struct readonly_origin *o)
{
    uint64_t address;
    return address_of(l, o, &address) ? devmem_find(exec_memory(l->analysis->env), address) : NULL;
}

/* ---- launches ---- */

void analysis_begin(struct analysis *a, struct exec_launch *launch)
{
    struct kernel *k = kernel_of(a, exec_kernel_ptx(launch->kernel));
    struct analysis_launch *l = calloc(1, sizeof *l + k->readonly->n_groups);
    if (!l) diag_mistake("out of host memory");
    l->analysis = a;
    l->launch = launch;
    l->kernel = k;
    arena_init(&l->arena);
    const struct readonly_launch where = {.find = find, .user = l};
    const struct readonly_verdict verdict = readonly_decide(k->readonly->entry, &where);
    l->read_only = verdict.read_only;
    for (uint32_t g = 1; g < k->readonly->n_groups; g++)
        l->marks[g] = readonly_group_is(&k->readonly->groups[g], &verdict);
    launch->read_only = l->marks;
    launch->analysis = l;
}

void analysis_end(void *launch)
{
    struct exec_launch *e = launch;
    struct analysis_launch *l = e->analysis;
    e->analysis = NULL;
    e->read_only = NULL;
    if (!l) return;
    arena_free(&l->arena);
    free(l);
}

/* The value of the pointer in this launch, a host address; 0: none. */
static uint64_t pointer_of(const struct analysis_launch *l, const struct locality_argument *a)
{
    uint64_t address = 0;
    if (a->variable)
        address = (uint64_t)(uintptr_t)exec_variable(l->analysis->env, a->variable);
    else if (a->param_offset + 8 <= exec_kernel_ptx(l->launch->kernel)->param_bytes)
        memcpy(&address, l->launch->params + a->param_offset, sizeof address);
    return address;
}

static bool find_structure(void *user, const struct locality_argument *a, uint64_t *base, uint64_t *bytes)
{
    const struct analysis_launch *l = user;
    const uint64_t address = pointer_of(l, a);
    const struct devmem_alloc *found = address ? devmem_find(exec_memory(l->analysis->env), address) : NULL;
    if (!found) return false;
    *base = found->sim + (address - found->lo);
    *bytes = found->hi - address;
    return true;
}

const struct locality_table *analysis_locality(struct analysis_launch *l)
{
    struct kernel *k = l->kernel;
    struct analysis *a = l->analysis;
    const struct ptx_func *f = exec_kernel_ptx(l->launch->kernel);
    if (l->table) return l->table;
    if (!k->table) {
        k->symbolic = symbolic_run(&a->arena, &a->frames, f);
        k->table = index_build(&a->arena, k->symbolic, f);
    }
    l->numbers = (struct locality_launch){
        .params = l->launch->params, .param_bytes = f->param_bytes, .find = find_structure, .user = l};
    memcpy(l->numbers.grid, l->launch->grid, sizeof l->numbers.grid);
    memcpy(l->numbers.block, l->launch->block, sizeof l->numbers.block);
    l->table = locality_at_launch(&l->arena, k->table, &l->numbers);
    return l->table;
}

/* The verdict of the read-only analysis on the same pointer. False if that analysis has no such pointer. */
static bool argument_is_read_only(const struct analysis_launch *l, const struct locality_argument *a)
{
    const struct readonly_func *f = l->kernel->readonly->entry;
    const struct ptx_symbol *const symbols = exec_kernel_ptx(l->launch->kernel)->module->symbols;
    for (uint32_t k = 0; k < f->n_origins; k++) {
        const struct readonly_origin *o = &f->origins[k];
        const bool same = o->variable || a->variable
                              ? o->variable == a->variable
                              : symbols[o->symbol].offset + 8 * (uint64_t)o->granule == a->param_offset;
        if (same) return l->read_only >> k & 1;
    }
    return false;
}

static struct launch_array array_of(const struct analysis_launch *l, const struct locality_argument *a)
{
    const struct locality_row *row = &l->table->rows[a->row];
    const uint64_t address = pointer_of(l, a);
    const struct devmem_alloc *found = address ? devmem_find(exec_memory(l->analysis->env), address) : NULL;
    return (struct launch_array){.base = found ? found->sim + (address - found->lo) : 0,
                                 .bytes = found ? found->hi - address : 0,
                                 .allocation = found ? found->sim : 0,
                                 .allocated = found ? found->serial : 0,
                                 .name = a->name,
                                 .first = a->first,
                                 .end = a->end,
                                 .pattern = a->pattern,
                                 .patterns = a->patterns,
                                 .any = a->any,
                                 .locality = (uint8_t)a->class,
                                 .stride_bytes = row->stride_bytes,
                                 .datablock_bytes = row->datablock_bytes,
                                 .written = a->written,
                                 .read_only = argument_is_read_only(l, a)};
}

const struct launch_arrays *analysis_arrays(void *launch)
{
    struct analysis_launch *l = launch;
    if (l->arrays) return l->arrays;
    const struct locality_table *t = analysis_locality(l);
    struct launch_array *arrays = ARENA_ARRAY(&l->arena, struct launch_array, t->n_arguments + 1);
    for (uint32_t k = 0; k < t->n_arguments; k++) arrays[k] = array_of(l, &t->arguments[k]);
    l->arrays = ARENA_NEW(&l->arena, struct launch_arrays);
    *l->arrays =
        (struct launch_arrays){.array = arrays,
                               .count = t->n_arguments,
                               .winner = t->winner == LOCALITY_NO_ARGUMENT ? LAUNCH_NO_ARRAY : t->winner};
    return l->arrays;
}

const struct launch_span *analysis_layout(void *launch, uint32_t array, uint32_t *count)
{
    struct analysis_launch *l = launch;
    const struct locality_table *t = analysis_locality(l);
    return locality_layout(&l->arena, t, &l->numbers, array, count);
}

const struct analysis_verdict *analysis_verdicts(struct analysis_launch *l, uint32_t *count)
{
    const struct readonly_func *f = l->kernel->readonly->entry;
    struct analysis_verdict *v = ARENA_ARRAY(&l->arena, struct analysis_verdict, f->n_origins + 1);
    *count = f->n_origins;
    for (uint32_t k = 0; k < f->n_origins; k++) {
        const struct devmem_alloc *a = allocation(l, &f->origins[k]);
        v[k] = (struct analysis_verdict){
            .origin = &f->origins[k], .read_only = l->read_only >> k & 1, .bytes = a ? a->hi - a->lo : 0};
    }
    return v;
}
