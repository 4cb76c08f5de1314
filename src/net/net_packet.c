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
 * won. */
#include "net/net_private.h"

static inline uint32_t latency(const struct net_out *o)
{
    return o->arrive_delay + (uint32_t)(o->router != NET_NONE);
}

static inline struct net_stay *stay_at(const struct net *n, uint32_t vc, uint32_t nth)
{
    return &n->stays[((size_t)vc << n->fifo_log2) + ((n->vcs[vc].head + nth) & n->fifo_mask)];
}

/* ---- places and credits ---- */

/* Cycle in which flit number `flit` of a VC can be sent, NET_NEVER while that is not known. */
static inline uint64_t credit_cyc(const struct net *n, uint32_t vc, uint64_t flit)
{
    const struct net_vc *q = &n->vcs[vc];
    if (flit < n->spec.vc_flits) return 0;
    const uint64_t idx = flit - n->spec.vc_flits;
    if (idx >= q->gone) return NET_NEVER;
    const struct net_leave *log = &n->leaves[(size_t)vc << n->leave_log2];
    uint32_t at = q->log_head;
    while (log[at & n->leave_mask].end <= idx) at++;
    return log[at & n->leave_mask].base + idx + q->credit_delay;
}

static void tail_known(struct net *n, uint32_t vc, uint64_t cyc);

/* The next `flits` flits of a VC leave, one per cycle, the last in last_cyc; who waits for places learns. */
static inline void leave(struct net *n, uint32_t vc, uint32_t flits, uint64_t last_cyc)
{
    struct net_vc *q = &n->vcs[vc];
    struct net_leave *log = &n->leaves[(size_t)vc << n->leave_log2];
    while (q->log_head != q->log_end && log[q->log_head & n->leave_mask].end + n->spec.vc_flits <= q->sent)
        q->log_head++;
    DIAG_ASSERT(q->log_end - q->log_head <= n->leave_mask);
    const bool had_place = q->sent < q->gone + n->spec.vc_flits;
    q->gone += flits;
    log[q->log_end++ & n->leave_mask] = (struct net_leave){q->gone, last_cyc + 1 - q->gone};
    if (q->pending) {
        const uint64_t cyc = credit_cyc(n, vc, q->sent - 1);
        if (cyc != NET_NEVER) tail_known(n, vc, cyc > q->tail_due_cyc ? cyc : q->tail_due_cyc);
    }
    struct net_out *o = &n->outs[q->feeder];
    if (!o->starved) return;
    uint64_t cyc = credit_cyc(n, vc, q->sent);
    if (cyc == NET_NEVER) return;
    if (q->from_source && had_place) return; /* it waits for another VC */
    if (cyc <= n->stepped_cyc) cyc = n->stepped_cyc + 1;
    o->starved = false;
    if (q->from_source)
        net_post(n, NET_EVENT_SOURCE_WAKE, cyc, q->feeder - n->source_base);
    else
        net_post(n, NET_EVENT_WAKE, cyc, q->feeder);
}

/* The rest of the front packet leaves, the tail at `last_cyc` at the earliest; returns when it does. */
static uint64_t leave_rest(struct net *n, uint32_t vc, uint64_t last_cyc)
{
    struct net_vc *q = &n->vcs[vc];
    const uint32_t size = n->spec.vc_flits, left = q->left;
    const uint64_t arrives_cyc = stay_at(n, vc, 0)->tail_cyc;
    if (arrives_cyc != NET_NEVER && arrives_cyc > last_cyc) last_cyc = arrives_cyc;
    q->left = 0;
    /* None has left before now: they go one after the other, slower when the places go round too slowly. */
    const bool slow = left > size && size < q->round_trip;
    const uint64_t first_cyc = n->stepped_cyc + (slow ? left - size + q->round_trip : left) - 1;
    if (first_cyc > last_cyc) last_cyc = first_cyc;
    if (slow) {
        /* the tail comes a round trip after the flit whose place it takes */
        leave(n, vc, left - size, last_cyc - q->round_trip);
        leave(n, vc, size, last_cyc);
    } else {
        leave(n, vc, left, last_cyc);
    }
    const uint64_t tail_cyc = stay_at(n, vc, 0)->tail_cyc;
    DIAG_ASSERT(tail_cyc != NET_NEVER);
    if (tail_cyc <= last_cyc) return last_cyc;
    /* Leaving let the sender go on, but its tail comes late. */
    n->leaves[((size_t)vc << n->leave_log2) + ((q->log_end - 1) & n->leave_mask)].base += tail_cyc - last_cyc;
    return tail_cyc;
}

