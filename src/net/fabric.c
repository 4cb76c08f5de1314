/* fabric: see fabric.h. */
#include "net/fabric.h"

#include "check/fault.h"
#include "net/ahead.h"
#include "net/gates.h"
#include "net/net_queue.h"

/* ---- sizes ---- */

uint32_t fabric_request_bytes(const struct fabric *f, const struct request *r)
{
    switch ((enum request_kind)r->kind) {
    case REQUEST_WRITE:
        if (f->write_is_literal && !(r->flags & REQUEST_PAGE)) return f->write_bytes; /* a store of an SM */
        return f->header_bytes + request_byte_count(r->bytes);
    case REQUEST_ATOMIC:
    case REQUEST_REDUCTION:
        return f->header_bytes + request_byte_count(r->bytes); /* operands of the lanes; ASSUMPTION */
    case REQUEST_READ:
    case REQUEST_WALK:
    case REQUEST_INVALIDATE:
    case REQUEST_ACK:
    case REQUEST_KINDS: break;
    }
    return f->header_bytes;
}

uint32_t fabric_reply_bytes(const struct fabric *f, const struct request *r)
{
    if (r->kind == REQUEST_READ) return f->read_bytes[r->sectors & SECTORS_ALL];
    if (r->kind == REQUEST_ATOMIC) return f->header_bytes + request_byte_count(r->bytes);
    if (r->kind == REQUEST_INVALIDATE) return f->invalidate_bytes;
    return f->header_bytes;
}

/* ---- clocks ---- */

/* Wakes the component of a port at a cycle of the network. */
static void wake_port(const struct fabric_side *s, uint32_t component, uint64_t net_cyc)
{
    if (s->same_clock) {
        engine_wake(s->engine, component, net_cyc);
        return;
    }
    engine_wake_at_tick(s->engine, component, net_cyc * s->ticks_per_cycle);
}

/* Prefetches the request of a packet in flight into the host's caches. on_arrival() then passes the request
 * to the receiver, which prefetches its own data. */
static void prefetch_request(void *ctx, uint64_t handle)
{
    const struct fabric_side *s = ctx;
    if (s->requests) __builtin_prefetch(request_at(s->requests, (uint32_t)handle), 1);
}

static inline void hint_receiver(const struct fabric_side *s, uint32_t sink, uint64_t visible_cyc)
{
    const struct net_packet *p = net_peek(s->net, sink, visible_cyc);
    if (p) s->expect(s->expect_receivers[sink], request_at(s->requests, (uint32_t)p->handle));
}

static void on_arrival(void *ctx, uint32_t sink, uint64_t visible_cyc)
{
    const struct fabric_side *s = ctx;
    if (sink >= s->receiver_count) {
        gate_arrived(&s->ports[sink - s->receiver_count], visible_cyc * s->ticks_per_cycle);
        return;
    }
    wake_port(s, s->receivers[sink], visible_cyc);
    if (s->expect) hint_receiver(s, sink, visible_cyc);
}

static void on_room(void *ctx, uint32_t source, uint64_t from_cyc)
{
    const struct fabric_side *s = ctx;
    s->full_cyc[source] = from_cyc;
    if (source < s->sender_count)
        wake_port(s, s->senders[source], from_cyc);
    else
        gate_room(&s->ports[source - s->sender_count], from_cyc * s->ticks_per_cycle);
}

static void step(void *self, uint64_t now)
{
    const struct fabric_side *s = self;
    const uint64_t next = net_step(s->net, now);
    engine_progress(s->engine);
    if (next != NET_NEVER) engine_wake(s->engine, s->component, next);
}

/* Wakes the network if an injection (accepted or refused) or a pop changed the cycle of its next step. */
static inline void wake_network(const struct fabric_side *s, uint64_t at, uint64_t before)
{
    const uint64_t next = net_next_cyc(s->net);
    if (next != before) engine_wake(s->engine, s->component, next > at ? next : at + 1);
}

/* ---- sending and taking ---- */

static __attribute__((noinline)) bool send_in_window(struct fabric_side *s, uint64_t at,
                                                     const struct net_packet *p)
{
    net_queue_join(&s->sources[p->src], p->handle, p->dst, p->bytes, at);
    if (s->ahead->asleep) s->ahead->wake(s->ahead, at);
    return true;
}

