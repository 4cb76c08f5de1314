/* lower_texture: instructions of textures and surfaces. */
#include "exec/lower.h"

/* A register of 32 bits or a literal; nothing else stands in the vectors of these instructions. */
static uint32_t word_ref(struct lower *l, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPND_IMM) return lower_constant(l, (uint64_t)o->value, 32);
    if (o->kind != PTX_OPND_REG || lower_reg_class(l, o->id) != PTX_REG_32) return REF_NONE;
    return lower_reg(l, o->id);
}

/* Elements first .. first + count - 1 of a vector, or the operand itself. */
static bool word_refs(struct lower *l, const struct ptx_operand *o, uint32_t first, uint32_t count,
                      uint32_t *refs)
{
    const bool vector = o->kind == PTX_OPND_VEC;
    if (first + count > (vector ? o->count : 1u)) return false;
    for (uint32_t k = 0; k < count; k++) {
        refs[k] = word_ref(l, vector ? &l->ptx->operands[o->id + first + k] : o);
        if (refs[k] == REF_NONE) return false;
    }
    return true;
}

static bool geometry_of(uint8_t geom, struct image_geometry *g)
{
    static const struct image_geometry rows[] = {[PTX_GEOM_1D] = {1, false, false},
                                                 [PTX_GEOM_2D] = {2, false, false},
                                                 [PTX_GEOM_3D] = {3, false, false},
                                                 [PTX_GEOM_A1D] = {1, true, false},
                                                 [PTX_GEOM_A2D] = {2, true, false},
                                                 [PTX_GEOM_CUBE] = {3, false, true},
                                                 [PTX_GEOM_ACUBE] = {3, true, true},
                                                 [PTX_GEOM_2DMS] = {0},
                                                 [PTX_GEOM_A2DMS] = {0}};
    *g = rows[geom];
    return g->dims;
}

enum handle_kind { HANDLE_GOOD, HANDLE_BAD, HANDLE_REFERENCE };

/* The object: a 64-bit register. */
static enum handle_kind handle_of(struct lower *l, const struct ptx_operand *o, uint32_t *ref)
{
    if (o->kind == PTX_OPND_ADDR_SYM || o->kind == PTX_OPND_SYM) return HANDLE_REFERENCE;
    if ((o->kind != PTX_OPND_ADDR_REG && o->kind != PTX_OPND_REG) || o->value ||
        lower_reg_class(l, o->id) != PTX_REG_64)
        return HANDLE_BAD;
    *ref = lower_reg(l, o->id);
    return HANDLE_GOOD;
}

/* [object, {coordinates}]; false: unsupported, and already told when *told. */
static bool lower_place(struct lower *l, struct image_site *s, const struct ptx_operand *list, bool *told)
{
    if (list->kind != PTX_OPND_LIST || list->count < 2) return false;
    const struct ptx_operand *parts = &l->ptx->operands[list->id];
    const char *why = NULL;
    if (list->count > 2) why = "sampler objects do not exist in CUDA: use [texture, {coordinates}]";
    const enum handle_kind kind = handle_of(l, parts, &s->handle);
    if (kind == HANDLE_REFERENCE)
        why = "texture and surface references are gone since CUDA 12: use texture and surface objects";
    if (why) {
        lower_unsupported(l, why);
        *told = true;
        return false;
    }
    const struct ptx_operand *c = &parts[list->count - 1];
    const uint32_t layered = s->geometry.layered;
    return kind == HANDLE_GOOD && (!layered || word_refs(l, c, 0, 1, &s->layer)) &&
           word_refs(l, c, layered, s->geometry.dims, s->x);
}

/* Registers of the value; of a surface they may have 8 to 64 bits. */
static bool lower_value(struct lower *l, struct image_site *s, const struct ptx_operand *o, bool wide)
{
    const bool vector = o->kind == PTX_OPND_VEC;
    s->count = vector ? o->count : 1;
    if (s->count > 4 || !s->count) return false;
    for (uint32_t k = 0; k < s->count; k++) {
        const struct ptx_operand *part = vector ? &l->ptx->operands[o->id + k] : o;
        s->reg[k] = REF_NONE;
        if (part->kind == PTX_OPND_SINK) continue;
        if (part->kind == PTX_OPND_IMM) {
            s->reg64[k] = wide;
            s->reg[k] = lower_constant(l, (uint64_t)part->value, wide ? 64 : 32);
            continue;
        }
        if (part->kind != PTX_OPND_REG) return false;
        const uint8_t class = lower_reg_class(l, part->id);
        if (class == PTX_REG_PRED || class == PTX_REG_128 || (wide && class != PTX_REG_64)) return false;
        if (!s->raw && class != PTX_REG_32) return false;
        s->reg[k] = lower_reg(l, part->id);
        s->reg64[k] = class == PTX_REG_64;
    }
    return true;
}

