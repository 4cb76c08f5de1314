// The driver API: contexts, PTX modules, globals, both ways of passing parameters, memory, streams, events;
// together with the runtime API in one process.
#include "check.h"
#include <cuda.h>

static const char ptx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 bias = 5;
.visible .entry add(.param .u64 out, .param .u64 in, .param .u32 n)
{
    .reg .pred %p1;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd4, %rd2, %rd3;
    ld.global.u32 %r6, [%rd4];
    ld.global.u32 %r7, [bias];
    add.u32 %r6, %r6, %r7;
    add.u64 %rd5, %rd1, %rd3;
    st.global.u32 [%rd5], %r6;
DONE:
    ret;
}
)";
#define CU(call) HOLDS((call) == CUDA_SUCCESS)

__global__ void runtime_kernel(unsigned *x) { x[0] += 1000; }

/* One that is destroyed takes no other one with it, nor what they share. */
static void contexts()
{
    CUcontext a, b, got;
    CUdeviceptr x;
    size_t unused = 0, all = 0;
    CU(cuCtxCreate(&a, nullptr, 0, 0));
    CU(cuCtxCreate(&b, nullptr, 0, 0));
    HOLDS(a != b);
    CU(cuCtxPopCurrent(&got));
    HOLDS(got == b);
    CU(cuMemAlloc(&x, 64));
    CU(cuCtxDestroy(b));
    CU(cuCtxGetCurrent(&got));
    HOLDS(got == a);
    CU(cuMemsetD8(x, 0, 64));
    CU(cuCtxCreate(&b, nullptr, 0, 0));
    CU(cuCtxDestroy(b)); // is current
    CU(cuMemFree(x));
    CU(cuCtxPushCurrent(a));
    CU(cuCtxDestroy(a)); // is there once more, below
    HOLDS(cuMemGetInfo(&unused, &all) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CU(cuCtxPopCurrent(&got));
    HOLDS(cuMemGetInfo(&unused, &all) == CUDA_ERROR_INVALID_CONTEXT);
    HOLDS(cuCtxDestroy(a) != CUDA_SUCCESS && cuCtxPushCurrent(a) != CUDA_SUCCESS);
    OK(cudaFree(nullptr)); // the primary context
    CU(cuCtxCreate(&a, nullptr, 0, 0));
    CU(cuCtxPopCurrent(&got));
    CU(cuCtxDestroy(a));
    CU(cuMemGetInfo(&unused, &all));
    CU(cuCtxPopCurrent(&got));
}

int main()
{
    const unsigned n = 100;
    unsigned host[n], back[n], bias = 0;
    CUdevice device;
    CUcontext context, current;
    CUmodule module;
    CUfunction add;
    CUdeviceptr in, out, global;
    CUstream stream;
    CUevent from, to;
    size_t bytes = 0;
    int count = 0, value = 0;
    char name[64] = "";
    const char *text = nullptr;
    float ms = -1;
    CU(cuInit(0));
    CU(cuDeviceGetCount(&count));
    HOLDS(count == 1);
    CU(cuDeviceGet(&device, 0));
    HOLDS(cuDeviceGet(&device, 5) == CUDA_ERROR_INVALID_DEVICE);
    CU(cuDeviceGet(&device, 0));
    contexts();
    CU(cuDeviceGetName(name, sizeof name, device));
    HOLDS(!strncmp(name, "Atoll ", 6));
    CU(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    HOLDS(value == 32);
    CU(cuDeviceTotalMem(&bytes, device));
    HOLDS(bytes > 1 << 20);
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuCtxGetCurrent(&current));
    HOLDS(current == context);
    CU(cuModuleLoadData(&module, ptx));
    CU(cuModuleGetFunction(&add, module, "add"));
    CUfunction missing;
    HOLDS(cuModuleGetFunction(&missing, module, "absent") == CUDA_ERROR_NOT_FOUND);
    HOLDS(cuModuleLoadData(&module, ".version 7.0\n.target sm_70\nnonsense\n") == CUDA_ERROR_INVALID_PTX);
    char log[200] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    HOLDS(cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_70\nnonsense\n", 2, options, values) ==
          CUDA_ERROR_INVALID_PTX);
    HOLDS(strstr(log, "nonsense") && (size_t)values[1] == strlen(log) + 1);
    CU(cuModuleLoadData(&module, ptx));
    CU(cuModuleGetFunction(&add, module, "add"));
    CU(cuModuleGetGlobal(&global, &bytes, module, "bias"));
    HOLDS(bytes == 4);
    CU(cuMemcpyDtoH(&bias, global, 4));
    HOLDS(bias == 5);
    CU(cuMemAlloc(&in, sizeof host));
    CU(cuMemAlloc(&out, sizeof host));
    for (unsigned i = 0; i < n; i++) host[i] = i;
    CU(cuMemcpyHtoD(in, host, sizeof host));
    CU(cuMemsetD32(out, 7, n));
    CU(cuMemcpyDtoH(back, out, sizeof back));
    HOLDS(back[0] == 7 && back[n - 1] == 7);
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&from, CU_EVENT_DEFAULT));
    CU(cuEventCreate(&to, CU_EVENT_DEFAULT));
    unsigned length = n;
    void *params[] = {&out, &in, &length};
    CU(cuEventRecord(from, stream));
    CU(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, stream, params, nullptr));
    CU(cuEventRecord(to, stream));
    CU(cuMemcpyDtoHAsync(back, out, sizeof back, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuEventElapsedTime(&ms, from, to));
    HOLDS(ms > 0);
    for (unsigned i = 0; i < n; i++) HOLDS(back[i] == i + 5);
    bias = 50;
    CU(cuMemcpyHtoD(global, &bias, 4));
    struct {
        CUdeviceptr out, in;
        unsigned n;
    } packed = {out, in, n};
    size_t packed_bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_bytes,
                     CU_LAUNCH_PARAM_END};
    CU(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoH(back, out, sizeof back));
    for (unsigned i = 0; i < n; i++) HOLDS(back[i] == i + 50);
    HOLDS(cuLaunchKernel(add, 1, 1, 1, 4096, 1, 1, 0, nullptr, params, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CUlaunchAttribute pairs = {};
    pairs.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    pairs.value.clusterDim.x = 2;
    pairs.value.clusterDim.y = pairs.value.clusterDim.z = 1;
    CUlaunchConfig config = {};
    config.gridDimX = 4;
    config.blockDimX = 32;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.attrs = &pairs;
    config.numAttrs = 1;
    HOLDS(cuLaunchKernelEx(&config, add, params, nullptr) == CUDA_ERROR_NOT_SUPPORTED); // no clusters here
    config.numAttrs = 0;
    CU(cuLaunchKernelEx(&config, add, params, nullptr));
    CU(cuCtxSynchronize());
    CU(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add));
    HOLDS(value == 1024);
    CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, add, 1024, 0));
    HOLDS(value == 2);
    // the runtime API sees the same memory and context
    runtime_kernel<<<1, 1>>>((unsigned *)out);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(back, (void *)out, 4, cudaMemcpyDeviceToHost));
    HOLDS(back[0] == 1050);
    CU(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, out));
    HOLDS(value == CU_MEMORYTYPE_DEVICE);
    CU(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    HOLDS(!strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY"));
    CU(cuMemFree(in));
    CU(cuMemFree(out));
    HOLDS(cuMemFree(out) == CUDA_ERROR_INVALID_VALUE);
    CU(cuStreamDestroy(stream));
    CU(cuEventDestroy(from));
    CU(cuEventDestroy(to));
    HOLDS(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, params, extra) == CUDA_ERROR_INVALID_VALUE);
    HOLDS(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 1 << 20, nullptr, nullptr, extra) ==
          CUDA_ERROR_INVALID_VALUE);
    CU(cuModuleUnload(module)); // and its kernels
    HOLDS(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CU(cuDevicePrimaryCtxRelease(device));
    return finish();
}
