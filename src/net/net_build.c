/* net_build: from a spec to routers, links and routes.
 *
 *   crossbar   source i ─► router 0 ─► sink j
 *   hxbar      source i ─► router i / (sources per router) ─► router of sink ─► sink j
 *   ring       source i ─► router i ─► neighbours … ─► router j ─► sink j
 *   links      source i ═► sink j            (one link for every pair)
 *   queued     source i ─► queue of sink j ─► sink j             (net_queue.c) */
#include <string.h>

#include "net/net_nodes.h"
#include "net/net_private.h"

struct net_spec net_spec_default(void)
{
    return (struct net_spec){
        .topology = NET_CROSSBAR,
        .sources = 64,
        .sinks = 64,
        .first_routers = 8,
        .second_routers = 8,
        .groups = 1,
        .width_bytes = 16,
        .vcs = 4,
        .vc_flits = 8,
        .classes = 1,
        .iterations = 1,
        .input_speedup = 1,
        .internal_speedup = 1,
        .hold = false,
        .in_order = true,
        .router_latency_cyc = 3,
        .link_latency_cyc = 1,
        .inject_latency_cyc = 2,
        .credit_delay_cyc = 0,
        .source_packets = 2,
        .sink_packets = 8,
        .max_packet_bytes = 256,
    };
}

/* Of the routers that share the ports of one side, the one with gates and others; NET_NONE: there is none. */
static uint32_t mixed_router(uint32_t ports, uint32_t routers, uint32_t gates)
{
    const uint32_t each = routers ? ports / routers : 0, others = ports - gates;
    return each && gates && others % each ? others / each : NET_NONE;
}

/* hxbar: what goes out and what comes in have a link in common, at most one. */
static bool has_mixed_link(const struct net_spec *s)
{
    return s->topology == NET_HXBAR && mixed_router(s->sources, s->first_routers, s->gates) != NET_NONE &&
           mixed_router(s->sinks, s->second_routers, s->gates) != NET_NONE;
}

/* ASSUMPTION: a packet holds its way. One that stops half way keeps the link from all VCs, also from those of
 * packets that must not wait for it: the other set of a ring, what comes in through gates. Such links are
 * all_or_none, and their VCs take the longest packet. */
static bool has_whole_packets(const struct net_spec *s)
{
    const bool all_or_none = s->topology == NET_RING || has_mixed_link(s);
    return s->hold && s->internal_speedup == 1 && net_has_vcs(s) &&
           (!all_or_none || s->max_packet_bytes / s->width_bytes < s->vc_flits);
}

/* Cycles that the calendar of events has: no event is further ahead. */
static uint32_t wheel_slots(const struct net_spec *s)
{
    const bool whole_packets = has_whole_packets(s);
    uint64_t longest = s->router_latency_cyc + s->link_latency_cyc;
    if (s->inject_latency_cyc > longest) longest = s->inject_latency_cyc;
    longest += s->credit_delay_cyc + 12;
    /* Sources schedule what they know: at most a buffer of flits ahead. Plain links: a whole packet. */
    longest += s->vc_flits * (s->internal_speedup > 1 ? s->vcs : 1);
    const uint32_t flits = s->max_packet_bytes / s->width_bytes + 1;
    /* Whole packets: what is known of a packet longer than its buffer is a round trip per buffer ahead, ...
     */
    if (whole_packets) longest += s->vc_flits < flits ? flits * longest : 2 * flits + s->vc_flits;
    /* ... and so is a place downstream that a packet on its way there will leave. */
    if (whole_packets) longest += s->router_latency_cyc + s->link_latency_cyc + s->credit_delay_cyc;
    if (s->topology == NET_LINKS) longest += s->max_packet_bytes / s->width_bytes + 1;
    uint32_t size = 16;
    while (size <= longest) size *= 2;
    return size;
}

