/* randomloc: host script. LADM: 41,013 blocks of 256 threads and a table of 64 MiB. ASSUMPTION: a walk is eight words,
 * one sector, as the paper does not say how long it is. Its quick size has a quarter of the table, as the quick
 * machine has a quarter of the LLC, and fewer threads.
 *
 * Footprint: 4 x (places x length + threads) bytes. One launch. The table is read by all blocks, at random. */
#include "workload.h"

enum { SEED = 1, BLOCK = 256 };

static const struct wl_param params[] = {
    {"threads", 1 << 18, 1, 1 << 28, 0, "threads"},
    {"places", 1 << 17, 1, 1 << 28, 0, "places of the table where a walk may begin"},
    {"length", 8, 1, 1024, 0, "words of a walk"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "threads=3000,places=1000,length=5", NULL},
    {"ladm", "threads=10499328,places=2097152", "LADM, 64 MiB, 41013 blocks"},
    {"ladmq", "threads=98304,places=524288", "LADM quick: fewer threads, a quarter of the table"},
    {0},
};

struct table {
    uint32_t places, length;
};

static uint32_t word_at(uint64_t i) { return (uint32_t)wl_u64(SEED, i); }

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t i = 0; i < bytes / 4; i++) ((uint32_t *)to)[i] = word_at(first / 4 + i);
}

static double expected(const void *arg, uint64_t thread)
{
    const struct table *t = arg;
    uint32_t hash = (uint32_t)thread * 2654435761u, sum = 0;
    hash = (hash ^ hash >> 15) * 2246822519u;
    hash ^= hash >> 13;
    const uint64_t at = (uint64_t)(hash % t->places) * t->length;
    for (uint64_t k = 0; k < t->length; k++) sum += word_at(at + k);
    return sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 4 * (uint64_t)(wl_param(w, "places") * wl_param(w, "length") + wl_param(w, "threads"));
}

static void run(struct wl *w)
{
    const int threads = (int)wl_param(w, "threads"), places = (int)wl_param(w, "places");
    const int length = (int)wl_param(w, "length");
    const struct table t = {(uint32_t)places, (uint32_t)length};
    const uint64_t words = (uint64_t)t.places * t.length, count = (uint64_t)threads;
    if (words > UINT32_MAX) wl_fail(w, "places x length: at most 2^32 words");
    uint32_t *table = wl_input(w, "table", 4 * words, fill, NULL), *out = wl_alloc(w, "out", 4 * count);
    WL_LAUNCH(w, "randomloc", wl_dim(wl_blocks(threads, BLOCK)), wl_dim(BLOCK), table, out, places, length,
              threads);
    wl_check_u32(w, &(struct wl_check){.name = "out",
                                       .output = out,
                                       .count = count,
                                       .reference = expected,
                                       .arg = &t,
                                       .cost = (uint64_t)length});
}

WORKLOAD(randomloc, .suite = "micro", .sharing = "-",
         .description = "random locality: short walks from random places of a table", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
