/* lanes_matrix: wmma, mma.sync, ldmatrix, stmatrix: where fragment elements live, and the product.
 *
 *   registers ── gather by fragment ──► A[m][k] B[k][n] C[m][n] ── D = A*B + C ──► scatter ──► registers
 *
 * mma.sync, ldmatrix and stmatrix use the layouts of the PTX manual. The layout of wmma fragments is not
 * documented; ours is linear in memory order, so that a lane loads neighbouring elements.
 *
 * Arithmetic: a product of f16, bf16 or tf32 elements is rounded to f32 (which is exact except for bf16 and
 * tf32 at the ends of the exponent range) and added to an f32 sum in order of k, starting with C. ASSUMPTION:
 * order and width of the sum; the manual leaves both open. f16 results are rounded once, at the end. */
#include <string.h>

#include "exec/lanes.h"
#include "exec/lanes_half.h"
#include "ptx/ir.h"

enum { DIM_MAX = 32, K_MAX = 128 };

static uint32_t per_register(const struct lanes_fragment *f)
{
    return f->element_bits >= 32 ? 1 : 32u / f->element_bits;
}

/* ---- layouts ---- */
static bool fragment_size(struct lanes_fragment *f, uint32_t rows, uint32_t cols, uint8_t type, uint32_t regs)
{
    const uint32_t bits = ptx_type_bits((enum ptx_type)type);
    if (bits == 0 || bits > 64) return false;
    f->rows = (uint8_t)rows;
    f->cols = (uint8_t)cols;
    f->element_bits = (uint8_t)bits;
    const uint32_t each = per_register(f);
    if (regs == 0) regs = rows * cols / (LANES_COUNT * each);
    if (regs == 0 || regs * each > LANES_FRAGMENT_MAX || cols > K_MAX || rows > K_MAX) return false;
    f->regs = (uint8_t)regs;
    f->elements = (uint8_t)(regs * each);
    return true;
}
/* ours: neighbours in memory are neighbours in a lane */
static void layout_linear(struct lanes_fragment *f, bool by_col)
{
    const uint32_t total = (uint32_t)f->rows * f->cols;
    for (uint32_t lane = 0; lane < LANES_COUNT; lane++)
        for (uint32_t e = 0; e < f->elements; e++) {
            const uint32_t n =
                (lane * f->elements + e) % total; /* f16 fragments hold every element twice or more */
            f->row[lane][e] = (uint8_t)(by_col ? n % f->rows : n / f->cols);
            f->col[lane][e] = (uint8_t)(by_col ? n / f->rows : n % f->cols);
        }
}
/* mma.sync: groups of four lanes; register r of A covers rows +8 (odd r) and columns further right (r / 2) */
static void layout_mma_a(struct lanes_fragment *f)
{
    const uint32_t each = per_register(f), halves = f->rows / 8u;
    for (uint32_t lane = 0; lane < LANES_COUNT; lane++)
        for (uint32_t e = 0; e < f->elements; e++) {
            const uint32_t r = e / each, j = e % each;
            f->row[lane][e] = (uint8_t)(lane / 4 + 8 * (r % halves));
            f->col[lane][e] = (uint8_t)((lane % 4) * each + j + 4 * each * (r / halves));
        }
}
static void layout_mma_b(struct lanes_fragment *f)
{
    const uint32_t each = per_register(f);
    for (uint32_t lane = 0; lane < LANES_COUNT; lane++)
        for (uint32_t e = 0; e < f->elements; e++) {
            f->row[lane][e] = (uint8_t)((lane % 4) * each + e % each + 4 * each * (e / each));
            f->col[lane][e] = (uint8_t)(lane / 4);
        }
}
static void layout_mma_c(struct lanes_fragment *f)
{
    for (uint32_t lane = 0; lane < LANES_COUNT; lane++)
        for (uint32_t e = 0; e < f->elements; e++) {
            f->row[lane][e] = (uint8_t)(lane / 4 + 8 * (e / 2));
            f->col[lane][e] = (uint8_t)((lane % 4) * 2 + e % 2);
        }
}
/* mma.m8n8k4.f16: four products at once, each by lanes 4q..4q+3 and 16+4q..16+4q+3 */
static void layout_quads(struct lanes_matrix *m, bool a_by_col, bool b_by_col)
{
    for (uint32_t lane = 0; lane < LANES_COUNT; lane++) {
        const uint32_t upper = lane >= 16 ? 4 : 0, in_quad = lane % 4;
        for (uint32_t e = 0; e < 4; e++) {
            m->a.row[lane][e] = (uint8_t)((a_by_col ? e : in_quad) + upper);
            m->a.col[lane][e] = (uint8_t)(a_by_col ? in_quad : e);
            m->b.row[lane][e] = (uint8_t)(b_by_col ? e : in_quad);
            m->b.col[lane][e] = (uint8_t)((b_by_col ? in_quad : e) + upper);
        }
        for (uint32_t e = 0; e < 8; e++) {
            struct lanes_fragment *const of[2] = {&m->c, &m->d};
            for (int k = 0; k < 2; k++) {
                const bool wide = of[k]->element_bits == 32;
                of[k]->row[lane][e] = (uint8_t)((wide ? (lane & 1) + (e & 2) : in_quad) + upper);
                of[k]->col[lane][e] = (uint8_t)(wide ? (e & 4) + (lane & 2) + (e & 1) : e);
            }
        }
    }
}

