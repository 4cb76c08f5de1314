/* analysis_truth: the predicted expression of every access against the addresses that threads really use.
 *
 * Every kernel of tests/analysis is compiled at every level and its launch executed for sampled blocks,
 * instruction by instruction. For each thread the test follows what the expressions name: iterations of each
 * loop (heads entered from inside), the way by which a block was entered (merges), what a load gave (data).
 * Then the address of every access of every thread must be what its expression evaluates to, and which blocks
 * share which data must be what the class says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/compile.h"
#include "analysis/hostile.h"
#include "analysis/index.h"
#include "analysis/tricky.h"
#include "analysis/workloads.h"
#include "base/rng.h"
#include "exec/exec.h"
#include "exec/machine.h"
#include "runtime/runtime.h"

enum { BLOCKS_MOST = 6, STEPS_MOST = 3000000 };

/* What one thread has done. */
struct thread {
    uint32_t block;   /* of the control-flow graph, PTX_NO_BLOCK: none yet */
    uint32_t *came;   /* by block: the block before, at its last entry */
    uint64_t *rounds; /* by loop */
    int64_t *loaded;  /* by pc, 4 elements each */
    uint32_t tid[3];
};

struct touched {
    uint64_t *addresses;
    uint32_t count, capacity;
};

struct truth {
    const struct ladm_workload *w;
    uint32_t level;
    struct arena arena;
    struct exec_launch *launch;
    const struct frame *frame;
    struct symbolic *s;
    const struct locality_table *table;
    const struct symbolic_access **access_at; /* by pc */
    uint32_t ctaid[3];
    const struct thread *now;
    uint64_t buffer[GIVEN_MOST]; /* simulated address of what a parameter points to, 0: a number */
    uint64_t known_overlaps, wanted_overlaps, open_pairs;
    /* by sampled block and pc */
    struct touched *touched[BLOCKS_MOST];
    uint64_t blocks[BLOCKS_MOST];
    uint32_t n_blocks;
    uint64_t checked, skipped, wrong; /* accesses of a thread */
};

/* ---- values of atoms ---- */

static uint32_t entry_index(const struct truth *t, const struct atom *a)
{
    const uint32_t block = t->frame->block_of[a->id - t->s->activations[0].first_site];
    const struct ptx_cfg *cfg = t->frame->cfg;
    const struct ptx_block *b = &cfg->blocks[block];
    for (int forward = 0; forward < 2; forward++) {
        uint32_t n = 0, at = UINT32_MAX;
        for (uint32_t k = 0; k < b->n_preds; k++) {
            const uint32_t p = cfg->preds[b->first_pred + k];
            if (cfg->blocks[p].rpo == PTX_NO_INDEX || (forward && cfg->blocks[p].rpo >= b->rpo)) continue;
            if (p == t->now->came[block]) at = n;
            n++;
        }
        if (n == a->element) return at;
    }
    return UINT32_MAX;
}

static bool sreg_value(const struct truth *t, uint32_t sreg, int64_t *v)
{
    const struct exec_launch *l = t->launch;
    if (sreg <= PTX_SREG_TID_Z) {
        *v = t->now->tid[sreg];
    } else if (sreg >= PTX_SREG_CTAID_X && sreg <= PTX_SREG_CTAID_Z) {
        *v = t->ctaid[sreg - PTX_SREG_CTAID_X];
    } else if (sreg >= PTX_SREG_NTID_X && sreg <= PTX_SREG_NTID_Z) {
        *v = l->block[sreg - PTX_SREG_NTID_X];
    } else if (sreg >= PTX_SREG_NCTAID_X && sreg <= PTX_SREG_NCTAID_Z) {
        *v = l->grid[sreg - PTX_SREG_NCTAID_X];
    } else {
        return false;
    }
    return true;
}

