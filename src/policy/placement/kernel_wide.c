/* kernel_wide: every allocation is cut into one contiguous part per chiplet, as the scheduler `chunks` cuts
 * grids. The allocations that exist at a launch get the rule then. The number of a page outside of them
 * selects its colour. */
#include "policy/placement/placement.h"

static uint32_t cut(const struct page_rule *r, const struct placement_question *q)
{
    return placement_colour_of_node(q, (uint32_t)((q->page - r->first) * q->nodes->count / r->count));
}

static void at_launch(void *state, const struct placement_launch *l)
{
    const struct page_rule rule = {.place = cut};
    uint64_t base, bytes;
    (void)state;
    for (size_t k = 0; launch_allocation(l->facts, k, &base, &bytes); k++) {
        if (!bytes) continue;
        const uint64_t first = base >> l->page_log2, last = (base + bytes - 1) >> l->page_log2;
        l->assign(l->pages, l->facts->app, first, last - first + 1, &rule);
    }
}

static uint32_t place(void *state, const struct placement_question *q)
{
    (void)state;
    return q->owned->colour[q->page % q->owned->count];
}

extern const struct placement_ops placement_kernel_wide;
const struct placement_ops placement_kernel_wide = {
    .level = NODE_CHIPLET, .place = place, .at_launch = at_launch};
