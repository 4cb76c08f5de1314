/* lanes_find: from a decoded instruction to its lane function.
 *
 *   ptx_instr ── find_*() by opcode ──► a row of lanes.def, options in ctx.imm ──► table of the instruction
 * set
 *
 * Every find_ function returns a row or NO_KERNEL; a combination that PTX does not have falls through to
 * that. */
#include <string.h>

#include "base/diag.h"
#include "exec/lanes.h"
#include "exec/lanes_half.h"
#include "exec/lanes_private.h"
#include "ptx/ir.h"

#define NO_KERNEL LK_COUNT

typedef enum lanes_kernel kernel;

/* MXCSR: all exceptions masked, rounding control in bits 13..14 */
static const uint32_t mxcsr_of[] = {
    [MODE_RN] = 0x1f80, [MODE_RZ] = 0x7f80, [MODE_RM] = 0x3f80, [MODE_RP] = 0x5f80};

/* what is asked: the instruction, its function (may be NULL), and the answer being filled */
struct query {
    const struct ptx_func *func;
    const struct ptx_instr *i;
    struct lanes_op *op;
    const struct lanes_entry *table;
};

static bool has(const struct query *q, uint32_t flag) { return (q->i->flags & flag) != 0; }
static uint32_t n_sources(const struct query *q) { return (uint32_t)(q->i->n_operands - q->i->n_dsts); }
static kernel row(kernel first, uint32_t n) { return (kernel)((uint32_t)first + n); }

static const struct ptx_operand *source(const struct query *q, uint32_t n)
{
    return q->func && n < n_sources(q) ? ptx_operand_at(q->func, q->i, q->i->n_dsts + n) : NULL;
}
static const struct ptx_operand *destination(const struct query *q, uint32_t n)
{
    return q->func && n < q->i->n_dsts ? ptx_operand_at(q->func, q->i, n) : NULL;
}
static bool in_wide_register(const struct query *q, const struct ptx_operand *o)
{
    return o && o->kind == PTX_OPND_REG && q->func->regs[o->id].reg_class == PTX_REG_64;
}

/* ---- places of types in the composite rows ---- */
static int width_of(uint8_t type) /* 16, 32, 64 bits: 0, 1, 2 */
{
    switch (ptx_type_bits((enum ptx_type)type)) {
    case 16: return 0;
    case 32: return 1;
    case 64: return 2;
    default: return -1;
    }
}
static int six_of(uint8_t type) /* u16 s16 u32 s32 u64 s64; .b counts as unsigned */
{
    switch (type) {
    case PTX_T_U16:
    case PTX_T_B16: return 0;
    case PTX_T_S16: return 1;
    case PTX_T_U32:
    case PTX_T_B32: return 2;
    case PTX_T_S32: return 3;
    case PTX_T_U64:
    case PTX_T_B64: return 4;
    case PTX_T_S64: return 5;
    default: return -1;
    }
}
static int eight_of(uint8_t type) /* u8 s8 u16 s16 u32 s32 u64 s64 */
{
    if (type == PTX_T_U8 || type == PTX_T_B8) return 0;
    if (type == PTX_T_S8) return 1;
    const int six = six_of(type);
    return six < 0 ? -1 : six + 2;
}
static int small_float_of(uint8_t type) /* f16 f16x2 bf16 bf16x2 */
{
    switch (type) {
    case PTX_T_F16: return 0;
    case PTX_T_F16X2: return 1;
    case PTX_T_BF16: return 2;
    case PTX_T_BF16X2: return 3;
    default: return -1;
    }
}
static bool is_int(uint8_t type) { return six_of(type) >= 0; }
static bool is_signed(uint8_t type) { return ptx_type_kind((enum ptx_type)type) == 'S'; }

static int mode_of(uint8_t rnd) /* -1: not a rounding of arithmetic */
{
    switch (rnd) {
    case PTX_RND_NONE:
    case PTX_RND_RN: return MODE_RN;
    case PTX_RND_RZ: return MODE_RZ;
    case PTX_RND_RM: return MODE_RM;
    case PTX_RND_RP: return MODE_RP;
    case PTX_RND_RNA: return MODE_RNA;
    default: return -1;
    }
}
static int integral_mode_of(uint8_t rnd)
{
    switch (rnd) {
    case PTX_RND_RNI: return MODE_RN;
    case PTX_RND_RZI: return MODE_RZ;
    case PTX_RND_RMI: return MODE_RM;
    case PTX_RND_RPI: return MODE_RP;
    default: return -1;
    }
}

static uint32_t flags_of(const struct query *q)
{
    return (has(q, PTX_F_FTZ) ? FLAG_FTZ : 0u) | (has(q, PTX_F_SAT) ? FLAG_SAT : 0u) |
           (has(q, PTX_F_RELU) ? FLAG_RELU : 0u) | (has(q, PTX_F_NAN) ? FLAG_NAN : 0u) |
           (has(q, PTX_F_XORSIGN) ? FLAG_XORSIGN : 0u) | (has(q, PTX_F_SATFINITE) ? FLAG_FINITE : 0u);
}

/* ---- floating-point arithmetic ---- */
/* f32: + 1 ftz, + 2 sat, + 4 directed;  f64: + 1 directed;  halves: options in imm */
static kernel find_float_arithmetic(struct query *q, kernel f32_row, kernel f64_row, kernel half_row)
{
    const int mode = mode_of(q->i->rnd);
    if (mode < 0 || mode == MODE_RNA) return NO_KERNEL;
    const uint32_t directed = mode != MODE_RN;
    q->op->ctx.round = mxcsr_of[mode];
    if (q->i->type == PTX_T_F32)
        return row(f32_row, (has(q, PTX_F_FTZ) ? 1u : 0) + (has(q, PTX_F_SAT) ? 2u : 0) + 4 * directed);
    if (q->i->type == PTX_T_F64 && f64_row != NO_KERNEL) return row(f64_row, directed);
    const int half = small_float_of(q->i->type);
    if (half < 0 || half_row == NO_KERNEL || directed) return NO_KERNEL;
    q->op->ctx.imm = flags_of(q);
    return row(half_row, (uint32_t)half + (q->op->ctx.imm == 0 ? 4u : 0));
}
/* mixed precision: add.f32.f16 d, a, c and the like are not executed */
static bool is_mixed(const struct query *q) { return q->i->type2 != PTX_T_NONE && q->i->type2 != q->i->type; }

