/* replication: profilers, counters, predictions and the choice of a degree; see replication.h. */
#include "policy/replication/replication.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "policy/replication/bandwidth.h"

enum { STAT_DEGREES = 5, COUNT_CYC = 256 };

/* The statistic of degree 1 << k. Statistics of the degrees are consecutive rows; the last row also counts
 * higher degrees. */
static uint64_t *of_degree(uint64_t *first, uint32_t k)
{
    return first + (k < STAT_DEGREES ? k : STAT_DEGREES - 1);
}

static uint32_t log2_of(uint32_t degree) { return 31 - (uint32_t)__builtin_clz(degree); }

/* Degree in force. Private mode counts as full replication. */
static uint32_t present_degree(const struct replication *p)
{
    const struct organisation *o = p->organisation;
    return o->state[0].is_private ? o->clusters.stack_slices : o->state[0].degree;
}

/* ---- served requests ---- */

static void end_window(struct replication *p, uint32_t w)
{
    struct replication_window *window = &p->windows[w];
    uint64_t *const rows = w ? &p->stats.busiest_1k_1 : &p->stats.busiest_256_1;
    for (uint32_t k = 0; k < p->degrees; k++) {
        uint32_t max = 0;
        for (uint32_t i = 0; i < p->organisation->clusters.stack_slices; i++) {
            if (window->requests[k][i] > max) max = window->requests[k][i];
            if (k == 0) window->sum.requests += window->requests[k][i];
            window->requests[k][i] = 0;
        }
        window->sum.max[k] += max;
        if (k < STAT_DEGREES) *of_degree(rows, k) += max;
    }
}

