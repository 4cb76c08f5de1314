/* net_nodes: see net_nodes.h.
 *
 *   step: packets reach the end of their link ─► idle links start packets ─► next cycle with something to do
 *
 * Arrivals come first, so that a packet that changes links starts in the cycle in which its head arrives. */
#include "net/net_nodes.h"

#include <stdio.h>

enum { TRANSIT, INJECTED, GROUPS };

/* ---- time ---- */

static inline struct net_moment moment_after(const struct net_nodes *nn, struct net_moment m, uint32_t bytes)
{
    const uint64_t part = m.part + bytes * nn->rate_cycles;
    return (struct net_moment){m.cyc + part / nn->rate_bytes, part % nn->rate_bytes};
}

static inline uint64_t moment_ceil(struct net_moment m) { return m.cyc + (m.part != 0); }

static inline void wake_all(struct net_nodes *nn, uint64_t cyc)
{
    if (cyc >= nn->next_cyc) return;
    nn->next_cyc = cyc;
    for (uint32_t c = 0; c < nn->classes; c++) nn->nets[c]->view.next_cyc = cyc;
}

static inline void wake_start(struct net_nodes *nn, uint32_t wire, uint64_t cyc)
{
    struct net_wire *const w = &nn->wires[wire];
    if (cyc >= w->start_cyc) return;
    w->start_cyc = cyc;
    net_bit_set(nn->active, wire);
    wake_all(nn, cyc);
}

/* ---- lists of packets ---- */

static inline void list_append(struct net *n, struct net_list *l, uint32_t flight)
{
    n->flights[flight].next = NET_NONE;
    if (l->count++)
        n->flights[l->last].next = flight;
    else
        l->first = flight;
    l->last = flight;
}

static inline uint32_t list_take(const struct net *n, struct net_list *l)
{
    const uint32_t flight = l->first;
    l->first = n->flights[flight].next;
    l->count--;
    return flight;
}

/* ---- credits ---- */

static inline uint32_t buffer_of(uint32_t cls, uint32_t vc) { return cls * 2 + vc; }

/* The buffer has `bytes` more room for its sender from `cyc` on. Packets of one buffer leave over several
 * links, so a later packet may return its credit earlier: the ring stays sorted. */
static void credit_return(struct net_nodes *nn, uint32_t wire, uint32_t buffer, uint64_t cyc, uint32_t bytes)
{
    struct net_wire *const w = &nn->wires[wire];
    struct net_buffer *const b = &w->buffers[buffer];
    b->taken_bytes -= bytes;
    b->held_sum += bytes * cyc;
    DIAG_ASSERT(b->count < b->capacity);
    const uint32_t mask = b->capacity - 1;
    uint32_t at = b->head + b->count++;
    for (; at != b->head && b->credits[(at - 1) & mask].cyc > cyc; at--)
        b->credits[at & mask] = b->credits[(at - 1) & mask];
    b->credits[at & mask] = (struct net_credit){cyc, bytes};
    for (uint32_t c = 0; c < nn->classes; c++)
        if (w->waiting[c][TRANSIT] | w->waiting[c][INJECTED]) wake_start(nn, wire, cyc);
}

/* A packet of the link starts and ends its transmission. The credit returns at best when the packet has left
 * the buffer again, two latencies later. */
static inline void credit_take(struct net_wire *w, uint32_t buffer, uint64_t start_cyc, uint64_t end_cyc,
                               uint32_t bytes)
{
    struct net_buffer *const b = &w->buffers[buffer];
    b->free_bytes -= bytes;
    b->taken_bytes += bytes;
    b->held_sum -= bytes * start_cyc;
    b->flight_sum += bytes * (end_cyc - start_cyc + 2 * w->latency_cyc);
}

/* First cycle in which the buffer has room for a packet, as far as is known. */
static inline uint64_t credit_cyc(struct net_buffer *b, uint32_t bytes, uint64_t now)
{
    const uint32_t mask = b->capacity - 1;
    while (b->count && b->credits[b->head & mask].cyc <= now) {
        b->free_bytes += b->credits[b->head++ & mask].bytes;
        b->count--;
    }
    if (bytes <= b->free_bytes) return now;
    uint32_t free_bytes = b->free_bytes;
    for (uint32_t k = 0; k < b->count; k++) {
        const struct net_credit *const c = &b->credits[(b->head + k) & mask];
        free_bytes += c->bytes;
        if (bytes <= free_bytes) return c->cyc;
    }
    return NET_NEVER;
}

