/* net_packet: routers that switch whole packets (spec.hold): a packet is allocated once and holds its switch
 * input and its output until its tail has gone. Nothing is done per flit; flits are counted, their cycles
 * follow from a few rules:
 *
 *   - a packet of f flits that is granted in cycle t goes in t ... t + f - 1, its tail not before it has
 * arrived and has a place downstream;
 *   - flit number x that is ever sent into a VC of c flits takes the place of flit x - c: it can be sent when
 * that one has left and its credit is back. The VC keeps a log of what leaves when;
 *   - while it is not known when the place of the tail is free (the packet before is stuck, or this one is
 * longer than the buffer), the packet keeps the link: its tail is `pending`.
 *
 *   sender ── enter ──► VC queue ── head arrives ──► asks ── iSLIP ──► grant ──► next VC or sink ── run ends
 *
 * A cycle allocates on what was known at the end of the one before: a packet that comes to the front in t can
 * be granted in t + 1. VC and switch are allocated together: the VC downstream is chosen when the switch is
 * won.
 *
 * The routers are ahead of the network: what they decide on in cycle t is known in the step of t - 2, as a
 * head needs a cycle over the link of its source and a slot two cycles back from its sink. So one step takes
 * a packet from its source through an idle router, and the sink knows its cycle of arrival. A slot x of the
 * wheel holds the routers' events of cycle x and the sources' of cycle x - 1; both belong to step x - 1. The
 * end of a run is no reason for a step while nobody asks for an output. */
#include "net/net_whole.h"

#define AHEAD 2 /* the routers, in cycles */

static inline struct net_stay *stay_at(const struct net *n, const struct net_vc *q, uint32_t nth)
{
    return &q->stays[(q->head + nth) & n->fifo_mask];
}

static inline uint32_t number_of(const struct net *n, const struct net_out *o)
{
    return (uint32_t)(o - n->outs);
}

/* ---- places and credits ---- */

/* Places that are free or will be at a known cycle. */
static inline int32_t places(const struct net_vc *q) { return (int32_t)(q->freed - q->sent); }

/* Cycle in which flit number `flit` of a VC can be sent; its place is known, and the one before is taken. */
static inline uint64_t credit_cyc(const struct net *n, const struct net_vc *q, uint32_t flit)
{
    const struct net_leave *e;
    uint32_t at = q->log_at;
    while ((int32_t)((e = &q->log[at & n->leave_mask])->end - flit) <= 0) at++;
    return e->cyc - (e->end - 1 - flit);
}

/* The same for the next flit. What is before will not be asked for any more. */
static inline uint64_t next_credit_cyc(const struct net *n, struct net_vc *q)
{
    const struct net_leave *e;
    const uint32_t mask = n->leave_mask, sent = q->sent;
    while ((int32_t)((e = &q->log[q->log_at & mask])->end - sent) <= 0) q->log_at++;
    return e->cyc - (e->end - 1 - sent);
}

static void tail_known(struct net *n, struct net_vc *q, uint64_t cyc);

/* Someone waits for a place in the VC, which has one now. */
static void wake_feeder(struct net *n, struct net_vc *q)
{
    uint64_t cyc = next_credit_cyc(n, q);
    if (cyc <= n->clock) cyc = n->clock + 1;
    q->feeder->starved = false;
    if (q->from_source)
        net_post(n, NET_EVENT_SOURCE_WAKE, cyc + 1, number_of(n, q->feeder) - n->source_base);
    else
        net_post(n, NET_EVENT_WAKE, cyc, number_of(n, q->feeder));
}

/* The next `flits` flits of a VC leave, one per cycle, the last in last_cyc; who waits for places learns. */
static inline void leave(struct net *n, struct net_vc *q, uint32_t flits, uint64_t last_cyc)
{
    struct net_leave *e = &q->log[q->log_end++ & n->leave_mask];
    DIAG_ASSERT(q->log_end - q->log_at <= n->leave_mask);
    const bool had_place = places(q) > 0;
    e->end = q->freed += flits;
    e->cyc = last_cyc + q->credit_delay;
    if (__builtin_expect(q->pending, 0) && places(q) >= 0) {
        const uint64_t cyc = credit_cyc(n, q, q->sent - 1);
        tail_known(n, q, cyc > q->tail_due_cyc ? cyc : q->tail_due_cyc);
    }
    if (!q->feeder->starved || places(q) <= 0) return;
    if (q->from_source && had_place) return; /* it waits for another VC */
    wake_feeder(n, q);
}

