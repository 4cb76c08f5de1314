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
    return o->state[0].is_private ? o->clusters.stack_slices : o->state[0].degree;
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
            if (k == 0) window->sum.seen += window->requests[k][i];
            window->requests[k][i] = 0;
        }
        window->sum.most[k] += most;
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
    p->reads++;
    p->found += !a->missed;
    if (a->home < p->organisation->clusters.stack_slices) profile(p, a, cyc);
}

static void on_request(void *self, const struct request *r, uint32_t slice, bool missed, uint64_t now)
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

struct llc_monitor replication_monitor(struct replication *p)
{
    return p ? (struct llc_monitor){.on_request = on_request, .self = p} : (struct llc_monitor){0};
}

/* ---- time ---- */

void replication_count_degree(struct replication *p, uint64_t now)
{
    const uint64_t cycles = now - p->since_cyc;
    const uint32_t degree = present_degree(p);
    p->stats.cycles += cycles;
    p->stats.degree_cycles += cycles * degree;
    *of_degree(&p->stats.cycles_at_1, log2_of(degree)) += cycles;
    if (p->organisation->state[0].is_private && config_slices_adaptive(p->config))
        p->stats.private_cycles += cycles;
    if (p->pass.state != REPLICATION_PASS_NONE && p->pass.stops_sms) p->stats.pause_cycles += cycles;
    p->since_cyc = now;
}

void replication_edge(void *self, uint64_t edge_cyc)
{
    struct replication *p = self;
    if (p->running && edge_cyc > p->since_cyc) replication_count_degree(p, edge_cyc);
}

void replication_begin(struct replication *p, uint64_t now, uint64_t key)
{
    if (p->running) replication_count_degree(p, now);
    p->since_cyc = now;
    p->running = true;
    p->key = p->config->selrep.per_kernel ? key : 0;
    if (p->kernel_begins) p->kernel_begins(p, now);
}

/* Profilers stand for slices at all degrees, so they lose what slices would lose at each. */
void replication_boundary(struct replication *p, uint64_t now)
{
    const bool copies_only = p->config->llc.boundary == llc_boundary_replicas;
    accesses_flush(&p->accesses);
    if (p->kernel_ends) p->kernel_ends(p, now);
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

/* As the mean of short times. */
static double short_parallelism(const struct replication_window *w, uint32_t k)
{
    return w->sum.most[k] ? (double)w->sum.seen / (double)w->sum.most[k] : 0;
}

/* Over epochs as the paper has it, or over short times. */
static double slice_parallelism(const struct replication *p, uint32_t k)
{
    if (p->config->selrep.lsp == lsp_time_epoch)
        return bandwidth_lsp(p->requests[k], p->organisation->clusters.stack_slices);
    return short_parallelism(&p->windows[p->config->selrep.lsp == lsp_time_cycles_1k], k);
}

/* The share of its width that a router carries whose q inputs ask q outputs for any. */
static double carried(const struct replication *p, uint32_t q)
{
    const double most = p->config->selrep.carried;
    return most + (1 - most) / q;
}

/* What a slice gives at most: a group of slices is asked by as many links. Every reply passes the router of
 * its SMs as well, whatever the degree; the paper's equation gets the first only. */
static double slice_bytes(const struct replication *p, uint32_t k)
{
    const struct clusters *const c = &p->organisation->clusters;
    const double bytes = p->llc_bytes * carried(p, c->stack_slices >> k);
    return p->config->selrep.model == bandwidth_model_equation ? bytes
                                                               : bytes * carried(p, c->sms_per_cluster);
}

/* What degree 1 << k gives with these hits. */
static double promise(const struct replication *p, double lsp, double hits, uint32_t k)
{
    const double slice = slice_bytes(p, k);
    return p->config->selrep.model == bandwidth_model_equation
               ? bandwidth_of(lsp, hits, slice, p->memory_bytes)
               : bandwidth_bottleneck(lsp, hits, slice, p->memory_bytes,
                                      p->organisation->clusters.stack_slices);
}

/* Is memory fast enough for twice the misses, if as many copies had them? */
static bool memory_has_room(const struct replication *p, double lsp, double hits, uint32_t k)
{
    const uint32_t slices = p->organisation->clusters.stack_slices;
    return 2 * (1 - hits) * lsp * slice_bytes(p, k) <= slices * p->memory_bytes;
}

static void judge_degree(struct replication *p, struct replication_decision *d, uint32_t k)
{
    const uint32_t slices = p->organisation->clusters.stack_slices;
    uint32_t most = 0, sum = 0;
    d->hit_rate[k] = p->rdd.acc[k] ? (double)p->rdd.hit[k] / p->rdd.acc[k] : -1;
    d->sampled[k] = p->rdd.acc[k];
    d->cold[k] = p->rdd.cold[k];
    d->lsp[k] = slice_parallelism(p, k);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++)
        d->short_lsp[w][k] = short_parallelism(&p->windows[w], k);
    d->bandwidth[k] = d->hit_rate[k] < 0 ? 0 : promise(p, d->lsp[k], d->hit_rate[k], k);
    d->counted[k] = d->hit_rate[k];
    d->promised[k] = d->bandwidth[k];
    for (uint32_t i = 0; i < slices; i++) {
        if (p->requests[k][i] > most) most = p->requests[k][i];
        sum += p->requests[k][i];
    }
    if (k == 0) p->stats.epoch_requests += d->requests = sum;
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
    return promise(p, d->lsp[k], 1, k);
}

