/* mergesort: host script. The keys are a scattered permutation of 0 .. n-1 (one-to-one mixing of the low
 * bits), the values their first places: so what stands where at the end is known without sorting on the host.
 */
#include "workload.h"

enum { TILE = 1024, BLOCK = 256 };

static const struct wl_param params[] = {{"log2n", 17, 10, 28, 0, "log2 of the number of elements"}, {0}};
static const struct wl_size sizes[] = {
    {"tiny", "log2n=12", NULL},
    {"selrep", "log2n=22", "CUDA SDK's 4 Mi elements. ASSUMPTION: SelRep gives no size"},
    {0},
};

/* Each step is one-to-one on 'bits' bits; the inverse undoes them in turn. Shift is at least half of the
 * bits. */
struct mixing {
    uint32_t bits, mask, shift, factor, inverse;
};

static struct mixing mixing_of(int64_t bits)
{
    struct mixing m = {.bits = (uint32_t)bits, .mask = (1u << bits) - 1, .factor = 2654435769u};
    m.shift = (m.bits + 1) / 2;
    m.inverse = m.factor; /* Newton's iteration modulo 2^32 */
    for (int k = 0; k < 5; k++) m.inverse *= 2 - m.factor * m.inverse;
    return m;
}

static uint32_t key_at(const struct mixing *m, uint32_t i)
{
    uint32_t x = i & m->mask;
    for (int k = 0; k < 3; k++) {
        x ^= x >> m->shift;
        x = x * m->factor & m->mask;
    }
    return x;
}

static uint32_t place_of(const struct mixing *m, uint32_t key)
{
    uint32_t x = key;
    for (int k = 0; k < 3; k++) {
        x = x * m->inverse & m->mask;
        x ^= x >> m->shift;
    }
    return x;
}

static void fill_keys(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes / 4; k++) ((uint32_t *)to)[k] = key_at(arg, (uint32_t)(first / 4 + k));
}

static void fill_places(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t k = 0; k < bytes / 4; k++) ((uint32_t *)to)[k] = (uint32_t)(first / 4 + k);
}

static double expected_key(const void *arg, uint64_t i)
{
    (void)arg;
    return (double)i;
}

static double expected_value(const void *arg, uint64_t i) { return place_of(arg, (uint32_t)i); }

static uint64_t footprint_bytes(const struct wl *w) { return 16 * ((uint64_t)1 << wl_param(w, "log2n")); }

static void run(struct wl *w)
{
    struct mixing m = mixing_of(wl_param(w, "log2n"));
    const int n = 1 << m.bits;
    const uint64_t count = (uint64_t)n;
    uint32_t *keys = wl_input(w, "keys", count * 4, fill_keys, &m);
    uint32_t *values = wl_input(w, "values", count * 4, fill_places, NULL);
    uint32_t *other_keys = wl_alloc(w, "keys, merged", count * 4);
    uint32_t *other_values = wl_alloc(w, "values, merged", count * 4);
    const struct wl_dim grid = wl_dim(n / TILE), block = wl_dim(BLOCK);
    WL_LAUNCH(w, "mergesort_tiles", grid, block, keys, values);
    for (int length = TILE; length < n; length *= 2) {
        WL_LAUNCH(w, "mergesort_merge", grid, block, keys, values, other_keys, other_values, length, n);
        uint32_t *spare = keys;
        keys = other_keys;
        other_keys = spare;
        spare = values;
        values = other_values;
        other_values = spare;
    }
    wl_check_u32(
        w, &(struct wl_check){.name = "keys", .output = keys, .count = count, .reference = expected_key});
    wl_check_u32(
        w, &(struct wl_check){
               .name = "values", .output = values, .count = count, .reference = expected_value, .arg = &m});
}

WORKLOAD(mergesort, .suite = "CUDA SDK", .sharing = "-", .description = "merge sort of keys with values",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
