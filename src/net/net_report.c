/* net_report: the result of net_model_run() as a table and as JSON. */
#include <inttypes.h>

#include "net/net_model.h"

static const char *const topology_names[] = {"crossbar", "hxbar", "ring", "links",
                                             "queued",   "links", "ring", "switch"};
static const char *const traffic_names[] = {"uniform", "hotspot", "permutation"};

static const char *stage_name(const struct net_model_spec *s, const struct net_model_result *r,
                              uint32_t stage)
{
    if (r->stage_count == 1) return "links";
    if (stage == 0) return "injection";
    if (stage + 1 == r->stage_count) return "ejection";
    return s->net.topology == NET_RING || s->net.topology == NET_NODE_RING ? "ring" : "between stages";
}

static double giga_bytes(const struct net_model_spec *s, double bytes_per_cycle)
{
    return bytes_per_cycle * (double)s->clock_hz / 1e9;
}

static void print_network(const struct net_model_spec *s, FILE *out)
{
    const struct net_spec *n = &s->net;
    fprintf(out, "network      %s %ux%u, %u B per cycle and link", topology_names[n->topology], n->sources,
            n->sinks, n->width_bytes);
    if (net_between_nodes(n)) fprintf(out, ", %.4g GB/s per link and direction", (double)n->bandwidth / 1e9);
    if (n->groups > 1)
        fprintf(out, ", %u groups of %ux%u", n->groups, n->sources / n->groups, n->sinks / n->groups);
    if (n->topology == NET_HXBAR)
        fprintf(out, ", %u routers %ux%u then %u routers %ux%u", n->first_routers,
                n->sources / n->first_routers, n->second_routers, n->second_routers, n->first_routers,
                n->sinks / n->second_routers);
    if (n->topology == NET_QUEUED)
        fprintf(out, "\nqueues       %u packets at a source, %u at an output", n->source_packets,
                n->sink_packets);
    else if (net_has_vcs(n))
        fprintf(out,
                "\nrouters      %u VCs x %u flits, iSLIP(%u), input speed-up %u, internal speed-up %u%s%s",
                n->vcs, n->vc_flits, n->iterations, n->input_speedup, n->internal_speedup,
                n->hold ? ", hold" : "", n->in_order ? ", in order" : "");
    fprintf(out, "\ntraffic      %s%s, packets of", traffic_names[s->traffic],
            s->same_ends ? ", nobody to itself" : "");
    for (uint32_t i = 0; i < s->size_count; i++)
        fprintf(out, "%s %u B (%u flits)", i ? "," : "", s->packet_bytes[i],
                (s->packet_bytes[i] + n->width_bytes - 1) / n->width_bytes);
    if (s->outstanding)
        fprintf(out, ", %u outstanding, replies of %u B", s->outstanding, s->reply_bytes);
    else
        fprintf(out, ", rate %.4g", s->rate);
    fprintf(out, ", seed %" PRIu64 ", %" PRIu64 " cycles after %" PRIu64 "\n\n", s->seed, s->measure_cyc,
            s->warmup_cyc);
}

static void print_latency(const struct net_model_spec *s, const struct net_model_result *r, FILE *out)
{
    if (!r->packets) {
        fprintf(out, "latency      unknown: %s\n",
                s->outstanding || s->rate > 0 ? "no packet that was generated in these cycles arrived; lower "
                                                "--rate or --outstanding, or raise --cycles"
                                              : "nothing is sent at rate 0");
        return;
    }
    fprintf(out, "latency      %10s %10s %10s %10s %10s %10s\n", "mean", "min", "p50", "p95", "p99", "max");
    fprintf(out,
            "cycles       %10.2f %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
            r->latency_mean, r->latency_min, r->latency_p50, r->latency_p95, r->latency_p99, r->latency_max);
    fprintf(out, "             %10.2f in the network, without the wait of the source\n",
            r->network_latency_mean);
    if (r->round_trips) fprintf(out, "round trip   %10.2f\n", r->round_trip_mean);
    fprintf(out, "             %10" PRIu64 " packets measured", r->packets);
    if (r->unfinished) fprintf(out, ", %" PRIu64 " more had not arrived at the end", r->unfinished);
    fprintf(out, "\n");
}

void net_model_print(const struct net_model_spec *s, const struct net_model_result *r, FILE *out)
{
    print_network(s, out);
    if (!s->outstanding) fprintf(out, "offered      %10.4f flits per cycle and source\n", r->offered);
    fprintf(out, "accepted     %10.4f flits per cycle and source%s\n", r->accepted_per_source,
            r->saturated ? "   (saturated)" : "");
    if (s->traffic == NET_HOTSPOT) fprintf(out, "hot output   %10.4f flits per cycle\n", r->accepted);
    fprintf(out, "packets      %10.4f per cycle, all sinks\n", r->accepted_packets);
    fprintf(out, "bandwidth    %10.2f B per cycle", r->bytes_per_cycle);
    if (s->clock_hz)
        fprintf(out, " = %.1f GB/s at %.4g GHz", giga_bytes(s, r->bytes_per_cycle),
                (double)s->clock_hz / 1e9);
    fprintf(out, "\n\n");
    print_latency(s, r, out);
    fprintf(out, "\nutilisation  %10s %10s %10s %10s\n", "links", "min", "mean", "max");
    for (uint32_t i = 0; i < r->stage_count; i++)
        fprintf(out, "%-14s %8u %10.4f %10.4f %10.4f\n", stage_name(s, r, i), r->stages[i].links,
                r->stages[i].min, r->stages[i].mean, r->stages[i].max);
}

