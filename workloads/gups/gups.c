/* gups: host script. One launch initialises the table over the whole grid, then each round is one launch of
 * `threads` threads with `updates` updates each. The stream continues from round to round.
 *
 * Footprint: 8 x words + 8 x threads bytes. CARVE: 15000 MB. The benchmark asks for 4 x words updates; the sizes
 * below take fewer, because the access structure does not change.
 *
 * Structures: the table is shared read-write in every page, and each of its lines has about one access;
 * `starts` is private. */
#include "workload.h"

enum { BLOCK = 256, SEGMENT = 8192, CHECKED_MAX = 1 << 22, THREADS_SHARE = 128 };

static const struct wl_param params[] = {
    {"words", 1 << 22, 1 << 10, (int64_t)1 << 34, 0, "words of 8 B in the table"},
    {"threads", 16384, 1, 1 << 24, 0,
     "threads of a launch; at most words / 128, so that few updates collide"},
    {"updates", 8, 1, 1 << 20, 0, "updates of a thread in a launch"},
    {"rounds", 2, 1, 1000, 0, "launches"},
    {"init", 1, 0, 1, 0, "1: a kernel initialises the table, 0: the host does"},
    {"atomic", 0, 0, 1, 0, "0: load, XOR, store; 1: atomic XOR"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "words=40000,threads=300,updates=16", NULL},
    {"carve", "words=1875000000,threads=524288,updates=64", "CARVE, 15000 MB"},
    {"carve_s32", "words=58593750,threads=65536,updates=12", "CARVE, 1/32: 469 MB"},
    {0},
};

struct stream {
    uint64_t words, threads, updates, rounds;
};

/* Near its beginning the stream has few one bits. */
static const uint64_t STREAM_START = 0x123456789abcdef;

/* Value n of the stream is x^n modulo x^64 + x^2 + x + 1 over GF(2). */
static uint64_t next_value(uint64_t value) { return (value << 1) ^ (value >> 63 ? 7 : 0); }

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t sum = 0;
    for (; b; b >>= 1) {
        if (b & 1) sum ^= a;
        a = next_value(a);
    }
    return sum;
}

static uint64_t power(uint64_t exponent)
{
    uint64_t result = 1, square = 2;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = product(result, square);
        square = product(square, square);
    }
    return result;
}

/* Thread t updates with values STREAM_START + t x updates x rounds + 1 and following of the stream. */
static void fill_starts(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct stream *s = arg;
    const uint64_t per_thread = s->updates * s->rounds, step = power(per_thread);
    uint64_t value = power(STREAM_START + first / 8 * per_thread);
    for (uint64_t i = 0; i < bytes / 8; i++) {
        ((uint64_t *)to)[i] = value;
        value = product(value, step);
    }
}

static void fill_table(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t i = 0; i < bytes / 8; i++) ((uint64_t *)to)[i] = first / 8 + i;
}

static uint64_t word_of(const struct stream *s, uint64_t value)
{
    return (uint64_t)(((unsigned __int128)value * s->words) >> 64);
}

/* ---- check ----
 *
 * A word is right if it is its first content XOR all its updates. Where updates of two threads collided, some of
 * them may be missing: the word is then its first content XOR a part of its updates. At most 1 % of the words may
 * be such words, as in the benchmark. Above CHECKED_MAX words, every stride-th segment of 64 KiB is checked, so that
 * a large table is not filled for the check. */

struct place {
    uint64_t stride; /* segments */
};

/* Position in the array of checked words; UINT64_MAX: not checked. */
static uint64_t checked_at(const struct place *p, uint64_t word)
{
    const uint64_t segment = word / SEGMENT;
    return segment % p->stride ? UINT64_MAX : segment / p->stride * SEGMENT + word % SEGMENT;
}

/* The table, of which the checked words are valid. */
static const uint64_t *read_table(struct wl *w, const struct stream *s, const struct place *p,
                                  const uint64_t *table)
{
    if (p->stride == 1) return wl_output(w, "table", table, 8 * s->words);
    for (uint64_t first = 0; first < s->words; first += p->stride * SEGMENT) {
        const uint64_t left = s->words - first;
        (void)wl_output(w, "table", table + first, 8 * (left < SEGMENT ? left : SEGMENT));
    }
    return table;
}

/* Rows of a triangular basis of the updates of one word. */
struct basis {
    uint64_t row[64];
};

