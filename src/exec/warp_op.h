/* warp_op: one warp instruction as the timing model sees it, and where such instructions come from.
 *
 *   PTX execution ─┐
 *   synthetic ─────┼── source.step(warp, &op) ──► SM: scoreboard, units, coalescer, L1 …
 *   trace ─────────┘
 *
 * The consumer asks for one operation when it issues it: values are produced at that moment (DESIGN decision
 * 1), so the order of steps is the order of side effects. It never dereferences an address: addresses are
 * simulated ones (global, constant, local) or offsets (shared). */
#ifndef ATOLL_EXEC_WARP_OP_H
#define ATOLL_EXEC_WARP_OP_H

#include <stdbool.h>
#include <stdint.h>

enum warp_class {
#define WARP_CLASS(name, text, help) WARP_CLASS_##name,
#include "exec/warp_classes.def"
    WARP_CLASS_COUNT
};

const char *warp_class_name(enum warp_class c);

/* Where an access goes. Generic accesses are resolved before they get here. */
enum warp_space {
    WARP_SPACE_NONE,
    WARP_SPACE_GLOBAL,
    WARP_SPACE_CONST,
    WARP_SPACE_LOCAL,
    WARP_SPACE_SHARED,
    WARP_SPACE_PARAM, /* kernel parameters: the constant cache */
    WARP_SPACE_COUNT
};

enum warp_scope { WARP_SCOPE_NONE, WARP_SCOPE_CTA, WARP_SCOPE_CLUSTER, WARP_SCOPE_GPU, WARP_SCOPE_SYS };

/* order and cache flags of an access or fence */
enum {
    WARP_F_ACQUIRE = 1 << 0,
    WARP_F_RELEASE = 1 << 1,
    WARP_F_STRONG = 1 << 2,    /* relaxed, volatile and above: bypasses the L1 */
    WARP_F_READ_ONLY = 1 << 3, /* ld.global.nc: the program's own promise; requests go by warp_op.read_only */
    WARP_F_CACHE_L2 = 1 << 4,  /* .cg, .cv */
    WARP_F_STREAM = 1 << 5,    /* .cs, .lu, evict_first */
    WARP_F_UNIFORM = 1 << 6,   /* every active lane computes the same */
    WARP_F_INSIDE = 1 << 7     /* nobody outside of the block can notice when it executes */
};

enum { WARP_OP_REGS_MAX = 24 };

/* The part that is the same at every execution. Lives as long as the kernel. */
struct warp_op_info {
    /* The registers of dst and src when they are at most four, modulo 256, one of them repeated to make four;
     * sealed: they stand here, see warp_op_seal(). */
    uint8_t any[4];
    uint8_t sealed; /* WARP_SEAL_ */
    uint8_t class;  /* enum warp_class */
    uint8_t space;  /* enum warp_space; NONE: not an access, or generic (then see warp_op.space) */
    uint8_t scope;  /* enum warp_scope */
    uint8_t flags;  /* WARP_F_ */
    uint8_t dst_count, src_count;
    uint8_t
        detail; /* what an execution adds to the info: address, barrier, sleep; for the source's own use */
    uint16_t bytes;           /* per lane, all elements of a vector together */
    uint16_t read_only_group; /* loads that a launch finds read-only together (ld.global.ro); 0: never */
    uint32_t pc, line;        /* place in the kernel: instruction index and PTX line */
    _Alignas(8) uint16_t dst[WARP_OP_REGS_MAX];
    uint16_t src[WARP_OP_REGS_MAX]; /* registers of the scoreboard; guard included */
    uint64_t unused;                /* an index is a shift */
};
_Static_assert(sizeof(struct warp_op_info) == 128, "two cache lines");

enum {
    WARP_SEAL_ANY = 1 << 0,  /* any: as it says there */
    WARP_SEAL_TWO = 1 << 1,  /* in a run all but the first two are known to be there */
    WARP_SEAL_LIKE = 1 << 2, /* class and space are those of the info before it */
};

