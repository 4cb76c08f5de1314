/* net: one network of the machine: crossbar, hierarchical crossbar, ring, switch or plain links.
 *
 *   source queue ─► injection link ─► input VCs ─► VC and switch allocation ─► link ─► … ─► sink queue
 *   (try_inject)      1 flit/cycle     credits            (iSLIP)           1 flit/cycle      (peek, pop)
 *
 * A packet of b bytes is ceil(b / width) flits; flits are counted, never built. Routers switch whole packets
 * (spec.hold, the default of machines: cost per packet, net_packet.c) or flits (as BookSim: cost per flit,
 * net_router.c; also for internal speed-up and where VCs are too short, see net_build.c); NET_QUEUED has
 * deep queues behind an ideal switch instead of VCs (one event per packet, net_queue.h). Requests and
 * replies use two networks (two struct net). What is modelled: serialisation by width, finite input buffers
 * per virtual channel, credits and their return, one VC and one switch allocation per cycle, head-of-line
 * blocking, back-pressure from a receiver that does not pop.
 *
 * Contract. The caller owns the clock: cycles are those of the network. In a cycle, net_step() and the calls
 * of the components (inject, peek, pop) may come in any order with the same result:
 *   - a packet accepted in cycle t moves from net_step(t+1) on;
 *   - room that appears in net_step(t) is seen by net_try_inject() from t+1 on;
 *   - a packet becomes visible to net_peek() at the cycle of its arrival, which was decided a cycle before;
 *   - a slot freed by net_pop() at t is used by the network from t+1 on.
 * net_step(now) returns the next cycle in which anything can happen; the caller may skip the cycles before it.
 * An injection (also a refused one) or a pop may move that cycle forward; net_next_cyc() returns its present value.
 *
 * Ownership: a net lives in the arena given to net_new(); packets are copied in and out, their `handle`
 * belongs to the caller. A refused packet stays with its owner. */
#ifndef ATOLL_NET_NET_H
#define ATOLL_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define NET_NEVER   UINT64_MAX
#define NET_MAX_VCS 16

enum net_topology {
    NET_CROSSBAR, /* one router, sources x sinks */
    NET_HXBAR,    /* two stages of routers, one link between each pair */
    NET_RING,     /* sources == sinks, both directions, shortest way */
    NET_LINKS,    /* a link of its own for every pair of source and sink of a group; no router */
    NET_QUEUED,   /* a crossbar with queues at its outputs, which no other packet's way limits */
    /* between nodes, see net_nodes.h; sources == sinks == nodes */
    NET_NODE_LINKS,  /* a physical link for every ordered pair of nodes */
    NET_NODE_RING,   /* a physical link to either neighbour */
    NET_NODE_SWITCH, /* a physical link to the switch and one back */
};

/* Immutable parameters of one network. Zero is never a default: fill with net_spec_default() first. */
struct net_spec {
    enum net_topology topology;
    uint32_t sources, sinks;
    uint32_t first_routers;      /* hxbar: routers of the first stage; each serves sources/first_routers */
    uint32_t second_routers;     /* hxbar: routers of the second stage; each serves sinks/second_routers */
    uint32_t groups;             /* links: sources and sinks are dealt out evenly, in order; 1: all are one */
    uint32_t width_bytes;        /* a link carries one flit of this size per cycle */
    uint32_t vcs;                /* virtual channels per input, shared out evenly among classes */
    uint32_t vc_flits;           /* buffer of one VC */
    uint32_t classes;            /* message classes; each keeps to its own VCs */
    uint32_t gates;              /* hxbar, ring: the last ports of each side, which lead to other networks.
                                    What goes out may wait for what comes in, which has the last class */
    uint32_t iterations;         /* of iSLIP, VC and switch allocation alike */
    uint32_t input_speedup;      /* VCs of an input that may send in the same cycle; divides vcs */
    uint32_t internal_speedup;   /* allocation rounds per cycle; links still carry one flit per cycle */
    bool hold;                   /* switch whole packets: one keeps switch input and output until its tail */
    bool in_order;               /* packets of one source, sink and class arrive in order */
    uint32_t router_latency_cyc; /* head arrives at a router > leaves it: VC allocation, switch allocation,
                                    traversal */
    uint32_t link_latency_cyc;   /* router > router, router > sink, and source > sink in NET_LINKS */
    uint32_t inject_latency_cyc; /* source > first router */
    uint32_t credit_delay_cyc;   /* on top of one cycle for the wire */
    uint32_t source_packets;     /* injection queue of a source; 2 keep the link busy */
    uint32_t sink_packets;       /* ejection queue of a sink */
    uint32_t max_packet_bytes;   /* for sizing only */
    uint64_t bandwidth;          /* nodes: of a link and direction, bytes per second, */
    uint64_t clock_hz;           /* … with cycles of this clock */
    uint32_t buffer_bytes;       /* nodes: receive buffer of a link, per virtual channel */
    uint32_t min_packet_bytes;   /* nodes: for sizing only */
    uint32_t sink_delay_cyc;     /* queued: a packet becomes visible that much after its arrival; not part of
                                    the network's latency */
};

