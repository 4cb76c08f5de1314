/* bound: what held a kernel up, and the numbers that say so.
 *
 *   a resource that is nearly used up ─► bound by it (the one that is nearest to what it can carry)
 *   else one part of it that is        ─► bound by that part: a hot spot
 *   else misses that do not get away   ─► bound by what stops them: bursts
 *   else translation                   ─► page walks, TLB ports
 *   else SMs without work              ─► launch: few blocks, uneven end, launch gap
 *   else reads that take far too long  ─► bound by what is nearest to its limit: queues
 *   else                               ─► latency: nothing is used up, too little is under way
 *
 * Time before launches, in which nothing can happen, is left out, unless it is most of the time.
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
    [BOUND_SLICES] = "slice network",
    [BOUND_CHIPLETS] = "chiplet links",
    [BOUND_GPUS] = "GPU links",
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
    [BOUND_SLICES] = "slice_network",
    [BOUND_CHIPLETS] = "chiplet_network",
    [BOUND_GPUS] = "gpu_network",
    [BOUND_TRANSLATION] = "translation",
    [BOUND_LATENCY] = "latency",
    [BOUND_LAUNCH] = "launch",
};

/* Shares like REPORT_FULL_: from which on something counts. */
#define FULL_PART    0.80 /* one slice, channel or link alone */
#define FULL_WALKERS 0.50
#define FULL_TLB     0.60
#define MANY_STOPPED 0.50 /* cycles in which memory pipes wait for pages */
#define MANY_WAITS   0.25 /* scheduler cycles without a resident warp, or for pages, when no stall has more */
#define MANY_TIMES   4.0  /* a read takes so many times its time without others */
#define HALF_FULL    0.60 /* of what counts as used up */
#define MANY_GAPS    0.50 /* time before launches */

struct resource {
    enum report_bound bound;
    double use, full;
};

enum { RESOURCES = 9 };

static void list_resources(const struct measure *m, struct resource r[RESOURCES])
{
    r[0] =
        (struct resource){BOUND_COMPUTE, m->stalls[STALL_ISSUE] + m->stalls[STALL_UNIT], REPORT_FULL_ISSUE};
    r[1] = (struct resource){BOUND_L1, m->levels[LEVEL_L1].use, REPORT_FULL_L1};
    r[2] = (struct resource){BOUND_REQUESTS, m->levels[LEVEL_REQUESTS].use, REPORT_FULL_NET};
    r[3] = (struct resource){BOUND_REPLIES, m->levels[LEVEL_REPLIES].use, REPORT_FULL_NET};
    r[4] = (struct resource){BOUND_LLC, m->levels[LEVEL_LLC].use, REPORT_FULL_LLC};
    r[5] = (struct resource){BOUND_DRAM, m->levels[LEVEL_DRAM].use, REPORT_FULL_DRAM};
    r[6] = (struct resource){BOUND_SLICES, m->levels[LEVEL_SLICES].use, REPORT_FULL_NET};
    r[7] = (struct resource){BOUND_CHIPLETS, m->levels[LEVEL_CHIPLETS].use, REPORT_FULL_LINKS};
    r[8] = (struct resource){BOUND_GPUS, m->levels[LEVEL_GPUS].use, REPORT_FULL_LINKS};
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
    for (enum report_level k = LEVEL_REQUESTS; k < REPORT_LEVELS; k++)
        if (m->levels[k].busiest > m->levels[level].busiest) level = k;
    if (m->levels[level].busiest < FULL_PART) return false;
    switch (level) {
    case LEVEL_LLC: (void)snprintf(part, sizeof part, "slice %u", span->use->port_slice); break;
    case LEVEL_DRAM: (void)snprintf(part, sizeof part, "channel %u", span->use->columns_channel); break;
    case LEVEL_L1:
    case LEVEL_REQUESTS:
    case LEVEL_REPLIES:
    case LEVEL_SLICES:
    case LEVEL_CHIPLETS:
    case LEVEL_GPUS:
    case REPORT_LEVELS: (void)snprintf(part, sizeof part, "one link"); break;
    }
    static const enum report_bound bounds[REPORT_LEVELS] = {[LEVEL_L1] = BOUND_L1,
                                                            [LEVEL_REQUESTS] = BOUND_REQUESTS,
                                                            [LEVEL_REPLIES] = BOUND_REPLIES,
                                                            [LEVEL_LLC] = BOUND_LLC,
                                                            [LEVEL_DRAM] = BOUND_DRAM,
                                                            [LEVEL_SLICES] = BOUND_SLICES,
                                                            [LEVEL_CHIPLETS] = BOUND_CHIPLETS,
                                                            [LEVEL_GPUS] = BOUND_GPUS};
    m->bound = bounds[level];
    (void)snprintf(m->why, sizeof m->why, "hot spot: %s is %.0f %% busy, the mean is %.0f %%", part,
                   100 * m->levels[level].busiest, 100 * m->levels[level].use);
    return true;
}

