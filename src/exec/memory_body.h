/* memory_body: the hot loads and stores, compiled once per instruction set (MEMORY_NAME gives the names).
 *
 * Eight lanes at a time: all active and at consecutive elements: one vector move; all at one address: one
 * load for the eight; else lane by lane. A lane outside of the range that this access met last goes through
 * access_load_lane(), which looks the address up and remembers its range. Generic addresses come here too:
 * windows are never inside an allocation, so shared and local lanes end in the slow path.
 *
 * Stores to one address: the highest lane wins, as if lanes stored in order. */
#include "exec/machine.h"

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

static inline __attribute__((always_inline)) const struct insn *load_body(struct exec_warp *w,
                                                                          const struct insn *i, uint32_t mask,
                                                                          bool shared, bool wide,
                                                                          uint32_t log2_bytes)
{
    struct access *s = i->x.access;
    const uint32_t bytes = 1u << log2_bytes;
    const uint8_t *address = ref_at(w, i->a);
    uint8_t *d = ref_at(w, i->d);
    const int64_t offset = s->offset;
    uint64_t kept[8];
    /* shared: a range that starts at 0; the memory stands elsewhere */
    const uint64_t origin = shared ? (uint64_t)w->shared : 0;
    const uint64_t shared_limit = w->shared_bytes >= bytes ? w->shared_bytes - bytes + 1 : 0;
    w->spin += s->strong;
    for (uint32_t first = 0; first < LANES; first += 8) {
        const uint32_t part = mask >> first & 0xff;
        const uint64_t lo = shared ? 0 : s->lo, limit = shared ? shared_limit : s->limit;
        const void *group = address + (wide ? 8 : 4) * first;
        uint8_t *out = d + bytes * first;
        if (part == 0xff) {
            const int pattern = wide ? pattern64(group, log2_bytes) : pattern32(group, log2_bytes);
            const uint64_t at = lane_address(group, wide, offset, 0);
            if (pattern == PATTERN_UNIT && at - lo < limit && at + 7 * bytes - lo < limit &&
                !(at & (bytes - 1))) {
                memcpy(out, (const uint8_t *)(origin + at), 8 * (size_t)bytes);
                continue;
            }
            if (pattern == PATTERN_SAME && at - lo < limit && !(at & (bytes - 1))) {
                if (log2_bytes == 2) {
                    *(v8u *)out = (v8a){} + *(const uint32_t *)(origin + at);
                } else {
                    const v4a v = (v4a){} + *(const uint64_t *)(origin + at);
                    ((v4u *)out)[0] = v;
                    ((v4u *)out)[1] = v;
                }
                continue;
            }
        } else if (!part) {
            continue;
        }
        /* The destination may be the address register: keep the addresses. */
        for (uint32_t k = 0; k < 8; k++) kept[k] = lane_address(group, wide, offset, k);
        for (uint32_t left = part; left; left &= left - 1) {
            const uint32_t k = lowest_lane(left);
            const uint64_t at = kept[k];
            if (at - lo < limit && !(at & (bytes - 1)))
                __builtin_memcpy(out + bytes * k, (const uint8_t *)(origin + at), bytes);
            else
                access_load_lane(w, i, s, first + k, at);
        }
    }
    return i + 1;
}

static inline __attribute__((always_inline)) const struct insn *store_body(struct exec_warp *w,
                                                                           const struct insn *i,
                                                                           uint32_t mask, bool shared,
                                                                           bool wide, uint32_t log2_bytes)
{
    struct access *s = i->x.access;
    const uint32_t bytes = 1u << log2_bytes;
    const uint8_t *address = ref_at(w, i->a);
    const uint8_t *a = ref_at(w, i->b);
    const int64_t offset = s->offset;
    const uint64_t origin = shared ? (uint64_t)w->shared : 0;
    const uint64_t shared_limit = w->shared_bytes >= bytes ? w->shared_bytes - bytes + 1 : 0;
    for (uint32_t first = 0; first < LANES; first += 8) {
        const uint32_t part = mask >> first & 0xff;
        const uint64_t lo = shared ? 0 : s->lo, limit = shared ? shared_limit : s->limit;
        const void *group = address + (wide ? 8 : 4) * first;
        const uint8_t *in = a + bytes * first;
        if (part == 0xff) {
            const int pattern = wide ? pattern64(group, log2_bytes) : pattern32(group, log2_bytes);
            const uint64_t at = lane_address(group, wide, offset, 0);
            if (pattern == PATTERN_UNIT && at - lo < limit && at + 7 * bytes - lo < limit &&
                !(at & (bytes - 1))) {
                memcpy((uint8_t *)(origin + at), in, 8 * (size_t)bytes);
                continue;
            }
        } else if (!part) {
            continue;
        }
        for (uint32_t left = part; left; left &= left - 1) {
            const uint32_t k = lowest_lane(left);
            const uint64_t at = lane_address(group, wide, offset, k);
            if (at - lo < limit && !(at & (bytes - 1)))
                __builtin_memcpy((uint8_t *)(origin + at), in + bytes * k, bytes);
            else
                access_store_lane(w, i, s, first + k, at);
        }
    }
    return i + 1;
}

#define BODIES(kind, space, shared, width, wide, bits, log2_bytes) \
    static const struct insn *kind##bits##_##space##width(struct exec_warp *w, const struct insn *i, \
                                                          uint32_t mask) \
    { \
        return kind##_body(w, i, mask, shared, wide, log2_bytes); \
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

#define TABLE(kind) \
    { \
        {{kind##32_globala32, kind##64_globala32}, {kind##32_globala64, kind##64_globala64}}, \
        { \
            {kind##32_shareda32, kind##64_shareda32}, { kind##32_shareda64, kind##64_shareda64 } \
        } \
    }
const struct memory_handlers MEMORY_NAME = {.load = TABLE(load), .store = TABLE(store)};