uint64_t net_calendar_bytes(const struct net_spec *s)
{
    if (s->topology == NET_QUEUED || net_between_nodes(s)) return 0;
    const uint64_t items = (uint64_t)(s->sources + s->sinks) * (net_has_vcs(s) ? s->vcs : 1);
    return wheel_slots(s) * items * NET_EVENTS * sizeof(uint64_t);
}

/* Queues at one side, each of `packets` that take `each` bytes. */
static uint64_t ends_bytes(const struct net_spec *s, uint32_t ports, uint64_t packets, uint64_t each)
{
    const uint64_t links = (uint64_t)s->sources * s->sinks / s->groups;
    if (s->topology == NET_QUEUED) return 0; /* they grow */
    if (net_between_nodes(s))
        return (uint64_t)s->sources * s->sinks * packets * (each + sizeof(struct net_flight));
    return (s->topology == NET_LINKS ? links : ports) * packets *
           (each + sizeof(struct net_flight) + sizeof(uint32_t));
}

uint64_t net_source_bytes(const struct net_spec *s)
{
    return ends_bytes(s, s->sources, s->source_packets, sizeof(struct net_queued));
}

uint64_t net_sink_bytes(const struct net_spec *s)
{
    return ends_bytes(s, s->sinks, s->sink_packets, 2 * sizeof(struct net_slot));
}

const char *net_spec_problem(const struct net_spec *s)
{
    if (net_between_nodes(s)) {
#define NODE_RULE(name, condition, message) \
    if (!(condition)) return message;
#include "net/node_rules.def"
#undef NODE_RULE
        return NULL;
    }
#define NET_RULE(name, condition, message) \
    if (!(condition)) return message;
#include "net/net_rules.def"
#undef NET_RULE
    return NULL;
}

/* ---- allocation ---- */

static void router_alloc(struct net *n, struct arena *a, uint32_t idx, uint32_t ins, uint32_t outs)
{
    struct net_router *r = &n->routers[idx];
    const uint32_t switch_ins = ins * n->spec.input_speedup;
    r->idx = idx;
    r->ins = (uint16_t)ins;
    r->outs = (uint16_t)outs;
    r->switch_ins = (uint16_t)switch_ins;
    r->vc_words = (uint16_t)((ins * n->spec.vcs + 63) / 64);
    r->out_words = (uint16_t)((outs + 63) / 64);
    r->in_words = (uint16_t)((switch_ins + 63) / 64);
    r->requests = ARENA_ARRAY(a, uint64_t, (size_t)outs * r->in_words);
    r->pairs = ARENA_ARRAY(a, uint16_t, (size_t)switch_ins * outs);
    r->grant_ptr = ARENA_ARRAY(a, uint16_t, outs);
    r->sink_full = ARENA_ARRAY(a, uint64_t, r->out_words);
    r->grants = ARENA_ARRAY(a, uint64_t, switch_ins);
    r->sa_active = ARENA_ARRAY(a, uint64_t, r->out_words);
    r->va_active = ARENA_ARRAY(a, uint64_t, r->out_words);
    r->held = ARENA_ARRAY(a, uint64_t, r->out_words);
    r->matched_out = ARENA_ARRAY(a, uint64_t, r->out_words);
    r->taken_in = ARENA_ARRAY(a, uint64_t, r->in_words);
    r->waiting = ARENA_ARRAY(a, uint64_t, (size_t)outs * n->sets * r->vc_words);
    r->wait_count = ARENA_ARRAY(a, uint16_t, (size_t)outs * n->sets);
    r->accept_ptr = ARENA_ARRAY(a, uint16_t, switch_ins);
    r->vc_turn = ARENA_ARRAY(a, uint16_t, switch_ins);
    r->best_out = ARENA_ARRAY(a, uint16_t, switch_ins);
    r->best_dist = ARENA_ARRAY(a, uint16_t, switch_ins);
    r->touched = ARENA_ARRAY(a, uint16_t, switch_ins);
    r->matches = ARENA_ARRAY(a, struct net_match, outs);
    r->held_moves = ARENA_ARRAY(a, struct net_match, outs);
    memset(r->best_out, 0xff, switch_ins * sizeof *r->best_out);
    if (n->whole_packets) {
        r->switch_in = ARENA_ARRAY(a, struct net_switch_in, switch_ins);
        for (uint32_t i = 0; i < switch_ins; i++) r->switch_in[i].best_out = NET_NO_PORT;
        r->ends = ARENA_ARRAY(a, uint32_t, outs);
    }
    r->route = ARENA_ARRAY(a, uint16_t, n->spec.sinks);
    r->route_set = ARENA_ARRAY(a, uint8_t, n->spec.sinks);
}

