// Graphs: recorded from streams, built by hand, cloned, updated, with memory of their own.
#include <functional>
#include <thread>

#include "check.h"
#include <vector>

__global__ void add(int *x, int v) { x[threadIdx.x] += v; }
__global__ void scale(int *x, int v) { x[threadIdx.x] *= v; }

static int called;
static void CUDART_CB count_call(void *) { called++; }

static void captured()
{
    const int n = 32;
    int *x, back[n];
    cudaStream_t s, side;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCaptureStatus status;
    size_t nodes = 0, roots = 0, edges = 0;
    OK(cudaMalloc(&x, n * sizeof(int)));
    OK(cudaMemset(x, 0, n * sizeof(int)));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&side));
    OK(cudaEventCreate(&fork));
    OK(cudaEventCreate(&join));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaStreamIsCapturing(s, &status));
    HOLDS(status == cudaStreamCaptureStatusActive);
    add<<<1, n, 0, s>>>(x, 3);
    OK(cudaEventRecord(fork, s));
    OK(cudaStreamWaitEvent(side, fork, 0));
    OK(cudaLaunchHostFunc(side, count_call, nullptr));
    OK(cudaEventRecord(join, side));
    scale<<<1, n, 0, s>>>(x, 2);
    OK(cudaStreamWaitEvent(s, join, 0));
    OK(cudaMemcpyAsync(back, x, sizeof back, cudaMemcpyDeviceToHost, s));
    GIVES(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(side, &graph));
    OK(cudaStreamEndCapture(s, &graph));
    (void)cudaGetLastError();
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    OK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    HOLDS(nodes == 4 && roots == 1 && edges == 4);
    HOLDS(called == 0); // recorded, not run
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphUpload(exec, s));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    HOLDS(called == 2 && back[0] == (3 * 2 + 3) * 2 && back[n - 1] == 18);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    GIVES(cudaErrorInvalidValue, cudaGraphDestroy(graph));
    GIVES(cudaErrorInvalidValue, cudaGraphLaunch(exec, s));
    (void)cudaGetLastError();
    // work that was not joined
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    add<<<1, n, 0, s>>>(x, 1);
    OK(cudaEventRecord(fork, s));
    OK(cudaStreamWaitEvent(side, fork, 0));
    add<<<1, n, 0, side>>>(x, 1);
    GIVES(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(s, &graph));
    (void)cudaGetLastError();
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(side));
    OK(cudaFree(x));
}

// A call that is not allowed while a stream captures gives its error and spoils the capture.
static void spoiled(cudaStream_t s, cudaStreamCaptureMode mode, cudaError_t expected,
                    std::function<cudaError_t()> call)
{
    cudaGraph_t graph = nullptr;
    cudaStreamCaptureStatus status;
    OK(cudaStreamBeginCapture(s, mode));
    const cudaError_t got = call();
    HOLDS(got == expected);
    OK(cudaStreamIsCapturing(s, &status));
    HOLDS(status == (expected ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive));
    GIVES(expected ? cudaErrorStreamCaptureInvalidated : cudaSuccess, cudaStreamEndCapture(s, &graph));
    HOLDS((graph != nullptr) == (expected == cudaSuccess));
    if (graph) OK(cudaGraphDestroy(graph));
    (void)cudaGetLastError();
}

