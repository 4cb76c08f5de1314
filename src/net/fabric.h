/* fabric: the networks of one chiplet as its parts see them: give a request, take a reply.
 *
 *   SM ── try_request ──► request ──► at / take ── slice        each of the four networks
 *   SM ◄─ at / take ── reply ◄── try_reply ─────── slice        is a side: struct fabric_side
 *
 * and, where slices send to slices (see organisation.h),
 *
 *   slice ── try_forward ──► far_request ──► at / take ── home slice
 *   slice ◄─ at / take ── far_reply ◄── try_far_reply ─── home slice
 *
 * What is for another chiplet leaves through a gate port (gates.h), and nobody here notices. Wakes the
 * receiver when a packet becomes visible and a refused sender when there is room. SMs and slices are numbered
 * over the whole machine. Callers pass their own clock's cycle; the networks run at clock.net. */
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

/* One network and who is at its ports. */
struct fabric_side {
    struct engine *engine;
    struct net *net;
    uint32_t component; /* steps the network */
    const struct fabric_side
        *links;      /* between nodes: the network whose physical links this one shares; NULL: none */
    uint32_t domain; /* its clock */
    const uint32_t *senders, *receivers; /* components by port, of all that are not gates */
    uint32_t sender_count, receiver_count;
    uint32_t first_sender, first_receiver; /* SM or slice at port 0 */
    uint64_t ticks_per_cycle;
    bool by_pairs;      /* a link for every pair: each has room of its own */
    bool same_clock;    /* senders, network and receivers share a clock */
    uint32_t *inside;   /* by sink: packets that were given to the network and not taken */
    uint64_t *full_cyc; /* by source, not by_pairs: what it offers before is refused */
    struct pool *requests;
    /* Hint for a receiver whose packet arrives next: it fetches what it will touch. NULL: it does not. */
    void (*expect)(const void *receiver, const struct request *r);
    void *const *expecting;           /* by sink */
    struct net_queue_source *sources; /* of a queued network, for who sends often */
    struct ahead *ahead;              /* lookahead windows run the network; NULL: the engine does */
    uint32_t gates;                   /* gate ports on each side, after the others */
    struct gate_port {
        struct gate *gate;
        uint64_t *pending, bit; /* there: which of its inputs */
        uint64_t full_tick;     /* what the gate gives here before is refused */
    } * ports;                  /* of these */
};

struct fabric {
    struct engine *engine;
    struct pool *requests;
    uint32_t chiplet;
    uint32_t domain; /* of the networks */
    uint64_t ticks_per_cycle;
    uint32_t header_bytes, write_bytes;
    uint32_t read_bytes[SECTORS_ALL + 1]; /* of the reply to a read of these sectors */
    bool write_is_literal;
    bool sleepers_ask;                         /* see fabric_sleep_sm() */
    bool forwards;                             /* far sides are there */
    struct fabric_side request, reply;         /* SMs and slices */
    struct fabric_side far_request, far_reply; /* slices and slices */
    uint64_t least_reply_cyc;                  /* no reply takes less */
    uint64_t sm_ticks_per_cycle;
    struct traffic traffic; /* between partitions, of the whole machine: what the GPU counts in */
};

/* sms, slices: component numbers over the whole machine; both arrays may be filled after the call.
 * tag_latency_cyc: latency between the arrival of a request and its tag lookup, simulated by the network. */
void fabric_init(struct fabric *f, struct arena *a, struct engine *e, const struct config *c,
                 uint32_t chiplet, struct pool *requests, uint32_t net_domain, uint32_t tag_latency_cyc,
                 const uint32_t *sms, const uint32_t *slices);

/* False: no room; the sender is woken when there is. */
bool fabric_try_request(struct fabric *f, uint64_t now, uint32_t request, uint32_t sm, uint32_t slice);
bool fabric_try_reply(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice, uint32_t sm);
/* Is there room for a request? Where an SM has several links it may have to try. */
bool fabric_may_request(const struct fabric *f, uint64_t now, uint32_t sm);

