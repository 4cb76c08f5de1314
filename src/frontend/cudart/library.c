/* library: code that a program loads while it runs: cudaLibrary* of the runtime API and cuLibrary*, cuKernel*
 * of the driver API. A library is a module with a handle of its own kind; a kernel of it can be launched, and
 * asked about, like any other. */
#include <stdlib.h>
#include <string.h>

#include "frontend/cudart/process.h"
#include "frontend/cudart/runtime_api.h"

typedef cudaError_t CUresult;

static struct module *library_of(const void *library)
{
    return handle_is(library, HANDLE_LIBRARY) ? (struct module *)(uintptr_t)library : NULL;
}

/* Options of the compiler and the linker change nothing here. */
static cudaError_t load(void **library, const void *code, const char *path)
{
    void *module = NULL;
    if (!library || (!code && !path)) return cudaErrorInvalidValue;
    const cudaError_t error = path ? module_from_file(&module, path) : module_from_image(&module, code);
    if (error) return error;
    *library = module;
    handle_drop(module); /* it is no module to cuModule* */
    return handle_add(module, HANDLE_LIBRARY) ? cudaSuccess : cudaErrorMemoryAllocation;
}

CUDA_API cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, int *jit,
                                         void **jit_values, unsigned jit_count, int *options, void **values,
                                         unsigned count)
{
    (void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    ENTER();
    return leave(load(library, code, NULL));
}

CUDA_API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path, int *jit,
                                             void **jit_values, unsigned jit_count, int *options,
                                             void **values, unsigned count)
{
    (void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    ENTER();
    return leave(load(library, NULL, path));
}

/* The code stays in memory; the handles are gone. */
CUDA_API cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    ENTER();
    struct module *m = library_of(library);
    if (!m) return leave(cudaErrorInvalidResourceHandle);
    host_waits_for_device();
    module_forget(m);
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    ENTER();
    struct module *m = library_of(library);
    if (!m) return leave(cudaErrorInvalidResourceHandle);
    return leave(kernel && name ? module_find_kernel(m, name, kernel) : cudaErrorInvalidValue);
}

static cudaError_t global(void **at, size_t *bytes, const void *library, const char *name)
{
    void *found = NULL;
    size_t size = 0;
    struct module *m = library_of(library);
    if (!m) return cudaErrorInvalidResourceHandle;
    if (!name) return cudaErrorInvalidValue;
    if (module_variable(m, name, &found, &size) || !found) return cudaErrorSymbolNotFound;
    if (at) *at = found;
    if (bytes) *bytes = size;
    return cudaSuccess;
}

CUDA_API cudaError_t cudaLibraryGetGlobal(void **at, size_t *bytes, cudaLibrary_t library, const char *name)
{
    ENTER();
    return leave(global(at, bytes, library, name));
}

/* Device memory is memory of the process: a managed variable is found like any other. */
CUDA_API cudaError_t cudaLibraryGetManaged(void **at, size_t *bytes, cudaLibrary_t library, const char *name)
{
    return cudaLibraryGetGlobal(at, bytes, library, name);
}

CUDA_API cudaError_t cudaLibraryGetKernelCount(unsigned *count, cudaLibrary_t library)
{
    ENTER();
    const struct module *m = library_of(library);
    if (!m) return leave(cudaErrorInvalidResourceHandle);
    if (!count) return leave(cudaErrorInvalidValue);
    for (*count = 0; atoll_kernel_name(m->program, *count);) ++*count;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned count, cudaLibrary_t library)
{
    ENTER();
    struct module *m = library_of(library);
    cudaError_t error = m ? cudaSuccess : cudaErrorInvalidResourceHandle;
    if (!error && count && !kernels) error = cudaErrorInvalidValue;
    for (unsigned i = 0; !error && i < count; i++) {
        const char *name = atoll_kernel_name(m->program, i);
        if (!name) break;
        error = module_find_kernel(m, name, &kernels[i]);
    }
    return leave(error);
}

CUDA_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, int attribute, int value,
                                                     int device)
{
    if (device < 0 || device >= process.device_count) return cudaErrorInvalidDevice;
    return cudaFuncSetAttribute(kernel, attribute, value);
}

