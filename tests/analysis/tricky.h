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
    TRICKY("ping_pong", 5, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("conditional", 4, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("chosen", 4, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("as_number", 4, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("backwards", 8, NL_BY("p0", 1024), NL("p1")),
    TRICKY_2D("pitched", 256, NL("p0")),
    TRICKY("diagonal", 16, NL("p0"), NL("p1"), NONE("p2")),
    TRICKY("wrapped", 7, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("reversed", 4, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("until_found", 9, ITL("p0"), NONE("p1")),
    TRICKY("bounds_from_data", 16, ITL("p0"), NL("p1"), NL("p2")),
    TRICKY("two_exits", 9, NL_BY("p0", 1024), NL_BY("p1", 1024), NL("p2")),
    TRICKY("unrolled_48", 4, ITL("p0"), NL("p1")),
    TRICKY("unrolled_8", 4, NL("p0"), NL("p1")),
    TRICKY("stacked", 4, NL("p2")),
    TRICKY("atomic_either", 4, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("triangle", 9, NL_BY("p0", 260), NL("p1"), NL("p2")),
    TRICKY_2D("shared_row", 10, ITL("p0"), NL("p1")),
    TRICKY("alternating", 5, NL_BY("p0", 1024), NL_BY("p1", 1024)),
    TRICKY("conditional_step", 5, NL_BY("p0", 256), NL_BY("p1", 1024)),
    TRICKY("wide", 4, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("backwards_near", 8, NL_BY("p0", 256)),
    TRICKY("two_exits_near", 9, NL_BY("p0", 256), NL_BY("p1", 256)),
    TRICKY("unrolled_8_near", 4, NL("p0"), NL("p1")),
    TRICKY("alternating_near", 5, NL_BY("p0", 256), NL_BY("p1", 256)),
    TRICKY("conditional_step_near", 5, NL_BY("p0", 256), NL_BY("p1", 512)),
    TRICKY("by_function", 4, NL("p2")),
    TRICKY("by_asm", 4, NL("p0"), NL("p1"), NL("p2")),
    TRICKY("by_sm", 4, NONE("p0"), NL("p1")),
    TRICKY("by_clock", 4, NONE("p0"), NL("p1")),
};
enum { TRICKY_KERNELS = sizeof tricky_kernels / sizeof *tricky_kernels };

/* What two blocks share at most of a structure without locality, by the program's own numbers: exactly so
 * much is touched by both and predicted. */
static const struct tricky_overlap {
    const char *kernel, *argument;
    uint64_t bytes;
} tricky_overlaps[] = {
    {"backwards", "p0", 0},
    {"backwards_near", "p0", 7 * 256}, /* all but the first of eight iterations: the next block's */
    {"unrolled_8", "p0", 0},
    {"unrolled_8_near", "p0", 7 * 256},
    {"alternating", "p0", 0},
    {"alternating_near", "p0", 4 * 256},
    {"alternating_near", "p1", 4 * 256},
    {"conditional_step", "p1", 0},
    {"conditional_step_near", "p1", 4 * 256}, /* not the next block: the one after it */
    {"pitched", "p0", 0},
    {"wrapped", "p1", 0},
    {"wrapped", "p2", 64 * 4}, /* every block reads the same 64 */
    {"reversed", "p0", 0},
};
enum { TRICKY_OVERLAPS = sizeof tricky_overlaps / sizeof *tricky_overlaps };

/* What is read only (r), written (w) or not used (-) of a, b and c; at every level. `stacked` puts data
 * beside its pointers by an index, so that any of both may be stored through; `by_function` may do anything.
 */
static const struct tricky_written {
    const char *kernel, *verdicts;
} tricky_written[] = {
    {"ping_pong", "wwr"},
    {"conditional", "wrr"},
    {"chosen", "wwr"},
    {"as_number", "wrw"},
    {"backwards", "rww"},
    {"pitched", "wrr"},
    {"diagonal", "rwr"},
    {"wrapped", "rwr"},
    {"reversed", "rwr"},
    {"until_found", "rwr"},
    {"bounds_from_data", "rwr"},
    {"two_exits", "rwr"},
    {"unrolled_48", "rwr"},
    {"unrolled_8", "rwr"},
    {"stacked", "www"},
    {"atomic_either", "wwr"},
    {"triangle", "rwr"},
    {"shared_row", "rwr"},
    {"alternating", "rww"},
    {"conditional_step", "rww"},
    {"wide", "rwr"},
    {"backwards_near", "rww"},
    {"two_exits_near", "rwr"},
    {"unrolled_8_near", "rwr"},
    {"alternating_near", "rww"},
    {"conditional_step_near", "rww"},
    {"by_function", "www"},
    {"by_asm", "rwr"},
    {"by_value", "rw"},
    {"by_sm", "rwr"},
    {"by_clock", "rwr"},
};
enum { TRICKY_WRITTEN = sizeof tricky_written / sizeof *tricky_written };
_Static_assert((int)TRICKY_WRITTEN == TRICKY_KERNELS + 1, "one for each kernel, and by_value");

#undef BYTES
#undef TRICKY
#undef TRICKY_2D
#undef NL
#undef NL_BY
#undef ITL
#undef NONE

#endif
