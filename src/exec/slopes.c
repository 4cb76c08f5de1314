/* slopes: 64-bit registers whose lanes lie at even distances: addresses, mostly, worked out from the number
 * of the thread. Kept as base + lane * step, in 24 bytes instead of 256, where only accesses to
 * global memory and other such registers read them.
 *
 *   mul.wide.s32 %rd4, %r1, 4  ──► is %r1 even? base = 4 * %r1[0], step = 4 * (%r1[1] - %r1[0])
 *   add.s64 %rd5, %rd2, %rd4   ──► base + %rd2 (a value of the block), the same step
 *   ld.global.f32 %f1, [%rd5]  ──► one move of 32 elements
 *
 * A slope holds for some of the lanes; what it does not hold for stands in the register's own array. An
 * instruction that writes one for all lanes, from sources that are even, makes it hold for all; else it is
 * executed lane by lane, and its lanes' part of the slope ends. Who needs lanes in the array has them spread:
 * only his own, because a slot is a register's as long as it is live, and that is each lane's business. So
 * divergence needs no case of its own. */
#include "exec/lower.h"

void slope_spread(const struct exec_warp *w, uint32_t at, uint32_t ref, uint32_t mask)
{
    const struct slope s = *slope_at(w, at);
    uint64_t *const lanes = (uint64_t *)(void *)ref_at(w, ref);
    FOR_LANES(lane, mask & s.lanes) lanes[lane] = s.base + lane * s.step;
}

/* ---- which registers ---- */

enum form { FORM_NONE, FORM_WIDE, FORM_SUM, FORM_SHIFT };

static bool is_reg(const struct exec_func *f, const struct ptx_operand *o, uint8_t class)
{
    return o->kind == PTX_OPND_REG && !o->flags && !o->sel && f->ptx->regs[o->id].reg_class == class;
}

static bool is_slope(const struct exec_func *f, const struct ptx_operand *o)
{
    return is_reg(f, o, PTX_REG_64) && f->slopes[o->id] != REF_NONE;
}

static bool is_term(const struct exec_func *f, const struct ptx_operand *o)
{
    return exec_is_value(f, o) || is_slope(f, o);
}

static bool is_wide_type(uint8_t type) { return type == PTX_T_S64 || type == PTX_T_U64 || type == PTX_T_B64; }
static bool is_word_type(uint8_t type) { return type == PTX_T_S32 || type == PTX_T_U32; }

/* How the instruction works out its destination from slopes and values; NONE: not from these. */
static enum form form_of(const struct exec_func *f, const struct ptx_instr *i)
{
    const uint32_t operands = i->op == PTX_OP_CVT ? 2 : i->op == PTX_OP_MAD ? 4 : 3;
    if (i->n_dsts != 1 || i->n_operands != operands || i->flags & (PTX_F_UNKNOWN | PTX_F_CC | PTX_F_SAT))
        return FORM_NONE;
    const struct ptx_operand *const o = ptx_operand_at(f->ptx, i, 0);
    if (!is_reg(f, o, PTX_REG_64) || f->values[o->id] != REF_NONE) return FORM_NONE;
    switch ((enum ptx_op)i->op) {
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        if (i->part != PTX_PART_WIDE || !is_word_type(i->type) || !is_reg(f, &o[1], PTX_REG_32) ||
            !exec_is_value(f, &o[2]))
            return FORM_NONE;
        return i->op == PTX_OP_MUL || is_term(f, &o[3]) ? FORM_WIDE : FORM_NONE;
    case PTX_OP_CVT:
        return is_wide_type(i->type) && is_word_type(i->type2) && is_reg(f, &o[1], PTX_REG_32) ? FORM_WIDE
                                                                                               : FORM_NONE;
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        return is_wide_type(i->type) && is_term(f, &o[1]) && is_term(f, &o[2]) ? FORM_SUM : FORM_NONE;
    case PTX_OP_SHL:
        return is_slope(f, &o[1]) && i->type == PTX_T_B64 && o[2].kind == PTX_OPND_IMM && o[2].value >= 0 &&
                       o[2].value < 64
                   ? FORM_SHIFT
                   : FORM_NONE;
    default: return FORM_NONE;
    }
}

