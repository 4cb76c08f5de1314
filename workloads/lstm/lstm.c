/* lstm: host script. LADM's LSTM-1 and LSTM-2 are the product of the gates at batch 64 (Deepbench): K = inputs +
 * units = 2048, N = 4 units = 8192 and 4096, in blocks of 32 x 4 threads with an element per thread: 4096 and 2048
 * blocks, 64 and 32 MB of weights. N = 8192 leaves no inputs: their part is then taken to be in the bias. Quick
 * sizes cut the batch; K is given by the units, so `gemm_fc:ladmq_lstm_1` cuts K for the product alone. UGPU gives
 * no size: 256 inputs and 256 units, as `gru:nuba`.
 *
 * Footprint: 4 x (K N + N + sequences (K + N + units) + (steps - 1) x sequences x inputs) bytes. Two launches per
 * step. Weights are read by all sequences in every step; gates, cells and states belong to one block. */
#include "gemm.h"

enum { SEED_WEIGHT = 1, SEED_BIAS, SEED_CELL, SEED_STATE, SEED_X, ROWS = 4, COLUMNS = 32, BLOCK = 128 };

static const struct wl_param params[] = {
    {"inputs", 64, 0, 8192, 0, "inputs per step"},
    {"units", 64, 8, 8192, 8, "hidden units"},
    {"sequences", 64, ROWS, 4096, ROWS, "sequences of the batch"},
    {"steps", 2, 1, 1000, 0, "time steps"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "inputs=8,units=24,sequences=4,steps=3", NULL},
    {"ladm_1", "inputs=0,units=2048,steps=1", "LADM LSTM-1, 64 MB, 4096 blocks"},
    {"ladm_2", "inputs=1024,units=1024,steps=1", "LADM LSTM-2, 32 MB, 2048 blocks"},
    {"ladmq_1", "inputs=0,units=2048,sequences=8,steps=1", "LADM quick: LSTM-1 with less of M"},
    {"ladmq_2", "inputs=1024,units=1024,sequences=8,steps=1", "LADM quick: LSTM-2 with less of M"},
    {"ugpu", "inputs=256,units=256,steps=4", "UGPU, 2.5 MB"},
    {"ugpuq", "inputs=256,units=256,steps=4", "UGPU quick: not cut"},
    {0},
};

struct network {
    uint64_t inputs, units, sequences, steps, inner, columns;
};

/* The state of the reference: rows of inputs and state, cells. */
struct state {
    float *in, *cell;
};

static struct network network_of(const struct wl *w)
{
    struct network n = {.inputs = (uint64_t)wl_param(w, "inputs"),
                        .units = (uint64_t)wl_param(w, "units"),
                        .sequences = (uint64_t)wl_param(w, "sequences"),
                        .steps = (uint64_t)wl_param(w, "steps")};
    n.inner = n.inputs + n.units;
    n.columns = 4 * n.units;
    return n;
}

/* Input i of a sequence in a step. */
static float x_at(const struct network *n, uint64_t step, uint64_t sequence, uint64_t i)
{
    return wl_f32(SEED_X, (step * n->sequences + sequence) * n->inputs + i, -1, 1);
}

/* Rows before the first step. */
static void fill_in(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct network *n = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const uint64_t at = first / 4 + k, s = at / n->inner, i = at % n->inner;
        ((float *)to)[k] = i < n->inputs ? x_at(n, 0, s, i) : wl_f32(SEED_STATE, at, -1, 1);
    }
}

/* Inputs of all steps but the first. */
static void fill_x(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct network *n = arg;
    for (uint64_t k = 0; k < bytes / 4; k++)
        ((float *)to)[k] = wl_f32(SEED_X, n->sequences * n->inputs + first / 4 + k, -1, 1);
}

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

