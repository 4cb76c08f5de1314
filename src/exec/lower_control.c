/* lower_control: branches, calls, barriers, the end of threads.
 *
 * An instruction that can stop or leave (barrier, call, brx, collective with members) and has a guard
 * gets a branch of ours around it, so that its handler always serves all running lanes:
 *
 *   @p bar.sync 0;   ──►   helper: branch !p to L (lanes meet at L);  bar.sync 0;  L: join  */
#include "exec/lower.h"

void lower_mark_joins(struct lower *l)
{
    for (uint32_t pc = 0; pc < l->ptx->n_instrs; pc++) {
        const struct ptx_instr *i = &l->ptx->instrs[pc];
        const bool branch =
            ptx_is_branch(i) || (i->op == PTX_OP_RET && i->guard != PTX_NO_REG && !l->ptx->is_entry);
        if (!branch || (i->guard == PTX_NO_REG && i->op != PTX_OP_BRX_IDX)) continue;
        if (l->func->uniform->instr[pc] && l->ptx->is_entry) continue;
        const uint32_t at = ptx_reconvergence(l->func->cfg, pc);
        if (at < l->ptx->n_instrs) l->join_here[at] = true;
    }
}

/* Pcs stand in the pointers until lower_patch(). */
static const struct insn *pc_as_pointer(uint32_t pc) { return (const struct insn *)(uintptr_t)(pc + 1); }

static const struct insn *code_of(const struct lower *l, const struct insn *pointer)
{
    return pointer ? &l->func->code[l->func->index_of_pc[(uintptr_t)pointer - 1]] : NULL;
}

static const struct insn *join_of(const struct lower *l, uint32_t pc)
{
    const uint32_t at = ptx_reconvergence(l->func->cfg, pc);
    if (at < l->ptx->n_instrs) return l->join_here[at] ? pc_as_pointer(at) : NULL;
    return l->ptx->is_entry ? NULL : pc_as_pointer(l->ptx->n_instrs);
}

static bool lower_branch(struct lower *l, uint32_t target)
{
    struct branch_site *site = ARENA_NEW(&l->env->arena, struct branch_site);
    *site = (struct branch_site){.target = pc_as_pointer(target), .backward = target <= l->pc};
    if (l->instr->guard != PTX_NO_REG) site->join = join_of(l, l->pc);
    lower_emit(l, l->instr->guard == PTX_NO_REG ? h_jump : h_branch)->x.extra = site;
    return true;
}

static void lower_table(struct lower *l)
{
    const struct ptx_table *t = &l->ptx->tables[lower_operand(l, 1)->id];
    struct table_site *site = ARENA_NEW(&l->env->arena, struct table_site);
    site->targets = ARENA_ARRAY(&l->env->arena, const struct insn *, t->n_items ? t->n_items : 1);
    site->count = t->n_items;
    site->join = join_of(l, l->pc);
    for (uint32_t k = 0; k < t->n_items; k++) site->targets[k] = pc_as_pointer(t->items[k]);
    const uint32_t index = lower_source(l, lower_operand(l, 0), 32);
    struct insn *i = lower_emit(l, h_branch_table);
    i->a = index;
    i->x.extra = site;
}

/* ---- calls ---- */

static struct call_value call_value(struct lower *l, const struct ptx_operand *o)
{
    struct call_value v = {.reg = REF_NONE};
    if (o->kind == PTX_OPND_SYM || o->kind == PTX_OPND_ADDR_SYM) {
        const struct ptx_symbol *s = &l->ptx->module->symbols[o->id];
        if (s->kind == PTX_SYM_VAR && s->space == PTX_SPACE_PARAM) {
            v.is_param = true;
            v.offset = l->func->arg_offset + s->offset;
            v.bytes = (uint32_t)s->size_bytes;
            return v;
        }
    }
    if (o->kind == PTX_OPND_REG) {
        v.reg = lower_reg(l, o->id);
        v.reg_class = lower_reg_class(l, o->id);
    } else if (o->kind != PTX_OPND_SINK) {
        v.reg = lower_source(l, o, 64);
        v.reg_class = PTX_REG_64;
    }
    static const uint32_t bytes[PTX_REG_CLASS_COUNT] = {
        [PTX_REG_PRED] = 4, [PTX_REG_32] = 4, [PTX_REG_64] = 8, [PTX_REG_128] = 16};
    v.bytes = bytes[v.reg_class];
    return v;
}