/* What slices wait for that have something for other slices: the level whose busiest link has most to do. */
static enum report_level level_above(const struct measure *m)
{
    enum report_level most = LEVEL_SLICES;
    for (enum report_level k = LEVEL_CHIPLETS; k <= LEVEL_GPUS; k++)
        if (m->levels[k].busiest > m->levels[most].busiest) most = k;
    return most;
}

/* Requests do not get away: whoever stops the slices has the blame, else the request network itself. */
static bool find_back_pressure(const struct span *span, struct measure *m)
{
    const struct config *c = span->config;
    const struct llc_stats *s = &span->stats->llc;
    const double stopped = (double)span->stats->l1.wait_queue /
                           ((double)(span->cycles - span->gap_cycles) * (double)config_sms(c));
    if (stopped < MANY_STOPPED) return false;
    const enum report_level above = level_above(m);
    const struct {
        enum report_bound bound;
        enum report_level level;
        uint64_t cycles;
    } waits[] = {{BOUND_REPLIES, LEVEL_REPLIES, s->wait_reply},
                 {BOUND_LLC, LEVEL_LLC, s->wait_port},
                 {BOUND_DRAM, LEVEL_DRAM, s->wait_memory + s->wait_mshr + s->wait_way},
                 {BOUND_SLICES + (above - LEVEL_SLICES), above, s->wait_forward}};
    size_t most = 0;
    for (size_t k = 1; k < sizeof waits / sizeof *waits; k++)
        if (waits[k].cycles > waits[most].cycles) most = k;
    /* Waiting as long as serving is what fills a queue. */
    const bool blamed = waits[most].cycles > s->tag_cycles / 2;
    m->bound = blamed ? waits[most].bound : BOUND_REQUESTS;
    (void)snprintf(
        m->why, sizeof m->why,
        "L1 misses do not get away %.0f %% of the time; its mean use is only %.0f %%: bursts, hot spots",
        100 * stopped, 100 * m->levels[blamed ? waits[most].level : LEVEL_REQUESTS].use);
    return true;
}

static double largest_stall(const struct measure *m)
{
    double most = 0;
    for (enum report_stall k = STALL_UNIT; k < REPORT_STALLS; k++)
        if (m->stalls[k] > most) most = m->stalls[k];
    return most;
}

static bool find_translation(const struct span *span, struct measure *m)
{
    const double stopped = span->cycles ? (double)span->stats->sm.stall_page_busy /
                                              ((double)span->cycles * (double)config_sms(span->config))
                                        : 0;
    const double waits = m->stalls[STALL_TRANSLATION];
    if (m->walkers_busy < FULL_WALKERS && m->tlb_port_use < FULL_TLB && stopped < MANY_STOPPED &&
        !(waits >= MANY_WAITS && waits == largest_stall(m)))
        return false;
    m->bound = BOUND_TRANSLATION;
    const int len = snprintf(
        m->why, sizeof m->why, "%.0f %% %s; %.0f %% of page walkers, %.0f %% of L2 TLB ports busy",
        100 * waits, report_stall_names[STALL_TRANSLATION], 100 * m->walkers_busy, 100 * m->tlb_port_use);
    if (stopped >= 0.005)
        (void)snprintf(m->why + len, sizeof m->why - (size_t)len,
                       "; memory pipes stopped %.0f %% of the time", 100 * stopped);
    return true;
}

static double gap_share(const struct span *span)
{
    return span->cycles ? (double)span->gap_cycles / (double)span->cycles : 0;
}

