// A program that compiles a kernel while it runs: NVIDIA's compiler library gives PTX, the driver API loads it.
#include <cuda.h>
#include <nvrtc.h>
#include <vector>

#include "check.h"

int main()
{
    const char *text = "extern \"C\" __global__ void twice(float *x, int n)\n"
                       "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }";
    const char *options[] = {"--gpu-architecture=compute_75"};
    nvrtcProgram program;
    size_t bytes = 0;
    HOLDS(nvrtcCreateProgram(&program, text, "twice.cu", 0, 0, 0) == NVRTC_SUCCESS);
    HOLDS(nvrtcCompileProgram(program, 1, options) == NVRTC_SUCCESS);
    HOLDS(nvrtcGetPTXSize(program, &bytes) == NVRTC_SUCCESS && bytes > 100);
    std::vector<char> ptx(bytes);
    HOLDS(nvrtcGetPTX(program, ptx.data()) == NVRTC_SUCCESS);
    CUcontext context;
    CUmodule module;
    CUfunction twice;
    CUdeviceptr x;
    float host[256];
    int n = 256;
    for (int i = 0; i < n; i++) host[i] = (float)i;
    HOLDS(cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    HOLDS(cuCtxSetCurrent(context) == CUDA_SUCCESS && cuModuleLoadData(&module, ptx.data()) == CUDA_SUCCESS);
    HOLDS(cuModuleGetFunction(&twice, module, "twice") == CUDA_SUCCESS);
    HOLDS(cuMemAlloc(&x, sizeof host) == CUDA_SUCCESS && cuMemcpyHtoD(x, host, sizeof host) == CUDA_SUCCESS);
    void *args[] = {&x, &n};
    HOLDS(cuLaunchKernel(twice, 2, 1, 1, 128, 1, 1, 0, 0, args, 0) == CUDA_SUCCESS);
    HOLDS(cuMemcpyDtoH(host, x, sizeof host) == CUDA_SUCCESS && host[100] == 200);
    return finish();
}
