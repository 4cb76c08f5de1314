/* first_touch: a page goes to a colour of the node whose SM touches it first. The rows differ in the level of
 * the node: partition, chiplet or GPU. The pages of a node alternate between its colours by page number.
 * Under an address map with one colour per chiplet, the policy has no effect on a machine of one chiplet. */
#include "policy/placement/placement.h"

static uint32_t place(void *state, const struct placement_question *q)
{
    (void)state;
    return q->owned->colour[placement_near(q)];
}

extern const struct placement_ops placement_first_touch, placement_first_touch_chiplet,
    placement_first_touch_gpu;
const struct placement_ops placement_first_touch = {.level = NODE_PARTITION, .place = place};
const struct placement_ops placement_first_touch_chiplet = {.level = NODE_CHIPLET, .place = place};
const struct placement_ops placement_first_touch_gpu = {.level = NODE_GPU, .place = place};