/* The rest of the front packet leaves, the tail at `last_cyc` at the earliest; returns when it does. */
static uint64_t leave_rest(struct net *n, struct net_vc *q, uint64_t last_cyc)
{
    const struct net_stay *front = stay_at(n, q, 0);
    const uint32_t size = n->spec.vc_flits, left = q->left;
    if (front->tail_cyc != NET_NEVER && front->tail_cyc > last_cyc) last_cyc = front->tail_cyc;
    q->left = 0;
    /* None has left before now: they go one after the other, slower when the places go round too slowly. */
    const bool slow = left > size && size < q->round_trip;
    const uint64_t first_cyc = n->clock + (slow ? left - size + q->round_trip : left) - 1;
    if (first_cyc > last_cyc) last_cyc = first_cyc;
    if (__builtin_expect(slow, 0)) {
        /* the tail comes a round trip after the flit whose place it takes */
        leave(n, q, left - size, last_cyc - q->round_trip);
        leave(n, q, size, last_cyc);
    } else {
        leave(n, q, left, last_cyc);
    }
    DIAG_ASSERT(front->tail_cyc != NET_NEVER);
    if (front->tail_cyc <= last_cyc) return last_cyc;
    /* Leaving let the sender go on, but its tail comes late. */
    q->log[(q->log_end - 1) & n->leave_mask].cyc += front->tail_cyc - last_cyc;
    return front->tail_cyc;
}

/* The same for a packet in [now, last_cyc] whose tail's arrival is known, that is not longer than the VC. */
static inline uint64_t leave_whole(struct net *n, struct net_vc *q, const struct net_stay *front,
                                   uint64_t last_cyc)
{
    if (front->tail_cyc > last_cyc) last_cyc = front->tail_cyc;
    leave(n, q, front->flits, last_cyc);
    return last_cyc;
}

/* ---- who asks for an output ---- */

/* Is it wanted, free, and can it send, as far as is known at the end of cycle seen_cyc? */
static inline void out_update(struct net *n, struct net_out *o, uint64_t seen_cyc)
{
    const bool wanted = o->ready_count && o->held_ivc == NET_NO_PORT;
    const bool full = o->at_sink && wanted && net_whole_full(n, o, seen_cyc);
    if (__builtin_expect(full != o->blocked, 0)) net_out_blocked(n, o, full);
    if (wanted && !full) {
        *o->active |= o->bit;
        net_bit_set(n->active_routers, o->router);
    } else {
        *o->active &= ~o->bit;
    }
}

static inline void ask(struct net *n, struct net_vc *q, uint64_t seen_cyc)
{
    struct net_out *o = &n->outs[stay_at(n, q, 0)->out];
    o->pairs[q->switch_in] |= q->place_bit;
    o->requests[q->in_word] |= q->in_bit;
    n->asking++;
    if (!o->ready_count++)
        out_update(n, o, seen_cyc);
    else if (*o->active & o->bit)
        net_bit_set(n->active_routers, o->router);
}

static inline void ask_no_more(struct net *n, const struct net_vc *q, struct net_out *o)
{
    uint16_t *pair = &o->pairs[q->switch_in];
    *pair &= (uint16_t)~q->place_bit;
    if (!*pair) o->requests[q->in_word] &= ~q->in_bit;
    n->asking--;
    o->ready_count--;
}

/* ---- a packet enters and leaves a VC ---- */

/* The tail of the front packet goes in last_cyc: the next comes to the front. */
static inline void front_goes(struct net *n, struct net_vc *q, uint64_t last_cyc)
{
    if (q->lasts) {
        uint64_t *last = &q->lasts[stay_at(n, q, 0)->flow];
        const uint64_t left = *last - NET_LAST_ONE;
        *last = left >= NET_LAST_ONE ? left : (left & ~NET_LAST_CYC) | last_cyc;
    }
    q->busy_cyc = last_cyc;
    q->head++;
    if (!--q->count) return;
    const uint64_t head_cyc = stay_at(n, q, 0)->head_cyc;
    net_post(n, NET_EVENT_HEAD, head_cyc > last_cyc ? head_cyc : last_cyc, (uint64_t)(q - n->vcs));
}

