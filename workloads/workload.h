/* workload: what a host script is written against.
 *
 * A workload is a folder: device code (*.cu, through device.h) and one host script (*.c), which states the
 * workload's sizes and runs it as any CUDA host program would:
 *
 *   static void run(struct wl *w)
 *   {
 *       const int n = (int)wl_param(w, "n");
 *       float *a = wl_input_f32(w, "a", n, SEED_A, -1, 1), *b = ..., *c = wl_alloc(w, "c", n * sizeof *c);
 *       WL_LAUNCH(w, "vecadd", wl_dim(wl_blocks(n, 256)), wl_dim(256), a, b, c, n);
 *       wl_check_f32(w, &(struct wl_check){.name = "c", .output = c, .count = n, .reference = sum});
 *   }
 *   WORKLOAD(vecadd, .description = "...", .params = params, .sizes = sizes, .run = run, ...);
 *
 * Rules of a script:
 * - No statics, no malloc: copies of a script run interleaved, and a run may end early. Host memory comes
 * from wl_scratch() and goes with the run. The stack has 256 KiB.
 * - Deterministic: no clock, no randomness but wl_u64() and its relatives.
 * - Device memory is memory of this process, its pointers are ordinary pointers. But the host reads it only
 *   after wl_read() or wl_output(), which wait for the device, and writes it only with wl_write().
 * - Errors need no handling: a call that fails does not return.
 *
 * A script runs as a coroutine and is suspended while it waits for the device. Its calls go through a table,
 * so that a script compiled outside the tree needs nothing to link with. */
#ifndef ATOLL_WORKLOAD_H
#define ATOLL_WORKLOAD_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WL_API 4u /* grows when scripts must be compiled again */

struct wl; /* one running application */

/* ---- what a workload says about itself ---- */

/* A parameter: a whole number that the user may set, as in vecadd:n=4096. */
struct wl_param {
    const char *name;
    int64_t standard, min, max; /* standard: the value at size 'small' */
    int64_t multiple;           /* the value must be a multiple of this; 0 = any */
    const char *help;
};

/* A named size: the parameters that differ from the standard. 'tiny' must be there (for tests: well under a
 * second, every output word checked); 'small', all standard values, is there of itself. */
struct wl_size {
    const char *name;
    const char *values; /* "n=4096,steps=2" */
    const char *note;   /* what it is: "NUBA, 48 MB" */
};

struct workload {
    uint32_t api;
    const char *name;
    const char *aliases;           /* other names, separated by spaces; or NULL */
    const char *suite;             /* "PolyBench", "Rodinia", ..., "micro" */
    const char *sharing;           /* class: "low-sharing" or "high-sharing" as NUBA has it, or "-" */
    const char *description;       /* one line */
    const struct wl_param *params; /* ends with a row of zeros */
    const struct wl_size *sizes;   /* ends with a row of zeros */
    uint64_t (*footprint_bytes)(const struct wl *w); /* device memory that run() allocates; wl_param() only */
    void (*run)(struct wl *w);
};

/* Defines the workload of this script: WORKLOAD(folder, .suite = ..., .run = run). */
#ifdef WL_OUTSIDE
#define WORKLOAD(folder, ...) WL_DEFINE(workload_outside, #folder, __VA_ARGS__)
#else
#define WORKLOAD(folder, ...) WL_DEFINE(workload_##folder, #folder, __VA_ARGS__)
#endif
#define WL_DEFINE(symbol, folder, ...) \
    extern const struct workload symbol; \
    __attribute__((visibility("default"))) \
    const struct workload symbol = {.api = WL_API, .name = folder, __VA_ARGS__}

/* ---- the table behind the calls ---- */

struct wl_dim {
    uint32_t x, y, z;
};

struct wl_arg {
    uint64_t bits;
    uint32_t bytes;
};

struct wl_launch {
    const char *kernel;
    struct wl_dim grid, block;
    uint32_t shared_bytes; /* dynamic */
    bool cooperative;      /* all blocks resident at once: grid barriers work */
};

/* The first content of bytes [first, first + bytes) of a buffer; depends on its arguments only. first is a
 * multiple of 64 KiB. arg must live as long as the run. */
