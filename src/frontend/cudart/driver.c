/* driver: the driver API: devices, contexts, modules, launches. Numbers of errors and attributes are those of
 * the runtime API, so most calls hand on. A context is a device: its handle is that of the device's primary
 * context. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cudart/process.h"
#include "frontend/cudart/runtime_api.h"

typedef cudaError_t CUresult;
typedef uint64_t CUdeviceptr;

/* ---- start, devices ---- */

CUDA_API CUresult cuInit(unsigned flags)
{
    ENTER();
    return leave(flags ? cudaErrorInvalidValue : cudaSuccess);
}

CUDA_API CUresult cuDriverGetVersion(int *version)
{
    if (!version) return cudaErrorInvalidValue;
    *version = 13000;
    return cudaSuccess;
}

CUDA_API CUresult cuDeviceGetCount(int *count) { return cudaGetDeviceCount(count); }

CUDA_API CUresult cuDeviceGet(int *device, int ordinal)
{
    ENTER();
    if (!device) return leave(cudaErrorInvalidValue);
    *device = ordinal;
    return leave(ordinal < 0 || ordinal >= process.device_count ? cudaErrorInvalidDevice : cudaSuccess);
}

CUDA_API CUresult cuDeviceGetName(char *name, int len, int device)
{
    ENTER();
    if (!name || len < 1) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    (void)snprintf(name, (size_t)len, "Atoll %s", process.props.machine);
    return leave(cudaSuccess);
}

CUDA_API CUresult cuDeviceGetAttribute(int *value, int id, int device)
{
    return cudaDeviceGetAttribute(value, id, device);
}

CUDA_API CUresult cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    ENTER();
    if (!bytes) return leave(cudaErrorInvalidValue);
    *bytes = (size_t)process.props.memory_bytes;
    return leave(device < 0 || device >= process.device_count ? cudaErrorInvalidDevice : cudaSuccess);
}
CUDA_API CUresult cuDeviceTotalMem(size_t *bytes, int device) { return cuDeviceTotalMem_v2(bytes, device); }

CUDA_API CUresult cuDeviceComputeCapability(int *major, int *minor, int device)
{
    const CUresult error = cudaDeviceGetAttribute(major, 75, device);
    return error ? error : cudaDeviceGetAttribute(minor, 76, device);
}

CUDA_API CUresult cuDeviceGetUuid_v2(char *uuid, int device)
{
    if (!uuid) return cudaErrorInvalidValue;
    for (int i = 0; i < 16; i++) uuid[i] = i < 15 ? "atoll-sim-device"[i] : (char)('0' + device);
    return cudaSuccess;
}
CUDA_API CUresult cuDeviceGetUuid(char *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

CUDA_API CUresult cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    return cudaDeviceCanAccessPeer(can, device, peer);
}

/* ---- contexts ---- */

enum { STACK_MAX = 32 };
static __thread struct {
    int devices[STACK_MAX];
    int count;
} contexts;

static void *context_of(int device) { return &process.devices[device]; }

static int device_of(const void *context)
{
    for (int i = 0; i < process.device_count; i++)
        if (context == &process.devices[i]) return i;
    return -1;
}

static CUresult push(int device)
{
    if (contexts.count == STACK_MAX) return cudaErrorInvalidValue;
    contexts.devices[contexts.count++] = device;
    set_current_device(device);
    return cudaSuccess;
}

static CUresult create(void **context, int device)
{
    ENTER();
    if (!context) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    *context = context_of(device);
    return leave(push(device));
}

CUDA_API CUresult cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    (void)flags;
    return create(context, device);
}
CUDA_API CUresult cuCtxCreate(void **context, unsigned flags, int device)
{
    return cuCtxCreate_v2(context, flags, device);
}
CUDA_API CUresult cuCtxCreate_v4(void **context, const void *params, unsigned flags, int device)
{
    (void)params, (void)flags;
    return create(context, device);
}

