/* net_router: one cycle of a router.
 *
 *   held ways ─┐
 *   switch allocation (who sends a flit) ─┐ all decided on the state at the start of the round,
 *   VC allocation (who owns which downstream VC) ─┘ then the flits move
 *
 * Both allocators are iSLIP: outputs grant, inputs accept, pointers move only for what was accepted in the
 * first iteration. The order of the phases makes one round one pipeline stage: a VC won in a round lets its
 * packet ask for the switch in the next one, a VC released by a tail can be won in the next one. */
#include "net/net_private.h"

/* ---- queues of an input VC ---- */

static inline uint32_t ivc_front_flight(const struct net *n, uint32_t ivc)
{
    const struct net_ivc *q = &n->ivcs[ivc];
    return n->fifo[((size_t)ivc << n->fifo_log2) + q->fifo_head];
}

/* A new packet stands at the front of an input VC: it asks for a downstream VC. */
void net_ivc_front(struct net *n, struct net_router *r, uint32_t local_ivc)
{
    const uint32_t ivc = r->ivc_base + local_ivc;
    struct net_ivc *q = &n->ivcs[ivc];
    const struct net_flight *f = &n->flights[ivc_front_flight(n, ivc)];
    const uint32_t dst = f->packet.dst;
    q->front_left = (uint16_t)f->flits;
    q->out = r->route[dst];
    q->set = (uint8_t)(f->packet.cls * n->set_count_ring + r->route_set[dst]);
    q->state = NET_IVC_WAIT;
    q->at_head = true;
    const uint32_t row = q->out * n->sets + q->set;
    net_bit_set(&r->waiting[(size_t)row * r->vc_words], local_ivc);
    r->wait_count[row]++;
    if (n->outs[r->out_base + q->out].free_vcs & n->set_mask[q->set]) {
        net_bit_set(r->va_active, q->out);
        net_router_wake(n, q->router);
    }
}

/* ---- switch allocation ---- */

/* VCs of an output whose owners may ask for the switch. */
static inline uint32_t out_requests(const struct net_out *o)
{
    return o->at_sink && !o->slots ? o->ready_vcs & (uint32_t)~o->head_vcs : o->ready_vcs;
}

static inline bool in_taken(const struct net_router *r, uint32_t in)
{
    return net_bit(r->held_in, in) || net_bit(r->matched_in, in);
}

/* Grant: the output offers itself to one switch input, the first at or after its pointer. */
static inline uint32_t grant_of(const struct net_router *r, const struct net_out *o, bool some_taken)
{
    uint32_t best = NET_NONE, best_dist = UINT32_MAX;
    for (uint32_t m = out_requests(o); m; m &= m - 1) {
        const uint32_t in = o->owner_in[__builtin_ctz(m)];
        if (some_taken && in_taken(r, in)) continue;
        const uint32_t dist = in >= o->grant_ptr ? in - o->grant_ptr : in + r->switch_ins - o->grant_ptr;
        if (dist < best_dist) best_dist = dist, best = in;
    }
    return best;
}

/* A switch input keeps the best of the outputs offered to it. */
static inline void offer(struct net_router *r, uint32_t in, uint32_t out, uint32_t *touched)
{
    const uint32_t ptr = r->accept_ptr[in];
    const uint32_t dist = out >= ptr ? out - ptr : out + r->outs - ptr;
    if (r->best_out[in] == NET_NO_PORT) {
        r->touched[(*touched)++] = (uint16_t)in;
    } else if (dist >= r->best_dist[in]) {
        return;
    }
    r->best_out[in] = (uint16_t)out;
    r->best_dist[in] = (uint16_t)dist;
}

/* Among the VCs of this switch input that want this output, the one whose turn it is. */
static uint32_t vc_for(const struct net *n, struct net_router *r, const struct net_out *o, uint32_t in)
{
    const uint32_t first = in * n->group, turn = r->vc_turn[in];
    uint32_t best = 0, best_dist = UINT32_MAX;
    for (uint32_t m = out_requests(o); m; m &= m - 1) {
        const uint32_t w = (uint32_t)__builtin_ctz(m);
        if (o->owner_in[w] != in) continue;
        const uint32_t place = o->owner[w] - first;
        const uint32_t dist = place >= turn ? place - turn : place + n->group - turn;
        if (dist < best_dist) best_dist = dist, best = w;
    }
    const uint32_t place = o->owner[best] - first + 1;
    r->vc_turn[in] = (uint16_t)(place == n->group ? 0 : place);
    return best;
}

