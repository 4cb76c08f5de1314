/* frame: see frame.h. */
#include "analysis/frame.h"

#include <stdlib.h>
#include <string.h>

void frame_cache_init(struct frame_cache *c, struct arena *arena)
{
    c->arena = arena;
    map_init(&c->frames);
}

void frame_cache_free(struct frame_cache *c)
{
    size_t cursor = 0;
    for (const struct map_entry *e; (e = map_next(&c->frames, &cursor));)
        map_free(&((struct frame *)(uintptr_t)e->value)->slot_of);
    map_free(&c->frames);
}

bool frame_in_loop(const struct ptx_cfg *cfg, uint32_t block, uint32_t loop)
{
    for (uint32_t l = cfg->blocks[block].loop; l != PTX_NO_INDEX; l = cfg->loops[l].parent)
        if (l == loop) return true;
    return false;
}

bool frame_is_harmless(const char *function)
{
    return !strcmp(function, "vprintf") || !strcmp(function, "malloc") || !strcmp(function, "free") ||
           !strcmp(function, "__assertfail");
}

bool frame_owns(const struct frame *f, uint32_t symbol)
{
    const struct ptx_symbol *s = &f->func->module->symbols[symbol];
    if (s->kind != PTX_SYM_VAR) return false;
    if (s->space == PTX_SPACE_LOCAL) return true;
    if (s->space != PTX_SPACE_PARAM) return false;
    const uint32_t first = f->func->first_param, formals = f->func->n_rets + f->func->n_params;
    return !(f->func->is_entry && symbol >= first && symbol < first + formals);
}

static bool is_kernel_param(const struct ptx_func *f, uint32_t symbol)
{
    const uint32_t first = f->first_param + f->n_rets;
    return f->is_entry && symbol >= first && symbol < first + f->n_params;
}

/* A symbol and a constant, direct or in a register. */
static bool constant_address(const struct frame *f, const struct ptx_operand *o, struct frame_address *at)
{
    if (o->kind == PTX_OPND_ADDR_SYM || o->kind == PTX_OPND_SYM)
        *at = (struct frame_address){o->id, o->value};
    else if (o->kind == PTX_OPND_ADDR_REG && f->at[o->id].symbol != PTX_NO_INDEX)
        *at = (struct frame_address){f->at[o->id].symbol, f->at[o->id].offset + o->value};
    else
        return false;
    return true;
}

bool frame_address_of(const struct frame *f, const struct ptx_operand *o, struct frame_address *at)
{
    return constant_address(f, o, at) && frame_owns(f, at->symbol);
}

bool frame_param_of(const struct frame *f, const struct ptx_operand *o, struct frame_address *at)
{
    return constant_address(f, o, at) && is_kernel_param(f->func, at->symbol);
}

static uint64_t slot_key(uint32_t symbol, int64_t offset)
{
    return (uint64_t)symbol << 32 | (uint32_t)offset;
}

uint32_t frame_slot_at(const struct frame *f, uint32_t symbol, int64_t offset)
{
    const uint64_t *found = map_find(&f->slot_of, slot_key(symbol, offset));
    return found ? (uint32_t)*found - 1 : PTX_NO_INDEX;
}

/* ---- constant addresses in registers ---- */

static struct frame_address source_address(const struct frame *f, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPND_SYM && f->func->module->symbols[o->id].kind == PTX_SYM_VAR)
        return (struct frame_address){o->id, o->value};
    if (o->kind == PTX_OPND_REG && !o->flags) return f->at[o->id];
    return (struct frame_address){.symbol = PTX_NO_INDEX};
}

/* What a definition makes of constant addresses. */
static struct frame_address defined_address(const struct frame *f, const struct ptx_instr *i)
{
    const struct frame_address none = {.symbol = PTX_NO_INDEX};
    if (i->guard != PTX_NO_REG || i->n_operands < 2) return none;
    struct frame_address a = source_address(f, ptx_operand_at(f->func, i, 1));
    if (a.symbol == PTX_NO_INDEX || (!frame_owns(f, a.symbol) && !is_kernel_param(f->func, a.symbol)))
        return none;
    switch ((enum ptx_op)i->op) {
    case PTX_OP_MOV:
    case PTX_OP_CVTA: return a;
    case PTX_OP_ADD:
    case PTX_OP_OR: { /* fields of a structure: bits that are zero in the address */
        const struct ptx_operand *b = ptx_operand_at(f->func, i, 2);
        const int64_t align = f->func->module->symbols[a.symbol].align;
        if (b->kind != PTX_OPND_IMM) return none;
        if (i->op == PTX_OP_OR && (b->value < 0 || b->value >= align || a.offset & b->value)) return none;
        a.offset += b->value;
        return a;
    }
    default: return none;
    }
}

