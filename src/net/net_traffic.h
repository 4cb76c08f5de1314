/* net_traffic: who sends to whom in a network alone (net_model). A source sends only where the network leads:
 * to the sinks of its group, and by plain links between endpoints never back to itself. */
#ifndef ATOLL_NET_NET_TRAFFIC_H
#define ATOLL_NET_NET_TRAFFIC_H

#include "base/rng.h"
#include "net/net.h"

enum net_traffic_kind {
    NET_UNIFORM,     /* each sink as likely as the others */
    NET_HOTSPOT,     /* all to one sink: the first of their group */
    NET_PERMUTATION, /* one to one, and so that no two sources share a link */
};

struct net_traffic {
    enum net_traffic_kind kind;
    uint32_t sources, sinks;     /* of a group */
    bool same_ends;              /* source i and sink i are one endpoint, which has no link to itself */
    const uint32_t *permutation; /* of each source */
};

/* NULL, or why the network cannot have same_ends. */
const char *net_traffic_problem(const struct net_spec *spec, bool same_ends);
struct net_traffic net_traffic_new(struct arena *a, const struct net_spec *spec, enum net_traffic_kind kind,
                                   bool same_ends, uint64_t seed);
/* False: nobody for it to send to. */
bool net_traffic_sends(const struct net_traffic *t, uint32_t source);
/* Where the next packet of a source that sends goes. */
uint32_t net_traffic_draw(const struct net_traffic *t, uint32_t source, struct rng *rng);

#endif