typedef void wl_fill_fn(void *arg, void *to, uint64_t first, uint64_t bytes);

/* What output word i must be. */
typedef double wl_reference_fn(const void *arg, uint64_t i);
/* The same of floats first .. first + count - 1, rounded to float; at most WL_CHECK_BLOCK at a time. */
typedef void wl_references_fn(struct wl *w, const void *arg, uint64_t first, uint64_t count, float *to);

/* A check of one output array against a reference that can be computed word by word. When all words would
 * cost too much (count x cost above WL_CHECK_BUDGET), a sample is checked: both ends and words chosen by a
 * hash. */
struct wl_check {
    const char *name;
    const void *output; /* float or uint32_t, in device memory */
    uint64_t count;     /* words */
    wl_reference_fn *reference;
    /* Of floats, NULL when there is none: what is equal to it is right, what is not is left to reference. */
    wl_references_fn *references;
    const void *arg;
    uint64_t cost;             /* operations behind one reference value; 0 = 1 */
    double relative, absolute; /* allowed: absolute + relative x |reference|; both 0: exact */
};
#define WL_CHECK_BUDGET 20000000u
#define WL_CHECK_BLOCK  1024u

/* Numbers to compute many of, see below. */
struct wl_numbers {
    uint64_t seed;
    float low, high; /* of floats */
};

struct wl_calls {
    int64_t (*param)(const struct wl *w, const char *name);
    void *(*alloc)(struct wl *w, const char *name, uint64_t bytes);
    void *(*input)(struct wl *w, const char *name, uint64_t bytes, wl_fill_fn *fill, void *arg);
    void *(*input_f32)(struct wl *w, const char *name, uint64_t count, uint64_t seed, float low, float high);
    void *(*scratch)(struct wl *w, uint64_t bytes);
    void *(*variable)(struct wl *w, const char *name, uint64_t bytes);
    void (*write)(struct wl *w, void *device, const void *host, uint64_t bytes);
    const void *(*read)(struct wl *w, const void *device, uint64_t bytes);
    const void *(*output)(struct wl *w, const char *name, const void *device, uint64_t bytes);
    void (*launch)(struct wl *w, const struct wl_launch *launch, const struct wl_arg *args,
                   uint32_t arg_count);
    void (*wait)(struct wl *w);
    void (*measure)(struct wl *w);
    void (*many_f32)(struct wl *w, const struct wl_numbers *n, uint64_t first, uint64_t count, float *to);
    void (*many_f32_at)(const struct wl_numbers *n, const uint32_t *at, uint64_t count, float *to);
    void (*many_below)(uint64_t seed, uint64_t first, uint64_t count, uint32_t bound, uint32_t *to);
    void (*check_f32)(struct wl *w, const struct wl_check *check);
    void (*check_u32)(struct wl *w, const struct wl_check *check);
    __attribute__((noreturn, format(printf, 2, 3))) void (*fail)(struct wl *w, const char *format, ...);
};

struct wl {
    const struct wl_calls *calls;
};

/* ---- parameters and memory ---- */

/* The value of a parameter; the name must be one of the workload's rows. */
static inline int64_t wl_param(const struct wl *w, const char *name) { return w->calls->param(w, name); }

/* Zeroed device memory. The name appears in messages. */
static inline void *wl_alloc(struct wl *w, const char *name, uint64_t bytes)
{
    return w->calls->alloc(w, name, bytes);
}

/* Device memory whose first content is computed when it is first touched: a large input costs what is used.
 */
static inline void *wl_input(struct wl *w, const char *name, uint64_t bytes, wl_fill_fn *fill, void *arg)
{
    return w->calls->input(w, name, bytes, fill, arg);
}

/* The same with float i = wl_f32(seed, i, low, high). */
static inline float *wl_input_f32(struct wl *w, const char *name, uint64_t count, uint64_t seed, float low,
                                  float high)
{
    return w->calls->input_f32(w, name, count, seed, low, high);
}

/* Zeroed host memory that lives as long as the run. */
static inline void *wl_scratch(struct wl *w, uint64_t bytes) { return w->calls->scratch(w, bytes); }