/* Sizes of all routers are known: number outputs, inputs and VCs; sources come after the router outputs. */
static void number_ports(struct net *n, struct arena *a)
{
    const uint32_t vcs = n->spec.vcs;
    uint32_t outs = 0, ins = 0;
    for (uint32_t i = 0; i < n->router_count; i++) {
        n->routers[i].out_base = outs;
        n->routers[i].ivc_base = ins * vcs;
        outs += n->routers[i].outs;
        ins += n->routers[i].ins;
    }
    n->source_base = outs;
    n->source_count = n->spec.sources * (n->spec.topology == NET_LINKS ? n->spec.sinks / n->spec.groups : 1);
    n->out_count = outs + n->source_count;
    n->input_count = ins;
    n->ivc_count = ins * vcs;
    n->ring_count = n->ivc_count + n->spec.sinks * vcs; /* bare rings for the VCs towards sinks */
    n->outs = arena_alloc_aligned(a, n->out_count * sizeof *n->outs, 64);
    n->inputs = ARENA_ARRAY(a, struct net_input, ins ? ins : 1);
    n->ivcs = arena_alloc_aligned(a, n->ring_count * sizeof *n->ivcs, 64);
    n->times = ARENA_ARRAY(a, uint64_t, (size_t)n->ring_count * n->spec.vc_flits);
    for (uint32_t i = 0; i < n->ring_count; i++) n->ivcs[i].ring.first = i * n->spec.vc_flits;
    while ((1u << n->fifo_log2) < n->spec.vc_flits) n->fifo_log2++;
    n->fifo_mask = (1u << n->fifo_log2) - 1;
    if (n->whole_packets) {
        while (n->leave_mask + 1 < 2 * n->spec.vc_flits + 4) n->leave_mask = 2 * n->leave_mask + 1;
        n->vcs = arena_alloc_aligned(a, n->ivc_count * sizeof *n->vcs, 64);
    }
    n->fifo = ARENA_ARRAY(a, struct net_place, (size_t)n->ring_count << n->fifo_log2);
    n->link_stage = ARENA_ARRAY(a, uint32_t, n->out_count);
    n->link_port = ARENA_ARRAY(a, uint32_t, n->out_count);
    for (uint32_t i = 0; i < n->router_count; i++)
        for (uint32_t o = 0; o < n->routers[i].outs; o++) n->outs[n->routers[i].out_base + o].router = i;
    for (uint32_t i = 0; i < n->source_count; i++) n->outs[n->source_base + i].router = NET_NONE;
}

/* ---- links ---- */