/* The place of the last packet's tail is known: it is sent in `cyc`. */
static void tail_known(struct net *n, uint32_t vc, uint64_t cyc)
{
    struct net_vc *q = &n->vcs[vc];
    struct net_out *o = &n->outs[q->feeder];
    q->pending = false;
    if (q->from_source) {
        net_post(n, NET_EVENT_TAIL, cyc, q->feeder - n->source_base);
    } else {
        cyc = leave_rest(n, n->routers[o->router].ivc_base + o->held_ivc, cyc);
        net_post(n, NET_EVENT_RUN_END, cyc, q->feeder);
    }
    stay_at(n, vc, q->count - 1u)->tail_cyc = cyc + latency(o);
}

/* ---- a packet enters a VC ---- */

/* Its head is sent in head_cyc, its tail in due_cyc if there is a place; returns when, or NET_NEVER. */
static inline uint64_t enter(struct net *n, uint32_t vc, uint32_t flight, uint64_t head_cyc, uint64_t due_cyc)
{
    struct net_vc *q = &n->vcs[vc];
    const struct net_flight *f = &n->flights[flight];
    const struct net_router *r = &n->routers[q->router];
    const struct net_out *o = &n->outs[q->feeder];
    const uint32_t dst = f->packet.dst;
    const uint64_t credit = credit_cyc(n, vc, q->sent + f->flits - 1);
    DIAG_ASSERT(q->count <= n->fifo_mask);
    struct net_stay *s = stay_at(n, vc, q->count);
    s->flight = flight;
    s->flits = (uint16_t)f->flits;
    s->out = r->route[dst];
    s->set = (uint8_t)(f->packet.cls * n->sets_per_class + r->route_set[dst]);
    s->head_cyc = head_cyc + latency(o);
    q->sent += f->flits;
    if (!q->count++) net_post(n, NET_EVENT_HEAD, s->head_cyc, vc);
    const struct net_input *in = &n->inputs[q->input];
    if (in->lasts) {
        s->flow = net_flow_of(in, f->packet.src, dst, f->packet.cls);
        in->lasts[s->flow].vc = (uint16_t)(vc - o->to);
        in->lasts[s->flow].count++;
    }
    if (credit == NET_NEVER) {
        q->pending = true;
        q->tail_due_cyc = due_cyc;
        s->tail_cyc = NET_NEVER;
        return NET_NEVER;
    }
    const uint64_t cyc = credit > due_cyc ? credit : due_cyc;
    s->tail_cyc = cyc + latency(o);
    return cyc;
}

/* A VC for a packet that is sent in `now`. Order: behind the last packet of its flow. Otherwise VCs take
 * turns; one with places for the whole packet is best. In a ring nothing else will do: a packet that stops
 * half way would block the link for the other set of VCs. When there is none, `retry_cyc` tells when to look
 * again. */
static inline uint32_t choose_vc(struct net *n, struct net_out *o, const struct net_flight *f, uint32_t may,
                                 uint64_t now, uint64_t *retry_cyc)
{
    const struct net_input *in = &n->inputs[n->vcs[o->to].input];
    const bool whole = o->router != NET_NONE && n->spec.topology == NET_RING;
    const uint32_t vcs = n->spec.vcs, wanted = f->flits < n->spec.vc_flits ? f->flits : n->spec.vc_flits;
    *retry_cyc = NET_NEVER;
    if (in->lasts) {
        const struct net_last *last =
            &in->lasts[net_flow_of(in, f->packet.src, f->packet.dst, f->packet.cls)];
        if (last->count) may &= 1u << last->vc;
    }
    uint32_t second = NET_NONE, v = o->last_vc;
    for (uint32_t i = 0; i < vcs; i++) {
        if (++v >= vcs) v = 0;
        const uint32_t p = n->position[v], vc = o->to + p;
        if (!(may >> p & 1)) continue;
        const uint64_t sent = n->vcs[vc].sent, first = credit_cyc(n, vc, sent);
        if (first > now) {
            if (first < *retry_cyc) *retry_cyc = first;
            continue;
        }
        if (sent + wanted <= n->vcs[vc].gone + n->spec.vc_flits) {
            o->last_vc = (uint16_t)v;
            return vc;
        }
        if (second == NET_NONE) second = v;
    }
    if (second == NET_NONE || whole) return NET_NONE;
    o->last_vc = (uint16_t)second;
    return o->to + n->position[second];
}

