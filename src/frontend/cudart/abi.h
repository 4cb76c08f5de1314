/* abi: the parts of CUDA's binary interface that the runtime library implements: numbers and layouts that
 * compiled programs rely on, written down from the public headers' documentation. CUDA itself is not needed
 * to build Atoll. */
#ifndef ATOLL_FRONTEND_CUDART_ABI_H
#define ATOLL_FRONTEND_CUDART_ABI_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_API __attribute__((visibility("default")))

typedef int cudaError_t; /* numbers: errors.def */
enum {
#define ERROR(name, value, driver_name, text) name = value,
#include "frontend/cudart/errors.def"
#undef ERROR
};

struct dim3 {
    uint32_t x, y, z;
};

/* Opaque handles are pointers to what process.h describes; 0, 1 and 2 are streams with a meaning. */
typedef void *cudaStream_t, *cudaEvent_t, *cudaKernel_t, *cudaFunction_t, *cudaGraph_t, *cudaGraphNode_t,
    *cudaGraphExec_t, *cudaMemPool_t, *cudaLibrary_t, *cudaArray_t;
#define STREAM_LEGACY     ((cudaStream_t)1)
#define STREAM_PER_THREAD ((cudaStream_t)2)

typedef void cudaHostFn(void *user);
typedef void cudaStreamCallback(cudaStream_t stream, cudaError_t status, void *user);

enum { COPY_HOST_HOST, COPY_HOST_DEVICE, COPY_DEVICE_HOST, COPY_DEVICE_DEVICE, COPY_DEFAULT };
enum { MEMORY_UNREGISTERED, MEMORY_HOST, MEMORY_DEVICE, MEMORY_MANAGED };
enum { HOST_PORTABLE = 1, HOST_MAPPED = 2, HOST_WRITE_COMBINED = 4 };
enum { REGISTER_READ_ONLY = 8 };
enum { MANAGED_GLOBAL = 1, MANAGED_HOST = 2, MANAGED_SINGLE = 4 };
enum { STREAM_NON_BLOCKING = 1 };
enum { EVENT_BLOCKING_SYNC = 1, EVENT_DISABLE_TIMING = 2, EVENT_INTERPROCESS = 4 };
enum { CAPTURE_NONE, CAPTURE_ACTIVE, CAPTURE_INVALIDATED };
enum { CAPTURE_GLOBAL, CAPTURE_THREAD_LOCAL, CAPTURE_RELAXED };

struct cudaExtent {
    size_t width, height, depth;
};
struct cudaPos {
    size_t x, y, z;
};
struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    struct cudaPos srcPos;
    struct cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    struct cudaPos dstPos;
    struct cudaPitchedPtr dstPtr;
    struct cudaExtent extent;
    int kind;
};
struct cudaMemcpy3DPeerParms {
    cudaArray_t srcArray;
    struct cudaPos srcPos;
    struct cudaPitchedPtr srcPtr;
    int srcDevice;
    cudaArray_t dstArray;
    struct cudaPos dstPos;
    struct cudaPitchedPtr dstPtr;
    int dstDevice;
    struct cudaExtent extent;
};
struct cudaPointerAttributes {
    int type, device;
    void *devicePointer, *hostPointer;
    long reserved[8]; /* CUDA 13; older programs have less room: see pointer_attributes() */
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes,
        preferredShmemCarveout;
};
enum { FUNC_MAX_DYNAMIC_SHARED = 8, FUNC_CARVEOUT = 9, FUNC_ATTRIBUTES = 16 };

/* cudaLaunchKernelExC: attributes are 64 bytes of value behind an id. */
struct cudaLaunchAttribute {
    uint32_t id;
    char pad[4];
    union {
        char bytes[64];
        int cooperative;
        uint32_t cluster[3];
    } val;
};
struct cudaLaunchConfig {
    struct dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    struct cudaLaunchAttribute *attrs;
    uint32_t numAttrs;
};
enum { LAUNCH_COOPERATIVE = 2, LAUNCH_CLUSTER = 4 };

struct cudaMemLocation {
    int type, id;
};
enum { LOCATION_DEVICE = 1, LOCATION_HOST = 2 };
struct cudaMemPoolProps {
    int allocType, handleTypes;
    struct cudaMemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
};
struct cudaMemAccessDesc {
    struct cudaMemLocation location;
    int flags;
};
enum { ACCESS_READ_WRITE = 3 };

struct cudaKernelNodeParams {
    void *func;
    struct dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
};
struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
};
struct cudaHostNodeParams {
    cudaHostFn *fn;
    void *userData;
};
struct cudaMemAllocNodeParams {
    struct cudaMemPoolProps poolProps;
    const struct cudaMemAccessDesc *accessDescs;
    size_t accessDescCount, bytesize;
    void *dptr;
};
struct cudaConditionalNodeParams {
    uint64_t handle;
    int type;
    unsigned size;
    cudaGraph_t *phGraph_out;
};
enum { CONDITIONAL_IF, CONDITIONAL_WHILE, CONDITIONAL_SWITCH };
struct cudaGraphNodeParams {
    int type;
    int reserved0[3];
    union {
        long long reserved1[29];
        struct cudaKernelNodeParams kernel;
        struct {
            int flags, reserved[3];
            struct cudaMemcpy3DParms copyParams;
        } memcpy;
        struct cudaMemsetParams memset;
        struct cudaHostNodeParams host;
        struct {
            cudaGraph_t graph;
            int ownership;
        } graph;
        struct {
            cudaEvent_t event;
        } event; /* both kinds */
        struct cudaMemAllocNodeParams alloc;
        struct {
            void *dptr;
        } free;
        struct cudaConditionalNodeParams conditional;
    };
    long long reserved2;
};

#endif
