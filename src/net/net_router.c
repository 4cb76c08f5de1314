/* net_router: one cycle of a router that switches flits (for whole packets see net_packet.c).
 *
 *   held ways ────────────────────────────────────┐
 *   switch allocation: who sends a flit           ├─ all decided on the state at the start of the round,
 *   VC allocation: who owns which downstream VC ──┘  then the flits move
 *
 * Both allocators are iSLIP: outputs grant, inputs accept, pointers move only for what was accepted in the
 * first iteration. The order of the phases makes one round one pipeline stage: a VC won in a round lets its
 * packet ask for the switch in the next one, a VC released by a tail can be won in the next one. */
#include "net/net_private.h"

/* ---- who asks for the switch ---- */

/* Worth visiting: the output has something that can go now. */
static inline void out_update(struct net *n, struct net_router *r, struct net_out *o, uint32_t out)
{
    const bool full = o->at_sink && !o->slots;
    if (full)
        net_bit_set(r->sink_full, out);
    else
        net_bit_clear(r->sink_full, out);
    net_out_blocked(n, o, full && o->ready_count && !o->body_count);
    if (full ? o->body_count : o->ready_count) {
        net_bit_set(r->sa_active, out);
        net_bit_set(n->active_routers, r->idx);
    } else {
        net_bit_clear(r->sa_active, out);
    }
}

static inline void set_ready(struct net *n, struct net_router *r, struct net_ivc *q)
{
    struct net_out *o = &n->outs[r->out_base + q->out];
    q->ready = true;
    r->pairs[q->switch_in * r->outs + q->out] |= (uint16_t)(1u << q->place);
    net_bit_set(&r->requests[q->out * r->in_words], q->switch_in);
    o->ready_count++;
    o->body_count = (uint16_t)(o->body_count + !q->at_head);
    out_update(n, r, o, q->out);
}

static inline void clear_ready(struct net *n, struct net_router *r, struct net_ivc *q)
{
    struct net_out *o = &n->outs[r->out_base + q->out];
    uint16_t *pair = &r->pairs[q->switch_in * r->outs + q->out];
    q->ready = false;
    *pair &= (uint16_t) ~(1u << q->place);
    if (!*pair) net_bit_clear(&r->requests[q->out * r->in_words], q->switch_in);
    o->ready_count--;
    o->body_count = (uint16_t)(o->body_count - !q->at_head);
    out_update(n, r, o, q->out);
}

/* Cycle in which the next flit of an active ivc can go, as far as flit and credit are concerned. */
static inline uint64_t can_go_cyc(const struct net *n, const struct net_ivc *q)
{
    const uint64_t flit = net_ring_flit_cyc(n, &q->ring);
    if (q->down_ring == NET_NONE) return flit;
    const uint64_t credit = net_ring_credit_cyc(n, &n->ivcs[q->down_ring].ring);
    return flit > credit ? flit : credit;
}

/* Sets or clears `ready` for the rounds up to cycle `by`; where the time of going on is known, posts a wake.
 */
static inline void update_ready(struct net *n, struct net_router *r, uint32_t ivc, uint64_t by)
{
    struct net_ivc *q = &n->ivcs[ivc];
    if (q->state != NET_IVC_ACTIVE || !q->turn) return;
    const uint64_t cyc = can_go_cyc(n, q);
    if (cyc <= by) {
        if (!q->ready) set_ready(n, r, q);
    } else {
        if (q->ready) clear_ready(n, r, q);
        if (cyc != NET_NEVER) net_post_wake(n, cyc, ivc);
    }
}

static inline void wake(struct net *n, uint32_t ivc, uint64_t now)
{
    struct net_ivc *q = &n->ivcs[ivc];
    q->wake_posted = false;
    if (q->state != NET_IVC_ACTIVE || !q->turn || q->ready) return;
    const uint64_t cyc = can_go_cyc(n, q);
    if (cyc <= now)
        set_ready(n, &n->routers[q->router], q);
    else if (cyc != NET_NEVER)
        net_post_wake(n, cyc, ivc);
}

void net_router_slots(struct net *n, struct net_out *o)
{
    struct net_router *r = &n->routers[o->router];
    out_update(n, r, o, (uint32_t)(o - n->outs) - r->out_base);
}

/* ---- packets at the front of an input VC ---- */

