/* runtime: the driver of one application: device memory, modules, launches.
 *
 *   host script ── rt_alloc / rt_module_load / rt_launch ──► queue ── executor ──► exec (functional)
 *        ▲                                                                └──────► timing model (later)
 *        └──────────── rt_wait, then read the buffers as ordinary memory
 *
 * Device memory is memory of this process: a device pointer can be dereferenced by the host whenever no
 * launch is pending. It lives in one reserved range per application (nothing is committed before it is
 * used), so pages cost what is touched. A lazily filled buffer (rt_alloc_lazy) is filled chunk by chunk when
 * a kernel or rt_touch() first meets the chunk: a 6 GB input costs what is used of it. Before the host reads
 * or writes a lazy buffer directly it calls rt_touch() (rt_copy_*, rt_fill do so themselves).
 *
 * Timing never sees these pointers: rt_simulated() gives the address in the simulated space, which is the
 * same on every machine and under every address layout.
 *
 * Errors are raised with diag_mistake() (see base/diag.h): call inside diag_run(). No statics: any number
 * of contexts side by side.
 *
 * Ownership: a context owns its memory, modules and queue; rt_destroy() gives all of it back. */
#ifndef ATOLL_RUNTIME_RUNTIME_H
#define ATOLL_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/image.h"

struct exec_launch;
struct rt_context;
struct rt_group;
struct rt_module;
struct rt_kernel;

enum rt_isa { RT_ISA_BEST, RT_ISA_PLAIN, RT_ISA_AVX2 }; /* all give the same bits */

struct rt_options {
    uint32_t slot;             /* which application: decides the simulated base address */
    uint64_t reserve_bytes;    /* address range to reserve; 0 = default (64 GiB) */
    uint64_t heap_bytes;       /* device malloc heap; 0 = 8 MiB as CUDA's default */
    uint64_t stack_bytes;      /* local memory + call stack limit per thread; 0 = 512 KiB */
    uint64_t max_instructions; /* warp instructions per context; 0 = no limit. Reaching it is a mistake */
    uint32_t sm_count;         /* what %nsmid says; 0 = 80 */
    uint32_t blocks_at_once;   /* blocks that run interleaved in functional mode; 0 = sm_count x 32 (at least
                                  a cooperative grid) */
    enum rt_isa isa;
    bool racecheck;   /* report races on shared memory */
    bool whole_pages; /* accesses are checked by pages of 2 MiB, not by allocations */
    /* Runs a launch to its end; NULL = functionally. */
    void (*execute)(void *user, struct exec_launch *launch);
    void *execute_user;
    /* The host has written or filled bytes of device memory (simulated address), by a function of this header; no launch
     * runs. NULL: not reported. Argument: execute_user. */
    void (*host_wrote)(void *user, uint64_t address, uint64_t bytes);
    /* What kernels print (vprintf), in order; NULL = kept and read with rt_output(). */
    void (*print)(void *user, const char *text, size_t len);
    void *print_user;
};

/* options may be NULL (all defaults). */
struct rt_context *rt_create(const struct rt_options *options);
void rt_destroy(struct rt_context *rt);

/* ---- memory ---- */

/* bytes of zeroed device memory, aligned to 256 B (2 MiB and more: to 2 MiB). name (copied, may be NULL)
 * appears in messages and reports. */
void *rt_alloc(struct rt_context *rt, uint64_t bytes, const char *name);

/* Writes the initial content of bytes [first, first + bytes) of the buffer to dst. Must depend on its
 * arguments only; first and bytes are multiples of RT_LAZY_CHUNK_BYTES except at the end of the buffer. */
typedef void rt_fill_fn(void *user, void *dst, uint64_t first, uint64_t bytes);
#define RT_LAZY_CHUNK_BYTES 65536u
void *rt_alloc_lazy(struct rt_context *rt, uint64_t bytes, const char *name, rt_fill_fn *fill, void *user);

/* Managed memory that the host allocated itself (not zeroed, not freed by us). */
void rt_register(struct rt_context *rt, void *host, uint64_t bytes, const char *name);
void rt_unregister(struct rt_context *rt, void *host);

void rt_free(struct rt_context *rt, void *device); /* waits for queued launches; NULL is allowed */

