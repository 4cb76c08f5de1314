// Arrays, texture objects and surface objects of the driver API; kernels of the runtime API use them.
#include "check.h"
#include <cuda.h>
#include <vector>

#define CU(call) HOLDS((call) == CUDA_SUCCESS)
enum { W = 16, H = 8, D = 3 };

__global__ void twice(cudaSurfaceObject_t to, cudaTextureObject_t from)
{
    const int x = threadIdx.x, y = blockIdx.x;
    surf2Dwrite(2 * tex2D<float>(from, x + 0.5f, y + 0.5f), to, 4 * x, y);
}
__global__ void fraction(float *out, cudaTextureObject_t from) { out[threadIdx.x] = tex1Dfetch<float>(from, threadIdx.x); }
__global__ void level(float *out, cudaTextureObject_t from) { out[threadIdx.x] = tex2DLod<float>(from, 0.5f, 0.5f, threadIdx.x); }

static void arrays()
{
    CUarray a, b;
    CUDA_ARRAY_DESCRIPTOR d = {}, told;
    d.Width = W;
    d.Height = H;
    d.Format = CU_AD_FORMAT_FLOAT;
    d.NumChannels = 1;
    CU(cuArrayCreate(&a, &d));
    CU(cuArrayGetDescriptor(&told, a));
    HOLDS(told.Width == W && told.Height == H && told.Format == CU_AD_FORMAT_FLOAT && told.NumChannels == 1);
    CUDA_ARRAY3D_DESCRIPTOR d3 = {}, told3;
    d3.Width = W;
    d3.Height = H;
    d3.Format = CU_AD_FORMAT_FLOAT;
    d3.NumChannels = 1;
    d3.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    CU(cuArray3DCreate(&b, &d3));
    CU(cuArray3DGetDescriptor(&told3, b));
    HOLDS(told3.Depth == 0 && told3.Flags == CUDA_ARRAY3D_SURFACE_LDST);
    std::vector<float> host(W * H), back(W * H, -1);
    for (int i = 0; i < W * H; i++) host[i] = (float)i;
    CUDA_MEMCPY2D c = {};
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = host.data();
    c.srcPitch = W * 4;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = a;
    c.WidthInBytes = W * 4;
    c.Height = H;
    CU(cuMemcpy2D(&c));
    CUDA_RESOURCE_DESC r = {}, r_told;
    CUDA_TEXTURE_DESC t = {}, t_told;
    CUtexObject texture = 0;
    CUsurfObject surface = 0;
    r.resType = CU_RESOURCE_TYPE_ARRAY;
    r.res.array.hArray = a;
    for (int k = 0; k < 3; k++) t.addressMode[k] = CU_TR_ADDRESS_MODE_CLAMP;
    t.borderColor[2] = 0.5f;
    CU(cuTexObjectCreate(&texture, &r, &t, nullptr));
    CU(cuTexObjectGetResourceDesc(&r_told, texture));
    HOLDS(r_told.resType == CU_RESOURCE_TYPE_ARRAY && r_told.res.array.hArray == a);
    CU(cuTexObjectGetTextureDesc(&t_told, texture));
    HOLDS(t_told.addressMode[2] == CU_TR_ADDRESS_MODE_CLAMP && t_told.borderColor[2] == 0.5f && !(t_told.flags & CU_TRSF_NORMALIZED_COORDINATES));
    r.res.array.hArray = b;
    CU(cuSurfObjectCreate(&surface, &r));
    CU(cuSurfObjectGetResourceDesc(&r_told, surface));
    HOLDS(r_told.res.array.hArray == b);
    twice<<<H, W>>>(surface, texture);
    CUDA_MEMCPY2D e = {};
    e.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    e.srcArray = b;
    e.srcXInBytes = 8;
    e.srcY = 1;
    e.dstMemoryType = CU_MEMORYTYPE_HOST;
    e.dstHost = back.data();
    e.dstPitch = W * 4;
    e.WidthInBytes = (W - 2) * 4;
    e.Height = H - 1;
    CU(cuMemcpy2D(&e));
    for (int y = 1; y < H; y++)
        for (int x = 2; x < W; x++) HOLDS(back[(y - 1) * W + x - 2] == 2.0f * (y * W + x));
    e.WidthInBytes = W * 4; // two texels too wide
    HOLDS(cuMemcpy2D(&e) == CUDA_ERROR_INVALID_VALUE);
    CU(cuTexObjectDestroy(texture));
    HOLDS(cuTexObjectDestroy(texture) == CUDA_ERROR_INVALID_HANDLE);
    CU(cuSurfObjectDestroy(surface));
    CU(cuArrayDestroy(a));
    CU(cuArrayDestroy(b));
    HOLDS(cuArrayDestroy(b) == CUDA_ERROR_INVALID_HANDLE);
}

