/* net_private: the state of a network. Included by the files of src/net only.
 *
 * Objects, all in flat arrays of struct net:
 *   out   a sender on a link: a router output or a source.
 *   ivc   a virtual channel at a router input: a queue of packets and the buffer behind them.
 *   sink  the queue in front of a receiver.
 *
 * A VC buffer of c flits is a ring of c times with two cursors:
 *
 *        take (receiver)          put (sender)
 *          ▼                        ▼
 *   │ … flits: cycle of arrival … │ … credits: cycle in which the sender may use them … │   (round)
 *
 * Sending writes the arrival of the flit over the credit that it uses; taking writes the cycle in which the
 * credit is back over the flit. So flits and credits travel without events: an event is posted only where
 * somebody waits. The events (in a wheel with a slot per cycle): head of a packet arrives, a blocked VC may
 * go on, a source has sent a tail or may start, a packet is complete at a sink, a sink slot is back.
 *
 * VC numbers: with input speed-up S, the VCs of an input form S groups, each with one way into the switch
 * ("switch input"). VCs are numbered so that a group is contiguous: the v-th in the order of use has position
 * (v mod S) * (V/S) + v / S. */
#ifndef ATOLL_NET_NET_PRIVATE_H
#define ATOLL_NET_NET_PRIVATE_H

#include "base/diag.h"
#include "net/net.h"
#include "stats/stats.h"

#define NET_NO_PORT UINT16_MAX
#define NET_NONE    UINT32_MAX

enum net_ivc_state {
    NET_IVC_IDLE,    /* no packet has arrived */
    NET_IVC_BEHIND,  /* order: an earlier packet of the flow, in another VC of this input, has no VC yet */
    NET_IVC_WAITING, /* wants a downstream VC */
    NET_IVC_ACTIVE,  /* owns a downstream VC, wants the switch */
};

struct net_flight { /* a packet inside */
    struct net_packet packet;
    uint64_t visible_cyc; /* at the sink, once it has left the last router */
    uint32_t via_out;     /* the sender whose sink slot it holds */
    uint32_t flits;       /* 0: not in use */
    uint64_t accept_cyc;
};

struct net_ring { /* a VC buffer, see above; the times are n->times[first .. first + vc_flits) */
    uint32_t first;
    uint16_t take, put;
    uint16_t flits; /* sent and not yet taken */
};

struct net_ivc { /* one cache line */
    _Alignas(64) struct net_ring ring;
    uint16_t front_left; /* flits of the front packet still to send */
    uint16_t out;        /* output of the front packet, local */
    uint16_t switch_in;  /* its way into the switch, local */
    uint8_t place;       /* position within that way's group */
    uint8_t set;         /* VC set that the front packet may use downstream */
    uint8_t vc;          /* downstream VC once active */
    uint8_t state;
    bool at_head; /* the next flit is a head */
    bool turn;    /* order: no earlier packet of the flow is left at this input */
    bool ready;   /* asks for the switch */
    bool wake_posted;
    uint16_t fifo_head, fifo_count;
    uint16_t accept_ptr;   /* iSLIP of VC allocation: first (output, VC) to look at */
    uint16_t credit_delay; /* flit taken here > credit usable by the sender */
    bool from_source;      /* the sender is a source */
    uint32_t feeder;       /* sender that fills this VC */
    uint32_t feeder_vc;    /* VC of that sender */
    uint32_t router, input;
    uint32_t down_ring; /* ring of the downstream VC once active; NET_NONE = credits never run out */
};