bool net_packet_start(struct net *n, uint32_t source, uint64_t now)
{
    struct net_source *s = &n->sources[source];
    struct net_out *o = &n->outs[n->source_base + source];
    const struct net_queued *p = &n->source_queue[(size_t)source * n->spec.source_packets + s->head];
    /* In a ring, the set depends on the way, which the first router decides: any VC of the class will do. */
    uint32_t may = n->set_mask[p->cls * n->sets_per_class];
    if (n->sets_per_class == 2) may |= n->set_mask[p->cls * 2 + 1];
    uint64_t retry_cyc;
    const uint32_t vc = choose_vc(n, o, &n->flights[p->flight], may, now, &retry_cyc);
    if (vc == NET_NONE) {
        if (retry_cyc == NET_NEVER)
            o->starved = true;
        else
            net_post(n, NET_EVENT_SOURCE_WAKE, retry_cyc, source);
        return false;
    }
    s->sending = true;
    o->run_cyc = now;
    o->run_flits = p->flits;
    o->flits += p->flits;
    const uint64_t tail_cyc = enter(n, vc, p->flight, now, now + p->flits - 1);
    if (tail_cyc == now)
        net_source_tail(n, source, now);
    else if (tail_cyc != NET_NEVER)
        net_post(n, NET_EVENT_TAIL, tail_cyc, source);
    return true;
}

/* ---- who asks for an output ---- */

static inline void out_update(struct net *n, struct net_router *r, uint32_t out)
{
    struct net_out *o = &n->outs[r->out_base + out];
    const bool wanted = o->ready_count && o->held_ivc == NET_NO_PORT, full = o->at_sink && !o->slots;
    net_out_blocked(n, o, wanted && full);
    if (wanted && !full) {
        net_bit_set(r->sa_active, out);
        net_bit_set(n->active_routers, r->idx);
    } else {
        net_bit_clear(r->sa_active, out);
    }
}

static inline void ask(struct net *n, uint32_t vc)
{
    struct net_vc *q = &n->vcs[vc];
    struct net_router *r = &n->routers[q->router];
    const uint32_t out = stay_at(n, vc, 0)->out;
    r->pairs[q->switch_in * r->outs + out] |= (uint16_t)(1u << q->place);
    net_bit_set(&r->requests[(size_t)out * r->in_words], q->switch_in);
    n->outs[r->out_base + out].ready_count++;
    out_update(n, r, out);
}

static inline void ask_no_more(struct net *n, struct net_router *r, const struct net_vc *q, uint32_t out)
{
    uint16_t *pair = &r->pairs[q->switch_in * r->outs + out];
    *pair &= (uint16_t) ~(1u << q->place);
    if (!*pair) net_bit_clear(&r->requests[(size_t)out * r->in_words], q->switch_in);
    n->outs[r->out_base + out].ready_count--;
}

void net_packet_slots(struct net *n, struct net_out *o)
{
    struct net_router *r = &n->routers[o->router];
    out_update(n, r, (uint32_t)(o - n->outs) - r->out_base);
}

/* ---- events ---- */

/* The tail has gone: switch input and output are free, the next packet of the VC comes to the front. */
static inline void run_ends(struct net *n, uint32_t out, uint64_t now)
{
    struct net_out *o = &n->outs[out];
    struct net_router *r = &n->routers[o->router];
    const uint32_t vc = r->ivc_base + o->held_ivc;
    struct net_vc *q = &n->vcs[vc];
    const struct net_input *in = &n->inputs[q->input];
    if (in->lasts) in->lasts[stay_at(n, vc, 0)->flow].count--;
    q->head++;
    if (--q->count) {
        const uint64_t head_cyc = stay_at(n, vc, 0)->head_cyc;
        if (head_cyc <= now)
            ask(n, vc);
        else
            net_post(n, NET_EVENT_HEAD, head_cyc, vc);
    }
    o->held_ivc = NET_NO_PORT;
    net_bit_clear(r->taken_in, q->switch_in);
    net_bit_set(n->active_routers, r->idx);
    out_update(n, r, out - r->out_base);
}