static kernel find_add_sub(struct query *q, bool is_sub)
{
    const uint8_t t = q->i->type;
    if (is_mixed(q)) return NO_KERNEL;
    if (t == PTX_T_U16X2 || t == PTX_T_S16X2) return is_sub ? LK_sub_16x2 : LK_add_16x2;
    if (!is_int(t))
        return is_sub ? find_float_arithmetic(q, LK_sub_f32, LK_sub_f64, LK_sub_f16)
                      : find_float_arithmetic(q, LK_add_f32, LK_add_f64, LK_add_f16);
    const uint32_t w = (uint32_t)width_of(t);
    if (has(q, PTX_F_CC)) {
        if (w == 0) return NO_KERNEL;
        q->op->needs = LANES_NEEDS_CC;
        return row(is_sub ? LK_sub_cc_b32 : LK_add_cc_b32, w - 1);
    }
    if (has(q, PTX_F_SAT)) return t != PTX_T_S32 ? NO_KERNEL : is_sub ? LK_sub_sat_s32 : LK_add_sat_s32;
    return row(is_sub ? LK_sub_b16 : LK_add_b16, w);
}
static kernel find_addc(struct query *q, bool is_sub)
{
    const int w = is_int(q->i->type) ? width_of(q->i->type) : -1;
    if (w < 1) return NO_KERNEL;
    q->op->needs = LANES_NEEDS_CC;
    const kernel first = is_sub ? LK_subc_b32 : LK_addc_b32;
    return row(first, (uint32_t)w - 1 + (has(q, PTX_F_CC) ? 2u : 0));
}
static kernel find_mul(struct query *q)
{
    const uint8_t t = q->i->type;
    if (!is_int(t))
        return is_mixed(q) ? NO_KERNEL : find_float_arithmetic(q, LK_mul_f32, LK_mul_f64, LK_mul_f16);
    const uint32_t six = (uint32_t)six_of(t);
    switch ((enum ptx_part)q->i->part) {
    case PTX_PART_NONE: return NO_KERNEL;
    case PTX_PART_LO: return row(LK_mul_lo_b16, six / 2);
    case PTX_PART_HI: return row(LK_mul_hi_u16, six);
    case PTX_PART_WIDE: return six > 3 ? NO_KERNEL : row(LK_mul_wide_u16, six);
    }
    return NO_KERNEL;
}
/* rows lo_b32 hi_u32 hi_s32 lo_b64 hi_u64 hi_s64 */
static kernel find_mad_carry(struct query *q, kernel first)
{
    const int six = six_of(q->i->type);
    if (six < 2 || q->i->part == PTX_PART_WIDE || q->i->part == PTX_PART_NONE) return NO_KERNEL;
    q->op->needs = LANES_NEEDS_CC;
    const uint32_t wide = six >= 4 ? 3 : 0;
    return row(first, wide + (q->i->part == PTX_PART_LO ? 0u : 1u + ((uint32_t)six & 1u)));
}
static kernel find_mad(struct query *q)
{
    const uint8_t t = q->i->type;
    if (!is_int(t))
        return is_mixed(q) ? NO_KERNEL : find_float_arithmetic(q, LK_fma_f32, LK_fma_f64, LK_fma_f16);
    if (has(q, PTX_F_CC)) return find_mad_carry(q, LK_mad_cc_lo_b32);
    const uint32_t six = (uint32_t)six_of(t);
    switch ((enum ptx_part)q->i->part) {
    case PTX_PART_NONE: return NO_KERNEL;
    case PTX_PART_LO: return row(LK_mad_lo_b16, six / 2);
    case PTX_PART_HI:
        if (has(q, PTX_F_SAT)) return t == PTX_T_S32 ? LK_mad_hi_sat_s32 : NO_KERNEL;
        return row(LK_mad_hi_u16, six);
    case PTX_PART_WIDE: return six > 3 ? NO_KERNEL : row(LK_mad_wide_u16, six);
    }
    return NO_KERNEL;
}
static kernel find_mul24(struct query *q, bool is_mad)
{
    const uint32_t sign = is_signed(q->i->type), high = q->i->part == PTX_PART_HI ? 2 : 0;
    if (q->i->type != PTX_T_U32 && q->i->type != PTX_T_S32) return NO_KERNEL;
    if (!is_mad) return row(LK_mul24_lo_u32, sign + high);
    if (has(q, PTX_F_SAT)) return sign && high ? LK_mad24_hi_sat_s32 : NO_KERNEL;
    return row(LK_mad24_lo_u32, sign + high);
}
static kernel find_div(struct query *q)
{
    const int six = six_of(q->i->type);
    if (six >= 0) return row(LK_div_u16, (uint32_t)six);
    if (q->i->type == PTX_T_F32) {
        const uint32_t ftz = has(q, PTX_F_FTZ);
        if (has(q, PTX_F_APPROX)) return row(LK_div_approx_f32, ftz);
        /* .full is at most 2 units off; correctly rounded is within that */
        if (has(q, PTX_F_FULL)) return row(LK_div_f32, ftz);
    }
    return find_float_arithmetic(q, LK_div_f32, LK_div_f64, NO_KERNEL);
}
/* rcp, sqrt: f32 rows + 1 ftz + 2 directed */
static kernel find_root(struct query *q, kernel f32_row, kernel approx_row, kernel f64_row)
{
    const int mode = mode_of(q->i->rnd);
    const uint32_t ftz = has(q, PTX_F_FTZ);
    if (mode < 0 || mode == MODE_RNA) return NO_KERNEL;
    q->op->ctx.round = mxcsr_of[mode];
    if (q->i->type == PTX_T_F32)
        return has(q, PTX_F_APPROX) ? row(approx_row, ftz) : row(f32_row, ftz + (mode != MODE_RN ? 2u : 0));
    if (q->i->type != PTX_T_F64) return NO_KERNEL;
    if (has(q, PTX_F_APPROX)) return f64_row == LK_rcp_f64 ? LK_rcp_approx_f64 : NO_KERNEL;
    return row(f64_row, mode != MODE_RN);
}
static kernel find_approx(struct query *q, kernel f32_row, kernel half_row)
{
    if (q->i->type == PTX_T_F32) return row(f32_row, has(q, PTX_F_FTZ));
    const int half = small_float_of(q->i->type);
    if (half < 0 || half_row == NO_KERNEL) return NO_KERNEL;
    q->op->ctx.imm = flags_of(q);
    return row(half_row, (uint32_t)half);
}
static kernel find_rsqrt(struct query *q)
{
    if (q->i->type == PTX_T_F64) return has(q, PTX_F_FTZ) ? LK_rsqrt_approx_ftz_f64 : LK_rsqrt_approx_f64;
    return find_approx(q, LK_rsqrt_approx_f32, NO_KERNEL);
}
static kernel find_min_max(struct query *q, bool is_max)
{
    const uint8_t t = q->i->type;
    const int six = six_of(t);
    if (n_sources(q) != 2) return NO_KERNEL; /* the three-input forms of sm_100 */
    if (six >= 0) {
        if (has(q, PTX_F_RELU))
            return t != PTX_T_S32 ? NO_KERNEL : is_max ? LK_max_relu_s32 : LK_min_relu_s32;
        return row(is_max ? LK_max_u16 : LK_min_u16, (uint32_t)six);
    }
    q->op->ctx.imm = flags_of(q);
    if (t == PTX_T_U16X2 || t == PTX_T_S16X2)
        return row(is_max ? LK_max_u16x2 : LK_min_u16x2, t == PTX_T_S16X2);
    if (t == PTX_T_F64) return is_max ? LK_max_f64 : LK_min_f64;
    if (t == PTX_T_F32) {
        const uint32_t any = has(q, PTX_F_NAN | PTX_F_XORSIGN);
        return row(is_max ? LK_max_f32 : LK_min_f32, any ? 2u : has(q, PTX_F_FTZ));
    }
    const int half = small_float_of(t);
    return half < 0 ? NO_KERNEL
                    : row(is_max ? LK_max_f16 : LK_min_f16, (uint32_t)half + (q->op->ctx.imm == 0 ? 4u : 0));
}
static kernel find_abs_neg(struct query *q, bool is_neg)
{
    const uint8_t t = q->i->type;
    if (t == PTX_T_F32) return row(is_neg ? LK_neg_f32 : LK_abs_f32, has(q, PTX_F_FTZ));
    if (t == PTX_T_F64) return is_neg ? LK_neg_f64 : LK_abs_f64;
    const int half = small_float_of(t);
    if (half >= 0) {
        q->op->ctx.imm = flags_of(q);
        return row(is_neg ? LK_neg_f16 : LK_abs_f16, (uint32_t)half);
    }
    if (!is_int(t)) return NO_KERNEL;
    return row(is_neg ? LK_neg_b16 : LK_abs_s16, (uint32_t)width_of(t));
}

