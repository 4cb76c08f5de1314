/* bounds: checks at the end of a run that no component did more work than its cycles allow. The check
 * covers each scheduler, port, link, data bus and walker separately: work <= capacity per cycle x cycles.
 * A violation is an internal error, even if all conservation laws hold. system_finish() calls the check. */
#include "llc/spill.h"
#include "system/system_private.h"

struct bound {
    const struct system *system;
    const char *component;
    uint64_t per_cyc, cycles;
};

static void check_bound(const struct bound *b, uint32_t idx, uint64_t work)
{
    const uint64_t capacity = b->per_cyc * b->cycles;
    if (work <= capacity) return;
    diag_bug("bounds", system_now(b->system),
             "%s %u did %llu units of work, but %llu cycles allow %llu at most", b->component, idx,
             (unsigned long long)work, (unsigned long long)b->cycles, (unsigned long long)capacity);
}

static void sm_bounds(const struct system *g)
{
    const struct config *c = g->config;
    const uint64_t cycles = system_now(g) + 1;
    const struct bound schedulers = {g, "the schedulers of SM", c->sm.schedulers, cycles};
    const struct bound warps = {g, "the warp slots of SM", c->sm.warps, cycles};
    const struct bound l1 = {g, "the L1 of SM", c->l1.lines_per_cyc, cycles};
    const struct bound request = {g, "the request port of SM", 1, cycles};
    const struct bound reply = {g, "the reply port of SM", 1, cycles};
    const struct bound flight = {g, "the requests in flight of SM", sm_request_limit(g->sm_spec), cycles};
    const struct bound shared = {g, "the shared memory of SM", 1, cycles};
    for (uint32_t k = 0; k < g->sm_count; k++) {
        const struct sm_stats *s = sm_stats(g->sms[k]);
        check_bound(&schedulers, k, s->warp_instructions);
        check_bound(&warps, k, s->resident_warp_cycles);
        check_bound(&l1, k, sm_l1_stats(g->sms[k])->reads + sm_l1_stats(g->sms[k])->writes);
        check_bound(&request, k, s->requests_sent);
        check_bound(&reply, k, s->replies_received);
        check_bound(&flight, k, s->in_flight_cyc);
        check_bound(&shared, k, s->shared_instructions + s->shared_conflict_cycles);
    }
}

/* Upper bound in cycles of the data-port reservations after the last cycle: replies, write-backs and fills
 * that wait for the port, at one byte per cycle. */
static uint64_t reserved_cyc_max(const struct system *g)
{
    const struct config *c = g->config;
    return (uint64_t)(c->llc.data_queue + c->llc.memory_queue + c->llc.mshrs + 2) * LINE_BYTES;
}

static void memory_bounds(const struct system *g)
{
    const struct config *c = g->config;
    const uint64_t llc_cyc = engine_now(g->engine, g->llc_domain) + 1;
    const uint64_t dram_cyc = engine_now(g->engine, g->dram_domain) + 1;
    const struct bound tags = {g, "the tag stage of slice", 1, llc_cyc};
    const struct bound port = {g, "the data port of slice", 1, llc_cyc + reserved_cyc_max(g)};
    const struct bound bus = {g, "the data bus of channel", 1, dram_cyc + c->dram.burst_cyc};
    /* Windows of tFAW overlap the run's ends by less than one. */
    const struct bound activates = {g, "the activates of channel", 4, dram_cyc + c->dram.tfaw_cyc};
    const struct bound lookups = {g, "the L2 TLB of GPU", c->mmu.l2_ports, system_now(g) + 1};
    const struct bound walkers = {g, "the walkers of GPU", c->mmu.walkers, system_now(g) + 1};
    for (uint32_t k = 0; k < g->slice_count; k++) {
        check_bound(&tags, k, slice_stats(g->slices[k])->tag_cycles);
        check_bound(&port, k, slice_stats(g->slices[k])->port_cycles);
    }
    for (uint32_t k = 0; k < g->channel_count; k++) {
        const struct dram_stats *d = channel_stats(g->channels[k]);
        check_bound(&bus, k, (d->column_reads + d->column_writes) * c->dram.burst_cyc);
        check_bound(&activates, k, d->activates * c->dram.tfaw_cyc);
    }
    for (uint32_t k = 0; k < g->mmu_count; k++) {
        check_bound(&lookups, k, mmu_stats(g->mmus[k])->l2_lookups);
        check_bound(&walkers, k, mmu_stats(g->mmus[k])->walk_cycles);
    }
}