static void out_init(struct net *n, uint32_t out, uint32_t stage, uint32_t port)
{
    struct net_out *o = &n->outs[out];
    o->held_ivc = NET_NO_PORT;
    o->last_vc = (uint16_t)(n->spec.vcs - 1);
    o->free_vcs = n->all_vcs;
    o->ring = NET_NONE;
    n->link_stage[out] = stage;
    n->link_port[out] = port;
    if (stage + 1 > n->stage_count) n->stage_count = stage + 1;
    /* After a switch allocation comes the rest of the router, then the link. A source acts one cycle after
     * the acceptance, see the contract in net.h: one less to arrive, one more for its credits. */
    if (o->router == NET_NONE) {
        o->arrive_delay = (uint16_t)(n->spec.inject_latency_cyc - 1);
        o->credit_delay = (uint16_t)(3 + n->spec.credit_delay_cyc);
    } else {
        o->arrive_delay = (uint16_t)(n->spec.router_latency_cyc - 2 + n->spec.link_latency_cyc);
        o->credit_delay = (uint16_t)(2 + n->spec.credit_delay_cyc);
    }
    o->latency = (uint16_t)(o->arrive_delay + (o->router != NET_NONE));
    if (!n->whole_packets || o->router == NET_NONE) return;
    const struct net_router *r = &n->routers[o->router];
    const uint32_t local = out - r->out_base;
    o->requests = &r->requests[(size_t)local * r->in_words];
    if (!n->by_lanes) o->pairs = &r->pairs[(size_t)local * r->switch_ins];
    o->active = &r->sa_active[local / 64];
    o->bit = 1ull << (local % 64);
}

/* Which flows a link can carry: its sources and destinations, counted from 0, as remainders. */
struct flow_space {
    uint32_t src_mod, dst_mod;
    uint32_t *of_src, *of_dst;
};

static struct flow_space flow_space(struct net *n, struct arena *a, uint32_t src_mod, uint32_t dst_mod)
{
    struct flow_space f = {src_mod, dst_mod, ARENA_ARRAY(a, uint32_t, n->spec.sources),
                           ARENA_ARRAY(a, uint32_t, n->spec.sinks)};
    DIAG_ASSERT(src_mod && dst_mod);
    for (uint32_t i = 0; i < n->spec.sources; i++) f.of_src[i] = i % src_mod * dst_mod * n->spec.classes;
    for (uint32_t i = 0; i < n->spec.sinks; i++) f.of_dst[i] = i % dst_mod * n->spec.classes;
    return f;
}

/* Whole packets: the VCs of an input. */
static void vcs_init(struct net *n, struct arena *a, uint32_t out, uint32_t router, uint32_t input)
{
    const uint32_t vcs = n->spec.vcs, size = n->spec.vc_flits;
    for (uint32_t i = input * vcs; i < (input + 1) * vcs; i++) {
        const struct net_ivc *q = &n->ivcs[i];
        struct net_vc *p = &n->vcs[i];
        p->log = ARENA_ARRAY(a, struct net_leave, n->leave_mask + 1);
        p->stays = ARENA_ARRAY(a, struct net_stay, n->fifo_mask + 1);
        p->router = &n->routers[router];
        p->feeder = &n->outs[out];
        p->from_source = q->from_source;
        p->credit_delay = q->credit_delay;
        p->round_trip = (uint16_t)(q->credit_delay + n->outs[out].latency);
        p->switch_in = q->switch_in;
        p->in_word = q->switch_in / 64;
        p->in_bit = 1ull << (q->switch_in % 64);
        p->place_bit = (uint16_t)(1u << q->place);
        while (n->position[p->nth] != i - input * vcs) p->nth++;
        p->local = (uint16_t)(i - n->routers[router].ivc_base);
        /* all places are free: number x, as no sender is faster than a flit per cycle, by cycle x */
        p->freed = size;
        p->log_end = 1;
        p->log[0] = (struct net_leave){size - 1, size};
    }
}

