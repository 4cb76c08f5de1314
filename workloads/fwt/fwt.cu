/* fwt: fast Walsh-Hadamard transforms of a batch and their product (CUDA SDK). Butterflies whose four
 * elements lie far apart go through global memory in place, one launch per two powers of two; blocks of at
 * most 2048 elements are finished in shared memory. */
#include "device.h"

#define SHARED_MOST 2048

static __device__ void butterfly4(float &a, float &b, float &c, float &d)
{
    const float ac = a + c, bd = b + d, a_c = a - c, b_d = b - d;
    a = ac + bd;
    b = ac - bd;
    c = a_c + b_d;
    d = a_c - b_d;
}

/* Elements stride apart; grid: blocks of one transform (of its quarter), then transforms. */
extern "C" __global__ void fwt_global(float *data, int stride)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x, low = at & (stride - 1);
    float *d = data + (long long)(blockIdx.y * gridDim.x * blockDim.x) * 4 + ((at - low) * 4 + low);
    float v0 = d[0], v1 = d[stride], v2 = d[2 * stride], v3 = d[3 * stride];
    butterfly4(v0, v1, v2, v3);
    d[0] = v0;
    d[stride] = v1;
    d[2 * stride] = v2;
    d[3 * stride] = v3;
}

/* A whole transform of 1 << log2n elements per block, four per thread. */
extern "C" __global__ void fwt_shared(float *data, int log2n)
{
    __shared__ float s[SHARED_MOST];
    const int n = 1 << log2n, t = threadIdx.x;
    float *d = data + (long long)blockIdx.x * n;
    for (int i = t; i < n; i += blockDim.x) s[i] = d[i];
    int stride = n >> 2;
    for (; stride > 0; stride >>= 2) {
        const int low = t & (stride - 1), i = (t - low) * 4 + low;
        __syncthreads();
        butterfly4(s[i], s[i + stride], s[i + 2 * stride], s[i + 3 * stride]);
    }
    if (log2n & 1) { /* one power of two is left */
        __syncthreads();
        for (int i = t; i < n / 2; i += blockDim.x) {
            const float a = s[2 * i], b = s[2 * i + 1];
            s[2 * i] = a + b;
            s[2 * i + 1] = a - b;
        }
    }
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) d[i] = s[i];
}

extern "C" __global__ void fwt_modulate(float *data, const float *kernel, float scale, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x)
        data[i] *= scale * kernel[i];
}
