/* placement: from the configuration's name to the function. */
#include "policy/placement/placement.h"

#include <stdlib.h>

#include "base/diag.h"

/* Who is near which classes: the partitions of a chiplet where its classes suffice, else the chiplet, or all
 * that the level of the policy covers. */
static void homes(struct placement *p, const struct config *c, uint32_t classes_per_chiplet)
{
    const uint32_t partitions = c->chiplet.partitions;
    p->sms_per_home = config_sms_per_chiplet(c);
    p->classes_per_home = classes_per_chiplet;
    const bool by_partition = c->runtime.placement == page_placement_first_touch ||
                              c->runtime.placement == page_placement_lab ||
                              c->runtime.placement == page_placement_migration ||
                              c->runtime.placement == page_placement_replication;
    if (by_partition && classes_per_chiplet >= partitions) {
        p->sms_per_home = c->partition.sms;
        p->classes_per_home = classes_per_chiplet / partitions;
    } else if (c->runtime.placement == page_placement_first_touch_gpu) {
        p->sms_per_home *= c->gpu.chiplets;
        p->classes_per_home *= c->gpu.chiplets;
    }
}

struct placement placement_of(const struct config *c, uint32_t classes_per_chiplet)
{
    struct placement p = {.classes = classes_per_chiplet * config_chiplets(c),
                          .chiplets = config_chiplets(c)};
    homes(&p, c, classes_per_chiplet);
    switch (c->runtime.placement) {
    case page_placement_round_robin:
    case page_placement_count: p.place = placement_round_robin; break;
    case page_placement_first_touch:
    case page_placement_migration: /* pager.c does the rest */
    case page_placement_replication:
    case page_placement_first_touch_chiplet:
    case page_placement_first_touch_gpu: p.place = placement_first_touch; break;
    case page_placement_lab:
        p.place = placement_lab;
        p.threshold = c->runtime.lab_threshold;
        p.rotates = c->runtime.lab_tie == lab_tie_rotate;
        p.pages = calloc(p.classes, sizeof *p.pages);
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

void placement_free(struct placement *p)
{
    free(p->ranges);
    free(p->pages);
}

void placement_keep_to(struct placement *p, uint32_t classes)
{
    p->classes = classes;
    p->next %= classes;
}
