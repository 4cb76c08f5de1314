/* symbolic_instr: one instruction of the symbolic walk: calls, the ends of loops, and which of the others it
 * is. */
#include "analysis/symbolic_private.h"

/* ---- calls ---- */

/* What a list element (a .param variable or a register) carries to the callee's formal. */
static void bind_argument(struct activation *a, struct bindings *args, const struct ptx_operand *o,
                          uint32_t formal)
{
    if (o->kind == PTX_OPND_REG || o->kind == PTX_OPND_IMM) {
        walk_bind(a->w->arena, args, formal, 0, instr_value(a, o, PTX_T_B64));
        return;
    }
    if (o->kind != PTX_OPND_SYM && o->kind != PTX_OPND_ADDR_SYM) return;
    /* slots of a call sequence are made next to each other */
    uint32_t near = PTX_NO_INDEX;
    for (int64_t offset = 0; offset < 64 && near == PTX_NO_INDEX; offset += 4)
        near = frame_slot_at(a->f, o->id, offset);
    for (uint32_t k = near; k < a->f->n_slots && k < near + 32; k++)
        if (a->f->slots[k].symbol == o->id)
            walk_bind(a->w->arena, args, formal, a->f->slots[k].offset, values_read_slot(a, k));
}

static void take_results(struct activation *a, const struct ptx_operand *list, const struct ptx_func *callee,
                         const struct bindings *results)
{
    for (uint32_t n = 0; n < list->count; n++) {
        const struct ptx_operand *o = &a->f->func->operands[list->id + n];
        if (o->kind != PTX_OPND_SYM && o->kind != PTX_OPND_ADDR_SYM) continue;
        uint32_t near = PTX_NO_INDEX;
        for (int64_t offset = 0; offset < 64 && near == PTX_NO_INDEX; offset += 4)
            near = frame_slot_at(a->f, o->id, offset);
        for (uint32_t k = near; k < a->f->n_slots && k < near + 32; k++) {
            if (a->f->slots[k].symbol != o->id) continue;
            const struct expr *value = NULL;
            for (uint32_t r = 0; callee && r < results->count; r++)
                if (results->rows[r].symbol == callee->first_param + n &&
                    results->rows[r].offset == a->f->slots[k].offset)
                    value = results->rows[r].value;
            values_write_slot(
                a, k,
                value ? value : values_unknown(a, a->pc, 400 + 64 * n + (k - near), DEP_OTHER | DEP_DATA));
        }
    }
}

static void instr_call(struct activation *a, const struct ptx_instr *i)
{
    const struct ptx_func *f = a->f->func;
    if (i->n_operands < 3) return;
    const struct ptx_operand *target = ptx_operand_at(f, i, 0), *rets = ptx_operand_at(f, i, 1),
                             *given = ptx_operand_at(f, i, 2);
    const struct ptx_func *callee = target->kind == PTX_OPND_SYM ? ptx_callee(f, target->id) : NULL;
    struct bindings args = {0}, results = {0};
    instr_write_unknown(a, DEP_OTHER | DEP_DATA);
    const uint32_t formals = callee ? callee->first_param + callee->n_rets : 0;
    for (uint32_t n = 0; given->kind == PTX_OPND_LIST && n < given->count; n++)
        bind_argument(a, &args, &f->operands[given->id + n], formals + n);
    if (!callee || !callee->has_body || !walk_call(a, callee, &args, &results)) {
        a->w->s->cut = true;
        if (target->kind != PTX_OPND_SYM || !frame_is_harmless(f->module->symbols[target->id].name))
            for (uint32_t n = 0; n < args.count; n++) local_publish(a, args.rows[n].value);
        callee = NULL;
    }
    if (rets->kind == PTX_OPND_LIST) take_results(a, rets, callee, &results);
}

/* ---- the ends of loops ---- */

/* A block that does nothing but decide whether the body follows. */
static bool only_tests(const struct activation *a, uint32_t block)
{
    const struct ptx_block *b = &a->f->cfg->blocks[block];
    for (uint32_t pc = b->first; pc < b->end; pc++) {
        const struct ptx_instr *i = &a->f->func->instrs[pc];
        struct frame_address at;
        if (ptx_op_class((enum ptx_op)i->op) != PTX_CLASS_MEM) continue;
        if (i->op != PTX_OP_LD || i->n_operands < 2 ||
            !frame_address_of(a->f, ptx_operand_at(a->f->func, i, 1), &at))
            return false;
    }
    return true;
}

