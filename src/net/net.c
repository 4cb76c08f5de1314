/* net: the step of a network, its sinks, what it tells about itself.
 *
 *   net_step: events of this cycle ─► routers ─► sources ─► packets complete at sinks */
#include <stdio.h>
#include <string.h>

#include "net/net_private.h"

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

#define FOR_EVENTS(n, list, now, item) \
    for (uint32_t slot_ = (uint32_t)(now) & (n)->wheel_mask, i_ = 0; \
         i_ < (n)->list.count[slot_] && \
         ((item) = (n)->list.items[(size_t)slot_ * (n)->list.cap + i_], true); \
         i_++)

static inline void events_done(struct net *n, struct net_events *e, uint64_t now)
{
    e->count[(uint32_t)now & n->wheel_mask] = 0;
}

static void arrivals(struct net *n, uint64_t now)
{
    uint64_t item;
    FOR_EVENTS(n, slot_credits, now, item) slots_arrive(n, (uint32_t)item, (uint32_t)(item >> 32));
    FOR_EVENTS(n, heads, now, item) net_router_head(n, (uint32_t)(item >> 32), (uint32_t)item);
    FOR_EVENTS(n, wakes, now, item) net_router_wake(n, (uint32_t)item, now);
    FOR_EVENTS(n, source_wakes, now, item) net_source_wake(n, (uint32_t)item);
    events_done(n, &n->slot_credits, now);
    events_done(n, &n->heads, now);
    events_done(n, &n->wakes, now);
    events_done(n, &n->source_wakes, now);
}

/* ---- sinks ---- */

static void packets_complete(struct net *n, uint64_t now)
{
    uint64_t item;
    FOR_EVENTS(n, ejects, now, item)
    {
        const struct net_flight *f = &n->flights[item];
        struct net_sink *s = &n->sinks[f->packet.dst];
        DIAG_ASSERT(s->count < s->capacity);
        const uint32_t at = s->head + s->count++;
        s->queue[at >= s->capacity ? at - s->capacity : at] = (uint32_t)item;
        net_ports_set(&n->arrived, f->packet.dst, f->visible_cyc);
        if (n->wiring.arrived) n->wiring.arrived(n->wiring.ctx, f->packet.dst, f->visible_cyc);
    }
    events_done(n, &n->ejects, now);
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
    net_ports_advance(&n->arrived, now);
    if (!net_peek(n, sink, now)) net_ports_clear(&n->arrived, sink);
    n->counts.popped++;
    n->counts.popped_bytes += n->flights[flight].packet.bytes;
    const uint32_t out = n->flights[flight].via_out;
    struct net_out *o = &n->outs[out];
    const uint64_t back = now + 2 + n->spec.credit_delay_cyc;
    if (o->back_cyc == back) { /* several in a cycle: one event with their number */
        n->slot_credits.items[o->back_item] += 1ull << 32;
        return;
    }
    o->back_cyc = back;
    o->back_item = net_post(n, &n->slot_credits, back, 1ull << 32 | out);
    if (n->next_cyc > back) n->next_cyc = back;
}

/* ---- ports with something to do ---- */

static uint64_t ports_cyc(const struct net_ports *p)
{
    return p->now_words ? 0 : p->soon_words ? p->soon_cyc : NET_NEVER;
}

uint64_t net_arrived_words(struct net *n, uint64_t now)
{
    net_ports_advance(&n->arrived, now);
    return n->arrived.now_words;
}

uint64_t net_arrived(struct net *n, uint32_t word, uint64_t now)
{
    DIAG_ASSERT(word * 64 < n->spec.sinks);
    net_ports_advance(&n->arrived, now);
    return n->arrived.now[word];
}

uint64_t net_arrived_cyc(const struct net *n) { return ports_cyc(&n->arrived); }

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

uint64_t net_room_cyc(const struct net *n) { return ports_cyc(&n->room); }

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
    const uint8_t *busy = memchr(n->slot_busy + from, 1, size - from);
    if (!busy) busy = memchr(n->slot_busy, 1, from);
    return busy ? now + 1 + (((uint32_t)(busy - n->slot_busy) - from) & n->wheel_mask) : NET_NEVER;
}

uint64_t net_step(struct net *n, uint64_t now)
{
    if (now < n->next_cyc) return n->next_cyc;
    uint64_t item;
    arrivals(n, now);
    const bool routers = routers_step(n, now);
    bool sources = net_sources_start(n, now);
    FOR_EVENTS(n, tails, now, item) net_source_tail(n, (uint32_t)item, now), sources = true;
    events_done(n, &n->tails, now);
    packets_complete(n, now);
    n->slot_busy[(uint32_t)now & n->wheel_mask] = 0;
    n->next_cyc = routers || sources ? now + 1 : next_event(n, now);
    return n->next_cyc;
}

uint64_t net_next_cyc(const struct net *n) { return n->next_cyc; }

uint32_t net_flits(const struct net *n, uint32_t bytes)
{
    DIAG_ASSERT(bytes <= n->spec.max_packet_bytes);
    const uint32_t up = bytes + n->spec.width_bytes - 1;
    const uint32_t flits = n->width_log2 < 32 ? up >> n->width_log2 : up / n->spec.width_bytes;
    return flits ? flits : 1;
}

struct net_counts net_counts(const struct net *n) { return n->counts; }
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
        if (!s->blocked && !s->left) continue;
        used +=
            (size_t)snprintf(text + used, bytes - used, "source %u: %u packets wait for %s\n", i, s->count,
                             n->outs[n->source_base + i].at_sink ? "the sink" : "room in the first router");
    }
    for (uint32_t i = 0; i < n->ivc_count && used < bytes; i++) {
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
        used += (size_t)snprintf(
            text + used, bytes - used, "router %u input %u VC %u: %u flits wait for %s output %u\n",
            q->router, (i - r->ivc_base) / n->spec.vcs, i % n->spec.vcs, q->ring.flits, why, q->out);
    }
}
