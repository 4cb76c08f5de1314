/* bitcoin: host script. Each round has a header of its own and is one launch over `nonces` nonces, after which the
 * host reads the number of hits, as a miner does.
 *
 * Footprint: 4 x nonces bytes of results, 8 x 1024 bytes of hits and their count. CARVE: 5600 MB. A hash takes
 * about 4000 instructions, so scaled runs sample the nonces: one of `sample` blocks of 256 nonces is searched. The
 * blocks stay in order and spread over all pages of the results.
 *
 * Structures: results are private and streamed; the list of hits is shared, rarely written; the header lies in
 * constant memory. */
#include "workload.h"

enum { SEED_HEADER = 1, BLOCK = 256, FOUND_MAX = 1024, SHA_COST = 4000 };
static const struct wl_param params[] = {
    {"nonces", 1 << 17, 1, ((int64_t)1 << 32) - BLOCK, 0, "nonces of a launch"},
    {"sample", 1, 1, 1 << 20, 0, "one block of 256 nonces in so many is searched"},
    {"zeros", 16, 1, 31, 0, "leading zero bits of a hit"},
    {"rounds", 1, 1, 1000, 0, "launches"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "nonces=3000,sample=2,zeros=7,rounds=2", NULL},
    {"carve", "nonces=1400000000", "CARVE, 5600 MB"},
    {"carve_s32", "nonces=43750000,sample=160", "CARVE, 1/32: 175 MB"},
    {0},
};

/* ---- reference: SHA-256 as FIPS 180-4 defines it, with constants computed from the primes ---- */

struct sha {
    uint32_t k[64], first[8];
};

/* As in the device code. */
struct header {
    uint32_t midstate[8], tail[3];
};

/* First 32 bits of the fraction. */
static uint32_t fraction(long double x) { return (uint32_t)((x - floorl(x)) * 4294967296.0L); }

static struct sha sha_new(void)
{
    struct sha s;
    int count = 0;
    for (int n = 2; count < 64; n++) {
        int divisor = 2;
        while (divisor * divisor <= n && n % divisor) divisor++;
        if (divisor * divisor <= n) continue;
        if (count < 8) s.first[count] = fraction(sqrtl(n));
        s.k[count++] = fraction(cbrtl(n));
    }
    return s;
}

static uint32_t rotate(uint32_t x, int by) { return (x >> by) | (x << (32 - by)); }

static void compress(const struct sha *s, uint32_t *state, const uint32_t *block)
{
    uint32_t w[64], v[8];
    for (int k = 0; k < 16; k++) w[k] = block[k];
    for (int k = 16; k < 64; k++)
        w[k] = w[k - 16] + (rotate(w[k - 15], 7) ^ rotate(w[k - 15], 18) ^ (w[k - 15] >> 3)) + w[k - 7] +
               (rotate(w[k - 2], 17) ^ rotate(w[k - 2], 19) ^ (w[k - 2] >> 10));
    for (int k = 0; k < 8; k++) v[k] = state[k];
    for (int k = 0; k < 64; k++) {
        const uint32_t choice = (v[4] & v[5]) | (~v[4] & v[6]);
        const uint32_t majority = (v[0] & v[1]) | (v[2] & (v[0] | v[1]));
        const uint32_t t1 =
            v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + choice + s->k[k] + w[k];
        const uint32_t t2 = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + majority;
        for (int j = 7; j > 0; j--) v[j] = v[j - 1];
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int k = 0; k < 8; k++) state[k] += v[k];
}

/* A message of whole words; its blocks are padded here. Up to 119 bytes. */
static void sha256(const struct sha *s, const uint32_t *words, int count, uint32_t *digest)
{
    uint32_t padded[32] = {0};
    const int blocks = count > 13 ? 2 : 1;
    for (int k = 0; k < count; k++) padded[k] = words[k];
    padded[count] = 0x80000000u;
    padded[16 * blocks - 1] = 32 * (uint32_t)count;
    for (int k = 0; k < 8; k++) digest[k] = s->first[k];
    for (int b = 0; b < blocks; b++) compress(s, digest, padded + 16 * b);
}

/* Word k < 19 of the header of a round; the nonce is word 19. */
static uint32_t header_word(uint32_t round, uint32_t k)
{
    return (uint32_t)wl_u64(SEED_HEADER, round * (uint64_t)32 + k);
}

struct search {
    struct sha sha;
    uint32_t round, first, target;
    uint64_t sample; /* blocks */
};

