/* modules: device code that the compiler registers before main(), loaded when it is first needed.
 *
 *   __cudaRegisterFatBinary(wrapper) ─► module; then its kernels and variables by name
 *   first use ─► atoll_program_add() of the PTX of its containers (several with -rdc: linked together) */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cudart/process.h"

#define WRAPPER_MAGIC 0x466243B1
struct wrapper {
    int magic, version;
    const void *data;
    const void *const *linked; /* version 2: containers to link, ends with NULL */
};

struct module *module_new(const char *name)
{
    struct module *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->name = name;
    m->next = process.modules;
    process.modules = m;
    (void)handle_add(m, HANDLE_MODULE);
    return m;
}

/* The code stays in memory; the handles of it and of its kernels are gone. */
void module_forget(struct module *m)
{
    for (const struct kernel *k = m->kernels; k; k = k->next) handle_drop(k);
    handle_drop(m);
}

/* ---- registration ---- */

CUDA_API void **__cudaRegisterFatBinary(const void *fat)
{
    const struct wrapper *w = fat;
    enter_quietly();
    struct module *m = module_new("the program's device code");
    if (m && w && w->magic == WRAPPER_MAGIC) {
        m->images[0] = w->data;
        if (w->version >= 2) m->linked = w->linked;
    }
    (void)leave_quietly(cudaSuccess);
    return (void **)m;
}

/* The host may look at them whatever became of the code. */
static void set_managed_pointers(struct module *m)
{
    for (const struct variable *v = m->variables; v; v = v->next) {
        void *at = NULL;
        if (!v->managed) continue;
        if (m->error || atoll_variable_find(m->program, v->name, &at, NULL) || !at)
            at = calloc(1, v->bytes);
        else
            block_of_variable(at, v->bytes);
        *(void **)(uintptr_t)v->host = at;
    }
}

/* Managed variables are read by the host through pointers that must be there before main(). */
CUDA_API void __cudaRegisterFatBinaryEnd(void **handle)
{
    struct module *m = (struct module *)handle;
    bool managed = false;
    enter_quietly();
    for (const struct variable *v = m ? m->variables : NULL; v; v = v->next) managed |= v->managed;
    if (managed && !enter()) (void)module_load(m);
    if (managed) (void)leave_quietly(cudaSuccess);
    (void)leave_quietly(cudaSuccess);
}

CUDA_API char __cudaInitModule(void **handle)
{
    if (enter()) return (char)leave_quietly(cudaSuccess);
    const cudaError_t error = module_load((struct module *)handle);
    (void)leave_quietly(cudaSuccess);
    return error == cudaSuccess;
}

/* The code stays: destructors that run later may still use what it allocated. */
CUDA_API void __cudaUnregisterFatBinary(void **handle) { (void)handle; }

/* `void sum<float>(float*, int)` of its mangled name when the program has a C++ library, else the name. */
char *pretty_name(const char *name)
{
    typedef char *demangler(const char *, char *, size_t *, int *);
    int status = 0;
    demangler *demangle = (demangler *)(uintptr_t)dlsym(RTLD_DEFAULT, "__cxa_demangle");
    char *text = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    return text ? text : strdup(name);
}

struct kernel *module_kernel(struct module *m, const void *host, const char *name)
{
    struct kernel *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    *k = (struct kernel){.module = m, .host = host, .name = strdup(name), .next = m->kernels, .carveout = -1};
    m->kernels = k;
    (void)handle_add(k, HANDLE_KERNEL);
    return k;
}

CUDA_API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                     int thread_limit, void *tid, void *bid, void *block, void *grid,
                                     int *warp)
{
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    enter_quietly();
    if (handle) (void)module_kernel((struct module *)handle, host, name);
    (void)leave_quietly(cudaSuccess);
}

static void add_variable(void **handle, const void *host, const char *name, size_t bytes, bool managed)
{
    enter_quietly();
    struct module *m = (struct module *)handle;
    struct variable *v = calloc(1, sizeof *v);
    if (m && v) {
        *v = (struct variable){.module = m,
                               .host = host,
                               .name = name,
                               .bytes = bytes,
                               .managed = managed,
                               .next = m->variables};
        m->variables = v;
    } else {
        free(v);
    }
    (void)leave_quietly(cudaSuccess);
}

CUDA_API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                                size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    add_variable(handle, host, name, bytes, false);
}

CUDA_API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                       int external, size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    add_variable(handle, host, name, bytes, true);
}

CUDA_API void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes)
{
    add_variable(handle, host, name, bytes, false);
}

CUDA_API void __cudaRegisterTexture(void **handle, const void *host, const void **device, const char *name,
                                    int dim, int norm, int external)
{
    (void)host, (void)device, (void)dim, (void)norm, (void)external;
    add_variable(handle, host, name, 0, false);
}

CUDA_API void __cudaRegisterSurface(void **handle, const void *host, const void **device, const char *name,
                                    int dim, int external)
{
    (void)device, (void)dim, (void)external;
    add_variable(handle, host, name, 0, false);
}

/* ---- loading ---- */

/* A size in a file that was cut or changed must not lead out of what the loader mapped. */
struct mapped {
    uintptr_t at, end;
};

static int look_in(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct mapped *m = arg;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        const uintptr_t to = from + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && m->at >= from && m->at < to) m->end = to;
    }
    return m->end != 0;
}

