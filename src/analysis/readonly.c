/* readonly: the pass over one function. See readonly.h. */
#include <string.h>

#include "analysis/readonly_private.h"

enum { PASSES_MAX = 40 };
enum { STATE_NEW, STATE_RUNNING, STATE_DONE };

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

uint64_t readonly_operand_set(struct pass *p, const struct ptx_operand *o)
{
    const struct ptx_func *f = p->f->func;
    uint64_t set = 0;
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPND_REG:
    case PTX_OPND_ADDR_REG: return p->f->regs[o->id];
    case PTX_OPND_SYM:
    case PTX_OPND_ADDR_SYM: return symbol_set(p, o->id);
    case PTX_OPND_VEC:
        for (uint32_t k = 0; k < o->count; k++) set |= readonly_operand_set(p, &f->operands[o->id + k]);
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
    const uint64_t set = readonly_operand_set(p, o);
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
    const uint64_t value = readonly_operand_set(p, from);
    const uint32_t bytes = bytes_of(i), count = i->vec ? i->vec : 1;
    const bool own = frame_address_of(p->f->frame, to, &at);
    const uint64_t set = own ? LOCAL : readonly_operand_set(p, to);
    if (own || set & LOCAL || i->space == PTX_SPACE_LOCAL || i->space == PTX_SPACE_PARAM)
        grow(p, &p->f->stored, value);
    if (own) {
        for (uint32_t e = 0; e < count; e++) {
            const int64_t first = at.offset + (int64_t)(e * bytes);
            const struct ptx_operand *one = from->kind == PTX_OPND_VEC ? &f->operands[from->id + e] : from;
            for (int64_t g = first >> 3; bytes && g <= (first + bytes - 1) >> 3; g++)
                grow_cell(p, at.symbol, g,
                          in_cell(readonly_operand_set(p, one),
                                  first % 8 ? 4 : bytes)); /* at an odd place: parts */
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
            write_through(p, readonly_operand_set(p, ptx_operand_at(f, i, 1)), i, pc);
        break;
    case PTX_OP_RED:
        if (i->n_operands && reaches_global(i->space))
            write_through(p, readonly_operand_set(p, ptx_operand_at(f, i, 0)), i, pc);
        break;
    case PTX_OP_CP_ASYNC:
        if (i->n_operands > 1)
            access_origins(p, readonly_operand_set(p, ptx_operand_at(f, i, 1)), i, pc, false);
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
    return readonly_operand_set(p, o);
}

uint64_t readonly_translate(struct pass *p, const struct ptx_instr *i, const struct readonly_func *callee,
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
        const uint64_t set = readonly_translate(p, i, callee, (uint64_t)1 << k);
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
                callee ? readonly_translate(p, i, callee,
                                            cell(callee, callee->func->first_param + n, (int64_t)g) |
                                                callee->smeared)
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
            uint64_t set = symbol ? 0 : readonly_operand_set(p, o);
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
        write_regs(p, i, i->op == PTX_OP_ALLOCA ? LOCAL : i->n_operands ? readonly_arithmetic(p, i) : 0);
        break;
    case PTX_CLASS_VIDEO: write_regs(p, i, readonly_arithmetic(p, i)); break;
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
            write_through(p, readonly_operand_set(p, ptx_operand_at(f, i, 0)), i, pc);
        if (i->op == PTX_OP_WMMA_LOAD && i->n_operands > 1 && reaches_global(i->space))
            access_origins(p, readonly_operand_set(p, ptx_operand_at(f, i, 1)), i, pc, false);
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
