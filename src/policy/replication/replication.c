/* replication: profilers, counters and the times at which policies are asked; see replication.h. */
#include "policy/replication/replication.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "policy/replication/bandwidth.h"

enum { STAT_DEGREES = 5, COUNT_CYC = 256 };

/* Rows of a degree follow each other. */
static uint64_t *of_degree(uint64_t *first, uint32_t k)
{
    return first + (k < STAT_DEGREES ? k : STAT_DEGREES - 1);
}

static uint32_t log2_of(uint32_t degree) { return 31 - (uint32_t)__builtin_clz(degree); }

/* Full replication counts as such. */
static uint32_t present_degree(const struct replication *p)
{
    const struct organisation *o = p->organisation;
    return o->is_private ? o->clusters.stack_slices : o->degree;
}

/* ---- what slices serve ---- */

static void end_window(struct replication *p, uint32_t w)
{
    struct replication_window *window = &p->windows[w];
    uint64_t *const rows = w ? &p->stats.busiest_1k_1 : &p->stats.busiest_256_1;
    for (uint32_t k = 0; k < p->degrees; k++) {
        uint32_t most = 0;
        for (uint32_t i = 0; i < p->organisation->clusters.stack_slices; i++) {
            if (window->requests[k][i] > most) most = window->requests[k][i];
            if (k == 0) window->seen += window->requests[k][i];
            window->requests[k][i] = 0;
        }
        window->busiest[k] += most;
        if (k < STAT_DEGREES) *of_degree(rows, k) += most;
    }
}

/* One MC-router has the directory and the counters: that of stack 0. */
static void profile(struct replication *p, const struct access *a, uint64_t cyc)
{
    const struct clusters *c = &p->organisation->clusters;
    const uint32_t cluster = clusters_of_sm(c, a->sm);
    rdd_see(&p->rdd, a->line, slice_set_of(p->slice_spec, a->line), a->home, clusters_slot(c, cluster));
    if (p->shadow) shadow_see(p->shadow, a->line, slice_set_of(p->slice_spec, a->line), a->home, cluster);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++)
        if (cyc >= p->windows[w].end_cyc) {
            end_window(p, w);
            p->windows[w].end_cyc = (cyc / p->windows[w].length_cyc + 1) * p->windows[w].length_cyc;
        }
    p->stats.requests++;
    for (uint32_t k = 0; k < p->degrees; k++) {
        const uint32_t slice = clusters_slice(c, a->home, cluster, 1u << k);
        p->requests[k][slice]++;
        for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++) p->windows[w].requests[k][slice]++;
    }
}

static void see(void *self, const struct access *a, uint64_t cyc)
{
    struct replication *p = self;
    if (p->sharing) sharing_see(p->sharing, a, cyc, &p->stats);
    if (!a->read || !a->read_only) return;
    const uint32_t k = log2_of(present_degree(p));
    ++*of_degree(&p->stats.read_only_reads_1, k);
    *of_degree(&p->stats.read_only_found_1, k) += !a->missed;
    if (a->home < p->organisation->clusters.stack_slices) profile(p, a, cyc);
}

static void tap(void *self, const struct request *r, uint32_t slice, bool missed, uint64_t now)
{
    struct replication *p = self;
    const struct access a = {.line = r->home.line,
                             .slice = (uint16_t)slice,
                             .home = r->home.slice,
                             .sm = r->sm,
                             .read = r->kind == REQUEST_READ,
                             .read_only = (r->flags & REQUEST_READ_ONLY) != 0,
                             .missed = missed};
    if (now >= p->since_cyc + COUNT_CYC) replication_count_degree(p, now);
    accesses_put(&p->accesses, &a, now);
}

struct llc_tap replication_tap(struct replication *p)
{
    return p ? (struct llc_tap){.see = tap, .self = p} : (struct llc_tap){0};
}

/* ---- time ---- */

