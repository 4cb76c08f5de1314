/* launch: kernels: the ways to launch one, what is known of it, how many blocks fit. */
#include <stdlib.h>
#include <string.h>

#include "frontend/cudart/process.h"

/* ---- the configuration that <<<>>> pushes and the stub pops ---- */

enum { PUSHED_MAX = 16 };
static __thread struct {
    struct {
        struct dim3 grid, block;
        size_t shared;
        cudaStream_t stream;
    } at[PUSHED_MAX];
    int count;
} pushed;

CUDA_API unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared,
                                              void *stream)
{
    if (pushed.count == PUSHED_MAX) return 1;
    pushed.at[pushed.count].grid = grid;
    pushed.at[pushed.count].block = block;
    pushed.at[pushed.count].shared = shared;
    pushed.at[pushed.count++].stream = stream;
    return 0;
}

CUDA_API cudaError_t __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared,
                                                void *stream)
{
    if (!pushed.count) return cudaErrorMissingConfiguration;
    pushed.count--;
    *grid = pushed.at[pushed.count].grid;
    *block = pushed.at[pushed.count].block;
    *shared = pushed.at[pushed.count].shared;
    *(cudaStream_t *)stream = pushed.at[pushed.count].stream;
    return cudaSuccess;
}

/* ---- launching ---- */

static size_t shared_per_block(void)
{
    const size_t have = (size_t)process.props.shared_bytes;
    return have < 48 * 1024 ? have : 48 * 1024;
}

/* Of a block, beside what the kernel has of its own. */
static size_t dynamic_shared(const struct kernel *k, const struct atoll_kernel_info *info)
{
    if (k->max_dynamic_shared) return (size_t)k->max_dynamic_shared;
    return shared_per_block() > info->shared_bytes ? shared_per_block() - (size_t)info->shared_bytes : 0;
}

/* Arguments are copied now: the program may change them when the call returns. */
static cudaError_t pack(struct op *op, struct kernel *k, void **args)
{
    struct atoll_kernel_info info;
    const atoll_status status = atoll_kernel_info(k->code, &info);
    if (status) return atoll_error(status, cudaErrorInvalidDeviceFunction);
    if (info.param_count && !args) return cudaErrorInvalidValue;
    op->launch.param_bytes = (size_t)info.param_bytes;
    op->launch.params = calloc(1, op->launch.param_bytes + 1);
    if (!op->launch.params) return cudaErrorMemoryAllocation;
    for (uint32_t i = 0; i < info.param_count; i++) {
        uint64_t offset, bytes;
        if (atoll_kernel_param(k->code, i, &offset, &bytes) && args[i])
            memcpy((char *)op->launch.params + offset, args[i], (size_t)bytes);
    }
    return cudaSuccess;
}

cudaError_t launch_shape(struct op *op, struct kernel *k, struct dim3 grid, struct dim3 block, size_t shared,
                         bool cooperative)
{
    struct atoll_kernel_info info;
    *op = (struct op){.kind = OP_KERNEL};
    if (!k) return cudaErrorInvalidDeviceFunction;
    const cudaError_t error = kernel_load(k);
    if (error) return error;
    op->launch.kernel = k;
    op->launch.grid = grid;
    op->launch.block = block;
    op->launch.shared = (unsigned)shared;
    op->launch.cooperative = cooperative;
    const atoll_status status = atoll_kernel_info(k->code, &info);
    if (status) return atoll_error(status, cudaErrorInvalidDeviceFunction);
    if (info.has_cluster) {
        complain("kernel '%s' is compiled for thread block clusters (__cluster_dims__), which are not "
                 "supported: compile it without them",
                 k->label);
        return cudaErrorNotSupported;
    }
    const size_t dynamic_most = dynamic_shared(k, &info);
    if (shared > dynamic_most) {
        complain(
            "kernel '%s': %zu bytes of dynamic shared memory, but %zu are allowed beside its %zu of static "
            "(cudaFuncSetAttribute raises it up to %zu)",
            k->label, shared, dynamic_most, (size_t)info.shared_bytes,
            (size_t)(process.props.shared_bytes - info.shared_bytes));
        return cudaErrorInvalidValue;
    }
    if ((uint64_t)block.x * block.y * block.z > info.max_threads && info.max_threads < 1024) {
        complain("kernel '%s': block of %u x %u x %u threads, but it is compiled for %u at most "
                 "(__launch_bounds__)",
                 k->label, block.x, block.y, block.z, info.max_threads);
        return cudaErrorLaunchOutOfResources;
    }
    return cudaSuccess;
}

