/* placement: from the configuration's name to the function. */
#include "policy/placement/placement.h"

#include <stdlib.h>

#include "base/diag.h"

/* The level whose nodes a first touch selects. */
static enum node_level level_of(const struct config *c)
{
    switch (c->runtime.placement) {
    case page_placement_first_touch:
    case page_placement_lab:
    case page_placement_migration:
    case page_placement_replication: return NODE_PARTITION;
    case page_placement_first_touch_gpu: return NODE_GPU;
    case page_placement_round_robin:
    case page_placement_interleaved:
    case page_placement_first_touch_chiplet:
    case page_placement_kernel_wide:
    case page_placement_count: break;
    }
    return NODE_CHIPLET;
}

struct placement placement_of(const struct config *c, uint32_t colours_per_chiplet)
{
    struct placement p = {.colours = colours_per_chiplet * config_chiplets(c),
                          .chiplets = config_chiplets(c),
                          .nodes = nodes_at(c, level_of(c), colours_per_chiplet)};
    switch (c->runtime.placement) {
    case page_placement_round_robin:
    case page_placement_count: p.place = placement_round_robin; break;
    case page_placement_first_touch:
    case page_placement_migration: /* src/pages does the rest */
    case page_placement_replication:
    case page_placement_first_touch_chiplet:
    case page_placement_first_touch_gpu: p.place = placement_first_touch; break;
    case page_placement_lab:
        p.place = placement_lab;
        p.threshold = c->runtime.lab_threshold;
        p.rotates = c->runtime.lab_tie == lab_tie_rotate;
        p.pages = calloc(p.colours, sizeof *p.pages);
        if (!p.pages) diag_mistake("out of host memory");
        break;
    case page_placement_interleaved: p.place = placement_interleaved; break;
    case page_placement_kernel_wide:
        p.place = placement_kernel_wide;
        p.place_at_launch = placement_kernel_wide_launch;
        break;
    }
    return p;
}

void placement_free(struct placement *p) { free(p->pages); }

void placement_keep_to(struct placement *p, uint32_t colours)
{
    p->colours = colours;
    p->next %= colours;
}
