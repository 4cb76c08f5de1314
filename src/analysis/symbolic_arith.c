/* symbolic_arith: operands and arithmetic of the symbolic walk. */
#include "analysis/symbolic_private.h"

/* ---- operands ---- */

static uint32_t sreg_deps(uint32_t sreg)
{
    switch ((enum ptx_sreg)sreg) {
    case PTX_SREG_TID_X: return DEP_TX;
    case PTX_SREG_TID_Y: return DEP_TY;
    case PTX_SREG_TID_Z: return DEP_TZ;
    case PTX_SREG_CTAID_X: return DEP_BX;
    case PTX_SREG_CTAID_Y: return DEP_BY;
    case PTX_SREG_CTAID_Z: return DEP_BZ;
    case PTX_SREG_NTID_X: return DEP_BDX;
    case PTX_SREG_NTID_Y: return DEP_BDY;
    case PTX_SREG_NTID_Z: return DEP_BDZ;
    case PTX_SREG_NCTAID_X: return DEP_GDX;
    case PTX_SREG_NCTAID_Y: return DEP_GDY;
    case PTX_SREG_NCTAID_Z: return DEP_GDZ;
    case PTX_SREG_LANEID: return DEP_LANE;
    default: return DEP_LANE | DEP_OTHER | DEP_DATA; /* may differ between blocks in any way */
    }
}

static const struct expr *sreg_value(struct activation *a, const struct ptx_operand *o)
{
    if (ptx_sreg_varies((enum ptx_sreg)o->id) == 'T')
        return values_unknown(a, a->pc, 220, DEP_OTHER | DEP_DATA);
    const struct atom like = {
        .kind = ATOM_SREG, .id = o->id, .element = (uint32_t)o->value, .deps = sreg_deps(o->id)};
    return expr_of(a->w->pool, expr_intern_atom(a->w->pool, &like));
}

static const struct expr *symbol_value(struct activation *a, uint32_t symbol, int64_t offset)
{
    const struct ptx_symbol *s = &a->f->func->module->symbols[symbol];
    uint32_t deps = DEP_GLOBAL;
    if (s->space == PTX_SPACE_LOCAL || s->space == PTX_SPACE_PARAM) deps = DEP_LOCAL;
    if (s->space == PTX_SPACE_SHARED) deps = DEP_SHARED;
    const struct atom like = {.kind = ATOM_BASE, .symbol = s->def ? s->def : s, .deps = deps};
    return expr_add(a->w->pool, expr_of(a->w->pool, expr_intern_atom(a->w->pool, &like)),
                    expr_const(a->w->pool, offset));
}

const struct expr *instr_value(struct activation *a, const struct ptx_operand *o, enum ptx_type type)
{
    const struct expr *v = NULL;
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPND_REG: v = values_read_reg(a, o->id); break;
    case PTX_OPND_IMM: {
        const uint32_t bits = ptx_type_bits(type);
        v = expr_const(a->w->pool, bits == 32   ? (int64_t)(int32_t)o->value
                                   : bits == 16 ? (int64_t)(int16_t)o->value
                                                : o->value);
        break;
    }
    case PTX_OPND_SREG: v = sreg_value(a, o); break;
    case PTX_OPND_SYM: v = symbol_value(a, o->id, o->value); break;
    default: v = values_unknown(a, a->pc, 221, DEP_OTHER | DEP_DATA); break;
    }
    if (o->flags & PTX_OPF_NEG) v = expr_scale(a->w->pool, v, -1);
    if (o->flags & PTX_OPF_NOT) v = expr_op(a->w->pool, EXPR_NOT, PTX_T_PRED, 0, &v, 1);
    if (o->flags & PTX_OPF_INVERT) v = expr_op(a->w->pool, EXPR_NOT, type, 0, &v, 1);
    return v;
}

const struct expr *instr_address(struct activation *a, const struct ptx_operand *o)
{
    struct expr_pool *p = a->w->pool;
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPND_ADDR_REG: return expr_add(p, values_read_reg(a, o->id), expr_const(p, o->value));
    case PTX_OPND_ADDR_SYM: return symbol_value(a, o->id, o->value);
    case PTX_OPND_ADDR_IMM: return expr_const(p, o->value);
    default: return values_unknown(a, a->pc, 222, DEP_OTHER | DEP_DATA);
    }
}

