/* numbers: see numbers.h. What is left over after the eights, and machines without AVX2, go one by one. */
#include "frontend/script/numbers.h"

static bool have_avx2(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

void numbers_f32(const struct wl_numbers *n, uint64_t first, uint64_t count, float *to)
{
    uint64_t k = have_avx2() ? numbers_f32_avx2(n, first, count, to) : 0;
    for (; k < count; k++) to[k] = wl_f32(n->seed, first + k, n->low, n->high);
}

void numbers_f32_at(const struct wl_numbers *n, const uint32_t *at, uint64_t count, float *to)
{
    uint64_t k = have_avx2() ? numbers_f32_at_avx2(n, at, count, to) : 0;
    for (; k < count; k++) to[k] = wl_f32(n->seed, at[k], n->low, n->high);
}

void numbers_below(uint64_t seed, uint64_t first, uint64_t count, uint32_t bound, uint32_t *to)
{
    uint64_t k = have_avx2() ? numbers_below_avx2(seed, first, count, bound, to) : 0;
    for (; k < count; k++) to[k] = (uint32_t)wl_below(seed, first + k, bound);
}

/* Without AVX2 making them again is not much dearer. */
uint64_t numbers_sum(const float *x, uint64_t count) { return have_avx2() ? numbers_sum_avx2(x, count) : 0; }

bool numbers_same(const float *a, const float *b, uint64_t count)
{
    uint64_t k = have_avx2() ? numbers_same_avx2(a, b, count) : 0;
    for (; k < count; k++)
        if (a[k] != b[k]) return false;
    return true;
}
