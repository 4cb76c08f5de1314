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
    GIVES(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((const void *)&failures, dim3(1), dim3(1), nullptr, 0, 0));
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
