/* net_build: from a spec to routers, links and routes.
 *
 *   crossbar   source i ─► router 0 ─► sink j
 *   hxbar      source i ─► router i / (sources per router) ─► router of sink ─► sink j
 *   ring       source i ─► router i ─► neighbours … ─► router j ─► sink j
 *   links      source i ═► sink j            (one link for every pair) */
#include <string.h>

#include "net/net_private.h"

struct net_spec net_spec_default(void)
{
    return (struct net_spec){
        .topology = NET_CROSSBAR,
        .sources = 64,
        .sinks = 64,
        .first_routers = 8,
        .second_routers = 8,
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

static const char *routed_problem(const struct net_spec *s)
{
    const uint32_t sets = s->classes * (s->topology == NET_RING ? 2 : 1);
    if (!s->vcs || s->vcs > NET_MAX_VCS) return "1 to 16 virtual channels";
    if (!s->classes || s->vcs % s->classes)
        return "the virtual channels must divide evenly among the message classes";
    if (s->vcs % sets)
        return "a ring needs an even number of virtual channels per class (two sets avoid deadlock)";
    if (!s->vc_flits || s->vc_flits > 4096) return "1 to 4096 flits per virtual channel";
    if (!s->iterations || s->iterations > 64) return "1 to 64 iSLIP iterations";
    if (!s->input_speedup || s->vcs % s->input_speedup)
        return "the input speed-up must divide the number of virtual channels";
    if (!s->internal_speedup || s->internal_speedup > 8) return "internal speed-up 1 to 8";
    if (s->router_latency_cyc < 2)
        return "a router takes at least 2 cycles: VC allocation, then switch allocation";
    if (s->link_latency_cyc < 1) return "a link takes at least 1 cycle";
    if (s->inject_latency_cyc < 2)
        return "injection takes at least 2 cycles: into the source queue, over the link";
    return NULL;
}

const char *net_spec_problem(const struct net_spec *s)
{
    if (!s->sources || !s->sinks || s->sources > 4096 || s->sinks > 4096)
        return "1 to 4096 sources and sinks";
    if (!s->width_bytes) return "a link must be at least one byte wide";
    if (!s->source_packets || !s->sink_packets) return "queues of sources and sinks hold at least one packet";
    if (s->source_packets > 65536 || s->sink_packets > 65536) return "queues of at most 65536 packets";
    if (s->max_packet_bytes / s->width_bytes >= UINT16_MAX) return "a packet of more than 65535 flits";
    if (s->router_latency_cyc > 10000 || s->link_latency_cyc > 10000 || s->inject_latency_cyc > 10000 ||
        s->credit_delay_cyc > 10000)
        return "latencies of at most 10000 cycles";
    switch (s->topology) {
    case NET_CROSSBAR:
        if (s->sources * s->vcs > UINT16_MAX) return "too many inputs x virtual channels for one router";
        return routed_problem(s);
    case NET_HXBAR:
        if (!s->first_routers || s->sources % s->first_routers)
            return "the sources must divide evenly among the routers of the first stage";
        if (!s->second_routers || s->sinks % s->second_routers)
            return "the sinks must divide evenly among the routers of the second stage";
        return routed_problem(s);
    case NET_RING:
        if (s->sources != s->sinks) return "a ring has as many sources as sinks";
        if (s->sources < 2) return "a ring needs at least 2 nodes";
        return routed_problem(s);
    case NET_LINKS:
        if (s->classes != 1) return "plain links carry one message class";
        if (s->link_latency_cyc < 2)
            return "a plain link takes at least 2 cycles: into the source queue, over the wire";
        return NULL;
    }
    return "unknown topology";
}

/* ---- allocation ---- */

static void router_alloc(struct net *n, struct arena *a, struct net_router *r, uint32_t ins, uint32_t outs)
{
    const uint32_t vcs = n->spec.vcs;
    r->ins = (uint16_t)ins;
    r->outs = (uint16_t)outs;
    r->switch_ins = (uint16_t)(ins * n->spec.input_speedup);
    r->vc_words = (uint16_t)((ins * vcs + 63) / 64);
    r->out_words = (uint16_t)((outs + 63) / 64);
    const uint32_t in_words = (r->switch_ins + 63u) / 64u;
    r->sa_active = ARENA_ARRAY(a, uint64_t, r->out_words);
    r->va_active = ARENA_ARRAY(a, uint64_t, r->out_words);
    r->held = ARENA_ARRAY(a, uint64_t, r->out_words);
    r->matched_out = ARENA_ARRAY(a, uint64_t, r->out_words);
    r->held_in = ARENA_ARRAY(a, uint64_t, in_words);
    r->matched_in = ARENA_ARRAY(a, uint64_t, in_words);
    r->waiting = ARENA_ARRAY(a, uint64_t, (size_t)outs * n->sets * r->vc_words);
    r->wait_count = ARENA_ARRAY(a, uint16_t, (size_t)outs * n->sets);
    r->accept_ptr = ARENA_ARRAY(a, uint16_t, r->switch_ins);
    r->vc_turn = ARENA_ARRAY(a, uint16_t, r->switch_ins);
    r->best_out = ARENA_ARRAY(a, uint16_t, r->switch_ins);
    r->best_dist = ARENA_ARRAY(a, uint16_t, r->switch_ins);
    r->touched = ARENA_ARRAY(a, uint16_t, r->switch_ins);
    r->matches = ARENA_ARRAY(a, struct net_match, outs);
    r->held_moves = ARENA_ARRAY(a, struct net_match, outs);
    memset(r->best_out, 0xff, r->switch_ins * sizeof *r->best_out);
    r->route = ARENA_ARRAY(a, uint16_t, n->spec.sinks);
    r->route_set = ARENA_ARRAY(a, uint8_t, n->spec.sinks);
}

/* Sizes of all routers are known: number outputs and input VCs, sources come after the router outputs. */
static void number_ports(struct net *n, struct arena *a)
{
    const uint32_t vcs = n->spec.vcs;
    uint32_t outs = 0, ivcs = 0;
    for (uint32_t i = 0; i < n->router_count; i++) {
        n->routers[i].out_base = outs;
        n->routers[i].ivc_base = ivcs;
        outs += n->routers[i].outs;
        ivcs += n->routers[i].ins * vcs;
    }
    n->source_base = outs;
    n->source_count = n->spec.sources * (n->spec.topology == NET_LINKS ? n->spec.sinks : 1);
    n->out_count = outs + n->source_count;
    n->ivc_count = ivcs;
    n->outs = ARENA_ARRAY(a, struct net_out, n->out_count);
    n->ivcs = ARENA_ARRAY(a, struct net_ivc, ivcs ? ivcs : 1);
    while ((1u << n->fifo_log2) < n->spec.vc_flits) n->fifo_log2++;
    n->fifo_mask = (1u << n->fifo_log2) - 1;
    n->fifo = ARENA_ARRAY(a, uint32_t, (size_t)(ivcs ? ivcs : 1) << n->fifo_log2);
    n->flows = ARENA_ARRAY(a, struct net_flow *, n->out_count);
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
    o->held_by = NET_NO_PORT;
    o->free_vcs = n->all_vcs;
    o->counts_credits = true;
    for (uint32_t v = 0; v < n->spec.vcs; v++) o->credit[v] = (uint16_t)n->spec.vc_flits;
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
}

static void link_to_router(struct net *n, struct arena *a, uint32_t out, uint32_t router, uint32_t in)
{
    struct net_router *r = &n->routers[router];
    const uint32_t vcs = n->spec.vcs;
    n->outs[out].to = r->ivc_base + in * vcs;
    for (uint32_t v = 0; v < vcs; v++) {
        struct net_ivc *q = &n->ivcs[n->outs[out].to + v];
        q->feeder_vc = out * vcs + v;
        q->router = router;
    }
    /* Packets of a flow can only overtake each other where they may take different VCs of one input. */
    if (n->spec.in_order && vcs > 1)
        n->flows[out] =
            ARENA_ARRAY(a, struct net_flow, (size_t)n->flow_src_mod * n->flow_dst_mod * n->spec.classes);
}

static void link_to_sink(struct net *n, uint32_t out, uint32_t sink)
{
    struct net_out *o = &n->outs[out];
    const struct net_spec *s = &n->spec;
    o->at_sink = true;
    o->to = sink;
    /* With internal speed-up, a queue of vcs * vc_flits flits stands before the link and holds packets too.
     */
    o->slots = s->sink_packets + (s->internal_speedup > 1 ? s->vcs * s->vc_flits : 0);
    n->sinks[sink].capacity += o->slots;
    if (o->router == NET_NONE) {
        o->arrive_delay = (uint16_t)(s->link_latency_cyc - 1);
        return;
    }
    /* A reserved slot takes flits as fast as they come; a VC can then only run out of credits when they need
     * longer to come back than it takes to use them up, or when flits queue before the link. */
    const uint32_t round_trip = 1u + o->arrive_delay + o->credit_delay;
    o->counts_credits = s->internal_speedup > 1 || s->vc_flits < round_trip;
}

/* ---- topologies ---- */

static void build_crossbar(struct net *n, struct arena *a)
{
    n->router_count = 1;
    n->routers = ARENA_NEW(a, struct net_router);
    n->flow_src_mod = 1; /* an injection link has one source */
    n->flow_dst_mod = n->spec.sinks;
    router_alloc(n, a, &n->routers[0], n->spec.sources, n->spec.sinks);
    number_ports(n, a);
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        out_init(n, n->source_base + i, 0, i);
        link_to_router(n, a, n->source_base + i, 0, i);
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
    const uint32_t per_first = s->sources / firsts, per_second = s->sinks / seconds;
    n->router_count = firsts + seconds;
    n->routers = ARENA_ARRAY(a, struct net_router, n->router_count);
    n->flow_src_mod = per_first;
    n->flow_dst_mod = s->sinks;
    for (uint32_t i = 0; i < n->router_count; i++)
        router_alloc(n, a, &n->routers[i], i < firsts ? per_first : firsts,
                     i < firsts ? seconds : per_second);
    number_ports(n, a);
    for (uint32_t i = 0; i < s->sources; i++) {
        out_init(n, n->source_base + i, 0, i);
        link_to_router(n, a, n->source_base + i, i / per_first, i % per_first);
    }
    for (uint32_t i = 0; i < n->router_count; i++) {
        struct net_router *r = &n->routers[i];
        for (uint32_t d = 0; d < s->sinks; d++)
            r->route[d] = (uint16_t)(i < firsts ? d / per_second : d % per_second);
        for (uint32_t o = 0; o < r->outs; o++) {
            const uint32_t port = i < firsts ? i * seconds + o : (i - firsts) * per_second + o;
            out_init(n, r->out_base + o, i < firsts ? 1 : 2, port);
            if (i < firsts)
                link_to_router(n, a, r->out_base + o, firsts + o, i);
            else
                link_to_sink(n, r->out_base + o, port);
        }
    }
}

/* Ports of a ring router: 0 its own node, 1 clockwise (to i+1), 2 the other way. Packets that still have to
 * pass node 0 use the first VC set, all others the second: no cycle of buffers can fill up. */
static void build_ring(struct net *n, struct arena *a)
{
    const uint32_t nodes = n->spec.sources;
    n->router_count = nodes;
    n->routers = ARENA_ARRAY(a, struct net_router, nodes);
    n->flow_src_mod = n->flow_dst_mod = nodes;
    for (uint32_t i = 0; i < nodes; i++) router_alloc(n, a, &n->routers[i], 3, 3);
    number_ports(n, a);
    for (uint32_t i = 0; i < nodes; i++) {
        struct net_router *r = &n->routers[i];
        const uint32_t up = (i + 1) % nodes, down = (i + nodes - 1) % nodes;
        out_init(n, n->source_base + i, 0, i);
        link_to_router(n, a, n->source_base + i, i, 0);
        for (uint32_t o = 0; o < 3; o++) out_init(n, r->out_base + o, o ? 1 : 2, o ? 2 * i + o - 1 : i);
        link_to_sink(n, r->out_base, i);
        link_to_router(n, a, r->out_base + 1, up, 1);
        link_to_router(n, a, r->out_base + 2, down, 2);
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
    n->flow_src_mod = n->flow_dst_mod = 1;
    number_ports(n, a);
    for (uint32_t i = 0; i < n->source_count; i++) {
        out_init(n, i, 0, i);
        link_to_sink(n, i, i % n->spec.sinks);
    }
}

/* ---- queues and the wheel ---- */

static void build_ends(struct net *n, struct arena *a)
{
    const struct net_spec *s = &n->spec;
    n->sources = ARENA_ARRAY(a, struct net_source, n->source_count);
    n->source_words = (n->source_count + 63) / 64;
    n->ready_sources = ARENA_ARRAY(a, uint64_t, n->source_words);
    n->source_queue = ARENA_ARRAY(a, uint32_t, (size_t)n->source_count * s->source_packets);
    size_t flights = (size_t)n->source_count * s->source_packets + (size_t)n->ivc_count * s->vc_flits;
    for (uint32_t i = 0; i < n->source_count; i++) {
        n->sources[i].left_cyc = NET_NEVER;
        n->sources[i].last_vc = (uint16_t)(s->vcs - 1);
    }
    for (uint32_t i = 0; i < s->sinks; i++) {
        n->sinks[i].queue = ARENA_ARRAY(a, uint32_t, n->sinks[i].capacity);
        flights += n->sinks[i].capacity;
    }
    DIAG_ASSERT(flights < NET_NONE);
    n->flight_count = n->free_count = (uint32_t)flights;
    n->flights = ARENA_ARRAY(a, struct net_flight, flights);
    n->free_flights = ARENA_ARRAY(a, uint32_t, flights);
    for (uint32_t i = 0; i < n->free_count; i++) n->free_flights[i] = n->free_count - 1 - i;
}

static void build_wheel(struct net *n, struct arena *a)
{
    const struct net_spec *s = &n->spec;
    uint64_t longest = s->router_latency_cyc + s->link_latency_cyc;
    if (s->inject_latency_cyc > longest) longest = s->inject_latency_cyc;
    longest += s->credit_delay_cyc + 8;
    if (s->internal_speedup > 1) longest += s->vcs * s->vc_flits;
    uint32_t size = 64;
    while (size <= longest) size *= 2;
    n->wheel_mask = size - 1;
    n->arrival_cap = n->out_count;
    n->credit_cap =
        n->ivc_count / (s->vcs ? s->vcs : 1) * s->internal_speedup * s->input_speedup + n->out_count;
    n->eject_cap = n->out_count;
    n->slots = ARENA_ARRAY(a, struct net_slot, size);
    n->arrivals = ARENA_ARRAY(a, uint64_t, (size_t)size * n->arrival_cap);
    n->credits = ARENA_ARRAY(a, uint32_t, (size_t)size * n->credit_cap);
    n->ejects = ARENA_ARRAY(a, uint32_t, (size_t)size * n->eject_cap);
    n->slot_credits = ARENA_ARRAY(a, uint32_t, (size_t)size * n->eject_cap);
    n->busy_slots = ARENA_ARRAY(a, uint64_t, size / 64);
}

static void number_vcs(struct net *n)
{
    const struct net_spec *s = &n->spec;
    n->set_count_ring = s->topology == NET_RING ? 2 : 1;
    n->sets = s->classes * n->set_count_ring;
    n->group = s->vcs / s->input_speedup;
    n->all_vcs = (uint16_t)((1u << s->vcs) - 1);
    for (uint32_t v = 0; v < s->vcs; v++) {
        n->position[v] = (uint8_t)(v % s->input_speedup * n->group + v / s->input_speedup);
        n->set_mask[v / (s->vcs / n->sets)] |= (uint16_t)(1u << n->position[v]);
    }
}

struct net *net_new(struct arena *a, const struct net_spec *spec, const struct net_wiring *wiring)
{
    const char *problem = net_spec_problem(spec);
    if (problem) diag_mistake("this network cannot be built: %s", problem);
    struct net *n = ARENA_NEW(a, struct net);
    n->spec = *spec;
    if (wiring) n->wiring = *wiring;
    if (spec->topology == NET_LINKS) n->spec.vcs = n->spec.input_speedup = n->spec.internal_speedup = 1;
    number_vcs(n);
    n->sinks = ARENA_ARRAY(a, struct net_sink, spec->sinks);
    switch (spec->topology) {
    case NET_CROSSBAR: build_crossbar(n, a); break;
    case NET_HXBAR: build_hxbar(n, a); break;
    case NET_RING: build_ring(n, a); break;
    case NET_LINKS: build_links(n, a); break;
    }
    n->active_words = (n->router_count + 63) / 64;
    n->active_routers = ARENA_ARRAY(a, uint64_t, n->active_words ? n->active_words : 1);
    build_ends(n, a);
    build_wheel(n, a);
    n->next_cyc = NET_NEVER;
    return n;
}