/* Utilisation = throughput x service time: a link is busy for one cycle per flit of its packets. */
static void link_bounds(const struct system *g, const struct fabric_side *side)
{
    const struct net *n = side->net;
    const uint64_t cycles = fabric_side_now(side) + 1;
    const struct bound each = {g, "link", 1, cycles};
    for (uint32_t k = 0; k < net_link_count(n); k++) check_bound(&each, k, net_link(n, k).flits);
    if (net_spec_of(n)->topology == NET_LINKS || net_between_nodes(net_spec_of(n)))
        return; /* several links lead to a receiver, or message classes share a link */
    const struct bound link = {g, "the link to receiver", 1, cycles};
    for (uint32_t k = 0; k < net_spec_of(n)->sinks; k++) {
        const struct net_output_stats o = net_output(n, k);
        check_bound(&link, k, o.busy_cyc);
        const uint64_t width = net_spec_of(n)->width_bytes;
        if (o.busy_cyc * width >= o.bytes && o.busy_cyc * width < o.bytes + o.packets * width + 1) continue;
        diag_bug("bounds", system_now(g),
                 "the link to receiver %u carried %llu bytes in %llu packets, but was busy for "
                 "%llu cycles",
                 k, (unsigned long long)o.bytes, (unsigned long long)o.packets,
                 (unsigned long long)o.busy_cyc);
    }
}

/* All message classes together use at most the bandwidth of a physical link between nodes. */
static void node_link_bounds(const struct system *g)
{
    for (uint32_t level = NET_LEVEL_chiplet_net; level <= NET_LEVEL_gpu_net; level++) {
        const struct fabric_side *side;
        for (uint32_t k = 0; (side = system_net_at(g, level, NET_REQUESTS, k)); k++) {
            const struct net *const reply = system_net_at(g, level, NET_REPLIES, k)->net;
            const struct bound each = {g, "the physical link", 1, fabric_side_now(side) + 1};
            for (uint32_t link = 0; link < net_link_count(reply); link++)
                check_bound(&each, link, net_link(side->net, link).flits + net_link(reply, link).flits);
        }
    }
}

/* Bytes of a direction <= bandwidth x time. An operation that begins before the last cycle ends may be under way, and
 * so may a page. */
static void cpu_link_bounds(const struct system *g)
{
    const struct config *c = g->config;
    const double seconds = engine_seconds(g->engine) + 1 / (double)c->clock.llc;
    const uint64_t under_way = c->spill.header_bytes + LINE_BYTES;
    const struct bound each = {g, "the CPU link of GPU", 1,
                               (uint64_t)(seconds * (double)c->spill.bandwidth) + under_way + 1};
    for (uint32_t k = 0; g->cpu_links && k < c->system.gpus; k++) {
        const struct spill_stats *s = spill_stats(g->cpu_links[k]);
        check_bound(&each, k, s->out_bytes);
        check_bound(&each, k, s->in_bytes);
    }
}

/* A request of an SM to a remote line causes at most one request at the home. */
static void remote_bounds(const struct system *g)
{
    uint64_t caused = 0, arrived = 0;
    if (!config_counts_nodes(g->config)) return;
    for (uint32_t k = 0; k < g->slice_count; k++) {
        caused += slice_stats(g->slices[k])->local_remote;
        arrived += slice_stats(g->slices[k])->remote_local;
    }
    if (arrived <= caused) return;
    diag_bug("bounds", system_now(g),
             "%llu requests of SMs to remote lines caused %llu requests at their homes",
             (unsigned long long)caused, (unsigned long long)arrived);
}

void system_check_bounds(const struct system *g)
{
    remote_bounds(g);
    cpu_link_bounds(g);
    node_link_bounds(g);
    sm_bounds(g);
    memory_bounds(g);
    const struct fabric_side *side;
    for (uint32_t level = 0; level < NET_LEVELS; level++)
        for (uint32_t direction = 0; direction < 2; direction++)
            for (uint32_t k = 0; (side = system_net_at(g, level, direction, k)); k++) link_bounds(g, side);
}
