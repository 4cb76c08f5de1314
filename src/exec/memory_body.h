/* memory_body: the hot loads and stores, compiled once per instruction set (MEMORY_NAME gives the names).
 *
 * Eight lanes at a time: all active and at consecutive elements: one vector move; all at one address: one
 * load for the eight; else lane by lane. A lane outside of the range that this access met last goes through
 * access_load_lane(), which looks the address up and remembers its range. Generic addresses come here too:
 * windows are never inside an allocation, so shared and local lanes end in the slow path.
 *
 * Stores to one address: the highest lane wins, as if lanes stored in order. */
#include "exec/machine.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between inlined functions only */

typedef uint32_t v8u __attribute__((vector_size(32), aligned(4)));
typedef uint64_t v4u __attribute__((vector_size(32), aligned(8)));
typedef uint32_t v8a __attribute__((vector_size(32)));
typedef uint64_t v4a __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) bool none64(v4a x)
{
#ifdef __AVX2__
    return __builtin_ia32_ptestz256((__attribute__((vector_size(32))) long long)x,
                                    (__attribute__((vector_size(32))) long long)x);
#else
    return !(x[0] | x[1] | x[2] | x[3]);
#endif
}

static inline __attribute__((always_inline)) bool none32(v8a x) { return none64((v4a)x); }

enum { PATTERN_ANY, PATTERN_UNIT, PATTERN_SAME };

/* How the addresses of eight lanes lie. */
static inline __attribute__((always_inline)) int pattern64(const uint64_t *address, uint32_t log2_bytes)
{
    const v4a base = (v4a){} + address[0];
    const v4a d0 = *(const v4a *)address - base, d1 = *(const v4a *)(address + 4) - base;
    const v4a i0 = (v4a){0, 1, 2, 3} << log2_bytes, i1 = (v4a){4, 5, 6, 7} << log2_bytes;
    if (none64((d0 ^ i0) | (d1 ^ i1))) return PATTERN_UNIT;
    return none64(d0 | d1) ? PATTERN_SAME : PATTERN_ANY;
}

static inline __attribute__((always_inline)) int pattern32(const uint32_t *address, uint32_t log2_bytes)
{
    const v8a d = *(const v8a *)address - ((v8a){} + address[0]);
    if (none32(d ^ ((v8a){0, 1, 2, 3, 4, 5, 6, 7} << log2_bytes))) return PATTERN_UNIT;
    return none32(d) ? PATTERN_SAME : PATTERN_ANY;
}

static inline __attribute__((always_inline)) uint64_t lane_address(const void *address, bool wide,
                                                                   int64_t offset, uint32_t lane)
{
    return wide ? ((const uint64_t *)address)[lane] + (uint64_t)offset
                : (uint32_t)(((const uint32_t *)address)[lane] + (uint64_t)offset);
}

#define INLINE static inline __attribute__((always_inline))

/* What the groups of one access share. */
struct view {
    uint64_t lo, limit;  /* see struct access */
    uint64_t unit_limit; /* of eight elements */
    uint64_t origin;     /* added to an address: shared memory starts at 0, its bytes stand elsewhere */
};

INLINE struct view view_of(const struct exec_warp *w, const struct access *s, bool shared, uint32_t bytes)
{
    struct view v = {.lo = s->lo, .limit = s->limit};
    if (shared)
        v = (struct view){.limit = w->shared_bytes >= bytes ? w->shared_bytes - bytes + 1 : 0,
                          .origin = (uint64_t)w->shared};
    v.unit_limit = v.limit > 7 * bytes ? v.limit - 7 * bytes : 0;
    return v;
}

/* Eight elements that follow each other, or one for all eight lanes. */
INLINE void load_group(const uint8_t *from, uint8_t *out, bool unit, uint32_t log2_bytes)
{
    if (unit) {
        memcpy(out, from, (size_t)8 << log2_bytes);
    } else if (log2_bytes == 2) {
        *(v8u *)out = (v8a){} + *(const uint32_t *)from;
    } else {
        const v4a value = (v4a){} + *(const uint64_t *)from;
        ((v4u *)out)[0] = value;
        ((v4u *)out)[1] = value;
    }
}