static void switch_iteration(struct net *n, struct net_router *r, uint32_t iteration, bool some_taken)
{
    uint32_t touched = 0;
    for (uint32_t w = 0; w < r->out_words; w++) {
        uint64_t m = r->sa_active[w] & ~r->held[w];
        if (iteration) m &= ~r->matched_out[w];
        for (; m; m &= m - 1) {
            const uint32_t out = w << 6 | (uint32_t)__builtin_ctzll(m);
            const uint32_t in = grant_of(r, &n->outs[r->out_base + out], some_taken);
            if (in != NET_NONE) offer(r, in, out, &touched);
        }
    }
    for (uint32_t i = 0; i < touched; i++) {
        const uint32_t in = r->touched[i], out = r->best_out[in];
        struct net_out *o = &n->outs[r->out_base + out];
        r->best_out[in] = NET_NO_PORT;
        if (!iteration) {
            o->grant_ptr = (uint16_t)(in + 1 == r->switch_ins ? 0 : in + 1);
            r->accept_ptr[in] = (uint16_t)(out + 1 == r->outs ? 0 : out + 1);
        }
        r->matches[r->match_count++] = (struct net_match){(uint16_t)out, (uint16_t)vc_for(n, r, o, in)};
        if (n->spec.iterations > 1) {
            net_bit_set(r->matched_in, in);
            net_bit_set(r->matched_out, out);
        }
    }
}

static void allocate_switch(struct net *n, struct net_router *r)
{
    r->match_count = 0;
    switch_iteration(n, r, 0, n->spec.hold);
    if (n->spec.iterations == 1) return;
    for (uint32_t i = 1; i < n->spec.iterations; i++) {
        const uint32_t before = r->match_count;
        switch_iteration(n, r, i, true);
        if (r->match_count == before) break;
    }
    for (uint32_t i = 0; i < r->match_count; i++) {
        const struct net_out *o = &n->outs[r->out_base + r->matches[i].out];
        net_bit_clear(r->matched_in, o->owner_in[r->matches[i].vc]);
        net_bit_clear(r->matched_out, r->matches[i].out);
    }
}

/* ---- VC allocation ---- */

/* A packet whose flow has packets in the downstream buffer must follow them into their VC. */
static inline bool may_use_vc(const struct net *n, const struct net_router *r, uint32_t out,
                              uint32_t local_ivc, uint32_t vc)
{
    const struct net_flow *flows = n->flows[r->out_base + out];
    if (!flows) return true;
    const struct net_flight *f = &n->flights[ivc_front_flight(n, r->ivc_base + local_ivc)];
    const struct net_flow *flow = &flows[net_flow_key(n, &f->packet)];
    return !flow->count || flow->vc == vc;
}

static uint32_t vc_grant(const struct net *n, const struct net_router *r, uint32_t out,
                         const uint64_t *waiting, uint32_t vc)
{
    const uint32_t from = n->outs[r->out_base + out].vc_ptr[vc];
    const uint32_t first = net_bit_next(waiting, r->vc_words, from);
    if (!n->flows[r->out_base + out]) return first;
    for (uint32_t ivc = first; ivc != NET_NONE;) {
        if (may_use_vc(n, r, out, ivc, vc)) return ivc;
        const uint32_t after = ivc + 1u == r->vc_words * 64u ? 0 : ivc + 1;
        ivc = net_bit_next(waiting, r->vc_words, after);
        if (ivc == first) break;
    }
    return NET_NONE;
}

static void take_vc(struct net *n, struct net_router *r, uint32_t out, uint32_t local_ivc, uint32_t vc)
{
    struct net_out *o = &n->outs[r->out_base + out];
    struct net_ivc *q = &n->ivcs[r->ivc_base + local_ivc];
    const uint32_t row = out * n->sets + q->set;
    net_bit_clear(&r->waiting[(size_t)row * r->vc_words], local_ivc);
    r->wait_count[row]--;
    q->state = NET_IVC_ACTIVE;
    q->vc = (uint8_t)vc;
    const uint16_t bit = (uint16_t)(1u << vc);
    o->owner[vc] = (uint16_t)local_ivc;
    o->owner_in[vc] = (uint16_t)(local_ivc / n->group);
    o->free_vcs &= (uint16_t)~bit;
    o->head_vcs |= bit;
    if (o->credit[vc]) o->ready_vcs |= bit;
    struct net_flow *flows = n->flows[r->out_base + out];
    if (flows) {
        const struct net_flight *f = &n->flights[ivc_front_flight(n, r->ivc_base + local_ivc)];
        struct net_flow *flow = &flows[net_flow_key(n, &f->packet)];
        flow->count++;
        flow->vc = (uint16_t)vc;
    }
}

