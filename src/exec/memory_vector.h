/* memory_vector: part of memory_body.h; loads and stores of a vector per lane: two or four elements of 4
 * bytes, or two of 8.
 *
 * Registers are rows of lanes, memory has the elements of a lane beside each other: four elements of eight
 * lanes are moved by transposing, two by the lane. An instruction with a lane that the remembered range does
 * not hold, or that is not aligned, is left to h_load() and h_store() as a whole: they look the range up. */

typedef uint32_t v4x32 __attribute__((vector_size(16), aligned(4)));

/* The addresses of the lanes; false: not all of mask lie where the view allows. */
INLINE bool vector_addresses(const struct exec_warp *w, const struct insn *i, uint32_t mask,
                             const struct view *v, uint32_t whole, uint64_t at[LANES])
{
    const struct access *s = i->x.access;
    const void *address = ref_at(w, i->a);
    uint64_t bad = 0;
    if (s->address64)
        for (uint32_t lane = 0; lane < LANES; lane++) at[lane] = lane_address(address, true, s->offset, lane);
    else
        for (uint32_t lane = 0; lane < LANES; lane++)
            at[lane] = lane_address(address, false, s->offset, lane);
    for (uint32_t lane = 0; lane < LANES; lane++)
        bad |= (uint64_t)((at[lane] - v->lo >= v->limit) | ((at[lane] & (whole - 1)) != 0)) << lane;
    return !(bad & mask);
}

/* Four rows of four, twice side by side; the way back is the same. */
INLINE void transpose(v8a r[4])
{
    const v8a t0 = __builtin_shufflevector(r[0], r[1], 0, 8, 1, 9, 4, 12, 5, 13);
    const v8a t1 = __builtin_shufflevector(r[0], r[1], 2, 10, 3, 11, 6, 14, 7, 15);
    const v8a t2 = __builtin_shufflevector(r[2], r[3], 0, 8, 1, 9, 4, 12, 5, 13);
    const v8a t3 = __builtin_shufflevector(r[2], r[3], 2, 10, 3, 11, 6, 14, 7, 15);
    r[0] = __builtin_shufflevector(t0, t2, 0, 1, 8, 9, 4, 5, 12, 13);
    r[1] = __builtin_shufflevector(t0, t2, 2, 3, 10, 11, 6, 7, 14, 15);
    r[2] = __builtin_shufflevector(t1, t3, 0, 1, 8, 9, 4, 5, 12, 13);
    r[3] = __builtin_shufflevector(t1, t3, 2, 3, 10, 11, 6, 7, 14, 15);
}

/* Eight lanes from `first` on, four elements each, at from + at[0..7]. */
INLINE void load_four(const struct exec_warp *w, const struct access *s, const uint8_t *from,
                      const uint64_t *at, uint32_t first)
{
    v8a r[4];
    for (uint32_t k = 0; k < 4; k++)
        r[k] = __builtin_shufflevector(*(const v4x32 *)(from + at[k]), *(const v4x32 *)(from + at[k + 4]), 0,
                                       1, 2, 3, 4, 5, 6, 7);
    transpose(r);
    for (uint32_t e = 0; e < 4; e++) *(v8u *)(ref_at(w, s->reg[e]) + 4 * first) = r[e];
}

INLINE void store_four(const struct exec_warp *w, const struct access *s, uint8_t *to, const uint64_t *at,
                       uint32_t first)
{
    v8a r[4];
    for (uint32_t e = 0; e < 4; e++) r[e] = *(const v8u *)(ref_at(w, s->reg[e]) + 4 * first);
    transpose(r);
    for (uint32_t k = 0; k < 4; k++) *(v4x32 *)(to + at[k]) = __builtin_shufflevector(r[k], r[k], 0, 1, 2, 3);
    for (uint32_t k = 0; k < 4; k++) /* after the lanes before them: the highest wins */
        *(v4x32 *)(to + at[k + 4]) = __builtin_shufflevector(r[k], r[k], 4, 5, 6, 7);
}