/* The present cycle of the network for whoever is in any clock, and for those at its ports. */
static inline uint64_t fabric_side_now(const struct fabric_side *s)
{
    return engine_now(s->engine, s->domain);
}
static inline uint64_t fabric_net_now(const struct fabric_side *s, uint64_t now)
{
    return s->same_clock ? now : fabric_side_now(s);
}

/* The oldest request or reply that has arrived for an SM or a slice, REQUEST_NONE when there is none. */
static inline uint32_t fabric_at(const struct fabric_side *s, uint64_t now, uint32_t receiver)
{
    const struct net_packet *p = net_peek(s->net, receiver - s->first_receiver, fabric_net_now(s, now));
    return p ? (uint32_t)p->handle : REQUEST_NONE;
}
void fabric_take(struct fabric_side *s, uint64_t now, uint32_t receiver);

/* The same for who looks often, as a port and its questions. */
static inline const struct net_front *fabric_front(const struct fabric_side *s, uint32_t receiver)
{
    return net_front_of(s->net, receiver - s->first_receiver);
}
static inline uint32_t fabric_front_at(const struct net_front *f, uint64_t net_now)
{
    return net_front_shows(f, net_now) ? (uint32_t)f->packet->handle : REQUEST_NONE;
}
/* Has the network said no, and not yet that it has room? Then this offer is counted, and need not be made.
 * Not when clocks differ: there an offer also asks again to be woken. */
static inline bool fabric_refuses(const struct fabric_side *s, uint64_t now, uint32_t sender)
{
    if (now >= s->full_cyc[sender - s->first_sender] || !s->same_clock) return false;
    net_refuse_again(s->net);
    return true;
}

/* The first cycle of the SM's clock in which a reply may arrive, as far as can be told now. */
uint64_t fabric_no_reply_until(const struct fabric *f, uint64_t now, uint32_t sm);

/* ---- slices to slices: a request to its home, the reply to the slice that sent it (request.via) ---- */

bool fabric_try_forward(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice);
bool fabric_try_far_reply(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice);

/* For who goes to sleep when sleepers_ask: the engine keeps the earliest wake-up of a component, so one that
 * the network asked for may have been replaced: clocks that differ, by one between two of the network's
 * edges; queued networks, which tell of packets long before they arrive, by any. Asks again for what is on
 * its way to the port; refused: it was not allowed to send and tries in its next cycle, when clocks differ.
 */
void fabric_sleep_sm(struct fabric *f, uint64_t now, uint32_t sm, bool refused);
void fabric_sleep_slice(struct fabric *f, uint64_t now, uint32_t slice, bool refused);

/* Bytes on the wire. */
uint32_t fabric_request_bytes(const struct fabric *f, const struct request *r);
uint32_t fabric_reply_bytes(const struct fabric *f, const struct request *r);
/* Cycles of clock.net that an unloaded packet takes. */
uint64_t fabric_request_cyc(const struct fabric *f, uint32_t sm, uint32_t slice, uint32_t bytes);

/* ---- for gates.c: any network of the machine ---- */

/* One network at a level; the caller fills in the components at its ports. links: between nodes, the network
 * of the other direction, built before, whose physical links this one shares. */
void fabric_side_build(struct fabric_side *s, struct arena *a, struct engine *e, const struct config *c,
                       enum net_level level, enum net_direction direction, uint32_t domain,
                       uint32_t sink_delay_cyc, const struct fabric_side *links, const char *name);
bool fabric_side_send(struct fabric_side *s, uint64_t net_now, const struct net_packet *p);
/* In the place of an offer for which there is no room: see net_refuse(). */
bool fabric_side_refuse(struct fabric_side *s, uint64_t net_now, const struct net_packet *p);
void fabric_side_take(struct fabric_side *s, uint64_t net_now, uint32_t sink);

#endif
