/* machine: the data structures of functional execution, private to src/exec.
 *
 *   insn ──handler(w, insn, mask)──► next insn (or NULL: the warp stops, w->state says why)
 *
 * Operand references ("ref"): a byte offset whose two lowest bits select the base: 0 = register frame of the
 * running function, 1 = constants of the environment, 2 = values that all threads of the block share
 * (values.c). Everything in each is at least 4-byte aligned.
 *
 * A block is one chunk of memory; pointers inside it are derived again by exec_block_bind() after a move:
 *
 *   exec_block │ warps │ values │ shared │ frames of warp 0, 1 … │ local memory of warp 0, 1 …
 *
 * Local memory is interleaved by word as in hardware: word k of lane l is at (k * 32 + l) * 4. */
#ifndef ATOLL_EXEC_MACHINE_H
#define ATOLL_EXEC_MACHINE_H

#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "exec/exec.h"
#include "exec/image.h"
#include "ptx/cfg.h"
#include "ptx/flow.h"

enum { LANES = LANES_COUNT };
enum { REF_BASE = 3, REF_VALUE = 2 }; /* lowest bits of a ref: all of them; of values */
enum { REF_NONE = UINT32_MAX };
enum { VALUE_BYTES = 256, VALUES_MOST = 64, SLOPES_MOST = 64 };

struct exec_warp;
struct insn;
struct exec_func;
struct race_state;

/* Returns the next instruction, or NULL when the warp cannot go on now. */
typedef const struct insn *insn_fn(struct exec_warp *w, const struct insn *i, uint32_t mask);

struct insn {
    insn_fn *fn;
    lanes_fn *lanes;
    uint32_t d, a, b, c; /* refs */
    uint32_t guard;      /* ref of a predicate; the constant `true` when there is none */
    uint32_t guard_xor;  /* ~0 for @!p */
    union {
        const struct lanes_ctx *ctx;
        struct access *access;
        const struct insn *target;
        void *extra;
    } x;
    uint32_t pc;       /* in the PTX function; of a pseudo instruction: the one it serves */
    uint8_t counted;   /* 1: an instruction of the file; 0: a helper of ours */
    uint8_t is_shared; /* of quiet: a load from shared memory */
    uint8_t is_base;   /* may change an address register of such a load */
    uint8_t quiet;     /* changes registers only and asks for no time: nobody sees when it executes;
                          enum quiet */
    const struct warp_op_info *info; /* for the timing side; NULL until the first step */
};
_Static_assert(sizeof(struct insn) <= 64, "an instruction fits a cache line");

enum { AHEAD_MOST = 64 }; /* operations of a run, see struct warp_next */

enum quiet {
    QUIET_NOT,
    QUIET_ONE,
    QUIET_RUN,  /* begins an ahead_run */
    QUIET_WHOLE /* … after which comes none that is quiet */
};

/* From an instruction of a kernel on: quiet ones of the file, one after the other and none a load, AHEAD_MOST
 * at most. */
struct ahead_run {
    uint64_t values;       /* of the block, that some of them work out; when these are known … */
    uint32_t first, count; /* … only exec_func.each[first], … need be executed */
    uint32_t length;       /* of all */
};

/* Lanes of a 64-bit register at even distances: base + lane * step, see slopes.c. */
struct slope {
    uint64_t base, step;
    uint32_t lanes; /* that it holds for */
};

/* One static access to memory. */
struct access {
    uint64_t lo, limit;  /* address - lo < limit: the whole access lies where it may, no lookup needed */
    int64_t offset;      /* added to the address register */
    uint32_t address;    /* ref; not used when is_constant */
    uint32_t slope;      /* of that register, in the frame; REF_NONE: it has none */
    insn_fn *by_lanes;   /* slope: the handler of other addresses */
    uint8_t space;       /* enum ptx_space; PARAM of a .func has become LOCAL */
    uint8_t log2_bytes;  /* of an element */
    uint8_t count;       /* elements */
    bool address64;      /* width of the address register */
    bool is_constant;    /* address = offset for every lane */
    bool frame_relative; /* local: add the base of the running frame */
    bool uniform;        /* every lane has the same address */
    bool sign;           /* sign-extending load */
    bool strong;         /* volatile, relaxed, ...: what a spin loop reads */
    bool is_store;
    uint8_t op, type; /* atomics: enum ptx_sub, ptx_type */
    uint32_t reg[8];  /* refs of the elements; UINT32_MAX: sink */
    bool reg64[8];    /* width of their arrays (reg128 when count elements of 16 bytes) */
    uint32_t b, c;    /* atomics: refs of sources */
    bool b64;
};

