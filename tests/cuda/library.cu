// Code loaded while the program runs: cudaLibrary* and cuLibrary*; and what the driver API says without cuInit() and
// without a context.
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <thread>

#include "check.h"

static const char ptx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 bias = 5;
.visible .entry add(.param .u64 x, .param .u32 v)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [v];
    ld.global.u32 %r2, [%rd1];
    ld.global.u32 %r3, [bias];
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd1], %r2;
    ret;
}
.visible .entry clear(.param .u64 x)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [x];
    st.global.u32 [%rd1], 0;
    ret;
}
)";
#define CU(call) HOLDS((call) == CUDA_SUCCESS)

__global__ void own(int *x) { *x = 1; }

// Nothing before it may call the runtime API.
static void without_context()
{
    CUdeviceptr at;
    CUstream stream;
    CUmodule module;
    CUlibrary library;
    CUcontext context, got;
    CUdevice device;
    int count;
    HOLDS(cuMemAlloc(&at, 4) == CUDA_ERROR_NOT_INITIALIZED);
    HOLDS(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
    HOLDS(cuLibraryLoadData(&library, ptx, 0, 0, 0, 0, 0, 0) == CUDA_ERROR_NOT_INITIALIZED);
    HOLDS(cuInit(1) == CUDA_ERROR_INVALID_VALUE);
    CU(cuInit(0));
    CU(cuDeviceGetCount(&count));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxGetCurrent(&got));
    HOLDS(got == nullptr);
    HOLDS(cuMemAlloc(&at, 4) == CUDA_ERROR_INVALID_CONTEXT);
    HOLDS(cuMemHostAlloc((void **)&at, 4, 0) == CUDA_ERROR_INVALID_CONTEXT);
    HOLDS(cuStreamCreate(&stream, 0) == CUDA_ERROR_INVALID_CONTEXT);
    HOLDS(cuModuleLoadData(&module, ptx) == CUDA_ERROR_INVALID_CONTEXT);
    HOLDS(cuMemsetD32(0, 0, 1) == CUDA_ERROR_INVALID_CONTEXT);
    HOLDS(cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT);
    CU(cuDevicePrimaryCtxRetain(&context, device));
    HOLDS(cuMemAlloc(&at, 4) == CUDA_ERROR_INVALID_CONTEXT); // retained is not current
    CU(cuCtxSetCurrent(context));
    CU(cuMemAlloc(&at, 4));
    CU(cuMemFree(at));
    // the context is one thread's
    std::thread([&] {
        HOLDS(cuMemAlloc(&at, 4) == CUDA_ERROR_INVALID_CONTEXT);
        CU(cuCtxPushCurrent(context));
        CU(cuMemAlloc(&at, 4));
        CU(cuMemFree(at));
    }).join();
    CU(cuCtxPopCurrent(&got));
    HOLDS(got == context);
    HOLDS(cuMemAlloc(&at, 4) == CUDA_ERROR_INVALID_CONTEXT);
    OK(cudaFree(0)); // the runtime API makes the primary context current
    CU(cuCtxGetCurrent(&got));
    HOLDS(got == context);
    CU(cuMemAlloc(&at, 4));
    CU(cuMemFree(at));
}

