/* round_robin: pages go to one colour after the other, in the order in which they are first touched. The
 * colours stay balanced whatever the addresses are. */
#include "policy/placement/placement.h"

struct round_robin {
    uint32_t next; /* index among the owned colours */
};

static uint32_t place(void *state, const struct placement_question *q)
{
    struct round_robin *s = state;
    const uint32_t chosen = s->next % q->owned->count;
    s->next = (chosen + 1) % q->owned->count;
    return q->owned->colour[chosen];
}

extern const struct placement_ops placement_round_robin;
const struct placement_ops placement_round_robin = {
    .level = NODE_CHIPLET, .state_bytes = sizeof(struct round_robin), .place = place};
