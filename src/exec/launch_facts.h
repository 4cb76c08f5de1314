/* launch_facts: the properties of a launch that schedulers, placement and epoch clients may use. They do not
 * depend on the source of the instructions (PTX or a trace).
 *
 *   system/kernel.c ──launch_facts_of()──► launch_facts ──► block scheduler, placement, epoch clients
 *                                            │ launch_arrays(), at the first call
 *                                            └──► analysis/analysis.h: analysis_arrays()
 *
 * A launch_facts is immutable until the launch ends. The arrays are analysed at the first call and live until
 * the launch ends. */
#ifndef ATOLL_EXEC_LAUNCH_FACTS_H
#define ATOLL_EXEC_LAUNCH_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/launch_pattern.h"

struct exec_launch;

#define LAUNCH_NO_ARRAY UINT32_MAX

/* A data structure of the kernel, behind one pointer argument or module variable. */
struct launch_array {
    uint64_t base;        /* simulated address that the argument points to; not the start of the allocation */
    uint64_t bytes;       /* of the allocation from there on; 0: no allocation found */
    uint64_t allocation;  /* simulated address of the first byte of the allocation */
    uint8_t locality;     /* enum locality_class (analysis/locality.h) */
    int64_t stride_bytes; /* of the outermost loop; 0: no loop, or not a number */
    uint64_t datablock_bytes; /* touched by one block in one iteration of that loop; 0: not known */
    bool written;             /* through this argument */
    bool read_only;           /* no store of the launch reaches the allocation */
    const char *name;         /* p0, p1 ... or the name of a variable */
    uint64_t allocated;       /* serial number of the allocation, never used again */
    uint64_t first,
        end; /* bytes from base on that the accesses with a pattern touch; first == end: not known */
    const struct launch_pattern
        *pattern;      /* [patterns] accesses of the class; together they touch the bytes */
    uint32_t patterns; /* 0: the index is not linear, or depends on data */
    uint8_t any;       /* bits of enum launch_axis: coordinates that the index does not depend on */
};

struct launch_arrays {
    const struct launch_array *array; /* [count], in the order of the locality table */
    uint32_t count;
    uint32_t winner; /* touches the most bytes, then the first: its class decides on the scheduler (LADM);
                        LAUNCH_NO_ARRAY: none */
};

struct launch_facts {
    const char *name;           /* of the kernel */
    uint64_t key;               /* equal for launches of the same kernel with the same grid and block */
    uint32_t app;               /* application number */
    uint32_t grid[3], block[3]; /* CUDA dimensions */
    uint64_t blocks;            /* product of grid */
    uint64_t shared_bytes;      /* static and dynamic shared memory of a block */
    uint32_t threads_per_block, warps_per_block;
    uint32_t registers_per_thread; /* as allocated by the machine */
    bool cooperative;
    /* Sources of the functions below; NULL: nothing is known. */
    const struct exec_launch *launch;
    const struct launch_arrays *(*arrays)(void *analysis);
    const struct launch_span *(*layout)(void *analysis, uint32_t array, uint32_t *count);
    void *analysis;
};

/* Facts of a launch after exec_launch_begin(), without arrays. The register count depends on the machine, so
 * the caller gives it. The facts refer to the launch. */
struct launch_facts launch_facts_of(const struct exec_launch *l, uint32_t app, uint32_t registers_per_thread);

/* The live allocations of the application, by number from 0 on. Returns false after the last one. A freed
 * allocation has 0 bytes. `base`: simulated address. */
bool launch_allocation(const struct launch_facts *l, size_t number, uint64_t *base, uint64_t *bytes);

/* True if an allocation, given by its serial number (launch_array.allocated), has not been freed. */
bool launch_allocation_lives(const struct launch_facts *l, uint64_t allocated);
/* Changes whenever the application allocates or frees memory. */
uint32_t launch_memory_generation(const struct launch_facts *l);

/* The kernel's arrays with their locality. NULL: not known. */
static inline const struct launch_arrays *launch_arrays(const struct launch_facts *l)
{
    return l->arrays ? l->arrays(l->analysis) : NULL;
}

/* Returns the spans of an array without a pattern that each block touches: *count spans, sorted by their first byte, at most
 * LAUNCH_LAYOUT_MAX. NULL: not known, or too many. The spans live until the launch ends. */
static inline const struct launch_span *launch_layout(const struct launch_facts *l, uint32_t array,
                                                      uint32_t *count)
{
    return l->layout ? l->layout(l->analysis, array, count) : NULL;
}

/* The array that a simulated address belongs to: of the arrays in its allocation, the one with the highest base
 * at or below the address. An address below all of them belongs to the lowest. Of several arrays with one base,
 * the first is returned. LAUNCH_NO_ARRAY: no array lies in that allocation. */
uint32_t launch_structure_of(const struct launch_arrays *a, uint64_t address);

#endif
