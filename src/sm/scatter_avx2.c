/* scatter_avx2: the lines of a load whose 32 lanes lie apart, four lanes at a time: what coalesce() finds,
 * and what look_ahead() (lsu.c) works out for each line. */
#include <string.h>

#include "sm/sm_private.h"

#ifdef __AVX2__
#include <immintrin.h>

typedef __m256i v4;

static inline v4 all(uint64_t x) { return _mm256_set1_epi64x((long long)x); }
static inline v4 both(v4 a, v4 b) { return _mm256_or_si256(a, b); }
static inline v4 lower_bits(v4 a, uint64_t mask) { return _mm256_and_si256(a, all(mask)); }
static inline v4 down(v4 a, int bits) { return _mm256_srli_epi64(a, bits); }
static inline v4 folded(v4 a, int bits) { return _mm256_xor_si256(a, down(a, bits)); }
static inline v4 words_at(const uint64_t *table, v4 idx)
{
    return _mm256_i64gather_epi64((const long long *)table, idx, 8);
}
static inline __m128i halves_at(const uint32_t *table, v4 idx)
{
    return _mm256_i64gather_epi32((const int *)table, idx, 4);
}

/* z * c, the lower 64 bits: low x low, and both low x high added to its upper half. */
static inline v4 times(v4 z, uint64_t c)
{
    const v4 cross = _mm256_mullo_epi32(z, all(c << 32 | c >> 32));
    const v4 sum = _mm256_add_epi64(_mm256_mul_epu32(z, all(c)), lower_bits(cross, 0xffffffff00000000u));
    return _mm256_add_epi64(sum, _mm256_slli_epi64(cross, 32));
}

_Static_assert(offsetof(struct line_access, physical) == 8 && offsetof(struct line_access, where) == 16 &&
                   offsetof(struct line_access, load) == 24 && offsetof(struct line_access, sectors) == 30 &&
                   offsetof(struct line_where, set) == 2 && offsetof(struct line_where, slot) == 4 &&
                   offsetof(struct line_where, hint) == 6,
               "fields of vectors");
enum { SET_BIT = 16, SLOT_BIT = 32, HINT_BIT = 48, SECTORS_BIT = 48 };

/* What is the same for all lanes: stores to lines do not touch it. */
struct scatter {
    const struct page_cache *pages;
    const uint32_t *lower, *upper; /* of the page table, */
    v4 lower_mask, upper_mask;
    v4 key;            /* of page 0 */
    v4 set_mask, rest; /* rest: of a line_access, from `load` on */
    __m128i page_bits, set_bits;
    v4 known; /* pages, so far */
};

static inline struct scatter scatter_of(const struct sm *sm, const struct line_access *model)
{
    uint64_t rest;
    memcpy(&rest, &model->load, sizeof rest);
    return (struct scatter){.pages = sm->pages,
                            .lower = sm->table->lower,
                            .upper = sm->table->upper,
                            .lower_mask = all(sm->table->lower_mask),
                            .upper_mask = all(sm->table->upper_mask),
                            .key = all(pages_key(sm->app, 0)),
                            .set_mask = all(sm->spec->sets - 1), /* at most 16 bits, l1.quick */
                            .rest = all(rest | (uint64_t)sm->l1.whole << SECTORS_BIT),
                            .page_bits = _mm_cvtsi32_si128((int)sm->page_lines_log2),
                            .set_bits = _mm_cvtsi32_si128((int)sm->spec->hashed_log2),
                            .known = all(UINT64_MAX)};
}

/* tags_set_of_run() */
static inline v4 sets_of(const struct scatter *s, v4 line)
{
    const v4 once = times(folded(_mm256_srl_epi64(line, s->set_bits), 32), HASH_U64);
    const v4 twice = folded(times(folded(once, 32), HASH_U64), 32);
    return _mm256_and_si256(_mm256_add_epi64(line, twice), s->set_mask);
}

static inline v4 slices_of(const struct scatter *s, v4 line, v4 page)
{
    const v4 lower = _mm256_and_si256(line, s->lower_mask),
             upper = _mm256_and_si256(down(line, PAGES_PIECE_LOG2), s->upper_mask);
    const __m128i in_page = _mm_xor_si128(halves_at(s->lower, lower), halves_at(s->upper, upper));
    return _mm256_cvtepu32_epi64(_mm_xor_si128(in_page, halves_at(s->pages->slice, page)));
}