/* What follows the place: level or gradients, offsets. */
static bool lower_rest(struct lower *l, struct image_site *s, uint32_t n, bool *told)
{
    const uint32_t end = l->instr->n_operands, dims = s->geometry.dims;
    if (s->mip == PTX_MIP_LEVEL && (n >= end || !word_refs(l, lower_operand(l, n++), 0, 1, &s->level)))
        return false;
    if (s->mip == PTX_MIP_GRAD) {
        if (n + 1 >= end || !word_refs(l, lower_operand(l, n), 0, dims, s->dx) ||
            !word_refs(l, lower_operand(l, n + 1), 0, dims, s->dy))
            return false;
        n += 2;
    }
    if (n < end && lower_operand(l, n)->kind == PTX_OPND_VEC && !s->geometry.cube) {
        s->has_offset = true;
        if (!word_refs(l, lower_operand(l, n++), 0, dims, s->offset)) return false;
    }
    if (n == end) return true;
    lower_unsupported(l, "comparison with a depth");
    *told = true;
    return false;
}

static struct image_site *new_site(struct lower *l)
{
    struct image_site *s = ARENA_NEW(&l->env->arena, struct image_site);
    s->op = l->instr->op;
    s->type = l->instr->type;
    s->sub = l->instr->sub;
    s->mip = l->instr->mip;
    s->whole = ptx_type_kind(l->instr->type2) != 'F';
    s->outside = l->instr->flags & PTX_F_ZERO    ? IMAGE_OUTSIDE_ZERO
                 : l->instr->flags & PTX_F_CLAMP ? IMAGE_OUTSIDE_CLAMP
                                                 : IMAGE_OUTSIDE_TRAP;
    s->raw = l->instr->image != PTX_IMAGE_P;
    s->resident = REF_NONE;
    while ((8u << s->log2_bytes) < ptx_type_bits(l->instr->type)) s->log2_bytes++;
    return s;
}

static bool lower_fetch(struct lower *l, bool *told)
{
    struct image_site *s = new_site(l);
    const uint32_t place = l->instr->n_dsts;
    if (!image_supports(l->instr) || !geometry_of(l->instr->geom, &s->geometry)) return false;
    s->raw = false; /* registers of 32 bits */
    s->component = l->instr->image > PTX_IMAGE_R ? (uint8_t)(l->instr->image - PTX_IMAGE_R) : 0;
    if (place < 1 || place >= l->instr->n_operands) return false;
    if (!lower_value(l, s, lower_operand(l, 0), false)) return false;
    if (place > 1) {
        const struct ptx_operand *p = lower_operand(l, 1);
        if (p->kind != PTX_OPND_REG || lower_reg_class(l, p->id) != PTX_REG_PRED) return false;
        s->resident = lower_reg(l, p->id);
    }
    if (!lower_place(l, s, lower_operand(l, place), told) || !lower_rest(l, s, place + 1, told)) return false;
    lower_emit(l, h_texture)->x.extra = s;
    return true;
}

static bool lower_surface(struct lower *l, bool *told)
{
    struct image_site *s = new_site(l);
    const bool load = l->instr->op == PTX_OP_SULD;
    if (!image_supports(l->instr) || !geometry_of(l->instr->geom, &s->geometry)) return false;
    s->whole = true;
    if (l->instr->n_operands != 2) return false;
    if (!lower_value(l, s, lower_operand(l, load ? 0 : 1), s->log2_bytes == 3)) return false;
    const uint32_t vector = l->instr->vec ? l->instr->vec : 1;
    if (s->count != vector) return false;
    for (uint32_t k = 0; k < s->count && !load; k++)
        if (s->reg[k] == REF_NONE) return false;
    if (!lower_place(l, s, lower_operand(l, load ? 1 : 0), told)) return false;
    lower_emit(l, h_surface)->x.extra = s;
    return true;
}

