/* lower_arithmetic: instructions whose meaning is a function of src/exec/lanes, and address conversions. */
#include "exec/lower.h"

enum { SOURCES_MAX = 8 };

/* Sources and destinations of an instruction, vectors taken apart. */
struct flat {
    const struct ptx_operand *src[SOURCES_MAX], *dst[SOURCES_MAX];
    uint32_t n_src, n_dst;
};

static void flatten(const struct lower *l, struct flat *f)
{
    f->n_src = f->n_dst = 0;
    for (uint32_t n = 0; n < l->instr->n_operands; n++) {
        const struct ptx_operand *o = lower_operand(l, n);
        const bool vector = o->kind == PTX_OPND_VEC;
        for (uint32_t e = 0; e < (vector ? o->count : 1u); e++) {
            const struct ptx_operand *part = vector ? &l->ptx->operands[o->id + e] : o;
            if (n < l->instr->n_dsts) {
                if (f->n_dst < SOURCES_MAX) f->dst[f->n_dst++] = part;
            } else if (f->n_src < SOURCES_MAX) {
                f->src[f->n_src++] = part;
            }
        }
    }
}

static uint32_t bits_of(uint8_t bytes) { return bytes == 1 ? 1 : bytes * 8u; }

/* A destination array; a narrower register behind a sink or of another width goes through a temporary. */
static uint32_t destination(struct lower *l, const struct ptx_operand *o, uint8_t bytes, bool *widen)
{
    *widen = false;
    if (!o || o->kind != PTX_OPND_REG) return lower_temp(l);
    const uint8_t class = lower_reg_class(l, o->id);
    if (class == PTX_REG_64 && bytes == 4) {
        *widen = true;
        return lower_temp(l);
    }
    return lower_reg(l, o->id);
}

/* Results of some instructions may go to a wider register: extended by the type of the instruction. */
static void emit_widening(struct lower *l, const struct ptx_operand *o, uint32_t from)
{
    struct insn *i =
        lower_emit_guarded_helper(l, ptx_type_kind(l->instr->type) == 'S' ? h_widen_sign : h_widen_zero);
    i->d = lower_reg(l, o->id);
    i->a = from;
}

static void emit_collective(struct lower *l, const struct lanes_op *op, const struct flat *f,
                            const uint32_t ref[4], uint32_t d, uint32_t d2, uint32_t invert)
{
    struct collective_site *site = ARENA_NEW(&l->env->arena, struct collective_site);
    *site = (struct collective_site){.ctx = op->ctx,
                                     .has_members = op->needs & LANES_NEEDS_E,
                                     .members = ref[3],
                                     .has_d2 = d2 != REF_NONE,
                                     .d2 = d2,
                                     .invert_a = invert & 1};
    (void)f;
    struct insn *i = lower_emit(l, h_collective);
    i->lanes = op->warp;
    i->d = d;
    i->a = ref[0];
    i->b = ref[1];
    i->c = ref[2];
    i->x.extra = site;
}

static bool cheap(const struct ptx_instr *i) { return ptx_op_class(i->op) != PTX_CLASS_SFU; }

static void emit_plain(struct lower *l, const struct lanes_op *op, const uint32_t ref[4],
                       const uint32_t dst[4], uint32_t invert)
{
    const bool plain = !(op->needs & LANES_DYNAMIC) && !invert;
    struct lanes_site *site = ARENA_NEW(&l->env->arena, struct lanes_site);
    *site = (struct lanes_site){.ctx = op->ctx,
                                .e = ref[3],
                                .d2 = dst[1],
                                .d3 = dst[2],
                                .d4 = dst[3],
                                .invert = (uint8_t)invert,
                                .needs = op->needs,
                                .lane = op->lane,
                                .d_bytes = op->d_bytes};
    const bool uniform =
        plain && op->lane && !cheap(l->instr) && l->func->uniform->instr[l->pc] && op->d_bytes > 1;
    struct insn *i = lower_emit(l, !plain ? h_lanes_site : uniform ? h_lanes_uniform : h_lanes);
    i->lanes = op->warp;
    i->d = dst[0];
    i->a = ref[0];
    i->b = ref[1];
    i->c = ref[2];
    if (plain && !uniform)
        i->x.ctx = &site->ctx;
    else
        i->x.extra = site;
}

