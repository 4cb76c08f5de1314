/* round_robin: pages go to one channel after the other, in the order in which they are first touched:
 * balanced whatever the addresses are. */
#include "policy/placement/placement.h"

uint32_t placement_round_robin(struct placement *p, const struct placement_question *q)
{
    (void)q;
    const uint32_t chosen = p->next;
    p->next = (p->next + 1) % p->colours;
    return chosen;
}
