/* atom: atom and red of every operation and type. Lanes act in order; the simulator is one thread, so each is
 * a plain read, change, write. Scopes and orders matter to timing only. */
#include "exec/half.h"
#include "exec/sites.h"

/* ---- 16-bit floating point ---- */

static float bf16_to_f32(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static uint16_t f32_to_bf16(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    if ((b & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

static float number_or(float a, float b, bool max)
{
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return (max ? !__builtin_signbit(a) : __builtin_signbit(a)) ? a : b;
    return (max ? a > b : a < b) ? a : b;
}

static float combine_f32(uint32_t op, float a, float b)
{
    if (op == PTX_SUB_ADD) return a + b;
    return number_or(a, b, op == PTX_SUB_MAX);
}

static uint16_t combine_half(uint32_t op, uint16_t a, uint16_t b, bool bf16)
{
    if (bf16) return f32_to_bf16(combine_f32(op, bf16_to_f32(a), bf16_to_f32(b)));
    return f32_to_f16(combine_f32(op, f16_to_f32(a), f16_to_f32(b)));
}

static uint32_t flush(uint32_t bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

/* PTX: atom.add.f32 on global memory flushes subnormal inputs and results; on shared memory it does not. */
static uint32_t add_f32(uint32_t a, uint32_t b, bool global)
{
    float x, y, z;
    uint32_t bits;
    if (global) {
        a = flush(a);
        b = flush(b);
    }
    memcpy(&x, &a, 4);
    memcpy(&y, &b, 4);
    z = x + y;
    memcpy(&bits, &z, 4);
    if (z != z) bits = 0x7fffffff;
    return global ? flush(bits) : bits;
}

static uint64_t combine_float(uint32_t op, uint32_t type, uint64_t a, uint64_t b, bool global)
{
    switch (type) {
    case PTX_T_F32:
        if (op == PTX_SUB_ADD) return add_f32((uint32_t)a, (uint32_t)b, global);
        {
            float x, y;
            uint32_t bits;
            memcpy(&x, &a, 4);
            memcpy(&y, &b, 4);
            x = combine_f32(op, x, y);
            memcpy(&bits, &x, 4);
            return bits;
        }
    case PTX_T_F64: {
        double x, y;
        uint64_t bits;
        memcpy(&x, &a, 8);
        memcpy(&y, &b, 8);
        x += y;
        memcpy(&bits, &x, 8);
        return x != x ? 0x7fffffffffffffff : bits;
    }
    case PTX_T_F16:
    case PTX_T_BF16: return combine_half(op, (uint16_t)a, (uint16_t)b, type == PTX_T_BF16);
    default: { /* F16X2, BF16X2 */
        const bool bf16 = type == PTX_T_BF16X2;
        const uint32_t lo = combine_half(op, (uint16_t)a, (uint16_t)b, bf16);
        return lo | (uint32_t)combine_half(op, (uint16_t)(a >> 16), (uint16_t)(b >> 16), bf16) << 16;
    }
    }
}

static bool is_float(uint32_t type) { return ptx_type_kind((enum ptx_type)type) == 'F'; }

bool atom_supports(uint32_t op, uint32_t type)
{
    const uint32_t bits = ptx_type_bits((enum ptx_type)type);
    if (op == PTX_SUB_CAS || op == PTX_SUB_EXCH) return bits == 16 || bits == 32 || bits == 64 || bits == 128;
    if (bits != 32 && bits != 64 && !is_float(type)) return false;
    switch (op) {
    case PTX_SUB_ADD:
    case PTX_SUB_MIN:
    case PTX_SUB_MAX:
        if (!is_float(type)) return true;
        return type == PTX_T_F32 || (type == PTX_T_F64 && op == PTX_SUB_ADD) || type == PTX_T_F16 ||
               type == PTX_T_BF16 || type == PTX_T_F16X2 || type == PTX_T_BF16X2;
    case PTX_SUB_AND:
    case PTX_SUB_OR:
    case PTX_SUB_XOR: return !is_float(type);
    case PTX_SUB_INC:
    case PTX_SUB_DEC: return bits == 32 && !is_float(type);
    default: return false;
    }
}

/* The new value; operands hold the low bits of the type. */
static uint64_t combine(const struct access *s, uint64_t old, uint64_t b, uint64_t c, bool global)
{
    const bool narrow = s->log2_bytes == 2, is_signed = ptx_type_kind((enum ptx_type)s->type) == 'S';
    switch (s->op) {
    case PTX_SUB_EXCH: return b;
    case PTX_SUB_CAS: return old == b ? c : old;
    case PTX_SUB_AND: return old & b;
    case PTX_SUB_OR: return old | b;
    case PTX_SUB_XOR: return old ^ b;
    case PTX_SUB_INC: return (uint32_t)old >= (uint32_t)b ? 0 : old + 1;
    case PTX_SUB_DEC: return (uint32_t)old == 0 || (uint32_t)old > (uint32_t)b ? b : old - 1;
    default: break;
    }
    if (is_float(s->type)) return combine_float(s->op, s->type, old, b, global);
    if (s->op == PTX_SUB_ADD) return old + b;
    bool less = old < b;
    if (is_signed) less = narrow ? (int32_t)(uint32_t)old < (int32_t)(uint32_t)b : (int64_t)old < (int64_t)b;
    return less == (s->op == PTX_SUB_MIN) ? old : b;
}

static uint64_t source(const struct exec_warp *w, uint32_t ref, uint32_t bytes, uint32_t lane)
{
    if (ref == UINT32_MAX) return 0;
    const uint8_t *a = ref_at(w, ref);
    if (bytes == 8) return ((const uint64_t *)a)[lane];
    const uint32_t v = ((const uint32_t *)a)[lane];
    return bytes == 2 ? (uint16_t)v : v;
}

/* Local memory is interleaved; everything else is flat. */
static void read_word(const uint8_t *p, uint32_t space, void *to, uint32_t bytes)
{
    if (space != PTX_SPACE_LOCAL || bytes <= 4)
        memcpy(to, p, bytes);
    else
        for (uint32_t k = 0; k < bytes / 4; k++) memcpy((uint8_t *)to + 4 * k, p + 128 * k, 4);
}

static void write_word(uint8_t *p, uint32_t space, const void *from, uint32_t bytes)
{
    if (space != PTX_SPACE_LOCAL || bytes <= 4)
        memcpy(p, from, bytes);
    else
        for (uint32_t k = 0; k < bytes / 4; k++) memcpy(p + 128 * k, (const uint8_t *)from + 4 * k, 4);
}

static void atom128(struct exec_warp *w, const struct access *s, uint32_t lane, uint8_t *p, uint32_t space)
{
    struct lanes_u128 old, next;
    read_word(p, space, &old, 16);
    const struct lanes_u128 b = ((const struct lanes_u128 *)ref_at(w, s->b))[lane];
    next = b;
    if (s->op == PTX_SUB_CAS) {
        const bool same = old.lo == b.lo && old.hi == b.hi;
        next = same ? ((const struct lanes_u128 *)ref_at(w, s->c))[lane] : old;
    }
    write_word(p, space, &next, 16);
    if (s->reg[0] != UINT32_MAX) ((struct lanes_u128 *)ref_at(w, s->reg[0]))[lane] = old;
}

const struct insn *h_atom(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    struct access *s = i->x.access;
    const uint32_t bytes = 1u << s->log2_bytes;
    w->spin++;
    FOR_LANES(lane, mask)
    {
        uint32_t space;
        uint8_t *p = access_pointer(w, i, s, lane, access_address(w, s, lane), bytes, &space);
        if (bytes == 16) {
            atom128(w, s, lane, p, space);
            continue;
        }
        uint64_t old = 0;
        read_word(p, space, &old, bytes);
        const uint64_t next = combine(s, old, source(w, s->b, bytes, lane), source(w, s->c, bytes, lane),
                                      space == PTX_SPACE_GLOBAL);
        write_word(p, space, &next, bytes);
        if (s->reg[0] == UINT32_MAX) continue;
        if (s->reg64[0])
            ((uint64_t *)ref_at(w, s->reg[0]))[lane] = old;
        else
            ((uint32_t *)ref_at(w, s->reg[0]))[lane] = (uint32_t)old;
    }
    return i + 1;
}
