/* bound: the bottleneck of a kernel, with the numbers that support it.
 *
 * Each candidate gets a score, an estimate of the share of time that it limited the kernel. The highest score
 * wins.
 *
 *   candidate           score
 *   a level of memory   share of schedulers stalled on memory x the maximum of
 *                         - the share of a request's time in queues for the level (waits.c)
 *                         - the square of the utilisation of its busiest part (hot spots)
 *                         - the square of the share of time without credit on a link (small buffers)
 *   L1: MSHRs           memory-pipe stalls on MSHRs x the unloaded share of a request's time
 *   translation         stalls on pages x the maximum of the utilisations of walkers and L2 TLB ports and of
 *                       the share of pages among the memory stalls
 *   compute issue       the fourth power of the share of cycles that issue or stall on an execution unit
 *   launch              the square of the share of cycles without a resident warp x (1 - highest score above)
 *   latency             the maximum of
 *                         - the stalls on memory x the unloaded share of a request's time
 *                         - the square of the stalls on arithmetic, or of sleep
 *
 * Reason for the powers: a resource delays a request only if it is busy at that moment, and a resource of
 * medium utilisation seldom is. Warps hide a busy scheduler better than a busy channel. The exponents of the
 * scores of bottlenecks are estimates; ASSUMPTION. SMs without warps wait for the other SMs. All scores
 * except launch and latency are therefore relative to the time with resident warps. The gaps before launches
 * are excluded, unless they are most of the time. */
#include <stdio.h>

#include "measure/waits.h"

