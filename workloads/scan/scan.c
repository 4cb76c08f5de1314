/* scan: host script: exclusive prefix sum modulo 2^32. */
#include "workload.h"

enum { SEED = 1, BLOCK = 256, TILE = 1024 };

static const struct wl_param params[] = {{"n", 1 << 20, 1, 1 << 30, 0, "elements"}, {0}};
static const struct wl_size sizes[] = {{"tiny", "n=20001", NULL}, {0}};

static uint32_t value(uint64_t i) { return (uint32_t)wl_below(SEED, i, 1000); }

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t i = 0; i < bytes / 4; i++) ((uint32_t *)to)[i] = value(first / 4 + i);
}

static uint64_t tiles_of(const struct wl *w) { return wl_blocks(wl_param(w, "n"), TILE); }

static uint64_t footprint_bytes(const struct wl *w)
{
    return 4 * (2 * (uint64_t)wl_param(w, "n") + tiles_of(w));
}

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n"), tiles = (int)tiles_of(w);
    const uint64_t count = (uint64_t)n;
    uint32_t *in = wl_input(w, "in", count * 4, fill, NULL), *out = wl_alloc(w, "out", count * 4);
    uint32_t *sums = wl_alloc(w, "sums", (uint64_t)tiles * 4);
    WL_LAUNCH(w, "scan_sums", wl_dim(tiles), wl_dim(BLOCK), in, sums, n);
    WL_LAUNCH(w, "scan_bases", wl_dim(1), wl_dim(BLOCK), sums, tiles);
    WL_LAUNCH(w, "scan_tiles", wl_dim(tiles), wl_dim(BLOCK), in, sums, out, n);

    uint32_t *expected = wl_scratch(w, count * 4), *bases = wl_scratch(w, (uint64_t)tiles * 4), running = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i % TILE == 0) bases[i / TILE] = running;
        expected[i] = running;
        running += value(i);
    }
    wl_check_u32(w, &(struct wl_check){.name = "sums",
                                       .output = sums,
                                       .count = (uint64_t)tiles,
                                       .reference = wl_expect_u32,
                                       .arg = bases});
    wl_check_u32(
        w, &(struct wl_check){
               .name = "out", .output = out, .count = count, .reference = wl_expect_u32, .arg = expected});
}

WORKLOAD(scan, .suite = "CUDA SDK", .sharing = "-", .description = "exclusive prefix sum in three launches",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