CUDA_API CUresult cuCtxDestroy_v2(void *context)
{
    ENTER();
    if (device_of(context) < 0) return leave(cudaErrorInvalidResourceHandle);
    if (contexts.count && contexts.devices[contexts.count - 1] == device_of(context)) contexts.count--;
    return leave(cudaSuccess);
}
CUDA_API CUresult cuCtxDestroy(void *context) { return cuCtxDestroy_v2(context); }

CUDA_API CUresult cuDevicePrimaryCtxRetain(void **context, int device)
{
    ENTER();
    if (!context) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    *context = context_of(device);
    return leave(cudaSuccess);
}

CUDA_API CUresult cuDevicePrimaryCtxRelease_v2(int device)
{
    ENTER();
    return leave(device < 0 || device >= process.device_count ? cudaErrorInvalidDevice : cudaSuccess);
}
CUDA_API CUresult cuDevicePrimaryCtxRelease(int device) { return cuDevicePrimaryCtxRelease_v2(device); }

CUDA_API CUresult cuDevicePrimaryCtxReset_v2(int device)
{
    (void)device;
    return cudaDeviceReset();
}

CUDA_API CUresult cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    ENTER();
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    if (flags) *flags = process.devices[device].flags;
    if (active) *active = 1;
    return leave(cudaSuccess);
}

CUDA_API CUresult cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
    ENTER();
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    process.devices[device].flags = flags;
    return leave(cudaSuccess);
}

CUDA_API CUresult cuCtxSetCurrent(void *context)
{
    ENTER();
    const int device = device_of(context);
    if (context && device < 0) return leave(cudaErrorInvalidResourceHandle);
    if (contexts.count) contexts.count--;
    return leave(context ? push(device) : cudaSuccess);
}

CUDA_API CUresult cuCtxGetCurrent(void **context)
{
    ENTER();
    if (!context) return leave(cudaErrorInvalidValue);
    *context = contexts.count ? context_of(contexts.devices[contexts.count - 1]) : NULL;
    return leave(cudaSuccess);
}

CUDA_API CUresult cuCtxPushCurrent_v2(void *context)
{
    ENTER();
    return leave(device_of(context) < 0 ? cudaErrorInvalidResourceHandle : push(device_of(context)));
}
CUDA_API CUresult cuCtxPushCurrent(void *context) { return cuCtxPushCurrent_v2(context); }

CUDA_API CUresult cuCtxPopCurrent_v2(void **context)
{
    ENTER();
    if (!contexts.count) return leave(cudaErrorDeviceUninitialized);
    contexts.count--;
    if (context) *context = context_of(contexts.devices[contexts.count]);
    if (contexts.count) set_current_device(contexts.devices[contexts.count - 1]);
    return leave(cudaSuccess);
}
CUDA_API CUresult cuCtxPopCurrent(void **context) { return cuCtxPopCurrent_v2(context); }

CUDA_API CUresult cuCtxGetDevice(int *device) { return cudaGetDevice(device); }
CUDA_API CUresult cuCtxSynchronize(void) { return cudaDeviceSynchronize(); }
CUDA_API CUresult cuCtxSetLimit(int limit, size_t value) { return cudaDeviceSetLimit(limit, value); }
CUDA_API CUresult cuCtxGetLimit(size_t *value, int limit) { return cudaDeviceGetLimit(value, limit); }
CUDA_API CUresult cuCtxSetCacheConfig(int config)
{
    ENTER();
    return leave(config < 0 || config > 3 ? cudaErrorInvalidValue : cudaSuccess);
}
CUDA_API CUresult cuCtxGetApiVersion(void *context, unsigned *version)
{
    (void)context;
    if (!version) return cudaErrorInvalidValue;
    *version = 13000;
    return cudaSuccess;
}
CUDA_API CUresult cuCtxEnablePeerAccess(void *context, unsigned flags)
{
    return cudaDeviceEnablePeerAccess(device_of(context), flags);
}
CUDA_API CUresult cuCtxDisablePeerAccess(void *context)
{
    return cudaDeviceDisablePeerAccess(device_of(context));
}

