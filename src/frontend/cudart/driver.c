/* driver: the driver API: devices, modules, launches. Numbers of errors and attributes are those of the
 * runtime API, so most calls hand on. */
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
    driver_quietly(1);
    const CUresult error = enter();
    driver_quietly(-1);
    process.initialised |= !error && !flags;
    return leave(!error && flags ? cudaErrorInvalidValue : error);
}

CUDA_API CUresult cuDriverGetVersion(int *version)
{
    if (!version) return cudaErrorInvalidValue;
    *version = 13000;
    return cudaSuccess;
}

CUDA_API CUresult cuDeviceGetCount(int *count) { return QUIETLY(cudaGetDeviceCount(count)); }

CUDA_API CUresult cuDeviceGet(int *device, int ordinal)
{
    ENTER_QUIETLY();
    if (!device) return leave(cudaErrorInvalidValue);
    *device = ordinal;
    return leave(ordinal < 0 || ordinal >= process.device_count ? cudaErrorInvalidDevice : cudaSuccess);
}

CUDA_API CUresult cuDeviceGetName(char *name, int len, int device)
{
    ENTER_QUIETLY();
    if (!name || len < 1) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    (void)snprintf(name, (size_t)len, "Atoll %s", process.props.machine);
    return leave(cudaSuccess);
}

CUDA_API CUresult cuDeviceGetAttribute(int *value, int id, int device)
{
    return QUIETLY(cudaDeviceGetAttribute(value, id, device));
}

CUDA_API CUresult cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    ENTER_QUIETLY();
    if (!bytes) return leave(cudaErrorInvalidValue);
    *bytes = (size_t)process.props.memory_bytes;
    return leave(device < 0 || device >= process.device_count ? cudaErrorInvalidDevice : cudaSuccess);
}
CUDA_API CUresult cuDeviceTotalMem(size_t *bytes, int device) { return cuDeviceTotalMem_v2(bytes, device); }

CUDA_API CUresult cuDeviceComputeCapability(int *major, int *minor, int device)
{
    const CUresult error = QUIETLY(cudaDeviceGetAttribute(major, 75, device));
    return error ? error : QUIETLY(cudaDeviceGetAttribute(minor, 76, device));
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
    return QUIETLY(cudaDeviceCanAccessPeer(can, device, peer));
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

cudaError_t module_from_image(void **module, const void *image)
{
    size_t bytes = atoll_fatbin_bytes(image);
    if (!bytes && !memcmp(image, "\177ELF", 4)) {
        complain("the image is machine code (a cubin); Atoll executes PTX");
        return cudaErrorNoKernelImageForDevice;
    }
    if (!bytes) bytes = strlen(image);
    return load_image((struct module **)module, "a module of the program", image, bytes);
}

CUDA_API CUresult cuModuleLoadData(void **module, const void *image)
{
    NEEDS_CONTEXT();
    ENTER();
    return leave(module && image ? module_from_image(module, image) : cudaErrorInvalidValue);
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
    NEEDS_CONTEXT();
    ENTER();
    const CUresult error = cuModuleLoadData(module, image);
    if (options && values) write_logs(count, options, values, error ? atoll_message(process.sim) : "");
    return leave(error);
}

CUDA_API CUresult cuModuleLoadFatBinary(void **module, const void *image)
{
    NEEDS_CONTEXT();
    return cuModuleLoadData(module, image);
}

cudaError_t module_from_file(void **module, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return cudaErrorFileNotFound;
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
    return error;
}

CUDA_API CUresult cuModuleLoad(void **module, const char *path)
{
    NEEDS_CONTEXT();
    ENTER();
    return leave(module && path ? module_from_file(module, path) : cudaErrorInvalidValue);
}

/* The code stays in memory; the handle is gone. */
CUDA_API CUresult cuModuleUnload(void *module)
{
    NEEDS_CONTEXT();
    ENTER();
    if (!handle_is(module, HANDLE_MODULE)) return leave(cudaErrorInvalidResourceHandle);
    if (((const struct module *)module)->alias == module)
        return leave(cudaErrorNotPermitted); /* a library's */
    host_waits_for_device();
    module_forget(module);
    return leave(cudaSuccess);
}

CUDA_API CUresult cuModuleGetFunction(void **function, void *module, const char *name)
{
    NEEDS_CONTEXT();
    ENTER();
    if (!function || !name) return leave(cudaErrorInvalidValue);
    if (!handle_is(module, HANDLE_MODULE)) return leave(cudaErrorInvalidResourceHandle);
    return leave(module_find_kernel(module, name, function));
}

CUDA_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, void *module, const char *name)
{
    NEEDS_CONTEXT();
    void *pointer = NULL;
    size_t size = 0;
    ENTER();
    if (!handle_is(module, HANDLE_MODULE)) return leave(cudaErrorInvalidResourceHandle);
    struct module *m = module;
    const CUresult error = module_load(m);
    if (error) return leave(error);
    if (!name || module_variable(m, name, &pointer, &size) || !pointer) return leave(cudaErrorSymbolNotFound);
    if (at) *at = (CUdeviceptr)pointer;
    if (bytes) *bytes = size;
    return leave(cudaSuccess);
}
CUDA_API CUresult cuModuleGetGlobal(CUdeviceptr *at, size_t *bytes, void *module, const char *name)
{
    NEEDS_CONTEXT();
    return cuModuleGetGlobal_v2(at, bytes, module, name);
}

/* ---- functions ---- */

CUDA_API CUresult cuFuncGetAttribute(int *value, int attribute, void *function)
{
    NEEDS_CONTEXT();
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
    NEEDS_CONTEXT();
    return cudaFuncSetAttribute(function, attribute, value);
}
CUDA_API CUresult cuFuncSetCacheConfig(void *function, int config)
{
    NEEDS_CONTEXT();
    return cudaFuncSetCacheConfig(function, config);
}

CUDA_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                              size_t shared)
{
    NEEDS_CONTEXT();
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
CUDA_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function,
                                                                       int threads, size_t shared,
                                                                       unsigned flags)
{
    NEEDS_CONTEXT();
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
    if (params && extra) return leave(cudaErrorInvalidValue);
    CUresult error;
    if (extra) {
        error = launch_shape(&op, k, grid, block, shared, cooperative);
        if (!error) error = pack_extra(&op, extra);
    } else {
        error = launch_op(&op, k, grid, block, params, shared, cooperative);
    }
    if (!error) error = op_submit(s, &op);
    /* here an impossible shape is an invalid value */
    return leave(error == cudaErrorInvalidConfiguration ? cudaErrorInvalidValue : error);
}

CUDA_API CUresult cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, cudaStream_t stream,
                                 void **params, void **extra)
{
    NEEDS_CONTEXT();
    return launch(function, (struct dim3){gx, gy, gz}, (struct dim3){bx, by, bz}, shared, stream, params,
                  extra, false);
}

CUDA_API CUresult cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                                            unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                            cudaStream_t stream, void **params)
{
    NEEDS_CONTEXT();
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
    NEEDS_CONTEXT();
    bool cooperative;
    if (!c) return cudaErrorInvalidValue;
    const cudaError_t error = launch_attributes(c->attributes, c->attribute_count, &cooperative);
    if (error) return error;
    return launch(function, c->grid, c->block, c->shared, c->stream, params, extra, cooperative);
}

/* ---- entry points by name ---- */

/* Tables that NVIDIA's own libraries ask for; without them they go on. */
CUDA_API CUresult cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    if (table) *table = NULL;
    return cudaErrorNotSupported;
}

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
