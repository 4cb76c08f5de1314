/* net_lane: a crossbar that switches whole packets and in which every VC of an input has a way of its own
 * into the switch (input speed-up = VCs), none of them shorter than a packet. The rules are those of
 * net_packet.c, and so is every cycle; what is simpler here:
 *
 *   - a VC asks for one output at a time, and only outputs are contended for: iSLIP is one turn per output;
 *   - the tail of a packet at the front of its VC is always known, and so is the cycle of its arrival;
 *   - an output tells by a cycle that it is free; an event is posted only where somebody waits.
 *
 *   source ── enter ──► lane (VC) ── head arrives ──► asks ── turn of the output ──► granted ──► sink
 *
 * One packet is a handful of cache lines: its flight, its source, its lane (places as 32-bit cycles behind
 * the lane's own numbers), the output and its sink. */
#include "net/net_whole.h"

#define AHEAD 2 /* the routers, in cycles; see net_packet.c */

/* One VC. Flits and places are numbered since the start, modulo 2^32; the place of flit x can be used from
 * credits[x & mask] on (cycles modulo 2^32, see refresh()). */
struct net_lane {
    uint32_t sent, freed; /* flits ever sent into it; places for them, also those free at a known cycle */
    uint64_t busy_cyc;    /* the tail of the last packet that left goes in this cycle */
    uint32_t tail_due;    /* pending: cycle in which the tail is sent if there is a place */
    uint16_t head, count; /* of stays: packets inside */
    bool pending;         /* the place of the last packet's tail is not known */
    uint16_t source;
    uint32_t credits[];
};

/* Cycles modulo 2^32: how far ahead of now. */
static inline int32_t ahead(uint32_t cyc, uint64_t now) { return (int32_t)(cyc - (uint32_t)now); }

static inline struct net_lane *lane_at(const struct net *n, uint32_t idx)
{
    return (struct net_lane *)(void *)(n->lanes + (size_t)idx * n->lane_bytes);
}
static inline struct net_stay *stay_of(const struct net *n, uint32_t idx, uint32_t nth)
{
    uint8_t *const lane = n->lanes + (size_t)idx * n->lane_bytes;
    return (struct net_stay *)(void *)(lane + n->lane_stays) + (nth & n->fifo_mask);
}
static inline int32_t places(const struct net_lane *l) { return (int32_t)(l->freed - l->sent); }

/* ---- building ---- */

bool net_lanes_fit(const struct net_spec *s)
{
    return s->topology == NET_CROSSBAR && s->classes == 1 && s->input_speedup == s->vcs &&
           (s->max_packet_bytes + s->width_bytes - 1) / s->width_bytes <= s->vc_flits &&
           (uint64_t)s->sources * s->vcs <= 64 * 64;
}

void net_lanes_build(struct net *n, struct arena *a)
{
    const uint32_t size = n->spec.vc_flits;
    const size_t own = sizeof(struct net_lane) + (sizeof(uint32_t) << n->fifo_log2);
    n->lane_stays = (uint32_t)((own + 63) / 64 * 64);
    /* its own line and the packets' first are a pair, which processors fetch together */
    n->lane_bytes = (uint32_t)((n->lane_stays + (sizeof(struct net_stay) << n->fifo_log2) + 127) / 128 * 128);
    n->lanes = arena_alloc_aligned(a, (size_t)n->ivc_count * n->lane_bytes + 64, 64);
    n->lanes += (uintptr_t)n->lanes & 64;
    for (uint32_t i = 0; i < n->ivc_count; i++) {
        struct net_lane *l = lane_at(n, i);
        l->freed = size;
        l->source = (uint16_t)(i / n->spec.vcs);
        /* all places are free: number x, as no sender is faster than a flit per cycle, by cycle x */
        for (uint32_t x = 0; x < size; x++) l->credits[x] = x;
    }
    n->lasts = n->spec.in_order && n->spec.vcs > 1
                   ? ARENA_ARRAY(a, uint64_t, (size_t)n->spec.sources * n->spec.sinks)
                   : NULL;
}

