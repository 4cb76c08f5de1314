/* use: utilisation of networks, data ports and channels in an interval. kernel.c sets marks at the start
 * of a kernel; measure/ and report/ read the results. Marks are copies of a few counters per link, slice
 * and channel, so the file adds no cost per cycle. */
#include "system/system_private.h"

enum { STAGES_MAX = 16 }; /* later stages are added to the last one */

struct side_marks {
    struct net_stats stats;
    uint64_t *link_flits;
    uint64_t *link_short, *link_full; /* between nodes: of struct net_node_traffic; other networks: NULL */
};

struct use_marks {
    struct side_marks *sides[NET_LEVELS][2]; /* [level][direction][network of the level] */
    uint64_t *port_cycles, *columns;
};

static uint64_t columns_of(const struct system *g, uint32_t channel)
{
    const struct dram_stats *s = channel_stats(g->channels[channel]);
    return s->column_reads + s->column_writes;
}

static uint32_t net_count(const struct system *g, uint32_t level, uint32_t direction)
{
    uint32_t count = 0;
    while (system_net_at(g, level, direction, count)) count++;
    return count;
}

struct use_marks *system_use_marks_new(struct system *g)
{
    struct use_marks *m = ARENA_NEW(&g->arena, struct use_marks);
    for (uint32_t level = 0; level < NET_LEVELS; level++)
        for (uint32_t direction = 0; direction < 2; direction++) {
            const uint32_t count = net_count(g, level, direction);
            m->sides[level][direction] = ARENA_ARRAY(&g->arena, struct side_marks, count);
            for (uint32_t k = 0; k < count; k++) {
                struct side_marks *const side = &m->sides[level][direction][k];
                const uint32_t links = net_link_count(system_net_at(g, level, direction, k)->net);
                side->link_flits = ARENA_ARRAY(&g->arena, uint64_t, links);
                if (level < NET_LEVEL_chiplet_net) continue;
                side->link_short = ARENA_ARRAY(&g->arena, uint64_t, links);
                side->link_full = ARENA_ARRAY(&g->arena, uint64_t, links);
            }
        }
    m->port_cycles = ARENA_ARRAY(&g->arena, uint64_t, g->slice_count);
    m->columns = ARENA_ARRAY(&g->arena, uint64_t, g->channel_count);
    return m;
}

static void mark_side(struct side_marks *m, struct net *n)
{
    m->stats = *net_stats_of(n);
    for (uint32_t k = 0; k < net_link_count(n); k++) m->link_flits[k] = net_link(n, k).flits;
    for (uint32_t k = 0; m->link_short && k < net_link_count(n); k++) {
        const struct net_node_traffic t = net_node_traffic(n, k);
        m->link_short[k] = t.short_cyc;
        m->link_full[k] = t.full_cyc;
    }
}

void system_use_marks_set(const struct system *g, struct use_marks *m)
{
    const struct fabric_side *side;
    for (uint32_t level = 0; level < NET_LEVELS; level++)
        for (uint32_t direction = 0; direction < 2; direction++)
            for (uint32_t k = 0; (side = system_net_at(g, level, direction, k)); k++)
                mark_side(&m->sides[level][direction][k], side->net);
    for (uint32_t k = 0; k < g->slice_count; k++) m->port_cycles[k] = slice_stats(g->slices[k])->port_cycles;
    for (uint32_t k = 0; k < g->channel_count; k++) m->columns[k] = columns_of(g, k);
}

struct stages {
    uint64_t flits[STAGES_MAX], links[STAGES_MAX];
};