/* The place of the last packet's tail is known: it is sent in `cyc`. */
static void tail_known(struct net *n, struct net_vc *q, uint64_t cyc)
{
    struct net_out *o = q->feeder;
    struct net_stay *last = stay_at(n, q, q->count - 1u);
    q->pending = false;
    if (q->from_source) {
        const uint32_t source = number_of(n, o) - n->source_base;
        struct net_source *s = &n->sources[source];
        s->tail_cyc = cyc;
        if (s->count > 1 || s->refused) net_packet_tail_wanted(n, source);
    } else {
        struct net_vc *from = &n->vcs[n->routers[o->router].ivc_base + o->held_ivc];
        cyc = leave_rest(n, from, cyc);
        front_goes(n, from, cyc);
        net_post(n, NET_EVENT_RUN_END, cyc, number_of(n, o));
    }
    last->tail_cyc = cyc + o->latency;
}

/* The VC that a packet takes, and its flow there. */
struct choice {
    struct net_vc *vc; /* NULL: there is none, look again in retry_cyc */
    uint64_t retry_cyc;
    uint32_t flow;
};

/* Its head is sent in head_cyc, its tail in due_cyc if there is a place; returns when, or NET_NEVER. */
static inline uint64_t enter(struct net *n, struct net_out *o, struct choice to, uint32_t flight,
                             uint64_t head_cyc, uint64_t due_cyc)
{
    struct net_vc *q = to.vc;
    const struct net_flight *f = &n->flights[flight];
    const struct net_router *r = q->router;
    const uint32_t dst = f->packet.dst, flits = f->flits;
    uint64_t cyc = NET_NEVER;
    if ((int32_t)flits <= places(q)) {
        const struct net_leave *e = &q->log[q->log_at & n->leave_mask];
        cyc = due_cyc; /* surely when its place follows that of the head */
        if (e->end - q->sent < flits) {
            const uint64_t credit = credit_cyc(n, q, q->sent + flits - 1);
            if (credit > cyc) cyc = credit;
        }
    } else {
        q->pending = true;
        q->tail_due_cyc = due_cyc;
    }
    DIAG_ASSERT(q->count <= n->fifo_mask);
    struct net_stay *s = stay_at(n, q, q->count);
    const uint64_t arrives_cyc = head_cyc + o->latency;
    s->head_cyc = arrives_cyc;
    s->tail_cyc = cyc == NET_NEVER ? NET_NEVER : cyc + o->latency;
    s->flight = flight;
    s->flow = to.flow;
    s->out = r->out_base + r->route[dst];
    s->flits = (uint16_t)flits;
    if (n->sets > 1) s->set = (uint8_t)(f->packet.cls * n->sets_per_class + r->route_set[dst]);
    q->sent += flits;
    if (o->lasts) {
        uint64_t *last = &o->lasts[to.flow];
        *last = (*last & ~(15ull << 44)) + ((uint64_t)q->nth << 44 | NET_LAST_ONE);
    }
    if (q->count++) return cyc;
    const uint64_t front_cyc = arrives_cyc > q->busy_cyc ? arrives_cyc : q->busy_cyc;
    if (front_cyc <= n->wheel_cyc)
        ask(n, q, n->wheel_cyc);
    else
        net_post(n, NET_EVENT_HEAD, front_cyc, (uint64_t)(q - n->vcs));
    return cyc;
}

/* A VC for a packet that is sent in `now`. Order: behind the last packet of its flow. Otherwise VCs take
 * turns; one with places for the whole packet is best; on a link that is all_or_none, nothing else will do.
 * Packets whose tail goes after seen_cyc are still there. */