/* ---- arithmetic ---- */

static bool is_integer(enum ptx_type t)
{
    const char kind = ptx_type_kind(t);
    return kind == 'U' || kind == 'S' || kind == 'B';
}

static const struct expr *multiply(struct activation *a, const struct ptx_instr *i,
                                   const struct expr *const *v)
{
    struct expr_pool *p = a->w->pool;
    const enum ptx_type type = (enum ptx_type)i->type;
    if (i->part == PTX_PART_HI) return expr_op(p, EXPR_MULHI, type, 0, v, 2);
    if (i->part == PTX_PART_WIDE) return expr_mul(p, expr_widen(p, v[0], type), expr_widen(p, v[1], type));
    return expr_mul(p, v[0], v[1]);
}

static const struct expr *convert(struct activation *a, const struct ptx_instr *i, const struct expr *v)
{
    struct expr_pool *p = a->w->pool;
    const enum ptx_type to = (enum ptx_type)i->type, from = (enum ptx_type)(i->type2 ? i->type2 : i->type);
    if (!is_integer(to) || !is_integer(from) || i->flags & PTX_F_SAT) return values_other_of(a, &v, 1);
    const uint32_t bits = ptx_type_bits(to);
    if (bits < 32) return expr_widen(p, v, to); /* cut to 8 or 16 bits */
    return ptx_type_bits(from) < bits ? expr_widen(p, v, from) : v;
}

/* cvta marks what it converts: a parameter that is a pointer. */
static const struct expr *mark_pointer(struct activation *a, const struct expr *v)
{
    const struct atom *atom = expr_is_atom(v);
    if (atom && atom->kind == ATOM_PARAM && atom->size_bytes == 8)
        expr_intern_atom(a->w->pool, atom)->is_pointer = true;
    return v;
}

static bool any_lost(const struct expr *const *v, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (expr_is_lost(v[k])) return true;
    return false;
}

static const struct expr *compare(struct activation *a, const struct ptx_instr *i,
                                  const struct expr *const *v, uint32_t n)
{
    if (n != 2 || !is_integer((enum ptx_type)i->type) || any_lost(v, n)) return values_other_of(a, v, n);
    enum ptx_type type = (enum ptx_type)i->type;
    if (i->cmp == PTX_CMP_LO || i->cmp == PTX_CMP_LS || i->cmp == PTX_CMP_HI || i->cmp == PTX_CMP_HS)
        type = ptx_type_bits(type) == 64 ? PTX_T_U64 : PTX_T_U32;
    return expr_op(a->w->pool, EXPR_SETP, type, i->cmp, v, 2);
}

/* bfi: the low `count` bits of v[0] at bit `first` of v[1]. NULL: not constants, or nothing to put in. */
static const struct expr *insert_bits(struct activation *a, enum ptx_type type, const struct expr *const *v)
{
    struct expr_pool *p = a->w->pool;
    const int64_t bits = ptx_type_bits(type);
    int64_t first, count;
    if (!expr_is_const(v[2], &first) || !expr_is_const(v[3], &count)) return NULL;
    if (bits != 32 || first < 0 || first >= bits || count <= 0) return NULL;
    if (first + count > bits) count = bits - first;
    const uint64_t mask = ((uint64_t)1 << count) - 1;
    const struct expr *low[2] = {v[0], expr_const(p, (int64_t)mask)},
                      *kept[2] = {v[1], expr_const(p, (int32_t) ~(uint32_t)(mask << first))};
    const struct expr *both[2] = {
        expr_scale(p, expr_op(p, EXPR_AND, type, 0, low, 2), (int64_t)((uint64_t)1 << first)),
        expr_op(p, EXPR_AND, type, 0, kept, 2)};
    return expr_op(p, EXPR_OR, type, 0, both, 2);
}