static bool value_of(void *arg, const struct atom *a, int64_t *v)
{
    const struct truth *t = arg;
    switch ((enum atom_kind)a->kind) {
    case ATOM_SREG: return sreg_value(t, a->id, v);
    case ATOM_PARAM: {
        uint64_t bits = 0;
        memcpy(&bits, t->launch->params + a->id, a->size_bytes);
        *v = a->size_bytes == 4 ? (int64_t)(int32_t)bits : (int64_t)bits;
        return true;
    }
    case ATOM_IV: *v = (int64_t)t->now->rounds[a->id]; return true;
    case ATOM_DATA:
        *v = t->now->loaded[4 * (a->id - t->s->activations[0].first_site) + a->element];
        return a->element < 4;
    case ATOM_MERGE: {
        const uint32_t way = entry_index(t, a);
        return way < a->element && expr_eval(a->args[way], value_of, arg, v);
    }
    case ATOM_OTHER: return symbolic_number(t->s, a, value_of, arg, v);
    case ATOM_BASE:
    case ATOM_PHI:
    case ATOM_OP: break;
    }
    return false;
}

/* ---- following threads ---- */

static void enter(const struct truth *t, struct thread *th, uint32_t block)
{
    const struct ptx_cfg *cfg = t->frame->cfg;
    const uint32_t l = cfg->blocks[block].loop;
    th->came[block] = th->block;
    if (l != PTX_NO_INDEX && cfg->loops[l].header == block)
        th->rounds[l] = th->block != PTX_NO_BLOCK && frame_in_loop(cfg, th->block, l) ? th->rounds[l] + 1 : 0;
}

static void remember(struct touched *t, uint64_t address)
{
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 64;
        t->addresses = realloc(t->addresses, t->capacity * sizeof *t->addresses);
        assert_non_null(t->addresses);
    }
    t->addresses[t->count++] = address;
}

static const struct locality_row *row_of(const struct truth *t, const struct symbolic_access *a)
{
    for (uint32_t k = 0; k < t->table->n_rows; k++) {
        const struct locality_row *r = &t->table->rows[k];
        if (r->func == a->func && r->pc == a->pc) return r;
    }
    return NULL;
}

static void check_access(struct truth *t, const struct symbolic_access *a, uint64_t address, uint32_t sampled)
{
    const struct devmem *m = exec_memory(t->launch->env);
    int64_t predicted;
    remember(&t->touched[sampled][a->pc], address);
    if (!expr_eval(a->address, value_of, t, &predicted)) {
        /* only what was not classified may be beyond evaluation */
        const struct locality_row *row = row_of(t, a);
        const bool data = a->address->deps & DEP_DATA;
        t->skipped++;
        if (!data && row && row->class != LOCALITY_NONE && t->wrong++ < 5)
            print_error("%s at %s, line %u: classified, but cannot be evaluated\n", t->w->name,
                        compile_level(t->level), row->line);
        return;
    }
    t->checked++;
    if (devmem_simulated(m, (uint64_t)predicted) == address) return;
    if (t->wrong++ < 5)
        print_error("%s at %s, line %u, thread %u,%u of block %u,%u: address 0x%llx, predicted 0x%llx\n",
                    t->w->name, compile_level(t->level), a->func->instrs[a->pc].line, t->now->tid[0],
                    t->now->tid[1], t->ctaid[0], t->ctaid[1], (unsigned long long)address,
                    (unsigned long long)devmem_simulated(m, (uint64_t)predicted));
}

/* What the load gave lies in memory, of whatever space; read as the instruction did. */
static void read_back(const struct truth *t, const struct exec_warp *w, const struct warp_op *op,
                      uint32_t lane, uint64_t offset, void *to, uint32_t bytes)
{
    const struct devmem *m = exec_memory(t->launch->env);
    const uint64_t at = warp_op_address(op, lane) + (op->space == WARP_SPACE_LOCAL ? 0 : offset);
    if (op->space == WARP_SPACE_LOCAL) { /* its simulated addresses lie as its bytes do: see exec/step.c */
        const uint64_t first = m->sim_base - DEVMEM_SIM_SLOT_BYTES / 4,
                       warp = w->block->block_idx * w->block->warp_count + w->idx;
        const uint64_t inside = at - first - warp * w->local_bytes * 32;
        local_read(w, lane, inside / 128 * 4 + inside % 4 + offset, to, bytes);
    } else if (op->space == WARP_SPACE_SHARED) {
        memcpy(to, w->shared + at, bytes);
    } else {
        memcpy(to, (const uint8_t *)(uintptr_t)(at - m->sim_base + m->base), bytes);
    }
}

