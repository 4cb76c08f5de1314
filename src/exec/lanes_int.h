/* lanes_int: integer operations of PTX as branch-free scalar functions (see lanes_float.h). */
#ifndef ATOLL_EXEC_LANES_INT_H
#define ATOLL_EXEC_LANES_INT_H

#include "exec/lanes_float.h"

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

LANES_INLINE u32 mulhi_u32(u32 a, u32 b) { return (u32)(((u64)a * b) >> 32); }
LANES_INLINE s32 mulhi_s32(s32 a, s32 b) { return (s32)(((s64)a * b) >> 32); }
LANES_INLINE u64 mulhi_u64(u64 a, u64 b) { return (u64)(((u128)a * b) >> 64); }
LANES_INLINE s64 mulhi_s64(s64 a, s64 b) { return (s64)(((s128)a * b) >> 64); }

LANES_INLINE s32 saturate_s32(s64 v)
{
    return (s32)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

/* low 24 bits, with their sign */
LANES_INLINE s32 low24_s(s32 a) { return (s32)((u32)a << 8) >> 8; }
LANES_INLINE u32 low24_u(u32 a) { return a & 0xffffffu; }

/* Division by zero: the manual leaves it open.
 * ASSUMPTION: quotient and remainder are all ones, as the code that ptxas emits gives. */
LANES_INLINE u32 div_u32(u32 a, u32 b)
{
    /* The quotient in double is within half a unit of the last place, so that rounding it to an integer
     * is right or one too large. No vector unit divides integers. */
    const f64 t = (f64)a / (f64)b;
    const u64 q = bits64(t + 0x1p52) & 0x1ffffffffull;
    const u64 over = (q & 0xffffffffull) * b + (q > 0xffffffffull ? (u64)b << 32 : 0) > a;
    return b == 0 ? 0xffffffffu : (u32)(q - over);
}
LANES_INLINE u32 rem_u32(u32 a, u32 b)
{
    const u32 q = div_u32(a, b);
    return b == 0 ? 0xffffffffu : a - q * b;
}
LANES_INLINE s32 div_s32(s32 a, s32 b)
{
    const u32 q = div_u32(a < 0 ? 0u - (u32)a : (u32)a, b < 0 ? 0u - (u32)b : (u32)b);
    const u32 r = (a ^ b) < 0 ? 0u - q : q;
    return b == 0 ? -1 : (s32)r;
}
LANES_INLINE s32 rem_s32(s32 a, s32 b)
{
    const u32 q = (u32)div_s32(a, b);
    return b == 0 ? -1 : (s32)((u32)a - q * (u32)b);
}
LANES_INLINE u64 div_u64(u64 a, u64 b) { return b == 0 ? ~0ull : a / (b == 0 ? 1 : b); }
LANES_INLINE u64 rem_u64(u64 a, u64 b) { return b == 0 ? ~0ull : a % (b == 0 ? 1 : b); }
LANES_INLINE s64 div_s64(s64 a, s64 b)
{
    const s64 by = b == 0 || b == -1 ? 1 : b; /* INT64_MIN / -1 would trap */
    return b == 0 ? -1 : b == -1 ? (s64)(0 - (u64)a) : a / by;
}
LANES_INLINE s64 rem_s64(s64 a, s64 b)
{
    const s64 by = b == 0 || b == -1 ? 1 : b;
    return b == 0 ? -1 : a % by;
}

/* shifts clamp at the width */
LANES_INLINE u32 shl_b32(u32 a, u32 n) { return n < 32 ? a << (n & 31) : 0; }
LANES_INLINE u32 shr_u32(u32 a, u32 n) { return n < 32 ? a >> (n & 31) : 0; }
LANES_INLINE s32 shr_s32(s32 a, u32 n) { return a >> (n < 31 ? n : 31); }
LANES_INLINE u64 shl_b64(u64 a, u32 n) { return n < 64 ? a << (n & 63) : 0; }
LANES_INLINE u64 shr_u64(u64 a, u32 n) { return n < 64 ? a >> (n & 63) : 0; }
LANES_INLINE s64 shr_s64(s64 a, u32 n) { return a >> (n < 63 ? n : 63); }

LANES_INLINE u32 ones32(u32 n) { return n >= 32 ? 0xffffffffu : (1u << (n & 31)) - 1u; }
LANES_INLINE u64 ones64(u32 n) { return n >= 64 ? ~0ull : (1ull << (n & 63)) - 1ull; }

LANES_INLINE u32 bfe_32(u32 a, u32 b, u32 c, int is_signed)
{
    const u32 pos = b & 0xff, len = c & 0xff;
    const u32 room = pos < 32 ? 32 - pos : 0;
    const u32 mask = ones32(len < room ? len : room);
    const u32 last = pos + len - 1 < 31 ? pos + len - 1 : 31;
    const u32 sign = is_signed && len != 0 ? 0u - ((a >> (last & 31)) & 1u) : 0u;
    return (shr_u32(a, pos) & mask) | (sign & ~mask);
}
LANES_INLINE u64 bfe_64(u64 a, u32 b, u32 c, int is_signed)
{
    const u32 pos = b & 0xff, len = c & 0xff;
    const u32 room = pos < 64 ? 64 - pos : 0;
    const u64 mask = ones64(len < room ? len : room);
    const u32 last = pos + len - 1 < 63 ? pos + len - 1 : 63;
    const u64 sign = is_signed && len != 0 ? 0ull - ((a >> (last & 63)) & 1ull) : 0ull;
    return (shr_u64(a, pos) & mask) | (sign & ~mask);
}
LANES_INLINE u32 bfi_32(u32 a, u32 b, u32 c, u32 e)
{
    const u32 pos = c & 0xff, mask = shl_b32(ones32(e & 0xff), pos);
    return (b & ~mask) | (shl_b32(a, pos) & mask);
}
LANES_INLINE u64 bfi_64(u64 a, u64 b, u32 c, u32 e)
{
    const u32 pos = c & 0xff;
    const u64 mask = shl_b64(ones64(e & 0xff), pos);
    return (b & ~mask) | (shl_b64(a, pos) & mask);
}
LANES_INLINE u32 popc_32(u32 a)
{
    a = a - ((a >> 1) & 0x55555555u);
    a = (a & 0x33333333u) + ((a >> 2) & 0x33333333u);
    a = (a + (a >> 4)) & 0x0f0f0f0fu;
    return (a * 0x01010101u) >> 24;
}
LANES_INLINE u32 popc_64(u64 a) { return popc_32((u32)a) + popc_32((u32)(a >> 32)); }
LANES_INLINE u32 smear_32(u32 a)
{
    a |= a >> 1;
    a |= a >> 2;
    a |= a >> 4;
    a |= a >> 8;
    return a | a >> 16;
}
LANES_INLINE u32 clz_32(u32 a) { return 32 - popc_32(smear_32(a)); }
LANES_INLINE u32 clz_64(u64 a)
{
    const u32 high = (u32)(a >> 32);
    return high != 0 ? clz_32(high) : 32 + clz_32((u32)a);
}
/* position of the highest set bit, ~0 for none; shiftamt: the shift that brings it to the top */
LANES_INLINE u32 bfind_32(u32 a, u32 shiftamt)
{
    const u32 n = clz_32(a);
    return a == 0 ? 0xffffffffu : shiftamt ? n : 31 - n;
}
LANES_INLINE u32 bfind_64(u64 a, u32 shiftamt)
{
    const u32 n = clz_64(a);
    return a == 0 ? 0xffffffffu : shiftamt ? n : 63 - n;
}
LANES_INLINE u32 brev_32(u32 a)
{
    a = ((a >> 1) & 0x55555555u) | ((a & 0x55555555u) << 1);
    a = ((a >> 2) & 0x33333333u) | ((a & 0x33333333u) << 2);
    a = ((a >> 4) & 0x0f0f0f0fu) | ((a & 0x0f0f0f0fu) << 4);
    a = ((a >> 8) & 0x00ff00ffu) | ((a & 0x00ff00ffu) << 8);
    return a >> 16 | a << 16;
}
LANES_INLINE u64 brev_64(u64 a) { return (u64)brev_32((u32)a) << 32 | brev_32((u32)(a >> 32)); }

LANES_INLINE u32 bmsk_32(u32 a, u32 b, u32 clamp)
{
    const u32 a1 = a & 31, b1 = b & 31, sum = a1 + b1;
    const u32 low = clamp && a >= 32 ? 0 : 0xffffffffu << a1;
    const u32 open = sum >= 32 || (clamp && (a >= 32 || b >= 32));
    const u32 high = open ? 0 : 0xffffffffu << (sum & 31);
    return low & ~high;
}
LANES_INLINE u32 szext_32(u32 a, u32 b, u32 clamp, u32 is_signed)
{
    const u32 n = clamp ? b : b & 31;
    const u32 mask = ones32(n);
    const u32 sign = is_signed && n != 0 && n < 32 && (a >> ((n - 1) & 31) & 1u) ? ~mask : 0;
    return (a & mask) | sign;
}
LANES_INLINE u32 fns_32(u32 mask, u32 base, s32 offset)
{
    const u32 at = base & 31; /* ASSUMPTION: a base beyond 31 wraps; the manual demands 0..31 */
    if (offset == 0) return (mask >> at) & 1u ? at : 0xffffffffu;
    u32 left = offset > 0 ? (u32)offset : 0u - (u32)offset;
    for (s32 pos = (s32)at; pos >= 0 && pos<32; pos += offset> 0 ? 1 : -1)
        if ((mask >> pos) & 1u)
            if (--left == 0) return (u32)pos;
    return 0xffffffffu;
}

LANES_INLINE u32 prmt_byte(u64 bytes, u32 selector)
{
    const u32 byte = (u32)(bytes >> ((selector & 7) * 8)) & 0xff;
    const u32 spread = byte & 0x80 ? 0xff : 0;
    return selector & 8 ? spread : byte;
}
LANES_INLINE u32 prmt_32(u32 a, u32 b, u32 selectors)
{
    const u64 bytes = (u64)b << 32 | a;
    return prmt_byte(bytes, selectors) | prmt_byte(bytes, selectors >> 4) << 8 |
           prmt_byte(bytes, selectors >> 8) << 16 | prmt_byte(bytes, selectors >> 12) << 24;
}

LANES_INLINE u32 shf_32(u32 a, u32 b, u32 c, u32 left, u32 clamp)
{
    const u32 n = clamp ? (c < 32 ? c : 32) : c & 31;
    const u64 both = (u64)b << 32 | a;
    return left ? (u32)((both << n) >> 32) : (u32)(both >> n);
}

/* dot products of bytes: sa, sb = is the operand signed */
LANES_INLINE s32 byte_of(u32 v, u32 i, u32 is_signed)
{
    const u32 u = (v >> (8 * i)) & 0xff;
    return is_signed ? (s32)(s8)(u8)u : (s32)u;
}
LANES_INLINE s32 half_of(u32 v, u32 i, u32 is_signed)
{
    const u32 u = (v >> (16 * i)) & 0xffff;
    return is_signed ? (s32)(s16)(u16)u : (s32)u;
}
LANES_INLINE u32 dp4a_32(u32 a, u32 b, u32 c, u32 sa, u32 sb)
{
    u32 r = c;
    r += (u32)(byte_of(a, 0, sa) * byte_of(b, 0, sb));
    r += (u32)(byte_of(a, 1, sa) * byte_of(b, 1, sb));
    r += (u32)(byte_of(a, 2, sa) * byte_of(b, 2, sb));
    r += (u32)(byte_of(a, 3, sa) * byte_of(b, 3, sb));
    return r;
}
LANES_INLINE u32 dp2a_32(u32 a, u32 b, u32 c, u32 sa, u32 sb, u32 high)
{
    u32 r = c;
    r += (u32)(half_of(a, 0, sa) * byte_of(b, high ? 2 : 0, sb));
    r += (u32)(half_of(a, 1, sa) * byte_of(b, high ? 3 : 1, sb));
    return r;
}

#endif
