/* conv3d: host script. NUBA: 1074 MB = two volumes of 512^3 floats. SelRep: 51.1 MB shared = the source of
 * 234^3 floats. A launch reads three planes; two of them the next launch reads again. */
#include "workload.h"

enum { SEED_A = 1, BLOCK_X = 32, BLOCK_Y = 8, TAPS = 11 };

static const struct wl_param params[] = {
    {"n", 64, 3, 1280, 0, "points along each side of a plane"},
    {"planes", 0, 0, 1280, 0, "planes; 0 = n"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "n=34,planes=4", NULL},
    {"nuba", "n=512", "NUBA, 1074 MB"},
    {"selrep", "n=234", "SelRep, 51.1 MB shared"},
    {0},
};

struct volume {
    int64_t planes, n;
};

static struct volume volume_of(const struct wl *w)
{
    const int64_t n = wl_param(w, "n"), planes = wl_param(w, "planes");
    return (struct volume){planes ? planes : n, n};
}

static double convolved(const void *arg, uint64_t at)
{
    static const struct {
        int i, j, k;
        double weight;
    } taps[TAPS] = {{0, -1, 0, 0.5},   {0, 0, 0, 0.6},  {0, 1, 0, -0.9}, {-1, -1, -1, 0.2},
                    {-1, -1, 1, -0.3}, {-1, 0, 1, 0.4}, {-1, 1, 1, 0.7}, {1, -1, -1, -0.8},
                    {1, -1, 1, 0.1},   {1, 0, 1, 0.25}, {1, 1, 1, -0.35}};
    const struct volume *v = arg;
    const int64_t k = (int64_t)at % v->n, j = (int64_t)at / v->n % v->n, i = (int64_t)at / (v->n * v->n);
    if (i == 0 || j == 0 || k == 0 || i == v->planes - 1 || j == v->n - 1 || k == v->n - 1) return 0;
    double sum = 0;
    for (int t = 0; t < TAPS; t++) {
        const int64_t from = ((i + taps[t].i) * v->n + j + taps[t].j) * v->n + k + taps[t].k;
        sum += taps[t].weight * (double)wl_f32(SEED_A, (uint64_t)from, 0, 1);
    }
    return sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct volume v = volume_of(w);
    return 8 * (uint64_t)(v.planes * v.n * v.n);
}

static void run(struct wl *w)
{
    const struct volume v = volume_of(w);
    const int n = (int)v.n;
    const uint64_t count = (uint64_t)(v.planes * v.n * v.n);
    float *a = wl_input_f32(w, "a", count, SEED_A, 0, 1), *b = wl_alloc(w, "b", count * sizeof *b);
    for (int i = 1; i < (int)v.planes - 1; i++)
        WL_LAUNCH(w, "conv3d", wl_dim(wl_blocks(n, BLOCK_X), wl_blocks(n, BLOCK_Y)), wl_dim(BLOCK_X, BLOCK_Y),
                  a, b, i, n, n);
    wl_check_f32(w, &(struct wl_check){.name = "b",
                                       .output = b,
                                       .count = count,
                                       .reference = convolved,
                                       .arg = &v,
                                       .cost = TAPS,
                                       .absolute = 2e-6});
}

WORKLOAD(conv3d, .suite = "PolyBench", .sharing = "high-sharing",
         .description = "11-point convolution of a volume, a launch per plane", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