static void link_to_router(struct net *n, struct arena *a, uint32_t out, uint32_t router, uint32_t in,
                           const struct flow_space *space)
{
    struct net_router *r = &n->routers[router];
    const uint32_t vcs = n->spec.vcs, input = r->ivc_base / vcs + in;
    n->outs[out].to = n->outs[out].ring = input * vcs;
    for (uint32_t v = 0; v < vcs; v++) {
        struct net_ivc *q = &n->ivcs[input * vcs + v];
        q->feeder = out;
        q->from_source = n->outs[out].router == NET_NONE;
        q->credit_delay = n->outs[out].credit_delay;
        q->feeder_vc = v;
        q->router = router;
        q->input = input;
        q->switch_in = (uint16_t)((in * vcs + v) / n->group);
        q->place = (uint8_t)(v % n->group);
    }
    if (n->by_lanes) return;
    if (n->whole_packets) vcs_init(n, a, out, router, input);
    /* Packets of a flow can only overtake each other where they may take different VCs of one input. */
    if (!n->spec.in_order || vcs == 1) return;
    struct net_input *port = &n->inputs[input];
    const size_t flows = (size_t)space->src_mod * space->dst_mod * n->spec.classes;
    if (n->whole_packets) {
        struct net_out *o = &n->outs[out];
        o->lasts = ARENA_ARRAY(a, uint64_t, flows);
        o->flow_of_src = space->of_src;
        o->flow_of_dst = space->of_dst;
        for (uint32_t v = 0; v < vcs; v++) n->vcs[input * vcs + v].lasts = o->lasts;
        return;
    }
    port->flow_of_src = space->of_src;
    port->flow_of_dst = space->of_dst;
    port->flows = ARENA_ARRAY(a, struct net_flow, flows);
    memset(port->flows, 0xff, flows * sizeof *port->flows);
}

static void link_to_sink(struct net *n, uint32_t out, uint32_t sink)
{
    struct net_out *o = &n->outs[out];
    const struct net_spec *s = &n->spec;
    o->at_sink = true;
    o->to = sink;
    /* ASSUMPTION: the receiving end of a long link has room for what is under way on it, so that latency
     * alone never throttles: a packet more for every cycle beyond the shortest link. With internal speed-up,
     * a queue of vcs * vc_flits flits stands before the link and holds packets too. */
    o->slots = s->sink_packets + s->link_latency_cyc - 1 + s->credit_delay_cyc;
    if (s->internal_speedup > 1) o->slots += s->vcs * s->vc_flits;
    n->sinks[sink].capacity += o->slots;
    n->sinks[sink].out = out;
    if (o->router == NET_NONE) {
        o->arrive_delay = (uint16_t)(s->link_latency_cyc - 1);
        return;
    }
    /* A reserved slot takes flits as fast as they come; a VC can then only run out of credits when they need
     * longer to come back than it takes to use them up, or when flits queue before the link. */
    const uint32_t round_trip = 1u + o->arrive_delay + o->credit_delay;
    if (s->internal_speedup > 1 || s->vc_flits < round_trip) o->ring = n->ivc_count + sink * s->vcs;
}

/* ---- topologies ---- */

static void build_crossbar(struct net *n, struct arena *a)
{
    n->router_count = 1;
    n->routers = ARENA_NEW(a, struct net_router);
    router_alloc(n, a, 0, n->spec.sources, n->spec.sinks);
    number_ports(n, a);
    const struct flow_space one = flow_space(n, a, 1, n->spec.sinks);
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        out_init(n, n->source_base + i, 0, i);
        link_to_router(n, a, n->source_base + i, 0, i, &one);
    }
    for (uint32_t j = 0; j < n->spec.sinks; j++) {
        n->routers[0].route[j] = (uint16_t)j;
        out_init(n, j, 1, j);
        link_to_sink(n, j, j);
    }
}

