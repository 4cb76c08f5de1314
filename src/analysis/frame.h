/* frame: what both analyses need to know of a function, made once: control flow, definitions, and its memory
 * of its own: which registers hold the address of a .local or .param variable plus a constant, and the slots
 * of these variables that are accessed so (at -O0 every variable of the program is such a slot).
 *
 * Ownership: all in the arena of the cache. */
#ifndef ATOLL_ANALYSIS_FRAME_H
#define ATOLL_ANALYSIS_FRAME_H

#include "base/arena.h"
#include "base/map.h"
#include "ptx/flow.h"

struct frame_def {
    uint32_t block;
    struct frame_def *next;
};

/* Bytes of a .local or .param variable that loads and stores name by a constant address. */
struct frame_slot {
    uint32_t symbol; /* of the module */
    int64_t offset;
    uint32_t bytes, stored_bytes; /* most of any access; of every store, 0: none yet */
    bool mixed; /* stored with several sizes, loaded with more, or another slot lies over it: not followed */
    struct frame_def *defs; /* blocks that store to it */
};

struct frame_address {
    uint32_t symbol; /* PTX_NO_INDEX: not a constant address */
    int64_t offset;
};

struct frame {
    const struct ptx_func *func;
    const struct ptx_cfg *cfg;
    const struct ptx_defuse *du;
    uint32_t *block_of;       /* by pc */
    bool *retreats;           /* by block: some edge into it comes from later */
    struct frame_address *at; /* by register */
    struct frame_slot *slots;
    uint32_t n_slots;
    struct map slot_of; /* symbol << 32 | offset (low 32 bits) > slot + 1 */
};

struct frame_cache {
    struct arena *arena;
    struct map frames; /* ptx_func > frame */
};

void frame_cache_init(struct frame_cache *c, struct arena *arena);
void frame_cache_free(struct frame_cache *c);
const struct frame *frame_of(struct frame_cache *c, const struct ptx_func *func);

/* The constant address in memory of the function's own that an operand names: [sym + 8], [%SP + 8]. */
bool frame_address_of(const struct frame *f, const struct ptx_operand *o, struct frame_address *at);
/* The same of a parameter of the kernel: [param + 8], or through a register (a structure passed by value). */
bool frame_param_of(const struct frame *f, const struct ptx_operand *o, struct frame_address *at);
/* PTX_NO_INDEX: none. */
uint32_t frame_slot_at(const struct frame *f, uint32_t symbol, int64_t offset);
/* Is the block in the natural loop (of the cfg)? */
bool frame_in_loop(const struct ptx_cfg *cfg, uint32_t block, uint32_t loop);
/* A function of the simulator that writes no memory of the program. */
bool frame_is_harmless(const char *function);
/* .local of a function, .param of a call sequence, or a formal of a .func: memory of the activation. */
bool frame_owns(const struct frame *f, uint32_t symbol);

#endif
