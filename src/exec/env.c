/* env: the environment of one application: constants, module variables, kernels, launches. */
#include "exec/lower.h"

#include <stdlib.h>
#include <sys/mman.h>

#define CONSTANTS_RESERVED ((uint64_t)64 << 20)
#define CODE_WINDOW(m)     (devmem_param_window(m) + DEVMEM_WINDOW_BYTES / 2)

struct exec_env *exec_env_create(struct devmem *memory, const struct exec_options *options)
{
    lanes_check_tables();
    DIAG_ASSERT(options->stack_bytes <= DEVMEM_WINDOW_BYTES);
    struct exec_env *env = calloc(1, sizeof *env);
    if (!env) diag_mistake("out of host memory");
    env->memory = memory;
    env->options = *options;
    if (!env->options.sm_count) env->options.sm_count = 80;
    if (!env->options.heap_bytes) env->options.heap_bytes = (uint64_t)8 << 20;
    if (!env->options.stack_bytes) env->options.stack_bytes = (uint64_t)512 << 10;
    if (!lanes_isa_present(env->options.isa)) env->options.isa = lanes_isa_best();
    arena_init(&env->arena);
    map_init(&env->constant32);
    map_init(&env->constant64);
    map_init(&env->variables);
    map_init(&env->kernels);
    env->constants_reserved = CONSTANTS_RESERVED;
    env->constants = mmap(NULL, CONSTANTS_RESERVED, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (env->constants == MAP_FAILED) diag_mistake("out of host memory");
    *(uint32_t *)(env->constants + CONST_TRUE - 1) = LANES_ALL;
    for (uint32_t k = 0; k < LANES; k++) ((uint32_t *)(env->constants + CONST_LANEID - 1))[k] = k;
    env->constants_bytes = CONST_FIRST;
    env->images = image_table_new(memory);
    env->texels = calloc((size_t)LANES * IMAGE_TEXELS_MAX, sizeof *env->texels);
    if (!env->texels) diag_mistake("out of host memory");
    env->generation = memory->generation;
    return env;
}

void exec_env_groups(struct exec_env *env, exec_group_fn *group, void *user)
{
    env->group = group;
    env->group_user = user;
}

struct devmem *exec_memory(const struct exec_env *env) { return env->memory; }

void exec_env_destroy(struct exec_env *env)
{
    if (!env) return;
    chunks_free(env);
    image_table_free(env->images);
    free(env->texels);
    size_t cursor = 0;
    for (struct map_entry *e; (e = map_next(&env->kernels, &cursor));)
        map_free(&((struct exec_kernel *)e->value)->funcs);
    map_free(&env->constant32);
    map_free(&env->constant64);
    map_free(&env->variables);
    map_free(&env->kernels);
    if (env->constants) munmap(env->constants, CONSTANTS_RESERVED);
    free(env->func_list);
    free(env->code_handles);
    exec_children_free(env->child_buffers);
    free(env->output);
    race_log_free(env->races);
    arena_free(&env->arena);
    free(env);
}

struct image_table *exec_images(struct exec_env *env) { return env->images; }
struct exec_totals exec_totals(const struct exec_env *env) { return env->totals; }
bool exec_limit_reached(const struct exec_env *env) { return env->limit_reached; }

enum exec_fault_kind exec_take_fault(struct exec_env *env)
{
    const enum exec_fault_kind kind = env->fault;
    env->fault = EXEC_FAULT_NONE;
    return kind;
}

void exec_set_heap(struct exec_env *env, uint64_t bytes)
{
    env->options.heap_bytes = bytes > env->heap_used ? bytes : env->heap_used;
}

/* ---- module variables ---- */

static bool has_memory(const struct ptx_symbol *s)
{
    return s->kind == PTX_SYM_VAR && (s->space == PTX_SPACE_GLOBAL || s->space == PTX_SPACE_CONST);
}

void *exec_variable(const struct exec_env *env, const struct ptx_symbol *symbol)
{
    const uint64_t *at = map_find(&env->variables, (uint64_t)(symbol->def ? symbol->def : symbol));
    return at ? (void *)*at : NULL;
}

uint64_t exec_symbol_address(struct exec_env *env, const struct ptx_symbol *symbol, bool generic)
{
    (void)generic; /* global and constant addresses are generic ones */
    const void *at = exec_variable(env, symbol);
    if (!at) diag_mistake("variable '%s' has no memory", symbol->name);
    return (uint64_t)at;
}

uint64_t exec_code_handle(struct exec_env *env, struct ptx_func *f)
{
    for (uint32_t k = 0; k < env->code_handle_count; k++)
        if (env->code_handles[k] == f) return CODE_WINDOW(env->memory) + 16 * (uint64_t)k;
    if (env->code_handle_count == env->code_handle_capacity) {
        env->code_handle_capacity = env->code_handle_capacity ? 2 * env->code_handle_capacity : 32;
        struct ptx_func **grown = realloc(env->code_handles, env->code_handle_capacity * sizeof *grown);
        if (!grown) diag_mistake("out of host memory");
        env->code_handles = grown;
    }
    env->code_handles[env->code_handle_count] = f;
    return CODE_WINDOW(env->memory) + 16 * (uint64_t)env->code_handle_count++;
}

struct ptx_func *exec_code_of(const struct exec_env *env, uint64_t handle)
{
    const uint64_t offset = handle - CODE_WINDOW(env->memory);
    if (offset % 16 || offset / 16 >= env->code_handle_count) return NULL;
    return env->code_handles[offset / 16];
}

static void relocate(struct exec_env *env, const struct ptx_symbol *var, uint8_t *at)
{
    for (uint32_t k = 0; k < var->n_relocs; k++) {
        const struct ptx_reloc *r = &var->relocs[k];
        const struct ptx_symbol *to = &var->module->symbols[r->symbol];
        uint64_t value;
        if (to->kind == PTX_SYM_FUNC)
            value = exec_code_handle(env, to->def && to->def->func ? to->def->func : to->func);
        else if (has_memory(to))
            value = exec_symbol_address(env, to, r->generic);
        else
            diag_mistake("the initial value of '%s' has the address of '%s', which is not in global or "
                         "constant memory",
                         var->name, to->name);
        value = (value + (uint64_t)r->addend) >> r->shift;
        memcpy(at + r->offset, &value, r->size_bytes);
    }
}

void exec_env_share(struct exec_env *env, const struct ptx_symbol *symbol, void *at)
{
    bool fresh;
    uint64_t *slot = map_put(&env->variables, (uint64_t)symbol, &fresh);
    if (fresh) *slot = (uint64_t)at;
}

void exec_env_link(struct exec_env *env, const struct ptx_program *program)
{
    env->program = program;
    struct arena fresh_list;
    arena_init(&fresh_list);
    const struct ptx_symbol **made = ARENA_ARRAY(&fresh_list, const struct ptx_symbol *, program->n_vars + 1);
    uint32_t count = 0;
    for (uint32_t k = 0; k < program->n_vars; k++) {
        const struct ptx_symbol *var = program->vars[k];
        bool fresh;
        if (!has_memory(var)) continue;
        uint64_t *at = map_put(&env->variables, (uint64_t)var, &fresh);
        if (!fresh) continue;
        *at =
            (uint64_t)devmem_alloc(env->memory, var->size_bytes, var->align,
                                   var->space == PTX_SPACE_CONST ? DEVMEM_CONST : DEVMEM_VARIABLE, var->name);
        made[count++] = var;
        if (var->init) memcpy((void *)*at, var->init, var->init_bytes);
    }
    for (uint32_t k = 0; k < count; k++) relocate(env, made[k], exec_variable(env, made[k]));
    arena_free(&fresh_list);
}

/* ---- kernels ---- */

/* The stack that calls from f need. Each function is asked once, however many ways lead to it; one that is
 * asked again while it is being answered is recursive. */
static struct exec_depth depth_of(struct exec_env *env, struct exec_kernel *k, const struct ptx_func *f,
                                  uint32_t level)
{
    enum { LEVELS_MOST = 64 };
    struct exec_func *self = exec_lower(env, k, f);
    struct exec_depth *d = &self->depth;
    if (d->state == DEPTH_KNOWN) return *d;
    if (d->state == DEPTH_ASKED || level > LEVELS_MOST) return (struct exec_depth){.deep = true};
    *d = (struct exec_depth){.deep = f->has_indirect_call, .state = DEPTH_ASKED};
    for (uint32_t pc = 0; pc < f->n_instrs && !d->deep; pc++) {
        if (f->instrs[pc].op != PTX_OP_CALL) continue;
        const struct ptx_operand *target = ptx_operand_at(f, &f->instrs[pc], 0);
        const struct ptx_func *callee = target->kind == PTX_OPND_SYM ? ptx_callee(f, target->id) : NULL;
        if (!callee || !callee->has_body) continue;
        const struct exec_depth below = depth_of(env, k, callee, level + 1);
        if (below.frames > d->frames) d->frames = below.frames;
        if (below.local > d->local) d->local = below.local;
        d->deep = below.deep;
    }
    d->frames += self->frame_bytes;
    d->local += self->local_bytes;
    d->state = DEPTH_KNOWN;
    return *d;
}

static void check_local_memory(const struct exec_env *env, const struct exec_kernel *k)
{
    const struct exec_func *f = k->func;
    const uint64_t most = env->options.stack_bytes, own = f->local_bytes;
    const uint64_t need = f->depth.deep ? own : f->depth.local;
    if (need <= most) return;
    diag_mistake(
        "kernel '%s' needs %llu bytes of local memory per thread (%llu of its own, the rest for the "
        "functions it calls); at most %llu are possible: make the arrays smaller or allocate them in "
        "global memory",
        f->ptx->name, (unsigned long long)need, (unsigned long long)own, (unsigned long long)most);
}

static void free_funcs(void *arg) { map_free(&((struct exec_kernel *)arg)->funcs); }

/* Also what lanes read of others, which may have ended or never been there. */
static bool may_read_undefined(const struct exec_kernel *k)
{
    const struct ptx_func *f = k->func->ptx;
    if (k->has_calls || k->func->slots->reads_undefined) return true;
    for (uint32_t pc = 0; pc < f->n_instrs; pc++) {
        const enum ptx_class class = ptx_op_class(f->instrs[pc].op);
        if (class == PTX_CLASS_WARP || class == PTX_CLASS_TENSOR) return true;
    }
    return false;
}

struct exec_kernel *exec_kernel_get(struct exec_env *env, const struct ptx_func *entry)
{
    const uint64_t *known = map_find(&env->kernels, (uint64_t)entry);
    if (known) return (struct exec_kernel *)*known;
    if (!entry->is_entry || !entry->has_body) diag_mistake("'%s' is not a kernel with a body", entry->name);
    struct exec_kernel *k = ARENA_NEW(&env->arena, struct exec_kernel);
    struct diag_cleanup cleanup;
    map_init(&k->funcs);
    diag_defer(&cleanup, free_funcs, k);
    k->shared = ptx_shared_layout(&env->arena, env->program, entry);
    k->func = exec_lower(env, k, entry);
    const struct exec_depth d = depth_of(env, k, entry, 0);
    check_local_memory(env, k);
    k->deep = d.deep;
    k->reads_undefined = may_read_undefined(k);
    k->frame_bytes = d.frames;
    k->local_bytes = d.local;
    if (d.deep) {
        /* Reserved only. A frame of registers takes at least 4 KB for a warp: calls without local memory can
         * go 8000 deep. */
        enum { FRAMES_PER_STACK = 64 };
        k->local_bytes = env->options.stack_bytes;
        k->frame_bytes = k->func->frame_bytes + FRAMES_PER_STACK * env->options.stack_bytes;
    }
    diag_done(&cleanup, false);
    *map_put(&env->kernels, (uint64_t)entry, NULL) = (uint64_t)k; /* only when it can be launched */
    return k;
}

const struct ptx_func *exec_kernel_ptx(const struct exec_kernel *k) { return k->func->ptx; }
uint64_t exec_kernel_shared_bytes(const struct exec_kernel *k) { return k->shared->static_bytes; }
uint32_t exec_kernel_registers(const struct exec_kernel *k) { return k->func->slots->max_live_32; }
uint64_t exec_kernel_local_bytes(const struct exec_kernel *k) { return k->func->ptx->local_bytes; }

/* ---- launches ---- */

/* Limits of every GPU since compute capability 3.0. */
static const uint32_t grid_most[3] = {0x7fffffff, 65535, 65535}, block_most[3] = {1024, 1024, 64};
enum { THREADS_MOST = 1024, SM_THREADS_MOST = 2048, SM_BLOCKS_MOST = 32, SHARED_MOST = 227 << 10 };

static void check_dimensions(const char *kernel, const char *what, const uint32_t d[3],
                             const uint32_t most[3])
{
    for (uint32_t k = 0; k < 3; k++)
        if (!d[k] || d[k] > most[k])
            diag_mistake("kernel '%s': %s of %u x %u x %u: %c must be 1 to %u", kernel, what, d[0], d[1],
                         d[2], "xyz"[k], most[k]);
}

/* What the kernel itself asks for. */
static void check_bounds(const struct exec_launch *l, const struct ptx_func *f)
{
    for (uint32_t k = 0; k < 3; k++)
        if (f->reqntid[0] && l->block[k] != (f->reqntid[k] ? f->reqntid[k] : 1))
            diag_mistake("kernel '%s' requires blocks of %u x %u x %u (.reqntid)", f->name, f->reqntid[0],
                         f->reqntid[1] ? f->reqntid[1] : 1, f->reqntid[2] ? f->reqntid[2] : 1);
    const uint64_t most = (uint64_t)(f->maxntid[0] ? f->maxntid[0] : THREADS_MOST) *
                          (f->maxntid[1] ? f->maxntid[1] : 1) * (f->maxntid[2] ? f->maxntid[2] : 1);
    if (f->maxntid[0] && l->threads_per_block > most)
        diag_mistake("kernel '%s': block of %u threads, but its .maxntid allows %llu", f->name,
                     l->threads_per_block, (unsigned long long)most);
    if (ptx_func_has_cluster(f))
        diag_mistake("kernel '%s' requires clusters of %u x %u x %u blocks (.reqnctapercluster), and thread "
                     "block clusters are not supported: compile it without __cluster_dims__",
                     f->name, f->reqnctapercluster[0], f->reqnctapercluster[1] ? f->reqnctapercluster[1] : 1,
                     f->reqnctapercluster[2] ? f->reqnctapercluster[2] : 1);
}

/* All blocks of a cooperative grid are resident at once. */
static void check_cooperative(const struct exec_launch *l, const char *kernel)
{
    const uint64_t sms = l->env->options.sm_count, by_threads = SM_THREADS_MOST / l->threads_per_block;
    const uint64_t most = sms * (by_threads < SM_BLOCKS_MOST ? by_threads : SM_BLOCKS_MOST);
    if (l->cooperative && l->block_count > most)
        diag_mistake("kernel '%s': a cooperative grid of %llu blocks of %u threads does not fit the machine: "
                     "%llu SMs hold %llu of them at a time",
                     kernel, (unsigned long long)l->block_count, l->threads_per_block,
                     (unsigned long long)sms, (unsigned long long)most);
}

void exec_check_dimensions(const char *kernel, const uint32_t grid[3], const uint32_t block[3])
{
    check_dimensions(kernel, "grid", grid, grid_most);
    check_dimensions(kernel, "block", block, block_most);
    const uint32_t threads = block[0] * block[1] * block[2];
    if (threads > THREADS_MOST)
        diag_mistake("kernel '%s': block of %u x %u x %u has %u threads; at most %d are possible", kernel,
                     block[0], block[1], block[2], threads, THREADS_MOST);
}

void exec_launch_begin(struct exec_launch *l)
{
    const struct ptx_func *f = l->kernel->func->ptx;
    exec_check_dimensions(f->name, l->grid, l->block);
    l->threads_per_block = l->block[0] * l->block[1] * l->block[2];
    l->block_count = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    check_bounds(l, f);
    check_cooperative(l, f->name);
    l->warps_per_block = (l->threads_per_block + LANES - 1) / LANES;
    const struct ptx_shared_layout *s = l->kernel->shared;
    l->shared_bytes = l->dynamic_shared_bytes ? s->dynamic_offset + l->dynamic_shared_bytes : s->static_bytes;
    if (l->shared_bytes > SHARED_MOST)
        diag_mistake("kernel '%s' wants %llu bytes of shared memory per block; at most %d are possible",
                     f->name, (unsigned long long)l->shared_bytes, SHARED_MOST);
    l->chunk_bytes = exec_chunk_bytes(l);
    exec_memory_changed(l->env);
}

void exec_memory_changed(struct exec_env *env)
{
    if (env->generation != env->memory->generation) access_reset(env);
}

bool exec_supports(const struct ptx_instr *instr)
{
    struct lanes_op op;
    struct lanes_matrix *m;
    switch ((enum ptx_op)instr->op) {
    case PTX_OP_UNKNOWN: return false;
    case PTX_OP_ATOM:
    case PTX_OP_RED: return instr->vec <= 1 && atom_supports(instr->sub, instr->type);
    case PTX_OP_TEX:
    case PTX_OP_TLD4:
    case PTX_OP_TXQ:
    case PTX_OP_SULD:
    case PTX_OP_SUST:
    case PTX_OP_SURED:
    case PTX_OP_SUQ:
    case PTX_OP_ISTYPEP: return image_supports(instr);
    case PTX_OP_CVTA:
    case PTX_OP_ISSPACEP:
    case PTX_OP_CREATEPOLICY:
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_DISCARD:
    case PTX_OP_CP_ASYNC:
    case PTX_OP_CP_ASYNC_COMMIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_ALL:
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
    case PTX_OP_CP_ASYNC_BULK:
    case PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
    case PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
    case PTX_OP_CP_ASYNC_BULK_PREFETCH:
    case PTX_OP_BAR_SYNC:
    case PTX_OP_BAR_ARRIVE:
    case PTX_OP_BAR_RED:
    case PTX_OP_BAR_WARP_SYNC:
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE:
    case PTX_OP_FENCE_PROXY:
    case PTX_OP_FENCE_MBARRIER_INIT:
    case PTX_OP_MBARRIER_INIT:
    case PTX_OP_MBARRIER_INVAL:
    case PTX_OP_MBARRIER_EXPECT_TX:
    case PTX_OP_MBARRIER_COMPLETE_TX:
    case PTX_OP_MBARRIER_ARRIVE:
    case PTX_OP_MBARRIER_ARRIVE_DROP:
    case PTX_OP_MBARRIER_TEST_WAIT:
    case PTX_OP_MBARRIER_TRY_WAIT:
    case PTX_OP_MBARRIER_PENDING_COUNT:
    case PTX_OP_GRIDDEPCONTROL:
    case PTX_OP_NANOSLEEP:
    case PTX_OP_SETMAXNREG:
    case PTX_OP_BRA:
    case PTX_OP_BRX_IDX:
    case PTX_OP_CALL:
    case PTX_OP_RET:
    case PTX_OP_EXIT:
    case PTX_OP_TRAP:
    case PTX_OP_BRKPT:
    case PTX_OP_PMEVENT: return true;
    default: break;
    }
    if (ptx_op_class(instr->op) != PTX_CLASS_TENSOR) return lanes_find(NULL, instr, LANES_PLAIN, &op);
    m = malloc(sizeof *m);
    const bool found = m && lanes_matrix_find(NULL, instr, LANES_PLAIN, m);
    free(m);
    return found;
}
