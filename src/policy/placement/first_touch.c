/* first_touch: a page goes where it is first used: to a channel of the partition, to the chiplet or to the
 * GPU. When there are several colours they take turns by page number; under an address map without a choice
 * on a machine of one chiplet it has no effect. */
#include "policy/placement/placement.h"

uint32_t placement_first_touch(struct placement *p, const struct placement_question *q)
{
    return nodes_colour(&p->nodes, nodes_of_sm(&p->nodes, q->sm), q->page) % p->colours;
}