static bool find_launch(const struct span *span, struct measure *m)
{
    const uint64_t sms = config_sms(span->config);
    if (m->stalls[STALL_NO_WARP] < MANY_WAITS || m->stalls[STALL_NO_WARP] < largest_stall(m)) return false;
    m->bound = BOUND_LAUNCH;
    if (span->blocks < sms)
        (void)snprintf(m->why, sizeof m->why,
                       "%llu block%s for %llu SMs; %.0f %% of scheduler cycles have no warp",
                       (unsigned long long)span->blocks, span->blocks == 1 ? "" : "s",
                       (unsigned long long)sms, 100 * m->stalls[STALL_NO_WARP]);
    else
        (void)snprintf(m->why, sizeof m->why,
                       "uneven work or a short kernel: %.0f %% of scheduler cycles have no warp",
                       100 * m->stalls[STALL_NO_WARP]);
    return true;
}

/* A read that meets no other, roughly: the way through slice, networks (some 40 cycles) and, for those that
 * miss, an idle bank (some 20 memory cycles). */
static double unloaded_cycles(const struct span *span, const struct measure *m)
{
    const struct config *c = span->config;
    const double sm = (double)c->clock.sm;
    return 40 + c->llc.latency_cyc * sm / (double)c->clock.llc +
           (1 - m->llc_hits) * 20 * sm / (double)c->clock.dram;
}

/* Reads queue up although nothing is full on the average: the resource nearest to its limit has the queues.
 */
static bool find_queues(const struct span *span, struct measure *m, const struct resource r[RESOURCES])
{
    const double unloaded = unloaded_cycles(span, m);
    uint32_t most = 1; /* not compute */
    for (uint32_t k = 2; k < RESOURCES; k++)
        if (r[k].use / r[k].full > r[most].use / r[most].full) most = k;
    if (m->stalls[STALL_MEMORY] + m->stalls[STALL_PIPE] < 0.5 || m->read_latency < MANY_TIMES * unloaded ||
        r[most].use < HALF_FULL * r[most].full)
        return false;
    m->bound = r[most].bound;
    (void)snprintf(m->why, sizeof m->why,
                   "%.0f %% of its peak, and reads queue up: %.0f cycles each, some %.0f without others",
                   100 * r[most].use, m->read_latency, unloaded);
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
                       m->reads_in_flight / (double)config_sms(span->config), m->read_latency);
    else
        (void)snprintf(m->why, sizeof m->why, "%.0f %% %s; too few warps: %.1f of %u resident",
                       100 * m->stalls[most], report_stall_names[most], m->warps, span->config->sm.warps);
}

/* The same without the gaps before launches, in which only "no warp" grew. */
static struct measure without_gaps(const struct span *span, const struct measure *m)
{
    struct measure a = *m;
    const double gaps = gap_share(span), scale = 1 / (1 - gaps);
    a.stalls[STALL_NO_WARP] = m->stalls[STALL_NO_WARP] > gaps ? m->stalls[STALL_NO_WARP] - gaps : 0;
    for (uint32_t k = 0; k < REPORT_STALLS; k++) a.stalls[k] *= scale;
    for (uint32_t k = 0; k < REPORT_LEVELS; k++) {
        a.levels[k].use *= scale;
        a.levels[k].busiest *= scale;
    }
    a.walkers_busy *= scale;
    a.tlb_port_use *= scale;
    a.reads_in_flight *= scale;
    a.warps *= scale;
    return a;
}

static void find(const struct span *span, struct measure *m)
{
    struct resource r[RESOURCES];
    uint32_t most = 0, second = 1;
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
    if (find_hot_part(span, m) || find_back_pressure(span, m) || find_translation(span, m) ||
        find_launch(span, m) || find_queues(span, m, r))
        return;
    say_latency(span, m);
}

void report_find_bound(const struct span *span, struct measure *m)
{
    const double gaps = gap_share(span);
    m->bound = BOUND_NOTHING;
    if (!span->cycles || !span->stats->sm.scheduler_cycles) return;
    if (gaps >= MANY_GAPS) {
        m->bound = BOUND_LAUNCH;
        (void)snprintf(m->why, sizeof m->why, "%.0f %% of the time is the gap before a launch", 100 * gaps);
        return;
    }
    struct measure a = without_gaps(span, m);
    find(span, &a);
    m->bound = a.bound;
    (void)snprintf(m->why, sizeof m->why, "%.150s%s", a.why, gaps >= 0.05 ? " (outside launch gaps)" : "");
}
