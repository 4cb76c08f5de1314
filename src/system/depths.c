/* depths: mean, max and peak occupancy of the queues in front of memory. report/ prints the result; measure/
 * names the queues.
 *
 *   network ─► input port ─► (nuba: local queue) ─► tag stage ─► inside, MSHR ─► due at memory ─► channel
 *
 * By Little's law, the occupancy summed over cycles equals the sum of all waiting times. Ports, slices and
 * channels keep sums of arrival and departure cycles for other purposes. The file computes differences of
 * these sums, so depths add no cost per cycle. */
#include "system/system_private.h"

/* Depth of one slice or channel: occupancy summed over cycles, and peak. */
struct part_depth {
    uint64_t sum, peak;
};

static void add_part(struct system_depth *d, uint32_t part, struct part_depth of)
{
    d->sum += of.sum;
    if (of.peak > d->peak) d->peak = of.peak;
    if (of.sum <= d->max) return;
    d->max = of.sum;
    d->deepest = part;
}

static struct fabric_side *side_of(struct fabric *f, enum system_queue queue)
{
    return queue == SYSTEM_QUEUE_INPUT          ? &f->request
           : queue == SYSTEM_QUEUE_REMOTE_INPUT ? &f->far_request
                                                : &f->far_reply;
}

/* Depth of the receiver queues of a network. In windows, only the sum over all ports is known; a machine with
 * windows has one chiplet and no gateways. */
static struct system_depth ports_depth(const struct system *g, enum system_queue queue)
{
    struct system_depth d = {.parts = g->slice_count, .clock_hz = g->config->clock.net};
    if (queue != SYSTEM_QUEUE_INPUT && !g->fabrics->forwards) return (struct system_depth){0};
    d.has_sum = true;
    d.has_max = !g->fabrics->request.ahead;
    for (uint32_t chiplet = 0; chiplet < g->chiplet_count; chiplet++) {
        const struct fabric_side *s = side_of(&g->fabrics[chiplet], queue);
        const uint64_t now = fabric_side_now(s);
        if (!d.has_max) {
            DIAG_ASSERT(!s->gates);
            d.sum += net_waited_everywhere(s->net, now);
            continue;
        }
        for (uint32_t k = 0; k < s->receiver_count; k++)
            add_part(&d, s->first_receiver + k, (struct part_depth){.sum = net_waited(s->net, k, now)});
    }
    return d;
}

static struct part_depth part_depth_of(const struct system *g, enum system_queue queue, uint32_t slice)
{
    struct slice *s = g->slices[slice];
    const struct llc_stats *stats = slice_stats(s);
    const struct slice_depths d =
        slice_depths(s, engine_now(g->engine, g->llc_domain), engine_tick(g->engine));
    switch (queue) {
    case SYSTEM_QUEUE_LOCAL: return (struct part_depth){.sum = d.local_cyc};
    case SYSTEM_QUEUE_MSHRS: return (struct part_depth){d.mshr_cyc, stats->mshr_peak};
    case SYSTEM_QUEUE_MEMORY: return (struct part_depth){.sum = d.memory_wait_ticks};
    default: return (struct part_depth){.sum = d.inside_cyc};
    }
}

static struct system_depth slices_depth(const struct system *g, enum system_queue queue)
{
    struct system_depth d = {.parts = g->slice_count, .clock_hz = g->config->clock.llc};
    if (queue == SYSTEM_QUEUE_LOCAL && !config_slices_by_partition(g->config))
        return (struct system_depth){0};
    if (queue == SYSTEM_QUEUE_MEMORY) d.clock_hz = config_tick_frequency(g->config);
    d.has_peak = queue == SYSTEM_QUEUE_MSHRS;
    d.has_sum = d.has_max = queue == SYSTEM_QUEUE_INSIDE || slice_depths(g->slices[0], 0, 0).counted;
    for (uint32_t k = 0; k < g->slice_count; k++) add_part(&d, k, part_depth_of(g, queue, k));
    return d;
}

static struct system_depth channels_depth(const struct system *g)
{
    struct system_depth d = {.parts = g->channel_count,
                             .clock_hz = g->config->clock.dram,
                             .has_sum = true,
                             .has_max = true,
                             .has_peak = true};
    for (uint32_t k = 0; k < g->channel_count; k++) {
        const struct dram_stats *s = channel_stats(g->channels[k]);
        add_part(&d, k, (struct part_depth){s->waiting_cyc, s->waiting_peak});
    }
    return d;
}

struct system_depth system_depth(const struct system *g, enum system_queue queue)
{
    switch (queue) {
    case SYSTEM_QUEUE_INPUT:
    case SYSTEM_QUEUE_REMOTE_INPUT:
    case SYSTEM_QUEUE_REMOTE_REPLIES: return ports_depth(g, queue);
    case SYSTEM_QUEUE_LOCAL:
    case SYSTEM_QUEUE_INSIDE:
    case SYSTEM_QUEUE_MSHRS:
    case SYSTEM_QUEUE_MEMORY: return slices_depth(g, queue);
    case SYSTEM_QUEUE_CHANNEL: return channels_depth(g);
    case SYSTEM_QUEUES: break;
    }
    return (struct system_depth){0};
}
