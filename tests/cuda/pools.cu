// Memory in the order of streams, and pools.
#include "check.h"

__global__ void put(int *x, int v) { x[threadIdx.x] = v; }

int main()
{
    int *x, back[32], device = 0;
    cudaStream_t s;
    cudaMemPool_t normal, own, current;
    unsigned long long threshold = 1 << 20, value = 0;
    cudaMemAccessFlags flags;
    OK(cudaStreamCreate(&s));
    OK(cudaMallocAsync(&x, sizeof back, s));
    put<<<1, 32, 0, s>>>(x, 9);
    OK(cudaMemcpyAsync(back, x, sizeof back, cudaMemcpyDeviceToHost, s));
    OK(cudaDeviceGetDefaultMemPool(&normal, device));
    OK(cudaMemPoolGetAttribute(normal, cudaMemPoolAttrUsedMemCurrent, &value));
    HOLDS(value == sizeof back);
    OK(cudaFreeAsync(x, s));
    OK(cudaStreamSynchronize(s));
    HOLDS(back[0] == 9 && back[31] == 9);
    OK(cudaMemPoolGetAttribute(normal, cudaMemPoolAttrUsedMemCurrent, &value));
    HOLDS(value == 0);
    OK(cudaMemPoolGetAttribute(normal, cudaMemPoolAttrUsedMemHigh, &value));
    HOLDS(value == sizeof back);
    OK(cudaMemPoolSetAttribute(normal, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(normal, cudaMemPoolAttrReleaseThreshold, &value));
    HOLDS(value == threshold);
    GIVES(cudaErrorInvalidValue, cudaFreeAsync(x, s));

    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&own, &props));
    OK(cudaMallocFromPoolAsync(&x, 64, own, s));
    put<<<1, 16, 0, s>>>(x, 4);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(back, x, 64, cudaMemcpyDeviceToHost));
    HOLDS(back[15] == 4);
    OK(cudaFree(x)); // also without a stream
    OK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &value));
    HOLDS(value == 0);
    cudaMemAccessDesc access = {};
    access.location = props.location;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    OK(cudaMemPoolSetAccess(own, &access, 1));
    OK(cudaMemPoolGetAccess(&flags, own, &access.location));
    HOLDS(flags == cudaMemAccessFlagsProtReadWrite);
    OK(cudaDeviceSetMemPool(device, own));
    OK(cudaDeviceGetMemPool(&current, device));
    HOLDS(current == own);
    OK(cudaMemPoolTrimTo(own, 0));
    OK(cudaMemPoolDestroy(own));
    OK(cudaDeviceGetMemPool(&current, device));
    HOLDS(current == normal);
    GIVES(cudaErrorInvalidValue, cudaMemPoolDestroy(own));
    GIVES(cudaErrorInvalidValue, cudaMemPoolDestroy(normal));
    (void)cudaGetLastError();
    OK(cudaStreamDestroy(s));
    return finish();
}
