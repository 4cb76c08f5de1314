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
 * system/windows.c, which runs both networks of a GPU in stretches. */
#ifndef ATOLL_NET_NET_QUEUE_H
#define ATOLL_NET_NET_QUEUE_H

#include "net/net_private.h"

/* In the queue of a source. */
struct net_queue_packet {
    uint64_t accept_cyc;
    struct net_packet packet;      /* src is that of the queue */
    struct net_queue_packet *next; /* that begins in the same cycle, see line_up() in net_queue_lines.c */
};

/* How far a source has come. */
struct net_queue_progress {
    struct net_queue_packet *first; /* those from here on wait */
    uint64_t free_cyc;              /* its link can take a head from then on */
    uint64_t started_cyc;           /* when the last packet began */
    uint64_t flits, packets;        /* that began */
};

struct net_queue_source {                     /* the first four are what every packet needs */
    _Alignas(64) struct net_queue_packet *at; /* the next one joins here, */
    struct net_queue_packet *stop;            /* … not here: see net_queue_make_room() */
    uint64_t bytes;                           /* sums over packets that joined, */
    struct net_queue_packet *places, *end;    /* grows up to source_packets */
    uint64_t accepted_cyc;                    /* … when they did */
    struct net_queue_progress done;
    struct net_queue *queue;
    struct net_queue_packet *lined; /* in a run: up to here packets are in lines, see net_queue_lines.c */
    uint64_t place_cyc;    /* its first packet waits for a place behind the switch, which it has then;
                              NET_NEVER: nobody knows yet, 0: it does not wait */
    uint64_t blocked_cyc;  /* … it waits since then */
    bool refused;          /* someone waits for a place in the queue */
    uint16_t next_waiting; /* for a place behind the switch */
};

/* Behind the switch: on its way to the sink or waiting there. */
struct net_queue_slot {
    _Alignas(32) struct net_packet packet; /* dst is the sink; src is not known of one from a stretch */
    uint64_t visible_cyc;                  /* once it was taken: when */
};
_Static_assert(!offsetof(struct net_queue_slot, packet), "a front knows the slot of its packet");

/* The packets of a sink are those from its front (net_view.fronts) up to `at`; a slot at `end` goes on at
 * `ring`. At least one slot is not in use. Those that are not tell when they were left. */
struct net_queue_sink {                     /* the first cache line is what every packet needs */
    _Alignas(64) struct net_queue_slot *at; /* for the next packet, */
    struct net_queue_slot *ask;             /* … not here: see net_queue_find_place() */
    uint64_t next_cyc;    /* what comes next is visible after this cycle: its link is busy */
    uint64_t busy_cyc;    /* see net_output_stats */
    uint64_t taken_bytes; /* sums over packets that were taken, */
    uint64_t taken_cyc;   /* … when they were */
    struct net_queue_slot *end;
    uint32_t taken;   /* packets, modulo 2^32 */
    bool scarce;      /* there are sources that wait for a place; */
    bool guarded;     /* … or were when a stretch began: asks before each packet */
    uint16_t waiting; /* … do not know of one, the first of a list */

    struct net_queue_slot *ring; /* grows up to the capacity */
    uint64_t packets;            /* pushed, those up to `ask` included */
    uint64_t blocked_cyc;        /* waits are counted up to here; */
    uint64_t waited_cyc;         /* … this many */
    uint64_t answered;           /* scarce: sources were told of what was taken up to this one */
    uint32_t mask;               /* slots - 1 */
    uint32_t capacity;           /* places */
    uint32_t promised;           /* sources that wait and know of a place */
    uint16_t last;               /* of the list of those that do not */
    bool awake;                  /* see net_queue_ports */
};
_Static_assert(offsetof(struct net_queue_sink, ring) == 64, "a cache line");

