/* net_level: see net_level.h. */
#include "net/net_level.h"

#include "request/request.h"

const char *const net_level_names[NET_LEVELS] = {"net", "slice_net", "chiplet_net", "gpu_net"};

#define FROM_SECTION(section) \
    (struct net_spec) \
    { \
        .topology = (enum net_topology)c->section.topology, .first_routers = c->section.first_routers, \
        .second_routers = c->section.second_routers, .width_bytes = (uint32_t)c->section.width, \
        .vcs = c->section.vcs, .vc_flits = c->section.vc_flits, .groups = 1, .classes = 1, \
        .iterations = c->section.iterations, .input_speedup = c->section.input_speedup, \
        .internal_speedup = c->section.internal_speedup, .hold = c->section.hold, \
        .in_order = c->section.in_order, .router_latency_cyc = c->section.router_latency_cyc, \
        .link_latency_cyc = c->section.link_latency_cyc, \
        .inject_latency_cyc = c->section.inject_latency_cyc, \
        .credit_delay_cyc = c->section.credit_delay_cyc, .source_packets = c->section.source_packets, \
        .sink_packets = c->section.sink_packets, .max_packet_bytes = NET_LARGEST_PACKET_BYTES, \
    }

_Static_assert((int)net_shape_crossbar == NET_CROSSBAR && (int)net_shape_hxbar == NET_HXBAR &&
                   (int)net_shape_ring == NET_RING && (int)net_shape_links == NET_LINKS &&
                   (int)net_shape_queued == NET_QUEUED,
               "the names of the parameter are those of the network");

/* A header and 128 B of data, with a margin for wider lines. */
enum { NET_LARGEST_PACKET_BYTES = 1024 };

bool net_level_used(const struct config *c, enum net_level level)
{
    switch (level) {
    case NET_LEVEL_net: return true;
    case NET_LEVEL_slice_net:
        return config_slices_forward(c) && (config_chiplets(c) > 1 || config_slices_by_partition(c));
    case NET_LEVEL_chiplet_net: return c->gpu.chiplets > 1;
    case NET_LEVEL_gpu_net: return c->system.gpus > 1;
    case NET_LEVELS: break;
    }
    return false;
}

/* One gate port per slice, so that the gateway takes the full throughput of the network. Links need one gate
 * port only, as each sender has its own link. */
uint32_t net_level_gates(const struct config *c, enum net_level level)
{
    const bool from_slices = config_slices_forward(c);
    if (config_chiplets(c) == 1 || level > NET_LEVEL_slice_net ||
        from_slices != (level == NET_LEVEL_slice_net))
        return 0;
    const enum net_shape shape = from_slices ? c->slice_net.topology : c->net.topology;
    return shape == net_shape_links ? 1 : config_slices_per_chiplet(c);
}

uint64_t net_level_clock(const struct config *c, enum net_level level)
{
    (void)level;
    return c->clock.net;
}

/* ---- between nodes ---- */

/* Parameters of a network between nodes, with older spellings resolved. */
struct node_section {
    enum node_shape shape;
    uint64_t bandwidth, latency_cyc, buffer_bytes;
    uint32_t source_packets, sink_packets;
};

#define NODE_SECTION(section) \
    (struct node_section) \
    { \
        .shape = c->section.topology, .source_packets = c->section.source_packets, \
        .bandwidth = c->section.width && c->clock.section ? c->section.width * c->clock.section \
                                                          : c->section.bandwidth, \
        .latency_cyc = \
            c->section.link_latency_cyc && c->clock.section \
                ? old_latency_cyc(c, c->section.topology, c->section.link_latency_cyc, c->clock.section) \
                : config_delay_cyc(c, c->section.latency, c->clock.net), \
        .buffer_bytes = c->section.buffer, .sink_packets = c->section.sink_packets, \
    }

static uint64_t longest_packet(const struct config *c)
{
    const uint64_t line = c->packet.header + LINE_BYTES;
    return c->packet.write_literal > line ? c->packet.write_literal : line;
}

static uint64_t old_latency_cyc(const struct config *c, enum node_shape shape, uint32_t cycles, uint64_t hz)
{
    const uint64_t links = shape == node_shape_switch || shape == node_shape_crossbar ? 2 : 1;
    return (uint64_t)(((unsigned __int128)links * cycles * c->clock.net + hz - 1) / hz);
}

