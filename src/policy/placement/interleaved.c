/* interleaved: the page number selects the colour, so that placement depends on addresses only. */
#include "policy/placement/placement.h"

static uint32_t place(void *state, const struct placement_question *q)
{
    (void)state;
    return q->owned->colour[q->page % q->owned->count];
}

extern const struct placement_ops placement_interleaved;
const struct placement_ops placement_interleaved = {.level = NODE_CHIPLET, .place = place};
