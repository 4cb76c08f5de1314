/* nodes: maps SMs and frames to the nodes of a level. A node is a partition, a chiplet or a GPU. Clients:
 * placement, migration and replication of pages (pages/, policy/) and block schedulers (policy/cta_sched/).
 *
 * A colour is a set of frames that the address map keeps together. If the frame selects the channel, a colour
 * is a memory channel. Otherwise a colour is the memory of a chiplet (dram/dram_frames.h).
 *
 * Invariant: SMs, colours and nodes are numbered over the machine, and the members of a node have
 * consecutive numbers. */
#ifndef ATOLL_CONFIG_NODES_H
#define ATOLL_CONFIG_NODES_H

#include "config/config.h"

enum node_level { NODE_PARTITION, NODE_CHIPLET, NODE_GPU };

struct nodes {
    uint32_t count; /* nodes of the machine */
    uint32_t sms_per_node, colours_per_node;
    uint32_t per_gpu; /* nodes of one GPU */
};

/* Colours that an application may use, in the order of the policies' indices. */
struct colours {
    const uint16_t *colour;
    uint32_t count;
};

/* Nodes of a level. If a chiplet has fewer colours than partitions, a colour spans several partitions. The
 * nodes of NODE_PARTITION are then the chiplets. */
struct nodes nodes_at(const struct config *c, enum node_level level, uint32_t colours_per_chiplet);

static inline uint32_t nodes_of_sm(const struct nodes *n, uint32_t sm) { return sm / n->sms_per_node; }
static inline uint32_t nodes_of_colour(const struct nodes *n, uint32_t colour)
{
    return colour / n->colours_per_node;
}
static inline uint32_t nodes_first_sm(const struct nodes *n, uint32_t node) { return node * n->sms_per_node; }
/* Colour of the node for a page: pages are interleaved over the colours of the node by page number. */
static inline uint32_t nodes_colour(const struct nodes *n, uint32_t node, uint64_t page)
{
    return node * n->colours_per_node + (uint32_t)(page % n->colours_per_node);
}

#endif