bool fabric_side_send(struct fabric_side *s, uint64_t at, const struct net_packet *p)
{
    if (__builtin_expect(s->ahead != NULL, 0)) return send_in_window(s, at, p);
    const uint64_t before = net_next_cyc(s->net);
    const bool taken = net_try_inject(s->net, p, at);
    s->in_flight[p->dst] += taken;
    wake_network(s, at, before);
    if (!taken && !s->by_pairs && s->full_cyc[p->src] <= at)
        s->full_cyc[p->src] = NET_NEVER; /* until on_room() */
    return taken;
}

bool fabric_side_refuse(struct fabric_side *s, uint64_t at, const struct net_packet *p)
{
    const uint64_t before = net_next_cyc(s->net);
    const bool registered = net_refuse(s->net, p->src, p->dst, at);
    wake_network(s, at, before);
    return registered;
}

static __attribute__((noinline)) void take_in_window(struct fabric_side *s, uint64_t at, uint32_t sink)
{
    (void)net_queue_take(net_queue_port_of(s->net, sink), at);
}

void fabric_side_take(struct fabric_side *s, uint64_t at, uint32_t sink)
{
    if (__builtin_expect(s->ahead != NULL, 0)) {
        take_in_window(s, at, sink);
        return;
    }
    const uint64_t before = net_next_cyc(s->net);
    s->in_flight[sink]--;
    net_pop(s->net, sink, at);
    wake_network(s, at, before);
}

void fabric_take(struct fabric_side *s, uint64_t now, uint32_t receiver)
{
    fabric_side_take(s, fabric_net_now(s, now), receiver - s->first_receiver);
}

/* Sends a packet from an SM or a slice to a port of this chiplet, or to a gate port if the target is in
 * another chiplet. line_slice, a slice that follows from the line, selects the gate port, so packets of a
 * line stay in order. */
static inline bool send(struct fabric_side *s, uint64_t now, uint32_t request, uint32_t from, uint32_t to,
                        uint32_t line_slice, uint32_t bytes)
{
    const uint32_t port = to - s->first_receiver, here = s->receiver_count;
    const struct net_packet p = {.handle = request,
                                 .src = from - s->first_sender,
                                 .dst =
                                     __builtin_expect(port < here, 1) ? port : here + line_slice % s->gates,
                                 .bytes = bytes};
    return fabric_side_send(s, fabric_net_now(s, now), &p);
}

bool fabric_try_request(struct fabric *f, uint64_t now, uint32_t request, uint32_t sm, uint32_t slice)
{
    const uint32_t bytes = fabric_request_bytes(f, request_at(f->requests, request));
    if (FAULT_FIRES(request_dropped)) return true;
    if (!send(&f->request, now, request, sm, slice, slice, bytes)) return false;
    traffic_count(&f->traffic, sm, slice, bytes);
    return true;
}

bool fabric_may_request(const struct fabric *f, uint64_t now, uint32_t sm)
{
    const struct fabric_side *s = &f->request;
    return s->by_pairs || net_has_room(s->net, sm - s->first_sender, 0, fabric_net_now(s, now));
}

bool fabric_try_reply(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice, uint32_t sm)
{
    const uint32_t bytes = fabric_reply_bytes(f, request_at(f->requests, request));
    if (!send(&f->reply, now, request, slice, sm, slice, bytes)) return false;
    traffic_count(&f->traffic, sm, slice, bytes);
    return true;
}

bool fabric_try_forward(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice)
{
    const struct request *r = request_at(f->requests, request);
    const uint32_t bytes = fabric_request_bytes(f, r), home = r->home.slice;
    if (FAULT_FIRES(forward_dropped)) return true;
    if (!send(&f->far_request, now, request, slice, home, home, bytes)) return false;
    traffic_count_remote(&f->traffic, slice, home, bytes);
    return true;
}

bool fabric_try_far_reply(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice)
{
    const struct request *r = request_at(f->requests, request);
    const uint32_t bytes = fabric_reply_bytes(f, r), via = r->via - 1u;
    if (!send(&f->far_reply, now, request, slice, via, via, bytes)) return false;
    traffic_count_remote(&f->traffic, via, slice, bytes);
    return true;
}

