/* mdr: see mdr.h. */
#include "policy/replication/mdr.h"

#include <string.h>

static inline double min_double(double a, double b) { return a < b ? a : b; }

/* ---- models ---- */

double mdr_without_replicas(const struct mdr_rates *r, double hit_rate, double local)
{
    const double slice = hit_rate * r->llc + min_double((1 - hit_rate) * r->llc, r->memory);
    return local * slice + (1 - local) * min_double(r->net, slice);
}

double mdr_with_replicas(const struct mdr_rates *r, double hit_rate, double local)
{
    const double below = local * r->memory + (1 - local) * min_double(r->net, r->memory);
    return hit_rate * r->llc + min_double((1 - hit_rate) * r->llc, below);
}

/* Requests per second that a resource of the given rate sustains if each request uses `load` of it. */
static double rate_per_load(double rate, double load) { return load > 0 ? rate / load : 1e30; }

double mdr_without_replicas_bottleneck(const struct mdr_rates *r, double hit_rate, double local)
{
    return min_double(r->llc,
                      min_double(rate_per_load(r->net, 1 - local), rate_per_load(r->memory, 1 - hit_rate)));
}

/* A miss of a remote line loads two slices: the requesting slice and the home. */
double mdr_with_replicas_bottleneck(const struct mdr_rates *r, double hit_rate, double local)
{
    const double forwarded = (1 - local) * (1 - hit_rate);
    return min_double(rate_per_load(r->llc, 1 + forwarded),
                      min_double(rate_per_load(r->net, forwarded), rate_per_load(r->memory, 1 - hit_rate)));
}

/* ---- profile ---- */

static void shadow_access(struct mdr_shadow *s, uint32_t set, uint32_t ways, uint64_t line)
{
    uint64_t *const tags = s->lines + (size_t)set * ways;
    uint32_t way = 0;
    while (way < ways && tags[way] != line + 1) way++;
    s->accesses++;
    s->hits += way < ways;
    if (way == ways) way--; /* evicts the least recently used line */
    memmove(tags + 1, tags, way * sizeof *tags);
    tags[0] = line + 1;
}

static void on_access(void *self, const struct access *a, uint64_t cyc)
{
    struct mdr *m = self;
    const uint32_t set = slice_set_of(m->slices, a->line), ways = m->slices->ways;
    (void)cyc;
    if (set % m->set_stride || set / m->set_stride >= m->sets) return;
    const bool home = a->home == m->slice, input = !a->missed, local = input && a->slice == m->slice;
    const bool replicable = a->read && a->read_only;
    if (home && (m->is_global ? input : local || !input))
        shadow_access(&m->without, set / m->set_stride, ways, a->line);
    if (local ? home || replicable : home && !replicable && (m->is_global ? input : !input))
        shadow_access(&m->with, set / m->set_stride, ways, a->line);
    if (!local) return;
    m->misses++;
    m->local_misses += home;
}

/* ---- decisions ---- */

static uint64_t megabytes(const struct mdr *m, double per_slice)
{
    return (uint64_t)(per_slice * (double)config_slices(m->config) * 1e-6);
}

static void decide(struct mdr *m, uint64_t now)
{
    struct nuba_stats *t = &m->stats;
    const bool paper = m->config->nuba.model == mdr_model_paper;
    const double local = m->misses ? (double)m->local_misses / m->misses : 0;
    const double without = m->without.accesses ? (double)m->without.hits / m->without.accesses : 0;
    const double with = m->with.accesses ? (double)m->with.hits / m->with.accesses : 0;
    const double bw_without = paper ? mdr_without_replicas(&m->rates, without, local)
                                    : mdr_without_replicas_bottleneck(&m->rates, without, local);
    const double bw_with = paper ? mdr_with_replicas(&m->rates, with, local)
                                 : mdr_with_replicas_bottleneck(&m->rates, with, local);
    struct organisation *o = m->organisations;
    const bool before = organisation_in_force(o)->replicate, after = bw_with > bw_without;
    t->epochs++;
    t->epochs_on += after;
    t->changes += before != after;
    t->sampled_without += m->without.accesses;
    t->sampled_without_hits += m->without.hits;
    t->sampled_with += m->with.accesses;
    t->sampled_with_hits += m->with.hits;
    t->sampled_misses += m->misses;
    t->sampled_near += m->local_misses;
    t->predicted_without += megabytes(m, bw_without);
    t->predicted_with += megabytes(m, bw_with);
    uint64_t from = m->epoch_end_cyc + m->config->nuba.decision_cyc;
    if (from <= now) from = now + 1;
    for (uint32_t k = 0; k < m->chiplets; k++) {
        struct organisation_state s = *organisation_in_force(&o[k]);
        s.replicate = after;
        organisation_set(&o[k], &s, from * m->slices->ticks_per_cycle);
    }
}

