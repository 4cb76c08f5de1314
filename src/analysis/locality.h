/* locality: the locality table of a kernel: where the data of each thread block lies, for policies.
 *
 *   rows       one per access through a pointer (a group of accesses that differ by a constant is one row),
 * with its index equation and its class by Algorithm 1 and Table II of LADM arguments  one per pointer
 * argument: the row that speaks for the structure, and what LADM would do
 *
 * A row is made once per kernel; locality_at_launch() puts in grid, block and arguments: then the class is
 * final (WIDTH equal to blockDim.x*gridDim.x is seen only now), stride and datablock are numbers, and each
 * argument knows its allocation.
 *
 * Ownership: rows live as long as the kernel's analysis; what a launch adds is in the arena given. */
#ifndef ATOLL_ANALYSIS_LOCALITY_H
#define ATOLL_ANALYSIS_LOCALITY_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/launch_pattern.h"

struct arena;
struct expr;
struct ptx_func;
struct ptx_symbol;
struct symbolic;

/* Rows of Table II. "Horizontal" etc. are the table's words; the equation decides. */
enum locality_class {
    LOCALITY_UNKNOWN,
    LOCALITY_NL,    /* invariant(bx, by) + stride*m: no two share, unless overlap_bytes says so */
    LOCALITY_ROW_H, /* invariant(by) + variant(m): a row of blocks shares, moves along a row */
    LOCALITY_COL_H, /* invariant(bx) + variant(m) */
    LOCALITY_ROW_V, /* invariant(by) + variant(m, gridDim.x): moves down a column */
    LOCALITY_COL_V, /* invariant(bx) + variant(m, gridDim.x) */
    LOCALITY_ITL,   /* variant == m: a thread walks through neighbours */
    LOCALITY_NONE,  /* none of these */
    LOCALITY_CLASSES
};

enum locality_scheduler {
    LOCALITY_ALIGN_AWARE,
    LOCALITY_ROW_BINDING,
    LOCALITY_COL_BINDING,
    LOCALITY_KERNEL_WIDE
};
enum locality_placement {
    LOCALITY_STRIDE_AWARE,
    LOCALITY_ROW_BASED,
    LOCALITY_COL_BASED,
    LOCALITY_KERNEL_WIDE_DATA
};
enum locality_caching { LOCALITY_RTWICE, LOCALITY_RONCE };

/* What Table II says about a class. */
struct locality_action {
    enum locality_scheduler scheduler;
    enum locality_placement placement;
    enum locality_caching caching;
    const char *class_name, *scheduler_name, *placement_name, *caching_name;
    const char *sharing; /* which blocks touch the same datablocks */
};
const struct locality_action *locality_action(enum locality_class c);

enum { LOCALITY_READS = 1, LOCALITY_WRITES = 2, LOCALITY_ATOMICS = 4 };
#define LOCALITY_NO_ARGUMENT UINT32_MAX

enum { LOCALITY_PLACES_MOST = 512, LOCALITY_PATTERNS_MAX = 8 };

/* An access of a row: constants of the launch in its index, its elements, and what loops add that compilers
 * unroll completely. */
struct locality_place {
    const struct expr *offset;
    uint32_t elements;
    const struct expr *step[2];
    uint32_t count[2]; /* 0: no such loop */
};

struct locality_row {
    uint32_t argument; /* in locality_table.arguments, LOCALITY_NO_ARGUMENT: pointer not known */
    enum locality_class class;
    uint8_t kinds; /* LOCALITY_READS ... */
    uint16_t element_bytes;
    uint32_t depth;                /* loops around it */
    uint32_t accesses;             /* instructions in it */
    struct locality_place *places; /* by which they differ */
    uint32_t n_places;
    const struct ptx_func *func;
    uint32_t pc, line; /* of the first */
    /* Byte offset from the start of the structure; the part that the outermost loop moves by (NULL: none). */
    const struct expr *index, *stride;
    const struct expr *moving; /* the index without constants of the launch */
    uint32_t motion_loop;      /* whose iterations are m; UINT32_MAX: none */
    uint32_t loop;             /* innermost around the first access; UINT32_MAX: none */
    uint32_t unroll, folded; /* steps of m in an iteration as it is compiled: by accesses, by a loop inside */
    bool linear;             /* index = invariant + stride*m exactly */
    uint32_t also_deps;      /* DEP_*: of how often loops ran that have ended before the access */
    /* after locality_at_launch() */
    int64_t stride_bytes;     /* 0: no loop, or not a number */
    uint64_t datablock_bytes; /* touched by one block in one iteration of m, here or in rows that move alike;
                                 what the next iterations touch again counts once */
};