/* ---- gather, product, scatter ---- */
static uint64_t element(const struct lanes_fragment *f, const void *const *reg, uint32_t lane, uint32_t e)
{
    const uint32_t each = per_register(f), bits = f->element_bits;
    if (bits == 64) return ((const uint64_t *)reg[e])[lane];
    const uint32_t v = ((const uint32_t *)reg[e / each])[lane];
    return bits == 32 ? v : (v >> (e % each * bits)) & ((1u << bits) - 1u);
}
static float float_of(uint8_t type, uint64_t v)
{
    switch (type) {
    case PTX_T_F16: return half_to_float((u32)v);
    case PTX_T_BF16: return bf_to_float((u32)v);
    case PTX_T_TF32: return float32((u32)v & 0xffffe000u);
    case PTX_T_E4M3: return half_to_float(half_from_fp8((u32)v, 0, 0));
    case PTX_T_E5M2: return half_to_float(half_from_fp8((u32)v, 1, 0));
    default: return float32((u32)v);
    }
}
static int32_t int_of(uint8_t type, uint64_t v)
{
    switch (type) {
    case PTX_T_S8: return (int8_t)(uint8_t)v;
    case PTX_T_S4: return (int32_t)((uint32_t)v << 28) >> 28;
    default: return (int32_t)(uint32_t)v;
    }
}

struct floats {
    float a[DIM_MAX][DIM_MAX], b[DIM_MAX][DIM_MAX], c[DIM_MAX][DIM_MAX];
};
/* lanes of one product: all, or a quad pair of m8n8k4 */
static bool in_group(uint32_t lane, int quad) { return quad < 0 || (int)(lane % 16 / 4) == quad; }

