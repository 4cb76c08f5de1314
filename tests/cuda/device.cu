// Devices: properties, attributes, limits, versions; with --devices 2 also peers and variables of each.
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

__constant__ int who = 70;
__device__ int calls = 5;
__device__ int *calls_at = &calls;
__managed__ int shared_calls = 100;

__global__ void look(int *seen)
{
    *seen = who;
    atomicAdd(calls_at, 1);
    atomicAdd(&shared_calls, 1);
}

/* Each device has variables of its own; managed ones are one for all. */
static void variables(int count)
{
    void *at[2] = {};
    int *seen, back = 0;
    OK(cudaMallocManaged(&seen, sizeof(int)));
    for (int i = 1; i < count; i++) { // the second device first: its variables have their first values
        OK(cudaSetDevice(i));
        OK(cudaMemcpyFromSymbol(&back, who, sizeof back));
        HOLDS(back == 70);
        OK(cudaMemcpyToSymbol(who, &i, sizeof i));
    }
    for (int i = 0; i < count && i < 2; i++) {
        cudaStream_t s;
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        OK(cudaSetDevice(i));
        OK(cudaStreamCreate(&s));
        OK(cudaGetSymbolAddress(&at[i], calls));
        look<<<1, 1, 0, s>>>(seen);
        OK(cudaStreamSynchronize(s));
        HOLDS(*seen == (i ? i : 70));
        OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
        look<<<1, 1, 0, s>>>(seen);
        OK(cudaStreamEndCapture(s, &graph));
        OK(cudaGraphInstantiate(&exec, graph, 0));
        OK(cudaGraphLaunch(exec, s));
        OK(cudaStreamSynchronize(s));
        OK(cudaMemcpyFromSymbol(&back, calls, sizeof back));
        HOLDS(back == 7);
        HOLDS(shared_calls == 102 + 2 * i);
        OK(cudaGraphExecDestroy(exec));
        OK(cudaGraphDestroy(graph));
        OK(cudaStreamDestroy(s));
    }
    HOLDS(at[0] != at[1]);
    OK(cudaSetDevice(0));
    OK(cudaFree(seen));
}

int main(int argc, char **argv)
{
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    HOLDS(count == (argc > 1 ? atoi(argv[1]) : 1));
    properties();
    malloc_heap();
    peers(count);
    variables(count);
    OK(cudaDeviceReset());
    return finish();
}