/* ---- routes ---- */

static inline bool is_last_wire(const struct net_wire *w, uint32_t dst) { return w->to == dst; }

/* Transit: the next wire of a packet at the end of `wire`, and the input there. */
static inline uint32_t next_wire(const struct net_nodes *nn, uint32_t wire, const struct net_flight *f,
                                 uint32_t *input)
{
    if (nn->topology == NET_NODE_SWITCH) {
        *input = nn->wires[wire].from;
        return nn->nodes + f->packet.dst;
    }
    *input = f->vc;
    const uint32_t node = nn->wires[wire].to;
    return 2 * node + wire % 2; /* ring: the wire that leaves the node in the same direction */
}

/* ---- arrivals ---- */

/* The step that moves the packet off the link: a packet that ends here is visible in the cycle after it. */
static inline uint64_t event_cyc(const struct net_flight *f, bool ends) { return f->visible_cyc - ends; }

static void set_arrive_cyc(const struct net_nodes *nn, struct net_wire *w)
{
    w->arrive_cyc = NET_NEVER;
    for (uint32_t c = 0; c < nn->classes; c++)
        for (uint32_t ends = 0; ends < 2; ends++) {
            if (!w->flying[c][ends].count) continue;
            const uint64_t cyc = event_cyc(&nn->nets[c]->flights[w->flying[c][ends].first], ends);
            if (cyc < w->arrive_cyc) w->arrive_cyc = cyc;
        }
}

static void deliver(struct net *n, uint32_t flight)
{
    const struct net_flight *const f = &n->flights[flight];
    const uint32_t sink = f->packet.dst;
    struct net_sink *const s = &n->sinks[sink];
    DIAG_ASSERT(s->pushed - s->popped < s->capacity);
    s->slots[s->pushed & s->mask].flight = flight;
    if (s->pushed++ == s->popped) net_front_set(n, sink, f);
    net_count_delivery(n, s, f);
    if (n->wiring.arrived) n->wiring.arrived(n->wiring.ctx, sink, f->visible_cyc);
}

/* The head of a packet is at the node or the switch behind `wire`: it may start on its next link from now on. */
static void change_wires(struct net_nodes *nn, uint32_t wire, uint32_t cls, uint32_t flight, uint64_t now)
{
    struct net *const n = nn->nets[cls];
    uint32_t input;
    const uint32_t next = next_wire(nn, wire, &n->flights[flight], &input);
    list_append(n, &nn->wires[next].transit[cls][input], flight);
    nn->wires[next].waiting[cls][TRANSIT] |= 1ull << input;
    wake_start(nn, next, now);
}

static void arrive(struct net_nodes *nn, uint32_t wire, uint64_t now)
{
    struct net_wire *const w = &nn->wires[wire];
    for (uint32_t c = 0; c < nn->classes; c++)
        for (uint32_t ends = 0; ends < 2; ends++) {
            struct net *const n = nn->nets[c];
            struct net_list *const flying = &w->flying[c][ends];
            while (flying->count && event_cyc(&n->flights[flying->first], ends) <= now) {
                const uint32_t flight = list_take(n, flying);
                if (ends)
                    deliver(n, flight);
                else
                    change_wires(nn, wire, c, flight, now);
            }
        }
    set_arrive_cyc(nn, w);
}

/* ---- starts ---- */

struct choice {
    uint32_t cls, group, queue;
};

static inline struct net_list *queue_of(const struct net_nodes *nn, const struct net_wire *w, struct choice k)
{
    if (k.group == TRANSIT) return &w->transit[k.cls][k.queue];
    return &nn->outboxes[k.cls][w->from * nn->nodes + k.queue].list;
}

static inline uint32_t vc_on(const struct net_wire *w, const struct net_flight *f, uint32_t group)
{
    return w->dateline ? 1 : group == TRANSIT ? f->vc : 0;
}

static void note_blocked(struct net_nodes *nn, struct net_wire *w, uint32_t cls, uint64_t now, bool blocked)
{
    if ((w->blocked_cyc[cls] != NET_NEVER) == blocked) return;
    if (!blocked) {
        struct net *const n = nn->nets[cls];
        const uint64_t cycles = now - w->blocked_cyc[cls];
        w->blocked_sum_cyc[cls] += cycles;
        if (w->to != NET_NONE) {
            n->sinks[w->to].stats.blocked_cyc += cycles;
            n->stats.blocked_cyc += cycles;
        }
    }
    w->blocked_cyc[cls] = blocked ? now : NET_NEVER;
}

