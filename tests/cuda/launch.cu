// Launches: arguments of all sizes, templates, cudaLaunchKernel and ExC, cooperative grids, attributes, occupancy.
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

struct big {
    double d[9];
    char c;
    short s;
};
__global__ void mixed(char a, short b, int c, long long d, float e, double f, big g, double *out)
{
    out[0] = a + b + c + (double)d + e + f + g.d[8] + g.c + g.s;
}
template <typename T, int N> __global__ void fill(T *out) { out[blockIdx.x * N + threadIdx.x] = (T)(N * 1000 + threadIdx.x); }
__global__ void dynamic_shared(int *out, int n)
{
    extern __shared__ int s[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = i;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < n; i++) sum += s[(i + threadIdx.x) % n];
    out[threadIdx.x] = sum;
}
__global__ void __launch_bounds__(64) bounded(int *out) { out[threadIdx.x] = 1; }
// a hundred values alive at the barrier: more than __launch_bounds__ leaves registers for
__device__ void reverse(const int *in, int *out)
{
    int a[100];
#pragma unroll
    for (int i = 0; i < 100; i++) a[i] = in[i * 32 + threadIdx.x % 32];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 100; i++) out[i * 1024 + threadIdx.x] = a[99 - i];
}
__global__ void __launch_bounds__(1024) reverse_large(const int *in, int *out) { reverse(in, out); }
__global__ void __launch_bounds__(128, 8) reverse_many(const int *in, int *out) { reverse(in, out); }
__global__ void grid_sum(int *data, int n, int *total)
{
    cg::grid_group grid = cg::this_grid();
    for (int i = (int)grid.thread_rank(); i < n; i += (int)grid.size()) data[i] = 1;
    grid.sync();
    if (grid.thread_rank() == 0) {
        int sum = 0;
        for (int i = 0; i < n; i++) sum += data[i];
        *total = sum;
    }
}

static void arguments()
{
    double *out;
    big g = {};
    g.d[8] = 1000;
    g.c = 3;
    g.s = 400;
    OK(cudaMallocManaged(&out, 8));
    mixed<<<1, 1>>>(1, 20, 300, 4000000000LL, 0.5f, 0.25, g, out);
    OK(cudaDeviceSynchronize());
    HOLDS(*out == 1 + 20 + 300 + 4000000000.0 + 0.5 + 0.25 + 1000 + 3 + 400);
    char a = 2;
    short b = 1;
    int c = 1;
    long long d = 1;
    float e = 1;
    double f = 1;
    void *args[] = {&a, &b, &c, &d, &e, &f, &g, &out};
    OK(cudaLaunchKernel((const void *)mixed, dim3(1), dim3(1), args, 0, 0));
    OK(cudaDeviceSynchronize());
    HOLDS(*out == 2 + 1 + 1 + 1 + 1 + 1 + 1403);
    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = dim3(1);
    e = 11;
    OK(cudaLaunchKernelExC(&config, (const void *)mixed, args));
    OK(cudaDeviceSynchronize());
    HOLDS(*out == 2 + 1 + 1 + 1 + 11 + 1 + 1403);
    OK(cudaLaunchKernelEx(&config, mixed, a, b, c, d, 21.0f, f, g, out));
    OK(cudaDeviceSynchronize());
    HOLDS(*out == 2 + 1 + 1 + 1 + 21 + 1 + 1403);
    OK(cudaFree(out));
}

static void templates()
{
    double *d;
    short *s;
    OK(cudaMallocManaged(&d, 64 * sizeof *d));
    OK(cudaMallocManaged(&s, 64 * sizeof *s));
    fill<double, 32><<<2, 32>>>(d);
    fill<short, 16><<<4, 16>>>(s);
    OK(cudaDeviceSynchronize());
    HOLDS(d[33] == 32001 && s[17] == 16001);
    OK(cudaFree(d));
    OK(cudaFree(s));
}