/* ---- integer ---- */
static kernel by_six(const struct query *q, kernel first)
{
    const int six = six_of(q->i->type);
    return six < 0 ? NO_KERNEL : row(first, (uint32_t)six);
}
static kernel by_width(const struct query *q, kernel first) /* b16 b32 b64 */
{
    const int w = is_int(q->i->type) ? width_of(q->i->type) : -1;
    return w < 0 ? NO_KERNEL : row(first, (uint32_t)w);
}
static kernel by_wide(const struct query *q, kernel first) /* b32 b64 */
{
    const int w = is_int(q->i->type) ? width_of(q->i->type) : -1;
    return w < 1 ? NO_KERNEL : row(first, (uint32_t)w - 1);
}
static kernel by_four(const struct query *q, kernel first) /* u32 s32 u64 s64 */
{
    const int six = six_of(q->i->type);
    return six < 2 ? NO_KERNEL : row(first, (uint32_t)six - 2);
}
static kernel find_logic(struct query *q, kernel first, kernel pred)
{
    return q->i->type == PTX_T_PRED ? pred : by_width(q, first);
}
static kernel find_lop3(struct query *q)
{
    if (q->i->type != PTX_T_B32 || q->i->sub != PTX_SUB_NONE) return NO_KERNEL;
    const struct ptx_operand *table = source(q, 3);
    if (table) q->op->ctx.imm = (uint32_t)table->value & 0xffu;
    return LK_lop3_b32;
}
static kernel find_prmt(struct query *q)
{
    if (q->i->type != PTX_T_B32) return NO_KERNEL;
    if (q->i->sub == PTX_SUB_NONE) return LK_prmt;
    if (q->i->sub < PTX_SUB_F4E || q->i->sub > PTX_SUB_RC16) return NO_KERNEL;
    q->op->ctx.imm = (uint32_t)(q->i->sub - PTX_SUB_F4E);
    return LK_prmt_mode;
}
static kernel find_dp(struct query *q)
{
    const uint32_t sa = is_signed(q->i->type), sb = is_signed(q->i->type2);
    if (q->i->op == PTX_OP_DP4A) return row(LK_dp4a_uu, 2 * sa + sb);
    q->op->ctx.imm = sa | sb << 1 | (q->i->part == PTX_PART_HI ? 4u : 0);
    return LK_dp2a;
}
static kernel find_slct(struct query *q)
{
    const int w = width_of(q->i->type);
    if (w < 0 || (q->i->type2 != PTX_T_S32 && q->i->type2 != PTX_T_F32)) return NO_KERNEL;
    const uint32_t selector = q->i->type2 == PTX_T_S32 ? 0 : has(q, PTX_F_FTZ) ? 2 : 1;
    return row(LK_slct_b16_s32, 3 * (uint32_t)w + selector);
}

