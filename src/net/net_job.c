/* net_job: what `atoll model net` does; see net_job.h. */
#include "net/net_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

static enum net_traffic_kind traffic_of(const char *text)
{
    static const char *const names[] = {"uniform", "hotspot", "permutation"};
    for (uint32_t i = 0; i < 3; i++)
        if (!strcmp(text, names[i])) return (enum net_traffic_kind)i;
    const char *near = diag_nearest(text, names, 3);
    diag_mistake("--traffic '%s' is not uniform, hotspot or permutation%s%s%s", text,
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static enum net_level level_of(const char *text)
{
    if (!text) return NET_LEVEL_net;
    for (uint32_t i = 0; i < NET_LEVELS; i++)
        if (!strcmp(text, net_level_names[i])) return (enum net_level)i;
    diag_mistake("--level '%s' is not net, slice_net, chiplet_net or gpu_net", text);
}

/* Why a machine does not have such a network; each has the first. */
static const char *const without[NET_LEVELS] = {
    [NET_LEVEL_slice_net] = "its LLC slices send nothing to each other",
    [NET_LEVEL_chiplet_net] = "it has one chiplet per GPU",
    [NET_LEVEL_gpu_net] = "it has one GPU",
};

/* A whole number at *text, which moves behind it; 0 when there is none. */
static uint32_t number_at(const char **text, uint32_t max)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(*text, &end, 10);
    if (end == *text || errno || value > max || **text == '-') return 0;
    *text = end;
    return (uint32_t)value;
}

static void read_sizes(struct net_model_spec *s, const char *text)
{
    const char *at = text;
    for (s->size_count = 0; s->size_count < NET_MODEL_SIZES;) {
        const uint32_t bytes = number_at(&at, s->net.max_packet_bytes);
        if (!bytes) break;
        s->packet_bytes[s->size_count++] = bytes;
        if (!*at) return;
        if (*at++ != ',') break;
    }
    diag_mistake("--packet-bytes '%s' is not a size from 1 to %u, nor up to %d of them with commas", text,
                 s->net.max_packet_bytes, NET_MODEL_SIZES);
}

static void read_ports(struct net_spec *s, const char *text)
{
    const char *at = text;
    s->sources = s->sinks = number_at(&at, 4096);
    if (*at == 'x') at++, s->sinks = number_at(&at, 4096);
    if (!s->sources || !s->sinks || *at)
        diag_mistake("--ports '%s' is not N or NxM with 1 to 4096 ports", text);
}

static struct net_model_spec spec_of(const struct machine *m, const struct net_job *job, enum net_level level)
{
    struct net_model_spec s = net_model_default();
    s.net = net_level_spec(&m->config, level, job->replies ? NET_REPLIES : NET_REQUESTS);
    if (job->ports)
        read_ports(&s.net, job->ports);
    else if (!net_level_used(&m->config, level))
        diag_mistake("machine '%s' has no %s: %s; give --ports to model one all the same", m->name,
                     net_level_names[level], without[level]);
    s.traffic = traffic_of(job->traffic);
    /* net has SMs on one side and slices on the other; what the others connect sends and receives */
    s.same_ends = level != NET_LEVEL_net && (s.net.topology == NET_LINKS || net_between_nodes(&s.net)) &&
                  s.net.sources == s.net.sinks;
    s.rate = job->rate;
    s.seed = job->seed;
    s.clock_hz = net_level_clock(&m->config, level);
    if (job->outstanding > 65536) diag_mistake("--outstanding must be at most 65536");
    s.outstanding = (uint32_t)job->outstanding;
    if (job->reply_bytes)
        s.reply_bytes = job->reply_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)job->reply_bytes;
    if (job->cycles) s.measure_cyc = s.drain_cyc = job->cycles;
    read_sizes(&s, job->packet_bytes);
    return s;
}

json_t *net_job_run(const struct machine *m, const struct net_job *job, FILE *report)
{
    const enum net_level level = level_of(job->level);
    const struct net_model_spec s = spec_of(m, job, level);
    const char *problem = net_model_problem(&s);
    if (problem) diag_mistake("%s", problem);
    struct net_model_result r;
    net_model_run(&s, &r);
    fprintf(report, "machine      %s, %s\n", m->name ? m->name : "defaults", net_level_names[level]);
    net_model_print(&s, &r, report);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "atoll_version", ATOLL_VERSION, "machine",
                             m->name ? m->name : "", "model", "net", "level", net_level_names[level],
                             "replies", job->replies, "config", machine_dump_json(m));
    json_t *result = net_model_json(&s, &r);
    (void)json_object_update(json, result);
    json_decref(result);
    return json;
}