/* An access that the hot handlers serve, through this register, of nothing else that it holds. */
static bool is_access_through(const struct exec_func *f, const struct ptx_instr *i, uint32_t reg)
{
    const bool load = i->op == PTX_OP_LD;
    if (i->n_operands != 2 || i->flags & PTX_F_UNKNOWN) return false;
    if ((!load && i->op != PTX_OP_ST) || i->space != PTX_SPACE_GLOBAL || i->vec > 1) return false;
    const struct ptx_operand *const o = ptx_operand_at(f->ptx, i, 0), *const moved = &o[!load];
    const uint32_t bits = ptx_type_bits(i->type);
    if ((bits != 32 && bits != 64) || o[load].kind != PTX_OPND_ADDR_REG || o[load].id != reg) return false;
    return is_reg(f, moved, bits == 64 ? PTX_REG_64 : PTX_REG_32) && (load || moved->id != reg);
}

static bool is_fit(const struct exec_func *f, const struct ptx_defuse *du, uint32_t reg)
{
    const struct ptx_instr *const instrs = f->ptx->instrs;
    for (uint32_t k = du->def_start[reg]; k < du->def_start[reg + 1]; k++)
        if (!form_of(f, &instrs[du->defs[k]])) return false;
    for (uint32_t k = du->use_start[reg]; k < du->use_start[reg + 1]; k++) {
        const struct ptx_instr *const i = &instrs[du->uses[k]];
        if (is_access_through(f, i, reg)) continue;
        const enum form form = form_of(f, i);
        if (form == FORM_NONE || f->slopes[ptx_operand_at(f->ptx, i, 0)->id] == REF_NONE) return false;
    }
    return du->use_start[reg] != du->use_start[reg + 1];
}

/* Is it written, and by plain functions of lanes alone? */
static bool is_candidate(const struct exec_func *f, const struct ptx_defuse *du, uint32_t reg)
{
    if (f->ptx->regs[reg].reg_class != PTX_REG_64 || f->values[reg] != REF_NONE) return false;
    for (uint32_t k = du->def_start[reg]; k < du->def_start[reg + 1]; k++) {
        struct lanes_op op;
        if (!lanes_find(f->ptx, &f->ptx->instrs[du->defs[k]], f->env->options.isa, &op) || op.needs)
            return false;
    }
    return du->def_start[reg] != du->def_start[reg + 1];
}

/* All that might be, and then without those that others do not let. */
void exec_find_slopes(struct exec_func *f, const struct ptx_defuse *du)
{
    const struct ptx_func *const ptx = f->ptx;
    uint32_t found[SLOPES_MOST], count = 0;
    f->slopes = ARENA_ARRAY(&f->env->arena, uint32_t, ptx->n_regs);
    for (uint32_t reg = 0; reg < ptx->n_regs; reg++) f->slopes[reg] = REF_NONE;
    for (uint32_t reg = 0; ptx->is_entry && reg < ptx->n_regs && count < SLOPES_MOST; reg++) {
        if (!is_candidate(f, du, reg)) continue;
        f->slopes[reg] = 0;
        found[count++] = reg;
    }
    for (bool again = true; again;) {
        again = false;
        for (uint32_t k = 0; k < count; k++)
            if (f->slopes[found[k]] != REF_NONE && !is_fit(f, du, found[k])) {
                f->slopes[found[k]] = REF_NONE;
                again = true;
            }
    }
    for (uint32_t k = 0; k < count; k++)
        if (f->slopes[found[k]] != REF_NONE) f->slopes[found[k]] = f->slope_count++;
}

/* ---- instructions that write one ---- */

enum { TERM_NONE, TERM_VALUE, TERM_SLOPE };

struct slope_term {
    uint8_t kind;
    bool minus;
    uint32_t at;  /* of the slope in the frame */
    uint32_t ref; /* of the register's array */
};

struct slope_site {
    struct lanes_ctx ctx;
    uint32_t d; /* slope */
    uint8_t form;
    bool sign; /* WIDE: the word is signed */
    bool once; /* WIDE: not multiplied */
    uint32_t shift;
    struct slope_term term[2];
};