static inline struct choice choose_vc(struct net *n, struct net_out *o, const struct net_flight *f,
                                      uint32_t may, uint64_t now, uint64_t seen_cyc)
{
    const uint32_t wanted = f->flits < n->spec.vc_flits ? f->flits : n->spec.vc_flits;
    struct net_vc *first = &n->vcs[o->to];
    struct choice c = {.retry_cyc = NET_NEVER};
    if (o->lasts) {
        c.flow = o->flow_of_src[f->packet.src] + o->flow_of_dst[f->packet.dst] + f->packet.cls;
        const uint64_t last = o->lasts[c.flow];
        if (last >= NET_LAST_ONE || (last & NET_LAST_CYC) > seen_cyc) may &= 1u << NET_LAST_VC(last);
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
        struct net_vc *q = &first[n->position[v]];
        const int32_t free = places(q);
        if (free <= 0) continue;
        const uint64_t cyc = next_credit_cyc(n, q);
        if (cyc > now) {
            if (cyc < c.retry_cyc) c.retry_cyc = cyc;
            continue;
        }
        if ((uint32_t)free >= wanted) {
            o->last_vc = (uint16_t)v;
            c.vc = q;
            return c;
        }
        if (second == NET_NONE) second = v;
    }
    if (second == NET_NONE || o->all_or_none) return c;
    o->last_vc = (uint16_t)second;
    c.vc = &first[n->position[second]];
    return c;
}

/* ---- links ---- */

static uint64_t not_yet(uint64_t run_cyc, uint32_t flits, uint64_t now)
{
    if (run_cyc > now) return flits;
    return flits > now + 1 - run_cyc ? flits - (now + 1 - run_cyc) : 0;
}

/* Of what was granted, what is on the link before the next step. */
uint64_t net_packet_link_flits(const struct net *n, const struct net_out *o)
{
    const uint64_t now = n->view.next_cyc - 1;
    return o->flits - not_yet(o->run_cyc, o->run_flits, now) - not_yet(o->run_before_cyc, o->run_before, now);
}

/* ---- sources ---- */

/* A source begins to send the first packet of its queue, or is blocked. */
static inline bool start(struct net *n, struct net_source *s, uint32_t source, uint64_t now)
{
    struct net_out *o = &n->outs[n->source_base + source];
    const uint32_t flight = s->queue[s->head].flight;
    const struct net_flight *f = &n->flights[flight];
    /* In a ring, the set depends on the way, which the first router decides: any VC of the class will do. */
    const struct choice c = choose_vc(n, o, f, n->class_order[f->packet.cls], now, now);
    if (!c.vc) {
        if (c.retry_cyc == NET_NEVER)
            o->starved = true;
        else
            net_post(n, NET_EVENT_SOURCE_WAKE, c.retry_cyc + 1, source);
        return false;
    }
    s->sending = true;
    net_run_begins(o, f->flits, now);
    const uint64_t tail_cyc = s->tail_cyc = enter(n, o, c, flight, now, now + f->flits - 1);
    if (tail_cyc == NET_NEVER || (s->count == 1 && !s->refused)) return true;
    if (tail_cyc == now) {
        net_whole_tail(n, source, now);
    } else {
        s->tail_posted = true;
        net_post(n, NET_EVENT_TAIL, tail_cyc + 1, source);
    }
    return true;
}

/* Someone waits for the end of the packet that is being sent. */
void net_packet_tail_wanted(struct net *n, uint32_t source)
{
    struct net_source *s = &n->sources[source];
    if (s->tail_cyc == NET_NEVER || s->tail_posted) return;
    s->tail_posted = true;
    net_post(n, NET_EVENT_TAIL, s->tail_cyc + n->whole_packets, source); /* their slots are a cycle ahead */
    if (n->view.next_cyc > s->tail_cyc) n->view.next_cyc = s->tail_cyc;
}

/* ---- sinks ---- */

bool net_packet_sink_full(const struct net *n, const struct net_out *o)
{
    const struct net_sink *s = &n->sinks[o->to];
    return s->pushed - s->popped == s->capacity || s->slots[s->pushed & s->mask].back_cyc > n->clock;
}

/* ---- events ---- */

/* The tails have gone: switch inputs and outputs are free. */
static inline void runs_end(struct net *n, uint64_t slot_cyc)
{
    const uint64_t *items;
    const uint32_t count = net_events_of(n, NET_EVENT_RUN_END, slot_cyc, &items);
    for (uint32_t i = 0; i < count; i++) {
        struct net_out *o = &n->outs[items[i]];
        struct net_router *r = &n->routers[o->router];
        const struct net_vc *q = &n->vcs[r->ivc_base + o->held_ivc];
        r->taken_in[q->in_word] &= ~q->in_bit;
        o->held_ivc = NET_NO_PORT;
        if (o->ready_count) out_update(n, o, slot_cyc);
        if (r->sa_active[0] || r->out_words > 1) net_bit_set(n->active_routers, r->idx);
    }
}

