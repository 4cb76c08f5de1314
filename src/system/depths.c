/* depths: how many requests wait at the slices, and how many of them where.
 *
 *   network ─► port ─► (nuba: local queue) ─► tag stage ─► inside, MSHR ─► due at memory ─► channel
 *
 * Nothing is counted in the cycles of a run for it: a depth is the sum of waiting times over cycles (Little's
 * law), and those are differences of sums that ports, slices and channels keep anyway. */
#include "system/system_private.h"

/* What one part has to say. */
struct share {
    uint64_t sum, peak;
};

static void add(struct system_depth *d, uint32_t part, struct share of)
{
    d->sum += of.sum;
    if (of.peak > d->peak) d->peak = of.peak;
    if (of.sum <= d->most) return;
    d->most = of.sum;
    d->deepest = part;
}

static struct fabric_side *side_of(struct fabric *f, enum system_queue queue)
{
    return queue == SYSTEM_QUEUE_INPUT       ? &f->request
           : queue == SYSTEM_QUEUE_FAR_INPUT ? &f->far_request
                                             : &f->far_reply;
}

/* At the ports of a network. In windows, where there is one chiplet and thus no gates, all together. */
static struct system_depth at_ports(const struct system *g, enum system_queue queue)
{
    struct system_depth d = {.parts = g->slice_count, .clock_hz = g->config->clock.net};
    if (queue != SYSTEM_QUEUE_INPUT && !g->fabrics->forwards) return (struct system_depth){0};
    d.has_sum = true;
    d.has_most = !g->fabrics->request.ahead;
    for (uint32_t chiplet = 0; chiplet < g->chiplet_count; chiplet++) {
        const struct fabric_side *s = side_of(&g->fabrics[chiplet], queue);
        const uint64_t now = fabric_side_now(s);
        if (!d.has_most) {
            DIAG_ASSERT(!s->gates);
            d.sum += net_waited_everywhere(s->net, now);
            continue;
        }
        for (uint32_t k = 0; k < s->receiver_count; k++)
            add(&d, s->first_receiver + k, (struct share){.sum = net_waited(s->net, k, now)});
    }
    return d;
}

static struct share share_of(const struct system *g, enum system_queue queue, uint32_t slice)
{
    struct slice *s = g->slices[slice];
    const struct llc_stats *stats = slice_stats(s);
    const struct slice_depths d =
        slice_depths(s, engine_now(g->engine, g->llc_domain), engine_tick(g->engine));
    switch (queue) {
    case SYSTEM_QUEUE_LOCAL: return (struct share){.sum = d.local_cyc};
    case SYSTEM_QUEUE_MSHRS: return (struct share){d.mshr_cyc, stats->mshr_peak};
    case SYSTEM_QUEUE_MEMORY: return (struct share){.sum = d.memory_wait_ticks};
    default: return (struct share){.sum = d.inside_cyc};
    }
}

static struct system_depth in_slices(const struct system *g, enum system_queue queue)
{
    struct system_depth d = {.parts = g->slice_count, .clock_hz = g->config->clock.llc};
    if (queue == SYSTEM_QUEUE_LOCAL && !config_slices_by_partition(g->config))
        return (struct system_depth){0};
    if (queue == SYSTEM_QUEUE_MEMORY) d.clock_hz = config_tick_frequency(g->config);
    d.has_peak = queue == SYSTEM_QUEUE_MSHRS;
    d.has_sum = d.has_most = queue == SYSTEM_QUEUE_INSIDE || slice_depths(g->slices[0], 0, 0).counted;
    for (uint32_t k = 0; k < g->slice_count; k++) add(&d, k, share_of(g, queue, k));
    return d;
}

static struct system_depth in_channels(const struct system *g)
{
    struct system_depth d = {.parts = g->channel_count,
                             .clock_hz = g->config->clock.dram,
                             .has_sum = true,
                             .has_most = true,
                             .has_peak = true};
    for (uint32_t k = 0; k < g->channel_count; k++) {
        const struct dram_stats *s = channel_stats(g->channels[k]);
        add(&d, k, (struct share){s->waiting_cyc, s->waiting_peak});
    }
    return d;
}

struct system_depth system_depth(const struct system *g, enum system_queue queue)
{
    switch (queue) {
    case SYSTEM_QUEUE_INPUT:
    case SYSTEM_QUEUE_FAR_INPUT:
    case SYSTEM_QUEUE_ANSWERS: return at_ports(g, queue);
    case SYSTEM_QUEUE_LOCAL:
    case SYSTEM_QUEUE_INSIDE:
    case SYSTEM_QUEUE_MSHRS:
    case SYSTEM_QUEUE_MEMORY: return in_slices(g, queue);
    case SYSTEM_QUEUE_CHANNEL: return in_channels(g);
    case SYSTEM_QUEUES: break;
    }
    return (struct system_depth){0};
}