/* Eight active lanes whose addresses have a pattern; false: nothing done. */
INLINE bool load_pattern(const struct view *v, const void *group, int64_t offset, uint8_t *out, bool wide,
                         uint32_t log2_bytes)
{
    const uint32_t bytes = 1u << log2_bytes;
    const int pattern = wide ? pattern64(group, log2_bytes) : pattern32(group, log2_bytes);
    const uint64_t at = lane_address(group, wide, offset, 0);
    const uint8_t *from = (const uint8_t *)(v->origin + at);
    if (pattern == PATTERN_ANY || at & (bytes - 1)) return false;
    if (at - v->lo >= (pattern == PATTERN_UNIT ? v->unit_limit : v->limit)) return false;
    load_group(from, out, pattern == PATTERN_UNIT, log2_bytes);
    return true;
}

/* May all eight be loaded without a look at each? */
INLINE bool are_inside(const struct view *v, const uint64_t at[8], uint32_t bytes)
{
#ifdef __AVX2__
    const v4a a = ((const v4u *)at)[0], b = ((const v4u *)at)[1];
    const v4a beyond = (v4a)(a - v->lo >= (v4a){} + v->limit) | (v4a)(b - v->lo >= (v4a){} + v->limit);
    return none64(beyond | ((a | b) & (bytes - 1)));
#else
    (void)v, (void)at, (void)bytes;
    return false; /* one by one is as good there */
#endif
}

/* Lanes of a group one by one. */
INLINE void load_lanes(struct exec_warp *w, const struct insn *i, uint32_t first, uint32_t part, bool shared,
                       bool wide, uint32_t log2_bytes)
{
    struct access *s = i->x.access;
    const uint32_t bytes = 1u << log2_bytes;
    const struct view v = view_of(w, s, shared, bytes);
    const void *group = ref_at(w, i->a) + (wide ? 8 : 4) * first;
    uint8_t *out = ref_at(w, i->d) + bytes * first;
    uint64_t kept[8]; /* the destination may be the address register */
    for (uint32_t k = 0; k < 8; k++) kept[k] = lane_address(group, wide, s->offset, k);
    if (part == 0xff && are_inside(&v, kept, bytes)) {
#pragma GCC unroll 8
        for (uint32_t k = 0; k < 8; k++)
            __builtin_memcpy(out + bytes * k, (const uint8_t *)(v.origin + kept[k]), bytes);
        return;
    }
    for (uint32_t left = part; left; left &= left - 1) {
        const uint32_t k = lowest_lane(left);
        const uint64_t at = kept[k];
        if (at - v.lo < v.limit && !(at & (bytes - 1)))
            __builtin_memcpy(out + bytes * k, (const uint8_t *)(v.origin + at), bytes);
        else
            access_load_lane(w, i, s, first + k, at);
    }
}

INLINE void store_lanes(struct exec_warp *w, const struct insn *i, uint32_t first, uint32_t part, bool shared,
                        bool wide, uint32_t log2_bytes)
{
    struct access *s = i->x.access;
    const uint32_t bytes = 1u << log2_bytes;
    const struct view v = view_of(w, s, shared, bytes);
    const void *group = ref_at(w, i->a) + (wide ? 8 : 4) * first;
    const uint8_t *in = ref_at(w, i->b) + bytes * first;
    for (uint32_t left = part; left; left &= left - 1) {
        const uint32_t k = lowest_lane(left);
        const uint64_t at = lane_address(group, wide, s->offset, k);
        if (at - v.lo < v.limit && !(at & (bytes - 1)))
            __builtin_memcpy((uint8_t *)(v.origin + at), in + bytes * k, bytes);
        else
            access_store_lane(w, i, s, first + k, at);
    }
}

