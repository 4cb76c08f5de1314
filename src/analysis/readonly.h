/* readonly: finds the data that a kernel only reads (the ld.global.ro pass of NUBA and SelRep).
 *
 *   term       meaning
 *   origin     source of a global pointer: 8 bytes of the parameter block, or a module variable
 *   set        origins from which an address may be derived, plus `unknown` (loaded from memory)
 *   function   one pass per function, callees first, in terms of its formal parameters. The result is the set
 *              of written origins and the set of the return value. Recursive and indirect calls may write
 *              any data.
 *   launch     origins become allocations. A write through one origin makes every origin in the same
 *              allocation read-write. A store to an unknown target makes all data read-write, except loads
 *              that are ld.global.nc themselves.
 *
 * The pass is flow-insensitive, so it is sound for any control flow. The sum of a pointer and an integer is
 * derived from the pointer. A multiple of a value is not a pointer, unless the value was shifted right or
 * divided before (alignment). If two 64-bit parameters are added, the launch shows which of them is the
 * pointer. The analysis takes C's rule for every derived address. ASSUMPTION: an address derived from a
 * pointer lies in the allocation that the pointer points into or just behind; --check verifies every line.
 *
 * Ownership: all data live in the caller's arena. */
#ifndef ATOLL_ANALYSIS_READONLY_H
#define ATOLL_ANALYSIS_READONLY_H

#include "analysis/frame.h"

enum { READONLY_ORIGINS_MAX = 56 };

struct readonly_place {
    const struct ptx_func *func; /* NULL: none */
    uint32_t pc;
};

struct readonly_origin {
    uint32_t symbol;  /* PARAM: formal of the function; PTX_NO_INDEX: a variable */
    uint32_t granule; /* 8-byte word of it */
    const struct ptx_symbol *variable;
    struct readonly_place read, written; /* first of each */
    struct readonly_place nc, plain;     /* first read by ld.global.nc, by anything else */
    uint32_t element_bytes;              /* widest access */
};

/* A set: bits 0..55 are origins. */
enum {
    READONLY_PIECE_BIT = 58,
    READONLY_SHARED_BIT,
    READONLY_LOCAL_BIT,
    READONLY_SHIFTED_BIT,
    READONLY_HALF_BIT,
    READONLY_UNKNOWN_BIT
};
#define READONLY_UNKNOWN ((uint64_t)1 << READONLY_UNKNOWN_BIT)

struct readonly_func {
    const struct ptx_func *func;
    const struct frame *frame;
    bool anything; /* not analysed: may read, write and return anything */
    struct readonly_origin *origins;
    uint32_t n_origins, origin_capacity;
    uint64_t *regs;   /* set of each register */
    struct map cells; /* symbol << 32 | granule > set */
    uint64_t smeared; /* stored to own memory at addresses that are not constant */
    uint64_t stored;  /* all that was stored to own memory */
    bool escaped;     /* the address of own memory is known elsewhere */
    struct readonly_place unknown_store;
    uint32_t state;
};

struct readonly {
    struct arena *arena;
    struct frame_cache *frames;
    struct map funcs; /* ptx_func > readonly_func */
};

void readonly_init(struct readonly *r, struct arena *arena, struct frame_cache *frames);
void readonly_free(struct readonly *r);
/* Analyses the function and what it calls, once. */
const struct readonly_func *readonly_of(struct readonly *r, const struct ptx_func *func);

/* ---- a kernel with what it calls: groups of loads that are decided together ---- */

struct readonly_group {
    uint64_t set; /* of the kernel's origins */
    bool nc;
};

struct readonly_kernel {
    const struct readonly_func *entry;
    struct readonly_group *groups; /* [0]: never read-only */
    uint32_t n_groups, group_capacity;
    struct map translations; /* ptx_func > uint64_t[]: by origin of the callee, the kernel's set */
    struct map group_of;     /* set and nc > group */
    bool lost;               /* calls too deep: nothing is read-only in callees */
};

struct readonly_kernel *readonly_kernel(struct readonly *r, const struct ptx_func *kernel);
void readonly_kernel_free(struct readonly_kernel *k);
/* Group of the access at pc of a function that the kernel calls (or the kernel): 0: never read-only. */
uint32_t readonly_group_of(struct readonly *r, struct readonly_kernel *k, const struct ptx_func *func,
                           uint32_t pc);

/* ---- a launch ---- */

/* Lines [first, end) behind an origin. */
struct readonly_extent {
    uint64_t first, end;
};
enum readonly_where { READONLY_NOWHERE, READONLY_SOMEWHERE, READONLY_UNKNOWN_WHERE };
struct readonly_launch {
    /* Where the origin points: fills up to two extents (in lines of 128 bytes). */
    enum readonly_where (*find)(void *user, const struct readonly_origin *o, struct readonly_extent *extents,
                                uint32_t *count);
    void *user;
};
/* What a launch says of the kernel's origins, as bits. */
struct readonly_verdict {
    uint64_t read_only;
    uint64_t nc;      /* also those of which only the loads by ld.global.nc are known to be */
    uint64_t numbers; /* these are no addresses: a load's address is not made of them alone */
};
struct readonly_verdict readonly_decide(const struct readonly_func *kernel,
                                        const struct readonly_launch *launch);
/* Without a launch: as if no two arguments pointed to the same data. */
uint64_t readonly_decide_alone(const struct readonly_func *kernel);
bool readonly_group_is(const struct readonly_group *g, const struct readonly_verdict *v);

#endif
