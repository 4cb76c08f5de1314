/* squeezenet: the convolutions of a fire module (Tango): 1x1 squeeze, then 1x1 and 3x3 expand, all with ReLU;
 * the expands write their halves of the output (concatenation). */
#include "device.h"
#include "dnn.h"
#include "dnn_map.h"

extern "C" __global__ void squeezenet(const float *in, const float *weights, const float *bias, float *out,
                                      int channels_in, int channels, int size, int kernel)
{
    const dnn_point p = dnn_here(channels, size);
    if (!p.inside) return;
    const float sum =
        dnn_convolve(in, weights, p, channels_in, size, kernel, 1, kernel / 2) + bias[p.channel];
    out[(p.channel * size + p.y) * size + p.x] = fmaxf(sum, 0.0f);
}
