/* exec: functional SIMT execution: values, no cycles.
 *
 *   exec_env      one application: device memory, instruction set, lowered code, constants
 *     exec_kernel   an entry, lowered from PTX at its first launch
 *       exec_launch   grid, parameters
 *         exec_block    one resident block: one relocatable chunk (warps, registers, shared, local memory)
 *
 * How it is fast
 *   - A PTX function is lowered once into 64-byte instructions with a handler pointer and byte offsets of
 *     registers; immediates are 32-lane constants in a pool, so a handler sees only arrays.
 *   - A register is an array over the 32 lanes (lanes.h); arithmetic is one call of a vector function.
 *   - A guard is a mask; there is no branch on it.
 *   - Loads and stores look at groups of eight lanes: unit stride, one address, else gather; each static
 * access remembers the allocation it met last, so a check is two compares.
 *
 * Divergence (see split.c): a branch that splits a warp makes a reconvergence record at its immediate
 * post-dominator; the sides run one after the other and join there. Waiting there is an optimisation,
 * not a promise: when the others do not come (spin locks, barriers), the waiting lanes go on.
 *
 * Fairness: the lanes of a warp rotate on backward branches, warps of a block and resident blocks take turns,
 * so every thread makes progress. All of it is counted in instructions: deterministic.
 *
 * Errors of the kernel (illegal address, barrier that never completes, unsupported instruction) raise a
 * mistake that names kernel, PTX line, source line, block and thread. */
#ifndef ATOLL_EXEC_EXEC_H
#define ATOLL_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/devmem.h"
#include "exec/lanes.h"
#include "exec/warp_op.h"
#include "ptx/ir.h"

struct analysis_launch;
struct exec_env;
struct image_table;
struct exec_kernel;
struct exec_block;

struct exec_options {
    enum lanes_isa isa;
    bool racecheck;
    uint64_t heap_bytes, stack_bytes;
    uint64_t max_instructions; /* 0: none */
    uint32_t sm_count, blocks_at_once;
    void (*print)(void *user, const char *text, size_t len);
    void *print_user;
};

/* memory stays the caller's and must outlive the environment. */
struct exec_env *exec_env_create(struct devmem *memory, const struct exec_options *options);
void exec_env_destroy(struct exec_env *env);

/* Gives the variables of a linked program their memory and initial values, and makes it the program that
 * kernels are lowered in. Call again with a larger program when modules are added (variables keep their
 * place), or with another program: what was lowered before stays. */
void exec_env_link(struct exec_env *env, const struct ptx_program *program);
/* Before the program of the variable is linked: it has memory already, that of another one. */
void exec_env_share(struct exec_env *env, const struct ptx_symbol *symbol, void *at);
/* Device address of a module variable, NULL when it has none (shared, unknown). */
void *exec_variable(const struct exec_env *env, const struct ptx_symbol *symbol);
/* Arrays, texture objects and surface objects that kernels may use. */
struct image_table *exec_images(struct exec_env *env);

/* Who numbers the loads that are found read-only together; asked once per instruction. Before the first
 * launch. */
typedef uint32_t exec_group_fn(void *user, const struct ptx_func *kernel, const struct ptx_func *func,
                               uint32_t pc);
void exec_env_groups(struct exec_env *env, exec_group_fn *group, void *user);
struct devmem *exec_memory(const struct exec_env *env);

/* Lowers an entry (once; later calls give the same). */
struct exec_kernel *exec_kernel_get(struct exec_env *env, const struct ptx_func *entry);
const struct ptx_func *exec_kernel_ptx(const struct exec_kernel *k);
uint64_t exec_kernel_shared_bytes(const struct exec_kernel *k); /* static */
uint32_t exec_kernel_registers(const struct exec_kernel *k); /* 32-bit registers per thread, maximum live */
uint32_t exec_kernel_scoreboard(
    const struct exec_kernel *k); /* warp_op_info.dst and src, with reg_base, stay below */
uint64_t exec_kernel_local_bytes(const struct exec_kernel *k); /* per thread, without calls' frames */
/* Can every opcode of this instruction be executed? (atoll analyze --coverage) */
bool exec_supports(const struct ptx_instr *instr);
/* Functions that nobody defines and a kernel may call all the same: vprintf, malloc, free, __assertfail. */
bool exec_provides(const char *function);
/* What to do about a call of a function that neither a module nor Atoll defines. */
const char *exec_advice(const char *function);

/* A launch that a kernel made. */
struct exec_child {
    const struct ptx_func *kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes;
    uint64_t stream;    /* as the kernel named it */
    uint64_t block_idx; /* of the parent's block */
    uint64_t buffer;    /* where its thread writes the arguments, until it is launched */
    struct exec_child *next;
    uint8_t params[];
};

struct exec_launch {
    struct exec_env *env;
    struct exec_kernel *kernel;
    const char *label; /* in reports; NULL: the kernel's name. Must live until the end */
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes;
    const uint8_t *params; /* parameter block, exec_kernel_ptx()->param_bytes; must live until the end */
    uint64_t grid_id;
    bool cooperative;
    uint64_t barrier_workspace; /* device address for %envreg1/2 of a cooperative launch */
    /* By warp_op_info.read_only_group: are its loads ld.global.ro in this launch? NULL: as the program says
     * (.nc). */
    const uint8_t *read_only;
    /* What the compiler's analyses say about this launch (analysis/analysis.h), for policies; may be NULL. */
    struct analysis_launch *analysis;

