/* fabric: see fabric.h. */
#include "gpu/fabric.h"

#include "check/fault.h"
#include "net/net_level.h"

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

static inline uint64_t net_now(const struct fabric *f, const struct fabric_side *s, uint64_t now)
{
    return s->same_clock ? now : engine_now(f->engine, f->domain);
}

/* The port's component must look from that cycle of the network on. */
static void wake_port(const struct fabric_side *s, uint32_t component, uint64_t net_cyc)
{
    struct fabric *f = s->fabric;
    if (s->same_clock) {
        engine_wake(f->engine, component, net_cyc);
        return;
    }
    engine_wake_at_tick(f->engine, component, net_cyc * f->ticks_per_cycle);
}

static void arrived(void *ctx, uint32_t sink, uint64_t visible_cyc)
{
    const struct fabric_side *s = ctx;
    wake_port(s, s->receivers[sink], visible_cyc);
}

static void room(void *ctx, uint32_t source, uint64_t from_cyc)
{
    const struct fabric_side *s = ctx;
    wake_port(s, s->senders[source], from_cyc);
}

static void step(void *self, uint64_t now)
{
    const struct fabric_side *s = self;
    const uint64_t next = net_step(s->net, now);
    engine_progress(s->fabric->engine);
    if (next != NET_NEVER) engine_wake(s->fabric->engine, s->component, next);
}

/* After an injection or a pop the network may have something to do earlier. */
static inline void step_soon(struct fabric *f, const struct fabric_side *s, uint64_t now)
{
    const uint64_t next = net_next_cyc(s->net);
    if (next != NET_NEVER) engine_wake(f->engine, s->component, next > now ? next : now + 1);
}

/* ---- passing ---- */

static inline bool send(struct fabric *f, struct fabric_side *s, uint64_t now, const struct net_packet *p)
{
    const uint64_t at = net_now(f, s, now);
    const bool taken = net_try_inject(s->net, p, at);
    step_soon(f, s, at); /* also when refused: the network tells in a step of its own when there is room */
    return taken;
}

static inline uint32_t front(const struct fabric *f, const struct fabric_side *s, uint64_t now, uint32_t port)
{
    const struct net_packet *p = net_peek(s->net, port, net_now(f, s, now));
    return p ? (uint32_t)p->handle : REQUEST_NONE;
}

static inline void take(struct fabric *f, struct fabric_side *s, uint64_t now, uint32_t port)
{
    const uint64_t at = net_now(f, s, now);
    net_pop(s->net, port, at);
    step_soon(f, s, at);
}

bool fabric_try_request(struct fabric *f, uint64_t now, uint32_t request, uint32_t sm, uint32_t slice)
{
    const struct net_packet p = {.handle = request,
                                 .src = sm,
                                 .dst = slice,
                                 .bytes = fabric_request_bytes(f, request_at(f->requests, request))};
    return FAULT_FIRES(request_dropped) || send(f, &f->request, now, &p);
}

bool fabric_may_request(const struct fabric *f, uint64_t now, uint32_t sm)
{
    return net_has_room(f->request.net, sm, 0, net_now(f, &f->request, now));
}

bool fabric_try_reply(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice, uint32_t sm)
{
    const struct net_packet p = {.handle = request,
                                 .src = slice,
                                 .dst = sm,
                                 .bytes = fabric_reply_bytes(f, request_at(f->requests, request))};
    return send(f, &f->reply, now, &p);
}

uint32_t fabric_request_at(const struct fabric *f, uint64_t now, uint32_t slice)
{
    return front(f, &f->request, now, slice);
}
void fabric_take_request(struct fabric *f, uint64_t now, uint32_t slice) { take(f, &f->request, now, slice); }
uint32_t fabric_reply_at(const struct fabric *f, uint64_t now, uint32_t sm)
{
    return front(f, &f->reply, now, sm);
}
void fabric_take_reply(struct fabric *f, uint64_t now, uint32_t sm) { take(f, &f->reply, now, sm); }

static void sleep_port(struct fabric *f, const struct fabric_side *in, uint32_t port, uint64_t now,
                       bool refused)
{
    const uint64_t cyc = net_peek_cyc(in->net, port);
    if (refused)
        engine_wake(f->engine, in->receivers[port], now + 1);
    else if (cyc != NET_NEVER && cyc > engine_now(f->engine, f->domain)) /* else it has seen it */
        engine_wake_at_tick(f->engine, in->receivers[port], cyc * f->ticks_per_cycle);
}

void fabric_sleep_sm(struct fabric *f, uint64_t now, uint32_t sm, bool refused)
{
    sleep_port(f, &f->reply, sm, now, refused);
}

void fabric_sleep_slice(struct fabric *f, uint64_t now, uint32_t slice, bool refused)
{
    sleep_port(f, &f->request, slice, now, refused);
}

uint64_t fabric_request_cyc(const struct fabric *f, uint32_t sm, uint32_t slice, uint32_t bytes)
{
    return net_zero_load_cyc(f->request.net, sm, slice, bytes);
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

static void build_side(struct fabric *f, struct fabric_side *s, struct arena *a, const struct config *c,
                       enum net_direction direction, const char *name)
{
    const struct net_spec spec = net_level_spec(c, NET_LEVEL_net, direction);
    const struct net_wiring wiring = {.ctx = s, .arrived = arrived, .room = room};
    s->fabric = f;
    s->net = net_new(a, &spec, &wiring);
    s->same_clock = c->clock.net == c->clock.sm && c->clock.net == c->clock.llc;
    s->component = engine_add(
        f->engine, (struct component_spec){
                       .name = name, .self = s, .domain = f->domain, .wake = step, .waits = nothing});
}

void fabric_init(struct fabric *f, struct arena *a, struct engine *e, const struct config *c,
                 struct pool *requests, uint32_t net_domain, const uint32_t *sms, const uint32_t *slices)
{
    *f = (struct fabric){.engine = e,
                         .requests = requests,
                         .domain = net_domain,
                         .ticks_per_cycle = config_tick_frequency(c) / c->clock.net,
                         .header_bytes = (uint32_t)c->packet.header,
                         .write_bytes = (uint32_t)c->packet.write_literal,
                         .write_is_literal = c->packet.write == write_packet_literal};
    build_side(f, &f->request, a, c, NET_REQUESTS, "net.requests");
    build_side(f, &f->reply, a, c, NET_REPLIES, "net.replies");
    f->clocks_differ = !f->request.same_clock;
    f->request.senders = f->reply.receivers = sms;
    f->request.receivers = f->reply.senders = slices;
}
