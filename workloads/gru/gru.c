/* gru: host script. NUBA, 2 MB: 256 inputs, 256 hidden units (1.6 MB of weights), 64 sequences of four steps;
 * a block per sequence, so that more than 70 % of the pages, the weights', are read by 26 to 64 SMs, as the
 * paper has it. */
#include "workload.h"

enum { SEED_WX = 1, SEED_WH, SEED_BIAS, SEED_X, GATES = 3 };

static const struct wl_param params[] = {
    {"inputs", 64, 1, 1024, 0, "inputs per step"},
    {"units", 64, 32, 1024, 0, "hidden units, a thread each"},
    {"sequences", 64, 1, 4096, 0, "sequences, a block each"},
    {"steps", 2, 1, 1000, 0, "time steps"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "inputs=9,units=34,sequences=3", NULL},
    {"nuba", "inputs=256,units=256,steps=4", "NUBA, 2 MB"},
    {"ugpu", "inputs=256,units=256,steps=4", "UGPU, 2 MB"},
    {"ugpuq", "inputs=256,units=256,steps=4", "UGPU quick: not cut"},
    {0},
};

struct network {
    uint64_t inputs, units, sequences, steps;
    float *wx, *wh, *bias, *x;      /* as on the device */
    float *state, *update, *resets; /* computed here */
};

static float *numbers(struct wl *w, uint64_t count, uint64_t seed, float range)
{
    float *to = wl_scratch(w, count * 4);
    for (uint64_t i = 0; i < count; i++) to[i] = wl_f32(seed, i, -range, range);
    return to;
}

static float gate(const struct network *n, uint64_t row, const float *x, const float *state)
{
    float sum = n->bias[row];
    for (uint64_t k = 0; k < n->inputs; k++) sum += n->wx[row * n->inputs + k] * x[k];
    for (uint64_t k = 0; k < n->units; k++) sum += n->wh[row * n->units + k] * state[k];
    return sum;
}

/* One step of one sequence. */
static void advance(const struct network *n, uint64_t s, uint64_t step)
{
    const float *x = n->x + (s * n->steps + step) * n->inputs;
    float *state = n->state + s * n->units, *update = n->update + s * n->units,
          *resets = n->resets + s * n->units;
    for (uint64_t u = 0; u < n->units; u++) {
        update[u] = 1 / (1 + expf(-gate(n, u, x, state)));
        resets[u] = state[u] / (1 + expf(-gate(n, n->units + u, x, state)));
    }
    for (uint64_t u = 0; u < n->units; u++)
        state[u] = (1 - update[u]) * tanhf(gate(n, 2 * n->units + u, x, resets)) + update[u] * state[u];
}

static struct network network_of(const struct wl *w)
{
    return (struct network){.inputs = (uint64_t)wl_param(w, "inputs"),
                            .units = (uint64_t)wl_param(w, "units"),
                            .sequences = (uint64_t)wl_param(w, "sequences"),
                            .steps = (uint64_t)wl_param(w, "steps")};
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct network n = network_of(w);
    return 4 *
           (GATES * n.units * (n.inputs + n.units + 1) + n.sequences * (n.steps * n.inputs + 3 * n.units));
}

static void check(struct wl *w, const char *name, const float *output, const float *reference, uint64_t count)
{
    wl_check_f32(w, &(struct wl_check){.name = name,
                                       .output = output,
                                       .count = count,
                                       .reference = wl_expect_f32,
                                       .arg = reference,
                                       .relative = 1e-4,
                                       .absolute = 2e-5});
}

static void run(struct wl *w)
{
    struct network n = network_of(w);
    const int inputs = (int)n.inputs, units = (int)n.units, steps = (int)n.steps;
    const float range = 1.5f / sqrtf((float)n.units);
    const uint64_t rows = GATES * n.units, states = n.sequences * n.units,
                   xs = n.sequences * n.steps * n.inputs;
    float *wx = wl_input_f32(w, "input weights", rows * n.inputs, SEED_WX, -range, range);
    float *wh = wl_input_f32(w, "state weights", rows * n.units, SEED_WH, -range, range);
    float *bias = wl_input_f32(w, "bias", rows, SEED_BIAS, -0.5f, 0.5f),
          *x = wl_input_f32(w, "x", xs, SEED_X, -1, 1);
    float *state = wl_alloc(w, "state", states * 4), *update = wl_alloc(w, "update", states * 4);
    float *resets = wl_alloc(w, "reset state", states * 4);
    for (int step = 0; step < steps; step++) {
        const struct wl_dim grid = wl_dim(n.sequences), block = wl_dim(units);
        WL_LAUNCH(w, "gru_gates", grid, block, wx, wh, bias, x, state, update, resets, inputs, units, steps,
                  step);
        WL_LAUNCH(w, "gru_state", grid, block, wx, wh, bias, x, state, update, resets, inputs, units, steps,
                  step);
    }
    n.wx = numbers(w, rows * n.inputs, SEED_WX, range), n.wh = numbers(w, rows * n.units, SEED_WH, range);
    n.bias = numbers(w, rows, SEED_BIAS, 0.5f), n.x = numbers(w, xs, SEED_X, 1);
    n.state = wl_scratch(w, states * 4), n.update = wl_scratch(w, states * 4),
    n.resets = wl_scratch(w, states * 4);
    for (uint64_t s = 0; s < n.sequences; s++)
        for (uint64_t step = 0; step < n.steps; step++) advance(&n, s, step);
    check(w, "state", state, n.state, states);
    check(w, "update", update, n.update, states);
    check(w, "reset state", resets, n.resets, states);
}

WORKLOAD(gru, .suite = "Tango", .sharing = "high-sharing",
         .description = "gated recurrent unit, a block per sequence, a thread per hidden unit",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