static void add_exit(struct activation *a, uint32_t l, const struct symbolic_exit *like)
{
    struct symbolic_exit *e = ARENA_NEW(a->w->arena, struct symbolic_exit);
    struct symbolic_loop *loop = &a->w->s->loops[a->first_loop + l];
    *e = *like;
    e->block = a->block;
    e->next = loop->exits;
    loop->exits = e;
}

/* brx.idx: some of its ways may leave a loop; by what number, and it has no trip count. */
static void note_table_exit(struct activation *a, const struct ptx_instr *i)
{
    const struct ptx_cfg *cfg = a->f->cfg;
    const struct ptx_block *b = &cfg->blocks[a->block];
    const struct expr *by = i->n_operands ? instr_value(a, ptx_operand_at(a->f->func, i, 0), PTX_T_U32)
                                          : values_unknown(a, a->pc, 223, DEP_OTHER | DEP_DATA);
    for (uint32_t l = b->loop; l != PTX_NO_INDEX; l = cfg->loops[l].parent) {
        bool leaves = false;
        for (uint32_t k = 0; k < b->n_succs; k++)
            leaves |= !frame_in_loop(cfg, cfg->succs[b->first_succ + k], l);
        if (leaves) add_exit(a, l, &(struct symbolic_exit){.condition = by});
    }
}

static void instr_note_exit(struct activation *a, const struct ptx_instr *i)
{
    const struct ptx_cfg *cfg = a->f->cfg;
    const struct ptx_block *b = &cfg->blocks[a->block];
    if (i->op == PTX_OP_BRX_IDX && b->loop != PTX_NO_INDEX) note_table_exit(a, i);
    if (i->op != PTX_OP_BRA || i->guard == PTX_NO_REG || b->n_succs != 2 || b->loop == PTX_NO_INDEX) return;
    const uint32_t taken = cfg->succs[b->first_succ], next = cfg->succs[b->first_succ + 1];
    const struct expr *condition = values_read_reg(a, i->guard);
    for (uint32_t l = b->loop; l != PTX_NO_INDEX; l = cfg->loops[l].parent) {
        const bool stays = frame_in_loop(cfg, taken, l);
        if (stays == frame_in_loop(cfg, next, l)) continue;
        const uint32_t head = cfg->loops[l].header;
        const bool latch = taken == head || next == head; /* tested after the body */
        add_exit(a, l,
                 &(struct symbolic_exit){.condition = condition,
                                         .stay_if = stays != (bool)i->guard_not,
                                         .at_head = a->block == head && !latch && only_tests(a, head)});
    }
}

/* ---- an instruction ---- */

void instr_walk(struct activation *a)
{
    const struct ptx_instr *i = &a->f->func->instrs[a->pc];
    switch (ptx_op_class((enum ptx_op)i->op)) {
    case PTX_CLASS_ALU:
    case PTX_CLASS_SFU:
    case PTX_CLASS_MOVE: instr_arithmetic(a, i); break;
    case PTX_CLASS_MEM:
        if (i->op == PTX_OP_LD || i->op == PTX_OP_LDU)
            instr_load(a, i);
        else if (i->op == PTX_OP_ST)
            instr_store(a, i);
        else
            instr_other_memory(a, i);
        break;
    case PTX_CLASS_CTRL:
        if (i->op == PTX_OP_CALL) instr_call(a, i);
        if (ptx_is_branch(i)) instr_note_exit(a, i);
        break;
    case PTX_CLASS_TENSOR: {
        const bool load = i->op == PTX_OP_WMMA_LOAD, store = i->op == PTX_OP_WMMA_STORE;
        if ((load && i->n_operands > 1) || (store && i->n_operands))
            instr_record(a, i, i->space, values_unknown(a, a->pc, 500, DEP_OTHER | DEP_DATA),
                         load ? SYMBOLIC_READ : SYMBOLIC_WRITE, 4, 1);
        instr_write_unknown(a, DEP_OTHER | DEP_DATA);
        break;
    }
    case PTX_CLASS_UNKNOWN:
    case PTX_CLASS_WARP:
    case PTX_CLASS_SYNC:
    case PTX_CLASS_TEX:
    case PTX_CLASS_VIDEO: instr_write_unknown(a, DEP_OTHER | DEP_DATA); break;
    }
}
