/* half: one f16 from and to f32, for code that is not vectorised (atomics, images). */
#ifndef ATOLL_EXEC_HALF_H
#define ATOLL_EXEC_HALF_H

#include <stdint.h>
#include <string.h>

static inline float f16_to_f32(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    uint32_t bits;
    if (e == 31) {
        bits = sign | 0x7f800000 | m << 13;
    } else if (e) {
        bits = sign | (e + 112) << 23 | m << 13;
    } else { /* m * 2^-24 is exact */
        const float v = (float)m * 0x1p-24f;
        memcpy(&bits, &v, 4);
        bits |= sign;
    }
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* Rounded to nearest even; a NaN becomes the canonical one. */
static inline uint16_t f32_to_f16(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    const uint32_t sign = b >> 16 & 0x8000, magnitude = b & 0x7fffffff;
    if (magnitude > 0x7f800000) return 0x7fff;
    if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x33000001) return (uint16_t)sign;
    const uint32_t e = magnitude >> 23;
    uint32_t m = (magnitude & 0x7fffff) | 0x800000;
    const uint32_t shift = e >= 113 ? 13 : 126 - e;
    const uint32_t half = 1u << (shift - 1), rest = m & ((1u << shift) - 1);
    m >>= shift;
    if (rest > half || (rest == half && (m & 1))) m++;
    return (uint16_t)(sign | (e >= 113 ? ((e - 113) << 10) + m : m));
}

#endif