static bool is_searched(const struct search *s, uint64_t i) { return i / BLOCK % s->sample == 0; }

static uint32_t leading_word(const struct search *s, uint32_t round, uint32_t nonce)
{
    uint32_t words[20], digest[8];
    for (uint32_t k = 0; k < 19; k++) words[k] = header_word(round, k);
    words[19] = __builtin_bswap32(nonce);
    sha256(&s->sha, words, 20, digest);
    sha256(&s->sha, digest, 8, digest);
    return __builtin_bswap32(digest[7]);
}

static double expected(const void *arg, uint64_t i)
{
    const struct search *s = arg;
    return is_searched(s, i) ? (double)leading_word(s, s->round, s->first + (uint32_t)i) : 0;
}

/* Every entry is a hit of its round, no hit is listed twice, the rest is zero, and the last round has as many
 * entries as results below the target. Which hits are listed is not determined when the list overflows. */
static void check_found(struct wl *w, const struct search *s, const uint32_t *found, uint32_t total,
                        uint32_t in_last, uint64_t last_hits)
{
    const uint32_t(*entry)[2] = wl_output(w, "found", found, sizeof entry[0] * FOUND_MAX);
    const uint32_t listed = total < FOUND_MAX ? total : FOUND_MAX;
    if (in_last != last_hits)
        wl_fail(w, "found_count is %u in the last round, %llu results are below the target", in_last,
                (unsigned long long)last_hits);
    for (uint32_t i = 0; i < FOUND_MAX; i++) {
        bool right =
            i < listed ? leading_word(s, entry[i][0], entry[i][1]) < s->target : !entry[i][0] && !entry[i][1];
        for (uint32_t k = 0; right && i < listed && k < i; k++)
            right = entry[k][0] != entry[i][0] || entry[k][1] != entry[i][1];
        if (!right) wl_fail(w, "found[%u] is (%u, %u), which is no hit", i, entry[i][0], entry[i][1]);
    }
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 4 * (uint64_t)wl_param(w, "nonces") + 8 * FOUND_MAX + 4;
}

static void run(struct wl *w)
{
    const uint64_t count = (uint64_t)wl_param(w, "nonces");
    const uint32_t nonces = (uint32_t)count, rounds = (uint32_t)wl_param(w, "rounds");
    const uint32_t found_max = FOUND_MAX;
    struct search *s = wl_scratch(w, sizeof *s);
    *s = (struct search){.sha = sha_new(),
                         .target = 1u << (32 - wl_param(w, "zeros")),
                         .sample = (uint64_t)wl_param(w, "sample")};
    const uint32_t sample = (uint32_t)s->sample;
    uint32_t *leading = wl_alloc(w, "leading", 4 * count), *found = wl_alloc(w, "found", 8 * FOUND_MAX);
    uint32_t *found_count = wl_alloc(w, "found_count", 4), total = 0, before = 0;
    struct header *work = wl_variable(w, "work", sizeof *work);
    wl_measure(w);
    for (uint32_t round = 0; round < rounds; round++) {
        struct header h;
        uint32_t words[16];
        for (uint32_t k = 0; k < 16; k++) words[k] = header_word(round, k);
        for (uint32_t k = 0; k < 8; k++) h.midstate[k] = s->sha.first[k];
        compress(&s->sha, h.midstate, words);
        for (uint32_t k = 0; k < 3; k++) h.tail[k] = header_word(round, 16 + k);
        wl_write(w, work, &h, sizeof h);
        s->round = round;
        s->first = (uint32_t)wl_u64(SEED_HEADER + 1, round);
        WL_LAUNCH(w, "bitcoin_search", wl_dim(wl_blocks((int64_t)count, BLOCK * (int64_t)sample)),
                  wl_dim(BLOCK), leading, found, found_count, nonces, s->first, sample, s->target, round,
                  found_max);
        before = total;
        total = *(const uint32_t *)wl_read(w, found_count, sizeof total);
    }
    wl_check_u32(w, &(struct wl_check){.name = "leading",
                                       .output = leading,
                                       .count = count,
                                       .reference = expected,
                                       .arg = s,
                                       .cost = SHA_COST});
    uint64_t hits = 0; /* the check has waited for the device: the host may read its output */
    for (uint64_t i = 0; i < count; i++) hits += is_searched(s, i) && leading[i] < s->target;
    check_found(w, s, found, total, total - before, hits);
}

WORKLOAD(bitcoin, .suite = "crypto", .sharing = "-",
         .description = "double SHA-256 of block headers, a thread per nonce", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
