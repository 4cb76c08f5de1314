/* net: the ends of a network and its step.
 *
 *   net_step: what arrives in this cycle ─► routers ─► sources ─► packets complete at sinks
 *
 * A source sends one flit per cycle into a VC of its first router, like a router output whose only input is
 * the source queue. */
#include <stdio.h>
#include <string.h>

#include "net/net_private.h"

/* ---- what arrives in this cycle ---- */

static void credit_arrives(struct net *n, uint32_t out_vc)
{
    const uint32_t vcs = n->spec.vcs, idx = out_vc / vcs, vc = out_vc % vcs;
    struct net_out *o = &n->outs[idx];
    const bool first = o->credit[vc]++ == 0;
    DIAG_ASSERT(o->credit[vc] <= n->spec.vc_flits);
    if (o->router == NET_NONE) {
        struct net_source *s = &n->sources[idx - n->source_base];
        if (s->count && (!s->left || s->vc == vc)) net_bit_set(n->ready_sources, idx - n->source_base);
    } else if (first && !(o->free_vcs >> vc & 1)) {
        const struct net_router *r = &n->routers[o->router];
        if (!n->ivcs[r->ivc_base + o->owner[vc]].present) return;
        o->ready_vcs |= (uint16_t)(1u << vc);
        net_out_update(n, o);
    }
}

static void slot_arrives(struct net *n, uint32_t idx, uint64_t now)
{
    struct net_out *o = &n->outs[idx];
    o->slots++;
    if (--o->slots_back) net_post_slot_credit(n, now + 1, idx);
    if (o->slots > 1) return;
    if (o->router == NET_NONE) {
        if (n->sources[idx - n->source_base].count) net_bit_set(n->ready_sources, idx - n->source_base);
    } else {
        net_out_update(n, o);
    }
}

static void flit_arrives(struct net *n, uint32_t ivc, uint32_t head_flight)
{
    struct net_ivc *q = &n->ivcs[ivc];
    struct net_router *r = &n->routers[q->router];
    DIAG_ASSERT(q->present < n->spec.vc_flits);
    q->present++;
    if (head_flight) {
        n->fifo[((size_t)ivc << n->fifo_log2) + ((q->fifo_head + q->fifo_count) & n->fifo_mask)] =
            head_flight - 1;
        q->fifo_count++;
        if (q->state == NET_IVC_IDLE) net_ivc_front(n, r, ivc - r->ivc_base);
    } else if (q->state == NET_IVC_ACTIVE && q->present == 1) {
        struct net_out *o = &n->outs[r->out_base + q->out];
        if (!o->credit[q->vc]) return;
        o->ready_vcs |= (uint16_t)(1u << q->vc);
        net_out_update(n, o);
    }
}

static void arrivals(struct net *n, uint64_t now)
{
    const uint32_t s = (uint32_t)now & n->wheel_mask;
    struct net_slot *slot = &n->slots[s];
    for (uint32_t i = 0; i < slot->credits; i++) credit_arrives(n, n->credits[(size_t)s * n->credit_cap + i]);
    for (uint32_t i = 0; i < slot->slot_credits; i++)
        slot_arrives(n, n->slot_credits[(size_t)s * n->eject_cap + i], now);
    const uint64_t *a = &n->arrivals[(size_t)s * n->arrival_cap];
    for (uint32_t i = 0; i < slot->arrivals; i++) flit_arrives(n, (uint32_t)a[i], (uint32_t)(a[i] >> 32));
    slot->credits = slot->slot_credits = slot->arrivals = 0;
}

/* ---- sources ---- */

static inline uint32_t *source_slot(struct net *n, uint32_t source, uint32_t i)
{
    uint32_t at = n->sources[source].head + i;
    if (at >= n->spec.source_packets) at -= n->spec.source_packets;
    return &n->source_queue[(size_t)source * n->spec.source_packets + at];
}