static bool lower_query(struct lower *l, bool *told)
{
    struct image_site *s = new_site(l);
    if (!image_supports(l->instr) || l->instr->n_operands < 2) return false;
    s->raw = false;
    s->component = l->instr->image;
    switch (handle_of(l, lower_operand(l, 1), &s->handle)) {
    case HANDLE_GOOD: break;
    case HANDLE_BAD: return false;
    case HANDLE_REFERENCE:
        lower_unsupported(
            l, "texture and surface references are gone since CUDA 12: use texture and surface objects");
        *told = true;
        return false;
    }
    if (l->instr->op == PTX_OP_ISTYPEP) {
        const struct ptx_operand *p = lower_operand(l, 0);
        if (p->kind != PTX_OPND_REG || lower_reg_class(l, p->id) != PTX_REG_PRED) return false;
        s->resident = lower_reg(l, p->id);
        lower_emit(l, h_istypep)->x.extra = s;
        return true;
    }
    if (!lower_value(l, s, lower_operand(l, 0), false)) return false;
    if (s->mip == PTX_MIP_LEVEL &&
        (l->instr->n_operands < 3 || !word_refs(l, lower_operand(l, 2), 0, 1, &s->level)))
        return false;
    lower_emit(l, h_image_query)->x.extra = s;
    return true;
}

static bool surface_op(const struct ptx_instr *i)
{
    switch (i->sub) {
    case PTX_SUB_ADD:
    case PTX_SUB_MIN:
    case PTX_SUB_MAX:
    case PTX_SUB_AND:
    case PTX_SUB_OR: return ptx_type_bits(i->type) >= 32 && ptx_type_kind(i->type) != 'F';
    default: return false;
    }
}

bool image_supports(const struct ptx_instr *i)
{
    struct image_geometry g;
    const uint32_t bits = ptx_type_bits(i->type);
    switch ((enum ptx_op)i->op) {
    case PTX_OP_TEX:
    case PTX_OP_TLD4: {
        const bool type = i->type == PTX_T_F32 || i->type == PTX_T_S32 || i->type == PTX_T_U32 ||
                          i->type == PTX_T_F16 || i->type == PTX_T_F16X2;
        const bool coordinate = i->type2 == PTX_T_F32 || (i->type2 == PTX_T_S32 && i->op == PTX_OP_TEX);
        return type && coordinate && geometry_of(i->geom, &g) && !(g.cube && i->type2 != PTX_T_F32) &&
               !(i->op == PTX_OP_TLD4 && (g.dims < 2 || i->image < PTX_IMAGE_R || i->image > PTX_IMAGE_A));
    }
    case PTX_OP_SULD:
        return i->image == PTX_IMAGE_B && bits >= 8 && bits <= 64 && geometry_of(i->geom, &g) && !g.cube;
    case PTX_OP_SUST:
        if (!geometry_of(i->geom, &g) || g.cube) return false;
        return i->image == PTX_IMAGE_B ? bits >= 8 && bits <= 64 : i->image == PTX_IMAGE_P && bits == 32;
    case PTX_OP_SURED:
        return (i->image == PTX_IMAGE_B || (i->image == PTX_IMAGE_P && bits == 32)) && surface_op(i) &&
               geometry_of(i->geom, &g) && !g.cube;
    case PTX_OP_TXQ: return i->image >= PTX_IMAGE_WIDTH && i->image < PTX_IMAGE_MEMORY_LAYOUT;
    case PTX_OP_SUQ: return i->image >= PTX_IMAGE_WIDTH;
    case PTX_OP_ISTYPEP: return ptx_type_kind(i->type) == 'X';
    default: return false;
    }
}

bool lower_texture(struct lower *l)
{
    const uint32_t before = l->count;
    bool done = false, told = false;
    switch ((enum ptx_op)l->instr->op) {
    case PTX_OP_TEX:
    case PTX_OP_TLD4: done = lower_fetch(l, &told); break;
    case PTX_OP_SULD:
    case PTX_OP_SUST:
    case PTX_OP_SURED: done = lower_surface(l, &told); break;
    case PTX_OP_TXQ:
    case PTX_OP_SUQ:
    case PTX_OP_ISTYPEP: done = lower_query(l, &told); break;
    default: return false;
    }
    if (!done && !told) l->count = before;
    return done || told;
}