void replication_count_degree(struct replication *p, uint64_t now)
{
    const uint64_t cycles = now - p->since_cyc;
    const uint32_t degree = present_degree(p);
    p->stats.cycles += cycles;
    p->stats.degree_cycles += cycles * degree;
    *of_degree(&p->stats.cycles_at_1, log2_of(degree)) += cycles;
    if (p->organisation->is_private && p->config->llc.organisation == llc_organisation_adaptive)
        p->stats.private_cycles += cycles;
    if (p->organisation->paused) p->stats.pause_cycles += cycles;
    p->since_cyc = now;
}

void replication_edge(void *self, uint64_t edge_cyc)
{
    struct replication *p = self;
    if (p->running && edge_cyc > p->since_cyc) replication_count_degree(p, edge_cyc);
}

uint64_t replication_begin(struct replication *p, uint64_t now)
{
    p->since_cyc = now;
    p->running = true;
    return p->due ? p->due(p, now) : UINT64_MAX;
}

/* Profilers stand for slices at all degrees, so they lose what slices would lose at each. */
void replication_boundary(struct replication *p)
{
    const bool copies_only = p->config->llc.boundary == llc_boundary_replicas;
    accesses_flush(&p->accesses);
    if (p->config->selrep.rdd_boundary) rdd_boundary(&p->rdd, copies_only);
    if (p->shadow) shadow_boundary(p->shadow, copies_only);
}

void replication_settle(struct replication *p, uint64_t now)
{
    replication_count_degree(p, now);
    p->running = false;
    accesses_flush(&p->accesses);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++) end_window(p, w);
    for (uint32_t k = 0; p->shadow && k < p->degrees && k < STAT_DEGREES; k++) {
        *of_degree(&p->stats.shadow_reads_1, k) = p->shadow->acc[k];
        *of_degree(&p->stats.shadow_hits_1, k) = p->shadow->hit[k];
    }
    if (p->sharing) sharing_settle(p->sharing, &p->stats);
}

/* ---- decisions ---- */

static struct replication_decision *new_decision(struct replication *p)
{
    if (p->decision_count == p->decision_capacity) {
        const uint32_t capacity = p->decision_capacity ? 2 * p->decision_capacity : 64;
        struct replication_decision *grown = realloc(p->decisions, capacity * sizeof *grown);
        if (!grown) diag_mistake("out of host memory");
        p->decisions = grown;
        p->decision_capacity = capacity;
    }
    return &p->decisions[p->decision_count++];
}

/* Over epochs as the paper has it, or as the mean of short times. */
static double slice_parallelism(const struct replication *p, uint32_t k)
{
    if (p->config->selrep.lsp == lsp_time_epoch)
        return bandwidth_lsp(p->requests[k], p->organisation->clusters.stack_slices);
    const struct replication_window *w = &p->windows[p->config->selrep.lsp == lsp_time_cycles_1k];
    return w->busiest[k] ? (double)w->seen / (double)w->busiest[k] : 0;
}

/* What slices give at most: of a group of q slices that as many links ask for any, a router carries this. */
static double slice_bytes(const struct replication *p, uint32_t k)
{
    const double group = (double)(p->organisation->clusters.stack_slices >> k);
    const double most = p->config->selrep.carried;
    return p->llc_bytes * (most + (1 - most) / group);
}

