/* bound: what held a kernel up, and the numbers that say so.
 *
 *   a resource that is nearly used up ─► bound by it (the one that is nearest to what it can carry)
 *   else one part of it that is        ─► bound by that part: a hot spot
 *   else translation                   ─► page walks, TLB ports
 *   else SMs without work              ─► launch: few blocks, uneven end, launch gap
 *   else                               ─► latency: nothing is used up, too little is under way
 *
 * A resource counts as used up at the share of its peak that it reaches when traffic is plentiful. */
#include <stdio.h>

#include "report/measure.h"

const char *const report_bound_names[REPORT_BOUNDS] = {
    [BOUND_NOTHING] = "nothing",
    [BOUND_COMPUTE] = "compute issue",
    [BOUND_L1] = "L1",
    [BOUND_REQUESTS] = "request network",
    [BOUND_REPLIES] = "reply network",
    [BOUND_LLC] = "LLC data ports",
    [BOUND_DRAM] = "DRAM",
    [BOUND_TRANSLATION] = "translation",
    [BOUND_LATENCY] = "latency",
    [BOUND_LAUNCH] = "launch",
};
const char *const report_bound_keys[REPORT_BOUNDS] = {
    [BOUND_NOTHING] = "nothing",
    [BOUND_COMPUTE] = "compute",
    [BOUND_L1] = "l1",
    [BOUND_REQUESTS] = "request_network",
    [BOUND_REPLIES] = "reply_network",
    [BOUND_LLC] = "llc_port",
    [BOUND_DRAM] = "dram",
    [BOUND_TRANSLATION] = "translation",
    [BOUND_LATENCY] = "latency",
    [BOUND_LAUNCH] = "launch",
};

/* Shares of the peak from which on a resource counts as used up. Networks: allocation leaves gaps (0.57 to
 * 0.8 of their width, docs/validation-net.md). DRAM: activates, turnarounds. ASSUMPTION: the exact values. */
#define FULL_ISSUE   0.60
#define FULL_L1      0.75
#define FULL_NET     0.55
#define FULL_LLC     0.75
#define FULL_DRAM    0.65
#define FULL_PART    0.80 /* one slice, channel or link alone */
#define FULL_WALKERS 0.50
#define FULL_TLB     0.60
#define MANY_STOPPED 0.50 /* cycles in which memory pipes wait for pages */
#define MANY_IDLE    0.40 /* scheduler cycles without a resident warp, when no stall has more */

struct resource {
    enum report_bound bound;
    double use, full;
};

enum { RESOURCES = 6 };

static void list_resources(const struct measure *m, struct resource r[RESOURCES])
{
    r[0] = (struct resource){BOUND_COMPUTE, m->stalls[STALL_ISSUE] + m->stalls[STALL_UNIT], FULL_ISSUE};
    r[1] = (struct resource){BOUND_L1, m->levels[LEVEL_L1].use, FULL_L1};
    r[2] = (struct resource){BOUND_REQUESTS, m->levels[LEVEL_REQUESTS].use, FULL_NET};
    r[3] = (struct resource){BOUND_REPLIES, m->levels[LEVEL_REPLIES].use, FULL_NET};
    r[4] = (struct resource){BOUND_LLC, m->levels[LEVEL_LLC].use, FULL_LLC};
    r[5] = (struct resource){BOUND_DRAM, m->levels[LEVEL_DRAM].use, FULL_DRAM};
}

static void say_full(struct measure *m, const struct resource *most, const struct resource *second)
{
    char next[48];
    (void)snprintf(next, sizeof next, "next: %s %.0f %%", report_bound_names[second->bound],
                   100 * second->use);
    m->bound = most->bound;
    if (m->bound == BOUND_COMPUTE && m->stalls[STALL_UNIT] < 0.005)
        (void)snprintf(m->why, sizeof m->why, "%.0f %% of scheduler cycles issue; %s",
                       100 * m->stalls[STALL_ISSUE], next);
    else if (m->bound == BOUND_COMPUTE)
        (void)snprintf(m->why, sizeof m->why,
                       "%.0f %% of scheduler cycles issue, %.0f %% wait for a unit; %s",
                       100 * m->stalls[STALL_ISSUE], 100 * m->stalls[STALL_UNIT], next);
    else
        (void)snprintf(m->why, sizeof m->why, "%.0f %% of its peak; %s", 100 * most->use, next);
}

