/* device_functions: every function of device.h once, for the test of the header. */
#include "device.h"

extern "C" __global__ void mathematics(const float *in, float *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = in[i], positive = fabsf(x) + 0.001f;
    float *o = out + i * 16;
    o[0] = expf(x);
    o[1] = logf(positive);
    o[2] = sinf(x);
    o[3] = cosf(x);
    o[4] = tanhf(x);
    o[5] = powf(positive, 1.5f);
    o[6] = sqrtf(positive);
    o[7] = rsqrtf(positive);
    o[8] = floorf(x) + 3.0f * ceilf(x);
    o[9] = truncf(x) + 3.0f * rintf(x);
    o[10] = fmaf(x, x, 1.0f);
    o[11] = fminf(x, 0.5f) + 3.0f * fmaxf(x, 0.25f);
    o[12] = exp2f(x);
    o[13] = log2f(positive);
    o[14] = __fdividef(1.0f, positive);
    o[15] = min(x, 0.5f) + 3.0f * max(x, 0.25f);
}

/* One warp. */
extern "C" __global__ void warp_functions(unsigned *out)
{
    const unsigned lane = threadIdx.x, all = 0xffffffffu;
    unsigned *o = out + lane * 16;
    o[0] = __shfl_sync(all, lane * 3, 5);
    o[1] = __shfl_up_sync(all, lane * 3, 2);
    o[2] = __shfl_down_sync(all, lane * 3, 3);
    o[3] = __shfl_xor_sync(all, lane * 3, 6);
    o[4] = __shfl_up_sync(all, lane * 3, 2, 8);
    o[5] = __shfl_down_sync(all, lane * 3, 3, 16);
    o[6] = __shfl_sync(all, lane * 3, 1, 4);
    o[7] = (unsigned)__shfl_sync(all, (float)lane, 7);
    o[8] = __ballot_sync(all, lane % 3 == 0);
    o[9] = __any_sync(all, lane == 40) + 2 * __any_sync(all, lane == 4);
    o[10] = __all_sync(all, lane < 32) + 2 * __all_sync(all, lane < 31);
    o[11] = __popc(lane) + 100 * __clz((int)lane) + 10000 * __ffs((int)lane);
    o[12] = __brev(lane);
    o[13] = min(lane, 7u) + 100 * max(lane, 9u) + 10000 * (unsigned)abs((int)lane - 16);
    o[14] = __float_as_uint((float)lane) ^ (unsigned)__float_as_int((float)lane + 1.0f);
    o[15] =
        (unsigned)__int_as_float((int)__float_as_uint((float)lane)) + (unsigned)__uint_as_float(0x40000000u);
    __syncwarp();
}

/* Several blocks on the same words. */
extern "C" __global__ void atomics(int *s, unsigned *u, float *f, unsigned long long *wide)
{
    __shared__ int count;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, 2);
    atomicAdd(s, i);
    atomicSub(s + 1, i);
    atomicMin(s + 2, 50 - i);
    atomicMax(s + 3, i - 50);
    atomicOr(s + 4, 1 << i % 20);
    atomicAnd(s + 5, ~(1 << i % 20));
    atomicXor(s + 6, 1 << i % 7);
    atomicExch(s + 7, 77);
    atomicCAS(s + 8, i, i + 1); /* in some order: at least the step from 0 */
    atomicAdd(u, 3u);
    atomicMin(u + 1, 0xffffff00u - (unsigned)i);
    atomicMax(u + 2, 0x80000000u + (unsigned)i);
    atomicOr(u + 3, 1u << i % 32);
    atomicAnd(u + 4, ~(1u << i % 9));
    atomicExch(u + 5, 99u);
    if (atomicCAS(u + 6, 0u, (unsigned)i + 1) == 0u) atomicAdd(u + 7, 1u);
    atomicAdd(f, 0.5f);
    atomicAdd(wide, 1ull << 33);
    __threadfence();
    const int both = __syncthreads_count(threadIdx.x % 2) + 1000 * (__syncthreads_or(threadIdx.x == 3) != 0) +
                     10000 * (__syncthreads_and(threadIdx.x < 64) != 0);
    if (threadIdx.x == 0) s[9 + blockIdx.x] = count + 100000 * both;
}

__constant__ float weights[4];

extern "C" __global__ void vectors(const float4 *in, float4 *out, const float2 *pairs, float *sums)
{
    extern __shared__ float staged[];
    const int i = threadIdx.x;
    const float4 v = in[i];
    const float2 p = pairs[i];
    out[i] = make_float4(v.w * weights[0], v.z * weights[1], v.y * weights[2], v.x * weights[3]);
    staged[i] = p.x + p.y + __ldg(&in[i].x);
    __syncthreads();
    sums[i] = staged[blockDim.x - 1 - i];
}