static void judge_degree(struct replication *p, struct replication_decision *d, uint32_t k)
{
    const uint32_t slices = p->organisation->clusters.stack_slices;
    uint32_t most = 0, sum = 0;
    d->hit_rate[k] = p->rdd.acc[k] ? (double)p->rdd.hit[k] / p->rdd.acc[k] : -1;
    d->sampled[k] = p->rdd.acc[k];
    d->lsp[k] = slice_parallelism(p, k);
    d->bandwidth[k] =
        d->hit_rate[k] < 0 ? 0 : bandwidth_of(d->lsp[k], d->hit_rate[k], slice_bytes(p, k), p->memory_bytes);
    for (uint32_t i = 0; i < slices; i++) {
        if (p->requests[k][i] > most) most = p->requests[k][i];
        sum += p->requests[k][i];
    }
    if (k == 0) p->stats.epoch_requests += sum;
    if (k >= STAT_DEGREES) return;
    *of_degree(&p->stats.sampled_1, k) += p->rdd.acc[k];
    *of_degree(&p->stats.sampled_hits_1, k) += p->rdd.hit[k];
    *of_degree(&p->stats.busiest_epoch_1, k) += most;
    if (p->shadow) {
        *of_degree(&p->stats.shadow_sampled_1, k) = p->shadow->sampled_acc[k];
        *of_degree(&p->stats.shadow_sampled_hits_1, k) = p->shadow->sampled_hit[k];
    }
    *of_degree(&p->stats.judged_1, k) += d->hit_rate[k] >= 0;
    *of_degree(&p->stats.predicted_mb_per_s_1, k) +=
        (uint64_t)(d->bandwidth[k] * p->config->llc.stacks * 1e-6);
}

bool replication_judged(const struct replication *p, const struct replication_decision *d, uint32_t k)
{
    return d->sampled[k] >= p->config->selrep.samples;
}

double replication_at_most(const struct replication *p, const struct replication_decision *d, uint32_t k)
{
    return bandwidth_of(d->lsp[k], 1, slice_bytes(p, k), p->memory_bytes);
}

/* Hits at a degree as sampled, but no more than fewer copies have (each degree is sampled by requests of its
 * own, so that only chance says otherwise); all hits where too few requests were sampled. */
static double hit_rate(const struct replication *p, const struct replication_decision *d, uint32_t k)
{
    double least = 1;
    if (!replication_judged(p, d, k)) return least;
    for (uint32_t fewer = 0; fewer <= k; fewer++)
        if (replication_judged(p, d, fewer) && d->hit_rate[fewer] < least) least = d->hit_rate[fewer];
    return least;
}

/* The hit rate that the samples still speak for: the lower end of Wilson's interval. */
static double sure_of(double rate, uint32_t samples, double sigmas)
{
    const double z = sigmas * sigmas, n = samples + z;
    const double middle = (rate * samples + z / 2) / n;
    const double spread = sigmas * sqrt(rate * (1 - rate) * samples + z / 4) / n;
    return middle > spread ? middle - spread : 0;
}

/* The highest promise. What comes within selrep.equal of it is equal to it: of these the one with fewest
 * copies, or the one with most among those that are sure to come so near and give more from slices than from
 * memory: their requests keep out of each other's way in the routers. Copies that are there are given up only
 * when they are sure to be worse. ASSUMPTION: the paper does not say what happens to equal predictions, nor
 * to those of a few samples. */
uint32_t replication_choose(const struct replication *p, const struct replication_decision *d)
{
    double most = 0;
    for (uint32_t k = 0; k < p->degrees; k++) {
        const double b = bandwidth_of(d->lsp[k], hit_rate(p, d, k), slice_bytes(p, k), p->memory_bytes);
        if (b > most) most = b;
    }
    most *= 1 - p->config->selrep.equal;
    const double sigmas = p->config->selrep.sigmas;
    int best = -1;
    for (uint32_t k = 0; k < p->degrees; k++) {
        const double rate = hit_rate(p, d, k), slice = slice_bytes(p, k);
        const double sure = sure_of(rate, d->sampled[k], sigmas), misses = (1 - sure) * slice;
        const double possible = 1 - sure_of(1 - rate, d->sampled[k], sigmas);
        const double hits = k ? sure : rate;
        const bool is_present = d->degree == 1u << k;
        if (is_present && (!replication_judged(p, d, k) ||
                           bandwidth_of(d->lsp[k], possible, slice, p->memory_bytes) >= most))
            best = (int)k;
        if (!replication_judged(p, d, k) || bandwidth_of(d->lsp[k], hits, slice, p->memory_bytes) < most)
            continue;
        if (best < 0 || sure * slice > (misses < p->memory_bytes ? misses : p->memory_bytes)) best = (int)k;
    }
    return best < 0 ? log2_of(d->degree) : (uint32_t)best;
}

