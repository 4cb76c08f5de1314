/* nodes: implementation of nodes.h. */
#include "config/nodes.h"

struct nodes nodes_at(const struct config *c, enum node_level level, uint32_t colours_per_chiplet)
{
    struct nodes n = {.count = config_chiplets(c),
                      .sms_per_node = config_sms_per_chiplet(c),
                      .colours_per_node = colours_per_chiplet,
                      .per_gpu = c->gpu.chiplets};
    const uint32_t partitions = c->chiplet.partitions;
    if (level == NODE_GPU) {
        n.count = c->system.gpus;
        n.sms_per_node *= c->gpu.chiplets;
        n.colours_per_node *= c->gpu.chiplets;
        n.per_gpu = 1;
    } else if (level == NODE_PARTITION && colours_per_chiplet >= partitions) {
        n.count *= partitions;
        n.sms_per_node = c->partition.sms;
        n.colours_per_node = colours_per_chiplet / partitions;
        n.per_gpu *= partitions;
    }
    return n;
}