/* ---- comparison ---- */
static kernel float_compare_row(const struct query *q, uint8_t t)
{
    const bool ftz = has(q, PTX_F_FTZ);
    switch (t) {
    case PTX_T_F32: return ftz ? LK_eq_ftz_f32 : LK_eq_f32;
    case PTX_T_F64: return LK_eq_f64;
    case PTX_T_F16:
    case PTX_T_F16X2: return ftz ? LK_eq_ftz_f16 : LK_eq_f16;
    case PTX_T_BF16:
    case PTX_T_BF16X2: return LK_eq_bf16;
    default: return NO_KERNEL;
    }
}
static kernel find_compare(const struct query *q, uint8_t t)
{
    const uint8_t c = q->i->cmp;
    const int six = six_of(t);
    if (c == PTX_CMP_NONE) return NO_KERNEL;
    if (six >= 0) {
        if (c >= PTX_CMP_EQU) return NO_KERNEL;
        const uint32_t order = c >= PTX_CMP_LO ? c - PTX_CMP_LO + 2u : c - (uint32_t)PTX_CMP_EQ;
        /* lo ls hi hs are the unsigned comparisons */
        const uint32_t type = c >= PTX_CMP_LO ? (uint32_t)six & ~1u : (uint32_t)six;
        return row(LK_eq_u16, 6 * type + order);
    }
    const kernel first = float_compare_row(q, t);
    if (first == NO_KERNEL || (c >= PTX_CMP_LO && c <= PTX_CMP_HS)) return NO_KERNEL;
    return row(first, c >= PTX_CMP_EQU ? c - PTX_CMP_EQU + 6u : c - (uint32_t)PTX_CMP_EQ);
}
static bool set_bool_of(struct query *q)
{
    switch (q->i->sub) {
    case PTX_SUB_NONE: break;
    case PTX_SUB_AND: q->op->ctx.imm |= SET_BOOL_AND; break;
    case PTX_SUB_OR: q->op->ctx.imm |= SET_BOOL_OR; break;
    case PTX_SUB_XOR: q->op->ctx.imm |= SET_BOOL_XOR; break;
    default: return false;
    }
    return true;
}
static bool is_pair(uint8_t type) { return type == PTX_T_F16X2 || type == PTX_T_BF16X2; }

static void inner(struct query *q, kernel k)
{
    q->op->ctx.inner = &q->table[k];
    q->op->a_bytes = q->table[k].a;
    q->op->b_bytes = q->table[k].b;
}
static kernel find_setp(struct query *q)
{
    const kernel compare = find_compare(q, q->i->type);
    const bool second = q->i->n_dsts > 1, with_bool = q->i->sub != PTX_SUB_NONE;
    if (compare == NO_KERNEL || !set_bool_of(q)) return NO_KERNEL;
    if (!second && !with_bool && !is_pair(q->i->type)) return compare;
    inner(q, compare);
    q->op->needs = LANES_NEEDS_D2;
    q->op->d2_bytes = 1;
    q->op->c_bytes = with_bool ? 1 : 0;
    return is_pair(q->i->type) ? LK_setp_x2 : LK_setp_bool;
}
static kernel find_set(struct query *q)
{
    const kernel compare = find_compare(q, q->i->type2);
    if (compare == NO_KERNEL || !set_bool_of(q)) return NO_KERNEL;
    inner(q, compare);
    q->op->c_bytes = q->i->sub != PTX_SUB_NONE ? 1 : 0;
    switch (q->i->type) {
    case PTX_T_U32:
    case PTX_T_S32: q->op->ctx.adapt = 0xffffffffu; break;
    case PTX_T_U16:
    case PTX_T_S16: q->op->ctx.adapt = 0xffffu; break;
    case PTX_T_F32: q->op->ctx.adapt = 0x3f800000u; break;
    case PTX_T_F16:
    case PTX_T_F16X2: q->op->ctx.adapt = 0x3c00u; break;
    case PTX_T_BF16:
    case PTX_T_BF16X2: q->op->ctx.adapt = 0x3f80u; break;
    default: return NO_KERNEL;
    }
    if (!is_pair(q->i->type2)) return LK_set_b32;
    if (q->i->type == PTX_T_U32 || q->i->type == PTX_T_S32) q->op->ctx.adapt = 0xffffu;
    return LK_set_x2;
}
static kernel find_testp(const struct query *q)
{
    if (q->i->sub < PTX_SUB_FINITE || q->i->sub > PTX_SUB_SUBNORMAL) return NO_KERNEL;
    const uint32_t n = (uint32_t)(q->i->sub - PTX_SUB_FINITE);
    return q->i->type == PTX_T_F32   ? row(LK_finite_f32, n)
           : q->i->type == PTX_T_F64 ? row(LK_finite_f64, n)
                                     : NO_KERNEL;
}
static kernel find_selp(const struct query *q)
{
    if (q->i->type == PTX_T_PRED) return LK_selp_pred;
    switch (ptx_type_bits((enum ptx_type)q->i->type)) {
    case 16:
    case 32: return LK_selp_b32;
    case 64: return LK_selp_b64;
    default: return NO_KERNEL;
    }
}

/* ---- conversion ---- */
static bool is_float(uint8_t type) { return ptx_type_kind((enum ptx_type)type) == 'F'; }

