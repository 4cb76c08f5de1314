// CUDA arrays: allocation, what they tell about themselves, copies of every shape, mistakes.
#include "check.h"
#include <vector>

static std::vector<int> numbers(size_t n, int first = 0)
{
    std::vector<int> v(n);
    for (size_t i = 0; i < n; i++) v[i] = first + (int)i;
    return v;
}

static void information()
{
    cudaArray_t a = nullptr;
    size_t before = 0, after = 0, total = 0;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float4>();
    HOLDS(desc.x == 32 && desc.y == 32 && desc.z == 32 && desc.w == 32 && desc.f == cudaChannelFormatKindFloat);
    const cudaChannelFormatDesc two = cudaCreateChannelDesc(8, 8, 0, 0, cudaChannelFormatKindUnsigned);
    HOLDS(two.y == 8 && two.z == 0 && two.f == cudaChannelFormatKindUnsigned);
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMallocArray(&a, &desc, 20, 10, cudaArraySurfaceLoadStore));
    OK(cudaMemGetInfo(&after, &total));
    HOLDS(before - after >= 20 * 10 * 16);
    cudaChannelFormatDesc got;
    cudaExtent extent;
    unsigned flags = 0;
    OK(cudaGetChannelDesc(&got, a));
    HOLDS(!memcmp(&got, &desc, sizeof got));
    memset(&got, 0, sizeof got);
    OK(cudaArrayGetInfo(&got, &extent, &flags, a));
    HOLDS(!memcmp(&got, &desc, sizeof got) && extent.width == 20 && extent.height == 10 && extent.depth == 0);
    HOLDS(flags == cudaArraySurfaceLoadStore);
    OK(cudaFreeArray(a));
    OK(cudaMemGetInfo(&after, &total));
    HOLDS(before == after);
    OK(cudaFreeArray(nullptr));
}

