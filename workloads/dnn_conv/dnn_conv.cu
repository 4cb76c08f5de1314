/* dnn_conv: a convolution layer of AlexNet with ReLU, and the 3x3 maximum pooling that follows it (Tango). */
#include "device.h"
#include "dnn.h"
#include "dnn_map.h"

extern "C" __global__ void dnn_conv(const float *in, const float *weights, const float *bias, float *out,
                                    int channels_in, int channels, int size_in, int size, int kernel,
                                    int stride, int pad)
{
    const dnn_point p = dnn_here(channels, size);
    if (!p.inside) return;
    const float sum =
        dnn_convolve(in, weights, p, channels_in, size_in, kernel, stride, pad) + bias[p.channel];
    out[(p.channel * size + p.y) * size + p.x] = fmaxf(sum, 0.0f);
}

/* Every second row and column. */
extern "C" __global__ void dnn_pool(const float *in, float *out, int channels, int size_in, int size)
{
    const dnn_point p = dnn_here(channels, size);
    if (!p.inside) return;
    const float *from = in + (p.channel * size_in + 2 * p.y) * size_in + 2 * p.x;
    float most = from[0];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) most = fmaxf(most, from[i * size_in + j]);
    out[(p.channel * size + p.y) * size + p.x] = most;
}