static void build_hxbar(struct net *n, struct arena *a)
{
    const struct net_spec *s = &n->spec;
    const uint32_t firsts = s->first_routers, seconds = s->second_routers;
    DIAG_ASSERT(firsts && seconds);
    const uint32_t per_first = s->sources / firsts, per_second = s->sinks / seconds;
    DIAG_ASSERT(per_first && per_second);
    n->router_count = firsts + seconds;
    n->routers = ARENA_ARRAY(a, struct net_router, n->router_count);
    for (uint32_t i = 0; i < n->router_count; i++)
        router_alloc(n, a, i, i < firsts ? per_first : firsts, i < firsts ? seconds : per_second);
    number_ports(n, a);
    const struct flow_space one = flow_space(n, a, 1, s->sinks),
                            pairs = flow_space(n, a, per_first, per_second);
    for (uint32_t i = 0; i < s->sources; i++) {
        out_init(n, n->source_base + i, 0, i);
        link_to_router(n, a, n->source_base + i, i / per_first, i % per_first, &one);
    }
    for (uint32_t i = 0; i < n->router_count; i++) {
        struct net_router *r = &n->routers[i];
        for (uint32_t d = 0; d < s->sinks; d++)
            r->route[d] = (uint16_t)(i < firsts ? d / per_second : d % per_second);
        for (uint32_t o = 0; o < r->outs; o++) {
            const uint32_t port = i < firsts ? i * seconds + o : (i - firsts) * per_second + o;
            out_init(n, r->out_base + o, i < firsts ? 1 : 2, port);
            if (i < firsts)
                link_to_router(n, a, r->out_base + o, firsts + o, i, &pairs);
            else
                link_to_sink(n, r->out_base + o, port);
        }
    }
    if (!has_mixed_link(s)) return;
    const uint32_t first = mixed_router(s->sources, firsts, s->gates),
                   second = mixed_router(s->sinks, seconds, s->gates);
    n->outs[n->routers[first].out_base + second].all_or_none = true;
}

/* Ports of a ring router: 0 its own node, 1 clockwise (to i+1), 2 the other way. Packets that still have to
 * pass node 0 use the first VC set, all others the second: no cycle of buffers can fill up. */
static void build_ring(struct net *n, struct arena *a)
{
    const uint32_t nodes = n->spec.sources;
    n->router_count = nodes;
    n->routers = ARENA_ARRAY(a, struct net_router, nodes);
    for (uint32_t i = 0; i < nodes; i++) router_alloc(n, a, i, 3, 3);
    number_ports(n, a);
    const struct flow_space one = flow_space(n, a, 1, nodes), pairs = flow_space(n, a, nodes, nodes);
    for (uint32_t i = 0; i < nodes; i++) {
        struct net_router *r = &n->routers[i];
        const uint32_t up = (i + 1) % nodes, down = (i + nodes - 1) % nodes;
        out_init(n, n->source_base + i, 0, i);
        link_to_router(n, a, n->source_base + i, i, 0, &one);
        for (uint32_t o = 0; o < 3; o++) out_init(n, r->out_base + o, o ? 1 : 2, o ? 2 * i + o - 1 : i);
        link_to_sink(n, r->out_base, i);
        link_to_router(n, a, r->out_base + 1, up, 1, &pairs);
        link_to_router(n, a, r->out_base + 2, down, 2, &pairs);
        n->outs[r->out_base + 1].all_or_none = n->outs[r->out_base + 2].all_or_none = true;
        for (uint32_t d = 0; d < nodes; d++) {
            const uint32_t way = (d + nodes - i) % nodes;
            /* Half way round: even nodes go one way, odd ones the other. */
            const bool clockwise = 2 * way < nodes || (2 * way == nodes && i % 2 == 0);
            r->route[d] = (uint16_t)(d == i ? 0 : clockwise ? 1 : 2);
            const bool wraps_later = clockwise ? d < up : d > down;
            r->route_set[d] = d == i || !wraps_later;
        }
    }
}

static void build_links(struct net *n, struct arena *a)
{
    const uint32_t per = n->spec.sinks / n->spec.groups; /* links of a source */
    const uint32_t sources = n->spec.sources / n->spec.groups;
    DIAG_ASSERT(per && sources);
    number_ports(n, a);
    for (uint32_t i = 0; i < n->source_count; i++) {
        out_init(n, i, 0, i);
        link_to_sink(n, i, i / (per * sources) * per + i % per);
    }
}

