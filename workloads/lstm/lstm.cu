/* lstm: a layer of long short-term memory, two launches per time step. The first multiplies the inputs and the
 * state of every sequence (a row of `in` has both) by the weights of the four gates; the second makes the new
 * state, a thread per sequence and unit. */
#include "device.h"
#include "gemm_fc.h"

static __device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

/* Weights: (inputs + units) x (4 units): input gate, forget gate, candidate, output gate. */
extern "C" __global__ void lstm_gates(const float *in, const float *weights, float *gates, int inner, int columns)
{
    gates[gemm_fc_index(columns)] = gemm_fc_element(in, weights, inner, columns);
}

/* Leaves the new state and the inputs of the next step (x) in `in`. */
extern "C" __global__ void lstm_state(const float *gates, const float *bias, float *cell, float *in, const float *x,
                                      int inputs, int units, int last)
{
    const int u = blockIdx.x * blockDim.x + threadIdx.x, s = blockIdx.y;
    if (u >= units) return;
    const float *g = gates + s * 4 * units + u;
    const float enter = sigmoid(g[0] + bias[u]), keep = sigmoid(g[units] + bias[units + u]);
    const float candidate = tanhf(g[2 * units] + bias[2 * units + u]);
    const float out = sigmoid(g[3 * units] + bias[3 * units + u]);
    const float c = keep * cell[s * units + u] + enter * candidate;
    float *row = in + s * (inputs + units);
    cell[s * units + u] = c;
    row[inputs + u] = out * tanhf(c);
    if (last) return;
    for (int i = u; i < inputs; i += units) row[i] = x[s * inputs + i];
}