/* For sources: once an info has its registers. Who does not call it is only slower. */
static inline void warp_op_seal(struct warp_op_info *info)
{
    const uint32_t count = (uint32_t)info->dst_count + info->src_count;
    info->sealed = count > 0 && count <= 4 ? WARP_SEAL_ANY : 0;
    for (uint32_t k = 0; k < 4 && info->sealed & WARP_SEAL_ANY; k++) {
        const uint32_t at = k < count ? k : count - 1;
        info->any[k] = (uint8_t)(at < info->dst_count ? info->dst[at] : info->src[at - info->dst_count]);
    }
}

struct warp_op {
    const struct warp_op_info *info;
    uint32_t active;   /* lanes at this instruction */
    uint32_t mask;     /* lanes that execute it: active and guard */
    uint32_t reg_base; /* add to info->dst and info->src (call frames) */
    uint8_t space;     /* enum warp_space of the access */
    uint8_t barrier;   /* BARRIER: which, 0-15; 255 = of the warp */
    uint8_t read_only; /* a load of data that no thread writes while the kernel runs (ld.global.ro) */
    uint8_t spilled;   /* a generic access whose lanes lie in several spaces: lanes of other spaces are not in
                          mask */
    uint8_t grouped;   /* addresses stand in base, not in address; then mask has all lanes */
    uint8_t unit;      /* grouped: bit g: lanes 8g ... 8g + 7 follow each other; else they have one address */
    uint32_t sleep_ns; /* WAIT: nanosleep */
    /* TEXTURE: what all lanes together touch, instead of address[]; holds until the next step of any warp */
    uint16_t texel_count;
    uint8_t texel_bytes;
    const uint64_t *texels;
    uint64_t base[4];     /* grouped: address of lanes 0, 8, 16, 24 */
    uint64_t address[32]; /* of each lane in mask */
};

/* Of a lane in mask. */
static inline uint64_t warp_op_address(const struct warp_op *op, uint32_t lane)
{
    if (!op->grouped) return op->address[lane];
    return op->base[lane / 8] + (op->unit >> lane / 8 & 1 ? (uint64_t)(lane % 8) * op->info->bytes : 0);
}

enum warp_step {
    WARP_STEP_OP,   /* *out is filled, the instruction has been executed */
    WARP_STEP_WAIT, /* the warp waits (barrier, other lanes); ask again after warp_source.woken names it */
    WARP_STEP_DONE  /* the warp has ended */
};

/* What a warp will execute next: known before it is executed, so that it can wait for its registers. */
struct warp_next {
    const struct warp_op_info *info;
    uint32_t reg_base;
    /* Not 0: that many operations (at most 255) from this one on have been executed already, because nobody
     * could tell when they were: infos that follow each other in memory, the same lanes, no step() for them.
     * They change registers only; weak loads from shared memory may be among them, because a program may not
     * care whether these are executed when they issue or after whatever of the warp came before; so may
     * branches (CONTROL) that no lane takes. After them comes `after`; NULL: ask peek(). */
    uint32_t run;
    uint32_t run_mask;
    const struct warp_op_info *after;
    /* Loads from shared memory in it: bank cycles of the operation with which r operations are left are in
     * cycles[-r]. Holds until the run has been issued. */
    const uint8_t *cycles;
};

/* A resident block of warps, whatever it executes. */
struct warp_source {
    /* What the warp executes next: OP = *next is filled. Nothing has been executed but a run, if it tells
     * one. */
    enum warp_step (*peek)(void *self, uint32_t warp, struct warp_next *next);
    /* Executes what peek told, describes it, and tells what comes after it as peek would. */
    enum warp_step (*step)(void *self, uint32_t warp, struct warp_op *out, struct warp_next *next);
    /* Takes back the part of a run that was not issued; peek() tells it again. NULL: there are no runs. */
    void (*keep)(void *self, uint32_t warp, const struct warp_next *rest);
    uint64_t *woken; /* warps of the block that stopped waiting, as a bit mask; whoever reads it clears it */
    void *self;
};

#endif