static enum net_topology node_topology(enum node_shape shape)
{
    switch (shape) {
    case node_shape_links: return NET_NODE_LINKS;
    case node_shape_ring: return NET_NODE_RING;
    case node_shape_switch:
    case node_shape_crossbar:
    case node_shape_count: break;
    }
    return NET_NODE_SWITCH;
}

static struct net_spec between_nodes(const struct config *c, struct node_section n, uint32_t nodes)
{
    struct net_spec s = net_spec_default();
    s.topology = node_topology(n.shape);
    s.sources = s.sinks = nodes;
    s.bandwidth = n.bandwidth;
    s.clock_hz = c->clock.net;
    s.link_latency_cyc = (uint32_t)n.latency_cyc;
    /* flit of reports and of `atoll model net`: the bytes that a link carries in a cycle */
    const uint64_t per_cycle = (n.bandwidth + c->clock.net / 2) / c->clock.net;
    s.width_bytes = per_cycle ? (uint32_t)per_cycle : 1;
    s.source_packets = n.source_packets;
    s.max_packet_bytes = (uint32_t)longest_packet(c);
    s.min_packet_bytes = (uint32_t)c->packet.header;
    /* bytes that a link carries until the credit of a packet returns: a round trip, a cycle at either end,
     * and the packet */
    const unsigned __int128 round_trip =
        (unsigned __int128)n.bandwidth * (2 * n.latency_cyc + 4) / c->clock.net + 2 * s.max_packet_bytes;
    unsigned __int128 bytes = n.buffer_bytes ? n.buffer_bytes : round_trip;
    /* older spelling: packets in flight had a slot of sink_packets, and a slot was free again at once. Credits
     * now travel back: what the link carries in that time is added. */
    if (n.sink_packets)
        bytes = (unsigned __int128)n.sink_packets * longest_packet(c) +
                (unsigned __int128)n.bandwidth * n.latency_cyc / c->clock.net;
    s.buffer_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    return s;
}

static struct net_spec requests_of(const struct config *c, enum net_level level)
{
    const uint32_t gates = net_level_gates(c, level);
    struct net_spec s = FROM_SECTION(net);
    switch (level) {
    case NET_LEVEL_net:
    case NET_LEVELS:
        s.sources = config_sms_per_chiplet(c) + config_copy_ports(c) + gates;
        s.sinks = config_slices_per_chiplet(c) + gates;
        if (config_slices_by_partition(c)) s.groups = c->chiplet.partitions;
        break;
    case NET_LEVEL_slice_net:
        s = FROM_SECTION(slice_net);
        s.sources = s.sinks = config_slices_per_chiplet(c) + gates;
        break;
    case NET_LEVEL_chiplet_net: return between_nodes(c, NODE_SECTION(chiplet_net), c->gpu.chiplets);
    case NET_LEVEL_gpu_net: return between_nodes(c, NODE_SECTION(gpu_net), c->system.gpus);
    }
    /* Deadlock freedom: outbound packets depend on inbound packets of the next chiplet, so inbound packets
     * must not depend on outbound ones. On links that both use, each class has its own VCs. */
    if (gates && (s.topology == NET_HXBAR || s.topology == NET_RING)) {
        s.classes = 2;
        s.gates = gates;
    }
    return s;
}

struct net_spec net_level_spec(const struct config *c, enum net_level level, enum net_direction direction)
{
    struct net_spec s = requests_of(c, level);
    if (direction == NET_REQUESTS) return s;
    struct net_spec back = s;
    back.sources = s.sinks;
    back.sinks = s.sources;
    back.first_routers = s.second_routers;
    back.second_routers = s.first_routers;
    return back;
}

_Static_assert(sizeof(struct net_stats) == sizeof(struct slice_net_stats) &&
                   sizeof(struct net_stats) == sizeof(struct chiplet_net_stats) &&
                   sizeof(struct net_stats) == sizeof(struct gpu_net_stats),
               "the groups have the same rows");

void net_level_register(struct stats_registry *r, enum net_level level, struct net *n,
                        struct stats_scope scope)
{
    static const enum stat_group groups[NET_LEVELS] = {STAT_GROUP_net, STAT_GROUP_slice_net,
                                                       STAT_GROUP_chiplet_net, STAT_GROUP_gpu_net};
    stats_register(r, groups[level], net_stats_of(n), scope);
}
