/* net_private: the state of a network. Included by the files of src/net only.
 *
 * Three kinds of objects, all in flat arrays of struct net:
 *   out   a sender on a link: a router output or a source. Knows credits and owner of each downstream VC.
 *   ivc   a virtual channel at a router input: a queue of packets, counted in flits.
 *   sink  the queue in front of a receiver.
 * What travels is an event in a wheel: a flit arriving at an ivc, a credit arriving at an out, a packet
 * complete at a sink. Delays are constants of the links, so an event is written once, into the slot of its
 * cycle.
 *
 * VC numbers: with input speed-up S, the VCs of an input form S groups, each with one way into the switch.
 * VCs are numbered so that a group is contiguous ("position"); v in the order of use has position (v mod S) *
 * (V/S) + v / S. */
#ifndef ATOLL_NET_NET_PRIVATE_H
#define ATOLL_NET_NET_PRIVATE_H

#include <limits.h>

#include "base/diag.h"
#include "net/net.h"

#define NET_NO_PORT UINT16_MAX
#define NET_NONE    UINT32_MAX

enum net_ivc_state { NET_IVC_IDLE, NET_IVC_WAIT, NET_IVC_ACTIVE };

struct net_flight { /* a packet inside */
    struct net_packet packet;
    uint64_t visible_cyc; /* at the sink, once it has left the last router */
    uint32_t via_out;     /* the sender whose sink slot it holds */
    uint32_t flits;
};

struct net_out {
    uint16_t free_vcs;      /* downstream VCs that no packet owns */
    uint16_t ready_vcs;     /* VCs whose owner has a flit here and a credit there */
    uint16_t head_vcs;      /* VCs whose owner's next flit is a head: needs a sink slot when at_sink */
    uint16_t held_by;       /* hold: the switch input that keeps this output, or NET_NO_PORT */
    uint16_t held_vc;       /* hold: the VC that is streaming */
    uint16_t grant_ptr;     /* iSLIP of the switch: first switch input to look at */
    bool at_sink;           /* leads to a sink, else to router input VCs */
    bool counts_credits;    /* false where credits can never run out (see net_build.c) */
    uint16_t credit_delay;  /* flit leaves the downstream buffer > credit usable here */
    uint16_t arrive_delay;  /* switch allocation (or source step) > arrival */
    uint32_t to;            /* first downstream ivc, or the sink */
    uint32_t slots;         /* at_sink: packets that may still be sent */
    uint32_t slots_back;    /* at_sink: popped, on their way back */
    uint32_t router;        /* NET_NONE for a source */
    uint64_t link_free_cyc; /* first cycle in which the link can take a flit (internal speed-up) */
    uint64_t flits;
    uint16_t owner[NET_MAX_VCS];    /* local ivc that owns the VC */
    uint16_t owner_in[NET_MAX_VCS]; /* its switch input */
    uint16_t credit[NET_MAX_VCS];
    uint16_t vc_ptr[NET_MAX_VCS]; /* iSLIP of VC allocation: first local ivc to look at */
};

struct net_ivc {
    uint16_t present;    /* flits in the buffer */
    uint16_t front_left; /* flits of the front packet still to send */
    uint16_t out;        /* output of the front packet, local */
    uint8_t set;         /* VC set that it may use downstream */
    uint8_t vc;          /* downstream VC once active */
    uint8_t state;
    bool at_head;
    uint16_t fifo_head, fifo_count;
    uint16_t accept_ptr; /* iSLIP of VC allocation: first (output, VC) to look at */
    uint32_t feeder_vc;  /* out * V + VC of the sender that fills this VC */
    uint32_t router;
};

/* Where packets of a flow sit downstream of a sender: the next one must follow into the same VC. */
struct net_flow {
    uint16_t count;
    uint16_t vc;
};

struct net_match {
    uint16_t out, vc;
};

