/* readonly: the pass over one function. See readonly.h. */
#include "analysis/readonly.h"

#include <string.h>

#define SHARED  ((uint64_t)1 << READONLY_SHARED_BIT)
#define LOCAL   ((uint64_t)1 << READONLY_LOCAL_BIT)
#define SHIFTED ((uint64_t)1 << READONLY_SHIFTED_BIT)
#define HALF    ((uint64_t)1 << READONLY_HALF_BIT)  /* 32 bits that may be half of a pointer */
#define PIECE   ((uint64_t)1 << READONLY_PIECE_BIT) /* of cells: written in parts that may make a pointer */
#define UNKNOWN READONLY_UNKNOWN
#define ORIGINS (((uint64_t)1 << READONLY_ORIGINS_MAX) - 1)

enum { PASSES_MAX = 40, CALLS_DEEP_MAX = 100 };
enum { STATE_NEW, STATE_RUNNING, STATE_DONE };

struct pass {
    struct readonly *r;
    struct readonly_func *f;
    bool changed;
    uint32_t depth;
};

void readonly_init(struct readonly *r, struct arena *arena, struct frame_cache *frames)
{
    r->arena = arena;
    r->frames = frames;
    map_init(&r->funcs);
}

void readonly_free(struct readonly *r)
{
    size_t cursor = 0;
    for (const struct map_entry *e; (e = map_next(&r->funcs, &cursor));)
        map_free(&((struct readonly_func *)(uintptr_t)e->value)->cells);
    map_free(&r->funcs);
}

/* ---- origins and sets ---- */

static uint64_t origin(struct pass *p, uint32_t symbol, uint64_t granule, const struct ptx_symbol *variable)
{
    struct readonly_func *f = p->f;
    for (uint32_t k = 0; k < f->n_origins; k++)
        if (f->origins[k].symbol == symbol && f->origins[k].granule == granule &&
            f->origins[k].variable == variable)
            return (uint64_t)1 << k;
    if (f->n_origins == READONLY_ORIGINS_MAX || granule > UINT32_MAX) return UNKNOWN;
    if (f->n_origins == f->origin_capacity) {
        f->origin_capacity = f->origin_capacity ? 2 * f->origin_capacity : 8;
        struct readonly_origin *more = ARENA_ARRAY(p->r->arena, struct readonly_origin, f->origin_capacity);
        if (f->n_origins) memcpy(more, f->origins, f->n_origins * sizeof *more);
        f->origins = more;
    }
    f->origins[f->n_origins] =
        (struct readonly_origin){.symbol = symbol, .granule = (uint32_t)granule, .variable = variable};
    return (uint64_t)1 << f->n_origins++;
}

static void grow(struct pass *p, uint64_t *set, uint64_t by)
{
    if ((*set | by) == *set) return;
    *set |= by;
    p->changed = true;
}

static void grow_cell(struct pass *p, uint32_t symbol, int64_t granule, uint64_t by)
{
    if (!by) return;
    grow(p, map_put(&p->f->cells, (uint64_t)symbol << 32 | (uint32_t)granule, NULL), by);
}

static uint64_t cell(const struct readonly_func *f, uint32_t symbol, int64_t granule)
{
    const uint64_t *found = map_find(&f->cells, (uint64_t)symbol << 32 | (uint32_t)granule);
    return found ? *found : 0;
}

static bool is_formal(const struct ptx_func *f, uint32_t symbol)
{
    return symbol >= f->first_param + f->n_rets && symbol < f->first_param + f->n_rets + f->n_params;
}

static uint64_t symbol_set(struct pass *p, uint32_t symbol)
{
    const struct ptx_symbol *s = &p->f->func->module->symbols[symbol];
    if (s->kind != PTX_SYM_VAR) return 0;
    switch ((enum ptx_space)s->space) {
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST: return origin(p, PTX_NO_INDEX, 0, s->def ? s->def : s);
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CLUSTER: return SHARED;
    case PTX_SPACE_LOCAL:
    case PTX_SPACE_PARAM: return LOCAL;
    default: return 0;
    }
}

