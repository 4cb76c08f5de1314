/* fabric: see fabric.h. */
#include "gpu/fabric.h"

#include "check/fault.h"
#include "gpu/gates.h"

/* ---- sizes ---- */

static uint32_t written_bytes(const struct request *r)
{
    return (uint32_t)(__builtin_popcountll(r->bytes[0]) + __builtin_popcountll(r->bytes[1]));
}

uint32_t fabric_request_bytes(const struct fabric *f, const struct request *r)
{
    switch ((enum request_kind)r->kind) {
    case REQUEST_WRITE: return f->write_is_literal ? f->write_bytes : f->header_bytes + written_bytes(r);
    case REQUEST_ATOMIC:
    case REQUEST_REDUCTION: return f->header_bytes + written_bytes(r); /* operands of the lanes; ASSUMPTION */
    case REQUEST_READ:
    case REQUEST_WALK:
    case REQUEST_KINDS: break;
    }
    return f->header_bytes;
}

uint32_t fabric_reply_bytes(const struct fabric *f, const struct request *r)
{
    static const uint8_t sectors_in[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    if (r->kind == REQUEST_READ) return f->header_bytes + SECTOR_BYTES * sectors_in[r->sectors & SECTORS_ALL];
    if (r->kind == REQUEST_ATOMIC) return f->header_bytes + written_bytes(r);
    return f->header_bytes;
}

/* ---- clocks ---- */

static inline uint64_t net_now(const struct fabric_side *s, uint64_t now)
{
    return s->same_clock ? now : engine_now(s->engine, s->domain);
}

/* The port's component must look from that cycle of the network on. */
static void wake_port(const struct fabric_side *s, uint32_t component, uint64_t net_cyc)
{
    if (s->same_clock) {
        engine_wake(s->engine, component, net_cyc);
        return;
    }
    engine_wake_at_tick(s->engine, component, net_cyc * s->ticks_per_cycle);
}

static void arrived(void *ctx, uint32_t sink, uint64_t visible_cyc)
{
    const struct fabric_side *s = ctx;
    if (sink < s->receiver_count)
        wake_port(s, s->receivers[sink], visible_cyc);
    else
        gate_arrived(&s->ports[sink - s->receiver_count], visible_cyc * s->ticks_per_cycle);
}

static void room(void *ctx, uint32_t source, uint64_t from_cyc)
{
    const struct fabric_side *s = ctx;
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

/* After an injection or a pop the network may have something to do earlier. */
static inline void step_soon(const struct fabric_side *s, uint64_t at)
{
    const uint64_t next = net_next_cyc(s->net);
    if (next != NET_NEVER) engine_wake(s->engine, s->component, next > at ? next : at + 1);
}

/* ---- passing ---- */

static inline bool send_at(struct fabric_side *s, uint64_t at, const struct net_packet *p)
{
    const bool taken = net_try_inject(s->net, p, at);
    s->inside[p->dst] += taken;
    step_soon(s, at); /* also when refused: the network tells in a step of its own when there is room */
    return taken;
}

static inline bool send(struct fabric_side *s, uint64_t now, const struct net_packet *p)
{
    return send_at(s, net_now(s, now), p);
}

static inline uint32_t front(const struct fabric_side *s, uint64_t now, uint32_t port)
{
    const struct net_packet *p = net_peek(s->net, port, net_now(s, now));
    return p ? (uint32_t)p->handle : REQUEST_NONE;
}

static inline void take_at(struct fabric_side *s, uint64_t at, uint32_t port)
{
    s->inside[port]--;
    net_pop(s->net, port, at);
    step_soon(s, at);
}

static inline void take(struct fabric_side *s, uint64_t now, uint32_t port)
{
    take_at(s, net_now(s, now), port);
}

bool fabric_side_send(struct fabric_side *s, uint64_t at, const struct net_packet *p)
{
    return send_at(s, at, p);
}
void fabric_side_take(struct fabric_side *s, uint64_t at, uint32_t sink) { take_at(s, at, sink); }

/* The port of a slice, or the gate towards it. Of several gates the one in the place of the slice, so that
 * what concerns a line keeps its order. */
static inline uint32_t slice_port(const struct fabric *f, const struct fabric_side *s, uint32_t slice)
{
    const uint32_t port = slice - f->first_slice;
    return __builtin_expect(port < f->slice_count, 1) ? port : f->slice_count + slice % s->gates;
}

bool fabric_try_request(struct fabric *f, uint64_t now, uint32_t request, uint32_t sm, uint32_t slice)
{
    const struct net_packet p = {.handle = request,
                                 .src = sm - f->first_sm,
                                 .dst = slice_port(f, &f->request, slice),
                                 .bytes = fabric_request_bytes(f, request_at(f->requests, request))};
    if (FAULT_FIRES(request_dropped)) return true;
    if (!send(&f->request, now, &p)) return false;
    traffic_count(f->traffic, sm, slice, p.bytes);
    return true;
}

bool fabric_may_request(const struct fabric *f, uint64_t now, uint32_t sm)
{
    return f->request_links || net_has_room(f->request.net, sm - f->first_sm, 0, net_now(&f->request, now));
}

bool fabric_try_reply(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice, uint32_t sm)
{
    const uint32_t port = sm - f->first_sm, sms = f->reply.receiver_count;
    const struct net_packet p = {.handle = request,
                                 .src = slice - f->first_slice,
                                 .dst = __builtin_expect(port < sms, 1) ? port : sms + slice % f->reply.gates,
                                 .bytes = fabric_reply_bytes(f, request_at(f->requests, request))};
    if (!send(&f->reply, now, &p)) return false;
    traffic_count(f->traffic, sm, slice, p.bytes);
    return true;
}

uint32_t fabric_request_at(const struct fabric *f, uint64_t now, uint32_t slice)
{
    return front(&f->request, now, slice - f->first_slice);
}
void fabric_take_request(struct fabric *f, uint64_t now, uint32_t slice)
{
    take(&f->request, now, slice - f->first_slice);
}
uint32_t fabric_reply_at(const struct fabric *f, uint64_t now, uint32_t sm)
{
    return front(&f->reply, now, sm - f->first_sm);
}
void fabric_take_reply(struct fabric *f, uint64_t now, uint32_t sm)
{
    take(&f->reply, now, sm - f->first_sm);
}

uint64_t fabric_no_reply_until(const struct fabric *f, uint64_t now, uint32_t sm)
{
    const struct fabric_side *s = &f->reply;
    const uint32_t port = sm - f->first_sm;
    const uint64_t at = net_now(s, now), decided = net_peek_cyc(s->net, port);
    const uint64_t cyc = !s->inside[port] ? at + f->least_reply_cyc : decided != NET_NEVER ? decided : at + 1;
    if (s->same_clock) return cyc;
    return (cyc * s->ticks_per_cycle - 1) / f->sm_ticks_per_cycle + 1;
}

/* ---- slices to slices ---- */

bool fabric_try_forward(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice)
{
    const struct request *r = request_at(f->requests, request);
    const struct net_packet p = {.handle = request,
                                 .src = slice - f->first_slice,
                                 .dst = slice_port(f, &f->far_request, r->home.slice),
                                 .bytes = fabric_request_bytes(f, r)};
    if (FAULT_FIRES(forward_dropped)) return true;
    if (!send(&f->far_request, now, &p)) return false;
    traffic_count_far(f->traffic, slice, r->home.slice, p.bytes);
    return true;
}

bool fabric_try_far_reply(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice)
{
    const struct request *r = request_at(f->requests, request);
    const struct net_packet p = {.handle = request,
                                 .src = slice - f->first_slice,
                                 .dst = slice_port(f, &f->far_reply, r->via - 1u),
                                 .bytes = fabric_reply_bytes(f, r)};
    if (!send(&f->far_reply, now, &p)) return false;
    traffic_count_far(f->traffic, r->via - 1u, slice, p.bytes);
    return true;
}

uint32_t fabric_far_request_at(const struct fabric *f, uint64_t now, uint32_t slice)
{
    return front(&f->far_request, now, slice - f->first_slice);
}
void fabric_take_far_request(struct fabric *f, uint64_t now, uint32_t slice)
{
    take(&f->far_request, now, slice - f->first_slice);
}
uint32_t fabric_far_reply_at(const struct fabric *f, uint64_t now, uint32_t slice)
{
    return front(&f->far_reply, now, slice - f->first_slice);
}
void fabric_take_far_reply(struct fabric *f, uint64_t now, uint32_t slice)
{
    take(&f->far_reply, now, slice - f->first_slice);
}

/* ---- sleeping ---- */

static void sleep_port(const struct fabric_side *in, uint32_t port, uint64_t now, bool refused)
{
    const uint64_t cyc = net_peek_cyc(in->net, port);
    if (refused)
        engine_wake(in->engine, in->receivers[port], now + 1);
    else if (cyc != NET_NEVER && cyc > engine_now(in->engine, in->domain)) /* else it has seen it */
        engine_wake_at_tick(in->engine, in->receivers[port], cyc * in->ticks_per_cycle);
}

void fabric_sleep_sm(struct fabric *f, uint64_t now, uint32_t sm, bool refused)
{
    sleep_port(&f->reply, sm - f->first_sm, now, refused);
}

void fabric_sleep_slice(struct fabric *f, uint64_t now, uint32_t slice, bool refused)
{
    sleep_port(&f->request, slice - f->first_slice, now, refused);
    if (!f->forwards) return;
    sleep_port(&f->far_request, slice - f->first_slice, now, false);
    sleep_port(&f->far_reply, slice - f->first_slice, now, false);
}

uint64_t fabric_request_cyc(const struct fabric *f, uint32_t sm, uint32_t slice, uint32_t bytes)
{
    return net_zero_load_cyc(f->request.net, sm - f->first_sm, slice - f->first_slice, bytes);
}

/* ---- building ---- */

static struct wait nothing(void *self)
{
    const struct fabric_side *s = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NOBODY};
    if (net_in_flight(s->net)) {
        w.reason = WAIT_QUEUE_FULL;
        net_describe_waiting(s->net, w.detail, sizeof w.detail);
    }
    return w;
}

/* Of the fastest pair of ports. */
static uint64_t least_cyc(const struct net *n, uint32_t bytes)
{
    const struct net_spec *s = net_spec_of(n);
    uint64_t least = NET_NEVER;
    for (uint32_t src = 0; src < s->sources; src++)
        for (uint32_t dst = 0; dst < s->sinks; dst++) {
            const uint64_t cyc = net_zero_load_cyc(n, src, dst, bytes);
            if (cyc < least) least = cyc;
        }
    return least;
}

void fabric_side_build(struct fabric_side *s, struct arena *a, struct engine *e, const struct config *c,
                       enum net_level level, enum net_direction direction, uint32_t domain, const char *name)
{
    struct net_spec spec = net_level_spec(c, level, direction);
    /* A line and a header; in a ring the longest packet decides which routers are used. */
    const uint64_t longest = c->packet.header + LINE_BYTES;
    if (spec.topology != NET_RING)
        spec.max_packet_bytes =
            (uint32_t)(c->packet.write_literal > longest ? c->packet.write_literal : longest);
    const struct net_wiring wiring = {.ctx = s, .arrived = arrived, .room = room};
    *s = (struct fabric_side){.engine = e,
                              .domain = domain,
                              .net = net_new(a, &spec, &wiring),
                              .inside = ARENA_ARRAY(a, uint32_t, spec.sinks),
                              .ticks_per_cycle = config_tick_frequency(c) / net_level_clock(c, level),
                              .same_clock = c->clock.net == c->clock.sm && c->clock.net == c->clock.llc,
                              .gates = net_level_gates(c, level)};
    s->component = engine_add(
        e,
        (struct component_spec){.name = name, .self = s, .domain = domain, .wake = step, .waits = nothing});
}

/* Who is at the ports: SMs or slices of the chiplet on either side. */
static void people(struct fabric_side *s, const uint32_t *senders, uint32_t sender_count,
                   const uint32_t *receivers, uint32_t receiver_count)
{
    s->senders = senders;
    s->sender_count = sender_count;
    s->receivers = receivers;
    s->receiver_count = receiver_count;
}

void fabric_init(struct fabric *f, struct arena *a, struct engine *e, const struct config *c,
                 uint32_t chiplet, struct pool *requests, uint32_t net_domain, const uint32_t *sms,
                 const uint32_t *slices)
{
    const uint32_t sm_count = config_sms_per_chiplet(c), slice_count = config_slices_per_chiplet(c);
    const char *const at = config_chiplets(c) > 1 ? arena_printf(a, "chiplet%u.", chiplet) : "";
    *f = (struct fabric){.engine = e,
                         .requests = requests,
                         .chiplet = chiplet,
                         .first_sm = chiplet * sm_count,
                         .first_slice = chiplet * slice_count,
                         .slice_count = slice_count,
                         .domain = net_domain,
                         .ticks_per_cycle = config_tick_frequency(c) / c->clock.net,
                         .header_bytes = (uint32_t)c->packet.header,
                         .write_bytes = (uint32_t)c->packet.write_literal,
                         .write_is_literal = c->packet.write == write_packet_literal,
                         .forwards = net_level_used(c, NET_LEVEL_slice_net)};
    sms += f->first_sm;
    slices += f->first_slice;
    fabric_side_build(&f->request, a, e, c, NET_LEVEL_net, NET_REQUESTS, net_domain,
                      arena_printf(a, "%snet.requests", at));
    fabric_side_build(&f->reply, a, e, c, NET_LEVEL_net, NET_REPLIES, net_domain,
                      arena_printf(a, "%snet.replies", at));
    f->sm_ticks_per_cycle = config_tick_frequency(c) / c->clock.sm;
    f->least_reply_cyc = least_cyc(f->reply.net, f->header_bytes);
    f->clocks_differ = !f->request.same_clock;
    f->request_links = net_spec_of(f->request.net)->topology == NET_LINKS;
    people(&f->request, sms, sm_count, slices, slice_count);
    people(&f->reply, slices, slice_count, sms, sm_count);
    if (!f->forwards) return;
    fabric_side_build(&f->far_request, a, e, c, NET_LEVEL_slice_net, NET_REQUESTS, net_domain,
                      arena_printf(a, "%sslice_net.requests", at));
    fabric_side_build(&f->far_reply, a, e, c, NET_LEVEL_slice_net, NET_REPLIES, net_domain,
                      arena_printf(a, "%sslice_net.replies", at));
    people(&f->far_request, slices, slice_count, slices, slice_count);
    people(&f->far_reply, slices, slice_count, slices, slice_count);
}
