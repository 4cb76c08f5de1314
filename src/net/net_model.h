/* net_model: one network alone under synthetic traffic, for `atoll model net`, the proofs and the benchmark.
 *
 *   generator (random, open loop) ─► queue without limit ─► net ─► sinks that pop at once
 *
 * Rates are in flits per cycle and source: 1.0 fills an injection link. Latency counts from the cycle in
 * which the packet was generated, so it includes the wait before injection. Measured are the packets
 * generated in a window after a warm-up; accepted load is what arrives at the sinks within that window. With
 * `outstanding` the loop is closed: each source keeps that many requests in flight through a second, equal
 * network that carries the replies. Means per source are over those that send. */
#ifndef ATOLL_NET_NET_MODEL_H
#define ATOLL_NET_NET_MODEL_H

#include <jansson.h>
#include <stdio.h>

#include "net/net_traffic.h"

#define NET_MODEL_SIZES 8

struct net_model_spec {
    struct net_spec net;
    enum net_traffic_kind traffic;
    bool same_ends;                         /* see net_traffic.h */
    double rate;                            /* flits per cycle and source; closed loop: ignored */
    uint32_t packet_bytes[NET_MODEL_SIZES]; /* each size as likely as the others */
    uint32_t size_count;
    uint32_t outstanding; /* > 0: closed loop, requests of packet_bytes[0] ... */
    uint32_t reply_bytes; /* ... answered by packets of this size */
    uint32_t service_cyc; /* closed loop: request popped > reply offered */
    uint64_t seed;
    uint64_t warmup_cyc, measure_cyc, drain_cyc;
    uint64_t clock_hz; /* for bytes per second; 0 = leave out */
};

struct net_model_stage {
    uint32_t links;
    double min, mean, max; /* utilisation of its links in the window */
};

#define NET_MODEL_STAGES 4

struct net_model_result {
    double offered;  /* flits per cycle and source */
    double accepted; /* flits per cycle and sink at which traffic is aimed, in the window */
    double accepted_per_source;
    double accepted_packets; /* packets per cycle, all sinks */
    double bytes_per_cycle;  /* payload as given, all sinks */
    uint64_t packets;        /* measured: generated in the window and arrived */
    uint64_t unfinished;     /* generated in the window, not arrived at the end of the drain */
    /* of `packets`, and nothing without any: from generation; from acceptance by the network */
    double latency_mean, network_latency_mean;
    uint64_t latency_min, latency_p50, latency_p95, latency_p99, latency_max;
    bool saturated; /* accepted below 97 % of offered, or packets left over */
    uint32_t stage_count;
    struct net_model_stage stages[NET_MODEL_STAGES];
    uint64_t total_packets, total_cyc; /* of the whole run, for speed */
    uint64_t round_trips;              /* closed loop: ended in the window */
    double round_trip_mean;            /* nothing without any */
};

struct net_model_spec net_model_default(void);
/* NULL, or what is wrong with the request. */
const char *net_model_problem(const struct net_model_spec *spec);
void net_model_run(const struct net_model_spec *spec, struct net_model_result *result);

void net_model_print(const struct net_model_spec *spec, const struct net_model_result *result, FILE *out);
json_t *net_model_json(const struct net_model_spec *spec, const struct net_model_result *result);

#endif
