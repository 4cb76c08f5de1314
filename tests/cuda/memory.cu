// Allocations of every kind, copies and fills of one, two and three dimensions, pointer attributes.
#include "check.h"
#include <cuda.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

__global__ void add_one(int *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}

static void linear()
{
    const int n = 1000;
    std::vector<int> host(n), back(n, -1);
    for (int i = 0; i < n; i++) host[i] = i * 3;
    int *a = nullptr, *b = nullptr;
    size_t before = 0, after = 0, total = 0;
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMalloc(&a, n * sizeof(int)));
    OK(cudaMalloc((void **)&b, n * sizeof(int)));
    OK(cudaMemGetInfo(&after, &total));
    HOLDS(before - after == 2 * n * sizeof(int) && total >= before);
    OK(cudaMemcpy(a, host.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    add_one<<<(n + 127) / 128, 128>>>(a, n);
    OK(cudaMemcpy(b, a, n * sizeof(int), cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back.data(), b, n * sizeof(int), cudaMemcpyDefault));
    for (int i = 0; i < n; i++) HOLDS(back[i] == 3 * i + 1);
    OK(cudaMemset(b, 0x11, n * sizeof(int)));
    OK(cudaMemsetAsync(b, 0x22, 4));
    OK(cudaMemcpyAsync(back.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaDeviceSynchronize());
    HOLDS(back[0] == 0x22222222 && back[1] == 0x11111111 && back[n - 1] == 0x11111111);
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFree(nullptr));
    OK(cudaMemGetInfo(&after, &total));
    HOLDS(before == after);
    void *none = &none;
    OK(cudaMalloc(&none, 0));
    HOLDS(none == nullptr);
}

static void wrong()
{
    int *a, x = 0;
    OK(cudaMalloc(&a, 16));
    GIVES(cudaErrorInvalidValue, cudaMemcpy(a, &x, 32, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy(a, &x, 4, (cudaMemcpyKind)7));
    GIVES(cudaErrorInvalidValue, cudaMemset(&x, 0, 4));
    GIVES(cudaErrorInvalidValue, cudaFree(&x));
    GIVES(cudaErrorInvalidValue, cudaFree(a + 1));
    OK(cudaFree(a));
    GIVES(cudaErrorInvalidValue, cudaFree(a));
    GIVES(cudaErrorMemoryAllocation, cudaMalloc(&a, (size_t)1 << 50));
    GIVES(cudaErrorInvalidValue, cudaMalloc((void **)nullptr, 4));
    (void)cudaGetLastError();
}

static void rectangles()
{
    const int w = 37, h = 11, d = 5;
    char *p;
    size_t pitch = 0;
    std::vector<char> host(w * h * d), back(w * h * d);
    for (size_t i = 0; i < host.size(); i++) host[i] = (char)(i * 7);
    OK(cudaMallocPitch(&p, &pitch, w, h));
    HOLDS(pitch >= (size_t)w && pitch % 32 == 0);
    OK(cudaMemset2D(p, pitch, 1, w, h));
    OK(cudaMemcpy2D(p, pitch, host.data(), w, w - 1, h, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DAsync(back.data(), w, p, pitch, w, h, cudaMemcpyDeviceToHost));
    OK(cudaDeviceSynchronize());
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) HOLDS(back[y * w + x] == (x == w - 1 ? 1 : host[y * w + x]));
    GIVES(cudaErrorInvalidPitchValue, cudaMemcpy2D(p, 4, host.data(), w, w, h, cudaMemcpyHostToDevice));
    OK(cudaFree(p));

    cudaPitchedPtr v;
    OK(cudaMalloc3D(&v, make_cudaExtent(w, h, d)));
    HOLDS(v.xsize == (size_t)w && v.ysize == (size_t)h && v.pitch >= (size_t)w);
    OK(cudaMemset3D(v, 9, make_cudaExtent(w, h, d)));
    cudaMemcpy3DParms c = {};
    c.srcPtr = make_cudaPitchedPtr(host.data(), w, w, h);
    c.dstPtr = v;
    c.dstPos = make_cudaPos(1, 1, 1);
    c.extent = make_cudaExtent(w - 1, h - 1, d - 1);
    c.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&c));
    c = {};
    c.srcPtr = v;
    c.dstPtr = make_cudaPitchedPtr(back.data(), w, w, h);
    c.extent = make_cudaExtent(w, h, d);
    c.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&c));
    OK(cudaDeviceSynchronize());
    for (int z = 0; z < d; z++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                const char want = x && y && z ? host[((z - 1) * h + y - 1) * w + x - 1] : 9;
                HOLDS(back[(z * h + y) * w + x] == want);
            }
    OK(cudaFree(v.ptr));
}

static void host_memory()
{
    const int n = 256;
    int *pinned, *mapped, *device;
    OK(cudaMallocHost(&pinned, n * sizeof(int)));
    OK(cudaHostAlloc(&mapped, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
    OK(cudaHostGetDevicePointer(&device, mapped, 0));
    for (int i = 0; i < n; i++) mapped[i] = pinned[i] = i;
    add_one<<<1, n>>>(device, n);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) HOLDS(mapped[i] == i + 1);
    unsigned flags = 0;
    OK(cudaHostGetFlags(&flags, mapped));
    HOLDS((flags & cudaHostAllocMapped) && (flags & cudaHostAllocPortable));
    std::vector<int> own(n, 5);
    OK(cudaHostRegister(own.data(), n * sizeof(int), cudaHostRegisterMapped));
    GIVES(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own.data(), 4, 0));
    OK(cudaHostGetDevicePointer(&device, own.data(), 0));
    add_one<<<1, n>>>(device, n);
    OK(cudaDeviceSynchronize());
    HOLDS(own[0] == 6 && own[n - 1] == 6);
    OK(cudaHostUnregister(own.data()));
    GIVES(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own.data()));
    GIVES(cudaErrorInvalidValue, cudaHostGetDevicePointer(&device, own.data(), 0));
    OK(cudaFreeHost(pinned));
    OK(cudaFreeHost(mapped));
    (void)cudaGetLastError();
}