/* Packets that found no place behind an output ask again. */
static void ask_again(struct net *n, struct net_out *o, uint64_t cyc)
{
    struct net_router *r = &n->routers[o->router];
    uint64_t *stalled = &r->waiting[(size_t)(number_of(n, o) - r->out_base) * n->sets * r->vc_words];
    o->wake_posted = false;
    for (uint32_t w = 0; w < r->vc_words; w++) {
        for (uint64_t m = stalled[w]; m; m &= m - 1)
            ask(n, &n->vcs[r->ivc_base + (w << 6 | (uint32_t)__builtin_ctzll(m))], cyc);
        stalled[w] = 0;
    }
}

/* Ends of runs that nobody waited for; other events of their slots may, after a long sleep, be yet to come.
 */
static void wheel_catch_up(struct net *n, uint64_t until_cyc)
{
    const uint8_t ends = 1u << NET_EVENT_RUN_END;
    uint64_t from = n->wheel_cyc + 1;
    if (!n->posted[1]) return;
    if (until_cyc - from > n->wheel_mask) from = until_cyc - n->wheel_mask;
    for (uint64_t eight = from & ~7ull; eight < until_cyc; eight += 8) {
        uint64_t m = net_slots(n, (uint32_t)eight & n->wheel_mask) & ends * 0x0101010101010101u;
        if (eight < from) m &= ~0ull << (from % 8 * 8);
        for (; m && n->posted[1]; m &= m - 1) {
            const uint64_t c = eight + (uint32_t)__builtin_ctzll(m) / 8;
            if (c >= until_cyc) return;
            runs_end(n, c);
            n->slot_busy[(uint32_t)c & n->wheel_mask] &= (uint8_t)~ends;
        }
    }
}

static inline void router_events(struct net *n, uint64_t cyc, uint32_t kinds)
{
    const uint64_t *items;
    uint32_t count;
    if (kinds & 1u << NET_EVENT_SLOTS) {
        count = net_events_of(n, NET_EVENT_SLOTS, cyc, &items);
        for (uint32_t i = 0; i < count; i++) {
            struct net_out *o = &n->outs[items[i]];
            n->sinks[o->to].back_posted = false;
            out_update(n, o, cyc);
        }
    }
    if (kinds & 1u << NET_EVENT_RUN_END) runs_end(n, cyc);
    if (kinds & 1u << NET_EVENT_HEAD) {
        count = net_events_of(n, NET_EVENT_HEAD, cyc, &items);
        for (uint32_t i = 0; i < count; i++) ask(n, &n->vcs[items[i]], cyc);
    }
    if (kinds & 1u << NET_EVENT_WAKE) {
        count = net_events_of(n, NET_EVENT_WAKE, cyc, &items);
        for (uint32_t i = 0; i < count; i++) ask_again(n, &n->outs[items[i]], cyc);
    }
}

/* ---- allocation ---- */

/* First set bit of m at or after ptr, going round; m is not 0. */
static inline uint32_t first_from(uint64_t m, uint32_t ptr)
{
    const uint64_t after = m >> ptr << ptr;
    return (uint32_t)__builtin_ctzll(after ? after : m);
}

/* There is no place downstream: the packet asks again when there may be. */
static void stall(struct net *n, struct net_router *r, struct net_out *o, struct net_vc *q,
                  uint64_t retry_cyc)
{
    const uint32_t out = number_of(n, o);
    net_bit_set(&r->waiting[(size_t)(out - r->out_base) * n->sets * r->vc_words], q->local);
    ask_no_more(n, q, o);
    out_update(n, o, n->clock - 1);
    if (retry_cyc == NET_NEVER) {
        o->starved = true;
    } else if (!o->wake_posted) {
        o->wake_posted = true;
        net_post(n, NET_EVENT_WAKE, retry_cyc, out);
    }
}

