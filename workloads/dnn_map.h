/* dnn_map: the convolution of the SelRep paper's networks, for device code: a block makes a whole map, as
 * Tango's kernels do, a thread per point. Included after device.h and dnn.h.
 *
 * Every block goes through the same input in the same order: a chunk of the channels for one point of the
 * window, the same chunk for the next point, then the next chunk. A chunk is larger than the L1, so that
 * about half of the reads reach the LLC, and SMs that began together, or that go through a chunk at different
 * places, ask for the same lines within a short time: the behaviour that SelRep is about (modelling notes C;
 * measured in docs/workloads.md). At 7 lines per cycle 64 SMs go through 100 KB in 7000 cycles, so that even
 * without being in step about nine of them read a line within 1000; of all channels at once (140 to 400 KB)
 * it would be two to six. A chunk of one channel, the other extreme, would live in the L1.
 *
 * Weights belong to one block: [output channel][chunk][row][column][channel of the chunk], so that four of
 * them come in one load and a line of them serves 32 channels. Loads of DNN_AHEAD channels go ahead of their
 * use, as compilers for GPUs schedule them; a chunk is a multiple of it, the input channels of a chunk. */
#ifndef ATOLL_WORKLOADS_DNN_MAP_H
#define ATOLL_WORKLOADS_DNN_MAP_H

#define DNN_AHEAD 8

extern "C" __global__ void dnn_map(const float *in, const float *weights, const float *bias, float *out,
                                   int channels_in, int channels, int size_in, int size, int kernel,
                                   int stride, int pad, int chunk)
{
    const dnn_point p = dnn_here(channels, size);
    if (!p.inside) return;
    const int top = p.y * stride - pad, left = p.x * stride - pad, area = size_in * size_in;
    const float *w = weights + p.channel * kernel * kernel * channels_in;
    float sum = 0.0f;
    for (int first = 0; first < channels_in; first += chunk) {
        for (int i = 0; i < kernel; i++) {
            for (int j = 0; j < kernel; j++, w += chunk) {
                const int y = top + i, x = left + j;
                if (y < 0 || y >= size_in || x < 0 || x >= size_in) continue;
                const float *from = in + (first * size_in + y) * size_in + x;
                for (int c = 0; c < chunk; c += DNN_AHEAD) {
                    float4 a[DNN_AHEAD / 4];
                    float b[DNN_AHEAD];
#pragma unroll
                    for (int k = 0; k < DNN_AHEAD / 4; k++) a[k] = ((const float4 *)(w + c))[k];
#pragma unroll
                    for (int k = 0; k < DNN_AHEAD; k++) {
                        b[k] = *from;
                        from += area;
                    }
#pragma unroll
                    for (int k = 0; k < DNN_AHEAD; k += 4) {
                        sum += a[k / 4].x * b[k];
                        sum += a[k / 4].y * b[k + 1];
                        sum += a[k / 4].z * b[k + 2];
                        sum += a[k / 4].w * b[k + 3];
                    }
                }
            }
        }
    }
    out[(p.channel * size + p.y) * size + p.x] = fmaxf(sum + bias[p.channel], 0.0f);
}

#endif
