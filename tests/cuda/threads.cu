// Host threads that launch at the same time, each with a stream, a device pointer and an error of its own.
#include "check.h"
#include <thread>
#include <vector>

__global__ void add(int *x, int n, int v)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += v;
}

static void worker(int id, int *wrong)
{
    const int n = 1000, rounds = 20;
    int *x;
    cudaStream_t s;
    std::vector<int> back(n);
    if (cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)) ++*wrong;
    if (cudaMalloc(&x, n * sizeof(int)) || cudaMemsetAsync(x, 0, n * sizeof(int), s)) ++*wrong;
    for (int r = 0; r < rounds; r++) add<<<(n + 63) / 64, 64, 0, s>>>(x, n, id + 1);
    if (id % 2 && cudaSetDevice(50) != cudaErrorInvalidDevice) ++*wrong;
    if (cudaGetLastError() != (id % 2 ? cudaErrorInvalidDevice : cudaSuccess)) ++*wrong; // of this thread alone
    if (cudaMemcpyAsync(back.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost, s)) ++*wrong;
    if (cudaStreamSynchronize(s)) ++*wrong;
    for (int v : back) *wrong += v != rounds * (id + 1);
    if (cudaFree(x) || cudaStreamDestroy(s)) ++*wrong;
}

int main()
{
    const int count = 6;
    std::vector<std::thread> threads;
    int wrong[count] = {0};
    for (int i = 0; i < count; i++) threads.emplace_back(worker, i, &wrong[i]);
    for (auto &t : threads) t.join();
    for (int i = 0; i < count; i++) HOLDS(wrong[i] == 0);
    return finish();
}