enum { NET_QUEUE_AHEAD = 200 }; /* queued: cycles that a packet, or the way back of a place, takes at most */

static inline bool net_has_vcs(const struct net_spec *s) { return s->topology < NET_LINKS; }
/* A network between nodes, over physical links that several networks share. */
static inline bool net_between_nodes(const struct net_spec *s) { return s->topology >= NET_NODE_LINKS; }

struct net_packet {
    uint64_t handle; /* the caller's */
    uint32_t bytes;
    uint32_t cls; /* message class */
    uint32_t src, dst;
};

/* What the network calls; all may be NULL. Called inside net_step(now); room also inside a net_try_inject()
 * that is refused only because the place was left in this very cycle. */
struct net_wiring {
    void *ctx;
    void (*arrived)(void *ctx, uint32_t sink,
                    uint64_t visible_cyc); /* net_peek() has something from that cycle on */
    void (*room)(void *ctx, uint32_t source,
                 uint64_t from_cyc); /* after a refusal: try again from that cycle on */
    /* A hint for the host's caches: the packet is on its way to its sink. Not every network gives it. */
    void (*coming)(void *ctx, uint64_t handle);
};

struct net_link_stats {
    uint64_t flits; /* carried; utilisation = flits / cycles */
    uint32_t stage; /* 0 injection, 1.. routers in order, last = into the sinks */
    uint32_t port;  /* within its stage */
};

/* One receiver, since the start. */
struct net_output_stats {
    uint64_t packets, bytes; /* delivered into its queue */
    uint64_t busy_cyc;       /* its links carried them (NET_LINKS: several links add up) */
    uint64_t blocked_cyc;    /* a packet for it could not go because its queue was full */
};

struct net;
struct net_stats; /* generated from net_stats.def */

struct net_spec net_spec_default(void);
/* Host memory for the events of such a network, about. */
uint64_t net_calendar_bytes(const struct net_spec *spec);
/* ... and for its queues. */
uint64_t net_source_bytes(const struct net_spec *spec);
uint64_t net_sink_bytes(const struct net_spec *spec);
/* ... and, between nodes, for receive buffers. */
uint64_t net_nodes_bytes(const struct net_spec *spec);
/* NULL when the spec can be built, otherwise what is wrong, in words. */
const char *net_spec_problem(const struct net_spec *spec);
/* Raises a mistake when net_spec_problem() finds one. */
struct net *net_new(struct arena *a, const struct net_spec *spec, const struct net_wiring *wiring);
/* Builds a network over the physical links of another network between nodes, which then carry both. Built before the
 * first packet. A step of one network is a step of both. */
struct net *net_new_sharing(struct arena *a, const struct net_spec *spec, const struct net_wiring *wiring,
                            const struct net *links);

const struct net_spec *net_spec_of(const struct net *n);
uint32_t net_flits(const struct net *n, uint32_t bytes);
/* Latency of a packet that meets no other, from acceptance to the cycle in which it can be popped. */
uint64_t net_zero_load_cyc(const struct net *n, uint32_t src, uint32_t dst, uint32_t bytes);

/* The fields that callers read most often, at the front of struct net. Only the inline functions below read them.
 */
struct net_front {        /* the oldest packet at a sink, or one whose arrival there is decided */
    uint64_t visible_cyc; /* NET_NEVER: no packet */
    const struct net_packet *packet;
};
struct net_view {
    uint64_t next_cyc;
    struct net_front *fronts; /* per sink */
};

bool net_try_inject(struct net *n, const struct net_packet *p, uint64_t now);
/* True if net_try_inject() would accept. In NET_LINKS the result depends on dst. */
bool net_has_room(const struct net *n, uint32_t src, uint32_t dst, uint64_t now);
/* Counts one refused injection without a packet and registers the source for net_wiring.room. Precondition: the
 * source queue is full. True: the network refuses until it calls room(), so the caller only counts further offers.
 * False: a slot frees in this cycle, and the network has called room() for the next cycle. */
bool net_refuse(struct net *n, uint32_t src, uint32_t dst, uint64_t now);
void net_refuse_again(struct net *n);
/* After net_step(now): true if the queue of the source is empty. Its link is free from now + 1 on. */
bool net_source_idle(const struct net *n, uint32_t src, uint32_t dst, uint64_t now);
uint64_t net_step(struct net *n, uint64_t now);
static inline uint64_t net_next_cyc(const struct net *n) { return ((const struct net_view *)n)->next_cyc; }