void replication_forget(struct replication *p)
{
    accesses_flush(&p->accesses);
    memset(p->requests, 0, sizeof p->requests);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++) {
        p->windows[w].seen = 0;
        memset(p->windows[w].busiest, 0, sizeof p->windows[w].busiest);
    }
    rdd_reset(&p->rdd);
}

struct replication_decision *replication_judge(struct replication *p, uint64_t now)
{
    accesses_flush(&p->accesses);
    struct replication_decision *d = new_decision(p);
    *d = (struct replication_decision){.cyc = now, .degree = present_degree(p)};
    d->next = d->degree;
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++)
        if (!p->windows[w].seen) end_window(p, w); /* longer than the epoch */
    for (uint32_t k = 0; k < p->degrees; k++) judge_degree(p, d, k);
    replication_forget(p);
    p->stats.epochs++;
    ++*of_degree(&p->stats.epochs_at_1, log2_of(d->degree));
    return d;
}

/* ---- building ---- */

static void choose_policy(struct replication *p, const struct config *c)
{
    if (c->llc.organisation == llc_organisation_selective && c->selrep.degree) {
        p->due = replication_fixed_due;
        return;
    }
    if (c->llc.organisation != llc_organisation_adaptive && c->llc.organisation != llc_organisation_selective)
        return; /* nothing to decide */
    switch (c->selrep.policy) {
    case replication_policy_bandwidth:
    case replication_policy_count: p->due = replication_bandwidth_due; break;
    case replication_policy_all_or_nothing: p->due = replication_all_or_nothing_due; break;
    }
    p->stats.directory_bytes = rdd_directory_bytes(&p->rdd.spec);
    p->stats.counter_bytes = rdd_counter_bytes(&p->rdd.spec);
}

struct replication *replication_new(struct arena *a, const struct config *c, const struct slice_spec *slices,
                                    struct organisation *o, const struct replication_machine *m)
{
    if (!c->llc.stacks || (c->llc.organisation == llc_organisation_memory_side && !c->selrep.count_sharing))
        return NULL;
    struct replication *p = ARENA_NEW(a, struct replication);
    *p = (struct replication){.config = c,
                              .organisation = o,
                              .slice_spec = slices,
                              .machine = *m,
                              .accesses = {.see = see, .self = p},
                              .degrees = log2_of(o->clusters.stack_slices) + 1,
                              .llc_bytes = (double)c->llc.port * (double)c->clock.llc,
                              .change_cyc = UINT64_MAX};
    const double column_bytes = (double)c->dram.column_size / c->dram.burst_cyc;
    p->memory_bytes = (double)config_channels_per_gpu(c) * column_bytes * (double)c->clock.dram /
                      (double)config_slices_per_gpu(c);
    p->windows[0].length_cyc = 256;
    p->windows[1].length_cyc = 1024;
    const struct rdd_spec spec = {.form = c->selrep.rdd,
                                  .sets = slices->sets,
                                  .sampled =
                                      c->selrep.rdd_sets < slices->sets ? c->selrep.rdd_sets : slices->sets,
                                  .ways = slices->ways,
                                  .degrees = p->degrees,
                                  .clusters = o->clusters,
                                  .skip_cold = c->selrep.rdd_skip_cold};
    rdd_init(&p->rdd, a, &spec);
    if (c->selrep.shadow) p->shadow = shadow_new(a, &p->rdd.spec);
    if (c->selrep.count_sharing) p->sharing = sharing_new(a);
    choose_policy(p, c);
    return p;
}

void replication_free(struct replication *p)
{
    if (!p) return;
    sharing_free(p->sharing);
    free(p->decisions);
}