/* The oldest waiting packet of a class for a virtual channel of the link; false: none waits. */
static bool oldest_of(const struct net_nodes *nn, const struct net_wire *w, uint32_t vc, struct choice *k,
                      const struct net_flight **oldest)
{
    const uint32_t cls = k->cls;
    *oldest = NULL;
    for (uint32_t group = 0; group < GROUPS; group++)
        for (uint64_t m = w->waiting[cls][group]; m; m &= m - 1) {
            const struct choice at = {cls, group, (uint32_t)__builtin_ctzll(m)};
            const struct net_flight *const f = &nn->nets[cls]->flights[queue_of(nn, w, at)->first];
            if (vc_on(w, f, group) != vc || (*oldest && f->accept_cyc >= (*oldest)->accept_cyc)) continue;
            *oldest = f;
            *k = at;
        }
    return *oldest != NULL;
}

/* The oldest packet of a class that has credit; *soonest: a later cycle in which one may start. */
static bool choose_of(struct net_nodes *nn, struct net_wire *w, struct choice *k, uint64_t now,
                      uint64_t *soonest)
{
    const struct net_flight *best = NULL, *f;
    struct choice at = *k;
    for (uint32_t vc = 0; vc < (nn->topology == NET_NODE_RING ? 2u : 1u); vc++) {
        if (!oldest_of(nn, w, vc, &at, &f)) continue;
        uint64_t cyc = now + 1; /* accepted in this cycle: see the contract in net.h */
        if (f->accept_cyc < now) {
            cyc = credit_cyc(&w->buffers[buffer_of(at.cls, vc)], f->packet.bytes, now);
            if (cyc != now) note_blocked(nn, w, at.cls, now, true);
        }
        if (cyc != now) {
            if (cyc < *soonest) *soonest = cyc;
        } else if (!best || f->accept_cyc < best->accept_cyc) {
            best = f;
            *k = at;
        }
    }
    return best != NULL;
}

static bool choose(struct net_nodes *nn, struct net_wire *w, struct choice *k, uint64_t now,
                   uint64_t *soonest)
{
    for (uint32_t i = 0; i < nn->classes; i++) {
        k->cls = (w->next_class + i) % nn->classes;
        if ((w->waiting[k->cls][TRANSIT] | w->waiting[k->cls][INJECTED]) && choose_of(nn, w, k, now, soonest))
            return true;
    }
    return false;
}

/* The outbox has a free slot from the next cycle on. */
static void leave_outbox(struct net *n, struct net_outbox *o, uint32_t source, uint64_t now)
{
    if (o->left_cyc != now) o->left_count = 0;
    o->left_cyc = now;
    o->left_count++;
    if (!o->refused) return;
    o->refused = false;
    net_ports_set(&n->room, source, now + 1);
    if (n->wiring.room) n->wiring.room(n->wiring.ctx, source, now + 1);
}

static void start_packet(struct net_nodes *nn, uint32_t wire, struct choice k, uint64_t now)
{
    struct net_wire *const w = &nn->wires[wire];
    struct net *const n = nn->nets[k.cls];
    struct net_list *const queue = queue_of(nn, w, k);
    const uint32_t flight = list_take(n, queue);
    struct net_flight *const f = &n->flights[flight];
    const uint32_t bytes = f->packet.bytes, vc = vc_on(w, f, k.group);
    if (!queue->count) w->waiting[k.cls][k.group] &= ~(1ull << k.queue);
    w->next_class = (uint8_t)((k.cls + 1) % nn->classes);
    note_blocked(nn, w, k.cls, now, false);

    const struct net_moment start = w->idle.cyc < now ? (struct net_moment){now, 0} : w->idle;
    w->idle = moment_after(nn, start, bytes);
    credit_take(w, buffer_of(k.cls, vc), now, moment_ceil(w->idle), bytes);
    w->packets[k.cls]++;
    w->bytes[k.cls] += bytes;
    w->last_class = (uint8_t)k.cls;
    if (k.group == TRANSIT)
        credit_return(nn, f->wire, buffer_of(k.cls, f->vc),
                      moment_ceil(w->idle) + nn->wires[f->wire].latency_cyc, bytes);
    else
        leave_outbox(n, &nn->outboxes[k.cls][w->from * nn->nodes + k.queue], w->from, now);
    f->wire = (uint16_t)wire;
    f->vc = (uint8_t)vc;
    const bool ends = is_last_wire(w, f->packet.dst);
    f->visible_cyc = ends ? moment_ceil(w->idle) + w->latency_cyc - 1 : moment_ceil(start) + w->latency_cyc;
    list_append(n, &w->flying[k.cls][ends], flight);
    if (event_cyc(f, ends) < w->arrive_cyc) w->arrive_cyc = event_cyc(f, ends);
}