/* Adds the traffic of a network since `from`. NULL: since the start of the run. */
static void add_side(struct system_net_use *use, struct stages *stages, struct net *n,
                     const struct side_marks *from)
{
    static const struct net_stats none;
    const struct net_stats *now = net_stats_of(n), *was = from ? &from->stats : &none;
    use->packets += now->delivered - was->delivered;
    use->bytes += now->taken_bytes - was->taken_bytes;
    use->latency_cyc += now->latency_cyc - was->latency_cyc;
    use->blocked_cyc += now->blocked_cyc - was->blocked_cyc;
    for (uint32_t k = 0; k < net_link_count(n); k++) {
        const struct net_link_stats link = net_link(n, k);
        const uint64_t carried = link.flits - (from ? from->link_flits[k] : 0);
        const uint32_t stage = link.stage < STAGES_MAX ? link.stage : STAGES_MAX - 1;
        stages->flits[stage] += carried;
        stages->links[stage]++;
        if (carried > use->flits_max) use->flits_max = carried;
    }
}

/* Traffic of all networks of a level. The busiest stage is the one with the most flits per link. */
static struct system_net_use level_use(const struct system *g, uint32_t level, uint32_t direction,
                                       const struct use_marks *from)
{
    struct system_net_use use = {0};
    struct stages s = {0};
    const struct fabric_side *side;
    for (uint32_t k = 0; (side = system_net_at(g, level, direction, k)); k++)
        add_side(&use, &s, side->net, from ? &from->sides[level][direction][k] : NULL);
    for (uint32_t k = 0; k < STAGES_MAX; k++) {
        if (!s.links[k] || (use.links && s.flits[k] * use.links <= use.flits * s.links[k])) continue;
        use.flits = s.flits[k];
        use.links = s.links[k];
    }
    return use;
}

/* True for the link from a node to itself: the topology has a link per pair, and no node sends to itself. */
static bool is_unused(const struct net *n, uint32_t link)
{
    const struct net_link_stats l = net_link(n, link);
    const struct net_link_ends e = net_link_ends(net_spec_of(n), l.stage, l.port);
    return e.from != NET_END_ROUTER && e.to != NET_END_ROUTER && e.from_idx == e.to_idx;
}

/* The split of blocked cycles is an estimate, so that one part may fall. */
static void raise_to(uint64_t *max, uint64_t now, uint64_t was)
{
    if (now > was && now - was > *max) *max = now - was;
}

/* Traffic of the physical links between the nodes of a level: sum of requests and replies. */
static struct system_node_use node_use(const struct system *g, uint32_t level, const struct use_marks *from)
{
    struct system_node_use use = {0};
    const struct fabric_side *request;
    for (uint32_t k = 0; (request = system_net_at(g, level, NET_REQUESTS, k)); k++) {
        const struct net *const reply = system_net_at(g, level, NET_REPLIES, k)->net;
        for (uint32_t link = 0; link < net_link_count(reply); link++) {
            if (is_unused(reply, link)) continue;
            uint64_t cycles = net_link(request->net, link).flits + net_link(reply, link).flits;
            for (uint32_t d = 0; from && d < 2; d++) cycles -= from->sides[level][d][k].link_flits[link];
            for (uint32_t d = 0; d < 2; d++) {
                const struct side_marks *const was = from ? &from->sides[level][d][k] : NULL;
                const struct net_node_traffic now = net_node_traffic(d ? reply : request->net, link);
                raise_to(&use.short_max, now.short_cyc, was ? was->link_short[link] : 0);
                raise_to(&use.full_max, now.full_cyc, was ? was->link_full[link] : 0);
            }
            use.links++;
            use.cycles += cycles;
            if (cycles > use.cycles_max) use.cycles_max = cycles;
        }
    }
    return use;
}

bool system_node_link(const struct system *g, uint32_t idx, struct system_node_link *link)
{
    for (uint32_t level = NET_LEVEL_chiplet_net; level <= NET_LEVEL_gpu_net; level++) {
        const struct fabric_side *side;
        for (uint32_t k = 0; (side = system_net_at(g, level, NET_REQUESTS, k)); k++)
            for (uint32_t n = 0; n < net_link_count(side->net); n++) {
                if (is_unused(side->net, n) || idx--) continue;
                const struct net_link_stats l = net_link(side->net, n);
                *link = (struct system_node_link){
                    .level = level, .net = k, .ends = net_link_ends(net_spec_of(side->net), l.stage, l.port)};
                for (uint32_t d = 0; d < 2; d++) {
                    const struct net *const net = system_net_at(g, level, d, k)->net;
                    const struct net_node_traffic t = net_node_traffic(net, n);
                    const double cycles = system_seconds(g) * (double)net_level_clock(g->config, level);
                    link->bytes[d] = t.bytes;
                    link->packets[d] = t.packets;
                    link->utilisation[d] = cycles > 0 ? (double)net_link(net, n).flits / cycles : 0;
                }
                return true;
            }
    }
    return false;
}

