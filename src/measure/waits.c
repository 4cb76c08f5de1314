/* waits: the time of the requests of SMs, by stage, from the counters of the stages.
 *
 *   L1 ─► [queues] ─► request network ─► [queues] ─► slice ─► [queues] ─► memory or another slice
 *                                                      └────► [queues] ─► reply network ─► L1
 *
 * Networks and memory count their times. The rest of a request's time is queueing before and inside the
 * slices. Queueing is charged to the resource that blocks the queue, not to the queue's own stage:
 *
 *   queue            charged to
 *   inside a slice   memory, for the share of time in which the channel's queue is full; otherwise the data
 *                    port or the reply network
 *   before a slice   the reason of the tag stage's stall: reply network, data port, memory, other slices;
 *                    MSHRs and ways: memory and the links to other slices, by the time of their misses;
 *                    if the tag stage is not stalled, the request network
 *
 * All times are SM cycles per request of an SM, reads and stores alike. */
#include "measure/waits.h"

#include "dram/dram.h"

static double ratio(double above, double below) { return below > 0 ? above / below : 0; }
static double clamp_to_0(double x) { return x > 0 ? x : 0; }
static double min_double(double a, double b) { return a < b ? a : b; }

/* Times of the stages, in SM cycles, as means over all requests of SMs. */
struct stages {
    double per_request;              /* 1 / number of requests of SMs */
    double all;                      /* from request to reply */
    double in_slices;                /* from tag stage to injection of the reply, all slices of the path */
    double slice;                    /* unloaded latency of the slices of the path */
    double memory;                   /* memory channels */
    double remote;                   /* other slices and the networks to them */
    double in_homes;                 /* part of remote inside the other slices */
    double networks[MEASURE_LEVELS]; /* from injection to arrival */
    double unloaded[MEASURE_LEVELS]; /* latency without queueing */
};

/* Zero-load latency of a packet in network cycles, with the mean number of routers of its path. */
static double unloaded_network(const struct net_spec *s, double bytes)
{
    double routers = 1;
    switch (s->topology) {
    case NET_CROSSBAR:
    case NET_QUEUED: break;
    case NET_HXBAR: routers = 2; break;
    case NET_RING: routers = 1 + s->sources / 4.0; break;
    case NET_LINKS: return s->link_latency_cyc + bytes / s->width_bytes;
    case NET_NODE_LINKS:
    case NET_NODE_SWITCH: return s->link_latency_cyc + bytes * (double)s->clock_hz / (double)s->bandwidth;
    case NET_NODE_RING: /* the mean number of hops */
        return s->link_latency_cyc * (double)((uint64_t)s->sources * s->sources >> 2) / (s->sources - 1.0) +
               bytes * (double)s->clock_hz / (double)s->bandwidth;
    }
    return s->inject_latency_cyc + routers * (s->router_latency_cyc + s->link_latency_cyc) +
           bytes / s->width_bytes;
}

static void time_network(const struct span *span, enum net_level level, enum net_direction direction,
                         const struct system_net_use *u, enum measure_level to, struct stages *t)
{
    if (!u->packets) return;
    const struct net_spec spec = net_level_spec(span->config, level, direction);
    const double clock = (double)span->config->clock.sm / (double)net_level_clock(span->config, level);
    const double packets = (double)u->packets, time = (double)u->latency_cyc * clock * t->per_request;
    const double unloaded =
        unloaded_network(&spec, (double)u->bytes / packets) * clock * packets * t->per_request;
    t->networks[to] += time;
    t->unloaded[to] += min_double(time, unloaded);
}

static void time_networks(const struct span *span, struct stages *t)
{
    static const struct {
        enum net_level level;
        enum measure_level to;
    } above[] = {{NET_LEVEL_slice_net, LEVEL_SLICES},
                 {NET_LEVEL_chiplet_net, LEVEL_CHIPLETS},
                 {NET_LEVEL_gpu_net, LEVEL_GPUS}};
    time_network(span, NET_LEVEL_net, NET_REQUESTS, &span->use->requests, LEVEL_REQUESTS, t);
    time_network(span, NET_LEVEL_net, NET_REPLIES, &span->use->replies, LEVEL_REPLIES, t);
    for (size_t k = 0; k < sizeof above / sizeof *above; k++)
        for (enum net_direction d = NET_REQUESTS; d <= NET_REPLIES; d++)
            time_network(span, above[k].level, d, &span->use->above[above[k].level][d], above[k].to, t);
}