struct net_out {                    /* two cache lines */
    _Alignas(64) uint16_t free_vcs; /* downstream VCs that no packet owns */
    uint16_t ready_count;           /* owners that ask for the switch */
    uint16_t body_count;            /* … with a flit that needs no sink slot */
    uint16_t held_ivc;              /* hold: the local ivc that keeps this output, or NET_NO_PORT */
    bool blocked;                   /* at_sink: something waits for a slot, since blocked_cyc */
    bool starved;                   /* packets: someone waits for a place of unknown cycle */
    bool wake_posted;               /* packets: someone waits for a known one */
    uint16_t last_vc;               /* packets: for taking turns */
    uint16_t run_flits;             /* packets: size of the one that was last begun */
    uint64_t blocked_cyc;
    uint64_t run_cyc;      /* … in this cycle */
    bool at_sink;          /* leads to a sink, else to router input VCs */
    uint16_t credit_delay; /* flit taken downstream > credit usable here */
    uint16_t arrive_delay; /* flit on the link > arrival */
    uint32_t to;           /* first downstream ivc, or the sink */
    uint32_t ring;         /* first of the rings of its VCs; NET_NONE = credits never run out */
    uint32_t slots;        /* at_sink: packets that may still be sent */
    uint32_t back_item;    /* at_sink: the event that brings slots back in back_cyc */
    uint64_t back_cyc;
    uint32_t router;        /* NET_NONE for a source */
    uint64_t link_free_cyc; /* first cycle in which the link can take a flit */
    uint64_t flits;
    uint16_t owner[NET_MAX_VCS];  /* local ivc that owns the VC */
    uint16_t vc_ptr[NET_MAX_VCS]; /* iSLIP of VC allocation: first local ivc to look at */
};

_Static_assert(sizeof(struct net_ivc) == 64 && sizeof(struct net_out) == 192, "indexing is a shift");

/* Order: the packets of one source, destination and class at one router input, oldest first. They are named
 * by their place in n->fifo, as a long packet can be at two routers at once. */
struct net_flow {
    uint32_t head, tail;
    uint32_t no_vc; /* the first without a downstream VC */
};

/* A packet in the queue of an input VC: what the router needs, so that it need not look at the flight. */
struct net_place {
    uint32_t flight;
    uint32_t flow;      /* order: number of its flow at this input */
    uint32_t flow_next; /* order: place of the next packet of the flow at this input */
    uint16_t flits;
    uint16_t out_set; /* output * 16 + VC set that it may use there */
};

struct net_queued { /* a packet in the queue of a source */
    uint32_t flight, dst;
    uint16_t flits, cls;
};

struct net_input {
    struct net_flow *flows;                    /* NULL where nothing can overtake */
    struct net_last *lasts;                    /* the same for whole packets */
    const uint32_t *flow_of_src, *flow_of_dst; /* their sum, and the class, number the flows */
};

/* Whole packets (net_packet.c): one input VC, and what it knows of the packets inside. */
struct net_vc {
    _Alignas(64) uint64_t sent; /* flits that were ever sent into it, */
    uint64_t gone;              /* … and that have left or will leave at a known cycle */
    uint64_t tail_due_cyc;      /* pending: cycle in which the tail is sent if there is a place */
    uint32_t log_head, log_end; /* n->leaves: what leaves when */
    uint16_t head, count;       /* n->stays: packets inside, the first at the front */
    uint16_t left;              /* flits of the front packet whose leaving is not known */
    uint16_t switch_in;
    uint8_t place;
    bool pending; /* the place of the last packet's tail is not known */
    bool from_source;
    uint16_t credit_delay, round_trip;
    uint32_t feeder, router, input;
};

struct net_leave { /* flits before number `end` (and after those of the entry before) leave in base + number
                    */
    uint64_t end, base;
};

struct net_stay {                /* a packet in a VC */
    uint64_t head_cyc, tail_cyc; /* arrival */
    uint32_t flight, flow;
    uint16_t flits, out;
    uint8_t set;
};

struct net_last { /* order: the packets of a flow at an input are all in one VC */
    uint16_t vc, count;
};

struct net_match {
    uint16_t out;
    uint16_t ivc; /* local */
};