/* ---- wake-ups ---- */

uint64_t fabric_no_reply_until(const struct fabric *f, uint64_t now, uint32_t sm)
{
    const struct fabric_side *s = &f->reply;
    const uint32_t port = sm - s->first_receiver;
    const uint64_t at = fabric_net_now(s, now), decided = net_peek_cyc(s->net, port);
    DIAG_ASSERT(!s->ahead); /* otherwise ahead_known_until() */
    const uint64_t cyc = !s->in_flight[port]    ? at + f->min_reply_cyc
                         : decided != NET_NEVER ? decided
                                                : at + 1;
    if (s->same_clock) return cyc;
    return (cyc * s->ticks_per_cycle - 1) / f->sm_ticks_per_cycle + 1;
}

static void rearm_port(const struct fabric_side *in, uint32_t receiver, uint64_t now, bool refused)
{
    const uint32_t port = receiver - in->first_receiver;
    const uint64_t cyc = net_peek_cyc(in->net, port);
    if (refused && !in->same_clock)
        engine_wake(in->engine, in->receivers[port], now + 1);
    else if (cyc != NET_NEVER &&
             cyc > engine_now(in->engine, in->domain)) /* otherwise the receiver has seen it */
        engine_wake_at_tick(in->engine, in->receivers[port], cyc * in->ticks_per_cycle);
}

void fabric_rearm_sm(struct fabric *f, uint64_t now, uint32_t sm, bool refused)
{
    rearm_port(&f->reply, sm, now, refused);
}

void fabric_rearm_slice(struct fabric *f, uint64_t now, uint32_t slice, bool refused)
{
    rearm_port(&f->request, slice, now, refused);
    if (!f->forwards) return;
    rearm_port(&f->far_request, slice, now, false);
    rearm_port(&f->far_reply, slice, now, false);
}

uint64_t fabric_request_cyc(const struct fabric *f, uint32_t sm, uint32_t slice, uint32_t bytes)
{
    const struct fabric_side *s = &f->request;
    return net_zero_load_cyc(s->net, sm - s->first_sender, slice - s->first_receiver, bytes);
}

/* ---- building ---- */

static struct wait waits(void *self)
{
    const struct fabric_side *s = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
    if (net_in_flight(s->net)) {
        w.reason = WAIT_QUEUE_FULL;
        net_describe_waiting(s->net, w.detail, sizeof w.detail);
    }
    return w;
}

/* Zero-load latency of the fastest pair of ports. */
static uint64_t min_cyc(const struct net *n, uint32_t bytes)
{
    const struct net_spec *s = net_spec_of(n);
    uint64_t min = NET_NEVER;
    for (uint32_t src = 0; src < s->sources; src++)
        for (uint32_t dst = 0; dst < s->sinks; dst++) {
            const uint64_t cyc = net_zero_load_cyc(n, src, dst, bytes);
            if (cyc < min) min = cyc;
        }
    return min;
}

void fabric_side_build(struct fabric_side *s, struct arena *a, struct engine *e, const struct config *c,
                       enum net_level level, enum net_direction direction, uint32_t domain,
                       uint32_t sink_delay_cyc, const struct fabric_side *links, const char *name)
{
    struct net_spec spec = net_level_spec(c, level, direction);
    /* A line and a header. In a ring the longest packet decides which routers are used. */
    const uint64_t longest = c->packet.header + LINE_BYTES;
    if (spec.topology != NET_RING && !net_between_nodes(&spec))
        spec.max_packet_bytes =
            (uint32_t)(c->packet.write_literal > longest ? c->packet.write_literal : longest);
    spec.sink_delay_cyc = sink_delay_cyc;
    /* ASSUMPTION: the queues of an SM hold all requests and replies that it may have in flight. */
    if (level == NET_LEVEL_net && spec.topology == NET_QUEUED) {
        uint32_t *const entries = direction == NET_REQUESTS ? &spec.source_packets : &spec.sink_packets;
        const uint32_t limit = c->l1.mshrs + c->sm.stores;
        if (*entries < limit) *entries = limit;
    }
    const struct net_wiring wiring = {
        .ctx = s, .arrived = on_arrival, .room = on_room, .coming = prefetch_request};
    *s = (struct fabric_side){.engine = e,
                              .domain = domain,
                              .links = links,
                              .net = net_new_sharing(a, &spec, &wiring, links ? links->net : NULL),
                              .by_pairs = spec.topology == NET_LINKS || net_between_nodes(&spec),
                              .in_flight = ARENA_ARRAY(a, uint32_t, spec.sinks),
                              .full_cyc = ARENA_ARRAY(a, uint64_t, spec.sources),
                              .ticks_per_cycle = config_tick_frequency(c) / net_level_clock(c, level),
                              .same_clock = c->clock.net == c->clock.sm && c->clock.net == c->clock.llc,
                              .gates = net_level_gates(c, level)};
    if (s->net->queue) s->sources = s->net->queue->sources;
    if (links) { /* a step of one network is a step of both */
        s->component = links->component;
        return;
    }
    s->component = engine_add(
        e, (struct component_spec){.name = name, .self = s, .domain = domain, .wake = step, .waits = waits});
}

