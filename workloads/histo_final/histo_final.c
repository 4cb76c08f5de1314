/* histo_final: host script. LADM: 1530 blocks of 512 threads and 36 MB, which is 4 Mi bins of nine bytes.
 * ASSUMPTION: seven eighths of the bins are of the middle ranges. The size is small enough for the quick machines.
 *
 * Footprint: 9 x bins bytes: counts, sums, overflow and result. One launch. Every word is read and cleared by one
 * thread. */
#include "workload.h"

enum { SEED_COUNT = 1, SEED_SUM, SEED_OVERFLOW, BLOCK = 512, GROUP = 4, PARTS = 16 };

static const struct wl_param params[] = {
    {"bins", 1 << 19, GROUP *PARTS, 1 << 30, GROUP *PARTS,
     "bins; a sixteenth each below and above the middle"},
    {"blocks", 240, 1, 65535, 0, "blocks of the grid-stride loops"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "bins=32768,blocks=5", NULL},
    {"ladm", "bins=4194304,blocks=1530", "LADM, 36 MiB, 1530 blocks"},
    {"ladmq", "bins=4194304,blocks=1530", "LADM quick: not cut"},
    {0},
};

/* Counts around 255, some of them zero. */
static uint16_t count_at(uint64_t seed, uint64_t bin)
{
    return (uint16_t)(wl_below(seed, bin, 4) ? wl_below(seed + 9, bin, 400) : 0);
}
static uint32_t overflow_at(uint64_t bin) { return 256 * (uint32_t)(wl_below(SEED_OVERFLOW, bin, 8) == 0); }

static void fill_counts(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / 2; i++)
        ((uint16_t *)to)[i] = count_at(*(const uint64_t *)arg, first / 2 + i);
}

static void fill_overflow(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t i = 0; i < bytes / 4; i++) ((uint32_t *)to)[i] = overflow_at(first / 4 + i);
}

static bool is_middle(uint64_t bins, uint64_t bin)
{
    return bin >= bins / PARTS && bin < bins - bins / PARTS;
}

/* Word i: the bytes of four bins. */
static double expected(const void *arg, uint64_t word)
{
    const uint64_t bins = *(const uint64_t *)arg;
    uint32_t bytes = 0;
    for (uint64_t k = 0; k < GROUP; k++) {
        const uint64_t bin = GROUP * word + k;
        const uint32_t count =
            is_middle(bins, bin) ? count_at(SEED_SUM, bin) + overflow_at(bin) : count_at(SEED_COUNT, bin);
        bytes |= (count < 255 ? count : 255) << (8 * k);
    }
    return bytes;
}

/* Counts or sums after the kernel, two bins in a word: used ones are cleared. */
static double expected_left(uint64_t seed, bool cleared, uint64_t word)
{
    return cleared ? 0 : count_at(seed, 2 * word) | (uint32_t)count_at(seed, 2 * word + 1) << 16;
}
static double expected_counts(const void *arg, uint64_t word)
{
    return expected_left(SEED_COUNT, !is_middle(*(const uint64_t *)arg, 2 * word), word);
}
static double expected_sums(const void *arg, uint64_t word)
{
    return expected_left(SEED_SUM, is_middle(*(const uint64_t *)arg, 2 * word), word);
}
static double expected_overflow(const void *arg, uint64_t bin)
{
    return is_middle(*(const uint64_t *)arg, bin) ? 0 : overflow_at(bin);
}

static uint64_t footprint_bytes(const struct wl *w) { return 9 * (uint64_t)wl_param(w, "bins"); }

static void check(struct wl *w, const char *name, const void *output, uint64_t count,
                  wl_reference_fn *reference, const uint64_t *bins)
{
    wl_check_u32(w, &(struct wl_check){.name = name,
                                       .output = output,
                                       .count = count,
                                       .reference = reference,
                                       .arg = bins,
                                       .cost = GROUP});
}

static void run(struct wl *w)
{
    uint64_t *seeds = wl_scratch(w, 3 * sizeof *seeds), bins = (uint64_t)wl_param(w, "bins");
    seeds[0] = SEED_COUNT, seeds[1] = SEED_SUM;
    const int groups = (int)(bins / GROUP), low = groups / PARTS, high = groups - low;
    uint16_t *counts = wl_input(w, "counts", 2 * bins, fill_counts, &seeds[0]);
    uint16_t *sums = wl_input(w, "sums", 2 * bins, fill_counts, &seeds[1]);
    uint32_t *overflow = wl_input(w, "overflow", 4 * bins, fill_overflow, NULL);
    uint32_t *result = wl_alloc(w, "result", bins);
    WL_LAUNCH(w, "histo_final", wl_dim(wl_param(w, "blocks")), wl_dim(BLOCK), counts, sums, overflow, result,
              low, high, groups);
    check(w, "result", result, bins / GROUP, expected, &bins);
    check(w, "counts", counts, bins / 2, expected_counts, &bins);
    check(w, "sums", sums, bins / 2, expected_sums, &bins);
    check(w, "overflow", overflow, bins, expected_overflow, &bins);
}

WORKLOAD(histo_final, .suite = "Parboil", .sharing = "-",
         .description = "histogram with many bins: counts to bytes that stop at 255", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
