/* first_touch: a page goes where it is first used. When a partition has several channels they take turns;
 * under an address map without a choice (one class) it has no effect. */
#include "policy/placement/placement.h"

uint32_t placement_first_touch(struct placement *p, const struct placement_question *q)
{
    if (!p->classes_per_partition) return (uint32_t)(q->page % p->classes);
    return q->partition * p->classes_per_partition + (uint32_t)(q->page % p->classes_per_partition);
}
