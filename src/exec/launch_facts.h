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

struct exec_launch;

#define LAUNCH_NO_ARRAY UINT32_MAX

/* A data structure of the kernel, behind one pointer argument or module variable. */
struct launch_array {
    uint64_t base;        /* simulated address that the argument points to; not the start of the allocation */
    uint64_t bytes;       /* of the allocation from there on; 0: no allocation found */
    uint8_t locality;     /* enum locality_class (analysis/locality.h) */
    int64_t stride_bytes; /* of the outermost loop; 0: no loop, or not a number */
    uint64_t datablock_bytes; /* touched by one block in one iteration of that loop; 0: not known */
    bool written;             /* through this argument */
    bool read_only;           /* no store of the launch reaches the allocation */
};

struct launch_arrays {
    const struct launch_array *array; /* [count], in the order of the locality table */
    uint32_t count;
    uint32_t winner; /* the array whose class decides on the scheduler (LADM); LAUNCH_NO_ARRAY: none */
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
    void *analysis;
};

/* Facts of a launch after exec_launch_begin(), without arrays. The register count depends on the machine, so
 * the caller gives it. The facts refer to the launch. */
struct launch_facts launch_facts_of(const struct exec_launch *l, uint32_t app, uint32_t registers_per_thread);

/* The live allocations of the application, by number from 0 on. Returns false after the last one. A freed
 * allocation has 0 bytes. `base`: simulated address. */
bool launch_allocation(const struct launch_facts *l, size_t number, uint64_t *base, uint64_t *bytes);

/* The kernel's arrays with their locality. NULL: not known. */
static inline const struct launch_arrays *launch_arrays(const struct launch_facts *l)
{
    return l->arrays ? l->arrays(l->analysis) : NULL;
}

#endif