struct net_router {
    uint32_t out_base, ivc_base; /* global indices of output 0 and ivc 0 */
    uint16_t ins, outs;
    uint16_t switch_ins;  /* ins * input speed-up */
    uint16_t vc_words;    /* words of a mask over local ivcs */
    uint16_t out_words;   /* words of a mask over outputs */
    uint64_t *sa_active;  /* outputs with something ready */
    uint64_t *va_active;  /* outputs with a waiting packet and a free VC */
    uint64_t *held;       /* outputs that are held */
    uint64_t *held_in;    /* switch inputs that hold an output */
    uint64_t *matched_in; /* switch inputs matched in this round */
    uint64_t *waiting;    /* [out][set][vc_words]: local ivcs that wait for a VC */
    uint16_t *wait_count; /* [out][set] */
    uint16_t *accept_ptr; /* per switch input */
    uint16_t *vc_turn;    /* per switch input: VC of the group whose turn it is */
    uint16_t *best_out;   /* per switch input, during a round: output that it would accept */
    uint16_t *best_dist;
    uint16_t *touched; /* switch inputs with a grant in this round */
    uint64_t *matched_out;
    struct net_match *matches;    /* what the switch moves in this round */
    struct net_match *held_moves; /* what goes on without being asked */
    uint32_t match_count;
    uint16_t *route;    /* per destination */
    uint8_t *route_set; /* per destination: VC set within the class */
};

struct net_source {
    uint32_t left;        /* flits of the packet being sent, 0 = none */
    uint16_t vc;          /* its VC */
    uint16_t last_vc;     /* in order of use, for taking turns */
    uint32_t head, count; /* queue of flights */
    uint64_t left_cyc;    /* cycle in which the last packet left the queue */
    bool refused;         /* someone waits for room */
};

struct net_sink {
    uint32_t head, count, capacity;
    uint32_t *queue; /* flights */
};

struct net_slot { /* what happens in one cycle */
    uint32_t arrivals, credits, ejects, slot_credits;
};

struct net {
    struct net_spec spec;
    struct net_wiring wiring;
    uint32_t sets, set_count_ring; /* VC sets in all; sets per class (2 in a ring) */
    uint16_t set_mask[NET_MAX_VCS];
    uint16_t all_vcs;
    uint8_t position[NET_MAX_VCS]; /* order of use > position */
    uint8_t use_order[NET_MAX_VCS];
    uint32_t group; /* VCs per switch input */
    uint32_t max_flits;

    struct net_router *routers;
    uint32_t router_count, active_words;
    uint64_t *active_routers;
    struct net_out *outs; /* router outputs, then sources */
    uint32_t out_count, source_base;
    struct net_ivc *ivcs;
    uint32_t ivc_count, fifo_mask, fifo_log2;
    uint32_t *fifo; /* [ivc][fifo_mask + 1] flights */

    struct net_source *sources;
    uint32_t source_count, source_words;
    uint64_t *ready_sources;
    uint32_t *source_queue; /* [source][source_packets] flights */
    struct net_sink *sinks;
    uint32_t *link_stage, *link_port; /* per out, for reports */
    uint32_t stage_count;

    struct net_flow **flows; /* per out; NULL where order needs no care */
    uint32_t flow_src_mod, flow_dst_mod;

    struct net_flight *flights;
    uint32_t *free_flights;
    uint32_t free_count, flight_count;

    /* the wheel */
    uint32_t wheel_mask, arrival_cap, credit_cap, eject_cap;
    struct net_slot *slots;
    uint64_t *arrivals;     /* flight + 1 (head) or 0, then the ivc */
    uint32_t *credits;      /* out * V + VC */
    uint32_t *ejects;       /* flights */
    uint32_t *slot_credits; /* outs */
    uint64_t *busy_slots;   /* a bit per slot that holds anything */
    uint64_t next_cyc;
};

/* ---- the wheel ---- */
static inline uint32_t net_slot_at(struct net *n, uint64_t cyc)
{
    const uint32_t s = (uint32_t)cyc & n->wheel_mask;
    n->busy_slots[s >> 6] |= 1ull << (s & 63);
    return s;
}

