/* mdr: see mdr.h. */
#include "policy/replication/mdr.h"

#include <string.h>

static inline double least(double a, double b) { return a < b ? a : b; }

/* ---- models ---- */

double mdr_without_copies(const struct mdr_rates *r, double hit_rate, double local)
{
    const double near = hit_rate * r->llc + least((1 - hit_rate) * r->llc, r->memory);
    return local * near + (1 - local) * least(r->net, near);
}

double mdr_with_copies(const struct mdr_rates *r, double hit_rate, double local)
{
    const double below = local * r->memory + (1 - local) * least(r->net, r->memory);
    return hit_rate * r->llc + least((1 - hit_rate) * r->llc, below);
}

/* What a part carries when each request loads it so much. */
static double carries(double rate, double load) { return load > 0 ? rate / load : 1e30; }

double mdr_without_copies_bottleneck(const struct mdr_rates *r, double hit_rate, double local)
{
    return least(r->llc, least(carries(r->net, 1 - local), carries(r->memory, 1 - hit_rate)));
}

/* A miss in a copy's place goes on to the home and is served there once more. */
double mdr_with_copies_bottleneck(const struct mdr_rates *r, double hit_rate, double local)
{
    const double on = (1 - local) * (1 - hit_rate);
    return least(carries(r->llc, 1 + on), least(carries(r->net, on), carries(r->memory, 1 - hit_rate)));
}

/* ---- profile ---- */

static void shadow_see(struct mdr_shadow *s, uint32_t set, uint32_t ways, uint64_t line)
{
    uint64_t *const of = s->lines + (size_t)set * ways;
    uint32_t way = 0;
    while (way < ways && of[way] != line + 1) way++;
    s->seen++;
    s->hits += way < ways;
    if (way == ways) way--; /* the least recently used makes room */
    memmove(of + 1, of, way * sizeof *of);
    of[0] = line + 1;
}

static void see(void *self, const struct access *a, uint64_t cyc)
{
    struct mdr *m = self;
    const uint32_t set = slice_set_of(m->slices, a->line), ways = m->slices->ways;
    (void)cyc;
    if (set % m->every || set / m->every >= m->sets) return;
    const bool home = a->home == m->slice, input = !a->missed, near = input && a->slice == m->slice;
    const bool copied = a->read && a->read_only;
    if (home && (m->everywhere ? input : near || !input))
        shadow_see(&m->without, set / m->every, ways, a->line);
    if (near ? home || copied : home && !copied && (m->everywhere ? input : !input))
        shadow_see(&m->with, set / m->every, ways, a->line);
    if (!near) return;
    m->misses++;
    m->near_misses += home;
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
    const double local = m->misses ? (double)m->near_misses / m->misses : 0;
    const double without = m->without.seen ? (double)m->without.hits / m->without.seen : 0;
    const double with = m->with.seen ? (double)m->with.hits / m->with.seen : 0;
    const double bw_without = paper ? mdr_without_copies(&m->rates, without, local)
                                    : mdr_without_copies_bottleneck(&m->rates, without, local);
    const double bw_with =
        paper ? mdr_with_copies(&m->rates, with, local) : mdr_with_copies_bottleneck(&m->rates, with, local);
    struct organisation *o = m->organisations;
    const bool before = organisation_in_force(o)->replicate, after = bw_with > bw_without;
    t->epochs++;
    t->epochs_on += after;
    t->changes += before != after;
    t->sampled_without += m->without.seen;
    t->sampled_without_hits += m->without.hits;
    t->sampled_with += m->with.seen;
    t->sampled_with_hits += m->with.hits;
    t->sampled_misses += m->misses;
    t->sampled_near += m->near_misses;
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

/* The first request of a new epoch ends the one before: all that belongs to it has been seen. */
static void new_epoch(struct mdr *m, uint64_t now)
{
    const uint64_t length = m->config->nuba.epoch_cyc;
    accesses_flush(&m->accesses);
    if (m->misses && m->without.seen && m->with.seen) decide(m, now); /* else nothing is known: as before */
    m->without.seen = m->without.hits = m->with.seen = m->with.hits = 0;
    m->misses = m->near_misses = 0;
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
    return m && !m->everywhere ? (struct llc_monitor){.on_request = remote, .self = m}
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
                      .everywhere = c->nuba.profiler == mdr_profiler_global,
                      .epoch_end_cyc = c->nuba.epoch_cyc,
                      .accesses = {.see = see, .self = m}};
    m->every = slices->sets / m->sets;
    m->without.lines = ARENA_ARRAY(a, uint64_t, (size_t)m->sets * slices->ways);
    m->with.lines = ARENA_ARRAY(a, uint64_t, (size_t)m->sets * slices->ways);
    m->stats.profiler_bytes = (uint64_t)m->sets * slices->ways * 3;
    return m;
}
