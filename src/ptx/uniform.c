/* uniform: which registers hold the same value in all lanes that execute together, which branches do not part
 * them, and where the whole warp is together.
 *
 *   seeds      lane numbers, atomics, private memory, results of calls ...
 *   data       an instruction that reads a divergent register writes divergent ones
 *   control    lanes that part at a divergent branch carry different histories to the joins of its ways: a
 *              register written on one of the ways and still needed at such a join is divergent.
 *              The ways are followed by labels: a block that two different labels reach is a join. A loop
 * whose exit diverges makes its exit block a join, since lanes come to it after different rounds.
 *
 * Each divergent branch is followed once. A budget bounds hostile graphs; when it is spent, all is divergent.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ptx/live.h"

struct uniform {
    const struct ptx_cfg *cfg;
    const struct ptx_func *func;
    const struct ptx_defuse *du;
    struct ptx_uniform *out;
    struct ptx_live live;
    bool args_uniform;
    bool cc_divergent;

    uint32_t *live_start, *live_regs; /* registers live into each block, sorted */
    size_t n_live, cap_live;
    uint32_t *live_block; /* parallel to live_regs while gathering */

    uint32_t *work; /* registers that became divergent */
    uint32_t n_work;
    uint8_t *branch_done;           /* by block */
    uint32_t *label, *region;       /* of the branch being followed */
    uint32_t *def_start, *def_regs; /* registers written in each block */
    uint32_t *defined_in;           /* by register: round in which the region writes it */
    uint32_t *in_region;            /* by block: round in which it belongs to the region */
    uint8_t *is_join;
    uint32_t round;
    uint64_t budget;
};

/* Scratch lives with that of the liveness; only the lists that grow are on their own. */
static void release(void *arg)
{
    struct uniform *u = arg;
    free(u->live_regs);
    free(u->live_block);
    ptx_live_release(&u->live);
}

static void *hold(struct uniform *u, size_t count, size_t size)
{
    return arena_array(&u->live.work, count, size);
}

static void make_divergent(struct uniform *u, uint32_t reg)
{
    if (!u->out->reg[reg]) return;
    u->out->reg[reg] = 0;
    u->work[u->n_work++] = reg;
}

/* ---- what an instruction does to uniformity ---- */

static bool reads_lane_register(const struct ptx_func *f, const struct ptx_instr *i)
{
    for (uint32_t n = 0; n < i->n_operands; n++) {
        const struct ptx_operand *o = ptx_operand_at(f, i, n);
        if (o->kind == PTX_OPND_SREG && ptx_sreg_varies((enum ptx_sreg)o->id) == 'L') return true;
        if (o->kind != PTX_OPND_VEC && o->kind != PTX_OPND_LIST) continue;
        for (uint32_t k = 0; k < o->count; k++) {
            const struct ptx_operand *e = &f->operands[o->id + k];
            if (e->kind == PTX_OPND_SREG && ptx_sreg_varies((enum ptx_sreg)e->id) == 'L') return true;
        }
    }
    return false;
}

static bool load_is_private(const struct uniform *u, const struct ptx_instr *i)
{
    switch ((enum ptx_space)i->space) {
    case PTX_SPACE_CONST:
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CLUSTER: return false;
    case PTX_SPACE_PARAM: {
        if (!u->args_uniform || !u->func->is_entry || i->n_operands < 2) return true;
        const struct ptx_operand *a = ptx_operand_at(u->func, i, 1);
        const uint32_t first = u->func->first_param;
        return a->kind != PTX_OPND_ADDR_SYM || a->id < first || a->id >= first + u->func->n_params;
    }
    default: return true; /* local; generic may be local */
    }
}

/* Divergent whatever it reads? */
static bool diverges_by_itself(const struct uniform *u, const struct ptx_instr *i)
{
    if (i->flags & PTX_F_UNKNOWN) return true;
    switch ((enum ptx_op)i->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU: return load_is_private(u, i);
    case PTX_OP_ADDC:
    case PTX_OP_SUBC:
    case PTX_OP_MADC: return u->cc_divergent;
    case PTX_OP_ATOM:
    case PTX_OP_SHFL:
    case PTX_OP_MATCH:
    case PTX_OP_ELECT:
    case PTX_OP_MOVMATRIX:
    case PTX_OP_WMMA_LOAD:
    case PTX_OP_WMMA_MMA:
    case PTX_OP_MMA:
    case PTX_OP_MMA_SP:
    case PTX_OP_LDMATRIX:
    case PTX_OP_WGMMA_MMA_ASYNC:
    case PTX_OP_TCGEN05:
    case PTX_OP_MBARRIER_ARRIVE:
    case PTX_OP_MBARRIER_ARRIVE_DROP:
    case PTX_OP_MBARRIER_TEST_WAIT:
    case PTX_OP_MBARRIER_TRY_WAIT:
    case PTX_OP_CALL:
    case PTX_OP_ALLOCA:
    case PTX_OP_STACKSAVE:
    case PTX_OP_MULTIMEM_LD_REDUCE:
    case PTX_OP_SULD:
    case PTX_OP_CLUSTERLAUNCHCONTROL:
    case PTX_OP_UNKNOWN: return true;
    default: return reads_lane_register(u->func, i);
    }
}