/* Mean memory latency in cycles of the slices, from a histogram whose buckets are powers of two. */
static double mean_memory_cycles(const struct llc_stats *s)
{
    double sum = 0, count = 0;
    for (uint32_t k = 0; k < sizeof s->memory_latency / sizeof *s->memory_latency; k++) {
        sum += (double)s->memory_latency[k] * (k ? 0.75 * (double)(1ull << k) : 0);
        count += (double)s->memory_latency[k];
    }
    return ratio(sum, count);
}

static void time_slices(const struct span *span, struct stages *t)
{
    const struct config *c = span->config;
    const struct llc_stats *s = &span->stats->llc;
    const double clock = (double)c->clock.sm / (double)c->clock.llc;
    const double visits = ((double)s->requests - (double)s->walks) * t->per_request;
    /* a secondary miss (merged) waits half of the latency on average */
    const double waiting = ((double)s->read_misses + (double)s->read_merged / 2) * t->per_request;
    t->in_slices = ratio((double)s->stay_cyc, (double)s->requests) * clock * visits;
    t->slice = c->llc.latency_cyc * clock * visits;
    t->memory = min_double(t->in_slices, mean_memory_cycles(s) * clock * waiting);
    t->unloaded[LEVEL_DRAM] =
        min_double(t->memory, 20 * (double)c->clock.sm / (double)c->clock.dram * waiting); /* an idle bank */
    t->remote = ratio((double)s->remote_latency_cyc, (double)s->fetches) * (double)s->forwards * clock *
                t->per_request;
    t->in_homes = ratio((double)s->far_requests, (double)s->requests) * clamp_to_0(t->in_slices - t->remote);
}

/* Estimated share of time in which the queue of the busiest channel is full: the square of its mean fill,
 * since a queue that is half full on average is seldom full. */
static double full_channel_share(const struct span *span, const struct measure *m)
{
    const struct config *c = span->config;
    const struct dram_spec spec = dram_spec_of(c);
    const struct level_use *l = &m->levels[LEVEL_DRAM];
    const double entries = spec.queue == dram_queue_unified ? spec.queue_entries : spec.read_entries;
    const double cycles =
        (double)(span->cycles - span->gap_cycles) * (double)c->clock.dram / (double)c->clock.sm;
    const double mean = ratio((double)span->stats->dram.waiting_cyc, cycles * (double)config_channels(c));
    const double filled = min_double(1, mean / entries * (l->use > 0 ? l->busiest / l->use : 1));
    return filled * filled;
}

/* Share of time in which the busiest part of a level takes no further packet: the part is in use, or packets
 * wait for credit. */
static double taken_share(const struct measure *m, enum measure_level k)
{
    const struct level_use *const l = &m->levels[k];
    return l->busiest > l->short_credit ? l->busiest : l->short_credit;
}

/* The busier of data ports and memory: the reason of slices that accept no request. */
static enum measure_level busier_behind(const struct measure *m)
{
    return m->levels[LEVEL_LLC].busiest > m->levels[LEVEL_DRAM].busiest ? LEVEL_LLC : LEVEL_DRAM;
}

static enum measure_level busiest_of(const struct measure *m, enum measure_level first)
{
    enum measure_level busiest = first;
    for (enum measure_level k = LEVEL_SLICES; k < MEASURE_LEVELS; k++)
        if (taken_share(m, k) > taken_share(m, busiest)) busiest = k;
    return busiest;
}

/* Charges queueing inside slices: the time beyond their own latency, memory and other slices. */
static void charge_inside(const struct span *span, const struct measure *m, double time, struct waits *w)
{
    const struct llc_stats *s = &span->stats->llc;
    const double memory = time * full_channel_share(span, m), rest = time - memory;
    const double port = rest * ratio((double)s->wait_port,
                                     (double)s->wait_port + (double)s->wait_reply + (double)s->tag_cycles);
    w->queues[LEVEL_DRAM] += memory;
    w->queues[LEVEL_LLC] += port;
    w->queues[busiest_of(m, LEVEL_REPLIES)] += rest - port;
}

/* Charges queueing before slices. While the tag stage is not stalled, the path to the slice (`path`) is
 * charged. A wait for other slices is charged to the network between them as far as that is busy or short of
 * credit, otherwise to the reasons of the other slices. */
