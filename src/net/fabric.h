/* fabric: the networks of one chiplet, with the SMs and slices at their ports. An engine that copies pages
 * (config_copy_ports()) has the port after those of the SMs and counts as one more SM here.
 *
 *   SM ── try_request ──► request ──► at / take ── slice        each of the four networks
 *   SM ◄─ at / take ── reply ◄── try_reply ─────── slice        is a side: struct fabric_side
 *
 * and, where slices send to slices (see organisation.h),
 *
 *   slice ── try_forward ──► far_request ──► at / take ── home slice
 *   slice ◄─ at / take ── far_reply ◄── try_far_reply ─── home slice
 *
 * A packet for another chiplet leaves through a gate port (gates.h); the interface is the same. The fabric
 * wakes the receiver when a packet becomes visible, and a refused sender when its source queue has a free
 * entry. SMs and slices are numbered over the whole machine. Callers pass the cycle of their own clock; the
 * networks run at clock.net. */
#ifndef ATOLL_NET_FABRIC_H
#define ATOLL_NET_FABRIC_H

#include "config/config.h"
#include "engine/engine.h"
#include "net/net.h"
#include "net/net_level.h"
#include "net/traffic.h"
#include "request/request.h"

struct gate;
struct ahead;

/* One network and the components at its ports. */
struct fabric_side {
    struct engine *engine;
    struct net *net;
    uint32_t component; /* component that steps the network */
    const struct fabric_side
        *links;      /* between nodes: the network whose physical links this one shares; NULL: none */
    uint32_t domain; /* clock domain of the network */
    const uint32_t *senders, *receivers; /* components by port, without gate ports */
    uint32_t sender_count, receiver_count;
    uint32_t first_sender, first_receiver; /* SM or slice at port 0 */
    uint64_t ticks_per_cycle;
    bool by_pairs;       /* one link with its own queue per pair of ports */
    bool same_clock;     /* senders, network and receivers share a clock */
    uint32_t *in_flight; /* by sink: packets accepted by the network and not taken by the receiver */
    uint64_t *full_cyc;  /* by source, unless by_pairs: the network refuses packets before this cycle */
    struct pool *requests;
    /* Prefetch hint for the receiver of the next packet; NULL: none. */
    void (*expect)(const void *receiver, const struct request *r);
    void *const *expect_receivers;    /* argument of expect(), by sink */
    struct net_queue_source *sources; /* sources of a queued network, for the fast path (fabric_window.h) */
    struct ahead *ahead;              /* lookahead windows that simulate the network; NULL: the engine does */
    uint32_t gates;                   /* gate ports on each side, after the ports of SMs or slices */
    struct gate_port {
        struct gate *gate;
        uint64_t *pending, bit; /* word and bit of this input in gate.pending */
        uint64_t full_tick;     /* the network refuses packets of the gateway before this tick */
    } * ports;                  /* [gates] */
};

struct fabric {
    struct engine *engine;
    struct pool *requests;
    uint32_t chiplet;
    uint32_t domain; /* clock domain of the networks */
    uint64_t ticks_per_cycle;
    uint32_t header_bytes, write_bytes, invalidate_bytes;
    uint32_t read_bytes[SECTORS_ALL + 1]; /* bytes of a read reply, by mask of sectors */
    bool write_is_literal;
    bool rearm_wakeups;                        /* see fabric_rearm_sm() */
    bool forwards;                             /* far_request and far_reply exist */
    struct fabric_side request, reply;         /* between SMs and slices */
    struct fabric_side far_request, far_reply; /* between slices */
    uint64_t min_reply_cyc;                    /* min. latency of a reply, network cycles */
    uint64_t sm_ticks_per_cycle;
    struct traffic traffic; /* traffic between partitions; its arrays are shared by all chiplets */
};

/* sms, slices: component numbers over the whole machine; both arrays may be filled after the call. sms ends with
 * the engine that copies pages, if there is one.
 * tag_latency_cyc: latency between the arrival of a request and its tag lookup, simulated by the network. */
void fabric_init(struct fabric *f, struct arena *a, struct engine *e, const struct config *c,
                 uint32_t chiplet, struct pool *requests, uint32_t net_domain, uint32_t tag_latency_cyc,
                 const uint32_t *sms, const uint32_t *slices);

/* Inject a request or a reply. False: the source queue is full; the fabric wakes the sender when an entry is
 * free. */