/* Results that are the same for all lanes although a source differs: only these sources decide. */
static bool combines_lanes(const struct ptx_instr *i)
{
    return i->op == PTX_OP_VOTE || i->op == PTX_OP_REDUX || i->op == PTX_OP_ACTIVEMASK ||
           i->op == PTX_OP_BAR_RED;
}

static bool operand_diverges(const struct uniform *u, const struct ptx_operand *o)
{
    return (o->kind == PTX_OPND_REG || o->kind == PTX_OPND_ADDR_REG) && !u->out->reg[o->id];
}

static bool reads_divergent(const struct uniform *u, const struct ptx_instr *i)
{
    if (combines_lanes(i)) { /* the member mask and the barrier, not the value brought along */
        if (i->guard != PTX_NO_REG && !u->out->reg[i->guard]) return true;
        if (i->op == PTX_OP_BAR_RED || !(i->flags & PTX_F_SYNC)) return false;
        return i->n_operands && operand_diverges(u, ptx_operand_at(u->func, i, (uint32_t)i->n_operands - 1));
    }
    struct ptx_reg_walk w;
    ptx_walk_start(&w, u->func, i);
    for (uint32_t r; (r = ptx_next_read(&w)) != PTX_NO_REG;)
        if (!u->out->reg[r]) return true;
    return false;
}

static void follow_branch(struct uniform *u, uint32_t block);

static void visit(struct uniform *u, uint32_t pc)
{
    const struct ptx_instr *i = &u->func->instrs[pc];
    if (!u->out->instr[pc] || (!diverges_by_itself(u, i) && !reads_divergent(u, i))) return;
    u->out->instr[pc] = 0;
    if (i->flags & PTX_F_CC && !u->cc_divergent) {
        u->cc_divergent = true;
        for (uint32_t k = 0; k < u->func->n_instrs; k++) {
            const uint16_t op = u->func->instrs[k].op;
            if (op == PTX_OP_ADDC || op == PTX_OP_SUBC || op == PTX_OP_MADC) visit(u, k);
        }
    }
    struct ptx_reg_walk w;
    ptx_walk_start(&w, u->func, i);
    for (uint32_t r; (r = ptx_next_written(&w)) != PTX_NO_REG;) make_divergent(u, r);
    if (ptx_is_branch(i)) follow_branch(u, u->live.block_of[pc]);
}

/* ---- the ways behind a divergent branch ---- */

static bool is_only_exit(const struct uniform *u, uint32_t block)
{
    const struct ptx_block *x = &u->cfg->blocks[block];
    const struct ptx_instr *i = &u->func->instrs[x->first];
    return x->end - x->first == 1 && i->guard == PTX_NO_REG && (i->op == PTX_OP_RET || i->op == PTX_OP_EXIT);
}

/* Lanes that leave the kernel at once do not part the others. */
static bool others_just_leave(const struct uniform *u, const struct ptx_block *x)
{
    uint32_t staying = 0;
    for (uint32_t k = 0; k < x->n_succs; k++) staying += !is_only_exit(u, u->cfg->succs[x->first_succ + k]);
    return staying <= 1;
}

/* Registers that the region writes: defined_in[r] == round. */
static void note_definitions(struct uniform *u, uint32_t n_region)
{
    for (uint32_t k = 0; k < n_region; k++) {
        const uint32_t v = u->region[k], cost = u->def_start[v + 1] - u->def_start[v] + 1;
        for (uint32_t j = u->def_start[v]; j < u->def_start[v + 1]; j++)
            u->defined_in[u->def_regs[j]] = u->round;
        u->budget = u->budget > cost ? u->budget - cost : 0;
    }
}

static void mark_at_join(struct uniform *u, uint32_t join)
{
    const uint32_t first = u->live_start[join], end = u->live_start[join + 1];
    for (uint32_t k = first; k < end; k++)
        if (u->defined_in[u->live_regs[k]] == u->round) make_divergent(u, u->live_regs[k]);
    u->budget = u->budget > end - first + 1 ? u->budget - (end - first + 1) : 0;
}

static int by_rpo(const void *a, const void *b, void *cfg)
{
    const struct ptx_block *blocks = ((const struct ptx_cfg *)cfg)->blocks;
    const uint32_t x = blocks[*(const uint32_t *)a].rpo, y = blocks[*(const uint32_t *)b].rpo;
    return x < y ? -1 : x > y;
}

