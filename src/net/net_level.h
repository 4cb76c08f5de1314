/* net_level: the levels of networks of a machine, and the spec of each network, from the parameters. */
#ifndef ATOLL_NET_NET_LEVEL_H
#define ATOLL_NET_NET_LEVEL_H

#include "config/config.h"
#include "net/net.h"
#include "stats/stats.h"

/* Named as the sections of net_params.def. */
enum net_level { NET_LEVEL_net, NET_LEVEL_slice_net, NET_LEVEL_chiplet_net, NET_LEVEL_gpu_net, NET_LEVELS };
enum net_direction { NET_REQUESTS, NET_REPLIES };

extern const char *const net_level_names[NET_LEVELS];

/* True if the machine has networks of the level: several components to connect, and traffic between them. */
bool net_level_used(const struct config *c, enum net_level level);
/* Number of gate ports on each side of a network of a chiplet (net, slice_net); 0: none. Gate ports follow
 * the ports of SMs and slices. */
uint32_t net_level_gates(const struct config *c, enum net_level level);
uint64_t net_level_clock(const struct config *c, enum net_level level);
/* The number of ports follows from the level. net: SMs and copy engine x slices of a chiplet; slice_net: slices x slices;
 * both with gate ports. chiplet_net: chiplets of a GPU; gpu_net: GPUs. */
struct net_spec net_level_spec(const struct config *c, enum net_level level, enum net_direction direction);
/* Registers the statistics of a network in the group of its level. */
void net_level_register(struct stats_registry *r, enum net_level level, struct net *n,
                        struct stats_scope scope);

#endif