static bool lower_lanes(struct lower *l)
{
    struct lanes_op op;
    struct flat f;
    if (!lanes_find(l->ptx, l->instr, l->env->options.isa, &op)) return false;
    flatten(l, &f);
    const uint8_t bytes[4] = {op.a_bytes, op.b_bytes, op.c_bytes,
                              op.needs & LANES_NEEDS_E ? (op.e_bytes ? op.e_bytes : 4) : 0};
    uint32_t ref[4] = {CONST_TRUE, CONST_TRUE, CONST_TRUE, CONST_TRUE}, invert = 0, next = 0;
    for (uint32_t k = 0; k < 4; k++) {
        if (!bytes[k] || next >= f.n_src) continue;
        const struct ptx_operand *o = f.src[next++];
        ref[k] = lower_source(l, o, bits_of(bytes[k]));
        if (ref[k] == REF_NONE) return false;
        if (bytes[k] == 1 && lower_negated(o)) invert |= 1u << k;
    }
    uint32_t dst[4] = {REF_NONE, REF_NONE, REF_NONE, REF_NONE};
    bool widen[4] = {false, false, false, false};
    for (uint32_t k = 0; k < 4; k++)
        if (k == 0 || k < f.n_dst)
            dst[k] = destination(l, k < f.n_dst ? f.dst[k] : NULL, k ? op.d2_bytes : op.d_bytes, &widen[k]);
    if (op.needs & LANES_COLLECTIVE)
        emit_collective(l, &op, &f, ref, dst[0], dst[1], invert);
    else
        emit_plain(l, &op, ref, dst, invert);
    for (uint32_t k = 0; k < 4; k++)
        if (widen[k]) emit_widening(l, f.dst[k], dst[k]);
    return true;
}

/* ---- addresses ---- */

static uint64_t window_of(const struct lower *l, uint32_t space)
{
    switch (space) {
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CLUSTER: return devmem_shared_window(l->env->memory);
    case PTX_SPACE_LOCAL: return devmem_local_window(l->env->memory);
    case PTX_SPACE_PARAM:
        return l->ptx->is_entry ? devmem_param_window(l->env->memory) : devmem_local_window(l->env->memory);
    default: return 0;
    }
}

static bool lower_cvta(struct lower *l)
{
    const uint32_t bits = lower_bits(l->instr->type);
    const uint32_t from = lower_source(l, lower_operand(l, 1), 64);
    if (bits != 64 || from == REF_NONE) return false;
    const uint64_t window = window_of(l, l->instr->space);
    struct insn *i = lower_emit(l, h_spacebase);
    i->d = lower_reg(l, lower_operand(l, 0)->id);
    i->a = from;
    i->x.extra = (void *)(l->instr->flags & PTX_F_TO ? -window : window);
    return true;
}

/* mov of a special register straight to its destination. */
static bool lower_mov_sreg(struct lower *l)
{
    const struct ptx_operand *d = lower_operand(l, 0), *a = lower_operand(l, 1);
    if (d->kind != PTX_OPND_REG || a->kind != PTX_OPND_SREG || a->id == PTX_SREG_LANEID) return false;
    struct sreg_site *site = ARENA_NEW(&l->env->arena, struct sreg_site);
    *site = (struct sreg_site){.sreg = (uint16_t)a->id,
                               .which = (uint16_t)a->value,
                               .wide = lower_reg_class(l, d->id) == PTX_REG_64};
    struct insn *i = lower_emit(l, h_sreg);
    i->d = lower_reg(l, d->id);
    i->x.extra = site;
    return true;
}

bool lower_arithmetic(struct lower *l)
{
    switch ((enum ptx_op)l->instr->op) {
    case PTX_OP_MOV:
        if (lower_mov_sreg(l)) return true;
        break;
    case PTX_OP_CVTA: return lower_cvta(l);
    case PTX_OP_ISSPACEP: {
        const uint32_t a = lower_source(l, lower_operand(l, 1), 64);
        struct insn *i = lower_emit(l, h_isspacep);
        i->d = lower_reg(l, lower_operand(l, 0)->id);
        i->a = a;
        i->b = l->instr->space;
        return true;
    }
    case PTX_OP_MAPA: /* one block per cluster: the block's own shared memory */
    case PTX_OP_GETCTARANK: return false;
    case PTX_OP_CREATEPOLICY: { /* a hint for the caches: any value does */
        struct insn *i = lower_emit(l, h_spacebase);
        i->d = lower_reg(l, lower_operand(l, 0)->id);
        i->a = exec_constant64(l->env, 0);
        return true;
    }
    default: break;
    }
    return lower_lanes(l);
}
