/* gather: host script: n words taken at random from a table of 'from' words. */
#include "workload.h"

enum { SEED_TABLE = 1, SEED_INDEX, BLOCK = 256 };

static const struct wl_param params[] = {
    {"n", 1 << 18, 1, 1 << 30, 0, "words gathered"},
    {"from", 1 << 22, 1, 1 << 30, 0, "words of the table"},
    {"repeat", 1, 1, 10000, 0, "launches"},
    {0},
};
static const struct wl_size sizes[] = {{"tiny", "n=10000,from=50000", NULL}, {0}};

static uint32_t index_of(uint64_t from, uint64_t i) { return (uint32_t)wl_below(SEED_INDEX, i, from); }

static void fill_index(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((uint32_t *)to)[i] = index_of(*(const uint64_t *)arg, first / 4 + i);
}

static double expected(const void *arg, uint64_t i)
{
    return (double)wl_f32(SEED_TABLE, index_of(*(const uint64_t *)arg, i), 0, 1);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 4 * (uint64_t)(2 * wl_param(w, "n") + wl_param(w, "from"));
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n");
    uint64_t from = (uint64_t)wl_param(w, "from");
    const uint64_t count = (uint64_t)n;
    float *table = wl_input_f32(w, "table", from, SEED_TABLE, 0, 1), *out = wl_alloc(w, "out", count * 4);
    uint32_t *index = wl_input(w, "index", count * 4, fill_index, &from);
    for (int64_t i = wl_param(w, "repeat"); i > 0; i--)
        WL_LAUNCH(w, "gather", wl_dim(wl_blocks(n, BLOCK)), wl_dim(BLOCK), table, index, out, n);
    wl_check_f32(w, &(struct wl_check){
                        .name = "out", .output = out, .count = count, .reference = expected, .arg = &from});
}

WORKLOAD(gather, .suite = "micro", .sharing = "-", .description = "random gather out[i] = table[index[i]]",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
