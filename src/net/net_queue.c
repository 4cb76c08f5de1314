/* net_queue: see net_queue.h. Building, runs and the ends of the network; what begins when is found in lines
 * (net_queue_lines.c) or by the wheel (net_queue_wheel.c), where in net_queue_places.c. */
#include "net/net_queue_private.h"

#include <string.h>

enum { FIRST_PLACES = 64 };

/* ---- building ---- */

static const uint8_t *flits_table(const struct net *n, struct arena *a)
{
    uint8_t *const flits = ARENA_ARRAY(a, uint8_t, n->spec.max_packet_bytes + 1);
    _Static_assert(NET_QUEUE_AHEAD <= UINT8_MAX, "no packet has more flits");
    for (uint32_t bytes = 0; bytes <= n->spec.max_packet_bytes; bytes++)
        flits[bytes] = (uint8_t)net_flits_of(n, bytes);
    return flits;
}

/* The queue has that many places from now on, what waits in the first ones. */
static void give_places(struct net_queue_source *s, uint32_t count)
{
    const uint32_t waiting = net_queue_count_of(s), source = net_queue_index_of(s);
    struct net_queue_packet *const places = /* and one, see line_up() in net_queue_lines.c */
        ARENA_ARRAY(s->queue->arena, struct net_queue_packet, count + 1);
    if (waiting) memcpy(places, s->done.first, waiting * sizeof *places);
    for (uint32_t i = 0; i < count; i++) places[i].packet.src = source;
    s->places = s->done.first = places;
    s->at = places + waiting;
    s->end = places + count;
}

void net_queue_build(struct net *n, struct arena *a)
{
    const struct net_spec *s = &n->spec;
    struct net_queue *q = n->queue = ARENA_NEW(a, struct net_queue);
    q->arena = a;
    q->by_wheel = true;
    q->words = (s->sources + 63) / 64;
    q->starts = ARENA_ARRAY(a, uint64_t, (size_t)NET_QUEUE_WHEEL * q->words);
    q->lines = ARENA_ARRAY(a, struct net_queue_packet *, NET_QUEUE_WHEEL);
    for (uint32_t i = 0; i < NET_QUEUE_WHEEL; i++) q->lines[i] = &q->line_end;
    q->line_end.packet.dst = s->sinks;
    q->line_end.packet.src = s->sources;
    q->flits_of = flits_table(n, a);
    q->sources = arena_alloc_aligned(a, s->sources * sizeof *q->sources, 64);
    q->sinks = arena_alloc_aligned(a, (s->sinks + 1) * sizeof *q->sinks, 64); /* one for line_end */
    /* A source acts one cycle after the acceptance, see the contract in net.h; a packet of one flit is there
     * with its head. */
    q->soonest_cyc = (uint64_t)s->inject_latency_cyc - 1 + s->router_latency_cyc + s->link_latency_cyc - 1 +
                     s->sink_delay_cyc;
    q->back_cyc = 0ull - s->sink_delay_cyc;
    for (uint32_t i = 0; i < s->sources; i++) {
        struct net_queue_source *const source = &q->sources[i];
        source->queue = q;
        source->done.started_cyc = NET_NEVER;
        give_places(source, FIRST_PLACES);
        source->stop = source->at;
    }
    for (uint32_t i = 0; i < s->sinks; i++) net_queue_build_sink(n, i);
    net_queue_build_ports(n);
}

/* ---- a run ---- */

/* Receivers to which nothing was on its way before. */
static void show_all(const struct net *n, uint64_t *fresh)
{
    struct net_queue *const q = n->queue;
    NET_QUEUE_EACH(i, q->receivers)
    {
        struct net_front *const front = &n->view.fronts[i];
        if (front->visible_cyc != NET_NEVER) continue;
        if (net_queue_slot_of(front) == q->sinks[i].at) {
            net_queue_rest_sink(q, &q->sinks[i]);
            continue;
        }
        front->visible_cyc = net_queue_slot_of(front)->visible_cyc;
        net_bit_set(fresh, i);
    }
}

/* Nothing was done for long: nothing begins before the first packet that waits. */
static void skip_idle(struct net *n, uint64_t until_cyc)
{
    struct net_queue *const q = n->queue;
    uint64_t first = until_cyc;
    NET_QUEUE_EACH(i, q->senders)
    {
        const struct net_queue_source *const s = &q->sources[i];
        if (!net_queue_count_of(s)) continue;
        const uint64_t cyc = net_queue_first_cyc(s);
        if (cyc < first) first = cyc;
    }
    if (first > q->done_cyc) q->done_cyc = first;
}

