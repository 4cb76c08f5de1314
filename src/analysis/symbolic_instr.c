/* symbolic_instr: one instruction of the symbolic walk: what it computes, accesses, calls. */
#include <string.h>

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

static const struct expr *value_of(struct activation *a, const struct ptx_operand *o, enum ptx_type type)
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

static const struct expr *address_of(struct activation *a, const struct ptx_operand *o)
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

static void write(struct activation *a, const struct ptx_operand *d, const struct expr *value)
{
    if (d->kind != PTX_OPND_REG || is_float_reg(a->f->func, d->id)) return;
    values_write_reg(a, d->id, guarded(a, d->id, value));
}

/* Every register that the instruction writes gets a value that nothing is known of. */
static void write_unknown(struct activation *a, uint32_t deps)
{
    struct ptx_reg_walk w;
    uint32_t n = 0;
    ptx_walk_start(&w, a->f->func, &a->f->func->instrs[a->pc]);
    for (uint32_t r; (r = ptx_next_written(&w)) != PTX_NO_REG; n++)
        if (!is_float_reg(a->f->func, r)) values_write_reg(a, r, values_unknown(a, a->pc, 300 + n, deps));
}

static void walk_arithmetic(struct activation *a, const struct ptx_instr *i)
{
    const struct ptx_func *f = a->f->func;
    const struct expr *v[4];
    uint32_t n = 0;
    const struct ptx_operand *d = i->n_dsts ? ptx_operand_at(f, i, 0) : NULL;
    if (!d) return;
    const bool parts = d->kind != PTX_OPND_REG, floats = !parts && is_float_reg(f, d->id);
    for (uint32_t k = i->n_dsts; i->op == PTX_OP_MOV && (parts || floats) && k < i->n_operands; k++)
        if (ptx_operand_at(f, i, k)->kind == PTX_OPND_REG) /* the address comes back in another way */
            local_publish(a, value_of(a, ptx_operand_at(f, i, k), (enum ptx_type)i->type));
    if (parts) write_unknown(a, DEP_OTHER | DEP_DATA);
    if (parts || floats) return; /* no address is made of a float without a conversion */
    for (uint32_t k = i->n_dsts; k < i->n_operands && n < 4; k++) {
        const struct ptx_operand *o = ptx_operand_at(f, i, k);
        const bool predicate = i->op == PTX_OP_SELP && n == 2;
        v[n] = value_of(a, o, predicate ? PTX_T_PRED : source_type(i, n));
        n++;
    }
    const struct expr *value = compute(a, i, v, n);
    write(a, d, value);
    for (uint32_t k = 1; k < i->n_dsts; k++) { /* setp p|q */
        const struct expr *not = i->op == PTX_OP_SETP
                                     ? expr_op(a->w->pool, EXPR_NOT, PTX_T_PRED, 0, &value, 1)
                                     : values_unknown(a, a->pc, 310 + k, DEP_OTHER | DEP_DATA);
        write(a, ptx_operand_at(f, i, k), not );
    }
}

/* ---- memory ---- */

static const struct ptx_operand *element(const struct ptx_func *f, const struct ptx_operand *o, uint32_t e)
{
    return o->kind == PTX_OPND_VEC ? &f->operands[o->id + e] : o;
}

static const struct expr *param_value(struct activation *a, const struct ptx_symbol *s, int64_t offset,
                                      const struct ptx_instr *i)
{
    const struct atom like = {.kind = ATOM_PARAM,
                              .id = (uint32_t)(s->offset + (uint64_t)offset),
                              .size_bytes = (uint8_t)(ptx_type_bits(i->type) / 8),
                              .deps = DEP_PARAM};
    return expr_of(a->w->pool, expr_intern_atom(a->w->pool, &like));
}

/* Formal parameter of a .func: what the caller passed; NULL: not known. */
static const struct expr *formal_value(const struct activation *a, uint32_t symbol, int64_t offset)
{
    for (uint32_t k = 0; a->args && k < a->args->count; k++)
        if (a->args->rows[k].symbol == symbol && a->args->rows[k].offset == offset)
            return a->args->rows[k].value;
    return NULL;
}

