/* net_queue: a crossbar with queues at its outputs (NET_QUEUED), whose packets are times.
 *
 *   queue of the source ─► link of the source ─► switch ─► queue of the output ─► link to the sink
 *    (source_packets)        1 flit/cycle      all inputs    (sink_packets)        1 flit/cycle
 *
 * The switch brings packets from any number of inputs to one output in the same cycle, so that nothing waits
 * but for the two links and for a place behind the switch. A packet that begins on its first link therefore
 * knows when it will be at its sink: it is one event, whatever its size and however long it waits. Packets
 * of an output keep the order in which they began; those of one cycle that of their sources.
 *
 * Beginning may be worked off late, as long as nobody has to see a packet before (net_queue_run()): a place
 * that was left meanwhile can be used from a known cycle on. Included by the files of the network, and by
 * gpu/windows.c, which runs both networks of a GPU in stretches. */
#ifndef ATOLL_NET_NET_QUEUE_H
#define ATOLL_NET_NET_QUEUE_H

#include "net/net_private.h"

/* In the queue of a source. */
struct net_queue_packet {
    _Alignas(32) uint64_t accept_cyc;
    struct net_packet packet;
};

struct net_queue_source {
    _Alignas(64) struct net_queue_packet *ring; /* grows up to source_packets */
    uint32_t head, count, mask;
    bool refused;          /* someone waits for a place */
    bool promised;         /* its first packet has a place behind the switch, from a known cycle on */
    uint16_t next_waiting; /* for a place there */
    uint64_t free_cyc;     /* its link can take a head from then on */
    uint64_t started_cyc;  /* when the last packet began */
    uint64_t blocked_cyc;  /* waiting: since then */
    uint64_t flits;
};

/* Behind the switch: on its way to the sink or waiting there. */
struct net_queue_slot {
    _Alignas(32) uint64_t visible_cyc;
    struct net_packet packet;
};

struct net_queue_sink {                       /* the first cache line is what every packet needs */
    _Alignas(64) struct net_queue_slot *ring; /* packet x is in ring[x & mask]; grows up to the capacity */
    uint32_t pushed, popped, mask;
    uint32_t asked;           /* packets before this one have a place, here and in the ring; it must ask */
    uint64_t next_cyc;        /* a head that comes next is at the sink after this cycle: its link is busy */
    uint64_t bytes, busy_cyc; /* see net_output_stats */
    uint64_t *left_cyc;       /* [x & left_mask]: when packet x was taken; x + capacity may begin
                                 NET_QUEUE_BACK and credit_delay_cyc later */
    uint32_t left_mask;
    bool scarce;      /* there are sources that wait for a place; */
    uint16_t waiting; /* … do not know of one, the first of a list */

    uint16_t last;        /* … of that list */
    uint32_t promised;    /* … know of one */
    uint32_t capacity;    /* places */
    uint32_t counted;     /* the packet that asked last */
    uint64_t packets;     /* … pushed before it */
    uint64_t blocked_cyc; /* waits are counted up to here; */
    uint64_t waited_cyc;  /* … this many */
};
_Static_assert(offsetof(struct net_queue_sink, last) == 64, "a cache line");

enum {
    NET_QUEUE_WHEEL = 512, /* cycles ahead that a beginning can be known */
    NET_QUEUE_BACK = 2     /* a packet is taken > its place can be used, without the delay of credits */
};
_Static_assert(2 * NET_QUEUE_AHEAD < NET_QUEUE_WHEEL,
               "who is in time knows of no beginning beyond the wheel");