static kernel find_cvt_to_int(struct query *q, int d)
{
    const int mode = integral_mode_of(q->i->rnd);
    const bool from_f64 = q->i->type2 == PTX_T_F64;
    if (mode < 0) return NO_KERNEL;
    switch (q->i->type2) {
    case PTX_T_F16: q->op->ctx.adapt |= ADAPT_HALF_A; break;
    case PTX_T_BF16: q->op->ctx.adapt |= ADAPT_BF_A; break;
    case PTX_T_F32:
        q->op->ctx.adapt |= has(q, PTX_F_FTZ) && mode >= MODE_RM ? (uint32_t)ADAPT_FLUSH_A : 0;
        break;
    case PTX_T_F64: break;
    default: return NO_KERNEL;
    }
    return row(from_f64 ? LK_cvt_rni_u8_f64 : LK_cvt_rni_u8_f32, 4 * (uint32_t)d + (uint32_t)mode);
}
static kernel find_cvt_from_int(struct query *q, int s)
{
    const int mode = mode_of(q->i->rnd);
    if (mode < 0 || mode == MODE_RNA) return NO_KERNEL;
    q->op->ctx.imm = (uint32_t)mode | flags_of(q);
    const uint32_t n = 2 * (uint32_t)s;
    switch (q->i->type) {
    case PTX_T_F32:
        if (has(q, PTX_F_SAT)) return NO_KERNEL;
        return row(LK_cvt_f32_u8, n + (mode != MODE_RN));
    case PTX_T_F64:
        if (has(q, PTX_F_SAT)) return NO_KERNEL;
        return row(LK_cvt_f64_u8, n + (mode != MODE_RN));
    case PTX_T_F16: return row(LK_cvt_f16_u8, n);
    case PTX_T_BF16: return row(LK_cvt_f16_u8, n + 1);
    default: return NO_KERNEL;
    }
}
/* f32, f64, f16, bf16 to the same set; imm is filled */
static kernel find_cvt_float(const struct query *q, uint32_t imm)
{
    const uint8_t d = q->i->type, s = q->i->type2;
    const bool plain = imm == 0;
    const uint32_t mode = imm & MODE_MASK;
    /* the frequent ones have rows of their own */
    if (d == PTX_T_F32 && s == PTX_T_F32 && imm == FLAG_SAT) return LK_cvt_sat_f32_f32;
    if (d == s && imm == (FLAG_INTEGRAL | mode)) {
        if (d == PTX_T_F32) return row(LK_cvt_rni_f32_f32, mode);
        if (d == PTX_T_F64) return row(LK_cvt_rni_f64_f64, mode);
    }
    switch (d) {
    case PTX_T_F32:
        switch (s) {
        case PTX_T_F32: return plain ? LK_cvt_f32_f32 : LK_cvt_f32_f32_any;
        case PTX_T_F64:
            return plain                          ? LK_cvt_f32_f64
                   : (imm & MODE_MASK) == MODE_RN ? LK_cvt_f32_f64_any
                                                  : LK_cvt_f32_f64_dir;
        case PTX_T_F16: return plain ? LK_cvt_f32_f16 : LK_cvt_f32_f16_any;
        case PTX_T_BF16: return plain ? LK_cvt_f32_bf16 : LK_cvt_f32_bf16_any;
        default: return NO_KERNEL;
        }
    case PTX_T_F64:
        switch (s) {
        case PTX_T_F32: return plain ? LK_cvt_f64_f32 : LK_cvt_f64_f32_any;
        case PTX_T_F64: return plain ? LK_cvt_f64_f64 : LK_cvt_f64_f64_any;
        case PTX_T_F16: return LK_cvt_f64_f16;
        case PTX_T_BF16: return LK_cvt_f64_bf16;
        default: return NO_KERNEL;
        }
    case PTX_T_F16:
        switch (s) {
        case PTX_T_F32: return plain ? LK_cvt_f16_f32 : LK_cvt_f16_f32_any;
        case PTX_T_F64: return LK_cvt_f16_f64;
        case PTX_T_F16: return LK_cvt_f16_f16;
        case PTX_T_BF16: return LK_cvt_f16_bf16;
        default: return NO_KERNEL;
        }
    case PTX_T_BF16:
        switch (s) {
        case PTX_T_F32: return plain ? LK_cvt_bf16_f32 : LK_cvt_bf16_f32_any;
        case PTX_T_F64: return LK_cvt_bf16_f64;
        case PTX_T_BF16: return LK_cvt_bf16_bf16;
        case PTX_T_F16: return LK_cvt_bf16_f16;
        default: return NO_KERNEL;
        }
    default: return NO_KERNEL;
    }
}
static kernel find_cvt_packed(const struct query *q)
{
    const uint8_t d = q->i->type, s = q->i->type2;
    if (d == PTX_T_TF32 && s == PTX_T_F32) return LK_cvt_tf32_f32;
    if (d == PTX_T_F16X2 && s == PTX_T_F32) return LK_cvt_f16x2_f32;
    if (d == PTX_T_BF16X2 && s == PTX_T_F32) return LK_cvt_bf16x2_f32;
    if (d == PTX_T_E4M3X2 && s == PTX_T_F32) return LK_cvt_e4m3x2_f32;
    if (d == PTX_T_E5M2X2 && s == PTX_T_F32) return LK_cvt_e5m2x2_f32;
    if (d == PTX_T_E4M3X2 && s == PTX_T_F16X2) return LK_cvt_e4m3x2_f16x2;
    if (d == PTX_T_E5M2X2 && s == PTX_T_F16X2) return LK_cvt_e5m2x2_f16x2;
    if (d == PTX_T_F16X2 && s == PTX_T_E4M3X2) return LK_cvt_f16x2_e4m3x2;
    if (d == PTX_T_F16X2 && s == PTX_T_E5M2X2) return LK_cvt_f16x2_e5m2x2;
    return NO_KERNEL;
}
static kernel find_cvt_kind(struct query *q)
{
    const int d = eight_of(q->i->type), s = eight_of(q->i->type2);
    if (d >= 0 && s >= 0)
        return row(has(q, PTX_F_SAT) ? LK_cvt_sat_u8_u8 : LK_cvt_u8_u8, 8 * (uint32_t)s + (uint32_t)d);
    if (d >= 0) return is_float(q->i->type2) ? find_cvt_to_int(q, d) : NO_KERNEL;
    if (s >= 0) return find_cvt_from_int(q, s);
    const int mode = mode_of(q->i->rnd), integral = integral_mode_of(q->i->rnd);
    if (mode < 0 && integral < 0) return NO_KERNEL;
    const uint32_t imm = flags_of(q) | (integral >= 0 ? FLAG_INTEGRAL | (uint32_t)integral : (uint32_t)mode);
    q->op->ctx.imm = imm;
    const kernel packed = find_cvt_packed(q);
    if (packed != NO_KERNEL || mode == MODE_RNA) return packed;
    return find_cvt_float(q, imm);
}
/* A register wider than the type it is used with: cut off before, extend after. */
static kernel find_cvt(struct query *q)
{
    const kernel k = find_cvt_kind(q);
    if (k == NO_KERNEL) return k;
    struct lanes_ctx *x = &q->op->ctx;
    if (q->table[k].a == 4 && in_wide_register(q, source(q, 0))) x->adapt |= ADAPT_NARROW_A;
    if (q->table[k].d == 4 && in_wide_register(q, destination(q, 0)))
        x->adapt |= is_signed(q->i->type) ? ADAPT_WIDEN_S : ADAPT_WIDEN_U;
    if (x->adapt == 0) return k;
    inner(q, k);
    q->op->d_bytes = x->adapt & (ADAPT_WIDEN_S | ADAPT_WIDEN_U) ? 8 : q->table[k].d;
    q->op->a_bytes = x->adapt & ADAPT_NARROW_A ? 8 : q->table[k].a;
    return LK_cvt_adapted;
}
static kernel find_cvt_pack(struct query *q)
{
    switch (q->i->type) {
    case PTX_T_U16: q->op->ctx.imm = PACK_U16; return LK_cvt_pack_16;
    case PTX_T_S16: q->op->ctx.imm = PACK_S16; return LK_cvt_pack_16;
    case PTX_T_U8: q->op->ctx.imm = PACK_U8; break;
    case PTX_T_S8: q->op->ctx.imm = PACK_S8; break;
    case PTX_T_U4: q->op->ctx.imm = PACK_U4; break;
    case PTX_T_S4: q->op->ctx.imm = PACK_S4; break;
    case PTX_T_U2: q->op->ctx.imm = PACK_U2; break;
    case PTX_T_S2: q->op->ctx.imm = PACK_S2; break;
    default: return NO_KERNEL;
    }
    return LK_cvt_pack_8;
}