/* A __device__ or __constant__ variable of the device code, of that size. */
static inline void *wl_variable(struct wl *w, const char *name, uint64_t bytes)
{
    return w->calls->variable(w, name, bytes);
}

/* Host to device, as cudaMemcpy. */
static inline void wl_write(struct wl *w, void *device, const void *host, uint64_t bytes)
{
    w->calls->write(w, device, host, bytes);
}

/* Device to host, as cudaMemcpy: waits for the launches so far; the result holds until the next launch. For
 * what the script decides by. */
static inline const void *wl_read(struct wl *w, const void *device, uint64_t bytes)
{
    return w->calls->read(w, device, bytes);
}

/* An array that the check is going to compare: waits for the launches so far; costs no simulated time. All of
 * it must be checked at size 'tiny'. wl_check_*() call it themselves. */
static inline const void *wl_output(struct wl *w, const char *name, const void *device, uint64_t bytes)
{
    return w->calls->output(w, name, device, bytes);
}

/* ---- launches ---- */

#define wl_dim(...)           ((struct wl_dim){WL_DIM_(__VA_ARGS__, 1, 1, 1)}) /* wl_dim(x), (x, y) or (x, y, z) */
#define WL_DIM_(x, y, z, ...) (uint32_t)(x), (uint32_t)(y), (uint32_t)(z)

/* How many blocks of that many threads cover n. */
static inline uint32_t wl_blocks(int64_t n, int64_t block) { return (uint32_t)((n + block - 1) / block); }

/* Queues a launch: WL_LAUNCH(w, "kernel", grid, block, arguments...). The size of each argument must be that
 * of the kernel's parameter (an int for an int, a float for a float); up to 16. */
#define WL_LAUNCH(w, kernel, grid, block, ...) WL_LAUNCH_SHARED(w, kernel, grid, block, 0, __VA_ARGS__)
#define WL_LAUNCH_SHARED(w, kernel, grid, block, shared_bytes, ...) \
    WL_LAUNCH_(w, ((struct wl_launch){kernel, grid, block, (uint32_t)(shared_bytes), false}), __VA_ARGS__)
/* As cudaLaunchCooperativeKernel: the blocks may wait for each other (cooperative_groups' grid.sync()). */
#define WL_LAUNCH_COOPERATIVE(w, kernel, grid, block, shared_bytes, ...) \
    WL_LAUNCH_(w, ((struct wl_launch){kernel, grid, block, (uint32_t)(shared_bytes), true}), __VA_ARGS__)
#define WL_LAUNCH_(w, shape, ...) \
    (w)->calls->launch(w, &shape, (struct wl_arg[]){WL_ARGS_(__VA_ARGS__)}, \
                       (uint32_t)(sizeof((struct wl_arg[]){WL_ARGS_(__VA_ARGS__)}) / sizeof(struct wl_arg)))

#define WL_ARG(x) \
    __extension__({ \
        const __typeof__((x) + 0) wl_value_ = (x); \
        struct wl_arg wl_arg_ = {0, (uint32_t)sizeof wl_value_}; \
        _Static_assert(sizeof wl_value_ <= 8, "argument of at most 8 bytes"); \
        __builtin_memcpy(&wl_arg_.bits, &wl_value_, sizeof wl_value_); \
        wl_arg_; \
    })
#define WL_ARGS_(...) \
    WL_PICK_(__VA_ARGS__, WL_A16, WL_A15, WL_A14, WL_A13, WL_A12, WL_A11, WL_A10, WL_A9, WL_A8, WL_A7, \
             WL_A6, WL_A5, WL_A4, WL_A3, WL_A2, WL_A1, ) \
    (__VA_ARGS__)
