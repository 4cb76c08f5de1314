/* cfg: control-flow graph of one function, dominators, post-dominators, natural loops.
 *
 * A block ends after bra, brx.idx, ret, exit, trap (guarded or not) and before a label that is a target.
 * Calls do not end a block. Everything is near-linear in instructions and edges.
 *
 * Ownership: all in the arena given. Read-only afterwards. */
#ifndef ATOLL_PTX_CFG_H
#define ATOLL_PTX_CFG_H

#include "ptx/ir.h"

#define PTX_NO_BLOCK UINT32_MAX /* also: the virtual exit */

struct ptx_block {
    uint32_t first, end; /* instructions [first, end) */
    uint32_t first_succ, n_succs;
    uint32_t first_pred, n_preds;
    uint32_t idom;            /* immediate dominator; PTX_NO_BLOCK: entry block or unreachable */
    uint32_t ipdom;           /* immediate post-dominator; PTX_NO_BLOCK: only the exit */
    uint32_t loop;            /* innermost natural loop, PTX_NO_INDEX: none */
    uint32_t rpo;             /* position in reverse post-order, PTX_NO_INDEX: unreachable */
    uint32_t dom_in, dom_out; /* interval numbering of the dominator tree, see ptx_dominates() */
    bool to_exit;             /* has an edge to the exit (ret, exit, trap) */
};

struct ptx_loop {
    uint32_t header; /* block */
    uint32_t parent; /* loop, PTX_NO_INDEX: outermost */
    uint32_t depth;  /* 1: outermost */
};

struct ptx_cfg {
    const struct ptx_func *func;
    struct ptx_block *blocks;
    uint32_t *succs, *preds; /* pools of block numbers; taken branch first, then fall-through */
    uint32_t *rpo;           /* reachable blocks in reverse post-order */
    struct ptx_loop *loops;  /* outer before inner */
    uint32_t n_blocks, n_rpo, n_loops;
    bool irreducible; /* some cycle has no single header: it is in no loop */
};

struct ptx_cfg *ptx_cfg_build(struct arena *arena, const struct ptx_func *func);

/* Block of an instruction (binary search). */
uint32_t ptx_block_of(const struct ptx_cfg *cfg, uint32_t pc);
/* Where the lanes that part at the branch `pc` meet again: a pc, or n_instrs when only at the end. */
uint32_t ptx_reconvergence(const struct ptx_cfg *cfg, uint32_t pc);
/* a dominates b (a == b counts); false when either is unreachable. */
bool ptx_dominates(const struct ptx_cfg *cfg, uint32_t a, uint32_t b);

#endif