/* The packet at the front of a VC has won its way. */
static inline bool grant(struct net *n, struct net_router *r, struct net_out *o, struct net_vc *q)
{
    const uint64_t now = n->clock;
    const struct net_stay *front = stay_at(n, q, 0);
    const uint32_t flight = front->flight, flits = front->flits, size = n->spec.vc_flits;
    const bool shorter = flits <= size && front->tail_cyc != NET_NEVER;
    struct choice to = {0};
    if (!o->at_sink) {
        to = choose_vc(n, o, &n->flights[flight], n->set_order[front->set], now, now - 1);
        if (!to.vc) {
            stall(n, r, o, q, to.retry_cyc);
            return false;
        }
    }
    ask_no_more(n, q, o);
    *o->active &= ~o->bit;
    r->taken_in[q->in_word] |= q->in_bit;
    o->held_ivc = q->local;
    net_run_begins(o, flits, now);
    q->left = (uint16_t)flits;
    uint64_t last_cyc = now + flits - 1;
    if (flits > size && size < q->round_trip)
        last_cyc = now + (flits - 1) % size + (uint64_t)((flits - 1) / size) * q->round_trip;
    if (!to.vc) {
        last_cyc = shorter ? leave_whole(n, q, front, last_cyc) : leave_rest(n, q, last_cyc);
        net_whole_push(n, o->to, flight, last_cyc + o->latency);
    } else if ((int32_t)flits <= places(to.vc)) {
        const uint64_t credit = credit_cyc(n, to.vc, to.vc->sent + flits - 1);
        if (credit > last_cyc) last_cyc = credit;
        last_cyc = shorter ? leave_whole(n, q, front, last_cyc) : leave_rest(n, q, last_cyc);
        last_cyc = enter(n, o, to, flight, now, last_cyc);
    } else { /* the tail waits for a place: the way is held until that is known */
        const uint32_t known = (uint32_t)places(to.vc);
        q->left = (uint16_t)(flits - known);
        enter(n, o, to, flight, now, last_cyc);
        leave(n, q, known, now + known - 1);
        return true;
    }
    front_goes(n, q, last_cyc);
    if (last_cyc == now)
        r->ends[r->end_count++] = number_of(n, o);
    else
        net_post(n, NET_EVENT_RUN_END, last_cyc, number_of(n, o));
    return true;
}

/* Grant: the first switch input at or after the pointer that asks for the output and is free. */
static inline uint32_t granted_input(const struct net_router *r, const struct net_out *o)
{
    const uint64_t *req = o->requests, *taken = r->taken_in;
    const uint32_t ptr = o->grant_ptr, words = r->in_words;
    if (words == 1) {
        const uint64_t m = req[0] & ~taken[0];
        return m ? first_from(m, ptr) : NET_NONE;
    }
    uint32_t w = ptr >> 6;
    uint64_t m = req[w] & ~taken[w] & ~0ull << (ptr & 63);
    for (uint32_t i = 0; !m && i < words; i++) {
        if (++w == words) w = 0;
        m = req[w] & ~taken[w];
    }
    return m ? w << 6 | (uint32_t)__builtin_ctzll(m) : NET_NONE;
}

