/* links: how much of the time the links of each stage of the networks carried a flit: those of senders, those
 * between routers or round a ring, those to receivers. */
#include "report/report.h"

static const char *const network_names[MEASURE_NETWORKS] = {
    "requests",         "replies",         "slice requests", "slice replies",
    "chiplet requests", "chiplet replies", "GPU requests",   "GPU replies",
};

static uint32_t network_of(const struct system_link_stage *s) { return 2 * s->level + s->direction; }

static struct net_spec spec_of(const struct report *r, const struct system_link_stage *s)
{
    return net_level_spec(r->config, s->level, s->direction);
}

static enum measure_stage kind_of(const struct report *r, const struct system_link_stage *s)
{
    const enum net_topology topology = spec_of(r, s).topology;
    if (topology == NET_NODE_RING) return STAGE_RING;
    if (s->stages == 1) return STAGE_LINKS;
    if (s->stage == 0) return STAGE_SENDERS;
    if (s->stage + 1 == s->stages) return STAGE_RECEIVERS;
    return topology == NET_RING ? STAGE_RING : STAGE_ROUTERS;
}

/* Flits of one link, or of several together, as a share of what they can carry. */
static double share(const struct report *r, const struct system_link_stage *s, uint64_t flits, uint64_t links)
{
    const double cycles = r->total.seconds * (double)net_level_clock(r->config, s->level);
    return cycles > 0 && links ? (double)flits / ((double)links * cycles) : 0;
}

/* ---- who is at the ends ---- */

/* SMs are above slices: they send requests and receive replies. */
static bool are_sms(const struct system_link_stage *s, enum net_end_kind end)
{
    return s->level == NET_LEVEL_net && (end == NET_END_SOURCE) == (s->direction == NET_REQUESTS);
}

static const char *endpoint_name(const struct system_link_stage *s, enum net_end_kind end, bool many)
{
    if (s->level == NET_LEVEL_chiplet_net) return many ? "chiplets" : "chiplet";
    if (s->level == NET_LEVEL_gpu_net) return many ? "GPUs" : "GPU";
    if (are_sms(s, end)) return many ? "SMs" : "SM";
    return many ? "slices" : "slice";
}

/* Where there are several networks of a level: which one. */
static void write_net(const struct report *r, const struct system_link_stage *s, char *text, size_t size)
{
    const bool of_chiplet = s->level <= NET_LEVEL_slice_net;
    const uint32_t nets = of_chiplet                          ? config_chiplets(r->config)
                          : s->level == NET_LEVEL_chiplet_net ? r->config->system.gpus
                                                              : 1;
    *text = 0;
    if (nets > 1) (void)snprintf(text, size, " of %s %u", of_chiplet ? "chiplet" : "GPU", s->busiest_net);
}

/* SMs, slices and chiplets are numbered over the machine, gates and routers in their network. */
static void write_end(const struct report *r, const struct system_link_stage *s, enum net_end_kind end,
                      uint32_t idx, char text[DRAW_TEXT])
{
    const struct config *c = r->config;
    const bool of_chiplet = s->level <= NET_LEVEL_slice_net;
    const bool router = end == NET_END_ROUTER;
    const uint32_t endpoint_count = !of_chiplet       ? c->gpu.chiplets
                                    : are_sms(s, end) ? config_sms_per_chiplet(c)
                                                      : config_slices_per_chiplet(c);
    const bool gate = !router && of_chiplet && idx >= endpoint_count;
    if (!router && !gate) {
        (void)snprintf(text, DRAW_TEXT, "%s %u", endpoint_name(s, end, false),
                       s->busiest_net * endpoint_count + idx);
        return;
    }
    char net[DRAW_TEXT / 2];
    write_net(r, s, net, sizeof net);
    (void)snprintf(text, DRAW_TEXT, "%s %u%s", router ? "router" : "gate", gate ? idx - endpoint_count : idx,
                   net);
}

static void write_ends(const struct report *r, const struct system_link_stage *s, char from[DRAW_TEXT],
                       char to[DRAW_TEXT])
{
    write_end(r, s, s->busiest.from, s->busiest.from_idx, from);
    write_end(r, s, s->busiest.to, s->busiest.to_idx, to);
}

/* ---- for people ---- */

static void write_name(const struct report *r, const struct system_link_stage *s, char *text, size_t size)
{
    const char *const gates = net_level_gates(r->config, s->level) ? ", gates" : "";
    const char *const name = network_names[network_of(s)];
    const char *const from = endpoint_name(s, NET_END_SOURCE, true), *const to =
                                                                         endpoint_name(s, NET_END_SINK, true);
    switch (kind_of(r, s)) {
    case STAGE_SENDERS: (void)snprintf(text, size, "%s from %s%s", name, from, gates); return;
    case STAGE_RECEIVERS: (void)snprintf(text, size, "%s to %s%s", name, to, gates); return;
    case STAGE_ROUTERS: (void)snprintf(text, size, "%s between routers", name); return;
    case STAGE_RING: (void)snprintf(text, size, "%s round the ring", name); return;
    case STAGE_LINKS: (void)snprintf(text, size, "%s over plain links", name); return;
    case MEASURE_STAGES: break;
    }
}

/* Of links into a network and out of it the end outside says enough, and two routers are of one network. */
static void write_busiest(const struct report *r, const struct system_link_stage *s, FILE *out)
{
    char from[DRAW_TEXT], to[DRAW_TEXT], net[DRAW_TEXT];
    write_ends(r, s, from, to);
    switch (kind_of(r, s)) {
    case STAGE_SENDERS: (void)fputs(from, out); return;
    case STAGE_RECEIVERS: (void)fputs(to, out); return;
    case STAGE_ROUTERS:
        write_net(r, s, net, sizeof net);
        (void)fprintf(out, "router %u > %u%s", s->busiest.from_idx, s->busiest.to_idx, net);
        return;
    case STAGE_RING:
    case STAGE_LINKS: (void)fprintf(out, "%s > %s", from, to); return;
    case MEASURE_STAGES: break;
    }
}

