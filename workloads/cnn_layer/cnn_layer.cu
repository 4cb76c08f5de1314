/* cnn_layer: a convolution layer as an implicit matrix product, with bias and ReLU.
 *
 *   output [channel][image, pixel] = weights [channel][tap] x columns [tap][image, pixel]
 *
 * A tap is a point of the window in one input channel. The matrix of columns is never stored: a block gathers
 * its part of it from the input through a table of taps, as cuDNN's precomputed implicit product does. A block
 * makes CHANNELS x PIXELS outputs in steps of DEPTH taps, which it stages in shared memory. Weights, taps and
 * input are only read and shared by many blocks; an output is written once. */
#include "device.h"

#define DEPTH  16
#define PIXELS 64
#define ACROSS 16 /* threads along the pixels, four pixels each */

struct __align__(8) tap
{
    int offset;     /* from the element under the window's corner in channel 0 */
    short down, by; /* row and column in the window */
};

/* A number of [-1, 1): a function of seed and i, the same in the host script. */
static __device__ __forceinline__ float number(unsigned seed, unsigned i)
{
    unsigned h = i * 2654435761u + seed * 0x9e3779b9u;
    h = (h ^ (h >> 15)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    h ^= h >> 16;
    return (float)(int)(h >> 8) * 0x1p-23f - 1.0f;
}

/* ---- initialisation, before the iterations ---- */

/* The activations of the layer before: half of them are zero. */
extern "C" __global__ void cnn_init_input(float *input, unsigned seed, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) input[i] = fmaxf(number(seed, i), 0.0f);
}

extern "C" __global__ void cnn_init_weights(float *weights, float *bias, unsigned seed, float range,
                                            unsigned count, unsigned channels)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) weights[i] = number(seed, i) * range;
    if (i < channels) bias[i] = number(seed + 1, i) * 0.125f;
}

extern "C" __global__ void cnn_init_taps(tap *taps, int count, int kernel, int size_in)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x, window = kernel * kernel;
    if (t >= count) return;
    const int down = t % window / kernel, by = t % kernel;
    tap to;
    to.offset = (t / window * size_in + down) * size_in + by;
    to.down = (short)down;
    to.by = (short)by;
    taps[t] = to;
}

/* ---- the layer ---- */

struct shape {
    int images, in, out, size_in, size, taps, stride, pad;
};

/* ROWS: channels of a thread. A block has ACROSS x CHANNELS / ROWS threads, a multiple of PIXELS. */
template <int CHANNELS, int ROWS>
static __device__ __forceinline__ void layer(const float *input, const float *weights, const float *bias,
                                             const tap *taps, float *output, shape s, int pixels_first)
{
    const int THREADS = ACROSS * CHANNELS / ROWS;
    __shared__ float a[DEPTH][CHANNELS + 1];
    __shared__ __align__(16) float b[DEPTH][PIXELS];
    const int t = threadIdx.x, across = t % ACROSS, down = t / ACROSS;
    const int area = s.size * s.size, area_in = s.size_in * s.size_in, pixels = s.images * area;
    const int first_channel = (pixels_first ? blockIdx.y : blockIdx.x) * CHANNELS;
    const int first_pixel = (pixels_first ? blockIdx.x : blockIdx.y) * PIXELS;

    /* the pixel that this thread gathers */
    const int mine = first_pixel + t % PIXELS, place = mine % area;
    const int top = place / s.size * s.stride - s.pad, left = place % s.size * s.stride - s.pad;
    const float *corner = input + mine / area * s.in * area_in + top * s.size_in + left;

    float sum[ROWS][4];
#pragma unroll
    for (int r = 0; r < ROWS; r++) sum[r][0] = sum[r][1] = sum[r][2] = sum[r][3] = 0.0f;
    for (int first = 0; first < s.taps; first += DEPTH) {
#pragma unroll
        for (int step = 0; step < DEPTH * CHANNELS / THREADS; step++) {
            const int k = t + step * THREADS;
            const int channel = first_channel + k / DEPTH, at = first + k % DEPTH;
            a[k % DEPTH][k / DEPTH] = channel < s.out && at < s.taps ? weights[channel * s.taps + at] : 0.0f;
        }
#pragma unroll
        for (int step = 0; step < DEPTH * PIXELS / THREADS; step++) {
            const int k = t / PIXELS + step * (THREADS / PIXELS);
            float value = 0.0f;
            if (first + k < s.taps && mine < pixels) {
                const tap at = taps[first + k];
                const unsigned y = top + at.down, x = left + at.by; /* beyond the edge: too large */
                if (y < (unsigned)s.size_in && x < (unsigned)s.size_in) value = corner[at.offset];
            }
            b[k][t % PIXELS] = value;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            const float4 column = *(const float4 *)&b[k][across * 4];
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const float weight = a[k][down * ROWS + r];
                sum[r][0] += weight * column.x;
                sum[r][1] += weight * column.y;
                sum[r][2] += weight * column.z;
                sum[r][3] += weight * column.w;
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < ROWS; r++) {
        const int channel = first_channel + down * ROWS + r;
        if (channel >= s.out) return;
        for (int k = 0; k < 4; k++) {
            const int pixel = first_pixel + across * 4 + k;
            if (pixel < pixels)
                output[(pixel / area * s.out + channel) * area + pixel % area] =
                    fmaxf(sum[r][k] + bias[channel], 0.0f);
        }
    }
}

#define LAYER(channels, rows) \
    extern "C" __global__ void cnn_layer_##channels(const float *input, const float *weights, \
                                                    const float *bias, const tap *taps, float *output, \
                                                    int images, int in, int out, int size_in, int size, \
                                                    int taps_count, int stride, int pad, int pixels_first) \
    { \
        const shape s = {images, in, out, size_in, size, taps_count, stride, pad}; \
        layer<channels, rows>(input, weights, bias, taps, output, s, pixels_first); \
    }
LAYER(8, 1)
LAYER(16, 1)
LAYER(32, 2)
LAYER(64, 4)
LAYER(128, 8)