static bool has_one_def(const struct ptx_defuse *du, uint32_t reg)
{
    return du->def_start[reg + 1] - du->def_start[reg] == 1;
}

static void find_addresses(struct frame *f)
{
    for (uint32_t r = 0; r < f->func->n_regs; r++) f->at[r].symbol = PTX_NO_INDEX;
    for (uint32_t pc = 0; pc < f->func->n_instrs; pc++) {
        const struct ptx_instr *i = &f->func->instrs[pc];
        if (!i->n_dsts) continue;
        const struct ptx_operand *d = ptx_operand_at(f->func, i, 0);
        if (d->kind == PTX_OPND_REG && has_one_def(f->du, d->id)) f->at[d->id] = defined_address(f, i);
    }
}

/* ---- slots ---- */

struct collecting {
    struct frame *f;
    struct arena *arena;
    uint32_t capacity;
};

/* A load of fewer bytes than were stored gets the low part of the value. */
static void note_size(struct frame_slot *s, uint32_t bytes, bool store)
{
    if (store && s->stored_bytes && s->stored_bytes != bytes) s->mixed = true;
    if (store) s->stored_bytes = bytes;
    if (bytes > s->bytes) s->bytes = bytes;
}

static uint32_t slot_for(struct collecting *c, uint32_t symbol, int64_t offset, uint32_t bytes, bool store)
{
    struct frame *f = c->f;
    uint32_t at = frame_slot_at(f, symbol, offset);
    if (at != PTX_NO_INDEX) {
        note_size(&f->slots[at], bytes, store);
        return at;
    }
    if (f->n_slots == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 16;
        struct frame_slot *more = ARENA_ARRAY(c->arena, struct frame_slot, c->capacity);
        if (f->n_slots) memcpy(more, f->slots, f->n_slots * sizeof *more);
        f->slots = more;
    }
    at = f->n_slots++;
    f->slots[at] = (struct frame_slot){.symbol = symbol, .offset = offset};
    note_size(&f->slots[at], bytes, store);
    *map_put(&f->slot_of, slot_key(symbol, offset), NULL) = at + 1;
    return at;
}

static void add_def(struct collecting *c, uint32_t slot, uint32_t block)
{
    struct frame_def *d = ARENA_NEW(c->arena, struct frame_def);
    *d = (struct frame_def){block, c->f->slots[slot].defs};
    c->f->slots[slot].defs = d;
}

/* An access to own memory by a constant address: one slot for each element. */
static void collect_access(struct collecting *c, uint32_t pc, const struct ptx_operand *address, bool store)
{
    const struct ptx_instr *i = &c->f->func->instrs[pc];
    struct frame_address at;
    const uint32_t bytes = ptx_type_bits(i->type) / 8, count = i->vec ? i->vec : 1;
    if (!bytes || !frame_address_of(c->f, address, &at)) return;
    for (uint32_t e = 0; e < count; e++) {
        const uint32_t slot = slot_for(c, at.symbol, at.offset + (int64_t)(e * bytes), bytes, store);
        if (store) add_def(c, slot, c->f->block_of[pc]);
    }
}