/* Links for reports; all else is net_queue.c. */
static void build_queued(struct net *n, struct arena *a)
{
    const struct net_spec *s = &n->spec;
    n->source_base = s->sinks;
    n->out_count = s->sinks + s->sources;
    n->outs = arena_alloc_aligned(a, n->out_count * sizeof *n->outs, 64);
    n->link_stage = ARENA_ARRAY(a, uint32_t, n->out_count);
    n->link_port = ARENA_ARRAY(a, uint32_t, n->out_count);
    for (uint32_t i = 0; i < n->out_count; i++) {
        n->link_stage[i] = i < s->sinks;
        n->link_port[i] = i < s->sinks ? i : i - s->sinks;
    }
    n->stage_count = 2;
    net_queue_build(n, a);
}

/* ---- queues and the wheel ---- */

static void ports_alloc(struct arena *a, struct net_ports *p, uint32_t ports)
{
    p->now = ARENA_ARRAY(a, uint64_t, (ports + 63) / 64);
    p->soon = ARENA_ARRAY(a, uint64_t, (ports + 63) / 64);
}

static void build_sources(struct net *n, struct arena *a)
{
    const struct net_spec *s = &n->spec;
    n->sources = arena_alloc_aligned(a, n->source_count * sizeof *n->sources, 64);
    n->source_words = (n->source_count + 63) / 64;
    n->ready_sources = ARENA_ARRAY(a, uint64_t, n->source_words);
    for (uint32_t i = 0; i < n->source_count; i++) {
        n->sources[i].left_cyc = n->sources[i].fresh_cyc = n->sources[i].tail_cyc = NET_NEVER;
        n->sources[i].last_vc = (uint16_t)(s->vcs - 1);
        n->sources[i].queue = arena_alloc_aligned(a, s->source_packets * sizeof *n->sources[i].queue,
                                                  sizeof *n->sources[i].queue);
    }
}

static void build_ends(struct net *n, struct arena *a)
{
    const struct net_spec *s = &n->spec;
    size_t flights = (size_t)n->source_count * s->source_packets + (size_t)n->ivc_count * s->vc_flits;
    if (n->nodes)
        flights += net_nodes_flights(n);
    else
        build_sources(n, a);
    for (uint32_t i = 0; i < s->sinks; i++) {
        struct net_sink *k = &n->sinks[i];
        uint32_t size = 1;
        while (size < k->capacity) size *= 2;
        k->mask = size - 1;
        k->slots = ARENA_ARRAY(a, struct net_slot, size);
        if (!n->nodes) flights += k->capacity; /* else: packets of a sink are in the buffers of links */
    }
    n->arrived.inside = ARENA_ARRAY(a, uint64_t, (s->sinks + 63) / 64);
    n->arrived.next_cyc = NET_NEVER;
    n->arrived.visible = ARENA_ARRAY(a, uint64_t, (s->sinks + 63) / 64);
    ports_alloc(a, &n->room, s->sources);
    DIAG_ASSERT(flights < NET_NONE);
    n->flight_count = (uint32_t)flights;
    n->flights = arena_alloc_aligned(a, flights * sizeof *n->flights, 64);
    n->free_flights = ARENA_ARRAY(a, uint32_t, flights);
}

static void events_alloc(struct arena *a, struct net_events *e, uint32_t slots, uint32_t cap)
{
    e->cap = cap;
    e->count = ARENA_ARRAY(a, uint32_t, slots);
    e->items = ARENA_ARRAY(a, uint64_t, (size_t)slots * cap);
}

static void build_wheel(struct net *n, struct arena *a)
{
    const uint32_t size = wheel_slots(&n->spec);
    n->wheel_mask = size - 1;
    n->slot_busy = ARENA_ARRAY(a, uint8_t, size);
    const uint32_t ivcs = n->ivc_count ? n->ivc_count : 1;
    for (uint32_t i = 0; i < NET_EVENTS; i++) {
        const bool of_source = i == NET_EVENT_SOURCE_WAKE || i == NET_EVENT_TAIL;
        events_alloc(a, &n->events[i], size,
                     i == NET_EVENT_WAKE || i == NET_EVENT_HEAD ? ivcs
                     : of_source                                ? n->source_count
                                                                : n->out_count);
    }
}

