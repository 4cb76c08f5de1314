/* clusters: the slice of a stack that serves a request, as a function of the line's home slice, the SM's
 * cluster and the degree of replication.
 *
 *   stack:  slices 0..S-1     degree r: groups of q = S / r slices, one replica of a line in each group
 *   cluster c belongs to the group of slice c * S / clusters; the position in the group is that of the home:
 *       slice = (slot div q) * q + home mod q      r = 1: the home itself; r = S: the cluster's own slice
 *
 * S and the number of clusters are powers of two (rules.def). */
#ifndef ATOLL_LLC_CLUSTERS_H
#define ATOLL_LLC_CLUSTERS_H

#include "request/path.h"

struct clusters {
    uint32_t sms_per_cluster, count;
    uint32_t stack_slices; /* S */
};

static inline uint32_t clusters_of_sm(const struct clusters *k, uint32_t sm)
{
    return sm / k->sms_per_cluster;
}

/* Slice of a stack that is the cluster's own under full replication. */
static inline uint32_t clusters_slot(const struct clusters *k, uint32_t cluster)
{
    return cluster * k->stack_slices / k->count;
}

/* home and result: number of a slice in the machine. */
static inline uint32_t clusters_slice(const struct clusters *k, uint32_t home, uint32_t cluster,
                                      uint32_t degree)
{
    const uint32_t group = k->stack_slices / degree, first = home / k->stack_slices * k->stack_slices;
    return first + clusters_slot(k, cluster) / group * group + home % group;
}

/* clusters_slice() as a route: the bits of stack and position are the home's, those of the group are added.
 */
static inline struct path_route clusters_route(const struct clusters *k, uint32_t cluster, uint32_t degree)
{
    const uint32_t group = k->stack_slices / degree;
    return (struct path_route){~(k->stack_slices - 1) | (group - 1),
                               clusters_slot(k, cluster) / group * group};
}

#endif