static inline void ask_for_vc(struct net *n, struct net_router *r, uint32_t ivc)
{
    struct net_ivc *q = &n->ivcs[ivc];
    const uint32_t row = q->out * n->sets + q->set;
    q->state = NET_IVC_WAITING;
    net_bit_set(&r->waiting[(size_t)row * r->vc_words], ivc - r->ivc_base);
    r->wait_count[row]++;
    if (n->outs[r->out_base + q->out].free_vcs & n->set_mask[q->set]) {
        net_bit_set(r->va_active, q->out);
        net_bit_set(n->active_routers, r->idx);
    }
}

static inline void step_forward(struct net *n, struct net_router *r, uint32_t ivc)
{
    struct net_ivc *q = &n->ivcs[ivc];
    const uint32_t place = net_ivc_front(n, ivc);
    const struct net_place *p = &n->fifo[place];
    const struct net_input *in = &n->inputs[q->input];
    q->front_left = p->flits;
    q->out = p->out_set / 16;
    q->set = p->out_set % 16;
    q->at_head = true;
    q->turn = true;
    q->state = NET_IVC_BEHIND;
    if (!in->flows || in->flows[p->flow].no_vc == place) ask_for_vc(n, r, ivc);
}

static inline void head_arrives(struct net *n, uint32_t flight, uint32_t ivc)
{
    struct net_ivc *q = &n->ivcs[ivc];
    struct net_router *r = &n->routers[q->router];
    const struct net_input *in = &n->inputs[q->input];
    const struct net_flight *f = &n->flights[flight];
    const uint32_t dst = f->packet.dst;
    const uint32_t place = (ivc << n->fifo_log2) + ((q->fifo_head + q->fifo_count) & n->fifo_mask);
    struct net_place *p = &n->fifo[place];
    p->flight = flight;
    p->flits = (uint16_t)f->flits;
    p->out_set = (uint16_t)(r->route[dst] * 16u + f->packet.cls * n->sets_per_class + r->route_set[dst]);
    q->fifo_count++;
    if (in->flows) {
        p->flow = net_flow_of(in, f->packet.src, dst, f->packet.cls);
        p->flow_next = NET_NONE;
        struct net_flow *flow = &in->flows[p->flow];
        if (flow->tail == NET_NONE)
            flow->head = place;
        else
            n->fifo[flow->tail].flow_next = place;
        flow->tail = place;
        if (flow->no_vc == NET_NONE) flow->no_vc = place;
    }
    if (q->fifo_count == 1) step_forward(n, r, ivc);
}

/* Order: a packet has its VC; the next of the flow may ask for one, if it is at the front. */
static void flow_has_vc(struct net *n, struct net_router *r, const struct net_input *in, uint32_t ivc)
{
    const uint32_t place = net_ivc_front(n, ivc);
    struct net_flow *flow = &in->flows[n->fifo[place].flow];
    n->ivcs[ivc].turn = flow->head == place;
    flow->no_vc = n->fifo[place].flow_next;
    if (flow->no_vc == NET_NONE) return;
    const uint32_t next = flow->no_vc >> n->fifo_log2;
    if (n->ivcs[next].state == NET_IVC_BEHIND && net_ivc_front(n, next) == flow->no_vc)
        ask_for_vc(n, r, next);
}

/* Order: the packet at the front leaves; the next of the flow may send, if it is active. */
static void flow_has_left(struct net *n, struct net_router *r, const struct net_input *in, uint32_t ivc,
                          uint64_t by)
{
    const uint32_t place = net_ivc_front(n, ivc);
    struct net_flow *flow = &in->flows[n->fifo[place].flow];
    DIAG_ASSERT(flow->head == place);
    flow->head = n->fifo[place].flow_next;
    if (flow->head == NET_NONE) {
        flow->tail = NET_NONE;
        return;
    }
    const uint32_t next = flow->head >> n->fifo_log2;
    if (n->ivcs[next].state != NET_IVC_ACTIVE || net_ivc_front(n, next) != flow->head) return;
    n->ivcs[next].turn = true;
    update_ready(n, r, next, by);
}

/* ---- switch allocation ---- */

/* First set bit of m at or after ptr, going round; m is not 0. */
static inline uint32_t first_from(uint64_t m, uint32_t ptr)
{
    const uint64_t after = m >> ptr;
    return after ? ptr + (uint32_t)__builtin_ctzll(after) : (uint32_t)__builtin_ctzll(m);
}

