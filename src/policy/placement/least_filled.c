/* least_filled: a page goes to the owned colour with the fewest pages of its application; ties: the first of the
 * owned colours. Unlike round_robin, the colours stay balanced when the owned colours change. */
#include "policy/placement/placement.h"

static uint32_t place(void *state, const struct placement_question *q)
{
    (void)state;
    uint32_t best = q->owned->colour[0];
    for (uint32_t k = 1; k < q->owned->count; k++)
        if (q->pages[q->owned->colour[k]] < q->pages[best]) best = q->owned->colour[k];
    return best;
}

extern const struct placement_ops placement_least_filled;
const struct placement_ops placement_least_filled = {.level = NODE_CHIPLET, .place = place};
