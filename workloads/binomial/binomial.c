/* binomial: host script. SelRep: 0.017 MB shared = 850 options of 20 B, 2048 steps as in the CUDA SDK. */
#include "workload.h"

enum { SEED_PRICE = 1, SEED_STRIKE, SEED_YEARS, STEPS_MOST = 2048, BLOCK = 256 };
static const double RATE = 0.06, VOLATILITY = 0.10;

static const struct wl_param params[] = {
    {"options", 128, 1, 65536, 0, "options, one block each"},
    {"steps", 128, 2, STEPS_MOST, 0, "steps of the tree"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "options=6,steps=20", NULL},
    {"selrep", "options=850,steps=2048", "SelRep, 0.017 MB shared"},
    {0},
};

/* As in the device code. */
struct option {
    float price, strike, up, chance_up, chance_down;
};

struct problem {
    uint64_t steps;
    double *values; /* one per end of the tree */
};

static struct option option_at(const struct problem *p, uint64_t i)
{
    const double years = (double)wl_f32(SEED_YEARS, i, 0.25f, 10), step = years / (double)p->steps;
    const double up = VOLATILITY * sqrt(step), discount = exp(-RATE * step);
    const double chance = (exp(RATE * step) - exp(-up)) / (exp(up) - exp(-up));
    return (struct option){wl_f32(SEED_PRICE, i, 5, 30), wl_f32(SEED_STRIKE, i, 1, 100), (float)up,
                           (float)(discount * chance), (float)(discount * (1 - chance))};
}

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t k = first; k < first + bytes; k += 4) { /* 64 KiB cut through an option */
        const struct option o = option_at(arg, k / sizeof o);
        __builtin_memcpy((char *)to + (k - first), (const char *)&o + k % sizeof o, 4);
    }
}

static double expected(const void *arg, uint64_t at)
{
    const struct problem *p = arg;
    const struct option o = option_at(p, at);
    double *v = p->values;
    for (uint64_t i = 0; i <= p->steps; i++)
        v[i] = fmax(0, (double)o.price * exp((double)o.up * (2.0 * (double)i - (double)p->steps)) -
                           (double)o.strike);
    for (uint64_t left = p->steps; left > 0; left--)
        for (uint64_t i = 0; i < left; i++)
            v[i] = (double)o.chance_up * v[i + 1] + (double)o.chance_down * v[i];
    return v[0];
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return (uint64_t)wl_param(w, "options") * (sizeof(struct option) + 4);
}

static void run(struct wl *w)
{
    const uint64_t options = (uint64_t)wl_param(w, "options"), steps = (uint64_t)wl_param(w, "steps");
    struct problem p = {.steps = steps, .values = wl_scratch(w, (steps + 1) * sizeof *p.values)};
    struct option *option = wl_input(w, "options", options * sizeof *option, fill, &p);
    float *call = wl_alloc(w, "call", options * 4);
    WL_LAUNCH(w, "binomial", wl_dim(options), wl_dim(BLOCK), option, call, (int)steps);
    wl_check_f32(w, &(struct wl_check){.name = "call",
                                       .output = call,
                                       .count = options,
                                       .reference = expected,
                                       .arg = &p,
                                       .cost = steps * steps / 2,
                                       .relative = 1e-3,
                                       .absolute = 1e-3});
}

WORKLOAD(binomial, .suite = "CUDA SDK", .sharing = "-",
         .description = "option prices by binomial trees, a block per option", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