static void shared_memory()
{
    int *out;
    const int n = 4000, large = 20000;
    OK(cudaMallocManaged(&out, 256));
    dynamic_shared<<<1, 64, n * sizeof(int)>>>(out, n);
    OK(cudaDeviceSynchronize());
    HOLDS(out[0] == n * (n - 1) / 2 && out[63] == out[0]);
    dynamic_shared<<<1, 64, large * sizeof(int)>>>(out, large); // more than 48 KiB must be asked for
    GIVES(cudaErrorInvalidValue, cudaGetLastError());
    OK(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, large * sizeof(int)));
    dynamic_shared<<<1, 64, large * sizeof(int)>>>(out, large);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    HOLDS(out[1] == large * (large - 1) / 2);
    GIVES(cudaErrorInvalidValue,
          cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30));
    (void)cudaGetLastError();
    OK(cudaFree(out));
}

static void about()
{
    cudaFuncAttributes a;
    int blocks = 0, half = 0, device_threads = 0, grid = 0, block = 0;
    const char *name = nullptr;
    OK(cudaFuncGetAttributes(&a, bounded));
    HOLDS(a.maxThreadsPerBlock == 64 && a.numRegs >= 16 && a.sharedSizeBytes == 0);
    OK(cudaFuncSetCacheConfig(bounded, cudaFuncCachePreferL1));
    OK(cudaFuncGetName(&name, (const void *)bounded));
    HOLDS(name && strstr(name, "bounded"));
    OK(cudaDeviceGetAttribute(&device_threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 64, 0));
    HOLDS(blocks > 0 && blocks <= device_threads / 64);
    int shared = 0;
    OK(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&half, dynamic_shared, 64, (size_t)shared / 2, 0));
    HOLDS(half == 2);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded, 0, 0));
    HOLDS(block == 64 && grid > 0);
    size_t available = 0;
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&available, dynamic_shared, 2, 64));
    HOLDS(available == (size_t)shared / 2);
    int *out;
    OK(cudaMalloc(&out, 4096));
    bounded<<<1, 128>>>(out);
    GIVES(cudaErrorLaunchOutOfResources, cudaGetLastError());
    OK(cudaFree(out));
    size_t offset = 1, bytes = 0;
    OK(cudaFuncGetParamInfo((const void *)dynamic_shared, 1, &offset, &bytes));
    HOLDS(offset == 8 && bytes == 4);
}

// what __launch_bounds__ asks for fits
static void registers()
{
    int *in, *out, blocks = 0;
    cudaFuncAttributes a;
    OK(cudaMallocManaged(&in, 3200 * sizeof(int)));
    OK(cudaMallocManaged(&out, 102400 * sizeof(int)));
    for (int i = 0; i < 3200; i++) in[i] = i;
    OK(cudaFuncGetAttributes(&a, reverse_large));
    HOLDS(a.numRegs == 64);
    OK(cudaFuncGetAttributes(&a, reverse_many));
    HOLDS(a.numRegs == 64);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse_many, 128, 0));
    HOLDS(blocks == 8);
    reverse_large<<<1, 1024>>>(in, out);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    HOLDS(out[1024 + 33] == in[98 * 32 + 1]);
    OK(cudaFree(in));
    OK(cudaFree(out));
}

static void cooperative()
{
    int *data, *total, n = 10000, blocks = 0, sms = 0, can = 0;
    OK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
    HOLDS(can == 1);
    OK(cudaMallocManaged(&data, n * sizeof(int)));
    OK(cudaMallocManaged(&total, sizeof(int)));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid_sum, 128, 0));
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    void *args[] = {&data, &n, &total};
    OK(cudaLaunchCooperativeKernel((const void *)grid_sum, dim3(sms), dim3(128), args));
    OK(cudaDeviceSynchronize());
    HOLDS(*total == n);
    GIVES(cudaErrorCooperativeLaunchTooLarge,
          cudaLaunchCooperativeKernel((const void *)grid_sum, dim3(sms * blocks + 1), dim3(128), args));
    (void)cudaGetLastError();
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(7);
    config.blockDim = dim3(64);
    config.attrs = &attribute;
    config.numAttrs = 1;
    *total = 0;
    OK(cudaLaunchKernelExC(&config, (const void *)grid_sum, args));
    OK(cudaDeviceSynchronize());
    HOLDS(*total == n);
    OK(cudaFree(data));
    OK(cudaFree(total));
}

int main()
{
    arguments();
    templates();
    shared_memory();
    about();
    registers();
    cooperative();
    return finish();
}