/* The first request of a new epoch ends the previous epoch, whose requests are then complete. */
static void new_epoch(struct mdr *m, uint64_t now)
{
    const uint64_t length = m->config->nuba.epoch_cyc;
    accesses_flush(&m->accesses);
    if (m->misses && m->without.accesses && m->with.accesses)
        decide(m, now); /* otherwise the decision stays */
    m->without.accesses = m->without.hits = m->with.accesses = m->with.hits = 0;
    m->misses = m->local_misses = 0;
    m->epoch_end_cyc = (now / length + 1) * length;
}

static void put(struct mdr *m, const struct request *r, uint32_t slice, bool remote, uint64_t now)
{
    if (now >= m->epoch_end_cyc) new_epoch(m, now);
    if (slice != m->slice && r->home.slice != m->slice) return;
    const struct access a = {.line = r->home.line,
                             .slice = (uint16_t)slice,
                             .home = r->home.slice,
                             .sm = r->sm,
                             .read = r->kind == REQUEST_READ,
                             .read_only = (r->flags & REQUEST_READ_ONLY) != 0,
                             .missed = remote};
    accesses_put(&m->accesses, &a, now);
}

static void input(void *self, const struct request *r, uint32_t slice, bool missed, uint64_t now)
{
    (void)missed;
    put(self, r, slice, false, now);
}

static void remote(void *self, const struct request *r, uint32_t slice, bool missed, uint64_t now)
{
    (void)missed;
    put(self, r, slice, true, now);
}

struct llc_monitor mdr_input_monitor(struct mdr *m)
{
    return m ? (struct llc_monitor){.on_request = input, .self = m} : (struct llc_monitor){0};
}

struct llc_monitor mdr_remote_monitor(struct mdr *m)
{
    return m && !m->is_global ? (struct llc_monitor){.on_request = remote, .self = m}
                              : (struct llc_monitor){0};
}

void mdr_flush(struct mdr *m)
{
    if (!m) return;
    accesses_flush(&m->accesses);
    memset(m->without.lines, 0, (size_t)m->sets * m->slices->ways * sizeof *m->without.lines);
    memset(m->with.lines, 0, (size_t)m->sets * m->slices->ways * sizeof *m->with.lines);
}

/* ---- building ---- */

struct mdr *mdr_new(struct arena *a, const struct config *c, const struct slice_spec *slices,
                    struct organisation *organisations)
{
    const uint32_t chiplets = config_chiplets(c);
    if (c->nuba.replication != nuba_copies_mdr) return NULL;
    struct mdr *m = ARENA_NEW(a, struct mdr);
    const double column = (double)c->dram.column_size / c->dram.burst_cyc;
    *m = (struct mdr){.config = c,
                      .slices = slices,
                      .organisations = organisations,
                      .chiplets = chiplets,
                      .rates = {.llc = (double)c->llc.port * (double)c->clock.llc,
                                .net = (double)c->slice_net.width * (double)c->clock.net,
                                .memory = column * (double)c->clock.dram / slices->slices_per_channel},
                      .slice = c->nuba.profiled_slice % (uint32_t)config_slices(c),
                      .sets = c->nuba.profiled_sets < slices->sets ? c->nuba.profiled_sets : slices->sets,
                      .is_global = c->nuba.profiler == mdr_profiler_global,
                      .epoch_end_cyc = c->nuba.epoch_cyc,
                      .accesses = {.on_access = on_access, .self = m}};
    m->set_stride = slices->sets / m->sets;
    m->without.lines = ARENA_ARRAY(a, uint64_t, (size_t)m->sets * slices->ways);
    m->with.lines = ARENA_ARRAY(a, uint64_t, (size_t)m->sets * slices->ways);
    m->stats.profiler_bytes = (uint64_t)m->sets * slices->ways * 3;
    return m;
}