static uint64_t operand_set(struct pass *p, const struct ptx_operand *o)
{
    const struct ptx_func *f = p->f->func;
    uint64_t set = 0;
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPND_REG:
    case PTX_OPND_ADDR_REG: return p->f->regs[o->id];
    case PTX_OPND_SYM:
    case PTX_OPND_ADDR_SYM: return symbol_set(p, o->id);
    case PTX_OPND_VEC:
        for (uint32_t k = 0; k < o->count; k++) set |= operand_set(p, &f->operands[o->id + k]);
        return set;
    default: return 0;
    }
}

static void write_regs(struct pass *p, const struct ptx_instr *i, uint64_t set)
{
    struct ptx_reg_walk w;
    const struct ptx_func *f = p->f->func;
    ptx_walk_start(&w, f, i);
    for (uint32_t r; (r = ptx_next_written(&w)) != PTX_NO_REG;)
        if (f->regs[r].reg_class != PTX_REG_PRED) grow(p, &p->f->regs[r], set);
}

/* What memory that is not followed gives: a pointer, or half of one. */
static uint64_t loaded(const struct ptx_instr *i) { return ptx_type_bits(i->type) >= 64 ? UNKNOWN : HALF; }

/* ---- accesses ---- */

static void note(struct readonly_place *place, const struct readonly_func *f, uint32_t pc)
{
    if (!place->func) *place = (struct readonly_place){f->func, pc};
}

static uint32_t bytes_of(const struct ptx_instr *i) { return ptx_type_bits(i->type) / 8; }

static void access_origins(struct pass *p, uint64_t set, const struct ptx_instr *i, uint32_t pc, bool writes)
{
    for (uint64_t left = set & ORIGINS; left; left &= left - 1) {
        struct readonly_origin *o = &p->f->origins[__builtin_ctzll(left)];
        note(writes ? &o->written : &o->read, p->f, pc);
        if (!writes) note(i->flags & PTX_F_NC ? &o->nc : &o->plain, p->f, pc);
        if (bytes_of(i) > o->element_bytes) o->element_bytes = bytes_of(i);
    }
}

static void write_through(struct pass *p, uint64_t set, const struct ptx_instr *i, uint32_t pc)
{
    access_origins(p, set, i, pc, true);
    if (set & UNKNOWN || !(set & (ORIGINS | SHARED | LOCAL))) note(&p->f->unknown_store, p->f, pc);
}

/* May the access of a space reach global memory? */
static bool reaches_global(uint32_t space) { return space == PTX_SPACE_GLOBAL || space == PTX_SPACE_GENERIC; }

/* What 8 bytes of a cell are as a pointer: of parts, any. */
static uint64_t whole(uint64_t set) { return set & PIECE ? (set & ~PIECE) | UNKNOWN : set; }

/* What a store leaves in own memory. */
static uint64_t in_cell(uint64_t set, uint32_t bytes) { return bytes < 8 && set ? set | PIECE : set; }

static void load_own(struct pass *p, const struct ptx_instr *i, struct frame_address at)
{
    const struct ptx_func *f = p->f->func;
    const struct ptx_operand *d = ptx_operand_at(f, i, 0);
    const uint32_t bytes = bytes_of(i), count = i->vec ? i->vec : 1;
    for (uint32_t e = 0; e < count; e++) {
        const struct ptx_operand *to = d->kind == PTX_OPND_VEC ? &f->operands[d->id + e] : d;
        const int64_t first = at.offset + (int64_t)(e * bytes);
        uint64_t set = 0;
        if (to->kind != PTX_OPND_REG) continue;
        if (is_formal(f, at.symbol)) {
            const bool small = f->module->symbols[at.symbol].size_bytes < 8;
            set = bytes != 8               ? (small ? 0 : HALF)
                  : first % 8 || first < 0 ? UNKNOWN
                                           : origin(p, at.symbol, (uint64_t)first / 8, NULL);
            if (bytes > 8) set = UNKNOWN;
        } else {
            for (int64_t g = first >> 3; g <= (first + bytes - 1) >> 3; g++) set |= cell(p->f, at.symbol, g);
            set |= p->f->smeared;
            if (p->f->escaped) set |= UNKNOWN;
            if (first % 8 && bytes >= 8 && set) set |= PIECE; /* parts of two words */
            set = bytes < 8 && set ? (set & ~(UNKNOWN | PIECE)) | HALF : whole(set);
        }
        grow(p, &p->f->regs[to->id], set);
    }
}