static void rules()
{
    cudaStream_t s, other, beside;
    cudaEvent_t outside;
    int *x, *y = nullptr;
    OK(cudaMalloc(&x, 64));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&other));
    OK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    OK(cudaEventCreate(&outside));
    OK(cudaEventRecord(outside, other));
    const auto legacy_launch = [&] {
        add<<<1, 1>>>(x, 1);
        return cudaGetLastError();
    };
    const auto allocate = [&] { return cudaMalloc(&y, 64); };
    const auto global = cudaStreamCaptureModeGlobal, local = cudaStreamCaptureModeThreadLocal,
               relaxed = cudaStreamCaptureModeRelaxed;
    // the legacy default stream would wait for the stream that captures, in every mode; not for one beside it
    for (auto mode : {global, local, relaxed})
        spoiled(s, mode, cudaErrorStreamCaptureImplicit, legacy_launch);
    spoiled(s, global, cudaErrorStreamCaptureImplicit, [&] { return cudaMemset(x, 0, 64); });
    spoiled(s, global, cudaErrorStreamCaptureImplicit, [&] { return cudaStreamSynchronize(0); });
    spoiled(s, global, cudaErrorStreamCaptureImplicit,
            [&] { return cudaMemcpy(x, &global, 4, cudaMemcpyHostToDevice); });
    spoiled(beside, global, cudaSuccess, legacy_launch);
    // unsafe calls, by mode
    spoiled(s, global, cudaErrorStreamCaptureUnsupported, allocate);
    spoiled(s, local, cudaErrorStreamCaptureUnsupported, allocate);
    spoiled(s, relaxed, cudaSuccess, allocate);
    OK(cudaFree(y));
    spoiled(s, global, cudaErrorStreamCaptureUnsupported, [&] { return cudaFree(x); });
    spoiled(s, global, cudaErrorStreamCaptureUnsupported, [] { return cudaDeviceSynchronize(); });
    spoiled(s, global, cudaErrorStreamCaptureUnsupported, [&] { return cudaEventQuery(outside); });
    // the thread's own mode
    spoiled(s, global, cudaSuccess, [&] {
        cudaStreamCaptureMode mode = relaxed;
        OK(cudaThreadExchangeStreamCaptureMode(&mode));
        HOLDS(mode == global);
        const cudaError_t error = allocate();
        OK(cudaThreadExchangeStreamCaptureMode(&mode));
        HOLDS(mode == relaxed);
        return error;
    });
    OK(cudaFree(y));
    // another thread: only a global capture is in its way
    const auto elsewhere = [&](std::function<cudaError_t()> call) {
        cudaError_t error = cudaErrorUnknown;
        std::thread([&] { error = call(); }).join();
        return error;
    };
    spoiled(s, global, cudaErrorStreamCaptureUnsupported, [&] { return elsewhere(allocate); });
    spoiled(s, local, cudaSuccess, [&] { return elsewhere(allocate); });
    OK(cudaFree(y));
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(s, global));
    HOLDS(elsewhere([&] { return cudaStreamEndCapture(s, &graph); }) == cudaErrorStreamCaptureWrongThread);
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphDestroy(graph));
    // the stream itself
    spoiled(s, relaxed, cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamSynchronize(s); });
    spoiled(s, relaxed, cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamQuery(s); });
    spoiled(s, relaxed, cudaErrorStreamCaptureIsolation, [&] { return cudaStreamWaitEvent(s, outside, 0); });
    // a stream that joined
    spoiled(s, relaxed, cudaErrorStreamCaptureUnsupported, [&] {
        OK(cudaEventRecord(outside, s));
        OK(cudaStreamWaitEvent(other, outside, 0));
        HOLDS(cudaEventQuery(outside) == cudaErrorCapturedEvent);
        cudaStreamCaptureStatus status;
        OK(cudaStreamIsCapturing(other, &status));
        HOLDS(status == cudaStreamCaptureStatusInvalidated);
        return cudaErrorStreamCaptureUnsupported;
    });
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(other));
    OK(cudaStreamDestroy(beside));
    OK(cudaFree(x));
}