static void keep_loaded(const struct truth *t, struct thread *th, const struct exec_warp *w,
                        const struct warp_op *op, uint32_t lane)
{
    const struct ptx_instr *i = &t->frame->func->instrs[op->info->pc];
    const uint32_t bytes = ptx_type_bits(i->type) / 8, count = i->vec ? i->vec : 1;
    for (uint32_t e = 0; e < count && e < 4; e++) {
        uint64_t bits = 0;
        read_back(t, w, op, lane, (uint64_t)e * bytes, &bits, bytes);
        th->loaded[4 * op->info->pc + e] = bytes == 4 ? (int64_t)(int32_t)bits : (int64_t)bits;
    }
}

static void follow(struct truth *t, struct thread *threads, const struct exec_warp *w,
                   const struct warp_op *op, uint32_t sampled)
{
    const uint32_t pc = op->info->pc, block = t->frame->block_of[pc];
    const bool first = t->frame->cfg->blocks[block].first == pc, memory = op->space == WARP_SPACE_GLOBAL ||
                                                                          op->space == WARP_SPACE_LOCAL ||
                                                                          op->space == WARP_SPACE_SHARED;
    if (op->reg_base) return; /* in a function that a pointer led to: it is not followed, its pc are others */
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(op->active >> lane & 1)) continue;
        struct thread *th = &threads[w->idx * 32 + lane];
        if (first) enter(t, th, block);
        th->block = block;
        if (!(op->mask >> lane & 1) || !memory) continue;
        t->now = th;
        if (t->access_at[pc] && op->space == WARP_SPACE_GLOBAL)
            check_access(t, t->access_at[pc], warp_op_address(op, lane), sampled);
        if (op->info->class == WARP_CLASS_LOAD) keep_loaded(t, th, w, op, lane);
    }
}

static struct thread *new_threads(struct truth *t)
{
    const struct exec_launch *l = t->launch;
    struct thread *threads = ARENA_ARRAY(&t->arena, struct thread, l->warps_per_block * 32u);
    for (uint32_t n = 0; n < l->warps_per_block * 32u; n++) {
        threads[n].block = PTX_NO_BLOCK;
        threads[n].came = ARENA_ARRAY(&t->arena, uint32_t, t->frame->cfg->n_blocks + 1);
        threads[n].rounds = ARENA_ARRAY(&t->arena, uint64_t, t->s->n_loops + 1);
        threads[n].loaded = ARENA_ARRAY(&t->arena, int64_t, 4 * (size_t)t->frame->func->n_instrs + 4);
        threads[n].tid[0] = n % l->block[0];
        threads[n].tid[1] = n / l->block[0] % l->block[1];
        threads[n].tid[2] = n / l->block[0] / l->block[1];
    }
    return threads;
}

static void run_block(struct truth *t, uint64_t block, uint32_t sampled)
{
    const struct exec_launch *l = t->launch;
    t->ctaid[0] = (uint32_t)(block % l->grid[0]);
    t->ctaid[1] = (uint32_t)(block / l->grid[0] % l->grid[1]);
    t->ctaid[2] = (uint32_t)(block / l->grid[0] / l->grid[1]);
    t->touched[sampled] = ARENA_ARRAY(&t->arena, struct touched, t->frame->func->n_instrs + 1);
    struct thread *threads = new_threads(t);
    struct exec_block *b = exec_block_create(t->launch, block, 0);
    uint64_t steps = 0;
    while (!exec_block_done(b)) {
        bool moved = false;
        for (uint32_t warp = 0; warp < l->warps_per_block; warp++) {
            struct warp_op op;
            if (exec_warp_step(b, warp, &op) != WARP_STEP_OP) continue;
            moved = true;
            assert_true(++steps < STEPS_MOST);
            follow(t, threads, &b->warps[warp], &op, sampled);
        }
        if (!moved) exec_block_check_stuck(b);
    }
    exec_block_destroy(b);
}

/* ---- which blocks share ---- */

static int by_address(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void sort_unique(struct touched *t)
{
    uint32_t n = 0;
    if (t->count) qsort(t->addresses, t->count, sizeof *t->addresses, by_address);
    for (uint32_t k = 0; k < t->count; k++)
        if (!n || t->addresses[n - 1] != t->addresses[k]) t->addresses[n++] = t->addresses[k];
    t->count = n;
}

static uint32_t common(const struct touched *a, const struct touched *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
        n += a->addresses[i] == b->addresses[j];
        const bool first = a->addresses[i] <= b->addresses[j], second = b->addresses[j] <= a->addresses[i];
        i += first;
        j += second;
    }
    return n;
}

