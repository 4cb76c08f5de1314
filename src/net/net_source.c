/* net_source: what a source sends. It acts like a router output whose only input is its queue: one packet at
 * a time, one flit per cycle, each into a credit of the VC chosen for the packet. Credits come back at known
 * cycles, so flits are scheduled as soon as their credit is known, not cycle by cycle. */
#include "net/net_nodes.h"

static inline const struct net_queued *front(const struct net *n, uint32_t source)
{
    return &n->sources[source].queue[n->sources[source].head];
}

/* Schedules flits of the packet being sent for as long as credits are known. */
static inline void stream(struct net *n, uint32_t source, bool head, uint64_t now)
{
    struct net_source *s = &n->sources[source];
    struct net_out *o = &n->outs[n->source_base + source];
    const uint32_t ivc = o->to + s->vc, size = n->spec.vc_flits;
    struct net_ivc *q = &n->ivcs[ivc];
    const uint32_t room = size - q->ring.flits, count = s->left < room ? s->left : room;
    if (!count) return;
    uint64_t *times = &n->times[q->ring.first], next = s->next_cyc, first_arrival = 0;
    const uint64_t delay = o->arrive_delay;
    uint32_t at = q->ring.put;
    for (uint32_t i = 0; i < count; i++) {
        if (times[at] > next) next = times[at]; /* its credit */
        if (!i) first_arrival = next + delay;
        times[at] = next++ + delay;
        if (++at == size) at = 0;
    }
    if (head)
        net_post(n, NET_EVENT_HEAD, first_arrival, (uint64_t)front(n, source)->flight << 32 | ivc);
    else if (!q->ring.flits && !q->ready)
        net_post_wake(n, first_arrival, ivc);
    q->ring.put = (uint16_t)at;
    q->ring.flits = (uint16_t)(q->ring.flits + count);
    s->next_cyc = next;
    s->left -= count;
    o->flits += count;
    if (s->left) return;
    if (next - 1 == now)
        net_source_tail(n, source, now);
    else
        net_post(n, NET_EVENT_TAIL, next - 1, source);
}

void net_source_credit(struct net *n, uint32_t source, uint32_t vc, uint64_t credit_cyc)
{
    struct net_source *s = &n->sources[source];
    if (s->left) {
        if (s->vc == vc) stream(n, source, false, NET_NEVER - 1); /* its tail is yet to come */
    } else if (s->blocked && !s->wake_posted) {
        s->wake_posted = true;
        net_post(n, NET_EVENT_SOURCE_WAKE, credit_cyc, source);
    }
}

void net_source_wakes(struct net *n, uint64_t now)
{
    const uint64_t *items;
    const uint32_t count = net_events_of(n, NET_EVENT_SOURCE_WAKE, now, &items);
    for (uint32_t i = 0; i < count; i++) {
        struct net_source *s = &n->sources[items[i]];
        s->wake_posted = false;
        if (!s->blocked) continue;
        s->blocked = false; /* it looks again in this step: a credit promised meanwhile needs no wake */
        net_bit_set(n->ready_sources, (uint32_t)items[i]);
    }
}

/* VCs that a packet may enter, by position. Order: while earlier packets of the flow are at the first router,
 * an empty VC is best (the packet stands at the front there and is ready when its turn comes); otherwise it
 * queues behind the last of them, where it is in nobody's way. */
static uint16_t allowed_vcs(const struct net *n, const struct net_out *o, uint32_t source,
                            const struct net_queued *p)
{
    /* In a ring, the set depends on the way, which the first router decides: any VC of the class will do. */
    uint16_t may = n->set_mask[p->cls * n->sets_per_class];
    if (n->sets_per_class == 2) may |= n->set_mask[p->cls * 2 + 1];
    const struct net_input *in = &n->inputs[n->ivcs[o->to].input];
    if (!in->flows) return may;
    const uint32_t last = in->flows[net_flow_of(in, source, p->dst, p->cls)].tail;
    if (last == NET_NONE) return may;
    uint16_t empty = 0;
    for (uint32_t v = 0; v < n->spec.vcs; v++)
        if (!n->ivcs[o->to + v].ring.flits) empty |= (uint16_t)(1u << v);
    empty &= may;
    if (empty) return empty;
    return (uint16_t)(1u << ((last >> n->fifo_log2) - o->to));
}

/* The packet chooses an allowed VC that has a credit now; VCs take turns. A source that finds none looks
 * again when the first credit is back. */
static bool start_packet(struct net *n, uint32_t source, uint64_t now)
{
    struct net_source *s = &n->sources[source];
    const struct net_out *o = &n->outs[n->source_base + source];
    const struct net_queued *packet = front(n, source);
    const uint16_t may = allowed_vcs(n, o, source, packet);
    uint64_t first_credit = NET_NEVER;
    uint32_t v = s->last_vc;
    for (uint32_t i = 0; i < n->spec.vcs; i++) {
        if (++v >= n->spec.vcs) v = 0;
        const uint32_t p = n->position[v];
        const uint64_t credit_cyc = net_ring_credit_cyc(n, &n->ivcs[o->to + p].ring);
        if (credit_cyc <= now && (may >> p & 1)) {
            s->last_vc = (uint16_t)v;
            s->vc = (uint16_t)p;
            s->left = packet->flits;
            s->next_cyc = now;
            s->sending = true;
            stream(n, source, true, now);
            return true;
        }
        if (credit_cyc > now && credit_cyc < first_credit) first_credit = credit_cyc;
    }
    if (first_credit != NET_NEVER && !s->wake_posted) {
        s->wake_posted = true;
        net_post(n, NET_EVENT_SOURCE_WAKE, first_credit, source);
    }
    return false;
}