/* The next packet of a source chooses a VC that no packet is entering and that has room; they take turns. */
static bool start_packet(struct net *n, uint32_t source)
{
    struct net_source *s = &n->sources[source];
    struct net_out *o = &n->outs[n->source_base + source];
    const struct net_flight *f = &n->flights[*source_slot(n, source, 0)];
    if (o->at_sink) {
        if (!o->slots) return false;
        o->slots--;
        s->vc = 0;
        s->left = f->flits;
        return true;
    }
    const uint32_t vcs = n->spec.vcs;
    uint16_t may = o->free_vcs;
    /* In a ring, the set depends on the way, which the first router decides: any VC of the class will do. */
    const uint32_t set = f->packet.cls * n->set_count_ring;
    uint16_t of_class = 0;
    for (uint32_t i = 0; i < n->set_count_ring; i++) of_class |= n->set_mask[set + i];
    may &= of_class;
    struct net_flow *flow = n->flows[n->source_base + source];
    if (flow) {
        flow += net_flow_key(n, &f->packet);
        if (flow->count) may &= (uint16_t)(1u << flow->vc);
    }
    for (uint32_t i = 1; i <= vcs; i++) {
        const uint32_t v = (s->last_vc + i) % vcs, p = n->position[v];
        if (!(may >> p & 1) || !o->credit[p]) continue;
        s->last_vc = (uint16_t)v;
        s->vc = (uint16_t)p;
        s->left = f->flits;
        o->free_vcs &= (uint16_t) ~(1u << p);
        if (flow) flow->count++, flow->vc = (uint16_t)p;
        return true;
    }
    return false;
}

static void packet_leaves_source(struct net *n, uint32_t source, uint64_t now)
{
    struct net_source *s = &n->sources[source];
    n->outs[n->source_base + source].free_vcs |= (uint16_t)(1u << s->vc);
    s->head = s->head + 1 == n->spec.source_packets ? 0 : s->head + 1;
    s->count--;
    s->left_cyc = now;
    if (!s->refused) return;
    s->refused = false;
    const uint32_t terminal = n->spec.topology == NET_LINKS ? source / n->spec.sinks : source;
    if (n->wiring.room) n->wiring.room(n->wiring.ctx, terminal, now + 1);
}

static void source_step(struct net *n, uint32_t source, uint64_t now)
{
    struct net_source *s = &n->sources[source];
    struct net_out *o = &n->outs[n->source_base + source];
    const uint32_t flight = *source_slot(n, source, 0);
    const bool head = !s->left;
    if (head && !start_packet(n, source)) {
        net_bit_clear(n->ready_sources, source);
        return;
    }
    s->left--;
    o->flits++;
    const uint64_t arrival = now + o->arrive_delay;
    if (o->at_sink) {
        if (!s->left) {
            n->flights[flight].via_out = n->source_base + source;
            net_post_eject(n, arrival, flight);
        }
    } else {
        net_post_arrival(n, arrival, o->to + s->vc, head ? flight + 1 : 0);
        if (!--o->credit[s->vc] && s->left) net_bit_clear(n->ready_sources, source);
    }
    if (s->left) return;
    packet_leaves_source(n, source, now);
    if (!s->count) net_bit_clear(n->ready_sources, source);
}

/* A packet accepted in this very cycle waits for the next (see the contract): such sources stand in `fresh`.
 */
static bool sources_step(struct net *n, uint64_t now)
{
    bool any = false;
    for (uint32_t w = 0; w < n->source_words; w++) {
        for (uint64_t m = n->ready_sources[w]; m; m &= m - 1) {
            const uint32_t source = w << 6 | (uint32_t)__builtin_ctzll(m);
            struct net_source *s = &n->sources[source];
            if (!s->left && n->flights[*source_slot(n, source, 0)].visible_cyc == now) continue;
            source_step(n, source, now);
        }
        any |= n->ready_sources[w] != 0;
    }
    return any;
}

static inline uint32_t source_port(const struct net *n, uint32_t src, uint32_t dst)
{
    return n->spec.topology == NET_LINKS ? src * n->spec.sinks + dst : src;
}