/* Bytes of the container that are there; 0: there is none. */
static size_t container_bytes(const void *image)
{
    struct mapped m = {.at = (uintptr_t)image};
    const size_t bytes = image ? atoll_fatbin_bytes(image) : 0;
    (void)dl_iterate_phdr(look_in, &m);
    return m.end && bytes > m.end - m.at ? m.end - m.at : bytes;
}

/* The containers of a linked program that have machine code only are libraries of NVIDIA's (the device
 * runtime). */
static cudaError_t add_image(struct module *m, const void *image)
{
    const size_t bytes = container_bytes(image);
    if (!bytes || (m->linked && !atoll_fatbin_has_ptx(image, bytes))) return cudaSuccess;
    return atoll_error(atoll_program_add(m->program, m->name, image, bytes), cudaErrorNoKernelImageForDevice);
}

static bool has_linked_ptx(const struct module *m)
{
    for (const void *const *image = m->linked; image && *image; image++)
        if (atoll_fatbin_has_ptx(*image, container_bytes(*image))) return true;
    return false;
}

cudaError_t module_load(struct module *m)
{
    if (!m) return cudaErrorInvalidResourceHandle;
    if (m->tried) return m->error;
    m->tried = true;
    m->error = atoll_error(atoll_program_new(process.atoll, &m->program), cudaErrorMemoryAllocation);
    if (m->copy)
        m->error =
            atoll_error(atoll_program_add(m->program, m->name, m->copy, m->copy_bytes),
                        atoll_fatbin_bytes(m->copy) ? cudaErrorNoKernelImageForDevice : cudaErrorInvalidPtx);
    const bool linked = has_linked_ptx(m);
    if (!linked) m->linked = NULL; /* then only what nvlink made of it is there */
    if (!m->error && m->images[0] && !linked) m->error = add_image(m, m->images[0]);
    for (const void *const *image = m->linked; image && *image && !m->error; image++)
        m->error = add_image(m, *image);
    set_managed_pointers(m);
    return m->error;
}

static cudaError_t program_of(struct module *m, int device, atoll_program **out)
{
    const cudaError_t error = module_load(m);
    if (error) return error;
    *out = device ? m->twins[device] : m->program;
    if (*out) return cudaSuccess;
    const atoll_status status = atoll_program_twin(m->program, out);
    m->twins[device] = *out;
    return atoll_error(status, cudaErrorMemoryAllocation);
}

cudaError_t module_variable(struct module *m, const char *name, void **at, size_t *bytes)
{
    uint64_t size = 0;
    atoll_program *program;
    *at = NULL;
    const cudaError_t error = program_of(m, current_device(), &program);
    if (error) return error;
    const atoll_status status = atoll_variable_find(program, name, at, &size);
    if (bytes) *bytes = (size_t)size;
    return atoll_error(status, cudaErrorInvalidSymbol);
}

struct kernel *kernel_of_host(const void *host)
{
    if (handle_is(host, HANDLE_KERNEL)) return (struct kernel *)(uintptr_t)host;
    for (struct module *m = process.modules; host && m; m = m->next)
        for (struct kernel *k = m->kernels; k; k = k->next)
            if (k->host == host) return k;
    return NULL;
}

cudaError_t kernel_load(struct kernel *k)
{
    const cudaError_t error = module_load(k->module);
    if (error) return error;
    if (!k->searched) {
        k->searched = true;
        k->label = pretty_name(k->name);
        (void)atoll_error(atoll_kernel_find(k->module->program, k->name, &k->code),
                          cudaErrorInvalidDeviceFunction);
        if (!k->code)
            complain("the PTX of the program has no kernel '%s'; is it built for every -gencode with "
                     "code=compute_N?",
                     k->label);
    }
    return k->code ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t kernel_code(struct kernel *k, int device, atoll_kernel **code)
{
    atoll_program *program;
    cudaError_t error = kernel_load(k);
    *code = device ? k->twins[device] : k->code;
    if (error || *code) return error;
    error = program_of(k->module, device, &program);
    if (!error)
        error = atoll_error(atoll_kernel_find(program, k->name, code), cudaErrorInvalidDeviceFunction);
    k->twins[device] = *code;
    return error;
}

cudaError_t module_find_kernel(struct module *m, const char *name, void **kernel)
{
    atoll_kernel *code = NULL;
    const cudaError_t error = module_load(m);
    if (error) return error;
    for (struct kernel *k = m->kernels; k; k = k->next)
        if (!strcmp(k->name, name)) {
            *kernel = k;
            return kernel_load(k);
        }
    if (atoll_kernel_find(m->program, name, &code) || !code) return cudaErrorSymbolNotFound;
    struct kernel *k = module_kernel(m, NULL, name);
    if (!k) return cudaErrorMemoryAllocation;
    *kernel = k;
    return kernel_load(k);
}

cudaError_t variable_address(const void *host, void **at, size_t *bytes)
{
    for (struct module *m = process.modules; m; m = m->next)
        for (const struct variable *v = m->variables; v; v = v->next) {
            if (v->host != host && !(v->managed && *(void *const *)v->host == host)) continue;
            const cudaError_t error = module_variable(m, v->name, at, bytes);
            if (error) return error;
            return *at ? cudaSuccess : cudaErrorInvalidSymbol;
        }
    return cudaErrorInvalidSymbol;
}

CUDA_API cudaError_t cudaGetSymbolAddress(void **at, const void *symbol)
{
    ENTER();
    return leave(at ? variable_address(symbol, at, NULL) : cudaErrorInvalidValue);
}

CUDA_API cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    void *at;
    ENTER();
    return leave(bytes ? variable_address(symbol, &at, bytes) : cudaErrorInvalidValue);
}
