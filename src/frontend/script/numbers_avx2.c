/* numbers_avx2: eight numbers at a time, as two vectors of four: places 0 1 4 5 and 2 3 6 7, so that the
 * halves of both join in order without crossing the middle of a register.
 *
 *   place ── x GOLDEN + start ──► z ── (z ^ z >> 30) x MIX_1 ── (z ^ z >> 27) x MIX_2 ──► its upper 32 bits
 *
 * The last step of wl_u64(), z ^ z >> 31, changes none of the 24 bits that a float is made of. */
#include "frontend/script/numbers.h"

#ifdef __AVX2__
#include <immintrin.h>
#include <string.h>

#define GOLDEN 0x9e3779b97f4a7c15u
#define SEEDS  0xd1342543de82ef95u
#define MIX_1  0xbf58476d1ce4e5b9u
#define MIX_2  0x94d049bb133111ebu

typedef __m256i v4;

static inline v4 all(uint64_t x) { return _mm256_set1_epi64x((long long)x); }
static inline v4 turned(uint64_t x) { return all(x << 32 | x >> 32); }

/* z * c, the lower 64 bits: low x low, and both low x high added to its upper half. */
static inline v4 times(v4 z, uint64_t c)
{
    const v4 cross = _mm256_mullo_epi32(z, turned(c)), upper = all(0xffffffff00000000u);
    const v4 sum = _mm256_add_epi64(_mm256_mul_epu32(z, all(c)), _mm256_and_si256(cross, upper));
    return _mm256_add_epi64(sum, _mm256_slli_epi64(cross, 32));
}

static inline v4 folded(v4 z, int by) { return _mm256_xor_si256(z, _mm256_srli_epi64(z, by)); }
static inline v4 mixed_once(v4 z) { return folded(times(folded(z, 30), MIX_1), 27); }
static inline v4 whole_of(v4 z) { return folded(times(mixed_once(z), MIX_2), 31); }

/* The upper or the lower 32 bits of eight, in order. */
#define HALVES(a, b, half) \
    _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), \
                                          (half) ? _MM_SHUFFLE(3, 1, 3, 1) : _MM_SHUFFLE(2, 0, 2, 0)))
static inline v4 join(v4 a, v4 b) { return HALVES(a, b, 1); }
static inline v4 join_lower(v4 a, v4 b) { return HALVES(a, b, 0); }

/* join() of what MIX_2 makes of both: of the products only the upper halves. */
static inline v4 join_mixed(v4 a, v4 b)
{
    const v4 cross_a = _mm256_mullo_epi32(a, turned(MIX_2)), cross_b = _mm256_mullo_epi32(b, turned(MIX_2));
    const v4 sum_a = _mm256_add_epi32(_mm256_mul_epu32(a, all(MIX_2)), cross_a);
    const v4 sum_b = _mm256_add_epi32(_mm256_mul_epu32(b, all(MIX_2)), cross_b);
    return _mm256_add_epi32(join(sum_a, sum_b), join_lower(cross_a, cross_b));
}

/* wl_f32(): low + width * (the upper 24 bits / 2^24). The power of two may be multiplied with the width
 * instead: what is rounded stays the same, as long as it can be; see is_exact(). */
struct range {
    __m256 low, unit;
};
static inline struct range range_of(const struct wl_numbers *n)
{
    return (struct range){_mm256_set1_ps(n->low), _mm256_set1_ps((n->high - n->low) * 0x1p-24f)};
}
static bool is_exact(const struct wl_numbers *n)
{
    const float width = n->high - n->low;
    return width * 0x1p-24f * 0x1p24f == width;
}

static inline void put_floats(float *to, v4 z, v4 z_next, struct range r)
{
    const v4 upper = join_mixed(mixed_once(z), mixed_once(z_next));
    const __m256 whole = _mm256_cvtepi32_ps(_mm256_srli_epi32(upper, 8));
    _mm256_storeu_ps(to, _mm256_add_ps(r.low, _mm256_mul_ps(whole, r.unit)));
}

/* z of places first + 0 1 4 5; those of 2 3 6 7 are 2 * GOLDEN further. */
static inline v4 start(uint64_t seed, uint64_t first)
{
    const uint64_t z = (first + 1) * GOLDEN + seed * SEEDS;
    const uint64_t places[4] = {z, z + GOLDEN, z + 4 * GOLDEN, z + 5 * GOLDEN};
    return _mm256_loadu_si256((const __m256i_u *)places);
}

uint64_t numbers_f32_avx2(const struct wl_numbers *n, uint64_t first, uint64_t count, float *to)
{
    const struct range r = range_of(n);
    v4 z = start(n->seed, first);
    uint64_t k = 0;
    if (!is_exact(n)) return 0;
#pragma GCC unroll 2
    for (; k + 8 <= count; k += 8) {
        put_floats(to + k, z, _mm256_add_epi64(z, all(2 * GOLDEN)), r);
        z = _mm256_add_epi64(z, all(8 * GOLDEN));
    }
    return k;
}