/* Places that can be used since long ago can be used since now. */
static __attribute__((noinline, cold)) void refresh(struct net *n, uint64_t now)
{
    const bool slept = now - n->wheel_cyc > 1u << 20; /* nothing is known that far ahead */
    n->refreshed_cyc = now;
    for (uint32_t i = 0; i < n->ivc_count; i++) {
        struct net_lane *l = lane_at(n, i);
        for (uint32_t x = 0; x <= n->fifo_mask; x++)
            if (slept || ahead(l->credits[x], now) < 0) l->credits[x] = (uint32_t)now;
    }
}

/* ---- who asks for an output ---- */

/* Somebody asks for it: can it send, as far as is known at the end of cycle seen_cyc? */
static inline void out_update(struct net *n, struct net_out *o, uint64_t seen_cyc)
{
    if (o->busy_cyc > seen_cyc) {
        if (o->wake_posted) return;
        o->wake_posted = true;
        net_post(n, NET_EVENT_RUN_END, o->busy_cyc, (uint64_t)(o - n->outs));
        return;
    }
    const bool full = net_whole_full(n, o, seen_cyc);
    if (__builtin_expect(full != o->blocked, 0)) net_out_blocked(n, o, full);
    if (!full)
        *o->active |= o->bit;
    else
        *o->active &= ~o->bit;
}

static inline void ask(struct net *n, uint32_t lane, uint32_t out, uint64_t seen_cyc)
{
    struct net_out *o = &n->outs[out];
    o->requests[lane >> 6] |= 1ull << (lane & 63);
    o->request_words |= 1ull << (lane >> 6);
    if (!o->ready_count++) out_update(n, o, seen_cyc);
}

/* ---- sources ---- */

/* The VC for the next packet of a source, by its number, NET_NONE: look again in *retry_cyc. Order: behind
 * the last packet of its flow. Otherwise VCs take turns; one with places for the whole packet is best. */
static inline uint32_t choose(struct net *n, struct net_out *o, uint32_t source, const struct net_queued *p,
                              uint64_t now, uint64_t *retry_cyc)
{
    const uint32_t vcs = n->spec.vcs;
    uint32_t may = n->all_vcs;
    if (n->lasts) {
        const uint64_t last = n->lasts[(size_t)source * n->spec.sinks + p->dst];
        if (last >= NET_LAST_ONE || (last & NET_LAST_CYC) > now) may = 1u << NET_LAST_VC(last);
    }
    const uint32_t turn = o->last_vc + 1u;
    uint32_t second = NET_NONE, m = may >> turn << turn, others = may ^ m; /* turn is at most 16 */
    for (;;) {
        if (!m) {
            if (!others) break;
            m = others;
            others = 0;
        }
        const uint32_t v = (uint32_t)__builtin_ctz(m);
        m &= m - 1;
        const struct net_lane *l = lane_at(n, source * vcs + v);
        const int32_t free = places(l);
        if (free <= 0) continue;
        const int32_t wait = ahead(l->credits[l->sent & n->fifo_mask], now);
        if (wait > 0) {
            if (now + (uint32_t)wait < *retry_cyc) *retry_cyc = now + (uint32_t)wait;
            continue;
        }
        if (free >= p->flits) return v;
        if (second == NET_NONE) second = v;
    }
    return second;
}

