/* runtime_api: functions of the runtime API that the driver API's are made of. */
#ifndef ATOLL_FRONTEND_CUDART_RUNTIME_API_H
#define ATOLL_FRONTEND_CUDART_RUNTIME_API_H

#include <stdbool.h>

#include "frontend/cudart/abi.h"

cudaError_t cudaDeviceGetAttribute(int *value, int id, int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaDeviceSetLimit(int limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t *value, int limit);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaMallocManaged(void **out, size_t bytes, unsigned flags);
cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream);
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags);
cudaError_t cudaHostRegister(void *at, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *at);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags);
cudaError_t cudaFree(void *at);
cudaError_t cudaFreeAsync(void *at, cudaStream_t stream);
cudaError_t cudaFreeHost(void *at);
cudaError_t cudaMemGetInfo(size_t *unused, size_t *total);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                         size_t height, int kind);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, int kind, cudaStream_t stream);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback *callback, void *user,
                                  unsigned flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn *fn, void *user);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *func);
cudaError_t cudaFuncSetAttribute(const void *func, int attribute, int value);
cudaError_t cudaFuncSetCacheConfig(const void *func, int config);
cudaError_t cudaFuncGetName(const char **name, const void *func);
cudaError_t cudaFuncGetParamInfo(const void *func, size_t idx, size_t *offset, size_t *bytes);
cudaError_t cuFuncGetAttribute(int *value, int attribute, void *function);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int threads,
                                                          size_t shared);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *at);

/* ---- what is behind entries whose parameters differ between CUDA's versions: versioned_graph.c ---- */

struct graph_update {
    int result; /* 0 done, 2 topology, 3 type of a node */
    cudaGraphNode_t error_node, error_from;
};
cudaError_t call_graph_update(cudaGraphExec_t exec, cudaGraph_t graph, struct graph_update *info);
cudaError_t call_graph_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                                size_t count, struct cudaGraphNodeParams *p);
/* add: else they are removed */
cudaError_t call_graph_edges_change(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                    size_t count, bool add);
cudaError_t call_graph_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count);
cudaError_t call_graph_node_before(cudaGraphNode_t node, cudaGraphNode_t *before, size_t *count);
cudaError_t call_graph_node_after(cudaGraphNode_t node, cudaGraphNode_t *after, size_t *count);
cudaError_t call_capture_info(cudaStream_t stream, bool per_thread, int *status, unsigned long long *id,
                              cudaGraph_t *graph, const cudaGraphNode_t **tips, size_t *count);
/* how: 0 they are added to what the next node follows, 1 instead of it */
cudaError_t call_capture_update(cudaStream_t stream, bool per_thread, cudaGraphNode_t *nodes, size_t count,
                                unsigned how);

#endif
