/* interleaved: by the page number, so that it depends on addresses only. */
#include "policy/placement/placement.h"

uint32_t placement_interleaved(struct placement *p, const struct placement_question *q)
{
    return (uint32_t)(q->page % p->colours);
}