static void product_floats(struct floats *s, uint32_t m, uint32_t n, uint32_t k)
{
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t l = 0; l < k; l++) {
            const float a = s->a[i][l];
            for (uint32_t j = 0; j < n; j++) s->c[i][j] += a * s->b[l][j];
        }
}
static void mma_float_group(void *const *d, const void *const *a, const void *const *b, const void *const *c,
                            const struct lanes_matrix *m, int quad)
{
    struct floats s;
    for (uint32_t lane = 0; lane < LANES_COUNT; lane++) {
        if (!in_group(lane, quad)) continue;
        for (uint32_t e = 0; e < m->a.elements; e++)
            s.a[m->a.row[lane][e]][m->a.col[lane][e]] = float_of(m->type_a, element(&m->a, a, lane, e));
        for (uint32_t e = 0; e < m->b.elements; e++)
            s.b[m->b.row[lane][e]][m->b.col[lane][e]] = float_of(m->type_b, element(&m->b, b, lane, e));
        for (uint32_t e = 0; e < m->c.elements; e++)
            s.c[m->c.row[lane][e]][m->c.col[lane][e]] = float_of(m->type_c, element(&m->c, c, lane, e));
    }
    product_floats(&s, m->a.rows, m->b.cols, m->a.cols);
    for (uint32_t lane = 0; lane < LANES_COUNT; lane++) {
        if (!in_group(lane, quad)) continue;
        for (uint32_t e = 0; e < m->d.elements; e++) {
            const float r = s.c[m->d.row[lane][e]][m->d.col[lane][e]];
            if (m->type_d == PTX_T_F32) {
                ((uint32_t *)d[e])[lane] = bits32(canon32(r));
                continue;
            }
            uint32_t h = float_to_half(r);
            if (m->saturate && (h & 0x7fffu) == 0x7c00u) h--;
            uint32_t *word = (uint32_t *)d[e / 2] + lane;
            *word = e % 2 ? (*word & 0xffffu) | h << 16 : h;
        }
    }
}
static void mma_float(void *const *d, const void *const *a, const void *const *b, const void *const *c,
                      const struct lanes_matrix *m)
{
    mma_float_group(d, a, b, c, m, -1);
}
static void mma_quads(void *const *d, const void *const *a, const void *const *b, const void *const *c,
                      const struct lanes_matrix *m)
{
    /* results of one quad pair are sources of no other: lanes are disjoint */
    for (int quad = 0; quad < 4; quad++) mma_float_group(d, a, b, c, m, quad);
}
static void mma_f64(void *const *d, const void *const *a, const void *const *b, const void *const *c,
                    const struct lanes_matrix *m)
{
    double ma[16][16], mb[16][16], mc[16][16];
    for (uint32_t lane = 0; lane < LANES_COUNT; lane++) {
        for (uint32_t e = 0; e < m->a.elements; e++)
            ma[m->a.row[lane][e]][m->a.col[lane][e]] = float64(element(&m->a, a, lane, e));
        for (uint32_t e = 0; e < m->b.elements; e++)
            mb[m->b.row[lane][e]][m->b.col[lane][e]] = float64(element(&m->b, b, lane, e));
        for (uint32_t e = 0; e < m->c.elements; e++)
            mc[m->c.row[lane][e]][m->c.col[lane][e]] = float64(element(&m->c, c, lane, e));
    }
    for (uint32_t i = 0; i < m->a.rows; i++)
        for (uint32_t l = 0; l < m->a.cols; l++)
            for (uint32_t j = 0; j < m->b.cols; j++) mc[i][j] = __builtin_fma(ma[i][l], mb[l][j], mc[i][j]);
    for (uint32_t lane = 0; lane < LANES_COUNT; lane++)
        for (uint32_t e = 0; e < m->d.elements; e++)
            ((uint64_t *)d[e])[lane] = bits64(canon64(mc[m->d.row[lane][e]][m->d.col[lane][e]]));
}
static void mma_int(void *const *d, const void *const *a, const void *const *b, const void *const *c,
                    const struct lanes_matrix *m)
{

    int32_t ma[DIM_MAX][K_MAX], mb[K_MAX][DIM_MAX];
    int64_t mc[DIM_MAX][DIM_MAX];
    for (uint32_t lane = 0; lane < LANES_COUNT; lane++) {
        for (uint32_t e = 0; e < m->a.elements; e++)
            ma[m->a.row[lane][e]][m->a.col[lane][e]] = int_of(m->type_a, element(&m->a, a, lane, e));
        for (uint32_t e = 0; e < m->b.elements; e++)
            mb[m->b.row[lane][e]][m->b.col[lane][e]] = int_of(m->type_b, element(&m->b, b, lane, e));
        for (uint32_t e = 0; e < m->c.elements; e++)
            mc[m->c.row[lane][e]][m->c.col[lane][e]] = (int32_t)element(&m->c, c, lane, e);
    }
    const bool bits = m->type_a == PTX_T_B1;
    for (uint32_t i = 0; i < m->a.rows; i++)
        for (uint32_t l = 0; l < m->a.cols; l++)
            for (uint32_t j = 0; j < m->b.cols; j++) {
                const int32_t p = ma[i][l], q = mb[l][j];
                mc[i][j] += !bits ? p * q : m->bit_op ? (p & q) : (p ^ q);
            }
    for (uint32_t lane = 0; lane < LANES_COUNT; lane++)
        for (uint32_t e = 0; e < m->d.elements; e++) {
            const int64_t r = mc[m->d.row[lane][e]][m->d.col[lane][e]];
            ((uint32_t *)d[e])[lane] = m->saturate ? (uint32_t)saturate_s32(r) : (uint32_t)r;
        }
}

