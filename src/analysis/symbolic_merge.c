/* symbolic_merge: what a variable holds where ways meet: one value, a selection between two, or a merge with
 * the conditions that decide which it is. */
#include "analysis/symbolic_private.h"

enum { CONDITIONS_MAX = 6, REGION_MAX = 14 };

/* What the branch at the end of a block goes by; NULL: not known. */
static const struct expr *condition_of(const struct activation *a, uint32_t block)
{
    const struct ptx_instr *last = &a->f->func->instrs[a->f->cfg->blocks[block].end - 1];
    if (last->op != PTX_OP_BRA || last->guard == PTX_NO_REG) return NULL;
    return a->f->du->def_start[last->guard + 1] - a->f->du->def_start[last->guard] == 1
               ? a->regs[last->guard]
               : values_held(a, block, last->guard);
}

/* Loops that the branch at the end of a block depends on: where it goes may change with their iterations. */
static uint64_t branch_loops(const struct activation *a, uint32_t block)
{
    if (block == PTX_NO_BLOCK) return 0;
    const struct ptx_block *b = &a->f->cfg->blocks[block];
    if (b->n_succs < 2) return 0;
    const struct expr *condition = condition_of(a, block);
    return condition ? condition->loops : values_loops_around(a, block);
}

static bool leaves(const struct ptx_cfg *cfg, uint32_t block, uint32_t loop)
{
    const struct ptx_block *b = &cfg->blocks[block];
    bool out = false;
    for (uint32_t k = 0; k < b->n_succs; k++) out |= !frame_in_loop(cfg, cfg->succs[b->first_succ + k], loop);
    return out && frame_in_loop(cfg, block, loop);
}

/* The only end of a loop that does not hold the place where ways meet: in the end it is taken, whatever it
 * goes by. */
static bool only_repeats(const struct ptx_cfg *cfg, uint32_t block, const uint32_t *region, uint32_t n)
{
    const uint32_t loop = cfg->blocks[block].loop;
    uint32_t ends = 0;
    if (loop == PTX_NO_INDEX || frame_in_loop(cfg, region[0], loop) || !leaves(cfg, block, loop))
        return false;
    for (uint32_t k = 1; k < n; k++) ends += leaves(cfg, region[k], loop);
    return ends == 1;
}

/* Appends what decides by which edge a block is entered: the branches since its dominator whose ways do not
 * meet before it. False: not known. */
static bool conditions(struct activation *a, uint32_t block, const struct expr **args, uint32_t *n_args)
{
    const struct ptx_cfg *cfg = a->f->cfg;
    const uint32_t top = cfg->blocks[block].idom, most = *n_args + CONDITIONS_MAX;
    uint32_t region[REGION_MAX], n = 0;
    if (top == PTX_NO_BLOCK) return false;
    region[n++] = block;
    for (uint32_t k = 0; k < n; k++) { /* all that lies between */
        const struct ptx_block *b = &cfg->blocks[region[k]];
        if (region[k] == top) continue;
        for (uint32_t j = 0; j < b->n_preds; j++) {
            const uint32_t p = cfg->preds[b->first_pred + j];
            bool known = cfg->blocks[p].rpo == PTX_NO_INDEX || (!k && cfg->blocks[p].rpo >= b->rpo);
            for (uint32_t i = 0; i < n && !known; i++) known = region[i] == p;
            if (known) continue;
            if (n == REGION_MAX) return false;
            region[n++] = p;
        }
    }
    for (uint32_t k = 1; k < n; k++) {
        const struct ptx_block *b = &cfg->blocks[region[k]];
        if (b->n_succs < 2) continue;
        bool before = false; /* the ways meet at a block of the region */
        for (uint32_t i = 1; i < n && !before; i++) before = region[i] == b->ipdom && region[i] != top;
        if (before || only_repeats(cfg, region[k], region, n)) continue;
        const struct expr *c = condition_of(a, region[k]);
        if (!c || c->depth >= EXPR_DEPTH_MAX || *n_args == most) return false;
        args[(*n_args)++] = c;
    }
    return true;
}