static void start(struct net_nodes *nn, uint32_t wire, uint64_t now)
{
    struct net_wire *const w = &nn->wires[wire];
    struct choice k = {0};
    w->start_cyc = NET_NEVER;
    for (;;) {
        if (w->idle.cyc > now) {
            bool waits = false;
            for (uint32_t c = 0; c < nn->classes; c++)
                waits |= (w->waiting[c][TRANSIT] | w->waiting[c][INJECTED]) != 0;
            if (waits && w->idle.cyc < w->start_cyc) w->start_cyc = w->idle.cyc;
            return;
        }
        uint64_t soonest = NET_NEVER;
        if (!choose(nn, w, &k, now, &soonest)) {
            if (soonest < w->start_cyc) w->start_cyc = soonest;
            return;
        }
        start_packet(nn, wire, k, now);
    }
}

/* ---- the step ---- */

static void advance(struct net_nodes *nn, uint64_t now)
{
    for (uint32_t word = 0; word < nn->words; word++)
        for (uint64_t m = nn->active[word]; m; m &= m - 1) {
            const uint32_t wire = word << 6 | (uint32_t)__builtin_ctzll(m);
            if (nn->wires[wire].arrive_cyc <= now) arrive(nn, wire, now);
        }
    uint64_t next = NET_NEVER;
    for (uint32_t word = 0; word < nn->words; word++)
        for (uint64_t m = nn->active[word]; m; m &= m - 1) {
            const uint32_t wire = word << 6 | (uint32_t)__builtin_ctzll(m);
            if (nn->wires[wire].start_cyc <= now) start(nn, wire, now);
        }
    /* a start may have returned credits to another wire */
    for (uint32_t word = 0; word < nn->words; word++)
        for (uint64_t m = nn->active[word]; m; m &= m - 1) {
            const uint32_t wire = word << 6 | (uint32_t)__builtin_ctzll(m);
            const struct net_wire *const w = &nn->wires[wire];
            const uint64_t cyc = w->start_cyc < w->arrive_cyc ? w->start_cyc : w->arrive_cyc;
            if (cyc == NET_NEVER) net_bit_clear(nn->active, wire);
            if (cyc < next) next = cyc;
        }
    DIAG_ASSERT(next > now);
    nn->next_cyc = next;
    for (uint32_t c = 0; c < nn->classes; c++) nn->nets[c]->view.next_cyc = next;
}

uint64_t net_nodes_step(struct net *n, uint64_t now)
{
    struct net_nodes *const nn = n->nodes;
    for (uint32_t c = 0; c < nn->classes; c++) nn->nets[c]->stepped_cyc = now;
    if (nn->next_cyc <= now) advance(nn, now);
    return nn->next_cyc;
}

/* ---- senders and receivers ---- */

static inline uint32_t occupied(const struct net_outbox *o, uint64_t now)
{
    return o->list.count + (o->left_cyc == now ? o->left_count : 0);
}

static inline struct net_outbox *outbox_of(const struct net *n, uint32_t src, uint32_t dst)
{
    DIAG_ASSERT(src != dst);
    return &n->nodes->outboxes[n->node_class][src * n->nodes->nodes + dst];
}

bool net_nodes_has_room(const struct net *n, uint32_t src, uint32_t dst, uint64_t now)
{
    return occupied(outbox_of(n, src, dst), now) < n->spec.source_packets;
}

bool net_nodes_idle(const struct net *n, uint32_t src, uint32_t dst)
{
    return !outbox_of(n, src, dst)->list.count;
}

