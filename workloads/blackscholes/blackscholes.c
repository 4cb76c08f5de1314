/* blackscholes: host script. Five arrays of n floats; the papers run the CUDA SDK's grid of 128-thread
 * blocks. NUBA: 512 blocks, not the SDK's 480, so that the eight blocks of each of 64 SMs take whole pages in
 * every round of the loop: with 480 most pages belong to two SMs, and the paper has more than 80 % with one.
 */
#include "workload.h"

enum { SEED_PRICE = 1, SEED_STRIKE, SEED_YEARS };
static const float RATE = 0.02f, VOLATILITY = 0.30f;

static const struct wl_param params[] = {
    {"n", 400000, 1, 1 << 29, 0, "options"},
    {"blocks", 480, 1, 1 << 20, 0, "blocks of the grid-stride loop"},
    {"block", 128, 32, 1024, 32, "threads per block"},
    {"repeat", 1, 1, 10000, 0, "launches on the same arrays"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "n=5000,blocks=16,repeat=2", NULL},
    {"nuba", "n=2400000,blocks=512,repeat=14", "NUBA and UGPU, 48 MB; 14 launches as UGPU counts"},
    {"ladm", "n=4000000,blocks=1920", "LADM, 80 MB, 1920 blocks"},
    {"ladmq", "n=2000000,blocks=1920", "LADM quick: fewer options"},
    {"selrep", "n=4000000,blocks=512",
     "CUDA SDK's 4 million options, 80 MB. ASSUMPTION: SelRep gives no size"},
    {"ugpu", "n=2400000,blocks=512,repeat=14", "UGPU, 48 MB, 14 launches"},
    {"ugpuq", "n=2400000,blocks=512,repeat=14", "UGPU quick: not cut"},
    {0},
};

static double normal_cdf(double d) { return 0.5 * erfc(-d * 0.70710678118654752440); }

static void price_option(uint64_t i, double *call, double *put)
{
    const double s = (double)wl_f32(SEED_PRICE, i, 5, 30), x = (double)wl_f32(SEED_STRIKE, i, 1, 100);
    const double t = (double)wl_f32(SEED_YEARS, i, 0.25f, 10), r = (double)RATE, v = (double)VOLATILITY;
    const double d1 = (log(s / x) + (r + 0.5 * v * v) * t) / (v * sqrt(t)), d2 = d1 - v * sqrt(t);
    *call = s * normal_cdf(d1) - x * exp(-r * t) * normal_cdf(d2);
    *put = x * exp(-r * t) * normal_cdf(-d2) - s * normal_cdf(-d1);
}

static double expected_call(const void *arg, uint64_t i)
{
    (void)arg;
    double call, put;
    price_option(i, &call, &put);
    return call;
}

static double expected_put(const void *arg, uint64_t i)
{
    (void)arg;
    double call, put;
    price_option(i, &call, &put);
    return put;
}

static uint64_t footprint_bytes(const struct wl *w) { return 20 * (uint64_t)wl_param(w, "n"); }

static void run(struct wl *w)
{
    const int n = (int)wl_param(w, "n");
    const int64_t blocks = wl_param(w, "blocks"), block = wl_param(w, "block"),
                  repeat = wl_param(w, "repeat");
    const uint64_t count = (uint64_t)n;
    float *call = wl_alloc(w, "call", count * sizeof *call), *put = wl_alloc(w, "put", count * sizeof *put);
    float *price = wl_input_f32(w, "price", count, SEED_PRICE, 5, 30);
    float *strike = wl_input_f32(w, "strike", count, SEED_STRIKE, 1, 100);
    float *years = wl_input_f32(w, "years", count, SEED_YEARS, 0.25f, 10);
    for (int64_t i = 0; i < repeat; i++)
        WL_LAUNCH(w, "blackscholes", wl_dim(blocks), wl_dim(block), call, put, price, strike, years, RATE,
                  VOLATILITY, n);
    struct wl_check check = {.count = count, .cost = 10, .relative = 1e-5, .absolute = 1e-4};
    check.name = "call", check.output = call, check.reference = expected_call;
    wl_check_f32(w, &check);
    check.name = "put", check.output = put, check.reference = expected_put;
    wl_check_f32(w, &check);
}

WORKLOAD(blackscholes, .suite = "CUDA SDK", .sharing = "low-sharing",
         .description = "Black-Scholes prices of European options, grid-stride", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
