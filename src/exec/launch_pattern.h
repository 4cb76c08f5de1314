/* launch_pattern: the bytes of a structure that each block of a launch touches, as a mixed-radix number.
 *
 *   byte = piece + sum of digit[k].step * value of digit k
 *
 * A digit counts a coordinate of the block (LAUNCH_X, LAUNCH_Y, LAUNCH_Z), or something that a block runs through
 * (LAUNCH_FREE: iterations of loops, threads, unrolled places). The pieces hold the bytes of one combination:
 * SRAD's block is one piece of 64 B, a free digit of 16 rows, and one digit for blockIdx.x and blockIdx.y each.
 *
 *   block (x, y) of a 16 x 16 tile:   digit y: 16 rows | digit FREE: a row, 16 times | digit x: 64 B | piece: 64 B
 *
 * Digits may overlap: the halo of a tile belongs to several blocks. Offsets are relative to the structure's
 * base. src/analysis/pattern.c makes patterns; src/policy/binding reads them. */
#ifndef ATOLL_EXEC_LAUNCH_PATTERN_H
#define ATOLL_EXEC_LAUNCH_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

enum launch_axis { LAUNCH_X, LAUNCH_Y, LAUNCH_Z, LAUNCH_FREE };
enum { LAUNCH_DIGITS_MAX = 16, LAUNCH_LAYOUT_MAX = 65536 };

struct launch_digit {
    uint64_t step, count; /* bytes; values 0 to count - 1, at least 2 of them */
    uint8_t axis;         /* enum launch_axis */
    bool descending;      /* value v stands for coordinate count - 1 - v */
};

struct launch_bytes {
    int64_t first, end;
};

struct launch_pattern {
    struct launch_digit digit[LAUNCH_DIGITS_MAX]; /* largest step first */
    uint32_t digits;
    const struct launch_bytes *piece; /* sorted, disjoint, at least one */
    uint32_t pieces;
};

/* The bytes of one block, where no pattern describes them. */
struct launch_span {
    int64_t first, end;
    uint64_t block; /* in grid order */
};

#endif