static void number_vcs(struct net *n)
{
    const struct net_spec *s = &n->spec;
    n->sets_per_class = s->topology == NET_RING ? 2 : 1;
    n->sets = s->classes * n->sets_per_class;
    n->group = s->vcs / s->input_speedup;
    /* exact while number x width stays below 2^32 */
    if (((uint64_t)s->max_packet_bytes + s->width_bytes) * s->width_bytes < 1ull << 32)
        n->width_inverse = ((1ull << 32) + s->width_bytes - 1) / s->width_bytes;
    n->all_vcs = (uint16_t)((1u << s->vcs) - 1);
    for (uint32_t v = 0; v < s->vcs; v++) {
        n->position[v] = (uint8_t)(v % s->input_speedup * n->group + v / s->input_speedup);
        n->set_mask[v / (s->vcs / n->sets)] |= (uint16_t)(1u << n->position[v]);
        n->set_order[v / (s->vcs / n->sets)] |= (uint16_t)(1u << v);
        n->class_order[v / (s->vcs / s->classes)] |= (uint16_t)(1u << v);
    }
}

struct net *net_new(struct arena *a, const struct net_spec *spec, const struct net_wiring *wiring)
{
    return net_new_sharing(a, spec, wiring, NULL);
}

struct net *net_new_sharing(struct arena *a, const struct net_spec *spec, const struct net_wiring *wiring,
                            const struct net *links)
{
    const char *problem = net_spec_problem(spec);
    if (problem) diag_mistake("this network cannot be built: %s", problem);
    struct net *n = ARENA_NEW(a, struct net);
    n->spec = *spec;
    if (wiring) n->wiring = *wiring;
    if (!net_has_vcs(spec))
        n->spec.vcs = n->spec.vc_flits = n->spec.input_speedup = n->spec.internal_speedup = 1;
    number_vcs(n);
    n->whole_packets = has_whole_packets(spec);
    n->plain_links = spec->topology == NET_LINKS;
    n->by_lanes = n->whole_packets && net_lanes_fit(spec);
    n->step = n->by_lanes                    ? net_lanes_step
              : n->whole_packets             ? net_packet_step
              : n->plain_links               ? net_links_step
              : spec->topology == NET_QUEUED ? net_queue_step
              : net_between_nodes(spec)      ? net_nodes_step
                                             : net_flits_step;
    n->group_sinks = spec->sinks / spec->groups;
    n->first_sink = ARENA_ARRAY(a, uint32_t, spec->sources);
    for (uint32_t i = 0; i < spec->sources; i++)
        n->first_sink[i] = i / (spec->sources / spec->groups) * n->group_sinks;
    n->sinks = ARENA_ARRAY(a, struct net_sink, spec->sinks);
    n->waited_cyc = ARENA_ARRAY(a, uint64_t, spec->sinks);
    n->view.fronts = ARENA_ARRAY(a, struct net_front, spec->sinks);
    for (uint32_t i = 0; i < spec->sinks; i++) n->view.fronts[i].visible_cyc = NET_NEVER;
    switch (spec->topology) {
    case NET_CROSSBAR: build_crossbar(n, a); break;
    case NET_HXBAR: build_hxbar(n, a); break;
    case NET_RING: build_ring(n, a); break;
    case NET_LINKS: build_links(n, a); break;
    case NET_QUEUED: build_queued(n, a); break;
    case NET_NODE_LINKS:
    case NET_NODE_RING:
    case NET_NODE_SWITCH: net_nodes_build(n, a, links); break;
    }
    n->active_words = (n->router_count + 63) / 64;
    n->active_routers = ARENA_ARRAY(a, uint64_t, n->active_words ? n->active_words : 1);
    if (n->by_lanes) net_lanes_build(n, a);
    build_ends(n, a);
    if (!net_between_nodes(spec)) build_wheel(n, a);
    n->view.next_cyc = NET_NEVER;
    return n;
}