/* ---- code ---- */

/* The stack that a function and what it calls need. */
struct exec_depth {
    uint64_t frames, local; /* bytes: registers of a warp, local memory of a thread */
    bool deep;              /* no bound that the code shows: recursion, indirect calls */
    enum { DEPTH_UNKNOWN, DEPTH_ASKED, DEPTH_KNOWN } state;
};

struct exec_func {
    struct exec_env *env;
    const struct ptx_func *ptx;
    struct insn *code;
    uint32_t code_count;
    struct ahead_run *runs; /* by instruction; NULL until infos are made */
    const struct insn *
        *each;             /* quiet instructions of the file that every warp executes for itself, in order */
    uint32_t *index_of_pc; /* ptx pc -> index in code of its first insn; n_instrs -> epilogue */
    uint32_t frame_bytes;  /* registers of one activation */
    uint64_t local_bytes;  /* .local and .param of one activation, multiple of 16 */
    uint64_t arg_offset;   /* of the .param part in it */
    uint32_t regs_offset[PTX_REG_CLASS_COUNT];
    uint32_t *values; /* refs by register, see values.c; REF_NONE: no such register */
    uint32_t value_count;
    uint32_t *slopes; /* by register, numbered, see slopes.c; REF_NONE: kept as an array */
    uint32_t slope_count, slopes_offset;
    uint32_t temp_offset; /* scratch registers: FUNC_TEMPS x 512 bytes */
    struct ptx_cfg *cfg;
    struct ptx_slots *slots;
    struct ptx_uniform *uniform;
    struct access **accesses;
    uint32_t access_count;
    struct exec_depth depth;
};
enum { FUNC_TEMPS = 6, FUNC_TEMP_BYTES = 512 };

/* At the start of the frame of a .func: where each lane goes back to. */
struct frame_header {
    uint64_t call[LANES]; /* const struct insn * of the call */
    uint32_t caller_frame[LANES], caller_local[LANES];
};

struct call_site {
    const struct exec_func *caller;
    struct exec_kernel *kernel;
    const char *name;              /* of a direct call */
    const struct ptx_func *callee; /* NULL: indirect or builtin */
    struct exec_func *callee_code; /* lowered at the first call */
    uint32_t builtin;              /* enum exec_builtin */
    uint32_t target;               /* ref of the function pointer */
    uint32_t n_args, n_rets;
    struct call_value {
        bool is_param; /* .param variable at offset of the caller's frame, else a register */
        uint64_t offset;
        uint32_t bytes;
        uint32_t reg; /* ref */
        uint8_t reg_class;
    } * args, *rets;
};

struct exec_kernel {
    struct map
        funcs; /* ptx_func -> exec_func: lowered per kernel, because shared memory is laid out per kernel */
    struct exec_func *func;
    struct ptx_shared_layout *shared;
    bool has_calls;
    bool reads_undefined; /* registers are cleared for each block: some may be read before they are written */
    uint64_t frame_bytes, local_bytes; /* stack of one warp: registers; local memory of one thread */
    bool deep; /* recursion or indirect calls: the stacks are reserved, not committed */
};

/* ---- a warp ---- */

enum split_state { SPLIT_READY, SPLIT_BARRIER, SPLIT_SYNC, SPLIT_WARP_BARRIER };

/* Lanes at the same place. */
struct split {
    const struct insn *pc;
    uint32_t mask;
    uint32_t frame, local; /* offsets of the running frame */
    uint32_t need;         /* SYNC, WARP_BARRIER: lanes waited for */
    int8_t join;           /* record where these lanes meet others, -1: none */
    uint8_t state;
    uint8_t barrier;
};

/* Lanes that parted and meet at pc (in frame). */
struct join {
    const struct insn *pc;
    uint32_t frame, local;
    uint32_t expected, arrived;
    int8_t parent;
};

enum { JOINS_MAX = 64 };
enum { PATIENCE_START = 1024, PATIENCE_LEAST = 16 };

enum warp_state { WARP_RUNNING, WARP_BLOCKED, WARP_DONE };

/* What every instruction looks at lies in its first cache line, what most do in the second. */
struct exec_warp {
    _Alignas(64) uint8_t *base[3]; /* register frame, constants - 1, values of the block - 2 */
    const struct insn *pc;         /* while not running */
    struct exec_block *block;
    struct exec_env *env;
    uint32_t mask;   /* running lanes */
    uint32_t frame;  /* offset of the running frame */
    uint8_t state;   /* enum warp_state */
    uint8_t running; /* split */
    bool divergent;  /* more than the running split: others ready, waiting or joined */
    int32_t budget;  /* instructions left in this turn */

