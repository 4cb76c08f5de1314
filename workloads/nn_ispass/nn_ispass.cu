/* nn_ispass: a network that reads handwritten digits (the NN of the GPGPU-Sim ISPASS programs): two layers of
 * 5x5 windows that skip every second point, two full ones. A launch per layer; a block per (map, image), a
 * thread per neuron. Weights are read tap by tap, a threshold first, by the blocks of all images. */
#include "device.h"

#define WINDOW 5
#define AHEAD  10 /* divides the inputs of the full layers, 1250 and 100 */

static __device__ float squash(float x) { return 1.7159f * tanhf(0.66666667f * x); }

/* Of the maps of side 'size_in' of one image; a neuron's weights: threshold, then map by map. */
extern "C" __global__ void nn_window(const float *in, const float *weights, float *out, int maps_in,
                                     int size_in)
{
    const int map = blockIdx.y, image = blockIdx.x, x = threadIdx.x, y = threadIdx.y, size = blockDim.x;
    const float *w = weights + map * (maps_in * WINDOW * WINDOW + 1);
    const float *from = in + image * maps_in * size_in * size_in + 2 * y * size_in + 2 * x;
    float sum = *w++;
    for (int m = 0; m < maps_in; m++)
        for (int i = 0; i < WINDOW; i++)
            for (int j = 0; j < WINDOW; j++) sum += *w++ * from[(m * size_in + i) * size_in + j];
    out[((image * gridDim.y + map) * size + y) * size + x] = squash(sum);
}

/* Weights by inputs: a warp reads those of its neurons together, once for every image, and no L1 holds them
 * all. Loads of AHEAD inputs go ahead of their use. */
extern "C" __global__ void nn_full(const float *in, const float *weights, float *out, int inputs)
{
    const int neuron = threadIdx.x, neurons = blockDim.x, image = blockIdx.x;
    const float *w = weights + neuron, *from = in + image * inputs;
    float sum = *w;
    for (int i = 0; i < inputs; i += AHEAD) {
        float a[AHEAD], b[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            w += neurons;
            a[k] = *w;
            b[k] = from[i + k];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) sum += a[k] * b[k];
    }
    out[image * neurons + neuron] = squash(sum);
}
