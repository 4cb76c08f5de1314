/* gates: the networks between chiplets and between GPUs, and the gateways where packets change networks.
 *
 *   input                               output               condition: the target is
 *   gate ports of the     ──┐      ┌──► gpu_net              a chiplet of another GPU
 *   chiplets' networks      │      │
 *   chiplet_net           ──┼─gate─┼──► chiplet_net          another chiplet of this GPU; input: chiplet
 *   gpu_net               ──┘      └──► chiplet's network    on this GPU; input: chiplet_net, gpu_net
 *
 * Each GPU has one gateway for requests and one for replies. A gateway serves its inputs round-robin.
 *
 * The path of a packet follows from its position and from the target of its request. Another chiplet of the
 * GPU is reached over chiplet_net. A chiplet of another GPU is reached over gpu_net directly from the
 * chiplet (ASSUMPTION: the chiplets of a GPU share its port of gpu_net and do not load chiplet_net with this
 * traffic). A gateway adds no latency and has no buffer: a packet that the next network refuses stays in its
 * network. */
#ifndef ATOLL_NET_GATES_H
#define ATOLL_NET_GATES_H

#include "net/fabric.h"

struct gate;
struct gates;

/* fabrics: the fabrics of all chiplets, built before. Precondition: more than one chiplet. domains: clock
 * domains of the networks, by level. */
struct gates *gates_new(struct arena *a, struct engine *e, const struct config *c, struct fabric *fabrics,
                        const uint32_t domains[NET_LEVELS], struct stats_registry *stats);
/* The networks between chiplets (one per GPU) and between GPUs; NULL after the last. gates may be NULL. */
struct fabric_side *gates_net(const struct gates *gates, enum net_level level, enum net_direction direction,
                              uint32_t idx);

/* ---- callbacks of networks, through fabric.c ---- */

/* A packet becomes visible at the gate port at `tick`. */
void gate_arrived(const struct gate_port *p, uint64_t tick);
/* The gate port accepts packets from `tick` on, after a refusal. */
void gate_room(struct gate_port *p, uint64_t tick);

#endif