/* ---- moves ---- */
static kernel find_mov(struct query *q)
{
    const uint32_t bits = ptx_type_bits((enum ptx_type)q->i->type);
    if (q->i->type == PTX_T_PRED) return LK_mov_pred;
    const struct ptx_operand *from = source(q, 0), *to = destination(q, 0);
    const uint32_t packs = from && from->kind == PTX_OPND_VEC ? from->count : 0;
    const uint32_t unpacks = to && to->kind == PTX_OPND_VEC ? to->count : 0;
    if (packs == 2)
        return bits == 16 ? LK_pack_b16 : bits == 32 ? LK_pack_b32 : bits == 64 ? LK_pack_b64 : LK_pack_b128;
    if (packs == 4) {
        q->op->needs = LANES_NEEDS_E;
        q->op->e_bytes = 4;
        return bits == 32 ? LK_pack4_b32 : bits == 64 ? LK_pack4_b64 : NO_KERNEL;
    }
    if (unpacks == 2 || unpacks == 4) {
        q->op->needs = LANES_NEEDS_D2 | (unpacks == 4 ? (uint32_t)LANES_NEEDS_D34 : 0);
        q->op->d2_bytes = bits == 128 ? 8 : 4;
        if (unpacks == 4) return bits == 32 ? LK_unpack4_b32 : bits == 64 ? LK_unpack4_b64 : NO_KERNEL;
        return bits == 16   ? LK_unpack_b16
               : bits == 32 ? LK_unpack_b32
               : bits == 64 ? LK_unpack_b64
                            : LK_unpack_b128;
    }
    return bits == 128                ? LK_mov_b128
           : bits == 64               ? LK_mov_b64
           : bits == 16 || bits == 32 ? LK_mov_b32
                                      : NO_KERNEL;
}

/* ---- between lanes ---- */
static void collective(struct query *q)
{
    q->op->needs = LANES_COLLECTIVE | LANES_NEEDS_D2;
    q->op->d2_bytes = 1;
    if (has(q, PTX_F_SYNC)) {
        q->op->needs |= LANES_NEEDS_E;
        q->op->e_bytes = 4;
    }
}
static kernel find_redux(struct query *q)
{
    const uint8_t t = q->i->type;
    uint32_t *imm = &q->op->ctx.imm;
    collective(q);
    if (t == PTX_T_F32) {
        if (q->i->sub != PTX_SUB_MIN && q->i->sub != PTX_SUB_MAX) return NO_KERNEL;
        *imm =
            (q->i->sub == PTX_SUB_MAX ? 1u : 0) | (has(q, PTX_F_ABS) ? 2u : 0) | (has(q, PTX_F_NAN) ? 4u : 0);
        return LK_redux_float;
    }
    if (width_of(t) != 1 || !is_int(t)) return NO_KERNEL;
    switch (q->i->sub) {
    case PTX_SUB_ADD: *imm = REDUX_ADD; break;
    case PTX_SUB_MIN: *imm = is_signed(t) ? REDUX_MIN_S : REDUX_MIN_U; break;
    case PTX_SUB_MAX: *imm = is_signed(t) ? REDUX_MAX_S : REDUX_MAX_U; break;
    case PTX_SUB_AND: *imm = REDUX_AND; break;
    case PTX_SUB_OR: *imm = REDUX_OR; break;
    case PTX_SUB_XOR: *imm = REDUX_XOR; break;
    default: return NO_KERNEL;
    }
    return LK_redux;
}
static kernel find_collective(struct query *q)
{
    collective(q);
    switch (q->i->op) {
    case PTX_OP_SHFL:
        return q->i->sub == PTX_SUB_IDX    ? LK_shfl_idx
               : q->i->sub == PTX_SUB_UP   ? LK_shfl_up
               : q->i->sub == PTX_SUB_DOWN ? LK_shfl_down
               : q->i->sub == PTX_SUB_BFLY ? LK_shfl_bfly
                                           : NO_KERNEL;
    case PTX_OP_VOTE:
        q->op->needs &= ~(uint32_t)LANES_NEEDS_D2;
        q->op->d2_bytes = 0;
        return q->i->sub == PTX_SUB_ALL      ? LK_vote_all
               : q->i->sub == PTX_SUB_ANY    ? LK_vote_any
               : q->i->sub == PTX_SUB_UNI    ? LK_vote_uni
               : q->i->sub == PTX_SUB_BALLOT ? LK_vote_ballot
                                             : NO_KERNEL;
    case PTX_OP_MATCH: {
        const int w = is_int(q->i->type) ? width_of(q->i->type) : -1;
        if (w < 1) return NO_KERNEL;
        return row(q->i->sub == PTX_SUB_ALL ? LK_match_all_b32 : LK_match_any_b32, (uint32_t)w - 1);
    }
    case PTX_OP_ACTIVEMASK:
        q->op->needs = LANES_COLLECTIVE;
        q->op->d2_bytes = q->op->e_bytes = 0;
        return LK_activemask;
    case PTX_OP_ELECT: return LK_elect;
    case PTX_OP_MOVMATRIX:
        q->op->needs = LANES_COLLECTIVE;
        q->op->d2_bytes = q->op->e_bytes = 0;
        return q->i->type == PTX_T_B16 && q->i->shape == PTX_SHAPE_m8n8 && has(q, PTX_F_TRANS) ? LK_movmatrix
                                                                                               : NO_KERNEL;
    default: return NO_KERNEL;
    }
}