static inline void net_post_arrival(struct net *n, uint64_t cyc, uint32_t ivc, uint32_t head_flight)
{
    const uint32_t s = net_slot_at(n, cyc);
    DIAG_ASSERT(n->slots[s].arrivals < n->arrival_cap);
    n->arrivals[(size_t)s * n->arrival_cap + n->slots[s].arrivals++] = (uint64_t)head_flight << 32 | ivc;
}

static inline void net_post_credit(struct net *n, uint64_t cyc, uint32_t out_vc)
{
    const uint32_t s = net_slot_at(n, cyc);
    DIAG_ASSERT(n->slots[s].credits < n->credit_cap);
    n->credits[(size_t)s * n->credit_cap + n->slots[s].credits++] = out_vc;
}

/* A packet is complete at its sink in cyc; the sink learns it a cycle before (see the contract in net.h). */
static inline void net_post_eject(struct net *n, uint64_t cyc, uint32_t flight)
{
    const uint32_t s = net_slot_at(n, cyc - 1);
    DIAG_ASSERT(n->slots[s].ejects < n->eject_cap);
    n->flights[flight].visible_cyc = cyc;
    n->ejects[(size_t)s * n->eject_cap + n->slots[s].ejects++] = flight;
}

static inline void net_post_slot_credit(struct net *n, uint64_t cyc, uint32_t out)
{
    const uint32_t s = net_slot_at(n, cyc);
    DIAG_ASSERT(n->slots[s].slot_credits < n->eject_cap);
    n->slot_credits[(size_t)s * n->eject_cap + n->slots[s].slot_credits++] = out;
}

/* ---- bit masks ---- */
static inline void net_bit_set(uint64_t *mask, uint32_t bit) { mask[bit >> 6] |= 1ull << (bit & 63); }
static inline void net_bit_clear(uint64_t *mask, uint32_t bit) { mask[bit >> 6] &= ~(1ull << (bit & 63)); }
static inline bool net_bit(const uint64_t *mask, uint32_t bit) { return mask[bit >> 6] >> (bit & 63) & 1; }

/* First set bit at or after `from`, going round; NET_NONE when there is none. from < 64 * words. */
static inline uint32_t net_bit_next(const uint64_t *mask, uint32_t words, uint32_t from)
{
    uint32_t w = from >> 6;
    uint64_t m = mask[w] & (~0ull << (from & 63));
    for (uint32_t i = 0; i <= words; i++) {
        if (m) return w << 6 | (uint32_t)__builtin_ctzll(m);
        if (++w == words) w = 0;
        m = mask[w];
    }
    return NET_NONE;
}

/* ---- what the files share ---- */
static inline uint32_t net_flow_key(const struct net *n, const struct net_packet *p)
{
    return ((p->src % n->flow_src_mod) * n->flow_dst_mod + p->dst % n->flow_dst_mod) * n->spec.classes +
           p->cls;
}

static inline void net_router_wake(struct net *n, uint32_t router) { net_bit_set(n->active_routers, router); }

/* An output of a router is worth visiting by the switch when it has something that can go now. */
static inline void net_out_update(struct net *n, struct net_out *o)
{
    struct net_router *r = &n->routers[o->router];
    const uint32_t local = (uint32_t)(o - n->outs) - r->out_base;
    uint16_t can = o->ready_vcs;
    if (o->at_sink && !o->slots) can &= (uint16_t)~o->head_vcs;
    if (can) {
        net_bit_set(r->sa_active, local);
        net_router_wake(n, o->router);
    } else {
        net_bit_clear(r->sa_active, local);
    }
}

/* One allocation round of a router (net_router.c). */
void net_router_step(struct net *n, struct net_router *r, uint64_t now, uint32_t round);
void net_ivc_front(struct net *n, struct net_router *r, uint32_t local_ivc);

#endif