bool net_has_room(const struct net *n, uint32_t src, uint32_t dst, uint64_t now)
{
    const struct net_source *s = &n->sources[source_port(n, src, dst)];
    return s->count + (s->left_cyc == now) < n->spec.source_packets;
}

bool net_try_inject(struct net *n, const struct net_packet *p, uint64_t now)
{
    DIAG_ASSERT(p->src < n->spec.sources && p->dst < n->spec.sinks && p->cls < n->spec.classes);
    const uint32_t source = source_port(n, p->src, p->dst);
    struct net_source *s = &n->sources[source];
    if (!net_has_room(n, p->src, p->dst, now)) {
        s->refused = true;
        return false;
    }
    DIAG_ASSERT(n->free_count);
    const uint32_t flight = n->free_flights[--n->free_count];
    struct net_flight *f = &n->flights[flight];
    f->packet = *p;
    f->flits = net_flits(n, p->bytes);
    f->visible_cyc = now; /* until it leaves the last router: when it was accepted */
    *source_slot(n, source, s->count) = flight;
    if (!s->count++) net_bit_set(n->ready_sources, source);
    if (n->next_cyc > now + 1) n->next_cyc = now + 1;
    return true;
}

/* ---- sinks ---- */

static void packets_complete(struct net *n, uint64_t now)
{
    const uint32_t slot = (uint32_t)now & n->wheel_mask;
    for (uint32_t i = 0; i < n->slots[slot].ejects; i++) {
        const uint32_t flight = n->ejects[(size_t)slot * n->eject_cap + i];
        const struct net_flight *f = &n->flights[flight];
        struct net_sink *s = &n->sinks[f->packet.dst];
        DIAG_ASSERT(s->count < s->capacity);
        const uint32_t at = s->head + s->count++;
        s->queue[at >= s->capacity ? at - s->capacity : at] = flight;
        if (n->wiring.arrived) n->wiring.arrived(n->wiring.ctx, f->packet.dst, f->visible_cyc);
    }
    n->slots[slot].ejects = 0;
}

const struct net_packet *net_peek(const struct net *n, uint32_t sink, uint64_t now)
{
    const struct net_sink *s = &n->sinks[sink];
    if (!s->count) return NULL;
    const struct net_flight *f = &n->flights[s->queue[s->head]];
    return f->visible_cyc <= now ? &f->packet : NULL;
}

void net_pop(struct net *n, uint32_t sink, uint64_t now)
{
    struct net_sink *s = &n->sinks[sink];
    DIAG_ASSERT(net_peek(n, sink, now));
    const uint32_t flight = s->queue[s->head];
    s->head = s->head + 1 == s->capacity ? 0 : s->head + 1;
    s->count--;
    n->free_flights[n->free_count++] = flight;
    const uint32_t out = n->flights[flight].via_out;
    struct net_out *o = &n->outs[out];
    if (o->slots_back++) return; /* one slot comes back per cycle */
    const uint64_t back = now + 2 + n->spec.credit_delay_cyc;
    net_post_slot_credit(n, back, out);
    if (n->next_cyc > back) n->next_cyc = back;
}

/* ---- the step ---- */

static bool routers_step(struct net *n, uint64_t now)
{
    bool any = false;
    for (uint32_t w = 0; w < n->active_words; w++) {
        for (uint32_t round = 0; round < n->spec.internal_speedup; round++) {
            for (uint64_t m = n->active_routers[w]; m; m &= m - 1) {
                const uint32_t i = w << 6 | (uint32_t)__builtin_ctzll(m);
                struct net_router *r = &n->routers[i];
                net_router_step(n, r, now, round);
                uint64_t busy = 0;
                for (uint32_t k = 0; k < r->out_words; k++)
                    busy |= r->sa_active[k] | r->va_active[k] | r->held[k];
                if (!busy) net_bit_clear(n->active_routers, i);
            }
        }
        any |= n->active_routers[w] != 0;
    }
    return any;
}