static uint64_t reduce(const struct basis *b, uint64_t value)
{
    for (int bit = 63; bit >= 0; bit--)
        if (value >> bit & 1) value ^= b->row[bit];
    return value;
}

static void add_row(struct basis *b, uint64_t value)
{
    value = reduce(b, value);
    if (value) b->row[63 - __builtin_clzll(value)] = value;
}

static void check_table(struct wl *w, const struct stream *s, const uint64_t *table, bool atomic)
{
    const struct place place = {(s->words + CHECKED_MAX - 1) / CHECKED_MAX};
    const uint64_t *actual = read_table(w, s, &place, table);
    const uint64_t count = (s->words / SEGMENT / place.stride + 1) * SEGMENT, total = s->updates * s->rounds;
    uint64_t *sum = wl_scratch(w, 8 * count), wrong = 0;
    uint64_t value = power(STREAM_START);
    for (uint64_t k = 0; k < s->threads * total; k++) {
        value = next_value(value);
        const uint64_t at = checked_at(&place, word_of(s, value));
        if (at != UINT64_MAX) sum[at] ^= value;
    }
    /* number[at]: 1 + its basis, of words with another value */
    uint32_t *number = wl_scratch(w, 4 * count);
    uint64_t first_wrong = 0;
    for (uint64_t word = 0; word < s->words; word++) {
        const uint64_t at = checked_at(&place, word);
        if (at == UINT64_MAX || actual[word] == (word ^ sum[at])) continue;
        if (!wrong) first_wrong = word;
        number[at] = (uint32_t)++wrong;
    }
    if (!wrong) return;
    if (atomic || wrong > count / 100)
        wl_fail(w, "table: %llu of %llu words are wrong, the first is word %llu", (unsigned long long)wrong,
                (unsigned long long)count, (unsigned long long)first_wrong);
    struct basis *bases = wl_scratch(w, wrong * sizeof *bases);
    value = power(STREAM_START);
    for (uint64_t k = 0; k < s->threads * total; k++) {
        value = next_value(value);
        const uint64_t at = checked_at(&place, word_of(s, value));
        if (at != UINT64_MAX && number[at]) add_row(&bases[number[at] - 1], value);
    }
    for (uint64_t word = 0; word < s->words; word++) {
        const uint64_t at = checked_at(&place, word);
        if (at == UINT64_MAX || !number[at]) continue;
        if (reduce(&bases[number[at] - 1], actual[word] ^ word))
            wl_fail(w, "table[%llu] is %llx, which no part of its updates gives", (unsigned long long)word,
                    (unsigned long long)actual[word]);
    }
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 8 * ((uint64_t)wl_param(w, "words") + (uint64_t)wl_param(w, "threads"));
}

static void run(struct wl *w)
{
    struct stream *s = wl_scratch(w, sizeof *s);
    const int threads = (int)wl_param(w, "threads"), updates = (int)wl_param(w, "updates");
    const bool atomic = wl_param(w, "atomic");
    *s = (struct stream){(uint64_t)wl_param(w, "words"), (uint64_t)threads, (uint64_t)updates,
                         (uint64_t)wl_param(w, "rounds")};
    if (!atomic && s->threads > s->words / THREADS_SHARE)
        wl_fail(
            w, "%d threads are more than words / %d: too many updates collide; set atomic=1 or fewer threads",
            threads, THREADS_SHARE);
    const bool init = wl_param(w, "init");
    uint64_t *table =
        init ? wl_alloc(w, "table", 8 * s->words) : wl_input(w, "table", 8 * s->words, fill_table, NULL);
    uint64_t *starts = wl_input(w, "starts", 8 * s->threads, fill_starts, s);
    if (init)
        WL_LAUNCH(w, "gups_init", wl_dim(wl_blocks((int64_t)s->words, BLOCK)), wl_dim(BLOCK), table,
                  s->words);
    wl_measure(w);
    for (uint64_t round = 0; round < s->rounds; round++)
        WL_LAUNCH(w, atomic ? "gups_update_atomic" : "gups_update", wl_dim(wl_blocks(threads, BLOCK)),
                  wl_dim(BLOCK), table, starts, s->words, threads, updates);
    check_table(w, s, table, atomic);
}

WORKLOAD(gups, .suite = "HPCC", .sharing = "-",
         .description = "random access: XOR into random words of a large table", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
