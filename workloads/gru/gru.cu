/* gru: a gated recurrent unit (Tango), two launches per time step: the update and reset gates, then the
 * candidate and the new state. A block per sequence, a thread per hidden unit, which walks its rows of the
 * weights: all blocks read all weights in every step, the lanes of a warp a row apart. */
#include "device.h"

#define GATES 3 /* update, reset, candidate */

static __device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

static __device__ float row_dot(const float *row, const float *v, int n)
{
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += row[k] * v[k];
    return sum;
}

/* Weights: [gate][unit][input] of x and [gate][unit][unit] of the state. reset_state = reset gate x state. */
extern "C" __global__ void gru_gates(const float *wx, const float *wh, const float *bias, const float *x,
                                     const float *state, float *update, float *reset_state, int inputs,
                                     int units, int steps, int step)
{
    const int u = threadIdx.x, s = blockIdx.x;
    const float *in = x + (s * steps + step) * inputs, *old = state + s * units;
    const float z = row_dot(wx + u * inputs, in, inputs) + row_dot(wh + u * units, old, units) + bias[u];
    const float r = row_dot(wx + (units + u) * inputs, in, inputs) +
                    row_dot(wh + (units + u) * units, old, units) + bias[units + u];
    update[s * units + u] = sigmoid(z);
    reset_state[s * units + u] = sigmoid(r) * old[u];
}

extern "C" __global__ void gru_state(const float *wx, const float *wh, const float *bias, const float *x,
                                     float *state, const float *update, const float *reset_state, int inputs,
                                     int units, int steps, int step)
{
    const int u = threadIdx.x, s = blockIdx.x, row = 2 * units + u;
    const float *in = x + (s * steps + step) * inputs;
    const float n = tanhf(row_dot(wx + row * inputs, in, inputs) +
                          row_dot(wh + row * units, reset_state + s * units, units) + bias[row]);
    const float z = update[s * units + u], old = state[s * units + u];
    state[s * units + u] = (1.0f - z) * n + z * old;
}