/* VCs of a switch input that ask for an output; heads do not when the sink has no slot. */
static inline uint32_t asking(const struct net *n, const struct net_router *r, uint32_t in, uint32_t out)
{
    uint32_t m = r->pairs[in * r->outs + out];
    if (!net_bit(r->sink_full, out)) return m;
    for (uint32_t p = 0; p < n->group; p++)
        if (n->ivcs[r->ivc_base + in * n->group + p].at_head) m &= ~(1u << p);
    return m;
}

/* Grant: the first switch input at or after the pointer that asks for the output and is not taken. */
static uint32_t grant_of(const struct net *n, const struct net_router *r, uint32_t out)
{
    const uint64_t *req = &r->requests[(size_t)out * r->in_words];
    const uint32_t ptr = r->grant_ptr[out];
    uint32_t w = ptr >> 6;
    uint64_t cut = ~0ull << (ptr & 63);
    for (uint32_t i = 0; i <= r->in_words; i++) {
        for (uint64_t m = req[w] & cut & ~r->taken_in[w]; m; m &= m - 1) {
            const uint32_t in = w << 6 | (uint32_t)__builtin_ctzll(m);
            if (!net_bit(r->sink_full, out) || asking(n, r, in, out)) return in;
        }
        if (++w == r->in_words) w = 0;
        cut = ~0ull;
    }
    return NET_NONE;
}

/* The switch input has accepted; of its VCs that want this output, the one whose turn it is sends. */
static inline void match(struct net *n, struct net_router *r, uint32_t in, uint32_t out, bool first_iteration)
{
    if (first_iteration) {
        r->grant_ptr[out] = (uint16_t)(in + 1u == r->switch_ins ? 0 : in + 1u);
        r->accept_ptr[in] = (uint16_t)(out + 1u == r->outs ? 0 : out + 1u);
    }
    const uint32_t place = first_from(asking(n, r, in, out), r->vc_turn[in]);
    r->vc_turn[in] = (uint16_t)(place + 1 == n->group ? 0 : place + 1);
    r->matches[r->match_count++] = (struct net_match){(uint16_t)out, (uint16_t)(in * n->group + place)};
}

/* One iteration of iSLIP for a router of at most 64 outputs and 64 switch inputs: masks are words. */
static inline uint64_t small_iteration(struct net *n, struct net_router *r, uint64_t outs, uint64_t *taken,
                                       bool first)
{
    const uint64_t *requests = r->requests, full = r->sink_full[0], busy = *taken;
    const uint16_t *grant_ptr = r->grant_ptr, *accept_ptr = r->accept_ptr;
    uint64_t *grants = r->grants, touched = 0, matched = 0;
    for (uint64_t m = outs; m; m &= m - 1) {
        const uint32_t out = (uint32_t)__builtin_ctzll(m);
        const uint64_t asks = requests[out] & ~busy;
        if (!asks) continue;
        uint32_t in = first_from(asks, grant_ptr[out]);
        if (full >> out & 1) {
            in = grant_of(n, r, out);
            if (in == NET_NONE) continue;
        }
        touched |= 1ull << in;
        grants[in] |= 1ull << out;
    }
    for (uint64_t m = touched; m; m &= m - 1) {
        const uint32_t in = (uint32_t)__builtin_ctzll(m);
        const uint32_t out = first_from(grants[in], accept_ptr[in]);
        grants[in] = 0;
        matched |= 1ull << out;
        match(n, r, in, out, first);
    }
    *taken = busy | touched;
    return matched;
}

static void small_switch(struct net *n, struct net_router *r)
{
    const uint64_t held_in = r->taken_in[0];
    uint64_t outs = r->sa_active[0] & ~r->held[0], taken = held_in;
    for (uint32_t i = 0; i < n->spec.iterations && outs; i++) {
        const uint64_t matched = small_iteration(n, r, outs, &taken, i == 0);
        if (!matched) break;
        outs &= ~matched;
        r->taken_in[0] = taken; /* grant_of() looks at it */
    }
    r->taken_in[0] = held_in;
}

/* A switch input keeps the best of the outputs that are offered to it. */
static void offer(struct net_router *r, uint32_t in, uint32_t out, uint32_t *touched)
{
    const uint32_t ptr = r->accept_ptr[in];
    const uint32_t dist = out >= ptr ? out - ptr : out + r->outs - ptr;
    if (r->best_out[in] == NET_NO_PORT)
        r->touched[(*touched)++] = (uint16_t)in;
    else if (dist >= r->best_dist[in])
        return;
    r->best_out[in] = (uint16_t)out;
    r->best_dist[in] = (uint16_t)dist;
}

