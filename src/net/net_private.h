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

#include <endian.h>
#include <string.h>

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

struct net_flight { /* a packet inside; one cache line */
    _Alignas(64) struct net_packet packet;
    uint64_t visible_cyc; /* at the sink, once it has left the last router */
    uint32_t via_out;     /* the sender whose sink slot it holds */
    uint32_t flits;       /* 0: not in use */
    uint64_t accept_cyc;
    uint32_t next; /* net_nodes.c: in a list */
    uint16_t wire; /* … whose receive buffer it holds, */
    uint8_t vc;    /* … and the virtual channel there */
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

struct net_out {                     /* four cache lines: two for whole packets, two for flits */
    _Alignas(64) uint64_t *requests; /* packets: switch inputs with a VC that asks for it, */
    union {
        uint16_t *pairs;        /* … and those VCs by place, per switch input */
        uint64_t request_words; /* lanes: words of requests that are not zero */
    };
    uint64_t *active, bit; /* packets: word and bit in the router's sa_active */
    uint16_t held_ivc;     /* hold: the local ivc that keeps this output, or NET_NO_PORT */
    uint16_t ready_count;  /* owners that ask for the switch; packets: VCs that do */
    uint16_t grant_ptr;    /* packets: iSLIP, first switch input to look at */
    uint16_t last_vc;      /* packets: for taking turns */
    uint16_t arrive_delay; /* flit on the link > arrival */
    uint16_t latency;      /* packets: granted > arrival */
    bool at_sink;          /* leads to a sink, else to router input VCs */
    bool blocked;          /* at_sink: something waits for a slot, since blocked_cyc */
    bool starved;          /* packets: someone waits for a place of unknown cycle */
    bool wake_posted;      /* packets: someone waits for a known one; lanes: for the end of a run */
    bool all_or_none;      /* packets: none may stop half way, see net_build.c */
    uint32_t to;           /* first downstream ivc, or the sink */
    uint32_t router;       /* NET_NONE for a source */
    /* packets: order downstream, see struct net_input */
    union {
        uint64_t *lasts;
        uint64_t busy_cyc; /* lanes: the tail of the packet granted last goes */
    };
    const uint32_t *flow_of_src, *flow_of_dst;
    uint64_t flits;
    uint64_t blocked_cyc;
    uint64_t run_cyc, run_before_cyc; /* packets: when the last one was begun and the one before, */
    uint16_t run_flits, run_before;   /* … and their sizes */

    uint16_t credit_delay; /* flit taken downstream > credit usable here */
    uint16_t free_vcs;     /* downstream VCs that no packet owns */
    uint16_t body_count;   /* owners with a flit that needs no sink slot */
    union {
        uint32_t ring;  /* first of the rings of its VCs; NET_NONE = credits never run out */
        uint32_t early; /* plain links: … so many at most */
    };
    uint32_t slots;     /* at_sink: packets that may still be sent */
    uint32_t back_item; /* at_sink: the event that brings slots back in back_cyc */
    uint64_t back_cyc;
    union {
        uint64_t link_free_cyc; /* first cycle in which the link can take a flit */
        uint64_t early_cyc;     /* plain links: slots that count as back are back from here on, */
    };
    uint16_t owner[NET_MAX_VCS];  /* local ivc that owns the VC */
    uint16_t vc_ptr[NET_MAX_VCS]; /* iSLIP of VC allocation: first local ivc to look at */
};

_Static_assert(sizeof(struct net_ivc) == 64 && sizeof(struct net_out) == 256, "indexing is a shift");

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
    _Alignas(16) uint32_t flight;
    uint32_t dst;
    uint16_t flits, cls;
};

struct net_input {
    struct net_flow *flows;                    /* NULL where nothing can overtake */
    const uint32_t *flow_of_src, *flow_of_dst; /* their sum, and the class, number the flows */
};

/* Whole packets (net_packet.c): one input VC, and what it knows of the packets inside. Flits and places are
 * numbered since the start, modulo 2^32. */
struct net_vc {
    _Alignas(64) uint32_t sent; /* flits that were ever sent into it, */
    uint32_t freed;             /* … and places for them, also those that will be free at a known cycle */
    uint32_t log_at, log_end;   /* places that are not taken again yet */
    struct net_leave *log;      /* [leave_mask + 1] */
    struct net_stay *stays;     /* [fifo_mask + 1]: packets inside, */
    uint16_t head, count;       /* … the first at the front */
    uint16_t left;              /* flits of the front packet whose leaving is not known */
    uint16_t credit_delay;
    uint64_t busy_cyc; /* the tail of the last packet that left goes in this cycle */
    struct net_router *router;
    struct net_out *feeder;

