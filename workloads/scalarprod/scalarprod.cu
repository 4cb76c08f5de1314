/* scalarprod: scalar products of pairs of vectors (CUDA SDK). A block takes every gridDim.x-th pair: it makes SUMS
 * partial sums in shared memory, each over every SUMS-th element, and adds them up as a tree. */
#include "device.h"

#define SUMS 1024

extern "C" __global__ void scalarprod(const float *a, const float *b, float *products, int vectors, int elements)
{
    __shared__ float sums[SUMS];
    for (int v = blockIdx.x; v < vectors; v += gridDim.x) {
        const int first = v * elements, end = first + elements;
        for (int k = threadIdx.x; k < SUMS; k += blockDim.x) {
            float sum = 0.0f;
            for (int i = first + k; i < end; i += SUMS) sum += a[i] * b[i];
            sums[k] = sum;
        }
        for (int half = SUMS / 2; half > 0; half /= 2) {
            __syncthreads();
            for (int k = threadIdx.x; k < half; k += blockDim.x) sums[k] += sums[half + k];
        }
        if (threadIdx.x == 0) products[v] = sums[0];
        __syncthreads();
    }
}
