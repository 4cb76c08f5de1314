/* gates: see gates.h. A gateway activation drains each pending input until the next network refuses a
 * packet. */
#include "net/gates.h"

#include "base/diag.h"
#include "stats/stats.h"

enum { FROM_ABOVE = UINT32_MAX };

/* The next network of a packet. */
struct hop {
    struct fabric_side *side; /* NULL: not found yet */
    struct gate_port *port;   /* port of `side` */
    struct net_packet packet;
    uint64_t *counter; /* statistic of the hop; NULL: the hop into a chiplet */
};

struct gate_in {
    struct fabric_side *side;
    uint32_t sink;
    uint32_t chiplet; /* source chiplet within the GPU; FROM_ABOVE: the input is chiplet_net or gpu_net */
    struct hop hop;   /* hop of the front packet; hop.side is NULL before the first attempt */
};

/* The gateway of one GPU, for requests or for replies. */
struct gate {
    struct gates *all;
    uint32_t gpu, component;
    enum net_direction direction;
    struct gate_in *ins;
    uint32_t in_count, words, rr_input;
    uint64_t *pending;   /* mask of inputs with a packet, arrived or with a known arrival */
    uint64_t retry_tick; /* first tick at which a network that refused accepts; ENGINE_NEVER: unknown */
    struct gates_stats stats;
};

struct gates {
    struct engine *engine;
    struct fabric *fabrics;
    struct pool *requests;
    uint32_t gpus, chiplets_per_gpu, slices_per_chiplet, sms_per_chiplet;
    struct fabric_side *chiplet_nets[2]; /* [direction][GPU]; NULL: a GPU has one chiplet */
    struct fabric_side *gpu_net[2];      /* [direction]; NULL: one GPU */
    struct gate *gate[2];                /* [direction][GPU] */
};

/* ---- path of a packet ---- */

static uint32_t target_chiplet(const struct gates *g, enum net_direction direction, const struct request *r)
{
    if (direction == NET_REQUESTS) return r->home.slice / g->slices_per_chiplet;
    return r->via ? (r->via - 1u) / g->slices_per_chiplet : r->sm / g->sms_per_chiplet;
}

static struct fabric_side *side_of(struct fabric *f, const struct request *r, enum net_direction direction)
{
    if (direction == NET_REQUESTS) return r->via ? &f->far_request : &f->request;
    return r->via ? &f->far_reply : &f->reply;
}

/* The hop into a chiplet. The home slice of the line selects the gate port, so packets of a line stay in
 * order. */
static void find_hop_into_chiplet(const struct gate *gate, const struct request *r, struct fabric *f,
                                  struct hop *h)
{
    struct fabric_side *side = side_of(f, r, gate->direction);
    const uint32_t end = gate->direction == NET_REQUESTS ? r->home.slice : r->via ? r->via - 1u : r->sm;
    h->side = side;
    h->packet.src = side->sender_count + r->home.slice % side->gates;
    h->packet.dst = end - side->first_receiver;
    h->packet.cls = net_spec_of(side->net)->classes - 1;
    h->counter = NULL;
}

static void find_hop(struct gate *gate, const struct gate_in *in, const struct net_packet *p, struct hop *h)
{
    const struct gates *g = gate->all;
    const struct request *r = request_at(g->requests, (uint32_t)p->handle);
    const uint32_t chiplet = target_chiplet(g, gate->direction, r), gpu = chiplet / g->chiplets_per_gpu;
    h->packet = (struct net_packet){.handle = p->handle, .bytes = p->bytes};
    if (gpu != gate->gpu) {
        h->side = g->gpu_net[gate->direction];
        h->packet.src = gate->gpu;
        h->packet.dst = gpu;
        h->counter = &gate->stats.between_gpus;
    } else if (in->chiplet != FROM_ABOVE) {
        h->side = &g->chiplet_nets[gate->direction][gpu];
        h->packet.src = in->chiplet;
        h->packet.dst = chiplet % g->chiplets_per_gpu;
        h->counter = &gate->stats.between_chiplets;
    } else {
        find_hop_into_chiplet(gate, r, &g->fabrics[chiplet], h);
    }
    h->port = &h->side->ports[h->packet.src - h->side->sender_count];
}

/* ---- forwarding ---- */

static inline uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Injects the front packet into the next network. False: the network refused it. Then gate_room() wakes the
 * gateway, or retry_tick does if the network accepts in its next cycle. A full port refuses the packets of
 * all inputs, so port->full_tick saves further attempts. */