const char *const measure_bound_names[MEASURE_BOUNDS] = {
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
const char *const measure_bound_keys[MEASURE_BOUNDS] = {
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

#define GAP_SHARE_MIN   0.50 /* share of launch gaps from which on they are the bottleneck */
#define HOT_SPOT_MIN    1.10 /* ratio of busiest part to mean from which on the part is named */
#define FULL_LINK_MIN   0.60 /* utilisation of the busiest link from which on bandwidth is the limit */
#define NO_CREDIT_MIN   0.10 /* share of time without credit from which on a buffer may be the limit */
#define BUSY_LINK_MAX   0.90 /* utilisation of the busiest link up to which a buffer may be the limit */
#define STALL_SHARE_MIN 0.05 /* share of memory-pipe stalls below which the L1 itself fills the pipes */

static const enum measure_bound level_bounds[MEASURE_LEVELS] = {
    [LEVEL_L1] = BOUND_L1,
    [LEVEL_REQUESTS] = BOUND_REQUESTS,
    [LEVEL_REPLIES] = BOUND_REPLIES,
    [LEVEL_LLC] = BOUND_LLC,
    [LEVEL_DRAM] = BOUND_DRAM,
    [LEVEL_SLICES] = BOUND_SLICES,
    [LEVEL_CHIPLETS] = BOUND_CHIPLETS,
    [LEVEL_GPUS] = BOUND_GPUS,
};

/* Candidates: the levels, by their numbers, followed by: */
enum {
    CANDIDATE_MSHRS = MEASURE_LEVELS,
    CANDIDATE_COMPUTE,
    CANDIDATE_TRANSLATION,
    CANDIDATE_LAUNCH,
    CANDIDATE_LATENCY,
    CANDIDATES
};

struct scores {
    struct waits waits;
    double score[CANDIDATES];
    double pages, mshrs, queue;              /* memory-pipe stalls, by reason: shares of SM cycles */
    double for_pages, for_mshrs, for_memory; /* scheduler stalls, by reason: shares of scheduler cycles */
};

static double square(double x) { return x * x; }
static double max_double(double a, double b) { return a > b ? a : b; }

/* Splits the scheduler stalls by reason. A full memory pipe is charged to the reason of the pipe's stall. */
static void find_stalls(const struct span *span, const struct measure *m, double running, struct scores *v)
{
    const struct stats *s = span->stats;
    const double cycles = (double)(span->cycles - span->gap_cycles) * (double)config_sms(span->config);
    v->pages = (double)s->sm.stall_page_busy / cycles;
    v->mshrs = (double)(s->l1.wait_mshr + s->l1.wait_way) / cycles;
    v->queue = (double)s->l1.wait_queue / cycles;
    const double stalled = max_double(v->pages + v->mshrs + v->queue, STALL_SHARE_MIN * running);
    const double per_stall = stalled > 0 ? m->stalls[STALL_PIPE] / stalled : 0;
    v->for_pages = m->stalls[STALL_TRANSLATION] + per_stall * v->pages;
    v->for_mshrs = per_stall * v->mshrs;
    v->for_memory = m->stalls[STALL_MEMORY] + m->stalls[STALL_PIPE] - per_stall * (v->pages + v->mshrs) +
                    m->stalls[STALL_BARRIER] + m->stalls[STALL_FENCE];
}

/* Share of the stalls on pages that a faster translation would remove. The access that follows the page waits
 * in the same queues as other accesses. If these queues are long, a faster translation only lengthens them.
 */
static double translation_share(const struct measure *m, const struct scores *v)
{
    const double waits = v->for_pages + v->for_memory + v->for_mshrs;
    const double page_share = waits > 0 ? v->for_pages / waits : 0;
    const double busy = max_double(max_double(m->walkers_busy, m->tlb_port_use), page_share);
    return busy < 1 ? busy : 1;
}

static void score(const struct span *span, const struct measure *m, struct scores *v)
{
    const double running = max_double(1 - m->stalls[STALL_NO_WARP], 1e-9);
    *v = (struct scores){0};
    measure_find_waits(span, m, &v->waits);
    find_stalls(span, m, running, v);
    const double pages = translation_share(m, v), unloaded = v->waits.unloaded;
    const double memory = v->for_memory + v->for_mshrs * (1 - unloaded) + v->for_pages * (1 - pages);
    for (enum measure_level k = 0; k < MEASURE_LEVELS; k++)
        v->score[k] = memory / running *
                      max_double(v->waits.queues[k],
                                 square(max_double(m->levels[k].busiest, m->levels[k].short_credit)));
    v->score[CANDIDATE_MSHRS] = v->for_mshrs * unloaded / running;
    v->score[CANDIDATE_TRANSLATION] = v->for_pages * pages / running;
    const double issue = (m->stalls[STALL_ISSUE] + m->stalls[STALL_UNIT]) / running;
    v->score[CANDIDATE_COMPUTE] = square(square(issue));
    double max = 0;
    for (uint32_t k = 0; k < CANDIDATES; k++) max = max_double(max, v->score[k]);
    v->score[CANDIDATE_LAUNCH] = square(m->stalls[STALL_NO_WARP]) * (1 - max);
    const double waits =
        max_double(m->stalls[STALL_DEPENDENCE], max_double(m->stalls[STALL_SLEEP], m->stalls[STALL_MOVING]));
    v->score[CANDIDATE_LATENCY] = max_double(square(waits), memory * unloaded);
}

/* ---- explanations ---- */

static const char *candidate_name(uint32_t k)
{
    return measure_bound_names[k < MEASURE_LEVELS ? level_bounds[k] : BOUND_COMPUTE];
}

/* Names the next bottleneck: the level, or compute, with the highest score except `best`. */
static void explain_next(const struct measure *m, const struct scores *v, uint32_t best, char next[48])
{
    uint32_t k = best == LEVEL_DRAM ? LEVEL_REPLIES : LEVEL_DRAM;
    for (uint32_t i = 0; i <= CANDIDATE_COMPUTE; i++)
        if (i != best && i != CANDIDATE_MSHRS && v->score[i] > v->score[k]) k = i;
    const double use = k < MEASURE_LEVELS ? m->levels[k].use : m->stalls[STALL_ISSUE] + m->stalls[STALL_UNIT];
    (void)snprintf(next, 48, "next: %s %.0f %%", candidate_name(k), 100 * use);
}

static void explain_compute(struct measure *m, const struct scores *v)
{
    char next[48];
    explain_next(m, v, CANDIDATE_COMPUTE, next);
    m->bound = BOUND_COMPUTE;
    if (m->stalls[STALL_UNIT] < 0.005)
        (void)snprintf(m->why, sizeof m->why, "%.0f %% of scheduler cycles issue; %s",
                       100 * m->stalls[STALL_ISSUE], next);
    else
        (void)snprintf(m->why, sizeof m->why,
                       "%.0f %% of scheduler cycles issue, %.0f %% wait for a unit; %s",
                       100 * m->stalls[STALL_ISSUE], 100 * m->stalls[STALL_UNIT], next);
}

static void name_part(const struct span *span, enum measure_level level, char part[32])
{
    switch (level) {
    case LEVEL_LLC: (void)snprintf(part, 32, "slice %u", span->use->port_slice); break;
    case LEVEL_DRAM: (void)snprintf(part, 32, "channel %u", span->use->columns_channel); break;
    case LEVEL_L1:
    case LEVEL_REQUESTS:
    case LEVEL_REPLIES:
    case LEVEL_SLICES:
    case LEVEL_CHIPLETS:
    case LEVEL_GPUS:
    case MEASURE_LEVELS: (void)snprintf(part, 32, "one link"); break;
    }
}

/* Approximate unloaded latency of a read in SM cycles: networks (40 cycles), slice, and for misses an idle
 * bank (20 memory cycles). */
static double unloaded_cycles(const struct span *span, const struct measure *m)
{
    const struct config *c = span->config;
    const double sm = (double)c->clock.sm;
    return 40 + c->llc.latency_cyc * sm / (double)c->clock.llc +
           (1 - m->llc_hits) * 20 * sm / (double)c->clock.dram;
}

/* Explains a bottleneck in the physical links between nodes: bandwidth, credit or latency. False: another
 * level. */
static bool explain_links(struct measure *m, enum measure_level level)
{
    const struct level_use *const l = &m->levels[level];
    if (level != LEVEL_CHIPLETS && level != LEVEL_GPUS) return false;
    m->bound = level_bounds[level];
    if (l->short_credit >= NO_CREDIT_MIN && l->short_credit > (1 - l->busiest) / 2 &&
        l->busiest < BUSY_LINK_MAX)
        (void)snprintf(m->why, sizeof m->why,
                       "credit: a link waits %.0f %% of the time because %s is smaller than a round trip; "
                       "busiest link %.0f %%, mean %.0f %%",
                       100 * l->short_credit, level == LEVEL_GPUS ? "gpu_net.buffer" : "chiplet_net.buffer",
                       100 * l->busiest, 100 * l->use);
    else if (l->busiest >= FULL_LINK_MIN)
        (void)snprintf(m->why, sizeof m->why, "bandwidth: busiest link %.0f %%, mean %.0f %% of the time",
                       100 * l->busiest, 100 * l->use);
    else
        (void)snprintf(m->why, sizeof m->why,
                       "latency: read latency %.0f cycles, busiest link %.0f %%, mean %.0f %% of the time",
                       m->read_latency, 100 * l->busiest, 100 * l->use);
    return true;
}

/* Explains a level: queueing, a hot spot, or high utilisation. */
static void explain_level(const struct span *span, struct measure *m, const struct scores *v,
                          enum measure_level level)
{
    const struct level_use *l = &m->levels[level];
    const bool hot = l->busiest > HOT_SPOT_MIN * l->use;
    char part[32], next[48];
    if (explain_links(m, level)) return;
    name_part(span, level, part);
    m->bound = level < MEASURE_LEVELS ? level_bounds[level] : BOUND_NOTHING;
    if (v->waits.queues[level] > square(l->busiest)) {
        const struct sm_stats *sm = &span->stats->sm;
        const double each =
            m->has_reads ? m->read_latency : (double)sm->request_cyc / (double)sm->requests_sent;
        const int len =
            snprintf(m->why, sizeof m->why,
                     "%s queue up: %.0f cycles each, some %.0f without others; %.0f %% of its peak",
                     m->has_reads ? "reads" : "stores", each, unloaded_cycles(span, m), 100 * l->use);
        if (hot)
            (void)snprintf(m->why + len, sizeof m->why - (size_t)len, ", %s %.0f %%", part, 100 * l->busiest);
    } else if (hot)
        (void)snprintf(m->why, sizeof m->why, "hot spot: %s is %.0f %% busy, the mean is %.0f %%", part,
                       100 * l->busiest, 100 * l->use);
    else {
        explain_next(m, v, level, next);
        (void)snprintf(m->why, sizeof m->why, "%.0f %% of its peak; %s", 100 * l->use, next);
    }
}

static void explain_mshrs(const struct span *span, struct measure *m, const struct scores *v)
{
    const bool all = span->stats->l1.mshr_peak >= span->config->l1.mshrs;
    m->bound = BOUND_L1;
    (void)snprintf(m->why, sizeof m->why, "memory pipes stopped %.0f %% of the time: %s", 100 * v->mshrs,
                   all ? "every MSHR is taken (l1.mshrs)"
                       : "MSHRs take no more accesses to their lines (l1.mshr_merges)");
}

static void explain_translation(struct measure *m, const struct scores *v)
{
    m->bound = BOUND_TRANSLATION;
    const int len =
        snprintf(m->why, sizeof m->why, "%.0f %% %s; %.0f %% of page walkers, %.0f %% of L2 TLB ports busy",
                 100 * m->stalls[STALL_TRANSLATION], measure_stall_names[STALL_TRANSLATION],
                 100 * m->walkers_busy, 100 * m->tlb_port_use);
    if (v->pages >= 0.005)
        (void)snprintf(m->why + len, sizeof m->why - (size_t)len,
                       "; memory pipes stopped %.0f %% of the time", 100 * v->pages);
}

static void explain_launch(const struct span *span, struct measure *m)
{
    const uint64_t sms = config_sms(span->config);
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
}

static void explain_latency(const struct span *span, struct measure *m)
{
    enum measure_stall largest = STALL_UNIT;
    for (enum measure_stall k = STALL_UNIT; k < STALL_NO_WARP; k++)
        if (m->stalls[k] > m->stalls[largest]) largest = k;
    m->bound = BOUND_LATENCY;
    if (largest == STALL_MEMORY || largest == STALL_PIPE)
        (void)snprintf(m->why, sizeof m->why,
                       "%.0f %% %s; too few reads in flight: %.1f per SM, %.0f cycles each",
                       100 * m->stalls[largest], measure_stall_names[largest],
                       m->reads_in_flight / (double)config_sms(span->config), m->read_latency);
    else
        (void)snprintf(m->why, sizeof m->why, "%.0f %% %s; too few warps: %.1f of %u resident",
                       100 * m->stalls[largest], measure_stall_names[largest], m->warps,
                       span->config->sm.warps);
}

static double gap_share(const struct span *span)
{
    return span->cycles ? (double)span->gap_cycles / (double)span->cycles : 0;
}

/* Returns the measures without the gaps before launches, which only added to "no resident warp". */
static struct measure remove_gaps(const struct span *span, const struct measure *m)
{
    struct measure a = *m;
    const double gaps = gap_share(span), scale = 1 / (1 - gaps);
    a.stalls[STALL_NO_WARP] = m->stalls[STALL_NO_WARP] > gaps ? m->stalls[STALL_NO_WARP] - gaps : 0;
    for (uint32_t k = 0; k < MEASURE_STALLS; k++) a.stalls[k] *= scale;
    for (uint32_t k = 0; k < MEASURE_LEVELS; k++) {
        a.levels[k].use *= scale;
        a.levels[k].busiest *= scale;
        a.levels[k].short_credit *= scale;
        a.levels[k].full *= scale;
    }
    a.walkers_busy *= scale;
    a.tlb_port_use *= scale;
    a.reads_in_flight *= scale;
    a.warps *= scale;
    return a;
}

static void find_bottleneck(const struct span *span, struct measure *m)
{
    struct scores v;
    uint32_t best = CANDIDATE_LATENCY;
    score(span, m, &v);
    for (uint32_t k = 0; k < CANDIDATES; k++)
        if (v.score[k] > v.score[best]) best = k;
    if (best < MEASURE_LEVELS)
        explain_level(span, m, &v, (enum measure_level)best);
    else if (best == CANDIDATE_MSHRS)
        explain_mshrs(span, m, &v);
    else if (best == CANDIDATE_COMPUTE)
        explain_compute(m, &v);
    else if (best == CANDIDATE_TRANSLATION)
        explain_translation(m, &v);
    else if (best == CANDIDATE_LAUNCH)
        explain_launch(span, m);
    else
        explain_latency(span, m);
}

void measure_find_bound(const struct span *span, struct measure *m)
{
    const double gaps = gap_share(span);
    m->bound = BOUND_NOTHING;
    if (!span->cycles || !span->stats->sm.scheduler_cycles) return;
    if (gaps >= GAP_SHARE_MIN) {
        m->bound = BOUND_LAUNCH;
        (void)snprintf(m->why, sizeof m->why, "%.0f %% of the time is the gap before a launch", 100 * gaps);
        return;
    }
    struct measure a = remove_gaps(span, m);
    find_bottleneck(span, &a);
    m->bound = a.bound;
    (void)snprintf(m->why, sizeof m->why, "%.150s%s", a.why, gaps >= 0.05 ? " (outside launch gaps)" : "");
}
