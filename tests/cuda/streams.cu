// Streams and events: order, overlap in simulated time, waits, host functions, priorities.
#include "check.h"

__global__ void work(float *x, int rounds)
{
    float v = x[threadIdx.x];
    for (int i = 0; i < rounds; i++) v = v * 1.0001f + 1.0f;
    x[threadIdx.x] = v;
}
__global__ void put(int *x, int v) { *x = v; }
__global__ void twice(int *x) { *x *= 2; }

static float between(cudaEvent_t a, cudaEvent_t b)
{
    float ms = -1;
    OK(cudaEventElapsedTime(&ms, a, b));
    return ms;
}

static void times()
{
    cudaEvent_t a, b, c, silent;
    float *x, ms;
    OK(cudaMalloc(&x, 1024));
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaEventCreateWithFlags(&c, cudaEventBlockingSync));
    OK(cudaEventCreateWithFlags(&silent, cudaEventDisableTiming));
    GIVES(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, b)); // not recorded
    OK(cudaEventRecord(a));
    work<<<1, 32>>>(x, 1000);
    OK(cudaEventRecord(b));
    work<<<1, 32>>>(x, 10000);
    OK(cudaEventRecord(c));
    OK(cudaEventSynchronize(c));
    OK(cudaEventQuery(b));
    const float small = between(a, b), large = between(b, c);
    HOLDS(small > 0 && large > 5 * small && large < 20 * small); // ten times the work
    HOLDS(between(a, c) > large);
    OK(cudaEventRecord(a));
    OK(cudaEventRecord(b));
    HOLDS(between(a, b) == 0); // host code takes no simulated time
    OK(cudaEventRecord(silent));
    GIVES(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, a, silent));
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaEventDestroy(c));
    OK(cudaEventDestroy(silent));
    GIVES(cudaErrorInvalidResourceHandle, cudaEventDestroy(a));
    OK(cudaFree(x));
    (void)cudaGetLastError();
}

// A copy in one stream and a kernel in another overlap; in one stream they add up.
static void overlap()
{
    const size_t bytes = 1 << 20;
    char *host, *device;
    float *x;
    cudaStream_t one, two;
    cudaEvent_t a, b, c;
    OK(cudaMallocHost(&host, bytes));
    OK(cudaMalloc(&device, bytes));
    OK(cudaMalloc(&x, 1024));
    OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaEventCreate(&c));
    OK(cudaEventRecord(a, one));
    OK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, one));
    OK(cudaEventRecord(b, one));
    work<<<1, 32, 0, one>>>(x, 3000);
    OK(cudaEventRecord(c, one));
    OK(cudaDeviceSynchronize());
    const float copy = between(a, b), kernel = between(b, c);
    HOLDS(copy > 0.06f && copy < 0.1f); // 1 MiB at 16 GB/s and 10 us
    HOLDS(between(a, c) > 0.999f * (copy + kernel));
    OK(cudaEventRecord(a, one));
    OK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, one));
    OK(cudaEventRecord(b, one));
    work<<<1, 32, 0, two>>>(x, 3000);
    OK(cudaEventRecord(c, two));
    OK(cudaDeviceSynchronize());
    HOLDS(between(a, c) < 1.5f * kernel && between(a, c) < copy + kernel);
    // waiting for an event ends the overlap
    OK(cudaEventRecord(a, one));
    OK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, one));
    OK(cudaEventRecord(b, one));
    OK(cudaStreamWaitEvent(two, b, 0));
    work<<<1, 32, 0, two>>>(x, 3000);
    OK(cudaEventRecord(c, two));
    OK(cudaStreamSynchronize(two));
    HOLDS(between(a, c) > 0.99f * (copy + kernel));
    OK(cudaStreamQuery(one));
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(two));
    GIVES(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(one));
    OK(cudaFreeHost(host));
    OK(cudaFree(device));
    OK(cudaFree(x));
    (void)cudaGetLastError();
}

struct note {
    int order[4], count;
};
static note notes;
static void CUDART_CB host_function(void *user)
{
    notes.order[notes.count++] = *(int *)user;
}
static void CUDART_CB callback(cudaStream_t, cudaError_t status, void *user)
{
    HOLDS(status == cudaSuccess);
    notes.order[notes.count++] = *(int *)user;
}

static void order()
{
    cudaStream_t s;
    int *x, back = 0, first = 1, second = 2, low, high, priority;
    unsigned flags = 99;
    unsigned long long id = 0, id0 = 0;
    OK(cudaDeviceGetStreamPriorityRange(&low, &high));
    HOLDS(high < low);
    OK(cudaStreamCreateWithPriority(&s, cudaStreamDefault, high));
    OK(cudaStreamGetPriority(s, &priority));
    HOLDS(priority == high);
    cudaStreamAttrValue attribute = {};
    attribute.priority = low;
    OK(cudaStreamSetAttribute(s, cudaStreamAttributePriority, &attribute));
    OK(cudaStreamGetPriority(s, &priority));
    HOLDS(priority == low);
    attribute.priority = high;
    OK(cudaStreamSetAttribute(s, cudaStreamAttributePriority, &attribute));
    GIVES(cudaErrorInvalidValue, cudaStreamSetAttribute(s, (cudaStreamAttrID)99, &attribute));
    (void)cudaGetLastError();
    OK(cudaStreamGetFlags(s, &flags));
    HOLDS(flags == cudaStreamDefault);
    OK(cudaStreamGetId(s, &id));
    OK(cudaStreamGetId(0, &id0));
    HOLDS(id != id0);
    OK(cudaMalloc(&x, 4));
    put<<<1, 1, 0, s>>>(x, 21);
    OK(cudaLaunchHostFunc(s, host_function, &first));
    twice<<<1, 1, 0, s>>>(x);
    OK(cudaStreamAddCallback(s, callback, &second, 0));
    OK(cudaMemcpyAsync(&back, x, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    HOLDS(back == 42 && notes.count == 2 && notes.order[0] == 1 && notes.order[1] == 2);
    OK(cudaStreamDestroy(s));
    OK(cudaFree(x));
}

int main()
{
    times();
    overlap();
    order();
    return finish();
}