static void charge_before(const struct span *span, const struct measure *m, const struct stages *t,
                          double time, enum measure_level path, struct waits *w)
{
    const struct llc_stats *s = &span->stats->llc;
    const double entries = (double)s->wait_mshr + (double)s->wait_way;
    const double in_memory = t->remote > 0 ? ratio(t->memory, t->memory + t->remote) : 1;
    const enum measure_level above = busiest_of(m, LEVEL_SLICES), behind = busier_behind(m);
    const struct {
        enum measure_level level;
        double cycles;
    } stalls[] = {{busiest_of(m, LEVEL_REPLIES), (double)s->wait_reply},
                  {LEVEL_LLC, (double)s->wait_port},
                  {LEVEL_DRAM, (double)s->wait_memory + entries * in_memory},
                  {above, entries * (1 - in_memory)},
                  {above, (double)s->wait_forward * taken_share(m, above)},
                  {behind, (double)s->wait_forward * clamp_to_0(1 - taken_share(m, above)) *
                               min_double(1, m->levels[behind].busiest)},
                  {path, (double)s->tag_cycles * (path == above ? taken_share(m, path) : 1)}};
    double all = 0;
    for (size_t k = 0; k < sizeof stalls / sizeof *stalls; k++) all += stalls[k].cycles;
    for (size_t k = 0; k < sizeof stalls / sizeof *stalls; k++) {
        const double share = time * ratio(stalls[k].cycles, all);
        /* a request network of low utilisation is not the reason; the rest stays uncharged */
        const bool own = stalls[k].level != LEVEL_REQUESTS;
        w->queues[stalls[k].level] += own ? share : share * m->levels[LEVEL_REQUESTS].busiest;
    }
}

/* Charges the unloaded time of a stage to the stage as far as it is busy, otherwise to latency. */
static void charge_unloaded(const struct measure *m, const struct stages *t, struct waits *w)
{
    for (enum measure_level k = 0; k < MEASURE_LEVELS; k++) {
        const double own = min_double(1, m->levels[k].busiest);
        w->queues[k] += t->unloaded[k] * own;
        w->unloaded += t->unloaded[k] * (1 - own);
    }
}

void measure_find_waits(const struct span *span, const struct measure *m, struct waits *w)
{
    const struct sm_stats *s = &span->stats->sm;
    struct stages t = {.per_request = ratio(1, (double)s->requests_sent)};
    *w = (struct waits){.unloaded = 1};
    t.all = (double)s->request_cyc * t.per_request;
    if (t.all <= 0) return;
    time_networks(span, &t);
    time_slices(span, &t);
    t.unloaded[LEVEL_LLC] = t.slice;
    *w = (struct waits){0};
    double above = 0, full = 0;
    for (enum measure_level k = LEVEL_SLICES; k < MEASURE_LEVELS; k++) {
        const double queueing = t.networks[k] - t.unloaded[k];
        const double receivers = queueing * min_double(1, m->levels[k].full);
        w->queues[k] = queueing - receivers;
        full += receivers;
        above += t.networks[k];
    }
    w->queues[LEVEL_REPLIES] += t.networks[LEVEL_REPLIES] - t.unloaded[LEVEL_REPLIES];
    w->queues[LEVEL_DRAM] += t.memory - t.unloaded[LEVEL_DRAM];
    /* pipeline stages before the tag lookup (llc.tag_latency_cyc) are not part of in_slices */
    const double outside = t.all - t.networks[LEVEL_REQUESTS] - t.networks[LEVEL_REPLIES] - t.in_slices;
    const double own = clamp_to_0(min_double(t.in_slices - t.memory - t.remote, t.slice));
    charge_inside(span, m, clamp_to_0(t.in_slices - own - t.memory - t.remote), w);
    charge_before(span, m, &t,
                  t.networks[LEVEL_REQUESTS] - t.unloaded[LEVEL_REQUESTS] +
                      clamp_to_0(outside - (t.slice - own)),
                  LEVEL_REQUESTS, w);
    charge_before(span, m, &t, full + clamp_to_0(t.remote - above - t.in_homes), busiest_of(m, LEVEL_SLICES),
                  w);
    charge_unloaded(m, &t, w);
    for (enum measure_level k = 0; k < MEASURE_LEVELS; k++)
        w->queues[k] = min_double(1, w->queues[k] / t.all);
    w->unloaded = min_double(1, w->unloaded / t.all);
}
