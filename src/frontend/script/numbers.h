/* numbers: the numbers of workload.h (wl_u64() and its relatives) many at a time: inputs and references are
 * made of millions of them. The values are those of the functions there, bit for bit, on every machine. */
#ifndef ATOLL_FRONTEND_SCRIPT_NUMBERS_H
#define ATOLL_FRONTEND_SCRIPT_NUMBERS_H

#include "workload.h"

/* to[k] = wl_f32(seed, first + k, low, high) */
void numbers_f32(const struct wl_numbers *n, uint64_t first, uint64_t count, float *to);
/* to[k] = wl_f32(seed, at[k], low, high) */
void numbers_f32_at(const struct wl_numbers *n, const uint32_t *at, uint64_t count, float *to);
/* to[k] = wl_below(seed, first + k, bound); bound at most 2^32 - 1 */
void numbers_below(uint64_t seed, uint64_t first, uint64_t count, uint32_t bound, uint32_t *to);
/* Of the bits of so many numbers; 0: nobody has worked it out. Changes with every one that changes alone. */
uint64_t numbers_sum(const float *x, uint64_t count);
/* Are they all the same? A NaN is equal to nothing. */
bool numbers_same(const float *a, const float *b, uint64_t count);

/* numbers_avx2.c: the first of `count`, eight at a time; return how many. The machine must have AVX2. */
uint64_t numbers_f32_avx2(const struct wl_numbers *n, uint64_t first, uint64_t count, float *to);
uint64_t numbers_f32_at_avx2(const struct wl_numbers *n, const uint32_t *at, uint64_t count, float *to);
uint64_t numbers_below_avx2(uint64_t seed, uint64_t first, uint64_t count, uint32_t bound, uint32_t *to);
uint64_t numbers_sum_avx2(const float *x, uint64_t count);
uint64_t numbers_same_avx2(const float *a, const float *b, uint64_t count); /* … up to one that is not */

#endif