/* The hit rate that the samples still speak for: the lower end of Wilson's interval. */
static double sure_of(double rate, uint32_t samples, double sigmas)
{
    const double z = sigmas * sigmas, n = samples + z;
    const double middle = (rate * samples + z / 2) / n;
    const double spread = sigmas * sqrt(rate * (1 - rate) * samples + z / 4) / n;
    return middle > spread ? middle - spread : 0;
}

static double least_of(double a, double b) { return a < b ? a : b; }

/* The hits of a degree by its samples. Each is sampled by requests of its own: more hits than with fewer
 * copies (*least) are chance. Copies get those that they are sure to have, and where little was sampled those
 * that they may have: what hardly touches the sampled sets fits. */
static double sampled_hits(const struct replication *p, const struct replication_decision *d, uint32_t k,
                           double *least)
{
    const double sigmas = p->config->selrep.sigmas;
    const bool judged = replication_judged(p, d, k);
    const uint32_t samples = d->sampled[k] + (judged ? 0 : d->cold[k]); /* or misses that did not count */
    const double hits = d->hit_rate[k] < 0 ? 0 : d->hit_rate[k] * d->sampled[k] / samples;
    if (samples < p->config->selrep.samples)
        return least_of(samples ? 1 - sure_of(1 - hits, samples, sigmas) : 1, *least);
    *least = least_of(*least, hits);
    return k ? sure_of(*least, samples, sigmas) : *least;
}

/* … that a decision counts on: what all slices found is known for the degree in force, fewer copies find no
 * less, more no more. */
static double hits_of(const struct replication *p, const struct replication_decision *d, uint32_t k,
                      double *least)
{
    const double found = d->reads ? (double)d->found / (double)d->reads : 1;
    if (!p->config->selrep.found || !d->reads || 1u << k > d->degree) return sampled_hits(p, d, k, least);
    if (1u << k == d->degree) return *least = found;
    const double hits = sampled_hits(p, d, k, least);
    return hits > found ? hits : found;
}

/* Are slices asked for so little that they can limit nothing? */
static bool is_idle(const struct replication *p, const struct replication_decision *d)
{
    const uint32_t k = log2_of(d->degree);
    const double seconds = (double)d->epoch_cyc / (double)p->config->clock.sm;
    const double served = (double)d->requests * LINE_BYTES / seconds;
    return served < promise(p, d->lsp[k], 1, k) * p->config->selrep.idle;
}

/* Without what slices found only samples speak; where there are none, the paper changes nothing. */
bool replication_knows(const struct replication *p, const struct replication_decision *d)
{
    uint32_t samples = 0;
    for (uint32_t k = 0; k < p->degrees; k++) samples += d->sampled[k] + d->cold[k];
    return d->requests && (p->config->selrep.found || samples);
}

