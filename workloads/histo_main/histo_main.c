/* histo_main: host script. The items are like those of a picture: a hill of bins, and some bins that very many items
 * fall into. LADM: 83 x 21 blocks of 16 x 16 threads and 36 MiB of input. ASSUMPTION: a word per item, and one range
 * of bins on each side that no grid row counts. Its quick size has fewer items.
 *
 * Footprint: 4 x items + 8 x 16384 x (rows + 2) bytes: items; of each bin two bytes of counts from outside the rows,
 * two of sums, four of overflow. One launch. The input is read by all blocks of a grid column. */
#include "workload.h"

enum { SEED = 1, SEED_HOT, BINS = 16384, SIDE = 16, HOT_MAX = 24 };

static const struct wl_param params[] = {
    {"items", 1 << 18, 1, 1 << 30, 0, "items"},
    {"blocks", 16, 1, 256, 0, "blocks of a grid row: each takes every blocks-th piece of 256 items"},
    {"rows", 4, 1, 254, 0, "grid rows: ranges of 16384 bins that are counted in shared memory"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "items=20000,blocks=3,rows=2", NULL},
    {"ladm", "items=9437184,blocks=83,rows=21", "LADM, 36 MiB of input, 1743 blocks"},
    {"ladmq", "items=589824,blocks=83,rows=21", "LADM quick: fewer items"},
    {0},
};

/* The bin of an item: one of a few popular ones (half as many items each), or the mean of four numbers. */
static uint32_t bin_of(uint64_t item, uint64_t bins)
{
    const uint64_t r = wl_u64(SEED, item);
    if (r % 4 == 0)
        return (uint32_t)wl_below(SEED_HOT, (uint64_t)__builtin_ctz((uint32_t)(r >> 32) | 1u << HOT_MAX),
                                  bins);
    const uint64_t sum = (r & 0xffff) + (r >> 16 & 0xffff) + (r >> 32 & 0xffff) + (r >> 48);
    return (uint32_t)(sum * bins / (4 * 0xffff + 1));
}

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const uint64_t bins = *(const uint64_t *)arg;
    for (uint64_t i = 0; i < bytes / 4; i++) {
        const uint32_t bin = bin_of(first / 4 + i, bins);
        ((uint32_t *)to)[i] = bin / BINS << 16 | bin % BINS;
    }
}

static uint64_t bins_of(const struct wl *w) { return BINS * ((uint64_t)wl_param(w, "rows") + 2); }

static uint64_t footprint_bytes(const struct wl *w)
{
    return 4 * (uint64_t)wl_param(w, "items") + 8 * bins_of(w);
}

static void run(struct wl *w)
{
    const int items = (int)wl_param(w, "items"), first = 1;
    const uint64_t rows = (uint64_t)wl_param(w, "rows");
    uint64_t bins = bins_of(w);
    uint32_t *input = wl_input(w, "input", (uint64_t)items * 4, fill, &bins);
    uint16_t *outside = wl_alloc(w, "outside", bins * 2), *sums = wl_alloc(w, "sums", bins * 2);
    uint32_t *overflow = wl_alloc(w, "overflow", bins * 4);
    WL_LAUNCH(w, "histo_main", wl_dim(wl_param(w, "blocks"), rows), wl_dim(SIDE, SIDE), input, outside, sums,
              overflow, items, first);

    const uint16_t *got_outside = wl_output(w, "outside", outside, bins * 2),
                   *got = wl_output(w, "sums", sums, bins * 2);
    const uint32_t *more = wl_output(w, "overflow", overflow, bins * 4);
    uint32_t *expected = wl_scratch(w, bins * 4);
    for (uint64_t i = 0; i < (uint64_t)items; i++) expected[bin_of(i, bins)]++;
    for (uint64_t bin = 0; bin < bins; bin++) {
        const bool inside = bin / BINS >= 1 && bin / BINS <= rows;
        const uint32_t sum = got[bin] + more[bin], direct = got_outside[bin];
        const bool right = inside
                               ? sum == expected[bin] && !direct
                               : !sum && (expected[bin] < 255 ? direct == expected[bin]
                                                              : (direct >= 255 && direct <= expected[bin]));
        if (!right)
            wl_fail(w, "bin %llu has %u and %u items, not %u", (unsigned long long)bin, sum, direct,
                    expected[bin]);
    }
}

WORKLOAD(histo_main, .suite = "Parboil", .sharing = "-",
         .description = "histogram with many bins: a range of bins per grid row, in shared memory",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