bool net_nodes_refuse(struct net *n, uint32_t src, uint32_t dst, uint64_t now)
{
    struct net_outbox *const o = outbox_of(n, src, dst);
    n->stats.refused++;
    if (o->list.count < n->spec.source_packets) { /* a slot was left in this cycle */
        net_ports_set(&n->room, src, now + 1);
        if (n->wiring.room) n->wiring.room(n->wiring.ctx, src, now + 1);
        return false;
    }
    o->refused = true;
    return true;
}

bool net_nodes_try_inject(struct net *n, const struct net_packet *p, uint64_t now)
{
    struct net_nodes *const nn = n->nodes;
    struct net_outbox *const o = outbox_of(n, p->src, p->dst);
    if (occupied(o, now) >= n->spec.source_packets) {
        (void)net_nodes_refuse(n, p->src, p->dst, now);
        return false;
    }
    DIAG_ASSERT(p->bytes >= n->spec.min_packet_bytes);
    net_count_inside(n, now);
    const uint32_t flight = net_flight_take(n);
    n->flights[flight] =
        (struct net_flight){.packet = *p, .flits = net_flits_of(n, p->bytes), .accept_cyc = now};
    n->stats.accepted++;
    n->stats.accepted_bytes += p->bytes;
    list_append(n, &o->list, flight);
    const uint32_t wire = nn->first_wire[n->node_class][p->src * nn->nodes + p->dst];
    nn->wires[wire].waiting[n->node_class][INJECTED] |= 1ull << p->dst;
    const uint64_t idle_cyc = nn->wires[wire].idle.cyc;
    wake_start(nn, wire, idle_cyc > now + 1 ? idle_cyc : now + 1);
    return true;
}

void net_nodes_popped(struct net *n, const struct net_flight *f, uint64_t now)
{
    credit_return(n->nodes, f->wire, buffer_of(n->node_class, f->vc),
                  now + n->nodes->wires[f->wire].latency_cyc, f->packet.bytes);
}

/* ---- reports ---- */

uint64_t net_nodes_zero_load_cyc(const struct net *n, uint32_t src, uint32_t dst, uint32_t bytes)
{
    const struct net_nodes *const nn = n->nodes;
    uint64_t latency_cyc = 0;
    if (src == dst) return 0;
    struct net_flight f = {.packet = {.src = src, .dst = dst}};
    for (uint32_t wire = nn->first_wire[n->node_class][src * nn->nodes + dst], input;;
         wire = next_wire(nn, wire, &f, &input)) {
        latency_cyc += nn->wires[wire].latency_cyc;
        if (is_last_wire(&nn->wires[wire], dst)) break;
    }
    return latency_cyc + moment_ceil(moment_after(nn, (struct net_moment){0, 0}, bytes));
}

uint64_t net_nodes_link_cyc(const struct net *n, uint32_t wire, uint64_t now)
{
    const struct net_nodes *const nn = n->nodes;
    const struct net_wire *const w = &nn->wires[wire];
    const uint64_t cyc =
        (uint64_t)((unsigned __int128)w->bytes[n->node_class] * nn->rate_cycles / nn->rate_bytes);
    const uint64_t ahead = w->last_class == n->node_class && moment_ceil(w->idle) > now + 1
                               ? moment_ceil(w->idle) - (now + 1)
                               : 0;
    return cyc > ahead ? cyc - ahead : 0;
}

/* Splits the cycles in which a class waited for credit on a link by the packets that filled the buffer. */
static void split_blocked(const struct net *n, const struct net_wire *w, struct net_node_traffic *t)
{
    const uint64_t now = n->stepped_cyc, since = w->blocked_cyc[n->node_class];
    const uint64_t blocked = w->blocked_sum_cyc[n->node_class] + (since < now ? now - since : 0);
    double held = 0, flight = 0;
    for (uint32_t vc = 0; vc < 2; vc++) {
        const struct net_buffer *const b = &w->buffers[buffer_of(n->node_class, vc)];
        held += (double)(b->held_sum + b->taken_bytes * now);
        flight += (double)b->flight_sum;
    }
    t->short_cyc = flight < held ? (uint64_t)((double)blocked * (flight / held)) : blocked;
    t->full_cyc = blocked - t->short_cyc;
}