bool net_sources_start(struct net *n, uint64_t now)
{
    bool again = false;
    for (uint32_t w = 0; w < n->source_words; w++) {
        for (uint64_t m = n->ready_sources[w]; m; m &= m - 1) {
            const uint32_t source = w << 6 | (uint32_t)__builtin_ctzll(m);
            struct net_source *s = &n->sources[source];
            /* accepted in this very cycle: waits for the next (see the contract in net.h) */
            if (s->fresh_cyc == now) {
                again = true;
                continue;
            }
            net_bit_clear(n->ready_sources, source);
            s->blocked = !start_packet(n, source, now);
            again |= net_bit(n->ready_sources, source); /* a packet of one flit is gone already */
        }
    }
    return again;
}

void net_source_has_room(struct net *n, uint32_t source, uint64_t from_cyc)
{
    const uint32_t terminal = n->plain_links ? source / n->group_sinks : source;
    net_ports_set(&n->room, terminal, from_cyc);
    if (n->wiring.room) n->wiring.room(n->wiring.ctx, terminal, from_cyc);
}

/* The tail is on the link: the packet leaves the queue, the next may start in the next cycle. */
void net_source_tail(struct net *n, uint32_t source, uint64_t now)
{
    struct net_source *s = &n->sources[source];
    s->sending = false;
    s->head = s->head + 1 == n->spec.source_packets ? 0 : s->head + 1;
    s->left_cyc = now;
    if (--s->count) net_bit_set(n->ready_sources, source);
    if (!s->refused) return;
    s->refused = false;
    net_source_has_room(n, source, now + 1);
}

bool net_source_tails(struct net *n, uint64_t now)
{
    const uint64_t *items;
    const uint32_t count = net_events_of(n, NET_EVENT_TAIL, now, &items);
    for (uint32_t i = 0; i < count; i++) net_source_tail(n, (uint32_t)items[i], now);
    return count != 0;
}

static inline uint32_t source_port(const struct net *n, uint32_t src, uint32_t dst)
{
    if (!n->plain_links) return src;
    const uint32_t per = n->group_sinks, within = dst - n->first_sink[src];
    DIAG_ASSERT(within < per);
    return src * per + within;
}

/* Packets in the queue of a source in `now`; one that leaves in this very cycle is still there. */
static inline uint32_t queued(const struct net_source *s, uint64_t now)
{
    return s->count - (s->tail_cyc < now) + (s->left_cyc == now);
}

bool net_has_room(const struct net *n, uint32_t src, uint32_t dst, uint64_t now)
{
    if (n->queue) return net_queue_has_room(n, src, now);
    if (n->nodes) return net_nodes_has_room(n, src, dst, now);
    return queued(&n->sources[source_port(n, src, dst)], now) < n->spec.source_packets;
}

bool net_source_idle(const struct net *n, uint32_t src, uint32_t dst, uint64_t now)
{
    if (n->queue) return net_queue_idle(n, src, now);
    if (n->nodes) return net_nodes_idle(n, src, dst);
    const struct net_source *s = &n->sources[source_port(n, src, dst)];
    return s->count == (s->tail_cyc <= now);
}

__attribute__((noinline)) static bool refuse(struct net *n, uint32_t source, uint64_t now)
{
    struct net_source *s = &n->sources[source];
    n->stats.refused++;
    /* The place that was left in this very cycle can be had in the next: say so now, as the step would have.
     */
    if (s->count - (s->tail_cyc <= now) < n->spec.source_packets) {
        net_source_has_room(n, source, now + 1);
        return false;
    }
    s->refused = true;
    if (n->whole_packets || n->plain_links) net_packet_tail_wanted(n, source);
    return true;
}

bool net_refuse(struct net *n, uint32_t src, uint32_t dst, uint64_t now)
{
    if (n->nodes) return net_nodes_refuse(n, src, dst, now);
    return n->queue ? net_queue_refuse(n, src, now) : refuse(n, source_port(n, src, dst), now);
}
void net_refuse_again(struct net *n) { n->stats.refused++; }

bool net_try_inject(struct net *n, const struct net_packet *p, uint64_t now)
{
    const struct net_spec *spec = &n->spec;
    DIAG_ASSERT(p->src < spec->sources && p->dst < spec->sinks && p->cls < spec->classes &&
                p->bytes <= spec->max_packet_bytes);
    if (n->queue) return net_queue_try_inject(n, p, now);
    if (n->nodes) return net_nodes_try_inject(n, p, now);
    const uint32_t source = source_port(n, p->src, p->dst);
    struct net_source *s = &n->sources[source];
    if (queued(s, now) >= spec->source_packets) {
        (void)refuse(n, source, now);
        return false;
    }
    if (s->tail_cyc <= now && !s->tail_posted) net_source_settle(n, s);
    net_count_inside(n, now);
    const uint32_t flight = net_flight_take(n), flits = net_flits_of(n, p->bytes);
    struct net_flight *f = &n->flights[flight];
    f->packet = *p;
    f->flits = flits;
    f->accept_cyc = now;
    n->stats.accepted++;
    n->stats.accepted_bytes += p->bytes;
    uint32_t at = s->head + s->count++;
    if (at >= spec->source_packets) at -= spec->source_packets;
    s->queue[at] = (struct net_queued){flight, p->dst, (uint16_t)flits, (uint16_t)p->cls};
    if (n->by_lanes) net_lanes_fetch(n, source, p->dst);
    if (s->count == 1) {
        s->fresh_cyc = now;
        net_bit_set(n->ready_sources, source);
        if (n->view.next_cyc > now + 1) n->view.next_cyc = now + 1;
    } else if (s->tail_cyc != NET_NEVER && !s->tail_posted) {
        net_packet_tail_wanted(n, source);
    }
    return true;
}
