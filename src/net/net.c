/* net: the step of a network, its sinks, what it tells about itself.
 *
 *   net_step: events of this cycle ─► routers ─► sources ─► packets complete at sinks */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/net_nodes.h"
#include "net/net_queue.h"

/* ---- events of this cycle ---- */

static void slots_arrive(struct net *n, uint32_t idx, uint32_t count)
{
    struct net_out *o = &n->outs[idx];
    const bool had_none = o->slots == 0;
    o->slots += count;
    if (!had_none) return;
    if (o->router != NET_NONE)
        net_router_slots(n, o);
    else if (n->sources[idx - n->source_base].blocked)
        net_bit_set(n->ready_sources, idx - n->source_base);
}

void net_slots_are_back(struct net *n, uint64_t now)
{
    const uint64_t *items;
    const uint32_t count = net_events_of(n, NET_EVENT_SLOTS, now, &items);
    for (uint32_t i = 0; i < count; i++) slots_arrive(n, (uint32_t)items[i], (uint32_t)(items[i] >> 32));
}

/* ---- sinks ---- */

void net_packets_complete(struct net *n, uint64_t now)
{
    const uint64_t *items;
    const uint32_t count = net_events_of(n, NET_EVENT_EJECT, now, &items);
    for (uint32_t i = 0; i < count; i++) {
        const struct net_flight *f = &n->flights[items[i]];
        const uint32_t sink = f->packet.dst;
        struct net_sink *s = &n->sinks[sink];
        DIAG_ASSERT(s->pushed - s->popped < s->capacity);
        s->slots[s->pushed & s->mask].flight = (uint32_t)items[i];
        if (s->pushed++ == s->popped) net_front_set(n, sink, f);
        net_count_delivery(n, s, f);
        if (n->wiring.arrived) n->wiring.arrived(n->wiring.ctx, sink, f->visible_cyc);
    }
}

/* The slot of a packet goes back to the sender. */
void net_slot_back(struct net *n, uint32_t out, uint64_t now)
{
    struct net_out *o = &n->outs[out];
    const uint64_t back = now + 2 + n->spec.credit_delay_cyc;
    if (o->back_cyc == back) { /* several in a cycle: one event with their number */
        n->events[NET_EVENT_SLOTS].items[o->back_item] += 1ull << 32;
        return;
    }
    o->back_cyc = back;
    o->back_item = net_post(n, NET_EVENT_SLOTS, back, 1ull << 32 | out);
    if (n->view.next_cyc > back) n->view.next_cyc = back;
}

void net_pop(struct net *n, uint32_t sink, uint64_t now)
{
    struct net_front *front = &n->view.fronts[sink];
    DIAG_ASSERT(front->visible_cyc <= now);
    if (__builtin_expect(n->queue != NULL, 0)) {
        net_queue_pop(n, sink, now);
        return;
    }
    struct net_sink *s = &n->sinks[sink];
    const uint32_t flight = s->slots[s->popped++ & s->mask].flight;
    struct net_flight *f = &n->flights[flight];
    net_count_inside(n, now);
    n->stats.stay_cyc += now - f->accept_cyc;
    n->waited_cyc[sink] += now - f->visible_cyc;
    n->stats.taken++;
    n->stats.taken_bytes += f->packet.bytes;
    f->flits = 0;
    n->free_flights[n->free_count++] = flight;
    if (s->popped != s->pushed) {
        const struct net_flight *next = &n->flights[s->slots[s->popped & s->mask].flight];
        front->visible_cyc = next->visible_cyc;
        front->packet = &next->packet;
    } else {
        net_front_set(n, sink, NULL);
    }
    if (n->arrived.visible_words && front->visible_cyc > now) {
        if (front->visible_cyc < n->arrived.next_cyc) n->arrived.next_cyc = front->visible_cyc;
        net_bit_clear(n->arrived.visible, sink);
        if (!n->arrived.visible[sink >> 6]) n->arrived.visible_words &= ~(1ull << (sink >> 6));
    }
    if (n->nodes)
        net_nodes_popped(n, f, now);
    else if (n->whole_packets)
        net_packet_popped(n, s, now);
    else if (n->plain_links)
        net_link_popped(n, f->via_out, now);
    else
        net_slot_back(n, f->via_out, now);
}

/* ---- ports with something to do ---- */

