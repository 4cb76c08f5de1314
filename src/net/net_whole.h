/* net_whole: what the routers of whole packets share: net_packet.c and net_lane.c. */
#ifndef ATOLL_NET_NET_WHOLE_H
#define ATOLL_NET_NET_WHOLE_H

#include "net/net_private.h"

/* ---- sources ---- */

/* The tail is on the link, and someone waits for that. */
static inline void net_whole_tail(struct net *n, uint32_t source, uint64_t now)
{
    struct net_source *s = &n->sources[source];
    net_source_settle(n, s);
    if (s->count) net_bit_set(n->ready_sources, source);
    if (!s->refused) return;
    s->refused = false;
    net_source_has_room(n, source, now + 1);
}

/* A source begins to send the first packet of its queue; false: it is blocked. */
typedef bool net_start_fn(struct net *n, struct net_source *s, uint32_t source, uint64_t now);

/* Every source that may start a packet in this cycle; true when one may still start in the next. */
static inline __attribute__((always_inline)) bool net_whole_start(struct net *n, uint64_t now,
                                                                  net_start_fn *start)
{
    bool again = false;
    for (uint32_t w = 0; w < n->source_words; w++) {
        uint64_t m = n->ready_sources[w];
        if (!m) continue;
        n->ready_sources[w] = 0;
        for (; m; m &= m - 1) {
            const uint32_t source = w << 6 | (uint32_t)__builtin_ctzll(m);
            struct net_source *s = &n->sources[source];
            /* accepted in this very cycle: waits for the next (see the contract in net.h) */
            if (s->fresh_cyc == now)
                net_bit_set(n->ready_sources, source);
            else
                s->blocked = !start(n, s, source, now);
        }
        again |= n->ready_sources[w] != 0;
    }
    return again;
}

/* ---- sinks ---- */

/* Has the sink no slot for a packet that is granted in the cycle after seen_cyc? Then it tells when it has.
 */
static inline bool net_whole_full(struct net *n, const struct net_out *o, uint64_t seen_cyc)
{
    struct net_sink *s = &n->sinks[o->to];
    const uint64_t back_cyc = s->slots[s->pushed & s->mask].back_cyc;
    const bool taken = s->pushed - s->popped == s->capacity;
    if (__builtin_expect(!taken && back_cyc <= seen_cyc, 1)) return false;
    if (taken) {
        s->back_wanted = true;
    } else if (!s->back_posted) {
        s->back_posted = true;
        net_post(n, NET_EVENT_SLOTS, back_cyc, s->out);
    }
    return true;
}

/* A packet will be complete in the queue of its sink at visible_cyc. */
static inline void net_whole_push(struct net *n, uint32_t sink, uint32_t flight, uint64_t visible_cyc)
{
    struct net_flight *f = &n->flights[flight];
    struct net_sink *s = &n->sinks[sink];
    f->visible_cyc = visible_cyc;
    s->slots[s->pushed & s->mask].flight = flight;
    if (s->pushed++ == s->popped) net_front_set(n, sink, f);
    net_count_delivery(n, s, f);
    if (n->wiring.coming) n->wiring.coming(n->wiring.ctx, f->packet.handle);
    if (n->wiring.arrived) net_post(n, NET_EVENT_EJECT, visible_cyc, sink);
}

#endif
