// Error codes: of calls, of launches, sticky ones of kernels; argument: which fault.
#include "check.h"
#include <cassert>

__global__ void stray(int *x) { x[1 << 28] = 1; }
__global__ void crooked(char *x) { *(int *)(x + 1) = 1; }
__global__ void asserts(int x) { assert(x == 1); }
__global__ void traps() { __trap(); }
__global__ void fine(int *x) { *x = 1; }

static void codes()
{
    GIVES(cudaErrorInvalidDevice, cudaSetDevice(99));
    GIVES(cudaErrorInvalidDevice, cudaPeekAtLastError());
    GIVES(cudaErrorInvalidDevice, cudaGetLastError());
    OK(cudaGetLastError());
    HOLDS(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"));
    HOLDS(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
    HOLDS(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
    int *x;
    OK(cudaMalloc(&x, 4));
    fine<<<1, 2048>>>(x);
    GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
    fine<<<0, 1>>>(x);
    GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
    fine<<<1, 1>>>(x); // none of these is sticky
    OK(cudaDeviceSynchronize());
    GIVES(cudaErrorInvalidDeviceFunction,
          cudaLaunchKernel((const void *)&failures, dim3(1), dim3(1), nullptr, 0, 0));
    GIVES(cudaErrorInvalidResourceHandle, cudaStreamSynchronize((cudaStream_t)&failures));
    GIVES(cudaErrorInvalidResourceHandle, cudaEventSynchronize((cudaEvent_t)&failures));
    (void)cudaGetLastError();
}

static void sticky(cudaError_t code)
{
    int *x;
    OK(cudaGetLastError()); // the launch itself was fine
    GIVES(code, cudaDeviceSynchronize());
    GIVES(code, cudaGetLastError());
    GIVES(code, cudaGetLastError()); // stays
    GIVES(code, cudaMalloc(&x, 4));
    GIVES(code, cudaPeekAtLastError());
}

__global__ void has_static(int *x)
{
    __shared__ int words[10000];
    words[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    x[threadIdx.x] = words[threadIdx.x ^ 1];
}
__global__ void __launch_bounds__(64) bounded(int *x) { x[threadIdx.x] = 1; }

// sizes and shapes that no memory and no SM has
static void too_much(int *x)
{
    const size_t all = ~(size_t)0;
    int host[64], device = 0;
    size_t before, after, total;
    GIVES(cudaErrorInvalidValue, cudaMemset2D(x, all, 0, 4, all)); // the product is small
    GIVES(cudaErrorInvalidValue,
          cudaMemcpy2D(x, (size_t)1 << 62, host, (size_t)1 << 62, 4, 5, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidValue, cudaMemcpy2D(x, 4, host, (size_t)1 << 62, 4, 5, cudaMemcpyHostToDevice));
    GIVES(cudaErrorMemoryAllocation, cudaDeviceSetLimit(cudaLimitMallocHeapSize, (size_t)1 << 60));
    void *none = x;
    size_t pitch;
    cudaPitchedPtr space;
    GIVES(cudaErrorMemoryAllocation, cudaMallocPitch(&none, &pitch, (size_t)1 << 40, (size_t)1 << 40)); // 2^80
    HOLDS(!none);
    GIVES(cudaErrorMemoryAllocation, cudaMallocPitch(&none, &pitch, (size_t)1 << 33, ((size_t)1 << 31) + 1));
    GIVES(cudaErrorMemoryAllocation, cudaMallocPitch(&none, &pitch, all, 1)); // a pitch beyond all
    GIVES(cudaErrorMemoryAllocation,
          cudaMalloc3D(&space, make_cudaExtent((size_t)1 << 32, (size_t)1 << 32, 2)));
    HOLDS(!space.ptr);
    GIVES(cudaErrorMemoryAllocation,
          cudaMalloc3D(&space, make_cudaExtent(1, (size_t)1 << 32, (size_t)1 << 32)));
    has_static<<<1, 32, 10000>>>(x); // 40,000 of its own and 10,000 are more than 48 KiB
    GIVES(cudaErrorInvalidValue, cudaGetLastError());
    OK(cudaDeviceGetAttribute(&device, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    GIVES(cudaErrorInvalidValue,
          cudaFuncSetAttribute(has_static, cudaFuncAttributeMaxDynamicSharedMemorySize, device));
    GIVES(cudaErrorInvalidValue, cudaGetLastError());
    bounded<<<1, 65>>>(x);
    GIVES(cudaErrorLaunchOutOfResources, cudaGetLastError());
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&after, &total));
    HOLDS(after > before);
    GIVES(cudaErrorInvalidValue, cudaFree(x));
}

__global__ void greedy(const int *in, int *out) // a hundred registers
{
    int a[100];
#pragma unroll
    for (int i = 0; i < 100; i++) a[i] = in[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 100; i++) out[i] = a[99 - i];
}

// with time: a block that no SM has room for; only its launch fails
static void no_room()
{
    int *x, blocks = 1;
    OK(cudaMalloc(&x, 400));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, greedy, 1024, 0));
    HOLDS(blocks == 0);
    greedy<<<1, 1024>>>(x, x);
    GIVES(cudaErrorLaunchOutOfResources, cudaGetLastError());
    greedy<<<1, 256>>>(x, x);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(x));
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "codes";
    int *x;
    OK(cudaMalloc(&x, 64));
    if (!strcmp(which, "codes")) codes();
    if (!strcmp(which, "address")) {
        stray<<<1, 1>>>(x);
        sticky(cudaErrorIllegalAddress);
    }
    if (!strcmp(which, "near")) { // behind the end, but in the same 2 MiB page
        fine<<<1, 1>>>(x + 100);
        OK(cudaDeviceSynchronize());
    }
    if (!strcmp(which, "misaligned")) {
        crooked<<<1, 1>>>((char *)x);
        sticky(cudaErrorMisalignedAddress);
    }
    if (!strcmp(which, "assert")) {
        asserts<<<1, 1>>>(2);
        sticky(cudaErrorAssert);
    }
    if (!strcmp(which, "trap")) {
        traps<<<1, 1>>>();
        sticky(cudaErrorLaunchFailure);
    }
    if (!strcmp(which, "much")) too_much(x);
    if (!strcmp(which, "room")) no_room();
    if (!strcmp(which, "reset")) {
        stray<<<1, 1>>>(x);
        GIVES(cudaErrorIllegalAddress, cudaDeviceSynchronize());
        OK(cudaDeviceReset());
        OK(cudaMalloc(&x, 64));
        fine<<<1, 1>>>(x);
        OK(cudaDeviceSynchronize());
    }
    return finish();
}