static void runtime_library()
{
    cudaLibrary_t library;
    cudaKernel_t add, clear, all[2] = {nullptr, nullptr}, none;
    unsigned *x, back = 0, v = 7, count = 0, bias = 100;
    size_t bytes = 0;
    void *global = nullptr;
    const char *name = "";
    OK(cudaMalloc(&x, 4));
    OK(cudaMemset(x, 0, 4));
    GIVES(cudaErrorInvalidPtx, cudaLibraryLoadData(&library, "nonsense", 0, 0, 0, 0, 0, 0));
    GIVES(cudaErrorInvalidValue, cudaLibraryLoadData(&library, nullptr, 0, 0, 0, 0, 0, 0));
    GIVES(cudaErrorFileNotFound, cudaLibraryLoadFromFile(&library, "absent.ptx", 0, 0, 0, 0, 0, 0));
    (void)cudaGetLastError();
    OK(cudaLibraryLoadData(&library, ptx, 0, 0, 0, 0, 0, 0));
    OK(cudaLibraryGetKernel(&add, library, "add"));
    GIVES(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&none, library, "absent"));
    OK(cudaLibraryGetKernelCount(&count, library));
    HOLDS(count == 2);
    OK(cudaLibraryEnumerateKernels(all, 2, library));
    HOLDS(all[0] == add && all[1] && all[1] != add);
    OK(cudaLibraryGetKernel(&clear, library, "clear"));
    HOLDS(clear == all[1]);
    OK(cudaFuncGetName(&name, (void *)clear));
    HOLDS(!strcmp(name, "clear"));
    void *args[] = {&x, &v};
    OK(cudaLaunchKernel((void *)add, dim3(1), dim3(1), args, 0, 0));
    OK(cudaMemcpy(&back, x, 4, cudaMemcpyDeviceToHost));
    HOLDS(back == 12);
    OK(cudaLibraryGetGlobal(&global, &bytes, library, "bias"));
    HOLDS(bytes == 4);
    GIVES(cudaErrorSymbolNotFound, cudaLibraryGetGlobal(&global, &bytes, library, "absent"));
    (void)cudaGetLastError();
    OK(cudaMemcpy(global, &bias, 4, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel((void *)clear, dim3(1), dim3(1), args, 0, 0));
    OK(cudaLaunchKernel((void *)add, dim3(1), dim3(1), args, 0, 0));
    OK(cudaMemcpy(&back, x, 4, cudaMemcpyDeviceToHost));
    HOLDS(back == 107);
    // two libraries of the same text have variables of their own
    cudaLibrary_t second;
    cudaKernel_t other;
    OK(cudaLibraryLoadData(&second, ptx, 0, 0, 0, 0, 0, 0));
    OK(cudaLibraryGetKernel(&other, second, "add"));
    OK(cudaLaunchKernel((void *)other, dim3(1), dim3(1), args, 0, 0));
    OK(cudaMemcpy(&back, x, 4, cudaMemcpyDeviceToHost));
    HOLDS(back == 119);
    OK(cudaLibraryUnload(second));
    OK(cudaLibraryUnload(library));
    GIVES(cudaErrorInvalidResourceHandle, cudaLibraryUnload(library));
    GIVES(cudaErrorInvalidResourceHandle, cudaLibraryGetKernel(&add, library, "add"));
    GIVES(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((void *)add, dim3(1), dim3(1), args, 0, 0));
    (void)cudaGetLastError();
    OK(cudaFree(x));
}

static void driver_library(const char *path)
{
    CUlibrary library, of;
    CUkernel add;
    CUfunction function;
    CUmodule module;
    CUdeviceptr x, global;
    size_t bytes = 0, offset = 99;
    unsigned back = 0, v = 1, count = 0;
    const char *name = "";
    int threads = 0;
    FILE *f = fopen(path, "w");
    HOLDS(f && fputs(ptx, f) >= 0 && fclose(f) == 0);
    CU(cuLibraryLoadFromFile(&library, path, 0, 0, 0, 0, 0, 0));
    CU(cuLibraryGetKernel(&add, library, "add"));
    CU(cuLibraryGetKernelCount(&count, library));
    HOLDS(count == 2);
    CU(cuKernelGetName(&name, add));
    HOLDS(!strcmp(name, "add"));
    CU(cuKernelGetLibrary(&of, add));
    HOLDS(of == library);
    CU(cuKernelGetParamInfo(add, 1, &offset, &bytes));
    HOLDS(offset == 8 && bytes == 4);
    CU(cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add, 0));
    HOLDS(threads == 1024);
    CU(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024, add, 0));
    CU(cuMemAlloc(&x, 4));
    CU(cuMemsetD32(x, 0, 1));
    void *args[] = {&x, &v};
    CU(cuLaunchKernel((CUfunction)add, 1, 1, 1, 1, 1, 1, 0, 0, args, 0)); // a kernel is a function
    CU(cuKernelGetFunction(&function, add));
    CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
    CU(cuMemcpyDtoH(&back, x, 4));
    HOLDS(back == 12);
    CU(cuLibraryGetGlobal(&global, &bytes, library, "bias"));
    CU(cuLibraryGetModule(&module, library));
    CU(cuModuleGetFunction(&function, module, "clear"));
    CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
    CU(cuMemcpyDtoH(&back, x, 4));
    HOLDS(back == 0);
    CU(cuLibraryUnload(library));
    HOLDS(cuLibraryGetKernel(&add, library, "add") == CUDA_ERROR_INVALID_HANDLE);
    CU(cuMemFree(x));
}

int main(int argc, char **argv)
{
    without_context();
    runtime_library();
    driver_library(argc > 1 ? argv[1] : "library.ptx");
    int *x;
    OK(cudaMalloc(&x, 4));
    own<<<1, 1>>>(x);
    OK(cudaDeviceSynchronize());
    return finish();
}