#define WL_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, name, ...) name
#define WL_A1(x)                                                            WL_ARG(x)
#define WL_A2(x, ...)                                                       WL_ARG(x), WL_A1(__VA_ARGS__)
#define WL_A3(x, ...)                                                       WL_ARG(x), WL_A2(__VA_ARGS__)
#define WL_A4(x, ...)                                                       WL_ARG(x), WL_A3(__VA_ARGS__)
#define WL_A5(x, ...)                                                       WL_ARG(x), WL_A4(__VA_ARGS__)
#define WL_A6(x, ...)                                                       WL_ARG(x), WL_A5(__VA_ARGS__)
#define WL_A7(x, ...)                                                       WL_ARG(x), WL_A6(__VA_ARGS__)
#define WL_A8(x, ...)                                                       WL_ARG(x), WL_A7(__VA_ARGS__)
#define WL_A9(x, ...)                                                       WL_ARG(x), WL_A8(__VA_ARGS__)
#define WL_A10(x, ...)                                                      WL_ARG(x), WL_A9(__VA_ARGS__)
#define WL_A11(x, ...)                                                      WL_ARG(x), WL_A10(__VA_ARGS__)
#define WL_A12(x, ...)                                                      WL_ARG(x), WL_A11(__VA_ARGS__)
#define WL_A13(x, ...)                                                      WL_ARG(x), WL_A12(__VA_ARGS__)
#define WL_A14(x, ...)                                                      WL_ARG(x), WL_A13(__VA_ARGS__)
#define WL_A15(x, ...)                                                      WL_ARG(x), WL_A14(__VA_ARGS__)
#define WL_A16(x, ...)                                                      WL_ARG(x), WL_A15(__VA_ARGS__)

/* Until the launches so far have finished. */
static inline void wl_wait(struct wl *w) { w->calls->wait(w); }

/* The measured part begins. The launches so far are initialisation: a timed run executes them without time and
 * places their pages. Statistics count from here on. Precondition: no call has waited for the device since the
 * first launch. */
static inline void wl_measure(struct wl *w) { w->calls->measure(w); }

/* ---- checks ---- */

/* Compares an output of floats; a difference ends the run with "check failed" (exit code 2). */
static inline void wl_check_f32(struct wl *w, const struct wl_check *check) { w->calls->check_f32(w, check); }

/* Compares an output of 32-bit words, signed or unsigned. */
static inline void wl_check_u32(struct wl *w, const struct wl_check *check) { w->calls->check_u32(w, check); }

/* References that are arrays: .reference = wl_expect_f32, .references = wl_expect_f32_many, .arg = array. */
static inline double wl_expect_f32(const void *array, uint64_t i)
{
    return (double)((const float *)array)[i];
}
static inline void wl_expect_f32_many(struct wl *w, const void *array, uint64_t first, uint64_t count,
                                      float *to)
{
    (void)w;
    __builtin_memcpy(to, (const float *)array + first, count * sizeof *to);
}
static inline double wl_expect_u32(const void *array, uint64_t i)
{
    return (double)((const uint32_t *)array)[i];
}
static inline double wl_expect_i32(const void *array, uint64_t i)
{
    return (double)((const int32_t *)array)[i];
}

/* A check of the script's own failed. */
#define wl_fail(w, ...) (w)->calls->fail(w, __VA_ARGS__)

/* ---- numbers: a function of (seed, i), so that any part of an input can be computed at any time ---- */

static inline uint64_t wl_u64(uint64_t seed, uint64_t i)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u + seed * 0xd1342543de82ef95u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 .. bound-1 */
static inline uint64_t wl_below(uint64_t seed, uint64_t i, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)wl_u64(seed, i) * bound) >> 64);
}

/* low <= x < high, 24 bits. */
static inline float wl_f32(uint64_t seed, uint64_t i, float low, float high)
{
    return low + (high - low) * ((float)(wl_u64(seed, i) >> 40) * 0x1p-24f);
}

/* Many at a time, which is several times faster. to[k] = wl_f32(seed, first + k, low, high). */
static inline void wl_many_f32(struct wl *w, const struct wl_numbers *n, uint64_t first, uint64_t count,
                               float *to)
{
    w->calls->many_f32(w, n, first, count, to);
}

/* to[k] = wl_f32(seed, at[k], low, high) */
static inline void wl_many_f32_at(struct wl *w, const struct wl_numbers *n, const uint32_t *at,
                                  uint64_t count, float *to)
{
    w->calls->many_f32_at(n, at, count, to);
}

/* to[k] = wl_below(seed, first + k, bound) */
static inline void wl_many_below(struct wl *w, uint64_t seed, uint64_t first, uint64_t count, uint32_t bound,
                                 uint32_t *to)
{
    w->calls->many_below(seed, first, count, bound, to);
}

#endif