    /* Cycles that the banks of shared memory need for an access of groups, for who takes its time; NULL:
     * loads from shared memory are executed when they are asked for. */
    uint32_t (*bank_cycles)(void *ctx, const struct warp_op *op);
    void *bank_ctx;

    /* Runs without time: before the measured part of its program (wl_measure()). */
    bool untimed;

    /* set by exec_launch_begin() */
    uint64_t block_count;
    uint32_t warps_per_block, threads_per_block;
    uint64_t shared_bytes, chunk_bytes;
    uint64_t warp_instructions, thread_instructions; /* of its blocks that were retired */
    struct exec_child *children, *last_child;        /* launched by it, in that order, not taken yet */
    uint32_t depth;                                  /* 0: launched by the host */
};

/* Checks the shape of the launch against the kernel and the limits of CUDA; fills in the second part. */
void exec_launch_begin(struct exec_launch *l);
/* The limits of CUDA alone; a mistake of the user beyond them. */
void exec_check_dimensions(const char *kernel, const uint32_t grid[3], const uint32_t block[3]);

/* The children of a launch that has ended, the caller's to free; who must wait for whom (earlier was launched
 * before later). */
struct exec_child *exec_take_children(struct exec_launch *l);
bool exec_child_follows(const struct exec_child *later, const struct exec_child *earlier);
bool exec_child_is_tail(const struct exec_child *c); /* follows all others */
void exec_children_free(struct exec_child *first);

/* Counts the launch; for those who run its blocks themselves. */
void exec_launch_end(struct exec_launch *l);

/* Executes the whole grid functionally. */
void exec_launch_run(struct exec_launch *l);

/* The same in pieces, so that several grids can go on in turns. The launch must outlive the run. */
struct exec_run;
struct exec_run *exec_run_new(struct exec_launch *l);
/* About so many warp instructions more; true: the grid has ended (and was counted). */
bool exec_run_some(struct exec_run *r, uint64_t instructions);
void exec_run_free(struct exec_run *r); /* NULL is allowed */
/* Warp instructions of everything that has ended, and of this run so far. */
uint64_t exec_begun(const struct exec_env *env, const struct exec_run *r);
/* To be called when blocks go on after memory may have been given back or allocated. */
void exec_memory_changed(struct exec_env *env);

struct exec_totals {
    uint64_t launches, blocks, warp_instructions, thread_instructions;
};
struct exec_totals exec_totals(const struct exec_env *env);
/* Has a launch been ended by options.max_instructions? */
bool exec_limit_reached(const struct exec_env *env);
/* What a kernel did wrong, for those who have a number for it. */
enum exec_fault_kind {
    EXEC_FAULT_NONE,
    EXEC_FAULT_ADDRESS,
    EXEC_FAULT_MISALIGNED,
    EXEC_FAULT_ASSERT,
    EXEC_FAULT_TRAP,
    EXEC_FAULT_INSTRUCTION, /* one that cannot be executed */
    EXEC_FAULT_OTHER
};
/* The last one since the last question. */
enum exec_fault_kind exec_take_fault(struct exec_env *env);
/* Bytes that device malloc may give out from now on. */
void exec_set_heap(struct exec_env *env, uint64_t bytes);
/* Ends the running launch and later ones as options.max_instructions would. May be called from a signal
 * handler. */
void exec_interrupt(struct exec_env *env);
/* Ends the running launch as options.max_instructions would: for those who run its blocks themselves. */
_Noreturn void exec_stop(struct exec_env *env);

/* ---- one block at a time, for the timing model ---- */

/* sm: what %smid answers. The block must be ended with exec_block_destroy(). */
struct exec_block *exec_block_create(struct exec_launch *l, uint64_t block_idx, uint32_t sm);
void exec_block_destroy(struct exec_block *b);
/* The block has ended: adds what it executed to the totals, then destroys it. */
void exec_block_retire(struct exec_block *b);
struct warp_source exec_block_source(struct exec_block *b);
/* Executes one instruction: OP = *out describes it. */
enum warp_step exec_warp_step(struct exec_block *b, uint32_t warp, struct warp_op *out);
bool exec_block_done(const struct exec_block *b);
/* From now on %clock and %globaltimer read the cycle that the caller keeps here; the functional runner counts
 * instructions instead. */
uint64_t *exec_block_clock(struct exec_block *b, double nanoseconds_per_cycle);
/* A number that its owner keeps with it. */
uint32_t *exec_block_place(struct exec_block *b);
/* What the warp will execute next, without executing it. */
enum warp_step exec_warp_peek(struct exec_block *b, uint32_t warp, struct warp_next *next);
/* Raises a mistake that says who waits where, when no warp of the block can go on. */
void exec_block_check_stuck(struct exec_block *b);

/* State of a block as plain bytes that can be kept, moved to another SM, and restored. */
uint64_t exec_block_state_bytes(const struct exec_block *b);
void exec_block_save(const struct exec_block *b, void *state);
struct exec_block *exec_block_restore(struct exec_launch *l, const void *state, uint32_t sm);

/* What kernels printed when options.print is NULL; ends in NUL. */
const char *exec_output(const struct exec_env *env, size_t *len);

/* ---- races on shared memory ---- */
uint64_t exec_races(const struct exec_env *env);
const char *exec_race_report(const struct exec_env *env);

#endif