/* One part that has all to do while the others wait. */
static bool find_hot_part(const struct span *span, struct measure *m)
{
    char part[32];
    enum report_level level = LEVEL_DRAM;
    for (enum report_level k = LEVEL_REQUESTS; k <= LEVEL_DRAM; k++)
        if (m->levels[k].busiest > m->levels[level].busiest) level = k;
    if (m->levels[level].busiest < FULL_PART) return false;
    switch (level) {
    case LEVEL_LLC: (void)snprintf(part, sizeof part, "slice %u", span->use->port_slice); break;
    case LEVEL_DRAM: (void)snprintf(part, sizeof part, "channel %u", span->use->columns_channel); break;
    case LEVEL_L1:
    case LEVEL_REQUESTS:
    case LEVEL_REPLIES:
    case REPORT_LEVELS: (void)snprintf(part, sizeof part, "one link"); break;
    }
    static const enum report_bound bounds[REPORT_LEVELS] = {BOUND_L1, BOUND_REQUESTS, BOUND_REPLIES,
                                                            BOUND_LLC, BOUND_DRAM};
    m->bound = bounds[level];
    (void)snprintf(m->why, sizeof m->why, "hot spot: %s is %.0f %% busy, the mean is %.0f %%", part,
                   100 * m->levels[level].busiest, 100 * m->levels[level].use);
    return true;
}

static bool find_translation(const struct span *span, struct measure *m)
{
    const double stopped = span->cycles
                               ? (double)span->stats->sm.stall_page_busy /
                                     ((double)span->cycles * (double)config_sms_per_gpu(span->config))
                               : 0;
    if (m->walkers_busy < FULL_WALKERS && m->tlb_port_use < FULL_TLB && stopped < MANY_STOPPED) return false;
    m->bound = BOUND_TRANSLATION;
    (void)snprintf(
        m->why, sizeof m->why,
        "%.0f %% of walkers and %.0f %% of L2 TLB ports busy; memory pipes stopped %.0f %% of the time",
        100 * m->walkers_busy, 100 * m->tlb_port_use, 100 * stopped);
    return true;
}

static bool find_launch(const struct span *span, struct measure *m)
{
    const double gap = span->cycles ? (double)span->gap_cycles / (double)span->cycles : 0;
    const uint64_t sms = config_sms_per_gpu(span->config);
    if (m->stalls[STALL_NO_WARP] < MANY_IDLE) return false;
    for (enum report_stall k = STALL_UNIT; k < STALL_NO_WARP; k++)
        if (m->stalls[k] > m->stalls[STALL_NO_WARP]) return false;
    m->bound = BOUND_LAUNCH;
    if (gap > m->stalls[STALL_NO_WARP] / 2)
        (void)snprintf(m->why, sizeof m->why, "%.0f %% of the time is the gap before a launch", 100 * gap);
    else if (span->blocks < sms)
        (void)snprintf(
            m->why, sizeof m->why, "%llu blocks for %llu SMs; %.0f %% of scheduler cycles have no warp",
            (unsigned long long)span->blocks, (unsigned long long)sms, 100 * m->stalls[STALL_NO_WARP]);
    else
        (void)snprintf(m->why, sizeof m->why, "uneven work: %.0f %% of scheduler cycles have no warp",
                       100 * m->stalls[STALL_NO_WARP]);
    return true;
}

static void say_latency(const struct span *span, struct measure *m)
{
    const double net = (double)span->config->clock.sm / (double)span->config->clock.net;
    const double in_networks = net * (m->request_latency + m->reply_latency);
    enum report_stall most = STALL_UNIT;
    for (enum report_stall k = STALL_UNIT; k < REPORT_STALLS; k++)
        if (m->stalls[k] > m->stalls[most]) most = k;
    m->bound = BOUND_LATENCY;
    if (most == STALL_MEMORY && in_networks > m->read_latency / 2)
        (void)snprintf(m->why, sizeof m->why,
                       "%.0f %% %s; %.0f of the %.0f cycles of a read are queues in networks that are "
                       "little used: hot spots that move",
                       100 * m->stalls[most], report_stall_names[most], in_networks, m->read_latency);
    else if (most == STALL_MEMORY || most == STALL_PIPE)
        (void)snprintf(m->why, sizeof m->why,
                       "%.0f %% %s; too few reads in flight: %.1f per SM, %.0f cycles each",
                       100 * m->stalls[most], report_stall_names[most],
                       m->reads_in_flight / (double)config_sms_per_gpu(span->config), m->read_latency);
    else
        (void)snprintf(m->why, sizeof m->why, "%.0f %% %s; too few warps: %.1f of %u resident",
                       100 * m->stalls[most], report_stall_names[most], m->warps, span->config->sm.warps);
}

void report_find_bound(const struct span *span, struct measure *m)
{
    struct resource r[RESOURCES];
    uint32_t most = 0, second = 1;
    if (!span->cycles || !span->stats->sm.scheduler_cycles) {
        m->bound = BOUND_NOTHING;
        return;
    }
    list_resources(m, r);
    for (uint32_t k = 1; k < RESOURCES; k++)
        if (r[k].use / r[k].full > r[most].use / r[most].full) most = k;
    second = most ? 0 : 1;
    for (uint32_t k = 0; k < RESOURCES; k++)
        if (k != most && r[k].use / r[k].full > r[second].use / r[second].full) second = k;
    if (r[most].use >= r[most].full) {
        say_full(m, &r[most], &r[second]);
        return;
    }
    if (find_hot_part(span, m) || find_translation(span, m) || find_launch(span, m)) return;
    say_latency(span, m);
}
