/* resnet: a bottleneck block of ResNet-50 (Tango): direct convolutions, each followed by a launch for batch
 * normalisation (a factor and a shift per channel) with ReLU; the last one adds the block's input. */
#include "device.h"
#include "dnn.h"
#include "dnn_map.h"

extern "C" __global__ void resnet_conv(const float *in, const float *weights, float *out, int channels_in,
                                       int channels, int size, int kernel)
{
    const dnn_point p = dnn_here(channels, size);
    if (!p.inside) return;
    out[(p.channel * size + p.y) * size + p.x] =
        dnn_convolve(in, weights, p, channels_in, size, kernel, 1, kernel / 2);
}

extern "C" __global__ void resnet_normalise(float *map, const float *factor, const float *shift, int area,
                                            int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) map[i] = fmaxf(map[i] * factor[i / area] + shift[i / area], 0.0f);
}

extern "C" __global__ void resnet_add(float *map, const float *factor, const float *shift, const float *input,
                                      int area, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) map[i] = fmaxf(map[i] * factor[i / area] + shift[i / area] + input[i], 0.0f);
}
