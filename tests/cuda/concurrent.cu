// Kernels of different streams at the same time: kernels that wait for each other, for the host, and the host for
// them; the legacy default stream; what may go while it is in use; time that is shared.
#include <atomic>
#include <condition_variable>
#include <cooperative_groups.h>
#include <mutex>
#include <string.h>
#include <thread>

#include "check.h"

// Each writes a number and waits for the other's, in turn.
__global__ void ping(volatile int *mine, volatile int *other, int rounds)
{
    for (int i = 1; i <= rounds; i++) {
        *mine = i;
        __threadfence_system();
        while (*other < i) {
        }
    }
}
__global__ void wait_for(volatile int *flag, int *done)
{
    while (*flag == 0) {
    }
    *done = *flag;
}
__global__ void put(volatile int *x, int v)
{
    *x = v;
    __threadfence_system();
}
__global__ void twice(int *x) { *x *= 2; }
__global__ void work(float *x, int rounds)
{
    float v = x[threadIdx.x];
    for (int i = 0; i < rounds; i++) v = v * 1.0001f + 1.0f;
    x[threadIdx.x] = v;
}
__global__ void meet_all(int *x)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    for (int i = 0; i < 3; i++) {
        if (threadIdx.x == 0) atomicAdd(x, 1);
        grid.sync();
    }
}

static float between(cudaEvent_t a, cudaEvent_t b)
{
    float ms = -1;
    OK(cudaEventElapsedTime(&ms, a, b));
    return ms;
}

static void each_other()
{
    cudaStream_t one, two;
    int *x, back[2] = {0};
    OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    OK(cudaStreamCreate(&two));
    OK(cudaMalloc(&x, 1024));
    OK(cudaMemset(x, 0, 1024));
    OK(cudaDeviceSynchronize());
    ping<<<1, 1, 0, one>>>(x, x + 64, 20);
    ping<<<1, 1, 0, two>>>(x + 64, x, 20);
    OK(cudaStreamSynchronize(two));
    OK(cudaStreamSynchronize(one));
    OK(cudaMemcpy(back, x, 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(back + 1, x + 64, 4, cudaMemcpyDeviceToHost));
    HOLDS(back[0] == 20 && back[1] == 20);
    // from two threads of the host: one waits for its kernel before the other has launched
    OK(cudaMemset(x, 0, 1024));
    OK(cudaDeviceSynchronize());
    std::thread other([&] {
        wait_for<<<1, 1, 0, one>>>(x, x + 64);
        OK(cudaStreamSynchronize(one));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    put<<<1, 1, 0, two>>>(x, 7);
    other.join();
    OK(cudaMemcpy(back, x + 64, 4, cudaMemcpyDeviceToHost));
    HOLDS(back[0] == 7);
    // two grids with barriers of their own
    void *first[] = {&x}, *second[1];
    int *y = x + 64;
    second[0] = &y;
    OK(cudaMemset(x, 0, 1024));
    OK(cudaDeviceSynchronize());
    OK(cudaLaunchCooperativeKernel((void *)meet_all, dim3(8), dim3(64), first, 0, one));
    OK(cudaLaunchCooperativeKernel((void *)meet_all, dim3(4), dim3(32), second, 0, two));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(back, x, 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(back + 1, x + 64, 4, cudaMemcpyDeviceToHost));
    HOLDS(back[0] == 24 && back[1] == 12);
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(two));
    OK(cudaFree(x));
}

// The default stream waits for blocking streams and they for it; those that do not block are beside it.
static void default_stream()
{
    cudaStream_t blocking, beside;
    int *x, back = 0;
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    OK(cudaMalloc(&x, 1024));
    OK(cudaMemset(x, 0, 1024));
    OK(cudaDeviceSynchronize());
    put<<<1, 1, 0, blocking>>>(x, 3);
    twice<<<1, 1>>>(x); // after it
    twice<<<1, 1, 0, blocking>>>(x);
    wait_for<<<1, 1, 0, beside>>>(x + 64, x + 128); // waits for nobody's turn
    put<<<1, 1>>>(x + 64, 9);
    OK(cudaStreamSynchronize(beside));
    OK(cudaMemcpy(&back, x, 4, cudaMemcpyDeviceToHost)); // after all of blocking
    HOLDS(back == 12);
    OK(cudaMemcpy(&back, x + 128, 4, cudaMemcpyDeviceToHost));
    HOLDS(back == 9);
    // the default stream of the thread is a blocking one
    put<<<1, 1, 0, cudaStreamPerThread>>>(x, 5);
    twice<<<1, 1, 0, cudaStreamLegacy>>>(x);
    twice<<<1, 1, 0, cudaStreamPerThread>>>(x);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaMemcpy(&back, x, 4, cudaMemcpyDeviceToHost));
    HOLDS(back == 20);
    OK(cudaStreamDestroy(blocking));
    OK(cudaStreamDestroy(beside));
    OK(cudaFree(x));
}

static std::mutex lock;
static std::condition_variable signal_;
static bool called;
static void CUDART_CB wake(void *)
{
    std::lock_guard<std::mutex> hold(lock);
    called = true;
    signal_.notify_one();
}

// A kernel waits for what the host writes after the launch; the host waits for what a kernel or a host function
// writes, without a call.
static void with_the_host()
{
    int *x, *done;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaHostAlloc(&x, 1024, cudaHostAllocMapped));
    OK(cudaMallocManaged(&done, 4));
    memset(x, 0, 1024);
    wait_for<<<1, 1, 0, s>>>(x, done);
    *(volatile int *)x = 4;
    OK(cudaStreamSynchronize(s));
    HOLDS(*done == 4);
    put<<<1, 1, 0, s>>>(x + 64, 6);
    while (*(volatile int *)(x + 64) != 6) {
    }
    OK(cudaLaunchHostFunc(s, wake, nullptr));
    {
        std::unique_lock<std::mutex> hold(lock);
        signal_.wait(hold, [] { return called; });
    }
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamDestroy(s));
    OK(cudaFreeHost(x));
    OK(cudaFree(done));
}