static void rows()
{
    enum { W = 13, H = 7, PITCH = 80 };
    cudaArray_t a, b;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
    OK(cudaMallocArray(&a, &desc, W, H));
    OK(cudaMallocArray(&b, &desc, W, H));
    const std::vector<int> host = numbers(W * H);
    std::vector<int> back(W * H, -1);
    OK(cudaMemcpy2DToArray(a, 0, 0, host.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArray(back.data(), W * 4, a, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
    HOLDS(back == host);
    // a box of 5 x 3 from (2, 1), with gaps in host memory
    std::vector<char> wide(PITCH * 3, 0x55);
    OK(cudaMemcpy2DFromArray(wide.data(), PITCH, a, 8, 1, 20, 3, cudaMemcpyDefault));
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 5; x++) {
            int v;
            memcpy(&v, &wide[y * PITCH + 4 * x], 4);
            HOLDS(v == (1 + y) * W + 2 + x);
        }
    HOLDS(wide[20] == 0x55);
    // from device memory, asynchronously; between arrays
    int *device = nullptr;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&device, W * H * 4));
    const std::vector<int> other = numbers(W * H, 1000);
    OK(cudaMemcpyAsync(device, other.data(), W * H * 4, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpy2DToArrayAsync(b, 0, 0, device, W * 4, W * 4, H, cudaMemcpyDeviceToDevice, stream));
    OK(cudaMemcpy2DFromArrayAsync(back.data(), W * 4, b, 0, 0, W * 4, H, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    HOLDS(back == other);
    OK(cudaMemcpy2DArrayToArray(b, 4, 2, a, 0, 0, 8, 2, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy2DFromArray(back.data(), W * 4, b, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
    HOLDS(back[2 * W + 1] == 0 && back[2 * W + 2] == 1 && back[3 * W + 1] == W && back[2 * W] == 1000 + 2 * W);
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

// cudaMemcpyToArray and its kin: bytes that run on over rows
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void lines()
{
    enum { W = 10, H = 5 };
    cudaArray_t a, b;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
    OK(cudaMallocArray(&a, &desc, W, H));
    OK(cudaMallocArray(&b, &desc, W, H));
    const std::vector<int> host = numbers(W * H);
    std::vector<int> back(W * H, -1);
    OK(cudaMemcpyToArray(a, 0, 0, host.data(), W * H * 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromArray(back.data(), a, 0, 0, W * H * 4, cudaMemcpyDeviceToHost));
    HOLDS(back == host);
    const std::vector<int> piece = numbers(23, 500); // the end of row 1, row 2, the start of row 3
    OK(cudaMemcpyToArray(a, 4 * 4, 1, piece.data(), 23 * 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromArray(back.data(), a, 0, 0, W * H * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < W * H; i++) HOLDS(back[i] == (i >= 14 && i < 37 ? 500 + i - 14 : i));
    OK(cudaMemcpyArrayToArray(b, 8, 0, a, 0, 1, 30 * 4, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArray(back.data(), b, 0, 0, W * H * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 30; i++) HOLDS(back[2 + i] == (10 + i >= 14 && 10 + i < 37 ? 500 + i - 4 : 10 + i));
    HOLDS(back[0] == 0 && back[32] == 0);
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

static void boxes()
{
    enum { W = 6, H = 5, D = 4 };
    cudaArray_t a, layers;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int2>();
    OK(cudaMalloc3DArray(&a, &desc, make_cudaExtent(W, H, D)));
    OK(cudaMalloc3DArray(&layers, &desc, make_cudaExtent(W, H, D), cudaArrayLayered));
    const std::vector<int> host = numbers(2 * W * H * D);
    std::vector<int> back(2 * W * H * D, -1);
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr((void *)host.data(), W * 8, W, H);
    p.dstArray = a;
    p.extent = make_cudaExtent(W, H, D);
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    cudaMemcpy3DParms between = {};
    between.srcArray = a;
    between.dstArray = layers;
    between.extent = make_cudaExtent(W, H, D);
    between.kind = cudaMemcpyDeviceToDevice;
    OK(cudaMemcpy3DAsync(&between, 0));
    cudaMemcpy3DParms q = {};
    q.srcArray = layers;
    q.dstPtr = make_cudaPitchedPtr(back.data(), W * 8, W, H);
    q.extent = make_cudaExtent(W, H, D);
    q.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&q));
    HOLDS(back == host);
    // 2 x 2 x 2 texels from (3, 1, 2)
    q.srcPos = make_cudaPos(3, 1, 2);
    q.dstPtr = make_cudaPitchedPtr(back.data(), 16, 2, 2);
    q.extent = make_cudaExtent(2, 2, 2);
    OK(cudaMemcpy3D(&q));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 4; x++)
                HOLDS(back[(z * 2 + y) * 4 + x] == (((2 + z) * H + 1 + y) * W + 3) * 2 + x);
    q.srcPos = make_cudaPos(5, 0, 0); // one texel is left
    GIVES(cudaErrorInvalidValue, cudaMemcpy3D(&q));
    (void)cudaGetLastError();
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(layers));
}

// a copy to an array as a node of a graph
static void graphs()
{
    enum { W = 6, H = 5 };
    cudaArray_t a;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t to, from;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
    OK(cudaMallocArray(&a, &desc, W, H));
    const std::vector<int> host = numbers(W * H);
    std::vector<int> back(W * H, -1);
    cudaMemcpy3DParms p = {}, q = {};
    p.srcPtr = make_cudaPitchedPtr((void *)host.data(), W * 4, W, H);
    p.dstArray = q.srcArray = a;
    p.extent = q.extent = make_cudaExtent(W, H, 1);
    p.kind = cudaMemcpyHostToDevice;
    q.dstPtr = make_cudaPitchedPtr(back.data(), W * 4, W, H);
    q.kind = cudaMemcpyDeviceToHost;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNode(&to, graph, nullptr, 0, &p));
    OK(cudaGraphAddMemcpyNode(&from, graph, &to, 1, &q));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    HOLDS(back[0] == -1);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    HOLDS(back == host);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeArray(a));
}

static void mipmaps()
{
    cudaMipmappedArray_t m;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
    OK(cudaMallocMipmappedArray(&m, &desc, make_cudaExtent(16, 8, 0), 4));
    for (unsigned level = 0; level < 4; level++) {
        cudaArray_t a, again;
        cudaExtent extent;
        OK(cudaGetMipmappedArrayLevel(&a, m, level));
        OK(cudaGetMipmappedArrayLevel(&again, m, level));
        HOLDS(a == again);
        OK(cudaArrayGetInfo(nullptr, &extent, nullptr, a));
        HOLDS(extent.width == 16u >> level && extent.height == 8u >> level && extent.depth == 0);
        const std::vector<int> host = numbers(extent.width * extent.height, 100 * (int)level);
        OK(cudaMemcpy2DToArray(a, 0, 0, host.data(), extent.width * 4, extent.width * 4, extent.height, cudaMemcpyHostToDevice));
    }
    for (unsigned level = 0; level < 4; level++) {
        cudaArray_t a;
        OK(cudaGetMipmappedArrayLevel(&a, m, level));
        std::vector<int> back((16 >> level) * (8 >> level), -1);
        OK(cudaMemcpy2DFromArray(back.data(), (16 >> level) * 4, a, 0, 0, (16 >> level) * 4, 8 >> level, cudaMemcpyDeviceToHost));
        HOLDS(back == numbers(back.size(), 100 * (int)level));
        GIVES(cudaErrorInvalidValue, cudaFreeArray(a));
    }
    cudaArray_t none;
    GIVES(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&none, m, 4));
    OK(cudaFreeMipmappedArray(m));
    (void)cudaGetLastError();
}

static void wrong()
{
    cudaArray_t a = nullptr;
    int x[64] = {0};
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>(), three = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindSigned),
                                mixed = cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindSigned);
    GIVES(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&a, &three, 4, 4));
    GIVES(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&a, &mixed, 4, 4));
    GIVES(cudaErrorInvalidValue, cudaMallocArray(&a, &desc, 0, 4));
    GIVES(cudaErrorInvalidValue, cudaMalloc3DArray(&a, &desc, make_cudaExtent(4, 5, 6), cudaArrayCubemap));
    OK(cudaMallocArray(&a, &desc, 4, 4));
    GIVES(cudaErrorInvalidValue, cudaMemcpy2DToArray(a, 0, 0, x, 20, 20, 1, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidValue, cudaMemcpy2DToArray(a, 4, 3, x, 16, 12, 2, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidValue, cudaMemcpyToArray(a, 0, 3, x, 32, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy2DToArray(a, 0, 0, x, 16, 16, 1, (cudaMemcpyKind)9));
    GIVES(cudaErrorInvalidValue, cudaMemcpy2DToArray((cudaArray_t)x, 0, 0, x, 16, 16, 1, cudaMemcpyHostToDevice));
    OK(cudaFreeArray(a));
    GIVES(cudaErrorInvalidValue, cudaFreeArray(a));
    (void)cudaGetLastError();
}

int main()
{
    information();
    rows();
    lines();
    boxes();
    graphs();
    mipmaps();
    wrong();
    return finish();
}
