/* flow: data flow of one function over its control-flow graph: def-use chains, liveness, slots, uniformity.
 *
 * Ownership: all in the arena given. Read-only afterwards. */
#ifndef ATOLL_PTX_FLOW_H
#define ATOLL_PTX_FLOW_H

#include "ptx/cfg.h"

/* ---- where each register is written and read (every mention, in pc order) ---- */
struct ptx_defuse {
    uint32_t *def_start; /* defs of register r: defs[def_start[r] .. def_start[r+1]) */
    uint32_t *defs;      /* pcs */
    uint32_t *use_start;
    uint32_t *uses;
};
struct ptx_defuse *ptx_defuse_build(struct arena *arena, const struct ptx_func *func);

/* For each use, the definitions that reach it (what a symbolic analysis walks). Registers with one
 * definition answer at once; others by a search within blocks and then over predecessors.
 * Fills up to cap pcs, returns how many there are; PTX_NO_INDEX among them: maybe undefined (entry). */
struct ptx_reaching;
struct ptx_reaching *ptx_reaching_start(struct arena *arena, const struct ptx_cfg *cfg,
                                        const struct ptx_defuse *du);
uint32_t ptx_reaching_defs(struct ptx_reaching *r, uint32_t reg, uint32_t use_pc, uint32_t *defs,
                           uint32_t cap);

/* ---- liveness and slots ---- */
struct ptx_slots {
    uint32_t *slot;                         /* of each register, within its class; PTX_NO_INDEX: never used */
    uint32_t n_slots[PTX_REG_CLASS_COUNT];  /* storage needed per class */
    uint32_t max_live[PTX_REG_CLASS_COUNT]; /* most registers of the class live at one pc */
    uint32_t max_live_32;                   /* most 32-bit registers live at one pc: a 64-bit one counts two,
                                               a 128-bit one four, predicates none. For the occupancy model */
    uint32_t max_live_pc;
    bool reads_undefined; /* on some path a register is read that was not written before */
};
/* Two registers share a slot only if no path has both live: storage per lane stays right under divergence,
 * because liveness holds for each lane by itself. Storage that lanes share (a uniform value kept once) may
 * NOT rely on slots: two lane groups of a warp can be at places where different registers are live. */
struct ptx_slots *ptx_slots_build(struct arena *arena, const struct ptx_cfg *cfg,
                                  const struct ptx_defuse *du);

/* ---- uniformity ---- */
struct ptx_uniform {
    /* Register: the lanes that execute a definition of it together always write the same value, and every
     * use reads the same value in all lanes that execute the use together. "Together" = lanes that parted
     * at a branch and met again only at its reconvergence point. Compute once, broadcast. */
    uint8_t *reg; /* by register: 1 = uniform */
    /* Branch, guard or address: all operands that decide it are uniform. */
    uint8_t
        *instr; /* by pc: 1 = same result (or same way, same address) for all lanes executing it together */
    /* Block: no divergent branch stands between the start and here: all lanes of the warp that have not
     * left the kernel (or wait at a block that does nothing but leave) are here together. */
    uint8_t *block_convergent; /* by block */
};
/* args_uniform: a kernel (its parameters are uniform); false for a .func whose callers are unknown. */
struct ptx_uniform *ptx_uniform_build(struct arena *arena, const struct ptx_cfg *cfg,
                                      const struct ptx_defuse *du, bool args_uniform);

#endif
