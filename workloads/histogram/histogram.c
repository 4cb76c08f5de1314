/* histogram: host script. The bytes are like the pixels of an image: two hills, dark and bright. */
#include "workload.h"

enum { SEED = 1, BINS = 256, BLOCK = 192 };

static const struct wl_param params[] = {
    {"n", 1 << 22, 4, 1 << 30, 4, "bytes"},
    {"blocks", 240, 1, 4096, 0, "blocks of the grid-stride loop"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "n=60000,blocks=6", NULL},
    {"selrep", "n=67108864,blocks=1024", "CUDA SDK's 64 MiB. ASSUMPTION: SelRep gives no size"},
    {0},
};

/* Byte i: the mean of four uniform bytes (a hill), moved to the dark or the bright half. */
static uint32_t word_at(uint64_t word)
{
    uint32_t packed = 0;
    for (uint64_t b = 0; b < 4; b++) {
        const uint64_t r = wl_u64(SEED, word * 4 + b);
        const uint64_t hill = ((r & 63) + (r >> 8 & 63) + (r >> 16 & 63) + (r >> 24 & 63)) / 2;
        packed |= (uint32_t)((r >> 40) % 3 ? hill : 128 + hill) << (8 * b);
    }
    return packed;
}

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t i = 0; i < bytes / 4; i++) ((uint32_t *)to)[i] = word_at(first / 4 + i);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return (uint64_t)wl_param(w, "n") + 4 * BINS * ((uint64_t)wl_param(w, "blocks") + 1);
}

static void run(struct wl *w)
{
    const int words = (int)(wl_param(w, "n") / 4), blocks = (int)wl_param(w, "blocks");
    uint32_t *in = wl_input(w, "bytes", (uint64_t)words * 4, fill, NULL);
    uint32_t *partial = wl_alloc(w, "partial", (uint64_t)blocks * BINS * 4),
             *bins = wl_alloc(w, "bins", BINS * 4);
    WL_LAUNCH(w, "histogram_count", wl_dim(blocks), wl_dim(BLOCK), in, partial, words);
    WL_LAUNCH(w, "histogram_merge", wl_dim(BINS), wl_dim(BLOCK), partial, bins, blocks);

    uint32_t *expected = wl_scratch(w, BINS * 4), *by_block = wl_scratch(w, (uint64_t)blocks * BINS * 4);
    for (uint64_t i = 0; i < (uint64_t)words; i++) {
        const uint64_t block = i / BLOCK % (uint64_t)blocks;
        for (uint32_t b = 0, word = word_at(i); b < 4; b++, word >>= 8) {
            expected[word & 255]++;
            by_block[block * BINS + (word & 255)]++;
        }
    }
    wl_check_u32(w, &(struct wl_check){.name = "partial",
                                       .output = partial,
                                       .count = (uint64_t)blocks * BINS,
                                       .reference = wl_expect_u32,
                                       .arg = by_block});
    wl_check_u32(
        w, &(struct wl_check){
               .name = "bins", .output = bins, .count = BINS, .reference = wl_expect_u32, .arg = expected});
}

WORKLOAD(histogram, .suite = "CUDA SDK", .sharing = "-",
         .description = "256-bin histogram of bytes, atomics in shared memory", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