struct net_queue {
    struct net_queue_source *sources;
    struct net_queue_sink *sinks;
    struct arena *arena;
    uint64_t *starts;                 /* [source / 64][cycle % wheel]: sources whose first packet may
                                         begin; */
    uint8_t busy[NET_QUEUE_WHEEL];    /* … is there any in a cycle? */
    uint32_t known;                   /* … how many in all */
    uint32_t words;                   /* of a mask over sources */
    const uint8_t *flits_of;          /* by bytes, up to max_packet_bytes */
    uint64_t done_cyc;                /* what begins before has begun */
    uint64_t soonest_cyc;             /* beginning > arrival, without the flits */
    uint64_t accepted_cyc, taken_cyc; /* sums over packets: when they were; */
    uint64_t arrival_cyc;             /* … of all that began: when they arrive */
    uint64_t busy_before_cyc;         /* sinks, before statistics began anew */
    uint64_t latency[64];             /* packets by the highest bit of their latency */
};

/* A packet was taken: the source that has waited longest may begin. */
void net_queue_promise(struct net *n, struct net_queue_sink *k);
void net_queue_grow_source(struct net_queue *q, struct net_queue_source *s);
/* `cyc` is beyond the wheel, or before what it begins with: nothing was done for long. */
void net_queue_turn(struct net_queue *q, uint64_t cyc);

static inline void net_queue_begins(struct net_queue *q, uint32_t source, uint64_t cyc)
{
    if (__builtin_expect(cyc - q->done_cyc >= NET_QUEUE_WHEEL, 0)) net_queue_turn(q, cyc);
    const uint32_t slot = (uint32_t)cyc % NET_QUEUE_WHEEL;
    q->starts[(size_t)(source >> 6) * NET_QUEUE_WHEEL + slot] |= 1ull << (source & 63);
    q->busy[slot] = 1;
    q->known++;
}

/* Packets in the queue of a source; one that begins in this very cycle is still there. */
static inline uint32_t net_queue_waiting(const struct net_queue_source *s, uint64_t now)
{
    return s->count + (s->started_cyc == now);
}

/* The packet, for which there is a place, joins the queue of its source; returns when it may begin if it is
 * the first there, else NET_NEVER. */
static inline uint64_t net_queue_join(struct net *n, const struct net_packet *p, uint64_t now)
{
    struct net_queue *const q = n->queue;
    struct net_queue_source *const s = &q->sources[p->src];
    const uint32_t count = s->count;
    if (__builtin_expect(count > s->mask, 0)) net_queue_grow_source(q, s);
    struct net_queue_packet *const at = &s->ring[(s->head + count) & s->mask];
    at->accept_cyc = now;
    at->packet.handle = p->handle;
    at->packet.src = p->src;
    at->packet.dst = p->dst;
    at->packet.bytes = p->bytes;
    at->packet.cls = p->cls;
    n->stats.accepted++;
    n->stats.accepted_bytes += p->bytes;
    q->accepted_cyc += now;
    s->count = count + 1;
    if (count) return NET_NEVER;
    const uint64_t cyc = s->free_cyc > now ? s->free_cyc : now + 1;
    net_queue_begins(q, p->src, cyc);
    return cyc;
}

/* Takes the oldest packet of a sink, which has one that is visible. */
static inline void net_queue_take(struct net *n, uint32_t sink, uint64_t now)
{
    struct net_queue *const q = n->queue;
    struct net_queue_sink *const k = &q->sinks[sink];
    struct net_front *const front = &n->view.fronts[sink];
    n->stats.taken++;
    n->stats.taken_bytes += front->packet->bytes;
    q->taken_cyc += now;
    k->left_cyc[k->popped & k->left_mask] = now;
    if (++k->popped != k->pushed) {
        const struct net_queue_slot *const next = &k->ring[k->popped & k->mask];
        front->visible_cyc = next->visible_cyc;
        front->packet = &next->packet;
    } else {
        front->visible_cyc = NET_NEVER;
    }
    if (__builtin_expect(k->scarce, 0)) net_queue_promise(n, k);
}

/* Nothing that has not begun begins before a cycle. */
static inline void net_queue_idle_before(struct net *n, uint64_t cyc) { n->queue->done_cyc = cyc; }

/* What may begin before until_cyc begins. Sinks to which nothing was on its way before: their receivers are
 * told, or, with `fresh`, their bits are set there. */
void net_queue_run(struct net *n, uint64_t until_cyc, uint64_t *fresh);

#endif
