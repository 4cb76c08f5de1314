/* lower: see lower.h. Registers become byte offsets, immediates constants of 32 lanes, PTX instructions one
 * insn each plus, rarely, helpers. */
#include "exec/lower.h"

#include <stdlib.h>
#include <sys/mman.h>

/* ---- constants ---- */

static uint32_t constant_new(struct exec_env *env, uint32_t bytes)
{
    const uint64_t at = env->constants_bytes;
    if (at + bytes > env->constants_reserved)
        diag_mistake("too many different constants in the kernels of one application");
    env->constants_bytes += bytes;
    return (uint32_t)at;
}

uint32_t exec_constant32(struct exec_env *env, uint32_t value)
{
    bool fresh;
    uint64_t *ref = map_put(&env->constant32, value, &fresh);
    if (fresh) {
        const uint32_t at = constant_new(env, 128);
        for (uint32_t k = 0; k < LANES; k++) ((uint32_t *)(env->constants + at))[k] = value;
        *ref = at + 1;
    }
    return (uint32_t)*ref;
}

uint32_t exec_constant64(struct exec_env *env, uint64_t value)
{
    bool fresh;
    uint64_t *ref = map_put(&env->constant64, value, &fresh);
    if (fresh) {
        const uint32_t at = constant_new(env, 256);
        for (uint32_t k = 0; k < LANES; k++) ((uint64_t *)(env->constants + at))[k] = value;
        *ref = at + 1;
    }
    return (uint32_t)*ref;
}

uint32_t lower_constant(struct lower *l, uint64_t value, uint32_t bits)
{
    if (bits == 1) return value & 1 ? CONST_TRUE : CONST_FALSE;
    return bits == 64 ? exec_constant64(l->env, value) : exec_constant32(l->env, (uint32_t)value);
}

/* ---- emission ---- */

static struct insn *append(struct lower *l, insn_fn *fn)
{
    if (l->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 256;
        struct insn *grown = realloc(l->code, l->capacity * sizeof *grown);
        if (!grown) diag_mistake("out of host memory");
        l->code = grown;
    }
    struct insn *i = &l->code[l->count++];
    *i = (struct insn){.fn = fn,
                       .guard = CONST_TRUE,
                       .pc = l->pc,
                       .d = CONST_TRUE,
                       .a = CONST_TRUE,
                       .b = CONST_TRUE,
                       .c = CONST_TRUE};
    return i;
}

struct insn *lower_emit_helper(struct lower *l, insn_fn *fn) { return append(l, fn); }

struct insn *lower_emit_guarded_helper(struct lower *l, insn_fn *fn)
{
    struct insn *i = append(l, fn);
    if (l->instr->guard != PTX_NO_REG) {
        i->guard = lower_reg(l, l->instr->guard);
        i->guard_xor = l->instr->guard_not ? LANES_ALL : 0;
    }
    return i;
}

struct insn *lower_emit(struct lower *l, insn_fn *fn)
{
    struct insn *i = lower_emit_guarded_helper(l, fn);
    i->counted = 1;
    return i;
}

void lower_unsupported(struct lower *l, const char *why)
{
    lower_emit(l, h_unsupported)->x.extra = arena_strdup(&l->env->arena, why);
}

/* ---- operands ---- */

uint32_t lower_bits(enum ptx_type type)
{
    if (type == PTX_T_PRED) return 1;
    const uint32_t bits = ptx_type_bits(type);
    return bits <= 32 ? 32 : bits;
}

uint8_t lower_reg_class(const struct lower *l, uint32_t reg) { return l->ptx->regs[reg].reg_class; }

uint32_t lower_reg(const struct lower *l, uint32_t reg)
{
    static const uint32_t bytes[PTX_REG_CLASS_COUNT] = {
        [PTX_REG_PRED] = 4, [PTX_REG_32] = 128, [PTX_REG_64] = 256, [PTX_REG_128] = 512};
    const uint8_t class = lower_reg_class(l, reg);
    if (l->func->values[reg] != REF_NONE) return l->func->values[reg];
    const uint32_t slot = l->func->slots->slot[reg];
    DIAG_ASSERT(slot != PTX_NO_INDEX);
    return l->func->regs_offset[class] + slot * bytes[class];
}