static void load(struct pass *p, const struct ptx_instr *i, uint32_t pc)
{
    const struct ptx_func *f = p->f->func;
    const struct ptx_operand *o = ptx_operand_at(f, i, 1);
    struct frame_address at;
    if (i->n_operands < 2) return;
    if (o->kind == PTX_OPND_ADDR_SYM && is_formal(f, o->id)) {
        load_own(p, i, (struct frame_address){o->id, o->value});
        return;
    }
    if (frame_param_of(p->f->frame, o, &at) || frame_address_of(p->f->frame, o, &at)) {
        load_own(p, i, at);
        return;
    }
    const uint64_t set = operand_set(p, o);
    if (reaches_global(i->space)) access_origins(p, set, i, pc, false);
    uint64_t value = loaded(i);
    if (i->space == PTX_SPACE_LOCAL || set & LOCAL) value |= p->f->stored;
    write_regs(p, i, value);
}

static void store(struct pass *p, const struct ptx_instr *i, uint32_t pc)
{
    const struct ptx_func *f = p->f->func;
    struct frame_address at;
    if (i->n_operands < 2) return;
    const struct ptx_operand *to = ptx_operand_at(f, i, 0), *from = ptx_operand_at(f, i, 1);
    const uint64_t value = operand_set(p, from);
    const uint32_t bytes = bytes_of(i), count = i->vec ? i->vec : 1;
    const bool own = frame_address_of(p->f->frame, to, &at);
    const uint64_t set = own ? LOCAL : operand_set(p, to);
    if (own || set & LOCAL || i->space == PTX_SPACE_LOCAL || i->space == PTX_SPACE_PARAM)
        grow(p, &p->f->stored, value);
    if (own) {
        for (uint32_t e = 0; e < count; e++) {
            const int64_t first = at.offset + (int64_t)(e * bytes);
            const struct ptx_operand *one = from->kind == PTX_OPND_VEC ? &f->operands[from->id + e] : from;
            for (int64_t g = first >> 3; bytes && g <= (first + bytes - 1) >> 3; g++)
                grow_cell(p, at.symbol, g,
                          in_cell(operand_set(p, one), first % 8 ? 4 : bytes)); /* at an odd place: parts */
        }
        return;
    }
    if (set & LOCAL || i->space == PTX_SPACE_LOCAL || i->space == PTX_SPACE_PARAM)
        grow(p, &p->f->smeared, in_cell(value, bytes));
    if (value & LOCAL && !p->f->escaped) p->f->escaped = p->changed = true;
    if (reaches_global(i->space)) write_through(p, set, i, pc);
}

/* atom, red, copies: what they write. */
static void other_memory(struct pass *p, const struct ptx_instr *i, uint32_t pc)
{
    const struct ptx_func *f = p->f->func;
    switch ((enum ptx_op)i->op) {
    case PTX_OP_ATOM:
        if (i->n_operands > 1 && reaches_global(i->space))
            write_through(p, operand_set(p, ptx_operand_at(f, i, 1)), i, pc);
        break;
    case PTX_OP_RED:
        if (i->n_operands && reaches_global(i->space))
            write_through(p, operand_set(p, ptx_operand_at(f, i, 0)), i, pc);
        break;
    case PTX_OP_CP_ASYNC:
        if (i->n_operands > 1) access_origins(p, operand_set(p, ptx_operand_at(f, i, 1)), i, pc, false);
        break;
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_CP_ASYNC_COMMIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_ALL:
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
    case PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
    case PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
    case PTX_OP_CP_ASYNC_BULK_PREFETCH: break;
    default: note(&p->f->unknown_store, p->f, pc); break; /* bulk and tensor copies, multimem: anything */
    }
    write_regs(p, i, loaded(i) | UNKNOWN);
}