/* The packet goes into the lane, its head now; returns when its tail does, NET_NEVER: not known. */
static inline uint64_t enter(struct net *n, const struct net_out *o, uint32_t idx, uint32_t vc,
                             const struct net_queued *p, uint32_t source, uint64_t now)
{
    struct net_lane *l = lane_at(n, idx);
    const uint32_t flits = p->flits;
    uint64_t cyc = now + flits - 1;
    if ((int32_t)flits <= places(l)) {
        const int32_t wait = ahead(l->credits[(l->sent + flits - 1) & n->fifo_mask], cyc);
        if (wait > 0) cyc += (uint32_t)wait;
    } else {
        l->pending = true;
        l->tail_due = (uint32_t)cyc;
        cyc = NET_NEVER;
    }
    struct net_stay *s = stay_of(n, idx, l->head + l->count);
    const uint64_t arrives_cyc = now + o->latency;
    s->head_cyc = arrives_cyc;
    s->tail_cyc = cyc == NET_NEVER ? NET_NEVER : cyc + o->latency;
    s->flight = p->flight;
    s->out = p->dst;
    s->flits = (uint16_t)flits;
    l->sent += flits;
    if (n->lasts) {
        uint64_t *last = &n->lasts[(size_t)source * n->spec.sinks + p->dst];
        *last = (*last & ~(15ull << 44)) + ((uint64_t)vc << 44 | NET_LAST_ONE);
    }
    if (l->count++) return cyc;
    const uint64_t front_cyc = arrives_cyc > l->busy_cyc ? arrives_cyc : l->busy_cyc;
    if (front_cyc <= n->wheel_cyc)
        ask(n, idx, p->dst, n->wheel_cyc);
    else
        net_post(n, NET_EVENT_HEAD, front_cyc, idx);
    return cyc;
}

void net_lanes_fetch(const struct net *n, uint32_t source, uint32_t sink)
{
    const uint32_t last = n->outs[n->source_base + source].last_vc, vcs = n->spec.vcs;
    const uint8_t *const lane =
        n->lanes + (size_t)(source * vcs + (last + 1 < vcs ? last + 1 : 0)) * n->lane_bytes;
    __builtin_prefetch(lane, 1);
    __builtin_prefetch(lane + n->lane_stays, 1);
    if (n->lasts) __builtin_prefetch(&n->lasts[(size_t)source * n->spec.sinks + sink], 1);
}

/* A source begins to send the first packet of its queue, or is blocked. */
static inline bool start(struct net *n, struct net_source *s, uint32_t source, uint64_t now)
{
    struct net_out *o = &n->outs[n->source_base + source];
    const struct net_queued *p = &s->queue[s->head];
    uint64_t retry_cyc = NET_NEVER;
    const uint32_t vc = choose(n, o, source, p, now, &retry_cyc);
    if (vc == NET_NONE) {
        if (retry_cyc == NET_NEVER)
            o->starved = true;
        else
            net_post(n, NET_EVENT_SOURCE_WAKE, retry_cyc + 1, source);
        return false;
    }
    o->last_vc = (uint16_t)vc;
    s->sending = true;
    net_run_begins(o, p->flits, now);
    const uint64_t tail_cyc = s->tail_cyc = enter(n, o, source * n->spec.vcs + vc, vc, p, source, now);
    if (tail_cyc == NET_NEVER || (s->count == 1 && !s->refused)) return true;
    if (tail_cyc == now) {
        net_whole_tail(n, source, now);
    } else {
        s->tail_posted = true;
        net_post(n, NET_EVENT_TAIL, tail_cyc + 1, source);
    }
    return true;
}

/* ---- allocation ---- */

/* The place of the last packet's tail is known: it is sent in `cyc`. */
static __attribute__((noinline)) void tail_known(struct net *n, struct net_lane *l, uint32_t idx,
                                                 uint64_t cyc)
{
    const uint32_t source = l->source;
    struct net_source *s = &n->sources[source];
    l->pending = false;
    s->tail_cyc = cyc;
    if (s->count > 1 || s->refused) net_packet_tail_wanted(n, source);
    stay_of(n, idx, l->head + l->count - 1u)->tail_cyc = cyc + n->outs[n->source_base + source].latency;
}

