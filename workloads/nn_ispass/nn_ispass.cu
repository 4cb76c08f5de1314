/* nn_ispass: a network that reads handwritten digits (the NN of the GPGPU-Sim ISPASS programs): two layers of
 * 5x5 windows that skip every second point, two full ones. A launch per layer; a block per (map, image), a
 * thread per neuron. Weights are read tap by tap, a threshold first, by the blocks of all images. */
#include "device.h"

#define WINDOW 5

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

extern "C" __global__ void nn_full(const float *in, const float *weights, float *out, int inputs)
{
    const int neuron = blockIdx.y * blockDim.x + threadIdx.x, image = blockIdx.x;
    const float *w = weights + neuron * (inputs + 1), *from = in + image * inputs;
    float sum = w[0];
    for (int i = 0; i < inputs; i++) sum += w[i + 1] * from[i];
    out[image * gridDim.y * blockDim.x + neuron] = squash(sum);
}
