/* nodes: which SMs are near which frames. A node is a partition, a chiplet or a GPU. Placement, migration and
 * replication of pages and the binding of blocks to SMs use this one answer.
 *
 * SMs, colours and nodes are numbered over the machine; the members of a node have consecutive numbers. A
 * colour is a set of frames that the address map keeps together: a memory channel where the frame selects the
 * channel, else the memory of a chiplet (dram/dram_frames.h). */
#ifndef ATOLL_CONFIG_NODES_H
#define ATOLL_CONFIG_NODES_H

#include "config/config.h"

enum node_level { NODE_PARTITION, NODE_CHIPLET, NODE_GPU };

struct nodes {
    uint32_t count, sms_per_node, colours_per_node;
    uint32_t per_gpu; /* nodes of one GPU */
};

/* Colours that an application may use, in the order in which policies count them. */
struct colours {
    const uint16_t *colour;
    uint32_t count;
};

/* The nodes of a level. If a chiplet has fewer colours than partitions, no partition has frames of its own;
 * the nodes of NODE_PARTITION are then the chiplets. */
struct nodes nodes_at(const struct config *c, enum node_level level, uint32_t colours_per_chiplet);

static inline uint32_t nodes_of_sm(const struct nodes *n, uint32_t sm) { return sm / n->sms_per_node; }
static inline uint32_t nodes_of_colour(const struct nodes *n, uint32_t colour)
{
    return colour / n->colours_per_node;
}
static inline uint32_t nodes_first_sm(const struct nodes *n, uint32_t node) { return node * n->sms_per_node; }
/* The colour of the node for a page: the pages of a node alternate between its colours by page number. */
static inline uint32_t nodes_colour(const struct nodes *n, uint32_t node, uint64_t page)
{
    return node * n->colours_per_node + (uint32_t)(page % n->colours_per_node);
}

#endif
