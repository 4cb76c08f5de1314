/* net_stage: the links of a network by stage, as net_build.c numbers them: what a report calls them. */
#include "base/diag.h"
#include "net/net.h"

static struct net_link_ends ends(enum net_end_kind from, uint32_t from_idx, enum net_end_kind to,
                                 uint32_t to_idx)
{
    return (struct net_link_ends){.from = from, .from_idx = from_idx, .to = to, .to_idx = to_idx};
}

/* A link of a sender into the network, or one out of it to a receiver, whose router this is. */
static struct net_link_ends outer(bool in, uint32_t router, uint32_t port)
{
    return in ? ends(NET_END_SOURCE, port, NET_END_ROUTER, router)
              : ends(NET_END_ROUTER, router, NET_END_SINK, port);
}

static struct net_link_ends hxbar(const struct net_spec *s, uint32_t stage, uint32_t port)
{
    const uint32_t firsts = s->first_routers, seconds = s->second_routers;
    DIAG_ASSERT(firsts && seconds);
    if (stage == 1) return ends(NET_END_ROUTER, port / seconds, NET_END_ROUTER, firsts + port % seconds);
    return outer(stage == 0, stage ? firsts + port / (s->sinks / seconds) : port / (s->sources / firsts),
                 port);
}

/* Links round the ring: two of each router, the first to the one after it. */
static struct net_link_ends ring(const struct net_spec *s, uint32_t stage, uint32_t port)
{
    const uint32_t nodes = s->sources, node = port / 2;
    if (stage != 1) return outer(stage == 0, port, port);
    return ends(NET_END_ROUTER, node, NET_END_ROUTER, (node + (port % 2 ? nodes - 1 : 1)) % nodes);
}

static struct net_link_ends plain(const struct net_spec *s, uint32_t port)
{
    const uint32_t reach = s->sinks / s->groups, source = port / reach; /* sinks that a source reaches */
    return ends(NET_END_SOURCE, source, NET_END_SINK,
                source / (s->sources / s->groups) * reach + port % reach);
}

struct net_link_ends net_link_ends(const struct net_spec *s, uint32_t stage, uint32_t port)
{
    switch (s->topology) {
    case NET_HXBAR: return hxbar(s, stage, port);
    case NET_RING: return ring(s, stage, port);
    case NET_LINKS: return plain(s, port);
    case NET_NODE_LINKS: return ends(NET_END_SOURCE, port / s->sinks, NET_END_SINK, port % s->sinks);
    case NET_NODE_RING:
        return ends(NET_END_SOURCE, port / 2, NET_END_SINK,
                    (port / 2 + (port % 2 ? s->sinks - 1 : 1)) % s->sinks);
    case NET_NODE_SWITCH:
    case NET_CROSSBAR:
    case NET_QUEUED: break;
    }
    return outer(stage == 0, 0, port);
}
