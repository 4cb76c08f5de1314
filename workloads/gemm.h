/* gemm: reference of a matrix product C = A B for host scripts, each sum in the order of k with fused steps, as
 * the kernels compute it. A is m x k, B k x n, C m x n, row-major; n is a multiple of GEMM_COLUMNS. */
#ifndef ATOLL_WORKLOADS_GEMM_H
#define ATOLL_WORKLOADS_GEMM_H

#include "workload.h"

enum { GEMM_COLUMNS = 16 };

/* GEMM_COLUMNS columns of a row of C. */
struct gemm_piece {
    uint64_t idx;
    float c[GEMM_COLUMNS];
};

/* The operands on the host, and the piece that was computed last. */
struct gemm {
    const float *a, *b;
    uint64_t m, n, k;
    struct gemm_piece *last;
};

#if defined __x86_64__ && !defined __clang__ /* clang 14 makes the resolver of a static function global */
__attribute__((target_clones("arch=haswell", "default")))
#endif
static void
gemm_multiply_piece(float *c, const float *a, const float *b, uint64_t n, uint64_t k)
{
    float sum[GEMM_COLUMNS] = {0};
    for (uint64_t i = 0; i < k; i++)
        for (uint64_t j = 0; j < GEMM_COLUMNS; j++) sum[j] = fmaf(a[i], b[i * n + j], sum[j]);
    for (uint64_t j = 0; j < GEMM_COLUMNS; j++) c[j] = sum[j];
}

/* All of C; n is a multiple of GEMM_COLUMNS. */
static inline void gemm_multiply(float *c, const float *a, const float *b, uint64_t m, uint64_t n, uint64_t k)
{
    for (uint64_t col = 0; col < n; col += GEMM_COLUMNS)
        for (uint64_t row = 0; row < m; row++)
            gemm_multiply_piece(c + row * n + col, a + row * k, b + col, n, k);
}

/* Element i of A is wl_f32(seed_a, i, low, high), of B wl_f32(seed_b, i, low, high). */
static inline struct gemm gemm_new(struct wl *w, struct wl_numbers a, struct wl_numbers b, uint64_t m,
                                   uint64_t n, uint64_t k)
{
    float *to_a = wl_scratch(w, m * k * sizeof *to_a), *to_b = wl_scratch(w, k * n * sizeof *to_b);
    struct gemm_piece *last = wl_scratch(w, sizeof *last);
    wl_many_f32(w, &a, 0, m * k, to_a);
    wl_many_f32(w, &b, 0, k * n, to_b);
    last->idx = UINT64_MAX;
    return (struct gemm){to_a, to_b, m, n, k, last};
}

/* A wl_reference_fn on a struct gemm; beyond m x n the product begins again. */
static inline double gemm_value(const void *arg, uint64_t at)
{
    const struct gemm *g = arg;
    at %= g->m * g->n;
    if (at / GEMM_COLUMNS != g->last->idx) {
        g->last->idx = at / GEMM_COLUMNS;
        const uint64_t first = at / GEMM_COLUMNS * GEMM_COLUMNS;
        gemm_multiply_piece(g->last->c, g->a + first / g->n * g->k, g->b + first % g->n, g->n, g->k);
    }
    return (double)g->last->c[at % GEMM_COLUMNS];
}

/* Checks `count` words: one or more products of the same operands. */
static inline void gemm_check(struct wl *w, const float *c, uint64_t count, const struct gemm *g)
{
    wl_check_f32(w, &(struct wl_check){.name = "c",
                                       .output = c,
                                       .count = count,
                                       .reference = gemm_value,
                                       .arg = g,
                                       .cost = g->k,
                                       .relative = 1e-5});
}

#endif
