/* versioned: what differs between the libraries of CUDA 11, 12 and 13; compiled once for each
 * (CUDART_VERSION). */
#include <string.h>

#include "frontend/cudart/process.h"

CUDA_API cudaError_t cudaDeviceGetAttribute(int *value, int id, int device);

CUDA_API cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (!version) return cudaErrorInvalidValue;
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* ---- cudaDeviceProp: fields in CUDA's order, of which each version has its own selection ---- */
struct properties {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luid_mask;
    size_t memory_bytes;
    size_t shared_per_block;
    int registers_per_block, warp;
    size_t pitch;
    int threads_per_block, block[3], grid[3];
#if CUDART_VERSION < 13000
    int clock_khz;
#endif
    size_t constant_bytes;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
#if CUDART_VERSION < 13000
    int device_overlap;
#endif
    int sms;
#if CUDART_VERSION < 13000
    int timeout;
#endif
    int integrated, maps_host;
#if CUDART_VERSION < 13000
    int compute_mode;
#endif
    int texture1d, texture1d_mipmap;
#if CUDART_VERSION < 13000
    int texture1d_linear;
#endif
    int texture2d[2], texture2d_mipmap[2], texture2d_linear[3], texture2d_gather[2], texture3d[3],
        texture3d_alt[3], texture_cube, texture1d_layered[2], texture2d_layered[3], texture_cube_layered[2],
        surface1d, surface2d[2], surface3d[3], surface1d_layered[2], surface2d_layered[3], surface_cube,
        surface_cube_layered[2];
    size_t surface_alignment;
    int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, copy_engines, unified;
#if CUDART_VERSION < 13000
    int memory_khz;
#endif
    int bus_bits, l2_bytes, l2_persisting_bytes, threads_per_sm, priorities, l1_globals, l1_locals;
    size_t shared_per_sm;
    int registers_per_sm, managed, multi_gpu_board, multi_gpu_group, native_atomics;
#if CUDART_VERSION < 13000
    int single_to_double;
#endif
    int pageable, concurrent_managed, preemption, host_pointer;
    int cooperative;
#if CUDART_VERSION < 13000
    int cooperative_multi;
#endif
    size_t shared_optin;
    int pageable_tables, direct_managed, blocks_per_sm, window_bytes;
    size_t reserved_shared;
#if CUDART_VERSION >= 12000
    int host_register, sparse, host_register_read_only, timeline_semaphores, pools, rdma;
    unsigned rdma_options;
    int rdma_ordering;
    unsigned pool_handles;
    int deferred_arrays, ipc_events, clusters, unified_functions;
#if CUDART_VERSION >= 13000
    int numa_config, numa_id, mps, host_numa;
    unsigned pci_id, pci_subsystem;
    int multinode_ipc;
    int reserved[56];
#else
    int reserved[63];
#endif
#endif
};
#if CUDART_VERSION >= 13000
_Static_assert(sizeof(struct properties) == 1008, "cudaDeviceProp of CUDA 13");
#elif CUDART_VERSION >= 12000
_Static_assert(sizeof(struct properties) == 1032, "cudaDeviceProp of CUDA 12");
#endif

static int ask(int id, int device)
{
    int value = 0;
    (void)cudaDeviceGetAttribute(&value, id, device);
    return value;
}

static void fill_textures(struct properties *p)
{
    const int wide = 1 << 17, deep = 1 << 14, layered = 1 << 15;
    p->texture1d = p->texture1d_mipmap = wide;
    p->texture2d[0] = p->texture2d[1] = p->texture2d_linear[0] = p->texture2d_linear[1] = wide;
    p->texture2d_linear[2] = 1 << 21;
    p->texture2d_mipmap[0] = p->texture2d_mipmap[1] = p->texture2d_gather[0] = p->texture2d_gather[1] =
        layered;
    for (int i = 0; i < 3; i++) p->texture3d[i] = p->texture3d_alt[i] = p->surface3d[i] = deep;
    p->texture_cube = p->surface_cube = p->surface1d = layered;
    p->texture1d_layered[0] = p->texture2d_layered[0] = p->texture2d_layered[1] = layered;
    p->texture1d_layered[1] = p->texture2d_layered[2] = 2048;
    p->surface2d[0] = p->surface2d[1] = wide;
}

static void fill_old(struct properties *p, int device)
{
    (void)p, (void)device;
#if CUDART_VERSION < 13000
    p->clock_khz = ask(13, device);
    p->device_overlap = 1;
    p->memory_khz = ask(36, device);
    p->single_to_double = ask(87, device);
    p->texture1d_linear = 1 << 27;
#endif
#if CUDART_VERSION >= 12000
    p->host_register = 1;
    p->host_register_read_only = 1;
    p->pools = 1;
#endif
}