    uint64_t *lasts;       /* of its input */
    uint64_t in_bit;       /* its switch input: bit in word in_word */
    uint64_t tail_due_cyc; /* pending: cycle in which the tail is sent if there is a place */
    uint16_t in_word, switch_in;
    uint16_t place_bit; /* within the switch input */
    uint16_t nth;       /* within the input, in the order of use */
    uint16_t local;     /* number in its router */
    uint16_t round_trip;
    bool pending; /* the place of the last packet's tail is not known */
    bool from_source;
};

/* Whole packets: a switch input. */
struct net_switch_in {
    uint16_t accept_ptr;          /* iSLIP: first output to look at */
    uint16_t vc_turn;             /* place of the VC whose turn it is */
    uint16_t best_out, best_dist; /* during a round: the output that it would accept */
};

struct net_leave { /* places before number `end`, one per cycle: the last can be used in `cyc` */
    uint64_t cyc;
    uint32_t end;
};

struct net_stay {                /* a packet in a VC */
    uint64_t head_cyc, tail_cyc; /* arrival */
    uint32_t flight, flow;
    uint32_t out; /* in n->outs */
    uint16_t flits;
    uint8_t set;
};

/* Order: the packets of a flow at an input are all in one VC. One number: those that are not granted yet or
 * have no known end (16 bits), the VC (4 bits), the cycle in which the tail of the last one granted goes. */
#define NET_LAST_ONE   (1ull << 48)
#define NET_LAST_VC(x) ((uint32_t)((x) >> 44) & 15)
#define NET_LAST_CYC   ((1ull << 44) - 1)

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
    uint16_t *touched;               /* switch inputs with a grant in this round */
    struct net_switch_in *switch_in; /* whole packets */
    uint32_t *ends;                  /* whole packets: outputs whose packet ends in the cycle of its grant */
    uint32_t end_count;
    struct net_match *matches, *held_moves;
    uint32_t match_count;
    uint16_t *route;    /* per destination */
    uint8_t *route_set; /* per destination: VC set within the class */
};

struct net_source {
    _Alignas(64) struct net_queued *queue;
    uint32_t left; /* flits of the packet being sent that have no credit yet */
    bool sending;  /* a packet is being sent; its tail may be scheduled already */
    bool blocked;  /* the next packet found no VC */
    bool refused;  /* someone waits for room */
    bool wake_posted;
    bool tail_posted;     /* whole packets: an event will end the packet being sent */
    uint16_t vc;          /* VC of the packet being sent */
    uint16_t last_vc;     /* in order of use, for taking turns */
    uint32_t head, count; /* queue of flights */
    uint64_t next_cyc;    /* first cycle in which the next flit could be sent */
    uint64_t left_cyc;    /* cycle in which the last packet left the queue */
    uint64_t fresh_cyc;   /* cycle in which the queue was last filled from empty */
    uint64_t tail_cyc;    /* whole packets: the tail of the packet being sent goes; NET_NEVER: not known */
};

/* A place in the queue before a receiver. */
struct net_slot {
    uint64_t back_cyc; /* whole packets: the next one for it can be sent from here on */
    uint32_t flight;
};

/* That queue: packet number x is in slots[x & mask], if x < popped + capacity. */
struct net_sink {
    _Alignas(64) struct net_slot *slots;
    uint32_t pushed, popped, capacity, mask;
    bool back_wanted; /* whole packets: an output waits for the next pop */
    bool back_posted; /* … for a slot that comes back at a known cycle */
    uint32_t out;     /* whole packets: the output that fills it */
    struct net_output_stats stats;
};

/* Ports with something to do: known now, and from the next cycle on. */
struct net_ports {
    uint64_t *now, *soon;
    uint64_t now_words, soon_words; /* words that are not zero */
    uint64_t soon_cyc;
};

/* Sinks with a packet that is there or on its way, and those of them that were seen to show it. */
struct net_arrivals {
    uint64_t *inside, *visible;
    uint64_t inside_words, visible_words;
    uint64_t next_cyc; /* no other shows one before */
};

