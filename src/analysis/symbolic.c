/* symbolic: the walk over a kernel and what it calls. See symbolic.h. */
#include "analysis/symbolic.h"

#include <string.h>

#include "analysis/symbolic_private.h"

void walk_bind(struct arena *arena, struct bindings *b, uint32_t symbol, int64_t offset,
               const struct expr *value)
{
    if (b->count == b->capacity) {
        b->capacity = b->capacity ? 2 * b->capacity : 8;
        struct binding *more = ARENA_ARRAY(arena, struct binding, b->capacity);
        if (b->count) memcpy(more, b->rows, b->count * sizeof *more);
        b->rows = more;
    }
    b->rows[b->count++] = (struct binding){symbol, offset, value};
}

/* ---- loops and activations ---- */

static void add_loops(struct activation *a)
{
    struct walker *w = a->w;
    struct symbolic *s = w->s;
    const struct ptx_cfg *cfg = a->f->cfg;
    a->first_loop = s->n_loops;
    if (s->n_loops + cfg->n_loops > w->loop_capacity) {
        w->loop_capacity = 2 * (s->n_loops + cfg->n_loops);
        struct symbolic_loop *more = ARENA_ARRAY(w->arena, struct symbolic_loop, w->loop_capacity);
        if (s->n_loops) memcpy(more, s->loops, s->n_loops * sizeof *more);
        s->loops = more;
    }
    for (uint32_t l = 0; l < cfg->n_loops; l++) {
        const uint32_t parent = cfg->loops[l].parent;
        struct symbolic_loop *loop = &s->loops[s->n_loops];
        const struct atom like = {.kind = ATOM_IV, .id = s->n_loops, .loops = expr_loop_bit(s->n_loops)};
        *loop = (struct symbolic_loop){
            .func = a->f->func,
            .activation = a->idx,
            .cfg = cfg,
            .cfg_loop = l,
            .parent = parent == PTX_NO_INDEX ? a->caller_loop : a->first_loop + parent,
            .line = a->f->func->instrs[cfg->blocks[cfg->loops[l].header].first].line,
            .iv = expr_intern_atom(w->pool, &like),
        };
        loop->depth = loop->parent == SYMBOLIC_NO_LOOP ? 1 : s->loops[loop->parent].depth + 1;
        s->n_loops++;
    }
}

static void add_activation(struct activation *a, uint32_t caller, uint32_t call_pc)
{
    struct walker *w = a->w;
    struct symbolic *s = w->s;
    if (s->n_activations == w->activation_capacity) {
        w->activation_capacity = w->activation_capacity ? 2 * w->activation_capacity : 8;
        struct symbolic_activation *more =
            ARENA_ARRAY(w->arena, struct symbolic_activation, w->activation_capacity);
        if (s->n_activations) memcpy(more, s->activations, s->n_activations * sizeof *more);
        s->activations = more;
    }
    a->idx = s->n_activations++;
    a->first_site = w->sites;
    w->sites += a->f->func->n_instrs + 1;
    a->first_phi = w->n_phis;
    add_loops(a);
    s->activations[a->idx] = (struct symbolic_activation){.func = a->f->func,
                                                          .first_site = a->first_site,
                                                          .first_loop = a->first_loop,
                                                          .call_pc = call_pc,
                                                          .caller = caller};
}

static void free_defs(void *map) { map_free(map); }

static void walk(struct activation *a)
{
    const struct ptx_cfg *cfg = a->f->cfg;
    for (uint32_t k = 0; k < cfg->n_rpo; k++) {
        a->block = cfg->rpo[k];
        for (a->pc = cfg->blocks[a->block].first; a->pc < cfg->blocks[a->block].end; a->pc++) instr_walk(a);
    }
}

/* What the function has put into its return variables, over all its ends. */
static void collect_results(struct activation *a, struct bindings *results)
{
    const struct ptx_func *f = a->f->func;
    for (uint32_t slot = 0; slot < a->f->n_slots && results->count < 64; slot++) {
        const struct frame_slot *s = &a->f->slots[slot];
        if (s->symbol < f->first_param || s->symbol >= f->first_param + f->n_rets || local_is_mixed(a, slot))
            continue;
        const struct expr *value = NULL;
        bool known = true;
        for (uint32_t k = 0; k < a->f->cfg->n_rpo; k++) {
            const struct ptx_block *b = &a->f->cfg->blocks[a->f->cfg->rpo[k]];
            if (!b->to_exit) continue;
            const struct expr *here = values_at_end(a, a->f->cfg->rpo[k], f->n_regs + slot, 0);
            known &= here && (!value || here == value);
            value = here;
        }
        if (value && known) walk_bind(a->w->arena, results, s->symbol, s->offset, value);
    }
}