/* The next slot of the wheel after `now` that holds anything. */
static uint64_t next_event(const struct net *n, uint64_t now)
{
    const uint32_t size = n->wheel_mask + 1, from = (uint32_t)(now + 1) & n->wheel_mask;
    const uint32_t s = net_bit_next(n->busy_slots, (size + 63) / 64, from);
    return s == NET_NONE ? NET_NEVER : now + 1 + ((s - from) & n->wheel_mask);
}

uint64_t net_step(struct net *n, uint64_t now)
{
    if (now < n->next_cyc) return n->next_cyc;
    arrivals(n, now);
    const bool routers = routers_step(n, now);
    const bool sources = sources_step(n, now);
    packets_complete(n, now);
    net_bit_clear(n->busy_slots, (uint32_t)now & n->wheel_mask);
    n->next_cyc = routers || sources ? now + 1 : next_event(n, now);
    return n->next_cyc;
}

uint64_t net_next_cyc(const struct net *n) { return n->next_cyc; }

uint32_t net_flits(const struct net *n, uint32_t bytes)
{
    const uint32_t flits = (bytes + n->spec.width_bytes - 1) / n->spec.width_bytes;
    DIAG_ASSERT(bytes <= n->spec.max_packet_bytes);
    return flits ? flits : 1;
}

uint64_t net_in_flight(const struct net *n) { return n->flight_count - n->free_count; }
const struct net_spec *net_spec_of(const struct net *n) { return &n->spec; }

uint64_t net_zero_load_cyc(const struct net *n, uint32_t src, uint32_t dst, uint32_t bytes)
{
    const struct net_spec *s = &n->spec;
    const uint64_t tail = net_flits(n, bytes) - 1;
    if (s->topology == NET_LINKS) return s->link_latency_cyc + tail;
    uint64_t hops = s->topology == NET_HXBAR ? 2 : 1;
    if (s->topology == NET_RING) {
        const uint32_t way = (dst + s->sinks - src) % s->sinks;
        hops += way <= s->sinks - way ? way : s->sinks - way;
    }
    return s->inject_latency_cyc + hops * (s->router_latency_cyc + s->link_latency_cyc) + tail;
}

/* ---- reports ---- */

uint32_t net_link_count(const struct net *n) { return n->out_count; }
uint32_t net_stage_count(const struct net *n) { return n->stage_count; }

struct net_link_stats net_link(const struct net *n, uint32_t idx)
{
    DIAG_ASSERT(idx < n->out_count);
    return (struct net_link_stats){n->outs[idx].flits, n->link_stage[idx], n->link_port[idx]};
}

void net_describe_waiting(const struct net *n, char *text, size_t bytes)
{
    size_t used = 0;
    if (bytes) text[0] = 0;
    for (uint32_t i = 0; i < n->source_count && used < bytes; i++) {
        const struct net_source *s = &n->sources[i];
        if (!s->count || net_bit(n->ready_sources, i)) continue;
        used +=
            (size_t)snprintf(text + used, bytes - used, "source %u: %u packets wait for %s\n", i, s->count,
                             n->outs[n->source_base + i].at_sink ? "the sink" : "room in the first router");
    }
    for (uint32_t i = 0; i < n->ivc_count && used < bytes; i++) {
        const struct net_ivc *q = &n->ivcs[i];
        if (q->state == NET_IVC_IDLE) continue;
        const struct net_router *r = &n->routers[q->router];
        const struct net_out *o = &n->outs[r->out_base + q->out];
        const uint32_t local = i - r->ivc_base;
        const char *why = q->state == NET_IVC_WAIT  ? "a VC of"
                          : !q->present             ? "flits for"
                          : !o->credit[q->vc]       ? "credits of"
                          : o->at_sink && !o->slots ? "the receiver behind"
                                                    : "the switch to";
        used += (size_t)snprintf(text + used, bytes - used,
                                 "router %u input %u VC %u: %u flits wait for %s output %u\n", q->router,
                                 local / n->spec.vcs, local % n->spec.vcs, q->present, why, q->out);
    }
}
