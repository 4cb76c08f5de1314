/* dnn: direct convolution for device code, as Tango's networks have it: a thread per output, which goes
 * through all input channels and the window; weights and inputs come straight from memory. Included after
 * device.h.
 *
 * The channels are the innermost loop: every step of it meets another line of weights and of the map, so that
 * both are read again through the LLC for every point of the window (modelling notes C), and not kept in the
 * L1 for all of it. Maps are [channel][row][column], weights [output channel][input channel][row][column]. A
 * block makes blockDim.y rows, or pieces of rows, of blockDim.x outputs in blockDim.z channels; the grid has
 * the channels first, then the pieces: so blocks that read the same weights lie as far apart as the rows of
 * the map, on as many SMs. */
#ifndef ATOLL_WORKLOADS_DNN_H
#define ATOLL_WORKLOADS_DNN_H

struct dnn_point {
    int channel, y, x;
    bool inside;
};

static __device__ dnn_point dnn_here(int channels, int size)
{
    const int pieces = (size + blockDim.x - 1) / blockDim.x;
    dnn_point p;
    p.channel = blockIdx.x * blockDim.z + threadIdx.z;
    p.y = blockIdx.y / pieces * blockDim.y + threadIdx.y;
    p.x = blockIdx.y % pieces * blockDim.x + threadIdx.x;
    p.inside = p.channel < channels && p.y < size && p.x < size;
    return p;
}

static __device__ float dnn_convolve(const float *in, const float *weights, dnn_point p, int channels_in,
                                     int size_in, int kernel, int stride, int pad)
{
    const int top = p.y * stride - pad, left = p.x * stride - pad;
    const float *w = weights + p.channel * channels_in * kernel * kernel;
    float sum = 0.0f;
    for (int i = 0; i < kernel; i++) {
        for (int j = 0; j < kernel; j++) {
            const int y = top + i, x = left + j;
            if (y < 0 || y >= size_in || x < 0 || x >= size_in) continue;
            for (int c = 0; c < channels_in; c++)
                sum += w[(c * kernel + i) * kernel + j] * in[(c * size_in + y) * size_in + x];
        }
    }
    return sum;
}

#endif
