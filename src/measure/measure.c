/* measure: see measure.h. */
#include "measure/measure.h"

#include "dram/dram.h"
#include "request/request.h"

const char *const measure_network_keys[MEASURE_NETWORKS] = {
    "requests",         "replies",         "slice_requests", "slice_replies",
    "chiplet_requests", "chiplet_replies", "gpu_requests",   "gpu_replies",
};

const char *const measure_stage_keys[MEASURE_STAGES] = {
    [STAGE_SENDERS] = "senders", [STAGE_ROUTERS] = "between_routers",
    [STAGE_RING] = "ring",       [STAGE_RECEIVERS] = "receivers",
    [STAGE_LINKS] = "links",
};

const char *const measure_queue_keys[SYSTEM_QUEUES] = {
    [SYSTEM_QUEUE_INPUT] = "input",
    [SYSTEM_QUEUE_REMOTE_INPUT] = "input_from_slices",
    [SYSTEM_QUEUE_REMOTE_REPLIES] = "answers_from_slices",
    [SYSTEM_QUEUE_LOCAL] = "local_queue",
    [SYSTEM_QUEUE_INSIDE] = "inside",
    [SYSTEM_QUEUE_MSHRS] = "mshrs",
    [SYSTEM_QUEUE_MEMORY] = "memory_queue",
    [SYSTEM_QUEUE_CHANNEL] = "channel",
};

const char *const measure_level_names[MEASURE_LEVELS] = {
    [LEVEL_L1] = "L1",
    [LEVEL_REQUESTS] = "request network",
    [LEVEL_REPLIES] = "reply network",
    [LEVEL_LLC] = "LLC data ports",
    [LEVEL_DRAM] = "DRAM",
    [LEVEL_SLICES] = "between slices",
    [LEVEL_CHIPLETS] = "between chiplets",
    [LEVEL_GPUS] = "between GPUs",
};
const char *const measure_level_keys[MEASURE_LEVELS] = {
    [LEVEL_L1] = "l1",
    [LEVEL_REQUESTS] = "request_network",
    [LEVEL_REPLIES] = "reply_network",
    [LEVEL_LLC] = "llc_port",
    [LEVEL_DRAM] = "dram",
    [LEVEL_SLICES] = "slice_network",
    [LEVEL_CHIPLETS] = "chiplet_network",
    [LEVEL_GPUS] = "gpu_network",
};
const char *const measure_stall_names[MEASURE_STALLS] = {
    [STALL_ISSUE] = "issued an instruction", [STALL_UNIT] = "execution unit busy",
    [STALL_PIPE] = "memory pipe full",       [STALL_DEPENDENCE] = "waited for arithmetic",
    [STALL_MEMORY] = "waited for memory",    [STALL_TRANSLATION] = "waited for a page",
    [STALL_BARRIER] = "waited at a barrier", [STALL_FENCE] = "waited for stores",
    [STALL_SLEEP] = "asleep (nanosleep)",    [STALL_MOVING] = "block on the move",
    [STALL_NO_WARP] = "no resident warp",
};
const char *const measure_stall_keys[MEASURE_STALLS] = {
    [STALL_ISSUE] = "issue",           [STALL_UNIT] = "unit",       [STALL_PIPE] = "memory_pipe",
    [STALL_DEPENDENCE] = "dependence", [STALL_MEMORY] = "memory",   [STALL_TRANSLATION] = "translation",
    [STALL_BARRIER] = "barrier",       [STALL_FENCE] = "fence",     [STALL_SLEEP] = "sleep",
    [STALL_MOVING] = "moving",         [STALL_NO_WARP] = "no_warp",
};

static double ratio(double above, double below) { return below > 0 ? above / below : 0; }
static double ratio_u64(uint64_t above, uint64_t below) { return ratio((double)above, (double)below); }

static void measure_stalls(const struct span *span, struct measure *m)
{
    const struct sm_stats *s = &span->stats->sm;
    const uint64_t cycles[MEASURE_STALLS] = {
        [STALL_ISSUE] = s->issue_cycles,    [STALL_UNIT] = s->stall_structural,
        [STALL_PIPE] = s->stall_pipe,       [STALL_DEPENDENCE] = s->stall_dependence,
        [STALL_MEMORY] = s->stall_memory,   [STALL_TRANSLATION] = s->stall_translation,
        [STALL_BARRIER] = s->stall_barrier, [STALL_FENCE] = s->stall_fence,
        [STALL_SLEEP] = s->stall_sleep,     [STALL_MOVING] = s->stall_moving,
        [STALL_NO_WARP] = s->stall_no_warp,
    };
    for (uint32_t k = 0; k < MEASURE_STALLS; k++) m->stalls[k] = ratio_u64(cycles[k], s->scheduler_cycles);
}