/* Someone waits for a place in the lane, which has one now. */
static __attribute__((noinline)) void wake_source(struct net *n, const struct net_lane *l, uint32_t source)
{
    const int32_t wait = ahead(l->credits[l->sent & n->fifo_mask], n->clock);
    const uint64_t cyc = wait > 0 ? n->clock + (uint32_t)wait : n->clock + 1;
    n->outs[n->source_base + source].starved = false;
    net_post(n, NET_EVENT_SOURCE_WAKE, cyc + 1, source);
}

/* The flits of the front packet leave, one per cycle, the last in last_cyc; who waits for places learns. */
static inline void leave(struct net *n, struct net_lane *l, uint32_t idx, uint32_t flits, uint64_t last_cyc)
{
    const uint32_t source = l->source, before = l->freed;
    const struct net_out *feeder = &n->outs[n->source_base + source];
    const bool had_place = places(l) > 0;
    const uint32_t first = (uint32_t)last_cyc + feeder->credit_delay - (flits - 1);
    for (uint32_t i = 0; i < flits; i++) l->credits[(before + i) & n->fifo_mask] = first + i;
    l->freed = before + flits;
    if (__builtin_expect(l->pending, 0) && places(l) >= 0) {
        const uint64_t now = n->clock;
        const int32_t credit = ahead(l->credits[(l->sent - 1) & n->fifo_mask], now),
                      due = ahead(l->tail_due, now);
        tail_known(n, l, idx, now + (uint64_t)(int64_t)(credit > due ? credit : due));
    }
    if (__builtin_expect(feeder->starved, 0) && places(l) > 0 && !had_place) wake_source(n, l, source);
}

/* The packet at the front of a lane has won its way. */
static inline void grant(struct net *n, struct net_out *o, uint32_t idx)
{
    const uint64_t now = n->clock;
    struct net_lane *l = lane_at(n, idx);
    const struct net_stay *front = stay_of(n, idx, l->head);
    const uint32_t flits = front->flits, flight = front->flight;
    uint64_t last_cyc = now + flits - 1;
    if (front->tail_cyc > last_cyc) last_cyc = front->tail_cyc;
    DIAG_ASSERT(last_cyc != NET_NEVER);
    net_run_begins(o, flits, now);
    leave(n, l, idx, flits, last_cyc);
    net_whole_push(n, o->to, flight, last_cyc + o->latency);
    if (n->lasts) {
        uint64_t *last = &n->lasts[(size_t)l->source * n->spec.sinks + o->to];
        const uint64_t left = *last - NET_LAST_ONE;
        *last = left >= NET_LAST_ONE ? left : (left & ~NET_LAST_CYC) | last_cyc;
    }
    l->busy_cyc = last_cyc;
    l->head = (uint16_t)(--l->count ? l->head + 1 : 0); /* an empty lane begins anew: one cache line */
    if (l->count) {
        const uint64_t head_cyc = stay_of(n, idx, l->head)->head_cyc;
        net_post(n, NET_EVENT_HEAD, head_cyc > last_cyc ? head_cyc : last_cyc, idx);
    }
    o->busy_cyc = last_cyc;
    *o->active &= ~o->bit;
    if (!--o->ready_count) return;
    o->wake_posted = true;
    net_post(n, NET_EVENT_RUN_END, last_cyc, (uint64_t)(o - n->outs));
}

/* The first lane at or after the output's pointer that asks for it; it asks no more. */
static inline uint32_t take_turn(struct net_out *o, uint32_t lanes)
{
    const uint32_t ptr = o->grant_ptr;
    uint32_t w = ptr >> 6;
    uint64_t m = o->requests[w] & ~0ull << (ptr & 63);
    if (!m) {
        const uint64_t after = o->request_words & ~1ull << w;
        w = (uint32_t)__builtin_ctzll(after ? after : o->request_words);
        m = o->requests[w];
    }
    const uint32_t idx = w << 6 | (uint32_t)__builtin_ctzll(m);
    o->requests[w] &= ~(m & -m);
    if (!o->requests[w]) o->request_words &= ~(1ull << w);
    o->grant_ptr = (uint16_t)(idx + 1 == lanes ? 0 : idx + 1);
    return idx;
}