struct net_node_traffic net_node_traffic(const struct net *n, uint32_t link)
{
    DIAG_ASSERT(n->nodes && link < n->nodes->wire_count);
    const struct net_wire *const w = &n->nodes->wires[link];
    struct net_node_traffic t = {.packets = w->packets[n->node_class], .bytes = w->bytes[n->node_class]};
    split_blocked(n, w, &t);
    return t;
}

void net_nodes_finish(struct net *n, uint64_t now)
{
    struct net_nodes *const nn = n->nodes;
    for (uint32_t k = 0; k < nn->wire_count; k++) {
        struct net_wire *const w = &nn->wires[k];
        if (w->blocked_cyc[n->node_class] == NET_NEVER) continue;
        note_blocked(nn, w, n->node_class, now, false);
        note_blocked(nn, w, n->node_class, now, true);
    }
}

void net_nodes_describe(const struct net *n, char *text, size_t bytes)
{
    const struct net_nodes *const nn = n->nodes;
    for (uint32_t k = 0; k < nn->wire_count; k++) {
        const struct net_wire *const w = &nn->wires[k];
        const uint64_t *const waiting = w->waiting[n->node_class];
        if (!(waiting[TRANSIT] | waiting[INJECTED])) continue;
        const size_t used = strlen(text);
        (void)snprintf(text + used, bytes - used,
                       "link %u (node %d to %d): %d queues wait, %u and %u B of buffer free\n", k,
                       (int)w->from, (int)w->to,
                       __builtin_popcountll(waiting[TRANSIT]) + __builtin_popcountll(waiting[INJECTED]),
                       w->buffers[buffer_of(n->node_class, 0)].free_bytes,
                       w->buffers[buffer_of(n->node_class, 1)].free_bytes);
    }
}

/* ---- building ---- */

static uint32_t wires_of(const struct net_spec *s)
{
    return s->topology == NET_NODE_LINKS ? s->sources * s->sources : 2 * s->sources;
}

/* Minimum packet size decides how many packets fit a buffer. */
static uint32_t buffer_packets(const struct net_spec *s)
{
    const uint32_t packets = s->buffer_bytes / s->min_packet_bytes;
    return packets ? packets : 1;
}

uint64_t net_nodes_bytes(const struct net_spec *s)
{
    const uint64_t vcs = s->topology == NET_NODE_RING ? 2 : 1;
    return wires_of(s) * vcs * buffer_packets(s) *
           (sizeof(struct net_flight) + 2 * sizeof(struct net_credit));
}

size_t net_nodes_flights(const struct net *n)
{
    const struct net_spec *const s = &n->spec;
    return (size_t)wires_of(s) * (s->topology == NET_NODE_RING ? 2 : 1) * buffer_packets(s);
}

static void build_buffers(struct net_nodes *nn, struct arena *a, const struct net_spec *s, uint32_t cls)
{
    uint32_t capacity = 1;
    while (capacity < buffer_packets(s) + 1) capacity *= 2;
    for (uint32_t k = 0; k < nn->wire_count; k++) {
        struct net_wire *const w = &nn->wires[k];
        if (w->from == w->to && w->from != NET_NONE) continue; /* links: the unused diagonal */
        for (uint32_t vc = 0; vc < (s->topology == NET_NODE_RING ? 2u : 1u); vc++) {
            struct net_buffer *const b = &w->buffers[buffer_of(cls, vc)];
            b->free_bytes = s->buffer_bytes;
            b->capacity = capacity;
            b->credits = ARENA_ARRAY(a, struct net_credit, capacity);
        }
        if (w->to != w->from && s->topology != NET_NODE_LINKS)
            w->transit[cls] = ARENA_ARRAY(a, struct net_list, s->topology == NET_NODE_RING ? 2 : nn->nodes);
    }
}

/* Half way round, even nodes send one way and odd nodes the other. If half of the ring is an odd number of
 * links, the paths of even nodes do not load all links equally. The second class then goes the other way, so
 * that both classes together do. */
static bool is_clockwise(uint32_t nodes, uint32_t cls, uint32_t src, uint32_t dst)
{
    const uint32_t way = (dst + nodes - src) % nodes, flip = nodes % 4 == 2 ? cls : 0;
    return 2 * way < nodes || (2 * way == nodes && (src + flip) % 2 == 0);
}

