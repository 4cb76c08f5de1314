/* net_traffic: see net_traffic.h. */
#include "net/net_traffic.h"

const char *net_traffic_problem(const struct net_spec *spec, bool same_ends)
{
    if (!same_ends) return NULL;
    if ((spec->topology != NET_LINKS && !net_between_nodes(spec)) || spec->sources != spec->sinks ||
        spec->groups != 1)
        return "endpoints without a link to themselves need plain links between as many sources as sinks";
    return spec->sources < 2 ? "a single endpoint has nobody to send to: it takes two ports at least" : NULL;
}

static uint32_t first_sink(const struct net_traffic *t, uint32_t source)
{
    return source / t->sources * t->sinks;
}

/* ---- permutation ---- */

static void shuffle(uint32_t *items, uint32_t count, struct rng *rng)
{
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t j = (uint32_t)rng_below(rng, i), t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}

static void shuffle_groups(const struct net_traffic *t, const struct net_spec *spec, uint64_t seed,
                           uint32_t *dst)
{
    struct rng rng = rng_seed(seed, UINT32_MAX);
    for (uint32_t i = 0; i < spec->sources; i++) dst[i] = first_sink(t, i) + i % t->sources % t->sinks;
    for (uint32_t i = 0; i < spec->sources; i += t->sources) shuffle(&dst[i], t->sources, &rng);
}

/* Source b of router a goes to second router a + b: each link between stages carries one flow. */
static void spread_stages(const struct net_spec *spec, uint32_t *dst)
{
    const uint32_t per_first = spec->sources / spec->first_routers;
    const uint32_t per_second = spec->sinks / spec->second_routers;
    for (uint32_t i = 0; i < spec->sources; i++) {
        const uint32_t a = i / per_first, b = i % per_first;
        dst[i] = (a + b) % spec->second_routers * per_second + a % per_second;
    }
}

/* Who would send to itself changes places with the next: one to one, so neither does then. */
static void leave_out_self(const struct net_spec *spec, uint32_t *dst)
{
    for (uint32_t i = 0; i < spec->sources; i++) {
        if (dst[i] != i) continue;
        const uint32_t j = (i + 1) % spec->sources;
        dst[i] = dst[j];
        dst[j] = i;
    }
}

static const uint32_t *permutation(struct arena *a, const struct net_traffic *t, const struct net_spec *spec,
                                   uint64_t seed)
{
    uint32_t *dst = ARENA_ARRAY(a, uint32_t, spec->sources);
    if (spec->topology == NET_RING)
        for (uint32_t i = 0; i < spec->sources; i++) dst[i] = (i + 1) % spec->sinks;
    else if (spec->topology == NET_HXBAR)
        spread_stages(spec, dst);
    else
        shuffle_groups(t, spec, seed, dst);
    if (t->same_ends) leave_out_self(spec, dst);
    return dst;
}

/* ---- all kinds ---- */

struct net_traffic net_traffic_new(struct arena *a, const struct net_spec *spec, enum net_traffic_kind kind,
                                   bool same_ends, uint64_t seed)
{
    struct net_traffic t = {.kind = kind,
                            .sources = spec->sources / spec->groups,
                            .sinks = spec->sinks / spec->groups,
                            .same_ends = same_ends};
    t.permutation = permutation(a, &t, spec, seed);
    return t;
}

bool net_traffic_sends(const struct net_traffic *t, uint32_t source)
{
    return t->kind != NET_HOTSPOT || !t->same_ends || source != first_sink(t, source);
}

uint32_t net_traffic_draw(const struct net_traffic *t, uint32_t source, struct rng *rng)
{
    const uint32_t first = first_sink(t, source);
    uint32_t dst = first;
    switch (t->kind) {
    case NET_UNIFORM:
        dst = first + (uint32_t)rng_below(rng, t->sinks - t->same_ends);
        if (t->same_ends && dst >= source) dst++; /* the others, without a gap */
        break;
    case NET_HOTSPOT: break;
    case NET_PERMUTATION: dst = t->permutation[source]; break;
    }
    return dst;
}
