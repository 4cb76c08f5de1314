/* backprop: one training step of a network with one hidden layer of 16 units (Rodinia). Forward: a block
 * takes 16 inputs and all hidden units and writes their partial sums. Backward: every weight and the last
 * change of it are read and written. Weights lie in rows of 17, one per input; row and column 0 belong to the
 * thresholds. */
#include "device.h"

#define SIDE 16

extern "C" __global__ void backprop_forward(const float *input, const float *weights, float *partial)
{
    __shared__ float in[SIDE], products[SIDE][SIDE];
    const int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.x * SIDE + ty + 1;
    if (tx == 0) in[ty] = input[i];
    __syncthreads();
    products[ty][tx] = weights[(long long)i * (SIDE + 1) + tx + 1] * in[ty];
    __syncthreads();
    for (int half = SIDE / 2; half > 0; half /= 2) {
        if (ty < half) products[ty][tx] += products[ty + half][tx];
        __syncthreads();
    }
    if (ty == 0) partial[blockIdx.x * SIDE + tx] = products[0][tx];
}

extern "C" __global__ void backprop_adjust(const float *delta, const float *input, float *weights,
                                           float *change, float rate, float momentum)
{
    const int tx = threadIdx.x, i = blockIdx.x * SIDE + threadIdx.y + 1;
    const long long at = (long long)i * (SIDE + 1) + tx + 1;
    const float step = rate * delta[tx + 1] * input[i] + momentum * change[at];
    weights[at] += step;
    change[at] = step;
}