static void large_iteration(struct net *n, struct net_router *r, bool first)
{
    uint32_t touched = 0;
    for (uint32_t w = 0; w < r->out_words; w++) {
        for (uint64_t m = r->sa_active[w] & ~r->held[w] & ~r->matched_out[w]; m; m &= m - 1) {
            const uint32_t out = w << 6 | (uint32_t)__builtin_ctzll(m), in = grant_of(n, r, out);
            if (in != NET_NONE) offer(r, in, out, &touched);
        }
    }
    for (uint32_t i = 0; i < touched; i++) {
        const uint32_t in = r->touched[i], out = r->best_out[in];
        r->best_out[in] = NET_NO_PORT;
        match(n, r, in, out, first);
        net_bit_set(r->taken_in, in);
        net_bit_set(r->matched_out, out);
    }
}

static void large_switch(struct net *n, struct net_router *r)
{
    for (uint32_t i = 0; i < n->spec.iterations; i++) {
        const uint32_t before = r->match_count;
        large_iteration(n, r, i == 0);
        if (r->match_count == before) break;
    }
    for (uint32_t i = 0; i < r->match_count; i++) {
        net_bit_clear(r->taken_in, r->matches[i].ivc / n->group);
        net_bit_clear(r->matched_out, r->matches[i].out);
    }
}

static void allocate_switch(struct net *n, struct net_router *r)
{
    r->match_count = 0;
    if (r->in_words == 1 && r->out_words == 1)
        small_switch(n, r);
    else
        large_switch(n, r);
}

/* ---- VC allocation ---- */

static inline void take_vc(struct net *n, struct net_router *r, uint32_t out, uint32_t local_ivc, uint32_t vc,
                           uint64_t by)
{
    struct net_out *o = &n->outs[r->out_base + out];
    const uint32_t ivc = r->ivc_base + local_ivc;
    struct net_ivc *q = &n->ivcs[ivc];
    const uint32_t row = out * n->sets + q->set;
    net_bit_clear(&r->waiting[(size_t)row * r->vc_words], local_ivc);
    r->wait_count[row]--;
    q->state = NET_IVC_ACTIVE;
    q->vc = (uint8_t)vc;
    q->down_ring = o->ring == NET_NONE ? NET_NONE : o->ring + vc;
    o->owner[vc] = (uint16_t)local_ivc;
    o->free_vcs &= (uint16_t) ~(1u << vc);
    const struct net_input *in = &n->inputs[q->input];
    if (in->flows) flow_has_vc(n, r, in, ivc);
    update_ready(n, r, ivc, by);
}

/* Accept: a packet that was offered several VCs takes the first at or after its pointer. */
static void accept_vcs(struct net *n, struct net_router *r, uint32_t out, uint32_t offered,
                       const uint16_t *to, bool first_iteration, uint64_t by)
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
        take_vc(n, r, out, ivc, best, by);
    }
}

/* The same for one packet that is offered every VC in `offered`. */
static inline void offer_all(struct net *n, struct net_router *r, uint32_t out, uint32_t offered,
                             uint32_t ivc, bool first_iteration, uint64_t by)
{
    struct net_ivc *q = &n->ivcs[r->ivc_base + ivc];
    const uint32_t vcs = n->spec.vcs, base = out * vcs, ptr = q->accept_ptr;
    const uint32_t vc = first_from(offered, ptr > base && ptr < base + vcs ? ptr - base : 0);
    if (first_iteration) {
        const uint32_t ivcs = r->ins * vcs, next = base + vc + 1;
        n->outs[r->out_base + out].vc_ptr[vc] = (uint16_t)(ivc + 1 == ivcs ? 0 : ivc + 1);
        q->accept_ptr = (uint16_t)(next == r->outs * vcs ? 0 : next);
    }
    take_vc(n, r, out, ivc, vc, by);
}