/* Packets that found no place behind an output ask again. */
static void ask_again(struct net *n, uint32_t out)
{
    struct net_router *r = &n->routers[n->outs[out].router];
    uint64_t *stalled = &r->waiting[(size_t)(out - r->out_base) * n->sets * r->vc_words];
    n->outs[out].wake_posted = false;
    for (uint32_t w = 0; w < r->vc_words; w++) {
        for (uint64_t m = stalled[w]; m; m &= m - 1)
            ask(n, r->ivc_base + (w << 6 | (uint32_t)__builtin_ctzll(m)));
        stalled[w] = 0;
    }
}

void net_packet_events(struct net *n, uint64_t now)
{
    const uint64_t *items;
    uint32_t count = net_events_of(n, NET_EVENT_RUN_END, now, &items);
    for (uint32_t i = 0; i < count; i++) run_ends(n, (uint32_t)items[i], now);
    count = net_events_of(n, NET_EVENT_HEAD, now, &items);
    for (uint32_t i = 0; i < count; i++) ask(n, (uint32_t)items[i]);
    count = net_events_of(n, NET_EVENT_WAKE, now, &items);
    for (uint32_t i = 0; i < count; i++) ask_again(n, (uint32_t)items[i]);
}

/* ---- allocation ---- */

/* First set bit of m at or after ptr, going round; m is not 0. */
static inline uint32_t first_from(uint64_t m, uint32_t ptr)
{
    const uint64_t after = m >> ptr;
    return after ? ptr + (uint32_t)__builtin_ctzll(after) : (uint32_t)__builtin_ctzll(m);
}

/* There is no place downstream: the packet asks again when there may be. */
static void stall(struct net *n, struct net_router *r, uint32_t out, uint32_t local_vc, uint64_t retry_cyc)
{
    struct net_out *o = &n->outs[r->out_base + out];
    net_bit_set(&r->waiting[(size_t)out * n->sets * r->vc_words], local_vc);
    ask_no_more(n, r, &n->vcs[r->ivc_base + local_vc], out);
    out_update(n, r, out);
    if (retry_cyc == NET_NEVER) {
        o->starved = true;
    } else if (!o->wake_posted) {
        o->wake_posted = true;
        net_post(n, NET_EVENT_WAKE, retry_cyc, r->out_base + out);
    }
}

/* The packet at the front of a VC has won its way. */
static inline bool grant(struct net *n, struct net_router *r, uint32_t out, uint32_t local_vc, uint64_t now)
{
    const uint32_t vc = r->ivc_base + local_vc;
    struct net_vc *q = &n->vcs[vc];
    struct net_out *o = &n->outs[r->out_base + out];
    const struct net_stay *front = stay_at(n, vc, 0);
    const uint32_t flight = front->flight, flits = front->flits;
    uint32_t next = NET_NONE, known = flits;
    if (!o->at_sink) {
        uint64_t retry_cyc;
        next = choose_vc(n, o, &n->flights[flight], n->set_mask[front->set], now, &retry_cyc);
        if (next == NET_NONE) {
            stall(n, r, out, local_vc, retry_cyc);
            return false;
        }
        const struct net_vc *d = &n->vcs[next];
        const uint64_t places = d->gone + n->spec.vc_flits - d->sent;
        if (places < known) known = (uint32_t)places;
    }
    ask_no_more(n, r, q, out);
    net_bit_clear(r->sa_active, out);
    net_bit_set(r->taken_in, q->switch_in);
    o->held_ivc = (uint16_t)local_vc;
    o->run_cyc = now;
    o->run_flits = (uint16_t)flits;
    o->flits += flits;
    q->left = (uint16_t)flits;
    uint64_t last_cyc = now + flits - 1;
    if (flits > n->spec.vc_flits && n->spec.vc_flits < q->round_trip)
        last_cyc =
            now + (flits - 1) % n->spec.vc_flits + (uint64_t)((flits - 1) / n->spec.vc_flits) * q->round_trip;
    if (o->at_sink) {
        last_cyc = leave_rest(n, vc, last_cyc);
        o->slots--;
        n->flights[flight].via_out = r->out_base + out;
        n->flights[flight].visible_cyc = last_cyc + latency(o);
        net_post(n, NET_EVENT_EJECT, last_cyc + latency(o) - 1, flight);
        net_post(n, NET_EVENT_RUN_END, last_cyc, r->out_base + out);
    } else if (known == flits) {
        const uint64_t credit = credit_cyc(n, next, n->vcs[next].sent + flits - 1);
        last_cyc = leave_rest(n, vc, credit > last_cyc ? credit : last_cyc);
        last_cyc = enter(n, next, flight, now, last_cyc);
        net_post(n, NET_EVENT_RUN_END, last_cyc, r->out_base + out);
    } else { /* the tail waits for a place: the way is held until that is known */
        q->left = (uint16_t)(q->left - known);
        enter(n, next, flight, now, last_cyc);
        leave(n, vc, known, now + known - 1);
    }
    return true;
}