enum {
    NET_QUEUE_WHEEL = 512, /* cycles ahead that a beginning can be known */
    NET_QUEUE_BACK = 2,    /* a packet is taken > its place can be used, without the delay of credits */
    NET_QUEUE_SPARE = 4    /* so many slots behind the end of a ring may be looked at */
};
_Static_assert(2 * NET_QUEUE_AHEAD < NET_QUEUE_WHEEL,
               "who is in time knows of no beginning beyond the wheel");

/* Sums over packets that were taken. */
struct net_queue_taken {
    uint64_t bytes;
    uint64_t cyc; /* when they were: it changes whenever one is */
};

/* Sums over packets, since the start. */
struct net_queue_totals {
    uint64_t accepted, accepted_bytes, accepted_cyc;
    uint64_t delivered, busy_cyc;
    uint64_t taken, taken_bytes, taken_cyc;
};

/* Ports in which something may be: all others are empty, and are not looked at (net_queue_ports.c). */
struct net_queue_ports {
    uint64_t *awake;
    uint32_t words;
};
/* What is done for each port that is awake, the first one first; the set may lose it meanwhile. */
#define NET_QUEUE_EACH(port, set) \
    for (uint32_t word_ = 0, port = 0; word_ < (set).words; word_++) \
        for (uint64_t left_ = (set).awake[word_]; \
             left_ && (port = word_ << 6 | (uint32_t)__builtin_ctzll(left_), true); left_ &= left_ - 1)

struct net_queue {
    struct net_queue_source *sources;
    struct net_queue_sink *sinks;
    struct net_queue_ports senders, receivers; /* those of sources and of sinks */
    struct net_queue_taken asleep;             /* sums over the sinks that are not awake */
    struct arena *arena;
    /* Which packets begin when: the wheel knows the first packet of every source; without it nothing is known
     * until all that begin in a stretch of cycles are lined up. */
    bool by_wheel;
    uint32_t scarce;                  /* sinks */
    uint32_t refused;                 /* sources that may have to tell of room */
    uint64_t *starts;                 /* [source / 64][cycle % wheel]: sources whose first packet may
                                         begin; */
    uint8_t busy[NET_QUEUE_WHEEL];    /* … is there any in a cycle? */
    uint32_t known;                   /* … how many in all */
    uint32_t words;                   /* of a mask over sources */
    struct net_queue_packet **lines;  /* [cycle of a stretch]: the first that begins, in the order of sources;
                                         all empty but while the stretch is run */
    struct net_queue_packet line_end; /* behind the last of a line: comes from a source behind all others,
                                         goes to a sink that always asks, so that the end is not looked for
                                         before each packet */
    const uint8_t *flits_of;          /* by bytes, up to max_packet_bytes */
    uint64_t done_cyc;                /* what begins before has begun */
    uint64_t soonest_cyc;             /* beginning > visible at the sink, without the flits */
    uint64_t back_cyc;                /* visible > arrival, which was before */
    struct net_queue_totals before;   /* statistics began anew */
    uint64_t begun, begun_cyc;        /* packets that had begun then, when they were accepted */
    uint64_t carried_cyc;             /* … of the others, time that does not count */
    uint64_t latency[64];             /* since then, of all that began: packets by the highest bit, */
    uint64_t visible_cyc;             /* … when they are */
    uint64_t visible_before_cyc;      /* … and of those that began before */
};

/* Where a packet joins, when the queue must be looked at: it is at its end, its source is asleep, or its
 * first packet must be known. */
struct net_queue_packet *net_queue_make_room(struct net_queue_source *s, uint64_t now);

/* Packets in the queue of a source; … one that begins in this very cycle is still there. */
static inline uint32_t net_queue_count_of(const struct net_queue_source *s)
{
    return (uint32_t)(s->at - s->done.first);
}
static inline uint32_t net_queue_waiting(const struct net_queue_source *s, uint64_t now)
{
    return net_queue_count_of(s) + (s->done.started_cyc == now);
}