/* The packets of one VC set that wait for an output; true when some still wait although a VC is free. */
static inline bool allocate_set(struct net *n, struct net_router *r, uint32_t out, uint32_t set, uint64_t by)
{
    const struct net_out *o = &n->outs[r->out_base + out];
    const uint32_t row = out * n->sets + set, words = r->vc_words;
    const uint64_t *waiting = &r->waiting[(size_t)row * words];
    for (uint32_t i = 0; i < n->spec.iterations; i++) {
        const uint32_t offered = o->free_vcs & n->set_mask[set];
        if (!offered || !r->wait_count[row]) return false;
        if (r->wait_count[row] == 1) { /* all free VCs offer themselves to the same packet */
            const uint32_t ivc = net_bit_next(waiting, words, 0);
            offer_all(n, r, out, offered, ivc, i == 0, by);
            continue; /* the next packet of its flow may ask now */
        }
        uint16_t to[NET_MAX_VCS];
        for (uint32_t m = offered; m; m &= m - 1) {
            const uint32_t vc = (uint32_t)__builtin_ctz(m);
            to[vc] = (uint16_t)net_bit_next(waiting, words, o->vc_ptr[vc]);
        }
        accept_vcs(n, r, out, offered, to, i == 0, by);
    }
    return r->wait_count[row] && (o->free_vcs & n->set_mask[set]);
}

static void allocate_vcs_of(struct net *n, struct net_router *r, uint32_t out, uint64_t by)
{
    bool more = false;
    for (uint32_t set = 0; set < n->sets; set++) more |= allocate_set(n, r, out, set, by);
    if (!more) net_bit_clear(r->va_active, out);
}

static bool allocate_vcs(struct net *n, struct net_router *r, uint64_t by)
{
    uint64_t any = 0;
    for (uint32_t w = 0; w < r->out_words; w++) {
        any |= r->va_active[w];
        for (uint64_t m = r->va_active[w]; m; m &= m - 1)
            allocate_vcs_of(n, r, w << 6 | (uint32_t)__builtin_ctzll(m), by);
    }
    return any != 0;
}

/* ---- a flit moves ---- */

/* The tail has left: the downstream VC is free, the next packet of this input VC steps forward. */
static void finish_packet(struct net *n, struct net_router *r, struct net_out *o, uint32_t ivc, uint64_t by)
{
    struct net_ivc *q = &n->ivcs[ivc];
    const uint32_t out = q->out;
    const struct net_input *in = &n->inputs[q->input];
    const uint16_t bit = (uint16_t)(1u << q->vc);
    clear_ready(n, r, q);
    o->free_vcs |= bit;
    for (uint32_t set = 0; set < n->sets; set++)
        if ((n->set_mask[set] & bit) && r->wait_count[out * n->sets + set]) net_bit_set(r->va_active, out);
    q->state = NET_IVC_IDLE;
    if (in->flows) flow_has_left(n, r, in, ivc, by);
    q->fifo_head = (uint16_t)((q->fifo_head + 1u) & n->fifo_mask);
    q->fifo_count--;
    if (q->fifo_count) step_forward(n, r, ivc);
}

/* The flit frees a place in its buffer; who waits for it learns when the credit will be there. */
static inline void return_credit(struct net *n, struct net_ivc *q, uint64_t now)
{
    const uint64_t credit_cyc = now + q->credit_delay;
    const bool was_full = q->ring.flits == n->spec.vc_flits;
    net_ring_take(n, &q->ring, credit_cyc);
    if (q->from_source) {
        net_source_credit(n, q->feeder - n->source_base, q->feeder_vc, credit_cyc);
        return;
    }
    const struct net_out *feeder = &n->outs[q->feeder];
    if (was_full && !(feeder->free_vcs >> q->feeder_vc & 1))
        net_post_wake(n, credit_cyc, n->routers[feeder->router].ivc_base + feeder->owner[q->feeder_vc]);
}

