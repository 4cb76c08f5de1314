/* time_bounds: lower bounds of the time of a run that single resources set: their work over their capacity. The
 * largest bound over all links or channels counts. A run that takes less time than a bound is an internal error, which
 * bounds.c raises; a run that takes much more is limited by latency or by the order of its accesses. */
#include "llc/spill.h"
#include "system/system_private.h"

static void take(struct system_time_bound *b, double seconds, uint32_t idx)
{
    if (seconds <= b->seconds) return;
    b->seconds = seconds;
    b->idx = idx;
}

static bool link_bound(const struct system *g, struct system_time_bound *b)
{
    struct system_node_link l;
    uint32_t k = 0;
    for (; system_node_link(g, k, &l); k++)
        take(b, (l.utilisation[NET_REQUESTS] + l.utilisation[NET_REPLIES]) * system_seconds(g), k);
    return k != 0;
}

static void bus_bound(const struct system *g, struct system_time_bound *b)
{
    for (uint32_t k = 0; k < g->channel_count; k++) {
        const struct dram_stats *d = channel_stats(g->channels[k]);
        const uint64_t cycles = (d->column_reads + d->column_writes) * g->config->dram.burst_cyc;
        take(b, (double)cycles / (double)g->config->clock.dram, k);
    }
}

/* Four activates per window of tFAW. */
static void activate_bound(const struct system *g, struct system_time_bound *b)
{
    for (uint32_t k = 0; k < g->channel_count; k++) {
        const double windows = (double)channel_stats(g->channels[k])->activates / 4;
        take(b, windows * (double)g->config->dram.tfaw_cyc / (double)g->config->clock.dram, k);
    }
}

static bool cpu_link_bound(const struct system *g, struct system_time_bound *b)
{
    for (uint32_t k = 0; g->cpu_links && k < g->config->system.gpus; k++) {
        const struct spill_stats *s = spill_stats(g->cpu_links[k]);
        const uint64_t bytes = s->out_bytes > s->in_bytes ? s->out_bytes : s->in_bytes;
        take(b, (double)bytes / (double)g->config->spill.bandwidth, k);
    }
    return g->cpu_links != NULL;
}

bool system_time_bound(const struct system *g, enum system_floor floor, struct system_time_bound *b)
{
    *b = (struct system_time_bound){0};
    switch (floor) {
    case SYSTEM_FLOOR_LINK: return link_bound(g, b);
    case SYSTEM_FLOOR_BUS: bus_bound(g, b); return true;
    case SYSTEM_FLOOR_ACTIVATES: activate_bound(g, b); return true;
    case SYSTEM_FLOOR_CPU_LINK: return cpu_link_bound(g, b);
    case SYSTEM_FLOORS: break;
    }
    return false;
}