/* ---- arithmetic ---- */

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

static uint64_t arithmetic_set(struct pass *p, const struct ptx_instr *i)
{
    const struct ptx_func *f = p->f->func;
    uint64_t set = 0;
    for (uint32_t n = i->n_dsts; n < i->n_operands; n++) set |= operand_set(p, ptx_operand_at(f, i, n));
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
        const uint64_t added = operand_set(p, last);
        uint64_t product = 0;
        for (uint32_t n = i->n_dsts; n + 1 < i->n_operands; n++)
            product |= operand_set(p, ptx_operand_at(f, i, n));
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

/* ---- calls ---- */

static struct readonly_func *analyse(struct readonly *r, const struct ptx_func *func, uint32_t depth);

/* The caller's set for a formal's word: what the argument holds. */
static uint64_t argument_set(struct pass *p, const struct ptx_instr *i, const struct ptx_func *callee,
                             uint32_t symbol, uint32_t granule)
{
    const struct ptx_func *f = p->f->func;
    const struct ptx_operand *list = ptx_operand_at(f, i, 2);
    const uint32_t n = symbol - (callee->first_param + callee->n_rets);
    if (list->kind != PTX_OPND_LIST || n >= list->count) return UNKNOWN;
    const struct ptx_operand *o = &f->operands[list->id + n];
    if (o->kind == PTX_OPND_SYM || o->kind == PTX_OPND_ADDR_SYM)
        return whole(cell(p->f, o->id, granule) | p->f->smeared | (p->f->escaped ? UNKNOWN : 0));
    return operand_set(p, o);
}

static uint64_t translate(struct pass *p, const struct ptx_instr *i, const struct readonly_func *callee,
                          uint64_t set)
{
    uint64_t out = set & ~ORIGINS;
    if (set & LOCAL) out = (out & ~LOCAL) | UNKNOWN; /* the callee's own memory */
    for (uint64_t left = set & ORIGINS; left; left &= left - 1) {
        const struct readonly_origin *o = &callee->origins[__builtin_ctzll(left)];
        out |= o->variable ? origin(p, PTX_NO_INDEX, 0, o->variable)
                           : argument_set(p, i, callee->func, o->symbol, o->granule);
    }
    return out;
}

static void apply_effects(struct pass *p, const struct ptx_instr *i, uint32_t pc,
                          const struct readonly_func *callee)
{
    for (uint32_t k = 0; k < callee->n_origins; k++) {
        const struct readonly_origin o = callee->origins[k];
        const uint64_t set = translate(p, i, callee, (uint64_t)1 << k);
        if (!o.read.func && !o.written.func) continue;
        for (uint64_t left = set & ORIGINS; left; left &= left - 1) {
            struct readonly_origin *mine = &p->f->origins[__builtin_ctzll(left)];
            if (o.read.func && !mine->read.func) mine->read = o.read;
            if (o.nc.func && !mine->nc.func) mine->nc = o.nc;
            if (o.plain.func && !mine->plain.func) mine->plain = o.plain;
            if (o.written.func && !mine->written.func) mine->written = o.written;
            if (o.element_bytes > mine->element_bytes) mine->element_bytes = o.element_bytes;
        }
        if (o.written.func && (set & UNKNOWN || !(set & (ORIGINS | SHARED | LOCAL))))
            note(&p->f->unknown_store, p->f, pc);
    }
    if (callee->unknown_store.func && !p->f->unknown_store.func) p->f->unknown_store = callee->unknown_store;
}

static void take_returns(struct pass *p, const struct ptx_instr *i, const struct readonly_func *callee)
{
    const struct ptx_func *f = p->f->func;
    const struct ptx_operand *list = ptx_operand_at(f, i, 1);
    if (list->kind != PTX_OPND_LIST) return;
    for (uint32_t n = 0; n < list->count; n++) {
        const struct ptx_operand *o = &f->operands[list->id + n];
        if (o->kind == PTX_OPND_REG) grow(p, &p->f->regs[o->id], UNKNOWN);
        if (o->kind != PTX_OPND_SYM && o->kind != PTX_OPND_ADDR_SYM) continue;
        const uint64_t words = (f->module->symbols[o->id].size_bytes + 7) / 8;
        for (uint64_t g = 0; g < words && g < 64; g++) {
            const uint64_t set =
                callee ? translate(p, i, callee,
                                   cell(callee, callee->func->first_param + n, (int64_t)g) | callee->smeared)
                       : UNKNOWN;
            grow_cell(p, o->id, (int64_t)g, set);
        }
        if (words > 64) grow(p, &p->f->smeared, UNKNOWN);
    }
}

static void call(struct pass *p, const struct ptx_instr *i, uint32_t pc)
{
    const struct ptx_func *f = p->f->func;
    const struct ptx_operand *target = ptx_operand_at(f, i, 0), *given = ptx_operand_at(f, i, 2);
    const struct ptx_func *callee = target->kind == PTX_OPND_SYM ? ptx_callee(f, target->id) : NULL;
    const bool harmless = target->kind == PTX_OPND_SYM && (!callee || !callee->has_body) &&
                          frame_is_harmless(f->module->symbols[target->id].name);
    const struct readonly_func *c = callee && callee->has_body ? analyse(p->r, callee, p->depth + 1) : NULL;
    if (c && c->anything) c = NULL;
    if (!harmless) /* an address of own memory that a callee gets may be written through */
        for (uint32_t n = 0; given->kind == PTX_OPND_LIST && n < given->count; n++) {
            const struct ptx_operand *o = &f->operands[given->id + n];
            const bool symbol = o->kind == PTX_OPND_SYM || o->kind == PTX_OPND_ADDR_SYM;
            uint64_t set = symbol ? 0 : operand_set(p, o);
            for (uint64_t g = 0; symbol && g < 64 && g <= f->module->symbols[o->id].size_bytes / 8; g++)
                set |= cell(p->f, o->id, (int64_t)g);
            if (symbol && f->module->symbols[o->id].size_bytes > 512) set |= p->f->stored;
            if (set & LOCAL && !p->f->escaped) p->f->escaped = p->changed = true;
        }
    if (c)
        apply_effects(p, i, pc, c);
    else if (!harmless)
        note(&p->f->unknown_store, p->f, pc);
    take_returns(p, i, c);
}

/* ---- a function ---- */

static void visit(struct pass *p, uint32_t pc)
{
    const struct ptx_func *f = p->f->func;
    const struct ptx_instr *i = &f->instrs[pc];
    switch (ptx_op_class((enum ptx_op)i->op)) {
    case PTX_CLASS_ALU:
    case PTX_CLASS_SFU:
    case PTX_CLASS_MOVE:
        if (i->op == PTX_OP_ALLOCA && !p->f->escaped) p->f->escaped = p->changed = true;
        write_regs(p, i, i->op == PTX_OP_ALLOCA ? LOCAL : i->n_operands ? arithmetic_set(p, i) : 0);
        break;
    case PTX_CLASS_VIDEO: write_regs(p, i, arithmetic_set(p, i)); break;
    case PTX_CLASS_WARP: write_regs(p, i, HALF); break;
    case PTX_CLASS_MEM:
        if (i->op == PTX_OP_LD || i->op == PTX_OP_LDU)
            load(p, i, pc);
        else if (i->op == PTX_OP_ST)
            store(p, i, pc);
        else
            other_memory(p, i, pc);
        break;
    case PTX_CLASS_CTRL:
        if (i->op == PTX_OP_CALL && i->n_operands >= 3) call(p, i, pc);
        break;
    case PTX_CLASS_TENSOR:
        if (i->op == PTX_OP_WMMA_STORE && i->n_operands && reaches_global(i->space))
            write_through(p, operand_set(p, ptx_operand_at(f, i, 0)), i, pc);
        if (i->op == PTX_OP_WMMA_LOAD && i->n_operands > 1 && reaches_global(i->space))
            access_origins(p, operand_set(p, ptx_operand_at(f, i, 1)), i, pc, false);
        if (i->op == PTX_OP_TCGEN05 || i->flags & PTX_F_UNKNOWN) note(&p->f->unknown_store, p->f, pc);
        write_regs(p, i, HALF);
        break;
    case PTX_CLASS_SYNC: write_regs(p, i, HALF); break;
    case PTX_CLASS_TEX:
        if (i->op == PTX_OP_SUST || i->op == PTX_OP_SURED) note(&p->f->unknown_store, p->f, pc);
        write_regs(p, i, HALF);
        break;
    case PTX_CLASS_UNKNOWN:
        note(&p->f->unknown_store, p->f, pc);
        write_regs(p, i, UNKNOWN);
        break;
    }
}

static struct readonly_func *analyse(struct readonly *r, const struct ptx_func *func, uint32_t depth)
{
    uint64_t *held = map_put(&r->funcs, (uint64_t)(uintptr_t)func, NULL);
    struct readonly_func *f = (struct readonly_func *)(uintptr_t)*held;
    if (!f) {
        f = ARENA_NEW(r->arena, struct readonly_func);
        map_init(&f->cells);
        *held = (uint64_t)(uintptr_t)f;
        f->func = func;
    }
    if (f->state == STATE_DONE) return f;
    if (f->state == STATE_RUNNING || depth > CALLS_DEEP_MAX || func->module->address_bits == 32) {
        f->anything =
            true; /* recursion: whoever asks takes it to do anything, and so does it itself in the end */
        if (f->state == STATE_NEW) f->state = STATE_DONE;
        return f;
    }
    f->state = STATE_RUNNING;
    f->frame = frame_of(r->frames, func);
    f->regs = ARENA_ARRAY(r->arena, uint64_t, func->n_regs + 1);
    struct pass p = {.r = r, .f = f, .changed = true, .depth = depth};
    /* formal parameters in registers come first */
    for (uint32_t k = 0, reg = 0; k < func->n_rets + func->n_params && reg < func->n_regs; k++)
        if (func->module->symbols[func->first_param + k].space == PTX_SPACE_REG) f->regs[reg++] = UNKNOWN;
    uint32_t passes = 0;
    for (; p.changed && passes < PASSES_MAX; passes++) {
        p.changed = false;
        for (uint32_t pc = 0; pc < func->n_instrs; pc++) visit(&p, pc);
    }
    if (p.changed) f->anything = true;
    f->state = STATE_DONE;
    return f;
}

const struct readonly_func *readonly_of(struct readonly *r, const struct ptx_func *func)
{
    return analyse(r, func, 0);
}

/* ---- a kernel with what it calls ---- */

void readonly_kernel_free(struct readonly_kernel *k)
{
    map_free(&k->translations);
    map_free(&k->group_of);
}

static uint64_t *translation_of(struct readonly_kernel *k, struct arena *arena, const struct readonly_func *f,
                                bool *fresh)
{
    uint64_t *held = map_put(&k->translations, (uint64_t)(uintptr_t)f->func, fresh);
    if (*fresh) *held = (uint64_t)(uintptr_t)ARENA_ARRAY(arena, uint64_t, READONLY_ORIGINS_MAX + 1);
    return (uint64_t *)(uintptr_t)*held;
}

static uint64_t to_kernel(const uint64_t *translation, uint64_t set)
{
    uint64_t out = set & ~ORIGINS;
    for (uint64_t left = set & ORIGINS; left; left &= left - 1) out |= translation[__builtin_ctzll(left)];
    return out;
}

/* What the origins of a callee are for the kernel: a round over all calls of the functions reached so far. */
static bool pass_down(struct readonly *r, struct readonly_kernel *k, const struct readonly_func *f,
                      const uint64_t *own)
{
    bool changed = false;
    if (f->anything) return false;
    struct pass p = {.r = r, .f = (struct readonly_func *)(uintptr_t)f};
    for (uint32_t pc = 0; pc < f->func->n_instrs; pc++) {
        const struct ptx_instr *i = &f->func->instrs[pc];
        if (i->op != PTX_OP_CALL || i->n_operands < 3) continue;
        const struct ptx_operand *target = ptx_operand_at(f->func, i, 0);
        const struct ptx_func *callee = target->kind == PTX_OPND_SYM ? ptx_callee(f->func, target->id) : NULL;
        if (!callee || !callee->has_body) continue;
        const struct readonly_func *c = readonly_of(r, callee);
        bool fresh;
        uint64_t *theirs = translation_of(k, r->arena, c, &fresh);
        changed |= fresh;
        for (uint32_t o = 0; o < c->n_origins; o++) {
            const uint64_t more = to_kernel(own, translate(&p, i, c, (uint64_t)1 << o));
            changed |= (theirs[o] | more) != theirs[o];
            theirs[o] |= more;
        }
    }
    return changed;
}

struct readonly_kernel *readonly_kernel(struct readonly *r, const struct ptx_func *kernel)
{
    struct readonly_kernel *k = ARENA_NEW(r->arena, struct readonly_kernel);
    bool fresh, changed = true;
    map_init(&k->translations);
    map_init(&k->group_of);
    k->entry = readonly_of(r, kernel);
    uint64_t *own = translation_of(k, r->arena, k->entry, &fresh);
    for (uint32_t o = 0; o < READONLY_ORIGINS_MAX; o++) own[o] = (uint64_t)1 << o;
    for (uint32_t round = 0; changed; round++) {
        changed = false;
        k->lost = round > 2 * CALLS_DEEP_MAX;
        if (k->lost) break;
        /* the table moves while it grows: collect first */
        size_t cursor = 0, count = 0;
        const struct readonly_func **reached =
            ARENA_ARRAY(r->arena, const struct readonly_func *, k->translations.count + 1);
        for (const struct map_entry *e; (e = map_next(&k->translations, &cursor));)
            reached[count++] = readonly_of(r, (const struct ptx_func *)(uintptr_t)e->key);
        for (size_t j = 0; j < count; j++) {
            bool again;
            changed |= pass_down(r, k, reached[j], translation_of(k, r->arena, reached[j], &again));
        }
    }
    k->groups = ARENA_ARRAY(r->arena, struct readonly_group, 1);
    k->n_groups = k->group_capacity = 1;
    /* every load gets its group now, so that a launch knows how many there are */
    size_t cursor = 0;
    for (const struct map_entry *e; (e = map_next(&k->translations, &cursor));) {
        const struct ptx_func *func = (const struct ptx_func *)(uintptr_t)e->key;
        for (uint32_t pc = 0; pc < func->n_instrs; pc++) (void)readonly_group_of(r, k, func, pc);
    }
    return k;
}

uint32_t readonly_group_of(struct readonly *r, struct readonly_kernel *k, const struct ptx_func *func,
                           uint32_t pc)
{
    const struct ptx_instr *i = &func->instrs[pc];
    const struct readonly_func *f = readonly_of(r, func);
    const bool is_load =
        i->op == PTX_OP_LD || i->op == PTX_OP_LDU || i->op == PTX_OP_CP_ASYNC || i->op == PTX_OP_WMMA_LOAD;
    const uint64_t *held = map_find(&k->translations, (uint64_t)(uintptr_t)func);
    if (!is_load || k->lost || f->anything || !held || i->n_operands < 2 || i->sem >= PTX_SEM_RELAXED)
        return 0;
    if (i->op != PTX_OP_CP_ASYNC && !reaches_global(i->space)) return 0;
    struct pass p = {.r = r, .f = (struct readonly_func *)(uintptr_t)f};
    const uint64_t set =
        to_kernel((const uint64_t *)(uintptr_t)*held, operand_set(&p, ptx_operand_at(func, i, 1)));
    if (set & (UNKNOWN | LOCAL | SHARED) || !(set & ORIGINS)) return 0;
    const struct readonly_group g = {.set = set & ORIGINS, .nc = (i->flags & PTX_F_NC) != 0};
    bool fresh;
    uint64_t *at = map_put(&k->group_of, g.set << 1 | g.nc, &fresh);
    if (!fresh) return (uint32_t)*at;
    if (k->n_groups == UINT16_MAX) return 0;
    if (k->n_groups == k->group_capacity) {
        k->group_capacity *= 2;
        struct readonly_group *more = ARENA_ARRAY(r->arena, struct readonly_group, k->group_capacity);
        memcpy(more, k->groups, k->n_groups * sizeof *more);
        k->groups = more;
    }
    k->groups[k->n_groups] = g;
    *at = k->n_groups;
    return k->n_groups++;
}

/* ---- a launch ---- */

bool readonly_group_is(const struct readonly_group *g, const struct readonly_verdict *v)
{
    const uint64_t pointers = g->set & ~v->numbers;
    return pointers && !(pointers & ~(g->nc ? v->nc : v->read_only));
}

/* Never written as far as is known. A store to an unknown target may hit what is loaded plainly; by
 * ld.global.nc the program promises that it does not, for the bytes of that very load only. */
static uint64_t candidates(const struct readonly_func *f, bool unknown_writes, bool nc)
{
    uint64_t read_only = 0;
    if (f->anything) return 0;
    for (uint32_t k = 0; k < f->n_origins; k++) {
        const struct readonly_origin *o = &f->origins[k];
        if (o->read.func && !o->written.func && (!unknown_writes || nc || !o->plain.func))
            read_only |= (uint64_t)1 << k;
    }
    return read_only;
}

uint64_t readonly_decide_alone(const struct readonly_func *f)
{
    return candidates(f, f->unknown_store.func != NULL, false);
}

/* Where a write goes, no other origin is read-only. */
static uint64_t without_overlap(const struct readonly_func *f, uint64_t set,
                                struct readonly_extent at[READONLY_ORIGINS_MAX][2], const uint32_t *count)
{
    for (uint32_t k = 0; k < f->n_origins; k++)
        for (uint32_t w = 0; w < f->n_origins && set >> k & 1; w++) {
            if (!f->origins[w].written.func) continue;
            for (uint32_t a = 0; a < count[k]; a++)
                for (uint32_t b = 0; b < count[w]; b++)
                    if (at[k][a].first < at[w][b].end && at[w][b].first < at[k][a].end)
                        set &= ~((uint64_t)1 << k);
        }
    return set;
}

struct readonly_verdict readonly_decide(const struct readonly_func *f, const struct readonly_launch *launch)
{
    struct readonly_extent at[READONLY_ORIGINS_MAX][2];
    uint32_t count[READONLY_ORIGINS_MAX] = {0};
    struct readonly_verdict v = {0};
    uint64_t lost = 0;
    bool unknown_writes = f->unknown_store.func != NULL;
    if (f->anything) return v;
    for (uint32_t k = 0; k < f->n_origins; k++) {
        const enum readonly_where where = launch->find(launch->user, &f->origins[k], at[k], &count[k]);
        if (where == READONLY_NOWHERE) v.numbers |= (uint64_t)1 << k;
        if (where != READONLY_UNKNOWN_WHERE) continue;
        lost |= (uint64_t)1 << k;
        unknown_writes |= f->origins[k].written.func != NULL;
    }
    v.nc = without_overlap(f, candidates(f, unknown_writes, true) & ~lost, at, count);
    v.read_only = v.nc & candidates(f, unknown_writes, false);
    return v;
}