cudaError_t launch_op(struct op *op, struct kernel *k, struct dim3 grid, struct dim3 block, void **args,
                      size_t shared, bool cooperative)
{
    cudaError_t error = launch_shape(op, k, grid, block, shared, cooperative);
    if (!error) error = pack(op, k, args);
    if (error) op_free(op);
    return error;
}

static cudaError_t launch(const void *func, struct dim3 grid, struct dim3 block, void **args, size_t shared,
                          cudaStream_t stream, bool cooperative, bool per_thread)
{
    struct op op;
    ENTER();
    struct stream *s = stream_of(stream, per_thread);
    if (!s) return leave(cudaErrorInvalidResourceHandle);
    const cudaError_t error = launch_op(&op, kernel_of_host(func), grid, block, args, shared, cooperative);
    return leave(error ? error : op_submit(s, &op));
}

CUDA_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    enter_quietly();
    *kernel = kernel_of_host(host);
    return leave_quietly(*kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

CUDA_API cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    ENTER();
    if (!kernel) return leave(cudaErrorInvalidValue);
    *kernel = kernel_of_host(host);
    return leave(*kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

CUDA_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *host)
{
    return cudaGetKernel(function, host);
}

CUDA_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, struct dim3 grid, struct dim3 block, void **args,
                                        size_t shared, cudaStream_t stream)
{
    return launch(kernel, grid, block, args, shared, stream, false, false);
}

CUDA_API cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, struct dim3 grid, struct dim3 block,
                                             void **args, size_t shared, cudaStream_t stream)
{
    return launch(kernel, grid, block, args, shared, stream, false, true);
}

CUDA_API cudaError_t cudaLaunchKernel(const void *func, struct dim3 grid, struct dim3 block, void **args,
                                      size_t shared, cudaStream_t stream)
{
    return launch(func, grid, block, args, shared, stream, false, false);
}

CUDA_API cudaError_t cudaLaunchKernel_ptsz(const void *func, struct dim3 grid, struct dim3 block, void **args,
                                           size_t shared, cudaStream_t stream)
{
    return launch(func, grid, block, args, shared, stream, false, true);
}

CUDA_API cudaError_t cudaLaunchCooperativeKernel(const void *func, struct dim3 grid, struct dim3 block,
                                                 void **args, size_t shared, cudaStream_t stream)
{
    return launch(func, grid, block, args, shared, stream, true, false);
}

CUDA_API cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *func, struct dim3 grid, struct dim3 block,
                                                      void **args, size_t shared, cudaStream_t stream)
{
    return launch(func, grid, block, args, shared, stream, true, true);
}

cudaError_t launch_attributes(const struct cudaLaunchAttribute *attributes, unsigned count, bool *cooperative)
{
    *cooperative = false;
    for (unsigned i = 0; i < count; i++) {
        const struct cudaLaunchAttribute *a = &attributes[i];
        if (a->id == LAUNCH_COOPERATIVE) *cooperative = a->val.cooperative;
        if (a->id == LAUNCH_CLUSTER && a->val.cluster[0] * a->val.cluster[1] * a->val.cluster[2] > 1)
            return unsupported("a launch with thread block clusters");
    }
    return cudaSuccess;
}

static cudaError_t launch_config(const struct cudaLaunchConfig *c, const void *func, void **args,
                                 bool per_thread)
{
    bool cooperative;
    if (!c) return cudaErrorInvalidValue;
    const cudaError_t error = launch_attributes(c->attrs, c->numAttrs, &cooperative);
    if (error) return error;
    return launch(func, c->gridDim, c->blockDim, args, c->dynamicSmemBytes, c->stream, cooperative,
                  per_thread);
}

CUDA_API cudaError_t cudaLaunchKernelExC(const struct cudaLaunchConfig *c, const void *func, void **args)
{
    return launch_config(c, func, args, false);
}

CUDA_API cudaError_t cudaLaunchKernelExC_ptsz(const struct cudaLaunchConfig *c, const void *func, void **args)
{
    return launch_config(c, func, args, true);
}

/* ---- about a kernel ---- */