static inline void move_flit(struct net *n, struct net_router *r, struct net_match m, uint64_t now,
                             uint64_t leave_cyc, uint64_t by)
{
    struct net_out *o = &n->outs[r->out_base + m.out];
    const uint32_t ivc = r->ivc_base + m.ivc;
    struct net_ivc *q = &n->ivcs[ivc];
    const bool head = q->at_head;
    const bool tail = --q->front_left == 0;

    if (leave_cyc < o->link_free_cyc) leave_cyc = o->link_free_cyc;
    o->link_free_cyc = leave_cyc + 1;
    o->flits++;
    const uint64_t arrival = leave_cyc + o->arrive_delay;
    if (!o->at_sink) {
        struct net_ivc *down = &n->ivcs[q->down_ring];
        const bool was_empty = down->ring.flits == 0;
        net_ring_put(n, &down->ring, arrival);
        if (head)
            net_post(n, NET_EVENT_HEAD, arrival, (uint64_t)net_ivc_front_flight(n, ivc) << 32 | q->down_ring);
        else if (was_empty)
            net_post_wake(n, arrival, q->down_ring);
    } else {
        if (head) o->slots--;
        if (tail) {
            const uint32_t flight = net_ivc_front_flight(n, ivc);
            n->flights[flight].via_out = r->out_base + m.out;
            n->flights[flight].visible_cyc = arrival;
            net_post(n, NET_EVENT_EJECT, arrival - 1, flight);
        }
        if (q->down_ring != NET_NONE) { /* the sink takes the flit as it comes: only the credit is kept */
            struct net_ring *ring = &n->ivcs[q->down_ring].ring;
            n->times[ring->first + ring->put] = arrival + o->credit_delay;
            ring->put = net_ring_step(n, ring->put);
        }
    }
    if (head) {
        q->at_head = false;
        o->body_count++;
        if (o->at_sink && !o->slots) out_update(n, r, o, m.out); /* the last slot */
    }
    return_credit(n, q, now);
    if (tail)
        finish_packet(n, r, o, ivc, by);
    else if (can_go_cyc(n, q) > by)
        update_ready(n, r, ivc, by);
}

/* ---- held ways ---- */

static uint32_t collect_held(const struct net *n, struct net_router *r)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < r->out_words; w++)
        for (uint64_t m = r->held[w]; m; m &= m - 1) {
            const uint32_t out = w << 6 | (uint32_t)__builtin_ctzll(m);
            r->held_moves[count++] = (struct net_match){(uint16_t)out, n->outs[r->out_base + out].held_ivc};
        }
    return count;
}

/* After the flit that is about to move, has the next one of the packet arrived? */
static bool has_more(const struct net *n, const struct net_ivc *q, uint64_t now)
{
    return q->front_left > 1 && q->ring.flits > 1 &&
           n->times[q->ring.first + net_ring_step(n, q->ring.take)] <= now;
}

static void move_held(struct net *n, struct net_router *r, uint32_t count, uint64_t now, uint64_t leave_cyc,
                      uint64_t by)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct net_match m = r->held_moves[i];
        struct net_out *o = &n->outs[r->out_base + m.out];
        const struct net_ivc *q = &n->ivcs[r->ivc_base + m.ivc];
        const bool goes = q->ready;
        if (!goes || !has_more(n, q, now)) {
            net_bit_clear(r->taken_in, q->switch_in);
            net_bit_clear(r->held, m.out);
            o->held_ivc = NET_NO_PORT;
        }
        if (goes) move_flit(n, r, m, now, leave_cyc, by);
    }
}

static void move_matched(struct net *n, struct net_router *r, uint64_t now, uint64_t leave_cyc, uint64_t by)
{
    for (uint32_t i = 0; i < r->match_count; i++) {
        const struct net_match m = r->matches[i];
        const struct net_ivc *q = &n->ivcs[r->ivc_base + m.ivc];
        if (n->spec.hold && has_more(n, q, now)) {
            n->outs[r->out_base + m.out].held_ivc = m.ivc;
            net_bit_set(r->taken_in, q->switch_in);
            net_bit_set(r->held, m.out);
        }
        move_flit(n, r, m, now, leave_cyc, by);
    }
}

void net_router_events(struct net *n, uint64_t now)
{
    const uint64_t *items;
    uint32_t count = net_events_of(n, NET_EVENT_HEAD, now, &items);
    for (uint32_t i = 0; i < count; i++) head_arrives(n, (uint32_t)(items[i] >> 32), (uint32_t)items[i]);
    count = net_events_of(n, NET_EVENT_WAKE, now, &items);
    for (uint32_t i = 0; i < count; i++) wake(n, (uint32_t)items[i], now);
}

bool net_router_step(struct net *n, struct net_router *r, uint64_t now, uint32_t round)
{
    /* Of the rounds in a cycle, the last puts its flits on the link in the next cycle; what it decides counts
     * from then on, so what arrives by then is there in time. */
    const bool last = round + 1 == n->spec.internal_speedup;
    const uint64_t leave_cyc = now + last, by = now + last;
    const uint32_t held = n->spec.hold ? collect_held(n, r) : 0;
    allocate_switch(n, r);
    const bool vcs = allocate_vcs(n, r, by);
    if (held) move_held(n, r, held, now, leave_cyc, by);
    move_matched(n, r, now, leave_cyc, by);
    return vcs || held || r->match_count;
}