/* ---- modules ---- */

static CUresult load_image(struct module **out, const char *name, const void *image, size_t bytes)
{
    struct module *m = module_new("");
    if (!m) return cudaErrorMemoryAllocation;
    (void)snprintf(m->path, sizeof m->path, "%s", name);
    m->name = m->path;
    m->copy = malloc(bytes + 1);
    if (!m->copy) return cudaErrorMemoryAllocation;
    memcpy(m->copy, image, bytes);
    m->copy[bytes] = '\0';
    m->copy_bytes = bytes;
    *out = m;
    return module_load(m);
}

CUDA_API CUresult cuModuleLoadData(void **module, const void *image)
{
    ENTER();
    if (!module || !image) return leave(cudaErrorInvalidValue);
    size_t bytes = atoll_fatbin_bytes(image);
    if (!bytes && !memcmp(image, "\177ELF", 4)) {
        complain("cuModuleLoadData: the image is machine code (a cubin); Atoll executes PTX");
        return leave(cudaErrorNoKernelImageForDevice);
    }
    if (!bytes) bytes = strlen(image);
    return leave(load_image((struct module **)module, "a module of the driver API", image, bytes));
}

/* Of the linker's options only the logs mean something here: the error log gets the message, the other one is
 * empty. Their sizes are given, and given back as what was written. */
static void write_logs(unsigned count, const int *options, void **values, const char *message)
{
    enum { INFO_LOG = 3, INFO_LOG_BYTES = 4, ERROR_LOG = 5, ERROR_LOG_BYTES = 6 };
    char *logs[2] = {NULL, NULL};
    void **bytes[2] = {NULL, NULL};
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == INFO_LOG || options[i] == ERROR_LOG) logs[options[i] == ERROR_LOG] = values[i];
        if (options[i] == INFO_LOG_BYTES || options[i] == ERROR_LOG_BYTES)
            bytes[options[i] == ERROR_LOG_BYTES] = &values[i];
    }
    for (int k = 0; k < 2; k++) {
        const size_t room = bytes[k] ? (size_t)(uintptr_t)*bytes[k] & 0xffffffff : 0;
        const char *text = k ? message : "";
        if (!logs[k] || !room) continue;
        (void)snprintf(logs[k], room, "%s", text);
        *bytes[k] = (void *)(uintptr_t)(strlen(logs[k]) + (*text != '\0'));
    }
}

CUDA_API CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                                     void **values)
{
    ENTER();
    const CUresult error = cuModuleLoadData(module, image);
    if (options && values) write_logs(count, options, values, error ? atoll_message(process.sim) : "");
    return leave(error);
}

CUDA_API CUresult cuModuleLoadFatBinary(void **module, const void *image)
{
    return cuModuleLoadData(module, image);
}

CUDA_API CUresult cuModuleLoad(void **module, const char *path)
{
    ENTER();
    if (!module || !path) return leave(cudaErrorInvalidValue);
    FILE *f = fopen(path, "rb");
    if (!f) return leave(cudaErrorFileNotFound);
    char *text = NULL;
    size_t have = 0;
    for (size_t n = 1; n;) {
        char *grown = realloc(text, have + 65536 + 1);
        if (!grown) break;
        text = grown;
        n = fread(text + have, 1, 65536, f);
        have += n;
    }
    (void)fclose(f);
    const CUresult error =
        text ? load_image((struct module **)module, path, text, have) : cudaErrorMemoryAllocation;
    free(text);
    return leave(error);
}

