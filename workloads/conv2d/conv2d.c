/* conv2d: host script. NUBA: 1074 MB = two images of 8192 x 16384 floats. */
#include "workload.h"

enum { SEED_A = 1, BLOCK_X = 32, BLOCK_Y = 8 };

static const struct wl_param params[] = {
    {"ni", 1024, 3, 46340, 0, "rows"},
    {"nj", 1024, 3, 46340, 0, "columns"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "ni=60,nj=100", NULL},
    {"nuba", "ni=8192,nj=16384", "NUBA, 1074 MB"},
    {0},
};

struct image {
    uint64_t ni, nj;
};

static double convolved(const void *arg, uint64_t at)
{
    const double weights[3][3] = {{0.2, -0.3, 0.4}, {0.5, 0.6, 0.7}, {-0.8, -0.9, 0.1}};
    const struct image *m = arg;
    const uint64_t i = at / m->nj, j = at % m->nj;
    if (i == 0 || j == 0 || i == m->ni - 1 || j == m->nj - 1) return 0;
    double sum = 0;
    for (uint64_t y = 0; y < 3; y++)
        for (uint64_t x = 0; x < 3; x++)
            sum += weights[y][x] * (double)wl_f32(SEED_A, (i + y - 1) * m->nj + j + x - 1, 0, 1);
    return sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 8 * (uint64_t)wl_param(w, "ni") * (uint64_t)wl_param(w, "nj");
}

static void run(struct wl *w)
{
    const int ni = (int)wl_param(w, "ni"), nj = (int)wl_param(w, "nj");
    const struct image m = {(uint64_t)ni, (uint64_t)nj};
    float *a = wl_input_f32(w, "a", m.ni * m.nj, SEED_A, 0, 1),
          *b = wl_alloc(w, "b", m.ni * m.nj * sizeof *b);
    WL_LAUNCH(w, "conv2d", wl_dim(wl_blocks(nj, BLOCK_X), wl_blocks(ni, BLOCK_Y)), wl_dim(BLOCK_X, BLOCK_Y),
              a, b, ni, nj);
    wl_check_f32(w, &(struct wl_check){.name = "b",
                                       .output = b,
                                       .count = m.ni * m.nj,
                                       .reference = convolved,
                                       .arg = &m,
                                       .cost = 9,
                                       .absolute = 2e-6});
}

WORKLOAD(conv2d, .suite = "PolyBench", .sharing = "low-sharing", .description = "3x3 convolution of an image",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
