/* devmem: the device memory of one application and the table of its allocations.
 *
 *   base                                                                                base + size
 *   ├─ local window ─┼─ shared window ─┼─ param window ─┼─ allocations, heap, variables ──────────┤
 *        16 MiB            16 MiB            16 MiB
 *
 * The whole range is reserved address space; no memory is committed before an allocation uses it. A device
 * pointer is a host pointer into the range, or into memory that the host registered. The first three windows
 * are never mapped. They are the generic addresses of the local, shared and parameter spaces.
 *
 * Every access is looked up in the table, or in a range (struct devmem_range) that an earlier lookup
 * returned. A range is valid until devmem_generation changes: allocations, frees and device free() change
 * it.
 *
 * A lazy allocation is filled in chunks. A lookup fills the chunks that it touches, so a returned range
 * never covers unfilled bytes.
 *
 * Freed addresses are not reused before the reserved range is exhausted, so that a dangling pointer differs
 * from a valid one.
 *
 * Ownership: devmem owns the reserved range and its table; registered memory belongs to the caller. */
#ifndef ATOLL_EXEC_DEVMEM_H
#define ATOLL_EXEC_DEVMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVMEM_WINDOW_BYTES     ((uint64_t)16 << 20)
#define DEVMEM_LAZY_CHUNK_BYTES ((uint64_t)65536)
#define DEVMEM_SIM_BASE         ((uint64_t)0x100000000000) /* simulated address of the first slot's range */
#define DEVMEM_SIM_SLOT_BYTES   ((uint64_t)0x10000000000)  /* 1 TiB per application */

enum devmem_kind { DEVMEM_DEVICE, DEVMEM_VARIABLE, DEVMEM_CONST, DEVMEM_HEAP, DEVMEM_HOST };

typedef void devmem_fill_fn(void *user, void *dst, uint64_t first, uint64_t bytes);

struct devmem_alloc {
    uint64_t lo, hi; /* host addresses [lo, hi) */
    uint64_t sim;    /* simulated address of lo */
    char *name;      /* may be NULL */
    enum devmem_kind kind;
    bool freed;
    devmem_fill_fn *fill; /* lazy, not yet filled everywhere; else NULL */
    void *fill_user;
    uint64_t *filled; /* a bit per chunk */
    uint64_t unfilled_count;
    uint64_t serial; /* order of allocation */
};

struct devmem_range {
    uint64_t lo, hi; /* accessible; lo == hi: none */
    bool writable;   /* by kernels: all but constant memory */
};

struct devmem {
    uint64_t base, size; /* of the reserved range */
    uint64_t next;       /* first address never handed out */
    uint64_t sim_base, sim_next_host;
    struct devmem_alloc *allocs; /* sorted by lo; freed ones stay until their addresses are used again */
    size_t count, capacity;
    uint64_t live_bytes, peak_bytes, serial;
    uint32_t generation;
    bool whole_pages; /* a 2 MiB page with an allocation in it can be accessed everywhere, as on real GPUs */
};

void devmem_init(struct devmem *m, uint32_t slot, uint64_t reserve_bytes);
void devmem_free(struct devmem *m);

/* Zeroed. The pointer stays the allocation's identity. */
void *devmem_alloc(struct devmem *m, uint64_t bytes, uint64_t align, enum devmem_kind kind, const char *name);
void devmem_make_lazy(struct devmem *m, void *device, devmem_fill_fn *fill, void *user);
void devmem_register(struct devmem *m, void *host, uint64_t bytes, const char *name);
void devmem_unregister(struct devmem *m, void *host);
void devmem_release(struct devmem *m,
                    void *device); /* raises a mistake when it is not the start of an allocation */

/* The same for what a kernel allocated (device malloc). */
void devmem_release_heap(struct devmem *m, uint64_t address);

/* The allocation that covers address, or NULL. */
struct devmem_alloc *devmem_find(const struct devmem *m, uint64_t address);
/* The allocation (also a freed one) nearest to address, for messages; NULL when there is none. */
const struct devmem_alloc *devmem_nearest(const struct devmem *m, uint64_t address);

/* May [address, address + bytes) be accessed? Fills lazy chunks there. On success *range is a range around it
 * that needs no further lookups in this generation. */
bool devmem_lookup(struct devmem *m, uint64_t address, uint64_t bytes, struct devmem_range *range);

/* Raises a mistake unless the range lies in one live allocation; fills lazy chunks. what: "copy to device"
 * ... */
void devmem_require(struct devmem *m, const void *device, uint64_t bytes, const char *what);

/* Simulated address; an address outside of every allocation keeps its distance to the reserved range. */
uint64_t devmem_simulated(const struct devmem *m, uint64_t address);

static inline uint64_t devmem_local_window(const struct devmem *m) { return m->base; }
static inline uint64_t devmem_shared_window(const struct devmem *m) { return m->base + DEVMEM_WINDOW_BYTES; }
static inline uint64_t devmem_param_window(const struct devmem *m)
{
    return m->base + 2 * DEVMEM_WINDOW_BYTES;
}

#endif