void report_links_text(const struct report *r, FILE *out)
{
    struct system_link_stage stages[SYSTEM_LINK_STAGES];
    const uint32_t count = system_link_stages(r->system, stages);
    (void)fprintf(out, "\n  %-36s %6s %8s %8s\n", "link stages (share of cycles used)", "links", "mean",
                  "busiest");
    for (uint32_t k = 0; k < count; k++) {
        const struct system_link_stage *s = &stages[k];
        char name[2 * DRAW_TEXT];
        if (!s->flits) continue;
        write_name(r, s, name, sizeof name);
        (void)fprintf(out, "    %-34s %6llu %8.3f %8.3f  ", name, (unsigned long long)s->links,
                      share(r, s, s->flits, s->links), share(r, s, s->flits_max, 1));
        write_busiest(r, s, out);
        (void)fputc('\n', out);
    }
}

/* ---- physical links between nodes ---- */

static void write_node(const struct report *r, const struct system_node_link *l, enum net_end_kind end,
                       uint32_t idx, char text[DRAW_TEXT])
{
    if (end == NET_END_ROUTER)
        (void)snprintf(text, DRAW_TEXT, "switch");
    else if (l->level == NET_LEVEL_gpu_net)
        (void)snprintf(text, DRAW_TEXT, "GPU %u", idx);
    else
        (void)snprintf(text, DRAW_TEXT, "chiplet %u", l->net * r->config->gpu.chiplets + idx);
}

void report_node_link_name(const struct report *r, const struct system_node_link *l, char *text, size_t size)
{
    char from[DRAW_TEXT], to[DRAW_TEXT];
    write_node(r, l, l->ends.from, l->ends.from_idx, from);
    write_node(r, l, l->ends.to, l->ends.to_idx, to);
    (void)snprintf(text, size, "%s -> %s", from, to);
}

enum { NODE_LINKS_SHOWN = 48 };

void report_node_links_text(const struct report *r, FILE *out)
{
    struct system_node_link l;
    if (!system_node_link(r->system, 0, &l)) return;
    (void)fprintf(out, "\n  %-28s %12s %12s %9s %9s %9s\n", "physical links (utilisation)", "requests B",
                  "replies B", "requests", "replies", "both");
    uint32_t count = 0;
    for (; system_node_link(r->system, count, &l); count++) {
        char name[2 * DRAW_TEXT + 8];
        if (count >= NODE_LINKS_SHOWN) continue;
        report_node_link_name(r, &l, name, sizeof name);
        (void)fprintf(out, "    %-26s %12llu %12llu %9.3f %9.3f %9.3f\n", name,
                      (unsigned long long)l.bytes[NET_REQUESTS], (unsigned long long)l.bytes[NET_REPLIES],
                      l.utilisation[NET_REQUESTS], l.utilisation[NET_REPLIES],
                      l.utilisation[NET_REQUESTS] + l.utilisation[NET_REPLIES]);
    }
    if (count > NODE_LINKS_SHOWN)
        (void)fprintf(out, "    ... and %u more; all are in the JSON output, totals.links\n",
                      count - NODE_LINKS_SHOWN);
}

json_t *report_node_links_json(const struct report *r)
{
    json_t *links = json_array();
    struct system_node_link l;
    for (uint32_t k = 0; system_node_link(r->system, k, &l); k++) {
        char from[DRAW_TEXT], to[DRAW_TEXT];
        write_node(r, &l, l.ends.from, l.ends.from_idx, from);
        write_node(r, &l, l.ends.to, l.ends.to_idx, to);
        (void)json_array_append_new(
            links, json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:f}", "network", net_level_names[l.level],
                             "from", from, "to", to, "request_bytes", (json_int_t)l.bytes[NET_REQUESTS],
                             "reply_bytes", (json_int_t)l.bytes[NET_REPLIES], "request_utilisation",
                             l.utilisation[NET_REQUESTS], "reply_utilisation", l.utilisation[NET_REPLIES],
                             "utilisation", l.utilisation[NET_REQUESTS] + l.utilisation[NET_REPLIES]));
    }
    return links;
}

/* ---- for programs ---- */

static json_t *stage_json(const struct report *r, const struct system_link_stage *s)
{
    char from[DRAW_TEXT], to[DRAW_TEXT];
    json_t *stage = json_pack("{s:I, s:I, s:f, s:f}", "links", (json_int_t)s->links, "flits",
                              (json_int_t)s->flits, "utilisation", share(r, s, s->flits, s->links),
                              "utilisation_of_busiest", share(r, s, s->flits_max, 1));
    if (!s->flits) return stage; /* none is the busiest */
    write_ends(r, s, from, to);
    (void)json_object_set_new(
        stage, "busiest",
        json_pack("{s:s, s:s, s:I}", "from", from, "to", to, "flits", (json_int_t)s->flits_max));
    return stage;
}

json_t *report_links_json(const struct report *r)
{
    struct system_link_stage stages[SYSTEM_LINK_STAGES];
    const uint32_t count = system_link_stages(r->system, stages);
    json_t *networks = json_object();
    for (uint32_t k = 0; k < count; k++) {
        const char *const key = measure_network_keys[network_of(&stages[k])];
        json_t *network = json_object_get(networks, key);
        if (!network) {
            network = json_object();
            (void)json_object_set_new(networks, key, network);
        }
        (void)json_object_set_new(network, measure_stage_keys[kind_of(r, &stages[k])],
                                  stage_json(r, &stages[k]));
    }
    return networks;
}
