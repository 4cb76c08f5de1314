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

struct indices {
    struct wl *w;
    uint32_t from;
};

static void fill_index(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct indices *x = arg;
    wl_many_below(x->w, SEED_INDEX, first / 4, bytes / 4, x->from, to);
}

static double expected(const void *arg, uint64_t i)
{
    const struct indices *x = arg;
    return (double)wl_f32(SEED_TABLE, wl_below(SEED_INDEX, i, x->from), 0, 1);
}

static void expected_many(struct wl *w, const void *arg, uint64_t first, uint64_t count, float *to)
{
    const struct indices *x = arg;
    uint32_t at[WL_CHECK_BLOCK];
    wl_many_below(w, SEED_INDEX, first, count, x->from, at);
    wl_many_f32_at(w, &(struct wl_numbers){SEED_TABLE, 0, 1}, at, count, to);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 4 * (uint64_t)(2 * wl_param(w, "n") + wl_param(w, "from"));
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n");
    struct indices x = {w, (uint32_t)wl_param(w, "from")};
    const uint64_t count = (uint64_t)n, from = x.from;
    float *table = wl_input_f32(w, "table", from, SEED_TABLE, 0, 1), *out = wl_alloc(w, "out", count * 4);
    uint32_t *index = wl_input(w, "index", count * 4, fill_index, &x);
    for (int64_t i = wl_param(w, "repeat"); i > 0; i--)
        WL_LAUNCH(w, "gather", wl_dim(wl_blocks(n, BLOCK)), wl_dim(BLOCK), table, index, out, n);
    wl_check_f32(w, &(struct wl_check){.name = "out",
                                       .output = out,
                                       .count = count,
                                       .reference = expected,
                                       .references = expected_many,
                                       .arg = &x});
}

WORKLOAD(gather, .suite = "micro", .sharing = "-", .description = "random gather out[i] = table[index[i]]",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