INLINE const struct insn *load_vector(struct exec_warp *w, const struct insn *i, uint32_t mask,
                                      uint32_t count, uint32_t log2_bytes)
{
    const struct access *s = i->x.access;
    const uint32_t bytes = 1u << log2_bytes;
    const struct view v = view_of(w, s, s->space == PTX_SPACE_SHARED, bytes * count);
    uint64_t at[LANES]; /* all of them first: a destination may be the address register */
    if (!vector_addresses(w, i, mask, &v, bytes * count, at)) return h_load(w, i, mask);
    w->spin += s->strong;
    if (count == 4 && mask == LANES_ALL) {
        for (uint32_t g = 0; g < 4; g++) load_four(w, s, (const uint8_t *)v.origin, at + 8 * g, 8 * g);
        return i + 1;
    }
    uint8_t *d[4];
    for (uint32_t e = 0; e < count; e++) d[e] = ref_at(w, s->reg[e]);
    FOR_LANES(lane, mask)
    for (uint32_t e = 0; e < count; e++)
        __builtin_memcpy(d[e] + bytes * lane, (const uint8_t *)(v.origin + at[lane]) + bytes * e, bytes);
    return i + 1;
}

INLINE const struct insn *store_vector(struct exec_warp *w, const struct insn *i, uint32_t mask,
                                       uint32_t count, uint32_t log2_bytes)
{
    const struct access *s = i->x.access;
    const uint32_t bytes = 1u << log2_bytes;
    const struct view v = view_of(w, s, s->space == PTX_SPACE_SHARED, bytes * count);
    uint64_t at[LANES];
    if (!vector_addresses(w, i, mask, &v, bytes * count, at)) return h_store(w, i, mask);
    if (count == 4 && mask == LANES_ALL) {
        for (uint32_t g = 0; g < 4; g++) store_four(w, s, (uint8_t *)v.origin, at + 8 * g, 8 * g);
        return i + 1;
    }
    const uint8_t *a[4];
    for (uint32_t e = 0; e < count; e++) a[e] = ref_at(w, s->reg[e]);
    FOR_LANES(lane, mask)
    for (uint32_t e = 0; e < count; e++)
        __builtin_memcpy((uint8_t *)(v.origin + at[lane]) + bytes * e, a[e] + bytes * lane, bytes);
    return i + 1;
}

#define VECTOR_BODIES(kind) \
    static const struct insn *kind##_v2x32(struct exec_warp *w, const struct insn *i, uint32_t mask) \
    { \
        return kind##_vector(w, i, mask, 2, 2); \
    } \
    static const struct insn *kind##_v4x32(struct exec_warp *w, const struct insn *i, uint32_t mask) \
    { \
        return kind##_vector(w, i, mask, 4, 2); \
    } \
    static const struct insn *kind##_v2x64(struct exec_warp *w, const struct insn *i, uint32_t mask) \
    { \
        return kind##_vector(w, i, mask, 2, 3); \
    }
VECTOR_BODIES(load)
VECTOR_BODIES(store)

static void load_vector_groups(const struct exec_warp *w, const struct access *s, const uint8_t *from,
                               const uint64_t base[4], uint32_t unit)
{
    const uint64_t whole = (uint64_t)s->count << s->log2_bytes;
    for (uint32_t g = 0; g < 4; g++) {
        const uint64_t stride = unit >> g & 1 ? whole : 0;
        if (s->count == 4) {
            uint64_t at[8];
            for (uint32_t k = 0; k < 8; k++) at[k] = base[g] + stride * k;
            load_four(w, s, from, at, 8 * g);
            continue;
        }
        for (uint32_t e = 0; e < 2; e++) {
            const uint8_t *p = from + base[g] + ((size_t)e << s->log2_bytes);
            uint8_t *d = ref_at(w, s->reg[e]) + ((size_t)g * 8 << s->log2_bytes);
            for (uint32_t k = 0; k < 8; k++)
                if (s->log2_bytes == 3)
                    ((uint64_t *)d)[k] = *(const uint64_t *)(p + stride * k);
                else
                    ((uint32_t *)d)[k] = *(const uint32_t *)(p + stride * k);
        }
    }
}