/* The blocks that the branch can reach before its lanes meet again (that block included), in order. */
static uint32_t find_region(struct uniform *u, uint32_t block)
{
    const struct ptx_cfg *c = u->cfg;
    const uint32_t stop = c->blocks[block].ipdom;
    uint32_t n = 0;
    u->round++;
    for (uint32_t next = block, done = 0;; next = u->region[done++]) {
        const struct ptx_block *x = &c->blocks[next];
        for (uint32_t k = 0; k < x->n_succs && next != stop; k++) {
            const uint32_t s = c->succs[x->first_succ + k];
            if (u->in_region[s] == u->round) continue;
            u->in_region[s] = u->round;
            u->label[s] = PTX_NO_BLOCK;
            u->is_join[s] = 0;
            u->region[n++] = s;
        }
        const uint32_t cost = x->n_succs + 1;
        u->budget = u->budget > cost ? u->budget - cost : 0;
        if (done == n) break;
    }
    qsort_r(u->region, n, sizeof *u->region, by_rpo, (void *)(uintptr_t)c);
    return n;
}

/* One label more that reaches v; true when it makes v a join. */
static bool meets_other(uint32_t *seen, uint32_t label)
{
    if (label == PTX_NO_BLOCK || *seen == label) return false;
    const bool other = *seen != PTX_NO_BLOCK;
    *seen = label;
    return other;
}

/* Each way out of the branch carries the number of its first block as label. */
static bool label_block(struct uniform *u, uint32_t block, uint32_t v)
{
    const struct ptx_cfg *c = u->cfg;
    const struct ptx_block *x = &c->blocks[v];
    const uint32_t stop = c->blocks[block].ipdom;
    uint32_t seen = PTX_NO_BLOCK;
    bool join = false;
    for (uint32_t k = 0; k < x->n_preds; k++) {
        const uint32_t p = c->preds[x->first_pred + k];
        if (p == block) join |= meets_other(&seen, v);
        if (p != stop && u->in_region[p] == u->round) join |= meets_other(&seen, u->label[p]);
    }
    if (join) {
        u->is_join[v] = 1;
        seen = v;
    }
    const bool changed = u->label[v] != seen;
    u->label[v] = seen;
    return changed;
}

/* A join stays one, so every round but the last finds a new join; loops seldom need a third round. */
static void spread_labels(struct uniform *u, uint32_t block, uint32_t n_region)
{
    for (bool changed = true; changed && u->budget;) {
        changed = false;
        for (uint32_t k = 0; k < n_region; k++)
            if (!u->is_join[u->region[k]]) changed |= label_block(u, block, u->region[k]);
        u->budget = u->budget > n_region ? u->budget - n_region : 0;
    }
}

static void diverge_everywhere(struct uniform *u)
{
    for (uint32_t r = 0; r < u->func->n_regs; r++) make_divergent(u, r);
    memset(u->out->instr, 0, u->func->n_instrs);
    memset(u->out->block_convergent, 0, u->cfg->n_blocks);
}

static void follow_branch(struct uniform *u, uint32_t block)
{
    const struct ptx_block *b = &u->cfg->blocks[block];
    if (u->branch_done[block] || !u->budget) return;
    u->branch_done[block] = 1;
    const uint32_t n_region = find_region(u, block);
    spread_labels(u, block, n_region);
    note_definitions(u, n_region);
    const bool parts = !others_just_leave(u, b);
    for (uint32_t k = 0; k < n_region && u->budget; k++) {
        const uint32_t v = u->region[k];
        if (parts && v != b->ipdom) u->out->block_convergent[v] = 0;
        if (u->is_join[v]) mark_at_join(u, v);
    }
}

/* ---- live-in lists ---- */

static void note_live(void *arg, uint32_t block)
{
    struct uniform *u = arg;
    if (u->n_live == u->cap_live) {
        const size_t cap = u->cap_live ? u->cap_live * 2 : 1024;
        uint32_t *regs = realloc(u->live_regs, cap * sizeof *regs);
        if (regs) u->live_regs = regs;
        uint32_t *blocks = realloc(u->live_block, cap * sizeof *blocks);
        if (blocks) u->live_block = blocks;
        if (!regs || !blocks) diag_mistake("out of host memory: %zu more words were asked for", cap);
        u->cap_live = cap;
    }
    u->live_regs[u->n_live] = u->round; /* the register being walked */
    u->live_block[u->n_live++] = block;
}