static void build_wire(struct net_nodes *nn, const struct net_spec *s, uint32_t k)
{
    struct net_wire *const w = &nn->wires[k];
    const uint32_t nodes = nn->nodes;
    *w = (struct net_wire){
        .start_cyc = NET_NEVER, .arrive_cyc = NET_NEVER, .latency_cyc = s->link_latency_cyc};
    for (uint32_t c = 0; c < NET_NODE_CLASSES; c++) w->blocked_cyc[c] = NET_NEVER;
    if (s->topology == NET_NODE_LINKS) {
        w->from = k / nodes;
        w->to = k % nodes;
    } else if (s->topology == NET_NODE_RING) {
        w->from = k / 2;
        w->to = (w->from + (k % 2 ? nodes - 1 : 1)) % nodes;
        w->dateline = k % 2 ? w->from == 0 : w->to == 0;
    } else { /* the latency is that of both links */
        w->from = k < nodes ? k : NET_NONE;
        w->to = k < nodes ? NET_NONE : k - nodes;
        w->latency_cyc = k < nodes ? s->link_latency_cyc / 2 : s->link_latency_cyc - s->link_latency_cyc / 2;
    }
}

static struct net_nodes *build_nodes(struct arena *a, const struct net_spec *s)
{
    struct net_nodes *const nn = ARENA_NEW(a, struct net_nodes);
    uint64_t x = s->bandwidth, y = s->clock_hz;
    while (y) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    nn->rate_bytes = s->bandwidth / x;
    nn->rate_cycles = s->clock_hz / x;
    nn->topology = s->topology;
    nn->nodes = s->sources;
    nn->wire_count = wires_of(s);
    nn->words = (nn->wire_count + 63) / 64;
    nn->next_cyc = NET_NEVER;
    nn->wires = ARENA_ARRAY(a, struct net_wire, nn->wire_count);
    nn->active = ARENA_ARRAY(a, uint64_t, nn->words);
    for (uint32_t k = 0; k < nn->wire_count; k++) build_wire(nn, s, k);
    return nn;
}

static uint16_t *build_routes(const struct net_nodes *nn, struct arena *a, uint32_t cls)
{
    const uint32_t nodes = nn->nodes;
    uint16_t *const first_wire = ARENA_ARRAY(a, uint16_t, (size_t)nodes * nodes);
    for (uint32_t src = 0; src < nodes; src++)
        for (uint32_t dst = 0; dst < nodes; dst++) {
            const uint32_t wire = nn->topology == NET_NODE_LINKS ? src * nodes + dst
                                  : nn->topology == NET_NODE_SWITCH
                                      ? src
                                      : 2 * src + !is_clockwise(nodes, cls, src, dst);
            first_wire[src * nodes + dst] = src == dst ? UINT16_MAX : (uint16_t)wire;
        }
    return first_wire;
}

void net_nodes_build(struct net *n, struct arena *a, const struct net *sharing)
{
    const struct net_spec *const s = &n->spec;
    struct net_nodes *const nn = n->nodes = sharing ? sharing->nodes : build_nodes(a, s);
    DIAG_ASSERT(nn->classes < NET_NODE_CLASSES);
    n->node_class = nn->classes;
    nn->nets[nn->classes++] = n;
    const size_t pairs = (size_t)nn->nodes * nn->nodes;
    nn->outboxes[n->node_class] = ARENA_ARRAY(a, struct net_outbox, pairs);
    for (size_t k = 0; k < pairs; k++) nn->outboxes[n->node_class][k].left_cyc = NET_NEVER;
    nn->first_wire[n->node_class] = build_routes(nn, a, n->node_class);
    build_buffers(nn, a, s, n->node_class);
    n->source_count = (uint32_t)pairs;
    n->out_count = nn->wire_count;
    n->link_stage = ARENA_ARRAY(a, uint32_t, n->out_count);
    n->link_port = ARENA_ARRAY(a, uint32_t, n->out_count);
    for (uint32_t k = 0; k < n->out_count; k++) {
        const bool down = s->topology == NET_NODE_SWITCH && k >= nn->nodes;
        n->link_stage[k] = down;
        n->link_port[k] = down ? k - nn->nodes : k;
        if (nn->wires[k].to != NET_NONE && nn->wires[k].from != nn->wires[k].to)
            n->sinks[nn->wires[k].to].capacity += (s->topology == NET_NODE_RING ? 2 : 1) * buffer_packets(s);
    }
    n->stage_count = s->topology == NET_NODE_SWITCH ? 2 : 1;
}
