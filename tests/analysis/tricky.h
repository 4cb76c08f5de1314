/* tricky: what the index analysis must say of the kernels of tricky.cu: a class where it is certain, never
 * one that is wrong. All take (a, b, c, n). */
#ifndef ATOLL_TESTS_ANALYSIS_TRICKY_H
#define ATOLL_TESTS_ANALYSIS_TRICKY_H

#include "analysis/workloads.h"

#define BYTES (1 << 16)
#define TRICKY(kernel, n, ...) \
    { \
        kernel, "", "tricky", kernel, {4, 1, 1}, {64, 1, 1}, \
            {{FILL_ZERO, BYTES, 0}, {FILL_ZERO, BYTES, 0}, {FILL_MOD, BYTES, 9}, {FILL_INT, n, 0}}, \
            {__VA_ARGS__}, 0, 0 \
    }
#define TRICKY_2D(kernel, n, ...) \
    { \
        kernel, "", "tricky", kernel, {4, 4, 1}, {16, 1, 1}, \
            {{FILL_ZERO, BYTES, 0}, {FILL_ZERO, BYTES, 0}, {FILL_MOD, BYTES, 9}, {FILL_INT, n, 0}}, \
            {__VA_ARGS__}, 0, 0 \
    }
#define NL(p) \
    { \
        p, LOCALITY_NL, 0 \
    }
#define NL_BY(p, by) \
    { \
        p, LOCALITY_NL, by \
    }
#define ITL(p) \
    { \
        p, LOCALITY_ITL, 4 \
    }
#define NONE(p) \
    { \
        p, LOCALITY_NONE, 0 \
    }

static const struct ladm_workload tricky_kernels[] = {
    TRICKY("ping_pong", 5, NL("p2")),
    TRICKY("conditional", 4, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("chosen", 4, NL("p2")),
    TRICKY("as_number", 4, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("backwards", 8, NL_BY("p0", 1024), NL("p1")),
    TRICKY_2D("pitched", 256, NL("p0")),
    TRICKY("diagonal", 16, NL("p0"), NL("p1"), NONE("p2")),
    TRICKY("wrapped", 7, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("reversed", 4, NL("p1"), NL("p2")),
    TRICKY("until_found", 9, ITL("p0"), NONE("p1")),
    TRICKY("bounds_from_data", 16, ITL("p0"), NL("p1"), NL("p2")),
    TRICKY("two_exits", 9, NL_BY("p0", 1024), NL_BY("p1", 1024), NL("p2")),
    TRICKY("unrolled_48", 4, ITL("p0"), NL("p1")),
    TRICKY("unrolled_8", 4, NL("p0"), NL("p1")),
    TRICKY("stacked", 4, NL("p2")),
    TRICKY("atomic_either", 4, NL("p2")),
    TRICKY("triangle", 9, NL("p1"), NL("p2")),
    TRICKY_2D("shared_row", 10, ITL("p0"), NL("p1")),
    TRICKY("alternating", 5, NL_BY("p0", 1024), NL_BY("p1", 1024)),
    TRICKY("conditional_step", 5, NL_BY("p1", 1024)),
    TRICKY("wide", 4, NL("p0"), NL("p1"), NL("p2")),
};
enum { TRICKY_KERNELS = sizeof tricky_kernels / sizeof *tricky_kernels };

#undef BYTES
#undef TRICKY
#undef TRICKY_2D
#undef NL
#undef NL_BY
#undef ITL
#undef NONE

#endif