/* Sorts (register, block) pairs by block; registers come in order, so each list is sorted. */
static bool gather_live(struct uniform *u)
{
    enum { ENTRIES_PER_INSTR = 64 };
    const size_t limit = (size_t)ENTRIES_PER_INSTR * u->func->n_instrs + 4000000;
    for (uint32_t r = 0; r < u->func->n_regs; r++) {
        u->round = r;
        const uint32_t defs = u->du->def_start[r + 1] - u->du->def_start[r];
        if (!defs) continue; /* never written: no way can change it */
        if (!ptx_live_in_blocks(&u->live, r, note_live, u) || u->n_live > limit) return false;
    }
    u->round = 0;
    u->live_start = hold(u, (size_t)u->cfg->n_blocks + 2, sizeof(uint32_t));
    for (size_t k = 0; k < u->n_live; k++) u->live_start[u->live_block[k] + 1]++;
    for (uint32_t b = 0; b < u->cfg->n_blocks; b++) u->live_start[b + 1] += u->live_start[b];
    uint32_t *sorted = hold(u, u->n_live, sizeof(uint32_t));
    for (size_t k = 0; k < u->n_live; k++) sorted[u->live_start[u->live_block[k]]++] = u->live_regs[k];
    memmove(u->live_start + 1, u->live_start, (size_t)u->cfg->n_blocks * sizeof(uint32_t));
    u->live_start[0] = 0;
    if (u->n_live) memcpy(u->live_regs, sorted, u->n_live * sizeof *sorted);
    return true;
}

static void gather_definitions(struct uniform *u)
{
    const struct ptx_defuse *du = u->du;
    const uint32_t n_regs = u->func->n_regs;
    u->def_start = hold(u, (size_t)u->cfg->n_blocks + 2, sizeof(uint32_t));
    u->def_regs = hold(u, du->def_start[n_regs], sizeof(uint32_t));
    for (uint32_t k = 0; k < du->def_start[n_regs]; k++) u->def_start[u->live.block_of[du->defs[k]] + 1]++;
    for (uint32_t b = 0; b < u->cfg->n_blocks; b++) u->def_start[b + 1] += u->def_start[b];
    for (uint32_t r = 0; r < n_regs; r++)
        for (uint32_t k = du->def_start[r]; k < du->def_start[r + 1]; k++)
            u->def_regs[u->def_start[u->live.block_of[du->defs[k]]]++] = r;
    memmove(u->def_start + 1, u->def_start, (size_t)u->cfg->n_blocks * sizeof(uint32_t));
    u->def_start[0] = 0;
}

/* ---- the whole ---- */

static void solve(struct uniform *u)
{
    for (uint32_t r = 0; r < u->live.n_formal && !u->args_uniform; r++) make_divergent(u, r);
    for (uint32_t pc = 0; pc < u->func->n_instrs; pc++) visit(u, pc);
    while (u->n_work && u->budget) {
        const uint32_t reg = u->work[--u->n_work];
        for (uint32_t k = u->du->use_start[reg]; k < u->du->use_start[reg + 1]; k++) visit(u, u->du->uses[k]);
    }
    if (!u->budget) diverge_everywhere(u);
}

struct ptx_uniform *ptx_uniform_build(struct arena *arena, const struct ptx_cfg *cfg,
                                      const struct ptx_defuse *du, bool args_uniform)
{
    const struct ptx_func *f = cfg->func;
    struct ptx_uniform *out = ARENA_NEW(arena, struct ptx_uniform);
    out->reg = ARENA_ARRAY(arena, uint8_t, (size_t)f->n_regs + 1);
    out->instr = ARENA_ARRAY(arena, uint8_t, f->n_instrs);
    out->block_convergent = ARENA_ARRAY(arena, uint8_t, cfg->n_blocks);
    memset(out->reg, 1, f->n_regs);
    memset(out->instr, 1, f->n_instrs);
    memset(out->block_convergent, 1, cfg->n_blocks);
    struct uniform u = {.cfg = cfg, .func = f, .du = du, .out = out, .args_uniform = args_uniform};
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, release, &u);
    ptx_live_start(&u.live, cfg, du);
    u.work = hold(&u, (size_t)f->n_regs + 1, sizeof(uint32_t));
    u.branch_done = hold(&u, cfg->n_blocks, 1);
    u.label = hold(&u, cfg->n_blocks, sizeof(uint32_t));
    u.region = hold(&u, cfg->n_blocks, sizeof(uint32_t));
    u.in_region = hold(&u, cfg->n_blocks, sizeof(uint32_t));
    u.is_join = hold(&u, cfg->n_blocks, 1);
    u.defined_in = hold(&u, f->n_regs, sizeof(uint32_t));
    gather_definitions(&u);
    u.budget = 300 * (uint64_t)f->n_instrs + 50000000;
    if (gather_live(&u))
        solve(&u);
    else
        diverge_everywhere(&u);
    diag_done(&cleanup, true);
    return out;
}
