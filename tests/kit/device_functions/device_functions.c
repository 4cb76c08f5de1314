/* device_functions: host script of the test of device.h: every function against C. */
#include "workload.h"

enum { SEED = 1, SEED_PAIRS, N = 2000, BLOCKS = 3, BLOCK = 64, VECTORS = 96 };

static const struct wl_param params[] = {{0}};
static const struct wl_size sizes[] = {{"tiny", "", NULL}, {0}};

static double mathematics(const void *arg, uint64_t at)
{
    (void)arg;
    const float x = wl_f32(SEED, at / 16, -20, 20), positive = fabsf(x) + 0.001f;
    const double d = (double)x, p = (double)positive;
    switch (at % 16) {
    case 0: return exp(d);
    case 1: return log(p);
    case 2: return sin(d);
    case 3: return cos(d);
    case 4: return tanh(d);
    case 5: return pow(p, 1.5);
    case 6: return sqrt(p);
    case 7: return 1 / sqrt(p);
    case 8: return floor(d) + 3 * ceil(d);
    case 9: return trunc(d) + 3 * rint(d);
    case 10: return d * d + 1;
    case 11:
    case 15: return fmin(d, 0.5) + 3 * fmax(d, 0.25);
    case 12: return exp2(d);
    case 13: return log2(p);
    default: return 1 / p;
    }
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, 4);
    return bits;
}

static uint32_t reversed(uint32_t x)
{
    uint32_t r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
    return r;
}

static double warp_functions(const void *arg, uint64_t at)
{
    (void)arg;
    const uint32_t lane = (uint32_t)(at / 16);
    switch (at % 16) {
    case 0: return 15;
    case 1: return 3 * (lane < 2 ? lane : lane - 2);
    case 2: return 3 * (lane + 3 < 32 ? lane + 3 : lane);
    case 3: return 3 * (lane ^ 6);
    case 4: return 3 * (lane % 8 < 2 ? lane : lane - 2);
    case 5: return 3 * (lane % 16 + 3 < 16 ? lane + 3 : lane);
    case 6: return 3 * (lane / 4 * 4 + 1);
    case 7: return 7;
    case 8: return 0x49249249;
    case 9: return 2;
    case 10: return 1;
    case 11:
        return __builtin_popcount(lane) + 100 * (lane ? __builtin_clz(lane) : 32) +
               10000 * __builtin_ffs((int)lane);
    case 12: return reversed(lane);
    case 13:
        return (lane < 7 ? lane : 7) + 100 * (lane > 9 ? lane : 9) +
               10000 * (lane < 16 ? 16 - lane : lane - 16);
    case 14: return bits_of((float)lane) ^ bits_of((float)lane + 1);
    default: return lane + 2;
    }
}