struct net_router {
    uint32_t idx, out_base, ivc_base; /* global indices of output 0 and ivc 0 */
    uint16_t ins, outs;
    uint16_t switch_ins; /* ins * input speed-up */
    uint16_t vc_words;   /* words of a mask over local ivcs */
    uint16_t out_words;  /* … over outputs */
    uint16_t in_words;   /* … over switch inputs */
    uint64_t *requests;  /* [out][in_words]: switch inputs with a VC that asks for the output */
    uint16_t *pairs;     /* [switch in][out]: those VCs, by place */
    uint16_t *grant_ptr; /* [out]: iSLIP of the switch, first switch input to look at */
    uint64_t *sink_full; /* outputs whose sink has no slot: only packets that have begun may go on */
    uint64_t *grants;    /* [switch in], at most 64 outputs: outputs that are offered in this round */
    uint64_t *sa_active; /* outputs with something that can go now */
    uint64_t *va_active; /* outputs with a waiting packet and a free VC */
    uint64_t *held;      /* outputs that are held */
    uint64_t *taken_in;  /* switch inputs that hold an output or are matched in this round */
    uint64_t *matched_out;
    uint64_t *waiting;    /* [out][set][vc_words]: local ivcs that wait for a VC */
    uint16_t *wait_count; /* [out][set] */
    uint16_t *accept_ptr; /* per switch input */
    uint16_t *vc_turn;    /* per switch input: place of the VC whose turn it is */
    uint16_t *best_out;   /* per switch input, during a round: the output that it would accept */
    uint16_t *best_dist;
    uint16_t *touched; /* switch inputs with a grant in this round */
    struct net_match *matches, *held_moves;
    uint32_t match_count;
    uint16_t *route;    /* per destination */
    uint8_t *route_set; /* per destination: VC set within the class */
};

struct net_source {
    uint32_t left; /* flits of the packet being sent that have no credit yet */
    bool sending;  /* a packet is being sent; its tail may be scheduled already */
    bool blocked;  /* the next packet found no VC */
    bool refused;  /* someone waits for room */
    bool wake_posted;
    uint16_t vc;          /* VC of the packet being sent */
    uint16_t last_vc;     /* in order of use, for taking turns */
    uint32_t head, count; /* queue of flights */
    uint64_t next_cyc;    /* first cycle in which the next flit could be sent */
    uint64_t left_cyc;    /* cycle in which the last packet left the queue */
    uint64_t fresh_cyc;   /* cycle in which the queue was last filled from empty */
};

struct net_sink {
    uint32_t head, count, capacity;
    uint32_t *queue; /* flights */
    struct net_output_stats stats;
};

/* Ports with something to do: known now, and from the next cycle on. */
struct net_ports {
    uint64_t *now, *soon;
    uint64_t now_words, soon_words; /* words that are not zero */
    uint64_t soon_cyc;
};

/* Events of a cycle, in the order in which a step looks at them. */
enum net_event {
    NET_EVENT_SLOTS,       /* out, and how many: slots of a sink are back */
    NET_EVENT_RUN_END,     /* out: the tail of a packet goes (whole packets) */
    NET_EVENT_HEAD,        /* flight and ivc: the head arrives; whole packets: VC */
    NET_EVENT_WAKE,        /* ivc: flit or credit is there; whole packets: out */
    NET_EVENT_SOURCE_WAKE, /* source: may start a packet */
    NET_EVENT_TAIL,        /* source: the tail is on the link */
    NET_EVENT_EJECT,       /* flight: complete at its sink, visible in the next cycle */
    NET_EVENTS
};

struct net_events { /* a list per slot of the wheel */
    uint32_t cap;
    uint32_t *count; /* [slot] */
    uint64_t *items; /* [slot][cap] */
};

struct net {
    struct net_spec spec;
    struct net_wiring wiring;
    uint32_t sets, sets_per_class; /* VC sets in all; per class (2 in a ring) */
    uint16_t set_mask[NET_MAX_VCS];
    uint16_t all_vcs;
    uint8_t position[NET_MAX_VCS]; /* order of use > position */
    uint32_t group;                /* VCs per switch input */
    uint32_t width_log2;           /* 32 when the width is no power of two */

