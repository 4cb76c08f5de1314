/* symbolic_memory: loads, stores and atomics of the symbolic walk: accesses to global memory are noted, slots
 * of the stack and parameters have values. */
#include <string.h>

#include "analysis/symbolic_private.h"

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
        instr_write(a, to, as_loaded(a, value, to->id, (enum ptx_type)i->type));
    }
    return true;
}

static bool is_global(const struct ptx_instr *i, uint32_t space, const struct expr *address)
{
    (void)i;
    if (space == PTX_SPACE_GLOBAL) return true;
    return space == PTX_SPACE_GENERIC && !(address->deps & (DEP_LOCAL | DEP_SHARED));
}

void instr_record(struct activation *a, const struct ptx_instr *i, uint32_t space, const struct expr *address,
                  uint8_t kind, uint32_t bytes, uint32_t count)
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
        instr_write(a, to, expr_of(a->w->pool, expr_intern_atom(a->w->pool, &like)));
    }
}

void instr_load(struct activation *a, const struct ptx_instr *i)
{
    if (i->n_operands < 2 || load_own(a, i)) return;
    const struct expr *address = instr_address(a, ptx_operand_at(a->f->func, i, 1));
    instr_record(a, i, i->space, address, SYMBOLIC_READ, ptx_type_bits(i->type) / 8, i->vec ? i->vec : 1);
    if (address->depth >= EXPR_DEPTH_MAX)
        instr_write_unknown(a, DEP_OTHER | DEP_DATA);
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

void instr_store(struct activation *a, const struct ptx_instr *i)
{
    const struct ptx_func *f = a->f->func;
    struct frame_address at;
    const uint32_t bytes = ptx_type_bits(i->type) / 8, count = i->vec ? i->vec : 1;
    if (i->n_operands < 2) return;
    const struct ptx_operand *from = ptx_operand_at(f, i, 1);
    if (!frame_address_of(a->f, ptx_operand_at(f, i, 0), &at)) {
        const struct expr *address = instr_address(a, ptx_operand_at(f, i, 0));
        instr_record(a, i, i->space, address, SYMBOLIC_WRITE, bytes, count);
        local_store(a, address, i->space, bytes * count);
        for (uint32_t e = 0; e < count; e++)
            if (element(f, from, e)->kind != PTX_OPND_IMM)
                local_publish(a, instr_value(a, element(f, from, e), (enum ptx_type)i->type));
        return;
    }
    for (uint32_t e = 0; e < count && bytes; e++) {
        const uint32_t slot = frame_slot_at(a->f, at.symbol, at.offset + (int64_t)(e * bytes));
        if (slot == PTX_NO_INDEX) continue; /* every such access has one */
        const struct expr *value = instr_value(a, element(f, from, e), (enum ptx_type)i->type);
        if (i->guard != PTX_NO_REG || local_is_mixed(a, slot)) local_publish(a, value);
        if (i->guard != PTX_NO_REG) value = values_unknown(a, a->pc, e, DEP_OTHER | DEP_DATA);
        values_write_slot(a, slot, as_stored(a, value, bytes));
    }
}

void instr_other_memory(struct activation *a, const struct ptx_instr *i)
{
    const struct ptx_func *f = a->f->func;
    const uint32_t bytes = ptx_type_bits(i->type) / 8;
    switch ((enum ptx_op)i->op) {
    case PTX_OP_ATOM:
        if (i->n_operands > 1)
            instr_record(a, i, i->space, instr_address(a, ptx_operand_at(f, i, 1)), SYMBOLIC_ATOMIC, bytes,
                         1);
        break;
    case PTX_OP_RED:
        if (i->n_operands)
            instr_record(a, i, i->space, instr_address(a, ptx_operand_at(f, i, 0)), SYMBOLIC_ATOMIC, bytes,
                         1);
        break;
    case PTX_OP_CP_ASYNC:
        if (i->n_operands > 2 && ptx_operand_at(f, i, 2)->kind == PTX_OPND_IMM)
            instr_record(a, i, PTX_SPACE_GLOBAL, instr_address(a, ptx_operand_at(f, i, 1)), SYMBOLIC_READ, 4,
                         (uint32_t)ptx_operand_at(f, i, 2)->value / 4 & 255);
        break;
    default: break;
    }
    instr_write_unknown(a, DEP_OTHER | DEP_DATA);
}