bool fabric_try_request(struct fabric *f, uint64_t now, uint32_t request, uint32_t sm, uint32_t slice);
bool fabric_try_reply(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice, uint32_t sm);
/* True if the source queue of the SM has a free entry. With one link per slice (by_pairs) the result is
 * always true, and fabric_try_request() may still refuse. */
bool fabric_may_request(const struct fabric *f, uint64_t now, uint32_t sm);

/* The present cycle of the network, for callers in any clock. */
static inline uint64_t fabric_side_now(const struct fabric_side *s)
{
    return engine_now(s->engine, s->domain);
}
/* The present cycle of the network, for a component at one of its ports. now: cycle of its own clock. */
static inline uint64_t fabric_net_now(const struct fabric_side *s, uint64_t now)
{
    return s->same_clock ? now : fabric_side_now(s);
}

/* The oldest request or reply that has arrived at an SM or a slice; REQUEST_NONE: none. */
static inline uint32_t fabric_at(const struct fabric_side *s, uint64_t now, uint32_t receiver)
{
    const struct net_packet *p = net_peek(s->net, receiver - s->first_receiver, fabric_net_now(s, now));
    return p ? (uint32_t)p->handle : REQUEST_NONE;
}
void fabric_take(struct fabric_side *s, uint64_t now, uint32_t receiver);

/* The front of a receiver's port, for frequent reads without a lookup of the port. */
static inline const struct net_front *fabric_front(const struct fabric_side *s, uint32_t receiver)
{
    return net_front_of(s->net, receiver - s->first_receiver);
}
static inline uint32_t fabric_front_at(const struct net_front *f, uint64_t net_now)
{
    return net_front_shows(f, net_now) ? (uint32_t)f->packet->handle : REQUEST_NONE;
}
/* True if the network refused the sender and has not yet freed an entry. The call counts the refused
 * injection; the caller need not try. False if clocks differ: there each injection also renews the wake-up.
 */
static inline bool fabric_refuses(const struct fabric_side *s, uint64_t now, uint32_t sender)
{
    if (now >= s->full_cyc[sender - s->first_sender] || !s->same_clock) return false;
    net_refuse_again(s->net);
    return true;
}

/* Lower bound of the arrival cycle of the next reply, in the SM's clock. */
uint64_t fabric_no_reply_until(const struct fabric *f, uint64_t now, uint32_t sm);

/* ---- slices to slices: a request to its home, the reply to the slice that sent it (request.via) ---- */

bool fabric_try_forward(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice);
bool fabric_try_far_reply(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice);

/* A component calls this at the end of an activation if rearm_wakeups is set. The engine keeps only the
 * earliest wake-up of a component, so an earlier one may have replaced that of an arriving packet. This
 * happens if clocks differ, and in queued networks, which register arrivals long in advance. The call
 * registers the wake-up of the next packet again. refused: the component has a refused packet; if clocks
 * differ, it retries in its next cycle. */
void fabric_rearm_sm(struct fabric *f, uint64_t now, uint32_t sm, bool refused);
void fabric_rearm_slice(struct fabric *f, uint64_t now, uint32_t slice, bool refused);

/* Packet sizes in bytes. */
uint32_t fabric_request_bytes(const struct fabric *f, const struct request *r);
uint32_t fabric_reply_bytes(const struct fabric *f, const struct request *r);
/* Zero-load latency of a request, in cycles of clock.net. */
uint64_t fabric_request_cyc(const struct fabric *f, uint32_t sm, uint32_t slice, uint32_t bytes);

/* ---- for gates.c: any network of the machine ---- */

/* Builds one network of a level; the caller fills in the components at its ports. links: between nodes, the
 * network of the other direction, built before, whose physical links this network shares. */
void fabric_side_build(struct fabric_side *s, struct arena *a, struct engine *e, const struct config *c,
                       enum net_level level, enum net_direction direction, uint32_t domain,
                       uint32_t sink_delay_cyc, const struct fabric_side *links, const char *name);
bool fabric_side_send(struct fabric_side *s, uint64_t net_now, const struct net_packet *p);
/* Counts a refused injection and registers for a wake-up without a packet, see net_refuse(). */
bool fabric_side_refuse(struct fabric_side *s, uint64_t net_now, const struct net_packet *p);
void fabric_side_take(struct fabric_side *s, uint64_t net_now, uint32_t sink);

#endif
