/* oneshot: one kernel by hand: `atoll run k.ptx [more.ptx ...] --entry NAME --grid X,Y,Z --block X,Y,Z --arg
 * ...`.
 *
 * An argument, in the order of the kernel's parameters:
 *   12  -3  0x1f  1e6  1.5     a number of the parameter's type: whole and in range unless .f32 or .f64
 *   f32:2  f64:2  u8:1 ...     a number of that type (the width must be the parameter's)
 *   hex:00112233...            the bytes of the parameter as they lie in memory: structures
 *   buf:TYPE:COUNT[:FILL][:OUT...]   a buffer of COUNT elements; the argument is its address
 *     TYPE   s8 u8 s16 u16 s32 u32 s64 u64 f32 f64 (i8 .. i64 = signed)
 *     FILL   zero (default)   iota: 0,1,2,..   random[=SEED]: integers of all bits, fractions in [0,1)
 *            value=V   file=PATH: raw bytes
 *     OUT    dump[=N]: print the first N elements (default 16, 0 = all) after the run
 *            sum: print the sum of all    save=PATH: write raw bytes
 *   tex:TEXEL:SIZE[:MODE...][:FILL][:OUT...]   a texture object of a new array; surf: a surface object
 *     TEXEL  u8x4, f32, ...: a type of at most 4 bytes, x2 or x4 for channels
 *     SIZE   64, 64x32 or 64x32x8
 *     MODE   linear   wrap mirror clamp border   normalized: coordinates of [0, 1)
 *            fraction: integers are read as fractions
 * `buf:f32:1024:iota:dump=4:sum`; COUNT takes the suffixes K and M (1024s). */
#ifndef ATOLL_RUNTIME_ONESHOT_H
#define ATOLL_RUNTIME_ONESHOT_H

#include "runtime/runtime.h"

struct oneshot;

struct oneshot_request {
    const char *const *paths; /* PTX files, linked together */
    uint32_t path_count;
    const char *entry; /* NULL: the only kernel of the files */
    struct rt_dim grid, block;
    uint32_t dynamic_shared_bytes;
    bool cooperative;
    const char *const *args;
    uint32_t arg_count;
};

/* Loads, fills the buffers, queues the launch in rt. Mistakes point into the argument's text. The result
 * belongs to the caller: oneshot_free(), before rt_destroy(). */
struct oneshot *oneshot_start(struct rt_context *rt, const struct oneshot_request *request);
/* After rt_wait(): what was asked to be printed, as text (owned by the oneshot); files are written. */
const char *oneshot_finish(struct oneshot *o);
void oneshot_free(struct oneshot *o);

#endif