/* Which sinks show a packet in `now`. */
static void arrivals_look(struct net *n, uint64_t now)
{
    struct net_arrivals *a = &n->arrived;
    if (now < a->next_cyc) return;
    a->next_cyc = NET_NEVER;
    for (uint64_t words = a->inside_words; words; words &= words - 1) {
        const uint32_t w = (uint32_t)__builtin_ctzll(words);
        const struct net_front *fronts = &n->view.fronts[w << 6];
        for (uint64_t m = a->inside[w] & ~a->visible[w]; m; m &= m - 1) {
            const uint32_t i = (uint32_t)__builtin_ctzll(m);
            if (fronts[i].visible_cyc <= now)
                a->visible[w] |= 1ull << i;
            else if (fronts[i].visible_cyc < a->next_cyc)
                a->next_cyc = fronts[i].visible_cyc;
        }
        if (a->visible[w]) a->visible_words |= 1ull << w;
    }
}

uint64_t net_arrived_words(struct net *n, uint64_t now)
{
    arrivals_look(n, now);
    return n->arrived.visible_words;
}

uint64_t net_arrived(struct net *n, uint32_t word, uint64_t now)
{
    DIAG_ASSERT(word * 64 < n->spec.sinks);
    arrivals_look(n, now);
    return n->arrived.visible[word];
}

uint64_t net_arrived_cyc(const struct net *n)
{
    uint64_t first = NET_NEVER;
    for (uint64_t words = n->arrived.inside_words; words; words &= words - 1) {
        const uint32_t w = (uint32_t)__builtin_ctzll(words);
        for (uint64_t m = n->arrived.inside[w]; m; m &= m - 1) {
            const uint64_t cyc = n->view.fronts[w << 6 | (uint32_t)__builtin_ctzll(m)].visible_cyc;
            if (cyc < first) first = cyc;
        }
    }
    return first;
}

uint64_t net_room_words(struct net *n, uint64_t now)
{
    net_ports_advance(&n->room, now);
    return n->room.now_words;
}

uint64_t net_room_take(struct net *n, uint32_t word, uint64_t now)
{
    DIAG_ASSERT(word * 64 < n->spec.sources);
    net_ports_advance(&n->room, now);
    const uint64_t bits = n->room.now[word];
    n->room.now[word] = 0;
    n->room.now_words &= ~(1ull << word);
    return bits;
}

uint64_t net_room_cyc(const struct net *n)
{
    const struct net_ports *p = &n->room;
    return p->now_words ? 0 : p->soon_words ? p->soon_cyc : NET_NEVER;
}

/* ---- the step ---- */

/* A router that could do nothing sleeps until an event changes what it decides on. */
static bool routers_step(struct net *n, uint64_t now)
{
    bool any = false;
    for (uint32_t w = 0; w < n->active_words; w++) {
        uint64_t done = 0;
        for (uint32_t round = 0; round < n->spec.internal_speedup; round++) {
            for (uint64_t m = n->active_routers[w]; m; m &= m - 1) {
                const uint32_t i = (uint32_t)__builtin_ctzll(m);
                struct net_router *r = &n->routers[w << 6 | i];
                done |= (uint64_t)net_router_step(n, r, now, round) << i;
            }
        }
        n->active_routers[w] = done;
        any |= done != 0;
    }
    return any;
}

/* Routers that switch flits. */
uint64_t net_flits_step(struct net *n, uint64_t now)
{
    n->clock = now;
    net_slots_are_back(n, now);
    net_router_events(n, now);
    net_source_wakes(n, now);
    const bool routers = routers_step(n, now);
    const bool starts = net_sources_start(n, now), tails = net_source_tails(n, now);
    net_packets_complete(n, now);
    n->slot_busy[(uint32_t)now & n->wheel_mask] = 0;
    return routers || starts || tails ? now + 1 : net_next_event(n, now, 0xff);
}

uint64_t net_step(struct net *n, uint64_t now)
{
    n->stepped_cyc = now;
    if (now < n->view.next_cyc) return n->view.next_cyc;
    return n->view.next_cyc = n->step(n, now);
}

uint32_t net_flits(const struct net *n, uint32_t bytes)
{
    DIAG_ASSERT(bytes <= n->spec.max_packet_bytes);
    return net_flits_of(n, bytes);
}

struct net_counts net_counts(const struct net *n)
{
    struct net_counts c = n->counts_before;
    c.refused += n->stats.refused;
    if (n->queue) {
        const struct net_queue_totals t = net_queue_totals(n);
        return (struct net_counts){t.accepted, c.refused, t.taken, t.accepted_bytes, t.taken_bytes};
    }
    c.accepted += n->stats.accepted;
    c.popped += n->stats.taken;
    c.accepted_bytes += n->stats.accepted_bytes;
    c.popped_bytes += n->stats.taken_bytes;
    return c;
}
uint64_t net_in_flight(const struct net *n)
{
    const struct net_counts c = net_counts(n);
    return c.accepted - c.popped;
}
const struct net_spec *net_spec_of(const struct net *n) { return &n->spec; }