    struct net_router *routers;
    uint32_t router_count, active_words;
    uint64_t *active_routers;
    struct net_out *outs; /* router outputs, then sources */
    uint32_t out_count, source_base;
    struct net_ivc *ivcs; /* ivcs, then bare rings of the VCs towards sinks */
    uint32_t ivc_count, ring_count, fifo_mask, fifo_log2;
    uint64_t *times;
    struct net_place *fifo; /* [ivc][fifo_mask + 1] */
    struct net_input *inputs;
    uint32_t input_count;
    bool whole_packets; /* routers of net_packet.c, else of net_router.c */
    struct net_vc *vcs;
    struct net_leave *leaves; /* [vc][leave_mask + 1] */
    struct net_stay *stays;   /* [vc][fifo_mask + 1] */
    uint32_t leave_log2, leave_mask;

    struct net_source *sources;
    uint32_t source_count, source_words;
    uint64_t *ready_sources;
    struct net_queued *source_queue; /* [source][source_packets] */
    struct net_sink *sinks;
    struct net_ports arrived, room;   /* sinks with a visible packet; refused sources that may try again */
    uint32_t *link_stage, *link_port; /* per out, for reports */
    uint32_t stage_count;

    struct net_flight *flights;
    uint32_t *free_flights;
    uint32_t free_count, flight_count;

    uint32_t wheel_mask;
    uint8_t *slot_busy; /* a bit for each kind of event in a slot */
    struct net_events events[NET_EVENTS];
    uint64_t next_cyc;
    uint64_t stepped_cyc; /* last cycle that was stepped or found idle */
    struct net_counts counts;
    struct net_stats stats;
};

/* ---- the wheel ---- */
static inline uint32_t net_post(struct net *n, enum net_event kind, uint64_t cyc, uint64_t item)
{
    struct net_events *e = &n->events[kind];
    const uint32_t s = (uint32_t)cyc & n->wheel_mask, nth = e->count[s]++, at = s * e->cap + nth;
    n->slot_busy[s] |= (uint8_t)(1u << kind);
    /* slots come back from outside a step */
    DIAG_ASSERT(nth < e->cap && (kind == NET_EVENT_SLOTS || cyc - n->stepped_cyc <= n->wheel_mask));
    e->items[at] = item;
    return at;
}

/* The events of one kind in a cycle, which end with this call; they stay valid until the wheel comes round.
 */