/* One iteration of iSLIP; what is matched goes at once, as it excludes only itself. */
static inline bool iterate(struct net *n, struct net_router *r, bool first)
{
    struct net_out *outs = &n->outs[r->out_base];
    struct net_switch_in *ins = r->switch_in;
    uint16_t *touched = r->touched;
    const uint32_t out_count = r->outs, in_count = r->switch_ins, group = n->group;
    uint32_t count = 0;
    for (uint32_t w = 0; w < r->out_words; w++) {
        for (uint64_t m = r->sa_active[w]; m; m &= m - 1) {
            const uint32_t out = w << 6 | (uint32_t)__builtin_ctzll(m), in = granted_input(r, &outs[out]);
            if (in == NET_NONE) continue;
            /* Accept: the first at or after its pointer of the outputs that are offered to it. */
            struct net_switch_in *s = &ins[in];
            const uint32_t ptr = s->accept_ptr, dist = out >= ptr ? out - ptr : out + out_count - ptr;
            if (s->best_out == NET_NO_PORT)
                touched[count++] = (uint16_t)in;
            else if (dist >= s->best_dist)
                continue;
            s->best_out = (uint16_t)out;
            s->best_dist = (uint16_t)dist;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t in = touched[i], out = ins[in].best_out;
        struct net_out *o = &outs[out];
        const uint32_t place = first_from(o->pairs[in], ins[in].vc_turn);
        ins[in].best_out = NET_NO_PORT;
        if (!grant(n, r, o, &n->vcs[r->ivc_base + in * group + place])) continue;
        ins[in].vc_turn = (uint16_t)(place + 1 == group ? 0 : place + 1);
        if (!first) continue;
        o->grant_ptr = (uint16_t)(in + 1 == in_count ? 0 : in + 1);
        ins[in].accept_ptr = (uint16_t)(out + 1 == out_count ? 0 : out + 1);
    }
    return count != 0;
}

/* Allocates one cycle of a router; true when there may be something left for the next. */
static bool allocate(struct net *n, struct net_router *r)
{
    bool any = false;
    for (uint32_t i = 0; i < n->spec.iterations; i++) {
        if (!iterate(n, r, i == 0)) break;
        any = true;
    }
    if (!any) return false;
    for (uint32_t i = 0; i < r->end_count; i++) { /* one flit: as runs_end() */
        struct net_out *o = &n->outs[r->ends[i]];
        const struct net_vc *q = &n->vcs[r->ivc_base + o->held_ivc];
        r->taken_in[q->in_word] &= ~q->in_bit;
        o->held_ivc = NET_NO_PORT;
        if (o->ready_count) out_update(n, o, n->clock);
    }
    r->end_count = 0;
    for (uint32_t w = 0; w < r->out_words; w++)
        if (r->sa_active[w]) return true;
    return false;
}

__attribute__((noinline)) static bool routers_allocate(struct net *n)
{
    bool any = false;
    for (uint32_t w = 0; w < n->active_words; w++) {
        uint64_t left = 0, m = n->active_routers[w];
        for (; m; m &= m - 1) {
            const uint32_t i = (uint32_t)__builtin_ctzll(m);
            left |= (uint64_t)allocate(n, &n->routers[w << 6 | i]) << i;
        }
        n->active_routers[w] = left;
        any |= left != 0;
    }
    return any;
}

/* ---- the step ---- */

/* The first slot after `done` that asks for a step, or NET_NEVER. */
static uint64_t next_slot(const struct net *n, uint64_t done)
{
    if (!(n->posted[0] + (n->asking ? n->posted[1] : 0))) return NET_NEVER;
    const uint8_t kinds = (uint8_t)(n->asking ? 0xff : ~(1u << NET_EVENT_RUN_END));
    return net_next_event(n, done, kinds);
}

uint64_t net_packet_step(struct net *n, uint64_t now)
{
    const uint64_t slot = now + 1;
    const uint64_t *items;
    if (n->wheel_cyc + 1 != slot) wheel_catch_up(n, slot);
    n->wheel_cyc = n->clock = slot;
    uint8_t *busy = &n->slot_busy[(uint32_t)slot & n->wheel_mask];
    const uint32_t kinds = *busy;
    if (kinds) router_events(n, slot, kinds);
    if (kinds & 1u << NET_EVENT_SOURCE_WAKE) net_source_wakes(n, slot);
    bool again = net_whole_start(n, now, start);
    if (kinds & 1u << NET_EVENT_TAIL) {
        const uint32_t count = net_events_of(n, NET_EVENT_TAIL, slot, &items);
        for (uint32_t i = 0; i < count; i++) net_whole_tail(n, (uint32_t)items[i], now);
        again = true;
    }
    if (kinds & 1u << NET_EVENT_EJECT) {
        const uint32_t count = net_events_of(n, NET_EVENT_EJECT, slot, &items);
        for (uint32_t i = 0; i < count; i++) n->wiring.arrived(n->wiring.ctx, (uint32_t)items[i], slot);
    }
    *busy = 0;
    n->clock = now + AHEAD;
    uint64_t active = 0;
    for (uint32_t w = 0; w < n->active_words; w++) active |= n->active_routers[w];
    if (active) again |= routers_allocate(n);
    if (again) return now + 1;
    const uint64_t next = next_slot(n, slot);
    return next == NET_NEVER ? NET_NEVER : next - 1;
}