/* shf: 32 bits out of the 64 of v[1]:v[0], shifted by a constant. NULL: by something else. */
static const struct expr *funnel(struct activation *a, const struct ptx_instr *i, const struct expr *const *v)
{
    struct expr_pool *p = a->w->pool;
    int64_t by;
    if (!expr_is_const(v[2], &by)) return NULL;
    by = i->flags & PTX_F_WRAP ? by & 31 : (uint64_t)by > 32 ? 32 : by;
    const int64_t up = i->sub == PTX_SUB_RIGHT ? 32 - by : by, down = 32 - up;
    if (!up) return v[1];
    if (!down) return v[0];
    const struct expr *high[2] = {v[1], expr_const(p, up)}, *low[2] = {v[0], expr_const(p, down)};
    const struct expr *both[2] = {expr_op(p, EXPR_SHL, PTX_T_U32, 0, high, 2),
                                  expr_op(p, EXPR_SHR, PTX_T_U32, 0, low, 2)};
    return expr_op(p, EXPR_OR, PTX_T_U32, 0, both, 2);
}

static int simple_op(const struct ptx_instr *i)
{
    switch ((enum ptx_op)i->op) {
    case PTX_OP_DIV: return EXPR_DIV;
    case PTX_OP_REM: return EXPR_REM;
    case PTX_OP_SHL: return EXPR_SHL;
    case PTX_OP_SHR: return EXPR_SHR;
    case PTX_OP_AND: return EXPR_AND;
    case PTX_OP_OR: return EXPR_OR;
    case PTX_OP_XOR: return EXPR_XOR;
    case PTX_OP_MIN: return EXPR_MIN;
    case PTX_OP_MAX: return EXPR_MAX;
    case PTX_OP_NOT: return EXPR_NOT;
    case PTX_OP_ABS: return EXPR_ABS;
    case PTX_OP_BFE: return EXPR_FIELD;
    default: return -1;
    }
}

/* The value of an arithmetic instruction whose sources are v[0..n). */
static const struct expr *compute(struct activation *a, const struct ptx_instr *i,
                                  const struct expr *const *v, uint32_t n)
{
    struct expr_pool *p = a->w->pool;
    const enum ptx_type type = (enum ptx_type)i->type;
    const bool logic =
        i->op == PTX_OP_AND || i->op == PTX_OP_OR || i->op == PTX_OP_XOR || i->op == PTX_OP_NOT;
    if (i->flags & (PTX_F_CC | PTX_F_SAT | PTX_F_UNKNOWN) || !n) return values_other_of(a, v, n);
    if (i->op == PTX_OP_CVT) return convert(a, i, v[0]);
    if (i->op == PTX_OP_SETP) return compare(a, i, v, n);
    if (!is_integer(type) && !(type == PTX_T_PRED && logic) && i->op != PTX_OP_MOV && i->op != PTX_OP_SELP)
        return values_other_of(a, v, n);
    const int op = simple_op(i);
    switch ((enum ptx_op)i->op) {
    case PTX_OP_MOV: return v[0];
    case PTX_OP_CVTA: return mark_pointer(a, v[0]);
    case PTX_OP_ADD: return n == 2 ? expr_add(p, v[0], v[1]) : values_other_of(a, v, n);
    case PTX_OP_SUB: return n == 2 ? expr_sub(p, v[0], v[1]) : values_other_of(a, v, n);
    case PTX_OP_NEG: return expr_scale(p, v[0], -1);
    case PTX_OP_MUL:
    case PTX_OP_MUL24: return n == 2 ? multiply(a, i, v) : values_other_of(a, v, n);
    case PTX_OP_MAD:
    case PTX_OP_MAD24: return n == 3 ? expr_add(p, multiply(a, i, v), v[2]) : values_other_of(a, v, n);
    case PTX_OP_SELP:
        if (n != 3 || any_lost(v, 2)) return values_other_of(a, v, n);
        return expr_op(p, EXPR_SELECT, PTX_T_S64, 0, (const struct expr *[]){v[2], v[0], v[1]}, 3);
    case PTX_OP_SHF: {
        const struct expr *value = n == 3 && !any_lost(v, 3) ? funnel(a, i, v) : NULL;
        return value ? value : values_other_of(a, v, n);
    }
    case PTX_OP_BFI: {
        const struct expr *value = n == 4 && !any_lost(v, 4) ? insert_bits(a, type, v) : NULL;
        return value ? value : values_other_of(a, v, n);
    }
    default: break;
    }
    int64_t left;
    if (op == EXPR_SHL && n == 2 && expr_is_const(v[1], &left)) return expr_op(p, EXPR_SHL, type, 0, v, 2);
    if (op < 0 || n > 3 || any_lost(v, n) ||
        n < (op == EXPR_FIELD                   ? 3u
             : op == EXPR_NOT || op == EXPR_ABS ? 1u
                                                : 2u))
        return values_other_of(a, v, n);
    return expr_op(p, (enum expr_op)op, type, 0, v,
                   op == EXPR_FIELD                   ? 3
                   : op == EXPR_NOT || op == EXPR_ABS ? 1
                                                      : 2);
}