static void by_hand()
{
    int *x, n = 16, three = 3, five = 5, back[16] = {0};
    cudaGraph_t graph, clone, child;
    cudaGraphExec_t exec;
    cudaGraphNode_t set, first, second, get, host, inner, found;
    cudaGraphNodeType type;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&x, n * sizeof(int)));
    OK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams m = {};
    m.dst = x;
    m.value = 7;
    m.elementSize = 4;
    m.width = n;
    m.height = 1;
    OK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &m));
    void *args[] = {&x, &three};
    cudaKernelNodeParams k = {};
    k.func = (void *)add;
    k.gridDim = dim3(1);
    k.blockDim = dim3(n);
    k.kernelParams = args;
    OK(cudaGraphAddKernelNode(&first, graph, &set, 1, &k));
    k.func = (void *)scale;
    OK(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &k));
    OK(cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
    OK(cudaGraphAddMemcpyNode1D(&get, graph, &second, 1, back, x, sizeof back, cudaMemcpyDeviceToHost));
    cudaHostNodeParams h = {count_call, nullptr};
    OK(cudaGraphAddHostNode(&host, graph, &get, 1, &h));
    OK(cudaGraphNodeGetType(set, &type));
    HOLDS(type == cudaGraphNodeTypeMemset);
    cudaKernelNodeParams asked;
    OK(cudaGraphKernelNodeGetParams(second, &asked));
    HOLDS(asked.func == (void *)scale && asked.blockDim.x == (unsigned)n);
    called = 0;
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    HOLDS(called == 1 && back[0] == (7 + 3) * 3 && back[n - 1] == 30);
    // another argument in the executable graph only
    void *other[] = {&x, &five};
    k.kernelParams = other;
    OK(cudaGraphExecKernelNodeSetParams(exec, second, &k));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    HOLDS(back[0] == 50);
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(exec, graph, &info)); // back to the graph's
    HOLDS(info.result == cudaGraphExecUpdateSuccess);
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    HOLDS(back[0] == 30);
    // a clone, as the child of another graph, with a generic node behind
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&found, first, clone));
    HOLDS(found && found != first);
    OK(cudaGraphCreate(&child, 0));
    OK(cudaGraphAddChildGraphNode(&inner, child, nullptr, 0, clone));
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeKernel;
    p.kernel.func = (void *)add;
    p.kernel.gridDim = dim3(1);
    p.kernel.blockDim = dim3(n);
    p.kernel.kernelParams = args;
    OK(cudaGraphAddNode(&found, child, &inner, nullptr, 1, &p));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&exec, child, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(back, x, sizeof back, cudaMemcpyDeviceToHost));
    HOLDS(back[0] == 33);
    GIVES(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, graph, &info));
    (void)cudaGetLastError();
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(s));
    OK(cudaFree(x));
}

static void own_memory()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t alloc, fill, get, release, copy3d;
    cudaStream_t s;
    int back[8] = {0}, again[8] = {0};
    unsigned long long used = 0;
    cudaMemAllocNodeParams a = {};
    OK(cudaStreamCreate(&s));
    OK(cudaGraphCreate(&graph, 0));
    a.bytesize = sizeof back;
    a.poolProps.allocType = cudaMemAllocationTypePinned;
    a.poolProps.location.type = cudaMemLocationTypeDevice;
    OK(cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &a));
    HOLDS(a.dptr != nullptr);
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    HOLDS(used == sizeof back);
    cudaMemsetParams m = {};
    m.dst = a.dptr;
    m.value = 0x01;
    m.elementSize = 1;
    m.width = sizeof back;
    m.height = 1;
    OK(cudaGraphAddMemsetNode(&fill, graph, &alloc, 1, &m));
    OK(cudaGraphAddMemcpyNode1D(&get, graph, &fill, 1, back, a.dptr, sizeof back, cudaMemcpyDeviceToHost));
    cudaMemcpy3DParms c = {};
    c.srcPtr = make_cudaPitchedPtr(a.dptr, sizeof back, sizeof back, 1);
    c.dstPtr = make_cudaPitchedPtr(again, sizeof back, sizeof back, 1);
    c.extent = make_cudaExtent(sizeof back, 1, 1);
    c.kind = cudaMemcpyDeviceToHost;
    OK(cudaGraphAddMemcpyNode(&copy3d, graph, &get, 1, &c));
    OK(cudaGraphAddMemFreeNode(&release, graph, &copy3d, 1, a.dptr));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    HOLDS(back[7] == 0x01010101 && again[7] == 0x01010101);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    HOLDS(used == 0);
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaStreamDestroy(s));
}

