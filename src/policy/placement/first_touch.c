/* first_touch: a page goes where it is first used: to a channel of the partition, to the chiplet or to the
 * GPU. When there are several classes they take turns by page number; under an address map without a choice
 * on a machine of one chiplet it has no effect. */
#include "policy/placement/placement.h"

uint32_t placement_first_touch(struct placement *p, const struct placement_question *q)
{
    const uint32_t near = q->sm / p->sms_per_home * p->classes_per_home;
    return (near + (uint32_t)(q->page % p->classes_per_home)) % p->classes;
}