/* The code stays in memory; the handle is gone. */
CUDA_API CUresult cuModuleUnload(void *module)
{
    ENTER();
    if (!handle_is(module, HANDLE_MODULE)) return leave(cudaErrorInvalidResourceHandle);
    handle_drop(module);
    return leave(cudaSuccess);
}

CUDA_API CUresult cuModuleGetFunction(void **function, void *module, const char *name)
{
    atoll_kernel *code = NULL;
    ENTER();
    if (!function || !name) return leave(cudaErrorInvalidValue);
    if (!handle_is(module, HANDLE_MODULE)) return leave(cudaErrorInvalidResourceHandle);
    struct module *m = module;
    CUresult error = module_load(m);
    if (error) return leave(error);
    for (struct kernel *k = m->kernels; k; k = k->next)
        if (!strcmp(k->name, name)) {
            *function = k;
            return leave(kernel_load(k));
        }
    if (atoll_kernel_find(m->program, name, &code) || !code) return leave(cudaErrorSymbolNotFound);
    struct kernel *k = module_kernel(m, NULL, name);
    if (!k) return leave(cudaErrorMemoryAllocation);
    *function = k;
    return leave(kernel_load(k));
}

CUDA_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, void *module, const char *name)
{
    void *pointer = NULL;
    uint64_t size = 0;
    ENTER();
    if (!handle_is(module, HANDLE_MODULE)) return leave(cudaErrorInvalidResourceHandle);
    struct module *m = module;
    const CUresult error = module_load(m);
    if (error) return leave(error);
    if (!name || atoll_variable_find(m->program, name, &pointer, &size) || !pointer)
        return leave(cudaErrorSymbolNotFound);
    if (at) *at = (CUdeviceptr)pointer;
    if (bytes) *bytes = (size_t)size;
    return leave(cudaSuccess);
}
CUDA_API CUresult cuModuleGetGlobal(CUdeviceptr *at, size_t *bytes, void *module, const char *name)
{
    return cuModuleGetGlobal_v2(at, bytes, module, name);
}

/* ---- functions ---- */

CUDA_API CUresult cuFuncGetAttribute(int *value, int attribute, void *function)
{
    struct cudaFuncAttributes a;
    if (!value) return cudaErrorInvalidValue;
    const CUresult error = cudaFuncGetAttributes(&a, function);
    if (error) return error;
    const int values[] = {a.maxThreadsPerBlock,
                          (int)a.sharedSizeBytes,
                          (int)a.constSizeBytes,
                          (int)a.localSizeBytes,
                          a.numRegs,
                          a.ptxVersion,
                          a.binaryVersion,
                          a.cacheModeCA,
                          a.maxDynamicSharedSizeBytes,
                          a.preferredShmemCarveout};
    if (attribute < 0 || attribute >= (int)(sizeof values / sizeof *values)) return cudaErrorInvalidValue;
    *value = values[attribute];
    return cudaSuccess;
}

CUDA_API CUresult cuFuncSetAttribute(void *function, int attribute, int value)
{
    return cudaFuncSetAttribute(function, attribute, value);
}
CUDA_API CUresult cuFuncSetCacheConfig(void *function, int config)
{
    return cudaFuncSetCacheConfig(function, config);
}