/* Accept: a packet that was offered several VCs takes the first at or after its pointer. */
static void accept_vcs(struct net *n, struct net_router *r, uint32_t out, uint32_t offered,
                       const uint16_t *to, bool first_iteration)
{
    struct net_out *o = &n->outs[r->out_base + out];
    const uint32_t vcs = n->spec.vcs, all = r->outs * vcs;
    while (offered) {
        const uint32_t ivc = to[__builtin_ctz(offered)];
        struct net_ivc *q = &n->ivcs[r->ivc_base + ivc];
        uint32_t best = 0, best_dist = UINT32_MAX;
        for (uint32_t m = offered; m; m &= m - 1) {
            const uint32_t w = (uint32_t)__builtin_ctz(m);
            if (to[w] != ivc) continue;
            offered &= ~(1u << w);
            const uint32_t at = out * vcs + w;
            const uint32_t dist = at >= q->accept_ptr ? at - q->accept_ptr : at + all - q->accept_ptr;
            if (dist < best_dist) best_dist = dist, best = w;
        }
        if (first_iteration) {
            const uint32_t ivcs = r->ins * vcs, next = out * vcs + best + 1;
            o->vc_ptr[best] = (uint16_t)(ivc + 1 == ivcs ? 0 : ivc + 1);
            q->accept_ptr = (uint16_t)(next == all ? 0 : next);
        }
        take_vc(n, r, out, ivc, best);
    }
}

static void allocate_vcs_of(struct net *n, struct net_router *r, uint32_t out)
{
    struct net_out *o = &n->outs[r->out_base + out];
    bool more = false;
    for (uint32_t set = 0; set < n->sets; set++) {
        const uint32_t row = out * n->sets + set;
        const uint64_t *waiting = &r->waiting[(size_t)row * r->vc_words];
        for (uint32_t i = 0; i < n->spec.iterations && r->wait_count[row]; i++) {
            uint16_t to[NET_MAX_VCS];
            uint32_t offered = 0;
            for (uint32_t m = o->free_vcs & n->set_mask[set]; m; m &= m - 1) {
                const uint32_t vc = (uint32_t)__builtin_ctz(m);
                const uint32_t ivc = vc_grant(n, r, out, waiting, vc);
                if (ivc == NET_NONE) continue;
                to[vc] = (uint16_t)ivc;
                offered |= 1u << vc;
            }
            if (!offered) break;
            accept_vcs(n, r, out, offered, to, i == 0);
        }
        more |= r->wait_count[row] && (o->free_vcs & n->set_mask[set]);
    }
    if (!more) net_bit_clear(r->va_active, out);
    net_out_update(n, o);
}

static void allocate_vcs(struct net *n, struct net_router *r)
{
    for (uint32_t w = 0; w < r->out_words; w++)
        for (uint64_t m = r->va_active[w]; m; m &= m - 1)
            allocate_vcs_of(n, r, w << 6 | (uint32_t)__builtin_ctzll(m));
}

/* ---- a flit moves ---- */

static void release_hold(struct net_router *r, struct net_out *o, uint32_t out)
{
    net_bit_clear(r->held_in, o->held_by);
    net_bit_clear(r->held, out);
    o->held_by = NET_NO_PORT;
}

/* The tail has left: the downstream VC is free, the next packet of this input VC steps forward. */
static void finish_packet(struct net *n, struct net_router *r, struct net_out *o, uint32_t out,
                          uint32_t local_ivc)
{
    struct net_ivc *q = &n->ivcs[r->ivc_base + local_ivc];
    struct net_flow *flows = n->flows[q->feeder_vc / n->spec.vcs];
    if (flows) {
        const struct net_flight *f = &n->flights[ivc_front_flight(n, r->ivc_base + local_ivc)];
        flows[net_flow_key(n, &f->packet)].count--;
    }
    const uint16_t bit = (uint16_t)(1u << q->vc);
    o->free_vcs |= bit;
    o->ready_vcs &= (uint16_t)~bit;
    for (uint32_t set = 0; set < n->sets; set++)
        if ((n->set_mask[set] & bit) && r->wait_count[out * n->sets + set]) net_bit_set(r->va_active, out);
    q->fifo_head = (uint16_t)((q->fifo_head + 1u) & n->fifo_mask);
    q->fifo_count--;
    q->state = NET_IVC_IDLE;
    if (q->present) net_ivc_front(n, r, local_ivc);
}