static int by_place(const void *a, const void *b)
{
    const struct frame_slot *x = *(struct frame_slot *const *)a, *y = *(struct frame_slot *const *)b;
    if (x->symbol != y->symbol) return x->symbol < y->symbol ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void mix_overlapping(const struct collecting *c)
{
    struct frame *f = c->f;
    for (uint32_t k = 0; k < f->n_slots; k++)
        f->slots[k].mixed |= f->slots[k].stored_bytes && f->slots[k].bytes > f->slots[k].stored_bytes;
    if (f->n_slots < 2) return;
    struct frame_slot **sorted = ARENA_ARRAY(c->arena, struct frame_slot *, f->n_slots);
    for (uint32_t k = 0; k < f->n_slots; k++) sorted[k] = &f->slots[k];
    qsort(sorted, f->n_slots, sizeof *sorted, by_place);
    struct frame_slot *last = sorted[0]; /* reaches farthest */
    for (uint32_t k = 1; k < f->n_slots; k++) {
        struct frame_slot *s = sorted[k];
        if (s->symbol == last->symbol && s->offset < last->offset + last->bytes)
            s->mixed = last->mixed = true;
        if (s->symbol != last->symbol || s->offset + s->bytes > last->offset + last->bytes) last = s;
    }
}

/* A call writes what it returns. */
static void collect_returns(struct collecting *c, uint32_t pc)
{
    enum { OFFSETS_MOST = 128 };
    const struct ptx_func *func = c->f->func;
    const struct ptx_instr *i = &func->instrs[pc];
    const struct ptx_operand *list = ptx_operand_at(func, i, 1);
    if (list->kind != PTX_OPND_LIST) return;
    for (uint32_t n = 0; n < list->count; n++) {
        const struct ptx_operand *o = &func->operands[list->id + n];
        if (o->kind != PTX_OPND_SYM && o->kind != PTX_OPND_ADDR_SYM) continue;
        const int64_t bytes = (int64_t)func->module->symbols[o->id].size_bytes;
        for (int64_t at = 0; at < bytes && at < OFFSETS_MOST; at++) {
            const uint32_t slot = frame_slot_at(c->f, o->id, at);
            if (slot != PTX_NO_INDEX) add_def(c, slot, c->f->block_of[pc]);
        }
        for (uint32_t k = 0; k < c->f->n_slots && bytes > OFFSETS_MOST; k++) /* large: not followed */
            if (c->f->slots[k].symbol == o->id) c->f->slots[k].mixed = true;
    }
}

static void find_slots(struct frame *f, struct arena *arena)
{
    struct collecting c = {.f = f, .arena = arena};
    const struct ptx_func *func = f->func;
    for (uint32_t pc = 0; pc < func->n_instrs; pc++) {
        const struct ptx_instr *i = &func->instrs[pc];
        if (i->op == PTX_OP_LD && i->n_operands > 1)
            collect_access(&c, pc, ptx_operand_at(func, i, 1), false);
        if (i->op == PTX_OP_ST && i->n_operands > 1) collect_access(&c, pc, ptx_operand_at(func, i, 0), true);
    }
    if (!f->n_slots) return;
    mix_overlapping(&c);
    for (uint32_t pc = 0; pc < func->n_instrs; pc++)
        if (func->instrs[pc].op == PTX_OP_CALL) collect_returns(&c, pc);
}

const struct frame *frame_of(struct frame_cache *cache, const struct ptx_func *func)
{
    uint64_t *held = map_put(&cache->frames, (uint64_t)(uintptr_t)func, NULL);
    if (*held) return (const struct frame *)(uintptr_t)*held;
    struct arena *a = cache->arena;
    struct frame *f = ARENA_NEW(a, struct frame);
    map_init(&f->slot_of);
    *held = (uint64_t)(uintptr_t)f;
    f->func = func;
    f->cfg = ptx_cfg_build(a, func);
    f->du = ptx_defuse_build(a, func);
    f->block_of = ARENA_ARRAY(a, uint32_t, func->n_instrs + 1);
    f->retreats = ARENA_ARRAY(a, bool, f->cfg->n_blocks + 1);
    f->at = ARENA_ARRAY(a, struct frame_address, func->n_regs + 1);
    for (uint32_t b = 0; b < f->cfg->n_blocks; b++) {
        const struct ptx_block *block = &f->cfg->blocks[b];
        for (uint32_t pc = block->first; pc < block->end; pc++) f->block_of[pc] = b;
        for (uint32_t k = 0; k < block->n_preds; k++) {
            const struct ptx_block *pred = &f->cfg->blocks[f->cfg->preds[block->first_pred + k]];
            f->retreats[b] |= pred->rpo != PTX_NO_INDEX && pred->rpo >= block->rpo;
        }
    }
    find_addresses(f);
    find_slots(f, a);
    return f;
}