/* One step of one sequence, from its row of gates. */
static void advance(const struct network *n, struct state *state, const float *g, uint64_t s, uint64_t step)
{
    float *row = state->in + s * n->inner, *cell = state->cell + s * n->units, sum[4];
    for (uint64_t u = 0; u < n->units; u++) {
        for (uint64_t k = 0; k < 4; k++)
            sum[k] = g[k * n->units + u] + wl_f32(SEED_BIAS, k * n->units + u, -0.5f, 0.5f);
        cell[u] = sigmoid(sum[1]) * cell[u] + sigmoid(sum[0]) * tanhf(sum[2]);
        row[n->inputs + u] = sigmoid(sum[3]) * tanhf(cell[u]);
    }
    if (step + 1 == n->steps) return;
    for (uint64_t i = 0; i < n->inputs; i++) row[i] = x_at(n, step + 1, s, i);
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

static void check_all(struct wl *w, const struct network *n, float range, const float *in, const float *cell)
{
    const uint64_t rows = n->sequences * n->inner, cells = n->sequences * n->units;
    float *b = wl_scratch(w, n->inner * n->columns * 4),
          *gates = wl_scratch(w, n->sequences * n->columns * 4);
    struct state state = {wl_scratch(w, rows * 4), wl_scratch(w, cells * 4)};
    wl_many_f32(w, &(struct wl_numbers){SEED_WEIGHT, -range, range}, 0, n->inner * n->columns, b);
    wl_many_f32(w, &(struct wl_numbers){SEED_CELL, -1, 1}, 0, cells, state.cell);
    fill_in((void *)n, state.in, 0, rows * 4);
    for (uint64_t step = 0; step < n->steps; step++) {
        gemm_multiply(gates, state.in, b, n->sequences, n->columns, n->inner);
        for (uint64_t s = 0; s < n->sequences; s++) advance(n, &state, gates + s * n->columns, s, step);
    }
    check(w, "state", in, state.in, rows);
    check(w, "cell", cell, state.cell, cells);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct network n = network_of(w);
    return 4 * (n.inner * n.columns + n.columns + n.sequences * (n.inner + n.columns + n.units) +
                (n.steps - 1) * n.sequences * n.inputs);
}

static void run(struct wl *w)
{
    struct network *n = wl_scratch(w, sizeof *n);
    *n = network_of(w);
    if (n->inner % COLUMNS) wl_fail(w, "inputs and units together are no multiple of %d", COLUMNS);
    const int inputs = (int)n->inputs, units = (int)n->units, inner = (int)n->inner,
              columns = (int)n->columns;
    const float range = 1.5f / sqrtf((float)n->inner);
    const uint64_t later = n->sequences * n->inputs * (n->steps - 1);
    float *weights = wl_input_f32(w, "weights", n->inner * n->columns, SEED_WEIGHT, -range, range);
    float *bias = wl_input_f32(w, "bias", n->columns, SEED_BIAS, -0.5f, 0.5f);
    float *in = wl_input(w, "inputs and state", n->sequences * n->inner * 4, fill_in, n);
    float *gates = wl_alloc(w, "gates", n->sequences * n->columns * 4);
    float *cell = wl_input_f32(w, "cell", n->sequences * n->units, SEED_CELL, -1, 1);
    float *x = later ? wl_input(w, "later inputs", later * 4, fill_x, n) : NULL;
    for (uint64_t step = 0; step < n->steps; step++) {
        const int last = step + 1 == n->steps;
        WL_LAUNCH(w, "lstm_gates", wl_dim(columns / COLUMNS, n->sequences / ROWS), wl_dim(COLUMNS, ROWS), in,
                  weights, gates, inner, columns);
        WL_LAUNCH(w, "lstm_state", wl_dim(wl_blocks(units, BLOCK), n->sequences), wl_dim(BLOCK), gates, bias,
                  cell, in, x, inputs, units, last);
        if (x) x += n->sequences * n->inputs;
    }
    wl_wait(w);
    check_all(w, n, range, in, cell);
}

WORKLOAD(lstm, .suite = "Tango", .sharing = "-",
         .description = "long short-term memory: product of the gates, then the new state", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