/* Observes a request of stack 0, whose MC-router has the directory and the counters. */
static void profile(struct replication *p, const struct access *a, uint64_t cyc)
{
    const struct clusters *c = &p->organisation->clusters;
    const uint32_t cluster = clusters_of_sm(c, a->sm);
    rdd_observe(&p->rdd, a->line, slice_set_of(p->slice_spec, a->line), a->home, clusters_slot(c, cluster));
    if (p->shadow) shadow_observe(p->shadow, a->line, slice_set_of(p->slice_spec, a->line), a->home, cluster);
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

static void on_access(void *self, const struct access *a, uint64_t cyc)
{
    struct replication *p = self;
    if (p->sharing) sharing_observe(p->sharing, a, cyc, &p->stats);
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

/* The profilers model slices at all degrees, so the boundary invalidates their lines per degree. */
void replication_boundary(struct replication *p, uint64_t now)
{
    const bool replicas_only = p->config->llc.boundary == llc_boundary_replicas;
    accesses_flush(&p->accesses);
    if (p->kernel_ends) p->kernel_ends(p, now);
    if (p->config->selrep.rdd_boundary) rdd_boundary(&p->rdd, replicas_only);
    if (p->shadow) shadow_boundary(p->shadow, replicas_only);
}

void replication_sync_stats(struct replication *p, uint64_t now)
{
    replication_count_degree(p, now);
    p->running = false;
    accesses_flush(&p->accesses);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++) end_window(p, w);
    for (uint32_t k = 0; p->shadow && k < p->degrees && k < STAT_DEGREES; k++) {
        *of_degree(&p->stats.shadow_reads_1, k) = p->shadow->acc[k];
        *of_degree(&p->stats.shadow_hits_1, k) = p->shadow->hit[k];
    }
    if (p->sharing) sharing_end_kernel(p->sharing, &p->stats);
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

/* Slice parallelism as the mean over short windows. */
static double short_parallelism(const struct replication_window *w, uint32_t k)
{
    return w->sum.max[k] ? (double)w->sum.requests / (double)w->sum.max[k] : 0;
}

/* Slice parallelism over the epoch (paper) or over short windows (selrep.lsp). */
static double slice_parallelism(const struct replication *p, uint32_t k)
{
    if (p->config->selrep.lsp == lsp_time_epoch)
        return bandwidth_lsp(p->requests[k], p->organisation->clusters.stack_slices);
    return short_parallelism(&p->windows[p->config->selrep.lsp == lsp_time_cycles_1k], k);
}

/* Share of its width that a router with q inputs and q outputs carries under uniform traffic. */
static double router_share(const struct replication *p, uint32_t q)
{
    const double max = p->config->selrep.carried;
    return max + (1 - max) / q;
}

/* Max. bandwidth of a slice at degree 1 << k. A group of slices has as many input links. Every reply also
 * passes the router of its SMs, at any degree; the equation of the paper has the first factor only. */
static double slice_bytes(const struct replication *p, uint32_t k)
{
    const struct clusters *const c = &p->organisation->clusters;
    const double bytes = p->llc_bytes * router_share(p, c->stack_slices >> k);
    return p->config->selrep.model == bandwidth_model_equation ? bytes
                                                               : bytes * router_share(p, c->sms_per_cluster);
}

/* Bandwidth of degree 1 << k at the given slice parallelism and hit rate. */
static double predict_bandwidth(const struct replication *p, double lsp, double hits, uint32_t k)
{
    const double slice = slice_bytes(p, k);
    return p->config->selrep.model == bandwidth_model_equation
               ? bandwidth_of(lsp, hits, slice, p->memory_bytes)
               : bandwidth_bottleneck(lsp, hits, slice, p->memory_bytes,
                                      p->organisation->clusters.stack_slices);
}

/* True if memory bandwidth suffices for twice the misses. */
static bool memory_has_room(const struct replication *p, double lsp, double hits, uint32_t k)
{
    const uint32_t slices = p->organisation->clusters.stack_slices;
    return 2 * (1 - hits) * lsp * slice_bytes(p, k) <= slices * p->memory_bytes;
}

static void evaluate_degree(struct replication *p, struct replication_decision *d, uint32_t k)
{
    const uint32_t slices = p->organisation->clusters.stack_slices;
    uint32_t max = 0, sum = 0;
    d->hit_rate[k] = p->rdd.acc[k] ? (double)p->rdd.hit[k] / p->rdd.acc[k] : -1;
    d->sampled[k] = p->rdd.acc[k];
    d->cold[k] = p->rdd.cold[k];
    d->lsp[k] = slice_parallelism(p, k);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++)
        d->short_lsp[w][k] = short_parallelism(&p->windows[w], k);
    d->bandwidth[k] = d->hit_rate[k] < 0 ? 0 : predict_bandwidth(p, d->lsp[k], d->hit_rate[k], k);
    d->choice_hit_rate[k] = d->hit_rate[k];
    d->choice_bandwidth[k] = d->bandwidth[k];
    for (uint32_t i = 0; i < slices; i++) {
        if (p->requests[k][i] > max) max = p->requests[k][i];
        sum += p->requests[k][i];
    }
    if (k == 0) p->stats.epoch_requests += d->requests = sum;
    if (k >= STAT_DEGREES) return;
    *of_degree(&p->stats.sampled_1, k) += p->rdd.acc[k];
    *of_degree(&p->stats.sampled_hits_1, k) += p->rdd.hit[k];
    *of_degree(&p->stats.busiest_epoch_1, k) += max;
    if (p->shadow) {
        *of_degree(&p->stats.shadow_sampled_1, k) = p->shadow->sampled_acc[k];
        *of_degree(&p->stats.shadow_sampled_hits_1, k) = p->shadow->sampled_hit[k];
    }
    *of_degree(&p->stats.judged_1, k) += d->hit_rate[k] >= 0;
    *of_degree(&p->stats.predicted_mb_per_s_1, k) +=
        (uint64_t)(d->bandwidth[k] * p->config->llc.stacks * 1e-6);
}

bool replication_has_samples(const struct replication *p, const struct replication_decision *d, uint32_t k)
{
    return d->sampled[k] >= p->config->selrep.samples;
}

double replication_bandwidth_max(const struct replication *p, const struct replication_decision *d,
                                 uint32_t k)
{
    return predict_bandwidth(p, d->lsp[k], 1, k);
}

/* Lower bound of the Wilson score interval of a rate. sigmas: half width in standard deviations. */
static double wilson_lower_bound(double rate, uint32_t samples, double sigmas)
{
    const double z = sigmas * sigmas, n = samples + z;
    const double middle = (rate * samples + z / 2) / n;
    const double spread = sigmas * sqrt(rate * (1 - rate) * samples + z / 4) / n;
    return middle > spread ? middle - spread : 0;
}

static double min_double(double a, double b) { return a < b ? a : b; }

/* Hit rate of a degree from its samples. Each degree has its own samples, so a rate above that of a lower
 * degree (*hits_max) is chance and is cut off. Degrees above 1 get the lower confidence bound. A degree with
 * few samples gets the upper bound: data that hardly touches the sampled sets fits into the slice. */
static double sampled_hits(const struct replication *p, const struct replication_decision *d, uint32_t k,
                           double *hits_max)
{
    const double sigmas = p->config->selrep.sigmas;
    const bool judged = replication_has_samples(p, d, k);
    const uint32_t samples = d->sampled[k] + (judged ? 0 : d->cold[k]); /* few samples: cold misses count */
    const double hits = d->hit_rate[k] < 0 ? 0 : d->hit_rate[k] * d->sampled[k] / samples;
    if (samples < p->config->selrep.samples)
        return min_double(samples ? 1 - wilson_lower_bound(1 - hits, samples, sigmas) : 1, *hits_max);
    *hits_max = min_double(*hits_max, hits);
    return k ? wilson_lower_bound(*hits_max, samples, sigmas) : *hits_max;
}

/* Hit rate of a degree for the choice. The measured rate of all slices (`found`) is exact for the degree in
 * force. It is a lower bound for lower degrees and an upper bound for higher degrees. */
static double hits_of(const struct replication *p, const struct replication_decision *d, uint32_t k,
                      double *hits_max)
{
    const double found = d->reads ? (double)d->found / (double)d->reads : 1;
    if (!p->config->selrep.found || !d->reads || 1u << k > d->degree) return sampled_hits(p, d, k, hits_max);
    if (1u << k == d->degree) return *hits_max = found;
    const double hits = sampled_hits(p, d, k, hits_max);
    return hits > found ? hits : found;
}

/* True if the load of the slices is so low that their bandwidth is no limit (selrep.idle). */
static bool is_idle(const struct replication *p, const struct replication_decision *d)
{
    const uint32_t k = log2_of(d->degree);
    const double seconds = (double)d->epoch_cyc / (double)p->config->clock.sm;
    const double served = (double)d->requests * LINE_BYTES / seconds;
    return served < predict_bandwidth(p, d->lsp[k], 1, k) * p->config->selrep.idle;
}

/* Without selrep.found only samples count; without samples the paper keeps the degree. */
bool replication_has_evidence(const struct replication *p, const struct replication_decision *d)
{
    uint32_t samples = 0;
    for (uint32_t k = 0; k < p->degrees; k++) samples += d->sampled[k] + d->cold[k];
    return d->requests && (p->config->selrep.found || samples);
}

/* Chooses the lowest degree whose predicted bandwidth is within selrep.equal of the maximum. ASSUMPTION: the
 * paper does not specify ties, nor predictions from few samples. */
struct replication_choice replication_choose(const struct replication *p, struct replication_decision *d)
{
    double *const bandwidth = d->choice_bandwidth, *const hits = d->choice_hit_rate, max = 0, hits_max = 1;
    for (uint32_t k = 0; k < p->degrees; k++) {
        hits[k] = hits_of(p, d, k, &hits_max);
        bandwidth[k] = predict_bandwidth(p, d->lsp[k], hits[k], k);
        if (bandwidth[k] > max) max = bandwidth[k];
    }
    struct replication_choice c = {0};
    if (is_idle(p, d)) return c;
    while (bandwidth[c.best] < max * (1 - p->config->selrep.equal)) c.best++;
    c.may_try_more = c.best + 1 < p->degrees && memory_has_room(p, d->lsp[c.best], hits[c.best], c.best) &&
                     bandwidth[c.best + 1] > bandwidth[c.best] / 2;
    return c;
}

void replication_reset_counters(struct replication *p)
{
    accesses_flush(&p->accesses);
    memset(p->requests, 0, sizeof p->requests);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++) p->windows[w].sum = (struct replication_busiest){0};
    p->reads = p->found = 0;
    rdd_reset(&p->rdd);
}

