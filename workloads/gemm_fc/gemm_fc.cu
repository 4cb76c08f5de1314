/* gemm_fc: a fully connected layer: the activations of a batch (rows x inner) times the weights (inner x columns),
 * 4 x 32 elements per block (gemm_fc.h). */
#include "device.h"
#include "gemm_fc.h"

extern "C" __global__ void gemm_fc(const float *activations, const float *weights, float *out, int inner, int columns)
{
    out[gemm_fc_index(columns)] = gemm_fc_element(activations, weights, inner, columns);
}