/* What two blocks touch through one access: all the same, or nothing; without locality adjacent blocks may
 * share a border (stencils, in the paper's words "except among the adjacent elements"): less than half. */
static void check_pair(struct truth *t, const struct symbolic_access *a, const struct locality_row *row,
                       uint32_t x, uint32_t y)
{
    const uint64_t gx = t->launch->grid[0];
    const bool same_row = t->blocks[x] / gx == t->blocks[y] / gx,
               same_column = t->blocks[x] % gx == t->blocks[y] % gx;
    const bool by_row = row->class == LOCALITY_ROW_H || row->class == LOCALITY_ROW_V;
    const bool by_column = row->class == LOCALITY_COL_H || row->class == LOCALITY_COL_V;
    const struct touched *one = &t->touched[x][a->pc], *other = &t->touched[y][a->pc];
    if (x == y || (!by_row && !by_column && row->class != LOCALITY_NL)) return;
    if (row->class == LOCALITY_NL) {
        const struct locality_argument *arg = &t->table->arguments[row->argument];
        if (arg->overlap_bytes != LOCALITY_OVERLAP_UNKNOWN) return; /* see check_overlap() */
        /* neither how much a block touches nor whether that overlaps: nothing is predicted */
        t->open_pairs += !t->table->rows[arg->row].datablock_bytes;
        if (!t->table->rows[arg->row].datablock_bytes) return;
    }
    if (a->address->deps & DEP_MERGE || a->address->depth)
        return; /* clamped at borders: neighbours overlap */
    const uint32_t both = common(one, other);
    const bool shares = (by_row && same_row) || (by_column && same_column);
    const uint32_t border =
        row->class == LOCALITY_NL ? (one->count < other->count ? one->count : other->count) / 2 : 0;
    const bool right = shares ? both == one->count && both == other->count && both : both <= border;
    if (!right && t->wrong++ < 5)
        print_error("%s at %s, line %u, %s: blocks %llu and %llu share %u of %u and %u addresses\n",
                    t->w->name, compile_level(t->level), row->line, locality_action(row->class)->class_name,
                    (unsigned long long)t->blocks[x], (unsigned long long)t->blocks[y], both, one->count,
                    other->count);
}

static uint64_t check_sharing(struct truth *t)
{
    uint64_t pairs = 0;
    for (uint32_t x = 0; x < t->n_blocks; x++)
        for (uint32_t pc = 0; pc < t->frame->func->n_instrs; pc++) sort_unique(&t->touched[x][pc]);
    for (uint32_t pc = 0; pc < t->frame->func->n_instrs; pc++) {
        const struct symbolic_access *a = t->access_at[pc];
        const struct locality_row *row = a ? row_of(t, a) : NULL;
        for (uint32_t x = 0; row && x < t->n_blocks; x++)
            for (uint32_t y = 0; y < x; y++, pairs++) check_pair(t, a, row, x, y);
    }
    return pairs;
}

/* What a sampled block touched of a parameter's buffer, every access together, in units of `bytes`. */
static struct touched touched_of(const struct truth *t, uint32_t sampled, uint32_t param, uint32_t bytes)
{
    struct touched all = {0};
    const uint64_t first = t->buffer[param], end = first + t->w->given[param].value;
    for (uint32_t pc = 0; pc < t->frame->func->n_instrs; pc++) {
        const struct touched *one = &t->touched[sampled][pc];
        const struct symbolic_access *a = t->access_at[pc];
        for (uint32_t k = 0; k < one->count; k++)
            for (uint32_t at = 0; at < (uint32_t)a->bytes * a->count; at += bytes)
                if (one->addresses[k] + at >= first && one->addresses[k] + at < end)
                    remember(&all, one->addresses[k] + at);
    }
    sort_unique(&all);
    return all;
}

/* Bytes that two blocks touch, of all that is without locality: never more than is predicted; where the
 * kernel is one whose truth is known, exactly that. */