static bool is_formal(const struct ptx_func *f, uint32_t symbol)
{
    return symbol >= f->first_param + f->n_rets && symbol < f->first_param + f->n_rets + f->n_params;
}

/* What memory holds as a load of the type makes it a register's value. */
static const struct expr *as_loaded(struct activation *a, const struct expr *value, uint32_t reg,
                                    enum ptx_type type)
{
    const uint32_t bits = ptx_type_bits(type);
    const bool plain = expr_is_atom(value) && expr_is_atom(value)->kind == ATOM_PARAM;
    if (bits >= 32 && bits >= ptx_type_bits(a->f->func->regs[reg].type)) return value;
    if (plain && ptx_type_kind(type) != 'S') return value; /* a parameter's bytes, no more */
    return expr_widen(a->w->pool, value, type);
}

/* A load from memory of the activation, or of parameters; false: from elsewhere. */
static bool load_own(struct activation *a, const struct ptx_instr *i)
{
    const struct ptx_func *f = a->f->func;
    const struct ptx_operand *d = ptx_operand_at(f, i, 0), *o = ptx_operand_at(f, i, 1);
    const uint32_t bytes = ptx_type_bits(i->type) / 8, count = i->vec ? i->vec : 1;
    struct frame_address at;
    const bool entry_param = frame_param_of(a->f, o, &at);
    if (!entry_param && !frame_address_of(a->f, o, &at)) return false;
    for (uint32_t e = 0; e < count; e++) {
        const struct ptx_operand *to = element(f, d, e);
        const int64_t offset = at.offset + (int64_t)(e * bytes);
        const struct expr *value = NULL;
        if (to->kind != PTX_OPND_REG || is_float_reg(f, to->id)) continue;
        if (entry_param)
            value = param_value(a, &f->module->symbols[at.symbol], offset, i);
        else if (is_formal(f, at.symbol))
            value = formal_value(a, at.symbol, offset);
        else
            value = values_read_slot(a, frame_slot_at(a->f, at.symbol, offset));
        if (!value) value = values_unknown(a, a->pc, e, DEP_OTHER | DEP_DATA);
        write(a, to, as_loaded(a, value, to->id, (enum ptx_type)i->type));
    }
    return true;
}

static bool is_global(const struct ptx_instr *i, uint32_t space, const struct expr *address)
{
    (void)i;
    if (space == PTX_SPACE_GLOBAL) return true;
    return space == PTX_SPACE_GENERIC && !(address->deps & (DEP_LOCAL | DEP_SHARED));
}

static void record(struct activation *a, const struct ptx_instr *i, uint32_t space,
                   const struct expr *address, uint8_t kind, uint32_t bytes, uint32_t count)
{
    struct walker *w = a->w;
    struct symbolic *s = w->s;
    if (!is_global(i, space, address)) return;
    if (s->n_accesses == w->access_capacity) {
        w->access_capacity = w->access_capacity ? 2 * w->access_capacity : 32;
        struct symbolic_access *more = ARENA_ARRAY(w->arena, struct symbolic_access, w->access_capacity);
        if (s->n_accesses) memcpy(more, s->accesses, s->n_accesses * sizeof *more);
        s->accesses = more;
    }
    const uint32_t l = a->f->cfg->blocks[a->block].loop;
    s->accesses[s->n_accesses++] = (struct symbolic_access){
        .func = a->f->func,
        .pc = a->pc,
        .activation = a->idx,
        .block = a->block,
        .loop = l == PTX_NO_INDEX ? a->caller_loop : a->first_loop + l,
        .kind = kind,
        .count = (uint8_t)count,
        .bytes = (uint16_t)bytes,
        .nc = (i->flags & PTX_F_NC) != 0,
        .address = address,
    };
}

static void write_data(struct activation *a, const struct ptx_instr *i, const struct expr *address)
{
    const struct ptx_func *f = a->f->func;
    const struct ptx_operand *d = ptx_operand_at(f, i, 0);
    const uint32_t count = d->kind == PTX_OPND_VEC ? d->count : 1;
    for (uint32_t e = 0; e < count; e++) {
        const struct ptx_operand *to = element(f, d, e);
        if (to->kind != PTX_OPND_REG || is_float_reg(f, to->id)) continue;
        const struct atom like = {.kind = ATOM_DATA,
                                  .id = a->first_site + a->pc,
                                  .element = e,
                                  .type = i->type,
                                  .deps = DEP_DATA | (address->deps & DEP_PHI),
                                  .loops = address->loops,
                                  .n_args = 1,
                                  .args = &address};
        write(a, to, expr_of(a->w->pool, expr_intern_atom(a->w->pool, &like)));
    }
}

