/* live (private to src/ptx): where one register is live, by walking back from its uses.
 *
 * Cost = the blocks where registers are live, not blocks times registers. A budget bounds it: when it is
 * spent, a register counts as live everywhere, which is safe for every user. */
#ifndef ATOLL_PTX_LIVE_H
#define ATOLL_PTX_LIVE_H

#include "base/arena.h"
#include "ptx/flow.h"

struct ptx_live {
    const struct ptx_cfg *cfg;
    const struct ptx_defuse *du;
    uint32_t *block_of; /* by pc */
    uint32_t *seen;     /* by block: register + 1 for which it is live-in */
    uint32_t *out_seen; /* by block: register + 1 for which it is live-out */
    uint32_t *stack;
    uint32_t n_formal; /* registers below it are .reg parameters or returns: the caller reads and writes them,
                          so they are live throughout */
    uint64_t budget;
    struct arena work;
};

void ptx_live_start(struct ptx_live *l, const struct ptx_cfg *cfg, const struct ptx_defuse *du);
void ptx_live_release(void *live); /* for diag_defer */

/* Calls at(block, arg) for every block that the register is live into; false: budget spent, live everywhere.
 * Afterwards out_seen[block] == reg + 1 where it is live out of the block. */
bool ptx_live_in_blocks(struct ptx_live *l, uint32_t reg, void (*at)(void *arg, uint32_t block), void *arg);

/* First index in [low, high) of sorted pcs that is >= pc. */
uint32_t ptx_lower_bound(const uint32_t *pcs, uint32_t low, uint32_t high, uint32_t pc);

#endif
