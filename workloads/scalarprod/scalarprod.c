/* scalarprod: host script. LADM: 2048 pairs of 7680 elements are 120 MiB, a block of 256 threads per pair (the SDK
 * has 128 blocks). Its quick size has fewer pairs.
 *
 * Footprint: 4 x (2 x vectors x elements + vectors) bytes. One launch. Every element is read once, by one block. */
#include "workload.h"

enum { SEED_A = 1, SEED_B, BLOCK = 256 };

static const struct wl_param params[] = {
    {"vectors", 256, 1, 1 << 20, 0, "pairs of vectors"},
    {"elements", 4096, 1, 1 << 24, 0, "elements of a vector"},
    {"blocks", 128, 1, 1 << 20, 0, "blocks; each takes every blocks-th pair"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "vectors=20,elements=1500,blocks=8", NULL},
    {"ladm", "vectors=2048,elements=7680,blocks=2048", "LADM, 120 MiB, 2048 blocks"},
    {"ladmq", "vectors=1024,elements=7680,blocks=1024", "LADM quick: fewer pairs"},
    {0},
};

static double expected(const void *arg, uint64_t vector)
{
    const uint64_t elements = *(const uint64_t *)arg;
    double sum = 0;
    for (uint64_t i = vector * elements; i < (vector + 1) * elements; i++)
        sum += (double)wl_f32(SEED_A, i, 0, 1) * (double)wl_f32(SEED_B, i, 0, 1);
    return sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 4 * (uint64_t)wl_param(w, "vectors") * (2 * (uint64_t)wl_param(w, "elements") + 1);
}

static void run(struct wl *w)
{
    const int vectors = (int)wl_param(w, "vectors"), elements = (int)wl_param(w, "elements");
    const uint64_t length = (uint64_t)elements, count = (uint64_t)vectors * length;
    if (count > INT32_MAX) wl_fail(w, "at most 2^31 elements in all");
    float *a = wl_input_f32(w, "a", count, SEED_A, 0, 1), *b = wl_input_f32(w, "b", count, SEED_B, 0, 1);
    float *products = wl_alloc(w, "products", (uint64_t)vectors * sizeof *products);
    WL_LAUNCH(w, "scalarprod", wl_dim(wl_param(w, "blocks")), wl_dim(BLOCK), a, b, products, vectors,
              elements);
    wl_check_f32(w, &(struct wl_check){.name = "products",
                                       .output = products,
                                       .count = (uint64_t)vectors,
                                       .reference = expected,
                                       .arg = &length,
                                       .cost = length,
                                       .relative = 1e-5});
}

WORKLOAD(scalarprod, .suite = "CUDA SDK", .sharing = "-",
         .description = "scalar products of pairs of vectors, a pair per block", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