/* Are the words of a row at even distances, also once they are widened? */
static bool is_even(const uint32_t *x, bool sign, uint64_t *first, uint64_t *step)
{
    const uint32_t distance = x[1] - x[0];
    uint32_t odd = x[LANES - 1] - x[0] - (LANES - 1) * distance;
    if (odd) return false; /* most that are not even */
    for (uint32_t k = 0; k < LANES - 1; k++) odd |= (x[k + 1] - x[k]) ^ distance;
    if (odd) return false;
    *step = (uint64_t)(int64_t)(int32_t)distance;
    *first = sign ? (uint64_t)(int64_t)(int32_t)x[0] : x[0];
    return *first + (LANES - 1) * *step == (sign ? (uint64_t)(int64_t)(int32_t)x[LANES - 1] : x[LANES - 1]);
}

/* The slope that the instruction writes; false: it must be executed lane by lane. */
static bool work_out(const struct exec_warp *w, const struct insn *i, const struct slope_site *site,
                     struct slope *d)
{
    uint64_t base = 0, step = 0;
    if (site->form == FORM_WIDE) {
        if (!is_even((const uint32_t *)(void *)ref_at(w, i->a), site->sign, &base, &step)) return false;
        if (!site->once) {
            const uint32_t b = *(const uint32_t *)(void *)ref_at(w, i->b);
            const uint64_t factor = site->sign ? (uint64_t)(int64_t)(int32_t)b : b;
            base *= factor;
            step *= factor;
        }
    }
    for (uint32_t k = 0; k < 2; k++) {
        const struct slope_term *const t = &site->term[k];
        struct slope s = {0};
        if (t->kind == TERM_NONE) continue;
        if (t->kind == TERM_VALUE)
            s.base = *(const uint64_t *)(void *)ref_at(w, t->ref);
        else
            s = *slope_at(w, t->at);
        if (t->kind == TERM_SLOPE && s.lanes != LANES_ALL) return false;
        base += t->minus ? -s.base : s.base;
        step += t->minus ? -s.step : s.step;
    }
    *d = (struct slope){base << site->shift, step << site->shift, LANES_ALL};
    return true;
}

/* Lane by lane, and so from now on. */
static __attribute__((noinline)) const struct insn *by_lanes(const struct exec_warp *w, const struct insn *i,
                                                             uint32_t mask)
{
    const struct slope_site *const site = i->x.extra;
    for (uint32_t k = 0; k < 2; k++)
        if (site->term[k].kind == TERM_SLOPE) slope_spread(w, site->term[k].at, site->term[k].ref, mask);
    i->lanes(ref_at(w, i->d), ref_at(w, i->a), ref_at(w, i->b), ref_at(w, i->c), mask, &site->ctx);
    slope_at(w, site->d)->lanes &= ~mask;
    return i + 1;
}

static const struct insn *h_slope(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct slope_site *const site = i->x.extra;
    return mask == LANES_ALL && work_out(w, i, site, slope_at(w, site->d)) ? i + 1 : by_lanes(w, i, mask);
}

/* The most frequent one: the first term is a slope, the second a value. */
static const struct insn *h_slope_add(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct slope_site *const site = i->x.extra;
    const struct slope s = *slope_at(w, site->term[0].at);
    if (__builtin_expect((mask & s.lanes) != LANES_ALL, 0)) return by_lanes(w, i, mask);
    const uint64_t value = *(const uint64_t *)(void *)ref_at(w, site->term[1].ref);
    *slope_at(w, site->d) = (struct slope){s.base + value, s.step, LANES_ALL};
    return i + 1;
}

static bool is_slope_add(const struct slope_site *s)
{
    return s->form == FORM_SUM && s->term[0].kind == TERM_SLOPE && s->term[1].kind == TERM_VALUE &&
           !s->term[1].minus;
}

bool exec_is_slope(const struct insn *i) { return i->fn == h_slope || i->fn == h_slope_add; }

static uint32_t place_of(const struct lower *l, uint32_t reg)
{
    const uint32_t nth = l->func->slopes[reg];
    return nth == REF_NONE ? REF_NONE : l->func->slopes_offset + nth * (uint32_t)sizeof(struct slope);
}

