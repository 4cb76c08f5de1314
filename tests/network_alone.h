/* network_alone: what the reply network of a machine carries by itself, for proofs that hold a GPU against
 * it. */
#ifndef ATOLL_TESTS_NETWORK_ALONE_H
#define ATOLL_TESTS_NETWORK_ALONE_H

#include "net/net_model.h"
#include "system_testbed.h"

/* Replies of a line per cycle, as many requests of every SM on their way to slices chosen at random. */
static inline double network_alone(const char *preset, const char *settings, uint32_t outstanding)
{
    static struct bed b;
    bed_open_machine(&b, preset, settings);
    struct net_model_spec alone = net_model_default();
    struct net_model_result r;
    alone.net = *net_spec_of(b.system->fabrics->reply.net);
    alone.packet_bytes[0] = 8;
    alone.size_count = 1;
    alone.reply_bytes = 136;
    alone.outstanding = outstanding;
    alone.service_cyc = b.machine.config.llc.latency_cyc;
    net_model_run(&alone, &r);
    bed_close(&b);
    return r.accepted_packets;
}

#endif
