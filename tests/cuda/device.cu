// Devices: properties, attributes, limits, versions; with --devices 2 also peers.
#include "check.h"
#include <cuda_profiler_api.h>

__global__ void put(int *x, int v) { *x = v; }
__global__ void heap(int *got, size_t bytes)
{
    void *p = malloc(bytes);
    *got = p != nullptr;
    free(p);
}

static void properties()
{
    cudaDeviceProp p;
    int v = 0, driver = 0, runtime = 0, device = -1, least, greatest;
    unsigned flags = 0;
    size_t value = 0;
    char bus[32] = "";
    OK(cudaGetDevice(&device));
    HOLDS(device == 0);
    OK(cudaGetDeviceProperties(&p, 0));
    GIVES(cudaErrorInvalidDevice, cudaGetDeviceProperties(&p, 77));
    (void)cudaGetLastError();
    OK(cudaGetDeviceProperties(&p, 0));
    HOLDS(!strncmp(p.name, "Atoll ", 6) && p.warpSize == 32 && p.maxThreadsPerBlock == 1024);
    const struct {
        cudaDeviceAttr attribute;
        long long property;
    } rows[] = {{cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
                {cudaDevAttrComputeCapabilityMajor, p.major},
                {cudaDevAttrComputeCapabilityMinor, p.minor},
                {cudaDevAttrMaxSharedMemoryPerBlock, (long long)p.sharedMemPerBlock},
                {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (long long)p.sharedMemPerMultiprocessor},
                {cudaDevAttrMaxSharedMemoryPerBlockOptin, (long long)p.sharedMemPerBlockOptin},
                {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
                {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
                {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
                {cudaDevAttrL2CacheSize, p.l2CacheSize},
                {cudaDevAttrGlobalMemoryBusWidth, p.memoryBusWidth},
                {cudaDevAttrManagedMemory, p.managedMemory},
                {cudaDevAttrAsyncEngineCount, p.asyncEngineCount}};
    for (auto &row : rows) {
        OK(cudaDeviceGetAttribute(&v, row.attribute, 0));
        HOLDS(v == row.property && v > -1);
    }
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrClockRate, 0));
    HOLDS(v == 1400000); // uba-mem, and the default: 1.4 GHz
    HOLDS(p.multiProcessorCount == 64 && p.l2CacheSize == 6 << 20 && p.totalGlobalMem == (size_t)8 << 30);
    OK(cudaDriverGetVersion(&driver));
    OK(cudaRuntimeGetVersion(&runtime));
    HOLDS(driver >= runtime && runtime == CUDART_VERSION / 1000 * 1000);
    OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    OK(cudaGetDeviceFlags(&flags));
    HOLDS(flags & cudaDeviceScheduleBlockingSync);
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    HOLDS(value == 4096);
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    HOLDS(least == 0 && greatest < 0);
    OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    OK(cudaDeviceGetByPCIBusId(&device, bus));
    HOLDS(device == 0);
    OK(cudaCtxResetPersistingL2Cache());
    OK(cudaProfilerStart());
    OK(cudaProfilerStop());
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
    cudaFuncCache config;
    OK(cudaDeviceGetCacheConfig(&config));
    HOLDS(config == cudaFuncCachePreferShared);
}

static void malloc_heap()
{
    int *got;
    OK(cudaMallocManaged(&got, 4));
    heap<<<1, 1>>>(got, 16 << 20);
    OK(cudaDeviceSynchronize());
    HOLDS(*got == 0); // 8 MiB at first
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
    heap<<<1, 1>>>(got, 16 << 20);
    OK(cudaDeviceSynchronize());
    HOLDS(*got == 1);
    OK(cudaFree(got));
}

static void peers(int count)
{
    int can = -1, *a, *b, back = 0, value = 0;
    OK(cudaDeviceCanAccessPeer(&can, 0, 1 % count));
    HOLDS(can == (count > 1));
    if (count < 2) {
        GIVES(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
        (void)cudaGetLastError();
        return;
    }
    OK(cudaMalloc(&a, 4));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&b, 4));
    cudaPointerAttributes at;
    OK(cudaPointerGetAttributes(&at, b));
    HOLDS(at.device == 1);
    OK(cudaDeviceEnablePeerAccess(0, 0));
    GIVES(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(0, 0));
    put<<<1, 1>>>(a, 31); // device 1 writes memory of device 0
    OK(cudaMemcpyPeer(b, 1, a, 0, 4));
    OK(cudaMemcpy(&back, b, 4, cudaMemcpyDeviceToHost));
    HOLDS(back == 31);
    put<<<1, 1>>>(b, 32);
    OK(cudaMemcpyPeerAsync(a, 0, b, 1, 4));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&back, a, 4, cudaMemcpyDeviceToHost));
    HOLDS(back == 32);
    OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
    HOLDS(value == 1);
    OK(cudaDeviceDisablePeerAccess(0));
    GIVES(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(0));
    (void)cudaGetLastError();
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaSetDevice(0));
}

int main(int argc, char **argv)
{
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    HOLDS(count == (argc > 1 ? atoi(argv[1]) : 1));
    properties();
    malloc_heap();
    peers(count);
    OK(cudaDeviceReset());
    return finish();
}