uint64_t net_zero_load_cyc(const struct net *n, uint32_t src, uint32_t dst, uint32_t bytes)
{
    const struct net_spec *s = &n->spec;
    if (n->nodes) return net_nodes_zero_load_cyc(n, src, dst, bytes);
    const uint64_t tail = net_flits(n, bytes) - 1;
    if (s->topology == NET_LINKS) return s->link_latency_cyc + tail;
    uint64_t hops = s->topology == NET_HXBAR ? 2 : 1;
    if (s->topology == NET_RING) {
        const uint32_t way = (dst + s->sinks - src) % s->sinks;
        hops += way <= s->sinks - way ? way : s->sinks - way;
    }
    /* Several rounds per cycle: the switch is allocated in the cycle of the VC, with three the flit moves,
     * too. */
    const uint64_t saved = s->internal_speedup < 3 ? s->internal_speedup - 1 : 2;
    return s->inject_latency_cyc + hops * (s->router_latency_cyc - saved + s->link_latency_cyc) + tail;
}

/* ---- reports ---- */

struct net_stats *net_stats_of(struct net *n)
{
    net_stats_settle(n);
    return &n->stats;
}

void net_stats_finish(struct net *n, uint64_t now)
{
    struct net_stats *s = &n->stats;
    s->inside = s->untaken = s->left_bytes = 0;
    if (n->stepped_cyc < now) n->stepped_cyc = now; /* cycles in which nothing was due */
    if (n->queue) {
        net_queue_count(n, now, s);
        return;
    }
    for (uint32_t i = 0; i < n->spec.sinks; i++) s->untaken += n->sinks[i].pushed - n->sinks[i].popped;
    for (uint32_t i = 0; i < n->flight_used; i++) {
        s->inside += n->flights[i].flits != 0;
        s->left_bytes += n->flights[i].flits ? n->flights[i].packet.bytes : 0;
    }
    s->inside -= s->untaken;
    if (n->nodes) {
        net_nodes_finish(n, n->stepped_cyc);
        return;
    }
    if (n->clock < n->stepped_cyc) n->clock = n->stepped_cyc;
    for (uint32_t i = 0; i < n->out_count; i++) { /* waits that are still going on count until now */
        const bool blocked = n->outs[i].blocked;
        net_out_blocked(n, &n->outs[i], false);
        net_out_blocked(n, &n->outs[i], blocked);
    }
}

void net_stats_settle(struct net *n)
{
    if (n->queue) net_queue_settle(n);
}

void net_stats_settle_series(struct net *n)
{
    if (n->queue) net_queue_settle_series(n);
}

void net_stats_restart(void *net)
{
    struct net *n = net;
    net_stats_finish(n, n->stepped_cyc);
    struct net_stats *s = &n->stats;
    const uint64_t inside = s->inside, untaken = s->untaken, bytes = s->left_bytes;
    n->counts_before = net_counts(n);
    n->counts_before.accepted -= inside + untaken;
    n->counts_before.accepted_bytes -= bytes;
    memset(s, 0, sizeof *s);
    s->accepted = inside + untaken;
    /* their time until now is of before */
    if (n->queue) net_queue_restart(n, n->stepped_cyc);
    for (uint32_t i = 0; i < n->flight_used; i++)
        if (n->flights[i].flits) s->stay_cyc -= n->inside_cyc - n->flights[i].accept_cyc;
    s->delivered = untaken;
    s->accepted_bytes = bytes;
}

struct net_output_stats net_output(const struct net *n, uint32_t sink)
{
    DIAG_ASSERT(sink < n->spec.sinks);
    return n->queue ? net_queue_output(n, sink) : n->sinks[sink].stats;
}

uint64_t net_waited(const struct net *n, uint32_t sink, uint64_t now)
{
    DIAG_ASSERT(sink < n->spec.sinks);
    uint64_t sum = n->waited_cyc[sink];
    if (n->queue) return sum + net_queue_still_waits(n, sink, now);
    const struct net_sink *s = &n->sinks[sink];
    for (uint32_t k = s->popped; k != s->pushed; k++) {
        const uint64_t visible_cyc = n->flights[s->slots[k & s->mask].flight].visible_cyc;
        if (visible_cyc < now) sum += now - visible_cyc;
    }
    return sum;
}

uint64_t net_waited_everywhere(const struct net *n, uint64_t now)
{
    if (n->queue) return net_queue_waited(n, now);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n->spec.sinks; i++) sum += net_waited(n, i, now);
    return sum;
}