static void walk_load(struct activation *a, const struct ptx_instr *i)
{
    if (i->n_operands < 2 || load_own(a, i)) return;
    const struct expr *address = address_of(a, ptx_operand_at(a->f->func, i, 1));
    record(a, i, i->space, address, SYMBOLIC_READ, ptx_type_bits(i->type) / 8, i->vec ? i->vec : 1);
    if (address->depth >= EXPR_DEPTH_MAX)
        write_unknown(a, DEP_OTHER | DEP_DATA);
    else
        write_data(a, i, address);
}

/* What a slot of 1 or 2 bytes holds: loads cut it, so what was cut before needs not be. A counter of 8 bits
 * is a counter then. */
static const struct expr *as_stored(struct activation *a, const struct expr *value, uint32_t bytes)
{
    struct expr_pool *p = a->w->pool;
    const uint64_t kept = ((uint64_t)1 << 8 * (bytes & 3)) - 1;
    enum { CUTS_MOST = 4 };
    for (uint32_t cut = 0, k = 0; bytes < 4 && k < value->n && cut < CUTS_MOST; k++) {
        const struct term *t = &value->terms[k];
        const struct atom *op = t->mono->n == 1 ? t->mono->atoms[0] : NULL;
        int64_t mask;
        if (!op || op->kind != ATOM_OP) continue;
        const bool cuts =
            (op->op == EXPR_WIDEN && ptx_type_bits(op->type) >= 8 * bytes) ||
            (op->op == EXPR_AND && expr_is_const(op->args[1], &mask) && ((uint64_t)mask & kept) == kept);
        if (!cuts) continue;
        value = expr_add(p, expr_sub(p, value, expr_term(p, t)), expr_scale(p, op->args[0], t->coef));
        k = UINT32_MAX; /* from the first term on */
        cut++;
    }
    return value;
}

static void walk_store(struct activation *a, const struct ptx_instr *i)
{
    const struct ptx_func *f = a->f->func;
    struct frame_address at;
    const uint32_t bytes = ptx_type_bits(i->type) / 8, count = i->vec ? i->vec : 1;
    if (i->n_operands < 2) return;
    const struct ptx_operand *from = ptx_operand_at(f, i, 1);
    if (!frame_address_of(a->f, ptx_operand_at(f, i, 0), &at)) {
        const struct expr *address = address_of(a, ptx_operand_at(f, i, 0));
        record(a, i, i->space, address, SYMBOLIC_WRITE, bytes, count);
        local_store(a, address, i->space, bytes * count);
        for (uint32_t e = 0; e < count; e++)
            if (element(f, from, e)->kind != PTX_OPND_IMM)
                local_publish(a, value_of(a, element(f, from, e), (enum ptx_type)i->type));
        return;
    }
    for (uint32_t e = 0; e < count && bytes; e++) {
        const uint32_t slot = frame_slot_at(a->f, at.symbol, at.offset + (int64_t)(e * bytes));
        if (slot == PTX_NO_INDEX) continue; /* every such access has one */
        const struct expr *value = value_of(a, element(f, from, e), (enum ptx_type)i->type);
        if (i->guard != PTX_NO_REG || local_is_mixed(a, slot)) local_publish(a, value);
        if (i->guard != PTX_NO_REG) value = values_unknown(a, a->pc, e, DEP_OTHER | DEP_DATA);
        values_write_slot(a, slot, as_stored(a, value, bytes));
    }
}