static json_t *network_json(const struct net_spec *n)
{
    json_t *j = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I}", "topology",
        topology_names[n->topology], "sources", (json_int_t)n->sources, "sinks", (json_int_t)n->sinks,
        "width_bytes", (json_int_t)n->width_bytes, "vcs", (json_int_t)n->vcs, "vc_flits",
        (json_int_t)n->vc_flits, "iterations", (json_int_t)n->iterations, "input_speedup",
        (json_int_t)n->input_speedup, "internal_speedup", (json_int_t)n->internal_speedup, "hold", n->hold,
        "in_order", n->in_order, "router_latency_cyc", (json_int_t)n->router_latency_cyc, "link_latency_cyc",
        (json_int_t)n->link_latency_cyc, "inject_latency_cyc", (json_int_t)n->inject_latency_cyc,
        "credit_delay_cyc", (json_int_t)n->credit_delay_cyc, "source_packets", (json_int_t)n->source_packets,
        "sink_packets", (json_int_t)n->sink_packets);
    if (n->topology == NET_HXBAR) {
        json_object_set_new(j, "first_routers", json_integer(n->first_routers));
        json_object_set_new(j, "second_routers", json_integer(n->second_routers));
    }
    if (n->topology == NET_LINKS) json_object_set_new(j, "groups", json_integer(n->groups));
    return j;
}

static json_t *stages_json(const struct net_model_spec *s, const struct net_model_result *r)
{
    json_t *stages = json_array();
    for (uint32_t i = 0; i < r->stage_count; i++)
        json_array_append_new(stages,
                              json_pack("{s:s, s:I, s:f, s:f, s:f}", "stage", stage_name(s, r, i), "links",
                                        (json_int_t)r->stages[i].links, "min", r->stages[i].min, "mean",
                                        r->stages[i].mean, "max", r->stages[i].max));
    return stages;
}

static json_t *traffic_json(const struct net_model_spec *s)
{
    json_t *sizes = json_array();
    for (uint32_t i = 0; i < s->size_count; i++)
        json_array_append_new(sizes, json_integer(s->packet_bytes[i]));
    return json_pack("{s:s, s:b, s:o, s:f, s:I, s:I, s:I, s:I, s:I}", "pattern", traffic_names[s->traffic],
                     "to_itself", !s->same_ends, "packet_bytes", sizes, "rate", s->rate, "seed",
                     (json_int_t)s->seed, "outstanding", (json_int_t)s->outstanding, "reply_bytes",
                     (json_int_t)(s->outstanding ? s->reply_bytes : 0), "warmup_cycles",
                     (json_int_t)s->warmup_cyc, "cycles", (json_int_t)s->measure_cyc);
}

static json_t *latency_json(const struct net_model_result *r)
{
    return json_pack("{s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "mean", r->latency_mean, "network_mean",
                     r->network_latency_mean, "min", (json_int_t)r->latency_min, "p50",
                     (json_int_t)r->latency_p50, "p95", (json_int_t)r->latency_p95, "p99",
                     (json_int_t)r->latency_p99, "max", (json_int_t)r->latency_max);
}

/* What was not measured is left out. */
json_t *net_model_json(const struct net_model_spec *s, const struct net_model_result *r)
{
    json_t *j = json_pack("{s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:b}", "network", network_json(&s->net),
                          "traffic", traffic_json(s), "offered_flits_per_source", r->offered,
                          "accepted_flits_per_source", r->accepted_per_source, "accepted_flits_per_sink",
                          r->accepted, "accepted_packets_per_cycle", r->accepted_packets, "bytes_per_cycle",
                          r->bytes_per_cycle, "saturated", r->saturated);
    if (r->packets) json_object_set_new(j, "latency", latency_json(r));
    json_object_set_new(j, "packets", json_integer((json_int_t)r->packets));
    json_object_set_new(j, "unfinished_packets", json_integer((json_int_t)r->unfinished));
    json_object_set_new(j, "utilisation", stages_json(s, r));
    if (s->clock_hz) {
        json_object_set_new(j, "clock_hz", json_integer((json_int_t)s->clock_hz));
        json_object_set_new(j, "gigabytes_per_second", json_real(giga_bytes(s, r->bytes_per_cycle)));
    }
    if (r->round_trips) json_object_set_new(j, "round_trip_mean", json_real(r->round_trip_mean));
    return j;
}