uint64_t numbers_f32_at_avx2(const struct wl_numbers *n, const uint32_t *at, uint64_t count, float *to)
{
    const struct range r = range_of(n);
    const v4 from = all(GOLDEN + n->seed * SEEDS), order = _mm256_set_epi32(7, 6, 3, 2, 5, 4, 1, 0);
    uint64_t k = 0;
    if (!is_exact(n)) return 0;
    for (; k + 8 <= count; k += 8) {
        const v4 places = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i_u *)(at + k)), order);
        const v4 a = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(places));
        const v4 b = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(places, 1));
        put_floats(to + k, _mm256_add_epi64(times(a, GOLDEN), from), _mm256_add_epi64(times(b, GOLDEN), from),
                   r);
    }
    return k;
}

/* The upper 32 bits of x * bound / 2^32, which are x * bound / 2^64: only they count. */
static inline v4 share(v4 x, v4 bound)
{
    const v4 low = _mm256_srli_epi64(_mm256_mul_epu32(x, bound), 32);
    return _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), bound), low);
}

/* The same for a bound of 2^(32 - shift), at most 2^31: the upper bits, which that last step does not change
 * either. */
static uint64_t below_power(uint64_t seed, uint64_t first, uint64_t count, int shift, uint32_t *to)
{
    v4 z = start(seed, first);
    uint64_t k = 0;
#pragma GCC unroll 2
    for (; k + 8 <= count; k += 8) {
        const v4 upper = join_mixed(mixed_once(z), mixed_once(_mm256_add_epi64(z, all(2 * GOLDEN))));
        _mm256_storeu_si256((__m256i_u *)(to + k), _mm256_srli_epi32(upper, shift));
        z = _mm256_add_epi64(z, all(8 * GOLDEN));
    }
    return k;
}

uint64_t numbers_below_avx2(uint64_t seed, uint64_t first, uint64_t count, uint32_t bound, uint32_t *to)
{
    if (bound && !(bound & (bound - 1)))
        return below_power(seed, first, count, 32 - __builtin_ctz(bound), to);
    const v4 bounds = all(bound);
    v4 z = start(seed, first);
    uint64_t k = 0;
    for (; k + 8 <= count; k += 8) {
        const v4 a = share(whole_of(z), bounds);
        const v4 b = share(whole_of(_mm256_add_epi64(z, all(2 * GOLDEN))), bounds);
        _mm256_storeu_si256((__m256i_u *)(to + k), join(a, b));
        z = _mm256_add_epi64(z, all(8 * GOLDEN));
    }
    return k;
}

/* sum = sum * ODD + word, in 32 places beside each other, and of these once more. */
#define ODD_32 0x9e3779b1u
#define ODD_64 GOLDEN

static inline v4 words_at(const void *x) { return _mm256_loadu_si256((const __m256i_u *)x); }
static inline v4 append(v4 sum, v4 words)
{
    return _mm256_add_epi32(_mm256_mullo_epi32(sum, _mm256_set1_epi32((int)ODD_32)), words);
}

uint64_t numbers_sum_avx2(const float *x, uint64_t count)
{
    enum { TOGETHER = 32 };
    v4 a = all(1), b = a, c = a, d = a;
    uint64_t k = 0;
    for (; k + TOGETHER <= count; k += TOGETHER) {
        a = append(a, words_at(x + k));
        b = append(b, words_at(x + k + 8));
        c = append(c, words_at(x + k + 16));
        d = append(d, words_at(x + k + 24));
    }
    uint32_t places[8];
    _mm256_storeu_si256((__m256i_u *)places, append(append(append(a, b), c), d));
    uint64_t sum = count;
    for (uint32_t place = 0; place < 8; place++) sum = sum * ODD_64 + places[place];
    for (; k < count; k++) {
        uint32_t word;
        memcpy(&word, x + k, sizeof word);
        sum = sum * ODD_64 + word;
    }
    return sum;
}

uint64_t numbers_same_avx2(const float *a, const float *b, uint64_t count)
{
    enum { TOGETHER = 32 };
    uint64_t k = 0;
    for (; k + TOGETHER <= count; k += TOGETHER) {
        __m256 different = _mm256_setzero_ps();
        for (uint32_t n = 0; n < TOGETHER; n += 8)
            different = _mm256_or_ps(different, _mm256_cmp_ps(_mm256_loadu_ps(a + k + n),
                                                              _mm256_loadu_ps(b + k + n), _CMP_NEQ_UQ));
        if (!_mm256_testz_ps(different, different)) return k;
    }
    return k;
}

#else /* never called */
uint64_t numbers_sum_avx2(const float *x, uint64_t count)
{
    (void)x, (void)count;
    return 0;
}
uint64_t numbers_same_avx2(const float *a, const float *b, uint64_t count)
{
    (void)a, (void)b, (void)count;
    return 0;
}
uint64_t numbers_f32_avx2(const struct wl_numbers *n, uint64_t first, uint64_t count, float *to)
{
    (void)n, (void)first, (void)count, (void)to;
    return 0;
}
uint64_t numbers_f32_at_avx2(const struct wl_numbers *n, const uint32_t *at, uint64_t count, float *to)
{
    (void)n, (void)at, (void)count, (void)to;
    return 0;
}
uint64_t numbers_below_avx2(uint64_t seed, uint64_t first, uint64_t count, uint32_t bound, uint32_t *to)
{
    (void)seed, (void)first, (void)count, (void)bound, (void)to;
    return 0;
}
#endif