/* Four vectors of a field each > four lines. */
static inline void put_lines(struct line_access *out, v4 line, v4 physical, v4 where, v4 rest)
{
    const v4 a = _mm256_unpacklo_epi64(line, physical), b = _mm256_unpackhi_epi64(line, physical),
             c = _mm256_unpacklo_epi64(where, rest), d = _mm256_unpackhi_epi64(where, rest);
    _mm256_store_si256((v4 *)&out[0], _mm256_permute2x128_si256(a, c, 0x20));
    _mm256_store_si256((v4 *)&out[1], _mm256_permute2x128_si256(b, d, 0x20));
    _mm256_store_si256((v4 *)&out[2], _mm256_permute2x128_si256(a, c, 0x31));
    _mm256_store_si256((v4 *)&out[3], _mm256_permute2x128_si256(b, d, 0x31));
}

/* Returns the hashes of the lines. */
static inline __attribute__((always_inline)) v4 four_lines(struct scatter *s, const uint64_t *address,
                                                           struct line_access *out)
{
    const v4 at = _mm256_loadu_si256((const v4 *)address), line = down(at, LINE_LOG2);
    const v4 key = both(_mm256_srl_epi64(line, s->page_bits), s->key);
    const v4 page = lower_bits(folded(key, MMU_PAGES_LOG2), MMU_PAGES - 1);
    const v4 known = _mm256_cmpeq_epi64(words_at(s->pages->key, page), _mm256_add_epi64(key, all(1)));
    const v4 physical = _mm256_add_epi64(line, words_at(s->pages->to_frame, page));
    const v4 hash = times(line, TAGS_HASH);
    const v4 slot = lower_bits(folded(line, L1_SLOTS_LOG2), L1_SLOTS - 1);
    const v4 hint = both(lower_bits(down(hash, 56 - HINT_BIT), (uint64_t)UINT8_MAX << HINT_BIT),
                         all((uint64_t)1 << HINT_BIT));
    const v4 where = both(both(slices_of(s, line, page), _mm256_slli_epi64(sets_of(s, line), SET_BIT)),
                          both(_mm256_slli_epi64(slot, SLOT_BIT), hint));
    const v4 sector =
        _mm256_sllv_epi64(all((uint64_t)1 << SECTORS_BIT), lower_bits(down(at, 5), LINE_SECTORS - 1));
    put_lines(out, line, physical, where, both(s->rest, sector));
    s->known = _mm256_and_si256(s->known, known);
    return hash;
}

/* The upper 16 bits of 16 hashes, in any order. */
static inline __attribute__((always_inline)) v4 sixteen_lines(struct scatter *s, const uint64_t *address,
                                                              struct line_access *out)
{
    const v4 a = four_lines(s, address, out), b = four_lines(s, address + 4, out + 4),
             c = four_lines(s, address + 8, out + 8), d = four_lines(s, address + 12, out + 12);
    const v4 low = _mm256_blend_epi16(down(a, 48), down(b, 32), 0x22);
    return _mm256_blend_epi16(low, _mm256_blend_epi16(down(c, 16), d, 0x88), 0xcc);
}

/* Are all 32 different? Each is compared with the 16 behind it, in a ring. */
static inline bool are_apart(v4 first, v4 second)
{
    uint16_t ring[48];
    _mm256_storeu_si256((v4 *)ring, first);
    _mm256_storeu_si256((v4 *)(ring + 16), second);
    _mm256_storeu_si256((v4 *)(ring + 32), first);
    v4 same = _mm256_cmpeq_epi16(first, second);
    for (uint32_t k = 1; k < 16; k++)
        same = both(same, both(_mm256_cmpeq_epi16(first, _mm256_loadu_si256((const v4 *)(ring + k))),
                               _mm256_cmpeq_epi16(second, _mm256_loadu_si256((const v4 *)(ring + 16 + k)))));
    return _mm256_testz_si256(same, same);
}

bool lsu_scatter_avx2(const struct sm *sm, const uint64_t *address, const struct line_access *model,
                      struct line_access *out)
{
    struct scatter s = scatter_of(sm, model);
    const v4 first = sixteen_lines(&s, address, out), second = sixteen_lines(&s, address + 16, out + 16);
    return _mm256_movemask_epi8(s.known) == -1 && are_apart(first, second);
}

#else /* not asked */
bool lsu_scatter_avx2(const struct sm *sm, const uint64_t *address, const struct line_access *model,
                      struct line_access *out)
{
    (void)sm, (void)address, (void)model, (void)out;
    return false;
}
#endif