static inline uint32_t net_events_of(struct net *n, enum net_event kind, uint64_t now, const uint64_t **items)
{
    const uint32_t s = (uint32_t)now & n->wheel_mask;
    if (!(n->slot_busy[s] >> kind & 1)) return 0;
    struct net_events *e = &n->events[kind];
    const uint32_t count = e->count[s];
    *items = &e->items[(size_t)s * e->cap];
    e->count[s] = 0;
    return count;
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

/* ---- ports ---- */
static inline void net_ports_advance(struct net_ports *p, uint64_t now)
{
    if (!p->soon_words || p->soon_cyc > now) return;
    for (uint64_t m = p->soon_words; m; m &= m - 1) {
        const uint32_t w = (uint32_t)__builtin_ctzll(m);
        p->now[w] |= p->soon[w];
        p->soon[w] = 0;
    }
    p->now_words |= p->soon_words;
    p->soon_words = 0;
}
/* From cycle `cyc` on; cycles never go back. */
static inline void net_ports_set(struct net_ports *p, uint32_t port, uint64_t cyc)
{
    net_ports_advance(p, cyc - 1);
    DIAG_ASSERT(!p->soon_words || p->soon_cyc == cyc);
    p->soon_cyc = cyc;
    p->soon_words |= 1ull << (port >> 6);
    net_bit_set(p->soon, port);
}
static inline void net_ports_clear(struct net_ports *p, uint32_t port)
{
    net_bit_clear(p->now, port);
    if (!p->now[port >> 6]) p->now_words &= ~(1ull << (port >> 6));
}

/* ---- rings ---- */
static inline uint16_t net_ring_step(const struct net *n, uint16_t at)
{
    return (uint16_t)(at + 1u == n->spec.vc_flits ? 0 : at + 1u);
}
/* Cycle in which the next flit is there, or NET_NEVER. */
static inline uint64_t net_ring_flit_cyc(const struct net *n, const struct net_ring *r)
{
    return r->flits ? n->times[r->first + r->take] : NET_NEVER;
}
/* Cycle in which the next credit is there, or NET_NEVER. */
static inline uint64_t net_ring_credit_cyc(const struct net *n, const struct net_ring *r)
{
    return r->flits < n->spec.vc_flits ? n->times[r->first + r->put] : NET_NEVER;
}

static inline void net_ring_put(struct net *n, struct net_ring *r, uint64_t arrival_cyc)
{
    n->times[r->first + r->put] = arrival_cyc;
    r->put = net_ring_step(n, r->put);
    r->flits++;
}
static inline void net_ring_take(struct net *n, struct net_ring *r, uint64_t credit_cyc)
{
    n->times[r->first + r->take] = credit_cyc;
    r->take = net_ring_step(n, r->take);
    r->flits--;
}

/* Place in n->fifo of the packet at the front. */
static inline uint32_t net_ivc_front(const struct net *n, uint32_t ivc)
{
    return (ivc << n->fifo_log2) + n->ivcs[ivc].fifo_head;
}
static inline uint32_t net_ivc_front_flight(const struct net *n, uint32_t ivc)
{
    return n->fifo[net_ivc_front(n, ivc)].flight;
}

static inline uint32_t net_flow_of(const struct net_input *in, uint32_t src, uint32_t dst, uint32_t cls)
{
    return in->flow_of_src[src] + in->flow_of_dst[dst] + cls;
}

/* At most one wake of an ivc is under way: it cannot go before that one, which then looks again. */
static inline void net_post_wake(struct net *n, uint64_t cyc, uint32_t ivc)
{
    if (n->ivcs[ivc].wake_posted) return;
    n->ivcs[ivc].wake_posted = true;
    net_post(n, NET_EVENT_WAKE, cyc, ivc);
}

/* An output begins or ends to wait for its sink. */
static inline void net_out_blocked(struct net *n, struct net_out *o, bool blocked)
{
    if (blocked == o->blocked) return;
    o->blocked = blocked;
    if (blocked) {
        o->blocked_cyc = n->stepped_cyc;
    } else {
        n->sinks[o->to].stats.blocked_cyc += n->stepped_cyc - o->blocked_cyc;
        n->stats.blocked_cyc += n->stepped_cyc - o->blocked_cyc;
    }
}

/* net_router.c: one allocation round of a router (true when anything was done). */
bool net_router_step(struct net *n, struct net_router *r, uint64_t now, uint32_t round);
/* Events of this cycle: heads arrive, ivcs may go on. */
void net_router_events(struct net *n, uint64_t now);
void net_router_slots(struct net *n, struct net_out *o);
/* net_packet.c: the same for routers that switch whole packets. */
bool net_packet_step(struct net *n, struct net_router *r, uint64_t now);
void net_packet_events(struct net *n, uint64_t now);
void net_packet_slots(struct net *n, struct net_out *o);
/* A source begins to send the first packet of its queue, or is blocked. */
bool net_packet_start(struct net *n, uint32_t source, uint64_t now);
/* net_source.c: a credit of one of its VCs will be back; blocked sources look again; tails are on the link.
 */
void net_source_credit(struct net *n, uint32_t source, uint32_t vc, uint64_t credit_cyc);
void net_source_wakes(struct net *n, uint64_t now);
void net_source_tail(struct net *n, uint32_t source, uint64_t now);
bool net_source_tails(struct net *n, uint64_t now);
/* Every source that may start a packet in this cycle; true when one may still start in the next. */
bool net_sources_start(struct net *n, uint64_t now);

#endif