/* All lanes, from addresses without a pattern, elements of 4 bytes; false: nothing done. */
INLINE bool load_scattered(const struct view *v, const void *address, int64_t offset, uint8_t *out)
{
#ifdef __AVX2__
    const v4u *const from = address;
    const uint64_t shifted = (uint64_t)offset - v->lo, end = v->limit - 1;
    const v4a shift = {shifted, shifted, shifted, shifted}, last = {end, end, end, end};
    v4a any = {0}, beyond = {0}; /* their highest bits: a place is before the range, or after it */
    if (end >= INT64_MAX || v->lo & 3) return false;
#pragma GCC unroll 8
    for (uint32_t k = 0; k < LANES / 4; k++) {
        const v4a place = from[k] + shift;
        any |= place;
        beyond |= last - place;
    }
    if (!none64(((any | beyond) & (uint64_t)1 << 63) | (any & 3))) return false;
    __m128i element[LANES / 4];
#pragma GCC unroll 8
    for (uint32_t k = 0; k < LANES / 4; k++)
        element[k] = _mm256_i64gather_epi32((const int *)v->lo, (__m256i)(from[k] + shift), 1);
    memcpy(out, element, sizeof element);
    return true;
#else
    (void)v, (void)address, (void)offset, (void)out;
    return false; /* one by one is as good there */
#endif
}

typedef void lanes_of_group(struct exec_warp *w, const struct insn *i, uint32_t first, uint32_t part);

INLINE const struct insn *load_body(struct exec_warp *w, const struct insn *i, uint32_t mask, bool shared,
                                    bool wide, uint32_t log2_bytes, lanes_of_group *lanes)
{
    const struct access *s = i->x.access;
    const uint32_t bytes = 1u << log2_bytes, stride = wide ? 64 : 32;
    const uint8_t *address = ref_at(w, i->a);
    uint8_t *d = ref_at(w, i->d);
    const struct view v = view_of(w, s, shared, bytes);
    w->spin += s->strong;
    if (mask == LANES_ALL) {
        const bool scattered = !shared && wide && bytes == 4;
#pragma GCC unroll 4
        for (uint32_t g = 0; g < 4; g++) {
            if (load_pattern(&v, address + stride * g, s->offset, d + 8 * bytes * g, wide, log2_bytes))
                continue;
            if (g == 0 && scattered && load_scattered(&v, address, s->offset, d)) return i + 1;
            lanes(w, i, 8 * g, 0xff);
        }
        return i + 1;
    }
    for (uint32_t g = 0; g < 4; g++) {
        const uint32_t part = mask >> (8 * g) & 0xff;
        if (part == 0xff &&
            load_pattern(&v, address + stride * g, s->offset, d + 8 * bytes * g, wide, log2_bytes))
            continue;
        if (part) lanes(w, i, 8 * g, part);
    }
    return i + 1;
}

INLINE const struct insn *store_body(struct exec_warp *w, const struct insn *i, uint32_t mask, bool shared,
                                     bool wide, uint32_t log2_bytes, lanes_of_group *lanes)
{
    const struct access *s = i->x.access;
    const uint32_t bytes = 1u << log2_bytes;
    const uint8_t *address = ref_at(w, i->a), *a = ref_at(w, i->b);
    const struct view v = view_of(w, s, shared, bytes);
    for (uint32_t g = 0; g < 4; g++) {
        const uint32_t part = mask >> (8 * g) & 0xff;
        const void *group = address + (wide ? 64 : 32) * g;
        if (part == 0xff &&
            (wide ? pattern64(group, log2_bytes) : pattern32(group, log2_bytes)) == PATTERN_UNIT) {
            const uint64_t at = lane_address(group, wide, s->offset, 0);
            if (at - v.lo < v.unit_limit && !(at & (bytes - 1))) {
                memcpy((uint8_t *)(v.origin + at), a + 8 * bytes * g, 8 * (size_t)bytes);
                continue;
            }
        }
        if (part) lanes(w, i, 8 * g, part);
    }
    return i + 1;
}