/* Grant: the first switch input at or after the pointer that asks for the output and is free. */
static inline uint32_t granted_input(const struct net_router *r, uint32_t out)
{
    const uint64_t *req = &r->requests[(size_t)out * r->in_words];
    const uint32_t ptr = r->grant_ptr[out];
    if (r->in_words == 1) {
        const uint64_t m = req[0] & ~r->taken_in[0];
        return m ? first_from(m, ptr) : NET_NONE;
    }
    uint32_t w = ptr >> 6;
    uint64_t cut = ~0ull << (ptr & 63);
    for (uint32_t i = 0; i <= r->in_words; i++) {
        const uint64_t m = req[w] & cut & ~r->taken_in[w];
        if (m) return w << 6 | (uint32_t)__builtin_ctzll(m);
        if (++w == r->in_words) w = 0;
        cut = ~0ull;
    }
    return NET_NONE;
}

/* Accept: a switch input keeps the first at or after its pointer of the outputs that are offered to it. */
static inline uint32_t offer(struct net_router *r, uint32_t in, uint32_t out, uint32_t touched)
{
    const uint32_t ptr = r->accept_ptr[in];
    const uint32_t dist = out >= ptr ? out - ptr : out + r->outs - ptr;
    if (r->best_out[in] == NET_NO_PORT)
        r->touched[touched++] = (uint16_t)in;
    else if (dist >= r->best_dist[in])
        return touched;
    r->best_out[in] = (uint16_t)out;
    r->best_dist[in] = (uint16_t)dist;
    return touched;
}

/* One iteration of iSLIP; what is matched goes at once, as it excludes only itself. */
static bool iterate(struct net *n, struct net_router *r, bool first, uint64_t now)
{
    uint32_t touched = 0;
    for (uint32_t w = 0; w < r->out_words; w++) {
        for (uint64_t m = r->sa_active[w]; m; m &= m - 1) {
            const uint32_t out = w << 6 | (uint32_t)__builtin_ctzll(m), in = granted_input(r, out);
            if (in != NET_NONE) touched = offer(r, in, out, touched);
        }
    }
    for (uint32_t i = 0; i < touched; i++) {
        const uint32_t in = r->touched[i], out = r->best_out[in];
        const uint32_t place = first_from(r->pairs[in * r->outs + out], r->vc_turn[in]);
        r->best_out[in] = NET_NO_PORT;
        if (!grant(n, r, out, in * n->group + place, now)) continue;
        r->vc_turn[in] = (uint16_t)(place + 1 == n->group ? 0 : place + 1);
        if (!first) continue;
        r->grant_ptr[out] = (uint16_t)(in + 1u == r->switch_ins ? 0 : in + 1u);
        r->accept_ptr[in] = (uint16_t)(out + 1u == r->outs ? 0 : out + 1u);
    }
    return touched != 0;
}

bool net_packet_step(struct net *n, struct net_router *r, uint64_t now)
{
    bool any = false;
    for (uint32_t i = 0; i < n->spec.iterations; i++) {
        if (!iterate(n, r, i == 0, now)) break;
        any = true;
    }
    return any;
}