uint32_t lower_temp(struct lower *l)
{
    DIAG_ASSERT(l->temps < FUNC_TEMPS);
    if (l->temps == l->most_temps) l->most_temps++;
    return l->func->temp_offset + FUNC_TEMP_BYTES * l->temps++;
}

static uint32_t class_bits(uint8_t class)
{
    static const uint32_t bits[PTX_REG_CLASS_COUNT] = {
        [PTX_REG_PRED] = 1, [PTX_REG_32] = 32, [PTX_REG_64] = 64, [PTX_REG_128] = 128};
    return bits[class];
}

bool lower_is_formal(const struct ptx_func *f, uint32_t symbol)
{
    return symbol >= f->first_param && symbol < f->first_param + f->n_rets + f->n_params;
}

static uint64_t shared_offset(const struct lower *l, const struct ptx_symbol *s)
{
    const struct ptx_symbol *def = s->def ? s->def : s;
    const struct ptx_shared_layout *layout = l->kernel->shared;
    for (uint32_t k = 0; k < layout->n_vars; k++)
        if (layout->vars[k].symbol == def || layout->vars[k].symbol == s) return layout->vars[k].offset;
    return layout->dynamic_offset; /* extern: all of them start there */
}

/* The value of a symbol's address; *frame: it is relative to the local frame. */
static uint64_t symbol_value(struct lower *l, uint32_t id, bool *frame)
{
    const struct ptx_symbol *s = &l->ptx->module->symbols[id];
    *frame = false;
    if (s->kind == PTX_SYM_FUNC) {
        struct ptx_func *f = ptx_callee(l->ptx, id);
        return exec_code_handle(l->env, f ? f : s->func);
    }
    switch (s->space) {
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CLUSTER: return shared_offset(l, s);
    case PTX_SPACE_LOCAL: *frame = true; return s->offset;
    case PTX_SPACE_PARAM:
        if (l->ptx->is_entry && lower_is_formal(l->ptx, id)) return s->offset;
        *frame = true;
        return l->func->arg_offset + s->offset;
    default: return exec_symbol_address(l->env, s, false);
    }
}

static uint32_t narrow(struct lower *l, uint32_t from)
{
    const uint32_t temp = lower_temp(l);
    struct insn *i = lower_emit_helper(l, h_narrow);
    i->d = temp;
    i->a = from;
    return temp;
}

static uint32_t widen(struct lower *l, uint32_t from, bool sign)
{
    const uint32_t temp = lower_temp(l);
    struct insn *i = lower_emit_helper(l, sign ? h_widen_sign : h_widen_zero);
    i->d = temp;
    i->a = from;
    return temp;
}

static uint32_t sreg_source(struct lower *l, const struct ptx_operand *o, uint32_t bits)
{
    if (o->id == PTX_SREG_LANEID && bits == 32) return CONST_LANEID;
    const uint32_t temp = lower_temp(l);
    struct sreg_site *site = ARENA_NEW(&l->env->arena, struct sreg_site);
    *site = (struct sreg_site){.sreg = (uint16_t)o->id, .which = (uint16_t)o->value, .wide = bits == 64};
    struct insn *i = lower_emit_helper(l, h_sreg);
    i->d = temp;
    i->x.extra = site;
    return temp;
}