#define BODIES(kind, space, shared, width, wide, bits, log2_bytes) \
    static __attribute__((noinline)) void kind##bits##_##space##width##_lanes( \
        struct exec_warp *w, const struct insn *i, uint32_t first, uint32_t part) \
    { \
        kind##_lanes(w, i, first, part, shared, wide, log2_bytes); \
    } \
    static const struct insn *kind##bits##_##space##width(struct exec_warp *w, const struct insn *i, \
                                                          uint32_t mask) \
    { \
        return kind##_body(w, i, mask, shared, wide, log2_bytes, kind##bits##_##space##width##_lanes); \
    }
#define ALL_BODIES(kind) \
    BODIES(kind, global, false, a32, false, 32, 2) \
    BODIES(kind, global, false, a32, false, 64, 3) \
    BODIES(kind, global, false, a64, true, 32, 2) \
    BODIES(kind, global, false, a64, true, 64, 3) \
    BODIES(kind, shared, true, a32, false, 32, 2) \
    BODIES(kind, shared, true, a32, false, 64, 3) \
    BODIES(kind, shared, true, a64, true, 32, 2) \
    BODIES(kind, shared, true, a64, true, 64, 3)
ALL_BODIES(load)
ALL_BODIES(store)

static uint32_t groups_a64(const void *address, uint32_t log2_bytes, uint64_t base[4])
{
    uint32_t unit = 0;
#pragma GCC unroll 4
    for (uint32_t g = 0; g < 4; g++) {
        const uint64_t *group = (const uint64_t *)address + 8 * g;
        const int pattern = pattern64(group, log2_bytes);
        if (__builtin_expect(pattern == PATTERN_ANY, 0)) return UINT32_MAX;
        unit |= (uint32_t)(pattern == PATTERN_UNIT) << g;
        base[g] = group[0];
    }
    return unit;
}

static uint32_t groups_a32(const void *address, uint32_t log2_bytes, uint64_t base[4])
{
    uint32_t unit = 0;
#pragma GCC unroll 4
    for (uint32_t g = 0; g < 4; g++) {
        const uint32_t *group = (const uint32_t *)address + 8 * g;
        const int pattern = pattern32(group, log2_bytes);
        if (__builtin_expect(pattern == PATTERN_ANY, 0)) return UINT32_MAX;
        unit |= (uint32_t)(pattern == PATTERN_UNIT) << g;
        base[g] = group[0];
    }
    return unit;
}

static uint64_t shift_addresses(const uint64_t *address, uint64_t delta, uint64_t origin, uint64_t *to)
{
    v4a any = {0};
#pragma GCC unroll 8
    for (uint32_t k = 0; k < LANES; k += 4) {
        const v4a place = *(const v4u *)(address + k) + delta;
        any |= place;
        *(v4u *)(to + k) = place + origin;
    }
    return any[0] | any[1] | any[2] | any[3];
}

#define LOAD_GROUPS(bits, log2_bytes) \
    static void load##bits##_groups(const uint8_t *from, const uint64_t base[4], uint32_t unit, uint8_t *to) \
    { \
        for (uint32_t g = 0; g < 4; g++) \
            load_group(from + base[g], to + ((size_t)g * 8 << log2_bytes), unit >> g & 1, log2_bytes); \
    }
LOAD_GROUPS(32, 2)
LOAD_GROUPS(64, 3)

#include "exec/memory_vector.h"

#define TABLE(kind) \
    { \
        {{kind##32_globala32, kind##64_globala32}, {kind##32_globala64, kind##64_globala64}}, \
        { \
            {kind##32_shareda32, kind##64_shareda32}, { kind##32_shareda64, kind##64_shareda64 } \
        } \
    }
const struct memory_handlers MEMORY_NAME = {.load = TABLE(load),
                                            .store = TABLE(store),
                                            .groups = {groups_a32, groups_a64},
                                            .shift_addresses = shift_addresses,
                                            .load_groups = {load32_groups, load64_groups},
                                            .load_vector = {load_v2x32, load_v4x32, load_v2x64},
                                            .store_vector = {store_v2x32, store_v4x32, store_v2x64},
                                            .load_vector_groups = load_vector_groups};