static __attribute__((noinline)) void allocate(struct net *n)
{
    const struct net_router *r = &n->routers[0];
    for (uint32_t w = 0; w < r->out_words; w++)
        for (uint64_t m = r->sa_active[w]; m; m &= m - 1) {
            struct net_out *o = &n->outs[w << 6 | (uint32_t)__builtin_ctzll(m)];
            grant(n, o, take_turn(o, n->ivc_count));
        }
}

/* ---- the step ---- */

static __attribute__((noinline)) void events(struct net *n, uint64_t cyc, uint32_t kinds)
{
    const uint64_t *items;
    uint32_t count;
    if (kinds & 1u << NET_EVENT_SLOTS) {
        count = net_events_of(n, NET_EVENT_SLOTS, cyc, &items);
        for (uint32_t i = 0; i < count; i++) {
            struct net_out *o = &n->outs[items[i]];
            n->sinks[o->to].back_posted = false;
            if (o->ready_count) out_update(n, o, cyc);
        }
    }
    if (kinds & 1u << NET_EVENT_RUN_END) {
        count = net_events_of(n, NET_EVENT_RUN_END, cyc, &items);
        for (uint32_t i = 0; i < count; i++) {
            n->outs[items[i]].wake_posted = false;
            out_update(n, &n->outs[items[i]], cyc);
        }
    }
    if (kinds & 1u << NET_EVENT_HEAD) {
        count = net_events_of(n, NET_EVENT_HEAD, cyc, &items);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t idx = (uint32_t)items[i];
            const struct net_stay *const front = stay_of(n, idx, lane_at(n, idx)->head);
            __builtin_prefetch(&n->flights[front->flight], 1); /* it may be granted soon */
            ask(n, idx, front->out, cyc);
        }
    }
    if (kinds & 1u << NET_EVENT_SOURCE_WAKE) net_source_wakes(n, cyc);
    if (kinds & 1u << NET_EVENT_EJECT) {
        count = net_events_of(n, NET_EVENT_EJECT, cyc, &items);
        for (uint32_t i = 0; i < count; i++) n->wiring.arrived(n->wiring.ctx, (uint32_t)items[i], cyc);
    }
}

uint64_t net_lanes_step(struct net *n, uint64_t now)
{
    const uint64_t slot = now + 1;
    if (__builtin_expect(now - n->refreshed_cyc >= 1u << 30, 0)) refresh(n, now);
    n->wheel_cyc = n->clock = slot;
    uint8_t *busy = &n->slot_busy[(uint32_t)slot & n->wheel_mask];
    const uint32_t kinds = *busy;
    if (kinds & ~(1u << NET_EVENT_TAIL)) events(n, slot, kinds);
    bool again = net_whole_start(n, now, start);
    if (kinds & 1u << NET_EVENT_TAIL) {
        const uint64_t *items;
        const uint32_t count = net_events_of(n, NET_EVENT_TAIL, slot, &items);
        for (uint32_t i = 0; i < count; i++) net_whole_tail(n, (uint32_t)items[i], now);
        again = true;
    }
    *busy = 0;
    n->clock = now + AHEAD;
    const struct net_router *r = &n->routers[0];
    if (r->sa_active[0] || r->out_words > 1) allocate(n);
    if (again) return now + 1;
    const uint64_t next = n->posted[0] + n->posted[1] ? net_next_event(n, slot, 0xff) : NET_NEVER;
    return next == NET_NEVER ? NET_NEVER : next - 1;
}

struct net_lane_state net_lane_state(const struct net *n, uint32_t lane)
{
    const struct net_lane *l = lane_at(n, lane);
    return (struct net_lane_state){.packets = l->count, .out = l->count ? stay_of(n, lane, l->head)->out : 0};
}
