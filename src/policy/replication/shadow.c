/* shadow: see shadow.h. */
#include "policy/replication/shadow.h"

#define DROPPED UINT64_MAX /* tag of an invalidated way: free, but not cold; as in rdd.c */

struct shadow *shadow_new(struct arena *a, const struct rdd_spec *spec)
{
    struct shadow *s = ARENA_NEW(a, struct shadow);
    *s = (struct shadow){.spec = *spec};
    s->ways = ARENA_ARRAY(a, struct shadow_way,
                          (size_t)spec->degrees * spec->clusters.stack_slices * spec->sets * spec->ways);
    return s;
}

/* Looks up the line and makes it the newest of its set (LRU). *cold: a miss filled a way never used before.
 */
static bool touch(struct shadow *s, struct shadow_way *set, uint64_t line, bool replica, bool *cold)
{
    struct shadow_way *victim = set;
    bool hit = false;
    for (struct shadow_way *w = set; w < set + s->spec.ways && !hit; w++) {
        hit = w->line == line + 1;
        if (hit || w->used < victim->used) victim = w;
    }
    *cold = !victim->line;
    *victim = (struct shadow_way){.line = line + 1, .used = ++s->clock, .replica = replica};
    return hit;
}

void shadow_observe(struct shadow *s, uint64_t line, uint32_t set, uint32_t home, uint32_t cluster)
{
    const struct rdd_spec *spec = &s->spec;
    const bool sampled = rdd_sample(spec, set) != UINT32_MAX;
    for (uint32_t k = 0; k < spec->degrees; k++) {
        const uint32_t slice = clusters_slice(&spec->clusters, home, cluster, 1u << k);
        const size_t place = ((size_t)k * spec->clusters.stack_slices + slice) * spec->sets + set;
        bool cold;
        const bool hit = touch(s, s->ways + place * spec->ways, line, slice != home, &cold);
        if (cold && spec->skip_cold) continue;
        s->acc[k]++;
        s->hit[k] += hit;
        if (!sampled || slice) continue;
        s->sampled_acc[k]++;
        s->sampled_hit[k] += hit;
    }
}

void shadow_boundary(struct shadow *s, bool replicas_only)
{
    const size_t degree = (size_t)s->spec.clusters.stack_slices * s->spec.sets * s->spec.ways;
    for (size_t i = degree; i < s->spec.degrees * degree; i++)
        if (s->ways[i].line && (s->ways[i].replica || !replicas_only))
            s->ways[i] = (struct shadow_way){.line = DROPPED};
}