static void run_activation(struct activation *a, uint32_t caller, uint32_t call_pc, struct bindings *results)
{
    struct diag_cleanup cleanup;
    map_init(&a->defs);
    diag_defer(&cleanup, free_defs, &a->defs);
    a->regs = ARENA_ARRAY(a->w->arena, const struct expr *, a->f->func->n_regs + 1);
    add_activation(a, caller, call_pc);
    const uint32_t first_access = a->w->s->n_accesses;
    walk(a);
    if (results) collect_results(a, results);
    values_complete_phis(a, first_access, results);
    diag_done(&cleanup, true);
}

bool walk_call(struct activation *caller, const struct ptx_func *callee, const struct bindings *args,
               struct bindings *results)
{
    struct walker *w = caller->w;
    uint32_t depth = 0;
    for (const struct activation *up = caller; up; up = up->caller, depth++)
        if (up->f->func == callee) return false; /* recursion */
    if (depth >= CALL_DEPTH_MAX || w->budget < callee->n_instrs) return false;
    w->budget -= callee->n_instrs;
    const uint32_t l = caller->f->cfg->blocks[caller->block].loop;
    struct activation a = {.w = w,
                           .f = frame_of(w->frames, callee),
                           .caller_loop = l == PTX_NO_INDEX ? caller->caller_loop : caller->first_loop + l,
                           .caller_loops = values_loops_around(caller, caller->block),
                           .caller = caller,
                           .args = args};
    run_activation(&a, caller->idx, caller->pc, results);
    return true;
}

/* ---- the kernel ---- */

/* Terms of expressions looked at: what compilers emit takes at most ten per instruction in all tests
 * (six times less than the limit) and looks at 1.3 predecessors; made-up code is cut off. */
enum { WORK_LEAST = 5000, WORK_PER_INSTRUCTION = 60 };

void symbolic_free(void *symbolic) { expr_pool_free(&((struct symbolic *)symbolic)->pool); }

static void free_mixed(void *mixed) { map_free(mixed); }

/* One walk; true: it has to be repeated, with more slots of the stack that are not followed. */
static bool walk_kernel(struct symbolic *s, struct arena *arena, struct frame_cache *frames,
                        const struct ptx_func *kernel, struct map *mixed, bool all_mixed)
{
    expr_pool_init(&s->pool, arena, 4 * kernel->n_instrs);
    struct walker w = {.arena = arena,
                       .frames = frames,
                       .s = s,
                       .pool = &s->pool,
                       .budget = 500 + (uint64_t)kernel->n_instrs,
                       .search_budget = 1000 + 6 * (uint64_t)kernel->n_instrs,
                       .mixed = mixed,
                       .all_mixed = all_mixed};
    s->pool.work_left = WORK_LEAST + WORK_PER_INSTRUCTION * (uint64_t)kernel->n_instrs;
    struct activation a = {.w = &w, .f = frame_of(frames, kernel), .caller_loop = SYMBOLIC_NO_LOOP};
    run_activation(&a, UINT32_MAX, UINT32_MAX, NULL);
    loops_understand(&w);
    return local_reaches_more(&w);
}

struct symbolic *symbolic_run(struct arena *arena, struct frame_cache *frames, const struct ptx_func *kernel)
{
    enum { WALKS_MOST = 4 };
    struct symbolic *s = ARENA_NEW(arena, struct symbolic);
    struct diag_cleanup cleanup, mixed_goes;
    struct map mixed;
    map_init(&mixed);
    diag_defer(&mixed_goes, free_mixed, &mixed);
    diag_defer(&cleanup, symbolic_free, s);
    for (uint32_t round = 1; walk_kernel(s, arena, frames, kernel, &mixed, round == WALKS_MOST); round++) {
        symbolic_free(s);
        *s = (struct symbolic){0};
    }
    diag_done(&cleanup, false);
    diag_done(&mixed_goes, true);
    return s;
}

bool symbolic_loop_contains(const struct symbolic *s, uint32_t outer, uint32_t inner)
{
    for (; inner != SYMBOLIC_NO_LOOP; inner = s->loops[inner].parent)
        if (inner == outer) return true;
    return false;
}
