/* readonly_arith: what arithmetic makes of pointers, halves and pieces of pointers. See readonly.h. */
#include "analysis/readonly_private.h"

/* Is the operand this constant, or its negative? */
static bool is_by(const struct ptx_func *f, const struct ptx_instr *i, uint32_t operand, int64_t value)
{
    const struct ptx_operand *by = ptx_operand_at(f, i, operand);
    return i->n_operands > operand && by->kind == PTX_OPND_IMM && (by->value == value || by->value == -value);
}

/* A part of a pointer that is put together with something else gives any address: what is left of one when so
 * many low bits are gone is such a part. */
static uint64_t cut(const struct ptx_func *f, const struct ptx_instr *i, uint64_t set)
{
    enum { ALIGNED_MOST = 1 << 21 };
    const struct ptx_operand *by = ptx_operand_at(f, i, 2);
    if (i->n_operands < 3 || by->kind != PTX_OPND_IMM || ptx_type_bits(i->type) < 64) return set;
    if (i->op == PTX_OP_SHR) return by->value >= 32 ? set | HALF : set;
    return by->value && by->value % ALIGNED_MOST == 0 ? set | UNKNOWN : set;
}

/* A multiple of a pointer is none; of one that was shifted down, it may be one again. */
static uint64_t scaled(uint64_t set) { return set & SHIFTED ? set : set & HALF; }

static bool may_move_up_half(const struct ptx_func *f, const struct ptx_instr *i)
{
    const struct ptx_operand *by = ptx_operand_at(f, i, 2);
    if (ptx_type_bits(i->type) < 64 && i->part != PTX_PART_WIDE) return false;
    if (by->kind != PTX_OPND_IMM) return i->op == PTX_OP_SHL;
    return i->op == PTX_OP_SHL ? by->value >= 32 : by->value > UINT32_MAX || by->value < -(int64_t)UINT32_MAX;
}

uint64_t readonly_arithmetic(struct pass *p, const struct ptx_instr *i)
{
    const struct ptx_func *f = p->f->func;
    uint64_t set = 0;
    for (uint32_t n = i->n_dsts; n < i->n_operands; n++)
        set |= readonly_operand_set(p, ptx_operand_at(f, i, n));
    if (!set) return 0;
    const struct ptx_operand *last = ptx_operand_at(f, i, i->n_operands - 1u);
    switch ((enum ptx_op)i->op) {
    case PTX_OP_MUL:
    case PTX_OP_MUL24:
    case PTX_OP_SHL:
        if (i->n_operands > 2 && set & HALF && may_move_up_half(f, i)) return set | UNKNOWN;
        if (i->part == PTX_PART_HI) return set | SHIFTED; /* a division by a constant */
        return is_by(f, i, 2, i->op == PTX_OP_SHL ? 0 : 1) ? set : scaled(set);
    case PTX_OP_MAD:
    case PTX_OP_MAD24: {
        const uint64_t added = readonly_operand_set(p, last);
        uint64_t product = 0;
        for (uint32_t n = i->n_dsts; n + 1 < i->n_operands; n++)
            product |= readonly_operand_set(p, ptx_operand_at(f, i, n));
        if (i->n_operands > 2 && product & HALF && may_move_up_half(f, i)) return set | UNKNOWN;
        if (i->part == PTX_PART_HI) return set | SHIFTED;
        return is_by(f, i, 2, 1) ? set : scaled(product) | added;
    }
    case PTX_OP_SHR: return cut(f, i, set) | SHIFTED;
    case PTX_OP_AND: return cut(f, i, set);
    case PTX_OP_DIV: return set | SHIFTED;
    case PTX_OP_MOV: {
        const struct ptx_operand *d = ptx_operand_at(f, i, 0);
        if (d->kind == PTX_OPND_VEC) return ptx_type_bits(i->type) > 64 ? set : (set & ~UNKNOWN) | HALF;
        return last->kind == PTX_OPND_VEC && set & HALF ? set | UNKNOWN : set;
    }
    case PTX_OP_CVT: {
        const bool narrows =
            ptx_type_bits(i->type) < 64 && ptx_type_bits(i->type2 ? i->type2 : i->type) >= 64;
        return narrows ? (set & ~UNKNOWN) | HALF : set;
    }
    case PTX_OP_BFI:
    case PTX_OP_PRMT:
    case PTX_OP_SHF: return set & HALF ? set | UNKNOWN : set;
    case PTX_OP_BFE: return set | SHIFTED;
    default: return set;
    }
}