uint32_t lower_source(struct lower *l, const struct ptx_operand *o, uint32_t bits)
{
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPND_REG: {
        const uint32_t ref = lower_reg(l, o->id), have = class_bits(lower_reg_class(l, o->id));
        if (have == 64 && bits == 32) return narrow(l, ref);
        if (have == 32 && bits == 64) return widen(l, ref, ptx_type_kind(l->ptx->regs[o->id].type) == 'S');
        return ref;
    }
    case PTX_OPND_IMM:
    case PTX_OPND_ADDR_IMM: return lower_constant(l, (uint64_t)o->value, bits);
    case PTX_OPND_SREG: return sreg_source(l, o, bits);
    case PTX_OPND_SYM:
    case PTX_OPND_ADDR_SYM: {
        bool frame;
        const uint64_t value = symbol_value(l, o->id, &frame) + (uint64_t)o->value;
        if (!frame) return lower_constant(l, value, bits);
        const uint32_t temp = lower_temp(l);
        struct insn *i = lower_emit_helper(l, h_local_address);
        i->d = temp;
        i->a = (uint32_t)value;
        i->b = bits == 64;
        return temp;
    }
    default: return REF_NONE;
    }
}

void lower_address(struct lower *l, struct access *s, const struct ptx_operand *o)
{
    s->offset = o->value;
    if (o->kind == PTX_OPND_ADDR_REG || o->kind == PTX_OPND_REG) {
        s->address = lower_reg(l, o->id);
        s->address64 = lower_reg_class(l, o->id) == PTX_REG_64;
        if (o->kind == PTX_OPND_REG) s->offset = 0;
        /* Parameters of a .func live in its stack frame; registers hold places in local memory. */
        if (s->space == PTX_SPACE_PARAM && !l->ptx->is_entry) s->space = PTX_SPACE_LOCAL;
        return;
    }
    s->is_constant = true;
    if (o->kind != PTX_OPND_ADDR_SYM && o->kind != PTX_OPND_SYM) return;
    const struct ptx_symbol *symbol = &l->ptx->module->symbols[o->id];
    s->offset += (int64_t)symbol_value(l, o->id, &s->frame_relative);
    if (s->frame_relative)
        s->space = PTX_SPACE_LOCAL;
    else if (s->space == PTX_SPACE_GENERIC)
        s->space = symbol->space;
}

struct access *lower_access(struct lower *l, const struct ptx_operand *o, uint32_t space,
                            uint32_t element_bits, uint32_t count)
{
    if (l->access_count == l->access_capacity) {
        l->access_capacity = l->access_capacity ? 2 * l->access_capacity : 64;
        struct access **grown = realloc(l->accesses, l->access_capacity * sizeof *grown);
        if (!grown) diag_mistake("out of host memory");
        l->accesses = grown;
    }
    struct access *s = ARENA_NEW(&l->env->arena, struct access);
    l->accesses[l->access_count++] = s;
    s->space = (uint8_t)space;
    s->count = (uint8_t)count;
    while ((8u << s->log2_bytes) < element_bits) s->log2_bytes++;
    for (uint32_t e = 0; e < 8; e++) s->reg[e] = REF_NONE;
    s->slope = REF_NONE;
    s->strong = l->instr->sem >= PTX_SEM_RELAXED;
    s->uniform = l->func->uniform->instr[l->pc];
    if (o) lower_address(l, s, o);
    return s;
}

/* ---- the function ---- */

static void lay_out_frame(struct exec_func *f)
{
    uint32_t at = f->ptx->is_entry ? 0 : (uint32_t)sizeof(struct frame_header);
    const uint32_t *n = f->slots->n_slots;
    f->regs_offset[PTX_REG_PRED] = at;
    at = (at + 4 * n[PTX_REG_PRED] + 7) & ~7u;
    f->slopes_offset = at;
    at = (at + f->slope_count * (uint32_t)sizeof(struct slope) + 63) & ~63u;
    f->regs_offset[PTX_REG_32] = at;
    at += 128 * n[PTX_REG_32];
    f->regs_offset[PTX_REG_64] = at;
    at += 256 * n[PTX_REG_64];
    f->regs_offset[PTX_REG_128] = at;
    at += 512 * n[PTX_REG_128];
    f->temp_offset = at;
    f->frame_bytes = at + FUNC_TEMPS * FUNC_TEMP_BYTES;
    f->arg_offset = (f->ptx->local_bytes + 15) & ~(uint64_t)15;
    f->local_bytes = (f->arg_offset + f->ptx->arg_bytes + 15) & ~(uint64_t)15;
}

