/* net_level: see net_level.h. */
#include "net/net_level.h"

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

/* 128 B of data and a header, and room for wider lines. */
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

/* One per slice, so that a chiplet's gate can take what its network carries; plain links need one only, as
 * each sender has its own. */
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
    return level == NET_LEVEL_chiplet_net ? c->clock.chiplet_net
           : level == NET_LEVEL_gpu_net   ? c->clock.gpu_net
                                          : c->clock.net;
}

static struct net_spec requests_of(const struct config *c, enum net_level level)
{
    const uint32_t gates = net_level_gates(c, level);
    struct net_spec s = FROM_SECTION(net);
    switch (level) {
    case NET_LEVEL_net:
    case NET_LEVELS:
        s.sources = config_sms_per_chiplet(c) + gates;
        s.sinks = config_slices_per_chiplet(c) + gates;
        if (config_slices_by_partition(c)) s.groups = c->chiplet.partitions;
        break;
    case NET_LEVEL_slice_net:
        s = FROM_SECTION(slice_net);
        s.sources = s.sinks = config_slices_per_chiplet(c) + gates;
        break;
    case NET_LEVEL_chiplet_net:
        s = FROM_SECTION(chiplet_net);
        s.sources = s.sinks = c->gpu.chiplets;
        break;
    case NET_LEVEL_gpu_net:
        s = FROM_SECTION(gpu_net);
        s.sources = s.sinks = c->system.gpus;
        break;
    }
    /* What comes in must not wait behind what goes out, which waits for what comes in elsewhere: on links
     * that both use, each has VCs of its own. */
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