/* Events of a cycle, in the order in which a step looks at them. */
enum net_event {
    NET_EVENT_SLOTS,       /* out, and how many: slots of a sink are back */
    NET_EVENT_RUN_END,     /* out: the tail of a packet goes (whole packets) */
    NET_EVENT_HEAD,        /* flight and ivc: the head arrives; whole packets: VC */
    NET_EVENT_WAKE,        /* ivc: flit or credit is there; whole packets: out */
    NET_EVENT_SOURCE_WAKE, /* source: may start a packet */
    NET_EVENT_TAIL,        /* source: the tail is on the link */
    NET_EVENT_EJECT,       /* flight (whole packets: sink): complete, visible in the next cycle */
    NET_EVENTS
};

struct net_events { /* a list per slot of the wheel */
    uint32_t cap;
    uint32_t *count; /* [slot] */
    uint64_t *items; /* [slot][cap] */
};

struct net {
    struct net_view view; /* first: net.h reads it */
    struct net_spec spec;
    struct net_wiring wiring;
    uint64_t (*step)(struct net *n, uint64_t now); /* of its kind; returns the next cycle */
    uint32_t group_sinks;                          /* that a source reaches by plain links, */
    uint32_t *first_sink;                          /* … from this one on */
    uint32_t sets, sets_per_class;                 /* VC sets in all; per class (2 in a ring) */
    uint16_t set_mask[NET_MAX_VCS];
    uint16_t set_order[NET_MAX_VCS];   /* the same in the order of use */
    uint16_t class_order[NET_MAX_VCS]; /* VCs of a message class in the order of use */
    uint16_t all_vcs;
    uint8_t position[NET_MAX_VCS]; /* order of use > position */
    uint32_t group;                /* VCs per switch input */
    uint64_t width_inverse;        /* 2^32 / width, rounded up; 0 where that is not exact enough */

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
    bool plain_links;   /* net_link.c: no routers */
    bool whole_packets; /* routers of net_packet.c, else of net_router.c */
    struct net_vc *vcs;
    uint32_t leave_mask;
    struct net_queue *queue; /* net_queue.c; NULL: another kind */
    struct net_nodes *nodes; /* net_nodes.c; NULL: another kind */
    uint32_t node_class;     /* … the message class of this network there */
    bool by_lanes;           /* whole packets, by net_lane.c */
    uint8_t *lanes;          /* [lane_bytes] each; the packets inside begin lane_stays bytes in */
    uint64_t *lasts;         /* [source][sink], as those of an input; NULL: packets may overtake */
    uint32_t lane_bytes, lane_stays;
    uint64_t refreshed_cyc;

    struct net_source *sources;
    uint32_t source_count, source_words;
    uint64_t *ready_sources;
    struct net_sink *sinks;
    uint64_t *waited_cyc; /* by sink: sum over packets that net_pop() took, of visible to taken */
    struct net_arrivals arrived;
    struct net_ports room;            /* refused sources that may try again */
    uint32_t *link_stage, *link_port; /* per out, for reports */
    uint32_t stage_count;

    /* Packets inside. The first flight_used entries have held a packet; the others are untouched, so that a
     * network with deep buffers costs nothing until it fills them. */
    struct net_flight *flights;
    uint32_t *free_flights; /* entries below flight_used without a packet, the last one freed on top */
    uint32_t free_count, flight_used, flight_count;

    uint32_t wheel_mask;
    uint8_t *slot_busy; /* a bit for each kind of event in a slot */
    uint64_t posted[2]; /* events in the wheel: ends of runs in [1], all others in [0] */
    struct net_events events[NET_EVENTS];
    uint64_t inside_cyc;             /* stats.inside_cyc is counted up to here */
    uint64_t stepped_cyc;            /* last cycle that was stepped or found idle */
    uint64_t clock;                  /* whole packets: cycle of the routers, which are ahead */
    uint64_t wheel_cyc;              /* whole packets: slots until this one are done */
    uint64_t asking;                 /* whole packets: VCs that ask for an output */
    struct net_counts counts_before; /* since the start, without n->stats */
    struct net_stats stats;
};

/* ---- the wheel ---- */
static inline uint32_t net_post(struct net *n, enum net_event kind, uint64_t cyc, uint64_t item)
{
    struct net_events *e = &n->events[kind];
    const uint32_t s = (uint32_t)cyc & n->wheel_mask, nth = e->count[s]++, at = s * e->cap + nth;
    n->slot_busy[s] |= (uint8_t)(1u << kind);
    n->posted[kind == NET_EVENT_RUN_END]++;
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
    n->posted[kind == NET_EVENT_RUN_END] -= count;
    return count;
}