/* These wait for queued launches, check both ends of device ranges, and return at once after. */
void rt_copy_to_device(struct rt_context *rt, void *device, const void *host, uint64_t bytes);
void rt_copy_to_host(struct rt_context *rt, void *host, const void *device, uint64_t bytes);
void rt_copy_on_device(struct rt_context *rt, void *to, const void *from, uint64_t bytes);
void rt_fill(struct rt_context *rt, void *device, uint8_t value, uint64_t bytes);
/* Makes [device, device + bytes) readable and writable by the host directly (fills lazy chunks). */
void rt_touch(struct rt_context *rt, const void *device, uint64_t bytes);

/* The simulated virtual address of a device pointer (any byte of an allocation). */
uint64_t rt_simulated(const struct rt_context *rt, const void *device);

/* ---- arrays, texture objects, surface objects: exec/image.h ---- */

/* Zeroed. */
struct image_array *rt_array_create(struct rt_context *rt, const struct image_shape *shape,
                                    struct image_format format, const char *name);
/* These wait for queued launches. A level of a mipmap is freed with it. */
void rt_array_free(struct rt_context *rt, struct image_array *array);
bool rt_array_alive(struct rt_context *rt, const struct image_array *array);
struct image_array *rt_array_level(struct rt_context *rt, struct image_array *array, uint32_t level);
/* A box of level 0 (texels; planes are depth, layers or faces) from or to rows that follow each other
 * row_bytes apart and planes plane_bytes apart. */
struct rt_box {
    uint32_t x, y, plane, width, height, planes;
};
void rt_array_write(struct rt_context *rt, struct image_array *array, const struct rt_box *box,
                    const void *from, uint64_t row_bytes, uint64_t plane_bytes);
void rt_array_read(struct rt_context *rt, const struct image_array *array, const struct rt_box *box, void *to,
                   uint64_t row_bytes, uint64_t plane_bytes);

/* The handle is what kernels take as argument. */
uint64_t rt_texture_create(struct rt_context *rt, const struct image_texture *texture);
uint64_t rt_surface_create(struct rt_context *rt, const struct image_array *array);
/* Raise a mistake when there is no such object. */
void rt_texture_destroy(struct rt_context *rt, uint64_t handle);
void rt_surface_destroy(struct rt_context *rt, uint64_t handle);

/* ---- code ---- */

/* Parses PTX text (copied). name appears in messages. Several modules of a context are linked: an .extern
 * is looked up in the modules loaded before and after, at first launch. */
struct rt_module *rt_module_load(struct rt_context *rt, const char *name, const char *text, size_t len);
struct rt_module *rt_module_load_file(struct rt_context *rt, const char *path);
/* A group of its own: its modules see each other and nobody else, as those of one CUDA module do. It lives as
 * long as the context. */
struct rt_group *rt_group_new(struct rt_context *rt);
struct rt_module *rt_group_load(struct rt_group *group, const char *name, const char *text, size_t len);
/* The same code once more, with variables of its own except for managed ones: for another device. */
struct rt_group *rt_group_twin(struct rt_group *group);
/* By the exact name; NULL when absent. */
struct rt_kernel *rt_group_kernel(struct rt_group *group, const char *name);
/* Names of its kernels, from 0 on; NULL: there are no more. */
const char *rt_group_kernel_name(const struct rt_group *group, uint32_t idx);
void *rt_group_variable(struct rt_group *group, const char *name, uint64_t *bytes);
/* Raises a mistake with the nearest name when there is none. A mangled or the plain function name works
 * (the plain one when it is unambiguous). */
struct rt_kernel *rt_kernel_find(struct rt_module *module, const char *name);
/* The same in all modules of the context; name NULL: the only kernel that they have together. */
struct rt_kernel *rt_kernel_find_any(struct rt_context *rt, const char *name);
/* Device address and size of a module variable (.global, .const); NULL when absent. */
void *rt_variable_find(struct rt_module *module, const char *name, uint64_t *bytes);

/* ---- launches ---- */

struct rt_dim {
    uint32_t x, y, z;
};

/* A value of at most 8 bytes. */
struct rt_arg {
    uint64_t bits;
    uint32_t bytes;
};

