/* placement: the rows of placement.def as function tables. */
#include "policy/placement/placement.h"

#define ITEM(list, item, help) extern const struct placement_ops placement_##item;
#include "policy/placement/placement.def"
#undef ITEM
#define ITEM(list, item, help) [list##_##item] = &placement_##item,
static const struct placement_ops *const policies[page_placement_count] = {
#include "policy/placement/placement.def"
};
#undef ITEM

struct placement placement_new(struct arena *a, const struct config *c, uint32_t colours_per_chiplet)
{
    struct placement p = {.ops = policies[c->runtime.placement]};
    p.nodes = nodes_at(c, p.ops->level, colours_per_chiplet);
    p.state = p.ops->state_bytes ? arena_array(a, 1, p.ops->state_bytes) : NULL;
    if (p.ops->begin) p.ops->begin(p.state, a, c, colours_per_chiplet * config_chiplets(c));
    return p;
}