/* What is busy in eight slots, the first in the lowest byte; slot: a multiple of eight. */
static inline uint64_t net_slots(const struct net *n, uint32_t slot)
{
    uint64_t m;
    memcpy(&m, n->slot_busy + slot, 8);
    return le64toh(m);
}

/* The first slot of the wheel after `done` with events of the wanted kinds (a bit each), or NET_NEVER. */
static inline uint64_t net_next_event(const struct net *n, uint64_t done, uint8_t kinds)
{
    const uint64_t wanted = kinds * 0x0101010101010101u;
    const uint32_t words = (n->wheel_mask + 1) / 8, from = (uint32_t)(done + 1) & n->wheel_mask;
    uint32_t w = from / 8;
    uint64_t cut = ~0ull << (from % 8 * 8);
    for (uint32_t i = 0; i <= words; i++) {
        const uint64_t m = net_slots(n, w * 8) & cut & wanted;
        if (m) return done + 1 + ((w * 8 + (uint32_t)__builtin_ctzll(m) / 8 - from) & n->wheel_mask);
        if (++w == words) w = 0;
        cut = ~0ull;
    }
    return NET_NEVER;
}

/* Called before the number of packets inside changes. */
static inline void net_count_inside(struct net *n, uint64_t now)
{
    n->stats.inside_cyc += (now - n->inside_cyc) * (n->flight_used - n->free_count);
    n->inside_cyc = now;
}

/* An entry for a packet; the caller has checked that the source has room. */
static inline uint32_t net_flight_take(struct net *n)
{
    if (n->free_count) return n->free_flights[--n->free_count];
    DIAG_ASSERT(n->flight_used < n->flight_count);
    return n->flight_used++;
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

static inline uint32_t net_flits_of(const struct net *n, uint32_t bytes)
{
    const uint32_t up = bytes + n->spec.width_bytes - 1;
    const uint32_t flits =
        n->width_inverse ? (uint32_t)(up * n->width_inverse >> 32) : up / n->spec.width_bytes;
    return flits ? flits : 1;
}

/* Whole packets: a link begins to carry one. */
static inline void net_run_begins(struct net_out *o, uint32_t flits, uint64_t cyc)
{
    o->run_before_cyc = o->run_cyc;
    o->run_before = o->run_flits;
    o->run_cyc = cyc;
    o->run_flits = (uint16_t)flits;
    o->flits += flits;
}

/* Whole packets: the tail is on the link since tail_cyc, the packet leaves the queue. */
static inline void net_source_settle(const struct net *n, struct net_source *s)
{
    s->head = s->head + 1 == n->spec.source_packets ? 0 : s->head + 1;
    s->count--;
    s->left_cyc = s->tail_cyc;
    s->tail_cyc = NET_NEVER;
    s->tail_posted = s->sending = false;
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
        o->blocked_cyc = n->clock;
    } else {
        n->sinks[o->to].stats.blocked_cyc += n->clock - o->blocked_cyc;
        n->stats.blocked_cyc += n->clock - o->blocked_cyc;
    }
}

/* The oldest packet of a sink changes; NULL: there is none any more. */
static inline void net_front_set(struct net *n, uint32_t sink, const struct net_flight *f)
{
    struct net_front *front = &n->view.fronts[sink];
    struct net_arrivals *a = &n->arrived;
    if (f) {
        front->visible_cyc = f->visible_cyc;
        front->packet = &f->packet;
        if (f->visible_cyc < a->next_cyc) a->next_cyc = f->visible_cyc;
        net_bit_set(a->inside, sink);
        a->inside_words |= 1ull << (sink >> 6);
        return;
    }
    front->visible_cyc = NET_NEVER;
    net_bit_clear(a->inside, sink);
    if (!a->inside[sink >> 6]) a->inside_words &= ~(1ull << (sink >> 6));
}

static inline void net_count_delivery(struct net *n, struct net_sink *s, const struct net_flight *f)
{
    const uint64_t latency_cyc = f->visible_cyc - f->accept_cyc;
    s->stats.packets++;
    s->stats.bytes += f->packet.bytes;
    s->stats.busy_cyc += f->flits;
    n->stats.delivered++;
    n->stats.busy_cyc += f->flits;
    n->stats.latency_cyc += latency_cyc;
    STATS_COUNT(n->stats.latency, latency_cyc);
}