/* ---- which function ---- */
static bool choose(struct lanes_matrix *m)
{
    switch (m->type_a) {
    case PTX_T_F16:
    case PTX_T_BF16:
    case PTX_T_TF32:
    case PTX_T_E4M3:
    case PTX_T_E5M2: m->mma = mma_float; return m->type_d == PTX_T_F32 || m->type_d == PTX_T_F16;
    case PTX_T_F64: m->mma = mma_f64; return m->type_d == PTX_T_F64;
    case PTX_T_S8:
    case PTX_T_U8:
    case PTX_T_S4:
    case PTX_T_U4:
    case PTX_T_B1: m->mma = mma_int; return m->type_d == PTX_T_S32;
    default: return false;
    }
}
/* D.A.B.C, or D.C of f16 products */
static void take_types(struct lanes_matrix *m, const struct ptx_instr *i)
{
    const bool four = i->type4 != PTX_T_NONE;
    m->type_d = i->type;
    m->type_a = four ? i->type2 : PTX_T_F16;
    m->type_b = four ? i->type3 : PTX_T_F16;
    m->type_c = four ? i->type4 : i->type2;
    m->saturate = i->flags & (PTX_F_SAT | PTX_F_SATFINITE);
    m->bit_op = i->sub == PTX_SUB_AND;
}
static uint32_t wmma_regs(uint8_t type) { return type == PTX_T_F16 ? 8 : 0; } /* of A and B: fixed for f16 */

static bool find_wmma_mma(const struct ptx_instr *i, struct lanes_matrix *m)
{
    uint32_t rows, cols, depth;
    ptx_shape_mnk((enum ptx_shape)i->shape, &rows, &cols, &depth);
    take_types(m, i);
    m->kind = LANES_MATRIX_MMA;
    if (!fragment_size(&m->a, rows, depth, m->type_a, wmma_regs(m->type_a)) ||
        !fragment_size(&m->b, depth, cols, m->type_b, wmma_regs(m->type_b)) ||
        !fragment_size(&m->c, rows, cols, m->type_c, 0) || !fragment_size(&m->d, rows, cols, m->type_d, 0))
        return false;
    layout_linear(&m->a, i->layout_a == PTX_LAYOUT_COL);
    layout_linear(&m->b, i->layout_b == PTX_LAYOUT_COL);
    layout_linear(&m->c, false);
    layout_linear(&m->d, false);
    return choose(m);
}
static bool find_wmma_move(const struct ptx_instr *i, struct lanes_matrix *m)
{
    uint32_t rows, cols, depth;
    ptx_shape_mnk((enum ptx_shape)i->shape, &rows, &cols, &depth);
    m->kind = i->op == PTX_OP_WMMA_LOAD ? LANES_MATRIX_LOAD : LANES_MATRIX_STORE;
    const bool by_col = i->layout_a == PTX_LAYOUT_COL;
    bool good = false;
    switch (i->sub) {
    case PTX_SUB_FRAG_A: good = fragment_size(&m->d, rows, depth, i->type, wmma_regs(i->type)); break;
    case PTX_SUB_FRAG_B: good = fragment_size(&m->d, depth, cols, i->type, wmma_regs(i->type)); break;
    case PTX_SUB_FRAG_C:
    case PTX_SUB_FRAG_D:
        /* the order in registers does not depend on the order in memory: mma does not know it */
        good = fragment_size(&m->d, rows, cols, i->type, 0);
        if (good) layout_linear(&m->d, false);
        m->d.col_major = by_col;
        return good;
    default: return false;
    }
    if (good) layout_linear(&m->d, by_col);
    m->d.col_major = by_col;
    return good;
}
static bool find_mma(const struct ptx_instr *i, struct lanes_matrix *m)
{
    uint32_t rows, cols, depth;
    if (i->type4 == PTX_T_NONE) return false;
    ptx_shape_mnk((enum ptx_shape)i->shape, &rows, &cols, &depth);
    take_types(m, i);
    m->kind = LANES_MATRIX_MMA;
    const bool quads = i->shape == PTX_SHAPE_m8n8k4 && m->type_a == PTX_T_F16;
    if (!fragment_size(&m->a, rows, depth, m->type_a, quads ? 2 : 0) ||
        !fragment_size(&m->b, depth, cols, m->type_b, quads ? 2 : 0) ||
        !fragment_size(&m->c, rows, cols, m->type_c, quads ? (m->type_c == PTX_T_F16 ? 4 : 8) : 0) ||
        !fragment_size(&m->d, rows, cols, m->type_d, quads ? (m->type_d == PTX_T_F16 ? 4 : 8) : 0) ||
        !choose(m))
        return false;
    if (quads) {
        layout_quads(m, i->layout_a == PTX_LAYOUT_COL, i->layout_b == PTX_LAYOUT_COL);
        m->mma = mma_quads;
        return true;
    }
    if (i->layout_a == PTX_LAYOUT_COL || i->layout_b == PTX_LAYOUT_ROW) return false;
    layout_mma_a(&m->a);
    layout_mma_b(&m->b);
    layout_mma_c(&m->c);
    layout_mma_c(&m->d);
    return true;
}
static bool find_row_move(const struct ptx_instr *i, struct lanes_matrix *m)
{
    if (i->shape != PTX_SHAPE_m8n8 || i->type != PTX_T_B16 || i->count == 0) return false;
    m->kind = i->op == PTX_OP_LDMATRIX ? LANES_MATRIX_LDMATRIX : LANES_MATRIX_STMATRIX;
    m->count = i->count;
    m->transposed = i->flags & PTX_F_TRANS;
    return true;
}

