/* blackscholes: prices of European options in closed form; a grid-stride loop over the options. */
#include "device.h"

/* The normal distribution function by the five-term polynomial of Abramowitz and Stegun 26.2.17. */
static __device__ float normal_cdf(float d)
{
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float poly =
        k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float tail = 0.39894228f * expf(-0.5f * d * d) * poly;
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void blackscholes(float *call, float *put, const float *price, const float *strike,
                                        const float *years, float rate, float volatility, int n)
{
    const int threads = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        const float s = price[i], x = strike[i], t = years[i];
        const float spread = volatility * sqrtf(t);
        const float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread;
        const float n1 = normal_cdf(d1), n2 = normal_cdf(d1 - spread);
        const float discounted = x * expf(-rate * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}
