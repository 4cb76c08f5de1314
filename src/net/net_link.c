/* net_link: plain links, one for every pair of a source and a sink that it reaches (NET_LINKS).
 *
 *   queue of the source ─► link, one packet at a time ─► queue of the sink, shared by the links that lead
 * there
 *
 * A packet needs a slot at the sink, then nothing can stop it; so a step is made only for packets that begin
 * and for packets that are complete, and for what somebody waits for: the end of a packet, a slot. */
#include "net/net_whole.h"

/* The packet at the front of the queue begins, or waits for a slot. */
static inline bool start(struct net *n, struct net_source *s, uint32_t source, uint64_t now)
{
    struct net_out *o = &n->outs[n->source_base + source];
    net_out_blocked(n, o, !o->slots);
    if (!o->slots) return false;
    const uint32_t flight = s->queue[s->head].flight;
    struct net_flight *f = &n->flights[flight];
    o->slots--;
    o->flits += f->flits;
    f->via_out = n->source_base + source;
    s->tail_cyc = now + f->flits - 1;
    s->sending = true;
    f->visible_cyc = s->tail_cyc + o->arrive_delay;
    net_post(n, NET_EVENT_EJECT, f->visible_cyc - 1, flight);
    if (s->count == 1 && !s->refused) return true;
    if (s->tail_cyc == now)
        net_whole_tail(n, source, now);
    else
        net_packet_tail_wanted(n, source);
    return true;
}

uint64_t net_links_step(struct net *n, uint64_t now)
{
    uint8_t *const busy = &n->slot_busy[(uint32_t)now & n->wheel_mask];
    n->clock = now;
    if (*busy & 1u << NET_EVENT_SLOTS) net_slots_are_back(n, now);
    bool again = net_whole_start(n, now, start);
    const uint32_t kinds = *busy; /* a packet of few flits may have ended or be complete */
    if (kinds & 1u << NET_EVENT_TAIL) {
        const uint64_t *items;
        const uint32_t count = net_events_of(n, NET_EVENT_TAIL, now, &items);
        for (uint32_t i = 0; i < count; i++) net_whole_tail(n, (uint32_t)items[i], now);
        again = true;
    }
    if (kinds & 1u << NET_EVENT_EJECT) net_packets_complete(n, now);
    *busy = 0;
    if (again) return now + 1;
    return n->posted[0] ? net_next_event(n, now, 0xff) : NET_NEVER;
}

/* A slot is back `cycles` after the packet was taken. Meanwhile no more packets than that can begin on the
 * link: while it has more slots, one that counts as back at once changes nothing and needs no step. */
void net_link_popped(struct net *n, uint32_t out, uint64_t now)
{
    struct net_out *o = &n->outs[out];
    const uint32_t cycles = 2 + n->spec.credit_delay_cyc;
    if (o->early_cyc <= now) o->early = 0;
    if (o->slots <= o->early + cycles) {
        net_slot_back(n, out, now);
        return;
    }
    o->early_cyc = now + cycles;
    o->early++;
    o->slots++;
}
