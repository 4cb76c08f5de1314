/* dnn_map: the convolution of the SelRep paper's networks, for device code: a block makes a whole map, as
 * Tango's kernels do, a thread per point. Included after device.h and dnn.h.
 *
 * Every block goes through the same input in the same order, all channels for one point of the window, then
 * the next point: no L1 holds the input, so that half of the reads reach the LLC, and SMs that began together
 * ask for the same lines at about the same time: the behaviour that SelRep is about (modelling notes C;
 * measured in docs/workloads.md). Weights belong to one block: [output channel][row][column][input channel],
 * so that a line of them serves 32 channels. Loads of DNN_AHEAD channels go ahead of their use, as compilers
 * for GPUs schedule them; input channels are a multiple of it. */
#ifndef ATOLL_WORKLOADS_DNN_MAP_H
#define ATOLL_WORKLOADS_DNN_MAP_H

#define DNN_AHEAD 8

extern "C" __global__ void dnn_map(const float *in, const float *weights, const float *bias, float *out,
                                   int channels_in, int channels, int size_in, int size, int kernel,
                                   int stride, int pad)
{
    const dnn_point p = dnn_here(channels, size);
    if (!p.inside) return;
    const int top = p.y * stride - pad, left = p.x * stride - pad, area = size_in * size_in;
    float sum = 0.0f;
    for (int i = 0; i < kernel; i++) {
        for (int j = 0; j < kernel; j++) {
            const int y = top + i, x = left + j;
            if (y < 0 || y >= size_in || x < 0 || x >= size_in) continue;
            const float *w = weights + ((p.channel * kernel + i) * kernel + j) * channels_in;
            const float *from = in + y * size_in + x;
            for (int c = 0; c < channels_in; c += DNN_AHEAD) {
                float a[DNN_AHEAD], b[DNN_AHEAD];
#pragma unroll
                for (int k = 0; k < DNN_AHEAD; k++) {
                    a[k] = w[c + k];
                    b[k] = *from;
                    from += area;
                }
#pragma unroll
                for (int k = 0; k < DNN_AHEAD; k++) sum += a[k] * b[k];
            }
        }
    }
    out[(p.channel * size + p.y) * size + p.x] = fmaxf(sum + bias[p.channel], 0.0f);
}

#endif
