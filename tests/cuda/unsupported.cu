// Calls that Atoll does not serve: an error code, said once, and the program goes on.
#include "check.h"

__global__ void put(int *x) { *x = 3; }

int main()
{
    cudaExternalMemory_t memory;
    cudaIpcMemHandle_t handle;
    int *x;
    OK(cudaMallocManaged(&x, 4));
    GIVES(cudaErrorNotSupported, cudaImportExternalMemory(&memory, nullptr));
    GIVES(cudaErrorNotSupported, cudaImportExternalMemory(&memory, nullptr));
    GIVES(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, x));
    GIVES(cudaErrorNotSupported, cudaGetLastError());
    put<<<1, 1>>>(x);
    OK(cudaDeviceSynchronize());
    HOLDS(*x == 3);
    return finish();
}