/* What is not there cannot be registered, nor what the device may not write. */
static void no_memory()
{
    const size_t page = sysconf(_SC_PAGESIZE);
    int *p = (int *)mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    GIVES(cudaErrorInvalidValue, cudaHostRegister((void *)0x1000, page, cudaHostRegisterMapped));
    GIVES(cudaErrorInvalidValue, cudaHostRegister(p, SIZE_MAX, 0));
    HOLDS(!mprotect(p + page / 4, page, PROT_READ));
    GIVES(cudaErrorInvalidValue, cudaHostRegister(p, 3 * page, 0));
    OK(cudaHostRegister(p, 3 * page, cudaHostRegisterReadOnly)); // several mappings
    OK(cudaHostUnregister(p));
    HOLDS(!munmap(p + page / 4, page));
    GIVES(cudaErrorInvalidValue, cudaHostRegister(p, 3 * page, cudaHostRegisterReadOnly)); // a hole
    GIVES(cudaErrorInvalidValue, cudaHostRegister(p, page + 1, 0));
    OK(cudaHostRegister(p, page, 0));
    OK(cudaHostUnregister(p));
    (void)munmap(p, 3 * page);
    (void)cudaGetLastError();
}

static void managed()
{
    const int n = 300;
    int *m;
    OK(cudaMallocManaged(&m, n * sizeof(int)));
    for (int i = 0; i < n; i++) m[i] = i;
    cudaMemLocation there = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemAdvise(m, n * sizeof(int), cudaMemAdviseSetReadMostly, there));
    OK(cudaMemPrefetchAsync(m, n * sizeof(int), there, 0));
    OK(cudaStreamAttachMemAsync(0, m, 0, cudaMemAttachGlobal));
    add_one<<<3, 128>>>(m, n);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) HOLDS(m[i] == i + 1);
    GIVES(cudaErrorInvalidValue, cudaMemAdvise(&m, 8, cudaMemAdviseSetReadMostly, there));
    int mostly = 0;
    OK(cudaMemRangeGetAttribute(&mostly, sizeof mostly, cudaMemRangeAttributeReadMostly, m, n * sizeof(int)));
    HOLDS(mostly == 1);
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, m + 7));
    HOLDS(a.type == cudaMemoryTypeManaged && a.devicePointer == m + 7 && a.hostPointer == m + 7 && a.device == 0);
    OK(cudaFree(m));
    (void)cudaGetLastError();
}

__managed__ int variable[64];

/* A fill of what the host sees is there when the call returns; nobody waits for one on the device. */
static void fills()
{
    int *m, *h, *d;
    std::vector<int> own(64);
    OK(cudaMallocManaged(&m, 256));
    OK(cudaMallocHost(&h, 256));
    OK(cudaMalloc(&d, 64 << 20));
    OK(cudaHostRegister(own.data(), 256, cudaHostRegisterDefault));
    for (int *x : {m, h, own.data(), variable}) {
        for (int i = 0; i < 64; i++) x[i] = 0;
        OK(cudaMemset(x, -1, 256));
        HOLDS(x[0] == -1 && x[63] == -1);
        OK(cudaMemset2D(x, 16, 1, 8, 4));
        HOLDS(x[0] == 0x01010101 && x[1] == 0x01010101 && x[2] == -1 && x[12] == 0x01010101);
        OK(cudaMemset3D(make_cudaPitchedPtr(x, 16, 16, 2), 2, make_cudaExtent(16, 2, 2)));
        HOLDS(x[15] == 0x02020202 && x[16] == -1);
        HOLDS(cuMemsetD32((CUdeviceptr)x, 3, 64) == CUDA_SUCCESS);
        HOLDS(x[0] == 3 && x[63] == 3);
        OK(cudaMemsetAsync(x, 4, 256));
        OK(cudaStreamSynchronize(nullptr));
        HOLDS(x[0] == 0x04040404);
    }
    OK(cudaMemset(d, 0, 64 << 20));
    GIVES(cudaErrorNotReady, cudaStreamQuery(nullptr));
    OK(cudaHostUnregister(own.data()));
    OK(cudaFree(m));
    OK(cudaFree(d));
    OK(cudaFreeHost(h));
    (void)cudaGetLastError();
}

static void attributes()
{
    int *d, *h, x;
    cudaPointerAttributes a;
    OK(cudaMalloc(&d, 64));
    OK(cudaMallocHost(&h, 64));
    OK(cudaPointerGetAttributes(&a, d + 3));
    HOLDS(a.type == cudaMemoryTypeDevice && a.devicePointer == d + 3 && a.hostPointer == nullptr);
    OK(cudaPointerGetAttributes(&a, h));
    HOLDS(a.type == cudaMemoryTypeHost && a.hostPointer == h);
    OK(cudaPointerGetAttributes(&a, &x));
    HOLDS(a.type == cudaMemoryTypeUnregistered);
    OK(cudaFree(d));
    OK(cudaFreeHost(h));
    GIVES(cudaErrorInvalidValue, cudaMemcpy(&x, d, sizeof x, cudaMemcpyDefault)); // freed: not the host's either
    (void)cudaGetLastError();
}

int main()
{
    linear();
    wrong();
    rectangles();
    host_memory();
    no_memory();
    managed();
    fills();
    attributes();
    return finish();
}