/* A packet, for which there is a place, joins the queue of its source. */
static inline void net_queue_join(struct net_queue_source *s, uint64_t handle, uint32_t dst, uint32_t bytes,
                                  uint64_t now)
{
    struct net_queue_packet *p = s->at;
    if (__builtin_expect(p == s->stop, 0)) p = net_queue_make_room(s, now);
    p->accept_cyc = now;
    p->packet.handle = handle;
    p->packet.dst = dst;
    p->packet.bytes = bytes;
    s->at = p + 1;
    s->bytes += bytes;
    s->accepted_cyc += now;
}

static inline struct net_queue_slot *net_queue_slot_of(const struct net_front *f)
{
    return (struct net_queue_slot *)(uintptr_t)f->packet;
}
static inline const struct net_queue_slot *net_queue_behind(const struct net_queue_sink *k,
                                                            const struct net_queue_slot *slot)
{
    return slot + 1 == k->end ? k->ring : slot + 1;
}
/* Packets on their way to the sink or there. */
static inline uint32_t net_queue_inside(const struct net_queue_sink *k, const struct net_front *f)
{
    return (uint32_t)(k->at - net_queue_slot_of(f)) & k->mask;
}

/* A sink, for who takes often. */
struct net_queue_port {
    struct net_queue_sink *sink;
    struct net_front *front;
};
static inline struct net_queue_port net_queue_port_of(struct net *n, uint32_t sink)
{
    return (struct net_queue_port){&n->queue->sinks[sink], &n->view.fronts[sink]};
}

/* Packets of a sink were taken: the sum of when, and of their bytes. */
static inline void net_queue_count_taken(struct net_queue_sink *k, uint32_t packets, uint64_t cyc,
                                         uint64_t bytes)
{
    k->taken += packets;
    k->taken_cyc += cyc;
    k->taken_bytes += bytes;
}

/* As net_queue_take(), for who takes many and counts them then, before anybody else looks. Returns the slot
 * that is in front, *visible_cyc: when its packet is visible. */
static inline const struct net_queue_slot *net_queue_pass(struct net_queue_port port, uint64_t now,
                                                          uint64_t *visible_cyc)
{
    const struct net_queue_sink *const k = port.sink;
    struct net_queue_slot *const slot = net_queue_slot_of(port.front), *next = slot + 1;
    slot->visible_cyc = now;
    if (__builtin_expect(next != k->at, 1)) {
        if (__builtin_expect(next == k->end, 0)) next = k->ring;
        *visible_cyc = next->visible_cyc;
    } else {
        *visible_cyc = NET_NEVER;
    }
    port.front->packet = &next->packet;
    port.front->visible_cyc = *visible_cyc;
    return next;
}

/* Takes the oldest packet of a sink, which has one that is visible. Returns when the next one is, NET_NEVER:
 * none is on its way. */
static inline uint64_t net_queue_take(struct net_queue_port port, uint64_t now)
{
    const uint64_t bytes = port.front->packet->bytes;
    uint64_t visible_cyc;
    (void)net_queue_pass(port, now, &visible_cyc);
    net_queue_count_taken(port.sink, 1, now, bytes);
    return visible_cyc;
}

/* Is any packet inside, or any in the queue of its source? */
bool net_queue_some_inside(const struct net *n);
bool net_queue_some_wait(const struct net *n);
struct net_queue_totals net_queue_totals(const struct net *n);
static inline struct net_queue_taken net_queue_taken(const struct net *n)
{
    const struct net_queue *const q = n->queue;
    struct net_queue_taken sum = q->asleep;
    NET_QUEUE_EACH(i, q->receivers)
    {
        sum.bytes += q->sinks[i].taken_bytes;
        sum.cyc += q->sinks[i].taken_cyc;
    }
    return sum;
}

/* Nothing that has not begun begins before a cycle. */
static inline void net_queue_idle_before(struct net *n, uint64_t cyc) { n->queue->done_cyc = cyc; }

/* What may begin before until_cyc begins. Sinks to which nothing was on its way before: their receivers are
 * told, or, with `fresh`, their bits are set there. */
void net_queue_run(struct net *n, uint64_t until_cyc, uint64_t *fresh);

#endif