/* Utilisation of a network whose links carry one flit per cycle each. The bandwidth counts whole flits. */
static struct level_use network(const struct config *c, const struct system_net_use *u, double seconds)
{
    const double cycles = seconds * (double)c->clock.net, links = (double)u->links;
    struct level_use l = {.peak_bytes_per_second = links * (double)c->net.width * (double)c->clock.net};
    l.use = ratio((double)u->flits, links * cycles);
    l.busiest = ratio((double)u->flits_max, cycles);
    l.bytes_per_second = l.use * l.peak_bytes_per_second;
    return l;
}

/* Utilisation of the physical links between nodes, which requests and replies share. */
static struct level_use node_links(const struct span *span, enum net_level level, double seconds)
{
    const struct config *c = span->config;
    const struct system_node_use *u = &span->use->nodes[level];
    if (!u->links || !net_level_used(c, level)) return (struct level_use){0};
    const struct net_spec spec = net_level_spec(c, level, NET_REQUESTS);
    const double links = (double)u->links, cycles = seconds * (double)net_level_clock(c, level);
    struct level_use l = {.peak_bytes_per_second = links * (double)spec.bandwidth};
    l.use = ratio((double)u->cycles, links * cycles);
    l.busiest = ratio((double)u->cycles_max, cycles);
    l.short_credit = ratio((double)u->short_max, cycles);
    l.full = ratio((double)u->full_max, cycles);
    l.bytes_per_second = l.use * l.peak_bytes_per_second;
    return l;
}

/* Utilisation of the busier direction of the networks between slices. Links (NET_LINKS) count as unlimited.
 */
static struct level_use slice_network(const struct span *span, double seconds)
{
    const struct config *c = span->config;
    const struct system_net_use *u = span->use->above[NET_LEVEL_slice_net];
    u += u[NET_REQUESTS].flits > u[NET_REPLIES].flits ? NET_REQUESTS : NET_REPLIES;
    if (!u->links || !net_level_used(c, NET_LEVEL_slice_net)) return (struct level_use){0};
    const struct net_spec spec = net_level_spec(c, NET_LEVEL_slice_net, NET_REQUESTS);
    if (spec.topology == NET_LINKS) return (struct level_use){0};
    const double links = (double)u->links, clock = (double)net_level_clock(c, NET_LEVEL_slice_net);
    struct level_use l = {.peak_bytes_per_second = links * spec.width_bytes * clock};
    l.use = ratio((double)u->flits, links * clock * seconds);
    l.busiest = ratio((double)u->flits_max, clock * seconds);
    l.bytes_per_second = l.use * l.peak_bytes_per_second;
    return l;
}

static void measure_levels(const struct span *span, struct measure *m)
{
    const struct config *c = span->config;
    const struct stats *s = span->stats;
    const double sms = (double)config_sms(c), slices = (double)config_slices(c);
    const double channels = (double)config_channels(c);
    struct level_use *l = &m->levels[LEVEL_L1];
    l->peak_bytes_per_second = sms * c->l1.lines_per_cyc * LINE_BYTES * (double)c->clock.sm;
    l->bytes_per_second = ratio((double)(s->l1.reads + s->l1.writes) * LINE_BYTES, m->seconds);
    l->busiest = l->use = ratio(l->bytes_per_second, l->peak_bytes_per_second);
    m->levels[LEVEL_REQUESTS] = network(c, &span->use->requests, m->seconds);
    m->levels[LEVEL_REPLIES] = network(c, &span->use->replies, m->seconds);
    m->levels[LEVEL_SLICES] = slice_network(span, m->seconds);
    m->levels[LEVEL_CHIPLETS] = node_links(span, NET_LEVEL_chiplet_net, m->seconds);
    m->levels[LEVEL_GPUS] = node_links(span, NET_LEVEL_gpu_net, m->seconds);
    l = &m->levels[LEVEL_LLC];
    const double port_cycles = m->seconds * (double)c->clock.llc;
    l->peak_bytes_per_second = slices * (double)c->llc.port * (double)c->clock.llc;
    l->use = ratio((double)s->llc.port_cycles, slices * port_cycles);
    l->busiest = ratio((double)span->use->port_cycles_max, port_cycles);
    l->bytes_per_second = l->use * l->peak_bytes_per_second;
    l = &m->levels[LEVEL_DRAM];
    const struct dram_spec spec = dram_spec_of(c);
    const double channel_peak = dram_spec_peak(&spec) * (double)c->clock.dram;
    const double column = (double)c->dram.column_size;
    l->peak_bytes_per_second = channels * channel_peak;
    l->bytes_per_second = ratio((double)(s->dram.column_reads + s->dram.column_writes) * column, m->seconds);
    l->use = ratio(l->bytes_per_second, l->peak_bytes_per_second);
    l->busiest = ratio((double)span->use->columns_max * column, m->seconds * channel_peak);
}