// 8-bit integers of linear memory are fractions unless told otherwise
static void linear()
{
    CUdeviceptr memory, out;
    unsigned char host[32];
    float back[32];
    for (int i = 0; i < 32; i++) host[i] = (unsigned char)(8 * i);
    CU(cuMemAlloc(&memory, 32));
    CU(cuMemAlloc(&out, 128));
    CU(cuMemcpyHtoD(memory, host, 32));
    CUDA_RESOURCE_DESC r = {}, told;
    CUDA_TEXTURE_DESC t = {};
    CUtexObject texture = 0;
    r.resType = CU_RESOURCE_TYPE_LINEAR;
    r.res.linear.devPtr = memory;
    r.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT8;
    r.res.linear.numChannels = 1;
    r.res.linear.sizeInBytes = 32;
    CU(cuTexObjectCreate(&texture, &r, &t, nullptr));
    CU(cuTexObjectGetResourceDesc(&told, texture));
    HOLDS(told.res.linear.format == CU_AD_FORMAT_UNSIGNED_INT8 && told.res.linear.numChannels == 1 && told.res.linear.sizeInBytes == 32);
    fraction<<<1, 32>>>((float *)out, texture);
    CU(cuMemcpyDtoH(back, out, 128));
    for (int i = 0; i < 32; i++) HOLDS(back[i] == 8 * i / 255.0f);
    CU(cuTexObjectDestroy(texture));
    CU(cuMemFree(memory));
    CU(cuMemFree(out));
}

// boxes of three dimensions, lines, levels
static void boxes()
{
    CUarray solid, line, other;
    CUDA_ARRAY3D_DESCRIPTOR d = {};
    d.Width = W;
    d.Height = H;
    d.Depth = D;
    d.Format = CU_AD_FORMAT_SIGNED_INT32;
    d.NumChannels = 1;
    CU(cuArray3DCreate(&solid, &d));
    std::vector<int> host(W * H * D), back(W * H * D, -1);
    for (int i = 0; i < W * H * D; i++) host[i] = i;
    CUDA_MEMCPY3D c = {};
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = host.data();
    c.srcPitch = W * 4;
    c.srcHeight = H;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = solid;
    c.WidthInBytes = W * 4;
    c.Height = H;
    c.Depth = D;
    CU(cuMemcpy3D(&c));
    CUDA_MEMCPY3D e = {};
    e.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    e.srcArray = solid;
    e.srcXInBytes = 4;
    e.srcZ = 1;
    e.dstMemoryType = CU_MEMORYTYPE_HOST;
    e.dstHost = back.data();
    e.WidthInBytes = 8;
    e.Height = H;
    e.Depth = 2;
    CU(cuMemcpy3D(&e));
    for (int i = 0; i < 2 * H * 2; i++) HOLDS(back[i] == (H + i / 2) * W + 1 + i % 2);
    CU(cuArrayDestroy(solid));
    d.Height = d.Depth = 0;
    CU(cuArray3DCreate(&line, &d));
    CU(cuArray3DCreate(&other, &d));
    CU(cuMemcpyHtoA(line, 8, host.data(), 24));
    CU(cuMemcpyAtoA(other, 0, line, 8, 24));
    CU(cuMemcpyAtoH(back.data(), other, 0, W * 4));
    for (int i = 0; i < W; i++) HOLDS(back[i] == (i < 6 ? i : 0));
    HOLDS(cuMemcpyHtoA(line, 48, host.data(), 20) == CUDA_ERROR_INVALID_VALUE);
    CU(cuArrayDestroy(line));
    CU(cuArrayDestroy(other));
}

static void mipmap()
{
    CUmipmappedArray m;
    CUDA_ARRAY3D_DESCRIPTOR d = {};
    d.Width = d.Height = 4;
    d.Format = CU_AD_FORMAT_FLOAT;
    d.NumChannels = 1;
    CU(cuMipmappedArrayCreate(&m, &d, 3));
    for (unsigned n = 0; n < 3; n++) {
        CUarray a;
        std::vector<float> value(16, 10.0f * n);
        CUDA_MEMCPY2D c = {};
        CU(cuMipmappedArrayGetLevel(&a, m, n));
        c.srcMemoryType = CU_MEMORYTYPE_HOST;
        c.srcHost = value.data();
        c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c.dstArray = a;
        c.WidthInBytes = (4 >> n) * 4;
        c.Height = 4 >> n;
        CU(cuMemcpy2D(&c));
    }
    CUDA_RESOURCE_DESC r = {};
    CUDA_TEXTURE_DESC t = {};
    CUtexObject texture = 0;
    r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    r.res.mipmap.hMipmappedArray = m;
    t.flags = CU_TRSF_NORMALIZED_COORDINATES;
    t.maxMipmapLevelClamp = 8;
    CU(cuTexObjectCreate(&texture, &r, &t, nullptr));
    float *out, back[3];
    OK(cudaMalloc(&out, 12));
    level<<<1, 3>>>(out, texture);
    OK(cudaMemcpy(back, out, 12, cudaMemcpyDeviceToHost));
    HOLDS(back[0] == 0 && back[1] == 10 && back[2] == 20);
    OK(cudaFree(out));
    CU(cuTexObjectDestroy(texture));
    CU(cuMipmappedArrayDestroy(m));
}

int main()
{
    CUdevice device;
    CUcontext context;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    arrays();
    linear();
    boxes();
    mipmap();
    return finish();
}
