// Texture and surface objects, as programs use them: every fetch of the device headers, checked against the formulas.
#include "check.h"
#include <cmath>
#include <vector>

enum { W = 32, H = 16, D = 4, N = W * H };

static cudaTextureDesc modes(cudaTextureFilterMode filter, cudaTextureAddressMode address, bool normalized,
                             cudaTextureReadMode read = cudaReadModeElementType)
{
    cudaTextureDesc d = {};
    for (int k = 0; k < 3; k++) d.addressMode[k] = address;
    d.filterMode = filter;
    d.readMode = read;
    d.normalizedCoords = normalized;
    return d;
}

static cudaTextureObject_t texture_of(cudaArray_t a, const cudaTextureDesc &d)
{
    cudaResourceDesc r = {};
    cudaTextureObject_t t = 0;
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    OK(cudaCreateTextureObject(&t, &r, &d, nullptr));
    return t;
}

template <typename T> static cudaArray_t array_of(const std::vector<T> &v, int w, int h, unsigned flags = 0)
{
    cudaArray_t a = nullptr;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<T>();
    OK(cudaMallocArray(&a, &desc, w, h, flags));
    OK(cudaMemcpy2DToArray(a, 0, 0, v.data(), w * sizeof(T), w * sizeof(T), h ? h : 1, cudaMemcpyHostToDevice));
    return a;
}

// ---- a linear filter against the formula of the programming guide ----

__global__ void filtered(float *out, cudaTextureObject_t t, float dx, float dy, float sx, float sy)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    out[y * W + x] = tex2D<float>(t, (x + dx) * sx, (y + dy) * sy);
}

static int outside(int i, int n, cudaTextureAddressMode mode)
{
    if (mode == cudaAddressModeWrap) return ((i % n) + n) % n;
    if (mode == cudaAddressModeMirror) {
        i = ((i % (2 * n)) + 2 * n) % (2 * n);
        return i < n ? i : 2 * n - 1 - i;
    }
    if (mode == cudaAddressModeBorder) return i < 0 || i >= n ? -1 : i;
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static double texel(const std::vector<float> &v, int x, int y, cudaTextureAddressMode mode)
{
    x = outside(x, W, mode);
    y = outside(y, H, mode);
    return x < 0 || y < 0 ? 0 : v[y * W + x];
}

static void linear_filter()
{
    std::vector<float> v(N), back(N);
    for (int i = 0; i < N; i++) v[i] = std::sin(i * 0.7f) * 100;
    cudaArray_t a = array_of(v, W, H);
    float *out;
    OK(cudaMalloc(&out, N * 4));
    const cudaTextureAddressMode all[] = {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder};
    for (cudaTextureAddressMode mode : all) {
        const cudaTextureObject_t t = texture_of(a, modes(cudaFilterModeLinear, mode, true));
        const float shift_x = 5.28125f, shift_y = -3.59375f; // exact in binary, so are the products below
        filtered<<<dim3(1, H), W>>>(out, t, shift_x, shift_y, 1.0f / W, 1.0f / H);
        OK(cudaMemcpy(back.data(), out, N * 4, cudaMemcpyDeviceToHost));
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                const double px = x + shift_x - 0.5, py = y + shift_y - 0.5;
                const int i = (int)std::floor(px), j = (int)std::floor(py);
                const double a0 = std::round((px - i) * 256) / 256, b0 = std::round((py - j) * 256) / 256;
                const double want = (1 - a0) * (1 - b0) * texel(v, i, j, mode) + a0 * (1 - b0) * texel(v, i + 1, j, mode) +
                                    (1 - a0) * b0 * texel(v, i, j + 1, mode) + a0 * b0 * texel(v, i + 1, j + 1, mode);
                if (back[y * W + x] != (float)want) std::printf("mode %d (%d, %d): %g, not %g\n", (int)mode, x, y, back[y * W + x], want);
                HOLDS(back[y * W + x] == (float)want);
            }
        OK(cudaDestroyTextureObject(t));
    }
    OK(cudaFree(out));
    OK(cudaFreeArray(a));
}

// ---- linear memory, pitched memory, every element type ----

template <typename T> __global__ void fetched(T *out, cudaTextureObject_t t, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<T>(t, n - 1 - i);
}