static void measure_caches(const struct stats *s, struct measure *m)
{
    const uint64_t lookups = s->l1.reads - s->l1.bypassed;
    const uint64_t columns = s->dram.row_hits + s->dram.row_misses + s->dram.row_conflicts;
    m->has_loads = lookups > 0;
    m->has_reads = s->sm.reads_done > 0;
    m->has_llc_reads = s->llc.reads > 0;
    m->has_tlb = s->mmu.l1_lookups > 0;
    m->has_l2_tlb = s->mmu.l2_lookups > 0;
    m->has_columns = columns > 0;
    m->l1_hits = ratio_u64(s->l1.hits, lookups);
    m->l1_merged = ratio_u64(s->l1.merged, lookups);
    m->llc_hits = ratio_u64(s->llc.read_hits, s->llc.reads);
    m->llc_merged = ratio_u64(s->llc.read_merged, s->llc.reads);
    m->l1_tlb_hits = ratio_u64(s->mmu.l1_hits, s->mmu.l1_lookups);
    m->l2_tlb_hits = ratio_u64(s->mmu.l2_hits, s->mmu.l2_lookups);
    m->row_hits = ratio_u64(s->dram.row_hits, columns);
}

static void measure_latencies(const struct span *span, struct measure *m)
{
    const struct stats *s = span->stats;
    const struct system_use *u = span->use;
    const struct config *c = span->config;
    m->has_loads_done = s->sm.loads_done > 0;
    m->has_requests = u->requests.packets > 0;
    m->has_replies = u->replies.packets > 0;
    m->has_dram_reads = s->dram.reads > 0;
    m->read_latency = ratio_u64(s->sm.read_latency_cyc, s->sm.reads_done);
    m->load_latency = ratio_u64(s->sm.loads_waiting_cyc, s->sm.loads_done);
    m->request_latency = ratio_u64(u->requests.latency_cyc, u->requests.packets);
    m->reply_latency = ratio_u64(u->replies.latency_cyc, u->replies.packets);
    m->dram_latency = ratio_u64(s->dram.read_latency_cyc, s->dram.reads);
    m->reads_in_flight = ratio_u64(s->sm.read_latency_cyc, span->cycles);
    m->walkers_busy = ratio((double)s->mmu.walk_cycles, (double)span->cycles * c->mmu.walkers);
    m->tlb_port_use = ratio((double)s->mmu.l2_lookups, (double)span->cycles * c->mmu.l2_ports);
}

void measure_span(const struct span *span, struct measure *m)
{
    const struct config *c = span->config;
    const struct stats *s = span->stats;
    const double sms = (double)config_sms(c);
    *m = (struct measure){.cycles = span->cycles, .seconds = (double)span->cycles / (double)c->clock.sm};
    m->ipc = ratio_u64(s->sm.warp_instructions, span->cycles);
    m->ipc_per_sm = m->ipc / sms;
    m->ipc_peak = sms * c->sm.schedulers;
    m->lanes = ratio_u64(s->sm.thread_instructions, s->sm.warp_instructions);
    m->warps = ratio((double)s->sm.resident_warp_cycles, (double)span->cycles * sms);
    m->occupancy = m->warps / c->sm.warps;
    measure_stalls(span, m);
    measure_levels(span, m);
    measure_caches(s, m);
    measure_latencies(span, m);
    measure_find_bound(span, m);
}