static void lower_instr(struct lower *l)
{
    l->temps = 0;
    if (l->instr->flags & PTX_F_UNKNOWN) {
        lower_unsupported(l, "unknown opcode or modifier");
        return;
    }
    if (lower_control(l) || lower_memory(l) || lower_texture(l) || lower_arithmetic(l)) return;
    lower_unsupported(l, "not supported");
}

static void finish(struct lower *l)
{
    struct exec_func *f = l->func;
    f->code_count = l->count;
    f->code = arena_alloc_aligned(&l->env->arena, l->count * sizeof *f->code, 64);
    memcpy(f->code, l->code, l->count * sizeof *f->code);
    for (uint32_t k = 0; k < l->count; k++) lower_patch(l, &f->code[k]);
    f->access_count = l->access_count;
    f->accesses = ARENA_ARRAY(&l->env->arena, struct access *, l->access_count);
    if (l->access_count) memcpy(f->accesses, l->accesses, l->access_count * sizeof *f->accesses);
}

static void free_lower(void *arg)
{
    struct lower *l = arg;
    free(l->code);
    free(l->accesses);
}

struct exec_func *exec_lower(struct exec_env *env, struct exec_kernel *kernel, const struct ptx_func *ptx)
{
    bool fresh;
    uint64_t *known = map_put(&kernel->funcs, (uint64_t)ptx, &fresh);
    if (!fresh) return (struct exec_func *)*known;
    struct exec_func *f = ARENA_NEW(&env->arena, struct exec_func);
    *known = (uint64_t)f;
    f->env = env;
    f->ptx = ptx;
    f->cfg = ptx_cfg_build(&env->arena, ptx);
    if (ptx->is_entry) exec_relax_joins(&env->arena, f->cfg);
    const struct ptx_defuse *du = ptx_defuse_build(&env->arena, ptx);
    f->slots = ptx_slots_build(&env->arena, f->cfg, du);
    f->uniform = ptx_uniform_build(&env->arena, f->cfg, du, ptx->is_entry);
    exec_find_values(f, du);
    exec_find_slopes(f, du);
    lay_out_frame(f);
    struct lower l = {.env = env, .kernel = kernel, .func = f, .ptx = ptx};
    l.join_here = ARENA_ARRAY(&env->arena, bool, ptx->n_instrs + 1);
    f->index_of_pc = ARENA_ARRAY(&env->arena, uint32_t, ptx->n_instrs + 1);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, free_lower, &l);
    lower_mark_joins(&l);
    for (l.pc = 0; l.pc < ptx->n_instrs; l.pc++) {
        l.instr = &ptx->instrs[l.pc];
        f->index_of_pc[l.pc] = l.count;
        if (l.join_here[l.pc]) lower_emit_helper(&l, h_join);
        const uint32_t first = l.count;
        lower_instr(&l);
        if (l.count == first + 1) {
            exec_execute_once(&l.code[first]);
            lower_to_slope(&l, &l.code[first]);
        }
    }
    /* The end: of a .func the place where all returning lanes meet; of a kernel the end of the threads. */
    l.pc = ptx->n_instrs;
    f->index_of_pc[l.pc] = l.count;
    if (!ptx->is_entry) lower_emit_helper(&l, h_join);
    lower_emit_helper(&l, ptx->is_entry ? h_end : h_return);
    finish(&l);
    if (ptx->is_entry) f->frame_bytes = f->temp_offset + l.most_temps * FUNC_TEMP_BYTES;
    diag_done(&cleanup, true);
    if (env->func_count == env->func_capacity) {
        env->func_capacity = env->func_capacity ? 2 * env->func_capacity : 16;
        struct exec_func **grown = realloc(env->func_list, env->func_capacity * sizeof *grown);
        if (!grown) diag_mistake("out of host memory");
        env->func_list = grown;
    }
    env->func_list[env->func_count++] = f;
    return f;
}