/* ---- video ---- */
static kernel find_video(struct query *q, uint32_t op, bool scalar, bool quad)
{
    const struct ptx_operand *a = source(q, 0), *b = source(q, 1), *d = destination(q, 0);
    uint32_t imm = op | (is_signed(q->i->type) ? VIDEO_D_SIGNED : 0u) |
                   (is_signed(q->i->type2) ? VIDEO_A_SIGNED : 0u) |
                   (is_signed(q->i->type3) ? VIDEO_B_SIGNED : 0u) | (has(q, PTX_F_SAT) ? VIDEO_SAT : 0u) |
                   (quad ? VIDEO_QUAD : 0u) | (has(q, PTX_F_WRAP) ? VIDEO_SHIFT_WRAP : 0u);
    if (q->i->sub == PTX_SUB_ADD) imm |= VIDEO_ACCUMULATE;
    if (q->i->sub == PTX_SUB_MIN) imm |= VIDEO_MERGE_MIN;
    if (q->i->sub == PTX_SUB_MAX) imm |= VIDEO_MERGE_MAX;
    const uint32_t sel_a = a ? a->sel : 0, sel_b = b ? b->sel : 0, sel_d = d ? d->sel : 0;
    if (!scalar) {
        if (sel_a || sel_b || sel_d || imm & (VIDEO_MERGE_MIN | VIDEO_MERGE_MAX)) return NO_KERNEL;
        q->op->ctx.imm = imm;
        return LK_video_simd;
    }
    if (sel_a >= PTX_SEL_OTHER || sel_b >= PTX_SEL_OTHER || sel_d >= PTX_SEL_OTHER) return NO_KERNEL;
    q->op->ctx.imm = imm | sel_a << VIDEO_A_SEL | sel_b << VIDEO_B_SEL | sel_d << VIDEO_D_SEL;
    return LK_video_scalar;
}
static kernel find_vset(struct query *q, bool scalar, bool quad)
{
    if (q->i->cmp < PTX_CMP_EQ || q->i->cmp > PTX_CMP_GE) return NO_KERNEL;
    /* vset names only the types of a and b */
    struct ptx_instr i = *q->i;
    i.type3 = i.type2;
    i.type2 = i.type;
    i.type = PTX_T_U32;
    const struct ptx_instr *whole = q->i;
    q->i = &i;
    const kernel k = find_video(q, VIDEO_SET_EQ + (uint32_t)(i.cmp - PTX_CMP_EQ), scalar, quad);
    q->i = whole;
    return k;
}

static kernel find_integer(struct query *q)
{
    switch ((enum ptx_op)q->i->op) {
    case PTX_OP_SAD: return by_six(q, LK_sad_u16);
    case PTX_OP_REM: return by_six(q, LK_rem_u16);
    case PTX_OP_POPC: return by_wide(q, LK_popc_b32);
    case PTX_OP_CLZ: return by_wide(q, LK_clz_b32);
    case PTX_OP_BREV: return by_wide(q, LK_brev_b32);
    case PTX_OP_BFIND: q->op->ctx.imm = has(q, PTX_F_SHIFTAMT); return by_four(q, LK_bfind_u32);
    case PTX_OP_BFE: return by_four(q, LK_bfe_u32);
    case PTX_OP_BFI:
        q->op->needs = LANES_NEEDS_E;
        q->op->e_bytes = 4;
        return by_wide(q, LK_bfi_b32);
    case PTX_OP_BMSK: return has(q, PTX_F_CLAMP) ? LK_bmsk_clamp : LK_bmsk_wrap;
    case PTX_OP_SZEXT:
        q->op->ctx.imm = (has(q, PTX_F_CLAMP) ? 1u : 0) | (is_signed(q->i->type) ? 2u : 0);
        return LK_szext;
    case PTX_OP_FNS: return LK_fns;
    case PTX_OP_AND: return find_logic(q, LK_and_b16, LK_and_pred);
    case PTX_OP_OR: return find_logic(q, LK_or_b16, LK_or_pred);
    case PTX_OP_XOR: return find_logic(q, LK_xor_b16, LK_xor_pred);
    case PTX_OP_NOT: return find_logic(q, LK_not_b16, LK_not_pred);
    case PTX_OP_CNOT: return by_width(q, LK_cnot_b16);
    case PTX_OP_SHL: return by_width(q, LK_shl_b16);
    case PTX_OP_SHR: return by_six(q, LK_shr_u16);
    case PTX_OP_SHF:
        return row(LK_shf_l_clamp, (q->i->sub == PTX_SUB_RIGHT ? 2u : 0) + (has(q, PTX_F_WRAP) ? 1u : 0));
    default: return NO_KERNEL;
    }
}
static kernel find_video_op(struct query *q)
{
    switch ((enum ptx_op)q->i->op) {
    case PTX_OP_VADD: return find_video(q, VIDEO_ADD, true, false);
    case PTX_OP_VSUB: return find_video(q, VIDEO_SUB, true, false);
    case PTX_OP_VABSDIFF: return find_video(q, VIDEO_ABSDIFF, true, false);
    case PTX_OP_VMIN: return find_video(q, VIDEO_MIN, true, false);
    case PTX_OP_VMAX: return find_video(q, VIDEO_MAX, true, false);
    case PTX_OP_VSHL: return find_video(q, VIDEO_SHL, true, false);
    case PTX_OP_VSHR: return find_video(q, VIDEO_SHR, true, false);
    case PTX_OP_VSET: return find_vset(q, true, false);
    case PTX_OP_VADD2: return find_video(q, VIDEO_ADD, false, false);
    case PTX_OP_VSUB2: return find_video(q, VIDEO_SUB, false, false);
    case PTX_OP_VAVRG2: return find_video(q, VIDEO_AVRG, false, false);
    case PTX_OP_VABSDIFF2: return find_video(q, VIDEO_ABSDIFF, false, false);
    case PTX_OP_VMIN2: return find_video(q, VIDEO_MIN, false, false);
    case PTX_OP_VMAX2: return find_video(q, VIDEO_MAX, false, false);
    case PTX_OP_VSET2: return find_vset(q, false, false);
    case PTX_OP_VADD4: return find_video(q, VIDEO_ADD, false, true);
    case PTX_OP_VSUB4: return find_video(q, VIDEO_SUB, false, true);
    case PTX_OP_VAVRG4: return find_video(q, VIDEO_AVRG, false, true);
    case PTX_OP_VABSDIFF4: return find_video(q, VIDEO_ABSDIFF, false, true);
    case PTX_OP_VMIN4: return find_video(q, VIDEO_MIN, false, true);
    case PTX_OP_VMAX4: return find_video(q, VIDEO_MAX, false, true);
    case PTX_OP_VSET4: return find_vset(q, false, true);
    default: return NO_KERNEL;
    }
}