bool lanes_matrix_find(const struct ptx_func *func, const struct ptx_instr *instr, enum lanes_isa isa,
                       struct lanes_matrix *m)
{
    (void)func, (void)isa; /* one form serves all: loops over f32 that any compiler vectorises */
    memset(m, 0, sizeof *m);
    bool found = false;
    if (!(instr->flags & PTX_F_UNKNOWN)) switch ((enum ptx_op)instr->op) {
        case PTX_OP_WMMA_LOAD:
        case PTX_OP_WMMA_STORE: found = find_wmma_move(instr, m); break;
        case PTX_OP_WMMA_MMA: found = find_wmma_mma(instr, m); break;
        case PTX_OP_MMA: found = find_mma(instr, m); break;
        case PTX_OP_LDMATRIX:
        case PTX_OP_STMATRIX: found = find_row_move(instr, m); break;
        default: break;
        }
    if (!found) memset(m, 0, sizeof *m);
    return found;
}

/* ---- ldmatrix, stmatrix: lane l holds elements (l / 4, 2 * (l % 4)) and the next of each 8x8 matrix ---- */
void lanes_ldmatrix(const struct lanes_matrix *m, const uint8_t row[][16], uint32_t *const *d)
{
    for (uint32_t k = 0; k < m->count; k++)
        for (uint32_t lane = 0; lane < LANES_COUNT; lane++) {
            uint16_t pair[2];
            for (uint32_t j = 0; j < 2; j++) {
                const uint32_t r = lane / 4, c = 2 * (lane % 4) + j;
                memcpy(&pair[j], &row[8 * k + (m->transposed ? c : r)][2 * (m->transposed ? r : c)], 2);
            }
            d[k][lane] = (uint32_t)pair[0] | (uint32_t)pair[1] << 16;
        }
}
void lanes_stmatrix(const struct lanes_matrix *m, uint8_t row[][16], const uint32_t *const *a)
{
    for (uint32_t k = 0; k < m->count; k++)
        for (uint32_t lane = 0; lane < LANES_COUNT; lane++)
            for (uint32_t j = 0; j < 2; j++) {
                const uint32_t r = lane / 4, c = 2 * (lane % 4) + j;
                const uint16_t v = (uint16_t)(a[k][lane] >> (16 * j));
                memcpy(&row[8 * k + (m->transposed ? c : r)][2 * (m->transposed ? r : c)], &v, 2);
            }
}