static void check_overlap(struct truth *t, const struct locality_argument *a)
{
    const uint32_t bytes = t->table->rows[a->row].element_bytes;
    struct touched by_block[BLOCKS_MOST];
    uint64_t most = 0, wanted = UINT64_MAX;
    for (uint32_t k = 0; k < TRICKY_OVERLAPS; k++)
        if (!strcmp(tricky_overlaps[k].kernel, t->w->kernel) && !strcmp(tricky_overlaps[k].argument, a->name))
            wanted = tricky_overlaps[k].bytes;
    for (uint32_t x = 0; x < t->n_blocks; x++) {
        by_block[x] = touched_of(t, x, a->param, bytes);
        for (uint32_t y = 0; y < x; y++) {
            const uint64_t both = (uint64_t)common(&by_block[x], &by_block[y]) * bytes;
            if (both > most) most = both;
        }
    }
    t->known_overlaps++;
    t->wanted_overlaps += wanted != UINT64_MAX;
    if ((most > a->overlap_bytes ||
         (wanted != UINT64_MAX && (most != wanted || a->overlap_bytes != wanted))) &&
        t->wrong++ < 5)
        print_error("%s at %s, %s: two blocks share %llu bytes, predicted %llu, truth %lld\n", t->w->name,
                    compile_level(t->level), a->name, (unsigned long long)most,
                    (unsigned long long)a->overlap_bytes, (long long)wanted);
    for (uint32_t x = 0; x < t->n_blocks; x++) free(by_block[x].addresses);
}

static void check_overlaps(struct truth *t)
{
    for (uint32_t k = 0; k < t->table->n_arguments; k++) {
        const struct locality_argument *a = &t->table->arguments[k];
        if (a->class != LOCALITY_NL || a->param >= GIVEN_MOST || !t->buffer[a->param]) continue;
        if (a->overlap_bytes != LOCALITY_OVERLAP_UNKNOWN) check_overlap(t, a);
    }
}

/* ---- a launch ---- */

static void sample(struct truth *t)
{
    const uint64_t gx = t->launch->grid[0], all = t->launch->block_count;
    /* a corner, its neighbours in the row and in the column, the middle, the end */
    const uint64_t wanted[BLOCKS_MOST] = {0, 1, gx, gx + 1, all / 2, all - 1};
    for (uint32_t k = 0; k < BLOCKS_MOST; k++) {
        bool known = wanted[k] >= all;
        for (uint32_t j = 0; j < t->n_blocks; j++) known |= t->blocks[j] == wanted[k];
        if (!known) t->blocks[t->n_blocks++] = wanted[k];
    }
}

static void execute(void *user, struct exec_launch *launch)
{
    struct truth *t = user;
    struct frame_cache frames;
    const struct ptx_func *f = exec_kernel_ptx(launch->kernel);
    frame_cache_init(&frames, &t->arena);
    t->launch = launch;
    for (uint32_t n = 0; n < GIVEN_MOST; n++)
        if (t->buffer[n]) t->buffer[n] = devmem_simulated(exec_memory(launch->env), t->buffer[n]);
    t->frame = frame_of(&frames, f);
    t->s = symbolic_run(&t->arena, &frames, f);
    const struct locality_launch numbers = {.grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                                            .block = {launch->block[0], launch->block[1], launch->block[2]},
                                            .params = launch->params,
                                            .param_bytes = f->param_bytes};
    t->table = locality_at_launch(&t->arena, index_build(&t->arena, t->s, f), &numbers);
    t->access_at = ARENA_ARRAY(&t->arena, const struct symbolic_access *, f->n_instrs + 1);
    assert_int_equal(t->s->n_activations, 1); /* these kernels call nothing */
    for (uint32_t k = 0; k < t->s->n_accesses; k++) t->access_at[t->s->accesses[k].pc] = &t->s->accesses[k];
    sample(t);
    for (uint32_t k = 0; k < t->n_blocks; k++) run_block(t, t->blocks[k], k);
    (void)check_sharing(t);
    check_overlaps(t);
    for (uint32_t k = 0; k < t->n_blocks; k++)
        for (uint32_t pc = 0; pc < f->n_instrs; pc++) free(t->touched[k][pc].addresses);
    symbolic_free(t->s);
    frame_cache_free(&frames);
}