struct rt_launch {
    struct rt_kernel *kernel;
    struct rt_dim grid, block;
    uint32_t dynamic_shared_bytes;
    bool cooperative;        /* all blocks resident, %envreg grid barrier workspace */
    const void *const *args; /* one pointer to the value of each parameter, as cudaLaunchKernel takes; or */
    const struct rt_arg *values; /* the values themselves, whose sizes are checked */
    uint32_t arg_count;
    const void *packed; /* or the whole parameter block as it lies in memory */
    size_t packed_bytes;
    const char *label; /* name in reports (copied); NULL: the kernel's */
};

/* Checks the launch, copies the arguments, queues. */
void rt_launch(struct rt_context *rt, const struct rt_launch *launch);
/* Arguments given in place (scalars and pointers of at most 8 bytes):
 *   const struct rt_arg args[] = {RT_ARG(a), RT_ARG(b), RT_ARG(n)};
 *   rt_launch_args(rt, k, (struct rt_dim){n / 256, 1, 1}, (struct rt_dim){256, 1, 1}, 0, args, 3);
 * The size of each must be that of the kernel's parameter (checked; a parameter below 4 bytes takes an int).
 */
void rt_launch_args(struct rt_context *rt, struct rt_kernel *kernel, struct rt_dim grid, struct rt_dim block,
                    uint32_t dynamic_shared_bytes, const struct rt_arg *args, uint32_t arg_count);
#define RT_ARG(x) \
    __extension__({ \
        __typeof__((x) + 0) rt_value_ = (x); \
        struct rt_arg rt_arg_ = {0, (uint32_t)sizeof rt_value_}; \
        _Static_assert(sizeof rt_value_ <= 8, "argument too large"); \
        __builtin_memcpy(&rt_arg_.bits, &rt_value_, sizeof rt_value_); \
        rt_arg_; \
    })

/* The measured part of the program begins: the launches that are queued so far run without time in a timed run,
 * and rt_totals() leaves them out. Raises a user error if a launch has run already. */
void rt_measure(struct rt_context *rt);
/* Launches queued and not finished. */
uint32_t rt_pending(const struct rt_context *rt);
/* Runs the oldest queued launch to its end. False when there was none. */
bool rt_run_next(struct rt_context *rt);
/* Runs until nothing is pending: the only place where a host script blocks. */
void rt_wait(struct rt_context *rt);
/* For those who run several launches at a time: takes the oldest queued launch out of the queue (NULL: there
 * is none), readies it to start with the timing model, and drops it when it has ended, or never started. */
struct exec_launch *rt_take_next(struct rt_context *rt);
void rt_ready(struct rt_context *rt, struct exec_launch *launch);
void rt_drop(struct rt_context *rt, struct exec_launch *launch);
/* Queues a launch that a kernel made. */
struct exec_child;
void rt_launch_child(struct rt_context *rt, const struct exec_launch *parent, const struct exec_child *child,
                     const char *label);

/* ---- for the timing model and the analyses ---- */

struct ptx_func;
struct exec_env;
struct exec_kernel;
const struct ptx_func *rt_kernel_ptx(const struct rt_kernel *kernel);
struct exec_kernel *rt_kernel_exec(struct rt_kernel *kernel); /* lowers it when that has not been done */
struct devmem;
struct exec_env *rt_env(struct rt_context *rt);
struct devmem *rt_memory(struct rt_context *rt);
uint64_t rt_peak_bytes(const struct rt_context *rt); /* most device memory allocated at a time */

/* ---- results ---- */

struct rt_totals {
    uint64_t launches, blocks, warp_instructions, thread_instructions;
};
struct rt_totals rt_totals(const struct rt_context *rt);
/* Has a launch been ended by options.max_instructions? */
bool rt_limit_reached(const struct rt_context *rt);
/* What kernels printed so far when no print callback was given; ends in NUL. */
const char *rt_output(const struct rt_context *rt, size_t *len);
uint64_t rt_races(const struct rt_context *rt);          /* racecheck: distinct hazards seen */
const char *rt_race_report(const struct rt_context *rt); /* one paragraph per hazard */

#endif