/* The SMs or the slices of a chiplet, at the ports of one side of a network. */
struct port_range {
    const uint32_t *components; /* component numbers, over the whole machine */
    uint32_t first, count;
};

static void build_side(struct fabric *f, struct fabric_side *s, struct arena *a, const struct config *c,
                       enum net_level level, enum net_direction direction, uint32_t sink_delay_cyc,
                       struct port_range from, struct port_range to)
{
    const char *const at = config_chiplets(c) > 1 ? arena_printf(a, "chiplet%u.", f->chiplet) : "";
    fabric_side_build(s, a, f->engine, c, level, direction, f->domain, sink_delay_cyc, NULL,
                      arena_printf(a, "%s%s.%s", at, net_level_names[level],
                                   direction == NET_REQUESTS ? "requests" : "replies"));
    s->requests = f->requests;
    s->senders = from.components + from.first;
    s->first_sender = from.first;
    s->sender_count = from.count;
    s->receivers = to.components + to.first;
    s->first_receiver = to.first;
    s->receiver_count = to.count;
}

void fabric_init(struct fabric *f, struct arena *a, struct engine *e, const struct config *c,
                 uint32_t chiplet, struct pool *requests, uint32_t net_domain, uint32_t tag_latency_cyc,
                 const uint32_t *sms, const uint32_t *slices)
{
    const uint32_t sm_count = config_sms_per_chiplet(c) + config_copy_ports(c),
                   slice_count = config_slices_per_chiplet(c);
    const struct port_range sm = {sms, chiplet * sm_count, sm_count};
    const struct port_range slice = {slices, chiplet * slice_count, slice_count};
    *f = (struct fabric){.engine = e,
                         .requests = requests,
                         .chiplet = chiplet,
                         .domain = net_domain,
                         .ticks_per_cycle = config_tick_frequency(c) / c->clock.net,
                         .sm_ticks_per_cycle = config_tick_frequency(c) / c->clock.sm,
                         .header_bytes = (uint32_t)c->packet.header,
                         .write_bytes = (uint32_t)c->packet.write_literal,
                         .invalidate_bytes = (uint32_t)c->packet.invalidate,
                         .write_is_literal = c->packet.write == write_packet_literal,
                         .forwards = net_level_used(c, NET_LEVEL_slice_net)};
    for (uint32_t sectors = 0; sectors <= SECTORS_ALL; sectors++)
        f->read_bytes[sectors] = f->header_bytes + SECTOR_BYTES * (uint32_t)__builtin_popcount(sectors);
    build_side(f, &f->request, a, c, NET_LEVEL_net, NET_REQUESTS, tag_latency_cyc, sm, slice);
    build_side(f, &f->reply, a, c, NET_LEVEL_net, NET_REPLIES, 0, slice, sm);
    f->min_reply_cyc = min_cyc(f->reply.net, f->header_bytes);
    f->rearm_wakeups = !f->request.same_clock || c->net.topology == net_shape_queued ||
                       (f->forwards && c->slice_net.topology == net_shape_queued);
    if (!f->forwards) return;
    build_side(f, &f->far_request, a, c, NET_LEVEL_slice_net, NET_REQUESTS, 0, slice, slice);
    build_side(f, &f->far_reply, a, c, NET_LEVEL_slice_net, NET_REPLIES, 0, slice, slice);
}