static void move_flit(struct net *n, struct net_router *r, struct net_match match, uint64_t now,
                      uint64_t leave_cyc)
{
    struct net_out *o = &n->outs[r->out_base + match.out];
    const uint32_t local_ivc = o->owner[match.vc], ivc = r->ivc_base + local_ivc;
    struct net_ivc *q = &n->ivcs[ivc];
    const uint16_t bit = (uint16_t)(1u << match.vc);
    const uint32_t flight = ivc_front_flight(n, ivc);
    q->present--;
    q->front_left--;
    const bool tail = q->front_left == 0;

    if (leave_cyc < o->link_free_cyc) leave_cyc = o->link_free_cyc;
    o->link_free_cyc = leave_cyc + 1;
    o->flits++;
    const uint64_t arrival = leave_cyc + o->arrive_delay;
    if (!o->at_sink) {
        net_post_arrival(n, arrival, o->to + match.vc, q->at_head ? flight + 1 : 0);
    } else {
        if (q->at_head) o->slots--;
        if (tail) {
            n->flights[flight].via_out = (uint32_t)(o - n->outs);
            net_post_eject(n, arrival, flight);
        }
        if (o->counts_credits)
            net_post_credit(n, arrival + o->credit_delay, (uint32_t)(o - n->outs) * n->spec.vcs + match.vc);
    }
    if (o->counts_credits && !--o->credit[match.vc]) o->ready_vcs &= (uint16_t)~bit;
    const uint32_t feeder_vc = q->feeder_vc;
    net_post_credit(n, now + n->outs[feeder_vc / n->spec.vcs].credit_delay, feeder_vc);

    q->at_head = false;
    o->head_vcs &= (uint16_t)~bit;
    if (tail)
        finish_packet(n, r, o, match.out, local_ivc);
    else if (!q->present)
        o->ready_vcs &= (uint16_t)~bit;
    net_out_update(n, o);
}

/* ---- held ways ---- */

static uint32_t collect_held(struct net *n, struct net_router *r, struct net_match *moves)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < r->out_words; w++)
        for (uint64_t m = r->held[w]; m; m &= m - 1) {
            const uint32_t out = w << 6 | (uint32_t)__builtin_ctzll(m);
            moves[count++] = (struct net_match){(uint16_t)out, n->outs[r->out_base + out].held_vc};
        }
    return count;
}

static bool owner_has_more(const struct net *n, const struct net_router *r, const struct net_out *o,
                           uint32_t vc)
{
    const struct net_ivc *q = &n->ivcs[r->ivc_base + o->owner[vc]];
    return q->present > 1 && q->front_left > 1;
}

static void move_held(struct net *n, struct net_router *r, uint32_t count, uint64_t now, uint64_t leave_cyc)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct net_match match = r->held_moves[i];
        struct net_out *o = &n->outs[r->out_base + match.out];
        const bool goes = o->ready_vcs >> match.vc & 1;
        if (!goes || !owner_has_more(n, r, o, match.vc)) release_hold(r, o, match.out);
        if (goes)
            move_flit(n, r, match, now, leave_cyc);
        else
            net_out_update(n, o);
    }
}

static void move_matched(struct net *n, struct net_router *r, uint64_t now, uint64_t leave_cyc)
{
    for (uint32_t i = 0; i < r->match_count; i++) {
        const struct net_match match = r->matches[i];
        if (n->spec.hold) {
            struct net_out *o = &n->outs[r->out_base + match.out];
            if (owner_has_more(n, r, o, match.vc)) {
                o->held_by = o->owner_in[match.vc];
                o->held_vc = match.vc;
                net_bit_set(r->held_in, o->held_by);
                net_bit_set(r->held, match.out);
            }
        }
        move_flit(n, r, match, now, leave_cyc);
    }
}

void net_router_step(struct net *n, struct net_router *r, uint64_t now, uint32_t round)
{
    const uint64_t leave_cyc = now + (round + 1 == n->spec.internal_speedup);
    const uint32_t held = n->spec.hold ? collect_held(n, r, r->held_moves) : 0;
    allocate_switch(n, r);
    allocate_vcs(n, r);
    if (held) move_held(n, r, held, now, leave_cyc);
    move_matched(n, r, now, leave_cyc);
}
