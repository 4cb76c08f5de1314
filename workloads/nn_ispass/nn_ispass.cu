/* nn_ispass: a network that reads handwritten digits (the NN of the GPGPU-Sim ISPASS programs): two layers of
 * 5x5 windows that skip every second point, two full ones. Weights lie by groups of neurons (maps), in it by
 * taps, thresholds behind them. What only one block reads is brought to shared memory. */
#include "device.h"

#define WINDOW    5
#define IMAGE     29   /* side of an image */
#define MAPS_IN   6    /* nn_maps: from maps */
#define SIDE_IN   13   /* of this side */
#define SIDE      5    /* to maps of this one */
#define SLICES    32   /* nn_full: a neuron's inputs are dealt to so many threads */
#define AHEAD     5    /* inputs whose weights are loaded ahead of their use */
#define MOST_IN   1280 /* inputs, to the next multiple of SLICES x AHEAD */
#define MOST_WIDE 20   /* neurons of a group */

static __device__ float squash(float x) { return 1.7159f * tanhf(0.66666667f * x); }

/* A block per (image, map), a thread per neuron. */
extern "C" __global__ void nn_window(const float *in, const float *weights, float *out)
{
    __shared__ float pixels[IMAGE][IMAGE];
    const int map = blockIdx.x, image = blockIdx.y, x = threadIdx.x, y = threadIdx.y, size = blockDim.x;
    for (int i = y * size + x; i < IMAGE * IMAGE; i += size * size)
        pixels[0][i] = in[image * IMAGE * IMAGE + i];
    __syncthreads();
    const float *w = weights + map * WINDOW * WINDOW;
    float sum = weights[gridDim.x * WINDOW * WINDOW + map];
#pragma unroll
    for (int i = 0; i < WINDOW; i++)
#pragma unroll
        for (int j = 0; j < WINDOW; j++) sum += w[i * WINDOW + j] * pixels[2 * y + i][2 * x + j];
    out[((image * gridDim.x + map) * size + y) * size + x] = squash(sum);
}

/* A block per (line of the maps, image), a thread per map. */
extern "C" __global__ void nn_maps(const float *in, const float *weights, float *out)
{
    __shared__ float lines[MAPS_IN][WINDOW * SIDE_IN]; /* what the line sees */
    const int map = threadIdx.x, count = blockDim.x, y = blockIdx.x, image = blockIdx.y;
    for (int i = map; i < MAPS_IN * WINDOW * SIDE_IN; i += count)
        lines[0][i] = in[(image * MAPS_IN + i / (WINDOW * SIDE_IN)) * SIDE_IN * SIDE_IN + 2 * y * SIDE_IN +
                         i % (WINDOW * SIDE_IN)];
    __syncthreads();
    const float *w = weights + map;
    float sum[SIDE];
#pragma unroll
    for (int x = 0; x < SIDE; x++) sum[x] = weights[MAPS_IN * WINDOW * WINDOW * count + map];
    for (int m = 0; m < MAPS_IN; m++) {
        float tap[WINDOW][WINDOW];
#pragma unroll
        for (int i = 0; i < WINDOW; i++)
#pragma unroll
            for (int j = 0; j < WINDOW; j++, w += count) tap[i][j] = *w;
#pragma unroll
        for (int i = 0; i < WINDOW; i++) {
            const float *from = lines[m] + i * SIDE_IN;
            float line[SIDE_IN];
#pragma unroll
            for (int x = 0; x < SIDE_IN; x++) line[x] = from[x];
#pragma unroll
            for (int j = 0; j < WINDOW; j++)
#pragma unroll
                for (int x = 0; x < SIDE; x++) sum[x] += tap[i][j] * line[2 * x + j];
        }
    }
#pragma unroll
    for (int x = 0; x < SIDE; x++) out[((image * count + map) * SIDE + y) * SIDE + x] = squash(sum[x]);
}

/* A block per image goes through the weights from end to end, group by group of neurons: thread (x, y) has
 * every SLICES-th input of neuron x. 'padded' is the number of inputs, to the next multiple of SLICES x
 * AHEAD. */
extern "C" __global__ void nn_full(const float *in, const float *weights, float *out, int inputs, int padded,
                                   int groups)
{
    __shared__ float from[MOST_IN], part[2][SLICES * MOST_WIDE];
    const int x = threadIdx.x, y = threadIdx.y, group = blockDim.x, image = blockIdx.x;
    const int thread = y * group + x, threads = group * SLICES;
    for (int i = thread; i < padded; i += threads) from[i] = i < inputs ? in[image * inputs + i] : 0.0f;
    __syncthreads();
    const float *w = weights + thread, *threshold = weights + groups * group * padded + x;
    out += image * groups * group + x;
    for (int g = 0; g < groups; g++, threshold += group, out += group) {
        float sum = 0.0f;
        for (int i = y; i < padded; i += AHEAD * SLICES) {
            float a[AHEAD], b[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++, w += threads) a[k] = *w;
#pragma unroll
            for (int k = 0; k < AHEAD; k++) b[k] = from[i + k * SLICES];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) sum += a[k] * b[k];
        }
        float *const mine = part[g % 2]; /* the other one may still be read */
        mine[thread] = sum;
        __syncthreads();
        if (y) continue;
        sum = *threshold;
        const float *p = mine + x;
#pragma unroll 1
        for (int k = 0; k < SLICES; k += 8) {
            float parts[8];
#pragma unroll
            for (int j = 0; j < 8; j++, p += group) parts[j] = *p;
#pragma unroll
            for (int j = 0; j < 8; j++) sum += parts[j];
        }
        *out = squash(sum);
    }
}
