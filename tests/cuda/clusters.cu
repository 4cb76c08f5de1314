// A kernel compiled for thread block clusters, which Atoll does not have: refused, not run as something else.
#include "check.h"

__global__ void __cluster_dims__(2, 1, 1) in_pairs(int *x) { x[blockIdx.x] = 1; }
__global__ void __cluster_dims__(1, 1, 1) alone(int *x) { x[blockIdx.x] = 2; }

int main()
{
    int *x;
    OK(cudaMallocManaged(&x, 16));
    x[0] = 0;
    in_pairs<<<4, 32>>>(x);
    GIVES(cudaErrorNotSupported, cudaGetLastError());
    OK(cudaDeviceSynchronize()); // not sticky
    HOLDS(x[0] == 0);
    alone<<<4, 32>>>(x);
    OK(cudaDeviceSynchronize());
    HOLDS(x[3] == 2);
    return finish();
}
