/* device: devices, what they can do (from the machine description), limits, peers, versions. */
#include <stdlib.h>
#include <string.h>

#include "frontend/cudart/process.h"

enum { DRIVER_VERSION = 13000 };

/* ---- attributes, by CUDA's numbers ---- */

static size_t shared_per_block(void)
{
    const size_t have = (size_t)process.props.shared_bytes;
    return have < 48 * 1024 ? have : 48 * 1024;
}

static int attribute(int id)
{
    const struct atoll_properties *p = &process.props;
    switch (id) {
    case 1: return 1024; /* threads of a block */
    case 2:
    case 3: return 1024;       /* block x, y */
    case 4: return 64;         /* block z */
    case 5: return 0x7fffffff; /* grid x */
    case 6:
    case 7: return 65535; /* grid y, z */
    case 8: return (int)shared_per_block();
    case 9: return 65536;              /* constant memory */
    case 10: return 32;                /* warp */
    case 11: return 0x7fffffff;        /* pitch */
    case 12: return (int)p->registers; /* of a block */
    case 13: return (int)(p->clock_hz / 1e3);
    case 14: return 512; /* texture alignment */
    case 15: return 1;   /* copies overlap kernels */
    case 16: return (int)p->sms;
    case 19: return 1; /* maps host memory */
    case 21:
    case 69: return 1 << 17; /* texture sizes */
    case 22:
    case 23: return 1 << 17;
    case 24:
    case 25:
    case 26: return 1 << 14;
    case 27:
    case 28: return 1 << 15;
    case 29: return 2048;
    case 30: return 512; /* surface alignment */
    case 31: return 1;   /* concurrent kernels */
    case 33: return 1;   /* PCI bus */
    case 36: return (int)(p->memory_clock_hz / 1e3);
    case 37: return (int)(p->channels * 128); /* bits: HBM channels of 128 */
    case 38: return (int)p->llc_bytes;
    case 39: return (int)p->threads;
    case 40: return 2;  /* copy engines */
    case 41: return 1;  /* unified addresses */
    case 51: return 32; /* texture pitch alignment */
    case 75: return (int)p->compute_capability / 10;
    case 76: return (int)p->compute_capability % 10;
    case 78:
    case 79:
    case 80: return 1; /* priorities, L1 caches globals, locals */
    case 81: return (int)p->shared_bytes;
    case 82: return (int)p->registers; /* of an SM */
    case 83: return 1;                 /* managed memory */
    case 87: return 2;                 /* single to double */
    case 89: return 1;                 /* concurrent managed access */
    case 90:
    case 91: return 1;                    /* preemption, registered host pointers */
    case 95: return 1;                    /* cooperative launch */
    case 97: return (int)p->shared_bytes; /* opt-in */
    case 99: return 1;                    /* cudaHostRegister */
    case 101: return 1;                   /* host reads managed memory */
    case 106: return (int)p->block_slots;
    case 113: return 1;
    case 115: return 1;  /* memory pools */
    case 134: return -1; /* no NUMA node */
    default: return 0;
    }
}

CUDA_API cudaError_t cudaDeviceGetAttribute(int *value, int id, int device)
{
    ENTER();
    if (!value || id < 1 || id > 200) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    *value = id == 33 ? device + 1 : attribute(id);
    return leave(cudaSuccess);
}

/* ---- choosing ---- */