static void not_ready()
{
    float *x, ms;
    cudaStream_t s;
    cudaEvent_t a, b;
    long polls = 0;
    OK(cudaStreamCreate(&s));
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaMalloc(&x, 1 << 20));
    OK(cudaEventRecord(a, s));
    work<<<400, 256, 0, s>>>(x, 600);
    OK(cudaEventRecord(b, s));
    GIVES(cudaErrorNotReady, cudaEventElapsedTime(&ms, a, b));
    GIVES(cudaErrorNotReady, cudaStreamQuery(s));
    GIVES(cudaErrorNotReady, cudaEventQuery(b));
    while (cudaEventQuery(b) == cudaErrorNotReady) polls++;
    (void)cudaGetLastError();
    OK(cudaEventQuery(b));
    OK(cudaStreamQuery(s));
    HOLDS(polls > 0 && polls < 1000000 && between(a, b) > 0);
    // what is in use may be destroyed: it goes when it is done
    int *y, back = 0;
    OK(cudaMallocAsync(&y, 4, s));
    work<<<10, 256, 0, s>>>(x, 1000);
    put<<<1, 1, 0, s>>>(y, 8);
    OK(cudaMemcpyAsync(x, y, 4, cudaMemcpyDeviceToDevice, s));
    OK(cudaFreeAsync(y, s));
    GIVES(cudaErrorInvalidValue, cudaFreeAsync(y, s));
    (void)cudaGetLastError();
    OK(cudaEventRecord(a, s));
    OK(cudaEventRecord(a, s));
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaStreamDestroy(s));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&back, x, 4, cudaMemcpyDeviceToHost));
    HOLDS(back == 8);
    // memory of the program's own is read before the call returns, and written when it returns
    OK(cudaStreamCreate(&s));
    int value = 11;
    work<<<10, 256, 0, s>>>(x + 1024, 1000);
    OK(cudaMemcpyAsync(x, &value, 4, cudaMemcpyHostToDevice, s));
    value = 12;
    OK(cudaMemcpyAsync(&back, x, 4, cudaMemcpyDeviceToHost, s));
    HOLDS(back == 11);
    OK(cudaStreamDestroy(s));
    OK(cudaFree(x));
}

// A block per kernel: the SMs have room for all. In one stream their times add up.
static void shared_time(bool timed)
{
    const int kernels = 4;
    float *x;
    cudaStream_t s[kernels];
    cudaEvent_t a, b, ends[kernels];
    OK(cudaMalloc(&x, kernels * 4096));
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    for (int i = 0; i < kernels; i++) {
        OK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
        OK(cudaEventCreate(&ends[i]));
    }
    OK(cudaEventRecord(a, s[0]));
    work<<<1, 32, 0, s[0]>>>(x, 3000);
    OK(cudaEventRecord(b, s[0]));
    OK(cudaDeviceSynchronize());
    const float one = between(a, b);
    OK(cudaEventRecord(a, s[0]));
    for (int i = 0; i < kernels; i++) work<<<1, 32, 0, s[0]>>>(x + i * 1024, 3000);
    OK(cudaEventRecord(b, s[0]));
    OK(cudaDeviceSynchronize());
    HOLDS(between(a, b) > 3.5f * one && between(a, b) < 4.5f * one);
    OK(cudaEventRecord(a, s[0]));
    for (int i = 0; i < kernels; i++) {
        work<<<1, 32, 0, s[i]>>>(x + i * 1024, 3000);
        OK(cudaEventRecord(ends[i], s[i]));
    }
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < kernels; i++) {
        const float end = between(a, ends[i]);
        HOLDS(timed ? end > 0.9f * one && end < 1.3f * one : end <= 4.5f * one);
    }
    // branches of a graph are such streams
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(b, s[0]));
    for (int i = 0; i < kernels; i++) {
        if (i) OK(cudaStreamWaitEvent(s[i], b, 0));
        work<<<1, 32, 0, s[i]>>>(x + i * 1024, 3000);
        if (i) OK(cudaEventRecord(ends[i], s[i]));
        if (i) OK(cudaStreamWaitEvent(s[0], ends[i], 0));
    }
    OK(cudaStreamEndCapture(s[0], &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaEventRecord(a, s[0]));
    OK(cudaGraphLaunch(exec, s[0]));
    OK(cudaEventRecord(b, s[0]));
    OK(cudaGraphExecDestroy(exec)); // under way
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamSynchronize(s[0]));
    HOLDS(timed ? between(a, b) < 1.5f * one : between(a, b) < 4.5f * one);
    for (int i = 0; i < kernels; i++) OK(cudaStreamDestroy(s[i]));
    OK(cudaFree(x));
}

int main(int argc, char **argv)
{
    each_other();
    default_stream();
    not_ready();
    shared_time(argc > 1 && !strcmp(argv[1], "timed"));
    if (argc > 1 && !strcmp(argv[1], "host")) with_the_host();
    return finish();
}
