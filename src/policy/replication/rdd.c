/* rdd: see rdd.h. */
#include "policy/replication/rdd.h"

#define RDD_DROPPED UINT64_MAX /* tag of an invalidated way: free, but not cold */

enum { COUNTER_MAX = UINT16_MAX, TAG_BITS = 22 };

void rdd_init(struct rdd *r, struct arena *a, const struct rdd_spec *spec)
{
    *r = (struct rdd){.spec = *spec};
    if (r->spec.sampled > spec->sets) r->spec.sampled = spec->sets;
    const uint32_t directories = spec->form == rdd_form_exact ? spec->degrees : 1;
    r->entries = ARENA_ARRAY(a, struct rdd_entry, (size_t)directories * r->spec.sampled * spec->ways);
}

/* The sampled sets are spread evenly over the slice. */
uint32_t rdd_sample(const struct rdd_spec *s, uint32_t set)
{
    const uint32_t apart = s->sets / s->sampled;
    return set % apart == 0 && set / apart < s->sampled ? set / apart : UINT32_MAX;
}

static void count(struct rdd *r, uint32_t k, bool hit)
{
    r->acc[k]++;
    r->hit[k] += hit;
    if (r->acc[k] <= COUNTER_MAX) return;
    for (uint32_t i = 0; i < r->spec.degrees; i++) {
        r->acc[i] /= 2;
        r->hit[i] /= 2;
    }
}

/* The line's entry, or the one that it replaces. */
static struct rdd_entry *lookup(const struct rdd *r, uint32_t directory, uint32_t sample, uint64_t line,
                                bool *hit)
{
    struct rdd_entry *set = r->entries + (size_t)(directory * r->spec.sampled + sample) * r->spec.ways,
                     *oldest = set;
    for (struct rdd_entry *e = set; e < set + r->spec.ways; e++) {
        if (e->line == line + 1) {
            *hit = true;
            return e;
        }
        if (e->used < oldest->used) oldest = e;
    }
    *hit = false;
    return oldest;
}

/* Stack distance: number of lines of the set used since the last use of the entry. */
static uint32_t distance(const struct rdd *r, uint32_t sample, const struct rdd_entry *e)
{
    const struct rdd_entry *set = r->entries + (size_t)sample * r->spec.ways;
    uint32_t newer = 0;
    for (uint32_t w = 0; w < r->spec.ways; w++) newer += set[w].used > e->used;
    return newer;
}

/* exact: models slice 0 of the stack at each degree. It serves the clusters of the first group, and the homes
 * that map to its position. */
static void observe_exact(struct rdd *r, uint64_t line, uint32_t sample, uint32_t home, uint32_t slot)
{
    for (uint32_t k = 0; k < r->spec.degrees; k++) {
        const uint32_t group = r->spec.clusters.stack_slices >> k;
        if (slot / group != 0 || home % group != 0) continue;
        bool hit;
        struct rdd_entry *e = lookup(r, k, sample, line, &hit);
        const bool cold = !e->line;
        *e = (struct rdd_entry){.line = line + 1, .used = ++r->clock, .replica = home != 0};
        if (cold && r->spec.skip_cold)
            r->cold[k]++;
        else
            count(r, k, hit);
    }
}

static void observe_literal(struct rdd *r, uint64_t line, uint32_t sample, uint32_t slot)
{
    bool found;
    struct rdd_entry *e = lookup(r, 0, sample, line, &found);
    const uint32_t newer = found ? distance(r, sample, e) : 0;
    if (!found) *e = (struct rdd_entry){.line = line + 1};
    for (uint32_t k = 0; k < r->spec.degrees; k++) {
        const uint32_t group = r->spec.clusters.stack_slices >> k, first = slot / group * group;
        const uint64_t of_group = (group == 64 ? UINT64_MAX : ((uint64_t)1 << group) - 1) << first;
        const bool resident = r->spec.form == rdd_form_literal || newer < r->spec.ways >> k;
        count(r, k, found && resident && (k == 0 || e->clusters & of_group));
    }
    e->clusters |= (uint64_t)1 << slot;
    e->used = ++r->clock;
}

void rdd_observe(struct rdd *r, uint64_t line, uint32_t set, uint32_t home, uint32_t slot)
{
    const uint32_t sample = rdd_sample(&r->spec, set);
    if (sample == UINT32_MAX) return;
    if (r->spec.form == rdd_form_exact)
        observe_exact(r, line, sample, home, slot);
    else if (home == 0)
        observe_literal(r, line, sample, slot);
}

/* Literal forms keep one tag for all degrees. The tag stays for degree 1, and the cluster bits are cleared.
 * If a boundary invalidates replicas only, of the clusters whose group contains the home the first one keeps
 * its bit in the directory; ASSUMPTION. */
void rdd_boundary(struct rdd *r, bool replicas_only)
{
    const size_t directory = (size_t)r->spec.sampled * r->spec.ways;
    if (r->spec.form != rdd_form_exact) {
        for (size_t i = 0; i < directory; i++) r->entries[i].clusters &= replicas_only ? 1 : 0;
        return;
    }
    for (size_t i = directory; i < r->spec.degrees * directory; i++)
        if (r->entries[i].line && (r->entries[i].replica || !replicas_only))
            r->entries[i] = (struct rdd_entry){.line = RDD_DROPPED};
}

void rdd_reset(struct rdd *r)
{
    for (uint32_t k = 0; k < r->spec.degrees; k++) r->acc[k] = r->hit[k] = r->cold[k] = 0;
}

static uint32_t log2_up(uint32_t v) { return v > 1 ? 32 - (uint32_t)__builtin_clz(v - 1) : 0; }

uint32_t rdd_directory_bytes(const struct rdd_spec *s)
{
    uint32_t bits = TAG_BITS + log2_up(s->ways);
    if (s->form == rdd_form_exact)
        bits *= s->degrees;
    else
        for (uint32_t k = 1; k < s->degrees; k++) bits += 1u << k; /* ClusterID vectors */
    return (s->sampled * s->ways * bits + 7) / 8;
}

uint32_t rdd_counter_bytes(const struct rdd_spec *s)
{
    const uint32_t accesses = s->form == rdd_form_exact ? s->degrees : 1;
    const uint32_t cold = s->form == rdd_form_exact && s->skip_cold ? s->degrees : 0;
    return 2 * (s->degrees * s->clusters.stack_slices + s->degrees + accesses + cold);
}
