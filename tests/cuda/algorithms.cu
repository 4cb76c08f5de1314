// Thrust and CUB.
#include "check.h"
#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

struct square {
    __host__ __device__ int operator()(int x) const { return x * x; }
};

int main()
{
    const int n = 5000;
    thrust::host_vector<int> host(n);
    unsigned seed = 1;
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        host[i] = (int)(seed >> 8) % 10000;
    }
    thrust::device_vector<int> d = host;
    long long want = 0;
    for (int v : host) want += v;
    HOLDS(thrust::reduce(d.begin(), d.end(), 0LL) == want);
    thrust::device_vector<int> sorted = d;
    thrust::sort(sorted.begin(), sorted.end());
    thrust::host_vector<int> back = sorted;
    for (int i = 1; i < n; i++) HOLDS(back[i - 1] <= back[i]);
    thrust::device_vector<int> sums(n);
    thrust::inclusive_scan(d.begin(), d.end(), sums.begin());
    HOLDS(sums[n - 1] == (int)want && sums[0] == host[0] && sums[17] - sums[16] == host[17]);
    thrust::transform(d.begin(), d.end(), d.begin(), square());
    HOLDS(d[5] == host[5] * host[5]);

    int *in, *out;
    size_t bytes = 0;
    void *scratch = nullptr;
    OK(cudaMalloc(&in, n * sizeof(int)));
    OK(cudaMallocManaged(&out, sizeof(int)));
    OK(cudaMemcpy(in, host.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    OK(cub::DeviceReduce::Max(scratch, bytes, in, out, n));
    OK(cudaMalloc(&scratch, bytes));
    OK(cub::DeviceReduce::Max(scratch, bytes, in, out, n));
    OK(cudaDeviceSynchronize());
    HOLDS(*out == back[n - 1]);
    OK(cudaFree(in));
    OK(cudaFree(out));
    OK(cudaFree(scratch));
    return finish();
}