static void walk_other_memory(struct activation *a, const struct ptx_instr *i)
{
    const struct ptx_func *f = a->f->func;
    const uint32_t bytes = ptx_type_bits(i->type) / 8;
    switch ((enum ptx_op)i->op) {
    case PTX_OP_ATOM:
        if (i->n_operands > 1)
            record(a, i, i->space, address_of(a, ptx_operand_at(f, i, 1)), SYMBOLIC_ATOMIC, bytes, 1);
        break;
    case PTX_OP_RED:
        if (i->n_operands)
            record(a, i, i->space, address_of(a, ptx_operand_at(f, i, 0)), SYMBOLIC_ATOMIC, bytes, 1);
        break;
    case PTX_OP_CP_ASYNC:
        if (i->n_operands > 2 && ptx_operand_at(f, i, 2)->kind == PTX_OPND_IMM)
            record(a, i, PTX_SPACE_GLOBAL, address_of(a, ptx_operand_at(f, i, 1)), SYMBOLIC_READ, 4,
                   (uint32_t)ptx_operand_at(f, i, 2)->value / 4 & 255);
        break;
    default: break;
    }
    write_unknown(a, DEP_OTHER | DEP_DATA);
}

/* ---- calls ---- */

/* What a list element (a .param variable or a register) carries to the callee's formal. */
static void bind_argument(struct activation *a, struct bindings *args, const struct ptx_operand *o,
                          uint32_t formal)
{
    if (o->kind == PTX_OPND_REG || o->kind == PTX_OPND_IMM) {
        walk_bind(a->w->arena, args, formal, 0, value_of(a, o, PTX_T_B64));
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

static void walk_call_instr(struct activation *a, const struct ptx_instr *i)
{
    const struct ptx_func *f = a->f->func;
    if (i->n_operands < 3) return;
    const struct ptx_operand *target = ptx_operand_at(f, i, 0), *rets = ptx_operand_at(f, i, 1),
                             *given = ptx_operand_at(f, i, 2);
    const struct ptx_func *callee = target->kind == PTX_OPND_SYM ? ptx_callee(f, target->id) : NULL;
    struct bindings args = {0}, results = {0};
    write_unknown(a, DEP_OTHER | DEP_DATA);
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
    const struct expr *by = i->n_operands ? value_of(a, ptx_operand_at(a->f->func, i, 0), PTX_T_U32)
                                          : values_unknown(a, a->pc, 223, DEP_OTHER | DEP_DATA);
    for (uint32_t l = b->loop; l != PTX_NO_INDEX; l = cfg->loops[l].parent) {
        bool leaves = false;
        for (uint32_t k = 0; k < b->n_succs; k++)
            leaves |= !frame_in_loop(cfg, cfg->succs[b->first_succ + k], l);
        if (leaves) add_exit(a, l, &(struct symbolic_exit){.condition = by});
    }
}

static void note_exit(struct activation *a, const struct ptx_instr *i)
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

void instr_walk(struct activation *a)
{
    const struct ptx_instr *i = &a->f->func->instrs[a->pc];
    switch (ptx_op_class((enum ptx_op)i->op)) {
    case PTX_CLASS_ALU:
    case PTX_CLASS_SFU:
    case PTX_CLASS_MOVE: walk_arithmetic(a, i); break;
    case PTX_CLASS_MEM:
        if (i->op == PTX_OP_LD || i->op == PTX_OP_LDU)
            walk_load(a, i);
        else if (i->op == PTX_OP_ST)
            walk_store(a, i);
        else
            walk_other_memory(a, i);
        break;
    case PTX_CLASS_CTRL:
        if (i->op == PTX_OP_CALL) walk_call_instr(a, i);
        if (ptx_is_branch(i)) note_exit(a, i);
        break;
    case PTX_CLASS_TENSOR: {
        const bool load = i->op == PTX_OP_WMMA_LOAD, store = i->op == PTX_OP_WMMA_STORE;
        if ((load && i->n_operands > 1) || (store && i->n_operands))
            record(a, i, i->space, values_unknown(a, a->pc, 500, DEP_OTHER | DEP_DATA),
                   load ? SYMBOLIC_READ : SYMBOLIC_WRITE, 4, 1);
        write_unknown(a, DEP_OTHER | DEP_DATA);
        break;
    }
    case PTX_CLASS_UNKNOWN:
    case PTX_CLASS_WARP:
    case PTX_CLASS_SYNC:
    case PTX_CLASS_TEX:
    case PTX_CLASS_VIDEO: write_unknown(a, DEP_OTHER | DEP_DATA); break;
    }
}
