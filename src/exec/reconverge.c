/* reconverge: where lanes of a kernel meet again, without regard to lanes that leave.
 *
 * A strict post-dominator lies on every way to the end. `if (a) { if (b) return; … }  L:` has none before the
 * end of the kernel, because of the return, and the lanes that part at `a` would never meet again. Lanes that
 * end are not waited for anyway (split.c), so only ways to the last end of the kernel count here; ways that
 * end earlier constrain nothing. Written into the graph before uniformity is computed, which builds on the
 * same places. */
#include "exec/lower.h"
#include "ptx/dom.h"

/* The last block that ends the kernel for all its lanes. */
static uint32_t last_end(const struct ptx_cfg *cfg)
{
    for (uint32_t b = cfg->n_blocks; b-- > 0;) {
        const struct ptx_block *x = &cfg->blocks[b];
        if (x->rpo == PTX_NO_INDEX || !x->to_exit) continue;
        const struct ptx_instr *last = &cfg->func->instrs[x->end - 1];
        if (last->guard == PTX_NO_REG && last->op != PTX_OP_TRAP) return b;
    }
    return PTX_NO_BLOCK;
}

void exec_relax_joins(struct arena *arena, struct ptx_cfg *cfg)
{
    const uint32_t n = cfg->n_blocks, end = last_end(cfg);
    if (end == PTX_NO_BLOCK) return;
    /* The graph backwards: successors are predecessors. */
    uint32_t *out_start = ARENA_ARRAY(arena, uint32_t, n + 1),
             *in_start = ARENA_ARRAY(arena, uint32_t, n + 1);
    uint32_t edges = 0;
    for (uint32_t b = 0; b < n; b++) edges += cfg->blocks[b].n_succs;
    uint32_t *out = ARENA_ARRAY(arena, uint32_t, edges + 1), *in = ARENA_ARRAY(arena, uint32_t, edges + 1);
    uint32_t at_out = 0, at_in = 0;
    for (uint32_t b = 0; b < n; b++) {
        const struct ptx_block *x = &cfg->blocks[b];
        out_start[b] = at_out;
        for (uint32_t k = 0; k < x->n_preds; k++) out[at_out++] = cfg->preds[x->first_pred + k];
        in_start[b] = at_in;
        for (uint32_t k = 0; k < x->n_succs; k++)
            if (cfg->succs[x->first_succ + k] < n) in[at_in++] = cfg->succs[x->first_succ + k];
    }
    out_start[n] = at_out;
    in_start[n] = at_in;
    const struct ptx_graph g = {
        .n_nodes = n, .out_start = out_start, .out = out, .in_start = in_start, .in = in};
    uint32_t *idom = ARENA_ARRAY(arena, uint32_t, n),
             *scratch = ARENA_ARRAY(arena, uint32_t, PTX_DOM_SCRATCH(n));
    ptx_dominators(&g, end, idom, scratch);
    for (uint32_t b = 0; b < n; b++) cfg->blocks[b].ipdom = idom[b] == UINT32_MAX ? PTX_NO_BLOCK : idom[b];
}
