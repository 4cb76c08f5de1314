/* net_router: one cycle of a router.
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
    if (o->at_sink && !o->slots ? o->body_count : o->ready_count) {
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

void net_router_wake(struct net *n, uint32_t ivc, uint64_t now)
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

static void ask_for_vc(struct net *n, struct net_router *r, uint32_t ivc)
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

static void step_forward(struct net *n, struct net_router *r, uint32_t ivc)
{
    struct net_ivc *q = &n->ivcs[ivc];
    const struct net_flight *f = &n->flights[net_ivc_front_flight(n, ivc)];
    const struct net_input *in = &n->inputs[q->input];
    const uint32_t dst = f->packet.dst;
    q->front_left = (uint16_t)f->flits;
    q->out = r->route[dst];
    q->set = (uint8_t)(f->packet.cls * n->sets_per_class + r->route_set[dst]);
    q->at_head = true;
    q->turn = true;
    q->state = NET_IVC_BEHIND;
    if (!in->flows || net_flow_of(n, in, &f->packet)->no_vc == net_ivc_front(n, ivc)) ask_for_vc(n, r, ivc);
}

void net_router_head(struct net *n, uint32_t flight, uint32_t ivc)
{
    struct net_ivc *q = &n->ivcs[ivc];
    const struct net_input *in = &n->inputs[q->input];
    const uint32_t place = (ivc << n->fifo_log2) + ((q->fifo_head + q->fifo_count) & n->fifo_mask);
    n->fifo[place] = flight;
    q->fifo_count++;
    if (in->flows) {
        struct net_flow *flow = net_flow_of(n, in, &n->flights[flight].packet);
        n->flow_next[place] = NET_NONE;
        if (flow->tail == NET_NONE)
            flow->head = place;
        else
            n->flow_next[flow->tail] = place;
        flow->tail = place;
        if (flow->no_vc == NET_NONE) flow->no_vc = place;
    }
    if (q->fifo_count == 1) step_forward(n, &n->routers[q->router], ivc);
}

/* Order: a packet has its VC; the next of the flow may ask for one, if it is at the front. */
static void flow_has_vc(struct net *n, struct net_router *r, const struct net_input *in, uint32_t ivc)
{
    const uint32_t place = net_ivc_front(n, ivc);
    struct net_flow *flow = net_flow_of(n, in, &n->flights[n->fifo[place]].packet);
    n->ivcs[ivc].turn = flow->head == place;
    flow->no_vc = n->flow_next[place];
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
    struct net_flow *flow = net_flow_of(n, in, &n->flights[n->fifo[place]].packet);
    DIAG_ASSERT(flow->head == place);
    flow->head = n->flow_next[place];
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

/* First switch input at or after the pointer that asks for the output and is not taken. */
static inline uint32_t grant_of(const struct net_router *r, const struct net_out *o, uint32_t out,
                                bool some_taken)
{
    const uint64_t *req = &r->requests[out * r->in_words];
    if (r->in_words == 1) {
        const uint64_t m = some_taken ? req[0] & ~r->taken_in[0] : req[0];
        if (!m) return NET_NONE;
        const uint64_t after = m >> o->grant_ptr;
        return after ? o->grant_ptr + (uint32_t)__builtin_ctzll(after) : (uint32_t)__builtin_ctzll(m);
    }
    uint32_t w = o->grant_ptr >> 6;
    uint64_t cut = ~0ull << (o->grant_ptr & 63);
    for (uint32_t i = 0; i <= r->in_words; i++) {
        uint64_t m = req[w] & cut;
        if (some_taken) m &= ~r->taken_in[w];
        if (m) return w << 6 | (uint32_t)__builtin_ctzll(m);
        if (++w == r->in_words) w = 0;
        cut = ~0ull;
    }
    return NET_NONE;
}

/* VCs of a switch input that ask for an output; heads do not when the sink has no slot. */
static uint32_t asking(const struct net *n, const struct net_router *r, const struct net_out *o, uint32_t in,
                       uint32_t out)
{
    uint32_t m = r->pairs[in * r->outs + out];
    if (!o->at_sink || o->slots) return m;
    for (uint32_t p = 0; p < n->group; p++)
        if (n->ivcs[r->ivc_base + in * n->group + p].at_head) m &= ~(1u << p);
    return m;
}

/* The same when the sink has no slot: only packets that have begun may go on. */
static uint32_t grant_of_full_sink(const struct net *n, const struct net_router *r, const struct net_out *o,
                                   uint32_t out, bool some_taken)
{
    for (uint32_t i = 0; i < r->switch_ins; i++) {
        const uint32_t in = (o->grant_ptr + i) % r->switch_ins;
        if (!net_bit(&r->requests[out * r->in_words], in) || (some_taken && net_bit(r->taken_in, in)))
            continue;
        if (asking(n, r, o, in, out)) return in;
    }
    return NET_NONE;
}

/* A switch input keeps the best of the outputs that are offered to it. */
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

/* The switch input accepts; of its VCs that want this output, the one whose turn it is sends. */
static inline void accept(struct net *n, struct net_router *r, uint32_t in, uint32_t out)
{
    const struct net_out *o = &n->outs[r->out_base + out];
    const uint32_t vcs = asking(n, r, o, in, out), turn = r->vc_turn[in];
    const uint32_t after = vcs >> turn;
    const uint32_t place = after ? turn + (uint32_t)__builtin_ctz(after) : (uint32_t)__builtin_ctz(vcs);
    r->vc_turn[in] = (uint16_t)(place + 1 == n->group ? 0 : place + 1);
    r->matches[r->match_count++] = (struct net_match){(uint16_t)out, (uint16_t)(in * n->group + place)};
}

static inline void switch_iteration(struct net *n, struct net_router *r, uint32_t iteration, bool some_taken)
{
    uint32_t touched = 0;
    for (uint32_t w = 0; w < r->out_words; w++) {
        uint64_t m = r->sa_active[w] & ~r->held[w];
        if (iteration) m &= ~r->matched_out[w];
        for (; m; m &= m - 1) {
            const uint32_t out = w << 6 | (uint32_t)__builtin_ctzll(m);
            const struct net_out *o = &n->outs[r->out_base + out];
            const uint32_t in = o->at_sink && !o->slots ? grant_of_full_sink(n, r, o, out, some_taken)
                                                        : grant_of(r, o, out, some_taken);
            if (in != NET_NONE) offer(r, in, out, &touched);
        }
    }
    for (uint32_t i = 0; i < touched; i++) {
        const uint32_t in = r->touched[i], out = r->best_out[in];
        r->best_out[in] = NET_NO_PORT;
        if (!iteration) {
            n->outs[r->out_base + out].grant_ptr = (uint16_t)(in + 1 == r->switch_ins ? 0 : in + 1);
            r->accept_ptr[in] = (uint16_t)(out + 1 == r->outs ? 0 : out + 1);
        }
        accept(n, r, in, out);
        if (n->spec.iterations > 1) {
            net_bit_set(r->taken_in, in);
            net_bit_set(r->matched_out, out);
        }
    }
}

static void allocate_switch(struct net *n, struct net_router *r)
{
    r->match_count = 0;
    if (n->spec.iterations == 1 && !n->spec.hold) {
        switch_iteration(n, r, 0, false);
        return;
    }
    for (uint32_t i = 0; i < n->spec.iterations; i++) {
        const uint32_t before = r->match_count;
        switch_iteration(n, r, i, true);
        if (r->match_count == before) break;
    }
    if (n->spec.iterations == 1) return;
    for (uint32_t i = 0; i < r->match_count; i++) {
        net_bit_clear(r->taken_in, r->matches[i].ivc / n->group);
        net_bit_clear(r->matched_out, r->matches[i].out);
    }
}

/* ---- VC allocation ---- */

static void take_vc(struct net *n, struct net_router *r, uint32_t out, uint32_t local_ivc, uint32_t vc,
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

static void allocate_vcs_of(struct net *n, struct net_router *r, uint32_t out, uint64_t by)
{
    struct net_out *o = &n->outs[r->out_base + out];
    bool more = false;
    for (uint32_t set = 0; set < n->sets; set++) {
        const uint32_t row = out * n->sets + set;
        const uint64_t *waiting = &r->waiting[(size_t)row * r->vc_words];
        for (uint32_t i = 0; i < n->spec.iterations && r->wait_count[row]; i++) {
            uint16_t to[NET_MAX_VCS];
            const uint32_t offered = o->free_vcs & n->set_mask[set];
            if (!offered) break;
            for (uint32_t m = offered; m; m &= m - 1) {
                const uint32_t vc = (uint32_t)__builtin_ctz(m);
                to[vc] = (uint16_t)net_bit_next(waiting, r->vc_words, o->vc_ptr[vc]);
            }
            accept_vcs(n, r, out, offered, to, i == 0, by);
        }
        more |= r->wait_count[row] && (o->free_vcs & n->set_mask[set]);
    }
    if (!more) net_bit_clear(r->va_active, out);
}

static void allocate_vcs(struct net *n, struct net_router *r, uint64_t by)
{
    for (uint32_t w = 0; w < r->out_words; w++)
        for (uint64_t m = r->va_active[w]; m; m &= m - 1)
            allocate_vcs_of(n, r, w << 6 | (uint32_t)__builtin_ctzll(m), by);
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
    const struct net_out *feeder = &n->outs[q->feeder];
    const uint64_t credit_cyc = now + feeder->credit_delay;
    const bool was_full = q->ring.flits == n->spec.vc_flits;
    net_ring_take(n, &q->ring, credit_cyc);
    if (feeder->router == NET_NONE) {
        net_source_credit(n, q->feeder - n->source_base, q->feeder_vc, credit_cyc);
    } else if (was_full && !(feeder->free_vcs >> q->feeder_vc & 1)) {
        const uint32_t waiter = n->routers[feeder->router].ivc_base + feeder->owner[q->feeder_vc];
        net_post_wake(n, credit_cyc, waiter);
    }
}

static inline void move_flit(struct net *n, struct net_router *r, struct net_match match, uint64_t now,
                             uint64_t leave_cyc, uint64_t by)
{
    struct net_out *o = &n->outs[r->out_base + match.out];
    const uint32_t ivc = r->ivc_base + match.ivc;
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
            net_post(n, &n->heads, arrival, (uint64_t)net_ivc_front_flight(n, ivc) << 32 | q->down_ring);
        else if (was_empty)
            net_post_wake(n, arrival, q->down_ring);
    } else {
        if (head) o->slots--;
        if (tail) {
            const uint32_t flight = net_ivc_front_flight(n, ivc);
            n->flights[flight].via_out = r->out_base + match.out;
            n->flights[flight].visible_cyc = arrival;
            net_post(n, &n->ejects, arrival - 1, flight);
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
        if (o->at_sink && !o->slots) out_update(n, r, o, match.out);
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
        const struct net_match match = r->held_moves[i];
        struct net_out *o = &n->outs[r->out_base + match.out];
        const struct net_ivc *q = &n->ivcs[r->ivc_base + match.ivc];
        const bool goes = q->ready;
        if (!goes || !has_more(n, q, now)) {
            net_bit_clear(r->taken_in, q->switch_in);
            net_bit_clear(r->held, match.out);
            o->held_ivc = NET_NO_PORT;
        }
        if (goes) move_flit(n, r, match, now, leave_cyc, by);
    }
}

static void move_matched(struct net *n, struct net_router *r, uint64_t now, uint64_t leave_cyc, uint64_t by)
{
    for (uint32_t i = 0; i < r->match_count; i++) {
        const struct net_match match = r->matches[i];
        const struct net_ivc *q = &n->ivcs[r->ivc_base + match.ivc];
        if (n->spec.hold && has_more(n, q, now)) {
            n->outs[r->out_base + match.out].held_ivc = match.ivc;
            net_bit_set(r->taken_in, q->switch_in);
            net_bit_set(r->held, match.out);
        }
        move_flit(n, r, match, now, leave_cyc, by);
    }
}

void net_router_step(struct net *n, struct net_router *r, uint64_t now, uint32_t round)
{
    /* Of the rounds in a cycle, the last puts its flits on the link in the next cycle; what it decides counts
     * from then on, so what arrives by then is there in time. */
    const bool last = round + 1 == n->spec.internal_speedup;
    const uint64_t leave_cyc = now + last, by = now + last;
    const uint32_t held = n->spec.hold ? collect_held(n, r) : 0;
    allocate_switch(n, r);
    allocate_vcs(n, r, by);
    if (held) move_held(n, r, held, now, leave_cyc, by);
    move_matched(n, r, now, leave_cyc, by);
}
