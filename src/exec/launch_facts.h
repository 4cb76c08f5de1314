/* launch_facts: the properties of a launch that schedulers, placement and epoch clients may use. They do not
 * depend on the source of the instructions (PTX or a trace).
 *
 * A launch_facts is immutable until the launch ends. The machine fills it before the first block starts. */
#ifndef ATOLL_EXEC_LAUNCH_FACTS_H
#define ATOLL_EXEC_LAUNCH_FACTS_H

#include <stdbool.h>
#include <stdint.h>

struct exec_launch;

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
};

/* Facts of a launch after exec_launch_begin(). The register count depends on the machine, so the caller gives
 * it. The facts refer to the launch's kernel. */
struct launch_facts launch_facts_of(const struct exec_launch *l, uint32_t app, uint32_t registers_per_thread);

#endif