static struct slope_term term_of(const struct lower *l, const struct ptx_operand *o, uint32_t ref, bool minus)
{
    if (!is_slope(l->func, o)) return (struct slope_term){.kind = TERM_VALUE, .minus = minus, .ref = ref};
    return (struct slope_term){.kind = TERM_SLOPE, .minus = minus, .at = place_of(l, o->id), .ref = ref};
}

void lower_to_slope(struct lower *l, struct insn *i)
{
    const struct exec_func *const f = l->func;
    const struct ptx_operand *const o = ptx_operand_at(l->ptx, l->instr, 0);
    if (l->instr->n_dsts != 1 || o->kind != PTX_OPND_REG || place_of(l, o->id) == REF_NONE) return;
    DIAG_ASSERT(i->fn == h_lanes);
    struct slope_site *const site = ARENA_NEW(&l->env->arena, struct slope_site);
    site->ctx = *i->x.ctx;
    site->d = place_of(l, o->id);
    site->form = (uint8_t)form_of(f, l->instr);
    switch ((enum form)site->form) {
    case FORM_WIDE:
        site->once = l->instr->op == PTX_OP_CVT;
        site->sign = (site->once ? l->instr->type2 : l->instr->type) == PTX_T_S32;
        if (l->instr->op == PTX_OP_MAD) site->term[0] = term_of(l, &o[3], i->c, false);
        break;
    case FORM_SUM:
        site->term[0] = term_of(l, &o[1], i->a, false);
        site->term[1] = term_of(l, &o[2], i->b, l->instr->op == PTX_OP_SUB);
        if (site->term[0].kind == TERM_VALUE && !site->term[1].minus) {
            const struct slope_term value = site->term[0];
            site->term[0] = site->term[1];
            site->term[1] = value;
        }
        break;
    case FORM_SHIFT:
        site->term[0] = term_of(l, &o[1], i->a, false);
        site->shift = (uint32_t)o[2].value;
        break;
    case FORM_NONE: DIAG_ASSERT(false);
    }
    i->fn = is_slope_add(site) ? h_slope_add : h_slope;
    i->x.extra = site;
}

/* ---- accesses through one ---- */

/* Where 32 elements that follow each other begin, all of them where the access has been before; NULL: they do
 * not. */
static inline uint8_t *whole_row(const struct exec_warp *w, const struct access *s, uint32_t mask)
{
    const struct slope *const at = slope_at(w, s->slope);
    const uint64_t first = at->base + (uint64_t)s->offset, bytes = (uint64_t)1 << s->log2_bytes,
                   rest = (LANES - 1) * bytes;
    if (mask != LANES_ALL || at->lanes != LANES_ALL || at->step != bytes || first & (bytes - 1)) return NULL;
    return s->limit > rest && first - s->lo < s->limit - rest ? (uint8_t *)first : NULL;
}

static inline void move_row(uint8_t *to, const uint8_t *from, const struct access *s)
{
    if (s->log2_bytes == 2)
        memcpy(to, from, LANES * 4);
    else
        memcpy(to, from, LANES * 8);
}

static const struct insn *h_slope_load(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct access *const s = i->x.access;
    const uint8_t *const from = whole_row(w, s, mask);
    if (__builtin_expect(from != NULL, 1)) {
        w->spin += s->strong;
        move_row(ref_at(w, i->d), from, s);
        return i + 1;
    }
    slope_spread(w, s->slope, s->address, mask);
    return s->by_lanes(w, i, mask);
}

static const struct insn *h_slope_store(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct access *const s = i->x.access;
    uint8_t *const to = whole_row(w, s, mask);
    if (__builtin_expect(to != NULL, 1)) {
        move_row(to, ref_at(w, i->b), s);
        return i + 1;
    }
    slope_spread(w, s->slope, s->address, mask);
    return s->by_lanes(w, i, mask);
}

insn_fn *lower_slope_access(const struct lower *l, struct access *s, const struct ptx_operand *address,
                            insn_fn *fn)
{
    if (address->kind != PTX_OPND_ADDR_REG || place_of(l, address->id) == REF_NONE) return fn;
    DIAG_ASSERT(fn && s->count == 1 && s->address64);
    s->slope = place_of(l, address->id);
    s->by_lanes = fn;
    return s->is_store ? h_slope_store : h_slope_load;
}