CUDA_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                              size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
CUDA_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function,
                                                                       int threads, size_t shared,
                                                                       unsigned flags)
{
    if (flags > 1) return cudaErrorInvalidValue;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

/* "extra": the parameter block as it lies in memory, instead of a pointer per parameter. */
static CUresult pack_extra(struct op *op, void **extra)
{
    enum { EXTRA_POINTER = 1, EXTRA_SIZE = 2 };
    const void *from = NULL;
    size_t bytes = 0;
    for (size_t i = 0; extra[i]; i += 2) {
        if ((uintptr_t)extra[i] == EXTRA_POINTER) from = extra[i + 1];
        if ((uintptr_t)extra[i] == EXTRA_SIZE) bytes = *(size_t *)extra[i + 1];
    }
    if (!from || bytes > (1 << 16)) return cudaErrorInvalidValue;
    op->launch.params = calloc(1, bytes + 1);
    if (!op->launch.params) return cudaErrorMemoryAllocation;
    memcpy(op->launch.params, from, bytes);
    op->launch.param_bytes = bytes;
    return cudaSuccess;
}

static CUresult launch(void *function, struct dim3 grid, struct dim3 block, size_t shared,
                       cudaStream_t stream, void **params, void **extra, bool cooperative)
{
    struct op op = {.kind = OP_KERNEL};
    ENTER();
    struct stream *s = stream_of(stream, false);
    struct kernel *k = handle_is(function, HANDLE_KERNEL) ? function : NULL;
    if (!s || !k) return leave(cudaErrorInvalidResourceHandle);
    CUresult error;
    if (params || !extra) {
        error = launch_op(&op, k, grid, block, params, shared, cooperative);
    } else {
        op.launch.kernel = k;
        op.launch.grid = grid;
        op.launch.block = block;
        op.launch.shared = (unsigned)shared;
        op.launch.cooperative = cooperative;
        error = pack_extra(&op, extra);
    }
    if (!error) error = op_submit(s, &op);
    /* here an impossible shape is an invalid value */
    return leave(error == cudaErrorInvalidConfiguration ? cudaErrorInvalidValue : error);
}

CUDA_API CUresult cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, cudaStream_t stream,
                                 void **params, void **extra)
{
    return launch(function, (struct dim3){gx, gy, gz}, (struct dim3){bx, by, bz}, shared, stream, params,
                  extra, false);
}

CUDA_API CUresult cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                                            unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                            cudaStream_t stream, void **params)
{
    return launch(function, (struct dim3){gx, gy, gz}, (struct dim3){bx, by, bz}, shared, stream, params,
                  NULL, true);
}

struct driver_launch_config {
    struct dim3 grid, block;
    unsigned shared;
    cudaStream_t stream;
    const struct cudaLaunchAttribute *attributes;
    unsigned attribute_count;
};

CUDA_API CUresult cuLaunchKernelEx(const struct driver_launch_config *c, void *function, void **params,
                                   void **extra)
{
    bool cooperative = false;
    if (!c) return cudaErrorInvalidValue;
    for (unsigned i = 0; i < c->attribute_count; i++)
        if (c->attributes[i].id == LAUNCH_COOPERATIVE) cooperative = c->attributes[i].val.cooperative;
    return launch(function, c->grid, c->block, c->shared, c->stream, params, extra, cooperative);
}

/* ---- entry points by name ---- */

static void *entry(const char *name)
{
    static const char *const newest[] = {"_v4", "_v3", "_v2", ""};
    char full[128];
    for (size_t i = 0; i < sizeof newest / sizeof *newest; i++) {
        (void)snprintf(full, sizeof full, "%s%s", name, newest[i]);
        void *at = dlsym(RTLD_DEFAULT, full);
        if (at) return at;
    }
    return NULL;
}

CUDA_API CUresult cuGetProcAddress_v2(const char *name, void **at, int version, uint64_t flags, int *status)
{
    (void)version, (void)flags;
    if (!name || !at) return cudaErrorInvalidValue;
    *at = entry(name);
    if (status) *status = *at ? 0 : 1;
    return *at ? cudaSuccess : cudaErrorSymbolNotFound;
}
CUDA_API CUresult cuGetProcAddress(const char *name, void **at, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, at, version, flags, NULL);
}
CUDA_API cudaError_t cudaGetDriverEntryPoint(const char *name, void **at, unsigned long long flags,
                                             int *status)
{
    return cuGetProcAddress_v2(name, at, 13000, flags, status);
}
CUDA_API cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **at, unsigned version,
                                                      unsigned long long flags, int *status)
{
    return cuGetProcAddress_v2(name, at, (int)version, flags, status);
}
