// Device code in every way of embedding it: variables of each kind, a template, printf in order.
#include "check.h"

__device__ int counter = 5;
__device__ float table[3] = {1, 2, 3};
__constant__ float coefficients[4];
__managed__ int total = 7;
static __device__ int hidden = 11;
struct before_main {
    int *x = nullptr;
    before_main() { OK(cudaMallocManaged(&x, sizeof(int))); }
    ~before_main() { OK(cudaFree(x)); }
};
static before_main early; // CUDA calls in static initialisers and destructors

template <typename T> __global__ void mix(int n, T a, const T *x, T *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i] * coefficients[1] + table[i % 3] * (T)hidden;
        atomicAdd(&counter, 1);
        atomicAdd(&total, 2);
    }
    if (i == 0) printf("device %d\n", n);
}

int main()
{
    const int n = 500;
    float *x, *y, c[4] = {1, 2, 3, 4}, changed = 20;
    OK(cudaMallocManaged(&x, n * sizeof(float)));
    OK(cudaMallocManaged(&y, n * sizeof(float)));
    for (int i = 0; i < n; i++) {
        x[i] = (float)i;
        y[i] = 2;
    }
    OK(cudaMemcpyToSymbol(coefficients, c, sizeof c));
    OK(cudaMemcpyToSymbol(table, &changed, sizeof changed, sizeof(float)));
    mix<float><<<(n + 127) / 128, 128>>>(n, 3.0f, x, y);
    puts("host"); // before the wait: shown before the kernel's line
    OK(cudaDeviceSynchronize());
    puts("after");
    for (int i = 0; i < n; i++) {
        const float t = i % 3 == 0 ? 1.0f : i % 3 == 1 ? 20.0f : 3.0f;
        HOLDS(y[i] == 3.0f * (float)i + 4.0f + t * 11.0f);
    }
    int count = 0;
    OK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    HOLDS(count == 5 + n && total == 7 + 2 * n);
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, &total));
    HOLDS(a.type == cudaMemoryTypeManaged && a.hostPointer == &total);
    OK(cudaStreamAttachMemAsync(nullptr, &total, 0, cudaMemAttachGlobal));
    GIVES(cudaErrorInvalidValue, cudaFree(&total));
    (void)cudaGetLastError();
    void *at = nullptr;
    size_t bytes = 0;
    OK(cudaGetSymbolAddress(&at, counter));
    OK(cudaGetSymbolSize(&bytes, table));
    HOLDS(at && bytes == sizeof table);
    OK(cudaMemset(at, 0, 4));
    OK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    HOLDS(count == 0);
    GIVES(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(c, c, 4));
    GIVES(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, c, 4, 12));
    *early.x = 1;
    return finish();
}
