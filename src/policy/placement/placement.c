/* placement: from the configuration's name to the function. */
#include "policy/placement/placement.h"

struct placement placement_of(const struct config *c, uint32_t classes)
{
    const uint32_t partitions = (uint32_t)config_partitions_per_gpu(c);
    struct placement p = {.classes = classes,
                          .classes_per_partition = classes >= partitions ? classes / partitions : 0};
    switch (c->runtime.placement) {
    case page_placement_round_robin:
    case page_placement_count: p.place = placement_round_robin; break;
    case page_placement_first_touch: p.place = placement_first_touch; break;
    case page_placement_interleaved: p.place = placement_interleaved; break;
    }
    return p;
}