static inline bool forward(struct gate *gate, struct gate_in *in)
{
    struct hop *const h = &in->hop;
    struct fabric_side *const side = h->side;
    if (engine_tick(gate->all->engine) < h->port->full_tick) {
        gate->retry_tick = min_u64(gate->retry_tick, h->port->full_tick);
        net_refuse_again(side->net);
        return false;
    }
    const uint64_t at = fabric_side_now(side);
    if (!net_has_room(side->net, h->packet.src, h->packet.dst, at)) {
        const bool registered = fabric_side_refuse(side, at, &h->packet);
        const uint64_t retry_tick = registered ? ENGINE_NEVER : (at + 1) * side->ticks_per_cycle;
        gate->retry_tick = min_u64(gate->retry_tick, retry_tick);
        if (!side->by_pairs) h->port->full_tick = retry_tick;
        return false;
    }
    (void)fabric_side_send(side, at, &h->packet);
    fabric_side_take(in->side, fabric_side_now(in->side), in->sink);
    gate->stats.passed++;
    if (h->counter) ++*h->counter;
    gate->stats.requests_between_gpus +=
        h->counter == &gate->stats.between_gpus && gate->direction == NET_REQUESTS;
    h->side = NULL;
    return true;
}

/* Forwards the packets of one input until the next network refuses one. Returns the arrival tick of the next
 * packet in flight; ENGINE_NEVER: none. */
static inline uint64_t drain_input(struct gate *gate, uint32_t idx)
{
    struct gate_in *in = &gate->ins[idx];
    for (;;) {
        if (!in->hop.side) {
            const uint64_t at = fabric_side_now(in->side), cyc = net_peek_cyc(in->side->net, in->sink);
            if (cyc == NET_NEVER) {
                gate->pending[idx / 64] &= ~((uint64_t)1 << (idx % 64));
                return ENGINE_NEVER;
            }
            if (cyc > at) return cyc * in->side->ticks_per_cycle;
            find_hop(gate, in, net_peek(in->side->net, in->sink, at), &in->hop);
        }
        if (!forward(gate, in)) break;
    }
    gate->stats.blocked++;
    return ENGINE_NEVER;
}

/* Serves all inputs. The first input of the round-robin advances whenever a packet was forwarded. */
static void wake(void *self, uint64_t now)
{
    struct gate *gate = self;
    const uint64_t passed = gate->stats.passed;
    uint64_t next = ENGINE_NEVER;
    (void)now;
    if (gate->retry_tick <= engine_tick(gate->all->engine)) gate->retry_tick = ENGINE_NEVER;
    /* The word of the first input is read twice, the second time for the inputs before it. */
    uint32_t word = gate->rr_input / 64;
    const uint64_t first = ~(uint64_t)0 << (gate->rr_input % 64);
    for (uint32_t k = 0; k <= gate->words; k++) {
        const uint64_t mask = k == 0 ? first : k == gate->words ? ~first : ~(uint64_t)0;
        for (uint64_t left = gate->pending[word] & mask; left; left &= left - 1)
            next = min_u64(next, drain_input(gate, word * 64 + (uint32_t)__builtin_ctzll(left)));
        if (++word == gate->words) word = 0;
    }
    if (gate->stats.passed != passed) {
        if (++gate->rr_input == gate->in_count) gate->rr_input = 0;
        engine_progress(gate->all->engine);
    }
    next = min_u64(next, gate->retry_tick);
    if (next != ENGINE_NEVER) engine_wake_at_tick(gate->all->engine, gate->component, next);
}

void gate_arrived(const struct gate_port *p, uint64_t tick)
{
    *p->pending |= p->bit;
    engine_wake_at_tick(p->gate->all->engine, p->gate->component, tick);
}

void gate_room(struct gate_port *p, uint64_t tick)
{
    p->full_tick = 0;
    p->gate->retry_tick = min_u64(p->gate->retry_tick, tick);
    engine_wake_at_tick(p->gate->all->engine, p->gate->component, tick);
}

static struct wait waits(void *self)
{
    const struct gate *gate = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
    for (uint32_t k = 0; k < gate->in_count; k++) {
        const struct gate_in *in = &gate->ins[k];
        const struct net_packet *p = net_peek(in->side->net, in->sink, fabric_side_now(in->side));
        if (!p) continue;
        struct hop hop;
        find_hop(self, in, p, &hop);
        w.reason = WAIT_QUEUE_FULL;
        w.on = hop.side->component;
        (void)snprintf(w.detail, sizeof w.detail,
                       "input %u of the gateway: the next network refuses request %llu", k,
                       (unsigned long long)p->handle);
        return w;
    }
    return w;
}

/* ---- building ---- */

/* Makes gate ports [first, first + count) of a network inputs and outputs of this gateway. */
static void attach(struct arena *a, struct gate *gate, struct fabric_side *side, uint32_t first,
                   uint32_t count, uint32_t chiplet)
{
    if (!side->ports) side->ports = ARENA_ARRAY(a, struct gate_port, side->gates);
    for (uint32_t k = first; k < first + count; k++) {
        gate->ins[gate->in_count] =
            (struct gate_in){.side = side, .sink = side->receiver_count + k, .chiplet = chiplet};
        side->ports[k] = (struct gate_port){.gate = gate,
                                            .pending = &gate->pending[gate->in_count / 64],
                                            .bit = (uint64_t)1 << (gate->in_count % 64)};
        gate->in_count++;
    }
}

