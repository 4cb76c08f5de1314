/* ordering: host script of the test of stores and loads in order: see ordering.cu. Small enough that every
 * block is resident from the beginning. */
#include "workload.h"

static const struct wl_param params[] = {{"blocks", 12, 2, 64, 0, "blocks"},
                                         {"rounds", 6, 1, 1000, 0, "rounds of each kernel"},
                                         {"launches", 5, 1, 1000, 0, "launches of the last kernel"},
                                         {0}};
static const struct wl_size sizes[] = {{"tiny", "", NULL}, {0}};

enum { SHIFT = 333 };

struct shape {
    uint32_t blocks, rounds, launches;
};

static double message(const void *arg, uint64_t i)
{
    const struct shape *s = arg;
    const uint64_t n = (i / 32 + 1) % s->blocks, r = s->rounds;
    return (double)(uint32_t)(1000 * r * (r + 1) / 2 + r * (n * 32 + i % 32));
}

static double overtaken(const void *arg, uint64_t i)
{
    const struct shape *s = arg;
    uint32_t sum = 0;
    for (uint32_t r = 0; r < s->rounds; r++) {
        sum += r + (uint32_t)(i % 32);
        if (i % 64 < 32) sum += sum;
    }
    return sum;
}

static double word(const void *arg, uint64_t i)
{
    return (double)(((const struct shape *)arg)->rounds - 1 + i);
}

static double counter(const void *arg, uint64_t i)
{
    const struct shape *s = arg;
    const uint32_t per_word = s->blocks * s->rounds * 64 / 8;
    return i < 8 ? per_word : 2.0 * per_word;
}

static double mixed(const void *arg, uint64_t i)
{
    const uint32_t rounds = ((const struct shape *)arg)->rounds;
    (void)i;
    return rounds * (rounds - 1.0) + 11.0 * rounds;
}

static double shifted(const void *arg, uint64_t i)
{
    const struct shape *s = arg;
    const uint64_t n = (uint64_t)s->blocks * 256;
    return (double)((i + (uint64_t)s->launches * SHIFT) % n * 3 + s->launches);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t b = (uint64_t)wl_param(w, "blocks"), r = (uint64_t)wl_param(w, "rounds");
    return b * 128 * 4 + b * 16 + r * b * 128 + b * 256 + b * 320 + 68 + b * 512 + b * 2048;
}

static void run(struct wl *w)
{
    struct shape *s = wl_scratch(w, sizeof *s);
    *s = (struct shape){(uint32_t)wl_param(w, "blocks"), (uint32_t)wl_param(w, "rounds"),
                        (uint32_t)wl_param(w, "launches")};
    const uint32_t b = s->blocks, n = b * 256;
    const int rounds = (int)s->rounds;
    uint32_t *out[2];
    for (int k = 0; k < 2; k++) {
        uint32_t *data = wl_alloc(w, "data", 128 * b), *flags = wl_alloc(w, "flags", 8 * b);
        out[k] = wl_alloc(w, "out", 128 * b);
        WL_LAUNCH(w, k ? "messages_by_acquire" : "messages_by_fence", wl_dim(b), wl_dim(32), data, flags,
                  out[k], rounds);
    }
    uint32_t *lines = wl_alloc(w, "lines", 128 * b * s->rounds), *seen = wl_alloc(w, "seen", 256 * b);
    for (int k = 0; k < 2;
         k++) /* the second time the LLC has the lines: a load overtaken there would see the store */
        WL_LAUNCH(w, "overtaken", wl_dim(b), wl_dim(64), lines, seen, rounds);
    uint32_t *words = wl_alloc(w, "words", 256 * b);
    uint8_t *bytes = wl_alloc(w, "bytes", 64 * b);
    WL_LAUNCH(w, "parts", wl_dim(b), wl_dim(64), words, bytes, rounds);
    uint32_t *count = wl_alloc(w, "count", 64), *last = wl_alloc(w, "last", 4);
    WL_LAUNCH(w, "counters", wl_dim(b), wl_dim(64), count, last, rounds);
    uint32_t *own = wl_alloc(w, "own", 256 * b), *sums = wl_alloc(w, "sums", 256 * b);
    WL_LAUNCH(w, "mixed", wl_dim(b), wl_dim(64), own, sums, rounds);
    uint32_t *ping = wl_alloc(w, "ping", 4 * n), *pong = wl_alloc(w, "pong", 4 * n),
             *host = wl_scratch(w, 4 * n);
    for (uint32_t i = 0; i < n; i++) host[i] = 3 * i;
    wl_write(w, ping, host, 4 * n);
    for (uint32_t k = 0; k < s->launches; k++)
        WL_LAUNCH(w, "shifted", wl_dim(b), wl_dim(256), k % 2 ? pong : ping, k % 2 ? ping : pong,
                  (uint32_t)SHIFT, n);
    for (int k = 0; k < 2; k++)
        wl_check_u32(w,
                     &(struct wl_check){
                         .name = "out", .output = out[k], .count = 32 * b, .reference = message, .arg = s});
    wl_check_u32(w, &(struct wl_check){
                        .name = "seen", .output = seen, .count = 64 * b, .reference = overtaken, .arg = s});
    wl_check_u32(w, &(struct wl_check){
                        .name = "words", .output = words, .count = 64 * b, .reference = word, .arg = s});
    wl_check_u32(
        w, &(struct wl_check){.name = "count", .output = count, .count = 16, .reference = counter, .arg = s});
    wl_check_u32(
        w, &(struct wl_check){.name = "sums", .output = sums, .count = 64 * b, .reference = mixed, .arg = s});
    wl_check_u32(w, &(struct wl_check){.name = "shifted",
                                       .output = s->launches % 2 ? pong : ping,
                                       .count = n,
                                       .reference = shifted,
                                       .arg = s});
}

WORKLOAD(ordering, .suite = "test", .sharing = "-", .description = "stores and loads in order",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