void net_queue_run(struct net *n, uint64_t until_cyc, uint64_t *fresh)
{
    struct net_queue *const q = n->queue;
    net_queue_answer_all(n);
    if (fresh && q->by_wheel) {
        net_queue_run_wheel(n, until_cyc, false, true);
        if (!q->refused) net_queue_end_wheel(n);
    }
    while (!q->by_wheel && q->done_cyc < until_cyc) {
        if (until_cyc - q->done_cyc >= NET_QUEUE_WHEEL) skip_idle(n, until_cyc);
        const uint64_t ahead_cyc = until_cyc - q->done_cyc;
        net_queue_run_stretch(n, ahead_cyc < NET_QUEUE_WHEEL ? until_cyc : q->done_cyc + NET_QUEUE_WHEEL);
    }
    if (q->by_wheel) net_queue_run_wheel(n, until_cyc, !fresh, false);
    if (fresh) show_all(n, fresh);
}

uint64_t net_queue_step(struct net *n, uint64_t now)
{
    if (!n->queue->by_wheel) net_queue_begin_wheel(n);
    net_queue_run(n, now + 1, NULL);
    return net_queue_next_beginning(n->queue, now + 1);
}

/* ---- ends ---- */

struct net_queue_packet *net_queue_make_room(struct net_queue_source *s, uint64_t now)
{
    const uint32_t waiting = net_queue_count_of(s), count = (uint32_t)(s->end - s->places);
    net_queue_wake_source(s);
    if (s->queue->by_wheel && !waiting)
        net_queue_begins(s->queue, net_queue_index_of(s), net_queue_begin_cyc(s, now));
    if (s->at == s->end) {
        if (2 * waiting > count) {
            give_places(s, 2 * count);
        } else {
            memmove(s->places, s->done.first, waiting * sizeof *s->places);
            s->done.first = s->places;
            s->at = s->places + waiting;
        }
    }
    s->stop = s->end;
    return s->at;
}

bool net_queue_try_inject(struct net *n, const struct net_packet *p, uint64_t now)
{
    struct net_queue_source *const s = &n->queue->sources[p->src];
    if (net_queue_waiting(s, now) >= n->spec.source_packets) {
        (void)net_queue_refuse(n, p->src, now);
        return false;
    }
    const bool first = !net_queue_count_of(s);
    net_queue_join(s, p->handle, p->dst, p->bytes, now);
    s->at[-1].packet.cls = p->cls;
    if (first && net_queue_begin_cyc(s, now) < n->view.next_cyc)
        n->view.next_cyc = net_queue_begin_cyc(s, now);
    return true;
}

bool net_queue_refuse(struct net *n, uint32_t source, uint64_t now)
{
    struct net_queue_source *const s = &n->queue->sources[source];
    n->stats.refused++;
    if (net_queue_count_of(s) < n->spec.source_packets) { /* it was left in this very cycle */
        net_source_has_room(n, source, now + 1);
        return false;
    }
    if (!n->queue->by_wheel) net_queue_begin_wheel(n);
    n->queue->refused += !s->refused;
    s->refused = true;
    return true;
}

void net_queue_pop(struct net *n, uint32_t sink, uint64_t now)
{
    struct net_arrivals *const a = &n->arrived;
    const struct net_queue_port port = net_queue_port_of(n, sink);
    if (n->stepped_cyc < now) n->stepped_cyc = now; /* nothing need be due any more */
    n->waited_cyc[sink] += now - port.front->visible_cyc;
    const uint64_t visible_cyc = net_queue_take(port, now);
    if (port.sink->scarce) net_queue_answer(n, port.sink);
    if (visible_cyc == NET_NEVER) {
        net_bit_clear(a->inside, sink);
        if (!a->inside[sink >> 6]) a->inside_words &= ~(1ull << (sink >> 6));
    } else if (visible_cyc < a->next_cyc) {
        a->next_cyc = visible_cyc;
    }
    if (visible_cyc <= now) return;
    net_bit_clear(a->visible, sink);
    if (!a->visible[sink >> 6]) a->visible_words &= ~(1ull << (sink >> 6));
}

bool net_queue_has_room(const struct net *n, uint32_t source, uint64_t now)
{
    return net_queue_waiting(&n->queue->sources[source], now) < n->spec.source_packets;
}

bool net_queue_idle(const struct net *n, uint32_t source, uint64_t now)
{
    const struct net_queue_source *const s = &n->queue->sources[source];
    return !net_queue_count_of(s) && s->done.free_cyc <= now + 1;
}