uint32_t net_link_count(const struct net *n) { return n->out_count; }
uint32_t net_stage_count(const struct net *n) { return n->stage_count; }

struct net_link_stats net_link(const struct net *n, uint32_t idx)
{
    DIAG_ASSERT(idx < n->out_count);
    if (n->nodes)
        return (struct net_link_stats){net_nodes_link_cyc(n, idx, n->stepped_cyc), n->link_stage[idx],
                                       n->link_port[idx]};
    const struct net_out *o = &n->outs[idx];
    /* whole packets are counted when they are granted: only what is on the link */
    const uint64_t flits = n->queue           ? net_queue_link_flits(n, idx, n->stepped_cyc)
                           : n->whole_packets ? net_packet_link_flits(n, o)
                                              : o->flits;
    return (struct net_link_stats){flits, n->link_stage[idx], n->link_port[idx]};
}

/* Adds a line; what does not fit is left out. */
__attribute__((format(printf, 3, 4))) static void add_line(char *text, size_t bytes, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, bytes - used, format, args);
    va_end(args);
}

static void describe_flits(const struct net *n, char *text, size_t bytes)
{
    for (uint32_t i = 0; i < n->ivc_count; i++) {
        const struct net_ivc *q = &n->ivcs[i];
        if (q->state == NET_IVC_IDLE) continue;
        const struct net_router *r = &n->routers[q->router];
        const struct net_out *o = &n->outs[r->out_base + q->out];
        const bool no_credit = q->state == NET_IVC_ACTIVE && q->down_ring != NET_NONE &&
                               net_ring_credit_cyc(n, &n->ivcs[q->down_ring].ring) == NET_NEVER;
        const char *why = q->state == NET_IVC_BEHIND              ? "an earlier packet to"
                          : q->state == NET_IVC_WAITING           ? "a VC of"
                          : !q->turn                              ? "an earlier packet to"
                          : !q->ring.flits                        ? "flits for"
                          : no_credit                             ? "credits of"
                          : o->at_sink && !o->slots && q->at_head ? "the receiver behind"
                                                                  : "the switch to";
        add_line(text, bytes, "router %u input %u VC %u: %u flits wait for %s output %u\n", q->router,
                 (i - r->ivc_base) / n->spec.vcs, i % n->spec.vcs, q->ring.flits, why, q->out);
    }
}

static void describe_packets(const struct net *n, char *text, size_t bytes)
{
    for (uint32_t i = 0; i < n->ivc_count; i++) {
        const struct net_vc *q = &n->vcs[i];
        if (!q->count) continue;
        const struct net_router *r = q->router;
        const struct net_stay *s = &q->stays[q->head & n->fifo_mask];
        const struct net_out *o = &n->outs[s->out];
        const char *why = o->held_ivc == i - r->ivc_base             ? "their tail on"
                          : o->held_ivc != NET_NO_PORT               ? "an earlier packet on"
                          : o->at_sink && net_packet_sink_full(n, o) ? "the receiver behind"
                          : o->starved || o->wake_posted             ? "places behind"
                                                                     : "the switch to";
        add_line(text, bytes, "router %u input %u VC %u: %u packets wait for %s output %u\n", r->idx,
                 (i - r->ivc_base) / n->spec.vcs, i % n->spec.vcs, q->count, why, s->out - r->out_base);
    }
}

static void describe_lanes(const struct net *n, char *text, size_t bytes)
{
    for (uint32_t i = 0; i < n->ivc_count; i++) {
        const struct net_lane_state s = net_lane_state(n, i);
        if (!s.packets) continue;
        const char *why = n->outs[s.out].blocked ? "the receiver behind" : "the switch to";
        add_line(text, bytes, "router 0 input %u VC %u: %u packets wait for %s output %u\n", i / n->spec.vcs,
                 i % n->spec.vcs, s.packets, why, s.out);
    }
}

void net_describe_waiting(const struct net *n, char *text, size_t bytes)
{
    if (!bytes) return;
    text[0] = 0;
    if (n->queue) {
        net_queue_describe(n, text, bytes);
        return;
    }
    if (n->nodes) {
        net_nodes_describe(n, text, bytes);
        return;
    }
    for (uint32_t i = 0; i < n->source_count; i++) {
        const struct net_source *s = &n->sources[i];
        if (!s->blocked && !s->left) continue;
        add_line(text, bytes, "source %u: %u packets wait for %s\n", i, s->count,
                 n->outs[n->source_base + i].at_sink ? "the sink" : "room in the first router");
    }
    if (n->by_lanes)
        describe_lanes(n, text, bytes);
    else if (n->whole_packets)
        describe_packets(n, text, bytes);
    else
        describe_flits(n, text, bytes);
}
