/* lud: host script. The matrix is that of a diffusion with random exchange: diagonally dominant, so that no
 * pivoting is needed. SelRep: 33.4 MB = 2896 x 2896 floats. Every word is checked against the words that it
 * follows from: u[i,j] = a[i,j] - l[i,:] u[:,j], so that a sample costs no whole decomposition. */
#include "workload.h"

enum { SEED = 1, TILE = 16 };

static const struct wl_param params[] = {{"n", 256, TILE, 16384, TILE, "rows and columns"}, {0}};
static const struct wl_size sizes[] = {
    {"tiny", "n=48", NULL},
    {"selrep", "n=2896", "SelRep, 33.4 MB shared"},
    {0},
};

struct problem {
    uint64_t n;
    const float *lu;
};

static float element(uint64_t n, uint64_t at)
{
    const float exchange = wl_f32(SEED, at, 0, 1);
    return at / n == at % n ? exchange + 0.6f * (float)n : exchange;
}

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes / 4; k++)
        ((float *)to)[k] = element(*(const uint64_t *)arg, first / 4 + k);
}

static double expected(const void *arg, uint64_t at)
{
    const struct problem *p = arg;
    const uint64_t n = p->n, i = at / n, j = at % n, least = i < j ? i : j;
    double rest = (double)element(n, at);
    for (uint64_t k = 0; k < least; k++) rest -= (double)p->lu[i * n + k] * (double)p->lu[k * n + j];
    return i <= j ? rest : rest / (double)p->lu[j * n + j];
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t n = (uint64_t)wl_param(w, "n");
    return 4 * n * n;
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n");
    uint64_t size = (uint64_t)n;
    float *m = wl_input(w, "matrix", size * size * 4, fill, &size);
    for (int first = 0; first < n; first += TILE) {
        const int rest = (n - first) / TILE - 1;
        WL_LAUNCH(w, "lud_diagonal", wl_dim(1), wl_dim(TILE), m, n, first);
        if (rest == 0) break;
        WL_LAUNCH(w, "lud_perimeter", wl_dim(rest), wl_dim(2 * TILE), m, n, first);
        WL_LAUNCH(w, "lud_internal", wl_dim(rest, rest), wl_dim(TILE, TILE), m, n, first);
    }
    const struct problem p = {size, m};
    wl_check_f32(w, &(struct wl_check){.name = "lu",
                                       .output = m,
                                       .count = size * size,
                                       .reference = expected,
                                       .arg = &p,
                                       .cost = size,
                                       .relative = 1e-4,
                                       .absolute = 1e-4});
}

WORKLOAD(lud, .suite = "Rodinia", .sharing = "-", .description = "LU decomposition by 16x16 tiles",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