/* ---- the driver API ---- */

CUDA_API CUresult cuLibraryLoadData(void **library, const void *code, int *jit, void **jit_values,
                                    unsigned jit_count, int *options, void **values, unsigned count)
{
    NEEDS_INIT();
    return cudaLibraryLoadData(library, code, jit, jit_values, jit_count, options, values, count);
}
CUDA_API CUresult cuLibraryLoadFromFile(void **library, const char *path, int *jit, void **jit_values,
                                        unsigned jit_count, int *options, void **values, unsigned count)
{
    NEEDS_INIT();
    return cudaLibraryLoadFromFile(library, path, jit, jit_values, jit_count, options, values, count);
}
CUDA_API CUresult cuLibraryUnload(void *library)
{
    NEEDS_INIT();
    return cudaLibraryUnload(library);
}
CUDA_API CUresult cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    NEEDS_INIT();
    return cudaLibraryGetKernel(kernel, library, name);
}
CUDA_API CUresult cuLibraryGetKernelCount(unsigned *count, void *library)
{
    NEEDS_INIT();
    return cudaLibraryGetKernelCount(count, library);
}
CUDA_API CUresult cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library)
{
    NEEDS_INIT();
    return cudaLibraryEnumerateKernels(kernels, count, library);
}
CUDA_API CUresult cuLibraryGetGlobal(uint64_t *at, size_t *bytes, void *library, const char *name)
{
    NEEDS_CONTEXT();
    return cudaLibraryGetGlobal((void **)at, bytes, library, name);
}
CUDA_API CUresult cuLibraryGetManaged(uint64_t *at, size_t *bytes, void *library, const char *name)
{
    NEEDS_INIT();
    return cudaLibraryGetGlobal((void **)at, bytes, library, name);
}

/* The module of a library is the library, under the other kind of handle. */
CUDA_API CUresult cuLibraryGetModule(void **module, void *library)
{
    NEEDS_CONTEXT();
    ENTER();
    struct module *m = library_of(library);
    if (!m || !module) return leave(m ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    struct module *alias = m->alias ? m->alias : (m->alias = malloc(sizeof *alias));
    if (!alias) return leave(cudaErrorMemoryAllocation);
    *alias = *m;
    *module = alias;
    return leave(handle_add(alias, HANDLE_MODULE) ? cudaSuccess : cudaErrorMemoryAllocation);
}

CUDA_API CUresult cuKernelGetFunction(void **function, void *kernel)
{
    NEEDS_CONTEXT();
    ENTER();
    if (!function || !handle_is(kernel, HANDLE_KERNEL)) return leave(cudaErrorInvalidResourceHandle);
    *function = kernel;
    return leave(cudaSuccess);
}
CUDA_API CUresult cuKernelGetLibrary(void **library, void *kernel)
{
    NEEDS_INIT();
    ENTER();
    if (!library || !handle_is(kernel, HANDLE_KERNEL)) return leave(cudaErrorInvalidResourceHandle);
    *library = ((struct kernel *)kernel)->module;
    return leave(library_of(*library) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
CUDA_API CUresult cuKernelGetName(const char **name, void *kernel)
{
    NEEDS_INIT();
    return cudaFuncGetName(name, kernel);
}
CUDA_API CUresult cuKernelGetParamInfo(void *kernel, size_t idx, size_t *offset, size_t *bytes)
{
    NEEDS_INIT();
    return cudaFuncGetParamInfo(kernel, idx, offset, bytes);
}
CUDA_API CUresult cuKernelGetAttribute(int *value, int attribute, void *kernel, int device)
{
    NEEDS_INIT();
    if (device < 0 || device >= process.device_count) return cudaErrorInvalidDevice;
    return cuFuncGetAttribute(value, attribute, kernel);
}
CUDA_API CUresult cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
    NEEDS_INIT();
    return cudaKernelSetAttributeForDevice(kernel, attribute, value, device);
}
CUDA_API CUresult cuKernelSetCacheConfig(void *kernel, int config, int device)
{
    NEEDS_INIT();
    if (device < 0 || device >= process.device_count) return cudaErrorInvalidDevice;
    return cudaFuncSetCacheConfig(kernel, config);
}
