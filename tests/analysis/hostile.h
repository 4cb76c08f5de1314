/* hostile: kernels of hostile.cu and what the index analysis must say of each argument, the same at every
 * level of every compiler. Where an argument is left out, levels differ: `carried_n` (two loops inside that
 * each run as often as the launch says), `switched` (a branch table), `long_mul` and `punned` (half of a
 * stack slot), `either` (a pointer that becomes another structure's). All take (a, b, c, n). */
#ifndef ATOLL_TESTS_ANALYSIS_HOSTILE_H
#define ATOLL_TESTS_ANALYSIS_HOSTILE_H

#include "analysis/workloads.h"

#define HOSTILE(kernel, ...) \
    { \
        kernel, "", "hostile", kernel, {4, 1, 1}, {64, 1, 1}, \
            {{FILL_ZERO, 1 << 16, 0}, {FILL_ZERO, 1 << 16, 0}, {FILL_MOD, 1 << 16, 9}, {FILL_INT, 7, 0}}, \
            {__VA_ARGS__}, 0, 0 \
    }
#define NL(p) \
    { \
        p, LOCALITY_NL, 0 \
    }
#define ITL(p) \
    { \
        p, LOCALITY_ITL, 0 \
    }
#define NONE(p) \
    { \
        p, LOCALITY_NONE, 0 \
    }

static const struct ladm_workload hostile_kernels[] = {
    HOSTILE("low_byte", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("signed_byte", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("as_short", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("as_char", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("div_negative", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("rem_negative", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("shr_negative", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("div_param", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("div_minus", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("mul_div", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("under_zero", NONE("p0"), NL("p1"), NL("p2")),
    HOSTILE("as_ushort", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("lcg", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("hashed", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("thirds", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("sthirds", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("down", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("down3", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("grid_stride", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("grid_stride64", NL("p0"), NL("p1"), NONE("p2")),
    HOSTILE("halving", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("doubling", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("countdown", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("packed_triangle", ITL("p0"), NL("p1"), NL("p2")),
    HOSTILE("carried", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("carried_n", NL("p1"), NL("p2")),
    HOSTILE("skips", NL("p0"), NL("p1"), ITL("p2")),
    HOSTILE("switched", NL("p1"), NL("p2")),
    HOSTILE("rotating", NL("p0"), NL("p1"), NONE("p2")),
    HOSTILE("behind", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("behind2", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("resetting", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("clamped", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("mirror", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("morton", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("table4", NONE("p0"), NL("p1"), NL("p2")),
    HOSTILE("long_mul", NL("p1"), NL("p2")),
    HOSTILE("by_pointer", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("bits", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("bytes", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("u8_counter", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("u16_counter", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("s8_counter", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("u32_wrap", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("u8_step", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("punned", NL("p1")),
    HOSTILE("through_float", NONE("p0"), NL("p1"), NL("p2")),
    HOSTILE("two_out", NL("p0"), NL("p1"), ITL("p2")),
    HOSTILE("square", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("fib", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("tri_inner", ITL("p0"), NL("p1"), NL("p2")),
    HOSTILE("later", NONE("p0"), NONE("p1"), ITL("p2")),
    HOSTILE("long_n", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("nested_sel", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("rot32", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("sum_n", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("neg_shift", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("mask_neg", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("short_loop", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("bool_idx", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("two_steps3", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("unsigned_less", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("not_idx", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("fan", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("fan_block", NONE("p0"), NL("p1"), NL("p2")),
    HOSTILE("fan_small", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("bound_mod", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("bound_block", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("product", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("root", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("shrinking", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("either", NL("p1")),
    HOSTILE("grand", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("neg_param", NL("p0"), NL("p1"), NL("p2")),
    HOSTILE("tri3", NL("p0"), NL("p1"), NL("p2")),
};
enum { HOSTILE_KERNELS = sizeof hostile_kernels / sizeof *hostile_kernels };

#undef HOSTILE
#undef NL
#undef ITL
#undef NONE

#endif