static void fill(uint32_t *words, const struct given *g)
{
    struct rng r = rng_seed(7, 0);
    for (uint64_t k = 0; k < g->value / 4; k++) {
        const float one = 1.0f;
        if (g->fill == FILL_RAMP) words[k] = (uint32_t)(k * g->k);
        if (g->fill == FILL_MOD) words[k] = (uint32_t)rng_below(&r, g->k);
        if (g->fill == FILL_ZERO && g->k == 1) memcpy(&words[k], &one, 4);
    }
}

static void launch_body(void *arg)
{
    struct truth *t = arg;
    const struct ladm_workload *w = t->w;
    struct rt_context *rt = rt_create(&(struct rt_options){.execute = execute, .execute_user = t});
    struct rt_kernel *k = rt_kernel_find(rt_module_load_file(rt, compile_path(w->file, t->level)), w->kernel);
    const struct ptx_func *f = rt_kernel_ptx(k);
    struct rt_arg args[GIVEN_MOST];
    for (uint32_t n = 0; n < f->n_params; n++) {
        const struct given *g = &w->given[n];
        const float number = (float)g->value;
        args[n] = (struct rt_arg){g->value, 4};
        if (g->fill == FILL_FLOAT) memcpy(&args[n].bits, &number, 4);
        if (g->fill < FILL_ZERO) continue;
        void *buffer = rt_alloc(rt, g->value, NULL);
        fill(buffer, g);
        t->buffer[n] = (uint64_t)(uintptr_t)buffer;
        args[n] = (struct rt_arg){(uint64_t)(uintptr_t)buffer, 8};
    }
    rt_launch_args(rt, k, (struct rt_dim){w->grid[0], w->grid[1], w->grid[2]},
                   (struct rt_dim){w->block[0], w->block[1], w->block[2]}, 0, args, f->n_params);
    rt_wait(rt);
    rt_destroy(rt);
}

static uint64_t checked_all, skipped_all, overlaps_all, wanted_all, open_all;

static uint64_t check_level(uint32_t level)
{
    uint64_t wrong = 0;
    for (uint32_t k = 0; k < LADM_WORKLOADS + TRICKY_KERNELS + HOSTILE_KERNELS; k++) {
        const uint32_t tricky = k - LADM_WORKLOADS;
        struct truth t = {.w = k < LADM_WORKLOADS        ? &ladm_workloads[k]
                               : tricky < TRICKY_KERNELS ? &tricky_kernels[tricky]
                                                         : &hostile_kernels[tricky - TRICKY_KERNELS],
                          .level = level};
        struct diag d;
        diag_init(&d);
        arena_init(&t.arena);
        if (diag_run(&d, launch_body, &t)) fail_msg("%s at %s: %s", t.w->name, compile_level(level), d.text);
        assert_true(t.checked > 0);
        arena_free(&t.arena);
        diag_clear(&d);
        wrong += t.wrong;
        checked_all += t.checked;
        overlaps_all += t.known_overlaps;
        wanted_all += t.wanted_overlaps;
        if (k < LADM_WORKLOADS + TRICKY_KERNELS) open_all += t.open_pairs;
        skipped_all += t.skipped;
    }
    return wrong;
}

static void every_address_is_what_its_expression_says(void **state)
{
    (void)state;
    uint64_t wrong = 0;
    const uint32_t last = compile_has_nvcc() ? COMPILE_NVCC : COMPILE_O3;
    for (uint32_t level = COMPILE_O0; level <= last; level++) wrong += check_level(level);
    print_message(
        "%llu addresses checked, %llu through data that no expression holds; overlap of blocks known of "
        "%llu structures, exact in %llu whose truth is given\n",
        (unsigned long long)checked_all, (unsigned long long)skipped_all, (unsigned long long)overlaps_all,
        (unsigned long long)wanted_all);
    assert_int_equal(wrong, 0);
    assert_true(checked_all > 1000000);
    assert_true(skipped_all < checked_all / 10);
    assert_true(wanted_all >= 40 && overlaps_all >= 500);
    assert_int_equal(open_all,
                     0); /* pairs of blocks of which nothing is said; only hostile kernels have some */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_address_is_what_its_expression_says),
    };
    return cmocka_run_group_tests(tests, compile_begin, compile_end);
}