static struct call_value *call_values(struct lower *l, const struct ptx_operand *list, uint32_t *count)
{
    *count = list->kind == PTX_OPND_LIST ? list->count : list->kind == PTX_OPND_NONE ? 0 : 1;
    struct call_value *values = ARENA_ARRAY(&l->env->arena, struct call_value, *count ? *count : 1);
    for (uint32_t k = 0; k < *count; k++)
        values[k] = call_value(l, list->kind == PTX_OPND_LIST ? &l->ptx->operands[list->id + k] : list);
    return values;
}

static void lower_call(struct lower *l)
{
    struct call_site *site = ARENA_NEW(&l->env->arena, struct call_site);
    const struct ptx_operand *target = lower_operand(l, 0);
    site->caller = l->func;
    site->kernel = l->kernel;
    site->target = REF_NONE;
    if (target->kind == PTX_OPND_SYM) {
        const struct ptx_func *callee = ptx_callee(l->ptx, target->id);
        site->name = l->ptx->module->symbols[target->id].name;
        /* what NVIDIA's device library has for launches ends in calls of the driver: not taken */
        const bool ours = callee && builtin_find(callee->name) >= BUILTIN_CHILD_BUFFER;
        if (callee && callee->has_body && !ours) {
            site->callee = callee;
            l->kernel->has_calls = true;
        } else {
            site->builtin = builtin_find(site->name);
        }
    } else {
        l->kernel->has_calls = true;
        site->target = lower_source(l, target, 64);
    }
    site->rets = call_values(l, lower_operand(l, 1), &site->n_rets);
    site->args = call_values(l, lower_operand(l, 2), &site->n_args);
    lower_emit(l, h_call)->x.extra = site;
    if (target->kind != PTX_OPND_SYM) lower_emit_helper(l, h_join);
}

/* ---- barriers ---- */

static void lower_bar(struct lower *l)
{
    struct bar_site *site = ARENA_NEW(&l->env->arena, struct bar_site);
    const enum ptx_op op = l->instr->op;
    const uint32_t first = op == PTX_OP_BAR_RED ? 1 : 0;
    uint32_t n = l->instr->n_operands;
    site->kind = op == PTX_OP_BAR_SYNC ? BAR_SYNC : op == PTX_OP_BAR_ARRIVE ? BAR_ARRIVE : BAR_RED;
    site->red = l->instr->sub;
    uint32_t predicate = CONST_TRUE;
    if (op == PTX_OP_BAR_RED) {
        const struct ptx_operand *p = lower_operand(l, --n);
        predicate = lower_source(l, p, 1);
        site->invert = lower_negated(p) ? LANES_ALL : 0;
    }
    const uint32_t id = n > first ? lower_source(l, lower_operand(l, first), 32) : exec_constant32(l->env, 0);
    site->has_count = n > first + 1;
    const uint32_t count = site->has_count ? lower_source(l, lower_operand(l, first + 1), 32) : CONST_TRUE;
    struct insn *i = lower_emit(l, h_bar);
    i->a = id;
    i->b = count;
    i->c = predicate;
    if (first) i->d = lower_reg(l, lower_operand(l, 0)->id);
    i->x.extra = site;
}