template <typename T> static void linear_memory()
{
    enum { COUNT = 1000 };
    T *in, *out;
    std::vector<unsigned char> host(COUNT * sizeof(T)), back(COUNT * sizeof(T));
    for (size_t i = 0; i < host.size(); i++) host[i] = (unsigned char)(i * 31 + (i >> 8)) & 0x3f;
    OK(cudaMalloc(&in, host.size()));
    OK(cudaMalloc(&out, host.size()));
    OK(cudaMemcpy(in, host.data(), host.size(), cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = in;
    r.res.linear.desc = cudaCreateChannelDesc<T>();
    r.res.linear.sizeInBytes = host.size();
    const cudaTextureDesc d = modes(cudaFilterModePoint, cudaAddressModeClamp, false);
    cudaTextureObject_t t = 0;
    OK(cudaCreateTextureObject(&t, &r, &d, nullptr));
    fetched<T><<<8, 128>>>(out, t, COUNT);
    OK(cudaMemcpy(back.data(), out, back.size(), cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        HOLDS(!memcmp(&back[i * sizeof(T)], &host[(COUNT - 1 - i) * sizeof(T)], sizeof(T)));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFree(in));
    OK(cudaFree(out));
}

__global__ void pitched(float4 *out, cudaTextureObject_t t)
{
    const int x = threadIdx.x, y = blockIdx.x;
    out[y * W + x] = tex2D<float4>(t, x + 0.5f, y + 0.5f);
}

static void pitched_memory()
{
    uchar4 *in;
    float4 *out;
    size_t pitch;
    std::vector<uchar4> host(N);
    std::vector<float4> back(N);
    for (int i = 0; i < N; i++) host[i] = make_uchar4(i, i >> 1, 255 - i, 7);
    OK(cudaMallocPitch(&in, &pitch, W * 4, H));
    OK(cudaMalloc(&out, N * 16));
    OK(cudaMemcpy2D(in, pitch, host.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {}, told;
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = in;
    r.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
    r.res.pitch2D.width = W;
    r.res.pitch2D.height = H;
    r.res.pitch2D.pitchInBytes = pitch;
    const cudaTextureDesc d = modes(cudaFilterModePoint, cudaAddressModeClamp, false, cudaReadModeNormalizedFloat);
    cudaTextureDesc modes_told;
    cudaTextureObject_t t = 0;
    OK(cudaCreateTextureObject(&t, &r, &d, nullptr));
    OK(cudaGetTextureObjectResourceDesc(&told, t));
    HOLDS(told.resType == r.resType && told.res.pitch2D.devPtr == in && told.res.pitch2D.pitchInBytes == pitch);
    OK(cudaGetTextureObjectTextureDesc(&modes_told, t));
    HOLDS(modes_told.readMode == cudaReadModeNormalizedFloat && modes_told.addressMode[1] == cudaAddressModeClamp);
    pitched<<<H, W>>>(out, t);
    OK(cudaMemcpy(back.data(), out, N * 16, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        HOLDS(back[i].x == host[i].x / 255.0f && back[i].y == host[i].y / 255.0f && back[i].z == host[i].z / 255.0f &&
              back[i].w == 7 / 255.0f);
    OK(cudaDestroyTextureObject(t));
    GIVES(cudaErrorInvalidResourceHandle, cudaDestroyTextureObject(t));
    (void)cudaGetLastError();
    OK(cudaFree(in));
    OK(cudaFree(out));
}

// ---- 1D, 3D, layers, cube maps, gather, mipmaps ----

__global__ void shapes(float *out, cudaTextureObject_t one, cudaTextureObject_t solid, cudaTextureObject_t layers,
                       cudaTextureObject_t lines, cudaTextureObject_t cube, cudaTextureObject_t flat, cudaTextureObject_t mip)
{
    const int i = threadIdx.x;
    const float x = i % 8 + 0.5f, y = i / 8 % 4 + 0.5f;
    out[0 * 64 + i] = tex1D<float>(one, i + 0.5f);
    out[1 * 64 + i] = tex3D<float>(solid, x, y, i / 32 + 0.5f);
    out[2 * 64 + i] = tex2DLayered<float>(layers, x, y, i / 32);
    out[3 * 64 + i] = tex1DLayered<float>(lines, x, i / 8);
    const float s = (i % 4 + 0.5f) / 2 - 1, t = (i / 4 % 4 + 0.5f) / 2 - 1;
    const float3 face = i / 16 == 0 ? make_float3(1, -t, -s) : i / 16 == 1 ? make_float3(-1, -t, s)
                        : i / 16 == 2 ? make_float3(s, 1, t) : make_float3(-s, -t, -1);
    out[4 * 64 + i] = texCubemap<float>(cube, face.x, face.y, face.z);
    const float4 four = tex2Dgather<float4>(flat, x, y, 0);
    out[5 * 64 + i] = four.x;
    out[6 * 64 + i] = four.w;
    out[7 * 64 + i] = tex2DLod<float>(mip, 0.5f, 0.5f, i / 16.0f);
    out[8 * 64 + i] = tex2DGrad<float>(mip, 0.5f, 0.5f, make_float2(exp2f(i % 4) / 8, 0), make_float2(0, 0.125f));
}

static cudaArray_t box(int w, int h, int d, unsigned flags, const std::vector<float> &v)
{
    cudaArray_t a = nullptr;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    OK(cudaMalloc3DArray(&a, &desc, make_cudaExtent(w, h, d), flags));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr((void *)v.data(), w * 4, w, h ? h : 1);
    p.dstArray = a;
    p.extent = make_cudaExtent(w, h ? h : 1, d);
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    return a;
}

static void every_shape()
{
    std::vector<float> v(64 * 6), back(9 * 64);
    for (size_t i = 0; i < v.size(); i++) v[i] = (float)i;
    const cudaTextureDesc point = modes(cudaFilterModePoint, cudaAddressModeClamp, false);
    const cudaTextureDesc unit = modes(cudaFilterModePoint, cudaAddressModeClamp, true);
    cudaArray_t one = array_of(std::vector<float>(v.begin(), v.begin() + 64), 64, 0), solid = box(8, 4, 2, 0, v),
                layers = box(8, 4, 2, cudaArrayLayered, v), lines = box(8, 0, 8, cudaArrayLayered, v),
                cube = box(4, 4, 6, cudaArrayCubemap, v),
                flat = array_of(std::vector<float>(v.begin(), v.begin() + 32), 8, 4, cudaArrayTextureGather);
    cudaMipmappedArray_t m;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    OK(cudaMallocMipmappedArray(&m, &desc, make_cudaExtent(8, 8, 0), 4));
    for (unsigned level = 0; level < 4; level++) {
        cudaArray_t a;
        const std::vector<float> value(64, (float)level);
        OK(cudaGetMipmappedArrayLevel(&a, m, level));
        OK(cudaMemcpy2DToArray(a, 0, 0, value.data(), 32, (8 >> level) * 4, 8 >> level, cudaMemcpyHostToDevice));
    }
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeMipmappedArray;
    r.res.mipmap.mipmap = m;
    cudaTextureDesc smooth = modes(cudaFilterModeLinear, cudaAddressModeClamp, true);
    smooth.mipmapFilterMode = cudaFilterModeLinear;
    smooth.maxMipmapLevelClamp = 3;
    cudaTextureObject_t mip = 0;
    OK(cudaCreateTextureObject(&mip, &r, &smooth, nullptr));
    float *out;
    OK(cudaMalloc(&out, back.size() * 4));
    const cudaTextureObject_t t[] = {texture_of(one, point), texture_of(solid, point), texture_of(layers, point),
                                     texture_of(lines, point), texture_of(cube, unit), texture_of(flat, point)};
    shapes<<<1, 64>>>(out, t[0], t[1], t[2], t[3], t[4], t[5], mip);
    OK(cudaMemcpy(back.data(), out, back.size() * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) {
        const int x = i % 8, y = i / 8 % 4;
        for (int k = 0; k < 4; k++) HOLDS(back[k * 64 + i] == i);
        const int face = i / 16 == 3 ? 5 : i / 16;
        HOLDS(back[4 * 64 + i] == face * 16 + i % 16);
        const float top = back[6 * 64 + i], low = back[5 * 64 + i];
        HOLDS(top == y * 8 + x);                        // (i0, j0)
        HOLDS(low == (y + 1 < 4 ? y + 1 : 3) * 8 + x);  // (i0, j1)
        HOLDS(back[7 * 64 + i] == std::fmin(i / 16.0f, 3));
        HOLDS(back[8 * 64 + i] == i % 4);
    }
    for (cudaTextureObject_t object : t) OK(cudaDestroyTextureObject(object));
    OK(cudaDestroyTextureObject(mip));
    for (cudaArray_t a : {one, solid, layers, lines, cube, flat}) OK(cudaFreeArray(a));
    OK(cudaFreeMipmappedArray(m));
    OK(cudaFree(out));
}

// ---- surfaces ----

__global__ void blur(cudaSurfaceObject_t to, cudaSurfaceObject_t from)
{
    const int x = threadIdx.x, y = blockIdx.x;
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) sum += surf2Dread<float>(from, (x + dx) * 4, y + dy, cudaBoundaryModeZero);
    surf2Dwrite(sum, to, x * 4, y);
}

__global__ void types(cudaSurfaceObject_t s)
{
    const int i = threadIdx.x;
    surf2Dwrite((unsigned char)i, s, i, 0);
    surf2Dwrite((short)(-i), s, 2 * i, 1);
    surf2Dwrite(make_int2(i, 2 * i), s, 8 * i, 2);
    surf2Dwrite(make_float4(i, 1, 2, 3), s, 16 * (i % 8), 3, cudaBoundaryModeClamp);
    surf2Dwrite(make_longlong2(i, -i), s, 16 * (i % 8), 4);
    const uchar4 c = surf2Dread<uchar4>(s, 4 * (i / 4), 0);
    surf2Dwrite((int)(c.x + 256 * c.y + 65536 * c.z + 16777216 * c.w), s, 4 * i, 5);
}

static cudaSurfaceObject_t surface_of(cudaArray_t a)
{
    cudaResourceDesc r = {}, told;
    cudaSurfaceObject_t s = 0;
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    OK(cudaCreateSurfaceObject(&s, &r));
    OK(cudaGetSurfaceObjectResourceDesc(&told, s));
    HOLDS(told.resType == cudaResourceTypeArray && told.res.array.array == a);
    return s;
}

static void surfaces()
{
    std::vector<float> v(N), back(N);
    for (int i = 0; i < N; i++) v[i] = (float)(i % 17);
    cudaArray_t a = array_of(v, W, H, cudaArraySurfaceLoadStore), b = array_of(v, W, H, cudaArraySurfaceLoadStore);
    const cudaSurfaceObject_t from = surface_of(a), to = surface_of(b);
    blur<<<H, W>>>(to, from);
    OK(cudaMemcpy2DFromArray(back.data(), W * 4, b, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float want = 0;
            for (int j = y - 1; j <= y + 1; j++)
                for (int i = x - 1; i <= x + 1; i++) want += i >= 0 && i < W && j >= 0 && j < H ? v[j * W + i] : 0;
            HOLDS(back[y * W + x] == want);
        }
    types<<<1, 16>>>(to);
    OK(cudaMemcpy2DFromArray(back.data(), W * 4, b, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
    const unsigned char *bytes = (const unsigned char *)back.data();
    for (int i = 0; i < 16; i++) {
        short s;
        int two[2], word;
        memcpy(&s, bytes + W * 4 + 2 * i, 2);
        memcpy(two, bytes + 2 * W * 4 + 8 * i, 8);
        memcpy(&word, bytes + 5 * W * 4 + 4 * i, 4);
        const int first = i / 4 * 4;
        HOLDS(bytes[i] == i && s == -i && two[0] == i && two[1] == 2 * i);
        HOLDS(word == first + 256 * (first + 1) + 65536 * (first + 2) + 16777216 * (first + 3));
    }
    HOLDS(back[3 * W] == 8 && back[3 * W + 3] == 3); // the second of the lanes that share a place
    OK(cudaDestroySurfaceObject(from));
    OK(cudaDestroySurfaceObject(to));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

static void wrong()
{
    std::vector<int> v(16);
    cudaArray_t a = array_of(v, 4, 4);
    cudaResourceDesc r = {};
    cudaTextureObject_t t = 0;
    cudaSurfaceObject_t s = 0;
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    const cudaTextureDesc filter = modes(cudaFilterModeLinear, cudaAddressModeClamp, false),
                          fraction = modes(cudaFilterModePoint, cudaAddressModeClamp, false, cudaReadModeNormalizedFloat);
    GIVES(cudaErrorInvalidValue, cudaCreateTextureObject(&t, &r, &filter, nullptr));   // integers are not filtered
    GIVES(cudaErrorInvalidValue, cudaCreateTextureObject(&t, &r, &fraction, nullptr)); // 32 bits are no fractions
    GIVES(cudaErrorInvalidValue, cudaCreateSurfaceObject(&s, &r)); // allocated without cudaArraySurfaceLoadStore
    r.res.array.array = (cudaArray_t)&v;
    GIVES(cudaErrorInvalidResourceHandle, cudaCreateTextureObject(&t, &r, &fraction, nullptr));
    GIVES(cudaErrorInvalidResourceHandle, cudaDestroySurfaceObject(4711));
    OK(cudaFreeArray(a));
    (void)cudaGetLastError();
}

// A texture object that is used after its end: the kernel fails, the diagnostic says why.
static int after_its_end(bool array_only)
{
    float *out;
    cudaArray_t a = array_of(std::vector<float>(N, 1.0f), W, H);
    const cudaTextureObject_t t = texture_of(a, modes(cudaFilterModePoint, cudaAddressModeClamp, false));
    OK(cudaMalloc(&out, N * 4));
    OK(cudaFreeArray(a));
    if (!array_only) OK(cudaDestroyTextureObject(t));
    filtered<<<dim3(1, H), W>>>(out, t, 0.5f, 0.5f, 1, 1);
    GIVES(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    return finish();
}

int main(int argc, char **argv)
{
    if (argc > 1) return after_its_end(!strcmp(argv[1], "array"));
    linear_filter();
    linear_memory<int>();
    linear_memory<unsigned char>();
    linear_memory<short2>();
    linear_memory<float>();
    linear_memory<float4>();
    linear_memory<uint2>();
    linear_memory<char4>();
    pitched_memory();
    every_shape();
    surfaces();
    wrong();
    return finish();
}
