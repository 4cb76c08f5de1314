/* backprop: host script. The device sums up the hidden layer and changes its weights; the host does the
 * output unit between. 144 B per input: NUBA, 75 MB, 524288 inputs; SelRep, 18.8 MB, 131072 inputs. */
#include "workload.h"

enum { SEED_IN = 1, SEED_W, SEED_CHANGE, SEED_OUT, HIDDEN = 16, PITCH = HIDDEN + 1 };
static const float RATE = 0.3f, MOMENTUM = 0.3f;

static const struct wl_param params[] = {{"n", 65536, HIDDEN, 1 << 26, HIDDEN, "inputs"}, {0}};
static const struct wl_size sizes[] = {
    {"tiny", "n=160", NULL},
    {"nuba", "n=524288", "NUBA, 75 MB"},
    {"selrep", "n=131072", "SelRep, 18.8 MB shared"},
    {0},
};

static float input_at(uint64_t i) { return wl_f32(SEED_IN, i, 0, 1); }
static float weight_at(uint64_t at) { return wl_f32(SEED_W, at, -1, 1); }
static float change_at(uint64_t at) { return wl_f32(SEED_CHANGE, at, -0.1f, 0.1f); }

static double expected_partial(const void *arg, uint64_t at)
{
    (void)arg;
    double sum = 0;
    for (uint64_t i = at / HIDDEN * HIDDEN + 1; i <= at / HIDDEN * HIDDEN + HIDDEN; i++)
        sum += (double)weight_at(i * PITCH + at % HIDDEN + 1) * (double)input_at(i);
    return sum;
}

/* arg: deltas of the hidden units, from 1. */
static double expected_change(const void *arg, uint64_t at)
{
    const uint64_t i = at / PITCH, unit = at % PITCH;
    if (i == 0 || unit == 0) return (double)change_at(at);
    return (double)RATE * (double)((const float *)arg)[unit] * (double)input_at(i) +
           (double)MOMENTUM * (double)change_at(at);
}

static double expected_weight(const void *arg, uint64_t at)
{
    const bool fixed = at / PITCH == 0 || at % PITCH == 0;
    return (double)weight_at(at) + (fixed ? 0 : expected_change(arg, at));
}

static double squash(double x) { return 1 / (1 + exp(-x)); }

/* What the output unit's error means for each hidden unit. */
static void find_deltas(const float *partial, uint64_t n, float *delta)
{
    double hidden[PITCH] = {0}, sum = 0;
    for (uint64_t unit = 1; unit <= HIDDEN; unit++) {
        double total = (double)weight_at(unit);
        for (uint64_t b = 0; b < n / HIDDEN; b++) total += (double)partial[b * HIDDEN + unit - 1];
        hidden[unit] = squash(total / sqrt((double)n));
        sum += hidden[unit] * (double)wl_f32(SEED_OUT, unit, -1, 1);
    }
    const double out = squash(sum), error = out * (1 - out) * (0.1 - out);
    for (uint64_t unit = 1; unit <= HIDDEN; unit++)
        delta[unit] =
            (float)(hidden[unit] * (1 - hidden[unit]) * error * (double)wl_f32(SEED_OUT, unit, -1, 1));
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t n = (uint64_t)wl_param(w, "n");
    return 4 * ((n + 1) + 2 * (n + 1) * PITCH + n + PITCH);
}

static void run(struct wl *w)
{
    const uint64_t n = (uint64_t)wl_param(w, "n"), weight_count = (n + 1) * PITCH;
    float *input = wl_input_f32(w, "input", n + 1, SEED_IN, 0, 1);
    float *weights = wl_input_f32(w, "weights", weight_count, SEED_W, -1, 1);
    float *change = wl_input_f32(w, "change", weight_count, SEED_CHANGE, -0.1f, 0.1f);
    float *partial = wl_alloc(w, "partial", n * 4), *delta = wl_alloc(w, "delta", PITCH * 4),
          mine[PITCH] = {0};
    const struct wl_dim grid = wl_dim(n / HIDDEN), block = wl_dim(HIDDEN, HIDDEN);
    WL_LAUNCH(w, "backprop_forward", grid, block, input, weights, partial);
    find_deltas(wl_read(w, partial, n * 4), n, mine);
    wl_write(w, delta, mine, sizeof mine);
    WL_LAUNCH(w, "backprop_adjust", grid, block, delta, input, weights, change, RATE, MOMENTUM);

    struct wl_check check = {.arg = mine, .absolute = 2e-6, .relative = 1e-6};
    check.name = "weights", check.output = weights, check.count = weight_count,
    check.reference = expected_weight;
    wl_check_f32(w, &check);
    check.name = "change", check.output = change, check.reference = expected_change;
    wl_check_f32(w, &check);
    check.name = "partial", check.output = partial, check.count = n, check.reference = expected_partial;
    check.cost = HIDDEN, check.absolute = 1e-5;
    wl_check_f32(w, &check);
}

WORKLOAD(backprop, .suite = "Rodinia", .sharing = "low-sharing",
         .description = "a training step of a two-layer network", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
