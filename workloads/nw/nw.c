/* nw: host script: two launches' worth of diagonals, up and down, over n/16 x n/16 tiles. The similarity of
 * two residues is that of a substitution matrix: equal ones score high, most others below zero. NUBA: 16 MB =
 * two matrices of 1409 x 1409 words. */
#include "workload.h"

enum { SEED_ROW = 1, SEED_COL, SEED_LIKE, TILE = 16, RESIDUES = 24, PENALTY = 10 };

static const struct wl_param params[] = {{"n", 512, TILE, 32768, TILE, "length of both sequences"}, {0}};
static const struct wl_size sizes[] = {
    {"tiny", "n=80", NULL},
    {"nuba", "n=1408", "NUBA, 16 MB"},
    {0},
};

/* Of row residue i and column residue j, both from 1. */
static int32_t similarity(uint64_t i, uint64_t j)
{
    const uint64_t a = wl_below(SEED_ROW, i, RESIDUES), b = wl_below(SEED_COL, j, RESIDUES);
    const uint64_t pair = a < b ? a * RESIDUES + b : b * RESIDUES + a;
    return a == b ? 4 + (int32_t)wl_below(SEED_LIKE, pair, 8) : (int32_t)wl_below(SEED_LIKE, pair, 8) - 4;
}

static void fill_similarity(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const uint64_t pitch = *(const uint64_t *)arg + 1;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const uint64_t i = (first / 4 + k) / pitch, j = (first / 4 + k) % pitch;
        ((int32_t *)to)[k] = i && j ? similarity(i, j) : 0;
    }
}

/* Gaps along the edges, the rest is computed by the device. */
static void fill_edges(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const uint64_t pitch = *(const uint64_t *)arg + 1;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const uint64_t i = (first / 4 + k) / pitch, j = (first / 4 + k) % pitch;
        ((int32_t *)to)[k] = i && j ? 0 : -PENALTY * (int32_t)(i + j);
    }
}

static int32_t *expected_scores(struct wl *w, uint64_t n)
{
    const uint64_t pitch = n + 1;
    int32_t *s = wl_scratch(w, pitch * pitch * 4);
    for (uint64_t i = 0; i <= n; i++) {
        for (uint64_t j = 0; j <= n; j++) {
            int32_t best = -PENALTY * (int32_t)(i + j);
            if (i && j) {
                const int32_t *up = s + (i - 1) * pitch + j,
                              gap = (up[0] > up[pitch - 1] ? up[0] : up[pitch - 1]);
                best = up[-1] + similarity(i, j);
                if (gap - PENALTY > best) best = gap - PENALTY;
            }
            s[i * pitch + j] = best;
        }
    }
    return s;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t pitch = (uint64_t)wl_param(w, "n") + 1;
    return 8 * pitch * pitch;
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n"), tiles = n / TILE;
    uint64_t length = (uint64_t)n;
    const uint64_t count = (length + 1) * (length + 1);
    int32_t *score = wl_input(w, "score", count * 4, fill_edges, &length);
    int32_t *like = wl_input(w, "similarity", count * 4, fill_similarity, &length);
    for (int diagonal = 0; diagonal < 2 * tiles - 1; diagonal++) {
        const int first_by = diagonal < tiles ? 0 : diagonal - tiles + 1;
        const int blocks = diagonal < tiles ? diagonal + 1 : 2 * tiles - 1 - diagonal;
        WL_LAUNCH(w, "nw_diagonal", wl_dim(blocks), wl_dim(TILE), score, like, n, PENALTY, diagonal,
                  first_by);
    }
    wl_check_u32(w, &(struct wl_check){.name = "score",
                                       .output = score,
                                       .count = count,
                                       .reference = wl_expect_i32,
                                       .arg = expected_scores(w, length)});
}

WORKLOAD(nw, .suite = "Rodinia", .sharing = "high-sharing",
         .description = "Needleman-Wunsch alignment, a launch per tile diagonal", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