static void build_gate(struct gates *g, struct arena *a, uint32_t gpu, enum net_direction direction,
                       uint32_t domain)
{
    struct gate *gate = &g->gate[direction][gpu];
    const struct fabric *one = &g->fabrics[0];
    *gate = (struct gate){.all = g, .gpu = gpu, .direction = direction, .retry_tick = ENGINE_NEVER};
    const uint32_t in_max = g->chiplets_per_gpu * (one->request.gates + one->far_request.gates + 1) + 1;
    gate->ins = ARENA_ARRAY(a, struct gate_in, in_max);
    gate->words = (in_max + 63) / 64;
    gate->pending = ARENA_ARRAY(a, uint64_t, gate->words);
    for (uint32_t k = 0; k < g->chiplets_per_gpu; k++) {
        struct fabric *f = &g->fabrics[gpu * g->chiplets_per_gpu + k];
        struct fabric_side *sms = direction == NET_REQUESTS ? &f->request : &f->reply;
        struct fabric_side *slices = direction == NET_REQUESTS ? &f->far_request : &f->far_reply;
        attach(a, gate, sms, 0, sms->gates, k);
        if (f->forwards) attach(a, gate, slices, 0, slices->gates, k);
    }
    if (g->chiplet_nets[direction])
        attach(a, gate, &g->chiplet_nets[direction][gpu], 0, g->chiplets_per_gpu, FROM_ABOVE);
    if (g->gpu_net[direction]) attach(a, gate, g->gpu_net[direction], gpu, 1, FROM_ABOVE);
    gate->component = engine_add(
        g->engine, (struct component_spec){
                       .name = arena_printf(a, "gpu%u.gate.%s", gpu, direction ? "replies" : "requests"),
                       .self = gate,
                       .domain = domain,
                       .wake = wake,
                       .waits = waits});
}

static void build_nets(struct gates *g, struct arena *a, const struct config *c, enum net_direction direction,
                       const uint32_t domains[NET_LEVELS])
{
    const char *const what = direction ? "replies" : "requests";
    if (net_level_used(c, NET_LEVEL_chiplet_net)) {
        g->chiplet_nets[direction] = ARENA_ARRAY(a, struct fabric_side, g->gpus);
        for (uint32_t k = 0; k < g->gpus; k++) {
            fabric_side_build(&g->chiplet_nets[direction][k], a, g->engine, c, NET_LEVEL_chiplet_net,
                              direction, domains[NET_LEVEL_chiplet_net], 0,
                              direction == NET_REPLIES ? &g->chiplet_nets[NET_REQUESTS][k] : NULL,
                              arena_printf(a, "gpu%u.chiplet_net.%s", k, what));
            g->chiplet_nets[direction][k].gates = g->chiplets_per_gpu;
        }
    }
    if (net_level_used(c, NET_LEVEL_gpu_net)) {
        g->gpu_net[direction] = ARENA_NEW(a, struct fabric_side);
        fabric_side_build(g->gpu_net[direction], a, g->engine, c, NET_LEVEL_gpu_net, direction,
                          domains[NET_LEVEL_gpu_net], 0,
                          direction == NET_REPLIES ? g->gpu_net[NET_REQUESTS] : NULL,
                          arena_printf(a, "gpu_net.%s", what));
        g->gpu_net[direction]->gates = g->gpus;
    }
}

struct gates *gates_new(struct arena *a, struct engine *e, const struct config *c, struct fabric *fabrics,
                        const uint32_t domains[NET_LEVELS], struct stats_registry *stats)
{
    struct gates *g = ARENA_NEW(a, struct gates);
    *g = (struct gates){.engine = e,
                        .fabrics = fabrics,
                        .requests = fabrics->requests,
                        .gpus = c->system.gpus,
                        .chiplets_per_gpu = c->gpu.chiplets,
                        .slices_per_chiplet = config_slices_per_chiplet(c),
                        .sms_per_chiplet = config_sms_per_chiplet(c)};
    /* A gateway runs in the fastest clock of its networks, so that it adds no delay. */
    uint32_t fastest = NET_LEVEL_net;
    for (uint32_t level = 0; level < NET_LEVELS; level++)
        if (net_level_used(c, level) && net_level_clock(c, level) > net_level_clock(c, fastest))
            fastest = level;
    for (uint32_t direction = 0; direction < 2; direction++) {
        build_nets(g, a, c, direction, domains);
        g->gate[direction] = ARENA_ARRAY(a, struct gate, g->gpus);
        for (uint32_t k = 0; k < g->gpus; k++) {
            build_gate(g, a, k, direction, domains[fastest]);
            const struct stats_scope scope = {(int32_t)k, STATS_ANY, STATS_ANY, STATS_ANY};
            STATS_REGISTER(stats, gates, &g->gate[direction][k].stats, scope);
        }
    }
    return g;
}

struct fabric_side *gates_net(const struct gates *g, enum net_level level, enum net_direction direction,
                              uint32_t idx)
{
    if (!g) return NULL;
    if (level == NET_LEVEL_chiplet_net)
        return g->chiplet_nets[direction] && idx < g->gpus ? &g->chiplet_nets[direction][idx] : NULL;
    return level == NET_LEVEL_gpu_net && !idx ? g->gpu_net[direction] : NULL;
}