struct replication_decision *replication_evaluate(struct replication *p, uint64_t now)
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
        if (!p->windows[w].sum.requests) end_window(p, w); /* the window is longer than the epoch */
    for (uint32_t k = 0; k < p->degrees; k++) evaluate_degree(p, d, k);
    replication_reset_counters(p);
    p->stats.epochs++;
    ++*of_degree(&p->stats.epochs_at_1, log2_of(d->degree));
    return d;
}

/* ---- building ---- */

#define ITEM(list, item, help) extern const struct replication_ops replication_##item;
#include "policy/replication/replication.def"
#undef ITEM

static const struct replication_ops *const rows[replication_policy_count] = {
#define ITEM(list, item, help) [list##_##item] = &replication_##item,
#include "policy/replication/replication.def"
#undef ITEM
};

static void choose_policy(struct replication *p, const struct config *c)
{
    if (config_slices_selective(c) && c->selrep.degree) {
        p->due = replication_fixed_due;
        return;
    }
    if (!config_slices_adaptive(c) && !config_slices_selective(c)) return; /* nothing to decide */
    const struct replication_ops *const ops = rows[c->selrep.policy];
    p->due = ops->due;
    if (c->selrep.per_kernel) {
        p->kernel_begins = ops->kernel_begins;
        p->kernel_ends = ops->kernel_ends;
    }
    p->stats.directory_bytes = rdd_directory_bytes(&p->rdd.spec);
    p->stats.counter_bytes = rdd_counter_bytes(&p->rdd.spec);
    if (ops->counts_found && c->selrep.found) /* reads and hits, in every slice */
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
                              .accesses = {.on_access = on_access, .self = p},
                              .degrees = log2_of(o->clusters.stack_slices) + 1,
                              .llc_bytes = (double)c->llc.port * (double)c->clock.llc,
                              .change_cyc = UINT64_MAX};
    const double column_bytes = (double)c->dram.column_size / c->dram.burst_cyc;
    p->memory_bytes = (double)config_channels_per_gpu(c) * column_bytes * (double)c->clock.dram /
                      (double)config_slices_per_gpu(c);
    p->kernels = ARENA_ARRAY(a, struct replication_kernel, REPLICATION_KERNELS);
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
