/* gates: the networks between chiplets and between GPUs, and the gates where packets change networks.
 *
 *   chiplet's networks ─┐                   ┌─► chiplet's networks      a GPU has a gate for requests and one
 *   (gate ports)        ├─► gate of a GPU ──┼─► chiplet_net             for replies; each takes what is at
 * its chiplet_net ────────┤                   │                           inputs in turn and gives it to the
 *   gpu_net ────────────┘                   └─► gpu_net                 network that is next on its way
 *
 * The way of a packet follows from where it is and where its request goes: another chiplet of the GPU is
 * reached over chiplet_net, a chiplet of another GPU over gpu_net straight from the chiplet (ASSUMPTION: its
 * chiplets share the GPU's port of gpu_net and do not load chiplet_net with it). A gate adds no time of its
 * own and holds nothing: what finds no room stays in the network before it. */
#ifndef ATOLL_NET_GATES_H
#define ATOLL_NET_GATES_H

#include "net/fabric.h"

struct gate;
struct gates;

/* fabrics: of all chiplets, built before; the machine has more than one. domains: clocks of the networks. */
struct gates *gates_new(struct arena *a, struct engine *e, const struct config *c, struct fabric *fabrics,
                        const uint32_t domains[NET_LEVELS], struct stats_registry *stats);
/* The networks between chiplets (one per GPU) and between GPUs; NULL after the last. gates may be NULL. */
struct fabric_side *gates_net(const struct gates *gates, enum net_level level, enum net_direction direction,
                              uint32_t idx);

/* ---- from fabric.c, when a network tells ---- */

void gate_arrived(const struct gate_port *p, uint64_t tick);
void gate_room(struct gate_port *p, uint64_t tick);

#endif