CUDA_API cudaError_t cudaGetDeviceCount(int *count)
{
    if (count) *count = 0;
    ENTER();
    if (!count) return leave(cudaErrorInvalidValue);
    *count = process.device_count;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaSetDevice(int device)
{
    ENTER();
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    set_current_device(device);
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaInitDevice(int device, unsigned flags, unsigned how)
{
    (void)flags, (void)how;
    ENTER();
    return leave(device < 0 || device >= process.device_count ? cudaErrorInvalidDevice : cudaSuccess);
}

CUDA_API cudaError_t cudaGetDevice(int *device)
{
    ENTER();
    if (!device) return leave(cudaErrorInvalidValue);
    *device = current_device();
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaChooseDevice(int *device, const void *wanted)
{
    ENTER();
    if (!device || !wanted) return leave(cudaErrorInvalidValue);
    *device = 0;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaSetValidDevices(int *devices, int count)
{
    ENTER();
    for (int i = 0; devices && i < count; i++)
        if (devices[i] < 0 || devices[i] >= process.device_count) return leave(cudaErrorInvalidDevice);
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    ENTER();
    if (flags & ~0xffu) return leave(cudaErrorInvalidValue);
    process.devices[current_device()].flags = flags;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
    ENTER();
    if (!flags) return leave(cudaErrorInvalidValue);
    *flags = process.devices[current_device()].flags | 8; /* maps host memory */
    return leave(cudaSuccess);
}

/* Gives memory and a fault back. Streams and events stay, and variables of the device keep their values. A
 * timed GPU on which a kernel failed stays as it is. */
CUDA_API cudaError_t cudaDeviceReset(void)
{
    enter_quietly();
    if (enter() == cudaErrorCudartUnloading) {
        (void)leave_quietly(cudaSuccess);
        return leave(cudaErrorCudartUnloading);
    }
    (void)leave_quietly(cudaSuccess);
    host_waits_for_device();
    (void)waited();
    blocks_drop_all(current_device());
    if (process.options.functional) process.sticky = cudaSuccess;
    return leave(process.sticky);
}

CUDA_API cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }

/* ---- limits and preferences ---- */

CUDA_API cudaError_t cudaDeviceSetLimit(int limit, size_t value)
{
    ENTER();
    if (limit < 0 || limit > 6) return leave(cudaErrorUnsupportedLimit);
    if (limit == 2 && value > process.props.memory_bytes) return leave(cudaErrorMemoryAllocation);
    process.devices[current_device()].limits[limit] = value;
    if (limit == 2) atoll_device_set_heap(process.atoll, value);
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceGetLimit(size_t *value, int limit)
{
    ENTER();
    if (!value) return leave(cudaErrorInvalidValue);
    if (limit < 0 || limit > 6) return leave(cudaErrorUnsupportedLimit);
    *value = process.devices[current_device()].limits[limit];
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceSetCacheConfig(int config)
{
    ENTER();
    if (config < 0 || config > 3) return leave(cudaErrorInvalidValue);
    process.devices[current_device()].cache_config = config;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceGetCacheConfig(int *config)
{
    ENTER();
    if (!config) return leave(cudaErrorInvalidValue);
    *config = process.devices[current_device()].cache_config;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceSetSharedMemConfig(int config)
{
    ENTER();
    if (config < 0 || config > 2) return leave(cudaErrorInvalidValue);
    process.devices[current_device()].shared_config = config;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceGetSharedMemConfig(int *config)
{
    ENTER();
    if (!config) return leave(cudaErrorInvalidValue);
    *config = process.devices[current_device()].shared_config;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER();
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaCtxResetPersistingL2Cache(void)
{
    ENTER();
    return leave(cudaSuccess); /* nothing is kept in the LLC on demand */
}

CUDA_API cudaError_t cudaDeviceGetPCIBusId(char *text, int len, int device)
{
    ENTER();
    if (!text || len < 13) return leave(cudaErrorInvalidValue);
    if (device < 0 || device >= process.device_count) return leave(cudaErrorInvalidDevice);
    (void)snprintf(text, (size_t)len, "0000:%02X:00.0", (unsigned)device + 1);
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text)
{
    unsigned domain = 0, bus = 0;
    ENTER();
    if (!device || !text || sscanf(text, "%x:%x", &domain, &bus) != 2) return leave(cudaErrorInvalidValue);
    if (domain || bus < 1 || bus > (unsigned)process.device_count) return leave(cudaErrorInvalidDevice);
    *device = (int)bus - 1;
    return leave(cudaSuccess);
}

/* ---- peers: all devices share one address space; what CUDA keeps account of is kept ---- */

static cudaError_t check_peer(int device, int peer)
{
    const int count = process.device_count;
    return device < 0 || device >= count || peer < 0 || peer >= count ? cudaErrorInvalidDevice : cudaSuccess;
}

CUDA_API cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    ENTER();
    if (!can) return leave(cudaErrorInvalidValue);
    *can = device != peer;
    return leave(check_peer(device, peer));
}

CUDA_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    ENTER();
    const cudaError_t error = check_peer(current_device(), peer);
    if (error || peer == current_device()) return leave(cudaErrorInvalidDevice);
    if (flags) return leave(cudaErrorInvalidValue);
    bool *enabled = &process.devices[current_device()].peers[peer];
    if (*enabled) return leave(cudaErrorPeerAccessAlreadyEnabled);
    *enabled = true;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    ENTER();
    if (check_peer(current_device(), peer)) return leave(cudaErrorInvalidDevice);
    bool *enabled = &process.devices[current_device()].peers[peer];
    if (!*enabled) return leave(cudaErrorPeerAccessNotEnabled);
    *enabled = false;
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaDeviceGetP2PAttribute(int *value, int id, int device, int peer)
{
    ENTER();
    if (!value || id < 1 || id > 5) return leave(cudaErrorInvalidValue);
    if (check_peer(device, peer) || device == peer) return leave(cudaErrorInvalidDevice);
    *value = id != 1 && id != 5;
    return leave(cudaSuccess);
}

/* ---- versions and profilers ---- */

CUDA_API cudaError_t cudaDriverGetVersion(int *version)
{
    if (!version) return cudaErrorInvalidValue;
    *version = DRIVER_VERSION;
    return cudaSuccess;
}

CUDA_API cudaError_t cudaProfilerStart(void)
{
    ENTER();
    return leave(cudaSuccess);
}

CUDA_API cudaError_t cudaProfilerStop(void)
{
    ENTER();
    return leave(cudaSuccess);
}