    uint64_t warp_instructions, thread_instructions;
    const struct insn *join_pc; /* of the running lanes; NULL: none */
    uint32_t join_frame;
    uint32_t local_base; /* of the running frame */
    uint8_t *shared;
    uint64_t shared_bytes;
    uint32_t live;        /* lanes not ended */
    uint32_t carry;       /* CC.CF of each lane */
    uint32_t spin;        /* strong loads and atomics since the last backward branch that counted */
    uint32_t ahead_count; /* operations of the latest run */

    uint8_t *local, *frames;
    uint64_t frames_bytes, local_bytes; /* limits */
    uint32_t present;                   /* lanes that exist */
    uint32_t idx;                       /* in the block */
    uint32_t patience, patience_start;
    uint32_t used;       /* splits in use, the running one included */
    uint32_t sync_epoch; /* racecheck: warp-level barriers passed */
    uint64_t joins_used;
    struct warp_next kept; /* what warp_source.keep() gave back; run 0: nothing; the last that begins as 0 */
    uint8_t ahead_cycles[AHEAD_MOST]; /* of its loads from shared memory, see warp_next.cycles */
    struct split splits[LANES];
    struct join joins[JOINS_MAX];
};

struct barrier {
    uint32_t expected; /* threads; 0: all that live */
    uint32_t arrived;
    uint32_t waiting; /* threads among them that wait */
    uint32_t popc;
    bool all, any;
};

struct exec_block {
    _Alignas(64) struct exec_launch *launch; /* the first cache line: what instructions look at */
    struct exec_env *env;
    uint64_t cycle; /* set by the timing model */
    uint64_t woken;
    uint64_t instructions; /* executed by this block */
    uint32_t runnable;     /* warps that can go on */
    uint32_t done;         /* warps that have ended */
    uint32_t turn;         /* warp that ran last */
    uint32_t warp_count;
    uint64_t values_known; /* a bit for each that was worked out */

    uint64_t chunk_bytes, block_idx;
    uint32_t ctaid[3];
    uint32_t sm;
    uint32_t place; /* see exec_block_place() */
    uint32_t live_threads;
    uint32_t epoch;         /* racecheck: barriers completed */
    uint32_t barriers_used; /* a bit for each that somebody has arrived at */
    bool timed;
    double nanoseconds_per_cycle;
    struct race_state *race;
    uint64_t values_offset, shared_offset, frames_offset, local_offset; /* in the chunk */
    struct barrier barriers[16];
    struct exec_warp warps[];
};

/* ---- the environment ---- */

struct exec_env {
    struct devmem *memory;
    struct exec_options options;
    struct arena arena;
    uint8_t *constants; /* reserved range */
    uint64_t constants_bytes, constants_reserved;
    struct map constant32, constant64;
    const struct ptx_program *program;
    struct map variables; /* definition -> device address */
    struct map kernels;   /* ptx_func -> exec_kernel */
    struct ptx_func **code_handles;
    uint32_t code_handle_count, code_handle_capacity;
    struct exec_func **func_list; /* for resetting ranges */
    uint32_t func_count, func_capacity;
    uint32_t generation; /* of memory when ranges were reset last */
    uint64_t heap_used;
    struct image_table *images;
    uint64_t *texels; /* simulated addresses of the fetch that is being described */
    struct exec_totals totals;
    bool limit_reached; /* options.max_instructions */
    enum exec_fault_kind fault;
    char *output;
    size_t output_len, output_cap;
    struct race_log *races;
    struct chunk_size *chunks;        /* memory of resident blocks, by size */
    const struct exec_launch *launch; /* running */
    struct exec_child *child_buffers; /* given out, not launched */
    uint32_t child_error;
    uint64_t child_handles;
    exec_group_fn *group;
    void *group_user;
};

/* ---- small things that handlers use ---- */

static inline uint8_t *ref_at(const struct exec_warp *w, uint32_t ref)
{
    return w->base[ref & REF_BASE] + ref;
}

static inline uint32_t lowest_lane(uint32_t mask) { return (uint32_t)__builtin_ctz(mask); }

