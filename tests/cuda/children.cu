// Kernels that launch kernels: arguments, order in a block's streams, tail launches, children of children, errors.
// Build with -rdc=true -lcudadevrt.
#include <string.h>

#include "check.h"

__global__ void add(int *x, int v) { atomicAdd(&x[threadIdx.x], v); }
__global__ void twice(int *x) { *x *= 2; }
struct large {
    int *at;
    short first;
    double second;
    char text[20];
};
__global__ void take(large l) { *l.at = (int)(l.first + l.second) + (l.text[3] == 'd'); }

__global__ void fan_out(int *x, int n)
{
    add<<<1, 4>>>(x, (int)threadIdx.x);
    if (threadIdx.x < n) add<<<2, 4, 0, cudaStreamFireAndForget>>>(x, 100);
}

// In the order of the calls: ((1 * 2) + 5) * 2, and after all others x[1] = x[0].
__global__ void copy(int *x) { x[1] = x[0]; }
__global__ void in_order(int *x)
{
    copy<<<1, 1, 0, cudaStreamTailLaunch>>>(x);
    twice<<<1, 1>>>(x);
    add<<<1, 1>>>(x, 5);
    twice<<<1, 1>>>(x);
}

__global__ void named_streams(int *x)
{
    cudaStream_t s;
    cudaEvent_t e;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    twice<<<1, 1, 0, s>>>(x);
    cudaEventRecord(e, s);
    add<<<1, 1, 0, s>>>(x, 1);
    cudaStreamDestroy(s);
    cudaEventDestroy(e);
}

__global__ void sort_of_tree(int *x, int depth)
{
    atomicAdd(x, 1);
    if (depth) {
        sort_of_tree<<<1, 1>>>(x, depth - 1);
        sort_of_tree<<<1, 1>>>(x, depth - 1);
    }
}

__global__ void pass_large(int *x)
{
    large l = {x, 7, 0.5, "abcd"};
    take<<<1, 1>>>(l);
}

__global__ void wrong(int *x)
{
    add<<<1, 2048>>>(x, 1); // too many threads
    x[10] = cudaPeekAtLastError() == cudaErrorInvalidConfiguration;
    x[11] = cudaGetLastError() == cudaErrorInvalidConfiguration;
    x[12] = cudaGetLastError() == cudaSuccess;
}

__global__ void many(int *x) { add<<<1, 1>>>(x + blockIdx.x % 7, 1); }
__global__ void illegal(int *x) { add<<<1, 1>>>(nullptr, 1); }

int main(int argc, char **argv)
{
    int *x;
    OK(cudaMallocManaged(&x, 4096));
    memset(x, 0, 4096);
    if (argc > 1 && !strcmp(argv[1], "illegal")) {
        illegal<<<1, 1>>>(x);
        GIVES(cudaErrorIllegalAddress, cudaDeviceSynchronize());
        return finish();
    }
    fan_out<<<1, 8>>>(x, 3);
    OK(cudaDeviceSynchronize()); // a parent has ended when its children have
    HOLDS(x[0] == 28 + 600 && x[3] == 628 && x[4] == 0);
    x[0] = 1;
    in_order<<<1, 1>>>(x);
    twice<<<1, 1>>>(x); // and what follows it in its stream comes after them
    OK(cudaDeviceSynchronize());
    HOLDS(x[0] == 28 && x[1] == 14);
    x[0] = 4;
    named_streams<<<1, 1>>>(x);
    OK(cudaDeviceSynchronize());
    HOLDS(x[0] == 9);
    x[0] = 0;
    sort_of_tree<<<1, 1>>>(x, 5);
    OK(cudaDeviceSynchronize());
    HOLDS(x[0] == 63);
    pass_large<<<1, 1>>>(x);
    OK(cudaDeviceSynchronize());
    HOLDS(x[0] == 8);
    wrong<<<1, 1>>>(x);
    OK(cudaDeviceSynchronize());
    HOLDS(x[10] && x[11] && x[12] && x[0] == 8);
    memset(x, 0, 4096);
    many<<<700, 1>>>(x);
    OK(cudaDeviceSynchronize());
    HOLDS(x[0] == 100 && x[6] == 100);
    // the children of two kernels at the same time
    cudaStream_t one, two;
    OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    many<<<70, 1, 0, one>>>(x);
    many<<<70, 1, 0, two>>>(x + 64);
    OK(cudaDeviceSynchronize());
    HOLDS(x[0] == 110 && x[64] == 10);
    return finish();
}