/* The fewest copies whose promise comes within selrep.equal of the highest. ASSUMPTION: the paper does not
 * say what happens to equal predictions, nor to those of a few samples. */
struct replication_choice replication_choose(const struct replication *p, struct replication_decision *d)
{
    double *const promised = d->promised, *const hits = d->counted, most = 0, least = 1;
    for (uint32_t k = 0; k < p->degrees; k++) {
        hits[k] = hits_of(p, d, k, &least);
        promised[k] = promise(p, d->lsp[k], hits[k], k);
        if (promised[k] > most) most = promised[k];
    }
    struct replication_choice c = {0};
    if (is_idle(p, d)) return c;
    while (promised[c.best] < most * (1 - p->config->selrep.equal)) c.best++;
    c.more_may_pay = c.best + 1 < p->degrees && memory_has_room(p, d->lsp[c.best], hits[c.best], c.best) &&
                     promised[c.best + 1] > promised[c.best] / 2;
    return c;
}

void replication_forget(struct replication *p)
{
    accesses_flush(&p->accesses);
    memset(p->requests, 0, sizeof p->requests);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++) p->windows[w].sum = (struct replication_busiest){0};
    p->reads = p->found = 0;
    rdd_reset(&p->rdd);
}

struct replication_decision *replication_judge(struct replication *p, uint64_t now)
{
    accesses_flush(&p->accesses);
    struct replication_decision *d = new_decision(p);
    *d = (struct replication_decision){.cyc = now,
                                       .degree = present_degree(p),
                                       .reads = p->reads,
                                       .found = p->found,
                                       .epoch_cyc = p->config->selrep.epoch_cyc};
    d->next = d->degree;
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++)
        if (!p->windows[w].sum.seen) end_window(p, w); /* longer than the epoch */
    for (uint32_t k = 0; k < p->degrees; k++) judge_degree(p, d, k);
    replication_forget(p);
    p->stats.epochs++;
    ++*of_degree(&p->stats.epochs_at_1, log2_of(d->degree));
    return d;
}

/* ---- building ---- */

static void choose_policy(struct replication *p, const struct config *c)
{
    if (config_slices_selective(c) && c->selrep.degree) {
        p->due = replication_fixed_due;
        return;
    }
    if (!config_slices_adaptive(c) && !config_slices_selective(c)) return; /* nothing to decide */
    switch (c->selrep.policy) {
    case replication_policy_bandwidth:
    case replication_policy_count:
        p->due = replication_bandwidth_due;
        if (!c->selrep.per_kernel) break;
        p->kernel_begins = replication_bandwidth_begin;
        p->kernel_ends = replication_bandwidth_end;
        break;
    case replication_policy_all_or_nothing: p->due = replication_all_or_nothing_due; break;
    }
    p->stats.directory_bytes = rdd_directory_bytes(&p->rdd.spec);
    p->stats.counter_bytes = rdd_counter_bytes(&p->rdd.spec);
    if (p->due == replication_bandwidth_due && c->selrep.found) /* reads and hits, in every slice */
        p->stats.counter_bytes += 2 * sizeof(uint16_t) * (uint64_t)config_slices_per_gpu(c);
}

struct replication *replication_new(struct arena *a, const struct config *c, const struct slice_spec *slices,
                                    struct organisation *o)
{
    if (!c->llc.stacks || (config_slices_at_home(c) && !c->selrep.count_sharing)) return NULL;
    struct replication *p = ARENA_NEW(a, struct replication);
    *p = (struct replication){.config = c,
                              .organisation = o,
                              .slice_spec = slices,
                              .accesses = {.see = see, .self = p},
                              .degrees = log2_of(o->clusters.stack_slices) + 1,
                              .llc_bytes = (double)c->llc.port * (double)c->clock.llc,
                              .change_cyc = UINT64_MAX};
    const double column_bytes = (double)c->dram.column_size / c->dram.burst_cyc;
    p->memory_bytes = (double)config_channels_per_gpu(c) * column_bytes * (double)c->clock.dram /
                      (double)config_slices_per_gpu(c);
    p->known = ARENA_ARRAY(a, struct replication_known, REPLICATION_KERNELS);
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
