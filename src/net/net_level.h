/* net_level: which networks a machine has, and from its parameters the spec of each. */
#ifndef ATOLL_NET_NET_LEVEL_H
#define ATOLL_NET_NET_LEVEL_H

#include "config/config.h"
#include "net/net.h"
#include "stats/stats.h"

/* Named as the sections of net_params.def. */
enum net_level { NET_LEVEL_net, NET_LEVEL_slice_net, NET_LEVEL_chiplet_net, NET_LEVEL_gpu_net, NET_LEVELS };
enum net_direction { NET_REQUESTS, NET_REPLIES };

extern const char *const net_level_names[NET_LEVELS];

/* Does the machine have such networks: more than one of what the level connects, and traffic between them? */
bool net_level_used(const struct config *c, enum net_level level);
/* Ports of the networks of a chiplet (net, slice_net) that lead out of it, on each side; 0: none. They come
 * after the ports of SMs and slices. */
uint32_t net_level_gates(const struct config *c, enum net_level level);
uint64_t net_level_clock(const struct config *c, enum net_level level);
/* Ports as the tree gives them: net SMs x slices of a chiplet, slice_net slices x slices, both with gates;
 * chiplet_net chiplets of a GPU, gpu_net GPUs. */
struct net_spec net_level_spec(const struct config *c, enum net_level level, enum net_direction direction);
/* Its statistics go to the group of the level. */
void net_level_register(struct stats_registry *r, enum net_level level, struct net *n,
                        struct stats_scope scope);

#endif