/* The oldest packet that has arrived at a sink by `now`, or NULL. */
static inline const struct net_packet *net_peek(const struct net *n, uint32_t sink, uint64_t now)
{
    const struct net_front *f = &((const struct net_view *)n)->fronts[sink];
    return f->visible_cyc <= now ? f->packet : NULL;
}
/* For a receiver that polls often: the entry that net_peek() reads. The pointer stays valid. */
static inline const struct net_front *net_front_of(const struct net *n, uint32_t sink)
{
    return &((const struct net_view *)n)->fronts[sink];
}
static inline bool net_front_shows(const struct net_front *f, uint64_t now) { return f->visible_cyc <= now; }
void net_pop(struct net *n, uint32_t sink, uint64_t now);
/* The cycle from which on net_peek() returns a packet, past or future, as far as is decided; NET_NEVER: no
 * packet. */
static inline uint64_t net_peek_cyc(const struct net *n, uint32_t sink)
{
    return ((const struct net_view *)n)->fronts[sink].visible_cyc;
}

/* ---- ports with work: one bit per port, in words of 64 ports ----
 * The results do not depend on whether net_step() of the cycle has run. `words` is the mask of the words
 * that are not zero (a network has at most 64 of them):
 *
 *   for (uint64_t w = net_arrived_words(n, now); w; w &= w - 1) {
 *       const uint32_t word = (uint32_t)__builtin_ctzll(w);
 *       for (uint64_t m = net_arrived(n, word, now) & mine[word]; m; m &= m - 1) ...
 *   }
 *
 * Arrived: the bit of a sink is set exactly while net_peek(n, sink, now) has a packet; net_pop() clears it
 * with the last one. A receiver that cannot take anything masks itself out. */
uint64_t net_arrived_words(struct net *n, uint64_t now);
uint64_t net_arrived(struct net *n, uint32_t word, uint64_t now);
/* First cycle in which a sink has a packet, as far as is decided: in the past while a packet waits, NET_NEVER
 * without one. net_step() decides later cycles. */
uint64_t net_arrived_cyc(const struct net *n);
/* Room: sources that were refused and may try again. Taking a word clears it, and a source that does not try
 * then gets no second bit. In NET_LINKS a source has one bit for all of its links. */
uint64_t net_room_words(struct net *n, uint64_t now);
uint64_t net_room_take(struct net *n, uint32_t word, uint64_t now);
/* First cycle in which net_room_take() returns a bit, as far as is decided; see net_arrived_cyc(). */
uint64_t net_room_cyc(const struct net *n);

/* Since the start; accepted == popped + inside. */
struct net_counts {
    uint64_t accepted, refused, popped; /* packets; refused: attempts */
    uint64_t accepted_bytes, popped_bytes;
};
struct net_counts net_counts(const struct net *n);
struct net_output_stats net_output(const struct net *n, uint32_t sink);
/* Visible packets at a sink, summed over the cycles before `now`: divided by these cycles, the mean depth of its
 * queue. Invalid in windows (system/windows.h), which take packets without net_pop(); the sum over all sinks is
 * valid there, too. */
uint64_t net_waited(const struct net *n, uint32_t sink, uint64_t now);
uint64_t net_waited_everywhere(const struct net *n, uint64_t now);
/* The block of statistics, which net_level_register() registers. net_stats_finish() counts the rest of the
 * present cycle, before laws are checked. net_stats_restart() is for stats_on_reset(): packets inside count as
 * accepted. */
struct net_stats *net_stats_of(struct net *n);
void net_stats_finish(struct net *n, uint64_t now);
/* Synchronises the block before a reader samples it during a run: some statistics are not counted per packet. */
void net_stats_settle(struct net *n);
/* Settles the statistics that time series follow, likewise. */
void net_stats_settle_series(struct net *n);
void net_stats_restart(void *net);
/* Packets inside: accepted, not yet popped. */
uint64_t net_in_flight(const struct net *n);
/* Links, in stage order. */
uint32_t net_link_count(const struct net *n);
struct net_link_stats net_link(const struct net *n, uint32_t idx);
/* Between nodes: the load that the packets of this network, which is one message class, put on a physical link. */
struct net_node_traffic {
    uint64_t packets, bytes;
    uint64_t
        short_cyc;     /* cycles in which packets waited for credit that was in flight: a round trip is longer
                         * than the buffer lasts */
    uint64_t full_cyc; /* cycles in which packets waited for credit because the receiver took no packet */
};
struct net_node_traffic net_node_traffic(const struct net *n, uint32_t link);
uint32_t net_stage_count(const struct net *n);
/* net_stage.c: both ends of a link, given its stage and its port there. Routers are numbered over the network;
 * the router of a crossbar, or the switch of a queued network, is 0. */
enum net_end_kind { NET_END_SOURCE, NET_END_ROUTER, NET_END_SINK };
struct net_link_ends {
    enum net_end_kind from, to;
    uint32_t from_idx, to_idx;
};
struct net_link_ends net_link_ends(const struct net_spec *s, uint32_t stage, uint32_t port);
/* The wait-for chains, for the watchdog: one line per blocked input VC or source, at most `bytes`. */
void net_describe_waiting(const struct net *n, char *text, size_t bytes);

#endif
