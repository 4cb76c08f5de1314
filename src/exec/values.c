/* values: registers of a kernel that hold one value for all threads of a block: parameters, the block's
 * number and size, addresses of variables, and what is worked out from these. They are kept once per block,
 * where all its warps find them in the host's cache, and the first warp works them out.
 *
 * Such a register is written by one instruction, without a guard, that is on every way to those that read
 * it: so every lane passes that instruction first, and all would write the same. Its scoreboard number and
 * its slot are those of any other register: time does not know of it. */
#include "exec/lower.h"

bool exec_is_value(const struct exec_func *f, const struct ptx_operand *o)
{
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPND_IMM: return true;
    case PTX_OPND_REG: return f->values[o->id] != REF_NONE && !o->flags && !o->sel;
    default: return false;
    }
}

static bool is_block_sreg(const struct ptx_operand *o)
{
    return o->kind == PTX_OPND_SREG && ptx_sreg_varies((enum ptx_sreg)o->id) == 'W' &&
           o->id != PTX_SREG_WARPID && sreg_is_constant(o->id);
}

/* Are its sources the same for all threads of the block, and is there nothing else that it depends on? */
static bool reads_values(const struct exec_func *f, const struct ptx_instr *i)
{
    const struct ptx_operand *const first = ptx_operand_at(f->ptx, i, 1);
    switch ((enum ptx_op)i->op) {
    case PTX_OP_LD:
        return i->space == PTX_SPACE_PARAM && i->vec <= 1 && first->kind == PTX_OPND_ADDR_SYM &&
               lower_is_formal(f->ptx, first->id);
    case PTX_OP_MOV:
        if (is_block_sreg(first)) return true;
        break;
    case PTX_OP_CVTA:
    case PTX_OP_CVT:
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_MUL:
    case PTX_OP_MAD:
    case PTX_OP_SHL:
    case PTX_OP_SHR:
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_NOT:
    case PTX_OP_NEG: break;
    default: return false;
    }
    for (uint32_t k = 1; k < i->n_operands; k++)
        if (!exec_is_value(f, ptx_operand_at(f->ptx, i, k))) return false;
    return true;
}

/* By the instruction at pc, and on every way to a use? */
static bool written_once_and_first(const struct exec_func *f, const struct ptx_defuse *du, uint32_t reg,
                                   uint32_t pc)
{
    if (du->def_start[reg + 1] - du->def_start[reg] != 1) return false;
    const uint32_t block = ptx_block_of(f->cfg, pc);
    for (uint32_t k = du->use_start[reg]; k < du->use_start[reg + 1]; k++) {
        const uint32_t use = du->uses[k], there = ptx_block_of(f->cfg, use);
        if (there == block ? use <= pc : !ptx_dominates(f->cfg, block, there)) return false;
    }
    return true;
}

void exec_find_values(struct exec_func *f, const struct ptx_defuse *du)
{
    const struct ptx_func *const ptx = f->ptx;
    f->values = ARENA_ARRAY(&f->env->arena, uint32_t, ptx->n_regs);
    for (uint32_t reg = 0; reg < ptx->n_regs; reg++) f->values[reg] = REF_NONE;
    for (uint32_t pc = 0; ptx->is_entry && pc < ptx->n_instrs && f->value_count < VALUES_MOST; pc++) {
        const struct ptx_instr *const i = &ptx->instrs[pc];
        if (i->guard != PTX_NO_REG || i->n_dsts != 1 || i->n_operands < 2) continue;
        if (i->flags & (PTX_F_UNKNOWN | PTX_F_CC)) continue;
        const struct ptx_operand *const d = ptx_operand_at(ptx, i, 0);
        if (d->kind != PTX_OPND_REG || d->flags || d->sel) continue;
        const uint8_t class = ptx->regs[d->id].reg_class;
        if ((class != PTX_REG_32 && class != PTX_REG_64) || !reads_values(f, i)) continue;
        if (written_once_and_first(f, du, d->id, pc))
            f->values[d->id] = f->value_count++ * VALUE_BYTES | REF_VALUE;
    }
}

/* ---- handlers that the first warp of a block executes, for all lanes of all warps ---- */

static inline bool is_known(const struct exec_warp *w, uint32_t ref)
{
    uint64_t *const known = &w->block->values_known;
    const uint64_t bit = (uint64_t)1 << ref / VALUE_BYTES;
    if (*known & bit) return true;
    *known |= bit;
    return false;
}

#define ONCE(handler) \
    static const struct insn *handler##_once(struct exec_warp *w, const struct insn *i, uint32_t mask) \
    { \
        (void)mask; \
        return is_known(w, i->d) ? i + 1 : handler(w, i, LANES_ALL); \
    }
ONCE(h_lanes)
ONCE(h_load_param)
ONCE(h_spacebase)
ONCE(h_sreg)

static const struct {
    insn_fn *each, *once;
} handlers[] = {{h_lanes, h_lanes_once},
                {h_load_param, h_load_param_once},
                {h_spacebase, h_spacebase_once},
                {h_sreg, h_sreg_once}};
enum { HANDLERS = sizeof handlers / sizeof *handlers };

void exec_execute_once(struct insn *i)
{
    if ((i->d & REF_BASE) != REF_VALUE) return;
    for (size_t k = 0; k < HANDLERS; k++)
        if (i->fn == handlers[k].each) {
            i->fn = handlers[k].once;
            return;
        }
}

bool exec_is_once(const struct insn *i)
{
    for (size_t k = 0; k < HANDLERS; k++)
        if (i->fn == handlers[k].once) return true;
    return false;
}