struct locality_argument {
    uint32_t param;        /* number of the kernel's parameter; UINT32_MAX: a module variable */
    uint32_t param_offset; /* of the pointer in the parameter block */
    const struct ptx_symbol *variable;
    char name[32];
    uint32_t row; /* that speaks for it: in the deepest loop, then the first in the program */
    enum locality_class class;
    bool written;
    /* after locality_at_launch() with an allocation; 0: none found */
    uint64_t base;  /* simulated virtual address that the pointer holds */
    uint64_t bytes; /* of the allocation from there on */
    /* after locality_at_launch(), when all its rows are without locality: of what a block touches, at most so
     * many bytes are touched by one other block too; 0: each block has its own */
    uint64_t overlap_bytes;
    /* after locality_at_launch(): the bytes that blocks touch through the rows of the argument's class whose index
     * is linear and depends on the same coordinates (exec/launch_pattern.h); 0 patterns: not known */
    const struct launch_pattern *pattern; /* [patterns] */
    uint32_t patterns;
    uint8_t any; /* bits of enum launch_axis: coordinates that the index does not depend on */
    uint64_t first,
        end; /* bytes from base on that all rows touch; of a row that is not known: up to the base of the
                            next argument, or the end of the allocation */
};
#define LOCALITY_OVERLAP_UNKNOWN UINT64_MAX

struct locality_table {
    const struct ptx_func *kernel;
    const struct symbolic *symbolic; /* loops and expressions of the rows */
    struct locality_row *rows;
    struct locality_argument *arguments;
    uint32_t n_rows, n_arguments;
    uint64_t shown_loops;   /* bits of the loops that count in some index */
    uint32_t n_static_rows; /* before equal ones became one */
    bool uses_by;           /* blockIdx.y is read: the grid counts as two-dimensional */
    bool two_dimensional;
    /* The argument whose scheduler wins: the one that is touched in the most bytes, then the first;
     * LOCALITY_NO_ARGUMENT: no argument. */
    uint32_t winner;
};

/* Numbers of a launch. */
struct locality_launch {
    uint32_t grid[3], block[3];
    const uint8_t *params; /* parameter block; NULL: arguments are not known */
    uint64_t param_bytes;
    const uint8_t *param_known; /* a byte per byte of params: it is known; NULL: all */
    /* Simulated address of an argument's pointer and bytes of its allocation from there on; false: none. May be
     * NULL. */
    bool (*find)(void *user, const struct locality_argument *a, uint64_t *base, uint64_t *bytes);
    void *user;
};
const struct locality_table *locality_at_launch(struct arena *arena, const struct locality_table *t,
                                                const struct locality_launch *launch);

/* Returns the spans of an argument without a pattern that each block touches, laid out block by block: *count spans, sorted, at most
 * LAUNCH_LAYOUT_MAX. NULL: an index depends on data, or there are more spans. */
const struct launch_span *locality_layout(struct arena *arena, const struct locality_table *t,
                                          const struct locality_launch *launch, uint32_t argument,
                                          uint32_t *count);

/* "(16*by + ty)*p3 + tx + 16*m" in elements when every part is a multiple, else in bytes (*in_bytes). */
char *locality_print(const struct locality_table *t, const struct locality_row *row, const struct expr *e,
                     char *buf, uint32_t buf_bytes, bool *in_bytes);

#endif