/* Without a popcnt instruction the library's function is 21 host instructions; most masks are full. */
static inline uint32_t lanes_in(uint32_t mask)
{
    if (mask == LANES_ALL) return LANES;
    mask -= mask >> 1 & 0x55555555;
    mask = (mask & 0x33333333) + (mask >> 2 & 0x33333333);
    return ((mask + (mask >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

#define FOR_LANES(lane, mask) \
    for (uint32_t left_##lane = (mask), lane; left_##lane && (lane = lowest_lane(left_##lane), 1); \
         left_##lane &= left_##lane - 1)

/* refs of constants every environment has */
enum { CONST_TRUE = 1, CONST_FALSE = 65, CONST_LANEID = 129, CONST_FIRST = 256 };

/* fault.c */
_Noreturn void exec_fault(const struct exec_warp *w, const struct insn *i, uint32_t lane, const char *format,
                          ...) __attribute__((format(printf, 4, 5)));
_Noreturn void exec_fault_address(const struct exec_warp *w, const struct insn *i, uint32_t lane,
                                  const struct access *s, uint64_t address, uint32_t space);
const struct exec_func *exec_func_of(const struct exec_env *env, const struct insn *i);
/* "tex.2d.v4.f32.f32", as the file has it. */
const char *exec_spelling(const struct exec_env *env, const struct insn *i);
_Noreturn void exec_stuck(const struct exec_block *b);
_Noreturn void exec_out_of_budget(const struct exec_block *b);

/* split.c */
void split_start(struct exec_warp *w, const struct insn *pc, uint32_t lanes);
const struct insn *split_branch(struct exec_warp *w, uint32_t taken, const struct insn *to,
                                const struct insn *next, const struct insn *join);
const struct insn *split_targets(struct exec_warp *w, const uint64_t *target, uint32_t mask,
                                 const struct insn *next, const struct insn *join);
const struct insn *split_rotate(struct exec_warp *w, const struct insn *pc);
const struct insn *split_next(struct exec_warp *w);
const struct insn *split_exit(struct exec_warp *w, const struct insn *i, uint32_t lanes);
void split_off(struct exec_warp *w, uint32_t lanes, const struct insn *pc, const struct insn *join);
void split_wait(struct exec_warp *w, const struct insn *pc, enum split_state state, uint32_t need,
                uint32_t barrier);
void split_wake(struct exec_warp *w, uint32_t split, const struct insn *pc);
insn_fn h_join;

/* sync.c */
void barrier_check(struct exec_block *b, uint32_t id);
void sync_check(struct exec_warp *w);
insn_fn h_bar, h_bar_warp, h_collective, h_fence, h_nanosleep, h_mbarrier;
/* Makes the collective op complete; called by sync_check with the union of the waiting lanes. */
/* The 64-bit word of an mbarrier after bytes more have arrived. */
bool atom_supports(uint32_t op, uint32_t type);
uint64_t mbarrier_complete_tx(uint64_t word, uint32_t bytes);
const struct insn *collective_run(struct exec_warp *w, const struct insn *i, uint32_t mask);

/* memory.c; memory_body.h is compiled per instruction set */
struct memory_handlers {
    insn_fn *load[2][2][2]; /* [shared][address64][8 bytes]: elements of 4 or 8 bytes, count 1 */
    insn_fn *store[2][2][2];
    /* Addresses of 32 lanes in groups of eight that follow each other by 2^log2_bytes or are the same:
     * those of lanes 0, 8, 16, 24 into base. Returns UINT32_MAX when they are not like that, else a bit for
     * each group that follows. */
    uint32_t (*groups[2])(const void *address, uint32_t log2_bytes, uint64_t base[4]); /* [64 bits] */
    /* To to[lane]: origin + address[lane] + delta, of all lanes. Returns the bits that a sum of the latter
     * two has. */
    uint64_t (*shift_addresses)(const uint64_t *address, uint64_t delta, uint64_t origin, uint64_t *to);
    /* Loads elements of 4 or 8 bytes of all lanes in such groups. */
    void (*load_groups[2])(const uint8_t *from, const uint64_t base[4], uint32_t unit, uint8_t *to);
    /* Shared or global, addresses of any width: two elements of 4 bytes, four of them, two of 8. */
    insn_fn *load_vector[3], *store_vector[3];
    /* Loads such vectors of all lanes in groups that follow each other by whole vectors or are the same. */
    void (*load_vector_groups)(const struct exec_warp *w, const struct access *s, const uint8_t *from,
                               const uint64_t base[4], uint32_t unit);
};
extern const struct memory_handlers memory_plain, memory_avx2;
insn_fn h_load, h_store, h_load_param, h_load_variable, h_local_load, h_local_store, h_atom, h_copy_async,
    h_prefetch;
/* One lane, checked and slow; address includes the offset of the access. */
void access_load_lane(struct exec_warp *w, const struct insn *i, struct access *s, uint32_t lane,
                      uint64_t address);
void access_store_lane(struct exec_warp *w, const struct insn *i, struct access *s, uint32_t lane,
                       uint64_t address);
/* Address of a lane as the program sees it, with the offset; a frame-relative one is made absolute in the
 * local space. */
uint64_t access_address(const struct exec_warp *w, const struct access *s, uint32_t lane);
/* Host pointer of [address, +bytes) for one lane, checked; *actual gets the space behind a generic address.
 * Local memory is interleaved: the pointer is that of the first word, others stand 128 bytes apart. */
uint8_t *access_pointer(struct exec_warp *w, const struct insn *i, struct access *s, uint32_t lane,
                        uint64_t address, uint32_t bytes, uint32_t *actual);
void access_reset(struct exec_env *env);
/* Bytes of a lane's memory at a generic address (strings, printf arguments); no alignment. */
void lane_read(struct exec_warp *w, const struct insn *i, uint32_t lane, uint64_t generic, void *to,
               uint32_t bytes);
void lane_write(struct exec_warp *w, const struct insn *i, uint32_t lane, uint64_t generic, const void *from,
                uint32_t bytes);
void local_read(const struct exec_warp *w, uint32_t lane, uint64_t address, void *to, uint32_t bytes);
void local_write(const struct exec_warp *w, uint32_t lane, uint64_t address, const void *from,
                 uint32_t bytes);

/* call.c, builtin.c */
enum exec_builtin {
    BUILTIN_NONE,
    BUILTIN_VPRINTF,
    BUILTIN_MALLOC,
    BUILTIN_FREE,
    BUILTIN_ASSERTFAIL,
    BUILTIN_CHILD_BUFFER,
    BUILTIN_CHILD_LAUNCH,
    BUILTIN_CHILD_ERROR,      /* cudaGetLastError */
    BUILTIN_CHILD_PEEK_ERROR, /* cudaPeekAtLastError */
    BUILTIN_CHILD_HANDLE,     /* makes a stream or an event */
    BUILTIN_CHILD_NOTHING     /* gives one back, records, waits: see child.c */
};
insn_fn h_call, h_return;
enum exec_builtin builtin_find(const char *name);
void builtin_call(struct exec_warp *w, const struct insn *i, uint32_t mask, const struct call_site *call);
void exec_print(struct exec_env *env, const char *text, size_t len);

/* sreg.c */
insn_fn h_sreg;
bool sreg_is_constant(uint32_t sreg);

/* matrix.c */
insn_fn h_matrix;

/* texture.c */
insn_fn h_texture, h_surface, h_image_query, h_istypep;
/* The memory side of a fetch or surface access, for the timing model. */
void texture_describe(struct exec_warp *w, const struct insn *i, struct warp_op *out);
void surface_describe(struct exec_warp *w, const struct insn *i, struct warp_op *out);

/* lower.c */
struct exec_func *exec_lower(struct exec_env *env, struct exec_kernel *kernel, const struct ptx_func *f);
uint32_t exec_constant32(struct exec_env *env, uint32_t value);
uint32_t exec_constant64(struct exec_env *env, uint64_t value);
uint64_t exec_symbol_address(struct exec_env *env, const struct ptx_symbol *symbol, bool generic);
uint64_t exec_code_handle(struct exec_env *env, struct ptx_func *f);
struct ptx_func *exec_code_of(const struct exec_env *env, uint64_t handle);

/* block.c */
void exec_block_bind(struct exec_block *b);
uint64_t exec_chunk_bytes(const struct exec_launch *l);
/* Runs a warp for at most budget instructions. */
void exec_warp_run(struct exec_warp *w, uint32_t budget);

/* chunk.c; NULL: there is no more memory. What is in a chunk is whatever was there before. */
void *chunk_take(struct exec_env *env, uint64_t bytes);
void chunk_give(struct exec_env *env, void *chunk, uint64_t bytes);
void chunks_free(struct exec_env *env);

/* race.c */
struct race_state *race_start(struct exec_env *env, uint64_t shared_bytes);
void race_end(struct race_state *r);
void race_reset(struct race_state *r);
void race_access(struct exec_warp *w, const struct insn *i, uint32_t lane, uint64_t address, uint32_t bytes,
                 bool write, bool atomic);
void race_log_free(struct race_log *log);

#endif
