/* binomial: price of a European call by a binomial tree (CUDA SDK). A block per option: the prices at expiry
 * are laid out in shared memory, then the block goes back step by step. */
#include "device.h"

#define STEPS_MOST 2048
#define BLOCK      256

/* up: log of the price's growth in a step up (down: its negative); chances are discounted. */
struct option {
    float price, strike, up, chance_up, chance_down;
};

extern "C" __global__ void binomial(const option *options, float *call, int steps)
{
    __shared__ float value[STEPS_MOST + 1];
    const option o = options[blockIdx.x];
    for (int i = threadIdx.x; i <= steps; i += BLOCK) {
        const float at_end = o.price * expf(o.up * (float)(2 * i - steps)) - o.strike;
        value[i] = at_end > 0.0f ? at_end : 0.0f;
    }
    for (int left = steps; left > 0; left--) {
        for (int base = 0; base < left; base += BLOCK) {
            const int i = base + threadIdx.x;
            __syncthreads();
            const float next = i < left ? o.chance_up * value[i + 1] + o.chance_down * value[i] : 0.0f;
            __syncthreads();
            if (i < left) value[i] = next;
        }
    }
    if (threadIdx.x == 0) call[blockIdx.x] = value[0];
}