/* A merge of lost values: nothing more can be said of it than what it depends on. */
static const struct expr *lost_at(struct activation *a, uint32_t block, uint32_t var,
                                  const struct expr *const *values, uint32_t n)
{
    struct atom like = {.kind = ATOM_OTHER,
                        .id = a->first_site + a->f->cfg->blocks[block].first,
                        .element = UNKNOWN_OF_VARS + UNKNOWN_REASONS * var + UNKNOWN_LOST,
                        .loops = values_loops_around(a, block)};
    for (uint32_t k = 0; k < n; k++) {
        like.deps |= values[k]->deps & ~(uint32_t)DEP_PHI;
        like.loops |= values[k]->loops;
    }
    return expr_of(a->w->pool, expr_intern_atom(a->w->pool, &like));
}

/* By which way of the branch at the end of `top` does the edge from `pred` to `block` come? -1: not known. */
static int way_of(const struct ptx_cfg *cfg, uint32_t top, uint32_t pred, uint32_t block)
{
    const struct ptx_block *t = &cfg->blocks[top];
    uint32_t first = pred == top ? block : pred;
    while (pred != top && cfg->blocks[first].idom != top) {
        first = cfg->blocks[first].idom;
        if (first == PTX_NO_BLOCK) return -1;
    }
    if (t->n_succs != 2 || cfg->succs[t->first_succ] == cfg->succs[t->first_succ + 1]) return -1;
    for (uint32_t k = 0; k < 2; k++)
        if (cfg->succs[t->first_succ + k] == first) return (int)k;
    return -1;
}

/* Two ways from one branch: condition ? value : value, as if a compiler had made a selp of it. NULL: not so.
 */
static const struct expr *selection(const struct activation *a, uint32_t block, const uint32_t *preds,
                                    const struct expr *const *values, const struct expr *condition)
{
    const struct ptx_cfg *cfg = a->f->cfg;
    const uint32_t top = cfg->blocks[block].idom;
    const int way[2] = {way_of(cfg, top, preds[0], block), way_of(cfg, top, preds[1], block)};
    if (way[0] < 0 || way[1] < 0 || way[0] == way[1] || condition != condition_of(a, top)) return NULL;
    const struct ptx_instr *branch = &a->f->func->instrs[cfg->blocks[top].end - 1];
    const bool taken_first = (way[0] == 0) != (bool)branch->guard_not;
    const struct expr *v[3] = {condition, values[taken_first ? 0 : 1], values[taken_first ? 1 : 0]};
    return expr_op(a->w->pool, EXPR_SELECT, PTX_T_S64, 0, v, 3);
}

const struct expr *values_merge(struct activation *a, uint32_t block, uint32_t var, const uint32_t *preds,
                                const struct expr *const *values, uint32_t n)
{
    const struct expr *first = NULL;
    bool same = true, hole = false;
    for (uint32_t k = 0; k < n; k++) {
        hole |= !values[k];
        if (!values[k]) continue;
        if (!first) first = values[k];
        same &= values[k] == first;
    }
    if (same || !first) return first; /* undefined on a path: then the program does not use it there */
    if (hole) return values_unknown_at(a, block, var, UNKNOWN_HOLE);
    bool all_lost = true;
    for (uint32_t k = 0; k < n; k++) all_lost &= expr_is_lost(values[k]);
    if (all_lost) return lost_at(a, block, var, values, n);
    const struct expr *args[MERGE_MAX + CONDITIONS_MAX], *common = expr_common(a->w->pool, values, n);
    for (uint32_t k = 0; k < n; k++) args[k] = expr_sub(a->w->pool, values[k], common);
    struct atom like = {.kind = ATOM_MERGE,
                        .id = a->first_site + a->f->cfg->blocks[block].first,
                        .element = n,
                        .own_deps = DEP_MERGE,
                        .n_args = n,
                        .args = args};
    const bool known = conditions(a, block, args, &like.n_args);
    if (known && n == 2 && like.n_args == 3) {
        const struct expr *either = selection(a, block, preds, values, args[2]);
        if (either) return either;
    }
    if (!known) like.own_deps |= DEP_OTHER | DEP_DATA;
    like.deps = like.own_deps;
    like.loops = branch_loops(a, a->f->cfg->blocks[block].idom);
    for (uint32_t k = 0; k < n; k++)
        if (values[k]->depth >= EXPR_DEPTH_MAX) return values_unknown_at(a, block, var, UNKNOWN_DEEP);
    return expr_add(a->w->pool, common, expr_of(a->w->pool, expr_intern_atom(a->w->pool, &like)));
}