/* Whole packets: a receiver has taken a packet. */
static inline void net_packet_popped(struct net *n, struct net_sink *s, uint64_t now)
{
    const uint64_t back = now + 2 + n->spec.credit_delay_cyc;
    s->slots[(s->popped - 1 + s->capacity) & s->mask].back_cyc = back;
    if (__builtin_expect(!s->back_wanted, 1)) return;
    s->back_wanted = false;
    s->back_posted = true;
    net_post(n, NET_EVENT_SLOTS, back, s->out);
    if (n->view.next_cyc > back - 1) n->view.next_cyc = back - 1;
}

/* net_router.c: one allocation round of a router (true when anything was done). */
bool net_router_step(struct net *n, struct net_router *r, uint64_t now, uint32_t round);
/* Events of this cycle: heads arrive, ivcs may go on. */
void net_router_events(struct net *n, uint64_t now);
void net_router_slots(struct net *n, struct net_out *o);
/* net_packet.c: a step of a network that switches whole packets; returns the next cycle. */
uint64_t net_packet_step(struct net *n, uint64_t now);
/* Someone waits for the end of the packet that is being sent. */
void net_packet_tail_wanted(struct net *n, uint32_t source);
bool net_packet_sink_full(const struct net *n, const struct net_out *o);
uint64_t net_packet_link_flits(const struct net *n, const struct net_out *o);
/* net_lane.c: the same for crossbars whose VCs have ways of their own. */
bool net_lanes_fit(const struct net_spec *spec);
void net_lanes_build(struct net *n, struct arena *a);
uint64_t net_lanes_step(struct net *n, uint64_t now);
/* A packet was accepted: fetches what its start will need into the host's caches. */
void net_lanes_fetch(const struct net *n, uint32_t source, uint32_t sink);
struct net_lane_state {
    uint32_t packets, out; /* out: of the first */
};
struct net_lane_state net_lane_state(const struct net *n, uint32_t lane);
/* net_queue.c, its reports in net_queue_report.c: a crossbar with queues at its outputs. */
void net_queue_build(struct net *n, struct arena *a);
uint64_t net_queue_step(struct net *n, uint64_t now);
bool net_queue_try_inject(struct net *n, const struct net_packet *p, uint64_t now);
bool net_queue_has_room(const struct net *n, uint32_t source, uint64_t now);
bool net_queue_idle(const struct net *n, uint32_t source, uint64_t now);
bool net_queue_refuse(struct net *n, uint32_t source, uint64_t now);
void net_queue_pop(struct net *n, uint32_t sink, uint64_t now);
/* What is left inside, and the sum of its times until now. */
void net_queue_settle(struct net *n);
void net_queue_settle_series(struct net *n);
void net_queue_count(struct net *n, uint64_t now, struct net_stats *out);
void net_queue_restart(struct net *n, uint64_t now);
uint64_t net_queue_link_flits(const struct net *n, uint32_t link, uint64_t now);
struct net_output_stats net_queue_output(const struct net *n, uint32_t sink);
/* See net_waited(): of packets that have not been taken yet, and of all sinks together. */
uint64_t net_queue_still_waits(const struct net *n, uint32_t sink, uint64_t now);
uint64_t net_queue_waited(const struct net *n, uint64_t now);
void net_queue_describe(const struct net *n, char *text, size_t bytes);
/* net_link.c: a step of plain links; a packet was taken that came over one. */
uint64_t net_links_step(struct net *n, uint64_t now);
void net_link_popped(struct net *n, uint32_t out, uint64_t now);
/* net.c: a step of routers that switch flits; slots of sinks that are back; a packet was taken, its slot will
 * be; packets that are complete. */
uint64_t net_flits_step(struct net *n, uint64_t now);
void net_slots_are_back(struct net *n, uint64_t now);
void net_slot_back(struct net *n, uint32_t out, uint64_t now);
void net_packets_complete(struct net *n, uint64_t now);
/* net_source.c: a credit of one of its VCs will be back; blocked sources look again; tails are on the link.
 */
void net_source_credit(struct net *n, uint32_t source, uint32_t vc, uint64_t credit_cyc);
void net_source_wakes(struct net *n, uint64_t now);
void net_source_tail(struct net *n, uint32_t source, uint64_t now);
bool net_source_tails(struct net *n, uint64_t now);
/* A place in the queue of a refused source can be had from `from_cyc` on. */
void net_source_has_room(struct net *n, uint32_t source, uint64_t from_cyc);
/* Every source that may start a packet in this cycle; true when one may still start in the next. */
bool net_sources_start(struct net *n, uint64_t now);

#endif