/* Memory of a graph is there as long as anything that was made from it, also while that still runs. */
static void memory_stays()
{
    const int n = 1 << 20;
    cudaGraph_t graph, parent;
    cudaGraphExec_t exec, outer;
    cudaGraphNode_t alloc, put, get, child;
    cudaStream_t s;
    std::vector<int> in(n, 7), out(n, 0);
    unsigned long long used = 0;
    cudaMemAllocNodeParams a = {};
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaGraphCreate(&graph, 0));
    a.bytesize = n * sizeof(int);
    a.poolProps.allocType = cudaMemAllocationTypePinned;
    a.poolProps.location.type = cudaMemLocationTypeDevice;
    OK(cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &a));
    OK(cudaGraphAddMemcpyNode1D(&put, graph, &alloc, 1, a.dptr, in.data(), a.bytesize, cudaMemcpyHostToDevice));
    OK(cudaGraphAddMemcpyNode1D(&get, graph, &put, 1, out.data(), a.dptr, a.bytesize, cudaMemcpyDeviceToHost));
    OK(cudaGraphCreate(&parent, 0));
    OK(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphInstantiate(&outer, parent, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(parent));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    HOLDS(out[0] == 7 && out[n - 1] == 7);
    OK(cudaFree(a.dptr)); // no node frees it; the next launch allocates it again
    out[n - 1] = 0;
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphLaunch(outer, s));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    HOLDS(used == a.bytesize);
    OK(cudaGraphExecDestroy(outer)); // under way
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    HOLDS(used == 0);
    OK(cudaStreamSynchronize(s));
    HOLDS(out[n - 1] == 7);
    GIVES(cudaErrorInvalidValue, cudaFree(a.dptr)); // gone
    OK(cudaStreamDestroy(s));
    (void)cudaGetLastError();
}

static void into_a_graph()
{
    int *x, back = 0;
    cudaGraph_t graph, given, same;
    cudaGraphExec_t exec;
    cudaStream_t s;
    cudaStreamCaptureStatus status;
    const cudaGraphNode_t *tips;
    size_t count = 99;
    unsigned long long id = 0;
    OK(cudaMalloc(&x, 4));
    OK(cudaMemset(x, 0, 4));
    OK(cudaStreamCreate(&s));
    OK(cudaGraphCreate(&given, 0));
    OK(cudaStreamBeginCaptureToGraph(s, given, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
    add<<<1, 1, 0, s>>>(x, 4);
    OK(cudaStreamGetCaptureInfo(s, &status, &id, &same, &tips, nullptr, &count));
    HOLDS(status == cudaStreamCaptureStatusActive && same == given && count == 1 && id);
    cudaGraphNode_t empty;
    OK(cudaGraphAddEmptyNode(&empty, same, tips, count));
    OK(cudaStreamUpdateCaptureDependencies(s, &empty, nullptr, 1, cudaStreamSetCaptureDependencies));
    scale<<<1, 1, 0, s>>>(x, 10);
    OK(cudaStreamEndCapture(s, &graph));
    HOLDS(graph == given);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaMemcpyAsync(&back, x, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    HOLDS(back == 40);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(s));
    OK(cudaFree(x));
}

/* Edges that are changed, nodes that go, circles. */
static void edges()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t a, b, c, from[4], to[4], after[4];
    size_t count = 4;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, nullptr, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    OK(cudaGraphAddEmptyNode(&c, graph, &b, 1));
    OK(cudaGraphAddDependencies(graph, &a, &c, nullptr, 1));
    GIVES(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &a, &c, nullptr, 1)); // is there
    GIVES(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &a, &a, nullptr, 1));
    OK(cudaGraphNodeGetDependentNodes(a, after, nullptr, &count));
    HOLDS(count == 2 && after[0] == b && after[1] == c);
    OK(cudaGraphAddDependencies(graph, &c, &a, nullptr, 1));
    GIVES(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0)); // a circle
    OK(cudaGraphRemoveDependencies(graph, &c, &a, nullptr, 1));
    GIVES(cudaErrorInvalidValue, cudaGraphRemoveDependencies(graph, &c, &a, nullptr, 1));
    OK(cudaGraphDestroyNode(b));
    GIVES(cudaErrorInvalidValue, cudaGraphDestroyNode(b));
    count = 4;
    OK(cudaGraphGetEdges(graph, from, to, nullptr, &count));
    HOLDS(count == 1 && from[0] == a && to[0] == c);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, nullptr));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

int main()
{
    captured();
    rules();
    by_hand();
    own_memory();
    memory_stays();
    into_a_graph();
    edges();
    return finish();
}