struct system_use system_use_since(const struct system *g, const struct use_marks *from)
{
    struct system_use use = {0};
    for (uint32_t level = 0; level < NET_LEVELS; level++)
        for (uint32_t direction = 0; direction < 2; direction++)
            use.above[level][direction] = level_use(g, level, direction, from);
    for (uint32_t level = NET_LEVEL_chiplet_net; level <= NET_LEVEL_gpu_net; level++)
        use.nodes[level] = node_use(g, level, from);
    use.requests = use.above[NET_LEVEL_net][NET_REQUESTS];
    use.replies = use.above[NET_LEVEL_net][NET_REPLIES];
    for (uint32_t k = 0; k < g->slice_count; k++) {
        const uint64_t cycles = slice_stats(g->slices[k])->port_cycles - (from ? from->port_cycles[k] : 0);
        if (cycles <= use.port_cycles_max) continue;
        use.port_cycles_max = cycles;
        use.port_slice = k;
    }
    for (uint32_t k = 0; k < g->channel_count; k++) {
        const uint64_t columns = columns_of(g, k) - (from ? from->columns[k] : 0);
        if (columns <= use.columns_max) continue;
        use.columns_max = columns;
        use.columns_channel = k;
    }
    return use;
}

/* ---- stages ---- */

/* True for a link from a component to itself: no component sends to itself. */
static bool is_never_used(enum net_level level, const struct net_spec *spec, struct net_link_ends ends)
{
    return level != NET_LEVEL_net && (spec->topology == NET_LINKS || spec->topology == NET_NODE_LINKS) &&
           ends.from_idx == ends.to_idx;
}

/* Adds the links of a network to the stages of its level and direction. */
static void add_links(struct system_link_stage *stages, const struct net *n, uint32_t idx)
{
    const struct net_spec *spec = net_spec_of(n);
    for (uint32_t k = 0; k < net_link_count(n); k++) {
        const struct net_link_stats link = net_link(n, k);
        const struct net_link_ends ends = net_link_ends(spec, link.stage, link.port);
        struct system_link_stage *s = &stages[link.stage];
        if (is_never_used(s->level, spec, ends)) continue;
        s->flits += link.flits;
        if (s->links++ && link.flits <= s->flits_max) continue;
        s->flits_max = link.flits;
        s->busiest_net = idx;
        s->busiest = ends;
    }
}

uint32_t system_link_stages(const struct system *g, struct system_link_stage stages[SYSTEM_LINK_STAGES])
{
    uint32_t count = 0;
    for (uint32_t level = 0; level < NET_LEVELS; level++)
        for (uint32_t direction = 0; direction < 2; direction++) {
            const struct fabric_side *side = system_net_at(g, level, direction, 0);
            const uint32_t own = side ? net_stage_count(side->net) : 0;
            DIAG_ASSERT(count + own <= SYSTEM_LINK_STAGES);
            for (uint32_t k = 0; k < own; k++)
                stages[count + k] = (struct system_link_stage){
                    .level = level, .direction = direction, .stage = k, .stages = own};
            for (uint32_t k = 0; (side = system_net_at(g, level, direction, k)); k++)
                add_links(&stages[count], side->net, k);
            count += own;
        }
    return count;
}

struct system_use system_total_use(const struct system *g) { return system_use_since(g, NULL); }

const uint64_t *system_traffic(const struct system *g, uint32_t *partitions)
{
    *partitions = g->traffic.partitions;
    return traffic_between(&g->traffic);
}