static kernel find_kernel(struct query *q)
{
    switch ((enum ptx_op)q->i->op) {
    case PTX_OP_ADD: return find_add_sub(q, false);
    case PTX_OP_SUB: return find_add_sub(q, true);
    case PTX_OP_ADDC: return find_addc(q, false);
    case PTX_OP_SUBC: return find_addc(q, true);
    case PTX_OP_MUL: return find_mul(q);
    case PTX_OP_MAD:
    case PTX_OP_FMA: return find_mad(q);
    case PTX_OP_MADC: return find_mad_carry(q, has(q, PTX_F_CC) ? LK_madc_cc_lo_b32 : LK_madc_lo_b32);
    case PTX_OP_MUL24: return find_mul24(q, false);
    case PTX_OP_MAD24: return find_mul24(q, true);
    case PTX_OP_DIV: return find_div(q);
    case PTX_OP_ABS: return find_abs_neg(q, false);
    case PTX_OP_NEG: return find_abs_neg(q, true);
    case PTX_OP_MIN: return find_min_max(q, false);
    case PTX_OP_MAX: return find_min_max(q, true);
    case PTX_OP_DP4A:
    case PTX_OP_DP2A: return find_dp(q);
    case PTX_OP_TESTP: return find_testp(q);
    case PTX_OP_COPYSIGN:
        return q->i->type == PTX_T_F32   ? LK_copysign_f32
               : q->i->type == PTX_T_F64 ? LK_copysign_f64
                                         : NO_KERNEL;
    case PTX_OP_RCP: return find_root(q, LK_rcp_f32, LK_rcp_approx_f32, LK_rcp_f64);
    case PTX_OP_SQRT: return find_root(q, LK_sqrt_f32, LK_sqrt_approx_f32, LK_sqrt_f64);
    case PTX_OP_RSQRT: return find_rsqrt(q);
    case PTX_OP_SIN: return find_approx(q, LK_sin_approx_f32, NO_KERNEL);
    case PTX_OP_COS: return find_approx(q, LK_cos_approx_f32, NO_KERNEL);
    case PTX_OP_LG2: return find_approx(q, LK_lg2_approx_f32, NO_KERNEL);
    case PTX_OP_EX2: return find_approx(q, LK_ex2_approx_f32, LK_ex2_f16);
    case PTX_OP_TANH: return find_approx(q, LK_tanh_approx_f32, LK_tanh_f16);
    case PTX_OP_SET: return find_set(q);
    case PTX_OP_SETP: return find_setp(q);
    case PTX_OP_SELP: return find_selp(q);
    case PTX_OP_SLCT: return find_slct(q);
    case PTX_OP_LOP3: return find_lop3(q);
    case PTX_OP_PRMT: return find_prmt(q);
    case PTX_OP_MOV: return find_mov(q);
    case PTX_OP_CVT: return find_cvt(q);
    case PTX_OP_CVT_PACK: return find_cvt_pack(q);
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_ACTIVEMASK:
    case PTX_OP_MOVMATRIX:
    case PTX_OP_ELECT: return find_collective(q);
    case PTX_OP_REDUX: return find_redux(q);
    default: break;
    }
    const kernel k = find_integer(q);
    return k != NO_KERNEL ? k : find_video_op(q);
}

static const struct lanes_entry *table_of(enum lanes_isa isa)
{
    switch (isa) {
    case LANES_AVX2: return lanes_table_avx2;
    case LANES_AVX512: return lanes_table_avx512;
    case LANES_PLAIN:
    case LANES_ISA_COUNT: break;
    }
    return lanes_table_plain;
}

bool lanes_find(const struct ptx_func *func, const struct ptx_instr *instr, enum lanes_isa isa,
                struct lanes_op *op)
{
    struct query q = {.func = func, .i = instr, .op = op, .table = table_of(isa)};
    memset(op, 0, sizeof *op);
    if (instr->flags & PTX_F_UNKNOWN) return false;
    const kernel k = find_kernel(&q);
    if (k == NO_KERNEL) {
        memset(op, 0, sizeof *op);
        return false;
    }
    const struct lanes_entry *e = &q.table[k];
    op->warp = e->warp;
    op->lane = e->lane;
    if (op->d_bytes == 0) op->d_bytes = e->d;
    if (op->a_bytes == 0) op->a_bytes = e->a;
    if (op->b_bytes == 0) op->b_bytes = e->b;
    if (op->c_bytes == 0 && !op->ctx.inner) op->c_bytes = e->c;
    return true;
}

void lanes_require(const struct lanes_signature *table, const char *name)
{
    static const struct lanes_signature here = LANES_SIGNATURE_HERE;
    if (table->rows != here.rows || table->order != here.order)
        diag_bug("lanes", 0,
                 "the table of lane functions '%s' has %u rows (order %u), lanes.def has %u (order %u): an "
                 "object file is older than its source; remove the build folder and build again",
                 name, table->rows, table->order, here.rows, here.order);
}

void lanes_check_tables(void)
{
    lanes_require(&lanes_signature_plain, "plain");
    lanes_require(&lanes_signature_avx2, "avx2");
    lanes_require(&lanes_signature_avx512, "avx512");
}

/* ---- instruction sets ---- */
bool lanes_isa_present(enum lanes_isa isa)
{
    switch (isa) {
    case LANES_PLAIN: return true;
#if defined(__x86_64__)
    case LANES_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
               __builtin_cpu_supports("popcnt");
    case LANES_AVX512:
        return lanes_isa_present(LANES_AVX2) && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
#else
    case LANES_AVX2:
    case LANES_AVX512:
#endif
    case LANES_ISA_COUNT: break;
    }
    return false;
}
enum lanes_isa lanes_isa_best(void)
{
    return lanes_isa_present(LANES_AVX512) ? LANES_AVX512
           : lanes_isa_present(LANES_AVX2) ? LANES_AVX2
                                           : LANES_PLAIN;
}
static const char *const isa_names[LANES_ISA_COUNT] = {"plain", "avx2", "avx512"};
const char *lanes_isa_name(enum lanes_isa isa) { return isa < LANES_ISA_COUNT ? isa_names[isa] : "?"; }
bool lanes_isa_by_name(const char *name, enum lanes_isa *isa)
{
    for (int i = 0; i < LANES_ISA_COUNT; i++)
        if (strcmp(name, isa_names[i]) == 0) {
            *isa = (enum lanes_isa)i;
            return true;
        }
    return false;
}
