/* What the files of a queued network share:
 *
 *   net_queue.c          building, runs, ends
 *   net_queue_ports.c    … in which something may be
 *   net_queue_lines.c    packets begin in stretches of cycles
 *   net_queue_wheel.c    someone waits for room in a source: … cycle by cycle
 *   net_queue_places.c   behind the switch, and who waits for one
 *   net_queue_report.c   statistics */
#ifndef ATOLL_NET_NET_QUEUE_PRIVATE_H
#define ATOLL_NET_NET_QUEUE_PRIVATE_H

#include "net/net_queue.h"

/* ---- ports: net_queue_ports.c ---- */

void net_queue_build_ports(struct net *n);
/* A packet joins, or is pushed: it is looked at from now on. */
void net_queue_wake_source(struct net_queue_source *s);
void net_queue_wake_sink(struct net_queue *q, struct net_queue_sink *k);
/* Nothing is inside: the next packet wakes it. */
void net_queue_rest_source(struct net_queue_source *s);
void net_queue_rest_sink(struct net_queue *q, struct net_queue_sink *k);

/* ---- sources ---- */

static inline uint32_t net_queue_index_of(const struct net_queue_source *s)
{
    return (uint32_t)(s - s->queue->sources);
}

/* When may a packet that was accepted then begin, if none is before it? */
static inline uint64_t net_queue_begin_cyc(const struct net_queue_source *s, uint64_t accept_cyc)
{
    return s->done.free_cyc > accept_cyc ? s->done.free_cyc : accept_cyc + 1;
}

/* … its first packet, NET_NEVER: that is not known yet. */
static inline uint64_t net_queue_first_cyc(const struct net_queue_source *s)
{
    return s->place_cyc ? s->place_cyc : net_queue_begin_cyc(s, s->done.first->accept_cyc);
}

/* ---- sinks ---- */

static inline struct net_front *net_queue_front_of(const struct net *n, const struct net_queue_sink *k)
{
    return &n->view.fronts[k - n->queue->sinks];
}

static inline uint32_t net_queue_inside_of(const struct net *n, const struct net_queue_sink *k)
{
    return net_queue_inside(k, net_queue_front_of(n, k));
}

/* Packets, pushed and taken since the start. Those that were taken are counted by who takes them; only the
 * upper half follows from what is inside. */
static inline uint64_t net_queue_delivered_of(const struct net_queue_sink *k)
{
    return k->packets - (uint64_t)(k->ask - k->at);
}
static inline uint64_t net_queue_taken_of(const struct net *n, const struct net_queue_sink *k)
{
    const uint64_t about = net_queue_delivered_of(k) - net_queue_inside_of(n, k);
    return about + (uint64_t)(int32_t)(k->taken - (uint32_t)about);
}

/* Where a latency is counted: its highest bit. */
static inline uint32_t net_queue_class_of(uint64_t latency_cyc)
{
    return (uint32_t)__builtin_clzll(latency_cyc) ^ 63;
}

/* ---- places behind the switch: net_queue_places.c ---- */

void net_queue_build_sink(struct net *n, uint32_t idx);
/* Before anybody asks for a place, or how long it was waited for: those that wait at a sink, or at any, learn
 * of the places that were left. */
void net_queue_answer(struct net *n, struct net_queue_sink *k);
void net_queue_answer_all(struct net *n);
/* For the packet before which a sink is asked: it may begin now, or its source waits (NULL). */
struct net_queue_slot *net_queue_find_place(struct net *n, struct net_queue_sink *k,
                                            struct net_queue_source *s, uint64_t now);

/* ---- beginning, all packets of a stretch of cycles: net_queue_lines.c ---- */

void net_queue_run_stretch(struct net *n, uint64_t until);

/* ---- beginning, cycle by cycle: net_queue_wheel.c ---- */

/* The wheel knows of all first packets from now on; … of none any more: nobody waits for room. */
void net_queue_begin_wheel(struct net *n);
void net_queue_end_wheel(struct net *n);
/* The first packet of the source may begin in `cyc`: the wheel knows. */
void net_queue_begins(struct net_queue *q, uint32_t source, uint64_t cyc);
/* The first cycle from `cyc` on in which a packet may begin, NET_NEVER: none is known. */
uint64_t net_queue_next_beginning(const struct net_queue *q, uint64_t cyc);
/* tell: receivers, of the first packet on its way to them. until_calm: ends when nobody waits for
 * room. */
void net_queue_run_wheel(struct net *n, uint64_t until_cyc, bool tell, bool until_calm);

#endif