static void check_atomics(struct wl *w)
{
    const int threads = BLOCKS * BLOCK, sum = threads * (threads - 1) / 2;
    int32_t signs[9 + BLOCKS] = {0, 0, 1000, -1000, 0, -1, 0, 0, 0};
    uint32_t unsigneds[8] = {0, 0xffffffff, 0, 0, 0xffffffff, 0, 0, 0};
    int32_t *s = wl_alloc(w, "s", sizeof signs);
    uint32_t *u = wl_alloc(w, "u", sizeof unsigneds);
    float *f = wl_alloc(w, "f", sizeof *f);
    uint64_t *wide = wl_alloc(w, "wide", sizeof *wide);
    wl_write(w, s, signs, sizeof signs);
    wl_write(w, u, unsigneds, sizeof unsigneds);
    WL_LAUNCH(w, "atomics", wl_dim(BLOCKS), wl_dim(BLOCK), s, u, f, wide);

    const int32_t *got = wl_output(w, "s", s, sizeof signs);
    int xored = 0;
    for (int i = 0; i < threads; i++) xored ^= 1 << i % 7;
    const int32_t want[8] = {sum, -sum, 50 - (threads - 1), threads - 51, 0xfffff, -1 & ~0xfffff, xored, 77};
    for (int i = 0; i < 8; i++)
        if (got[i] != want[i]) wl_fail(w, "s[%d] is %d, expected %d", i, got[i], want[i]);
    if (got[8] < 1 || got[8] > threads) wl_fail(w, "s[8] is %d, not a count of successful exchanges", got[8]);
    for (int b = 0; b < BLOCKS; b++)
        if (got[9 + b] != 2 * BLOCK + 100000 * (BLOCK / 2 + 11000))
            wl_fail(w, "block %d: atomics or votes in shared memory give %d", b, got[9 + b]);

    const uint32_t *words = wl_output(w, "u", u, sizeof unsigneds);
    const uint32_t wanted[6] = {3 * (uint32_t)threads,
                                0xffffff00u - (uint32_t)(threads - 1),
                                0x80000000u + (uint32_t)(threads - 1),
                                0xffffffffu,
                                ~0x1ffu,
                                99};
    for (int i = 0; i < 6; i++)
        if (words[i] != wanted[i]) wl_fail(w, "u[%d] is %u, expected %u", i, words[i], wanted[i]);
    if (words[6] < 1 || words[6] > (uint32_t)threads || words[7] != 1)
        wl_fail(w, "one thread wins an exchange, not %u", words[7]);
    if (*(const float *)wl_output(w, "f", f, 4) != 0.5f * (float)threads) wl_fail(w, "float sum");
    if (*(const uint64_t *)wl_output(w, "wide", wide, 8) != (uint64_t)threads << 33) wl_fail(w, "64-bit sum");
}

static double permuted(const void *arg, uint64_t at)
{
    const float *weights = arg;
    return (double)(wl_f32(SEED, at / 4 * 4 + 3 - at % 4, 0, 1) * weights[at % 4]);
}

static double pair_sum(const void *arg, uint64_t i)
{
    (void)arg;
    const uint64_t from = VECTORS - 1 - i;
    return (double)(wl_f32(SEED_PAIRS, 2 * from, 0, 1) + wl_f32(SEED_PAIRS, 2 * from + 1, 0, 1) +
                    wl_f32(SEED, 4 * from, 0, 1));
}

static void run(struct wl *w)
{
    const int n = N;
    float *in = wl_input_f32(w, "in", N, SEED, -20, 20), *out = wl_alloc(w, "out", N * 16 * 4);
    WL_LAUNCH(w, "mathematics", wl_dim(wl_blocks(N, 128)), wl_dim(128), in, out, n);
    wl_check_f32(w, &(struct wl_check){.name = "mathematics",
                                       .output = out,
                                       .count = N * 16,
                                       .reference = mathematics,
                                       .relative = 4e-6,
                                       .absolute = 2e-6});

    uint32_t *lanes = wl_alloc(w, "lanes", 32 * 16 * 4);
    WL_LAUNCH(w, "warp_functions", wl_dim(1), wl_dim(32), lanes);
    wl_check_u32(
        w, &(struct wl_check){
               .name = "warp functions", .output = lanes, .count = 32 * 16, .reference = warp_functions});

    check_atomics(w);

    const float weights[4] = {1, 0.5f, 0.25f, 2};
    wl_write(w, wl_variable(w, "weights", sizeof weights), weights, sizeof weights);
    float *fours = wl_input_f32(w, "fours", 4 * VECTORS, SEED, 0, 1),
          *twos = wl_input_f32(w, "twos", 2 * VECTORS, SEED_PAIRS, 0, 1);
    float *turned = wl_alloc(w, "turned", 16 * VECTORS), *sums = wl_alloc(w, "sums", 4 * VECTORS);
    WL_LAUNCH_SHARED(w, "vectors", wl_dim(1), wl_dim(VECTORS), VECTORS * 4, fours, turned, twos, sums);
    wl_check_f32(
        w,
        &(struct wl_check){
            .name = "turned", .output = turned, .count = 4 * VECTORS, .reference = permuted, .arg = weights});
    wl_check_f32(
        w, &(struct wl_check){
               .name = "sums", .output = sums, .count = VECTORS, .reference = pair_sum, .relative = 1e-6});
}

WORKLOAD(device_functions, .suite = "test", .description = "every function of device.h", .params = params,
         .sizes = sizes, .run = run);