CUDA_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *func)
{
    struct atoll_kernel_info info;
    ENTER();
    struct kernel *k = kernel_of_host(func);
    if (!a) return leave(cudaErrorInvalidValue);
    if (!k) return leave(cudaErrorInvalidDeviceFunction);
    const cudaError_t error = kernel_load(k);
    if (error) return leave(error);
    const atoll_status status = atoll_kernel_info(k->code, &info);
    if (status) return leave(atoll_error(status, cudaErrorInvalidDeviceFunction));
    *a = (struct cudaFuncAttributes){.sharedSizeBytes = (size_t)info.shared_bytes,
                                     .localSizeBytes = (size_t)info.local_bytes,
                                     .maxThreadsPerBlock = (int)info.max_threads,
                                     .numRegs = (int)info.registers,
                                     .ptxVersion = (int)info.target_sm,
                                     .binaryVersion = (int)process.props.compute_capability,
                                     .maxDynamicSharedSizeBytes = (int)dynamic_shared(k, &info),
                                     .preferredShmemCarveout = k->carveout};
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaFuncSetAttribute(const void *func, int attribute, int value)
{
    ENTER();
    struct kernel *k = kernel_of_host(func);
    if (!k) return leave(cudaErrorInvalidDeviceFunction);
    if (attribute < FUNC_MAX_DYNAMIC_SHARED || attribute >= FUNC_ATTRIBUTES)
        return leave(cudaErrorInvalidValue);
    if (attribute == FUNC_MAX_DYNAMIC_SHARED) {
        struct atoll_kernel_info info;
        const cudaError_t error = kernel_load(k);
        if (error) return leave(error);
        const atoll_status status = atoll_kernel_info(k->code, &info);
        if (status) return leave(atoll_error(status, cudaErrorInvalidDeviceFunction));
        if (value < 0 || (uint64_t)value + info.shared_bytes > process.props.shared_bytes)
            return leave(cudaErrorInvalidValue);
        k->max_dynamic_shared = value;
    }
    if (attribute == FUNC_CARVEOUT) {
        if (value < -1 || value > 100) return leave(cudaErrorInvalidValue);
        k->carveout = value;
    }
    return leave(cudaSuccess);
}

/* The split of a machine between L1 and shared memory is fixed; a preference is a hint in CUDA too. */
CUDA_API cudaError_t cudaFuncSetCacheConfig(const void *func, int config)
{
    ENTER();
    if (config < 0 || config > 3) return leave(cudaErrorInvalidValue);
    return leave(kernel_of_host(func) ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

CUDA_API cudaError_t cudaFuncSetSharedMemConfig(const void *func, int config)
{
    ENTER();
    if (config < 0 || config > 2) return leave(cudaErrorInvalidValue);
    return leave(kernel_of_host(func) ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

CUDA_API cudaError_t cudaFuncGetName(const char **name, const void *func)
{
    ENTER();
    const struct kernel *k = kernel_of_host(func);
    if (!name) return leave(cudaErrorInvalidValue);
    *name = k ? k->name : NULL;
    return leave(k ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

CUDA_API cudaError_t cudaFuncGetParamInfo(const void *func, size_t idx, size_t *offset, size_t *bytes)
{
    uint64_t at, size;
    ENTER();
    struct kernel *k = kernel_of_host(func);
    if (!k) return leave(cudaErrorInvalidDeviceFunction);
    const cudaError_t error = kernel_load(k);
    if (error) return leave(error);
    if (!offset || !atoll_kernel_param(k->code, (uint32_t)idx, &at, &size))
        return leave(cudaErrorInvalidValue);
    *offset = (size_t)at;
    if (bytes) *bytes = (size_t)size;
    return leave(cudaSuccess);
}

/* ---- occupancy, by the rule that the timing model uses ---- */

static cudaError_t fitting(const void *func, int threads, size_t shared, int *blocks)
{
    uint32_t count = 0;
    struct kernel *k = kernel_of_host(func);
    if (!blocks || threads < 1) return cudaErrorInvalidValue;
    if (!k) return cudaErrorInvalidDeviceFunction;
    const cudaError_t error = kernel_load(k);
    if (error) return error;
    *blocks = 0;
    if (threads > 1024) return cudaSuccess;
    const atoll_status status = atoll_kernel_fitting(k->code, (uint32_t)threads, shared, &count);
    *blocks = (int)count;
    return atoll_error(status, cudaErrorInvalidDeviceFunction);
}

CUDA_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int threads,
                                                                   size_t shared)
{
    ENTER();
    return leave(fitting(func, threads, shared, blocks));
}

CUDA_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *func,
                                                                            int threads, size_t shared,
                                                                            unsigned flags)
{
    ENTER();
    return leave(flags > 1 ? cudaErrorInvalidValue : fitting(func, threads, shared, blocks));
}

CUDA_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *func, int blocks,
                                                               int threads)
{
    struct cudaFuncAttributes a = {0};
    int fit = 0;
    const cudaError_t error = cudaFuncGetAttributes(&a, func);
    if (error) return error;
    ENTER();
    if (!bytes || blocks < 1) return leave(cudaErrorInvalidValue);
    const cudaError_t fits = fitting(func, threads, 0, &fit);
    if (fits) return leave(fits);
    const size_t each = (size_t)process.props.shared_bytes / (size_t)blocks;
    *bytes = fit < blocks || each < a.sharedSizeBytes ? 0 : each - a.sharedSizeBytes;
    return leave(fit < blocks ? cudaErrorInvalidValue : cudaSuccess);
}