static cudaError_t fill(struct properties *p, int device)
{
    ENTER();
    if (!p) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    *p = (struct properties){.memory_bytes = (size_t)process.props.memory_bytes,
                             .shared_per_block = (size_t)ask(8, device),
                             .registers_per_block = ask(12, device),
                             .warp = 32,
                             .pitch = 0x7fffffff,
                             .threads_per_block = 1024,
                             .block = {1024, 1024, 64},
                             .grid = {0x7fffffff, 65535, 65535},
                             .constant_bytes = 65536,
                             .major = ask(75, device),
                             .minor = ask(76, device),
                             .texture_alignment = 512,
                             .texture_pitch_alignment = 32,
                             .sms = ask(16, device),
                             .maps_host = 1,
                             .surface_alignment = 512,
                             .concurrent_kernels = 1,
                             .pci_bus = device + 1,
                             .copy_engines = ask(40, device),
                             .unified = 1,
                             .bus_bits = ask(37, device),
                             .l2_bytes = ask(38, device),
                             .threads_per_sm = ask(39, device),
                             .priorities = 1,
                             .l1_globals = 1,
                             .l1_locals = 1,
                             .shared_per_sm = (size_t)ask(81, device),
                             .registers_per_sm = ask(82, device),
                             .managed = 1,
                             .concurrent_managed = 1,
                             .preemption = 1,
                             .host_pointer = 1,
                             .cooperative = 1,
                             .shared_optin = (size_t)ask(97, device),
                             .direct_managed = 1,
                             .blocks_per_sm = ask(106, device)};
    (void)snprintf(p->name, sizeof p->name, "Atoll %s", process.props.machine);
    for (int i = 0; i < 16; i++) p->uuid[i] = i < 15 ? "atoll-sim-device"[i] : (char)('0' + device);
    fill_textures(p);
    fill_old(p, device);
    return leave(cudaSuccess);
}

#if CUDART_VERSION >= 12000 && CUDART_VERSION < 13000
CUDA_API cudaError_t cudaGetDeviceProperties_v2(struct properties *p, int device) { return fill(p, device); }

/* The entry of CUDA 11, for objects compiled with it: its structure ends before host_register. */
CUDA_API cudaError_t cudaGetDeviceProperties(void *p, int device)
{
    struct properties full;
    const cudaError_t error = fill(p ? &full : NULL, device);
    if (!error && p) memcpy(p, &full, offsetof(struct properties, host_register));
    return error;
}
#else
CUDA_API cudaError_t cudaGetDeviceProperties(struct properties *p, int device) { return fill(p, device); }
#endif

/* ---- hints about managed memory: a location in CUDA 13, a device before ---- */

static int device_of(struct cudaMemLocation l) { return l.type == LOCATION_DEVICE ? l.id : -1; }

#if CUDART_VERSION >= 13000
CUDA_API cudaError_t cudaMemAdvise(const void *at, size_t bytes, int advice, struct cudaMemLocation where)
{
    ENTER();
    return leave(managed_advise(at, bytes, advice, device_of(where)));
}

CUDA_API cudaError_t cudaMemPrefetchAsync(const void *at, size_t bytes, struct cudaMemLocation where,
                                          unsigned flags, cudaStream_t stream)
{
    (void)flags;
    ENTER();
    return leave(managed_prefetch(at, bytes, device_of(where), stream));
}
#else
CUDA_API cudaError_t cudaMemAdvise(const void *at, size_t bytes, int advice, int device)
{
    ENTER();
    return leave(managed_advise(at, bytes, advice, device));
}

CUDA_API cudaError_t cudaMemAdvise_v2(const void *at, size_t bytes, int advice, struct cudaMemLocation where)
{
    ENTER();
    return leave(managed_advise(at, bytes, advice, device_of(where)));
}

CUDA_API cudaError_t cudaMemPrefetchAsync(const void *at, size_t bytes, int device, cudaStream_t stream)
{
    ENTER();
    return leave(managed_prefetch(at, bytes, device, stream));
}

CUDA_API cudaError_t cudaMemPrefetchAsync_v2(const void *at, size_t bytes, struct cudaMemLocation where,
                                             unsigned flags, cudaStream_t stream)
{
    (void)flags;
    ENTER();
    return leave(managed_prefetch(at, bytes, device_of(where), stream));
}
#endif
