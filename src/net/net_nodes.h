/* net_nodes: the physical links between nodes (the chiplets of a GPU, or GPUs).
 *
 *   links    node a ═════════► node b        a link for every ordered pair
 *   ring     node a ═► node a+1 ═► …         two links per node, one in each direction; shortest way
 *   switch   node a ═► switch ═► node b      a link from every node to the switch and one back
 *
 * A link has one bandwidth per direction. All message classes share it: one struct net per class (requests,
 * replies) holds the queues at the senders, the queues at the receivers and the statistics of its class;
 * struct net_nodes holds the links. Contract of struct net: see net.h.
 *
 * Transmission. A packet of b bytes occupies a link for b / bandwidth, computed exactly: a fraction of a
 * cycle is carried over to the next packet. A packet starts when the link is idle and the receive buffer of
 * its virtual channel has room for the whole packet, so a started packet never stops. The head reaches the
 * other end after the latency of the link; a packet that continues over another link starts there as soon as
 * its head is there (virtual cut-through). Credits travel back with the latency of the link.
 *
 * Arbitration, packet by packet: round-robin over classes; within a class, the packet that was accepted first.
 * If the oldest packet of a virtual channel lacks credit, younger packets of this channel wait, too: a long
 * packet cannot starve behind short ones, and packets far from their destination do not lose against packets
 * that nodes on their path inject. Senders and the switch have a queue per destination. ASSUMPTION: the papers
 * are silent.
 *
 * No deadlock. Every class has virtual channels (buffers and credits) of its own, so requests never block
 * replies. A ring has two per class and direction: a packet uses the second from the link on that closes the
 * ring (dateline). */
#ifndef ATOLL_NET_NET_NODES_H
#define ATOLL_NET_NET_NODES_H

#include "net/net_private.h"

enum { NET_NODES_MAX = 64, NET_NODE_CLASSES = 2, NET_NODE_VCS = 2 * NET_NODE_CLASSES };

/* An instant: cyc + part / net_nodes.rate_bytes, in cycles. */
struct net_moment {
    uint64_t cyc, part;
};

/* Packets of struct net.flights, linked by net_flight.next. */
struct net_list {
    uint32_t first, last, count;
};

/* Bytes of a receive buffer that its sender may use from a cycle on. */
struct net_credit {
    uint64_t cyc;
    uint32_t bytes;
};

/* The receive buffer of a virtual channel, as the sender sees it. */
struct net_buffer {
    uint32_t free_bytes;
    uint32_t head, count, capacity; /* ring of credits in flight, oldest first; capacity: a power of two */
    struct net_credit *credits;
    uint64_t taken_bytes; /* started packets whose credit is not returned */
    uint64_t held_sum;    /* byte cycles from start to return of the credit, less taken_bytes x now; wraps */
    uint64_t flight_sum;  /* byte cycles that the same packets take if the receiver takes them at once */
};

/* The queue of a sender for one destination and class. */
struct net_outbox {
    struct net_list list;
    uint64_t left_cyc;   /* last cycle in which packets started, */
    uint32_t left_count; /* and their number */
    bool refused;        /* a packet was refused since the last start */
};

/* One direction of a physical link. */
struct net_wire {
    struct net_moment idle; /* end of the last transmission */
    uint64_t start_cyc;     /* next cycle in which a packet may start; NET_NEVER: none is known */
    uint64_t arrive_cyc;    /* next cycle in which a packet reaches the other end; NET_NEVER: none */
    uint32_t latency_cyc;
    uint32_t from, to;  /* nodes; NET_NONE: the switch */
    bool dateline;      /* ring: packets enter the second virtual channel of their class */
    uint8_t last_class; /* of the last transmission */
    uint8_t next_class; /* round-robin pointer */
    uint64_t waiting[NET_NODE_CLASSES]
                    [2]; /* queues with a packet: [0] transit by input, [1] injected by destination */
    struct net_list *transit[NET_NODE_CLASSES]; /* [input] */
    /* on the link, oldest first: [0] packets that continue over another link, by the arrival of their head;
     * [1] packets that end here, by the arrival of their tail */
    struct net_list flying[NET_NODE_CLASSES][2];
    struct net_buffer buffers[NET_NODE_VCS];    /* [class * 2 + virtual channel] */
    uint64_t blocked_cyc[NET_NODE_CLASSES];     /* no credit since this cycle; NET_NEVER: not blocked */
    uint64_t blocked_sum_cyc[NET_NODE_CLASSES]; /* cycles blocked, until blocked_cyc */
    uint64_t packets[NET_NODE_CLASSES], bytes[NET_NODE_CLASSES]; /* started */
};

struct net_nodes {
    struct net *nets[NET_NODE_CLASSES];
    uint32_t classes, nodes, wire_count;
    enum net_topology topology;
    uint64_t rate_bytes, rate_cycles; /* a link carries rate_bytes in rate_cycles cycles; reduced */
    uint64_t next_cyc;                /* next cycle in which a wire has something to do */
    struct net_wire *wires;
    uint64_t *active; /* bit per wire: start_cyc or arrive_cyc is known */
    uint32_t words;
    struct net_outbox *outboxes[NET_NODE_CLASSES]; /* [source * nodes + destination] */
    /* by class, [source * nodes + destination]; UINT16_MAX: source is the destination */
    uint16_t *first_wire[NET_NODE_CLASSES];
};

void net_nodes_build(struct net *n, struct arena *a, const struct net *sharing);
bool net_nodes_try_inject(struct net *n, const struct net_packet *p, uint64_t now);
bool net_nodes_has_room(const struct net *n, uint32_t src, uint32_t dst, uint64_t now);
bool net_nodes_refuse(struct net *n, uint32_t src, uint32_t dst, uint64_t now);
bool net_nodes_idle(const struct net *n, uint32_t src, uint32_t dst);
/* A receiver took a packet: its buffer has room again. */
void net_nodes_popped(struct net *n, const struct net_flight *f, uint64_t now);
uint64_t net_nodes_step(struct net *n, uint64_t now);
uint64_t net_nodes_zero_load_cyc(const struct net *n, uint32_t src, uint32_t dst, uint32_t bytes);
/* Cycles of a link that the packets of this class occupied up to `now`, rounded down. */
uint64_t net_nodes_link_cyc(const struct net *n, uint32_t wire, uint64_t now);
/* blocked_cyc counts up to now. */
void net_nodes_finish(struct net *n, uint64_t now);
void net_nodes_describe(const struct net *n, char *text, size_t bytes);
/* Packets that the links and their buffers hold at most. */
size_t net_nodes_flights(const struct net *n);

#endif