static enum ptx_type source_type(const struct ptx_instr *i, uint32_t n)
{
    if (i->op == PTX_OP_CVT && i->type2) return (enum ptx_type)i->type2;
    if (i->op == PTX_OP_MAD && i->part == PTX_PART_WIDE && n == 2) return PTX_T_S64;
    if ((i->op == PTX_OP_SHL || i->op == PTX_OP_SHR) && n == 1) return PTX_T_U32;
    if (i->op == PTX_OP_BFI && n > 1) return PTX_T_U32;
    return (enum ptx_type)i->type;
}

/* ---- writing ---- */

/* A guarded definition leaves the old value where the guard is false. */
static const struct expr *guarded(struct activation *a, uint32_t reg, const struct expr *value)
{
    const struct ptx_instr *i = &a->f->func->instrs[a->pc];
    if (i->guard == PTX_NO_REG) return value;
    if (a->f->du->def_start[reg + 1] - a->f->du->def_start[reg] == 1) return value; /* else undefined */
    const struct expr *old = values_at_end(a, a->block, reg, 0);
    if (!old) return value;
    const struct expr *p = values_read_reg(a, i->guard);
    const struct expr *v[3] = {p, i->guard_not ? old : value, i->guard_not ? value : old};
    return expr_op(a->w->pool, EXPR_SELECT, PTX_T_S64, 0, v, 3);
}

void instr_write(struct activation *a, const struct ptx_operand *d, const struct expr *value)
{
    if (d->kind != PTX_OPND_REG || is_float_reg(a->f->func, d->id)) return;
    values_write_reg(a, d->id, guarded(a, d->id, value));
}

/* Every register that the instruction writes gets a value that nothing is known of. */
void instr_write_unknown(struct activation *a, uint32_t deps)
{
    struct ptx_reg_walk w;
    uint32_t n = 0;
    ptx_walk_start(&w, a->f->func, &a->f->func->instrs[a->pc]);
    for (uint32_t r; (r = ptx_next_written(&w)) != PTX_NO_REG; n++)
        if (!is_float_reg(a->f->func, r)) values_write_reg(a, r, values_unknown(a, a->pc, 300 + n, deps));
}

void instr_arithmetic(struct activation *a, const struct ptx_instr *i)
{
    const struct ptx_func *f = a->f->func;
    const struct expr *v[4];
    uint32_t n = 0;
    const struct ptx_operand *d = i->n_dsts ? ptx_operand_at(f, i, 0) : NULL;
    if (!d) return;
    const bool parts = d->kind != PTX_OPND_REG, floats = !parts && is_float_reg(f, d->id);
    for (uint32_t k = i->n_dsts; i->op == PTX_OP_MOV && (parts || floats) && k < i->n_operands; k++)
        if (ptx_operand_at(f, i, k)->kind == PTX_OPND_REG) /* the address comes back in another way */
            local_publish(a, instr_value(a, ptx_operand_at(f, i, k), (enum ptx_type)i->type));
    if (parts) instr_write_unknown(a, DEP_OTHER | DEP_DATA);
    if (parts || floats) return; /* no address is made of a float without a conversion */
    for (uint32_t k = i->n_dsts; k < i->n_operands && n < 4; k++) {
        const struct ptx_operand *o = ptx_operand_at(f, i, k);
        const bool predicate = i->op == PTX_OP_SELP && n == 2;
        v[n] = instr_value(a, o, predicate ? PTX_T_PRED : source_type(i, n));
        n++;
    }
    const struct expr *value = compute(a, i, v, n);
    instr_write(a, d, value);
    for (uint32_t k = 1; k < i->n_dsts; k++) { /* setp p|q */
        const struct expr *not = i->op == PTX_OP_SETP
                                     ? expr_op(a->w->pool, EXPR_NOT, PTX_T_PRED, 0, &value, 1)
                                     : values_unknown(a, a->pc, 310 + k, DEP_OTHER | DEP_DATA);
        instr_write(a, ptx_operand_at(f, i, k), not );
    }
}