static void lower_end(struct lower *l)
{
    if (l->instr->op == PTX_OP_RET && !l->ptx->is_entry) {
        lower_branch(l, l->ptx->n_instrs);
        return;
    }
    lower_emit(l, l->instr->op == PTX_OP_TRAP ? h_trap : h_exit)->counted =
        !(l->instr->flags & PTX_F_IMPLICIT);
}

/* The instruction itself, without regard to its guard. */
static bool lower_blocking(struct lower *l)
{
    switch ((enum ptx_op)l->instr->op) {
    case PTX_OP_BRX_IDX: lower_table(l); return true;
    case PTX_OP_CALL: lower_call(l); return true;
    case PTX_OP_BAR_SYNC:
    case PTX_OP_BAR_ARRIVE:
    case PTX_OP_BAR_RED: lower_bar(l); return true;
    case PTX_OP_BAR_WARP_SYNC: {
        const uint32_t members = lower_source(l, lower_operand(l, 0), 32);
        lower_emit(l, h_bar_warp)->a = members;
        return true;
    }
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_REDUX:
    case PTX_OP_ELECT: return lower_arithmetic(l);
    default: return false;
    }
}

/* @p X  ->  branch around X for the lanes without p. */
static bool lower_guarded(struct lower *l)
{
    struct ptx_instr bare = *l->instr;
    const struct ptx_instr *guarded = l->instr;
    struct branch_site *site = ARENA_NEW(&l->env->arena, struct branch_site);
    struct insn *skip = lower_emit_guarded_helper(l, h_branch);
    const uint32_t at = l->count - 1;
    skip->guard_xor = ~skip->guard_xor;
    skip->x.extra = site;
    bare.guard = PTX_NO_REG;
    l->instr = &bare;
    const bool known = lower_blocking(l);
    l->instr = guarded;
    if (!known) {
        l->count = at;
        return false;
    }
    /* Relative until lower_patch(): the join that follows. */
    site->skip = l->count - at;
    lower_emit_helper(l, h_join);
    return true;
}

bool lower_control(struct lower *l)
{
    switch ((enum ptx_op)l->instr->op) {
    case PTX_OP_BRA: return lower_branch(l, lower_operand(l, 0)->id);
    case PTX_OP_RET:
    case PTX_OP_EXIT:
    case PTX_OP_TRAP: lower_end(l); return true;
    case PTX_OP_BRKPT: lower_emit(l, h_trap); return true;
    case PTX_OP_BRX_IDX:
    case PTX_OP_CALL:
    case PTX_OP_BAR_SYNC:
    case PTX_OP_BAR_ARRIVE:
    case PTX_OP_BAR_RED:
    case PTX_OP_BAR_WARP_SYNC:
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_REDUX:
    case PTX_OP_ELECT: return l->instr->guard == PTX_NO_REG ? lower_blocking(l) : lower_guarded(l);
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE:
    case PTX_OP_FENCE_PROXY:
    case PTX_OP_FENCE_MBARRIER_INIT:
    case PTX_OP_PMEVENT:
    case PTX_OP_GRIDDEPCONTROL:
    case PTX_OP_SETMAXNREG: lower_emit(l, h_fence); return true;
    case PTX_OP_NANOSLEEP: {
        const uint32_t time = lower_source(l, lower_operand(l, 0), 32);
        lower_emit(l, h_nanosleep)->a = time;
        return true;
    }
    default: return false;
    }
}

void lower_patch(struct lower *l, struct insn *i)
{
    if (i->fn == h_jump || i->fn == h_branch) {
        struct branch_site *site = i->x.extra;
        if (site->skip) {
            site->target = site->join = i + site->skip;
            return;
        }
        site->target = code_of(l, site->target);
        site->join = code_of(l, site->join);
    } else if (i->fn == h_branch_table) {
        struct table_site *site = i->x.extra;
        for (uint32_t k = 0; k < site->count; k++) site->targets[k] = code_of(l, site->targets[k]);
        site->join = code_of(l, site->join);
    }
}
